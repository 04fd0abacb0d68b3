/* PPI: the pixel purity index (Boardman, Kruse, Green 1995). Pixels that are extreme along random directions
 * (skewers) are candidates; N-FINDR chooses the corners among them, as a user of the n-D visualiser would.
 *
 * Skewers share a scan, so that it is read once. */
#include "core/allocate.h"
#include "pipeline/stages/endmembers/methods.h"

#include <string.h>

typedef struct Skewers {
    int32_t width, count;
    const double *f; /* [count][width] */
} Skewers;

static void score_pixel(const Skewers *skewers, const float *x, int64_t pixel, HcBest *best) {
    int32_t width = skewers->width;
    const double *f = skewers->f;
    for (int32_t s = 0; s < skewers->count; s++, f += width) {
        double sum = 0;
        for (int32_t k = 0; k < width; k++) {
            sum += f[k] * (double)x[k];
        }
        hc_best_offer(&best[2 * s], sum, pixel, 0);
        hc_best_offer(&best[2 * s + 1], -sum, pixel, 0);
    }
}

static void score(const void *user, const float *x, int64_t pixel, int32_t pixels, HcBest *best) {
    const Skewers *skewers = user;
    for (int32_t p = 0; p < pixels; p++, x += skewers->width) {
        score_pixel(skewers, x, pixel + p, best);
    }
}

static int by_pixel(const void *a, const void *b) {
    int64_t x = ((const HcBest *)a)->pixel;
    int64_t y = ((const HcBest *)b)->pixel;
    return (x > y) - (x < y);
}

/* Pixels without repetition in found[count], ascending, and how often each was there in times. */
static int64_t count_up(HcBest *best, int64_t count, int64_t *found, int64_t *times) {
    int64_t last = -1;
    qsort(best, (size_t)count, sizeof *best, by_pixel);
    for (int64_t k = 0; k < count; k++) {
        if (last < 0 || found[last] != best[k].pixel) {
            found[++last] = best[k].pixel;
            times[last] = 0;
        }
        times[last]++;
    }
    return last + 1;
}

static HcStatus choose(const HcMethod *method, const int64_t *found, const int64_t *times, int64_t candidates,
                       int64_t *pixel, double *purity, HcError *err) {
    double volume = 0;
    if (candidates < method->count) {
        return hc_fail(err, HC_E_NUMERIC,
                       "endmembers: only %lld pixels are extreme along %d skewers, %d endmembers are wanted",
                       (long long)candidates, method->skewers, method->count);
    }
    hc_reduced_keep(method->reduced, found, candidates);
    HC_OR_RETURN(hc_method_nfindr(method, pixel, &volume, err));
    for (int32_t k = 0; k < method->count; k++) {
        int64_t at = 0;
        while (at + 1 < candidates && found[at] != pixel[k]) {
            at++;
        }
        purity[k] = (double)times[at];
    }
    return HC_OK;
}

HcStatus hc_extreme_pixels(const HcMethod *method, const double *direction, int32_t directions,
                           int64_t *found, int64_t *count, HcError *err) {
    HcStatus status = HC_OK;
    int32_t ends = 2 * directions;
    Skewers skewers = {.width = method->reduced->width, .count = directions, .f = direction};
    HcBest *best = NULL;
    HC_OR_RETURN(hc_new(best, ends, "extreme pixels", err));
    for (int32_t k = 0; k < ends; k++) {
        best[k].pixel = -1;
    }
    HC_TRY(hc_reduced_search(method->reduced, score, &skewers, best, ends, err));
    *count = count_up(best, ends, found, found + ends);
done:
    free(best);
    return status;
}

HcStatus hc_method_ppi(const HcMethod *method, int64_t *pixel, double *purity, HcError *err) {
    HcStatus status = HC_OK;
    int32_t width = method->reduced->width;
    size_t ends = 2 * (size_t)method->skewers;
    uint64_t seed = method->seed;
    int64_t candidates = 0;
    double *f = NULL;
    int64_t *found = NULL;
    HC_TRY(hc_new(f, (size_t)method->skewers * (size_t)width, "skewers", err));
    HC_TRY(hc_new(found, 2 * ends, "extreme pixels", err));
    for (int64_t i = 0; i < (int64_t)method->skewers * width; i++) {
        f[i] = hc_seed_normal(&seed);
    }
    HC_TRY(hc_extreme_pixels(method, f, method->skewers, found, &candidates, err));
    HC_TRY(choose(method, found, found + ends, candidates, pixel, purity, err));
done:
    free(f);
    free(found);
    return status;
}
