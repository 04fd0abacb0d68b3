/* The layers of a view: rasters that stay open, how each is shown at first, and the tiles of its picture.
 * What preview decides is decided here by the same functions: bands, ends of the stretch, colours. */
#include "app/view/view.h"
#include "core/allocate.h"
#include "io/write/picture/png.h"
#include "pipeline/picture/image.h"
#include "pipeline/picture/scale.h"

#include <math.h>
#include <string.h>

enum { RANGE_SIDE = 256 }; /* pixels of the longest side from which the stretch is taken */

/* ---- opening ---- */

/* Files do not say that their bands are scores or abundances: results without wavelengths are. */
static HcLayerKind kind_of(const HcScene *scene, bool result) {
    bool scores = scene->bands == 1 || (result && scene->wavelength == NULL);
    return hc_scene_is_class_map(scene) ? HC_LAYER_CLASSES : scores ? HC_LAYER_SCORES : HC_LAYER_CUBE;
}

HcStatus hc_layer_range(HcLayer *layer, const int32_t *band, int32_t count, float (*limit)[2], HcError *err) {
    HcOverview overview = {0};
    HC_OR_RETURN(hc_overview_read(layer, band, count, RANGE_SIDE, &overview, err));
    const HcScaled scaled = {.scene = layer->scene,
                             .band = band,
                             .count = count,
                             .plane = overview.value,
                             .valid = overview.valid,
                             .pixels = (size_t)overview.width * (size_t)overview.height,
                             .percentile = {NAN, NAN},
                             .signs = hc_scale_signs(count == 1, -1)};
    HcStatus status = hc_scale_find(&scaled, limit, err);
    hc_overview_clear(&overview);
    return status;
}

HcStatus hc_layer_open(HcLayer *layer, const char *path, bool result, HcTeam *team, HcError *err) {
    const HcViewOptions how = {0};
    layer->path = path;
    layer->team = team;
    pthread_mutex_init(&layer->lock, NULL);
    HC_OR_RETURN(hc_view_open(&layer->view, path, &how, err));
    (void)hc_view_settle(layer->view, 0, HC_LAYER_BYTES, false);
    layer->scene = hc_view_scene(layer->view);
    layer->kind = kind_of(layer->scene, result);
    layer->count = layer->kind == HC_LAYER_SCORES ? 1 : hc_scene_usual_bands(layer->scene, layer->band);
    return hc_layer_range(layer, layer->band, layer->count, layer->limit, err);
}

void hc_layer_close(HcLayer *layer) {
    if (layer->path != NULL) {
        hc_view_close(layer->view);
        hc_view_close(layer->some);
        pthread_mutex_destroy(&layer->lock);
    }
    *layer = (HcLayer){0};
}

HcStatus hc_layer_unchanged(const HcLayer *layer, HcError *err) {
    return hc_view_unchanged(layer->view, err);
}

/* ---- pictures ---- */

bool hc_layer_shows_classes(const HcLayer *layer, const HcShowing *showing) {
    return layer->kind == HC_LAYER_CLASSES && showing->count == 1 && showing->band[0] == 0;
}

HcStatus hc_overview_read(HcLayer *layer, const int32_t *band, int32_t count, int32_t side,
                          HcOverview *overview, HcError *err) {
    const HcScene *scene = layer->scene;
    int64_t step = 1; /* of a level of the tiles, which then find the lines in the system's cache */
    for (; hc_max64(scene->lines, scene->samples) > side * step;) {
        step *= 2;
    }
    const HcPick pick = {.lines = (int32_t)((scene->lines + step - 1) / step),
                         .samples = (int32_t)((scene->samples + step - 1) / step),
                         .step = step,
                         .band = band,
                         .bands = count};
    const size_t pixels = (size_t)pick.lines * (size_t)pick.samples;
    *overview = (HcOverview){.width = pick.samples, .height = pick.lines};
    HC_OR_RETURN(hc_new(overview->value, pixels * (size_t)count, "a picture of the scene", err));
    HcStatus status = hc_new(overview->valid, pixels, "a picture of the scene", err);
    status = status != HC_OK ? status : hc_layer_read(layer, &pick, overview->value, overview->valid, err);
    if (status != HC_OK) {
        hc_overview_clear(overview);
    }
    return status;
}

void hc_overview_clear(HcOverview *overview) {
    free(overview->value);
    free(overview->valid);
    *overview = (HcOverview){0};
}

int32_t hc_layer_levels(const HcLayer *layer) {
    int64_t side = hc_max64(layer->scene->lines, layer->scene->samples);
    int32_t levels = 1;
    for (; side > HC_TILE; side = (side + 1) / 2) {
        levels++;
    }
    return levels;
}

