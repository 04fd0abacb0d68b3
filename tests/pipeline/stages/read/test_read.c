#include "core/operation/image/decode.h"
#include "tests/support/scene_files.h"
#include "tests/support/strict.h"

#include <gdal.h>
#include <gdal_utils.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 12, SAMPLES = 8, BANDS = 3 };

static HcRunReport report;
static const RunHow reported = {.report = &report};

/* Runs read with the options; returns how many pixels each reason left out, in `report`. */
static void read_with(const char *options) {
    report = (HcRunReport){0};
    check_runs(&reported, "read scene.img %s ! write out.img", options);
}

static void nodata_by_any_or_all_bands(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 1, true);
    for (int32_t b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 2, 3)[b] = 0;
    }
    cube_pixel(&cube, 4, 4)[1] = 0;
    cube_write(&cube, "scene", HC_INT16, "bil", "data ignore value = 0\n");
    read_with("");
    assert_int_equal(report.masked[HC_MASK_NODATA], 2);
    read_with("--nodata-rule all");
    assert_int_equal(report.masked[HC_MASK_NODATA], 1);
    read_with("--source-nodata none");
    assert_int_equal(report.masked[HC_MASK_NODATA], 0);
    double other = cube_pixel(&cube, 0, 0)[2];
    char options[64];
    snprintf(options, sizeof options, "--source-nodata %g --nodata-rule any", other);
    read_with(options);
    int64_t masked = report.masked[HC_MASK_NODATA];
    assert_true(masked >= 1 && masked <= LINES * SAMPLES);
    assert_int_equal(report.pixels, LINES * SAMPLES);
    cube_free(&cube);
}

/* By --nodata-rule all a band without any value says nothing: bands over water vapour that are NaN, or NaN
 * here and nodata there, are left out with a note, and pixels count by what is left. */
static void bands_without_values(void **state) {
    (void)state;
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    for (int i = 0; i < 3; i++) {
        Cube cube = cube_smooth(LINES, SAMPLES, BANDS + 2, 9, false);
        for (int32_t line = 0; line < LINES; line++) {
            for (int32_t sample = 0; sample < SAMPLES; sample++) {
                double *pixel = cube_pixel(&cube, line, sample);
                pixel[1] = NAN;
                pixel[3] = (line + sample) % 2 == 0 ? NAN : -9999;
                pixel[4] = line < LINES - 1 ? NAN : pixel[4]; /* a value in the last line */
            }
        }
        for (int32_t b = 0; b < BANDS + 2; b++) {
            cube_pixel(&cube, LINES - 1, 2)[b] = b == 1 ? (double)NAN : -9999;
        }
        cube_write(&cube, "scene", HC_FLOAT32, interleaves[i], "data ignore value = -9999\n");
        HcText notes = {0};
        RunHow how = {.report = &report, .notes = &notes};
        check_runs(&how, "read scene.img --nodata-rule all ! write out.img");
        check_says(notes.data, "2 of 5 bands ... no value ... left out");
        Cube out = cube_read_floats("out", LINES, SAMPLES, 3);
        check_near(cube_pixel(&out, LINES - 1, 3)[1], (float)cube_pixel(&cube, LINES - 1, 3)[2], 0);
        assert_int_equal(report.masked[HC_MASK_NODATA], 1);
        assert_int_equal(report.masked[HC_MASK_NAN], (LINES - 1) * SAMPLES); /* band 5 lacks a value there */
        cube_free(&out);
        check_runs(&how, "read scene.img --nodata-rule all ! bands 1-2 ! write out.img");
        hc_text_clear(&notes);
        cube_free(&cube);
    }
    Cube cube = cube_new(LINES, SAMPLES, 2);
    for (size_t v = 0; v < cube_pixels(&cube) * 2; v++) {
        cube.value[v] = v % 3 == 0 ? NAN : 7;
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", "data ignore value = 7\n");
    check_run_fails(NULL, HC_E_INPUT, "no band holds a value",
                    "read scene.img --nodata-rule all ! write o.img");
    cube_free(&cube);
}

/* One band of NaN leaves out every pixel by the usual rule: a note names the cure, beside the failure of a
 * stage that finds no pixel as well; and the cure works. One pixel that is left: no note. */
static void one_band_leaves_nothing(void **state) {
    (void)state;
    static const char note[] = "no pixel is left: 96 of 96 ... (--nodata-rule all";
    for (int left = 0; left < 2; left++) {
        Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 3, false);
        HcText notes = {0};
        RunHow how = {.report = &report, .notes = &notes};
        for (int32_t p = left; p < LINES * SAMPLES; p++) {
            cube_pixel(&cube, p / SAMPLES, p % SAMPLES)[1] = NAN;
        }
        cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
        check_runs(&how, "read scene.img ! write out.img");
        assert_int_equal(notes.data != NULL && check_holds(notes.data, note), left == 0);
        assert_int_equal(notes.data != NULL && strstr(notes.data, "no pixel is left") != NULL, left == 0);
        hc_text_clear(&notes);
        check_run_fails(&how, HC_E_NUMERIC, "valid pixel", "read scene.img ! pca ! write out.img");
        assert_int_equal(notes.data != NULL && check_holds(notes.data, note), left == 0);
        hc_text_clear(&notes);
        check_runs(&how, "read scene.img --nodata-rule all ! write out.img");
        assert_true(notes.data == NULL || strstr(notes.data, "no pixel is left") == NULL);
        hc_text_clear(&notes);
        assert_int_equal(report.masked[HC_MASK_NAN], left == 0 ? 0 : LINES * SAMPLES - 1);
        cube_free(&cube);
    }
}

