/* figure: a page with maps, colour bars or legends, scale bar and caption, as PNG, SVG or PDF. */
#include "core/allocate.h"
#include "io/file.h"
#include "pipeline/chain.h"
#include "pipeline/picture/image.h"
#include "pipeline/picture/ortho_map.h"
#include "pipeline/picture/scale.h"
#include "pipeline/picture/unit.h"
#include "pipeline/stages/figure/parts.h"
#include "pipeline/stages/stages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef HcFigureParams Params;
typedef HcFigureState State;

static const HcOption options[] = {
    {HC_TEXT(Params, path, "output"), .file = HC_FILE_WRITTEN, .value = "FIGURE", .positional = true,
     .required = true, .help = "file to write: its ending is .png, .svg or .pdf"},
    {HC_TEXT(Params, bands), .value = "R,G,B|N",
     .otherwise = "the classes of a class map, else as preview chooses",
     .help = "show these three bands, or one in colours; numbers from 1, as the bands come in"},
    {HC_TEXT(Params, wavelengths), .unit = "nm", .value = "R,G,B|N",
     .help = "show the bands nearest to these wavelengths, at most 50 nm away"},
    {HC_TEXT(Params, each), .value = "all|LIST", .one_of = "each bands wavelengths",
     .help = "draw one map for each of these bands: all, or numbers and ranges (1-8,12), at most 64"},
    {HC_FLAG(Params, one_scale, "one-scale"), .needs = "each", .excludes = "limits",
     .help = "give all maps of --each the same values at the ends of the colours: those of the widest"},
    {HC_TEXT(Params, percentiles), .unit = "%", .value = "LOW,HIGH",
     .otherwise = "2,98; abundances from 0 to 1, scores from 0 to 98 %",
     .help = "percentiles of the shown pixels at the ends of the colours, 0 to 100"},
    {HC_TEXT(Params, limits), .value = "LOW,HIGH", .otherwise = "by --percentiles",
     .help = "values at the ends of the colours, for all bands and scenes; or six values for red, green and "
             "blue"},
    {HC_REAL(Params, gamma), .range = {0.1, 10}, .initial = NAN, .value = "VALUE",
     .otherwise = "1.4 for true colour by default, else 1",
     .help = "raise levels to 1/VALUE after the stretch: above 1 brightens"},
    {HC_CHOICE(Params, colours), .choices = hc_ramp_words,
     .otherwise = "vik if values have both signs, else batlow", .help = "colours of a single band"},
    {HC_TEXT(Params, title), .value = "TEXT", .otherwise = "the name of the scene",
     .help = "title of the page, in any script"},
    {HC_REAL(Params, width), .range = {40, 1000}, .initial = 180, .unit = "mm", .value = "MM",
     .help = "width of the page"},
    {HC_REAL(Params, dpi), .range = {36, 1200}, .initial = 300, .unit = "pixels per inch", .value = "NUMBER",
     .help = "resolution of a PNG"},
    {HC_INT(Params, size), .range = {16, 16384}, .initial = 1024, .unit = "pixels", .value = "PIXELS",
     .help = "longest side of the scene in the figure, shared by the maps of --each; larger scenes are "
             "subsampled"},
    HC_ORTHO_OPTION(Params),
    {HC_FLAG(Params, overwrite), .help = "replace existing files"},
    {0}};

/* ---- planning ---- */

static HcStatus add_band(State *state, double number, const HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    if (!(number >= 1 && number <= stage->in.bands) || number != floor(number)) {
        return hc_fail(err, HC_E_USAGE, "figure: --each %s: the scene has bands 1 to %d", params->each,
                       stage->in.bands);
    }
    if (state->shown.band_count == HC_SHOWN_BANDS_MAX) {
        return hc_fail(err, HC_E_USAGE, "figure: --each %s: more than %d maps, choose some of the %d bands",
                       params->each, HC_SHOWN_BANDS_MAX, stage->in.bands);
    }
    state->shown.band[state->shown.band_count++] = (int32_t)number - 1;
    return HC_OK;
}

