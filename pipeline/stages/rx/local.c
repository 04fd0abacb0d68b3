#include "pipeline/stages/rx/local.h"
#include "core/allocate.h"
#include "core/operation/project.h"
#include "pipeline/memory.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Rows that are brought to the host at once. */
enum { PIECE = 8, THREADS_MAX = 16 };

/* Integers of a component: 2^44 at most, so that 2^16 pixels times a sum of their products fit 128 bits. */
static const double largest = 0x1p44;

/* ---- memory ---- */

static size_t numbers_of(const HcLocalAsk *ask) {
    size_t n = (size_t)ask->directions;
    return 1 + n + n * (n + 1) / 2;
}

static size_t row_values(const HcLocalAsk *ask) {
    return (size_t)ask->samples * (size_t)ask->directions;
}

static size_t scratch_values(const HcLocalAsk *ask) {
    return (size_t)ask->directions * ((size_t)ask->directions + 2);
}

static size_t ring_rows(const HcLocalAsk *ask) {
    return (size_t)ask->window + PIECE + 1;
}

size_t hc_local_bytes(const HcLocalAsk *ask) {
    size_t samples = (size_t)ask->samples;
    size_t ring = ring_rows(ask) * (row_values(ask) * sizeof(float) + samples);
    return 2 * samples * numbers_of(ask) * sizeof(HcWide) + ring + samples * (sizeof(float) + 1);
}

size_t hc_local_thread_bytes(const HcLocalAsk *ask) {
    return 2 * numbers_of(ask) * sizeof(HcWide) + scratch_values(ask) * sizeof(double) +
           ((size_t)ask->directions + 1) * sizeof(int64_t);
}

size_t hc_local_device_bytes(const HcLocalAsk *ask) {
    return PIECE * (row_values(ask) * sizeof(float) + (size_t)ask->samples);
}

/* Rows or columns of a square of that side around place `at` of `length`. */
static int64_t reached(int64_t at, int64_t length, int32_t side) {
    return hc_min64(at + side / 2 + 1, length) - hc_max64(at - side / 2, 0);
}

/* Squares that reach no end of the scene are alike, and so are the two ends: half a window is all to try. */
int64_t hc_local_pixels(const HcLocalAsk *ask) {
    int64_t most = 0;
    int64_t lines = hc_min64((ask->lines + 1) / 2, ask->window / 2 + 1);
    int64_t samples = hc_min64((ask->samples + 1) / 2, ask->window / 2 + 1);
    for (int64_t l = 0; l < lines; l++) {
        for (int64_t s = 0; s < samples; s++) {
            int64_t outer = reached(l, ask->lines, ask->window) * reached(s, ask->samples, ask->window);
            int64_t inner = reached(l, ask->lines, ask->guard) * reached(s, ask->samples, ask->guard);
            most = hc_max64(most, outer - inner);
        }
    }
    return most;
}

/* With the statistics of the scene itself no component reaches the root of its pixels. So the grid is as fine
 * as the scene allows: where one pixel lies far from all others, they all are near 0 in its direction. */
static double grid_of(int64_t pixels) {
    int exponent;
    (void)frexp(2 * sqrt((double)pixels), &exponent);
    return ldexp(largest, -exponent);
}

HcStatus hc_local_open(HcLocal *local, HcCompute *compute, const HcLocalAsk *ask, HcError *err) {
    static const char what[] = "the sums of local windows";
    HcComputeInfo info;
    size_t samples = (size_t)ask->samples;
    size_t rows = ring_rows(ask);
    hc_compute_info(compute, &info);
    *local = (HcLocal){.ask = *ask,
                       .compute = compute,
                       .numbers = numbers_of(ask),
                       .rows = (int64_t)rows,
                       .per_unit = grid_of(ask->pixels)};
    local->team = hc_team_open(hc_team_count(info.threads, THREADS_MAX));
    size_t threads = (size_t)hc_team_threads(local->team);
    HC_OR_RETURN(hc_new(local->outer.column, samples * local->numbers, what, err));
    HC_OR_RETURN(hc_new(local->inner.column, samples * local->numbers, what, err));
    HC_OR_RETURN(hc_new(local->sums, threads * 2 * local->numbers, what, err));
    HC_OR_RETURN(hc_new(local->scratch, threads * scratch_values(ask), what, err));
    HC_OR_RETURN(hc_new(local->whole, threads * (size_t)ask->directions, what, err));
    HC_OR_RETURN(hc_new(local->bare, threads, what, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, hc_local_device_bytes(ask), &local->piece, err));
    HC_OR_RETURN(
        hc_alloc(compute, HC_MEMORY_HOST, rows * row_values(ask) * sizeof(float), &local->values, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, rows * samples, &local->mask, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, samples * sizeof(float), &local->score, err));
    return hc_alloc(compute, HC_MEMORY_HOST, samples, &local->score_mask, err);
}

