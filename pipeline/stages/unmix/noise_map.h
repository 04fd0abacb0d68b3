/* Noise map: the noise of each pixel, which lambda goes with: unmix --noise-map. */
#ifndef HC_PIPELINE_STAGES_UNMIX_NOISE_MAP_H
#define HC_PIPELINE_STAGES_UNMIX_NOISE_MAP_H

#include "io/view/view.h"
#include "pipeline/json/json.h"
#include "pipeline/stage.h"

/* Zero-initialise; hc_noise_map_close() is always safe. */
typedef struct HcNoiseMap {
    HcViewBeside *raster; /* from plan to open; NULL: noise of columns */
    double *column;       /* [groups] of them; NaN = not known */
    int64_t width;        /* columns of a group */
    int64_t first;        /* column of the file that is sample 0 of the scene */
    int64_t unknown;      /* pixels without noise, which count as 1 */
    double least, most;   /* of the level */
    HcBuffer level;       /* [device] [lines][samples]: noise over its root mean square */
} HcNoiseMap;

/* In plan, behind all else that fills stage->needs: opens the map at `path`, a raster of one band (standard
 * deviations of the noise, in any unit) or a file of `noise --columns` (.json).
 *
 * HC_E_INPUT: another shape than the scene, more bands, or no file of this kind. */
HcStatus hc_noise_map_plan(HcNoiseMap *map, HcStage *stage, const char *path, HcError *err) HC_MUST_CHECK;

/* In open: reads it. HC_E_INPUT: a noise that is not above 0, or no pixel that has one. */
HcStatus hc_noise_map_open(HcNoiseMap *map, HcStage *stage, const char *path, HcError *err) HC_MUST_CHECK;

/* A note with the range of lambda, and one where pixels have no noise. */
void hc_noise_map_note(const HcNoiseMap *map, HcStage *stage, const char *path, double lambda);

/* The object "noise_map" of a record. */
void hc_noise_map_put(const HcNoiseMap *map, HcJson *to);

void hc_noise_map_close(HcNoiseMap *map, HcCompute *compute);

#endif
