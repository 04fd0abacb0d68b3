/* Another number of processors that a process may use: loaded before the C library (LD_PRELOAD).
 *
 * - HCUBE_PROCESSORS: how many */
#include "tests/support/preload.h"

#include <sched.h>

int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) {
    static int (*next)(pid_t, size_t, cpu_set_t *);
    const long count = preload_number("HCUBE_PROCESSORS");
    preload_next((void *)&next, "sched_getaffinity");
    int result = next(process, bytes, set);
    if (result == 0 && count > 0) {
        CPU_ZERO_S(bytes, set);
        for (long p = 0; p < count; p++) {
            CPU_SET_S((size_t)p, bytes, set);
        }
    }
    return result;
}
