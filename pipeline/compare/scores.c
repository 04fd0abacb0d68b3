/* Scores against a map of targets: receiver operating characteristics (ROC). One pass keeps the scores of all
 * pixels that both rasters have, and then each band is sorted. Equal scores are one threshold, so that ties
 * count as half in the area, as in the statistic of Mann and Whitney. */
#include "core/allocate.h"
#include "pipeline/compare/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const double hc_roc_rate[HC_ROC_RATES] = {1e-3, 1e-4};

/* The pixels that are compared. */
typedef struct Pixels {
    int64_t count, most;
    int32_t bands;
    float *score;    /* [bands][most] */
    uint16_t *class; /* [most] of the truth */
    float *of[2];    /* [most] the scores of a band: of targets, and of the background */
} Pixels;

static void clear_pixels(Pixels *pixels) {
    free(pixels->score);
    free(pixels->class);
    free(pixels->of[0]);
    free(pixels->of[1]);
}

size_t hc_compare_scores_bytes(const HcPair *pair) {
    size_t pixels = (size_t)pair->lines * (size_t)pair->samples;
    return pixels * (sizeof(float) * ((size_t)hc_pair_scene(pair, 0)->bands + 2) + sizeof(uint16_t));
}

static HcStatus open_pixels(const HcPair *pair, Pixels *pixels, HcError *err) {
    static const char what[] = "scores";
    pixels->most = pair->lines * pair->samples;
    pixels->bands = hc_pair_scene(pair, 0)->bands;
    HC_OR_RETURN(hc_new(pixels->score, (size_t)pixels->most * (size_t)pixels->bands, what, err));
    HC_OR_RETURN(hc_new(pixels->class, pixels->most, what, err));
    HC_OR_RETURN(hc_new(pixels->of[0], pixels->most, what, err));
    return hc_new(pixels->of[1], pixels->most, what, err);
}

static HcStatus add_block(const HcPair *pair, double sign, Pixels *to, HcError *err) {
    const HcBlock *of = &pair->block[0], *truth = &pair->block[1];
    for (size_t p = 0; p < hc_block_pixels(of); p++) {
        float class = truth->data[p];
        if (!of->mask[p] || !truth->mask[p]) {
            continue;
        }
        if (!(class >= 0 && class < HC_CLASS_NUMBERS && class == floorf(class))) {
            return hc_fail(err, HC_E_INPUT, "%s: line %lld, sample %lld: %g is no class (whole, 0 to %d)",
                           hc_pair_path(pair, 1),
                           (long long)(truth->line0 + (int64_t)(p / (size_t)truth->samples) + 1),
                           (long long)(p % (size_t)truth->samples + 1), (double)class, HC_CLASS_NUMBERS - 1);
        }
        for (int32_t b = 0; b < to->bands; b++) {
            to->score[(int64_t)b * to->most + to->count] =
                (float)sign * of->data[p * (size_t)to->bands + (size_t)b];
        }
        to->class[to->count++] = (uint16_t) class;
    }
    return HC_OK;
}

/* ---- which class is the target of a band ---- */

static const char *class_name(const HcScene *truth, int32_t number) {
    return number < truth->classes.count ? truth->classes.name[number] : NULL;
}

static bool is_background(const HcScene *truth, int32_t number) {
    return number == 0 || hc_class_is_none(class_name(truth, number));
}

/* The class of that name, or 0. */
static int32_t class_named(const HcScene *truth, const char *name) {
    for (int32_t n = 1; n < truth->classes.count && name != NULL; n++) {
        if (!is_background(truth, n) && hc_text_equal_trimmed(name, truth->classes.name[n])) {
            return n;
        }
    }
    return 0;
}

/* By name where a band has the name of a class; else a single band is for all classes, and others are for the
 * classes of their numbers. */
static HcStatus choose_targets(const HcPair *pair, HcCompareMatch match, HcComparison *out, HcError *err) {
    const HcScene *scene = hc_pair_scene(pair, 0), *truth = hc_pair_scene(pair, 1);
    HcScoreFigures *scores = &out->scores;
    int32_t named = 0;
    HC_OR_RETURN(hc_new(scores->band, scene->bands, "figures of the bands", err));
    for (int32_t b = 0; b < scene->bands && match != HC_MATCH_ORDER; b++) {
        const char *name = scene->band_name != NULL ? scene->band_name[b] : NULL;
        int32_t class = class_named(truth, name);
        if (class > 0) {
            scores->band[named++] = (HcRoc){.band = b, .target = class};
        }
    }
    out->matched_by = named > 0 ? "name" : "order";
    scores->bands = named > 0 ? named : scene->bands;
    for (int32_t b = 0; b < scene->bands && named == 0; b++) {
        scores->band[b] = (HcRoc){.band = b, .target = scene->bands == 1 ? 0 : b + 1};
    }
    out->unmatched[0] = scene->bands - scores->bands;
    if (match == HC_MATCH_BEST) {
        return hc_fail(err, HC_E_USAGE, "compare: --match best: not for scores");
    }
    if (match == HC_MATCH_NAME && named == 0) {
        return hc_fail(err, HC_E_INPUT, "%s: no band has the name of a class of %s", hc_pair_path(pair, 0),
                       hc_pair_path(pair, 1));
    }
    return HC_OK;
}