/* "1-8,12" or "all". */
static HcStatus bands_of_each(const HcStage *stage, State *state, HcError *err) {
    const char *text = ((const Params *)stage->params)->each;
    state->shown.band_count = 0;
    if (strcmp(text, "all") == 0) {
        for (int32_t band = 1; band <= stage->in.bands; band++) {
            HC_OR_RETURN(add_band(state, band, stage, err));
        }
        return HC_OK;
    }
    for (const char *at = text; at != NULL;) {
        const char *comma = strchr(at, ',');
        char item[40], *dash;
        int64_t first = 0, last = 0;
        size_t length = comma != NULL ? (size_t)(comma - at) : strlen(at);
        memcpy(item, at, length < sizeof item ? length : 0);
        item[length < sizeof item ? length : 0] = 0;
        dash = strchr(item, '-');
        if (dash != NULL) {
            *dash = 0;
        }
        bool good =
            hc_text_parse_int(item, &first) && hc_text_parse_int(dash != NULL ? dash + 1 : item, &last);
        if (!good || last < first) {
            return hc_fail(err, HC_E_USAGE,
                           "figure: --each %s: must be all, or numbers and rising ranges of bands", text);
        }
        for (int64_t band = first; band <= last; band++) {
            HC_OR_RETURN(add_band(state, (double)band, stage, err));
        }
        at = comma != NULL ? comma + 1 : NULL;
    }
    return HC_OK;
}

static HcStatus plan_bands(HcStage *stage, State *state, HcError *err) {
    const Params *params = stage->params;
    state->each = params->each != NULL;
    HC_OR_RETURN(state->each
                     ? bands_of_each(stage, state, err)
                     : hc_shown_choose(stage, params->bands, params->wavelengths, &state->shown, err));
    state->classes =
        hc_scene_is_class_map(&stage->in) && state->shown.band_count == 1 && state->shown.band[0] == 0;
    return HC_OK;
}

static HcStatus plan_stretch(const Params *params, State *state, HcError *err) {
    HC_OR_RETURN(hc_scale_percentiles("figure", params->percentiles, state->percentile, err));
    state->fixed = params->limits != NULL;
    bool colours = !state->each && state->shown.band_count == 3;
    return state->fixed
               ? hc_scale_limits("figure", params->limits, colours, HC_SHOWN_BANDS_MAX, state->limit, err)
               : HC_OK;
}

/* What somebody asks for by number stays as it is. */
static double gamma_of(const HcStage *stage) {
    const Params *params = stage->params;
    const State *state = stage->state;
    bool chosen = params->bands == NULL && params->wavelengths == NULL && !state->each;
    return !isnan(params->gamma) ? params->gamma
           : chosen              ? hc_image_usual_gamma(&stage->in, state->shown.band_count)
                                 : 1;
}

/* Where the picture lies: the scene, or the map that it is put on. */
static HcStatus plan_ground(const HcStage *stage, State *state, HcError *err) {
    const HcShown *shown = &state->shown;
    HcScene map = {0};
    if (shown->ortho != NULL) {
        HC_OR_RETURN(hc_ortho_scene(shown->ortho, &stage->in, &map, err));
    }
    state->ground =
        hc_ground_of(shown->ortho != NULL ? &map.place : &stage->in.place, shown->lines, shown->samples);
    hc_scene_clear(&map);
    return HC_OK;
}

static int32_t maps_of(const State *state) {
    return state->each ? state->shown.band_count : 1;
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (!hc_figure_format_of(params->path, &state->format)) {
        return hc_fail(err, HC_E_USAGE, "figure: %s: the name of a figure must end in .png, .svg or .pdf",
                       params->path);
    }
    double side = params->width / 25.4 * params->dpi;
    if (state->format == HC_FIGURE_PNG && side * HC_FIGURE_TALL > HC_FIGURE_SIDE_MAX) {
        return hc_fail(err, HC_E_USAGE,
                       "figure: --dpi %g: a page of --width %g mm would have %.0f pixels a line", params->dpi,
                       params->width, side);
    }
    HC_OR_RETURN(plan_bands(stage, state, err));
    HC_OR_RETURN(plan_stretch(params, state, err));
    state->gamma = gamma_of(stage);
    int64_t size = (int64_t)((double)params->size / ceil(sqrt(maps_of(state))));
    HC_OR_RETURN(hc_shown_plan(stage, params->ortho, size > 16 ? size : 16, &state->shown, err));
    HC_OR_RETURN(plan_ground(stage, state, err));
    size_t pixels = hc_shown_pixels(&state->shown) * (size_t)maps_of(state);
    state->shown.picked = true;
    stage->output = params->path;
    stage->needs = (HcNeeds){
        .consumes = true,
        .pick = {.bands = state->shown.band,
                 .band_count = state->shown.band_count,
                 .shown_every = state->shown.ortho == NULL && !state->classes ? state->shown.step : 1},
        .passes_through = true};
    hc_stage_takes(stage, HC_SPACE_HOST,
                   hc_shown_bytes(stage, &state->shown) + hc_figure_paint_bytes(state) +
                       hc_figure_bytes(state->format, params->width / 25.4 * 72, params->dpi, pixels) +
                       (size_t)stage->in.classes.count * (sizeof(int64_t) + 4) +
                       hc_figure_legend_bytes(&stage->in.classes));
    return HC_OK;
}

