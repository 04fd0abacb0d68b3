/* Exact sums of products on the matrix unit (AMX) of some x86 processors: integers are split into limbs of 8
 * bits, limbs are multiplied and summed in 32-bit integers, and these are added to the moments before they
 * could overflow. The sums are the same to the last bit as those of gram/blas.c. */
#include "cpu/gram/amx.h"
#include "cpu/image/transpose.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    BLOCK_SUMS = 4 * HC_AMX_TILE * HC_AMX_TILE, /* 32 x 32 bands: 2 x 2 tiles */
    WEIGHTS_IN_TWO = 8,                         /* that two integers of 64 bits hold */
};

/* Pixels whose sums fit 32 bits: weight 3 has four products of limbs, 4 * 255 * 255 * 8192 < 2^31. Weight 4
 * of five limbs has five, but the fifth limb is at most 8. Two limbs have two products. */
static int32_t most_pixels(int limbs) {
    return limbs > 2 ? 8192 : 16384;
}

static void close_panels(HcPanels *panels) {
    if (panels == NULL) {
        return;
    }
    for (int c = 0; c < CLASSES; c++) {
        free(panels->panel[c].values);
        free(panels->panel[c].high);
        free(panels->panel[c].rows);
        free(panels->panel[c].columns);
    }
    free(panels->product);
    free(panels->sum);
    free(panels->lanes);
    free(panels->wide);
    free(panels->wide_sum);
    free(panels->strip);
    free(panels);
}

static size_t product_count(const HcPanels *panels) {
    size_t blocks = (size_t)panels->tiles / 2;
    return blocks * (blocks + 1) / 2 * (size_t)weights_of(panels->limbs) * BLOCK_SUMS +
           BLOCK_SUMS; /* asked for */
}

static size_t panel_bytes(size_t padded, int limbs) {
    size_t values = HC_AMX_STEP * padded * sizeof(int32_t) * (limbs > 4 ? 2 : 1);
    return values + 2 * (size_t)limbs * padded * HC_AMX_STEPS * HC_AMX_STEP;
}

static size_t bytes_of(int32_t bands, bool on_grid) {
    int limbs = on_grid ? LIMBS_MAX : LIMBS_OF_INTEGERS;
    size_t blocks = ((size_t)bands + 2 * HC_AMX_TILE - 1) / (2 * HC_AMX_TILE);
    size_t padded = blocks * 2 * HC_AMX_TILE;
    size_t products = (blocks * (blocks + 1) / 2 * (size_t)weights_of(limbs) + 1) * BLOCK_SUMS;
    size_t bytes = products * sizeof(int32_t) + (size_t)bands * (size_t)bands * sizeof(HcWide) +
                   padded * (2 * LANES + 1) * sizeof(int64_t) + (size_t)bands * sizeof(HcWide);
    for (int c = 0; c < CLASSES && class_of[c].limbs <= limbs; c++) {
        bytes += panel_bytes(padded, class_of[c].limbs);
    }
    return bytes;
}

/* Pages that are never written are never there: classes that do not occur cost nothing. */
static bool open_panel(Panel *panel, size_t padded, int limbs) {
    size_t bytes = (size_t)limbs * padded * HC_AMX_STEPS * HC_AMX_STEP;
    panel->values = aligned_alloc(64, HC_AMX_STEP * padded * sizeof *panel->values);
    panel->rows = aligned_alloc(64, bytes);
    panel->columns = aligned_alloc(64, bytes);
    panel->high = limbs > 4 ? aligned_alloc(64, HC_AMX_STEP * padded * sizeof *panel->high) : NULL;
    return panel->values != NULL && panel->rows != NULL && panel->columns != NULL &&
           (limbs <= 4 || panel->high != NULL);
}

