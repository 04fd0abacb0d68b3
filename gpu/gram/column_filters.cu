/* Matched filters of each group of columns: statistics, Cholesky factor, solutions.
 *
 * A block has a group, and a square of memory that stays in the second-level cache: C, then U from the
 * diagonal on, then the triangle inv(U') S up to the diagonal. Some rows at a time are taken into shared
 * memory (a panel): they lose their products with all rows above, four rows by four columns in the registers
 * of a thread, and are then finished one after the other. An entry loses one product after the other in the
 * order of the bands whatever the size of a panel, so that the bits are those of the CPU. A warp has a
 * target. */
#include "core/operation/gram/column_filters.h"
#include "core/solver/column_statistics.h"
#include "gpu/internal.cuh"

HcColumnFiltersFn hc_gpu_column_filters;

namespace {

enum {
    THREADS = 256,
    WARPS = THREADS / 32,
    ROWS = HC_WHITENING_ROWS, /* of a thread */
    COLUMNS = 4,              /* of a thread, 32 apart */
    PANEL_MAX = 32,           /* rows of a panel, a multiple of ROWS; eight warps have four each */
    BLOCKS = 2                /* on a multiprocessor */
};

struct Job {
    HcColumnFilters how;
    double *square; /* [blocks][bands][pitch] */
    int32_t pitch;
    int32_t panel; /* rows of a panel */
    size_t values; /* of the sums of a group */
};

/* What a block works in. */
struct Group {
    double *square;                    /* [bands][pitch] */
    double *panel;                     /* shared [rows][pitch] */
    double *mean, *scale, *reciprocal; /* shared [bands] */
    int32_t *band;                     /* shared [bands] those that take part */
    int n, pitch, kept;
};

/* The sum of the parts of a warp, in all lanes. */
__device__ inline double join(double part) {
#pragma unroll
    for (int step = 16; step > 0; step /= 2) {
        part += __shfl_xor_sync(0xffffffff, part, step);
    }
    return part;
}

/* ---- statistics ---- */

/* Mean, and C from its diagonal on. Returns the pixels. */
__device__ inline int64_t take_statistics(const Job &job, const int64_t *sums, const Group &group) {
    int n = group.n;
    const double *unit = job.how.unit;
    double one = unit[n];
    int64_t all = sums[hc_column_place(n, n, n)];
    int64_t count = (int64_t)((double)all * (one * one));
    double divisor = (double)all * (double)(count - 1);
    for (int b = (int)threadIdx.x; b < n; b += THREADS) {
        double sum = (double)sums[hc_column_place(n, n, b)];
        group.mean[b] = count > 0 ? sum * (unit[b] * one) / (double)count : 0;
    }
    for (int first = 0; first < n && count > 1; first += HC_COLUMN_STRIP) {
        const int64_t *product = sums + hc_column_place(n, first, first);
        for (int at = (int)threadIdx.x; at < (n - first) * HC_COLUMN_STRIP; at += THREADS) {
            int i = first + at / HC_COLUMN_STRIP;
            int j = first + at % HC_COLUMN_STRIP;
            if (j <= i) {
                HcWide value = (HcWide)all * product[at] -
                               (HcWide)sums[hc_column_place(n, n, i)] * sums[hc_column_place(n, n, j)];
                group.square[(int64_t)j * group.pitch + i] =
                    hc_column_of_wide(value) / divisor * (unit[i] * unit[j]);
            }
        }
    }
    __syncthreads();
    return count;
}

/* The sum of the squares of all entries of C, in thread 0; rows are those of a warp. */
__device__ inline double squares_of(const Group &group) {
    int lane = (int)threadIdx.x % 32;
    double squares = 0;
    for (int b = (int)threadIdx.x / 32; b < group.n; b += WARPS) {
        const double *row = group.square + (int64_t)b * group.pitch;
        double part = 0;
        for (int c = b + 1 + (lane - b - 1 + 32 * (b / 32 + 1)) % 32; c < group.n; c += 32) {
            part += row[c] * row[c];
        }
        part = join(part);
        if (lane == 0) {
            group.scale[b] = row[b] * row[b] + 2 * part;
        }
    }
    __syncthreads();
    for (int b = 0; b < group.n && threadIdx.x == 0; b++) {
        squares += group.scale[b];
    }
    return squares;
}

/* Mixes the unit matrix in; returns its share. */
__device__ inline double shrink(const Job &job, const Group &group, double count) {
    __shared__ double mixed[2]; /* the share, and share trace / bands */
    int n = group.n;
    if (job.how.shrink == HC_COLUMN_SHRINK_SHARE && job.how.share == 0) {
        return 0;
    }
    double squares = job.how.shrink != HC_COLUMN_SHRINK_SHARE ? squares_of(group) : 0;
    if (threadIdx.x == 0) {
        double trace = 0;
        for (int b = 0; b < n; b++) {
            trace += group.square[(int64_t)b * group.pitch + b];
        }
        mixed[0] = hc_column_share(job.how.shrink, job.how.share, count, n, trace, squares);
        mixed[1] = mixed[0] * trace / (double)n;
    }
    __syncthreads();
    double share = mixed[0];
    for (int b = (int)threadIdx.x / 32; b < n && share != 0; b += WARPS) {
        double *row = group.square + (int64_t)b * group.pitch;
        for (int c = b + (int)threadIdx.x % 32; c < n; c += 32) {
            double value = row[c] * (1 - share);
            row[c] = c == b ? value + mixed[1] : value;
        }
    }
    __syncthreads();
    return share;
}

/* The matrix becomes the mean of x x'. */
__device__ inline void use_products(const Group &group, double count) {
    double part = (count - 1) / count;
    for (int b = (int)threadIdx.x / 32; b < group.n; b += WARPS) {
        double *row = group.square + (int64_t)b * group.pitch;
        for (int c = b + (int)threadIdx.x % 32; c < group.n; c += 32) {
            row[c] = row[c] * part + group.mean[b] * group.mean[c];
        }
    }
    __syncthreads();
    for (int b = (int)threadIdx.x; b < group.n; b += THREADS) {
        group.mean[b] = 0;
    }
    __syncthreads();
}

/* ---- factor ---- */

/* Columns [first, end) of the rows of a panel from `top` on lose their products with the rows of the bands
 * that take part so far. LOWER: with those of the triangle, which end at their diagonal. */
template <bool LOWER>
__device__ inline void subtract_above(const Group &group, int top, int rows, int first, int end) {
    int lane = (int)threadIdx.x % 32;
    int row = (int)threadIdx.x / 32 * ROWS;
    if (row >= rows) {
        return;
    }
    for (int left = first; left < end; left += 32 * COLUMNS) {
        double t[ROWS][COLUMNS];
        int column[COLUMNS];
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
            column[c] = left + lane + 32 * c;
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                t[r][c] = column[c] < end ? group.panel[(row + r) * group.pitch + column[c]] : 0;
            }
        }
#pragma unroll 2
        for (int k = 0; k < group.kept; k++) {
            int band = group.band[k];
            const double *from = group.square + (int64_t)band * group.pitch;
            double2 low = *(const double2 *)(from + top + row);
            double2 high = *((const double2 *)(from + top + row) + 1);
            double u[ROWS] = {low.x, low.y, high.x, high.y};
#pragma unroll
            for (int c = 0; c < COLUMNS; c++) {
                bool there = LOWER ? column[c] <= band : column[c] < end;
                double x = there ? from[column[c]] : 0;
#pragma unroll
                for (int r = 0; r < ROWS; r++) {
                    t[r][c] -= u[r] * x;
                }
            }
        }
#pragma unroll
        for (int c = 0; c < COLUMNS; c++) {
#pragma unroll
            for (int r = 0; r < ROWS; r++) {
                if (column[c] < end) {
                    group.panel[(row + r) * group.pitch + column[c]] = t[r][c];
                }
            }
        }
    }
}

