/* The writer: what it writes comes back through GDAL, in every type, interleave and format. */
#include "io/libraries.h"
#include "io/read/reader.h"
#include "write_fixture.h"

static const char *const interleaves[] = {"bsq", "bil", "bip"};

static void envi_types_and_interleaves(void **state) {
    (void)state;
    HcScene scene = plain_scene(37, 29, 5);
    HcError err = {0};
    for (int t = 0; t < HC_TYPE_COUNT; t++) {
        for (int i = 0; i < 9; i++) {
            HcWriterOptions options = {.has_type = true,
                                       .type = (HcType)t,
                                       .interleave = interleaves[i % 3],
                                       .overwrite = true,
                                       .threads = 1 + i / 3 * 4};
            bool wide = t == HC_INT64 || t == HC_UINT64; /* by the version of GDAL */
            if (t == HC_INT8 ||
                (wide && hc_writer_check(in_folder("a.img"), &scene, &options, NULL) != HC_OK)) {
                check_fails(write_scene(in_folder("a.img"), &scene, &options, &err), HC_E_UNSUPPORTED, err);
                continue;
            }
            check_ok(write_scene(in_folder("a.img"), &scene, &options, &err), err);
            check_values(in_folder("a.img"), &scene, (HcType)t);
        }
    }
    assert_int_equal(folder_entries(folder), 2);
}

/* Several stages full. */
static void envi_by_threads(void **state) {
    (void)state;
    HcScene scene = plain_scene(1087, 614, 5);
    HcError err = {0};
    for (int i = 0; i < 3; i++) {
        HcWriterOptions options = {.interleave = interleaves[i], .overwrite = true, .threads = 8 + 4 * i};
        check_ok(write_scene(in_folder("a.img"), &scene, &options, &err), err);
        check_values(in_folder("a.img"), &scene, HC_FLOAT32);
    }
}

/* Files that are in work at once have fewer threads each, and less memory on their way. */
static void threads_of_a_file(void **state) {
    (void)state;
    HcScene scene = plain_scene(2000, 600, 20);
    HcError err = {0};
    HcWriterOptions sixteen = {.threads = 16}, all = {.threads = 256};
    HcWriterNeeds needs[3];
    int32_t before = hc_io_threads(0);
    assert_in_range(before, 1, HC_IO_THREADS);
    hc_io_limit_threads(1);
    assert_int_equal(hc_io_threads(0), 1);
    assert_int_equal(hc_io_threads(40), 40);
    check_ok(hc_writer_needs(in_folder("a.img"), &scene, NULL, &needs[0], &err), err);
    check_ok(hc_writer_needs(in_folder("a.img"), &scene, &sixteen, &needs[1], &err), err);
    check_ok(hc_writer_needs(in_folder("a.img"), &scene, &all, &needs[2], &err), err);
    assert_int_equal(needs[0].memory, (2 << 20) / 48000 * 48000);
    assert_int_equal(needs[1].memory, (8 << 20) / 48000 * 48000);
    assert_int_equal(needs[2].memory, needs[1].memory);
    check_ok(write_scene(in_folder("a.img"), &scene, NULL, &err), err);
    HcReader *reader = NULL;
    check_ok(hc_reader_open(&reader, in_folder("a.img"), NULL, &err), err);
    assert_int_equal(hc_reader_threads(reader, false), 1);
    assert_in_range(hc_reader_threads(reader, true), before, 24);
    hc_reader_close(reader);
    hc_io_limit_threads(HC_IO_THREADS);
    assert_int_equal(hc_io_threads(0), before);
}

static void tiff_types(void **state) {
    (void)state;
    HcScene scene = plain_scene(37, 29, 5);
    HcError err = {0};
    static const char *const compressions[] = {"none", "deflate", "zstd", "lzw"};
    for (int t = 0; t < HC_TYPE_COUNT; t++) {
        for (int c = 0; c < 4 && t != HC_INT8; c++) {
            HcWriterOptions options = {.has_type = true,
                                       .type = (HcType)t,
                                       .interleave = c % 2 == 0 ? "bsq" : "bip",
                                       .compress = compressions[c],
                                       .overwrite = true};
            check_ok(write_scene(in_folder("a.tif"), &scene, &options, &err), err);
            check_values(in_folder("a.tif"), &scene, (HcType)t);
        }
    }
    assert_int_equal(folder_entries(folder), 1);
}

/* Several rows and columns of tiles, none of which ends where the scene does. */
static void tiff_many_tiles(void **state) {
    (void)state;
    HcScene scene = plain_scene(1087, 614, 3);
    HcError err = {0};
    check_ok(write_scene(in_folder("a.tif"), &scene, NULL, &err), err);
    check_values(in_folder("a.tif"), &scene, HC_FLOAT32);
    static const char *const strips[] = {"TILED=NO", "BLOCKYSIZE=5", "COMPRESS=LZW", NULL};
    HcWriterOptions options = {.creation_options = strips, .interleave = "bsq"};
    check_ok(write_scene(in_folder("b.tif"), &scene, &options, &err), err);
    check_values(in_folder("b.tif"), &scene, HC_FLOAT32);
}

