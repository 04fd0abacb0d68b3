#include "pipeline/stages/kmeans/sums.h"
#include "core/allocate.h"

#include <math.h>
#include <string.h>

/* Bands that a thread adds at a time. */
enum { BANDS_AT_ONCE = 8 };

static size_t digits(int32_t clusters, int32_t bands) {
    return (size_t)clusters * (size_t)bands * HC_CLUSTER_DIGITS;
}

size_t hc_cluster_sums_bytes(int32_t clusters, int32_t bands) {
    return (digits(clusters, bands) + (size_t)clusters) * sizeof(int64_t);
}

HcStatus hc_cluster_sums_open(HcClusterSums *sums, int32_t clusters, int32_t bands, HcError *err) {
    sums->clusters = clusters;
    sums->bands = bands;
    HC_OR_RETURN(hc_new(sums->count, clusters, "sizes of clusters", err));
    return hc_new(sums->digit, digits(clusters, bands), "sums of clusters", err);
}

void hc_cluster_sums_close(HcClusterSums *sums) {
    free(sums->count);
    free(sums->digit);
    *sums = (HcClusterSums){0};
}

/* Adds a value to digits, or takes it away again. */
static void add_value(int64_t *digit, float value, bool away) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    uint32_t exponent = bits >> 23 & 0xff;
    int64_t mantissa = bits & 0x7fffff;
    if (exponent > 0) { /* not a subnormal number */
        mantissa |= 0x800000;
        exponent--;
    }
    int64_t part = mantissa << (exponent & 7);
    digit[exponent >> 3] += (bits >> 31 != 0) != away ? -part : part;
}

typedef struct Moving {
    HcClusterSums *sums;
    const float *values;
    const HcMove *move;
    size_t moves;
} Moving;

static void move_band(const Moving *moving, const HcMove *move, size_t band) {
    const HcClusterSums *sums = moving->sums;
    size_t bands = (size_t)sums->bands;
    float value = moving->values[(size_t)move->pixel * bands + band];
    if (move->from >= 0) {
        add_value(sums->digit + ((size_t)move->from * bands + band) * HC_CLUSTER_DIGITS, value, true);
    }
    if (move->to >= 0) {
        add_value(sums->digit + ((size_t)move->to * bands + band) * HC_CLUSTER_DIGITS, value, false);
    }
}

static void move_bands(void *user, int64_t item, int32_t thread) {
    const Moving *moving = user;
    size_t first = (size_t)item * BANDS_AT_ONCE;
    size_t end = (size_t)hc_min64(moving->sums->bands, (int64_t)first + BANDS_AT_ONCE);
    (void)thread;
    for (size_t i = 0; i < moving->moves; i++) {
        for (size_t b = first; b < end; b++) {
            move_band(moving, &moving->move[i], b);
        }
    }
}

void hc_cluster_sums_move(HcClusterSums *sums, HcTeam *team, const float *values, const HcMove *move,
                          size_t moves) {
    Moving moving = {sums, values, move, moves};
    for (size_t i = 0; i < moves; i++) {
        sums->count[move[i].from >= 0 ? move[i].from : move[i].to] += move[i].from >= 0 ? -1 : 1;
        if (move[i].from >= 0 && move[i].to >= 0) {
            sums->count[move[i].to]++;
        }
    }
    /* Bands are shared out, not pixels: all threads then add to one set of sums. */
    hc_team_run(team, (sums->bands + BANDS_AT_ONCE - 1) / BANDS_AT_ONCE, move_bands, &moving);
}

HcStatus hc_cluster_sums_join(const HcClusterSums *own, HcRanks *ranks, HcClusterSums *all, HcError *err) {
    size_t count = digits(own->clusters, own->bands);
    memcpy(all->count, own->count, (size_t)own->clusters * sizeof *all->count);
    memcpy(all->digit, own->digit, count * sizeof *all->digit);
    HC_OR_RETURN(hc_ranks_sum(ranks, all->count, (size_t)own->clusters, err));
    return hc_ranks_sum(ranks, all->digit, count, err);
}

/* The sum that digits hold, with an error of a few units in the last place. The same bits for equal sums. */
static double value_of(const int64_t *digit) {
    uint8_t low[HC_CLUSTER_DIGITS];
    int64_t carry = 0;
    for (int32_t i = 0; i < HC_CLUSTER_DIGITS; i++) {
        int64_t sum = digit[i] + carry;
        low[i] = (uint8_t)(sum & 255);
        carry = (sum - low[i]) / 256;
    }
    double value = (double)carry;
    for (int32_t i = HC_CLUSTER_DIGITS - 1; i >= 0; i--) {
        value = value * 256 + low[i];
    }
    return ldexp(value, -149);
}

double hc_cluster_sums_mean(const HcClusterSums *sums, int32_t cluster, float *mean) {
    size_t bands = (size_t)sums->bands;
    double square = 0;
    for (size_t b = 0; b < bands; b++) {
        const int64_t *digit = sums->digit + ((size_t)cluster * bands + b) * HC_CLUSTER_DIGITS;
        double before = mean[b];
        mean[b] = (float)(value_of(digit) / (double)sums->count[cluster]);
        square += (mean[b] - before) * (mean[b] - before);
    }
    return sqrt(square);
}
