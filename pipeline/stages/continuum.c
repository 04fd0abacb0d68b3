/* continuum: spectra below their upper convex hull. Each range of wavelengths has hulls of its own, and none
 * reaches over a gap. Values that are missing in a pixel stay so, unless a later stage needs whole pixels. */
#include "core/allocate.h"
#include "core/operation/spectrum/continuum.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"
#include "pipeline/picture/unit.h"
#include "pipeline/spectra/runs.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    int32_t output;
    const char *ranges;
    double gap;
    bool features;
} Params;

/* Wavelengths of --range, limits included [nm]. */
typedef struct Range {
    double low, high;
} Range;

/* As in HcContinuumRule, on the host. */
typedef struct Pieces {
    int32_t count, places;
    double *centre;
    int32_t *band, *target, *first;
} Pieces;

typedef struct State {
    Range *range; /* [ranges] */
    int32_t ranges;
    Pieces pieces;
    int32_t *chosen; /* [bands] those of the input that go out, ascending */
    int32_t *place;  /* [bands] where each goes */
    size_t bytes;
    HcBuffer device; /* a copy of the arrays of the pieces */
} State;

enum { HULL_BANDS_MIN = 3 };

/* Of HcContinuumKind. */
static const char *const output_words[] = {"removed", "depth", "hull", NULL};

static const HcOption options[] = {
    {HC_CHOICE(Params, output), .value = "WORD", .choices = output_words, .standard = "removed",
     .help = "removed: each value divided by the hull; depth: 1 minus that; hull: the hull itself"},
    {HC_TEXT(Params, ranges, "range"), .unit = "nm", .value = "RANGES",
     .otherwise = "one hull for all wavelengths between gaps",
     .help = "a hull of its own for each of these ranges, limits included: 2120-2250,2270-2400 or "
             "2.12-2.25um; bands outside of them do not go out"},
    {HC_REAL(Params, gap), .range = {0, INFINITY}, .open = HC_OPEN_LOW, .unit = "nm", .value = "NM",
     .otherwise = "3 times the usual spacing of the bands there",
     .help = "no hull spans a wider step from one band to the next"},
    {HC_FLAG(Params, features), .needs = "range", .excludes = "output",
     .help =
         "output five bands for each range instead: depth, wavelength of the minimum, area, width at half "
         "depth, asymmetry"},
    {0}};

static const Params *params_of(const HcStage *stage) {
    return stage->params;
}

static HcContinuumKind kind_of(const HcStage *stage) {
    const Params *params = stage->params;
    return params->features ? HC_CONTINUUM_FEATURES : (HcContinuumKind)params->output;
}

/* ---- ranges and pieces ---- */

static HcStatus read_ranges(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const char *text = params_of(stage)->ranges;
    const char *rest = text;
    bool guessed = false;
    HC_OR_RETURN(hc_new(state->range, text != NULL ? strlen(text) + 1 : 1, "ranges of wavelengths", err));
    state->range[0] = (Range){-INFINITY, INFINITY};
    state->ranges = text == NULL;
    while (text != NULL && (*rest != '\0' || state->ranges == 0)) {
        Range *range = &state->range[state->ranges++];
        if (!hc_wavelengths_next(&rest, &range->low, &range->high, &guessed) || !(range->low < range->high)) {
            return hc_fail(err, HC_E_USAGE,
                           "continuum: --range %s: not a list of ranges [nm] like 2120-2250,2270-2400", text);
        }
    }
    if (guessed) {
        hc_stage_note(stage, "--range %s: numbers below 100 are taken as um", text);
    }
    return HC_OK;
}

static HcStatus fail_few(const HcBandRuns *runs, const Range *range, int32_t count, HcError *err) {
    char which[64] = "";
    if (isfinite(range->low)) {
        (void)snprintf(which, sizeof which, "--range %.6g-%.6g: ", range->low, range->high);
    }
    return hc_fail(
        err, HC_E_USAGE,
        "continuum: %s%d good band%s, a hull needs at least %d (those of the scene: %.6g to %.6g nm)", which,
        count, count == 1 ? "" : "s", HULL_BANDS_MIN, runs->centre[0], runs->centre[runs->count - 1]);
}

/* The parts of a range that lie in runs, a piece each. */
static HcStatus add_range(HcStage *stage, const HcBandRuns *runs, const Range *range, HcError *err) {
    Pieces *pieces = &((State *)stage->state)->pieces;
    int32_t before = pieces->places;
    int32_t last = -1; /* place in the runs where the piece before ends */
    for (int32_t k = 0, run = 0; k < runs->count; k++) {
        run += k == runs->first[run + 1];
        if (runs->centre[k] < range->low || runs->centre[k] > range->high) {
            continue;
        }
        bool cut = last >= 0 && k == runs->first[run];
        if (cut && params_of(stage)->features) {
            return hc_fail(err, HC_E_USAGE,
                           "continuum: --range %.6g-%.6g: cut by a gap from %.6g to %.6g nm: with --features "
                           "give two ranges, or a wider --gap",
                           range->low, range->high, runs->centre[last], runs->centre[k]);
        }
        if (cut || last < 0) {
            pieces->first[pieces->count++] = pieces->places;
        }
        pieces->centre[pieces->places] = runs->centre[k];
        pieces->band[pieces->places++] = runs->band[k];
        last = k;
    }
    pieces->first[pieces->count] = pieces->places;
    int32_t count = pieces->places - before;
    return count >= HULL_BANDS_MIN ? HC_OK : fail_few(runs, range, count, err);
}

