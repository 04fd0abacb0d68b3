/* Linear programs: MPS in both formats is read as the page says, and every flaw is refused with one clear
 * line. */
#include "io/table/linear_program.h"
#include "tests/support/random.h"
#include "write_fixture.h"

#include <cpl_vsi.h>
#include <math.h>

#define INF ((double)INFINITY)

static void put_text(const char *name, const char *text) {
    put_file(in_folder(name), text);
}

static HcLpFile read_text(const char *text) {
    HcLpFile file;
    HcError err = {0};
    put_text("a.mps", text);
    check_ok(hc_lp_read(&file, in_folder("a.mps"), &err), err);
    return file;
}

/* Fails with one line that names the file and holds `part`. */
static void check_refused(const char *text, HcStatus status, const char *part) {
    HcLpFile file;
    HcError err = {0};
    put_text("a.mps", text);
    HcStatus found = hc_lp_read(&file, in_folder("a.mps"), &err);
    if (found != status || !check_holds(err.text, part) || strchr(err.text, '\n') != NULL ||
        strstr(err.text, "a.mps: ") == NULL) {
        fail_msg("status %d, \"%s\" (wanted: \"%s\") of\n%s", (int)found, err.text, part, text);
    }
    assert_null(file.start);
    assert_null(file.row_name);
    assert_null(file.column_name);
}

static void check_list(const double *found, const double *wanted, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        check_same(found[i], wanted[i]);
    }
}

static double entry(const HcLpFile *file, int32_t row, int32_t column) {
    double value = 0;
    int found = 0;
    for (int64_t e = file->program.start[column]; e < file->program.start[column + 1]; e++) {
        value = file->program.row[e] == row ? file->program.value[e] : value;
        found += file->program.row[e] == row;
    }
    assert_true(found <= 1);
    return value;
}

/* ---- what is read ---- */

static const char fixed_text[] = "* a comment\n"
                                 "NAME          TESTPROB\n"
                                 "ROWS\n"
                                 " N  COST\n"
                                 " L  LIM1\n"
                                 " G  LIM2\n"
                                 "\n"
                                 " E  MYEQN\n"
                                 "COLUMNS\n"
                                 "    XONE      COST         1.0   LIM1         1.0\n"
                                 "    XONE      LIM2         1.0\n"
                                 "* another\n"
                                 "    YTWO      COST         4.0   LIM1         1.0\n"
                                 "    YTWO      MYEQN       -1.0\n"
                                 "    ZTHREE    COST         9.0   LIM2         1.0\n"
                                 "    ZTHREE    MYEQN        1.0\n"
                                 "RHS\n"
                                 "    RHS       LIM1         4.0   LIM2         1.0\n"
                                 "    RHS       MYEQN        7.0   COST        -2.5\n"
                                 "BOUNDS\n"
                                 " UP BND       XONE         4.0\n"
                                 " LO BND       YTWO        -1.0\n"
                                 " UP BND       YTWO         1.0\n"
                                 "ENDATA\n";

static const char free_text[] =
    "NAME\tTESTPROB\r\nOBJSENSE MIN\r\nROWS\r\n N COST\r\n L LIM1\r\n G LIM2\r\n"
    "\tE\tMYEQN\r\nCOLUMNS\r\n XONE COST 1 LIM1 1e0\r\n XONE LIM2 +1.\r\n"
    " YTWO COST 4 LIM1 1\r\n YTWO MYEQN -1D0\r\n ZTHREE COST .9d+1 LIM2 1\r\n"
    " ZTHREE MYEQN 1 LIM1 0\r\nRHS\r\n LIM1 4 LIM2 1\r\n MYEQN 7\r\n COST -2.5\r\n"
    "BOUNDS\r\n UP XONE 4\r\n LO YTWO -1\r\n UP YTWO 1\r\nENDATA\r\nwhatever";