static void envi_large(void **state) {
    (void)state;
    HcScene scene = plain_scene(611, 1043, 4); /* more than one stage */
    HcError err = {0};
    for (int i = 0; i < 3; i++) {
        HcWriterOptions options = {.interleave = interleaves[i], .overwrite = true};
        check_ok(write_scene(in_folder("a.dat"), &scene, &options, &err), err);
        check_values(in_folder("a.dat"), &scene, HC_FLOAT32);
    }
}

/* GDAL's cache holds a block of each of very many bands, else writing takes time by the square of them. */
static void tiff_of_many_bands(void **state) {
    (void)state;
    enum { MANY = 20000 };
    HcScene scene = plain_scene(3, 2, MANY);
    HcError err = {0};
    GDALSetCacheMax64(1 << 20);
    HcWriter *writer = NULL;
    check_ok(hc_writer_open(&writer, in_folder("many.tif"), &scene, NULL, &err), err);
    hc_io_limit_cache(1 << 20); /* as the scene is opened for reading once more */
    assert_true(GDALGetCacheMax64() > (GIntBig)MANY * 512);
    check_ok(write_lines(writer, &scene, 0, scene.lines, &err), err);
    check_ok(hc_writer_finish(writer, &err), err);
    hc_writer_close(writer);
    hc_io_limit_cache(1 << 20);
    assert_int_equal(GDALGetCacheMax64(), 1 << 20);
    /* Tiles stay so small that the cache holds them where they do not divide the scene. */
    HcScene wider = plain_scene(20, 20, 65000);
    check_ok(hc_writer_open(&writer, in_folder("wider.tif"), &wider, NULL, &err), err);
    assert_true(GDALGetCacheMax64() > (GIntBig)wider.bands * 16 * 16 * (GIntBig)sizeof(float));
    hc_writer_close(writer);
    HcWriterNeeds needs;
    HcWriterOptions again = {.overwrite = true};
    check_ok(hc_writer_needs(in_folder("many.tif"), &scene, &again, &needs, &err), err);
    assert_true(needs.memory > (size_t)MANY * 512);
    GDALDatasetH dataset = GDALOpen(in_folder("many.tif"), GA_ReadOnly);
    assert_int_equal(GDALGetRasterCount(dataset), MANY);
    double wanted = is_masked(1, 1) || is_nan_value(1, 1, MANY - 1) ? NAN : (double)value_of(1, 1, MANY - 1);
    check_same(read_value(GDALGetRasterBand(dataset, MANY), 1, 1), wanted);
    GDALClose(dataset);
    GDALSetCacheMax64(64 << 20);
}

static void one_pixel(void **state) {
    (void)state;
    HcScene scene = plain_scene(1, 1, 1);
    HcError err = {0};
    static const char *const names[] = {"a.img", "b.tif", "c.tif"};
    static const char *const formats[] = {"ENVI", "GTiff", "COG"};
    for (int i = 0; i < 3; i++) {
        HcWriterOptions options = {.format = formats[i]};
        check_ok(write_scene(in_folder(names[i]), &scene, &options, &err), err);
        check_values(in_folder(names[i]), &scene, HC_FLOAT32);
    }
}

static void other_formats(void **state) {
    (void)state;
    static const struct {
        const char *format, *name;
        HcType type;
        int32_t bands;
    } cases[] = {
        {"COG", "a.tif", HC_FLOAT32, 5}, {"COG", "b.tif", HC_UINT16, 2}, {"COG", "c.tif", HC_INT64, 1},
        {"PNG", "d.png", HC_UINT8, 3},   {"PNG", "e.png", HC_UINT16, 1}, {"HFA", "f.img", HC_FLOAT32, 4},
        {"ERS", "g.ers", HC_FLOAT32, 2}, {"PDS4", "h.xml", HC_INT16, 3}, {"RST", "i.rst", HC_INT16, 1},
        {"ISIS3", "k.cub", HC_INT16, 2},
    };
    HcScene scene = plain_scene(60, 70, 1);
    HcError err = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        HcWriterOptions options = {.format = cases[i].format, .has_type = true, .type = cases[i].type};
        if (GDALGetDriverByName(cases[i].format) == NULL) {
            continue;
        }
        scene.bands = cases[i].bands;
        check_ok(write_scene(in_folder(cases[i].name), &scene, &options, &err), err);
        check_values(in_folder(cases[i].name), &scene, cases[i].type);
    }
}

/* ---- what a scene says ---- */

