/* The store of a map: in memory and in a file, written in strips, gives what the table says. */
#include "io/ortho/store.h"
#include "io/read/reader.h"
#include "tests/io/write_fixture.h"

#include <cpl_string.h>
#include <gdal.h>

/* A line of the map takes 480 kB, so that the map has several strips. */
enum { LINES = 30, SAMPLES = 40, BANDS = 300, MAP_LINES = 130, MAP_SAMPLES = 400 };

static int stored_value(int line, int sample, int band) {
    return (line * 7 + sample * 3 + band) % 200 + 1;
}

/* Neither the masked pixels nor those that have NaN in some bands only are alike. */
static bool left_out(int line, int sample) {
    return (line * SAMPLES + sample) % 11 == 4;
}

/* Numbers from 1; 0 = none. Lines of the map hold pixels of all lines of the scene, and some strips none. */
static void number_of(int y, int x, int16_t *sample, int16_t *line) {
    bool none = (x + y) % 13 == 0 || (y > 50 && y < 102);
    *sample = (int16_t)(none ? 0 : (x * 5 + y) % SAMPLES + 1);
    *line = (int16_t)(none ? 0 : (x * 3 + y * y) % LINES + 1);
}

static const char *write_table(void) {
    static int16_t table[2][MAP_LINES][MAP_SAMPLES];
    char text[300];
    for (int y = 0; y < MAP_LINES; y++) {
        for (int x = 0; x < MAP_SAMPLES; x++) {
            number_of(y, x, &table[0][y][x], &table[1][y][x]);
        }
    }
    FILE *file = fopen(in_folder("table.img"), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(table, 1, sizeof table, file), sizeof table);
    fclose(file);
    snprintf(text, sizeof text,
             "ENVI\nsamples = %d\nlines = %d\nbands = 2\nheader offset = 0\nfile type = ENVI Standard\n"
             "data type = 2\ninterleave = bsq\nbyte order = 0\n",
             MAP_SAMPLES, MAP_LINES);
    put_file(in_folder("table.hdr"), text);
    return in_folder("table.img");
}

/* All lines in blocks of some, which have a line of halo above. */
static void put_lines(HcOrthoStore *store, int step) {
    HcError err = {0};
    float *data = malloc((size_t)(step + 1) * SAMPLES * BANDS * sizeof *data);
    uint8_t *mask = malloc((size_t)(step + 1) * SAMPLES);
    for (int line0 = 0; line0 < LINES; line0 += step) {
        int lines = LINES - line0 < step ? LINES - line0 : step, above = line0 > 0;
        for (int at = 0; at < (lines + above) * SAMPLES; at++) {
            int line = line0 - above + at / SAMPLES, sample = at % SAMPLES;
            mask[at] = !left_out(line, sample);
            for (int b = 0; b < BANDS; b++) {
                data[at * BANDS + b] = mask[at] ? (float)stored_value(line, sample, b) : 0;
            }
        }
        HcBlock block = {.data = data,
                         .mask = mask,
                         .line0 = line0,
                         .lines = lines,
                         .above = above,
                         .samples = SAMPLES,
                         .bands = BANDS};
        check_ok(hc_ortho_store_put(store, &block, &err), err);
    }
    free(data);
    free(mask);
}

static void check_map(const char *path) {
    static uint8_t line[BANDS][MAP_SAMPLES];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    for (int y = 0; y < MAP_LINES; y++) {
        assert_int_equal(fread(line, 1, sizeof line, file), sizeof line);
        for (int x = 0; x < MAP_SAMPLES; x++) {
            int16_t s, l;
            number_of(y, x, &s, &l);
            bool none = s == 0 || left_out(l - 1, s - 1);
            for (int b = 0; b < BANDS; b++) {
                int wanted = none ? 255 : stored_value(l - 1, s - 1, b);
                if (line[b][x] != wanted) {
                    fail_msg("line %d sample %d band %d: %d instead of %d", y, x, b, line[b][x], wanted);
                }
            }
        }
    }
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
}

