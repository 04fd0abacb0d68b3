/* Decomposes a batch of matrices of one element: which kernels, in which order. */
#ifndef HC_GPU_SVD_RUN_CUH
#define HC_GPU_SVD_RUN_CUH

#include "gpu/svd/large.cuh"

#include <math.h>

static const char hc_svd_doing[] = "decomposing matrices";

/* Cosine that counts as orthogonal, for columns of that many entries (as LAPACK's gesvj has it). */
template <typename T> static inline T hc_svd_tolerance(int32_t rows) {
    const double unit = sizeof(T) == 4 ? 0x1p-24 : 0x1p-53;
    return (T)(unit * fmax(4, sqrt((double)rows)));
}

template <typename T, bool COMPLEX, int SIDE, bool BESIDE, int KNOWN = 1, int TEAM = SIDE>
static HcStatus hc_svd_launch_together(cudaStream_t stream, const HcSvdJob<T> &job, HcError *err) {
    typedef HcTogether<T, COMPLEX, SIDE, BESIDE, KNOWN, TEAM> Together;
    int64_t blocks = hc_div_up(job.count, Together::matrices);
    hc_svd_together<T, COMPLEX, SIDE, BESIDE, KNOWN, TEAM>
        <<<(unsigned)blocks, Together::threads, 0, stream>>>(job);
    return hc_gpu_launched(hc_svd_doing, err);
}

/* Warps that keep all processors busy, at least. */
static inline int64_t hc_svd_warps(const HcSvd *svd) {
    return 8 * (int64_t)svd->gpu->processors;
}

/* Of sides up to 16. */
template <typename T, bool COMPLEX, int SIDE>
static HcStatus hc_svd_launch_tiny(const HcSvd *svd, cudaStream_t stream, const HcSvdJob<T> &job,
                                   HcError *err) {
    bool beside = job.v.data != NULL && job.count * SIDE / 32 < hc_svd_warps(svd);
    return beside ? hc_svd_launch_together<T, COMPLEX, SIDE, true>(stream, job, err)
                  : hc_svd_launch_together<T, COMPLEX, SIDE, false>(stream, job, err);
}

template <typename T, bool COMPLEX, int SIDE, int ROWS>
static HcStatus hc_svd_launch_apart(cudaStream_t stream, const HcSvdJob<T> &job, HcError *err) {
    typedef HcApart<T, COMPLEX, SIDE, ROWS> Apart;
    int threads = job.v.data != NULL ? Apart::threads : Apart::threads / 2;
    hc_svd_apart<T, COMPLEX, SIDE, ROWS><<<(unsigned)job.count, threads, 0, stream>>>(job);
    return hc_gpu_launched(hc_svd_doing, err);
}

/* Sides that have a kernel, by what fits into registers. */
template <typename T, bool COMPLEX> static int32_t hc_svd_side(int32_t side) {
    const bool narrow = sizeof(T) == 4 && !COMPLEX;
    return side <= 8              ? 8
           : side <= 16           ? 16
           : side <= 24 && narrow ? 24
           : side <= 32           ? 32
           : side <= 48 && narrow ? 48
                                  : 64;
}

template <typename T, bool COMPLEX>
static HcStatus hc_svd_launch(const HcSvd *svd, cudaStream_t stream, const HcSvdJob<T> &job, HcError *err) {
    if constexpr (sizeof(T) == 4 && !COMPLEX) {
        if (job.rows > 32 && job.columns <= 32) {
            return job.columns <= 20 ? hc_svd_launch_together<T, COMPLEX, 20, false, 4, 16>(stream, job, err)
                   : job.columns <= 24
                       ? hc_svd_launch_together<T, COMPLEX, 24, false, 4, 16>(stream, job, err)
                       : hc_svd_launch_together<T, COMPLEX, 32, false, 2>(stream, job, err);
        }
    }
    int32_t side = hc_svd_side<T, COMPLEX>(job.rows > job.columns ? job.rows : job.columns);
    if constexpr (sizeof(T) == 4 && !COMPLEX) {
        switch (side) {
        case 8:
            return hc_svd_launch_tiny<T, COMPLEX, 8>(svd, stream, job, err);
        case 16:
            return hc_svd_launch_tiny<T, COMPLEX, 16>(svd, stream, job, err);
        case 24:
            return hc_svd_launch_together<T, COMPLEX, 24, false, 2, 16>(stream, job, err);
        case 32:
            return hc_svd_launch_together<T, COMPLEX, 32, false, 2, 16>(stream, job, err);
        case 48:
            return hc_svd_launch_apart<T, COMPLEX, 48, 2>(stream, job, err);
        default:
            return hc_svd_launch_apart<T, COMPLEX, 64, 2>(stream, job, err);
        }
    } else {
        switch (side) {
        case 8:
            return hc_svd_launch_tiny<T, COMPLEX, 8>(svd, stream, job, err);
        case 16:
            return hc_svd_launch_tiny<T, COMPLEX, 16>(svd, stream, job, err);
        case 32:
            return hc_svd_launch_apart<T, COMPLEX, 32, 1>(stream, job, err);
        default:
            return hc_svd_launch_apart<T, COMPLEX, 64, 1>(stream, job, err);
        }
    }
}

