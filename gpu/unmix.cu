/* Sparse unmixing: what is derived from a library, and panels of pixels that thread blocks take one after the
 * other. */
#include "gpu/unmix.cuh"

#include "gpu/unmix_active.cuh"
#include "gpu/unmix_alm.cuh"
#include "gpu/unmix_fista.cuh"

#include <math.h>
#include <new>
#include <stdlib.h>

static const char doing[] = "unmixing";

/* Doublings of the power of |D W D'| that bounds its largest eigenvalue. */
enum { POWERS = 100 };

/* Thread blocks of a processor, and the memory that all of them may take together [bytes]. */
enum { BLOCKS_EACH = 4 };
static const size_t most_memory = (size_t)1 << 30;

struct HcUnmixing {
    HcGpu *gpu;
    HcUnmixLibrary library;
    int32_t blocks;      /* that have a room */
    size_t room_doubles; /* of a thread block */
    HcBuffer memory;     /* what the library points to */
    HcBuffer rooms;      /* the number of the next panel, then the rooms */
};

/* --- a panel --- */

__device__ static void form_residual(const HcUnmixLibrary &library, const float *pixel,
                                     const double *abundance, double *weighted, double *square, double *sum) {
    enum { HELD = 8 };
    int32_t spectra = library.rule.spectra;
    int32_t bands = library.rule.bands;
    double square_here = 0;
    double sum_here = 0;
    for (int32_t band0 = hc_lane(); band0 < bands + hc_lane(); band0 += 32 * HELD) {
        double residual[HELD];
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            residual[i] = band0 + 32 * i < bands ? (double)pixel[band0 + 32 * i] : 0;
        }
        for (int32_t first = 0; first < spectra; first += 32) {
            int32_t k = first + hc_lane();
            double x = k < spectra ? abundance[k] : 0;
            for (uint32_t in = __ballot_sync(0xFFFFFFFFU, x != 0); in != 0; in &= in - 1) {
                int from = __ffs((int)in) - 1;
                double taken = __shfl_sync(0xFFFFFFFFU, x, from);
                const double *spectrum = library.spectrum + (int64_t)(first + from) * bands;
#pragma unroll
                for (int i = 0; i < HELD; i++) {
                    int32_t band = band0 + 32 * i;
                    residual[i] = fma(-taken, band < bands ? spectrum[band] : 0, residual[i]);
                }
            }
        }
#pragma unroll
        for (int i = 0; i < HELD; i++) {
            int32_t band = band0 + 32 * i;
            if (band < bands) {
                double value = library.weight[band] * residual[i];
                sum_here = fma(residual[i], residual[i], sum_here);
                square_here = fma(residual[i], value, square_here);
                weighted[band] = value;
            }
        }
    }
    *square = hc_warp_sum(square_here);
    *sum = hc_warp_sum(sum_here);
}

/* Upper bound of F(x) - F where abundances sum to one: x'g - min g (Frank and Wolfe 1956). No term is
 * negative. */
__device__ static double gap_of_shares(int32_t spectra, const double *abundance, const double *slope) {
    double top = -INFINITY;
    double gap = 0;
    for (int32_t k = hc_lane(); k < spectra; k += 32) {
        top = slope[k] > top ? slope[k] : top;
    }
    top = hc_warp_most(top);
    for (int32_t k = hc_lane(); k < spectra; k += 32) {
        gap += abundance[k] * (top - slope[k]);
    }
    return hc_warp_sum(gap);
}

/* F(x) minus the dual function at s r, s the largest scale up to 1 that is allowed, or at r - t v, whichever
 * is less. No term is negative. */
__device__ static double gap_of_dual(const HcUnmixLibrary &library, const double *abundance,
                                     const double *slope, double square) {
    double lambda = library.rule.lambda;
    double top = lambda;
    double t = 0;
    for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
        top = slope[k] > top ? slope[k] : top;
        if (library.rise != NULL && slope[k] - lambda > t * library.rise[k]) {
            t = (slope[k] - lambda) / library.rise[k];
        }
    }
    top = hc_warp_most(top);
    t = hc_warp_most(t);
    double s = top > lambda ? lambda / top : 1;
    double scaled = 0;
    double moved = 0;
    for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
        if (abundance[k] != 0) {
            double rise = library.rise != NULL ? library.rise[k] : 0;
            scaled += abundance[k] * (lambda - s * slope[k]);
            moved += abundance[k] * (lambda - slope[k] + t * rise);
        }
    }
    scaled = hc_warp_sum(scaled) + (1 - s) * (1 - s) * square / 2;
    moved = hc_warp_sum(moved) + t * t * library.rise_square / 2;
    return library.rise != NULL && moved < scaled ? moved : scaled;
}

