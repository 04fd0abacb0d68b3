/* The arithmetic of identify, which both backends share: a thread of the CPU takes HC_LANES pixels side by
 * side in a vector, one of the GPU takes one. */
#ifndef HC_CORE_SOLVER_IDENTIFY_H
#define HC_CORE_SOLVER_IDENTIFY_H

#include "core/operation/spectrum/identify.h"

#include <math.h>
#include <string.h>

#ifdef __CUDACC__

#define HC_IN_LANES HC_ANYWHERE

enum { HC_LANES = 1 };
typedef double HcLanes;

/* The value of a band, of pixels whose bands are `stride` apart. */
HC_ANYWHERE HcLanes hc_lanes_load(const float *pixel, int32_t stride, int32_t band) {
    return (double)pixel[(int64_t)band * stride];
}

#define HC_LANE(lanes, lane) (lanes)

#else

/* So that clones of the caller (HC_CLONES) have their own copy, with their vectors. */
#define HC_IN_LANES static inline __attribute__((always_inline))

enum { HC_LANES = 8 };
typedef double HcLanes __attribute__((vector_size(8 * sizeof(double)), aligned(sizeof(double)), may_alias));
typedef float HcFloatLanes __attribute__((vector_size(8 * sizeof(float)), aligned(sizeof(float)), may_alias));

#define hc_lanes_load(pixel, stride, band)                                                                   \
    __builtin_convertvector(*(const HcFloatLanes *)((pixel) + (int64_t)(band) * (stride)), HcLanes)

#define HC_LANE(lanes, lane) ((lanes)[lane])

#endif

/* What a reference makes of each pixel. */
typedef struct HcIdentifyVerdict {
    HcLanes fit, depth, product;
    HcLanes open; /* the fit before constraints */
    int32_t reason[HC_LANES];
} HcIdentifyVerdict;

/* What a feature finds. */
typedef struct HcIdentifyFound {
    HcLanes left, right, slope, fit, depth;
} HcIdentifyFound;

/* One of the best references of a pixel; number -1 = none. */
typedef struct HcIdentifyBest {
    double score, fit, depth, product;
    int32_t number; /* of the reference, from 0 */
    int32_t reason;
} HcIdentifyBest;

HC_IN_LANES bool hc_identify_within(double value, HcIdentifyRange range) {
    return value >= range.low && value <= range.high;
}

HC_IN_LANES void hc_identify_end(const HcIdentifyEntry *entry, int32_t count, const float *pixel,
                                 int32_t stride, HcLanes *mean) {
    HcLanes sum = {0};
    for (int32_t i = 0; i < count; i++) {
        sum += hc_lanes_load(pixel, stride, entry[i].band);
    }
    *mean = sum / (double)count;
}

/* Sums of d = y - 1, which is small, so that the variance of y keeps its digits. */
HC_IN_LANES void hc_identify_feature(const HcIdentifyRule *rule, const HcIdentifyFeature *feature,
                                     const float *pixel, int32_t stride, HcIdentifyFound *found) {
    const HcIdentifyEntry *entry = rule->entry + feature->first;
    HcLanes left, right;
    hc_identify_end(rule->entry + feature->left, feature->lefts, pixel, stride, &left);
    hc_identify_end(rule->entry + feature->right, feature->rights, pixel, stride, &right);
    const HcLanes rise = right - left;
    HcLanes sum = {0}, squares = {0}, products = {0};
    for (int32_t i = 0; i < feature->count; i++) {
        const HcLanes d = hc_lanes_load(pixel, stride, entry[i].band) / (left + rise * entry[i].at) - 1.0;
        sum += d;
        squares += d * d;
        products += d * entry[i].shape;
    }
    const HcLanes k = products * feature->scale;
    found->left = left;
    found->right = right;
    found->slope = right / left;
    found->fit = k * products / (squares - sum * sum / (double)feature->count);
    found->depth = k * feature->depth;
}

