/* preview: a picture of what passes, and a scree plot of eigenvalues. */
#include "core/allocate.h"
#include "io/file.h"
#include "io/write/png.h"
#include "pipeline/chain.h"
#include "pipeline/picture/image.h"
#include "pipeline/ortho_map.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Params {
    const char *path, *bands, *wavelengths, *percentiles, *scree, *ortho;
    int32_t colours, legend;
    int64_t size, enlarge;
    double gamma;
    int32_t overwrite; /* HcOverwrite */
} Params;

/* A pixel of the picture, and the sample of the scene that it shows. */
typedef struct Filled {
    int32_t shown, sample;
} Filled;

typedef struct State {
    int32_t band[3]; /* red, green, blue; or one */
    int32_t band_count;
    double percentile[2];
    bool classes; /* the band holds classes: their colours */
    HcLegendPlace legend;
    int64_t lines, samples;      /* of what is shown: the scene, or its map */
    int32_t width, height, step; /* every step-th pixel is shown */
    float *plane;                /* [band_count][height][width] */
    uint8_t *valid;              /* [height][width] */
    /* Of a map: which shown pixels each line of the scene fills. */
    HcOrtho *ortho;
    int32_t *begin; /* [lines of the scene + 1] where those of a line begin in `filled` */
    Filled *filled;
} State;

/* Pixels of the largest picture. */
static const size_t picture_limit = (size_t)1 << 28;
/* About what a legend adds to the canvas. */
static const size_t legend_bytes = (size_t)16 << 20;

static const char *const colour_words[] = {"viridis", "grey", NULL};
static const char *const legend_words[] = {"none", "right", "below", NULL}; /* as HcLegendPlace */

static const HcOption options[] = {
    {HC_TEXT(Params, path, "output"), .file = HC_FILE_WRITTEN, .value = "PICTURE.png", .positional = true,
     .required = true, .help = "PNG file to write"},
    {HC_TEXT(Params, bands), .value = "R,G,B|N",
     .otherwise = "true colour, else the default bands of the file, else bands over the whole range or the "
                  "first components",
     .help = "show these three bands, or one in colours; numbers from 1, as the bands come in"},
    {HC_TEXT(Params, wavelengths), .unit = "nm", .value = "R,G,B|N",
     .help = "show the bands nearest to these wavelengths, at most 50 nm away"},
    {HC_TEXT(Params, percentiles), .unit = "%", .value = "LOW,HIGH", .standard = "2,98",
     .help = "percentiles of the shown pixels that become black and full colour, 0 to 100"},
    {HC_REAL(Params, gamma), .range = {0.1, 10}, .initial = 1, .value = "VALUE",
     .help = "raise levels to 1/VALUE after the stretch: above 1 brightens"},
    {HC_CHOICE(Params, colours), .choices = colour_words, .standard = "viridis",
     .help = "colours of a single band"},
    {HC_CHOICE(Params, legend), .choices = legend_words, .otherwise = "right",
     .help = "where the class names of a class map stand"},
    {HC_INT(Params, size), .range = {16, 16384}, .initial = 1024, .unit = "pixels", .value = "PIXELS",
     .help = "longest side of the picture without a legend; larger scenes are thinned out"},
    {HC_INT(Params, enlarge), .range = {1, 64}, .initial = 1, .unit = "pixels", .value = "TIMES",
     .help = "side of the square that shows a pixel"},
    {HC_TEXT(Params, scree), .file = HC_FILE_WRITTEN, .value = "PLOT.png",
     .help = "plot the eigenvalues of the last pca or mnf before this step"},
    HC_ORTHO_OPTION(Params),
    {HC_LEVEL(Params, overwrite), .value = "any",
     .help = "replace existing files; any: also a scene with more bands than the result"},
    {0}};

static bool overwrites(const HcStage *stage) {
    return hc_stage_overwrite(stage) != HC_OVERWRITE_NONE;
}

