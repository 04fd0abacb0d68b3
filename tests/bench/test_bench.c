/* The rows of a bench: all there, with a time each, and checked; on the CPU, and on the strict backend, whose
 * memory the host cannot reach and whose work is done late. How long anything takes is not looked at. */
#include "core/operation/table.h"
#include "bench/bench.h"
#include "cpu/cpu.h"
#include "tests/support/check.h"
#include "tests/support/strict.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[300];

/* Where the files of the scene rows go; it must be empty at the end, also after failures. */
static int make_folder(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.200s/hcube-test-bench-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(folder) == NULL || setenv("TMPDIR", folder, 1) != 0;
}

static int remove_folder(void **state) {
    (void)state;
    return rmdir(folder);
}

static HcBenchSettings small_settings(void) {
    return (HcBenchSettings){.lines = 23,
                             .samples = 17,
                             .bands = 6,
                             .bits = 16,
                             .seed = 3,
                             .components = 4,
                             .training = 50,
                             .neighbours = 3,
                             .matrices = 5,
                             .repetitions = 2,
                             .dense_bytes = (size_t)64 << 10,
                             .block_bytes = (size_t)5 * 17 * (6 * sizeof(float) + 1)};
}

static HcStatus run(HcBench *bench, const HcBenchSettings *settings, const HcComputeOps *ops,
                    const HcVendorOps *vendor, HcError *err) {
    HcStatus status = HC_OK;
    HcCompute *compute = NULL;
    HcComputeConfig config = {.threads = 2, .host = hc_cpu_ops()};
    HC_TRY(hc_bench_open(bench, settings, err));
    HC_TRY(hc_compute_open(ops, &config, &compute, err));
    HC_TRY(hc_bench_serial(bench, compute, err));
    HC_TRY(hc_bench_backend(bench, compute, vendor, err));
done:
    hc_compute_close(compute);
    return status;
}

static const HcBenchRow *find(const HcBench *bench, const char *operation, const char *by) {
    for (int32_t r = 0; r < bench->row_count; r++) {
        if (strcmp(bench->rows[r].operation, operation) == 0 && strcmp(bench->rows[r].by, by) == 0) {
            return &bench->rows[r];
        }
    }
    return NULL;
}

static void check_row(const HcBenchRow *row) {
    if (!(row->least > 0 && row->seconds >= row->least && row->most >= row->seconds && row->floor >= 0 &&
          isfinite(row->most) && isfinite(row->floor) && row->lines > 0 && row->repetitions > 0)) {
        fail_msg("%s by %s: %g s, %g to %g, floor %g, %d calls", row->operation, row->by, row->seconds,
                 row->least, row->most, row->floor, row->repetitions);
    }
}

/* A grid of products: the sum of its shapes, each of which was checked, and how the worst compares. */
static void check_grid(const HcBench *bench, const char *name, const char *by) {
    const HcBenchRow *sum = find(bench, name, by);
    double operations = 0;
    double seconds = 0;
    int shapes = 0;
    for (int32_t r = 0; r < bench->row_count; r++) {
        const HcBenchRow *row = &bench->rows[r];
        if (row->detail && strcmp(row->operation, name) == 0 && strcmp(row->by, by) == 0) {
            assert_int_equal(row->check, HC_BENCH_NEAR);
            operations += row->operations;
            seconds += row->seconds;
            shapes++;
        }
    }
    assert_true(sum != NULL && !sum->detail);
    assert_int_equal(shapes, 100);
    check_near(operations, sum->operations, 1);
    check_near(seconds, sum->seconds, 1e-6 * seconds);
    assert_non_null(strstr(sum->how, "100 shapes"));
    char vendor[32];
    snprintf(vendor, sizeof vendor, "%s vendor", by);
    const HcBenchRow *other = find(bench, name, vendor);
    assert_true((other != NULL) == (strstr(sum->how, "worst ") != NULL));
    assert_true(other == NULL || (strstr(sum->how, "median ") != NULL && other->operations > 0));
}

