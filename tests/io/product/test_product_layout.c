/* The table of layouts: what a file has that its table lacks is told; what is known stays silent. */
#include "product_check.h"

enum { BANDS = 3 };

typedef struct Layout {
    const char *cube, *version, *units, *more; /* an array of two axes beside the known ones */
    bool lacks_places, lacks_table;
} Layout;

static void put_flat(ProductFile *file, const char *group, const char *name, GDALDataType type) {
    GDALMDArrayRelease(product_array(file, &(ProductArray){.group = group,
                                                           .name = name,
                                                           .type = type,
                                                           .axes = 2,
                                                           .axis = {"downtrack", "crosstrack", NULL},
                                                           .size = {PRODUCT_LINES, PRODUCT_SAMPLES, 0},
                                                           .values = product_cube("lsb", 1, 0)}));
}

static const char *write_layout(const Layout *of) {
    static const double centres[BANDS] = {400, 500, 600}, widths[BANDS] = {10, 10, 10}, table[4] = {0};
    static const char *const places[] = {"lon", "lat", "elev"};
    const char *path = in_folder("EMIT_L2A_RFL_20260921T044051.nc");
    ProductFile file = product_begin(path);
    product_emit_cube(&file, (ProductArray){.name = of->cube,
                                            .size = {PRODUCT_LINES, PRODUCT_SAMPLES, BANDS},
                                            .values = product_cube("lsb", BANDS, 0),
                                            .units = of->units});
    product_text(NULL, file.root, "instrument", "EMIT");
    if (of->version != NULL) {
        product_text(NULL, file.root, "product_version", of->version);
    }
    if (of->more != NULL) {
        put_flat(&file, "/", of->more, GDT_Float32);
    }
    if (!of->lacks_table) {
        product_emit_bands(&file, BANDS, centres, widths);
        product_list(&file, "/sensor_band_parameters", "good_wavelengths", "bands", widths, BANDS);
        product_emit_lookup(&file, "glt_x", "ortho_y", 2, 2, table, NULL);
        product_emit_lookup(&file, "glt_y", "ortho_y", 2, 2, table, NULL);
    }
    for (int p = 0; p < 3 && !of->lacks_places; p++) {
        put_flat(&file, "/location", places[p], GDT_Float64);
    }
    product_list(&file, "/", "bands", "bands", centres, BANDS); /* an axis, and no array of its own */
    product_end(&file);
    return path;
}

/* What is told, "" = nothing; and what the version is. */
static void check_news(const Layout *of, const char *wanted) {
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, write_layout(of), NULL, &err), err);
    const char *news = hc_reader_news(reader), *version = hc_reader_version(reader);
    assert_string_equal(news != NULL ? news : "", wanted);
    assert_string_equal(version != NULL ? version : "-", of->version != NULL ? of->version : "-");
    if (news != NULL) {
        assert_non_null(strstr(hc_reader_note(reader), news));
    }
    hc_reader_close(reader);
}

static void known_layouts_are_silent(void **state) {
    (void)state;
    check_news(&(Layout){"reflectance", "V001", "unitless", NULL, false, false}, "");
    check_news(&(Layout){"reflectance", "V002", "unitless", NULL, false, false}, "");
    check_news(&(Layout){"reflectance", NULL, NULL, NULL, true, false}, "");
    check_news(&(Layout){"radiance", "V001", "uW/cm^2/SR/nm", NULL, false, false}, "");
}

static void news_are_told(void **state) {
    (void)state;
    check_news(&(Layout){"reflectance", "V001", "unitless", "snow", false, false},
               "its layout differs from that of EMIT L2A reflectance V001 in the table of products; it adds "
               "/snow");
    check_news(&(Layout){"reflectance", NULL, "percent", NULL, false, false},
               "its layout differs from that of EMIT L2A reflectance in the table of products; its units are "
               "'percent', not 'unitless'");
    check_news(&(Layout){"reflectance", "V009", "unitless", "snow", true, false},
               "version V009 of EMIT L2A reflectance is not known, it is read as V002; it adds /snow; it "
               "lacks /location/lon, /location/lat, /location/elev, "
               "/state_variables/aerosol_optical_thickness, /state_variables/water_vapor");
    check_news(&(Layout){"radiance", "V009", "uW/cm^2/SR/nm", NULL, false, false},
               "version V009 of EMIT L1B radiance is not known, it is read as V002");
}

/* Masks with a new name, beside their scene and alone. */
static void new_masks_are_told(void **state) {
    (void)state;
    static const char *const words[] = {"Cloud Flag", "Smoke Flag", "H2O (g cm-2)"};
    static const char told[] = "masks that are not in the table of products: Smoke Flag";
    char path[600];
    HcReader *reader = NULL;
    HcError err = {0};
    snprintf(path, sizeof path, "%s", in_folder("EMIT_L2A_MASK_004_20260921T044051.nc"));
    ProductFile file = product_begin(path);
    const double table[4] = {0};
    product_emit_cube(&file, (ProductArray){.name = "mask",
                                            .size = {PRODUCT_LINES, PRODUCT_SAMPLES, BANDS},
                                            .values = product_cube("lsb", BANDS, 0)});
    product_words(&file, "/sensor_band_parameters", "mask_bands", "bands", words, BANDS);
    product_emit_lookup(&file, "glt_x", "ortho_y", 2, 2, table, NULL);
    product_emit_lookup(&file, "glt_y", "ortho_y", 2, 2, table, NULL);
    product_end(&file);
    check_news(&(Layout){"reflectance", "V002", "unitless", NULL, false, false}, told);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_string_equal(hc_reader_news(reader), told);
    hc_reader_close(reader);
    unlink(path);
}

/* A cube with another name is no product, and the reason is told: here GDAL does not open it either. */
static void a_known_instrument_is_told(void **state) {
    (void)state;
    check_refused(write_layout(&(Layout){"rho", "V009", NULL, NULL, false, true}), HC_E_INPUT,
                  "a file of EMIT, whose layout is not in the table of products; it holds /rho, ");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(known_layouts_are_silent),
        cmocka_unit_test(news_are_told),
        cmocka_unit_test(new_masks_are_told),
        cmocka_unit_test(a_known_instrument_is_told),
    };
    if (!can_make_products()) {
        return 77;
    }
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
