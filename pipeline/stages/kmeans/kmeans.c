/* kmeans: clusters of a scene by Lloyd's algorithm: each pixel joins the nearest centre, each centre becomes
 * the mean of its pixels, and again.
 *
 * The first pass keeps the scene in memory or in a scratch file, where all steps read it. Neighbours are
 * those of float64 arithmetic and sums are integers, so that blocks, threads, ranks and devices do not
 * matter. The second pass writes the map.
 *
 * On a backend in host memory, most pixels are not looked at in most steps: those that lie nearer to their
 * own centre than to the next one by more than both can have moved since (Hamerly: Making k-means even
 * faster, 2010). Labels are those of a search of all pixels.
 */
#include "core/allocate.h"
#include "core/operation/knn/knn.h"
#include "core/operation/knn/vote.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"
#include "pipeline/stages/shared/spectra_files.h"
#include "pipeline/stages/kmeans/start.h"
#include "pipeline/stages/kmeans/sums.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A map of bytes holds them all, and pixels of none. */
enum { CLUSTERS_MAX = 254 };

/* Centres that a pixel is compared with: its own, and the next one where gaps are wanted. */
enum { NEAREST = 2 };

/* Pixels that a thread looks at together. */
enum { CHUNK = 4096 };

/* What rounding makes of distances, relative to them, at most. */
static const double rounding = 1e-9;

typedef struct Params {
    HcSpectraParams files; /* first; the centres */
    int64_t clusters, iterations, seed;
    double tolerance;
    bool distance;
} Params;

/* A piece of the scene whose neighbours are looked for. */
typedef struct Piece {
    HcQueue *queue; /* brings what is found while the next piece is in work; NULL = one piece at a time */
    double *found, *fetched; /* [device], [host] distances, then numbers */
    const float *values;
    int64_t first;
    size_t pixels; /* 0 = none */
} Piece;

typedef struct State {
    char *header;
    HcReduced reduced;
    bool scratch;               /* the scene does not lie in memory */
    HcClusterSums sums;         /* of the pixels of this rank */
    HcClusterSums all;          /* of all ranks */
    int32_t *label;             /* [pixels of the rank] cluster, -1 = none */
    double *distance;           /* [pixels of the rank] squared, from the centre; or with has_gaps: how much
                                   farther the second centre is at least */
    bool wants_gaps, has_gaps;  /* of this step, of the steps before */
    double drift[CLUSTERS_MAX]; /* of the centres in this step, at most */
    double widest;              /* of these */
    uint8_t *wanted;            /* [pixels of a piece] those that are looked at */
    HcMove *move;               /* [pixels of a piece] */
    int64_t *moves;             /* [chunks of a piece] */
    HcBuffer found, fetched;    /* [device], [host] of a piece, or of two */
    Piece piece[2];
    int32_t now;                 /* the one that was begun last */
    float *centre;               /* [clusters][bands] */
    HcTraining *model;           /* the centres on the device */
    HcBuffer number;             /* [device] [clusters] their numbers in the map */
    int32_t order[CLUSTERS_MAX]; /* clusters by size */
    int64_t size[CLUSTERS_MAX];  /* of order[] */
    int64_t pixels, sampled, changed, iterations, moved;
    double inertia;
    bool fitted;
} State;

static const HcOption options[] = {
    {HC_INT(Params, clusters), .range = {2, CLUSTERS_MAX}, .initial = 8, .value = "COUNT",
     .help = "number of clusters"},
    {HC_INT(Params, iterations), .range = {1, 100000}, .initial = 100, .value = "COUNT",
     .help = "maximum number of iterations"},
    {HC_REAL(Params, tolerance), .range = {0, 1}, .open = HC_OPEN_HIGH, .initial = 0, .value = "SHARE",
     .help = "stop when at most this fraction of the pixels changes its cluster; 0: when none does"},
    {HC_INT(Params, seed), .range = {0, 9007199254740992}, .initial = 1, .value = "NUMBER",
     .help = "seed of the first centres: the same number takes the same pixels"},
    {HC_FLAG(Params, distance), .unit = "as the bands",
     .help = "add a band with the distance from the centre of the cluster"},
    {HC_TEXT(HcSpectraParams, path, "centres"), .file = HC_FILE_WRITTEN, .value = "SPECTRA.sli",
     .help = "write the centres as a spectral library: ENVI (.sli, with its header), or CSV (.csv)"},
    {HC_FLAG(HcSpectraParams, overwrite), .help = "replace existing libraries"},
    {0}};

