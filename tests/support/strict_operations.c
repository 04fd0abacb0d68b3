/* The operations of the strict backend. Each has three parts: its arguments, late work that translates device
 * pointers and hands the rest to the CPU backend, and the entry of the table that queues it. */
#include "tests/support/strict_parts.h"

#include <stdlib.h>

/* For what an opening call is given: nothing of it is queued, so it takes the lock itself. */
static HcStatus translate_at_once(Strict *strict, void *pointer, size_t bytes, const char *what,
                                  HcError *err) {
    pthread_mutex_lock(&strict->lock);
    HcStatus status = strict_translate(strict, pointer, bytes, what, err);
    pthread_mutex_unlock(&strict->lock);
    return status;
}

/* ---- blocks ---- */

typedef struct Decode {
    HcRaw raw;
    HcDecode how;
    HcBlock out;
} Decode;

/* Grows the extent of a view by one of its dimensions. */
static void extend(int64_t count, int64_t stride, int64_t *low, int64_t *high) {
    int64_t reach = (count - 1) * stride;
    *(reach < 0 ? low : high) += reach;
}

static HcStatus translate_decode(const Strict *strict, Decode *work, HcError *err) {
    HcRaw *raw = &work->raw;
    void *data = NULL;
    int64_t low = 0;
    int64_t high = (int64_t)hc_type_bytes(raw->type);
    extend(raw->lines, raw->stride_line, &low, &high);
    extend(raw->samples, raw->stride_sample, &low, &high);
    extend(raw->bands, raw->stride_band, &low, &high);
    HC_OR_RETURN(
        strict_translate_from(strict, raw->data, low, (size_t)(high - low), "decode, the bytes", &data, err));
    raw->data = data;
    HC_OR_RETURN(strict_translate(strict, &raw->user_mask, (size_t)raw->lines * (size_t)raw->samples,
                                  "decode, the user's mask", err));
    HC_OR_RETURN(strict_translate(strict, &work->how.band_index, sizeof(int32_t) * (size_t)work->out.bands,
                                  "decode, the bands", err));
    HC_OR_RETURN(strict_translate(strict, &work->how.counts, sizeof(int64_t) * HC_MASK_REASONS,
                                  "decode, the counts", err));
    return strict_translate_block(strict, &work->out, "the output block", err);
}

static HcStatus do_decode(const Strict *strict, void *arguments, HcError *err) {
    Decode *work = arguments;
    HC_OR_RETURN(translate_decode(strict, work, err));
    return hc_decode(strict->cpu_queue, &work->raw, &work->how, &work->out, err);
}

HcStatus hc_strict_decode(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                          HcError *err) {
    Decode work = {*raw, *how, *out};
    return strict_accept(queue, do_decode, &work, sizeof work, err);
}

/* Two blocks, the number of a variant (HcFilter, HcDifference, HcReduction) and arrays. */
typedef struct Pair {
    HcBlock in, out;
    int variant;
    const int32_t *index;
    const double *matrix, *in_offset, *out_offset;
} Pair;

static HcStatus translate_pair(const Strict *strict, Pair *work, HcError *err) {
    HC_OR_RETURN(strict_translate_block(strict, &work->in, "the input block", err));
    return strict_translate_block(strict, &work->out, "the output block", err);
}

static HcStatus do_gather(const Strict *strict, void *arguments, HcError *err) {
    Pair *work = arguments;
    HC_OR_RETURN(translate_pair(strict, work, err));
    HC_OR_RETURN(
        strict_translate(strict, &work->index, sizeof(int32_t) * (size_t)work->out.bands, "gather", err));
    return hc_gather(strict->cpu_queue, &work->in, work->index, &work->out, err);
}

HcStatus hc_strict_gather(HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                          HcError *err) {
    Pair work = {.in = *in, .index = index, .out = *out};
    return strict_accept(queue, do_gather, &work, sizeof work, err);
}

static HcStatus do_filter(const Strict *strict, void *arguments, HcError *err) {
    Pair *work = arguments;
    HC_OR_RETURN(translate_pair(strict, work, err));
    return hc_filter(strict->cpu_queue, &work->in, (HcFilter)work->variant, &work->out, err);
}

HcStatus hc_strict_filter(HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out,
                          HcError *err) {
    Pair work = {.in = *in, .variant = (int)kind, .out = *out};
    return strict_accept(queue, do_filter, &work, sizeof work, err);
}

static HcStatus do_difference(const Strict *strict, void *arguments, HcError *err) {
    Pair *work = arguments;
    HC_OR_RETURN(translate_pair(strict, work, err));
    return hc_difference(strict->cpu_queue, &work->in, (HcDifference)work->variant, &work->out, err);
}

