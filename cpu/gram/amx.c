/* Exact sums of products on the matrix unit (AMX) of some x86 processors: integers are split into limbs of 8
 * bits, limbs are multiplied and summed in 32-bit integers, and these are added to the moments before they
 * could overflow. The sums are the same to the last bit as those of gram/blas.c. */
#include "cpu/gram/gram.h"
#include "cpu/image/transpose.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HC_AMX __attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512dq")))

enum {
    TILE = 16,          /* bands of a tile */
    STEP = 64,          /* pixels of a tile */
    TILE_BYTES = 1024,  /* 16 x 64 limbs, or 16 x 16 sums */
    STEPS = 8,          /* of a panel */
    MOST_PIXELS = 32768 /* 255 * 255 * 32768 < 2^31 */
};

/* Pixels are sorted by what their values need. */
typedef enum Class { BYTES_1U, BYTES_2U, BYTES_2S, BYTES_3S, BYTES_4S, BYTES_5S, CLASSES } Class;

static const struct {
    int limbs;
    bool is_signed; /* the top limb */
} class_of[CLASSES] = {{1, false}, {2, false}, {2, true}, {3, true}, {4, true}, {5, true}};

/* Limb products in the order of their sums: (0,0) (0,1) (1,1) (0,2) (1,2) (2,2) ... */
enum { LIMBS_MAX = 5, LIMBS_OF_INTEGERS = 3 };
static inline int pairs_of(int limbs) {
    return limbs * (limbs + 1) / 2;
}
static inline int pair_of(int row, int column) {
    return column * (column + 1) / 2 + row;
}

typedef struct Panel {
    int32_t filled;          /* pixels in `values` */
    int32_t steps;           /* in `rows` and `columns` */
    int32_t *values;         /* [STEP][padded], or their lowest 32 bits */
    int32_t *high;           /* [STEP][padded]: what these leave, of five limbs */
    uint8_t *rows, *columns; /* [limbs][tiles][STEPS][TILE_BYTES]: limbs as the first and second factor */
} Panel;

struct HcPanels {
    int32_t bands, padded; /* padded to pairs of tiles */
    int32_t tiles;         /* of a limb */
    int32_t limbs;         /* that values may need */
    int32_t used;          /* of them, in `product` */
    float limit;           /* of integers, 0 = whole numbers of a grid */
    int32_t summed;        /* pixels in `product` */
    int64_t count;         /* pixels in `sum` */
    Class guess;           /* of the next pixel: that of the last */
    Panel panel[CLASSES];
    int32_t *product; /* [pairs][tiles / 2][tiles / 2][2][2][TILE][TILE] */
    int64_t *sum;     /* [padded] */
    pthread_mutex_t *lock;
};

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
    free(panels);
}

static size_t product_count(const HcPanels *panels) {
    return (size_t)pairs_of(panels->limbs) * (size_t)panels->padded * (size_t)panels->padded;
}

/* Pages that are never written are never there: classes that do not occur cost nothing. */
static bool open_panel(Panel *panel, size_t padded, int limbs) {
    size_t bytes = (size_t)limbs * padded * STEPS * STEP;
    panel->values = aligned_alloc(64, STEP * padded * sizeof *panel->values);
    panel->rows = aligned_alloc(64, bytes);
    panel->columns = aligned_alloc(64, bytes);
    panel->high = limbs > 4 ? aligned_alloc(64, STEP * padded * sizeof *panel->high) : NULL;
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
        panels->padded = (bands + 2 * TILE - 1) / (2 * TILE) * (2 * TILE);
        panels->tiles = panels->padded / TILE;
        panels->limit = (float)limit;
        panels->limbs = limit > 0 ? LIMBS_OF_INTEGERS : LIMBS_MAX;
        panels->guess = BYTES_2U;
        panels->product = aligned_alloc(64, product_count(panels) * sizeof *panels->product);
        panels->sum = calloc((size_t)panels->padded, sizeof *panels->sum);
        fine = panels->product != NULL && panels->sum != NULL;
    }
    for (int c = 0; fine && c < CLASSES && class_of[c].limbs <= panels->limbs; c++) {
        fine = open_panel(&panels->panel[c], (size_t)panels->padded, class_of[c].limbs);
    }
    if (!fine) {
        close_panels(panels);
        return hc_fail_memory(err, (double)bands * bands * pairs_of(LIMBS_MAX) * sizeof(int32_t),
                              "panels of products");
    }
    memset(panels->product, 0, product_count(panels) * sizeof *panels->product);
    *out = panels;
    return HC_OK;
}

