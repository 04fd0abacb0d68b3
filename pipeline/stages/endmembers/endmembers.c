/* endmembers: the purest spectra of a scene: pixels at the corners of its simplex, or the corners themselves.
 *
 * The first pass sums the scene, the second keeps each pixel in as few numbers as there are endmembers, and
 * methods search these. The third takes the spectra of the pixels that were found.
 */
#include "pipeline/stages/endmembers/members.h"
#include "core/text.h"
#include "core/allocate.h"
#include "pipeline/spectra/spectra.h"
#include "pipeline/stages/shared/spectra_files.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/dimension.h"
#include "pipeline/statistics/sums.h"
#include "pipeline/statistics/transform.h"

#include <float.h>
#include <math.h>
#include <string.h>

typedef enum Method { VCA, NFINDR, ATGP, PPI, SISAL } Method;

typedef struct Params {
    HcSpectraParams files; /* first */
    int32_t method;
    const char *count;
    int64_t seed, starts, skewers, spatial;
    double similar; /* NAN = not given */
    bool denoise;
} Params;

typedef struct State {
    char *header;
    HcSceneSums sums;
    int32_t count;
    int32_t rule; /* HcDimensionRule of --count, -1 = a number */
    HcDimension dimension;
    bool centred;      /* coordinates about the mean */
    bool scratch;      /* the reduced scene does not lie in memory */
    double snr, scale; /* snr of vca, NaN = of no use; coordinates are components times scale */
    int32_t width;
    double *basis; /* [bands][width] components */
    double *mean;  /* [bands] */
    double variance[HC_ENDMEMBERS_MAX], weight[HC_ENDMEMBERS_MAX], direction[HC_ENDMEMBERS_MAX];
    HcReduced reduced;
    int64_t pixels, unusable, sampled;
    int64_t pixel[HC_ENDMEMBERS_MAX];
    double purity[HC_ENDMEMBERS_MAX], log_volume;
    HcSpatial spatial;
    HcMembers members;
    float *value; /* [count][bands] */
    HcSpectra spectra;
} State;

/* Numbers of a pixel that memory is planned for where a rule counts. */
enum { COUNTED = 32 };

static const char *const method_words[] = {"vca", "nfindr", "atgp", "ppi", "sisal", NULL};

/* 0 where the text is no number of endmembers. */
static int32_t count_of(const char *text) {
    int64_t value = 0;
    bool fits = hc_text_parse_int(text, &value) && value >= 2 && value <= HC_ENDMEMBERS_MAX;
    return fits ? (int32_t)value : 0;
}

static HcStatus check_count(const char *who, const char *text, HcError *err) {
    return hc_text_find(text, hc_dimension_words) >= 0 || count_of(text) > 0
               ? HC_OK
               : hc_fail(err, HC_E_USAGE,
                         "%s: --count %s: neither a whole number from 2 to %d nor a rule of dimension (auto, "
                         "hysime, hfc, nwhfc, elm, gavish-donoho, marchenko-pastur)",
                         who, text, HC_ENDMEMBERS_MAX);
}

