/* preview: a picture of what passes, and a scree plot of eigenvalues. */
#include "core/allocate.h"
#include "figure/figure.h"
#include "io/file.h"
#include "io/write/picture/png.h"
#include "pipeline/chain.h"
#include "pipeline/picture/image.h"
#include "pipeline/picture/plots.h"
#include "pipeline/picture/scale.h"
#include "pipeline/picture/shown.h"
#include "pipeline/picture/ortho_map.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *path, *bands, *wavelengths, *percentiles, *limits, *scree, *ortho, *over;
    int32_t colours, legend;
    int64_t size, enlarge;
    double gamma, threshold, opacity;
    bool overwrite;
} Params;

typedef struct State {
    HcShown shown;
    double percentile[2];
    float limit[3][2]; /* of --limits, then of the picture */
    bool classes;      /* the band holds classes: their colours */
    HcLegendPlace legend;
} State;

/* Pixels of the largest picture. */
static const size_t picture_limit = (size_t)1 << 28;

static const char *const legend_words[] = {"none", "right", "below", NULL}; /* as HcLegendPlace */

static const HcOption options[] = {
    {HC_TEXT(Params, path, "output"), .file = HC_FILE_WRITTEN, .value = "PICTURE.png", .positional = true,
     .required = true, .help = "PNG file to write"},
    {HC_TEXT(Params, bands), .value = "R,G,B|N",
     .otherwise = "true colour, else the default bands of the file, else bands over the whole range or the "
                  "first components",
     .help = "show these three bands, or one in colours; numbers from 1, as the bands come in"},
    {HC_TEXT(Params, wavelengths), .unit = "nm", .value = "R,G,B|N", .one_of = "bands wavelengths",
     .help = "show the bands nearest to these wavelengths, at most 50 nm away"},
    {HC_TEXT(Params, percentiles), .unit = "%", .value = "LOW,HIGH",
     .otherwise = "2,98; abundances from 0 to 1, scores from 0 to 98 %",
     .help = "percentiles of the shown pixels that are black and full colour, 0 to 100"},
    {HC_TEXT(Params, limits), .value = "LOW,HIGH", .otherwise = "by --percentiles",
     .one_of = "limits percentiles",
     .help = "values that are black and full colour, of all shown bands; or six values for red, green and "
             "blue"},
    {HC_REAL(Params, threshold), .initial = NAN, .value = "VALUE", .otherwise = "none",
     .help = "make pixels transparent whose value in the first shown band is lower, as of scores"},
    {HC_TEXT(Params, over), .file = HC_FILE_READ, .value = "BELOW.png",
     .help = "lay the picture over this PNG, which has the size of the picture without a legend"},
    {HC_REAL(Params, opacity), .range = {0, 1}, .initial = 1, .value = "PART",
     .help = "opacity of the pixels: 0 shows only what is below, 1 hides it"},
    {HC_REAL(Params, gamma), .range = {0.1, 10}, .initial = NAN, .value = "VALUE",
     .otherwise = "1.4 for true colour by default, else 1",
     .help = "raise levels to 1/VALUE after the stretch: above 1 brightens"},
    {HC_CHOICE(Params, colours), .choices = hc_ramp_words,
     .otherwise = "vik if values have both signs, else batlow", .help = "colours of a single band"},
    {HC_CHOICE(Params, legend), .choices = legend_words, .otherwise = "right",
     .help = "position of the class names of a class map"},
    {HC_INT(Params, size), .range = {16, 16384}, .initial = 1024, .unit = "pixels", .value = "PIXELS",
     .help = "longest side of the picture without a legend; larger scenes are subsampled"},
    {HC_INT(Params, enlarge), .range = {1, 64}, .initial = 1, .unit = "pixels", .value = "TIMES",
     .help = "size of the square for each pixel"},
    {HC_TEXT(Params, scree), .file = HC_FILE_WRITTEN, .value = "PLOT.png",
     .help = "plot the eigenvalues of the last pca or mnf before this step: .png, .svg or .pdf"},
    HC_ORTHO_OPTION(Params),
    {HC_FLAG(Params, overwrite), .help = "replace existing files"},
    {0}};

static HcStatus plan_classes(const HcStage *stage, State *state, HcError *err) {
    const Params *params = stage->params;
    state->classes =
        hc_scene_is_class_map(&stage->in) && state->shown.band_count == 1 && state->shown.band[0] == 0;
    if (!state->classes && params->legend > HC_LEGEND_NONE) {
        return hc_fail(err, HC_E_USAGE, "preview: --legend %s: only the classes of a class map have a legend",
                       legend_words[params->legend]);
    }
    state->legend = params->legend >= 0 ? (HcLegendPlace)params->legend : HC_LEGEND_RIGHT;
    return HC_OK;
}

/* The nearest stage before this one that has a scree plot, or NULL. */
static const HcStage *stage_with_scree(const HcStage *stage) {
    for (int32_t s = stage->place - 1; s >= 0; s--) {
        if (stage->chain->stages[s].kind->rare.scree != NULL) {
            return &stage->chain->stages[s];
        }
    }
    return NULL;
}

