/* classify --method svm: bands scaled to mean 0 and a mean variance of 1 over the training spectra, cost and
 * gamma by cross-validation, and a machine for all of them. */
#include "core/allocate.h"
#include "pipeline/memory.h"
#include "pipeline/stages/classify/classify.h"
#include "pipeline/stages/classify/svm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Spectra that cross-validation looks at, and its folds. */
enum { TRIED = 2000, FOLDS = 5 };

/* Threads that cross-validate at most. */
enum { THREADS = 16 };

/* What is tried: costs, and gammas in units of 1 / bands. */
static const double costs[] = {1, 10, 100, 1000};
static const double gammas[] = {0x1p-8, 0x1p-6, 0x1p-4, 0x1p-2, 1, 4};
enum { COSTS = sizeof costs / sizeof *costs, LINEAR_COSTS = 3, GAMMAS = sizeof gammas / sizeof *gammas };

/* A spectrum as it is scaled, as libsvm takes it, and as a vector of the machine. */
static size_t spectra_bytes(size_t count, int32_t bands, int32_t classes) {
    return count *
           ((size_t)bands * (sizeof(double) + 16 + sizeof(double)) + (size_t)classes * 2 * sizeof(double));
}

size_t hc_class_svm_bytes(size_t count, int32_t bands, int32_t classes) {
    return spectra_bytes(count, bands, classes) + hc_svm_kernel_bytes(count);
}

size_t hc_class_svm_thread_bytes(size_t count, int32_t bands, int32_t classes) {
    size_t most = TRIED + (size_t)classes; /* of each class the first, at least */
    return hc_class_svm_bytes(count < most ? count : most, bands, classes);
}

static void add_needs(HcStage *stage, size_t count) {
    int32_t bands = stage->in.bands, classes = hc_knn_class_count(stage);
    stage->needs.threads_max = THREADS;
    size_t thread = hc_class_svm_thread_bytes(count, bands, classes);
    hc_stage_takes(stage, HC_SPACE_LIBRARY, thread);
    hc_stage_takes(stage, HC_SPACE_HOST, hc_class_svm_bytes(count, bands, classes) + thread);
}

static HcStatus check_library(const HcStage *stage, HcError *err) {
    return hc_svm_there()
               ? HC_OK
               : hc_fail(err, HC_E_UNSUPPORTED, "%s: --method svm: this hcube was built without libsvm",
                         stage->kind->name);
}

/* `text`: auto, or a number above 0. */
static bool parse_setting(const char *text, double *value) {
    *value = 0;
    return hc_text_equal(text, "auto") ||
           (hc_text_parse_double(text, value) && *value > 0 && isfinite(*value));
}

static HcStatus check_setting(const char *who, const char *option, const char *text, HcError *err) {
    double value = 0;
    return parse_setting(text, &value)
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: --%s %s: neither auto nor a number above 0", who, option,
                         text);
}

HcStatus hc_class_check_cost(const char *who, const char *text, HcError *err) {
    return check_setting(who, "cost", text, err);
}

HcStatus hc_class_check_gamma(const char *who, const char *text, HcError *err) {
    return check_setting(who, "gamma", text, err);
}

/* Spectra by class, scaled; owns its arrays. */
typedef struct Sorted {
    HcSvmProblem problem;
    double *value;
    int32_t *label;
} Sorted;

static void clear_sorted(Sorted *sorted) {
    free(sorted->value);
    free(sorted->label);
}

/* Every `step`-th spectrum of each class, the first at least. */
static HcStatus sort_spectra(const HcScores *scores, const HcSamples *training, int64_t step, Sorted *sorted,
                             HcError *err) {
    size_t bands = (size_t)training->bands;
    int32_t count = 0;
    HC_OR_RETURN(hc_new(sorted->value, (size_t)training->count * bands, "training spectra", err));
    HC_OR_RETURN(hc_new(sorted->label, training->count, "training spectra", err));
    for (int32_t c = 0; c < scores->count; c++) {
        int64_t seen = 0;
        for (int64_t i = 0; i < training->count; i++) {
            if (training->label[i] != scores->label[c] || seen++ % step != 0) {
                continue;
            }
            double *to = sorted->value + (size_t)count * bands;
            for (size_t b = 0; b < bands; b++) {
                double value = (double)training->value[(size_t)i * bands + b];
                to[b] = (value - scores->scale[b]) * scores->scale[bands + b];
            }
            sorted->label[count++] = scores->label[c];
        }
    }
    sorted->problem = (HcSvmProblem){
        .value = sorted->value, .label = sorted->label, .count = count, .bands = training->bands};
    return HC_OK;
}

/* The mean accuracy of a setting and of those beside it in the table trial[costs][gammas]. With few spectra
 * that of one alone is mostly chance. */
static double smooth_accuracy(const HcSvmTrial *trial, int32_t t, int32_t cost_count, int32_t gamma_count) {
    const int32_t steps[][2] = {{0, 0}, {-1, 0}, {1, 0}, {0, -1}, {0, 1}};
    double sum = 0;
    int32_t count = 0;
    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
        int32_t c = t / gamma_count + steps[k][0];
        int32_t g = t % gamma_count + steps[k][1];
        if (c >= 0 && c < cost_count && g >= 0 && g < gamma_count) {
            sum += trial[c * gamma_count + g].accuracy;
            count++;
        }
    }
    return sum / count;
}

