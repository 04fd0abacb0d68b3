/* What an open reader says of its scene, and its lines. The method was chosen when the file was opened; each
 * call goes to it here, so that no caller knows which one it is. A failure is explained by what is true
 * first: a file that has changed, then what GDAL could not read, also where it reports success. */
#include "io/file.h"
#include "io/identity.h"
#include "io/read/parts.h"
#include "io/scratch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const HcScene *hc_reader_scene(const HcReader *reader) {
    return &reader->scene;
}

const double *hc_reader_band_nodata(const HcReader *reader) {
    return reader->band_nodata;
}

bool hc_reader_nodata(const HcReader *reader, int32_t band, double *nodata) {
    const HcScene *scene = hc_reader_scene(reader);
    const double *each = reader->band_nodata;
    bool has = each != NULL ? !isnan(each[band]) : scene->has_nodata;
    *nodata = each != NULL ? each[band] : has ? scene->nodata : NAN;
    return has;
}

const char *hc_reader_flaw(const HcReader *reader) {
    return reader->flaw;
}

bool hc_reader_through_gdal(const HcReader *reader) {
    return !reader->direct && reader->chunks == NULL && !hc_read_by_product(reader);
}

bool hc_reader_direct(const HcReader *reader) {
    return reader->direct && reader->remote == NULL;
}

int32_t hc_reader_threads(const HcReader *reader, bool alone) {
    enum { THREADS_MAX = 24 }; /* they wait for copies, too: more than bring lines together */
    return alone ? hc_team_count(reader->options.threads, THREADS_MAX)
                 : hc_io_threads(reader->options.threads);
}

bool hc_reader_skips_lines(const HcReader *reader) {
    bool raw =
        reader->chunks != NULL && reader->layout.path != NULL && hc_chunks_index(reader->chunks)->pieces;
    return (raw || reader->chunks == NULL) && !hc_read_by_product(reader);
}

/* Arrays whose lines are the fastest axis have all lines in a chunk. Where memory is too small for that, GDAL
 * reads them. */
static size_t settle_product(HcReader *reader, int32_t halo, double bytes, bool repeats) {
    reader->product->line_end = reader->line_end;
    size_t needed =
        hc_product_settle_chunks(reader->product, reader->threads, 2 * (int64_t)halo, bytes, repeats);
    char *method = (double)needed > bytes && !reader->started ? strdup("GDAL arrays") : NULL;
    if (method == NULL) {
        return needed;
    }
    for (int32_t a = 0; a < reader->product->array_count; a++) {
        hc_product_close_chunks(&reader->product->array[a]);
    }
    free(reader->method);
    reader->method = method;
    return 0;
}

size_t hc_reader_settle(HcReader *reader, int32_t halo, double bytes, bool repeats) {
    if (hc_read_by_product(reader)) {
        bool chunked = reader->product->array[0].chunks != NULL;
        return chunked ? settle_product(reader, halo, bytes, repeats) : 0;
    }
    if (reader->chunks == NULL) {
        return 0;
    }
    const int64_t again = 2 * (int64_t)halo;
    HcChunkPlan plan = repeats
                           ? hc_chunks_plan_again(reader->chunks, reader->threads, again, bytes)
                           : hc_chunks_plan(hc_chunks_index(reader->chunks), reader->threads, again, bytes);
    hc_chunks_plan_ahead(&plan, hc_chunks_index(reader->chunks), reader->line_end, bytes);
    hc_chunks_settle(reader->chunks, &plan);
    return hc_chunks_settled(reader->chunks)->bytes;
}

static void add_chunk_way(const HcReader *reader, const HcChunks *chunks, HcText *text) {
    const HcChunkIndex *index = hc_chunks_index(chunks);
    const HcChunkPlan *plan = hc_chunks_settled(chunks);
    char bytes[32];
    hc_text_add(text,
                "%s of %" PRId64 " lines x %" PRId64 " samples x %" PRId64
                " bands, each decoded once %s by %" PRId32 " thread%s; ",
                reader->method, index->shape[HC_AXIS_LINE], index->shape[HC_AXIS_SAMPLE],
                index->shape[HC_AXIS_BAND], plan->rows > 0 ? "a pass" : "in all", plan->threads,
                plan->threads == 1 ? "" : "s");
    if (plan->rows > 0) {
        hc_text_add(text, "%" PRId64 " row%s of chunks in memory, %s in all", plan->rows,
                    plan->rows == 1 ? "" : "s", hc_text_bytes(bytes, sizeof bytes, (double)plan->bytes));
    } else {
        double all = (double)reader->scene.lines * (double)hc_chunks_bytes(chunks, 1);
        hc_text_add(text, "a scratch file of %s in %s", hc_text_bytes(bytes, sizeof bytes, all),
                    hc_scratch_folder());
    }
}