static const Params *params_of(const HcStage *stage) {
    return stage->params;
}

static int32_t clusters_of(const HcStage *stage) {
    return (int32_t)params_of(stage)->clusters;
}

static HcVoteRule rule_of(const HcStage *stage) {
    return (HcVoteRule){.vote = HC_VOTE_MAJORITY,
                        .metric = HC_METRIC_EUCLIDEAN,
                        .k = 1,
                        .classes = clusters_of(stage),
                        .reject = INFINITY,
                        .add = {[HC_VOTE_ADD_DISTANCE] = params_of(stage)->distance}};
}

/* ---- plan ---- */

static HcStatus plan_out(HcStage *stage, HcError *err) {
    HcScene *out = &stage->out;
    HcVoteRule rule = rule_of(stage);
    HC_OR_RETURN(hc_scene_copy(out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(out, hc_vote_bands(&rule), HC_CLASS_MAP, err));
    HC_OR_RETURN(hc_classes_make(&out->classes, rule.classes + 1, err));
    for (int32_t k = 1; k <= rule.classes; k++) {
        char name[32];
        (void)snprintf(name, sizeof name, "cluster %d", k);
        HC_OR_RETURN(hc_classes_name(&out->classes, k, name, err));
    }
    out->has_nodata = false; /* the mask alone says where there is no cluster */
    HC_OR_RETURN(hc_scene_name_band(out, 0, err, "cluster"));
    if (rule.add[HC_VOTE_ADD_DISTANCE]) {
        HC_OR_RETURN(hc_scene_name_band(out, 1, err, "distance"));
    }
    out->integer_limit = out->bands == 1 ? rule.classes : 0;
    return HC_OK;
}

/* Distances and numbers of a piece, or without gaps of two [bytes]. */
static size_t found_bytes(const HcStage *stage) {
    return NEAREST * hc_reduced_piece_pixels(stage, stage->in.bands) * (sizeof(double) + sizeof(int32_t));
}

static void plan_needs(HcStage *stage) {
    int32_t bands = stage->in.bands;
    size_t clusters = (size_t)clusters_of(stage);
    size_t model = clusters * ((size_t)bands * (2 * sizeof(float) + 1) + sizeof(double) + sizeof(int32_t));
    stage->output = params_of(stage)->files.path;
    stage->needs.has_output = stage->output != NULL;
    stage->needs.observes = !stage->settled;
    hc_stage_takes(stage, HC_SPACE_DEVICE, model);
    hc_stage_takes(stage, HC_SPACE_PIXEL, sizeof(double) + sizeof(int32_t));
    hc_stage_takes(stage, HC_SPACE_WORKER, hc_knn_thread_bytes(bands, NEAREST));
    hc_stage_takes(stage, HC_SPACE_HOST,
                   hc_spectra_picture_bytes(stage, &params_of(stage)->files, (int32_t)clusters));
    if (!stage->settled) {
        size_t piece = hc_reduced_piece_pixels(stage, bands);
        hc_stage_takes(stage, HC_SPACE_DEVICE, hc_reduced_bytes_device(stage, bands) + found_bytes(stage));
        hc_stage_takes(stage, HC_SPACE_APART_WISH, hc_reduced_bytes_apart(stage, bands));
        hc_stage_takes(stage, HC_SPACE_HOST,
                       hc_reduced_bytes(stage, bands) + found_bytes(stage) + piece * (sizeof(HcMove) + 1) +
                           hc_reduced_bytes_values(stage, 3) +
                           /* labels and distances */ 2 * hc_cluster_sums_bytes((int32_t)clusters, bands) +
                           hc_kmeans_start_bytes(bands) + clusters * (size_t)bands * sizeof(float));
        hc_stage_takes(stage, HC_SPACE_WISH, hc_reduced_bytes_values(stage, bands));
    }
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const HcScene *in = &stage->in;
    State *state = stage->state;
    HC_OR_RETURN(hc_statistics_of_values(in, "kmeans", err));
    if (in->lines * in->samples >= HC_CLUSTER_PIXELS) {
        return hc_fail(err, HC_E_UNSUPPORTED, "kmeans: the scene has %lld pixels, at most %lld are possible",
                       (long long)(in->lines * in->samples), (long long)HC_CLUSTER_PIXELS - 1);
    }
    if (params_of(stage)->files.path != NULL) {
        HC_OR_RETURN(hc_spectra_files_plan(stage, &params_of(stage)->files, &state->header, err));
    }
    HC_OR_RETURN(plan_out(stage, err));
    plan_needs(stage);
    return HC_OK;
}

/* ---- the first pass keeps the scene ---- */

/* Two pieces with room for one neighbour, or one with room for two. */
static HcStatus open_pieces(HcStage *stage, HcError *err) {
    HcComputeInfo info;
    State *state = stage->state;
    hc_compute_info(stage->compute, &info);
    bool two = !info.shared_memory && !state->scratch;
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_DEVICE, found_bytes(stage), &state->found, err));
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_HOST, found_bytes(stage), &state->fetched, err));
    for (int32_t p = 0; p < 2; p++) {
        Piece *piece = &state->piece[p];
        size_t at = two ? (size_t)p * found_bytes(stage) / 2 / sizeof *piece->found : 0;
        piece->found = (double *)state->found.data + at;
        piece->fetched = (double *)state->fetched.data + at;
        HC_OR_RETURN(two ? hc_queue_open(stage->compute, &piece->queue, err) : HC_OK);
    }
    return HC_OK;
}

