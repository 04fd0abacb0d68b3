/* Products of bytes. Where spectra lie near few axes axes.c serves; of all others products of bytes find most
 * that cannot be neighbours, four times as fast as float32 (docs/numerics.md). Example: 5,000 spectra of 200
 * random bands leave 9 candidates a pixel, where k is 5.
 *
 * x' = s q + r and t' = S p + R with integers q and p up to 127, so x'.t' is within |r| |t'| + (|x'| + |r|)
 * |R| of s S q.p. The instruction multiplies p by q + 128, and sums begin at -128 sum(p). */
#include "core/allocate.h"
#include "cpu/knn/knn.h"

#include <math.h>
#include <string.h>

#ifdef HC_WIDE
#include <immintrin.h>

enum { BLOCK = HC_KNN_BLOCK };

/* Fewer bands or spectra are not worth it; more bands would need a larger bound. */
enum { BANDS_MIN = 96, BANDS_MAX = 4096, COUNT_MIN = 1024 };

HC_CLONES static float largest_of(const float *x, int64_t bands) {
    float lane[BLOCK] = {0};
    for (int64_t b = 0; b < bands; b++) {
        float value = fabsf(x[b]);
        lane[b % BLOCK] = value > lane[b % BLOCK] ? value : lane[b % BLOCK];
    }
    for (int i = 1; i < BLOCK; i++) {
        lane[0] = lane[i] > lane[0] ? lane[i] : lane[0];
    }
    return lane[0];
}

/* Steps of each band; what they leave of it. Returns their sum. */
HC_CLONES static int32_t take_steps(const float *restrict x, int64_t bands, float step,
                                    int8_t *restrict steps, float *restrict rest) {
    float per_step = step > 0x1p-100F ? 1 / step : 0;
    int32_t sum = 0;
    for (int64_t b = 0; b < bands; b++) {
        float count = rintf(x[b] * per_step);
        rest[b] = x[b] - step * count;
        steps[b] = (int8_t)count;
        sum += (int32_t)count;
    }
    return sum;
}

static void put_words(const int8_t *steps, int64_t words, int32_t *to) {
    for (int64_t w = 0; w < words; w++) {
        memcpy(to + w * BLOCK, steps + 4 * w, sizeof *to);
    }
}

/* The length of the rest, at least. */
static double length_of_rest(const float *rest, double length, int32_t bands) {
    return hc_knn_length(rest, bands) * (1 + 0x1p-20) + 0x1p-22 * length;
}

HcStatus hc_knn_make_bytes(HcTraining *training, HcError *err) {
    int32_t bands = training->bands;
    int64_t words = hc_knn_words(bands);
    int64_t blocks = hc_knn_blocks(training->count);
    int8_t steps[BANDS_MAX + 4] = {0};
    float rest[BANDS_MAX];
    if (training->axis != NULL || bands < BANDS_MIN || bands > BANDS_MAX || training->count < COUNT_MIN ||
        !__builtin_cpu_supports("avx512f") || !__builtin_cpu_supports("avx512vnni")) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new_aligned(training->word, blocks * words * BLOCK, "training spectra", err));
    HC_OR_RETURN(hc_new(training->start, blocks * BLOCK, "training spectra", err));
    memset(training->word, 0, (size_t)(blocks * words * BLOCK) * sizeof *training->word);
    training->step = largest_of(training->moved, training->count * bands) / 127;
    for (int64_t j = 0; j < training->count; j++) {
        training->start[j] =
            -128 * take_steps(training->moved + j * bands, bands, training->step, steps, rest);
        training->off = fmax(training->off, length_of_rest(rest, training->longest, bands));
        put_words(steps, words, training->word + j / BLOCK * words * BLOCK + j % BLOCK);
    }
    return HC_OK;
}

