/* Chunks of GeoTIFFs that GDAL writes: the same values as GDAL reads, whatever the type, interleave,
 * compression, shape of chunks, memory and block; each chunk is decoded once; broken ones are refused. */
#include "io/file.h"
#include "io/scratch.h"
#include "io/chunk/chunks.h"
#include "io/chunk/tiff.h"
#include "tests/support/check.h"

#include "read_all.h"
#include "write_fixture.h"

#include <cpl_string.h>
#include <fcntl.h>
#include <gdal.h>
#include <stdio.h>
#include <sys/stat.h>

enum { LINES = 53, SAMPLES = 45, BANDS = 7, OPTIONS_MAX = 12 };

typedef struct File {
    GDALDataType type;
    const char *option[OPTIONS_MAX]; /* of GDAL's driver */
    bool sparse;                     /* some tiles are not written */
    bool nodata;
    bool gaps;     /* some pixels are NaN */
    bool one_more; /* and others in one band */
} File;

/* Smooth, so that it compresses, with all bytes of a value in use. */
static double smooth_value(int b, int l, int s, GDALDataType type) {
    double value = 1000.0 * sin(0.1 * l + 0.3 * b) + 37 * s + 11 * b;
    switch (type) {
    case GDT_Byte:
        return fmod(fabs(value), 256);
    case GDT_Float32:
    case GDT_Float64:
        return value / 7;
    case GDT_UInt32:
    case GDT_UInt64:
        return fabs(floor(value * 65537));
    case GDT_UInt16:
        return fabs(floor(value * 5));
    default:
        return floor(value * (GDALGetDataTypeSizeBytes(type) > 2 ? 65537 : 5));
    }
}

static void write_tiff(const char *path, const File *file) {
    static double plane[LINES * SAMPLES];
    char **options = NULL;
    for (int i = 0; i < OPTIONS_MAX && file->option[i] != NULL; i++) {
        options = CSLAddString(options, file->option[i]);
    }
    if (file->sparse) {
        options = CSLAddString(options, "SPARSE_OK=TRUE");
    }
    GDALDatasetH dataset =
        GDALCreate(GDALGetDriverByName("GTiff"), path, SAMPLES, LINES, BANDS, file->type, options);
    assert_non_null(dataset);
    CSLDestroy(options);
    for (int b = 0; b < BANDS; b++) {
        GDALRasterBandH band = GDALGetRasterBand(dataset, b + 1);
        for (int i = 0; i < LINES * SAMPLES; i++) {
            plane[i] = smooth_value(b, i / SAMPLES, i % SAMPLES, file->type);
        }
        for (int i = 0; file->gaps && i < LINES * SAMPLES; i += 5) {
            plane[i] = i % 3 == 0 || (file->one_more && b == 2) ? NAN : plane[i];
        }
        if (file->nodata && b == 0) {
            assert_int_equal(GDALSetRasterNoDataValue(band, 17), CE_None);
        }
        int lines = file->sparse ? 16 : LINES; /* tiles are of 16 lines */
        assert_int_equal(
            GDALRasterIO(band, GF_Write, 0, 0, SAMPLES, lines, plane, SAMPLES, lines, GDT_Float64, 0, 0),
            CE_None);
    }
    GDALClose(dataset);
}

static HcReader *open_reader(const char *path, bool never_direct) {
    HcReader *reader = NULL;
    HcError err = {0};
    HcReaderOptions options = {.never_direct = never_direct, .threads = 3};
    if (hc_reader_open(&reader, path, &options, &err) != HC_OK) {
        fail_msg("%s: %s", path, err.text);
    }
    return reader;
}

static bool reads_chunks(const HcReader *reader) {
    return strncmp(hc_reader_method(reader), "chunks", 6) == 0;
}

/* All values, in blocks of `step` lines; settled with so much memory, or not at all (negative). */
static char *values_of(HcReader *reader, int32_t step, double memory, const int32_t *bands, int32_t count) {
    HcError err = {0};
    if (memory >= 0) {
        (void)hc_reader_settle(reader, 0, memory, step % 2 == 0);
    }
    char *values = read_all(reader, step, bands, count, &err);
    if (values == NULL) {
        fail_msg("%s", err.text);
    }
    return values;
}