static HcStatus open_kmeans(HcStage *stage, HcError *err) {
    State *state = stage->state;
    int32_t bands = stage->in.bands;
    int32_t clusters = clusters_of(stage);
    state->scratch = !stage->has_more;
    HC_OR_RETURN(hc_reduced_open(&state->reduced, stage, bands, NULL, NULL, !state->scratch, err));
    size_t pixels = (size_t)state->reduced.count;
    HC_OR_RETURN(hc_new(state->label, pixels, "the clusters of pixels", err));
    HC_OR_RETURN(hc_new(state->distance, pixels, "the distances of pixels", err));
    HC_OR_RETURN(hc_new(state->move, hc_reduced_piece_pixels(stage, bands), "pixels of a piece", err));
    HC_OR_RETURN(hc_new(state->wanted, hc_reduced_piece_pixels(stage, bands), "pixels of a piece", err));
    HC_OR_RETURN(hc_new(state->centre, (size_t)clusters * (size_t)bands, "centres", err));
    HC_OR_RETURN(hc_cluster_sums_open(&state->sums, clusters, bands, err));
    HC_OR_RETURN(hc_cluster_sums_open(&state->all, clusters, bands, err));
    HC_OR_RETURN(
        hc_new(state->moves, hc_reduced_piece_pixels(stage, bands) / CHUNK + 1, "pixels of a piece", err));
    return open_pieces(stage, err);
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    State *state = stage->state;
    return hc_reduced_add(&state->reduced, queue, in, err);
}

/* ---- steps ---- */

/* The pixels that another centre may be nearest to by now; whether there are any. */
static bool choose_wanted(State *state, const uint8_t *mask, int64_t first, size_t pixels) {
    bool any = false;
    for (size_t i = 0; i < pixels; i++) {
        double *gap = &state->distance[(size_t)first + i];
        int32_t label = state->label[(size_t)first + i];
        state->wanted[i] = mask[i];
        if (mask[i] != 0 && label >= 0 && state->has_gaps) {
            *gap -= state->drift[label] + state->widest;
            state->wanted[i] = !(*gap > 0);
        }
        any = any || state->wanted[i] != 0;
    }
    return any;
}

