/* Workers: every item is done once, whatever the numbers of items and threads, call after call. */
#include "io/workers.h"
#include "tests/support/check.h"

#include <stdatomic.h>
#include <time.h>

enum { ITEMS = 100 };

static atomic_int done[ITEMS];

static void count(void *user, int64_t item) {
    const atomic_int *most = user;
    if (item >= atomic_load(most)) {
        fail_msg("item %d of %d", (int)item, atomic_load(most));
    }
    atomic_fetch_add(&done[item], 1);
}

static void run_and_check(HcWorkers *workers, int items) {
    atomic_int most = items;
    hc_workers_run(workers, items, count, &most);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(atomic_exchange(&done[i], 0), i < items);
    }
}

static void all_items_once(void **state) {
    (void)state;
    for (int32_t threads = 0; threads <= 20; threads += 4) {
        HcWorkers *workers = hc_workers_open(threads);
        assert_int_equal(workers == NULL, threads < 2);
        for (int call = 0; call < 300; call++) {
            run_and_check(workers, call % ITEMS);
        }
        hc_workers_close(workers);
    }
}

/* Threads that went to sleep between the calls; and those that have no call at all. */
static void after_a_while(void **state) {
    (void)state;
    HcWorkers *workers = hc_workers_open(4);
    for (int call = 0; call < 5; call++) {
        struct timespec shortly = {.tv_nsec = 5000000};
        nanosleep(&shortly, NULL);
        run_and_check(workers, 3 + call);
    }
    hc_workers_close(workers);
    hc_workers_close(hc_workers_open(16));
    hc_workers_close(NULL);
}

static void counts(void **state) {
    (void)state;
    assert_true(hc_workers_count(0) >= 1 && hc_workers_count(0) <= HC_WORKERS_MAX);
    assert_int_equal(hc_workers_count(-3), hc_workers_count(0));
    assert_int_equal(hc_workers_count(5), 5);
    assert_int_equal(hc_workers_count(256), HC_WORKERS_MAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_items_once),
        cmocka_unit_test(after_a_while),
        cmocka_unit_test(counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
