/* Copies into shared memory that run beside the computing, and what the matrix units read there. */
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

__device__ static inline uint32_t hc_address_of(const void *shared) {
    return (uint32_t)__cvta_generic_to_shared(shared);
}

#if __CUDA_ARCH__ >= 900

/* ---- copies that say at a barrier in shared memory when they are there ---- */

__device__ static inline void hc_barrier_open(uint64_t *barrier, uint32_t arrivals) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(hc_address_of(barrier)), "r"(arrivals));
}

/* By the thread that opened barriers, before others know of them. */
__device__ static inline void hc_barriers_opened() {
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

__device__ static inline void hc_barrier_arrive(uint64_t *barrier) {
    asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(hc_address_of(barrier)) : "memory");
}

__device__ static inline void hc_barrier_expect(uint64_t *barrier, uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(hc_address_of(barrier)),
                 "r"(bytes)
                 : "memory");
}

__device__ static inline void hc_barrier_wait(uint64_t *barrier, uint32_t phase) {
    asm volatile("{\n"
                 ".reg .pred done;\n"
                 "again:\n"
                 "mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
                 "@!done bra again;\n"
                 "}" ::"r"(hc_address_of(barrier)),
                 "r"(phase)
                 : "memory");
}

/* Both sides are aligned for 16 bytes, of which there is a multiple. */
__device__ static inline void hc_copy_bulk(void *to, const void *from, uint32_t bytes, uint64_t *barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
            hc_address_of(to)),
        "l"(from), "r"(bytes), "r"(hc_address_of(barrier))
        : "memory");
}

/* Between what this thread stored in shared memory, or saw stored, and bulk copies to the same place. */
__device__ static inline void hc_copy_bulk_behind() {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#endif

/* Four 8 x 16 byte matrices; lanes 8 k to 8 k + 7 name the rows of the k-th. */
__device__ static inline void hc_load_matrices(uint32_t out[4], const void *row) {
    uint32_t shared = (uint32_t)__cvta_generic_to_shared(row);
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(out[0]), "=r"(out[1]), "=r"(out[2]), "=r"(out[3])
                 : "r"(shared)
                 : "memory");
}

#endif
