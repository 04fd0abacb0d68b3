#include "pipeline/option/option.h"
#include "pipeline/stage.h"
#include "pipeline/statistics/sums.h"
#include "tests/support/check.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Params {
    bool flag;
    int64_t whole;
    double real;
    uint64_t size;
    const char *text, *first, *second;
    int32_t choice;
    HcOptionList list;
} Params;

static const char *const words_of_choice[] = {"red", "green", NULL};

static const HcOption table[] = {
    {HC_TEXT(Params, first), .value = "FIRST", .positional = true, .required = true, .help = "h"},
    {HC_FLAG(Params, flag), .letter = 'f', .help = "h"},
    {HC_INT(Params, whole), .letter = 'k', .range = {-10, 10}, .initial = 7, .value = "N", .help = "h"},
    {HC_REAL(Params, real), .range = {0, 1}, .initial = 0.5, .value = "X", .help = "h"},
    {HC_SIZE(Params, size), .otherwise = "what is free", .value = "SIZE", .help = "h"},
    {HC_TEXT(Params, text), .standard = "usual", .value = "T", .help = "h"},
    {HC_CHOICE(Params, choice), .choices = words_of_choice, .help = "h"},
    {HC_LIST(Params, list), .value = "L", .help = "h"},
    {HC_TEXT(Params, second), .value = "SECOND", .positional = true, .help = "h"},
    {0}};

enum { WORDS_MAX = 80 };

