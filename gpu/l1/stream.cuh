/* A matrix of many rows that streams through shared memory (Hopper): a block takes neighbouring rows, which
 * lie one behind the other whatever their length, in stages of whole rows. One thread brings a stage by a
 * bulk copy, whose sides must be aligned for 16 bytes; what is read from the stage need not be. */
#ifndef HC_GPU_L1_STREAM_CUH
#define HC_GPU_L1_STREAM_CUH

#include "gpu/l1/gemv.cuh"
#include "gpu/shared.cuh"

enum {
    HC_STREAM_STAGES = 3,
    HC_STREAM_BLOCKS = 2,                                  /* of a processor */
    HC_STREAM_VALUES = 8192,                               /* of the rows of a stage, at most */
    HC_STREAM_PLACES = 8192 + 8,                           /* and what lies beside them in pieces */
    HC_STREAM_COLUMNS = 128,                               /* at least */
    HC_STREAM_ROWS = HC_STREAM_VALUES / HC_STREAM_COLUMNS, /* of a stage, at most */
    HC_STREAM_BLOCK_ROWS = 16, /* at least: a block has one row more than others */
    HC_STREAM_BYTES = HC_STREAM_STAGES * HC_STREAM_PLACES * 4
};

/* Whether the blocks of the device get enough rows each; their number. */
static inline bool hc_streams(const HcGpu *gpu, const HcMatrix *matrix, int32_t columns_max,
                              int64_t *blocks) {
    *blocks = hc_min64(HC_STREAM_BLOCKS * (int64_t)gpu->processors, HC_GEMV_BLOCKS);
    return gpu->major >= 9 && gpu->shared_memory >= HC_STREAM_BYTES && matrix->columns >= HC_STREAM_COLUMNS &&
           matrix->columns <= columns_max && matrix->rows >= HC_STREAM_BLOCK_ROWS * *blocks;
}

/* Launches a kernel whose stages lie in dynamic shared memory. */
template <typename J>
static HcStatus hc_launch_stream(HcQueue *queue, void (*kernel)(J), int64_t blocks, const J &job,
                                 HcError *err) {
    HC_OR_RETURN(hc_gpu_check(
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, HC_STREAM_BYTES),
        "asking for shared memory", err));
    return hc_launch(queue, kernel, blocks, job, err, HC_STREAM_BYTES);
}

#if defined(__CUDACC__) && __CUDA_ARCH__ >= 900

/* The rows of a block, as thread 0 brings them. */
struct HcStream {
    const float *a;
    int64_t all;        /* values of the matrix */
    int64_t first, end; /* rows of the block */
    int32_t columns;
    int32_t rows;   /* of a stage; the last may have fewer */
    float *places;  /* [shared] [STAGES][PLACES] */
    uint64_t *full; /* [shared] [STAGES] */

    __device__ int64_t row_of(int32_t stage) const {
        return first + (int64_t)stage * rows;
    }

    __device__ int32_t stages() const {
        return (int32_t)((end - first + rows - 1) / rows);
    }

    __device__ int32_t rows_of(int32_t stage) const {
        int64_t left = end - row_of(stage);
        return left < rows ? (int32_t)left : rows;
    }

    /* Pieces that are in the matrix by their first or last values alone are brought value by value. */
    __device__ void bring(int32_t stage) const {
        if (row_of(stage) >= end) {
            return;
        }
        int32_t shift = hc_shift_of(a + row_of(stage) * columns);
        int32_t behind = shift + rows_of(stage) * columns;
        int32_t length = (behind + HC_GEMV_PIECE - 1) / HC_GEMV_PIECE * HC_GEMV_PIECE;
        int64_t begin = row_of(stage) * columns - shift;
        int32_t skip = begin < 0 ? HC_GEMV_PIECE : 0;
        int32_t over = begin + length > all ? HC_GEMV_PIECE : 0;
        const float *from = a + begin;
        float *to = places + stage % HC_STREAM_STAGES * HC_STREAM_PLACES;
        uint64_t *barrier = full + stage % HC_STREAM_STAGES;
        for (int32_t v = shift; v < skip; v++) {
            to[v] = from[v];
        }
        for (int32_t v = length - over; v < behind; v++) {
            to[v] = from[v];
        }
        hc_copy_bulk_behind();
        hc_barrier_expect(barrier, (uint32_t)(length - skip - over) * sizeof(float));
        hc_copy_bulk(to + skip, from + skip, (uint32_t)(length - skip - over) * sizeof(float), barrier);
    }

    /* Where the first row of a stage begins, when it is there. */
    __device__ const float *wait(int32_t stage) const {
        hc_barrier_wait(full + stage % HC_STREAM_STAGES, (uint32_t)(stage / HC_STREAM_STAGES % 2));
        return places + stage % HC_STREAM_STAGES * HC_STREAM_PLACES +
               hc_shift_of(a + row_of(stage) * columns);
    }
};

/* All threads begin with the rows from first to end - 1. */
template <typename X>
__device__ static inline HcStream hc_stream_open(const HcGemvJob<X> &job, int64_t first, int64_t end) {
    extern __shared__ float4 hc_stream_places[]; /* aligned as they are brought */
    __shared__ uint64_t full[HC_STREAM_STAGES];
    HcStream stream;
    stream.a = job.a;
    stream.all = job.rows * job.columns;
    stream.first = first;
    stream.end = end;
    stream.columns = (int32_t)job.columns;
    stream.rows = HC_STREAM_VALUES / stream.columns;
    stream.places = (float *)hc_stream_places;
    stream.full = full;
    if (threadIdx.x == 0) {
        for (int32_t s = 0; s < HC_STREAM_STAGES; s++) {
            hc_barrier_open(&full[s], 1);
        }
        hc_barriers_opened();
        for (int32_t s = 0; s < HC_STREAM_STAGES; s++) {
            stream.bring(s);
        }
    }
    __syncthreads();
    return stream;
}

#endif
#endif