/* U'U = S A S. */
__device__ inline void factorise(const Job &job, Group *group) {
    int n = group->n;
    int pitch = group->pitch;
    double least = 16 * (double)n * 0x1p-52;
    group->kept = 0;
    for (int b = (int)threadIdx.x; b < n; b += THREADS) {
        double variance = group->square[(int64_t)b * pitch + b];
        group->scale[b] = variance > 0 ? 1 / sqrt(variance) : 0;
    }
    for (int top = 0; top < n; top += job.panel) {
        int rows = min(job.panel, n - top);
        int kept = group->kept;
        __syncthreads();
        for (int r = (int)threadIdx.x / 32; r < job.panel; r += WARPS) {
            for (int c = top + (int)threadIdx.x % 32; c < n; c += 32) {
                double value = 0;
                if (r < rows && c >= top + r) {
                    value = group->square[(int64_t)(top + r) * pitch + c] *
                            (group->scale[top + r] * group->scale[c]);
                }
                group->panel[r * pitch + c] = c == top + r ? 1 : value;
            }
        }
        __syncthreads();
        subtract_above<false>(*group, top, rows, top, n);
        for (int r = 0; r < rows; r++) {
            __syncthreads();
            int b = top + r;
            double *row = group->panel + r * pitch;
            double *to = group->square + (int64_t)b * pitch;
            double rest = row[b];
            if (!(group->scale[b] > 0) || rest < least) {
                continue; /* all threads alike */
            }
            double pivot = sqrt(rest);
            __syncthreads(); /* row[b] was read by all */
            for (int c = b + (int)threadIdx.x; c < n; c += THREADS) {
                row[c] = row[c] / pivot;
                to[c] = row[c];
            }
            __syncthreads();
            if (threadIdx.x == 0) {
                group->reciprocal[kept] = 1 / row[b];
                group->band[kept] = b;
            }
            kept++;
            for (int below = r + 1 + (int)threadIdx.x / 32; below < rows; below += WARPS) {
                double part = row[top + below];
                double *other = group->panel + below * pitch;
                for (int c = top + below + (int)threadIdx.x % 32; c < n; c += 32) {
                    other[c] -= part * row[c];
                }
            }
        }
        __syncthreads();
        group->kept = kept;
    }
}

