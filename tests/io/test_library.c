/* Spectral libraries: every form read, and every flaw refused with one clear line. */
#include "core/text.h"
#include "io/library/library.h"
#include "write_fixture.h"

#include <math.h>

static bool is_library(const char *path) {
    HcError err = {0};
    bool is = false;
    check_ok(hc_library_recognise(path, &is, &err), err);
    return is;
}

static HcLibrary read_library(const char *name) {
    HcLibrary library = {0};
    HcError err = {0};
    check_ok(hc_library_read(&library, in_folder(name), &err), err);
    assert_true(is_library(in_folder(name)));
    return library;
}

/* Fails with one line that names the file and holds `part`. */
static void check_refused(const char *name, HcStatus status, const char *part) {
    HcLibrary library = {0};
    HcError err = {0};
    HcStatus found = hc_library_read(&library, in_folder(name), &err);
    if (found != status || !check_holds(err.text, part) || strchr(err.text, '\n') != NULL ||
        strstr(err.text, folder) == NULL) {
        fail_msg("%s: status %d, \"%s\" (wanted: \"%s\")", name, (int)found, err.text, part);
    }
    assert_null(library.value);
    assert_null(library.name);
    assert_int_equal(library.count, 0);
}

static void put_bytes(const char *name, const void *data, size_t bytes) {
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

#define HEADER(type)                                                                                         \
    "ENVI\nsamples = 3\nlines = 2\nbands = 1\nfile type = ENVI Spectral Library\ndata type = " type "\n"

static void check_spectra(const HcLibrary *library, int32_t count, int32_t bands, const double *value) {
    assert_int_equal(library->count, count);
    assert_int_equal(library->bands, bands);
    for (int32_t i = 0; i < count * bands; i++) {
        if (isnan(value[i])) {
            assert_true(isnan(library->value[i]));
        } else {
            check_near(library->value[i], (float)value[i], 0);
        }
    }
}

static void check_wavelengths(const double *found, int32_t bands, const double *wanted) {
    assert_non_null(found);
    for (int32_t b = 0; b < bands; b++) {
        check_near(found[b], wanted[b], 1e-9);
    }
}

static const double six[] = {1, 2, 3, 4, 5, 6};
static const double nanometres[] = {400, 500, 650};

/* ---- ENVI ---- */

static void envi_libraries_are_read(void **state) {
    (void)state;
    const double values[] = {0.5, -1.23e34, 1, NAN, 2, -9};
    put_bytes("a.sli", values, sizeof values);
    put_file(in_folder("a.hdr"), HEADER("5") "byte order = 0\nspectra names = {\n Oak ,\n Red  clay}\n"
                                             "wavelength units = Micrometers\nwavelength = {0.4, 0.5, 0.65}\n"
                                             "fwhm = {0.01, 0.02, 0.03}\ndata ignore value = -9\n"
                                             "reflectance scale factor = 10000\n");
    const char *const names[] = {"a.sli", "a.hdr"};
    for (int n = 0; n < 2; n++) {
        HcLibrary library = read_library(names[n]);
        check_spectra(&library, 2, 3, (const double[]){0.5, NAN, 1, NAN, 2, NAN});
        assert_string_equal(library.name[0], "Oak");
        assert_string_equal(library.name[1], "Red clay");
        check_wavelengths(library.wavelength, 3, nanometres);
        check_wavelengths(library.fwhm, 3, (const double[]){10, 20, 30});
        hc_library_clear(&library);
        hc_library_clear(&library);
    }
}

static void every_type_and_order_is_read(void **state) {
    (void)state;
    const uint8_t u8[] = {1, 2, 3, 4, 5, 6};
    const int16_t i16[] = {1, 2, 3, 4, 5, 6};
    const int32_t i32[] = {1, 2, 3, 4, 5, 6};
    const float f32[] = {1, 2, 3, 4, 5, 6};
    const uint16_t u16[] = {1, 2, 3, 4, 5, 6};
    const uint32_t u32[] = {1, 2, 3, 4, 5, 6};
    const int64_t i64[] = {1, 2, 3, 4, 5, 6};
    const struct {
        const char *code;
        const void *data;
        size_t bytes;
    } types[] = {{"1", u8, 1},   {"2", i16, 2},  {"3", i32, 4},  {"4", f32, 4}, {"5", six, 8},
                 {"12", u16, 2}, {"13", u32, 4}, {"14", i64, 8}, {"15", i64, 8}};
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (int order = 0; order < 2; order++) {
            char data[7 + 48] = "offset";
            char header[400];
            for (size_t i = 0; i < 6; i++) {
                for (size_t b = 0; b < types[t].bytes; b++) {
                    size_t to = order == 1 ? types[t].bytes - 1 - b : b;
                    data[7 + i * types[t].bytes + to] = ((const char *)types[t].data)[i * types[t].bytes + b];
                }
            }
            put_bytes("typed", data, 7 + 6 * types[t].bytes);
            snprintf(header, sizeof header, HEADER("%s") "byte order = %d\nheader offset = 7\n",
                     types[t].code, order);
            put_file(in_folder("typed.hdr"), header);
            HcLibrary library = read_library("typed");
            check_spectra(&library, 2, 3, six);
            assert_string_equal(library.name[1], "Spectrum 2");
            assert_null(library.wavelength);
            assert_null(library.fwhm);
            hc_library_clear(&library);
        }
    }
}

