#include "tests/support/scene_files.h"

#include "cpu/cpu.h"

#include <dirent.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *must(void *memory) {
    if (memory == NULL) {
        fprintf(stderr, "a test ran out of memory\n");
        abort();
    }
    return memory;
}

Cube cube_new(int32_t lines, int32_t samples, int32_t bands) {
    Cube cube = {.lines = lines, .samples = samples, .bands = bands};
    cube.value = must(calloc(cube_pixels(&cube) * (size_t)bands, sizeof *cube.value));
    cube.valid = must(malloc(cube_pixels(&cube)));
    memset(cube.valid, 1, cube_pixels(&cube));
    return cube;
}

void cube_free(Cube *cube) {
    free(cube->value);
    free(cube->valid);
    *cube = (Cube){0};
}

/* Splitmix64 (Steele, Lea, Flood 2014). */
Cube cube_smooth(int32_t lines, int32_t samples, int32_t bands, uint64_t seed, bool integers) {
    Cube cube = cube_new(lines, samples, bands);
    size_t p = (size_t)bands;
    double *pattern = must(malloc(p * p * sizeof *pattern));
    double *level = must(malloc(p * sizeof *level));
    double *noise = must(malloc(p * sizeof *noise));
    double *phase = must(malloc(3 * p * sizeof *phase));
    for (size_t b = 0; b < p; b++) {
        level[b] = 6000 + 2000 * random_uniform(&seed);
        noise[b] = 4 + 4 * random_uniform(&seed);
        for (size_t k = 0; k < p; k++) {
            pattern[b * p + k] = 900 * pow(0.6, (double)k) * random_normal(&seed);
        }
    }
    for (size_t k = 0; k < 3 * p; k++) {
        phase[k] = random_uniform(&seed);
    }
    for (int32_t line = 0; line < lines; line++) {
        for (int32_t sample = 0; sample < samples; sample++) {
            double *x = cube_pixel(&cube, line, sample);
            memcpy(x, level, p * sizeof *x);
            for (size_t k = 0; k < p; k++) {
                double turns =
                    line * (0.01 + 0.03 * phase[3 * k]) + sample * (0.01 + 0.03 * phase[3 * k + 1]);
                double field = sin(6.283185307179586 * (turns + phase[3 * k + 2]));
                for (size_t b = 0; b < p; b++) {
                    x[b] += pattern[b * p + k] * field;
                }
            }
            for (size_t b = 0; b < p; b++) {
                double y = x[b] + noise[b] * random_normal(&seed);
                y = y < 1 ? 1 : y > 30000 ? 30000 : y;
                x[b] = integers ? nearbyint(y) : y;
            }
        }
    }
    free(pattern);
    free(level);
    free(noise);
    free(phase);
    return cube;
}

Cube cube_few_values(int32_t lines, int32_t samples, int32_t bands, uint64_t seed) {
    Cube cube = cube_new(lines, samples, bands);
    for (size_t i = 0; i < cube_pixels(&cube) * (size_t)bands; i++) {
        cube.value[i] = 100 + 10 * (double)(i % (size_t)bands) + floor(3 * random_uniform(&seed));
    }
    return cube;
}

void cube_border(Cube *cube, double value) {
    for (int32_t line = 0; line < cube->lines; line++) {
        for (int32_t sample = 0; sample < cube->samples; sample++) {
            bool outside =
                sample < 2 || line == 0 || (line > cube->lines / 2 && sample + line / 3 > cube->samples);
            if (outside) {
                cube->valid[(size_t)line * (size_t)cube->samples + (size_t)sample] = 0;
                for (int32_t b = 0; b < cube->bands; b++) {
                    cube_pixel(cube, line, sample)[b] = value;
                }
            }
        }
    }
}

