/* Files that GDAL reads through drivers which hide failures: each read fails once, and each file is cut at
 * many lengths. The scene is then the same, or refused with the name of a file. */
#include "read_all.h"
#include "write_fixture.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

enum { LINES = 90, SAMPLES = 70, BANDS = 3 };

/* ---- faults ---- */

static long countdown; /* reads of files of the folder until one fails, 0 = none does */

static bool fails_now(int file) {
    char link[40], path[600] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    bool ours = countdown > 0 && readlink(link, path, sizeof path - 1) > 0 &&
                strncmp(path, folder, strlen(folder)) == 0;
    return ours && --countdown == 0;
}

#define READS(result, none, name, parameters, arguments, file)                                               \
    result name parameters;                                                                                  \
    result name parameters {                                                                                 \
        static result(*next) parameters;                                                                     \
        if (next == NULL) {                                                                                  \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                                                       \
        }                                                                                                    \
        if (fails_now(file)) {                                                                               \
            errno = EIO;                                                                                     \
            return none;                                                                                     \
        }                                                                                                    \
        return next arguments;                                                                               \
    }

READS(size_t, 0, fread, (void *restrict to, size_t size, size_t count, FILE *restrict file),
      (to, size, count, file), fileno(file))
READS(ssize_t, -1, read, (int file, void *to, size_t count), (file, to, count), file)
READS(ssize_t, -1, pread, (int file, void *to, size_t count, off_t from), (file, to, count, from), file)
READS(ssize_t, -1, pread64, (int file, void *to, size_t count, off64_t from), (file, to, count, from), file)

/* ---- the files ---- */

typedef struct Format {
    const char *driver, *name, *option;
    GDALDataType type;
    bool never_direct;
    const char *of; /* the file that is cut, where it is another */
} Format;

static const Format formats[] = {
    {"HFA", "a.img", NULL, GDT_UInt16, false, NULL},
    {"HFA", "compressed.img", "COMPRESSED=YES", GDT_UInt16, false, NULL},
    {"PCIDSK", "a.pix", NULL, GDT_UInt16, false, NULL},
    {"PCIDSK", "tiled.pix", "INTERLEAVING=TILED", GDT_UInt16, false, NULL},
    {"ENVI", "raw.dat", "INTERLEAVE=BIL", GDT_UInt16, true, NULL},
    {"EHdr", "a.bil", NULL, GDT_UInt16, true, NULL},
    {"GTiff", "a.tif", "TILED=YES", GDT_UInt16, true, NULL},
    {"JPEG", "a.jpg", NULL, GDT_Byte, false, NULL},
    {"PNG", "a.png", NULL, GDT_Byte, false, NULL},
    {"FITS", "a.fits", NULL, GDT_Int16, false, NULL},
    {"VRT", "hfa.vrt", NULL, GDT_UInt16, false, "a.img"},
    {"VRT", "jpeg.vrt", NULL, GDT_Byte, false, "a.jpg"},
};

/* Small changes around a gradient, without a zero. */
static GDALDatasetH memory_scene(GDALDataType type) {
    GDALDatasetH scene = GDALCreate(GDALGetDriverByName("MEM"), "", SAMPLES, LINES, BANDS, type, NULL);
    double place[6] = {500000, 20, 0, 4000000, 0, -20};
    assert_int_equal(GDALSetGeoTransform(scene, place), CE_None);
    for (int b = 1; b <= BANDS; b++) {
        float values[LINES * SAMPLES];
        for (int p = 0; p < LINES * SAMPLES; p++) {
            values[p] = (float)(40 + 30 * b + p / SAMPLES + (p * 7919) % 23);
        }
        GDALRasterBandH band = GDALGetRasterBand(scene, b);
        GDALSetRasterNoDataValue(band, 77);
        assert_int_equal(
            GDALRasterIO(band, GF_Write, 0, 0, SAMPLES, LINES, values, SAMPLES, LINES, GDT_Float32, 0, 0),
            CE_None);
    }
    return scene;
}

