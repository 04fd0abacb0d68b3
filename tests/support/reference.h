/* Plain float64 reference for covariances, principal components and noise fractions: written for clarity from
 * the definitions, sharing no code with the program. */
#ifndef HC_TESTS_SUPPORT_REFERENCE_H
#define HC_TESTS_SUPPORT_REFERENCE_H

#include "tests/support/scene_files.h"

/* mean[bands] and covariance[bands][bands] of the valid pixels, in long double; returns how many there are.
 */
int64_t reference_covariance(const Cube *cube, double *mean, double *covariance);

/* The share of Ledoit and Wolf (2004): the mean of |x x' - S|^2 over the valid pixels x, less their mean,
 * over their number and over |S - trace(S) / bands|^2, for the covariance S whose denominator is that number;
 * at most 1. */
double reference_ledoit_wolf(const Cube *cube);

/* x = inverse of matrix[n][n] times b, by Gauss and Jordan; the matrix is positive definite. */
void reference_solve(int32_t n, const double *matrix, const double *b, double *x);
double reference_product(int32_t n, const double *a, const double *b);

/* Noise images. */
typedef enum NoiseKind { NOISE_MEAN3X3, NOISE_MEDIAN3X3, NOISE_SHIFT, NOISE_SHIFT_DIAGONAL } NoiseKind;

/* The noise covariance by differences of neighbours, scaled so that white noise gives its variance; only
 * pixels whose whole neighbourhood is valid and lies in the window {x, y, w, h} (NULL = the scene). Returns
 * how many there are. */
int64_t reference_noise(const Cube *cube, NoiseKind kind, const int32_t *window, double *covariance);

/* Eigenvalues (descending) and unit eigenvectors (in the columns of vectors[n][n]) of a symmetric matrix, by
 * cyclic Jacobi rotations. */
void reference_eigen(int32_t n, const double *matrix, double *values, double *vectors);

/* Principal components: forward[bands][bands], a component a column, with the sign rule. */
void reference_pca(int32_t n, const double *covariance, double *values, double *forward);

/* Noise fractions by the generalised problem: noise = L L', eigenvectors of inv(L) covariance inv(L)'. */
void reference_mnf(int32_t n, const double *covariance, const double *noise, double *values, double *forward);

/* out[pixels][components] = forward' (x - mean); 0 at masked pixels. */
Cube reference_project(const Cube *cube, const double *mean, const double *forward, int32_t components);

#endif
