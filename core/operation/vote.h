/* vote: the neighbours of a pixel become its class. */
#ifndef HC_CORE_OPERATION_VOTE_H
#define HC_CORE_OPERATION_VOTE_H

#include "core/operation/knn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum HcVote { HC_VOTE_MAJORITY, HC_VOTE_DISTANCE } HcVote;

/* What neighbours become. Distances here are those that users know: Euclidean, or an angle [radians]. */
typedef struct HcVoteRule {
    HcVote vote; /* MAJORITY: most votes, ties to the smaller sum of distances, then to the lower class.
                  * DISTANCE: largest sum of 1 / distance, ties to the lower class. Where some distances are
                  * 0, only those neighbours vote, one vote each. Sums are formed in float64, nearest first */
    HcMetric metric;
    int32_t k;
    int32_t classes; /* labels are 1 .. classes */
    double reject;   /* a pixel whose nearest neighbour is farther is of class 0; INFINITY = none is */
    /* Bands that follow the first, the class, in this order. */
    bool confidence; /* the winner's share of the votes, or of the weights; 0 for class 0 */
    bool nearest;    /* distance to the nearest neighbour */
    bool neighbours; /* k bands: numbers of the neighbours, from 0, nearest first */
} HcVoteRule;

/* Bands of the output of vote. */
static inline int32_t hc_vote_bands(const HcVoteRule *rule) {
    return 1 + (rule->confidence ? 1 : 0) + (rule->nearest ? 1 : 0) + (rule->neighbours ? rule->k : 0);
}

/* Turns the neighbours of the interior pixels of `in`, as knn leaves them, into the interior rows of `out`:
 * hc_vote_bands() bands, no halo. label [device] [count], the class of each training spectrum. */
typedef HcStatus HcVoteFn(HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                          const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err);
HcVoteFn hc_vote HC_MUST_CHECK;

#ifdef __cplusplus
}
#endif
#endif