static int64_t suffices(const HcStage *stage) {
    const Params *params = stage->params;
    return params->ortho == NULL ? params->size : 0;
}

/* ---- the pass ---- */

static HcStatus open_figure(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HC_OR_RETURN(hc_new(state->of_class, stage->in.classes.count, "a figure", err));
    return hc_shown_open(stage, &state->shown, err);
}

static void count_pixel(State *state, int32_t classes, bool valid, float value) {
    state->counted[valid ? 0 : 1]++;
    if (valid && state->classes && value > -0.5f && value < (float)classes - 0.5f) {
        state->of_class[lroundf(value)]++;
    }
}

static HcStatus consume(HcStage *stage, const HcBlock *block, HcError *err) {
    (void)err;
    State *state = stage->state;
    size_t pixels = (size_t)block->lines * (size_t)block->samples;
    for (size_t p = 0; p < pixels && state->shown.ortho == NULL; p++) {
        count_pixel(state, stage->in.classes.count, block->mask[p] != 0,
                    block->data[p * (size_t)block->bands]);
    }
    hc_shown_consume(&state->shown, block, 1);
    return HC_OK;
}

static HcStatus gather(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcRanks *ranks = hc_stage_ranks(stage);
    HC_OR_RETURN(hc_shown_gather(stage, &state->shown, err));
    HC_OR_RETURN(hc_ranks_sum(ranks, state->counted, 2, err));
    return hc_ranks_sum(ranks, state->of_class, (size_t)stage->in.classes.count, err);
}

/* ---- the page ---- */

/* For a map, count the shown pixels. */
static void count_map(const HcStage *stage) {
    State *state = stage->state;
    for (size_t p = 0; p < hc_shown_pixels(&state->shown) && state->shown.ortho != NULL; p++) {
        count_pixel(state, stage->in.classes.count, state->shown.valid[p] != 0, state->shown.plane[p]);
    }
}

/* As few columns as make a page that is no more than half again as high as it is wide. */
static int32_t columns_of(const State *state, double width) {
    double shape = (double)state->shown.height / state->shown.width *
                   (state->ground.known ? state->ground.along / state->ground.across : 1);
    int32_t count = maps_of(state), columns = 1;
    for (; columns < 10 && columns < count; columns++) {
        double panel = (width - 24) / columns - 14;
        double rows = ceil((double)count / columns);
        if (rows * (panel * fmin(shape, HC_FIGURE_MAP_TALL) + (state->ground.known ? 90 : 62)) <
            1.5 * width) {
            break;
        }
    }
    return columns;
}

/* What the page is made of. */
typedef struct Page {
    HcFigure figure;
    HcFigurePanel panel[HC_SHOWN_BANDS_MAX];
    HcFigureBar bar[HC_SHOWN_BANDS_MAX];
    HcText name[HC_SHOWN_BANDS_MAX];
    HcText title, caption, description;
    HcFigureClasses classes;
    uint8_t *pixels;
} Page;

/* What the map says where it has no colour. */
static const char *note_of(const State *state, int32_t m) {
    bool values = false;
    for (int32_t c = 0; c < state->shown.band_count && !values; c++) {
        values = (!state->each || c == m) && hc_shown_has_values(&state->shown, c);
    }
    return values                   ? NULL
           : state->counted[0] == 0 ? "No pixel has a value"
                                    : "No pixel that is shown has a value";
}

static bool add_panel(const HcStage *stage, Page *page, int32_t m) {
    const Params *params = stage->params;
    State *state = stage->state;
    const HcShown *shown = &state->shown;
    const HcGround *ground = &state->ground;
    HcFigurePanel *panel = &page->panel[m];
    panel->map = (HcFigureMap){.width = shown->width,
                               .height = shown->height,
                               .pixels = page->pixels + 4 * hc_shown_pixels(shown) * (size_t)m,
                               .metres = ground->known ? ground->across * shown->step : 0,
                               .stretch = ground->known ? ground->along / ground->across : 1,
                               .north = ground->known ? ground->north : NAN};
    panel->map.note = note_of(state, m);
    if (state->classes) {
        panel->legend = &page->classes.legend;
    } else if (state->each || shown->band_count == 1) {
        hc_figure_add_band(stage, shown->band[m], &page->name[m]);
        const char *unit = hc_unit_of(stage, shown->band[m]);
        if (unit != NULL) {
            hc_text_add(&page->name[m], " [%s]", unit);
        }
        page->bar[m] = (HcFigureBar){.ramp = hc_figure_ramp(params, state, m),
                                     .low = state->limit[m][0],
                                     .high = state->limit[m][1],
                                     .gamma = state->gamma,
                                     .label = state->each ? NULL : page->name[m].data};
        /* Without values there is nothing that colours could mean. */
        panel->bar = panel->map.note == NULL ? &page->bar[m] : NULL;
        panel->title = state->each || panel->bar == NULL ? page->name[m].data : NULL;
    }
    return !page->name[m].failed;
}