void hc_local_close(HcLocal *local) {
    hc_team_close(local->team);
    free(local->outer.column);
    free(local->inner.column);
    free(local->sums);
    free(local->scratch);
    free(local->whole);
    free(local->bare);
    hc_memory_release(local->compute, &local->piece);
    hc_memory_release(local->compute, &local->values);
    hc_memory_release(local->compute, &local->mask);
    hc_memory_release(local->compute, &local->score);
    hc_memory_release(local->compute, &local->score_mask);
    *local = (HcLocal){0};
}

/* ---- rows of the scene ---- */

static const float *values_of(const HcLocal *local, int64_t row) {
    return (const float *)local->values.data + (size_t)(row % local->rows) * row_values(&local->ask);
}

static const uint8_t *mask_of(const HcLocal *local, int64_t row) {
    return (const uint8_t *)local->mask.data + (size_t)(row % local->rows) * (size_t)local->ask.samples;
}

/* Pixels that are too far for integers take no part. */
static void check_row(HcLocal *local, int64_t row) {
    size_t n = (size_t)local->ask.directions;
    const float *x = values_of(local, row);
    uint8_t *mask = (uint8_t *)local->mask.data + (size_t)(row % local->rows) * (size_t)local->ask.samples;
    for (int64_t s = 0; s < local->ask.samples; s++, x += n) {
        bool near = true;
        for (size_t k = 0; k < n; k++) {
            near = near && fabs((double)x[k]) * local->per_unit <= largest;
        }
        mask[s] = mask[s] != 0 && near;
    }
}

/* Whitens some rows of `in` and brings them into the ring. */
static HcStatus load_rows(HcLocal *local, HcQueue *queue, const HcBlock *in, HcError *err) {
    const HcLocalAsk *ask = &local->ask;
    int64_t end = hc_block_first_line(in) + hc_block_rows(in);
    int32_t rows = (int32_t)hc_min64(PIECE, end - local->loaded);
    size_t values = row_values(ask);
    size_t skipped = (size_t)(local->loaded - hc_block_first_line(in)) * (size_t)in->samples;
    HcBlock from = *in;
    from.data += skipped * (size_t)in->bands;
    from.mask += skipped;
    from.line0 = local->loaded;
    from.lines = rows;
    from.above = from.below = 0;
    HcBlock white = from;
    white.bands = ask->directions;
    white.data = local->piece.data;
    white.mask = (uint8_t *)(white.data + PIECE * values);
    HC_OR_RETURN(hc_project(queue, &from, ask->whitening, ask->mean, NULL, &white, err));
    for (int32_t r = 0; r < rows; r++) {
        size_t slot = (size_t)((local->loaded + r) % local->rows);
        HC_OR_RETURN(hc_download(queue, white.data + (size_t)r * values,
                                 (float *)local->values.data + slot * values, values * sizeof(float), err));
        HC_OR_RETURN(hc_download(queue, white.mask + (size_t)r * (size_t)ask->samples,
                                 (uint8_t *)local->mask.data + slot * (size_t)ask->samples,
                                 (size_t)ask->samples, err));
    }
    HC_OR_RETURN(hc_wait(queue, err));
    for (int32_t r = 0; r < rows; r++) {
        check_row(local, local->loaded + r);
    }
    local->loaded += rows;
    return HC_OK;
}

/* ---- sums of columns ---- */

static int64_t whole(const HcLocal *local, float y) {
    return (int64_t)rint((double)y * local->per_unit);
}

/* The integers of a pixel, added or (sign -1) subtracted; v[directions] is
 * scratch. */
static void add_pixel(const HcLocal *local, HcWide *to, const float *y, int64_t sign, int64_t *v) {
    int32_t directions = local->ask.directions;
    HcWide *sum = to + 1;
    HcWide *product = sum + directions;
    *to += sign;
    for (int32_t i = 0; i < directions; i++) {
        v[i] = whole(local, y[i]);
        sum[i] += sign * v[i];
    }
    for (int32_t i = 0; i < directions; i++) {
        int64_t own = sign * v[i];
        for (int32_t j = i; j < directions; j++) {
            *product++ += (HcWide)own * v[j];
        }
    }
}

/* A line and its rows, for threads that share its columns. */
typedef struct Line {
    HcLocal *local;
    int64_t line;
    int64_t tile;             /* columns of an item */
    HcLocalSpan outer, inner; /* first and end as they are to be */
} Line;

