/* The bands that a scene is resampled to, by the option that names them. */
#ifndef HC_PIPELINE_STAGES_RESAMPLE_TARGET_H
#define HC_PIPELINE_STAGES_RESAMPLE_TARGET_H

#include "core/status.h"

#include <stdint.h>

/* Owns its arrays. Zero-initialise, then hc_target_clear() is always safe. */
typedef struct HcTarget {
    int32_t count;  /* bands, > 0 */
    double *centre; /* [count, nm] */
    double *width;  /* [count, nm] full widths at half maximum, > 0 */
    char **name;    /* [count], elements may be NULL; or NULL */
    /* Measured responses: that of band k is value[i] at x[i], i from first[k] to first[k + 1] - 1; x ascends.
     * NULL = Gaussians of the widths. */
    int32_t *first; /* [count + 1] */
    double *x;      /* [nm] */
    double *value;  /* >= 0 */
} HcTarget;

/* Names of sensors whose measured responses are built in; ended by NULL. */
extern const char *const hc_target_sensors[];

/* The good bands of a scene, or of an ENVI header alone. HC_E_INPUT: it has no wavelengths; errors of
 * hc_reader_open. */
HcStatus hc_target_like(HcTarget *target, const char *path, HcError *err) HC_MUST_CHECK;
/* "A-B:STEP", or a file with a line a band: its wavelength, and its width if that is known. HC_E_USAGE: no
 * such text. HC_E_INPUT: not such a file. */
HcStatus hc_target_wavelengths(HcTarget *target, const char *text, HcError *err) HC_MUST_CHECK;
/* A sensor, or a spectral library that holds responses. HC_E_USAGE: no such sensor or file. HC_E_INPUT: no
 * wavelengths, a band without a response. */
HcStatus hc_target_responses(HcTarget *target, const char *text, HcError *err) HC_MUST_CHECK;
void hc_target_clear(HcTarget *target);

#endif