__device__ static double relative_gap(const HcUnmixLibrary &library, const double *abundance,
                                      const double *slope, double square, double energy) {
    double value = square / 2;
    double gap = 0;
    if (library.rule.sum_to_one) {
        gap = gap_of_shares(library.rule.spectra, abundance, slope);
    } else {
        double sum = 0;
        gap = gap_of_dual(library, abundance, slope, square);
        for (int32_t k = hc_lane(); k < library.rule.spectra; k += 32) {
            sum += abundance[k];
        }
        value += library.rule.lambda * hc_warp_sum(sum);
    }
    return gap <= 0 ? 0 : gap / fmax(value, HC_UNMIX_TINIEST * energy); /* rounding may take it below 0 */
}

/* The pixels that are still open, by the first warp. */
__device__ static void close_pixels(HcUnmixPanel *panel, double gap) {
    int32_t before = panel->open;
    int32_t open = 0;
    for (int32_t first = 0; first < before; first += 32) {
        int32_t j = first + hc_lane();
        int32_t p = j < before ? panel->number[j] : 0;
        bool stays = j < before && !(panel->gap[p] <= gap);
        uint32_t in = __ballot_sync(0xFFFFFFFFU, stays);
        __syncwarp();
        if (stays) {
            panel->number[open + __popc(in & ((1U << hc_lane()) - 1))] = p;
        }
        open += __popc(in);
        __syncwarp();
    }
    if (hc_lane() == 0) {
        panel->open = open;
    }
}

__device__ void hc_unmix_certify(const HcUnmixLibrary &library, const float *line, HcUnmixPanel *panel,
                                 const HcUnmixRoom &room) {
    int64_t spectra = library.rule.spectra;
    int32_t bands = library.rule.bands;
    for (int32_t j = hc_warp(); j < panel->open; j += HC_UNMIX_WARPS) {
        int64_t p = panel->number[j];
        double square, sum;
        form_residual(library, line + (int64_t)panel->sample[p] * bands, room.abundance + p * spectra,
                      room.weighted + p * bands, &square, &sum);
        if (hc_lane() == 0) {
            panel->square[p] = square;
            panel->rmse[p] = sqrt(sum / bands);
        }
    }
    __syncthreads();
    hc_unmix_multiply(panel, room.weighted, library.spectrum, library.rule.spectra, bands, false, room.slope);
    for (int32_t j = hc_warp(); j < panel->open; j += HC_UNMIX_WARPS) {
        int64_t p = panel->number[j];
        double gap = relative_gap(library, room.abundance + p * spectra, room.slope + p * spectra,
                                  panel->square[p], panel->energy[p]);
        if (hc_lane() == 0) {
            panel->gap[p] = gap;
        }
    }
    __syncthreads();
    if (hc_warp() == 0) {
        close_pixels(panel, library.rule.gap);
    }
    __syncthreads();
}

/* The valid ones of these pixels, their W y and D W y. */
__device__ static void gather_pixels(const HcUnmixLibrary &library, const float *line, const uint8_t *mask,
                                     int32_t sample0, int32_t samples, HcUnmixPanel *panel,
                                     const HcUnmixRoom &room) {
    int32_t bands = library.rule.bands;
    if (hc_warp() == 0) {
        int32_t count = 0;
        for (int32_t first = sample0; first < sample0 + samples; first += 32) {
            int32_t sample = first + hc_lane();
            bool valid = sample < sample0 + samples && mask[sample] != 0;
            uint32_t in = __ballot_sync(0xFFFFFFFFU, valid);
            int32_t p = count + __popc(in & ((1U << hc_lane()) - 1));
            if (valid) {
                panel->sample[p] = sample;
                panel->number[p] = p;
                panel->iterations[p] = 0;
            }
            count += __popc(in);
        }
        if (hc_lane() == 0) {
            panel->count = panel->open = count;
        }
    }
    __syncthreads();
    for (int32_t p = hc_warp(); p < panel->count; p += HC_UNMIX_WARPS) {
        const float *pixel = line + (int64_t)panel->sample[p] * bands;
        double energy = 0;
        for (int32_t b = hc_lane(); b < bands; b += 32) {
            double value = library.weight[b] * (double)pixel[b];
            energy = fma((double)pixel[b], value, energy);
            room.weighted[(int64_t)p * bands + b] = value;
        }
        energy = hc_warp_sum(energy);
        if (hc_lane() == 0) {
            panel->energy[p] = energy;
        }
    }
    __syncthreads();
    hc_unmix_multiply(panel, room.weighted, library.spectrum, library.rule.spectra, bands, false,
                      room.product);
}