static void check_test_program(const HcLpFile *file) {
    static const double matrix[3][3] = {{1, 1, 0}, {1, 0, 1}, {0, -1, 1}};
    static const char *const rows[] = {"LIM1", "LIM2", "MYEQN"};
    static const char *const columns[] = {"XONE", "YTWO", "ZTHREE"};
    assert_int_equal(file->program.rows, 3);
    assert_int_equal(file->program.columns, 3);
    assert_int_equal(file->program.start[3], 6);
    assert_string_equal(file->name, "TESTPROB");
    assert_string_equal(file->objective, "COST");
    assert_false(file->program.maximise);
    assert_int_equal(file->note.length, 0);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(file->row_name[i], rows[i]);
        assert_string_equal(file->column_name[i], columns[i]);
        for (int j = 0; j < 3; j++) {
            check_same(entry(file, i, j), matrix[i][j]);
        }
    }
    check_same(file->constant, 2.5);
    check_list(file->program.cost, (const double[]){1, 4, 9}, 3);
    check_list(file->program.lower, (const double[]){0, -1, 0}, 3);
    check_list(file->program.upper, (const double[]){4, 1, INF}, 3);
    check_list(file->program.row_lower, (const double[]){-INF, 1, 7}, 3);
    check_list(file->program.row_upper, (const double[]){4, INF, 7}, 3);
}

static void both_formats_are_read(void **state) {
    (void)state;
    const char *const texts[] = {fixed_text, free_text};
    for (int t = 0; t < 2; t++) {
        HcLpFile file = read_text(texts[t]);
        check_test_program(&file);
        hc_lp_clear(&file);
        hc_lp_clear(&file);
    }
}

static void packed_files_are_read(void **state) {
    (void)state;
    HcLpFile file;
    HcError err = {0};
    char path[700];
    snprintf(path, sizeof path, "/vsigzip/%s", in_folder("packed.mps.gz"));
    VSILFILE *out = VSIFOpenL(path, "wb");
    assert_non_null(out);
    assert_int_equal(VSIFWriteL(fixed_text, 1, strlen(fixed_text), out), strlen(fixed_text));
    VSIFCloseL(out);
    check_ok(hc_lp_read(&file, in_folder("packed.mps.gz"), &err), err);
    check_test_program(&file);
    hc_lp_clear(&file);
}

/* Names with blanks exist in fixed format only. */
static void fixed_names_may_have_blanks(void **state) {
    (void)state;
    HcLpFile file = read_text("NAME\n"
                              "ROWS\n"
                              " N  MY COST\n"
                              " L  A ROW\n"
                              "COLUMNS\n"
                              "    M1        'MARKER'                 'INTORG'\n"
                              "    X 1       MY COST           1.     A ROW             2.\n"
                              "    M2        'MARKER'                 'INTEND'\n"
                              "    X 2       MY COST           3.     $ a comment\n"
                              "RHS\n"
                              "              A ROW             4.\n"
                              "BOUNDS\n"
                              " UP           X 1               5.\n"
                              " MI           X 2\n"
                              "ENDATA\n");
    assert_string_equal(file.objective, "MY COST");
    assert_string_equal(file.column_name[1], "X 2");
    assert_string_equal(file.row_name[0], "A ROW");
    check_same(entry(&file, 0, 0), 2);
    check_same(entry(&file, 0, 1), 0);
    check_list(file.program.cost, (const double[]){1, 3}, 2);
    check_list(file.program.lower, (const double[]){0, -INF}, 2);
    check_list(file.program.upper, (const double[]){5, INF}, 2);
    check_list(file.program.row_upper, (const double[]){4}, 1);
    assert_non_null(strstr(file.note.data, "1 integer column taken as continuous"));
    hc_lp_clear(&file);
    /* The format that reads more of a file says what is wrong with it. */
    check_refused("ROWS\n"
                  " N  MY COST\n"
                  "COLUMNS\n"
                  "    X 1       MY COST          1x.\n"
                  "ENDATA\n",
                  HC_E_INPUT, "line 4: '1x.' ... not a finite number");
    check_refused("ROWS\n"
                  " N  MY COST\n"
                  " L  R            x\n",
                  HC_E_INPUT, "line 3 ... ROWS in fixed format");
    check_refused("ROWS\n"
                  " N  MY COST\n"
                  " L  LONGER NAME\n",
                  HC_E_INPUT, "line 3: not in fixed format");
    check_refused("ROWS\n"
                  " N  MY COST\n"
                  "COLUMNS\n"
                  "    X 1       MY COST          1.     1MY COST\n",
                  HC_E_INPUT, "line 4: not in fixed format");
}

