/* The strict backend: svd. */
#include "tests/support/strict_parts.h"

STRICT_HANDLE(HcSvd, HcSvdHead, svd)

HcStatus hc_strict_svd_open(HcCompute *compute, HcElement element, int32_t rows, int32_t columns,
                            int64_t most, bool vectors, HcSvd **out, HcError *err) {
    STRICT_OPEN(HcSvd, svd,
                hc_svd_open(strict_of(compute)->cpu, element, rows, columns, most, vectors, &real, err));
    return HC_OK;
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

STRICT_HANDLE(HcPatches, HcPatchesHead, patches)

HcStatus hc_strict_patches_open(HcCompute *compute, const HcPatchRule *rule, HcPatches **out, HcError *err) {
    STRICT_OPEN(HcPatches, patches, hc_patches_open(strict_of(compute)->cpu, rule, &real, err));
    return HC_OK;
}

static HcStatus do_patches(const Strict *strict, void *arguments, HcError *err) {
    StrictSolve *work = arguments;
    HC_OR_RETURN(strict_translate_solve(strict, work, "patches", err));
    return hc_patches(strict->cpu_queue, &work->pair.in, work->kept->real, &work->pair.out, err);
}

HcStatus hc_strict_patches(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out,
                           HcError *err) {
    StrictSolve work = {.pair = {.in = *in, .out = *out}, .kept = &patches->kept};
    return strict_accept(queue, do_patches, &work, sizeof work, err);
}

/* Two blocks, what helps one of them, and memory to work in. */
typedef struct Grouping {
    StrictPair pair;
    HcBlock pilot;
    HcGroupRule rule;
    void *memory;
} Grouping;

static HcStatus do_groups(const Strict *strict, void *arguments, HcError *err) {
    Grouping *work = arguments;
    size_t bytes = hc_groups_bytes(&work->rule, hc_block_pixels(&work->pair.out), work->pair.out.bands);
    HC_OR_RETURN(strict_translate_pair(strict, &work->pair, err));
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