static const HcOption options[] = {
    HC_SPECTRA_FILE_OPTIONS,
    {HC_TEXT(Params, count), .check = check_count, .value = "COUNT", .standard = "auto",
     .help = "number of endmembers: 2 to 256, or as many as a rule of dimension finds: auto, hysime, hfc, "
             "nwhfc, elm, gavish-donoho or marchenko-pastur"},
    {HC_CHOICE(Params, method), .choices = method_words, .standard = "nfindr",
     .help = "vertex component analysis, N-FINDR, target generation, pixel purity, or (sisal) the smallest "
             "simplex of a scene without pure pixels"},
    {HC_INT(Params, seed), .range = {0, 1e15}, .initial = 0, .value = "NUMBER",
     .help = "seed of the random directions"},
    {HC_INT(Params, starts), .range = {1, HC_STARTS_MAX}, .otherwise = "20; vca 1", .value = "COUNT",
     .excludes = "method=atgp method=sisal",
     .help = "vca, nfindr, ppi: number of starts, of which the largest simplex is kept"},
    {HC_INT(Params, skewers), .range = {10, 100000}, .initial = 1000, .value = "COUNT",
     .help = "ppi: number of random directions"},
    {HC_INT(Params, spatial), .range = {3, 1000}, .unit = "pixels", .value = "SIDE",
     .otherwise = "all pixels are candidates", .excludes = "method=sisal",
     .help = "search only pixels that are extreme in some square of this side and have similar pixels around "
             "them, and take the mean of these"},
    {HC_REAL(Params, similar), .range = {0, 1}, .open = HC_OPEN_BOTH, .initial = NAN, .unit = "radians",
     .otherwise = "0.05", .value = "ANGLE", .needs = "spatial",
     .help = "largest spectral angle of similar pixels"},
    {HC_FLAG(Params, denoise),
     .help = "write the spectra without noise, as reconstructed from the components"},
    {0}};

static const Params *params_of(const HcStage *stage) {
    return stage->params;
}

static Method method_of(const HcStage *stage) {
    return (Method)params_of(stage)->method;
}

/* Whether the spectra are made of coordinates, not taken from the scene. */
static bool makes_spectra(const HcStage *stage) {
    return method_of(stage) == SISAL || params_of(stage)->denoise;
}

/* ---- plan ---- */

static HcStatus check_params(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    State *state = stage->state;
    Method method = method_of(stage);
    state->rule = hc_text_find(params->count, hc_dimension_words);
    state->count = state->rule < 0 ? count_of(params->count) : state->count;
    if (method == SISAL && params->files.places != NULL) {
        return hc_fail(err, HC_E_USAGE, "endmembers: --places %s: the endmembers of sisal are no pixels",
                       params->files.places);
    }
    return HC_OK;
}

/* Corners of a simplex are one more than its directions; atgp takes directions about 0. */
static HcStatus check_shape(const HcStage *stage, HcError *err) {
    const State *state = stage->state;
    const HcScene *in = &stage->in;
    int32_t most = method_of(stage) == ATGP ? in->bands : in->bands + 1;
    if (state->count > most) {
        return hc_fail(err, HC_E_USAGE, "endmembers: --count %d: %d bands have at most %d endmembers%s",
                       state->count, in->bands, most, method_of(stage) == ATGP ? " by atgp" : "");
    }
    if (state->count > in->lines * in->samples) {
        return hc_fail(err, HC_E_USAGE, "endmembers: --count %d: the scene has %lld pixels", state->count,
                       (long long)(in->lines * in->samples));
    }
    int64_t side = params_of(stage)->spatial;
    return side > 0 && state->rule < 0 ? hc_spatial_check(in, (int32_t)side, state->count - 1, err) : HC_OK;
}

static int32_t planned_width(const HcStage *stage) {
    const State *state = stage->state;
    int32_t width = state->rule < 0 ? state->count : COUNTED;
    return width < stage->in.bands ? width : stage->in.bands;
}

