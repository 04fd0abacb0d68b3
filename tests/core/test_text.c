#include "core/allocate.h"
#include "core/text.h"
#include "tests/support/check.h"
#include "tests/support/random.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

static void test_growing(void **state) {
    (void)state;
    HcText text = {0};
    for (int i = 0; i < 1000; i++) {
        hc_text_add(&text, "%d,", i % 10);
    }
    assert_int_equal(text.length, 2000);
    char *taken = hc_text_take(&text);
    assert_int_equal(strlen(taken), 2000);
    assert_memory_equal(taken + 1990, "5,6,7,8,9,", 10);
    free(taken);
    taken = hc_text_take(&text); /* empty, but a string */
    assert_string_equal(taken, "");
    free(taken);
    hc_text_clear(&text);
    char *made = hc_text_format("%s has %d bands", "scene.hdr", 224);
    assert_string_equal(made, "scene.hdr has 224 bands");
    free(made);
}

static void check_shown(const char *text, const char *shown) {
    char *clean = hc_utf8_clean(text);
    assert_string_equal(clean, shown);
    free(clean);
}

/* What a terminal or a reader would obey is shown; letters of any script stay. */
static void test_shown(void **state) {
    (void)state;
    check_shown("a\tb\r\nc", "a b  c");
    check_shown("a\x1b]0;b\x07\x7f", "a\\x1b]0;b\\x07\\x7f");
    check_shown("\xc2\x80\xc2\x9f\xc2\xa0", "\\xc2\\x80\\xc2\\x9f\xc2\xa0");
    check_shown("\xd8\x9c\xe2\x80\x8e\xe2\x80\x8f", "\\u061c\\u200e\\u200f");
    check_shown("\xe2\x80\xaa\xe2\x80\xae\xe2\x80\xaf", "\\u202a\\u202e\xe2\x80\xaf");
    check_shown("\xe2\x81\xa5\xe2\x81\xa6\xe2\x81\xa9\xe2\x81\xaa", "\xe2\x81\xa5\\u2066\\u2069\xe2\x81\xaa");
    check_shown("\xff\xe2\x80 \xed\xa0\x80", "\\xff\\xe2\\x80 \\xed\\xa0\\x80");
    check_shown("\xd7\xa9\xe2\x80\x8d\xf0\x9f\x8c\xb2", "\xd7\xa9\xe2\x80\x8d\xf0\x9f\x8c\xb2");
}

static void check_cell(const char *name, bool quoted, const char *cell, bool guarded) {
    HcText text = {0};
    hc_text_add_cell(&text, name, quoted);
    assert_string_equal(hc_text_shown(&text), cell);
    hc_text_clear(&text);
    hc_text_add(&text, "%s%s", guarded ? "'" : "", name);
    assert_int_equal(hc_text_is_guarded(text.data),
                     guarded); /* what was added is taken off, and nothing else */
    hc_text_clear(&text);
}

static void test_cells(void **state) {
    (void)state;
    check_cell("oak", false, "oak", false);
    check_cell("oak", true, "\"oak\"", false);
    check_cell("a,\"b", false, "\"a,\"\"b\"", false);
    check_cell("=1+1", false, "'=1+1", true);
    check_cell("+x", true, "\"'+x\"", true);
    check_cell("-x", false, "'-x", true);
    check_cell("@x", false, "'@x", true);
    check_cell("  =x", false, "'  =x", true);
    check_cell("'=x", false, "''=x", true);
    check_cell("-5", false, "-5", false);
    check_cell("+1e3", false, "+1e3", false);
    check_cell("'tis", false, "'tis", false);
    check_cell("\t=x", false, "\\x09=x", false);
    check_cell("\r\n@x", false, "\\x0d\\x0a@x", false);
    check_cell("\xe2\x80\xae=x", false, "\\u202e=x", false);
}

