/* Distances, likelihoods, divergences and votes all become a cost of which the smallest wins. So the choice
 * of a class, confidence and rejection are written once, and of equal costs the first class is taken. Pixels
 * are scored in pieces: memory does not grow with the scene, and threads share the lines of a piece. */
#include "pipeline/stages/classify/scores.h"
#include "core/allocate.h"
#include "core/operation/image/project.h"
#include "core/operation/image/reduce.h"
#include "pipeline/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels that are scored at once, as lines of a scene of their own: threads share out lines. */
enum { PIECE_SAMPLES = 64, PIECE_LINES = 128, PIECE = PIECE_SAMPLES * PIECE_LINES };

/* ---- memory ---- */

/* What the device finds out about a pixel [bytes]. */
static size_t value_bytes(HcScoreKind kind, int32_t labels) {
    return kind == HC_SCORE_KERNELS   ? 0
           : kind == HC_SCORE_MARGINS ? (size_t)hc_svm_pairs(labels) * sizeof(float)
                                      : (size_t)labels * (sizeof(double) + sizeof(int32_t));
}

/* And projected or whitened pixels, with two masks. */
size_t hc_scores_bytes_device(HcScoreKind kind, int32_t bands, int32_t labels) {
    return PIECE * (value_bytes(kind, labels) + (size_t)bands * sizeof(float) + 2);
}

static size_t found_bytes(HcScoreKind kind, int32_t bands, int32_t labels) {
    size_t spectrum = kind == HC_SCORE_KERNELS ? (size_t)bands * sizeof(float) : 0;
    return PIECE * (1 + spectrum + value_bytes(kind, labels));
}

static size_t result_bytes(int32_t labels) {
    return PIECE * ((size_t)labels + 3) * sizeof(float);
}

size_t hc_scores_bytes_host(HcScoreKind kind, int32_t bands, int32_t labels) {
    return found_bytes(kind, bands, labels) + result_bytes(labels) + PIECE * (size_t)labels * sizeof(double);
}

size_t hc_scores_bytes_model(HcScoreKind kind, int32_t bands, int32_t labels) {
    size_t means = (size_t)bands * (size_t)labels * sizeof(double);
    size_t pairs = (size_t)hc_svm_pairs(labels) * ((size_t)bands + 1) * sizeof(double);
    return kind == HC_SCORE_SQUARES   ? means * (size_t)bands + means
           : kind == HC_SCORE_MARGINS ? pairs + means
                                      : means;
}

/* Numbers of `scratch` of a thread: a scaled pixel, its kernels, and its votes. */
static size_t scratch_values(const HcScores *scores) {
    return (size_t)scores->svm.bands + scores->svm.blocks * HC_SVM_LANES + (size_t)scores->labels;
}

HcStatus hc_scores_open(HcScores *scores, HcCompute *compute, int32_t bands, HcError *err) {
    HcComputeInfo info;
    hc_compute_info(compute, &info);
    scores->is_open = true;
    scores->team = hc_team_open(hc_team_count(info.threads, 16));
    HC_OR_RETURN(hc_new(scores->ordered, PIECE * (size_t)scores->labels, "scores of classes", err));
    HC_OR_RETURN(hc_new(scores->scratch, (size_t)hc_team_threads(scores->team) * scratch_values(scores),
                        "scores of classes", err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE,
                          hc_scores_bytes_device(scores->kind, bands, scores->labels), &scores->work, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, found_bytes(scores->kind, bands, scores->labels),
                          &scores->found, err));
    return hc_alloc(compute, HC_MEMORY_HOST, result_bytes(scores->labels), &scores->result, err);
}

void hc_scores_close(HcScores *scores, HcCompute *compute) {
    hc_team_close(scores->team);
    hc_memory_release(compute, &scores->matrix);
    hc_memory_release(compute, &scores->mean);
    hc_memory_release(compute, &scores->shift);
    hc_svm_clear(&scores->svm);
    free(scores->scale);
    free(scores->scratch);
    hc_memory_release(compute, &scores->work);
    hc_memory_release(compute, &scores->found);
    hc_memory_release(compute, &scores->result);
    free(scores->ordered);
    free(scores->label);
    free(scores->offset);
    free(scores->prior);
    free(scores->share);
    *scores = (HcScores){0};
}

/* ---- on the device ---- */

/* A piece in the memory of the device, and where its parts come to lie on the host. */
typedef struct Piece {
    HcBlock spectra; /* whitened or projected */
    double *distance;
    int32_t *index;
    float *score;
    uint8_t *score_mask;
    size_t pixels;
} Piece;

