#include "pipeline/picture/scale.h"
#include "core/text.h"
#include "pipeline/option/option.h"
#include "pipeline/picture/image.h"

#include <math.h>
#include <string.h>

enum { SPECTRUM_NUMBERS = 100, INFEASIBILITY, FALSE_ALARMS };

/* 0: what the stage is for; others are what it adds, each kind with its number. */
static int32_t kind_of(const HcScene *scene, int32_t band) {
    static const char *const added[] = {"residual", "rmse", "status",    "pivots",    "iterations", "gap",
                                        "error",    "dual", "objective", "dimension", "end",        NULL};
    const char *name = scene->band_name != NULL ? scene->band_name[band] : NULL;
    if (name == NULL) {
        return 0;
    }
    int32_t place = hc_text_find(name, added);
    return place >= 0                                                          ? place + 1
           : hc_text_ends_with(name, " infeasibility")                         ? INFEASIBILITY
           : hc_text_ends_with(name, " false-alarm rate")                      ? FALSE_ALARMS
           : scene->number_names != NULL && strncmp(name, "spectrum ", 9) == 0 ? SPECTRUM_NUMBERS
                                                                               : 0;
}

bool hc_scale_is_fraction(const HcScene *scene, int32_t band) {
    bool some = scene->meaning == HC_FRACTION || scene->number_names != NULL;
    return some && kind_of(scene, band) == 0;
}

bool hc_scale_is_score(const HcScene *scene, int32_t band) {
    return scene->meaning == HC_OTHER && !hc_scale_is_fraction(scene, band);
}

HcStatus hc_scale_percentiles(const char *who, const char *text, double percentile[2], HcError *err) {
    percentile[0] = percentile[1] = NAN;
    if (text != NULL && (hc_option_numbers(text, percentile, 2) != 2 || !(percentile[0] >= 0) ||
                         !(percentile[1] <= 100) || !(percentile[0] < percentile[1]))) {
        return hc_fail(err, HC_E_USAGE, "%s: --percentiles %s: must be two numbers from 0 to 100, rising",
                       who, text);
    }
    return HC_OK;
}

HcStatus hc_scale_limits(const char *who, const char *text, bool colours, int32_t count, float (*limit)[2],
                         HcError *err) {
    double value[6];
    int32_t values = hc_option_numbers(text, value, 6);
    bool good = values == 2 || (values == 6 && colours);
    for (int32_t v = 0; v < values && good; v += 2) {
        good = value[v] < value[v + 1] && isfinite((float)value[v]) && isfinite((float)value[v + 1]);
    }
    if (!good) {
        return hc_fail(err, HC_E_USAGE, "%s: --limits %s: must be two numbers, rising%s", who, text,
                       colours ? ", or two for each of red, green and blue" : "");
    }
    for (int32_t c = 0; c < count; c++) {
        limit[c][0] = (float)value[2 * c % values];
        limit[c][1] = (float)value[2 * c % values + 1];
    }
    return HC_OK;
}

HcScaleSigns hc_scale_signs(bool single, int64_t colours) {
    return single && colours < 0              ? HC_SIGNS_FOUND
           : single && colours == HC_RAMP_VIK ? HC_SIGNS_ALL
                                              : HC_SIGNS_IGNORED;
}

/* Both signs: the same length on both sides of 0, or 0 as an end where what lies beyond is a few strays. */
static void balance(const HcScaled *scaled, float limit[2]) {
    float less = fminf(-limit[0], limit[1]), more = fmaxf(-limit[0], limit[1]);
    if (less > (scaled->signs == HC_SIGNS_FOUND ? 0.05f * more : 0)) {
        limit[0] = -more;
        limit[1] = more;
    } else if (scaled->signs == HC_SIGNS_FOUND && less > 0) {
        limit[more == limit[1] ? 0 : 1] = 0;
    }
}

static bool share(const HcScene *scene, int32_t a, int32_t b) {
    return hc_scale_is_score(scene, a) && hc_scale_is_score(scene, b) &&
           kind_of(scene, a) == kind_of(scene, b);
}

HcStatus hc_scale_find(const HcScaled *scaled, float (*limit)[2], HcError *err) {
    const HcScene *scene = scaled->scene;
    bool asked = !isnan(scaled->percentile[0]);
    for (int32_t c = 0; c < scaled->count; c++) {
        HC_OR_RETURN(hc_image_limits(scaled->plane + (size_t)c * scaled->pixels, scaled->valid,
                                     scaled->pixels, asked ? scaled->percentile[0] : 2,
                                     asked ? scaled->percentile[1] : 98, limit[c], err));
        if (!asked && hc_scale_is_fraction(scene, scaled->band[c])) {
            limit[c][0] = 0;
            limit[c][1] = 1;
        } else if (!asked && hc_scale_is_score(scene, scaled->band[c])) {
            limit[c][0] = fminf(limit[c][0], 0);
        }
    }
    for (int32_t c = 0; c < scaled->count; c++) {
        for (int32_t d = 0; d < scaled->count; d++) {
            if (scaled->one || share(scene, scaled->band[c], scaled->band[d])) {
                limit[c][0] = fminf(limit[c][0], limit[d][0]);
                limit[c][1] = fmaxf(limit[c][1], limit[d][1]);
            }
        }
    }
    for (int32_t c = 0; c < scaled->count && scaled->signs != HC_SIGNS_IGNORED; c++) {
        balance(scaled, limit[c]);
    }
    return HC_OK;
}

void hc_scale_say(const HcScaled *scaled, int32_t band, const float limit[2], HcText *to) {
    bool asked = !isnan(scaled->percentile[0]);
    double low = asked ? scaled->percentile[0] : 2, high = asked ? scaled->percentile[1] : 98;
    if (!asked && hc_scale_is_fraction(scaled->scene, band)) {
        hc_text_add(to, "0 to 1");
    } else if (!asked && hc_scale_is_score(scaled->scene, band) && limit[0] == 0) {
        hc_text_add(to, "0 to the value below which %g %% of the shown pixels lie", high);
    } else {
        hc_text_add(to, "%g %% to %g %% of the shown pixels", low, high);
    }
}
