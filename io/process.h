/* Process: names of this host and of this process, so that files can say who is writing them; and what it
 * took. */
#ifndef HC_IO_PROCESS_H
#define HC_IO_PROCESS_H

#include <stdint.h>

/* "-" where the system does not report a value. */
typedef struct HcProcess {
    char host[256];   /* name of the host */
    char machine[64]; /* identifier of its installation: hosts may share a name */
    char boot[64];    /* identifier of its last start */
    char space[64];   /* name space of its process numbers: containers have their own */
    long number;
    long long start; /* when the process started [ticks since the host did]: numbers are used again */
} HcProcess;

void hc_process_self(HcProcess *self);

/* When a process of this host and name space started; -1 when it is dead, or a zombie. */
long long hc_process_start(long number);

/* The largest resident memory of this process so far [bytes]. */
uint64_t hc_process_peak_memory(void);

/* When this host was started [s since 1970]; 0 = not known. */
long long hc_process_boot_time(void);

#endif
