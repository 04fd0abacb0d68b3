/* Rules on the bands of a scene: which bands each feature has, and the shape of its reference there. */
#include "core/allocate.h"
#include "pipeline/stages/identify/identify.h"

#include <math.h>
#include <stdlib.h>

/* Bands of a feature, at least; and the rounding of wavelengths [nm]. */
enum { BANDS_MIN = 3, NAMES_SHOWN = 4 };
static const double rounding = 1e-6;

typedef struct Making {
    HcReferences *out;
    const HcLibraryFit *fit;
    const HcBandRuns *runs;
} Making;

/* Adds the bands of a range; of those with a value alone where `value` is given. Returns how many. */
static int32_t add_bands(const Making *making, double low, double high, const float *value) {
    HcReferences *out = making->out;
    int32_t before = out->entries;
    for (int32_t k = 0; k < making->runs->count; k++) {
        int32_t band = making->runs->band[k];
        double centre = making->runs->centre[k];
        if (centre >= low - rounding && centre <= high + rounding &&
            (value == NULL || isfinite(value[band]))) {
            out->entry[out->entries++] = (HcIdentifyEntry){.at = centre, .band = band};
        }
    }
    return out->entries - before;
}

/* Means of an end point: its wavelength, and the reference where it has a value. */
static void find_end(const HcReferences *out, int32_t first, int32_t count, const float *value, double *at,
                     double *level) {
    double sum = 0;
    int32_t known = 0;
    *at = 0;
    for (int32_t i = first; i < first + count; i++) {
        double here = value[out->entry[i].band];
        *at += out->entry[i].at / count;
        sum += isfinite(here) ? here : 0;
        known += isfinite(here);
    }
    *level = known > 0 ? sum / known : NAN;
}

/* Turns wavelengths into places between the end points, and the reference into its shape. */
static bool shape_feature(HcReferences *out, HcIdentifyFeature *feature, const float *value) {
    double x[2], y[2], mean = 0, squares = 0, lowest = INFINITY, highest = -INFINITY;
    find_end(out, feature->left, feature->lefts, value, &x[0], &y[0]);
    find_end(out, feature->right, feature->rights, value, &x[1], &y[1]);
    feature->origin = x[0];
    feature->step = x[1] - x[0];
    for (int32_t i = feature->first; i < feature->first + feature->count; i++) {
        HcIdentifyEntry *entry = &out->entry[i];
        entry->at = (entry->at - x[0]) / feature->step;
        entry->shape = (double)value[entry->band] / (y[0] + (y[1] - y[0]) * entry->at);
        mean += entry->shape / feature->count;
        lowest = fmin(lowest, entry->shape);
        highest = fmax(highest, entry->shape);
    }
    for (int32_t i = feature->first; i < feature->first + feature->count; i++) {
        out->entry[i].shape -= mean;
        squares += out->entry[i].shape * out->entry[i].shape;
    }
    feature->scale = 1 / squares;
    feature->depth = mean < 1 ? 1 - lowest : highest - 1;
    return feature->step > 0 && squares > 0 && isfinite(squares) && feature->depth > 0;
}

static bool shape_angle(HcReferences *out, const HcIdentifyFeature *feature, const float *value) {
    double squares = 0;
    for (int32_t i = feature->first; i < feature->first + feature->count; i++) {
        squares += pow((double)value[out->entry[i].band], 2);
    }
    for (int32_t i = feature->first; i < feature->first + feature->count; i++) {
        out->entry[i].shape = (double)value[out->entry[i].band] / sqrt(squares);
    }
    return squares > 0;
}

