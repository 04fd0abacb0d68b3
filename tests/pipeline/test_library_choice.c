/* Which entries of a library are used: by name, by list, by pattern; and what is said of the others. */
#include "pipeline/spectra/library/choice.h"
#include "tests/support/scene_files.h"

#include <stdio.h>
#include <stdlib.h>

/* Nine entries on three bands: six spectra, and what splib07 has beside them. */
static const char nine[] = "name,400,410,420\n"
                           "Wavelengths,0.40,0.41,0.42\n"
                           "\"Oak leaf, dry\",0.1,0.2,0.3\n"
                           "errorbars to preceding spectrum,-8e29,0.01,0.01\n"
                           "Oak bark,0.2,0.3,0.4\n"
                           "errorbars to preceding spectrum,0.01,0.01,0.01\n"
                           "Kaolinite CM9,0.5,-8.1e29,0.4\n"
                           "Kaolinite KGa-1,0.6,0.6,0.5\n"
                           "7,0.7,0.7,0.7\n"
                           "Resolution,0.01,0.01,0.01\n";

typedef struct Chosen {
    HcStatus status;
    HcError err;
    HcLibrary library;
    char *note;
} Chosen;

static Chosen choose(const char *text, const char *spectra, bool all) {
    Chosen chosen = {0};
    HcLibraryChoice choice = {.spectra = spectra, .all = all};
    HcError err = {0};
    file_write("nine.csv", text);
    check_ok(hc_library_read(&chosen.library, "nine.csv", &err), err);
    chosen.status =
        hc_library_choose(&chosen.library, "nine.csv", &choice, "unmix", &chosen.note, &chosen.err);
    return chosen;
}

static void clear(Chosen *chosen) {
    free(chosen->note);
    hc_library_clear(&chosen->library);
}

/* The entries that stay, by their numbers from 0, as digits. */
static void check_chosen(const char *spectra, bool all, const char *numbers) {
    Chosen chosen = choose(nine, spectra, all);
    char found[20] = "";
    check_ok(chosen.status, chosen.err);
    for (int32_t i = 0; i < chosen.library.count; i++) {
        found[i] = (char)('0' + (chosen.library.number != NULL ? chosen.library.number[i] : i));
    }
    if (strcmp(found, numbers) != 0) {
        fail_msg("--spectra %s: %s instead of %s", spectra, found, numbers);
    }
    assert_int_equal(chosen.library.entries, 9);
    clear(&chosen);
}

static void check_note(const char *text, const char *spectra, bool all, const char *note) {
    Chosen chosen = choose(text, spectra, all);
    check_ok(chosen.status, chosen.err);
    if (note == NULL) {
        assert_null(chosen.note);
    } else {
        assert_non_null(chosen.note);
        assert_string_equal(chosen.note, note);
    }
    clear(&chosen);
}

static void check_refused(const char *text, const char *spectra, HcStatus status, const char *part) {
    Chosen chosen = choose(text, spectra, false);
    if (chosen.status != status || !check_holds(chosen.err.text, part)) {
        fail_msg("--spectra %s: status %d, \"%s\" (wanted: \"%s\")", spectra, (int)chosen.status,
                 chosen.err.text, part);
    }
    clear(&chosen);
}

static void names_leave_out_what_is_no_spectrum(void **state) {
    (void)state;
    check_chosen(NULL, false, "13567");
    check_chosen(NULL, true, "012345678");
    check_note(nine, NULL, false,
               "nine.csv: left out by name: 4 of 9 entries (2 error bars, 1 wavelengths, 1 widths of bands) "
               "(--all-spectra takes them); 1 value in 1 entry stands far outside of the others "
               "(-8.1e+29) and counts as missing");
    check_note(nine, NULL, true,
               "nine.csv: 2 values in 2 entries stand far outside of the others (-8.1e+29 to -8e+29) and "
               "count as missing");
    check_note("nm,a,b\n400,0.1,0.2\n", NULL, false, NULL);
    check_note("nm,a,Resolution\n400,0.1,0.2\n", NULL, false,
               "nine.csv: left out by name: 1 of 2 entries (1 widths of bands) (--all-spectra takes them)");
    check_refused("nm,Wavelengths,Resolution\n400,0.1,0.2\n", NULL, HC_E_INPUT,
                  "nine.csv: holds no spectrum ... 2 of 2");
}

static void lists_choose(void **state) {
    (void)state;
    check_chosen("2", false, "1");
    check_chosen("7,2", false, "16"); /* the order of the library */
    check_chosen("2-6", false, "135");
    check_chosen("2-6", true, "12345");
    check_chosen(" 1-9 , 2", false, "13567");
    check_chosen("Oak bark", false, "3");
    check_chosen("oak BARK,kaolinite cm9", false, "35");
    check_chosen("*oak*", false, "13");
    check_chosen("Kaolinite KGa-?", false, "6");
    check_chosen("[0-9]", false, "7");      /* a name that is a number */
    check_chosen("*leaf? dry", false, "1"); /* a name with a comma */
    check_chosen("*", false, "13567");
    check_chosen("err*", true, "24");
    check_chosen("[ko]*,8", false, "13567");
}

static void wrong_lists_are_refused(void **state) {
    (void)state;
    check_refused(nine, "10", HC_E_USAGE, "--spectra 10: nine.csv ... 1 to 9");
    check_refused(nine, "0", HC_E_USAGE, "has entries 1 to 9");
    check_refused(nine, "4-2", HC_E_USAGE, "--spectra 4-2");
    check_refused(nine, "99999999999", HC_E_USAGE, "no entry of nine.csv");
    check_refused(nine, "2-", HC_E_USAGE, "--spectra 2-");
    check_refused(nine, "", HC_E_USAGE, "an item of the list is empty");
    check_refused(nine, "2,", HC_E_USAGE, "an item of the list is empty");
    check_refused(nine, "Oak brak", HC_E_USAGE, "did you mean Oak bark?");
    check_refused(nine, "Quartz*", HC_E_USAGE, "no entry of nine.csv ... Wavelengths)");
    check_refused(nine, "err*,9", HC_E_USAGE, "no spectrum by its name, 3 of 3");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_leave_out_what_is_no_spectrum),
        cmocka_unit_test(lists_choose),
        cmocka_unit_test(wrong_lists_are_refused),
    };
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
