/* Only the sums of one row of squares are kept while lines pass. Every rank reads all lines, so that all
 * find the same directions. The search for extremes is that of the other methods. Searches are repeated
 * while they find odd pixels, 20 times at most. */
#include "pipeline/stages/endmembers/spatial.h"
#include "core/allocate.h"
#include "core/operation/eigh/eigh.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char what[] = "candidates";

/* Odd pixels beyond those of N searches are left out alone. */
enum { SEARCHES_MAX = 20 };

int32_t hc_spatial_window(const HcSpatial *spatial) {
    int32_t side = spatial->side < HC_SPATIAL_WINDOW ? spatial->side : HC_SPATIAL_WINDOW;
    return side % 2 == 1 ? side : side - 1;
}

static int64_t squares_of(const HcScene *scene, int32_t side) {
    return ((scene->lines + side - 1) / side) * ((scene->samples + side - 1) / side);
}

HcStatus hc_spatial_check(const HcScene *scene, int32_t side, int32_t width, HcError *err) {
    int64_t squares = squares_of(scene, side);
    return squares * width <= HC_SPATIAL_DIRECTIONS
               ? HC_OK
               : hc_fail(
                     err, HC_E_USAGE,
                     "endmembers: --spatial %d: %lld squares with up to %d directions, at most %d directions "
                     "are searched: give a larger square",
                     side, (long long)squares, width, HC_SPATIAL_DIRECTIONS);
}

size_t hc_spatial_bytes(const HcScene *scene, int32_t side, int32_t width) {
    size_t w = (size_t)width;
    size_t directions = (size_t)hc_min64(squares_of(scene, side) * width, HC_SPATIAL_DIRECTIONS);
    size_t columns = ((size_t)scene->samples + (size_t)side - 1) / (size_t)side;
    return directions * (w * sizeof(double) + 2 * sizeof(HcBest) * 18 + 4 * sizeof(int64_t)) +
           columns * (1 + w + w * w) * sizeof(double) + (size_t)scene->samples * (w * sizeof(float) + 1) +
           2 * directions * (HC_SPATIAL_WINDOW * HC_SPATIAL_WINDOW + w * sizeof(float) + sizeof(int64_t));
}

void hc_spatial_clear(HcSpatial *spatial) {
    free(spatial->pixel);
    free(spatial->member);
    spatial->pixel = NULL;
    spatial->member = NULL;
}

/* ---- directions of squares ---- */

/* The sums of a row of squares, and the directions that were found. */
typedef struct Squares {
    HcStage *stage;
    int32_t width, side;
    int64_t columns;
    double *sums;      /* [columns][1 + width + width * width]: pixels, sums, sums of products */
    double *work;      /* [2 * width * width + width] */
    double *direction; /* [HC_SPATIAL_DIRECTIONS][width] */
    int32_t count;
} Squares;

static size_t sums_of_square(const Squares *squares) {
    size_t w = (size_t)squares->width;
    return 1 + w + w * w;
}

static void add_line(Squares *squares, const float *x, const uint8_t *valid, int64_t samples) {
    size_t w = (size_t)squares->width;
    for (int64_t s = 0; s < samples; s++, x += w) {
        double *sum = squares->sums + (size_t)(s / squares->side) * sums_of_square(squares);
        for (size_t a = 0; a < w && valid[s]; a++) {
            sum[1 + a] += (double)x[a];
            for (size_t b = 0; b <= a; b++) {
                sum[1 + w + a * w + b] += (double)x[a] * (double)x[b];
            }
        }
        sum[0] += valid[s];
    }
}

/* The eigenvectors of a square. Rogge et al. take those that hold 99 % of its variance in all bands; here the
 * components have left out what is noise. */
static HcStatus take_square(Squares *squares, const double *sum, HcError *err) {
    size_t w = (size_t)squares->width;
    double *matrix = squares->work;
    double *vector = matrix + w * w;
    double *value = vector + w * w;
    const double least = 1e-12; /* less is rounding */
    if (sum[0] < 2) {
        return HC_OK;
    }
    for (size_t a = 0; a < w; a++) {
        for (size_t b = 0; b <= a; b++) {
            double entry = (sum[1 + w + a * w + b] - sum[1 + a] * sum[1 + b] / sum[0]) / (sum[0] - 1);
            matrix[a * w + b] = matrix[b * w + a] = entry;
        }
    }
    HC_OR_RETURN(
        hc_eigh(squares->stage->compute, squares->width, squares->width, matrix, value, vector, err));
    for (size_t k = 0; k < w && value[k] > least * value[0]; k++) {
        memcpy(squares->direction + (size_t)squares->count * w, vector + k * w, w * sizeof *vector);
        squares->count++;
    }
    return HC_OK;
}

