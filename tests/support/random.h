/* The random numbers of the tests (splitmix64): the same on every machine, given by the seed alone. */
#ifndef HC_TESTS_SUPPORT_RANDOM_H
#define HC_TESTS_SUPPORT_RANDOM_H

#include <math.h>
#include <stdint.h>

/* The next 64 bits. */
static inline uint64_t random_bits(uint64_t *seed) {
    uint64_t z = (*seed += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* low ... high, both included. */
static inline int64_t random_between(uint64_t *seed, int64_t low, int64_t high) {
    return low + (int64_t)(random_bits(seed) % (uint64_t)(high - low + 1));
}

/* 0 <= x < 1. */
static inline double random_uniform(uint64_t *seed) {
    return (double)(random_bits(seed) >> 11) * 0x1p-53;
}

/* Mean 0, variance 1 (Box and Muller). */
static inline double random_normal(uint64_t *seed) {
    double radius = sqrt(-2 * log(1 - random_uniform(seed)));
    return radius * cos(6.283185307179586 * random_uniform(seed));
}

#endif
