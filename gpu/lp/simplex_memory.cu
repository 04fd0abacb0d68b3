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
    v->choice = (HcSimplexChoice *)hc_take(memory, &at, sizeof(HcSimplexChoice));
    v->leaving_part = (HcSimplexPart *)hc_take(memory, &at, blocks * sizeof(HcSimplexPart));
    v->entering_part = (HcSimplexPart *)hc_take(memory, &at, blocks * sizeof(HcSimplexPart));
    v->least = (double *)hc_take(memory, &at, blocks * sizeof(double));
    v->residual = (double *)hc_take(memory, &at, blocks * sizeof(double));
    v->largest = (double *)hc_take(memory, &at, blocks * sizeof(double));
    v->ratio = (double *)hc_take(memory, &at, all * sizeof(double));
    v->allowed = (double *)hc_take(memory, &at, all * sizeof(double));
    return at;
}

/* The inverse and what is as wide as its rows. */
size_t lay_out_inverse(HcSimplexView *v, char *memory) {
    size_t at = 0;
    size_t width = (size_t)v->stride * sizeof(double);
    v->raw_row = (double *)hc_take(memory, &at, width);
    v->pivot_row = (double *)hc_take(memory, &at, width);
    v->packed = (double *)hc_take(memory, &at, width);
    v->packed_shift = (double *)hc_take(memory, &at, width);
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
    size_t bytes = lay_out_inverse(&own->view, NULL);
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, bytes, &larger, err));
    (void)lay_out_inverse(&own->view, (char *)larger.data);
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

HcStatus hc_gpu_simplex_launch(HcSimplexOwn *own, const void *kernel, HcError *err) {
    cudaStream_t stream = own->queue->stream;
    void *arguments[] = {&own->view};
    HC_OR_RETURN(hc_gpu_check(
        cudaMemcpyAsync(own->view.state, &own->state, sizeof own->state, cudaMemcpyHostToDevice, stream),
        doing, err));
    HC_OR_RETURN(hc_gpu_check(cudaLaunchCooperativeKernel(kernel, dim3((unsigned)own->blocks),
                                                          dim3(HC_SIMPLEX_THREADS), arguments, 0, stream),
                              doing, err));
    HC_OR_RETURN(hc_gpu_check(
        cudaMemcpyAsync(&own->state, own->view.state, sizeof own->state, cudaMemcpyDeviceToHost, stream),
        doing, err));
    return hc_gpu_check(cudaStreamSynchronize(stream), doing, err);
}