HcStatus hc_strict_difference(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                              HcError *err) {
    Pair work = {.in = *in, .variant = (int)kind, .out = *out};
    return strict_accept(queue, do_difference, &work, sizeof work, err);
}

static HcStatus do_project(const Strict *strict, void *arguments, HcError *err) {
    Pair *work = arguments;
    size_t n = (size_t)work->in.bands;
    size_t m = (size_t)work->out.bands;
    HC_OR_RETURN(translate_pair(strict, work, err));
    HC_OR_RETURN(strict_translate(strict, &work->matrix, n * m * sizeof(double), "project, the matrix", err));
    HC_OR_RETURN(strict_translate(strict, &work->in_offset, n * sizeof(double), "project, an offset", err));
    HC_OR_RETURN(strict_translate(strict, &work->out_offset, m * sizeof(double), "project, an offset", err));
    return hc_project(strict->cpu_queue, &work->in, work->matrix, work->in_offset, work->out_offset,
                      &work->out, err);
}

HcStatus hc_strict_project(HcQueue *queue, const HcBlock *in, const double *matrix, const double *in_offset,
                           const double *out_offset, const HcBlock *out, HcError *err) {
    Pair work = {.in = *in, .matrix = matrix, .in_offset = in_offset, .out_offset = out_offset, .out = *out};
    return strict_accept(queue, do_project, &work, sizeof work, err);
}

static HcStatus do_reduce(const Strict *strict, void *arguments, HcError *err) {
    Pair *work = arguments;
    size_t rows = (size_t)hc_reduce_targets((HcReduction)work->variant, work->out.bands);
    size_t bytes = (size_t)work->in.bands * rows * sizeof(double);
    HC_OR_RETURN(translate_pair(strict, work, err));
    HC_OR_RETURN(strict_translate(strict, &work->matrix, bytes, "reduce, the targets", err));
    return hc_reduce(strict->cpu_queue, &work->in, (HcReduction)work->variant, work->matrix, &work->out, err);
}

HcStatus hc_strict_reduce(HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                          const HcBlock *out, HcError *err) {
    Pair work = {.in = *in, .variant = (int)kind, .matrix = targets, .out = *out};
    return strict_accept(queue, do_reduce, &work, sizeof work, err);
}

typedef struct ColumnScores {
    Pair pair;
    HcColumnScoring how;
} ColumnScores;

static HcStatus do_column_scores(const Strict *strict, void *arguments, HcError *err) {
    ColumnScores *work = arguments;
    HcColumnScoring *how = &work->how;
    const HcBlock *in = &work->pair.in;
    const HcBlock *out = &work->pair.out;
    size_t groups = ((size_t)in->samples + (size_t)how->width - 1) / (size_t)how->width;
    size_t targets = (size_t)out->bands;
    size_t filter = (1 + targets) * (size_t)in->bands;
    HC_OR_RETURN(translate_pair(strict, &work->pair, err));
    HC_OR_RETURN(strict_translate(strict, &how->filter, groups * filter * sizeof(double),
                                  "column_scores, the filters", err));
    HC_OR_RETURN(strict_translate(strict, &how->deviation, groups * targets * sizeof(double),
                                  "column_scores, the deviations", err));
    HC_OR_RETURN(strict_translate(strict, &how->whitening, groups * how->stride * sizeof(double),
                                  "column_scores, the triangles", err));
    HC_OR_RETURN(strict_translate(strict, &how->scored, groups, "column_scores, the flags", err));
    return hc_column_scores(strict->cpu_queue, in, how, out, err);
}

HcStatus hc_strict_column_scores(HcQueue *queue, const HcBlock *in, const HcColumnScoring *how,
                                 const HcBlock *out, HcError *err) {
    ColumnScores work = {{.in = *in, .out = *out}, *how};
    return strict_accept(queue, do_column_scores, &work, sizeof work, err);
}

static HcStatus do_column_filters(const Strict *strict, void *arguments, HcError *err) {
    HcColumnFilters *how = arguments;
    size_t groups = (size_t)how->groups;
    size_t bands = (size_t)how->bands;
    size_t targets = (size_t)how->targets;
    const struct {
        void *at;
        size_t bytes;
    } arrays[] = {{&how->sums, groups * hc_column_values(how->bands) * sizeof(int64_t)},
                  {&how->unit, (bands + 1) * sizeof(double)},
                  {&how->spectrum, targets * bands * sizeof(double)},
                  {&how->filter, groups * (1 + targets) * bands * sizeof(double)},
                  {&how->deviation, groups * targets * sizeof(double)},
                  {&how->whitening, groups * how->stride * sizeof(double)},
                  {&how->pixels, groups * sizeof(int64_t)},
                  {&how->shrinkage, groups * sizeof(double)},
                  {&how->directions, groups * sizeof(int32_t)},
                  {&how->scored, groups}};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        HC_OR_RETURN(
            strict_translate(strict, arrays[i].at, arrays[i].bytes, "column_filters, an array", err));
    }
    return hc_column_filters(strict->cpu_queue, how, err);
}

