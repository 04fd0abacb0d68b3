/* Reading lines. Where they are asked for in their order, a stream brings rows of chunks into memory, or into
 * the scratch file, and lines are copied from there. Else rows that lie within the lines go straight where
 * they are wanted; rows that are cut, or needed again for the next lines, stay in memory. */
#include "io/chunk/chunks.h"
#include "core/allocate.h"
#include "io/chunk/parts.h"
#include "io/scratch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a reader takes for rows of chunks where nobody has settled a plan, and the lines that may come again.
 */
#define UNSETTLED_BYTES ((double)(16 << 20))
#define UNSETTLED_AGAIN 16

/* Rows are brought together until threads work for that share of the time, and at most that many chunks each.
 */
#define BUSY            0.9
#define CHUNKS_A_THREAD 8

/* Pieces of lines of the scratch file need not be longer. */
#define PIECE_BYTES ((double)(256 << 10))

/* ---- plans ---- */

/* Rows of chunks that the last `again` lines of a request lie in, and the one that it ends in. */
static int64_t rows_kept(const HcChunkIndex *index, int64_t again) {
    int64_t each = index->shape[HC_AXIS_LINE], rows = hc_chunk_row_count(index);
    return hc_min64(rows, again == 0 ? 1 : 1 + (again - 1 + each - 1) / each);
}

static double row_bytes(const HcChunkIndex *index) {
    return (double)hc_chunk_row_lines(index) * (double)index->size[HC_AXIS_SAMPLE] *
           (double)index->size[HC_AXIS_BAND] * (double)hc_type_bytes(index->type);
}

/* Bytes of one part: chunks side by side, along samples or bands. */
static double part_bytes(const HcChunkIndex *index, int axis, int64_t part) {
    double width = (double)hc_min64(part * index->shape[axis], index->size[axis]);
    return row_bytes(index) / (double)index->size[axis] * width;
}

static bool pixels_together(const HcChunkIndex *index) {
    return index->order[HC_AXES - 1] == HC_AXIS_BAND;
}

static int32_t threads_in(double bytes, double each, int64_t most) {
    double count = bytes / each;
    return count >= (double)most ? (int32_t)most : count < 1 ? 1 : (int32_t)count;
}

/* Whether the lines of a chunk are pieces of lines of the scratch file. */
static bool goes_at_once(const HcChunkIndex *index) {
    return pixels_together(index) && index->order[0] == HC_AXIS_LINE && index->count[HC_AXIS_BAND] == 1;
}

/* Settles parts of rows, and returns the chunks that they have. While one part is written, the chunks of the
 * others keep that many threads busy, where this fits. */
static int64_t choose_parts(HcChunkPlan *plan, const HcChunkIndex *index, int64_t threads, double workspace,
                            double bytes) {
    int axis = pixels_together(index) ? HC_AXIS_SAMPLE : HC_AXIS_BAND;
    int64_t rows = hc_chunk_row_count(index), across = hc_chunk_count(index) / rows / index->count[axis];
    double lines = (double)hc_chunk_row_lines(index);
    plan->part = plan->parts = 1;
    for (int64_t more = 1; more <= index->count[axis]; more++) {
        int64_t all = rows * ((index->count[axis] + more - 1) / more), chunks = more * across;
        int64_t parts = hc_min64(all, 1 + (threads + chunks - 1) / chunks);
        double part = part_bytes(index, axis, more);
        while (more == 1 && parts > 1 &&
               part * (double)parts + workspace * (double)hc_min64(threads, parts * chunks) > bytes) {
            parts--;
        }
        if (part * (double)parts + workspace * (double)hc_min64(threads, parts * chunks) <= bytes) {
            plan->part = more;
            plan->parts = parts;
        }
        if (part / lines >= PIECE_BYTES) {
            break;
        }
    }
    return plan->part * plan->parts * across;
}