/* One batch, cut into parts as large as the memory of the plan. */
template <typename T, bool COMPLEX> struct HcSvdRunner {
    typedef HcElementOf<T, COMPLEX> Element;
    const HcSvd *svd;
    cudaStream_t stream;
    HcSvdScratch scratch;
    int64_t count;           /* of this part */
    const Element *matrices; /* of this part, as everything below */
    T *values;
    Element *u, *v; /* vectors of B: [n][m] and [n][n]; NULL = not wanted */
    int32_t *sweeps;
    uint8_t *end;

    HcSvdWork<T, COMPLEX> work() const {
        return {matrices,
                svd->wide,
                svd->m,
                svd->n,
                svd->stored,
                (Element *)scratch.w,
                (Element *)scratch.v,
                scratch.exponent,
                scratch.done,
                scratch.turned,
                scratch.sweeps,
                scratch.finite};
    }

    HcSvdJob<T> job() const {
        HcSvdJob<T> out = {};
        out.count = count;
        out.shared_by = 1;
        out.sweeps_most = HC_SVD_SWEEPS;
        out.tolerance = hc_svd_tolerance<T>(svd->m);
        out.values = values;
        out.sweeps = sweeps;
        out.end = end;
        return out;
    }

    /* Vectors [n][length] where values are 0. */
    HcStatus complete(Element *vectors, int32_t length, HcError *err) const {
        if (vectors == NULL) {
            return HC_OK;
        }
        hc_svd_complete<T, COMPLEX><<<(unsigned)count, HC_SVD_THREADS, (size_t)length * sizeof(T), stream>>>(
            length, svd->n, values, vectors);
        return hc_gpu_launched(hc_svd_doing, err);
    }

    HcStatus run_small(HcError *err) const {
        HcSvdJob<T> small = job();
        small.source = (const T *)matrices;
        small.source_matrix = (int64_t)svd->m * svd->n;
        small.source_row = svd->wide ? 1 : svd->n;
        small.source_column = svd->wide ? svd->m : 1;
        small.conjugate = svd->wide;
        small.rows = svd->m;
        small.columns = svd->n;
        small.u = {(T *)u, (int64_t)svd->n * svd->m, svd->m};
        small.v = {(T *)v, (int64_t)svd->n * svd->n, svd->n};
        HC_OR_RETURN((hc_svd_launch<T, COMPLEX>(svd, stream, small, err)));
        return complete(u, svd->m, err);
    }

    /* Memory for a kernel that asks for more than any may have without. */
    template <typename Kernel> static HcStatus allow(Kernel *kernel, size_t bytes, HcError *err) {
        return hc_gpu_check(
            cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes),
            hc_svd_doing, err);
    }

    HcStatus prepare(HcError *err) const {
        hc_svd_prepare<T, COMPLEX><<<(unsigned)count, HC_SVD_THREADS, 0, stream>>>(work());
        return hc_gpu_launched(hc_svd_doing, err);
    }

    /* In shared memory where it fits into that of a block. */
    HcStatus run_qr(HcSvdQr<T, COMPLEX> qr, HcError *err) const {
        size_t bytes = (size_t)svd->m * (size_t)qr.columns * sizeof(Element);
        qr.in_shared = bytes <= svd->gpu->shared_memory - 1024;
        bytes = qr.in_shared ? bytes : 0;
        HC_OR_RETURN(allow(hc_svd_qr<T, COMPLEX>, bytes, err));
        hc_svd_qr<T, COMPLEX>
            <<<(unsigned)(count * (qr.pairs > 0 ? qr.pairs : 1)), HC_SVD_THREADS, bytes, stream>>>(qr);
        return hc_gpu_launched(hc_svd_doing, err);
    }

    HcStatus apply_q(HcError *err) const {
        size_t vector = (size_t)svd->m * sizeof(Element);
        size_t warps = 48 * 1024 / vector;
        warps = warps < 1 ? 1 : warps > 8 ? 8 : warps;
        dim3 grid((unsigned)count, (unsigned)hc_div_up(svd->n, (int64_t)warps));
        HC_OR_RETURN(allow(hc_svd_apply_q<T, COMPLEX>, warps * vector, err));
        hc_svd_apply_q<T, COMPLEX><<<grid, (unsigned)(32 * warps), warps * vector, stream>>>(
            work(), (const Element *)scratch.tau, u);
        return hc_gpu_launched(hc_svd_doing, err);
    }

    /* B = Q R, conj(R)' = X S conj(Y)', so that B = (Q Y) S conj(X)': the triangle below the diagonal needs
     * fewer sweeps than that above. */
    HcStatus run_long(HcError *err) const {
        HcSvdQr<T, COMPLEX> qr = {};
        HcSvdJob<T> triangle = job();
        qr.work = work();
        qr.columns = svd->n;
        qr.r = (Element *)scratch.r;
        qr.tau = (Element *)scratch.tau;
        triangle.source = (const T *)scratch.r;
        triangle.source_matrix = (int64_t)svd->n * svd->n;
        triangle.source_row = svd->n;
        triangle.source_column = 1;
        triangle.conjugate = true;
        triangle.scaled = true;
        triangle.rows = svd->n;
        triangle.columns = svd->n;
        triangle.exponent = scratch.exponent;
        triangle.u = {(T *)v, (int64_t)svd->n * svd->n, svd->n};
        triangle.v = {(T *)u, (int64_t)svd->n * svd->m, svd->m};
        HC_OR_RETURN(prepare(err));
        HC_OR_RETURN(run_qr(qr, err));
        HC_OR_RETURN((hc_svd_launch<T, COMPLEX>(svd, stream, triangle, err)));
        HC_OR_RETURN(complete(v, svd->n, err));
        if (u != NULL) {
            HC_OR_RETURN(apply_q(err));
        }
        return HC_OK;
    }

    /* All pairs of a round meet. */
    HcStatus run_round(int32_t pairs, int32_t round, HcError *err) const {
        const int64_t square = HC_SVD_PANEL * HC_SVD_PANEL;
        const dim3 grid((unsigned)(hc_div_up(svd->m, HC_SVD_TILE) + hc_div_up(svd->n, HC_SVD_TILE)),
                        (unsigned)(count * pairs));
        const HcSvdReplay<T, COMPLEX> replay = {work(), pairs, round, scratch.record, scratch.job_sweeps};
        HcSvdQr<T, COMPLEX> qr = {};
        HcSvdJob<T> triangle = job();
        qr.work = work();
        qr.columns = HC_SVD_PANEL;
        qr.pairs = pairs;
        qr.round = round;
        qr.panel = (Element *)scratch.panel;
        qr.r = (Element *)scratch.r;
        triangle.source = (const T *)scratch.r;
        triangle.source_matrix = square;
        triangle.source_row = 1;
        triangle.source_column = HC_SVD_PANEL;
        triangle.scaled = true;
        triangle.count = count * pairs;
        triangle.rows = triangle.columns = HC_SVD_PANEL;
        triangle.values = NULL;
        triangle.record = scratch.record;
        triangle.sweeps_most = HC_SVD_MEETING_SWEEPS;
        triangle.sweeps = scratch.job_sweeps;
        triangle.end = NULL;
        triangle.done = scratch.done;
        triangle.shared_by = pairs;
        HC_OR_RETURN(run_qr(qr, err));
        HC_OR_RETURN((hc_svd_launch<T, COMPLEX>(svd, stream, triangle, err)));
        hc_svd_replay<T, COMPLEX><<<grid, HC_SVD_TILE, 0, stream>>>(replay);
        return hc_gpu_launched(hc_svd_doing, err);
    }

    HcStatus run_blocks(HcError *err) const {
        int32_t pairs = svd->stored / HC_SVD_PANEL;
        HC_OR_RETURN(prepare(err));
        for (int32_t sweep = 0; sweep < HC_SVD_SWEEPS; sweep++) {
            for (int32_t round = 0; round < 2 * pairs - 1; round++) {
                HC_OR_RETURN(run_round(pairs, round, err));
            }
            hc_svd_end_sweep<T, COMPLEX><<<(unsigned)hc_div_up(count, 128), 128, 0, stream>>>(work(), count);
            HC_OR_RETURN(hc_gpu_launched(hc_svd_doing, err));
        }
        hc_svd_finish<T, COMPLEX><<<(unsigned)count, HC_SVD_THREADS, 0, stream>>>(work(), (T *)scratch.norms,
                                                                                  values, u, v, sweeps, end);
        HC_OR_RETURN(hc_gpu_launched(hc_svd_doing, err));
        return complete(u, svd->m, err);
    }

    HcStatus run(HcError *err) const {
        return svd->way == HC_SVD_SMALL  ? run_small(err)
               : svd->way == HC_SVD_LONG ? run_long(err)
                                         : run_blocks(err);
    }
};