/* False where this GDAL lacks the driver. */
static bool make(const Format *format) {
    GDALDriverH driver = GDALGetDriverByName(format->driver);
    if (driver == NULL) {
        return false;
    }
    const char *options[] = {format->option, NULL};
    GDALDatasetH from =
        format->of != NULL ? GDALOpen(in_folder(format->of), GA_ReadOnly) : memory_scene(format->type);
    assert_non_null(from);
    GDALDatasetH made =
        GDALCreateCopy(driver, in_folder(format->name), from, FALSE, (char **)options, NULL, NULL);
    assert_non_null(made);
    GDALClose(made);
    GDALClose(from);
    return true;
}

/* The values and nodata of the scene; NULL where it is refused. */
static char *read_scene(const Format *format, size_t *bytes, HcError *err) {
    const HcReaderOptions options = {.never_direct = format->never_direct};
    HcReader *reader = NULL;
    if (hc_reader_open(&reader, in_folder(format->name), &options, err) != HC_OK) {
        return NULL;
    }
    const HcScene *scene = hc_reader_scene(reader);
    double nodata = scene->has_nodata ? scene->nodata : -1;
    int32_t *bands = all_bands(reader);
    size_t size = hc_type_bytes(scene->type) * LINES * SAMPLES * BANDS;
    assert_int_equal(scene->lines * scene->samples * scene->bands, LINES * SAMPLES * BANDS);
    char *all = read_all(reader, 13, bands, BANDS, err);
    all = all != NULL ? realloc(all, size + sizeof nodata) : NULL;
    if (all != NULL) {
        memcpy(all + size, &nodata, sizeof nodata);
    }
    *bytes = size + sizeof nodata;
    free(bands);
    hc_reader_close(reader);
    return all;
}

static void check_same_or_refused(const Format *format, const char *expected, size_t bytes, const char *what,
                                  long number) {
    HcError err = {0};
    size_t got = 0;
    char *all = read_scene(format, &got, &err);
    if (all != NULL && (got != bytes || memcmp(all, expected, bytes) != 0)) {
        fail_msg("%s: %s %ld: other values", format->name, what, number);
    }
    if (all == NULL && strstr(err.text, folder) == NULL) {
        fail_msg("%s: %s %ld: says \"%s\"", format->name, what, number, err.text);
    }
    free(all);
}

/* Of the first reads each fails once, later ones at growing distances: some drivers read byte by byte. */
static void fail_reads(const Format *format, const char *expected, size_t bytes) {
    for (long number = 1;; number += 1 + number / 6) {
        countdown = number;
        check_same_or_refused(format, expected, bytes, "read", number);
        if (countdown > 0) {
            break;
        }
        countdown = 0;
    }
    countdown = 0;
}

static void cut_file(const Format *format, const char *expected, size_t bytes) {
    enum { CUTS = 24 };
    const char *name = format->of != NULL ? format->of : format->name;
    FILE *file = fopen(in_folder(name), "rb");
    assert_non_null(file);
    char *whole = malloc(1 << 20);
    size_t size = fread(whole, 1, 1 << 20, file);
    fclose(file);
    for (int c = 1; c <= CUTS; c++) {
        assert_int_equal(truncate(in_folder(name), (off_t)(size * (size_t)c / (CUTS + 1))), 0);
        check_same_or_refused(format, expected, bytes, "cut", c);
        file = fopen(in_folder(name), "wb");
        assert_int_equal(fwrite(whole, 1, size, file), size);
        fclose(file);
    }
    free(whole);
}

static void what_drivers_hide(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        HcError err = {0};
        size_t bytes = 0;
        if (!make(&formats[i])) {
            continue;
        }
        char *expected = read_scene(&formats[i], &bytes, &err);
        if (expected == NULL) {
            fail_msg("%s: refused: %s", formats[i].name, err.text);
        }
        fail_reads(&formats[i], expected, bytes);
        cut_file(&formats[i], expected, bytes);
        free(expected);
    }
}

/* ---- netCDF 3, by its own library ---- */

static void put_numbers(FILE *file, const uint32_t *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const uint32_t number = htonl(numbers[i]);
        assert_int_equal(fwrite(&number, sizeof number, 1, file), 1);
    }
}

