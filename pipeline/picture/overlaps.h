/* Overlaps: where the detectors of a scene see the same wavelengths. Spectra have spikes there, where bands
 * of both take turns. */
#ifndef HC_PIPELINE_PICTURE_OVERLAPS_H
#define HC_PIPELINE_PICTURE_OVERLAPS_H

#include "core/scene.h"

/* Minimum bands of a detector; maximum overlaps of a scene. */
enum { HC_DETECTOR_BANDS = 4, HC_OVERLAPS_MAX = 8 };

/* The lowest and the highest wavelength of each overlap [nm], in the order of the bands; returns how many.
 * Wavelengths rise within a detector: a scene in another order has none. */
int32_t hc_detector_overlaps(const HcScene *scene, double to[HC_OVERLAPS_MAX][2]);

#endif
