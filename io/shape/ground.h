/* Ground: how large the pixels of a scene are on the Earth, and where north is. */
#ifndef HC_IO_SHAPE_GROUND_H
#define HC_IO_SHAPE_GROUND_H

#include "core/scene.h"

/* In the middle of the scene. Of degrees on the ellipsoid WGS 84. */
typedef struct HcGround {
    bool known;    /* the scene has a transform, and a CRS of lengths or degrees */
    double across; /* width of a pixel [m] */
    double along;  /* height of a pixel [m] */
    double
        north; /* direction of the grid's north in a picture with such pixels [degrees, clockwise from up] */
} HcGround;

HcGround hc_ground_of(const HcPlace *place, int64_t lines, int64_t samples);

#endif
