/* Shapes over pixels in sensor geometry: their map, by a lookup table or by coordinates, says which pixels
 * lie inside. */
#ifndef HC_IO_SHAPE_ON_MAP_H
#define HC_IO_SHAPE_ON_MAP_H

#include "io/ortho/ortho.h"
#include "io/shape/shapes.h"

/* Zero-initialise; hc_shape_map_close() is then always safe. */
typedef struct HcShapeMap {
    HcOrtho *ortho;
    HcScene scene;          /* of the map */
    int64_t lines, samples; /* in sensor geometry */
} HcShapeMap;

/* Whether pixels lie on a map by a lookup alone. */
bool hc_shape_on_map(const HcScene *scene);

/* The map of a scene, which may be a window of its file. */
HcStatus hc_shape_map_open(HcShapeMap *map, const HcScene *scene, HcError *err) HC_MUST_CHECK;
void hc_shape_map_close(HcShapeMap *map);

/* Called for a pixel (from 0) of the scene in sensor geometry that lies in a shape; by a lookup table it may
 * be called for one more than once. */
typedef void HcShapeVisit(void *user, int64_t shape, int64_t line, int64_t sample);

/* Visits the pixels of all shapes, which are in pixels of the map. By a lookup table these are the pixels
 * that it puts there; by coordinates those whose own coordinates lie in a polygon, and the one that is
 * nearest to a point. */
HcStatus hc_shape_map_visit(const HcShapeMap *map, const HcShapes *shapes, HcShapeVisit *visit, void *user,
                            HcError *err) HC_MUST_CHECK;
/* Gives the lookup back; the scene stays. */
void hc_shape_map_forget_places(HcShapeMap *map);

#endif
