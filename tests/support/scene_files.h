/* Small ENVI scenes for tests, the folders that they live in, and short ways to run a chain over them. */
#ifndef HC_TESTS_SUPPORT_SCENE_FILES_H
#define HC_TESTS_SUPPORT_SCENE_FILES_H

#include "pipeline/run/run.h"
#include "pipeline/run/verify.h"
#include "tests/support/check.h"
#include "tests/support/random.h"

/* A cube in memory, pixel-major. */
typedef struct Cube {
    int32_t lines, samples, bands;
    double *value;  /* [lines][samples][bands] */
    uint8_t *valid; /* [lines][samples], 1 = takes part */
} Cube;

static inline size_t cube_pixels(const Cube *cube) {
    return (size_t)cube->lines * (size_t)cube->samples;
}

static inline double *cube_pixel(const Cube *cube, int32_t line, int32_t sample) {
    return cube->value + ((size_t)line * (size_t)cube->samples + (size_t)sample) * (size_t)cube->bands;
}

/* All valid, all 0. */
Cube cube_new(int32_t lines, int32_t samples, int32_t bands);
void cube_free(Cube *cube);

/* Smooth signals of falling size in every band, and white noise of a size that differs from band to band;
 * rounded to integers with `integers`. All values lie between 1 and 30000. */
Cube cube_smooth(int32_t lines, int32_t samples, int32_t bands, uint64_t seed, bool integers);

/* Three values in each band, so that many pixels are equal. */
Cube cube_few_values(int32_t lines, int32_t samples, int32_t bands, uint64_t seed);

/* Marks a border and a notch as masked and gives them `value` in every band. */
void cube_border(Cube *cube, double value);

/* NAME.img and NAME.hdr in the current folder. `interleave` is bsq, bil or bip; `more` are further header
 * lines, or NULL. */
void cube_write(const Cube *cube, const char *name, HcType type, const char *interleave, const char *more);

/* The same with the byte order of the other kind of machine. */
void cube_write_swapped(const Cube *cube, const char *name, HcType type, const char *interleave,
                        const char *more);

/* The values of NAME.img in band-sequential order, as the write stage makes it for ENVI without --type:
 * float32, or integers of 8 and 16 bits. */
Cube cube_read_floats(const char *name, int32_t lines, int32_t samples, int32_t bands);

/* For cmocka: a fresh folder that becomes the current one, removed with all that it holds. */
int folder_setup(void **state);
int folder_teardown(void **state);

/* Entries of the current folder, hidden ones and those of its folders included. */
int folder_entries(void);

bool file_exists(const char *path);
/* Removes a file if it is there. */
void file_remove(const char *path);
/* A file that holds that text. */
void file_write(const char *path, const char *text);
/* A whole file, to be freed. */
char *file_bytes(const char *path, size_t *bytes);
/* Fails the test where two files differ, or hold nothing. */
void check_same_files(const char *a, const char *b);
/* Whether a file holds that text. */
bool file_holds(const char *path, const char *part);

/* Checks the paths of an SVG picture that have that attribute: their number, and the points of all. */
void check_paths(const char *svg, const char *attribute, int paths, int points);

/* The number of that name in a JSON object; NaN where there is none. */
double number_of(const cJSON *from, const char *name);

/* Renames those of the files (a list that ends with NULL) that are there to kept.NAME. */
void files_keep(const char *const *names);
/* Fails the test unless just those files are there that were kept, with the same bytes; removes them. */
void check_kept(const char *const *names);

/* Fails the test unless NAME.img has the components of KEPT.img, both as cube_read_floats() takes them,
 * within `tolerance` of the standard deviation of each, and NaN at the same pixels in every band. */
void check_near_components(const char *name, const char *kept, int32_t lines, int32_t samples, int32_t count,
                           double tolerance);

/* How a chain is run; zero is the cpu backend with one thread, no records, outputs replaced. */
typedef struct RunHow {
    const HcComputeOps *ops;
    int32_t threads;
    int32_t device;            /* its number */
    uint64_t memory_of_device; /* that the backend has; settings.device_memory is what is planned with */
    bool keeps_outputs;        /* an existing output is an error */
    HcRunSettings settings;
    HcRunReport *report; /* filled, or NULL */
    HcText *notes;       /* filled, or NULL */
    HcVerify *verify;    /* asked for and filled, or NULL; cleared by the caller */
} RunHow;

/* Runs a chain as it would be typed between quotes: "read a.img ! mnf ! write b.img". how may be NULL. */
HcStatus run_chain_text(const RunHow *how, HcError *err, const char *format, ...) HC_PRINTF(3, 4);

/* The same; fails the test if the run does. */
#define check_runs(how, ...)                                                                                 \
    do {                                                                                                     \
        HcError check_err = {0};                                                                             \
        HcStatus check_ran = run_chain_text((how), &check_err, __VA_ARGS__);                                 \
        if (check_ran != HC_OK) {                                                                            \
            fail_msg("status %d, \"%s\"", (int)check_ran, check_err.text);                                   \
        }                                                                                                    \
    } while (0)

/* Fails the test unless the run fails with that status and a line that holds `part`. */
#define check_run_fails(how, expected, part, ...)                                                            \
    do {                                                                                                     \
        HcError check_err = {0};                                                                             \
        HcStatus check_ran = run_chain_text((how), &check_err, __VA_ARGS__);                                 \
        if (check_ran != (expected) || !check_holds(check_err.text, (part)) ||                               \
            strchr(check_err.text, '\n') != NULL) {                                                          \
            fail_msg("status %d instead of %d, \"%s\" (wanted: \"%s\")", (int)check_ran, (int)(expected),    \
                     check_err.text, (part));                                                                \
        }                                                                                                    \
    } while (0)

#endif