#define HEAD                                                                                                 \
    "NAME t\nROWS\n N c\n L l\n G g\n E e\n E f\nCOLUMNS\n x c 1 l 1\n x g 1 e 1\n x f 1\n y c 1\n z c 1\n"
#define TAIL "ENDATA\n"

static void ranges_are_read(void **state) {
    (void)state;
    HcLpFile file =
        read_text(HEAD "RHS\n r l 10 g 20\n r e 30 f 40\nRANGES\n r l -3 g 4\n r e 5 f -6\n" TAIL);
    check_list(file.program.row_lower, (const double[]){7, 20, 30, 34}, 4);
    check_list(file.program.row_upper, (const double[]){10, 24, 35, 40}, 4);
    hc_lp_clear(&file);
}

/* Each kind of bound, alone and together, and what they leave unsaid. */
static void bounds_are_read(void **state) {
    (void)state;
    static const struct {
        const char *text;
        double lower, upper;
        const char *note;
    } bounds[] = {
        {"", 0, INF, NULL},
        {" UP b x 3\n", 0, 3, NULL},
        {" UP b x 0\n", 0, 0, NULL},
        {" LO b x -3\n", -3, INF, NULL},
        {" FX b x 3\n", 3, 3, NULL},
        {" FR b x\n", -INF, INF, NULL},
        {" FR x\n", -INF, INF, NULL},
        {" FR b x 0\n", -INF, INF, NULL},
        {" FR x 0\n", -INF, INF, NULL},
        {" MI b x\n", -INF, INF, NULL},
        {" MI x\n UP x 5\n", -INF, 5, NULL},
        {" UP x 5\n MI x\n", -INF, 5, NULL},
        {" UP x 5\n PL x\n", 0, INF, NULL},
        {" UP x -5\n", -INF, -5, "1 column with a negative upper bound"},
        {" UP x -5\n LO x -9\n", -9, -5, NULL},
        {" LO x -9\n UP x -5\n", -9, -5, NULL},
        {" UP x inf\n", 0, INF, NULL},
        {" UP x 1e30\n LO x -Infinity\n", -INF, INF, NULL},
        {" BV x\n", 0, 1, "1 integer column taken as continuous"},
        {" BV b x 1\n", 0, 1, "1 integer column taken"},
        {" LI x 2\n", 2, INF, "1 integer column taken"},
        {" UI x 2\n", 0, 2, "1 integer column taken"},
        {" up x 7\n", 0, 7, NULL},
        {" UP b x 3\n UP other x 4\n", 0, 3, "only the first set"},
    };
    for (size_t b = 0; b < sizeof bounds / sizeof *bounds; b++) {
        char text[600];
        snprintf(text, sizeof text, HEAD "BOUNDS\n%s" TAIL, bounds[b].text);
        HcLpFile file = read_text(text);
        check_same(file.program.lower[0], bounds[b].lower);
        check_same(file.program.upper[0], bounds[b].upper);
        check_same(file.program.lower[1], 0);
        check_same(file.program.upper[1], INF);
        if (bounds[b].note == NULL) {
            assert_int_equal(file.note.length, 0);
        } else {
            assert_non_null(strstr(file.note.data, bounds[b].note));
        }
        hc_lp_clear(&file);
    }
}

