/* resample: the bands of another sensor, as a matrix: each is a weighted mean of the bands that come in, by
 * the overlap of their responses. Weights of a band add up to 1, so that a constant stays what it is. */
#include "core/allocate.h"
#include "pipeline/picture/unit.h"
#include "pipeline/spectra/band_map.h"
#include "pipeline/spectra/resample.h"
#include "pipeline/spectra/runs.h"
#include "pipeline/stages/resample/target.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <string.h>

typedef struct Params {
    const char *like, *wavelengths, *responses;
    int32_t method;
    double coverage;
} Params;

/* The bands that come in: good ones, by wavelength. */
typedef struct Sources {
    HcBandRuns runs;
    double *width;      /* [runs.count, nm] */
    double *low, *high; /* [runs.count, nm] what a band covers, without what the bands before it cover */
    double *weight;     /* [runs.count] of one band that goes out */
} Sources;

typedef struct State {
    HcTarget target;  /* once read */
    double *coverage; /* [target.count] */
    int32_t *kept;    /* [map.out] bands of the target */
    HcBandMap map;
} State;

enum { GAUSSIAN, BOX };

static const char *const method_words[] = {"gaussian", "box", NULL};

/* A Gaussian of full width 1 at half maximum has this standard deviation. */
static const double deviation_of_width = 0.42466090014400953;

static const HcOption options[] = {
    {HC_TEXT(Params, like), .value = "SCENE|HEADER", .file = HC_FILE_READ,
     .one_of = "like wavelengths responses",
     .help = "resample to the bands of this scene, or of an ENVI header alone (.hdr)"},
    {HC_TEXT(Params, wavelengths), .value = "FILE|A-B:STEP", .file = HC_FILE_READ,
     .help = "resample to bands from A to B, each STEP wide [nm]; or to those of a file, a line a band: "
             "wavelength and width"},
    {HC_TEXT(Params, responses), .value = "SENSOR|FILE", .choices = hc_target_sensors, .file = HC_FILE_READ,
     .help =
         "resample by measured responses, built in for sentinel-2a, sentinel-2b, landsat-8 and landsat-9, "
         "or of a spectral library (.csv, .sli)"},
    {HC_CHOICE(Params, method), .value = "KIND", .choices = method_words, .standard = "gaussian",
     .help = "what a band that comes in sees: gaussian: a Gaussian of its width; box: its width alone"},
    {HC_REAL(Params, coverage), .range = {0, 1}, .initial = 0.5, .value = "SHARE",
     .help = "leave out a band with less than this share of its response where bands come in"},
    {0}};

/* ---- the bands that come in ---- */

static HcStatus make_sources(Sources *sources, const HcStage *stage, HcError *err) {
    HC_OR_RETURN(hc_band_runs_make(&sources->runs, stage, 0, err));
    int32_t count = sources->runs.count;
    HC_OR_RETURN(hc_new(sources->width, 4 * (size_t)count, "the widths of bands", err));
    sources->low = sources->width + count;
    sources->high = sources->low + count;
    sources->weight = sources->high + count;
    hc_band_spacing(sources->runs.centre, count, sources->width);
    double end = -INFINITY;
    for (int32_t j = 0; j < count; j++) {
        double width = stage->in.fwhm != NULL ? stage->in.fwhm[sources->runs.band[j]] : 0;
        sources->width[j] = width > 0 ? width : sources->width[j];
        if (!(sources->width[j] > 0)) {
            return hc_fail(err, HC_E_USAGE, "resample: the band at %.6g nm has no width, and none beside it",
                           sources->runs.centre[j]);
        }
        sources->low[j] = fmax(sources->runs.centre[j] - sources->width[j] / 2, end);
        sources->high[j] = fmax(sources->runs.centre[j] + sources->width[j] / 2, end);
        end = sources->high[j];
    }
    return HC_OK;
}

static void clear_sources(Sources *sources) {
    hc_band_runs_clear(&sources->runs);
    free(sources->width);
}

