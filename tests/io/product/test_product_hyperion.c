/* EO-1 Hyperion: a GeoTIFF for each band and a text beside them. Values, wavelengths, scales and place; what
 * is missing or does not fit is told. */
#include "product_check.h"

#include <unistd.h>

enum { USED = 198, PIXELS = PRODUCT_LINES * PRODUCT_SAMPLES };

typedef enum Flaw {
    FLAW_NONE,
    FLAW_NO_BAND,
    FLAW_SIZE,
    FLAW_TWO_BANDS,
    FLAW_CUT,
    FLAW_NO_SCALE,
    FLAW_ZERO
} Flaw;

/* What band `number` (from 1) of the product holds. */
static int16_t stored_of(int number, int pixel) {
    return (int16_t)(number * 100 + pixel);
}

static void write_band(const char *path, int number, int lines, int bands) {
    static const double transform[6] = {500000, 30, 0, 4100000, 0, -30};
    GDALDatasetH dataset =
        GDALCreate(GDALGetDriverByName("GTiff"), path, PRODUCT_SAMPLES, lines, bands, GDT_Int16, NULL);
    int16_t values[PIXELS];
    assert_non_null(dataset);
    for (int p = 0; p < PIXELS; p++) {
        values[p] = stored_of(number, p);
    }
    GDALSetGeoTransform(dataset, (double *)(uintptr_t)transform);
    GDALSetProjection(dataset, "EPSG:32611");
    for (int b = 1; b <= bands; b++) {
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(dataset, b), GF_Write, 0, 0, PRODUCT_SAMPLES, lines,
                                      values, PRODUCT_SAMPLES, lines, GDT_Int16, 0, 0),
                         CE_None);
    }
    GDALClose(dataset);
}

/* The text; the flaw is that of band 100, or of the text. */
static const char *write_hyperion(Flaw flaw) {
    static const char *const scales[] = {
        [FLAW_NO_SCALE] = "    SCALING_FACTOR_VNIR = 40.000000\n",
        [FLAW_ZERO] = "    SCALING_FACTOR_VNIR = 40.000000\n    SCALING_FACTOR_SWIR = 0.0\n"};
    static const char usual[] = "    SCALING_FACTOR_VNIR = 40.000000\n    SCALING_FACTOR_SWIR = 80.000000\n";
    char name[80], text[400];
    static bool made[225];
    for (int number = 8; number <= 224; number = number == 57 ? 77 : number + 1) {
        snprintf(name, sizeof name, "EO1H0410342005105110KF_B%03d_L1T.TIF", number);
        if (number == 100 || !made[number]) {
            write_band(in_folder(name), number, PRODUCT_LINES - (number == 100 && flaw == FLAW_SIZE),
                       1 + (number == 100 && flaw == FLAW_TWO_BANDS));
            made[number] = true;
        }
    }
    const char *flawed = in_folder("EO1H0410342005105110KF_B100_L1T.TIF");
    if (flaw == FLAW_NO_BAND) {
        unlink(flawed);
    } else if (flaw == FLAW_CUT) {
        assert_int_equal(truncate(flawed, 60), 0);
    }
    const char *scale = flaw >= FLAW_NO_SCALE ? scales[flaw] : usual;
    snprintf(
        text, sizeof text,
        "GROUP = L1_METADATA_FILE\n  GROUP = PRODUCT_METADATA\n    SENSOR_ID = \"HYPERION\"\n  END_GROUP "
        "= PRODUCT_METADATA\n  GROUP = RADIANCE_SCALING\n%s  END_GROUP = RADIANCE_SCALING\nEND\n",
        scale);
    const char *path = in_folder("EO1H0410342005105110KF_MTL_L1T.TXT");
    put_file(path, text);
    return path;
}

/* Bands by ascending wavelength: those of SWIR from 912.45 nm on alternate with the last ones of VNIR. */
static int number_at(int band) {
    static const int between[] = {55, 77, 56, 78, 57, 79};
    return band < 47 ? 8 + band : band < 53 ? between[band - 47] : band - 53 + 80;
}

