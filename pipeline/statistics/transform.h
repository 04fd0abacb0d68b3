/* Transform: a settled PCA or MNF, and the arithmetic that makes one of covariances. */
#ifndef HC_PIPELINE_STATISTICS_TRANSFORM_H
#define HC_PIPELINE_STATISTICS_TRANSFORM_H

#include "core/compute.h"
#include "pipeline/json/json.h"

/* y = forward' (x - mean), x = mean + inverse' y. Zero-initialise; hc_transform_clear() is always safe. */
typedef struct HcTransform {
    char method[16];           /* "pca", "mnf" */
    char noise[64];            /* how the noise was taken, "" for pca */
    HcScene scene;             /* the bands it was made for; its size is the scene's that it was fitted on */
    int32_t bands, components; /* components <= bands: fewer where bands were left out */
    int32_t wanted;            /* set before a fit: components that it makes, the others are 0; 0 = all */
    int64_t pixels, noise_pixels;
    double *mean;                /* [bands] */
    double *forward;             /* [bands][components] */
    double *inverse;             /* [components][bands] */
    double *eigenvalues;         /* [components], descending; for mnf 1 + SNR */
    uint8_t *left_out;           /* [bands] why: HcLeftOut */
    char remark[HC_JSON_REMARK]; /* on unknown keys of the file (hc_json_check_kind) */
} HcTransform;

/* Why a band takes no part in a fit. */
typedef enum HcLeftOut { HC_BAND_USED, HC_BAND_CONSTANT, HC_BAND_NOISELESS, HC_BAND_REPEATED } HcLeftOut;

void hc_transform_clear(HcTransform *transform);

/* Principal components of covariance[bands][bands] about mean[bands]; with `standardise` of the correlation
 * matrix (constant bands then take no part). `transform->scene` must be set. (Jolliffe, Principal Component
 * Analysis.) */
HcStatus hc_transform_fit_pca(HcTransform *transform, HcCompute *compute, const double *mean,
                              const double *covariance, bool standardise, HcError *err) HC_MUST_CHECK;

/* Maximum noise fraction of a covariance and a noise covariance (Green et al. 1988; Zhou, Gao, Fang section
 * 2). Whitens the noise; the eigenvalues of the whitened covariance are 1 + SNR. left_out marks bands that
 * take no part: constant, without noise, or with noise that is a combination of earlier bands'. */
HcStatus hc_transform_fit_mnf(HcTransform *transform, HcCompute *compute, const double *mean,
                              const double *covariance, const double *noise, HcError *err) HC_MUST_CHECK;

/* How many components have an eigenvalue of at least `minimum` (at least 1). */
int32_t hc_transform_count(const HcTransform *transform, double minimum);

/* Model files. */
HcStatus hc_transform_save(const HcTransform *transform, const char *path, bool overwrite,
                           HcError *err) HC_MUST_CHECK;
HcStatus hc_transform_load(HcTransform *transform, const char *path, const char *method,
                           HcError *err) HC_MUST_CHECK;

#endif
