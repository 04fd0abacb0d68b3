/* Verify: some tiles (whole lines) of a finished run, computed again in the plain way and compared with what
 * was written, before any output gets its name.
 *
 * The plain way is a second chain of the same steps on the CPU. It reads through GDAL, sums blocks, and forms
 * exact sums in float64. What stages settle they settle again, by passes over the whole scene: a stage has no
 * way to hand its model to another chain, and a model that was taken over would not be verified. */
#ifndef HC_PIPELINE_RUN_VERIFY_H
#define HC_PIPELINE_RUN_VERIFY_H

#include "pipeline/run/run.h"

enum { HC_VERIFY_LINES = 16, HC_VERIFY_TILES_MAX = 4096 };

/* Zero-initialise and set what is asked for; hc_verify_clear() is always safe. */
typedef struct HcVerify {
    int32_t tiles; /* 0 = nothing is verified */
    uint64_t seed; /* of their places; 0 = by the steps of the chain */
    HcChain *chain;
    const HcCompute *compute; /* of the run */
    /* Opens a plain backend, which is closed at the end of the check. */
    HcStatus (*open)(const void *user, HcCompute **out, HcError *err);
    const void *user;
    /* Of the run, without the hooks of the check. */
    HcRunSettings settings;
    /* Found. */
    bool done;
    int32_t lines;       /* of a tile; the last one of a scene may be shorter */
    int64_t *first_line; /* [tiles] ascending */
    HcWrittenCheck check;
    char device[128];
    double seconds;
} HcVerify;

/* Refuses what cannot be verified, of a planned chain: no raster that is written, rasters on a map or on a
 * stream, runs that several ranks share. */
HcStatus hc_verify_check(const HcChain *chain, int32_t ranks, HcError *err) HC_MUST_CHECK;

/* Where tiles are asked for: refuses a planned chain that cannot be verified, and puts the check in front of
 * what `describe` and `inspect` of the settings do. The run then ends with HC_E_VERIFY where something
 * differs, and its record has `verify`. */
HcStatus hc_verify_begin(HcVerify *verify, HcRunSettings *settings, HcError *err) HC_MUST_CHECK;

void hc_verify_clear(HcVerify *verify);

#endif
