/* The strict backend: gram. */
#include "tests/support/strict_parts.h"

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

STRICT_HANDLE(HcSums, HcSumsHead, sums)

HcStatus hc_strict_sums_open(HcCompute *compute, int32_t bands, int64_t integer_limit, const HcGrid *grid,
                             HcSums **out, HcError *err) {
    STRICT_OPEN(HcSums, sums, hc_sums_open(strict_of(compute)->cpu, bands, integer_limit, grid, &real, err));
    return HC_OK;
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
    StrictDecode decode;
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
    HC_OR_RETURN(strict_translate_decode(strict, &work->decode, err));
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
