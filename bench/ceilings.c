/* Ceilings: what floors are made of. A GPU gives its rates; those of the CPU are measured. */
#include "bench/internal.h"
#include "core/allocate.h"
#include "core/system/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 5,
    PIECE = 64 << 10, /* small enough that copies of it write through the cache */
    WIDE = 1024       /* rows and columns of the matrix whose product with itself is taken */
};

/* What one copy moves at least, that starting threads does not count [bytes]. */
static const size_t copy_least = (size_t)64 << 20;

typedef struct Copy {
    const char *from;
    char *to;
    size_t bytes, piece;
    int32_t times;
    pthread_t thread;
    bool started;
} Copy;

static void *copy_share(void *user) {
    const Copy *copy = user;
    for (int32_t t = 0; t < copy->times; t++) {
        for (size_t at = 0; at < copy->bytes; at += copy->piece) {
            size_t left = copy->bytes - at;
            memcpy(copy->to + at, copy->from + at, left < copy->piece ? left : copy->piece);
        }
    }
    return NULL;
}

/* Bytes read and written in a second by all threads, each with its own share of the buffers. A thread that
 * cannot start does its share later. */
static double copy_rate(Copy *copies, int32_t threads, const HcBuffer *from, const HcBuffer *to,
                        size_t piece) {
    int32_t times = (int32_t)((copy_least + from->bytes - 1) / from->bytes);
    double start = hc_now();
    size_t share = from->bytes / (size_t)threads;
    for (int32_t t = 0; t < threads; t++) {
        Copy *copy = &copies[t];
        size_t first = (size_t)t * share;
        *copy = (Copy){.from = (const char *)from->data + first,
                       .to = (char *)to->data + first,
                       .bytes = t == threads - 1 ? from->bytes - first : share,
                       .piece = piece,
                       .times = times};
        copy->started = pthread_create(&copy->thread, NULL, copy_share, copy) == 0;
    }
    for (int32_t t = 0; t < threads; t++) {
        if (copies[t].started) {
            pthread_join(copies[t].thread, NULL);
        } else {
            copy_share(&copies[t]);
        }
    }
    double seconds = hc_now() - start;
    return 2 * (double)times * (double)from->bytes / (seconds > 0 ? seconds : 1e-9);
}

/* Where memory is the host's: between buffers of the size that operations are measured on, past the cache and
 * through it, whichever is faster. */
static HcStatus measure_memory(HcRig *rig, HcError *err) {
    int32_t threads = rig->device->info.threads > 0 ? rig->device->info.threads : 1;
    const size_t pieces[2] = {SIZE_MAX, PIECE};
    double best = 0;
    Copy *copies = NULL;
    HC_OR_RETURN(hc_new(copies, threads, "threads that copy", err));
    for (int r = 0; r < 2 * ROUNDS; r++) {
        double rate = copy_rate(copies, threads, &rig->block, &rig->out, pieces[r % 2]);
        best = rate > best ? rate : best;
    }
    free(copies);
    rig->device->ceiling.memory = best;
    return HC_OK;
}

/* A product of x[rows][columns] with itself. */
typedef struct Gram {
    HcBuffer scratch, product;
    int64_t rows;
    int32_t columns;
} Gram;

static HcStatus call_gram(HcRig *rig, void *user, HcError *err) {
    Gram *gram = user;
    return rig->vendor_ops->gram_float64(rig->vendor, rig->queue, rig->block.data, gram->rows, gram->columns,
                                         gram->rows, gram->scratch.data, gram->product.data, err);
}

static HcStatus call_product(HcRig *rig, void *user, HcError *err) {
    Gram *gram = user;
    return rig->vendor_ops->gemm_float32(rig->vendor, rig->queue, rig->block.data, gram->rows, gram->columns,
                                         rig->block.data, gram->columns, gram->scratch.data, err);
}

static double rate(double operations, const HcBenchRow *row) {
    return operations / (row->least > 0 ? row->least : 1e-9);
}

/* Operations in a second of the vendor's products of a large matrix: in float64 with itself, in float32 with
 * another. The values of the part are taken for the matrices. */
static HcStatus measure_products(HcRig *rig, HcError *err) {
    HcStatus status = HC_OK;
    int64_t pixels = rig->part * rig->settings->samples;
    HcBenchRow row = {0};
    HcBenchRow other = {0};
    Gram gram = {.rows = pixels, .columns = rig->settings->bands};
    if (pixels * rig->settings->bands >= (int64_t)WIDE * WIDE) {
        gram.rows = gram.columns = WIDE;
    }
    size_t n = (size_t)gram.columns;
    HC_TRY(
        hc_alloc(rig->compute, HC_MEMORY_DEVICE, (size_t)gram.rows * n * sizeof(double), &gram.scratch, err));
    HC_TRY(hc_alloc(rig->compute, HC_MEMORY_DEVICE, n * n * sizeof(double), &gram.product, err));
    HC_TRY(hc_zero(rig->queue, gram.product.data, n * n * sizeof(double), err));
    HC_TRY(hc_rig_measure(rig, call_gram, &gram, &row, err));
    rig->device->ceiling.float64 = rate((double)gram.rows * (double)n * (double)(n + 1), &row);
    HC_TRY(hc_rig_measure(rig, call_product, &gram, &other, err));
    rig->device->ceiling.float32 = rate((double)gram.rows * (double)n * (double)n * 2, &other);
done:
    hc_release(rig->compute, &gram.scratch);
    hc_release(rig->compute, &gram.product);
    return status;
}

HcStatus hc_rig_ceilings(HcRig *rig, HcError *err) {
    HcBenchDevice *device = rig->device;
    device->ceiling = device->info.rates;
    if (device->ceiling.memory > 0 || !device->info.shared_memory) {
        return HC_OK;
    }
    device->measured = true;
    if (rig->settings->report != NULL) {
        rig->settings->report(device->by, "ceilings");
    }
    HC_OR_RETURN(hc_rig_decode(rig, rig->part, err)); /* touches the memory */
    HC_OR_RETURN(measure_memory(rig, err));
    if (rig->vendor != NULL) {
        HC_OR_RETURN(measure_products(rig, err));
    }
    return HC_OK;
}
