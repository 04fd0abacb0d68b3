/* Strips of a file -> limbs for the matrix unit (AMX), without pixels between. In BIL and BSQ the samples of
 * a band lie side by side, which is how the first factor of a product wants its limbs: 64 bytes of one band.
 * Bytes are sorted out by permutes, and a tile turned is the second factor.
 *
 * The neighbours of a difference are read from the file's own lines. What does not count is 0, which adds
 * nothing. How many limbs a strip needs is known once all of its bands are seen; it is taken again where the
 * guess was wrong. Sums are of integers: which limbs hold them changes no bit. */
#include "cpu/gram/amx.h"

#include "cpu/image/transpose.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>
#include <string.h>

#define HC_STRIPS __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi")))
#define INLINE    HC_STRIPS static inline __attribute__((always_inline))

#if defined(__clang__)
#define UNROLLED _Pragma("clang loop unroll(full)")
#else
#define UNROLLED _Pragma("GCC unroll 10")
#endif

enum { WORDS = 4, DOUBLES = 8 }; /* vectors of 16 and of 8 values in a strip */

/* What a strip's values need. */
typedef struct Range {
    int64_t least, most; /* of integers */
    double size;         /* the largest magnitude on a grid */
} Range;

/* Which lanes of a strip there are. */
typedef struct Lanes {
    uint64_t there; /* samples of the strip */
    uint64_t ok;
    bool before, after;
} Lanes;

/* ---- limbs ---- */

/* 64 words of 32 bits -> the bytes of their limbs, 64 bytes apart from `stride` on. */
INLINE void put_limbs(const __m512i v[WORDS], int limbs, uint8_t *to, size_t stride) {
    static const uint8_t bytes[128] = {
#define EVEN(k) (k), (k) + 2, (k) + 4, (k) + 6, (k) + 8, (k) + 10, (k) + 12, (k) + 14
        EVEN(0), EVEN(16), EVEN(32), EVEN(48), EVEN(64), EVEN(80), EVEN(96), EVEN(112),
        EVEN(1), EVEN(17), EVEN(33), EVEN(49), EVEN(65), EVEN(81), EVEN(97), EVEN(113)};
    static const uint16_t halves[64] = {EVEN(0), EVEN(16), EVEN(32), EVEN(48),
                                        EVEN(1), EVEN(17), EVEN(33), EVEN(49)};
#undef EVEN
    const __m512i even = _mm512_loadu_si512(bytes);
    const __m512i odd = _mm512_loadu_si512(bytes + 64);
    const __m512i low = _mm512_loadu_si512(halves);
    const __m512i high = _mm512_loadu_si512(halves + 32);
    __m512i a = _mm512_permutex2var_epi16(v[0], low, v[1]);
    __m512i b = _mm512_permutex2var_epi16(v[2], low, v[3]);
    _mm512_storeu_si512(to, _mm512_permutex2var_epi8(a, even, b));
    if (limbs > 1) {
        _mm512_storeu_si512(to + stride, _mm512_permutex2var_epi8(a, odd, b));
    }
    if (limbs > 2) {
        a = _mm512_permutex2var_epi16(v[0], high, v[1]);
        b = _mm512_permutex2var_epi16(v[2], high, v[3]);
        _mm512_storeu_si512(to + 2 * stride, _mm512_permutex2var_epi8(a, even, b));
    }
    if (limbs > 3) {
        _mm512_storeu_si512(to + 3 * stride, _mm512_permutex2var_epi8(a, odd, b));
    }
}

/* ---- vectors of a line ----
 *
 * Vectors -1 and `count` of a line hold its neighbours: the last lane of the one, the first of the other. */

INLINE uint32_t lanes_of(const Lanes *lanes, int q, int width) {
    const uint32_t all = (1U << width) - 1;
    if (q < 0) {
        return lanes->before ? 1U << (width - 1) : 0;
    }
    return q * width >= HC_AMX_STEP ? lanes->after : (uint32_t)(lanes->there >> (q * width)) & all;
}

INLINE uint32_t ok_of(const Lanes *lanes, int q, int width) {
    return (uint32_t)(lanes->ok >> (q * width)) & ((1U << width) - 1);
}