/* Parses words separated by one blank each. The texts in params point into `buffer`. */
static HcStatus parse(Params *params, char *buffer, const char *line, HcError *err) {
    const char *words[WORDS_MAX];
    int32_t count = 0;
    memcpy(buffer, line, strlen(line) + 1);
    for (char *word = strtok(buffer, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(count < WORDS_MAX);
        words[count++] = word;
    }
    hc_options_reset(table, params);
    HcOptionSet set = {.table = table, .params = params};
    return hc_options_parse("test", &set, 1, words, count, err);
}

static void values_of_every_kind(void **state) {
    (void)state;
    Params p;
    char buffer[1024];
    HcError err = {0};
    check_ok(parse(&p, buffer, "a", &err), err);
    assert_string_equal(p.first, "a");
    assert_true(!p.flag && p.whole == 7 && p.size == 0 && p.second == NULL);
    assert_string_equal(p.text, "usual");
    assert_true(p.choice == -1 && p.list.count == 0);
    check_same(p.real, 0.5);
    check_ok(parse(&p, buffer,
                   "a -f -k -3 --real=0.25 --size 1.5M --text --x --choice GREEN --list a --list=b c", &err),
             err);
    assert_true(p.flag && p.whole == -3 && p.size == 3 << 19 && p.choice == 1 && p.list.count == 2);
    check_same(p.real, 0.25);
    assert_string_equal(p.text, "--x");
    assert_string_equal(p.list.item[0], "a");
    assert_string_equal(p.list.item[1], "b");
    assert_null(p.list.item[2]);
    assert_string_equal(p.second, "c");
    check_ok(parse(&p, buffer, "--first a -- --flag", &err), err);
    assert_string_equal(p.second, "--flag");
    check_ok(parse(&p, buffer, "--text= a", &err), err);
    assert_string_equal(p.text, "");
    check_ok(parse(&p, buffer, "-5", &err), err); /* a number is no option */
    assert_string_equal(p.first, "-5");
}

static void mistakes_are_named(void **state) {
    (void)state;
    static const struct {
        const char *line, *part;
    } cases[] = {
        {"", "FIRST is missing"},
        {"a --wole 3", "--wole: unknown option, did you mean --whole?"},
        {"a --wole=3", "did you mean --whole?"},
        {"a --xyzzyxyzzy", "unknown option"},
        {"a -x", "unknown option"},
        {"a --whole", "--whole needs a value (N)"},
        {"a --choice", "--choice needs a value (red | green)"},
        {"a --whole 3.5", "--whole 3.5: not a whole number"},
        {"a --whole 3x", "not a whole number"},
        {"a --whole 99999999999999999999", "not a whole number"},
        {"a --whole 11", "must lie between -10 and 10"},
        {"a --whole -11", "must lie between -10 and 10"},
        {"a --real 1.01", "must lie between 0 and 1"},
        {"a --real nan", "--real nan"},
        {"a --real inf", "--real inf"},
        {"a --real x", "--real x: not a number"},
        {"a --size 0", "not a size"},
        {"a --size -1", "not a size"},
        {"a --size 3Q", "not a size"},
        {"a --size 99999999999G", "not a size"},
        {"a --choice blue", "must be one of red, green"},
        {"a --flag=yes", "--flag takes no value"},
        {"a b c", "c: one word too many"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Params p;
        char buffer[1024];
        HcError err = {0};
        HcStatus status = parse(&p, buffer, cases[i].line, &err);
        if (status != HC_E_USAGE || !check_holds(err.text, cases[i].part) ||
            strncmp(err.text, "test: ", 6) != 0) {
            fail_msg("\"%s\": status %d, \"%s\" (wanted \"%s\")", cases[i].line, (int)status, err.text,
                     cases[i].part);
        }
    }
}

typedef struct FlagParams {
    bool overwrite;
} FlagParams;

static const HcOption flag_table[] = {{HC_FLAG(FlagParams, overwrite), .help = "replace files"}, {0}};

static void flags_take_no_value(void **state) {
    (void)state;
    static const char *const words[] = {"--overwrite", "--overwrite=any", "--overwrite="};
    for (size_t w = 0; w < 3; w++) {
        HcError err = {0};
        FlagParams params = {.overwrite = true};
        HcOptionSet set = {.table = flag_table, .params = &params};
        hc_options_reset(flag_table, &params);
        assert_false(params.overwrite);
        HcStatus status = hc_options_parse("test", &set, 1, &words[w], 1, &err);
        assert_int_equal(status, w == 0 ? HC_OK : HC_E_USAGE);
        assert_true(w == 0 ? params.overwrite : strstr(err.text, "takes no value") != NULL);
    }
    /* The word behind it is another one. */
    const char *const two[] = {"--overwrite", "any"};
    HcError err = {0};
    FlagParams params = {0};
    HcOptionSet set = {.table = flag_table, .params = &params};
    assert_int_equal(hc_options_leading(&set, 1, two, 2), 1);
    check_fails(hc_options_parse("test", &set, 1, two, 2, &err), HC_E_USAGE, err);
    HcText help = {0};
    hc_option_forms(&flag_table[0], &help);
    assert_string_equal(help.data, "--overwrite");
    hc_text_clear(&help);
}

typedef struct AloneParams {
    const char *map, *output;
} AloneParams;

static const char by_itself[] = "itself";

static const HcOption alone_table[] = {{HC_TEXT(AloneParams, map), .file = HC_FILE_READ, .value = "FILE",
                                        .alone = by_itself, .help = "make a map"},
                                       {HC_TEXT(AloneParams, output), .positional = true, .help = "h"},
                                       {0}};

static HcStatus count_files(const char *path, void *user, HcError *err) {
    (void)err;
    assert_string_equal(path, "itself");
    (*(int *)user)++;
    return HC_OK;
}

/* A text that may be given alone: the word behind it is another one, and no file is meant. */
static void texts_may_stand_alone(void **state) {
    (void)state;
    const char *const words[] = {"--map", "out"}, *const named[] = {"--map=itself", "out"};
    AloneParams params;
    HcError err = {0};
    HcOptionSet set = {.table = alone_table, .params = &params};
    int files = 0;
    hc_options_reset(alone_table, &params);
    assert_true(params.map == NULL && hc_option_is_unset(&alone_table[0], &params));
    check_ok(hc_options_parse("test", &set, 1, words, 2, &err), err);
    assert_ptr_equal(params.map, by_itself);
    assert_string_equal(params.output, "out");
    assert_int_equal(hc_options_leading(&set, 1, words, 2), 1);
    check_ok(hc_options_files(&set, HC_FILE_READ, count_files, &files, &err), err);
    assert_int_equal(files, 0);
    hc_options_reset(alone_table, &params);
    check_ok(hc_options_parse("test", &set, 1, named, 2, &err), err);
    assert_string_equal(params.map, "itself");
    assert_ptr_not_equal(params.map, by_itself);
    check_ok(hc_options_files(&set, HC_FILE_READ, count_files, &files, &err), err);
    assert_int_equal(files, 1); /* a file of that name */
    HcText help = {0};
    hc_option_forms(&alone_table[0], &help);
    assert_string_equal(help.data, "--map[=FILE]");
    hc_text_clear(&help);
}

/* ---- ranges and defaults ---- */

/* What help says of the options of a table, a line each. */
static void add_help(const HcOption *rows, HcText *to) {
    HC_EACH_OPTION(option, rows) {
        HcText forms = {0};
        HcText meaning = {0};
        hc_option_forms(option, &forms);
        hc_option_meaning(option, &meaning);
        hc_text_add(to, "  %-28s  %s\n", forms.data, meaning.data);
        hc_text_clear(&forms);
        hc_text_clear(&meaning);
    }
}

typedef struct Numbers {
    int64_t whole, big;
    double any, ratio, price, share, half, low, unset;
    uint64_t size;
} Numbers;

static const HcOption number_table[] = {
    {HC_INT(Numbers, whole), .range = {1, 64}, .otherwise = "half", .value = "N", .help = "whole"},
    {HC_INT(Numbers, big), .range = {0, 9007199254740992}, .initial = 1000000, .value = "N", .help = "big"},
    {HC_REAL(Numbers, any), .value = "X", .help = "any"},
    {HC_REAL(Numbers, ratio, "the-ratio"), .range = {0, 1}, .open = HC_OPEN_BOTH, .initial = 0.25,
     .value = "X", .help = "ratio"},
    {HC_REAL(Numbers, price), .range = {0, INFINITY}, .initial = INFINITY, .otherwise = "none", .unit = "nm",
     .value = "X", .help = "price"},
    {HC_REAL(Numbers, share), .range = {0, 1}, .open = HC_OPEN_LOW, .initial = 1e-9, .value = "X",
     .help = "share"},
    {HC_REAL(Numbers, half), .range = {0, 1e30}, .open = HC_OPEN_HIGH, .initial = 1, .value = "X",
     .help = "half"},
    {HC_REAL(Numbers, low), .range = {-INFINITY, 5}, .initial = 5, .value = "X", .help = "low"},
    {HC_REAL(Numbers, unset), .range = {0, 1}, .initial = NAN, .otherwise = "by chance", .value = "X",
     .help = "unset"},
    {HC_SIZE(Numbers, size), .initial = 4096, .otherwise = "little", .value = "SIZE", .help = "size"},
    {0}};

static HcStatus parse_number(Numbers *numbers, const char *word, HcError *err) {
    HcOptionSet set = {.table = number_table, .params = numbers};
    hc_options_reset(number_table, numbers);
    return hc_options_parse("test", &set, 1, &word, word != NULL, err);
}

static void ends_of_a_range_are_in_it_or_not(void **state) {
    (void)state;
    static const char *const inside[] = {"--whole=1",   "--whole=64",       "--big=9007199254740992",
                                         "--any=-inf",  "--the-ratio=1e-9", "--price=0",
                                         "--price=inf", "--share=1",        "--half=0",
                                         "--low=-inf",  "--low=5",          "--unset=0"};
    static const struct {
        const char *word, *message;
    } outside[] = {{"--whole=0", "--whole 0 ... 1 and 64"},
                   {"--whole=65", "--whole 65 ... 1 and 64"},
                   {"--big=-1", "--big -1 ... 0 and 9007199254740992"},
                   {"--the-ratio=0", "--the-ratio 0 ... above 0 and below 1"},
                   {"--the-ratio=1", "--the-ratio 1 ... above 0 and below 1"},
                   {"--price=-1", "--price -1 ... at least 0"},
                   {"--share=0", "--share 0 ... above 0 and at most 1"},
                   {"--half=1e30", "--half 1e30 ... at least 0 and below 1e30"},
                   {"--half=inf", "--half inf ... at least 0 and below 1e30"},
                   {"--low=5.5", "--low 5.5 ... at most 5"}};
    Numbers numbers;
    for (size_t i = 0; i < sizeof inside / sizeof *inside; i++) {
        HcError err = {0};
        check_ok(parse_number(&numbers, inside[i], &err), err);
    }
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        HcError err = {0};
        assert_int_equal(parse_number(&numbers, outside[i].word, &err), HC_E_USAGE);
        check_says(err.text, outside[i].message);
    }
}

static void defaults_are_filled_in(void **state) {
    (void)state;
    Numbers numbers;
    HcError err = {0};
    memset(&numbers, 0x55, sizeof numbers);
    check_ok(parse_number(&numbers, NULL, &err), err);
    assert_true(numbers.whole == 0 && numbers.big == 1000000 && numbers.size == 4096);
    assert_true(isnan(numbers.unset) && isinf(numbers.price));
    check_same(numbers.any, 0);
    check_same(numbers.ratio, 0.25);
    check_same(numbers.share, 1e-9);
    check_same(numbers.half, 1);
    check_same(numbers.low, 5);
}

/* What a record leaves out: what was not given and has no number to show. */
static void what_is_unset(void **state) {
    (void)state;
    static const struct {
        const char *name;
        bool unset;
    } cases[] = {{"whole", true}, {"big", false}, {"price", true},
                 {"unset", true}, {"size", true}, {"any", false}};
    Numbers numbers;
    HcError err = {0};
    check_ok(parse_number(&numbers, NULL, &err), err);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        HC_EACH_OPTION(option, number_table) {
            if (strcmp(option->name, cases[c].name) == 0) {
                assert_int_equal(hc_option_is_unset(option, &numbers), cases[c].unset);
            }
        }
    }
    numbers = (Numbers){.whole = 3, .price = 1, .unset = 0, .size = 1};
    HC_EACH_OPTION(option, number_table) {
        assert_false(hc_option_is_unset(option, &numbers));
    }
    Params p;
    hc_options_reset(table, &p);
    HC_EACH_OPTION(option, table) {
        bool number = option->kind == HC_OPTION_INT || option->kind == HC_OPTION_REAL;
        assert_int_equal(hc_option_is_unset(option, &p), !number && strcmp(option->name, "text") != 0);
    }
}

