/* abundance: how much of each endmember is in a pixel, by least absolute deviations. */
#include "pipeline/stages/abundance/abundance.h"
#include "core/allocate.h"
#include "core/operation/lp/lad.h"
#include "core/operation/image/gather.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"
#include "pipeline/spectra/mixture.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>

typedef enum Norm { NORM_L1, NORM_L2 } Norm;

typedef struct Params {
    const char *endmembers;
    HcLibraryChoice choice;
    int32_t sum, norm;
    const char *scale, *weights;
    bool residual, status, pivots, verify;
} Params;

typedef struct State {
    HcMixture mixture;   /* first; its weights are those of absolute deviations, but for l2 */
    HcLad *absolute;     /* l1, once the unit of the scene is known */
    HcUnmixing *squared; /* l2, likewise */
    HcBuffer order;      /* [device] l2: which of its bands each band that goes out is */
    HcAbundanceProof proof;
} State;

/* A pixel is proved to be optimal when its error is at most this: violations and gaps, relative; with l2 the
 * gap of unmix, which is a share of what may be left of a noiseless pixel. */
static const double proof_limit[] = {1e-9, 1e-4};

/* Steps of active sets in a pixel, at most. */
enum { LEAST_SQUARES_STEPS = 1000 };

/* As HcLadSum; the last are free abundances, divided by their sum afterwards. */
static const char *const sum_words[] = {"free", "one", "at-most-one", "shares", NULL};
enum { SHARES = 3 };
static const char *const norm_words[] = {"l1", "l2", NULL}; /* as Norm */

static const HcOption options[] = {
    {HC_TEXT(Params, endmembers), .file = HC_FILE_READ, .value = "FILE", .required = true,
     .help = "spectral library that holds the endmembers: ENVI (.sli, .hdr) or CSV"},
    HC_LIBRARY_CHOICE_OPTIONS(Params, choice),
    {HC_CHOICE(Params, sum), .choices = sum_words, .standard = "one",
     .help = "sum of the abundances of a pixel; shares: free abundances divided by their sum"},
    {HC_CHOICE(Params, norm), .choices = norm_words, .standard = "l1",
     .help = "minimise the sum of absolute deviations over the bands that have a value (l1), or of squared "
             "deviations (l2). l2 leaves out pixels without a value in some band"},
    {HC_TEXT(Params, scale), .value = "FACTOR|auto|none", .standard = "auto",
     .help = "factor from the unit of the endmembers to that of the scene; auto takes it from headers and "
             "values, none is 1"},
    {HC_TEXT(Params, weights), .file = HC_FILE_READ, .value = "FILE", .otherwise = "all bands count the same",
     .help = "divide deviations by the standard deviation of the noise of their band: a file from cov "
             "--noise (.json), or a list, one for each band"},
    {HC_FLAG(Params, residual), .unit = "units of the input",
     .help = "add the band residual: the mean absolute deviation (l2: root mean square) over the bands that "
             "have a value, without weights"},
    {HC_FLAG(Params, status),
     .help =
         "add the band status: 0 if the optimum is reached and proved (l1: to 1e-9, l2: to a gap of 1e-4)"},
    {HC_FLAG(Params, pivots),
     .help =
         "add the band pivots: the pivots of the simplex method (l2: the band iterations, active-set steps)"},
    {HC_FLAG(Params, verify), .help = "add the bands objective, dual objective and error (l2: only error), "
                                      "and report pixels that are not proved to be optimal"},
    {0}};

static const Params *params_of(const HcStage *stage) {
    return stage->params;
}

static bool is_l1(const HcStage *stage) {
    return params_of(stage)->norm == NORM_L1;
}

/* By a table: of a comparison with SHARES, GCC 12 concludes that no later one holds. */
static HcLadSum sum_of(const HcStage *stage) {
    static const HcLadSum of_word[] = {HC_SUM_FREE, HC_SUM_ONE, HC_SUM_AT_MOST_ONE, HC_SUM_FREE};
    return of_word[params_of(stage)->sum];
}

/* ---- plan ---- */

