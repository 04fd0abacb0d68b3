#include "pipeline/statistics/shrinkage.h"
#include "core/operation/gram/column_filters.h"
#include "core/text.h"

static const char *const shrink_words[] = {"none", "ledoit-wolf", "rao-blackwell", "oas", NULL};

HcStatus hc_shrinkage_check_words(const char *who, const char *text, const char *const *words, HcError *err) {
    HcText known = {0};
    double value = 0;
    for (int i = 0; words[i] != NULL; i++) {
        if (hc_text_equal(text, words[i])) {
            hc_text_clear(&known);
            return HC_OK;
        }
        hc_text_add(&known, "%s, ", words[i]);
    }
    bool share = hc_text_parse_double(text, &value) && value >= 0 && value <= 1;
    const char *nearest = hc_text_nearest(text, words);
    HcStatus status =
        share ? HC_OK
        : nearest != NULL
            ? hc_fail(err, HC_E_USAGE, "%s: --shrink %s: unknown, did you mean %s?", who, text, nearest)
            : hc_fail_text(err, HC_E_USAGE, &known, "%s: --shrink %s: %sor a number from 0 to 1", who, text,
                           hc_text_shown(&known));
    hc_text_clear(&known);
    return status;
}

HcStatus hc_shrinkage_check(const char *who, const char *text, HcError *err) {
    return hc_shrinkage_check_words(who, text, shrink_words, err);
}

bool hc_shrinkage_needs_powers(const char *how) {
    return hc_text_equal(how, "ledoit-wolf");
}

/* With S, whose denominator is n: the mean of |x x' - S|^2 over n is the mean of |x|^4 less |S|^2, over n. */
static double ledoit_wolf(double n, double squares, double apart, double powers) {
    double part = (n - 1) / n;
    double spread = (powers - part * part * squares) / n;
    return spread / (part * part * apart);
}

double hc_shrinkage_share(const HcStatistics *background, const char *how, double powers) {
    double n = (double)background->pixels;
    double p = background->scene.bands;
    double trace = 0, squares = 0, share = 0;
    size_t bands = (size_t)background->scene.bands;
    if (hc_text_equal(how, "none") || hc_text_parse_double(how, &share)) {
        return share;
    }
    for (size_t b = 0; b < bands; b++) {
        trace += background->covariance[b * bands + b];
        for (size_t c = 0; c < bands; c++) {
            squares += background->covariance[b * bands + c] * background->covariance[b * bands + c];
        }
    }
    if (!hc_shrinkage_needs_powers(how)) {
        bool oas = hc_text_equal(how, "oas");
        return hc_column_share(oas ? HC_COLUMN_SHRINK_OAS : HC_COLUMN_SHRINK_RAO_BLACKWELL, 0, n, p, trace,
                               squares);
    }
    share = ledoit_wolf(n, squares, squares - trace * trace / p, powers);
    return share < 0 ? 0 : share < 1 ? share : 1;
}

void hc_shrinkage_mix(double *covariance, size_t bands, double share) {
    double trace = 0;
    for (size_t b = 0; b < bands; b++) {
        trace += covariance[b * bands + b];
    }
    for (size_t i = 0; i < bands * bands; i++) {
        covariance[i] *= 1 - share;
        covariance[i] += i % (bands + 1) == 0 ? share * trace / (double)bands : 0;
    }
}

void hc_shrinkage_apply(HcStatistics *background, double share) {
    if (share != 0) {
        hc_shrinkage_mix(background->covariance, (size_t)background->scene.bands, share);
    }
}