static void check_equal(const char *path, int32_t step, double memory, const int32_t *bands, int32_t count) {
    HcReader *ours = open_reader(path, false), *gdal = open_reader(path, true);
    HcError err = {0};
    assert_true(reads_chunks(ours));
    assert_false(reads_chunks(gdal));
    if (count < BANDS) {
        assert_int_equal(hc_reader_use_bands(ours, bands, count, &err), HC_OK);
    }
    char *a = values_of(ours, step, memory, bands, count), *b = values_of(gdal, 16, -1, bands, count);
    size_t bytes = hc_type_bytes(hc_reader_scene(ours)->type) * (size_t)count * LINES * SAMPLES;
    if (memcmp(a, b, bytes) != 0) {
        fail_msg("%s (%s): values differ, blocks of %d lines, %.0f bytes", path, hc_reader_method(ours), step,
                 memory);
    }
    free(a);
    free(b);
    hc_reader_close(ours);
    hc_reader_close(gdal);
}

static const int32_t all[BANDS] = {0, 1, 2, 3, 4, 5, 6};

/* Some samples of each line, and some bands. */
static void check_window(const char *path, double memory, int64_t sample0, int64_t samples) {
    static const int32_t some[] = {1, 2, 5};
    HcError err = {0};
    HcReader *ours = open_reader(path, false), *gdal = open_reader(path, true);
    size_t bytes = hc_type_bytes(hc_reader_scene(gdal)->type);
    assert_int_equal(hc_reader_use_samples(ours, sample0, samples, &err), HC_OK);
    assert_int_equal(hc_reader_use_bands(ours, some, 3, &err), HC_OK);
    (void)hc_reader_settle(ours, 0, memory, false);
    char *whole = values_of(gdal, LINES, -1, all, BANDS);
    char *buffer = malloc(hc_reader_bytes(ours, 20));
    for (int64_t line = 0; line < LINES; line += 20) {
        HcRaw raw;
        int32_t lines = (int32_t)hc_min64(20, LINES - line);
        assert_int_equal(hc_reader_read(ours, line, lines, buffer, &raw, &err), HC_OK);
        assert_int_equal(raw.samples, samples);
        for (int64_t i = 0; i < 3 * lines * samples; i++) {
            int64_t b = i / samples / lines, l = i / samples % lines, s = i % samples;
            const char *wanted =
                whole + ((some[b] * LINES + line + l) * SAMPLES + sample0 + s) * (int64_t)bytes;
            assert_memory_equal((const char *)raw.data + l * raw.stride_line + s * raw.stride_sample +
                                    hc_reader_stored_band(ours, some[b]) * raw.stride_band,
                                wanted, bytes);
        }
    }
    free(buffer);
    free(whole);
    hc_reader_close(ours);
    hc_reader_close(gdal);
}

static void check_file(const char *path) {
    static const int32_t some[] = {1, 2, 5};
    static const double memories[] = {-1, 0, 1e9};
    static const int32_t steps[] = {1, 7, 16, 20, LINES};
    for (size_t m = 0; m < 3; m++) {
        for (size_t s = 0; s < 5; s++) {
            check_equal(path, steps[s], memories[m], all, BANDS);
        }
        check_equal(path, 20, memories[m], some, 3);
        check_window(path, memories[m] < 0 ? 1e5 : memories[m], 17, 9);
        check_window(path, memories[m] < 0 ? 1e5 : memories[m], 3, 42);
    }
}

/* Whether GDAL can write that compression. */
static bool can_write(const char *compression) {
    const char *list = GDALGetMetadataItem(GDALGetDriverByName("GTiff"), GDAL_DMD_CREATIONOPTIONLIST, NULL);
    char item[64];
    snprintf(item, sizeof item, "<Value>%s</Value>", compression);
    return list != NULL && strstr(list, item) != NULL;
}