/* More bands than a kernel turns at once, and the band that decides at any place: by rule all a pixel stays
 * where one band of 300 holds a value, and goes where none does; the same for each interleave and type. */
static void rule_all_of_many_bands(void **state) {
    (void)state;
    enum { MANY = 300 };
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    static const HcType types[] = {HC_UINT8, HC_INT16, HC_FLOAT32, HC_FLOAT64};
    for (int c = 0; c < 12; c++) {
        Cube cube = cube_new(LINES, SAMPLES, MANY);
        int64_t wanted = 0;
        for (int32_t p = 0; p < LINES * SAMPLES; p++) {
            int32_t only = p * 37 % (MANY + 40); /* from MANY on: no band holds a value */
            wanted += only >= MANY;
            for (int32_t b = 0; b < MANY; b++) {
                cube_pixel(&cube, p / SAMPLES, p % SAMPLES)[b] = b == only ? 100 : 7;
            }
        }
        /* A last pixel that is whole, so that no band lacks values everywhere. */
        for (int32_t b = 0; b < MANY; b++) {
            cube_pixel(&cube, LINES - 1, SAMPLES - 1)[b] = 50;
        }
        wanted -= (LINES * SAMPLES - 1) * 37 % (MANY + 40) >= MANY;
        cube_write(&cube, "scene", types[c % 4], interleaves[c / 4], "data ignore value = 7\n");
        read_with("--nodata-rule all");
        assert_int_equal(report.masked[HC_MASK_NODATA], wanted);
        assert_true(wanted > 0 && wanted < LINES * SAMPLES);
        read_with("--nodata-rule all --no-direct");
        assert_int_equal(report.masked[HC_MASK_NODATA], wanted);
        read_with("");
        assert_int_equal(report.masked[HC_MASK_NODATA], LINES * SAMPLES - 1);
        cube_free(&cube);
    }
}

/* Two scenes: one in which no data has the values -9999 and -50, and one in which it has -9999 alone. */
static void write_two(HcType type, const char *interleave) {
    Cube mixed = cube_smooth(LINES, SAMPLES, BANDS, 5, true);
    Cube plain = cube_smooth(LINES, SAMPLES, BANDS, 5, true);
    for (int32_t line = 0; line < LINES; line++) {
        for (int32_t sample = 0; sample < SAMPLES; sample++) {
            for (int32_t b = 0; b < BANDS; b++) {
                bool none = (line + sample) % 3 == 0 && (b < line % 4);
                bool whole = line == 2 && sample < 3;
                if (none || whole) {
                    cube_pixel(&plain, line, sample)[b] = -9999;
                    cube_pixel(&mixed, line, sample)[b] = (b + sample) % 2 == 0 ? -9999 : -50;
                }
            }
        }
    }
    cube_write(&mixed, "mixed", type, interleave, "data ignore value = 7\n");
    cube_write_swapped(&mixed, "swapped", type, interleave, "data ignore value = 7\n");
    cube_write(&plain, "plain", type, interleave, "data ignore value = 7\n");
    cube_free(&mixed);
    cube_free(&plain);
}

