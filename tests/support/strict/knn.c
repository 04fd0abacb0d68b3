/* The strict backend: knn. */
#include "tests/support/strict_parts.h"

STRICT_HANDLE(HcTraining, HcTrainingHead, training)

HcStatus hc_strict_training_open(HcCompute *compute, const float *spectra, int64_t count, int32_t bands,
                                 HcMetric metric, HcTraining **out, HcError *err) {
    STRICT_OPEN(HcTraining, training,
                hc_training_open(strict_of(compute)->cpu, spectra, count, bands, metric, &real, err));
    return HC_OK;
}

/* Neighbours of the interior pixels: written by knn, read by vote. */
typedef struct Neighbours {
    HcBlock in, out;
    const HcTraining *training;
    int32_t k;
    int32_t *index;
    double *distance;
    const int32_t *label;
    HcVoteRule rule;
} Neighbours;

static HcStatus translate_neighbours(const Strict *strict, Neighbours *work, const char *what, HcError *err) {
    size_t count = (size_t)work->in.lines * (size_t)work->in.samples * (size_t)work->k;
    HC_OR_RETURN(strict_translate_block(strict, &work->in, "the input block", err));
    HC_OR_RETURN(strict_translate(strict, &work->index, count * sizeof *work->index, what, err));
    return strict_translate(strict, &work->distance, count * sizeof *work->distance, what, err);
}

static HcStatus do_knn(const Strict *strict, void *arguments, HcError *err) {
    Neighbours *work = arguments;
    HC_OR_RETURN(strict_still_open(&work->training->kept, "knn: training spectra", err));
    HC_OR_RETURN(translate_neighbours(strict, work, "knn", err));
    return hc_knn(strict->cpu_queue, &work->in, work->training->kept.real, work->k, work->index,
                  work->distance, err);
}

HcStatus hc_strict_knn(HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k,
                       int32_t *index, double *distance, HcError *err) {
    Neighbours work = {.in = *in, .training = training, .k = k, .index = index, .distance = distance};
    return strict_accept(queue, do_knn, &work, sizeof work, err);
}

/* There must be a label for every neighbour. */
static HcStatus do_vote(const Strict *strict, void *arguments, HcError *err) {
    Neighbours *work = arguments;
    int32_t last = 0;
    HC_OR_RETURN(translate_neighbours(strict, work, "vote", err));
    HC_OR_RETURN(strict_translate_block(strict, &work->out, "the output block", err));
    int64_t count = (int64_t)work->in.lines * work->in.samples * work->k;
    for (int64_t i = 0; i < count; i++) {
        last = work->index[i] > last ? work->index[i] : last;
    }
    HC_OR_RETURN(strict_translate(strict, &work->label, ((size_t)last + 1) * sizeof *work->label,
                                  "vote, the labels", err));
    return hc_vote(strict->cpu_queue, &work->in, work->index, work->distance, work->label, &work->rule,
                   &work->out, err);
}

/* The neighbours are only read. */
HcStatus hc_strict_vote(HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                        const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err) {
    Neighbours work = {.in = *in,
                       .k = rule->k,
                       .index = (int32_t *)(uintptr_t)index,
                       .distance = (double *)(uintptr_t)distance,
                       .label = label,
                       .rule = *rule,
                       .out = *out};
    return strict_accept(queue, do_vote, &work, sizeof work, err);
}

typedef struct Reassign {
    HcBlock in;
    const int32_t *index;
    int32_t *label;
    int64_t *sums;
    int32_t k, classes;
} Reassign;

static HcStatus do_reassign(const Strict *strict, void *arguments, HcError *err) {
    Reassign *work = arguments;
    size_t pixels = (size_t)work->in.lines * (size_t)work->in.samples;
    size_t sums = hc_class_sums(work->classes, work->in.bands);
    HC_OR_RETURN(strict_translate_block(strict, &work->in, "the input block", err));
    HC_OR_RETURN(strict_translate(strict, &work->index, pixels * (size_t)work->k * sizeof *work->index,
                                  "reassign, the classes", err));
    HC_OR_RETURN(
        strict_translate(strict, &work->label, pixels * sizeof *work->label, "reassign, the labels", err));
    HC_OR_RETURN(strict_translate(strict, &work->sums, sums * sizeof *work->sums, "reassign, sums", err));
    return hc_reassign(strict->cpu_queue, &work->in, work->index, work->k, work->label, work->classes,
                       work->sums, err);
}

HcStatus hc_strict_reassign(HcQueue *queue, const HcBlock *in, const int32_t *index, int32_t k,
                            int32_t *label, int32_t classes, int64_t *sums, HcError *err) {
    Reassign work = {*in, index, label, sums, k, classes};
    return strict_accept(queue, do_reassign, &work, sizeof work, err);
}