static HcStatus make_page(const HcStage *stage, Page *page, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    if (state->classes) {
        HC_OR_RETURN(hc_figure_legend_of(stage, &page->classes, err));
    }
    HC_OR_RETURN(hc_figure_paint(stage, &page->pixels, err));
    bool good = true;
    for (int32_t m = 0; m < maps_of(state); m++) {
        good = add_panel(stage, page, m) && good;
    }
    hc_figure_add_title(stage, &page->title);
    hc_figure_add_caption(stage, &page->caption);
    if (!good || page->title.failed || page->caption.failed) {
        return hc_fail_memory(err, 1024, "the texts of a figure");
    }
    double width = params->width / 25.4 * 72;
    page->figure = (HcFigure){.title = page->title.data,
                              .caption = page->caption.data,
                              .description = page->caption.data,
                              .width = width,
                              .dpi = params->dpi,
                              .panel = page->panel,
                              .count = maps_of(state),
                              .columns = columns_of(state, width)};
    return HC_OK;
}

static HcStatus finish(HcStage *stage, HcError *err) {
    HcStatus status = HC_OK;
    const Params *params = stage->params;
    State *state = stage->state;
    HcFigureFile file = {0};
    Page *page = NULL;
    HC_TRY(hc_new(page, 1, "a figure", err));
    count_map(stage);
    HC_TRY(make_page(stage, page, err));
    HC_TRY(hc_figure_draw(&page->figure, state->format, &file, err));
    HC_TRY(hc_file_write_unflushed(params->path, file.data, file.bytes, hc_stage_overwrite(stage), err));
    state->page[0] = file.width;
    state->page[1] = file.height;
    for (int32_t m = 0; m < page->figure.count; m++) {
        state->box[m] = page->panel[m].box;
    }
done:
    if (page != NULL) {
        for (int32_t m = 0; m < HC_SHOWN_BANDS_MAX; m++) {
            hc_text_clear(&page->name[m]);
        }
        hc_text_clear(&page->title);
        hc_text_clear(&page->caption);
        free(page->classes.entry);
        free(page->pixels);
    }
    free(page);
    free(file.data);
    return status;
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_shown_report(&state->shown, to);
    hc_json_put_number(to, "pixels_with_value", (double)state->counted[0]);
    hc_json_put_number(to, "pixels_without_value", (double)state->counted[1]);
    hc_json_open_array(to, "page_mm");
    hc_json_put_number(to, NULL, state->page[0] / 72 * 25.4);
    hc_json_put_number(to, NULL, state->page[1] / 72 * 25.4);
    hc_json_close(to);
    hc_json_open_array(to, "maps_mm"); /* x, y, width, height */
    for (int32_t m = 0; m < maps_of(state); m++) {
        const HcFigureBox *box = &state->box[m];
        const double values[4] = {box->x, box->y, box->width, box->height};
        hc_json_open_array(to, NULL);
        for (int v = 0; v < 4; v++) {
            hc_json_put_number(to, NULL, values[v] / 72 * 25.4);
        }
        hc_json_close(to);
    }
    hc_json_close(to);
    hc_json_put_number(to, "gamma", state->gamma);
    hc_json_open_array(to, "limits");
    for (int32_t c = 0; c < state->shown.band_count && !state->classes; c++) {
        hc_json_open_array(to, NULL);
        hc_json_put_number(to, NULL, state->limit[c][0]);
        hc_json_put_number(to, NULL, state->limit[c][1]);
        hc_json_close(to);
    }
    hc_json_close(to);
}

static void close_figure(HcStage *stage) {
    State *state = stage->state;
    hc_shown_close(&state->shown);
    free(state->of_class);
    *state = (State){0};
}

const HcStageClass hc_stage_figure = {
    .name = "figure",
    .summary = "a page to print or publish: maps with colour bar or legend, scale bar and caption, as PNG, "
               "SVG or PDF",
    .example = "hcube figure scene.hdr scene.pdf",
    .role = HC_ROLE_SINK,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_figure,
    .consume = consume,
    .gather = gather,
    .finish = finish,
    .report = report,
    .rare = {.suffices = suffices},
    .close = close_figure,
};