float hc_knn_take_bytes(const HcTraining *training, const float *moved, int32_t i, HcKnnBytes *bytes) {
    int32_t bands = training->bands;
    int64_t words = hc_knn_words(bands);
    int8_t steps[BANDS_MAX + 4] = {0};
    float rest[BANDS_MAX];
    float step = largest_of(moved, bands) / 127;
    double length = hc_knn_length(moved, bands);
    (void)take_steps(moved, bands, step, steps, rest);
    for (int64_t b = 0; b < bands; b++) {
        steps[b] ^= -128;
    }
    put_words(steps, words, bytes->word + i / BLOCK * words * BLOCK + i % BLOCK);
    double apart = length_of_rest(rest, length, bands);
    double most = apart * training->longest + (length + apart) * training->off;
    bytes->scale[i] = (float)((double)step * (double)training->step);
    bytes->above[i] = (float)(most * (1 + 0x1p-20) + 0x1p-20 * length * training->longest);
    return bytes->above[i];
}

/* As in gram/pairs_multiply.c: with intrinsics GCC copies all sums in every step. */
#define ADD(SUM, PIXELS, SPECTRUM)                                                                           \
    __asm__("vpdpbusd %2%{1to16%}, %1, %0" : "+v"(SUM) : "v"(PIXELS), "m"(SPECTRUM))

HC_WIDE static void multiply_block(const int32_t *pixels, const int32_t *spectra, int64_t words,
                                   const int32_t *start, const float *half, const float *scale,
                                   const float *above, float *product, float *peak, int64_t width) {
    __m512i sum[BLOCK];
#pragma GCC unroll 16
    for (int j = 0; j < BLOCK; j++) {
        sum[j] = _mm512_set1_epi32(start[j]);
    }
    for (; words > 0; words--, pixels += BLOCK, spectra += BLOCK) {
        __m512i column = _mm512_load_si512(pixels);
#pragma GCC unroll 16
        for (int j = 0; j < BLOCK; j++) {
            ADD(sum[j], column, spectra[j]);
        }
    }
    __m512 largest = _mm512_set1_ps(-INFINITY);
#pragma GCC unroll 16
    for (int j = 0; j < BLOCK; j++) {
        __m512 value = _mm512_mul_ps(_mm512_cvtepi32_ps(sum[j]), _mm512_loadu_ps(scale));
        value = _mm512_add_ps(value, _mm512_loadu_ps(above));
        _mm512_storeu_ps(product + j * width, value);
        largest = _mm512_max_ps(largest, _mm512_sub_ps(value, _mm512_set1_ps(half[j])));
    }
    _mm512_storeu_ps(peak, largest);
}

void hc_knn_multiply_bytes(const HcTraining *training, const HcKnnBytes *bytes, int32_t from, int32_t pixels,
                           int64_t first, int64_t count, const HcKnnProducts *products) {
    int64_t words = hc_knn_words(training->bands);
    for (int64_t j = 0; j < count; j += BLOCK) {
        for (int64_t i = 0; i < pixels; i += BLOCK) {
            multiply_block(bytes->word + (from + i) * words, training->word + (first + j) * words, words,
                           training->start + first + j, training->half + first + j, bytes->scale + from + i,
                           bytes->above + from + i, products->product + j * products->width + i,
                           products->peak + j / BLOCK * products->width + i, products->width);
        }
    }
}

#else

HcStatus hc_knn_make_bytes(HcTraining *training, HcError *err) {
    (void)training;
    (void)err;
    return HC_OK;
}

float hc_knn_take_bytes(const HcTraining *training, const float *moved, int32_t i, HcKnnBytes *bytes) {
    (void)training;
    (void)moved;
    (void)i;
    (void)bytes;
    return INFINITY;
}

void hc_knn_multiply_bytes(const HcTraining *training, const HcKnnBytes *bytes, int32_t from, int32_t pixels,
                           int64_t first, int64_t count, const HcKnnProducts *products) {
    (void)training;
    (void)bytes;
    (void)from;
    (void)pixels;
    (void)first;
    (void)count;
    (void)products;
}

#endif
