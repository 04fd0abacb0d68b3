/* The ENVI header parser against headers written here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/read/metadata/envi_header.h"
#include "tests/support/check.h"

static void parse(HcEnviHeader *header, const char *text) {
    HcError err = {0};
    *header = (HcEnviHeader){0};
    HcStatus status = hc_envi_parse(header, "a.hdr", text, strlen(text), &err);
    if (status != HC_OK) {
        fail_msg("%s", err.text);
    }
}

static void assert_refused(const char *text, const char *part) {
    HcEnviHeader header = {0};
    HcEnviShape shape;
    HcError err = {0};
    HcStatus status = hc_envi_parse(&header, "a.hdr", text, strlen(text), &err);
    if (status == HC_OK) {
        status = hc_envi_shape(&header, &shape, &err);
    }
    if (status != HC_E_INPUT || !check_holds(err.text, part) || strstr(err.text, "a.hdr") == NULL) {
        fail_msg("status %d, '%s' lacks '%s'", status, err.text, part);
    }
    hc_envi_clear(&header);
}

#define SHAPE "samples = 14\nlines = 12\nbands = 10\ndata type = 2\n"

static void tolerates_real_headers(void **state) {
    (void)state;
    HcEnviHeader header;
    HcEnviShape shape;
    HcError err = {0};
    parse(&header, "\xEF\xBB\xBF"
                   "ENVI \t\r\n; bands = 99\r\nSAMPLES=14\r\n  Lines\t=\t12  \r\nbands   = 10.0\r\n"
                   "Data_Type = 12\r\nInterleave = BIL\r\na line without a sign\r\n\r\nDescription = {\r\n "
                   "one = two,\r\n"
                   " three }  trailing\r\nwavelength units = Nanometers");
    assert_int_equal(hc_envi_shape(&header, &shape, &err), HC_OK);
    assert_int_equal(shape.samples, 14);
    assert_int_equal(shape.lines, 12);
    assert_int_equal(shape.bands, 10);
    assert_int_equal(shape.type, HC_UINT16);
    assert_int_equal(shape.interleave, HC_ENVI_BIL);
    assert_false(shape.big_endian);
    assert_int_equal(shape.offset, 0);
    assert_string_equal(hc_envi_text(&header, "wavelength units"), "Nanometers");
    assert_int_equal(hc_envi_field(&header, "description")->line, 10);
    char *clean = hc_envi_clean(hc_envi_text(&header, "description"));
    assert_string_equal(clean, "one = two, three");
    free(clean);
    assert_null(hc_envi_text(&header, "one"));
    hc_envi_clear(&header);
    parse(&header, "ENVI\rsamples = 3\rlines = 2\rbands = 1\rdata type = 1\r"); /* the line end of old Macs */
    assert_int_equal(hc_envi_shape(&header, &shape, &err), HC_OK);
    assert_int_equal(shape.interleave, HC_ENVI_NO_INTERLEAVE);
    hc_envi_clear(&header);
}

static void knows_every_type(void **state) {
    static const struct {
        int code;
        HcType type;
    } types[] = {{1, HC_UINT8},   {2, HC_INT16},   {3, HC_INT32},  {4, HC_FLOAT32}, {5, HC_FLOAT64},
                 {12, HC_UINT16}, {13, HC_UINT32}, {14, HC_INT64}, {15, HC_UINT64}};
    (void)state;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char text[200];
        HcEnviHeader header;
        HcEnviShape shape;
        snprintf(text, sizeof text,
                 "ENVI\nsamples = 1\nlines = 1\nbands = 1\ndata type = %d\nbyte order = 1\n"
                 "header offset = 512\n",
                 types[i].code);
        parse(&header, text);
        assert_int_equal(hc_envi_shape(&header, &shape, NULL), HC_OK);
        assert_int_equal(shape.type, types[i].type);
        assert_true(shape.big_endian);
        assert_int_equal(shape.offset, 512);
        hc_envi_clear(&header);
    }
}

