/* vote: the neighbours of a pixel become its class. */
#ifndef HC_CORE_OPERATION_VOTE_H
#define HC_CORE_OPERATION_VOTE_H

#include "core/operation/knn/knn.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum HcVote { HC_VOTE_MAJORITY, HC_VOTE_DISTANCE } HcVote;

/* Bands that a rule may add after the class, in this order. */
typedef enum HcVoteAdd {
    HC_VOTE_ADD_CONFIDENCE, /* the winner's share of the votes, or of the weights; 0 for class 0 */
    HC_VOTE_ADD_DISTANCE,   /* to the nearest neighbour */
    HC_VOTE_ADD_NEIGHBOURS, /* k bands: numbers of the neighbours, from 0, nearest first */
    HC_VOTE_ADDS
} HcVoteAdd;

/* Names of these bands: [HC_VOTE_ADDS], then NULL. Those of the neighbours are numbered from 1. */
extern const char *const hc_vote_add_words[];

/* What neighbours become. Distances here are those that users know: Euclidean, or an angle [radians]. */
typedef struct HcVoteRule {
    HcVote vote; /* MAJORITY: most votes, ties to the smaller sum of distances, then to the lower class.
                  * DISTANCE: largest sum of 1 / distance, ties to the lower class. Where some distances are
                  * 0, only those neighbours vote, one vote each. Sums are formed in float64, nearest first */
    HcMetric metric;
    int32_t k;
    int32_t classes; /* labels are 1 .. classes */
    double reject;   /* a pixel whose nearest neighbour is farther gets class 0; INFINITY: no pixel does */
    bool add[HC_VOTE_ADDS];
} HcVoteRule;

/* The band of the output that holds an added one (the first of the neighbours), if the rule adds it. */
static inline int32_t hc_vote_added_band(const HcVoteRule *rule, HcVoteAdd add) {
    int32_t band = 1;
    for (int32_t a = 0; a < (int32_t)add; a++) {
        band += !rule->add[a] ? 0 : a == HC_VOTE_ADD_NEIGHBOURS ? rule->k : 1;
    }
    return band;
}

/* Bands of the output of vote: the class, then those that the rule adds. */
static inline int32_t hc_vote_bands(const HcVoteRule *rule) {
    return hc_vote_added_band(rule, HC_VOTE_ADDS);
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
