/* The matrix of a linear program on the GPU: by rows and by columns, its scales, and the bounds that rows
 * imply. Scales have the bits that they have on the CPU: sums of logarithms are of integers. */
#include "gpu/lp/simplex_device.cuh"

#include <stdlib.h>

using namespace hc_lp;

namespace {

const char doing[] = "preparing a linear program";

enum { TURN = 32, TURN_ROWS = 8, SLOT = 8 << 20, PART = 512 << 10 };

/* ---- as it is given ---- */

/* to[columns][..] of from[rows][..], in tiles. */
__global__ void __launch_bounds__(TURN *TURN_ROWS) turn(HcSimplexLines from, HcSimplexLines to) {
    __shared__ double tile[TURN][TURN + 1];
    int32_t x0 = (int32_t)blockIdx.x * TURN; /* in a line of `from` */
    int64_t y0 = (int64_t)blockIdx.y * TURN;
    for (int32_t y = (int32_t)threadIdx.y; y < TURN; y += TURN_ROWS) {
        int32_t x = x0 + (int32_t)threadIdx.x;
        if (y0 + y < from.lines && x < from.length) {
            tile[y][threadIdx.x] = from.value[(y0 + y) * from.stride + x];
        }
    }
    __syncthreads();
    for (int32_t x = (int32_t)threadIdx.y; x < TURN; x += TURN_ROWS) {
        int64_t y = y0 + threadIdx.x;
        if (y < from.lines && x0 + x < from.length) {
            to.value[(x0 + x) * to.stride + y] = tile[threadIdx.x][x];
        }
    }
}

/* Entries that are not 0 of columns with few of them, into dense ones. */
__global__ void __launch_bounds__(THREADS) spread(HcSimplexLines from, HcSimplexLines to) {
    int32_t column = (int32_t)blockIdx.x;
    for (int64_t e = from.start[column] + threadIdx.x; e < from.start[column + 1]; e += THREADS) {
        to.value[column * to.stride + from.index[e]] = from.value[e];
    }
}

/* ---- scales ---- */

/* exponent of each line, with those of the other direction as they are; a warp a line. */
__global__ void __launch_bounds__(THREADS)
    find_exponents(HcSimplexLines lines, const int64_t *other, int64_t *exponent) {
    for (int32_t line = (int32_t)blockIdx.x * WARPS + warp(); line < lines.lines;
         line += (int32_t)gridDim.x * WARPS) {
        long long sum = 0;
        int32_t count = 0;
        int64_t end = end_entry(lines, line);
        for (int64_t e = first_entry(lines, line) + lane(); e < end; e += 32) {
            double value = lines.value[e];
            int64_t more = other[index_of(lines, line, e)] * ((int64_t)1 << HC_SIMPLEX_FRACTION);
            sum += value != 0 ? hc_simplex_logarithm(value) + more : 0;
            count += value != 0;
        }
        for (int far = 16; far > 0; far /= 2) {
            sum += __shfl_xor_sync(0xFFFFFFFF, sum, far);
            count += __shfl_xor_sync(0xFFFFFFFF, count, far);
        }
        if (lane() == 0) {
            exponent[line] = hc_simplex_against(sum, count);
        }
    }
}

__global__ void __launch_bounds__(THREADS) find_powers(const int64_t *exponent, int32_t count, double *out) {
    int32_t k = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
    if (k < count) {
        out[k] = hc_simplex_power(exponent[k]);
    }
}

__global__ void __launch_bounds__(THREADS)
    scale_lines(HcSimplexLines lines, const double *scale, const double *other) {
    for (int32_t line = (int32_t)blockIdx.x * WARPS + warp(); line < lines.lines;
         line += (int32_t)gridDim.x * WARPS) {
        int64_t end = end_entry(lines, line);
        for (int64_t e = first_entry(lines, line) + lane(); e < end; e += 32) {
            lines.value[e] *= scale[line] * other[index_of(lines, line, e)];
        }
    }
}

/* ---- implied bounds ---- */

__device__ double sum_of(double value) {
    return warp_sum(value);
}

__device__ int64_t sum_of(int64_t value) {
    long long sum = value;
    for (int far = 16; far > 0; far /= 2) {
        sum += __shfl_xor_sync(0xFFFFFFFF, sum, far);
    }
    return sum;
}

__global__ void __launch_bounds__(THREADS) find_reach(const __grid_constant__ HcSimplexView v) {
    for (int32_t i = (int32_t)blockIdx.x * WARPS + warp(); i < v.rows; i += (int32_t)gridDim.x * WARPS) {
        HcSimplexReach reach = {0, 0, 0, 0};
        int64_t end = end_entry(v.by_row, i);
        for (int64_t e = first_entry(v.by_row, i) + lane(); e < end; e += 32) {
            int32_t j = index_of(v.by_row, i, e);
            if (v.by_row.value[e] != 0) {
                hc_simplex_extend(v.by_row.value[e], v.true_lower[j], v.true_upper[j], &reach);
            }
        }
        reach = {sum_of(reach.low), sum_of(reach.high), sum_of(reach.low_infinite),
                 sum_of(reach.high_infinite)};
        if (lane() == 0) {
            v.reach[i] = reach;
        }
    }
}

/* The bound of one variable, by a warp. */
__device__ double implied(const HcSimplexView &v, int32_t j, double side) {
    double bound = (double)INFINITY;
    int64_t end = end_entry(v.by_column, j);
    for (int64_t e = first_entry(v.by_column, j) + lane(); e < end; e += 32) {
        int32_t i = index_of(v.by_column, j, e);
        if (v.by_column.value[e] != 0) {
            double by_row = hc_simplex_implied_by(&v.reach[i], v.by_column.value[e], side, v.true_lower[j],
                                                  v.true_upper[j], v.true_lower[v.columns + i],
                                                  v.true_upper[v.columns + i]);
            bound = fmin(bound, by_row);
        }
    }
    return hc_simplex_loosen(warp_least(bound), side, v.true_lower[j], v.true_upper[j]);
}

__global__ void __launch_bounds__(THREADS) find_implied(const __grid_constant__ HcSimplexView v) {
    for (int32_t j = (int32_t)blockIdx.x * WARPS + warp(); j < v.columns; j += (int32_t)gridDim.x * WARPS) {
        double side = hc_simplex_open_side(v.true_cost[j], v.true_lower[j], v.true_upper[j]);
        double bound = side != 0 ? implied(v, j, side) : 0;
        if (lane() == 0 && side != 0) {
            (side > 0 ? v.upper : v.lower)[j] = side * bound;
            if (isinf(bound)) {
                *v.missing = 1; /* whoever says so, it is the same */
            }
        }
    }
}

/* ---- the matrix from the host ---- */

/* Columns with few entries, and rows, on the host. */
struct Lists {
    int64_t *row_start;    /* [rows + 1] */
    int32_t *row_index;    /* [entries] */
    double *row_value;     /* [entries] */
    int32_t *column_index; /* [entries] */
    double *column_value;  /* [entries] */
};

void free_lists(Lists *lists) {
    free(lists->row_start);
    free(lists->row_index);
    free(lists->row_value);
    free(lists->column_index);
    free(lists->column_value);
}

/* Rows first, their entries from left to right; from them the columns, from top to bottom. */
HcStatus make_lists(const HcLinearProgram *program, Lists *lists, HcError *err) {
    size_t entries = (size_t)program->start[program->columns] + 1;
    int64_t *end = (int64_t *)calloc((size_t)hc_max64(program->rows, program->columns) + 1, sizeof *end);
    lists->row_start = (int64_t *)calloc((size_t)program->rows + 2, sizeof(int64_t));
    lists->row_index = (int32_t *)malloc(entries * sizeof(int32_t));
    lists->row_value = (double *)malloc(entries * sizeof(double));
    lists->column_index = (int32_t *)malloc(entries * sizeof(int32_t));
    lists->column_value = (double *)malloc(entries * sizeof(double));
    if (end == NULL || lists->row_start == NULL || lists->row_index == NULL || lists->row_value == NULL ||
        lists->column_index == NULL || lists->column_value == NULL) {
        free(end);
        return hc_fail_memory(err, (double)entries * 24, "the rows of a linear program");
    }
    for (int64_t e = 0; e < program->start[program->columns]; e++) {
        lists->row_start[program->row[e] + 1]++;
    }
    for (int64_t i = 0; i < program->rows; i++) {
        lists->row_start[i + 1] += lists->row_start[i];
        end[i] = lists->row_start[i];
    }
    for (int64_t j = 0; j < program->columns; j++) {
        for (int64_t e = program->start[j]; e < program->start[j + 1]; e++) {
            int64_t to = end[program->row[e]]++;
            lists->row_index[to] = (int32_t)j;
            lists->row_value[to] = program->value[e];
        }
    }
    for (int64_t j = 0; j < program->columns; j++) {
        end[j] = program->start[j];
    }
    for (int64_t i = 0; i < program->rows; i++) {
        for (int64_t e = lists->row_start[i]; e < lists->row_start[i + 1]; e++) {
            int64_t to = end[lists->row_index[e]]++;
            lists->column_index[to] = (int32_t)i;
            lists->column_value[to] = lists->row_value[e];
        }
    }
    free(end);
    return HC_OK;
}

HcStatus copy(HcSimplexOwn *own, void *to, const void *from, size_t bytes, HcError *err) {
    return hc_gpu_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, own->queue->stream), doing,
                        err);
}

