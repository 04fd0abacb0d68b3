/* libsvm trains, on a copy of the spectra, and what decides is copied out of its model: vectors in lanes, so
 * that the kernels of a pixel are one vector loop. Trials of cross-validation are items of a team. Memory is
 * tried before training, since libsvm writes to what it did not get. */
#include "pipeline/stages/classify/svm.h"
#include "core/allocate.h"
#include "pipeline/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef HC_HAS_SVM
#include <libsvm/svm.h>
#endif

void hc_svm_clear(HcSvm *svm) {
    free(svm->label);
    free(svm->first);
    free(svm->coef);
    free(svm->rho);
    free(svm->vector);
    *svm = (HcSvm){0};
}

/* ---- training ---- */

enum { CACHE = 40 }; /* of rows of the kernel [MiB] */

size_t hc_svm_kernel_bytes(size_t count) {
    size_t most = (size_t)CACHE << 20;
    return count < 4096 && count * count * sizeof(float) < most ? count * count * sizeof(float) : most;
}

#ifdef HC_HAS_SVM

bool hc_svm_there(void) {
    return true;
}

void hc_svm_library(HcText *text) {
    hc_text_add(text, "libsvm %d.%02d\n", LIBSVM_VERSION / 100, LIBSVM_VERSION % 100);
}

static void print_nothing(const char *text) {
    (void)text;
}

/* The training spectra as libsvm takes them; borrows the labels. */
typedef struct Nodes {
    struct svm_problem problem;
    struct svm_node *node;
} Nodes;

static void clear_nodes(Nodes *nodes) {
    free(nodes->problem.x);
    free(nodes->problem.y);
    free(nodes->node);
}

static HcStatus make_nodes(Nodes *nodes, const HcSvmProblem *from, HcError *err) {
    size_t bands = (size_t)from->bands;
    size_t count = (size_t)from->count;
    HC_OR_RETURN(hc_new(nodes->problem.x, count, "training spectra", err));
    HC_OR_RETURN(hc_new(nodes->problem.y, count, "training spectra", err));
    HC_OR_RETURN(hc_new(nodes->node, count * (bands + 1), "training spectra", err));
    nodes->problem.l = from->count;
    for (size_t i = 0; i < count; i++) {
        struct svm_node *row = nodes->node + i * (bands + 1);
        for (size_t b = 0; b < bands; b++) {
            row[b] = (struct svm_node){(int)b + 1, from->value[i * bands + b]};
        }
        row[bands].index = -1;
        nodes->problem.x[i] = row;
        nodes->problem.y[i] = from->label[i];
    }
    return HC_OK;
}

/* Copies what decides; libsvm numbers classes in the order of their first spectra, which is ascending. */
static HcStatus take_model(HcSvm *svm, const struct svm_model *model, const HcSvmProblem *problem,
                           HcError *err) {
    size_t bands = (size_t)problem->bands;
    size_t classes = (size_t)model->nr_class;
    size_t count = (size_t)model->l;
    size_t pairs = (size_t)hc_svm_pairs(model->nr_class);
    svm->bands = problem->bands;
    svm->classes = model->nr_class;
    svm->count = model->l;
    svm->blocks = (count + HC_SVM_LANES - 1) / HC_SVM_LANES;
    HC_OR_RETURN(hc_new(svm->label, classes, "support vectors", err));
    HC_OR_RETURN(hc_new(svm->first, classes + 1, "support vectors", err));
    HC_OR_RETURN(hc_new(svm->coef, (classes - 1) * count, "support vectors", err));
    HC_OR_RETURN(hc_new(svm->rho, pairs, "support vectors", err));
    HC_OR_RETURN(hc_new(svm->vector, svm->blocks * bands * HC_SVM_LANES, "support vectors", err));
    for (size_t c = 0; c < classes; c++) {
        svm->label[c] = model->label[c];
        svm->first[c + 1] = svm->first[c] + model->nSV[c];
    }
    for (size_t c = 0; c + 1 < classes; c++) {
        memcpy(svm->coef + c * count, model->sv_coef[c], count * sizeof *svm->coef);
    }
    memcpy(svm->rho, model->rho, pairs * sizeof *svm->rho);
    for (size_t i = 0; i < count; i++) {
        const double *from = problem->value + (size_t)(model->sv_indices[i] - 1) * bands;
        for (size_t b = 0; b < bands; b++) {
            svm->vector[(i / HC_SVM_LANES * bands + b) * HC_SVM_LANES + i % HC_SVM_LANES] = from[b];
        }
    }
    return HC_OK;
}