HcStatus hc_strict_column_filters(HcQueue *queue, const HcColumnFilters *how, HcError *err) {
    return strict_accept(queue, do_column_filters, how, sizeof *how, err);
}

typedef struct ColumnGram {
    bool two; /* blocks */
    HcBlock before, in;
    HcColumnRule rule;
    int64_t *sums, *far;
    void *work;
} ColumnGram;

static HcStatus translate_column_gram(const Strict *strict, ColumnGram *work, HcError *err) {
    static const char what[] = "column_gram";
    size_t bands = (size_t)work->in.bands;
    size_t groups = (size_t)hc_column_groups(work->in.samples, work->rule.width);
    size_t scales = hc_column_strips(work->in.bands) * HC_COLUMN_STRIP;
    HcComputeInfo info;
    hc_compute_info(strict->cpu, &info);
    size_t bytes = hc_column_work_bytes(work->in.bands, work->in.samples, info.threads);
    if (work->two) {
        HC_OR_RETURN(strict_translate_block(strict, &work->before, "the block before", err));
    }
    HC_OR_RETURN(strict_translate_block(strict, &work->in, "the input block", err));
    HC_OR_RETURN(strict_translate(strict, &work->rule.largest, bands * sizeof(float), what, err));
    HC_OR_RETURN(strict_translate(strict, &work->rule.scale, scales * sizeof(double), what, err));
    HC_OR_RETURN(strict_translate(strict, &work->sums,
                                  groups * hc_column_values(work->in.bands) * sizeof(int64_t), what, err));
    HC_OR_RETURN(strict_translate(strict, &work->far, sizeof(int64_t), what, err));
    return strict_translate_scratch(strict, &work->work, bytes, what, err);
}

static HcStatus do_column_gram(const Strict *strict, void *arguments, HcError *err) {
    ColumnGram *work = arguments;
    HC_OR_RETURN(translate_column_gram(strict, work, err));
    return hc_column_gram(strict->cpu_queue, work->two ? &work->before : NULL, &work->in, &work->rule,
                          work->sums, work->far, work->work, err);
}

HcStatus hc_strict_column_gram(HcQueue *queue, const HcBlock *before, const HcBlock *in,
                               const HcColumnRule *rule, int64_t *sums, int64_t *far, void *work,
                               HcError *err) {
    ColumnGram arguments = {before != NULL, before != NULL ? *before : *in, *in, *rule, sums, far, work};
    return strict_accept(queue, do_column_gram, &arguments, sizeof arguments, err);
}

/* ---- sums ---- */

struct HcSums {
    HcSumsHead head;
    Kept kept;
};

static void close_sums(void *real) {
    hc_sums_close(real);
}

HcStatus hc_strict_sums_open(HcCompute *compute, int32_t bands, int64_t integer_limit, const HcGrid *grid,
                             HcSums **out, HcError *err) {
    HcSums *real = NULL;
    HcSums *sums = calloc(1, sizeof *sums);
    if (sums == NULL) {
        return hc_fail_memory(err, sizeof *sums, "strict sums");
    }
    HcStatus status = hc_sums_open(strict_of(compute)->cpu, bands, integer_limit, grid, &real, err);
    HC_OR_RETURN(strict_keep(status, compute, sums, &sums->kept, real, close_sums));
    *out = sums;
    return HC_OK;
}

void hc_strict_sums_close(HcSums *sums) {
    strict_close_kept(sums->head.head.compute, &sums->kept);
}

typedef struct Gram {
    HcBlock in;
    HcDifference kind;
    bool has_window;
    HcWindow window;
    HcSums *sums;
} Gram;

static HcStatus do_gram(const Strict *strict, void *arguments, HcError *err) {
    Gram *work = arguments;
    HC_OR_RETURN(strict_still_open(&work->sums->kept, "gram: sums", err));
    HC_OR_RETURN(strict_translate_block(strict, &work->in, "the input block", err));
    return hc_gram(strict->cpu_queue, &work->in, work->kind, work->has_window ? &work->window : NULL,
                   work->sums->kept.real, err);
}

HcStatus hc_strict_gram(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcWindow *window,
                        HcSums *sums, HcError *err) {
    Gram work = {.in = *in, .kind = kind, .has_window = window != NULL, .sums = sums};
    if (window != NULL) {
        work.window = *window;
    }
    return strict_accept(queue, do_gram, &work, sizeof work, err);
}

typedef struct GramRaw {
    Decode decode;
    HcGramPart part[HC_GRAM_PARTS_MAX];
    HcWindow window[HC_GRAM_PARTS_MAX];
    int32_t count;
} GramRaw;