/* A part of what goes into pinned memory. */
struct Part {
    char *to;
    const char *from;
    size_t bytes;
};

void bring_part(void *user, int64_t item, int32_t thread) {
    const Part *all = (const Part *)user;
    size_t begin = (size_t)item * PART;
    (void)thread;
    memcpy(all->to + begin, all->from + begin, all->bytes - begin < PART ? all->bytes - begin : (size_t)PART);
}

/* The same of a large array, through pinned memory that the threads of the host fill: 64 MB take 3 ms in
 * place of 7. */
HcStatus copy_large(HcSimplexOwn *own, void *to, const void *from, size_t bytes, HcError *err) {
    HcStatus status = HC_OK;
    HcBuffer pinned = {};
    if (bytes <= SLOT) {
        return copy(own, to, from, bytes, err);
    }
    HC_TRY(hc_gpu_alloc(&own->gpu->base, HC_MEMORY_HOST, 2 * (size_t)SLOT, &pinned, err));
    for (size_t at = 0; at < bytes; at += SLOT) {
        char *slot = (char *)pinned.data + at / SLOT % 2 * SLOT;
        Part part = {slot, (const char *)from + at, bytes - at < SLOT ? bytes - at : (size_t)SLOT};
        hc_share(own->gpu->host, (int64_t)hc_div_up((int64_t)part.bytes, PART), bring_part, &part);
        HC_TRY(hc_gpu_check(cudaStreamSynchronize(own->queue->stream), doing, err)); /* of the other slot */
        HC_TRY(copy(own, (char *)to + at, slot, part.bytes, err));
    }
    HC_TRY(hc_gpu_check(cudaStreamSynchronize(own->queue->stream), doing, err));
done:
    hc_gpu_release(&own->gpu->base, &pinned);
    return status;
}

