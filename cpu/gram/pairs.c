/* Exact sums of products on processors without a matrix unit. Values become 16-bit integers: integers less a
 * center of their band, or limbs of what 16 bits do not hold. Products of two pixels at a time are summed in
 * 32-bit integers, and these go to 64-bit ones before they could overflow.
 *
 * When they could is known before: the sum of products of two bands is at most the larger one of their sums
 * of squares. Each block of 16 bands is measured for the largest power of two of pairs whose squares sum to
 * less than 2^31 in each of its bands; two blocks are multiplied in segments of the smaller one. Real values
 * lie near their center, so that most panels are one segment.
 *
 * A value of two or three limbs is x = l0 + 2^12 l1 + 2^24 l2. Squares and sums of limbs need products of a
 * plane with itself alone, which are symmetric: l0 l1' + l1 l0' = (l0 + l1)(l0 + l1)' - l0 l0' - l1 l1'.
 *
 * Whole numbers of a grid have 32 bits and more, but most end in zeros: a float32 value of at least s / 4 is
 * a multiple of 8 units. So x = center + 2^shift y with a small y, which has two limbs of 14 bits, or one
 * where a float scene holds integers. Pixels with another value have three limbs, and panels of their own. */
#include "cpu/gram/pairs.h"
#include "cpu/gram/gram.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = HC_PAIRS_BLOCK,
    STRIDE = (HC_PAIRS + 1) * BLOCK, /* words of a block; blocks begin in different sets of the cache */
    TILE = BLOCK * BLOCK,
    LIMBS = 3,
    LIMB_BITS = HC_PAIRS_LIMB,
    PLANES = LIMBS * (LIMBS + 1) / 2, /* the limbs, lowest first, then the sums of two: 0+1, 0+2, 1+2 */
    LEVELS = 7,                       /* 2^7 = HC_PAIRS */
    PIXELS_MAX = 1 << 27,             /* of |x| < 2^35: sums stay below 2^63, those of products too */
    NEAR_CENTER = 256                 /* a center that is off by no more costs nothing */
};

/* Pixels of the same number of limbs. */
typedef struct Panel {
    bool used;        /* `product` holds sums */
    int32_t filled;   /* places of pixels */
    int32_t pixels;   /* that count: the other places are 0 */
    int32_t *words;   /* [planes][blocks][STRIDE]: pairs of pixels, the first in the low half */
    int64_t *product; /* [planes][tiles][BLOCK][BLOCK], tiles of the upper triangle */
} Panel;

struct HcPanels {
    const HcPairsUnit *unit;
    int32_t bands, blocks;
    bool has_center;      /* false: there are no pixels yet, or three limbs */
    int limb_bits;        /* of a limb */
    float limit;          /* of integers, 0 = whole numbers of a grid */
    Panel panel[LIMBS];   /* of 1, 2 and 3 limbs */
    int32_t *row[LIMBS];  /* [padded]: the limbs of one pixel */
    int32_t *zero;        /* [padded] */
    int32_t *values;      /* [padded][HC_CPU_RUN] of a strip, of integers */
    int32_t *limb;        /* [BLOCK][HC_CPU_RUN] of it */
    int32_t *level;       /* [blocks] */
    int64_t count;        /* pixels in the products */
    int64_t *sum;         /* [padded] of these, less the center */
    int32_t *center;      /* [padded] */
    int32_t *shift;       /* [padded]: a value is center + 2^shift times what panels hold */
    double *scale;        /* [padded]: 2^-shift */
    double *square;       /* [padded]: what the moments have of the squares, roughly */
    HcPanels *rest;       /* of a grid: values that need three limbs. NULL = none */
    int64_t past_count;   /* pixels that the moments have */
    int64_t *past;        /* [padded]: their sums */
    int64_t looked, look; /* panels since the center was looked at, and when it is next */
    pthread_mutex_t *lock;
};

static int planes_of(int limbs) {
    return limbs * (limbs + 1) / 2;
}

