/* SISAL: simplex identification via split augmented Lagrangian (Bioucas-Dias 2009), for scenes without pure
 * pixels. The smallest simplex that holds the pixels, but for some that may lie outside.
 *
 * Q = inv(M) minimises -log |det Q| + the sum of max(0, -(Q Y)) over Q with 1'Q Y = 1', where Y are pixels of
 * unit variance with a 1 below, divided by the root of their size. The logarithm is replaced by its quadratic
 * about the present Q, and that problem is solved by alternating between Q and Z = Q Y.
 *
 * It looks at some thousand pixels, evenly from the whole scene, the same ones on every rank.
 */
#include "core/allocate.h"
#include "pipeline/stages/endmembers/methods.h"

#include <math.h>
#include <string.h>

enum { SAMPLE = 16384, OUTER = 80, INNER = 3, LAST = 99, TRIES = 10 };

typedef struct Problem {
    int32_t p;
    int64_t n;
    double tau, mu, quadratic;
    double *y, *z, *d;         /* [n][p] pixels, their shares, multipliers */
    double *q, *q0, *next;     /* [p][p] */
    double *gradient, *sum;    /* [p][p] */
    double *inverse, *scratch; /* [p][p] of mu Y Y' + quadratic; to work in */
} Problem;

static double *at(double *matrix, int32_t p, int32_t row, int32_t column) {
    return &matrix[(size_t)row * (size_t)p + (size_t)column];
}

/* Q y of a pixel. */
static void shares_of(const double *q, const double *y, int32_t p, double *to) {
    for (int32_t j = 0; j < p; j++) {
        to[j] = 0;
        for (int32_t k = 0; k < p; k++) {
            to[j] += q[(size_t)j * (size_t)p + (size_t)k] * y[k];
        }
    }
}

static double log_determinant(Problem *problem, const double *q) {
    memcpy(problem->sum, q, (size_t)problem->p * (size_t)problem->p * sizeof *q);
    return hc_invert(problem->sum, problem->scratch, problem->p);
}

/* The sum of what is outside, without its weight. */
static double hinge(const Problem *problem, const double *q) {
    double sum = 0;
    double share[HC_ENDMEMBERS_MAX];
    for (int64_t i = 0; i < problem->n; i++) {
        shares_of(q, problem->y + (size_t)i * (size_t)problem->p, problem->p, share);
        for (int32_t j = 0; j < problem->p; j++) {
            sum += fmax(0, -share[j]);
        }
    }
    return sum;
}

/* The quadratic about Q0 with the hinge. */
static double model(const Problem *problem, const double *q) {
    double sum = problem->tau * hinge(problem, q);
    for (size_t i = 0; i < (size_t)problem->p * (size_t)problem->p; i++) {
        double step = q[i] - problem->q0[i];
        sum += step * problem->gradient[i] + 0.5 * problem->quadratic * step * step;
    }
    return sum;
}

/* Q of the present Z and multipliers: least squares, with columns that sum to those of (0, ..., 0, root p).
 */
static void solve_q(Problem *problem) {
    int32_t p = problem->p;
    size_t size = (size_t)p * (size_t)p;
    memset(problem->sum, 0, size * sizeof *problem->sum);
    for (int64_t i = 0; i < problem->n; i++) {
        const double *y = problem->y + (size_t)i * (size_t)p;
        const double *z = problem->z + (size_t)i * (size_t)p;
        const double *d = problem->d + (size_t)i * (size_t)p;
        for (int32_t j = 0; j < p; j++) {
            double right = problem->mu * (z[j] + d[j]);
            for (int32_t k = 0; k < p; k++) {
                *at(problem->sum, p, j, k) += right * y[k];
            }
        }
    }
    for (size_t i = 0; i < size; i++) {
        problem->sum[i] += problem->quadratic * problem->q0[i] - problem->gradient[i];
    }
    for (int32_t j = 0; j < p; j++) {
        shares_of(problem->inverse, at(problem->sum, p, j, 0), p, at(problem->q, p, j, 0));
    }
    for (int32_t k = 0; k < p; k++) {
        double total = 0;
        for (int32_t j = 0; j < p; j++) {
            total += *at(problem->q, p, j, k);
        }
        double missing = ((k + 1 == p ? sqrt(p) : 0) - total) / p;
        for (int32_t j = 0; j < p; j++) {
            *at(problem->q, p, j, k) += missing;
        }
    }
}

