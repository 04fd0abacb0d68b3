/* What the reader gives of a file of product_file.h. */
#ifndef HC_TESTS_PRODUCT_CHECK_H
#define HC_TESTS_PRODUCT_CHECK_H

#include "io/read/product/product.h"
#include "product_file.h"
#include "tests/io/read_all.h"
#include "tests/io/write_fixture.h"

/* All values of these bands of the scene; stored[k] is the number by which the file was written. */
static inline void check_cube(HcReader *reader, int32_t step, const int32_t *bands, const int *stored,
                              int32_t count) {
    HcError err = {0};
    HcType type = hc_reader_scene(reader)->type;
    char *all = read_all(reader, step, bands, count, &err);
    if (all == NULL) {
        fail_msg("%s", err.text);
    }
    for (int64_t at = 0; at < (int64_t)count * PRODUCT_LINES * PRODUCT_SAMPLES; at++) {
        int sample = (int)(at % PRODUCT_SAMPLES), line = (int)(at / PRODUCT_SAMPLES % PRODUCT_LINES);
        int k = (int)(at / (PRODUCT_SAMPLES * PRODUCT_LINES));
        double wanted = product_value(line, sample, stored[k]);
        if (value_at(all, type, at) != wanted) {
            fail_msg("band %d line %d sample %d: %g instead of %g", (int)bands[k], line, sample,
                     value_at(all, type, at), wanted);
        }
    }
    free(all);
}

/* The same for all bands, by whole scene and by two lines; then for every second band by three lines. */
static inline void check_cubes(const char *path, const int *stored) {
    HcError err = {0};
    HcReader *reader = NULL;
    const void *listener = CPLGetErrorHandlerUserData(); /* of GDAL's messages, in memory of a call */
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_ptr_equal(CPLGetErrorHandlerUserData(), listener);
    int32_t *bands = all_bands(reader), count = hc_reader_scene(reader)->bands, kept = 0;
    int some[64];
    check_cube(reader, PRODUCT_LINES, bands, stored, count);
    check_cube(reader, 2, bands, stored, count);
    hc_reader_close(reader);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    for (int32_t b = 1; b < count; b += 2) {
        some[kept] = stored[b];
        bands[kept++] = b;
    }
    check_ok(hc_reader_use_bands(reader, bands, kept, &err), err);
    check_cube(reader, 3, bands, some, kept);
    hc_reader_close(reader);
    free(bands);
}

/* Opening fails with that status and one line that has the name of the file and `part`. */
static inline void check_refused(const char *path, HcStatus status, const char *part) {
    HcReader *reader = NULL;
    HcError err = {0};
    HcStatus got = hc_reader_open(&reader, path, NULL, &err);
    if (got != status || !check_holds(err.text, part) || strstr(err.text, path) == NULL) {
        fail_msg("status %d, '%s' lacks '%s'", (int)got, err.text, part);
    }
    assert_null(reader);
}

/* The layout of that product; NULL: the table has none. */
static inline const HcProductLayout *layout_of(const char *product) {
    const HcProductRow *row = NULL;
    for (int32_t n = 0; (row = hc_product_row(n)) != NULL; n++) {
        for (const HcProductLayout *of = row->layouts; of != NULL && of->product != NULL; of++) {
            if (strncmp(product, of->product, strlen(of->product)) == 0) {
                return of;
            }
        }
    }
    return NULL;
}

/* The table of layouts has the quality layers of a file, with + those of the usual set. */
static inline void check_layers_in_table(const char *path) {
    HcProduct *product = NULL;
    HcError err = {0};
    check_ok(hc_product_open(&product, path, HC_OVERLAP_USUAL, &err), err);
    const HcProductLayout *layout = layout_of(product->name);
    assert_true(layout != NULL && product->layers > 0);
    for (int32_t l = 0; l < product->layers; l++) {
        char wanted[160], all[600];
        snprintf(all, sizeof all, ";%s;", layout->layers);
        snprintf(wanted, sizeof wanted, ";%s%s;", product->layer[l].name, product->layer[l].usual ? "+" : "");
        if (strstr(all, wanted) == NULL) {
            fail_msg("the layout of %s has no layer %s: %s", layout->product, wanted, layout->layers);
        }
    }
    hc_product_close(product);
}

static inline void check_list(const double *values, const double *wanted, int count) {
    assert_non_null(values);
    for (int i = 0; i < count; i++) {
        check_near(values[i], wanted[i], 1e-4);
    }
}

static inline void check_transform(const HcScene *scene, const double wanted[6], const char *crs) {
    assert_true(scene->place.has_transform);
    check_list(scene->place.transform, wanted, 6);
    assert_non_null(scene->place.crs);
    assert_non_null(strstr(scene->place.crs, crs));
}

/* A group of tests that need GDAL's netCDF driver to make files. */
static inline bool can_make_products(void) {
    GDALAllRegister();
    return GDALGetDriverByName("netCDF") != NULL && GDALGetDriverByName("HDF5") != NULL;
}

/* The bands that count as bad, as a text of 0 and 1, and a part of the note. */
static inline void check_bad(const char *path, HcOverlap overlap, const char *bad, const char *note) {
    HcReader *reader = NULL;
    HcError err = {0};
    const HcReaderOptions how = {.overlap = overlap};
    check_ok(hc_reader_open(&reader, path, &how, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    for (int32_t b = 0; b < scene->bands; b++) {
        assert_int_equal(scene->bad != NULL && scene->bad[b], bad[b] == '1');
    }
    check_says(hc_reader_note(reader), note);
    hc_reader_close(reader);
}

#endif