/* Bands by number. */
static HcStatus bands_by_number(const HcStage *stage, State *state, HcError *err) {
    const Params *params = stage->params;
    double number[3];
    state->band_count = hc_option_numbers(params->bands, number, 3);
    bool whole = state->band_count == 1 || state->band_count == 3;
    for (int32_t c = 0; c < state->band_count && whole; c++) {
        whole = number[c] == floor(number[c]) && fabs(number[c]) < 1e9;
        state->band[c] = whole ? (int32_t)number[c] - 1 : 0;
    }
    if (!whole) {
        return hc_fail(err, HC_E_USAGE, "preview: --bands %s: must be one band number or three",
                       params->bands);
    }
    for (int32_t c = 0; c < state->band_count; c++) {
        if (state->band[c] < 0 || state->band[c] >= stage->in.bands) {
            return hc_fail(err, HC_E_USAGE, "preview: --bands %s: the scene has bands 1 to %d", params->bands,
                           stage->in.bands);
        }
    }
    return HC_OK;
}

static HcStatus bands_by_wavelength(const HcStage *stage, State *state, HcError *err) {
    const Params *params = stage->params;
    double wavelength[3];
    state->band_count = hc_option_numbers(params->wavelengths, wavelength, 3);
    if (state->band_count != 1 && state->band_count != 3) {
        return hc_fail(err, HC_E_USAGE, "preview: --wavelengths %s: must be one wavelength [nm] or three",
                       params->wavelengths);
    }
    for (int32_t c = 0; c < state->band_count; c++) {
        state->band[c] = hc_scene_band_at(&stage->in, wavelength[c], 50);
        if (state->band[c] < 0) {
            return hc_fail(err, HC_E_USAGE, "preview: --wavelengths %s: no band within 50 nm of %g nm",
                           params->wavelengths, wavelength[c]);
        }
    }
    return HC_OK;
}

/* True colour where there are wavelengths for it, else what the header says, else the first components, or
 * spectral bands spread over the range (the first ones are mostly noise). */
static void usual_bands(const HcStage *stage, State *state) {
    static const double colour[3] = {650, 550, 460};
    const HcScene *scene = &stage->in;
    bool true_colour = scene->meaning == HC_SPECTRAL;
    state->band_count = scene->bands >= 3 && !hc_scene_is_class_map(scene) ? 3 : 1;
    for (int32_t c = 0; c < 3; c++) {
        state->band[c] = scene->meaning == HC_SPECTRAL && scene->bands >= 16 ? scene->bands >> (c + 1) : c;
        true_colour = true_colour && hc_scene_band_at(scene, colour[c], 40) >= 0;
    }
    for (int32_t c = 0; c < state->band_count; c++) {
        if (true_colour) {
            state->band[c] = hc_scene_band_at(scene, colour[c], 40);
        } else if (scene->has_default_bands && !hc_scene_is_class_map(scene)) {
            state->band[c] = scene->default_bands[c];
        }
    }
}

static HcStatus plan_classes(const HcStage *stage, State *state, HcError *err) {
    const Params *params = stage->params;
    state->classes = hc_scene_is_class_map(&stage->in) && state->band_count == 1 && state->band[0] == 0;
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
        if (stage->chain->stages[s].kind->scree != NULL) {
            return &stage->chain->stages[s];
        }
    }
    return NULL;
}

/* What is shown: with --ortho a map, and the pixels that it thins out to. */
static HcStatus plan_map(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(hc_ortho_map_plan(stage, params->ortho, &state->ortho, err));
    state->lines = stage->in.lines;
    state->samples = stage->in.samples;
    if (state->ortho != NULL) {
        HcOrthoFacts facts = hc_ortho_facts(state->ortho);
        state->lines = facts.lines;
        state->samples = facts.samples;
    }
    return HC_OK;
}

