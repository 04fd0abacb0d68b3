/* Plots that stages leave as files: spectra, values of bands and eigenvalues over labelled axes, as PNG (150
 * pixels an inch), SVG or PDF by the ending of the name. */
#ifndef HC_PIPELINE_PICTURE_PLOTS_H
#define HC_PIPELINE_PICTURE_PLOTS_H

#include "core/scene.h"
#include "figure/figure.h"
#include "pipeline/statistics/dimension.h"

/* At plan time: refuses an ending that is none of the three, and a build that draws no figures. */
HcStatus hc_plot_file_check(const char *who, const char *option, const char *path,
                            HcError *err) HC_MUST_CHECK;

/* Spectra beyond that many are thinned out evenly, and the caption says so. */
enum { HC_PLOT_SPECTRA_MAX = 200 };

/* Host memory that drawing takes [bytes]; of `count` spectra or curves at most. */
size_t hc_plot_file_bytes(const char *path, int32_t count, int32_t bands);

/* Lines over the wavelengths of the scene, or over the numbers of its bands. Water vapour and bands that the
 * header marks as bad are shaded, and lines broken there. */
typedef struct HcSpectraPlot {
    const HcScene *scene;
    int32_t count;
    const float *value; /* [count][bands] NaN breaks a line */
    const float
        *spread; /* [count][bands] the lines stand in bands of value - spread to value + spread; or NULL */
    char *const *name;         /* [count] */
    const char *title, *label; /* of the page, or NULL; of the value axis */
    const char *caption;       /* or NULL */
    bool logarithmic;
    const HcFigurePanel *beside; /* a panel to the left; or NULL */
    double width;                /* of the page [points], 0 = 510 (180 mm) */
} HcSpectraPlot;

/* Draws the page; file->data is fresh memory. */
HcStatus hc_plot_spectra_draw(const HcSpectraPlot *plot, HcFigureFormat format, HcFigureFile *file,
                              HcError *err) HC_MUST_CHECK;

/* Writes it as a file, in the format that the name ends with. */
HcStatus hc_plot_spectra(const char *path, const HcSpectraPlot *plot, bool overwrite,
                         HcError *err) HC_MUST_CHECK;

/* Eigenvalues over their number, with a line at the level of the noise where there is one among them, and
 * upright lines at the counts of the rules. */
typedef struct HcScreePlot {
    const double *values; /* [count] */
    int32_t count;
    const char *title;            /* or NULL */
    double noise;                 /* eigenvalue of noise alone; 0 = not known */
    int32_t kept;                 /* a marked count; 0 = none */
    const HcDimension *dimension; /* or NULL */
    double width;                 /* of the page [points], 0 = 510 (180 mm) */
} HcScreePlot;

HcStatus hc_plot_scree_draw(const HcScreePlot *plot, HcFigureFormat format, HcFigureFile *file,
                            HcError *err) HC_MUST_CHECK;
HcStatus hc_plot_scree(const char *path, const HcScreePlot *plot, bool overwrite, HcError *err) HC_MUST_CHECK;

#endif
