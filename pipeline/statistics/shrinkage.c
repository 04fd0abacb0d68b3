#include "pipeline/statistics/shrinkage.h"
#include "core/operation/gram/column_filters.h"
#include "core/text.h"

static const char *const shrink_words[] = {"none", "ledoit-wolf", "rao-blackwell", "oas", NULL};

HcStatus hc_shrinkage_check(const char *who, const char *text, HcError *err) {
    double value = 0;
    for (int i = 0; shrink_words[i] != NULL; i++) {
        if (hc_text_equal(text, shrink_words[i])) {
            return HC_OK;
        }
    }
    if (hc_text_parse_double(text, &value) && value >= 0 && value <= 1) {
        return HC_OK;
    }
    const char *nearest = hc_text_nearest(text, shrink_words);
    return nearest != NULL
               ? hc_fail(err, HC_E_USAGE, "%s: --shrink %s: unknown, did you mean %s?", who, text, nearest)
               : hc_fail(err, HC_E_USAGE,
                         "%s: --shrink %s: none, ledoit-wolf, rao-blackwell, oas, or a number from 0 to 1",
                         who, text);
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

void hc_shrinkage_apply(HcStatistics *background, double share) {
    size_t bands = (size_t)background->scene.bands;
    double trace = 0;
    if (share == 0) {
        return;
    }
    for (size_t b = 0; b < bands; b++) {
        trace += background->covariance[b * bands + b];
    }
    for (size_t i = 0; i < bands * bands; i++) {
        background->covariance[i] *= 1 - share;
    }
    for (size_t b = 0; b < bands; b++) {
        background->covariance[b * bands + b] += share * trace / (double)bands;
    }
}