/* Z = what is left of Q Y - d once negative values came nearer to 0 by the weight; then the multipliers. */
static void solve_z(Problem *problem) {
    int32_t p = problem->p;
    double reach = problem->tau / problem->mu;
    double share[HC_ENDMEMBERS_MAX];
    for (int64_t i = 0; i < problem->n; i++) {
        double *z = problem->z + (size_t)i * (size_t)p;
        double *d = problem->d + (size_t)i * (size_t)p;
        shares_of(problem->q, problem->y + (size_t)i * (size_t)p, p, share);
        for (int32_t j = 0; j < p; j++) {
            double value = share[j] - d[j];
            z[j] = value >= 0 ? value : value < -reach ? value + reach : 0;
            d[j] -= share[j] - z[j];
        }
    }
}

/* One quadratic problem; halves the step while the model does not fall. */
static void improve(Problem *problem, int32_t inner) {
    size_t size = (size_t)problem->p * (size_t)problem->p;
    memcpy(problem->q0, problem->q, size * sizeof *problem->q);
    memcpy(problem->next, problem->q, size * sizeof *problem->q);
    (void)hc_invert(problem->next, problem->scratch, problem->p);
    for (int32_t j = 0; j < problem->p; j++) {
        for (int32_t k = 0; k < problem->p; k++) {
            *at(problem->gradient, problem->p, j, k) = -*at(problem->scratch, problem->p, k, j);
        }
    }
    double before = model(problem, problem->q0);
    for (int32_t tries = 0; tries < TRIES && (tries == 0 || model(problem, problem->q) > before); tries++) {
        for (int32_t i = 0; i < inner; i++) {
            solve_q(problem);
            solve_z(problem);
        }
    }
    /* The true objective, not its model, decides about the step. */
    double old = problem->tau * hinge(problem, problem->q0) - log_determinant(problem, problem->q0);
    for (int32_t halved = 0; halved < 30; halved++) {
        double new = problem->tau *hinge(problem, problem->q) - log_determinant(problem, problem->q);
        if (new <= old) {
            return;
        }
        for (size_t i = 0; i < size; i++) {
            problem->q[i] = 0.5 * (problem->q[i] + problem->q0[i]);
        }
    }
}

static void close_problem(Problem *problem) {
    free(problem->y);
    free(problem->q);
    *problem = (Problem){0};
}

static HcStatus open_problem(Problem *problem, int32_t p, int64_t n, HcError *err) {
    size_t size = (size_t)p * (size_t)p;
    size_t values = (size_t)n * (size_t)p;
    problem->p = p;
    problem->n = n;
    problem->tau = 1;
    problem->quadratic = 1e-6;
    problem->mu = p * 1000.0 / (double)n;
    HC_OR_RETURN(hc_new(problem->y, 3 * values, "the pixels of sisal", err));
    problem->z = problem->y + values;
    problem->d = problem->z + values;
    HC_OR_RETURN(hc_new(problem->q, 7 * size, "the simplex of sisal", err));
    problem->q0 = problem->q + size;
    problem->next = problem->q0 + size;
    problem->gradient = problem->next + size;
    problem->sum = problem->gradient + size;
    problem->inverse = problem->sum + size;
    problem->scratch = problem->inverse + size;
    return HC_OK;
}

size_t hc_method_sisal_bytes(int32_t count) {
    return (size_t)SAMPLE * (size_t)count * (3 * sizeof(double) + sizeof(float));
}

/* Scales to unit variance, with a 1 below, divided by the root of the size. */
static void take_pixel(const double *x, const double *variance, int32_t p, double *y) {
    for (int32_t k = 0; k + 1 < p; k++) {
        y[k] = x[k] / sqrt(variance[k] * p);
    }
    y[p - 1] = 1 / sqrt(p);
}

