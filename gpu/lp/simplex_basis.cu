/* What follows from a basis of a linear program, computed afresh on the GPU: the inverse, the basic
 * variables, prices and reduced costs. */
#include "gpu/lp/simplex_device.cuh"

#include <stdlib.h>

using namespace hc_lp;

namespace {

const char doing[] = "computing a basis of a linear program";

/* ---- the inverse ---- */

/* All logicals are basic, each in the place of its row. */
__device__ void begin(const HcSimplexView &v) {
    Span own = own_rows(v);
    for (int32_t j = first_variable(); j < v.all; j += stride_variables()) {
        v.place[j] = j < v.columns ? -1 : j - v.columns;
    }
    for (int32_t i = own.first + (int32_t)threadIdx.x; i < own.end; i += THREADS) {
        v.kept_slot[i] = -1;
        v.basic[i] = v.columns + i;
        v.weight[i] = 1;
    }
}

/* column = inverse times that of a variable. Of the block's places where one may enter the one with the
 * largest entry, and its row of the inverse after the pivot; with them the block arrives. */
__device__ void offer_place(const HcSimplexView &v, int32_t entering, int32_t kept, Meeting *meeting,
                            Scratch *scratch) {
    Span own = own_rows(v);
    Best best = nothing();
    for (int32_t p = own.first + warp(); p < own.end; p += WARPS) {
        const double *row = v.inverse + p * v.stride;
        int32_t basic = v.basic[p];
        double column = 0;
        for (int32_t k = lane(); k < kept; k += 32) {
            column = fma(row[k], entry_of(v, entering, v.kept_row[k]), column);
        }
        column = warp_sum(column);
        column += basic >= v.columns ? entry_of(v, entering, basic - v.columns) : 0;
        if (lane() == 0) {
            v.column[p] = column;
        }
        Best offer = {fabs(column), p};
        bool open = basic >= v.columns && v.basic_before[basic] == 0;
        best = open && precedes(offer, best) ? offer : best;
    }
    best = block_best(best, scratch);
    double *pivot_row = next_offer(v, meeting);
    for (int32_t k = (int32_t)threadIdx.x; best.index != INT32_MAX && k <= kept; k += THREADS) {
        pivot_row[k] = (k < kept ? v.inverse[best.index * v.stride + k] : 1) / v.column[best.index];
    }
    arrive(meeting, best.merit, best.index);
}

/* The rows of a block. All blocks note which column is kept, and the same. */
__device__ void eliminate_rows(const HcSimplexView &v, const Exchange &x, const double *pivot_row) {
    Span own = own_rows(v);
    for (int32_t p = own.first + warp(); p < own.end; p += WARPS) {
        int32_t basic = p == x.place ? x.entering : v.basic[p];
        double weight = eliminate(v, x, pivot_row, p, v.inverse + p * v.stride, v.column[p], basic);
        if (lane() == 0) {
            v.weight[p] = weight;
            v.basic[p] = basic;
        }
    }
    if (threadIdx.x == 0) {
        v.place[x.entering] = x.place;
        v.place[x.leaving] = -1;
        exchange_kept(v, x);
    }
    __syncthreads();
}

/* The structural variables of before enter a basis of logicals, one by one (Gauss and Jordan, largest pivot
 * of a column). Those whose column depends on others get no place. */
__global__ void __launch_bounds__(THREADS, 1) invert(const __grid_constant__ HcSimplexView v) {
    __shared__ Scratch scratch;
    Meeting meeting = {v.words, 0};
    HcSimplexState state = *v.state;
    int32_t count = (int32_t)state.entering;
    int32_t kept = 0;
    begin(v);
    meet(&meeting, &scratch);
    for (int32_t e = 0; e < count; e++) {
        offer_place(v, v.entering[e], kept, &meeting, &scratch);
        Winner best = await(&meeting, &scratch);
        if (best.index != INT32_MAX && best.merit > HC_SIMPLEX_PIVOT_MIN) {
            Exchange x = exchange_of(v, best.index, v.entering[e], v.columns + best.index, kept, -1);
            eliminate_rows(v, x, last_offer(v, &meeting, best.block));
            kept = x.kept_after;
        }
    }
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        state.kept = kept;
        state.kept_most = kept > state.kept_most ? kept : state.kept_most;
        state.since_fresh = 0;
        *v.state = state;
    }
}

/* ---- basic variables ---- */

__global__ void __launch_bounds__(THREADS) clear_basic(const __grid_constant__ HcSimplexView v) {
    int32_t p = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
    if (p < v.rows) {
        v.value[v.basic[p]] = 0;
    }
}