/* A chunk of a piece: the pixels that change go to its own place in the list of moves. */
static void note_moves(void *user, int64_t item, int32_t thread) {
    const HcStage *stage = user;
    State *state = stage->state;
    const Piece *piece = &state->piece[state->now];
    size_t k = state->wants_gaps ? NEAREST : 1;
    const double *far = piece->fetched;
    const int32_t *nearest = (const int32_t *)(far + k * piece->pixels);
    size_t begin = (size_t)item * CHUNK;
    size_t end = (size_t)hc_min64((int64_t)begin + CHUNK, (int64_t)piece->pixels);
    HcMove *move = state->move + begin;
    (void)thread;
    for (size_t i = begin; i < end; i++) {
        int32_t *label = &state->label[(size_t)piece->first + i];
        double *kept = &state->distance[(size_t)piece->first + i];
        if (state->wants_gaps && state->wanted[i] == 0) {
            continue;
        }
        *kept = state->wants_gaps ? sqrt(far[k * i + 1]) * (1 - rounding) - sqrt(far[k * i]) * (1 + rounding)
                                  : far[i];
        if (nearest[k * i] != *label) {
            *move++ = (HcMove){(int64_t)i, *label, nearest[k * i]};
            *label = nearest[k * i];
        }
    }
    state->moves[item] = move - (state->move + begin);
}

/* Waits for what was found of a piece, and moves its pixels. */
static HcStatus end_piece(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    Piece *piece = &state->piece[state->now];
    int64_t chunks = ((int64_t)piece->pixels + CHUNK - 1) / CHUNK;
    size_t moves = 0;
    if (piece->pixels == 0) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_wait(piece->queue != NULL ? piece->queue : queue, err));
    hc_team_run(state->reduced.team, chunks, note_moves, stage);
    for (int64_t c = 0; c < chunks; c++) {
        memmove(state->move + moves, state->move + c * CHUNK, (size_t)state->moves[c] * sizeof(HcMove));
        moves += (size_t)state->moves[c];
    }
    state->changed += (int64_t)moves;
    hc_cluster_sums_move(&state->sums, state->reduced.team, piece->values, state->move, moves);
    piece->pixels = 0;
    return hc_flag(hc_stage_cancel(stage)) == 0 ? HC_OK : hc_fail(err, HC_E_CANCELLED, "interrupted");
}

/* The pixels of a piece join their nearest centres. A device looks for those of the next piece meanwhile,
 * where the values of both are there. */
static HcStatus assign_piece(void *user, HcQueue *queue, const HcBlock *block, const float *values,
                             int64_t first, HcError *err) {
    HcStage *stage = user;
    State *state = stage->state;
    HcBlock part = *block;
    Piece *piece = &state->piece[state->now ^ 1];
    size_t pixels = hc_block_pixels(block);
    size_t k = state->wants_gaps ? NEAREST : 1;
    int32_t *index = (int32_t *)(piece->found + k * pixels);
    if (state->wants_gaps) {
        part.mask = state->wanted;
        if (!choose_wanted(state, block->mask, first, pixels)) {
            return HC_OK;
        }
    }
    HC_OR_RETURN(hc_knn(queue, &part, state->model, (int32_t)k, index, piece->found, err));
    HC_OR_RETURN(piece->queue != NULL ? hc_follow(piece->queue, queue, err) : HC_OK);
    HC_OR_RETURN(hc_download(piece->queue != NULL ? piece->queue : queue, piece->found, piece->fetched,
                             k * pixels * (sizeof *piece->found + sizeof *index), err));
    HC_OR_RETURN(end_piece(stage, queue, err));
    piece->values = values;
    piece->first = first;
    piece->pixels = pixels;
    state->now ^= 1;
    return piece->queue != NULL ? HC_OK : end_piece(stage, queue, err);
}

static HcStatus open_model(HcStage *stage, HcError *err) {
    State *state = stage->state;
    hc_training_close(state->model);
    state->model = NULL;
    return hc_training_open(stage->compute, state->centre, clusters_of(stage), stage->in.bands,
                            HC_METRIC_EUCLIDEAN, &state->model, err);
}

/* Visits the pixels of this rank. */
static HcStatus visit(HcStage *stage, HcQueue *queue, bool gaps, HcError *err) {
    State *state = stage->state;
    state->wants_gaps = gaps;
    HC_OR_RETURN(hc_reduced_visit(&state->reduced, queue, assign_piece, stage, err));
    HC_OR_RETURN(end_piece(stage, queue, err));
    state->has_gaps = gaps;
    return HC_OK;
}