/* The most that libsvm has at once: its cache, which holds two rows at least, some 30 numbers of each
 * spectrum, and the weights of each pair of classes, twice. */
static size_t memory_of(const HcSvmProblem *problem) {
    size_t classes = 1;
    for (int32_t i = 1; i < problem->count; i++) {
        classes += problem->label[i] != problem->label[i - 1];
    }
    size_t count = (size_t)problem->count;
    return hc_svm_kernel_bytes(count) + count * (256 + 2 * sizeof(double) * classes);
}

/* libsvm writes where its memory would be without looking whether it got any. So as much is asked for before.
 */
static HcStatus check_memory(const HcSvmProblem *problem, int32_t machines, HcError *err) {
    char *memory = NULL;
    HC_OR_RETURN(hc_new(memory, (size_t)machines * memory_of(problem), "a support vector machine", err));
    free(memory);
    return HC_OK;
}

HcStatus hc_svm_train(HcSvm *svm, const HcSvmProblem *problem, const HcSvmHow *how, double precision,
                      HcError *err) {
    HcStatus status = HC_OK;
    Nodes nodes = {0};
    struct svm_model *model = NULL;
    const struct svm_parameter parameter = {.svm_type = C_SVC,
                                            .kernel_type = how->linear ? LINEAR : RBF,
                                            .C = how->cost,
                                            .gamma = how->linear ? 0 : how->gamma,
                                            .eps = precision,
                                            .cache_size = CACHE,
                                            .shrinking = 1};
    svm->how = *how;
    HC_TRY(make_nodes(&nodes, problem, err));
    const char *wrong = svm_check_parameter(&nodes.problem, &parameter);
    if (wrong != NULL) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "a support vector machine: cost %.6g, gamma %.6g: %s", how->cost,
                       how->gamma, wrong));
    }
    svm_set_print_string_function(print_nothing);
    HC_TRY(check_memory(problem, 1, err));
    model = svm_train(&nodes.problem, &parameter);
    if (model == NULL) {
        HC_TRY(hc_fail_memory(err, 0, "a support vector machine"));
    }
    HC_TRY(take_model(svm, model, problem, err));
done:
    svm_free_and_destroy_model(&model);
    clear_nodes(&nodes);
    return status;
}

#else

bool hc_svm_there(void) {
    return false;
}

void hc_svm_library(HcText *text) {
    hc_text_add(text, "libsvm none\n");
}

static HcStatus check_memory(const HcSvmProblem *problem, int32_t machines, HcError *err) {
    (void)problem, (void)machines, (void)err;
    return HC_OK;
}

HcStatus hc_svm_train(HcSvm *svm, const HcSvmProblem *problem, const HcSvmHow *how, double precision,
                      HcError *err) {
    (void)svm, (void)problem, (void)how, (void)precision;
    return hc_fail(err, HC_E_UNSUPPORTED, "support vector machines: this hcube was built without libsvm");
}

#endif

/* ---- deciding ---- */

void hc_svm_kernel(const HcSvm *svm, const double *x, double *kernel) {
    size_t bands = (size_t)svm->bands;
    for (size_t k = 0; k < svm->blocks; k++) {
        const double *vector = svm->vector + k * bands * HC_SVM_LANES;
        double sum[HC_SVM_LANES] = {0};
        for (size_t b = 0; b < bands; b++) {
            for (size_t j = 0; j < HC_SVM_LANES; j++) {
                double v = vector[b * HC_SVM_LANES + j];
                sum[j] += svm->how.linear ? x[b] * v : (x[b] - v) * (x[b] - v);
            }
        }
        for (size_t j = 0; j < HC_SVM_LANES; j++) {
            kernel[k * HC_SVM_LANES + j] = svm->how.linear ? sum[j] : exp(-svm->how.gamma * sum[j]);
        }
    }
}

