/* Strips of a file -> pairs of 16-bit integers, without pixels between. In BIL and BSQ the samples of a band
 * lie side by side, so that two of them are a pair already: words of 16 bands are turned, and that is all.
 * The neighbours of a difference are read from the file's own lines. */
#include "cpu/gram/pairs.h"

#include "cpu/image/transpose.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <string.h>

#define AVX2   __attribute__((target("avx2")))
#define INLINE AVX2 static inline __attribute__((always_inline))

enum { RUN = HC_CPU_RUN, AROUND = RUN + 2, BLOCK = HC_PAIRS_BLOCK, TURNED = 8 };

/* ---- values ---- */

INLINE int32_t value_at(const char *band, int64_t sample, HcType type, bool swap) {
    uint16_t bits;
    if (type == HC_UINT8) {
        return ((const uint8_t *)band)[sample];
    }
    if (type == HC_INT8) {
        return ((const int8_t *)band)[sample];
    }
    memcpy(&bits, band + 2 * sample, sizeof bits);
    bits = swap ? __builtin_bswap16(bits) : bits;
    return type == HC_UINT16 ? (int32_t)bits : (int32_t)(int16_t)bits;
}

/* The samples of a strip between their neighbours, 0 where there are none. Most strips are whole: their
 * length is known to the compiler. */
INLINE void load(const HcStrip *strip, const char *band, HcType type, bool swap, int32_t to[AROUND]) {
    const int32_t count = strip->samples;
    to[0] = strip->before ? value_at(band, -1, type, swap) : 0;
    if (count == RUN) {
        for (int32_t s = 0; s < RUN; s++) {
            to[s + 1] = value_at(band, s, type, swap);
        }
    } else {
        memset(to + 1, 0, RUN * sizeof *to);
        for (int32_t s = 0; s < count; s++) {
            to[s + 1] = value_at(band, s, type, swap);
        }
        to[RUN + 1] = 0;
    }
    to[count + 1] = strip->after ? value_at(band, count, type, swap) : 0;
}

INLINE void mean_of_nine(const int32_t a[AROUND], const int32_t h[AROUND], const int32_t b[AROUND],
                         int32_t out[RUN]) {
    int32_t sum[AROUND];
    for (int32_t s = 0; s < AROUND; s++) {
        sum[s] = a[s] + h[s] + b[s];
    }
    for (int32_t s = 0; s < RUN; s++) {
        out[s] = 9 * h[s + 1] - (sum[s] + sum[s + 1] + sum[s + 2]);
    }
}

/* Integers of 16 bits are the same as floats. */
AVX2 static void median_of_nine(const int32_t a[AROUND], const int32_t h[AROUND], const int32_t b[AROUND],
                                int32_t out[RUN]) {
    float line[3][AROUND];
    float middle[RUN];
    for (int32_t s = 0; s < AROUND; s++) {
        line[0][s] = (float)a[s];
        line[1][s] = (float)h[s];
        line[2][s] = (float)b[s];
    }
    hc_cpu_median9(line[0], line[1], line[2], 1, RUN, middle);
    for (int32_t s = 0; s < RUN; s++) {
        out[s] = h[s + 1] - (int32_t)middle[s];
    }
}

INLINE void part_values_of(const HcStrip *strip, int64_t band, HcType type, bool swap, HcDifference kind,
                           int32_t out[RUN]) {
    int32_t a[AROUND], h[AROUND], b[AROUND];
    load(strip, strip->here + band, type, swap, h);
    if (kind == HC_DIFFERENCE_MEAN3X3 || kind == HC_DIFFERENCE_MEDIAN3X3) {
        load(strip, strip->above + band, type, swap, a);
    }
    if (kind != HC_DIFFERENCE_NONE && kind != HC_DIFFERENCE_SHIFT) {
        load(strip, strip->below + band, type, swap, b);
    }
    switch (kind) {
    case HC_DIFFERENCE_NONE:
        memcpy(out, h + 1, RUN * sizeof *out);
        break;
    case HC_DIFFERENCE_MEAN3X3:
        mean_of_nine(a, h, b, out);
        break;
    case HC_DIFFERENCE_MEDIAN3X3:
        median_of_nine(a, h, b, out);
        break;
    case HC_DIFFERENCE_SHIFT:
        for (int32_t s = 0; s < RUN; s++) {
            out[s] = h[s + 1] - h[s + 2];
        }
        break;
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        for (int32_t s = 0; s < RUN; s++) {
            out[s] = h[s + 1] - b[s + 2];
        }
        break;
    }
}

/* Does so for a whole strip with neighbours, as most are, directly from the bytes of the file. */
INLINE void whole_values_of(const HcStrip *strip, int64_t band, HcType type, bool swap, HcDifference kind,
                            int32_t out[RUN]) {
    const char *a = strip->above + band, *h = strip->here + band, *b = strip->below + band;
#define AT(line, sample) value_at(line, sample, type, swap)
    if (kind == HC_DIFFERENCE_MEAN3X3) {
        int32_t sum[AROUND];
        for (int32_t s = 0; s < AROUND; s++) {
            sum[s] = AT(a, s - 1) + AT(h, s - 1) + AT(b, s - 1);
        }
        for (int32_t s = 0; s < RUN; s++) {
            out[s] = 9 * AT(h, s) - (sum[s] + sum[s + 1] + sum[s + 2]);
        }
        return;
    }
    for (int32_t s = 0; s < RUN; s++) {
        out[s] = AT(h, s) - (kind == HC_DIFFERENCE_SHIFT            ? AT(h, s + 1)
                             : kind == HC_DIFFERENCE_SHIFT_DIAGONAL ? AT(b, s + 1)
                                                                    : 0);
    }
#undef AT
}

