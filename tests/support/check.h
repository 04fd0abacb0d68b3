/* Assertions that fail on NaN (cmocka's own may not), and one for statuses. */
#ifndef HC_TESTS_SUPPORT_CHECK_H
#define HC_TESTS_SUPPORT_CHECK_H

#include "core/status.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* |actual - expected| <= tolerance; false when any of them is NaN. */
#define check_near(actual, expected, tolerance)                                                              \
    do {                                                                                                     \
        double check_a = (double)(actual);                                                                   \
        double check_e = (double)(expected);                                                                 \
        double check_t = (double)(tolerance);                                                                \
        if (!(fabs(check_a - check_e) <= check_t)) {                                                         \
            fail_msg("%s = %.17g, expected %.17g within %.3g", #actual, check_a, check_e, check_t);          \
        }                                                                                                    \
    } while (0)

/* The same double to the last bit (so that 0 and -0 differ). */
#define check_same(actual, expected)                                                                         \
    do {                                                                                                     \
        double check_a = (double)(actual);                                                                   \
        double check_e = (double)(expected);                                                                 \
        if (memcmp(&check_a, &check_e, sizeof check_a) != 0) {                                               \
            fail_msg("%s = %.17g, expected exactly %.17g", #actual, check_a, check_e);                       \
        }                                                                                                    \
    } while (0)

/* The call succeeds; `err` is an HcError that it was given. */
#define check_ok(call, err)                                                                                  \
    do {                                                                                                     \
        HcStatus check_status = (call);                                                                      \
        if (check_status != HC_OK) {                                                                         \
            fail_msg("%s: status %d, \"%s\"", #call, (int)check_status, (err).text);                         \
        }                                                                                                    \
    } while (0)

/* The call fails with that status and says why in one line; `err` is cleared for the next one. */
#define check_fails(call, expected, err)                                                                     \
    do {                                                                                                     \
        HcStatus check_status = (call);                                                                      \
        if (check_status != (expected) || (err).text[0] == '\0') {                                           \
            fail_msg("%s: status %d instead of %d, \"%s\"", #call, (int)check_status, (int)(expected),       \
                     (err).text);                                                                            \
        }                                                                                                    \
        (err) = (HcError){0};                                                                                \
    } while (0)

#endif
