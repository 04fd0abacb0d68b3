/* Pixels are kept where memory allows, else in a scratch file that threads read in chunks of 4,096. Scans
 * and searches see the same chunks either way. Threads keep their best and are merged by score and place, so
 * that the result does not depend on who looked where. */
#include "pipeline/stages/shared/reduced.h"
#include "core/allocate.h"
#include "core/operation/image/gather.h"
#include "core/operation/image/project.h"
#include "core/operation/image/reduce.h"
#include "io/gdal/errors.h"
#include "io/scratch.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { CHUNK = 4096, THREADS_MAX = 256 };

static const size_t piece_bytes_about = (size_t)4 << 20;
/* Pieces of that size, and pixels, that are visited at once where they need not travel. */
enum { PIECES_AT_ONCE = 256, PIXELS_AT_ONCE = 1 << 22 };

/* ---- memory ---- */

static int64_t line_of_rank(const HcStage *stage, int32_t rank) {
    return stage->in.lines * rank / hc_ranks_count(hc_stage_ranks(stage));
}

static int64_t pixels_of_rank(const HcStage *stage) {
    int32_t rank = hc_ranks_number(hc_stage_ranks(stage));
    return (line_of_rank(stage, rank + 1) - line_of_rank(stage, rank)) * stage->in.samples;
}

static size_t pixel_bytes(int32_t width) {
    return (size_t)width * sizeof(float);
}

static int64_t piece_rows(const HcStage *stage, int32_t width) {
    size_t row = (size_t)stage->in.samples * (pixel_bytes(width) + 1);
    return row >= piece_bytes_about ? 1 : (int64_t)(piece_bytes_about / row);
}

static size_t piece_bytes(const HcStage *stage, int32_t width) {
    return (size_t)piece_rows(stage, width) * (size_t)stage->in.samples * (pixel_bytes(width) + 1);
}

/* Of few bands, pixels need more memory than their values do. */
static int64_t rows_at_once(const HcStage *stage, int32_t width) {
    int64_t rows = piece_rows(stage, width);
    return hc_max64(rows, hc_min64(PIECES_AT_ONCE * rows, PIXELS_AT_ONCE / stage->in.samples));
}

size_t hc_reduced_piece_pixels(const HcStage *stage, int32_t width) {
    int64_t most = rows_at_once(stage, width) * stage->in.samples;
    return (size_t)hc_max64(stage->in.samples, hc_min64(most, pixels_of_rank(stage)));
}

size_t hc_reduced_bytes(const HcStage *stage, int32_t width) {
    /* The mask, a piece, and a chunk of each thread. */
    return (size_t)pixels_of_rank(stage) + piece_bytes(stage, width) + 16 * CHUNK * pixel_bytes(width);
}

size_t hc_reduced_bytes_values(const HcStage *stage, int32_t width) {
    return (size_t)pixels_of_rank(stage) * pixel_bytes(width);
}

size_t hc_reduced_bytes_device(const HcStage *stage, int32_t width) {
    size_t bands = (size_t)stage->in.bands;
    return piece_bytes(stage, width) + bands * ((size_t)width + 1) * sizeof(double);
}

size_t hc_reduced_bytes_apart(const HcStage *stage, int32_t width) {
    return (size_t)pixels_of_rank(stage) * (pixel_bytes(width) + 1);
}

/* Where others took the memory since the run was planned, pieces travel. */
static HcStatus open_apart(HcReduced *reduced, HcError *err) {
    const HcStage *stage = reduced->stage;
    size_t bytes = hc_reduced_bytes_apart(stage, reduced->width);
    HcError failure = {0};
    if (!stage->has_more_apart || bytes == 0) {
        return HC_OK;
    }
    HcStatus status = hc_alloc(stage->compute, HC_MEMORY_DEVICE, bytes, &reduced->apart, &failure);
    if (status != HC_OK) {
        return status == HC_E_MEMORY ? HC_OK : hc_fail(err, status, "%s", failure.text);
    }
    reduced->all = reduced->apart.data;
    reduced->all_masks = (uint8_t *)(reduced->all + (size_t)reduced->count * (size_t)reduced->width);
    return HC_OK;
}

