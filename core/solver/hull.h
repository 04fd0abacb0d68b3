/* The continuum of a spectrum, and the figures of an absorption feature below it: what both backends compute
 * alike, in float64. Wavelengths x ascend. A value that is missing is NaN. */
#ifndef HC_CORE_SOLVER_HULL_H
#define HC_CORE_SOLVER_HULL_H

#include "core/status.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

/* A straight line, from the point (x, y) to (x + dx, y + dy); dx > 0. */
typedef struct HcHullLine {
    double x, y, dx, dy;
} HcHullLine;

HC_ANYWHERE HcHullLine hc_hull_line(const double *x, const double *y, int32_t from, int32_t to) {
    HcHullLine line = {x[from], y[from], x[to] - x[from], y[to] - y[from]};
    return line;
}

/* How far a point lies above the line, times dx. NaN where y is missing. */
HC_ANYWHERE double hc_hull_above(HcHullLine line, double x, double y) {
    return (y - line.y) * line.dx - (x - line.x) * line.dy;
}

/* The line at x: y to the last bit where it begins. */
HC_ANYWHERE double hc_hull_on(HcHullLine line, double x) {
    return line.y + (x - line.x) * (line.dy / line.dx);
}

/* The highest of the values from `begin` on, the first of equal ones; -1 = none is there. */
HC_ANYWHERE int32_t hc_hull_highest(const double *y, int32_t begin, int32_t end) {
    int32_t at = -1;
    double top = -INFINITY;
    for (int32_t k = begin; k < end; k++) {
        bool higher = y[k] > top;
        at = higher ? k : at;
        top = higher ? y[k] : top;
    }
    return at;
}

/* Corners [count] of the points before k become those with k; returns their count. Those at or below a line
 * to k are none any more. */
HC_ANYWHERE int32_t hc_hull_push(const double *x, const double *y, int32_t *corner, int32_t count,
                                 int32_t k) {
    while (count >= 2 && !(hc_hull_above(hc_hull_line(x, y, corner[count - 2], k), x[corner[count - 1]],
                                         y[corner[count - 1]]) > 0)) {
        count--;
    }
    corner[count] = k;
    return count + 1;
}

/* The next value that is there, from k in steps of 1 or -1; -1 = none. */
HC_ANYWHERE int32_t hc_hull_beside(const double *y, int32_t count, int32_t k, int32_t step) {
    for (k += step; k >= 0 && k < count; k += step) {
        if (y[k] == y[k]) {
            return k;
        }
    }
    return -1;
}

/* hull[k] from the first corner to the last, whose count lies behind them. */
HC_ANYWHERE void hc_hull_fill(const double *x, const double *y, int32_t count, const int32_t *corner,
                              double *hull, int32_t lane, int32_t lanes) {
    for (int32_t c = 0; c + 1 < corner[count]; c++) {
        HcHullLine line = hc_hull_line(x, y, corner[c], corner[c + 1]);
        for (int32_t k = corner[c] + lane; k < corner[c + 1]; k += lanes) {
            hull[k] = hc_hull_on(line, x[k]);
        }
    }
    if (lane == 0) {
        hull[corner[corner[count] - 1]] = y[corner[corner[count] - 1]];
    }
}

/* Bands of which the highest is a point of the first, coarse hull. */
enum { HC_HULL_BLOCK = 16 };

/* Waits for the other lanes. */
#ifdef __CUDA_ARCH__
#define HC_HULL_MEET() __syncwarp()
#else
#define HC_HULL_MEET() ((void)0)
#endif

/* hull[count]: the upper convex hull of the points (x, y), straight between its corners, and NaN beyond the
 * first and the last value that is there. corner[count + 1] is scratch. All lanes of a warp call it together;
 * on the host there is one.
 *
 * A monotone chain over all bands waits for a branch at each band that no processor foresees. So a chain over
 * the highest points of blocks of bands gives a coarse hull first. Only points that do not lie below it can
 * be corners: of 285 noisy bands 26 to 150, in 0.3 to 0.6 of the time. A second chain takes these. */