/* Weights of a pair are those of the vectors of both its classes: of a in row b - 1, of b in row a. */
static double margin_of(const HcSvm *svm, int32_t a, int32_t b, int32_t pair, const double *kernel) {
    const double *of_a = svm->coef + (size_t)(b - 1) * (size_t)svm->count;
    const double *of_b = svm->coef + (size_t)a * (size_t)svm->count;
    double sum = -svm->rho[pair];
    for (int32_t i = svm->first[a]; i < svm->first[a + 1]; i++) {
        sum += of_a[i] * kernel[i];
    }
    for (int32_t i = svm->first[b]; i < svm->first[b + 1]; i++) {
        sum += of_b[i] * kernel[i];
    }
    return sum;
}

static int32_t most_of(const int32_t *votes, int32_t classes) {
    int32_t best = 0;
    for (int32_t c = 1; c < classes; c++) {
        best = votes[c] > votes[best] ? c : best;
    }
    return best;
}

int32_t hc_svm_vote(const HcSvm *svm, const double *kernel, int32_t *votes) {
    int32_t pair = 0;
    memset(votes, 0, (size_t)svm->classes * sizeof *votes);
    for (int32_t a = 0; a < svm->classes; a++) {
        for (int32_t b = a + 1; b < svm->classes; b++) {
            votes[margin_of(svm, a, b, pair, kernel) > 0 ? a : b]++;
            pair++;
        }
    }
    return most_of(votes, svm->classes);
}

int32_t hc_svm_vote_margins(int32_t classes, const float *margin, int32_t *votes) {
    memset(votes, 0, (size_t)classes * sizeof *votes);
    for (int32_t a = 0; a < classes; a++) {
        for (int32_t b = a + 1; b < classes; b++) {
            votes[*margin++ > 0 ? a : b]++;
        }
    }
    return most_of(votes, classes);
}

void hc_svm_normals(const HcSvm *svm, double *normal) {
    size_t pairs = (size_t)hc_svm_pairs(svm->classes);
    size_t bands = (size_t)svm->bands;
    size_t pair = 0;
    memset(normal, 0, bands * pairs * sizeof *normal);
    for (int32_t a = 0; a < svm->classes; a++) {
        for (int32_t b = a + 1; b < svm->classes; b++, pair++) {
            for (int32_t i = svm->first[a]; i < svm->first[b + 1]; i++) {
                bool of_a = i < svm->first[a + 1];
                if (!of_a && i < svm->first[b]) {
                    continue;
                }
                double weight = svm->coef[(size_t)(of_a ? b - 1 : a) * (size_t)svm->count + (size_t)i];
                const double *vector =
                    svm->vector + (size_t)i / HC_SVM_LANES * bands * HC_SVM_LANES + (size_t)i % HC_SVM_LANES;
                for (size_t k = 0; k < bands; k++) {
                    normal[k * pairs + pair] += weight * vector[k * HC_SVM_LANES];
                }
            }
        }
    }
}

/* ---- cross-validation ---- */

/* fold[count]: each class shuffled (Fisher, Yates) and dealt out. */
static HcStatus deal(const HcSvmProblem *problem, int32_t folds, uint64_t seed, int32_t *fold, HcError *err) {
    int32_t *order = NULL;
    HC_OR_RETURN(hc_new(order, problem->count, "folds", err));
    int32_t dealt = 0;
    for (int32_t begin = 0, end = 0; begin < problem->count; begin = end) {
        while (end < problem->count && problem->label[end] == problem->label[begin]) {
            order[end] = end;
            end++;
        }
        for (int32_t i = end - 1; i > begin; i--) {
            int32_t k = begin + (int32_t)(hc_random_bits(&seed) % (uint64_t)(i - begin + 1));
            int32_t other = order[k];
            order[k] = order[i];
            order[i] = other;
        }
        for (int32_t i = begin; i < end; i++) {
            fold[order[i]] = dealt++ % folds;
        }
    }
    free(order);
    return HC_OK;
}