static void all_types_and_compressions(void **state) {
    static const GDALDataType types[] = {GDT_Byte,  GDT_UInt16, GDT_Int16,   GDT_UInt32, GDT_Int32,
                                         GDT_Int64, GDT_UInt64, GDT_Float32, GDT_Float64};
    static const char *const compressions[] = {"DEFLATE", "ZSTD", "LZW", "NONE"};
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t c = 0; c < 4; c++) {
            for (int p = 1; p <= 3 && can_write(compressions[c]); p++) {
                bool floating = types[t] == GDT_Float32 || types[t] == GDT_Float64;
                bool wide = GDALGetDataTypeSizeBytes(types[t]) == 8;
                if ((c == 3 && p > 1) || (p == 3 && !floating) || (p == 2 && wide)) {
                    continue; /* GDAL 3.6 does not write those */
                }
                for (int apart = 0; apart < 2; apart++) {
                    char compress[32], predictor[32], path[300];
                    snprintf(compress, sizeof compress, "COMPRESS=%s", compressions[c]);
                    snprintf(predictor, sizeof predictor, "PREDICTOR=%d", p);
                    snprintf(path, sizeof path, "%s", in_folder("types.tif"));
                    File file = {.type = types[t],
                                 .option = {compress, apart ? "INTERLEAVE=BAND" : "INTERLEAVE=PIXEL",
                                            "TILED=YES", "BLOCKXSIZE=32", "BLOCKYSIZE=16",
                                            p > 1 ? predictor : "BIGTIFF=NO"}};
                    write_tiff(path, &file);
                    check_equal(path, 20, 1e9, all, BANDS);
                    check_equal(path, 20, 0, all, BANDS);
                }
            }
        }
    }
}

/* libtiff 4.5 writes LERC with NaN and several bands, which it cannot read. */
static bool gdal_reads(const char *path) {
    HcError err = {0};
    HcReader *reader = open_reader(path, true);
    char *values = read_all(reader, LINES, all, BANDS, &err);
    bool does = values != NULL;
    free(values);
    hc_reader_close(reader);
    return does;
}

static void lerc(void **state) {
    static const GDALDataType types[] = {GDT_Byte,  GDT_UInt16,  GDT_Int16,  GDT_UInt32,
                                         GDT_Int32, GDT_Float32, GDT_Float64};
    static const char *const compressions[] = {"LERC", "LERC_DEFLATE", "LERC_ZSTD"};
    (void)state;
    for (int c = 0; c < 3; c++) {
        for (int t = 0; t < 7 && can_write(compressions[c]); t++) {
            for (int variant = 0; variant < 16; variant++) {
                bool apart = variant & 1, floating = t >= 5;
                char compress[32], path[300];
                snprintf(compress, sizeof compress, "COMPRESS=%s", compressions[c]);
                snprintf(path, sizeof path, "%s", in_folder("lerc.tif"));
                File file = {.type = types[t],
                             .gaps = floating && (variant & 4) != 0,
                             .one_more = (variant & 8) != 0,
                             .option = {compress, apart ? "INTERLEAVE=BAND" : "INTERLEAVE=PIXEL",
                                        variant & 2 ? "TILED=YES" : "BLOCKYSIZE=10",
                                        variant & 2 ? "BLOCKXSIZE=32" : "BIGTIFF=YES",
                                        variant & 2 ? "BLOCKYSIZE=16" : "ENDIANNESS=BIG",
                                        floating ? "MAX_Z_ERROR=0.25" : "MAX_Z_ERROR=0"}};
                write_tiff(path, &file);
                if (file.gaps && !gdal_reads(path)) {
                    continue;
                }
                check_equal(path, 20, 1e9, all, BANDS);
                check_equal(path, 7, 0, all, BANDS);
            }
        }
    }
}

static void all_shapes_and_memories(void **state) {
    static const char *const shapes[][3] = {{"TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16"},
                                            {"TILED=YES", "BLOCKXSIZE=64", "BLOCKYSIZE=64"},
                                            {"TILED=NO", "BLOCKYSIZE=1", NULL},
                                            {"TILED=NO", "BLOCKYSIZE=10", NULL},
                                            {"TILED=NO", "BLOCKYSIZE=200", NULL}};
    (void)state;
    for (size_t s = 0; s < 5; s++) {
        for (int apart = 0; apart < 2; apart++) {
            File file = {.type = GDT_Int16,
                         .option = {"COMPRESS=DEFLATE", "PREDICTOR=2",
                                    apart ? "INTERLEAVE=BAND" : "INTERLEAVE=PIXEL", shapes[s][0],
                                    shapes[s][1], shapes[s][2]}};
            char path[300];
            snprintf(path, sizeof path, "%s", in_folder("shapes.tif"));
            write_tiff(path, &file);
            check_file(path);
        }
    }
}