static const HcScene scene = {.lines = LINES, .samples = SAMPLES, .bands = BANDS, .type = HC_FLOAT32};

/* Opens the map and its writer. */
static HcWriter *open_map(HcOrtho **ortho) {
    HcError err = {0};
    HcWriter *writer = NULL;
    HcScene map = {0};
    HcWriterOptions how = {.has_type = true, .type = HC_UINT8, .interleave = "bil", .overwrite = true};
    check_ok(hc_ortho_open(ortho, &scene, "a scene", write_table(), 0, &err), err);
    assert_true(hc_ortho_write_bytes(&scene, *ortho) < (size_t)40 << 20);
    check_ok(hc_ortho_scene(*ortho, &scene, &map, &err), err);
    assert_int_equal(map.lines, MAP_LINES);
    check_ok(hc_writer_open(&writer, in_folder("map.img"), &map, &how, &err), err);
    hc_scene_clear(&map);
    return writer;
}

static void write_map(bool in_memory, int step) {
    HcError err = {0};
    HcOrtho *ortho = NULL;
    HcOrthoStore *store = NULL;
    HcWriter *writer = open_map(&ortho);
    check_ok(hc_ortho_store_open(&store, &scene, in_memory ? NULL : in_folder("map.img"), &err), err);
    put_lines(store, step);
    check_ok(hc_ortho_store_flush(store, &err), err);
    check_ok(hc_ortho_store_write(store, ortho, writer, NULL, &err), err);
    check_ok(hc_writer_finish(writer, &err), err);
    hc_writer_close(writer);
    hc_ortho_store_close(store);
    hc_ortho_close(ortho);
    check_map(in_folder("map.img"));
    assert_int_equal(folder_entries(folder), 4);
}

static void stores_give_the_same_map(void **state) {
    (void)state;
    write_map(true, 4);
    write_map(false, 4);
    write_map(false, LINES);
}

/* Lines of two processes in one file. */
static void stores_are_shared(void **state) {
    (void)state;
    HcError err = {0};
    HcOrtho *ortho = NULL;
    HcOrthoStore *first = NULL, *second = NULL;
    HcWriter *writer = open_map(&ortho);
    check_ok(hc_ortho_store_open(&first, &scene, in_folder("map.img"), &err), err);
    check_ok(hc_ortho_store_join(&second, &scene, hc_ortho_store_file(first), &err), err);
    put_lines(second, 7);
    check_ok(hc_ortho_store_flush(second, &err), err);
    hc_ortho_store_close(second);
    assert_int_equal(access(hc_ortho_store_file(first), F_OK), 0);
    check_ok(hc_ortho_store_flush(first, &err), err);
    check_ok(hc_ortho_store_write(first, ortho, writer, NULL, &err), err);
    check_ok(hc_writer_finish(writer, &err), err);
    hc_writer_close(writer);
    hc_ortho_store_close(first);
    hc_ortho_close(ortho);
    check_map(in_folder("map.img"));
}

/* A file that is too short, and a run that is interrupted: one line, and nothing is left. */
static void failures_leave_nothing(void **state) {
    (void)state;
    HcError err = {0};
    HcOrtho *ortho = NULL;
    HcOrthoStore *store = NULL;
    HcFlag cancel = {1};
    unlink(in_folder("map.img"));
    unlink(in_folder("map.hdr"));
    HcWriter *writer = open_map(&ortho);
    check_ok(hc_ortho_store_open(&store, &scene, in_folder("map.img"), &err), err);
    put_lines(store, 5);
    assert_int_equal(hc_ortho_store_write(store, ortho, writer, &cancel, &err), HC_E_CANCELLED);
    err = (HcError){0};
    assert_int_equal(truncate(hc_ortho_store_file(store), 1000), 0);
    assert_int_equal(hc_ortho_store_write(store, ortho, writer, NULL, &err), HC_E_IO);
    check_says(err.text, "map.img ... temporary file of 1440000 bytes ... ends before");
    hc_writer_close(writer);
    hc_ortho_store_close(store);
    hc_ortho_close(ortho);
    assert_int_equal(folder_entries(folder), 2);
}