static size_t tiles_of(const HcPanels *panels) {
    return (size_t)panels->blocks * (size_t)(panels->blocks + 1) / 2;
}

static size_t plane_words(const HcPanels *panels) {
    return (size_t)panels->blocks * STRIDE;
}

static void close_panels(HcPanels *panels) {
    if (panels == NULL) {
        return;
    }
    close_panels(panels->rest);
    for (int c = 0; c < LIMBS; c++) {
        free(panels->panel[c].words);
        free(panels->panel[c].product);
        free(panels->row[c]);
    }
    free(panels->zero);
    free(panels->values);
    free(panels->limb);
    free(panels->level);
    free(panels->sum);
    free(panels->center);
    free(panels->shift);
    free(panels->scale);
    free(panels->square);
    free(panels->past);
    free(panels);
}

static size_t bytes_of(int32_t bands, bool on_grid) {
    size_t blocks = ((size_t)bands + BLOCK - 1) / BLOCK;
    size_t plane =
        blocks * STRIDE * sizeof(int32_t) + blocks * (blocks + 1) / 2 * (size_t)TILE * sizeof(int64_t);
    size_t bytes = blocks * BLOCK * (5 * sizeof(int64_t) + (LIMBS + 3) * sizeof(int32_t));
    bytes = on_grid ? 2 * bytes : bytes + (blocks + 1) * BLOCK * HC_CPU_RUN * sizeof(int32_t);
    for (int limbs = 1; limbs <= (on_grid ? LIMBS : 2); limbs++) {
        bytes += (size_t)planes_of(limbs) * plane;
    }
    return bytes;
}

/* Pages that are never written are
 * never there: classes that do not occur cost nothing. */
static bool open_panel(const HcPanels *panels, int limbs, Panel *panel) {
    size_t planes = (size_t)planes_of(limbs);
    panel->words = aligned_alloc(64, planes * plane_words(panels) * sizeof *panel->words);
    panel->product = aligned_alloc(64, planes * tiles_of(panels) * TILE * sizeof *panel->product);
    return panel->words != NULL && panel->product != NULL;
}

/* For values of `first` to `last` limbs. */
static HcStatus open_some(const HcPairsUnit *unit, int32_t bands, int64_t limit, int first, int last,
                          pthread_mutex_t *lock, HcPanels **out, HcError *err) {
    size_t padded = ((size_t)bands + BLOCK - 1) / BLOCK * BLOCK;
    HcPanels *panels = calloc(1, sizeof *panels);
    bool fine = panels != NULL;
    if (fine) {
        panels->unit = unit;
        panels->bands = bands;
        panels->blocks = (int32_t)(padded / BLOCK);
        panels->limb_bits = limit > 0 || last == LIMBS ? LIMB_BITS : HC_SHIFTED_LIMB;
        panels->limit = (float)limit;
        panels->look = limit > 0 ? 1 : 0;
        panels->lock = lock;
        panels->zero = calloc(padded, sizeof *panels->zero);
        panels->level = calloc(padded / BLOCK, sizeof *panels->level);
        panels->sum = calloc(padded, sizeof *panels->sum);
        panels->center = calloc(padded, sizeof *panels->center);
        panels->shift = calloc(padded, sizeof *panels->shift);
        panels->scale = calloc(padded, sizeof *panels->scale);
        panels->square = calloc(padded, sizeof *panels->square);
        panels->past = calloc(padded, sizeof *panels->past);
        fine = panels->zero != NULL && panels->level != NULL && panels->sum != NULL &&
               panels->center != NULL && panels->shift != NULL && panels->scale != NULL &&
               panels->square != NULL && panels->past != NULL;
    }
    if (fine && limit > 0) {
        panels->values = aligned_alloc(64, padded * HC_CPU_RUN * sizeof *panels->values);
        panels->limb = aligned_alloc(64, BLOCK * HC_CPU_RUN * sizeof *panels->limb);
        fine = panels->values != NULL && panels->limb != NULL;
    }
    for (int c = 0; fine && c < last; c++) {
        panels->row[c] = calloc(padded, sizeof *panels->row[c]);
        fine = panels->row[c] != NULL && (c + 1 < first || open_panel(panels, c + 1, &panels->panel[c]));
    }
    if (!fine) {
        close_panels(panels);
        return hc_fail_memory(err, (double)padded * (double)padded * PLANES * sizeof(int64_t),
                              "panels of products");
    }
    *out = panels;
    return HC_OK;
}

