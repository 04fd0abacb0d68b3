/* Rows of nearest training spectra, of votes, of classes that change, and of references that are identified.
 */
#include "core/operation/spectrum/identify.h"
#include "core/operation/knn/reassign.h"
#include "core/operation/knn/vote.h"
#include "bench/internal.h"
#include "core/allocate.h"
#include "core/solver/identify.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One call is as long as this [s], or takes all lines: fewer lines are measured where it takes longer. */
static const double long_call = 0.2;

static const size_t neighbour_bytes = sizeof(double) + sizeof(int32_t);

/* What an operation is called with. */
typedef struct Search {
    HcBlock in, out;
    HcTraining *training;
    HcBuffer memory;  /* neighbours of the pixels of `in` */
    double *distance; /* [device], in `memory` */
    int32_t *index;   /* [device], in `memory` */
    HcBuffer label;
    HcVoteRule rule;
} Search;

static HcStatus call_knn(HcRig *rig, void *user, HcError *err) {
    Search *search = user;
    return hc_knn(rig->queue, &search->in, search->training, rig->settings->neighbours, search->index,
                  search->distance, err);
}

static HcStatus call_vote(HcRig *rig, void *user, HcError *err) {
    Search *search = user;
    return hc_vote(rig->queue, &search->in, search->index, search->distance, search->label.data,
                   &search->rule, &search->out, err);
}

static const HcBenchNearest *expected(const HcRig *rig, HcMetric metric) {
    const HcBenchWitness *witness = rig->bench->witness;
    return witness != NULL && witness->nearest[metric].pixels > 0 ? &witness->nearest[metric] : NULL;
}

static size_t line_neighbours(const HcRig *rig) {
    return (size_t)rig->settings->samples * (size_t)rig->settings->neighbours;
}

/* Number of lines whose neighbours the serial reference knows, at least one. */
static int64_t least_lines(const HcRig *rig, HcMetric metric) {
    const HcBenchNearest *nearest = expected(rig, metric);
    int64_t samples = rig->settings->samples;
    return nearest != NULL ? (nearest->pixels + samples - 1) / samples : 1;
}

/* As many lines of the part as have neighbours that take no more memory than its pixels. */
static int64_t most_lines(const HcRig *rig, int64_t least) {
    int64_t lines = (int64_t)(rig->block.bytes / (line_neighbours(rig) * neighbour_bytes));
    lines = lines > least ? lines : least;
    return lines < rig->part ? lines : rig->part;
}

/* The first lines of the part, as they lie in its block. */
static HcBlock first_lines(const HcRig *rig, int64_t lines) {
    HcBlock block = hc_rig_block(rig, &rig->block, rig->part, rig->settings->bands);
    block.lines = (int32_t)lines;
    return block;
}

static HcStatus take_memory(HcRig *rig, Search *search, int64_t lines, HcError *err) {
    size_t count = (size_t)lines * line_neighbours(rig);
    HC_OR_RETURN(hc_alloc(rig->compute, HC_MEMORY_DEVICE, count * neighbour_bytes, &search->memory, err));
    search->distance = search->memory.data;
    search->index = (int32_t *)(search->distance + count);
    return HC_OK;
}

static void close_search(HcRig *rig, Search *search, HcStatus status) {
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_training_close(search->training);
    hc_release(rig->compute, &search->memory);
    hc_release(rig->compute, &search->label);
}

static HcStatus open_training(HcRig *rig, HcMetric metric, HcTraining **out, HcError *err) {
    HcStatus status = HC_OK;
    const HcBenchSettings *settings = rig->settings;
    size_t values = (size_t)settings->training * (size_t)settings->bands;
    float *spectra = NULL;
    HC_TRY(hc_new(spectra, values, "training spectra", err));
    hc_bench_training(settings, spectra);
    HC_TRY(hc_training_open(rig->compute, spectra, settings->training, settings->bands, metric, out, err));
done:
    free(spectra);
    return status;
}

/* Lines from `least` to `most` that make a call long enough to be measured, and not much longer. */
static HcStatus choose_lines(HcRig *rig, Search *search, int64_t least, int64_t most, int64_t *lines,
                             HcError *err) {
    double seconds = 0;
    *lines = least;
    search->in = first_lines(rig, least);
    HC_OR_RETURN(hc_rig_time(rig, call_knn, search, 1, &seconds, err));
    HC_OR_RETURN(hc_rig_time(rig, call_knn, search, 1, &seconds, err));
    while (*lines < most && seconds < long_call) {
        *lines = 2 * *lines < most ? 2 * *lines : most;
        search->in = first_lines(rig, *lines);
        HC_OR_RETURN(hc_rig_time(rig, call_knn, search, 1, &seconds, err));
    }
    return HC_OK;
}