static HcStatus make_order(HcReduced *reduced, HcError *err) {
    size_t bytes = (size_t)reduced->width * sizeof(int32_t);
    int32_t *order = NULL;
    HC_OR_RETURN(hc_new(order, reduced->width, "bands", err));
    for (int32_t k = 0; k < reduced->width; k++) {
        order[k] = k;
    }
    HcStatus status = hc_memory_upload(reduced->stage->compute, order, bytes, &reduced->order, err);
    free(order);
    return status;
}

static HcStatus open_scratch(HcReduced *reduced, HcError *err) {
    reduced->file = hc_scratch_open();
    return reduced->file >= 0 ? HC_OK
                              : hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: a scratch file: %s",
                                        hc_scratch_folder(), strerror(errno));
}

HcStatus hc_reduced_open(HcReduced *reduced, HcStage *stage, int32_t width, const double *matrix,
                         const double *center, bool in_memory, HcError *err) {
    HcComputeInfo info;
    size_t bands = (size_t)stage->in.bands;
    hc_compute_info(stage->compute, &info);
    *reduced = (HcReduced){.stage = stage, .width = width, .file = -1, .samples = stage->in.samples};
    reduced->first = stage->chain->first_line * stage->in.samples;
    reduced->count = pixels_of_rank(stage);
    reduced->rows = piece_rows(stage, width);
    reduced->team = hc_team_open(hc_team_count(info.threads, 16));
    size_t bytes = piece_bytes(stage, width);
    size_t values = hc_reduced_bytes_values(stage, width);
    size_t pixels = (size_t)reduced->count;
    HC_OR_RETURN(open_apart(reduced, err));
    in_memory = in_memory && reduced->all == NULL;
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_DEVICE, bytes, &reduced->piece, err));
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_HOST, in_memory && values > 0 ? values : bytes,
                          &reduced->memory, err));
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_HOST, pixels > 0 ? pixels : 1, &reduced->mask, err));
    memset(reduced->mask.data, 0, pixels);
    if (in_memory && info.shared_memory) {
        reduced->all = reduced->memory.data;
        reduced->all_masks = reduced->mask.data;
    }
    if (!in_memory && reduced->all == NULL) {
        HC_OR_RETURN(open_scratch(reduced, err));
    }
    HC_OR_RETURN(matrix == NULL
                     ? make_order(reduced, err)
                     : hc_memory_upload(stage->compute, matrix, bands * (size_t)width * sizeof *matrix,
                                        &reduced->matrix, err));
    return center == NULL
               ? HC_OK
               : hc_memory_upload(stage->compute, center, bands * sizeof *center, &reduced->center, err);
}

void hc_reduced_close(HcReduced *reduced) {
    HcCompute *compute = reduced->stage != NULL ? reduced->stage->compute : NULL;
    hc_team_close(reduced->team);
    hc_memory_release(compute, &reduced->memory);
    hc_memory_release(compute, &reduced->piece);
    hc_memory_release(compute, &reduced->apart);
    hc_memory_release(compute, &reduced->order);
    hc_memory_release(compute, &reduced->matrix);
    hc_memory_release(compute, &reduced->center);
    hc_memory_release(compute, &reduced->mask);
    hc_scratch_close(reduced->file);
    *reduced = (HcReduced){.file = -1};
}

/* ---- filling ---- */

static HcStatus fail_scratch(int number, HcError *err) {
    return hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: a scratch file: %s", hc_scratch_folder(),
                   hc_scratch_reason(number));
}

/* Some lines on the device, the first pixel of which is `at` of the rank: for good, or as a piece. */
static HcBlock piece_block(const HcReduced *reduced, int64_t line, int64_t lines, int64_t at) {
    HcBlock block = {.data = reduced->piece.data,
                     .line0 = line,
                     .lines = (int32_t)lines,
                     .samples = (int32_t)reduced->samples,
                     .bands = reduced->width};
    block.mask = (uint8_t *)(block.data + hc_block_values(&block));
    if (reduced->all != NULL) {
        block.data = reduced->all + (size_t)at * (size_t)reduced->width;
        block.mask = reduced->all_masks + at;
    }
    return block;
}

