/* Continua of spectra: a pixel's bands go into float64 in the order of their wavelengths, and stay in the
 * first cache until the quotients are written. Processors with AVX2 look at LANES bands side by side, except
 * in the two chains, with the steps and the bits of core/solver/continuum.h; that takes 0.8 of the time.
 * Pairs (SSE2) would take 1.9, so others look at one band after the other. A segment is written in whole
 * vectors, and the next one overwrites what is too much: arrays have room for a vector behind their end. */
#include "core/allocate.h"
#include "core/solver/continuum.h"
#include "cpu/work.h"

#include <stdlib.h>
#include <string.h>

HcContinuumFn hc_cpu_continuum;

enum { LANES = 4, PIXELS = 64 /* that a thread takes at once */ };

typedef double Lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef float FloatLanes
    __attribute__((vector_size(LANES * sizeof(float)), aligned(sizeof(float)), may_alias));
typedef int64_t LaneMask __attribute__((vector_size(LANES * sizeof(int64_t))));
#define CHOOSE(mask, a, b) ((Lanes)(((mask) & (LaneMask)(a)) | (~(mask) & (LaneMask)(b))))

/* So that the clones of the caller have their own copy, with their vectors. */
#define IN_LANES static inline __attribute__((always_inline))

typedef struct Job {
    const HcBlock *in, *out;
    const HcContinuumRule *rule;
    bool wide;       /* the processor has vectors of LANES values */
    bool straight;   /* the bands of each piece lie side by side, in the input and in the output */
    int64_t panels;  /* in a line */
    double *centre;  /* [room] those of the rule */
    double *values;  /* [threads][2][room] */
    float *stored;   /* [threads][room] */
    int32_t *corner; /* [threads][places + 1] */
} Job;

static int64_t room_of(const HcContinuumRule *rule) {
    return (int64_t)rule->places + 2 * LANES;
}

static const Lanes missing = {NAN, NAN, NAN, NAN};

/* Beyond the range of float32 a value is missing. */
#define IN_RANGE(value) CHOOSE((Lanes)((LaneMask)(value)&INT64_MAX) <= FLT_MAX, value, missing)

/* Of a mask those of bit l in lane l; together_of brings the lanes into one word. */
static const LaneMask bit_of_lane = {1, 2, 4, 8};

IN_LANES uint64_t together_of(const LaneMask *mask) {
    LaneMask both = *mask | __builtin_shufflevector(*mask, *mask, 2, 3, 0, 1);
    return (uint64_t)(both[0] | both[1]);
}

/* y[count], and NaN in the lanes after them. */
IN_LANES void take(const Job *job, const float *from, int32_t first, int32_t count, float *stored,
                   double *y) {
    const int32_t *band = job->rule->band + first;
    if (job->straight) {
        memcpy(stored, from + band[0], (size_t)count * sizeof *stored);
    } else {
        for (int32_t k = 0; k < count; k++) {
            stored[k] = from[band[k]];
        }
    }
    for (int32_t k = count; k < count + 2 * LANES; k++) {
        stored[k] = NAN;
    }
    for (int32_t k = 0; k < count + LANES; k += LANES) {
        Lanes value = __builtin_convertvector(*(const FloatLanes *)(stored + k), Lanes);
        *(Lanes *)(y + k) = IN_RANGE(value);
    }
}

/* hc_hull_highest of a whole block. */
IN_LANES int32_t highest(const double *y, int32_t begin) {
    const Lanes *part = (const Lanes *)(y + begin);
    Lanes top = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
    LaneMask at = {0};
    for (int32_t k = 0; k < HC_HULL_BLOCK / LANES; k++) {
        top = CHOOSE(part[k] > top, part[k], top);
    }
    Lanes turned = __builtin_shufflevector(top, top, 2, 3, 0, 1);
    top = CHOOSE(turned > top, turned, top);
    turned = __builtin_shufflevector(top, top, 1, 0, 3, 2);
    top = CHOOSE(turned > top, turned, top);
    for (int32_t k = 0; k < HC_HULL_BLOCK / LANES; k++) {
        at |= (part[k] == top) & bit_of_lane << k * LANES;
    }
    return top[0] > -INFINITY ? begin + __builtin_ctzll(together_of(&at)) : -1;
}