static void big_endian_and_big_tiff(void **state) {
    static const GDALDataType types[] = {GDT_UInt16, GDT_Float32, GDT_Float64};
    (void)state;
    for (size_t t = 0; t < 3; t++) {
        for (int p = 1; p <= 3; p++) {
            char predictor[32], path[300];
            if ((p == 3 && t == 0) || (p == 2 && t == 2)) {
                continue;
            }
            snprintf(predictor, sizeof predictor, "PREDICTOR=%d", p);
            snprintf(path, sizeof path, "%s", in_folder("endian.tif"));
            File file = {.type = types[t],
                         .option = {"ENDIANNESS=BIG", "BIGTIFF=YES", "COMPRESS=LZW", predictor, "TILED=YES",
                                    "BLOCKXSIZE=32", "BLOCKYSIZE=32"}};
            write_tiff(path, &file);
            check_equal(path, 7, 1e9, all, BANDS);
        }
    }
}

/* Tiles that are not stored hold nodata, or 0. */
static void sparse_tiles(void **state) {
    (void)state;
    for (int variant = 0; variant < 4; variant++) {
        char path[300];
        snprintf(path, sizeof path, "%s", in_folder("sparse.tif"));
        File file = {.type = GDT_Int16,
                     .option = {"COMPRESS=DEFLATE", variant % 2 ? "INTERLEAVE=BAND" : "INTERLEAVE=PIXEL",
                                "TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16"},
                     .sparse = true,
                     .nodata = variant >= 2};
        write_tiff(path, &file);
        check_file(path);
    }
}

/* What this reader does not know, GDAL reads. */
static void others_are_left_to_gdal(void **state) {
    static const char *const options[][3] = {{"COMPRESS=PACKBITS", NULL, NULL},
                                             {"COMPRESS=JPEG", "INTERLEAVE=PIXEL", "TILED=YES"},
                                             {"COMPRESS=DEFLATE", "NBITS=5", NULL}};
    (void)state;
    for (size_t i = 0; i < 3; i++) {
        char path[300];
        snprintf(path, sizeof path, "%s", in_folder("other.tif"));
        File file = {.type = GDT_Byte, .option = {options[i][0], options[i][1], options[i][2]}};
        if (i == 1) {
            continue; /* seven bands are too many for it */
        }
        write_tiff(path, &file);
        HcReader *reader = open_reader(path, false);
        assert_false(reads_chunks(reader));
        char *values = values_of(reader, 20, -1, all, BANDS);
        free(values);
        hc_reader_close(reader);
    }
}

/* ---- once each ---- */

static HcChunks *open_chunks(const char *path, const HcChunkPlan *plan) {
    HcError err = {0};
    HcChunkIndex *index = NULL;
    HcChunks *chunks = NULL;
    HcScene scene = {.lines = LINES, .samples = SAMPLES, .bands = BANDS, .type = HC_INT16};
    assert_int_equal(hc_chunk_tiff(&index, path, &scene, &err), HC_OK);
    assert_non_null(index);
    assert_int_equal(hc_chunks_open(&chunks, index, &err), HC_OK);
    hc_chunks_settle(chunks, plan);
    return chunks;
}

/* Two passes in blocks with lines around them: a chunk is decoded once a pass, or once in all. repeats: as a
 * plan that knows of the second pass. */
static void check_once(const char *path, int32_t step, int64_t halo, double memory, bool repeats) {
    HcError err = {0};
    HcChunks *chunks = open_chunks(path, &(HcChunkPlan){.rows = 1, .threads = 1});
    HcChunkPlan plan = repeats ? hc_chunks_plan_again(chunks, 2, 2 * halo, memory)
                               : hc_chunks_plan(hc_chunks_index(chunks), 2, 2 * halo, memory);
    assert_true(!repeats || plan.rows == 0 || hc_scratch_free() == 0);
    int64_t count = hc_chunk_count(hc_chunks_index(chunks));
    hc_chunks_settle(chunks, &plan);
    void *buffer = malloc(hc_chunks_bytes(chunks, step + 2 * halo));
    for (int pass = 1; pass <= 2; pass++) {
        for (int64_t line = 0; line < LINES; line += step) {
            HcRaw raw;
            int64_t begin = hc_max64(0, line - halo), end = hc_min64(LINES, line + step + halo);
            assert_int_equal(hc_chunks_read(chunks, begin, (int32_t)(end - begin), buffer, &raw, &err),
                             HC_OK);
        }
        if (plan.rows == 0) {
            assert_int_equal(hc_chunks_decoded(chunks), count);
        } else {
            assert_in_range(hc_chunks_decoded(chunks), 1,
                            pass * count); /* some rows may be kept from pass 1 */
        }
    }
    free(buffer);
    hc_chunks_close(chunks);
}