/* Pieces of one or two bands are their own hulls; where no piece has more, nothing is left of the spectrum.
 */
static HcStatus check_pieces(const HcStage *stage, const HcBandRuns *runs, HcError *err) {
    const Pieces *pieces = &((const State *)stage->state)->pieces;
    for (int32_t p = 0; p < pieces->count; p++) {
        if (pieces->first[p + 1] - pieces->first[p] >= HULL_BANDS_MIN) {
            return HC_OK;
        }
    }
    return hc_fail(
        err, HC_E_USAGE,
        "continuum: gaps cut the bands into %d hulls, each of fewer than %d bands (%d bands, %.6g to "
        "%.6g nm): give a wider --gap",
        pieces->count, HULL_BANDS_MIN, runs->count, runs->centre[0], runs->centre[runs->count - 1]);
}

/* chosen: the bands of all pieces, each once; target[k] is the place there of the band of place k. */
static HcStatus order_bands(HcStage *stage, HcError *err) {
    State *state = stage->state;
    const Pieces *pieces = &state->pieces;
    int32_t count = 0;
    int32_t *place = state->place; /* of each band */
    for (int32_t k = 0; k < pieces->places; k++) {
        if (place[pieces->band[k]]++ > 0 && !params_of(stage)->features) {
            return hc_fail(err, HC_E_USAGE, "continuum: --range %s: band %d (%.6g nm) lies in two ranges",
                           params_of(stage)->ranges, pieces->band[k] + 1, pieces->centre[k]);
        }
    }
    for (int32_t b = 0; b < stage->in.bands; b++) {
        if (place[b] > 0) {
            place[b] = count;
            state->chosen[count++] = b;
        }
    }
    for (int32_t k = 0; k < pieces->places; k++) {
        pieces->target[k] = place[pieces->band[k]];
    }
    return HC_OK;
}

/* ---- plan ---- */

static void forget(State *state) {
    free(state->range);
    free(state->pieces.centre);
    free(state->chosen);
    *state = (State){0};
}

/* The arrays of the pieces lie in one piece of memory, as they will on the device. */
static HcStatus make_arrays(HcStage *stage, const HcBandRuns *runs, HcError *err) {
    State *state = stage->state;
    Pieces *pieces = &state->pieces;
    size_t most = (size_t)state->ranges * (size_t)runs->count;
    state->bytes = most * (sizeof(double) + 3 * sizeof(int32_t)) + sizeof(int32_t);
    HC_OR_RETURN(hc_new(pieces->centre, state->bytes / sizeof(double) + 1, "the pieces of a continuum", err));
    pieces->band = (int32_t *)(pieces->centre + most);
    pieces->target = pieces->band + most;
    pieces->first = pieces->target + most;
    HC_OR_RETURN(hc_new(state->chosen, 2 * (size_t)stage->in.bands, "a list of bands", err));
    state->place = state->chosen + stage->in.bands;
    return HC_OK;
}

static HcStatus make_pieces(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    HcBandRuns runs = {0};
    forget(state);
    HC_TRY(read_ranges(stage, err));
    HC_TRY(hc_band_runs_make(&runs, stage, params_of(stage)->gap, err));
    HC_TRY(make_arrays(stage, &runs, err));
    for (int32_t r = 0; r < state->ranges; r++) {
        HC_TRY(add_range(stage, &runs, &state->range[r], err));
    }
    HC_TRY(check_pieces(stage, &runs, err));
    HC_TRY(order_bands(stage, err));
    if (runs.count < stage->in.bands) {
        hc_stage_note(stage, "%d of %d bands are marked as bad and do not go out",
                      stage->in.bands - runs.count, stage->in.bands);
    }
done:
    hc_band_runs_clear(&runs);
    return status;
}

static HcStatus check_scene(const HcStage *stage, HcError *err) {
    const HcScene *in = &stage->in;
    HC_OR_RETURN(hc_need_wavelengths(stage, params_of(stage)->ranges != NULL ? "--range" : NULL, err));
    if (in->meaning != HC_SPECTRAL) {
        return hc_fail(err, HC_E_USAGE, "continuum: %s in, which have no continuum",
                       in->meaning == HC_SHAPE ? "derivatives or shapes of spectra come"
                                               : "values of noise come");
    }
    return hc_scene_has_one_scale(in) && hc_scene_scale(in, 0).offset == 0
               ? HC_OK
               : hc_fail(
                     err, HC_E_USAGE,
                     "continuum: bands have offsets or different gains, so stored values have another hull "
                     "than physical ones: give read --source-scale apply");
}

