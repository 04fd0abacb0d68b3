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