/* The sum of limb products of bands b and c, as rows and columns. */
static inline int64_t product_at(const HcPanels *panels, int pair, int32_t b, int32_t c) {
    int64_t blocks = panels->tiles / 2;
    int64_t block = ((int64_t)pair * blocks + b / (2 * TILE)) * blocks + c / (2 * TILE);
    int64_t tile = block * 4 + b / TILE % 2 * 2 + c / TILE % 2;
    return panels->product[(tile * TILE + b % TILE) * TILE + c % TILE];
}

static HcWide value_at(const HcPanels *panels, int32_t b, int32_t c) {
    int64_t low = 0; /* weights up to 2^24 of sums below 2^33 */
    HcWide value = 0;
    for (int column = 0; column < panels->used; column++) {
        for (int row = 0; row <= column; row++) {
            int pair = pair_of(row, column);
            int64_t part = product_at(panels, pair, b, c);
            part += row != column ? product_at(panels, pair, c, b) : 0;
            if (row + column <= 3) {
                low += part * ((int64_t)1 << 8 * (row + column));
            } else {
                value += (HcWide)part * ((int64_t)1 << 8 * (row + column - 4));
            }
        }
    }
    return value * ((int64_t)1 << 32) + low;
}

/* Sums -> moments. */
static void flush(HcPanels *panels, HcMoments *moments) {
    size_t n = (size_t)panels->bands;
    pthread_mutex_lock(panels->lock);
    for (int32_t b = 0; b < panels->bands; b++) {
        moments->sum[b] += panels->sum[b];
        for (int32_t c = b; c < panels->bands; c++) {
            moments->product[(size_t)b * n + (size_t)c] += value_at(panels, b, c);
        }
    }
    moments->count += panels->count;
    pthread_mutex_unlock(panels->lock);
    memset(panels->product, 0,
           (size_t)pairs_of(panels->used) * (size_t)panels->padded * (size_t)panels->padded *
               sizeof *panels->product);
    memset(panels->sum, 0, (size_t)panels->padded * sizeof *panels->sum);
    panels->count = 0;
    panels->summed = 0;
    panels->used = 0;
}

/* 2 x 2 tiles of sums grow by the products of 2 tiles of rows and 2 of columns, over `steps` steps. The four
 * kinds differ in which limbs have a sign. */
/* The compiler does not know what memory the tile instructions read: what was stored has to be there. */
#define IN_MEMORY() __asm__ volatile("" ::: "memory")

#define KERNEL(NAME, MULTIPLY)                                                                               \
    HC_AMX static void NAME(const uint8_t *rows, const uint8_t *columns, int32_t steps, int32_t *sums) {     \
        IN_MEMORY();                                                                                         \
        _tile_loadd(0, sums, 64);                                                                            \
        _tile_loadd(1, sums + 256, 64);                                                                      \
        _tile_loadd(2, sums + 512, 64);                                                                      \
        _tile_loadd(3, sums + 768, 64);                                                                      \
        for (int32_t k = 0; k < steps; k++) {                                                                \
            _tile_loadd(4, rows, 64);                                                                        \
            _tile_loadd(6, columns, 64);                                                                     \
            _tile_loadd(7, columns + STEPS * TILE_BYTES, 64);                                                \
            MULTIPLY(0, 4, 6);                                                                               \
            _tile_loadd(5, rows + STEPS * TILE_BYTES, 64);                                                   \
            MULTIPLY(1, 4, 7);                                                                               \
            MULTIPLY(2, 5, 6);                                                                               \
            MULTIPLY(3, 5, 7);                                                                               \
            rows += TILE_BYTES;                                                                              \
            columns += TILE_BYTES;                                                                           \
        }                                                                                                    \
        _tile_stored(0, sums, 64);                                                                           \
        _tile_stored(1, sums + 256, 64);                                                                     \
        _tile_stored(2, sums + 512, 64);                                                                     \
        _tile_stored(3, sums + 768, 64);                                                                     \
    }

KERNEL(multiply_uu, _tile_dpbuud)
KERNEL(multiply_us, _tile_dpbusd)
KERNEL(multiply_ss, _tile_dpbssd)