static void refuses_what_would_be_a_guess(void **state) {
    (void)state;
    assert_refused("BANDS: 7\n", "first line");
    assert_refused("ENVIRONMENT\n", "first line");
    assert_refused("", "first line");
    assert_refused("ENVI\nlines = 1\nbands = 1\ndata type = 1", "samples");
    assert_refused("ENVI\nsamples = 1\nlines = 1\ndata type = 1", "'bands' is missing");
    assert_refused("ENVI\nsamples = -14\nlines = 1\nbands = 1\ndata type = 1", "samples = -14");
    assert_refused("ENVI\nsamples = 1\nlines = 0\nbands = 1\ndata type = 1", "lines = 0");
    assert_refused("ENVI\nsamples = 1\nlines = 1\nbands = ten\ndata type = 1", "bands = ten in line 4");
    assert_refused("ENVI\nsamples = 1.5\nlines = 1\nbands = 1\ndata type = 1", "samples = 1.5");
    assert_refused("ENVI\nsamples = 3000000000\nlines = 1\nbands = 1\ndata type = 1", "3000000000 is absurd");
    assert_refused("ENVI\nsamples = 99999999999999999999\nlines = 1\nbands = 1\ndata type = 1",
                   "99999999999999999999");
    assert_refused("ENVI\nsamples = 1\nlines = 1\nbands = 1", "data type");
    assert_refused("ENVI\nsamples = 1\nlines = 1\nbands = 1\ndata type = 99", "data type = 99");
    assert_refused("ENVI\n" SHAPE "interleave = bup", "interleave = bup");
    assert_refused("ENVI\n" SHAPE "byte order = 2", "byte order = 2");
    assert_refused("ENVI\n" SHAPE "header offset = -5", "header offset = -5");
    assert_refused("ENVI\n" SHAPE "bands = 11", "bands is both 10 (line 4) and 11");
    assert_refused("ENVI\n" SHAPE "wavelength = {1, 2,\n3", "'wavelength' in line 6 is never closed");
    assert_refused("ENVI\n" SHAPE "band names = {a,\nb\nwavelength = {1, 2}\n", "'band names' in line 6");
}

static void gives_lists(void **state) {
    (void)state;
    HcEnviHeader header;
    HcError err = {0};
    double *numbers = NULL;
    char **texts = NULL;
    int32_t count = 0;
    parse(&header,
          "ENVI\nwavelength = {\n 1e3, 2.5\n -3 ,4E-1,}\nempty = {}\nbroken = {1, x, 3}\nhole = {1,,2}\n"
          "spectra names = { soil 1 ,tree {a,\n last one }\nclass lookup = {0,0,0, 255,1,2}\nx = 7\n"
          "void = {\x01}\ndeleted = { \x7f\n\x02 }\nodd = \x03\n");
    assert_int_equal(hc_envi_numbers(&header, "wavelength", &numbers, &count, &err), HC_OK);
    assert_int_equal(count, 4);
    assert_true(numbers[0] == 1000 && numbers[1] == 2.5 && numbers[2] == -3 && numbers[3] == 0.4);
    free(numbers);
    assert_int_equal(hc_envi_numbers(&header, "class lookup", &numbers, &count, &err), HC_OK);
    assert_int_equal(count, 6);
    free(numbers);
    assert_int_equal(hc_envi_numbers(&header, "empty", &numbers, &count, &err), HC_OK);
    assert_int_equal(count, 0);
    assert_null(numbers);
    /* Bytes that are neither number nor separator hold no list either: no memory without a value. */
    static const char *const hollow[] = {"void", "deleted", "odd"};
    for (int i = 0; i < 3; i++) {
        assert_string_equal(hc_envi_text(&header, hollow[i]), "");
        assert_int_equal(hc_envi_numbers(&header, hollow[i], &numbers, &count, &err), HC_OK);
        assert_int_equal(count, 0);
        assert_null(numbers);
        assert_int_equal(hc_envi_texts(&header, hollow[i], &texts, &count, &err), HC_OK);
        assert_int_equal(count, 0);
        assert_null(texts);
    }
    assert_int_equal(hc_envi_numbers(&header, "broken", &numbers, &count, &err), HC_E_INPUT);
    assert_non_null(strstr(err.text, "broken = x in line 6"));
    assert_int_equal(hc_envi_numbers(&header, "hole", &numbers, &count, NULL), HC_E_INPUT);
    assert_int_equal(hc_envi_texts(&header, "spectra names", &texts, &count, NULL), HC_OK);
    assert_int_equal(count, 3);
    assert_string_equal(texts[0], "soil 1");
    assert_string_equal(texts[1], "tree {a");
    assert_string_equal(texts[2], "last one");
    hc_free_texts(texts, count);
    double x = 0;
    int64_t whole = 0;
    bool found = false;
    assert_int_equal(hc_envi_number(&header, "x", &x, &found, NULL), HC_OK);
    assert_true(found && x == 7);
    assert_int_equal(hc_envi_integer(&header, "y", &whole, &found, NULL), HC_OK);
    assert_false(found);
    hc_envi_clear(&header);
}