static HcStatus add_rows(HcReduced *reduced, HcQueue *queue, const HcBlock *in, HcError *err) {
    int64_t at = in->line0 * reduced->samples - reduced->first;
    HcBlock out = piece_block(reduced, in->line0, in->lines, at);
    size_t values = hc_block_values(&out);
    bool in_memory = reduced->file < 0;
    float *to = (float *)reduced->memory.data + (in_memory ? (size_t)at * (size_t)reduced->width : 0);
    if (reduced->matrix.data != NULL) {
        HC_OR_RETURN(hc_project(queue, in, reduced->matrix.data, reduced->center.data, NULL, &out, err));
    } else if (reduced->all != NULL) {
        HC_OR_RETURN(hc_gather(queue, in, reduced->order.data, &out, err));
    } else {
        out = *in;
    }
    if (reduced->all_masks != reduced->mask.data) {
        HC_OR_RETURN(
            hc_download(queue, out.mask, (uint8_t *)reduced->mask.data + at, hc_block_pixels(&out), err));
    }
    if (reduced->all != NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_download(queue, out.data, to, values * sizeof(float), err));
    if (in_memory) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_wait(queue, err));
    int number = hc_scratch_write(reduced->file, at * (int64_t)pixel_bytes(reduced->width), to,
                                  values * sizeof(float));
    return number == 0 ? HC_OK : fail_scratch(number, err);
}

HcStatus hc_reduced_add(HcReduced *reduced, HcQueue *queue, const HcBlock *in, HcError *err) {
    int64_t end = in->line0 + in->lines;
    int64_t rows = reduced->all != NULL ? in->lines : reduced->rows;
    for (int64_t line = in->line0; line < end; line += rows) {
        HcBlock part = hc_block_part(in, line, hc_min64(line + rows, end), 0);
        HC_OR_RETURN(add_rows(reduced, queue, &part, err));
    }
    return HC_OK;
}

/* ---- scans ---- */

typedef struct Chunk {
    const float *value;
    int64_t first; /* of the rank */
    int64_t count;
    int32_t thread;
} Chunk;

typedef void ChunkFn(void *user, const HcReduced *reduced, const Chunk *chunk);

typedef struct Scan {
    const HcReduced *reduced;
    ChunkFn *visit;
    void *user;
    float *pieces;     /* [threads][CHUNK][width] with a scratch file */
    atomic_int failed; /* what hc_scratch_read says, 0 = nothing failed */
} Scan;

static void scan_chunk(void *user, int64_t item, int32_t thread) {
    Scan *scan = user;
    const HcReduced *reduced = scan->reduced;
    size_t width = (size_t)reduced->width;
    Chunk chunk = {.first = item * CHUNK, .thread = thread};
    chunk.count = hc_min64(CHUNK, reduced->count - chunk.first);
    if (reduced->file < 0) {
        chunk.value = (const float *)reduced->memory.data + (size_t)chunk.first * width;
    } else {
        float *own = scan->pieces + (size_t)thread * CHUNK * width;
        int number = hc_scratch_read(reduced->file, chunk.first * (int64_t)pixel_bytes(reduced->width), own,
                                     (size_t)chunk.count * pixel_bytes(reduced->width));
        if (number != 0) {
            atomic_store(&scan->failed, number);
            return;
        }
        chunk.value = own;
    }
    scan->visit(scan->user, reduced, &chunk);
}

static HcStatus scan_all(const HcReduced *reduced, ChunkFn *visit, void *user, HcError *err) {
    Scan scan = {.reduced = reduced, .visit = visit, .user = user};
    size_t threads = (size_t)hc_team_threads(reduced->team);
    if (reduced->file >= 0) {
        HC_OR_RETURN(
            hc_new(scan.pieces, threads * CHUNK * (size_t)reduced->width, "pieces of a scratch file", err));
    }
    hc_team_run(reduced->team, (reduced->count + CHUNK - 1) / CHUNK, scan_chunk, &scan);
    free(scan.pieces);
    int number = atomic_load(&scan.failed);
    return number == 0 ? HC_OK : fail_scratch(number, err);
}

