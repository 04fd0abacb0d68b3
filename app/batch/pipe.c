/* Processes of a batch, and the pipes by which they tell what becomes of their scenes. */
#include "app/batch/batch.h"
#include "io/gdal/remote.h"
#include "io/gdal/errors.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

HcStatus hc_batch_fork(pid_t *process, int *end, HcError *err) {
    int ends[2];
    pid_t parent = getpid();
    if (pipe(ends) != 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_MEMORY), "batch: a pipe could not be made: %s",
                       strerror(errno));
    }
    fflush(NULL);
    hc_remote_before_fork();
    *process = fork();
    if (*process == 0) {
        /* A batch that is killed takes its workers with it. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) {
            _exit(HC_E_CANCELLED);
        }
        close(ends[0]);
        *end = ends[1];
        hc_process_begins();
        return HC_OK;
    }
    close(ends[1]);
    if (*process < 0) {
        int error = errno;
        close(ends[0]);
        return hc_fail(err, HC_E_MEMORY, "batch: a process could not be started: %s", strerror(error));
    }
    *end = ends[0];
    return HC_OK;
}

bool hc_batch_send(int pipe, const void *data, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t sent = write(pipe, (const char *)data + done, bytes - done);
        if (sent < 0 && errno != EINTR) {
            return false;
        }
        done += sent > 0 ? (size_t)sent : 0;
    }
    return true;
}

bool hc_batch_hear(int pipe, HcBatchEvent *event) {
    size_t done = 0;
    while (done < sizeof *event) {
        ssize_t got = read(pipe, (char *)event + done, sizeof *event - done);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        done += (size_t)got;
    }
    return true;
}
