/* amf: adaptive matched filter, ((x - m)' C^-1 (t - m))^2 / ((t - m)' C^-1 (t - m)) with the sign of the
 * product: squared standard deviations of the background along the target. */
#include "pipeline/stages/detect/detect.h"

static HcStatus make(const HcDetectInput *in, HcScoring *out, HcError *err) {
    return hc_detect_whiten(in, HC_REDUCE_POWER, out, err);
}

const HcDetectMethod hc_detect_amf = {.name = "amf",
                                      .what = "adaptive matched filter",
                                      .suffix = hc_detect_plain,
                                      .background = true,
                                      .unit = true,
                                      .column = HC_COLUMN_POWER,
                                      .null = HC_NULL_ROOT_NORMAL,
                                      .make = make};
