#include "pipeline/detections/column_sums.h"
#include "core/allocate.h"
#include "core/sums/long.h"
#include "pipeline/statistics/dense.h"
#include "pipeline/statistics/statistics.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* A tile of sums is ROWS x STRIP: with AVX2 twelve sums, three values and a factor fill the 16 registers. */
enum { ROWS = 4, STRIP = 12, TILE = ROWS * STRIP, PANEL = 128, THREADS_MAX = 64, HEADROOM = 32 };

typedef double Four __attribute__((vector_size(4 * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef int64_t FourLong
    __attribute__((vector_size(4 * sizeof(int64_t)), aligned(sizeof(int64_t)), may_alias));

/* ---- shapes ---- */

static size_t strips_of(int32_t bands) {
    return ((size_t)bands + 1 + STRIP - 1) / STRIP;
}

/* Strip c has tiles with the rows of the strips from c on. */
static size_t tiles_of(size_t strips) {
    return strips * (strips + 1) / 2 * (STRIP / ROWS);
}

static int64_t groups_of(const HcStage *stage, int32_t width) {
    return (stage->in.samples + width - 1) / width;
}

static size_t panel_values(size_t strips) {
    return strips * PANEL * STRIP;
}

static size_t lines_of(const HcStage *stage) {
    return (size_t)hc_min64(HC_COLUMN_LINES, stage->in.lines);
}

void hc_column_sums_plan(HcStage *stage, int32_t width) {
    size_t strips = strips_of(stage->in.bands);
    size_t samples = (size_t)stage->in.samples;
    bool floats = hc_sums_limit(&stage->in, HC_DIFFERENCE_NONE) == 0;
    stage->needs.observes = true;
    stage->needs.rank_lines = HC_COLUMN_LINES;
    stage->needs.float_sums += floats;
    stage->needs.integer_sums += !floats;
    stage->needs.host_bytes += (size_t)groups_of(stage, width) * tiles_of(strips) * TILE * sizeof(int64_t);
    stage->needs.host_bytes +=
        lines_of(stage) * samples * ((size_t)stage->in.bands * sizeof(float) + 1 + 2 * sizeof(void *));
    stage->needs.worker_bytes += panel_values(strips) * sizeof(double);
}

HcStatus hc_column_sums_open(HcColumnSums *sums, HcStage *stage, int32_t width, HcError *err) {
    static const char what[] = "sums of columns";
    HcComputeInfo info;
    size_t lines = lines_of(stage);
    size_t samples = (size_t)stage->in.samples;
    hc_compute_info(stage->compute, &info);
    *sums = (HcColumnSums){.bands = stage->in.bands,
                           .samples = (int32_t)stage->in.samples,
                           .width = width,
                           .groups = groups_of(stage, width),
                           .limit = hc_sums_limit(&stage->in, HC_DIFFERENCE_NONE),
                           .pixels = stage->in.lines * width,
                           .strips = strips_of(stage->in.bands),
                           .compute = stage->compute,
                           .shared = info.shared_memory};
    sums->tiles = tiles_of(sums->strips);
    sums->team = hc_team_open(hc_team_count(info.threads, THREADS_MAX));
    size_t threads = (size_t)hc_team_threads(sums->team);
    HC_OR_RETURN(hc_new(sums->exponent, sums->strips * STRIP, what, err));
    HC_OR_RETURN(hc_new(sums->scale, sums->strips * STRIP, what, err));
    HC_OR_RETURN(hc_new(sums->unit, sums->strips * STRIP, what, err));
    HC_OR_RETURN(hc_new(sums->largest, stage->in.bands, what, err));
    HC_OR_RETURN(hc_new(sums->sum, (size_t)sums->groups * sums->tiles * TILE, what, err));
    HC_OR_RETURN(hc_new(sums->values, lines * samples * (size_t)stage->in.bands, what, err));
    HC_OR_RETURN(hc_new(sums->mask, lines * samples, what, err));
    HC_OR_RETURN(hc_new(sums->row, lines, what, err));
    HC_OR_RETURN(hc_new(sums->row_mask, lines, what, err));
    HC_OR_RETURN(hc_new_aligned(sums->panel, threads * panel_values(sums->strips), what, err));
    return hc_new(sums->far, threads, what, err);
}

static void close_adding(HcColumnSums *sums) {
    free(sums->values);
    free(sums->mask);
    free(sums->row);
    free(sums->row_mask);
    free(sums->panel);
    sums->values = NULL;
    sums->mask = NULL;
    sums->row = NULL;
    sums->row_mask = NULL;
    sums->panel = NULL;
}

void hc_column_sums_close(HcColumnSums *sums) {
    close_adding(sums);
    hc_team_close(sums->team);
    free(sums->exponent);
    free(sums->scale);
    free(sums->unit);
    free(sums->largest);
    if (!sums->given) {
        free(sums->sum);
    }
    free(sums->far);
    *sums = (HcColumnSums){0};
}

/* ---- units ---- */

/* The exponent e for which sums of `pixels` products of values up to `most` are at most 2^62 2^(2 e). */
static int32_t exponent_of(double most, int64_t pixels) {
    int exponent;
    double root = frexp(sqrt((double)pixels) * most, &exponent); /* below 1 */
    return root > 0 ? exponent - 31 : 0;
}

/* A band that is 0 in the sample still has a unit, by the largest value of all bands. */
static void choose_units(HcColumnSums *sums, const HcSample *sample) {
    size_t n = (size_t)sums->bands;
    float all = 0;
    for (size_t b = 0; b < n; b++) {
        for (int64_t k = 0; k < sample->count; k++) {
            sums->largest[b] = fmaxf(sums->largest[b], fabsf(sample->values[(size_t)k * n + b]));
        }
        all = fmaxf(all, sums->largest[b]);
    }
    for (size_t b = 0; b < n; b++) {
        double most = fmax(HEADROOM * (double)sums->largest[b], all * 0x1p-20);
        sums->largest[b] = (float)fmin(most, FLT_MAX);
        sums->exponent[b] = exponent_of(sums->largest[b], sums->pixels);
    }
    sums->exponent[n] = exponent_of(1, sums->pixels);
}

static void choose_integer_units(HcColumnSums *sums) {
    int32_t needed = exponent_of((double)sums->limit, sums->pixels);
    for (int32_t b = 0; b < sums->bands; b++) {
        sums->largest[b] = FLT_MAX;
        sums->exponent[b] = needed > 0 ? needed : 0;
    }
}

static void make_ready(HcColumnSums *sums, const HcSample *sample) {
    if (sums->limit > 0) {
        choose_integer_units(sums);
    } else {
        choose_units(sums, sample);
    }
    for (int32_t b = 0; b <= sums->bands; b++) {
        sums->scale[b] = ldexp(1, -sums->exponent[b]);
        sums->unit[b] = ldexp(1, sums->exponent[b]);
    }
    sums->ready = true;
}

/* ---- panels ---- */

HC_CLONES static bool is_near(const float *x, const float *largest, int32_t bands) {
    int32_t far = 0;
    for (int32_t b = 0; b < bands; b++) {
        far |= !(fabsf(x[b]) <= largest[b]);
    }
    return far == 0;
}

/* Pixel k of a panel: its values, and 1 behind them. */
HC_CLONES static void put_pixel(const HcColumnSums *sums, double *panel, size_t k, const float *x) {
    size_t n = (size_t)sums->bands;
    for (size_t c = 0; c < sums->strips; c++) {
        double *to = panel + (c * PANEL + k) * STRIP;
        size_t first = c * STRIP;
        size_t count = n > first ? n - first : 0;
        if (count >= STRIP) {
            for (size_t i = 0; i < STRIP; i++) {
                to[i] = (double)x[first + i];
            }
            continue;
        }
        for (size_t i = 0; i < STRIP; i++) {
            to[i] = i < count ? (double)x[first + i] : i == count && first + i == n;
        }
    }
}

/* Adds four sums of a tile in units, rounded to the nearest: the integers of their upper and lower halves are
 * the mantissas of sums with 1.5 * 2^52. */
static inline void add_rounded(int64_t *sum, Four tile, double row, const Four *column) {
    const Four magic = {0x1.8p52, 0x1.8p52, 0x1.8p52, 0x1.8p52};
    Four units = tile * row * *column;
    Four upper = units * 0x1p-32 + magic;
    Four lower = (units - (upper - magic) * 0x1p32) + magic;
    FourLong above = (FourLong)upper - (FourLong)magic;
    *(FourLong *)sum += (above << 32) + ((FourLong)lower - (FourLong)magic);
}

/* Products of two float32 values are exact: fusing them with the addition changes no bit. */
HC_CLONES static void add_tile(int64_t *sum, const double *rows, const double *columns, size_t count,
                               const double *row_scale, const double *column_scale) {
    Four t[ROWS][STRIP / 4] = {{{0}}};
    for (size_t k = 0; k < count; k++, rows += STRIP, columns += STRIP) {
        const Four *x = (const Four *)columns;
        Four x0 = x[0], x1 = x[1], x2 = x[2];
        t[0][0] += rows[0] * x0, t[0][1] += rows[0] * x1, t[0][2] += rows[0] * x2;
        t[1][0] += rows[1] * x0, t[1][1] += rows[1] * x1, t[1][2] += rows[1] * x2;
        t[2][0] += rows[2] * x0, t[2][1] += rows[2] * x1, t[2][2] += rows[2] * x2;
        t[3][0] += rows[3] * x0, t[3][1] += rows[3] * x1, t[3][2] += rows[3] * x2;
    }
    const Four *scale = (const Four *)column_scale;
    for (size_t r = 0; r < ROWS; r++) {
        for (size_t c = 0; c < STRIP / 4; c++) {
            add_rounded(sum + r * STRIP + 4 * c, t[r][c], row_scale[r], &scale[c]);
        }
    }
}

static void add_panel(const HcColumnSums *sums, const double *panel, size_t count, int64_t *sum) {
    if (count == 0) {
        return;
    }
    for (size_t c = 0; c < sums->strips; c++) {
        const double *columns = panel + c * PANEL * STRIP;
        for (size_t row = c * STRIP; row < sums->strips * STRIP; row += ROWS, sum += TILE) {
            const double *rows = panel + row / STRIP * PANEL * STRIP + row % STRIP;
            add_tile(sum, rows, columns, count, sums->scale + row, sums->scale + c * STRIP);
        }
    }
}

/* The rows that wait, of one group. */
static void add_group(void *user, int64_t group, int32_t thread) {
    HcColumnSums *sums = user;
    double *panel = sums->panel + (size_t)thread * panel_values(sums->strips);
    int64_t *sum = sums->sum + (size_t)group * sums->tiles * TILE;
    int64_t begin = group * sums->width;
    int64_t end = hc_min64(begin + sums->width, sums->samples);
    size_t count = 0;
    for (int64_t r = 0; r < sums->next - sums->first; r++) {
        for (int64_t s = begin; s < end; s++) {
            const float *x = sums->row[r] + s * sums->bands;
            if (sums->row_mask[r][s] == 0) {
                continue;
            }
            if (!is_near(x, sums->largest, sums->bands)) {
                sums->far[thread]++;
                continue;
            }
            put_pixel(sums, panel, count++, x);
            if (count == PANEL) {
                add_panel(sums, panel, count, sum);
                count = 0;
            }
        }
    }
    add_panel(sums, panel, count, sum);
}

static void add_waiting(HcColumnSums *sums) {
    if (sums->next > sums->first) {
        hc_team_run(sums->team, sums->groups, add_group, sums);
    }
    sums->first = sums->next;
}

/* ---- lines ---- */

/* A line of the block joins those that wait: as a view where the block is in host memory. */
static HcStatus take_line(HcColumnSums *sums, HcQueue *queue, const HcBlock *in, int64_t line, HcError *err) {
    size_t samples = (size_t)sums->samples;
    size_t values = samples * (size_t)sums->bands;
    size_t slot = (size_t)(line % HC_COLUMN_LINES);
    size_t from = (size_t)(line - hc_block_first_line(in));
    size_t at = (size_t)(line - sums->first);
    const float *x = in->data + from * values;
    const uint8_t *mask = in->mask + from * samples;
    sums->next = line + 1;
    if (sums->shared) {
        sums->row[at] = x;
        sums->row_mask[at] = mask;
        return HC_OK;
    }
    sums->row[at] = sums->values + slot * values;
    sums->row_mask[at] = sums->mask + slot * samples;
    HC_OR_RETURN(hc_download(queue, x, sums->values + slot * values, values * sizeof(float), err));
    return hc_download(queue, mask, sums->mask + slot * samples, samples, err);
}

/* The block goes, the lines stay. */
static void keep_waiting(HcColumnSums *sums) {
    size_t samples = (size_t)sums->samples;
    size_t values = samples * (size_t)sums->bands;
    for (int64_t line = sums->first; line < sums->next; line++) {
        size_t slot = (size_t)(line % HC_COLUMN_LINES);
        size_t at = (size_t)(line - sums->first);
        float *x = sums->values + slot * values;
        uint8_t *mask = sums->mask + slot * samples;
        if (sums->row[at] != x) {
            memcpy(x, sums->row[at], values * sizeof *x);
            memcpy(mask, sums->row_mask[at], samples);
            sums->row[at] = x;
            sums->row_mask[at] = mask;
        }
    }
}

HcStatus hc_column_sums_add(HcColumnSums *sums, HcStage *stage, HcQueue *queue, const HcBlock *in,
                            HcError *err) {
    if (!sums->ready) {
        make_ready(sums, &stage->sample);
    }
    if (sums->next == sums->first) {
        sums->first = sums->next = in->line0;
    }
    for (int64_t line = in->line0; line < in->line0 + in->lines; line++) {
        HC_OR_RETURN(take_line(sums, queue, in, line, err));
        if (sums->next % HC_COLUMN_LINES == 0) {
            HC_OR_RETURN(hc_wait(queue, err));
            add_waiting(sums);
        }
    }
    HC_OR_RETURN(hc_wait(queue, err));
    keep_waiting(sums);
    return HC_OK;
}

/* ---- statistics ---- */

HcStatus hc_column_sums_take(HcColumnSums *sums, HcStage *stage, HcError *err) {
    HcRanks *ranks = hc_stage_ranks(stage);
    if (!sums->ready) { /* a rank without lines */
        make_ready(sums, &stage->sample);
    }
    add_waiting(sums);
    close_adding(sums);
    for (int32_t t = 1; t < hc_team_threads(sums->team); t++) {
        sums->far[0] += sums->far[t];
    }
    HC_OR_RETURN(hc_ranks_sum(ranks, sums->far, 1, err));
    return hc_ranks_sum(ranks, sums->sum, (size_t)sums->groups * sums->tiles * TILE, err);
}

double *hc_column_sums_give(HcColumnSums *sums, size_t *values) {
    *values = sums->tiles * TILE;
    sums->given = true;
    return (double *)(void *)sums->sum;
}

/* Where the sum of products of bands i >= j is, in units; those of j + 1 and so on lie behind it in a strip.
 */
static const int64_t *place_of(const HcColumnSums *sums, const int64_t *sum, size_t i, size_t j) {
    size_t c = j / STRIP;
    size_t before = (c * sums->strips - c * (c - 1) / 2) * (STRIP / ROWS); /* tiles of strips before c */
    size_t tile = before + (i - c * STRIP) / ROWS;
    return &sum[tile * TILE + i % ROWS * STRIP + j % STRIP];
}

/* The nearest double, but for a unit in its last place: the function that compilers call for it is slow. The
 * lower half has a sign of its own, so that nothing cancels. */
static inline double of_wide(HcWide value) {
    int64_t lower = (int64_t)value;
    int64_t upper = (int64_t)(value >> 64) + (lower < 0);
    return (double)upper * 0x1p64 + (double)lower;
}

int64_t hc_column_sums_statistics(const HcColumnSums *sums, int64_t group, double *mean, double *covariance) {
    size_t n = (size_t)sums->bands;
    const int64_t *sum = sums->sum + (size_t)group * sums->tiles * TILE;
    int32_t one = sums->exponent[n];
    int64_t all = *place_of(sums, sum, n, n); /* the count, in units of 2^(2 one) */
    int64_t count = (int64_t)ldexp((double)all, 2 * one);
    for (size_t b = 0; b < n && count > 0; b++) {
        mean[b] = ldexp((double)*place_of(sums, sum, n, b), sums->exponent[b] + one) / (double)count;
    }
    double divisor = (double)all * (double)(count - 1);
    const int64_t *product = NULL; /* of the bands from j / STRIP * STRIP on */
    const int64_t *other = NULL;
    for (size_t i = 0; i < n && count > 1; i++) {
        HcWide own = *place_of(sums, sum, n, i);
        for (size_t j = 0; j <= i; j++) {
            if (j % STRIP == 0) {
                product = place_of(sums, sum, i, j);
                other = place_of(sums, sum, n, j);
            }
            HcWide value = (HcWide)all * product[j % STRIP] - own * other[j % STRIP];
            double entry = of_wide(value) / divisor * (sums->unit[i] * sums->unit[j]);
            covariance[i * n + j] = covariance[j * n + i] = entry;
        }
    }
    return count;
}