/* `own`: in our own words and in GDAL's; ENVI has others, and the COG driver drops GDAL's. */
static void check_band_facts(GDALDatasetH dataset, const HcScene *scene, bool own, bool gdal) {
    for (int32_t b = 0; b < scene->bands; b++) {
        GDALRasterBandH band = GDALGetRasterBand(dataset, b + 1);
        const char *wavelength = GDALGetMetadataItem(band, "wavelength", NULL);
        assert_non_null(wavelength);
        check_same(CPLAtof(wavelength), scene->wavelength[b]);
        if (own) {
            check_same(CPLAtof(GDALGetMetadataItem(band, "fwhm", NULL)), scene->fwhm[b]);
            assert_string_equal(GDALGetMetadataItem(band, "wavelength_units", NULL), "nm");
        }
        if (own) {
            char label[80];
            snprintf(label, sizeof label, "%s (%g nm)", scene->band_name[b],
                     round(scene->wavelength[b] * 10) / 10);
            assert_string_equal(GDALGetDescription(band), label);
        }
        if (gdal) {
            check_near(CPLAtof(GDALGetMetadataItem(band, "CENTRAL_WAVELENGTH_UM", "IMAGERY")),
                       scene->wavelength[b] / 1000, 1e-15);
            check_near(CPLAtof(GDALGetMetadataItem(band, "FWHM_UM", "IMAGERY")), scene->fwhm[b] / 1000,
                       1e-15);
        }
        assert_non_null(strstr(GDALGetDescription(band), scene->band_name[b]));
        check_same(GDALGetRasterScale(band, NULL), scene->gain[b]);
        check_same(GDALGetRasterOffset(band, NULL), scene->offset[b]);
        check_same(nodata_of(band), -9999);
    }
}

static void tiff_says_all(void **state) {
    (void)state;
    HcScene scene = rich_scene();
    HcError err = {0};
    for (int cog = 0; cog < 2; cog++) {
        HcWriterOptions options = {.format = cog ? "COG" : "GTiff", .overwrite = true};
        check_ok(write_scene(in_folder("a.tif"), &scene, &options, &err), err);
        assert_int_equal(folder_entries(folder), 1); /* all within the file */
        check_values(in_folder("a.tif"), &scene, HC_FLOAT32);
        GDALDatasetH dataset = GDALOpen(in_folder("a.tif"), GA_ReadOnly);
        check_utm_place(dataset, &scene);
        check_band_facts(dataset, &scene, true, cog == 0);
        assert_string_equal(GDALGetMetadataItem(dataset, "TIFFTAG_IMAGEDESCRIPTION", NULL), "a scene");
        assert_string_equal(GDALGetMetadataItem(GDALGetRasterBand(dataset, 3), "bbl", NULL), "0");
        assert_int_equal(GDALGetRasterColorInterpretation(GDALGetRasterBand(dataset, 4)), GCI_RedBand);
        GDALClose(dataset);
    }
    hc_scene_clear(&scene);
}

static void envi_says_all(void **state) {
    (void)state;
    HcScene scene = rich_scene();
    HcError err = {0};
    check_ok(write_scene(in_folder("a.hdr"), &scene, NULL, &err), err);
    check_values(in_folder("a.img"), &scene, HC_FLOAT32);
    GDALDatasetH dataset = GDALOpen(in_folder("a.img"), GA_ReadOnly);
    check_utm_place(dataset, &scene);
    check_band_facts(dataset, &scene, false, false);
    assert_string_equal(GDALGetMetadataItem(dataset, "wavelength_units", "ENVI"), "Nanometers");
    assert_string_equal(GDALGetMetadataItem(dataset, "default_bands", "ENVI"), "{4, 2, 1}");
    assert_string_equal(GDALGetMetadataItem(dataset, "description", "ENVI"), "{a scene}");
    assert_non_null(strstr(GDALGetMetadataItem(dataset, "bbl", "ENVI"), "1, 1, 0, 1"));
    assert_non_null(strstr(GDALGetMetadataItem(dataset, "fwhm", "ENVI"), "9.7"));
    GDALClose(dataset);
    assert_int_equal(folder_entries(folder), 2);
    hc_scene_clear(&scene);
}

/* Components have no wavelengths, whatever is left in the scene. */
static void only_spectra_have_wavelengths(void **state) {
    (void)state;
    HcScene scene = rich_scene();
    HcError err = {0};
    scene.meaning = HC_COMPONENT;
    static const char *const names[] = {"a.img", "b.tif"};
    for (int i = 0; i < 2; i++) {
        check_ok(write_scene(in_folder(names[i]), &scene, NULL, &err), err);
        GDALDatasetH dataset = GDALOpen(in_folder(names[i]), GA_ReadOnly);
        assert_null(GDALGetMetadataItem(GDALGetRasterBand(dataset, 1), "wavelength", NULL));
        assert_string_equal(GDALGetDescription(GDALGetRasterBand(dataset, 1)), scene.band_name[0]);
        assert_true(isnan(nodata_of(GDALGetRasterBand(dataset, 1)))); /* the scene's is of its spectra */
        GDALClose(dataset);
    }
    hc_scene_clear(&scene);
}

