#include "core/operation/knn/knn.h"
#include "bench/internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const hc_bench_operations[] = {"upload",
                                           "download",
                                           "decode-bil",
                                           "decode-bsq",
                                           "decode-bip",
                                           "decode-swapped",
                                           "gather",
                                           "filter-mean3x3",
                                           "filter-median3x3",
                                           "difference-mean3x3",
                                           "gram-none",
                                           "gram-mean3x3",
                                           "gram-float",
                                           "gram-float-mean3x3",
                                           "gram_raw",
                                           "gram_raw-float",
                                           "column_gram",
                                           "project",
                                           "reduce-squares",
                                           "reduce-angle",
                                           "column_filters",
                                           "column_scores",
                                           "column_scores-ace",
                                           "knn",
                                           "knn-angle",
                                           "vote",
                                           "eigh",
                                           "eigh-graded",
                                           "svd-16",
                                           "svd-32",
                                           "svd-64",
                                           "svd-16-complex",
                                           "svd-32-complex",
                                           "svd-64-complex",
                                           "svd-16-complex-128",
                                           "patches",
                                           "groups",
                                           "local",
                                           "unmix-240",
                                           "unmix-498",
                                           "unmix-240-fista",
                                           "unmix-240-alm",
                                           "unmix-498-fista",
                                           "unmix-498-alm",
                                           "gemv-1024x65536",
                                           "gemv-65536x1024",
                                           "gemv-1023x65537",
                                           "gemv-4095x4097",
                                           "gemv-16x4194304",
                                           "gemv-4194304x16",
                                           "gemv-grid",
                                           "gemv_t-1024x65536",
                                           "gemv_t-65536x1024",
                                           "gemv_t-1023x65537",
                                           "gemv_t-4095x4097",
                                           "gemv_t-16x4194304",
                                           "gemv_t-4194304x16",
                                           "gemv_t-grid",
                                           "fista-1024x65536",
                                           "fista-1024x262144",
                                           "alm-1024x65536",
                                           "simplex_batched-12",
                                           "simplex_batched-one",
                                           "simplex_batched-64",
                                           "simplex-1000",
                                           "simplex-1000-zeros",
                                           "simplex-2000",
                                           "simplex-2000-zeros",
                                           "fit-mnf",
                                           "chain-covariances",
                                           "chain-mnf",
                                           "scene-first",
                                           "scene",
                                           NULL};

static HcStatus check_only(const char *only, HcError *err) {
    for (const char *word = only; word != NULL;) {
        size_t length = strcspn(word, ",");
        bool known = false;
        for (int i = 0; hc_bench_operations[i] != NULL; i++) {
            known = known || hc_bench_selects(word, length, hc_bench_operations[i]);
        }
        if (!known || length == 0) {
            return hc_fail(err, HC_E_USAGE,
                           "--only %s: '%.*s' is no operation (hcube bench --help lists them)", only,
                           (int)length, word);
        }
        word = word[length] == ',' ? word + length + 1 : NULL;
    }
    return HC_OK;
}

HcStatus hc_bench_open(HcBench *bench, const HcBenchSettings *settings, HcError *err) {
    *bench = (HcBench){.settings = *settings};
    if (settings->lines < 3 || settings->samples < 3 ||
        (settings->lines - 2) * (int64_t)(settings->samples - 2) <= settings->bands) {
        return hc_fail(err, HC_E_USAGE,
                       "--size %lldx%dx%d: too few pixels for the noise covariance of %d bands",
                       (long long)settings->lines, settings->samples, settings->bands, settings->bands);
    }
    if (settings->components < 1 || settings->components > settings->bands) {
        return hc_fail(err, HC_E_USAGE, "--components %d: there are %d bands", settings->components,
                       settings->bands);
    }
    if (settings->training < 1 || settings->training >= (int64_t)1 << 24) {
        return hc_fail(err, HC_E_USAGE, "--training %lld: must be 1 to %lld spectra",
                       (long long)settings->training, (long long)((int64_t)1 << 24) - 1);
    }
    if (settings->neighbours < 1 || settings->neighbours > HC_KNN_MAX ||
        settings->neighbours > settings->training) {
        return hc_fail(err, HC_E_USAGE, "--neighbours %d: must be 1 to %d, and at most --training (%lld)",
                       settings->neighbours, HC_KNN_MAX, (long long)settings->training);
    }
    if (settings->matrices < 1 || settings->matrices > HC_BENCH_MATRICES_MAX) {
        return hc_fail(err, HC_E_USAGE, "--matrices %lld: must be 1 to %d", (long long)settings->matrices,
                       HC_BENCH_MATRICES_MAX);
    }
    return check_only(settings->only, err);
}

void hc_bench_close(HcBench *bench) {
    hc_bench_witness_free(bench->witness);
    bench->witness = NULL;
}

double hc_bench_times_serial(const HcBench *bench, const HcBenchRow *row) {
    for (int32_t r = 0; r < bench->row_count; r++) {
        const HcBenchRow *other = &bench->rows[r];
        if (other != row && strcmp(other->by, "serial") == 0 &&
            strcmp(other->operation, row->operation) == 0) {
            return other->seconds / row->seconds;
        }
    }
    return 0;
}

/* The vendor's libraries where there are any; what they are, or why not, goes to the device. */
static HcStatus open_vendor(HcBenchDevice *device, HcCompute *compute, const HcVendorOps *ops, HcVendor **out,
                            HcError *err) {
    HcError why = {0};
    *out = NULL;
    if (ops == NULL) {
        snprintf(device->vendor, sizeof device->vendor, "none");
        return HC_OK;
    }
    HcStatus status = ops->open(compute, out, device->vendor, sizeof device->vendor, &why);
    if (status == HC_E_UNSUPPORTED) {
        *out = NULL;
        snprintf(device->vendor, sizeof device->vendor, "none: %.150s", why.text);
        return HC_OK;
    }
    return status == HC_OK ? HC_OK : hc_fail(err, status, "%s", why.text);
}

HcStatus hc_bench_backend(HcBench *bench, HcCompute *compute, const HcVendorOps *vendor_ops, HcError *err) {
    HcStatus status = HC_OK;
    HcRig rig = {0};
    HcVendor *vendor = NULL;
    HC_TRY(hc_rig_open(&rig, bench, compute, err));
    HC_TRY(open_vendor(rig.device, compute, vendor_ops, &vendor, err));
    HC_TRY(hc_rig_ceilings(&rig, vendor, vendor_ops, err));
    HC_TRY(hc_rig_operations(&rig, err));
    HC_TRY(hc_rig_columns(&rig, err));
    HC_TRY(hc_rig_neighbours(&rig, err));
    HC_TRY(hc_rig_decompositions(&rig, vendor, vendor_ops, err));
    HC_TRY(hc_rig_unmixing(&rig, err));
    HC_TRY(hc_rig_l1(&rig, vendor, vendor_ops, err));
    HC_TRY(hc_rig_lad(&rig, err));
    HC_TRY(hc_rig_linear_programs(&rig, err));
    HC_TRY(hc_rig_chains(&rig, err));
    HC_TRY(hc_rig_scene(&rig, err));
    if (vendor != NULL) {
        HC_TRY(hc_rig_vendor(&rig, vendor, vendor_ops, err));
    }
done:
    if (vendor != NULL) {
        vendor_ops->close(vendor);
    }
    hc_rig_close(&rig);
    return status;
}