static HcStatus open_panels(const HcPairsUnit *unit, int32_t bands, int64_t limit, pthread_mutex_t *lock,
                            HcPanels **out, HcError *err) {
    HcPanels *rest = NULL;
    if (limit <= 0) {
        HC_OR_RETURN(open_some(unit, bands, limit, LIMBS, LIMBS, lock, &rest, err));
    }
    HcStatus status = open_some(unit, bands, limit, 1, 2, lock, out, err);
    if (status != HC_OK) {
        close_panels(rest);
        return status;
    }
    (*out)->rest = rest;
    return HC_OK;
}

/* ---- sums -> moments ---- */

/* Products of planes -> the product of two values; at: where those of the first plane are. */
static HcWide product_of_limbs(const int64_t *at, int limbs, int bits, size_t plane) {
    HcWide value = 0;
    const int64_t *mixed = at + (size_t)limbs * plane;
    for (int i = 0; i < limbs; i++) {
        int64_t square = at[(size_t)i * plane];
        value += (HcWide)square * ((int64_t)1 << 2 * bits * i);
    }
    for (int j = 1; j < limbs; j++) {
        for (int i = 0; i < j; i++, mixed += plane) {
            int64_t both = *mixed - at[(size_t)i * plane] - at[(size_t)j * plane];
            value += (HcWide)both * ((int64_t)1 << bits * (i + j));
        }
    }
    return value;
}

/* Row and column: of blocks. */
static void flush_tile(HcPanels *panels, const int64_t *tile, int limbs, int32_t row, int32_t column,
                       HcMoments *moments) {
    const int32_t n = moments->bands;
    const size_t plane = tiles_of(panels) * TILE;
    for (int32_t r = 0; r < BLOCK; r++) {
        int32_t b = row * BLOCK + r;
        for (int32_t k = 0; k < BLOCK; k++) {
            int32_t c = column * BLOCK + k;
            if (b <= c && c < n) {
                HcWide product = product_of_limbs(tile + r * BLOCK + k, limbs, panels->limb_bits, plane) *
                                 ((HcWide)1 << (panels->shift[b] + panels->shift[c]));
                moments->product[(size_t)b * (size_t)n + (size_t)c] += product;
                panels->square[b] += b == c ? (double)product : 0;
            }
        }
    }
}

/* The sum of a band, less the center. */
static int64_t sum_of(const HcPanels *panels, size_t band) {
    return panels->sum[band] * ((int64_t)1 << panels->shift[band]);
}

/* What the center adds: (x + c)(x' + c') = x x' + c x' + c' x + c c'. */
static void flush_center(const HcPanels *panels, HcMoments *moments) {
    const size_t n = (size_t)panels->bands;
    const int32_t *center = panels->center;
    for (size_t b = 0; b < n; b++) {
        HcWide all = sum_of(panels, b) + panels->count * center[b];
        for (size_t c = b; c < n; c++) {
            moments->product[b * n + c] += center[c] * all + (HcWide)center[b] * sum_of(panels, c);
        }
    }
}