static HcStatus check_sizes(const HcStage *stage, HcError *err) {
    const HcLibraryFit *library = &((const HcMixture *)stage->state)->library.fit;
    if (library->count > HC_LAD_ENDMEMBERS_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %d endmembers: abundance takes at most %d, unmix %d",
                       params_of(stage)->endmembers, library->count, HC_LAD_ENDMEMBERS_MAX,
                       HC_UNMIX_SPECTRA_MAX);
    }
    if (library->bands > HC_LAD_BANDS_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "abundance: %d bands come in: at most %d (choose some with bands, or take unmix)",
                       library->bands, HC_LAD_BANDS_MAX);
    }
    return HC_OK;
}

/* Weights of squares become those of magnitudes, their roots, with mean 1 too. */
static void take_roots(double *weight, int32_t bands) {
    double sum = 0;
    for (int32_t b = 0; b < bands; b++) {
        weight[b] = sqrt(weight[b]);
        sum += weight[b];
    }
    for (int32_t b = 0; b < bands; b++) {
        weight[b] *= bands / sum;
    }
}

static HcStatus read_files(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    HcMixture *mixture = stage->state;
    bool done_before = mixture->weight != NULL;
    HC_OR_RETURN(
        hc_mixture_read(stage, params->endmembers, &params->choice, params->scale, params->weights, err));
    if (is_l1(stage) && mixture->weight != NULL && !done_before) {
        take_roots(mixture->weight, stage->in.bands);
    }
    return HC_OK;
}

/* Points into the state: valid while that is. The endmembers are still in the unit of their library. */
static HcLadRule absolute_rule(const HcStage *stage) {
    const Params *params = params_of(stage);
    const State *state = stage->state;
    return (HcLadRule){.endmembers = state->mixture.library.fit.count,
                       .bands = state->mixture.library.fit.bands,
                       .spectrum = state->mixture.library.fit.value,
                       .weight = state->mixture.weight,
                       .sum = sum_of(stage),
                       .add = {[HC_LAD_ADD_RESIDUAL] = params->residual,
                               [HC_LAD_ADD_END] = params->status,
                               [HC_LAD_ADD_PIVOTS] = params->pivots,
                               [HC_LAD_ADD_OBJECTIVE] = params->verify,
                               [HC_LAD_ADD_DUAL] = params->verify,
                               [HC_LAD_ADD_ERROR] = params->verify},
                       .counts = state->mixture.counts.data};
}

/* A spectrum of zeros that takes what is left of a sum of at most one. */
static int32_t shade_count(const HcStage *stage) {
    return sum_of(stage) == HC_SUM_AT_MOST_ONE ? 1 : 0;
}

/* Likewise, but for the spectrum of zeros. */
static HcUnmixRule squared_rule(const HcStage *stage) {
    const Params *params = params_of(stage);
    const State *state = stage->state;
    return (HcUnmixRule){.spectra = state->mixture.library.fit.count + shade_count(stage),
                         .bands = state->mixture.library.fit.bands,
                         .spectrum = state->mixture.library.fit.value,
                         .weight = state->mixture.weight,
                         .sum_to_one = sum_of(stage) != HC_SUM_FREE,
                         .solver = HC_UNMIX_ACTIVE,
                         .gap = proof_limit[NORM_L2],
                         .iterations = LEAST_SQUARES_STEPS,
                         .add = {[HC_UNMIX_ADD_RMSE] = params->residual,
                                 [HC_UNMIX_ADD_ITERATIONS] = params->pivots,
                                 [HC_UNMIX_ADD_GAP] = params->verify,
                                 [HC_UNMIX_ADD_END] = params->status},
                         .counts = state->mixture.counts.data};
}

static size_t count_numbers(const HcStage *stage) {
    HcLadRule absolute = absolute_rule(stage);
    HcUnmixRule squared = squared_rule(stage);
    return is_l1(stage) ? hc_lad_counts(&absolute) : hc_unmix_counts(&squared);
}