/* Memory of open_map. */
static size_t map_bytes(const HcStage *stage, size_t shown) {
    const State *state = stage->state;
    return shown * (sizeof(Filled) + sizeof(HcOrthoPixel)) + (size_t)state->samples * sizeof(HcOrthoPixel) +
           ((size_t)stage->in.lines + 1) * sizeof *state->begin;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (params->bands != NULL && params->wavelengths != NULL) {
        return hc_fail(err, HC_E_USAGE, "preview: give one of --bands and --wavelengths");
    }
    if (params->bands != NULL) {
        HC_OR_RETURN(bands_by_number(stage, state, err));
    } else if (params->wavelengths != NULL) {
        HC_OR_RETURN(bands_by_wavelength(stage, state, err));
    } else {
        usual_bands(stage, state);
    }
    HC_OR_RETURN(plan_classes(stage, state, err));
    if (hc_option_numbers(params->percentiles, state->percentile, 2) != 2 || !(state->percentile[0] >= 0) ||
        !(state->percentile[1] <= 100) || !(state->percentile[0] < state->percentile[1])) {
        return hc_fail(err, HC_E_USAGE,
                       "preview: --percentiles %s: must be two numbers from 0 to 100, rising",
                       params->percentiles);
    }
    if (!hc_text_ends_with(params->path, ".png") ||
        (params->scree != NULL && !hc_text_ends_with(params->scree, ".png"))) {
        return hc_fail(err, HC_E_USAGE, "preview: %s: pictures are PNG files, the name must end in .png",
                       hc_text_ends_with(params->path, ".png") ? params->scree : params->path);
    }
    HC_OR_RETURN(hc_stage_writes(stage, params->path, err));
    if (params->scree != NULL) {
        HC_OR_RETURN(hc_stage_writes(stage, params->scree, err));
        if (stage_with_scree(stage) == NULL) {
            return hc_fail(err, HC_E_USAGE, "preview: --scree %s: there is no pca or mnf before this step",
                           params->scree);
        }
    }
    HC_OR_RETURN(plan_map(stage, err));
    int64_t longest = state->lines > state->samples ? state->lines : state->samples;
    state->step = (int32_t)((longest + params->size - 1) / params->size);
    state->width = (int32_t)((state->samples + state->step - 1) / state->step);
    state->height = (int32_t)((state->lines + state->step - 1) / state->step);
    size_t shown = (size_t)state->width * (size_t)state->height;
    size_t drawn = shown * (size_t)(params->enlarge * params->enlarge);
    if (drawn > picture_limit) {
        return hc_fail(err, HC_E_USAGE,
                       "preview: --enlarge %lld: a picture of %lld x %lld pixels is too large",
                       (long long)params->enlarge, (long long)(state->width * params->enlarge),
                       (long long)(state->height * params->enlarge));
    }
    stage->needs = (HcNeeds){.consumes = true,
                             .passes_through = true,
                             .has_output = true,
                             /* Planes, their levels, the copy that finds percentiles, and the canvas. */
                             .host_bytes = shown * (5 * (size_t)state->band_count + 5) + 4 * drawn +
                                           (state->classes ? legend_bytes : 0) +
                                           (state->ortho != NULL ? map_bytes(stage, shown) : 0)};
    return HC_OK;
}

/* The pixels of the scene that are shown, shown[height][width]. */
static HcStatus read_map(const State *state, HcOrthoPixel *shown, HcError *err) {
    HcStatus status = HC_OK;
    HcOrthoPixel *line = NULL;
    HC_OR_RETURN(hc_new(line, state->samples, "a line of a map", err));
    for (int32_t y = 0; y < state->height; y++) {
        HC_TRY(hc_ortho_lines(state->ortho, (int64_t)y * state->step, 1, line, err));
        for (int32_t x = 0; x < state->width; x++) {
            shown[(size_t)y * (size_t)state->width + (size_t)x] = line[(size_t)x * (size_t)state->step];
        }
    }
done:
    free(line);
    return status;
}