static void units_are_found_or_left_out(void **state) {
    (void)state;
    const struct {
        const char *lines;
        bool there;
    } cases[] = {
        {"wavelength = {0.4, 0.5, 0.65}\n", true},
        {"wavelength = {400, 500, 650}\n", true},
        {"wavelength units = nm\nwavelength = {400, 500, 650}\n", true},
        {"wavelength units = Unknown\nwavelength = {0.4, 0.5, 0.65}\n", true},
        {"wavelength units = Wavenumber\nwavelength = {400, 500, 650}\n", false},
        {"wavelength = {0, 500, 650}\n", false},
        {"fwhm = {1, 2, 3}\n", false},
    };
    put_bytes("b.sli", six, sizeof six);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char header[400];
        snprintf(header, sizeof header, HEADER("5") "%s", cases[c].lines);
        put_file(in_folder("b.hdr"), header);
        HcLibrary library = read_library("b.sli");
        if (cases[c].there) {
            check_wavelengths(library.wavelength, 3, nanometres);
        } else {
            assert_null(library.wavelength);
        }
        assert_null(library.fwhm);
        hc_library_clear(&library);
    }
}

static void bad_bands_are_missing(void **state) {
    (void)state;
    put_bytes("bad.sli", six, sizeof six);
    put_file(in_folder("bad.hdr"), HEADER("5") "bbl = {1, 0, 1}\nreflectance scale factor = 100\n");
    HcLibrary library = read_library("bad.sli");
    check_spectra(&library, 2, 3, (const double[]){1, NAN, 3, 4, NAN, 6});
    assert_non_null(library.bad);
    assert_memory_equal(library.bad, ((const uint8_t[]){0, 1, 0}), 3);
    check_near(library.scale, 100, 0);
    hc_library_clear(&library);
    put_file(in_folder("bad.hdr"), HEADER("5") "reflectance scale factor = 0\n");
    library = read_library("bad.sli");
    check_spectra(&library, 2, 3, six);
    assert_null(library.bad);
    check_near(library.scale, 0, 0);
    hc_library_clear(&library);
}

/* A list that holds control characters alone has no element, and none may be read. */
static void lists_of_nothing_are_no_lists(void **state) {
    (void)state;
    put_bytes("hollow.sli", six, sizeof six);
    static const char *const voids[] = {"\x01", "\x7f", " \x02 \n \x7f "};
    for (size_t v = 0; v < sizeof voids / sizeof *voids; v++) {
        char header[600];
        snprintf(header, sizeof header,
                 HEADER("5") "bbl = {%s}\nwavelength = {%s}\nfwhm = {%s}\nspectra names = {%s}\n", voids[v],
                 voids[v], voids[v], voids[v]);
        put_file(in_folder("hollow.hdr"), header);
        HcLibrary library = read_library("hollow.sli");
        check_spectra(&library, 2, 3, six);
        assert_null(library.bad);
        assert_null(library.wavelength);
        assert_null(library.fwhm);
        assert_string_equal(library.name[1], "Spectrum 2");
        hc_library_clear(&library);
    }
}

