#include "pipeline/stages/kmeans/sums.h"
#include "core/allocate.h"
#include "core/solver/clones.h"

#include <math.h>
#include <string.h>

/* Bands that a thread adds at a time, at least; pixels that the processor fetches ahead, since what moves
 * lies apart; values that are worth a second thread. */
enum { BANDS_MIN = 8, AHEAD = 16, WORTH_A_TEAM = 32768 };

/* Values that are taken apart together. */
enum { SPLIT = 64 };

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

/* The digit that holds a value, and what is added there. */
HC_CLONES static void split(const float *restrict value, size_t count, uint32_t *restrict place,
                            int64_t *restrict part) {
    for (size_t b = 0; b < count; b++) {
        uint32_t bits;
        memcpy(&bits, &value[b], sizeof bits);
        uint32_t exponent = bits >> 23 & 0xff;
        uint32_t normal = exponent > 0; /* not a subnormal number */
        uint32_t mantissa = (bits & 0x7fffff) | normal << 23;
        int64_t size = (int64_t)((uint64_t)mantissa << ((exponent - normal) & 7));
        place[b] = (exponent - normal) >> 3;
        part[b] = bits >> 31 != 0 ? -size : size;
    }
}

typedef struct Moving {
    HcClusterSums *sums;
    const float *values;
    const HcMove *move;
    size_t moves;
    size_t bands; /* of an item */
} Moving;

/* Some bands from `first` on of a pixel, at most SPLIT. */
static void move_some(const Moving *moving, const HcMove *move, size_t first, size_t count) {
    const HcClusterSums *sums = moving->sums;
    size_t bands = (size_t)sums->bands;
    uint32_t place[SPLIT];
    int64_t part[SPLIT];
    split(moving->values + (size_t)move->pixel * bands + first, count, place, part);
    int64_t *from =
        sums->digit + ((size_t)(move->from >= 0 ? move->from : 0) * bands + first) * HC_CLUSTER_DIGITS;
    int64_t *to = sums->digit + ((size_t)(move->to >= 0 ? move->to : 0) * bands + first) * HC_CLUSTER_DIGITS;
    for (size_t b = 0; b < count && move->from >= 0; b++) {
        from[b * HC_CLUSTER_DIGITS + place[b]] -= part[b];
    }
    for (size_t b = 0; b < count && move->to >= 0; b++) {
        to[b * HC_CLUSTER_DIGITS + place[b]] += part[b];
    }
}

static void move_bands(void *user, int64_t item, int32_t thread) {
    const Moving *moving = user;
    size_t bands = (size_t)moving->sums->bands;
    size_t first = (size_t)item * moving->bands;
    size_t end = (size_t)hc_min64((int64_t)bands, (int64_t)(first + moving->bands));
    (void)thread;
    for (size_t i = 0; i < moving->moves; i++) {
        size_t later = i + AHEAD < moving->moves ? i + AHEAD : i;
        const float *next = moving->values + (size_t)moving->move[later].pixel * bands;
        for (size_t b = first; b < end; b += 16) { /* a line of the cache */
            __builtin_prefetch(next + b);
        }
        for (size_t b = first; b < end; b += SPLIT) {
            move_some(moving, &moving->move[i], b, end - b < SPLIT ? end - b : SPLIT);
        }
    }
}

void hc_cluster_sums_move(HcClusterSums *sums, HcTeam *team, const float *values, const HcMove *move,
                          size_t moves) {
    size_t bands = (size_t)sums->bands;
    size_t threads = moves * bands < WORTH_A_TEAM ? 1 : (size_t)hc_team_threads(team);
    size_t each = (bands + threads - 1) / threads;
    Moving moving = {sums, values, move, moves, each > BANDS_MIN ? each : BANDS_MIN};
    for (size_t i = 0; i < moves; i++) {
        sums->count[move[i].from >= 0 ? move[i].from : move[i].to] += move[i].from >= 0 ? -1 : 1;
        if (move[i].from >= 0 && move[i].to >= 0) {
            sums->count[move[i].to]++;
        }
    }
    /* Bands are shared out, not pixels: all threads then add to one set of sums. */
    hc_team_run(team, (int64_t)((bands + moving.bands - 1) / moving.bands), move_bands, &moving);
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

HcStatus hc_cluster_inertia(const HcReduced *reduced, const int32_t *label, const double *distance,
                            double *inertia, HcError *err) {
    HcStatus status = HC_OK;
    size_t lines = (size_t)reduced->stage->in.lines;
    double *sum = NULL;
    HC_TRY(hc_new(sum, lines, "sums of lines", err));
    for (int64_t i = 0; i < reduced->count; i++) {
        sum[(reduced->first + i) / reduced->samples] += label[i] >= 0 ? distance[i] : 0;
    }
    HC_TRY(hc_ranks_join(hc_stage_ranks(reduced->stage), sum, lines * sizeof *sum, err));
    for (size_t l = 0; l < lines; l++) {
        *inertia += sum[l];
    }
done:
    free(sum);
    return status;
}