/* Several values mean no data: the output is that of the scene where they are one value, for each rule, type,
 * interleave, block size and way of reading. */
static void several_nodata_values(void **state) {
    (void)state;
    static const HcType types[] = {HC_INT16, HC_INT32, HC_FLOAT32, HC_FLOAT64};
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    static const char *const rules[] = {"any", "all"};
    static const char *const tails[] = {"", "! bands 1,3", "! mnf --noise shift"};
    for (size_t c = 0; c < 4 * 3 * 2 * 3; c++) {
        char tail[64], wanted[200];
        HcRunReport one = {0}, many = {0};
        RunHow first = {.report = &one};
        const char *rule = rules[c / 12 % 2];
        if (c >= 24 && c % 4 != 0 && c % 4 != 3) {
            continue;
        }
        write_two(types[c % 4], interleaves[c / 4 % 3]);
        snprintf(tail, sizeof tail, "%s ! write a.img", tails[c / 24]);
        check_runs(&first, "read plain.img --source-nodata -9999 --nodata-rule %s %s", rule, tail);
        snprintf(tail, sizeof tail, "%s ! write b.img", tails[c / 24]);
        for (int way = 0; way < 5; way++) {
            RunHow how = {.report = &many, .threads = 1 + way % 2, .settings.block_lines = way == 1 ? 3 : 0};
            how.ops = way == 4 ? hc_strict_ops() : NULL;
            snprintf(wanted, sizeof wanted, "read %s.img --source-nodata -9999,-50 --nodata-rule %s %s",
                     way == 3 ? "swapped" : "mixed", rule, way == 2 ? "--no-direct" : "");
            check_runs(&how, "%s %s", wanted, tail);
            check_same_files("a.img", "b.img");
            assert_int_equal(many.masked[HC_MASK_NODATA], one.masked[HC_MASK_NODATA]);
            assert_true(many.masked[HC_MASK_NODATA] > 0);
        }
    }
    read_with("--source-nodata 1e6,2e6"); /* int16 has neither */
    check_run_fails(NULL, HC_E_USAGE, "--source-nodata 1,x: not a list",
                    "read mixed.img --source-nodata 1,x ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "not a list", "read mixed.img --source-nodata 1, ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "unknown option; here: --source-nodata none",
                    "read mixed.img --ignore-nodata ! write o.img");
}

/* A band without data everywhere is found by any of the values. */
static void empty_bands_by_several_values(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 5, true);
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        cube.value[i * BANDS + 1] = i % 2 == 0 ? -9999 : -50;
    }
    cube_write(&cube, "scene", HC_INT16, "bil", NULL);
    read_with("--source-nodata -9999,-50 --nodata-rule all");
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS - 1);
    check_near(cube_pixel(&out, 3, 3)[1], cube_pixel(&cube, 3, 3)[2], 0);
    cube_free(&out);
    cube_free(&cube);
}

/* scene.vrt: the bands of scene.img, with these lines in the description of each. */
static void write_vrt(const Cube *cube, const char *const *of_band) {
    HcText text = {0};
    hc_text_add(&text, "<VRTDataset rasterXSize=\"%d\" rasterYSize=\"%d\">", cube->samples, cube->lines);
    for (int32_t b = 0; b < cube->bands; b++) {
        hc_text_add(&text,
                    "<VRTRasterBand dataType=\"Int16\" band=\"%d\">%s<SimpleSource><SourceFilename "
                    "relativeToVRT=\"1\">scene.img</SourceFilename><SourceBand>%d</SourceBand>"
                    "</SimpleSource></VRTRasterBand>",
                    b + 1, of_band[b], b + 1);
    }
    hc_text_add(&text, "</VRTDataset>");
    file_write("scene.vrt", text.data);
    hc_text_clear(&text);
}

