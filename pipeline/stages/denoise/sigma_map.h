/* Sigma map: the error that is expected of a denoised pixel, by Stein's unbiased estimate of risk.
 *
 * denoise keeps components z of unit noise and makes f(z) of them. With M, the products of the spectra of two
 * components over the bands, the mean square error over the bands that stays in these components has the
 * expectation
 *
 *     (f(z) - z)' M (f(z) - z) - trace M + 2 trace(M df/dz)
 *
 * (Stein 1981). One probe of random signs s measures the last one: s' M (f(z + e s) - f(z)) / e (Ramani, Blu,
 * Unser 2008). Signal in the components that are dropped is lost: its mean over the scene is known from the
 * eigenvalues. Where the rest of a pixel beyond noise is larger than chance allows, that rest counts instead.
 *
 * The estimate of one pixel is as large as its own scatter, so the map has the mean over 9 x 9 pixels. */
#ifndef HC_PIPELINE_STAGES_DENOISE_SIGMA_MAP_H
#define HC_PIPELINE_STAGES_DENOISE_SIGMA_MAP_H

#include "core/compute.h"
#include "core/system/team.h"
#include "pipeline/statistics/transform.h"

enum {
    HC_SIGMA_MARGIN = 4,     /* lines and samples of the mean on each side */
    HC_SIGMA_LINES_MAX = 64, /* lines of a strip, without margin */
    HC_SIGMA_UNIT = 1 << 20
};

/* Zero-initialise; hc_sigma_map_close() is always safe. */
typedef struct HcSigmaMap {
    HcCompute *compute; /* borrowed */
    const HcTransform *transform;
    int64_t samples;
    int32_t used;                 /* components that are kept, 0 = the scene is handed on */
    double level;                 /* variance of the noise in units of the transform */
    const double *stripes;        /* [samples][bands] to take from spectra, borrowed; NULL = none */
    const double *level_of;       /* [samples] that spectra are divided by, borrowed; NULL = 1 */
    double *metric;               /* [used][used] */
    double noise;                 /* mean variance over the bands */
    double dropped;               /* the part of it in components that are dropped */
    double scatter;               /* standard deviation of the rest of a pixel, by noise alone */
    double lost;                  /* mean square of the signal that is dropped */
    double *risk, *rest;          /* [strip with margin][samples]; NaN = masked */
    HcBuffer components;          /* [host] a strip with its context, and its mask */
    HcBuffer noisy, clean, probe; /* [host] a strip of components: as they are, denoised, of the probe */
    HcBuffer lines;               /* [host] spectra of some lines */
    HcBuffer map;                 /* [host] a strip: errors, then their mask */
    HcTeam *team;
    int64_t measured; /* sum of risks in units of noise / HC_SIGMA_UNIT: integers, so that their order does
                         not matter */
    int64_t measured_pixels;
    int64_t measured_end; /* behind the last line that was measured; for the caller */
} HcSigmaMap;

/* context: lines of context of a strip of components, its margin not counted. */
size_t hc_sigma_map_bytes(int64_t samples, int32_t bands, int32_t used, int32_t context);
HcStatus hc_sigma_map_open(HcSigmaMap *map, HcCompute *compute, const HcTransform *transform, int64_t samples,
                           int32_t used, double level, int32_t context, HcError *err) HC_MUST_CHECK;
void hc_sigma_map_close(HcSigmaMap *map);

/* Fetches a strip of components into one of the three buffers of the map, for hc_sigma_map_write. Waits. */
HcStatus hc_sigma_map_fetch(HcQueue *queue, const HcBlock *strip, HcBuffer *to, HcError *err) HC_MUST_CHECK;

/* Adds the probe to components on the device. Waits. */
HcStatus hc_sigma_map_disturb(HcSigmaMap *map, HcQueue *queue, const HcBlock *components,
                              HcError *err) HC_MUST_CHECK;

/* Writes the map of the lines of `out` (one band, no halo), from the spectra `in` and what was fetched of the
 * lines of `clean`: those of `out` and the margin that the scene has. by_probe: f is not the identity. */
HcStatus hc_sigma_map_write(HcSigmaMap *map, HcQueue *queue, const HcBlock *in, const HcBlock *clean,
                            bool by_probe, const HcBlock *out, HcError *err) HC_MUST_CHECK;

/* Adds the risks of the valid pixels of `clean` to map->measured; `in` and what was fetched as above. */
HcStatus hc_sigma_map_measure(HcSigmaMap *map, HcQueue *queue, const HcBlock *in, const HcBlock *clean,
                              HcError *err) HC_MUST_CHECK;

#endif
