/*
 * Writes a large synthetic scene for measuring, with an ENVI header beside it:
 *
 *     make_bench_scene OUT.img LINES SAMPLES BANDS [--type uint16|int16|float32] [--interleave bil|bip|bsq]
 * [--seed N]
 *
 * Each pixel is a smooth mixture of eight smooth spectra, plus white noise that differs from band to band;
 * values run from about 0 to 10000. Lines are made and written some at a time, so a scene may be larger than
 * memory. A line depends on the seed and its number alone: the same scene comes out in each type and
 * interleave.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PI 3.14159265358979323846

enum {
    MIXTURE = 8,      /* spectra that every pixel is mixed from */
    NORMAL_BITS = 16, /* a normal number is looked up by 16 random bits */
    NORMAL_COUNT = 1 << NORMAL_BITS,
    HILL = 48,             /* pixels from one corner of the abundance fields to the next */
    CHUNK_BYTES = 32 << 20 /* about what is made before it is written */
};

typedef enum ValueType { UINT16, INT16, FLOAT32 } ValueType;
typedef enum Interleave { BIL, BIP, BSQ } Interleave;

static const char *const type_names[] = {"uint16", "int16", "float32", NULL};
static const char *const interleave_names[] = {"bil", "bip", "bsq", NULL};
static const int envi_types[] = {12, 2, 4};
static const size_t type_bytes[] = {2, 2, 4};

typedef struct Scene {
    const char *path;
    size_t lines, samples, bands;
    ValueType type;
    Interleave interleave;
    uint64_t seed;
    float *spectra;     /* [MIXTURE][bands] */
    float *noise_sigma; /* [bands] */
    float *normals;     /* [NORMAL_COUNT], the quantiles of the normal distribution */
} Scene;

static void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

static void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    fputs("make_bench_scene: ", stderr);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    exit(EXIT_FAILURE);
}

static void *allocate(size_t count, size_t bytes) {
    void *memory = calloc(count, bytes);
    if (!memory) {
        fail("no memory for %zu x %zu bytes", count, bytes);
    }
    return memory;
}

/* ---- random numbers ---- */