/* Takes the best of what is tried; of equal ones the smallest cost, then the smallest gamma. */
static HcStatus choose(HcStage *stage, const HcSamples *training, HcSvmHow *how, HcError *err) {
    HcStatus status = HC_OK;
    HcKnnState *state = stage->state;
    HcSvmTrial trial[COSTS * GAMMAS] = {0};
    Sorted sorted = {0};
    HcComputeInfo info;
    int32_t count = 0;
    int32_t cost_count = how->cost > 0 ? 1 : how->linear ? LINEAR_COSTS : COSTS;
    int32_t gamma_count = how->gamma > 0 || how->linear ? 1 : GAMMAS;
    for (int32_t c = 0; c < cost_count; c++) {
        for (int32_t g = 0; g < gamma_count; g++) {
            trial[count++].how =
                (HcSvmHow){.linear = how->linear,
                           .cost = how->cost > 0 ? how->cost : costs[c],
                           .gamma = how->gamma > 0 ? how->gamma : gammas[g] / training->bands};
        }
    }
    hc_compute_info(stage->compute, &info);
    HcTeam *team = hc_team_open(hc_team_count(info.threads, stage->threads));
    int64_t step = (training->count + TRIED - 1) / TRIED;
    HC_TRY(sort_spectra(&state->scores, training, step, &sorted, err));
    HC_TRY(hc_svm_cross_validate(&sorted.problem, FOLDS, (uint64_t)hc_knn_params(stage)->accuracy.seed, trial,
                                 count, team, err));
    int32_t best = 0;
    double most = -1;
    for (int32_t t = 0; t < count; t++) {
        double accuracy = smooth_accuracy(trial, t, cost_count, gamma_count);
        best = accuracy > most ? t : best;
        most = accuracy > most ? accuracy : most;
    }
    *how = trial[best].how;
    state->tried = count;
    state->cross_accuracy = trial[best].accuracy;
done:
    hc_team_close(team);
    clear_sorted(&sorted);
    return status;
}

/* The planes of a linear machine, for pixels as they come in. */
static HcStatus upload_planes(HcStage *stage, HcScores *scores, HcError *err) {
    HcStatus status = HC_OK;
    size_t bands = (size_t)scores->svm.bands;
    size_t pairs = (size_t)hc_svm_pairs(scores->svm.classes);
    double *normal = NULL;
    HC_OR_RETURN(hc_new(normal, (bands + 1) * pairs, "planes between classes", err));
    hc_svm_normals(&scores->svm, normal);
    for (size_t i = 0; i < bands * pairs; i++) {
        normal[i] *= scores->scale[bands + i / pairs];
    }
    for (size_t p = 0; p < pairs; p++) {
        normal[bands * pairs + p] = -scores->svm.rho[p];
    }
    HC_TRY(hc_memory_upload(stage->compute, normal, bands * pairs * sizeof *normal, &scores->matrix, err));
    HC_TRY(hc_memory_upload(stage->compute, normal + bands * pairs, pairs * sizeof *normal, &scores->shift,
                            err));
    HC_TRY(hc_memory_upload(stage->compute, scores->scale, bands * sizeof *normal, &scores->mean, err));
done:
    free(normal);
    return status;
}

/* One factor for all bands, that of their mean variance: bands of noise alone do not count as much as others.
 * Bands that are constant keep 0. */
static void share_scale(double *factor, int32_t bands) {
    double variance = 0;
    for (int32_t b = 0; b < bands; b++) {
        variance += factor[b] > 0 ? 1 / (factor[b] * factor[b] * bands) : 0;
    }
    for (int32_t b = 0; b < bands; b++) {
        factor[b] = factor[b] > 0 ? 1 / sqrt(variance) : 0;
    }
}

static HcStatus make(HcStage *stage, HcSamples *training, HcError *err) {
    HcStatus status = HC_OK;
    const HcClassParams *params = hc_class_params(stage);
    HcKnnState *state = stage->state;
    HcScores *scores = &state->scores;
    HcSvmHow how = {.linear = params->kernel != 0};
    Sorted sorted = {0};
    HC_OR_RETURN(hc_new(scores->scale, 2 * (size_t)training->bands, "scales of bands", err));
    if (hc_samples_variance(training, scores->scale, scores->scale + training->bands) == training->bands) {
        return hc_fail(err, HC_E_NUMERIC, "%s: --method svm: all training spectra are the same",
                       stage->kind->name);
    }
    share_scale(scores->scale + training->bands, training->bands);
    (void)parse_setting(params->cost, &how.cost);
    (void)parse_setting(params->gamma, &how.gamma);
    if (how.cost <= 0 || (how.gamma <= 0 && !how.linear)) {
        HC_OR_RETURN(choose(stage, training, &how, err));
    }
    HC_TRY(sort_spectra(scores, training, 1, &sorted, err));
    HC_TRY(hc_svm_train(&scores->svm, &sorted.problem, &how, 0.001, err));
    if (how.linear) {
        HC_TRY(upload_planes(stage, scores, err));
    }
    if (state->tried > 0) {
        char gamma[48] = "";
        if (!how.linear) {
            snprintf(gamma, sizeof gamma, ", gamma %.6g", how.gamma);
        }
        hc_stage_note(stage,
                      "--method svm: cost %.6g%s, the best of %d settings by cross-validation: accuracy %.4f",
                      how.cost, gamma, state->tried, state->cross_accuracy);
    }
done:
    clear_sorted(&sorted);
    return status;
}

const HcKnnMethod hc_class_svm = {.name = "svm",
                                  .models = true,
                                  .scores = {HC_SCORE_KERNELS, HC_SCORE_MARGINS},
                                  .most = HC_SVM_CLASSES,
                                  .check = check_library,
                                  .needs = add_needs,
                                  .make = make};
