/* ATGP: automatic target generation process (Ren, Chang 2003). Each endmember is the pixel that is the
 * longest once the parts along those before are taken off. */
#include "core/allocate.h"
#include "pipeline/stages/endmembers/methods.h"

#include <string.h>

typedef struct Left {
    const HcMethod *method;
    int32_t found;
    double *basis; /* [count][width] */
} Left;

static void score_pixel(const Left *left, const float *x, int64_t pixel, HcBest *best) {
    int32_t width = left->method->reduced->width;
    double rest[HC_ENDMEMBERS_MAX];
    double sum = 0;
    for (int32_t k = 0; k < width; k++) {
        rest[k] = (double)x[k];
    }
    hc_remove_parts(rest, left->basis, left->found, width);
    for (int32_t k = 0; k < width; k++) {
        sum += rest[k] * rest[k];
    }
    hc_best_offer(best, sum, pixel, 0);
}

static void score(const void *user, const float *x, int64_t pixel, int32_t pixels, HcBest *best) {
    const Left *left = user;
    for (int32_t p = 0; p < pixels; p++, x += left->method->reduced->width) {
        score_pixel(left, x, pixel + p, best);
    }
}

HcStatus hc_method_atgp(const HcMethod *method, int64_t *pixel, HcError *err) {
    HcStatus status = HC_OK;
    size_t width = (size_t)method->reduced->width;
    Left left = {.method = method};
    double *x = NULL;
    HC_TRY(hc_new(left.basis, (size_t)method->count * width, "the space of the endmembers", err));
    HC_TRY(hc_new(x, (size_t)method->count * width, "endmembers", err));
    for (int32_t k = 0; k < method->count; k++) {
        HcBest best = {.pixel = -1};
        HC_TRY(hc_reduced_search(method->reduced, score, &left, &best, 1, err));
        pixel[k] = best.pixel;
        HC_TRY(hc_reduced_fetch(method->reduced, &pixel[k], 1, x + (size_t)k * width, err));
        memcpy(left.basis, x, (size_t)(k + 1) * width * sizeof *x);
        left.found = hc_orthonormal(left.basis, k + 1, method->reduced->width);
    }
done:
    free(left.basis);
    free(x);
    return status;
}