/* Lines with few entries into a buffer of their own. */
HcStatus upload_lines(HcSimplexOwn *own, int64_t lines, const int64_t *start, const int32_t *index,
                      const double *value, HcBuffer *buffer, HcSimplexLines *out, HcError *err) {
    size_t entries = (size_t)start[lines];
    size_t bytes = 0;
    *out = {};
    out->lines = (int32_t)lines;
    for (char *memory = NULL;; memory = (char *)buffer->data) {
        bytes = 0;
        out->start = (int64_t *)hc_take(memory, &bytes, ((size_t)lines + 1) * sizeof(int64_t));
        out->index = (int32_t *)hc_take(memory, &bytes, entries * sizeof(int32_t));
        out->value = (double *)hc_take(memory, &bytes, entries * sizeof(double));
        if (memory != NULL) {
            break;
        }
        HC_OR_RETURN(hc_gpu_alloc(&own->gpu->base, HC_MEMORY_DEVICE, bytes, buffer, err));
    }
    HC_OR_RETURN(copy(own, out->start, start, ((size_t)lines + 1) * sizeof(int64_t), err));
    HC_OR_RETURN(copy(own, out->index, index, entries * sizeof(int32_t), err));
    return copy(own, out->value, value, entries * sizeof(double), err);
}

/* Memory of dense lines. */
HcStatus make_dense(HcSimplexOwn *own, int32_t lines, int32_t length, int64_t stride, HcBuffer *buffer,
                    HcSimplexLines *out, HcError *err) {
    HC_OR_RETURN(hc_gpu_alloc(&own->gpu->base, HC_MEMORY_DEVICE,
                              (size_t)lines * (size_t)stride * sizeof(double), buffer, err));
    *out = {NULL, NULL, (double *)buffer->data, stride, lines, length};
    return HC_OK;
}

