/* Records and markers of a batch: when they apply, and that none is left incomplete where memory runs out.
 *
 * The linker sends the calls for memory of the program's own code here (--wrap), and cJSON is given the same
 * functions: each call is made to fail, in a turn of its own. */
#include "app/batch/batch.h"
#include "core/hash.h"
#include "core/version.h"
#include "io/file.h"
#include "io/identity.h"
#include "tests/support/check.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- calls for memory that fail ---- */

static long calls_left = -1; /* before one fails; -1 = none fails */

static bool fails(void) {
    bool now = calls_left == 0;
    calls_left -= calls_left >= 0;
    errno = now ? ENOMEM : errno;
    return now;
}

#define WRAP(name, parameters, arguments)                                                                    \
    void *__real_##name parameters;                                                                          \
    void *__wrap_##name parameters;                                                                          \
    void *__wrap_##name parameters {                                                                         \
        return fails() ? NULL : __real_##name arguments;                                                     \
    }
WRAP(malloc, (size_t bytes), (bytes))
WRAP(calloc, (size_t count, size_t bytes), (count, bytes))
WRAP(realloc, (void *old, size_t bytes), (old, bytes))
WRAP(strdup, (const char *text), (text))
WRAP(realpath, (const char *path, char *out), (path, out))

/* Makes an attempt with its first call for memory failing, then its second, and so on, until all have failed
 * once. Each is checked with all the memory there is. */
static void without_memory(void (*attempt)(void), void (*check)(void)) {
    long turn = 0;
    for (bool failed = true; failed; turn++) {
        calls_left = turn;
        attempt();
        failed = calls_left < 0;
        calls_left = -1;
        check();
    }
    assert_true(turn > 5);
}

/* ---- a folder with a scene and its output ---- */

enum { PIECE = 1 << 20 }; /* bytes that hc_identity_of reads at once */

static char folder[300], output[320], record[340], marker[340];
static HcBatchScene scene;
static HcBatch batch;
static HcChain chain;
static char chain_text[] = "read --path '{scene}' ! bands ! write --output '{output}'";

static const char *in_folder(const char *name) {
    static char paths[4][400];
    static int next;
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

static void put(const char *path, size_t bytes) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    for (size_t b = 0; b < bytes; b++) {
        assert_int_not_equal(putc((int)(b * 2654435761u >> 13 & 255), file), EOF);
    }
    assert_int_equal(fclose(file), 0);
}