static HcStatus open_panels(int32_t bands, int64_t limit, pthread_mutex_t *lock, HcPanels **out,
                            HcError *err) {
    HcPanels *panels = calloc(1, sizeof *panels);
    bool fine = panels != NULL;
    if (fine) {
        panels->bands = bands;
        panels->lock = lock;
        panels->padded = (bands + 2 * HC_AMX_TILE - 1) / (2 * HC_AMX_TILE) * (2 * HC_AMX_TILE);
        panels->tiles = panels->padded / HC_AMX_TILE;
        panels->limit = (float)limit;
        panels->limbs = limit > 0 ? LIMBS_OF_INTEGERS : LIMBS_MAX;
        panels->guess = BYTES_2U;
        panels->product = aligned_alloc(64, product_count(panels) * sizeof *panels->product);
        panels->sum = calloc((size_t)panels->padded, sizeof *panels->sum);
        size_t lanes = (size_t)panels->padded * LANES * sizeof(int64_t);
        panels->strip_guess = BYTES_2U;
        panels->lanes = aligned_alloc(64, lanes);
        panels->strip = aligned_alloc(64, lanes);
        panels->wide = calloc((size_t)bands * (size_t)bands, sizeof *panels->wide);
        panels->wide_sum = calloc((size_t)bands, sizeof *panels->wide_sum);
        fine = panels->product != NULL && panels->sum != NULL && panels->lanes != NULL &&
               panels->strip != NULL && panels->wide != NULL && panels->wide_sum != NULL;
    }
    for (int c = 0; fine && c < CLASSES && class_of[c].limbs <= panels->limbs; c++) {
        fine = open_panel(&panels->panel[c], (size_t)panels->padded, class_of[c].limbs);
    }
    if (!fine) {
        close_panels(panels);
        double each = 2.0 * (double)weights_of(LIMBS_MAX) + (double)sizeof(HcWide);
        return hc_fail_memory(err, (double)bands * bands * each, "panels of products");
    }
    memset(panels->product, 0, product_count(panels) * sizeof *panels->product);
    memset(panels->lanes, 0, (size_t)panels->padded * LANES * sizeof *panels->lanes);
    *out = panels;
    return HC_OK;
}

/* ---- sums of products -> wide ones, and these -> moments ---- */

/* Where the sums of weight `weight` are of the blocks (0, column), (1, column), ... (column, column) of 32 x
 * 32 bands: one after the other, in the order of multiplying. */
static int32_t *sums_at(const HcPanels *panels, int32_t column, int weight) {
    const int64_t before = (int64_t)column * (column + 1) / 2 * weights_of(panels->limbs);
    return panels->product + (before + (int64_t)weight * (column + 1)) * BLOCK_SUMS;
}

/* 16 sums with their weights, `stride` apart: the lowest four in low[], what is above 2^32 in high[]. */
HC_CLONES static void weigh(const int32_t *restrict sum, int64_t stride, int weights, int64_t *restrict low,
                            int64_t *restrict high) {
    for (int i = 0; i < HC_AMX_TILE; i++) {
        low[i] = 0; /* below 2^56 */
        high[i] = 0;
    }
    for (int k = 0; k < weights; k++, sum += stride) {
        int64_t *to = k <= 3 ? low : high;
        for (int i = 0; i < HC_AMX_TILE; i++) {
            to[i] += (int64_t)sum[i] * ((int64_t)1 << 8 * (k % 4)); /* weights 4 to 7 */
        }
    }
}

static void flush_block(HcPanels *panels, int32_t row, int32_t column) {
    const size_t n = (size_t)panels->bands;
    const int64_t stride = (int64_t)(column + 1) * BLOCK_SUMS;
    const int32_t *sums = sums_at(panels, column, 0) + (int64_t)row * BLOCK_SUMS;
    const int weights = weights_of(panels->used);
    for (int32_t k = 0; k < BLOCK_SUMS; k += HC_AMX_TILE) {
        const int32_t tile = k / (HC_AMX_TILE * HC_AMX_TILE);
        const int32_t b = (2 * row + tile / 2) * HC_AMX_TILE + k / HC_AMX_TILE % HC_AMX_TILE;
        const int32_t first = (2 * column + tile % 2) * HC_AMX_TILE;
        int64_t low[HC_AMX_TILE];
        int64_t high[HC_AMX_TILE];
        if (first + HC_AMX_TILE <= b || first >= panels->bands) {
            continue; /* below the triangle, or no bands */
        }
        weigh(sums + k, stride, weights < WEIGHTS_IN_TWO ? weights : WEIGHTS_IN_TWO, low, high);
        for (int32_t i = b > first ? b - first : 0; i < HC_AMX_TILE && first + i < panels->bands; i++) {
            HcWide value = (HcWide)high[i] * ((int64_t)1 << 32) + low[i];
            if (weights > WEIGHTS_IN_TWO) {
                value +=
                    (HcWide)sums[k + i + WEIGHTS_IN_TWO * stride] * ((int64_t)1 << 32) * ((int64_t)1 << 32);
            }
            panels->wide[(size_t)b * n + (size_t)(first + i)] += value;
        }
    }
}