static HcStatus take_sample(Problem *problem, const HcMethod *method, const double *variance, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = &method->reduced->stage->in;
    int64_t all = scene->lines * scene->samples;
    int64_t step = (all + SAMPLE - 1) / SAMPLE;
    int64_t wanted = (all + step - 1) / step;
    size_t width = (size_t)method->reduced->width;
    float *x = NULL;
    uint8_t *valid = NULL;
    int64_t n = 0;
    HC_TRY(hc_new(x, (size_t)wanted * width, "the pixels of sisal", err));
    HC_TRY(hc_new(valid, wanted, "the pixels of sisal", err));
    HC_TRY(hc_reduced_sample(method->reduced, step, wanted, x, valid, err));
    for (int64_t i = 0; i < wanted; i++) {
        n += valid[i];
    }
    if (n < method->count) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "endmembers: sisal looks at %lld pixels, %d endmembers are wanted",
                       (long long)n, method->count));
    }
    HC_TRY(open_problem(problem, method->count, n, err));
    n = 0;
    for (int64_t i = 0; i < wanted; i++) {
        double wide[HC_ENDMEMBERS_MAX];
        for (size_t k = 0; k < width && valid[i]; k++) {
            wide[k] = (double)x[(size_t)i * width + k];
        }
        if (valid[i]) {
            take_pixel(wide, variance, method->count, problem->y + (size_t)n++ * (size_t)method->count);
        }
    }
done:
    free(x);
    free(valid);
    return status;
}

/* Begins with the simplex of vca, grown about its middle, and the constant parts of the problem. */
static HcStatus begin(Problem *problem, const HcMethod *method, const double *variance, HcError *err) {
    HcStatus status = HC_OK;
    int32_t p = problem->p;
    size_t width = (size_t)p - 1;
    int64_t *pixel = NULL;
    double *x = NULL;
    HC_TRY(hc_new(pixel, p, "endmembers", err));
    HC_TRY(hc_new(x, (size_t)p * (width + 1), "endmembers", err));
    HC_TRY(hc_method_vca(method, pixel, err));
    HC_TRY(hc_reduced_fetch(method->reduced, pixel, p, x, err));
    for (size_t k = 0; k < width; k++) {
        double middle = 0;
        for (int32_t j = 0; j < p; j++) {
            middle += x[(size_t)j * width + k] / p;
        }
        for (int32_t j = 0; j < p; j++) {
            double *value = &x[(size_t)j * width + k];
            *value += p * (*value - middle);
        }
    }
    for (int32_t j = 0; j < p; j++) {
        double y[HC_ENDMEMBERS_MAX];
        take_pixel(x + (size_t)j * width, variance, p, y);
        for (int32_t k = 0; k < p; k++) {
            *at(problem->next, p, k, j) = y[k];
        }
    }
    if (!isfinite(hc_invert(problem->next, problem->q, p))) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "endmembers: the pixels span no simplex of %d corners", p));
    }
    for (int64_t i = 0; i < problem->n; i++) {
        const double *y = problem->y + (size_t)i * (size_t)p;
        shares_of(problem->q, y, p, problem->z + (size_t)i * (size_t)p);
        for (int32_t j = 0; j < p; j++) {
            for (int32_t k = 0; k < p; k++) {
                *at(problem->scratch, p, j, k) += problem->mu * y[j] * y[k];
            }
        }
    }
    for (int32_t k = 0; k < p; k++) {
        *at(problem->scratch, p, k, k) += problem->quadratic;
    }
    (void)hc_invert(problem->scratch, problem->inverse, p);
done:
    free(pixel);
    free(x);
    return status;
}

HcStatus hc_method_sisal(const HcMethod *method, const double *variance, double *endmember, int64_t *sampled,
                         HcError *err) {
    HcStatus status = HC_OK;
    Problem problem = {0};
    int32_t p = method->count;
    HC_TRY(take_sample(&problem, method, variance, err));
    HC_TRY(begin(&problem, method, variance, err));
    for (int32_t k = 0; k < OUTER; k++) {
        improve(&problem, k + 1 < OUTER ? INNER : LAST);
    }
    /* M = inv(Q), its columns are the corners. */
    if (!isfinite(hc_invert(problem.q, problem.next, p))) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "endmembers: sisal found no simplex of %d corners", p));
    }
    for (int32_t j = 0; j < p; j++) {
        for (int32_t k = 0; k + 1 < p; k++) {
            endmember[(size_t)j * (size_t)(p - 1) + (size_t)k] =
                *at(problem.next, p, k, j) * sqrt(variance[k] * p);
        }
    }
    *sampled = problem.n;
done:
    close_problem(&problem);
    return status;
}
