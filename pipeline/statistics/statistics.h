/* Statistics: the mean and covariance of a scene or of its noise, as a value and as a file. */
#ifndef HC_PIPELINE_STATISTICS_STATISTICS_H
#define HC_PIPELINE_STATISTICS_STATISTICS_H

#include "core/compute.h"
#include "pipeline/json/json.h"
#include "pipeline/neighbours/stencil.h"

/* Zero-initialise; hc_statistics_clear() is always safe. */
typedef struct HcStatistics {
    HcScene scene;  /* the bands, and the size of the scene */
    char noise[64]; /* how noise was taken ("mean3x3", "dark image ..."), "" for the scene itself */
    int64_t pixels;
    double *mean;            /* [bands] */
    double *covariance;      /* [bands][bands]; of noise: scaled so that white noise gives its variance */
    int32_t rank, dependent; /* of regressions: independent bands, and those that are combinations of them */
    char combinations[128];  /* which bands, or how many, are combinations; "" = none */
    char remark[HC_JSON_REMARK]; /* on unknown keys of the file (hc_json_check_kind) */
} HcStatistics;

void hc_statistics_clear(HcStatistics *statistics);

/* Of a band, from 0. */
static inline double hc_statistics_variance(const HcStatistics *of, int32_t band) {
    return of->covariance[(size_t)band * (size_t)(of->scene.bands + 1)];
}

/* From sums of the scene's values or of their differences; `noise` as above, copied. `compute` as in
 * hc_moments_covariance(). */
HcStatus hc_statistics_make(HcStatistics *out, HcCompute *compute, const HcScene *scene,
                            const HcMoments *moments, HcDifference difference, const char *noise,
                            HcError *err) HC_MUST_CHECK;

/* Adds what a statistics file has beyond its kind. */
void hc_statistics_put(const HcStatistics *statistics, HcJson *to);
HcStatus hc_statistics_save(const HcStatistics *statistics, const char *path, bool overwrite,
                            HcError *err) HC_MUST_CHECK;
HcStatus hc_statistics_load(HcStatistics *out, const char *path, HcError *err) HC_MUST_CHECK;

/* Whether statistics or a model made for `made` fit the bands of `scene`; `path` names them in the message.
 */
HcStatus hc_statistics_check_bands(const HcScene *made, const HcScene *scene, const char *path,
                                   HcError *err) HC_MUST_CHECK;

/* Finds the bands of `scene` among those of statistics made for `made`: place[scene->bands], from 0. Bands
 * match by number in the file and wavelength, where both are known, else by wavelength alone. Without either,
 * the counts must agree. `path` names the statistics in the message.
 *
 * HC_E_INPUT: a band of the scene has no match. */
HcStatus hc_statistics_match(const HcScene *made, const HcScene *scene, const char *path, int32_t *place,
                             HcError *err) HC_MUST_CHECK;

/* Reduces statistics to the bands of `scene`, in its order; matched as above. */
HcStatus hc_statistics_take(HcStatistics *statistics, const HcScene *scene, const char *path,
                            HcError *err) HC_MUST_CHECK;

/* Largest magnitude of the values (or differences) of an integer scene. 0: they are no integers, or too large
 * to be summed as such. */
int64_t hc_sums_limit(const HcScene *scene, HcDifference difference);

/* "x,y,w,h" [samples, lines] within the scene; x and y from 0. */
HcStatus hc_window_parse(const char *text, const HcScene *scene, HcWindow *window,
                         HcError *err) HC_MUST_CHECK;

/* Refuses a class map, for a stage that computes with values. */
HcStatus hc_statistics_of_values(const HcScene *scene, const char *stage, HcError *err) HC_MUST_CHECK;

#endif