/* What `dimension` found, or the rule of --components, before this step; NULL = neither was asked. */
static const HcDimension *dimension_before(const HcStage *stage) {
    for (int32_t s = stage->place - 1; s >= 0; s--) {
        const HcStage *from = &stage->chain->stages[s];
        const HcDimension *found =
            from->kind->rare.dimension != NULL ? from->kind->rare.dimension(from) : NULL;
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

/* Eigenvalues at most. */
static int32_t scree_count(const HcStage *stage) {
    const HcStage *from = stage_with_scree(stage);
    return from != NULL ? from->in.bands : 0;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    HC_OR_RETURN(hc_shown_choose(stage, params->bands, params->wavelengths, &state->shown, err));
    HC_OR_RETURN(plan_classes(stage, state, err));
    HC_OR_RETURN(hc_scale_percentiles("preview", params->percentiles, state->percentile, err));
    HC_OR_RETURN(params->limits != NULL ? hc_scale_limits("preview", params->limits,
                                                          state->shown.band_count == 3, 3, state->limit, err)
                                        : HC_OK);
    if (!hc_text_ends_with(params->path, ".png")) {
        return hc_fail(err, HC_E_USAGE, "preview: %s: pictures are PNG files, the name must end in .png",
                       params->path);
    }
    if (params->scree != NULL) {
        HC_OR_RETURN(hc_plot_file_check("preview", "--scree", params->scree, err));
        if (stage_with_scree(stage) == NULL) {
            return hc_fail(err, HC_E_USAGE, "preview: --scree %s: there is no pca or mnf before this step",
                           params->scree);
        }
    }
    HC_OR_RETURN(hc_shown_plan(stage, params->ortho, params->size, &state->shown, err));
    HcShown *shown = &state->shown;
    shown->picked = true;
    size_t pixels = hc_shown_pixels(shown);
    size_t drawn = pixels * (size_t)(params->enlarge * params->enlarge);
    if (drawn > picture_limit) {
        return hc_fail(err, HC_E_USAGE,
                       "preview: --enlarge %lld: a picture of %lld x %lld pixels is too large",
                       (long long)params->enlarge, (long long)(shown->width * params->enlarge),
                       (long long)(shown->height * params->enlarge));
    }
    HC_OR_RETURN(params->over != NULL ? hc_png_read(params->over, shown->width * (int32_t)params->enlarge,
                                                    shown->height * (int32_t)params->enlarge, NULL, err)
                                      : HC_OK);
    int32_t every = shown->ortho == NULL ? shown->step : 1;
    stage->output = params->path;
    stage->needs = (HcNeeds){
        .consumes = true,
        .passes_through = true,
        .pick = {
            .every = every, .shown_every = every, .bands = shown->band, .band_count = shown->band_count}};
    /* Beside the planes their levels, the copy that finds percentiles, the canvas. */
    hc_stage_takes(stage, HC_SPACE_HOST,
                   hc_shown_bytes(stage, shown) + pixels * ((size_t)shown->band_count + 4) +
                       (params->over != NULL ? 8 : 4) * drawn +
                       (state->classes ? hc_figure_bytes(HC_FIGURE_PNG, 510, 144, 0) : 0) +
                       hc_plot_file_bytes(params->scree, 1, scree_count(stage)));
    return HC_OK;
}

static int64_t suffices(const HcStage *stage) {
    const Params *params = stage->params;
    return params->ortho == NULL ? params->size : 0;
}

static HcStatus open_preview(HcStage *stage, HcError *err) {
    return hc_shown_open(stage, &((State *)stage->state)->shown, err);
}

static HcStatus consume(HcStage *stage, const HcBlock *block, HcError *err) {
    (void)err;
    hc_shown_consume(&((State *)stage->state)->shown, block, stage->needs.pick.every);
    return HC_OK;
}

static HcStatus gather(HcStage *stage, HcError *err) {
    return hc_shown_gather(stage, &((State *)stage->state)->shown, err);
}

/* Lays the map over what is below, and writes the file. */
static HcStatus write_image(const HcStage *stage, HcImage *image, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    const HcShown *shown = &((const State *)stage->state)->shown;
    int32_t width = shown->width * (int32_t)params->enlarge,
            height = shown->height * (int32_t)params->enlarge;
    HcImage below = {0};
    if (params->over != NULL) {
        HC_TRY(hc_image_init(&below, width, height, err));
        HC_TRY(hc_png_read(params->over, width, height, below.pixels, err));
    }
    if (params->over != NULL || params->opacity < 1) {
        hc_image_lay(image, width, height, params->opacity, below.pixels);
    }
    HC_TRY(hc_png_write(params->path, image->width, image->height, image->pixels, hc_stage_overwrite(stage),
                        err));
done:
    hc_image_clear(&below);
    return status;
}

static HcStatus draw_classes(const HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    const State *state = stage->state;
    HcImage image = {0};
    HcClassPlane plane = {.value = state->shown.plane,
                          .valid = state->shown.valid,
                          .width = state->shown.width,
                          .height = state->shown.height,
                          .enlarge = (int32_t)params->enlarge,
                          .classes = &stage->in.classes};
    HC_TRY(hc_image_classes(&image, &plane, state->legend, err));
    HC_TRY(write_image(stage, &image, err));
done:
    hc_image_clear(&image);
    return status;
}

static HcStatus find_limits(const HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    const HcScaled scaled = {.scene = &stage->in,
                             .band = state->shown.band,
                             .count = state->shown.band_count,
                             .plane = state->shown.plane,
                             .valid = state->shown.valid,
                             .pixels = hc_shown_pixels(&state->shown),
                             .percentile = {state->percentile[0], state->percentile[1]},
                             .signs = hc_scale_signs(state->shown.band_count == 1, params->colours)};
    return params->limits == NULL ? hc_scale_find(&scaled, state->limit, err) : HC_OK;
}

/* What somebody asks for by number stays as it is. */
static double gamma_of(const HcStage *stage) {
    const Params *params = stage->params;
    bool chosen = params->bands == NULL && params->wavelengths == NULL;
    return !isnan(params->gamma) ? params->gamma
           : chosen ? hc_image_usual_gamma(&stage->in, ((const State *)stage->state)->shown.band_count)
                    : 1;
}

static HcStatus draw_picture(const HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    const State *state = stage->state;
    size_t pixels = hc_shown_pixels(&state->shown);
    HcImage image = {0};
    uint8_t *level = NULL;
    HC_TRY(hc_new(level, pixels * (size_t)state->shown.band_count, "a preview", err));
    HC_TRY(hc_image_init(&image, state->shown.width * (int32_t)params->enlarge,
                         state->shown.height * (int32_t)params->enlarge, err));
    HC_TRY(find_limits(stage, err));
    hc_image_threshold(state->shown.plane, pixels, params->threshold, state->shown.valid);
    for (int32_t c = 0; c < state->shown.band_count; c++) {
        size_t first = (size_t)c * pixels;
        hc_image_levels(state->shown.plane + first, state->shown.valid, pixels, state->limit[c],
                        level + first);
    }
    HcColouring colouring = {.level = level,
                             .valid = state->shown.valid,
                             .pixels = pixels,
                             .count = state->shown.band_count,
                             .ramp = params->colours >= 0 ? (HcRamp)params->colours
                                                          : hc_image_ramp(state->limit[0])};
    hc_image_gamma(gamma_of(stage), colouring.gamma);
    for (int32_t y = 0; y < image.height; y++) {
        for (int32_t x = 0; x < image.width; x++) {
            size_t from =
                (size_t)(y / params->enlarge) * (size_t)state->shown.width + (size_t)(x / params->enlarge);
            hc_image_colour(&colouring, from,
                            image.pixels + 4 * ((size_t)y * (size_t)image.width + (size_t)x));
        }
    }
    HC_TRY(write_image(stage, &image, err));
done:
    free(level);
    hc_image_clear(&image);
    return status;
}

static HcStatus draw_scree(const HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    const HcStage *from = stage_with_scree(stage);
    HcScreePlot plot;
    if (!from->kind->rare.scree(from, &plot)) {
        return hc_fail(err, HC_E_USAGE, "preview: --scree %s: %s has no eigenvalues", params->scree,
                       from->kind->name);
    }
    plot.dimension = dimension_before(stage);
    return hc_plot_scree(params->scree, &plot, hc_stage_overwrite(stage), err);
}

/* A picture without colours says nothing of the reason. */
static void note_empty(HcStage *stage) {
    const HcShown *shown = &((const State *)stage->state)->shown;
    for (int32_t c = 0; c < shown->band_count; c++) {
        if (hc_shown_has_values(shown, c)) {
            return;
        }
    }
    hc_stage_note(stage, "%s is empty: no pixel that it shows has a value",
                  ((const Params *)stage->params)->path);
}

static HcStatus finish(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    note_empty(stage);
    HC_OR_RETURN(((const State *)stage->state)->classes ? draw_classes(stage, err)
                                                        : draw_picture(stage, err));
    if (params->scree != NULL) {
        HC_OR_RETURN(draw_scree(stage, err));
    }
    return HC_OK;
}

static void report(const HcStage *stage, HcJson *to) {
    hc_shown_report(&((const State *)stage->state)->shown, to);
}

static void close_preview(HcStage *stage) {
    hc_shown_close(&((State *)stage->state)->shown);
}

const HcStageClass hc_stage_preview = {
    .name = "preview",
    .summary = "a PNG: true colour, chosen bands, one band in colours, classes, or a scree plot",
    .example = "hcube preview scene.hdr scene.png",
    .role = HC_ROLE_SINK,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_preview,
    .consume = consume,
    .gather = gather,
    .finish = finish,
    .report = report,
    .rare = {.suffices = suffices},
    .close = close_preview,
};