static void flush(HcPanels *panels, HcMoments *moments) {
    pthread_mutex_lock(panels->lock);
    for (int limbs = 1; limbs <= LIMBS; limbs++) {
        const int64_t *tile = panels->panel[limbs - 1].product;
        for (int32_t i = 0; panels->panel[limbs - 1].used && i < panels->blocks; i++) {
            for (int32_t j = i; j < panels->blocks; j++, tile += TILE) {
                flush_tile(panels, tile, limbs, i, j, moments);
            }
        }
        panels->panel[limbs - 1].used = false;
    }
    if (panels->has_center) {
        flush_center(panels, moments);
    }
    moments->count += panels->count;
    for (int32_t b = 0; b < panels->bands; b++) {
        int64_t sum = sum_of(panels, (size_t)b) + panels->count * panels->center[b];
        moments->sum[b] += sum;
        panels->past[b] += sum;
    }
    pthread_mutex_unlock(panels->lock);
    panels->past_count += panels->count;
    panels->count = 0;
    memset(panels->sum, 0, (size_t)panels->blocks * BLOCK * sizeof *panels->sum);
}

/* ---- panels -> sums ---- */

/* The largest level of a block: the squares of each band sum to less than 2^31 over each 2^level pairs. Level
 * 0 is always right. */
HC_CLONES static int32_t level_of(const int32_t *words, int32_t pairs) {
    uint32_t square[HC_PAIRS][BLOCK] = {{0}};
    for (int32_t k = 0; k < pairs; k++) {
        for (int i = 0; i < BLOCK; i++) {
            int32_t low = (int16_t)words[k * BLOCK + i];
            int32_t high = words[k * BLOCK + i] >> 16;
            square[k][i] = (uint32_t)(low * low) + (uint32_t)(high * high);
        }
    }
    int32_t level = 0;
    for (int32_t count = HC_PAIRS / 2; count > 0; count /= 2, level++) {
        uint32_t all = 0;
        for (int32_t k = 0; k < count; k++) {
            for (int i = 0; i < BLOCK; i++) { /* of two below 2^31: no carry is lost */
                square[k][i] = square[2 * k][i] + square[2 * k + 1][i];
                all |= square[k][i];
            }
        }
        if (all >> 31 != 0) {
            break;
        }
    }
    return level;
}

/* The level of each block; its sums, times the weight of a limb, are added where it is one. */
static void measure_plane(HcPanels *panels, const int32_t *words, int32_t pairs, int64_t weight) {
    for (int32_t i = 0; i < panels->blocks; i++, words += STRIDE) {
        int32_t sum[BLOCK] = {0};
        bool whole = panels->unit->measure(words, pairs, sum);
        panels->level[i] = whole ? LEVELS : level_of(words, pairs);
        for (int k = 0; k < BLOCK; k++) {
            panels->sum[i * BLOCK + k] += sum[k] * weight;
        }
    }
}

/* A tile, in segments of 2^level pairs. */
static void multiply_tile(const HcPanels *panels, const int32_t *rows, const int32_t *columns, int32_t pairs,
                          int32_t level, int64_t *tile) {
    const int32_t segment = 1 << level;
    for (int32_t k = 0; k < pairs; k += segment) {
        int32_t count = pairs - k < segment ? pairs - k : segment;
        panels->unit->multiply(rows + (size_t)k * BLOCK, columns + (size_t)k * BLOCK, count, tile);
    }
}

static void multiply_plane(const HcPanels *panels, const int32_t *words, int32_t pairs, int64_t *product) {
    const int32_t *level = panels->level;
    for (int32_t i = 0; i < panels->blocks; i++) {
        for (int32_t j = i; j < panels->blocks; j++, product += TILE) {
            multiply_tile(panels, words + (size_t)i * STRIDE, words + (size_t)j * STRIDE, pairs,
                          level[i] < level[j] ? level[i] : level[j], product);
        }
    }
}