/* 16 integers as 32-bit words. */
INLINE __m512i load_words(const char *line, int q, const Lanes *lanes, const HcType type, const bool swap) {
    const __mmask16 there = (__mmask16)lanes_of(lanes, q, 16);
    if (type == HC_UINT8) {
        return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(there, line + 16 * q));
    }
    if (type == HC_INT8) {
        return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(there, line + 16 * q));
    }
    __m256i x = _mm256_maskz_loadu_epi16(there, line + 32 * q);
    if (swap) {
        x = _mm256_or_si256(_mm256_slli_epi16(x, 8), _mm256_srli_epi16(x, 8));
    }
    return type == HC_UINT16 ? _mm512_cvtepu16_epi32(x) : _mm512_cvtepi16_epi32(x);
}

/* Without optimisation the next one is a macro of GCC's header, which makes a char of a mask of 255. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"
INLINE __m512d nearest_whole(__m512d v) {
    return _mm512_roundscale_pd(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}
#pragma GCC diagnostic pop

/* 8 floats as whole numbers of the grid. */
INLINE __m512d load_grid(const char *line, int q, const Lanes *lanes, const bool swap, __m512d center,
                         __m512d scale) {
    __m256i x = _mm256_maskz_loadu_epi32((__mmask8)lanes_of(lanes, q, 8), line + 32 * q);
    if (swap) {
        x = _mm256_or_si256(_mm256_slli_epi16(x, 8), _mm256_srli_epi16(x, 8));
        x = _mm256_rol_epi32(x, 16);
    }
    return nearest_whole(
        _mm512_mul_pd(_mm512_sub_pd(_mm512_cvtps_pd(_mm256_castsi256_ps(x)), center), scale));
}

/* Each lane's left and right neighbour. */
INLINE __m512i left_word(__m512i before, __m512i x) {
    return _mm512_alignr_epi32(x, before, 15);
}

INLINE __m512i right_word(__m512i x, __m512i after) {
    return _mm512_alignr_epi32(after, x, 1);
}

INLINE __m512d left_double(__m512d before, __m512d x) {
    return _mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(x), _mm512_castpd_si512(before), 7));
}

INLINE __m512d right_double(__m512d x, __m512d after) {
    return _mm512_castsi512_pd(_mm512_alignr_epi64(_mm512_castpd_si512(after), _mm512_castpd_si512(x), 1));
}

/* The exchange network of cpu/image/difference.c. */
#define MIDDLE_OF_NINE(SORT)                                                                                 \
    SORT(p1, p2);                                                                                            \
    SORT(p4, p5);                                                                                            \
    SORT(p7, p8);                                                                                            \
    SORT(p0, p1);                                                                                            \
    SORT(p3, p4);                                                                                            \
    SORT(p6, p7);                                                                                            \
    SORT(p1, p2);                                                                                            \
    SORT(p4, p5);                                                                                            \
    SORT(p7, p8);                                                                                            \
    SORT(p0, p3);                                                                                            \
    SORT(p5, p8);                                                                                            \
    SORT(p4, p7);                                                                                            \
    SORT(p3, p6);                                                                                            \
    SORT(p1, p4);                                                                                            \
    SORT(p2, p5);                                                                                            \
    SORT(p4, p7);                                                                                            \
    SORT(p4, p2);                                                                                            \
    SORT(p6, p4);                                                                                            \
    SORT(p4, p2);

INLINE __m512i middle_word(const __m512i a[3], const __m512i h[3], const __m512i b[3]) {
    __m512i p0 = a[0], p1 = a[1], p2 = a[2], p3 = h[0], p4 = h[1], p5 = h[2], p6 = b[0], p7 = b[1], p8 = b[2];
#define SORT(x, y)                                                                                           \
    do {                                                                                                     \
        __m512i low = _mm512_min_epi32(x, y);                                                                \
        (y) = _mm512_max_epi32(x, y);                                                                        \
        (x) = low;                                                                                           \
    } while (0)
    MIDDLE_OF_NINE(SORT)
#undef SORT
    return p4;
}