/* The plan by a scratch file. */
static HcChunkPlan plan_scratch(const HcChunkIndex *index, int32_t threads, int64_t again, double bytes) {
    HcChunkPlan plan = {.again = again};
    double workspace = (double)hc_chunk_workspace_bytes(index), kept = 0;
    int64_t most = hc_max64(1, hc_min64(threads, hc_chunk_count(index)));
    if (!goes_at_once(index)) {
        int axis = pixels_together(index) ? HC_AXIS_SAMPLE : HC_AXIS_BAND;
        most = hc_min64(most, choose_parts(&plan, index, most, workspace, bytes));
        kept = part_bytes(index, axis, plan.part) * (double)plan.parts;
    }
    plan.threads = threads_in(bytes - kept, workspace, most);
    plan.bytes = (size_t)(kept + workspace * plan.threads);
    return plan;
}

HcChunkPlan hc_chunks_plan(const HcChunkIndex *index, int32_t threads, int64_t again, double bytes) {
    HcChunkPlan plan = {.again = again, .rows = rows_kept(index, again)};
    double workspace = (double)hc_chunk_workspace_bytes(index), kept = row_bytes(index) * (double)plan.rows;
    int64_t most = hc_max64(1, hc_min64(threads, hc_chunk_count(index)));
    int axis = pixels_together(index) ? HC_AXIS_SAMPLE : HC_AXIS_BAND;
    if (kept + workspace > bytes && (goes_at_once(index) || part_bytes(index, axis, 1) < kept)) {
        return plan_scratch(index, threads, again, bytes);
    }
    plan.threads = threads_in(bytes - kept, workspace, most);
    plan.bytes = (size_t)(kept + workspace * plan.threads);
    return plan;
}

/* The fewest rows whose chunks keep the threads busy. */
static int64_t rows_together(const HcChunkIndex *index, int32_t threads) {
    int64_t all = hc_chunk_row_count(index), best = 1;
    int64_t across = hc_max64(1, hc_chunk_count(index) / all / index->together);
    double busiest = 0;
    for (int64_t rows = 1; rows <= all && busiest < BUSY; rows++) {
        int64_t chunks = rows * across, turns = (chunks + threads - 1) / threads;
        double busy = (double)chunks / (double)(turns * threads);
        best = busy > busiest ? rows : best;
        busiest = busy > busiest ? busy : busiest;
        if (chunks >= CHUNKS_A_THREAD * (int64_t)threads) {
            break;
        }
    }
    return best;
}

/* One row is handed out while the others are brought. A single thread gains nothing by more memory. */
void hc_chunks_plan_ahead(HcChunkPlan *plan, const HcChunkIndex *index, int64_t end, double bytes) {
    double fit = (bytes - (double)plan->bytes) / row_bytes(index);
    int64_t together = rows_together(index, plan->threads);
    int64_t more = hc_chunk_is_remote(index) ? 2 * together : together - 1; /* none waits for a place */
    more = hc_min64(hc_max64(more, plan->threads > 1), hc_chunk_row_count(index) - plan->rows);
    more = fit < (double)more ? (int64_t)fit : more;
    if (end > 0 && (plan->rows == 0 || more > 0)) {
        plan->end = end;
        plan->bytes += plan->rows > 0 ? (size_t)(row_bytes(index) * (double)more) : 0;
        plan->rows += plan->rows > 0 ? more : 0;
    }
}

HcChunkPlan hc_chunks_plan_again(const HcChunks *chunks, int32_t threads, int64_t again, double bytes) {
    const HcChunkIndex *index = chunks->index;
    HcChunkPlan plan = hc_chunks_plan(index, threads, again, bytes);
    HcChunkPlan scratch = plan_scratch(index, threads, again, bytes);
    double file = (double)index->size[HC_AXIS_LINE] * (double)hc_chunk_line_bytes(chunks);
    bool fits = (double)scratch.bytes <= bytes && hc_scratch_free() >= 2 * file;
    return plan.rows > 0 && fits ? scratch : plan;
}

/* ---- opening ---- */

/* How many chunks of a server are worth one request on the average. */
static int64_t chunks_together(const HcChunkIndex *index) {
    enum { REQUEST = HC_WINDOW_BYTES / 2 };
    double stored = 0, bytes = 1;
    for (int64_t n = 0; index->remote != NULL && n < hc_chunk_count(index); n++) {
        stored += index->place[n].bytes > 0;
        bytes += (double)index->place[n].bytes;
    }
    double across = (double)index->count[HC_AXIS_SAMPLE] * (double)index->count[HC_AXIS_BAND];
    return hc_max64(1, (int64_t)fmin(across, stored * REQUEST / bytes));
}

