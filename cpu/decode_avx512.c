/* The turning of bands into pixels, 16 x 16 values in registers: the same values as decode_typed.h, sooner.
 */
#include "cpu/decode.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(HC_SANITIZED)

#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

/* Bytes ahead in each band that are fetched early: hundreds of rows at once are too many for the processor to
 * follow by itself. */
#define AHEAD 256

#define AVX512 __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))

/* 16 values of one band; those beyond the mask become 0. */
AVX512 static inline __m512 load_uint8(const char *at, __mmask16 wanted) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(wanted, at)));
}

AVX512 static inline __m512 load_uint16(const char *at, __mmask16 wanted) {
    return _mm512_cvtepi32_ps(_mm512_cvtepu16_epi32(_mm256_maskz_loadu_epi16(wanted, at)));
}

AVX512 static inline __m512 load_int16(const char *at, __mmask16 wanted) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi16_epi32(_mm256_maskz_loadu_epi16(wanted, at)));
}

AVX512 static inline __m512 load_float32(const char *at, __mmask16 wanted) {
    return _mm512_maskz_loadu_ps(wanted, at);
}

/* row[band] -> row[pixel]: 2 x 2, then 4 x 4, then their quarters. */
AVX512 static inline void turn(__m512 row[TILE]) {
    __m512 pair[TILE];
    for (int k = 0; k < TILE; k += 2) {
        pair[k] = _mm512_unpacklo_ps(row[k], row[k + 1]);
        pair[k + 1] = _mm512_unpackhi_ps(row[k], row[k + 1]);
    }
    for (int k = 0; k < TILE; k += 4) {
        row[k] = _mm512_shuffle_ps(pair[k], pair[k + 2], 0x44);
        row[k + 1] = _mm512_shuffle_ps(pair[k], pair[k + 2], 0xEE);
        row[k + 2] = _mm512_shuffle_ps(pair[k + 1], pair[k + 3], 0x44);
        row[k + 3] = _mm512_shuffle_ps(pair[k + 1], pair[k + 3], 0xEE);
    }
    /* row[4 g + i] now holds, in quarter q, bands 4 g .. 4 g + 3 of pixel 4 q + i. */
    for (int i = 0; i < 4; i++) {
        __m512 low = _mm512_shuffle_f32x4(row[i], row[4 + i], 0x44);
        __m512 low_far = _mm512_shuffle_f32x4(row[i], row[4 + i], 0xEE);
        __m512 high = _mm512_shuffle_f32x4(row[8 + i], row[12 + i], 0x44);
        __m512 high_far = _mm512_shuffle_f32x4(row[8 + i], row[12 + i], 0xEE);
        pair[i] = _mm512_shuffle_f32x4(low, high, 0x88);
        pair[4 + i] = _mm512_shuffle_f32x4(low, high, 0xDD);
        pair[8 + i] = _mm512_shuffle_f32x4(low_far, high_far, 0x88);
        pair[12 + i] = _mm512_shuffle_f32x4(low_far, high_far, 0xDD);
    }
    for (int k = 0; k < TILE; k++) {
        row[k] = pair[k];
    }
}

/* Which of 16 values are nodata (equal, or both NaN), and which no finite number. */
AVX512 static inline __mmask16 is_nodata(__m512 value, __m512 nodata, bool nodata_is_nan) {
    return nodata_is_nan ? _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q)
                         : _mm512_cmp_ps_mask(value, nodata, _CMP_EQ_OQ);
}

AVX512 static inline __mmask16 is_bad(__m512 value) {
    return _mm512_cmp_ps_mask(_mm512_abs_ps(value), _mm512_set1_ps(FLT_MAX), _CMP_NLE_UQ);
}

/* Up to 16 pixels in all bands. Nodata is compared after widening, which is exact for these types. */
#define DEFINE_GROUP(name, bytes, floating)                                                                  \
    AVX512 static void group_##name(const Job *job, const char *from, int32_t pixels, float *to,             \
                                    __mmask16 *any, __mmask16 *all, __mmask16 *bad) {                        \
        int32_t bands = job->out->bands;                                                                     \
        __mmask16 wanted = (__mmask16)((1u << pixels) - 1);                                                  \
        float nodata_value = (float)job->how->nodata;                                                        \
        __m512 nodata = _mm512_set1_ps(nodata_value);                                                        \
        for (int32_t b = 0; b < bands; b += TILE) {                                                          \
            int32_t count = bands - b < TILE ? bands - b : TILE;                                             \
            __m512 row[TILE];                                                                                \
            for (int k = 0; k < TILE; k++) {                                                                 \
                row[k] = _mm512_setzero_ps();                                                                \
            }                                                                                                \
            for (int32_t k = 0; k < count; k++) {                                                            \
                const char *at = from + (int64_t)job->how->band_index[b + k] * job->raw->stride_band;        \
                _mm_prefetch(at + AHEAD, _MM_HINT_T0);                                                       \
                row[k] = load_##name(at, wanted);                                                            \
                if (job->has_nodata) {                                                                       \
                    __mmask16 hit = is_nodata(row[k], nodata, floating && isnan(nodata_value));              \
                    *any |= hit;                                                                             \
                    *all &= hit;                                                                             \
                }                                                                                            \
                if (floating) {                                                                              \
                    *bad |= is_bad(row[k]);                                                                  \
                }                                                                                            \
            }                                                                                                \
            turn(row);                                                                                       \
            __mmask16 stored = (__mmask16)((1u << count) - 1);                                               \
            for (int32_t s = 0; s < pixels; s++) {                                                           \
                _mm512_mask_storeu_ps(to + (int64_t)s * bands + b, stored, row[s]);                          \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    AVX512 static void strip_##name(const Job *job, const char *from, int32_t pixels, float *to,             \
                                    Seen *seen) {                                                            \
        for (int32_t s = 0; s < pixels; s += TILE) {                                                         \
            int32_t count = pixels - s < TILE ? pixels - s : TILE;                                           \
            __mmask16 any = 0, all = 0xFFFF, bad = 0;                                                        \
            group_##name(job, from + (int64_t)s * (bytes), count, to + (int64_t)s * job->out->bands, &any,   \
                         &all, &bad);                                                                        \
            __mmask16 nodata = job->how->nodata_needs_all_bands ? all : any;                                 \
            for (int32_t k = 0; k < count; k++) {                                                            \
                seen->nodata[s + k] = nodata >> k & 1;                                                       \
                seen->bad[s + k] = bad >> k & 1;                                                             \
            }                                                                                                \
        }                                                                                                    \
    }

DEFINE_GROUP(uint8, 1, 0)
DEFINE_GROUP(uint16, 2, 0)
DEFINE_GROUP(int16, 2, 0)
DEFINE_GROUP(float32, 4, 1)

DecodeStrip *hc_decode_avx512(HcType type) {
    if (!__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512bw") ||
        !__builtin_cpu_supports("avx512vl") || !__builtin_cpu_supports("avx512dq")) {
        return NULL;
    }
    switch (type) {
    case HC_UINT8:
        return strip_uint8;
    case HC_UINT16:
        return strip_uint16;
    case HC_INT16:
        return strip_int16;
    case HC_FLOAT32:
        return strip_float32;
    default:
        return NULL;
    }
}

#else

DecodeStrip *hc_decode_avx512(HcType type) {
    (void)type;
    return NULL;
}

#endif
