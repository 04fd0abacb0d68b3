/* What follows from a basis of a linear program, computed afresh on the GPU: the inverse, the basic
 * variables, prices and reduced costs. */
#include "gpu/lp/simplex_device.cuh"

#include <stdlib.h>

using namespace hc_lp;

namespace {

const char doing[] = "computing a basis of a linear program";

/* ---- the inverse ---- */

/* All logicals are basic, each in the place of its row. Of a place `value` is what the entering column has
 * there, `lower` the weight, `upper` 0 where a variable may enter. */
__device__ void begin(const HcSimplexView &v, const Own &own) {
    for (int32_t j = first_variable(); j < v.all; j += stride_variables()) {
        v.place[j] = j < v.columns ? -1 : j - v.columns;
    }
    for (int32_t i = own.span.first + (int32_t)threadIdx.x; i < own.span.end; i += THREADS) {
        v.kept_slot[i] = -1;
        own.place[i - own.span.first] = {0, 1, (double)v.basic_before[v.columns + i], v.columns + i};
    }
}

/* Inverse times the column of a variable. Of the block's places where one may enter the one with the largest
 * entry, and its row of the inverse after the pivot; with them the block arrives. */
__device__ void offer_place(const HcSimplexView &v, const Own &own, int32_t entering, int32_t kept,
                            Meeting *meeting, Scratch *scratch) {
    Best best = nothing();
    for (int32_t k = (int32_t)threadIdx.x; k < kept; k += THREADS) {
        own.packed[k] = entry_of(v, entering, own.kept_row[k]);
    }
    __syncthreads();
    for (int32_t p = own.span.first + warp(); p < own.span.end; p += WARPS) {
        const double *row = own.inverse + (p - own.span.first) * v.stride;
        Place *at = &own.place[p - own.span.first];
        double column = 0;
        for (int32_t k = lane(); k < kept; k += 32) {
            column = fma(row[k], own.packed[k], column);
        }
        column = warp_sum(column) + unit_of(v, entering, at->basic);
        Best offer = {fabs(column), p};
        bool open = at->basic >= v.columns && at->upper == 0;
        best = open && precedes(offer, best) ? offer : best;
        if (lane() == 0) {
            at->value = column;
        }
    }
    best = block_best(best, scratch);
    double *pivot_row = next_offer(v, meeting);
    for (int32_t k = (int32_t)threadIdx.x; best.index != INT32_MAX && k <= kept; k += THREADS) {
        int32_t place = best.index - own.span.first;
        pivot_row[k] = (k < kept ? own.inverse[place * v.stride + k] : 1) / own.place[place].value;
    }
    arrive(meeting, best.merit, best.index);
}

__device__ void eliminate_rows(const HcSimplexView &v, const Own &own, const Exchange &x) {
    for (int32_t p = own.span.first + warp(); p < own.span.end; p += WARPS) {
        Place *at = &own.place[p - own.span.first];
        int32_t basic = p == x.place ? x.entering : at->basic;
        double weight = eliminate(v, x, own.pivot_row, p, own.inverse + (p - own.span.first) * v.stride,
                                  at->value, basic);
        if (lane() == 0) {
            at->lower = weight;
            at->basic = basic;
        }
    }
}

/* Weights and variables of the block's places. */
__device__ void give_places(const HcSimplexView &v, const Own &own) {
    for (int32_t p = own.span.first + (int32_t)threadIdx.x; p < own.span.end; p += THREADS) {
        const Place &at = own.place[p - own.span.first];
        v.weight[p] = at.lower;
        v.basic[p] = at.basic;
        if (at.basic < v.columns) {
            v.place[at.basic] = p;
            v.place[v.columns + p] = -1;
        }
    }
}

/* The structural variables of before enter a basis of logicals, one by one (Gauss and Jordan, largest pivot
 * of a column). Those whose column depends on others get no place. */
__global__ void __launch_bounds__(THREADS, 1) invert(const __grid_constant__ HcSimplexView v) {
    __shared__ Scratch scratch;
    __shared__ Own own;
    Meeting meeting = {v.words, 0};
    HcSimplexState state = *v.state;
    int32_t count = (int32_t)state.entering;
    int32_t kept = 0;
    if (threadIdx.x == 0) {
        own = own_of(v);
    }
    __syncthreads();
    begin(v, own);
    meet(&meeting, &scratch);
    for (int32_t e = 0; e < count; e++) {
        int32_t entering = v.entering[e];
        offer_place(v, own, entering, kept, &meeting, &scratch);
        Winner best = await(&meeting, &scratch);
        if (best.index != INT32_MAX && best.merit > HC_SIMPLEX_PIVOT_MIN) {
            Exchange x = exchange_of(v, best.index, entering, v.columns + best.index, kept, -1);
            const double *row = last_offer(v, &meeting, best.block);
            for (int32_t k = (int32_t)threadIdx.x; k <= kept; k += THREADS) {
                own.pivot_row[k] = row[k];
            }
            if (threadIdx.x == 0) {
                own.kept_row[kept] = best.index;
                if (best.block == (int32_t)blockIdx.x) {
                    v.kept_slot[best.index] = kept;
                }
            }
            __syncthreads();
            eliminate_rows(v, own, x);
            kept = x.kept_after;
        }
    }
    __syncthreads();
    give_places(v, own);
    give_back(v, own, kept);
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
__global__ void __launch_bounds__(THREADS)
    subtract_right(const __grid_constant__ HcSimplexView v, int32_t kept) {
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
    HC_TRY(hc_gpu_simplex_launch(s->own, (const void *)invert, s->own->shared, err));
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