static void flaws_of_envi_libraries_are_refused(void **state) {
    (void)state;
    const struct {
        const char *header;
        HcStatus status;
        const char *part;
    } cases[] = {
        {"ENVI\nsamples = 3\nlines = 2\nbands = 1\ndata type = 5\nfile type = ENVI Standard\n", HC_E_INPUT,
         "not a spectral library ... ENVI Standard)"},
        {"ENVI\nsamples = 3\nlines = 0\nbands = 1\nfile type = ENVI Spectral Library\ndata type = 5\n",
         HC_E_INPUT, "lines = 0"},
        {"ENVI\nsamples = 3\nlines = 2\nbands = 2\nfile type = ENVI Spectral Library\ndata type = 5\n",
         HC_E_INPUT, "bands = 2"},
        {"ENVI\nsamples = 3\nlines = 3\nbands = 1\nfile type = ENVI Spectral Library\ndata type = 5\n",
         HC_E_INPUT, "3 spectra of 3 bands need 72 bytes ... 48"},
        {"ENVI\nsamples = 2000000000\nlines = 2000000000\nbands = 1\nfile type = ENVI Spectral Library\n"
         "data type = 5\n",
         HC_E_INPUT, "the file holds 48"},
        {HEADER("99"), HC_E_INPUT, "data type = 99"},
        {HEADER("6"), HC_E_UNSUPPORTED, "complex"},
        {HEADER("5") "file compression = 1\n", HC_E_UNSUPPORTED, "compressed"},
        {HEADER("5") "header offset = 1\n", HC_E_INPUT, "need 49 bytes"},
        {HEADER("5") "spectra names = {a, b, c}\n", HC_E_INPUT, "3 spectra names for 2 spectra"},
        {HEADER("5") "wavelength = {1, 2}\n", HC_E_INPUT, "wavelength has 2 values for 3 bands"},
        {HEADER("5") "wavelength = {1, 2, x}\n", HC_E_INPUT, "x"},
        {HEADER("5") "bbl = {1, 1}\n", HC_E_INPUT, "bbl has 2 values for 3 bands"},
        {HEADER("5") "reflectance scale factor = much\n", HC_E_INPUT, "much"},
        {HEADER("5") "fwhm = {1, 2, 3, 4}\n", HC_E_INPUT, "fwhm has 4 values for 3 bands"},
    };
    put_bytes("c.sli", six, sizeof six);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        put_file(in_folder("c.hdr"), cases[c].header);
        check_refused("c.sli", cases[c].status, cases[c].part);
        check_refused("c.hdr", cases[c].status, cases[c].part);
    }
    put_file(in_folder("alone.hdr"), HEADER("5"));
    check_refused("alone.hdr", HC_E_INPUT, "no data file beside it");
    check_refused("alone.sli", HC_E_INPUT, "no data file beside it");
    check_refused("nowhere.sli", HC_E_INPUT, "there is no such file");
    put_bytes("bare.sli", six, sizeof six);
    check_refused("bare.sli", HC_E_INPUT, "no ENVI header beside it");
    put_file(in_folder("c.hdr"), "ENVI\nfile type = ENVI Standard\n");
    assert_false(is_library(in_folder("c.hdr")));
    assert_false(is_library(in_folder("nowhere.img")));
    assert_false(is_library(folder));
}

/* ---- CSV ---- */

static void csv_libraries_are_read(void **state) {
    (void)state;
    static const char *const texts[] = {
        "wavelength_nm,Oak,Red clay\n400,1,4\n500,2,5\n650,3,6\n",
        "Wavelength [um],Oak,Red clay\r\n0.4,1,4\r\n0.5,2,5\r\n\r\n0.65,3,6",
        "\xEF\xBB\xBFWavelength;\"Oak\"; \"Red clay\" \n 0.4; 1; 4\n0.5;2;5\n0.65;3;6\n",
        "wl\tOak\tRed clay\n400\t1\t4\n500\t2\t5\n650\t3\t6\n",
        "name,400,500,650\nOak,1,2,3\nRed clay,4,5,6\n",
        "micrometers,0.4,0.5,0.65\n\"Oak\",1,2,3\n\"Red clay\",4,5,6\n",
        ",400,500,650\nOak,1,2,3\nRed clay,4,5,6\n",
    };
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        put_file(in_folder("a.csv"), texts[t]);
        HcLibrary library = read_library("a.csv");
        check_spectra(&library, 2, 3, six);
        assert_string_equal(library.name[0], "Oak");
        assert_string_equal(library.name[1], "Red clay");
        check_wavelengths(library.wavelength, 3, nanometres);
        assert_null(library.fwhm);
        hc_library_clear(&library);
    }
}