static void chunks_are_decoded_once(void **state) {
    static const char *const sizes[] = {"BLOCKYSIZE=1", "BLOCKYSIZE=3", "BLOCKYSIZE=16", "BLOCKYSIZE=53"};
    static const int32_t steps[] = {1, 2, 7, 16, 40};
    (void)state;
    for (size_t f = 0; f < 4; f++) {
        for (int apart = 0; apart < 2; apart++) {
            char path[300];
            snprintf(path, sizeof path, "%s", in_folder("once.tif"));
            File file = {
                .type = GDT_Int16,
                .option = {"COMPRESS=DEFLATE", sizes[f], apart ? "INTERLEAVE=BAND" : "INTERLEAVE=PIXEL"}};
            write_tiff(path, &file);
            for (size_t s = 0; s < 5; s++) {
                for (int64_t halo = 0; halo < 6; halo += 1) {
                    check_once(path, steps[s], halo, 1e9, false);
                    check_once(path, steps[s], halo, 1e9, true);
                    check_once(path, steps[s], halo, 0, false);
                }
            }
        }
    }
}

/* Two passes of lines [0, end) by a plan that brings rows ahead, each block against a plan that does not. A
 * chunk is decoded once a pass, or once in all, and none behind the last line. */
static void check_plan(const char *path, const HcChunkPlan *plan, int32_t step, int64_t halo, int64_t end) {
    HcError err = {0};
    HcChunks *plain = open_chunks(path, &(HcChunkPlan){.rows = 1, .threads = 1});
    HcChunks *chunks = open_chunks(path, plan);
    const HcChunkIndex *index = hc_chunks_index(chunks);
    size_t most = hc_chunks_bytes(chunks, step + 2 * halo);
    char *wanted = malloc(most), *got = malloc(most);
    int64_t rows = (end + index->shape[HC_AXIS_LINE] - 1) / index->shape[HC_AXIS_LINE];
    int64_t count = hc_chunk_count(index) / index->count[HC_AXIS_LINE] * rows;
    for (int pass = 1; pass <= 2; pass++) {
        for (int64_t line = 0; line < end; line += step) {
            HcRaw raw;
            int64_t from = hc_max64(0, line - halo), to = hc_min64(end, line + step + halo);
            check_ok(hc_chunks_read(plain, from, (int32_t)(to - from), wanted, &raw, &err), err);
            check_ok(hc_chunks_read(chunks, from, (int32_t)(to - from), got, &raw, &err), err);
            assert_memory_equal(got, wanted, hc_chunks_bytes(chunks, to - from));
        }
        assert_in_range(hc_chunks_decoded(chunks), count, plan->rows > 0 ? pass * count : count);
    }
    free(wanted);
    free(got);
    hc_chunks_close(plain);
    hc_chunks_close(chunks);
}

/* Rows in memory, and scratch files with the least memory, some, and all that they want. */
static void check_ahead(const char *path, int32_t step, int64_t halo, int64_t end, int32_t threads) {
    HcChunks *chunks = open_chunks(path, &(HcChunkPlan){.rows = 1, .threads = 1});
    const HcChunkIndex *index = hc_chunks_index(chunks);
    HcChunkPlan plan = hc_chunks_plan(index, threads, 2 * halo, 1e9);
    hc_chunks_plan_ahead(&plan, index, end, 1e9);
    check_plan(path, &plan, step, halo, end);
    plan = hc_chunks_plan(index, threads, 2 * halo, 0);
    for (double bytes = (double)plan.bytes; bytes < 1e6 && hc_scratch_free() > 0; bytes *= 3) {
        plan = hc_chunks_plan_again(chunks, threads, 2 * halo, bytes);
        hc_chunks_plan_ahead(&plan, index, end, bytes);
        check_plan(path, &plan, step, halo, end);
    }
    hc_chunks_close(chunks);
}

/* Rows of chunks in parts of which the last one has fewer chunks. Threads that overtake each other once began
 * it anew behind its end, and waited for ever; so this is done often. */