/* A band behind the abundances: its name, and the band of the operation that it is. */
typedef struct Added {
    const char *name;
    int32_t from;
    HcAgreement agreement;
} Added;

/* l2: those of unmix, in the order and by the names of l1. */
static const struct {
    HcUnmixAdd add;
    const char *name;
} squared_adds[] = {{HC_UNMIX_ADD_RMSE, "residual"},
                    {HC_UNMIX_ADD_END, "status"},
                    {HC_UNMIX_ADD_ITERATIONS, "iterations"},
                    {HC_UNMIX_ADD_GAP, "error"}};

/* Objectives are sums over the bands, with weights. */
static double rounding_of_sum(const HcLadRule *rule, double rounding) {
    double sum = 0;
    for (int32_t b = 0; b < rule->bands; b++) {
        sum += rule->weight != NULL ? rule->weight[b] : 1;
    }
    return sum * rounding;
}

/* Returns how many there are. */
static int32_t list_added(const HcStage *stage, Added added[HC_LAD_ADDS]) {
    HcLadRule absolute = absolute_rule(stage);
    HcUnmixRule squared = squared_rule(stage);
    const double rounding = hc_library_fit_rounding(&((const HcMixture *)stage->state)->library.fit);
    const double sum = rounding_of_sum(&absolute, rounding);
    const HcAgreement state = {.choice = true}, steps = {.within = INFINITY};
    const HcAgreement agreement[HC_LAD_ADDS] = {
        [HC_LAD_ADD_RESIDUAL] = {.within = rounding},
        [HC_LAD_ADD_END] = state,
        [HC_LAD_ADD_PIVOTS] = steps,
        [HC_LAD_ADD_OBJECTIVE] = {.within = sum},
        [HC_LAD_ADD_DUAL] = {.within = sum},
        [HC_LAD_ADD_ERROR] = {.choice = true, .within = proof_limit[NORM_L1]}};
    const HcAgreement squared_agreement[HC_UNMIX_ADDS] = {
        [HC_UNMIX_ADD_RMSE] = {.within = rounding},
        [HC_UNMIX_ADD_END] = state,
        [HC_UNMIX_ADD_ITERATIONS] = {.within = LEAST_SQUARES_STEPS},
        [HC_UNMIX_ADD_GAP] = {.choice = true, .within = proof_limit[NORM_L2]}};
    int32_t count = 0;
    for (int a = 0; is_l1(stage) && a < HC_LAD_ADDS; a++) {
        if (absolute.add[a]) {
            added[count++] =
                (Added){hc_lad_add_words[a], hc_lad_added_band(&absolute, (HcLadAdd)a), agreement[a]};
        }
    }
    for (size_t i = 0; !is_l1(stage) && i < sizeof squared_adds / sizeof squared_adds[0]; i++) {
        HcUnmixAdd add = squared_adds[i].add;
        if (squared.add[add]) {
            added[count++] =
                (Added){squared_adds[i].name, hc_unmix_added_band(&squared, add), squared_agreement[add]};
        }
    }
    return count;
}

