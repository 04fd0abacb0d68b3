/* Ranks that the first one forks: what all call, in sizes around that of a buffer; failures, and ranks that
 * are killed. A body runs on all ranks and returns the line where it failed, 0 = none. */
#include "ranks/transport.h"
#include "tests/support/check.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 1 << 20 };

typedef int Body(HcRanks *ranks);

#define EXPECT(condition)                                                                                    \
    do {                                                                                                     \
        if (!(condition)) {                                                                                  \
            return __LINE__;                                                                                 \
        }                                                                                                    \
    } while (0)

/* Runs the body on the given number of ranks. The others end with 1 where it fails there, and say where.
 * Returns what the end of all came to; *line is that of the first rank. */
static HcStatus on_ranks(int32_t count, Body *body, int *line, HcError *err) {
    HcRanks *ranks = NULL;
    check_ok(hc_ranks_start(&ranks, count, err), *err);
    assert_int_equal(hc_ranks_count(ranks), count);
    assert_int_equal(hc_ranks_local_count(ranks), count);
    assert_int_equal(hc_ranks_local_number(ranks), hc_ranks_number(ranks));
    *line = body(ranks);
    if (hc_ranks_number(ranks) > 0) {
        if (*line > 0) {
            print_error("rank %d of %d failed at line %d\n", hc_ranks_number(ranks), count, *line);
        }
        if (hc_ranks_close(ranks, err) != HC_OK) {
            *line = __LINE__;
        }
        _exit(*line > 0);
    }
    return hc_ranks_close(ranks, err);
}

static void check_on_ranks(int32_t count, Body *body) {
    HcError err = {0};
    int line = 0;
    check_ok(on_ranks(count, body, &line, &err), err);
    assert_int_equal(line, 0);
}

static void check_on_all(Body *body) {
    static const int32_t counts[] = {2, 3, 7};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        check_on_ranks(counts[c], body);
    }
}

/* ---- numbers ---- */

/* Bytes below, at and above a buffer, and none. */
static const size_t sizes[] = {0, 16, 48, BUFFER - 16, BUFFER, BUFFER + 16, 2 * BUFFER, 2 * BUFFER + 48};
enum { SIZES = sizeof sizes / sizeof *sizes };

static int64_t value_of(int32_t rank, size_t i) {
    return (rank + 1) * ((int64_t)(i * 2654435761U % 1000003) - 500000);
}

static int sum_and_largest(HcRanks *ranks) {
    HcError err = {0};
    int32_t count = hc_ranks_count(ranks);
    for (size_t s = 0; s < SIZES; s++) {
        size_t elements = sizes[s] / sizeof(int64_t);
        int64_t *sum = malloc(sizes[s] + 1);
        int64_t *largest = malloc(sizes[s] + 1);
        EXPECT(sum != NULL && largest != NULL);
        for (size_t i = 0; i < elements; i++) {
            sum[i] = largest[i] = value_of(hc_ranks_number(ranks), i);
        }
        EXPECT(hc_ranks_sum(ranks, sum, elements, &err) == HC_OK);
        EXPECT(hc_ranks_largest(ranks, largest, elements, &err) == HC_OK);
        for (size_t i = 0; i < elements; i++) {
            int64_t one = value_of(0, i);
            EXPECT(sum[i] == one * count * (count + 1) / 2);
            EXPECT(largest[i] == (one > 0 ? one * count : one));
        }
        free(largest);
        free(sum);
    }
    return 0;
}

static int sum_wide(HcRanks *ranks) {
    HcError err = {0};
    int32_t count = hc_ranks_count(ranks);
    for (size_t s = 0; s < SIZES; s++) {
        size_t elements = sizes[s] / sizeof(HcWide);
        HcWide *sum = malloc(sizes[s] + 1);
        EXPECT(sum != NULL);
        for (size_t i = 0; i < elements; i++) {
            sum[i] = (HcWide)value_of(hc_ranks_number(ranks), i) * ((HcWide)1 << 90);
        }
        EXPECT(hc_ranks_sum_wide(ranks, sum, elements, &err) == HC_OK);
        for (size_t i = 0; i < elements; i++) {
            EXPECT(sum[i] == (HcWide)(value_of(0, i) * count * (count + 1) / 2) * ((HcWide)1 << 90));
        }
        free(sum);
    }
    return 0;
}

