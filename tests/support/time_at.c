/* The time of day stands still for a program that loads this before the C library (LD_PRELOAD): formats that
 * keep the time of their making (PCIDSK) then have the same bytes in each run. */
#include <time.h>

time_t time(time_t *to) {
    const time_t now = 1577836800; /* 2020-01-01 */
    if (to != NULL) {
        *to = now;
    }
    return now;
}
