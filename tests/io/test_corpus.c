/* Every file of the ENVI corpus is read right or refused with one clear line. Needs HCUBE_DATA. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <gdal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "read_all.h"
#include "tests/support/check.h"

/* What must be refused, and a part of the line; all others must open. */
static const struct {
    const char *id;
    HcStatus status;
    const char *part;
} refused[] = {
    {"wiser-usgs-minerals-sli", HC_E_UNSUPPORTED, "spectral library"},
    {"gamsberg-fieldlib", HC_E_UNSUPPORTED, "spectral library"},
    {"berlin-library", HC_E_UNSUPPORTED, "spectral library"},
    {"qps-speclib", HC_E_UNSUPPORTED, "spectral library"},
    {"usgs-minerals-sli", HC_E_UNSUPPORTED, "spectral library"},
    {"rs-sli-a", HC_E_UNSUPPORTED, "spectral library"},
    {"rs-sli-b", HC_E_UNSUPPORTED, "spectral library"},
    {"rs-sli-d", HC_E_UNSUPPORTED, "spectral library"},
    {"emit-tetracorder-r06", HC_E_UNSUPPORTED, "spectral library"},
    {"srf-landsat7-sli", HC_E_UNSUPPORTED, "spectral library"},
    {"gdal-raw-cfloat64", HC_E_UNSUPPORTED, "data type = 9"},
    {"truncated-monobandcomplexdouble-raw", HC_E_UNSUPPORTED, "data type = 9"},
    {"truncated-egm96-grd", HC_E_INPUT, "need 4155844 bytes ... offset of 24 ... 132"},
    {"truncated-poupees-raw", HC_E_INPUT, "need 786432 bytes, the file holds 131"},
    {"notenvi-genbin", HC_E_INPUT, "Image file is too small"},
    {"hypercloud-hdr", HC_E_INPUT, "'data type' is missing"},
    {"hdronly-enmap-berlin", HC_E_INPUT, "no data file beside it"},
    {"hdronly-samson-1-img", HC_E_INPUT, "no data file beside it"},
    {"hdronly-cup95eff", HC_E_INPUT, "no data file beside it"},
    {"hdronly-im1", HC_E_INPUT, "no data file beside it"},
    {"hdronly-fake-refl", HC_E_INPUT, "no data file beside it"},
    {"hdronly-jasperridge2-f224", HC_E_INPUT, "no data file beside it"},
    {"hdronly-house-uint16-rad", HC_E_INPUT, "no data file beside it"},
    {"hdronly-apples-small", HC_E_INPUT, "no data file beside it"},
    {"hdronly-darkreference4", HC_E_INPUT, "interleave = bup"},
    {"hdronly-arcgis", HC_E_INPUT, "not an ENVI header"},
    {"headers/no-bands", HC_E_INPUT, "'bands' is missing"},
    {"headers/short-data", HC_E_INPUT, "need 3360 bytes ... 2860 (500 B missing)"},
    {"headers/empty-data", HC_E_INPUT, "need 3360 bytes, the file holds 0"},
    {"headers/zero-bands", HC_E_INPUT, "bands = 0"},
    {"headers/negative-samples", HC_E_INPUT, "samples = -14"},
    {"headers/unknown-type", HC_E_INPUT, "data type = 99"},
    {"headers/unclosed-brace", HC_E_INPUT, "'wavelength' in line 11 is never closed"},
    {"headers/huge-samples", HC_E_INPUT, "2000000000 samples"},
};

static const char *corpus;
static int opened, refusals;

/* variants/expected.csv: [10][12][14], counted from 1 for bands and from 0 for lines and samples. */
static double expected[10][12][14];

static void load_expected(void) {
    char path[1024], line[200];
    int band, row, sample, rows = 0;
    double value;
    snprintf(path, sizeof path, "%s/variants/expected.csv", corpus);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "%d,%d,%d,%lf", &band, &row, &sample, &value) == 4) {
            expected[band - 1][row][sample] = value;
            rows++;
        }
    }
    fclose(file);
    assert_int_equal(rows, 10 * 12 * 14);
}

static void quiet(CPLErr kind, CPLErrorNum number, const char *text) {
    (void)kind;
    (void)number;
    (void)text;
}

/* The values as GDAL reads them, [band][line][sample] in the type of the scene; NULL when it does not open.
 */
