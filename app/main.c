/* hcube: looks the command up, runs it, prints its failure, and exits with its code. */
#include "app/exceptions.h"
#include "app/usage/usage.h"
#include "core/version.h"
#include "io/file.h"
#include "io/guard/probe.h"
#include "io/gdal/proj.h"

#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define ROW(name_, body_, usage_, ...)                                                                       \
    { .name = name_, .body = hc_command_##body_, .usage = usage_, .summary = __VA_ARGS__ }

const HcCommand hc_commands[] = {
    {.name = "Process"},
    ROW("run", run, "STEP ! STEP ! ...", "run a chain of stages over a scene", .describe = hc_describe_run,
        .takes_chain = true),
    ROW("batch", batch, "STEP ! STEP ...", "run a chain over many scenes; repeat it to continue",
        .describe = hc_describe_batch, .takes_chain = true),
    ROW("plan", plan, "STEP ! STEP ! ...", "show the plan without reading pixels",
        .describe = hc_describe_plan, .takes_chain = true),
    ROW("solve", solve, "l1|lp ...", "solve a sparse or a linear program from files",
        .parts = hc_solve_problems),
    ROW("library", library, "import|merge|select|convert|plot ...",
        "make spectral libraries of files of spectra and of each other", .parts = hc_library_commands),
    {.name = "Look"},
    ROW("info", info, "SCENE", "show the contents of a scene or a spectral library",
        .describe = hc_describe_info),
    ROW("view", view, "SCENE [RESULT...]", "show a scene, results and spectra in a browser",
        .describe = hc_describe_view),
    ROW("compare", compare, "SCENE TRUTH", "compare a result with the truth: RMSE, SRE, SSIM, classes",
        .describe = hc_describe_compare),
    ROW("diff", diff, "A.json B.json", "compare two run records", .describe = hc_describe_diff),
    ROW("rerun", rerun, "RECORD", "repeat a recorded run and report any byte that differs",
        .describe = hc_describe_rerun),
    ROW("stages", stages, "[NAME]", "list the stages, or the options of one"),
    ROW("products", products, "", "list the products of sensors that hcube reads",
        .describe = hc_describe_products),
    ROW("devices", devices, "", "list the devices that hcube can use (--device NAME)"),
    ROW("bench", bench, "", "measure the time of each operation", .describe = hc_describe_bench),
    ROW("version", version, "", "show the versions of hcube and its libraries"),
    {.name = "Terminal"},
    ROW("completion", completion, "bash|zsh|fish", "print a script for completion by the Tab key",
        .describe = hc_describe_completion),
    ROW("man", man, "[NAME]", "print the manual page of hcube, a command or a stage",
        .describe = hc_describe_man),
    {.name = NULL},
};

const HcCommand *hc_command_find(const char *name) {
    for (const HcCommand *command = hc_commands; command->name != NULL; command++) {
        if (command->body != NULL && strcmp(command->name, name) == 0) {
            return command;
        }
    }
    return NULL;
}

bool hc_command_holds(const HcCommand *command, const HcCommand *inner) {
    if (inner == NULL || inner == command || !inner->takes_chain) {
        return false;
    }
    return command->body == hc_command_plan ||
           (command->body == hc_command_batch && inner->body == hc_command_run);
}

/* Refuses a chain that begins with the name of a command. */
static HcStatus check_chain(const HcCommand *command, const char *first, HcError *err) {
    const HcCommand *named = hc_command_find(first);
    if (named == NULL || hc_command_holds(command, named) || hc_stage_find(first) != NULL) {
        return HC_OK;
    }
    return hc_fail(err, HC_E_USAGE,
                   "%s: %s: is a command, and no stage of a chain (hcube stages lists these)", command->name,
                   first);
}

static HcStatus print_help(HcError *err) {
    return hc_usage_answer(NULL, NULL, 0, NULL, err);
}

/* The first name that two neighbouring letters in the wrong order make of a word: mfn is mnf, not man. */
static const char *find_swapped(const char *word, const char *const *names) {
    for (; *names != NULL; names++) {
        size_t at = 0;
        while (word[at] != '\0' && word[at] == (*names)[at]) {
            at++;
        }
        if (word[at] != '\0' && word[at + 1] != '\0' && word[at] == (*names)[at + 1] &&
            word[at + 1] == (*names)[at] && strcmp(word + at + 2, *names + at + 2) == 0) {
            return *names;
        }
    }
    return NULL;
}

static HcStatus unknown_command(const char *word, HcError *err) {
    if (word[0] == '-') {
        return hc_fail(err, HC_E_USAGE,
                       "%s: a command comes first, put options after it (hcube mnf SCENE OUTPUT --quiet)",
                       word);
    }
    const char *here = hc_foreign_advice(word);
    if (here != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: unknown command; here: %s", word, here);
    }
    const char *names[64];
    size_t count = 0;
    for (const HcCommand *command = hc_commands; command->name != NULL && count < 40; command++) {
        if (command->body != NULL) {
            names[count++] = command->name;
        }
    }
    for (int i = 0; hc_stage_list[i] != NULL && count < 63; i++) {
        names[count++] = hc_stage_list[i]->name;
    }
    names[count] = NULL;
    const char *swapped = find_swapped(word, names);
    const char *nearest = swapped != NULL ? swapped : hc_text_nearest(word, names);
    if (nearest != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: unknown command, did you mean %s?", word, nearest);
    }
    return hc_fail(err, HC_E_USAGE, "%s: unknown command (hcube --help lists them)", word);
}

static HcStatus dispatch(int argc, char **argv, HcError *err) {
    const char *name = argv[1];
    int32_t count = argc - 2;
    const char *const *words = (const char *const *)argv + 2;
    const HcCommand *command = hc_command_find(name);
    const HcStageClass *kind = hc_stage_find(name);
    if (command == NULL && kind == NULL) {
        return strcmp(name, "complete") == 0 ? hc_command_complete(count, words, err)
                                             : unknown_command(name, err);
    }
    if (hc_usage_is_asked(count, words)) {
        return hc_usage_answer(command, kind, count, words, err);
    }
    if (command != NULL && command->takes_chain && count > 0) {
        HC_OR_RETURN(check_chain(command, words[0], err));
    }
    HcStatus status =
        command != NULL ? command->body(count, words, err) : hc_command_stage(kind, count, words, err);
    /* A CRS that PROJ has lost explains other refusals, and makes what was printed wrong. */
    HcError lost = {0};
    if (status <= HC_E_IO && hc_proj_check(0, false, &lost) != HC_OK) {
        *err = lost;
        status = lost.status;
    }
    return status;
}

/* Whether ranks share the work of a command line; anything else is done by the first rank alone. */
static bool is_shared(int argc, char **argv) {
    const HcCommand *command = hc_command_find(argv[1]);
    bool works = command != NULL ? command->body == hc_command_run || command->body == hc_command_batch
                                 : hc_stage_find(argv[1]) != NULL;
    return works && !hc_usage_is_asked(argc - 2, (const char *const *)argv + 2);
}

#if !defined(HC_SANITIZED)
/* The threads that OpenBLAS is ready for: a number in its environment, else one a processor. */
static size_t blas_threads(char **environment) {
    static const char *const names[] = {"OPENBLAS_NUM_THREADS=", "OMP_NUM_THREADS="};
    cpu_set_t processors;
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        for (char **entry = environment; *entry != NULL; entry++) {
            size_t length = strlen(names[n]);
            long count = strncmp(*entry, names[n], length) == 0 ? strtol(*entry + length, NULL, 10) : 0;
            if (count > 0) {
                return (size_t)count;
            }
        }
    }
    return sched_getaffinity(0, sizeof processors, &processors) == 0 ? (size_t)CPU_COUNT(&processors) : 1;
}

