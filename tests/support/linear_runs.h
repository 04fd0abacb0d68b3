/* What tests of pca and mnf repeat: both stages have the same options, models and outputs. `stage` is the
 * word of one of them. */
#ifndef HC_TESTS_SUPPORT_LINEAR_RUNS_H
#define HC_TESTS_SUPPORT_LINEAR_RUNS_H

#include "pipeline/statistics/transform.h"
#include "tests/support/reference.h"

/* To be cleared; fails the test where the file holds no model of that stage. */
HcTransform model_load(const char *path, const char *stage);

/* Fails the test unless NAME.img has the expected components within 1e-4 of their deviations, whose squares
 * are values[expected->bands], and NaN in all bands of masked pixels. */
void check_components(const char *name, const Cube *expected, const double *values);

/* Runs the stage over `cube`, which has integers up to 30000 and the nodata value 0, and back: by the stage
 * before, and by a model file. Fails the test unless both give the scene, nodata included. */
void check_inverse(const char *stage, const Cube *cube);

/* Drops all components but the first `kept`, in one step, in two, and by a model file. Fails the test unless
 * all give the same bytes, which are mean + sum over k of loading[b][k] y[k] with y = forward' (x - mean),
 * both [bands][bands]. */
void check_denoise(const char *stage, const Cube *cube, const double *mean, const double *forward,
                   const double *loading, int32_t kept);

/* Saves the model in two ways and loads it. Fails the test unless models and outputs have the same bytes,
 * --fit-only hands on the scene, and the stage `other` refuses the model. */
void check_saved_model(const char *stage, const char *other, const Cube *cube);

#endif
