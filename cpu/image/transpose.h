/* Words of 32 bits turned: 16 x 16 by AVX-512, 8 x 8 by AVX2. */
#ifndef HC_CPU_IMAGE_TRANSPOSE_H
#define HC_CPU_IMAGE_TRANSPOSE_H

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <stdbool.h>
#include <stddef.h>

#define HC_HAS_TRANSPOSE16 1

static inline bool hc_can_transpose16(void) {
    return __builtin_cpu_supports("avx512f") != 0;
}

/* Row r starts at from + r * from_stride [bytes], column c goes to to + c * to_stride. */
__attribute__((target("avx512f"))) static inline void hc_transpose16(const void *from, size_t from_stride,
                                                                     void *to, size_t to_stride) {
    __m512i a[16];
    __m512i b[16];
    for (int i = 0; i < 16; i++) {
        a[i] = _mm512_loadu_si512((const char *)from + from_stride * (size_t)i);
    }
    for (int i = 0; i < 16; i += 2) {
        b[i] = _mm512_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm512_unpackhi_epi32(a[i], a[i + 1]);
    }
    for (int i = 0; i < 16; i += 4) {
        a[i] = _mm512_unpacklo_epi64(b[i], b[i + 2]);
        a[i + 1] = _mm512_unpackhi_epi64(b[i], b[i + 2]);
        a[i + 2] = _mm512_unpacklo_epi64(b[i + 1], b[i + 3]);
        a[i + 3] = _mm512_unpackhi_epi64(b[i + 1], b[i + 3]);
    }
    for (int i = 0; i < 4; i++) {
        b[i] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0x88);
        b[i + 4] = _mm512_shuffle_i32x4(a[i], a[i + 4], 0xDD);
        b[i + 8] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0x88);
        b[i + 12] = _mm512_shuffle_i32x4(a[i + 8], a[i + 12], 0xDD);
    }
    for (int i = 0; i < 4; i++) {
        _mm512_storeu_si512((char *)to + to_stride * (size_t)i, _mm512_shuffle_i32x4(b[i], b[i + 8], 0x88));
        _mm512_storeu_si512((char *)to + to_stride * (size_t)(i + 8),
                            _mm512_shuffle_i32x4(b[i], b[i + 8], 0xDD));
        _mm512_storeu_si512((char *)to + to_stride * (size_t)(i + 4),
                            _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0x88));
        _mm512_storeu_si512((char *)to + to_stride * (size_t)(i + 12),
                            _mm512_shuffle_i32x4(b[i + 4], b[i + 12], 0xDD));
    }
}

static inline bool hc_can_transpose8(void) {
    return __builtin_cpu_supports("avx2") != 0;
}

/* Transposes 8 rows and columns. */
__attribute__((target("avx2"))) static inline void hc_transpose8(const void *from, size_t from_stride,
                                                                 void *to, size_t to_stride) {
    __m256i a[8];
    __m256i b[8];
    for (int i = 0; i < 4; i++) { /* the halves of rows i and i + 4 side by side */
        const char *row = (const char *)from + from_stride * (size_t)i;
        const char *other = row + 4 * from_stride;
        a[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)row)),
                                       _mm_loadu_si128((const __m128i *)other), 1);
        a[i + 4] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)row + 1)),
                                           _mm_loadu_si128((const __m128i *)other + 1), 1);
    }
    for (int i = 0; i < 8; i += 4) {
        b[i] = _mm256_unpacklo_epi32(a[i], a[i + 1]);
        b[i + 1] = _mm256_unpackhi_epi32(a[i], a[i + 1]);
        b[i + 2] = _mm256_unpacklo_epi32(a[i + 2], a[i + 3]);
        b[i + 3] = _mm256_unpackhi_epi32(a[i + 2], a[i + 3]);
    }
    for (int i = 0; i < 8; i += 4) {
        a[i] = _mm256_unpacklo_epi64(b[i], b[i + 2]);
        a[i + 1] = _mm256_unpackhi_epi64(b[i], b[i + 2]);
        a[i + 2] = _mm256_unpacklo_epi64(b[i + 1], b[i + 3]);
        a[i + 3] = _mm256_unpackhi_epi64(b[i + 1], b[i + 3]);
    }
    for (int i = 0; i < 8; i++) {
        _mm256_storeu_si256((__m256i *)((char *)to + to_stride * (size_t)i), a[i]);
    }
}

#endif
#endif
