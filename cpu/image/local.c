/* Scores against the pixels of a window around each pixel, less those of a guard.
 *
 * Sums slide: a column of a window gains a row and loses one with each line, a window gains a column and
 * loses one with each pixel. They are sums of integers, so that nothing is left of what has gone, and the
 * bits are those of sums that are formed anew. The sums of columns stay between calls, less the row that the
 * next line does not need: it is not in the next block. */
#include "core/allocate.h"
#include "core/operation/image/local.h"
#include "core/solver/local.h"
#include "core/sums/long.h"
#include "cpu/work.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

HcLocalOpenFn hc_cpu_local_open;
HcLocalCloseFn hc_cpu_local_close;
HcLocalFn hc_cpu_local;

/* Rows that the sums of each column hold. */
typedef struct Span {
    int64_t first, end;
    HcWide *column; /* [samples][numbers] */
} Span;

/* Numbers of a row that are eliminated at a time. */
enum { LANES = 8 };
typedef double Lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

/* What a thread works in. */
typedef struct Own {
    HcWide *sums;    /* of the window, less those of the guard */
    double *scratch; /* [directions][stride], and their diagonal */
    int64_t *whole;  /* [2][directions] of two pixels */
} Own;

struct HcLocal {
    HcLocalHead head;
    size_t numbers;    /* of the sums of pixels: their count, sums, sums of products (upper triangle) */
    Span outer, inner; /* of the window and of the guard */
    int threads;
    Own *own; /* [threads] */
};

static HcStatus open_own(Own *own, const HcLocalRule *rule, size_t numbers, HcError *err) {
    static const char what[] = "the sums of local windows";
    size_t n = (size_t)rule->directions;
    HC_OR_RETURN(hc_new(own->sums, numbers, what, err));
    HC_OR_RETURN(hc_new(own->scratch, n * (hc_local_stride(rule) + 1), what, err));
    return hc_new(own->whole, 2 * n, what, err);
}

HcStatus hc_cpu_local_open(HcCompute *compute, const HcLocalRule *rule, HcLocal **out, HcError *err) {
    static const char what[] = "the sums of local windows";
    HcStatus status = HC_OK;
    const HcCpu *cpu = (const HcCpu *)compute;
    HcLocal *local = NULL;
    size_t numbers = hc_local_numbers(rule);
    HC_TRY(hc_new(local, 1, what, err));
    local->head.rule = *rule;
    local->numbers = numbers;
    HC_TRY(hc_new(local->outer.column, (size_t)rule->samples * numbers, what, err));
    HC_TRY(hc_new(local->inner.column, (size_t)rule->samples * numbers, what, err));
    HC_TRY(hc_new(local->own, (size_t)cpu->threads, what, err));
    local->threads = cpu->threads;
    for (int t = 0; t < cpu->threads; t++) {
        HC_TRY(open_own(&local->own[t], rule, numbers, err));
    }
    *out = local;
    local = NULL;
done:
    hc_cpu_local_close(local);
    return status;
}

void hc_cpu_local_close(HcLocal *local) {
    if (local == NULL) {
        return;
    }
    for (int t = 0; t < local->threads; t++) {
        free(local->own[t].sums);
        free(local->own[t].scratch);
        free(local->own[t].whole);
    }
    free(local->own);
    free(local->outer.column);
    free(local->inner.column);
    free(local);
}

/* ---- sums of columns ---- */

/* A line, for threads that share its columns. */
typedef struct Line {
    HcLocal *local;
    const HcBlock *in;
    int64_t line;
    Span outer, inner; /* first and end as they are to be */
    float *score;
    uint8_t *mask;
} Line;

/* The integers of a pixel; false where it takes no part. */
HC_CLONES static bool whole(const HcLocalRule *rule, const float *restrict x, int64_t *restrict v) {
    int64_t n = rule->directions;
    double per_unit = rule->per_unit;
    int32_t beyond = 0;
    for (int64_t i = 0; i < n; i++) {
        beyond |= !(fabs((double)x[i] * per_unit) <= HC_LOCAL_LARGEST);
    }
    for (int64_t i = 0; i < n && beyond == 0; i++) {
        v[i] = (int64_t)rint((double)x[i] * per_unit);
    }
    return beyond == 0;
}

static bool whole_at(const Line *line, int64_t row, int64_t sample, int64_t *v) {
    const HcLocalRule *rule = &line->local->head.rule;
    return hc_cpu_mask_line(line->in, row)[sample] != 0 &&
           whole(rule, hc_cpu_line(line->in, row) + sample * rule->directions, v);
}

/* Adds the integers of a pixel and subtracts those of another. */
HC_CLONES static void exchange_pixels(HcWide *restrict to, const int64_t *restrict in,
                                      const int64_t *restrict out, int64_t n) {
    HcWide *sum = to + 1;
    HcWide *product = sum + n;
    for (int64_t i = 0; i < n; i++) {
        sum[i] += in[i] - out[i];
        for (int64_t j = i; j < n; j++) {
            *product++ += (HcWide)in[i] * in[j] - (HcWide)out[i] * out[j];
        }
    }
}

