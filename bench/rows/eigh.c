/* Rows of the eigenvalues of a matrix, and of a graded one, with the vendor's libraries beside it. They do
 * not depend on the scene. */
#include "core/allocate.h"
#include "core/operation/eigh/eigh.h"
#include "bench/internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* How far eigenvalues may be from those of the reference: relative to the largest where that is all that a
 * method gives, and relative to themselves by eigh of the contract. */
static const double normwise_tolerance = 1e-12;
static const double relative_tolerance = 1e-6;

typedef HcStatus VendorEigh(HcVendor *vendor, HcQueue *queue, int32_t n, const double *matrix, double *values,
                            double *vectors, HcError *err);

typedef struct Graded {
    double *matrix, *vectors, *values; /* [bands][bands], [bands] */
    bool is_graded;                    /* else there is nothing to compare with */
    VendorEigh *solve;
} Graded;

static HcStatus call_eigh(HcRig *rig, void *user, HcError *err) {
    Graded *graded = user;
    return hc_eigh(rig->compute, rig->settings->bands, rig->settings->bands, graded->matrix, graded->values,
                   graded->vectors, err);
}

static HcStatus call_vendor_eigh(HcRig *rig, void *user, HcError *err) {
    Graded *graded = user;
    return graded->solve(rig->vendor, rig->queue, rig->settings->bands, graded->matrix, graded->values,
                         graded->vectors, err);
}

/* Compares with the reference, and says how far the eigenvalues are off relative to themselves. */
static void check_graded(const HcRig *rig, const Graded *graded, bool relative, const char *method,
                         HcBenchRow *row) {
    const HcBenchWitness *witness = rig->bench->witness;
    int32_t n = rig->settings->bands;
    bool ascending = graded->values[0] < graded->values[n - 1];
    double off = 0;
    snprintf(row->how, sizeof row->how, "%s", method);
    if (!graded->is_graded || witness == NULL || witness->eigenvalues == NULL) {
        return;
    }
    for (int32_t k = 0; k < n; k++) {
        double expected = witness->eigenvalues[k];
        double difference = fabs(graded->values[ascending ? n - 1 - k : k] - expected);
        double tolerance =
            relative ? relative_tolerance * expected : normwise_tolerance * witness->eigenvalues[0];
        if (!(difference <= tolerance)) {
            hc_bench_wrong(row, "eigenvalue %d is off by %.2g of itself", k + 1, difference / expected);
        }
        off = fmax(off, difference / expected);
    }
    snprintf(row->how, sizeof row->how, "%s%seigenvalues off by up to %.1e", method,
             *method != '\0' ? ", " : "", off);
    row->check = HC_BENCH_NEAR;
}

static HcStatus vendor_row(HcRig *rig, Graded *graded, const char *name, VendorEigh *solve, bool relative,
                           const char *method, HcError *err) {
    if (solve == NULL) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_vendor_row(rig, name, rig->settings->lines);
    graded->solve = solve;
    HC_OR_RETURN(hc_rig_measure(rig, call_vendor_eigh, graded, row, err));
    check_graded(rig, graded, relative, method, row);
    return HC_OK;
}

static HcStatus eigh(HcRig *rig, const char *name, bool is_graded, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)rig->settings->bands;
    Graded graded = {.is_graded = is_graded};
    if (!hc_bench_wants(rig->bench, name)) {
        return HC_OK;
    }
    HC_TRY(hc_new(graded.matrix, 2 * n * n + n, "a matrix", err));
    graded.vectors = graded.matrix + n * n;
    graded.values = graded.vectors + n * n;
    (is_graded ? hc_bench_graded : hc_bench_symmetric)(rig->settings, graded.matrix);
    HcBenchRow *row = hc_bench_row(rig->bench, name, rig->device->by, rig->settings->lines);
    HC_TRY(hc_rig_measure(rig, call_eigh, &graded, row, err));
    check_graded(rig, &graded, true, "", row);
    if (rig->vendor != NULL) {
        const HcVendorOps *ops = rig->vendor_ops;
        HC_TRY(vendor_row(rig, &graded, name, ops->eigh, false, is_graded ? "dsyevd" : "", err));
        HC_TRY(vendor_row(rig, &graded, name, is_graded ? ops->eigh_jacobi : NULL, true, "dgejsv", err));
    }
done:
    free(graded.matrix);
    return status;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    HC_OR_RETURN(eigh(rig, "eigh", false, err));
    return eigh(rig, "eigh-graded", true, err);
}

const HcBenchPart hc_bench_eigh = {
    .measure = measure,
    .rows = (const HcBenchKind[]){{"eigh", HC_BENCH_UNCHECKED}, {"eigh-graded", HC_BENCH_NEAR}, {0}}};
