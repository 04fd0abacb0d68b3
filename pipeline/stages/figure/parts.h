/* What the files of figure share. */
#ifndef HC_PIPELINE_STAGES_FIGURE_PARTS_H
#define HC_PIPELINE_STAGES_FIGURE_PARTS_H

#include "figure/figure.h"
#include "io/shape/ground.h"
#include "pipeline/picture/shown.h"

typedef struct HcFigureParams {
    const char *path, *bands, *wavelengths, *each, *percentiles, *limits, *title, *ortho;
    int32_t colours; /* HcRamp, -1 = by the values */
    int64_t size;
    double gamma, width, dpi; /* gamma: NAN = by what is shown */
    bool one_scale, overwrite;
} HcFigureParams;

typedef struct HcFigureState {
    HcShown shown;
    HcFigureFormat format;
    double percentile[2], gamma;
    bool fixed;                         /* --limits */
    float limit[HC_SHOWN_BANDS_MAX][2]; /* values at both ends of the colours, of each shown band */
    bool classes, each;
    HcGround ground;
    /* Pixels of the scene: with a value, masked, and of each class. Without a map these are all pixels. */
    int64_t counted[2];
    int64_t *of_class;                   /* [classes] */
    HcFigureBox box[HC_SHOWN_BANDS_MAX]; /* where the maps lie on the page [points] */
    double page[2];                      /* width and height [points] */
} HcFigureState;

/* Memory of hc_figure_paint [bytes]. */
size_t hc_figure_paint_bytes(const HcFigureState *state);

/* The pixels of the maps: fresh memory, [maps][height][width][4]. Fills state->limit where it is not fixed.
 */
HcStatus hc_figure_paint(const HcStage *stage, uint8_t **pixels, HcError *err) HC_MUST_CHECK;

/* The colours of the shown band `c`. */
HcRamp hc_figure_ramp(const HcFigureParams *params, const HcFigureState *state, int32_t c);

/* The legend of a class map: entries of the classes that occur, in fresh memory, hc_figure_legend_bytes at
 * most. Names are borrowed. */
typedef struct HcFigureClasses {
    HcFigureEntry *entry;
    HcFigureLegend legend;
} HcFigureClasses;
size_t hc_figure_legend_bytes(const HcClasses *classes);
HcStatus hc_figure_legend_of(const HcStage *stage, HcFigureClasses *to, HcError *err) HC_MUST_CHECK;

/* Texts. */
void hc_figure_add_title(const HcStage *stage, HcText *to);
void hc_figure_add_band(const HcStage *stage, int32_t band, HcText *to);
void hc_figure_add_caption(const HcStage *stage, HcText *to);

#endif