/* Rotated grids have words in an ENVI header, sheared ones have not. */
static void envi_turned_grids(void **state) {
    (void)state;
    static const double turns[4][6] = {{500000, 20, 22, 4000000, 22, -20},
                                       {500000, 20, 0, 4000000, 0, 20},
                                       {500000, 20, 3, 4000000, 22, -20},
                                       {500000, -20, 0, 4000000, 0, -20}};
    HcScene scene = rich_scene();
    HcError err = {0};
    HcWriterOptions options = {.overwrite = true};
    for (int i = 0; i < 2; i++) {
        memcpy(scene.place.transform, turns[i], sizeof turns[i]);
        check_ok(write_scene(in_folder("a.img"), &scene, &options, &err), err);
        GDALDatasetH dataset = GDALOpen(in_folder("a.img"), GA_ReadOnly);
        check_utm_place(dataset, &scene);
        GDALClose(dataset);
    }
    static const char *const words[] = {"the grid is sheared", "the grid is mirrored (east to west)"};
    for (int i = 3; i >= 2; i--) {
        memcpy(scene.place.transform, turns[i], sizeof turns[i]);
        assert_int_equal(hc_writer_check(in_folder("a.img"), &scene, &options, &err), HC_E_UNSUPPORTED);
        assert_non_null(strstr(err.text, words[i - 2]));
        err = (HcError){0};
    }
    check_ok(write_scene(in_folder("a.tif"), &scene, &options, &err), err);
    GDALDatasetH dataset = GDALOpen(in_folder("a.tif"), GA_ReadOnly);
    check_utm_place(dataset, &scene);
    GDALClose(dataset);
    hc_scene_clear(&scene);
}

static void envi_names_with_commas(void **state) {
    (void)state;
    HcScene scene = plain_scene(3, 4, 2);
    HcError err = {0};
    check_ok(hc_scene_name_band(&scene, 0, &err, "a, b {c}\nd"), err);
    check_ok(write_scene(in_folder("plain"), &scene, NULL, &err), err);
    GDALDatasetH dataset = GDALOpen(in_folder("plain"), GA_ReadOnly);
    assert_non_null(dataset);
    assert_string_equal(GDALGetDescription(GDALGetRasterBand(dataset, 1)), "a; b (c) d");
    assert_string_equal(GDALGetDescription(GDALGetRasterBand(dataset, 2)), "Band 2");
    GDALClose(dataset);
    assert_true(file_exists(in_folder("plain.hdr")));
    hc_scene_clear(&scene);
}

static double nodata_for(const HcScene *scene, HcWriterOptions options) {
    HcError err = {0};
    HcWriter *writer = NULL;
    check_ok(hc_writer_open(&writer, in_folder("n.img"), scene, &options, &err), err);
    double nodata = hc_writer_nodata(writer);
    assert_string_equal(hc_writer_format(writer), "ENVI");
    assert_string_equal(hc_writer_path(writer), in_folder("n.img"));
    hc_writer_close(writer);
    return nodata;
}

static void nodata_rule(void **state) {
    (void)state;
    HcScene scene = plain_scene(3, 4, 2);
    assert_true(isnan(nodata_for(&scene, (HcWriterOptions){0})));
    check_same(nodata_for(&scene, (HcWriterOptions){.has_type = true, .type = HC_UINT8}), 255);
    check_same(nodata_for(&scene, (HcWriterOptions){.has_type = true, .type = HC_UINT16}), 65535);
    check_same(nodata_for(&scene, (HcWriterOptions){.has_type = true, .type = HC_INT16}), -32768);
    check_same(nodata_for(&scene, (HcWriterOptions){.has_nodata = true, .nodata = 7}), 7);
    scene.has_nodata = true;
    scene.nodata = -9999;
    assert_true(isnan(nodata_for(&scene, (HcWriterOptions){0})));
    scene.meaning = HC_SPECTRAL;
    check_same(nodata_for(&scene, (HcWriterOptions){0}), -9999);
    check_same(nodata_for(&scene, (HcWriterOptions){.has_type = true, .type = HC_INT16}), -9999);
    check_same(nodata_for(&scene, (HcWriterOptions){.has_type = true, .type = HC_UINT16}), 65535);
    HcWriterOptions scaled = {.has_type = true, .type = HC_INT16, .has_scale = true, .scale = 2};
    check_same(nodata_for(&scene, scaled), -32768); /* -9999 may be a value */
    assert_int_equal(folder_entries(folder), 0);
}

/* The highest and the lowest value of each type as nodata: a valid value there gives way to its neighbour. */
static void nodata_at_the_ends_of_a_type(void **state) {
    (void)state;
    static const double low[] = {0, -128, 0, -32768, 0, -2147483648.0};
    static const double high[] = {255, 127, 65535, 32767, 4294967295.0, 2147483647.0};
    HcScene scene = plain_scene(37, 29, 5);
    HcError err = {0};
    for (int t = 0; t <= HC_INT32; t++) {
        for (int end = 0; end < 2 && t != HC_INT8; end++) {
            for (int i = 0; i < 3; i++) {
                HcWriterOptions options = {.has_type = true,
                                           .type = (HcType)t,
                                           .interleave = interleaves[i],
                                           .has_nodata = true,
                                           .nodata = end == 0 ? low[t] : high[t],
                                           .overwrite = true};
                check_ok(write_scene(in_folder("a.img"), &scene, &options, &err), err);
                check_values(in_folder("a.img"), &scene, (HcType)t);
                GDALDatasetH dataset = GDALOpen(in_folder("a.img"), GA_ReadOnly);
                check_same(nodata_of(GDALGetRasterBand(dataset, 5)), options.nodata);
                GDALClose(dataset);
            }
        }
    }
}

