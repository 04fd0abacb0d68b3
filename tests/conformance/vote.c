/* Neighbours become classes. */
#include "tests/conformance/rig.h"

#include "core/operation/knn/vote.h"

#include <stdlib.h>

enum { LABELS = 50 };

/* One pixel's neighbours. */
typedef struct Neighbours {
    int32_t index[HC_KNN_MAX];
    double distance[HC_KNN_MAX];
} Neighbours;

static double user_distance(HcMetric metric, double distance) {
    return metric == HC_METRIC_EUCLIDEAN ? sqrt(distance) : acos(fmin(1, fmax(-1, -distance)));
}

/* Votes, weights and sums of distances of every class, and who is best. */
static void plain(const HcVoteRule *rule, const Neighbours *n, const int32_t *label, float *out) {
    double votes[LABELS + 1] = {0};
    double sum[LABELS + 1] = {0};
    double total = 0;
    bool zeros = rule->vote == HC_VOTE_DISTANCE && user_distance(rule->metric, n->distance[0]) == 0;
    for (int32_t i = 0; i < rule->k; i++) {
        double distance = user_distance(rule->metric, n->distance[i]);
        double vote = rule->vote == HC_VOTE_MAJORITY ? 1 : zeros ? distance == 0 : 1 / distance;
        votes[label[n->index[i]]] += vote;
        sum[label[n->index[i]]] += distance;
        total += vote;
    }
    int32_t best = 0;
    for (int32_t c = 1; c <= rule->classes; c++) {
        bool closer = rule->vote == HC_VOTE_MAJORITY && sum[c] < sum[best];
        if (votes[c] > 0 && (best == 0 || votes[c] > votes[best] || (votes[c] == votes[best] && closer))) {
            best = c;
        }
    }
    bool rejected = user_distance(rule->metric, n->distance[0]) > rule->reject;
    *out = rejected ? 0 : (float)best;
    if (rule->add[HC_VOTE_ADD_CONFIDENCE]) {
        float share = rejected ? 0 : (float)(votes[best] / total);
        out[hc_vote_added_band(rule, HC_VOTE_ADD_CONFIDENCE)] = share;
    }
    if (rule->add[HC_VOTE_ADD_DISTANCE]) {
        float distance = (float)user_distance(rule->metric, n->distance[0]);
        out[hc_vote_added_band(rule, HC_VOTE_ADD_DISTANCE)] = distance;
    }
    for (int32_t i = 0; rule->add[HC_VOTE_ADD_NEIGHBOURS] && i < rule->k; i++) {
        out[hc_vote_added_band(rule, HC_VOTE_ADD_NEIGHBOURS) + i] = (float)n->index[i];
    }
}

static int ascending(const void *a, const void *b) {
    const double *x = a;
    const double *y = b;
    return *x < *y ? -1 : *x > *y;
}

/* Distances that are often the same, so that votes tie. Some cosines are a rounding beyond 1. */
static void invent(const HcVoteRule *rule, Neighbours *n, uint64_t *seed) {
    bool angle = rule->metric == HC_METRIC_ANGLE;
    double pool[4];
    for (int i = 0; i < 4; i++) {
        double random = (double)random_between(seed, 1, 1000000) * 1e-6;
        pool[i] = angle ? 2 * random - 1 : (double)(random_between(seed, 1, 3) * random_between(seed, 1, 3));
    }
    if (random_bits(seed) % 3 == 0) {
        pool[0] = angle ? -1 - 0x1p-50 : 0;
    }
    for (int32_t i = 0; i < rule->k; i++) {
        n->index[i] = (int32_t)random_between(seed, 0, LABELS - 1);
        n->distance[i] = pool[random_bits(seed) % 4];
    }
    qsort(n->distance, (size_t)rule->k, sizeof *n->distance, ascending);
}