/* 32-bit sums -> wide ones. */
static void flush(HcPanels *panels) {
    for (int32_t column = 0; column < panels->tiles / 2 && panels->used > 0; column++) {
        for (int32_t row = 0; row <= column; row++) {
            flush_block(panels, row, column);
        }
        memset(sums_at(panels, column, 0), 0,
               (size_t)(column + 1) * BLOCK_SUMS * (size_t)weights_of(panels->used) * sizeof(int32_t));
    }
    for (int32_t k = 0; k < panels->bands * LANES; k++) {
        panels->wide_sum[k / LANES] += panels->lanes[k];
    }
    for (int32_t b = 0; b < panels->bands; b++) {
        panels->wide_sum[b] += panels->sum[b];
    }
    memset(panels->lanes, 0, (size_t)panels->padded * LANES * sizeof *panels->lanes);
    memset(panels->sum, 0, (size_t)panels->padded * sizeof *panels->sum);
    panels->summed = 0;
    panels->used = 0;
}

/* Wide sums -> moments: at the end alone, so that threads do not wait for one another. */
static void hand_over(HcPanels *panels, HcMoments *moments) {
    const size_t n = (size_t)panels->bands;
    if (panels->count == 0) {
        return;
    }
    pthread_mutex_lock(panels->lock);
    for (size_t b = 0; b < n; b++) {
        moments->sum[b] += panels->wide_sum[b];
        for (size_t c = b; c < n; c++) {
            moments->product[b * n + c] += panels->wide[b * n + c];
        }
    }
    moments->count += panels->count;
    pthread_mutex_unlock(panels->lock);
    memset(panels->wide, 0, n * n * sizeof *panels->wide);
    memset(panels->wide_sum, 0, n * sizeof *panels->wide_sum);
    panels->count = 0;
}

/* ---- panels -> sums ----
 *
 * 2 x 2 tiles of sums grow by the products of 2 tiles of rows and 2 of columns, over `steps` steps. The kinds
 * differ in which limbs have a sign, and in whether rows and columns are the same bands: then the lower left
 * tile is not wanted. The next block's sums are asked for: they come from beyond the second cache. */

/* The compiler does not know what memory the tile instructions read: what was stored has to be there. */
#define IN_MEMORY() __asm__ volatile("" ::: "memory")

#define KERNEL(NAME, MULTIPLY, LOWER_LEFT)                                                                   \
    HC_AMX static void NAME(const uint8_t *rows, const uint8_t *columns, int32_t steps, int32_t *sums) {     \
        const char *next = (const char *)(sums + BLOCK_SUMS);                                                \
        IN_MEMORY();                                                                                         \
        _tile_loadd(0, sums, 64);                                                                            \
        _tile_loadd(1, sums + 256, 64);                                                                      \
        _tile_loadd(2, sums + 512, 64);                                                                      \
        _tile_loadd(3, sums + 768, 64);                                                                      \
        for (int32_t k = 0; k < steps; k++, next += 512) {                                                   \
            _tile_loadd(4, rows, 64);                                                                        \
            _tile_loadd(6, columns, 64);                                                                     \
            ask_for_two(next);                                                                               \
            _tile_loadd(7, columns + HC_AMX_STEPS * HC_AMX_TILE_BYTES, 64);                                  \
            MULTIPLY(0, 4, 6);                                                                               \
            ask_for_two(next + 128);                                                                         \
            _tile_loadd(5, rows + HC_AMX_STEPS * HC_AMX_TILE_BYTES, 64);                                     \
            MULTIPLY(1, 4, 7);                                                                               \
            ask_for_two(next + 256);                                                                         \
            if (LOWER_LEFT) {                                                                                \
                MULTIPLY(2, 5, 6);                                                                           \
            }                                                                                                \
            ask_for_two(next + 384);                                                                         \
            MULTIPLY(3, 5, 7);                                                                               \
            rows += HC_AMX_TILE_BYTES;                                                                       \
            columns += HC_AMX_TILE_BYTES;                                                                    \
        }                                                                                                    \
        _tile_stored(0, sums, 64);                                                                           \
        _tile_stored(1, sums + 256, 64);                                                                     \
        _tile_stored(2, sums + 512, 64);                                                                     \
        _tile_stored(3, sums + 768, 64);                                                                     \
    }

