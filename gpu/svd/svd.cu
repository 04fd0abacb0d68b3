/* Batched singular value decompositions: how a shape is decomposed, and the memory for it. */
#include "gpu/svd/large.cuh"

#include <new>

/* Matrices that are worked on at once where memory is needed for each: as many as a launch may have blocks in
 * its second dimension. */
static const int64_t jobs_most = 65535;

/* Cuts `memory`; NULL = only the size is wanted. */
static HcSvdScratch lay_out(const HcSvd *svd, void *memory) {
    HcSvdScratch scratch = {};
    if (svd->way == HC_SVD_SMALL) {
        return scratch;
    }
    char *base = (char *)memory;
    size_t element = hc_element_bytes(svd->element);
    size_t most = (size_t)svd->most;
    size_t m = (size_t)svd->m;
    size_t n = (size_t)svd->n;
    size_t stored = (size_t)svd->stored;
    size_t square = HC_SVD_PANEL * HC_SVD_PANEL;
    size_t jobs = most * stored / HC_SVD_PANEL;
    scratch.w = hc_take(base, &scratch.bytes, most * stored * m * element);
    scratch.exponent = (int32_t *)hc_take(base, &scratch.bytes, most * sizeof(int32_t));
    scratch.done = (int32_t *)hc_take(base, &scratch.bytes, most * sizeof(int32_t));
    scratch.turned = (int32_t *)hc_take(base, &scratch.bytes, most * sizeof(int32_t));
    scratch.sweeps = (int32_t *)hc_take(base, &scratch.bytes, most * sizeof(int32_t));
    scratch.finite = (int32_t *)hc_take(base, &scratch.bytes, most * sizeof(int32_t));
    if (svd->way == HC_SVD_LONG) {
        scratch.r = hc_take(base, &scratch.bytes, most * n * n * element);
        scratch.tau = hc_take(base, &scratch.bytes, most * n * element);
        return scratch;
    }
    scratch.v = hc_take(base, &scratch.bytes, most * stored * n * element);
    scratch.r = hc_take(base, &scratch.bytes, jobs * square * element);
    scratch.record.turns = hc_take(base, &scratch.bytes, jobs * HC_SVD_MEETING_SWEEPS * square * element);
    scratch.record.changes =
        (uint8_t *)hc_take(base, &scratch.bytes, jobs * HC_SVD_MEETING_SWEEPS * HC_SVD_PANEL);
    scratch.record.places = (int32_t *)hc_take(base, &scratch.bytes, jobs * HC_SVD_PANEL * sizeof(int32_t));
    scratch.job_sweeps = (int32_t *)hc_take(base, &scratch.bytes, jobs * sizeof(int32_t));
    scratch.norms = hc_take(base, &scratch.bytes, most * stored * element);
    if (m * HC_SVD_PANEL * element > svd->gpu->shared_memory - 1024) {
        scratch.panel = hc_take(base, &scratch.bytes, jobs * HC_SVD_PANEL * m * element);
    }
    return scratch;
}

/* Rows that a matrix of that many columns may have to be decomposed in registers as it is. Tall ones of
 * float32 take less time there than a QR factorisation does. */
static int32_t rows_in_registers(HcElement element, int32_t columns) {
    int32_t side = element == HC_ELEMENT_FLOAT32 && columns > 16 ? 64 : 8;
    while (side < columns) {
        side *= 2;
    }
    return side;
}

HcStatus hc_gpu_svd_open(HcCompute *compute, HcElement element, int32_t rows, int32_t columns, int64_t most,
                         bool vectors, HcSvd **out, HcError *err) {
    HcStatus status = HC_OK;
    HcSvd *svd = NULL;
    *out = NULL;
    svd = new (std::nothrow) HcSvd();
    if (svd == NULL) {
        HC_TRY(hc_fail_memory(err, sizeof *svd, "decompositions"));
    }
    svd->gpu = (HcGpu *)compute;
    svd->element = element;
    svd->rows = rows;
    svd->columns = columns;
    svd->wide = columns > rows;
    svd->m = svd->wide ? columns : rows;
    svd->n = svd->wide ? rows : columns;
    svd->vectors = vectors;
    svd->stored = svd->n;
    svd->most = INT32_MAX;
    svd->way = HC_SVD_SMALL;
    if (svd->n > HC_SVD_SIDE) {
        svd->way = HC_SVD_BLOCKS;
        svd->stored = (int32_t)(hc_div_up(svd->n, HC_SVD_PANEL) * HC_SVD_PANEL);
        svd->most = hc_min64(most, hc_max64(1, jobs_most / (svd->stored / HC_SVD_PANEL)));
    } else if (svd->m > rows_in_registers(element, svd->n)) {
        svd->way = HC_SVD_LONG;
        svd->most = hc_min64(most, INT32_MAX);
    }
    svd->scratch = lay_out(svd, NULL);
    if (svd->scratch.bytes > 0) {
        HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, svd->scratch.bytes, &svd->memory, err));
        svd->scratch = lay_out(svd, svd->memory.data);
    }
    *out = svd;
    svd = NULL;
done:
    delete svd;
    return status;
}

void hc_gpu_svd_close(HcSvd *svd) {
    if (svd != NULL) {
        hc_gpu_release(&svd->gpu->base, &svd->memory);
        delete svd;
    }
}

HcStatus hc_gpu_svd_batched(HcQueue *queue, HcSvd *svd, const HcSvdBatch *batch, HcError *err) {
    static HcSvdRun *const run[HC_ELEMENT_COUNT] = {hc_svd_float32, hc_svd_float64, hc_svd_complex_float32,
                                                    hc_svd_complex_float64};
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    return run[svd->element](queue, svd, batch, err);
}
