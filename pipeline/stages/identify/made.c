/* Rules that are made of the spectra of a library: their features, or their directions. */
#include "core/allocate.h"
#include "core/solver/hull.h"
#include "pipeline/stages/identify/identify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Features of a spectrum, the largest ones; the least depth of one, and its bands between the end points. */
enum { FEATURES_MAX = 8, BETWEEN_MIN = 3 };
static const double least_depth = 0.02;

static const HcIdentifyRange any = {-INFINITY, INFINITY};

static HcStatus make_rules(HcExpertRules *rules, const HcLibraryFit *fit, int32_t each, HcError *err) {
    HC_OR_RETURN(hc_new(rules->rule, fit->count, "rules", err));
    HC_OR_RETURN(hc_new(rules->feature, fit->count * each, "rules", err));
    for (; rules->count < fit->count; rules->count++) {
        HcExpertRule *rule = &rules->rule[rules->count];
        rule->limits = (HcIdentifyReference){.family = -1,
                                             .centre = any,
                                             .ratio = INFINITY,
                                             .fit = -INFINITY,
                                             .depth = any,
                                             .product = -INFINITY};
        rule->name = strdup(fit->name[rules->count]);
        HC_OR_RETURN(hc_text_made(rule->name, 64, "the name of a spectrum", err));
    }
    return HC_OK;
}

static HcExpertFeature feature_of(int32_t spectrum, HcIdentifyKind kind, double from, double to) {
    return (HcExpertFeature){
        .test =
            {.kind = kind, .weight = 1, .level = {any, any, any}, .slope = any, .fits = any, .depths = any},
        .end = {from, from, to, to},
        .spectrum = spectrum};
}

HcStatus hc_expert_of_angles(HcExpertRules *rules, const HcIdentifyParams *params, const HcLibraryFit *fit,
                             const HcBandRuns *runs, HcError *err) {
    HC_OR_RETURN(make_rules(rules, fit, 1, err));
    for (int32_t k = 0; k < fit->count; k++) {
        HcExpertFeature *feature = &rules->feature[rules->features];
        *feature = feature_of(k, HC_IDENTIFY_ANGLE, runs->centre[0], runs->centre[runs->count - 1]);
        if (!isnan(params->max_angle)) {
            feature->test.fits.low = cos(params->max_angle);
        }
        rules->rule[k].limits.first = rules->features++;
        rules->rule[k].limits.count = 1;
    }
    return HC_OK;
}

/* ---- features by the hull ---- */

/* The values of one spectrum in one run of bands. */
typedef struct Curve {
    int32_t count;
    const double *x;
    double *y;
} Curve;

/* The area [nm] below the line between two places; 0 where it is no feature. */
static double area_of(const Curve *curve, int32_t from, int32_t to) {
    double area = 0, deepest = 0;
    for (int32_t i = from + 1; i < to; i++) {
        double at = (curve->x[i] - curve->x[from]) / (curve->x[to] - curve->x[from]);
        double depth = 1 - curve->y[i] / (curve->y[from] + at * (curve->y[to] - curve->y[from]));
        area += depth * (curve->x[i + 1] - curve->x[i - 1]) / 2;
        deepest = fmax(deepest, depth);
    }
    return to - from > BETWEEN_MIN && deepest >= least_depth ? area : 0;
}

/* Keeps the features of a rule by falling area. */
static void keep_feature(HcExpertFeature *list, int32_t *count, const HcExpertFeature *one) {
    int32_t at = *count;
    while (at > 0 && list[at - 1].test.weight < one->test.weight) {
        at--;
    }
    *count += *count < FEATURES_MAX;
    for (int32_t i = *count - 1; i > at; i--) {
        list[i] = list[i - 1];
    }
    if (at < *count) {
        list[at] = *one;
    }
}

static void add_features(const Curve *curve, int32_t spectrum, int32_t *hull, HcExpertFeature *list,
                         int32_t *count) {
    int32_t corners = 0;
    for (int32_t k = 0; k < curve->count; k++) {
        corners = hc_hull_push(curve->x, curve->y, hull, corners, k);
    }
    for (int32_t c = 0; c + 1 < corners; c++) {
        double from = curve->x[hull[c]], to = curve->x[hull[c + 1]];
        HcExpertFeature one = feature_of(spectrum, HC_IDENTIFY_DIAGNOSTIC, from, to);
        one.test.weight = area_of(curve, hull[c], hull[c + 1]);
        if (one.test.weight > 0) {
            keep_feature(list, count, &one);
        }
    }
}

/* Runs end at missing values, too. */
static void find_features(const float *value, int32_t spectrum, const HcBandRuns *runs, double *y,
                          int32_t *hull, HcExpertFeature *list, int32_t *count) {
    for (int32_t r = 0; r < runs->runs; r++) {
        int32_t from = runs->first[r];
        for (int32_t k = from; k <= runs->first[r + 1]; k++) {
            bool ends = k == runs->first[r + 1] || !(value[runs->band[k]] > 0);
            if (!ends) {
                y[k] = value[runs->band[k]];
                continue;
            }
            const Curve curve = {k - from, runs->centre + from, y + from};
            add_features(&curve, spectrum, hull, list, count);
            from = k + 1;
        }
    }
}

HcStatus hc_expert_of_features(HcExpertRules *rules, const HcIdentifyParams *params, const HcLibraryFit *fit,
                               const HcBandRuns *runs, HcError *err) {
    HcStatus status = HC_OK;
    double *y = NULL;
    int32_t *hull = NULL;
    HC_TRY(make_rules(rules, fit, FEATURES_MAX, err));
    HC_TRY(hc_new(y, runs->count, "a hull", err));
    HC_TRY(hc_new(hull, runs->count, "a hull", err));
    for (int32_t k = 0; k < fit->count; k++) {
        HcIdentifyReference *limits = &rules->rule[k].limits;
        HcExpertFeature *list = &rules->feature[rules->features];
        double areas = 0;
        limits->first = rules->features;
        limits->fit = isnan(params->min_fit) ? 0.5 : params->min_fit;
        limits->depth.low = isnan(params->min_depth) ? 0.01 : params->min_depth;
        find_features(fit->value + (size_t)k * (size_t)fit->bands, k, runs, y, hull, list, &limits->count);
        rules->features += limits->count;
        for (int32_t f = 0; f < limits->count; f++) {
            areas += list[f].test.weight;
        }
        for (int32_t f = 0; f < limits->count; f++) {
            list[f].test.weight /= areas;
        }
    }
done:
    free(y);
    free(hull);
    return status;
}
