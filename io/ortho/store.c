/* The store holds [line][sample][band] as float32; a pixel that is masked holds NaN in every band, and one
 * that holds NaN in every band is masked.
 *
 * A line of the map needs pixels of many lines of the scene, a few of each: the paths of sensors are not
 * parallel to the lines of maps. So the map is made in strips of lines. The pixels of a strip are sorted by
 * their line in the scene, and of each of these lines the stretch that the strip needs is read once. */
#include "io/ortho/store.h"
#include "core/allocate.h"
#include "core/system/team.h"
#include "io/file.h"
#include "io/gdal/errors.h"
#include "io/gdal/remote.h"
#include "io/libraries.h"
#include "io/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STRIP_BYTES ((int64_t)24 << 20)
#define READERS_BYTES                                                                                        \
    ((int64_t)8 << 20) /* of lines that are read back at the same time, where lines allow                    \
                        */

struct HcOrthoStore {
    int64_t lines, samples;
    int32_t bands;
    float *memory; /* the whole store, or NULL */
    int file;      /* negative while there is none */
    char *partial; /* its name; NULL in memory and where another process has made it */
    char *name;    /* of the output or of the file, for messages */
    double held;   /* of the scratch folder, where the output goes to a server [bytes] */
    float *line;   /* [samples][bands] a line whose masked pixels are filled in */
};

static int64_t line_bytes(const HcOrthoStore *store) {
    return store->samples * store->bands * (int64_t)sizeof(float);
}

size_t hc_ortho_store_bytes(const HcScene *scene) {
    return (size_t)scene->lines * (size_t)scene->samples * (size_t)scene->bands * sizeof(float);
}

static HcStatus fail_file(const HcOrthoStore *store, const char *what, int number, HcError *err) {
    return hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: %s a temporary file of %.0f bytes failed: %s",
                   store->name, what, (double)store->lines * (double)line_bytes(store),
                   hc_scratch_reason(number));
}

/* ---- opening and filling ---- */

static HcStatus make(HcOrthoStore **out, const HcScene *scene, const char *name, HcError *err) {
    HcOrthoStore *store = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(store, 1, "a map", err));
    *out = store;
    *store =
        (HcOrthoStore){.lines = scene->lines, .samples = scene->samples, .bands = scene->bands, .file = -1};
    store->name = strdup(name);
    store->line = malloc((size_t)line_bytes(store));
    return store->name != NULL && store->line != NULL
               ? HC_OK
               : hc_fail_memory(err, (double)line_bytes(store), "a line of the scene");
}

