/* Sums of products of floats in float64, in the fixed partition of the scene (gram.cuh says how). */
#include "gpu/gram/gram.cuh"

#include <stdlib.h>

enum {
    TILE = HC_FLOAT_TILE,
    THREADS = 256, /* 16 x 16, each 4 x 4 products */
    STEP = 16      /* pixels between two barriers */
};

/* ---- layout ---- */

/* Enough thread blocks for a large device; depends on the bands alone, as the sums do. */
static int32_t stripes_for(int32_t tiles) {
    int32_t stripes = 640 / (tiles * (tiles + 1) / 2);
    return stripes < 8 ? 8 : stripes > 128 ? 128 : stripes;
}

size_t hc_floats_layout(HcSums *sums, char *memory) {
    HcFloats *floats = &sums->floats;
    size_t at = 0;
    int32_t tiles = (int32_t)hc_div_up(sums->bands, TILE);
    floats->padded = tiles * TILE;
    floats->stripes = stripes_for(tiles);
    size_t n = (size_t)floats->padded;
    size_t stripes = (size_t)floats->stripes;
    floats->center = (double *)hc_take(memory, &at, n * sizeof(double));
    floats->there = (int32_t *)hc_take(memory, &at, sizeof(int32_t));
    floats->scatter = (double *)hc_take(memory, &at, stripes * n * n * sizeof(double));
    floats->sum = (double *)hc_take(memory, &at, stripes * n * sizeof(double));
    floats->total = (double *)hc_take(memory, &at, (n + 1) * n * sizeof(double));
    floats->count = (int64_t *)hc_take(memory, &at, stripes * sizeof(int64_t));
    return at;
}

/* ---- the provisional mean ---- */

__device__ static inline bool used(const HcGramJob &job, int64_t row, int64_t sample) {
    return hc_difference_valid(job.in, job.kind, row, sample, job.top, job.bottom, job.left, job.right);
}

/* The mean of the first part of the scene that has pixels; one thread block. Differences have the mean 0. */
__global__ void __launch_bounds__(1024) find_center(HcGramJob job, int32_t part_lines, HcFloats floats) {
    if (*floats.there != 0) {
        return;
    }
    const int64_t samples = job.in.samples;
    for (int64_t row0 = 0; row0 < job.rows; row0 += part_lines) {
        const int64_t rows = job.rows - row0 < part_lines ? job.rows - row0 : part_lines;
        bool any = false;
        for (int64_t p = threadIdx.x; p < rows * samples; p += blockDim.x) {
            any = any || used(job, job.first_row + row0 + p / samples, p % samples);
        }
        if (!__syncthreads_or(any)) {
            continue;
        }
        for (int32_t band = threadIdx.x; band < job.in.bands; band += blockDim.x) {
            double sum = 0;
            int64_t count = 0;
            for (int64_t p = 0; p < rows * samples; p++) {
                const int64_t row = job.first_row + row0 + p / samples;
                if (used(job, row, p % samples)) {
                    sum += (double)job.in.data[(row * samples + p % samples) * job.in.bands + band];
                    count++;
                }
            }
            floats.center[band] = sum / (double)count;
        }
        if (threadIdx.x == 0) {
            *floats.there = 1;
        }
        return;
    }
}

/* ---- sums ---- */

