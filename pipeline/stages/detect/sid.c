/* sid: spectral information divergence, the sum of (p - q) log(p / q) with p and q pixel and target divided
 * by their sums; small where both have the same shape. */
#include "pipeline/stages/detect/detect.h"

static HcStatus make(const HcDetectInput *in, HcScoring *out, HcError *err) {
    for (int32_t j = 0; j < in->targets; j++) {
        for (int32_t b = 0; b < in->bands; b++) {
            double value = in->spectrum[(size_t)j * (size_t)in->bands + (size_t)b];
            if (!(value > 0)) {
                return hc_fail(err, HC_E_INPUT,
                               "detect: target \"%s\" is %g in band %d, sid needs values above 0",
                               in->name[j], value, b + 1);
            }
        }
    }
    return hc_detect_as_is(in, HC_REDUCE_DIVERGENCE, out, err);
}

const HcDetectMethod hc_detect_sid = {.name = "sid",
                                      .what = "spectral information divergence",
                                      .suffix = hc_detect_plain,
                                      .low = true,
                                      .make = make};
