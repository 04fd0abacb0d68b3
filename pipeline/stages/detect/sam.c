/* sam: spectral angle, 0 to pi; small where pixel and target have the same shape. */
#include "pipeline/stages/detect/detect.h"

static HcStatus make(const HcDetectInput *in, HcScoring *out, HcError *err) {
    return hc_detect_as_is(in, HC_REDUCE_ANGLE, out, err);
}

const HcDetectMethod hc_detect_sam = {.name = "sam",
                                      .what = "spectral angle [radians]",
                                      .suffix = hc_detect_plain,
                                      .low = true,
                                      .score_unit = "rad",
                                      .make = make};
