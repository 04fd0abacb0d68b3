/* Arrays of netCDF and HDF files: opened where their axes are known to be band, line, sample; else refused.
 */
#include "io/read/reader.h"
#include "tests/support/check.h"
#include "write_fixture.h"

#include <gdal.h>
#include <stdio.h>
#include <string.h>

enum { LINES = 5, SAMPLES = 6, BANDS = 4 };

typedef struct Shape {
    const char *name[4];
    int size[4];
    const char *unit; /* of the coordinates of the last axis, or NULL = it has none */
} Shape;

static GDALExtendedDataTypeH type_of(GDALDataType type) {
    return GDALExtendedDataTypeCreate(type);
}

static void give_coordinates(GDALGroupH root, GDALDimensionH dimension, const char *name, int size,
                             const char *unit) {
    double values[64];
    GUInt64 start = 0;
    size_t count = (size_t)size;
    GDALExtendedDataTypeH type = type_of(GDT_Float64);
    GDALMDArrayH array = GDALGroupCreateMDArray(root, name, 1, &dimension, type, NULL);
    assert_non_null(array);
    for (int i = 0; i < size; i++) {
        values[i] = 400 + 10 * i;
    }
    assert_true(GDALMDArrayWrite(array, &start, &count, NULL, NULL, type, values, NULL, 0));
    assert_true(GDALMDArraySetUnit(array, unit));
    GDALMDArrayRelease(array);
    GDALExtendedDataTypeRelease(type);
}

/* cube.nc with the array "cube" of that shape: value i at place i. */
static void write_array(const Shape *shape) {
    static float values[LINES * SAMPLES * BANDS * 4];
    GUInt64 start[4] = {0};
    size_t count[4], axes = 0;
    GDALDimensionH dimensions[4];
    unlink(in_folder("cube.nc"));
    GDALDatasetH dataset =
        GDALCreateMultiDimensional(GDALGetDriverByName("netCDF"), in_folder("cube.nc"), NULL, NULL);
    assert_non_null(dataset);
    GDALGroupH root = GDALDatasetGetRootGroup(dataset);
    for (; axes < 4 && shape->name[axes] != NULL; axes++) {
        count[axes] = (size_t)shape->size[axes];
        dimensions[axes] =
            GDALGroupCreateDimension(root, shape->name[axes], NULL, NULL, (GUInt64)count[axes], NULL);
        assert_non_null(dimensions[axes]);
    }
    if (shape->unit != NULL) {
        give_coordinates(root, dimensions[axes - 1], shape->name[axes - 1], shape->size[axes - 1],
                         shape->unit);
    }
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        values[i] = (float)i;
    }
    GDALExtendedDataTypeH type = type_of(GDT_Float32);
    GDALMDArrayH array = GDALGroupCreateMDArray(root, "cube", axes, dimensions, type, NULL);
    assert_non_null(array);
    assert_true(GDALMDArrayWrite(array, start, count, NULL, NULL, type, values, NULL, 0));
    GDALMDArrayRelease(array);
    GDALExtendedDataTypeRelease(type);
    for (size_t i = 0; i < axes; i++) {
        GDALDimensionRelease(dimensions[i]);
    }
    GDALGroupRelease(root);
    GDALClose(dataset);
}

/* Opens the array by a subdataset name of that driver. */
static HcStatus open_array(const char *driver, HcReader **reader, HcError *err) {
    char path[700];
    snprintf(path, sizeof path, strcmp(driver, "HDF5") == 0 ? "HDF5:\"%s\"://cube" : "NETCDF:\"%s\":cube",
             in_folder("cube.nc"));
    return hc_reader_open(reader, path, NULL, err);
}

static bool has_driver(const char *name) {
    return GDALGetDriverByName(name) != NULL;
}

static void check_opens(const Shape *shape) {
    static const char *const drivers[] = {"netCDF", "HDF5"};
    write_array(shape);
    for (int d = 0; d < 2; d++) {
        HcReader *reader = NULL;
        HcError err = {0};
        if (!has_driver(drivers[d]) || (d == 1 && shape->size[3] > 0)) { /* HDF5 shows a part of four axes */
            continue;
        }
        if (open_array(drivers[d], &reader, &err) != HC_OK) {
            fail_msg("%s: %s", drivers[d], err.text);
        }
        const HcScene *scene = hc_reader_scene(reader);
        assert_int_equal(scene->bands * scene->lines * scene->samples,
                         shape->size[0] * shape->size[1] * shape->size[2] *
                             (shape->size[3] > 0 ? shape->size[3] : 1));
        hc_reader_close(reader);
    }
}