/* The cosine takes the place of the fit. */
HC_IN_LANES void hc_identify_angle(const HcIdentifyRule *rule, const HcIdentifyFeature *feature,
                                   const float *pixel, int32_t stride, HcIdentifyFound *found) {
    const HcIdentifyEntry *entry = rule->entry + feature->first;
    const HcLanes none = {0};
    HcLanes squares = none, products = none;
    for (int32_t i = 0; i < feature->count; i++) {
        const HcLanes y = hc_lanes_load(pixel, stride, entry[i].band);
        squares += y * y;
        products += y * entry[i].shape;
    }
    for (int32_t l = 0; l < HC_LANES; l++) {
        HC_LANE(squares, l) = sqrt(HC_LANE(squares, l));
    }
    found->fit = products / squares;
    found->depth = found->left = found->right = found->slope = none;
}

/* Why a pixel fails a diagnostic feature. NaN fails. */
HC_IN_LANES int32_t hc_identify_diagnostic(const HcIdentifyFeature *feature, double left, double right,
                                           double slope, double fit, double depth) {
    if (feature->kind == HC_IDENTIFY_ANGLE) {
        return fit >= feature->fits.low ? HC_IDENTIFY_ACCEPTED : HC_IDENTIFY_FIT;
    }
    if (!hc_identify_within(left, feature->level[0]) ||
        !hc_identify_within((left + right) / 2, feature->level[1]) ||
        !hc_identify_within(right, feature->level[2]) || !hc_identify_within(slope, feature->slope)) {
        return HC_IDENTIFY_CONTINUUM;
    }
    return !(depth > 0) || !(fit >= 0)                   ? HC_IDENTIFY_NO_FEATURE
           : !hc_identify_within(fit, feature->fits)     ? HC_IDENTIFY_FIT
           : !hc_identify_within(depth, feature->depths) ? HC_IDENTIFY_DEPTH
                                                         : HC_IDENTIFY_ACCEPTED;
}

/* Whether a feature that must be absent is there. */
HC_IN_LANES bool hc_identify_present(const HcIdentifyFeature *feature, double fit, double depth,
                                     double first) {
    double least =
        feature->kind == HC_IDENTIFY_NOT_RELATIVE ? first * feature->depths.low : feature->depths.low;
    return depth > 0 && fit >= feature->fits.low && depth >= least;
}

HC_IN_LANES int32_t hc_identify_whole(const HcIdentifyReference *reference, double fit, double depth,
                                      double product, double first, double second) {
    return first > 0 && second / first >= reference->ratio ? HC_IDENTIFY_RATIO
           : !(fit >= reference->fit)                      ? HC_IDENTIFY_WHOLE_FIT
           : !hc_identify_within(depth, reference->depth)  ? HC_IDENTIFY_WHOLE_DEPTH
           : !(product > reference->product)               ? HC_IDENTIFY_PRODUCT
                                                           : HC_IDENTIFY_ACCEPTED;
}

HC_IN_LANES bool hc_identify_alive(const HcIdentifyVerdict *verdict) {
    bool alive = false;
    for (int32_t l = 0; l < HC_LANES; l++) {
        alive = alive || verdict->reason[l] == HC_IDENTIFY_ACCEPTED;
    }
    return alive;
}

/* Adds a feature to the verdict; first: the depth of the first feature. */
HC_IN_LANES void hc_identify_add(const HcIdentifyFeature *feature, const HcIdentifyFound *found,
                                 const HcLanes *first, HcIdentifyVerdict *verdict) {
    bool diagnostic = feature->kind == HC_IDENTIFY_DIAGNOSTIC || feature->kind == HC_IDENTIFY_ANGLE;
    for (int32_t l = 0; l < HC_LANES; l++) {
        const double fit = HC_LANE(found->fit, l), depth = HC_LANE(found->depth, l);
        int32_t reason = HC_IDENTIFY_ACCEPTED;
        if (diagnostic) {
            reason = hc_identify_diagnostic(feature, HC_LANE(found->left, l), HC_LANE(found->right, l),
                                            HC_LANE(found->slope, l), fit, depth);
        } else if (hc_identify_present(feature, fit, depth, HC_LANE(*first, l))) {
            reason = feature->kind == HC_IDENTIFY_NOT_RELATIVE ? HC_IDENTIFY_OTHER_RELATIVE
                                                               : HC_IDENTIFY_OTHER_FEATURE;
        }
        if (verdict->reason[l] == HC_IDENTIFY_ACCEPTED) {
            verdict->reason[l] = reason;
        }
        if (diagnostic) {
            const double weighted = fit * feature->weight;
            const bool positive = fit >= 0 && (depth > 0 || feature->kind == HC_IDENTIFY_ANGLE);
            HC_LANE(verdict->open, l) += positive ? weighted : 0.0;
            HC_LANE(verdict->fit, l) += weighted;
            HC_LANE(verdict->depth, l) += depth * feature->weight;
            HC_LANE(verdict->product, l) += weighted * depth;
        }
    }
}

