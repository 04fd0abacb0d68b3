#include "pipeline/chain.h"
#include "pipeline/stages/stages.h"
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>

/* Splits and joins again with | between the words. */
static void check_split(const char *text, const char *expected) {
    char **words = NULL;
    int32_t count = 0;
    HcError err = {0};
    check_ok(hc_words_split(text, "the test", &words, NULL, &count, &err), err);
    HcText joined = {0};
    hc_text_add(&joined, "%s", "");
    for (int32_t w = 0; w < count; w++) {
        hc_text_add(&joined, "%s%s", w == 0 ? "" : "|", words[w]);
    }
    assert_string_equal(joined.data != NULL ? joined.data : "", expected);
    assert_true(words == NULL || words[count] == NULL);
    hc_text_clear(&joined);
    hc_free_texts(words, count);
}

static void words_are_split_as_by_a_shell(void **state) {
    (void)state;
    check_split("", "");
    check_split("  \t\r\n \v\f", "");
    check_split("a \v\f b\vc", "a|b|c");
    check_split("a  b\tc\nd", "a|b|c|d");
    check_split("a 'b c' \"d e\"", "a|b c|d e");
    check_split("a'b c'd", "ab cd");
    check_split("\"it's\" 'say \"x\"'", "it's|say \"x\"");
    check_split("\"a\\\"b\" 'a\\b' a\\ b", "a\"b|a\\b|a b");
    check_split("a # comment ! b\nc", "a|c");
    check_split("# all of it", "");
    check_split("a#b '#' c", "a#b|#|c");
    check_split("a '' \"\" b", "a|||b");
    check_split("read x ! write y", "read|x|!|write|y");
    check_split("'' a", "|a");
}

static void open_quotes_are_refused(void **state) {
    (void)state;
    static const char *const wrong[] = {"'", "a 'b", "\"", "a \"b\\\""};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char **words = NULL;
        int32_t count = 0;
        HcError err = {0};
        check_fails(hc_words_split(wrong[i], "the test", &words, NULL, &count, &err), HC_E_USAGE, err);
        assert_null(words);
        assert_int_equal(count, 0);
    }
}

static void words_know_their_lines(void **state) {
    (void)state;
    static const int32_t expected[] = {2, 2, 3, 5, 5, 7};
    char **words = NULL;
    int32_t *lines = NULL;
    int32_t count = 0;
    HcError err = {0};
    const char *text = "# first\na b # two\n'c\n\\n' # ends in 4\n\"d\" e\n\n\tf";
    check_ok(hc_words_split(text, "the test", &words, &lines, &count, &err), err);
    assert_int_equal(count, 6);
    for (int32_t w = 0; w < count; w++) {
        assert_int_equal(lines[w], expected[w]);
    }
    hc_free_texts(words, count);
    free(lines);
    HcStatus status = hc_words_split("a\n'b'\n'c", "the test", &words, &lines, &count, &err);
    assert_int_equal(status, HC_E_USAGE);
    assert_string_equal(err.text, "the test:3: a quote (') is not closed");
    assert_null(lines);
}

static void check_fill(const char *text, const char *expected) {
    HcOptionList values = {.item = {"scene=a b.hdr", "n=5", "empty="}, .count = 3};
    char *out = NULL;
    HcError err = {0};
    check_ok(hc_words_fill(text, "the test", &values, &out, &err), err);
    assert_string_equal(out, expected);
    free(out);
}

