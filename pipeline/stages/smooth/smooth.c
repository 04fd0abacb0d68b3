/* smooth: filters and derivatives along the spectrum, and spectra divided by their size. The filter is a
 * matrix: each band is the polynomial through its neighbours, and no window reaches over a gap. */
#include "core/allocate.h"
#include "core/operation/spectrum/normalise.h"
#include "pipeline/memory.h"
#include "pipeline/picture/unit.h"
#include "pipeline/spectra/band_map.h"
#include "pipeline/spectra/runs.h"
#include "pipeline/stages/smooth/polynomial.h"
#include "pipeline/stages/stages.h"

#include <stdio.h>
#include <string.h>

typedef struct Params {
    int64_t points, order, derivative;
    double gap;
    int32_t normalise; /* HcNormalisation; -1 = none */
} Params;

typedef struct State {
    int64_t points, order; /* points 0 = no filter */
    int32_t *band;         /* [map.out] bands that come in, from 0 */
    double *area;          /* [map.out] weights of the area [nm] */
    HcBandMap map;
    HcBuffer device_area;
    int32_t left_out;   /* bands that are bad, or in runs with too few bands */
    int32_t short_runs; /* shorter than the window */
    char unit[128];
} State;

enum { POINTS = 11, ORDER = 2, POINTS_MAX = 999 };

static const char *const normalise_words[] = {"snv", "brightness", "area", NULL};

static const HcOption options[] = {
    {HC_INT(Params, points), .range = {1, POINTS_MAX}, .unit = "bands", .value = "COUNT",
     .otherwise = "11; with --normalise and no derivative: no filter",
     .help = "window of the filter (Savitzky-Golay), an odd number"},
    {HC_INT(Params, order), .range = {0, HC_POLYNOMIAL_ORDER_MAX}, .initial = -1, .otherwise = "2",
     .value = "ORDER", .help = "order of the fitted polynomial; 0: moving mean"},
    {HC_INT(Params, derivative), .range = {0, HC_POLYNOMIAL_DERIVATIVE_MAX}, .value = "NUMBER",
     .help = "output this derivative of the polynomial, in units per nm or per nm^2; 0: its value"},
    {HC_CHOICE(Params, normalise), .value = "KIND", .choices = normalise_words,
     .otherwise = "spectra keep their size",
     .help = "then normalise each spectrum: snv: mean 0 and standard deviation 1; brightness: sum of squares "
             "1; area: area under it 1"},
    {HC_REAL(Params, gap), .range = {0, INFINITY}, .open = HC_OPEN_LOW, .unit = "nm", .value = "NM",
     .otherwise = "3 times the usual spacing of the bands around it",
     .help = "no window reaches over a step between two bands that is wider than this"},
    {0}};

static bool is_shape(const Params *params) {
    return params->derivative > 0 || params->normalise >= 0;
}

static HcStatus read_params(const HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    bool filters =
        params->points > 0 || params->order >= 0 || params->derivative > 0 || params->normalise < 0;
    state->points = params->points > 0 ? params->points : filters ? POINTS : 0;
    state->order = params->order >= 0 ? params->order : ORDER;
    if (filters && state->points % 2 == 0) {
        return hc_fail(err, HC_E_USAGE, "smooth: --points %lld: not an odd number", (long long)state->points);
    }
    if (filters && state->points <= state->order) {
        return hc_fail(err, HC_E_USAGE, "smooth: --order %lld: needs more than %lld points, --points is %lld",
                       (long long)state->order, (long long)state->order, (long long)state->points);
    }
    if (filters && params->derivative > state->order) {
        return hc_fail(err, HC_E_USAGE, "smooth: --derivative %lld: is 0 everywhere with --order %lld",
                       (long long)params->derivative, (long long)state->order);
    }
    if (!hc_scene_is_spectral(&stage->in)) {
        return hc_fail(err, HC_E_USAGE, "smooth: %d bands come in that are no spectra", stage->in.bands);
    }
    return HC_OK;
}

