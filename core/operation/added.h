/* Bands that an operation may add after its result: how many of them come before a given one. */
#ifndef HC_CORE_OPERATION_ADDED_H
#define HC_CORE_OPERATION_ADDED_H

#include <stdbool.h>
#include <stdint.h>

/* The number of true entries in add[0] to add[end - 1]. */
static inline int32_t hc_added_before(const bool *add, int32_t end) {
    int32_t count = 0;
    for (int32_t a = 0; a < end; a++) {
        count += add[a] ? 1 : 0;
    }
    return count;
}

#endif
