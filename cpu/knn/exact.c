/* Distances as the contract has them: float64, added in the order of the bands, every operation rounded.
 * Several pairs of spectra at once, as each sum alone would wait for its last addition. Terms are computed by
 * vectors along the bands. */
#include "cpu/knn/knn.h"

enum { LANES = 8, RUN = 16 };

/* Adds the terms of some bands in their order. */
static inline void add(double term[LANES][RUN], int64_t count, double sum[LANES]) {
    for (int64_t i = 0; i < count; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            sum[lane] += term[lane][i];
        }
    }
}

/* Products for angles, squares of differences for distances. */
HC_CLONES static void add_terms(bool angle, const float *const x[LANES], const float *const t[LANES],
                                int64_t bands, double sum[LANES]) {
    double term[LANES][RUN];
    for (int64_t b = 0; b < bands; b += RUN) {
        int64_t count = bands - b < RUN ? bands - b : RUN;
        for (int lane = 0; lane < LANES; lane++) {
            for (int64_t i = 0; i < count; i++) {
                double one = x[lane][b + i], other = t[lane][b + i], apart = one - other;
                term[lane][i] = angle ? one * other : apart * apart;
            }
        }
        add(term, count, sum);
    }
}

static double angle_distance(double product, double a, double b) {
    return a == 0 || b == 0 ? 0 : -product / (a * b);
}

void hc_knn_distances(const HcTraining *training, const HcPair *pair, int32_t count, double *distance) {
    bool angle = training->metric == HC_METRIC_ANGLE;
    for (int32_t first = 0; first < count; first += LANES) {
        const float *x[LANES];
        const float *t[LANES];
        double sum[LANES] = {0};
        for (int32_t next = first + LANES; next < count && next < first + 2 * LANES; next++) {
            hc_knn_fetch(training->spectra + (int64_t)pair[next].number * training->bands, training->bands);
        }
        for (int32_t lane = 0; lane < LANES; lane++) {
            const HcPair *one = &pair[first + lane < count ? first + lane : first];
            x[lane] = one->query->x;
            t[lane] = training->spectra + (int64_t)one->number * training->bands;
        }
        add_terms(angle, x, t, training->bands, sum);
        for (int32_t lane = 0; lane < LANES && first + lane < count; lane++) {
            const HcPair *one = &pair[first + lane];
            distance[first + lane] =
                angle ? angle_distance(sum[lane], one->query->norm, training->norm[one->number]) : sum[lane];
        }
    }
}
