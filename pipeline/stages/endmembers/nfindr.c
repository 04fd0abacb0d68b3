/* N-FINDR (Winter 1999): the simplex of pixels with the largest volume.
 *
 * With the endmembers in the columns of M, each with a 1 behind its coordinates, inv(M) [x; 1] are the shares
 * of a pixel, and their sizes are exactly the volumes that result when the pixel replaces an endmember,
 * relative to the present one. So one scan finds the best of all replacements; where none enlarges the
 * simplex, it ends. All starts share the scans.
 */
#include "core/allocate.h"
#include "pipeline/stages/endmembers/methods.h"

#include <math.h>
#include <string.h>

enum { SCANS_MAX = 10000 };

/* Less may be rounding. */
static const double least_gain = 1e-9;

typedef struct Simplices {
    const HcMethod *method;
    double *shares;    /* [starts][count][count]: inv(M) */
    double *x;         /* [starts][count][width] */
    double *matrix;    /* [count][count] */
    double *volume;    /* [starts] log |det M| */
    uint8_t *finished; /* [starts] */
    int32_t *open;     /* [open_count] the starts that are not finished */
    int32_t open_count;
    double needed; /* the squared length that a pixel needs to enlarge one of these */
    double *lanes; /* [of HC_LANES of them][count][count][HC_LANES]: their shares, the last number first */
} Simplices;

/* The shares of a pixel in one simplex. */
static void offer(const Simplices *simplices, int32_t start, const float *x, int64_t pixel, HcBest *best) {
    int32_t count = simplices->method->count;
    int32_t width = count - 1;
    const double *row = simplices->shares + (size_t)start * (size_t)count * (size_t)count;
    for (int32_t j = 0; j < count; j++, row += count) {
        double share = row[width];
        for (int32_t k = 0; k < width; k++) {
            share += row[k] * (double)x[k];
        }
        hc_best_offer(best, fabs(share), pixel, j);
    }
}

static void score(const void *user, const float *x, int64_t pixel, int32_t pixels, HcBest *best) {
    const Simplices *simplices = user;
    int32_t count = simplices->method->count;
    double wide[HC_ENDMEMBERS_MAX][HC_PIXELS];
    double largest[HC_PIXELS][HC_LANES];
    HcLongPixels some = {.x = x, .weight = simplices->method->weight, .width = count - 1, .pixels = pixels};
    while (hc_find_long(&some, simplices->needed)) {
        hc_widen(&some, wide);
        const double *lanes = simplices->lanes;
        for (int32_t i = 0; i < simplices->open_count; i++) {
            if (i % HC_LANES == 0) {
                hc_largest_sums(lanes, count, count - 1, wide, largest);
                lanes += (size_t)count * (size_t)count * HC_LANES;
            }
            int32_t start = simplices->open[i];
            for (int32_t p = 0; p < some.few; p++) {
                int32_t number = some.number[p];
                if (largest[p][i % HC_LANES] >= best[start].score) {
                    offer(simplices, start, x + number * (count - 1), pixel + number, &best[start]);
                }
            }
        }
    }
}

/* Lays the shares of open starts side by side. */
static void lay_lanes(Simplices *simplices) {
    size_t count = (size_t)simplices->method->count;
    simplices->open_count = 0;
    simplices->needed = INFINITY;
    for (int32_t s = 0; s < simplices->method->starts; s++) {
        if (simplices->finished[s]) {
            continue;
        }
        int32_t i = simplices->open_count++;
        const double *shares = simplices->shares + (size_t)s * count * count;
        double *lane = simplices->lanes + (size_t)(i / HC_LANES) * count * count * HC_LANES + i % HC_LANES;
        simplices->open[i] = s;
        for (size_t j = 0; j < count * count; j++) {
            size_t row = j / count * count;
            lane[(row + (j + 1 - row) % count) * HC_LANES] = shares[j];
        }
        for (const double *row = shares; row < shares + count * count; row += count) {
            simplices->needed =
                fmin(simplices->needed,
                     hc_needed_length(row, simplices->method->weight, (int32_t)count - 1, row[count - 1], 1));
        }
    }
}