static double gain_of(const char *path, double *offset) {
    GDALDatasetH dataset = GDALOpen(path, GA_ReadOnly);
    GDALRasterBandH band = GDALGetRasterBand(dataset, 2);
    double gain = GDALGetRasterScale(band, NULL);
    *offset = GDALGetRasterOffset(band, NULL);
    GDALClose(dataset);
    return gain;
}

/* Values with a scale: every driver says it, and stored values give them back within half a step. */
static void scale_and_offset(void **state) {
    (void)state;
    static const char *const names[] = {"a.img", "a.tif", "b.tif", "c.img"};
    static const char *const formats[] = {"ENVI", "GTiff", "COG", "HFA"};
    HcScene scene = plain_scene(40, 30, 3);
    HcError err = {0};
    for (int i = 0; i < 4; i++) {
        HcWriterOptions options = {.format = formats[i],
                                   .has_type = true,
                                   .type = HC_INT32,
                                   .has_scale = true,
                                   .scale = 0.125,
                                   .offset = -3,
                                   .threads = 3};
        double offset, low, high;
        HcStoredTally tally;
        HcWriter *writer = NULL;
        check_ok(hc_writer_open(&writer, in_folder(names[i]), &scene, &options, &err), err);
        check_ok(write_lines(writer, &scene, 0, 40, &err), err);
        check_ok(hc_writer_finish(writer, &err), err);
        assert_true(hc_writer_tally(writer, &tally, &low, &high));
        hc_writer_close(writer);
        check_near(gain_of(in_folder(names[i]), &offset), 0.125, 0);
        check_near(offset, -3, 0);
        check_near(low, -2147483647, 0);
        check_near(high, 2147483647, 0);
        GDALDatasetH dataset = GDALOpen(in_folder(names[i]), GA_ReadOnly);
        GDALRasterBandH band = GDALGetRasterBand(dataset, 2);
        int64_t values = 0, clamped = 0;
        double lowest = INFINITY, highest = -INFINITY;
        for (int l = 0; l < 40; l++) {
            for (int s = 0; s < 30; s++) {
                for (int b = 0; b < 3 && !is_masked(l, s); b++) {
                    double value = (double)value_of(l, s, b);
                    bool outside = fabs(rint((value + 3) / 0.125)) > 2147483647;
                    values += !is_nan_value(l, s, b);
                    clamped += !is_nan_value(l, s, b) && outside;
                    lowest = is_nan_value(l, s, b) ? lowest : fmin(lowest, value);
                    highest = is_nan_value(l, s, b) ? highest : fmax(highest, value);
                }
                double wanted = (double)value_of(l, s, 1);
                if (!is_masked(l, s) && !is_nan_value(l, s, 1) && fabs(wanted) < 2e8) {
                    check_near(read_value(band, l, s) * 0.125 - 3, wanted, 0.0625);
                }
            }
        }
        GDALClose(dataset);
        assert_true(values > 0 && clamped > 0);
        assert_int_equal(tally.values, values);
        assert_int_equal(tally.clamped, clamped);
        assert_int_equal(tally.moved, 0);
        check_near(tally.lowest, lowest, 0);
        check_near(tally.highest, highest, 0);
    }
}

/* On top of what the scene says: its values are stored ones, and keep their meaning. */
static void scale_of_a_scene_with_gains(void **state) {
    (void)state;
    HcScene scene = rich_scene();
    HcError err = {0};
    double offset;
    HcWriterOptions options = {
        .has_type = true, .type = HC_INT16, .has_scale = true, .scale = 2, .offset = 10};
    check_ok(write_scene(in_folder("a.tif"), &scene, &options, &err), err);
    check_near(gain_of(in_folder("a.tif"), &offset), scene.gain[1] * 2, 1e-18);
    check_near(offset, scene.gain[1] * 10 + scene.offset[1], 1e-15);
    options.scale = 0;
    check_fails(hc_writer_check(in_folder("b.tif"), &scene, &options, &err), HC_E_USAGE, err);
    options.scale = INFINITY;
    check_fails(hc_writer_check(in_folder("b.tif"), &scene, &options, &err), HC_E_USAGE, err);
    hc_scene_clear(&scene);
}

/* One line of a file with many bands, all of them at once: one band after the other would take long where
 * they lie together. */
