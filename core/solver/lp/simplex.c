/* The simplex: a program is scaled, solved by dual and primal steps in turn until both its constraints and
 * the signs of its reduced costs hold, with an inverse of the basis that is fresh and bounds and costs that
 * are its own, and brought back to its units. */
#include "core/solver/lp/simplex.h"
#include "core/allocate.h"

#include <stdlib.h>

enum { ROUNDS = 40 /* changes between dual and primal steps */ };

static const double usual_tolerance = 1e-9;

/* Free variables get bounds of this size in phase one, others of 1 (Koberstein 2005, section 4.3). */
static const double free_box = 1000;

/* What has been tried to make reduced costs have the right signs. */
typedef enum Way { WAY_DUAL, WAY_BOXED, WAY_PRIMAL } Way;

/* ---- the scaled program ---- */

/* What brings the mean of values to 1, of those of two lists that are neither 0 nor infinite. */
static double mean_scale(const double *value, const double *more, int64_t values) {
    int64_t sum = 0;
    int64_t count = 0;
    for (int64_t k = 0; k < 2 * values; k++) {
        double a = k < values ? value[k] : more[k - values];
        if (a != 0 && isfinite(a)) {
            sum += hc_simplex_logarithm(a);
            count++;
        }
    }
    return hc_simplex_power(hc_simplex_against(sum, count));
}

static void scale_costs(HcSimplex *s) {
    double sign = s->program->maximise ? -1 : 1;
    for (int64_t j = 0; j < s->columns; j++) {
        s->true_cost[j] = sign * s->program->cost[j] * s->column_scale[j];
    }
    s->cost_unit = mean_scale(s->true_cost, s->true_cost, s->columns);
    for (int64_t j = 0; j < s->columns; j++) {
        s->true_cost[j] *= s->cost_unit;
    }
}

/* Bounds of x in the program's units over its column's scale, of t = - A x times its row's; then in units of
 * their mean. */
static void scale_bounds(HcSimplex *s) {
    const HcLinearProgram *program = s->program;
    for (int64_t j = 0; j < s->columns; j++) {
        s->true_lower[j] = (program->lower != NULL ? program->lower[j] : 0) / s->column_scale[j];
        s->true_upper[j] =
            (program->upper != NULL ? program->upper[j] : (double)INFINITY) / s->column_scale[j];
        s->unit[j] = s->column_scale[j];
    }
    for (int64_t i = 0; i < s->rows; i++) {
        double lower = program->row_lower != NULL ? program->row_lower[i] : -(double)INFINITY;
        double upper = program->row_upper != NULL ? program->row_upper[i] : (double)INFINITY;
        s->true_lower[s->columns + i] = -upper * s->row_scale[i];
        s->true_upper[s->columns + i] = -lower * s->row_scale[i];
        s->unit[s->columns + i] = 1 / s->row_scale[i];
    }
    double scale = mean_scale(s->true_lower, s->true_upper, s->all);
    for (int64_t j = 0; j < s->all; j++) {
        s->true_lower[j] *= scale;
        s->true_upper[j] *= scale;
        s->unit[j] /= scale;
    }
    s->value_unit = 1 / scale;
}

/* ---- opening ---- */

static void *take(char *memory, size_t *at, size_t bytes) {
    size_t start = *at;
    *at += (bytes + 63) / 64 * 64;
    return memory != NULL ? memory + start : NULL;
}

/* All arrays; returns their bytes. */
static size_t lay_out(HcSimplex *s, char *memory) {
    size_t at = 0;
    size_t rows = (size_t)s->rows * sizeof(double);
    size_t all = (size_t)s->all * sizeof(double);
    double **const of_rows[] = {&s->row_scale, &s->price, &s->column, NULL};
    double **const of_all[] = {&s->unit,  &s->true_lower, &s->true_upper, &s->true_cost, &s->lower,
                               &s->upper, &s->cost,       &s->value,      &s->reduced,   &s->column_scale,
                               NULL};
    for (double **const *to = of_rows; *to != NULL; to++) {
        **to = take(memory, &at, rows);
    }
    for (double **const *to = of_all; *to != NULL; to++) {
        **to = take(memory, &at, all);
    }
    s->row = take(memory, &at, all + 128 * sizeof(double)); /* and the padding of a row of A */
    s->place = take(memory, &at, all / 2);
    s->basic = take(memory, &at, rows / 2);
    s->move = take(memory, &at, (size_t)s->all);
    return at;
}

void hc_simplex_restore(HcSimplex *s) {
    memcpy(s->lower, s->true_lower, (size_t)s->all * sizeof *s->lower);
    memcpy(s->upper, s->true_upper, (size_t)s->all * sizeof *s->upper);
    memcpy(s->cost, s->true_cost, (size_t)s->all * sizeof *s->cost);
}

void hc_simplex_settle(HcSimplex *s, int64_t j) {
    bool has_lower = s->lower[j] > -(double)INFINITY;
    bool has_upper = s->upper[j] < (double)INFINITY;
    bool to_upper = has_upper && (!has_lower || s->move[j] < 0);
    s->value[j] = to_upper ? s->upper[j] : has_lower ? s->lower[j] : 0;
    s->move[j] = (int8_t)(s->lower[j] == s->upper[j] ? 0 : to_upper ? -1 : has_lower ? 1 : 2);
}