/* All pixels join their nearest centres; counts those that change. */
static HcStatus assign(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    HcComputeInfo info;
    hc_compute_info(stage->compute, &info);
    state->changed = 0;
    HC_OR_RETURN(open_model(stage, err));
    HC_OR_RETURN(visit(stage, queue, info.shared_memory, err));
    HC_OR_RETURN(hc_ranks_sum(hc_stage_ranks(stage), &state->changed, 1, err));
    return hc_cluster_sums_join(&state->sums, hc_stage_ranks(stage), &state->all, err);
}

static void offer_rank(void *best, void *user) {
    const State *state = user;
    for (int64_t i = 0; i < state->reduced.count; i++) {
        int32_t label = state->label[i];
        if (label >= 0 && state->all.count[label] > 1 && state->distance[i] > 0) {
            hc_best_offer(best, state->distance[i], state->reduced.first + i, label);
        }
    }
}

/* The pixel that is farthest from its centre becomes the only one of an empty cluster. */
static HcStatus fill_cluster(HcStage *stage, int32_t cluster, HcBest *best, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    double *x = NULL;
    float *value = NULL;
    *best = (HcBest){.pixel = -1};
    offer_rank(best, state);
    HC_TRY(hc_ranks_fold(hc_stage_ranks(stage), best, sizeof *best, offer_rank, state, err));
    if (best->pixel < 0) {
        return HC_OK; /* every pixel lies at its centre */
    }
    HC_TRY(hc_new(x, bands, "a spectrum", err));
    HC_TRY(hc_new(value, bands, "a spectrum", err));
    HC_TRY(hc_reduced_fetch(&state->reduced, &best->pixel, 1, x, err));
    for (size_t b = 0; b < bands; b++) {
        value[b] = (float)x[b];
    }
    int64_t own = best->pixel - state->reduced.first;
    if (own >= 0 && own < state->reduced.count) {
        const HcMove move = {0, best->which, cluster};
        hc_cluster_sums_move(&state->sums, NULL, value, &move, 1);
        state->label[own] = cluster;
        state->distance[own] = 0;
    }
    state->all.count[best->which]--;
    state->all.count[cluster]++;
    state->moved++;
done:
    free(x);
    free(value);
    return status;
}

/* Distances in the place of gaps. No pixel moves: the centres are those of the last step. */
static HcStatus make_distances(HcStage *stage, HcQueue *queue, HcError *err) {
    const State *state = stage->state;
    return state->has_gaps ? visit(stage, queue, false, err) : HC_OK;
}

static HcStatus fill_empty(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    HcBest best = {.pixel = -1};
    bool filled = false;
    for (int32_t k = 0; k < clusters_of(stage); k++) {
        if (state->all.count[k] == 0) {
            HC_OR_RETURN(make_distances(stage, queue, err));
            HC_OR_RETURN(fill_cluster(stage, k, &best, err));
            if (best.pixel < 0) {
                break;
            }
            filled = true;
        }
    }
    return filled ? hc_cluster_sums_join(&state->sums, hc_stage_ranks(stage), &state->all, err) : HC_OK;
}

static void move_centres(HcStage *stage) {
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    state->widest = 0;
    for (int32_t k = 0; k < clusters_of(stage); k++) {
        float *centre = state->centre + (size_t)k * bands;
        state->drift[k] = 0;
        if (state->all.count[k] > 0) {
            state->drift[k] = hc_cluster_sums_mean(&state->all, k, centre) * (1 + rounding);
        }
        state->widest = fmax(state->widest, state->drift[k]);
    }
}

/* Whether fewer pixels change than the user wants to wait for. A cluster without pixels waits for one. */
static bool is_done(const HcStage *stage, int64_t moved_before) {
    const State *state = stage->state;
    return state->moved == moved_before &&
           (double)state->changed <= params_of(stage)->tolerance * (double)state->pixels;
}

