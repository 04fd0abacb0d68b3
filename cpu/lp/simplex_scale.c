/* Scaling: entries of rows and columns get a geometric mean near 1; all scales are powers of two, so that
 * nothing is rounded. And bounds that the rows imply. */
#include "cpu/lp/simplex.h"
#include "core/allocate.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { PIECE_COLUMNS = 64 }; /* that a thread works on at once */

/* ---- the entries of a column ---- */

static int64_t first_of(const HcLinearProgram *program, int64_t j) {
    return program->start != NULL ? program->start[j] : j * program->rows;
}

static int64_t row_of(const HcLinearProgram *program, int64_t j, int64_t e) {
    return program->start != NULL ? program->row[e] : e - j * program->rows;
}

/* ---- scales ---- */

typedef struct Scaling {
    const HcLinearProgram *program;
    int64_t *row, *column; /* exponents */
    int64_t *sum, *count;  /* [rows] of the entries of each row */
} Scaling;

/* Rows, with the columns as they are scaled so far. */
static void scale_rows(Scaling *scaling) {
    const HcLinearProgram *program = scaling->program;
    memset(scaling->sum, 0, (size_t)program->rows * sizeof *scaling->sum);
    memset(scaling->count, 0, (size_t)program->rows * sizeof *scaling->count);
    for (int64_t j = 0; j < program->columns; j++) {
        int64_t more = scaling->column[j] * ((int64_t)1 << HC_SIMPLEX_FRACTION);
        for (int64_t e = first_of(program, j); e < first_of(program, j + 1); e++) {
            int64_t i = row_of(program, j, e);
            bool there = program->value[e] != 0;
            scaling->sum[i] += there ? hc_simplex_logarithm(program->value[e]) + more : 0;
            scaling->count[i] += there;
        }
    }
    for (int64_t i = 0; i < program->rows; i++) {
        scaling->row[i] = hc_simplex_against(scaling->sum[i], scaling->count[i]);
    }
}

static void scale_columns(Scaling *scaling) {
    const HcLinearProgram *program = scaling->program;
    for (int64_t j = 0; j < program->columns; j++) {
        int64_t sum = 0;
        int64_t count = 0;
        for (int64_t e = first_of(program, j); e < first_of(program, j + 1); e++) {
            bool there = program->value[e] != 0;
            int64_t more = scaling->row[row_of(program, j, e)] * ((int64_t)1 << HC_SIMPLEX_FRACTION);
            sum += there ? hc_simplex_logarithm(program->value[e]) + more : 0;
            count += there;
        }
        scaling->column[j] = hc_simplex_against(sum, count);
    }
}

HcStatus hc_simplex_find_scales(HcSimplex *s, HcError *err) {
    Scaling scaling = {.program = s->program};
    int64_t *memory = NULL;
    HC_OR_RETURN(hc_new(memory, (size_t)(3 * s->rows + s->columns), "the scales of a linear program", err));
    scaling.column = memory;
    scaling.row = memory + s->columns;
    scaling.sum = scaling.row + s->rows;
    scaling.count = scaling.sum + s->rows;
    for (int round = 0; round < HC_SIMPLEX_SCALINGS; round++) {
        scale_rows(&scaling);
        scale_columns(&scaling);
    }
    for (int64_t i = 0; i < s->rows; i++) {
        s->row_scale[i] = hc_simplex_power(scaling.row[i]);
    }
    for (int64_t j = 0; j < s->columns; j++) {
        s->column_scale[j] = hc_simplex_power(scaling.column[j]);
    }
    free(memory);
    return HC_OK;
}

/* ---- the scaled matrix ---- */

static int64_t entries_of(const HcLinearProgram *program) {
    return first_of(program, program->columns);
}

/* Tiles of columns, so that lines of the cache are filled before they are written. */
static void turn_columns(HcSimplex *s, int64_t first, int64_t end) {
    const HcLinearProgram *program = s->program;
    const int64_t tile = 64;
    for (int64_t i0 = 0; program->start == NULL && i0 < s->rows; i0 += tile) {
        for (int64_t i = i0; i < hc_min64(i0 + tile, s->rows); i++) {
            double *to = s->own->by_row + i * s->own->stride_by_row;
            for (int64_t j = first; j < end; j++) {
                to[j] = program->value[j * s->rows + i] * s->row_scale[i] * s->column_scale[j];
            }
        }
    }
    for (int64_t j = first; program->start != NULL && j < end; j++) {
        for (int64_t e = program->start[j]; e < program->start[j + 1]; e++) {
            int64_t i = program->row[e];
            s->own->by_row[i * s->own->stride_by_row + j] =
                program->value[e] * s->row_scale[i] * s->column_scale[j];
        }
    }
}