static void parts_may_be_short(void **state) {
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s", in_folder("short.tif"));
    File file = {
        .type = GDT_Int16,
        .option = {"COMPRESS=DEFLATE", "BLOCKYSIZE=16", "INTERLEAVE=BAND", "TILED=YES", "BLOCKXSIZE=16"}};
    write_tiff(path, &file);
    for (int turn = 0; turn < 100; turn++) {
        HcChunkPlan plan = {
            .threads = 2 + turn % 7, .part = 2 + turn % 4, .parts = 1 + turn % 3, .end = LINES};
        check_plan(path, &plan, 16, 0, LINES);
    }
}

static void rows_are_brought_ahead(void **state) {
    static const char *const sizes[] = {"BLOCKYSIZE=1", "BLOCKYSIZE=3", "BLOCKYSIZE=16"};
    static const int32_t steps[] = {1, 2, 7, 16, 40};
    (void)state;
    for (size_t f = 0; f < 8; f++) {
        char path[300];
        snprintf(path, sizeof path, "%s", in_folder("ahead.tif"));
        File file = {.type = GDT_Int16,
                     .option = {"COMPRESS=DEFLATE", f < 6 ? sizes[f / 2] : "BLOCKYSIZE=16",
                                f % 2 == 1 ? "INTERLEAVE=BAND" : "INTERLEAVE=PIXEL",
                                f < 6 ? NULL : "TILED=YES", f < 6 ? NULL : "BLOCKXSIZE=16"}};
        write_tiff(path, &file);
        for (size_t s = 0; s < 5; s++) {
            for (int64_t halo = 0; halo < 6; halo += f < 4 ? 5 : 1) {
                check_ahead(path, steps[s], halo, LINES, 1 + (int32_t)s * 3);
                check_ahead(path, steps[s], halo, LINES / 2, 1 + (int32_t)s * 3);
            }
        }
    }
}

/* Lines that are asked for here and there bring no others with them. Those in their order bring as many rows
 * as there are places, while they have the first of them. */
static void only_lines_in_order_bring_others(void **state) {
    char path[300];
    HcError err = {0};
    HcRaw raw;
    (void)state;
    snprintf(path, sizeof path, "%s", in_folder("jumps.tif"));
    File file = {.type = GDT_Int16, .option = {"COMPRESS=DEFLATE", "BLOCKYSIZE=1", "INTERLEAVE=PIXEL"}};
    write_tiff(path, &file);
    HcChunks *chunks = open_chunks(path, &(HcChunkPlan){.rows = 1, .threads = 1});
    HcChunkPlan plan = hc_chunks_plan(hc_chunks_index(chunks), 4, 0, 1e9);
    hc_chunks_plan_ahead(&plan, hc_chunks_index(chunks), LINES, 1e9);
    assert_int_equal(plan.rows, 4);
    hc_chunks_settle(chunks, &plan);
    char *line = malloc(hc_chunks_bytes(chunks, 1));
    static const struct {
        int64_t line, most;
        bool jumps;
    } reads[] = {{2, 5, false}, {3, 6, false},  {5, 6, false},  {20, 7, true}, {30, 8, true},
                 {21, 9, true}, {0, 14, false}, {1, 15, false}, {4, 15, false}};
    int64_t before = 0;
    for (size_t r = 0; r < sizeof reads / sizeof *reads; r++) {
        check_ok(hc_chunks_read(chunks, reads[r].line, 1, line, &raw, &err), err);
        int64_t decoded = hc_chunks_decoded(chunks);
        assert_in_range(decoded, before, reads[r].most);
        assert_true(!reads[r].jumps || decoded == before + 1);
        before = decoded;
    }
    free(line);
    hc_chunks_close(chunks);
}

