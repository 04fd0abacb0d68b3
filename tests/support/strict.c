#include "tests/support/strict.h"

#include "core/operation/table.h"
#include "cpu/cpu.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Device addresses start here, where no host address is; they are never given out twice. */
static const uintptr_t device_base = (uintptr_t)1 << 60;

enum { GUARD = 256, GUARD_BYTE = 0xA5, FRESH_BYTE = 0xFF };

/* What the device says that it needs for itself [bytes]. */
enum { RESERVE = 1 << 20 };

static atomic_llong fail_at;
static bool (*asked_to_fail)(void);
static atomic_llong operations;
static atomic_llong leaks;
static atomic_llong overruns;
static atomic_llong uploaded;
static atomic_ullong device_memory; /* of each backend, 0 = no limit */

/* One allocation: guard, memory, guard. */
typedef struct Piece {
    struct Piece *next;
    unsigned char *real; /* the first guard */
    uintptr_t address;   /* what the caller sees */
    size_t bytes;
    HcMemory where;
    bool overrun; /* counted */
} Piece;

typedef struct Strict {
    HcCompute base;
    HcCompute *cpu;
    HcQueue *cpu_queue;
    pthread_mutex_t lock; /* around everything: a device has one order of events too */
    Piece *pieces;
    HcQueue *queues; /* closed ones stay until the end: others may follow them */
    HcSums *sums;
    HcTraining *trainings;
    HcSvd *svds;
    HcPatches *patches;
    HcUnmixing *unmixings;
    HcAbundances *abundances;
    HcL1 *l1s;
    uintptr_t next_address;
    uint64_t memory; /* as it was opened with, 0 = no limit [bytes] */
    uint64_t taken;  /* device memory that is given out [bytes] */
} Strict;

typedef enum WorkKind {
    COPY_IN,
    COPY_OUT,
    ZERO,
    DECODE,
    GATHER,
    FILTER,
    DIFFERENCE,
    PROJECT,
    REDUCE,
    GRAM,
    KNN,
    VOTE,
    PATCHES,
    UNMIX,
    SIMPLEX_BATCHED,
    SVD,
    GEMV,
    GEMV_T,
    FISTA,
    ALM,
    FOLLOW
} WorkKind;

/* What was asked for, with structs copied. */
typedef struct Work {
    struct Work *next;
    WorkKind kind;
    bool fails; /* because a test wants it */
    const void *from;
    void *to;
    size_t bytes;
    HcRaw raw;
    HcDecode how;
    HcBlock in, out;
    const int32_t *index;
    int variant;                                   /* HcFilter, HcDifference or HcReduction */
    const double *matrix, *in_offset, *out_offset; /* matrix: also the targets of REDUCE */
    bool has_window;
    HcWindow window;
    HcSums *sums;
    const HcTraining *training;
    int32_t k;
    int32_t *neighbour; /* written by KNN, read by VOTE */
    double *distance;
    HcVoteRule rule;
    const HcSvd *svd;
    HcSvdBatch batch;
    const HcPatches *patches;
    const HcUnmixing *unmixing;
    const HcAbundances *abundances;
    HcMatrix dense;
    const float *vector; /* the one of products, the right side of l1 problems */
    float *result;
    const HcL1 *l1;
    HcL1Rule l1_rule;
    HcL1Told *told;
    HcQueue *after;
    uint64_t ticket;
} Work;

struct HcQueue {
    HcHead head;
    HcQueue *next;
    Strict *strict;
    bool open;
    Work *first, *last;
    uint64_t accepted, done;
    HcError failure; /* the first since the last wait */
};

struct HcSums {
    HcSumsHead head;
    HcSums *next;
    Strict *strict;
    HcSums *real; /* NULL when closed */
};

struct HcTraining {
    HcTrainingHead head;
    HcTraining *next;
    Strict *strict;
    HcTraining *real; /* NULL when closed */
};

struct HcSvd {
    HcSvdHead head;
    HcSvd *next;
    Strict *strict;
    HcSvd *real; /* NULL when closed */
};

struct HcPatches {
    HcPatchesHead head;
    HcPatches *next;
    Strict *strict;
    HcPatches *real; /* NULL when closed */
};

struct HcUnmixing {
    HcUnmixingHead head;
    HcUnmixing *next;
    Strict *strict;
    HcUnmixing *real; /* NULL when closed */
    HcUnmixRule rule;
    void *counts; /* where rule.counts really is */
};

struct HcAbundances {
    HcAbundancesHead head;
    HcAbundances *next;
    Strict *strict;
    HcAbundances *real; /* NULL when closed */
    HcAbundanceRule rule;
    void *counts; /* where rule.counts really is */
};

struct HcL1 {
    HcL1Head head;
    HcL1 *next;
    Strict *strict;
    HcL1 *real; /* NULL when closed */
    void *data; /* where the matrix really is */
};

static Strict *strict_of(HcCompute *compute) {
    return (Strict *)compute;
}

/* --- memory --- */

static bool guards_hold(const Piece *piece) {
    const unsigned char *after = piece->real + GUARD + piece->bytes;
    for (int i = 0; i < GUARD; i++) {
        if (piece->real[i] != GUARD_BYTE || after[i] != GUARD_BYTE) {
            return false;
        }
    }
    return true;
}

static void note_overrun(Piece *piece) {
    if (!piece->overrun && !guards_hold(piece)) {
        piece->overrun = true;
        atomic_fetch_add(&overruns, 1);
    }
}

static void free_piece(Piece *piece) {
    note_overrun(piece);
    memset(piece->real, FRESH_BYTE, piece->bytes + 2 * (size_t)GUARD);
    free(piece->real);
    free(piece);
}

/* What it was opened with, or what the test set, whichever is less; 0 = no limit. */
static uint64_t memory_limit(const Strict *strict) {
    uint64_t set = atomic_load(&device_memory);
    return set == 0 || (strict->memory > 0 && strict->memory < set) ? strict->memory : set;
}

/* Counts device memory that is wanted; false where there is not that much. Under the lock. */
static bool take_device(Strict *strict, size_t bytes) {
    uint64_t limit = memory_limit(strict);
    if (limit > 0 && strict->taken + bytes > limit) {
        return false;
    }
    strict->taken += bytes;
    return true;
}