/* Each band has its own nodata value, which is data in the others. */
static void nodata_of_each_band(void **state) {
    (void)state;
    static const char *const of_band[BANDS] = {"<NoDataValue>-1</NoDataValue>", "",
                                               "<NoDataValue>3</NoDataValue>"};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 6, true);
    for (int32_t b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 1, b)[b] = -1; /* no data in band 1 alone */
        cube_pixel(&cube, 2, b)[b] = 3;  /* no data in band 3 alone */
        cube_pixel(&cube, 3, 1)[b] = b == 2 ? 3 : -1;
    }
    cube_write(&cube, "scene", HC_INT16, "bip", NULL);
    write_vrt(&cube, of_band);
    HcText notes = {0};
    RunHow how = {.report = &report, .notes = &notes};
    check_runs(&how, "read scene.vrt ! write out.img");
    check_says(notes.data, "nodata differs ... -1 in band 1, nan in band 2");
    hc_text_clear(&notes);
    assert_int_equal(report.masked[HC_MASK_NODATA], 3); /* (1,0) of band 1, (2,2) of band 3, (3,1) */
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    check_near(cube_pixel(&out, 1, 0)[2], -1, 0); /* masked: nodata of the scene */
    check_near(cube_pixel(&out, 2, 0)[0], 3, 0);  /* data */
    check_near(cube_pixel(&out, 2, 2)[0], -1, 0);
    cube_free(&out);
    check_runs(&how, "read scene.vrt --nodata-rule all ! write out.img");
    assert_int_equal(report.masked[HC_MASK_NODATA], 0);
    check_runs(&how, "read scene.vrt --source-nodata none ! write out.img");
    assert_int_equal(report.masked[HC_MASK_NODATA], 0);
    check_runs(&how, "read scene.vrt --source-nodata -1 ! write out.img"); /* in every band */
    assert_int_equal(report.masked[HC_MASK_NODATA], 4);
    hc_text_clear(&notes);
    cube_free(&cube);
}

/* Scale and offset of the file, kept and applied; nodata is told by stored values. */
static void scale_and_offset(void **state) {
    (void)state;
    static const double gain[BANDS] = {0.5, 0.001, 2}, offset[BANDS] = {0, -0.25, 100};
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 8, true);
    cube_pixel(&cube, 4, 2)[1] = -9999;
    for (int i = 0; i < 3; i++) {
        cube_write(&cube, "scene", HC_INT16, interleaves[i],
                   "data ignore value = -9999\ndata gain values = {0.5, 0.001, 2}\n"
                   "data offset values = {0, -0.25, 100}\n");
        read_with("");
        check_runs(NULL, "read scene.img --source-scale keep ! write kept.img");
        check_same_files("out.img", "kept.img");
        assert_true(file_holds("out.hdr", "data gain values"));
        Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
        check_near(cube_pixel(&out, 3, 3)[1], cube_pixel(&cube, 3, 3)[1], 0);
        cube_free(&out);
        read_with("--source-scale apply");
        assert_int_equal(report.masked[HC_MASK_NODATA], 1);
        assert_false(file_holds("out.hdr", "data gain values"));
        out = cube_read_floats("out", LINES, SAMPLES, BANDS);
        for (int32_t line = 0; line < LINES; line++) {
            for (int32_t b = 0; b < BANDS; b++) {
                double wanted = line == 4 ? -9999 : gain[b] * cube_pixel(&cube, line, 2)[b] + offset[b];
                check_near(cube_pixel(&out, line, 2)[b], (float)wanted, 0);
            }
        }
        cube_free(&out);
        read_with("--source-scale apply ! mnf --dark scene.img --singular drop");
    }
    cube_write(&cube, "scene", HC_INT16, "bil", "reflectance scale factor = 10000\n");
    read_with("--source-scale apply");
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    check_near(cube_pixel(&out, 0, 2)[1], (float)(cube_pixel(&cube, 0, 2)[1] * (1 / 1e4)), 0);
    cube_free(&out);
    cube_free(&cube);
}