/* The integers of a pixel, or zeros; returns whether it takes part. */
static int32_t take(const Line *line, bool is_due, int64_t row, int64_t sample, int64_t *v) {
    bool takes = is_due && whole_at(line, row, sample, v);
    if (!takes) {
        memset(v, 0, (size_t)line->local->head.rule.directions * sizeof *v);
    }
    return takes;
}

static void move_column(const Line *line, int64_t *v, const Span *from, const Span *to, int64_t sample) {
    int32_t n = line->local->head.rule.directions;
    HcWide *column = from->column + (size_t)sample * line->local->numbers;
    int64_t in = from->end;
    int64_t out = from->first;
    for (; in < to->end || out < to->first; in++, out++) {
        int32_t more = take(line, in < to->end, in, sample, v);
        int32_t less = take(line, out < to->first, out, sample, v + n);
        *column += more - less;
        exchange_pixels(column, v, v + n, n);
    }
}

static void move_columns(void *user, int64_t s, int64_t end, int32_t thread) {
    const Line *line = user;
    const HcLocal *local = line->local;
    for (; s < end; s++) {
        move_column(line, local->own[thread].whole, &local->outer, &line->outer, s);
        move_column(line, local->own[thread].whole, &local->inner, &line->inner, s);
    }
}

/* The rows of a window about a line. */
static void want_rows(const HcLocalRule *rule, int64_t line, int32_t side, Span *to) {
    to->first = hc_max64(line - side / 2, 0);
    to->end = hc_min64(line + side / 2 + 1, rule->lines);
}

/* Whether rows are only to be added at the end and taken away at the beginning, and these are in the block.
 */
static bool follows(const Span *from, const Span *to, int64_t first_row) {
    return to->first >= from->first && to->first <= from->end && to->end >= from->end &&
           (from->first == to->first || from->first >= first_row);
}

static void restart(const HcLocal *local, Span *span, int64_t row) {
    memset(span->column, 0, (size_t)local->head.rule.samples * local->numbers * sizeof *span->column);
    span->first = span->end = row;
}

/* Brings the sums of columns to the rows that `line` wants. */
static void move(Line *line, const HcCpu *cpu) {
    HcLocal *local = line->local;
    int32_t samples = local->head.rule.samples;
    hc_cpu_work(cpu, samples, hc_cpu_grain(cpu, samples), move_columns, line);
    local->outer.first = line->outer.first;
    local->outer.end = line->outer.end;
    local->inner.first = line->inner.first;
    local->inner.end = line->inner.end;
}

/* ---- scores ---- */

HC_CLONES static void add_column(HcWide *restrict sums, const HcWide *restrict column, size_t numbers) {
    for (size_t k = 0; k < numbers; k++) {
        sums[k] += column[k];
    }
}

HC_CLONES static void subtract_column(HcWide *restrict sums, const HcWide *restrict column, size_t numbers) {
    for (size_t k = 0; k < numbers; k++) {
        sums[k] -= column[k];
    }
}

/* Sums of a window, or less those of a guard, slide along a line; nothing where `first` = `end`. */
static void slide(const HcLocal *local, const Span *span, bool less, int64_t sample, int32_t side,
                  int64_t *first, int64_t *end, HcWide *sums) {
    int64_t to_first = hc_max64(sample - side / 2, 0);
    int64_t to_end = hc_min64(sample + side / 2 + 1, local->head.rule.samples);
    size_t numbers = local->numbers;
    for (; *end < to_end; ++*end) {
        (less ? subtract_column : add_column)(sums, span->column + (size_t)*end * numbers, numbers);
    }
    for (; *first < to_first; ++*first) {
        (less ? add_column : subtract_column)(sums, span->column + (size_t)*first * numbers, numbers);
    }
}

/* The nearest double, ties to even; |value| < 2^127. libgcc takes five times as long. */
static inline double rounded(HcWide value) {
    int64_t high = (int64_t)(value >> 64);
    uint64_t low = (uint64_t)value;
    if ((int64_t)low == value) {
        return (double)(int64_t)low;
    }
    int shift = 65 - __builtin_clzll((uint64_t)(high ^ high >> 63) | 1);  /* 2 to 64: to 63 bits and a sign */
    int64_t top = (int64_t)(value >> shift) | (low << (64 - shift) != 0); /* ties are even numbers */
    int64_t bits = (int64_t)(1023 + shift) << 52;
    double power;
    memcpy(&power, &bits, sizeof power);
    return (double)top * power;
}

/* Row i of scratch[n][stride]: C from its diagonal on, and z as number n. Numbers before the diagonal do not
 * count; they are 0 in its lanes. */