static void check_line(const char *path, const HcScene *scene, int32_t line) {
    GDALDatasetH dataset = GDALOpen(path, GA_ReadOnly);
    int samples = (int)scene->samples, bands = scene->bands;
    double *row = malloc((size_t)samples * (size_t)bands * sizeof *row);
    assert_int_equal(GDALDatasetRasterIOEx(dataset, GF_Read, 0, line, samples, 1, row, samples, 1,
                                           GDT_Float64, bands, NULL, bands * 8, 0, 8, NULL),
                     CE_None);
    for (int32_t s = 0; s < samples; s++) {
        for (int32_t b = 0; b < bands; b++) {
            bool empty = is_masked(line, s) || is_nan_value(line, s, b);
            double wanted = empty ? NAN : (double)value_of(line, s, b);
            double found = row[s * bands + b];
            assert_true(found == wanted || (isnan(found) && isnan(wanted)));
        }
    }
    free(row);
    GDALClose(dataset);
}

/* A COG holds all bands of a tile together: with many bands tiles are smaller, so that neither planning nor
 * writing takes more memory than was said. */
static void cog_of_many_bands(void **state) {
    (void)state;
    HcScene tiny = plain_scene(4, 4, 1000), scene = plain_scene(100, 90, 300);
    HcError err = {0};
    HcWriterNeeds needs;
    static const char *const ways[] = {NULL, "deflate"};
#ifdef HC_SANITIZED
    skip();
#endif
    HcWriterOptions options = {.format = "COG"};
    int64_t taken = memory_taken(true, &tiny, &options);
    if (taken < 0 || taken > 64 << 20) {
        fail_msg("planning took %lld bytes", (long long)taken);
    }
    for (int i = 0; i < 2; i++) {
        options.compress = ways[i];
        check_ok(hc_writer_needs(in_folder("a.tif"), &scene, &options, &needs, &err), err);
        assert_true(needs.memory < 200 << 20);
        taken = memory_taken(false, &scene, &options);
        if (taken < 0 || taken > (int64_t)needs.memory) {
            fail_msg("writing took %lld bytes, planned were %zu", (long long)taken, needs.memory);
        }
        check_line(in_folder("a.tif"), &scene, 0);
        check_line(in_folder("a.tif"), &scene, 99);
        GDALDatasetH dataset = GDALOpen(in_folder("a.tif"), GA_ReadOnly);
        assert_int_equal(GDALGetOverviewCount(GDALGetRasterBand(dataset, 300)), 1);
        GDALClose(dataset);
        unlink(in_folder("a.tif"));
    }
}

/* The bytes of a file, as fresh memory. */
static char *bytes_of(const char *path, size_t *count) {
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    char *bytes = malloc((size_t)info.st_size);
    FILE *file = fopen(path, "rb");
    assert_true(bytes != NULL && file != NULL);
    *count = fread(bytes, 1, (size_t)info.st_size, file);
    assert_int_equal(*count, info.st_size);
    fclose(file);
    return bytes;
}

/* As if there were 16 processors. The file does not depend on the threads that compress it; the memory that
 * is planned grows with them, and holds all tiles that they can have at a time. */
static void threads_that_compress(void **state) {
    (void)state;
    static const char *const formats[] = {"GTiff", "COG"};
    static const char *const ways[] = {"deflate", "lzw", "zstd"};
    static const char *const four[] = {"NUM_THREADS=4", "BLOCKSIZE=128", NULL};
    static const char *const small[] = {"BLOCKSIZE=128", NULL};
    HcScene scene = plain_scene(700, 600, 5);
    HcError err = {0};
    HcWriterNeeds none, one, many, fixed;
    CPLSetConfigOption("GDAL_NUM_THREADS", "16");
    for (int i = 0; i < 6; i++) {
        bool cog = i >= 3;
        HcWriterOptions options = {.format = formats[cog], .creation_options = cog ? small : NULL};
        const double tile = (cog ? 128 * 128 : 240 * 304) * 5 * 4.0;
        check_ok(hc_writer_needs(in_folder("a.tif"), &scene, &options, &none, &err), err);
        assert_int_equal(none.threads_max, cog ? 16 : 6);
        options.compress = ways[i % 3];
        check_ok(hc_writer_needs(in_folder("a.tif"), &scene, &options, &one, &err), err);
        assert_int_equal(one.threads_max, cog ? 16 : 6);
        assert_true(cog || one.memory >= none.memory); /* a COG is compressed in any case */
        assert_true((double)one.thread_memory > 4 * tile);
        options.compressors = 4;
        check_ok(hc_writer_needs(in_folder("a.tif"), &scene, &options, &many, &err), err);
        assert_true((double)many.memory >= (double)none.memory + 12 * tile);
        assert_true(many.memory <= one.memory + 4 * one.thread_memory);
        check_ok(write_scene(in_folder("a.tif"), &scene, &options, &err), err);
        options.compressors = 0;
        check_ok(write_scene(in_folder("b.tif"), &scene, &options, &err), err);
        size_t counts[2];
        char *bytes[2] = {bytes_of(in_folder("a.tif"), &counts[0]), bytes_of(in_folder("b.tif"), &counts[1])};
        assert_int_equal(counts[0], counts[1]);
        assert_memory_equal(bytes[0], bytes[1], counts[0]);
        free(bytes[0]);
        free(bytes[1]);
        /* The user's own number is counted, and there is no choice left. */
        options.creation_options = cog ? four : (const char *const[]){"NUM_THREADS=4", NULL};
        options.overwrite = true;
        check_ok(hc_writer_needs(in_folder("a.tif"), &scene, &options, &fixed, &err), err);
        assert_int_equal(fixed.memory, many.memory);
        assert_int_equal(fixed.threads_max, 1);
        unlink(in_folder("a.tif"));
        unlink(in_folder("b.tif"));
    }
    CPLSetConfigOption("GDAL_NUM_THREADS", NULL);
}

