/* bench: how long each operation takes, as a table and as JSON. */
#include "core/operation/knn/knn.h"
#include "app/usage/usage.h"
#include "bench/bench.h"
#include "core/allocate.h"
#include "core/version.h"
#include "cpu/cpu.h"
#include "pipeline/json/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct BenchParams {
    const char *size, *only, *device, *json;
    int64_t bits, components, training, neighbours, matrices, dense, repetitions, threads, seed;
    bool serial, no_serial, overwrite;
} BenchParams;

static const HcOption bench_options[] = {
    {HC_TEXT(BenchParams, size), .value = "LINESxSAMPLESxBANDS", .standard = "614x1087x224",
     .help = "size of the scene of random uint16 (BIL), at most 1048576x1048576x4096"},
    {HC_INT(BenchParams, bits), .range = {2, 16}, .initial = 16, .value = "COUNT",
     .help = "random values are below 2^COUNT; sums are sized for uint16 in any case"},
    {HC_INT(BenchParams, seed), .range = {0, 1e15}, .initial = 1, .value = "NUMBER",
     .help = "seed of the random values"},
    {HC_INT(BenchParams, components), .range = {1, 65535}, .otherwise = "20, or all bands if they are fewer",
     .value = "COUNT", .help = "components of the projection"},
    {HC_INT(BenchParams, training), .range = {1, (1 << 24) - 1}, .initial = 5000, .value = "COUNT",
     .help = "training spectra of knn, knn-angle and vote: random float32"},
    {HC_INT(BenchParams, neighbours), .letter = 'k', .range = {1, HC_KNN_MAX}, .initial = 10,
     .value = "COUNT", .help = "number of nearest training spectra for knn and vote"},
    {HC_INT(BenchParams, matrices), .range = {1, HC_BENCH_MATRICES_MAX}, .initial = 10000, .value = "COUNT",
     .help = "random matrices in a batch of svd-*"},
    {HC_INT(BenchParams, dense), .range = {1, 1 << 20}, .otherwise = "1024, on the CPU 128", .unit = "MiB",
     .value = "MIB", .help = "largest matrix of gemv-*, gemv_t-*, fista-*, alm-* and simplex-*"},
    {HC_INT(BenchParams, repetitions), .range = {1, 1000000},
     .otherwise = "as many as fit some tenths of a second", .value = "COUNT",
     .help = "calls in one measurement"},
    {HC_TEXT(BenchParams, only), .value = "NAME[,NAME]", .otherwise = "all operations",
     .help = "operations to measure, or beginnings of their names: gram for all gram-*"},
    {HC_TEXT(BenchParams, device), .value = "auto|cpu|gpu|gpu:N", .standard = "auto",
     .help = "device to measure; auto: a GPU if there is one, and the CPU"},
    {HC_INT(BenchParams, threads), .range = {1, 4096}, .otherwise = "one for each processor",
     .value = "COUNT", .help = "threads that compute"},
    {HC_FLAG(BenchParams, serial), .one_of = "serial no-serial",
     .help = "run the serial reference on the whole scene, not on the lines that take 2 s"},
    {HC_FLAG(BenchParams, no_serial, "no-serial"),
     .help = "skip the serial reference; results are then checked only for svd-*, patches, groups and local"},
    {HC_TEXT(BenchParams, json), .file = HC_FILE_WRITTEN, .value = "FILE",
     .help = "also write the results as JSON; - for standard output instead of the table"},
    {HC_FLAG(BenchParams, overwrite), .help = "replace an existing FILE"},
    {0}};

/* ---- what was asked ---- */