static HcStatus check_neighbours(HcRig *rig, const Search *search, HcMetric metric, HcBenchRow *row,
                                 HcError *err) {
    const HcBenchNearest *nearest = expected(rig, metric);
    if (nearest != NULL) {
        size_t count = (size_t)nearest->pixels * (size_t)rig->settings->neighbours;
        HC_OR_RETURN(hc_rig_compare_bytes(rig, search->index, nearest->index, count * sizeof *nearest->index,
                                          row, err));
        HC_OR_RETURN(hc_rig_compare_bytes(rig, search->distance, nearest->distance,
                                          count * sizeof *nearest->distance, row, err));
    }
    return HC_OK;
}

static HcStatus knn(HcRig *rig, const char *name, HcMetric metric, HcError *err) {
    HcStatus status = HC_OK;
    Search search = {0};
    int64_t least = least_lines(rig, metric);
    int64_t most = most_lines(rig, least);
    double n = rig->settings->bands;
    double spectra = (double)rig->settings->training;
    if (!hc_bench_wants(rig->bench, name)) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, name, rig->device->by, rig->part);
    HC_TRY(open_training(rig, metric, &search.training, err));
    HC_TRY(take_memory(rig, &search, most, err));
    HC_TRY(choose_lines(rig, &search, least, most, &row->lines, err));
    double pixels = (double)row->lines * rig->settings->samples;
    row->operations = pixels * 2 * n * spectra;
    hc_rig_floor(rig, row,
                 pixels * (4 * n + 1 + (double)neighbour_bytes * rig->settings->neighbours) + 4 * n * spectra,
                 0, 0);
    hc_rig_floor_float32(rig, row, row->operations);
    if (!rig->device->info.shared_memory && row->floor_of != NULL && strcmp(row->floor_of, "float32") == 0) {
        snprintf(row->how, sizeof row->how, "floor without matrix units");
    }
    HC_TRY(hc_rig_measure(rig, call_knn, &search, row, err));
    HC_TRY(check_neighbours(rig, &search, metric, row, err));
    hc_bench_scale(rig->bench, row);
done:
    close_search(rig, &search, status);
    return status;
}

/* Neighbours in the order of their distances, whose numbers are spread; every line has the same. */
static HcStatus fill_neighbours(HcRig *rig, Search *search, int64_t lines, HcError *err) {
    HcStatus status = HC_OK;
    size_t count = line_neighbours(rig);
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, count * neighbour_bytes, &host, err));
    double *distance = host.data;
    int32_t *index = (int32_t *)(distance + count);
    for (size_t i = 0; i < count; i++) {
        distance[i] = 1 + (double)(i % (size_t)rig->settings->neighbours);
        index[i] = (int32_t)(i * 2654435761U % (uint64_t)rig->settings->training);
    }
    for (size_t line = 0; line < (size_t)lines; line++) {
        HC_TRY(
            hc_upload(rig->queue, distance, search->distance + line * count, count * sizeof *distance, err));
        HC_TRY(hc_upload(rig->queue, index, search->index + line * count, count * sizeof *index, err));
    }
    HC_TRY(hc_wait(rig->queue, err));
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &host);
    return status;
}

/* The classes 1 to `classes` in turn. */
static HcStatus fill_labels(HcRig *rig, Search *search, HcError *err) {
    HcStatus status = HC_OK;
    size_t count = (size_t)rig->settings->training;
    HcBuffer host = {0};
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, count * sizeof(int32_t), &search->label, err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, count * sizeof(int32_t), &host, err));
    int32_t *label = host.data;
    for (size_t j = 0; j < count; j++) {
        label[j] = 1 + (int32_t)(j % (size_t)search->rule.classes);
    }
    HC_TRY(hc_upload(rig->queue, label, search->label.data, count * sizeof *label, err));
    HC_TRY(hc_wait(rig->queue, err));
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &host);
    return status;
}

/* The majority of neighbours of 16 classes. */
static HcStatus vote(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    Search search = {.rule = {.vote = HC_VOTE_MAJORITY,
                              .metric = HC_METRIC_EUCLIDEAN,
                              .k = rig->settings->neighbours,
                              .classes = 16,
                              .reject = INFINITY}};
    int64_t lines = most_lines(rig, 1);
    if (!hc_bench_wants(rig->bench, "vote")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "vote", rig->device->by, lines);
    search.in = first_lines(rig, lines);
    search.out = hc_rig_block(rig, &rig->out, lines, hc_vote_bands(&search.rule));
    HC_TRY(take_memory(rig, &search, lines, err));
    HC_TRY(fill_neighbours(rig, &search, lines, err));
    HC_TRY(fill_labels(rig, &search, err));
    hc_rig_floor(rig, row,
                 (double)lines * rig->settings->samples *
                     ((double)neighbour_bytes * rig->settings->neighbours + 1 + 5),
                 0, 0);
    HC_TRY(hc_rig_measure(rig, call_vote, &search, row, err));
    hc_bench_scale(rig->bench, row);
done:
    close_search(rig, &search, status);
    return status;
}

