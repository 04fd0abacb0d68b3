/* Growing sums of products: their memory, and which form they have. */
#include "gpu/gram/gram.cuh"

#include <new>

static size_t layout(HcSums *sums, char *memory) {
    return hc_sums_exact(sums) ? hc_exact_layout(sums, memory) : hc_floats_layout(sums, memory);
}

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
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, layout(sums, NULL), &sums->memory, err));
    (void)layout(sums, (char *)sums->memory.data);
    sums->gpu->sums_bytes += sums->memory.bytes;
    HC_TRY(hc_queue_open(compute, &queue, err));
    HC_TRY(hc_zero(queue, sums->memory.data, sums->memory.bytes, err));
    if (hc_sums_exact(sums)) {
        HC_TRY(hc_exact_open(sums, queue, err));
    }
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

HcStatus hc_gpu_gram(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcWindow *window,
                     HcSums *sums, HcError *err) {
    HcGramJob job;
    if (!hc_sums_exact(sums) && sums->started && sums->kind != kind) {
        return hc_fail(err, HC_E_USAGE, "gram: float sums of two kinds of differences");
    }
    sums->kind = kind;
    sums->started = true;
    job = {hc_view(in), kind, in->above, in->lines, 0, hc_block_rows(in), 0, in->samples};
    if (window != NULL) {
        job.top = hc_max64(0, window->line0 - job.in.first_line);
        job.bottom = hc_min64(job.bottom, window->line0 + window->lines - job.in.first_line);
        job.left = hc_max64(0, window->sample0);
        job.right = hc_min64(job.right, window->sample0 + window->samples);
    }
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    return hc_sums_exact(sums) ? hc_exact_gram(queue, &job, sums, err)
                               : hc_floats_gram(queue, &job, hc_sums_lines(in->samples), sums, err);
}

HcStatus hc_gpu_sums_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    HcStatus status = HC_OK;
    HC_TRY(hc_gpu_use(queue->gpu, err));
    HC_TRY(hc_moments_init(out, sums->bands, hc_sums_exact(sums), err));
    if (sums->on_grid) {
        const HcGrid grid = {sums->grid.center, sums->grid.exponent};
        HC_TRY(hc_moments_on_grid(out, &grid, err));
    }
    HC_TRY(hc_sums_exact(sums) ? hc_exact_fetch(queue, sums, out, err)
                               : hc_floats_fetch(queue, sums, out, err));
done:
    if (status != HC_OK) {
        hc_moments_clear(out);
    }
    return status;
}
