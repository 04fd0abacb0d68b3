/* Whole numbers of a grid -> few bits. They have 32 bits and more, but most end in zeros: a float32 value of
 * at least s / 4, with s the standard deviation of its band, is a multiple of 8 units. So x = center +
 * 2^shift y, where y fits two limbs. The shift is the least with which that holds for values of the usual
 * size, so that few small values have digits below it. Where all values still end in zeros (integers stored
 * as floats) y fits one limb. */
#include "cpu/gram/pairs.h"

#include <math.h>
#include <string.h>

enum {
    ONE_LIMB = 15, /* bits of y */
    TWO_LIMBS = 2 * HC_SHIFTED_LIMB,
    SPREAD = 6, /* root mean squares within which values are expected */
    MARGIN = 4  /* the same in largest values of a few pixels */
};

/* The last bits that most values of a band share (the majority vote of Boyer and Moore 1991). */
static int32_t most_frequent_rest(const double *values, int32_t count, int64_t bands, int32_t shift) {
    const int64_t mask = ((int64_t)1 << shift) - 1;
    int64_t rest = 0;
    int32_t votes = 0;
    for (int32_t p = 0; p < count; p++) {
        int64_t next = (int64_t)values[p * bands] & mask;
        rest = votes == 0 ? next : rest;
        votes += rest == next ? 1 : -1;
    }
    return (int32_t)rest;
}

/* Bits of a value of the usual size. */
static int32_t bits_of_band(const double *values, int32_t count, int64_t bands, double size) {
    double largest = SPREAD * size;
    for (int32_t p = 0; p < count && size <= 0; p++) {
        largest = fmax(largest, MARGIN * fabs(values[p * bands]));
    }
    return ilogb(fmin(largest, HC_GRID_NEAR) + 1) + 1;
}

/* Whether all values of a band share the last bits. */
static bool all_end_alike(const double *values, int32_t count, int64_t bands, int32_t shift) {
    uint64_t differ = 0;
    for (int32_t p = 1; p < count; p++) {
        differ |= (uint64_t)(int64_t)values[p * bands] ^ (uint64_t)(int64_t)values[0];
    }
    return (differ & (((uint64_t)1 << shift) - 1)) == 0;
}

/* Leaves `most` bits of usual values. Returns whether these pixels lose nothing. */
static bool shift_to(int32_t most, const double *pixels, int32_t count, int32_t bands, const double *size,
                     int32_t *shift) {
    bool fine = true;
    for (int32_t b = 0; b < bands; b++) {
        int32_t bits = bits_of_band(pixels + b, count, bands, size[b]);
        shift[b] = bits > most ? bits - most : 0;
        fine = fine && all_end_alike(pixels + b, count, bands, shift[b]);
    }
    return fine;
}

void hc_pairs_choose_shift(const double *pixels, int32_t count, int32_t bands, const double *size,
                           int32_t *center, int32_t *shift) {
    if (!shift_to(ONE_LIMB, pixels, count, bands, size, shift)) {
        (void)shift_to(TWO_LIMBS, pixels, count, bands, size, shift);
    }
    for (int32_t b = 0; b < bands; b++) {
        center[b] = most_frequent_rest(pixels + b, count, bands, shift[b]);
    }
}

HC_CLONES int32_t hc_pairs_shifted(const double *restrict x, const int32_t *restrict center,
                                   const double *restrict scale, int64_t bands, int32_t *restrict to) {
    const double whole = 0x1.8p52; /* the last bits of a sum with it are those of an integer */
    uint64_t bits = 0;
    uint64_t rest = 0;
    for (int64_t b = 0; b < bands; b++) {
        double value = (x[b] - center[b]) * scale[b];
        double sum = value + whole;
        double less = value - (sum - whole);
        uint64_t word;
        uint64_t lost;
        memcpy(&word, &sum, sizeof word);
        memcpy(&lost, &less, sizeof lost);
        word -= (uint64_t)0x4338 << 48;
        uint64_t sign = 0 - (word >> 63);
        bits |= (word ^ sign) - sign;
        rest |= lost;
        to[b] = (int32_t)(uint32_t)word;
    }
    return rest != 0 || bits >> TWO_LIMBS != 0 ? -1 : (int32_t)bits;
}

HC_CLONES void hc_pairs_cut_in_three(const double *restrict x, int64_t bands, int32_t *restrict low,
                                     int32_t *restrict middle, int32_t *restrict high) {
    const double weight = (double)(1 << HC_PAIRS_LIMB);
    const double weight2 = (double)(1 << 2 * HC_PAIRS_LIMB);
    for (int64_t b = 0; b < bands; b++) {
        double top = rint(x[b] * (1 / weight2));
        double rest = x[b] - top * weight2;
        double next = rint(rest * (1 / weight));
        high[b] = (int32_t)top;
        middle[b] = (int32_t)next;
        low[b] = (int32_t)(rest - next * weight);
    }
}
