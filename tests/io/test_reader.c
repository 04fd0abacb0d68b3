/* The reader against files written here byte by byte, and against GDAL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <gdal.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "read_all.h"
#include "tests/support/check.h"

#define SAMPLES 7
#define LINES   5
#define BANDS   4

static char folder[] = "/tmp/hcube-reader-XXXXXX";

static const char *in_folder(const char *name) {
    static char path[8][256];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void write_file(const char *path, const void *data, size_t bytes) {
    VSILFILE *file = VSIFOpenL(path, "wb");
    assert_non_null(file);
    assert_int_equal(VSIFWriteL(data, 1, bytes, file), bytes);
    assert_int_equal(VSIFCloseL(file), 0);
}

static void write_text(const char *path, const char *text) {
    write_file(path, text, strlen(text));
}

/* Value of band b, line l, sample s: all bits vary. The bits of floats include NaN. */
static uint64_t bits_at(int b, int l, int s) {
    uint64_t x = (uint64_t)((b * 1000 + l) * 1000 + s) * 0x9E3779B97F4A7C15u;
    return x ^ (x >> 29);
}

/* One value of `bytes` bytes, its lowest byte first unless big. */
static void put(unsigned char *to, uint64_t bits, size_t bytes, bool big) {
    for (size_t i = 0; i < bytes; i++) {
        to[big ? bytes - 1 - i : i] = (unsigned char)(bits >> (8 * i));
    }
}

static const struct {
    int code;
    HcType type;
} types[] = {{1, HC_UINT8},   {2, HC_INT16},   {3, HC_INT32},  {4, HC_FLOAT32}, {5, HC_FLOAT64},
             {12, HC_UINT16}, {13, HC_UINT32}, {14, HC_INT64}, {15, HC_UINT64}};
static const char *const interleaves[] = {"bsq", "bil", "bip"};

static size_t place_of(int interleave, int b, int l, int s, int bands, int lines, int samples) {
    switch (interleave) {
    case 0:
        return (size_t)((b * lines + l) * samples + s);
    case 1:
        return (size_t)((l * bands + b) * samples + s);
    default:
        return (size_t)((l * samples + s) * bands + b);
    }
}

/* NAME.img and NAME.hdr; `more` is appended to the header. */
static void write_envi(const char *name, int bands, int lines, int samples, size_t type, int interleave,
                       bool big, size_t offset, const char *more) {
    char path[256];
    size_t bytes = hc_type_bytes(types[type].type),
           all = (size_t)bands * (size_t)lines * (size_t)samples * bytes;
    unsigned char *data = calloc(offset + all, 1);
    memset(data, 0xA5, offset);
    for (int b = 0; b < bands; b++) {
        for (int l = 0; l < lines; l++) {
            for (int s = 0; s < samples; s++) {
                put(data + offset + bytes * place_of(interleave, b, l, s, bands, lines, samples),
                    bits_at(b, l, s), bytes, big);
            }
        }
    }
    snprintf(path, sizeof path, "%s.img", name);
    write_file(path, data, offset + all);
    free(data);
    char *header = NULL;
    assert_true(
        asprintf(
            &header,
            "ENVI\nsamples = %d\nlines = %d\nbands = %d\nheader offset = %zu\nfile type = ENVI Standard\n"
            "data type = %d\ninterleave = %s\nbyte order = %d\n%s",
            samples, lines, bands, offset, types[type].code, interleaves[interleave], big, more) > 0);
    snprintf(path, sizeof path, "%s.hdr", name);
    write_text(path, header);
    free(header);
}

static void write_plain(const char *name, const char *more) {
    write_envi(in_folder(name), BANDS, LINES, SAMPLES, 5, 1, false, 0, more);
}

static HcReader *open_scene(const char *path, const HcReaderOptions *options) {
    HcReader *reader = NULL;
    HcError err = {0};
    if (hc_reader_open(&reader, path, options, &err) != HC_OK) {
        fail_msg("%s: %s", path, err.text);
    }
    return reader;
}

/* Opening fails with that status, and the line names both parts. */
static void assert_refused(const char *path, HcStatus want, const char *part, const char *other) {
    HcReader *reader = NULL;
    HcError err = {0};
    HcStatus status = hc_reader_open(&reader, path, NULL, &err);
    if (status != want || !check_holds(err.text, part) || !check_holds(err.text, other)) {
        fail_msg("%s: status %d instead of %d: '%s' lacks '%s' or '%s'", path, status, want, err.text, part,
                 other);
    }
    assert_null(reader);
    assert_null(strchr(err.text, '\n'));
}

static void assert_values(HcReader *reader, int32_t step, const int32_t *bands, int count) {
    HcError err = {0};
    const HcScene *scene = hc_reader_scene(reader);
    size_t bytes = hc_type_bytes(scene->type);
    char *all = read_all(reader, step, bands, count, &err);
    if (all == NULL) {
        fail_msg("%s", err.text);
    }
    size_t at = 0;
    for (int k = 0; k < count; k++) {
        for (int l = 0; l < scene->lines; l++) {
            for (int s = 0; s < scene->samples; s++, at++) {
                unsigned char want[8];
                put(want, bits_at(bands[k], l, s), bytes, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
                if (memcmp(all + at * bytes, want, bytes) != 0) {
                    fail_msg("%s (%s): band %d, line %d, sample %d is wrong", hc_reader_path(reader),
                             hc_reader_method(reader), bands[k], l, s);
                }
            }
        }
    }
    free(all);
}

static void every_layout(void **state) {
    static const int32_t all[BANDS] = {0, 1, 2, 3};
    static const int32_t some[2] = {1, 3};
    static const size_t offsets[] = {0, 37, 512};
    int count = 0;
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int i = 0; i < 3; i++) {
            for (int c = 0; c < 6; c++) {
                write_envi(in_folder("layout"), BANDS, LINES, SAMPLES, t, i, c % 2, offsets[c / 2], "");
                for (int never = 0; never < 2; never++) {
                    HcReaderOptions options = {.never_direct = never};
                    HcReader *reader = open_scene(in_folder("layout.hdr"), &options);
                    assert_int_equal(hc_reader_scene(reader)->type, types[t].type);
                    assert_true((strcmp(hc_reader_method(reader), "direct") == 0) == !never);
                    if (hc_reader_note(reader) != NULL) {
                        fail_msg("type %zu, layout %d, %d: %s", t, i, c, hc_reader_note(reader));
                    }
                    assert_values(reader, 1 + count % LINES, all, BANDS);
                    hc_reader_close(reader);
                    reader = open_scene(in_folder("layout.img"), &options);
                    assert_int_equal(hc_reader_use_bands(reader, some, 2, NULL), HC_OK);
                    assert_values(reader, LINES, some, 2);
                    hc_reader_close(reader);
                    count++;
                }
            }
        }
    }
    assert_int_equal(count, 9 * 3 * 6 * 2);
}