/* ---- coordinates ---- */

/* So many pixels that the search goes by several strips of the map. */
enum { WIDE = 1250, LONG = 1300 };

/* A turned grid of squares: rounding in its own axes gives the nearest pixel. */
static void large_scenes_are_searched_in_strips(void **state) {
    (void)state;
    HcError err = {0};
    HcOrtho *ortho = NULL;
    const double c = cos(0.4), s = sin(0.4), east = 300000, north = 6000000, size = 30;
    HcScene wide = {.lines = LONG, .samples = WIDE, .bands = 1, .type = HC_FLOAT32};
    double *x = malloc(sizeof *x * WIDE), west = INFINITY, top = -INFINITY;
    char text[300];
    FILE *file = fopen(in_folder("igm.img"), "wb");
    assert_non_null(file);
    for (int l = 0; l < LONG; l++) { /* by lines: x, then y */
        for (int which = 0; which < 2; which++) {
            for (int p = 0; p < WIDE; p++) {
                x[p] = which == 0 ? east + size * (c * p - s * l) : north - size * (s * p + c * l);
                west = which == 0 ? fmin(west, x[p]) : west;
                top = which == 1 ? fmax(top, x[p]) : top;
            }
            assert_int_equal(fwrite(x, sizeof *x, WIDE, file), WIDE);
        }
    }
    fclose(file);
    free(x);
    snprintf(text, sizeof text,
             "ENVI\nsamples = %d\nlines = %d\nbands = 2\nheader offset = 0\nfile type = ENVI Standard\n"
             "data type = 5\ninterleave = bil\nbyte order = 0\n",
             WIDE, LONG);
    put_file(in_folder("igm.hdr"), text);
    check_ok(hc_ortho_open(&ortho, &wide, "a scene", in_folder("igm.img"), 0, &err), err);
    HcOrthoFacts facts = hc_ortho_facts(ortho);
    assert_true(facts.nearest);
    check_near(facts.spacing, size, 1e-6);
    assert_true(facts.lines * facts.samples > 2 * 1300000); /* two strips of 16 MiB at least */
    HcOrthoPixel *line = malloc(sizeof *line * (size_t)facts.samples);
    int64_t inside = 0;
    for (int64_t y = 0; y < facts.lines; y++) {
        check_ok(hc_ortho_lines(ortho, y, 1, line, &err), err);
        for (int64_t m = 0; m < facts.samples; m++) {
            double dx = (west - east) / size + (double)m, dy = (north - top) / size + (double)y;
            double across = c * dx + s * dy, along = c * dy - s * dx;
            double sample = floor(across + 0.5), at = floor(along + 0.5);
            bool edge = fabs(fabs(across - sample) - 0.5) < 1e-6 || fabs(fabs(along - at) - 0.5) < 1e-6;
            if (sample < 0 || sample >= WIDE || at < 0 || at >= LONG || edge) {
                continue;
            }
            inside++;
            if (line[m].sample != (int)sample || line[m].line != (int)at) {
                fail_msg("pixel %d, %d of the map: line %d sample %d instead of %g, %g", (int)y, (int)m,
                         line[m].line, line[m].sample, at, sample);
            }
        }
    }
    assert_true(inside > (int64_t)WIDE * LONG * 99 / 100);
    free(line);
    hc_ortho_close(ortho);
}

/* The largest piece of memory that was asked for. */
static size_t largest;

void *__real_malloc(size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);

void *__wrap_malloc(size_t bytes) {
    largest = bytes > largest ? bytes : largest;
    return __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
    largest = count * bytes > largest ? count * bytes : largest;
    return __real_calloc(count, bytes);
}

