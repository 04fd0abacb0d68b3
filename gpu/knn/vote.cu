/* Neighbours -> classes. */
#include "core/operation/knn/vote.h"
#include "gpu/internal.cuh"

#include <math.h>

HcVoteFn hc_gpu_vote;

namespace {

struct Job {
    const int32_t *index;
    const double *distance;
    const int32_t *label;
    const uint8_t *mask;
    HcVoteRule rule;
    HcView out;
};

/* The distance that users know. */
__device__ inline double user_distance(double distance, HcMetric metric) {
    return metric == HC_METRIC_EUCLIDEAN ? sqrt(distance) : acos(fmin(1.0, fmax(-1.0, -distance)));
}

/* One neighbour's vote; `zeros`: only those at distance 0 count. */
__device__ inline double weight_of(double distance, HcVote vote, bool zeros) {
    return vote == HC_VOTE_MAJORITY || zeros ? 1.0 : 1.0 / distance;
}

struct Winner {
    int32_t label;
    double votes, all;
};

/* Each class is looked at where its first neighbour is: no table of classes is needed. */
__device__ Winner count_votes(const Job &job, const int32_t *index, const double *distance) {
    const HcVoteRule &rule = job.rule;
    const bool zeros = rule.vote == HC_VOTE_DISTANCE && user_distance(distance[0], rule.metric) == 0;
    Winner winner = {0, -1, 0};
    double nearest = 0;
    for (int32_t n = 0; n < rule.k; n++) {
        const double far = user_distance(distance[n], rule.metric);
        if (zeros && far != 0) {
            break;
        }
        winner.all += weight_of(far, rule.vote, zeros);
        const int32_t label = job.label[index[n]];
        bool first = true;
        for (int32_t m = 0; m < n && first; m++) {
            first = job.label[index[m]] != label;
        }
        if (!first) {
            continue;
        }
        double votes = 0;
        double sum = 0;
        for (int32_t m = n; m < rule.k; m++) {
            const double its = user_distance(distance[m], rule.metric);
            if (zeros && its != 0) {
                break;
            }
            if (job.label[index[m]] == label) {
                votes += weight_of(its, rule.vote, zeros);
                sum += its;
            }
        }
        const bool tie = votes == winner.votes;
        const bool closer =
            rule.vote == HC_VOTE_MAJORITY && sum != nearest ? sum < nearest : label < winner.label;
        if (votes > winner.votes || (tie && closer)) {
            winner.label = label;
            winner.votes = votes;
            nearest = sum;
        }
    }
    return winner;
}

__global__ void vote(const Job job) {
    const HcVoteRule &rule = job.rule;
    const int64_t pixels = job.out.rows * job.out.samples;
    const int64_t p = blockIdx.x * (int64_t)blockDim.x + threadIdx.x;
    if (p >= pixels) {
        return;
    }
    float *to = job.out.data + p * job.out.bands;
    const bool valid = job.mask[p] != 0;
    job.out.mask[p] = valid;
    if (!valid) {
        for (int32_t b = 0; b < job.out.bands; b++) {
            to[b] = 0;
        }
        return;
    }
    const int32_t *index = job.index + p * rule.k;
    const double *distance = job.distance + p * rule.k;
    const double nearest = user_distance(distance[0], rule.metric);
    Winner winner = count_votes(job, index, distance);
    const bool rejected = nearest > rule.reject;
    int32_t b = 0;
    to[b++] = rejected ? 0.0F : (float)winner.label;
    double added[HC_VOTE_ADD_NEIGHBOURS];
    added[HC_VOTE_ADD_CONFIDENCE] = rejected ? 0 : winner.votes / winner.all;
    added[HC_VOTE_ADD_DISTANCE] = nearest;
    for (int32_t a = 0; a < HC_VOTE_ADD_NEIGHBOURS; a++) {
        if (rule.add[a]) {
            to[b++] = (float)added[a];
        }
    }
    for (int32_t n = 0; n < rule.k && rule.add[HC_VOTE_ADD_NEIGHBOURS]; n++) {
        to[b++] = (float)index[n];
    }
}

} // namespace

HcStatus hc_gpu_vote(HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                     const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    Job job = {index, distance, label, in->mask + (int64_t)in->above * in->samples, *rule, hc_view(out)};
    int64_t pixels = job.out.rows * job.out.samples;
    vote<<<(unsigned)hc_div_up(pixels, 128), 128, 0, queue->stream>>>(job);
    return hc_gpu_launched("voting", err);
}