static void placeholders_are_filled(void **state) {
    (void)state;
    check_fill("{scene} {n} {empty}", "'a b.hdr' 5 ''");
    check_fill("x{n}y{n}{empty}{scene}", "x5y5'''a b.hdr'");
    check_fill("{{n}} {n} {empty} {scene}", "{n} 5 '' 'a b.hdr'");
    check_fill("\"{scene} {n}{empty}\" '{scene}'", "\"a b.hdr 5\" 'a b.hdr'");
    check_fill("{n} # {not} {a} value\n{scene}{empty} it#{n}", "5 \n'a b.hdr''' it#5");
    check_fill("'x {scene}' \"{n}\" {empty}", "'x a b.hdr' \"5\" ''"); /* quoted already */
    check_fill("{scene} # not {this}\n{n}{empty}", "'a b.hdr' \n5''");
    HcOptionList odd = {.item = {"x=a \"b' c\\"}, .count = 1};
    HcError odd_err = {0};
    char *filled = NULL;
    check_ok(hc_words_fill("{x} '{x}' \"{x}\" it\\'s", "the test", &odd, &filled, &odd_err), odd_err);
    check_split(filled, "a \"b' c\\|a \"b' c\\|a \"b' c\\|it's");
    free(filled);
    HcOptionList values = {.item = {"n=5"}, .count = 1};
    char *out = NULL;
    HcError err = {0};
    check_fails(hc_words_fill("{n} {m}", "the test", &values, &out, &err), HC_E_USAGE, err);
    check_fails(hc_words_fill("{n", "the test", &values, &out, &err), HC_E_USAGE, err);
    check_fails(hc_words_fill("{n\n}", "the test", &values, &out, &err), HC_E_USAGE, err);
    check_fails(hc_words_fill("nothing", "the test", &values, &out, &err), HC_E_USAGE, err);
    check_ok(hc_words_fill("", "the test", NULL, &out, &err), err);
    assert_string_equal(out, "");
    free(out);
}

static HcStatus parse(HcChain **chain, const char *text, HcError *err) {
    char **words = NULL;
    int32_t count = 0;
    check_ok(hc_words_split(text, "the test", &words, NULL, &count, err), *err);
    HcStatus status = hc_chain_parse(chain, (const char *const *)words, count, NULL, err);
    hc_free_texts(words, count);
    return status;
}

static void chains_are_parsed(void **state) {
    (void)state;
    static const char *const same[] = {"read a.hdr ! mnf --components 20 ! write b.tif",
                                       "! read a.hdr ! mnf --components 20 ! write b.tif"};
    for (size_t i = 0; i < 2; i++) {
        HcChain *chain = NULL;
        HcError err = {0};
        check_ok(parse(&chain, same[i], &err), err);
        assert_int_equal(chain->count, 3);
        assert_ptr_equal(chain->stages[0].kind, &hc_stage_read);
        assert_ptr_equal(chain->stages[1].kind, &hc_stage_mnf);
        assert_ptr_equal(chain->stages[2].kind, &hc_stage_write);
        assert_ptr_equal(chain->stages[2].chain, chain);
        assert_int_equal(chain->stages[2].place, 2);
        assert_ptr_equal(hc_stage_before(&chain->stages[2], HC_GIVES_WHITE_COMPONENTS), &chain->stages[1]);
        assert_null(hc_stage_before(&chain->stages[1], HC_GIVES_WHITE_COMPONENTS));
        hc_chain_free(chain);
    }
}

