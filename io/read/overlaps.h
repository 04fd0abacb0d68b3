/* Overlaps: where the detectors of a scene see the same wavelengths. Spectra have spikes there, where bands
 * of both take turns. */
#ifndef HC_IO_READ_OVERLAPS_H
#define HC_IO_READ_OVERLAPS_H

#include "core/scene.h"
#include "io/read/product/product.h"

/* Minimum bands of a detector; maximum overlaps of a scene. */
enum { HC_DETECTOR_BANDS = 4, HC_OVERLAPS_MAX = 8 };

/* The lowest and the highest wavelength of each overlap [nm], in the order of the bands; returns how many.
 * Wavelengths rise within a detector: a scene in another order has none. */
int32_t hc_detector_overlaps(const HcScene *scene, double to[HC_OVERLAPS_MAX][2]);

/* Marks bands of one detector as bad in each overlap: with HC_OVERLAP_VNIR those of longer wavelengths, with
 * HC_OVERLAP_SWIR the others; scene->bad must be there. Returns how many it marks. */
int32_t hc_overlaps_mark(HcScene *scene, HcOverlap overlap);

#endif
