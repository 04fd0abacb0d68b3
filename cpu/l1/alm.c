/* min |x|_1 where A x = b by augmented Lagrangians: with multipliers u and a penalty p,
 *     |x|_1 + u'(b - A x) + p/2 |b - A x|^2
 * is p times a problem of fista, to meet b + u / p with lambda = 1 / p; then u grows by p (b - A x). */
#include "cpu/l1/l1.h"

#include <math.h>
#include <string.h>

/* lambda of the first inner problem, relative to the one that has the solution 0. */
static const double first_lambda = 0.1;
/* The penalty doubles where a step does not make the residual four times smaller. */
static const double grow_by = 2;
static const double good_step = 0.25;

typedef struct Lagrangian {
    double penalty;
    double residual; /* |A x - b| / |b| */
    HcL1Problem inner;
} Lagrangian;

/* |A x - b|^2 */
static double misfit(const HcL1 *l1, const float *b) {
    double sum = 0;
    for (int64_t r = 0; r < l1->matrix.rows; r++) {
        double difference = l1->product[r] - (double)b[r];
        sum += difference * difference;
    }
    return sum;
}

/* Solves the inner problem, to a relative gap of the tolerance, and moves the multipliers; returns how many
 * steps that took. */
static int32_t advance(HcL1 *l1, const HcL1Rule *rule, const float *b, double energy, Lagrangian *state) {
    int64_t rows = l1->matrix.rows;
    for (int64_t r = 0; r < rows; r++) {
        l1->target[r] = (double)b[r] + l1->multiplier[r] / state->penalty;
    }
    state->inner.lambda = 1 / state->penalty;
    state->inner.bound = 0;
    int32_t steps = hc_l1_descend(l1, &state->inner, rule->tolerance, rule->iterations);
    for (int64_t r = 0; r < rows; r++) {
        l1->multiplier[r] += state->penalty * ((double)b[r] - l1->product[r]);
    }
    double residual = sqrt(misfit(l1, b) / energy);
    state->penalty *= residual > good_step * state->residual ? grow_by : 1;
    state->residual = residual;
    return steps;
}

/* How far |x|_1 is above what the multipliers prove, once A' of them is at most 1. */
static double relative_gap(HcL1 *l1, const float *b, bool positive, double norm) {
    double along = 0;
    memset(l1->ahead, 0, (size_t)l1->matrix.rows * sizeof *l1->ahead);
    hc_l1_slopes(l1, l1->ahead, l1->multiplier);
    double top = fmax(hc_l1_top(l1, positive), 1);
    for (int64_t r = 0; r < l1->matrix.rows; r++) {
        along += (double)b[r] * l1->weight[r] / top;
    }
    return norm > 0 ? (norm - along) / norm : 0;
}

HcStatus hc_cpu_alm(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                    HcL1Report *report, HcError *err) {
    (void)queue;
    (void)err;
    double energy = 0;
    if (!hc_l1_start(l1, b, x, report, &energy)) {
        return HC_OK;
    }
    Lagrangian state = {.residual = energy > 0 ? 1 : 0,
                        .inner = {.positive = rule->positive, .square = l1->largest}};
    memset(l1->multiplier, 0, (size_t)l1->matrix.rows * sizeof *l1->multiplier);
    hc_l1_slopes(l1, l1->product, l1->target);
    double top = hc_l1_top(l1, rule->positive);
    state.penalty = 1 / (first_lambda * top);
    while (top > 0 && report->outer < rule->outer && !(state.residual <= rule->tolerance)) {
        report->iterations += advance(l1, rule, b, energy, &state);
        report->outer++;
    }
    hc_l1_finish(l1, b, energy, &state.inner, x, report);
    report->objective = state.inner.norm;
    report->gap = relative_gap(l1, b, rule->positive, report->objective);
    report->end = report->residual <= rule->tolerance ? HC_L1_REACHED : HC_L1_UNFINISHED;
    return HC_OK;
}