/* ---- reassign ---- */

enum { CLASSES = 8 };

typedef struct Change {
    HcBlock in;
    HcBuffer label; /* of the pixels, and two lists of classes that they have in turn */
    HcBuffer sums;
    int32_t turn;
} Change;

static HcStatus call_reassign(HcRig *rig, void *user, HcError *err) {
    Change *change = user;
    int32_t *label = change->label.data;
    change->turn = 3 - change->turn;
    return hc_reassign(rig->queue, &change->in,
                       label + (size_t)change->turn * (size_t)change->in.lines * (size_t)change->in.samples,
                       1, label, CLASSES, change->sums.data, err);
}

/* Every pixel changes its class in every call. */
static HcStatus reassign(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    Change change = {.turn = 1};
    HcBuffer host = {0};
    int64_t lines = most_lines(rig, 1);
    size_t pixels = (size_t)lines * (size_t)rig->settings->samples;
    size_t sums = hc_class_sums(CLASSES, rig->settings->bands) * sizeof(int64_t);
    if (!hc_bench_wants(rig->bench, "reassign")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "reassign", rig->device->by, lines);
    change.in = first_lines(rig, lines);
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, 3 * pixels * sizeof(int32_t), &change.label, err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, sums, &change.sums, err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, 3 * pixels * sizeof(int32_t), &host, err));
    int32_t *label = host.data;
    for (size_t i = 0; i < pixels; i++) {
        label[i] = -1;
        label[pixels + i] = (int32_t)(i % CLASSES);
        label[2 * pixels + i] = (int32_t)((i + 1) % CLASSES);
    }
    HC_TRY(hc_upload(rig->queue, label, change.label.data, 3 * pixels * sizeof *label, err));
    HC_TRY(hc_zero(rig->queue, change.sums.data, sums, err));
    hc_rig_floor(rig, row, (double)pixels * (4 * (double)rig->settings->bands + 1 + 12), 0, 0);
    HC_TRY(hc_rig_measure(rig, call_reassign, &change, row, err));
    hc_bench_scale(rig->bench, row);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &change.label);
    hc_release(rig->compute, &change.sums);
    hc_release(rig->compute, &host);
    return status;
}

/* ---- identify ---- */

enum { REFERENCES = 77, EACH = 2, FEATURES = REFERENCES * EACH, WIDTH = 24, FOUND = 6 };

/* The arrays of a rule. Features are those of minerals in number and width; with `rejected` all of them are
 * fitted to each pixel. */
typedef struct Rules {
    HcIdentifyReference reference[REFERENCES];
    HcIdentifyFeature feature[FEATURES];
    HcIdentifyEntry entry[FEATURES * WIDTH];
} Rules;

typedef struct Identify {
    HcBlock in, out;
    HcBuffer host, device; /* Rules, then on the host a pixel */
    HcIdentifyRule rule;
} Identify;

static HcStatus call_identify(HcRig *rig, void *user, HcError *err) {
    Identify *identify = user;
    return hc_identify(rig->queue, &identify->in, &identify->rule, &identify->out, err);
}

static void invent_rules(int32_t bands, Rules *rules) {
    const HcIdentifyRange any = {-INFINITY, INFINITY};
    for (int32_t f = 0; f < FEATURES; f++) {
        int32_t at = f * WIDTH;
        rules->feature[f] = (HcIdentifyFeature){.first = at,
                                                .count = WIDTH,
                                                .left = at,
                                                .lefts = 3,
                                                .right = at + WIDTH - 3,
                                                .rights = 3,
                                                .weight = 0.5,
                                                .scale = 1.0 / WIDTH,
                                                .depth = 0.2,
                                                .level = {any, any, any},
                                                .slope = any,
                                                .fits = any,
                                                .depths = any};
        for (int32_t i = 0; i < WIDTH; i++) {
            rules->entry[at + i] = (HcIdentifyEntry){
                .at = (double)i / WIDTH, .shape = (double)(i * (f + 3) % 7 - 3), .band = (f * 7 + i) % bands};
        }
        rules->reference[f / EACH] = (HcIdentifyReference){.first = f / EACH * EACH,
                                                           .count = EACH,
                                                           .number = f / EACH + 1,
                                                           .family = -1,
                                                           .ratio = INFINITY,
                                                           .fit = -INFINITY,
                                                           .depth = any,
                                                           .product = -INFINITY};
    }
}