static Piece piece_of(const HcScores *scores, const HcBlock *in) {
    Piece piece = {.pixels = hc_block_pixels(in), .spectra = *in};
    piece.distance = scores->work.data;
    piece.score = (float *)piece.distance; /* never both */
    piece.index = (int32_t *)(piece.distance + PIECE * (size_t)scores->labels);
    piece.spectra.data =
        (float *)((char *)scores->work.data + PIECE * value_bytes(scores->kind, scores->labels));
    piece.spectra.mask = (uint8_t *)(piece.spectra.data + PIECE * (size_t)in->bands);
    piece.score_mask = piece.spectra.mask + PIECE;
    return piece;
}

static HcStatus find_nearest(const HcScores *scores, HcQueue *queue, const HcBlock *in,
                             const HcScoreMeans *means, Piece *piece, HcError *err) {
    size_t found = piece->pixels * (size_t)scores->count;
    double *distance = scores->found.data;
    const HcBlock *spectra = in;
    if (means->matrix != NULL) {
        piece->spectra.bands = means->directions;
        HC_OR_RETURN(hc_project(queue, in, means->matrix, means->mean, NULL, &piece->spectra, err));
        spectra = &piece->spectra;
    }
    HC_OR_RETURN(hc_knn(queue, spectra, means->model, scores->count, piece->index, piece->distance, err));
    HC_OR_RETURN(hc_download(queue, piece->distance, distance, found * sizeof *distance, err));
    return hc_download(queue, piece->index, distance + PIECE * (size_t)scores->labels,
                       found * sizeof *piece->index, err);
}

static HcStatus find_squares(const HcScores *scores, HcQueue *queue, const HcBlock *in, Piece *piece,
                             HcError *err) {
    size_t bands = (size_t)in->bands;
    HcBlock score = *in;
    score.bands = 1;
    score.mask = piece->score_mask;
    for (int32_t c = 0; c < scores->count; c++) {
        const double *matrix = (const double *)scores->matrix.data + (size_t)c * bands * bands;
        const double *mean = (const double *)scores->mean.data + (size_t)c * bands;
        score.data = piece->score + (size_t)c * piece->pixels;
        HC_OR_RETURN(hc_project(queue, in, matrix, mean, NULL, &piece->spectra, err));
        HC_OR_RETURN(hc_reduce(queue, &piece->spectra, HC_REDUCE_SQUARES, NULL, &score, err));
    }
    return hc_download(queue, piece->score, scores->found.data,
                       (size_t)scores->count * piece->pixels * sizeof *piece->score, err);
}

static HcStatus find_divergence(const HcScores *scores, HcQueue *queue, const HcBlock *in, Piece *piece,
                                HcError *err) {
    HcBlock score = *in;
    score.bands = scores->count;
    score.data = piece->score;
    score.mask = piece->score_mask;
    HC_OR_RETURN(hc_reduce(queue, in, HC_REDUCE_DIVERGENCE, scores->matrix.data, &score, err));
    return hc_download(queue, piece->score, scores->found.data,
                       (size_t)scores->count * piece->pixels * sizeof *piece->score, err);
}

static HcStatus find_margins(const HcScores *scores, HcQueue *queue, const HcBlock *in, Piece *piece,
                             HcError *err) {
    HcBlock score = *in;
    score.bands = hc_svm_pairs(scores->count);
    score.data = piece->score;
    score.mask = piece->score_mask;
    HC_OR_RETURN(
        hc_project(queue, in, scores->matrix.data, scores->mean.data, scores->shift.data, &score, err));
    return hc_download(queue, piece->score, scores->found.data, hc_block_values(&score) * sizeof(float), err);
}

static HcStatus find(const HcScores *scores, HcQueue *queue, const HcBlock *in, const HcScoreMeans *means,
                     Piece *piece, HcError *err) {
    switch (scores->kind) {
    case HC_SCORE_NEAREST:
        return find_nearest(scores, queue, in, means, piece, err);
    case HC_SCORE_SQUARES:
        return find_squares(scores, queue, in, piece, err);
    case HC_SCORE_DIVERGENCE:
        return find_divergence(scores, queue, in, piece, err);
    case HC_SCORE_MARGINS:
        return find_margins(scores, queue, in, piece, err);
    case HC_SCORE_KERNELS:
        return hc_download(queue, in->data, scores->found.data, hc_block_values(in) * sizeof(float), err);
    }
    return HC_OK;
}

/* ---- on the host ---- */