/* As gdal_translate -unscale: what GDAL gives for a raster with scales is what hcube gives. */
static void scale_as_gdal(void **state) {
    (void)state;
    static const double gain[BANDS] = {0.0001, 1, 0.25}, offset[BANDS] = {-0.1, 0, 5};
    float values[LINES * SAMPLES];
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 8, true);
    GDALDatasetH made =
        GDALCreate(GDALGetDriverByName("GTiff"), "scene.tif", SAMPLES, LINES, BANDS, GDT_UInt16, NULL);
    for (int32_t b = 0; b < BANDS; b++) {
        GDALRasterBandH band = GDALGetRasterBand(made, b + 1);
        for (size_t i = 0; i < cube_pixels(&cube); i++) {
            values[i] = (float)cube.value[i * BANDS + (size_t)b];
        }
        GDALSetRasterScale(band, gain[b]);
        GDALSetRasterOffset(band, offset[b]);
        assert_int_equal(
            GDALRasterIO(band, GF_Write, 0, 0, SAMPLES, LINES, values, SAMPLES, LINES, GDT_Float32, 0, 0),
            CE_None);
    }
    GDALClose(made);
    check_runs(NULL, "read scene.tif --source-scale apply ! write out.tif");
    char *words[] = {"-unscale", "-ot", "Float32", "-of", "MEM", NULL};
    GDALTranslateOptions *how = GDALTranslateOptionsNew(words, NULL);
    GDALDatasetH source = GDALOpen("scene.tif", GA_ReadOnly), out = GDALOpen("out.tif", GA_ReadOnly);
    GDALDatasetH unscaled = GDALTranslate("", source, how, NULL);
    assert_non_null(unscaled);
    for (int32_t b = 0; b < BANDS; b++) {
        float wanted[LINES * SAMPLES];
        int has = 0;
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(unscaled, b + 1), GF_Read, 0, 0, SAMPLES, LINES,
                                      wanted, SAMPLES, LINES, GDT_Float32, 0, 0),
                         CE_None);
        assert_int_equal(GDALRasterIO(GDALGetRasterBand(out, b + 1), GF_Read, 0, 0, SAMPLES, LINES, values,
                                      SAMPLES, LINES, GDT_Float32, 0, 0),
                         CE_None);
        assert_true(GDALGetRasterScale(GDALGetRasterBand(out, b + 1), &has) == 1);
        for (int i = 0; i < LINES * SAMPLES; i++) {
            check_near(values[i], wanted[i], 1e-6 * fabs((double)wanted[i]) + 1e-7);
        }
    }
    GDALClose(unscaled);
    GDALClose(out);
    GDALClose(source);
    GDALTranslateOptionsFree(how);
    cube_free(&cube);
}

/* The ends of 64-bit integers are no doubles, and nodata all the same. */
static void nodata_at_the_ends_of_integers(void **state) {
    (void)state;
    static const struct {
        int type;
        uint64_t bits;
        const char *text;
    } ends[] = {{14, (uint64_t)INT64_MIN, "-9223372036854775808"},
                {14, (uint64_t)INT64_MAX, "9223372036854775807"},
                {15, UINT64_MAX, "18446744073709551615"}};
    for (int e = 0; e < 3; e++) {
        uint64_t value[40];
        for (uint64_t i = 0; i < 40; i++) {
            value[i] = i % 8 == 0 ? ends[e].bits : i;
        }
        FILE *file = fopen("ends.img", "wb");
        assert_non_null(file);
        assert_int_equal(fwrite(value, sizeof value, 1, file), 1);
        assert_int_equal(fclose(file), 0);
        file = fopen("ends.hdr", "w");
        assert_non_null(file);
        fprintf(file,
                "ENVI\nsamples = 8\nlines = 5\nbands = 1\ndata type = %d\ninterleave = bsq\nbyte order = 0\n"
                "data ignore value = %s\n",
                ends[e].type, ends[e].text);
        assert_int_equal(fclose(file), 0);
        report = (HcRunReport){0};
        check_runs(&reported, "read ends.img ! write out.img");
        assert_int_equal(report.masked[HC_MASK_NODATA], 5);
    }
}

