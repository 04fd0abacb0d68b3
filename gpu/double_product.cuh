/* Products of float64 tiles by a warp.
 *
 * On an H200 each entry is a chain of fused multiply-adds in the order of k, with each shape of mma. That was
 * tested with random numbers, and NVIDIA does not document it. */
#ifndef HC_GPU_DOUBLE_PRODUCT_CUH
#define HC_GPU_DOUBLE_PRODUCT_CUH

/* 8 x 8 += 8 x 4 times 4 x 8. Lane 4 g + t holds row g, columns 2t and 2t + 1 of the sum (c0, c1), row g,
 * column t of the left factor and row t, column g of the right one. */
__device__ static inline void hc_multiply_8x8x4(double &c0, double &c1, double a, double b) {
#if __CUDA_ARCH__ >= 800
    asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
        : "+d"(c0), "+d"(c1)
        : "d"(a), "d"(b));
#else
    int lane = (int)threadIdx.x % 32;
    int column = lane % 4 * 2;
    for (int k = 0; k < 4; k++) {
        double x = __shfl_sync(0xFFFFFFFFU, a, lane / 4 * 4 + k);
        c0 = fma(x, __shfl_sync(0xFFFFFFFFU, b, column * 4 + k), c0);
        c1 = fma(x, __shfl_sync(0xFFFFFFFFU, b, column * 4 + 4 + k), c1);
    }
#endif
}

#if __CUDA_ARCH__ >= 900
/* 16 x 8 += 16 x 4 times 4 x 8: as above, with rows g + 8 in c2, c3 and a1. Twice the rate. */
__device__ static inline void hc_multiply_16x8x4(double &c0, double &c1, double &c2, double &c3, double a0,
                                                 double a1, double b) {
    asm("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+d"(c0), "+d"(c1), "+d"(c2), "+d"(c3)
        : "d"(a0), "d"(a1), "d"(b));
}
#endif

#endif