/* What is assumed of wavelengths, or why there are none, is a note. */
static void wavelengths_in_doubt(void **state) {
    (void)state;
    static const struct {
        const char *text, *note;
    } cases[] = {{"wavelength,a\n1.12,1\n216,2\n", "nm is assumed"},
                 {"wavelength,a\n0.4,1\n2.5,2\n", "um is assumed"},
                 {"wavelength_um,a\n400,1\n2500,2\n", "2500000 nm look like nanometres"},
                 {"wavelength_nm,a\n0.4,1\n2.5,2\n", "2.5 nm look like micrometres"},
                 {"wavelength_nm,a\n0,1\n500,2\n", "not all values are lengths (band 1: 0)"},
                 {"wavelength_nm,a\n400,1\n500,2\n", ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file(in_folder("doubt.csv"), cases[i].text);
        HcLibrary library = read_library("doubt.csv");
        assert_non_null(strstr(library.note, cases[i].note));
        assert_int_equal(library.note[0] == '\0', cases[i].note[0] == '\0');
        hc_library_clear(&library);
    }
}

static void csv_cells_may_be_odd(void **state) {
    (void)state;
    put_file(in_folder("b.csv"), "band,\"a, \"\"b\"\"\",,7\n1,nan,-1.23e34,1\n2,,inf,2\n3,5,NA,3\n");
    HcLibrary library = read_library("b.csv");
    check_spectra(&library, 3, 3, (const double[]){NAN, NAN, 5, NAN, NAN, NAN, 1, 2, 3});
    assert_string_equal(library.name[0], "a, \"b\"");
    assert_string_equal(library.name[1], "Spectrum 2");
    assert_string_equal(library.name[2], "7");
    assert_null(library.wavelength);
    hc_library_clear(&library);
    /* Separators between quotes are part of a cell, whichever they are; a quote within a cell is a letter. */
    put_file(in_folder("b.csv"), "\"Oak; old\";400;\"500\";650\nA;1;2;3\n5\" pipe;4;\"5\"; 6 \n");
    library = read_library("b.csv");
    check_spectra(&library, 2, 3, six);
    assert_string_equal(library.name[1], "5\" pipe");
    hc_library_clear(&library);
    put_file(in_folder("b.csv"),
             "nm\t\"Oak, red\"\t\"Clay\t\"\"wet\"\"; cold\"\n400\t1\t4\n500\t2\t5\n650\t3\t6\n");
    library = read_library("b.csv");
    check_spectra(&library, 2, 3, six);
    assert_string_equal(library.name[0], "Oak, red");
    assert_string_equal(library.name[1], "Clay \"wet\"; cold");
    check_wavelengths(library.wavelength, 3, nanometres);
    hc_library_clear(&library);
    /* A line of numbers is no header. */
    put_file(in_folder("b.csv"), "400,1\n500,2\n650,3\n");
    library = read_library("b.csv");
    check_spectra(&library, 1, 3, six);
    assert_string_equal(library.name[0], "Spectrum 1");
    check_wavelengths(library.wavelength, 3, nanometres);
    hc_library_clear(&library);
}

/* Two spectra at 400, 500 and 650 nm, as other programs write them; names are a and b, or missing. */
static void csv_of_other_programs_is_read(void **state) {
    (void)state;
    static const char *const named[] = {
        "sep=;\nwavelength;a;b\n400;1;4\n500;2;5\n650;3;6\n",
        "# made today\n# by hand\nwavelength,a,b\n400,1,4\n500,2,5\n650,3,6\n",
        "# wavelength a b\n400 1.0 4.0\n500 2.0 5.0\n650 3.0 6.0\n",
        "Spectra of today\n\nwl|a|b\n400|1|4\n500|2|5\n650|3|6\n",
        "Wellenlaenge;a;b\n400,0;1,0;4,0\n500,0;2,0;5,0\n650,0;3,0;6,0\n",
        "wavelength,a,b\n400,\"1,0\",\"4,0\"\n500,\"2,0\",\"5,0\"\n650,\"3,0\",\"6,0\"\n",
        ",wavelength,a,b\n0,400,1,4\n1,500,2,5\n2,650,3,6\n",
        "band,Wavelength (um),a,b\n1,.4,1,4\n2,.5,2,5\n3,.65,3,6\n",
        "a,b,wavelength\n1,4,400\n2,5,500\n3,6,650\n",
        "wl,a,wl,b\n400,1,400,4\n500,2,500,5\n650,3,650,6\n",
        "wavelength,a,b\num,-,-\n0.4,1,4\n0.5,2,5\n0.65,3,6\n",
        "wavelength,a,b,\n400,1,4,\n,,,\n500,2,5,\n650,3,6,\n",
        "wavelength,a,b\n400,1,4,\n500,2,5,\n650,3,6,\n",
        "x,a,b\n400 nm,1,4\n500 nm,2,5\n650 nm,3,6\n",
        "name,400nm,500nm,650nm\na,1,2,3\nb,4,5,6\n",
        "\"\",\"X400\",\"X500\",\"X650\"\n\"a\",1,2,3\n\"b\",4,5,6\n",
        "name;0,4;0,5;0,65\na;1;2;3\nb;4;5;6\n",
    };
    static const char *const nameless[] = {
        "400,1,4\n500,2,5\n650,3,6\n",
        ("\xEF\xBB\xBF"
         "400\t1\t4\r\n500\t2\t5\r\n650\t3\t6\r\n"),
        "400;1,0;4,0\n500;2,0;5,0\n650;3,0;6,0\n",
        "400,500,650\n1,2,3\n4,5,6\n",
        "\"0.4\",\"1\",\"4\"\n\"0.5\",\"2\",\"5\"\n\"0.65\",\"3\",\"6\"\n",
    };
    size_t count = sizeof named / sizeof *named;
    for (size_t t = 0; t < count + sizeof nameless / sizeof *nameless; t++) {
        put_file(in_folder("o.csv"), t < count ? named[t] : nameless[t - count]);
        HcLibrary library = read_library("o.csv");
        check_spectra(&library, 2, 3, six);
        assert_string_equal(library.name[0], t < count ? "a" : "Spectrum 1");
        assert_string_equal(library.name[1], t < count ? "b" : "Spectrum 2");
        check_wavelengths(library.wavelength, 3, nanometres);
        hc_library_clear(&library);
    }
    /* Numbers of bands and of lines, and wavenumbers. */
    static const char *const without[] = {
        "name,Band 1,Band 2,Band 3\na,1,2,3\nb,4,5,6\n",
        ",a,b\n0,1,4\n1,2,5\n2,3,6\n",
        "Wavenumber (cm-1),a,b\n4000,1,4\n3000,2,5\n2000,3,6\n",
    };
    for (size_t t = 0; t < sizeof without / sizeof *without; t++) {
        put_file(in_folder("o.csv"), without[t]);
        HcLibrary library = read_library("o.csv");
        check_spectra(&library, 2, 3, six);
        assert_null(library.wavelength);
        hc_library_clear(&library);
    }
    /* Spectra have numbers. */
    static const char *const numbered[] = {
        "id,400,500,650\n1,1,2,3\n2,4,5,6\n", "sample,400,500,650\n101,1,2,3\n2,4,5,6\n",
        "Wavelength (nm),400,500,650\n1,1,2,3\n2,4,5,6\n", "Wellenlaenge,1,2\n400,1,4\n500,2,5\n650,3,6\n",
        "x,400,500,650\n7,1,2,3\n2,4,5,6\n"};
    for (size_t t = 0; t < sizeof numbered / sizeof *numbered; t++) {
        put_file(in_folder("o.csv"), numbered[t]);
        HcLibrary library = read_library("o.csv");
        check_spectra(&library, 2, 3, six);
        assert_string_equal(library.name[1], "2");
        check_wavelengths(library.wavelength, 3, nanometres);
        hc_library_clear(&library);
    }
}

static void flaws_of_csv_libraries_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "no spectra"},
        {"\n\n", "no spectra"},
        {"wavelength_nm,Oak\n", "no spectra"},
        {"wavelength_nm\n400\n500\n", "no spectra"},
        {"wavelength_nm,Oak,Elm\n400,1,2\n\n500,1\n", "line 4 has 2 values ... line 3"},
        {"wavelength_nm,Oak\n400,1,2\n", "line 2 has 3 values ... line 2"},
        {"wavelength_nm,Oak,Elm\n400,1,2\n500,1,bright\n", "'bright' in line 3 ... not a number"},
        {"wavelength_nm,Oak\nblue,1\n", "'blue' in line 2 ... not a number"},
        {"name,400,500\nOak,1,2\nElm,1,2x\n", "'2x' in line 3 ... not a number"},
        {"wavelength,a\n400,0,1\n500,0,2\n", "line 2 has 3 values ... line 2 (it is the header"},
        {"Date,2020\nwavelength,a,b\n400,1,2\n", "line 2 has 3 values ... line 2 (it is the header"},
        {"Oak,0.1,0.3,0.2\nElm,0.2,0.1,0.4\n", "line 1 begins with 'Oak'"},
        {"Oak,Elm\n0.1,0.2\n0.3,0.1\n", "line 1 begins with 'Oak'"},
        {"0.5,0.3,0.7\n0.4,0.6,0.1\n0.6,0.2,0.3\n", "line 1 is no header"},
        {"x,400,410\n101,1,2\n102,3,4\n", "line 1 begins with 'x': both"},
        {"400,0,12\n410,0,13\n", "line 1 is no header, and value 2 ... decimal commas"},
        {"x,y\nfoo,bar\nbaz,1\n", "line 1 is no header"},
        {"wl,a,wl,b\n400,1,401,4\n500,2,500,5\n", "'401' in line 2 ... second 'wl'"},
        {"wl\ta\n900\t0.1\n1,000\t0.2\n", "'1,000' in line 3 ... not a number"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        put_file(in_folder("c.csv"), cases[c].text);
        check_refused("c.csv", HC_E_INPUT, cases[c].part);
    }
    put_file(in_folder("c.csv"), "wavelength_nm,Oak\n400,\"1\n"); /* a quote that stays open */
    HcLibrary library = read_library("c.csv");
    hc_library_clear(&library);
    put_bytes("zero.csv", "band,Oak\n1,2\0\n2,3\n", 19);
    check_refused("zero.csv", HC_E_INPUT, "not text");
    put_bytes("u16.csv", "\xFF\xFEw\0l\0,\0a\0\n\0", 12);
    check_refused("u16.csv", HC_E_INPUT, "a text in UTF-16");
    put_bytes("u16.csv", "\0w\0l\0,\0a\0\n", 10);
    check_refused("u16.csv", HC_E_INPUT, "a text in UTF-16");
    put_file(in_folder("spectrum.txt"), "Wavelength\ta\n400\t1\n");
    check_refused("spectrum.txt", HC_E_INPUT, "ends in .csv, .sli or .hdr");
    check_refused("nowhere.csv", HC_E_INPUT, "there is no such file");
    put_file(in_folder("points.csv"), "WKT,class\n\"POINT (1 2)\",Oak\n");
    assert_false(is_library(in_folder("points.csv")));
}

