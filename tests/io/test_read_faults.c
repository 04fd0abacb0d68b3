/* A scene is opened with all that describes it, or not at all: memory and descriptors that are missing are
 * never taken for a flaw of the file. Every allocation of io/ and core/ (by the linker's --wrap) and every
 * opening of a file in the folder, GDAL's too (by functions of the same name), fails once. */
#include "core/text.h"
#include "io/file.h"
#include "io/library/library.h"
#include "io/read/reader.h"
#include "io/training/training.h"
#include "product/product_file.h"
#include "write_fixture.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <ogr_srs_api.h>
#include <stdarg.h>
#include <string.h>

/* ---- faults ---- */

static long countdown;   /* calls until one fails, 0 = none does */
static bool in_memory;   /* of allocations, else of opening */
static int open_failure; /* errno of an opening that fails */

static bool fails_now(bool memory) {
    return countdown > 0 && memory == in_memory && --countdown == 0;
}

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *at, size_t bytes);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *at, size_t bytes);
char *__wrap_strdup(const char *text);

/* The C++ library may be part of the program: its allocations are those of GDAL, and do not count. */
static bool is_of_cpp_library(void *place) {
    Dl_info info;
    return dladdr(place, &info) != 0 && info.dli_sname != NULL && strncmp(info.dli_sname, "_Zn", 3) == 0;
}

void *__wrap_malloc(size_t bytes) {
    return !is_of_cpp_library(__builtin_return_address(0)) && fails_now(true) ? NULL : __real_malloc(bytes);
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return fails_now(true) ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *at, size_t bytes) {
    return fails_now(true) ? NULL : __real_realloc(at, bytes);
}

char *__wrap_strdup(const char *text) {
    return fails_now(true) ? NULL : __real_strdup(text);
}

/* GDAL's own copies end the program where memory runs out, and so do these. */
char *__real_CPLStrdup(const char *text);
char *__real_CPLEscapeString(const char *text, int length, int scheme);
char **__real_CSLAddString(char **list, const char *text);
char **__real_CSLAddStringMayFail(char **list, const char *text);
char *__wrap_CPLStrdup(const char *text);
char *__wrap_CPLEscapeString(const char *text, int length, int scheme);
char **__wrap_CSLAddString(char **list, const char *text);
char **__wrap_CSLAddStringMayFail(char **list, const char *text);

static void end_if_it_fails(const char *call) {
    if (fails_now(true)) {
        fail_msg("%s ends the program where memory runs out", call);
    }
}

char *__wrap_CPLStrdup(const char *text) {
    end_if_it_fails("CPLStrdup");
    return __real_CPLStrdup(text);
}

char *__wrap_CPLEscapeString(const char *text, int length, int scheme) {
    end_if_it_fails("CPLEscapeString");
    return __real_CPLEscapeString(text, length, scheme);
}

char **__wrap_CSLAddString(char **list, const char *text) {
    end_if_it_fails("CSLAddString");
    return __real_CSLAddString(list, text);
}

char **__wrap_CSLAddStringMayFail(char **list, const char *text) {
    return fails_now(true) ? NULL : __real_CSLAddStringMayFail(list, text);
}

static bool open_fails(const char *path) {
    size_t length = strlen(folder);
    if (length == 0 || strncmp(path, folder, length) != 0 || !fails_now(false)) {
        return false;
    }
    errno = open_failure;
    return true;
}

#define FOPEN(name)                                                                                          \
    FILE *name(const char *restrict path, const char *restrict mode);                                        \
    FILE *name(const char *restrict path, const char *restrict mode) {                                       \
        static FILE *(*next)(const char *, const char *);                                                    \
        if (next == NULL) {                                                                                  \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                                                       \
        }                                                                                                    \
        return open_fails(path) ? NULL : next(path, mode);                                                   \
    }

