/* reassign: pixels change their class, and with them the sums of the classes. */
#ifndef HC_CORE_OPERATION_REASSIGN_H
#define HC_CORE_OPERATION_REASSIGN_H

#include "core/compute.h"

#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sums of a class without rounding: integers, so that pixels may come in any order and leave again. A float32
 * is a multiple of 2^-149; digits of 8 bits hold any of them. A digit grows by less than 2^31 a pixel: enough
 * for 2^32 pixels. */
enum { HC_CLASS_DIGITS = 32 };

/* The digit that holds a finite value, and what is added there. */
HC_ANYWHERE int64_t hc_class_digit(float value, uint32_t *digit) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t exponent = bits >> 23 & 0xff;
    uint32_t normal = exponent > 0; /* not a subnormal number */
    uint32_t mantissa = (bits & 0x7fffff) | normal << 23;
    int64_t size = (int64_t)((uint64_t)mantissa << ((exponent - normal) & 7));
    *digit = (exponent - normal) >> 3;
    return bits >> 31 != 0 ? -size : size;
}

/* The numbers of all sums: how many pixels changed, then the pixels of each class, then
 * [classes][HC_CLASS_DIGITS][bands]: the sum of a band is that of digit[i] 2^(8 i - 149). */
static inline size_t hc_class_sums(int32_t classes, int32_t bands) {
    return 1 + (size_t)classes * (1 + HC_CLASS_DIGITS * (size_t)bands);
}

/* Host memory that it takes for each pixel where device memory is host memory [bytes]. */
enum { HC_REASSIGN_PIXEL_BYTES = 2 };

/* The interior pixels of `in`, which are finite, join the class index[] [device] [lines][samples][k], of
 * which the first counts, and leave that of label [device] [lines][samples], which becomes the new one; -1 =
 * none yet. sums [device] [hc_class_sums()] follow. Classes are 0 to classes - 1. A masked pixel, and one
 * whose index is -1, stays where it is. The bits are the same on every backend. */
typedef HcStatus HcReassignFn(HcQueue *queue, const HcBlock *in, const int32_t *index, int32_t k,
                              int32_t *label, int32_t classes, int64_t *sums, HcError *err);
HcReassignFn hc_reassign HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
