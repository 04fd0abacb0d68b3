/* The scene from file to file, as hcube run takes it: several times in one process, by one open backend. */
#include "bench/internal.h"
#include "core/allocate.h"
#include "core/system/clock.h"
#include "pipeline/run/run.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum {
    FURTHER = 5, /* runs after the first */
    READERS = 16,
    PIECE = 1 << 20
};

/* The files of the row, all in a folder of their own. */
typedef struct Files {
    char folder[256];
    char *scene, *scene_header, *output, *output_header;
} Files;

static double input_bytes(const HcRig *rig) {
    return 2.0 * (double)rig->settings->lines * rig->settings->samples * rig->settings->bands;
}

static double output_bytes(const HcRig *rig) {
    return 4.0 * (double)rig->settings->lines * rig->settings->samples * rig->settings->components;
}

/* ---- the files ---- */

static HcStatus fail_file(const char *path, HcError *err) {
    return hc_fail(err, HC_E_IO, "%s: %s", path, strerror(errno));
}

static HcStatus name_files(Files *files, const char *base, HcError *err) {
    snprintf(files->folder, sizeof files->folder, "%.200s/hcube-bench-XXXXXX", base);
    if (mkdtemp(files->folder) == NULL) {
        HcStatus status = fail_file(files->folder, err);
        files->folder[0] = '\0';
        return status;
    }
    files->scene = hc_text_format("%s/scene.img", files->folder);
    files->scene_header = hc_text_format("%s/scene.hdr", files->folder);
    files->output = hc_text_format("%s/components.img", files->folder);
    files->output_header = hc_text_format("%s/components.hdr", files->folder);
    if (files->scene == NULL || files->scene_header == NULL || files->output == NULL ||
        files->output_header == NULL) {
        return hc_fail_memory(err, 0, "a file name");
    }
    return HC_OK;
}

static void remove_output(const Files *files) {
    unlink(files->output);
    unlink(files->output_header);
}

static void remove_files(Files *files) {
    if (files->output_header != NULL) {
        remove_output(files);
        unlink(files->scene);
        unlink(files->scene_header);
    }
    if (files->folder[0] != '\0') {
        rmdir(files->folder);
    }
    free(files->scene);
    free(files->scene_header);
    free(files->output);
    free(files->output_header);
}

static HcStatus write_all(FILE *file, const HcRig *rig, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    const HcBenchSettings *settings = rig->settings;
    const int64_t values = settings->lines * settings->samples * settings->bands;
    const int64_t chunk = (int64_t)1 << 20;
    uint16_t *data = NULL;
    HC_OR_RETURN(hc_new(data, chunk, "values of the scene", err));
    for (int64_t first = 0; first < values; first += chunk) {
        size_t count = (size_t)(values - first < chunk ? values - first : chunk);
        hc_bench_random(settings, first, (int64_t)count, data);
        if (fwrite(data, sizeof *data, count, file) != count) {
            HC_TRY(fail_file(path, err));
        }
    }
done:
    free(data);
    return status;
}

/* With a place and wavelengths, as scenes have them: they take their time too. */
static HcStatus write_header(FILE *file, const HcRig *rig, const char *path, HcError *err) {
    const uint16_t probe = 1;
    const HcBenchSettings *settings = rig->settings;
    fprintf(file,
            "ENVI\nsamples = %d\nlines = %lld\nbands = %d\nheader offset = 0\n"
            "file type = ENVI Standard\ndata type = 12\ninterleave = bil\nbyte order = %d\n"
            "map info = {UTM, 1, 1, 500000, 5500000, 20, 20, 33, North, WGS-84, units=Meters}\n"
            "wavelength units = Nanometers\nwavelength = {\n",
            settings->samples, (long long)settings->lines, settings->bands,
            *(const uint8_t *)&probe == 1 ? 0 : 1);
    for (int32_t b = 0; b < settings->bands; b++) {
        fprintf(file, " %.2f%s", 400 + 2100.0 * b / settings->bands, b + 1 < settings->bands ? ",\n" : "}\n");
    }
    return ferror(file) ? fail_file(path, err) : HC_OK;
}

static HcStatus write_file(const HcRig *rig, const char *path,
                           HcStatus (*content)(FILE *, const HcRig *, const char *, HcError *),
                           HcError *err) {
    FILE *file = fopen(path, "wbe");
    if (file == NULL) {
        return fail_file(path, err);
    }
    HcStatus status = content(file, rig, path, err);
    if (fclose(file) != 0 && status == HC_OK) {
        status = fail_file(path, err);
    }
    return status;
}