/* Hundreds of bands are too many streams for the processor to foresee. */
INLINE void ask_for(const HcStrip *strip, int64_t band, int bytes) {
    const char *at = strip->next + band;
    for (int byte = -bytes; strip->next != NULL && byte < RUN * bytes + 64; byte += 64) {
        __builtin_prefetch(at + (byte < RUN * bytes ? byte : RUN * bytes), 0, 2);
    }
}

INLINE void values_of(const HcStrip *strip, int64_t band, HcType type, bool swap, HcDifference kind,
                      int32_t out[RUN]) {
    if (strip->samples == RUN && strip->before && strip->after && kind != HC_DIFFERENCE_MEDIAN3X3) {
        whole_values_of(strip, band, type, swap, kind, out);
    } else {
        part_values_of(strip, band, type, swap, kind, out);
    }
}

#define VALUES(NAME, TYPE, SWAP, BYTES)                                                                      \
    AVX2 static void NAME(const HcStrip *strip, int32_t bands, int32_t *values) {                            \
        for (int32_t b = 0; b < bands; b++, values += RUN) {                                                 \
            ask_for(strip, strip->band[b], BYTES);                                                           \
            switch (strip->kind) {                                                                           \
            case HC_DIFFERENCE_NONE:                                                                         \
                values_of(strip, strip->band[b], TYPE, SWAP, HC_DIFFERENCE_NONE, values);                    \
                break;                                                                                       \
            case HC_DIFFERENCE_MEAN3X3:                                                                      \
                values_of(strip, strip->band[b], TYPE, SWAP, HC_DIFFERENCE_MEAN3X3, values);                 \
                break;                                                                                       \
            case HC_DIFFERENCE_MEDIAN3X3:                                                                    \
                values_of(strip, strip->band[b], TYPE, SWAP, HC_DIFFERENCE_MEDIAN3X3, values);               \
                break;                                                                                       \
            case HC_DIFFERENCE_SHIFT:                                                                        \
                values_of(strip, strip->band[b], TYPE, SWAP, HC_DIFFERENCE_SHIFT, values);                   \
                break;                                                                                       \
            case HC_DIFFERENCE_SHIFT_DIAGONAL:                                                               \
                values_of(strip, strip->band[b], TYPE, SWAP, HC_DIFFERENCE_SHIFT_DIAGONAL, values);          \
                break;                                                                                       \
            }                                                                                                \
        }                                                                                                    \
    }

VALUES(uint8, HC_UINT8, false, 1)
VALUES(int8, HC_INT8, false, 1)
VALUES(uint16, HC_UINT16, false, 2)
VALUES(uint16_swapped, HC_UINT16, true, 2)
VALUES(int16, HC_INT16, false, 2)
VALUES(int16_swapped, HC_INT16, true, 2)

void hc_pairs_values(const HcStrip *strip, int32_t bands, int32_t *values) {
    switch (strip->type) {
    case HC_UINT8:
        uint8(strip, bands, values);
        break;
    case HC_INT8:
        int8(strip, bands, values);
        break;
    case HC_UINT16:
        (strip->swap ? uint16_swapped : uint16)(strip, bands, values);
        break;
    default:
        (strip->swap ? int16_swapped : int16)(strip, bands, values);
        break;
    }
}

/* ---- values -> words ---- */

AVX2 int32_t hc_pairs_less_center(int32_t *values, int32_t bands, uint64_t ok, const int32_t *center,
                                  int32_t limit) {
    int32_t counts[RUN];
    int32_t largest[RUN] = {0};
    int32_t beyond[RUN] = {0};
    int32_t size = 0;
    int32_t wrong = 0;
    for (int32_t s = 0; s < RUN; s++) {
        counts[s] = (ok >> s & 1) != 0 ? -1 : 0;
    }
    for (int32_t b = 0; b < bands; b++, values += RUN) {
        for (int32_t s = 0; s < RUN; s++) {
            int32_t value = (values[s] - center[b]) & counts[s];
            int32_t whole = values[s] & counts[s];
            int32_t magnitude = value < 0 ? -value : value;
            whole = whole < 0 ? -whole : whole;
            largest[s] = magnitude > largest[s] ? magnitude : largest[s];
            beyond[s] |= limit - whole; /* negative */
            values[s] = value;
        }
    }
    for (int32_t s = 0; s < RUN; s++) {
        size = largest[s] > size ? largest[s] : size;
        wrong |= beyond[s];
    }
    return wrong < 0 ? -1 : size;
}

AVX2 void hc_pairs_words(const int32_t *values, int32_t bands, int32_t *words) {
    int16_t line[BLOCK][RUN];
    for (int32_t b = 0; b < BLOCK; b++) {
        for (int32_t s = 0; s < RUN; s++) {
            line[b][s] = b < bands ? (int16_t)values[b * RUN + s] : 0;
        }
    }
    for (int32_t pair = 0; pair < RUN / 2; pair += TURNED) {
        for (int32_t b = 0; b < BLOCK; b += TURNED) {
            hc_transpose8(line[b] + 2 * pair, sizeof line[b], words + pair * BLOCK + b,
                          BLOCK * sizeof *words);
        }
    }
}

#else

void hc_pairs_values(const HcStrip *strip, int32_t bands, int32_t *values) {
    (void)strip, (void)bands, (void)values;
}

int32_t hc_pairs_less_center(int32_t *values, int32_t bands, uint64_t ok, const int32_t *center,
                             int32_t limit) {
    (void)values, (void)bands, (void)ok, (void)center, (void)limit;
    return -1;
}

void hc_pairs_words(const int32_t *values, int32_t bands, int32_t *words) {
    (void)values, (void)bands, (void)words;
}

#endif
