/* Splitmix64 (Steele, Lea, Flood 2014): numbers that a seed alone decides, the same on every machine. */
#ifndef HC_PIPELINE_RANDOM_H
#define HC_PIPELINE_RANDOM_H

#include <stdint.h>

/* The next 64 bits; *state begins with the seed. */
static inline uint64_t hc_random_bits(uint64_t *state) {
    uint64_t z = (*state += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return z ^ (z >> 31);
}

/* Uniform in [0, 1), in multiples of 2^-53. */
static inline double hc_random_uniform(uint64_t *state) {
    return (double)(hc_random_bits(state) >> 11) * 0x1p-53;
}

#endif