/* ---- solutions ---- */

/* The weights of target j, by a warp, in `weight` [bands]; memory: [2][bands], its own. Returns the power. */
__device__ inline double solve(const Job &job, const Group &group, int64_t j, double *memory,
                               double *weight) {
    int n = group.n;
    int lane = (int)threadIdx.x % 32;
    double *rest = memory;
    double *found = memory + n;
    const double *spectrum = job.how.spectrum + j * n;
    double power = 0;
    for (int b = lane; b < n; b += 32) {
        double signal = job.how.absorption ? group.mean[b] * spectrum[b] : spectrum[b] - group.mean[b];
        rest[b] = signal * group.scale[b];
        found[b] = 0;
    }
    for (int k = 0; k < group.kept; k++) {
        __syncwarp();
        int own = group.band[k];
        const double *row = group.square + (int64_t)own * group.pitch;
        double y = rest[own] * group.reciprocal[k];
        power += y * y;
        for (int b = own + 1 + lane; b < n; b += 32) {
            rest[b] -= row[b] * y;
        }
        __syncwarp();
        if (lane == 0) {
            rest[own] = y;
        }
    }
    for (int k = group.kept - 1; k >= 0; k--) {
        __syncwarp();
        int own = group.band[k];
        const double *row = group.square + (int64_t)own * group.pitch;
        double part = 0;
        for (int b = (own + 1) / 32 * 32 + lane; b < n; b += 32) {
            if (b > own) {
                part += row[b] * found[b];
            }
        }
        part = join(part);
        if (lane == 0) {
            found[own] = (rest[own] - part) * group.reciprocal[k];
        }
    }
    __syncwarp();
    for (int b = lane; b < n; b += 32) {
        weight[b] = found[b] * (group.scale[b] / power);
    }
    return power;
}

/* All targets; returns whether all have filters. */
__device__ inline bool solve_all(const Job &job, const Group &group, double *filter, double *deviation) {
    int warps = min((int)WARPS, job.panel / 2); /* the panel is their memory */
    int warp = (int)threadIdx.x / 32;
    bool fine = group.kept > 0;
    for (int64_t j = warp; j < job.how.targets && warp < warps && group.kept > 0; j += warps) {
        double power =
            solve(job, group, j, group.panel + (int64_t)warp * 2 * group.pitch, filter + (j + 1) * group.n);
        fine = fine && power > 0 && isfinite(power);
        if (threadIdx.x % 32 == 0) {
            deviation[j] = 1 / sqrt(power);
        }
    }
    return __syncthreads_and(fine) != 0;
}

/* ---- whitening ---- */

/* inv(U') S into the square, up to the diagonal, and packed. */
__device__ inline void whiten(const Job &job, const Group *all, double *packed) {
    Group group = *all;
    int n = group.n;
    int pitch = group.pitch;
    int done = 0; /* rows that take part, of panels before */
    for (int top = 0; top < n; top += job.panel) {
        int rows = min(job.panel, n - top);
        int end = top + rows;
        int quads = (rows + ROWS - 1) / ROWS;
        __syncthreads();
        for (int r = (int)threadIdx.x / 32; r < job.panel; r += WARPS) {
            for (int c = (int)threadIdx.x % 32; c < end; c += 32) {
                group.panel[r * pitch + c] = r < rows && c == top + r ? group.scale[c] : 0;
            }
        }
        __syncthreads();
        group.kept = done;
        subtract_above<true>(group, top, rows, 0, top);
        for (int r = 0; r < rows; r++) {
            __syncthreads();
            int b = top + r;
            double *row = group.panel + r * pitch;
            bool taken = done < all->kept && group.band[done] == b;
            double reciprocal = taken ? group.reciprocal[done] : 0;
            const double *u = group.square + (int64_t)b * pitch;
            for (int c = (int)threadIdx.x; c <= b; c += THREADS) {
                row[c] = taken ? row[c] * reciprocal : 0;
            }
            __syncthreads();
            done += taken;
            for (int below = r + 1 + (int)threadIdx.x / 32; taken && below < rows; below += WARPS) {
                double part = u[top + below];
                double *other = group.panel + below * pitch;
                for (int c = (int)threadIdx.x % 32; c <= b; c += 32) {
                    other[c] -= part * row[c];
                }
            }
        }
        __syncthreads();
        for (int r = (int)threadIdx.x / 32; r < rows; r += WARPS) {
            for (int c = (int)threadIdx.x % 32; c <= top + r; c += 32) {
                group.square[(int64_t)(top + r) * pitch + c] = group.panel[r * pitch + c];
            }
        }
        for (int q = 0; q < quads; q++) {
            double *to = packed + hc_whitening_offset(top / ROWS + q);
            int count = (int)hc_whitening_width(top / ROWS + q, n) * ROWS;
            for (int at = (int)threadIdx.x; at < count; at += THREADS) {
                int r = q * ROWS + at % ROWS;
                bool inside = r < rows && at / ROWS <= top + r;
                to[at] = inside ? group.panel[r * pitch + at / ROWS] : 0;
            }
        }
    }
    __syncthreads();
}