/* Bytes, of an odd number and from an odd place: each rank fills every count-th one. */
static int join_and_share(HcRanks *ranks) {
    HcError err = {0};
    size_t count = (size_t)hc_ranks_count(ranks);
    size_t number = (size_t)hc_ranks_number(ranks);
    for (size_t s = 0; s < SIZES; s++) {
        size_t bytes = sizes[s] + s % 2;
        uint8_t *memory = calloc(1, bytes + 1);
        EXPECT(memory != NULL);
        uint8_t *data = memory + 1;
        for (size_t i = number; i < bytes; i += count) {
            data[i] = (uint8_t)(i % 251 + 1);
        }
        EXPECT(hc_ranks_join(ranks, data, bytes, &err) == HC_OK);
        for (size_t i = 0; i < bytes; i++) {
            EXPECT(data[i] == i % 251 + 1);
            data[i] = (uint8_t)(number == 0 ? i % 241 : 7);
        }
        EXPECT(hc_ranks_share(ranks, data, bytes, &err) == HC_OK);
        for (size_t i = 0; i < bytes; i++) {
            EXPECT(data[i] == i % 241);
        }
        free(memory);
    }
    return 0;
}

static size_t fold_bytes;

/* Appends the number of the rank to what each byte stands for, which depends on the order. */
static void append(void *state, void *user) {
    uint8_t *data = state;
    for (size_t i = 0; i < fold_bytes; i++) {
        data[i] = (uint8_t)(data[i] * 3 + hc_ranks_number(user));
    }
}

static int fold(HcRanks *ranks) {
    HcError err = {0};
    for (size_t s = 0; s < SIZES; s++) {
        fold_bytes = sizes[s];
        uint8_t *data = malloc(fold_bytes + 1);
        EXPECT(data != NULL);
        for (size_t i = 0; i < fold_bytes; i++) {
            data[i] = (uint8_t)(hc_ranks_number(ranks) == 0 ? i / 1000 : 77);
        }
        EXPECT(hc_ranks_fold(ranks, data, fold_bytes, append, ranks, &err) == HC_OK);
        for (size_t i = 0; i < fold_bytes; i++) {
            uint8_t expected = (uint8_t)(i / 1000);
            for (int32_t r = 1; r < hc_ranks_count(ranks); r++) {
                expected = (uint8_t)(expected * 3 + r);
            }
            EXPECT(data[i] == expected);
        }
        free(data);
    }
    return 0;
}

/* Calls of all kinds behind each other, without a pause in which a fast rank could be caught up with. */
static int mixed(HcRanks *ranks) {
    HcError err = {0};
    int32_t count = hc_ranks_count(ranks);
    for (int64_t round = 0; round < 300; round++) {
        int64_t sum = hc_ranks_number(ranks) + round;
        int64_t first = hc_ranks_number(ranks) == 0 ? round : -1;
        int64_t last = round;
        fold_bytes = sizeof last;
        EXPECT(hc_ranks_share(ranks, &first, sizeof first, &err) == HC_OK && first == round);
        EXPECT(hc_ranks_sum(ranks, &sum, 1, &err) == HC_OK);
        EXPECT(sum == count * round + (int64_t)count * (count - 1) / 2);
        EXPECT(hc_ranks_fold(ranks, &last, sizeof last, append, ranks, &err) == HC_OK);
        EXPECT(hc_ranks_share(ranks, &last, sizeof last, &err) == HC_OK);
        EXPECT(!hc_ranks_broken(ranks));
        EXPECT(hc_ranks_agree(ranks, HC_OK, &err) == HC_OK);
    }
    return 0;
}

/* A fast rank may write the number of the next call while a slow one still reads those of the last. */
static int gather(HcRanks *ranks) {
    HcError err = {0};
    int32_t all[HC_RANKS_MAX];
    for (int32_t round = 0; round < 5000; round++) {
        EXPECT(ranks->transport->gather(100 * round + hc_ranks_number(ranks), all, &err) == HC_OK);
        for (int32_t r = 0; r < hc_ranks_count(ranks); r++) {
            EXPECT(all[r] == 100 * round + r);
        }
    }
    return 0;
}

static void numbers_of_all_sizes(void **state) {
    (void)state;
    check_on_all(sum_and_largest);
    check_on_all(sum_wide);
    check_on_all(join_and_share);
    check_on_all(fold);
    check_on_all(gather);
    check_on_ranks(3, mixed);
    check_on_ranks(8, mixed);
}

/* ---- who is who ---- */

static int speaks(HcRanks *ranks) {
    HcError err = {0};
    int64_t speaking = hc_ranks_speaks();
    EXPECT(hc_ranks_forked(ranks));
    EXPECT(hc_ranks_speaks() == (hc_ranks_number(ranks) == 0));
    EXPECT(hc_ranks_sum(ranks, &speaking, 1, &err) == HC_OK && speaking == 1);
    return 0;
}

static void first_rank_speaks(void **state) {
    (void)state;
    check_on_ranks(HC_RANKS_MAX, speaks);
    assert_true(hc_ranks_speaks());
}