/* More than one thread takes part. */
static void large_requests(void **state) {
    static const int32_t all[3] = {0, 1, 2}, some[2] = {0, 2};
    (void)state;
    for (int i = 0; i < 3; i++) {
        write_envi(in_folder("large"), 3, 900, 1501, 5, i, false, 3, "");
        for (int32_t threads = 0; threads < 6; threads += 3) {
            HcReaderOptions options = {.threads = threads};
            HcReader *reader = open_scene(in_folder("large.hdr"), &options);
            assert_values(reader, 900, all, 3);
            assert_int_equal(hc_reader_use_bands(reader, some, 2, NULL), HC_E_USAGE); /* too late */
            hc_reader_close(reader);
            reader = open_scene(in_folder("large.hdr"), &options);
            assert_int_equal(hc_reader_use_bands(reader, some, 2, NULL), HC_OK);
            assert_values(reader, 899, some, 2);
            hc_reader_close(reader);
        }
    }
}

static void metadata_of_envi(void **state) {
    (void)state;
    write_envi(
        in_folder("meta"), BANDS, LINES, SAMPLES, 3, 0, true, 0,
        "description = {\n a\tscene\x01,\n caf\xE9 }\nWavelength Units = Micrometers\n"
        "wavelength = {0.4, 0.5,\n 0.6e0, 2.5}\nfwhm = {0.01, 0.01, 0.02, 0.03}\nbbl = {1, 0.0, 1.0, 0}\n"
        "band names = {a, b (x),\n c\x7F, d}\ndefault bands = {3, 2, 1}\ndata ignore value = -1.23e34\n"
        "data gain values = {2, 2, 2, 4}\ndata offset values = {0, 0, 1, 0}\n"
        "map info = {UTM, 1, 1, 500000, 4000000, 30, 20, 33, North, WGS-84, units=Meters}\n");
    HcReader *reader = open_scene(in_folder("meta.hdr"), NULL);
    const HcScene *scene = hc_reader_scene(reader);
    assert_int_equal(scene->samples, SAMPLES);
    assert_int_equal(scene->lines, LINES);
    assert_int_equal(scene->bands, BANDS);
    assert_int_equal(scene->integer_limit, 0);
    assert_true(fabs(scene->wavelength[0] - 400) < 1e-9 && fabs(scene->wavelength[3] - 2500) < 1e-9);
    assert_true(fabs(scene->fwhm[3] - 30) < 1e-9);
    assert_true(!scene->bad[0] && scene->bad[1] && !scene->bad[2] && scene->bad[3]);
    assert_string_equal(scene->band_name[1], "b (x)");
    assert_string_equal(scene->band_name[2], "c");
    assert_true(scene->has_default_bands && scene->default_bands[0] == 2 && scene->default_bands[2] == 0);
    assert_true(scene->has_nodata && scene->nodata == (double)-1.23e34f);
    assert_true(scene->gain[3] == 4 && scene->offset[2] == 1);
    assert_true(scene->place.has_transform && scene->place.transform[0] == 500000 &&
                scene->place.transform[5] == -20);
    assert_non_null(strstr(scene->place.crs, "33"));
    assert_string_equal(scene->description, "a scene , caf\xC3\xA9");
    assert_true(scene->source_band[3] == 3);
    assert_null(scene->wavelength_note);
    assert_null(hc_reader_note(reader));
    int64_t size = 0, modified = 0;
    hc_reader_identity(reader, &size, &modified);
    assert_int_equal(size, BANDS * LINES * SAMPLES * 4);
    assert_true(modified > 1000000000);
    assert_string_equal(hc_reader_path(reader), in_folder("meta.img"));
    hc_reader_close(reader);
    /* A list of control characters is no list: gains are 1 then, and not what lies behind an empty list. */
    write_plain("hollow",
                "data gain values = {\x01}\nbbl = {\x7f}\nwavelength = {\x02}\nclass lookup = {\x03}\n"
                "data offset values = {0, 0, 1, 0}\n");
    reader = open_scene(in_folder("hollow.hdr"), NULL);
    scene = hc_reader_scene(reader);
    assert_null(scene->bad);
    assert_null(scene->wavelength);
    assert_non_null(scene->gain);
    for (int b = 0; b < BANDS; b++) {
        assert_true(scene->gain[b] == 1 && scene->offset[b] == (b == 2));
    }
    assert_null(hc_reader_note(reader));
    hc_reader_close(reader);
    static const int64_t limits[] = {255, 32768, 0, 0, 0, 65535, 0, 0, 0};
    for (size_t t = 0; t < sizeof limits / sizeof *limits; t++) {
        write_envi(in_folder("limit"), 1, 1, 1, t, 0, false, 0, "reflectance scale factor = 1e4\n");
        reader = open_scene(in_folder("limit.hdr"), NULL);
        assert_int_equal(hc_reader_scene(reader)->integer_limit, limits[t]);
        assert_true(hc_reader_scene(reader)->gain[0] == 1 / 1e4 && hc_reader_scene(reader)->offset[0] == 0);
        hc_reader_close(reader);
    }
}

/* The first wavelength [nm] and remark of a scene with these header lines; unit as the option. */
static void assert_wavelength(const char *more, const char *unit, double want, const char *note) {
    HcReaderOptions options = {.wavelength_unit = unit};
    write_plain("units", more);
    HcReader *reader = open_scene(in_folder("units.hdr"), &options);
    const HcScene *scene = hc_reader_scene(reader);
    double got = scene->wavelength != NULL ? scene->wavelength[0] : -1;
    if (!(fabs(got - want) < 1e-9)) {
        fail_msg("%s: %g instead of %g", more, got, want);
    }
    if (note == NULL) {
        assert_null(hc_reader_note(reader));
    } else if (hc_reader_note(reader) == NULL || !check_holds(hc_reader_note(reader), note)) {
        fail_msg("%s: note '%s' lacks '%s'", more, hc_reader_note(reader), note);
    }
    hc_reader_close(reader);
}

#define NM_UNIT "wavelength = {400, 500, 600, 2500}\nwavelength units = nm\n"

