/* Singular value decompositions of many matrices of one shape: opening, and sharing them among threads. How
 * they are decomposed is in lanes.c (many side by side) and single.c. */
#include "cpu/svd/svd.h"
#include "core/allocate.h"
#include "cpu/work.h"

#include <stdatomic.h>
#include <stdlib.h>

HcStatus hc_cpu_svd_open(HcCompute *compute, HcElement element, int32_t rows, int32_t columns, int64_t most,
                         bool vectors, HcSvd **out, HcError *err) {
    HcStatus status = HC_OK;
    HcSvd *svd = NULL;
    *out = NULL;
    HC_TRY(hc_new(svd, 1, "singular value decompositions", err));
    svd->element = element;
    svd->turned = rows < columns;
    svd->longer = svd->turned ? columns : rows;
    svd->shorter = svd->turned ? rows : columns;
    svd->vectors = vectors;
    svd->way = svd->shorter <= HC_SVD_LANES_MAX ? hc_cpu_svd_lanes(element) : NULL;
    if (svd->way == NULL) {
        svd->way = hc_cpu_svd_single(element);
    }
    int64_t calls = (most - 1) / svd->way->at_once + 1;
    svd->at_once = (int)hc_min64(calls, ((const HcCpu *)compute)->threads);
    svd->work_bytes = (svd->way->work_bytes(svd) + 63) / 64 * 64;
    svd->work = aligned_alloc(64, svd->work_bytes * (size_t)svd->at_once);
    if (svd->work == NULL) {
        HC_TRY(hc_fail_memory(err, (double)svd->work_bytes * svd->at_once, "singular value decompositions"));
    }
    *out = svd;
done:
    if (status != HC_OK) {
        hc_cpu_svd_close(svd);
    }
    return status;
}

void hc_cpu_svd_close(HcSvd *svd) {
    if (svd != NULL) {
        free(svd->work);
        free(svd);
    }
}

typedef struct Job {
    HcSvd *svd;
    const HcSvdBatch *batch;
    atomic_llong next; /* matrix */
} Job;

/* Takes matrices while there are any, in the memory of this number: there may be fewer of those than threads.
 */
static void decompose(void *user, int64_t number, int64_t end, int32_t thread) {
    Job *job = user;
    HcSvd *svd = job->svd;
    int64_t at_once = svd->way->at_once;
    (void)thread;
    for (; number < end; number++) {
        void *work = svd->work + svd->work_bytes * (size_t)number;
        int64_t first;
        while ((first = atomic_fetch_add(&job->next, at_once)) < job->batch->count) {
            int32_t count = (int32_t)hc_min64(at_once, job->batch->count - first);
            svd->way->decompose(svd, job->batch, first, count, work);
        }
    }
}

HcStatus hc_cpu_svd_batched(HcQueue *queue, HcSvd *svd, const HcSvdBatch *batch, HcError *err) {
    Job job = {.svd = svd, .batch = batch};
    (void)err;
    hc_cpu_blas_alone();
    hc_cpu_work(queue->cpu, svd->at_once, 1, decompose, &job);
    return HC_OK;
}