/* Products with a matrix and l1 problems: checked, and brought from what was measured to the whole matrix. */
static void check_dense_rows(const HcBench *bench, const char *by) {
    int rows = 0;
    for (int32_t i = 0; hc_bench_kind(i) != NULL; i++) {
        const char *name = hc_bench_kind(i)->name;
        bool problem = strncmp(name, "fista", 5) == 0 || strncmp(name, "alm", 3) == 0;
        if (!problem && strncmp(name, "gemv", 4) != 0) {
            continue;
        }
        const HcBenchRow *row = find(bench, name, by);
        assert_int_equal(row->check, HC_BENCH_NEAR);
        if (strstr(name, "-grid") != NULL) {
            check_grid(bench, name, by);
            continue;
        }
        assert_true((hc_bench_times_serial(bench, row) > 0) == problem);
        assert_non_null(strstr(row->how, "from "));
        rows++;
    }
    assert_int_equal(rows, 15);
    const HcBenchRow *cut = find(bench, "gemv_t-1023x65537", by); /* to 16 rows of 1024 columns */
    assert_true(cut != NULL && strstr(cut->how, "from 16x1024") != NULL);
    check_near(cut->operations, 2.0 * 1023 * 65537, 1);
}

/* Abundances: compared with the serial reference, which has a row too, and all proved. */
static void check_abundance_rows(const HcBench *bench, const char *by) {
    const char *const names[] = {"simplex_batched-12", "simplex_batched-one", "simplex_batched-64"};
    for (int i = 0; i < 3; i++) {
        const HcBenchRow *row = find(bench, names[i], by);
        assert_int_equal(row->check, HC_BENCH_NEAR);
        assert_true(hc_bench_times_serial(bench, row) > 0);
        assert_non_null(strstr(row->how, " pixels/s, "));
    }
}

/* Every operation by `by`, but for those that are left out. */
static void check_rows(const HcBench *bench, const char *by, bool copies) {
    /* The serial reference has a row of these, too. */
    const char *const faster[] = {"decode-bil", "gram-none", "gram-mean3x3", "chain-covariances", "knn",
                                  "knn-angle",  "project",   "chain-mnf",    "eigh-graded"};
    for (int32_t r = 0; r < bench->row_count; r++) {
        check_row(&bench->rows[r]);
    }
    for (int32_t i = 0; hc_bench_kind(i) != NULL; i++) {
        const HcBenchKind *kind = hc_bench_kind(i);
        const HcBenchRow *row = find(bench, kind->name, by);
        bool copy = strcmp(kind->name, "upload") == 0 || strcmp(kind->name, "download") == 0 ||
                    strcmp(kind->name, "store") == 0;
        if ((row != NULL) != (!copy || copies)) {
            fail_msg("%s by %s: %s", kind->name, by, copy ? "copies" : "missing");
        }
        if (row != NULL && row->check != kind->check) {
            fail_msg("%s by %s is checked as %d, and the list says %d", kind->name, by, (int)row->check,
                     (int)kind->check);
        }
    }
    assert_int_equal(find(bench, "svd-64", by)->matrices, 5);
    assert_int_equal(find(bench, "svd-16-complex-128", by)->matrices, 128);
    for (size_t i = 0; i < sizeof faster / sizeof *faster; i++) {
        assert_true(hc_bench_times_serial(bench, find(bench, faster[i], by)) > 0);
    }
    check_dense_rows(bench, by);
    check_abundance_rows(bench, by);
}

