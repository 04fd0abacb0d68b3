/* Operations of the strict backend. Each has three parts: its arguments, late work that translates device
 * pointers and hands the rest to the CPU backend, and the entry of the table that queues it. */
#include "tests/support/strict_parts.h"

static HcStatus do_decode(const Strict *strict, void *arguments, HcError *err) {
    StrictDecode *work = arguments;
    HC_OR_RETURN(strict_translate_decode(strict, work, err));
    return hc_decode(strict->cpu_queue, &work->raw, &work->how, &work->out, err);
}

HcStatus hc_strict_decode(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                          HcError *err) {
    StrictDecode work = {*raw, *how, *out};
    return strict_accept(queue, do_decode, &work, sizeof work, err);
}

static HcStatus do_gather(const Strict *strict, void *arguments, HcError *err) {
    StrictPair *work = arguments;
    HC_OR_RETURN(strict_translate_pair(strict, work, err));
    HC_OR_RETURN(
        strict_translate(strict, &work->index, sizeof(int32_t) * (size_t)work->out.bands, "gather", err));
    return hc_gather(strict->cpu_queue, &work->in, work->index, &work->out, err);
}

HcStatus hc_strict_gather(HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                          HcError *err) {
    StrictPair work = {.in = *in, .index = index, .out = *out};
    return strict_accept(queue, do_gather, &work, sizeof work, err);
}

STRICT_KINDS(filter, HcFilter)

STRICT_KINDS(difference, HcDifference)

static HcStatus do_project(const Strict *strict, void *arguments, HcError *err) {
    StrictPair *work = arguments;
    size_t n = (size_t)work->in.bands;
    size_t m = (size_t)work->out.bands;
    HC_OR_RETURN(strict_translate_pair(strict, work, err));
    HC_OR_RETURN(strict_translate(strict, &work->matrix, n * m * sizeof(double), "project, the matrix", err));
    HC_OR_RETURN(strict_translate(strict, &work->in_offset, n * sizeof(double), "project, an offset", err));
    HC_OR_RETURN(strict_translate(strict, &work->out_offset, m * sizeof(double), "project, an offset", err));
    return hc_project(strict->cpu_queue, &work->in, work->matrix, work->in_offset, work->out_offset,
                      &work->out, err);
}

HcStatus hc_strict_project(HcQueue *queue, const HcBlock *in, const double *matrix, const double *in_offset,
                           const double *out_offset, const HcBlock *out, HcError *err) {
    StrictPair work = {
        .in = *in, .matrix = matrix, .in_offset = in_offset, .out_offset = out_offset, .out = *out};
    return strict_accept(queue, do_project, &work, sizeof work, err);
}

static HcStatus do_reduce(const Strict *strict, void *arguments, HcError *err) {
    StrictPair *work = arguments;
    size_t rows = (size_t)hc_reduce_targets((HcReduction)work->variant, work->out.bands);
    size_t bytes = (size_t)work->in.bands * rows * sizeof(double);
    HC_OR_RETURN(strict_translate_pair(strict, work, err));
    HC_OR_RETURN(strict_translate(strict, &work->matrix, bytes, "reduce, the targets", err));
    return hc_reduce(strict->cpu_queue, &work->in, (HcReduction)work->variant, work->matrix, &work->out, err);
}

HcStatus hc_strict_reduce(HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                          const HcBlock *out, HcError *err) {
    StrictPair work = {.in = *in, .variant = (int)kind, .matrix = targets, .out = *out};
    return strict_accept(queue, do_reduce, &work, sizeof work, err);
}