static void measure(Simplices *simplices, int32_t start) {
    int32_t count = simplices->method->count;
    int32_t width = count - 1;
    const double *x = simplices->x + (size_t)start * (size_t)count * (size_t)width;
    for (int32_t j = 0; j < count; j++) {
        for (int32_t k = 0; k < width; k++) {
            simplices->matrix[(size_t)k * (size_t)count + (size_t)j] =
                x[(size_t)j * (size_t)width + (size_t)k];
        }
        simplices->matrix[(size_t)width * (size_t)count + (size_t)j] = 1;
    }
    double *shares = simplices->shares + (size_t)start * (size_t)count * (size_t)count;
    simplices->volume[start] = hc_invert(simplices->matrix, shares, count);
    if (!isfinite(simplices->volume[start])) {
        simplices->finished[start] = 1;
    }
}

/* Replaces an endmember of each start that a pixel enlarges; says whether there was one. */
static HcStatus improve(Simplices *simplices, int64_t *pixel, HcBest *best, bool *any, HcError *err) {
    const HcMethod *method = simplices->method;
    size_t width = (size_t)method->count - 1;
    *any = false;
    for (int32_t s = 0; s < method->starts; s++) {
        best[s] = (HcBest){.pixel = -1};
    }
    lay_lanes(simplices);
    HC_OR_RETURN(hc_reduced_search(method->reduced, score, simplices, best, method->starts, err));
    for (int32_t s = 0; s < method->starts; s++) {
        bool gains = !simplices->finished[s] && best[s].pixel >= 0 && best[s].score > 1 + least_gain;
        simplices->finished[s] = !gains;
        if (gains) {
            size_t place = (size_t)s * (size_t)method->count + (size_t)best[s].which;
            pixel[place] = best[s].pixel;
            HC_OR_RETURN(
                hc_reduced_fetch(method->reduced, &pixel[place], 1, simplices->x + place * width, err));
            measure(simplices, s);
            *any = true;
        }
    }
    return HC_OK;
}

/* The first start is that of vca with one seed, the others those of further seeds. */
static HcStatus begin(Simplices *simplices, const HcMethod *method, int64_t *pixel, HcError *err) {
    size_t count = (size_t)method->count;
    size_t starts = (size_t)method->starts;
    simplices->method = method;
    HC_OR_RETURN(hc_new(simplices->shares, starts * count * count, "simplices", err));
    HC_OR_RETURN(hc_new(simplices->x, starts * count * count, "simplices", err));
    HC_OR_RETURN(hc_new(simplices->matrix, count * count, "simplices", err));
    HC_OR_RETURN(hc_new(simplices->volume, starts, "simplices", err));
    HC_OR_RETURN(hc_new(simplices->finished, starts, "simplices", err));
    HC_OR_RETURN(hc_new(simplices->open, starts, "simplices", err));
    HC_OR_RETURN(hc_new(simplices->lanes, (starts + HC_LANES) * count * count, "simplices", err));
    HC_OR_RETURN(hc_vca_starts(method, pixel, err));
    HC_OR_RETURN(hc_reduced_fetch(method->reduced, pixel, (int32_t)(starts * count), simplices->x, err));
    for (int32_t s = 0; s < method->starts; s++) {
        measure(simplices, s);
    }
    return HC_OK;
}

static double log_factorial(int32_t n) {
    double sum = 0;
    for (int32_t k = 2; k <= n; k++) {
        sum += log(k);
    }
    return sum;
}

HcStatus hc_method_nfindr(const HcMethod *method, int64_t *pixel, double *log_volume, HcError *err) {
    HcStatus status = HC_OK;
    size_t count = (size_t)method->count;
    Simplices simplices = {0};
    int64_t *all = NULL;
    HcBest *best = NULL;
    bool any = true;
    int32_t largest = 0;
    HC_TRY(hc_new(all, (size_t)method->starts * count, "simplices", err));
    HC_TRY(hc_new(best, method->starts, "simplices", err));
    HC_TRY(begin(&simplices, method, all, err));
    for (int32_t scan = 0; scan < SCANS_MAX && any; scan++) {
        HC_TRY(improve(&simplices, all, best, &any, err));
    }
    for (int32_t s = 1; s < method->starts; s++) {
        bool larger = simplices.volume[s] > simplices.volume[largest] + least_gain;
        largest = larger ? s : largest;
    }
    if (!isfinite(simplices.volume[largest])) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "endmembers: the pixels span no simplex of %d corners",
                       method->count));
    }
    memcpy(pixel, all + (size_t)largest * count, count * sizeof *pixel);
    *log_volume = simplices.volume[largest] - log_factorial(method->count - 1);
done:
    free(simplices.shares);
    free(simplices.x);
    free(simplices.matrix);
    free(simplices.volume);
    free(simplices.finished);
    free(simplices.open);
    free(simplices.lanes);
    free(all);
    free(best);
    return status;
}