static void the_rest_is_read(void **state) {
    (void)state;
    HcLpFile file = read_text("NAME a long name \nOBJSENSE\n    Maximize\nROWS\n n c\n l l\n N more\n"
                              "COLUMNS\n MARKER 'MARKER' 'INTORG'\n i c 1 l 1\n j more 5 l 2\n"
                              " MARKER 'MARKER' 'INTEND'\n x c 2\nRHS\n r l 1 more 7\n r c 3\n s l 9\n"
                              "BOUNDS\n UP b j 4\n" TAIL);
    assert_true(file.program.maximise);
    assert_string_equal(file.name, "a long name");
    assert_int_equal(file.program.rows, 1);
    assert_int_equal(file.program.columns, 3);
    check_same(file.constant, -3);
    check_list(file.program.cost, (const double[]){1, 0, 2}, 3);
    check_list(file.program.upper, (const double[]){1, 4, INF}, 3);
    check_list(file.program.row_upper, (const double[]){1}, 1);
    assert_string_equal(
        file.note.data,
        "2 integer columns taken as continuous; 1 integer column without bounds taken as from "
        "0 to 1; 1 row of type N after the objective left out; only the first set of RHS, "
        "RANGES and BOUNDS is used");
    hc_lp_clear(&file);
    file = read_text("ROWS\n N c\nCOLUMNS\n x c 1\nENDATA"); /* no rows, no name, no end of line */
    assert_int_equal(file.program.rows, 0);
    assert_int_equal(file.program.start[1], 0);
    assert_non_null(file.program.row);
    assert_non_null(file.program.value);
    assert_string_equal(file.name, "");
    hc_lp_clear(&file);
}

/* As many names as make the tables grow, each found again. */
static void many_names_are_told_apart(void **state) {
    (void)state;
    enum { COUNT = 5000 };
    HcText text = {0};
    hc_text_add(&text, "NAME\nROWS\n N c\n");
    for (int i = 0; i < COUNT; i++) {
        hc_text_add(&text, " L row%d\n", i);
    }
    hc_text_add(&text, "COLUMNS\n");
    for (int i = 0; i < COUNT; i++) {
        hc_text_add(&text, " column%d row%d %d row%d 1\n", i, COUNT - 1 - i, i + 1,
                    i * 2 + 1 == COUNT ? 0 : i);
    }
    hc_text_add(&text, "BOUNDS\n");
    for (int i = COUNT - 1; i >= 0; i--) {
        hc_text_add(&text, " UP b column%d %d\n", i, i);
    }
    hc_text_add(&text, "ENDATA\n");
    HcLpFile file = read_text(text.data);
    assert_int_equal(file.program.rows, COUNT);
    for (int32_t i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "column%d", (int)i);
        assert_string_equal(file.column_name[i], name);
        check_same(entry(&file, COUNT - 1 - i, i), i + 1);
        check_same(file.program.upper[i], i);
    }
    hc_lp_clear(&file);
    hc_text_clear(&text);
}

/* ---- what is refused ---- */

