/* How far the abundances of a panel are from their optimum at most: the relative duality gap of each pixel.
 * It is computed from residuals, not by products with D W D': these lose what y'W y is larger than r'W r. All
 * terms of the bound are positive, so that nothing cancels. */
#include "cpu/unmix/unmix.h"

#include <cblas.h>
#include <math.h>
#include <string.h>

/* The tiniest F that counts, of y'W y: that of a residual of a hundred-thousandth of the pixel. What is below
 * is in the reach of rounding. */
static const double tiniest = 0x1p-34;

/* residual = y - D'x. */
HC_CLONES static void form_residual(const double *spectrum, int64_t spectra, int64_t bands,
                                    const double *abundance, const double *pixel, double *restrict residual) {
    memcpy(residual, pixel, (size_t)bands * sizeof *residual);
    for (int64_t k = 0; k < spectra; k++) {
        double x = abundance[k];
        if (x != 0) {
            const double *restrict from = spectrum + k * bands;
            for (int64_t b = 0; b < bands; b++) {
                residual[b] -= x * from[b];
            }
        }
    }
}

/* Upper bound of F(x) - F where abundances sum to one: x'g - min g (Frank and Wolfe 1956). No
 * term is negative. */
static double gap_of_shares(int64_t spectra, const double *abundance, const double *slope) {
    double top = slope[0];
    double gap = 0;
    for (int64_t k = 1; k < spectra; k++) {
        top = slope[k] > top ? slope[k] : top;
    }
    for (int64_t k = 0; k < spectra; k++) {
        gap += abundance[k] * (top - slope[k]);
    }
    return gap;
}

/* F(x) minus the dual function at s r, s the largest scale up to 1 that is allowed, or at r - t v, whichever
 * is less. No term is negative. */
static double gap_of_dual(const HcUnmixing *unmixing, const double *abundance, const double *slope,
                          double square) {
    double lambda = unmixing->rule.lambda;
    double top = lambda;
    double t = 0;
    for (int64_t k = 0; k < unmixing->rule.spectra; k++) {
        top = slope[k] > top ? slope[k] : top;
        if (unmixing->rise != NULL && slope[k] - lambda > t * unmixing->rise[k]) {
            t = (slope[k] - lambda) / unmixing->rise[k];
        }
    }
    double s = top > lambda ? lambda / top : 1;
    double scaled = (1 - s) * (1 - s) * square / 2;
    double moved = t * t * unmixing->rise_square / 2;
    for (int64_t k = 0; k < unmixing->rule.spectra; k++) {
        if (abundance[k] != 0) {
            double rise = unmixing->rise != NULL ? unmixing->rise[k] : 0;
            scaled += abundance[k] * (lambda - s * slope[k]);
            moved += abundance[k] * (lambda - slope[k] + t * rise);
        }
    }
    return unmixing->rise != NULL && moved < scaled ? moved : scaled;
}

double hc_unmix_relative_gap(const HcUnmixing *unmixing, const double *abundance, const double *slope,
                             double square, double energy) {
    double value = square / 2;
    double gap = 0;
    if (unmixing->rule.sum_to_one) {
        gap = gap_of_shares(unmixing->rule.spectra, abundance, slope);
    } else {
        gap = gap_of_dual(unmixing, abundance, slope, square);
        for (int64_t k = 0; k < unmixing->rule.spectra; k++) {
            value += unmixing->rule.lambda * abundance[k];
        }
    }
    return gap <= 0 ? 0 : gap / fmax(value, tiniest * energy); /* rounding may take it below 0 */
}

void hc_unmix_certify(const HcUnmixing *unmixing, HcUnmixPanel *panel) {
    int64_t bands = unmixing->rule.bands;
    int64_t spectra = unmixing->rule.spectra;
    double square[HC_UNMIX_PANEL];
    for (int32_t j = 0; j < panel->open; j++) {
        int32_t p = panel->number[j];
        double *residual = panel->weighted + j * bands;
        double sum = 0;
        form_residual(unmixing->spectrum, spectra, bands, panel->abundance + p * spectra,
                      panel->pixel + p * bands, residual);
        square[j] = 0;
        for (int64_t b = 0; b < bands; b++) {
            double weighted = unmixing->weight[b] * residual[b];
            sum += residual[b] * residual[b];
            square[j] += residual[b] * weighted;
            residual[b] = weighted;
        }
        panel->rmse[p] = sqrt(sum / (double)bands);
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasTrans, panel->open, (int)spectra, (int)bands, 1.0,
                panel->weighted, (int)bands, unmixing->spectrum, (int)bands, 0.0, panel->slope, (int)spectra);
    int32_t open = 0;
    for (int32_t j = 0; j < panel->open; j++) {
        int32_t p = panel->number[j];
        double *slope = panel->slope + j * spectra;
        panel->gap[p] = hc_unmix_relative_gap(unmixing, panel->abundance + p * spectra, slope, square[j],
                                              panel->energy[p]);
        if (!(panel->gap[p] <= unmixing->rule.gap)) {
            memmove(panel->slope + open * spectra, slope, (size_t)spectra * sizeof *slope);
            panel->number[open++] = p;
        }
    }
    panel->open = open;
}