HcStatus hc_chunks_open(HcChunks **out, HcChunkIndex *index, HcError *err) {
    HcChunks *chunks = NULL;
    *out = NULL;
    if (hc_new(chunks, 1, "the reader of chunks", err) != HC_OK) {
        hc_chunk_index_free(index);
        return HC_E_MEMORY;
    }
    chunks->index = index;
    index->together = chunks_together(index);
    chunks->scratch = -1;
    chunks->pixels = pixels_together(index);
    chunks->samples = index->size[HC_AXIS_SAMPLE];
    chunks->first = INT64_MAX;
    HcStatus status = hc_chunks_use(chunks, NULL, 0, err);
    if (status != HC_OK) {
        hc_chunks_close(chunks);
        return status;
    }
    chunks->plan = hc_chunks_plan(index, 1, UNSETTLED_AGAIN, UNSETTLED_BYTES);
    *out = chunks;
    return HC_OK;
}

static void close_workspaces(HcChunks *chunks) {
    for (int32_t r = 0; r < chunks->workspace_count; r++) {
        hc_chunk_workspace_close(chunks->workspace[r]);
    }
    free(chunks->workspace);
    chunks->workspace = NULL;
    chunks->workspace_count = 0;
}

void hc_chunks_close(HcChunks *chunks) {
    if (chunks == NULL) {
        return;
    }
    hc_chunk_stream_close(chunks, true);
    hc_team_close(chunks->team);
    close_workspaces(chunks);
    hc_chunk_scratch_close(chunks);
    hc_chunk_index_free(chunks->index);
    free(chunks->run);
    free(chunks->rows);
    free(chunks->row_in);
    free(chunks);
}

const HcChunkIndex *hc_chunks_index(const HcChunks *chunks) {
    return chunks->index;
}

void hc_chunks_settle(HcChunks *chunks, const HcChunkPlan *plan) {
    if (!chunks->begun) {
        chunks->plan = *plan;
    }
}

const HcChunkPlan *hc_chunks_settled(const HcChunks *chunks) {
    return &chunks->plan;
}

HcStatus hc_chunks_use(HcChunks *chunks, const int32_t *bands, int32_t count, HcError *err) {
    int32_t all = (int32_t)chunks->index->size[HC_AXIS_BAND], used = bands != NULL ? count : all;
    HcBandRun *run = NULL;
    HC_OR_RETURN(hc_new(run, (size_t)used, "a list of bands", err));
    free(chunks->run);
    chunks->run = run;
    chunks->run_count = 0;
    chunks->used = used;
    for (int32_t k = 0; k < used; k++) {
        int32_t band = bands != NULL ? bands[k] : k;
        HcBandRun *last = &run[chunks->run_count - 1];
        if (chunks->run_count > 0 && last->from + last->count == band) {
            last->count++;
        } else {
            run[chunks->run_count++] = (HcBandRun){.from = band, .to = k, .count = 1};
        }
    }
    return HC_OK;
}

void hc_chunks_use_samples(HcChunks *chunks, int64_t sample0, int64_t samples) {
    chunks->sample0 = sample0;
    chunks->samples = samples;
}

int64_t hc_chunks_decoded(const HcChunks *chunks) {
    return __atomic_load_n(&chunks->decoded, __ATOMIC_RELAXED);
}

size_t hc_chunks_bytes(const HcChunks *chunks, int64_t lines) {
    return (size_t)lines * (size_t)hc_chunk_line_bytes(chunks);
}

/* ---- the first read ---- */

static HcStatus open_workspaces(HcChunks *chunks, HcError *err) {
    int32_t threads = hc_team_threads(chunks->team);
    HC_OR_RETURN(hc_new(chunks->workspace, (size_t)threads, "chunks", err));
    for (; chunks->workspace_count < threads; chunks->workspace_count++) {
        HC_OR_RETURN(
            hc_chunk_workspace_open(&chunks->workspace[chunks->workspace_count], chunks->index, err));
    }
    return HC_OK;
}