/* Refused by both drivers, and the line says what the axes are. */
static void check_refused(const Shape *shape, const char *part) {
    static const char *const drivers[] = {"netCDF", "HDF5"};
    write_array(shape);
    for (int d = 0; d < 2; d++) {
        HcReader *reader = NULL;
        HcError err = {0};
        if (!has_driver(drivers[d])) {
            continue;
        }
        HcStatus status = open_array(drivers[d], &reader, &err);
        if (status == HC_OK && strcmp(shape->name[0], "downtrack") == 0) {
            /* Newer versions of GDAL know these axes and turn them. */
            assert_int_equal(hc_reader_scene(reader)->bands, BANDS);
            assert_int_equal(hc_reader_scene(reader)->lines, LINES);
            hc_reader_close(reader);
            continue;
        }
        if (status != HC_E_UNSUPPORTED || strstr(err.text, part) == NULL ||
            strstr(err.text, "cube") == NULL) {
            fail_msg("%s: status %d, '%s' lacks '%s'", drivers[d], (int)status, err.text, part);
        }
        assert_null(reader);
    }
}

/* ---- wavelengths beside an array ---- */

typedef struct Lists {
    const char *path;   /* as it is opened, %s = the file */
    const char *group;  /* of the array, NULL = the root */
    const char *axis;   /* of the bands */
    const char *centre; /* the name of the list of wavelengths */
    const char *unit;
    const char *other; /* another list along the bands, or NULL */
    double first;      /* in that unit; each next one is 1.1 times as large */
    double wanted;     /* [nm], -1 = none */
} Lists;

static void put_list(GDALGroupH group, GDALDimensionH axis, const char *name, const char *unit,
                     double first) {
    double values[BANDS];
    GUInt64 start = 0;
    size_t count = BANDS;
    GDALExtendedDataTypeH type = type_of(GDT_Float64);
    GDALMDArrayH list = GDALGroupCreateMDArray(group, name, 1, &axis, type, NULL);
    assert_non_null(list);
    for (int b = 0; b < BANDS; b++) {
        values[b] = b == 0 ? first : values[b - 1] * 1.1;
    }
    assert_true(GDALMDArrayWrite(list, &start, &count, NULL, NULL, type, values, NULL, 0));
    if (unit != NULL) {
        assert_true(GDALMDArraySetUnit(list, unit));
    }
    GDALMDArrayRelease(list);
    GDALExtendedDataTypeRelease(type);
}

static void write_lists(const Lists *lists) {
    static const float zeros[BANDS * LINES * SAMPLES];
    GUInt64 start[3] = {0};
    size_t count[3] = {BANDS, LINES, SAMPLES};
    unlink(in_folder("lists.nc"));
    GDALDatasetH dataset =
        GDALCreateMultiDimensional(GDALGetDriverByName("netCDF"), in_folder("lists.nc"), NULL, NULL);
    GDALGroupH root = GDALDatasetGetRootGroup(dataset);
    GDALGroupH group = lists->group != NULL ? GDALGroupCreateGroup(root, lists->group, NULL) : NULL;
    GDALDimensionH axis[3] = {GDALGroupCreateDimension(root, lists->axis, NULL, NULL, BANDS, NULL),
                              GDALGroupCreateDimension(root, "y", NULL, NULL, LINES, NULL),
                              GDALGroupCreateDimension(root, "x", NULL, NULL, SAMPLES, NULL)};
    if (lists->other != NULL) {
        put_list(root, axis[0], lists->other, NULL, 1);
    }
    put_list(root, axis[0], lists->centre, lists->unit, lists->first);
    put_list(root, axis[0], "fwhm", lists->unit, lists->first / 100);
    GDALExtendedDataTypeH type = type_of(GDT_Float32);
    GDALMDArrayH cube = GDALGroupCreateMDArray(group != NULL ? group : root, "cube", 3, axis, type, NULL);
    assert_true(GDALMDArrayWrite(cube, start, count, NULL, NULL, type, zeros, NULL, 0));
    GDALMDArrayRelease(cube);
    GDALExtendedDataTypeRelease(type);
    for (int i = 0; i < 3; i++) {
        GDALDimensionRelease(axis[i]);
    }
    if (group != NULL) {
        GDALGroupRelease(group);
    }
    GDALGroupRelease(root);
    GDALClose(dataset);
}