/* ---- which bands go out ---- */

/* Without a filter and areas nothing asks for wavelengths: the good bands, as one run. */
static HcStatus make_runs(const HcStage *stage, HcBandRuns *runs, HcError *err) {
    const Params *params = stage->params;
    const State *state = stage->state;
    const uint8_t *bad = stage->in.bad;
    if (state->points > 0 || params->normalise == HC_NORMALISE_AREA) {
        return hc_band_runs_make(runs, stage, params->gap, err);
    }
    HC_OR_RETURN(hc_new(runs->band, stage->in.bands, "the order of bands", err));
    HC_OR_RETURN(hc_new(runs->first, 2, "runs of bands", err));
    for (int32_t b = 0; b < stage->in.bands; b++) {
        runs->band[runs->count] = b;
        runs->count += bad == NULL || bad[b] == 0;
    }
    runs->runs = 1;
    runs->first[1] = runs->count;
    return runs->count > 0
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "smooth: all %d bands are marked as bad", stage->in.bands);
}

static int32_t length_of(const HcBandRuns *runs, int32_t run) {
    return runs->first[run + 1] - runs->first[run];
}

/* Adds "1430-1480 nm (7 bands)", at first after what it is a list of. */
static void add_run(const HcBandRuns *runs, int32_t run, const char *list, HcText *to) {
    int32_t bands = length_of(runs, run);
    hc_text_add(to, "%s%.5g", to->length > 0 ? ", " : list, runs->centre[runs->first[run]]);
    if (bands > 1) {
        hc_text_add(to, "-%.5g", runs->centre[runs->first[run + 1] - 1]);
    }
    hc_text_add(to, " nm (%d band%s)", bands, bands == 1 ? "" : "s");
}

/* place[bands of the scene] becomes the place in `runs`, or -1 = left out: bad, or in a run with too few
 * bands for the polynomial. Runs that are shorter than the window are noted. */
static HcStatus choose_bands(HcStage *stage, const HcBandRuns *runs, int32_t *place, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcText whole = {0}, gone = {0};
    int32_t longest = 0;
    state->left_out = stage->in.bands;
    state->short_runs = 0;
    memset(place, -1, (size_t)stage->in.bands * sizeof *place);
    for (int32_t r = 0; r < runs->runs; r++) {
        int32_t bands = length_of(runs, r);
        bool fits = state->points == 0 || bands > state->order;
        longest = bands > longest ? bands : longest;
        if (bands < state->points) {
            state->short_runs++;
            add_run(runs, r,
                    fits ? "shorter than --points, taken as one window: "
                         : "left out, too short for "
                           "--order: ",
                    fits ? &whole : &gone);
        }
        for (int32_t k = runs->first[r]; k < runs->first[r + 1] && fits; k++) {
            place[runs->band[k]] = k;
            state->left_out--;
        }
    }
    if (longest < state->points) {
        status =
            hc_fail(err, HC_E_USAGE,
                    "smooth: --points %lld: longer than each run of bands without a gap, which have up to %d",
                    (long long)state->points, longest);
        hc_text_clear(&whole);
        hc_text_clear(&gone);
    }
    hc_stage_note_file(stage, NULL, &whole);
    hc_stage_note_file(stage, NULL, &gone);
    return status;
}

/* ---- the weights ---- */

/* The weights of the window of each band of a run, in the columns of these bands. */
static void fill_run(const HcStage *stage, const HcBandRuns *runs, int32_t run, const int32_t *column,
                     double *work) {
    const Params *params = stage->params;
    const State *state = stage->state;
    int32_t first = runs->first[run];
    int32_t last = runs->first[run + 1];
    int32_t count = (int32_t)(last - first < state->points ? last - first : state->points);
    for (int32_t k = first; k < last && column[k] >= 0; k++) {
        int32_t begin = k - count / 2;
        begin = begin < first ? first : begin + count > last ? last - count : begin;
        hc_polynomial_weights(runs->centre + begin, count, (int32_t)state->order, (int32_t)params->derivative,
                              runs->centre[k], work, work + count);
        for (int32_t i = 0; i < count; i++) {
            state->map.weight[(size_t)runs->band[begin + i] * (size_t)state->map.out + (size_t)column[k]] =
                work[i];
        }
    }
}