static HcStatus take_memory(HcChunks *chunks, HcError *err) {
    const HcChunkIndex *index = chunks->index;
    const HcChunkPlan *plan = &chunks->plan;
    int axis = chunks->pixels ? HC_AXIS_SAMPLE : HC_AXIS_BAND;
    double used = (double)chunks->used / (double)index->size[HC_AXIS_BAND], bytes = 0;
    if (plan->rows > 0) {
        bytes = row_bytes(index) * used * (double)plan->rows;
    } else if (plan->part > 0) {
        chunks->part_bytes = (int64_t)(part_bytes(index, axis, plan->part) * (chunks->pixels ? used : 1)) + 8;
        bytes = (double)chunks->part_bytes * (double)plan->parts;
    }
    int64_t rows = hc_max64(plan->rows, 1);
    chunks->rows = malloc((size_t)bytes + 1);
    chunks->row_in = malloc((size_t)rows * sizeof *chunks->row_in);
    if (chunks->rows == NULL || chunks->row_in == NULL) {
        return hc_fail_memory(err, bytes, "rows of chunks");
    }
    for (int64_t r = 0; r < rows; r++) {
        chunks->row_in[r] = -1;
    }
    return HC_OK;
}

static HcStatus begin(HcChunks *chunks, HcError *err) {
    if (chunks->begun) {
        return HC_OK;
    }
    if (chunks->team == NULL) {
        chunks->team = hc_team_open(chunks->plan.threads);
    }
    if (chunks->workspace == NULL) {
        HC_OR_RETURN(open_workspaces(chunks, err));
    }
    if (chunks->rows == NULL) {
        HC_OR_RETURN(take_memory(chunks, err));
    }
    if (chunks->plan.rows == 0) {
        HC_OR_RETURN(hc_chunk_scratch_open(chunks, err));
    }
    chunks->begun = true;
    return HC_OK;
}

/* ---- lines from rows of chunks ---- */

/* Where the row lies in memory, -1 = nowhere. */
static int64_t find_row(const HcChunks *chunks, int64_t row) {
    for (int64_t r = 0; r < chunks->plan.rows; r++) {
        if (chunks->row_in[r] == row) {
            return r;
        }
    }
    return -1;
}

/* Some lines that are asked for, and what is on its way to them. */
typedef struct Request {
    int64_t line0, end;
    char *to;
    HcTarget *target; /* [rows] of rows that are not there yet */
    int64_t targets;
    int64_t *copied; /* [rows] places of rows in memory whose lines are to be copied */
    int64_t copies;
} Request;

static void copy_lines(const HcChunks *chunks, int64_t line0, int64_t end, char *to, int64_t place) {
    int64_t row = chunks->row_in[place], line = hc_chunk_line_bytes(chunks);
    int64_t begin_line = hc_chunk_row_begin(chunks->index, row), first = hc_max64(begin_line, line0);
    int64_t last = hc_min64(hc_chunk_row_end(chunks->index, row), end);
    memcpy(to + (first - line0) * line, hc_chunk_kept_row(chunks, place) + (first - begin_line) * line,
           (size_t)((last - first) * line));
}

/* Brings what is on its way. */
static HcStatus flush(HcChunks *chunks, Request *request, HcError *err) {
    HcStatus status = hc_chunk_bring(chunks, request->target, request->targets, err);
    for (int64_t c = 0; c < request->copies && status == HC_OK; c++) {
        copy_lines(chunks, request->line0, request->end, request->to, request->copied[c]);
    }
    for (int64_t c = 0; c < request->copies && status != HC_OK; c++) {
        chunks->row_in[request->copied[c]] = -1; /* it may lack chunks */
    }
    request->targets = request->copies = 0;
    return status;
}

static bool is_pending(const Request *request, int64_t place) {
    for (int64_t c = 0; c < request->copies; c++) {
        if (request->copied[c] == place) {
            return true;
        }
    }
    return false;
}

/* A place for a row: a free one, or that of a row after the request (of an earlier pass), or of the one that
 * is farthest before its end. What is on its way is brought first where it takes all places. */