static HcStatus do_gram_raw(const Strict *strict, void *arguments, HcError *err) {
    GramRaw *work = arguments;
    HcBlock scratch = work->decode.out;
    const size_t bytes = hc_block_values(&scratch) * sizeof *scratch.data;
    HC_OR_RETURN(strict_translate_scratch(strict, &scratch.data, bytes, "gram_raw, the block", err));
    HC_OR_RETURN(strict_translate_scratch(strict, &scratch.mask, hc_block_pixels(&scratch), "gram_raw", err));
    HC_OR_RETURN(translate_decode(strict, &work->decode, err));
    for (int32_t p = 0; p < work->count; p++) {
        HcGramPart *part = &work->part[p];
        HC_OR_RETURN(strict_still_open(&part->sums->kept, "gram_raw: sums", err));
        part->window = part->window != NULL ? &work->window[p] : NULL;
        part->sums = part->sums->kept.real;
    }
    return hc_gram_raw(strict->cpu_queue, &work->decode.raw, &work->decode.how, &work->decode.out, work->part,
                       work->count, err);
}

HcStatus hc_strict_gram_raw(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *block,
                            const HcGramPart *parts, int32_t count, HcError *err) {
    GramRaw work = {.decode = {*raw, *how, *block}, .count = count};
    for (int32_t p = 0; p < count; p++) {
        work.part[p] = parts[p];
        work.window[p] = parts[p].window != NULL ? *parts[p].window : (HcWindow){0};
    }
    return strict_accept(queue, do_gram_raw, &work, sizeof work, err);
}

HcStatus hc_strict_sums_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    Strict *strict = strict_of(sums->head.head.compute);
    HC_OR_RETURN(strict_still_open(&sums->kept, "sums", err));
    HC_OR_RETURN(strict_wait(queue, err));
    pthread_mutex_lock(&strict->lock);
    HcStatus status = hc_sums_fetch(strict->cpu_queue, sums->kept.real, out, err);
    pthread_mutex_unlock(&strict->lock);
    return status;
}

/* ---- neighbours ---- */

struct HcTraining {
    HcTrainingHead head;
    Kept kept;
};

static void close_training(void *real) {
    hc_training_close(real);
}

HcStatus hc_strict_training_open(HcCompute *compute, const float *spectra, int64_t count, int32_t bands,
                                 HcMetric metric, HcTraining **out, HcError *err) {
    HcTraining *real = NULL;
    HcTraining *training = calloc(1, sizeof *training);
    if (training == NULL) {
        return hc_fail_memory(err, sizeof *training, "strict training spectra");
    }
    HcStatus status = hc_training_open(strict_of(compute)->cpu, spectra, count, bands, metric, &real, err);
    HC_OR_RETURN(strict_keep(status, compute, training, &training->kept, real, close_training));
    *out = training;
    return HC_OK;
}

void hc_strict_training_close(HcTraining *training) {
    strict_close_kept(training->head.head.compute, &training->kept);
}

/* Neighbours of the interior pixels: written by knn, read by vote. */
typedef struct Neighbours {
    HcBlock in, out;
    const HcTraining *training;
    int32_t k;
    int32_t *index;
    double *distance;
    const int32_t *label;
    HcVoteRule rule;
} Neighbours;

static HcStatus translate_neighbours(const Strict *strict, Neighbours *work, const char *what, HcError *err) {
    size_t count = (size_t)work->in.lines * (size_t)work->in.samples * (size_t)work->k;
    HC_OR_RETURN(strict_translate_block(strict, &work->in, "the input block", err));
    HC_OR_RETURN(strict_translate(strict, &work->index, count * sizeof *work->index, what, err));
    return strict_translate(strict, &work->distance, count * sizeof *work->distance, what, err);
}

static HcStatus do_knn(const Strict *strict, void *arguments, HcError *err) {
    Neighbours *work = arguments;
    HC_OR_RETURN(strict_still_open(&work->training->kept, "knn: training spectra", err));
    HC_OR_RETURN(translate_neighbours(strict, work, "knn", err));
    return hc_knn(strict->cpu_queue, &work->in, work->training->kept.real, work->k, work->index,
                  work->distance, err);
}

HcStatus hc_strict_knn(HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k,
                       int32_t *index, double *distance, HcError *err) {
    Neighbours work = {.in = *in, .training = training, .k = k, .index = index, .distance = distance};
    return strict_accept(queue, do_knn, &work, sizeof work, err);
}

