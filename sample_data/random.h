/* Random numbers of make_sample: streams, and a field that is the same at every visit. */
#ifndef SAMPLE_DATA_RANDOM_H
#define SAMPLE_DATA_RANDOM_H

#include <stdbool.h>
#include <stdint.h>

#define PI 3.14159265358979323846

/* All numbers follow from it. */
extern const uint64_t random_seed;

typedef struct Random {
    uint64_t state[4];
    double spare;
    bool has_spare;
} Random;

/* The same numbers for the same stream. */
Random random_start(uint64_t stream);
uint64_t random_bits(Random *random);
/* 0 to 1, without 1. */
double random_uniform(Random *random);
double random_normal(Random *random);

/* A random number in 0..1 that a place always has: the landscape is the same at every visit. */
double place_hash(int stream, int i, int j);
/* A smooth random field, -1 to 1, whose hills are about `size` pixels wide. */
double field(int stream, double x, double y, double size);

#endif