/* Thread block (tile, stripe): one tile of products over the parts of a stripe, in their order. */
__global__ void __launch_bounds__(THREADS)
    sum_products(HcGramJob job, int32_t part_lines, int64_t first_part, HcFloats floats) {
    __shared__ double rows_of[STEP][TILE + 2];
    __shared__ double columns_of[STEP][TILE + 2];
    __shared__ uint8_t valid[STEP];
    const int64_t samples = job.in.samples;
    const int32_t stripe = blockIdx.y;
    int32_t row_tile = 0;
    while ((row_tile + 1) * (row_tile + 2) / 2 <= (int32_t)blockIdx.x) {
        row_tile++;
    }
    const int32_t column_tile = (int32_t)blockIdx.x - row_tile * (row_tile + 1) / 2;
    const bool diagonal = row_tile == column_tile;
    const int32_t y = threadIdx.x / 16;
    const int32_t x = threadIdx.x % 16;
    const int64_t parts = (job.rows + part_lines - 1) / part_lines;
    int64_t part = (stripe - first_part % floats.stripes + floats.stripes) % floats.stripes;
    if (part >= parts) {
        return;
    }
    /* The sums go on where the block before stopped, so that they do not know of blocks. */
    const int64_t n = floats.padded;
    double *scatter = floats.scatter + stripe * n * n;
    double acc[4][4];
#pragma unroll
    for (int32_t i = 0; i < 4; i++) {
#pragma unroll
        for (int32_t j = 0; j < 4; j++) {
            acc[i][j] = scatter[(row_tile * TILE + y * 4 + i) * n + column_tile * TILE + x + 16 * j];
        }
    }
    double *sum_at = floats.sum + stripe * n + row_tile * TILE + threadIdx.x; /* of the diagonal tiles */
    double sum = diagonal && threadIdx.x < TILE ? *sum_at : 0;
    int64_t count = 0;
    for (; part < parts; part += floats.stripes) {
        const int64_t row0 = part * part_lines;
        const int64_t rows = job.rows - row0 < part_lines ? job.rows - row0 : part_lines;
        const int64_t pixels = rows * samples;
        const int64_t place0 = (job.first_row + row0) * samples;
        for (int64_t p0 = 0; p0 < pixels; p0 += STEP) {
            __syncthreads();
            if (threadIdx.x < STEP) {
                const int64_t p = p0 + threadIdx.x;
                valid[threadIdx.x] = p < pixels && used(job, job.first_row + row0 + p / samples, p % samples);
            }
            __syncthreads();
            for (int32_t i = threadIdx.x; i < 2 * STEP * TILE; i += THREADS) {
                const int32_t which = i / (STEP * TILE);
                const int32_t p = i / TILE % STEP;
                const int32_t b = i % TILE;
                const int32_t band = (which == 0 ? row_tile : column_tile) * TILE + b;
                double value = 0;
                if (valid[p] != 0 && band < job.in.bands) {
                    value = hc_difference_of<double>(job.in, job.kind, place0 + p0 + p, band) -
                            floats.center[band];
                }
                (which == 0 ? rows_of : columns_of)[p][b] = value;
            }
            __syncthreads();
            for (int32_t p = 0; p < STEP; p++) {
                double a[4];
                double b[4];
#pragma unroll
                for (int32_t k = 0; k < 4; k++) {
                    a[k] = rows_of[p][y * 4 + k];
                    b[k] = columns_of[p][x + 16 * k];
                }
#pragma unroll
                for (int32_t i = 0; i < 4; i++) {
#pragma unroll
                    for (int32_t j = 0; j < 4; j++) {
                        acc[i][j] = fma(a[i], b[j], acc[i][j]);
                    }
                }
            }
            if (diagonal && threadIdx.x < TILE) {
                for (int32_t p = 0; p < STEP; p++) {
                    sum += rows_of[p][threadIdx.x];
                    count += valid[p];
                }
            }
        }
    }
#pragma unroll
    for (int32_t i = 0; i < 4; i++) {
#pragma unroll
        for (int32_t j = 0; j < 4; j++) {
            scatter[(row_tile * TILE + y * 4 + i) * n + column_tile * TILE + x + 16 * j] = acc[i][j];
        }
    }
    if (diagonal && threadIdx.x < TILE) {
        *sum_at = sum;
        if (row_tile == 0 && threadIdx.x == 0) {
            floats.count[stripe] += count;
        }
    }
}

HcStatus hc_floats_gram(HcQueue *queue, const HcGramJob *job, int32_t part_lines, HcSums *sums,
                        HcError *err) {
    const HcFloats *floats = &sums->floats;
    int32_t tiles = floats->padded / TILE;
    int64_t first_line = job->in.first_line + job->first_row;
    if (job->kind == HC_DIFFERENCE_NONE) {
        find_center<<<1, 1024, 0, queue->stream>>>(*job, part_lines, *floats);
        HC_OR_RETURN(hc_gpu_launched("finding a provisional mean", err));
    }
    sum_products<<<dim3((unsigned)(tiles * (tiles + 1) / 2), (unsigned)floats->stripes), THREADS, 0,
                   queue->stream>>>(*job, part_lines, first_line / part_lines, *floats);
    return hc_gpu_launched("summing products", err);
}

/* ---- fetching ---- */

/* Stripes are added in their order. */
__global__ void add_stripes(HcFloats floats) {
    const int64_t n = floats.padded;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < (n + 1) * n;
         i += (int64_t)gridDim.x * blockDim.x) {
        const double *from = i < n * n ? floats.scatter + i : floats.sum + (i - n * n);
        const int64_t step = i < n * n ? n * n : n;
        double total = 0;
        for (int32_t s = 0; s < floats.stripes; s++) {
            total += from[s * step];
        }
        floats.total[i] = total;
    }
}

/* Sums about the center become those about the mean. */
static void center_on_mean(const HcSums *sums, const double *center, const double *total, HcMoments *out) {
    size_t n = (size_t)sums->bands;
    size_t padded = (size_t)sums->floats.padded;
    const double *sum = total + padded * padded;
    double pixels = (double)out->count;
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j <= i; j++) {
            double value = total[i * padded + j] - sum[i] * (sum[j] / pixels);
            out->scatter[i * n + j] = out->scatter[j * n + i] = value;
        }
        out->mean[i] = center[i] + sum[i] / pixels;
    }
}

HcStatus hc_floats_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    HcStatus status = HC_OK;
    const HcFloats *floats = &sums->floats;
    size_t n = (size_t)floats->padded;
    size_t stripes = (size_t)floats->stripes;
    double *total = (double *)malloc((n + 2) * n * sizeof *total);
    double *center = total + (n + 1) * n;
    int64_t *count = (int64_t *)malloc(stripes * sizeof *count);
    if (total == NULL || count == NULL) {
        HC_TRY(hc_fail_memory(err, (double)((n + 2) * n) * sizeof *total, "sums of products"));
    }
    add_stripes<<<256, 256, 0, queue->stream>>>(*floats);
    HC_TRY(hc_gpu_launched("adding sums", err));
    HC_TRY(hc_download(queue, floats->center, center, n * sizeof *center, err));
    HC_TRY(hc_download(queue, floats->total, total, (n + 1) * n * sizeof *total, err));
    HC_TRY(hc_download(queue, floats->count, count, stripes * sizeof *count, err));
    HC_TRY(hc_wait(queue, err));
    for (size_t s = 0; s < stripes; s++) {
        out->count += count[s];
    }
    if (out->count > 0) {
        center_on_mean(sums, center, total, out);
    }
done:
    free(total);
    free(count);
    return status;
}
