/* Linear maps along the bands: each band that goes out is a weighted sum of bands that come in. */
#ifndef HC_PIPELINE_SPECTRA_BAND_MAP_H
#define HC_PIPELINE_SPECTRA_BAND_MAP_H

#include "pipeline/stage.h"

/* Zero-initialise, then hc_band_map_clear() is always safe. */
typedef struct HcBandMap {
    int32_t in, out;
    double *weight;  /* [in][out] */
    double *offset;  /* [out] what is added */
    HcBuffer device; /* [device] weights, then offsets; once open */
} HcBandMap;

/* Bands, and weights and offsets of 0. Each plan may do so again: what is on the device stays. HC_E_MEMORY.
 */
HcStatus hc_band_map_make(HcBandMap *map, int32_t in, int32_t out, HcError *err) HC_MUST_CHECK;

/* In plan, once stage->out has the bands of the map: brings gains and offsets of the scene to them. Stored
 * values are summed as they are where all bands have one gain and one offset. Otherwise, or where `physical`,
 * the map takes gains and offsets in, and physical values go out. sums: what the weights of each band that
 * goes out add up to, 1 or 0 (derivatives). HC_E_MEMORY. */
HcStatus hc_band_map_scale(HcBandMap *map, HcStage *stage, double sums, bool physical,
                           HcError *err) HC_MUST_CHECK;

/* Device memory that an open map takes [bytes]. */
size_t hc_band_map_bytes(const HcBandMap *map);
HcStatus hc_band_map_open(HcBandMap *map, HcCompute *compute, HcError *err) HC_MUST_CHECK;
HcStatus hc_band_map_process(const HcBandMap *map, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                             HcError *err) HC_MUST_CHECK;
void hc_band_map_clear(HcBandMap *map, HcCompute *compute);

#endif
