/* Growing sums of products: their memory, and what is asked of them. */
#include "gpu/gram/gram.cuh"

#include <new>

HcStatus hc_gpu_sums_open(HcCompute *compute, int32_t bands, int64_t integer_limit, const HcGrid *grid,
                          HcSums **out, HcError *err) {
    HcStatus status = HC_OK;
    HcSums *sums = NULL;
    HcQueue *queue = NULL;
    *out = NULL;
    if ((sums = new (std::nothrow) HcSums()) == NULL) {
        return hc_fail_memory(err, sizeof *sums, "sums of products");
    }
    sums->gpu = (HcGpu *)compute;
    sums->bands = bands;
    sums->limit = integer_limit;
    if (grid != NULL) {
        sums->on_grid = true;
        sums->grid.bands = bands;
        HC_TRY(hc_moments_on_grid(&sums->grid, grid, err));
    }
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, hc_exact_layout(sums, NULL), &sums->memory, err));
    (void)hc_exact_layout(sums, (char *)sums->memory.data);
    sums->gpu->sums_bytes += sums->memory.bytes;
    HC_TRY(hc_queue_open(compute, &queue, err));
    HC_TRY(hc_zero(queue, sums->memory.data, sums->memory.bytes, err));
    HC_TRY(hc_exact_open(sums, queue, err));
    HC_TRY(hc_wait(queue, err));
    *out = sums;
done:
    if (queue != NULL) {
        hc_queue_close(queue);
    }
    if (status != HC_OK) {
        hc_gpu_sums_close(sums);
    }
    return status;
}

void hc_gpu_sums_close(HcSums *sums) {
    if (sums != NULL) {
        sums->gpu->sums_bytes -= sums->memory.bytes;
        hc_gpu_release(&sums->gpu->base, &sums->memory);
        hc_moments_clear(&sums->grid);
        delete sums;
    }
}

HcGramJob hc_gram_job(const HcBlock *in, HcDifference kind, const HcWindow *window) {
    HcGramJob job;
    job = {hc_view(in), kind, in->above, in->lines, 0, hc_block_rows(in), 0, in->samples};
    if (window != NULL) {
        job.top = hc_max64(0, window->line0 - job.in.first_line);
        job.bottom = hc_min64(job.bottom, window->line0 + window->lines - job.in.first_line);
        job.left = hc_max64(0, window->sample0);
        job.right = hc_min64(job.right, window->sample0 + window->samples);
    }
    return job;
}

HcStatus hc_gpu_gram(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcWindow *window,
                     HcSums *sums, HcError *err) {
    HcGramJob job = hc_gram_job(in, kind, window);
    sums->kind = kind;
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    return hc_exact_gram(queue, &job, sums, err);
}

HcStatus hc_gpu_sums_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    HcStatus status = HC_OK;
    HC_TRY(hc_gpu_use(queue->gpu, err));
    HC_TRY(hc_moments_init(out, sums->bands, err));
    if (sums->on_grid) {
        const HcGrid grid = {sums->grid.center, sums->grid.exponent};
        HC_TRY(hc_moments_on_grid(out, &grid, err));
    }
    HC_TRY(hc_exact_fetch(queue, sums, out, err));
done:
    if (status != HC_OK) {
        hc_moments_clear(out);
    }
    return status;
}
