#include "ranks/launcher.h"

#include <stdlib.h>

/* Open MPI; MPICH, Intel MPI and srun with PMI; srun with PMIx. The variables of Slurm alone say nothing: a
 * batch script has them too, and srun may start programs that know nothing of each other. */
static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", NULL};
static const char *const numbers[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", NULL};

/* The first of the variables that is set, -1 when none is. */
static int32_t number_of(const char *const *names) {
    for (; *names != NULL; names++) {
        const char *text = getenv(*names);
        char *end = NULL;
        long value = text != NULL ? strtol(text, &end, 10) : -1;
        if (text != NULL && end != text && *end == '\0' && value >= 0 && value < INT32_MAX) {
            return (int32_t)value;
        }
    }
    return -1;
}

bool hc_launcher_present(void) {
    return number_of(numbers) >= 0;
}

int32_t hc_launcher_count(void) {
    int32_t count = number_of(counts);
    return count > 0 ? count : 0;
}

int32_t hc_launcher_number(void) {
    int32_t number = number_of(numbers);
    return number > 0 ? number : 0;
}
