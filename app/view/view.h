/* View: a scene, results on top of it and a library, as a page on this machine (docs/view.md). Layers give
 * pixels, pictures and JSON; the server hands them out. All functions of layers may be called by several
 * threads at once. */
#ifndef HC_APP_VIEW_VIEW_H
#define HC_APP_VIEW_VIEW_H

#include "core/system/flag.h"
#include "core/system/team.h"
#include "io/view/view.h"
#include "pipeline/json/json.h"
#include "pipeline/spectra/library/fit.h"

#include <pthread.h>

enum { HC_TILE = 256, HC_LAYERS_MAX = HC_LIST_MAX + 1 };
enum { HC_LAYER_BYTES = 64 << 20 }; /* memory that decoded chunks of a layer may take */
enum { HC_LAYER_THREADS = 4 };      /* that read lines of a plain file at once, on any number of processors */

typedef enum HcLayerKind { HC_LAYER_CUBE, HC_LAYER_CLASSES, HC_LAYER_SCORES } HcLayerKind;

/* A raster that is shown. Zero-initialise; hc_layer_close() is always safe. */
typedef struct HcLayer {
    const char *path; /* borrowed, as it was typed */
    HcLayerKind kind;
    bool same_grid;       /* lines and samples are those of the first layer */
    HcView *view;         /* all bands; where files are read through a library, one thread at a time */
    const HcScene *scene; /* of the view */
    /* Of files that cannot be read in parts: a second view that reads some bands alone. */
    HcView *some;
    int32_t some_band[3], some_count;
    pthread_mutex_t lock;   /* of reading through both */
    HcTeam *team;           /* borrowed: reads plain files, HC_LAYER_THREADS at most */
    int32_t band[3], count; /* shown at first: red, green, blue; or one */
    float limit[3][2];      /* of the stretch of these */
} HcLayer;

/* result: it is shown on top of a scene. team: of HC_LAYER_THREADS, or NULL. */
HcStatus hc_layer_open(HcLayer *layer, const char *path, bool result, HcTeam *team,
                       HcError *err) HC_MUST_CHECK;
void hc_layer_close(HcLayer *layer);
/* HC_E_INPUT where a file of the layer is not what it was when it was opened. */
HcStatus hc_layer_unchanged(const HcLayer *layer, HcError *err) HC_MUST_CHECK;

/* Every step-th pixel of a rectangle, in some bands (from 0). */
typedef struct HcPick {
    int64_t line0, sample0;
    int32_t lines, samples; /* of the pick */
    int64_t step;
    const int32_t *band; /* [bands] */
    int32_t bands;
} HcPick;

/* Stored values: value[bands][lines][samples]; NaN where a band has none. valid[lines][samples]: 0 where a
 * mask leaves the pixel out, or a picked band has no value. Reads the bytes that it needs and little more. */
HcStatus hc_layer_read(HcLayer *layer, const HcPick *pick, float *value, uint8_t *valid,
                       HcError *err) HC_MUST_CHECK;

/* How a layer is shown. */
typedef struct HcShowing {
    int32_t band[3], count; /* from 0 */
    float limit[3][2];
    double gamma, threshold; /* threshold: values of the first band below it are transparent; NaN = none */
} HcShowing;

/* Whether the colours are those of classes, and no stretch. */
bool hc_layer_shows_classes(const HcLayer *layer, const HcShowing *showing);

/* The ends of the stretch of some bands, as preview finds them: limit[count]. */
HcStatus hc_layer_range(HcLayer *layer, const int32_t *band, int32_t count, float (*limit)[2],
                        HcError *err) HC_MUST_CHECK;

/* The shown bands [count] of at most `side` pixels on the longest side: fresh memory. */
typedef struct HcOverview {
    int32_t width, height;
    float *value;   /* [count][height][width] */
    uint8_t *valid; /* [height][width] */
} HcOverview;

HcStatus hc_overview_read(HcLayer *layer, const int32_t *band, int32_t count, int32_t side,
                          HcOverview *overview, HcError *err) HC_MUST_CHECK;
void hc_overview_clear(HcOverview *overview);

