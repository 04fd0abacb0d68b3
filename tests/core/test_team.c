/* A team: every item is done once, whatever the numbers of items and threads, call after call, also where
 * calls run at the same time or inside of each other. */
#include "core/system/team.h"
#include "tests/support/check.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

enum { ITEMS = 100 };

static atomic_int done[ITEMS];

static void count(void *user, int64_t item, int32_t thread) {
    (void)thread;
    const atomic_int *most = user;
    if (item >= atomic_load(most)) {
        fail_msg("item %d of %d", (int)item, atomic_load(most));
    }
    atomic_fetch_add(&done[item], 1);
}

static void run_and_check(HcTeam *team, int items) {
    atomic_int most = items;
    hc_team_run(team, items, count, &most);
    for (int i = 0; i < ITEMS; i++) {
        assert_int_equal(atomic_exchange(&done[i], 0), i < items);
    }
}

static void all_items_once(void **state) {
    (void)state;
    for (int32_t threads = 0; threads <= 40; threads += 8) {
        HcTeam *team = hc_team_open(threads);
        assert_int_equal(team == NULL, threads < 2);
        for (int call = 0; call < 300; call++) {
            run_and_check(team, call % ITEMS);
        }
        hc_team_close(team);
    }
}

/* Threads that went to sleep between the calls; and those that have no call at all. */
static void after_a_while(void **state) {
    (void)state;
    HcTeam *team = hc_team_open(4);
    for (int call = 0; call < 5; call++) {
        struct timespec shortly = {.tv_nsec = 5000000};
        nanosleep(&shortly, NULL);
        run_and_check(team, 3 + call);
    }
    hc_team_close(team);
    hc_team_close(hc_team_open(16));
    hc_team_close(NULL);
}

/* ---- calls at the same time, and inside of each other ---- */

typedef struct Table {
    HcTeam *team;
    atomic_int entry[ITEMS][ITEMS];
} Table;

typedef struct Row {
    Table *table;
    int64_t row;
} Row;

static void count_entry(void *user, int64_t item, int32_t thread) {
    (void)thread;
    const Row *row = user;
    atomic_fetch_add(&row->table->entry[row->row][item], 1);
}

static void count_row(void *user, int64_t item, int32_t thread) {
    (void)thread;
    Row row = {.table = user, .row = item};
    hc_team_run(row.table->team, ITEMS, count_entry, &row);
}

static void check_table(Table *table, int times) {
    for (int r = 0; r < ITEMS; r++) {
        for (int c = 0; c < ITEMS; c++) {
            assert_int_equal(atomic_exchange(&table->entry[r][c], 0), times);
        }
    }
}

static void calls_inside_calls(void **state) {
    (void)state;
    static Table table;
    table.team = hc_team_open(6);
    hc_team_run(table.team, ITEMS, count_row, &table);
    check_table(&table, 1);
    hc_team_close(table.team);
}

enum { CALLERS = 5, CALLS = 40 };

static void *call_often(void *user) {
    Table *table = user;
    for (int call = 0; call < CALLS; call++) {
        hc_team_run(table->team, ITEMS, count_row, table);
    }
    return NULL;
}

static void callers_at_the_same_time(void **state) {
    (void)state;
    static Table table;
    pthread_t caller[CALLERS];
    table.team = hc_team_open(4);
    for (int c = 0; c < CALLERS; c++) {
        assert_int_equal(pthread_create(&caller[c], NULL, call_often, &table), 0);
    }
    for (int c = 0; c < CALLERS; c++) {
        pthread_join(caller[c], NULL);
    }
    check_table(&table, CALLERS * CALLS);
    hc_team_close(table.team);
}

/* ---- numbers of threads ---- */

typedef struct Numbers {
    HcTeam *team;
    atomic_int inside[8]; /* threads that do an item under this number */
    atomic_int waited;
} Numbers;

/* A number is that of one thread at a time, and within the limit. Items wait for a second thread, within
 * reason, so that others get some. */
static void use_number(void *user, int64_t item, int32_t thread) {
    Numbers *numbers = user;
    if (thread < 0 || thread >= hc_team_threads(numbers->team)) {
        fail_msg("item %d on thread %d of %d", (int)item, thread, hc_team_threads(numbers->team));
    }
    if (atomic_fetch_add(&numbers->inside[thread], 1) != 0) {
        fail_msg("two threads have the number %d", thread);
    }
    if (atomic_fetch_add(&numbers->waited, 1) < 200) {
        sched_yield();
    }
    atomic_fetch_sub(&numbers->inside[thread], 1);
}

static void *number_calls(void *user) {
    Numbers numbers = {.team = user};
    for (int call = 0; call < CALLS; call++) {
        hc_team_run(numbers.team, ITEMS, use_number, &numbers);
    }
    return NULL;
}

/* In each call for itself, of several at the same time. */
static void numbers_of_threads(void **state) {
    (void)state;
    pthread_t caller[CALLERS];
    HcTeam *team = hc_team_open(4);
    assert_int_equal(hc_team_threads(NULL), 1);
    assert_int_equal(hc_team_threads(team), 4);
    for (int c = 0; c < CALLERS; c++) {
        assert_int_equal(pthread_create(&caller[c], NULL, number_calls, team), 0);
    }
    for (int c = 0; c < CALLERS; c++) {
        pthread_join(caller[c], NULL);
    }
    hc_team_close(team);
}

/* Those above the limit take no item, also where the others have more than they can do at once. */
static void fewer_threads(void **state) {
    (void)state;
    HcTeam *team = hc_team_open(8);
    hc_team_limit(team, 9);
    assert_int_equal(hc_team_threads(team), 8);
    const int32_t limits[] = {5, 2, 6, 1};
    const int32_t kept[] = {5, 2, 2, 1};
    for (int i = 0; i < 4; i++) {
        hc_team_limit(team, limits[i]);
        assert_int_equal(hc_team_threads(team), kept[i]);
        for (int call = 0; call < 300; call++) {
            run_and_check(team, call % ITEMS);
        }
        number_calls(team);
    }
    hc_team_close(team);
    hc_team_limit(NULL, 2);
}

static void counts(void **state) {
    (void)state;
    assert_true(hc_team_count(0, 1000) >= 1);
    assert_int_equal(hc_team_count(0, 1), 1);
    assert_int_equal(hc_team_count(-3, 8), hc_team_count(0, 8));
    assert_int_equal(hc_team_count(5, 2), 5);
    assert_int_equal(hc_team_count(256, 16), 256);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_items_once),
        cmocka_unit_test(after_a_while),
        cmocka_unit_test(calls_inside_calls),
        cmocka_unit_test(callers_at_the_same_time),
        cmocka_unit_test(numbers_of_threads),
        cmocka_unit_test(fewer_threads),
        cmocka_unit_test(counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