enum { HUGE_SIDE = 1200 }; /* of a table of one chunk: 1,440,000 pixels */

static void add_array(GDALGroupH root, const char *name, int along, int across) {
    char **options = CSLSetNameValue(NULL, "BLOCKSIZE", "1200,1200");
    options = CSLSetNameValue(options, "COMPRESS", "DEFLATE");
    GDALDimensionH axes[2] = {
        GDALGroupCreateDimension(root, CPLSPrintf("%s_y", name), "", "", HUGE_SIDE, NULL),
        GDALGroupCreateDimension(root, CPLSPrintf("%s_x", name), "", "", HUGE_SIDE, NULL)};
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Int32);
    GDALMDArrayH array = GDALGroupCreateMDArray(root, name, 2, axes, type, options);
    assert_non_null(array);
    int32_t *values = malloc(sizeof *values * HUGE_SIDE * HUGE_SIDE);
    const GUInt64 start[2] = {0, 0};
    const size_t count[2] = {HUGE_SIDE, HUGE_SIDE};
    for (int i = 0; i < HUGE_SIDE * HUGE_SIDE; i++) {
        values[i] = (i / HUGE_SIDE * along + i % HUGE_SIDE * across) % 30 + 1;
    }
    assert_true(GDALMDArrayWrite(array, start, count, NULL, NULL, type, values, values,
                                 sizeof *values * HUGE_SIDE * HUGE_SIDE));
    free(values);
    GDALMDArrayRelease(array);
    GDALExtendedDataTypeRelease(type);
    GDALDimensionRelease(axes[0]);
    GDALDimensionRelease(axes[1]);
    CSLDestroy(options);
}

/* A chunk that is larger than memory allows is read in parts, which give the same table. */
static void huge_chunks_are_read_in_parts(void **state) {
    (void)state;
    HcError err = {0};
    const char *path = in_folder("huge.nc");
    GDALDriverH driver = GDALGetDriverByName("netCDF");
    if (driver == NULL) {
        skip();
    }
    GDALDatasetH dataset = GDALCreateMultiDimensional(driver, path, NULL, NULL);
    assert_non_null(dataset);
    GDALGroupH root = GDALDatasetGetRootGroup(dataset);
    add_array(root, "glt_x", 1, 3);
    add_array(root, "glt_y", 7, 2);
    GDALGroupRelease(root);
    GDALClose(dataset);
    char file[300], sample[] = "/glt_x", line[] = "/glt_y";
    snprintf(file, sizeof file, "%s", path);
    const HcScene huge = {.lines = 30,
                          .samples = 30,
                          .bands = 1,
                          .type = HC_FLOAT32,
                          .lookup = {.file = file, .sample = sample, .line = line}};
    const size_t pair = 2 * sizeof(double);
    const uint64_t memory[] = {0, (uint64_t)24 << 20};
    for (int m = 0; m < 2; m++) {
        HcOrtho *ortho = NULL;
        HcOrthoPixel row[HUGE_SIDE];
        largest = 0;
        check_ok(hc_ortho_open(&ortho, &huge, "a scene", NULL, memory[m], &err), err);
        assert_true(m == 0 ? largest >= pair * HUGE_SIDE * HUGE_SIDE : largest <= pair << 20);
        for (int y = 0; y < HUGE_SIDE; y++) {
            check_ok(hc_ortho_lines(ortho, y, 1, row, &err), err);
            for (int x = 0; x < HUGE_SIDE; x++) {
                assert_int_equal(row[x].sample, (y + 3 * x) % 30);
                assert_int_equal(row[x].line, (7 * y + 2 * x) % 30);
            }
        }
        hc_ortho_close(ortho);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stores_give_the_same_map),
        cmocka_unit_test(stores_are_shared),
        cmocka_unit_test(failures_leave_nothing),
        cmocka_unit_test(large_scenes_are_searched_in_strips),
        cmocka_unit_test(huge_chunks_are_read_in_parts),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