static void set_time(const char *path, long seconds) {
    const struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
    assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static int begin(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%.200s/hcube-state-XXXXXX", base != NULL ? base : "/tmp");
    assert_non_null(mkdtemp(folder));
    snprintf(output, sizeof output, "%s/o.img", folder);
    snprintf(record, sizeof record, "%s.hcube.json", output);
    snprintf(marker, sizeof marker, "%s.hcube-failed.json", output);
    put(in_folder("s.img"), 3 * PIECE + 17);
    put(in_folder("s.hdr"), 100);
    put(output, 50);
    set_time(in_folder("s.img"), 1000000000);
    set_time(in_folder("s.hdr"), 1000000000);
    scene = (HcBatchScene){.path = strdup(in_folder("s.hdr")), .output = output};
    batch = (HcBatch){.scenes = &scene, .scene_count = 1, .workers = 1, .chain = chain_text};
    chain = (HcChain){.output_count = 1};
    chain.outputs[0].path = output;
    /* What libraries and the system prepare once shall not count. */
    HcError err = {0};
    HcIdentity identity;
    check_ok(hc_identity_of(in_folder("s.hdr"), true, &identity, &err), err);
    cJSON_Hooks hooks = {.malloc_fn = __wrap_malloc, .free_fn = free};
    cJSON_InitHooks(&hooks);
    return 0;
}

static int end(void **state) {
    (void)state;
    static const char *const names[] = {"s.img", "s.hdr", "s.img.aux.xml", "o.img"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        unlink(in_folder(names[n]));
    }
    unlink(record);
    unlink(marker);
    free(scene.path);
    cJSON_InitHooks(NULL);
    return rmdir(folder); /* fails where a temporary file was left */
}

/* ---- what a record says ---- */

/* A record, by the function of the program; the caller deletes *json. */
static HcStatus describe(cJSON **json, HcError *err) {
    HcBatchOrigin origin = {0};
    HcJson made;
    hc_json_begin(&made);
    HcStatus status = hc_batch_origin(&origin, &batch, 0, NULL, err);
    origin.chain = &chain;
    if (status == HC_OK) {
        status = hc_batch_describe(&made, &origin, err);
    }
    *json = made.root;
    hc_batch_origin_clear(&origin);
    return status;
}

static char *whole;
static cJSON *attempted;
static HcStatus attempted_status;
static HcError attempted_error;

static void attempt_to_describe(void) {
    attempted_error = (HcError){0};
    attempted_status = describe(&attempted, &attempted_error);
}

static void check_description(void) {
    if (attempted_status == HC_OK) {
        char *text = cJSON_Print(attempted);
        assert_string_equal(text, whole);
        free(text);
    } else {
        check_fails(attempted_status, HC_E_MEMORY, attempted_error);
    }
    cJSON_Delete(attempted);
}

static void test_description_is_whole_or_fails(void **state) {
    (void)state;
    batch.params.hash = true;
    attempt_to_describe();
    assert_int_equal(attempted_status, HC_OK);
    whole = cJSON_Print(attempted);
    cJSON_Delete(attempted);
    without_memory(attempt_to_describe, check_description);
    free(whole);
}

/* An output whose set is open would be missed without its folder. */
static void test_output_is_found_or_fails(void **state) {
    (void)state;
    HcError err = {0};
    char *found = NULL;
    for (long call = 0; call < 2; call++) { /* its folder, its path */
        calls_left = call;
        check_fails(hc_file_find(output, &found, &err), HC_E_MEMORY, err);
        assert_null(found);
        assert_int_equal(calls_left, -1);
    }
}

/* ---- what a marker says ---- */

static void attempt_to_mark(void) {
    HcError unimportant = {0};
    HcBatchOrigin origin;
    unlink(marker);
    (void)!hc_batch_origin(&origin, &batch, 0, NULL, &unimportant);
    hc_batch_mark(&origin, HC_E_INPUT, "it is broken");
    hc_batch_origin_clear(&origin);
}

static char *read_text(const char *path) {
    char *text = calloc(1, 20000);
    FILE *file = fopen(path, "rb");
    assert_non_null(text);
    assert_non_null(file);
    (void)!fread(text, 1, 19999, file);
    fclose(file);
    return text;
}

/* Without a marker the scene is tried again. */
static void check_marker(void) {
    if (access(marker, F_OK) == 0) {
        char *text = read_text(marker);
        assert_string_equal(text, whole);
        free(text);
    }
}

static void test_marker_is_whole_or_absent(void **state) {
    (void)state;
    attempt_to_mark();
    whole = read_text(marker);
    assert_non_null(strstr(whole, "it is broken"));
    without_memory(attempt_to_mark, check_marker);
    free(whole);
}

/* ---- when they apply ---- */

static HcBatchState look(void) {
    HcError err = {0};
    HcBatchState found = HC_BATCH_OPEN;
    char message[100] = "";
    check_ok(hc_batch_look(&batch, 0, &found, message, sizeof message, &err), err);
    assert_string_equal(message, found == HC_BATCH_FAILED_BEFORE ? "it is broken" : "");
    return found;
}

static void save(const cJSON *json, const char *path) {
    char *text = cJSON_Print(json);
    FILE *file = fopen(path, "wb");
    assert_non_null(text);
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    free(text);
}

/* A record with its version, as hc_run writes it. */
static cJSON *make_record(void) {
    HcError err = {0};
    cJSON *json = NULL;
    check_ok(describe(&json, &err), err);
    assert_non_null(cJSON_AddStringToObject(json, "version", hc_version()));
    save(json, record);
    return json;
}

static void replace(cJSON *in, const char *name, cJSON *with) {
    assert_non_null(with);
    assert_non_null(cJSON_GetObjectItemCaseSensitive(in, name));
    cJSON_ReplaceItemInObjectCaseSensitive(in, name, with);
}

static cJSON *item(const cJSON *json, const char *list) {
    cJSON *said = cJSON_GetObjectItemCaseSensitive(json, "batch");
    return cJSON_GetArrayItem(cJSON_GetObjectItemCaseSensitive(said, list), 0);
}

static void add_one(cJSON *to, const char *name) {
    cJSON *number = cJSON_GetObjectItemCaseSensitive(to, name);
    assert_true(cJSON_IsNumber(number));
    cJSON_SetNumberValue(number, number->valuedouble + 1);
}

static void edit_version(cJSON *json) {
    replace(json, "version", cJSON_CreateString("0.0.1"));
}
static void edit_chain(cJSON *json) {
    replace(cJSON_GetObjectItemCaseSensitive(json, "batch"), "chain", cJSON_CreateString("read ! write"));
}
static void edit_size(cJSON *json) {
    add_one(item(json, "inputs"), "bytes");
}
static void edit_time(cJSON *json) {
    replace(item(json, "inputs"), "modified", cJSON_CreateString("1000000000.000000001"));
}
static void edit_path(cJSON *json) {
    replace(item(json, "inputs"), "file", cJSON_CreateString("/nowhere.img"));
}
static void drop_size(cJSON *json) {
    cJSON_DeleteItemFromObjectCaseSensitive(item(json, "inputs"), "bytes");
}
static void drop_input(cJSON *json) {
    cJSON *said = cJSON_GetObjectItemCaseSensitive(json, "batch");
    cJSON_DeleteItemFromArray(cJSON_GetObjectItemCaseSensitive(said, "inputs"), 0);
}
static void drop_inputs(cJSON *json) {
    cJSON_DeleteItemFromObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "batch"), "inputs");
}
static void drop_all(cJSON *json) {
    cJSON_DeleteItemFromObjectCaseSensitive(json, "batch");
}