INLINE __m512d middle_double(const __m512d a[3], const __m512d h[3], const __m512d b[3]) {
    __m512d p0 = a[0], p1 = a[1], p2 = a[2], p3 = h[0], p4 = h[1], p5 = h[2], p6 = b[0], p7 = b[1], p8 = b[2];
#define SORT(x, y)                                                                                           \
    do {                                                                                                     \
        __m512d low = _mm512_min_pd(x, y);                                                                   \
        (y) = _mm512_max_pd(x, y);                                                                           \
        (x) = low;                                                                                           \
    } while (0)
    MIDDLE_OF_NINE(SORT)
#undef SORT
    return p4;
}

/* Hundreds of bands are too many streams for the processor to foresee: the strip of a band and its neighbours
 * are asked for. */
INLINE void ask_for(const char *line, int64_t band, int bytes) {
    if (line != NULL) {
        const char *end = line + band + (HC_AMX_STEP + 1) * bytes - 1;
        for (const char *at = line + band - bytes; at < end; at += 64) {
            _mm_prefetch(at, _MM_HINT_T1);
        }
        _mm_prefetch(end, _MM_HINT_T1);
    }
}

/* ---- differences of one band ---- */

INLINE void words_of(const HcStrip *strip, int64_t band, const Lanes *lanes, const HcType type,
                     const bool swap, const HcDifference kind, __m512i out[WORDS]) {
#define LOAD(line, q) load_words(strip->line + band, q, lanes, type, swap)
    __m512i h[WORDS + 2];
    for (int q = 0; q < WORDS; q++) {
        h[q + 1] = LOAD(here, q);
    }
    if (kind == HC_DIFFERENCE_MEAN3X3) {
        __m512i t[WORDS + 2];
        UNROLLED for (int q = -1; q <= WORDS; q++) {
            __m512i here = q < 0 || q == WORDS ? LOAD(here, q) : h[q + 1];
            t[q + 1] = _mm512_add_epi32(_mm512_add_epi32(LOAD(above, q), LOAD(below, q)), here);
        }
        for (int q = 1; q <= WORDS; q++) {
            __m512i sum = _mm512_add_epi32(left_word(t[q - 1], t[q]), right_word(t[q], t[q + 1]));
            __m512i nine = _mm512_add_epi32(h[q], _mm512_slli_epi32(h[q], 3));
            out[q - 1] = _mm512_sub_epi32(nine, _mm512_add_epi32(sum, t[q]));
        }
    } else if (kind == HC_DIFFERENCE_MEDIAN3X3) {
        for (int q = 0; q < WORDS; q++) {
            __m512i n[3][3];
#define ROW(k, line)                                                                                         \
    n[k][1] = LOAD(line, q);                                                                                 \
    n[k][0] = left_word(LOAD(line, q - 1), n[k][1]);                                                         \
    n[k][2] = right_word(n[k][1], LOAD(line, q + 1));
            ROW(0, above)
            ROW(1, here)
            ROW(2, below)
#undef ROW
            out[q] = _mm512_sub_epi32(h[q + 1], middle_word(n[0], n[1], n[2]));
        }
    } else {
        for (int q = 0; q < WORDS; q++) {
            out[q] = h[q + 1];
            if (kind == HC_DIFFERENCE_SHIFT) {
                out[q] = _mm512_sub_epi32(out[q], right_word(LOAD(here, q), LOAD(here, q + 1)));
            } else if (kind == HC_DIFFERENCE_SHIFT_DIAGONAL) {
                out[q] = _mm512_sub_epi32(out[q], right_word(LOAD(below, q), LOAD(below, q + 1)));
            }
        }
    }
#undef LOAD
}