/* Dense columns from columns with few entries. */
HcStatus spread_columns(HcSimplex *s, HcError *err) {
    HcStatus status = HC_OK;
    HcSimplexOwn *own = s->own;
    HcBuffer buffer = {};
    HcSimplexLines few = {};
    HC_TRY(hc_gpu_check(cudaMemsetAsync(own->columns.data, 0, own->columns.bytes, own->queue->stream), doing,
                        err));
    HC_TRY(upload_lines(own, s->columns, s->program->start, s->program->row, s->program->value, &buffer, &few,
                        err));
    spread<<<(unsigned)s->columns, THREADS, 0, own->queue->stream>>>(few, own->view.by_column);
    HC_TRY(hc_gpu_launched(doing, err));
    HC_TRY(hc_gpu_check(cudaStreamSynchronize(own->queue->stream), doing, err));
done:
    hc_gpu_release(&own->gpu->base, &buffer);
    return status;
}

HcStatus upload_dense(HcSimplex *s, HcError *err) {
    HcSimplexOwn *own = s->own;
    HcSimplexView *v = &own->view;
    dim3 tiles((unsigned)hc_div_up(s->rows, TURN), (unsigned)hc_div_up(s->columns, TURN));
    HC_OR_RETURN(make_dense(own, v->columns, v->rows, v->rows, &own->columns, &v->by_column, err));
    HC_OR_RETURN(make_dense(own, v->rows, v->columns,
                            hc_div_up(v->columns, HC_SIMPLEX_TILE) * HC_SIMPLEX_TILE, &own->rows, &v->by_row,
                            err));
    if (s->rows == 0) {
        return HC_OK;
    }
    /* Pricing reads whole tiles, and does not use what lies beyond the last column. */
    HC_OR_RETURN(
        hc_gpu_check(cudaMemsetAsync(own->rows.data, 0, own->rows.bytes, own->queue->stream), doing, err));
    if (s->program->start != NULL) {
        HC_OR_RETURN(spread_columns(s, err));
    } else {
        HC_OR_RETURN(copy_large(own, v->by_column.value, s->program->value,
                                (size_t)s->rows * (size_t)s->columns * sizeof(double), err));
    }
    turn<<<tiles, dim3(TURN, TURN_ROWS), 0, own->queue->stream>>>(v->by_column, v->by_row);
    return hc_gpu_launched(doing, err);
}

