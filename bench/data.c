/* Random data that are the same everywhere, and the clock. */
#include "bench/internal.h"

#include <math.h>

/* The next of a series of well-mixed 64-bit words, by its place. (splitmix64) */
static uint64_t word_at(uint64_t seed, uint64_t place) {
    uint64_t z = seed + (place + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* In [-1, 1). */
static double real_at(uint64_t seed, uint64_t place) {
    return (double)(word_at(seed, place) >> 11) * 0x1p-52 - 1.0;
}

void hc_bench_random(const HcBenchSettings *settings, int64_t first, int64_t count, uint16_t *out) {
    const uint64_t mask = (UINT64_C(1) << settings->bits) - 1;
    for (int64_t i = 0; i < count; i += 4) {
        uint64_t word = word_at(settings->seed, (uint64_t)(first + i) / 4);
        for (int64_t k = i; k < i + 4 && k < count; k++) {
            out[k] = (uint16_t)(word & mask);
            word >>= 16;
        }
    }
}

void hc_bench_matrix(const HcBenchSettings *settings, double *matrix, double *mean) {
    size_t values = (size_t)settings->bands * (size_t)settings->components;
    for (size_t i = 0; i < values; i++) {
        matrix[i] = real_at(settings->seed + 1, i);
    }
    for (size_t b = 0; b < (size_t)settings->bands; b++) {
        mean[b] = (double)(1 << (settings->bits - 1)) + real_at(settings->seed + 2, b);
    }
}

void hc_bench_symmetric(const HcBenchSettings *settings, double *matrix) {
    size_t n = (size_t)settings->bands;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            matrix[i * n + j] = matrix[j * n + i] = real_at(settings->seed + 3, i * n + j);
        }
    }
}

/* From 0 to 20, evenly, for the rows of a matrix in no order: multiples of a prime above n are a permutation.
 */
static int grade(int64_t row, int64_t n) {
    return n > 1 ? (int)(row * 7919 % n * 20 / (n - 1)) : 0;
}

void hc_bench_graded(const HcBenchSettings *settings, double *matrix) {
    int64_t n = settings->bands;
    double most = 0.25 * sqrt(3 / (double)n); /* eigenvalues of A are then about 0.5 to 1.5 */
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j <= i; j++) {
            double entry = i == j ? 1 : most * real_at(settings->seed + 5, (uint64_t)(i * n + j));
            matrix[i * n + j] = matrix[j * n + i] = ldexp(entry, -grade(i, n) - grade(j, n));
        }
    }
}

void hc_bench_normal(const HcBenchSettings *settings, int64_t first, int64_t count, float *out) {
    enum { WORDS = 3, PIECES = 4 * WORDS }; /* a sum of twelve uniform numbers: no library's logarithm */
    for (int64_t i = 0; i < count; i++) {
        int32_t sum = 0;
        for (uint64_t w = 0; w < WORDS; w++) {
            uint64_t word = word_at(settings->seed + 6, (uint64_t)(first + i) * WORDS + w);
            sum += (int32_t)((word & 0xffff) + (word >> 16 & 0xffff) + (word >> 32 & 0xffff) + (word >> 48));
        }
        out[i] = (float)(sum - PIECES * UINT16_MAX / 2) / (UINT16_MAX + 1);
    }
}

float hc_bench_dense(const HcBenchSettings *settings, int64_t place) {
    return (float)real_at(settings->seed + 11, (uint64_t)place);
}

void hc_bench_reals(const HcBenchSettings *settings, int64_t lines, float *pixels) {
    enum { PERIOD = 512 }; /* samples from crest to crest */
    int64_t bands = settings->bands;
    for (int64_t p = 0; p < lines * settings->samples; p++) {
        double at = (double)(p % settings->samples % PERIOD) / PERIOD;
        double wave = 4 * fabs(at - 0.5) - 1;
        hc_bench_normal(settings, p * bands, bands, pixels + p * bands);
        for (int64_t b = 0; b < bands; b++) {
            float *x = &pixels[p * bands + b];
            *x = (float)(2 + wave * (1 + 0.5 * hc_bench_dense(settings, b)) + (double)*x / 64);
        }
    }
}

void hc_bench_training(const HcBenchSettings *settings, float *spectra) {
    size_t values = (size_t)settings->training * (size_t)settings->bands;
    double half = (double)(1 << (settings->bits - 1));
    for (size_t i = 0; i < values; i++) {
        spectra[i] = (float)(half + half * real_at(settings->seed + 4, i));
    }
}

/* A slope and four absorption features of any width. */
void hc_bench_library(const HcBenchSettings *settings, int32_t spectra, float *library) {
    enum { FEATURES = 4, NUMBERS = 1 + 3 * FEATURES };
    for (int32_t k = 0; k < spectra; k++) {
        uint64_t place = (uint64_t)k * NUMBERS;
        double slope = real_at(settings->seed + 7, place);
        for (int32_t b = 0; b < settings->bands; b++) {
            double at = 2 * (b + 0.5) / settings->bands - 1;
            double value = 1 + 0.4 * slope * at;
            for (uint64_t f = place + 1; f < place + NUMBERS; f += 3) {
                double depth = 0.1 + 0.1 * real_at(settings->seed + 7, f);
                double width = 0.1 + 0.08 * real_at(settings->seed + 7, f + 1);
                double off = (at - real_at(settings->seed + 7, f + 2)) / width;
                value -= depth * exp(-off * off);
            }
            library[(int64_t)k * settings->bands + b] = (float)(0.5 * value);
        }
    }
}

void hc_bench_mixtures(const HcBenchSettings *settings, const float *library, int32_t spectra, int64_t count,
                       float *pixels) {
    enum { MEMBERS = 4, ALIKE = 5 }; /* neighbours have the same members */
    int64_t bands = settings->bands;
    for (int64_t p = 0; p < count; p++) {
        const float *member[MEMBERS];
        double share[MEMBERS];
        double sum = 0;
        for (int i = 0; i < MEMBERS; i++) {
            uint64_t word = word_at(settings->seed + 8, (uint64_t)(p / ALIKE * MEMBERS + i));
            member[i] = library + (int64_t)(word % (uint64_t)spectra) * bands;
            share[i] = 1.01 + real_at(settings->seed + 9, (uint64_t)(p * MEMBERS + i));
            sum += share[i];
        }
        for (int64_t b = 0; b < bands; b++) {
            double value = 0.005 * real_at(settings->seed + 10, (uint64_t)(p * bands + b));
            for (int i = 0; i < MEMBERS; i++) {
                value += share[i] / sum * (double)member[i][b];
            }
            pixels[p * bands + b] = (float)value;
        }
    }
}
