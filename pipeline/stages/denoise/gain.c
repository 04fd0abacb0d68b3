#include "pipeline/stages/denoise/gain.h"
#include "core/patch.h"
#include "pipeline/statistics/noise/noise.h"

#include <math.h>
#include <string.h>

/* Bands over the pixels that a covariance of the noise comes from; 0 where it is exact enough: it has no
 * covariances between bands. Differences that share a pixel count for two thirds. */
static double ratio_of_noise(const HcTransform *transform) {
    bool full = hc_noise_is_difference(transform->noise) && strstr(transform->noise, ", diagonal") == NULL;
    bool known = full && transform->noise_pixels > 0;
    return known ? 1.5 * (double)transform->components / (double)transform->noise_pixels : 0;
}

/* The largest eigenvalue that white noise of variance 1 has in a covariance of n pixels and p bands, for
 * large n and p (Marchenko and Pastur 1967); relative to a covariance of noise that is an estimate itself, by
 * Wachter (1980). */
double hc_gain_edge(const HcTransform *transform) {
    double a = (double)transform->components / (double)hc_max64(transform->pixels, 1);
    double b = fmin(ratio_of_noise(transform), 0.95); /* a singular estimate has no edge */
    double edge = (1 + sqrt(a + b - a * b)) / (1 - b);
    return edge * edge;
}

/* Mean square of the noise that component k stands for, over all bands. */
static double power_of(const HcTransform *transform, int32_t k) {
    const double *row = transform->inverse + (size_t)k * (size_t)transform->bands;
    double sum = 0;
    for (int32_t b = 0; b < transform->bands; b++) {
        sum += row[b] * row[b];
    }
    return sum;
}

/* Variance of the noise in the components that are dropped, from the median of their eigenvalues. It is 1
 * where the model is right; a regression makes it somewhat larger or smaller. */
double hc_gain_level(const HcTransform *transform, int32_t count) {
    int32_t middle = (count + transform->components) / 2;
    double ratio = (double)transform->components / (double)hc_max64(transform->pixels, transform->components);
    double level =
        middle < transform->components ? transform->eigenvalues[middle] / hc_patch_median(ratio) : 1;
    return level < 1 ? level : 1;
}

/* Of the noise in kept components patches and groups leave at least that part: an estimate of risk may be 0.
 */
static const double least_left = 1e-3;

/* Noise turns the eigenvectors of a sample away from those of the signal. A component whose signal has the
 * variance l in units of the noise, estimated from n pixels of p bands, has the eigenvalue (1 + l)(1 + g / l)
 * with g = p / n, and loses the part g (1 + l) / (l (l + g)) of its signal to the components that are dropped
 * (Paul 2007). They show nothing of that: what they gain, they have lost to the eigenvalues of the first.
 * What is lost has the spectra of the dropped components, and by that part again that of its own. */
static double turned_of(const HcTransform *transform, int32_t count) {
    double ratio = (double)transform->components / (double)hc_max64(transform->pixels, 1);
    double level = hc_gain_level(transform, count);
    double g = fmin(ratio + ratio_of_noise(transform), 1);
    double lost = 0;
    double beside = 0; /* mean power of a component that is dropped */
    for (int32_t k = count; k < transform->components; k++) {
        beside += power_of(transform, k) / (transform->components - count);
    }
    for (int32_t k = 0; k < count && count < transform->components; k++) {
        double beyond = transform->eigenvalues[k] / level - 1 - g;
        double root = beyond * beyond - 4 * g;
        double l = beyond > 0 && root > 0 ? 0.5 * (beyond + sqrt(root)) : sqrt(g);
        double turned = g * (1 + l) / (l * (l + g));
        lost += level * l * turned * (turned * power_of(transform, k) + (1 - turned) * beside);
    }
    return lost;
}

/* Noise that is above the edge by chance is kept, and then looks like signal; dropped components have as much
 * less. */
double hc_gain_lost(const HcTransform *transform, int32_t count) {
    double level = hc_gain_level(transform, count);
    double beyond = 0;
    double squares = 0;
    for (int32_t k = count; k < transform->components; k++) {
        double power = power_of(transform, k);
        beyond += power * (transform->eigenvalues[k] - level);
        squares += power * power;
    }
    double chance = level * sqrt(2 * squares / (double)hc_max64(transform->pixels, 1));
    double lost = beyond > 0 ? fmax(beyond - 2 * chance, 0) : fmax(beyond, -chance);
    return lost + turned_of(transform, count);
}

/* Mean squares over all bands, of `count` components. */
typedef struct Powers {
    double noise; /* of the scene */
    double kept;  /* of the noise in kept components */
    double lost;  /* of the signal in those that are dropped */
} Powers;

static Powers powers_of(const HcTransform *transform, int32_t count) {
    double level = hc_gain_level(transform, count);
    Powers powers = {0};
    for (int32_t k = 0; k < transform->components; k++) {
        double power = power_of(transform, k);
        powers.noise += power * level;
        powers.kept += k < count ? power * level : 0;
    }
    powers.lost = hc_gain_lost(transform, count);
    return powers;
}

double hc_gain_of(const HcTransform *transform, int32_t count) {
    Powers powers = powers_of(transform, count);
    double left = fmax(powers.kept + powers.lost, least_left * powers.kept);
    return powers.noise > 0 ? 10 * log10(powers.noise / left) : 0;
}

double hc_gain_by_risk(const HcTransform *transform, int32_t count, double risk) {
    Powers powers = powers_of(transform, count);
    double left = fmax(risk * powers.noise + powers.lost, least_left * powers.kept);
    return powers.noise > 0 ? 10 * log10(powers.noise / left) : 0;
}

void hc_gain_residual(const HcTransform *transform, int32_t count, double risk, double *variance) {
    double level = hc_gain_level(transform, count);
    Powers powers = powers_of(transform, count);
    double left = isnan(risk) ? 1 : fmin(fmax(risk * powers.noise / powers.kept, least_left), 1);
    for (int32_t b = 0; b < transform->bands; b++) {
        double lost = 0;
        variance[b] = 0;
        for (int32_t k = 0; k < transform->components; k++) {
            double part = transform->inverse[(size_t)k * (size_t)transform->bands + (size_t)b];
            variance[b] += k < count ? left * level * part * part : 0;
            lost += k < count ? 0 : (transform->eigenvalues[k] - level) * part * part;
        }
        variance[b] += fmax(lost, 0);
    }
}