void hc_reader_way(const HcReader *reader, HcText *text) {
    const HcProduct *product = hc_read_by_product(reader) ? reader->product : NULL;
    if (reader->chunks != NULL) {
        add_chunk_way(reader, reader->chunks, text);
    } else if (product != NULL && product->array[0].chunks != NULL) {
        for (int32_t a = 0; a < product->array_count; a++) {
            hc_text_add(text, "%s", a > 0 ? "; then " : "");
            add_chunk_way(reader, product->array[a].chunks, text);
        }
    } else {
        hc_text_add(text, "%s%s%s", reader->direct ? "" : "through ", reader->method,
                    reader->map != NULL ? ", mapped" : "");
    }
}

const char *hc_reader_mask(const HcReader *reader) {
    return reader->mask_name;
}

const char *hc_reader_name(const HcReader *reader) {
    const char *slash = strrchr(reader->name, '/');
    return slash != NULL && slash[1] != '\0' ? slash + 1 : reader->name;
}

const char *hc_reader_path(const HcReader *reader) {
    return reader->path;
}

const char *hc_reader_method(const HcReader *reader) {
    return reader->method;
}

const char *hc_reader_product(const HcReader *reader) {
    return reader->product != NULL ? reader->product->name : NULL;
}

const char *hc_reader_version(const HcReader *reader) {
    return reader->product != NULL ? reader->product->version : NULL;
}

const char *hc_reader_news(const HcReader *reader) {
    return reader->product != NULL && reader->product->news.length > 0 ? reader->product->news.data : NULL;
}

const char *hc_reader_unit(const HcReader *reader) {
    return reader->unit;
}

const char *hc_reader_note(const HcReader *reader) {
    return reader->note.data;
}

void hc_reader_identity(const HcReader *reader, int64_t *size, int64_t *modified) {
    HcIdentity whole = {.bytes = reader->size, .seconds = reader->modified};
    HcError unimportant = {0};
    if (hc_file_is_store(reader->path)) { /* looked at when it is asked for */
        (void)!hc_identity_of(reader->path, false, &whole, &unimportant);
    }
    *size = whole.bytes;
    *modified = whole.seconds;
}

static HcStatus check_bands(const HcReader *reader, const int32_t *index, int32_t count, HcError *err) {
    int32_t bands = reader->scene.bands;
    if (reader->started) {
        return hc_fail(err, HC_E_USAGE, "%s: bands must be chosen before the first read", reader->path);
    }
    if (count < 1 || count > bands) {
        return hc_fail(err, HC_E_USAGE, "%s: %" PRId32 " bands chosen of %" PRId32, reader->path, count,
                       bands);
    }
    for (int32_t k = 0; k < count; k++) {
        if (index[k] < 0 || index[k] >= bands || (k > 0 && index[k] <= index[k - 1])) {
            return hc_fail(err, HC_E_USAGE,
                           "%s: band index %" PRId32 " is out of order or not below %" PRId32, reader->path,
                           index[k], bands);
        }
    }
    return HC_OK;
}

/* Which band of the file a band of the scene is. */
static int32_t file_band(const HcReader *reader, int32_t band) {
    return reader->order != NULL ? reader->order[band] : band;
}

bool hc_reader_is_zero(const HcReader *reader, int64_t line, int64_t sample, int32_t band) {
    return hc_read_direct_is_zero(reader, line, sample, file_band(reader, band));
}

HcStatus hc_reader_use_bands(HcReader *reader, const int32_t *index, int32_t count, HcError *err) {
    int32_t bands = reader->scene.bands, kept = 0;
    HC_OR_RETURN(check_bands(reader, index, count, err));
    int32_t *used = malloc((size_t)count * sizeof *used);
    int32_t *stored = malloc((size_t)bands * sizeof *stored);
    if (used == NULL || stored == NULL) {
        free(used);
        free(stored);
        return hc_fail_memory(err, (double)bands * sizeof *stored, "a list of bands");
    }
    memset(stored, 0xFF, (size_t)bands * sizeof *stored);
    for (int32_t k = 0; k < count; k++) {
        stored[file_band(reader, index[k])] = 0;
    }
    for (int32_t b = 0; b < bands; b++) {
        if (stored[b] == 0) {
            stored[b] = kept;
            used[kept++] = b;
        }
    }
    free(reader->used);
    free(reader->stored);
    reader->used = used;
    reader->used_count = count;
    reader->stored = stored;
    if (hc_read_by_product(reader)) {
        return hc_product_use(reader->product, used, count, err);
    }
    return reader->chunks != NULL ? hc_chunks_use(reader->chunks, used, count, err) : HC_OK;
}

void hc_reader_expect_lines(HcReader *reader, int64_t end) {
    reader->line_end = end;
}

HcStatus hc_reader_use_samples(HcReader *reader, int64_t sample0, int64_t samples, HcError *err) {
    if (reader->started || samples < 1 || sample0 < 0 || samples > reader->scene.samples - sample0) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: samples %" PRId64 " to %" PRId64 " are not among its %" PRId64
                       ", or it is read already",
                       reader->path, sample0, sample0 + samples - 1, reader->scene.samples);
    }
    reader->sample0 = sample0;
    reader->samples = samples;
    if (reader->chunks != NULL) {
        hc_chunks_use_samples(reader->chunks, sample0, samples);
    } else if (hc_read_by_product(reader)) {
        reader->product->sample0 = sample0;
        reader->product->samples = samples;
        return hc_product_use(reader->product, reader->used, hc_read_used_count(reader), err);
    }
    hc_read_direct_advise(reader);
    return HC_OK;
}