static HcStatus strict_alloc(HcCompute *compute, HcMemory where, size_t bytes, HcBuffer *out, HcError *err) {
    Strict *strict = strict_of(compute);
    *out = (HcBuffer){0};
    if (bytes > SIZE_MAX / 4) {
        return hc_fail_memory(err, (double)bytes, "a strict buffer");
    }
    Piece *piece = calloc(1, sizeof *piece);
    unsigned char *real = aligned_alloc(64, (bytes + 2 * (size_t)GUARD + 63) / 64 * 64);
    if (piece == NULL || real == NULL) {
        free(piece);
        free(real);
        return hc_fail_memory(err, (double)bytes, "a strict buffer");
    }
    memset(real, GUARD_BYTE, GUARD);
    memset(real + GUARD, FRESH_BYTE, bytes);
    memset(real + GUARD + bytes, GUARD_BYTE, GUARD);
    *piece = (Piece){.real = real, .address = (uintptr_t)(real + GUARD), .bytes = bytes, .where = where};
    pthread_mutex_lock(&strict->lock);
    if (where == HC_MEMORY_DEVICE && !take_device(strict, bytes)) {
        pthread_mutex_unlock(&strict->lock);
        free_piece(piece);
        return hc_fail_memory(err, (double)bytes, "a strict device buffer");
    }
    if (where == HC_MEMORY_DEVICE) {
        piece->address = strict->next_address;
        strict->next_address += (bytes + 65536) / 4096 * 4096;
    }
    piece->next = strict->pieces;
    strict->pieces = piece;
    pthread_mutex_unlock(&strict->lock);
    *out = (HcBuffer){.data = (void *)piece->address, .bytes = bytes, .where = where, .handle = piece};
    return HC_OK;
}

static void strict_release(HcCompute *compute, HcBuffer *buffer) {
    Strict *strict = strict_of(compute);
    if (buffer == NULL || buffer->handle == NULL) {
        return;
    }
    pthread_mutex_lock(&strict->lock);
    for (Piece **at = &strict->pieces; *at != NULL; at = &(*at)->next) {
        if (*at == buffer->handle) {
            Piece *piece = *at;
            *at = piece->next;
            strict->taken -= piece->where == HC_MEMORY_DEVICE ? piece->bytes : 0;
            free_piece(piece);
            break;
        }
    }
    pthread_mutex_unlock(&strict->lock);
    *buffer = (HcBuffer){0};
}

/* The host address behind device memory [address + low, address + low + bytes), which must lie in one buffer.
 */
static HcStatus translate(const Strict *strict, const void *pointer, int64_t low, size_t bytes,
                          const char *what, void **real, HcError *err) {
    uintptr_t address = (uintptr_t)pointer;
    if (address < device_base) {
        return hc_fail(err, HC_E_DEVICE, "%s: a host pointer where device memory is needed", what);
    }
    uintptr_t first = address + (uintptr_t)low;
    for (const Piece *piece = strict->pieces; piece != NULL; piece = piece->next) {
        if (piece->where == HC_MEMORY_DEVICE && first >= piece->address &&
            first - piece->address <= piece->bytes && bytes <= piece->bytes - (first - piece->address)) {
            *real = (void *)((uintptr_t)(piece->real + GUARD) + (address - piece->address));
            return HC_OK;
        }
    }
    return hc_fail(err, HC_E_DEVICE, "%s: %zu bytes of device memory that is too small or released", what,
                   bytes);
}

static HcStatus translate_block(const Strict *strict, HcBlock *block, const char *what, HcError *err) {
    void *data = NULL;
    void *mask = NULL;
    HC_OR_RETURN(translate(strict, block->data, 0, hc_block_values(block) * sizeof(float), what, &data, err));
    HC_OR_RETURN(translate(strict, block->mask, 0, hc_block_pixels(block), what, &mask, err));
    block->data = data;
    block->mask = mask;
    return HC_OK;
}

/* Grows the extent of a view by one of its dimensions. */
static void extend(int64_t count, int64_t stride, int64_t *low, int64_t *high) {
    int64_t reach = (count - 1) * stride;
    *(reach < 0 ? low : high) += reach;
}

static HcStatus translate_raw(const Strict *strict, HcRaw *raw, HcDecode *how, int32_t bands, HcError *err) {
    void *real = NULL;
    int64_t low = 0;
    int64_t high = (int64_t)hc_type_bytes(raw->type);
    extend(raw->lines, raw->stride_line, &low, &high);
    extend(raw->samples, raw->stride_sample, &low, &high);
    extend(raw->bands, raw->stride_band, &low, &high);
    HC_OR_RETURN(translate(strict, raw->data, low, (size_t)(high - low), "decode, the bytes", &real, err));
    raw->data = real;
    if (raw->user_mask != NULL) {
        HC_OR_RETURN(translate(strict, raw->user_mask, 0, (size_t)raw->lines * (size_t)raw->samples,
                               "decode, the user's mask", &real, err));
        raw->user_mask = real;
    }
    HC_OR_RETURN(translate(strict, how->band_index, 0, sizeof(int32_t) * (size_t)bands, "decode, the bands",
                           &real, err));
    how->band_index = real;
    if (how->counts != NULL) {
        HC_OR_RETURN(translate(strict, how->counts, 0, sizeof(int64_t) * HC_MASK_REASONS,
                               "decode, the counts", &real, err));
        how->counts = real;
    }
    return HC_OK;
}

/* NULL stays NULL. */
static HcStatus translate_doubles(const Strict *strict, const double **values, size_t count, const char *what,
                                  HcError *err) {
    void *real = NULL;
    if (*values == NULL) {
        return HC_OK;
    }
    HcStatus status = translate(strict, *values, 0, count * sizeof(double), what, &real, err);
    *values = real;
    return status;
}

/* --- work --- */