static uint64_t splitmix64(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static double hash_uniform(uint64_t seed, uint64_t a, uint64_t b, uint64_t c) {
    uint64_t state = seed;
    state = splitmix64(&state) ^ a;
    state = splitmix64(&state) ^ b;
    state = splitmix64(&state) ^ c;
    return (double)(splitmix64(&state) >> 11) * 0x1p-53;
}

/* Quantiles by Newton's method on the distribution function; the upper half mirrors the lower, so the mean is
 * 0. */
static void fill_normals(float *normals) {
    double x = -4.3;
    double square_sum = 0.0;
    for (int i = 0; i < NORMAL_COUNT / 2; i++) {
        double wanted = (i + 0.5) / NORMAL_COUNT;
        for (int step = 0; step < 20; step++) {
            double error = 0.5 * erfc(-x / sqrt(2.0)) - wanted;
            double change = error * sqrt(2.0 * PI) * exp(0.5 * x * x);
            x -= change > 0.5 ? 0.5 : change < -0.5 ? -0.5 : change;
            if (fabs(change) < 1e-12) {
                break;
            }
        }
        normals[i] = (float)x;
        normals[NORMAL_COUNT - 1 - i] = (float)-x;
        square_sum += 2.0 * x * x;
    }
    /* Midpoints lose a little of the tails: bring the variance back to 1. */
    float scale = (float)sqrt(NORMAL_COUNT / square_sum);
    for (int i = 0; i < NORMAL_COUNT; i++) {
        normals[i] *= scale;
    }
}

/* ---- the scene ---- */

static double bell(double x, double centre, double width) {
    double z = (x - centre) / width;
    return exp(-0.5 * z * z);
}

static double band_wavelength(const Scene *scene, size_t band) {
    return scene->bands == 1 ? 400.0 : 400.0 + 2100.0 * (double)band / (double)(scene->bands - 1);
}

/* Broad shapes with two absorption features each, from the seed alone; noise is worst at the ends of the
 * range. */
static void fill_bands(Scene *scene) {
    for (size_t band = 0; band < scene->bands; band++) {
        double wavelength = band_wavelength(scene, band);
        double t = (wavelength - 400.0) / 2100.0;
        for (size_t k = 0; k < MIXTURE; k++) {
            double random[8];
            for (size_t i = 0; i < 8; i++) {
                random[i] = hash_uniform(scene->seed, 1, k, i);
            }
            double level = 800.0 + 6500.0 * random[0];
            double shape =
                1.0 + 0.5 * (random[1] - 0.5) * cos(PI * t) + 0.5 * (random[2] - 0.5) * cos(2.0 * PI * t);
            double first = 0.7 * random[3] * bell(wavelength, 500.0 + 900.0 * random[4], 60.0);
            double second =
                0.7 * random[5] * bell(wavelength, 1500.0 + 900.0 * random[6], 40.0 + 60.0 * random[7]);
            scene->spectra[k * scene->bands + band] = (float)(level * shape * exp(-first - second));
        }
        scene->noise_sigma[band] =
            (float)(10.0 + 25.0 * exp(-20.0 * t) + 10.0 * bell(wavelength, 1000.0, 60.0) + 20.0 * t * t * t);
    }
}

static double smooth_step(double t) {
    return t * t * (3.0 - 2.0 * t);
}

/* Softmax of smooth random fields: sums to one, and each of the eight dominates somewhere. */
static void fill_abundances(const Scene *scene, size_t line, float *abundances) {
    size_t row = line / HILL;
    double v = smooth_step((double)(line % HILL) / HILL);
    for (size_t sample = 0; sample < scene->samples; sample++) {
        abundances[sample * MIXTURE] = 0.0f;
    }
    for (size_t k = 0; k < MIXTURE; k++) {
        double left = 0.0;
        double right = 0.0;
        for (size_t sample = 0; sample < scene->samples; sample++) {
            if (sample % HILL == 0) {
                size_t column = sample / HILL;
                for (size_t side = 0; side < 2; side++) {
                    double above = hash_uniform(scene->seed, 100 + k, row, column + side);
                    double below = hash_uniform(scene->seed, 100 + k, row + 1, column + side);
                    left = side == 0 ? (1.0 - v) * above + v * below : left;
                    right = (1.0 - v) * above + v * below;
                }
            }
            double u = smooth_step((double)(sample % HILL) / HILL);
            abundances[sample * MIXTURE + k] = (float)exp(9.0 * ((1.0 - u) * left + u * right));
        }
    }
    for (size_t sample = 0; sample < scene->samples; sample++) {
        float total = 0.0f;
        for (size_t k = 0; k < MIXTURE; k++) {
            total += abundances[sample * MIXTURE + k];
        }
        for (size_t k = 0; k < MIXTURE; k++) {
            abundances[sample * MIXTURE + k] /= total;
        }
    }
}

static uint64_t rotate_left(uint64_t value, int count) {
    return value << count | value >> (64 - count);
}

/* One line of values, pixel by pixel: values[sample][band]. */
static void fill_line(const Scene *scene, size_t line, float *abundances, float *restrict values) {
    fill_abundances(scene, line, abundances);
    uint64_t mixer = scene->seed + UINT64_C(0xd1b54a32d192ed03) * (line + 1);
    uint64_t s[4];
    for (int i = 0; i < 4; i++) {
        s[i] = splitmix64(&mixer);
    }
    size_t bands = scene->bands;
    for (size_t sample = 0; sample < scene->samples; sample++) {
        const float *mix = abundances + sample * MIXTURE;
        const float *spectra = scene->spectra;
        float *pixel = values + sample * bands;
        for (size_t band = 0; band < bands; band++) {
            float sum = 0.0f;
            for (size_t k = 0; k < MIXTURE; k++) {
                sum += mix[k] * spectra[k * bands + band];
            }
            pixel[band] = sum;
        }
        for (size_t first = 0; first < bands; first += 4) {
            /* xoshiro256** of Blackman and Vigna: 64 bits are four normal numbers. */
            uint64_t bits = rotate_left(s[1] * 5, 7) * 9;
            uint64_t t = s[1] << 17;
            s[2] ^= s[0];
            s[3] ^= s[1];
            s[1] ^= s[2];
            s[0] ^= s[3];
            s[2] ^= t;
            s[3] = rotate_left(s[3], 45);
            size_t end = first + 4 < bands ? first + 4 : bands;
            for (size_t band = first; band < end; band++) {
                pixel[band] += scene->noise_sigma[band] * scene->normals[bits & (NORMAL_COUNT - 1)];
                bits >>= NORMAL_BITS;
            }
        }
    }
}

/* Puts the values of one line into the file's type and order: [band][sample], with rows of `row` values, or
 * as is. */
static void store_line(const Scene *scene, const float *values, unsigned char *target, size_t row) {
    bool by_pixel = scene->interleave == BIP;
    /* Small tiles keep both sides of the transposition in the cache. */
    enum { TILE = 32 };
    for (size_t sample0 = 0; sample0 < scene->samples; sample0 += TILE) {
        size_t sample_end = sample0 + TILE < scene->samples ? sample0 + TILE : scene->samples;
        for (size_t band = 0; band < scene->bands; band++) {
            for (size_t sample = sample0; sample < sample_end; sample++) {
                size_t index = by_pixel ? sample * scene->bands + band : band * row + sample;
                float value = values[sample * scene->bands + band];
                if (scene->type == FLOAT32) {
                    ((float *)(void *)target)[index] = value;
                } else {
                    /* 1 at least: 0 often means nodata. */
                    int32_t number = (int32_t)(value + 0.5f);
                    number = value < 1.0f ? 1 : number > 32767 ? 32767 : number;
                    ((uint16_t *)(void *)target)[index] = (uint16_t)number;
                }
            }
        }
    }
}

static void write_at(int file, const char *path, const unsigned char *bytes, size_t count, size_t offset) {
    while (count > 0) {
        ssize_t written = pwrite(file, bytes, count, (off_t)offset);
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            fail("%s: cannot write: %s", path, strerror(written < 0 ? errno : ENOSPC));
        }
        bytes += written;
        count -= (size_t)written;
        offset += (size_t)written;
    }
}