/* Rounded once; 0 below the threshold. */
__device__ static inline float written(const HcUnmixRule &rule, double abundance) {
    float value = (float)abundance;
    return (double)value < rule.threshold ? 0 : value;
}

/* The largest abundances, of equal ones the first: their numbers, then their values. A warp. */
__device__ static void write_largest(const HcUnmixRule &rule, const double *abundance, float *to) {
    float last = INFINITY;
    int32_t last_at = -1;
    for (int32_t i = 0; i < rule.top; i++) {
        float most = 0;
        int32_t at = -1;
        for (int32_t k = hc_lane(); k < rule.spectra; k += 32) {
            float value = written(rule, abundance[k]);
            bool is_next = value < last || (value == last && k > last_at);
            if (is_next && value > most) {
                most = value;
                at = k;
            }
        }
        for (int d = 16; d > 0; d /= 2) {
            float other = __shfl_xor_sync(0xFFFFFFFFU, most, d);
            int32_t other_at = __shfl_xor_sync(0xFFFFFFFFU, at, d);
            bool is_other = other > most || (other == most && other_at >= 0 && other_at < at);
            most = is_other ? other : most;
            at = is_other ? other_at : at;
        }
        if (hc_lane() == 0) {
            to[i] = (float)at;
            to[rule.top + i] = most;
        }
        last = most;
        last_at = at;
        if (at < 0) {
            last = 0; /* there are no more */
        }
    }
}

/* A warp a pixel. */
__device__ static void write_pixel(const HcUnmixRule &rule, const HcUnmixPanel *panel, int32_t p,
                                   const double *abundance, float *to) {
    int32_t at = rule.top > 0 ? 2 * rule.top : rule.spectra;
    if (rule.top > 0) {
        write_largest(rule, abundance, to);
    } else {
        for (int32_t k = hc_lane(); k < rule.spectra; k += 32) {
            to[k] = written(rule, abundance[k]);
        }
    }
    if (hc_lane() == 0) {
        if (rule.rmse) {
            to[at++] = (float)panel->rmse[p];
        }
        if (rule.told_iterations) {
            to[at++] = (float)panel->iterations[p];
        }
        if (rule.told_gap) {
            to[at++] = (float)panel->gap[p];
        }
        if (rule.told_end) {
            to[at] = panel->gap[p] <= rule.gap ? (float)HC_UNMIX_OPTIMAL : (float)HC_UNMIX_UNFINISHED;
        }
    }
}

__device__ static inline void add(int64_t *to, int64_t value) {
    atomicAdd((unsigned long long *)to, (unsigned long long)value);
}

__device__ static void count_pixel(const HcUnmixRule &rule, const HcUnmixPanel *panel, int32_t p,
                                   const double *abundance) {
    int64_t *pixels = rule.counts + HC_UNMIX_COUNTS;
    int64_t *sums = pixels + rule.spectra;
    if (hc_lane() == 0) {
        add(rule.counts + HC_UNMIX_COUNT_PIXELS, 1);
        add(rule.counts + HC_UNMIX_COUNT_UNFINISHED, !(panel->gap[p] <= rule.gap));
        atomicMax((long long *)rule.counts + HC_UNMIX_COUNT_GAP, __double_as_longlong(fabs(panel->gap[p])));
    }
    for (int32_t k = hc_lane(); k < rule.spectra; k += 32) {
        double value = (double)written(rule, abundance[k]);
        if (value != 0) {
            add(pixels + k, 1);
            add(sums + k, llrint(fmin(value, 0x1p16) / HC_UNMIX_COUNT_UNIT));
        }
    }
}

/* Masked pixels are 0, the others what was found. */
__device__ static void write_panel(const HcUnmixLibrary &library, const HcUnmixPanel *panel,
                                   const HcUnmixRoom &room, const uint8_t *mask, int32_t sample0,
                                   int32_t samples, const HcView &out, int64_t row, bool counted) {
    int64_t bands = out.bands;
    float *line = out.data + row * out.samples * bands;
    for (int32_t s = sample0 + hc_warp(); s < sample0 + samples; s += HC_UNMIX_WARPS) {
        if (hc_lane() == 0) {
            out.mask[row * out.samples + s] = mask[s];
        }
        for (int64_t k = s * bands + hc_lane(); mask[s] == 0 && k < (s + 1) * bands; k += 32) {
            line[k] = 0;
        }
    }
    for (int32_t p = hc_warp(); p < panel->count; p += HC_UNMIX_WARPS) {
        const double *abundance = room.abundance + (int64_t)p * library.rule.spectra;
        write_pixel(library.rule, panel, p, abundance, line + panel->sample[p] * bands);
        if (counted) {
            count_pixel(library.rule, panel, p, abundance);
        }
    }
}