/* What is impossible, contradicts another field or is assumed. */
static void fields_in_doubt(void **state) {
    (void)state;
#define UTM(zone, size) "map info = {UTM, 1, 1, 300000, 4000000, " size ", " zone ", North, WGS-84}\n"
    static const char *const cases[][2] = {
        {"", NULL},
        {UTM("32", "30, 30"), NULL},
        {UTM("75", "30, 30"), "coordinate system left out: map info has the UTM zone 75"},
        {UTM("32", "0, 0"), "place left out: pixels of 0"},
        {UTM("32", "nan, 30"), "place left out: pixels of nan"},
        {UTM("32", "1e150, 1e150"), "place left out: pixels of 1e+150"},
        {UTM("32", "1e-10, 1e-10"), "place left out: pixels of 1e-10"},
        {UTM("32", "30, wide"), "place left out: map info has 'wide' where a number belongs"},
        {"map info = {UTM, 1, 1, 1e308, 4000000, 30, 30, 32, North, WGS-84}\n",
         "place left out ... 30 x -30 at 1e+308, 4e+06"},
        {"map info = {UTM, 1, 1, abc, 4000000, 30, 30, 32, North, WGS-84}\n",
         "place left out: map info has 'abc'"},
        {"map info = {UTM, 1, 1}\n", "map info left out"},
        {UTM("32", "30, 30") "coordinate system string = {garbage}\n", "PROJ does not know it (garbage)"},
        {UTM("33",
             "30, 30") "coordinate system string = {PROJCS[\"WGS_1984_UTM_Zone_32N\",GEOGCS[\"GCS_WGS_1984\","
                       "DATUM[\"D_WGS_1984\",SPHEROID[\"WGS_1984\",6378137.0,298.257223563]],PRIMEM["
                       "\"Greenwich\",0.0],UNIT[\"Degree\",0.0174532925199433]],PROJECTION["
                       "\"Transverse_Mercator\"],PARAMETER[\"False_Easting\",500000.0],PARAMETER["
                       "\"False_Northing\",0.0],PARAMETER[\"Central_Meridian\",9.0],PARAMETER["
                       "\"Scale_Factor\",0.9996],PARAMETER[\"Latitude_Of_Origin\",0.0],UNIT[\"Meter\",1.0]]}"
                       "\n",
         "map info says UTM zone 33"},
        {"bbl = {1, 0, 2, 1}\n", "other values than 0 and 1"},
        {"default bands = {1, 2}\n", "default bands left out: 2 of them"},
        {"reflectance scale factor = 0\n", "reflectance scale factor left out: 0"},
        {"reflectance scale factor = -5\n", "reflectance scale factor left out: -5"},
        {"reflectance scale factor = 5\ndata gain values = {2, 2, 2, 2}\n",
         "data gain and offset values count"},
        {"data ignore value = 1\ndata ignore value = 2\n", "data ignore value stands in line"},
        {NM_UNIT "fwhm = {5, 5, 5000, 5}\n", "fwhm of band 3 ... 5000 nm at 600 nm"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_plain("doubt", cases[i][0]);
        HcReader *reader = open_scene(in_folder("doubt.hdr"), NULL);
        const char *note = hc_reader_note(reader);
        bool right = cases[i][1] == NULL ? note == NULL : note != NULL && check_holds(note, cases[i][1]);
        if (!right) {
            fail_msg("%s: note '%s' lacks '%s'", cases[i][0], note, cases[i][1]);
        }
        const HcPlace *place = &hc_reader_scene(reader)->place;
        if (note != NULL && strstr(note, "place left out") != NULL &&
            (place->has_transform || place->crs != NULL)) {
            fail_msg("%s: the place is left out in the note alone", cases[i][0]);
        }
        hc_reader_close(reader);
    }
    /* A header that was cut in front of its interleave: of one band there is one order, else the name may
     * say. */
#define SHORT "ENVI\nsamples = 2\nlines = 1\ndata type = 2\n"
    write_text(in_folder("short.hdr"), SHORT "bands = 2\ndata ignore value = -99999\n");
    write_file(in_folder("short.img"), "\1\0\2\0\3\0\4", 8);
    assert_refused(in_folder("short.hdr"), HC_E_INPUT, "short.hdr: ", "'interleave' is missing");
    write_text(in_folder("short.hdr"), SHORT "bands = 2\ninterleave =\n");
    assert_refused(in_folder("short.img"), HC_E_INPUT, "short.hdr: ", "'interleave' is missing");
    assert_int_equal(rename(in_folder("short.img"), in_folder("short.bip")), 0);
    write_text(in_folder("short.hdr"), SHORT "bands = 2\ndata ignore value = -99999\n");
    HcReader *reader = open_scene(in_folder("short.bip"), NULL);
    static const char *const notes[] = {"interleave is not given, bip is assumed", "byte order is not given",
                                        "nodata -99999 is no value of int16"};
    for (int n = 0; n < 3; n++) {
        assert_non_null(strstr(hc_reader_note(reader), notes[n]));
    }
    HcError err = {0};
    char *values = read_all(reader, 1, (int32_t[]){0, 1}, 2, &err);
    assert_memory_equal(values, "\1\0\3\0\2\0\4", 8);
    free(values);
    hc_reader_close(reader);
    /* Cut inside a number: the file holds more. */
    write_text(in_folder("short.hdr"), SHORT "byte order = 0\nbands = 1");
    reader = open_scene(in_folder("short.bip"), NULL);
    check_says(hc_reader_note(reader), "short.bip holds 8 bytes, of which the header describes 4");
    hc_reader_close(reader);
}

static void wavelength_units(void **state) {
    (void)state;
#define UM "wavelength = {0.4, 0.5, 0.6, 2.5}\n"
#define NM "wavelength = {400, 500, 600, 2500}\n"
    assert_wavelength(UM "wavelength units = um\n", NULL, 400, NULL);
    assert_wavelength(UM "wavelength units = \xC2\xB5m\n", NULL, 400, NULL);
    assert_wavelength(NM "wavelength units = NM\n", NULL, 400, NULL);
    assert_wavelength(NM "wavelength_units=nanometers\n", "um", 400, NULL);
    assert_wavelength(UM, NULL, 400, "um is assumed");
    assert_wavelength(NM "wavelength units = Unknown\n", NULL, 400, "nm is assumed");
    assert_wavelength(UM, "nm", 0.4, NULL);
    assert_wavelength(UM "wavelength units = Nanometers\n", NULL, 0.4, "look like micrometres");
    assert_wavelength(NM "wavelength units = Micrometers\n", NULL, 400e3, "2500000 nm look like nanometres");
    assert_wavelength(NM "wavelength units = m\n", NULL, 400e9, "look like nanometres");
    assert_wavelength("wavelength = {4e-7, 5e-7, 6e-7, 25e-7}\n", NULL, 400, "m is assumed");
    assert_wavelength("band names = {Band 1 (400.0 Nanometers), B (0500 Nanometers), C 6e2, c}\n", NULL, -1,
                      NULL);
    assert_wavelength("band names = {Band 1 (400.0 Nanometers), B 2 (500 Nanometers), (600.0 Nanometers), "
                      "4: 700 Nanometers}\n",
                      NULL, 400, "taken from the names of the bands");
    assert_wavelength("band names = {a 0.4 um, b 0.5 um, c 0.6um, d_0.7_um}\n", NULL, 400, "from the names");
    assert_wavelength("band names = {Band_400, Band_500, Band_600, Band_900}\n", NULL, 400, "from the names");
    assert_wavelength("band names = {400.5, 500.5, 600, 900}\n", NULL, 400.5, "from the names");
    assert_wavelength("band names = {Band 1, Band 2, Band 3, Band 4}\n", NULL, -1, NULL);
    assert_wavelength("band names = {B400, B401, B402, B403}\n", NULL, -1, NULL);
    assert_wavelength("band names = {NDVI 1990, NDVI 2000, NDVI 2010, NDVI 2020}\n", NULL, -1, NULL);
    assert_wavelength("band names = {a 400 nm, b 500 nm, c 600 nm, mask}\n", NULL, -1, NULL);
    assert_wavelength(NM "wavelength units = Wavenumber\n", NULL, -1, "Wavenumber");
    assert_wavelength("wavelength = {1, 2, 3, 4}\nwavelength units = Index\n", NULL, -1, "Index");
    assert_wavelength("wavelength = {400, 500, 600}\n", NULL, -1, "3 values for 4 bands");
    assert_wavelength("wavelength = {400, 500, x, 600}\n", NULL, -1, "is not a number");
    assert_wavelength("wavelength = {400, 500, nan, 600}\n", NULL, -1,
                      "not all values are lengths (band 3: nan)");
    assert_wavelength("wavelength = {400, 500, 0, 600}\n", NULL, -1,
                      "not all values are lengths (band 3: 0)");
    assert_wavelength("wavelength = {400, 500, 9.96921e36, 600}\n", NULL, -1,
                      "not all values are lengths (band 3: 9.96921e+36)");
    assert_wavelength("wavelength = {2500, 600, 500, 400}\nwavelength units = nm\n", NULL, 2500, NULL);
    assert_wavelength("wavelength = {400, 500, 500, 450}\nwavelength units = nm\n", NULL, 400, NULL);
    assert_wavelength("bbl = {1, 1}\n", NULL, -1, "bbl left out: 2 values ... 4 bands");
    HcReaderOptions options = {.wavelength_unit = "mm"};
    HcReader *reader = NULL;
    HcError err = {0};
    assert_int_equal(hc_reader_open(&reader, in_folder("units.hdr"), &options, &err), HC_E_USAGE);
    assert_non_null(strstr(err.text, "'mm'"));
}

static void finding_files(void **state) {
    static const char *const names[] = {"f/cube.img", "f/cube", "f/cube.IMG", "f/cube.dat", "f/cube.fla"};
    static const int32_t all[BANDS] = {0, 1, 2, 3};
    (void)state;
    VSIMkdir(in_folder("f"), 0755);
    write_plain("f/cube", "");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (i > 0) {
            assert_int_equal(rename(in_folder(names[i - 1]), in_folder(names[i])), 0);
        }
        HcReader *reader = open_scene(in_folder("f/cube.hdr"), NULL);
        assert_string_equal(hc_reader_path(reader), in_folder(names[i]));
        assert_values(reader, 2, all, BANDS);
        hc_reader_close(reader);
    }
    /* The name without .hdr comes first; a folder of that name does not count. */
    write_text(in_folder("f/cube.img"), "short");
    assert_refused(in_folder("f/cube.hdr"), HC_E_INPUT, "cube.img", "need 280 bytes, the file holds 5");
    unlink(in_folder("f/cube.img"));
    VSIMkdir(in_folder("f/cube"), 0755);
    hc_reader_close(open_scene(in_folder("f/cube.hdr"), NULL));
    unlink(in_folder("f/cube.fla"));
    assert_refused(in_folder("f/cube.hdr"), HC_E_INPUT, "f/cube.hdr: no data file", ".dat");
    /* Two headers: the one that was named counts, also where GDAL would take the other. */
    write_envi(in_folder("f/two"), BANDS, LINES, SAMPLES, 5, 2, true, 0, "");
    assert_int_equal(rename(in_folder("f/two.hdr"), in_folder("f/two.img.hdr")), 0);
    write_text(in_folder("f/two.hdr"),
               "ENVI\nsamples = 4\nlines = 7\nbands = 5\ndata type = 12\ninterleave = bsq\n");
    HcReader *reader = open_scene(in_folder("f/two.img.hdr"), NULL);
    assert_values(reader, 3, all, BANDS);
    hc_reader_close(reader);
    /* A field longer than GDAL reads, with the place behind it. */
    size_t long_bytes = 300000;
    char *more = calloc(long_bytes + 200, 1);
    strcpy(more, "history = {");
    memset(more + strlen(more), 'x', long_bytes);
    strcat(more, "}\nmap info = {UTM, 1, 1, 500000, 4000000, 30, 20, 33, North, WGS-84}\n");
    write_plain("f/long", more);
    free(more);
    reader = open_scene(in_folder("f/long.img"), NULL);
    assert_true(hc_reader_scene(reader)->place.has_transform &&
                hc_reader_scene(reader)->place.transform[1] == 30);
    assert_values(reader, 3, all, BANDS);
    hc_reader_close(reader);
}

