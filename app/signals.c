/* Signals: Ctrl-C and its like set a flag. The runner looks at it before each block, stops its threads and
 * fails with HC_E_CANCELLED; temporary files go with their writers, and outputs keep no name. A crash removes
 * temporary files, too, and ends the process by its signal. */
#include "app/app.h"
#include "io/file.h"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

static HcFlag of_this_process;
static HcFlag *interrupted = &of_this_process; /* the signal */

static void on_signal(int number) {
    hc_flag_set(interrupted, number);
}

HcStatus hc_share_signals(HcError *err) {
    void *memory = mmap(NULL, sizeof *interrupted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return hc_fail_memory(err, sizeof *interrupted, "signals");
    }
    interrupted = memory;
    return HC_OK;
}

/* Whether hangups are ignored (nohup). This must be seen before the constructors of libraries run: UCX, which
 * Open MPI 6 brings, sets a handler for SIGHUP there. The sanitizers are not yet ready then. */
static bool nohup;

__attribute__((no_sanitize("address", "thread", "undefined"))) static void see_nohup(void) {
    struct sigaction before;
    nohup = sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler == SIG_IGN;
}

__attribute__((section(".preinit_array"), used)) static void (*see_first)(void) = see_nohup;

/* What ends a program by default, and is no sign of a fault in it. A second signal of a person ends it at
 * once. The others come again by themselves: a limit of time each second, a closed pipe with each line of
 * progress. */
static const struct {
    int number;
    bool once;
} caught[] = {
    {SIGINT, true},   {SIGTERM, true},  {SIGHUP, true},   {SIGPIPE, false}, {SIGUSR1, false},
    {SIGUSR2, false}, {SIGALRM, false}, {SIGXCPU, false}, {SIGPROF, false}, {SIGVTALRM, false},
};

const HcFlag *hc_catch_signals(void) {
    for (size_t s = 0; s < sizeof caught / sizeof *caught; s++) {
        struct sigaction action = {.sa_handler = on_signal,
                                   .sa_flags = caught[s].once ? (int)SA_RESETHAND : 0};
        if (nohup && caught[s].number == SIGHUP) {
            action = (struct sigaction){.sa_handler = SIG_IGN};
        }
        sigaction(caught[s].number, &action, NULL);
    }
    return interrupted;
}

/* A mapped scene file that shrinks, or a disk that fails, after its pages were checked. */
static void on_bus_error(int number) {
    static const char text[] = "hcube: a scene file changed, or a disk failed, while it was in use\n";
    (void)number;
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    hc_file_remove_partials_at_crash();
    _exit(HC_E_IO);
}

#if !defined(HC_SANITIZED) /* sanitizers report crashes themselves */
static void on_crash(int number) {
    static const char text[] = "hcube: ended by a crash, of a library or of hcube itself\n";
    (void)!write(STDERR_FILENO, text, sizeof text - 1);
    hc_file_remove_partials_at_crash();
    raise(number); /* ends the process when this returns */
}
#endif

void hc_catch_crashes(void) {
    signal(SIGBUS, on_bus_error);
#if !defined(HC_SANITIZED)
    static const int crashes[] = {SIGSEGV, SIGABRT, SIGTRAP, SIGFPE, SIGILL, SIGSYS};
    static char stack[64 << 10]; /* the usual one may be what ran out */
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    const struct sigaction action = {.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK};
    sigaltstack(&other, NULL);
    for (size_t c = 0; c < sizeof crashes / sizeof *crashes; c++) {
        sigaction(crashes[c], &action, NULL);
    }
#endif
}