static HcStatus plan_features(HcStage *stage, HcError *err) {
    static const char *const words[HC_FEATURE_VALUES] = {"depth", "wavelength", "area", "width", "asymmetry"};
    const State *state = stage->state;
    HC_OR_RETURN(hc_scene_reband(&stage->out, state->ranges * HC_FEATURE_VALUES, HC_OTHER, err));
    for (int32_t b = 0; b < stage->out.bands; b++) {
        const Range *range = &state->range[b / HC_FEATURE_VALUES];
        HC_OR_RETURN(hc_scene_name_band(&stage->out, b, err, "%.6g-%.6g nm %s", range->low, range->high,
                                        words[b % HC_FEATURE_VALUES]));
    }
    return HC_OK;
}

/* A quotient has no unit, and so no factor to one. */
static HcStatus plan_bands(HcStage *stage, HcError *err) {
    HcScene *out = &stage->out;
    const State *state = stage->state;
    HC_OR_RETURN(hc_scene_select(out, state->chosen, state->pieces.places, err));
    if (params_of(stage)->output != HC_CONTINUUM_HULL) {
        free(out->gain);
        free(out->offset);
        out->gain = out->offset = NULL;
        out->meaning = HC_SHAPE;
    }
    free(out->parts);
    out->parts = NULL;
    return HC_OK;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const State *state = stage->state;
    HC_OR_RETURN(check_scene(stage, err));
    if (!stage->is_open) { /* until then an earlier fit may change what comes in */
        HC_OR_RETURN(make_pieces(stage, err));
    }
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    HC_OR_RETURN(params_of(stage)->features ? plan_features(stage, err) : plan_bands(stage, err));
    stage->out.integer_limit = 0;
    stage->out.has_nodata = stage->out.shares_nodata = false; /* any value may be a result */
    stage->out.complete = false;
    stage->needs.missing = HC_MISSING_KEPT;
    stage->masks = "values are missing, or the hull is not positive there";
    hc_stage_takes(stage, HC_SPACE_DEVICE, state->bytes);
    hc_stage_takes(stage, HC_SPACE_WORKER, hc_continuum_work(state->pieces.places));
    hc_stage_takes(stage, HC_SPACE_APART, HC_CONTINUUM_WARPS * hc_continuum_work(state->pieces.places));
    hc_chain_note_left_out(stage);
    return HC_OK;
}

/* ---- the run ---- */

static HcStatus open_continuum(HcStage *stage, HcError *err) {
    State *state = stage->state;
    return hc_memory_upload(stage->compute, state->pieces.centre, state->bytes, &state->device, err);
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    const State *state = stage->state;
    const Pieces *pieces = &state->pieces;
    const double *centre = state->device.data;
    const int32_t *band = (const int32_t *)(centre + ((const double *)pieces->band - pieces->centre));
    HcContinuumRule rule = {.kind = kind_of(stage),
                            .whole = hc_chain_wants_whole(stage) != NULL,
                            .pieces = pieces->count,
                            .places = pieces->places,
                            .first = band + (pieces->first - pieces->band),
                            .centre = centre,
                            .band = band,
                            .target = band + (pieces->target - pieces->band)};
    (void)scratch;
    return hc_continuum(queue, in, &rule, out, err);
}

static const char *unit(const HcStage *stage, int32_t band) {
    static const char *const units[HC_FEATURE_VALUES] = {NULL, "nm", "nm", "nm", NULL};
    HcContinuumKind kind = kind_of(stage);
    return kind == HC_CONTINUUM_HULL       ? hc_unit_of(stage, ((const State *)stage->state)->chosen[band])
           : kind == HC_CONTINUUM_FEATURES ? units[band % HC_FEATURE_VALUES]
                                           : NULL;
}

static void report(const HcStage *stage, HcJson *to) {
    const Pieces *pieces = &((const State *)stage->state)->pieces;
    hc_json_open_array(to, "hulls_nm");
    for (int32_t p = 0; p < pieces->count; p++) {
        double ends[] = {pieces->centre[pieces->first[p]], pieces->centre[pieces->first[p + 1] - 1]};
        hc_json_put_doubles(to, NULL, ends, 2);
    }
    hc_json_close(to);
}

static void close_continuum(HcStage *stage) {
    State *state = stage->state;
    hc_memory_release(stage->compute, &state->device);
    forget(state);
}

const HcStageClass hc_stage_continuum = {
    .name = "continuum",
    .summary = "spectra divided by their upper convex hull; figures of absorption features",
    .cite = "Clark, Roush 1984: Reflectance spectroscopy: quantitative analysis techniques for remote "
            "sensing applications",
    .example = "hcube continuum scene.hdr removed.tif",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_continuum,
    .process = process,
    .report = report,
    .close = close_continuum,
    .rare = {.unit = unit},
};