static void check_pixels(const char *path, int32_t step) {
    HcReader *reader = NULL;
    HcError err = {0};
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    int32_t *bands = all_bands(reader);
    char *all = read_all(reader, step, bands, USED, &err);
    if (all == NULL) {
        fail_msg("%s", err.text);
    }
    for (int b = 0; b < USED; b++) {
        for (int p = 0; p < PIXELS; p++) {
            check_near(value_at(all, HC_INT16, (int64_t)b * PIXELS + p), stored_of(number_at(b), p), 0);
        }
    }
    free(all);
    free(bands);
    hc_reader_close(reader);
}

static void hyperion_opens(void **state) {
    (void)state;
    HcReader *reader = NULL;
    HcError err = {0};
    const char *path = write_hyperion(FLAW_NONE);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    const HcScene *scene = hc_reader_scene(reader);
    assert_string_equal(hc_reader_product(reader), "EO-1 Hyperion radiance (W/m^2/sr/um)");
    assert_int_equal(scene->bands, USED);
    assert_int_equal(scene->type, HC_INT16);
    /* Band 8, the bands that both detectors see, and band 224, as the user's guide of the sensor lists them.
     */
    static const int at[] = {0, 47, 48, 49, 50, 51, 52, 53, 197};
    static const double wanted[] = {426.82, 905.05, 912.45, 915.23, 922.54, 925.41, 932.64, 942.73, 2395.50};
    for (int i = 0; i < 9; i++) {
        bool is_vnir = number_at(at[i]) < 71;
        check_near(scene->wavelength[at[i]], wanted[i], 1e-9);
        check_near(scene->gain[at[i]], is_vnir ? 1 / 40.0 : 1 / 80.0, 0);
        assert_int_equal(scene->bad[at[i]], i == 3 || i == 5);
    }
    check_near(scene->fwhm[0], 11.3871, 1e-9);
    check_near(scene->fwhm[197], 10.4077, 1e-9);
    check_transform(scene, (double[]){500000, 30, 0, 4100000, 0, -30}, "UTM zone 11N");
    check_says(hc_reader_note(reader), "1-7, 58-76 and 225-242 ... 2 VNIR bands there count as bad");
    hc_reader_close(reader);
    check_pixels(path, PRODUCT_LINES);
    check_pixels(path, 2);
    check_pixels(folder, 3);
}

static void flaws_are_told(void **state) {
    (void)state;
    check_refused(write_hyperion(FLAW_NO_SCALE), HC_E_INPUT, "SCALING_FACTOR_SWIR is missing");
    check_refused(write_hyperion(FLAW_ZERO), HC_E_INPUT,
                  "SCALING_FACTOR_SWIR is missing, or no number above 0");
    put_file(in_folder("EO1H0410342005105110KF_MTL_L1T.TXT"),
             "SCALING_FACTOR_VNIR = 40.0\nSCALING_FACTOR_SWIR = 8");
    check_refused(in_folder("EO1H0410342005105110KF_MTL_L1T.TXT"), HC_E_INPUT,
                  "SCALING_FACTOR_SWIR is missing");
    static const struct {
        Flaw flaw;
        const char *text;
    } of_band[] = {{FLAW_NO_BAND, "_B100_L1T.TIF: there is no such raster"},
                   {FLAW_SIZE, "_B100_L1T.TIF: the band has 4 lines x 6 samples"},
                   {FLAW_TWO_BANDS, "_B100_L1T.TIF: has 2 bands, and not one"},
                   {FLAW_CUT, "_B100_L1T.TIF"}};
    for (int f = 0; f < 4; f++) {
        HcReader *reader = NULL;
        HcError err = {0};
        HcStatus status = hc_reader_open(&reader, write_hyperion(of_band[f].flaw), NULL, &err);
        if (status != HC_E_INPUT || !check_holds(err.text, of_band[f].text)) {
            fail_msg("status %d, '%s' lacks '%s'", (int)status, err.text, of_band[f].text);
        }
        assert_null(reader);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hyperion_opens),
        cmocka_unit_test(flaws_are_told),
    };
    GDALAllRegister();
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