static void flaws_are_refused(void **state) {
    (void)state;
    static const struct {
        const char *text;
        HcStatus status;
        const char *part;
    } flaws[] = {
        {"", HC_E_INPUT, "ends in line 0 without ENDATA"},
        {HEAD, HC_E_INPUT, "ends in line 13 without ENDATA"},
        {"ROWS\n N c\nENDATA\n", HC_E_INPUT, "line 3: ENDATA comes before"},
        {"ROWS\n N c\nCOLUMNS\nENDATA\n", HC_E_INPUT, "has no columns"},
        {"ROWS\n L l\nCOLUMNS\n x l 1\nENDATA\n", HC_E_INPUT, "has no row of type N"},
        {" x c 1\n", HC_E_INPUT, "line 1: data before the first section"},
        {"NAME\n x c 1\n", HC_E_INPUT, "line 2: data before the first section"},
        {"COLUMNS\n", HC_E_INPUT, "line 1: COLUMNS comes before"},
        {"ROWS\nRHS\n", HC_E_INPUT, "line 2: RHS comes before"},
        {HEAD "ROWS\n" TAIL, HC_E_INPUT, "line 14: ROWS is there twice"},
        {HEAD "QUADOBJ\n x x 1\n" TAIL, HC_E_UNSUPPORTED, "line 14: no section ... 'QUADOBJ'"},
        {HEAD "SOS\n" TAIL, HC_E_UNSUPPORTED, "'SOS'"},
        {"hello", HC_E_UNSUPPORTED, "'hello'"},
        {"OBJSENSE\n UP\n" TAIL, HC_E_INPUT, "line 2: OBJSENSE 'UP' ... MAX or MIN"},
        {"ROWS\n X c\n", HC_E_INPUT, "line 2: 'X' ... no type of row"},
        {"ROWS\n NN c\n", HC_E_INPUT, "line 2: 'NN' ... no type of row"},
        {"ROWS\n N\n", HC_E_INPUT, "line 2: 1 fields ... line of ROWS"},
        {"ROWS\n N a b c\n", HC_E_INPUT, "line 2: 4 fields ... line of ROWS"},
        {"ROWS\n N c\n L c\n", HC_E_INPUT, "line 3: row c is there twice"},
        {HEAD " w nothing 1\n" TAIL, HC_E_INPUT, "line 14: there is no row nothing"},
        {HEAD " w l 1 l 2\n" TAIL, HC_E_INPUT, "line 14: column w ... row l twice"},
        {HEAD " w c 1 c 2\n" TAIL, HC_E_INPUT, "column w has row c twice"},
        {HEAD " x l 1\n" TAIL, HC_E_INPUT, "line 14: column x is there twice"},
        {HEAD " w l\n" TAIL, HC_E_INPUT, "line 14: 2 fields ... line of COLUMNS"},
        {HEAD " w l 1 g\n" TAIL, HC_E_INPUT, "4 fields do not make"},
        {HEAD " w l 1 g 2 e 3\n" TAIL, HC_E_INPUT, "7 fields do not make"},
        {HEAD " w l 1x\n" TAIL, HC_E_INPUT, "line 14: '1x' ... not a finite number"},
        {HEAD " w l nan\n" TAIL, HC_E_INPUT, "'nan' is not"},
        {HEAD " w l inf\n" TAIL, HC_E_INPUT, "'inf' is not"},
        {HEAD " w l 1e999\n" TAIL, HC_E_INPUT, "'1e999' is not"},
        {HEAD " w l 0x10\n" TAIL, HC_E_INPUT, "'0x10' is not"},
        {HEAD " m 'MARKER' 'INTORG'\n" TAIL, HC_E_INPUT, "'INTORG' without 'INTEND'"},
        {HEAD " m 'MARKER' 'INTEND'\n" TAIL, HC_E_INPUT, "line 14: a marker 'INTEND'"},
        {HEAD " m 'MARKER' 'SOSORG'\n" TAIL, HC_E_INPUT, "a marker 'SOSORG'"},
        {HEAD "RHS\n r nothing 1\n" TAIL, HC_E_INPUT, "line 15: there is no row nothing"},
        {HEAD "RHS\n r l inf\n" TAIL, HC_E_INPUT, "'inf' is not a finite number"},
        {HEAD "RHS\n r l 1 l 2\n" TAIL, HC_E_INPUT, "line 15: row l ... RHS twice"},
        {HEAD "RHS\n r\n" TAIL, HC_E_INPUT, "1 fields ... line of RHS"},
        {HEAD "RANGES\n r l 1 l 2\n" TAIL, HC_E_INPUT, "row l is in RANGES twice"},
        {HEAD "RANGES\n r c 1\n" TAIL, HC_E_INPUT, "a range of the objective"},
        {HEAD "BOUNDS\n UP b nothing 1\n" TAIL, HC_E_INPUT, "line 15: there is no column nothing"},
        {HEAD "BOUNDS\n UP b x\n" TAIL, HC_E_INPUT, "there is no column b"},
        {HEAD "BOUNDS\n UP x\n" TAIL, HC_E_INPUT, "2 fields ... line of BOUNDS"},
        {HEAD "BOUNDS\n FR\n" TAIL, HC_E_INPUT, "1 fields do not make"},
        {HEAD "BOUNDS\n UP b x 1 2\n" TAIL, HC_E_INPUT, "5 fields do not make"},
        {HEAD "BOUNDS\n ZZ b x 1\n" TAIL, HC_E_INPUT, "'ZZ' is no bound"},
        {HEAD "BOUNDS\n SC b x 1\n" TAIL, HC_E_UNSUPPORTED, "'SC' is no bound"},
        {HEAD "BOUNDS\n UP b x nan\n" TAIL, HC_E_INPUT, "'nan' is not a number"},
        {HEAD "BOUNDS\n UP b x -1e30\n" TAIL, HC_E_INPUT, "column x is bounded by -1e30"},
        {HEAD "BOUNDS\n LO b x inf\n" TAIL, HC_E_INPUT, "column x is bounded by inf"},
        {HEAD "BOUNDS\n FX b x 1e31\n" TAIL, HC_E_INPUT, "column x is bounded by 1e31"},
        {HEAD "BOUNDS\n UP b x 1\n LO b x 2\n" TAIL, HC_E_INPUT,
         "column x ... lower bound 2 ... upper one, 1"},
    };
    for (size_t f = 0; f < sizeof flaws / sizeof *flaws; f++) {
        check_refused(flaws[f].text, flaws[f].status, flaws[f].part);
    }
    HcLpFile file;
    HcError err = {0};
    check_fails(hc_lp_read(&file, in_folder("nowhere.mps"), &err), HC_E_INPUT, err);
    check_fails(hc_lp_read(&file, in_folder("nowhere.mps.gz"), &err), HC_E_INPUT, err);
    put_text("bad.mps.gz", "this is not gzip");
    assert_int_not_equal(hc_lp_read(&file, in_folder("bad.mps.gz"), &err), HC_OK);
    FILE *out = fopen(in_folder("zero.mps"), "wb");
    assert_int_equal(fwrite("ROWS\n\0N", 1, 7, out), 7);
    fclose(out);
    err = (HcError){0};
    check_fails(hc_lp_read(&file, in_folder("zero.mps"), &err), HC_E_INPUT, err);
}

