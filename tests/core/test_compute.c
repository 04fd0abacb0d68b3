/* Tables of operations: which are refused, and what the doors do by themselves. */
#include "core/operation/table.h"

#include "tests/support/check.h"

static HcComputeOps ops;
static HcCompute opened;
static HcHead queue;
static int closed;

static void nothing(void) {
    fail_msg("an operation was called that the door should have refused");
}

static HcStatus open_test(HcCompute **out, const HcComputeConfig *config, HcError *err) {
    (void)config;
    (void)err;
    opened = (HcCompute){0};
    *out = &opened;
    return HC_OK;
}

static HcStatus open_queue(HcCompute *compute, HcQueue **out, HcError *err) {
    (void)compute;
    (void)err;
    *out = (HcQueue *)&queue;
    return HC_OK;
}

static void close_queue(HcQueue *which) {
    assert_ptr_equal(which, &queue);
    closed++;
}

/* A table without an empty entry. */
static void fill(void) {
#define FILL(name, Function) ops.name = (Function *)nothing;
    ops = (HcComputeOps){.abi = HC_COMPUTE_ABI, .name = "test"};
    HC_BASICS(FILL)
    HC_OPERATIONS(FILL)
    ops.open = open_test;
    ops.queue_open = open_queue;
    ops.queue_close = close_queue;
}

static HcStatus open_ops(HcError *err) {
    HcCompute *compute = &opened;
    HcComputeConfig config = {.threads = 1};
    HcStatus status = hc_compute_open(&ops, &config, &compute, err);
    assert_true((compute == &opened) == (status == HC_OK));
    return status;
}

static void empty_entries(void **state) {
    (void)state;
    int count = 0;
    HcError err = {0};
    fill();
    check_ok(open_ops(&err), err);
    assert_ptr_equal(opened.ops, &ops);
#define EMPTY(entry, Function)                                                                               \
    fill();                                                                                                  \
    ops.entry = NULL;                                                                                        \
    assert_int_equal(open_ops(&err), HC_E_DEVICE);                                                           \
    assert_string_equal(err.text, "test: this backend has no operation " #entry);                            \
    err = (HcError){0};                                                                                      \
    count++;
    HC_BASICS(EMPTY)
    HC_OPERATIONS(EMPTY)
    assert_true(count > 40);
}

static void other_versions(void **state) {
    (void)state;
    HcError err = {0};
    fill();
    ops.abi++;
    assert_int_equal(open_ops(&err), HC_E_DEVICE);
    assert_non_null(strstr(err.text, "test: "));
}

/* Handles get their backend from the door, and close without it. */
static void handles(void **state) {
    (void)state;
    HcError err = {0};
    HcQueue *out = NULL;
    fill();
    check_ok(open_ops(&err), err);
    check_ok(hc_queue_open(&opened, &out, &err), err);
    assert_ptr_equal(queue.compute, &opened);
    hc_queue_close(NULL);
    assert_int_equal(closed, 0);
    hc_queue_close(out);
    assert_int_equal(closed, 1);
    assert_int_equal(hc_queue_open(NULL, &out, &err), HC_E_USAGE);
}

/* Nothing happens for 0 bytes, and nothing without memory. */
static void copies(void **state) {
    (void)state;
    HcError err = {0};
    HcQueue *out = NULL;
    char memory[4];
    fill();
    check_ok(open_ops(&err), err);
    check_ok(hc_queue_open(&opened, &out, &err), err);
    check_ok(hc_upload(out, NULL, NULL, 0, &err), err);
    check_ok(hc_download(out, NULL, NULL, 0, &err), err);
    check_ok(hc_zero(out, NULL, 0, &err), err);
    check_fails(hc_upload(out, NULL, memory, 4, &err), HC_E_USAGE, err);
    check_fails(hc_upload(out, memory, NULL, 4, &err), HC_E_USAGE, err);
    check_fails(hc_download(NULL, memory, memory, 4, &err), HC_E_USAGE, err);
    check_fails(hc_zero(out, NULL, 4, &err), HC_E_USAGE, err);
    check_fails(hc_wait(NULL, &err), HC_E_USAGE, err);
    check_fails(hc_follow(out, NULL, &err), HC_E_USAGE, err);
    check_fails(hc_follow(NULL, out, &err), HC_E_USAGE, err);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(empty_entries),
        cmocka_unit_test(other_versions),
        cmocka_unit_test(handles),
        cmocka_unit_test(copies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