static void help_names_unit_range_and_default(void **state) {
    (void)state;
    static const char *const lines[] = {
        "  --whole N                     whole. Range: 1 to 64. Default: half\n",
        "  --big N                       big. Range: 0 to 9007199254740992. Default: 1000000\n",
        "  --any X                       any. Default: 0\n",
        "  --the-ratio X                 ratio. Range: above 0 and below 1. Default: 0.25\n",
        "  --price X                     price [nm]. Range: at least 0. Default: none\n",
        "  --share X                     share. Range: above 0 and at most 1. Default: 1e-9\n",
        "  --half X                      half. Range: at least 0 and below 1e30. Default: 1\n",
        "  --low X                       low. Range: at most 5. Default: 5\n",
        "  --unset X                     unset. Range: 0 to 1. Default: by chance\n",
        "  --size SIZE                   size. Default: little\n"};
    HcText help = {0};
    HcText expected = {0};
    add_help(number_table, &help);
    for (size_t l = 0; l < sizeof lines / sizeof *lines; l++) {
        hc_text_add(&expected, "%s", lines[l]);
    }
    assert_string_equal(help.data, expected.data);
    hc_text_clear(&help);
    hc_text_clear(&expected);
    add_help(table, &help);
    assert_non_null(strstr(help.data, "  FIRST                         h. Required\n"));
    assert_non_null(strstr(help.data, "  --flag, -f                    h\n"));
    assert_non_null(strstr(help.data, "  --text T                      h. Default: usual\n"));
    assert_non_null(strstr(help.data, "  --choice red|green            h\n"));
    assert_non_null(strstr(help.data, "  --list L                      h. May be repeated\n"));
    hc_text_clear(&help);
}