/* "LINESxSAMPLESxBANDS" */
static HcStatus parse_size(const char *text, HcBenchSettings *settings, HcError *err) {
    const int64_t most[3] = {1 << 20, 1 << 20, 4096};
    int64_t size[3] = {0};
    bool fine = true;
    const char *at = text;
    for (int i = 0; i < 3 && fine; i++) {
        char part[16];
        size_t length = strcspn(at, "xX");
        fine = length > 0 && length < sizeof part && (at[length] == '\0') == (i == 2);
        if (fine) {
            snprintf(part, sizeof part, "%.*s", (int)length, at);
            fine = hc_text_parse_int(part, &size[i]) && size[i] >= 1 && size[i] <= most[i];
            at += length + 1;
        }
    }
    if (!fine) {
        return hc_fail(err, HC_E_USAGE,
                       "bench: --size %s: must be LINESxSAMPLESxBANDS, such as 614x1087x224 (at most "
                       "%lldx%lldx%lld)",
                       text, (long long)most[0], (long long)most[1], (long long)most[2]);
    }
    settings->lines = size[0];
    settings->samples = (int32_t)size[1];
    settings->bands = (int32_t)size[2];
    return HC_OK;
}

/* On a terminal, what is measured now; taken away before the table is printed. */
static void report(const char *by, const char *operation) {
    fprintf(stderr, "\r\033[Kmeasuring %s: %s", by, operation);
    fflush(stderr);
}

static void report_end(void) {
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[K");
    }
}

static HcStatus make_settings(const BenchParams *params, HcBenchSettings *settings, HcError *err) {
    *settings = (HcBenchSettings){.bits = (int32_t)params->bits,
                                  .seed = (uint64_t)params->seed,
                                  .training = params->training,
                                  .neighbours = (int32_t)params->neighbours,
                                  .matrices = params->matrices,
                                  .dense_bytes = (size_t)params->dense << 20,
                                  .repetitions = (int32_t)params->repetitions,
                                  .only = params->only,
                                  .report = isatty(STDERR_FILENO) ? report : NULL};
    settings->serial = params->serial      ? HC_BENCH_SERIAL_WHOLE
                       : params->no_serial ? HC_BENCH_SERIAL_NONE
                                           : HC_BENCH_SERIAL_PART;
    HC_OR_RETURN(parse_size(params->size, settings, err));
    settings->components = settings->bands < 20 ? settings->bands : 20;
    if (params->components > 0) {
        settings->components = (int32_t)params->components;
    }
    return HC_OK;
}

/* ---- measuring ---- */

static HcStatus measure(HcBench *bench, HcCompute *compute, HcError *err) {
    const HcVendorOps *vendor = hc_cpu_vendor();
    if (compute->ops != hc_cpu_ops()) {
        const HcModule *module = NULL;
        HC_OR_RETURN(hc_load_module(&module, err));
        vendor = module->vendor;
    }
    HC_OR_RETURN(hc_bench_serial(bench, compute, err));
    return hc_bench_backend(bench, compute, vendor, err);
}

static HcStatus measure_device(HcBench *bench, const BenchParams *params, const char *device, bool *is_cpu,
                               char *reason, size_t reason_size, HcError *err) {
    HcStatus status = HC_OK;
    HcCommon common;
    HcCompute *compute = NULL;
    hc_options_reset(hc_common_options, &common);
    common.device = device;
    common.threads = params->threads;
    HC_TRY(hc_backend_open(&common, &compute, reason, reason_size, err));
    *is_cpu = compute->ops == hc_cpu_ops();
    HC_TRY(measure(bench, compute, err));
done:
    hc_compute_close(compute);
    return status;
}

/* The device that was asked for; with auto the CPU besides. */
static HcStatus measure_all(HcBench *bench, const BenchParams *params, char *reason, size_t reason_size,
                            HcError *err) {
    bool is_cpu = false;
    char ignored[8];
    HC_OR_RETURN(measure_device(bench, params, params->device, &is_cpu, reason, reason_size, err));
    if (!is_cpu && hc_text_equal(params->device, "auto")) {
        HC_OR_RETURN(measure_device(bench, params, "cpu", &is_cpu, ignored, sizeof ignored, err));
    }
    return HC_OK;
}

/* ---- the table ---- */

static const char *time_text(char *text, size_t size, double seconds) {
    const struct {
        double least, unit;
        const char *name;
    } units[] = {{1, 1, "s"}, {1e-3, 1e-3, "ms"}, {0, 1e-6, "us"}};
    int u = seconds >= units[0].least ? 0 : seconds >= units[1].least ? 1 : 2;
    double value = seconds / units[u].unit;
    snprintf(text, size, "%.*f %s", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value, units[u].name);
    return text;
}