/* ---- failures ---- */

/* The last two ranks fail; the first of them is told. All hear of it without being asked. */
static int one_fails(HcRanks *ranks) {
    HcError err = {0};
    int64_t value = 1;
    int32_t count = hc_ranks_count(ranks);
    if (hc_ranks_number(ranks) >= count - 2) {
        HcStatus own = hc_fail(&err, HC_E_DEVICE, "the device of %d", hc_ranks_number(ranks));
        EXPECT(hc_ranks_agree(ranks, own, &err) == HC_E_DEVICE);
        EXPECT(strncmp(err.text, "the device of ", 14) == 0);
    } else {
        while (!hc_ranks_broken(ranks)) {
            usleep(100);
        }
        EXPECT(hc_ranks_sum(ranks, &value, 1, &err) == HC_E_DEVICE);
        char text[64];
        snprintf(text, sizeof text, "rank %d of %d: the device of %d", count - 2, count, count - 2);
        EXPECT(strcmp(err.text, text) == 0 && value == 1);
    }
    /* From now on nobody waits for anybody. */
    HcError later = {0};
    EXPECT(hc_ranks_broken(ranks));
    if (hc_ranks_number(ranks) == 1) {
        EXPECT(hc_ranks_agree(ranks, HC_OK, &later) == HC_E_CANCELLED);
        EXPECT(hc_ranks_join(ranks, &value, sizeof value, &later) == HC_E_CANCELLED);
    }
    return 0;
}

static void failure_of_one_is_that_of_all(void **state) {
    (void)state;
    check_on_ranks(3, one_fails);
    check_on_ranks(6, one_fails);
}

/* ---- ranks that end ---- */

static int32_t dying;
static int death; /* a signal; below 0 an exit code */

/* One rank ends where the others are in each of the calls; from the hundredth round on. */
static int one_ends(HcRanks *ranks) {
    HcError err = {0};
    static int64_t data[3 * BUFFER / sizeof(int64_t)];
    HcStatus status = HC_OK;
    for (int32_t round = 0; status == HC_OK; round++) {
        if (hc_ranks_number(ranks) == dying && round == 100) {
            if (death < 0) {
                _exit(-death);
            }
            raise(death);
        }
        memset(data, 0, sizeof data);
        switch (round % 4) {
        case 0:
            status = hc_ranks_agree(ranks, HC_OK, &err);
            break;
        case 1:
            status = hc_ranks_sum(ranks, data, sizeof data / sizeof *data, &err);
            break;
        case 2:
            fold_bytes = 8;
            status = hc_ranks_fold(ranks, data, sizeof data, append, ranks, &err);
            break;
        default:
            status = hc_ranks_share(ranks, data, sizeof data, &err);
        }
    }
    EXPECT(hc_ranks_broken(ranks));
    char text[96];
    snprintf(text, sizeof text,
             death < 0 ? "rank %d of %d ended with exit code %d" : "rank %d of %d was ended by signal %d",
             dying, hc_ranks_count(ranks), abs(death));
    EXPECT(strncmp(err.text, text, strlen(text)) == 0);
    EXPECT(status == (death == -HC_E_MEMORY ? HC_E_MEMORY : HC_E_IO));
    EXPECT(hc_ranks_agree(ranks, HC_OK, &err) == HC_E_CANCELLED);
    return 0;
}

static void end_of_one_is_a_failure_of_all(void **state) {
    (void)state;
    static const int ways[] = {SIGKILL, SIGTERM, -HC_E_MEMORY, -1};
    for (int32_t count = 2; count < 6; count++) {
        dying = count > 3 ? count - 2 : count - 1;
        death = ways[count - 2];
        check_on_ranks(count, one_ends);
    }
}

/* In the middle of a message and of a reduction: not where all agree. */
static void die(void *state, void *user) {
    (void)state;
    if (hc_ranks_number(user) == dying) {
        raise(SIGKILL);
    }
}

static int ends_in_fold(HcRanks *ranks) {
    HcError err = {0};
    static char data[3 * BUFFER];
    EXPECT(hc_ranks_fold(ranks, data, sizeof data, die, ranks, &err) == HC_E_IO);
    EXPECT(strstr(err.text, "signal 9") != NULL && hc_ranks_broken(ranks));
    return 0;
}

static void end_within_a_call(void **state) {
    (void)state;
    dying = 2;
    check_on_ranks(4, ends_in_fold);
}