/* ---- what is no spectrum ---- */

static void names_tell_what_is_no_spectrum(void **state) {
    (void)state;
    static const struct {
        const char *name;
        HcLibraryEntry entry;
    } cases[] = {
        {"errorbars to preceding spectrum Acmite NMNH133746", HC_ENTRY_ERROR_BARS},
        {"Errorbars_to_preceding_spectrum", HC_ENTRY_ERROR_BARS},
        {"Oak leaf error bars", HC_ENTRY_ERROR_BARS},
        {"Oak leaf (Standard Deviation)", HC_ENTRY_ERROR_BARS},
        {"Oak leaf stdev", HC_ENTRY_ERROR_BARS},
        {"Wavelengths to AVIRIS 1995", HC_ENTRY_WAVELENGTHS},
        {"splib07a Record=1: Wavelengths ASD 0.35-2.5 microns", HC_ENTRY_WAVELENGTHS},
        {"s07AV95a_Wavelengths_AVIRIS_1995", HC_ENTRY_WAVELENGTHS},
        {"wavelength", HC_ENTRY_WAVELENGTHS},
        {"Resolution (FWHM) BECK", HC_ENTRY_WIDTHS},
        {"Bandpass (FWHM) ASDFR", HC_ENTRY_WIDTHS},
        {"FWHM", HC_ENTRY_WIDTHS},
        {"Acmite NMNH133746 Pyroxene s06av95a=a", HC_ENTRY_SPECTRUM},
        {"Alunite SUSTDA-20", HC_ENTRY_SPECTRUM},
        {"Kaolinite high resolution", HC_ENTRY_SPECTRUM},
        {"Wavelength standard Mylar", HC_ENTRY_SPECTRUM},
        {"Error Creek clay", HC_ENTRY_SPECTRUM},
        {"Standard panel, bright", HC_ENTRY_SPECTRUM},
        {"splib07a", HC_ENTRY_SPECTRUM},
        {"12", HC_ENTRY_SPECTRUM},
        {"", HC_ENTRY_SPECTRUM},
    };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        if (hc_library_entry(cases[c].name) != cases[c].entry) {
            fail_msg("%s: %s", cases[c].name, hc_library_entry_word(hc_library_entry(cases[c].name)));
        }
    }
}