static void test_cpu(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    assert_non_null(bench);
    check_ok(run(bench, &settings, hc_cpu_ops(), hc_cpu_vendor(), &err), err);
    check_rows(bench, "cpu", false);
    assert_int_equal(find(bench, "gram-none", "cpu vendor")->check, HC_BENCH_SAME);
    assert_non_null(find(bench, "eigh", "cpu vendor"));
    assert_non_null(find(bench, "project", "cpu vendor"));
    assert_int_equal(find(bench, "svd-32", "cpu vendor")->check, HC_BENCH_NEAR);
    assert_int_equal(find(bench, "svd-64-complex", "cpu vendor")->check, HC_BENCH_NEAR);
    const HcBenchRow *norm_wise = find(bench, "eigh-graded", "cpu vendor");
    assert_true(norm_wise->check == HC_BENCH_NEAR && strstr(norm_wise->how, "dsyevd, eigenvalues") != NULL);
    assert_true(norm_wise[1].check == HC_BENCH_NEAR && strstr(norm_wise[1].how, "dgejsv") != NULL);
    assert_int_equal(find(bench, "gemv-4194304x16", "cpu vendor")->check, HC_BENCH_NEAR);
    assert_int_equal(find(bench, "gemv_t-16x4194304", "cpu vendor")->check, HC_BENCH_NEAR);
    assert_int_equal(find(bench, "fista-1024x65536", "cpu vendor")->check, HC_BENCH_NEAR);
    assert_non_null(find(bench, "chain-mnf", "serial"));
    assert_true(bench->devices[0].measured && bench->devices[0].ceiling.memory > 0);
    assert_true(bench->devices[0].ceiling.float32 > 0 && find(bench, "knn", "cpu")->floor > 0);
    hc_bench_close(bench);
    free(bench);
}

static void test_strict(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    int64_t leaks = hc_strict_leaks();
    assert_non_null(bench);
    settings.bits = 12;
    check_ok(run(bench, &settings, hc_strict_ops(), NULL, &err), err);
    check_rows(bench, "strict", true);
    assert_int_equal(hc_strict_leaks(), leaks);
    assert_int_equal(hc_strict_overruns(), 0);
    hc_bench_close(bench);
    free(bench);
}

/* A device that fails somewhere ends the bench with that failure and leaves nothing open. */
static void test_failing_device(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    int64_t leaks = hc_strict_leaks();
    assert_non_null(bench);
    settings.repetitions = 1;
    settings.only =
        "upload,download,decode,gather,filter,difference,gram,project,knn,vote,eigh,svd-32,patches,"
        "gemv-1023x65537,fista-1024x65536,simplex_batched-12,fit,chain,scene"; /* all of svd would
                                                                                  take long, by the same code
                                                                                */
    hc_strict_fail_at(0);
    check_ok(run(bench, &settings, hc_strict_ops(), NULL, &err), err);
    int64_t operations = hc_strict_operations();
    hc_bench_close(bench);
    assert_true(operations > 100);
    int64_t runs = 0;
    int64_t failures = 0;
    for (int64_t n = 1; n < operations; n += 11) {
        hc_strict_fail_at(n);
        HcStatus status = run(bench, &settings, hc_strict_ops(), NULL, &err);
        runs++;
        if (hc_strict_operations() >= n) {
            failures++;
            check_fails(status, HC_E_DEVICE, err);
        } else { /* a busy machine: slow calls are measured in fewer rounds */
            check_ok(status, err);
        }
        hc_bench_close(bench);
    }
    assert_true(10 * failures >= 9 * runs);
    hc_strict_fail_at(0);
    assert_int_equal(hc_strict_leaks(), leaks);
    free(bench);
}

static void test_only(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    assert_non_null(bench);
    settings.only = "eigh,decode";
    settings.serial = HC_BENCH_SERIAL_NONE;
    check_ok(run(bench, &settings, hc_cpu_ops(), NULL, &err), err);
    assert_int_equal(bench->row_count, 6);
    assert_int_equal(find(bench, "decode-bil", "cpu")->check, HC_BENCH_UNCHECKED);
    assert_int_equal(find(bench, "eigh-graded", "cpu")->check, HC_BENCH_UNCHECKED);
    hc_bench_close(bench);
    settings.only = "scene";
    check_ok(run(bench, &settings, hc_cpu_ops(), NULL, &err), err);
    assert_int_equal(bench->row_count, 2);
    hc_bench_close(bench);
    assert_int_equal(setenv("TMPDIR", "/nowhere/at/all", 1), 0);
    check_fails(run(bench, &settings, hc_cpu_ops(), NULL, &err), HC_E_IO, err);
    assert_int_equal(setenv("TMPDIR", folder, 1), 0);
    hc_bench_close(bench);
    settings.only = "eigh,deco";
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings.only = "";
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings = small_settings();
    settings.lines = 2;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings = small_settings();
    settings.components = 7;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings = small_settings();
    settings.neighbours = 51;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings.neighbours = 0;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings = small_settings();
    settings.matrices = 0;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings.matrices = HC_BENCH_MATRICES_MAX + 1;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    settings = small_settings();
    settings.training = 1 << 24;
    check_fails(hc_bench_open(bench, &settings, &err), HC_E_USAGE, err);
    free(bench);
}

