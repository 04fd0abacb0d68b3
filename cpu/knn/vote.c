/* Neighbours -> a class. */
#include "core/operation/knn/vote.h"
#include "cpu/work.h"

#include <math.h>
#include <string.h>

HcVoteFn hc_cpu_vote;

/* What one class has got. */
typedef struct Party {
    int32_t label;
    int32_t votes;
    double sum; /* of distances (MAJORITY) or weights (DISTANCE) */
} Party;

/* In units that users know. */
static double user_distance(HcMetric metric, double distance) {
    double cosine = -distance > 1 ? 1 : -distance < -1 ? -1 : -distance;
    return metric == HC_METRIC_EUCLIDEAN ? sqrt(distance) : acos(cosine);
}

static Party *find_party(Party *party, int32_t *parties, int32_t label) {
    for (int32_t p = 0; p < *parties; p++) {
        if (party[p].label == label) {
            return &party[p];
        }
    }
    party[*parties] = (Party){.label = label};
    return &party[(*parties)++];
}

static bool majority_better(const Party *a, const Party *b) {
    if (a->votes != b->votes) {
        return a->votes > b->votes;
    }
    return a->sum != b->sum ? a->sum < b->sum : a->label < b->label;
}

static bool weight_better(const Party *a, const Party *b) {
    return a->sum != b->sum ? a->sum > b->sum : a->label < b->label;
}

/* The class that wins and its share. distance[k] as users know them, nearest first. */
static int32_t decide(const HcVoteRule *rule, const int32_t *index, const double *distance,
                      const int32_t *label, double *share) {
    Party party[HC_KNN_MAX];
    int32_t parties = 0;
    double total = 0;
    bool weighted = rule->vote == HC_VOTE_DISTANCE;
    bool same = weighted && distance[0] == 0; /* the first is the nearest */
    for (int32_t i = 0; i < rule->k && !(same && distance[i] != 0); i++) {
        Party *one = find_party(party, &parties, label[index[i]]);
        double weight = same ? 1 : weighted ? 1 / distance[i] : distance[i];
        one->votes++;
        one->sum += weight;
        total += weighted ? weight : 1;
    }
    const Party *best = &party[0];
    for (int32_t p = 1; p < parties; p++) {
        if (weighted ? weight_better(&party[p], best) : majority_better(&party[p], best)) {
            best = &party[p];
        }
    }
    *share = (weighted ? best->sum : best->votes) / total;
    return best->label;
}

static void vote_pixel(const HcVoteRule *rule, const int32_t *index, const double *distance,
                       const int32_t *label, float *out) {
    double user[HC_KNN_MAX] = {0};
    double share = 0;
    for (int32_t i = 0; i < rule->k; i++) {
        user[i] = user_distance(rule->metric, distance[i]);
    }
    bool rejected = user[0] > rule->reject;
    int32_t class = rejected ? 0 : decide(rule, index, user, label, &share);
    *out++ = (float)class;
    const double added[] = {[HC_VOTE_ADD_CONFIDENCE] = share, [HC_VOTE_ADD_DISTANCE] = user[0]};
    for (int a = 0; a < HC_VOTE_ADD_NEIGHBOURS; a++) {
        if (rule->add[a]) {
            *out++ = (float)added[a];
        }
    }
    for (int32_t i = 0; rule->add[HC_VOTE_ADD_NEIGHBOURS] && i < rule->k; i++) {
        *out++ = (float)index[i];
    }
}

typedef struct Job {
    const HcBlock *in, *out;
    const int32_t *index;
    const double *distance;
    const int32_t *label;
    const HcVoteRule *rule;
} Job;

static void vote_lines(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    int64_t samples = job->out->samples;
    int64_t bands = job->out->bands;
    int64_t k = job->rule->k;
    (void)thread;
    for (; row < end; row++) {
        const uint8_t *valid = hc_cpu_mask_line(job->in, job->out->line0 + row);
        memcpy(job->out->mask + row * samples, valid, (size_t)samples);
        for (int64_t s = 0; s < samples; s++) {
            int64_t pixel = row * samples + s;
            float *to = job->out->data + pixel * bands;
            if (valid[s] != 0) {
                vote_pixel(job->rule, job->index + pixel * k, job->distance + pixel * k, job->label, to);
            } else {
                memset(to, 0, (size_t)bands * sizeof *to);
            }
        }
    }
}

HcStatus hc_cpu_vote(HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                     const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err) {
    Job job = {in, out, index, distance, label, rule};
    (void)err;
    hc_cpu_work(queue->cpu, out->lines, hc_cpu_grain(queue->cpu, out->lines), vote_lines, &job);
    return HC_OK;
}