/* ---- groups ---- */

__device__ inline void make_group(const Job &job, Group group, int64_t number) {
    const HcColumnFilters &how = job.how;
    int n = group.n;
    double *filter = how.filter + number * (1 + how.targets) * n;
    double *deviation = how.deviation + number * how.targets;
    int64_t count = take_statistics(job, how.sums + number * (int64_t)job.values, group);
    double share = count < 2 ? 0 : shrink(job, group, (double)count);
    bool fine = count >= 2 && (share != 0 || count > n);
    group.kept = 0;
    if (fine) {
        if (how.products) {
            use_products(group, (double)count);
        }
        factorise(job, &group);
        fine = solve_all(job, group, filter, deviation);
    }
    for (int b = (int)threadIdx.x; b < n; b += THREADS) {
        filter[b] = group.mean[b];
    }
    for (int64_t i = threadIdx.x; i < (int64_t)how.targets * n && !fine; i += THREADS) {
        filter[n + i] = 0;
    }
    for (int64_t j = threadIdx.x; j < how.targets && !fine; j += THREADS) {
        deviation[j] = 0;
    }
    if (threadIdx.x == 0) {
        how.pixels[number] = count;
        how.shrinkage[number] = share;
        how.directions[number] = group.kept;
        how.scored[number] = fine;
    }
    if (fine && how.whitening != NULL) {
        whiten(job, &group, how.whitening + number * (int64_t)how.stride);
    }
    __syncthreads();
}

__global__ void __launch_bounds__(THREADS, BLOCKS) make_filters(const Job job) {
    extern __shared__ __align__(16) double memory[];
    Group group = {};
    group.n = job.how.bands;
    group.pitch = job.pitch;
    group.square = job.square + (int64_t)blockIdx.x * group.n * group.pitch;
    group.panel = memory;
    group.mean = group.panel + job.panel * group.pitch;
    group.scale = group.mean + group.pitch;
    group.reciprocal = group.scale + group.pitch;
    group.band = (int32_t *)(group.reciprocal + group.pitch);
    for (int64_t number = blockIdx.x; number < job.how.groups; number += gridDim.x) {
        make_group(job, group, number);
    }
}

size_t shared_bytes(int panel, int pitch) {
    return ((size_t)panel + 3) * (size_t)pitch * sizeof(double) + (size_t)pitch * sizeof(int32_t);
}

} // namespace

HcStatus hc_gpu_column_filters(HcQueue *queue, const HcColumnFilters *how, HcError *err) {
    const HcGpu *gpu = queue->gpu;
    HC_OR_RETURN(hc_gpu_use(gpu, err));
    Job job = {};
    job.how = *how;
    job.values = hc_column_values(how->bands);
    job.pitch = (int32_t)hc_div_up(how->bands, ROWS) * ROWS;
    job.panel = PANEL_MAX;
    while (job.panel > ROWS && shared_bytes(job.panel, job.pitch) * BLOCKS + 4096 > gpu->shared_memory) {
        job.panel /= 2;
    }
    size_t bytes = shared_bytes(job.panel, job.pitch);
    if (bytes > gpu->shared_memory) {
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "column_filters: %d bands are too many for this device: take --device cpu",
                       how->bands);
    }
    size_t square = (size_t)how->bands * (size_t)job.pitch * sizeof(double);
    size_t squares = hc_column_filters_squares(how->bands, how->groups) / square;
    int64_t blocks =
        hc_min64(hc_min64(how->groups, hc_max64((int64_t)squares, 1)), (int64_t)gpu->processors * BLOCKS);
    HC_OR_RETURN(hc_gpu_scratch(queue, (size_t)blocks * square, (void **)&job.square, err));
    HC_OR_RETURN(hc_gpu_check(
        cudaFuncSetAttribute(make_filters, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
        "preparing filters of columns", err));
    make_filters<<<(unsigned)blocks, THREADS, bytes, queue->stream>>>(job);
    return hc_gpu_launched("making filters of columns", err);
}
