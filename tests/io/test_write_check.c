/* The check of finished outputs: a TIFF file that ends early is told from a whole one, wherever it ends. */
#include "io/file.h"
#include "io/write/parts.h"
#include "write_fixture.h"

#include <cpl_string.h>

/* A small file by GDAL itself, with these options (separated by blanks). */
static void make_tiff(const char *path, const char *driver, const char *words, int overviews) {
    char **options = CSLTokenizeString2(words, " ", 0);
    GDALDatasetH memory = GDALCreate(GDALGetDriverByName("MEM"), "", 150, 130, 3, GDT_Int16, NULL);
    int16_t row[150];
    for (int b = 1; b <= 3; b++) {
        for (int l = 0; l < 130; l++) {
            for (int s = 0; s < 150; s++) {
                row[s] = (int16_t)(b * 1000 + l * 7919 % 331 + s * 31);
            }
            assert_int_equal(GDALRasterIO(GDALGetRasterBand(memory, b), GF_Write, 0, l, 150, 1, row, 150, 1,
                                          GDT_Int16, 0, 0),
                             CE_None);
        }
        GDALSetDescription(GDALGetRasterBand(memory, b), "a band with a name that needs some memory");
    }
    GDALDatasetH copy = GDALCreateCopy(GDALGetDriverByName(driver), path, memory, FALSE, options, NULL, NULL);
    assert_non_null(copy);
    if (overviews > 0) {
        int factor = overviews;
        assert_int_equal(GDALBuildOverviews(copy, "NEAREST", 1, &factor, 0, NULL, NULL, NULL), CE_None);
    }
    GDALClose(copy);
    GDALClose(memory);
    CSLDestroy(options);
}

static const struct {
    const char *driver, *options;
    int overviews;
} files[] = {
    {"GTiff", "TILED=YES BLOCKXSIZE=64 BLOCKYSIZE=48", 0},
    {"GTiff", "INTERLEAVE=BAND BLOCKYSIZE=7", 0},
    {"GTiff", "ENDIANNESS=BIG COMPRESS=LZW", 0},
    {"GTiff", "BIGTIFF=YES TILED=YES BLOCKXSIZE=64 BLOCKYSIZE=64 COMPRESS=DEFLATE", 2},
    {"GTiff", "BIGTIFF=YES ENDIANNESS=BIG INTERLEAVE=BAND", 3},
    {"COG", "BLOCKSIZE=128 BIGTIFF=YES", 0},
    {"COG", "BLOCKSIZE=128 COMPRESS=DEFLATE", 0},
};

/* No file whose end is missing passes, whole ones do. */
static void tiff_that_ends_early(void **state) {
    (void)state;
    HcError err = {0};
    const char *path = in_folder("a.tif");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        int64_t size = 0;
        make_tiff(path, files[i].driver, files[i].options, files[i].overviews);
        check_ok(hc_write_check_tiff(path, "out.tif", false, &err), err);
        assert_true(hc_file_identity(path, &size, NULL));
        for (int64_t end = size - 1; end >= 0; end -= end > size - 300 || end < 20 ? 1 : 487) {
            assert_int_equal(truncate(path, end), 0);
            HcStatus status = hc_write_check_tiff(path, "out.tif", false, &err);
            if (status != HC_E_IO || strncmp(err.text, "out.tif: ", 9) != 0) {
                fail_msg("%s %s, %lld of %lld bytes: status %d \"%s\"", files[i].driver, files[i].options,
                         (long long)end, (long long)size, (int)status, err.text);
            }
            err = (HcError){0};
        }
        unlink(path);
    }
}

/* Tiles that were never written are allowed in a sparse file alone. */
static void tiff_without_tiles(void **state) {
    (void)state;
    HcError err = {0};
    const char *path = in_folder("a.tif");
    char **options = CSLTokenizeString2("SPARSE_OK=TRUE TILED=YES BLOCKXSIZE=64 BLOCKYSIZE=64", " ", 0);
    GDALClose(GDALCreate(GDALGetDriverByName("GTiff"), path, 150, 130, 3, GDT_Int16, options));
    CSLDestroy(options);
    check_ok(hc_write_check_tiff(path, path, true, &err), err);
    assert_int_equal(hc_write_check_tiff(path, path, false, &err), HC_E_IO);
    assert_non_null(strstr(err.text, "a strip or tile is missing"));
}

/* Directories that follow each other in a circle, and bytes that are none at all. */
static void tiff_that_lies(void **state) {
    (void)state;
    HcError err = {0};
    const char *path = in_folder("a.tif");
    make_tiff(path, "GTiff", "", 0);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    unsigned char head[8], count[2];
    assert_int_equal(fread(head, 1, 8, file), 8);
    long first = head[4] | head[5] << 8 | head[6] << 16 | head[7] << 24;
    assert_int_equal(fseek(file, first, SEEK_SET), 0);
    assert_int_equal(fread(count, 1, 2, file), 2);
    assert_int_equal(fseek(file, first + 2 + 12 * (count[0] | count[1] << 8), SEEK_SET), 0);
    assert_int_equal(fwrite(head + 4, 1, 4, file), 4);
    assert_int_equal(fclose(file), 0);
    check_fails(hc_write_check_tiff(path, path, false, &err), HC_E_IO, err);
    err = (HcError){0};
    put_file(path, "no TIFF file at all, but a text");
    check_fails(hc_write_check_tiff(path, path, false, &err), HC_E_IO, err);
}

#define in_own_folder(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        in_own_folder(tiff_that_ends_early),
        in_own_folder(tiff_without_tiles),
        in_own_folder(tiff_that_lies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
