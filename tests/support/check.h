/* Assertions that fail on NaN (cmocka's own may not), and those for statuses and for the words of a message.
 */
#ifndef HC_TESTS_SUPPORT_CHECK_H
#define HC_TESTS_SUPPORT_CHECK_H

#include "core/status.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
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

/* "four.csv ... line 3 ... 'red'": the text holds these key words in that order, whatever stands between
   them. So a test fails without the file, the place or the value, and a sentence may still be written better.
 */
static inline bool check_holds(const char *text, const char *words) {
    static const char gap[] = " ... ";
    for (const char *end; (end = strstr(words, gap)) != NULL; words = end + sizeof gap - 1) {
        text = memmem(text, strlen(text), words, (size_t)(end - words));
        if (text == NULL) {
            return false;
        }
        text += end - words;
    }
    return strstr(text, words) != NULL;
}

#define check_says(text, words)                                                                              \
    do {                                                                                                     \
        const char *check_text = (text);                                                                     \
        if (!check_holds(check_text, (words))) {                                                             \
            fail_msg("\"%s\" (wanted: \"%s\")", check_text, (words));                                        \
        }                                                                                                    \
    } while (0)

#endif