/* ---- weights ---- */

/* The part of a Gaussian of this centre and width between two wavelengths. */
static double part_of(double centre, double width, double low, double high) {
    double scale = M_SQRT1_2 / (width * deviation_of_width);
    return high > low ? (erf((high - centre) * scale) - erf((low - centre) * scale)) / 2 : 0;
}

/* A Gaussian response sees a Gaussian band by a Gaussian of their distance, or the part of a box within half
 * of its width on either side. Returns its coverage. */
static double weigh_gaussian(const Sources *sources, double centre, double width, bool box) {
    double covered = 0;
    for (int32_t j = 0; j < sources->runs.count; j++) {
        double apart = sources->runs.centre[j] - centre;
        double half = sources->width[j] / 2;
        double squares = width * width + sources->width[j] * sources->width[j];
        double exponent = apart * apart / (2 * squares * deviation_of_width * deviation_of_width);
        double low = fmax(apart - half, -width / 2), high = fmin(apart + half, width / 2);
        sources->weight[j] = box             ? part_of(0, width, low, high)
                             : exponent < 32 ? exp(-exponent) / sqrt(squares)
                                             : 0; /* 1e-14 of the largest, and the matrix has a narrow band */
        covered += part_of(centre, width, sources->low[j], sources->high[j]);
    }
    return covered;
}

/* Adds what the bands see of a response that is `amount` [nm] at the wavelength x. */
static void add_at(const Sources *sources, double x, double amount, bool box, double *covered) {
    for (int32_t j = 0; j < sources->runs.count; j++) {
        double apart = fabs(x - sources->runs.centre[j]);
        double t = apart / (sources->width[j] * deviation_of_width);
        double seen = box ? apart <= sources->width[j] / 2 : t < 8 ? exp(-t * t / 2) : 0;
        sources->weight[j] += amount * seen / sources->width[j];
        *covered += x >= sources->low[j] && x < sources->high[j] ? amount : 0;
    }
}

typedef struct Node {
    double x, value;
} Node;

/* A response falls to 0 one step beyond its ends. */
static Node node_of(const HcTarget *target, int32_t first, int32_t end, int32_t i) {
    double below = end - first > 1 ? target->x[first + 1] - target->x[first] : 1;
    double above = end - first > 1 ? target->x[end - 1] - target->x[end - 2] : 1;
    return i < first  ? (Node){target->x[first] - below, 0}
           : i >= end ? (Node){target->x[end - 1] + above, 0}
                      : (Node){target->x[i], target->value[i]};
}

/* A measured response is a straight line between its values; sums over it are trapezoids no wider than the
 * standard deviation of the narrowest band. Returns its coverage. */
static double weigh_response(const Sources *sources, const HcTarget *target, int32_t band, bool box) {
    int32_t first = target->first[band], end = target->first[band + 1];
    double covered = 0, all = 0, narrowest = INFINITY;
    for (int32_t j = 0; j < sources->runs.count; j++) {
        narrowest = fmin(narrowest, sources->width[j] * deviation_of_width);
        sources->weight[j] = 0;
    }
    for (int32_t i = first - 1; i < end; i++) {
        Node low = node_of(target, first, end, i), high = node_of(target, first, end, i + 1);
        int32_t pieces = (int32_t)fmin(fmax(ceil((high.x - low.x) / narrowest), 1), 4096);
        for (int32_t p = 0; p <= pieces && low.value + high.value > 0; p++) {
            double share = (double)p / pieces;
            double step = (high.x - low.x) / pieces * (p == 0 || p == pieces ? 0.5 : 1);
            double amount = (low.value + share * (high.value - low.value)) * step;
            add_at(sources, low.x + share * (high.x - low.x), amount, box, &covered);
            all += amount;
        }
    }
    return covered / all;
}

/* ---- the map ---- */

static double sum_of(const Sources *sources) {
    double sum = 0;
    for (int32_t j = 0; j < sources->runs.count; j++) {
        sum += sources->weight[j];
    }
    return sum;
}