static HcStatus do_copy(const Strict *strict, const Work *work, HcError *err) {
    void *real = NULL;
    bool in = work->kind == COPY_IN;
    const void *host = in ? work->from : work->to;
    HcStatus status =
        translate(strict, in ? work->to : work->from, 0, work->bytes, in ? "upload" : "download", &real, err);
    if (status != HC_OK) {
        return status;
    }
    if ((uintptr_t)host >= device_base) {
        return hc_fail(err, HC_E_DEVICE, "%s: a device pointer where host memory is needed",
                       in ? "upload" : "download");
    }
    if (in) {
        memcpy(real, host, work->bytes);
        atomic_fetch_add(&uploaded, (long long)work->bytes);
    } else {
        memcpy(work->to, real, work->bytes);
    }
    return HC_OK;
}

static HcStatus do_project(const Strict *strict, Work *work, HcError *err) {
    size_t n = (size_t)work->in.bands;
    size_t m = (size_t)work->out.bands;
    HC_OR_RETURN(translate_doubles(strict, &work->matrix, n * m, "project", err));
    HC_OR_RETURN(translate_doubles(strict, &work->in_offset, n, "project", err));
    HC_OR_RETURN(translate_doubles(strict, &work->out_offset, m, "project", err));
    return hc_project(strict->cpu_queue, &work->in, work->matrix, work->in_offset, work->out_offset,
                      &work->out, err);
}

static HcStatus do_reduce(const Strict *strict, Work *work, HcError *err) {
    size_t values = (size_t)work->in.bands * (size_t)work->out.bands;
    HC_OR_RETURN(translate_doubles(strict, &work->matrix, values, "reduce, the targets", err));
    return hc_reduce(strict->cpu_queue, &work->in, (HcReduction)work->variant, work->matrix, &work->out, err);
}

/* The neighbours of the interior pixels. */
static HcStatus translate_neighbours(const Strict *strict, Work *work, const char *what, HcError *err) {
    void *real = NULL;
    size_t count = (size_t)work->in.lines * (size_t)work->in.samples * (size_t)work->k;
    HC_OR_RETURN(translate(strict, work->neighbour, 0, count * sizeof *work->neighbour, what, &real, err));
    work->neighbour = real;
    HC_OR_RETURN(translate(strict, work->distance, 0, count * sizeof *work->distance, what, &real, err));
    work->distance = real;
    return HC_OK;
}

static HcStatus do_knn(const Strict *strict, Work *work, HcError *err) {
    if (work->training->real == NULL) {
        return hc_fail(err, HC_E_DEVICE, "knn: the training spectra were closed before their work was done");
    }
    HC_OR_RETURN(translate_neighbours(strict, work, "knn", err));
    return hc_knn(strict->cpu_queue, &work->in, work->training->real, work->k, work->neighbour,
                  work->distance, err);
}

/* There must be a label for every neighbour. */
static HcStatus do_vote(const Strict *strict, Work *work, HcError *err) {
    void *real = NULL;
    int32_t last = 0;
    HC_OR_RETURN(translate_neighbours(strict, work, "vote", err));
    int64_t count = (int64_t)work->in.lines * work->in.samples * work->k;
    for (int64_t i = 0; i < count; i++) {
        last = work->neighbour[i] > last ? work->neighbour[i] : last;
    }
    HC_OR_RETURN(translate(strict, work->index, 0, ((size_t)last + 1) * sizeof *work->index,
                           "vote, the labels", &real, err));
    return hc_vote(strict->cpu_queue, &work->in, work->neighbour, work->distance, real, &work->rule,
                   &work->out, err);
}

/* NULL stays NULL. */
static HcStatus translate_result(const Strict *strict, void **result, size_t bytes, HcError *err) {
    return *result == NULL ? HC_OK : translate(strict, *result, 0, bytes, "svd, a result", result, err);
}

static HcStatus do_svd(const Strict *strict, Work *work, HcError *err) {
    const HcSvd *svd = work->svd;
    HcSvdBatch *batch = &work->batch;
    if (svd->real == NULL) {
        return hc_fail(err, HC_E_DEVICE, "svd: it was closed before its work was done");
    }
    size_t element = hc_element_bytes(svd->head.element);
    size_t rows = (size_t)svd->head.rows;
    size_t columns = (size_t)svd->head.columns;
    size_t count = (size_t)batch->count;
    size_t vectors = count * (rows < columns ? rows : columns);
    size_t real =
        svd->head.element == HC_ELEMENT_FLOAT32 || svd->head.element == HC_ELEMENT_COMPLEX_FLOAT32 ? 4 : 8;
    void *matrices = NULL;
    void *sweeps = batch->sweeps;
    void *end = batch->end;
    HC_OR_RETURN(translate(strict, batch->matrices, 0, count * rows * columns * element, "svd, the matrices",
                           &matrices, err));
    HC_OR_RETURN(translate_result(strict, &batch->values, vectors * real, err));
    HC_OR_RETURN(translate_result(strict, &batch->left, vectors * rows * element, err));
    HC_OR_RETURN(translate_result(strict, &batch->right, vectors * columns * element, err));
    HC_OR_RETURN(translate_result(strict, &sweeps, count * sizeof *batch->sweeps, err));
    HC_OR_RETURN(translate_result(strict, &end, count * sizeof *batch->end, err));
    batch->matrices = matrices;
    batch->sweeps = sweeps;
    batch->end = end;
    return hc_svd_batched(strict->cpu_queue, svd->real, batch, err);
}

static HcStatus do_patches(const Strict *strict, const Work *work, HcError *err) {
    if (work->patches->real == NULL) {
        return hc_fail(err, HC_E_DEVICE, "patches: they were closed before their work was done");
    }
    return hc_patches(strict->cpu_queue, &work->in, work->patches->real, &work->out, err);
}

/* Where the counts of a rule really are; NULL stays. */
static HcStatus translate_counts(const Strict *strict, const HcUnmixRule *rule, void **real, HcError *err) {
    *real = NULL;
    return rule->counts == NULL ? HC_OK
                                : translate(strict, rule->counts, 0, hc_unmix_counts(rule) * sizeof(int64_t),
                                            "unmix, the counts", real, err);
}