static void test_bytes(void **state) {
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } good[] = {{"0", 0},
                {"4096", 4096},
                {"4k", 4096},
                {"4K", 4096},
                {"1.5gb", 1610612736},
                {"512MiB", 536870912},
                {"2 G", 2147483648},
                {" 7B ", 7},
                {"1T", 1099511627776},
                {"0.5 KiB", 512}};
    static const char *const bad[] = {"", "x", "-1", "4q", "4kk", "4 G x", "nan", "inf", "1e30", "G"};
    uint64_t bytes;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(hc_text_parse_bytes(good[i].text, &bytes));
        assert_true(bytes == good[i].bytes);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(hc_text_parse_bytes(bad[i], &bytes));
    }
    char buffer[32];
    assert_string_equal(hc_text_bytes(buffer, sizeof buffer, 812), "812 B");
    assert_string_equal(hc_text_bytes(buffer, sizeof buffer, 12 * 1048576.0), "12.0 MiB");
    assert_string_equal(hc_text_bytes(buffer, sizeof buffer, 1.5 * 1073741824.0), "1.5 GiB");
}

static void check_numbers(void) {
    double value;
    int64_t whole;
    assert_true(hc_text_parse_double("1.25", &value));
    check_same(value, 1.25);
    assert_true(hc_text_parse_double(" -3e2 ", &value));
    check_same(value, -300);
    assert_false(hc_text_parse_double("1,25", &value));
    assert_false(hc_text_parse_double("", &value));
    assert_false(hc_text_parse_double("1.5 x", &value));
    assert_true(hc_text_parse_int("-42", &whole));
    assert_true(whole == -42);
    assert_false(hc_text_parse_int("4.2", &whole));
    assert_false(hc_text_parse_int("", &whole));
    assert_false(hc_text_parse_int("99999999999999999999", &whole));
}

static void test_numbers(void **state) {
    (void)state;
    check_numbers();
    /* The same where a comma is the decimal point, if such a locale is installed. */
    static const char *const comma[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "fr_FR.utf8"};
    for (size_t i = 0; i < sizeof comma / sizeof *comma; i++) {
        if (setlocale(LC_ALL, comma[i]) != NULL) {
            check_numbers();
            uint64_t bytes;
            assert_true(hc_text_parse_bytes("1.5K", &bytes) && bytes == 1536);
        }
    }
    setlocale(LC_ALL, "C");
}

static void check_text(double value) {
    char text[HC_TEXT_DOUBLE];
    double back = 0;
    assert_ptr_equal(hc_text_double(text, value), text);
    assert_true(strlen(text) < 25 && strchr(text, ',') == NULL);
    assert_true(hc_text_parse_double(text, &back));
    check_same(back, value);
}

/* Doubles of all magnitudes read back as they were; few digits where few do. */
static void test_doubles(void **state) {
    (void)state;
    static const struct {
        double value;
        const char *text;
    } known[] = {{0, "0"},
                 {-0.0, "-0"},
                 {0.1, "0.1"},
                 {-9999, "-9999"},
                 {1.0 / 3, "0.3333333333333333"},
                 {1e300, "1e+300"},
                 {5e-324, "5e-324"},
                 {NAN, "nan"},
                 {-INFINITY, "-inf"}};
    uint64_t seed = 1;
    char text[HC_TEXT_DOUBLE];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        assert_string_equal(hc_text_double(text, known[i].value), known[i].text);
    }
    for (int i = 0; i < 100000; i++) {
        double value;
        uint64_t bits = random_bits(&seed);
        memcpy(&value, &bits, sizeof value);
        if (isfinite(value)) {
            check_text(value);
        }
    }
}

static void test_nearest(void **state) {
    (void)state;
    static const char *const names[] = {"read", "write", "preview", "components", "mnf", NULL};
    assert_int_equal(hc_text_find("READ", names), 0);
    assert_int_equal(hc_text_find("raed", names), -1);
    assert_int_equal(hc_text_find(NULL, names), -1);
    assert_string_equal(hc_text_nearest("raed", names), "read");
    assert_string_equal(hc_text_nearest("componets", names), "components");
    assert_string_equal(hc_text_nearest("mnff", names), "mnf");
    assert_string_equal(hc_text_nearest("mnf", names), "mnf");
    assert_null(hc_text_nearest("elephant", names));
    char word[200];
    memset(word, 'x', sizeof word - 1);
    word[sizeof word - 1] = '\0';
    assert_null(hc_text_nearest(word, names));
    const char *const longer[] = {word, NULL};
    assert_null(hc_text_nearest("read", longer));
}