/* right = A x + t. */
__global__ void __launch_bounds__(THREADS) find_residual(const __grid_constant__ HcSimplexView v) {
    for (int32_t i = (int32_t)blockIdx.x * WARPS + warp(); i < v.rows; i += (int32_t)gridDim.x * WARPS) {
        double sum = line_product(v.by_row, i, v.value) + v.value[v.columns + i];
        if (lane() == 0) {
            v.right[i] = sum;
        }
    }
}

/* Basic variables -= inverse right. */
__global__ void __launch_bounds__(THREADS) subtract_right(const __grid_constant__ HcSimplexView v, int32_t kept) {
    for (int32_t p = (int32_t)blockIdx.x * WARPS + warp(); p < v.rows; p += (int32_t)gridDim.x * WARPS) {
        const double *row = v.inverse + p * v.stride;
        int32_t basic = v.basic[p];
        double sum = 0;
        for (int32_t k = lane(); k < kept; k += 32) {
            sum = fma(row[k], v.right[v.kept_row[k]], sum);
        }
        sum = warp_sum(sum) + (basic >= v.columns ? v.right[basic - v.columns] : 0);
        if (lane() == 0) {
            v.value[basic] -= sum;
        }
    }
}

/* ---- prices ---- */

/* price += what makes the reduced costs of the basic variables 0: first of kept columns, a tile of them a
 * block, whose warps share the places. */
__global__ void __launch_bounds__(THREADS) raise_kept(const __grid_constant__ HcSimplexView v, int32_t kept) {
    __shared__ double part[WARPS][TILE + 1];
    int32_t k = (int32_t)blockIdx.x * TILE + lane();
    double sum = 0;
    for (int32_t p = warp(); p < v.rows && k < kept; p += WARPS) {
        sum = fma(v.reduced[v.basic[p]], v.inverse[p * v.stride + k], sum);
    }
    part[warp()][lane()] = sum;
    __syncthreads();
    if (warp() == 0 && k < kept) {
        for (int32_t w = 1; w < WARPS; w++) {
            sum += part[w][lane()];
        }
        v.price[v.kept_row[k]] += sum;
    }
}

/* Then of the columns that are unit vectors. */
__global__ void __launch_bounds__(THREADS) raise_units(const __grid_constant__ HcSimplexView v) {
    int32_t p = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
    if (p < v.rows && v.basic[p] >= v.columns) {
        v.price[v.basic[p] - v.columns] += v.reduced[v.basic[p]];
    }
}

/* Reduced costs of all variables; a warp each of the program's. */
__global__ void __launch_bounds__(THREADS) find_reduced(const __grid_constant__ HcSimplexView v) {
    for (int32_t j = (int32_t)blockIdx.x * WARPS + warp(); j < v.columns; j += (int32_t)gridDim.x * WARPS) {
        double product = line_product(v.by_column, j, v.price);
        if (lane() == 0) {
            v.reduced[j] = v.cost[j] - product;
        }
    }
    for (int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x); i < v.rows;
         i += (int32_t)gridDim.x * THREADS) {
        v.reduced[v.columns + i] = v.cost[v.columns + i] - v.price[i];
    }
}

__global__ void __launch_bounds__(THREADS) clear_reduced(const __grid_constant__ HcSimplexView v) {
    int32_t p = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
    if (p < v.rows) {
        v.reduced[v.basic[p]] = 0;
    }
}

__global__ void __launch_bounds__(THREADS) copy_row(const __grid_constant__ HcSimplexView v, int32_t place) {
    int32_t i = (int32_t)(blockIdx.x * THREADS + threadIdx.x);
    if (i < v.rows) {
        v.row[v.columns + i] = inverse_entry(v, place, v.basic[place] - v.columns, i);
    }
}

/* ---- queued ---- */

unsigned blocks_of(int64_t count, int64_t each) {
    return (unsigned)hc_max64(hc_div_up(count, each), 1);
}

/* A warp for each of N lines, in as many blocks as are worth while. */
unsigned warps_of(const HcSimplexOwn *own, int64_t lines) {
    return (unsigned)hc_min64(blocks_of(lines, WARPS), 8 * own->gpu->processors);
}

/* Once, and once more with what rounding has left of A x + t = 0. */
HcStatus queue_values(HcSimplexOwn *own, HcError *err) {
    const HcSimplexView &v = own->view;
    cudaStream_t stream = own->queue->stream;
    clear_basic<<<blocks_of(v.rows, THREADS), THREADS, 0, stream>>>(v);
    for (int round = 0; round < 2; round++) {
        find_residual<<<warps_of(own, v.rows), THREADS, 0, stream>>>(v);
        subtract_right<<<warps_of(own, v.rows), THREADS, 0, stream>>>(v, (int32_t)own->state.kept);
    }
    return hc_gpu_launched(doing, err);
}

