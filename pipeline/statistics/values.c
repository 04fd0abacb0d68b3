/* Values of any type and byte order as doubles. */
#include "pipeline/statistics/summary.h"

#include <string.h>

#define NO_SWAP(bits) (bits)
/* Samples outside, bands inside: neighbours in the file are read together where bands are, and where samples
 * are each band is a stream of its own. */
#define TAKER(take, TYPE, BITS, SWAP)                                                                        \
    static void take(const HcPatch *patch) {                                                                 \
        for (int32_t s = 0; s < patch->samples; s++) {                                                       \
            const char *pixel = patch->from + s * patch->sample_step;                                        \
            for (int32_t b = 0; b < patch->bands; b++) {                                                     \
                BITS bits;                                                                                   \
                TYPE value;                                                                                  \
                memcpy(&bits, pixel + patch->offset[b], sizeof bits);                                        \
                bits = patch->swap ? (BITS)SWAP(bits) : bits;                                                \
                memcpy(&value, &bits, sizeof value);                                                         \
                patch->to[(size_t)b * (size_t)patch->samples + (size_t)s] = (double)value;                   \
            }                                                                                                \
        }                                                                                                    \
    }

TAKER(take_uint8, uint8_t, uint8_t, NO_SWAP)
TAKER(take_int8, int8_t, uint8_t, NO_SWAP)
TAKER(take_uint16, uint16_t, uint16_t, __builtin_bswap16)
TAKER(take_int16, int16_t, uint16_t, __builtin_bswap16)
TAKER(take_uint32, uint32_t, uint32_t, __builtin_bswap32)
TAKER(take_int32, int32_t, uint32_t, __builtin_bswap32)
TAKER(take_uint64, uint64_t, uint64_t, __builtin_bswap64)
TAKER(take_int64, int64_t, uint64_t, __builtin_bswap64)
TAKER(take_float32, float, uint32_t, __builtin_bswap32)
TAKER(take_float64, double, uint64_t, __builtin_bswap64)

void hc_take_values(HcType type, const HcPatch *patch) {
    static void (*const takers[HC_TYPE_COUNT])(const HcPatch *) = {
        [HC_UINT8] = take_uint8,     [HC_INT8] = take_int8,     [HC_UINT16] = take_uint16,
        [HC_INT16] = take_int16,     [HC_UINT32] = take_uint32, [HC_INT32] = take_int32,
        [HC_UINT64] = take_uint64,   [HC_INT64] = take_int64,   [HC_FLOAT32] = take_float32,
        [HC_FLOAT64] = take_float64,
    };
    takers[type](patch);
}
