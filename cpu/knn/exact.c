/* Distances as the contract has them: float64, added in the order of the bands, every operation rounded.
 * Several training spectra at once, as each sum alone would wait for its last addition. */
#include "cpu/knn/knn.h"

enum { LANES = 8 };

HC_CLONES static void squares(const float *restrict x, const float *const t[LANES], int64_t bands,
                              double sum[LANES]) {
    double s[LANES] = {0};
    for (int64_t b = 0; b < bands; b++) {
        for (int lane = 0; lane < LANES; lane++) {
            double apart = (double)x[b] - (double)t[lane][b];
            s[lane] += apart * apart;
        }
    }
    for (int lane = 0; lane < LANES; lane++) {
        sum[lane] = s[lane];
    }
}

HC_CLONES static void products(const float *restrict x, const float *const t[LANES], int64_t bands,
                               double sum[LANES]) {
    double s[LANES] = {0};
    for (int64_t b = 0; b < bands; b++) {
        for (int lane = 0; lane < LANES; lane++) {
            s[lane] += (double)x[b] * (double)t[lane][b];
        }
    }
    for (int lane = 0; lane < LANES; lane++) {
        sum[lane] = s[lane];
    }
}

static double angle_distance(double product, double a, double b) {
    return a == 0 || b == 0 ? 0 : -product / (a * b);
}

void hc_knn_distances(const HcTraining *training, const HcQuery *query, const int32_t *number, int32_t count,
                      double *distance) {
    bool angle = training->metric == HC_METRIC_ANGLE;
    for (int32_t first = 0; first < count; first += LANES) {
        const float *t[LANES];
        double sum[LANES];
        for (int32_t lane = 0; lane < LANES; lane++) {
            int64_t j = number[first + lane < count ? first + lane : first];
            t[lane] = training->spectra + j * training->bands;
        }
        (angle ? products : squares)(query->x, t, training->bands, sum);
        for (int32_t lane = 0; lane < LANES && first + lane < count; lane++) {
            int32_t j = number[first + lane];
            distance[first + lane] =
                angle ? angle_distance(sum[lane], query->norm, training->norm[j]) : sum[lane];
        }
    }
}