static void refusals(void **state) {
    (void)state;
    assert_refused(in_folder("none.hdr"), HC_E_INPUT, "none.hdr", "No such file");
    assert_refused(in_folder("none.img"), HC_E_INPUT, "none.img", "No such file");
    assert_refused("", HC_E_INPUT, ":", "");
    write_text(in_folder("text.img"), "hello");
    assert_refused(in_folder("text.img"), HC_E_INPUT, "text.img", "not recognized");
    assert_refused(in_folder("text.img"), HC_E_INPUT, "text.img", "ends in .csv, .sli or .hdr");
    write_text(in_folder("table.xyz"), "wl\ta\tb\n400\t1\t2\n401\t5\t3\n402\t2\t9\n");
    assert_refused(in_folder("table.xyz"), HC_E_INPUT, "table.xyz", "a spectral library, which ends in .csv");
    write_text(in_folder("field.sed"), "Comment:\nData:\nWvl Refl\n350 0.1\n");
    assert_refused(in_folder("field.sed"), HC_E_INPUT, "field.sed", "a spectral library, which ends in .csv");
    write_text(in_folder("list.meta"), "ENVI META FILE\nFile : a.img\n");
    assert_refused(in_folder("list.meta"), HC_E_UNSUPPORTED, "list.meta", "an ENVI meta file");
    write_text(in_folder("list.hdr"), "ENVI\nsamples = 5\nlines = 6\nbands = 4\ndata type = 12\n"
                                      "file type = ENVI Meta\n");
    assert_refused(in_folder("list.hdr"), HC_E_UNSUPPORTED, "list.hdr", "an ENVI meta file");
    write_plain("packed", "file compression = 1\n");
    assert_refused(in_folder("packed.hdr"), HC_E_INPUT, "file compression = 1, but ", "is not gzip");
    write_text(in_folder("odd.hdr"), "hello");
    assert_refused(in_folder("odd.hdr"), HC_E_INPUT, "odd.hdr", "not an ENVI header");
    write_plain("short", "");
    assert_int_equal(truncate(in_folder("short.img"), 279), 0);
    assert_refused(in_folder("short.hdr"), HC_E_INPUT, "short.img: 4 bands x 5 lines x 7 samples of uint16",
                   "need 280 bytes ... 279 (1 B missing)");
    assert_refused(in_folder("short.img"), HC_E_INPUT, "short.img", "need 280 bytes, the file holds 279");
    /* The offset counts: the data alone would fit into what is left. */
    write_envi(in_folder("offset"), BANDS, LINES, SAMPLES, 5, 1, false, 100, "");
    assert_int_equal(truncate(in_folder("offset.img"), 379), 0);
    assert_refused(in_folder("offset.hdr"), HC_E_INPUT, "offset.img",
                   "280 bytes ... offset of 100 ... 379 (1 B missing)");
    assert_refused(in_folder("offset.img"), HC_E_INPUT, "offset.img", "the file holds 379 (1 B missing)");
    write_envi(in_folder("offset"), BANDS, LINES, SAMPLES, 7, 1, false, 100, ""); /* GDAL does not know it */
    assert_int_equal(truncate(in_folder("offset.img"), 1219), 0);
    assert_refused(in_folder("offset.hdr"), HC_E_INPUT, "offset.img", "holds 1219 (1 B missing)");
    write_envi(in_folder("int64"), BANDS, LINES, SAMPLES, 7, 0, false, 100, "");
    assert_int_equal(truncate(in_folder("int64.img"), 1000), 0);
    assert_refused(in_folder("int64.hdr"), HC_E_INPUT, "int64.img", "1120 bytes ... offset of 100");
    write_plain("twice", "bands = 5\n");
    assert_refused(in_folder("twice.hdr"), HC_E_INPUT, "twice.hdr", "bands is both 4");
    write_plain("frames", "minor frame offsets = {0, 4}\n");
    assert_refused(in_folder("frames.hdr"), HC_E_UNSUPPORTED, "frames.hdr", "frame offsets");
    write_text(in_folder("complex.hdr"), "ENVI\nsamples = 1\nlines = 1\nbands = 1\ndata type = 6\n");
    assert_refused(in_folder("complex.hdr"), HC_E_UNSUPPORTED, "complex.hdr", "data type = 6");
    write_text(in_folder("lib.hdr"), "ENVI\nfile type = ENVI Spectral Library\nsamples = 1\n");
    assert_refused(in_folder("lib.hdr"), HC_E_UNSUPPORTED, "lib.hdr", "is a spectral library, not a scene");
    write_text(in_folder("absurd.hdr"),
               "ENVI\nsamples = 2147483647\nlines = 2147483647\nbands = 2147483647\ndata type = 5\n");
    write_text(in_folder("absurd.img"), "x");
    assert_refused(in_folder("absurd.hdr"), HC_E_INPUT, "absurd.hdr", "2147483647");
}