/* Half of the way to the bands beside it, in its run: sums over them are areas by trapezoids. */
static void fill_areas(const State *state, const HcBandRuns *runs, int32_t run, const int32_t *column) {
    for (int32_t k = runs->first[run]; k < runs->first[run + 1] && column[k] >= 0; k++) {
        double below = k > runs->first[run] ? runs->centre[k] - runs->centre[k - 1] : 0;
        double above = k + 1 < runs->first[run + 1] ? runs->centre[k + 1] - runs->centre[k] : 0;
        state->area[column[k]] = (below + above) / 2;
    }
}

/* place: see choose_bands. column[runs->count] becomes the band that goes out, or -1. */
static HcStatus fill_map(HcStage *stage, const HcBandRuns *runs, const int32_t *place, int32_t *column,
                         HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    double *work = NULL;
    int32_t out = 0;
    memset(column, -1, (size_t)runs->count * sizeof *column);
    for (int32_t b = 0; b < stage->in.bands; b++) {
        if (place[b] >= 0) {
            state->band[out] = b;
            column[place[b]] = out++;
        }
    }
    HC_OR_RETURN(hc_new(work, (size_t)(state->points + 1) * (size_t)(state->order + 2), "a filter", err));
    for (int32_t r = 0; r < runs->runs; r++) {
        if (state->points > 0) {
            fill_run(stage, runs, r, column, work);
        }
        if (params->normalise == HC_NORMALISE_AREA) {
            fill_areas(state, runs, r, column);
        }
    }
    for (int32_t k = 0; k < out && state->points == 0; k++) {
        state->map.weight[(size_t)state->band[k] * (size_t)out + (size_t)k] = 1;
    }
    free(work);
    return HC_OK;
}

static HcStatus make_map(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcBandRuns runs = {0};
    int32_t *place = NULL;
    HC_TRY(make_runs(stage, &runs, err));
    HC_TRY(hc_new(place, stage->in.bands + runs.count, "the order of bands", err));
    HC_TRY(choose_bands(stage, &runs, place, err));
    int32_t out = stage->in.bands - state->left_out;
    HC_TRY(hc_band_map_make(&state->map, stage->in.bands, out, err));
    free(state->band);
    free(state->area);
    state->area = NULL;
    HC_TRY(hc_new(state->band, out, "a list of bands", err));
    HC_TRY(hc_new(state->area, out, "the weights of bands", err));
    HC_TRY(fill_map(stage, &runs, place, place + stage->in.bands, err));
done:
    free(place);
    hc_band_runs_clear(&runs);
    return status;
}

/* ---- the stage ---- */

/* Whether values are divided without a map before it. */
static bool only_divides(const HcStage *stage) {
    const State *state = stage->state;
    return state->points == 0 && state->left_out == 0 && stage->in.gain == NULL;
}

/* Shapes of spectra are in no unit of the scene, and any value may be one of them. */
static HcStatus describe(HcStage *stage, HcError *err) {
    static const char *const derivatives[] = {"", "first derivative by nm", "second derivative by nm"};
    static const char *const sizes[] = {"", "standard normal variates", "brightness 1", "area 1 nm"};
    const Params *params = stage->params;
    HcScene *out = &stage->out;
    bool both = params->derivative > 0 && params->normalise >= 0;
    if (!is_shape(params)) {
        return HC_OK;
    }
    out->meaning = HC_SHAPE;
    out->has_nodata = false;
    out->complete = out->complete && params->normalise < 0;
    free(out->description);
    out->description = hc_text_format("%s%s%s", derivatives[params->derivative], both ? ", " : "",
                                      sizes[params->normalise + 1]);
    return out->description != NULL ? HC_OK : hc_fail_memory(err, 80, "a description");
}