static bool takes_part(const HcReduced *reduced, int64_t pixel) {
    return ((const uint8_t *)reduced->mask.data)[pixel] != 0;
}

typedef struct Counts {
    atomic_llong pixels, unusable;
} Counts;

static void count_chunk(void *user, const HcReduced *reduced, const Chunk *chunk) {
    Counts *counts = user;
    uint8_t *mask = reduced->mask.data;
    int64_t pixels = 0;
    int64_t unusable = 0;
    for (int64_t i = 0; i < chunk->count; i++) {
        const float *x = chunk->value + (size_t)i * (size_t)reduced->width;
        bool finite = true;
        for (int32_t k = 0; k < reduced->width; k++) { /* without branches */
            finite &= fabsf(x[k]) <= FLT_MAX;
        }
        bool there = mask[chunk->first + i] != 0;
        unusable += there && !finite;
        pixels += there && finite;
        mask[chunk->first + i] = there && finite;
    }
    atomic_fetch_add(&counts->pixels, pixels);
    atomic_fetch_add(&counts->unusable, unusable);
}

static HcStatus get_values(const HcReduced *reduced, int64_t pixel, float *x, HcError *err) {
    size_t width = (size_t)reduced->width;
    if (reduced->apart.data != NULL) {
        HcBuffer from = reduced->apart;
        from.data = (float *)from.data + (size_t)pixel * width;
        return hc_memory_download(reduced->stage->compute, &from, x, width * sizeof *x, err);
    }
    if (reduced->file < 0) {
        memcpy(x, (const float *)reduced->memory.data + (size_t)pixel * width, width * sizeof *x);
        return HC_OK;
    }
    int number = hc_scratch_read(reduced->file, pixel * (int64_t)pixel_bytes(reduced->width), x,
                                 pixel_bytes(reduced->width));
    return number == 0 ? HC_OK : fail_scratch(number, err);
}

/* Counts some lines that are on the device. Squares of pixels say which may not be finite; x[width]. */
static HcStatus count_lines(HcReduced *reduced, HcQueue *queue, int64_t line, int64_t lines, float *x,
                            Counts *counts, HcError *err) {
    int64_t first = line * reduced->samples;
    HcBlock all = piece_block(reduced, line, lines, first);
    HcBlock out = all;
    const float *square = reduced->memory.data;
    const uint8_t *mask = (const uint8_t *)reduced->mask.data + first;
    int64_t pixels = (int64_t)hc_block_pixels(&all);
    int64_t there = 0;
    out.bands = 1;
    out.data = reduced->piece.data;
    out.mask = (uint8_t *)(out.data + pixels);
    HC_OR_RETURN(hc_reduce(queue, &all, HC_REDUCE_SQUARES, NULL, &out, err));
    HC_OR_RETURN(hc_download(queue, out.data, reduced->memory.data, (size_t)pixels * sizeof *square, err));
    HC_OR_RETURN(hc_wait(queue, err));
    for (int64_t i = 0; i < pixels; i++) {
        there += mask[i] != 0 && isfinite(square[i]);
        if (!isfinite(square[i])) {
            HC_OR_RETURN(get_values(reduced, first + i, x, err));
            count_chunk(counts, reduced, &(Chunk){.value = x, .first = first + i, .count = 1});
            HC_OR_RETURN(hc_upload(queue, mask + i, all.mask + i, 1, err));
        }
    }
    atomic_fetch_add(&counts->pixels, there);
    return hc_wait(queue, err);
}