static void reading_past_the_end(void **state) {
    HcRaw raw;
    HcError err = {0};
    (void)state;
    for (int i = 0; i < 3; i++) {
        write_envi(in_folder("cut"), BANDS, LINES, SAMPLES, 5, i, false, 0, "");
        HcReader *reader = open_scene(in_folder("cut.hdr"), NULL);
        void *buffer = malloc(hc_reader_bytes(reader, LINES));
        err = (HcError){0};
        assert_int_equal(hc_reader_read(reader, 3, 3, buffer, &raw, &err), HC_E_USAGE);
        assert_int_equal(hc_reader_read(reader, -1, 1, buffer, &raw, NULL), HC_E_USAGE);
        assert_int_equal(hc_reader_read(reader, 0, 0, buffer, &raw, NULL), HC_E_USAGE);
        assert_int_equal(truncate(in_folder("cut.img"), 279), 0);
        err = (HcError){0};
        assert_int_equal(hc_reader_read(reader, 1, 4, buffer, &raw, &err), HC_E_INPUT);
        check_says(err.text, "cut.img: changed ... 280 bytes at first, 279");
        free(buffer);
        hc_reader_close(reader);
    }
}

/* A raster of one type made by GDAL: values bits_at cut to the type. */
static GDALDatasetH make_raster(const char *driver, const char *path, int bands, GDALDataType code,
                                size_t type, const char *const *options) {
    GDALDatasetH dataset = GDALCreate(GDALGetDriverByName(driver), path, SAMPLES, LINES, bands, code,
                                      (CSLConstList)(uintptr_t)options);
    assert_non_null(dataset);
    unsigned char row[SAMPLES * 8];
    size_t bytes = hc_type_bytes(types[type].type);
    for (int b = 0; b < bands; b++) {
        for (int l = 0; l < LINES; l++) {
            for (int s = 0; s < SAMPLES; s++) {
                put(row + (size_t)s * bytes, bits_at(b, l, s), bytes, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
            }
            assert_int_equal(GDALRasterIO(GDALGetRasterBand(dataset, b + 1), GF_Write, 0, l, SAMPLES, 1, row,
                                          SAMPLES, 1, code, 0, 0),
                             CE_None);
        }
    }
    return dataset;
}

static void geotiff(void **state) {
    static const char *const ways[][3] = {{"INTERLEAVE=PIXEL", NULL},
                                          {"INTERLEAVE=BAND", NULL},
                                          {"INTERLEAVE=PIXEL", "COMPRESS=DEFLATE", NULL},
                                          {"INTERLEAVE=BAND", "TILED=YES", NULL}};
    static const int32_t all[BANDS] = {0, 1, 2, 3}, some[2] = {0, 2};
    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        for (size_t t = 0; t < 2; t++) {
            GDALDatasetH made = make_raster("GTiff", in_folder("a.tif"), BANDS,
                                            t == 0 ? GDT_UInt16 : GDT_Float64, t == 0 ? 5 : 4, ways[w]);
            GDALClose(made);
            HcReader *reader = open_scene(in_folder("a.tif"), NULL);
            assert_values(reader, 2, all, BANDS);
            assert_int_equal(hc_reader_stored_band(reader, 2), 2);
            hc_reader_close(reader);
            HcReaderOptions options = {.never_direct = true};
            reader = open_scene(in_folder("a.tif"), &options);
            assert_string_equal(hc_reader_method(reader), "GDAL GTiff");
            assert_int_equal(hc_reader_use_bands(reader, some, 2, NULL), HC_OK);
            assert_int_equal(hc_reader_stored_band(reader, 2), 1);
            assert_values(reader, 4, some, 2);
            hc_reader_close(reader);
        }
    }
}