/* ---- one band ---- */

static int falling(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x < y) - (x > y);
}

/* A point of the curve, unless it lies close to the last one. */
static void add_point(HcRoc *roc, double alarms, double detected, bool last) {
    double *x = roc->curve[0] + roc->count, *y = roc->curve[1] + roc->count;
    bool far = roc->count == 0 || last || alarms > 1.05 * x[-1] || alarms > x[-1] + 1.0 / 400 ||
               detected > y[-1] + 1.0 / 400;
    if (far && (roc->count < HC_ROC_POINTS - 1 || last)) {
        *x = alarms;
        *y = detected;
        roc->count++;
    }
}

/* Walks through the thresholds, the highest first. */
static void walk(HcRoc *roc, double sign, const float *target, const float *background) {
    int64_t hits = 0, alarms = 0;
    const double targets = (double)roc->targets, others = (double)roc->background;
    add_point(roc, 0, 0, false);
    while (hits < roc->targets || alarms < roc->background) {
        float at = hits == roc->targets        ? background[alarms]
                   : alarms == roc->background ? target[hits]
                                               : fmaxf(target[hits], background[alarms]);
        int64_t hits_before = hits, alarms_before = alarms;
        while (hits < roc->targets && target[hits] == at) {
            hits++;
        }
        while (alarms < roc->background && background[alarms] == at) {
            alarms++;
        }
        roc->area += (double)(alarms - alarms_before) * (double)(hits_before + hits) / 2 / targets / others;
        for (int r = 0; r < HC_ROC_RATES; r++) {
            if ((double)alarms <= hc_roc_rate[r] * others * (1 + 1e-12)) {
                roc->detection[r] = (double)hits / targets;
                roc->threshold[r] = sign * (double)at;
                roc->alarms[r] = alarms;
            }
        }
        add_point(roc, (double)alarms / others, (double)hits / targets,
                  hits == roc->targets && alarms == roc->background);
    }
}

static HcStatus find_roc(const HcScene *truth, Pixels *pixels, double sign, HcRoc *roc, HcError *err) {
    const float *score = pixels->score + (int64_t)roc->band * pixels->most;
    roc->area = NAN;
    for (int r = 0; r < HC_ROC_RATES; r++) {
        roc->detection[r] = roc->threshold[r] = NAN;
    }
    for (int64_t p = 0; p < pixels->count; p++) {
        int32_t class = pixels->class[p];
        bool hit = roc->target > 0 ? class == roc->target : !is_background(truth, class);
        pixels->of[hit ? 0 : 1][hit ? roc->targets++ : roc->background++] = score[p];
    }
    if (roc->targets == 0 || roc->background == 0) {
        return HC_OK;
    }
    qsort(pixels->of[0], (size_t)roc->targets, sizeof(float), falling);
    qsort(pixels->of[1], (size_t)roc->background, sizeof(float), falling);
    HC_OR_RETURN(hc_new(roc->curve[0], HC_ROC_POINTS, "a curve", err));
    HC_OR_RETURN(hc_new(roc->curve[1], HC_ROC_POINTS, "a curve", err));
    roc->area = 0;
    for (int r = 0; r < HC_ROC_RATES; r++) {
        roc->detection[r] = 0;
    }
    walk(roc, sign, pixels->of[0], pixels->of[1]);
    return HC_OK;
}

static HcStatus check_found(const HcPair *pair, const HcComparison *out, HcError *err) {
    bool targets = false;
    for (int32_t b = 0; b < out->scores.bands; b++) {
        if (!isnan(out->scores.band[b].area)) {
            return HC_OK;
        }
        targets = targets || out->scores.band[b].targets > 0;
    }
    return hc_fail(err, HC_E_NUMERIC, "%s: no pixel of %s has scores in %s", hc_pair_path(pair, 1),
                   targets ? "the background (--source-nodata none, where 0 is nodata)" : "a target",
                   hc_pair_path(pair, 0));
}

HcStatus hc_compare_scores(HcPair *pair, const HcCompareSettings *settings, HcComparison *out, HcError *err) {
    HcStatus status = HC_OK;
    Pixels pixels = {0};
    double sign = settings->low ? -1 : 1;
    HC_TRY(choose_targets(pair, settings->match, out, err));
    HC_TRY(open_pixels(pair, &pixels, err));
    for (int64_t line = 0; line < pair->lines; line += pair->lines_most) {
        HC_TRY(hc_pair_load(pair, line, (int32_t)hc_min64(pair->lines_most, pair->lines - line), err));
        HC_TRY(add_block(pair, sign, &pixels, err));
    }
    HC_TRY(hc_pair_unchanged(pair, err));
    out->passes = 1;
    out->pixels = pixels.count;
    out->left_out = pixels.most - pixels.count;
    for (int32_t b = 0; b < out->scores.bands; b++) {
        HC_TRY(find_roc(hc_pair_scene(pair, 1), &pixels, sign, &out->scores.band[b], err));
    }
    HC_TRY(check_found(pair, out, err));
done:
    clear_pixels(&pixels);
    return status;
}
