/* The operation simplex on the GPU: how a program is opened, and the table of the steps. What is decided once
 * in a while is decided on the host, by core/solver/lp/simplex.c. */
#include "gpu/lp/simplex.cuh"

namespace {

const char doing[] = "solving a linear program";

/* The first call: memory, the matrix, and its scales. */
HcStatus find_scales(HcSimplex *s, HcError *err) {
    HcSimplexOwn *own = s->own;
    HcSimplexView *v = &own->view;
    int64_t tiles = hc_div_up(s->columns, HC_SIMPLEX_TILE);
    int64_t wanted = hc_max64(hc_max64(tiles, hc_div_up(s->rows, HC_SIMPLEX_WARPS)), 1);
    v->rows = (int32_t)s->rows;
    v->columns = (int32_t)s->columns;
    v->all = (int32_t)s->all;
    v->tolerance = s->tolerance;
    v->limit = s->limit;
    own->blocks = (int32_t)hc_min64(hc_min64(wanted, own->gpu->processors), HC_SIMPLEX_BLOCKS);
    HC_OR_RETURN(hc_gpu_simplex_alloc(s, err));
    HC_OR_RETURN(hc_gpu_simplex_push(s, err));
    HC_OR_RETURN(hc_gpu_simplex_upload(s, err));
    return hc_gpu_simplex_find_scales(s, err);
}

HcStatus open_own(HcSimplex *s, HcError *err) {
    HcSimplexOwn *own = s->own;
    HC_OR_RETURN(hc_gpu_simplex_scale(own, err));
    HC_OR_RETURN(hc_gpu_simplex_widen(own, hc_min64(hc_max64(s->rows / 4, 256), hc_max64(s->rows, 1)), err));
    return hc_gpu_check(
        cudaMemsetAsync(own->view.kept_slot, 0xFF, (size_t)s->rows * sizeof(int32_t), own->queue->stream),
        doing, err);
}

const HcSimplexSteps steps = {
    .find_scales = find_scales,
    .open = open_own,
    .find_values = hc_gpu_simplex_find_values,
    .find_reduced = hc_gpu_simplex_find_reduced,
    .imply_bounds = hc_gpu_simplex_imply_bounds,
    .dual = hc_gpu_simplex_dual,
    .primal = hc_gpu_simplex_primal,
    .refresh = hc_gpu_simplex_refresh,
    .take_row = hc_gpu_simplex_take_row,
};

} // namespace

HcStatus hc_gpu_simplex(HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                        HcLpSolution *out, HcError *err) {
    HcStatus status = HC_OK;
    HcSimplexOwn own = {};
    HcSimplex simplex = {};
    own.gpu = queue->gpu;
    own.queue = queue;
    simplex.steps = &steps;
    simplex.own = &own;
    HC_TRY(hc_gpu_use(own.gpu, err));
    HC_TRY(hc_simplex_solve(&simplex, program, rule, out, err));
done:
    if (own.queue != NULL) {
        hc_gpu_simplex_free(&own);
    }
    return status;
}
