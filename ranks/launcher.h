/* What a launcher sets in the environment of the processes that it starts. */
#ifndef HC_RANKS_LAUNCHER_H
#define HC_RANKS_LAUNCHER_H

#include <stdbool.h>
#include <stdint.h>

/* Whether a launcher of MPI programs started this process; with others or alone. */
bool hc_launcher_present(void);

/* How many it started, 0 = it does not say. */
int32_t hc_launcher_count(void);

/* The number of this process, from 0. */
int32_t hc_launcher_number(void);

#endif