static void nan_and_user_masks(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 2, false);
    cube_pixel(&cube, 1, 1)[2] = NAN;
    cube_pixel(&cube, 7, 0)[0] = INFINITY;
    cube_write(&cube, "scene", HC_FLOAT32, "bip", NULL);
    Cube mask = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&mask); i++) {
        mask.value[i] = i >= SAMPLES; /* the first line is left out */
    }
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    read_with("--mask mask.hdr");
    assert_int_equal(report.masked[HC_MASK_USER], SAMPLES);
    assert_int_equal(report.masked[HC_MASK_NAN], 2);
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    for (int32_t s = 0; s < SAMPLES; s++) {
        assert_true(isnan(cube_pixel(&out, 0, s)[0]));
    }
    /* A pixel that is masked for one band is masked in all. */
    assert_true(isnan(cube_pixel(&out, 1, 1)[0]));
    check_near(cube_pixel(&out, 5, 5)[1], (float)cube_pixel(&cube, 5, 5)[1], 0);
    cube_free(&out);
    cube_free(&mask);
    cube_free(&cube);
}

static void bad_bands_are_left_out(void **state) {
    (void)state;
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 3, true);
    cube_write(&cube, "scene", HC_UINT16, "bsq", "bbl = {1, 0, 1}\n");
    read_with("");
    Cube out = cube_read_floats("out", LINES, SAMPLES, 2);
    check_near(cube_pixel(&out, 3, 3)[1], cube_pixel(&cube, 3, 3)[2], 0);
    cube_free(&out);
    read_with("--all-bands");
    out = cube_read_floats("out", LINES, SAMPLES, 3);
    check_near(cube_pixel(&out, 3, 3)[1], cube_pixel(&cube, 3, 3)[1], 0);
    cube_free(&out);
    cube_write(&cube, "scene", HC_UINT16, "bsq", "bbl = {0, 0, 0}\n");
    check_run_fails(NULL, HC_E_INPUT, "marks all 3 bands as bad", "read scene.img ! write o.img");
    cube_free(&cube);
}

/* Every way of reading gives the same file: mapped, copied, through GDAL, with few threads or blocks of any
 * size. */
static void every_way_is_the_same(void **state) {
    (void)state;
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 4, true);
    for (int i = 0; i < 3; i++) {
        cube_write(&cube, "scene", HC_INT16, interleaves[i], "bbl = {1, 0, 1}\n");
        check_runs(NULL, "read scene.img ! write a.img");
        for (int32_t lines = 1; lines <= LINES; lines += 4) {
            RunHow how = {.settings = {.block_lines = lines}};
            check_runs(&how, "read scene.img ! write b.img");
            check_same_files("a.img", "b.img");
            check_runs(&how, "read scene.img --no-direct --read-threads 1 ! write b.img");
            check_same_files("a.img", "b.img");
        }
    }
    cube_free(&cube);
}

/* The note on a border of zeros when scene.img is read so; "" = there is none. To be freed. */
static char *border_note(RunHow how, const char *step) {
    HcText notes = {0};
    how.notes = &notes;
    check_runs(&how, "read scene.img %s ! write out.img", step);
    const char *at = notes.data != NULL ? strstr(notes.data, "at the border") : NULL;
    char *found = strdup(at != NULL ? notes.data : "");
    assert_non_null(found);
    hc_text_clear(&notes);
    return found;
}

static void check_border(RunHow how, const char *step, int32_t pixels) {
    char wanted[100] = "";
    char *note = border_note(how, step);
    if (pixels > 0) {
        snprintf(wanted, sizeof wanted, "%d of %d pixels are 0 in all %d bands, at the border", pixels,
                 LINES * SAMPLES, BANDS);
    }
    if (pixels > 0 ? strstr(note, wanted) == NULL : *note != '\0') {
        fail_msg("read scene.img %s: \"%s\" (wanted: \"%s\")", step, note, wanted);
    }
    free(note);
}