static void move_column(const HcLocal *local, int64_t *v, const HcLocalSpan *from, const HcLocalSpan *to,
                        int64_t sample) {
    int32_t n = local->ask.directions;
    HcWide *column = from->column + (size_t)sample * local->numbers;
    for (int64_t row = from->end; row < to->end; row++) {
        if (mask_of(local, row)[sample] != 0) {
            add_pixel(local, column, values_of(local, row) + sample * n, 1, v);
        }
    }
    for (int64_t row = from->first; row < to->first; row++) {
        if (mask_of(local, row)[sample] != 0) {
            add_pixel(local, column, values_of(local, row) + sample * n, -1, v);
        }
    }
}

static void move_columns(void *user, int64_t item, int32_t thread) {
    const Line *line = user;
    const HcLocal *local = line->local;
    int64_t *v = local->whole + (size_t)thread * (size_t)local->ask.directions;
    int64_t end = hc_min64((item + 1) * line->tile, local->ask.samples);
    for (int64_t s = item * line->tile; s < end; s++) {
        move_column(local, v, &local->outer, &line->outer, s);
        move_column(local, v, &local->inner, &line->inner, s);
    }
}

/* The rows of a window about a line. */
static void want_rows(const HcLocal *local, int64_t line, int32_t side, HcLocalSpan *to) {
    to->first = hc_max64(line - side / 2, 0);
    to->end = hc_min64(line + side / 2 + 1, local->ask.lines);
}

/* Whether rows are only to be added at the end and taken away at the beginning. */
static bool follows(const HcLocalSpan *from, const HcLocalSpan *to) {
    return to->first >= from->first && to->first <= from->end && to->end >= from->end;
}

/* Whether the ring still holds rows that are to be taken away when those to be added have come: they come in
 * pieces, which may end behind the last one that is wanted. */
static bool ring_holds(const HcLocal *local, int64_t first, int64_t end) {
    return end + PIECE - 1 - first <= local->rows;
}

static void restart(const HcLocal *local, HcLocalSpan *span, int64_t row) {
    memset(span->column, 0, (size_t)local->ask.samples * local->numbers * sizeof *span->column);
    span->first = span->end = row;
}

/* ---- scores ---- */

/* Sums of a window slide along a line; nothing where `first` = `end`. */
static void slide(const HcLocal *local, const HcLocalSpan *span, int64_t sample, int32_t side, int64_t *first,
                  int64_t *end, HcWide *sums) {
    int64_t to_first = hc_max64(sample - side / 2, 0);
    int64_t to_end = hc_min64(sample + side / 2 + 1, local->ask.samples);
    for (; *end < to_end; ++*end) {
        const HcWide *column = span->column + (size_t)*end * local->numbers;
        for (size_t k = 0; k < local->numbers; k++) {
            sums[k] += column[k];
        }
    }
    for (; *first < to_first; ++*first) {
        const HcWide *column = span->column + (size_t)*first * local->numbers;
        for (size_t k = 0; k < local->numbers; k++) {
            sums[k] -= column[k];
        }
    }
}

static double rounded(HcWide value) {
    int64_t low = (int64_t)value;
    return low == value ? (double)low : (double)value;
}

/* z' inv(C) z by elimination: row i of scratch[n][n + 1] has C from its diagonal on, and z. Behind them, n
 * numbers of scratch. NaN: C has no inverse. */
static double distance(double *scratch, size_t n) {
    size_t step = n + 1;
    double *diagonal = scratch + n * step;
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        diagonal[i] = scratch[i * step + i];
    }
    for (size_t i = 0; i < n; i++) {
        const double *own = scratch + i * step;
        double pivot = own[i];
        if (!(pivot > 16 * (double)n * DBL_EPSILON * diagonal[i])) {
            return NAN;
        }
        sum += own[n] * own[n] / pivot;
        for (size_t j = i + 1; j < n; j++) {
            double factor = own[j] / pivot;
            double *other = scratch + j * step;
            for (size_t k = j; k <= n; k++) {
                other[k] -= factor * own[k];
            }
        }
    }
    return sum;
}