static HcStatus do_unmix(const Strict *strict, const Work *work, HcError *err) {
    if (work->unmixing->real == NULL) {
        return hc_fail(err, HC_E_DEVICE, "unmix: the library was closed before its work was done");
    }
    void *counts = NULL;
    HcStatus status = translate_counts(strict, &work->unmixing->rule, &counts, err);
    if (status != HC_OK || counts != work->unmixing->counts) {
        return status != HC_OK ? status : hc_fail(err, HC_E_DEVICE, "unmix: the counts were moved");
    }
    return hc_unmix(strict->cpu_queue, &work->in, work->unmixing->real, &work->out, err);
}

static HcStatus translate_abundance_counts(const Strict *strict, const HcAbundanceRule *rule, void **real,
                                           HcError *err) {
    *real = NULL;
    return rule->counts == NULL
               ? HC_OK
               : translate(strict, rule->counts, 0, hc_abundance_counts(rule) * sizeof(int64_t),
                           "simplex_batched, the counts", real, err);
}

static HcStatus do_simplex_batched(const Strict *strict, const Work *work, HcError *err) {
    const HcAbundances *abundances = work->abundances;
    if (abundances->real == NULL) {
        return hc_fail(err, HC_E_DEVICE,
                       "simplex_batched: the endmembers were closed before their work was done");
    }
    void *counts = NULL;
    HcStatus status = translate_abundance_counts(strict, &abundances->rule, &counts, err);
    if (status != HC_OK || counts != abundances->counts) {
        return status != HC_OK ? status : hc_fail(err, HC_E_DEVICE, "simplex_batched: the counts were moved");
    }
    return hc_simplex_batched(strict->cpu_queue, &work->in, abundances->real, &work->out, err);
}

static HcStatus translate_matrix(const Strict *strict, const HcMatrix *matrix, void **real, HcError *err) {
    return translate(strict, matrix->data, 0,
                     (size_t)matrix->rows * (size_t)matrix->columns * sizeof *matrix->data, "the matrix",
                     real, err);
}

/* Where the vector that work reads and its result really are. */
static HcStatus translate_vectors(const Strict *strict, const Work *work, int64_t in, int64_t out,
                                  void **vector, void **result, HcError *err) {
    HC_OR_RETURN(translate(strict, work->vector, 0, (size_t)in * sizeof(float), "the vector", vector, err));
    return translate(strict, work->result, 0, (size_t)out * sizeof(float), "the result", result, err);
}

static HcStatus do_gemv(const Strict *strict, const Work *work, HcError *err) {
    HcMatrix matrix = work->dense;
    void *data = NULL;
    void *x = NULL;
    void *y = NULL;
    bool turned = work->kind == GEMV_T;
    HC_OR_RETURN(translate_matrix(strict, &matrix, &data, err));
    HC_OR_RETURN(translate_vectors(strict, work, turned ? matrix.rows : matrix.columns,
                                   turned ? matrix.columns : matrix.rows, &x, &y, err));
    matrix.data = data;
    return (turned ? hc_gemv_t : hc_gemv)(strict->cpu_queue, &matrix, x, y, err);
}

static HcStatus do_l1(const Strict *strict, const Work *work, HcError *err) {
    const HcL1 *l1 = work->l1;
    void *data = NULL;
    void *b = NULL;
    void *x = NULL;
    if (l1->real == NULL) {
        return hc_fail(err, HC_E_DEVICE, "l1: it was closed before its work was done");
    }
    HC_OR_RETURN(translate_matrix(strict, &l1->head.matrix, &data, err));
    if (data != l1->data) {
        return hc_fail(err, HC_E_DEVICE, "l1: the matrix was moved");
    }
    HC_OR_RETURN(translate_vectors(strict, work, l1->head.matrix.rows, l1->head.matrix.columns, &b, &x, err));
    return (work->kind == FISTA ? hc_fista : hc_alm)(strict->cpu_queue, l1->real, &work->l1_rule, b, x,
                                                     work->told, err);
}

static HcStatus do_work(const Strict *strict, Work *work, HcError *err) {
    HcQueue *queue = strict->cpu_queue;
    void *real = NULL;
    if (work->kind >= GATHER && work->kind <= SIMPLEX_BATCHED) {
        HC_OR_RETURN(translate_block(strict, &work->in, "the input block", err));
    }
    if ((work->kind >= DECODE && work->kind < GRAM) || work->kind == VOTE || work->kind == PATCHES ||
        work->kind == UNMIX || work->kind == SIMPLEX_BATCHED) {
        HC_OR_RETURN(translate_block(strict, &work->out, "the output block", err));
    }
    switch (work->kind) {
    case COPY_IN:
    case COPY_OUT:
        return do_copy(strict, work, err);
    case ZERO:
        HC_OR_RETURN(translate(strict, work->to, 0, work->bytes, "zero", &real, err));
        memset(real, 0, work->bytes);
        break;
    case DECODE:
        HC_OR_RETURN(translate_raw(strict, &work->raw, &work->how, work->out.bands, err));
        return hc_decode(queue, &work->raw, &work->how, &work->out, err);
    case GATHER:
        HC_OR_RETURN(translate(strict, work->index, 0, sizeof(int32_t) * (size_t)work->out.bands, "gather",
                               &real, err));
        return hc_gather(queue, &work->in, real, &work->out, err);
    case FILTER:
        return hc_filter(queue, &work->in, (HcFilter)work->variant, &work->out, err);
    case DIFFERENCE:
        return hc_difference(queue, &work->in, (HcDifference)work->variant, &work->out, err);
    case PROJECT:
        return do_project(strict, work, err);
    case REDUCE:
        return do_reduce(strict, work, err);
    case GRAM:
        if (work->sums->real == NULL) {
            return hc_fail(err, HC_E_DEVICE, "gram: the sums were closed before their work was done");
        }
        return hc_gram(queue, &work->in, (HcDifference)work->variant, work->has_window ? &work->window : NULL,
                       work->sums->real, err);
    case KNN:
        return do_knn(strict, work, err);
    case VOTE:
        return do_vote(strict, work, err);
    case PATCHES:
        return do_patches(strict, work, err);
    case UNMIX:
        return do_unmix(strict, work, err);
    case SIMPLEX_BATCHED:
        return do_simplex_batched(strict, work, err);
    case SVD:
        return do_svd(strict, work, err);
    case GEMV:
    case GEMV_T:
        return do_gemv(strict, work, err);
    case FISTA:
    case ALM:
        return do_l1(strict, work, err);
    case FOLLOW:
        break;
    }
    return HC_OK;
}

