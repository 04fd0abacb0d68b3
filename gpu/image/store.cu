/* A block as a file of float32 stores it, straight into pinned memory: no copy and no mask has to follow. A
 * block of threads turns a tile. */
#include "core/operation/image/store.h"
#include "gpu/internal.cuh"

HcStoreFn hc_gpu_store;

namespace {

enum { THREADS = 256, PIXELS = 128, BANDS = 32 };

struct Job {
    const float *from;
    const uint8_t *mask;
    float *to;
    HcStoring how;
    int64_t width, tiles; /* pixels of a row, of which BSQ and BIP have one, and tiles across it */
    int32_t bands;
};

__global__ void __launch_bounds__(THREADS) store(const Job job) {
    __shared__ float tile[PIXELS][BANDS + 1];
    int64_t row = blockIdx.x / job.tiles;
    int64_t pixel = blockIdx.x % job.tiles * PIXELS;
    int64_t at = row * job.width + pixel;
    int band = (int)blockIdx.y * BANDS;
    int bands = min(BANDS, job.bands - band);
    int pixels = (int)min((int64_t)PIXELS, job.width - pixel);
    for (int i = (int)threadIdx.x; i < pixels * bands; i += THREADS) {
        int p = i / bands;
        int b = i % bands;
        float value = job.from[(at + p) * job.bands + band + b];
        tile[p][b] = job.mask[at + p] == 0 || isnan(value) ? job.how.nodata
                     : value == job.how.nodata             ? job.how.beside
                                                           : value;
    }
    __syncthreads();
    bool together = job.how.interleave == HC_BIP;
    for (int i = (int)threadIdx.x; i < pixels * bands; i += THREADS) {
        int p = together ? i / bands : i % pixels;
        int b = together ? i % bands : i / pixels;
        job.to[together ? (at + p) * job.bands + band + b
                        : (row * job.bands + band + b) * job.width + pixel + p] = tile[p][b];
    }
}

} // namespace

HcStatus hc_gpu_store(HcQueue *queue, const HcBlock *in, const HcStoring *how, float *to, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    int64_t skip = (int64_t)in->above * in->samples;
    int64_t rows = how->interleave == HC_BIL ? in->lines : 1;
    Job job = {};
    job.from = in->data + skip * in->bands;
    job.mask = in->mask + skip;
    job.to = to;
    job.how = *how;
    job.width = (int64_t)in->lines * in->samples / rows;
    job.tiles = hc_div_up(job.width, PIXELS);
    job.bands = in->bands;
    dim3 grid((unsigned)(rows * job.tiles), (unsigned)hc_div_up(in->bands, BANDS));
    store<<<grid, THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("storing lines", err);
}
