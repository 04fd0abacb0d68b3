/* Memory of a linear program on the GPU, and what goes there and back: the arrays of HcSimplex before and
 * after every call of a step, and the state of a kernel whose blocks wait for one another. */
#include "gpu/lp/simplex.cuh"

namespace {

const char doing[] = "solving a linear program";

/* Where an array of HcSimplex lies on the device. */
template <typename T> T *mirrored(const HcSimplex *s, const T *array) {
    return (T *)((char *)s->own->mirror.data + ((const char *)array - s->memory));
}

/* The arrays of all but the inverse and the matrix, cut; or only their size. */
size_t lay_out(HcSimplexOwn *own, char *memory) {
    HcSimplexView *v = &own->view;
    size_t at = 0;
    size_t rows = (size_t)v->rows;
    size_t all = (size_t)v->all;
    size_t blocks = (size_t)own->blocks;
    v->kept_row = (int32_t *)hc_take(memory, &at, rows * sizeof(int32_t));
    v->kept_slot = (int32_t *)hc_take(memory, &at, rows * sizeof(int32_t));
    v->entering = (int32_t *)hc_take(memory, &at, rows * sizeof(int32_t));
    v->weight = (double *)hc_take(memory, &at, rows * sizeof(double));
    v->right = (double *)hc_take(memory, &at, rows * sizeof(double));
    v->delta = (double *)hc_take(memory, &at, all * sizeof(double));
    v->devex = (double *)hc_take(memory, &at, all * sizeof(double));
    v->basic_before = (uint8_t *)hc_take(memory, &at, all);
    v->reach = (HcSimplexReach *)hc_take(memory, &at, rows * sizeof(HcSimplexReach));
    v->row_exponent = (int64_t *)hc_take(memory, &at, rows * sizeof(int64_t));
    v->column_exponent = (int64_t *)hc_take(memory, &at, (size_t)v->columns * sizeof(int64_t));
    v->missing = (int32_t *)hc_take(memory, &at, sizeof(int32_t));
    v->state = (HcSimplexState *)hc_take(memory, &at, sizeof(HcSimplexState));
    v->words = (HcSimplexWord *)hc_take(memory, &at, 2 * blocks * sizeof(HcSimplexWord));
    v->pivot = (HcSimplexPivot *)hc_take(memory, &at, blocks * sizeof(HcSimplexPivot));
    v->leaving_part = (HcSimplexPart *)hc_take(memory, &at, blocks * sizeof(HcSimplexPart));
    v->entering_part = (HcSimplexPart *)hc_take(memory, &at, blocks * sizeof(HcSimplexPart));
    v->least = (double *)hc_take(memory, &at, blocks * sizeof(double));
    v->residual = (double *)hc_take(memory, &at, blocks * sizeof(double));
    v->largest = (double *)hc_take(memory, &at, blocks * sizeof(double));
    v->ratio = (double *)hc_take(memory, &at, all * sizeof(double));
    v->allowed = (double *)hc_take(memory, &at, all * sizeof(double));
    v->gain = (double *)hc_take(memory, &at, all * sizeof(double));
    v->offered_reduced = (double *)hc_take(memory, &at, all * sizeof(double));
    v->offered_slot = (int32_t *)hc_take(memory, &at, all * sizeof(int32_t));
    return at;
}

/* What dual steps have in shared memory. */
void share(HcSimplexOwn *own) {
    HcSimplexView *v = &own->view;
    size_t places = (size_t)hc_div_up(v->rows, own->blocks);
    size_t lists = (size_t)hc_simplex_lists(v->stride, (int64_t)places);
    size_t rows = places * (size_t)v->stride;
    size_t tile = (size_t)v->stride * HC_SIMPLEX_TILE;
    bool one = v->by_row.start == NULL && hc_div_up(v->columns, HC_SIMPLEX_TILE) <= own->blocks;
    size_t room = (own->gpu->shared_memory - HC_SIMPLEX_STATIC) / sizeof(double);
    v->shared = lists > room                         ? HC_SIMPLEX_SHARED_NONE
                : lists + rows > room                ? HC_SIMPLEX_SHARED_LISTS
                : lists + rows + tile > room || !one ? HC_SIMPLEX_SHARED_ROWS
                                                     : HC_SIMPLEX_SHARED_TILE;
    own->shared = sizeof(double) * ((v->shared >= HC_SIMPLEX_SHARED_LISTS ? lists : 0) +
                                    (v->shared >= HC_SIMPLEX_SHARED_ROWS ? rows : 0) +
                                    (v->shared >= HC_SIMPLEX_SHARED_TILE ? tile : 0));
}

/* The inverse and what is as wide as its rows. */
size_t lay_out_inverse(HcSimplexOwn *own, char *memory) {
    HcSimplexView *v = &own->view;
    size_t at = 0;
    size_t blocks = (size_t)own->blocks;
    size_t width = (size_t)v->stride * sizeof(double);
    size_t lists = (size_t)hc_simplex_lists(v->stride, hc_div_up(v->rows, own->blocks)) * sizeof(double);
    v->pivot_row = (double *)hc_take(memory, &at, width);
    v->offered_row = (double *)hc_take(memory, &at, 2 * blocks * width);
    v->private_lists =
        (double *)hc_take(memory, &at, v->shared == HC_SIMPLEX_SHARED_NONE ? blocks * lists : 0);
    v->inverse = (double *)hc_take(memory, &at, width * (size_t)v->rows);
    return at;
}

/* The arrays of HcSimplex on the device. */
void view_mirror(const HcSimplex *s, HcSimplexView *v) {
    v->row_scale = mirrored(s, s->row_scale);
    v->column_scale = mirrored(s, s->column_scale);
    v->true_lower = mirrored(s, s->true_lower);
    v->true_upper = mirrored(s, s->true_upper);
    v->true_cost = mirrored(s, s->true_cost);
    v->lower = mirrored(s, s->lower);
    v->upper = mirrored(s, s->upper);
    v->cost = mirrored(s, s->cost);
    v->value = mirrored(s, s->value);
    v->reduced = mirrored(s, s->reduced);
    v->price = mirrored(s, s->price);
    v->row = mirrored(s, s->row);
    v->column = mirrored(s, s->column);
    v->move = mirrored(s, s->move);
    v->place = mirrored(s, s->place);
    v->basic = mirrored(s, s->basic);
}

} // namespace