static void metadata_of_geotiff(void **state) {
    (void)state;
    GDALDatasetH made = make_raster("GTiff", in_folder("m.tif"), BANDS, GDT_Int16, 1, NULL);
    double transform[6] = {10, 2, 0, 20, 0, -2};
    GDALSetGeoTransform(made, transform);
    for (int b = 1; b <= BANDS; b++) {
        GDALRasterBandH band = GDALGetRasterBand(made, b);
        GDALSetMetadataItem(band, "wavelength", CPLSPrintf("%g", 0.4 + b * 0.1), NULL);
        GDALSetMetadataItem(band, "wavelength_units", "Micrometers", NULL);
        GDALSetMetadataItem(band, "fwhm", "0.01", NULL);
        GDALSetMetadataItem(band, "bbl", b == 2 ? "0" : "1", NULL);
        GDALSetDescription(band, CPLSPrintf("name %d", b));
        GDALSetRasterNoDataValue(band, -9999);
        GDALSetRasterScale(band, 0.5);
    }
    GDALClose(made);
    HcReader *reader = open_scene(in_folder("m.tif"), NULL);
    const HcScene *scene = hc_reader_scene(reader);
    assert_true(fabs(scene->wavelength[0] - 500) < 1e-9 && fabs(scene->fwhm[3] - 10) < 1e-9);
    assert_true(scene->bad[1] && !scene->bad[0]);
    assert_string_equal(scene->band_name[3], "name 4");
    assert_true(scene->has_nodata && scene->nodata == -9999);
    assert_true(scene->gain[0] == 0.5 && scene->offset[0] == 0);
    assert_true(scene->place.transform[1] == 2);
    assert_null(hc_reader_note(reader));
    hc_reader_close(reader);
    /* GDAL's own words, and lists of the dataset as copies of ENVI files carry them. */
    made = make_raster("GTiff", in_folder("i.tif"), BANDS, GDT_Int16, 1, NULL);
    for (int b = 1; b <= BANDS; b++) {
        GDALSetMetadataItem(GDALGetRasterBand(made, b), "CENTRAL_WAVELENGTH_UM", CPLSPrintf("%g", b * 0.5),
                            "IMAGERY");
    }
    GDALClose(made);
    reader = open_scene(in_folder("i.tif"), NULL);
    assert_true(fabs(hc_reader_scene(reader)->wavelength[3] - 2000) < 1e-9);
    hc_reader_close(reader);
    made = make_raster("GTiff", in_folder("d.tif"), BANDS, GDT_Int16, 1, NULL);
    GDALSetMetadataItem(made, "wavelength", "{400, 500,\n 600, 700}", "ENVI");
    GDALSetMetadataItem(made, "wavelength_units", "Nanometers", "ENVI");
    GDALSetMetadataItem(made, "bbl", "{1, 1, 0, 1}", NULL);
    GDALClose(made);
    reader = open_scene(in_folder("d.tif"), NULL);
    assert_true(hc_reader_scene(reader)->wavelength[3] == 700 && hc_reader_scene(reader)->bad[2]);
    hc_reader_close(reader);
    /* One letter of the unit for each band, and the whole of it for the dataset. */
    made = make_raster("GTiff", in_folder("n.tif"), BANDS, GDT_Int16, 1, NULL);
    for (int b = 1; b <= BANDS; b++) {
        GDALRasterBandH band = GDALGetRasterBand(made, b);
        GDALSetMetadataItem(band, "wavelength", CPLSPrintf("%d", 400 + b), "ENVI");
        GDALSetMetadataItem(band, "wavelength_units", CPLSPrintf("%c", "nmnm"[b - 1]), "ENVI");
    }
    GDALSetMetadataItem(made, "wavelength units", "nm", "ENVI");
    GDALClose(made);
    reader = open_scene(in_folder("n.tif"), NULL);
    assert_true(hc_reader_scene(reader)->wavelength[3] == 404);
    assert_null(hc_reader_note(reader));
    hc_reader_close(reader);
}

/* A TIFF that an ENVI header describes: the header counts where it has the size of the raster. */
static void header_over_geotiff(void **state) {
    static const int32_t all[BANDS] = {0, 1, 2, 3};
    static const struct {
        const char *size, *note;
    } headers[] = {
        {"samples = 7\nlines = 5\nbands = 4\n", NULL},
        {"samples = 5\nlines = 5\nbands = 4\n", "4 bands x 5 lines x 5 samples"},
        {"samples = 7\nlines = 6\nbands = 4\n", "4 bands x 6 lines x 7 samples"},
        {"samples = 7\nlines = 5\nbands = 3\n", "3 bands x 5 lines x 7 samples"},
    };
    /* By the name of the header, and of the file. */
    static const char *const ways[][2] = {{"o.img", "o.hdr"}, {"o.tif", "o.hdr"}, {"o.tif", "o.tif"}};
    (void)state;
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        GDALClose(make_raster("GTiff", in_folder(ways[w][0]), BANDS, GDT_Float64, 4, NULL));
        for (size_t h = 0; h < sizeof headers / sizeof *headers; h++) {
            char *text = NULL;
            assert_true(asprintf(&text,
                                 "ENVI\n%sdata type = 5\nfile type = TIFF\n"
                                 "band names = {a, b, c%s}\n",
                                 headers[h].size, h == 3 ? "" : ", d") > 0);
            write_text(in_folder("o.hdr"), text);
            free(text);
            HcReader *reader = open_scene(in_folder(ways[w][1]), NULL);
            const HcScene *scene = hc_reader_scene(reader);
            assert_int_equal(scene->bands, BANDS);
            assert_string_equal(hc_reader_path(reader), in_folder(ways[w][0]));
            assert_values(reader, 2, all, BANDS);
            const char *note = hc_reader_note(reader);
            if (headers[h].note == NULL) {
                assert_null(note);
                assert_string_equal(scene->band_name[3], "d");
            } else {
                assert_non_null(note);
                assert_non_null(strstr(note, "o.hdr is left out"));
                assert_non_null(strstr(note, headers[h].note));
                assert_non_null(strstr(note, "holds 4 x 5 x 7"));
                assert_true(scene->band_name == NULL || strcmp(scene->band_name[2], "c") != 0);
            }
            hc_reader_close(reader);
        }
        unlink(in_folder(ways[w][0]));
    }
}

/* int8: a type of GDAL's since 3.7; before, and in virtual rasters still, bytes with a remark. */
static void signed_bytes(void **state) {
    static const int32_t first[1] = {0};
    (void)state;
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 7, 0)
    GDALClose(make_raster("GTiff", in_folder("s.tif"), 1, GDT_Int8, 0, NULL));
#else
    static const char *const signed_byte[] = {"PIXELTYPE=SIGNEDBYTE", NULL};
    GDALClose(make_raster("GTiff", in_folder("s.tif"), 1, GDT_Byte, 0, signed_byte));
#endif
    GDALClose(make_raster("GTiff", in_folder("u.tif"), 1, GDT_Byte, 0, NULL));
    write_text(
        in_folder("s.vrt"),
        "<VRTDataset rasterXSize=\"7\" rasterYSize=\"5\"><VRTRasterBand dataType=\"Byte\" band=\"1\">"
        "<Metadata domain=\"IMAGE_STRUCTURE\"><MDI key=\"PIXELTYPE\">SIGNEDBYTE</MDI></Metadata>"
        "<SimpleSource><SourceFilename relativeToVRT=\"1\">u.tif</SourceFilename><SourceBand>1</SourceBand>"
        "</SimpleSource></VRTRasterBand></VRTDataset>");
    static const char *const names[] = {"s.tif", "s.vrt"};
    for (int i = 0; i < 4; i++) {
        HcReaderOptions options = {.never_direct = i % 2 == 1};
        HcReader *reader = open_scene(in_folder(names[i / 2]), &options);
        assert_int_equal(hc_reader_scene(reader)->type, HC_INT8);
        assert_int_equal(hc_reader_scene(reader)->integer_limit, 128);
        assert_values(reader, 2, first, 1);
        hc_reader_close(reader);
    }
}