HcStatus upload_sparse(HcSimplex *s, HcError *err) {
    HcStatus status = HC_OK;
    HcSimplexOwn *own = s->own;
    Lists lists = {};
    HC_TRY(make_lists(s->program, &lists, err));
    HC_TRY(upload_lines(own, s->rows, lists.row_start, lists.row_index, lists.row_value, &own->rows,
                        &own->view.by_row, err));
    HC_TRY(upload_lines(own, s->columns, s->program->start, lists.column_index, lists.column_value,
                        &own->columns, &own->view.by_column, err));
    HC_TRY(hc_gpu_check(cudaStreamSynchronize(own->queue->stream), doing, err));
done:
    free_lists(&lists);
    return status;
}

/* Number of blocks that go over the lines, a warp each. */
unsigned blocks_for(const HcSimplexOwn *own, int64_t lines) {
    return (unsigned)hc_max64(hc_min64(hc_div_up(lines, WARPS), 8 * own->gpu->processors), 1);
}

} // namespace

HcStatus hc_gpu_simplex_upload(HcSimplex *s, HcError *err) {
    const HcLinearProgram *program = s->program;
    bool sparse = program->start != NULL &&
                  program->start[program->columns] < s->rows * s->columns / HC_SIMPLEX_DENSE_FROM;
    return sparse ? upload_sparse(s, err) : upload_dense(s, err);
}

HcStatus hc_gpu_simplex_find_scales(HcSimplex *s, HcError *err) {
    HcSimplexOwn *own = s->own;
    HcSimplexView *v = &own->view;
    cudaStream_t stream = own->queue->stream;
    for (int round = 0; round < HC_SIMPLEX_SCALINGS; round++) {
        find_exponents<<<blocks_for(own, s->rows), THREADS, 0, stream>>>(v->by_row, v->column_exponent,
                                                                         v->row_exponent);
        find_exponents<<<blocks_for(own, s->columns), THREADS, 0, stream>>>(v->by_column, v->row_exponent,
                                                                            v->column_exponent);
    }
    find_powers<<<(unsigned)hc_div_up(s->rows + 1, THREADS), THREADS, 0, stream>>>(v->row_exponent, v->rows,
                                                                                   v->row_scale);
    find_powers<<<(unsigned)hc_div_up(s->columns, THREADS), THREADS, 0, stream>>>(
        v->column_exponent, v->columns, v->column_scale);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    return hc_gpu_simplex_pull(s, err);
}

HcStatus hc_gpu_simplex_scale(HcSimplexOwn *own, HcError *err) {
    HcSimplexView *v = &own->view;
    cudaStream_t stream = own->queue->stream;
    scale_lines<<<blocks_for(own, v->rows), THREADS, 0, stream>>>(v->by_row, v->row_scale, v->column_scale);
    scale_lines<<<blocks_for(own, v->columns), THREADS, 0, stream>>>(v->by_column, v->column_scale,
                                                                     v->row_scale);
    return hc_gpu_launched(doing, err);
}

HcStatus hc_gpu_simplex_imply_bounds(HcSimplex *s, bool *all, HcError *err) {
    HcSimplexOwn *own = s->own;
    cudaStream_t stream = own->queue->stream;
    int32_t missing = 0;
    HC_OR_RETURN(hc_gpu_simplex_push(s, err));
    HC_OR_RETURN(hc_gpu_check(cudaMemsetAsync(own->view.missing, 0, sizeof missing, stream), doing, err));
    find_reach<<<blocks_for(own, s->rows), THREADS, 0, stream>>>(own->view);
    find_implied<<<blocks_for(own, s->columns), THREADS, 0, stream>>>(own->view);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    HC_OR_RETURN(hc_gpu_check(
        cudaMemcpyAsync(&missing, own->view.missing, sizeof missing, cudaMemcpyDeviceToHost, stream), doing,
        err));
    HC_OR_RETURN(hc_gpu_simplex_pull(s, err));
    *all = missing == 0;
    return HC_OK;
}