static void fill_column(HcBandMap *map, const Sources *sources, int32_t column) {
    double sum = sum_of(sources);
    for (int32_t j = 0; j < sources->runs.count; j++) {
        map->weight[(size_t)sources->runs.band[j] * (size_t)map->out + (size_t)column] =
            sources->weight[j] / sum;
    }
}

static double weigh(const HcStage *stage, const Sources *sources, int32_t band) {
    const HcTarget *target = &((State *)stage->state)->target;
    bool box = ((const Params *)stage->params)->method == BOX;
    return target->first != NULL ? weigh_response(sources, target, band, box)
                                 : weigh_gaussian(sources, target->centre[band], target->width[band], box);
}

/* "B10 (1373 nm: 0.02)": a band that is left out. */
static void add_left_out(const HcTarget *target, int32_t band, double coverage, HcText *to) {
    const char *name = target->name[band];
    hc_text_add(to, "%s%s%s%.5g nm%s %.2g", to->length > 0 ? ", " : "", name != NULL ? name : "",
                name != NULL ? " (" : "", target->centre[band], name != NULL ? "):" : ":", coverage);
}

/* Which bands of the target are covered, and how many of them are narrower than what comes in there. */
static HcStatus choose_bands(HcStage *stage, const Sources *sources, int32_t *kept, HcError *err) {
    enum { SHOWN = 12 };
    const Params *params = stage->params;
    State *state = stage->state;
    const HcTarget *target = &state->target;
    HcText list = {0};
    int32_t left_out = 0;
    HcStatus status = HC_OK;
    *kept = 0;
    for (int32_t k = 0; k < target->count; k++) {
        state->coverage[k] = fmin(weigh(stage, sources, k), 1);
        if (state->coverage[k] >= params->coverage && sum_of(sources) > 0) {
            state->kept[(*kept)++] = k;
        } else if (left_out++ < SHOWN) {
            add_left_out(target, k, state->coverage[k], &list);
        }
    }
    const char *more = left_out > SHOWN ? ", ..." : "";
    if (*kept == 0) {
        status =
            hc_fail_text(err, HC_E_USAGE, &list, "resample: no band has a coverage of %g (--coverage): %s%s",
                         params->coverage, hc_text_shown(&list), more);
    } else if (list.failed) {
        hc_stage_note_lost(stage);
    } else if (left_out > 0) {
        hc_stage_note(stage, "%d of %d bands are left out, whose coverage is below %g: %s%s", left_out,
                      target->count, params->coverage, hc_text_shown(&list), more);
    }
    hc_text_clear(&list);
    return status;
}

/* Says where the scene is too coarse to show what the new bands would. */
static void note_narrow(HcStage *stage, const Sources *sources, int32_t kept) {
    const State *state = stage->state;
    int32_t narrow = 0, example = 0;
    for (int32_t k = 0; k < kept; k++) {
        int32_t near = 0, band = state->kept[k];
        for (int32_t j = 1; j < sources->runs.count; j++) {
            near = fabs(sources->runs.centre[j] - state->target.centre[band]) <
                           fabs(sources->runs.centre[near] - state->target.centre[band])
                       ? j
                       : near;
        }
        if (state->target.width[band] < 0.95 * sources->width[near] && narrow++ == 0) {
            example = band;
        }
    }
    if (narrow > 0) {
        hc_stage_note(stage,
                      "%d bands are narrower than those that come in, and no sharper (%.5g nm: %.3g nm)",
                      narrow, state->target.centre[example], state->target.width[example]);
    }
}

static HcStatus make_map(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    Sources sources = {0};
    int32_t kept = 0;
    HC_TRY(make_sources(&sources, stage, err));
    HC_TRY(choose_bands(stage, &sources, &kept, err));
    note_narrow(stage, &sources, kept);
    HC_TRY(hc_band_map_make(&state->map, stage->in.bands, kept, err));
    for (int32_t k = 0; k < kept; k++) {
        (void)weigh(stage, &sources, state->kept[k]);
        fill_column(&state->map, &sources, k);
    }
done:
    clear_sources(&sources);
    return status;
}