__device__ static inline HcUnmixRoom room_of(const HcUnmixLibrary &library, double *rooms,
                                             size_t room_doubles) {
    int64_t row = library.rule.spectra;
    HcUnmixRoom room;
    room.weighted = rooms + blockIdx.x * room_doubles;
    room.product = room.weighted + HC_UNMIX_PANEL * (int64_t)library.rule.bands;
    room.abundance = room.product + HC_UNMIX_PANEL * row;
    room.slope = room.abundance + HC_UNMIX_PANEL * row;
    room.scratch = room.slope + HC_UNMIX_PANEL * row;
    return room;
}

/* Rows of `out` whose abundances are counted. */
struct Counted {
    int64_t first, end;
};

template <HcUnmixSolver SOLVER>
__global__ static void __launch_bounds__(HC_UNMIX_THREADS, BLOCKS_EACH)
    unmix_panels(const __grid_constant__ HcUnmixLibrary library, HcView in, HcView out, Counted counted,
                 double *rooms, size_t room_doubles, int32_t *next) {
    __shared__ HcUnmixPanel panel;
    __shared__ HcActiveShared shared[SOLVER == HC_UNMIX_ACTIVE ? HC_UNMIX_WARPS : 1];
    __shared__ int32_t taken;
    HcUnmixRoom room = room_of(library, rooms, room_doubles);
    int32_t panels = (out.samples + HC_UNMIX_PANEL - 1) / HC_UNMIX_PANEL;
    for (;;) {
        if (threadIdx.x == 0) {
            taken = atomicAdd(next, 1);
        }
        __syncthreads();
        int64_t unit = taken;
        if (unit >= out.rows * panels) {
            return;
        }
        int64_t row = unit / panels;
        int64_t row_in = row + out.first_line - in.first_line;
        int32_t sample0 = (int32_t)(unit % panels) * HC_UNMIX_PANEL;
        int32_t samples = min((int)HC_UNMIX_PANEL, out.samples - sample0);
        const float *line = in.data + row_in * in.samples * in.bands;
        const uint8_t *mask = in.mask + row_in * in.samples;
        gather_pixels(library, line, mask, sample0, samples, &panel, room);
        if (SOLVER == HC_UNMIX_ACTIVE) {
            hc_unmix_active(library, line, &panel, room, shared);
        } else if (SOLVER == HC_UNMIX_FISTA) {
            hc_unmix_fista(library, line, &panel, room);
        } else {
            hc_unmix_alm(library, line, &panel, room);
        }
        write_panel(library, &panel, room, mask, sample0, samples, out, row,
                    library.rule.counts != NULL && row >= counted.first && row < counted.end);
        __syncthreads();
    }
}

/* --- what is derived from a library --- */

/* Rows of gram = D W D', HC_UNMIX_PANEL of them a thread block; weighted[spectra][bands]. */
__global__ static void multiply_spectra(int32_t spectra, int32_t bands, const double *weighted,
                                        const double *spectrum, double *gram) {
    __shared__ HcUnmixPanel panel;
    int32_t first = (int32_t)blockIdx.x * HC_UNMIX_PANEL;
    if (threadIdx.x == 0) {
        panel.open = min((int)HC_UNMIX_PANEL, spectra - first);
        for (int32_t j = 0; j < panel.open; j++) {
            panel.number[j] = first + j;
        }
    }
    __syncthreads();
    hc_unmix_multiply(&panel, weighted, spectrum, spectra, bands, false, gram);
}

/* Makes the upper triangle that of the lower one, and adds the shift. A thread an entry of the lower one. */
__global__ static void finish_gram(int32_t spectra, double shift, double *gram, double *price) {
    int64_t i = blockIdx.x;
    for (int64_t j = threadIdx.x; j <= i; j += blockDim.x) {
        double value = gram[i * spectra + j] + shift;
        gram[i * spectra + j] = gram[j * spectra + i] = value;
        if (i == j) {
            price[i] = value > 0 ? 1 / sqrt(value) : 0;
        }
    }
}

/* gram of the spectra brought to unit length, + 1; those that are 0 are at a right angle to all. */
__global__ static void form_cosines(int32_t spectra, const double *gram, const double *price,
                                    double *cosine) {
    int64_t i = blockIdx.x;
    for (int64_t j = threadIdx.x; j < spectra; j += blockDim.x) {
        cosine[i * spectra + j] = 1 + (i == j ? 1 : gram[i * spectra + j] * price[i] * price[j]);
    }
}

