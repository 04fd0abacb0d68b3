#include "pipeline/stages/classify/covariance.h"
#include "core/allocate.h"
#include "core/text.h"

#include <stdlib.h>

static void add_spectrum(HcWithin *within, const float *value, const double *mean, double *apart) {
    double square = 0;
    for (size_t b = 0; b < within->bands; b++) {
        apart[b] = (double)value[b] - mean[b];
        square += apart[b] * apart[b];
    }
    within->fourth += square * square;
    for (size_t b = 0; b < within->bands; b++) {
        for (size_t c = 0; c <= b; c++) {
            within->covariance[b * within->bands + c] += apart[b] * apart[c];
        }
    }
}

HcStatus hc_within_fit(HcWithin *within, const HcSamples *training, HcError *err) {
    size_t n = within->bands;
    double *apart = NULL;
    HC_OR_RETURN(hc_new(apart, n, "the covariance within classes", err));
    for (int64_t i = 0; i < training->count; i++) {
        if (within->only == 0 || training->label[i] == within->only) {
            add_spectrum(within, training->value + (size_t)i * n,
                         within->mean + (size_t)training->label[i] * n, apart);
        }
    }
    free(apart);
    for (size_t b = 0; b < n; b++) {
        for (size_t c = 0; c <= b; c++) {
            double value = within->covariance[b * n + c] / (double)(within->count - within->classes);
            within->covariance[b * n + c] = within->covariance[c * n + b] = value;
        }
    }
    return HC_OK;
}

/* Ledoit and Wolf 2004: the covariance S of what is apart, divided by n, towards its mean variance m. The
 * share is the smaller of |S - m|^2 and the mean of |z z' - S|^2 / n, over |S - m|^2. */
double hc_within_share(const HcWithin *within, const char *how) {
    double share = 0, trace = 0, squares = 0;
    double n = (double)within->count;
    double p = (double)within->bands;
    double by_n = (n - within->classes) / n;
    if (hc_text_equal(how, "none") || hc_text_parse_double(how, &share)) {
        return share;
    }
    for (size_t i = 0; i < within->bands * within->bands; i++) {
        double value = within->covariance[i] * by_n;
        trace += i % (within->bands + 1) == 0 ? value : 0;
        squares += value * value;
    }
    double apart = squares - trace * trace / p;
    double spread = (within->fourth / n - squares) / n;
    return spread < apart ? spread / apart : 1;
}