static inline void ask_for_two(const char *lines) {
    _mm_prefetch(lines, _MM_HINT_T0);
    _mm_prefetch(lines + 64, _MM_HINT_T0);
}

typedef void Kernel(const uint8_t *rows, const uint8_t *columns, int32_t steps, int32_t *sums);

KERNEL(multiply_uu, _tile_dpbuud, true)
KERNEL(multiply_us, _tile_dpbusd, true)
KERNEL(multiply_su, _tile_dpbsud, true)
KERNEL(multiply_ss, _tile_dpbssd, true)
KERNEL(square_uu, _tile_dpbuud, false)
KERNEL(square_us, _tile_dpbusd, false)
KERNEL(square_su, _tile_dpbsud, false)
KERNEL(square_ss, _tile_dpbssd, false)

/* Limb `row` of all bands up to those of the column block, times limb `column` of these. Both orders of two
 * limbs are taken, so that the upper triangle is enough. */
static void multiply_pair(HcPanels *panels, const Panel *panel, int32_t block, int row, int column,
                          bool row_sign, bool column_sign) {
    static Kernel *const multiply[2][2] = {{multiply_uu, multiply_us}, {multiply_su, multiply_ss}};
    static Kernel *const square[2][2] = {{square_uu, square_us}, {square_su, square_ss}};
    const size_t two_tiles = (size_t)2 * HC_AMX_STEPS * HC_AMX_TILE_BYTES;
    const int32_t blocks = panels->tiles / 2;
    const uint8_t *rows = panel->rows + (size_t)(row * blocks) * two_tiles;
    const uint8_t *columns = panel->columns + (size_t)(column * blocks + block) * two_tiles;
    int32_t *sums = sums_at(panels, block, row + column);
    for (int32_t i = 0; i < block; i++) {
        multiply[row_sign][column_sign](rows + (size_t)i * two_tiles, columns, panel->steps,
                                        sums + (size_t)i * BLOCK_SUMS);
    }
    square[row_sign][column_sign](rows + (size_t)block * two_tiles, columns, panel->steps,
                                  sums + (size_t)block * BLOCK_SUMS);
}

/* Eight tiles of 16 rows of 64 bytes. */
typedef struct TileConfig {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} TileConfig;

HC_AMX void hc_amx_multiply(HcPanels *panels, Class class) {
    TileConfig config = {.palette = 1};
    Panel *panel = &panels->panel[class];
    int limbs = class_of[class].limbs;
    bool is_signed = class_of[class].is_signed;
    for (int t = 0; t < 8; t++) {
        config.row_bytes[t] = 64;
        config.rows[t] = HC_AMX_TILE;
    }
    if (panels->summed + panel->steps * HC_AMX_STEP >
        most_pixels(limbs > panels->used ? limbs : panels->used)) {
        flush(panels);
    }
    panels->used = limbs > panels->used ? limbs : panels->used;
    IN_MEMORY();
    _tile_loadconfig(&config);
    for (int32_t block = 0; block < panels->tiles / 2; block++) {
        for (int column = 0; column < limbs; column++) {
            for (int row = 0; row < limbs; row++) {
                multiply_pair(panels, panel, block, row, column, is_signed && row == limbs - 1,
                              is_signed && column == limbs - 1);
            }
        }
    }
    _tile_release();
    panels->summed += panel->steps * HC_AMX_STEP;
    panel->steps = 0;
}

/* One tile of one step: each word holds one limb of four pixels (in an order of its own, the same
 * everywhere). */