static HcIdentifyRule rule_of(const HcRig *rig, const Rules *rules) {
    return (HcIdentifyRule){.references = REFERENCES,
                            .features = FEATURES,
                            .entries = FEATURES * WIDTH,
                            .bands = rig->settings->bands,
                            .reference = rules->reference,
                            .feature = rules->feature,
                            .entry = rules->entry,
                            .rejected = true,
                            .top = 1};
}

/* The first pixel by the same arithmetic on the host. */
static HcStatus check_identify(HcRig *rig, const Identify *identify, HcBenchRow *row, HcError *err) {
    const HcIdentifyRule rule = rule_of(rig, identify->host.data);
    float *pixel = (float *)((Rules *)identify->host.data + 1), *tile = NULL, expected[FOUND];
    HcIdentifyBest best[2];
    HcIdentifyVerdict verdict;
    HC_OR_RETURN(hc_download(rig->queue, identify->in.data, pixel, (size_t)rule.bands * sizeof *pixel, err));
    HC_OR_RETURN(hc_wait(rig->queue, err));
    HC_OR_RETURN(hc_new(tile, rule.bands * HC_LANES, "a pixel", err));
    for (int32_t b = 0; b < rule.bands; b++) {
        tile[b * HC_LANES] = pixel[b];
    }
    hc_identify_none(best, 2);
    for (int32_t r = 0; r < REFERENCES; r++) {
        hc_identify_judge(&rule, &rule.reference[r], tile, HC_LANES, true, &verdict);
        hc_identify_take(&rule, r, &verdict, 0, best);
    }
    hc_identify_write(&rule, best, expected);
    free(tile);
    return hc_rig_compare(rig, identify->out.data, expected, FOUND, 0, row, err);
}

static HcStatus identify(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    Identify call = {.in = first_lines(rig, rig->part)};
    size_t bands = (size_t)rig->settings->bands;
    if (!hc_bench_wants(rig->bench, "identify")) {
        return HC_OK;
    }
    HcBenchRow *row = hc_bench_row(rig->bench, "identify", rig->device->by, rig->part);
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, sizeof(Rules), &call.device, err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_HOST, sizeof(Rules) + bands * sizeof(float), &call.host, err));
    invent_rules(rig->settings->bands, call.host.data);
    HC_TRY(hc_upload(rig->queue, call.host.data, call.device.data, sizeof(Rules), err));
    call.rule = rule_of(rig, call.device.data);
    call.out = hc_rig_block(rig, &rig->out, rig->part, hc_identify_bands(&call.rule));
    HC_TRY(hc_rig_choose_lines(rig, call_identify, &call, &call.in, &call.out, &row->lines, err));
    double pixels = (double)row->lines * rig->settings->samples;
    row->operations = pixels * FEATURES * WIDTH * 9;
    hc_rig_floor(rig, row, pixels * (4 * (double)bands + 4 * FOUND + 2), 0, row->operations);
    snprintf(row->how, sizeof row->how, "%d references of %d features of %d bands", REFERENCES, EACH, WIDTH);
    HC_TRY(hc_rig_measure(rig, call_identify, &call, row, err));
    HC_TRY(check_identify(rig, &call, row, err));
    hc_bench_scale(rig->bench, row);
done:
    if (status != HC_OK) {
        hc_rig_drain(rig);
    }
    hc_release(rig->compute, &call.device);
    hc_release(rig->compute, &call.host);
    return status;
}

static HcStatus measure(HcRig *rig, HcError *err) {
    HC_OR_RETURN(identify(rig, err));
    HC_OR_RETURN(knn(rig, "knn", HC_METRIC_EUCLIDEAN, err));
    HC_OR_RETURN(knn(rig, "knn-angle", HC_METRIC_ANGLE, err));
    HC_OR_RETURN(vote(rig, err));
    return reassign(rig, err);
}

const HcBenchPart hc_bench_neighbours = {.measure = measure,
                                         .rows = (const HcBenchKind[]){{"knn", HC_BENCH_SAME},
                                                                       {"knn-angle", HC_BENCH_SAME},
                                                                       {"vote", HC_BENCH_UNCHECKED},
                                                                       {"reassign", HC_BENCH_UNCHECKED},
                                                                       {"identify", HC_BENCH_SAME},
                                                                       {0}}};