/* There must be a label for every neighbour. */
static HcStatus do_vote(const Strict *strict, void *arguments, HcError *err) {
    Neighbours *work = arguments;
    int32_t last = 0;
    HC_OR_RETURN(translate_neighbours(strict, work, "vote", err));
    HC_OR_RETURN(strict_translate_block(strict, &work->out, "the output block", err));
    int64_t count = (int64_t)work->in.lines * work->in.samples * work->k;
    for (int64_t i = 0; i < count; i++) {
        last = work->index[i] > last ? work->index[i] : last;
    }
    HC_OR_RETURN(strict_translate(strict, &work->label, ((size_t)last + 1) * sizeof *work->label,
                                  "vote, the labels", err));
    return hc_vote(strict->cpu_queue, &work->in, work->index, work->distance, work->label, &work->rule,
                   &work->out, err);
}

/* The neighbours are only read. */
HcStatus hc_strict_vote(HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                        const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err) {
    Neighbours work = {.in = *in,
                       .k = rule->k,
                       .index = (int32_t *)(uintptr_t)index,
                       .distance = (double *)(uintptr_t)distance,
                       .label = label,
                       .rule = *rule,
                       .out = *out};
    return strict_accept(queue, do_vote, &work, sizeof work, err);
}

/* ---- decompositions ---- */

struct HcSvd {
    HcSvdHead head;
    Kept kept;
};

static void close_svd(void *real) {
    hc_svd_close(real);
}

HcStatus hc_strict_svd_open(HcCompute *compute, HcElement element, int32_t rows, int32_t columns,
                            int64_t most, bool vectors, HcSvd **out, HcError *err) {
    HcSvd *real = NULL;
    HcSvd *svd = calloc(1, sizeof *svd);
    if (svd == NULL) {
        return hc_fail_memory(err, sizeof *svd, "strict decompositions");
    }
    HcStatus status = hc_svd_open(strict_of(compute)->cpu, element, rows, columns, most, vectors, &real, err);
    HC_OR_RETURN(strict_keep(status, compute, svd, &svd->kept, real, close_svd));
    *out = svd;
    return HC_OK;
}

void hc_strict_svd_close(HcSvd *svd) {
    strict_close_kept(svd->head.head.compute, &svd->kept);
}

typedef struct Svd {
    const HcSvd *svd;
    HcSvdBatch batch;
} Svd;

static HcStatus do_svd_batched(const Strict *strict, void *arguments, HcError *err) {
    Svd *work = arguments;
    const HcSvdHead *shape = &work->svd->head;
    HcSvdBatch *batch = &work->batch;
    HC_OR_RETURN(strict_still_open(&work->svd->kept, "svd", err));
    size_t element = hc_element_bytes(shape->element);
    size_t rows = (size_t)shape->rows;
    size_t columns = (size_t)shape->columns;
    size_t count = (size_t)batch->count;
    size_t vectors = count * (rows < columns ? rows : columns);
    size_t real =
        shape->element == HC_ELEMENT_FLOAT32 || shape->element == HC_ELEMENT_COMPLEX_FLOAT32 ? 4 : 8;
    static const char result[] = "svd, a result";
    HC_OR_RETURN(strict_translate(strict, &batch->matrices, count * rows * columns * element,
                                  "svd, the matrices", err));
    HC_OR_RETURN(strict_translate(strict, &batch->values, vectors * real, result, err));
    HC_OR_RETURN(strict_translate(strict, &batch->left, vectors * rows * element, result, err));
    HC_OR_RETURN(strict_translate(strict, &batch->right, vectors * columns * element, result, err));
    HC_OR_RETURN(strict_translate(strict, &batch->sweeps, count * sizeof *batch->sweeps, result, err));
    HC_OR_RETURN(strict_translate(strict, &batch->end, count * sizeof *batch->end, result, err));
    return hc_svd_batched(strict->cpu_queue, work->svd->kept.real, batch, err);
}

HcStatus hc_strict_svd_batched(HcQueue *queue, HcSvd *svd, const HcSvdBatch *batch, HcError *err) {
    Svd work = {svd, *batch};
    return strict_accept(queue, do_svd_batched, &work, sizeof work, err);
}

struct HcPatches {
    HcPatchesHead head;
    Kept kept;
};

static void close_patches(void *real) {
    hc_patches_close(real);
}

HcStatus hc_strict_patches_open(HcCompute *compute, const HcPatchRule *rule, HcPatches **out, HcError *err) {
    HcPatches *real = NULL;
    HcPatches *patches = calloc(1, sizeof *patches);
    if (patches == NULL) {
        return hc_fail_memory(err, sizeof *patches, "strict patches");
    }
    HcStatus status = hc_patches_open(strict_of(compute)->cpu, rule, &real, err);
    HC_OR_RETURN(strict_keep(status, compute, patches, &patches->kept, real, close_patches));
    *out = patches;
    return HC_OK;
}

void hc_strict_patches_close(HcPatches *patches) {
    strict_close_kept(patches->head.head.compute, &patches->kept);
}