static void lists_give_wavelengths(void **state) {
    (void)state;
    static const char *const nc = "NETCDF:\"%s\":cube", *const h5 = "HDF5:\"%s\"://cube";
    static const Lists cases[] = {
        {nc, NULL, "wavelength", "wavelength", "nm", NULL, 500, 500},
        {nc, NULL, "wavelength", "wavelength", "um", NULL, 0.5, 500},
        {nc, NULL, "wavelength", "wavelength", "micrometers", NULL, 0.5, 500},
        {nc, NULL, "wavelength", "wavelength", "m", NULL, 5e-7, 500},
        {nc, NULL, "wavelength", "wavelength", NULL, NULL, 500, 500},
        {nc, NULL, "band", "wavelength", "nm", NULL, 500, 500},
        {nc, NULL, "band", "wavelengths", "nanometers", "good_wavelengths", 500, 500},
        {nc, NULL, "band", "center_wavelength", "nm", "wavelength_uncertainty", 500, 500},
        {nc, NULL, "band", "band", "nm", NULL, 500, 500},
        {nc, NULL, "band", "band", "1", NULL, 500, -1},
        {nc, NULL, "band", "wavelength", "K", NULL, 500, -1},
        {"%s", "data", "band", "wavelength", "nm", NULL, 500, 500},
        {h5, NULL, "band", "wavelength", "nm", NULL, 500, 500},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[700];
        HcReader *reader = NULL;
        HcError err = {0};
        write_lists(&cases[i]);
        const char *mark = strstr(cases[i].path, "%s");
        snprintf(path, sizeof path, "%.*s%s%s", (int)(mark - cases[i].path), cases[i].path,
                 in_folder("lists.nc"), mark + 2);
        check_ok(hc_reader_open(&reader, path, NULL, &err), err);
        const HcScene *scene = hc_reader_scene(reader);
        double got = scene->wavelength != NULL ? scene->wavelength[0] : -1;
        if (!(got > cases[i].wanted - 1e-9 && got < cases[i].wanted + 1e-9) ||
            (got > 0 && cases[i].unit != NULL && scene->fwhm == NULL)) {
            fail_msg("case %d: %g instead of %g", (int)i, got, cases[i].wanted);
        }
        hc_reader_close(reader);
    }
}

/* ---- attributes of values ---- */

static void put_numbers(GDALMDArrayH array, const char *name, const double *values, GUInt64 count) {
    GDALExtendedDataTypeH type = type_of(GDT_Int32);
    GDALAttributeH attribute = GDALMDArrayCreateAttribute(array, name, count > 1 ? 1 : 0, &count, type, NULL);
    assert_non_null(attribute);
    assert_true(GDALAttributeWriteDoubleArray(attribute, values, (size_t)count));
    GDALAttributeRelease(attribute);
    GDALExtendedDataTypeRelease(type);
}

static void put_text(GDALMDArrayH array, const char *name, const char *text) {
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateString(0);
    GDALAttributeH attribute = GDALMDArrayCreateAttribute(array, name, 0, NULL, type, NULL);
    assert_true(GDALAttributeWriteString(attribute, text));
    GDALAttributeRelease(attribute);
    GDALExtendedDataTypeRelease(type);
}

