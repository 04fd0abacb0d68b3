#include "pipeline/option.h"
#include "pipeline/stage.h"
#include "tests/support/check.h"

#include <ctype.h>
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
    {.name = "first",
     .kind = HC_OPTION_TEXT,
     .offset = offsetof(Params, first),
     .value = "FIRST",
     .positional = true,
     .required = true,
     .help = "h"},
    {.name = "flag", .letter = 'f', .kind = HC_OPTION_FLAG, .offset = offsetof(Params, flag), .help = "h"},
    {.name = "whole",
     .letter = 'k',
     .kind = HC_OPTION_INT,
     .offset = offsetof(Params, whole),
     .value = "N",
     .minimum = -10,
     .maximum = 10,
     .help = "h"},
    {.name = "real",
     .kind = HC_OPTION_REAL,
     .offset = offsetof(Params, real),
     .value = "X",
     .standard = "0.5",
     .minimum = 0,
     .maximum = 1,
     .help = "h"},
    {.name = "size", .kind = HC_OPTION_SIZE, .offset = offsetof(Params, size), .value = "SIZE", .help = "h"},
    {.name = "text", .kind = HC_OPTION_TEXT, .offset = offsetof(Params, text), .value = "T", .help = "h"},
    {.name = "choice",
     .kind = HC_OPTION_CHOICE,
     .offset = offsetof(Params, choice),
     .choices = words_of_choice,
     .help = "h"},
    {.name = "list", .kind = HC_OPTION_LIST, .offset = offsetof(Params, list), .value = "L", .help = "h"},
    {.name = "second",
     .kind = HC_OPTION_TEXT,
     .offset = offsetof(Params, second),
     .value = "SECOND",
     .positional = true,
     .help = "h"},
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
    assert_true(!p.flag && p.whole == HC_INT_NOT_GIVEN && p.size == 0 && p.text == NULL && p.second == NULL);
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
        if (status != HC_E_USAGE || strstr(err.text, cases[i].part) == NULL ||
            strncmp(err.text, "test: ", 6) != 0) {
            fail_msg("\"%s\": status %d, \"%s\" (wanted \"%s\")", cases[i].line, (int)status, err.text,
                     cases[i].part);
        }
    }
}

/* A flag that may be given with its one value. */
static void levels(void **state) {
    (void)state;
    static const HcOption levels[] = {
        {.name = "overwrite", .kind = HC_OPTION_LEVEL, .offset = 0, .value = "any", .help = "replace files"},
        {0}};
    static const struct {
        const char *word;
        int32_t level;
    } cases[] = {{"--overwrite", HC_OVERWRITE_USUAL},
                 {"--overwrite=any", HC_OVERWRITE_ANY},
                 {NULL, HC_OVERWRITE_NONE}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        HcError err = {0};
        int32_t level = 7;
        HcOptionSet set = {.table = levels, .params = &level};
        hc_options_reset(levels, &level);
        check_ok(hc_options_parse("test", &set, 1, &cases[c].word, cases[c].word != NULL, &err), err);
        assert_int_equal(level, cases[c].level);
    }
    static const char *const wrong[] = {"--overwrite=all", "--overwrite="};
    for (size_t w = 0; w < 2; w++) {
        HcError err = {0};
        int32_t level = 0;
        HcOptionSet set = {.table = levels, .params = &level};
        check_fails(hc_options_parse("test", &set, 1, &wrong[w], 1, &err), HC_E_USAGE, err);
    }
    /* The word behind it is another one. */
    const char *const two[] = {"--overwrite", "any"};
    HcError err = {0};
    int32_t level = 0;
    HcOptionSet set = {.table = levels, .params = &level};
    assert_int_equal(hc_options_leading(&set, 1, two, 2), 1);
    check_fails(hc_options_parse("test", &set, 1, two, 2, &err), HC_E_USAGE, err);
    HcText help = {0};
    hc_options_help(levels, &help);
    assert_non_null(strstr(help.data, "--overwrite[=any]"));
    hc_text_clear(&help);
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

static void leading_options_are_counted(void **state) {
    (void)state;
    Params p;
    HcOptionSet set = {.table = table, .params = &p};
    const char *const words[] = {"--flag", "--whole", "3", "--real=1", "read", "--flag"};
    assert_int_equal(hc_options_leading(&set, 1, words, 6), 4);
    assert_int_equal(hc_options_leading(&set, 1, words, 2), 2);
    assert_int_equal(hc_options_leading(&set, 1, words + 4, 2), 0);
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

static size_t field_size(HcOptionKind kind) {
    switch (kind) {
    case HC_OPTION_FLAG:
        return sizeof(bool);
    case HC_OPTION_LEVEL:
        return sizeof(int32_t);
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
    wrong = (option->kind == HC_OPTION_CHOICE) != (option->choices != NULL) ? "choices" : wrong;
    wrong = option->minimum > option->maximum ? "range" : wrong;
    wrong = option->positional && option->value == NULL ? "value of a positional" : wrong;
    wrong = option->positional && !takes_value ? "a positional flag" : wrong;
    /* So that no option is missing in the list of files that a command reads and writes. */
    wrong = option->file != HC_FILE_NONE && !text ? "a file by a kind that is no text" : wrong;
    wrong = text && names_file(option) && option->file == HC_FILE_NONE
                ? "a file that is neither read nor written"
                : wrong;
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
    alone[0].required = false;
    alone[0].standard = NULL;
    void *params = calloc(1, kind->params_size);
    assert_non_null(params);
    HcError err = {0};
    HcOptionSet set = {.table = alone, .params = params};
    char name[64];
    strcpy(name, "--");
    strcat(name, option->name);
    const char *const words[] = {name, option->standard};
    hc_options_reset(alone, params);
    check_ok(hc_options_parse(kind->name, &set, 1, words, 2, &err), err);
    free(params);
}

static void tables_of_all_stages_are_sane(void **state) {
    (void)state;
    int count = 0;
    for (; hc_stage_list[count] != NULL; count++) {
        const HcStageClass *kind = hc_stage_list[count];
        assert_ptr_equal(hc_stage_find(kind->name), kind);
        assert_true(kind->summary != NULL && strlen(kind->summary) > 10 && kind->plan != NULL);
        assert_true(kind->role != HC_ROLE_STAGE || kind->process != NULL);
        assert_true((kind->observe != NULL) == (kind->settle != NULL));
        for (const HcOption *option = kind->options; option->name != NULL; option++) {
            check_option(kind, option);
            if (option->standard != NULL) {
                check_default(kind, option);
            }
        }
        HcText help = {0};
        hc_options_help(kind->options, &help);
        assert_true(help.data != NULL && !help.failed);
        for (const HcOption *option = kind->options; option->name != NULL; option++) {
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
        cmocka_unit_test(levels),
        cmocka_unit_test(lists_have_a_limit),
        cmocka_unit_test(leading_options_are_counted),
        cmocka_unit_test(numbers_of_a_list),
        cmocka_unit_test(tables_of_all_stages_are_sane),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