/* With more memory there is no less: threads grow, and the plan keeps to what it was given where it can. */
static void plans_fit_their_memory(void **state) {
    char path[300];
    (void)state;
    for (int apart = 0; apart < 2; apart++) {
        snprintf(path, sizeof path, "%s", in_folder("plan.tif"));
        File file = {.type = GDT_Int16,
                     .option = {"COMPRESS=DEFLATE", "TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16",
                                apart ? "INTERLEAVE=BAND" : "INTERLEAVE=PIXEL"}};
        write_tiff(path, &file);
        HcChunks *chunks = open_chunks(path, &(HcChunkPlan){.rows = 1, .threads = 1});
        const HcChunkIndex *index = hc_chunks_index(chunks);
        HcChunkPlan least = hc_chunks_plan(index, 8, 2, 0);
        assert_int_equal(least.rows, 0);
        assert_int_equal(least.threads, 1);
        for (double bytes = (double)least.bytes; bytes < 1e8; bytes *= 1.3) {
            HcChunkPlan plan = hc_chunks_plan(index, 8, 2, bytes);
            assert_true((double)plan.bytes <= bytes);
            hc_chunks_plan_ahead(&plan, index, LINES, bytes);
            assert_true((double)plan.bytes <= bytes);
            plan = hc_chunks_plan_again(chunks, 8, 2, bytes);
            assert_true((double)plan.bytes <= bytes);
        }
        HcChunkPlan most = hc_chunks_plan(index, 8, 2, 1e12);
        assert_int_equal(most.threads, 8);
        assert_int_equal(most.rows, 2);
        hc_chunks_plan_ahead(&most, index, 0, 1e12);
        assert_int_equal(most.rows, 2); /* in any order */
        hc_chunks_plan_ahead(&most, index, LINES, 1e12);
        /* Of 3 chunks, 2 rows keep six of eight threads busy, and 4 do no better; of 21, 3 rows all but one
         * turn. */
        assert_int_equal(most.rows, apart ? 4 : 3);
        hc_chunks_close(chunks);
    }
}

/* ---- broken files ---- */

static void write_small(const char *path, const char *compression) {
    File file = {.type = GDT_Int16,
                 .option = {compression, "TILED=YES", "BLOCKXSIZE=16", "BLOCKYSIZE=16", "INTERLEAVE=PIXEL"}};
    write_tiff(path, &file);
}

static HcChunkPlace place_in(const char *path, int64_t number) {
    HcChunks *chunks = open_chunks(path, &(HcChunkPlan){.rows = 1, .threads = 1});
    HcChunkPlace place = hc_chunks_index(chunks)->place[number];
    hc_chunks_close(chunks);
    return place;
}

static void overwrite(const char *path, int64_t at, const void *bytes, size_t count) {
    int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, bytes, count, at), count);
    close(file);
}

/* Reading fails, or already opening, with that status and a line that names the file and `part`. */
static void check_refused(const char *path, HcStatus wanted, const char *part, double memory) {
    HcReader *reader = NULL;
    HcError err = {0};
    HcStatus status = hc_reader_open(&reader, path, NULL, &err);
    if (status == HC_OK) {
        assert_true(reads_chunks(reader));
        (void)hc_reader_settle(reader, 0, memory, false);
        char *values = read_all(reader, 10, all, BANDS, &err);
        assert_null(values);
        status = err.status;
    }
    assert_int_equal(status, wanted);
    assert_non_null(strstr(err.text, path));
    assert_non_null(strstr(err.text, part));
    assert_null(strchr(err.text, '\n'));
    hc_reader_close(reader);
}

/* The chunk at line 16, sample 16 is number 4 of 3 in a row; opening looks at chunks 0, 5 and the last. */
enum { BROKEN = 4 };

static void broken_chunks_are_refused(void **state) {
    static const char *const compressions[] = {"COMPRESS=DEFLATE", "COMPRESS=ZSTD", "COMPRESS=LZW",
                                               "COMPRESS=LERC"};
    static const char *const parts[] = {"deflate", "zstd", "LZW", "LERC"};
    (void)state;
    for (size_t c = 0; c < 4; c++) {
        char path[300];
        uint8_t noise[64];
        if (!can_write(compressions[c] + 9)) {
            continue;
        }
        memset(noise, 0xE7, sizeof noise);
        snprintf(path, sizeof path, "%s", in_folder("broken.tif"));
        write_small(path, compressions[c]);
        HcChunkPlace place = place_in(path, BROKEN);
        overwrite(path, place.offset, noise, sizeof noise);
        check_refused(path, HC_E_INPUT, parts[c], 1e9);
        check_refused(path, HC_E_INPUT, "line 16, sample 16, band 0", 0);
    }
}

