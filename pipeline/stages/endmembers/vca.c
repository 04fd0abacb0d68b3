/* VCA: vertex component analysis (Nascimento, Bioucas-Dias 2005). Each endmember is the pixel that is the
 * farthest along a random direction perpendicular to those before. */
#include "core/allocate.h"
#include "pipeline/stages/endmembers/methods.h"

#include <math.h>
#include <string.h>

/* Directions f[starts][size] that pixels are compared along. */
typedef struct Directions {
    const HcMethod *method;
    int32_t size;  /* of y: count */
    double lift;   /* the last number of y, where x are centred */
    double *f;     /* [starts][size] */
    double *lanes; /* [of HC_LANES starts][1 + width][HC_LANES]: f, with the part of the lift first */
    double *basis; /* [size][size] */
    double *y;     /* [starts][found ...][size]: those that are found */
    double *x;     /* [starts][width] */
    int64_t *pixel;
} Directions;

/* What the product of a pixel is divided by, at most 0 where it is not compared. */
static double divisor_of(const HcMethod *method, const float *x) {
    double divisor = method->direction != NULL ? 0 : 1;
    for (int32_t k = 0; k < method->reduced->width && method->direction != NULL; k++) {
        divisor += method->direction[k] * (double)x[k];
    }
    return divisor;
}

/* The square of the length that a pixel needs to be the best one of any of HC_LANES starts. */
static double needed_length(const Directions *to, int32_t first, const HcBest *best) {
    const HcMethod *method = to->method;
    double needed = method->centred ? INFINITY : 0;
    for (int32_t s = first; s < first + HC_LANES && s < method->starts && needed > 0; s++) {
        const double *f = to->f + (size_t)s * (size_t)to->size;
        needed = fmin(needed, hc_needed_length(f, method->weight, method->reduced->width,
                                               f[to->size - 1] * to->lift, best[s].score));
    }
    return needed;
}

static void score(const void *user, const float *x, int64_t pixel, int32_t pixels, HcBest *best) {
    const Directions *to = user;
    const HcMethod *method = to->method;
    int32_t width = method->reduced->width;
    double wide[HC_ENDMEMBERS_MAX][HC_PIXELS];
    double largest[HC_PIXELS][HC_LANES];
    double needed[(HC_STARTS_MAX + HC_LANES - 1) / HC_LANES];
    double least = INFINITY;
    HcLongPixels some = {.x = x, .weight = method->weight, .width = width, .pixels = pixels};
    for (int32_t s = 0; s < method->starts; s += HC_LANES) {
        needed[s / HC_LANES] = needed_length(to, s, best);
        least = fmin(least, needed[s / HC_LANES]);
    }
    while (hc_find_long(&some, least)) {
        double divisor[HC_PIXELS];
        hc_widen(&some, wide);
        for (int32_t p = 0; p < some.few; p++) {
            divisor[p] = divisor_of(method, x + some.number[p] * width);
        }
        for (int32_t s = 0; s < method->starts; s++) {
            if (s % HC_LANES == 0 && some.longest < needed[s / HC_LANES]) {
                s += HC_LANES - 1;
                continue;
            }
            if (s % HC_LANES == 0) {
                hc_largest_sums(to->lanes + (size_t)s * (size_t)(width + 1), 1, width, wide, largest);
            }
            for (int32_t p = 0; p < some.few; p++) {
                if (divisor[p] > 0) {
                    hc_best_offer(&best[s], largest[p][s % HC_LANES] / divisor[p], pixel + some.number[p], 0);
                }
            }
        }
    }
}

static void lay_lane(const Directions *to, int32_t start) {
    size_t width = (size_t)to->method->reduced->width;
    const double *f = to->f + (size_t)start * (size_t)to->size;
    double *lane = to->lanes + (size_t)(start / HC_LANES) * (width + 1) * HC_LANES + start % HC_LANES;
    lane[0] = (size_t)to->size > width ? f[width] * to->lift : 0;
    for (size_t k = 0; k < width; k++) {
        lane[(k + 1) * HC_LANES] = f[k];
    }
}

static void score_length(const void *user, const float *x, int64_t pixel, int32_t pixels, HcBest *best) {
    const HcMethod *method = user;
    int32_t width = method->reduced->width;
    for (int32_t p = 0; p < pixels; p++, x += width) {
        double sum = 0;
        for (int32_t k = 0; k < width; k++) {
            sum += (double)x[k] * (double)x[k];
        }
        hc_best_offer(best, sum, pixel + p, 0);
    }
}

/* y of a pixel x: on the plane where its product with the direction of the mean is 1, or lifted. */
static void lift(const Directions *to, const double *x, double *y) {
    const HcMethod *method = to->method;
    int32_t width = method->reduced->width;
    double divisor = method->direction != NULL ? 0 : 1;
    for (int32_t k = 0; k < width && method->direction != NULL; k++) {
        divisor += method->direction[k] * x[k];
    }
    for (int32_t k = 0; k < width; k++) {
        y[k] = x[k] / divisor;
    }
    if (to->size > width) {
        y[width] = to->lift;
    }
}