/* Sorts them by line of the scene. */
static HcStatus open_map(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    int32_t pixels = state->width * state->height;
    int64_t lines = stage->in.lines;
    HcOrthoPixel *shown = NULL;
    HC_TRY(hc_new(shown, pixels, "a preview", err));
    HC_TRY(hc_new(state->filled, pixels, "a preview", err));
    HC_TRY(hc_new(state->begin, lines + 1, "a preview", err));
    HC_TRY(read_map(state, shown, err));
    for (int32_t p = 0; p < pixels; p++) {
        if (shown[p].line >= 0) {
            state->begin[shown[p].line + 1]++;
        }
    }
    for (int64_t l = 0; l < lines; l++) {
        state->begin[l + 1] += state->begin[l];
    }
    /* From the last on, so that each line's mark moves down to where it begins. */
    for (int32_t p = pixels - 1; p >= 0; p--) {
        if (shown[p].line >= 0) {
            state->filled[--state->begin[shown[p].line + 1]] = (Filled){p, shown[p].sample};
        }
    }
    memmove(state->begin, state->begin + 1, (size_t)lines * sizeof *state->begin);
    state->begin[lines] = 0;
    for (int32_t p = 0; p < pixels; p++) {
        state->begin[lines] += shown[p].line >= 0;
    }
done:
    free(shown);
    return status;
}

static HcStatus open_preview(HcStage *stage, HcError *err) {
    State *state = stage->state;
    size_t pixels = (size_t)state->width * (size_t)state->height;
    HC_OR_RETURN(hc_new(state->plane, pixels * (size_t)state->band_count, "a preview", err));
    HC_OR_RETURN(hc_new(state->valid, pixels, "a preview", err));
    return state->ortho != NULL ? open_map(stage, err) : HC_OK;
}

/* Shows a pixel of the block at `to`. */
static void show(State *state, const HcBlock *block, size_t from, size_t to) {
    size_t pixels = (size_t)state->width * (size_t)state->height;
    state->valid[to] = block->mask[from];
    for (int32_t c = 0; c < state->band_count; c++) {
        state->plane[(size_t)c * pixels + to] =
            block->data[from * (size_t)block->bands + (size_t)state->band[c]];
    }
}

static void consume_for_map(State *state, const HcBlock *block) {
    for (int32_t row = 0; row < block->lines; row++) {
        int64_t line = block->line0 + row;
        for (int32_t f = state->begin[line]; f < state->begin[line + 1]; f++) {
            const Filled *filled = &state->filled[f];
            size_t from = (size_t)row * (size_t)block->samples + (size_t)filled->sample;
            show(state, block, from, (size_t)filled->shown);
        }
    }
}

static HcStatus consume(HcStage *stage, const HcBlock *block, HcError *err) {
    (void)err;
    State *state = stage->state;
    if (state->ortho != NULL) {
        consume_for_map(state, block);
        return HC_OK;
    }
    for (int32_t row = 0; row < block->lines; row++) {
        int64_t line = block->line0 + row;
        for (int32_t x = 0; x < state->width && line % state->step == 0; x++) {
            size_t from = (size_t)row * (size_t)block->samples + (size_t)x * (size_t)state->step;
            show(state, block, from, (size_t)(line / state->step) * (size_t)state->width + (size_t)x);
        }
    }
    return HC_OK;
}

/* Every rank has filled the pixels of its lines. */
static HcStatus gather(HcStage *stage, HcError *err) {
    HcRanks *ranks = hc_stage_ranks(stage);
    State *state = stage->state;
    size_t pixels = (size_t)state->width * (size_t)state->height;
    HC_OR_RETURN(
        hc_ranks_join(ranks, state->plane, pixels * (size_t)state->band_count * sizeof *state->plane, err));
    return hc_ranks_join(ranks, state->valid, pixels, err);
}

/* Levels after gamma. */
static void fill_gamma(double gamma, uint8_t table[256]) {
    for (int level = 0; level < 256; level++) {
        table[level] = (uint8_t)lround(255 * pow(level / 255.0, 1 / gamma));
    }
}