static uint8_t *valid_of(const HcScores *scores) {
    return (uint8_t *)scores->found.data + scores->found.bytes - PIECE;
}

/* Distances as users know them. */
static double distance_of(HcMetric metric, double found) {
    double cosine = fmax(-1, fmin(1, -found));
    return metric == HC_METRIC_EUCLIDEAN ? sqrt(found) : acos(cosine);
}

/* Votes of a support vector machine, as negative scores: the smallest wins. */
static void take_votes(const HcScores *scores, size_t pixel, double *scratch, double *score) {
    const HcSvm *svm = &scores->svm;
    const float *value = scores->found.data;
    size_t bands = (size_t)svm->bands;
    double *kernel = scratch + bands;
    int32_t *votes = (int32_t *)(kernel + svm->blocks * HC_SVM_LANES);
    if (scores->kind == HC_SCORE_MARGINS) {
        size_t pairs = (size_t)hc_svm_pairs(svm->classes);
        (void)hc_svm_vote_margins(svm->classes, value + pixel * pairs, votes);
    } else {
        for (size_t b = 0; b < bands; b++) {
            scratch[b] = ((double)value[pixel * bands + b] - scores->scale[b]) * scores->scale[bands + b];
        }
        hc_svm_kernel(svm, scratch, kernel);
        (void)hc_svm_vote(svm, kernel, votes);
    }
    for (int32_t c = 0; c < svm->classes; c++) {
        score[c] = -votes[c];
    }
}

/* score[count] of one pixel, in the order of the classes that have a model. */
static void take_scores(const HcScores *scores, const HcScoreRule *rule, size_t pixel, size_t pixels,
                        double *scratch, double *score) {
    size_t count = (size_t)scores->count;
    if (scores->svm.classes > 0) {
        take_votes(scores, pixel, scratch, score);
        return;
    }
    const double *distance = scores->found.data;
    const float *value = scores->found.data;
    const int32_t *index = (const int32_t *)(distance + PIECE * (size_t)scores->labels);
    for (size_t c = 0; c < count; c++) {
        size_t at = pixel * count + c;
        switch (scores->kind) {
        case HC_SCORE_NEAREST:
            score[index[at]] = distance_of(rule->metric, distance[at]);
            break;
        case HC_SCORE_SQUARES:
            score[c] = sqrt((double)value[c * pixels + pixel]);
            break;
        case HC_SCORE_DIVERGENCE:
            score[c] = (double)value[at];
            break;
        case HC_SCORE_MARGINS:
        case HC_SCORE_KERNELS:
            break;
        }
    }
}

/* -2 times the logarithm of the likelihood, but for a constant; the score where there is none. */
static double unlikelihood(const HcScores *scores, const HcScoreRule *rule, const double *score, int32_t c) {
    double offset = scores->offset != NULL ? scores->offset[c] : 0;
    return rule->probability ? score[c] * score[c] + offset : score[c];
}

/* What decides: the smallest wins. */
static double cost_of(const HcScores *scores, const HcScoreRule *rule, const double *score, int32_t c) {
    return unlikelihood(scores, rule, score, c) - (scores->prior != NULL ? 2 * log(scores->prior[c]) : 0);
}

/* The class of the smallest cost, of several the first; -1 where none is finite. */
static int32_t best_of(const HcScores *scores, const HcScoreRule *rule, const double *score) {
    int32_t best = -1;
    for (int32_t c = 0; c < scores->count; c++) {
        double cost = cost_of(scores, rule, score, c);
        if (isfinite(cost) && (best < 0 || cost < cost_of(scores, rule, score, best))) {
            best = c;
        }
    }
    return best;
}

/* The probability of the best class. */
static double probability_of(const HcScores *scores, const HcScoreRule *rule, const double *score,
                             int32_t best) {
    double sum = 0;
    double least = cost_of(scores, rule, score, best);
    for (int32_t c = 0; c < scores->count; c++) {
        sum += exp((least - cost_of(scores, rule, score, c)) / 2);
    }
    return 1 / sum;
}

typedef struct Decision {
    const HcScores *scores;
    const HcScoreRule *rule;
    size_t pixels, bands, of_bands; /* bands that go out, and that come in */
} Decision;

