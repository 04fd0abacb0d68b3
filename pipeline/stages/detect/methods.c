/* What methods are made of: filters in one projection, whitened pixels, spectra as they are. */
#include "core/allocate.h"
#include "pipeline/stages/detect/detect.h"
#include "pipeline/statistics/whitening.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const hc_detect_plain[] = {"", NULL};

void hc_scoring_clear(HcScoring *detector) {
    free(detector->projection);
    free(detector->offset);
    free(detector->rows);
    free(detector->deviation);
    *detector = (HcScoring){0};
}

void hc_detect_signal(const HcDetectInput *in, int32_t target, const double *mean, double *signal) {
    const double *spectrum = in->spectrum + (size_t)target * (size_t)in->bands;
    for (int32_t b = 0; b < in->bands; b++) {
        double base = mean != NULL ? mean[b] : 0;
        signal[b] = in->absorption ? base * spectrum[b] : spectrum[b] - base;
    }
}

static double squares(const double *y, int32_t count) {
    double sum = 0;
    for (int32_t k = 0; k < count; k++) {
        sum += y[k] * y[k];
    }
    return sum;
}

static HcStatus take_offset(const HcDetectInput *in, const double *mean, HcScoring *out, HcError *err) {
    if (mean == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(out->offset, in->bands, "a detector", err));
    memcpy(out->offset, mean, (size_t)in->bands * sizeof *mean);
    return HC_OK;
}

static HcStatus refuse_nothing(const HcDetectInput *in, int32_t target, HcError *err) {
    return hc_fail(err, HC_E_NUMERIC, "detect: target \"%s\" does not differ from the background",
                   in->name[target]);
}

HcStatus hc_detect_filter(const HcDetectInput *in, const double *matrix, const double *mean, HcScoring *out,
                          HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)in->bands;
    size_t count = (size_t)in->targets;
    HcWhitening whitening = {0};
    double *signal = NULL;
    HC_TRY(hc_whitening_make(&whitening, in->compute, in->bands, matrix, err));
    HC_TRY(hc_new(signal, 2 * n, "a detector", err));
    HC_TRY(hc_new(out->projection, n * count, "a detector", err));
    HC_TRY(hc_new(out->deviation, count, "a detector", err));
    HC_TRY(take_offset(in, mean, out, err));
    out->directions = in->targets;
    double *white = signal + n;
    size_t m = (size_t)whitening.directions;
    out->components = whitening.directions;
    for (size_t j = 0; j < count; j++) {
        hc_detect_signal(in, (int32_t)j, mean, signal);
        hc_whitening_apply(&whitening, signal, white);
        double power = squares(white, whitening.directions);
        if (!(power > 0)) {
            HC_TRY(refuse_nothing(in, (int32_t)j, err));
        }
        out->deviation[j] = 1 / sqrt(power);
        for (size_t b = 0; b < n; b++) {
            double weight = 0;
            for (size_t k = 0; k < m; k++) {
                weight += whitening.matrix[b * m + k] * white[k];
            }
            out->projection[b * count + j] = weight / power;
        }
    }
done:
    hc_whitening_clear(&whitening);
    free(signal);
    return status;
}

HcStatus hc_detect_whiten(const HcDetectInput *in, HcReduction reduction, HcScoring *out, HcError *err) {
    HcStatus status = HC_OK;
    HcWhitening whitening = {0};
    double *signal = NULL;
    HC_TRY(hc_whitening_make(&whitening, in->compute, in->bands, in->covariance, err));
    size_t m = (size_t)whitening.directions;
    HC_TRY(hc_new(signal, in->bands, "a detector", err));
    HC_TRY(hc_new(out->rows, (size_t)in->targets * m, "a detector", err));
    HC_TRY(hc_new(out->deviation, in->targets, "a detector", err));
    HC_TRY(take_offset(in, in->mean, out, err));
    for (int32_t j = 0; j < in->targets; j++) {
        double *row = out->rows + (size_t)j * m;
        hc_detect_signal(in, j, in->mean, signal);
        hc_whitening_apply(&whitening, signal, row);
        double power = squares(row, whitening.directions);
        if (!(power > 0)) {
            HC_TRY(refuse_nothing(in, j, err));
        }
        out->deviation[j] = 1 / sqrt(power);
    }
    out->directions = out->components = whitening.directions;
    out->projection = whitening.matrix;
    whitening.matrix = NULL;
    out->reduction = reduction;
done:
    hc_whitening_clear(&whitening);
    free(signal);
    return status;
}

HcStatus hc_detect_as_is(const HcDetectInput *in, HcReduction reduction, HcScoring *out, HcError *err) {
    size_t count = (size_t)in->targets * (size_t)in->bands;
    HC_OR_RETURN(hc_new(out->rows, count, "a detector", err));
    memcpy(out->rows, in->spectrum, count * sizeof *out->rows);
    out->directions = in->bands;
    out->reduction = reduction;
    return HC_OK;
}