static void wrong_chains_are_named(void **state) {
    (void)state;
    static const struct {
        const char *text, *part;
    } cases[] = {
        {"", "step"},
        {"!", "step"},
        {"read a ! ! write b", "step 2 is empty"},
        {"! ! read a", "step 1 is empty"},
        {"read a !", "missing after step 1"},
        {"read a ! mnf --components 3 !", "missing after step 2"},
        {"reed a ! write b", "reed: unknown stage, did you mean read?"},
        {"read a ! mfn ! write b", "mfn: unknown stage, did you mean mnf?"},
        {"read a ! qqqqqqqqqq ! write b", "unknown stage"},
        {"mnf ! write b", "mnf: a chain begins with read"},
        {"read a ! read b ! write c", "read: step 2 ... only the first"},
        {"read a ! mnf --componets 3 ! write b", "mnf: --componets: unknown option ... --components?"},
        {"read a ! preview b --size 0 ! write b", "--size 0"},
        {"read a ! preview b --size 1e3 ! write b", "not a whole number"},
        {"read a ! mnf --min-eigenvalue nan ! write b", "--min-eigenvalue nan: not a number"},
        {"read a ! mnf --singular maybe ! write b", "must be one of drop, stop"},
        {"read ! write b", "SCENE is missing"},
        {"read a ! write", "OUTPUT is missing"},
        {"read a ! write b c", "one word too many"},
        {"read a ! write b --type uint17", "--type uint17: must be one of uint8"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        HcChain *chain = NULL;
        HcError err = {0};
        HcStatus status = parse(&chain, cases[i].text, &err);
        if (status != HC_E_USAGE || !check_holds(err.text, cases[i].part) || chain != NULL) {
            fail_msg("\"%s\": status %d, \"%s\" (wanted \"%s\")", cases[i].text, (int)status, err.text,
                     cases[i].part);
        }
    }
}

static void common_options_hold_in_every_step(void **state) {
    (void)state;
    typedef struct Common {
        bool overwrite, quick;
    } Common;
    static const HcOption table[] = {
        {.name = "quick", .kind = HC_OPTION_FLAG, .offset = offsetof(Common, quick), .help = "h"}, {0}};
    Common common;
    HcOptionSet set = {.table = table, .params = &common};
    const char *const words[] = {"read", "a", "!", "mnf", "--quick", "!", "write", "b"};
    HcChain *chain = NULL;
    HcError err = {0};
    hc_options_reset(table, &common);
    check_ok(hc_chain_parse(&chain, words, 8, &set, &err), err);
    assert_true(common.quick);
    hc_chain_free(chain);
}

static void stages_are_commands(void **state) {
    (void)state;
    for (int i = 0; hc_stage_list[i] != NULL; i++) {
        const HcStageClass *kind = hc_stage_list[i];
        /* bands, filter and index have a positional option of their own, named here. */
        HcChain *chain = NULL;
        HcError err = {0};
        char name[64];
        const char *const words[] = {"scene.hdr", "out.tif", name, "file"};
        int32_t count = 2;
        HC_EACH_OPTION(option, kind->options) {
            if (option->required && (!option->positional || option->file == HC_FILE_NONE)) {
                snprintf(name, sizeof name, "--%s", option->name);
                count = 4;
            }
        }
        check_ok(hc_chain_for_stage(&chain, kind, words, count, NULL, &err), err);
        assert_int_equal(chain->count, kind->role == HC_ROLE_STAGE ? 3 : 2);
        assert_ptr_equal(chain->stages[0].kind, &hc_stage_read);
        assert_ptr_equal(chain->stages[1].kind, kind->role == HC_ROLE_SOURCE ? &hc_stage_write : kind);
        hc_chain_free(chain);
    }
}

static void printing_can_be_typed_again(void **state) {
    (void)state;
    static const char text[] = "read 'a b.hdr' ! bands 1-3 ! write 'it'\\''s.img' --co A=B";
    HcChain *chain = NULL;
    HcError err = {0};
    check_ok(parse(&chain, text, &err), err);
    HcText printed = {0};
    hc_chain_print(chain, &printed);
    assert_string_equal(printed.data, text);
    hc_text_clear(&printed);
    hc_chain_free(chain);
    hc_word_print("", &printed);
    assert_string_equal(printed.data, "''");
    hc_text_clear(&printed);
}

static void notes_are_kept_once(void **state) {
    (void)state;
    HcChain *chain = NULL;
    HcError err = {0};
    check_ok(parse(&chain, "read a ! write b", &err), err);
    for (int i = 0; i < 200; i++) {
        hc_stage_note(&chain->stages[0], "remark %d", i / 2);
    }
    assert_int_equal(chain->note_count, HC_NOTES_MAX);
    assert_string_equal(chain->notes[1], "read: remark 1");
    hc_chain_free(chain);
}

/* What is added behind memory that can be spared counts while memory is scarce, too. */
static void scarce_memory_is_added_up(void **state) {
    (void)state;
    HcStage stage = {0};
    hc_stage_takes(&stage, HC_SPACE_DEVICE, 1);
    hc_stage_takes_or(&stage, HC_SPACE_DEVICE, 100, 40);
    hc_stage_takes(&stage, HC_SPACE_DEVICE, 7);
    hc_stage_takes(&stage, HC_SPACE_HOST, 5);
    assert_int_equal(hc_stage_bytes(&stage, HC_SPACE_DEVICE), 108);
    stage.tight = true;
    assert_int_equal(hc_stage_bytes(&stage, HC_SPACE_DEVICE), 48);
    assert_int_equal(hc_stage_bytes(&stage, HC_SPACE_HOST), 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_split_as_by_a_shell),
        cmocka_unit_test(open_quotes_are_refused),
        cmocka_unit_test(words_know_their_lines),
        cmocka_unit_test(placeholders_are_filled),
        cmocka_unit_test(chains_are_parsed),
        cmocka_unit_test(wrong_chains_are_named),
        cmocka_unit_test(common_options_hold_in_every_step),
        cmocka_unit_test(stages_are_commands),
        cmocka_unit_test(printing_can_be_typed_again),
        cmocka_unit_test(notes_are_kept_once),
        cmocka_unit_test(scarce_memory_is_added_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
