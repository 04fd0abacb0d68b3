/* AVIRIS-3 and AVIRIS-5: files laid out as their public importers say. */
#include "io/ortho/ortho.h"
#include "product_check.h"

enum { BANDS = 6 };

static const double centres[BANDS] = {390, 397.5, 405, 412.5, 420, 427.5};
static const double widths[BANDS] = {8, 8, 8.1, 8.1, 8.2, 8.2};
static const int stored[BANDS] = {0, 1, 2, 3, 4, 5};
static const double none = -9999;

typedef struct Kind {
    const char *name; /* radiance, reflectance */
    size_t table;     /* lines of the lookup table, 0 = none */
    int bands;        /* wavelengths in the file */
    bool no_widths;
    const char *transform;
} Kind;

/* Where pixel 4 of the lookup table leads, from 1; 0 = nowhere. */
static double table_sample, table_line;

static const char *write_aviris(const Kind *kind) {
    const char *path = in_folder("flight.nc");
    char group[32];
    double zeros[64] = {0};
    ProductFile file = product_begin(path);
    snprintf(group, sizeof group, "/%s", kind->name);
    ProductArray of = {.group = group,
                       .name = kind->name,
                       .type = GDT_Float32,
                       .axes = 3,
                       .axis = {"wavelength_axis", "northing", "easting"},
                       .size = {BANDS, PRODUCT_LINES, PRODUCT_SAMPLES},
                       .values = product_cube("bls", BANDS, 0),
                       .nodata = &none,
                       .units = "uW nm-1 cm-2 sr-1"};
    GDALMDArrayRelease(product_array(&file, &of));
    product_list(&file, group, "wavelength", kind->bands == BANDS ? "wavelength_axis" : "fewer", centres,
                 (size_t)kind->bands);
    if (!kind->no_widths) {
        product_list(&file, group, "fwhm", "wavelength_axis", widths, BANDS);
    }
    of = (ProductArray){.group = "/geolocation_lookup_table",
                        .name = "sample",
                        .type = GDT_Int32,
                        .axes = 2,
                        .axis = {"table_y", "table_x", NULL},
                        .size = {kind->table, PRODUCT_SAMPLES, 0},
                        .values = zeros};
    for (int t = 0; t < 2 && kind->table > 0; t++) {
        zeros[4] = t == 0 ? table_sample : table_line;
        GDALMDArrayRelease(product_array(&file, &of));
        of.name = "line";
    }
    of = (ProductArray){.group = "/", .name = "transverse_mercator", .type = GDT_Byte, .values = zeros};
    GDALMDArrayH mapping = product_array(&file, &of);
    product_text(mapping, NULL, "GeoTransform", kind->transform);
    bool as_cf = strcmp(kind->name, "reflectance") == 0;
    product_text(mapping, NULL, as_cf ? "crs_wkt" : "spatial_ref", "PROJCS[\"WGS 84 / UTM zone 10N\"]");
    GDALMDArrayRelease(mapping);
    product_end(&file);
    return path;
}

static void check_flight(const Kind *kind, const char *product, bool placed) {
    static const double transform[] = {368000, 1.5, 0, 4307000, 0, -1.5};
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_aviris(kind);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(hc_reader_product(reader), product);
    check_list(scene->wavelength, centres, BANDS);
    check_list(scene->fwhm, widths, BANDS);
    assert_true(scene->has_nodata && scene->nodata == -9999);
    if (placed) {
        check_transform(scene, transform, "UTM zone 10N");
        assert_null(hc_reader_note(reader));
    } else {
        assert_false(scene->place.has_transform);
        assert_non_null(strstr(hc_reader_note(reader), "sensor geometry"));
    }
    hc_reader_close(reader);
    check_cubes(path, stored);
}

static const char *const place = "368000.0 1.5 0.0 4307000.0 0.0 -1.5";

static void flights_open(void **state) {
    (void)state;
    check_flight(&(Kind){"reflectance", 0, BANDS, false, place}, "AVIRIS L2A reflectance (uW nm-1 cm-2 sr-1)",
                 true);
    check_flight(&(Kind){"reflectance", PRODUCT_LINES, BANDS, false, place},
                 "AVIRIS L2A reflectance (uW nm-1 cm-2 sr-1)", true);
    check_flight(&(Kind){"radiance", PRODUCT_LINES + 2, BANDS, false, place},
                 "AVIRIS L1B radiance (uW nm-1 cm-2 sr-1)", false);
}

/* The map is refused before anything is written; the scene itself opens. */
static void check_table(double sample, double line, const char *part) {
    HcReader *reader = NULL;
    HcOrtho *ortho = NULL;
    HcError err = {0};
    table_sample = sample;
    table_line = line;
    const char *path = write_aviris(&(Kind){"radiance", PRODUCT_LINES + 2, BANDS, false, place});
    table_sample = table_line = 0;
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    HcStatus got = hc_ortho_open(&ortho, hc_reader_scene(reader), path, NULL, 0, &err);
    if (part == NULL) {
        check_ok(got, err);
    } else if (got != HC_E_INPUT || strstr(err.text, path) == NULL || !check_holds(err.text, part)) {
        fail_msg("status %d, '%s' lacks '%s'", (int)got, err.text, part);
    }
    hc_ortho_close(ortho);
    hc_reader_close(reader);
}

static void tables_lead_into_the_scene(void **state) {
    (void)state;
    check_table(PRODUCT_SAMPLES, PRODUCT_LINES, NULL); /* the last pixel */
    check_table(1, PRODUCT_LINES + 1, "leads to line 6, sample 1");
    check_table(PRODUCT_SAMPLES + 1, 1, "leads to line 1, sample 7");
    check_table(2000000000, 1, "leads to line 1, sample 2000000000");
    check_table(0, 0, "leads to no pixel");
}

static void flaws_are_told(void **state) {
    (void)state;
    check_refused(write_aviris(&(Kind){"radiance", 0, BANDS - 1, false, place}), HC_E_INPUT,
                  "/radiance/wavelength has 5 values for 6 bands");
    check_refused(write_aviris(&(Kind){"radiance", 0, BANDS, true, place}), HC_E_INPUT,
                  "no array /radiance/fwhm");
    check_refused(write_aviris(&(Kind){"radiance", 0, BANDS, false, "here"}), HC_E_INPUT, "is 'here'");
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(flights_open),
                                       cmocka_unit_test(tables_lead_into_the_scene),
                                       cmocka_unit_test(flaws_are_told)};
    if (!can_make_products()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