/* More work than one call is meant for: fewer lines are measured, and those of the reference still checked.
 */
static void test_part(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    assert_non_null(bench);
    settings.samples = 3000;
    settings.bands = 40;
    settings.training = 20000;
    settings.neighbours = 128;
    settings.repetitions = 1;
    settings.only = "knn,vote";
    check_ok(run(bench, &settings, hc_cpu_ops(), NULL, &err), err);
    assert_int_equal(bench->row_count, 5);
    const HcBenchRow *row = find(bench, "knn", "cpu");
    const HcBenchRow *serial = find(bench, "knn", "serial");
    assert_int_equal(row->check, HC_BENCH_SAME);
    assert_true(row->lines >= serial->lines);
    check_near(row->operations, 23.0 * 3000 * 2 * 40 * 20000, 1e-3);
    check_near(serial->operations, row->operations, 1e-3);
    hc_bench_close(bench);
    free(bench);
}

/* More matrices than one call is meant for: the numbers are still those of the whole batch. */
static void test_batch(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcBenchSettings settings = small_settings();
    HcError err = {0};
    assert_non_null(bench);
    settings.matrices = HC_BENCH_MATRICES_MAX;
    settings.repetitions = 1;
    settings.only = "svd-64-complex";
    check_ok(run(bench, &settings, hc_cpu_ops(), NULL, &err), err);
    assert_int_equal(bench->row_count, 1);
    assert_int_equal(bench->rows[0].batch, HC_BENCH_MATRICES_MAX);
    assert_true(bench->rows[0].matrices < HC_BENCH_MATRICES_MAX);
    check_near(bench->rows[0].bytes, 1e6 * (3 * 64 * 64 * 8 + 64 * 4), 1);
    hc_bench_close(bench);
    free(bench);
}

/* ---- wrong results ---- */

/* What is wrong with the results of the backend below. */
typedef enum Fault {
    NONE,
    LEFT_TOO_LONG,
    RIGHT_TOO_LONG,
    RIGHT_SWAPPED,
    VALUE_OFF,
    OUT_OF_ORDER, /* while all else is right */
    VALUE_NAN,
    RIGHT_NAN,
    NOTHING_DONE, /* by the vendor */
    EIGENVALUE_OFF,
    EIGENVALUE_NAN,
    PIXEL_OFF,
    PIXEL_NAN,
    PRODUCT_OFF,
    PRODUCT_NAN,
    SOLUTION_OFF,
    OBJECTIVE_NAN,
    GAP_TOO_SMALL,
    ABUNDANCE_OFF,
    ABUNDANCE_NAN,
    SUM_OFF,
    NOT_PROVED,
    ERROR_LARGE,
    ERROR_NAN
} Fault;

static Fault fault;
static HcElement opened; /* of the decompositions that were opened last */
static int64_t *abundance_counts;
static HcComputeOps faulty_ops;
static HcVendorOps faulty_vendor_ops;