static void long_values_and_odd_bytes(void **state) {
    (void)state;
    size_t names = 20000;
    char *text = malloc(16 * names + 200);
    char *at = text + sprintf(text, "ENVI\nfile type = ENVI Spectral Library\nspectra names = {\n");
    for (size_t i = 0; i < names; i++) {
        at += sprintf(at, "spectrum %zu,", i);
    }
    sprintf(at, "}\nlast = 1\n");
    HcEnviHeader header;
    char **list = NULL;
    int32_t count = 0;
    parse(&header, text);
    free(text);
    assert_true(hc_envi_is_library(&header));
    assert_string_equal(hc_envi_text(&header, "last"), "1");
    assert_int_equal(hc_envi_texts(&header, "spectra names", &list, &count, NULL), HC_OK);
    assert_int_equal(count, names);
    assert_string_equal(list[names - 1], "spectrum 19999");
    hc_free_texts(list, count);
    hc_envi_clear(&header);
    char *clean = hc_envi_clean("a\x1b[31m\xB5m \xC2\xB5\n\n\xC2\x85 z\xFF\xE2\x82");
    assert_string_equal(clean, "a [31m\xC2\xB5m \xC2\xB5 z\xC3\xBF\xC3\xA2");
    free(clean);
}

/* Every prefix and many changed bytes of a header parse or are refused, without harm (run under a sanitizer).
 */
static void comments_in_lists(void **state) {
    (void)state;
    HcEnviHeader header;
    HcError err = {0};
    double *values = NULL;
    int32_t count = 0;
    parse(&header,
          "ENVI\n" SHAPE "wavelength = {\n; before {\n450, 550,\r\n \t; water, } = 3\n650;\n;last\n}\n"
          "band names = {a;1, b\n;c, d\n}\n");
    assert_int_equal(hc_envi_numbers(&header, "wavelength", &values, &count, &err), HC_E_INPUT);
    assert_non_null(strstr(err.text, "650;")); /* elsewhere a semicolon is a letter */
    assert_string_equal(hc_envi_text(&header, "band names"), "a;1, b");
    hc_envi_clear(&header);
    free(values);
    values = NULL;
    parse(&header, "ENVI\nwavelength = {\n; before {\n450, 550,\r\n \t; water, } = 3\n650\n;last\n}\n");
    assert_int_equal(hc_envi_numbers(&header, "wavelength", &values, &count, &err), HC_OK);
    assert_int_equal(count, 3);
    assert_true(values[0] == 450 && values[2] == 650);
    hc_envi_clear(&header);
    free(values);
}

static void utf_16_is_named(void **state) {
    (void)state;
    static const char *const texts[] = {("\xFF\xFE"
                                         "E\0N\0V\0I\0\n"),
                                        "\xFE\xFF\0E\0N\0V\0I", "E\0N\0V\0I\0\n\0", "\0E\0N\0V\0I\0"};
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++) {
        HcEnviHeader header = {0};
        HcError err = {0};
        assert_int_equal(hc_envi_parse(&header, "a.hdr", texts[t], t < 2 ? 10 : 9, &err), HC_E_INPUT);
        assert_non_null(strstr(err.text, "an ENVI header in UTF-16"));
    }
}

static void survives_damage(void **state) {
    static const char whole[] =
        "ENVI\r\n; c\nsamples = 14\nlines=12\nbands = 10\ndata type = 2\nmap info = {UTM, 1, 1}\n"
        "wavelength = {1, 2,\n 3}\nband names = {a, b}\nbbl = {1,0 , 1e0}\n";
    (void)state;
    char text[sizeof whole];
    unsigned random = 1;
    for (int round = 0; round < 20000; round++) {
        size_t bytes = sizeof whole - 1;
        memcpy(text, whole, sizeof whole);
        if (round < (int)bytes) {
            bytes = (size_t)round;
        } else {
            for (int k = 0; k < 3; k++) {
                random = random * 1664525u + 1013904223u;
                text[4 + (random >> 16) % (bytes - 4)] = (char)(random >> 8);
            }
        }
        char *exact = malloc(bytes + 1);
        memcpy(exact, text, bytes);
        HcEnviHeader header = {0};
        HcEnviShape shape;
        if (hc_envi_parse(&header, "a.hdr", exact, bytes, NULL) == HC_OK) {
            double *numbers = NULL;
            char **texts = NULL;
            int32_t n = 0;
            (void)!hc_envi_shape(&header, &shape, NULL);
            (void)!hc_envi_numbers(&header, "wavelength", &numbers, &n, NULL);
            free(numbers);
            (void)!hc_envi_texts(&header, "band names", &texts, &n, NULL);
            hc_free_texts(texts, n);
        }
        hc_envi_clear(&header);
        free(exact);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tolerates_real_headers),
        cmocka_unit_test(knows_every_type),
        cmocka_unit_test(refuses_what_would_be_a_guess),
        cmocka_unit_test(gives_lists),
        cmocka_unit_test(comments_in_lists),
        cmocka_unit_test(utf_16_is_named),
        cmocka_unit_test(long_values_and_odd_bytes),
        cmocka_unit_test(survives_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