HC_ANYWHERE void hc_hull_lanes(const double *x, const double *y, int32_t count, int32_t *corner, double *hull,
                               int32_t lane, int32_t lanes) {
    int32_t first = hc_hull_beside(y, count, -1, 1);
    int32_t last = hc_hull_beside(y, count, count, -1);
    int32_t blocks = (last - first + HC_HULL_BLOCK - 2) / HC_HULL_BLOCK;
    int32_t *high = corner + count - blocks; /* read before corners reach it */
    int32_t corners = 0;
    for (int32_t k = lane; k < count; k += lanes) {
        hull[k] = NAN;
    }
    for (int32_t b = lane; b < blocks; b += lanes) {
        int32_t begin = first + 1 + b * HC_HULL_BLOCK;
        high[b] = hc_hull_highest(y, begin, begin + HC_HULL_BLOCK < last ? begin + HC_HULL_BLOCK : last);
    }
    HC_HULL_MEET();
    if (first >= 0 && lane == 0) {
        corners = hc_hull_push(x, y, corner, 0, first);
        for (int32_t b = 0; b < blocks; b++) {
            corners = high[b] >= 0 ? hc_hull_push(x, y, corner, corners, high[b]) : corners;
        }
        corner[count] = last > first ? hc_hull_push(x, y, corner, corners, last) : corners;
    }
    HC_HULL_MEET();
    if (first < 0) {
        return;
    }
    hc_hull_fill(x, y, count, corner, hull, lane, lanes);
    HC_HULL_MEET();
    if (lane == 0) {
        int32_t left = 0;
        for (int32_t k = first; k <= last; k++) {
            corner[left] = k;
            left += y[k] >= hull[k];
        }
        corners = 0;
        for (int32_t k = 0; k < left; k++) {
            corners = hc_hull_push(x, y, corner, corners, corner[k]);
        }
        corner[count] = corners;
    }
    HC_HULL_MEET();
    hc_hull_fill(x, y, count, corner, hull, lane, lanes);
    HC_HULL_MEET();
}

/* Figures of a feature, in the order of bands. */
typedef enum HcFeatureValue {
    HC_FEATURE_DEPTH,      /* 1 - the lowest value */
    HC_FEATURE_WAVELENGTH, /* of the minimum: the vertex of the parabola through the lowest band and those
                            * beside it [as x] */
    HC_FEATURE_AREA,       /* between 1 and the values, by trapezoids [as x] */
    HC_FEATURE_WIDTH,      /* between the first points on either side that reach half the depth [as x] */
    HC_FEATURE_ASYMMETRY,  /* (right - left) / width, of the parts of the width beside the minimum, -1 to 1 */
    HC_FEATURE_VALUES
} HcFeatureValue;

/* Where the feature reaches `level` beside the band `lowest`, which lies below it. */
HC_ANYWHERE double hc_feature_edge(const double *x, const double *removed, int32_t count, int32_t lowest,
                                   int32_t step, double level) {
    int32_t inner = lowest;
    int32_t outer = hc_hull_beside(removed, count, inner, step);
    while (outer >= 0 && removed[outer] < level) {
        inner = outer;
        outer = hc_hull_beside(removed, count, inner, step);
    }
    return outer < 0 ? NAN
                     : x[outer] + (x[inner] - x[outer]) *
                                      ((removed[outer] - level) / (removed[outer] - removed[inner]));
}

/* The vertex of the parabola through three points of which the second is the lowest. */
HC_ANYWHERE double hc_feature_vertex(const double *x, const double *y, int32_t a, int32_t b, int32_t c) {
    double falls = (y[b] - y[a]) / (x[b] - x[a]);
    double rises = (y[c] - y[b]) / (x[c] - x[b]);
    double bends = (rises - falls) / (x[c] - x[a]);
    return (x[a] + x[b]) / 2 - falls / (2 * bends);
}

/* to[HC_FEATURE_VALUES] from values with the continuum removed. Without any absorption depth and area are 0,
 * and the others missing. All are missing where no value is there, or where the lowest has no neighbour on
 * one side. */
HC_ANYWHERE void hc_feature(const double *x, const double *removed, int32_t count, double *to) {
    int32_t lowest = hc_hull_beside(removed, count, -1, 1);
    double area = 0;
    for (int32_t v = 0; v < HC_FEATURE_VALUES; v++) {
        to[v] = NAN;
    }
    for (int32_t j = lowest, k = j; j >= 0; j = k) {
        k = hc_hull_beside(removed, count, j, 1);
        if (k >= 0) {
            area += ((1 - removed[j]) + (1 - removed[k])) / 2 * (x[k] - x[j]);
            lowest = removed[k] < removed[lowest] ? k : lowest;
        }
    }
    int32_t left = lowest < 0 ? -1 : hc_hull_beside(removed, count, lowest, -1);
    int32_t right = lowest < 0 ? -1 : hc_hull_beside(removed, count, lowest, 1);
    if (lowest >= 0 && removed[lowest] >= 1) {
        to[HC_FEATURE_DEPTH] = to[HC_FEATURE_AREA] = 0;
    } else if (left >= 0 && right >= 0) {
        double level = (1 + removed[lowest]) / 2;
        double vertex = hc_feature_vertex(x, removed, left, lowest, right);
        double begin = hc_feature_edge(x, removed, count, lowest, -1, level);
        double end = hc_feature_edge(x, removed, count, lowest, 1, level);
        to[HC_FEATURE_DEPTH] = 1 - removed[lowest];
        to[HC_FEATURE_WAVELENGTH] = vertex;
        to[HC_FEATURE_AREA] = area;
        to[HC_FEATURE_WIDTH] = end - begin;
        to[HC_FEATURE_ASYMMETRY] = ((end - vertex) - (vertex - begin)) / (end - begin);
    }
}

#endif