/* With one thread. */
static size_t zstd_memory(const char *format, const char *const *creation) {
    HcScene scene = plain_scene(700, 600, 5);
    HcWriterOptions options = {.format = format, .compress = "zstd", .creation_options = creation};
    HcWriterNeeds needs;
    HcError err = {0};
    check_ok(hc_writer_needs(in_folder("a.tif"), &scene, &options, &needs, &err), err);
    hc_scene_clear(&scene);
    return needs.memory;
}

/* zstd has its own standard level unless the user names one, and the plan knows what high levels take. */
static void levels_of_zstd(void **state) {
    (void)state;
    static const char *const formats[] = {"GTiff", "COG"};
    CPLSetConfigOption("GDAL_NUM_THREADS", "16");
    for (int cog = 0; cog < 2; cog++) {
        const char *three = cog ? "LEVEL=3" : "ZSTD_LEVEL=3", *nine = cog ? "LEVEL=9" : "ZSTD_LEVEL=9";
        const char *const *const given[] = {NULL, (const char *const[]){three, NULL},
                                            (const char *const[]){nine, NULL}};
        char *bytes[3];
        size_t counts[3];
        HcScene scene = plain_scene(300, 300, 5);
        HcError err = {0};
        for (int i = 0; i < 3; i++) {
            HcWriterOptions options = {
                .format = formats[cog], .compress = "zstd", .creation_options = given[i], .overwrite = true};
            check_ok(write_scene(in_folder("a.tif"), &scene, &options, &err), err);
            check_values(in_folder("a.tif"), &scene, HC_FLOAT32);
            bytes[i] = bytes_of(in_folder("a.tif"), &counts[i]);
        }
        assert_int_equal(counts[0], counts[1]);
        assert_memory_equal(bytes[0], bytes[1], counts[0]);
        assert_true(counts[2] != counts[0] || memcmp(bytes[2], bytes[0], counts[0]) != 0);
        for (int i = 0; i < 3; i++) {
            free(bytes[i]);
        }
        unlink(in_folder("a.tif"));
        size_t plain = zstd_memory(formats[cog], NULL);
        const char *const highest[] = {cog ? "LEVEL=22" : "ZSTD_LEVEL=22", NULL};
        assert_true(zstd_memory(formats[cog], given[2]) > plain + ((size_t)10 << 20));
        assert_true(zstd_memory(formats[cog], highest) > (size_t)777 << 20);
        hc_scene_clear(&scene);
    }
    CPLSetConfigOption("GDAL_NUM_THREADS", NULL);
}

/* Overviews of classes hold classes, and what the user asks of overviews is done. */
static void cog_overviews(void **state) {
    (void)state;
    HcScene scene = plain_scene(700, 600, 1);
    HcError err = {0};
    static const char *const none[] = {"OVERVIEWS=NONE", NULL};
    static const char *const nearest[] = {"OVERVIEW_RESAMPLING=NEAREST", "BLOCKSIZE=256", NULL};
    static const char *const *const asked[] = {NULL, none, nearest};
    static const int counts[] = {1, 0, 2};
    for (int i = 0; i < 3; i++) {
        HcWriterOptions options = {.format = "COG", .creation_options = asked[i], .overwrite = true};
        check_ok(write_scene(in_folder("a.tif"), &scene, &options, &err), err);
        check_values(in_folder("a.tif"), &scene, HC_FLOAT32);
        GDALDatasetH dataset = GDALOpen(in_folder("a.tif"), GA_ReadOnly);
        GDALRasterBandH band = GDALGetRasterBand(dataset, 1);
        assert_int_equal(GDALGetOverviewCount(band), counts[i]);
        if (counts[i] > 0) {
            assert_int_equal(GDALGetRasterBandXSize(GDALGetOverview(band, 0)), 300);
        }
        GDALClose(dataset);
    }
    /* GDAL 3.6 would go round in a circle of directories if these were in the source. */
    HcWriterOptions wide = {.format = "COG",
                            .has_type = true,
                            .type = HC_INT64,
                            .has_nodata = true,
                            .nodata = -9999,
                            .creation_options = nearest,
                            .overwrite = true};
    check_ok(write_scene(in_folder("a.tif"), &scene, &wide, &err), err);
    check_values(in_folder("a.tif"), &scene, HC_INT64);
    assert_int_equal(folder_entries(folder), 1);
}

/* One file by several writers, as ranks do it: the same values as by one, in every order that a file can
 * have. */
