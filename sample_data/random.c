/* Random numbers of make_sample: streams, and a field that is the same at every visit. */
#include "random.h"

#include <math.h>

const uint64_t random_seed = 20240501;

static uint64_t splitmix64(uint64_t *state) {
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

Random random_start(uint64_t stream) {
    uint64_t mixer = random_seed ^ stream * UINT64_C(0xd1b54a32d192ed03);
    Random random = {.has_spare = false};
    for (int i = 0; i < 4; i++) {
        random.state[i] = splitmix64(&mixer);
    }
    return random;
}

static uint64_t rotate_left(uint64_t value, int count) {
    return value << count | value >> (64 - count);
}

/* xoshiro256** of Blackman and Vigna. */
uint64_t random_bits(Random *random) {
    uint64_t *s = random->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

double random_uniform(Random *random) {
    return (double)(random_bits(random) >> 11) * 0x1p-53;
}

/* Box and Muller: two normal numbers from two uniform ones. */
double random_normal(Random *random) {
    if (random->has_spare) {
        random->has_spare = false;
        return random->spare;
    }
    double radius = sqrt(-2.0 * log(1.0 - random_uniform(random)));
    double angle = 2.0 * PI * random_uniform(random);
    random->spare = radius * sin(angle);
    random->has_spare = true;
    return radius * cos(angle);
}

double place_hash(int stream, int i, int j) {
    uint64_t state = random_seed + (uint64_t)stream * UINT64_C(0x632be59bd9b4e019) +
                     (uint64_t)(i + 4096) * 8192 + (uint64_t)(j + 4096);
    splitmix64(&state);
    return (double)(splitmix64(&state) >> 11) * 0x1p-53;
}

static double smooth_step(double t) {
    return t * t * t * (t * (6.0 * t - 15.0) + 10.0);
}

/* A smooth random field, -1 to 1, whose hills are about `size` pixels wide: three octaves of value noise. */
double field(int stream, double x, double y, double size) {
    double sum = 0.0;
    double amplitude = 1.0;
    for (int octave = 0; octave < 3; octave++) {
        double column = floor(x / size);
        double row = floor(y / size);
        double u = smooth_step(x / size - column);
        double v = smooth_step(y / size - row);
        int i = (int)column;
        int j = (int)row;
        int layer = 3 * stream + octave;
        double above = (1.0 - u) * place_hash(layer, i, j) + u * place_hash(layer, i + 1, j);
        double below = (1.0 - u) * place_hash(layer, i, j + 1) + u * place_hash(layer, i + 1, j + 1);
        sum += amplitude * (2.0 * ((1.0 - v) * above + v * below) - 1.0);
        amplitude *= 0.45;
        size *= 0.5;
    }
    return sum / 1.6525;
}