/* A border of zeros counts as data where nothing says otherwise: how large it is, in every form of file, for
 * every block, and what masks it. */
static void a_border_of_zeros_is_told(void **state) {
    (void)state;
    static const char *const interleaves[] = {"bsq", "bil", "bip"};
    static const HcType types[] = {HC_UINT8, HC_INT16, HC_FLOAT32, HC_FLOAT64};
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 6, true);
    Cube mask = cube_new(LINES, SAMPLES, 1);
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        cube.value[i] = 1 + fmod(cube.value[i], 200);
    }
    for (int32_t b = 0; b < BANDS; b++) {
        cube_pixel(&cube, 5, 4)[b] = 0; /* inside: no border */
    }
    cube_pixel(&cube, 6, 0)[1] = cube_pixel(&cube, 6, 0)[2] = 0; /* not in all bands */
    for (size_t i = 0; i < cube_pixels(&mask); i++) {
        mask.value[i] = 1;
    }
    cube_write(&cube, "scene", HC_INT16, "bil", NULL);
    check_border((RunHow){0}, "", 0);
    cube_border(&cube, 0);
    int32_t border = 0;
    for (size_t i = 0; i < cube_pixels(&cube); i++) {
        border += !cube.valid[i];
        mask.value[i] = cube.valid[i];
    }
    cube_write(&mask, "mask", HC_UINT8, "bsq", NULL);
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int i = 0; i < 3; i++) {
            cube_write(&cube, "scene", types[t], interleaves[i], NULL);
            for (int32_t lines = 0; lines <= 5; lines += 5) {
                RunHow how = {.settings.block_lines = lines};
                check_border(how, "", border);
                check_border(how, "--no-direct", border);
                check_border(how, "! mnf --noise shift", border); /* two passes, a halo: each pixel once */
                check_border(how, "--mask mask.img", 0);
            }
        }
    }
    check_border((RunHow){0}, "--source-nodata 0 --nodata-rule all", 0);
    check_border((RunHow){0}, "--source-nodata none", 0);
    char *note = border_note((RunHow){0}, "");
    check_says(note, "count as data (--source-nodata 0 --nodata-rule all");
    free(note);
    /* A nodata value of its own would no longer hold. */
    cube_write(&cube, "scene", HC_INT16, "bil", "data ignore value = -1\n");
    note = border_note((RunHow){0}, "");
    check_says(note, "count as data (--mask FILE");
    free(note);
    cube_write(&cube, "scene", HC_INT16, "bil", "data ignore value = 0\n");
    check_border((RunHow){0}, "", 0);
    /* Only the bands that are read count. */
    cube_pixel(&cube, 3, 1)[1] = 7;
    cube_write(&cube, "scene", HC_INT16, "bip", "bbl = {1, 0, 1}\n");
    check_border((RunHow){0}, "--all-bands", border - 1);
    char wanted[60];
    snprintf(wanted, sizeof wanted, "%d of %d pixels are 0 in all 2 bands", border, LINES * SAMPLES);
    note = border_note((RunHow){0}, "");
    assert_non_null(strstr(note, wanted));
    free(note);
    cube_free(&mask);
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nodata_by_any_or_all_bands),
        cmocka_unit_test(nodata_at_the_ends_of_integers),
        cmocka_unit_test(nan_and_user_masks),
        cmocka_unit_test(bad_bands_are_left_out),
        cmocka_unit_test(every_way_is_the_same),
        cmocka_unit_test(bands_without_values),
        cmocka_unit_test(one_band_leaves_nothing),
        cmocka_unit_test(rule_all_of_many_bands),
        cmocka_unit_test(a_border_of_zeros_is_told),
        cmocka_unit_test(several_nodata_values),
        cmocka_unit_test(empty_bands_by_several_values),
        cmocka_unit_test(nodata_of_each_band),
        cmocka_unit_test(scale_and_offset),
        cmocka_unit_test(scale_as_gdal),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