static HcStatus count_apart(HcReduced *reduced, Counts *counts, HcError *err) {
    HcStatus status = HC_OK;
    HcQueue *queue = NULL;
    float *x = NULL;
    int64_t lines = reduced->count / reduced->samples;
    int64_t rows = hc_max64(1, (int64_t)reduced->piece.bytes / (reduced->samples * (int64_t)(sizeof *x + 1)));
    HC_TRY(hc_queue_open(reduced->stage->compute, &queue, err));
    HC_TRY(hc_new(x, reduced->width, "a pixel", err));
    for (int64_t line = 0; line < lines; line += rows) {
        HC_TRY(count_lines(reduced, queue, line, hc_min64(rows, lines - line), x, counts, err));
    }
done:
    hc_queue_close(queue);
    free(x);
    return status;
}

HcStatus hc_reduced_filled(HcReduced *reduced, HcError *err) {
    Counts counts = {0};
    HC_OR_RETURN(reduced->apart.data != NULL ? count_apart(reduced, &counts, err)
                                             : scan_all(reduced, count_chunk, &counts, err));
    int64_t all[2] = {atomic_load(&counts.pixels), atomic_load(&counts.unusable)};
    HC_OR_RETURN(hc_ranks_sum(hc_stage_ranks(reduced->stage), all, 2, err));
    reduced->pixels = all[0];
    reduced->unusable = all[1];
    return HC_OK;
}

/* ---- pieces ---- */

/* The values of a piece on the host. */
static HcStatus fetch_piece(HcReduced *reduced, int64_t first, size_t values, float **out, HcError *err) {
    *out = reduced->memory.data;
    if (reduced->file < 0) {
        *out += (size_t)first * (size_t)reduced->width;
        return HC_OK;
    }
    int number = hc_scratch_read(reduced->file, first * (int64_t)pixel_bytes(reduced->width), *out,
                                 values * sizeof(float));
    return number == 0 ? HC_OK : fail_scratch(number, err);
}

HcStatus hc_reduced_visit(HcReduced *reduced, HcQueue *queue, HcPieceFn *visit, void *user, HcError *err) {
    HcComputeInfo info;
    hc_compute_info(reduced->stage->compute, &info);
    bool travels = reduced->all == NULL;
    int64_t lines = reduced->count / reduced->samples;
    int64_t rows = travels ? reduced->rows : rows_at_once(reduced->stage, reduced->width);
    for (int64_t line = 0; line < lines; line += rows) {
        int64_t first = line * reduced->samples;
        HcBlock piece = piece_block(reduced, line, hc_min64(rows, lines - line), first);
        uint8_t *mask = (uint8_t *)reduced->mask.data + first;
        float *values = NULL;
        if (travels) {
            HC_OR_RETURN(fetch_piece(reduced, first, hc_block_values(&piece), &values, err));
        }
        if (travels && info.shared_memory) {
            piece.data = values;
            piece.mask = mask;
        } else if (travels) {
            HC_OR_RETURN(hc_upload(queue, values, piece.data, hc_block_values(&piece) * sizeof *values, err));
            HC_OR_RETURN(hc_upload(queue, mask, piece.mask, hc_block_pixels(&piece), err));
        }
        HC_OR_RETURN(visit(user, queue, &piece, first, err));
        /* The memory of a scratch file is used again. */
        HC_OR_RETURN(reduced->file >= 0 ? hc_wait(queue, err) : HC_OK);
    }
    return HC_OK;
}

/* ---- searches ---- */

typedef struct Search {
    HcScoreFn *score;
    const void *user;
    HcBest *best; /* [threads][count] */
    int32_t count;
} Search;

static void search_chunk(void *user, const HcReduced *reduced, const Chunk *chunk) {
    const Search *search = user;
    HcBest *best = search->best + (size_t)chunk->thread * (size_t)search->count;
    for (int64_t i = 0; i < chunk->count;) {
        int64_t end = i;
        while (end < chunk->count && takes_part(reduced, chunk->first + end)) {
            end++;
        }
        if (end > i) {
            search->score(search->user, chunk->value + (size_t)i * (size_t)reduced->width,
                          reduced->first + chunk->first + i, (int32_t)(end - i), best);
        }
        i = end + 1;
    }
}