HC_AMX static void pack_tile(const int32_t *values, int64_t padded, int limbs, uint8_t *const to[LIMBS_MAX],
                             int64_t *sum) {
    const __m512i low = _mm512_set1_epi32(0x0000FFFF);
    const __m512i even = _mm512_set1_epi32(0x00FF00FF);
    const __m512i first = _mm512_set1_epi32(0x000000FF);
    __m512i total = _mm512_setzero_si512();
    for (int64_t q = 0; q < HC_AMX_STEP / 4; q++) {
        const int32_t *at = values + 4 * q * padded;
        __m512i v0 = _mm512_load_si512(at);
        __m512i v1 = _mm512_load_si512(at + padded);
        __m512i v2 = _mm512_load_si512(at + 2 * padded);
        __m512i v3 = _mm512_load_si512(at + 3 * padded);
        /* 0xCA: bits of the second where the first is set, else of the third */
        __m512i u01 = _mm512_ternarylogic_epi32(low, v0, _mm512_slli_epi32(v1, 16), 0xCA);
        __m512i u23 = _mm512_ternarylogic_epi32(low, v2, _mm512_slli_epi32(v3, 16), 0xCA);
        _mm512_store_si512(to[0] + 64 * q,
                           _mm512_ternarylogic_epi32(even, u01, _mm512_slli_epi32(u23, 8), 0xCA));
        if (limbs > 1) {
            _mm512_store_si512(to[1] + 64 * q,
                               _mm512_ternarylogic_epi32(even, _mm512_srli_epi32(u01, 8), u23, 0xCA));
        }
        if (limbs > 2) {
            __m512i w02 =
                _mm512_ternarylogic_epi32(first, _mm512_srli_epi32(v0, 16), _mm512_srli_epi32(v2, 8), 0xCA);
            __m512i w13 =
                _mm512_ternarylogic_epi32(_mm512_set1_epi32(0x00FFFFFF), v1, _mm512_slli_epi32(v3, 8), 0xCA);
            _mm512_store_si512(to[2] + 64 * q, _mm512_ternarylogic_epi32(low, w02, w13, 0xCA));
        }
        if (limbs > 3) {
            __m512i u02 =
                _mm512_ternarylogic_epi32(first, _mm512_srli_epi32(v0, 24), _mm512_srli_epi32(v2, 16), 0xCA);
            __m512i u13 =
                _mm512_ternarylogic_epi32(_mm512_set1_epi32(0x00FFFFFF), _mm512_srli_epi32(v1, 8), v3, 0xCA);
            _mm512_store_si512(to[3] + 64 * q, _mm512_ternarylogic_epi32(low, u02, u13, 0xCA));
        }
        total = _mm512_add_epi32(total, _mm512_add_epi32(_mm512_add_epi32(v0, v1), _mm512_add_epi32(v2, v3)));
    }
    if (sum != NULL) {
        __m512i wide0 = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(total));
        __m512i wide1 = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(total, 1));
        _mm512_storeu_si512(sum, _mm512_add_epi64(_mm512_loadu_si512(sum), wide0));
        _mm512_storeu_si512(sum + 8, _mm512_add_epi64(_mm512_loadu_si512(sum + 8), wide1));
    }
}

/* The limb above 32 bits, in the same order of pixels. */
HC_AMX static void pack_high(const int32_t *high, int64_t padded, uint8_t *to) {
    for (int64_t q = 0; q < HC_AMX_STEP / 4; q++) {
        const int32_t *at = high + 4 * q * padded;
        const __m512i first = _mm512_set1_epi32(0x000000FF);
        __m512i v02 = _mm512_ternarylogic_epi32(
            first, _mm512_load_si512(at), _mm512_slli_epi32(_mm512_load_si512(at + 2 * padded), 8), 0xCA);
        __m512i v13 =
            _mm512_ternarylogic_epi32(first, _mm512_load_si512(at + padded),
                                      _mm512_slli_epi32(_mm512_load_si512(at + 3 * padded), 8), 0xCA);
        _mm512_store_si512(to + 64 * q, _mm512_ternarylogic_epi32(_mm512_set1_epi32(0x0000FFFF), v02,
                                                                  _mm512_slli_epi32(v13, 16), 0xCA));
    }
}