static HcStatus lloyd(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(assign(stage, queue, err));
    for (bool done = false; !done && state->iterations < params_of(stage)->iterations;) {
        int64_t before = state->moved;
        HC_OR_RETURN(fill_empty(stage, queue, err));
        move_centres(stage);
        HC_OR_RETURN(assign(stage, queue, err));
        state->iterations++;
        done = is_done(stage, before);
    }
    return make_distances(stage, queue, err);
}

/* ---- what is known then ---- */

/* Clusters by their size, of equal ones the earlier first; their numbers in the map go to the device. */
static HcStatus put_in_order(HcStage *stage, HcError *err) {
    State *state = stage->state;
    int32_t number[CLUSTERS_MAX] = {0};
    int32_t clusters = clusters_of(stage);
    for (int32_t k = 0; k < clusters; k++) {
        int32_t place = k;
        for (; place > 0 && state->size[place - 1] < state->all.count[k]; place--) {
            state->size[place] = state->size[place - 1];
            state->order[place] = state->order[place - 1];
        }
        state->size[place] = state->all.count[k];
        state->order[place] = k;
    }
    for (int32_t place = 0; place < clusters; place++) {
        number[state->order[place]] = place + 1;
    }
    return hc_memory_upload(stage->compute, number, (size_t)clusters * sizeof *number, &state->number, err);
}

static void report_end(HcStage *stage) {
    const State *state = stage->state;
    int32_t clusters = clusters_of(stage);
    int32_t empty = 0;
    for (int32_t k = 0; k < clusters; k++) {
        empty += state->size[k] == 0;
    }
    bool changes = (double)state->changed > params_of(stage)->tolerance * (double)state->pixels;
    if (empty > 0) {
        hc_stage_note(stage, "%d of %d clusters are empty%s", empty, clusters,
                      changes ? "" : ": the scene has fewer different spectra");
    }
    if (changes) {
        hc_stage_note(stage, "stopped by --iterations %lld: %lld of %lld pixels still changed their cluster",
                      (long long)params_of(stage)->iterations, (long long)state->changed,
                      (long long)state->pixels);
    }
}

static void close_fit(HcStage *stage) {
    State *state = stage->state;
    for (int32_t p = 0; p < 2; p++) { /* first: work that waits there uses the memory */
        hc_queue_close(state->piece[p].queue);
        state->piece[p] = (Piece){0};
    }
    if (state->reduced.stage != NULL) {
        hc_reduced_close(&state->reduced);
    }
    hc_cluster_sums_close(&state->sums);
    hc_cluster_sums_close(&state->all);
    free(state->label);
    free(state->distance);
    free(state->move);
    free(state->wanted);
    free(state->moves);
    state->label = NULL;
    state->distance = NULL;
    state->move = NULL;
    state->wanted = NULL;
    state->moves = NULL;
    hc_memory_release(stage->compute, &state->found);
    hc_memory_release(stage->compute, &state->fetched);
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_wait(queue, err));
    HC_OR_RETURN(hc_reduced_filled(&state->reduced, err));
    state->pixels = state->reduced.pixels;
    if (state->reduced.unusable > 0) {
        hc_stage_note(stage, "%lld pixels are not finite and in no sum", (long long)state->reduced.unusable);
    }
    if (state->pixels == 0) {
        return hc_fail(err, HC_E_NUMERIC, "kmeans: no pixel is valid");
    }
    for (int64_t i = 0; i < state->reduced.count; i++) {
        state->label[i] = -1;
    }
    HC_OR_RETURN(hc_kmeans_start(&state->reduced, clusters_of(stage), (uint64_t)params_of(stage)->seed,
                                 state->centre, &state->sampled, err));
    HC_OR_RETURN(lloyd(stage, queue, err));
    HC_OR_RETURN(hc_cluster_inertia(&state->reduced, state->label, state->distance, &state->inertia, err));
    HC_OR_RETURN(put_in_order(stage, err));
    report_end(stage);
    close_fit(stage);
    state->fitted = true;
    return HC_OK;
}