static void write_data(const Scene *scene) {
    int file = open(scene->path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0) {
        fail("%s: %s", scene->path, strerror(errno));
    }
    size_t row_bytes = scene->samples * type_bytes[scene->type];
    size_t line_bytes = row_bytes * scene->bands;
    size_t chunk_lines = CHUNK_BYTES / line_bytes > 0 ? CHUNK_BYTES / line_bytes : 1;
    chunk_lines = chunk_lines < scene->lines ? chunk_lines : scene->lines;
    unsigned char *chunk = allocate(chunk_lines, line_bytes);
    float *values = allocate(scene->samples * scene->bands, sizeof *values);
    float *abundances = allocate(scene->samples * MIXTURE, sizeof *abundances);

    for (size_t first = 0; first < scene->lines; first += chunk_lines) {
        size_t count = scene->lines - first < chunk_lines ? scene->lines - first : chunk_lines;
        for (size_t i = 0; i < count; i++) {
            fill_line(scene, first + i, abundances, values);
            if (scene->interleave == BSQ) {
                /* The chunk holds its lines band by band, as the file does. */
                store_line(scene, values, chunk + i * row_bytes, count * scene->samples);
            } else {
                store_line(scene, values, chunk + i * line_bytes, scene->samples);
            }
        }
        if (scene->interleave == BSQ) {
            for (size_t band = 0; band < scene->bands; band++) {
                write_at(file, scene->path, chunk + band * count * row_bytes, count * row_bytes,
                         (band * scene->lines + first) * row_bytes);
            }
        } else {
            write_at(file, scene->path, chunk, count * line_bytes, first * line_bytes);
        }
    }
    if (close(file) != 0) {
        fail("%s: cannot write: %s", scene->path, strerror(errno));
    }
    free(chunk);
    free(values);
    free(abundances);
}