static void check_rule(Rig *rig, const HcVoteRule *rule, int32_t lines, int32_t samples, uint64_t *seed) {
    const size_t k = (size_t)rule->k;
    const int32_t bands = hc_vote_bands(rule);
    int32_t label[LABELS];
    for (int i = 0; i < LABELS; i++) {
        label[i] = (int32_t)random_between(seed, 1, rule->classes);
    }
    Cube cube = cube_new(lines + 3, samples, 2);
    cube_mask(&cube, MASK_SOME, seed);
    size_t pixels = (size_t)lines * (size_t)samples;
    int32_t *index = malloc(pixels * k * sizeof *index);
    double *distance = malloc(pixels * k * sizeof *distance);
    float *expected = calloc(pixels * (size_t)bands, sizeof *expected);
    assert_true(index != NULL && distance != NULL && expected != NULL);
    const uint8_t *valid = cube.mask + 2 * (size_t)samples;
    for (size_t p = 0; p < pixels; p++) {
        Neighbours n;
        invent(rule, &n, seed);
        for (size_t i = 0; i < k; i++) {
            index[p * k + i] = valid[p] != 0 ? n.index[i] : -1;
            distance[p * k + i] = valid[p] != 0 ? n.distance[i] : INFINITY;
        }
        if (valid[p] != 0) {
            plain(rule, &n, label, expected + p * (size_t)bands);
        }
    }
    HcBlock in = rig_put_block(rig, &cube, 2, lines, (int32_t)(k % 2));
    HcBlock out = rig_alloc_block(rig, &cube, 2, lines, 0, bands);
    const int32_t *at_index = rig_put(rig, index, pixels * k * sizeof *index);
    const double *at_distance = rig_put(rig, distance, pixels * k * sizeof *distance);
    const int32_t *at_label = rig_put(rig, label, sizeof label);
    HcVoteRule given = *rule;
    check_ok(hc_vote(rig->queue, &in, at_index, at_distance, at_label, &given, &out, &rig->err), rig->err);
    given = (HcVoteRule){0}; /* it was copied */
    Cube got = rig_get_block(rig, &out);
    assert_memory_equal(got.mask, valid, pixels);
    for (size_t i = 0; i < pixels * (size_t)bands; i++) {
        bool is_class = i % (size_t)bands == 0;
        check_near(got.data[i], expected[i], is_class ? 0 : fabs((double)expected[i]) * 0x1p-22);
    }
    cube_free(&got);
    cube_free(&cube);
    free(index);
    free(distance);
    free(expected);
    rig_empty(rig);
}

CASE(test_vote) {
    (void)state;
    static const int32_t ks[] = {1, 2, 3, 5, 20, HC_KNN_MAX};
    static const double rejects[] = {INFINITY, 1.2, 0};
    uint64_t seed = 13;
    for (int32_t threads = 1; threads <= 3; threads++) {
        Rig rig;
        rig_open(&rig, threads);
        for (int round = 0; round < 96; round++) {
            HcVoteRule rule = {.vote = round % 2 == 0 ? HC_VOTE_MAJORITY : HC_VOTE_DISTANCE,
                               .metric = round / 2 % 2 == 0 ? HC_METRIC_EUCLIDEAN : HC_METRIC_ANGLE,
                               .k = ks[round % 6],
                               .classes = round % 5 == 0   ? 1
                                          : round % 5 == 1 ? LABELS
                                                           : 3,
                               .reject = rejects[round % 7 % 3],
                               .add = {[HC_VOTE_ADD_CONFIDENCE] = round / 4 % 2 != 0,
                                       [HC_VOTE_ADD_DISTANCE] = round / 8 % 2 != 0,
                                       [HC_VOTE_ADD_NEIGHBOURS] = round / 16 % 2 != 0}};
            check_rule(&rig, &rule, round % 4 + 1, round % 3 == 0 ? 1 : 37, &seed);
        }
        rig_close(&rig);
    }
}