/* In the order of additions of grid.c: also what doubles do not hold comes out the same. */
INLINE void doubles_of(const HcStrip *strip, int64_t band, const Lanes *lanes, const bool swap,
                       const HcDifference kind, __m512d center, __m512d scale, __m512d out[DOUBLES]) {
#define LOAD(line, q) load_grid(strip->line + band, q, lanes, swap, center, scale)
    if (kind == HC_DIFFERENCE_MEAN3X3) {
        __m512d t[DOUBLES + 2];
        UNROLLED for (int q = -1; q <= DOUBLES; q++) {
            __m512d here = LOAD(here, q);
            t[q + 1] = _mm512_add_pd(_mm512_add_pd(LOAD(above, q), here), LOAD(below, q));
            if (q >= 0 && q < DOUBLES) {
                out[q] = _mm512_mul_pd(_mm512_set1_pd(9.0), here);
            }
        }
        UNROLLED for (int q = 1; q <= DOUBLES; q++) {
            __m512d sum =
                _mm512_add_pd(_mm512_add_pd(left_double(t[q - 1], t[q]), t[q]), right_double(t[q], t[q + 1]));
            out[q - 1] = _mm512_sub_pd(out[q - 1], sum);
        }
    } else if (kind == HC_DIFFERENCE_MEDIAN3X3) {
        UNROLLED for (int q = 0; q < DOUBLES; q++) {
            __m512d n[3][3];
#define ROW(k, line)                                                                                         \
    n[k][1] = LOAD(line, q);                                                                                 \
    n[k][0] = left_double(LOAD(line, q - 1), n[k][1]);                                                       \
    n[k][2] = right_double(n[k][1], LOAD(line, q + 1));
            ROW(0, above)
            ROW(1, here)
            ROW(2, below)
#undef ROW
            out[q] = _mm512_sub_pd(n[1][1], middle_double(n[0], n[1], n[2]));
        }
    } else {
        UNROLLED for (int q = 0; q < DOUBLES; q++) {
            out[q] = LOAD(here, q);
            if (kind == HC_DIFFERENCE_SHIFT) {
                out[q] = _mm512_sub_pd(out[q], right_double(LOAD(here, q), LOAD(here, q + 1)));
            } else if (kind == HC_DIFFERENCE_SHIFT_DIAGONAL) {
                out[q] = _mm512_sub_pd(out[q], right_double(LOAD(below, q), LOAD(below, q + 1)));
            }
        }
    }
#undef LOAD
}

/* ---- a strip ---- */

/* Where limb 0 of a band goes in the next step of a panel; the next limb lies `stride` after. */
static uint8_t *place_of(const Panel *panel, int32_t band) {
    return panel->rows + (size_t)(band / HC_AMX_TILE * HC_AMX_STEPS + panel->steps) * HC_AMX_TILE_BYTES +
           (size_t)(band % HC_AMX_TILE) * HC_AMX_STEP;
}

static size_t limb_stride(const HcPanels *panels) {
    return (size_t)panels->tiles * HC_AMX_STEPS * HC_AMX_TILE_BYTES;
}

INLINE void fill_integers(HcPanels *panels, const HcStrip *strip, const Lanes *lanes, Class class,
                          const HcType type, const bool swap, const HcDifference kind, Range *range) {
    Panel *panel = &panels->panel[class];
    const size_t stride = limb_stride(panels);
    const int limbs = class_of[class].limbs;
    __m512i least = _mm512_setzero_si512();
    __m512i most = _mm512_setzero_si512();
    for (int32_t b = 0; b < panels->bands; b++) {
        __m512i v[WORDS];
        ask_for(strip->next, strip->band[b], type == HC_UINT8 || type == HC_INT8 ? 1 : 2);
        words_of(strip, strip->band[b], lanes, type, swap, kind, v);
        for (int q = 0; q < WORDS; q++) {
            v[q] = _mm512_maskz_mov_epi32((__mmask16)ok_of(lanes, q, 16), v[q]);
            least = _mm512_min_epi32(least, v[q]);
            most = _mm512_max_epi32(most, v[q]);
        }
        __m512i sum = _mm512_add_epi32(_mm512_add_epi32(v[0], v[1]), _mm512_add_epi32(v[2], v[3]));
        _mm512_store_si512(panels->strip + b * LANES,
                           _mm512_add_epi64(_mm512_cvtepi32_epi64(_mm512_castsi512_si256(sum)),
                                            _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(sum, 1))));
        put_limbs(v, limbs, place_of(panel, b), stride);
    }
    *range = (Range){_mm512_reduce_min_epi32(least), _mm512_reduce_max_epi32(most), 0};
}