static void write_header(const Scene *scene) {
    /* OUT.img has the header OUT.hdr; a name without an extension gets one. */
    size_t length = strlen(scene->path);
    char *path = allocate(length + 5, 1);
    memcpy(path, scene->path, length + 1);
    char *dot = strrchr(path, '.');
    char *slash = strrchr(path, '/');
    char *end = dot && dot != path && (!slash || dot > slash + 1) ? dot : path + length;
    memcpy(end, ".hdr", 5);
    if (strcmp(path, scene->path) == 0) {
        fail("%s: the data file cannot have the name of its header", scene->path);
    }
    FILE *file = fopen(path, "w");
    if (!file) {
        fail("%s: %s", path, strerror(errno));
    }
    const uint16_t probe = 1;
    unsigned char first_byte;
    memcpy(&first_byte, &probe, 1);
    fprintf(file,
            "ENVI\ndescription = {\n Synthetic scene for measuring, made by make_bench_scene, seed %llu}\n"
            "samples = %zu\nlines = %zu\nbands = %zu\nheader offset = 0\nfile type = ENVI Standard\n"
            "data type = %d\ninterleave = %s\nbyte order = %d\n",
            (unsigned long long)scene->seed, scene->samples, scene->lines, scene->bands,
            envi_types[scene->type], interleave_names[scene->interleave], first_byte == 1 ? 0 : 1);
    fputs("map info = {UTM, 1, 1, 500000, 5500000, 20, 20, 33, North, WGS-84, units=Meters}\n"
          "wavelength units = Nanometers\nwavelength = {",
          file);
    for (size_t band = 0; band < scene->bands; band++) {
        fprintf(file, "%s%s%.2f", band == 0 ? "" : ",", band % 10 == 0 ? "\n " : " ",
                band_wavelength(scene, band));
    }
    fputs("}\n", file);
    bool failed = ferror(file) != 0;
    if (fclose(file) != 0 || failed) {
        fail("%s: cannot write: %s", path, strerror(errno));
    }
    free(path);
}

/* ---- the command line ---- */

static uint64_t parse_number(const char *name, const char *text, uint64_t smallest, uint64_t largest) {
    char *end;
    errno = 0;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < smallest || value > largest) {
        fail("%s must be a whole number from %llu to %llu, not '%s'", name, (unsigned long long)smallest,
             (unsigned long long)largest, text);
    }
    return value;
}

static int parse_name(const char *option, const char *text, const char *const *names) {
    for (int i = 0; names[i]; i++) {
        if (strcmp(text, names[i]) == 0) {
            return i;
        }
    }
    fail("%s: unknown value '%s'", option, text);
}

int main(int argc, char **argv) {
    Scene scene = {.type = UINT16, .interleave = BIL, .seed = 1};
    const char *positional[4];
    int count = 0;
    for (int i = 1; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0) {
            if (count == 4) {
                fail("unexpected argument '%s'", argv[i]);
            }
            positional[count++] = argv[i];
            continue;
        }
        const char *option = argv[i];
        if (i + 1 == argc) {
            fail("%s needs a value", option);
        }
        const char *value = argv[++i];
        if (strcmp(option, "--type") == 0) {
            scene.type = (ValueType)parse_name(option, value, type_names);
        } else if (strcmp(option, "--interleave") == 0) {
            scene.interleave = (Interleave)parse_name(option, value, interleave_names);
        } else if (strcmp(option, "--seed") == 0) {
            scene.seed = parse_number(option, value, 0, UINT64_MAX);
        } else {
            fail("unknown option %s", option);
        }
    }
    if (count != 4) {
        fputs("usage: make_bench_scene OUT.img LINES SAMPLES BANDS [--type uint16|int16|float32]\n"
              "                        [--interleave bil|bip|bsq] [--seed N]\n",
              stderr);
        return 2;
    }
    scene.path = positional[0];
    scene.lines = parse_number("LINES", positional[1], 1, 10000000);
    scene.samples = parse_number("SAMPLES", positional[2], 1, 1000000);
    scene.bands = parse_number("BANDS", positional[3], 1, 10000);
    scene.spectra = allocate(MIXTURE * scene.bands, sizeof *scene.spectra);
    scene.noise_sigma = allocate(scene.bands, sizeof *scene.noise_sigma);
    scene.normals = allocate(NORMAL_COUNT, sizeof *scene.normals);
    fill_normals(scene.normals);
    fill_bands(&scene);
    write_header(&scene);
    write_data(&scene);
    free(scene.spectra);
    free(scene.noise_sigma);
    free(scene.normals);
    return EXIT_SUCCESS;
}
