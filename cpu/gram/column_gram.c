/* column_gram: a thread takes a group, or some strips of one, copies its pixels to a panel in float64, and
 * multiplies the panel into a tile of sums at a time. A tile fills the registers: with 512 bits 8 x 24
 * sums, with 256 bits 4 x 12.
 *
 * A panel has a unit for each 8 bands, with the pixels one after the other: what a tile reads in a step is
 * one line of the cache for its rows. The bits do not depend on the tile, since each sum is a chain of its
 * own. Products are exact, so that fusing them with the addition changes no bit. */
#include "core/operation/gram/column_gram.h"
#include "cpu/work.h"

#include <math.h>
#include <string.h>

HcColumnGramFn hc_cpu_column_gram;

enum {
    UNIT = 8,
    STRIP = HC_COLUMN_STRIP,
    PANEL = HC_COLUMN_PANEL,
    AHEAD = 2,                        /* lines */
    UNIT_VALUES = (PANEL + 1) * UNIT, /* units a power of two apart would share a few lines of the cache */
};

/* ---- tiles of 4 x 12 sums ---- */

typedef double Four __attribute__((vector_size(4 * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef int64_t FourLong
    __attribute__((vector_size(4 * sizeof(int64_t)), aligned(sizeof(int64_t)), may_alias));

/* Adds four sums in units of their scales: the integers of both halves are the mantissas of sums with 1.5
 * 2^52. */
static inline __attribute__((always_inline)) void add_four(int64_t *sum, Four tile, double row,
                                                           const double *column) {
    const Four magic = {0x1.8p52, 0x1.8p52, 0x1.8p52, 0x1.8p52};
    Four units = tile * row * *(const Four *)column;
    Four upper = units * 0x1p-32 + magic;
    Four lower = (units - (upper - magic) * 0x1p32) + magic;
    FourLong above = (FourLong)upper - (FourLong)magic;
    *(FourLong *)sum += (above << 32) + ((FourLong)lower - (FourLong)magic);
}

/* rows, and the columns 0 to 3, 4 to 7 and 8 to 11: of the first pixel. */
HC_CLONES static void add_narrow(int64_t *sum, const double *rows, const double *const columns[3],
                                 size_t count, const double *row_scale, const double *column_scale) {
    enum { ROWS = 4, PARTS = 3 };
    Four t[ROWS][PARTS] = {{{0}}};
    const double *a = columns[0], *b = columns[1], *c = columns[2];
    for (size_t k = 0; k < count * UNIT; k += UNIT) {
        Four x0 = *(const Four *)(a + k), x1 = *(const Four *)(b + k), x2 = *(const Four *)(c + k);
        t[0][0] += rows[k] * x0, t[0][1] += rows[k] * x1, t[0][2] += rows[k] * x2;
        t[1][0] += rows[k + 1] * x0, t[1][1] += rows[k + 1] * x1, t[1][2] += rows[k + 1] * x2;
        t[2][0] += rows[k + 2] * x0, t[2][1] += rows[k + 2] * x1, t[2][2] += rows[k + 2] * x2;
        t[3][0] += rows[k + 3] * x0, t[3][1] += rows[k + 3] * x1, t[3][2] += rows[k + 3] * x2;
    }
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t p = 0; p < PARTS; p++) {
            add_four(sum + r * STRIP + 4 * p, t[r][p], row_scale[r], column_scale + 4 * p);
        }
    }
}

/* Strips [first, end) of all `strips` of the sums. */
typedef struct Part {
    size_t first, end, strips;
} Part;

/* Where band b of the first pixel of a panel is. */
static inline const double *band_at(const double *panel, size_t b) {
    return panel + b / UNIT * UNIT_VALUES + b % UNIT;
}

/* sum: of the first strip of the part. */
static void add_panel_narrow(const double *panel, const Part *part, size_t count, const double *scale,
                             int64_t *sum) {
    enum { ROWS = 4, HALF = STRIP / 2 };
    for (size_t first = part->first * STRIP; first < part->end * STRIP; first += STRIP) {
        for (size_t row = first; row < part->strips * STRIP; row += ROWS, sum += ROWS * STRIP) {
            for (size_t from = first; from < first + STRIP && from < row + ROWS; from += HALF) {
                const double *columns[] = {band_at(panel, from), band_at(panel, from + 4),
                                           band_at(panel, from + 8)};
                add_narrow(sum + (from - first), band_at(panel, row), columns, count, scale + row,
                           scale + from);
            }
        }
    }
}

/* ---- tiles of 8 x 24 sums ---- */

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define WIDE __attribute__((target("avx512f")))

/* Adds a tile in units of its scales. No part of the loop before it: its constants would take registers
 * there. */
WIDE static __attribute__((noinline)) void
add_eights(int64_t *sum, const double *tile, const double *row_scale, const double *column_scale, int parts) {
    const __m512d magic = _mm512_set1_pd(0x1.8p52);
    const __m512i whole = _mm512_castpd_si512(magic);
    for (int r = 0; r < UNIT; r++, sum += STRIP, tile += STRIP) {
        for (int p = 0; p < parts; p++) {
            int64_t *to = sum + (ptrdiff_t)p * UNIT;
            __m512d row =
                _mm512_mul_pd(_mm512_load_pd(tile + (ptrdiff_t)p * UNIT), _mm512_set1_pd(row_scale[r]));
            __m512d units = _mm512_mul_pd(row, _mm512_loadu_pd(column_scale + (ptrdiff_t)p * UNIT));
            __m512d upper = _mm512_fmadd_pd(units, _mm512_set1_pd(0x1p-32), magic);
            __m512d lower = _mm512_add_pd(
                _mm512_fmadd_pd(_mm512_sub_pd(magic, upper), _mm512_set1_pd(0x1p32), units), magic);
            __m512i high = _mm512_slli_epi64(_mm512_sub_epi64(_mm512_castpd_si512(upper), whole), 32);
            __m512i low = _mm512_sub_epi64(_mm512_castpd_si512(lower), whole);
            _mm512_storeu_si512(to, _mm512_add_epi64(_mm512_loadu_si512(to), _mm512_add_epi64(high, low)));
        }
    }
}

/* `parts` units of columns, a constant. */
WIDE static inline __attribute__((always_inline)) void multiply_wide(int64_t *sum, const double *rows,
                                                                     const double *columns, size_t count,
                                                                     double *tile, int parts) {
    __m512d t[UNIT][3];
#pragma GCC unroll 8
    for (int r = 0; r < UNIT; r++) {
        __builtin_prefetch(sum + (ptrdiff_t)r * STRIP, 1);
        __builtin_prefetch(sum + (ptrdiff_t)r * STRIP + 8, 1);
        __builtin_prefetch(sum + (ptrdiff_t)r * STRIP + 16, 1);
#pragma GCC unroll 3
        for (int p = 0; p < parts; p++) {
            t[r][p] = _mm512_setzero_pd();
        }
    }
    for (size_t k = 0; k < count * UNIT; k += UNIT) {
        __m512d x[3];
#pragma GCC unroll 3
        for (int p = 0; p < parts; p++) {
            x[p] = _mm512_load_pd(columns + (ptrdiff_t)p * UNIT_VALUES + k);
        }
#pragma GCC unroll 8
        for (int r = 0; r < UNIT; r++) {
            __m512d row = _mm512_set1_pd(rows[k + (size_t)r]);
#pragma GCC unroll 3
            for (int p = 0; p < parts; p++) {
                t[r][p] = _mm512_fmadd_pd(row, x[p], t[r][p]);
            }
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < UNIT; r++) {
#pragma GCC unroll 3
        for (int p = 0; p < parts; p++) {
            _mm512_store_pd(tile + (ptrdiff_t)r * STRIP + (ptrdiff_t)p * UNIT, t[r][p]);
        }
    }
}

WIDE static void add_panel_wide(const double *panel, const Part *part, size_t count, const double *scale,
                                int64_t *sum) {
    double tile[UNIT * STRIP] __attribute__((aligned(64)));
    for (size_t first = part->first * STRIP; first < part->end * STRIP; first += STRIP) {
        const double *columns = band_at(panel, first);
        for (size_t row = first; row < part->strips * STRIP; row += UNIT, sum += UNIT * STRIP) {
            const double *rows = band_at(panel, row);
            int parts = row < first + STRIP ? (int)((row - first) / UNIT) + 1 : 3; /* the others are above the
                                                                                    * diagonal */
            if (parts == 3) {
                multiply_wide(sum, rows, columns, count, tile, 3);
            } else if (parts == 2) {
                multiply_wide(sum, rows, columns, count, tile, 2);
            } else {
                multiply_wide(sum, rows, columns, count, tile, 1);
            }
            add_eights(sum, tile, scale + row, scale + first, parts);
        }
    }
}

static bool has_wide(void) {
    return __builtin_cpu_supports("avx512f") != 0;
}

#else

#define add_panel_wide add_panel_narrow

static bool has_wide(void) {
    return false;
}

#endif

/* ---- panels ---- */

typedef struct Job {
    const HcColumnRule *rule;
    int32_t samples, bands;
    size_t strips;
    int64_t parts; /* of the sums of a group: where threads outnumber groups, several take one */
    bool wide;
    int32_t rows;
    const float *row[HC_COLUMN_LINES];
    const uint8_t *mask[HC_COLUMN_LINES];
    double *panels; /* [threads][strips * 3][UNIT_VALUES] */
    int64_t *sums, *far;
} Job;

/* Pixel k of a panel: its values, the 1 after them, and zeros. Returns whether it takes part. */
HC_CLONES static bool put_pixel(double *panel, size_t k, const float *x, const float *largest, size_t bands,
                                size_t units) {
    int32_t far = 0;
    double *to = panel + k * UNIT;
    size_t b = 0;
    for (; b + UNIT <= bands; b += UNIT, to += UNIT_VALUES) {
        for (size_t i = 0; i < UNIT; i++) {
            to[i] = (double)x[b + i];
            far |= !(fabsf(x[b + i]) <= largest[b + i]);
        }
    }
    for (; b < units * UNIT; b += UNIT, to += UNIT_VALUES) {
        for (size_t i = 0; i < UNIT; i++) {
            to[i] = b + i < bands ? (double)x[b + i] : b + i == bands;
            far |= b + i < bands && !(fabsf(x[b + i]) <= largest[b + i]);
        }
    }
    return far == 0;
}

/* The pixels of a column lie a line apart: no processor foresees them. */
static void prefetch(const float *x, size_t bands) {
    enum { LINE = 64 / sizeof(float) };
    for (size_t b = 0; b < bands; b += LINE) {
        __builtin_prefetch(x + b);
    }
}

static void add_panel(const Job *job, const Part *part, const double *panel, size_t count, int64_t *sum) {
    if (count > 0) {
        (job->wide ? add_panel_wide : add_panel_narrow)(panel, part, count, job->rule->scale, sum);
    }
}

static void add_part(const Job *job, int64_t group, const Part *part, double *panel) {
    size_t bands = (size_t)job->bands;
    size_t corner = part->first * STRIP;
    int64_t *sum = job->sums + (size_t)group * hc_column_values(job->bands) +
                   hc_column_place(job->bands, corner, corner);
    int64_t begin = group * job->rule->width;
    int64_t end = hc_min64(begin + job->rule->width, job->samples);
    int64_t far = 0;
    size_t count = 0;
    for (int32_t r = 0; r < job->rows; r++) {
        for (int64_t s = begin; s < end; s++) {
            if (job->mask[r][s] == 0) {
                continue;
            }
            const float *x = job->row[r] + (size_t)s * bands;
            if (r + AHEAD < job->rows) {
                prefetch(job->row[r + AHEAD] + (size_t)s * bands, bands);
            }
            bool near = put_pixel(panel, count, x, job->rule->largest, bands, job->strips * (STRIP / UNIT));
            far += !near;
            count += near;
            if (count == PANEL) {
                add_panel(job, part, panel, count, sum);
                count = 0;
            }
        }
    }
    add_panel(job, part, panel, count, sum);
    if (far > 0 && part->first == 0) {
        __atomic_fetch_add(job->far, far, __ATOMIC_RELAXED);
    }
}

/* The first strip of a part, so that parts have about as many tiles. */
static size_t first_strip(const Job *job, int64_t part) {
    size_t all = job->strips * (job->strips + 1) / 2;
    size_t strip = 0;
    for (size_t before = 0; strip < job->strips && before * (size_t)job->parts < all * (size_t)part;
         strip++) {
        before += job->strips - strip;
    }
    return strip;
}

static void add_parts(void *user, int64_t item, int64_t end, int32_t thread) {
    const Job *job = user;
    double *panel = job->panels + (size_t)thread * job->strips * (STRIP / UNIT) * UNIT_VALUES;
    for (; item < end; item++) {
        int64_t number = item % job->parts;
        Part part = {first_strip(job, number), first_strip(job, number + 1), job->strips};
        if (part.first < part.end) {
            add_part(job, item / job->parts, &part, panel);
        }
    }
}

static void take_rows(Job *job, const HcBlock *block) {
    for (int64_t line = block->line0; line < block->line0 + block->lines; line++, job->rows++) {
        job->row[job->rows] = hc_cpu_line(block, line);
        job->mask[job->rows] = hc_cpu_mask_line(block, line);
    }
}

/* The tests force each way. */
static bool is_wide(HcCpuGram way) {
    bool may = way == HC_CPU_GRAM_BEST || way == HC_CPU_GRAM_AVX512_VNNI || way == HC_CPU_GRAM_AMX;
    return may && has_wide();
}

HcStatus hc_cpu_column_gram(HcQueue *queue, const HcBlock *before, const HcBlock *in,
                            const HcColumnRule *rule, int64_t *sums, int64_t *far, void *work, HcError *err) {
    const HcCpu *cpu = queue->cpu;
    Job job = {.rule = rule,
               .samples = in->samples,
               .bands = in->bands,
               .strips = hc_column_strips(in->bands),
               .wide = is_wide(cpu->gram),
               .panels = work,
               .sums = sums,
               .far = far};
    int64_t groups = hc_column_groups(in->samples, rule->width);
    (void)err;
    if (before != NULL) {
        take_rows(&job, before);
    }
    take_rows(&job, in);
    job.parts = cpu->threads == 1
                    ? 1
                    : hc_min64((int64_t)job.strips, (2 * (int64_t)cpu->threads + groups - 1) / groups);
    int64_t items = groups * job.parts;
    hc_cpu_work(cpu, items, hc_cpu_grain(cpu, items), add_parts, &job);
    return HC_OK;
}
