/* For the tests of denoise with columns: a scene and its truth, and what a step leaves between them. */
#ifndef HC_TESTS_PIPELINE_STAGES_DENOISED_H
#define HC_TESTS_PIPELINE_STAGES_DENOISED_H

#include "tests/support/reference.h"
#include "tests/support/strict_runs.h"
#include "tests/support/truth.h"

#include <stdio.h>

typedef struct Scene {
    Cube truth, cube;
} Scene;

static inline void free_scene(Scene *scene) {
    cube_free(&scene->truth);
    cube_free(&scene->cube);
}

/* What is added to a scene. */
typedef struct Stripes {
    double offset, gain, line; /* deviations of normal numbers, for each column, or line, and band */
    double share;              /* of the columns that have any; 0 = all have */
    bool true_noise;           /* the noise, of variance 1, is part of the truth */
} Stripes;

/* A value of the scene without stripes and noise. */
typedef double ValueOf(const void *how, int32_t line, int32_t sample, int32_t band);

static inline Scene make_striped(const int32_t shape[3], ValueOf *value_of, const void *how, Stripes stripes,
                                 uint64_t seed) {
    Scene scene = {cube_new(shape[0], shape[1], shape[2]), cube_new(shape[0], shape[1], shape[2])};
    Cube offset = cube_new(1, shape[1], shape[2]), gain = cube_new(1, shape[1], shape[2]);
    Cube of_line = cube_new(shape[0], 1, shape[2]);
    for (int32_t s = 0; s < shape[1]; s++) {
        bool has = stripes.share <= 0 || random_uniform(&seed) < stripes.share;
        for (int32_t b = 0; b < shape[2]; b++) {
            cube_pixel(&offset, 0, s)[b] = has * stripes.offset * random_normal(&seed);
            cube_pixel(&gain, 0, s)[b] = 1 + has * stripes.gain * random_normal(&seed);
        }
    }
    for (int32_t v = 0; v < shape[0] * shape[2]; v++) {
        of_line.value[v] = stripes.line * random_normal(&seed);
    }
    for (int32_t line = 0; line < shape[0]; line++) {
        for (int32_t s = 0; s < shape[1]; s++) {
            for (int32_t b = 0; b < shape[2]; b++) {
                double truth = value_of(how, line, s, b), noise = random_normal(&seed);
                double value = cube_pixel(&gain, 0, s)[b] * (truth + noise) + cube_pixel(&offset, 0, s)[b];
                cube_pixel(&scene.truth, line, s)[b] = truth + (stripes.true_noise ? noise : 0);
                cube_pixel(&scene.cube, line, s)[b] =
                    (double)(float)(value + cube_pixel(&of_line, line, 0)[b]);
            }
        }
    }
    cube_free(&offset);
    cube_free(&gain);
    cube_free(&of_line);
    return scene;
}

/* Mean square error over the valid pixels, in out.img, of what a step makes of scene.img. notes: NULL, or
 * they are added. */
static inline double error_of(const Scene *scene, const char *step, HcText *notes) {
    RunHow how = {.notes = notes};
    check_runs(&how, "read scene.img ! %s ! write out.img --overwrite", step);
    size_t bands = (size_t)scene->cube.bands;
    Cube out = cube_read_floats("out", scene->cube.lines, scene->cube.samples, scene->cube.bands);
    double sum = 0;
    double count = 0;
    for (size_t p = 0; p < cube_pixels(&out); p++) {
        for (size_t b = 0; b < bands && scene->cube.valid[p] != 0; b++) {
            double error = out.value[p * bands + b] - scene->truth.value[p * bands + b];
            sum += error * error;
            count++;
        }
    }
    assert_true(count > 0 && isfinite(sum));
    printf("%-50s error %.4f\n", step, sum / count);
    cube_free(&out);
    return sum / count;
}

#endif