/* Three digits or more, or "-" for 0 (not known). */
static const char *number_text(char *text, size_t size, double value) {
    if (!(value > 0)) {
        snprintf(text, size, "-");
    } else {
        snprintf(text, size, "%.*f", value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
    }
    return text;
}

static const char *check_text(const HcBenchRow *row, const char *unchecked) {
    return row->wrong[0] != '\0'         ? "WRONG"
           : row->check == HC_BENCH_SAME ? "same bits"
           : row->check == HC_BENCH_NEAR ? "within rounding"
                                         : unchecked;
}

static void print_ceiling(const char *name, double value, const char *unit) {
    char text[24];
    if (value > 0) {
        printf(" %s %s %s", name, number_text(text, sizeof text, value / 1e9), unit);
    }
}

static void print_device(const HcBenchDevice *device) {
    const HcRates *ceiling = &device->ceiling;
    printf("%-4s %s", device->by, device->info.name);
    if (*device->info.driver != '\0') {
        printf(", %s", device->info.driver);
    }
    if (device->info.clock_mhz > 0) {
        printf(", up to %d MHz", device->info.clock_mhz);
    }
    printf("\n     ceilings%s:",
           device->measured ? ", measured (a copy by all threads, the vendor's products)" : "");
    print_ceiling("memory", ceiling->memory, "GB/s;");
    print_ceiling("float32", ceiling->float32, "Gop/s;");
    print_ceiling("float64", ceiling->float64, "Gop/s;");
    print_ceiling("int8", ceiling->int8, "Gop/s;");
    printf(" others are not known\n     vendor: %s\n", device->vendor);
}

/* How much was measured, where that is not the scene. */
static void amount_text(char *text, size_t size, const HcBench *bench, const HcBenchRow *row) {
    *text = '\0';
    if (row->batch > 0 && row->matrices != row->batch) {
        snprintf(text, size, "%lld matrices, scaled from %lld", (long long)row->batch,
                 (long long)row->matrices);
    } else if (row->batch > 0) {
        snprintf(text, size, "%lld matrices", (long long)row->batch);
    } else if (row->lines != bench->settings.lines) {
        snprintf(text, size, "scaled from %lld line%s", (long long)row->lines, row->lines == 1 ? "" : "s");
    }
}

static void print_row(const HcBench *bench, const HcBenchRow *row, bool first) {
    char time[24];
    char floor[24] = "-";
    char rates[2][24];
    char ratios[2][24];
    char amount[64];
    double spread = row->rounds > 1 ? 100 * (row->most - row->least) / row->seconds : 0;
    if (row->floor > 0) {
        time_text(floor, sizeof floor, row->floor);
    }
    amount_text(amount, sizeof amount, bench, row);
    char check[48];
    const char *how = *row->wrong != '\0' ? row->wrong : row->how;
    bool remarks = *amount != '\0' || *how != '\0';
    snprintf(check, sizeof check, remarks ? "%-15s  " : "%s", check_text(row, "-"));
    printf("%-19s  %-10s  %9s  %4.0f%%  %7s  %7s  %9s  %-7s  %7s  %8s  %s%s%s%s\n",
           first ? row->operation : "", row->by, time_text(time, sizeof time, row->seconds), spread,
           number_text(rates[0], sizeof rates[0], row->bytes / row->seconds / 1e9),
           number_text(rates[1], sizeof rates[1], row->operations / row->seconds / 1e9), floor,
           row->floor_of != NULL ? row->floor_of : "",
           number_text(ratios[0], sizeof ratios[0], row->floor > 0 ? row->seconds / row->floor : 0),
           number_text(ratios[1], sizeof ratios[1], hc_bench_times_serial(bench, row)), check, amount,
           *amount != '\0' && *how != '\0' ? "; " : "", how);
}

static void print_table(const HcBench *bench, const char *reason) {
    const HcBenchSettings *settings = &bench->settings;
    printf("hcube %s bench: %lld lines x %d samples x %d bands of uint16 (BIL, %.0f MB), values below 2^%d, "
           "seed %llu, %d components, %lld training spectra, %d neighbours, batches of %lld matrices\n",
           hc_version(), (long long)settings->lines, settings->samples, settings->bands,
           2e-6 * (double)settings->lines * settings->samples * settings->bands, settings->bits,
           (unsigned long long)settings->seed, settings->components, (long long)settings->training,
           settings->neighbours, (long long)settings->matrices);
    for (int32_t d = 0; d < bench->device_count; d++) {
        print_device(&bench->devices[d]);
    }
    if (*reason != '\0') {
        printf("gpu  none: %s\n", reason);
    }
    printf("\n%-19s  %-10s  %9s  %5s  %7s  %7s  %9s  %-7s  %7s  %8s  %s\n", "operation", "by", "time",
           "range", "GB/s", "Gop/s", "floor", "of", "x floor", "x faster", "checked");
    for (int32_t i = 0; hc_bench_kind(i) != NULL; i++) {
        bool first = true;
        for (int32_t r = 0; r < bench->row_count; r++) {
            if (strcmp(bench->rows[r].operation, hc_bench_kind(i)->name) == 0 && !bench->rows[r].detail) {
                print_row(bench, &bench->rows[r], first);
                first = false;
            }
        }
    }
    if (*bench->note != '\0') {
        printf("%s\n", bench->note);
    }
    printf(
        "\ntime      of the whole scene or batch, median of the measurements; range: fastest to slowest\n"
        "GB/s      bytes that must move at least, over the time; Gop/s: multiplications and additions\n"
        "floor     least time by the ceilings that are known, and which one it is; for scenes the larger of\n"
        "          reading the file by all threads and uploading its bytes (where that row was measured)\n"
        "x faster  than the serial C reference on one core; checked: against it, or in float64\n");
}

/* ---- JSON ---- */

/* null where the value does not apply. */
static void put_positive(HcJson *to, const char *name, double value) {
    hc_json_put_number(to, name, value > 0 ? value : NAN);
}

static void put_device(const HcBenchDevice *device, HcJson *to) {
    hc_json_open_object(to, NULL);
    hc_json_put_text(to, "by", device->by);
    hc_json_put_text(to, "name", device->info.name);
    hc_json_put_text(to, "driver", device->info.driver);
    hc_json_put_number(to, "threads", device->info.threads);
    put_positive(to, "clock_mhz", device->info.clock_mhz);
    hc_json_put_text(to, "vendor", device->vendor);
    hc_json_open_object(to, "ceilings");
    hc_json_put_bool(to, "measured", device->measured);
    put_positive(to, "memory_bytes_per_second", device->ceiling.memory);
    put_positive(to, "float32_operations_per_second", device->ceiling.float32);
    put_positive(to, "float64_operations_per_second", device->ceiling.float64);
    put_positive(to, "int8_operations_per_second", device->ceiling.int8);
    hc_json_close(to);
    hc_json_close(to);
}

static void put_row(const HcBench *bench, const HcBenchRow *row, HcJson *to) {
    hc_json_open_object(to, NULL);
    hc_json_put_text(to, "operation", row->operation);
    hc_json_put_text(to, "by", row->by);
    hc_json_put_text(to, "how", row->how);
    hc_json_put_bool(to, "detail", row->detail);
    put_positive(to, "lines_measured", row->batch > 0 ? 0 : (double)row->lines);
    put_positive(to, "matrices", (double)row->batch);
    put_positive(to, "matrices_measured", (double)row->matrices);
    hc_json_put_number(to, "repetitions", row->repetitions);
    hc_json_put_number(to, "rounds", row->rounds);
    hc_json_put_number(to, "seconds", row->seconds);
    hc_json_put_number(to, "seconds_least", row->least);
    hc_json_put_number(to, "seconds_most", row->most);
    put_positive(to, "bytes", row->bytes);
    put_positive(to, "bytes_per_second", row->bytes / row->seconds);
    put_positive(to, "operations", row->operations);
    put_positive(to, "operations_per_second", row->operations / row->seconds);
    put_positive(to, "floor_seconds", row->floor);
    if (row->floor_of != NULL) {
        hc_json_put_text(to, "floor_of", row->floor_of);
    }
    put_positive(to, "times_floor", row->floor > 0 ? row->seconds / row->floor : 0);
    put_positive(to, "times_faster_than_serial", hc_bench_times_serial(bench, row));
    hc_json_put_text(to, "checked", check_text(row, "no"));
    if (row->wrong[0] != '\0') {
        hc_json_put_text(to, "wrong", row->wrong);
    }
    hc_json_close(to);
}

static void make_json(const HcBench *bench, HcJson *json) {
    const HcBenchSettings *settings = &bench->settings;
    hc_json_begin(json);
    hc_json_put_text(json, "hcube", hc_version());
    hc_json_put_text(json, "command", hc_command_line()->text);
    hc_json_put_number(json, "lines", (double)settings->lines);
    hc_json_put_number(json, "samples", settings->samples);
    hc_json_put_number(json, "bands", settings->bands);
    hc_json_put_number(json, "bits", settings->bits);
    hc_json_put_number(json, "seed", (double)settings->seed);
    hc_json_put_number(json, "components", settings->components);
    hc_json_put_number(json, "training", (double)settings->training);
    hc_json_put_number(json, "neighbours", settings->neighbours);
    hc_json_put_number(json, "matrices", (double)settings->matrices);
    hc_json_open_array(json, "devices");
    for (int32_t d = 0; d < bench->device_count; d++) {
        put_device(&bench->devices[d], json);
    }
    hc_json_close(json);
    if (*bench->note != '\0') {
        hc_json_put_text(json, "note", bench->note);
    }
    hc_json_open_array(json, "rows");
    for (int32_t r = 0; r < bench->row_count; r++) {
        put_row(bench, &bench->rows[r], json);
    }
    hc_json_close(json);
}

static HcStatus give_results(const HcBench *bench, const BenchParams *params, const char *reason,
                             HcError *err) {
    HcStatus status = HC_OK;
    bool to_output = params->json != NULL && strcmp(params->json, "-") == 0;
    HcJson json;
    make_json(bench, &json);
    if (to_output) {
        return hc_print_json(&json, err);
    }
    print_table(bench, reason);
    if (params->json != NULL) {
        status = hc_json_save(&json, params->json, params->overwrite, err);
    }
    hc_json_clear(&json);
    return status;
}

/* Nobody wants to wait for results that then cannot be written. */
static HcStatus check_json(const BenchParams *params, HcError *err) {
    if (params->json != NULL && strcmp(params->json, "-") != 0 && !params->overwrite &&
        access(params->json, F_OK) == 0) {
        return hc_fail(err, HC_E_USAGE, "bench: --json %s: exists (--overwrite replaces it)", params->json);
    }
    return HC_OK;
}

void hc_describe_bench(HcUsage *usage) {
    hc_text_add(&usage->about, "Measures each operation, and the maximum noise fraction of a scene in memory "
                               "and from file to file (in TMPDIR, else /tmp).\nOperations:");
    for (int32_t i = 0; hc_bench_kind(i) != NULL; i++) {
        hc_text_add(&usage->about, " %s", hc_bench_kind(i)->name);
    }
    hc_text_add(&usage->about, "\n");
    hc_text_add(&usage->examples, "hcube bench --device cpu --only gram,covariance\n");
    hc_usage_add(usage, "Options", bench_options);
}

HcStatus hc_command_bench(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    BenchParams params;
    HcBenchSettings settings;
    char reason[256] = "";
    HcBench *bench = NULL;
    hc_options_reset(bench_options, &params);
    HcOptionSet set = {.table = bench_options, .params = &params};
    HC_TRY(hc_options_parse("bench", &set, 1, words, word_count, err));
    HC_TRY(make_settings(&params, &settings, err));
    HC_TRY(check_json(&params, err));
    HC_TRY(hc_new(bench, 1, "the results", err));
    HC_TRY(hc_bench_open(bench, &settings, err));
    status = measure_all(bench, &params, reason, sizeof reason, err);
    report_end();
    HC_TRY(status);
    HC_TRY(give_results(bench, &params, reason, err));
    HC_TRY(hc_bench_judge(bench, err));
done:
    if (bench != NULL) {
        hc_bench_close(bench);
    }
    free(bench);
    return status;
}