/* A compressed file with broken bytes: the read fails with the name and what GDAL says of it. */
/* Values of fewer bits than their type are GDAL's to read, also where they are not compressed. */
static void half_floats(void **state) {
    (void)state;
    const char *const options[] = {"NBITS=16", NULL};
    static const float values[4] = {1.5F, -2, 1024, 0.25F};
    GDALDatasetH dataset = GDALCreate(GDALGetDriverByName("GTiff"), in_folder("half.tif"), 2, 2, 1,
                                      GDT_Float32, (char **)(uintptr_t)options);
    assert_non_null(dataset);
    float copy[4], got[4] = {0};
    memcpy(copy, values, sizeof copy);
    assert_int_equal(
        GDALRasterIO(GDALGetRasterBand(dataset, 1), GF_Write, 0, 0, 2, 2, copy, 2, 2, GDT_Float32, 0, 0),
        CE_None);
    GDALClose(dataset);
    HcError err = {0};
    HcRaw raw;
    HcReader *reader = open_scene(in_folder("half.tif"), NULL);
    assert_string_equal(hc_reader_method(reader), "GDAL GTiff");
    check_ok(hc_reader_read(reader, 0, 2, got, &raw, &err), err);
    assert_memory_equal(got, values, sizeof got);
    hc_reader_close(reader);
}

/* Wavelengths in the domain of another program, spelled with blanks. */
static void wavelengths_of_any_domain(void **state) {
    (void)state;
    static const char *const units[] = {"nm", "n"};
    for (int u = 0; u < 2; u++) {
        GDALDatasetH dataset = make_raster("GTiff", in_folder("domain.tif"), 2, GDT_Float64, 8, NULL);
        GDALSetMetadataItem(dataset, "wavelength units", units[u], "ENVI");
        GDALSetMetadataItem(GDALGetRasterBand(dataset, 1), "wavelength", "500", "ENVI");
        GDALSetMetadataItem(GDALGetRasterBand(dataset, 2), "wavelength", "600", "ENVI");
        GDALClose(dataset);
        HcReader *reader = open_scene(in_folder("domain.tif"), NULL);
        const double *wavelength = hc_reader_scene(reader)->wavelength;
        if (u == 0) {
            assert_null(hc_reader_note(reader));
            assert_true(wavelength != NULL && wavelength[1] == 600);
        } else {
            assert_null(wavelength);
            assert_non_null(strstr(hc_reader_note(reader), "their unit is 'n'"));
        }
        hc_reader_close(reader);
    }
}

/* What GDAL warns of is a note, once, though files are opened more than once. */
static void warnings_of_gdal(void **state) {
    (void)state;
    write_plain("datum", "map info = {UTM, 1, 1, 300000, 8000000, 30, 30, 23, South, South American 1969, "
                         "units=Meters}\n");
    HcReader *reader = open_scene(in_folder("datum.hdr"), NULL);
    const char *note = hc_reader_note(reader);
    const char *at = note != NULL ? strstr(note, "GDAL warns: Unrecognized datum") : NULL;
    assert_non_null(at);
    assert_null(strstr(at + 1, "GDAL warns"));
    hc_reader_close(reader);
}

static void broken_compression(void **state) {
    static const char *const deflate[] = {"COMPRESS=DEFLATE", "INTERLEAVE=BAND", NULL};
    static const int32_t all[BANDS] = {0, 1, 2, 3};
    (void)state;
    GDALClose(make_raster("GTiff", in_folder("broken.tif"), BANDS, GDT_UInt16, 5, deflate));
    GDALDatasetH dataset = GDALOpen(in_folder("broken.tif"), GA_ReadOnly);
    const char *at = GDALGetMetadataItem(GDALGetRasterBand(dataset, 3), "BLOCK_OFFSET_0_0", "TIFF");
    assert_non_null(at);
    long offset = atol(at);
    GDALClose(dataset);
    FILE *file = fopen(in_folder("broken.tif"), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    assert_int_equal(fwrite("garbage!", 1, 8, file), 8);
    assert_int_equal(fclose(file), 0);
    /* What a VRT leads to may be a server's: a failure that may pass. */
    dataset = GDALOpen(in_folder("broken.tif"), GA_ReadOnly);
    GDALClose(GDALCreateCopy(GDALGetDriverByName("VRT"), in_folder("broken.vrt"), dataset, FALSE, NULL, NULL,
                             NULL));
    GDALClose(dataset);
    static const char *const names[] = {"broken.tif", "broken.vrt"};
    for (int n = 0; n < 2; n++) {
        HcReaderOptions options = {.never_direct = true};
        HcReader *reader = open_scene(in_folder(names[n]), &options);
        HcError err = {0};
        assert_null(read_all(reader, 2, all, BANDS, &err));
        assert_int_equal(err.status, n == 0 ? HC_E_INPUT : HC_E_IO);
        if (strstr(err.text, names[n]) == NULL ||
            strstr(err.text, ": reading lines 0 to 1 failed: ") == NULL || strstr(err.text, "ecod") == NULL) {
            fail_msg("'%s' does not say what is wrong", err.text);
        }
        hc_reader_close(reader);
    }
}

static void other_files(void **state) {
    static const int32_t all[BANDS] = {0, 1, 2, 3};
    (void)state;
    for (size_t t = 5; t < 8; t += 2) { /* uint16, and int64 that GDAL does not know */
        write_envi("/vsimem/cube", BANDS, LINES, SAMPLES, t, 1, true, 0, "");
        HcReader *reader = open_scene("/vsimem/cube.hdr", NULL);
        assert_string_equal(hc_reader_method(reader), "direct");
        assert_values(reader, 2, all, BANDS);
        hc_reader_close(reader);
    }
    write_plain("z", "");
    VSILFILE *zip = VSIFOpenL(CPLSPrintf("/vsizip/%s/z.img", in_folder("z.zip")), "wb");
    char data[280];
    VSILFILE *from = VSIFOpenL(in_folder("z.img"), "rb");
    assert_int_equal(VSIFReadL(data, 1, 280, from), 280);
    VSIFCloseL(from);
    VSIFWriteL(data, 1, 280, zip);
    VSIFCloseL(zip);
    char text[2048];
    from = VSIFOpenL(in_folder("z.hdr"), "rb");
    size_t bytes = VSIFReadL(text, 1, sizeof text, from);
    VSIFCloseL(from);
    zip = VSIFOpenL(CPLSPrintf("/vsizip/%s/z.hdr", in_folder("z.zip")), "wb");
    VSIFWriteL(text, 1, bytes, zip);
    VSIFCloseL(zip);
    char path[300];
    snprintf(path, sizeof path, "/vsizip/%s/z.hdr", in_folder("z.zip"));
    HcReader *reader = open_scene(path, NULL);
    assert_values(reader, 5, all, BANDS);
    hc_reader_close(reader);
    /* ESRI raw file, opened by its header. */
    GDALClose(make_raster("EHdr", in_folder("e.bil"), BANDS, GDT_UInt16, 5, NULL));
    reader = open_scene(in_folder("e.hdr"), NULL);
    assert_string_equal(hc_reader_method(reader), "direct");
    assert_values(reader, 2, all, BANDS);
    hc_reader_close(reader);
    /* A truncated one is refused as well. */
    assert_int_equal(truncate(in_folder("e.bil"), 200), 0);
    assert_refused(in_folder("e.bil"), HC_E_INPUT, "e.bil", "need 280 bytes, the file holds 200");
    GDALClose(make_raster("GTiff", in_folder("c.tif"), 1, GDT_CFloat32, 7, NULL));
    assert_refused(in_folder("c.tif"), HC_E_UNSUPPORTED, "c.tif", "CFloat32");
}

static void containers(void **state) {
    static const char *const one[] = {"RASTER_TABLE=one", NULL};
    static const char *const two[] = {"RASTER_TABLE=two", "APPEND_SUBDATASET=YES", NULL};
    (void)state;
    if (GDALGetDriverByName("GPKG") == NULL) {
        skip();
    }
    GDALDatasetH made = make_raster("MEM", "", 1, GDT_Byte, 0, NULL);
    double transform[6] = {10, 2, 0, 20, 0, -2};
    GDALSetGeoTransform(made, transform);
    for (int i = 0; i < 2; i++) {
        GDALDatasetH copy = GDALCreateCopy(GDALGetDriverByName("GPKG"), in_folder("c.gpkg"), made, FALSE,
                                           (CSLConstList)(uintptr_t)(i == 0 ? one : two), NULL, NULL);
        assert_non_null(copy);
        GDALClose(copy);
    }
    GDALClose(made);
    assert_refused(in_folder("c.gpkg"), HC_E_INPUT, "c.gpkg: holds 2 rasters ... GPKG:", ":two");
    char path[300];
    snprintf(path, sizeof path, "GPKG:%s:two", in_folder("c.gpkg"));
    hc_reader_close(open_scene(path, NULL));
}

static void band_choice(void **state) {
    static const int32_t wrong[][2] = {{1, 0}, {1, 1}, {-1, 2}, {0, BANDS}};
    (void)state;
    write_plain("choice", "");
    HcReader *reader = open_scene(in_folder("choice.hdr"), NULL);
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(hc_reader_use_bands(reader, wrong[i], 2, NULL), HC_E_USAGE);
    }
    assert_int_equal(hc_reader_use_bands(reader, wrong[0], 0, NULL), HC_E_USAGE);
    hc_reader_close(reader);
    hc_reader_close(NULL);
}

