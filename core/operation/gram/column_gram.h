/* column_gram: counts, sums and sums of products of two bands for each group of neighbouring columns. */
#ifndef HC_CORE_OPERATION_COLUMN_GRAM_H
#define HC_CORE_OPERATION_COLUMN_GRAM_H

#include "core/compute.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    HC_COLUMN_LINES = 128, /* of a window. Windows begin at lines of the scene that are multiples of this */
    HC_COLUMN_PANEL = 128, /* pixels whose products are added before they are rounded */
    HC_COLUMN_STRIP = 24   /* bands that lie side by side in the sums */
};

/* Strips of the bands and of the constant 1 after them. */
HC_ANYWHERE size_t hc_column_strips(int32_t bands) {
    return ((size_t)bands + 1 + HC_COLUMN_STRIP - 1) / HC_COLUMN_STRIP;
}

/* Numbers of the sums of a group. */
static inline size_t hc_column_values(int32_t bands) {
    size_t strips = hc_column_strips(bands);
    return strips * (strips + 1) / 2 * HC_COLUMN_STRIP * HC_COLUMN_STRIP;
}

/* Where the sum of the products of bands i >= j is in the sums of a group. Band number `bands` is the
 * constant 1: its products are sums of values and, with itself, the count of pixels.
 *
 * Strip c holds the columns j from 24 c to 24 c + 23 of all rows i from 24 c on: row after row, the 24
 * columns side by side. Strips follow one another. Numbers with j > i have no meaning. */
HC_ANYWHERE size_t hc_column_place(int32_t bands, size_t i, size_t j) {
    uint32_t column = (uint32_t)j; /* kernels divide 32 bits faster than 64 */
    uint32_t strip = column / HC_COLUMN_STRIP;
    size_t before = strip * hc_column_strips(bands) - (size_t)strip * (strip + 1) / 2; /* strips of rows */
    return (before * HC_COLUMN_STRIP + i) * HC_COLUMN_STRIP + column % HC_COLUMN_STRIP;
}

typedef struct HcColumnRule {
    int32_t width;        /* columns of a group, 1 or more; the last group may have fewer */
    const float *largest; /* [device] [bands] a pixel with a value beyond +-this takes no part, nor one with
                           * NaN; finite */
    const double *scale; /* [device] [24 hc_column_strips()] powers of two; [bands] is that of the constant 1;
                          * then zeros */
} HcColumnRule;

static inline int64_t hc_column_groups(int32_t samples, int32_t width) {
    return ((int64_t)samples + width - 1) / width;
}

/* Device memory that the operation works in; threads: HcComputeInfo.threads [bytes]. */
static inline size_t hc_column_work_bytes(int32_t bands, int32_t samples, int32_t threads) {
    size_t panel = hc_column_strips(bands) * (HC_COLUMN_PANEL + 1) * HC_COLUMN_STRIP * sizeof(double);
    size_t pixels = (size_t)HC_COLUMN_LINES * (size_t)samples;
    size_t lists = pixels * (sizeof(int32_t) + 1) + (size_t)samples * sizeof(int32_t);
    return panel * (size_t)threads + lists + 1024;
}

/* Adds the valid interior pixels of a window to the sums of their groups. Group g has the columns from g
 * width to (g + 1) width - 1.
 *
 * The window is the lines of `before`, which may be NULL, and of `in`, which follow without a gap. All lie
 * between two multiples of HC_COLUMN_LINES. The caller gives all lines of the scene between them at once, so
 * that the sums do not depend on how the scene is cut into blocks.
 *
 * The pixels of a group that take part are its panels: HC_COLUMN_PANEL of them each, fewer in the last, line
 * after line, and within a line from left to right. Products of two float32 values are exact in float64.
 * Those of a panel are added in float64, from 0, in the order of its pixels. The sum s of bands i and j
 * becomes u = (s scale[i]) scale[j], in float64, and with m = 1.5 2^52 the integer 2^32 a + b: a is u 2^-32 +
 * m rounded, minus m, b is (u - 2^32 a) + m rounded, minus m. Except in ties that is the nearest integer. It
 * is added to the 64-bit sum. So the bits are the same on every backend, and the order of windows does not
 * matter. The caller chooses scales that no sum can overflow with.
 *
 * sums: [device] [groups][hc_column_values()], zeroed by the caller before the first window. far: [device]
 * one number; the valid pixels that took no part are added to it. work: [device] hc_column_work_bytes(),
 * aligned as by hc_alloc, for one call at a time. */
typedef HcStatus HcColumnGramFn(HcQueue *queue, const HcBlock *before, const HcBlock *in,
                                const HcColumnRule *rule, int64_t *sums, int64_t *far, void *work,
                                HcError *err);
HcColumnGramFn hc_column_gram HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