/* all: diagnostic features are fitted to pixels that have failed, too. */
HC_IN_LANES void hc_identify_judge(const HcIdentifyRule *rule, const HcIdentifyReference *reference,
                                   const float *pixel, int32_t stride, bool all, HcIdentifyVerdict *verdict) {
    HcIdentifyFound found;
    HcLanes depth[2];
    memset(verdict, 0, sizeof *verdict);
    memset(depth, 0, sizeof depth);
    for (int32_t f = 0; f < reference->count; f++) {
        const HcIdentifyFeature *feature = rule->feature + reference->first + f;
        if (!hc_identify_alive(verdict) && !(all && feature->kind == HC_IDENTIFY_DIAGNOSTIC)) {
            continue;
        }
        if (feature->kind == HC_IDENTIFY_ANGLE) {
            hc_identify_angle(rule, feature, pixel, stride, &found);
        } else {
            hc_identify_feature(rule, feature, pixel, stride, &found);
        }
        if (f < 2 && feature->kind == HC_IDENTIFY_DIAGNOSTIC) {
            depth[f] = found.depth;
        }
        hc_identify_add(feature, &found, &depth[0], verdict);
    }
    for (int32_t l = 0; l < HC_LANES; l++) {
        if (verdict->reason[l] == HC_IDENTIFY_ACCEPTED) {
            verdict->reason[l] =
                hc_identify_whole(reference, HC_LANE(verdict->fit, l), HC_LANE(verdict->depth, l),
                                  HC_LANE(verdict->product, l), HC_LANE(depth[0], l), HC_LANE(depth[1], l));
        }
    }
}

/* ---- the best of a pixel ---- */

HC_ANYWHERE void hc_identify_none(HcIdentifyBest *best, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        best[i].score = best[i].fit = best[i].depth = best[i].product = 0;
        best[i].number = -1;
        best[i].reason = 0;
    }
}

/* Puts one into the list, by falling score, ties by number: the same list in whatever order they come. */
HC_ANYWHERE void hc_identify_insert(HcIdentifyBest *best, int32_t count, const HcIdentifyBest *one) {
    int32_t at = count;
    while (at > 0 && (best[at - 1].number < 0 || one->score > best[at - 1].score ||
                      (one->score == best[at - 1].score && one->number < best[at - 1].number))) {
        at--;
        if (at + 1 < count) {
            best[at + 1] = best[at];
        }
    }
    if (at < count) {
        best[at] = *one;
    }
}

HC_ANYWHERE HcIdentifyBest hc_identify_one(const HcIdentifyRule *rule, int32_t number,
                                           const HcIdentifyVerdict *verdict, int32_t lane) {
    HcIdentifyBest one;
    one.fit = HC_LANE(verdict->fit, lane);
    one.depth = HC_LANE(verdict->depth, lane);
    one.product = HC_LANE(verdict->product, lane);
    one.score = rule->by_product ? one.product : one.fit;
    one.number = number;
    one.reason = verdict->reason[lane];
    return one;
}

/* best[top], and with `rejected` best[top] for the best before constraints. */
HC_ANYWHERE void hc_identify_take(const HcIdentifyRule *rule, int32_t number,
                                  const HcIdentifyVerdict *verdict, int32_t lane, HcIdentifyBest *best) {
    HcIdentifyBest one = hc_identify_one(rule, number, verdict, lane);
    if (one.reason == HC_IDENTIFY_ACCEPTED && one.fit > 0) {
        hc_identify_insert(best, rule->top, &one);
    }
    one.score = HC_LANE(verdict->open, lane);
    if (rule->rejected && one.score > 0) {
        hc_identify_insert(best + rule->top, 1, &one);
    }
}

/* ---- families ---- */