static void test_comparing(void **state) {
    (void)state;
    assert_true(hc_text_equal("BIL", "bil"));
    assert_false(hc_text_equal("bil", "bile"));
    assert_false(hc_text_equal("bile", "bil"));
    assert_true(hc_text_ends_with("Scene.HDR", ".hdr"));
    assert_false(hc_text_ends_with("hdr", ".hdr"));
    assert_true(hc_text_ends_with("x", ""));
}

/* One line, the first failure wins, no newline. */
static void test_error(void **state) {
    (void)state;
    HcError err = {0};
    assert_int_equal(hc_fail(&err, HC_E_INPUT, "first\nsecond\t%d\n", 3), HC_E_INPUT);
    assert_string_equal(err.text, "first second 3");
    assert_int_equal(hc_fail(&err, HC_E_IO, "later"), HC_E_IO);
    assert_string_equal(err.text, "first second 3");
    assert_int_equal(err.status, HC_E_INPUT);
    assert_int_equal(hc_fail(NULL, HC_E_IO, "nobody listens"), HC_E_IO);
    err = (HcError){0};
    assert_int_equal(hc_fail_memory(&err, 3 * 1048576.0, "a test"), HC_E_MEMORY);
    assert_string_equal(err.text, "out of memory: 3.0 MiB for a test");
    err = (HcError){0};
    assert_int_equal(hc_fail_memory(&err, 40, "a word"), HC_E_MEMORY);
    assert_string_equal(err.text, "out of memory: 40 bytes for a word");
    err = (HcError){0};
    assert_int_equal(hc_fail_memory(&err, 0, "a path"), HC_E_MEMORY);
    assert_string_equal(err.text, "out of memory: no room for a path");
}

/* Memory for vector units, also for no element; a count that overflows is no small allocation. */
static void test_aligned(void **state) {
    (void)state;
    for (size_t count = 0; count < 20; count++) {
        HcError err = {0};
        double *values = NULL;
        assert_int_equal(hc_new_aligned(values, count, "a test", &err), HC_OK);
        assert_int_equal((uintptr_t)values % 64, 0);
        memset(values, 1, count * sizeof *values);
        free(values);
    }
    HcError err = {0};
    double *values = NULL;
    assert_int_equal(hc_new_aligned(values, SIZE_MAX / 8 + 1, "a test", &err), HC_E_MEMORY);
    assert_null(values);
    assert_non_null(strstr(err.text, "for a test"));
}

static void test_secrets(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"what? a@b", "what? a@b"},
        {"/data/what?.img", "/data/what?.img"},
        {"https://h/a.tif?sig=x", "https://h/a.tif"},
        {"/vsicurl/https://h/a.tif?sig=x: is broken", "/vsicurl/https://h/a.tif: is broken"},
        {"/vsicurl/https://h:80/a.tif?d=1:2/3.4&e=5", "/vsicurl/https://h:80/a.tif"},
        {"HDF5:\"/vsis3/b/a.h5?x\"://cube", "HDF5:\"/vsis3/b/a.h5\"://cube"},
        {"read https://u:p@h/a?x ! mask --from=https://v@h/b?y",
         "read https://h/a ! mask --from=https://h/b"},
        {"(https://h/a?x)", "(https://h/a)"},
        {"https://h/a?", "https://h/a"},
        {"?", "?"},
        {"", ""}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char text[100];
        snprintf(text, sizeof text, "%s", cases[c][0]);
        hc_text_hide_secrets(text);
        assert_string_equal(text, cases[c][1]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_growing), cmocka_unit_test(test_shown),     cmocka_unit_test(test_cells),
        cmocka_unit_test(test_bytes),   cmocka_unit_test(test_numbers),   cmocka_unit_test(test_doubles),
        cmocka_unit_test(test_nearest), cmocka_unit_test(test_comparing), cmocka_unit_test(test_error),
        cmocka_unit_test(test_aligned), cmocka_unit_test(test_secrets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
