#include "pipeline/picture/image.h"
#include "core/allocate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

HcStatus hc_image_init(HcImage *image, int32_t width, int32_t height, HcError *err) {
    *image = (HcImage){0};
    if (width < 1 || height < 1) {
        return hc_fail(err, HC_E_USAGE, "an image of %d x %d pixels", width, height);
    }
    size_t bytes = (size_t)width * (size_t)height * 4;
    uint8_t *pixels = NULL;
    HC_OR_RETURN(hc_new(pixels, bytes, "an image", err));
    memset(pixels, 255, bytes);
    *image = (HcImage){width, height, pixels};
    return HC_OK;
}

void hc_image_clear(HcImage *image) {
    if (image != NULL) {
        free(image->pixels);
        *image = (HcImage){0};
    }
}

/* ---- values to colours ---- */

static void swap(float *a, float *b) {
    float t = *a;
    *a = *b;
    *b = t;
}

/* The value of that rank; values[0..rank] are then the lowest (Hoare's selection). */
static float select_rank(float *values, size_t count, size_t rank) {
    size_t first = 0, last = count - 1;
    while (first < last) {
        float pivot = values[first + (last - first) / 2];
        size_t i = first, j = last;
        for (;;) {
            while (values[i] < pivot) {
                i++;
            }
            while (pivot < values[j]) {
                j--;
            }
            if (i >= j) {
                break;
            }
            swap(&values[i++], &values[j--]);
        }
        /* Now [first..j] <= pivot <= [j+1..last], whether i met j or passed it. */
        if (i == j && rank == j) {
            break;
        }
        if (rank <= j) {
            last = i == j ? j - 1 : j;
        } else {
            first = j + 1;
        }
    }
    return values[rank];
}

static size_t rank_of(double percent, size_t count) {
    double rank = floor(percent / 100 * (double)(count - 1) + 0.5);
    return rank <= 0 ? 0 : rank >= (double)(count - 1) ? count - 1 : (size_t)rank;
}

static bool is_shown(const float *plane, const uint8_t *valid, size_t i) {
    return (valid == NULL || valid[i] != 0) && isfinite(plane[i]);
}

HcStatus hc_image_limits(const float *plane, const uint8_t *valid, size_t count, double low, double high,
                         float limits[2], HcError *err) {
    limits[0] = 0;
    limits[1] = 1;
    float *values = NULL;
    HC_OR_RETURN(hc_new(values, count, "the values of a preview", err));
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_shown(plane, valid, i)) {
            values[used++] = plane[i];
        }
    }
    if (used > 0) {
        limits[0] = select_rank(values, used, rank_of(low, used));
        limits[1] = select_rank(values, used, rank_of(high, used));
    }
    free(values);
    return HC_OK;
}

double hc_image_level(const float limits[2], float value) {
    double span = (double)limits[1] - limits[0];
    double level = span > 0            ? ((double)value - limits[0]) / span
                   : value < limits[0] ? 0
                   : value > limits[0] ? 1
                                       : 0.5;
    return !(level > 0) ? 0 : level > 1 ? 1 : level;
}

void hc_image_levels(const float *plane, const uint8_t *valid, size_t count, const float limits[2],
                     uint8_t *level) {
    for (size_t i = 0; i < count; i++) {
        level[i] = is_shown(plane, valid, i) ? (uint8_t)lround(255 * hc_image_level(limits, plane[i])) : 0;
    }
}

/* ---- levels to colours ---- */

HcRamp hc_image_ramp(const float limits[2]) {
    return limits[0] < 0 && limits[1] > 0 ? HC_RAMP_VIK : HC_RAMP_BATLOW;
}

double hc_image_usual_gamma(const HcScene *scene, int32_t count) {
    return count == 3 && hc_scene_is_spectral(scene) ? 1.4 : 1;
}

void hc_image_gamma(double gamma, uint8_t table[256]) {
    for (int level = 0; level < 256; level++) {
        table[level] = (uint8_t)lround(255 * pow(level / 255.0, 1 / gamma));
    }
}

void hc_image_threshold(const float *value, size_t count, double threshold, uint8_t *valid) {
    for (size_t i = 0; i < count && !isnan(threshold); i++) {
        valid[i] = valid[i] != 0 && (double)value[i] >= threshold;
    }
}

void hc_image_colour(const HcColouring *colouring, size_t pixel, uint8_t colour[4]) {
    const uint8_t *gamma = colouring->gamma, *level = colouring->level + pixel;
    if (colouring->count == 3) {
        for (size_t c = 0; c < 3; c++) {
            colour[c] = gamma[level[c * colouring->pixels]];
        }
    } else {
        hc_ramp_colour(colouring->ramp, gamma[level[0]] / 255.0, colour);
    }
    colour[3] = colouring->valid[pixel] ? 255 : 0;
}

/* Porter and Duff 1984, "over". */
static void lay(uint8_t *pixel, double opacity, const uint8_t *below) {
    double own = opacity * pixel[3] / 255, rest = below != NULL ? (1 - own) * below[3] / 255 : 0;
    for (int c = 0; c < 3 && rest > 0; c++) {
        pixel[c] = (uint8_t)lround((own * pixel[c] + rest * below[c]) / (own + rest));
    }
    pixel[3] = (uint8_t)lround(255 * (own + rest));
}

void hc_image_lay(HcImage *image, int32_t width, int32_t height, double opacity, const uint8_t *below) {
    for (int32_t y = 0; y < height; y++) {
        uint8_t *row = image->pixels + 4 * (size_t)y * (size_t)image->width;
        for (int32_t x = 0; x < width; x++) {
            size_t at = 4 * ((size_t)y * (size_t)width + (size_t)x);
            lay(row + 4 * (size_t)x, opacity, below != NULL ? below + at : NULL);
        }
    }
}