/* ---- the stage ---- */

static HcStatus read_target(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    if (state->coverage != NULL) {
        return HC_OK;
    }
    hc_target_clear(&state->target);
    if (params->like == NULL && params->wavelengths == NULL && params->responses == NULL) {
        return hc_fail(err, HC_E_USAGE, "resample: name the bands: --like, --wavelengths or --responses");
    }
    HC_OR_RETURN(params->like != NULL ? hc_target_like(&state->target, params->like, err)
                 : params->wavelengths != NULL
                     ? hc_target_wavelengths(&state->target, params->wavelengths, err)
                     : hc_target_responses(&state->target, params->responses, err));
    HC_OR_RETURN(hc_new(state->kept, state->target.count, "a list of bands", err));
    return hc_new(state->coverage, state->target.count, "a list of bands", err);
}

static HcStatus set_bands(HcStage *stage, HcError *err) {
    const State *state = stage->state;
    const HcTarget *target = &state->target;
    HcScene *out = &stage->out;
    HC_OR_RETURN(hc_scene_copy(out, &stage->in, err));
    HC_OR_RETURN(hc_scene_reband(out, state->map.out, stage->in.meaning, err));
    HC_OR_RETURN(hc_new(out->wavelength, out->bands, "wavelengths", err));
    HC_OR_RETURN(hc_new(out->fwhm, out->bands, "the widths of bands", err));
    for (int32_t k = 0; k < out->bands; k++) {
        int32_t band = state->kept[k];
        out->wavelength[k] = target->centre[band];
        out->fwhm[k] = target->width[band];
        if (target->name[band] != NULL) {
            HC_OR_RETURN(hc_scene_name_band(out, k, err, "%s", target->name[band]));
        }
    }
    return HC_OK;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(read_target(stage, err));
    HC_OR_RETURN(make_map(stage, err));
    HC_OR_RETURN(set_bands(stage, err));
    HC_OR_RETURN(hc_band_map_scale(&state->map, stage, 1, false, err));
    hc_stage_takes(stage, HC_SPACE_DEVICE, hc_band_map_bytes(&state->map));
    return HC_OK;
}

static HcStatus open_resample(HcStage *stage, HcError *err) {
    return hc_band_map_open(&((State *)stage->state)->map, stage->compute, err);
}

static HcStatus process(HcStage *stage, HcQueue *queue, const HcBlock *in, const HcBlock *out, void *scratch,
                        HcError *err) {
    (void)scratch;
    return hc_band_map_process(&((State *)stage->state)->map, queue, in, out, err);
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_json_put_doubles(to, "wavelengths_nm", state->target.centre, (size_t)state->target.count);
    hc_json_put_doubles(to, "widths_nm", state->target.width, (size_t)state->target.count);
    hc_json_put_doubles(to, "coverage", state->coverage, (size_t)state->target.count);
}

static const char *unit(const HcStage *stage, int32_t band) {
    (void)band;
    return hc_unit_of(stage, 0);
}

static void close_resample(HcStage *stage) {
    State *state = stage->state;
    hc_band_map_clear(&state->map, stage->compute);
    hc_target_clear(&state->target);
    free(state->coverage);
    free(state->kept);
    *state = (State){0};
}

const HcStageClass hc_stage_resample = {
    .name = "resample",
    .summary = "the bands of another sensor, by their widths or measured responses",
    .cite = "measured responses of sensors: ESA and NASA, as in pyrsr 0.8.0 (GFZ Potsdam)",
    .example = "hcube resample scene.hdr sentinel.tif --responses sentinel-2a",
    .role = HC_ROLE_STAGE,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_resample,
    .process = process,
    .report = report,
    .close = close_resample,
    .rare = {.unit = unit},
};
