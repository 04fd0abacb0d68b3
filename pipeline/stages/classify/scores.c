#include "pipeline/stages/classify/scores.h"
#include "core/allocate.h"
#include "core/operation/project.h"
#include "core/operation/reduce.h"
#include "pipeline/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Pixels that are scored at once, as lines of a scene of their own: threads share out lines. */
enum { PIECE_SAMPLES = 64, PIECE_LINES = 128, PIECE = PIECE_SAMPLES * PIECE_LINES };

/* ---- memory ---- */

/* Projected or whitened pixels with their mask, and for each class a number and a distance. */
size_t hc_scores_bytes_device(int32_t bands, int32_t labels) {
    size_t spectra = (size_t)bands * sizeof(float) + 2;
    return PIECE * (spectra + (size_t)labels * (sizeof(double) + sizeof(int32_t)));
}

static size_t found_bytes(int32_t labels) {
    return PIECE * (1 + (size_t)labels * (sizeof(double) + sizeof(int32_t)));
}

static size_t result_bytes(int32_t labels) {
    return PIECE * ((size_t)labels + 3) * sizeof(float);
}

size_t hc_scores_bytes_host(int32_t labels) {
    return found_bytes(labels) + result_bytes(labels) + PIECE * (size_t)labels * sizeof(double);
}

size_t hc_scores_bytes_model(HcScoreKind kind, int32_t bands, int32_t labels) {
    size_t means = (size_t)bands * (size_t)labels * sizeof(double);
    return kind == HC_SCORE_SQUARES ? means * (size_t)bands + means : means;
}

HcStatus hc_scores_open(HcScores *scores, HcCompute *compute, int32_t bands, HcError *err) {
    HcComputeInfo info;
    hc_compute_info(compute, &info);
    scores->is_open = true;
    scores->team = hc_team_open(hc_team_count(info.threads, 16));
    HC_OR_RETURN(hc_new(scores->ordered, PIECE * (size_t)scores->labels, "scores of classes", err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, hc_scores_bytes_device(bands, scores->labels),
                          &scores->work, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, found_bytes(scores->labels), &scores->found, err));
    return hc_alloc(compute, HC_MEMORY_HOST, result_bytes(scores->labels), &scores->result, err);
}

void hc_scores_close(HcScores *scores, HcCompute *compute) {
    hc_team_close(scores->team);
    hc_memory_release(compute, &scores->matrix);
    hc_memory_release(compute, &scores->mean);
    hc_memory_release(compute, &scores->work);
    hc_memory_release(compute, &scores->found);
    hc_memory_release(compute, &scores->result);
    free(scores->ordered);
    free(scores->label);
    free(scores->offset);
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
    piece.spectra.data = (float *)(piece.index + PIECE * (size_t)scores->labels);
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

/* ---- on the host ---- */

static uint8_t *valid_of(const HcScores *scores) {
    return (uint8_t *)scores->found.data + found_bytes(scores->labels) - PIECE;
}

/* Distances as users know them. */
static double distance_of(HcMetric metric, double found) {
    double cosine = fmax(-1, fmin(1, -found));
    return metric == HC_METRIC_EUCLIDEAN ? sqrt(found) : acos(cosine);
}

/* score[count] of one pixel, in the order of the classes that have a model. */
static void take_scores(const HcScores *scores, const HcScoreRule *rule, size_t pixel, size_t pixels,
                        double *score) {
    size_t count = (size_t)scores->count;
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
        }
    }
}

/* What decides: the smallest wins. */
static double cost_of(const HcScores *scores, const HcScoreRule *rule, const double *score, int32_t c) {
    double offset = scores->offset != NULL ? scores->offset[c] : 0;
    return rule->probability ? score[c] * score[c] + offset : score[c];
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

/* The probability of the best class where all are equally probable before. */
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
        out[l] = likelihood ? -INFINITY : INFINITY;
    }
    for (int32_t c = 0; c < scores->count; c++) {
        double cost = cost_of(scores, rule, score, c);
        out[scores->label[c] - 1] = (float)(likelihood ? -(cost + normal) / 2 : score[c]);
    }
}

static void decide_pixel(const Decision *decision, size_t pixel, double *score, float *out) {
    const HcScores *scores = decision->scores;
    const HcScoreRule *rule = decision->rule;
    take_scores(scores, rule, pixel, decision->pixels, score);
    int32_t best = best_of(scores, rule, score);
    double distance = best >= 0 ? score[best] : INFINITY;
    bool rejected = best < 0 || distance > rule->reject;
    *out++ = rejected ? 0 : (float)scores->label[best];
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
    (void)thread;
    for (size_t p = (size_t)line * PIECE_SAMPLES; p < end && p < decision->pixels; p++) {
        float *out = (float *)scores->result.data + p * decision->bands;
        if (valid[p] != 0) {
            decide_pixel(decision, p, scores->ordered + p * (size_t)scores->labels, out);
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
    switch (scores->kind) {
    case HC_SCORE_NEAREST:
        HC_OR_RETURN(find_nearest(scores, queue, in, means, &piece, err));
        break;
    case HC_SCORE_SQUARES:
        HC_OR_RETURN(find_squares(scores, queue, in, &piece, err));
        break;
    case HC_SCORE_DIVERGENCE:
        HC_OR_RETURN(find_divergence(scores, queue, in, &piece, err));
        break;
    }
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