/* Does the work of a queue up to the given number of pieces. */
static void run_until(HcQueue *queue, uint64_t ticket) {
    while (queue->done < ticket && queue->first != NULL) {
        Work *work = queue->first;
        queue->first = work->next;
        queue->last = queue->first != NULL ? queue->last : NULL;
        if (work->kind == FOLLOW) {
            run_until(work->after, work->ticket);
            if (work->after->failure.status != HC_OK && queue->failure.status == HC_OK) {
                queue->failure = work->after->failure;
            }
        } else if (queue->failure.status == HC_OK) {
            HcError err = {0};
            HcStatus status = work->fails ? hc_fail(&err, HC_E_DEVICE, "the device failed, as the test asked")
                                          : do_work(queue->strict, work, &err);
            if (status != HC_OK) {
                queue->failure = err;
            }
        }
        queue->done++;
        free(work);
    }
}

/* Puts a copy of `work` into the queue. */
static HcStatus accept(HcQueue *queue, const Work *work, HcError *err) {
    Work *copy = malloc(sizeof *copy);
    if (copy == NULL) {
        return hc_fail_memory(err, sizeof *copy, "queued work");
    }
    *copy = *work;
    copy->next = NULL;
    pthread_mutex_lock(&queue->strict->lock);
    if (work->kind != FOLLOW) {
        copy->fails = atomic_fetch_add(&operations, 1) + 1 == atomic_load(&fail_at) ||
                      (asked_to_fail != NULL && asked_to_fail());
    } else {
        copy->ticket = work->after->accepted;
    }
    if (queue->last != NULL) {
        queue->last->next = copy;
    } else {
        queue->first = copy;
    }
    queue->last = copy;
    queue->accepted++;
    pthread_mutex_unlock(&queue->strict->lock);
    return HC_OK;
}

/* --- operations --- */

static HcStatus strict_wait(HcQueue *queue, HcError *err) {
    Strict *strict = queue->strict;
    pthread_mutex_lock(&strict->lock);
    run_until(queue, queue->accepted);
    HcError failure = queue->failure;
    queue->failure = (HcError){0};
    for (Piece *piece = strict->pieces; piece != NULL; piece = piece->next) {
        note_overrun(piece);
        if (piece->overrun && failure.status == HC_OK) {
            (void)hc_fail(&failure, HC_E_DEVICE, "a buffer of %zu bytes was written beyond its ends",
                          piece->bytes);
        }
    }
    pthread_mutex_unlock(&strict->lock);
    return failure.status == HC_OK ? HC_OK : hc_fail(err, failure.status, "%s", failure.text);
}

static HcStatus strict_follow(HcQueue *queue, HcQueue *after, HcError *err) {
    Work work = {.kind = FOLLOW, .after = after};
    return queue == after ? HC_OK : accept(queue, &work, err);
}

static HcStatus copy(HcQueue *queue, WorkKind kind, const void *from, void *to, size_t bytes, HcError *err) {
    Work work = {.kind = kind, .from = from, .to = to, .bytes = bytes};
    return accept(queue, &work, err);
}

static HcStatus strict_upload(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    return copy(queue, COPY_IN, from, to, bytes, err);
}

static HcStatus strict_download(HcQueue *queue, const void *from, void *to, size_t bytes, HcError *err) {
    return copy(queue, COPY_OUT, from, to, bytes, err);
}

static HcStatus strict_zero(HcQueue *queue, void *at, size_t bytes, HcError *err) {
    return copy(queue, ZERO, NULL, at, bytes, err);
}

static HcStatus strict_decode(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                              HcError *err) {
    Work work = {.kind = DECODE, .raw = *raw, .how = *how, .out = *out};
    return accept(queue, &work, err);
}

static HcStatus strict_gather(HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                              HcError *err) {
    Work work = {.kind = GATHER, .in = *in, .index = index, .out = *out};
    return accept(queue, &work, err);
}

static HcStatus strict_filter(HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out,
                              HcError *err) {
    Work work = {.kind = FILTER, .in = *in, .variant = (int)kind, .out = *out};
    return accept(queue, &work, err);
}

static HcStatus strict_difference(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                                  HcError *err) {
    Work work = {.kind = DIFFERENCE, .in = *in, .variant = (int)kind, .out = *out};
    return accept(queue, &work, err);
}

static HcStatus strict_project(HcQueue *queue, const HcBlock *in, const double *matrix,
                               const double *in_offset, const double *out_offset, const HcBlock *out,
                               HcError *err) {
    Work work = {.kind = PROJECT,
                 .in = *in,
                 .matrix = matrix,
                 .in_offset = in_offset,
                 .out_offset = out_offset,
                 .out = *out};
    return accept(queue, &work, err);
}

static HcStatus strict_reduce(HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                              const HcBlock *out, HcError *err) {
    Work work = {.kind = REDUCE, .in = *in, .variant = (int)kind, .matrix = targets, .out = *out};
    return accept(queue, &work, err);
}

static HcStatus strict_gram(HcQueue *queue, const HcBlock *in, HcDifference kind, const HcWindow *window,
                            HcSums *sums, HcError *err) {
    Work work = {.kind = GRAM, .in = *in, .variant = (int)kind, .has_window = window != NULL, .sums = sums};
    if (window != NULL) {
        work.window = *window;
    }
    return accept(queue, &work, err);
}

static HcStatus strict_sums_open(HcCompute *compute, int32_t bands, int64_t integer_limit, HcSums **out,
                                 HcError *err) {
    Strict *strict = strict_of(compute);
    *out = NULL;
    HcSums *sums = calloc(1, sizeof *sums);
    if (sums == NULL) {
        return hc_fail_memory(err, sizeof *sums, "strict sums");
    }
    HcStatus status = hc_sums_open(strict->cpu, bands, integer_limit, &sums->real, err);
    if (status != HC_OK) {
        free(sums);
        return status;
    }
    sums->strict = strict;
    pthread_mutex_lock(&strict->lock);
    sums->next = strict->sums;
    strict->sums = sums;
    pthread_mutex_unlock(&strict->lock);
    *out = sums;
    return HC_OK;
}