/* ---- the second pass writes the map ---- */

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    const State *state = stage->state;
    HcVoteRule rule = rule_of(stage);
    HcBlock from = hc_block_rows_of(in, out);
    HcBlock to = hc_block_rows_of(out, out);
    double *distance = scratch;
    int32_t *index = (int32_t *)(distance + hc_block_pixels(&to));
    HC_OR_RETURN(hc_knn(queue, &from, state->model, 1, index, distance, err));
    return hc_vote(queue, &from, index, distance, state->number.data, &rule, &to, err);
}

/* ---- what is left behind ---- */

/* The centres by falling size of their clusters: values are fresh memory, and so are the names. */
static HcStatus name_centres(const HcStage *stage, char **name, float **value, HcError *err) {
    const State *state = stage->state;
    int32_t clusters = clusters_of(stage);
    size_t bands = (size_t)stage->in.bands;
    HC_OR_RETURN(hc_new(*value, (size_t)clusters * bands, "centres", err));
    for (int32_t k = 0; k < clusters; k++) {
        memcpy(*value + (size_t)k * bands, state->centre + (size_t)state->order[k] * bands,
               bands * sizeof **value);
        name[k] = hc_text_format("cluster %d", k + 1);
        HC_OR_RETURN(hc_text_made(name[k], 32, "the name of a cluster", err));
    }
    return HC_OK;
}

static HcFoundSpectra found_of(const HcStage *stage, char **name, const float *value) {
    return (HcFoundSpectra){.count = clusters_of(stage),
                            .bands = stage->in.bands,
                            .value = value,
                            .name = name,
                            .title = "clusters"};
}

static void free_centres(char **name, float *value) {
    for (int32_t k = 0; k < CLUSTERS_MAX; k++) {
        free(name[k]);
    }
    free(value);
}

static HcStatus finish(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    char *name[CLUSTERS_MAX] = {0};
    float *value = NULL;
    if (params_of(stage)->files.path == NULL) {
        return HC_OK;
    }
    HC_TRY(name_centres(stage, name, &value, err));
    const HcFoundSpectra found = found_of(stage, name, value);
    HC_TRY(hc_spectra_files_write(stage, &params_of(stage)->files, &found, err));
done:
    free_centres(name, value);
    return status;
}

static HcStatus panels(const HcStage *stage, HcPanels *to, HcError *err) {
    HcStatus status = HC_OK;
    char *name[CLUSTERS_MAX] = {0};
    float *value = NULL;
    HC_TRY(name_centres(stage, name, &value, err));
    const HcFoundSpectra found = found_of(stage, name, value);
    HC_TRY(hc_spectra_panel(stage, &found, to, err));
done:
    free_centres(name, value);
    return status;
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    if (!state->fitted) {
        return;
    }
    hc_json_put_number(to, "pixels", (double)state->pixels);
    hc_json_put_number(to, "sampled_pixels", (double)state->sampled);
    hc_json_put_text(to, "kept_scene", state->scratch ? "scratch file" : "memory");
    hc_json_put_number(to, "iterations", (double)state->iterations);
    hc_json_put_number(to, "changed_last", (double)state->changed);
    hc_json_put_number(to, "moved_into_empty", (double)state->moved);
    hc_json_put_double(to, "inertia", state->inertia);
    hc_json_open_array(to, "sizes");
    for (int32_t k = 0; k < clusters_of(stage); k++) {
        hc_json_put_number(to, NULL, (double)state->size[k]);
    }
    hc_json_close(to);
}

static void close_kmeans(HcStage *stage) {
    State *state = stage->state;
    close_fit(stage);
    hc_training_close(state->model);
    hc_memory_release(stage->compute, &state->number);
    free(state->centre);
    free(state->header);
    *state = (State){0};
}

const HcStageClass hc_stage_kmeans = {
    .name = "kmeans",
    .summary = "clusters of similar spectra, as a class map (k-means)",
    .cite = "Lloyd 1982; Arthur, Vassilvitskii 2007 (k-means++)",
    .example = "hcube kmeans scene.hdr clusters.tif --clusters 6 --centres clusters.sli",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_kmeans,
    .observe = observe,
    .settle = settle,
    .process = process,
    .finish = finish,
    .report = report,
    .rare = {.panels = panels},
    .close = close_kmeans,
};
