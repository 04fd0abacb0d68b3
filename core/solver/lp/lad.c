/* Makes the problem of a pixel from endmembers, weights and the sum: scales, rows, slopes, and the basis at
 * x = 0. Scales are powers of two, so that nothing is rounded. Right sides are moved a little (nudges), since
 * noiseless mixtures have ties, on which a simplex method may cycle. Starting from x = 0 needs no
 * first phase: constraints are rows with steep slopes. */
#include "core/solver/lp/lad.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int32_t padded(int32_t count, int32_t padding) {
    return (count + padding - 1) / padding * padding;
}

/* The power of two above a magnitude; 0 of 0. */
static double unit_of(double magnitude) {
    int exponent = 0;
    frexp(magnitude, &exponent);
    return magnitude > 0 ? ldexp(1, exponent) : 0;
}

static HcStatus take_memory(HcLadProblem *problem, HcError *err) {
    size_t rows = (size_t)problem->rows;
    size_t width = (size_t)problem->width;
    size_t count = rows * width + 4 * rows + width + (size_t)problem->endmembers * width;
    double *at = calloc(count, sizeof *at);
    problem->row = at;
    problem->basis = calloc((size_t)problem->endmembers, sizeof *problem->basis);
    if (at == NULL || problem->basis == NULL) {
        return hc_fail_memory(err, (double)count * sizeof *at, "endmembers");
    }
    problem->low = problem->row + rows * width;
    problem->high = problem->low + rows;
    problem->right = problem->high + rows;
    problem->nudge = problem->right + rows;
    problem->scale = problem->nudge + rows;
    problem->inverse = problem->scale + width;
    return HC_OK;
}

/* Endmembers that are 0 have the scale of the largest. */
static void fill_scales(HcLadProblem *problem, const float *spectrum) {
    double largest = 0;
    for (int32_t k = 0; k < problem->endmembers; k++) {
        double most = 0;
        for (int32_t b = 0; b < problem->bands; b++) {
            most = fmax(most, fabs((double)spectrum[(int64_t)k * problem->bands + b]));
        }
        problem->scale[k] = unit_of(most);
        largest = fmax(largest, problem->scale[k]);
    }
    for (int32_t k = 0; k < problem->endmembers; k++) {
        if (problem->scale[k] == 0) {
            problem->scale[k] = largest > 0 ? largest : 1;
        }
    }
}

static void fill_rows(HcLadProblem *problem, const float *spectrum) {
    int32_t n = problem->endmembers;
    int64_t width = problem->width;
    double least = problem->scale[0];
    for (int32_t k = 1; k < n; k++) {
        least = fmin(least, problem->scale[k]);
    }
    for (int32_t k = 0; k < n; k++) {
        for (int32_t b = 0; b < problem->bands; b++) {
            problem->row[b * width + k] =
                (double)spectrum[(int64_t)k * problem->bands + b] / problem->scale[k];
        }
        problem->row[(problem->bands + k) * width + k] = 1;
        if (problem->sum != HC_SUM_FREE) {
            problem->row[hc_lad_sum_row(problem) * width + k] = least / problem->scale[k];
            problem->right[hc_lad_sum_row(problem)] = least;
        }
    }
}

/* A product of the bands' slopes with an endmember is at most the sum of the weights, so that no price of
 * x_k >= 0 is beyond it; where the sum has a price too, that is one of these products over a row's entry. */
static void fill_slopes(HcLadProblem *problem, const double *weight) {
    int32_t bands = problem->bands;
    double heaviest = 0;
    double largest = 0;
    for (int32_t b = 0; b < bands; b++) {
        heaviest = fmax(heaviest, weight != NULL ? weight[b] : 1);
    }
    problem->weight_unit = heaviest > 0 ? unit_of(heaviest) : 1;
    problem->most = 1;
    for (int32_t b = 0; b < bands; b++) {
        problem->high[b] = (weight != NULL ? weight[b] : 1) / problem->weight_unit;
        problem->low[b] = -problem->high[b];
        problem->most += problem->high[b];
    }
    for (int32_t k = 0; k < problem->endmembers; k++) {
        largest = fmax(largest, problem->scale[k]);
    }
    for (int32_t k = 0; k < problem->endmembers; k++) {
        problem->high[bands + k] = 2 * problem->most * (1 + largest / problem->scale[k]);
    }
    if (problem->sum != HC_SUM_FREE) {
        int32_t i = hc_lad_sum_row(problem);
        problem->mixture = problem->most * problem->right[i];
        bool equal = problem->sum == HC_SUM_ONE;
        problem->low[i] = equal ? -INFINITY : -2 * problem->most * largest / problem->right[i];
        problem->high[i] = equal ? INFINITY : 0;
    }
}

/* Numbers without a pattern. */
static void fill_nudges(HcLadProblem *problem) {
    uint64_t state = 1;
    int32_t count = hc_lad_sum_row(problem) + (problem->sum == HC_SUM_AT_MOST_ONE ? 1 : 0);
    for (int32_t i = 0; i < count; i++) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        double share = (double)(state >> 12) * 0x1p-52;
        problem->nudge[i] = share < 0.5 ? -0.5 - share : share;
    }
}

/* All x are 0, but the first of them where they sum to one: its row is then s'x = right, and the first row of
 * the inverse is (1, - s_1, - s_2 ...) / s_0. */
static void fill_basis(HcLadProblem *problem) {
    int64_t width = problem->width;
    for (int32_t k = 0; k < problem->endmembers; k++) {
        problem->basis[k] = problem->bands + k;
        problem->inverse[k * width + k] = 1;
    }
    if (problem->sum == HC_SUM_ONE) {
        const double *share = problem->row + hc_lad_sum_row(problem) * width;
        problem->basis[0] = hc_lad_sum_row(problem);
        problem->inverse[0] = 1 / share[0];
        for (int32_t k = 1; k < problem->endmembers; k++) {
            problem->inverse[k] = -share[k] / share[0];
        }
    }
}

HcStatus hc_lad_problem_make(const HcLadRule *rule, int32_t padding, HcLadProblem *out, HcError *err) {
    HcStatus status = HC_OK;
    int32_t rows = rule->bands + rule->endmembers + (rule->sum != HC_SUM_FREE ? 1 : 0);
    *out = (HcLadProblem){.endmembers = rule->endmembers,
                          .bands = rule->bands,
                          .sum = rule->sum,
                          .rows = padded(rows, padding),
                          .width = padded(rule->endmembers, padding),
                          .usual = 10 * (int64_t)rows};
    out->limit = rule->pivots > 0 ? rule->pivots : 10 * out->usual;
    HC_TRY(take_memory(out, err));
    fill_scales(out, rule->spectrum);
    fill_rows(out, rule->spectrum);
    fill_slopes(out, rule->weight);
    fill_nudges(out);
    fill_basis(out);
done:
    if (status != HC_OK) {
        hc_lad_problem_clear(out);
    }
    return status;
}

void hc_lad_problem_clear(HcLadProblem *problem) {
    free(problem->row);
    free(problem->basis);
    *problem = (HcLadProblem){0};
}
