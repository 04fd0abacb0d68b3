/* The state that fail_at.c keeps in the file HCUBE_FAIL_STATE, which lives longer than the program and is
 * shared by the processes that it forks. tests/audit/faults.py reads it by these offsets. */
#ifndef HC_TESTS_SUPPORT_FAIL_AT_H
#define HC_TESTS_SUPPORT_FAIL_AT_H

#include <stdatomic.h>
#include <stdint.h>

typedef enum FailGroup {
    FAIL_ALLOC,
    FAIL_READ,
    FAIL_WRITE,
    FAIL_FSYNC,
    FAIL_CLOSE,
    FAIL_RENAME,
    FAIL_LINK,
    FAIL_OPEN,
    FAIL_MMAP,
    FAIL_THREAD,
    FAIL_MKDIR,
    FAIL_FORK,
    FAIL_STAT,
    FAIL_DEVICE, /* operations of the stand-in of a GPU */
    FAIL_GROUPS
} FailGroup;

enum { FAIL_MAX_SITES = 32768, FAIL_MAX_FRAMES = 24 };

/* One frame of the call that failed: a place in an object file. */
typedef struct FailFrame {
    uint64_t offset;
    char object[120];
} FailFrame;

typedef struct FailState {
    _Atomic int64_t calls[FAIL_GROUPS]; /* within the scope, since main began */
    _Atomic int64_t failed;
    _Atomic int64_t
        after; /* calls of any group and scope since the first that failed; all of a run that only counts */
    int64_t frames;
    FailFrame frame[FAIL_MAX_FRAMES];
    /* With HCUBE_FAIL_AT=0: a hash of the stack of each call. */
    uint64_t site[FAIL_GROUPS][FAIL_MAX_SITES];
} FailState;

#endif