static void strict_sums_close(HcSums *sums) {
    if (sums == NULL) {
        return;
    }
    pthread_mutex_lock(&sums->strict->lock);
    hc_sums_close(sums->real);
    sums->real = NULL;
    pthread_mutex_unlock(&sums->strict->lock);
}

static HcStatus strict_sums_fetch(HcQueue *queue, HcSums *sums, HcMoments *out, HcError *err) {
    if (sums->real == NULL) {
        return hc_fail(err, HC_E_USAGE, "sums: they are closed");
    }
    HcStatus status = strict_wait(queue, err);
    if (status != HC_OK) {
        return status;
    }
    pthread_mutex_lock(&sums->strict->lock);
    status = hc_sums_fetch(sums->strict->cpu_queue, sums->real, out, err);
    pthread_mutex_unlock(&sums->strict->lock);
    return status;
}

static HcStatus strict_training_open(HcCompute *compute, const float *spectra, int64_t count, int32_t bands,
                                     HcMetric metric, HcTraining **out, HcError *err) {
    Strict *strict = strict_of(compute);
    *out = NULL;
    HcTraining *training = calloc(1, sizeof *training);
    if (training == NULL) {
        return hc_fail_memory(err, sizeof *training, "strict training spectra");
    }
    HcStatus status = hc_training_open(strict->cpu, spectra, count, bands, metric, &training->real, err);
    if (status != HC_OK) {
        free(training);
        return status;
    }
    training->strict = strict;
    pthread_mutex_lock(&strict->lock);
    training->next = strict->trainings;
    strict->trainings = training;
    pthread_mutex_unlock(&strict->lock);
    *out = training;
    return HC_OK;
}

static void strict_training_close(HcTraining *training) {
    if (training == NULL) {
        return;
    }
    pthread_mutex_lock(&training->strict->lock);
    hc_training_close(training->real);
    training->real = NULL;
    pthread_mutex_unlock(&training->strict->lock);
}

static HcStatus strict_knn(HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k,
                           int32_t *index, double *distance, HcError *err) {
    Work work = {
        .kind = KNN, .in = *in, .training = training, .k = k, .neighbour = index, .distance = distance};
    return accept(queue, &work, err);
}

/* The neighbours are only read. */
static HcStatus strict_vote(HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                            const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err) {
    Work work = {.kind = VOTE,
                 .in = *in,
                 .k = rule->k,
                 .neighbour = (int32_t *)(uintptr_t)index,
                 .distance = (double *)(uintptr_t)distance,
                 .index = label,
                 .rule = *rule,
                 .out = *out};
    return accept(queue, &work, err);
}

static HcStatus strict_svd_open(HcCompute *compute, HcElement element, int32_t rows, int32_t columns,
                                int64_t most, bool vectors, HcSvd **out, HcError *err) {
    Strict *strict = strict_of(compute);
    *out = NULL;
    HcSvd *svd = calloc(1, sizeof *svd);
    if (svd == NULL) {
        return hc_fail_memory(err, sizeof *svd, "strict decompositions");
    }
    HcStatus status = hc_svd_open(strict->cpu, element, rows, columns, most, vectors, &svd->real, err);
    if (status != HC_OK) {
        free(svd);
        return status;
    }
    svd->strict = strict;
    pthread_mutex_lock(&strict->lock);
    svd->next = strict->svds;
    strict->svds = svd;
    pthread_mutex_unlock(&strict->lock);
    *out = svd;
    return HC_OK;
}

static void strict_svd_close(HcSvd *svd) {
    if (svd == NULL) {
        return;
    }
    pthread_mutex_lock(&svd->strict->lock);
    hc_svd_close(svd->real);
    svd->real = NULL;
    pthread_mutex_unlock(&svd->strict->lock);
}

static HcStatus strict_svd_batched(HcQueue *queue, HcSvd *svd, const HcSvdBatch *batch, HcError *err) {
    Work work = {.kind = SVD, .svd = svd, .batch = *batch};
    return accept(queue, &work, err);
}

static HcStatus strict_patches_open(HcCompute *compute, const HcPatchRule *rule, HcPatches **out,
                                    HcError *err) {
    Strict *strict = strict_of(compute);
    *out = NULL;
    HcPatches *patches = calloc(1, sizeof *patches);
    if (patches == NULL) {
        return hc_fail_memory(err, sizeof *patches, "strict patches");
    }
    HcStatus status = hc_patches_open(strict->cpu, rule, &patches->real, err);
    if (status != HC_OK) {
        free(patches);
        return status;
    }
    patches->strict = strict;
    pthread_mutex_lock(&strict->lock);
    patches->next = strict->patches;
    strict->patches = patches;
    pthread_mutex_unlock(&strict->lock);
    *out = patches;
    return HC_OK;
}

static void strict_patches_close(HcPatches *patches) {
    if (patches == NULL) {
        return;
    }
    pthread_mutex_lock(&patches->strict->lock);
    hc_patches_close(patches->real);
    patches->real = NULL;
    pthread_mutex_unlock(&patches->strict->lock);
}

static HcStatus strict_patches(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out,
                               HcError *err) {
    Work work = {.kind = PATCHES, .in = *in, .patches = patches, .out = *out};
    return accept(queue, &work, err);
}