enum { ENTRIES = 40, CHANNELS = 50 };

static int64_t count_outliers(const HcLibrary *library) {
    int64_t count = 0;
    for (int32_t i = 0; i < library->count; i++) {
        count += library->outliers[i].values;
    }
    return count;
}

/* An ENVI library, float64, of smooth spectra up to `bright`, with what `change` makes of it. */
static HcLibrary read_made(const char *name, double bright, void (*change)(double *value)) {
    double value[ENTRIES * CHANNELS];
    char data_name[40];
    char header_name[40];
    snprintf(data_name, sizeof data_name, "%s.sli", name);
    snprintf(header_name, sizeof header_name, "%s.hdr", name);
    HcText header = {0};
    hc_text_add(&header,
                "ENVI\nsamples = %d\nlines = %d\nbands = 1\nfile type = ENVI Spectral Library\n"
                "data type = 5\nspectra names = {",
                CHANNELS, ENTRIES);
    for (int i = 0; i < ENTRIES; i++) {
        const char *what = i == 0       ? "Wavelengths"
                           : i == 1     ? "Resolution"
                           : i % 2 == 1 ? "errorbars to preceding"
                                        : "Mineral";
        hc_text_add(&header, "%s %d,", what, i);
        for (int b = 0; b < CHANNELS; b++) {
            double shape = (i + 1.0) / ENTRIES * (0.6 + 0.4 * sin(0.1 * b + i));
            value[i * CHANNELS + b] = bright * (i == 0 ? 2000 + b : i % 2 == 1 ? 0.01 * shape : shape);
        }
    }
    hc_text_add(&header, "}\n");
    if (change != NULL) {
        change(value);
    }
    put_bytes(data_name, value, sizeof value);
    put_file(in_folder(header_name), header.data);
    hc_text_clear(&header);
    return read_library(data_name);
}