/* Ranks that compute hear of a failure, too. */
static int others_compute(HcRanks *ranks) {
    HcError err = {0};
    EXPECT(hc_ranks_agree(ranks, HC_OK, &err) == HC_OK);
    if (hc_ranks_number(ranks) == 1) {
        raise(SIGKILL);
    }
    while (!hc_ranks_broken(ranks)) {
        usleep(100);
    }
    EXPECT(hc_ranks_agree(ranks, HC_OK, &err) == HC_E_IO);
    return 0;
}

static void end_is_told_to_ranks_that_compute(void **state) {
    (void)state;
    check_on_ranks(3, others_compute);
}

/* Once all had agreed: the end tells. */
static int ends_late(HcRanks *ranks) {
    HcError err = {0};
    EXPECT(hc_ranks_agree(ranks, HC_OK, &err) == HC_OK);
    if (hc_ranks_number(ranks) == 1) {
        _exit(3);
    }
    return 0;
}

static void end_behind_the_last_agreement(void **state) {
    (void)state;
    HcError err = {0};
    int line = 0;
    assert_int_equal(on_ranks(3, ends_late, &line, &err), HC_E_IO);
    assert_string_equal(err.text, "rank 1 of 3 ended with exit code 3 before the others");
    assert_int_equal(line, 0);
}

/* The first rank is killed: the others end, although nobody waits for them. A pipe tells when none has it. */
static int first_is_killed(HcRanks *ranks) {
    HcError err = {0};
    EXPECT(hc_ranks_agree(ranks, HC_OK, &err) == HC_OK);
    if (hc_ranks_number(ranks) == 0) {
        raise(SIGKILL);
    }
    EXPECT(hc_ranks_agree(ranks, HC_OK, &err) == HC_E_IO);
    EXPECT(strcmp(err.text, "rank 0 of 3 has ended") == 0);
    return 0;
}

static void end_of_the_first(void **state) {
    (void)state;
    int ends[2];
    char byte[8] = {0};
    assert_int_equal(pipe(ends), 0);
    pid_t process = fork();
    if (process == 0) {
        HcError err = {0};
        HcRanks *ranks = NULL;
        if (hc_ranks_start(&ranks, 3, &err) != HC_OK) {
            _exit(1);
        }
        int line = first_is_killed(ranks);
        (void)!write(ends[1], line == 0 ? "+" : "-", 1);
        _exit(0);
    }
    close(ends[1]);
    size_t got = 0;
    for (ssize_t more = 1; more > 0 && got < sizeof byte - 1; got += (size_t)more) {
        more = read(ends[0], byte + got, sizeof byte - 1 - got);
    }
    close(ends[0]);
    assert_string_equal(byte, "++");
}

/* ---- starting ---- */

static int forks_left = -1; /* below 0 = any number */

pid_t __real_fork(void);
pid_t __wrap_fork(void);

pid_t __wrap_fork(void) {
    if (forks_left == 0) {
        errno = EAGAIN;
        return -1;
    }
    forks_left -= forks_left > 0;
    return __real_fork();
}

/* The system gives no further process: those that have begun end, and so does the run. */
static void too_few_processes(void **state) {
    (void)state;
    for (int given = 0; given < 3; given++) {
        HcError err = {0};
        HcRanks *ranks = NULL;
        forks_left = given;
        HcStatus status = hc_ranks_start(&ranks, 4, &err);
        forks_left = -1;
        assert_non_null(ranks);
        if (hc_ranks_number(ranks) > 0) { /* the failure finds it in its first call */
            bool failed = status == HC_OK && hc_ranks_agree(ranks, HC_OK, &err) == HC_E_MEMORY;
            _exit(!failed);
        }
        char text[128];
        snprintf(text, sizeof text, "rank %d of 4 could not be started: %s", given + 1, strerror(EAGAIN));
        assert_int_equal(status, HC_E_MEMORY);
        assert_string_equal(err.text, text);
        assert_int_equal(hc_ranks_agree(ranks, status, &err), HC_E_MEMORY);
        check_ok(hc_ranks_close(ranks, &err), err);
    }
}

/* A caller that ignores the ends of its children leaves that to the programs that it starts. */
static void children_that_are_ignored(void **state) {
    (void)state;
    signal(SIGCHLD, SIG_IGN);
    dying = 1;
    death = SIGKILL;
    check_on_ranks(2, one_ends);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_of_all_sizes),
        cmocka_unit_test(first_rank_speaks),
        cmocka_unit_test(failure_of_one_is_that_of_all),
        cmocka_unit_test(end_of_one_is_a_failure_of_all),
        cmocka_unit_test(end_within_a_call),
        cmocka_unit_test(end_is_told_to_ranks_that_compute),
        cmocka_unit_test(end_behind_the_last_agreement),
        cmocka_unit_test(end_of_the_first),
        cmocka_unit_test(too_few_processes),
        cmocka_unit_test(children_that_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