static HcStatus strict_unmix_open(HcCompute *compute, const HcUnmixRule *rule, HcUnmixing **out,
                                  HcError *err) {
    HcStatus status = HC_OK;
    Strict *strict = strict_of(compute);
    void *counts = NULL;
    HcUnmixRule real = {0};
    *out = NULL;
    HcUnmixing *unmixing = calloc(1, sizeof *unmixing);
    if (unmixing == NULL) {
        return hc_fail_memory(err, sizeof *unmixing, "strict unmixing");
    }
    pthread_mutex_lock(&strict->lock);
    status = translate_counts(strict, rule, &counts, err);
    pthread_mutex_unlock(&strict->lock);
    real = *rule;
    real.counts = counts;
    if (status == HC_OK) {
        status = hc_unmix_open(strict->cpu, &real, &unmixing->real, err);
    }
    if (status != HC_OK) {
        free(unmixing);
        return status;
    }
    unmixing->strict = strict;
    unmixing->rule = *rule;
    unmixing->counts = counts;
    pthread_mutex_lock(&strict->lock);
    unmixing->next = strict->unmixings;
    strict->unmixings = unmixing;
    pthread_mutex_unlock(&strict->lock);
    *out = unmixing;
    return status;
}

static void strict_unmix_close(HcUnmixing *unmixing) {
    if (unmixing == NULL) {
        return;
    }
    pthread_mutex_lock(&unmixing->strict->lock);
    hc_unmix_close(unmixing->real);
    unmixing->real = NULL;
    pthread_mutex_unlock(&unmixing->strict->lock);
}

static HcStatus strict_unmix(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                             HcError *err) {
    Work work = {.kind = UNMIX, .in = *in, .unmixing = unmixing, .out = *out};
    return accept(queue, &work, err);
}

static HcStatus strict_abundances_open(HcCompute *compute, const HcAbundanceRule *rule, HcAbundances **out,
                                       HcError *err) {
    HcStatus status = HC_OK;
    Strict *strict = strict_of(compute);
    void *counts = NULL;
    HcAbundanceRule real = {0};
    *out = NULL;
    HcAbundances *abundances = calloc(1, sizeof *abundances);
    if (abundances == NULL) {
        return hc_fail_memory(err, sizeof *abundances, "strict abundances");
    }
    pthread_mutex_lock(&strict->lock);
    status = translate_abundance_counts(strict, rule, &counts, err);
    pthread_mutex_unlock(&strict->lock);
    real = *rule;
    real.counts = counts;
    if (status == HC_OK) {
        status = hc_abundances_open(strict->cpu, &real, &abundances->real, err);
    }
    if (status != HC_OK) {
        free(abundances);
        return status;
    }
    abundances->strict = strict;
    abundances->rule = *rule;
    abundances->counts = counts;
    pthread_mutex_lock(&strict->lock);
    abundances->next = strict->abundances;
    strict->abundances = abundances;
    pthread_mutex_unlock(&strict->lock);
    *out = abundances;
    return status;
}

static void strict_abundances_close(HcAbundances *abundances) {
    if (abundances == NULL) {
        return;
    }
    pthread_mutex_lock(&abundances->strict->lock);
    hc_abundances_close(abundances->real);
    abundances->real = NULL;
    pthread_mutex_unlock(&abundances->strict->lock);
}

static HcStatus strict_simplex_batched(HcQueue *queue, const HcBlock *in, HcAbundances *abundances,
                                       const HcBlock *out, HcError *err) {
    Work work = {.kind = SIMPLEX_BATCHED, .in = *in, .abundances = abundances, .out = *out};
    return accept(queue, &work, err);
}

static HcStatus strict_gemv(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    Work work = {.kind = GEMV, .dense = *matrix, .vector = x, .result = y};
    return accept(queue, &work, err);
}

static HcStatus strict_gemv_t(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y,
                              HcError *err) {
    Work work = {.kind = GEMV_T, .dense = *matrix, .vector = x, .result = y};
    return accept(queue, &work, err);
}

static HcStatus strict_l1_open(HcCompute *compute, const HcMatrix *matrix, HcL1 **out, HcError *err) {
    HcStatus status = HC_OK;
    Strict *strict = strict_of(compute);
    void *data = NULL;
    *out = NULL;
    HcL1 *l1 = calloc(1, sizeof *l1);
    if (l1 == NULL) {
        return hc_fail_memory(err, sizeof *l1, "a strict l1 problem");
    }
    pthread_mutex_lock(&strict->lock);
    status = translate_matrix(strict, matrix, &data, err);
    pthread_mutex_unlock(&strict->lock);
    if (status == HC_OK) {
        HcMatrix real = {data, matrix->rows, matrix->columns};
        status = hc_l1_open(strict->cpu, &real, &l1->real, err);
    }
    if (status != HC_OK) {
        free(l1);
        return status;
    }
    l1->strict = strict;
    l1->data = data;
    pthread_mutex_lock(&strict->lock);
    l1->next = strict->l1s;
    strict->l1s = l1;
    pthread_mutex_unlock(&strict->lock);
    *out = l1;
    return status;
}

static void strict_l1_close(HcL1 *l1) {
    if (l1 == NULL) {
        return;
    }
    pthread_mutex_lock(&l1->strict->lock);
    hc_l1_close(l1->real);
    l1->real = NULL;
    pthread_mutex_unlock(&l1->strict->lock);
}

static HcStatus strict_fista(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                             HcL1Told *told, HcError *err) {
    Work work = {.kind = FISTA, .l1 = l1, .l1_rule = *rule, .vector = b, .result = x, .told = told};
    return accept(queue, &work, err);
}

static HcStatus strict_alm(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                           HcL1Told *told, HcError *err) {
    Work work = {.kind = ALM, .l1 = l1, .l1_rule = *rule, .vector = b, .result = x, .told = told};
    return accept(queue, &work, err);
}

/* Host memory, like eigh. */
static HcStatus strict_simplex(HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                               HcLpSolution *out, HcError *err) {
    return hc_simplex(queue->strict->cpu_queue, program, rule, out, err);
}

static HcStatus strict_eigh(HcCompute *compute, int32_t n, const double *matrix, double *values,
                            double *vectors, HcError *err) {
    HcCompute *cpu = strict_of(compute)->cpu;
    return hc_eigh(cpu, n, matrix, values, vectors, err);
}

/* --- opening and closing --- */

static HcStatus strict_queue_open(HcCompute *compute, HcQueue **out, HcError *err) {
    Strict *strict = strict_of(compute);
    HcQueue *queue = calloc(1, sizeof *queue);
    *out = queue;
    if (queue == NULL) {
        return hc_fail_memory(err, sizeof *queue, "a strict queue");
    }
    queue->strict = strict;
    queue->open = true;
    pthread_mutex_lock(&strict->lock);
    queue->next = strict->queues;
    strict->queues = queue;
    pthread_mutex_unlock(&strict->lock);
    return HC_OK;
}