/* Files that end anywhere are refused (before ENDATA), and files with wrong bytes are read or refused. */
static void cut_and_broken_files_are_refused(void **state) {
    (void)state;
    const char *const texts[] = {fixed_text, free_text};
    static const char others[] = " \n9A'-$*\xff";
    int32_t read = 0, refused = 0;
    uint64_t seed = 1;
    for (int t = 0; t < 2; t++) {
        size_t length = strlen(texts[t]);
        size_t end = (size_t)(strstr(texts[t], "ENDATA") - texts[t]);
        char *text = strdup(texts[t]);
        for (size_t keep = 0; keep < end + 6; keep += keep < 100 || keep > end - 60 ? 1 : 7) {
            text[keep] = '\0';
            /* What is left of a section's word is that of no section. */
            HcLpFile file;
            HcError err = {0};
            put_text("a.mps", text);
            HcStatus status = hc_lp_read(&file, in_folder("a.mps"), &err);
            assert_true(status == HC_E_INPUT || status == HC_E_UNSUPPORTED);
            assert_non_null(strstr(err.text, "a.mps: "));
            assert_null(file.column_name);
            text[keep] = texts[t][keep];
        }
        for (int turn = 0; turn < 1500; turn++) {
            memcpy(text, texts[t], length);
            for (int change = 0; change < 1 + turn % 4; change++) {
                size_t at = random_bits(&seed) % length;
                text[at] = others[random_bits(&seed) % (sizeof others - 1)];
            }
            HcLpFile file;
            HcError err = {0};
            put_text("a.mps", text);
            HcStatus status = hc_lp_read(&file, in_folder("a.mps"), &err);
            assert_true((status == HC_OK) == (err.text[0] == '\0'));
            assert_true(status == HC_OK || file.start == NULL);
            read += status == HC_OK;
            refused += status != HC_OK;
            hc_lp_clear(&file);
        }
        free(text);
    }
    assert_true(read > 100 && refused > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_formats_are_read),
        cmocka_unit_test(packed_files_are_read),
        cmocka_unit_test(fixed_names_may_have_blanks),
        cmocka_unit_test(ranges_are_read),
        cmocka_unit_test(bounds_are_read),
        cmocka_unit_test(the_rest_is_read),
        cmocka_unit_test(many_names_are_told_apart),
        cmocka_unit_test(flaws_are_refused),
        cmocka_unit_test(cut_and_broken_files_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