/* False: these bands do not cover the feature. */
static bool make_feature(const Making *making, const HcExpertFeature *from) {
    HcReferences *out = making->out;
    const float *value = making->fit->value + (size_t)from->spectrum * (size_t)making->fit->bands;
    HcIdentifyFeature *feature = &out->feature[out->features++];
    bool angle = from->test.kind == HC_IDENTIFY_ANGLE;
    *feature = from->test;
    feature->first = out->entries;
    feature->count = add_bands(making, from->end[0], from->end[3], value);
    if (angle) {
        return feature->count > 1 && shape_angle(out, feature, value);
    }
    feature->left = out->entries;
    feature->lefts = add_bands(making, from->end[0], from->end[1], NULL);
    feature->right = out->entries;
    feature->rights = add_bands(making, from->end[2], from->end[3], NULL);
    return feature->count >= BANDS_MIN && feature->lefts > 0 && feature->rights > 0 &&
           shape_feature(out, feature, value);
}

static void make_reference(const Making *making, const HcExpertRules *rules, int32_t number) {
    HcReferences *out = making->out;
    const HcExpertRule *rule = &rules->rule[number];
    int32_t features = out->features, entries = out->entries;
    HcIdentifyReference *reference = &out->reference[out->references];
    bool covered = rule->limits.count > 0;
    *reference = rule->limits;
    reference->number = number + 1;
    reference->first = features;
    for (int32_t f = 0; f < rule->limits.count && covered; f++) {
        covered = make_feature(making, &rules->feature[rule->limits.first + f]);
    }
    if (covered) {
        out->spectrum[out->references++] = rules->feature[rule->limits.first].spectrum;
        return;
    }
    out->features = features;
    out->entries = entries;
    if (out->lost++ < NAMES_SHOWN) {
        hc_text_add(&out->left_out, "%s%s", out->lost > 1 ? ", " : "", rule->name);
    }
}

HcStatus hc_references_make(HcReferences *out, const HcExpertRules *rules, const HcLibraryFit *fit,
                            const HcBandRuns *runs, HcError *err) {
    const Making making = {out, fit, runs};
    size_t entries = 1;
    for (int32_t f = 0; f < rules->features; f++) {
        const double *end = rules->feature[f].end;
        for (int32_t k = 0; k < runs->count; k++) {
            entries += runs->centre[k] >= end[0] - rounding && runs->centre[k] <= end[3] + rounding ? 3 : 0;
        }
    }
    HC_OR_RETURN(hc_new(out->reference, rules->count, "references", err));
    HC_OR_RETURN(hc_new(out->spectrum, rules->count, "references", err));
    HC_OR_RETURN(hc_new(out->feature, rules->features + 1, "references", err));
    HC_OR_RETURN(hc_new(out->entry, entries, "references", err));
    for (int32_t r = 0; r < rules->count; r++) {
        make_reference(&making, rules, r);
    }
    if (out->lost > NAMES_SHOWN) {
        hc_text_add(&out->left_out, " and %d more", out->lost - NAMES_SHOWN);
    }
    return out->left_out.failed ? hc_fail_memory(err, 256, "the names of rules") : HC_OK;
}

void hc_references_clear(HcReferences *references) {
    free(references->reference);
    free(references->feature);
    free(references->entry);
    free(references->spectrum);
    hc_text_clear(&references->left_out);
    *references = (HcReferences){0};
}

HcIdentifyMethod hc_identify_method(const HcStage *stage) {
    const HcIdentifyParams *params = hc_identify_params(stage);
    return params->method >= 0     ? (HcIdentifyMethod)params->method
           : params->rules != NULL ? HC_IDENTIFY_BY_RULES
                                   : HC_IDENTIFY_BY_FEATURES;
}

HcIdentifyRule hc_identify_rule(const HcStage *stage) {
    const HcIdentifyParams *params = hc_identify_params(stage);
    const HcIdentifyState *state = stage->state;
    return (HcIdentifyRule){.references = state->references.references,
                            .features = state->references.features,
                            .entries = state->references.entries,
                            .bands = stage->in.bands,
                            .reference = state->reference.data,
                            .feature = state->feature.data,
                            .entry = state->entry.data,
                            .angle = hc_identify_method(stage) == HC_IDENTIFY_BY_ANGLE,
                            .by_product = params->rank != 0,
                            .rejected = params->rejected,
                            .top = (int32_t)(params->top > 0 ? params->top : 1)};
}