/* The wavelength of the minimum of a feature in the pixel of a lane; NaN where it lies at an end. */
HC_ANYWHERE double hc_identify_centre(const HcIdentifyRule *rule, const HcIdentifyFeature *feature,
                                      const float *pixel, int32_t stride, int32_t lane) {
    const HcIdentifyEntry *entry = rule->entry + feature->first;
    HcLanes left, right;
    double before = 0, lowest = INFINITY, y[3] = {0, 0, 0};
    int32_t at = -1;
    (void)lane; /* of one */
    hc_identify_end(rule->entry + feature->left, feature->lefts, pixel, stride, &left);
    hc_identify_end(rule->entry + feature->right, feature->rights, pixel, stride, &right);
    const double from = HC_LANE(left, lane), rise = HC_LANE(right, lane) - from;
    for (int32_t i = 0; i < feature->count; i++) {
        const HcLanes value = hc_lanes_load(pixel, stride, entry[i].band);
        const double here = HC_LANE(value, lane) / (from + rise * entry[i].at);
        if (i == at + 1) {
            y[2] = here;
        }
        if (here < lowest) {
            y[0] = before;
            y[1] = lowest = here;
            at = i;
        }
        before = here;
    }
    if (at < 1 || at + 1 >= feature->count) {
        return NAN;
    }
    const double x1 = entry[at - 1].at, x2 = entry[at].at, x3 = entry[at + 1].at;
    const double up = (y[1] - y[0]) * (x3 * x3 - x2 * x2) - (y[2] - y[1]) * (x2 * x2 - x1 * x1);
    const double down = (y[2] - y[1]) * (x2 - x1) - (y[1] - y[0]) * (x3 - x2);
    return feature->origin - feature->step * (up / down / 2);
}

/* The member of the family whose range alone holds the centre; -1 = none, or several. */
HC_ANYWHERE int32_t hc_identify_member(const HcIdentifyRule *rule, int32_t family, double centre) {
    int32_t found = -1;
    for (int32_t r = 0; r < rule->references; r++) {
        const HcIdentifyReference *other = rule->reference + r;
        if (other->family == family && centre >= other->centre.low && centre < other->centre.high) {
            if (found >= 0) {
                return -1;
            }
            found = r;
        }
    }
    return found;
}

/* Gives the first place to the member of its family that the centre names. */
HC_ANYWHERE void hc_identify_settle(const HcIdentifyRule *rule, const float *pixel, int32_t stride,
                                    int32_t lane, HcIdentifyBest *best) {
    if (best->number < 0 || rule->reference[best->number].family < 0) {
        return;
    }
    const HcIdentifyReference *reference = rule->reference + best->number;
    double centre = hc_identify_centre(rule, rule->feature + reference->first, pixel, stride, lane);
    int32_t member = hc_identify_member(rule, reference->family, centre);
    if (member < 0 || member == best->number) {
        return;
    }
    HcIdentifyVerdict verdict;
    hc_identify_judge(rule, rule->reference + member, pixel, stride, false, &verdict);
    HcIdentifyBest one = hc_identify_one(rule, member, &verdict, lane);
    if (one.reason != HC_IDENTIFY_ACCEPTED || !(one.fit > 0)) {
        return;
    }
    int32_t at = 1;
    while (at < rule->top && best[at].number >= 0 && best[at].number != member) {
        at++;
    }
    for (at = at < rule->top ? at : rule->top - 1; at > 0; at--) {
        best[at] = best[at - 1];
    }
    best[0] = one;
}

HC_ANYWHERE void hc_identify_write(const HcIdentifyRule *rule, const HcIdentifyBest *best, float *out) {
    for (int32_t i = 0; i < rule->top; i++) {
        const bool found = best[i].number >= 0;
        const double cosine = best[i].fit > 1 ? 1 : best[i].fit;
        *out++ = found ? (float)rule->reference[best[i].number].number : 0.0F;
        *out++ = !found ? 0.0F : (float)(rule->angle ? acos(cosine) : best[i].fit);
        if (!rule->angle) {
            *out++ = (float)best[i].depth;
            *out++ = (float)best[i].product;
        }
    }
    if (rule->rejected) {
        const HcIdentifyBest *open = best + rule->top;
        *out++ = open->number >= 0 ? (float)rule->reference[open->number].number : 0.0F;
        *out++ = (float)open->reason;
    }
}

#endif