static void merge(HcBest *to, const HcBest *from, int32_t count) {
    for (int32_t k = 0; k < count; k++) {
        if (from[k].pixel >= 0) {
            hc_best_offer(&to[k], from[k].score, from[k].pixel, from[k].which);
        }
    }
}

static void add_rank(void *state, void *user) {
    const Search *own = user;
    merge(state, own->best, own->count);
}

HcStatus hc_reduced_search(HcReduced *reduced, HcScoreFn *score, const void *user, HcBest *best,
                           int32_t count, HcError *err) {
    HcStatus status = HC_OK;
    int32_t threads = hc_team_threads(reduced->team);
    Search search = {.score = score, .user = user, .count = count};
    HC_TRY(hc_new(search.best, (size_t)threads * (size_t)count, "the best pixels", err));
    for (int64_t k = 0; k < (int64_t)threads * count; k++) {
        search.best[k].pixel = -1;
    }
    HC_TRY(scan_all(reduced, search_chunk, &search, err));
    for (int32_t t = 1; t < threads; t++) {
        merge(search.best, search.best + (size_t)t * (size_t)count, count);
    }
    memcpy(best, search.best, (size_t)count * sizeof *best);
    HC_TRY(hc_ranks_fold(hc_stage_ranks(reduced->stage), best, (size_t)count * sizeof *best, add_rank,
                         &search, err));
done:
    free(search.best);
    return status;
}

void hc_reduced_keep(HcReduced *reduced, const int64_t *pixel, int64_t count) {
    uint8_t *mask = reduced->mask.data;
    int64_t k = 0;
    for (int64_t i = 0; i < reduced->count; i++) {
        while (k < count && pixel[k] < reduced->first + i) {
            k++;
        }
        mask[i] = mask[i] != 0 && k < count && pixel[k] == reduced->first + i;
    }
    reduced->pixels = count;
}

HcStatus hc_reduced_fetch(HcReduced *reduced, const int64_t *pixel, int32_t count, double *x, HcError *err) {
    HcStatus status = HC_OK;
    size_t width = (size_t)reduced->width;
    float *found = NULL;
    HC_OR_RETURN(hc_new(found, (size_t)count * width, "some reduced pixels", err));
    for (int32_t k = 0; k < count; k++) {
        int64_t own = pixel[k] - reduced->first;
        if (own >= 0 && own < reduced->count) {
            HC_TRY(get_values(reduced, own, found + (size_t)k * width, err));
        }
    }
    HC_TRY(hc_ranks_join(hc_stage_ranks(reduced->stage), found, (size_t)count * width * sizeof *found, err));
    for (size_t i = 0; i < (size_t)count * width; i++) {
        x[i] = (double)found[i];
    }
done:
    free(found);
    return status;
}

void hc_reduced_drop(HcReduced *reduced, const int64_t *pixel, int64_t count) {
    for (int64_t k = 0; k < count; k++) {
        int64_t own = pixel[k] - reduced->first;
        if (own >= 0 && own < reduced->count) {
            ((uint8_t *)reduced->mask.data)[own] = 0;
        }
    }
    reduced->pixels -= count;
}

HcStatus hc_reduced_window(HcReduced *reduced, HcReducedPart window, float *x, uint8_t *valid, HcError *err) {
    HcRanks *ranks = hc_stage_ranks(reduced->stage);
    size_t width = (size_t)reduced->width;
    size_t pixels = (size_t)(window.lines * window.samples);
    memset(x, 0, pixels * width * sizeof *x);
    memset(valid, 0, pixels);
    for (size_t i = 0; i < pixels; i++) {
        int64_t line = window.line + (int64_t)i / window.samples;
        int64_t own = line * reduced->samples + window.sample + (int64_t)i % window.samples - reduced->first;
        if (own >= 0 && own < reduced->count && takes_part(reduced, own)) {
            HC_OR_RETURN(get_values(reduced, own, x + i * width, err));
            valid[i] = 1;
        }
    }
    HC_OR_RETURN(hc_ranks_join(ranks, x, pixels * width * sizeof *x, err));
    return hc_ranks_join(ranks, valid, pixels, err);
}

