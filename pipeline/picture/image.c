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

static uint8_t level_of(const float limits[2], float value) {
    if (limits[1] <= limits[0]) {
        return value < limits[0] ? 0 : value > limits[0] ? 255 : 128;
    }
    double level = ((double)value - limits[0]) / ((double)limits[1] - limits[0]) * 255;
    return level <= 0 ? 0 : level >= 255 ? 255 : (uint8_t)(level + 0.5);
}

void hc_image_levels(const float *plane, const uint8_t *valid, size_t count, const float limits[2],
                     uint8_t *level) {
    for (size_t i = 0; i < count; i++) {
        level[i] = is_shown(plane, valid, i) ? level_of(limits, plane[i]) : 0;
    }
}

/* Viridis (Smith and van der Walt, CC0) at 16 even steps. */
static const uint8_t viridis[16][3] = {
    {0x44, 0x01, 0x54}, {0x48, 0x1a, 0x6c}, {0x47, 0x2f, 0x7d}, {0x41, 0x44, 0x87},
    {0x39, 0x56, 0x8c}, {0x31, 0x68, 0x8e}, {0x2a, 0x78, 0x8e}, {0x23, 0x88, 0x8e},
    {0x1f, 0x98, 0x8b}, {0x22, 0xa8, 0x84}, {0x35, 0xb7, 0x79}, {0x54, 0xc5, 0x68},
    {0x7a, 0xd1, 0x51}, {0xa5, 0xdb, 0x36}, {0xd2, 0xe2, 0x1b}, {0xfd, 0xe7, 0x25},
};

void hc_image_viridis(uint8_t level, uint8_t rgb[3]) {
    /* 255 is 15 steps of 17. */
    int step = level / 17, part = level % 17;
    const uint8_t *a = viridis[step], *b = viridis[part == 0 ? step : step + 1];
    for (int c = 0; c < 3; c++) {
        rgb[c] = (uint8_t)((a[c] * (17 - part) + b[c] * part + 8) / 17);
    }
}