static void colour_of(const Params *params, const State *state, const uint8_t *level, size_t pixels,
                      size_t at, const uint8_t gamma[256], uint8_t colour[4]) {
    if (state->band_count == 3) {
        for (size_t c = 0; c < 3; c++) {
            colour[c] = gamma[level[c * pixels + at]];
        }
    } else if (params->colours == 0) {
        hc_image_viridis(gamma[level[at]], colour);
    } else {
        memset(colour, gamma[level[at]], 3);
    }
    colour[3] = state->valid[at] ? 255 : 0;
}

static HcStatus draw_classes(const HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    const State *state = stage->state;
    HcImage image = {0};
    HcClassPlane plane = {.value = state->plane,
                          .valid = state->valid,
                          .width = state->width,
                          .height = state->height,
                          .enlarge = (int32_t)params->enlarge,
                          .classes = &stage->in.classes};
    HC_TRY(hc_image_classes(&image, &plane, state->legend, err));
    HC_TRY(hc_png_write(params->path, image.width, image.height, image.pixels, overwrites(stage), err));
done:
    hc_image_clear(&image);
    return status;
}

static HcStatus draw_picture(const HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    const State *state = stage->state;
    size_t pixels = (size_t)state->width * (size_t)state->height;
    HcImage image = {0};
    uint8_t gamma[256];
    uint8_t *level = NULL;
    HC_TRY(hc_new(level, pixels * (size_t)state->band_count, "a preview", err));
    HC_TRY(hc_image_init(&image, state->width * (int32_t)params->enlarge,
                         state->height * (int32_t)params->enlarge, err));
    for (int32_t c = 0; c < state->band_count; c++) {
        HC_TRY(hc_image_stretch(state->plane + (size_t)c * pixels, state->valid, pixels, state->percentile[0],
                                state->percentile[1], level + (size_t)c * pixels, err));
    }
    fill_gamma(params->gamma, gamma);
    for (int32_t y = 0; y < image.height; y++) {
        for (int32_t x = 0; x < image.width; x++) {
            size_t from =
                (size_t)(y / params->enlarge) * (size_t)state->width + (size_t)(x / params->enlarge);
            colour_of(params, state, level, pixels, from, gamma,
                      image.pixels + 4 * ((size_t)y * (size_t)image.width + (size_t)x));
        }
    }
    HC_TRY(hc_png_write(params->path, image.width, image.height, image.pixels, overwrites(stage), err));
done:
    free(level);
    hc_image_clear(&image);
    return status;
}

static HcStatus draw_scree(const HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    const HcStage *from = stage_with_scree(stage);
    HcImage image = {0};
    HcScree scree;
    if (!from->kind->scree(from, &scree)) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "preview: --scree %s: %s has no eigenvalues", params->scree,
                       from->kind->name));
    }
    HC_TRY(hc_image_scree(&image, scree.values, scree.count, scree.title, err));
    HC_TRY(hc_png_write(params->scree, image.width, image.height, image.pixels, overwrites(stage), err));
done:
    hc_image_clear(&image);
    return status;
}

static HcStatus finish(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    HC_OR_RETURN(((const State *)stage->state)->classes ? draw_classes(stage, err)
                                                        : draw_picture(stage, err));
    if (params->scree != NULL) {
        HC_OR_RETURN(draw_scree(stage, err));
    }
    return HC_OK;
}

static const char *output(const HcStage *stage) {
    return ((const Params *)stage->params)->path;
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_json_open_array(to, "shown_bands_from_1");
    for (int32_t c = 0; c < state->band_count; c++) {
        hc_json_put_number(to, NULL, state->band[c] + 1);
    }
    hc_json_close(to);
    hc_json_put_number(to, "every_pixel", state->step);
    hc_ortho_map_report(state->ortho, to);
}

static void close_preview(HcStage *stage) {
    State *state = stage->state;
    free(state->plane);
    free(state->valid);
    free(state->begin);
    free(state->filled);
    hc_ortho_close(state->ortho);
    *state = (State){0};
}

const HcStageClass hc_stage_preview = {
    .name = "preview",
    .summary = "a PNG picture: true colour, chosen bands, one band in colours or classes; a scree plot of "
               "eigenvalues",
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
    .output = output,
    .report = report,
    .close = close_preview,
};