INLINE void fill_grid(HcPanels *panels, const HcStrip *strip, const Lanes *lanes, Class class,
                      const bool swap, const HcDifference kind, Range *range) {
    static const uint32_t of_words[32] = {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30,
                                          1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31};
    const __m512i low = _mm512_loadu_si512(of_words);
    const __m512i high = _mm512_loadu_si512(of_words + 16);
    Panel *panel = &panels->panel[class];
    const size_t stride = limb_stride(panels);
    const int limbs = class_of[class].limbs;
    __m512d size = _mm512_setzero_pd();
    for (int32_t b = 0; b < panels->bands; b++) {
        __m512d v[DOUBLES];
        __m512i whole[DOUBLES];
        __m512i words[WORDS];
        __m512i sum = _mm512_setzero_si512();
        ask_for(strip->next, strip->band[b], 4);
        doubles_of(strip, strip->band[b], lanes, swap, kind, _mm512_set1_pd(strip->center[b]),
                   _mm512_set1_pd(strip->scale[b]), v);
        UNROLLED for (int q = 0; q < DOUBLES; q++) {
            v[q] = _mm512_maskz_mov_pd((__mmask8)ok_of(lanes, q, 8), v[q]);
            size = _mm512_max_pd(size, _mm512_abs_pd(v[q]));
            whole[q] = _mm512_cvtpd_epi64(v[q]);
            sum = _mm512_add_epi64(sum, whole[q]);
        }
        _mm512_store_si512(panels->strip + b * LANES, sum);
        uint8_t *to = place_of(panel, b);
        for (int q = 0; q < WORDS; q++) {
            words[q] = _mm512_permutex2var_epi32(whole[2 * q], low, whole[2 * q + 1]);
        }
        put_limbs(words, limbs, to, stride);
        if (limbs > 4) {
            for (int q = 0; q < WORDS; q++) {
                words[q] = _mm512_permutex2var_epi32(whole[2 * q], high, whole[2 * q + 1]);
            }
            put_limbs(words, 1, to + 4 * stride, stride);
        }
    }
    *range = (Range){0, 0, _mm512_reduce_max_pd(size)};
}

/* One function for each type, order of bytes and kind. */
#define FOR_KINDS(CALL)                                                                                      \
    switch (strip->kind) {                                                                                   \
    case HC_DIFFERENCE_NONE:                                                                                 \
        CALL(HC_DIFFERENCE_NONE);                                                                            \
        break;                                                                                               \
    case HC_DIFFERENCE_MEAN3X3:                                                                              \
        CALL(HC_DIFFERENCE_MEAN3X3);                                                                         \
        break;                                                                                               \
    case HC_DIFFERENCE_MEDIAN3X3:                                                                            \
        CALL(HC_DIFFERENCE_MEDIAN3X3);                                                                       \
        break;                                                                                               \
    case HC_DIFFERENCE_SHIFT:                                                                                \
        CALL(HC_DIFFERENCE_SHIFT);                                                                           \
        break;                                                                                               \
    case HC_DIFFERENCE_SHIFT_DIAGONAL:                                                                       \
        CALL(HC_DIFFERENCE_SHIFT_DIAGONAL);                                                                  \
        break;                                                                                               \
    }