static void lines_of_other_writers(void **state) {
    (void)state;
    static const char *const names[] = {"a.tif", "b.tif", "c.img", "d.bil", "e.bip", "f.tif", "g.tif"};
    static const char *const how[] = {"bsq", "bip", NULL, NULL, NULL, "bsq", "bip"};
    static const int64_t cuts[] = {0, 31, 32, 60};
    HcScene scene = plain_scene(60, 47, 5);
    HcError err = {0};
    for (int i = 0; i < 7; i++) {
        static const char *const strips[] = {"TILED=NO", "BLOCKYSIZE=9", NULL};
        static const char *const small[] = {"BLOCKXSIZE=16", "BLOCKYSIZE=16", "COMPRESS=LZW", NULL};
        HcWriterOptions options = {.interleave = how[i],
                                   .creation_options = i == 5   ? strips
                                                       : i == 6 ? small
                                                                : NULL};
        HcWriter *writer[3] = {NULL, NULL, NULL};
        HcWriterSite site;
        HcWriterLeft left = {0};
        check_ok(hc_writer_open(&writer[0], in_folder(names[i]), &scene, &options, &err), err);
        check_ok(hc_writer_site(writer[0], &site, &err), err);
        for (int w = 1; w < 3; w++) {
            check_ok(hc_writer_join(&writer[w], in_folder(names[i]), &scene, &options, &site, cuts[w], &err),
                     err);
        }
        for (int w = 0; w < 3; w++) {
            check_ok(write_lines(writer[w], &scene, cuts[w], cuts[w + 1], &err), err);
        }
        for (int w = 1; w < 3; w++) {
            check_ok(hc_writer_leave(writer[w], &left, &err), err);
            check_ok(hc_writer_take(writer[0], &left, &err), err);
            hc_writer_close(writer[w]);
        }
        check_ok(hc_writer_finish(writer[0], &err), err);
        hc_writer_close(writer[0]);
        check_values(in_folder(names[i]), &scene, HC_FLOAT32);
    }
}

static void interleave_by_ending(void **state) {
    (void)state;
    HcScene scene = plain_scene(3, 4, 2);
    HcError err = {0};
    static const char *const names[] = {"a.bsq", "b.bil", "c.bip"};
    static const char *const words[] = {"BAND", "LINE", "PIXEL"};
    for (int i = 0; i < 3; i++) {
        check_ok(write_scene(in_folder(names[i]), &scene, NULL, &err), err);
        check_values(in_folder(names[i]), &scene, HC_FLOAT32);
        GDALDatasetH dataset = GDALOpen(in_folder(names[i]), GA_ReadOnly);
        assert_string_equal(GDALGetMetadataItem(dataset, "INTERLEAVE", "IMAGE_STRUCTURE"), words[i]);
        GDALClose(dataset);
    }
}

/* Values and nodata, unless a lower quality is asked for. */
static void jpeg_2000_is_lossless(void **state) {
    (void)state;
    static const HcType types[] = {HC_UINT8, HC_INT16, HC_UINT16};
    static const char *const whole[] = {"QUALITY=100", NULL}, *const reversible[] = {"REVERSIBLE=YES", NULL};
    static const char *const *const given[] = {NULL, whole, reversible};
    HcError err = {0};
    if (GDALGetDriverByName("JP2OpenJPEG") == NULL) {
        skip();
    }
    for (int n = 0; n < 9; n++) {
        HcScene scene = plain_scene(70, 60, 3);
        HcWriterOptions options = {.format = "JP2OpenJPEG",
                                   .has_type = true,
                                   .type = types[n % 3],
                                   .creation_options = given[n / 3],
                                   .overwrite = true};
        check_ok(write_scene(in_folder("a.jp2"), &scene, &options, &err), err);
        check_values(in_folder("a.jp2"), &scene, types[n % 3]);
        hc_scene_clear(&scene);
    }
}

#define in_own_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        in_own_folder(cog_of_many_bands), /* first: it forks, and GDAL has no threads yet */
        in_own_folder(envi_types_and_interleaves),
        in_own_folder(envi_by_threads),
        in_own_folder(threads_of_a_file),
        in_own_folder(tiff_types),
        in_own_folder(tiff_many_tiles),
        in_own_folder(envi_large),
        in_own_folder(one_pixel),
        in_own_folder(tiff_of_many_bands),
        in_own_folder(other_formats),
        in_own_folder(tiff_says_all),
        in_own_folder(envi_says_all),
        in_own_folder(only_spectra_have_wavelengths),
        in_own_folder(envi_turned_grids),
        in_own_folder(envi_names_with_commas),
        in_own_folder(nodata_rule),
        in_own_folder(nodata_at_the_ends_of_a_type),
        in_own_folder(scale_and_offset),
        in_own_folder(scale_of_a_scene_with_gains),
        in_own_folder(threads_that_compress),
        in_own_folder(levels_of_zstd),
        in_own_folder(cog_overviews),
        in_own_folder(jpeg_2000_is_lossless),
        in_own_folder(lines_of_other_writers),
        in_own_folder(interleave_by_ending),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