static void multiply_panel(HcPanels *panels, int limbs, HcMoments *moments) {
    Panel *panel = &panels->panel[limbs - 1];
    const size_t products = tiles_of(panels) * TILE;
    const int32_t pairs = (panel->filled + 1) / 2;
    if (panels->count + panel->filled > PIXELS_MAX) {
        flush(panels, moments);
    }
    if (!panel->used) {
        memset(panel->product, 0, (size_t)planes_of(limbs) * products * sizeof *panel->product);
        panel->used = true;
    }
    for (int plane = 0; plane < planes_of(limbs); plane++) {
        const int32_t *words = panel->words + (size_t)plane * plane_words(panels);
        measure_plane(panels, words, pairs, plane < limbs ? (int64_t)1 << panels->limb_bits * plane : 0);
        multiply_plane(panels, words, pairs, panel->product + (size_t)plane * products);
    }
    panels->looked++;
    panels->count += panel->pixels;
    panel->filled = panel->pixels = 0;
}

static void empty_panels(HcPanels *panels, HcMoments *moments) {
    for (int limbs = 1; limbs <= LIMBS; limbs++) {
        if (panels->panel[limbs - 1].filled > 0) {
            multiply_panel(panels, limbs, moments);
        }
    }
}

static void drain(HcPanels *panels, HcMoments *moments) {
    for (; panels != NULL; panels = panels->rest) {
        empty_panels(panels, moments);
        flush(panels, moments);
    }
}

static double mean_of(const HcPanels *panels, int32_t band) {
    int64_t sum = panels->past[band] + panels->sum[band] + panels->count * panels->center[band];
    return (double)sum / (double)(panels->past_count + panels->count);
}

/* Moves the center to the mean of all pixels where it is off; looks after 1, 4, 16, ... panels. */
static void follow_mean(HcPanels *panels, HcMoments *moments) {
    bool off = false;
    if (panels->limit <= 0 || panels->looked < panels->look) {
        return;
    }
    panels->look *= 4;
    for (int32_t b = 0; b < panels->bands; b++) {
        off = off || fabs(mean_of(panels, b) - panels->center[b]) > NEAR_CENTER;
    }
    if (off) {
        empty_panels(panels, moments);
        flush(panels, moments);
        for (int32_t b = 0; b < panels->bands; b++) {
            panels->center[b] = (int32_t)rint(mean_of(panels, b));
        }
    }
}

/* ---- pixels -> panels ---- */

/* The sum of two rows into the low or the high halves of a pair. */
HC_CLONES static void put(const int32_t *restrict a, const int32_t *restrict b, int64_t blocks, bool high,
                          int32_t *restrict to) {
    for (int64_t k = 0; k < blocks; k++, a += BLOCK, b += BLOCK, to += STRIDE) {
        for (int i = 0; i < BLOCK; i++) {
            uint32_t value = (uint32_t)(a[i] + b[i]);
            to[i] = high ? (int32_t)((uint32_t)to[i] | value << 16) : (int32_t)(value & 0xFFFF);
        }
    }
}

/* The rows -> a panel. */
static void take(HcPanels *panels, int limbs, HcMoments *moments) {
    Panel *panel = &panels->panel[limbs - 1];
    const size_t words = plane_words(panels);
    const bool high = panel->filled % 2 != 0;
    int32_t *to = panel->words + panel->filled / 2 * BLOCK;
    for (int i = 0; i < limbs; i++, to += words) {
        put(panels->row[i], panels->zero, panels->blocks, high, to);
    }
    for (int j = 1; j < limbs; j++) {
        for (int i = 0; i < j; i++, to += words) {
            put(panels->row[i], panels->row[j], panels->blocks, high, to);
        }
    }
    panel->pixels++;
    if (++panel->filled == 2 * HC_PAIRS) {
        multiply_panel(panels, limbs, moments);
        follow_mean(panels, moments);
    }
}

/* Values beyond the limit count as 0: they are found later. */
static void choose_center(HcPanels *panels, const float *pixels, int32_t count) {
    for (int32_t b = 0; b < panels->bands; b++) {
        double sum = 0;
        for (int32_t p = 0; p < count; p++) {
            float x = pixels[(int64_t)p * panels->bands + b];
            sum += fabsf(x) <= panels->limit ? (double)x : 0;
        }
        panels->center[b] = (int32_t)rint(sum / count);
    }
    panels->has_center = true;
}