static size_t directions_bytes(const HcStage *stage) {
    const Params *params = params_of(stage);
    size_t extremes = method_of(stage) == PPI ? 2 * (size_t)params->skewers : 64;
    return extremes * sizeof(HcBest) * 18 + (size_t)params->skewers * (size_t)planned_width(stage) * 8;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    HC_OR_RETURN(check_params(stage, err));
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "endmembers", err));
    HC_OR_RETURN(check_shape(stage, err));
    HC_OR_RETURN(
        hc_spectra_files_plan(stage, &params_of(stage)->files, &((State *)stage->state)->header, err));
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    int32_t width = planned_width(stage);
    size_t bands = (size_t)stage->in.bands;
    stage->needs.passes_through = true;
    stage->output = params_of(stage)->files.path;
    stage->needs.observes = !stage->settled;
    stage->needs.rounds = makes_spectra(stage) ? 2 : 3;
    if (stage->round == 0) {
        hc_scene_sums_want(&((State *)stage->state)->sums, stage, HC_DIFFERENCE_NONE, NULL);
        hc_stage_takes(stage, HC_SPACE_FIT, bands * bands * sizeof(double)); /* a second transform */
    }
    hc_stage_takes(stage, HC_SPACE_DEVICE, hc_reduced_bytes_device(stage, width));
    hc_stage_takes(stage, HC_SPACE_HOST,
                   hc_reduced_bytes(stage, width) + directions_bytes(stage) +
                       (size_t)planned_width(stage) * bands * 2 * sizeof(double) +
                       (method_of(stage) == SISAL ? hc_method_sisal_bytes(width + 1) : 0) +
                       hc_spectra_picture_bytes(stage, &params_of(stage)->files, width + 1));
    if (params_of(stage)->spatial > 0) {
        hc_stage_takes(stage, HC_SPACE_HOST,
                       hc_spatial_bytes(&stage->in, (int32_t)params_of(stage)->spatial, width) +
                           (size_t)(width + 1) * HC_SPATIAL_WINDOW * HC_SPATIAL_WINDOW *
                               (bands * sizeof(float) + 32));
    }
    hc_stage_takes(stage, HC_SPACE_WISH, hc_reduced_bytes_values(stage, width));
    return HC_OK;
}

/* ---- the first round: components ---- */

static HcStatus open_endmembers(HcStage *stage, HcError *err) {
    (void)err;
    ((State *)stage->state)->reduced.file = -1;
    return HC_OK;
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    State *state = stage->state;
    return stage->round == 0   ? HC_OK
           : stage->round == 1 ? hc_reduced_add(&state->reduced, queue, in, err)
                               : hc_spectra_gather(&state->spectra, queue, in, err);
}

static HcStatus settle_count(HcStage *stage, const HcStatistics *statistics, HcError *err) {
    State *state = stage->state;
    if (state->rule >= 0) {
        hc_dimension_usual(&state->dimension);
        HC_OR_RETURN(hc_dimension_estimate(&state->dimension, stage, statistics, err));
        int32_t found = state->dimension.count[state->rule];
        int32_t most = stage->in.bands < HC_ENDMEMBERS_MAX ? stage->in.bands : HC_ENDMEMBERS_MAX;
        state->count = found < 2 ? 2 : found > most ? most : found;
        hc_stage_note(stage, "--count %s: %d%s", hc_dimension_words[state->rule], found,
                      found < 2 ? ", two endmembers are looked for" : "");
    }
    if (statistics->pixels < state->count) {
        return hc_fail(err, HC_E_NUMERIC, "endmembers: --count %d: only %lld pixels are valid", state->count,
                       (long long)statistics->pixels);
    }
    return HC_OK;
}

/* The correlation about 0 of a covariance. */
static HcStatus correlation_of(const HcStatistics *statistics, double **out, HcError *err) {
    size_t bands = (size_t)statistics->scene.bands;
    double pixels = (double)statistics->pixels;
    HC_OR_RETURN(hc_new(*out, bands * bands, "a correlation matrix", err));
    for (size_t a = 0; a < bands; a++) {
        for (size_t b = 0; b < bands; b++) {
            (*out)[a * bands + b] = statistics->covariance[a * bands + b] * (pixels - 1) / pixels +
                                    statistics->mean[a] * statistics->mean[b];
        }
    }
    return HC_OK;
}

static HcStatus fit(HcStage *stage, const double *mean, const double *matrix, HcTransform *to, HcError *err) {
    HC_OR_RETURN(hc_scene_copy(&to->scene, &stage->in, err));
    return hc_transform_fit_pca(to, stage->compute, mean, matrix, false, err);
}

/* Signal over noise in powers, as the authors of vca estimate it: what lies in the components is signal, but
 * for the share of the noise there. */