/* Through a mapping: the same values, wherever lines and bands begin, with pages given back on the way. */
static void mapped(void **state) {
    static const int32_t some[] = {1, 3};
    (void)state;
    for (int i = 0; i < 3; i++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            write_envi(in_folder("map"), BANDS, LINES, SAMPLES, t, i, t % 2 == 1, 37 * t, "");
            HcReader *reader = open_scene(in_folder("map.hdr"), NULL);
            assert_int_equal(hc_reader_use_bands(reader, some, 2, NULL), HC_OK);
            assert_true(hc_reader_map(reader));
            assert_int_equal(hc_reader_bytes(reader, LINES), 0);
            assert_values(reader, 2, some, 2);
            hc_reader_release(reader, 0, LINES);
            assert_values(reader, 3, some, 2);
            hc_reader_close(reader);
        }
    }
    HcReaderOptions options = {.never_direct = true};
    HcReader *reader = open_scene(in_folder("map.hdr"), &options);
    assert_false(hc_reader_map(reader));
    hc_reader_close(reader);
}

/* A mapped file that shrinks is an error of the read, not the end of the process. */
static void mapped_file_shrinks(void **state) {
    enum { MANY = 3000 };
    HcRaw raw;
    HcError err = {0};
    (void)state;
    write_envi(in_folder("shrinks"), BANDS, MANY, SAMPLES, 1, 1, false, 0, "");
    HcReader *reader = open_scene(in_folder("shrinks.hdr"), NULL);
    assert_true(hc_reader_map(reader));
    assert_int_equal(hc_reader_read(reader, 0, MANY, NULL, &raw, &err), HC_OK);
    assert_int_equal(truncate(in_folder("shrinks.img"), 4096), 0);
    assert_int_equal(hc_reader_read(reader, 2000, 1000, NULL, &raw, &err), HC_E_INPUT);
    check_says(err.text, "shrinks.img: changed ... 168000 bytes at first");
    hc_reader_close(reader);
    /* Cut off when its lines were brought in already: they are 0 then, and it is told in the end. */
    write_envi(in_folder("shrinks"), BANDS, MANY, SAMPLES, 1, 1, false, 0, "");
    reader = open_scene(in_folder("shrinks.hdr"), NULL);
    assert_true(hc_reader_map(reader));
    err = (HcError){0};
    check_ok(hc_reader_read(reader, 0, MANY, NULL, &raw, &err), err);
    check_ok(hc_reader_unchanged(reader, &err), err);
    assert_int_equal(truncate(in_folder("shrinks.img"), 4096), 0);
    assert_int_equal(((const volatile char *)raw.data)[150000], 0);
    check_fails(hc_reader_unchanged(reader, &err), HC_E_INPUT, err);
    hc_reader_close(reader);
}

static int set_up(void **state) {
    (void)state;
    GDALAllRegister();
    return mkdtemp(folder) == NULL;
}

static int tear_down(void **state) {
    (void)state;
    return VSIRmdirRecursive(folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_layout),
        cmocka_unit_test(large_requests),
        cmocka_unit_test(metadata_of_envi),
        cmocka_unit_test(wavelength_units),
        cmocka_unit_test(finding_files),
        cmocka_unit_test(refusals),
        cmocka_unit_test(reading_past_the_end),
        cmocka_unit_test(geotiff),
        cmocka_unit_test(metadata_of_geotiff),
        cmocka_unit_test(header_over_geotiff),
        cmocka_unit_test(other_files),
        cmocka_unit_test(containers),
        cmocka_unit_test(band_choice),
        cmocka_unit_test(mapped),
        cmocka_unit_test(mapped_file_shrinks),
        cmocka_unit_test(broken_compression),
        cmocka_unit_test(signed_bytes),
        cmocka_unit_test(half_floats),
        cmocka_unit_test(warnings_of_gdal),
        cmocka_unit_test(fields_in_doubt),
        cmocka_unit_test(wavelengths_of_any_domain),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