static double score_of(const HcLocal *local, const float *x, const HcWide *outer, const HcWide *inner,
                       double *scratch) {
    int32_t n = local->ask.directions;
    double share = local->ask.share;
    HcWide count = outer[0] - inner[0];
    if (count < 2 || (share == 0 && count < n + 1)) {
        return NAN;
    }
    double pixels = (double)count;
    double per_unit = local->per_unit;
    double scale = (1 - share) / (per_unit * per_unit * pixels * (pixels - 1));
    size_t product = 1 + (size_t)n;
    for (int32_t i = 0; i < n; i++) {
        HcWide sum = outer[1 + i] - inner[1 + i];
        double *row = scratch + (size_t)i * ((size_t)n + 1);
        for (int32_t j = i; j < n; j++, product++) {
            HcWide other = outer[1 + j] - inner[1 + j];
            row[j] = rounded(count * (outer[product] - inner[product]) - sum * other) * scale;
        }
        row[i] += share;
        row[n] = rounded(count * whole(local, x[i]) - sum) / (per_unit * pixels);
    }
    return distance(scratch, (size_t)n);
}

static void score_columns(void *user, int64_t item, int32_t thread) {
    const Line *line = user;
    HcLocal *local = line->local;
    const HcLocalAsk *ask = &local->ask;
    float *score = local->score.data;
    uint8_t *mask = local->score_mask.data;
    const float *x = values_of(local, line->line);
    HcWide *outer = local->sums + (size_t)thread * 2 * local->numbers;
    HcWide *inner = outer + local->numbers;
    int64_t begin = item * line->tile;
    int64_t end = hc_min64(begin + line->tile, ask->samples);
    int64_t outer_first = hc_max64(begin - ask->window / 2, 0);
    int64_t outer_end = outer_first;
    int64_t inner_first = hc_max64(begin - ask->guard / 2, 0);
    int64_t inner_end = inner_first;
    memset(outer, 0, 2 * local->numbers * sizeof *outer);
    for (int64_t s = begin; s < end; s++) {
        slide(local, &local->outer, s, ask->window, &outer_first, &outer_end, outer);
        slide(local, &local->inner, s, ask->guard, &inner_first, &inner_end, inner);
        bool valid = mask_of(local, line->line)[s] != 0;
        double value = valid ? score_of(local, x + s * ask->directions, outer, inner,
                                        local->scratch + (size_t)thread * scratch_values(ask))
                             : NAN;
        mask[s] = (uint8_t)(isnan(value) ? 0 : 1);
        score[s] = mask[s] != 0 ? (float)value : 0;
        local->bare[thread] += valid && mask[s] == 0;
    }
}

/* ---- blocks ---- */

static HcStatus process_line(HcLocal *local, HcQueue *queue, const HcBlock *in, int64_t at, HcError *err) {
    const HcLocalAsk *ask = &local->ask;
    Line line = {.local = local, .line = at};
    int64_t least = hc_max64(ask->window, 16);
    int64_t shared =
        (ask->samples + 2 * hc_team_threads(local->team) - 1) / (2 * hc_team_threads(local->team));
    line.tile = hc_max64(shared, least);
    want_rows(local, at, ask->window, &line.outer);
    want_rows(local, at, ask->guard, &line.inner);
    if (!follows(&local->outer, &line.outer) || !follows(&local->inner, &line.inner) ||
        !ring_holds(local, local->outer.first, line.outer.end)) {
        restart(local, &local->outer, line.outer.first);
        restart(local, &local->inner, line.inner.first);
        local->loaded = line.outer.first;
    }
    while (local->loaded < line.outer.end) {
        HC_OR_RETURN(load_rows(local, queue, in, err));
    }
    int64_t items = (ask->samples + line.tile - 1) / line.tile;
    hc_team_run(local->team, items, move_columns, &line);
    local->outer.first = line.outer.first;
    local->outer.end = line.outer.end;
    local->inner.first = line.inner.first;
    local->inner.end = line.inner.end;
    hc_team_run(local->team, items, score_columns, &line);
    return HC_OK;
}

static int64_t take_bare(HcLocal *local) {
    int64_t sum = 0;
    for (int32_t t = 0; t < hc_team_threads(local->team); t++) {
        sum += local->bare[t];
        local->bare[t] = 0;
    }
    return sum;
}

HcStatus hc_local_process(HcLocal *local, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                          int64_t *bare, HcError *err) {
    size_t samples = (size_t)out->samples;
    for (int64_t row = 0; row < hc_block_rows(out); row++) {
        int64_t line = hc_block_first_line(out) + row;
        HC_OR_RETURN(process_line(local, queue, in, line, err));
        HC_OR_RETURN(hc_upload(queue, local->score.data, out->data + (size_t)row * samples,
                               samples * sizeof(float), err));
        HC_OR_RETURN(
            hc_upload(queue, local->score_mask.data, out->mask + (size_t)row * samples, samples, err));
        HC_OR_RETURN(hc_wait(queue, err));
        int64_t lost = take_bare(local);
        *bare += line >= out->line0 && line < out->line0 + out->lines ? lost : 0;
    }
    return HC_OK;
}