static double estimate_snr(const HcTransform *about_mean, const HcTransform *about_zero, int32_t count) {
    double all = 0;
    double inside = 0;
    for (int32_t k = 0; k < about_zero->components; k++) {
        all += about_zero->eigenvalues[k];
    }
    for (int32_t b = 0; b < about_mean->bands; b++) {
        inside += about_mean->mean[b] * about_mean->mean[b];
    }
    for (int32_t k = 0; k < count && k < about_mean->components; k++) {
        inside += about_mean->eigenvalues[k] * (1 - 1.0 / (double)about_mean->pixels);
    }
    double noise = all - inside;
    double signal = inside - (double)count / about_mean->bands * all;
    return noise > 16 * DBL_EPSILON * all ? 10 * log10(signal / noise) : INFINITY;
}

static int32_t directions_of(const HcTransform *transform) {
    int32_t varying = 0;
    double least = 16 * (double)transform->bands * DBL_EPSILON * transform->eigenvalues[0];
    while (varying < transform->components && transform->eigenvalues[varying] > least) {
        varying++;
    }
    return varying;
}

/* Takes the components that pixels are reduced to. */
static HcStatus take_basis(HcStage *stage, const HcTransform *transform, const double *mean, HcError *err) {
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    state->width = state->centred ? state->count - 1 : state->count;
    size_t width = (size_t)state->width;
    int32_t varying = directions_of(transform);
    if (varying < state->width) {
        return hc_fail(err, HC_E_NUMERIC,
                       "endmembers: --count %d: the scene varies in %d direction%s: at most %d endmembers",
                       state->count, varying, varying == 1 ? "" : "s",
                       state->centred ? varying + 1 : varying);
    }
    HC_OR_RETURN(hc_new(state->basis, bands * width, "components", err));
    HC_OR_RETURN(hc_new(state->mean, bands, "the mean of the scene", err));
    /* About 1: determinants of many numbers stay in range. */
    state->scale = 1 / sqrt(transform->eigenvalues[0]);
    memcpy(state->mean, mean, bands * sizeof *mean);
    for (size_t k = 0; k < width; k++) {
        state->variance[k] = transform->eigenvalues[k] * state->scale * state->scale;
        state->weight[k] = 1 / state->variance[k];
        for (size_t b = 0; b < bands; b++) {
            double part = transform->forward[b * (size_t)transform->components + k];
            state->basis[b * width + k] = part;
            state->direction[k] += mean[b] * part * state->scale;
        }
    }
    return HC_OK;
}

static HcStatus settle_components(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcStatistics statistics = {0};
    HcTransform about_mean = {0};
    HcTransform about_zero = {0};
    double *correlation = NULL;
    double *nothing = NULL;
    HC_TRY(hc_scene_sums_statistics(&state->sums, stage, queue, "", &statistics, err));
    HC_TRY(settle_count(stage, &statistics, err));
    HC_TRY(correlation_of(&statistics, &correlation, err));
    HC_TRY(hc_new(nothing, (size_t)stage->in.bands, "a mean", err));
    HC_TRY(fit(stage, statistics.mean, statistics.covariance, &about_mean, err));
    HC_TRY(fit(stage, nothing, correlation, &about_zero, err));
    about_mean.pixels = statistics.pixels;
    state->centred = method_of(stage) != ATGP;
    state->snr = NAN;
    if (method_of(stage) == VCA && state->count <= stage->in.bands) {
        state->snr = estimate_snr(&about_mean, &about_zero, state->count);
        state->centred = !(state->snr >= 15 + 10 * log10(state->count));
    }
    HC_TRY(take_basis(stage, state->centred ? &about_mean : &about_zero, statistics.mean, err));
done:
    hc_statistics_clear(&statistics);
    hc_transform_clear(&about_mean);
    hc_transform_clear(&about_zero);
    free(correlation);
    free(nothing);
    return status;
}

