/* Opens the measurements: settings, operations by name, and the tables of the backends. Rows are made in
 * the other files, which reach every backend through the doors of the operations alone. */
#include "core/operation/knn/knn.h"
#include "bench/internal.h"

#include <stdio.h>
#include <string.h>

/* In the order of the table. */
static const HcBenchPart *const parts[] = {
    &hc_bench_image,           &hc_bench_gram,     &hc_bench_columns, &hc_bench_neighbours, &hc_bench_eigh,
    &hc_bench_decompositions,  &hc_bench_unmixing, &hc_bench_gemv,    &hc_bench_l1,         &hc_bench_lad,
    &hc_bench_linear_programs, &hc_bench_chains,   &hc_bench_scene};

enum { PARTS = sizeof parts / sizeof *parts };

const HcBenchKind *hc_bench_kind(int32_t index) {
    for (size_t p = 0; p < PARTS; p++) {
        for (const HcBenchKind *kind = parts[p]->rows; kind->name != NULL; kind++, index--) {
            if (index == 0) {
                return kind;
            }
        }
    }
    return NULL;
}

static HcStatus check_only(const char *only, HcError *err) {
    for (const char *word = only; word != NULL;) {
        size_t length = strcspn(word, ",");
        bool known = false;
        for (int32_t i = 0; hc_bench_kind(i) != NULL; i++) {
            known = known || hc_bench_selects(word, length, hc_bench_kind(i)->name);
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

static bool wants_any(const HcBench *bench, const HcBenchPart *part) {
    for (const HcBenchKind *kind = part->rows; kind->name != NULL; kind++) {
        if (hc_bench_wants(bench, kind->name)) {
            return true;
        }
    }
    return false;
}

HcStatus hc_bench_backend(HcBench *bench, HcCompute *compute, const HcVendorOps *vendor_ops, HcError *err) {
    HcStatus status = HC_OK;
    HcRig rig = {0};
    HC_TRY(hc_rig_open(&rig, bench, compute, err));
    rig.vendor_ops = vendor_ops;
    HC_TRY(open_vendor(rig.device, compute, vendor_ops, &rig.vendor, err));
    HC_TRY(hc_rig_ceilings(&rig, err));
    for (size_t p = 0; p < PARTS; p++) {
        if (wants_any(bench, parts[p])) {
            HC_TRY(hc_rig_decode(&rig, rig.part, err));
            HC_TRY(parts[p]->measure(&rig, err));
        }
    }
    if (rig.vendor != NULL) {
        HC_TRY(hc_rig_vendor(&rig, err));
    }
done:
    if (rig.vendor != NULL) {
        vendor_ops->close(rig.vendor);
    }
    hc_rig_close(&rig);
    return status;
}