template <typename T, bool COMPLEX>
static HcStatus hc_svd_run(HcQueue *queue, const HcSvd *svd, const HcSvdBatch *batch, HcError *err) {
    typedef HcElementOf<T, COMPLEX> Element;
    HcStatus status = HC_OK;
    for (int64_t first = 0; first < batch->count; first += svd->most) {
        HcSvdRunner<T, COMPLEX> runner = {};
        Element *left = (Element *)batch->left;
        Element *right = (Element *)batch->right;
        left = left != NULL ? left + first * svd->n * svd->rows : NULL;
        right = right != NULL ? right + first * svd->n * svd->columns : NULL;
        runner.svd = svd;
        runner.stream = queue->stream;
        runner.scratch = svd->scratch;
        runner.count = hc_min64(svd->most, batch->count - first);
        runner.matrices = (const Element *)batch->matrices + first * svd->m * svd->n;
        runner.values = (T *)batch->values + first * svd->n;
        runner.u = svd->wide ? right : left;
        runner.v = svd->wide ? left : right;
        runner.sweeps = batch->sweeps != NULL ? batch->sweeps + first : NULL;
        runner.end = batch->end != NULL ? batch->end + first : NULL;
        HC_OR_RETURN(runner.run(err));
    }
    return status;
}

#endif