static HcStatus open_reduced(HcStage *stage, HcError *err) {
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    size_t width = (size_t)state->width;
    double *matrix = NULL;
    state->scratch = !stage->has_more || state->width > planned_width(stage);
    HC_OR_RETURN(hc_new(matrix, bands * width, "components", err));
    for (size_t i = 0; i < bands * width; i++) {
        matrix[i] = state->basis[i] * state->scale;
    }
    HcStatus status = hc_reduced_open(&state->reduced, stage, state->width, matrix,
                                      state->centred ? state->mean : NULL, !state->scratch, err);
    free(matrix);
    return status;
}

/* ---- the second round: a search ---- */

/* Spectra of coordinates x[count][width]. */
static HcStatus make_spectra(HcStage *stage, const double *x, HcError *err) {
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    size_t width = (size_t)state->width;
    HC_OR_RETURN(hc_new(state->value, (size_t)state->count * bands, "endmembers", err));
    for (size_t j = 0; j < (size_t)state->count; j++) {
        for (size_t b = 0; b < bands; b++) {
            double sum = state->centred ? state->mean[b] : 0;
            for (size_t k = 0; k < width; k++) {
                sum += state->basis[b * width + k] * x[j * width + k] / state->scale;
            }
            state->value[j * bands + b] = (float)sum;
        }
    }
    return HC_OK;
}

static HcMethod make_method(const HcStage *stage) {
    const Params *params = params_of(stage);
    State *state = stage->state;
    Method method = method_of(stage);
    int64_t starts = params->starts > 0 ? params->starts : method == NFINDR || method == PPI ? 20 : 1;
    return (HcMethod){.reduced = &state->reduced,
                      .count = state->count,
                      .centred = state->centred,
                      .direction = state->centred ? NULL : state->direction,
                      .weight = state->weight,
                      .seed = (uint64_t)params->seed,
                      .starts = (int32_t)starts,
                      .skewers = (int32_t)params->skewers};
}

static HcStatus find(HcStage *stage, double *x, HcError *err) {
    State *state = stage->state;
    HcMethod method = make_method(stage);
    switch (method_of(stage)) {
    case VCA:
        return hc_method_vca(&method, state->pixel, err);
    case NFINDR:
        return hc_method_nfindr(&method, state->pixel, &state->log_volume, err);
    case ATGP:
        return hc_method_atgp(&method, state->pixel, err);
    case PPI:
        return hc_method_ppi(&method, state->pixel, state->purity, err);
    case SISAL:
        return hc_method_sisal(&method, state->variance, x, &state->sampled, err);
    }
    return HC_OK;
}

/* Candidates that are the means of similar pixels. */
static HcStatus filter(HcStage *stage, HcError *err) {
    const Params *params = params_of(stage);
    State *state = stage->state;
    HcSpatial *spatial = &state->spatial;
    HcMethod method = make_method(stage);
    spatial->side = (int32_t)params->spatial;
    spatial->similar = isnan(params->similar) ? 0.05 : params->similar;
    if (state->centred) {
        spatial->direction = state->direction;
        for (int32_t b = 0; b < stage->in.bands; b++) {
            double part = state->mean[b] * state->scale;
            spatial->length += part * part;
        }
    }
    HC_OR_RETURN(hc_spatial_filter(spatial, stage, &method, err));
    hc_stage_note(stage,
                  "--spatial %d: %lld candidates; %lld extreme pixels without similar ones are left out",
                  spatial->side, (long long)spatial->candidates, (long long)spatial->odd);
    return HC_OK;
}