/* Returns the largest magnitude, -1 where a value is beyond the limit. */
HC_CLONES static int32_t less_center(const float *restrict x, const int32_t *restrict center, int64_t bands,
                                     float limit, int32_t *restrict to) {
    int32_t largest = 0;
    int32_t beyond = 0;
    for (int64_t b = 0; b < bands; b++) {
        bool fine = fabsf(x[b]) <= limit;
        int32_t value = (int32_t)(fine ? x[b] : 0.0F) - center[b];
        int32_t size = value < 0 ? -value : value;
        largest = size > largest ? size : largest;
        beyond |= !fine;
        to[b] = value;
    }
    return beyond != 0 ? -1 : largest;
}

HC_CLONES static void split(int32_t *restrict low, int64_t bands, int bits, int32_t *restrict high) {
    for (int64_t b = 0; b < bands; b++) {
        high[b] = (low[b] + (1 << (bits - 1))) >> bits;
        low[b] -= high[b] * (1 << bits);
    }
}

static bool add(HcPanels *panels, const float *pixels, int32_t count, HcMoments *moments) {
    const int64_t n = panels->bands;
    if (!panels->has_center && count > 0) {
        choose_center(panels, pixels, count);
    }
    for (int32_t p = 0; p < count; p++) {
        int32_t size = less_center(pixels + p * n, panels->center, n, panels->limit, panels->row[0]);
        if (size < 0) {
            return false;
        }
        if (size > INT16_MAX) {
            split(panels->row[0], n, LIMB_BITS, panels->row[1]);
        }
        take(panels, size > INT16_MAX ? 2 : 1, moments);
    }
    return true;
}

/* ---- pixels on a grid -> panels ---- */

/* Looks again after 1, 4, 16, ... panels. */
static void choose_shift(HcPanels *panels, const double *pixels, int32_t count, HcMoments *moments) {
    const HcPanels *rest = panels->rest;
    double *size = panels->scale; /* for now */
    drain(panels, moments);
    const double past = (double)(panels->past_count + rest->past_count);
    for (int32_t b = 0; b < panels->bands; b++) {
        size[b] = past > 0 ? sqrt((panels->square[b] + rest->square[b]) / past) : 0;
    }
    hc_pairs_choose_shift(pixels, count, panels->bands, size, panels->center, panels->shift);
    for (int32_t b = 0; b < panels->bands; b++) {
        panels->scale[b] = ldexp(1, -panels->shift[b]);
    }
    panels->has_center = true;
    panels->look = panels->look == 0 ? 1 : 4 * panels->look;
}

static void add_near(HcPanels *panels, const double *pixels, int32_t count, HcMoments *moments) {
    const int64_t n = panels->bands;
    HcPanels *rest = panels->rest;
    if (count > 0 && panels->looked + rest->looked >= panels->look) {
        choose_shift(panels, pixels, count, moments);
    }
    for (int32_t p = 0; p < count; p++, pixels += n) {
        int32_t size = hc_pairs_shifted(pixels, panels->center, panels->scale, n, panels->row[0]);
        if (size < 0) {
            hc_pairs_cut_in_three(pixels, n, rest->row[0], rest->row[1], rest->row[2]);
            take(rest, LIMBS, moments);
            continue;
        }
        if (size > INT16_MAX) {
            split(panels->row[0], n, HC_SHIFTED_LIMB, panels->row[1]);
        }
        take(panels, size > INT16_MAX ? 2 : 1, moments);
    }
}

/* ---- strips -> panels ---- */

static void choose_center_of_strip(HcPanels *panels, uint64_t ok) {
    const int64_t count = __builtin_popcountll(ok);
    for (int32_t b = 0; b < panels->bands; b++) {
        const int32_t *value = panels->values + (size_t)b * HC_CPU_RUN;
        int64_t sum = 0;
        for (int s = 0; s < HC_CPU_RUN; s++) {
            sum += (ok >> s & 1) != 0 ? value[s] : 0;
        }
        panels->center[b] = (int32_t)rint((double)sum / (double)count);
    }
    panels->has_center = true;
}

