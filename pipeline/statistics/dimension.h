/* Dimension: how many components of a scene hold signal, by several published rules, from its mean and
 * covariance alone. */
#ifndef HC_PIPELINE_STATISTICS_DIMENSION_H
#define HC_PIPELINE_STATISTICS_DIMENSION_H

#include "pipeline/json/json.h"
#include "pipeline/stage.h"
#include "pipeline/statistics/statistics.h"

enum { HC_RATES = 8 };

typedef enum HcDimensionRule {
    HC_DIMENSION_AUTO, /* the recommended one: HySime */
    HC_DIMENSION_HYSIME,
    HC_DIMENSION_HFC, /* for the first false-alarm rate, as NWHFC */
    HC_DIMENSION_NWHFC,
    HC_DIMENSION_ELM,
    HC_DIMENSION_GAVISH_DONOHO,
    HC_DIMENSION_MARCHENKO_PASTUR,
    HC_DIMENSION_RULES
} HcDimensionRule;

/* The words of the rules in the order of the enumeration, NULL-terminated; and how people know them. */
extern const char *const hc_dimension_words[];
extern const char *const hc_dimension_names[];

/* What the rules say; zero-initialise. */
typedef struct HcDimension {
    int64_t pixels;
    int32_t bands;         /* that vary */
    int32_t rates;         /* false-alarm rates of HFC and NWHFC */
    double rate[HC_RATES]; /* above 0, below 0.5 */
    int32_t hfc[HC_RATES];
    int32_t nwhfc[HC_RATES];
    int32_t count[HC_DIMENSION_RULES]; /* by rule, 0 = no signal; AUTO is at least 1 */
    int32_t rank;                      /* directions in which the bands vary: `bands` or fewer */
    double snr;                        /* signal over noise of the scene, in powers, by HySime */
} HcDimension;

/* The default rates: 1e-3, 1e-4 and 1e-5. */
void hc_dimension_usual(HcDimension *dimension);

/* Fills all but the rates, which are given. The noise is that of hc_noise_in_range, and its failures are
 * those of this function. The stage that asks gets the note on bands that are combinations of others. */
HcStatus hc_dimension_estimate(HcDimension *dimension, HcStage *stage, const HcStatistics *scene,
                               HcError *err) HC_MUST_CHECK;

/* The smallest or largest count of a rule. */
int32_t hc_dimension_extreme(const HcDimension *dimension, bool largest);

/* Whether the rules lie more than a factor of 2 apart. */
bool hc_dimension_differs(const HcDimension *dimension);

void hc_dimension_put(const HcDimension *dimension, HcJson *to);

#endif