static HcStatus check_size(const HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    const State *state = stage->state;
    double area = 0;
    for (int32_t k = 0; k < state->map.out; k++) {
        area += state->area[k];
    }
    if (params->normalise == HC_NORMALISE_SNV && state->map.out < 2) {
        return hc_fail(err, HC_E_USAGE, "smooth: --normalise snv: one band has no standard deviation");
    }
    return params->normalise != HC_NORMALISE_AREA || area > 0
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "smooth: --normalise area: no run has two bands");
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(read_params(stage, err));
    HC_OR_RETURN(make_map(stage, err));
    HC_OR_RETURN(check_size(stage, err));
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    HC_OR_RETURN(hc_scene_select(&stage->out, state->band, state->map.out, err));
    HC_OR_RETURN(hc_band_map_scale(&state->map, stage, params->derivative == 0, params->normalise >= 0, err));
    HC_OR_RETURN(describe(stage, err));
    bool between = params->normalise >= 0 && !only_divides(stage);
    hc_stage_takes(stage, HC_SPACE_PIXEL, between ? (size_t)state->map.out * sizeof(float) + 1 : 0);
    hc_stage_takes(stage, HC_SPACE_DEVICE,
                   hc_band_map_bytes(&state->map) + (size_t)state->map.out * sizeof *state->area);
    return HC_OK;
}

static HcStatus open_smooth(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_band_map_open(&state->map, stage->compute, err));
    return hc_memory_upload(stage->compute, state->area, (size_t)state->map.out * sizeof *state->area,
                            &state->device_area, err);
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    const Params *params = stage->params;
    const State *state = stage->state;
    HcNormalisation kind = (HcNormalisation)params->normalise;
    const double *weight = params->normalise == HC_NORMALISE_AREA ? state->device_area.data : NULL;
    if (params->normalise < 0) {
        return hc_band_map_process(&state->map, queue, in, out, err);
    }
    if (only_divides(stage)) {
        return hc_normalise(queue, in, kind, weight, out, err);
    }
    HcBlock between = *out;
    between.data = scratch;
    between.mask = (uint8_t *)scratch + hc_block_values(&between) * sizeof(float);
    HC_OR_RETURN(hc_band_map_process(&state->map, queue, in, &between, err));
    return hc_normalise(queue, &between, kind, weight, out, err);
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    if (state->points > 0) {
        hc_json_put_number(to, "points", (double)state->points);
        hc_json_put_number(to, "order", (double)state->order);
    }
    hc_json_put_number(to, "bands_left_out", state->left_out);
    hc_json_put_number(to, "short_runs", state->short_runs);
}

static const char *unit(const HcStage *stage, int32_t band) {
    static const char *const by[] = {"", " per nm", " per nm^2"};
    const Params *params = stage->params;
    State *state = stage->state;
    const char *of = hc_unit_of(stage, state->band[band]);
    if (params->normalise >= 0) {
        return params->normalise == HC_NORMALISE_AREA ? "1/nm" : NULL;
    }
    if (params->derivative == 0) {
        return of;
    }
    snprintf(state->unit, sizeof state->unit, "%s%s", of != NULL ? of : "units", by[params->derivative]);
    return state->unit;
}

static void close_smooth(HcStage *stage) {
    State *state = stage->state;
    hc_band_map_clear(&state->map, stage->compute);
    hc_memory_release(stage->compute, &state->device_area);
    free(state->band);
    free(state->area);
    *state = (State){0};
}

const HcStageClass hc_stage_smooth = {
    .name = "smooth",
    .summary = "smooth or differentiate spectra (Savitzky-Golay, moving mean); normalise them",
    .cite = "Savitzky, Golay: Smoothing and differentiation of data by simplified least squares procedures",
    .example = "hcube smooth scene.hdr slope.tif --points 7 --derivative 1",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_smooth,
    .process = process,
    .report = report,
    .close = close_smooth,
    .rare = {.unit = unit},
};