static size_t put_value(HcType type, double value, unsigned char *to) {
#define PUT(kind)                                                                                            \
    do {                                                                                                     \
        kind put = (kind)value;                                                                              \
        memcpy(to, &put, sizeof put);                                                                        \
        return sizeof put;                                                                                   \
    } while (0)
    switch (type) {
    case HC_UINT8:
        PUT(uint8_t);
    case HC_UINT16:
        PUT(uint16_t);
    case HC_INT16:
        PUT(int16_t);
    case HC_UINT32:
        PUT(uint32_t);
    case HC_INT32:
        PUT(int32_t);
    case HC_UINT64:
        PUT(uint64_t);
    case HC_INT64:
        PUT(int64_t);
    case HC_FLOAT32:
        PUT(float);
    case HC_FLOAT64:
        PUT(double);
    default:
        fail_msg("scenes of type %s are not made here", hc_type_name(type));
        return 0;
    }
#undef PUT
}

static int envi_type(HcType type) {
    switch (type) {
    case HC_UINT8:
        return 1;
    case HC_INT16:
        return 2;
    case HC_INT32:
        return 3;
    case HC_FLOAT32:
        return 4;
    case HC_FLOAT64:
        return 5;
    case HC_UINT16:
        return 12;
    case HC_UINT32:
        return 13;
    case HC_INT64:
        return 14;
    case HC_UINT64:
        return 15;
    default:
        return 0;
    }
}

static void reverse(unsigned char *bytes, size_t width) {
    for (size_t i = 0; i < width / 2; i++) {
        unsigned char byte = bytes[i];
        bytes[i] = bytes[width - 1 - i];
        bytes[width - 1 - i] = byte;
    }
}

static void write_cube(const Cube *cube, const char *name, HcType type, const char *interleave, bool swapped,
                       const char *more) {
    char path[256];
    snprintf(path, sizeof path, "%s.hdr", name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file,
            "ENVI\nsamples = %d\nlines = %d\nbands = %d\nheader offset = 0\nfile type = ENVI Standard\n"
            "data type = %d\ninterleave = %s\nbyte order = %d\n%s",
            cube->samples, cube->lines, cube->bands, envi_type(type), interleave, swapped,
            more != NULL ? more : "");
    assert_int_equal(fclose(file), 0);

    size_t lines = (size_t)cube->lines;
    size_t samples = (size_t)cube->samples;
    size_t bands = (size_t)cube->bands;
    size_t width = hc_type_bytes(type);
    unsigned char *bytes = must(malloc(lines * samples * bands * width));
    for (size_t l = 0; l < lines; l++) {
        for (size_t s = 0; s < samples; s++) {
            for (size_t b = 0; b < bands; b++) {
                size_t at = strcmp(interleave, "bip") == 0   ? (l * samples + s) * bands + b
                            : strcmp(interleave, "bil") == 0 ? (l * bands + b) * samples + s
                                                             : (b * lines + l) * samples + s;
                put_value(type, cube->value[(l * samples + s) * bands + b], bytes + at * width);
                if (swapped) {
                    reverse(bytes + at * width, width);
                }
            }
        }
    }
    snprintf(path, sizeof path, "%s.img", name);
    file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, width, lines * samples * bands, file), lines * samples * bands);
    assert_int_equal(fclose(file), 0);
    free(bytes);
}

void cube_write(const Cube *cube, const char *name, HcType type, const char *interleave, const char *more) {
    write_cube(cube, name, type, interleave, false, more);
}

void cube_write_swapped(const Cube *cube, const char *name, HcType type, const char *interleave,
                        const char *more) {
    write_cube(cube, name, type, interleave, true, more);
}

/* A value of one of the types that write makes without --type, by ENVI's number. */
static double value_of(const char *raw, int type, size_t at) {
    float real = 0;
    uint16_t whole = 0;
    switch (type) {
    case 1:
        return (uint8_t)raw[at];
    case 2:
    case 12:
        memcpy(&whole, raw + at * sizeof whole, sizeof whole);
        return type == 2 ? (int16_t)whole : whole;
    default:
        assert_int_equal(type, 4);
        memcpy(&real, raw + at * sizeof real, sizeof real);
        return (double)real;
    }
}