/* What a deleted channel leaves after resampling, in a spectrum and in error bars; a glitch. */
static void put_outliers(double *value) {
    static const double leaks[] = {-8e29, -1e20, -3e12, -4e6, -7};
    for (int k = 0; k < 5; k++) {
        value[10 * CHANNELS + 20 + k] = leaks[k];
        value[11 * CHANNELS + 20 + k] = leaks[k];
    }
    value[10 * CHANNELS + 25] = -1.23e34;
    value[30 * CHANNELS] = 1e9;
}

/* Noise of dark spectra, some of it below 0 by half the height of a usual spectrum. */
static void put_noise(double *value) {
    for (int b = 0; b < CHANNELS; b += 7) {
        value[2 * CHANNELS + b] *= -3;
        value[4 * CHANNELS + b] -= 0.5 * value[20 * CHANNELS + b];
    }
}

/* A signed quantity: differences. */
static void put_signs(double *value) {
    for (int i = 0; i < ENTRIES * CHANNELS; i++) {
        value[i] = i % 3 == 0 ? -20 * value[i] : value[i];
    }
}

static void values_far_outside_are_missing(void **state) {
    (void)state;
    HcLibrary library = read_made("splib", 1, put_outliers);
    assert_int_equal(count_outliers(&library), 11);
    assert_int_equal(library.outliers[10].values, 5);
    assert_int_equal(library.outliers[11].values, 5);
    check_near(library.outliers[10].lowest, -8e29, 1e23);
    check_near(library.outliers[10].highest, -7, 0);
    check_near(library.outliers[30].highest, 1e9, 0);
    for (int b = 0; b < CHANNELS; b++) {
        bool missing = b >= 20 && b <= 25;
        assert_true(isnan(library.value[10 * CHANNELS + b]) == missing);
        assert_true(isnan(library.value[30 * CHANNELS + b]) == (b == 0));
        assert_true(isnan(library.value[11 * CHANNELS + b]) == (missing && b < 25));
    }
    hc_library_clear(&library);
}

static void usual_libraries_keep_their_values(void **state) {
    (void)state;
    static const double scales[] = {1, 100, 10000, 1e-7, 3e18};
    static void (*const changes[])(double *) = {NULL, put_noise, put_signs};
    for (size_t s = 0; s < sizeof scales / sizeof *scales; s++) {
        for (size_t c = 0; c < sizeof changes / sizeof *changes; c++) {
            HcLibrary library = read_made("usual", scales[s], changes[c]);
            assert_int_equal(count_outliers(&library), 0);
            for (int i = 0; i < ENTRIES * CHANNELS; i++) {
                assert_true(isfinite(library.value[i]));
            }
            hc_library_clear(&library);
        }
    }
    /* A radiance: 600 times as bright in the blue as in the infrared; dark and bright; one of zeros. */
    put_file(in_folder("radiance.csv"), "nm,Sun,Shadow,Lamp,Dark\n400,600,6,0.001,0\n500,500,5,0.001,0\n"
                                        "600,400,1,50,0\n2000,2,0.02,0.001,0\n2400,1,-0.01,0.001,0\n");
    HcLibrary library = read_library("radiance.csv");
    assert_int_equal(count_outliers(&library), 0);
    hc_library_clear(&library);
}

