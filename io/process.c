#include "io/process.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

long long hc_process_start(long number) {
    char path[64];
    char text[1024];
    char state = 0;
    long long start = -1;
    snprintf(path, sizeof path, "/proc/%ld/stat", number);
    FILE *file = fopen(path, "re");
    size_t bytes = file != NULL ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    text[bytes] = '\0';
    /* The name stands in parentheses and may hold anything. */
    const char *behind = strrchr(text, ')');
    if (behind == NULL ||
        sscanf(behind + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lld",
               &state, &start) != 2) {
        return -1;
    }
    return state == 'Z' || state == 'X' ? -1 : start;
}

/* The first word of a file, or "-". */
static void first_word(const char *path, char *out, size_t size) {
    FILE *file = fopen(path, "re");
    if (file == NULL || fgets(out, (int)size, file) == NULL) {
        snprintf(out, size, "-");
    }
    out[strcspn(out, " \n")] = '\0';
    if (file != NULL) {
        fclose(file);
    }
}

void hc_process_self(HcProcess *self) {
    *self = (HcProcess){.number = (long)getpid()};
    if (gethostname(self->host, sizeof self->host - 1) != 0 || self->host[0] == '\0') {
        snprintf(self->host, sizeof self->host, "-");
    }
    self->host[strcspn(self->host, " \n")] = '\0';
    first_word("/etc/machine-id", self->machine, sizeof self->machine);
    first_word("/proc/sys/kernel/random/boot_id", self->boot, sizeof self->boot);
    if (readlink("/proc/self/ns/pid", self->space, sizeof self->space - 1) <= 0) {
        snprintf(self->space, sizeof self->space, "-");
    }
    self->start = hc_process_start(self->number);
}

uint64_t hc_process_peak_memory(void) {
    char line[256];
    unsigned long long kilobytes = 0;
    FILE *file = fopen("/proc/self/status", "re");
    while (file != NULL && kilobytes == 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "VmHWM: %llu", &kilobytes) != 1) {
            kilobytes = 0;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    if (kilobytes == 0) { /* counts what the parent had before it started this program, too */
        struct rusage usage;
        getrusage(RUSAGE_SELF, &usage);
        kilobytes = (unsigned long long)usage.ru_maxrss;
    }
    return (uint64_t)kilobytes * 1024;
}

long long hc_process_boot_time(void) {
    char line[256];
    long long seconds = 0;
    FILE *file = fopen("/proc/stat", "re");
    while (file != NULL && seconds == 0 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "btime %lld", &seconds) != 1) {
            seconds = 0;
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return seconds;
}
