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
#include <stdatomic.h>
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

/* What a visit is for. */
typedef enum Visit {
    MOVE,      /* pixels join their nearest centres */
    MOVE_SOME, /* the same, by gaps: those of which another centre may be the nearest by now */
    MEASURE    /* distances from the centres of the last step: no pixel moves */
} Visit;

/* Pixels of a piece whose gaps a thread looks at. */
typedef struct Part {
    struct HcStage *stage;
    const uint8_t *mask;
    const double *far; /* [pixels][NEAREST] */
    int64_t first, pixels;
    atomic_int any; /* pixel that is looked at */
} Part;

typedef struct State {
    char *header;
    HcReduced reduced;
    bool scratch;                /* the scene does not lie in memory */
    HcBuffer sums;               /* [device] of the pixels of this rank (hc_class_sums()) */
    HcClusterSums all;           /* of all ranks */
    HcBuffer label;              /* [device] [pixels of the rank] cluster, -1 = none */
    double *distance;            /* [pixels of the rank] squared, from the centre; after MOVE_SOME how much
                                    farther the second centre is at least */
    Visit visit, last;           /* of this step, of the one before */
    double drift[CLUSTERS_MAX];  /* of the centres in this step, at most */
    double widest;               /* of these */
    uint8_t *wanted;             /* [pixels of a piece] those that are looked at */
    HcBuffer found;              /* [device] of a piece: distances, then numbers */
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

/* Distances and numbers of a piece [bytes]. */
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
        size_t sums = hc_class_sums((int32_t)clusters, bands) * sizeof(int64_t);
        hc_stage_takes(stage, HC_SPACE_DEVICE,
                       hc_reduced_bytes_device(stage, bands) + found_bytes(stage) + sums +
                           hc_reduced_bytes_values(stage, 1) /* labels */);
        hc_stage_takes(stage, HC_SPACE_APART_WISH, hc_reduced_bytes_apart(stage, bands));
        hc_stage_takes(stage, HC_SPACE_HOST,
                       hc_reduced_bytes(stage, bands) + piece * (1 + HC_REASSIGN_PIXEL_BYTES) + sums +
                           /* distances, and labels */ hc_reduced_bytes_values(stage, 3) +
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

static HcStatus open_kmeans(HcStage *stage, HcError *err) {
    State *state = stage->state;
    int32_t bands = stage->in.bands;
    int32_t clusters = clusters_of(stage);
    HC_OR_RETURN(hc_reduced_open(&state->reduced, stage, bands, NULL, NULL, stage->has_more, err));
    state->scratch = state->reduced.file >= 0;
    size_t pixels = (size_t)state->reduced.count;
    size_t sums = hc_class_sums(clusters, bands) * sizeof(int64_t);
    HC_OR_RETURN(hc_new(state->distance, pixels, "the distances of pixels", err));
    HC_OR_RETURN(hc_new(state->wanted, hc_reduced_piece_pixels(stage, bands), "pixels of a piece", err));
    HC_OR_RETURN(hc_new(state->centre, (size_t)clusters * (size_t)bands, "centres", err));
    HC_OR_RETURN(hc_cluster_sums_open(&state->all, clusters, bands, err));
    HC_OR_RETURN(hc_memory_zeros(stage->compute, sums, &state->sums, err));
    HC_OR_RETURN(
        hc_alloc(stage->compute, HC_MEMORY_DEVICE, pixels * sizeof(int32_t) + 1, &state->label, err));
    return hc_alloc(stage->compute, HC_MEMORY_DEVICE, found_bytes(stage), &state->found, err);
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    State *state = stage->state;
    return hc_reduced_add(&state->reduced, queue, in, err);
}

/* ---- steps ---- */

/* A chunk of a piece: the pixels that another centre may be nearest to by now. */
static void choose_wanted(void *user, int64_t item, int32_t thread) {
    Part *part = user;
    State *state = part->stage->state;
    const int32_t *label = (const int32_t *)state->label.data + part->first;
    double *gap = state->distance + part->first;
    int64_t end = hc_min64((item + 1) * CHUNK, part->pixels);
    int any = 0;
    (void)thread;
    for (int64_t i = item * CHUNK; i < end; i++) {
        bool wanted = part->mask[i] != 0;
        if (wanted && state->last == MOVE_SOME) {
            gap[i] -= state->drift[label[i]] + state->widest;
            wanted = !(gap[i] > 0);
        }
        state->wanted[i] = wanted;
        any |= wanted;
    }
    if (any != 0) {
        atomic_store(&part->any, 1);
    }
}

/* A chunk of a piece: the gaps of the pixels that were looked at. */
static void note_gaps(void *user, int64_t item, int32_t thread) {
    const Part *part = user;
    State *state = part->stage->state;
    int64_t end = hc_min64((item + 1) * CHUNK, part->pixels);
    (void)thread;
    for (int64_t i = item * CHUNK; i < end; i++) {
        if (state->wanted[i] != 0) {
            const double *far = part->far + NEAREST * i;
            state->distance[part->first + i] = sqrt(far[1]) * (1 - rounding) - sqrt(far[0]) * (1 + rounding);
        }
    }
}

static HcStatus visit_piece(void *user, HcQueue *queue, const HcBlock *block, int64_t first, HcError *err) {
    HcStage *stage = user;
    State *state = stage->state;
    HcBlock piece = *block;
    int32_t k = state->visit == MOVE_SOME ? NEAREST : 1;
    size_t pixels = hc_block_pixels(block);
    int64_t chunks = ((int64_t)pixels + CHUNK - 1) / CHUNK;
    double *far = state->found.data;
    int32_t *index = (int32_t *)(far + (size_t)k * pixels);
    Part part = {.stage = stage, .mask = block->mask, .far = far, .first = first, .pixels = (int64_t)pixels};
    if (hc_flag(hc_stage_cancel(stage)) != 0) {
        return hc_fail(err, HC_E_CANCELLED, "interrupted");
    }
    if (state->visit == MOVE_SOME) {
        hc_team_run(state->reduced.team, chunks, choose_wanted, &part);
        if (atomic_load(&part.any) == 0) {
            return HC_OK;
        }
        piece.mask = state->wanted;
    }
    HC_OR_RETURN(hc_knn(queue, &piece, state->model, k, index, far, err));
    if (state->visit == MEASURE) {
        return hc_download(queue, far, state->distance + first, pixels * sizeof *far, err);
    }
    HC_OR_RETURN(hc_reassign(queue, &piece, index, k, (int32_t *)state->label.data + first,
                             clusters_of(stage), state->sums.data, err));
    if (state->visit == MOVE_SOME) {
        hc_team_run(state->reduced.team, chunks, note_gaps, &part);
    }
    return HC_OK;
}

static HcStatus open_model(HcStage *stage, HcError *err) {
    State *state = stage->state;
    hc_training_close(state->model);
    state->model = NULL;
    return hc_training_open(stage->compute, state->centre, clusters_of(stage), stage->in.bands,
                            HC_METRIC_EUCLIDEAN, &state->model, err);
}

/* Visits the pixels of this rank. */
static HcStatus visit(HcStage *stage, HcQueue *queue, Visit what, HcError *err) {
    State *state = stage->state;
    state->visit = what;
    HC_OR_RETURN(hc_reduced_visit(&state->reduced, queue, visit_piece, stage, err));
    state->last = what;
    return hc_wait(queue, err);
}

/* All pixels join their nearest centres; counts those that change. */
static HcStatus assign(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    HcComputeInfo info;
    hc_compute_info(stage->compute, &info);
    HC_OR_RETURN(open_model(stage, err));
    HC_OR_RETURN(hc_zero(queue, state->sums.data, sizeof(int64_t), err)); /* pixels that changed */
    HC_OR_RETURN(visit(stage, queue, info.shared_memory ? MOVE_SOME : MOVE, err));
    HC_OR_RETURN(hc_cluster_sums_join(&state->all, queue, &state->sums, hc_stage_ranks(stage), err));
    state->changed = state->all.number[0];
    return HC_OK;
}

/* What a rank offers to an empty cluster. */
typedef struct Offer {
    const State *state;
    int32_t *label; /* [pixels of the rank] */
} Offer;

static void offer_rank(void *best, void *user) {
    const Offer *offer = user;
    const State *state = offer->state;
    for (int64_t i = 0; i < state->reduced.count; i++) {
        int32_t label = offer->label[i];
        if (label >= 0 && state->all.count[label] > 1 && state->distance[i] > 0) {
            hc_best_offer(best, state->distance[i], state->reduced.first + i, label);
        }
    }
}

/* A pixel of this rank joins a cluster. */
static HcStatus move_pixel(HcStage *stage, HcQueue *queue, int64_t own, const float *value, int32_t cluster,
                           HcError *err) {
    State *state = stage->state;
    const uint8_t valid = 1;
    size_t bytes = (size_t)stage->in.bands * sizeof *value;
    HcBlock pixel = {.data = state->reduced.piece.data, .lines = 1, .samples = 1, .bands = stage->in.bands};
    pixel.mask = (uint8_t *)pixel.data + bytes;
    HC_OR_RETURN(hc_upload(queue, value, pixel.data, bytes, err));
    HC_OR_RETURN(hc_upload(queue, &valid, pixel.mask, 1, err));
    HC_OR_RETURN(hc_upload(queue, &cluster, state->found.data, sizeof cluster, err));
    HC_OR_RETURN(hc_reassign(queue, &pixel, state->found.data, 1, (int32_t *)state->label.data + own,
                             clusters_of(stage), state->sums.data, err));
    return hc_wait(queue, err);
}

/* The pixel that is farthest from its centre becomes the only one of an empty cluster. */
static HcStatus fill_cluster(HcStage *stage, HcQueue *queue, int32_t cluster, Offer *offer, HcBest *best,
                             HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    double *x = NULL;
    float *value = NULL;
    *best = (HcBest){.pixel = -1};
    offer_rank(best, offer);
    HC_TRY(hc_ranks_fold(hc_stage_ranks(stage), best, sizeof *best, offer_rank, offer, err));
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
        HC_TRY(move_pixel(stage, queue, own, value, cluster, err));
        offer->label[own] = cluster;
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

static HcStatus fill_empty(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcBest best = {.pixel = -1};
    Offer offer = {.state = state};
    size_t pixels = (size_t)state->reduced.count;
    for (int32_t k = 0; k < clusters_of(stage); k++) {
        if (state->all.count[k] > 0) {
            continue;
        }
        if (offer.label == NULL) {
            HC_TRY(visit(stage, queue, MEASURE, err));
            HC_TRY(hc_new(offer.label, pixels, "the clusters of pixels", err));
            HC_TRY(hc_memory_download(stage->compute, &state->label, offer.label,
                                      pixels * sizeof *offer.label, err));
        }
        HC_TRY(fill_cluster(stage, queue, k, &offer, &best, err));
        if (best.pixel < 0) {
            break;
        }
    }
    if (offer.label != NULL) {
        HC_TRY(hc_cluster_sums_join(&state->all, queue, &state->sums, hc_stage_ranks(stage), err));
    }
done:
    free(offer.label);
    return status;
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
    return visit(stage, queue, MEASURE, err);
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
    if (state->reduced.stage != NULL) {
        hc_reduced_close(&state->reduced);
    }
    hc_cluster_sums_close(&state->all);
    free(state->distance);
    free(state->wanted);
    state->distance = NULL;
    state->wanted = NULL;
    hc_memory_release(stage->compute, &state->sums);
    hc_memory_release(stage->compute, &state->label);
    hc_memory_release(stage->compute, &state->found);
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
    size_t labels = (size_t)state->reduced.count * sizeof(int32_t);
    memset(state->distance, 0xFF, labels); /* -1 */
    HC_OR_RETURN(hc_upload(queue, state->distance, state->label.data, labels, err));
    HC_OR_RETURN(hc_kmeans_start(&state->reduced, clusters_of(stage), (uint64_t)params_of(stage)->seed,
                                 state->centre, &state->sampled, err));
    HC_OR_RETURN(lloyd(stage, queue, err));
    HC_OR_RETURN(hc_cluster_inertia(&state->reduced, state->distance, &state->inertia, err));
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