HcStatus hc_ortho_store_open(HcOrthoStore **out, const HcScene *scene, const char *beside, HcError *err) {
    HcStatus status = HC_OK;
    HcOrthoStore *store = NULL;
    *out = NULL;
    HC_TRY(make(&store, scene, beside != NULL ? beside : "", err));
    if (beside == NULL) {
        store->memory = malloc(hc_ortho_store_bytes(scene));
        if (store->memory == NULL) {
            HC_TRY(hc_fail_memory(err, (double)hc_ortho_store_bytes(scene), "the scene behind a map"));
        }
    } else {
        store->held = hc_remote_is(beside) ? (double)store->lines * (double)line_bytes(store) : 0;
        if (!hc_scratch_hold(store->held)) {
            store->held = 0;
            HC_TRY(fail_file(store, "making", HC_SCRATCH_USED_UP, err));
        }
        HC_TRY(hc_file_partial(beside, &store->partial, err));
        store->file = open(store->partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (store->file < 0) {
            HC_TRY(fail_file(store, "making", errno, err));
        }
    }
    *out = store;
    store = NULL;
done:
    hc_ortho_store_close(store);
    return status;
}

HcStatus hc_ortho_store_join(HcOrthoStore **out, const HcScene *scene, const char *file, HcError *err) {
    HcStatus status = HC_OK;
    HcOrthoStore *store = NULL;
    *out = NULL;
    HC_TRY(make(&store, scene, file, err));
    store->file = open(file, O_RDWR | O_CLOEXEC);
    if (store->file < 0) {
        HC_TRY(fail_file(store, "opening", errno, err));
    }
    *out = store;
    store = NULL;
done:
    hc_ortho_store_close(store);
    return status;
}

void hc_ortho_store_close(HcOrthoStore *store) {
    if (store == NULL) {
        return;
    }
    if (store->file >= 0) {
        close(store->file);
    }
    if (store->partial != NULL) {
        hc_file_drop(store->partial);
    }
    hc_scratch_let_go(store->held);
    free(store->memory);
    free(store->partial);
    free(store->name);
    free(store->line);
    free(store);
}

const char *hc_ortho_store_file(const HcOrthoStore *store) {
    return store->partial;
}

/* A line of the block as it is stored. */
static const float *line_of(HcOrthoStore *store, const HcBlock *block, int32_t line) {
    size_t samples = (size_t)store->samples, bands = (size_t)store->bands;
    const float *values = block->data + (size_t)(block->above + line) * samples * bands;
    const uint8_t *mask = block->mask + (size_t)(block->above + line) * samples;
    if (memchr(mask, 0, samples) == NULL) {
        return values;
    }
    memcpy(store->line, values, samples * bands * sizeof *values);
    for (size_t s = 0; s < samples; s++) {
        for (size_t b = 0; b < bands && mask[s] == 0; b++) {
            store->line[s * bands + b] = NAN;
        }
    }
    return store->line;
}

HcStatus hc_ortho_store_put(HcOrthoStore *store, const HcBlock *block, HcError *err) {
    size_t bytes = (size_t)line_bytes(store);
    for (int32_t l = 0; l < block->lines; l++) {
        const float *line = line_of(store, block, l);
        int64_t at = (block->line0 + l) * (int64_t)bytes;
        if (store->memory != NULL) {
            memcpy((char *)store->memory + at, line, bytes);
            continue;
        }
        int number = hc_scratch_write(store->file, at, line, bytes);
        if (number != 0) {
            return fail_file(store, "writing", number, err);
        }
    }
    return HC_OK;
}

HcStatus hc_ortho_store_flush(HcOrthoStore *store, HcError *err) {
    if (store->file < 0) {
        return HC_OK;
    }
    /* Opened again, since file systems that hosts share look for what others wrote when a file is opened. */
    int file = store->file;
    store->file = -1;
    if (close(file) != 0) {
        return fail_file(store, "writing", errno, err);
    }
    const char *name = store->partial != NULL ? store->partial : store->name;
    store->file = open(name, O_RDWR | O_CLOEXEC);
    return store->file >= 0 ? HC_OK : fail_file(store, "opening", errno, err);
}

/* ---- strips of the map ---- */

typedef struct Strip {
    HcOrthoStore *store;
    HcTeam *team;
    int64_t samples, rows; /* of the map; the most lines of a strip */
    HcOrthoPixel *pixel;   /* [rows][samples] */
    HcBlock block;         /* the same */
    int32_t *order;        /* the same: places in the strip, sorted by line of the scene */
    int64_t *begin;        /* [lines of the scene + 1] where those of a line begin in `order` */
    int64_t first, last;   /* lines of the scene that the strip needs */
    float **workspace;     /* [threads] a line of the scene */
    int32_t threads;
    pthread_mutex_t lock;
    bool failed;
    int error; /* of the first that failed */
} Strip;

/* Bytes of a pixel of the map in a strip. */
static int64_t pixel_bytes(const HcScene *scene) {
    return scene->bands * (int64_t)sizeof(float) + 1 + (int64_t)sizeof(HcOrthoPixel) +
           (int64_t)sizeof(int32_t);
}

static int64_t strip_rows(const HcScene *scene, int64_t lines, int64_t samples) {
    int64_t most = hc_min64(STRIP_BYTES / (pixel_bytes(scene) * samples), INT32_MAX / samples);
    return hc_max64(1, hc_min64(lines, most));
}

static int32_t threads_for(int64_t line) {
    int64_t most = hc_max64(1, hc_min64(HC_IO_THREADS, READERS_BYTES / line));
    return hc_team_count(0, (int32_t)most);
}

size_t hc_ortho_write_bytes(const HcScene *scene, const HcOrtho *ortho) {
    HcOrthoFacts facts = hc_ortho_facts(ortho);
    int64_t line = scene->samples * scene->bands * (int64_t)sizeof(float);
    int64_t strip = strip_rows(scene, facts.lines, facts.samples) * facts.samples * pixel_bytes(scene);
    return (size_t)(strip + (threads_for(line) + 1) * line + (scene->lines + 1) * (int64_t)sizeof(int64_t));
}

static void close_strip(Strip *strip) {
    hc_team_close(strip->team);
    free(strip->pixel);
    free(strip->block.data);
    free(strip->block.mask);
    free(strip->order);
    free(strip->begin);
    for (int32_t t = 0; strip->workspace != NULL && t < strip->threads; t++) {
        free(strip->workspace[t]);
    }
    free(strip->workspace);
    pthread_mutex_destroy(&strip->lock);
}

static HcStatus open_strip(Strip *strip, HcOrthoStore *store, const HcOrthoFacts *facts, HcError *err) {
    const HcScene shape = {.lines = store->lines, .samples = store->samples, .bands = store->bands};
    *strip = (Strip){.store = store, .samples = facts->samples};
    pthread_mutex_init(&strip->lock, NULL);
    strip->rows = strip_rows(&shape, facts->lines, facts->samples);
    strip->threads = threads_for(line_bytes(store));
    strip->team = hc_team_open(strip->threads);
    strip->block = (HcBlock){.samples = (int32_t)facts->samples, .bands = store->bands};
    size_t pixels = (size_t)(strip->rows * strip->samples);
    HC_OR_RETURN(hc_new(strip->pixel, pixels, "lines of a map", err));
    HC_OR_RETURN(hc_new(strip->order, pixels, "lines of a map", err));
    HC_OR_RETURN(hc_new(strip->block.mask, pixels, "lines of a map", err));
    HC_OR_RETURN(hc_new(strip->block.data, pixels * (size_t)store->bands, "lines of a map", err));
    HC_OR_RETURN(hc_new(strip->begin, store->lines + 1, "lines of a map", err));
    HC_OR_RETURN(hc_new(strip->workspace, strip->threads, "lines of a map", err));
    for (int32_t t = 0; t < strip->threads && store->memory == NULL; t++) {
        HC_OR_RETURN(hc_new(strip->workspace[t], store->samples * store->bands, "lines of a map", err));
    }
    return HC_OK;
}

/* Counting sort: `order` gets the pixels that have one of the scene, by its line. */
static void sort_pixels(Strip *strip, int64_t count) {
    int64_t *begin = strip->begin, next = 0;
    strip->first = strip->store->lines;
    strip->last = -1;
    memset(begin, 0, (size_t)(strip->store->lines + 1) * sizeof *begin);
    for (int64_t p = 0; p < count; p++) {
        int64_t line = strip->pixel[p].line;
        if (line >= 0) {
            begin[line + 1]++;
            strip->first = hc_min64(strip->first, line);
            strip->last = hc_max64(strip->last, line);
        }
    }
    for (int64_t line = 0; line <= strip->store->lines; line++) {
        next += begin[line];
        begin[line] = next;
    }
    for (int64_t p = 0; p < count; p++) {
        if (strip->pixel[p].line >= 0) {
            strip->order[begin[strip->pixel[p].line]++] = (int32_t)p;
        }
    }
    /* Each now stands where the next begins. */
    memmove(begin + 1, begin, (size_t)strip->store->lines * sizeof *begin);
    begin[0] = 0;
}

static void put_pixel(Strip *strip, int64_t at, const float *from) {
    size_t bands = (size_t)strip->store->bands;
    float *to = strip->block.data + (size_t)at * bands;
    bool valid = false;
    for (size_t b = 0; b < bands && !valid; b++) {
        valid = !isnan(from[b]);
    }
    strip->block.mask[at] = valid;
    if (valid) {
        memcpy(to, from, bands * sizeof *to);
    }
}

/* All pixels of a strip that lie in one line of the scene. */
static void fill_from_line(void *user, int64_t item, int32_t thread) {
    Strip *strip = user;
    const HcOrthoStore *store = strip->store;
    int64_t line = strip->first + item, bands = store->bands;
    int64_t from = strip->begin[line], end = strip->begin[line + 1];
    int64_t least = store->samples, most = -1;
    for (int64_t i = from; i < end; i++) {
        least = hc_min64(least, strip->pixel[strip->order[i]].sample);
        most = hc_max64(most, strip->pixel[strip->order[i]].sample);
    }
    if (most < 0) {
        return;
    }
    const float *values = store->memory != NULL ? store->memory + (line * store->samples + least) * bands
                                                : strip->workspace[thread];
    if (store->memory == NULL) {
        int64_t each = bands * (int64_t)sizeof(float);
        int number = hc_scratch_read(store->file, line * line_bytes(store) + least * each,
                                     strip->workspace[thread], (size_t)((most - least + 1) * each));
        if (number != 0) {
            pthread_mutex_lock(&strip->lock);
            strip->error = strip->failed ? strip->error : number;
            strip->failed = true;
            pthread_mutex_unlock(&strip->lock);
            return;
        }
    }
    for (int64_t i = from; i < end; i++) {
        int32_t at = strip->order[i];
        put_pixel(strip, at, values + (strip->pixel[at].sample - least) * bands);
    }
}

static HcStatus write_strip(Strip *strip, const HcOrtho *ortho, int64_t line0, int64_t lines,
                            HcWriter *writer, HcError *err) {
    int64_t count = lines * strip->samples;
    HC_OR_RETURN(hc_ortho_lines(ortho, line0, lines, strip->pixel, err));
    sort_pixels(strip, count);
    memset(strip->block.data, 0, (size_t)(count * strip->block.bands) * sizeof(float));
    memset(strip->block.mask, 0, (size_t)count);
    hc_team_run(strip->team, hc_max64(0, strip->last - strip->first + 1), fill_from_line, strip);
    if (strip->failed) {
        return fail_file(strip->store, "reading", strip->error, err);
    }
    strip->block.line0 = line0;
    strip->block.lines = (int32_t)lines;
    return hc_writer_write(writer, &strip->block, err);
}

HcStatus hc_ortho_store_write(HcOrthoStore *store, const HcOrtho *ortho, HcWriter *writer,
                              const HcFlag *cancel, HcError *err) {
    HcStatus status = HC_OK;
    HcOrthoFacts facts = hc_ortho_facts(ortho);
    Strip strip;
    HC_TRY(open_strip(&strip, store, &facts, err));
    for (int64_t line = 0; line < facts.lines; line += strip.rows) {
        if (hc_flag(cancel) != 0) {
            HC_TRY(hc_fail(err, HC_E_CANCELLED, "interrupted while the map was written"));
        }
        HC_TRY(write_strip(&strip, ortho, line, hc_min64(strip.rows, facts.lines - line), writer, err));
    }
done:
    close_strip(&strip);
    return status;
}