__global__ static void fill(double *to, int64_t count, double value) {
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (i < count) {
        to[i] = value;
    }
}

/* Abundances of one pixel from an empty set, one warp. */
__global__ static void unmix_one(const __grid_constant__ HcUnmixLibrary library, const double *product,
                                 double *far_memory, double *abundance) {
    __shared__ HcActiveShared shared;
    HcActive set = active_new(&library, &shared, far_memory);
    active_start_from_nothing(set, product);
    active_improve(set, HC_ACTIVE_ROUNDING * sqrt(library.shift), library.rule.iterations);
    active_write(set, abundance);
}

/* to = |gram - shift| from, and the largest ratio of the two: a warp a row. */
__global__ static void multiply_magnitudes(int32_t spectra, double shift, const double *gram,
                                           const double *from, double *to) {
    int64_t i = blockIdx.x;
    double sum = 0;
    for (int64_t j = threadIdx.x; j < spectra; j += 32) {
        sum += fabs(gram[i * spectra + j] - shift) * from[j];
    }
    sum = hc_warp_sum(sum);
    if (threadIdx.x == 0) {
        to[i] = sum;
    }
}

/* One warp: the largest ratio of next and v; then v = next, its largest entry 1. */
__global__ static void scale_power(int32_t spectra, double *v, const double *next, double *largest) {
    double ratio = 0;
    double top = 0;
    for (int32_t i = hc_lane(); i < spectra; i += 32) {
        ratio = fmax(ratio, next[i] / v[i]);
        top = fmax(top, next[i]);
    }
    ratio = hc_warp_most(ratio);
    top = hc_warp_most(top);
    for (int32_t i = hc_lane(); i < spectra && top > 0; i += 32) {
        v[i] = fmax(next[i] / top, 0x1p-50);
    }
    if (hc_lane() == 0) {
        *largest = ratio;
    }
}

static HcStatus up(double *to, const double *from, size_t count, HcError *err) {
    return hc_gpu_check(cudaMemcpy(to, from, count * sizeof(double), cudaMemcpyHostToDevice), doing, err);
}

static HcStatus down(double *to, const double *from, size_t count, HcError *err) {
    return hc_gpu_check(cudaMemcpy(to, from, count * sizeof(double), cudaMemcpyDeviceToHost), doing, err);
}

/* The library's memory, as it is filled. */
struct Parts {
    double *spectrum, *weight, *gram, *price, *rise, *eigenvalue, *eigenvector, *turned_back, *total;
    /* What is needed while the library is opened. */
    double *work;    /* [spectra][bands], at least [spectra][spectra] */
    double *share;   /* [spectra] */
    double *product; /* [spectra] */
    double *far_memory;
};

/* The memory, cut; or only its size. */
static size_t lay_out(const HcUnmixRule *rule, char *base, Parts *parts) {
    size_t at = 0;
    size_t spectra = (size_t)rule->spectra;
    size_t bands = (size_t)rule->bands;
    size_t entries = spectra * spectra;
    size_t turned = rule->solver == HC_UNMIX_ALM ? entries : 0;
    size_t capacity = (size_t)hc_active_capacity(rule->spectra, rule->bands);
    auto take = [&](size_t count) { return (double *)hc_take(base, &at, count * sizeof(double)); };
    parts->spectrum = take(spectra * bands);
    parts->weight = take(bands);
    parts->gram = take(entries);
    parts->price = take(spectra);
    parts->rise = take(spectra);
    parts->eigenvalue = take(spectra);
    parts->eigenvector = take(turned);
    parts->turned_back = take(turned);
    parts->total = take(spectra);
    parts->work = take(spectra * bands > entries ? spectra * bands : entries);
    parts->share = take(spectra);
    parts->product = take(spectra);
    parts->far_memory = take(hc_active_room(capacity));
    return at;
}