/* Two blocks, and a handle whose counts, where it has any, must still lie where they were. */
typedef struct Solve {
    Pair pair;
    const Kept *kept;
    const void *counts; /* on the device, NULL = none */
    const void *counts_then;
    size_t counts_bytes;
} Solve;

static HcStatus translate_solve(const Strict *strict, Solve *work, const char *what, HcError *err) {
    HC_OR_RETURN(strict_still_open(work->kept, what, err));
    HC_OR_RETURN(translate_pair(strict, &work->pair, err));
    HC_OR_RETURN(strict_translate(strict, &work->counts, work->counts_bytes, what, err));
    return work->counts == work->counts_then ? HC_OK
                                             : hc_fail(err, HC_E_DEVICE, "%s: its counts were moved", what);
}

static HcStatus do_patches(const Strict *strict, void *arguments, HcError *err) {
    Solve *work = arguments;
    HC_OR_RETURN(translate_solve(strict, work, "patches", err));
    return hc_patches(strict->cpu_queue, &work->pair.in, work->kept->real, &work->pair.out, err);
}

HcStatus hc_strict_patches(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out,
                           HcError *err) {
    Solve work = {.pair = {.in = *in, .out = *out}, .kept = &patches->kept};
    return strict_accept(queue, do_patches, &work, sizeof work, err);
}

/* Two blocks, what helps one of them, and memory to work in. */
typedef struct Grouping {
    Pair pair;
    HcBlock pilot;
    HcGroupRule rule;
    void *memory;
} Grouping;

static HcStatus do_groups(const Strict *strict, void *arguments, HcError *err) {
    Grouping *work = arguments;
    size_t bytes = hc_groups_bytes(&work->rule, hc_block_pixels(&work->pair.out), work->pair.out.bands);
    HC_OR_RETURN(translate_pair(strict, &work->pair, err));
    HC_OR_RETURN(strict_translate_block(strict, &work->pilot, "the pilot", err));
    HC_OR_RETURN(strict_translate_scratch(strict, &work->memory, bytes, "groups, the scratch memory", err));
    return hc_groups(strict->cpu_queue, &work->pair.in, &work->pilot, &work->rule, work->memory,
                     &work->pair.out, err);
}

HcStatus hc_strict_groups(HcQueue *queue, const HcBlock *in, const HcBlock *pilot, const HcGroupRule *rule,
                          void *memory, const HcBlock *out, HcError *err) {
    Grouping work = {.pair = {.in = *in, .out = *out}, .pilot = *pilot, .rule = *rule, .memory = memory};
    return strict_accept(queue, do_groups, &work, sizeof work, err);
}

/* ---- local scores ---- */

struct HcLocal {
    HcLocalHead head;
    Kept kept;
};

static void close_local(void *real) {
    hc_local_close(real);
}

HcStatus hc_strict_local_open(HcCompute *compute, const HcLocalRule *rule, HcLocal **out, HcError *err) {
    HcLocal *real = NULL;
    HcLocal *local = calloc(1, sizeof *local);
    if (local == NULL) {
        return hc_fail_memory(err, sizeof *local, "strict local scores");
    }
    HcStatus status = hc_local_open(strict_of(compute)->cpu, rule, &real, err);
    HC_OR_RETURN(strict_keep(status, compute, local, &local->kept, real, close_local));
    *out = local;
    return HC_OK;
}

void hc_strict_local_close(HcLocal *local) {
    strict_close_kept(local->head.head.compute, &local->kept);
}

typedef struct Scoring {
    Pair pair;
    const Kept *kept;
    int64_t *bare;
} Scoring;

static HcStatus do_local(const Strict *strict, void *arguments, HcError *err) {
    Scoring *work = arguments;
    HC_OR_RETURN(strict_still_open(work->kept, "local", err));
    HC_OR_RETURN(translate_pair(strict, &work->pair, err));
    HC_OR_RETURN(strict_translate(strict, &work->bare, sizeof *work->bare, "local, the count", err));
    return hc_local(strict->cpu_queue, &work->pair.in, work->kept->real, work->bare, &work->pair.out, err);
}

HcStatus hc_strict_local(HcQueue *queue, const HcBlock *in, HcLocal *local, int64_t *bare, const HcBlock *out,
                         HcError *err) {
    Scoring work = {.pair = {.in = *in, .out = *out}, .kept = &local->kept, .bare = bare};
    return strict_accept(queue, do_local, &work, sizeof work, err);
}

/* ---- least absolute deviations ---- */

struct HcUnmixing {
    HcUnmixingHead head;
    Kept kept;
    int64_t *counts;    /* as the caller gave them */
    const void *really; /* where they lie */
    size_t counts_bytes;
};

static void close_unmixing(void *real) {
    hc_unmix_close(real);
}