static HcStatus take_row(Squares *squares, HcError *err) {
    size_t values = sums_of_square(squares);
    for (int64_t c = 0; c < squares->columns; c++) {
        HC_OR_RETURN(take_square(squares, squares->sums + (size_t)c * values, err));
    }
    memset(squares->sums, 0, (size_t)squares->columns * values * sizeof *squares->sums);
    return HC_OK;
}

/* Every rank sees all lines, so that all find the same directions. */
static HcStatus find_directions(Squares *squares, const HcMethod *method, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = &squares->stage->in;
    size_t w = (size_t)squares->width;
    float *x = NULL;
    uint8_t *valid = NULL;
    HC_TRY(hc_new(x, (size_t)scene->samples * w, what, err));
    HC_TRY(hc_new(valid, scene->samples, what, err));
    HC_TRY(hc_new(squares->sums, (size_t)squares->columns * sums_of_square(squares), what, err));
    HC_TRY(hc_new(squares->work, 2 * w * w + w, what, err));
    HC_TRY(hc_new(squares->direction, HC_SPATIAL_DIRECTIONS * w, what, err));
    for (int64_t line = 0; line < scene->lines; line++) {
        HcReducedPart window = {.line = line, .lines = 1, .samples = scene->samples};
        HC_TRY(hc_reduced_window(method->reduced, window, x, valid, err));
        add_line(squares, x, valid, scene->samples);
        if ((line + 1) % squares->side == 0 || line + 1 == scene->lines) {
            HC_TRY(take_row(squares, err));
        }
    }
done:
    free(x);
    free(valid);
    return status;
}

/* ---- similar pixels ---- */

/* The product of the spectra of x and y, as the components have them. */
static double product(const HcSpatial *spatial, const float *x, const float *y, int32_t width) {
    double sum = spatial->length;
    for (int32_t k = 0; k < width; k++) {
        double along = spatial->direction != NULL ? spatial->direction[k] : 0;
        sum += (double)x[k] * (double)y[k] + along * ((double)x[k] + (double)y[k]);
    }
    return sum;
}

static HcReducedPart window_about(const HcSpatial *spatial, const HcScene *scene, int64_t pixel) {
    int64_t reach = hc_spatial_window(spatial) / 2;
    int64_t line = pixel / scene->samples;
    int64_t sample = pixel % scene->samples;
    HcReducedPart window = {.line = hc_max64(line - reach, 0), .sample = hc_max64(sample - reach, 0)};
    window.lines = hc_min64(line + reach + 1, scene->lines) - window.line;
    window.samples = hc_min64(sample + reach + 1, scene->samples) - window.sample;
    return window;
}

/* Pixels around a candidate. */
typedef struct Around {
    float *x;       /* [window * window][width] */
    uint8_t *valid; /* [window * window] */
    double *mean;   /* [width] */
} Around;

/* Marks the members of a candidate, in the order of its window, and makes their mean. Returns how many. */
static int64_t average(const HcSpatial *spatial, HcReducedPart window, int64_t own, const Around *around,
                       int32_t width, uint8_t *member) {
    const float *y = around->x + own * width;
    double length = product(spatial, y, y, width);
    double least = cos(spatial->similar);
    int64_t count = 0;
    memset(around->mean, 0, (size_t)width * sizeof *around->mean);
    for (int64_t i = 0; i < window.lines * window.samples; i++) {
        const float *x = around->x + i * width;
        double cosine = around->valid[i]
                            ? product(spatial, x, y, width) / sqrt(length * product(spatial, x, x, width))
                            : -1;
        member[i] = around->valid[i] && (i == own || cosine >= least);
        count += member[i];
        for (int32_t k = 0; k < width && member[i]; k++) {
            around->mean[k] += (double)x[k];
        }
    }
    return count;
}