/* The message names the file that is made, whose temporary name nobody knows. */
static void fields_of_a_broken_directory(void **state) {
    static const uint8_t cut[] = {'I', 'I', 42, 0, 8, 0, 0, 0, 3, 0};
    HcTiffField *fields = NULL;
    int64_t count = 0;
    bool big_endian = false;
    HcError err = {0};
    (void)state;
    int file = open(in_folder("cut.tif"), O_RDWR | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(hc_file_write_at(file, cut, sizeof cut, 0), 0);
    assert_int_equal(hc_tiff_fields(file, "a.tif", &fields, &count, &big_endian, &err), HC_E_IO);
    check_says(err.text, "a.tif: its directory is broken");
    assert_null(fields);
    close(file);
}

/* The field of the sizes of tiles says less, or more than there is. */
static void wrong_sizes_are_refused(void **state) {
    char path[300];
    (void)state;
    for (int longer = 0; longer < 2; longer++) {
        snprintf(path, sizeof path, "%s", in_folder("sizes.tif"));
        write_small(path, "COMPRESS=DEFLATE");
        /* They are 16-bit numbers, wherever they lie. */
        uint16_t sizes[3], wrong = (uint16_t)(longer ? UINT16_MAX : place_in(path, BROKEN).bytes / 2);
        for (int i = 0; i < 3; i++) {
            sizes[i] = (uint16_t)place_in(path, BROKEN + i).bytes;
        }
        static uint8_t all_bytes[1 << 17];
        int file = open(path, O_RDONLY);
        ssize_t got = read(file, all_bytes, sizeof all_bytes);
        close(file);
        int64_t at = -1;
        for (ssize_t i = 0; i + 6 <= got && at < 0; i++) {
            at = memcmp(all_bytes + i, sizes, sizeof sizes) == 0 ? i : -1;
        }
        if (at < 0) {
            fail_msg("no sizes of the tiles in %s", path);
        }
        overwrite(path, at, &wrong, sizeof wrong);
        check_refused(path, HC_E_INPUT, longer ? "the file has" : "deflate", 1e9);
    }
}

static void short_files_are_refused(void **state) {
    char path[300];
    struct stat info;
    (void)state;
    snprintf(path, sizeof path, "%s", in_folder("short.tif"));
    write_small(path, "COMPRESS=DEFLATE");
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(truncate(path, info.st_size - 40), 0);
    check_refused(path, HC_E_INPUT, "the file has", 1e9);
}

/* A tile that holds fewer values than its shape: the stream of another, smaller tile. */
static void wrong_lengths_are_refused(void **state) {
    char path[300], small[300];
    uint8_t stream[4096];
    (void)state;
    snprintf(path, sizeof path, "%s", in_folder("length.tif"));
    snprintf(small, sizeof small, "%s", in_folder("small.tif"));
    write_small(path, "COMPRESS=DEFLATE");
    File file = {.type = GDT_Int16, .option = {"COMPRESS=DEFLATE", "BLOCKYSIZE=1", "INTERLEAVE=BAND"}};
    write_tiff(small, &file);
    HcChunkPlace from = place_in(small, 0), to = place_in(path, BROKEN);
    assert_true(from.bytes <= to.bytes && from.bytes <= (int64_t)sizeof stream);
    int opened = open(small, O_RDONLY);
    assert_int_equal(pread(opened, stream, (size_t)from.bytes, from.offset), from.bytes);
    close(opened);
    overwrite(path, to.offset, stream, (size_t)from.bytes);
    check_refused(path, HC_E_INPUT, "90 bytes of values instead of 3584", 1e9);
}

static void no_place_for_a_scratch_file(void **state) {
    char path[300];
    (void)state;
    snprintf(path, sizeof path, "%s", in_folder("place.tif"));
    write_small(path, "COMPRESS=DEFLATE");
    setenv("TMPDIR", in_folder("missing"), 1);
    check_refused(path, HC_E_IO, "scratch file", 0);
    unsetenv("TMPDIR");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_and_compressions),
        cmocka_unit_test(lerc),
        cmocka_unit_test(all_shapes_and_memories),
        cmocka_unit_test(big_endian_and_big_tiff),
        cmocka_unit_test(sparse_tiles),
        cmocka_unit_test(others_are_left_to_gdal),
        cmocka_unit_test(chunks_are_decoded_once),
        cmocka_unit_test(parts_may_be_short),
        cmocka_unit_test(rows_are_brought_ahead),
        cmocka_unit_test(only_lines_in_order_bring_others),
        cmocka_unit_test(plans_fit_their_memory),
        cmocka_unit_test(broken_chunks_are_refused),
        cmocka_unit_test(wrong_sizes_are_refused),
        cmocka_unit_test(fields_of_a_broken_directory),
        cmocka_unit_test(short_files_are_refused),
        cmocka_unit_test(wrong_lengths_are_refused),
        cmocka_unit_test(no_place_for_a_scratch_file),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