/* The values -> one step of the panel. */
HC_AMX static void pack(HcPanels *panels, Class class) {
    Panel *panel = &panels->panel[class];
    int limbs = class_of[class].limbs;
    for (int32_t t = 0; t < panels->tiles; t++) {
        uint8_t *columns[LIMBS_MAX] = {NULL};
        size_t at[LIMBS_MAX] = {0};
        for (int limb = 0; limb < limbs; limb++) {
            at[limb] = (size_t)((limb * panels->tiles + t) * HC_AMX_STEPS + panel->steps) * HC_AMX_TILE_BYTES;
            columns[limb] = panel->columns + at[limb];
        }
        int64_t *sum =
            panels->limit > 0 ? panels->sum + t * HC_AMX_TILE : NULL; /* those of a grid grew before */
        pack_tile(panel->values + t * HC_AMX_TILE, panels->padded, limbs, columns, sum);
        if (limbs > 4) {
            pack_high(panel->high + t * HC_AMX_TILE, panels->padded, columns[4]);
        }
        for (int limb = 0; limb < limbs; limb++) {
            hc_transpose16(columns[limb], 64, panel->rows + at[limb], 64);
        }
    }
    panel->steps++;
    panel->filled = 0;
}

/* One pixel -> integers; false when one is beyond the limit. */
HC_AMX static bool convert(const float *pixel, int32_t bands, int32_t padded, float limit, int32_t *to,
                           Class *class) {
    const __m512 most = _mm512_set1_ps(limit);
    __m512i smallest = _mm512_setzero_si512();
    __m512i largest = _mm512_setzero_si512();
    __mmask16 within = 0xFFFF;
    for (int32_t b = 0; b < padded; b += HC_AMX_TILE) {
        int32_t left = bands - b;
        __mmask16 there = (__mmask16)(left >= HC_AMX_TILE ? 0xFFFF : left > 0 ? (1 << left) - 1 : 0);
        __m512 value = _mm512_maskz_loadu_ps(there, pixel + b);
        __m512i whole = _mm512_cvttps_epi32(value);
        within &= _mm512_cmp_ps_mask(_mm512_abs_ps(value), most, _CMP_LE_OQ);
        smallest = _mm512_min_epi32(smallest, whole);
        largest = _mm512_max_epi32(largest, whole);
        _mm512_store_si512(to + b, whole);
    }
    int32_t low = _mm512_reduce_min_epi32(smallest);
    int32_t high = _mm512_reduce_max_epi32(largest);
    if (low >= 0) {
        *class = high < 256 ? BYTES_1U : high < 65536 ? BYTES_2U : BYTES_3S;
    } else {
        *class = low >= -32768 && high < 32768 ? BYTES_2S : BYTES_3S;
    }
    return within == 0xFFFF;
}

static void step(HcPanels *panels, Class class) {
    pack(panels, class);
    if (panels->panel[class].steps == HC_AMX_STEPS) {
        hc_amx_multiply(panels, class);
    }
}

static bool add(HcPanels *panels, const float *pixels, int32_t count, HcMoments *moments) {
    (void)moments;
    size_t padded = (size_t)panels->padded;
    for (int32_t p = 0; p < count; p++, pixels += panels->bands) {
        Panel *panel = &panels->panel[panels->guess];
        int32_t *to = panel->values + (size_t)panel->filled * padded;
        Class class = panels->guess;
        if (!convert(pixels, panels->bands, panels->padded, panels->limit, to, &class)) {
            return false;
        }
        if (class != panels->guess) {
            panels->guess = class;
            panel = &panels->panel[class];
            memcpy(panel->values + (size_t)panel->filled * padded, to, padded * sizeof *to);
        }
        panels->count++;
        if (++panel->filled == HC_AMX_STEP) {
            step(panels, class);
        }
    }
    return true;
}