static char *gdal_values(const char *path, const HcScene *scene) {
    static const GDALDataType codes[HC_TYPE_COUNT] = {
        [HC_UINT8] = GDT_Byte,
        [HC_UINT16] = GDT_UInt16,
        [HC_INT16] = GDT_Int16,
        [HC_UINT32] = GDT_UInt32,
        [HC_INT32] = GDT_Int32,
        [HC_UINT64] = GDT_UInt64,
        [HC_INT64] = GDT_Int64,
        [HC_FLOAT32] = GDT_Float32,
        [HC_FLOAT64] = GDT_Float64,
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 7, 0)
        [HC_INT8] = GDT_Int8
#else
        [HC_INT8] = GDT_Byte
#endif
    };
    CPLPushErrorHandler(quiet);
    GDALDatasetH dataset = GDALOpenEx(path, GDAL_OF_RASTER, NULL, NULL, NULL);
    char *values = NULL;
    if (dataset != NULL) {
        int samples = GDALGetRasterXSize(dataset), lines = GDALGetRasterYSize(dataset);
        assert_int_equal(samples, scene->samples);
        assert_int_equal(lines, scene->lines);
        assert_int_equal(GDALGetRasterCount(dataset), scene->bands);
        values = malloc((size_t)scene->bands * (size_t)samples * (size_t)lines * hc_type_bytes(scene->type));
        assert_int_equal(GDALDatasetRasterIO(dataset, GF_Read, 0, 0, samples, lines, values, samples, lines,
                                             codes[scene->type], scene->bands, NULL, 0, 0, 0),
                         CE_None);
    }
    GDALClose(dataset);
    CPLPopErrorHandler();
    return values;
}

static void check_variant(const char *id, const char *values, const HcScene *scene) {
    bool divided = strstr(id, "_dt01_") != NULL;
    for (int b = 0; b < 10; b++) {
        for (int l = 0; l < 12; l++) {
            for (int s = 0; s < 14; s++) {
                double want = divided ? floor(expected[b][l][s] / 32) : expected[b][l][s];
                double got = value_at(values, scene->type, (b * 12 + l) * 14 + s);
                if (!(got == want)) {
                    fail_msg("%s: %g instead of %g at band %d, line %d, sample %d", id, got, want, b, l, s);
                }
            }
        }
    }
    assert_true(scene->wavelength != NULL && fabs(scene->wavelength[0] - 566.940002) < 1e-9);
}

static void check_opened(const char *id, const char *path, bool never_direct) {
    HcReader *reader = NULL;
    HcError err = {0};
    HcReaderOptions options = {.never_direct = never_direct};
    if (hc_reader_open(&reader, path, &options, &err) != HC_OK) {
        fail_msg("%s must open: %s", id, err.text);
    }
    const HcScene *scene = hc_reader_scene(reader);
    if (never_direct) {
        assert_string_not_equal(hc_reader_method(reader), "direct");
    }
    int32_t *bands = all_bands(reader);
    char *ours = read_all(reader, 5, bands, scene->bands, &err);
    if (ours == NULL) {
        fail_msg("%s: %s", id, err.text);
    }
    char *theirs = gdal_values(hc_reader_path(reader), scene);
    bool variant = strncmp(id, "variants/", 9) == 0;
    assert_true(theirs != NULL || variant);
    size_t bytes =
        (size_t)scene->bands * (size_t)scene->lines * (size_t)scene->samples * hc_type_bytes(scene->type);
    if (theirs != NULL && memcmp(ours, theirs, bytes) != 0) {
        fail_msg("%s (%s): values differ from GDAL's", id, hc_reader_method(reader));
    }
    if (variant) {
        check_variant(id, ours, scene);
    }
    free(theirs);
    free(ours);
    free(bands);
    hc_reader_close(reader);
}

static void check_refused(size_t which, const char *path) {
    HcReader *reader = NULL;
    HcError err = {0};
    HcStatus status = hc_reader_open(&reader, path, NULL, &err);
    assert_null(reader);
    if (status != refused[which].status || !check_holds(err.text, refused[which].part) ||
        strchr(err.text, '\n') != NULL) {
        fail_msg("%s: status %d instead of %d, '%s' lacks '%s'", refused[which].id, status,
                 refused[which].status, err.text, refused[which].part);
    }
}

static void check_entry(const char *id, const char *header) {
    char path[2048];
    bool variant = strncmp(id, "variants/", 9) == 0; /* these share one folder */
    snprintf(path, sizeof path, "%s/%s/%s", corpus, variant ? "variants" : id, header);
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (strcmp(refused[i].id, id) == 0) {
            check_refused(i, path);
            refusals++;
            return;
        }
    }
    check_opened(id, path, false);
    check_opened(id, path, true);
    opened++;
}

static void every_entry(void **state) {
    (void)state;
    char path[1024];
    char *line = NULL;
    size_t capacity = 0;
    snprintf(path, sizeof path, "%s/MANIFEST.csv", corpus);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    load_expected();
    assert_true(getline(&line, &capacity, file) > 0); /* the names of the columns */
    while (getline(&line, &capacity, file) > 0) {
        char *comma = strchr(line, ',');
        char *colon = comma != NULL ? strchr(comma + 1, ':') : NULL;
        assert_non_null(colon);
        *comma = *colon = '\0';
        check_entry(line, comma + 1);
    }
    free(line);
    fclose(file);
    printf("%d entries read, %d refused\n", opened, refusals);
    assert_int_equal(refusals, sizeof refused / sizeof *refused);
    assert_int_equal(opened + refusals, 150);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_entry)};
    const char *data = getenv("HCUBE_DATA");
    char folder[1024];
    if (data == NULL || data[0] == '\0') {
        printf("skipped: HCUBE_DATA does not name the folder of the test scenes\n");
        return 77;
    }
    snprintf(folder, sizeof folder, "%s/envi-corpus", data);
    corpus = folder;
    GDALAllRegister();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