/* ---- the floor: the bytes of the file, read by all threads ---- */

typedef struct Reading {
    int file;
    int64_t begin, end;
    bool started, failed;
    pthread_t thread;
} Reading;

static void *read_part(void *user) {
    Reading *reading = user;
    char *buffer = malloc(PIECE);
    reading->failed = buffer == NULL;
    for (int64_t at = reading->begin; at < reading->end && !reading->failed;) {
        int64_t left = reading->end - at;
        ssize_t got = pread(reading->file, buffer, (size_t)(left < PIECE ? left : PIECE), at);
        reading->failed = got <= 0 && errno != EINTR;
        at += got > 0 ? got : 0;
    }
    free(buffer);
    return NULL;
}

static bool read_by_threads(int file, int64_t bytes, int32_t threads) {
    Reading reading[READERS];
    bool fine = true;
    for (int32_t t = 0; t < threads; t++) {
        reading[t] = (Reading){.file = file, .begin = bytes * t / threads, .end = bytes * (t + 1) / threads};
        reading[t].started = pthread_create(&reading[t].thread, NULL, read_part, &reading[t]) == 0;
        if (!reading[t].started) {
            read_part(&reading[t]);
        }
    }
    for (int32_t t = 0; t < threads; t++) {
        if (reading[t].started) {
            pthread_join(reading[t].thread, NULL);
        }
        fine = fine && !reading[t].failed;
    }
    return fine;
}

/* Seconds, the best of a few; into the cache of the processors, so that no memory but the file's is waited
 * for. */
static HcStatus time_reading(const HcRig *rig, const char *path, double *seconds, HcError *err) {
    int32_t threads = rig->device->info.threads < READERS ? rig->device->info.threads : READERS;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return fail_file(path, err);
    }
    bool fine = true;
    for (int round = 0; round < HC_RIG_ROUNDS && fine; round++) {
        double start = hc_now();
        fine = read_by_threads(file, (int64_t)input_bytes(rig), threads < 1 ? 1 : threads);
        double taken = hc_now() - start;
        *seconds = round == 0 || taken < *seconds ? taken : *seconds;
    }
    close(file);
    return fine ? HC_OK : hc_fail(err, HC_E_IO, "%s: cannot be read", path);
}

/* ---- the runs ---- */

static HcStatus run_once(const HcRig *rig, const Files *files, double *seconds, HcError *err) {
    HcStatus status = HC_OK;
    HcChain *chain = NULL;
    HcRunReport report;
    HcRunSettings how = {.record = "none"};
    char components[16];
    snprintf(components, sizeof components, "%d", rig->settings->components);
    const char *const words[] = {"read",    files->scene, "!", "mnf",   "--components", components,
                                 "--noise", "mean3x3",    "!", "write", files->output};
    remove_output(files); /* as of many scenes: every one has an output of its own */
    double start = hc_now();
    HC_TRY(hc_chain_parse(&chain, words, sizeof words / sizeof *words, NULL, err));
    HC_TRY(hc_run(chain, rig->compute, &how, &report, err));
done:
    hc_chain_free(chain);
    *seconds = hc_now() - start;
    return status;
}

/* [band][line][sample] as [line][sample][band]. */
static HcStatus read_output(const HcRig *rig, const char *path, float *to, HcError *err) {
    HcStatus status = HC_OK;
    size_t pixels = (size_t)rig->settings->lines * (size_t)rig->settings->samples;
    size_t bands = (size_t)rig->settings->components;
    float *band = malloc(pixels * sizeof *band);
    FILE *file = fopen(path, "rbe");
    if (band == NULL || file == NULL) {
        HC_TRY(band == NULL ? hc_fail_memory(err, (double)pixels * sizeof *band, path)
                            : fail_file(path, err));
    }
    for (size_t b = 0; b < bands; b++) {
        if (fread(band, sizeof *band, pixels, file) != pixels) {
            HC_TRY(hc_fail(err, HC_E_IO, "%s: ends too early", path));
        }
        for (size_t p = 0; p < pixels; p++) {
            to[p * bands + b] = band[p];
        }
    }
done:
    if (file != NULL) {
        fclose(file);
    }
    free(band);
    return status;
}