static void swap(float *a, float *b, size_t count) {
    for (size_t i = 0; i < count; i++) {
        float kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* Spoils the last of the matrices where they are of reals. */
static void spoil(const HcSvdBatch *batch, HcElement element) {
    enum { N = 16 };
    if (element != HC_ELEMENT_FLOAT32) {
        return;
    }
    float *left = (float *)batch->left + (batch->count - 1) * N * N;
    float *right = (float *)batch->right + (batch->count - 1) * N * N;
    float *values = (float *)batch->values + (batch->count - 1) * N;
    if (fault == LEFT_TOO_LONG || fault == RIGHT_TOO_LONG) { /* which the product does not tell */
        values[N - 1] /= 2;
        for (size_t i = N * N - N; i < N * N; i++) {
            (fault == LEFT_TOO_LONG ? left : right)[i] *= 2;
        }
    } else if (fault == RIGHT_SWAPPED) {
        swap(right, right + N, N);
    } else if (fault == VALUE_OFF) {
        values[0] *= 1.001F;
    } else if (fault == OUT_OF_ORDER) {
        swap(values, values + 1, 1);
        swap(left, left + N, N);
        swap(right, right + N, N);
    } else if (fault == VALUE_NAN) {
        values[N - 1] = NAN;
    } else if (fault == RIGHT_NAN) {
        right[N * N - 1] = NAN;
    }
}

static HcStatus faulty_svd_open(HcCompute *compute, HcElement element, int32_t rows, int32_t columns,
                                int64_t most, bool vectors, HcSvd **out, HcError *err) {
    opened = element;
    return hc_cpu_ops()->svd_open(compute, element, rows, columns, most, vectors, out, err);
}

static HcStatus faulty_svd(HcQueue *queue, HcSvd *svd, const HcSvdBatch *batch, HcError *err) {
    HcStatus status = hc_cpu_ops()->svd_batched(queue, svd, batch, err);
    spoil(batch, opened);
    return status;
}

static HcStatus faulty_vendor_svd(HcVendor *vendor, HcQueue *queue, HcElement element, int32_t n,
                                  const HcSvdBatch *batch, HcError *err) {
    if (fault == NOTHING_DONE) {
        return HC_OK;
    }
    HcStatus status = hc_cpu_vendor()->svd(vendor, queue, element, n, batch, err);
    spoil(batch, element);
    return status;
}

static HcStatus faulty_eigh(HcCompute *compute, int32_t n, int32_t count, const double *matrix,
                            double *values, double *vectors, HcError *err) {
    HcStatus status = hc_cpu_ops()->eigh(compute, n, count, matrix, values, vectors, err);
    values[n - 1] *= fault == EIGENVALUE_OFF ? 1 + 1e-5 : fault == EIGENVALUE_NAN ? (double)NAN : 1;
    return status;
}

static HcStatus faulty_patches(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out,
                               HcError *err) {
    HcStatus status = hc_cpu_ops()->patches(queue, in, patches, out, err);
    out->data[hc_block_values(out) - 1] += fault == PIXEL_OFF ? 2 : fault == PIXEL_NAN ? NAN : 0;
    return status;
}

static void spoil_product(float *y, int64_t count) {
    y[count - 1] += fault == PRODUCT_OFF ? 0.01F : fault == PRODUCT_NAN ? NAN : 0;
}

static HcStatus faulty_gemv(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    HcStatus status = hc_cpu_ops()->gemv(queue, matrix, x, y, err);
    spoil_product(y, matrix->rows);
    return status;
}

static HcStatus faulty_gemv_t(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y,
                              HcError *err) {
    HcStatus status = hc_cpu_ops()->gemv_t(queue, matrix, x, y, err);
    spoil_product(y, matrix->columns);
    return status;
}

static HcStatus faulty_fista(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                             HcL1Report *report, HcError *err) {
    HcStatus status = hc_cpu_ops()->fista(queue, l1, rule, b, x, report, err);
    x[0] += fault == SOLUTION_OFF ? 1 : 0;
    report->objective = fault == OBJECTIVE_NAN ? (double)NAN : report->objective;
    report->gap = fault == GAP_TOO_SMALL ? 0 : report->gap;
    return status;
}

static HcStatus faulty_vendor_gemv(HcVendor *vendor, HcQueue *queue, const HcMatrix *matrix, bool transposed,
                                   const float *x, float *y, HcError *err) {
    return fault == NOTHING_DONE ? HC_OK
                                 : hc_cpu_vendor()->gemv(vendor, queue, matrix, transposed, x, y, err);
}

static HcStatus faulty_vendor_fista(HcVendor *vendor, HcQueue *queue, const HcMatrix *matrix, const float *b,
                                    double lambda, double square, int32_t iterations, float *scratch,
                                    float *x, HcError *err) {
    HcStatus status =
        hc_cpu_vendor()->fista(vendor, queue, matrix, b, lambda, square, iterations, scratch, x, err);
    x[0] += fault == SOLUTION_OFF ? 1e6F : 0;
    return status;
}

static HcStatus faulty_lad_open(HcCompute *compute, const HcLadRule *rule, HcLad **out, HcError *err) {
    abundance_counts = rule->counts;
    return hc_cpu_ops()->lad_open(compute, rule, out, err);
}

/* The first pixel, or the report on all. */
static HcStatus faulty_lad(HcQueue *queue, const HcBlock *in, HcLad *lad, const HcBlock *out, HcError *err) {
    HcStatus status = hc_cpu_ops()->lad(queue, in, lad, out, err);
    double error = fault == ERROR_NAN ? (double)NAN : 1e-8;
    float *most = out->data; /* of the abundances of the pixel */
    for (int32_t k = 1; k < out->bands; k++) {
        most = out->data[k] > *most ? out->data + k : most;
    }
    *most += fault == ABUNDANCE_OFF ? 0.01F : fault == ABUNDANCE_NAN ? NAN : fault == SUM_OFF ? 2e-6F : 0;
    if (fault == NOT_PROVED) {
        abundance_counts[HC_LAD_COUNT_UNFINISHED]++;
    } else if (fault == ERROR_NAN || fault == ERROR_LARGE) {
        memcpy(&abundance_counts[HC_LAD_COUNT_ERROR], &error, sizeof error);
    }
    return status;
}

/* Measures some operations, with the fault in those of the vendor, or of the backend. */
static HcStatus run_faulty(HcBench *bench, Fault which, const char *only, bool vendor, HcError *err) {
    HcBenchSettings settings = small_settings();
    settings.only = only;
    settings.repetitions = 1;
    settings.matrices = 40; /* not all are looked at, but the last is */
    fault = which;
    faulty_ops = *hc_cpu_ops();
    faulty_ops.svd_open = faulty_svd_open;
    faulty_ops.svd_batched = vendor ? faulty_ops.svd_batched : faulty_svd;
    faulty_ops.eigh = faulty_eigh;
    faulty_ops.patches = faulty_patches;
    faulty_ops.gemv = vendor ? faulty_ops.gemv : faulty_gemv;
    faulty_ops.gemv_t = vendor ? faulty_ops.gemv_t : faulty_gemv_t;
    faulty_ops.fista = vendor ? faulty_ops.fista : faulty_fista;
    faulty_ops.lad_open = faulty_lad_open;
    faulty_ops.lad = faulty_lad;
    faulty_vendor_ops = *hc_cpu_vendor();
    faulty_vendor_ops.svd = vendor ? faulty_vendor_svd : faulty_vendor_ops.svd;
    faulty_vendor_ops.gemv = vendor ? faulty_vendor_gemv : faulty_vendor_ops.gemv;
    faulty_vendor_ops.fista = vendor ? faulty_vendor_fista : faulty_vendor_ops.fista;
    HcStatus status = run(bench, &settings, &faulty_ops, &faulty_vendor_ops, err);
    hc_bench_close(bench);
    return status != HC_OK ? status : hc_bench_judge(bench, err);
}

static const HcBenchRow *row_of(const HcBench *bench, const char *operation, const char *by) {
    for (int32_t r = 0; r < bench->row_count; r++) {
        if (strcmp(bench->rows[r].operation, operation) == 0 && strcmp(bench->rows[r].by, by) == 0) {
            return &bench->rows[r];
        }
    }
    fail_msg("no row %s by %s", operation, by);
    return NULL;
}

/* The rows before and after one that is wrong are measured, and are not marked. */
static void test_other_rows(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcError err = {0};
    assert_non_null(bench);
    check_fails(run_faulty(bench, PRODUCT_OFF, "svd-16,gemv-65536x1024,simplex_batched-one", false, &err),
                HC_E_DEVICE, err);
    assert_int_equal(hc_bench_judge(bench, &err), HC_E_DEVICE); /* it names the row */
    check_says(err.text, "gemv-65536x1024 by cpu is wrong: an entry");
    assert_non_null(strstr(row_of(bench, "gemv-65536x1024", "cpu")->wrong, "an entry is"));
    assert_string_equal(row_of(bench, "gemv-65536x1024", "cpu vendor")->wrong, "");
    assert_string_equal(row_of(bench, "svd-16", "cpu")->wrong, "");
    assert_true(row_of(bench, "simplex_batched-one", "cpu")->seconds > 0);
    assert_string_equal(row_of(bench, "simplex_batched-one", "cpu")->wrong, "");
    free(bench);
}

/* A result that is not right marks its row, whoever found it. */
static void test_wrong_results(void **state) {
    (void)state;
    HcBench *bench = calloc(1, sizeof *bench);
    HcError err = {0};
    assert_non_null(bench);
    check_ok(
        run_faulty(bench, NONE, "svd-16,eigh-graded,patches,gemv,fista,simplex_batched-one", false, &err),
        err);
    for (int which = LEFT_TOO_LONG; which <= RIGHT_NAN; which++) {
        check_fails(run_faulty(bench, (Fault)which, "svd-16", false, &err), HC_E_DEVICE, err);
        check_fails(run_faulty(bench, (Fault)which, "svd-16", true, &err), HC_E_DEVICE, err);
    }
    check_fails(run_faulty(bench, NOTHING_DONE, "svd-16", true, &err), HC_E_DEVICE, err);
    for (int which = EIGENVALUE_OFF; which <= EIGENVALUE_NAN; which++) {
        check_fails(run_faulty(bench, (Fault)which, "eigh-graded", false, &err), HC_E_DEVICE, err);
    }
    for (int which = PIXEL_OFF; which <= PIXEL_NAN; which++) {
        check_fails(run_faulty(bench, (Fault)which, "patches", false, &err), HC_E_DEVICE, err);
    }
    for (int which = PRODUCT_OFF; which <= PRODUCT_NAN; which++) {
        check_fails(run_faulty(bench, (Fault)which, "gemv-65536x1024", false, &err), HC_E_DEVICE, err);
        check_fails(run_faulty(bench, (Fault)which, "gemv_t-65536x1024", false, &err), HC_E_DEVICE, err);
    }
    check_fails(run_faulty(bench, NOTHING_DONE, "gemv-65536x1024", true, &err), HC_E_DEVICE, err);
    for (int which = SOLUTION_OFF; which <= GAP_TOO_SMALL; which++) {
        check_fails(run_faulty(bench, (Fault)which, "fista-1024x65536", false, &err), HC_E_DEVICE, err);
    }
    check_fails(run_faulty(bench, SOLUTION_OFF, "fista-1024x65536", true, &err), HC_E_DEVICE, err);
    for (int which = ABUNDANCE_OFF; which <= ERROR_NAN; which++) {
        check_fails(run_faulty(bench, (Fault)which, "simplex_batched-one", false, &err), HC_E_DEVICE, err);
    }
    free(bench);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cpu),
        cmocka_unit_test(test_strict),
        cmocka_unit_test(test_failing_device),
        cmocka_unit_test(test_only),
        cmocka_unit_test(test_part),
        cmocka_unit_test(test_batch),
        cmocka_unit_test(test_other_rows),
        cmocka_unit_test(test_wrong_results),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