/* D, W and D W on the device; the mean of the diagonal of D W D'. */
static HcStatus put_library(const HcUnmixRule *rule, const Parts &parts, double *mean, HcError *err) {
    HcStatus status = HC_OK;
    size_t bands = (size_t)rule->bands;
    size_t count = (size_t)rule->spectra * bands;
    double *values = (double *)malloc((2 * count + bands) * sizeof(double));
    double *weighted = values + count;
    double *weight = weighted + count;
    if (values == NULL) {
        return hc_fail_memory(err, 2 * (double)count * sizeof(double), "a library to unmix with");
    }
    *mean = 0;
    for (size_t b = 0; b < bands; b++) {
        weight[b] = rule->weight != NULL ? rule->weight[b] : 1;
    }
    for (size_t i = 0; i < count; i++) {
        values[i] = (double)rule->spectrum[i];
        weighted[i] = weight[i % bands] * values[i];
        *mean += weighted[i] * values[i] / rule->spectra;
    }
    HC_TRY(up(parts.spectrum, values, count, err));
    HC_TRY(up(parts.work, weighted, count, err));
    HC_TRY(up(parts.weight, weight, bands, err));
done:
    free(values);
    return status;
}

static HcStatus form_gram(HcUnmixing *unmixing, const Parts &parts, HcError *err) {
    HcStatus status = HC_OK;
    HcUnmixLibrary *library = &unmixing->library;
    int32_t spectra = library->rule.spectra;
    double mean = 0;
    HC_TRY(put_library(&library->rule, parts, &mean, err));
    library->shift = library->rule.sum_to_one ? mean : 0;
    multiply_spectra<<<(unsigned)hc_div_up(spectra, HC_UNMIX_PANEL), HC_UNMIX_THREADS>>>(
        spectra, library->rule.bands, parts.work, parts.spectrum, parts.gram);
    HC_TRY(hc_gpu_launched(doing, err));
    finish_gram<<<(unsigned)spectra, 256>>>(spectra, library->shift, parts.gram, parts.price);
    HC_TRY(hc_gpu_launched(doing, err));
done:
    return status;
}

/* The mixture of the spectra brought to unit length that is nearest to 0, as share[spectra] on the device. */
static HcStatus find_nearest(const HcUnmixing *unmixing, const Parts &parts, HcError *err) {
    HcStatus status = HC_OK;
    HcUnmixLibrary unit = unmixing->library;
    int32_t spectra = unit.rule.spectra;
    unsigned blocks = (unsigned)hc_div_up(spectra, 256);
    unit.rule.sum_to_one = true;
    unit.rule.iterations = 10 * spectra;
    unit.shift = 1;
    unit.gram = parts.work;
    unit.price = parts.product;
    form_cosines<<<(unsigned)spectra, 256>>>(spectra, parts.gram, parts.price, parts.work);
    HC_TRY(hc_gpu_launched(doing, err));
    fill<<<blocks, 256>>>(parts.product, spectra, sqrt(0.5));
    HC_TRY(hc_gpu_launched(doing, err));
    fill<<<blocks, 256>>>(parts.total, spectra, 0); /* D W y */
    HC_TRY(hc_gpu_launched(doing, err));
    unmix_one<<<1, 32>>>(unit, parts.total, parts.far_memory, parts.share);
    HC_TRY(hc_gpu_launched(doing, err));
done:
    return status;
}

/* A direction v with all spectra on one side of the plane through 0 at a right angle to it (cpu/unmix.c). */
static HcStatus find_rise(HcUnmixing *unmixing, const Parts &parts, HcError *err) {
    HcStatus status = HC_OK;
    const HcUnmixRule *rule = &unmixing->library.rule;
    size_t spectra = (size_t)rule->spectra;
    size_t bands = (size_t)rule->bands;
    bool all = true;
    double square = 0;
    double *price = (double *)calloc(3 * spectra + 2 * bands, sizeof(double));
    double *share = price + spectra;
    double *rise = share + spectra;
    double *v = rise + spectra;
    double *weight = v + bands;
    if (price == NULL) {
        return hc_fail_memory(err, (double)(3 * spectra + 2 * bands) * sizeof(double), "a direction");
    }
    HC_TRY(find_nearest(unmixing, parts, err));
    HC_TRY(down(price, parts.price, spectra, err));
    HC_TRY(down(share, parts.share, spectra, err));
    HC_TRY(down(weight, parts.weight, bands, err));
    for (size_t i = 0; i < spectra * bands; i++) {
        v[i % bands] += share[i / bands] * price[i / bands] * (double)rule->spectrum[i];
    }
    for (size_t b = 0; b < bands; b++) {
        square += weight[b] * v[b] * v[b];
        v[b] *= weight[b];
    }
    for (size_t i = 0; i < spectra * bands; i++) {
        rise[i / bands] += (double)rule->spectrum[i] * v[i % bands];
    }
    for (size_t k = 0; k < spectra; k++) {
        all = all && (price[k] == 0 || rise[k] * price[k] > 0x1p-40);
    }
    HC_TRY(up(parts.rise, rise, spectra, err));
    unmixing->library.rise = all ? parts.rise : NULL;
    unmixing->library.rise_square = square;
done:
    free(price);
    return status;
}

