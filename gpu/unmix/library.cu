/* What unmixing derives from a library, on the device. */
#include "core/operation/eigh/eigh.h"
#include "core/solver/working.h"
#include "gpu/unmix/active.cuh"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char doing[] = "opening a library to unmix with";

/* Rows of gram = D W D', HC_UNMIX_PANEL of them a thread block; weighted[spectra][bands]. */
__global__ static void multiply_spectra(int32_t spectra, int32_t bands, const double *weighted,
                                        const double *spectrum, double *gram) {
    __shared__ int32_t number[HC_UNMIX_PANEL];
    int32_t first = (int32_t)blockIdx.x * HC_UNMIX_PANEL;
    if (threadIdx.x < HC_UNMIX_PANEL) {
        number[threadIdx.x] = (int32_t)threadIdx.x;
    }
    __syncthreads();
    hc_unmix_multiply(number, min((int)HC_UNMIX_PANEL, spectra - first), weighted + (int64_t)first * bands,
                      spectrum, spectra, bands, false, gram + (int64_t)first * spectra);
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

static HcStatus up(double *to, const double *from, size_t count, HcError *err) {
    return hc_gpu_bring(to, from, count * sizeof(double), doing, err);
}

static HcStatus down(double *to, const double *from, size_t count, HcError *err) {
    return hc_gpu_check(cudaMemcpy(to, from, count * sizeof(double), cudaMemcpyDeviceToHost), doing, err);
}

/* The library's memory, as it is filled. */
struct Parts {
    double *spectrum, *weight, *gram, *price, *rise, *eigenvalue, *eigenvector, *turned_back, *total,
        *direction, *metric;
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
    size_t metric = rule->solver == HC_UNMIX_ACTIVE ? 0 : entries;
    size_t directions = rule->solver == HC_UNMIX_ACTIVE ? 0 : spectra * HC_METRIC_STRIDE;
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
    parts->direction = take(directions);
    parts->metric = take(metric);
    parts->work = take(spectra * bands > entries ? spectra * bands : entries);
    parts->share = take(spectra);
    parts->product = take(spectra);
    parts->far_memory = take(hc_active_scratch(capacity));
    (void)take(HC_UNMIX_BEYOND);
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

static HcStatus form_gram(HcUnmixLibrary *library, const Parts &parts, HcError *err) {
    int32_t spectra = library->rule.spectra;
    double mean = 0;
    HC_OR_RETURN(put_library(&library->rule, parts, &mean, err));
    library->shift = library->rule.sum_to_one ? mean : 0;
    multiply_spectra<<<(unsigned)hc_div_up(spectra, HC_UNMIX_PANEL), HC_UNMIX_THREADS>>>(
        spectra, library->rule.bands, parts.work, parts.spectrum, parts.gram);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    finish_gram<<<(unsigned)spectra, 256>>>(spectra, library->shift, parts.gram, parts.price);
    return hc_gpu_launched(doing, err);
}

/* The mixture of the spectra brought to unit length that is nearest to 0, as share[spectra] on the device. */
static HcStatus find_nearest(const HcUnmixLibrary *library, const Parts &parts, HcError *err) {
    HcUnmixLibrary unit = *library;
    int32_t spectra = unit.rule.spectra;
    unsigned blocks = (unsigned)hc_div_up(spectra, 256);
    unit.rule.sum_to_one = true;
    unit.rule.iterations = 10 * spectra;
    unit.shift = 1;
    unit.gram = parts.work;
    unit.price = parts.product;
    form_cosines<<<(unsigned)spectra, 256>>>(spectra, parts.gram, parts.price, parts.work);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    fill<<<blocks, 256>>>(parts.product, spectra, sqrt(0.5));
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    fill<<<blocks, 256>>>(parts.total, spectra, 0); /* D W y */
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    unmix_one<<<1, 32>>>(unit, parts.total, parts.far_memory, parts.share);
    return hc_gpu_launched(doing, err);
}

/* A direction v with all spectra on one side of the plane through 0 at a right angle to it
 * (cpu/unmix/unmix.c). */
static HcStatus find_rise(HcUnmixLibrary *library, const Parts &parts, HcError *err) {
    HcStatus status = HC_OK;
    const HcUnmixRule *rule = &library->rule;
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
    HC_TRY(find_nearest(library, parts, err));
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
    library->rise = all ? parts.rise : NULL;
    library->rise_square = square;
done:
    free(price);
    return status;
}

/* The metric, of the eigenvectors [spectra][spectra]; work[spectra][HC_METRIC_STRIDE]. */
static HcStatus put_metric(HcUnmixLibrary *library, const Parts &parts, const double *value,
                           const double *vector, double *work, HcError *err) {
    int32_t n = library->rule.spectra;
    size_t entries = (size_t)n * HC_METRIC_STRIDE;
    library->size = hc_metric_size(value, n, &library->level);
    library->width = library->size + (library->rule.sum_to_one ? 1 : 0);
    memset(work, 0, entries * sizeof *work);
    for (int32_t k = 0; k < n; k++) {
        hc_metric_row(value, vector, n, library->size, library->level, library->rule.sum_to_one, k,
                      work + (int64_t)k * HC_METRIC_STRIDE);
    }
    return up(parts.direction, work, entries, err);
}

__global__ static void add_one(int32_t n, double *matrix) {
    int32_t k = (int32_t)(blockIdx.x * blockDim.x + threadIdx.x);
    if (k < n) {
        matrix[k * ((int64_t)n + 1)] += 1;
    }
}

/* 1 + U U' of the directions on working sets, which are formed in work[spectra][spectra]. */
static HcStatus put_working_metric(HcUnmixLibrary *library, const Parts &parts, const double *value,
                                   const double *vector, double *work, HcError *err) {
    int32_t n = library->rule.spectra;
    int32_t size = hc_working_size(value, n, &library->working_level);
    for (int32_t k = 0; k < n; k++) {
        hc_metric_row(value, vector, n, size, library->working_level, false, k, work + (int64_t)k * size);
    }
    HC_OR_RETURN(up(parts.work, work, (size_t)n * (size_t)size, err));
    multiply_spectra<<<(unsigned)hc_div_up(n, HC_UNMIX_PANEL), HC_UNMIX_THREADS>>>(n, size, parts.work,
                                                                                   parts.work, parts.metric);
    HC_OR_RETURN(hc_gpu_launched(doing, err));
    add_one<<<(unsigned)hc_div_up(n, 256), 256>>>(n, parts.metric);
    return hc_gpu_launched(doing, err);
}

/* What the solver of augmented Lagrangians needs of the eigenvectors; turned_back[spectra][spectra],
 * total[spectra]. */
static HcStatus put_eigenvectors(const HcUnmixLibrary *library, const Parts &parts, const double *vector,
                                 double *turned_back, double *total, HcError *err) {
    int64_t n = library->rule.spectra;
    int64_t rank = library->rank;
    for (int64_t i = 0; i < rank; i++) {
        total[i] = 0;
        for (int64_t k = 0; k < n; k++) {
            total[i] += vector[i * n + k];
            turned_back[k * rank + i] = vector[i * n + k];
        }
    }
    HC_OR_RETURN(up(parts.eigenvector, vector, (size_t)(n * n), err));
    HC_OR_RETURN(up(parts.turned_back, turned_back, (size_t)(n * rank), err));
    return up(parts.total, total, (size_t)rank, err);
}

static HcStatus find_eigenvectors(const HcGpu *gpu, HcUnmixLibrary *library, const Parts &parts,
                                  HcError *err) {
    HcStatus status = HC_OK;
    int32_t n = library->rule.spectra;
    size_t entries = (size_t)n * (size_t)n;
    size_t directions = (size_t)n * HC_METRIC_STRIDE;
    double *gram = (double *)malloc((2 * entries + 2 * (size_t)n + directions) * sizeof(double));
    double *vector = gram + entries;
    double *value = vector + entries;
    double *total = value + n;
    double *work = total + n;
    if (gram == NULL) {
        return hc_fail_memory(err, 2 * (double)entries * sizeof(double), "eigenvectors of a library");
    }
    if (gpu->host == NULL) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "unmix: the GPU backend was opened without the host's operations"));
    }
    HC_TRY(down(gram, parts.gram, entries, err));
    for (size_t i = 0; i < entries; i++) {
        gram[i] -= library->shift;
    }
    HC_TRY(hc_eigh(gpu->host, n, n, gram, value, vector, err));
    while (library->rank < n && value[library->rank] > (double)n * 0x1p-53 * value[0]) {
        library->rank++;
    }
    HC_TRY(up(parts.eigenvalue, value, (size_t)n, err));
    HC_TRY(put_metric(library, parts, value, vector, work, err));
    HC_TRY(put_working_metric(library, parts, value, vector, gram, err));
    if (library->rule.solver == HC_UNMIX_ALM) {
        HC_TRY(put_eigenvectors(library, parts, vector, gram, total, err));
    }