/* A stage may have no option: NULL, or a table that ends at once. */
static void a_table_may_be_empty(void **state) {
    (void)state;
    static const HcOption empty[] = {{0}};
    const HcOption *const tables[] = {NULL, empty};
    const char *const words[] = {"--flag", "word"};
    for (size_t t = 0; t < 2; t++) {
        HcError err = {0};
        HcOptionSet set = {.table = tables[t]};
        HcText help = {0};
        hc_options_reset(tables[t], NULL);
        check_ok(hc_options_parse("test", &set, 1, words, 0, &err), err);
        for (size_t w = 0; w < 2; w++) {
            check_fails(hc_options_parse("test", &set, 1, words + w, 1, &err), HC_E_USAGE, err);
        }
        assert_int_equal(hc_options_leading(&set, 1, words, 2), 1);
        check_ok(hc_options_files(&set, HC_FILE_READ, NULL, NULL, &err), err);
        add_help(tables[t], &help);
        assert_null(help.data);
    }
}

static void lists_have_a_limit(void **state) {
    (void)state;
    const char *words[1 + HC_LIST_MAX + 1] = {"a"};
    for (int i = 0; i <= HC_LIST_MAX; i++) {
        words[1 + i] = "--list=x";
    }
    Params p;
    HcError err = {0};
    HcOptionSet set = {.table = table, .params = &p};
    hc_options_reset(table, &p);
    check_ok(hc_options_parse("test", &set, 1, words, 1 + HC_LIST_MAX, &err), err);
    hc_options_reset(table, &p);
    check_fails(hc_options_parse("test", &set, 1, words, 2 + HC_LIST_MAX, &err), HC_E_USAGE, err);
}

/* A positional list takes all words that are left, before and after options. */
static void lists_take_places(void **state) {
    (void)state;
    static const HcOption places[] = {
        {HC_TEXT(Params, first), .value = "FIRST", .positional = true, .required = true, .help = "h"},
        {HC_LIST(Params, list), .value = "L", .positional = true, .help = "h"},
        {HC_FLAG(Params, flag), .help = "h"},
        {0}};
    const char *const words[] = {"a", "--list", "b", "c", "--flag", "d", "--", "--e"};
    Params p = {0};
    HcError err = {0};
    HcOptionSet set = {.table = places, .params = &p};
    hc_options_reset(places, &p);
    check_ok(hc_options_parse("test", &set, 1, words, 8, &err), err);
    assert_true(p.flag && p.list.count == 4);
    assert_string_equal(p.first, "a");
    for (int i = 0; i < 4; i++) {
        assert_string_equal(p.list.item[i], ((const char *[]){"b", "c", "d", "--e"})[i]);
    }
}