/* One trial with one fold left out is an item of the team. */
typedef struct Folds {
    const HcSvmProblem *problem;
    const int32_t *fold;
    const HcSvmTrial *trial;
    int32_t folds;
    int32_t *right; /* [items] spectra that are predicted as they are */
    HcStatus *status;
    HcError *error;
} Folds;

static HcStatus train_without(const Folds *folds, int32_t out, const HcSvmHow *how, HcSvm *svm,
                              HcError *err) {
    HcStatus status = HC_OK;
    const HcSvmProblem *all = folds->problem;
    size_t bands = (size_t)all->bands;
    HcSvmProblem some = {.bands = all->bands};
    double *value = NULL;
    int32_t *label = NULL;
    HC_TRY(hc_new(value, (size_t)all->count * bands, "training spectra", err));
    HC_TRY(hc_new(label, all->count, "training spectra", err));
    for (int32_t i = 0; i < all->count; i++) {
        if (folds->fold[i] != out) {
            memcpy(value + (size_t)some.count * bands, all->value + (size_t)i * bands, bands * sizeof *value);
            label[some.count++] = all->label[i];
        }
    }
    some.value = value;
    some.label = label;
    HC_TRY(hc_svm_train(svm, &some, how, 0.01, err));
done:
    free(value);
    free(label);
    return status;
}

static HcStatus try_fold(const Folds *folds, int32_t out, const HcSvmHow *how, int32_t *right, HcError *err) {
    HcStatus status = HC_OK;
    const HcSvmProblem *all = folds->problem;
    HcSvm svm = {0};
    double *kernel = NULL;
    int32_t *votes = NULL;
    HC_TRY(train_without(folds, out, how, &svm, err));
    HC_TRY(hc_new(kernel, svm.blocks * HC_SVM_LANES, "kernels", err));
    HC_TRY(hc_new(votes, svm.classes, "votes", err));
    for (int32_t i = 0; i < all->count; i++) {
        if (folds->fold[i] == out) {
            hc_svm_kernel(&svm, all->value + (size_t)i * (size_t)all->bands, kernel);
            *right += svm.label[hc_svm_vote(&svm, kernel, votes)] == all->label[i];
        }
    }
done:
    free(kernel);
    free(votes);
    hc_svm_clear(&svm);
    return status;
}

static void work(void *user, int64_t item, int32_t thread) {
    const Folds *folds = user;
    const HcSvmTrial *trial = &folds->trial[item / folds->folds];
    (void)thread;
    folds->status[item] = try_fold(folds, (int32_t)(item % folds->folds), &trial->how, &folds->right[item],
                                   &folds->error[item]);
}

HcStatus hc_svm_cross_validate(const HcSvmProblem *problem, int32_t folds, uint64_t seed, HcSvmTrial *trial,
                               int32_t count, HcTeam *team, HcError *err) {
    HcStatus status = HC_OK;
    int32_t *fold = NULL;
    int32_t items = count * folds;
    Folds all = {.problem = problem, .trial = trial, .folds = folds};
    HC_TRY(hc_new(fold, problem->count, "folds", err));
    HC_TRY(hc_new(all.right, items, "folds", err));
    HC_TRY(hc_new(all.status, items, "folds", err));
    HC_TRY(hc_new(all.error, items, "folds", err));
    HC_TRY(deal(problem, folds, seed, fold, err));
    all.fold = fold;
    HC_TRY(check_memory(problem, hc_team_threads(team), err)); /* machines are trained side by side */
    hc_team_run(team, items, work, &all);
    for (int32_t i = 0; i < items; i++) {
        if (all.status[i] != HC_OK) {
            HC_TRY(hc_fail(err, all.status[i], "%s", all.error[i].text));
        }
        trial[i / folds].accuracy += (double)all.right[i] / problem->count;
    }
done:
    free(fold);
    free(all.right);
    free(all.status);
    free(all.error);
    return status;
}