/* hull from the first corner to the last, and beyond. */
IN_LANES void fill(const double *x, const double *y, const int32_t *corner, int32_t corners, double *hull) {
    for (int32_t c = 0; c + 1 < corners; c++) {
        HcHullLine line = hc_hull_line(x, y, corner[c], corner[c + 1]);
        double slope = line.dy / line.dx;
        for (int32_t k = corner[c]; k < corner[c + 1]; k += LANES) {
            *(Lanes *)(hull + k) = line.y + (*(const Lanes *)(x + k) - line.x) * slope;
        }
    }
    hull[corner[corners - 1]] = y[corner[corners - 1]];
}

/* As hc_hull_lanes, except that hull holds anything where y is missing. */
IN_LANES void hull_of(const double *x, const double *y, int32_t count, int32_t *corner, double *hull) {
    int32_t first = hc_hull_beside(y, count, -1, 1);
    int32_t last = hc_hull_beside(y, count, count, -1);
    int32_t corners = 0;
    if (first < 0) {
        return;
    }
    corners = hc_hull_push(x, y, corner, 0, first);
    for (int32_t begin = first + 1; begin < last; begin += HC_HULL_BLOCK) {
        int32_t at = begin + HC_HULL_BLOCK <= last ? highest(y, begin) : hc_hull_highest(y, begin, last);
        corners = at >= 0 ? hc_hull_push(x, y, corner, corners, at) : corners;
    }
    corners = last > first ? hc_hull_push(x, y, corner, corners, last) : corners;
    fill(x, y, corner, corners, hull);
    corners = 0;
    for (int32_t begin = first; begin <= last; begin += 64) {
        LaneMask not_below = {0};
        for (int32_t k = 0; k < 64 && begin + k <= last; k += LANES) {
            LaneMask here = *(const Lanes *)(y + begin + k) >= *(const Lanes *)(hull + begin + k);
            not_below |= here & bit_of_lane << k;
        }
        for (uint64_t left = together_of(&not_below); left != 0; left &= left - 1) {
            corners = hc_hull_push(x, y, corner, corners, begin + __builtin_ctzll(left));
        }
    }
    fill(x, y, corner, corners, hull);
}

/* hc_continuum_value of each place. */
IN_LANES void values_of(HcContinuumKind kind, const double *y, const double *hull, int32_t count,
                        float *stored) {
    for (int32_t k = 0; k < count; k += LANES) {
        Lanes at = *(const Lanes *)(y + k);
        Lanes above = *(const Lanes *)(hull + k);
        Lanes removed = CHOOSE(above > 0, at / above, missing);
        Lanes whole = CHOOSE(at == at, above, missing);
        Lanes depth = 1 - removed;
        Lanes value = kind == HC_CONTINUUM_HULL ? whole : kind == HC_CONTINUUM_DEPTH ? depth : removed;
        *(FloatLanes *)(stored + k) = __builtin_convertvector(IN_RANGE(value), FloatLanes);
    }
}

/* Returns how many of the values are missing. */
IN_LANES int32_t put(const Job *job, const float *stored, int32_t first, int32_t count, float *to) {
    const int32_t *target = job->rule->target + first;
    int32_t lacks = 0;
    for (int32_t k = 0; k < count; k++) {
        lacks += stored[k] != stored[k];
    }
    if (job->straight) {
        memcpy(to + target[0], stored, (size_t)count * sizeof *to);
        return lacks;
    }
    for (int32_t k = 0; k < count; k++) {
        to[target[k]] = stored[k];
    }
    return lacks;
}