/* What must be as it is now, in records and markers. */
static void (*const edits[])(cJSON *) = {edit_version, edit_chain, edit_size,   edit_time, edit_path,
                                         drop_size,    drop_input, drop_inputs, drop_all};

static void check_edits(const char *path, HcBatchState as_it_was) {
    for (size_t e = 0; e < sizeof edits / sizeof *edits; e++) {
        char *text = read_text(path);
        cJSON *json = cJSON_Parse(text);
        assert_int_equal(look(), as_it_was);
        edits[e](json);
        save(json, path);
        if (look() != HC_BATCH_OPEN) {
            fail_msg("edit %zu of %s is not seen", e, path);
        }
        cJSON_Delete(json);
        FILE *file = fopen(path, "wb");
        assert_non_null(file);
        assert_true(fputs(text, file) >= 0);
        assert_int_equal(fclose(file), 0);
        free(text);
    }
}

static void test_record_applies_to_its_run_alone(void **state) {
    (void)state;
    cJSON_Delete(make_record());
    check_edits(record, HC_BATCH_COMPLETE);
    cJSON *json = make_record();
    add_one(item(json, "outputs"), "bytes");
    save(json, record);
    assert_int_equal(look(), HC_BATCH_OPEN);
    cJSON_Delete(json);
    json = make_record();
    cJSON *said = cJSON_GetObjectItemCaseSensitive(json, "batch");
    replace(said, "outputs", cJSON_CreateArray());
    save(json, record);
    assert_int_equal(look(), HC_BATCH_OPEN);
    cJSON_Delete(json);
}

static void test_marker_applies_to_its_run_alone(void **state) {
    (void)state;
    attempt_to_mark();
    check_edits(marker, HC_BATCH_FAILED_BEFORE);
    batch.params.retry_failed = true;
    assert_int_equal(look(), HC_BATCH_OPEN);
}

/* An input that changed in size or time alone, or that got a companion. */
static void check_changed_inputs(HcBatchState as_it_was) {
    char data[400];
    snprintf(data, sizeof data, "%s", in_folder("s.img"));
    assert_int_equal(look(), as_it_was);
    put(data, 3 * PIECE + 18);
    set_time(data, 1000000000);
    assert_int_equal(look(), HC_BATCH_OPEN);
    put(data, 3 * PIECE + 17);
    assert_int_equal(look(), HC_BATCH_OPEN);
    set_time(data, 1000000000);
    assert_int_equal(look(), as_it_was);
    put(in_folder("s.img.aux.xml"), 10);
    assert_int_equal(look(), HC_BATCH_OPEN);
    assert_int_equal(unlink(in_folder("s.img.aux.xml")), 0);
    assert_int_equal(rename(data, in_folder("away")), 0);
    assert_int_equal(look(), HC_BATCH_OPEN);
    assert_int_equal(rename(in_folder("away"), data), 0);
    assert_int_equal(look(), as_it_was);
}