/* Basic variables are still to be computed. */
static void settle_all(HcSimplex *s) {
    for (int64_t j = 0; j < s->all; j++) {
        if (s->place[j] < 0) {
            hc_simplex_settle(s, j);
        }
    }
}

/* All logicals are basic, the others at their bounds. */
static HcStatus open_simplex(HcSimplex *s, const HcLinearProgram *program, const HcSimplexRule *rule,
                             HcError *err) {
    s->program = program;
    s->rows = program->rows;
    s->columns = program->columns;
    s->all = s->rows + s->columns;
    s->tolerance = rule->tolerance > 0 ? rule->tolerance : usual_tolerance;
    s->limit = rule->pivots > 0 ? rule->pivots : 10000 + 100 * s->all;
    s->seed = 1;
    s->bytes = lay_out(s, NULL);
    HC_OR_RETURN(hc_new(s->memory, s->bytes, "a linear program", err));
    lay_out(s, s->memory);
    HC_OR_RETURN(s->steps->find_scales(s, err));
    scale_costs(s);
    scale_bounds(s);
    HC_OR_RETURN(s->steps->open(s, err));
    for (int64_t j = 0; j < s->all; j++) {
        s->place[j] = j < s->columns ? -1 : (int32_t)(j - s->columns);
    }
    for (int64_t i = 0; i < s->rows; i++) {
        s->basic[i] = (int32_t)(s->columns + i);
    }
    hc_simplex_restore(s);
    settle_all(s);
    HC_OR_RETURN(s->steps->find_values(s, err));
    return s->steps->find_reduced(s, err);
}

/* ---- which steps ---- */