#define OPEN(name)                                                                                           \
    int name(const char *path, int flags, ...);                                                              \
    int name(const char *path, int flags, ...) {                                                             \
        static int (*next)(const char *, int, ...);                                                          \
        va_list more;                                                                                        \
        va_start(more, flags);                                                                               \
        unsigned int mode = (flags & O_CREAT) != 0 ? va_arg(more, unsigned int) : 0;                         \
        va_end(more);                                                                                        \
        if (next == NULL) {                                                                                  \
            *(void **)&next = dlsym(RTLD_NEXT, #name);                                                       \
        }                                                                                                    \
        return open_fails(path) ? -1 : next(path, flags, mode);                                              \
    }

FOPEN(fopen)
FOPEN(fopen64)
OPEN(open)
OPEN(open64)

/* ---- what a scene says ---- */

static void add_numbers(HcText *text, const char *what, const double *values, int32_t count) {
    hc_text_add(text, "%s:", what);
    for (int32_t i = 0; values != NULL && i < count; i++) {
        hc_text_add(text, " %.17g", values[i]);
    }
    hc_text_add(text, "\n");
}

static char *description(const HcReader *reader) {
    const HcScene *scene = hc_reader_scene(reader);
    HcText text = {0};
    hc_text_add(&text, "%d %d %d %d %d\n", (int)scene->bands, (int)scene->lines, (int)scene->samples,
                (int)scene->type, (int)scene->meaning);
    add_numbers(&text, "wavelength", scene->wavelength, scene->bands);
    add_numbers(&text, "fwhm", scene->fwhm, scene->bands);
    add_numbers(&text, "gain", scene->gain, scene->bands);
    add_numbers(&text, "offset", scene->offset, scene->bands);
    add_numbers(&text, "transform", scene->place.has_transform ? scene->place.transform : NULL, 6);
    for (int32_t b = 0; b < scene->bands; b++) {
        hc_text_add(&text, "%d '%s'\n", scene->bad != NULL && scene->bad[b],
                    scene->band_name != NULL && scene->band_name[b] != NULL ? scene->band_name[b] : "");
    }
    hc_text_add(&text, "%d %.17g %d %d\n", scene->has_nodata, scene->nodata, scene->has_default_bands,
                scene->default_bands[1]);
    for (int32_t c = 0; c < scene->classes.count; c++) {
        hc_text_add(&text, "class %s %d\n", scene->classes.name[c], scene->classes.colour[c][1]);
    }
    hc_text_add(&text, "crs %s\ndescription %s\nnote %s\n", scene->place.crs != NULL ? scene->place.crs : "",
                scene->description != NULL ? scene->description : "",
                hc_reader_note(reader) != NULL ? hc_reader_note(reader) : "");
    assert_false(text.failed);
    return hc_text_take(&text);
}

/* ---- the scenes ---- */

static void put_values(const char *path, size_t bytes) {
    char *zeros = calloc(bytes, 1);
    FILE *file = fopen(path, "wb");
    assert_true(zeros != NULL && file != NULL);
    assert_int_equal(fwrite(zeros, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
    free(zeros);
}

#define FIELDS                                                                                               \
    "wavelength units = Micrometers\nwavelength = {0.4, 0.5, 0.6}\nfwhm = {0.01, 0.02, 0.03}\n"              \
    "bbl = {1, 0, 1}\nband names = {a, b, c}\ndefault bands = {3, 2, 1}\ndata ignore value = -9999\n"        \
    "data gain values = {2, 2, 2}\ndata offset values = {0, 1, 0}\ndescription = {a scene}\n"                \
    "class names = {none, oak, clay}\nclass lookup = {0, 0, 0, 1, 2, 3, 4, 5, 6}\n"

static void make_scenes(void) {
    put_values(in_folder("envi.img"), 5 * 4 * 3 * 2);
    put_file(
        in_folder("envi.hdr"),
        "ENVI\nsamples = 5\nlines = 4\nbands = 3\ndata type = 2\ninterleave = bil\nbyte order = 0\n" FIELDS
        "map info = {UTM, 1, 1, 500000, 4000000, 30, 20, 33, North, WGS-84, units=Meters}\n");
    /* A list that is broken is a remark, still. */
    put_values(in_folder("flaw.img"), 5 * 4 * 3 * 2);
    put_file(in_folder("flaw.hdr"), "ENVI\nsamples = 5\nlines = 4\nbands = 3\ndata type = 2\ninterleave = "
                                    "bsq\nbbl = {1, x, 0}\nfwhm = {1, 2}\n");
    /* One that GDAL does not read as we do: 64-bit integers, by way of a virtual raster. */
    put_values(in_folder("deep & wide.img"), 5 * 4 * 3 * 8);
    put_file(in_folder("deep & wide.hdr"),
             "ENVI\nsamples = 5\nlines = 4\nbands = 3\ndata type = 14\ninterleave = bip\n");
    /* A header whose data has another ending, and data that GDAL opens with a TIFF's. */
    put_values(in_folder("other.bands"), 5 * 4 * 3 * 2);
    put_file(in_folder("other.hdr"),
             "ENVI\nsamples = 5\nlines = 4\nbands = 3\ndata type = 2\ninterleave = bsq\n");
    /* A TIFF whose metadata lie in a .aux.xml, and one that an ENVI header describes. */
    static const char *const names[] = {"side.tif", "header.tif"};
    char *baseline[] = {(char[]){"PROFILE=BASELINE"}, NULL};
    for (int i = 0; i < 2; i++) {
        double transform[6] = {10, 2, 0, 20, 0, -2};
        GDALDatasetH made =
            GDALCreate(GDALGetDriverByName("GTiff"), in_folder(names[i]), 5, 4, 3, GDT_Int16, baseline);
        assert_non_null(made);
        if (i == 0) {
            GDALSetGeoTransform(made, transform);
            GDALSetMetadataItem(made, "wavelength", "{400, 500, 600}", "ENVI");
            GDALSetMetadataItem(made, "wavelength_units", "Nanometers", "ENVI");
            for (int b = 1; b <= 3; b++) {
                GDALSetDescription(GDALGetRasterBand(made, b), b == 2 ? "two" : "other");
                GDALSetMetadataItem(GDALGetRasterBand(made, b), "bbl", b == 2 ? "0" : "1", NULL);
                GDALSetRasterNoDataValue(GDALGetRasterBand(made, b), -7);
            }
        }
        GDALClose(made);
    }
    put_file(in_folder("header.tif.hdr"), "ENVI\nsamples = 5\nlines = 4\nbands = 3\ndata type = "
                                          "2\ninterleave = bip\nfile type = TIFF\n" FIELDS);
}

/* Products: a TIFF with a STAC item, one with the metadata of EnMAP, and a file of arrays. */
static void make_products(void) {
    static const char *const names[] = {"stac.tif", "e-SPECTRAL_IMAGE.tif"};
    for (int i = 0; i < 2; i++) {
        GDALClose(GDALCreate(GDALGetDriverByName("GTiff"), in_folder(names[i]), 5, 4, 2, GDT_Int16, NULL));
    }
    put_file(in_folder("stac.json"),
             "{\"type\": \"Feature\", \"stac_version\": \"1.0.0\", \"id\": \"a\", \"assets\": {\"cube\": "
             "{\"href\": "
             "\"stac.tif\", \"eo:bands\": [{\"center_wavelength\": 0.5, \"full_width_half_max\": 0.01}, "
             "{\"center_wavelength\": 0.6, \"full_width_half_max\": 0.01}]}}}");
#define BAND(wavelength)                                                                                     \
    "<bandID><wavelengthCenterOfBand>" wavelength "</wavelengthCenterOfBand><FWHMOfBand>6</FWHMOfBand>"      \
    "<GainOfBand>0.1</GainOfBand><OffsetOfBand>1</OffsetOfBand></bandID>"
    put_file(
        in_folder("e-METADATA.XML"),
        "<level_X><specific><bandCharacterisation>" BAND("420") BAND(
            "1200") "</bandCharacterisation><vnirProductQuality><expectedChannelsList>1</"
                    "expectedChannelsList>"
                    "</vnirProductQuality><swirProductQuality><expectedChannelsList>2</expectedChannelsList>"
                    "</swirProductQuality></specific></level_X>");
}

/* PRISMA has two arrays, attributes and a place. */
static void make_arrays(const char *path) {
    static const double list[][2] = {{900, 0}, {6, 0}, {1200, 950}, {7, 8}};
    static const char *const lists[] = {"List_Cw_Vnir", "List_Fwhm_Vnir", "List_Cw_Swir", "List_Fwhm_Swir"};
    static const char *const numbers[] = {"L2ScaleVnirMin",
                                          "L2ScaleVnirMax",
                                          "L2ScaleSwirMin",
                                          "L2ScaleSwirMax",
                                          "Product_ULcorner_easting",
                                          "Product_ULcorner_northing",
                                          "Product_LRcorner_easting",
                                          "Product_LRcorner_northing",
                                          "Epsg_Code"};
    static const double values[] = {0, 1, 0, 2, 500015, 4000015, 500165, 3999895, 32633};
    ProductFile file = product_begin(path);
    ProductArray of = {.group = "/HDFEOS/SWATHS/PRS_L2D_HCO/Data Fields",
                       .name = "VNIR_Cube",
                       .type = GDT_UInt16,
                       .axes = 3,
                       .axis = {"line", "band", "sample"},
                       .size = {PRODUCT_LINES, 2, PRODUCT_SAMPLES},
                       .values = product_cube("lbs", 2, 0)};
    GDALMDArrayRelease(product_array(&file, &of));
    of.name = "SWIR_Cube";
    GDALMDArrayRelease(product_array(&file, &of));
    for (int k = 0; k < 4; k++) {
        product_numbers(NULL, file.root, lists[k], list[k], 2);
    }
    for (int k = 0; k < 9; k++) {
        product_number(&file, "/", numbers[k], values[k]);
    }
    product_end(&file);
}

/* ---- the tests ---- */

static const char *const scenes[] = {
    "envi.hdr", "envi.img",  "flaw.hdr",       "deep & wide.hdr",      "other.hdr", "side.tif", "header.tif",
    "stac.tif", "stac.json", "e-METADATA.XML", "e-SPECTRAL_IMAGE.tif", "prisma.he5"};

/* Opens the scene with each call failing in turn, until none is left to fail. */
static long fail_each(const char *name, bool memory, int number) {
    HcReader *reader = NULL;
    HcError err = {0};
    long at = 1;
    check_ok(hc_reader_open(&reader, in_folder(name), NULL, &err), err);
    char *wanted = description(reader);
    hc_reader_close(reader);
    for (bool more = true; more; at++) {
        err = (HcError){0};
        in_memory = memory;
        open_failure = number;
        countdown = at;
        HcStatus status = hc_reader_open(&reader, in_folder(name), NULL, &err);
        more = countdown == 0;
        countdown = 0;
        if (status == HC_OK) {
            char *found = description(reader);
            if (strcmp(found, wanted) != 0) {
                fail_msg("%s, call %ld: opened as\n%s\ninstead of\n%s", name, at, found, wanted);
            }
            free(found);
            hc_reader_close(reader);
        } else if (status != (memory ? HC_E_MEMORY : HC_E_IO) || !more) {
            fail_msg("%s, call %ld: status %d, \"%s\"", name, at, (int)status, err.text);
        }
    }
    free(wanted);
    return at;
}

static void missing_memory_is_no_flaw(void **state) {
    (void)state;
    make_scenes();
    make_products();
    if (GDALGetDriverByName("netCDF") != NULL && GDALGetDriverByName("HDF5") != NULL) {
        make_arrays(in_folder("prisma.he5"));
    }
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes && file_exists(in_folder(scenes[s])); s++) {
        assert_true(fail_each(scenes[s], true, 0) > 20);
    }
}

static void files_that_do_not_open_are_no_flaw(void **state) {
    static const int numbers[] = {EMFILE, EIO};
    (void)state;
    make_scenes();
    make_products();
    if (GDALGetDriverByName("netCDF") != NULL && GDALGetDriverByName("HDF5") != NULL) {
        make_arrays(in_folder("prisma.he5"));
    }
    for (size_t s = 0; s < sizeof scenes / sizeof *scenes && file_exists(in_folder(scenes[s])); s++) {
        for (int n = 0; n < 2; n++) {
            assert_true(fail_each(scenes[s], false, numbers[n]) > 3);
        }
    }
}

/* Lines by chunks, from memory or by way of a scratch file: all values, or a failure that says what was
 * missing. */
static void lines_of_chunks_are_all_there(void **state) {
    static const char *const options[] = {"TILED=YES",        "BLOCKXSIZE=16",    "BLOCKYSIZE=16",
                                          "COMPRESS=DEFLATE", "INTERLEAVE=PIXEL", NULL};
    enum { EDGE = 40, BYTES = EDGE * EDGE * 2 };
    static uint8_t values[BYTES], buffer[BYTES];
    (void)state;
    for (int i = 0; i < BYTES; i++) {
        values[i] = (uint8_t)(i * 7 % 251);
    }
    GDALDatasetH made = GDALCreate(GDALGetDriverByName("GTiff"), in_folder("tiles.tif"), EDGE, EDGE, 2,
                                   GDT_Byte, (char **)(uintptr_t)options);
    assert_int_equal(GDALDatasetRasterIOEx(made, GF_Write, 0, 0, EDGE, EDGE, values, EDGE, EDGE, GDT_Byte, 2,
                                           NULL, 2, EDGE * 2, 1, NULL),
                     CE_None);
    GDALClose(made);
    setenv("TMPDIR", folder, 1); /* so that the scratch file is among those that fail to open */
    for (int way = 0; way < 6; way++) {
        in_memory = way % 3 == 0;
        open_failure = way % 3 == 1 ? EMFILE : EIO;
        long at = 1;
        for (bool more = true; more; at++) {
            HcReader *reader = NULL;
            HcError err = {0};
            HcRaw raw;
            HcReaderOptions how = {.threads = 1};
            memset(buffer, 0, sizeof buffer);
            countdown = at;
            HcStatus status = hc_reader_open(&reader, in_folder("tiles.tif"), &how, &err);
            if (status == HC_OK) {
                (void)hc_reader_settle(reader, 0, way < 3 ? 1e9 : 0, false);
                status = hc_reader_read(reader, 0, EDGE, buffer, &raw, &err);
            }
            more = countdown == 0;
            countdown = 0;
            if (status == HC_OK) {
                assert_memory_equal(buffer, values, BYTES);
            } else if (status != (in_memory ? HC_E_MEMORY : HC_E_IO) || err.text[0] == '\0' || !more) {
                fail_msg("way %d, call %ld: status %d, \"%s\"", way, at, (int)status, err.text);
            }
            hc_reader_close(reader);
        }
        assert_true(at > (in_memory ? 20 : 3));
    }
    unsetenv("TMPDIR");
}

/* Names of classes from an attribute table beside the raster. */
static void names_of_classes_are_not_lost(void **state) {
    (void)state;
    uint8_t values[20] = {0, 1, 1, 2, 2, 1, 1, 2};
    GDALDatasetH made =
        GDALCreate(GDALGetDriverByName("GTiff"), in_folder("classes.tif"), 5, 4, 1, GDT_Byte, NULL);
    assert_int_equal(
        GDALRasterIO(GDALGetRasterBand(made, 1), GF_Write, 0, 0, 5, 4, values, 5, 4, GDT_Byte, 0, 0),
        CE_None);
    GDALRasterAttributeTableH table = GDALCreateRasterAttributeTable();
    GDALRATCreateColumn(table, "Value", GFT_Integer, GFU_MinMax);
    GDALRATCreateColumn(table, "Name", GFT_String, GFU_Name);
    static const char *const names[] = {"none", "oak", "clay"};
    for (int r = 0; r < 3; r++) {
        GDALRATSetValueAsInt(table, r, 0, r);
        GDALRATSetValueAsString(table, r, 1, names[r]);
    }
    GDALSetDefaultRAT(GDALGetRasterBand(made, 1), table);
    GDALDestroyRasterAttributeTable(table);
    GDALClose(made);
    HcScene scene = plain_scene(4, 5, 3);
    for (int way = 0; way < 3; way++) {
        in_memory = way == 0;
        open_failure = way == 1 ? EMFILE : EIO;
        long at = 1;
        for (bool more = true; more; at++) {
            HcLabelled got = {0};
            HcError err = {0};
            countdown = at;
            HcStatus status = hc_labelled_read(in_folder("classes.tif"), NULL, NULL, &scene, &got, &err);
            more = countdown == 0;
            countdown = 0;
            if (status == HC_OK) {
                assert_string_equal(got.classes.name[1], "oak");
                assert_string_equal(got.classes.name[2], "clay");
            } else if (status != (way == 0 ? HC_E_MEMORY : HC_E_IO)) {
                fail_msg("call %ld: status %d, \"%s\"", at, (int)status, err.text);
            }
            hc_labelled_clear(&got);
        }
        assert_true(at > 3);
    }
}

/* Values, names and header of a library, in ENVI's form and as CSV. */
static void libraries_are_read_whole_or_not(void **state) {
    static const char *const names[] = {"lib.sli", "lib.hdr", "lib.csv"};
    (void)state;
    put_values(in_folder("lib.sli"), 2 * 3 * 4);
    put_file(in_folder("lib.hdr"), "ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = 4\nbyte order = 0\n"
                                   "file type = ENVI Spectral Library\nspectra names = {oak, clay}\n"
                                   "wavelength units = nm\nwavelength = {400, 500, 600}\nbbl = {1, 0, 1}\n");
    put_file(in_folder("lib.csv"), "nm,oak,clay\n400,0,1\n500,0,1\n600,0,1\n");
    for (int n = 0; n < 3; n++) {
        for (int way = 0; way < 3; way++) {
            in_memory = way == 0;
            open_failure = way == 1 ? EMFILE : EIO;
            long at = 1;
            for (bool more = true; more; at++) {
                HcLibrary got = {0};
                HcError err = {0};
                countdown = at;
                HcStatus status = hc_library_read(&got, in_folder(names[n]), &err);
                more = countdown == 0;
                countdown = 0;
                if (status == HC_OK) {
                    assert_string_equal(got.name[0], "oak");
                    assert_string_equal(got.name[1], "clay");
                    assert_true(got.wavelength != NULL && got.wavelength[2] == 600);
                    assert_true(n == 2 || (got.bad != NULL && got.bad[1]));
                } else if (status != (way == 0 ? HC_E_MEMORY : HC_E_IO)) {
                    fail_msg("%s, call %ld: status %d, \"%s\"", names[n], at, (int)status, err.text);
                }
                hc_library_clear(&got);
            }
            assert_true(at > 2);
        }
    }
}

/* This guards inputs, so that a lack of memory must not make two paths differ. */
static void one_place_is_seen_without_memory(void **state) {
    (void)state;
    for (long fails = 1; fails <= 4; fails++) {
        countdown = fails;
        in_memory = true;
        bool same = hc_file_same_place(in_folder("new.img"), in_folder("./new.img"));
        bool other = hc_file_same_place(in_folder("new.img"), in_folder("./newer.img"));
        countdown = 0;
        assert_true(same);
        assert_false(other);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(missing_memory_is_no_flaw, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(files_that_do_not_open_are_no_flaw, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(lines_of_chunks_are_all_there, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(names_of_classes_are_not_lost, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(libraries_are_read_whole_or_not, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(one_place_is_seen_without_memory, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