/* Before any library starts: OpenBLAS takes 128 MiB of address space for each thread then, and tries for ever
 * where a limit (ulimit -v) leaves less. */
static void check_address_space(int argc, char **argv, char **environment) {
    static const char text[] =
        "hcube: out of memory: the limit of address space (ulimit -v) leaves too little to "
        "start (OPENBLAS_NUM_THREADS=1 takes less)\n";
    (void)argc;
    (void)argv;
    const size_t needed = ((size_t)64 << 20) + blas_threads(environment) * ((size_t)128 << 20);
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
        return;
    }
    void *memory = mmap(NULL, needed, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(HC_E_MEMORY);
    }
    munmap(memory, needed);
    /* Each thread would reserve 64 MiB of its own for small pieces, and the last ones could not be started.
     */
    mallopt(M_ARENA_MAX, 1);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int, char **, char **) = check_address_space;
#endif

/* A library may end the process itself where it can get no thread or memory, and says so: OpenMP does, which
 * OpenBLAS is mostly built with. */
static void on_exit_of_library(void) {
    static const char text[] = "hcube: out of memory or threads: a library ended the program (see above; "
                               "--threads takes fewer)\n";
    if (hc_process_runs()) {
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        hc_file_remove_partials();
        _exit(HC_E_MEMORY);
    }
}

