#include "core/operation/lp/simplex.h"
#include "core/allocate.h"
#include "core/operation/check.h"

#include <math.h>
#include <stdlib.h>

/* Bounds [count] of columns or rows, each NULL = its default, which holds. */
static HcStatus check_bounds(const double *lower, const double *upper, int64_t count, double usual_lower,
                             const char *which, HcError *err) {
    for (int64_t k = 0; k < count; k++) {
        double least = lower != NULL ? lower[k] : usual_lower;
        double most = upper != NULL ? upper[k] : (double)INFINITY;
        if (!(least <= most && least < (double)INFINITY && most > -(double)INFINITY)) {
            return hc_fail(err, HC_E_USAGE, "simplex: %s %lld is bounded by %g and %g", which, (long long)k,
                           least, most);
        }
    }
    return HC_OK;
}

/* Entries of the columns: in rows that there are, each once. seen[rows] is 0 throughout. */
static HcStatus check_entries(const HcLinearProgram *program, int64_t *seen, HcError *err) {
    for (int64_t j = 0; j < program->columns; j++) {
        if (program->start[j + 1] < program->start[j]) {
            return hc_fail(err, HC_E_USAGE, "simplex: column %lld begins at entry %lld and ends at %lld",
                           (long long)j, (long long)program->start[j], (long long)program->start[j + 1]);
        }
        for (int64_t e = program->start[j]; e < program->start[j + 1]; e++) {
            int32_t i = program->row[e];
            if (i < 0 || i >= program->rows || seen[i] == j + 1) {
                return hc_fail(err, HC_E_USAGE, "simplex: column %lld has an entry in row %d of %lld%s",
                               (long long)j, i, (long long)program->rows,
                               i < 0 || i >= program->rows ? "" : " twice");
            }
            seen[i] = j + 1;
        }
    }
    return HC_OK;
}

static HcStatus check_columns(const HcLinearProgram *program, HcError *err) {
    HcStatus status = HC_OK;
    if (program->start == NULL) {
        return HC_OK;
    }
    if (program->start[0] != 0 || (program->start[program->columns] > 0 && program->row == NULL)) {
        return hc_fail(err, HC_E_USAGE, "simplex: the first column begins at entry %lld, or rows are missing",
                       (long long)program->start[0]);
    }
    int64_t *seen = NULL;
    HC_OR_RETURN(hc_new(seen, (size_t)program->rows + 1, "the rows of a linear program", err));
    status = check_entries(program, seen, err);
    free(seen);
    return status;
}

/* Entries that a thread looks at, without a branch for each: 64 MB took 9 ms with it on one thread. */
enum { PIECE = 1 << 16 };

typedef struct Numbers {
    const double *value;
    int64_t count;
    _Atomic bool odd; /* infinite, or not a number */
} Numbers;

static void look_for_odd(void *user, int64_t item, int32_t thread) {
    Numbers *numbers = user;
    int64_t end = hc_min64((item + 1) * PIECE, numbers->count);
    uint64_t odd = 0;
    (void)thread;
    for (int64_t e = item * PIECE; e < end; e++) {
        odd |= (uint64_t)!isfinite(numbers->value[e]);
    }
    if (odd != 0) {
        numbers->odd = true;
    }
}

static HcStatus check_numbers(const HcQueue *queue, const HcLinearProgram *program, HcError *err) {
    int64_t j = 0;
    int64_t entries =
        program->start != NULL ? program->start[program->columns] : program->columns * program->rows;
    Numbers numbers = {program->value, entries, false};
    hc_share(((const HcHead *)queue)->compute, (entries + PIECE - 1) / PIECE, look_for_odd, &numbers);
    for (int64_t e = 0; numbers.odd && e < entries; e++) {
        if (!isfinite(program->value[e])) {
            for (j = 0; program->start != NULL && program->start[j + 1] <= e; j++) {
            }
            j = program->start != NULL ? j : e / program->rows;
            return hc_fail(err, HC_E_USAGE, "simplex: row %lld of column %lld holds %g",
                           program->start != NULL ? (long long)program->row[e]
                                                  : (long long)(e % program->rows),
                           (long long)j, program->value[e]);
        }
    }
    for (j = 0; j < program->columns; j++) {
        if (!isfinite(program->cost[j])) {
            return hc_fail(err, HC_E_USAGE, "simplex: the cost of column %lld is %g", (long long)j,
                           program->cost[j]);
        }
    }
    return HC_OK;
}

static HcStatus check(const HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                      const HcLpSolution *out, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "simplex", err));
    if (program == NULL || rule == NULL || out == NULL || program->cost == NULL || out->x == NULL ||
        (program->rows > 0 && (program->value == NULL || out->price == NULL))) {
        return hc_fail(err, HC_E_USAGE,
                       "simplex: the program, the rule or the solution is missing or not whole");
    }
    if (program->rows < 0 || program->columns < 1 || program->rows > INT32_MAX / 2 ||
        program->columns > INT32_MAX / 2) {
        return hc_fail(err, HC_E_USAGE, "simplex: %lld rows, %lld columns: at most %d of each",
                       (long long)program->rows, (long long)program->columns, INT32_MAX / 2);
    }
    if (rule->pivots < 0 || !(rule->tolerance >= 0 && rule->tolerance < 1)) {
        return hc_fail(err, HC_E_USAGE, "simplex: %lld pivots, tolerance %g", (long long)rule->pivots,
                       rule->tolerance);
    }
    HC_OR_RETURN(check_columns(program, err));
    HC_OR_RETURN(check_numbers(queue, program, err));
    HC_OR_RETURN(check_bounds(program->lower, program->upper, program->columns, 0, "column", err));
    return check_bounds(program->row_lower, program->row_upper, program->rows, -(double)INFINITY, "row", err);
}

HcStatus hc_simplex(HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                    HcLpSolution *out, HcError *err) {
    HC_OR_RETURN(check(queue, program, rule, out, err));
    return hc_ops_of(queue)->simplex(queue, program, rule, out, err);
}