/* The classic format: `variables` arrays of int16 with 2 bands, 3 lines, 5 samples; bands are records, or
 * not. */
static size_t write_classic(const char *path, bool records, uint32_t variables) {
    enum { A = 0x61000000, SHORT = 3, RECORD_BYTES = 30, PADDED = 32 };
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    const uint32_t bytes = records ? (variables > 1 ? PADDED : RECORD_BYTES) : 2 * RECORD_BYTES;
    const uint32_t head = 4 + 4 + 8 + 3 * 12 + 8 + 8 + variables * (8 + 4 + 12 + 8 + 4 + 4 + 4);
    put_numbers(file, (const uint32_t[]){0x43444601, records ? 2 : 0, 10, 3}, 4);
    for (uint32_t d = 0; d < 3; d++) {
        const uint32_t size[] = {records ? 0 : 2, 3, 5};
        const uint32_t names[] = {0x62616e64, 0x6c696e65, 0x636f6c73}; /* band, line, cols */
        put_numbers(file, (const uint32_t[]){4, names[d], size[d]}, 3);
    }
    put_numbers(file, (const uint32_t[]){0, 0, 11, variables}, 4);
    for (uint32_t v = 0; v < variables; v++) {
        put_numbers(
            file, (const uint32_t[]){1, A + (v << 24), 3, 0, 1, 2, 0, 0, SHORT, bytes, head + v * bytes}, 11);
    }
    assert_int_equal(ftell(file), head);
    size_t all = records && variables > 1 ? 2 * variables * PADDED - 2 : 2 * variables * RECORD_BYTES;
    for (size_t i = 0; i < all; i++) {
        putc(i % 2 == 0 ? 0 : 1 + (int)i, file);
    }
    fclose(file);
    return head + all;
}

/* A file that lacks its last byte or more is refused; its library reads zeros there. */
static void netcdf3_is_whole(void **state) {
    (void)state;
    const char *path = in_folder("classic.nc");
    if (GDALGetDriverByName("netCDF") == NULL) {
        skip();
    }
    for (int kind = 0; kind < 4; kind++) {
        HcReader *reader = NULL;
        HcError err = {0};
        const uint32_t variables = kind < 2 ? 1 : 2;
        size_t bytes = write_classic(path, kind % 2 == 1, variables);
        const char *name = in_folder("classic.nc");
        char part[700];
        snprintf(part, sizeof part, variables > 1 ? "NETCDF:%s:b" : "%s", name);
        check_ok(hc_reader_open(&reader, part, NULL, &err), err);
        assert_int_equal(hc_reader_scene(reader)->bands, 2);
        hc_reader_close(reader);
        for (size_t cut = 1; cut < 40; cut++) {
            assert_int_equal(truncate(path, (off_t)(bytes - cut)), 0);
            assert_int_equal(hc_reader_open(&reader, part, NULL, &err), HC_E_INPUT);
            assert_non_null(strstr(err.text, "classic.nc: is cut off: it has"));
        }
    }
}

/* A count that the file cannot hold is refused before its library makes memory for it. */
static void netcdf3_counts_fit(void **state) {
    (void)state;
    static const int words[] = {3,  4,  14,
                                16, 17, 19}; /* dimensions, a name, attributes, variables, name, rank */
    const char *path = in_folder("classic.nc");
    if (GDALGetDriverByName("netCDF") == NULL) {
        skip();
    }
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        HcReader *reader = NULL;
        HcError err = {0};
        write_classic(path, false, 1);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        if (words[w] == 14) {
            assert_int_equal(fseek(file, 13 * 4, SEEK_SET), 0);
            put_numbers(file, (const uint32_t[]){12}, 1);
        }
        assert_int_equal(fseek(file, words[w] * 4, SEEK_SET), 0);
        put_numbers(file, (const uint32_t[]){0x10000000}, 1);
        fclose(file);
        assert_int_equal(hc_reader_open(&reader, path, NULL, &err), HC_E_INPUT);
        assert_non_null(strstr(err.text, "classic.nc: is cut off: it has"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(netcdf3_counts_fit, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(what_drivers_hide, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(netcdf3_is_whole, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