static HcStatus plan_out(HcStage *stage, HcError *err) {
    const HcLibraryFit *library = &((const HcMixture *)stage->state)->library.fit;
    HcScene *out = &stage->out;
    Added added[HC_LAD_ADDS];
    int32_t count = list_added(stage, added);
    HC_OR_RETURN(hc_scene_copy(out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(out, library->count + count, HC_FRACTION, err));
    out->has_nodata = false; /* any value may be an abundance: the mask alone says where there is none */
    for (int32_t k = 0; k < library->count; k++) {
        HC_OR_RETURN(hc_scene_name_band(out, k, err, "%s", library->name[k]));
    }
    for (int32_t a = 0; a < count; a++) {
        HC_OR_RETURN(hc_scene_agree(out, library->count + a, added[a].agreement, err));
        HC_OR_RETURN(hc_scene_name_band(out, library->count + a, err, "%s", added[a].name));
    }
    return HC_OK;
}

/* Scratch memory of a pixel with l2. */
static size_t squared_bytes(const HcStage *stage) {
    HcUnmixRule rule = squared_rule(stage);
    return (size_t)hc_unmix_bands(&rule) * sizeof(float) + 1;
}

static HcStatus open_absolute(HcStage *stage, const float *spectra, HcError *err) {
    State *state = stage->state;
    HcLadRule rule = absolute_rule(stage);
    rule.spectrum = spectra;
    return hc_lad_open(stage->compute, &rule, &state->absolute, err);
}

static HcStatus open_squared(HcStage *stage, const float *spectra, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcUnmixRule rule = squared_rule(stage);
    Added added[HC_LAD_ADDS];
    int32_t count = state->mixture.library.fit.count;
    int32_t more = list_added(stage, added);
    size_t bytes = (size_t)stage->out.bands * sizeof(int32_t);
    int32_t *order = NULL;
    HC_OR_RETURN(hc_new(order, (size_t)stage->out.bands, "a list of bands", err));
    for (int32_t k = 0; k < count; k++) {
        order[k] = k;
    }
    for (int32_t a = 0; a < more; a++) {
        order[count + a] = added[a].from;
    }
    HC_TRY(hc_memory_upload(stage->compute, order, bytes, &state->order, err));
    rule.spectrum = spectra;
    HC_TRY(hc_unmix_open(stage->compute, &rule, &state->squared, err));
done:
    free(order);
    return status;
}

static HcStatus start(HcStage *stage, const float *spectra, HcError *err) {
    return is_l1(stage) ? open_absolute(stage, spectra, err) : open_squared(stage, spectra, err);
}

/* Abundances become shares of their sum; 0 stays where all are 0. */
static void divide(const HcStage *stage, float *value, const uint8_t *valid, size_t pixels, int32_t bands) {
    (void)valid;
    int32_t endmembers = ((const State *)stage->state)->mixture.library.fit.count;
    for (size_t p = 0; p < pixels; p++, value += bands) {
        double sum = 0;
        for (int32_t k = 0; k < endmembers; k++) {
            sum += (double)value[k];
        }
        for (int32_t k = 0; k < endmembers && sum > 0; k++) {
            value[k] = (float)((double)value[k] / sum);
        }
    }
}

static HcStatus plan(HcStage *stage, HcError *err) {
    HC_OR_RETURN(read_files(stage, err));
    HC_OR_RETURN(check_sizes(stage, err));
    HC_OR_RETURN(plan_out(stage, err));
    hc_mixture_plan(stage,
                    &(HcMixturePlan){params_of(stage)->endmembers, shade_count(stage), count_numbers(stage),
                                     start, false, params_of(stage)->sum == SHARES ? divide : NULL});
    stage->needs.consumes = params_of(stage)->verify;
    stage->needs.missing = is_l1(stage) ? HC_MISSING_TAKEN : HC_MISSING_MASKED;
    hc_stage_takes(stage, HC_SPACE_PIXEL, is_l1(stage) ? 0 : squared_bytes(stage));
    if (is_l1(stage)) {
        hc_chain_note_left_out(stage);
    }
    return HC_OK;
}

/* ---- the run ---- */

static HcStatus open_abundance(HcStage *stage, HcError *err) {
    State *state = stage->state;
    state->proof.limit = proof_limit[params_of(stage)->norm];
    return hc_mixture_open(stage, err);
}

/* Least squares have bands in another order, and maybe one for shade. */
static HcStatus least_squares(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                              void *scratch, HcError *err) {
    const State *state = stage->state;
    HcUnmixRule rule = squared_rule(stage);
    HcBlock all = *out;
    all.bands = hc_unmix_bands(&rule);
    all.data = scratch;
    all.mask = (uint8_t *)(all.data + hc_block_values(&all));
    HC_OR_RETURN(hc_unmix(queue, in, state->squared, &all, err));
    return hc_gather(queue, &all, state->order.data, out, err);
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    const State *state = stage->state;
    HC_OR_RETURN(hc_mixture_before(stage, queue, out, err));
    HC_OR_RETURN(is_l1(stage) ? hc_lad(queue, in, state->absolute, out, err)
                              : least_squares(stage, queue, in, out, scratch, err));
    return hc_mixture_after(stage, queue, in, out, err);
}

static HcStatus consume(HcStage *stage, const HcBlock *block, HcError *err) {
    (void)err;
    State *state = stage->state;
    hc_abundance_proof_add(&state->proof, block);
    return HC_OK;
}

static void note_tally(HcStage *stage) {
    const State *state = stage->state;
    const HcAbundanceTally *tally = &state->mixture.tally;
    HcLadSum sum = sum_of(stage);
    static const char *const sums[] = {"sums are free", "sums are one", "sums are at most one",
                                       "shares of free sums"};
    hc_abundance_tally_note(stage, tally, &state->mixture.library.fit, sums[params_of(stage)->sum], false);
    hc_abundance_fit_note(stage, &state->mixture.fit, sum != HC_SUM_FREE,
                          hc_abundance_tally_total(tally, state->mixture.library.fit.count),
                          sum == HC_SUM_ONE ? "--sum at-most-one or free" : "--sum free");
    if (params_of(stage)->verify) {
        hc_abundance_proof_note(stage, &state->proof);
    } else if (tally->unfinished > 0) {
        hc_stage_note(stage,
                      "%lld of %lld pixels are not proved to be optimal, the worst has an error of %.3g "
                      "(--verify says which)",
                      (long long)tally->unfinished, (long long)tally->pixels, tally->worst);
    }
}

static HcStatus gather(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    int32_t count = state->mixture.library.fit.count;
    int64_t *counts = NULL;
    HC_TRY(hc_abundance_counts_gather(stage, &state->mixture.counts,
                                      is_l1(stage) ? HC_LAD_COUNT_ERROR : HC_UNMIX_COUNT_GAP, &counts, err));
    HC_TRY(hc_abundance_proof_gather(&state->proof, hc_stage_ranks(stage), err));
    HC_TRY(is_l1(stage) ? hc_abundance_tally_simplex(&state->mixture.tally, counts, count, err)
                        : hc_abundance_tally_unmix(&state->mixture.tally, counts, count + shade_count(stage),
                                                   count, err));
    HC_TRY(hc_abundance_fit_gather(&state->mixture.fit, stage, &state->mixture.library, 0, err));
    note_tally(stage);
done:
    free(counts);
    return status;
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    const HcAbundanceTally *tally = &state->mixture.tally;
    if (tally->mean == NULL) {
        return;
    }
    if (is_l1(stage)) {
        hc_json_put_number(to, "pivots", (double)tally->pivots);
    }
    hc_mixture_report(stage, "largest_error", to);
    if (params_of(stage)->verify) {
        hc_abundance_proof_json(&state->proof, to);
    }
}

static void close_abundance(HcStage *stage) {
    State *state = stage->state;
    if (stage->compute != NULL && state->absolute != NULL) {
        hc_lad_close(state->absolute);
    }
    if (stage->compute != NULL && state->squared != NULL) {
        hc_unmix_close(state->squared);
    }
    hc_memory_release(stage->compute, &state->order);
    hc_mixture_close(stage);
    *state = (State){0};
}

/* What --residual and others add is in the unit of the scene. */
static const char *unit(const HcStage *stage, int32_t band) {
    return band < ((const HcMixture *)stage->state)->library.fit.count ? "fraction" : NULL;
}

const HcStageClass hc_stage_abundance = {
    .name = "abundance",
    .summary = "abundances of endmembers by least absolute deviations: sum to one, robust to outliers, "
               "tolerates missing bands",
    .cite = "Barrodale, Roberts: An improved algorithm for discrete l1 linear approximation, SIAM J. Numer. "
            "Anal. "
            "10(5), 1973",
    .example = "hcube abundance scene.hdr abundances.tif --endmembers endmembers.sli --verify",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_abundance,
    .observe = hc_mixture_observe,
    .settle = hc_mixture_settle,
    .process = process,
    .consume = consume,
    .gather = gather,
    .report = report,
    .rare = {.unit = unit},
    .close = close_abundance,
};
