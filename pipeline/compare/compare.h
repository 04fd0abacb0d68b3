/* Comparison: how far a raster is from another one, or from its truth.
 *
 * Both rasters are read block by block, at the same time, as often as the figures need it: once to pair bands
 * by their values, once for sums, and once for SSIM, whose constants need the range of the truth. Each line
 * has sums of its own, which are added in the order of the lines: figures do not depend on blocks or threads.
 */
#ifndef HC_PIPELINE_COMPARE_COMPARE_H
#define HC_PIPELINE_COMPARE_COMPARE_H

#include "core/system/flag.h"
#include "pipeline/chain.h"
#include "pipeline/spectra/accuracy.h"

typedef enum HcCompareKind {
    HC_COMPARE_AUTO,
    HC_COMPARE_VALUES,
    HC_COMPARE_CLASSES,
    HC_COMPARE_SCORES
} HcCompareKind;
/* auto: classes by names where both maps have some, else by numbers; bands by order. */
typedef enum HcCompareMatch { HC_MATCH_AUTO, HC_MATCH_ORDER, HC_MATCH_NAME, HC_MATCH_BEST } HcCompareMatch;
extern const char *const hc_compare_match_words[]; /* ended by NULL */

/* Bands or classes of the larger raster that HC_MATCH_BEST can pair, classes of both maps, and numbers that
 * they may have. */
#define HC_MATCH_MAX     256
#define HC_CLASSES_MAX   4096
#define HC_CLASS_NUMBERS 65536

typedef struct HcCompareSettings {
    HcCompareKind kind; /* auto: classes where one is a class map and the other may be, scores against one */
    HcCompareMatch match;
    double peak;           /* range of values for PSNR and SSIM; NAN = that of the truth in each band */
    bool no_ssim;          /* SSIM takes most of the time */
    bool low;              /* low scores are targets */
    int32_t picture;       /* longest side of the difference picture [pixels], 0 = none */
    int32_t threads;       /* 0 = one for each processor */
    double memory;         /* most memory of the process [bytes], 0 = 3/4 of what is free */
    const HcFlag *cancel;  /* or NULL */
    int32_t lines_of_test; /* lines of a block, 0 = as many as memory allows */
} HcCompareSettings;

/* A pair of bands. d = scene - truth. */
typedef struct HcBandFigures {
    int32_t scene_band, truth_band; /* as they are read, from 0 */
    double rmse, bias, sre, psnr, ssim;
    double peak; /* of PSNR and SSIM */
} HcBandFigures;

/* What cannot be said (SSIM without a whole window) is NaN; SRE and PSNR of equal values are infinite. */
typedef struct HcValueFigures {
    int32_t bands;
    HcBandFigures *band; /* [bands] */
    double rmse, bias, sre, psnr, peak;
    double mean_psnr, ssim; /* means over the bands */
    double sam;             /* mean over `angles` pixels [degrees] */
    int64_t angles, windows;
} HcValueFigures;

/* False-alarm rates for which the rate of detection is stated. */
enum { HC_ROC_RATES = 2, HC_ROC_POINTS = 1600 };
extern const double hc_roc_rate[HC_ROC_RATES];

/* How the scores of a band tell the pixels of a target from all others. NaN where one of both has no pixel.
 */
typedef struct HcRoc {
    int32_t band, target; /* of the scene, from 0; the class of the truth, 0 = all */
    int64_t targets, background;
    double area; /* under the curve; ties count as half */
    double
        detection[HC_ROC_RATES]; /* the rate at the lowest threshold whose false-alarm rate is at most this */
    double threshold[HC_ROC_RATES]; /* NaN: no threshold has one */
    int64_t alarms[HC_ROC_RATES];   /* false alarms there */
    int32_t count;
    double *curve[2]; /* [count] false-alarm rates, and rates of detection; thinned out */
} HcRoc;

typedef struct HcScoreFigures {
    int32_t bands;
    HcRoc *band; /* [bands] */
} HcScoreFigures;

/* The difference picture: root mean square difference of each shown pixel, or 1 = right, 2 = wrong. */
typedef struct HcDifferenceMap {
    int32_t width, height, step; /* every step-th pixel is shown */
    float *plane;                /* [height][width] */
    uint8_t *valid;
} HcDifferenceMap;

/* Zero-initialise; hc_comparison_clear() is always safe. */
typedef struct HcComparison {
    HcCompareKind kind;         /* never auto */
    int64_t pixels, left_out;   /* compared, and masked in one of them (of class maps: without true class) */
    HcValueFigures values;      /* of HC_COMPARE_VALUES */
    HcScoreFigures scores;      /* of HC_COMPARE_SCORES */
    HcAccuracy accuracy;        /* of HC_COMPARE_CLASSES */
    HcClasses classes;          /* their names */
    int32_t class_count;        /* of both maps together */
    int32_t *number[2];         /* [class_count + 1] the number in the truth and in the map, 0 = not there */
    HcDifferenceMap difference; /* where settings.picture */
    const HcScene *scene[2];    /* the raster and its truth, borrowed from their chains */
    const char *path[2];        /* likewise */
    const HcChain *chain[2];    /* whose notes are to be shown */
    const char *matched_by;     /* "order", "name" or "best" */
    int32_t unmatched[2];       /* bands or classes of each that have no partner */
    int32_t passes;             /* how often both were read */
} HcComparison;

/* Compares the sources of two chains of one step each, which this plans. `compute` is a backend whose memory
 * is that of the host; it outlives the chains.
 *
 * HC_E_INPUT: other sizes or bands, no names to match by, values that are no classes. HC_E_NUMERIC: no pixel
 * is left. HC_E_MEMORY: settings.memory is too little; the message says how much is needed. */
HcStatus hc_compare(HcChain *scene, HcChain *truth, HcCompute *compute, const HcCompareSettings *settings,
                    HcComparison *out, HcError *err) HC_MUST_CHECK;

void hc_comparison_clear(HcComparison *comparison);

/* Figures as a JSON object, and as tables. all_bands: a row for each pair of bands. */
HcStatus hc_comparison_json(const HcComparison *from, HcJson *to, HcError *err) HC_MUST_CHECK;
void hc_comparison_text(const HcComparison *from, bool all_bands, HcText *to);
/* Refuses (HC_E_USAGE) another ending than those of hc_comparison_draw. */
HcStatus hc_comparison_picture_check(const char *path, HcError *err) HC_MUST_CHECK;
/* Host memory that drawing takes [bytes]. */
size_t hc_comparison_draw_bytes(const HcDifferenceMap *map);
/* A page with the difference picture, or the curves of scores: .png, .svg or .pdf. */
HcStatus hc_comparison_draw(const HcComparison *from, const char *path, bool overwrite,
                            HcError *err) HC_MUST_CHECK;

#endif