/* cpu/unmix_fista.c says why. */
static HcStatus bound_eigenvalues(HcUnmixing *unmixing, const Parts &parts, HcError *err) {
    HcStatus status = HC_OK;
    int32_t spectra = unmixing->library.rule.spectra;
    double *v = parts.share;
    double *next = parts.product;
    fill<<<(unsigned)hc_div_up(spectra, 256), 256>>>(v, spectra, 1);
    HC_TRY(hc_gpu_launched(doing, err));
    for (int power = 0; power < POWERS; power++) {
        multiply_magnitudes<<<(unsigned)spectra, 32>>>(spectra, unmixing->library.shift, parts.gram, v, next);
        HC_TRY(hc_gpu_launched(doing, err));
        scale_power<<<1, 32>>>(spectra, v, next, parts.total);
        HC_TRY(hc_gpu_launched(doing, err));
    }
    HC_TRY(down(&unmixing->library.largest, parts.total, 1, err));
done:
    return status;
}

/* What the solver of augmented Lagrangians needs of gram[spectra][spectra], without the shift, and its
 * eigenvectors. */
static HcStatus put_eigenvectors(HcUnmixing *unmixing, const Parts &parts, const double *value,
                                 const double *vector, double *turned_back, double *total, HcError *err) {
    HcStatus status = HC_OK;
    int64_t n = unmixing->library.rule.spectra;
    int32_t rank = 0;
    while (rank < n && value[rank] > (double)n * 0x1p-53 * value[0]) {
        rank++;
    }
    for (int64_t i = 0; i < rank; i++) {
        total[i] = 0;
        for (int64_t k = 0; k < n; k++) {
            total[i] += vector[i * n + k];
            turned_back[k * rank + i] = vector[i * n + k];
        }
    }
    unmixing->library.rank = rank;
    HC_TRY(up(parts.eigenvalue, value, (size_t)n, err));
    HC_TRY(up(parts.eigenvector, vector, (size_t)(n * n), err));
    HC_TRY(up(parts.turned_back, turned_back, (size_t)(n * rank), err));
    HC_TRY(up(parts.total, total, (size_t)rank, err));
done:
    return status;
}

static HcStatus find_eigenvectors(HcUnmixing *unmixing, const Parts &parts, HcError *err) {
    HcStatus status = HC_OK;
    const HcGpu *gpu = unmixing->gpu;
    int32_t n = unmixing->library.rule.spectra;
    size_t entries = (size_t)n * (size_t)n;
    double *gram = (double *)malloc((2 * entries + 2 * (size_t)n) * sizeof(double));
    double *vector = gram + entries;
    double *value = vector + entries;
    double *total = value + n;
    if (gram == NULL) {
        return hc_fail_memory(err, 2 * (double)entries * sizeof(double), "eigenvectors of a library");
    }
    if (gpu->host == NULL) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "unmix: the GPU backend was opened without the host's operations"));
    }
    HC_TRY(down(gram, parts.gram, entries, err));
    for (size_t i = 0; i < entries; i++) {
        gram[i] -= unmixing->library.shift;
    }
    HC_TRY(gpu->host->eigh(gpu->host_compute, n, gram, value, vector, err));
    HC_TRY(put_eigenvectors(unmixing, parts, value, vector, gram, total, err));
done:
    free(gram);
    return status;
}

/* Doubles of a thread block. */
static size_t room_doubles(const HcUnmixing *unmixing) {
    const HcUnmixRule *rule = &unmixing->library.rule;
    size_t spectra = (size_t)rule->spectra;
    size_t scratch = 0;
    if (rule->solver == HC_UNMIX_ACTIVE) {
        scratch = HC_UNMIX_WARPS * hc_active_room((size_t)hc_active_capacity(rule->spectra, rule->bands));
    } else if (rule->solver == HC_UNMIX_FISTA) {
        scratch = HC_UNMIX_PANEL * 2 * spectra;
    } else {
        scratch = HC_UNMIX_PANEL * (3 * spectra + (size_t)unmixing->library.rank);
    }
    return HC_UNMIX_PANEL * ((size_t)rule->bands + 3 * spectra) + scratch;
}