Cube cube_read_floats(const char *name, int32_t lines, int32_t samples, int32_t bands) {
    char path[256];
    size_t bytes = 0;
    int type = 4; /* of a copy without its header */
    snprintf(path, sizeof path, "%s.hdr", name);
    if (file_exists(path)) {
        char *header = file_bytes(path, &bytes);
        const char *field = strstr(header, "data type = ");
        assert_true(field != NULL && sscanf(field, "data type = %d", &type) == 1);
        free(header);
    }
    snprintf(path, sizeof path, "%s.img", name);
    char *raw = file_bytes(path, &bytes);
    Cube cube = cube_new(lines, samples, bands);
    size_t pixels = cube_pixels(&cube);
    size_t p = (size_t)bands;
    assert_int_equal(bytes, pixels * p * (type == 1 ? 1 : type == 4 ? 4 : 2));
    for (size_t i = 0; i < pixels; i++) {
        for (size_t b = 0; b < p; b++) {
            cube.value[i * p + b] = value_of(raw, type, b * pixels + i);
        }
    }
    free(raw);
    return cube;
}

/* ---- folders and files ---- */

static char current_folder[256];
static char folder_before[1024];

int folder_setup(void **state) {
    (void)state;
    const char *temporary = getenv("TMPDIR");
    snprintf(current_folder, sizeof current_folder, "%s/hcube-test-XXXXXX",
             temporary != NULL ? temporary : "/tmp");
    return getcwd(folder_before, sizeof folder_before) != NULL && mkdtemp(current_folder) != NULL &&
                   chdir(current_folder) == 0
               ? 0
               : -1;
}

static int remove_entry(const char *path, const struct stat *about, int kind, struct FTW *place) {
    (void)about;
    (void)kind;
    (void)place;
    return remove(path);
}

int folder_teardown(void **state) {
    (void)state;
    return chdir(folder_before) == 0 && nftw(current_folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == 0
               ? 0
               : -1;
}

static int entries_found;

static int count_entry(const char *path, const struct stat *about, int kind, struct FTW *place) {
    (void)about;
    (void)kind;
    entries_found += place->level > 0;
    return path == NULL;
}

int folder_entries(void) {
    entries_found = 0;
    assert_int_equal(nftw(".", count_entry, 16, FTW_PHYS), 0);
    return entries_found;
}

bool file_exists(const char *path) {
    return access(path, F_OK) == 0;
}

void file_remove(const char *path) {
    (void)!remove(path);
}

void file_write(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

char *file_bytes(const char *path, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fail_msg("%s is not there", path);
        return NULL;
    }
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *bytes = (size_t)ftell(file);
    rewind(file);
    char *data = must(malloc(*bytes + 1));
    assert_int_equal(fread(data, 1, *bytes, file), *bytes);
    data[*bytes] = '\0';
    fclose(file);
    return data;
}

void check_same_files(const char *a, const char *b) {
    size_t bytes_a = 0;
    size_t bytes_b = 0;
    char *data_a = file_bytes(a, &bytes_a);
    char *data_b = file_bytes(b, &bytes_b);
    size_t at = 0;
    while (at < bytes_a && at < bytes_b && data_a[at] == data_b[at]) {
        at++;
    }
    free(data_a);
    free(data_b);
    if (bytes_a != bytes_b || at < bytes_a || bytes_a == 0) {
        fail_msg("%s (%zu bytes) and %s (%zu bytes) differ at byte %zu", a, bytes_a, b, bytes_b, at);
    }
}

bool file_holds(const char *path, const char *part) {
    size_t bytes = 0;
    char *text = file_bytes(path, &bytes);
    bool holds = strstr(text, part) != NULL;
    free(text);
    return holds;
}

double number_of(const cJSON *from, const char *name) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(from, name);
    return cJSON_IsNumber(item) ? item->valuedouble : NAN;
}

void files_keep(const char *const *names) {
    for (; *names != NULL; names++) {
        char kept[128];
        snprintf(kept, sizeof kept, "kept.%s", *names);
        file_remove(kept);
        if (file_exists(*names)) {
            assert_int_equal(rename(*names, kept), 0);
        }
    }
}

