/* osp: orthogonal subspace projection, t'P x / (t'P t) with P the projection away from all other targets: 1
 * for the target, 0 for any mixture of the others. */
#include "core/allocate.h"
#include "pipeline/stages/detect/detect.h"
#include "pipeline/statistics/dot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Takes the parts along basis[count] out of a vector; twice is enough (Kahan; Parlett 1980). */
static void remove_parts(const double *basis, size_t count, size_t n, double *vector) {
    for (size_t k = 0; k < 2 * count; k++) {
        const double *along = basis + k % count * n;
        double part = hc_dot(along, vector, n);
        for (size_t i = 0; i < n; i++) {
            vector[i] -= part * along[i];
        }
    }
}

/* Adds what is new in a spectrum to the basis; returns its size. */
static size_t grow(double *basis, size_t count, size_t n, const double *spectrum) {
    double *next = basis + count * n;
    double whole = hc_dot(spectrum, spectrum, n);
    memcpy(next, spectrum, n * sizeof *next);
    remove_parts(basis, count, n, next);
    double rest = hc_dot(next, next, n);
    if (rest <= 1e-24 * whole) {
        return count;
    }
    for (size_t i = 0; i < n; i++) {
        next[i] /= sqrt(rest);
    }
    return count + 1;
}

static HcStatus make(const HcDetectInput *in, HcScoring *out, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)in->bands;
    size_t count = (size_t)in->targets;
    double *basis = NULL;
    HC_TRY(hc_new(basis, (count + 1) * n, "a detector", err));
    HC_TRY(hc_new(out->projection, n * count, "a detector", err));
    out->directions = in->targets;
    for (size_t j = 0; j < count; j++) {
        size_t size = 0;
        for (size_t other = 0; other < count; other++) {
            size = other != j ? grow(basis, size, n, in->spectrum + other * n) : size;
        }
        double *own = basis + size * n;
        memcpy(own, in->spectrum + j * n, n * sizeof *own);
        double whole = hc_dot(own, own, n);
        remove_parts(basis, size, n, own);
        double rest = hc_dot(own, own, n);
        if (!(rest > 1e-24 * whole)) {
            HC_TRY(hc_fail(err, HC_E_NUMERIC, "detect: target \"%s\" is a combination of the others",
                           in->name[j]));
        }
        for (size_t b = 0; b < n; b++) {
            out->projection[b * count + j] = own[b] / rest;
        }
    }
done:
    free(basis);
    return status;
}

const HcDetectMethod hc_detect_osp = {.name = "osp",
                                      .what = "orthogonal subspace projection",
                                      .suffix = hc_detect_plain,
                                      .unit = true,
                                      .spectra = true,
                                      .make = make};