static int exit_code(HcStatus status) {
    hc_process_ends();
    return (int)status;
}

/* Runs the command on this rank, and learns whether it went well on all. MPI is needed where they share it.
 */
static HcStatus run_command(int argc, char **argv, HcRanks **ranks, HcError *err) {
    if (hc_command_line()->text == NULL) {
        return hc_fail_memory(err, 0, "the command line");
    }
    if (!is_shared(argc, argv)) {
        return hc_ranks_speaks() ? dispatch(argc, argv, err) : HC_OK;
    }
    HC_OR_RETURN(hc_ranks_open(ranks, hc_command_line()->text, err));
    hc_set_app_ranks(*ranks);
    HcStatus status = dispatch(argc, argv, err);
    *ranks = hc_app_ranks(); /* those that --ranks has started */
    return hc_ranks_agree(*ranks, status, err);
}

/* `help solve lp` is `solve lp --help`, and help of itself is that of all. */
static HcStatus run_help(int argc, char **argv, HcRanks **ranks, HcError *err) {
    char help[] = "--help";
    char *words[] = {argv[0], argc > 2 ? argv[2] : help, help, help, NULL};
    bool of_itself =
        argc == 2 || strcmp(argv[2], "help") == 0 || hc_usage_is_asked(1, (const char *const *)argv + 2);
    if (of_itself) {
        return print_help(err);
    }
    words[2] = argc > 3 ? argv[3] : help;
    return run_command(argc > 3 ? 4 : 3, words, ranks, err);
}

int main(int argc, char **argv) {
    HcError error = {0};
    HcStatus status = HC_OK;
    HcRanks *ranks = NULL;
    hc_set_command_line(argc, argv);
    /* Matrices and lists that come and go stay with the program: fresh pages cost more than what is done with
     * them. */
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 16 << 20);
    /* A write past the file size limit shall fail with an error, not end the process. */
    signal(SIGXFSZ, SIG_IGN);
    hc_catch_crashes();
    hc_catch_exceptions();
    hc_stages_on_fatal(hc_end_drawing);
    hc_process_begins();
    if (argc > 0 && !hc_guard_probes(argv[0])) {
        hc_guard_probe_with("/proc/self/exe");
    }
    atexit(on_exit_of_library);
    if (argc < 2) {
        status = print_help(&error);
        status = status == HC_OK ? HC_E_USAGE : status;
    } else if (strcmp(argv[1], "help") == 0) {
        status = run_help(argc, argv, &ranks, &error);
    } else if (hc_usage_is_asked(1, (const char *const *)argv + 1)) {
        status = hc_usage_answer(NULL, NULL, 1, (const char *const *)argv + 1, &error);
    } else if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("hcube %s\n", hc_version());
    } else {
        status = run_command(argc, argv, &ranks, &error);
    }
    hc_file_remove_partials();
    if (error.status != HC_OK && hc_ranks_speaks()) {
        hc_say("hcube: %s", error.text);
        if (getenv("HCUBE_DEBUG") != NULL) {
            hc_say("hcube: (%s, %s:%d)", hc_status_text(error.status), error.file, error.line);
        }
    }
    /* Output that could not be written (a full disk behind a pipe) is a failure too. */
    if (fflush(stdout) != 0 && status == HC_OK) {
        hc_say("hcube: standard output could not be written");
        status = HC_E_IO;
    }
    /* Last, since all wait here for each other: the launcher ends the others when one has gone with a
     * failure. */
    HcError late = {0};
    HcStatus ended = hc_ranks_close(ranks, &late);
    if (ended != HC_OK && status == HC_OK) {
        hc_say("hcube: %s", late.text);
        status = ended;
    }
    return exit_code(status);
}