static void leading_options_are_counted(void **state) {
    (void)state;
    Params p;
    HcOptionSet set = {.table = table, .params = &p};
    const char *const words[] = {"--flag", "--whole", "3", "--real=1", "read", "--flag"};
    assert_int_equal(hc_options_leading(&set, 1, words, 6), 4);
    assert_int_equal(hc_options_leading(&set, 1, words, 2), 2);
    assert_int_equal(hc_options_leading(&set, 1, words + 4, 2), 0);
}

/* A name of two sets is an option of the one that does not yield, wherever it stands; other names stay. */
static void a_set_yields(void **state) {
    (void)state;
    static const char *const words[] = {"--whole", "3", "--real", "0.25", "x"};
    static const HcOption other[] = {{HC_INT(Params, whole), .value = "N", .help = "h"}, {0}};
    Params yielding, taking;
    HcError err = {0};
    for (int turn = 0; turn < 2; turn++) {
        HcOptionSet sets[2];
        sets[turn] = (HcOptionSet){.table = table, .params = &yielding, .yields = true};
        sets[1 - turn] = (HcOptionSet){.table = other, .params = &taking};
        hc_options_reset(table, &yielding);
        hc_options_reset(other, &taking);
        check_ok(hc_options_parse("test", sets, 2, words, 5, &err), err);
        assert_true(taking.whole == 3 && yielding.whole == 7);
        check_same(yielding.real, 0.25);
        assert_string_equal(yielding.first, "x");
    }
}

/* The words of a line after renewal, joined again; `note` gets the remark. */
static HcStatus renew(const HcOptionSet *sets, const char *line, HcText *joined, HcText *note, HcError *err) {
    char *words[WORDS_MAX];
    char buffer[256];
    int32_t count = 0, at = -1;
    snprintf(buffer, sizeof buffer, "%s", line);
    for (char *word = strtok(buffer, " "); word != NULL; word = strtok(NULL, " ")) {
        words[count++] = strdup(word);
    }
    HcStatus status = hc_options_renew("test", sets, 2, words, count, &at, note, err);
    for (int32_t w = 0; w < count; w++) {
        hc_text_add(joined, "%s%s", w > 0 ? " " : "", words[w]);
        free(words[w]);
    }
    return status;
}

/* A number keeps the old name of its option, other values are of who has the name now, or refused. */
static void names_before(void **state) {
    (void)state;
    static const HcOption own[] = {
        {HC_INT(Params, whole, "side"), .was = "window", .value = "SIDE", .help = "h"},
        {HC_LIST(Params, list, "at"), .was = "pixel", .value = "SAMPLE,LINE", .help = "h"},
        {0}};
    static const HcOption other[] = {{HC_TEXT(Params, text, "window"), .value = "X,Y,W,H", .help = "h"}, {0}};
    static const struct {
        bool both; /* with the other set */
        const char *words, *expected;
        bool noted;
    } cases[] = {
        {true, "--window 21 x", "--side 21 x", true},
        {true, "--window=21 x", "--side=21 x", true},
        {false, "--window 21", "--side 21", true},
        {true, "--window 1,2,3,4 --window 5", "--window 1,2,3,4 --side 5", true},
        {true, "--windows 21 --side 3", "--windows 21 --side 3", false},
        {true, "-- --window 21", "-- --window 21", false},
    };
    HcError err = {0};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        const HcOptionSet sets[2] = {{.table = own}, {.table = cases[c].both ? other : NULL}};
        HcText joined = {0}, note = {0};
        check_ok(renew(sets, cases[c].words, &joined, &note, &err), err);
        assert_string_equal(joined.data, cases[c].expected);
        assert_int_equal(note.length > 0, cases[c].noted);
        assert_true(!cases[c].noted || strstr(note.data, "the option is called --side") != NULL);
        hc_text_clear(&joined);
        hc_text_clear(&note);
    }
    static const char *const refused[][2] = {{"--window 1,2,3,4", "--window 1,2,3,4 ... --side SIDE"},
                                             {"--window", "--window: ... --side SIDE"},
                                             {"--pixel 3,4", "--pixel 3,4 ... --at SAMPLE,LINE"},
                                             {"--pixel=3", "--pixel 3: ... --at SAMPLE,LINE"}};
    for (size_t r = 0; r < sizeof refused / sizeof *refused; r++) {
        const HcOptionSet sets[2] = {{.table = own}, {0}};
        HcText joined = {0}, note = {0};
        assert_int_equal(renew(sets, refused[r][0], &joined, &note, &err), HC_E_USAGE);
        check_says(err.text, refused[r][1]);
        assert_int_equal(note.length, 0);
        hc_text_clear(&joined);
        hc_text_clear(&note);
        err = (HcError){0};
    }
}

