/* Spatial: a filter of the pixels that may be endmembers, by their surroundings, after the spatial-spectral
 * endmember extraction of Rogge et al. (2007): pixels that are extreme along the main directions of some
 * square of the scene are candidates. One without similar pixels around it is odd (a dead detector, a glint):
 * it is left out, and the extremes of the others are looked for again. Then each candidate becomes the mean
 * of its similar pixels, and methods search the candidates. */
#ifndef HC_PIPELINE_STAGES_ENDMEMBERS_SPATIAL_H
#define HC_PIPELINE_STAGES_ENDMEMBERS_SPATIAL_H

#include "pipeline/stages/endmembers/methods.h"

enum { HC_SPATIAL_DIRECTIONS = 20000, HC_SPATIAL_WINDOW = 31 };

/* Set side, similar and length; hc_spatial_clear() is always safe. */
typedef struct HcSpatial {
    int32_t side;   /* of the squares [pixels] */
    double similar; /* the largest spectral angle of similar pixels [radians] */
    double length;  /* square of the length of the mean of the scene, in the unit of x; 0 = x are about 0 */
    const double *direction; /* [width] of the mean, where x are about it */

    int64_t odd; /* extreme pixels without similar ones */
    int64_t candidates;
    int64_t *pixel;  /* [candidates] ascending */
    uint8_t *member; /* [candidates][window][window] 1 = part of the mean */
} HcSpatial;

/* Side of the square that similar pixels are looked for in: that of the squares, odd, and HC_SPATIAL_WINDOW
 * at most. */
int32_t hc_spatial_window(const HcSpatial *spatial);

/* HC_E_USAGE: the scene has too many squares of that side. */
HcStatus hc_spatial_check(const HcScene *scene, int32_t side, int32_t width, HcError *err) HC_MUST_CHECK;
/* Host memory of the filter [bytes]. */
size_t hc_spatial_bytes(const HcScene *scene, int32_t side, int32_t width);

/* All ranks. Afterwards the candidates alone take part, with the means as their coordinates. HC_E_NUMERIC:
 * there are fewer than method->count. */
HcStatus hc_spatial_filter(HcSpatial *spatial, HcStage *stage, const HcMethod *method,
                           HcError *err) HC_MUST_CHECK;

/* The pixels whose mean the candidate `pixel` is, ascending; returns how many, window * window at most. */
int64_t hc_spatial_members(const HcSpatial *spatial, const HcScene *scene, int64_t pixel, int64_t *member);

void hc_spatial_clear(HcSpatial *spatial);

#endif