/* Chosen by hand: what wins a tie. */
SMALL(test_vote_ties) {
    (void)state;
    static const int32_t label[LABELS] = {3, 1, 2, 1};
    static const struct {
        HcVote vote;
        int32_t index[4];
        double distance[4];
        float winner, share;
    } cases[] = {
        {HC_VOTE_MAJORITY, {0, 1, 3, 0}, {1, 4, 9, 16}, 1, 0.5F},    /* both 5: the lower class */
        {HC_VOTE_MAJORITY, {0, 1, 3, 0}, {1, 4, 16, 16}, 3, 0.5F},   /* 5 against 6 */
        {HC_VOTE_MAJORITY, {0, 2, 2, 0}, {4, 4, 4, 4}, 2, 0.5F},     /* the same: the lower class */
        {HC_VOTE_MAJORITY, {0, 1, 2, 1}, {0, 4, 4, 4}, 1, 0.5F},     /* votes before distances */
        {HC_VOTE_DISTANCE, {0, 1, 2, 1}, {0, 4, 4, 4}, 3, 1},        /* only those at 0 */
        {HC_VOTE_DISTANCE, {0, 1, 2, 2}, {0, 0, 4, 4}, 1, 0.5F},     /* by count, then the lower class */
        {HC_VOTE_DISTANCE, {0, 1, 2, 1}, {1, 4, 16, 16}, 3, 0.5F},   /* 1 of 1 + 1/2 + 1/4 + 1/4 */
        {HC_VOTE_DISTANCE, {0, 1, 3, 2}, {1, 4, 4, 4}, 1, 1 / 2.5F}, /* 1 against 1/2 + 1/2 */
    };
    Rig rig;
    rig_open(&rig, 1);
    Cube cube = cube_new(1, 1, 1);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        HcVoteRule rule = {.vote = cases[c].vote,
                           .k = 4,
                           .classes = 3,
                           .reject = INFINITY,
                           .add = {[HC_VOTE_ADD_CONFIDENCE] = true}};
        HcBlock in = rig_put_block(&rig, &cube, 0, 1, 0);
        HcBlock out = rig_alloc_block(&rig, &cube, 0, 1, 0, 2);
        check_ok(hc_vote(rig.queue, &in, rig_put(&rig, cases[c].index, sizeof cases[c].index),
                         rig_put(&rig, cases[c].distance, sizeof cases[c].distance),
                         rig_put(&rig, label, sizeof label), &rule, &out, &rig.err),
                 rig.err);
        Cube got = rig_get_block(&rig, &out);
        check_near(got.data[0], cases[c].winner, 0);
        check_near(got.data[1], cases[c].share, 1e-6);
        cube_free(&got);
        rig_empty(&rig);
    }
    cube_free(&cube);
    rig_close(&rig);
}

CASE(test_vote_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 2);
    Cube cube = cube_new(9, 5, 4);
    HcBlock in = rig_put_block(&rig, &cube, 3, 3, 1);
    HcBlock out = rig_alloc_block(&rig, &cube, 3, 3, 0, 2);
    HcVoteRule rule = {.k = 2, .classes = 3, .reject = INFINITY, .add = {[HC_VOTE_ADD_DISTANCE] = true}};
    const int32_t *index = rig_alloc(&rig, 30 * sizeof *index);
    const double *distance = rig_alloc(&rig, 30 * sizeof *distance);
    HcQueue *queue = rig.queue;
    HcError *err = &rig.err;
    check_fails(hc_vote(NULL, &in, index, distance, index, &rule, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_vote(queue, NULL, index, distance, index, &rule, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_vote(queue, &in, NULL, distance, index, &rule, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_vote(queue, &in, index, NULL, index, &rule, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_vote(queue, &in, index, distance, NULL, &rule, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_vote(queue, &in, index, distance, index, NULL, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_vote(queue, &in, index, distance, index, &rule, NULL, err), HC_E_USAGE, rig.err);
    HcVoteRule wrong[] = {rule, rule, rule, rule, rule};
    wrong[0].k = 0;
    wrong[1].k = HC_KNN_MAX + 1;
    wrong[2].classes = 0;
    wrong[3].reject = NAN;
    wrong[4].add[HC_VOTE_ADD_CONFIDENCE] = true; /* a band more */
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_fails(hc_vote(queue, &in, index, distance, index, &wrong[i], &out, err), HC_E_USAGE, rig.err);
    }
    HcBlock other[] = {out, out, out, out};
    other[0].lines--;
    other[1].samples--;
    other[2].line0++;
    other[3].above = 1;
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        check_fails(hc_vote(queue, &in, index, distance, index, &rule, &other[i], err), HC_E_USAGE, rig.err);
    }
    cube_free(&cube);
    rig_close(&rig);
}