/* A limb of some bands of a strip, or with i < j the sum of two. */
HC_CLONES static void limb_of(const int32_t *restrict values, int32_t bands, int i, int j,
                              int32_t *restrict to) {
    for (int64_t k = 0; k < (int64_t)bands * HC_CPU_RUN; k++) {
        int32_t high = (values[k] + (1 << (LIMB_BITS - 1))) >> LIMB_BITS;
        int32_t low = values[k] - high * (1 << LIMB_BITS);
        to[k] = i < j ? low + high : i == 0 ? low : high;
    }
}

/* The values of a strip, less the center, -> a panel of one or two limbs, which has room for it. */
static void put_strip(HcPanels *panels, int limbs) {
    Panel *panel = &panels->panel[limbs - 1];
    for (int32_t k = 0; k < panels->blocks; k++) {
        int32_t bands = panels->bands - k * BLOCK < BLOCK ? panels->bands - k * BLOCK : BLOCK;
        const int32_t *values = panels->values + (size_t)k * BLOCK * HC_CPU_RUN;
        int32_t *to = panel->words + (size_t)k * STRIDE + (size_t)panel->filled / 2 * BLOCK;
        if (limbs == 1) {
            hc_pairs_words(values, bands, to);
            continue;
        }
        for (int plane = 0; plane < planes_of(limbs); plane++, to += plane_words(panels)) {
            limb_of(values, bands, plane % limbs, plane == limbs ? 1 : plane, panels->limb);
            hc_pairs_words(panels->limb, bands, to);
        }
    }
}

static bool take_strip(HcPanels *panels, const HcStrip *strip, HcMoments *moments) {
    hc_pairs_values(strip, panels->bands, panels->values);
    if (!panels->has_center) {
        choose_center_of_strip(panels, strip->ok);
    }
    int32_t size = hc_pairs_less_center(panels->values, panels->bands, strip->ok, panels->center,
                                        (int32_t)panels->limit);
    if (size < 0) {
        return false;
    }
    const int limbs = size > INT16_MAX ? 2 : 1;
    Panel *panel = &panels->panel[limbs - 1];
    panel->filled += panel->filled % 2; /* the other half of the pair is 0 */
    if (panel->filled + HC_CPU_RUN > 2 * HC_PAIRS) {
        multiply_panel(panels, limbs, moments);
    }
    put_strip(panels, limbs);
    panel->filled += HC_CPU_RUN;
    panel->pixels += __builtin_popcountll(strip->ok);
    if (panel->filled + HC_CPU_RUN > 2 * HC_PAIRS) {
        multiply_panel(panels, limbs, moments);
        follow_mean(panels, moments);
    }
    return true;
}

#define KIND(NAME, WAY)                                                                                      \
    static HcStatus open_##NAME(int32_t bands, int64_t limit, pthread_mutex_t *lock, HcPanels **out,         \
                                HcError *err) {                                                              \
        return open_panels(hc_cpu_pairs_unit(WAY), bands, limit, lock, out, err);                            \
    }                                                                                                        \
    static const HcPanelKind NAME = {open_##NAME, close_panels, add,  add_near,                              \
                                     drain,       take_strip,   true, bytes_of};

KIND(by_avx2, HC_CPU_GRAM_AVX2)
KIND(by_avx_vnni, HC_CPU_GRAM_AVX_VNNI)
KIND(by_avx512_vnni, HC_CPU_GRAM_AVX512_VNNI)

const HcPanelKind *hc_cpu_panels_pairs(HcCpuGram way) {
    if (hc_cpu_pairs_unit(way) == NULL) {
        return NULL;
    }
    return way == HC_CPU_GRAM_AVX2 ? &by_avx2 : way == HC_CPU_GRAM_AVX_VNNI ? &by_avx_vnni : &by_avx512_vnni;
}