HcStatus hc_gpu_simplex_alloc(HcSimplex *s, HcError *err) {
    HcSimplexOwn *own = s->own;
    HcCompute *compute = &own->gpu->base;
    size_t bytes = lay_out(own, NULL);
    HC_OR_RETURN(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, bytes, &own->work, err));
    (void)lay_out(own, (char *)own->work.data);
    HC_OR_RETURN(hc_gpu_check(cudaMemsetAsync(own->work.data, 0, bytes, own->queue->stream), doing, err));
    HC_OR_RETURN(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, s->bytes, &own->mirror, err));
    view_mirror(s, &own->view);
    return HC_OK;
}

HcStatus hc_gpu_simplex_widen(HcSimplexOwn *own, int64_t most, HcError *err) {
    HcStatus status = HC_OK;
    HcCompute *compute = &own->gpu->base;
    HcSimplexView before = own->view;
    HcBuffer larger = {};
    own->view.stride = hc_div_up(most, 32) * 32;
    share(own);
    size_t bytes = lay_out_inverse(own, NULL);
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, bytes, &larger, err));
    (void)lay_out_inverse(own, (char *)larger.data);
    if (own->state.kept > 0) {
        HC_TRY(
            hc_gpu_check(cudaMemcpy2DAsync(own->view.inverse, (size_t)own->view.stride * sizeof(double),
                                           before.inverse, (size_t)before.stride * sizeof(double),
                                           (size_t)own->state.kept * sizeof(double), (size_t)own->view.rows,
                                           cudaMemcpyDeviceToDevice, own->queue->stream),
                         doing, err));
        HC_TRY(hc_gpu_check(cudaStreamSynchronize(own->queue->stream), doing, err));
    }
    hc_gpu_release(compute, &own->inverse);
    own->inverse = larger;
    larger = {};
done:
    hc_gpu_release(compute, &larger);
    return status;
}

void hc_gpu_simplex_free(HcSimplexOwn *own) {
    HcBuffer *buffers[] = {&own->mirror, &own->work, &own->inverse, &own->rows, &own->columns};
    (void)cudaStreamSynchronize(own->queue->stream);
    (void)cudaGetLastError();
    for (HcBuffer *buffer : buffers) {
        hc_gpu_release(&own->gpu->base, buffer);
    }
}

HcStatus hc_gpu_simplex_push(HcSimplex *s, HcError *err) {
    return hc_gpu_check(cudaMemcpyAsync(s->own->mirror.data, s->memory, s->bytes, cudaMemcpyHostToDevice,
                                        s->own->queue->stream),
                        doing, err);
}

HcStatus hc_gpu_simplex_pull(HcSimplex *s, HcError *err) {
    HC_OR_RETURN(hc_gpu_check(cudaMemcpyAsync(s->memory, s->own->mirror.data, s->bytes,
                                              cudaMemcpyDeviceToHost, s->own->queue->stream),
                              doing, err));
    return hc_gpu_check(cudaStreamSynchronize(s->own->queue->stream), doing, err);
}

HcStatus hc_gpu_simplex_launch(HcSimplexOwn *own, const void *kernel, size_t shared, HcError *err) {
    cudaStream_t stream = own->queue->stream;
    void *arguments[] = {&own->view};
    HC_OR_RETURN(hc_gpu_check(
        cudaMemcpyAsync(own->view.state, &own->state, sizeof own->state, cudaMemcpyHostToDevice, stream),
        doing, err));
    HC_OR_RETURN(hc_gpu_check(
        cudaMemsetAsync(own->view.words, 0, 2 * (size_t)own->blocks * sizeof *own->view.words, stream), doing,
        err));
    HC_OR_RETURN(hc_gpu_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)shared), doing, err));
    HC_OR_RETURN(
        hc_gpu_check(cudaLaunchCooperativeKernel(kernel, dim3((unsigned)own->blocks),
                                                 dim3(HC_SIMPLEX_THREADS), arguments, shared, stream),
                     doing, err));
    HC_OR_RETURN(hc_gpu_check(
        cudaMemcpyAsync(&own->state, own->view.state, sizeof own->state, cudaMemcpyDeviceToHost, stream),
        doing, err));
    return hc_gpu_check(cudaStreamSynchronize(stream), doing, err);
}