/* values.nc: one band of two lines, -5 10 20 / 30 40 50, with an attribute. */
static void write_values(const char *name, const double *numbers, GUInt64 count, const char *text) {
    static const int32_t values[6] = {-5, 10, 20, 30, 40, 50};
    GUInt64 start[3] = {0};
    size_t size[3] = {1, 2, 3};
    static const char *const names[3] = {"band", "y", "x"};
    GDALDimensionH axis[3];
    unlink(in_folder("values.nc"));
    GDALDatasetH dataset =
        GDALCreateMultiDimensional(GDALGetDriverByName("netCDF"), in_folder("values.nc"), NULL, NULL);
    GDALGroupH root = GDALDatasetGetRootGroup(dataset);
    for (int i = 0; i < 3; i++) {
        axis[i] = GDALGroupCreateDimension(root, names[i], NULL, NULL, size[i], NULL);
    }
    GDALExtendedDataTypeH type = type_of(GDT_Int32);
    GDALMDArrayH cube = GDALGroupCreateMDArray(root, "cube", 3, axis, type, NULL);
    if (text != NULL) {
        put_text(cube, name, text);
    } else {
        put_numbers(cube, name, numbers, count);
    }
    assert_true(GDALMDArrayWrite(cube, start, size, NULL, NULL, type, values, NULL, 0));
    GDALMDArrayRelease(cube);
    GDALExtendedDataTypeRelease(type);
    for (int i = 0; i < 3; i++) {
        GDALDimensionRelease(axis[i]);
    }
    GDALGroupRelease(root);
    GDALClose(dataset);
}

/* The bits of `missing` say which of the six values are missing. The lines are in the order of the array. */
static void check_missing(const char *path, unsigned missing) {
    static const int32_t values[6] = {-5, 10, 20, 30, 40, 50};
    int32_t got[6] = {0};
    double nodata = 0;
    HcReader *reader = NULL;
    HcError err = {0};
    HcRaw raw;
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    bool has = hc_reader_nodata(reader, 0, &nodata);
    check_ok(hc_reader_read(reader, 0, 2, got, &raw, &err), err);
    for (int i = 0; i < 6; i++) {
        bool gone = has && (double)got[i] == nodata;
        if (gone != ((missing >> i & 1) != 0) || (!gone && got[i] != values[i])) {
            fail_msg("%s: value %d of %x is %d", path, i, missing, (int)got[i]);
        }
    }
    hc_reader_close(reader);
}