/* A tile that is drawn. */
typedef struct Tile {
    HcPick pick;
    float *value;    /* [count][pixels] */
    uint8_t *valid;  /* [pixels] */
    uint8_t *level;  /* [count][pixels] */
    uint8_t *pixels; /* [HC_TILE][HC_TILE][4] */
} Tile;

static HcStatus place_tile(const HcLayer *layer, int64_t level, int64_t row, int64_t column, Tile *tile,
                           HcError *err) {
    const HcScene *scene = layer->scene;
    if (level < 0 || level >= hc_layer_levels(layer)) {
        return hc_fail(err, HC_E_USAGE, "level %lld: the layer has levels 0 to %d", (long long)level,
                       hc_layer_levels(layer) - 1);
    }
    const int64_t step = (int64_t)1 << level, side = HC_TILE * step;
    if (row < 0 || column < 0 || row >= (scene->lines + side - 1) / side ||
        column >= (scene->samples + side - 1) / side) {
        return hc_fail(err, HC_E_USAGE, "tile %lld,%lld of level %lld: outside of the layer", (long long)row,
                       (long long)column, (long long)level);
    }
    tile->pick =
        (HcPick){.line0 = row * side,
                 .sample0 = column * side,
                 .lines = (int32_t)hc_min64(HC_TILE, (scene->lines - row * side + step - 1) / step),
                 .samples = (int32_t)hc_min64(HC_TILE, (scene->samples - column * side + step - 1) / step),
                 .step = step};
    return HC_OK;
}

/* The picture of the pick, [lines][samples], into the tile. */
static void put_pixels(const Tile *tile, const uint8_t *picture) {
    const size_t row = 4 * (size_t)tile->pick.samples;
    for (int32_t y = 0; y < tile->pick.lines; y++) {
        memcpy(tile->pixels + 4 * (size_t)y * HC_TILE, picture + (size_t)y * row, row);
    }
}

static HcStatus draw_classes(const HcLayer *layer, const Tile *tile, HcError *err) {
    HcImage image = {0};
    const HcClassPlane plane = {.value = tile->value,
                                .valid = tile->valid,
                                .width = tile->pick.samples,
                                .height = tile->pick.lines,
                                .enlarge = 1,
                                .classes = &layer->scene->classes};
    HC_OR_RETURN(hc_image_classes(&image, &plane, HC_LEGEND_NONE, err));
    put_pixels(tile, image.pixels);
    hc_image_clear(&image);
    return HC_OK;
}

static HcStatus draw_values(const HcShowing *showing, const Tile *tile, HcError *err) {
    HcStatus status = HC_OK;
    const size_t pixels = (size_t)tile->pick.lines * (size_t)tile->pick.samples;
    uint8_t *picture = NULL;
    HC_TRY(hc_new(picture, 4 * pixels, "a tile", err));
    HcColouring colouring = {.level = tile->level,
                             .valid = tile->valid,
                             .pixels = pixels,
                             .count = showing->count,
                             .ramp = hc_image_ramp(showing->limit[0])};
    hc_image_gamma(showing->gamma, colouring.gamma);
    hc_image_threshold(tile->value, pixels, showing->threshold, tile->valid);
    for (int32_t c = 0; c < showing->count; c++) {
        hc_image_levels(tile->value + (size_t)c * pixels, tile->valid, pixels, showing->limit[c],
                        tile->level + (size_t)c * pixels);
    }
    for (size_t p = 0; p < pixels; p++) {
        hc_image_colour(&colouring, p, picture + 4 * p);
    }
    put_pixels(tile, picture);
done:
    free(picture);
    return status;
}

HcStatus hc_layer_tile(HcLayer *layer, const HcShowing *showing, int64_t level, int64_t row, int64_t column,
                       uint8_t **data, size_t *bytes, HcError *err) {
    HcStatus status = HC_OK;
    const size_t most = (size_t)HC_TILE * HC_TILE;
    const bool classes = hc_layer_shows_classes(layer, showing);
    Tile tile = {0};
    HC_TRY(place_tile(layer, level, row, column, &tile, err));
    tile.pick.band = showing->band;
    tile.pick.bands = showing->count;
    HC_TRY(hc_new(tile.value, most * (size_t)showing->count, "a tile", err));
    HC_TRY(hc_new(tile.valid, most, "a tile", err));
    HC_TRY(hc_new(tile.level, most * (size_t)showing->count, "a tile", err));
    HC_TRY(hc_new(tile.pixels, most * 4, "a tile", err));
    HC_TRY(hc_layer_read(layer, &tile.pick, tile.value, tile.valid, err));
    HC_TRY(classes ? draw_classes(layer, &tile, err) : draw_values(showing, &tile, err));
    HC_TRY(hc_png_encode(HC_TILE, HC_TILE, tile.pixels, data, bytes, err));
done:
    free(tile.value);
    free(tile.valid);
    free(tile.level);
    free(tile.pixels);
    return status;
}