/* Whether all basic variables are within their bounds; whether all reduced costs have the right signs. */
static bool is_within(const HcSimplex *s) {
    for (int64_t p = 0; p < s->rows; p++) {
        if (hc_simplex_beyond(s, s->basic[p]) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_priced(const HcSimplex *s) {
    for (int64_t j = 0; j < s->all; j++) {
        if (s->place[j] < 0 && hc_simplex_improves(s, j)) {
            return false;
        }
    }
    return true;
}

/* Variables with two bounds go to the one that their reduced cost asks for. turned: whether variables have
 * moved before. */
static HcStatus turn_boxed(HcSimplex *s, bool turned, HcError *err) {
    for (int64_t j = 0; j < s->all; j++) {
        double other = s->move[j] > 0 ? s->upper[j] : s->lower[j];
        if (s->place[j] < 0 && s->move[j] != 2 && isfinite(other) && hc_simplex_improves(s, j)) {
            s->move[j] = (int8_t)-s->move[j];
            s->value[j] = other;
            turned = true;
        }
    }
    return turned ? s->steps->find_values(s, err) : HC_OK;
}

/* Bounds of phase one: with them the dual objective is at most 0, and 0 where all reduced costs have the
 * signs that the program asks for. */
static void box(HcSimplex *s) {
    for (int64_t j = 0; j < s->all; j++) {
        bool has_lower = isfinite(s->true_lower[j]);
        bool has_upper = isfinite(s->true_upper[j]);
        double size = has_lower || has_upper ? 1 : free_box;
        s->lower[j] = has_lower ? 0 : -size;
        s->upper[j] = has_upper ? 0 : size;
    }
    settle_all(s);
}

/* Costs of which all reduced costs have the right signs, whatever the program's are. */
static void invent_costs(HcSimplex *s) {
    for (int64_t j = 0; j < s->all; j++) {
        bool bounded = s->place[j] < 0 && (s->move[j] == 1 || s->move[j] == -1);
        s->cost[j] = s->reduced[j] = bounded ? s->move[j] * hc_simplex_random(s) : 0;
    }
}

/* Dual steps where reduced costs are right, at once or within bounds that are implied or invented; else with
 * costs that are invented. */
static HcStatus go_dual(HcSimplex *s, Way *way, HcSimplexStop *stop, HcError *err) {
    int64_t before = s->pivots;
    bool boxed = false;
    bool all = false;
    bool trusted = true; /* bounds in force are those of the program */
    HC_OR_RETURN(turn_boxed(s, false, err));
    if (!is_priced(s)) {
        if (*way == WAY_DUAL) {
            HC_OR_RETURN(s->steps->imply_bounds(s, &all, err));
            trusted = false;
        }
        if (all) {
            settle_all(s);
            HC_OR_RETURN(turn_boxed(s, true, err));
        } else if (*way <= WAY_BOXED) {
            box(s);
            HC_OR_RETURN(turn_boxed(s, true, err));
            boxed = true;
            trusted = false;
        } else {
            invent_costs(s);
        }
        *way = all ? WAY_BOXED : WAY_PRIMAL;
        HC_OR_RETURN(s->steps->dual(s, boxed, stop, err));
        s->phase_one += all ? 0 : s->pivots - before;
    } else {
        HC_OR_RETURN(s->steps->dual(s, false, stop, err));
    }
    if (stop->end == HC_SIMPLEX_BLOCKED && !trusted) {
        stop->end = HC_SIMPLEX_DONE; /* of the program it proves nothing */
    }
    return HC_OK;
}

/* Dual steps first, since they are fewer mostly; then whatever is left to do. */
static HcStatus run(HcSimplex *s, HcLpEnd *end, HcSimplexStop *stop, HcError *err) {
    Way way = WAY_DUAL;
    *end = HC_LP_UNFINISHED;
    for (int round = 0; round < ROUNDS; round++) {
        bool within = is_within(s);
        if (within && is_priced(s)) {
            *end = HC_LP_OPTIMAL;
            break;
        }
        *stop = (HcSimplexStop){0};
        if (within && round > 0) {
            HC_OR_RETURN(s->steps->primal(s, stop, err));
            *end = stop->end == HC_SIMPLEX_BLOCKED ? HC_LP_UNBOUNDED : *end;
        } else {
            HC_OR_RETURN(go_dual(s, &way, stop, err));
            *end = stop->end == HC_SIMPLEX_BLOCKED ? HC_LP_INFEASIBLE : *end;
        }
        if (stop->end == HC_SIMPLEX_BLOCKED) {
            break;
        }
        hc_simplex_restore(s);
        settle_all(s);
        HC_OR_RETURN(s->steps->refresh(s, err));
        if (stop->end == HC_SIMPLEX_STOPPED && s->pivots >= s->limit) {
            break;
        }
    }
    return HC_OK;
}

/* ---- what came out ---- */

/* y with y'A x > z'x for all x within bounds: the row of the inverse that no change brought within its
 * bounds. Where there is no bound to pay at, rounding is all that it has. */
static HcStatus report_certificate(HcSimplex *s, const HcSimplexStop *stop, double *price, HcError *err) {
    HcStatus status = s->steps->take_row(s, stop->leaving, err);
    for (int64_t i = 0; i < s->rows; i++) {
        double y = -stop->direction * s->row[s->columns + i];
        double bound = y > 0 ? s->true_lower[s->columns + i] : s->true_upper[s->columns + i];
        price[i] = isfinite(bound) ? y * s->row_scale[i] : 0;
    }
    return status;
}

/* The column that nothing blocks. */
static void report_ray(HcSimplex *s, const HcSimplexStop *stop, double *ray) {
    for (int64_t p = 0; p < s->rows; p++) {
        int64_t j = s->basic[p];
        if (j < s->columns) {
            ray[j] = -stop->direction * s->column[p] * s->unit[j];
        }
    }
    if (stop->entering < s->columns) {
        ray[stop->entering] = stop->direction * s->unit[stop->entering];
    }
}

/* What the reduced costs and the bounds that they are paid at prove. */
static double dual_objective(const HcSimplex *s) {
    double sum = 0;
    for (int64_t j = 0; j < s->all; j++) {
        double bound = s->reduced[j] > 0 ? s->lower[j] : s->upper[j];
        sum += s->reduced[j] != 0 && isfinite(bound) ? s->reduced[j] * bound : 0;
    }
    return sum * s->value_unit / s->cost_unit;
}

static HcStatus report(HcSimplex *s, HcLpEnd end, const HcSimplexStop *stop, HcLpSolution *out,
                       HcError *err) {
    double sign = s->program->maximise ? -1 : 1;
    out->end = end;
    out->objective = 0;
    for (int64_t j = 0; j < s->columns; j++) {
        out->x[j] = s->value[j] * s->unit[j];
        out->objective += s->program->cost[j] * out->x[j];
    }
    for (int64_t i = 0; i < s->rows; i++) {
        out->price[i] = sign * s->price[i] * s->row_scale[i] / s->cost_unit;
    }
    out->dual_objective = sign * (end == HC_LP_OPTIMAL ? dual_objective(s) : -(double)INFINITY);
    if (out->ray != NULL) {
        memset(out->ray, 0, (size_t)s->columns * sizeof *out->ray);
    }
    if (end == HC_LP_UNBOUNDED && out->ray != NULL) {
        report_ray(s, stop, out->ray);
    }
    out->pivots = s->pivots;
    out->phase_one = s->phase_one;
    out->refactored = s->refactored;
    out->columns_kept = s->kept_most;
    return end == HC_LP_INFEASIBLE ? report_certificate(s, stop, out->price, err) : HC_OK;
}

HcStatus hc_simplex_solve(HcSimplex *s, const HcLinearProgram *program, const HcSimplexRule *rule,
                          HcLpSolution *out, HcError *err) {
    HcStatus status = HC_OK;
    HcSimplexStop stop = {0};
    HcLpEnd end = HC_LP_UNFINISHED;
    HC_TRY(open_simplex(s, program, rule, err));
    HC_TRY(run(s, &end, &stop, err));
    HC_TRY(report(s, end, &stop, out, err));
    HC_TRY(out->rest != NULL ? hc_simplex_improve(s, &stop, out, err) : HC_OK);
done:
    free(s->memory);
    s->memory = NULL;
    return status;
}