static void write_rules(const Decision *decision, const double *score, float *out) {
    const HcScores *scores = decision->scores;
    const HcScoreRule *rule = decision->rule;
    double normal = (double)decision->of_bands * log(2 * acos(-1.0));
    bool likelihood = rule->probability && scores->offset != NULL;
    for (int32_t l = 0; l < scores->labels; l++) {
        out[l] = scores->svm.classes > 0 ? 0 : likelihood ? -INFINITY : INFINITY;
    }
    for (int32_t c = 0; c < scores->count; c++) {
        double cost = unlikelihood(scores, rule, score, c);
        out[scores->label[c] - 1] = (float)(likelihood                ? -(cost + normal) / 2
                                            : scores->svm.classes > 0 ? (0 - score[c]) / (scores->count - 1)
                                                                      : score[c]);
    }
}

static void decide_pixel(const Decision *decision, size_t pixel, double *scratch, double *score, float *out) {
    const HcScores *scores = decision->scores;
    const HcScoreRule *rule = decision->rule;
    take_scores(scores, rule, pixel, decision->pixels, scratch, score);
    int32_t best = best_of(scores, rule, score);
    double distance = best >= 0 ? score[best] : INFINITY;
    bool rejected = best < 0 || distance > rule->reject;
    int32_t label = rejected ? 0 : scores->label[best];
    *out++ = (float)(scores->number != NULL ? scores->number[label] : label);
    if (rule->confidence) {
        *out++ = rejected ? 0 : (float)probability_of(scores, rule, score, best);
    }
    if (rule->distance) {
        *out++ = (float)distance;
    }
    if (rule->rules) {
        write_rules(decision, score, out);
    }
}

static void decide_line(void *user, int64_t line, int32_t thread) {
    const Decision *decision = user;
    const HcScores *scores = decision->scores;
    const uint8_t *valid = valid_of(scores);
    size_t end = (size_t)(line + 1) * PIECE_SAMPLES;
    double *scratch = scores->scratch + (size_t)thread * scratch_values(scores);
    for (size_t p = (size_t)line * PIECE_SAMPLES; p < end && p < decision->pixels; p++) {
        float *out = (float *)scores->result.data + p * decision->bands;
        if (valid[p] != 0) {
            decide_pixel(decision, p, scratch, scores->ordered + p * (size_t)scores->labels, out);
        } else {
            memset(out, 0, decision->bands * sizeof *out);
        }
    }
}

/* ---- pieces ---- */

static HcStatus apply_piece(HcScores *scores, HcQueue *queue, const HcBlock *in, const HcScoreMeans *means,
                            const HcScoreRule *rule, const HcBlock *out, HcError *err) {
    Piece piece = piece_of(scores, in);
    Decision decision = {.scores = scores,
                         .rule = rule,
                         .pixels = piece.pixels,
                         .bands = (size_t)out->bands,
                         .of_bands = (size_t)in->bands};
    HC_OR_RETURN(find(scores, queue, in, means, &piece, err));
    HC_OR_RETURN(hc_download(queue, in->mask, valid_of(scores), piece.pixels, err));
    HC_OR_RETURN(hc_wait(queue, err));
    hc_team_run(scores->team, (int64_t)(piece.pixels + PIECE_SAMPLES - 1) / PIECE_SAMPLES, decide_line,
                &decision);
    HC_OR_RETURN(
        hc_upload(queue, scores->result.data, out->data, piece.pixels * decision.bands * sizeof(float), err));
    HC_OR_RETURN(hc_upload(queue, valid_of(scores), out->mask, piece.pixels, err));
    return hc_wait(queue, err);
}

/* Pixels from `first` on, as a block of their own. */
static HcBlock part_of(const HcBlock *block, size_t first, int32_t lines, int32_t samples) {
    HcBlock part = *block;
    part.data += first * (size_t)block->bands;
    part.mask += first;
    part.line0 = 0;
    part.lines = lines;
    part.samples = samples;
    return part;
}

HcStatus hc_scores_apply(HcScores *scores, HcQueue *queue, const HcBlock *in, const HcScoreMeans *means,
                         const HcScoreRule *rule, const HcBlock *out, HcError *err) {
    size_t pixels = hc_block_pixels(in);
    for (size_t first = 0; first < pixels;) {
        size_t left = pixels - first;
        size_t rows = left / PIECE_SAMPLES;
        int32_t lines = rows == 0 ? 1 : rows < PIECE_LINES ? (int32_t)rows : PIECE_LINES;
        int32_t samples = rows == 0 ? (int32_t)left : PIECE_SAMPLES;
        HcBlock from = part_of(in, first, lines, samples);
        HcBlock to = part_of(out, first, lines, samples);
        HC_OR_RETURN(apply_piece(scores, queue, &from, means, rule, &to, err));
        first += (size_t)lines * (size_t)samples;
    }
    return HC_OK;
}