static char *before_colon(const char *value) {
    return strndup(value, strcspn(value, ":"));
}

static HcStatus collect(const char *path, void *user, HcError *err) {
    (void)err;
    hc_text_add(user, "%s;", path);
    return HC_OK;
}

/* The file of a value that says more than its name. */
static void files_of_values(void **state) {
    (void)state;
    static const HcOption files[] = {
        {HC_LIST(Params, list), .file = HC_FILE_READ, .file_of = before_colon, .value = "F[:L]", .help = "h"},
        {HC_TEXT(Params, text), .file = HC_FILE_READ, .value = "F", .help = "h"},
        {0}};
    static const char *const words[] = {"--list", "a.tif:3=1", "--text", "c:d", "--list=b"};
    Params p;
    HcError err = {0};
    HcText found = {0};
    hc_options_reset(files, &p);
    HcOptionSet set = {.table = files, .params = &p};
    check_ok(hc_options_parse("test", &set, 1, words, 5, &err), err);
    check_ok(hc_options_files(&set, HC_FILE_READ, collect, &found, &err), err);
    assert_string_equal(found.data, "a.tif;b;c:d;");
    hc_text_clear(&found);
}

static void numbers_of_a_list(void **state) {
    (void)state;
    double value[4];
    assert_int_equal(hc_option_numbers("1,-2.5,3e2", value, 4), 3);
    check_same(value[0], 1);
    check_same(value[1], -2.5);
    check_same(value[2], 300);
    static const char *const wrong[] = {"1,,2", "1,2,", ",1", "1;2", "a", "1,2,3,4,5", "1 2"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        if (hc_option_numbers(wrong[i], value, 4) != -1) {
            fail_msg("\"%s\" is taken for a list of numbers", wrong[i]);
        }
    }
}

typedef struct RelationParams {
    bool a, b, c;
    int64_t number;
    double real;
    int32_t method;
    const char *word;
} RelationParams;

static const HcOption relation_table[] = {
    {HC_FLAG(RelationParams, a), .one_of = "a b c", .help = "h"},
    {HC_FLAG(RelationParams, b), .help = "h"},
    {HC_FLAG(RelationParams, c), .needs = "number word", .help = "h"},
    {HC_INT(RelationParams, number), .range = {1, 9}, .initial = 5, .value = "N",
     .excludes = "method=green word", .help = "h"},
    {HC_REAL(RelationParams, real), .initial = NAN, .value = "X", .needs = "method=green", .help = "h"},
    {HC_CHOICE(RelationParams, method), .choices = words_of_choice, .standard = "red", .help = "h"},
    {HC_TEXT(RelationParams, word), .standard = "usual", .value = "W", .help = "h"},
    {0}};

static void relations(void **state) {
    (void)state;
    static const struct {
        const char *words[3], *said;
    } cases[] = {{{"--a"}, NULL},
                 {{"--a", "--b"}, "give one of --a, --b and --c"},
                 {{"--c"}, "--c needs --number or --word"},
                 {{"--c", "--number=5"}, "--c needs --number or --word"}, /* the default */
                 {{"--c", "--number=6"}, NULL},
                 {{"--c", "--word=usual"}, "--c needs"},
                 {{"--c", "--word=other"}, NULL},
                 {{"--number=6", "--word=other"}, "--number excludes --word"},
                 {{"--number=6", "--method=green"}, "--number excludes --method green"},
                 {{"--number=5", "--method=green"}, NULL},
                 {{"--real=1"}, "--real needs --method green"},
                 {{"--real=1", "--method=green"}, NULL}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        HcError err = {0};
        RelationParams params;
        HcOptionSet set = {.table = relation_table, .params = &params};
        int32_t count = 0;
        hc_options_reset(relation_table, &params);
        for (; count < 3 && cases[k].words[count] != NULL; count++) {
        }
        HcStatus status = hc_options_parse("test", &set, 1, cases[k].words, count, &err);
        if (status != (cases[k].said == NULL ? HC_OK : HC_E_USAGE) ||
            (cases[k].said != NULL && !check_holds(err.text, cases[k].said))) {
            fail_msg("case %zu: status %d, \"%s\"", k, (int)status, err.text);
        }
    }
    HcText help = {0};
    hc_option_meaning(&relation_table[3], &help);
    assert_non_null(strstr(help.data, ". Excludes --method green and --word"));
    hc_text_clear(&help);
}