static HcStatus take_place(HcChunks *chunks, Request *request, int64_t *place, HcError *err) {
    int64_t least = INT64_MAX, last = hc_chunk_row_of_line(chunks->index, request->end - 1);
    *place = -1;
    for (int64_t r = 0; r < chunks->plan.rows; r++) {
        int64_t row = chunks->row_in[r] <= last ? chunks->row_in[r] : -1;
        if (!is_pending(request, r) && row < least) {
            least = row;
            *place = r;
        }
    }
    if (*place < 0) {
        HC_OR_RETURN(flush(chunks, request, err));
        return take_place(chunks, request, place, err);
    }
    return HC_OK;
}

static HcStatus add_row(HcChunks *chunks, Request *request, int64_t row, HcError *err) {
    const HcChunkIndex *index = chunks->index;
    int64_t first = hc_chunk_row_begin(index, row), end = hc_chunk_row_end(index, row),
            line = hc_chunk_line_bytes(chunks);
    int64_t place = find_row(chunks, row);
    if (place >= 0) {
        copy_lines(chunks, request->line0, request->end, request->to, place);
        return HC_OK;
    }
    bool whole = first >= request->line0 && end <= request->end;
    if (whole && end <= request->end - chunks->plan.again) {
        char *to = request->to + (first - request->line0) * line;
        request->target[request->targets++] = hc_chunk_target(chunks, row, first, end - first, to);
        return HC_OK;
    }
    HC_OR_RETURN(take_place(chunks, request, &place, err));
    chunks->row_in[place] = row;
    request->copied[request->copies++] = place;
    request->target[request->targets++] =
        hc_chunk_target(chunks, row, first, end - first, hc_chunk_kept_row(chunks, place));
    return HC_OK;
}

/* Brings the rows that are not there, and waits for all of them. */
static HcStatus read_now(HcChunks *chunks, int64_t line0, int64_t lines, char *to, HcError *err) {
    HcStatus status = HC_OK;
    int64_t row = hc_chunk_row_of_line(chunks->index, line0);
    int64_t end = hc_chunk_row_of_line(chunks->index, line0 + lines - 1) + 1;
    Request request = {.line0 = line0, .end = line0 + lines, .to = to};
    size_t most = (size_t)(end - row + chunks->plan.rows);
    HC_TRY(hc_new(request.target, most, "rows of chunks", err));
    HC_TRY(hc_new(request.copied, most, "rows of chunks", err));
    for (; row < end; row++) {
        HC_TRY(add_row(chunks, &request, row, err));
    }
    HC_TRY(flush(chunks, &request, err));
done:
    free(request.target);
    free(request.copied);
    return status;
}

/* ---- lines in their order ---- */

/* Whether requests come in the order of their lines: a pass begins, or this one goes on where the last ended.
 */
static bool goes_on(HcChunks *chunks, int64_t line0, int64_t end) {
    bool begins = line0 <= chunks->first;
    bool follows = line0 <= chunks->next && end > chunks->next;
    chunks->first = hc_min64(chunks->first, line0);
    chunks->next = end;
    return begins || follows;
}

/* The stream with all rows of a request; none where requests come in another order. */
static HcStatus follow(HcChunks *chunks, int64_t line0, int64_t end, HcError *err) {
    const HcChunkIndex *index = chunks->index;
    int64_t row = hc_chunk_row_of_line(index, line0), last = hc_chunk_row_of_line(index, end - 1);
    int64_t lines = hc_min64(chunks->plan.end, index->size[HC_AXIS_LINE]);
    bool wanted = goes_on(chunks, line0, end) && end <= lines;
    if (wanted && hc_chunk_stream_has(chunks, row) && hc_chunk_stream_has(chunks, last)) {
        return HC_OK;
    }
    hc_chunk_stream_close(chunks, false);
    return wanted ? hc_chunk_stream_open(chunks, row, hc_chunk_row_of_line(index, lines - 1) + 1, err)
                  : HC_OK;
}

/* From the rows of the stream, one after the other; each gives its place away when no later request wants it.
 */
static HcStatus read_stream(HcChunks *chunks, int64_t line0, int64_t end, char *to, HcError *err) {
    const HcChunkIndex *index = chunks->index;
    int64_t row = hc_chunk_row_of_line(index, line0), last = hc_chunk_row_of_line(index, end - 1);
    int64_t again = hc_max64(0, end - hc_max64(1, chunks->plan.again)), rows = chunks->plan.rows;
    int64_t kept = chunks->plan.again > 0 || hc_chunk_row_end(index, last) > end
                       ? hc_chunk_row_of_line(index, again)
                       : last + 1;
    hc_chunk_stream_allow(chunks, row + rows);
    for (; row <= last; row++) {
        HC_OR_RETURN(hc_chunk_stream_wait(chunks, row, err));
        copy_lines(chunks, line0, end, to, row % rows);
        hc_chunk_stream_allow(chunks, hc_min64(row + 1, kept) + rows);
    }
    return HC_OK;
}