void check_kept(const char *const *names) {
    for (; *names != NULL; names++) {
        char kept[128];
        snprintf(kept, sizeof kept, "kept.%s", *names);
        if (file_exists(*names) != file_exists(kept)) {
            fail_msg("%s is %s", *names, file_exists(kept) ? "not there" : "there");
        }
        if (file_exists(kept)) {
            check_same_files(*names, kept);
            file_remove(*names);
        }
    }
}

void check_near_components(const char *name, const char *kept, int32_t lines, int32_t samples, int32_t count,
                           double tolerance) {
    Cube got = cube_read_floats(name, lines, samples, count);
    Cube expected = cube_read_floats(kept, lines, samples, count);
    size_t pixels = cube_pixels(&got);
    size_t m = (size_t)count;
    for (size_t k = 0; k < m; k++) {
        double sum = 0;
        double squares = 0;
        size_t valid = 0;
        for (size_t i = 0; i < pixels; i++) {
            double x = expected.value[i * m + k];
            valid += isnan(x) ? 0 : 1;
            sum += isnan(x) ? 0 : x;
            squares += isnan(x) ? 0 : x * x;
        }
        double n = (double)valid;
        double deviation = sqrt(fmax(0, squares / n - sum / n * (sum / n))); /* 0: all have one value */
        assert_true(valid > 0 && isfinite(deviation));
        for (size_t i = 0; i < pixels; i++) {
            double y = got.value[i * m + k];
            double x = expected.value[i * m + k];
            if (isnan(x) ? !isnan(y) : !(fabs(y - x) <= tolerance * deviation)) {
                fail_msg("%s: component %zu of pixel %zu is %.9g, expected %.9g, standard deviation %.3g",
                         name, k + 1, i, y, x, deviation);
            }
        }
    }
    cube_free(&got);
    cube_free(&expected);
}

/* ---- runs ---- */

HcStatus run_chain_text(const RunHow *how, HcError *err, const char *format, ...) {
    HcStatus status = HC_OK;
    RunHow plain = {0};
    HcRunReport report = {0};
    HcCompute *compute = NULL;
    HcChain *chain = NULL;
    char **words = NULL;
    int32_t count = 0;
    how = how != NULL ? how : &plain;
    const HcComputeOps *ops = how->ops != NULL ? how->ops : hc_cpu_ops();
    HcComputeConfig config = {.threads = how->threads > 0 ? how->threads : 1,
                              .device = how->device,
                              .memory = how->memory_of_device,
                              .host = hc_cpu_ops()};
    HcRunSettings settings = how->settings;
    settings.record = settings.record != NULL ? settings.record : "none";
    va_list arguments;
    va_start(arguments, format);
    char *text = must(hc_text_vformat(format, arguments));
    va_end(arguments);
    HC_TRY(hc_words_split(text, "the test", &words, NULL, &count, err));
    HC_TRY(hc_chain_parse(&chain, (const char *const *)words, count, NULL, err));
    chain->overwrite = !how->keeps_outputs;
    HC_TRY(hc_compute_open(ops, &config, &compute, err));
    if (how->verify != NULL) {
        how->verify->chain = chain;
        how->verify->compute = compute;
        HC_TRY(hc_chain_plan(chain, err));
        HC_TRY(hc_verify_begin(how->verify, &settings, err));
    }
    status = hc_run(chain, compute, &settings, how->report != NULL ? how->report : &report, err);
    for (int32_t n = 0; how->notes != NULL && n < chain->note_count; n++) {
        hc_text_add(how->notes, "%s\n", chain->notes[n]);
    }
done:
    hc_chain_free(chain);
    hc_compute_close(compute);
    hc_free_texts(words, count);
    free(text);
    return status;
}

void check_paths(const char *svg, const char *attribute, int paths, int points) {
    int found_paths = 0, found_points = 0;
    for (const char *at = svg; (at = strstr(at, "<path d=\"")) != NULL; at++) {
        const char *end = strstr(at, "/>"), *found = strstr(at, attribute);
        assert_non_null(end);
        if (found != NULL && found < end) {
            found_paths++;
            for (const char *c = at; c < end; c++) {
                found_points += *c == 'M' || *c == 'L';
            }
        }
    }
    assert_int_equal(found_paths, paths);
    assert_int_equal(found_points, points);
}