/* A direction perpendicular to what a start has found; at first to the last axis. */
static void aim(const Directions *to, int32_t start, int32_t found, uint64_t *seed) {
    size_t size = (size_t)to->size;
    double *f = to->f + (size_t)start * size;
    const double *y = to->y + (size_t)start * size * size;
    int32_t columns = found > 0 ? found : 1;
    memcpy(to->basis, y, (size_t)columns * size * sizeof *y);
    if (found == 0) {
        memset(to->basis, 0, size * sizeof *to->basis);
        to->basis[size - 1] = 1;
    }
    columns = hc_orthonormal(to->basis, columns, to->size);
    for (size_t k = 0; k < size; k++) {
        f[k] = hc_seed_normal(seed);
    }
    hc_remove_parts(f, to->basis, columns, to->size);
    (void)hc_orthonormal(f, 1, to->size);
}

static HcStatus step(Directions *to, int32_t found, uint64_t *seeds, int64_t *pixel, HcError *err) {
    HcStatus status = HC_OK;
    const HcMethod *method = to->method;
    size_t size = (size_t)to->size;
    HcBest *best = NULL;
    HC_OR_RETURN(hc_new(best, method->starts, "the best pixels", err));
    for (int32_t s = 0; s < method->starts; s++) {
        best[s].pixel = -1;
        aim(to, s, found, &seeds[s]);
        lay_lane(to, s);
    }
    HC_TRY(hc_reduced_search(method->reduced, score, to, best, method->starts, err));
    for (int32_t s = 0; s < method->starts; s++) {
        if (best[s].pixel < 0) {
            HC_TRY(hc_fail(err, HC_E_NUMERIC, "endmembers: no pixel lies on the side of the mean"));
        }
        to->pixel[s] = best[s].pixel;
        pixel[(size_t)s * (size_t)method->count + (size_t)found] = best[s].pixel;
    }
    HC_TRY(hc_reduced_fetch(method->reduced, to->pixel, method->starts, to->x, err));
    for (int32_t s = 0; s < method->starts; s++) {
        lift(to, to->x + (size_t)s * (size_t)method->reduced->width,
             to->y + ((size_t)s * size + (size_t)found) * size);
    }
done:
    free(best);
    return status;
}

static HcStatus open_directions(Directions *to, const HcMethod *method, HcError *err) {
    size_t size = (size_t)method->count;
    size_t starts = (size_t)method->starts;
    *to = (Directions){.method = method, .size = method->count};
    HC_OR_RETURN(hc_new(to->f, starts * size, "directions", err));
    HC_OR_RETURN(hc_new(to->lanes, (starts + HC_LANES) * (size + 1), "directions", err));
    HC_OR_RETURN(hc_new(to->basis, size * size, "directions", err));
    HC_OR_RETURN(hc_new(to->y, starts * size * size, "directions", err));
    HC_OR_RETURN(hc_new(to->x, starts * size, "directions", err));
    HC_OR_RETURN(hc_new(to->pixel, starts, "directions", err));
    if (method->centred) {
        HcBest best = {.pixel = -1};
        HC_OR_RETURN(hc_reduced_search(method->reduced, score_length, method, &best, 1, err));
        to->lift = sqrt(best.score);
    }
    return HC_OK;
}

static void close_directions(Directions *to) {
    free(to->f);
    free(to->lanes);
    free(to->basis);
    free(to->y);
    free(to->x);
    free(to->pixel);
}

/* The start whose simplex is the largest, in the coordinates that were compared. */
static int32_t largest(const Directions *to) {
    size_t size = (size_t)to->size;
    int32_t best = 0;
    double most = -INFINITY;
    for (int32_t s = 0; s < to->method->starts && to->method->starts > 1; s++) {
        double volume = hc_invert(to->y + (size_t)s * size * size, to->basis, to->size);
        if (volume > most) {
            most = volume;
            best = s;
        }
    }
    return best;
}

static HcStatus run_starts(Directions *to, const HcMethod *method, int64_t *pixel, HcError *err) {
    HcStatus status = HC_OK;
    uint64_t *seeds = NULL;
    HC_OR_RETURN(hc_new(seeds, method->starts, "seeds", err));
    for (int32_t s = 0; s < method->starts; s++) {
        seeds[s] = method->seed + ((uint64_t)s << 32);
    }
    for (int32_t found = 0; found < method->count; found++) {
        HC_TRY(step(to, found, seeds, pixel, err));
    }
done:
    free(seeds);
    return status;
}

HcStatus hc_vca_starts(const HcMethod *method, int64_t *pixel, HcError *err) {
    HcStatus status = HC_OK;
    Directions to = {0};
    HC_TRY(open_directions(&to, method, err));
    HC_TRY(run_starts(&to, method, pixel, err));
done:
    close_directions(&to);
    return status;
}

HcStatus hc_method_vca(const HcMethod *method, int64_t *pixel, HcError *err) {
    HcStatus status = HC_OK;
    Directions to = {0};
    int64_t *all = NULL;
    size_t count = (size_t)method->count;
    HC_TRY(hc_new(all, (size_t)method->starts * count, "starts", err));
    HC_TRY(open_directions(&to, method, err));
    HC_TRY(run_starts(&to, method, all, err));
    memcpy(pixel, all + (size_t)largest(&to) * count, count * sizeof *pixel);
done:
    close_directions(&to);
    free(all);
    return status;
}
