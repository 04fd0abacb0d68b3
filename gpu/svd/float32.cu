/* Decompositions of matrices of this element: a file of its own, since its kernels take long to compile. */
#include "gpu/svd/run.cuh"

HcStatus hc_svd_float32(HcQueue *queue, const HcSvd *svd, const HcSvdBatch *batch, HcError *err) {
    return hc_svd_run<float, false>(queue, svd, batch, err);
}