/* As hc_continuum_pixel. */
__attribute__((flatten)) HC_NARROW_CLONES static int32_t
do_lanes(const Job *job, const HcContinuumWork *work, float *stored, const float *from, float *to) {
    const HcContinuumRule *rule = job->rule;
    int32_t lacks = 0;
    for (int32_t p = 0; p < rule->pieces; p++) {
        int32_t first = rule->first[p];
        int32_t count = rule->first[p + 1] - first;
        const double *centre = job->centre + first;
        take(job, from, first, count, stored, work->y);
        hull_of(centre, work->y, count, work->corner, work->hull);
        if (rule->kind == HC_CONTINUUM_FEATURES) {
            lacks += hc_continuum_feature(work, centre, count, to + (int64_t)p * HC_FEATURE_VALUES);
        } else {
            values_of(rule->kind, work->y, work->hull, count, stored);
            lacks += put(job, stored, first, count, to);
        }
    }
    return lacks;
}

static void do_panel(const Job *job, int64_t unit, const HcContinuumWork *work, float *stored) {
    const HcBlock *in = job->in;
    const HcBlock *out = job->out;
    int32_t bands = out->bands;
    int64_t row = unit / job->panels;
    int64_t sample = unit % job->panels * PIXELS;
    int64_t end = hc_min64(sample + PIXELS, out->samples);
    int64_t line = hc_block_first_line(out) + row;
    const uint8_t *valid = hc_cpu_mask_line(in, line);
    for (; sample < end; sample++) {
        int64_t pixel = row * out->samples + sample;
        const float *from = hc_cpu_line(in, line) + sample * in->bands;
        float *to = out->data + pixel * bands;
        int32_t lacks = valid[sample] == 0 ? bands
                        : job->wide        ? do_lanes(job, work, stored, from, to)
                                           : hc_continuum_pixel(job->rule, work, from, to);
        out->mask[pixel] = hc_continuum_stays(job->rule, lacks, bands);
        if (out->mask[pixel] == 0) {
            memset(to, 0, (size_t)bands * sizeof *to);
        }
    }
}

static void do_panels(void *user, int64_t unit, int64_t end, int32_t thread) {
    const Job *job = user;
    int64_t room = room_of(job->rule);
    HcContinuumWork work = {.y = job->values + 2 * thread * room,
                            .hull = job->values + (2 * thread + 1) * room,
                            .corner = job->corner + thread * ((int64_t)job->rule->places + 1),
                            .lanes = 1};
    for (; unit < end; unit++) {
        do_panel(job, unit, &work, job->stored + thread * room);
    }
}

static bool is_wide(void) {
#if defined(__x86_64__) && defined(__GNUC__)
    return __builtin_cpu_supports("avx2") != 0;
#else
    return false;
#endif
}

static bool is_straight(const HcContinuumRule *rule) {
    bool straight = true;
    for (int32_t p = 0; p < rule->pieces; p++) {
        for (int32_t k = rule->first[p] + 1; k < rule->first[p + 1]; k++) {
            straight &= rule->band[k] == rule->band[k - 1] + 1;
            straight &= rule->kind == HC_CONTINUUM_FEATURES || rule->target[k] == rule->target[k - 1] + 1;
        }
    }
    return straight;
}

HcStatus hc_cpu_continuum(HcQueue *queue, const HcBlock *in, const HcContinuumRule *rule, const HcBlock *out,
                          HcError *err) {
    HcStatus status = HC_OK;
    Job job = {.in = in,
               .out = out,
               .rule = rule,
               .wide = is_wide(),
               .straight = is_straight(rule),
               .panels = (out->samples + PIXELS - 1) / PIXELS};
    size_t threads = (size_t)queue->cpu->threads;
    size_t room = (size_t)room_of(rule);
    int64_t units = hc_block_rows(out) * job.panels;
    HC_TRY(hc_new_aligned(job.centre, room, "continua", err));
    HC_TRY(hc_new_aligned(job.values, 2 * threads * room, "continua", err));
    HC_TRY(hc_new_aligned(job.stored, threads * room, "continua", err));
    HC_TRY(hc_new_aligned(job.corner, threads * ((size_t)rule->places + 1), "continua", err));
    memcpy(job.centre, rule->centre, (size_t)rule->places * sizeof *job.centre);
    hc_cpu_work(queue->cpu, units, hc_cpu_grain(queue->cpu, units), do_panels, &job);
done:
    free(job.centre);
    free(job.values);
    free(job.stored);
    free(job.corner);
    return status;
}