HcStatus hc_strict_unmix_open(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err) {
    HcUnmixing *real = NULL;
    HcUnmixRule own = *rule;
    const void *counts = rule->counts;
    const void *level = rule->level;
    size_t bytes = hc_unmix_counts(rule) * sizeof *rule->counts;
    HC_OR_RETURN(translate_at_once(strict_of(compute), &counts, bytes, "unmix, the counts", err));
    HC_OR_RETURN(translate_at_once(strict_of(compute), &level, (size_t)rule->level_pixels * sizeof(float),
                                   "unmix, the level", err));
    own.counts = (int64_t *)(uintptr_t)counts;
    own.level = level;
    HcUnmixing *unmixing = calloc(1, sizeof *unmixing);
    if (unmixing == NULL) {
        return hc_fail_memory(err, sizeof *unmixing, "strict unmixing");
    }
    unmixing->counts = rule->counts;
    unmixing->really = counts;
    unmixing->counts_bytes = bytes;
    HcStatus status = hc_unmix_open(strict_of(compute)->cpu, &own, &real, err);
    HC_OR_RETURN(strict_keep(status, compute, unmixing, &unmixing->kept, real, close_unmixing));
    *out = unmixing;
    return HC_OK;
}

void hc_strict_unmix_close(HcUnmixing *unmixing) {
    strict_close_kept(unmixing->head.head.compute, &unmixing->kept);
}

static HcStatus do_unmix(const Strict *strict, void *arguments, HcError *err) {
    Solve *work = arguments;
    HC_OR_RETURN(translate_solve(strict, work, "unmix: library", err));
    return hc_unmix(strict->cpu_queue, &work->pair.in, work->kept->real, &work->pair.out, err);
}

HcStatus hc_strict_unmix(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                         HcError *err) {
    Solve work = {.pair = {.in = *in, .out = *out},
                  .kept = &unmixing->kept,
                  .counts = unmixing->counts,
                  .counts_then = unmixing->really,
                  .counts_bytes = unmixing->counts_bytes};
    return strict_accept(queue, do_unmix, &work, sizeof work, err);
}

struct HcLad {
    HcLadHead head;
    Kept kept;
    int64_t *counts;    /* as the caller gave them */
    const void *really; /* where they lie */
    size_t counts_bytes;
};

static void close_abundances(void *real) {
    hc_lad_close(real);
}

HcStatus hc_strict_lad_open(HcCompute *compute, const HcLadRule *rule, HcLad **out, HcError *err) {
    HcLad *real = NULL;
    HcLadRule own = *rule;
    const void *counts = rule->counts;
    size_t bytes = hc_lad_counts(rule) * sizeof *rule->counts;
    HC_OR_RETURN(translate_at_once(strict_of(compute), &counts, bytes, "lad, the counts", err));
    own.counts = (int64_t *)(uintptr_t)counts;
    HcLad *lad = calloc(1, sizeof *lad);
    if (lad == NULL) {
        return hc_fail_memory(err, sizeof *lad, "strict lad");
    }
    lad->counts = rule->counts;
    lad->really = counts;
    lad->counts_bytes = bytes;
    HcStatus status = hc_lad_open(strict_of(compute)->cpu, &own, &real, err);
    HC_OR_RETURN(strict_keep(status, compute, lad, &lad->kept, real, close_abundances));
    *out = lad;
    return HC_OK;
}

void hc_strict_lad_close(HcLad *lad) {
    strict_close_kept(lad->head.head.compute, &lad->kept);
}

static HcStatus do_lad(const Strict *strict, void *arguments, HcError *err) {
    Solve *work = arguments;
    HC_OR_RETURN(translate_solve(strict, work, "lad: endmembers", err));
    return hc_lad(strict->cpu_queue, &work->pair.in, work->kept->real, &work->pair.out, err);
}

HcStatus hc_strict_lad(HcQueue *queue, const HcBlock *in, HcLad *lad, const HcBlock *out, HcError *err) {
    Solve work = {.pair = {.in = *in, .out = *out},
                  .kept = &lad->kept,
                  .counts = lad->counts,
                  .counts_then = lad->really,
                  .counts_bytes = lad->counts_bytes};
    return strict_accept(queue, do_lad, &work, sizeof work, err);
}

/* ---- dense matrices ---- */

static size_t matrix_bytes(const HcMatrix *matrix) {
    return (size_t)matrix->rows * (size_t)matrix->columns * sizeof *matrix->data;
}

typedef struct Product {
    HcMatrix matrix;
    const float *x;
    float *y;
} Product;