/* One pixel of whole numbers -> its low words and what these leave; the sums grow at once. */
HC_AMX static Class convert_near(const double *pixel, int32_t bands, int32_t padded, int32_t *low,
                                 int32_t *high, int64_t *sum) {
    __m512i smallest = _mm512_setzero_si512();
    __m512i largest = _mm512_setzero_si512();
    for (int32_t b = 0; b < padded; b += 8) {
        int32_t left = bands - b;
        __mmask8 there = (__mmask8)(left >= 8 ? 0xFF : left > 0 ? (1 << left) - 1 : 0);
        __m512i whole = _mm512_cvtpd_epi64(_mm512_maskz_loadu_pd(there, pixel + b));
        smallest = _mm512_min_epi64(smallest, whole);
        largest = _mm512_max_epi64(largest, whole);
        _mm256_store_si256((__m256i *)(low + b), _mm512_cvtepi64_epi32(whole));
        _mm256_store_si256((__m256i *)(high + b), _mm512_cvtepi64_epi32(_mm512_srai_epi64(whole, 32)));
        _mm512_storeu_si512(sum + b, _mm512_add_epi64(_mm512_loadu_si512(sum + b), whole));
    }
    int64_t least = _mm512_reduce_min_epi64(smallest);
    int64_t most = _mm512_reduce_max_epi64(largest);
    int64_t size = most > -1 - least ? most : -1 - least;
    return size < 1 << 15 ? BYTES_2S : size < 1 << 23 ? BYTES_3S : size <= INT32_MAX ? BYTES_4S : BYTES_5S;
}

static void add_near(HcPanels *panels, const double *pixels, int32_t count, HcMoments *moments) {
    (void)moments;
    size_t padded = (size_t)panels->padded;
    int32_t *unused = panels->panel[BYTES_5S].high + (HC_AMX_STEP - 1) * padded;
    for (int32_t p = 0; p < count; p++, pixels += panels->bands) {
        Panel *panel = &panels->panel[panels->guess];
        size_t at = (size_t)panel->filled * padded;
        int32_t *low = panel->values + at;
        int32_t *high = panel->high != NULL ? panel->high + at : unused;
        Class class = convert_near(pixels, panels->bands, panels->padded, low, high, panels->sum);
        if (class != panels->guess) {
            panels->guess = class;
            panel = &panels->panel[class];
            at = (size_t)panel->filled * padded;
            memcpy(panel->values + at, low, padded * sizeof *low);
            if (panel->high != NULL) {
                memmove(panel->high + at, high, padded * sizeof *high);
            }
        }
        panels->count++;
        if (++panel->filled == HC_AMX_STEP) {
            step(panels, class);
        }
    }
}

static void drain(HcPanels *panels, HcMoments *moments) {
    for (int c = 0; c < CLASSES; c++) {
        Panel *panel = &panels->panel[c];
        size_t padded = (size_t)panels->padded;
        if (panel->filled > 0) {
            size_t filled = (size_t)panel->filled * padded;
            memset(panel->values + filled, 0, (HC_AMX_STEP * padded - filled) * sizeof *panel->values);
            if (panel->high != NULL) {
                memset(panel->high + filled, 0, (HC_AMX_STEP * padded - filled) * sizeof *panel->high);
            }
            pack(panels, (Class)c);
        }
        if (panel->steps > 0) {
            hc_amx_multiply(panels, (Class)c);
        }
    }
    flush(panels);
    hand_over(panels, moments);
}

static bool amx_usable;
static pthread_once_t amx_once = PTHREAD_ONCE_INIT;

static void ask_for_amx(void) {
    /* Linux hands the tile registers to a process that asks (ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA). */
    enum { REQUEST = 0x1023, TILE_DATA = 18 };
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq");
    bool has_amx = __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (d >> 24 & 3) == 3; /* tile and int8 */
#ifdef SYS_arch_prctl
    amx_usable = has_avx512 && has_amx && syscall(SYS_arch_prctl, REQUEST, TILE_DATA) == 0;
#else
    amx_usable = has_avx512 && has_amx && false;
#endif
}

const HcPanelKind *hc_cpu_panels_amx(void) {
    static const HcPanelKind by_pixels = {open_panels, close_panels, add,   add_near,
                                          drain,       NULL,         false, bytes_of};
    static const HcPanelKind by_strips = {open_panels, close_panels, add,   add_near,
                                          drain,       hc_amx_strip, false, bytes_of};
    pthread_once(&amx_once, ask_for_amx);
    return !amx_usable ? NULL : hc_amx_has_strips() ? &by_strips : &by_pixels;
}

#else

const HcPanelKind *hc_cpu_panels_amx(void) {
    return NULL;
}

#endif