/* Once, and once more with what rounding has left of the reduced costs that should be 0. */
HcStatus queue_reduced(HcSimplexOwn *own, HcError *err) {
    const HcSimplexView &v = own->view;
    cudaStream_t stream = own->queue->stream;
    int32_t kept = (int32_t)own->state.kept;
    HC_OR_RETURN(
        hc_gpu_check(cudaMemsetAsync(v.price, 0, (size_t)v.rows * sizeof(double), stream), doing, err));
    HC_OR_RETURN(hc_gpu_check(
        cudaMemcpyAsync(v.reduced, v.cost, (size_t)v.all * sizeof(double), cudaMemcpyDeviceToDevice, stream),
        doing, err));
    for (int round = 0; round < 2; round++) {
        raise_kept<<<blocks_of(kept, TILE), THREADS, 0, stream>>>(v, kept);
        raise_units<<<blocks_of(v.rows, THREADS), THREADS, 0, stream>>>(v);
        find_reduced<<<warps_of(own, v.columns), THREADS, 0, stream>>>(v);
    }
    clear_reduced<<<blocks_of(v.rows, THREADS), THREADS, 0, stream>>>(v);
    return hc_gpu_launched(doing, err);
}

/* Which variables are basic, and which of them enter a basis of logicals; to the device. */
HcStatus upload_basis(HcSimplex *s, uint8_t *before, int32_t *entering, int64_t *count, HcError *err) {
    cudaStream_t stream = s->own->queue->stream;
    *count = 0;
    for (int64_t j = 0; j < s->all; j++) {
        before[j] = s->place[j] >= 0;
        if (before[j] && j < s->columns) {
            entering[(*count)++] = (int32_t)j;
        }
    }
    HC_OR_RETURN(hc_gpu_check(
        cudaMemcpyAsync(s->own->view.basic_before, before, (size_t)s->all, cudaMemcpyHostToDevice, stream),
        doing, err));
    return hc_gpu_check(cudaMemcpyAsync(s->own->view.entering, entering, (size_t)*count * sizeof *entering,
                                        cudaMemcpyHostToDevice, stream),
                        doing, err);
}

/* What is not basic stays where it was, except for variables that have lost their place. */
void settle(HcSimplex *s, const int32_t *entering, int64_t count) {
    for (int64_t p = 0; p < s->rows; p++) {
        s->move[s->basic[p]] = 0;
    }
    for (int64_t e = 0; e < count; e++) {
        if (s->place[entering[e]] < 0) {
            hc_simplex_settle(s, entering[e]);
        }
    }
}

} // namespace

HcStatus hc_gpu_simplex_find_values(HcSimplex *s, HcError *err) {
    HC_OR_RETURN(hc_gpu_simplex_push(s, err));
    HC_OR_RETURN(queue_values(s->own, err));
    return hc_gpu_simplex_pull(s, err);
}

HcStatus hc_gpu_simplex_find_reduced(HcSimplex *s, HcError *err) {
    HC_OR_RETURN(hc_gpu_simplex_push(s, err));
    HC_OR_RETURN(queue_reduced(s->own, err));
    return hc_gpu_simplex_pull(s, err);
}

HcStatus hc_gpu_simplex_refresh(HcSimplex *s, HcError *err) {
    HcStatus status = HC_OK;
    uint8_t *before = (uint8_t *)malloc((size_t)s->all);
    int32_t *entering = (int32_t *)malloc((size_t)(s->rows + 1) * sizeof *entering);
    int64_t count = 0;
    HcSimplexState *state = &s->own->state;
    if (before == NULL || entering == NULL) {
        HC_TRY(hc_fail_memory(err, (double)s->all * 5, "the basis"));
    }
    HC_TRY(upload_basis(s, before, entering, &count, err));
    HC_TRY(hc_gpu_simplex_push(s, err));
    state->entering = count;
    HC_TRY(hc_gpu_simplex_launch(s->own, (const void *)invert, 0, err));
    HC_TRY(hc_gpu_simplex_pull(s, err));
    settle(s, entering, count);
    s->refactored++;
    HC_TRY(hc_gpu_simplex_push(s, err));
    HC_TRY(queue_values(s->own, err));
    HC_TRY(queue_reduced(s->own, err));
    HC_TRY(hc_gpu_simplex_pull(s, err));
done:
    free(before);
    free(entering);
    return status;
}

HcStatus hc_gpu_simplex_take_row(HcSimplex *s, int64_t place, HcError *err) {
    HC_OR_RETURN(hc_gpu_simplex_push(s, err));
    copy_row<<<blocks_of(s->rows, THREADS), THREADS, 0, s->own->queue->stream>>>(s->own->view,
                                                                                 (int32_t)place);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    return hc_gpu_simplex_pull(s, err);
}