typedef struct ColumnScores {
    StrictPair pair;
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
    HC_OR_RETURN(strict_translate_pair(strict, &work->pair, err));
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

STRICT_HANDLE(HcLocal, HcLocalHead, local)

HcStatus hc_strict_local_open(HcCompute *compute, const HcLocalRule *rule, HcLocal **out, HcError *err) {
    STRICT_OPEN(HcLocal, local, hc_local_open(strict_of(compute)->cpu, rule, &real, err));
    return HC_OK;
}

typedef struct Scoring {
    StrictPair pair;
    const Kept *kept;
} Scoring;

static HcStatus do_local(const Strict *strict, void *arguments, HcError *err) {
    Scoring *work = arguments;
    HC_OR_RETURN(strict_still_open(work->kept, "local", err));
    HC_OR_RETURN(strict_translate_pair(strict, &work->pair, err));
    return hc_local(strict->cpu_queue, &work->pair.in, work->kept->real, &work->pair.out, err);
}

HcStatus hc_strict_local(HcQueue *queue, const HcBlock *in, HcLocal *local, const HcBlock *out,
                         HcError *err) {
    Scoring work = {.pair = {.in = *in, .out = *out}, .kept = &local->kept};
    return strict_accept(queue, do_local, &work, sizeof work, err);
}

typedef struct Masks {
    StrictPair pair;
    int64_t *count;
} Masks;

static HcStatus do_masked(const Strict *strict, void *arguments, HcError *err) {
    Masks *work = arguments;
    HC_OR_RETURN(strict_translate_pair(strict, &work->pair, err));
    HC_OR_RETURN(strict_translate(strict, &work->count, sizeof *work->count, "masked, the count", err));
    return hc_masked(strict->cpu_queue, &work->pair.in, &work->pair.out, work->count, err);
}

HcStatus hc_strict_masked(HcQueue *queue, const HcBlock *in, const HcBlock *out, int64_t *count,
                          HcError *err) {
    Masks work = {.pair = {.in = *in, .out = *out}, .count = count};
    return strict_accept(queue, do_masked, &work, sizeof work, err);
}

typedef struct Calibrating {
    StrictPair pair;
    HcCalibration how;
} Calibrating;

static HcStatus do_calibrate(const Strict *strict, void *arguments, HcError *err) {
    Calibrating *work = arguments;
    HcCalibration *how = &work->how;
    size_t samples = (size_t)work->pair.in.samples, bands = (size_t)work->pair.in.bands;
    size_t bytes = samples * bands * sizeof(double);
    HC_OR_RETURN(strict_translate_pair(strict, &work->pair, err));
    HC_OR_RETURN(strict_translate(strict, &how->offset, bytes, "calibrate, the offsets", err));
    HC_OR_RETURN(strict_translate(strict, &how->slope, bytes, "calibrate, the slopes", err));
    HC_OR_RETURN(strict_translate(strict, &how->gain, bytes, "calibrate, the gains", err));
    HC_OR_RETURN(strict_translate(strict, &how->limit, bands * sizeof(float), "calibrate, the limits", err));
    HC_OR_RETURN(strict_translate(strict, &how->live, samples, "calibrate, the flags", err));
    return hc_calibrate(strict->cpu_queue, &work->pair.in, how, &work->pair.out, err);
}

HcStatus hc_strict_calibrate(HcQueue *queue, const HcBlock *in, const HcCalibration *how, const HcBlock *out,
                             HcError *err) {
    Calibrating work = {{.in = *in, .out = *out}, *how};
    return strict_accept(queue, do_calibrate, &work, sizeof work, err);
}

typedef struct Store {
    HcBlock in;
    HcStoring how;
    float *to;
} Store;

static HcStatus do_store(const Strict *strict, void *arguments, HcError *err) {
    Store *work = arguments;
    HC_OR_RETURN(strict_translate_block(strict, &work->in, "store, the input", err));
    return hc_store(strict->cpu_queue, &work->in, &work->how, work->to, err);
}

HcStatus hc_strict_store(HcQueue *queue, const HcBlock *in, const HcStoring *how, float *to, HcError *err) {
    Store work = {*in, *how, to};
    return strict_accept(queue, do_store, &work, sizeof work, err);
}
