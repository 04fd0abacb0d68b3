/* Grid: whether a second raster (mask, training data, noise map, truth) lies on the pixels of a scene. */
#ifndef HC_IO_SHAPE_GRID_H
#define HC_IO_SHAPE_GRID_H

#include "core/scene.h"

/* HC_E_INPUT where the raster at `path` has other lines or samples than the scene, which messages call
 * `scene_name`. */
HcStatus hc_grid_check_size(const HcScene *scene, const char *scene_name, const HcScene *raster,
                            const char *path, HcError *err) HC_MUST_CHECK;

/* The same, and the corners of both are compared on the ground: HC_E_INPUT from half a pixel of the scene at
 * any corner, a remark without a path in `note` from a hundredth. Lines and samples alone count where one of
 * both has no place, and where scene->place.by_pixels. */
HcStatus hc_grid_check(const HcScene *scene, const char *scene_name, const HcScene *raster, const char *path,
                       HcText *note, HcError *err) HC_MUST_CHECK;

/* How far `found` places the worst corner of the scene from its place [pixels]: 0 where the scene has none,
 * infinite where `found` has none or lies nowhere in the CRS of the scene. Without a CRS in one of both,
 * their numbers count. */
double hc_grid_shift(const HcScene *scene, const HcPlace *found);

#endif
