#include "pipeline/run/forecast.h"
#include "pipeline/run/layout.h"

#include <time.h>

/* Minimum number of blocks of a trial, so that reading, computing and writing overlap as in the run, and
 * its minimum number of bytes of the scene, so that its start counts little. */
enum { BLOCKS = 4 };
static const double bytes_least = 512e6;

static int64_t lines_of_trial(const HcRunReport *plan) {
    double line = (double)plan->share_bytes / (double)plan->lines;
    double lines = bytes_least / line;
    double blocks = (double)BLOCKS * plan->block_lines;
    lines = lines > blocks ? lines : blocks;
    return lines < (double)plan->lines ? (int64_t)lines : plan->lines;
}

/* Blocks and the ends of outputs grow with the lines; the rest takes as long as in the trial. read: the share
 * of the scene that the pass reads, of which the trial has read all. */
static HcPassTimes grown(const HcPassTimes *pass, double factor, double read) {
    double spared = pass->waiting_for_reading * (1 - read);
    return (HcPassTimes){.what = pass->what,
                         .seconds = pass->fixed + (pass->seconds - pass->fixed - spared) * factor,
                         .fixed = pass->fixed,
                         .waiting_for_reading = pass->waiting_for_reading * read * factor,
                         .waiting_for_writing = pass->waiting_for_writing * factor,
                         .reading = pass->reading * read * factor,
                         .writing = pass->writing * factor,
                         .bytes_read = pass->bytes_read * read * factor};
}

HcStatus hc_run_forecast(HcChain *chain, HcCompute *compute, const HcRunSettings *settings,
                         const HcRunReport *plan, HcForecast *out, HcError *err) {
    HcRunReport report = {0};
    HcRunSettings trial = *settings;
    double start =
        (double)clock() / CLOCKS_PER_SEC; /* of this process, which has come as far as a run does */
    *out =
        (HcForecast){.lines = lines_of_trial(plan), .cold = (double)plan->raw_bytes > hc_available_memory()};
    trial.trial = true;
    trial.streams = !plan->resident && !plan->device_resident;
    trial.cold = out->cold;
    trial.block_lines = plan->block_lines;
    chain->source->first_lines = out->lines;
    HC_OR_RETURN(hc_run(chain, compute, &trial, &report, err));
    double factor = (double)plan->lines / (double)report.lines;
    out->trial_seconds = report.seconds;
    out->passes = report.passes_done;
    out->start = start + report.seconds;
    for (int32_t p = 0; p < out->passes; p++) {
        bool again = p > 0 && trial.streams;
        double read = again ? 1 - (double)plan->device_blocks / (double)plan->blocks : 1;
        out->pass[p] = grown(&report.pass[p], factor, read);
        out->seconds += out->pass[p].seconds;
        out->start -= report.pass[p].seconds;
    }
    out->seconds += out->start;
    return HC_OK;
}