HC_CLONES static void form_rows(const HcLocalRule *rule, const HcWide *sums, const int64_t *whole,
                                double *scratch) {
    int64_t n = rule->directions;
    int64_t stride = (int64_t)hc_local_stride(rule);
    int64_t count = (int64_t)sums[0];
    const HcWide *sum = sums + 1;
    const HcWide *product = sum + n;
    double pixels = (double)count;
    double per_unit = rule->per_unit;
    double scale = (1 - rule->share) / (per_unit * per_unit * pixels * (pixels - 1));
    for (int64_t i = 0; i < n; i++, scratch += stride) {
        int64_t own = (int64_t)sum[i];
        for (int64_t j = i / LANES * LANES; j < i; j++) {
            scratch[j] = 0;
        }
        for (int64_t j = i; j < n; j++, product++) {
            scratch[j] = rounded((uint64_t)count * *product - (HcWide)own * (int64_t)sum[j]) * scale;
        }
        scratch[i] += rule->share;
        scratch[n] = (double)(count * whole[i] - own) / (per_unit * pixels);
    }
}

/* z' inv(C) z by elimination. After the rows, n numbers of scratch. NaN: C has no inverse. */
HC_CLONES static double distance(double *scratch, int64_t n, int64_t stride) {
    double *diagonal = scratch + n * stride;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        diagonal[i] = scratch[i * stride + i];
    }
    for (int64_t i = 0; i < n; i++) {
        const double *own = scratch + i * stride;
        double pivot = own[i];
        if (!(pivot > 16 * (double)n * DBL_EPSILON * diagonal[i])) {
            return NAN;
        }
        sum += own[n] * own[n] / pivot;
        for (int64_t j = i + 1; j < n; j++) {
            double factor = own[j] / pivot;
            double *other = scratch + j * stride;
            for (int64_t k = j / LANES * LANES; k < stride; k += LANES) {
                *(Lanes *)(other + k) -= factor * *(const Lanes *)(own + k);
            }
        }
    }
    return sum;
}

static double score_of(const HcLocalRule *rule, const Own *own) {
    int32_t n = rule->directions;
    if (own->sums[0] < 2 || (!(rule->share > 0) && own->sums[0] < n + 1)) {
        return NAN;
    }
    form_rows(rule, own->sums, own->whole, own->scratch);
    return distance(own->scratch, n, (int64_t)hc_local_stride(rule));
}

static void score_columns(void *user, int64_t s, int64_t end, int32_t thread) {
    const Line *line = user;
    const HcLocal *local = line->local;
    const HcLocalRule *rule = &local->head.rule;
    Own *own = &local->own[thread];
    int64_t outer_first = hc_max64(s - rule->window / 2, 0);
    int64_t outer_end = outer_first;
    int64_t inner_first = hc_max64(s - rule->guard / 2, 0);
    int64_t inner_end = inner_first;
    memset(own->sums, 0, local->numbers * sizeof *own->sums);
    for (; s < end; s++) {
        slide(local, &local->outer, false, s, rule->window, &outer_first, &outer_end, own->sums);
        slide(local, &local->inner, true, s, rule->guard, &inner_first, &inner_end, own->sums);
        double value = whole_at(line, line->line, s, own->whole) ? score_of(rule, own) : NAN;
        line->mask[s] = (uint8_t)!isnan(value);
        line->score[s] = isnan(value) ? 0 : (float)value;
    }
}

/* Pieces have at least as many columns as a window: a window begins anew in each. */
static void score_line(Line *line, const HcCpu *cpu) {
    HcLocal *local = line->local;
    const HcLocalRule *rule = &local->head.rule;
    int64_t first_row = hc_block_first_line(line->in);
    int64_t pieces = 2 * (int64_t)cpu->threads;
    int64_t least = hc_max64(rule->window, 16);
    want_rows(rule, line->line, rule->window, &line->outer);
    want_rows(rule, line->line, rule->guard, &line->inner);
    if (!follows(&local->outer, &line->outer, first_row) ||
        !follows(&local->inner, &line->inner, first_row)) {
        restart(local, &local->outer, line->outer.first);
        restart(local, &local->inner, line->inner.first);
    }
    move(line, cpu);
    hc_cpu_work(cpu, rule->samples, hc_max64((rule->samples + pieces - 1) / pieces, least), score_columns,
                line);
}

/* The rows that the line after the last one does not want are still here. */
static void let_go(Line *line, const HcCpu *cpu) {
    const HcLocal *local = line->local;
    const HcLocalRule *rule = &local->head.rule;
    line->outer = local->outer;
    line->inner = local->inner;
    line->outer.first = hc_min64(hc_max64(line->line + 1 - rule->window / 2, 0), local->outer.end);
    line->inner.first = hc_min64(hc_max64(line->line + 1 - rule->guard / 2, 0), local->inner.end);
    move(line, cpu);
}

HcStatus hc_cpu_local(HcQueue *queue, const HcBlock *in, HcLocal *local, const HcBlock *out, HcError *err) {
    size_t samples = (size_t)out->samples;
    Line line = {.local = local, .in = in};
    (void)err;
    for (int64_t row = 0; row < hc_block_rows(out); row++) {
        line.line = hc_block_first_line(out) + row;
        line.score = out->data + (size_t)row * samples;
        line.mask = out->mask + (size_t)row * samples;
        score_line(&line, queue->cpu);
    }
    let_go(&line, queue->cpu);
    return HC_OK;
}