static void test_changed_input_is_seen(void **state) {
    (void)state;
    cJSON_Delete(make_record());
    check_changed_inputs(HC_BATCH_COMPLETE);
    unlink(record);
    attempt_to_mark();
    check_changed_inputs(HC_BATCH_FAILED_BEFORE);
}

/* A record that a program has left beside an output of another one. */
static void test_output_of_another_size_is_seen(void **state) {
    (void)state;
    cJSON_Delete(make_record());
    put(output, 51);
    assert_int_equal(look(), HC_BATCH_OPEN);
    put(output, 50);
    assert_int_equal(look(), HC_BATCH_COMPLETE);
    unlink(output);
    assert_int_equal(look(), HC_BATCH_OPEN);
}

/* ---- contents ---- */

/* Puts a byte into the data of the scene, and keeps its time. */
static void poke(long at, int byte) {
    FILE *file = fopen(in_folder("s.img"), "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    assert_int_equal(putc(byte, file), byte);
    assert_int_equal(fclose(file), 0);
    set_time(in_folder("s.img"), 1000000000);
}

static int byte_at(long at) {
    FILE *file = fopen(in_folder("s.img"), "rb");
    assert_non_null(file);
    assert_int_equal(fseek(file, at, SEEK_SET), 0);
    int byte = getc(file);
    fclose(file);
    return byte;
}

static void test_hash_is_that_of_the_whole_file(void **state) {
    (void)state;
    static const long places[] = {0, PIECE - 1, PIECE, 3 * PIECE, 3 * PIECE + 16};
    static unsigned char content[3 * PIECE + 17];
    char expected[20];
    batch.params.hash = true;
    FILE *file = fopen(in_folder("s.img"), "rb");
    assert_non_null(file);
    assert_int_equal(fread(content, 1, sizeof content, file), sizeof content);
    fclose(file);
    snprintf(expected, sizeof expected, "%016llx", (unsigned long long)XXH64(content, sizeof content, 0));
    cJSON *json = make_record();
    bool found = false;
    const cJSON *input = NULL;
    cJSON_ArrayForEach(
        input, cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(json, "batch"), "inputs")) {
        found = found || strcmp(cJSON_GetObjectItemCaseSensitive(input, "xxh64")->valuestring, expected) == 0;
    }
    assert_true(found);
    cJSON_Delete(json);
    for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
        int byte = byte_at(places[p]);
        assert_int_equal(look(), HC_BATCH_COMPLETE);
        poke(places[p], byte ^ 1);
        assert_int_equal(look(), HC_BATCH_OPEN);
        poke(places[p], byte);
    }
    set_time(in_folder("s.img"), 1000000001);
    assert_int_equal(look(), HC_BATCH_COMPLETE);
    batch.params.hash = false;
    assert_int_equal(look(), HC_BATCH_OPEN);
}

static void test_hash_needs_one_to_compare_with(void **state) {
    (void)state;
    cJSON_Delete(make_record());
    assert_int_equal(look(), HC_BATCH_COMPLETE);
    batch.params.hash = true;
    assert_int_equal(look(), HC_BATCH_OPEN);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_description_is_whole_or_fails, begin, end),
        cmocka_unit_test_setup_teardown(test_output_is_found_or_fails, begin, end),
        cmocka_unit_test_setup_teardown(test_marker_is_whole_or_absent, begin, end),
        cmocka_unit_test_setup_teardown(test_record_applies_to_its_run_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_marker_applies_to_its_run_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_changed_input_is_seen, begin, end),
        cmocka_unit_test_setup_teardown(test_output_of_another_size_is_seen, begin, end),
        cmocka_unit_test_setup_teardown(test_hash_is_that_of_the_whole_file, begin, end),
        cmocka_unit_test_setup_teardown(test_hash_needs_one_to_compare_with, begin, end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