/* The candidates of found[count], which keeps the *odd others; value[count][width] are the means. */
static HcStatus take_similar(HcSpatial *spatial, const HcScene *scene, const HcMethod *method, int64_t *found,
                             int64_t count, float *value, int64_t *odd, HcError *err) {
    HcStatus status = HC_OK;
    int32_t width = method->reduced->width;
    size_t places = (size_t)hc_spatial_window(spatial) * (size_t)hc_spatial_window(spatial);
    Around around = {0};
    *odd = 0;
    spatial->candidates = 0;
    HC_TRY(hc_new(around.x, places * (size_t)width, what, err));
    HC_TRY(hc_new(around.valid, places, what, err));
    HC_TRY(hc_new(around.mean, width, what, err));
    HC_TRY(hc_new(spatial->pixel, count, what, err));
    HC_TRY(hc_new(spatial->member, (size_t)count * places, what, err));
    for (int64_t c = 0; c < count; c++) {
        HcReducedPart window = window_about(spatial, scene, found[c]);
        int64_t own = (found[c] / scene->samples - window.line) * window.samples + found[c] % scene->samples -
                      window.sample;
        HC_TRY(hc_reduced_window(method->reduced, window, around.x, around.valid, err));
        int64_t members = average(spatial, window, own, &around, width,
                                  spatial->member + (size_t)spatial->candidates * places);
        if (members < 2) {
            found[(*odd)++] = found[c];
            continue;
        }
        for (int32_t k = 0; k < width; k++) {
            value[spatial->candidates * width + k] = (float)(around.mean[k] / (double)members);
        }
        spatial->pixel[spatial->candidates++] = found[c];
    }
done:
    free(around.x);
    free(around.valid);
    free(around.mean);
    return status;
}

/* One search; the *odd pixels that it finds take no part any more. */
static HcStatus search(HcSpatial *spatial, const Squares *squares, const HcMethod *method, int64_t *found,
                       float *value, int64_t *odd, HcError *err) {
    int64_t extremes = 0;
    hc_spatial_clear(spatial);
    HC_OR_RETURN(hc_extreme_pixels(method, squares->direction, squares->count, found, &extremes, err));
    HC_OR_RETURN(take_similar(spatial, &squares->stage->in, method, found, extremes, value, odd, err));
    hc_reduced_drop(method->reduced, found, *odd);
    spatial->odd += *odd;
    return HC_OK;
}

HcStatus hc_spatial_filter(HcSpatial *spatial, HcStage *stage, const HcMethod *method, HcError *err) {
    HcStatus status = HC_OK;
    int32_t width = method->reduced->width;
    Squares squares = {.stage = stage, .width = width, .side = spatial->side};
    squares.columns = (stage->in.samples + spatial->side - 1) / spatial->side;
    int64_t odd = 1;
    int64_t *found = NULL;
    float *value = NULL;
    HC_TRY(hc_spatial_check(&stage->in, spatial->side, width, err));
    HC_TRY(find_directions(&squares, method, err));
    HC_TRY(hc_new(found, 4 * (size_t)squares.count, what, err));
    HC_TRY(hc_new(value, 2 * (size_t)squares.count * (size_t)width, what, err));
    for (int32_t k = 0; k < SEARCHES_MAX && odd > 0; k++) {
        HC_TRY(search(spatial, &squares, method, found, value, &odd, err));
    }
    if (spatial->candidates < method->count) {
        HC_TRY(
            hc_fail(err, HC_E_NUMERIC,
                    "endmembers: --spatial %d: %lld candidates, and %lld extreme pixels without similar ones "
                    "around them; %d endmembers are wanted: give a smaller square or a larger --similar",
                    spatial->side, (long long)spatial->candidates, (long long)spatial->odd, method->count));
    }
    HC_TRY(hc_reduced_put(method->reduced, spatial->pixel, spatial->candidates, value, err));
    hc_reduced_keep(method->reduced, spatial->pixel, spatial->candidates);
done:
    free(squares.sums);
    free(squares.work);
    free(squares.direction);
    free(found);
    free(value);
    return status;
}

int64_t hc_spatial_members(const HcSpatial *spatial, const HcScene *scene, int64_t pixel, int64_t *member) {
    HcReducedPart window = window_about(spatial, scene, pixel);
    size_t places = (size_t)hc_spatial_window(spatial) * (size_t)hc_spatial_window(spatial);
    int64_t at = 0;
    int64_t count = 0;
    while (at + 1 < spatial->candidates && spatial->pixel[at] != pixel) {
        at++;
    }
    for (int64_t i = 0; i < window.lines * window.samples; i++) {
        if (spatial->member[(size_t)at * places + (size_t)i]) {
            member[count++] =
                (window.line + i / window.samples) * scene->samples + window.sample + i % window.samples;
        }
    }
    return count;
}