/* As many thread blocks as the device runs at once, where their memory allows. */
static HcStatus take_rooms(HcUnmixing *unmixing, HcError *err) {
    size_t most = unmixing->gpu->memory > 0 && unmixing->gpu->memory / 8 < most_memory
                      ? (size_t)unmixing->gpu->memory / 8
                      : most_memory;
    unmixing->room_doubles = room_doubles(unmixing);
    size_t fitting = most / (unmixing->room_doubles * sizeof(double));
    size_t wanted = BLOCKS_EACH * (size_t)unmixing->gpu->processors;
    unmixing->blocks = (int32_t)(fitting < 1 ? 1 : fitting < wanted ? fitting : wanted);
    return hc_gpu_alloc(&unmixing->gpu->base, HC_MEMORY_DEVICE,
                        256 + (size_t)unmixing->blocks * unmixing->room_doubles * sizeof(double),
                        &unmixing->rooms, err);
}

static HcStatus derive(HcUnmixing *unmixing, HcError *err) {
    HcStatus status = HC_OK;
    HcUnmixLibrary *library = &unmixing->library;
    HcCompute *compute = &unmixing->gpu->base;
    Parts parts;
    size_t bytes = lay_out(&library->rule, NULL, &parts);
    HC_TRY(hc_gpu_alloc(compute, HC_MEMORY_DEVICE, bytes, &unmixing->memory, err));
    (void)lay_out(&library->rule, (char *)unmixing->memory.data, &parts);
    library->spectrum = parts.spectrum;
    library->weight = parts.weight;
    library->gram = parts.gram;
    library->price = parts.price;
    library->eigenvalue = parts.eigenvalue;
    library->eigenvector = parts.eigenvector;
    library->turned_back = parts.turned_back;
    library->total = parts.total;
    HC_TRY(form_gram(unmixing, parts, err));
    if (!library->rule.sum_to_one) {
        HC_TRY(find_rise(unmixing, parts, err));
    }
    if (library->rule.solver == HC_UNMIX_FISTA) {
        HC_TRY(bound_eigenvalues(unmixing, parts, err));
    }
    if (library->rule.solver == HC_UNMIX_ALM) {
        HC_TRY(find_eigenvectors(unmixing, parts, err));
    }
    HC_TRY(hc_gpu_check(cudaDeviceSynchronize(), doing, err));
done:
    return status;
}

HcStatus hc_gpu_unmix_open(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out, HcError *err) {
    HcStatus status = HC_OK;
    HcUnmixing *unmixing = NULL;
    *out = NULL;
    HC_TRY(hc_check_unmix_rule(rule, err));
    unmixing = new (std::nothrow) HcUnmixing();
    if (unmixing == NULL) {
        HC_TRY(hc_fail_memory(err, sizeof *unmixing, doing));
    }
    unmixing->gpu = (HcGpu *)compute;
    unmixing->library.rule = *rule;
    HC_TRY(hc_gpu_use(unmixing->gpu, err));
    HC_TRY(derive(unmixing, err));
    HC_TRY(take_rooms(unmixing, err));
    *out = unmixing;
    unmixing = NULL;
done:
    hc_gpu_unmix_close(unmixing);
    return status;
}

void hc_gpu_unmix_close(HcUnmixing *unmixing) {
    if (unmixing != NULL) {
        hc_gpu_release(&unmixing->gpu->base, &unmixing->memory);
        hc_gpu_release(&unmixing->gpu->base, &unmixing->rooms);
        delete unmixing;
    }
}

typedef void (*Kernel)(const HcUnmixLibrary, HcView, HcView, Counted, double *, size_t, int32_t *);

HcStatus hc_gpu_unmix(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                      HcError *err) {
    static const Kernel kernels[] = {unmix_panels<HC_UNMIX_ACTIVE>, unmix_panels<HC_UNMIX_FISTA>,
                                     unmix_panels<HC_UNMIX_ALM>};
    HcStatus status = HC_OK;
    int32_t *next = NULL;
    double *rooms = NULL;
    HC_TRY(hc_check_unmix(queue, in, unmixing, unmixing != NULL ? &unmixing->library.rule : NULL, out, err));
    HC_TRY(hc_gpu_use(queue->gpu, err));
    next = (int32_t *)unmixing->rooms.data; /* of the panel to take */
    rooms = (double *)((char *)unmixing->rooms.data + 256);
    HC_TRY(hc_gpu_check(cudaMemsetAsync(next, 0, sizeof *next, queue->stream), doing, err));
    kernels[unmixing->library.rule
                .solver]<<<(unsigned)unmixing->blocks, HC_UNMIX_THREADS, 0, queue->stream>>>(
        unmixing->library, hc_view(in), hc_view(out), Counted{out->above, (int64_t)out->above + out->lines},
        rooms, unmixing->room_doubles, next);
    HC_TRY(hc_gpu_launched(doing, err));
done:
    return status;
}