/* All tiles of one pair of limbs; of a limb with itself only the upper triangle. */
static void multiply_pair(HcPanels *panels, const Panel *panel, int row, int column, bool row_sign,
                          bool column_sign) {
    const size_t two_tiles = (size_t)2 * STEPS * TILE_BYTES;
    const int32_t blocks = panels->tiles / 2;
    const uint8_t *rows = panel->rows + (size_t)(row * blocks) * two_tiles;
    const uint8_t *columns = panel->columns + (size_t)(column * blocks) * two_tiles;
    int32_t *sums = panels->product + (size_t)pair_of(row, column) * (size_t)(blocks * blocks) * TILE_BYTES;
    for (int32_t j = 0; j < blocks; j++) {
        for (int32_t i = 0; i < (row == column ? j + 1 : blocks); i++) {
            const uint8_t *a = rows + (size_t)i * two_tiles;
            const uint8_t *b = columns + (size_t)j * two_tiles;
            int32_t *c = sums + (size_t)(i * blocks + j) * TILE_BYTES;
            if (row_sign) {
                multiply_ss(a, b, panel->steps, c);
            } else if (column_sign) {
                multiply_us(a, b, panel->steps, c);
            } else {
                multiply_uu(a, b, panel->steps, c);
            }
        }
    }
}

/* Eight tiles of 16 rows of 64 bytes. */
typedef struct TileConfig {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
} TileConfig;

HC_AMX static void multiply(HcPanels *panels, Class class, HcMoments *moments) {
    TileConfig config = {.palette = 1};
    Panel *panel = &panels->panel[class];
    int limbs = class_of[class].limbs;
    bool is_signed = class_of[class].is_signed;
    for (int t = 0; t < 8; t++) {
        config.row_bytes[t] = 64;
        config.rows[t] = TILE;
    }
    if (panels->summed + panel->steps * STEP > MOST_PIXELS) {
        flush(panels, moments);
    }
    panels->used = limbs > panels->used ? limbs : panels->used;
    IN_MEMORY();
    _tile_loadconfig(&config);
    for (int column = 0; column < limbs; column++) {
        for (int row = 0; row <= column; row++) {
            multiply_pair(panels, panel, row, column, is_signed && row == limbs - 1,
                          is_signed && column == limbs - 1);
        }
    }
    _tile_release();
    panels->summed += panel->steps * STEP;
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
    for (int64_t q = 0; q < STEP / 4; q++) {
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
    for (int64_t q = 0; q < STEP / 4; q++) {
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

/* The values of a step -> the panel. */
HC_AMX static void pack(HcPanels *panels, Class class) {
    Panel *panel = &panels->panel[class];
    int limbs = class_of[class].limbs;
    for (int32_t t = 0; t < panels->tiles; t++) {
        uint8_t *columns[LIMBS_MAX] = {NULL};
        size_t at[LIMBS_MAX] = {0};
        for (int limb = 0; limb < limbs; limb++) {
            at[limb] = (size_t)((limb * panels->tiles + t) * STEPS + panel->steps) * TILE_BYTES;
            columns[limb] = panel->columns + at[limb];
        }
        int64_t *sum = panels->limit > 0 ? panels->sum + t * TILE : NULL; /* those of a grid grew before */
        pack_tile(panel->values + t * TILE, panels->padded, limbs, columns, sum);
        if (limbs > 4) {
            pack_high(panel->high + t * TILE, panels->padded, columns[4]);
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
    for (int32_t b = 0; b < padded; b += TILE) {
        int32_t left = bands - b;
        __mmask16 there = (__mmask16)(left >= TILE ? 0xFFFF : left > 0 ? (1 << left) - 1 : 0);
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

static void step(HcPanels *panels, Class class, HcMoments *moments) {
    pack(panels, class);
    if (panels->panel[class].steps == STEPS) {
        multiply(panels, class, moments);
    }
}

static bool add(HcPanels *panels, const float *pixels, int32_t count, HcMoments *moments) {
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
        if (++panel->filled == STEP) {
            step(panels, class, moments);
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
    size_t padded = (size_t)panels->padded;
    int32_t *unused = panels->panel[BYTES_5S].high + (STEP - 1) * padded;
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
        if (++panel->filled == STEP) {
            step(panels, class, moments);
        }
    }
}

static void drain(HcPanels *panels, HcMoments *moments) {
    for (int c = 0; c < CLASSES; c++) {
        Panel *panel = &panels->panel[c];
        size_t padded = (size_t)panels->padded;
        if (panel->filled > 0) {
            size_t filled = (size_t)panel->filled * padded;
            memset(panel->values + filled, 0, (STEP * padded - filled) * sizeof *panel->values);
            if (panel->high != NULL) {
                memset(panel->high + filled, 0, (STEP * padded - filled) * sizeof *panel->high);
            }
            pack(panels, (Class)c);
        }
        if (panel->steps > 0) {
            multiply(panels, (Class)c, moments);
        }
    }
    flush(panels, moments);
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
    static const HcPanelKind kind = {open_panels, close_panels, add, add_near, drain};
    pthread_once(&amx_once, ask_for_amx);
    return amx_usable ? &kind : NULL;
}

#else

const HcPanelKind *hc_cpu_panels_amx(void) {
    return NULL;
}

#endif