done:
    free(gram);
    return status;
}

HcStatus hc_unmix_derive(HcGpu *gpu, HcUnmixLibrary *library, HcBuffer *memory, HcError *err) {
    Parts parts;
    size_t bytes = lay_out(&library->rule, NULL, &parts);
    HC_OR_RETURN(hc_gpu_alloc(&gpu->base, HC_MEMORY_DEVICE, bytes, memory, err));
    (void)lay_out(&library->rule, (char *)memory->data, &parts);
    library->spectrum = parts.spectrum;
    library->weight = parts.weight;
    library->gram = parts.gram;
    library->price = parts.price;
    library->eigenvalue = parts.eigenvalue;
    library->eigenvector = parts.eigenvector;
    library->turned_back = parts.turned_back;
    library->total = parts.total;
    library->direction = parts.direction;
    library->working_metric = parts.metric;
    HC_OR_RETURN(form_gram(library, parts, err));
    if (!library->rule.sum_to_one) {
        HC_OR_RETURN(find_rise(library, parts, err));
    }
    if (library->rule.solver != HC_UNMIX_ACTIVE) {
        HC_OR_RETURN(find_eigenvectors(gpu, library, parts, err));
    }
    return hc_gpu_check(cudaDeviceSynchronize(), doing, err);
}