#define INTEGERS(NAME, TYPE, SWAP)                                                                           \
    HC_STRIPS static void NAME(HcPanels *panels, const HcStrip *strip, const Lanes *lanes, Class class,      \
                               Range *range) {                                                               \
        FOR_KINDS(NAME##_CALL)                                                                               \
    }

#define uint8_CALL(KIND)           fill_integers(panels, strip, lanes, class, HC_UINT8, false, KIND, range)
#define int8_CALL(KIND)            fill_integers(panels, strip, lanes, class, HC_INT8, false, KIND, range)
#define uint16_CALL(KIND)          fill_integers(panels, strip, lanes, class, HC_UINT16, false, KIND, range)
#define uint16_swapped_CALL(KIND)  fill_integers(panels, strip, lanes, class, HC_UINT16, true, KIND, range)
#define int16_CALL(KIND)           fill_integers(panels, strip, lanes, class, HC_INT16, false, KIND, range)
#define int16_swapped_CALL(KIND)   fill_integers(panels, strip, lanes, class, HC_INT16, true, KIND, range)
#define float32_CALL(KIND)         fill_grid(panels, strip, lanes, class, false, KIND, range)
#define float32_swapped_CALL(KIND) fill_grid(panels, strip, lanes, class, true, KIND, range)

INTEGERS(uint8, HC_UINT8, false)
INTEGERS(int8, HC_INT8, false)
INTEGERS(uint16, HC_UINT16, false)
INTEGERS(uint16_swapped, HC_UINT16, true)
INTEGERS(int16, HC_INT16, false)
INTEGERS(int16_swapped, HC_INT16, true)
INTEGERS(float32, HC_FLOAT32, false)
INTEGERS(float32_swapped, HC_FLOAT32, true)

static void fill(HcPanels *panels, const HcStrip *strip, const Lanes *lanes, Class class, Range *range) {
    switch (strip->type) {
    case HC_UINT8:
        uint8(panels, strip, lanes, class, range);
        break;
    case HC_INT8:
        int8(panels, strip, lanes, class, range);
        break;
    case HC_UINT16:
        (strip->swap ? uint16_swapped : uint16)(panels, strip, lanes, class, range);
        break;
    case HC_INT16:
        (strip->swap ? int16_swapped : int16)(panels, strip, lanes, class, range);
        break;
    default:
        (strip->swap ? float32_swapped : float32)(panels, strip, lanes, class, range);
        break;
    }
}

/* The class with the fewest limbs; CLASSES where there is none. */
static Class class_for(const HcPanels *panels, const Range *range) {
    if (panels->limit == 0) { /* less 1: what is not yet rounded is no larger */
        return range->size < 0x1p15 - 1   ? BYTES_2S
               : range->size < 0x1p23 - 1 ? BYTES_3S
               : range->size < 0x1p31 - 1 ? BYTES_4S
               : range->size < 0x1p35 - 1 ? BYTES_5S
                                          : CLASSES;
    }
    double limit = (double)panels->limit;
    if ((double)range->most > limit || (double)range->least < -limit) {
        return CLASSES;
    }
    if (range->least >= 0) {
        return range->most < 256 ? BYTES_1U : range->most < 65536 ? BYTES_2U : BYTES_3S;
    }
    return range->least >= -32768 && range->most < 32768 ? BYTES_2S : BYTES_3S;
}

/* The limbs are there: turns them, and adds the strip's sums. */
HC_AMX static void end_step(HcPanels *panels, Class class, int64_t pixels) {
    Panel *panel = &panels->panel[class];
    for (int limb = 0; limb < class_of[class].limbs; limb++) {
        for (int32_t t = 0; t < panels->tiles; t++) {
            size_t at =
                (size_t)((limb * panels->tiles + t) * HC_AMX_STEPS + panel->steps) * HC_AMX_TILE_BYTES;
            for (int32_t b = panels->bands - t * HC_AMX_TILE; b < HC_AMX_TILE; b++) {
                memset(panel->rows + at + (size_t)(b > 0 ? b : 0) * HC_AMX_STEP, 0, HC_AMX_STEP);
            }
            hc_transpose16(panel->rows + at, 64, panel->columns + at, 64);
        }
    }
    for (int32_t k = 0; k < panels->bands * LANES; k++) {
        panels->lanes[k] += panels->strip[k];
    }
    panels->count += pixels;
    panel->steps++;
    if (panel->steps == HC_AMX_STEPS) {
        hc_amx_multiply(panels, class);
    }
}

bool hc_amx_strip(HcPanels *panels, const HcStrip *strip, HcMoments *moments) {
    (void)moments;
    const Lanes lanes = {.there =
                             strip->samples < HC_AMX_STEP ? ((uint64_t)1 << strip->samples) - 1 : UINT64_MAX,
                         .ok = strip->ok,
                         .before = strip->before,
                         .after = strip->after};
    Class class = panels->limit == 0 && panels->strip_guess < BYTES_2S ? BYTES_4S : panels->strip_guess;
    Range range;
    fill(panels, strip, &lanes, class, &range);
    Class needed = class_for(panels, &range);
    if (needed == CLASSES) {
        return false;
    }
    if (class_of[needed].limbs != class_of[class].limbs ||
        class_of[needed].is_signed != class_of[class].is_signed) {
        class = needed;
        fill(panels, strip, &lanes, class, &range);
    }
    panels->strip_guess = class;
    end_step(panels, class, __builtin_popcountll(strip->ok));
    return true;
}

bool hc_amx_has_strips(void) {
    return __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vbmi");
}

#endif