static void entries_can_be_left_out(void **state) {
    (void)state;
    HcError err = {0};
    uint8_t keep[ENTRIES] = {0};
    HcLibrary library = read_made("kept", 1, NULL);
    assert_null(library.number);
    keep[3] = keep[8] = keep[39] = 1;
    check_ok(hc_library_keep(&library, keep, &err), err);
    assert_int_equal(library.count, 3);
    assert_int_equal(library.entries, ENTRIES);
    memset(keep, 0, sizeof keep);
    keep[1] = keep[2] = 1;
    float value = library.value[2 * CHANNELS + 7];
    check_ok(hc_library_keep(&library, keep, &err), err);
    assert_int_equal(library.count, 2);
    assert_int_equal(library.number[0], 8);
    assert_int_equal(library.number[1], 39);
    assert_string_equal(library.name[0], "Mineral 8");
    assert_string_equal(library.name[1], "errorbars to preceding 39");
    check_near(library.value[CHANNELS + 7], value, 0);
    hc_library_clear(&library);
}

/* ---- real ones ---- */

static HcLibrary read_real(const char *data, const char *name) {
    char path[600];
    HcLibrary library = {0};
    HcError err = {0};
    snprintf(path, sizeof path, "%s/%s", data, name);
    check_ok(hc_library_read(&library, path, &err), err);
    return library;
}

static void real_libraries_are_the_same_as_csv(void **state) {
    (void)state;
    static const struct {
        const char *envi, *csv;
        int32_t count, bands;
        bool wavelengths;
    } pairs[] = {
        {"dc1/dc1_library.sli", "dc1/dc1_library.csv", 240, 224, true},
        {"jasper-ridge/jasper_endmembers.hdr", "jasper-ridge/jasper_endmembers.csv", 4, 198, true},
        {"jasper-ridge/jasper_image_library.sli", "jasper-ridge/jasper_image_library.csv", 529, 198, false},
    };
    const char *data = getenv("HCUBE_DATA");
    if (data == NULL) {
        skip();
    }
    for (size_t p = 0; p < sizeof pairs / sizeof *pairs; p++) {
        HcLibrary envi = read_real(data, pairs[p].envi);
        HcLibrary csv = read_real(data, pairs[p].csv);
        assert_int_equal(envi.count, pairs[p].count);
        assert_int_equal(envi.bands, pairs[p].bands);
        assert_int_equal(csv.count, envi.count);
        assert_int_equal(csv.bands, envi.bands);
        assert_int_equal(count_outliers(&envi), 0);
        for (int32_t i = 0; i < envi.count; i++) {
            assert_string_equal(envi.name[i], csv.name[i]);
            assert_int_equal(hc_library_entry(envi.name[i]), HC_ENTRY_SPECTRUM);
        }
        for (int64_t i = 0; i < (int64_t)envi.count * envi.bands; i++) {
            check_near(csv.value[i], envi.value[i], 1e-8 * fabs((double)envi.value[i]));
        }
        assert_true((envi.wavelength != NULL) == pairs[p].wavelengths);
        assert_true((csv.wavelength != NULL) == pairs[p].wavelengths);
        for (int32_t b = 0; b < envi.bands && pairs[p].wavelengths; b++) {
            check_near(csv.wavelength[b], envi.wavelength[b], 1e-6);
        }
        hc_library_clear(&envi);
        hc_library_clear(&csv);
    }
    HcLibrary usgs = read_real(data, "usgs-library/s06av95a_envi.sli");
    int64_t missing = 0;
    for (int64_t i = 0; i < (int64_t)usgs.count * usgs.bands; i++) {
        missing += isnan(usgs.value[i]);
    }
    for (int32_t i = 0; i < usgs.count; i++) {
        assert_int_equal(hc_library_entry(usgs.name[i]), HC_ENTRY_SPECTRUM);
    }
    assert_int_equal(count_outliers(&usgs), 0);
    assert_int_equal(usgs.count, 1365);
    assert_int_equal(missing, 50067);
    hc_library_clear(&usgs);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(envi_libraries_are_read),
        IN_FOLDER(every_type_and_order_is_read),
        IN_FOLDER(units_are_found_or_left_out),
        IN_FOLDER(bad_bands_are_missing),
        IN_FOLDER(lists_of_nothing_are_no_lists),
        IN_FOLDER(values_far_outside_are_missing),
        IN_FOLDER(usual_libraries_keep_their_values),
        IN_FOLDER(entries_can_be_left_out),

        cmocka_unit_test(names_tell_what_is_no_spectrum),
        IN_FOLDER(flaws_of_envi_libraries_are_refused),
        IN_FOLDER(csv_libraries_are_read),
        IN_FOLDER(wavelengths_in_doubt),
        IN_FOLDER(csv_cells_may_be_odd),
        IN_FOLDER(csv_of_other_programs_is_read),
        IN_FOLDER(flaws_of_csv_libraries_are_refused),
        cmocka_unit_test(real_libraries_are_the_same_as_csv),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