static void turn_pieces(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    HcSimplex *s = user;
    for (int64_t piece = first; piece < end; piece++) {
        turn_columns(s, piece * PIECE_COLUMNS, hc_min64((piece + 1) * PIECE_COLUMNS, s->columns));
    }
}

HcStatus hc_simplex_turn(HcSimplex *s, HcError *err) {
    int64_t pieces = (s->columns + PIECE_COLUMNS - 1) / PIECE_COLUMNS;
    int64_t entries = entries_of(s->program);
    if (s->program->start != NULL && entries < s->rows * s->columns / HC_SIMPLEX_DENSE_FROM) {
        return HC_OK;
    }
    s->own->stride_by_row = (s->columns + 63) / 64 * 64 + HC_SIMPLEX_LANES;
    size_t bytes = (size_t)s->rows * (size_t)s->own->stride_by_row * sizeof(double);
    if ((s->own->by_row = calloc(bytes + 1, 1)) == NULL) { /* there may be no row */
        return hc_fail_memory(err, (double)bytes, "the rows of a linear program");
    }
    hc_simplex_work(s, pieces, entries, turn_pieces, s);
    return HC_OK;
}

/* ---- implied bounds ---- */

static void find_reach(const HcSimplex *s, HcSimplexReach *reach) {
    const HcLinearProgram *program = s->program;
    for (int64_t j = 0; j < s->columns; j++) {
        for (int64_t e = first_of(program, j); e < first_of(program, j + 1); e++) {
            int64_t i = row_of(program, j, e);
            double a = program->value[e] * s->row_scale[i] * s->column_scale[j];
            if (a != 0) {
                hc_simplex_extend(a, s->true_lower[j], s->true_upper[j], &reach[i]);
            }
        }
    }
}

/* Of all rows, side times the bound. */
static double implied(const HcSimplex *s, const HcSimplexReach *reach, int64_t j, double side) {
    const HcLinearProgram *program = s->program;
    double bound = (double)INFINITY;
    for (int64_t e = first_of(program, j); e < first_of(program, j + 1); e++) {
        int64_t i = row_of(program, j, e);
        double a = program->value[e] * s->row_scale[i] * s->column_scale[j];
        if (a != 0) {
            double by_row =
                hc_simplex_implied_by(&reach[i], a, side, s->true_lower[j], s->true_upper[j],
                                      s->true_lower[s->columns + i], s->true_upper[s->columns + i]);
            bound = fmin(bound, by_row);
        }
    }
    return hc_simplex_loosen(bound, side, s->true_lower[j], s->true_upper[j]);
}

typedef struct Implying {
    HcSimplex *s;
    const HcSimplexReach *reach;
    atomic_bool missing; /* some bound */
} Implying;

static void imply_columns(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    Implying *job = user;
    HcSimplex *s = job->s;
    for (int64_t j = first; j < end; j++) {
        double side = hc_simplex_open_side(s->true_cost[j], s->true_lower[j], s->true_upper[j]);
        double bound = side != 0 ? implied(s, job->reach, j, side) : 0;
        s->upper[j] = side > 0 ? bound : s->upper[j];
        s->lower[j] = side < 0 ? -bound : s->lower[j];
        if (!isfinite(bound)) {
            atomic_store(&job->missing, true);
        }
    }
}

HcStatus hc_simplex_imply_bounds(HcSimplex *s, bool *all, HcError *err) {
    HcSimplexReach *reach = NULL;
    HC_OR_RETURN(hc_new(reach, (size_t)s->rows + 1, "bounds of a linear program", err));
    find_reach(s, reach);
    Implying job = {.s = s, .reach = reach};
    hc_simplex_work(s, s->columns, entries_of(s->program), imply_columns, &job);
    free(reach);
    *all = !atomic_load(&job.missing);
    return HC_OK;
}
