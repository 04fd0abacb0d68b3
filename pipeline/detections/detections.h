/* Detections: the pixels with the best scores of each band, as a vector file. What stages that score pixels
 * share.
 *
 * A stage has HcDetectionParams in its parameters and HcDetections in its state, and calls these functions
 * from the hooks of the same names. It looks at blocks on their way out, so that nothing is kept but the best
 * pixels. */
#ifndef HC_PIPELINE_STATISTICS_DETECTIONS_H
#define HC_PIPELINE_STATISTICS_DETECTIONS_H

#include "pipeline/stage.h"
#include "pipeline/detections/false_alarm.h"

#include <math.h>

typedef struct HcDetectionParams {
    const char *path;
    int64_t top;
    double threshold, false_alarm; /* NAN = none */
    bool overwrite;
} HcDetectionParams;

#define HC_DETECTION_OPTIONS(Params, member)                                                                 \
    {HC_TEXT(Params, member.path, "detections"), .file = HC_FILE_WRITTEN, .value = "PLACES.gpkg",            \
     .help = "write the pixels with the best scores as points: GeoPackage (.gpkg) or GeoJSON (.geojson)"},   \
        {HC_INT(Params, member.top, "top"),                                                                  \
         .range = {1, 10000},                                                                                \
         .value = "COUNT",                                                                                   \
         .needs = "detections",                                                                              \
         .otherwise = "100",                                                                                 \
         .help = "write at most this many detections of each band"},                                         \
        {HC_REAL(Params, member.threshold, "threshold"),                                                     \
         .initial = NAN,                                                                                     \
         .value = "SCORE",                                                                                   \
         .needs = "detections",                                                                              \
         .otherwise = "any score",                                                                           \
         .help = "write only detections with this score or a better one"},                                   \
        {HC_REAL(Params, member.false_alarm, "false-alarm"),                                                 \
         .range = {1e-12, 1},                                                                                \
         .initial = NAN,                                                                                     \
         .value = "RATE",                                                                                    \
         .otherwise = "any rate",                                                                            \
         .needs = "detections",                                                                              \
         .help = "write only detections with this false-alarm rate or a lower one. It is that of a "         \
                 "Gaussian background, or by rank in the scene if the method has none"},                     \
    {                                                                                                        \
        HC_FLAG(Params, member.overwrite, "overwrite"), .help = "replace an existing file of detections"     \
    }

/* A pixel of the scene. */
typedef struct HcDetection {
    double score;
    int64_t pixel; /* line * samples + sample, -1 = none */
} HcDetection;

/* Zero-initialise; hc_detections_close() is always safe. */
typedef struct HcDetections {
    int32_t bands, top;
    bool low;                      /* the lowest scores are the best */
    double threshold, false_alarm; /* NAN = none */
    HcDetection *best;             /* [bands][top], heaps whose first entry is the worst */
    int64_t *scored;               /* [bands] pixels with a score */
    HcNullLaw *law;                /* [bands] of the background, filled by the stage before gather */
} HcDetections;

/* In plan, behind all that fills stage->needs: adds to them, and refuses a file that cannot be. The first
 * `scores` bands that go out are scores. */
HcStatus hc_detections_plan(HcStage *stage, const HcDetectionParams *params, int32_t scores,
                            HcError *err) HC_MUST_CHECK;
/* In open, where the file is asked for. */
HcStatus hc_detections_open(HcDetections *to, const HcDetectionParams *params, int32_t scores, bool low,
                            HcError *err) HC_MUST_CHECK;
void hc_detections_consume(HcDetections *to, const HcBlock *block);
HcStatus hc_detections_gather(HcDetections *to, HcStage *stage, HcError *err) HC_MUST_CHECK;
/* name[bands]: what a detection of a band is called. */
HcStatus hc_detections_finish(HcDetections *to, const HcStage *stage, const HcDetectionParams *params,
                              const char *const *name, HcError *err) HC_MUST_CHECK;
void hc_detections_report(const HcDetections *of, HcJson *to);
void hc_detections_close(HcDetections *to);

#endif