/* Where the serial reference saw the whole scene. */
static HcStatus check_output(const HcRig *rig, const Files *files, HcBenchRow *row, HcError *err) {
    HcStatus status = HC_OK;
    const HcBenchWitness *witness = rig->bench->witness;
    if (witness == NULL || witness->lines != rig->settings->lines ||
        witness->component_count != rig->settings->components) {
        return HC_OK;
    }
    size_t count = (size_t)witness->lines * (size_t)rig->settings->samples * (size_t)witness->component_count;
    float *values = NULL;
    HC_OR_RETURN(hc_new(values, count, "the components", err));
    HC_TRY(read_output(rig, files->output, values, err));
    hc_rig_compare_host(values, witness->components, count, 1e-6, row);
done:
    free(values);
    return status;
}

/* ---- the rows ---- */

/* The seconds of another row by the same backend, 0 where it was not measured. */
static double seconds_of(const HcRig *rig, const char *operation) {
    const HcBench *bench = rig->bench;
    for (int32_t r = 0; r < bench->row_count; r++) {
        if (strcmp(bench->rows[r].operation, operation) == 0 &&
            strcmp(bench->rows[r].by, rig->device->by) == 0) {
            return bench->rows[r].seconds;
        }
    }
    return 0;
}

static HcBenchRow *add_row(const HcRig *rig, const char *operation, const char *how, double reading) {
    HcBenchRow *row = hc_bench_row(rig->bench, operation, rig->device->by, rig->settings->lines);
    double upload = seconds_of(rig, "upload");
    snprintf(row->how, sizeof row->how, "%s", how);
    row->bytes = input_bytes(rig);
    row->floor = reading > upload ? reading : upload;
    row->floor_of = reading > upload ? "reading" : "upload";
    return row;
}

static HcStatus first_row(HcRig *rig, const Files *files, double reading, HcError *err) {
    double seconds = 0;
    if (!hc_bench_wants(rig->bench, "scene-first")) {
        return run_once(rig, files, &seconds, err);
    }
    HcBenchRow *row = add_row(rig, "scene-first", "file to file, page cache warm, first run", reading);
    HC_OR_RETURN(run_once(rig, files, &seconds, err));
    row->seconds = row->least = row->most = seconds;
    return check_output(rig, files, row, err);
}

static HcStatus further_row(HcRig *rig, const Files *files, double reading, HcError *err) {
    double seconds[FURTHER];
    int32_t wanted = rig->settings->repetitions;
    if (!hc_bench_wants(rig->bench, "scene")) {
        return HC_OK;
    }
    HcBenchRow *row = add_row(rig, "scene", "file to file, page cache warm, further runs", reading);
    row->rounds = wanted > 0 && wanted < FURTHER ? wanted : FURTHER;
    for (int32_t r = 0; r < row->rounds; r++) {
        HC_OR_RETURN(run_once(rig, files, &seconds[r], err));
    }
    hc_bench_take_times(row, seconds);
    return check_output(rig, files, row, err);
}

/* Whether the files have space, else a note that says so. */
static bool has_space(const HcRig *rig, const char *base) {
    struct statvfs info;
    char texts[2][24];
    double needed = input_bytes(rig) + output_bytes(rig);
    if (statvfs(base, &info) != 0) {
        return true; /* then writing will say what is wrong */
    }
    double free_bytes = (double)info.f_bavail * (double)info.f_frsize;
    if (free_bytes > 1.1 * needed) {
        return true;
    }
    snprintf(rig->bench->note, sizeof rig->bench->note,
             "scene is left out: %s has %s of room (TMPDIR), %s are needed", base,
             hc_text_bytes(texts[0], sizeof texts[0], free_bytes),
             hc_text_bytes(texts[1], sizeof texts[1], needed));
    return false;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    Files files = {0};
    double reading = 0;
    const char *base = getenv("TMPDIR");
    base = base != NULL && *base != '\0' ? base : "/tmp";
    if (!has_space(rig, base)) {
        return HC_OK;
    }
    HC_TRY(name_files(&files, base, err));
    HC_TRY(write_file(rig, files.scene, write_all, err));
    HC_TRY(write_file(rig, files.scene_header, write_header, err));
    HC_TRY(time_reading(rig, files.scene, &reading, err));
    HC_TRY(first_row(rig, &files, reading, err));
    HC_TRY(further_row(rig, &files, reading, err));
done:
    remove_files(&files);
    return status;
}

const HcBenchPart hc_bench_scene = {
    .measure = measure,
    .rows = (const HcBenchKind[]){{"scene-first", HC_BENCH_NEAR}, {"scene", HC_BENCH_NEAR}, {0}}};