static HcStatus settle_search(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    double *x = NULL;
    HC_TRY(hc_wait(queue, err));
    HC_TRY(hc_reduced_filled(&state->reduced, err));
    state->pixels = state->reduced.pixels;
    state->unusable = state->reduced.unusable;
    if (state->unusable > 0) {
        hc_stage_note(stage, "%lld pixels are not finite and left out", (long long)state->unusable);
    }
    if (state->pixels < state->count) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "endmembers: --count %d: only %lld pixels are valid", state->count,
                       (long long)state->pixels));
    }
    HC_TRY(hc_new(x, (size_t)state->count * (size_t)state->width, "endmembers", err));
    if (params_of(stage)->spatial > 0) {
        HC_TRY(filter(stage, err));
    }
    HC_TRY(find(stage, x, err));
    if (method_of(stage) != SISAL) {
        HC_TRY(
            hc_members_take(&state->members, &state->spatial, &stage->in, state->pixel, state->count, err));
    }
    if (makes_spectra(stage)) {
        if (method_of(stage) != SISAL) {
            HC_TRY(hc_reduced_fetch(&state->reduced, state->pixel, state->count, x, err));
        }
        HC_TRY(make_spectra(stage, x, err));
    } else {
        HC_TRY(hc_members_want(&state->members, stage, &state->spectra, err));
    }
    hc_reduced_close(&state->reduced);
done:
    free(x);
    return status;
}

/* ---- the third round: spectra ---- */

static HcStatus settle_spectra(HcStage *stage, HcQueue *queue, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_wait(queue, err));
    HC_OR_RETURN(hc_spectra_join(&state->spectra, hc_stage_ranks(stage), err));
    HC_OR_RETURN(hc_new(state->value, (size_t)state->count * (size_t)stage->in.bands, "endmembers", err));
    HC_OR_RETURN(hc_members_mean(&state->members, stage, &state->spectra, state->value, err));
    hc_spectra_clear(&state->spectra, stage->compute);
    return HC_OK;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    if (stage->round == 0) {
        HC_OR_RETURN(settle_components(stage, queue, err));
        return open_reduced(stage, err);
    }
    return stage->round == 1 ? settle_search(stage, queue, err) : settle_spectra(stage, queue, err);
}

/* ---- what is left behind ---- */

static HcStatus name_all(const HcStage *stage, char **name, HcPoint *point, HcError *err) {
    const State *state = stage->state;
    for (int32_t k = 0; k < state->count; k++) {
        HcPoint *at = &point[k];
        *at = (HcPoint){.line = state->pixel[k] / stage->in.samples,
                        .sample = state->pixel[k] % stage->in.samples,
                        .value = {state->purity[k]}};
        name[k] = method_of(stage) == SISAL ? hc_text_format("endmember %d", k + 1)
                                            : hc_text_format("endmember %d (sample %lld line %lld)", k + 1,
                                                             (long long)at->sample, (long long)at->line);
        HC_OR_RETURN(hc_text_made(name[k], 64, "the name of an endmember", err));
        at->name = name[k];
    }
    return HC_OK;
}

/* Fills `found`, which borrows names, their pixels and the spectra of the state. */
static HcStatus find_spectra(const HcStage *stage, char **name, HcPoint *point, HcFoundSpectra *found,
                             HcError *err) {
    const State *state = stage->state;
    bool places = method_of(stage) != SISAL;
    HC_OR_RETURN(name_all(stage, name, point, err));
    *found = (HcFoundSpectra){.count = state->count,
                              .bands = stage->in.bands,
                              .value = state->value,
                              .name = name,
                              .point = places ? point : NULL,
                              .points = places ? state->count : 0,
                              .point_field = method_of(stage) == PPI ? "purity" : NULL,
                              .title = "endmembers"};
    return HC_OK;
}

static void free_names(const HcStage *stage, char **name) {
    for (int32_t k = 0; k < ((const State *)stage->state)->count; k++) {
        free(name[k]);
    }
}

static HcStatus finish(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    HcPoint point[HC_ENDMEMBERS_MAX];
    char *name[HC_ENDMEMBERS_MAX] = {0};
    HcFoundSpectra found;
    HC_TRY(find_spectra(stage, name, point, &found, err));
    HC_TRY(hc_spectra_files_write(stage, &params_of(stage)->files, &found, err));
done:
    free_names(stage, name);
    return status;
}