/* As on a device, work that was accepted is still done. */
static void strict_queue_close(HcQueue *queue) {
    if (queue == NULL) {
        return;
    }
    pthread_mutex_lock(&queue->strict->lock);
    run_until(queue, queue->accepted);
    queue->open = false;
    pthread_mutex_unlock(&queue->strict->lock);
}

static void close_all(Strict *strict) {
    for (HcQueue *queue = strict->queues, *next; queue != NULL; queue = next) {
        next = queue->next;
        atomic_fetch_add(&leaks, queue->open ? 1 : 0);
        for (Work *work = queue->first, *after; work != NULL; work = after) {
            after = work->next;
            free(work);
        }
        free(queue);
    }
    for (HcSums *sums = strict->sums, *next; sums != NULL; sums = next) {
        next = sums->next;
        atomic_fetch_add(&leaks, sums->real != NULL ? 1 : 0);
        hc_sums_close(sums->real);
        free(sums);
    }
    for (HcTraining *training = strict->trainings, *next; training != NULL; training = next) {
        next = training->next;
        atomic_fetch_add(&leaks, training->real != NULL ? 1 : 0);
        hc_training_close(training->real);
        free(training);
    }
    for (HcSvd *svd = strict->svds, *next; svd != NULL; svd = next) {
        next = svd->next;
        atomic_fetch_add(&leaks, svd->real != NULL ? 1 : 0);
        hc_svd_close(svd->real);
        free(svd);
    }
    for (HcPatches *patches = strict->patches, *next; patches != NULL; patches = next) {
        next = patches->next;
        if (patches->real != NULL) {
            atomic_fetch_add(&leaks, 1);
            hc_patches_close(patches->real);
        }
        free(patches);
    }
    for (HcUnmixing *unmixing = strict->unmixings, *next; unmixing != NULL; unmixing = next) {
        next = unmixing->next;
        if (unmixing->real != NULL) {
            atomic_fetch_add(&leaks, 1);
            hc_unmix_close(unmixing->real);
        }
        free(unmixing);
    }
    for (HcAbundances *abundances = strict->abundances, *next; abundances != NULL; abundances = next) {
        next = abundances->next;
        if (abundances->real != NULL) {
            atomic_fetch_add(&leaks, 1);
            hc_abundances_close(abundances->real);
        }
        free(abundances);
    }
    for (HcL1 *l1 = strict->l1s, *next; l1 != NULL; l1 = next) {
        next = l1->next;
        if (l1->real != NULL) {
            atomic_fetch_add(&leaks, 1);
            hc_l1_close(l1->real);
        }
        free(l1);
    }
    for (Piece *piece = strict->pieces, *next; piece != NULL; piece = next) {
        next = piece->next;
        atomic_fetch_add(&leaks, 1);
        free_piece(piece);
    }
}

static void strict_close(HcCompute *compute) {
    Strict *strict = strict_of(compute);
    if (strict == NULL) {
        return;
    }
    close_all(strict);
    if (strict->cpu != NULL) {
        hc_queue_close(strict->cpu_queue);
        hc_compute_close(strict->cpu);
    }
    pthread_mutex_destroy(&strict->lock);
    free(strict);
}

static HcStatus strict_open(HcCompute **out, const HcComputeConfig *config, HcError *err) {
    HcStatus status = HC_OK;
    *out = NULL;
    Strict *strict = calloc(1, sizeof *strict);
    if (strict == NULL) {
        return hc_fail_memory(err, sizeof *strict, "the strict backend");
    }
    pthread_mutex_init(&strict->lock, NULL);
    strict->next_address = device_base;
    strict->memory = config->memory;
    HC_TRY(hc_compute_open(hc_cpu_ops(), config, &strict->cpu, err));
    HC_TRY(hc_queue_open(strict->cpu, &strict->cpu_queue, err));
    *out = &strict->base;
done:
    if (status != HC_OK) {
        strict_close(&strict->base);
    }
    return status;
}

static void strict_info(const HcCompute *compute, HcComputeInfo *out) {
    const Strict *strict = (const Strict *)compute;
    hc_compute_info(strict->cpu, out);
    snprintf(out->name, sizeof out->name, "strict test device, %d threads", out->threads);
    out->shared_memory = false;
    out->slots = 3;
    out->reserve = RESERVE;
    uint64_t limit = memory_limit(strict);
    if (limit > 0) {
        out->memory_total = limit;
        out->memory_free = strict->taken < limit ? limit - strict->taken : 0;
    }
}

#define ENTRY(name, Function) .name = strict_##name,
static const HcComputeOps strict_ops = {.abi = HC_COMPUTE_ABI,
                                        .name = "strict",
                                        .open = strict_open,
                                        .close = strict_close,
                                        .info = strict_info,
                                        .alloc = strict_alloc,
                                        .release = strict_release,
                                        .queue_open = strict_queue_open,
                                        .queue_close = strict_queue_close,
                                        .follow = strict_follow,
                                        .wait = strict_wait,
                                        .upload = strict_upload,
                                        .download = strict_download,
                                        .zero = strict_zero,
                                        HC_OPERATIONS(ENTRY)};

const HcComputeOps *hc_strict_ops(void) {
    return &strict_ops;
}

void hc_strict_fail_at(int64_t n) {
    atomic_store(&operations, 0);
    atomic_store(&fail_at, n);
}

void hc_strict_fail_when(bool (*ask)(void)) {
    asked_to_fail = ask;
}

int64_t hc_strict_operations(void) {
    return atomic_load(&operations);
}

void hc_strict_memory(uint64_t bytes) {
    atomic_store(&device_memory, bytes);
}

int64_t hc_strict_uploaded(void) {
    return atomic_load(&uploaded);
}

int64_t hc_strict_leaks(void) {
    return atomic_load(&leaks);
}

int64_t hc_strict_overruns(void) {
    return atomic_load(&overruns);
}
