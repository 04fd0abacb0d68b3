/* Problems of unmix for its cases: libraries, scenes mixed of them, and what an answer must satisfy. */
#ifndef HC_TESTS_CONFORMANCE_UNMIX_PROBLEM_H
#define HC_TESTS_CONFORMANCE_UNMIX_PROBLEM_H

#include "core/operation/unmix/unmix.h"
#include "tests/conformance/rig.h"

/* What the spectra look like. */
typedef enum UnmixLook {
    NORMAL, /* of both signs */
    SMOOTH, /* positive: a slope, two features and some texture each */
    ALIKE,  /* without the texture; coordinate descent would not end */
    TWICE,  /* as SMOOTH, each again, and each of twice the length */
    SHADE,  /* as SMOOTH, and one that is 0 */
    LOOKS
} UnmixLook;

/* A library, a scene mixed of it, and the rule, whose level lies in host memory here. */
typedef struct UnmixProblem {
    HcUnmixRule rule;
    UnmixLook look;
    float *spectrum; /* [spectra][bands] */
    double *weight;  /* [bands] */
    Cube cube;
} UnmixProblem;

typedef struct UnmixSize {
    int32_t spectra, bands, lines, samples;
} UnmixSize;

/* One pixel and abundances for it. */
typedef struct UnmixState {
    const UnmixProblem *problem;
    const float *pixel;
    double lambda;     /* of the pixel */
    double *abundance; /* [spectra] */
    double *residual;  /* [bands] */
} UnmixState;

/* What a pixel of the output says. */
typedef struct UnmixAnswer {
    const float *abundance;
    double rmse, iterations, gap, end;
} UnmixAnswer;

UnmixProblem unmix_problem_new(UnmixLook look, UnmixSize size, double lambda, double noise, uint64_t *seed);
void unmix_problem_free(UnmixProblem *problem);

void *unmix_open(Rig *rig, const void *rule);
RigOperation unmix_operation(const UnmixProblem *problem);
/* The whole scene. */
Cube unmix_run(const UnmixProblem *problem, int32_t threads);

UnmixState unmix_state_of(const UnmixProblem *problem, const Cube *got, int64_t pixel);
void unmix_state_free(UnmixState *state);

/* W-norms. */
double unmix_length(const UnmixProblem *problem, const float *spectrum);
/* F, without the part that does not change where abundances sum to one. */
double unmix_objective(const UnmixState *state);
double unmix_objective_at(const UnmixProblem *problem, const Cube *got, int64_t pixel);

UnmixAnswer unmix_answer_at(const UnmixProblem *problem, const Cube *got, int64_t pixel);
/* F exceeds the least value by the reported gap at most, apart from rounding abundances to float32. Where the
 * solver has converged, that gap is no larger than was asked for. Returns the gap. */
double unmix_check_pixel(const UnmixProblem *problem, const Cube *got, int64_t pixel);
/* All pixels end as asked for. */
void unmix_check_all(const UnmixProblem *problem, const Cube *got);

#endif
