/* Tiles of a GeoTIFF that are encoded here: GDAL finds the same values, tile by tile, and the same facts as
 * in the file that it writes by itself. */
#include "io/chunk/codec/decode.h"
#include "io/chunk/codec/encode.h"
#include "tests/support/random.h"
#include "write_fixture.h"

#include <cpl_string.h>

static const char *const compressions[] = {"none", "deflate", "zstd", "lzw"};

/* Tiles that end with the scene in no direction. */
static HcScene large_rich_scene(void) {
    HcScene scene = rich_scene();
    scene.lines = 150;
    scene.samples = 141;
    return scene;
}

/* Options that leave the tiles to GDAL, and the same ones without that: BIGTIFF is no matter here. */
static const char *const *with(bool gdal, const char *one, const char *other) {
    static const char *given[2][6];
    const char **options = given[gdal];
    int count = 0;
    options[count++] = "BLOCKXSIZE=48";
    options[count++] = "BLOCKYSIZE=32";
    options[count++] = gdal ? "BIGTIFF=IF_NEEDED" : other;
    options[count++] = one;
    options[count] = NULL;
    return options;
}

/* ---- comparing ---- */

static int by_text(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool without_imagery;

/* Metadata of all domains as one sorted list; names of files are no facts. */
static char **facts_of(GDALMajorObjectH object) {
    char **facts = NULL, **domains = GDALGetMetadataDomainList(object);
    for (char **domain = domains; domain != NULL && *domain != NULL; domain++) {
        /* The driver of a COG drops wavelengths of GDAL's own domain, which hcube keeps. */
        if (strcmp(*domain, "DERIVED_SUBDATASETS") == 0 ||
            (without_imagery && strcmp(*domain, "IMAGERY") == 0)) {
            continue;
        }
        for (char **item = GDALGetMetadata(object, *domain); item != NULL && *item != NULL; item++) {
            facts = CSLAddString(facts, CPLSPrintf("%s/%s", *domain, *item));
        }
    }
    CSLDestroy(domains);
    if (facts != NULL) {
        qsort(facts, (size_t)CSLCount(facts), sizeof *facts, by_text);
    }
    return facts;
}

static void check_same_facts(GDALMajorObjectH ours, GDALMajorObjectH theirs) {
    char **a = facts_of(ours), **b = facts_of(theirs);
    assert_int_equal(CSLCount(a), CSLCount(b));
    for (int i = 0; i < CSLCount(a); i++) {
        assert_string_equal(a[i], b[i]);
    }
    CSLDestroy(a);
    CSLDestroy(b);
}

static void check_same_blocks(GDALRasterBandH ours, GDALRasterBandH theirs) {
    int size[2], same[2], lines = GDALGetRasterBandYSize(ours), samples = GDALGetRasterBandXSize(ours);
    GDALGetBlockSize(ours, &size[0], &size[1]);
    GDALGetBlockSize(theirs, &same[0], &same[1]);
    assert_memory_equal(size, same, sizeof size);
    int value = GDALGetDataTypeSizeBytes(GDALGetRasterDataType(ours));
    char *a = calloc((size_t)(size[0] * size[1]), (size_t)value),
         *b = calloc((size_t)(size[0] * size[1]), (size_t)value);
    for (int y = 0; y * size[1] < lines; y++) {
        for (int x = 0; x * size[0] < samples; x++) {
            assert_int_equal(GDALReadBlock(ours, x, y, a), CE_None);
            assert_int_equal(GDALReadBlock(theirs, x, y, b), CE_None);
            int width = samples - x * size[0] < size[0] ? samples - x * size[0] : size[0];
            int height = lines - y * size[1] < size[1] ? lines - y * size[1] : size[1];
            for (int row = 0; row < height; row++) {
                size_t at = (size_t)(row * size[0] * value);
                assert_memory_equal(a + at, b + at, (size_t)(width * value));
            }
        }
    }
    free(a);
    free(b);
}

static void check_same_bands(GDALRasterBandH ours, GDALRasterBandH theirs) {
    int has[2];
    assert_int_equal(GDALGetRasterDataType(ours), GDALGetRasterDataType(theirs));
    assert_string_equal(GDALGetDescription(ours), GDALGetDescription(theirs));
    check_same(GDALGetRasterScale(ours, NULL), GDALGetRasterScale(theirs, NULL));
    check_same(GDALGetRasterOffset(ours, NULL), GDALGetRasterOffset(theirs, NULL));
    check_same(nodata_of(ours), nodata_of(theirs));
    (void)GDALGetRasterNoDataValue(ours, &has[0]);
    (void)GDALGetRasterNoDataValue(theirs, &has[1]);
    assert_int_equal(has[0], has[1]);
    assert_int_equal(GDALGetRasterColorInterpretation(ours), GDALGetRasterColorInterpretation(theirs));
    assert_int_equal(GDALGetMaskFlags(ours), GDALGetMaskFlags(theirs));
    check_same_facts(ours, theirs);
    check_same_blocks(ours, theirs);
}

static void check_same_files(const char *ours, const char *theirs) {
    GDALDatasetH a = GDALOpen(ours, GA_ReadOnly), b = GDALOpen(theirs, GA_ReadOnly);
    double place[2][6];
    assert_true(a != NULL && b != NULL);
    assert_int_equal(GDALGetRasterCount(a), GDALGetRasterCount(b));
    assert_string_equal(GDALGetProjectionRef(a), GDALGetProjectionRef(b));
    assert_int_equal(GDALGetGeoTransform(a, place[0]), GDALGetGeoTransform(b, place[1]));
    assert_memory_equal(place[0], place[1], sizeof place[0]);
    check_same_facts(a, b);
    for (int band = 1; band <= GDALGetRasterCount(a); band++) {
        check_same_bands(GDALGetRasterBand(a, band), GDALGetRasterBand(b, band));
    }
    GDALClose(a);
    GDALClose(b);
}

/* Which way a file goes shows in the memory that is planned for a thread. */
static void check_ways(const HcScene *scene, const HcWriterOptions *ours, const HcWriterOptions *theirs) {
    HcWriterNeeds needs[2];
    HcError err = {0};
    check_ok(hc_writer_needs(in_folder("a.tif"), scene, ours, &needs[0], &err), err);
    check_ok(hc_writer_needs(in_folder("a.tif"), scene, theirs, &needs[1], &err), err);
    assert_true(needs[0].thread_memory != needs[1].thread_memory ||
                (needs[0].threads_max == 1 && needs[0].memory != needs[1].memory));
}

static void check_both_ways(const HcScene *scene, HcType type, const char *compress, bool pixels,
                            const char *predictor, const char *big) {
    HcError err = {0};
    HcWriterOptions ours = {.has_type = true,
                            .type = type,
                            .compress = compress,
                            .interleave = pixels ? "bip" : "bsq",
                            .compressors = 3,
                            .overwrite = true,
                            .creation_options = with(false, predictor, big)};
    HcWriterOptions theirs = ours;
    theirs.creation_options = with(true, predictor, big);
    check_ways(scene, &ours, &theirs);
    check_ok(write_scene(in_folder("a.tif"), scene, &ours, &err), err);
    check_ok(write_scene(in_folder("b.tif"), scene, &theirs, &err), err);
    check_same_files(in_folder("a.tif"), in_folder("b.tif"));
}

static void same_as_by_gdal(void **state) {
    (void)state;
    static const char *const predictors[] = {NULL, "PREDICTOR=1", "PREDICTOR=2", "PREDICTOR=3"};
    static const char *const big[] = {"BIGTIFF=IF_SAFER", "BIGTIFF=YES"};
    HcScene scene = large_rich_scene();
    CPLSetConfigOption("GDAL_NUM_THREADS", "4");
    for (int n = 0; n < HC_TYPE_COUNT * 4 * 4; n++) {
        HcType type = (HcType)(n / 16);
        int c = n / 4 % 4, p = n % 4;
        bool floats = type == HC_FLOAT32 || type == HC_FLOAT64;
        bool wide = type == HC_INT64 || type == HC_UINT64;
        if (type == HC_INT8 || (p == 3 && !floats) || (p == 2 && wide) || (c == 0 && p > 0)) {
            continue;
        }
        check_both_ways(&scene, type, compressions[c], (n + n / 16) % 2 == 0, predictors[p], big[n / 2 % 2]);
        if (p == 0) {
            check_both_ways(&scene, type, compressions[c], (n + n / 16) % 2 == 1, NULL, big[0]);
        }
    }
    CPLSetConfigOption("GDAL_NUM_THREADS", NULL);
    hc_scene_clear(&scene);
}

/* One tile that is larger than the scene, one line, one sample, and tiles that end where the scene does. */
static void shapes(void **state) {
    (void)state;
    static const int64_t shape[][2] = {{1, 1}, {1, 300}, {300, 1}, {5, 7}, {96, 144}, {97, 144}, {64, 145}};
    CPLSetConfigOption("GDAL_NUM_THREADS", "4");
    for (size_t i = 0; i < sizeof shape / sizeof *shape; i++) {
        HcScene scene = plain_scene(shape[i][0], shape[i][1], 3);
        check_both_ways(&scene, HC_FLOAT32, "zstd", i % 2 == 0, NULL, "BIGTIFF=IF_SAFER");
        check_values(in_folder("a.tif"), &scene, HC_FLOAT32);
        check_both_ways(&scene, HC_UINT8, "none", i % 2 == 1, NULL, "BIGTIFF=IF_SAFER");
        check_values(in_folder("a.tif"), &scene, HC_UINT8);
    }
    CPLSetConfigOption("GDAL_NUM_THREADS", NULL);
}

/* ---- overviews ---- */

static double *band_values(GDALRasterBandH band) {
    int samples = GDALGetRasterBandXSize(band), lines = GDALGetRasterBandYSize(band);
    double *values = malloc((size_t)samples * (size_t)lines * sizeof *values);
    assert_int_equal(
        GDALRasterIO(band, GF_Read, 0, 0, samples, lines, values, samples, lines, GDT_Float64, 0, 0),
        CE_None);
    return values;
}

/* What a pixel of the overview should be: the mean of those that have data. */
static double mean_or_nodata(const double *value, int count, HcType type, bool has_nodata, double nodata) {
    double mean = 0;
    for (int i = 0; i < count; i++) {
        mean += value[i] / count;
    }
    if (count == 0) {
        return nodata;
    }
    mean = type == HC_FLOAT32 ? (double)(float)mean : type == HC_FLOAT64 ? mean : floor(mean + 0.5);
    return has_nodata && mean == nodata ? value[0] : mean;
}

static void check_overview(GDALRasterBandH full, GDALRasterBandH half, HcType type, bool has_nodata,
                           double nodata) {
    int samples = GDALGetRasterBandXSize(full), lines = GDALGetRasterBandYSize(full);
    int wide = GDALGetRasterBandXSize(half), high = GDALGetRasterBandYSize(half);
    assert_true(wide == (samples + 1) / 2 && high == (lines + 1) / 2);
    double *from = band_values(full), *got = band_values(half);
    for (int line = 0; line < high; line++) {
        for (int sample = 0; sample < wide; sample++) {
            double square[4], one = got[line * wide + sample];
            int count = 0;
            for (int i = 0; i < 4; i++) {
                int l = 2 * line + i / 2, s = 2 * sample + i % 2;
                double value = l < lines && s < samples ? from[l * samples + s] : NAN;
                if (!isnan(value) && !(has_nodata && value == nodata)) {
                    square[count++] = value;
                }
            }
            double expected = mean_or_nodata(square, count, type, has_nodata, nodata), largest = 0;
            for (int i = 0; i < count; i++) {
                largest = fmax(largest, fabs(square[i]));
            }
            double near = largest * (type == HC_FLOAT64 ? 1e-15 : type == HC_FLOAT32 ? 1e-7 : 0);
            if (!(fabs(one - expected) <= near) && !(isnan(one) && isnan(expected))) {
                fail_msg("line %d, sample %d: %.17g instead of %.17g", line, sample, one, expected);
            }
        }
    }
    free(from);
    free(got);
}

static void check_overviews(const char *path, HcType type) {
    GDALDatasetH cog = GDALOpen(path, GA_ReadOnly);
    const char *layout = GDALGetMetadataItem(cog, "LAYOUT", "IMAGE_STRUCTURE");
    assert_true(layout != NULL && strcmp(layout, "COG") == 0);
    for (int b = 1; b <= GDALGetRasterCount(cog); b++) {
        GDALRasterBandH below = GDALGetRasterBand(cog, b);
        int has = 0;
        double nodata = GDALGetRasterNoDataValue(below, &has);
        assert_int_equal(GDALGetOverviewCount(below), 3);
        for (int k = 0; k < 3; k++) {
            GDALRasterBandH above = GDALGetOverview(GDALGetRasterBand(cog, b), k);
            check_overview(below, above, type, has, nodata);
            below = above;
        }
    }
    GDALClose(cog);
}

/* A COG by the driver, whose overviews have other values, and ours: the same facts and values. */
static void cog_as_by_driver(void **state) {
    (void)state;
    static const char *const given[][3] = {{"BLOCKSIZE=128"}, {"BLOCKSIZE=128", "BIGTIFF=YES"}};
    static const char *const by_driver[] = {"BLOCKSIZE=128", "OVERVIEW_RESAMPLING=BILINEAR", NULL};
    HcScene scene = large_rich_scene();
    scene.lines = 521;
    scene.samples = 391;
    CPLSetConfigOption("GDAL_NUM_THREADS", "4");
    without_imagery = true;
    for (int n = 0; n < HC_TYPE_COUNT * 2; n++) {
        HcType type = (HcType)(n / 2);
        int c = n / 2 % 2 + 2 * (n % 2);
        HcError err = {0};
        if (type == HC_INT8 || type == HC_INT64 || type == HC_UINT64) {
            continue;
        }
        HcWriterOptions ours = {.has_type = true,
                                .type = type,
                                .format = "COG",
                                .compress = compressions[c],
                                .compressors = 3,
                                .overwrite = true,
                                .creation_options = given[n % 2]};
        HcWriterOptions theirs = ours;
        theirs.creation_options = by_driver;
        check_ways(&scene, &ours, &theirs);
        check_ok(write_scene(in_folder("a.tif"), &scene, &ours, &err), err);
        check_ok(write_scene(in_folder("b.tif"), &scene, &theirs, &err), err);
        if (c > 0) { /* else the driver keeps the bands apart, and says nothing of a layout */
            check_same_files(in_folder("a.tif"), in_folder("b.tif"));
        }
        check_overviews(in_folder("a.tif"), type);
    }
    without_imagery = false;
    CPLSetConfigOption("GDAL_NUM_THREADS", NULL);
    hc_scene_clear(&scene);
}

/* Colours that the reader of tiles does not know: GDAL writes the file after all. */
static void colours_of_others(void **state) {
    (void)state;
    static const char *const lab[] = {"PHOTOMETRIC=ICCLAB", NULL};
    HcScene scene = plain_scene(70, 60, 3);
    HcError err = {0};
    HcWriterOptions options = {
        .has_type = true, .type = HC_UINT8, .compress = "deflate", .creation_options = lab};
    check_ok(write_scene(in_folder("a.tif"), &scene, &options, &err), err);
    check_values(in_folder("a.tif"), &scene, HC_UINT8);
}

/* ---- threads ---- */

static char *bytes_of(const char *path, size_t *count) {
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *count = (size_t)ftell(file);
    rewind(file);
    char *bytes = malloc(*count);
    assert_int_equal(fread(bytes, 1, *count, file), *count);
    fclose(file);
    return bytes;
}

/* Few rows wait, many tiles are on their way: the bytes are those of one thread. */
static void bytes_of_many_threads(void **state) {
    (void)state;
    static const char *const small[] = {"BLOCKSIZE=128", NULL};
    HcScene scene = plain_scene(700, 230, 4);
    HcError err = {0};
    CPLSetConfigOption("GDAL_NUM_THREADS", "13");
    for (int i = 0; i < 12; i++) {
        char *bytes[3];
        size_t count[3];
        for (int t = 0; t < 3; t++) {
            bool cog = i >= 8;
            HcWriterOptions options = {.format = cog ? "COG" : "GTiff",
                                       .compress = compressions[cog ? i - 8 : i / 2],
                                       .interleave = cog          ? NULL
                                                     : i % 2 == 0 ? "bsq"
                                                                  : "bip",
                                       .compressors = 1 + 6 * t,
                                       .overwrite = true,
                                       .creation_options = cog ? small : with(false, NULL, NULL)};
            check_ok(write_scene(in_folder("a.tif"), &scene, &options, &err), err);
            bytes[t] = bytes_of(in_folder("a.tif"), &count[t]);
        }
        for (int t = 1; t < 3; t++) {
            assert_int_equal(count[t], count[0]);
            assert_memory_equal(bytes[t], bytes[0], count[0]);
        }
        check_values(in_folder("a.tif"), &scene, HC_FLOAT32);
        for (int t = 0; t < 3; t++) {
            free(bytes[t]);
        }
    }
    CPLSetConfigOption("GDAL_NUM_THREADS", NULL);
}

/* A writer that is closed early ends its threads, whatever they are doing. */
static void closed_early(void **state) {
    (void)state;
    HcScene scene = plain_scene(400, 230, 4);
    HcError err = {0};
    CPLSetConfigOption("GDAL_NUM_THREADS", "5");
    for (int64_t end = 0; end < 400; end += 57) {
        HcWriterOptions options = {
            .compress = "lzw", .compressors = 5, .creation_options = with(false, NULL, NULL)};
        HcWriter *writer = NULL;
        check_ok(hc_writer_open(&writer, in_folder("a.tif"), &scene, &options, &err), err);
        check_ok(write_lines(writer, &scene, 0, end, &err), err);
        hc_writer_close(writer);
        assert_int_equal(folder_entries(folder), 0);
    }
    CPLSetConfigOption("GDAL_NUM_THREADS", NULL);
}

/* Beside what a small file takes, and 2 MiB for the block that the test gives. */
static void memory_as_planned(void **state) {
    (void)state;
    HcScene small = plain_scene(2, 2, 2), scene = plain_scene(1100, 500, 40);
    HcError err = {0};
#ifdef HC_SANITIZED
    skip();
#endif
    CPLSetConfigOption("GDAL_NUM_THREADS", "8");
    for (int i = 0; i < 16; i++) {
        HcWriterOptions options = {.format = i < 8 ? "GTiff" : "COG",
                                   .compress = compressions[i / 2 % 4],
                                   .compressors = i % 2 == 0 ? 1 : 6};
        HcWriterNeeds needs;
        check_ok(hc_writer_needs(in_folder("a.tif"), &scene, &options, &needs, &err), err);
        int64_t least = memory_taken(false, &small, &options);
        unlink(in_folder("a.tif"));
        int64_t taken = memory_taken(false, &scene, &options) - least;
        if (least < 0 || taken < 0 || taken > (int64_t)needs.memory + (2 << 20)) {
            fail_msg("%s: writing took %lld bytes, planned were %zu", options.compress, (long long)taken,
                     needs.memory);
        }
        unlink(in_folder("a.tif"));
    }
    CPLSetConfigOption("GDAL_NUM_THREADS", NULL);
}

/* ---- LZW ---- */

/* Long runs, texts that come again, and noise, so that the table fills and codes are wasted. */
static void fill(uint8_t *bytes, size_t count, int kind, uint64_t *seed) {
    for (size_t i = 0; i < count; i++) {
        bytes[i] = kind == 0   ? 7
                   : kind == 1 ? (uint8_t)(i * i / 50)
                   : kind == 2 ? (uint8_t)random_bits(seed)
                               : (uint8_t)(random_bits(seed) % 3);
    }
}

static void lzw_there_and_back(void **state) {
    (void)state;
    static const size_t sizes[] = {0, 1, 2, 3, 255, 3836, 3837, 3838, 4096, 20000, 1500000};
    uint64_t seed = 24;
    for (size_t i = 0; i < 4 * sizeof sizes / sizeof *sizes; i++) {
        size_t count = sizes[i / 4], made = 0;
        uint8_t *in = malloc(count + 1), *back = malloc(count + 1);
        uint8_t *packed = malloc(hc_chunk_lzw_most(count));
        fill(in, count, (int)(i % 4), &seed);
        size_t bytes = hc_chunk_lzw_encode(in, count, packed);
        assert_true(bytes <= hc_chunk_lzw_most(count));
        assert_true(i % 4 != 0 || count < 1000 || bytes < count / 5);
        assert_true(hc_chunk_lzw(packed, bytes, back, count, &made));
        assert_int_equal(made, count);
        assert_memory_equal(in, back, count);
        free(in);
        free(back);
        free(packed);
    }
}

/* Texts of any length that end one byte behind the buffer are refused, and nothing is written there. */
static void lzw_ends_with_its_buffer(void **state) {
    (void)state;
    uint64_t seed = 25;
    for (size_t count = 1; count < 200; count++) {
        for (int kind = 0; kind < 4; kind++) {
            uint8_t in[200], packed[400], back[201];
            size_t made = 0;
            fill(in, count, kind, &seed);
            size_t bytes = hc_chunk_lzw_encode(in, count, packed);
            memset(back, 0x5A, sizeof back);
            assert_false(hc_chunk_lzw(packed, bytes, back, count - 1, &made));
            assert_true(back[count - 1] == 0x5A && back[count] == 0x5A);
        }
    }
}

#define in_own_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        in_own_folder(memory_as_planned), /* first: it forks, and there are no threads yet */
        in_own_folder(same_as_by_gdal),       in_own_folder(shapes),
        in_own_folder(cog_as_by_driver),      in_own_folder(colours_of_others),
        in_own_folder(bytes_of_many_threads), in_own_folder(closed_early),
        cmocka_unit_test(lzw_there_and_back), cmocka_unit_test(lzw_ends_with_its_buffer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