static size_t field_size(HcOptionKind kind) {
    switch (kind) {
    case HC_OPTION_FLAG:
        return sizeof(bool);
    case HC_OPTION_INT:
        return sizeof(int64_t);
    case HC_OPTION_REAL:
        return sizeof(double);
    case HC_OPTION_SIZE:
        return sizeof(uint64_t);
    case HC_OPTION_TEXT:
        return sizeof(const char *);
    case HC_OPTION_CHOICE:
        return sizeof(int32_t);
    case HC_OPTION_LIST:
        return sizeof(HcOptionList);
    }
    return SIZE_MAX;
}

/* By how its value is shown: FILE, MODEL.json, SCENE, OUTPUT, NOISE. */
static bool names_file(const HcOption *option) {
    static const char *const parts[] = {"FILE", ".json", ".png", ".csv", "SCENE", "OUTPUT", "NOISE", NULL};
    for (int p = 0; parts[p] != NULL; p++) {
        if (strstr(option->value, parts[p]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Whether a term of a relation is an option of the stage, or one of its choices. */
static bool is_term(const HcStageClass *kind, const char *term) {
    size_t length = strcspn(term, " "), name = strcspn(term, " =");
    HC_EACH_OPTION(option, kind->options) {
        if (strlen(option->name) != name || strncmp(option->name, term, name) != 0) {
            continue;
        }
        bool found = name == length;
        for (int c = 0; !found && option->choices != NULL && option->choices[c] != NULL; c++) {
            found = strlen(option->choices[c]) == length - name - 1 &&
                    strncmp(option->choices[c], term + name + 1, length - name - 1) == 0;
        }
        return found;
    }
    return false;
}

static void check_option(const HcStageClass *kind, const HcOption *option) {
    const char *wrong = NULL;
    size_t size = field_size(option->kind);
    bool takes_value = option->kind != HC_OPTION_FLAG;
    bool text = option->kind == HC_OPTION_TEXT || option->kind == HC_OPTION_LIST;
    for (const char *c = option->name; *c != '\0'; c++) {
        wrong = islower((unsigned char)*c) || isdigit((unsigned char)*c) || *c == '-' ? wrong : "name";
    }
    wrong =
        option->offset > kind->params_size || size > kind->params_size - option->offset ? "offset" : wrong;
    wrong = option->help == NULL || strlen(option->help) < 5 ? "help" : wrong;
    wrong = option->help != NULL &&
                    (strchr(option->help, '\n') != NULL || option->help[strlen(option->help) - 1] == '.')
                ? "a sentence of help without its end"
                : wrong;
    wrong = takes_value && option->kind != HC_OPTION_CHOICE && option->value == NULL
                ? "how the value is shown"
                : wrong;
    wrong =
        !takes_value && (option->value != NULL || option->standard != NULL) ? "a flag with a value" : wrong;
    wrong = option->kind == HC_OPTION_CHOICE && option->choices == NULL ? "no choices" : wrong;
    wrong = option->kind != HC_OPTION_CHOICE && !text && option->choices != NULL ? "choices" : wrong;
    bool number = option->kind == HC_OPTION_INT || option->kind == HC_OPTION_REAL;
    const HcRange *range = &option->range;
    bool ranged = range->low != 0 || range->high != 0;
    wrong = ranged && (!number || !(range->low < range->high)) ? "range" : wrong;
    wrong = option->standard != NULL && option->otherwise != NULL ? "two defaults" : wrong;
    /* What a reader of the help must be told. */
    wrong = option->kind == HC_OPTION_SIZE && option->otherwise == NULL ? "a size without a default" : wrong;
    wrong = option->kind == HC_OPTION_CHOICE && option->standard == NULL && option->otherwise == NULL
                ? "a choice without a default"
                : wrong;
    /* So that nothing is taken for a value that was given: NAN, or what the range leaves out. */
    wrong = option->kind == HC_OPTION_REAL && !ranged && option->otherwise != NULL && !isnan(option->initial)
                ? "words for a default that is a number"
                : wrong;
    wrong = option->positional && option->value == NULL ? "value of a positional" : wrong;
    wrong = option->positional && !takes_value ? "a positional flag" : wrong;
    /* So that no option is missing in the list of files that a command reads and writes. */
    wrong = option->file != HC_FILE_NONE && !text ? "a file by a kind that is no text" : wrong;
    wrong = text && names_file(option) && option->file == HC_FILE_NONE
                ? "a file that is neither read nor written"
                : wrong;
    const char *const relation[] = {option->needs, option->excludes, option->one_of};
    for (int r = 0; r < 3; r++) {
        HC_EACH_TERM(term, relation[r]) {
            wrong = is_term(kind, term) ? wrong : "a relation to what is no option";
        }
    }
    for (const HcOption *other = kind->options; other < option; other++) {
        wrong = strcmp(other->name, option->name) == 0 ? "a name twice" : wrong;
        wrong = option->letter != 0 && other->letter == option->letter ? "a letter twice" : wrong;
        bool apart = other->offset + field_size(other->kind) <= option->offset ||
                     option->offset + size <= other->offset;
        wrong = apart ? wrong : "two options in one field";
        wrong = option->positional && option->required && other->positional && !other->required
                    ? "a required positional behind one that is not"
                    : wrong;
    }
    if (wrong != NULL) {
        fail_msg("%s --%s: %s", kind->name, option->name, wrong);
    }
}

/* A default that its own table refuses would go unnoticed in a run. */
static void check_default(const HcStageClass *kind, const HcOption *option) {
    HcOption alone[2] = {*option, {0}};
    char number[HC_TEXT_DOUBLE];
    alone[0].required = false;
    alone[0].standard = alone[0].needs = NULL;
    void *params = calloc(1, kind->params_size);
    assert_non_null(params);
    HcError err = {0};
    HcOptionSet set = {.table = alone, .params = params};
    char word[128];
    int length =
        snprintf(word, sizeof word, "--%s=%s", option->name,
                 option->standard != NULL ? option->standard : hc_text_double(number, option->initial));
    assert_true(length > 0 && (size_t)length < sizeof word);
    const char *const words[] = {word};
    hc_options_reset(alone, params);
    check_ok(hc_options_parse(kind->name, &set, 1, words, 1, &err), err);
    free(params);
}

static bool has_default(const HcOption *option) {
    bool number = option->kind == HC_OPTION_INT || option->kind == HC_OPTION_REAL;
    return option->standard != NULL || (number && option->otherwise == NULL && !option->required);
}

static void tables_of_all_stages_are_sane(void **state) {
    (void)state;
    int count = 0;
    for (; hc_stage_list[count] != NULL; count++) {
        const HcStageClass *kind = hc_stage_list[count];
        assert_ptr_equal(hc_stage_find(kind->name), kind);
        assert_true(kind->summary != NULL && strlen(kind->summary) > 10 && kind->plan != NULL);
        assert_true(kind->role != HC_ROLE_STAGE || kind->process != NULL);
        assert_true(kind->observe == NULL || kind->settle != NULL);
        assert_true((kind->rare.fits != NULL) == (kind->rare.fit != NULL));
        assert_true((kind->rare.side != NULL) == (kind->rare.take_side != NULL));
        assert_true((kind->rare.check != NULL) == (kind->rare.written != NULL));
        assert_non_null(kind->example); /* tests/app/cases/usage.sh runs it */
        HC_EACH_OPTION(option, kind->options) {
            check_option(kind, option);
            if (has_default(option)) {
                check_default(kind, option);
            }
        }
        HcText help = {0};
        add_help(kind->options, &help);
        assert_true((help.data != NULL || kind->options == NULL) && !help.failed);
        HC_EACH_OPTION(option, kind->options) {
            assert_non_null(strstr(help.data, option->help));
        }
        hc_text_clear(&help);
    }
    assert_true(count >= 8);
    assert_null(hc_stage_find("none"));
    assert_null(hc_stage_find(""));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_of_every_kind),
        cmocka_unit_test(mistakes_are_named),
        cmocka_unit_test(flags_take_no_value),
        cmocka_unit_test(texts_may_stand_alone),
        cmocka_unit_test(ends_of_a_range_are_in_it_or_not),
        cmocka_unit_test(defaults_are_filled_in),
        cmocka_unit_test(what_is_unset),
        cmocka_unit_test(help_names_unit_range_and_default),
        cmocka_unit_test(a_table_may_be_empty),
        cmocka_unit_test(lists_have_a_limit),
        cmocka_unit_test(lists_take_places),
        cmocka_unit_test(leading_options_are_counted),
        cmocka_unit_test(a_set_yields),
        cmocka_unit_test(names_before),
        cmocka_unit_test(files_of_values),
        cmocka_unit_test(numbers_of_a_list),
        cmocka_unit_test(relations),
        cmocka_unit_test(tables_of_all_stages_are_sane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
