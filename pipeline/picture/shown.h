/* Shown: the pixels of a scene that a picture shows, taken from the blocks that pass: some bands of every
 * n-th pixel, in the grid of the scene or on a map. preview and figure share it. */
#ifndef HC_PIPELINE_PICTURE_SHOWN_H
#define HC_PIPELINE_PICTURE_SHOWN_H

#include "io/ortho/ortho.h"
#include "pipeline/stage.h"

enum { HC_SHOWN_BANDS_MAX = 64 };

/* A pixel of the picture, and the sample of the scene that it shows. */
typedef struct HcShownPixel {
    int32_t shown, sample;
} HcShownPixel;

/* In the state of a stage, zero at first. */
typedef struct HcShown {
    int32_t band[HC_SHOWN_BANDS_MAX]; /* [band_count] red, green, blue; or one; or those of many maps */
    int32_t band_count;
    bool picked;                 /* blocks hold these bands alone (HcNeeds.pick) */
    int64_t lines, samples;      /* of what is shown: the scene, or its map */
    int32_t width, height, step; /* every step-th pixel is shown */
    float *plane;                /* [band_count][height][width] */
    uint8_t *valid;              /* [height][width] */
    /* For a map: which shown pixels each line of the scene fills. */
    HcOrtho *ortho;
    int32_t *begin; /* [lines of the scene + 1] where those of a line begin in `filled` */
    HcShownPixel *filled;
} HcShown;

/* At plan time, first the bands: by --bands or --wavelengths as given (NULL = neither), one or three. With
 * neither: true colour where there are wavelengths for it, else what the header says, else the first
 * components, or spectral bands spread over the range. */
HcStatus hc_shown_choose(const HcStage *stage, const char *bands, const char *wavelengths, HcShown *shown,
                         HcError *err) HC_MUST_CHECK;

/* Then the size: a map where `ortho` asks for one, of at most `size` pixels on its longest side. */
HcStatus hc_shown_plan(HcStage *stage, const char *ortho, int64_t size, HcShown *shown,
                       HcError *err) HC_MUST_CHECK;

/* Host memory of what hc_shown_open takes [bytes]. */
size_t hc_shown_bytes(const HcStage *stage, const HcShown *shown);
size_t hc_shown_pixels(const HcShown *shown);
/* Whether any pixel has a finite value in shown band `c`. */
bool hc_shown_has_values(const HcShown *shown, int32_t c);

HcStatus hc_shown_open(const HcStage *stage, HcShown *shown, HcError *err) HC_MUST_CHECK;
/* The block holds the lines whose number is a multiple of `every`; without a map. */
void hc_shown_consume(HcShown *shown, const HcBlock *block, int32_t every);
/* Every rank has filled the pixels of its lines. */
HcStatus hc_shown_gather(const HcStage *stage, HcShown *shown, HcError *err) HC_MUST_CHECK;
/* For the record: the bands, and every_pixel. */
void hc_shown_report(const HcShown *shown, HcJson *to);
void hc_shown_close(HcShown *shown);

#endif
