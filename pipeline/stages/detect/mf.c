/* mf: matched filter, (x - m)' C^-1 (t - m) / ((t - m)' C^-1 (t - m)): 0 for the mean of the background, 1
 * for the target. */
#include "pipeline/stages/detect/detect.h"

static HcStatus make(const HcDetectInput *in, HcScoring *out, HcError *err) {
    return hc_detect_filter(in, in->covariance, in->mean, out, err);
}

const HcDetectMethod hc_detect_mf = {.name = "mf",
                                     .what = "matched filter",
                                     .suffix = hc_detect_plain,
                                     .background = true,
                                     .unit = true,
                                     .null = HC_NULL_NORMAL,
                                     .make = make};