static void attributes_of_values(void **state) {
    (void)state;
    static const struct {
        const char *name;
        double number[2];
        GUInt64 count;
        unsigned missing;
    } cases[] = {
        {"valid_min", {10}, 1, 0x01},       {"valid_max", {40}, 1, 0x20},
        {"valid_range", {10, 30}, 2, 0x31}, {"missing_value", {20, 50}, 2, 0x24},
        {"missing_value", {30}, 1, 0x08},   {"other", {30}, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[700];
        write_values(cases[i].name, cases[i].number, cases[i].count, NULL);
        snprintf(path, sizeof path, "NETCDF:\"%s\":cube", in_folder("values.nc"));
        check_missing(path, cases[i].missing);
        if (has_driver("HDF5")) {
            snprintf(path, sizeof path, "HDF5:\"%s\"://cube", in_folder("values.nc"));
            check_missing(path, cases[i].missing);
        }
    }
}

/* Scale and offset by either driver; GDAL's for HDF5 passes over them. */
static void scale_of_array(void **state) {
    (void)state;
    static const char *const paths[] = {"NETCDF:\"%s\":cube", "HDF5:\"%s\"://cube"};
    const double two = 2, three = 3;
    for (int p = 0; p < (has_driver("HDF5") ? 2 : 1); p++) {
        for (int offset = 0; offset < 2; offset++) {
            char path[700];
            HcReader *reader = NULL;
            HcError err = {0};
            write_values(offset == 1 ? "add_offset" : "scale_factor", offset == 1 ? &three : &two, 1, NULL);
            const char *mark = strstr(paths[p], "%s");
            snprintf(path, sizeof path, "%.*s%s%s", (int)(mark - paths[p]), paths[p], in_folder("values.nc"),
                     mark + 2);
            check_ok(hc_reader_open(&reader, path, NULL, &err), err);
            const HcScene *scene = hc_reader_scene(reader);
            assert_non_null(scene->gain);
            assert_true(scene->gain[0] == (offset == 1 ? 1 : 2) && scene->offset[0] == (offset == 1 ? 3 : 0));
            hc_reader_close(reader);
        }
    }
}

static void unsigned_by_attribute(void **state) {
    (void)state;
    for (int no_direct = 0; no_direct < 2; no_direct++) {
        HcReader *reader = NULL;
        HcError err = {0};
        HcRaw raw;
        uint32_t got[6] = {0};
        const HcReaderOptions options = {.never_direct = no_direct == 1};
        write_values("_Unsigned", NULL, 0, "true");
        check_ok(hc_reader_open(&reader, in_folder("values.nc"), &options, &err), err);
        assert_int_equal(hc_reader_scene(reader)->type, HC_UINT32);
        check_ok(hc_reader_read(reader, 0, 2, got, &raw, &err), err);
        assert_true(got[0] == 4294967291U && got[5] == 50);
        hc_reader_close(reader);
    }
}

static void known_axes_open(void **state) {
    (void)state;
    if (!has_driver("netCDF")) {
        skip();
    }
    check_opens(&(Shape){{"band", "y", "x"}, {BANDS, LINES, SAMPLES}, NULL});
    check_opens(&(Shape){{"Wavelength_um", "a", "b"}, {BANDS, LINES, SAMPLES}, NULL});
    check_opens(&(Shape){{"time", "lat", "lon"}, {BANDS, LINES, SAMPLES}, NULL});
    check_opens(&(Shape){{"spectral_channel", "along-track", "cross_track"}, {BANDS, LINES, SAMPLES}, NULL});
    check_opens(&(Shape){{"time", "bands", "y", "x"}, {1, BANDS, LINES, SAMPLES}, NULL});
    check_opens(&(Shape){{"one", "two", "three"}, {1, LINES, SAMPLES}, NULL}); /* a single band */
}

/* As EMIT, PRISMA and NEON have it, by name or without one. */
static void other_axes_are_refused(void **state) {
    (void)state;
    if (!has_driver("netCDF")) {
        skip();
    }
    check_refused(&(Shape){{"downtrack", "crosstrack", "bands"}, {LINES, SAMPLES, BANDS}, NULL},
                  "downtrack (5), crosstrack (6), bands (4)");
    check_refused(&(Shape){{"lines", "bands", "samples"}, {LINES, BANDS, SAMPLES}, NULL},
                  "lines (5), bands (4), samples (6)");
    check_refused(&(Shape){{"one", "two", "three"}, {LINES, SAMPLES, BANDS}, NULL},
                  "one (5), two (6), three (4)");
    check_refused(&(Shape){{"one", "two", "light"}, {LINES, SAMPLES, BANDS}, "nm"}, "light (4)");
    check_refused(&(Shape){{"band", "x", "y"}, {BANDS, SAMPLES, LINES}, NULL}, "band (4), x (6), y (5)");
    check_refused(&(Shape){{"lines", "a", "b"}, {1, SAMPLES, BANDS}, NULL}, "lines (1)");
    check_refused(&(Shape){{"time", "band", "b", "c"}, {2, BANDS, LINES, SAMPLES}, NULL}, "time (2)");
    check_refused(&(Shape){{"time", "band", "y", "x"}, {2, BANDS, LINES, SAMPLES}, NULL},
                  "time (2), band (4), y (5), x (6)");
}

/* The order of the values that open is that of the file. */
static void values_of_known_axes(void **state) {
    (void)state;
    if (!has_driver("netCDF")) {
        skip();
    }
    write_array(&(Shape){{"band", "line", "sample"}, {BANDS, LINES, SAMPLES}, NULL});
    HcReader *reader = NULL;
    HcError err = {0};
    HcRaw raw;
    float buffer[BANDS * LINES * SAMPLES];
    check_ok(hc_reader_open(&reader, in_folder("cube.nc"), NULL, &err), err);
    assert_int_equal(hc_reader_bytes(reader, LINES), sizeof buffer);
    check_ok(hc_reader_read(reader, 0, LINES, buffer, &raw, &err), err);
    float value = 0;
    /* The middle line: GDAL may turn lines without coordinates upside down. */
    memcpy(&value, (const char *)raw.data + 2 * raw.stride_band + 2 * raw.stride_line + 3 * raw.stride_sample,
           sizeof value);
    check_near(value, (2 * LINES + 2) * SAMPLES + 3, 0);
    hc_reader_close(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(lists_give_wavelengths, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(attributes_of_values, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(scale_of_array, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(unsigned_by_attribute, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(known_axes_open, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(other_axes_are_refused, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(values_of_known_axes, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
