/* Forecast: how long a run will take, from a trial. The trial is the run itself, with all of its passes, over
 * the first lines of the scene; its outputs are dropped. So it measures this machine with this chain: disk,
 * decoding, stages, compression. */
#ifndef HC_PIPELINE_RUN_FORECAST_H
#define HC_PIPELINE_RUN_FORECAST_H

#include "pipeline/run/run.h"

typedef struct HcForecast {
    int64_t lines;        /* of the trial */
    double trial_seconds; /* that the trial took */
    bool cold;            /* the scene exceeds the memory of the machine, so each pass reads from the disk */
    double seconds;       /* of the whole run */
    double start;         /* of them before and between passes: the program, its files, its threads */
    HcPassTimes pass[HC_PASSES_MAX]; /* of the whole run */
    int32_t passes;
} HcForecast;

/* Runs the trial. `chain` is parsed from the same words as that of the plan, and not planned yet; it
 * cannot be used afterwards. `plan` is what hc_run_plan reported for the whole scene, with the same
 * settings.
 *
 * Fails where the chain fails on so few lines, for example for lack of pixels. */
HcStatus hc_run_forecast(HcChain *chain, HcCompute *compute, const HcRunSettings *settings,
                         const HcRunReport *plan, HcForecast *out, HcError *err) HC_MUST_CHECK;

#endif