static HcStatus panels(const HcStage *stage, HcPanels *to, HcError *err) {
    HcStatus status = HC_OK;
    HcPoint point[HC_ENDMEMBERS_MAX];
    char *name[HC_ENDMEMBERS_MAX] = {0};
    HcFoundSpectra found;
    HC_TRY(find_spectra(stage, name, point, &found, err));
    HC_TRY(hc_spectra_panel(stage, &found, to, err));
done:
    free_names(stage, name);
    return status;
}

static void show(const HcStage *stage, HcText *to) {
    const State *state = stage->state;
    for (int32_t k = 0; k < state->count && method_of(stage) != SISAL; k++) {
        hc_text_add(to, "endmember %3d   sample %6lld   line %6lld\n", k + 1,
                    (long long)(state->pixel[k] % stage->in.samples),
                    (long long)(state->pixel[k] / stage->in.samples));
    }
}

static void report_places(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_json_open_array(to, "endmembers");
    for (int32_t k = 0; k < state->count; k++) {
        hc_json_open_object(to, NULL);
        hc_json_put_number(to, "sample_from_0", (double)(state->pixel[k] % stage->in.samples));
        hc_json_put_number(to, "line_from_0", (double)(state->pixel[k] / stage->in.samples));
        if (method_of(stage) == PPI) {
            hc_json_put_number(to, "purity", state->purity[k]);
        }
        if (state->spatial.pixel != NULL) {
            hc_json_put_number(to, "averaged_pixels", (double)hc_members_of(&state->members, k));
        }
        hc_json_close(to);
    }
    hc_json_close(to);
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    if (state->basis == NULL) {
        return;
    }
    hc_json_put_number(to, "count", state->count);
    hc_json_put_number(to, "pixels", (double)state->pixels);
    hc_json_put_text(to, "coordinates", state->centred ? "about the mean" : "about 0");
    hc_json_put_text(to, "reduced_scene", state->scratch ? "scratch file" : "memory");
    if (state->spatial.pixel != NULL) {
        hc_json_put_number(to, "odd_pixels", (double)state->spatial.odd);
        hc_json_put_number(to, "candidates", (double)state->spatial.candidates);
    }
    if (!isnan(state->snr)) {
        hc_json_put_double(to, "snr_db", state->snr);
    }
    if (method_of(stage) == NFINDR) {
        double volume = state->log_volume - (state->count - 1) * log(state->scale);
        hc_json_put_double(to, "volume", exp(volume));
        hc_json_put_double(to, "log10_volume", volume / log(10));
    }
    if (method_of(stage) == SISAL) {
        hc_json_put_number(to, "sampled_pixels", (double)state->sampled);
    } else {
        report_places(stage, to);
    }
    if (state->rule >= 0) {
        hc_json_open_object(to, "dimension");
        hc_dimension_put(&state->dimension, to);
        hc_json_close(to);
    }
}

static void close_endmembers(HcStage *stage) {
    State *state = stage->state;
    if (state->reduced.stage != NULL) {
        hc_reduced_close(&state->reduced);
    }
    hc_spectra_clear(&state->spectra, stage->compute);
    hc_spatial_clear(&state->spatial);
    hc_members_clear(&state->members);
    free(state->header);
    free(state->basis);
    free(state->mean);
    free(state->value);
    *state = (State){0};
}

const HcStageClass hc_stage_endmembers = {
    .name = "endmembers",
    .summary = "the purest spectra of a scene, as a spectral library",
    .cite = "Nascimento, Bioucas-Dias 2005 (VCA); Winter 1999 (N-FINDR); Ren, Chang 2003 (ATGP); Boardman, "
            "Kruse, Green 1995 (PPI); Bioucas-Dias 2009 (SISAL); Rogge et al. 2007 (--spatial)",
    .example = "hcube endmembers scene.hdr spectra.sli --count 6 --places places.gpkg",
    .role = HC_ROLE_SINK,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_endmembers,
    .observe = observe,
    .settle = settle,
    .finish = finish,
    .report = report,
    .rare = {.panels = panels, .show = show},
    .close = close_endmembers,
};