/* Levels of tiles: the last one has a single tile. */
int32_t hc_layer_levels(const HcLayer *layer);
/* A tile as PNG, fresh memory. HC_E_USAGE: there is no such tile. */
HcStatus hc_layer_tile(HcLayer *layer, const HcShowing *showing, int64_t level, int64_t row, int64_t column,
                       uint8_t **data, size_t *bytes, HcError *err) HC_MUST_CHECK;

/* The scene, its results and the library. Zero-initialise; hc_viewer_close() is always safe. */
typedef struct HcViewer {
    HcLayer layer[HC_LAYERS_MAX];
    int32_t layers;
    const char *command, *library_path; /* borrowed; library_path: or NULL */
    HcLibraryFit library;               /* on the bands of the first layer */
    HcTeam *team;                       /* of all layers */
} HcViewer;

HcStatus hc_viewer_open(HcViewer *viewer, const char *scene, const char *const *results, const char *library,
                        HcError *err) HC_MUST_CHECK;
void hc_viewer_close(HcViewer *viewer);

/* ---- what the page asks for: each adds members to `to` ---- */

HcStatus hc_viewer_describe(const HcViewer *viewer, HcJson *to, HcError *err) HC_MUST_CHECK;
/* A rectangle of pixels of a layer. */
typedef struct HcArea {
    int64_t line0, sample0, lines, samples;
} HcArea;
/* The values of one pixel in all bands of its layer: value[bands], NaN where there is none. *valid: no mask
 * leaves it out, and no band lacks its value. HC_E_USAGE: it lies outside. */
HcStatus hc_viewer_pixel(HcLayer *layer, HcArea pixel, float *value, bool *valid, HcError *err) HC_MUST_CHECK;
/* Its values; of more than one pixel means, deviations and count. HC_E_USAGE: it lies outside. */
HcStatus hc_viewer_spectrum(HcViewer *viewer, int32_t layer, HcArea area, HcJson *to,
                            HcError *err) HC_MUST_CHECK;
HcStatus hc_viewer_match(HcViewer *viewer, int32_t layer, HcArea pixel, int32_t top, HcJson *to,
                         HcError *err) HC_MUST_CHECK;
HcStatus hc_viewer_histogram(HcViewer *viewer, int32_t layer, int32_t band, HcJson *to,
                             HcError *err) HC_MUST_CHECK;
/* A layer among those of a picture. The pictures of a stack are made from the lowest layer up. */
typedef struct HcStacked {
    int32_t above;  /* layers that lie on it */
    bool below;     /* it lies on another one */
    bool second;    /* it is that of the second view */
    double opacity; /* 0 to 1 */
    int64_t step;   /* every step-th pixel; 0 = as preview chooses */
    HcArea area;    /* that is in sight; 0 lines = all */
} HcStacked;

HcStatus hc_viewer_preview(const HcViewer *viewer, int32_t layer, const HcShowing *showing,
                           const HcStacked *stacked, HcJson *to, HcError *err) HC_MUST_CHECK;
/* A library of pixels as a file: format "sli", "hdr" (the header of sli) or "csv"; points
 * "LAYER:LINE:SAMPLE,...". Fresh memory. */
HcStatus hc_viewer_export(HcViewer *viewer, const char *format, const char *points, char **data,
                          size_t *bytes, HcError *err) HC_MUST_CHECK;

/* ---- the server ---- */

/* Serves until the flag is set. port: 0 = any. `ready` is called once with the address. HC_E_UNSUPPORTED: the
 * program was built without libmicrohttpd. */
HcStatus hc_view_serve(HcViewer *viewer, int32_t port, const HcFlag *stop, void (*ready)(const char *address),
                       HcError *err) HC_MUST_CHECK;

/* Of libmicrohttpd; "none". */
const char *hc_view_server_version(void);

/* app/view/page.html, and the Content-Security-Policy with the hashes of its script and style
 * (cmake/page.cmake) */
extern const unsigned char hc_view_page[];
extern const size_t hc_view_page_bytes;
extern const char hc_view_policy[];

#endif
