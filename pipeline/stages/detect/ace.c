/* ace: adaptive coherence estimator, the squared cosine of the angle between whitened pixel and whitened
 * target, with the sign of the cosine. The length of the pixel does not matter. */
#include "pipeline/stages/detect/detect.h"

static HcStatus make(const HcDetectInput *in, HcScoring *out, HcError *err) {
    return hc_detect_whiten(in, HC_REDUCE_COHERENCE, out, err);
}

const HcDetectMethod hc_detect_ace = {.name = "ace",
                                      .what = "adaptive coherence",
                                      .suffix = hc_detect_plain,
                                      .background = true,
                                      .unit = true,
                                      .column = HC_COLUMN_COHERENCE,
                                      .null = HC_NULL_COHERENCE,
                                      .make = make};