static HcStatus read_rows(HcChunks *chunks, int64_t line0, int64_t lines, char *to, HcError *err) {
    HC_OR_RETURN(follow(chunks, line0, line0 + lines, err));
    return chunks->stream != NULL ? read_stream(chunks, line0, line0 + lines, to, err)
                                  : read_now(chunks, line0, lines, to, err);
}

static HcStatus read_scratch(HcChunks *chunks, int64_t line0, int64_t lines, char *to, HcError *err) {
    const HcChunkIndex *index = chunks->index;
    int64_t row = hc_chunk_row_of_line(index, line0);
    int64_t last = hc_chunk_row_of_line(index, line0 + lines - 1);
    HC_OR_RETURN(follow(chunks, line0, line0 + lines, err));
    if (chunks->stream != NULL) {
        hc_chunk_stream_allow(chunks, last + 2 + rows_together(index, chunks->plan.threads));
    }
    for (; row <= last; row++) {
        if (chunks->stream != NULL) {
            HC_OR_RETURN(hc_chunk_stream_wait(chunks, row, err));
        } else if (!chunks->written[row]) {
            HC_OR_RETURN(hc_chunk_stream_row(chunks, row, err));
        }
    }
    return hc_chunk_scratch_read(chunks, line0, lines, to, err);
}

HcStatus hc_chunks_read(HcChunks *chunks, int64_t line0, int32_t lines, void *to, HcRaw *raw, HcError *err) {
    const HcChunkIndex *index = chunks->index;
    HC_OR_RETURN(begin(chunks, err));
    HcTarget view = hc_chunk_target(chunks, 0, line0, lines, to);
    *raw = (HcRaw){.data = to,
                   .type = index->type,
                   .line0 = line0,
                   .lines = lines,
                   .samples = (int32_t)chunks->samples,
                   .bands = chunks->used,
                   .stride_line = view.stride[HC_AXIS_LINE],
                   .stride_sample = view.stride[HC_AXIS_SAMPLE],
                   .stride_band = view.stride[HC_AXIS_BAND]};
    return chunks->plan.rows > 0 ? read_rows(chunks, line0, lines, to, err)
                                 : read_scratch(chunks, line0, lines, to, err);
}

/* ---- a look at one chunk ---- */

HcStatus hc_chunks_look(HcChunks *chunks, int64_t number, HcChunkPixel *pixel, int32_t count, HcError *err) {
    const HcChunkIndex *index = chunks->index;
    HcChunkWorkspace *workspace = NULL;
    uint8_t *values = NULL;
    int64_t first[HC_AXES], size[HC_AXES];
    size_t each = hc_type_bytes(index->type);
    HC_OR_RETURN(hc_chunk_workspace_open(&workspace, index, err));
    HcStatus status = hc_chunk_bring_one(chunks, workspace, number, &values, err);
    hc_chunk_box(index, number, first, size);
    for (int32_t p = 0; p < count && status == HC_OK; p++) {
        int64_t line = index->upwards ? index->size[HC_AXIS_LINE] - 1 - pixel[p].line : pixel[p].line;
        const int64_t within[HC_AXES] = {line - first[HC_AXIS_LINE], pixel[p].sample - first[HC_AXIS_SAMPLE],
                                         pixel[p].band - first[HC_AXIS_BAND]};
        int64_t at = 0;
        for (int a = 0; a < HC_AXES; a++) {
            at = at * index->shape[index->order[a]] + within[index->order[a]];
        }
        pixel[p].value = values == NULL && index->fill != NULL ? index->fill[pixel[p].band] : 0;
        if (values != NULL) {
            memcpy(&pixel[p].value, values + at * (int64_t)each, each);
        }
    }
    hc_chunk_workspace_close(workspace);
    return status;
}