int32_t hc_reader_stored_band(const HcReader *reader, int32_t band) {
    if (hc_read_by_product(reader)) {
        return hc_read_product_band(reader, band);
    }
    bool all =
        reader->stored == NULL || (reader->direct && hc_read_direct_all_bands(reader)) || reader->map != NULL;
    return all ? file_band(reader, band) : reader->stored[file_band(reader, band)];
}

/* A multiple of 8: callers put more after the lines. */
size_t hc_reader_bytes(const HcReader *reader, int64_t lines) {
    if (reader->map != NULL) {
        return 0;
    }
    size_t bytes = hc_read_by_product(reader) ? hc_read_product_bytes(reader, lines)
                   : reader->direct           ? hc_read_direct_bytes(reader, lines)
                                              : hc_read_gdal_bytes(reader, lines);
    return (bytes + 7) & ~(size_t)7;
}

HcStatus hc_reader_unchanged(const HcReader *reader, HcError *err) {
    HC_OR_RETURN(hc_watch_check(&reader->watch, err));
    if (hc_read_map_lost(reader)) {
        return hc_fail(err, HC_E_IO, "%s: the disk failed while the file was in use", reader->path);
    }
    return hc_proj_check(reader->proj_failures, false, err);
}

static HcStatus read_lines(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                           HcError *err) {
    *raw = (HcRaw){0};
    if (line0 < 0 || lines < 1 || line0 > reader->scene.lines - lines) {
        return hc_fail(err, HC_E_USAGE, "%s: lines %" PRId64 " to %" PRId64 " are not among its %" PRId64,
                       reader->path, line0, line0 + lines - 1, reader->scene.lines);
    }
    reader->started = true;
    if (reader->map != NULL) {
        HC_OR_RETURN(hc_read_map_lines(reader, line0, lines, raw, err));
    } else if (hc_read_by_product(reader)) {
        HC_OR_RETURN(hc_read_product_lines(reader, line0, lines, to, raw, err));
    } else if (reader->direct) {
        HC_OR_RETURN(hc_read_direct_lines(reader, line0, lines, to, raw, err));
    } else if (reader->chunks != NULL) {
        HC_OR_RETURN(hc_chunks_read(reader->chunks, line0, lines, to, raw, err));
    } else {
        HC_OR_RETURN(hc_read_gdal_lines(reader, line0, lines, to, raw, err));
    }
    hc_read_mark_invalid(reader, raw, to);
    return HC_OK;
}

/* A change of the file explains a failure to read it; so does what GDAL could not read, also where it says
 * that it succeeded. */
static HcStatus explain(const HcReader *reader, HcStatus status, const HcError *failure, HcError *err) {
    HcError lost = {0}, change = {0};
    HcStatus noted = hc_gdal_files_check(reader->mark, &lost);
    if (status == HC_OK && noted == HC_OK) {
        return HC_OK;
    }
    if ((status == HC_E_IO || noted != HC_OK) && hc_watch_check(&reader->watch, &change) == HC_E_INPUT) {
        return hc_fail(err, HC_E_INPUT, "%s", change.text);
    }
    return noted != HC_OK ? hc_fail(err, noted, "%s", lost.text) : hc_fail(err, status, "%s", failure->text);
}

HcStatus hc_reader_read(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw, HcError *err) {
    HcError failure = {0};
    return explain(reader, read_lines(reader, line0, lines, to, raw, &failure), &failure, err);
}

HcStatus hc_reader_read_part(const HcReader *reader, int64_t line0, int32_t lines, int64_t at, int64_t bytes,
                             void *to, HcError *err) {
    HcError failure = {0};
    return explain(reader, hc_read_direct_part(reader, line0, lines, at, bytes, to, &failure), &failure, err);
}

void hc_reader_describe(const HcReader *reader, int64_t line0, int32_t lines, const void *at, HcRaw *raw) {
    hc_read_direct_describe(reader, line0, lines, at, raw);
}

HcStatus hc_reader_files(const HcReader *reader, HcPaths *out, HcError *err) {
    for (int32_t p = 0; reader->product != NULL && p < reader->product->files.count; p++) {
        if (!hc_paths_has(out, reader->product->files.path[p])) {
            HC_OR_RETURN(hc_paths_add(out, reader->product->files.path[p], err));
        }
    }
    for (int f = 0; reader->files != NULL && reader->files[f] != NULL; f++) {
        if (!hc_paths_has(out, reader->files[f])) {
            HC_OR_RETURN(hc_paths_add(out, reader->files[f], err));
        }
    }
    HC_OR_RETURN(hc_scene_files(reader->path, out, err));
    return HC_OK;
}