static HcStatus do_product(const Strict *strict, Product *work, bool transposed, HcError *err) {
    size_t rows = (size_t)work->matrix.rows * sizeof(float);
    size_t columns = (size_t)work->matrix.columns * sizeof(float);
    HC_OR_RETURN(
        strict_translate(strict, &work->matrix.data, matrix_bytes(&work->matrix), "the matrix", err));
    HC_OR_RETURN(strict_translate(strict, &work->x, transposed ? rows : columns, "the vector", err));
    HC_OR_RETURN(strict_translate(strict, &work->y, transposed ? columns : rows, "the result", err));
    return (transposed ? hc_gemv_t : hc_gemv)(strict->cpu_queue, &work->matrix, work->x, work->y, err);
}

static HcStatus do_gemv(const Strict *strict, void *arguments, HcError *err) {
    return do_product(strict, arguments, false, err);
}

static HcStatus do_gemv_t(const Strict *strict, void *arguments, HcError *err) {
    return do_product(strict, arguments, true, err);
}

HcStatus hc_strict_gemv(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    Product work = {*matrix, x, y};
    return strict_accept(queue, do_gemv, &work, sizeof work, err);
}

HcStatus hc_strict_gemv_t(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    Product work = {*matrix, x, y};
    return strict_accept(queue, do_gemv_t, &work, sizeof work, err);
}

struct HcL1 {
    HcL1Head head;
    Kept kept;
    const float *data; /* where the matrix really is */
};

static void close_l1(void *real) {
    hc_l1_close(real);
}

HcStatus hc_strict_l1_open(HcCompute *compute, const HcMatrix *matrix, HcL1 **out, HcError *err) {
    HcL1 *real = NULL;
    HcMatrix own = *matrix;
    const void *data = matrix->data;
    HC_OR_RETURN(translate_at_once(strict_of(compute), &data, matrix_bytes(matrix), "the matrix", err));
    own.data = data;
    HcL1 *l1 = calloc(1, sizeof *l1);
    if (l1 == NULL) {
        return hc_fail_memory(err, sizeof *l1, "a strict l1 problem");
    }
    l1->data = own.data;
    HcStatus status = hc_l1_open(strict_of(compute)->cpu, &own, &real, err);
    HC_OR_RETURN(strict_keep(status, compute, l1, &l1->kept, real, close_l1));
    *out = l1;
    return HC_OK;
}

void hc_strict_l1_close(HcL1 *l1) {
    strict_close_kept(l1->head.head.compute, &l1->kept);
}

typedef struct L1 {
    const HcL1 *l1;
    HcL1Rule rule;
    const float *b;
    float *x;
    HcL1Report *report;
} L1;

static HcStatus translate_l1(const Strict *strict, L1 *work, HcError *err) {
    HcMatrix matrix = work->l1->head.matrix;
    HC_OR_RETURN(strict_still_open(&work->l1->kept, "l1", err));
    HC_OR_RETURN(strict_translate(strict, &matrix.data, matrix_bytes(&matrix), "the matrix", err));
    if (matrix.data != work->l1->data) {
        return hc_fail(err, HC_E_DEVICE, "l1: the matrix was moved");
    }
    HC_OR_RETURN(
        strict_translate(strict, &work->b, (size_t)matrix.rows * sizeof *work->b, "the vector", err));
    return strict_translate(strict, &work->x, (size_t)matrix.columns * sizeof *work->x, "the result", err);
}

static HcStatus do_fista(const Strict *strict, void *arguments, HcError *err) {
    L1 *work = arguments;
    HC_OR_RETURN(translate_l1(strict, work, err));
    return hc_fista(strict->cpu_queue, work->l1->kept.real, &work->rule, work->b, work->x, work->report, err);
}

static HcStatus do_alm(const Strict *strict, void *arguments, HcError *err) {
    L1 *work = arguments;
    HC_OR_RETURN(translate_l1(strict, work, err));
    return hc_alm(strict->cpu_queue, work->l1->kept.real, &work->rule, work->b, work->x, work->report, err);
}

HcStatus hc_strict_fista(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                         HcL1Report *report, HcError *err) {
    L1 work = {l1, *rule, b, x, report};
    return strict_accept(queue, do_fista, &work, sizeof work, err);
}

HcStatus hc_strict_alm(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                       HcL1Report *report, HcError *err) {
    L1 work = {l1, *rule, b, x, report};
    return strict_accept(queue, do_alm, &work, sizeof work, err);
}

/* ---- host memory: done at once ---- */

HcStatus hc_strict_simplex(HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                           HcLpSolution *out, HcError *err) {
    const Strict *strict = strict_of(((const HcHead *)queue)->compute);
    return hc_simplex(strict->cpu_queue, program, rule, out, err);
}

HcStatus hc_strict_eigh(HcCompute *compute, int32_t n, const double *matrix, double *values, double *vectors,
                        HcError *err) {
    return hc_eigh(strict_of(compute)->cpu, n, matrix, values, vectors, err);
}