HcStatus hc_reduced_put(HcReduced *reduced, const int64_t *pixel, int64_t count, const float *x,
                        HcError *err) {
    size_t width = (size_t)reduced->width;
    for (int64_t k = 0; k < count; k++) {
        int64_t own = pixel[k] - reduced->first;
        const float *from = x + (size_t)k * width;
        if (own < 0 || own >= reduced->count) {
            continue;
        }
        if (reduced->file < 0) {
            memcpy((float *)reduced->memory.data + (size_t)own * width, from, width * sizeof *from);
            continue;
        }
        int number = hc_scratch_write(reduced->file, own * (int64_t)pixel_bytes(reduced->width), from,
                                      pixel_bytes(reduced->width));
        if (number != 0) {
            return fail_scratch(number, err);
        }
    }
    return HC_OK;
}

/* Every step-th pixel on the device, x[count][width]: the first numbers of pixels that are taken for one with
 * step times as many. As many at once as fit into a piece, with masks of the input that say that all are
 * valid. */
static HcStatus sample_apart(const HcReduced *reduced, int64_t step, int64_t own, int64_t count, float *x,
                             HcError *err) {
    HcStatus status = HC_OK;
    HcQueue *queue = NULL;
    size_t width = (size_t)reduced->width;
    int64_t many = (int64_t)(reduced->piece.bytes / (pixel_bytes(reduced->width) + 2));
    HC_TRY(hc_queue_open(reduced->stage->compute, &queue, err));
    for (int64_t k = 0; k < count; k += many) {
        HcBlock in = {.lines = (int32_t)hc_min64(many, count - k), .samples = 1};
        size_t lines = (size_t)in.lines;
        HcBlock out = in;
        in.bands = (int32_t)(step * reduced->width);
        in.data = (float *)reduced->apart.data + (size_t)(own + k * step) * width;
        out.bands = reduced->width;
        out.data = reduced->piece.data;
        out.mask = (uint8_t *)(out.data + lines * width);
        in.mask = out.mask + lines;
        memset(reduced->memory.data, 1, lines);
        HC_TRY(hc_upload(queue, reduced->memory.data, in.mask, lines, err));
        HC_TRY(hc_gather(queue, &in, reduced->order.data, &out, err));
        HC_TRY(hc_download(queue, out.data, reduced->memory.data, lines * width * sizeof *x, err));
        HC_TRY(hc_wait(queue, err));
        memcpy(x + (size_t)k * width, reduced->memory.data, lines * width * sizeof *x);
    }
done:
    hc_queue_close(queue);
    return status;
}

HcStatus hc_reduced_sample(HcReduced *reduced, int64_t step, int64_t wanted, float *x, uint8_t *valid,
                           HcError *err) {
    HcRanks *ranks = hc_stage_ranks(reduced->stage);
    size_t width = (size_t)reduced->width;
    int64_t first = (reduced->first + step - 1) / step; /* of this rank */
    int64_t own = first * step - reduced->first;
    bool apart = reduced->apart.data != NULL && own < reduced->count && first < wanted;
    int64_t whole = apart ? hc_min64((reduced->count - own) / step, wanted - first) : 0;
    memset(x, 0, (size_t)wanted * width * sizeof *x);
    memset(valid, 0, (size_t)wanted);
    HC_OR_RETURN(apart ? sample_apart(reduced, step, own, whole, x + (size_t)first * width, err) : HC_OK);
    for (int64_t k = first; k < wanted && own < reduced->count; k++, own += step) {
        valid[k] = takes_part(reduced, own);
        if (valid[k] != 0 && k >= first + whole) {
            HC_OR_RETURN(get_values(reduced, own, x + (size_t)k * width, err));
        }
    }
    HC_OR_RETURN(hc_ranks_join(ranks, x, (size_t)wanted * width * sizeof *x, err));
    return hc_ranks_join(ranks, valid, (size_t)wanted, err);
}
