/* Copies into shared memory that run beside the computing, what the matrix units read there, what the lanes
 * of a warp find together, and how all blocks of a kernel meet. */
#ifndef HC_GPU_SHARED_CUH
#define HC_GPU_SHARED_CUH

#include <stdint.h>

/* 16 bytes of global memory; on devices before compute capability 8.0 at once. */
__device__ static inline void hc_copy_16(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    uint32_t shared = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared), "l"(from));
#else
    *(uint4 *)to = *(const uint4 *)from;
#endif
}

/* The same of what is not read again soon: it is the first to leave the second-level cache. */
__device__ static inline void hc_copy_16_once(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    uint32_t shared = (uint32_t)__cvta_generic_to_shared(to);
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "l"(policy));
#else
    hc_copy_16(to, from);
#endif
}

/* Copies 4 bytes. */
__device__ static inline void hc_copy_4(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    uint32_t shared = (uint32_t)__cvta_generic_to_shared(to);
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared), "l"(from));
#else
    *(uint32_t *)to = *(const uint32_t *)from;
#endif
}

__device__ static inline void hc_copies_end() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::);
#endif
}

/* Until all copies but those of the newest PENDING ends are there. */
template <int PENDING> __device__ static inline void hc_copies_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
#endif
}

/* Four 8 x 16 byte matrices; lanes 8 k to 8 k + 7 name the rows of the k-th. */
__device__ static inline void hc_load_matrices(uint32_t out[4], uint32_t shared) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared)
                 : "memory");
}

__device__ static inline void hc_load_matrices(uint32_t out[4], const void *row) {
    hc_load_matrices(out, (uint32_t)__cvta_generic_to_shared(row));
}

/* The largest of a warp's integers of 32 bits, in every lane. */
template <typename Integer> __device__ static inline Integer hc_warp_largest(Integer value) {
    static_assert(sizeof(Integer) == 4, "one register");
#if __CUDA_ARCH__ >= 800
    return __reduce_max_sync(0xFFFFFFFFU, value);
#else
    for (int d = 16; d > 0; d /= 2) {
        value = max(value, __shfl_xor_sync(0xFFFFFFFFU, value, d));
    }
    return value;
#endif
}

/* Their sum, in every lane. */
template <typename Integer> __device__ static inline Integer hc_warp_sum(Integer value) {
    static_assert(sizeof(Integer) == 4, "one register");
#if __CUDA_ARCH__ >= 800
    return __reduce_add_sync(0xFFFFFFFFU, value);
#else
    for (int d = 16; d > 0; d /= 2) {
        value += __shfl_xor_sync(0xFFFFFFFFU, value, d);
    }
    return value;
#endif
}

/* v[COUNT] of every lane of a team of TEAM lanes, a power of two that is at least COUNT (also one): the sum
 * over the team of v[p], for the lane whose number is p modulo COUNT. */
template <int COUNT, int TEAM, int HALF = COUNT / 2, typename T>
__device__ static inline T hc_sum_for_lanes(T (&v)[COUNT], int lane) {
    if constexpr (HALF > 0) {
        bool upper = (lane & HALF) != 0;
#pragma unroll
        for (int q = 0; q < HALF; q++) {
            T keep = upper ? v[q + HALF] : v[q];
            T give = upper ? v[q] : v[q + HALF];
            v[q] = keep + __shfl_xor_sync(~0U, give, HALF);
        }
        return hc_sum_for_lanes<COUNT, TEAM, HALF / 2>(v, lane);
    } else {
        T sum = v[0];
#pragma unroll
        for (int mask = COUNT; mask < TEAM; mask *= 2) {
            sum += __shfl_xor_sync(~0U, sum, mask);
        }
        return sum;
    }
}

/* All blocks of a cooperative kernel wait for each other: what each has written before, all read after.
 * numbers[blocks] are 0 before the kernel; number: of the meeting, from 1. */
__device__ static inline void hc_meet(uint32_t *numbers, uint32_t number) {
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(numbers + blockIdx.x), "r"(number)
                     : "memory");
    }
    for (uint32_t k = threadIdx.x; k < gridDim.x; k += blockDim.x) {
        uint32_t met;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(met) : "l"(numbers + k) : "memory");
        } while (met < number);
    }
    __syncthreads();
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* Barriers in shared memory, and copies of the bulk engine that arrive there. */
__device__ static inline uint32_t hc_shared_address(const void *shared) {
    return (uint32_t)__cvta_generic_to_shared(shared);
}

__device__ static inline void hc_barrier_open(uint64_t *barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(hc_shared_address(barrier)), "r"(arrivals));
}

__device__ static inline void hc_barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(hc_shared_address(barrier)) : "memory");
}

__device__ static inline void hc_barrier_expect(uint64_t *barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(hc_shared_address(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ static inline void hc_barrier_wait(uint64_t *barrier, uint32_t phase) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(hc_shared_address(barrier)),
                 "r"(phase)
                 : "memory");
}

__device__ static inline void hc_copy_bulk(void *to, const void *from, uint32_t bytes, uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            hc_shared_address(to)),
        "l"(from), "r"(bytes), "r"(hc_shared_address(barrier))
        : "memory");
}

#endif

#endif
