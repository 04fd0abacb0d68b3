/* What the files of a view share; nobody else includes this. */
#ifndef HC_IO_VIEW_PARTS_H
#define HC_IO_VIEW_PARTS_H

#include "io/ortho/ortho.h"
#include "io/shape/on_map.h"
#include "io/shape/shapes.h"
#include "io/view/values.h"
#include "io/view/view.h"
#include "io/watch.h"

/* ---- name.c ---- */

/* How long the name of the file is in FILE[:LAYER] or FILE[:BAND...]. */
size_t hc_view_file_length(const char *text);
/* Whether there is a file or folder of that name. */
bool hc_view_is_there(const char *text);

/* ---- window.c: windows in the pixels of the file ---- */

/* All pixels of the scene. */
HcPixels hc_view_whole(const HcScene *scene);

/* HC_E_USAGE where the window leaves the scene. */
HcStatus hc_view_check_window(const HcViewWindow *window, const HcScene *scene, const char *path,
                              HcPixels *out, HcError *err) HC_MUST_CHECK;

/* The pixels that the box touches; *clipped: it reaches beyond the scene. */
HcStatus hc_view_box_window(const HcViewBox *box, const HcScene *scene, const char *path, HcPixels *out,
                            bool *clipped, HcError *err) HC_MUST_CHECK;

/* The pixels within `bounds` that an extent [pixels] touches by more than a thousandth of a pixel. */
HcPixels hc_view_touched(OGREnvelope extent, HcPixels bounds);

/* Makes the scene of a file that of a window. */
void hc_view_cut(HcScene *scene, HcPixels window);

/* ---- polygons.c ---- */

/* The polygons of a layer, in the pixels of the file; in sensor geometry, which of its pixels they hold. */
typedef struct HcViewPolygons HcViewPolygons;

bool hc_view_is_vector(const char *path);

/* `scene` is that of the whole file, and is borrowed while the polygons are open. layer NULL = the only one.
 */
HcStatus hc_view_polygons_open(HcViewPolygons **out, const char *path, const char *layer,
                               const HcScene *scene, HcError *err) HC_MUST_CHECK;
void hc_view_polygons_close(HcViewPolygons *polygons);

/* The extent of those that touch the scene [pixels]. HC_E_INPUT where none does. */
HcStatus hc_view_polygons_extent(const HcViewPolygons *polygons, OGREnvelope *out,
                                 HcError *err) HC_MUST_CHECK;

/* Sets to[lines][samples] to 0 where the centre of a pixel lies inside of a polygon, or (inside false) in
 * none. */
HcStatus hc_view_polygons_apply(HcViewPolygons *polygons, HcPixels pixels, bool inside, uint8_t *to,
                                HcError *err) HC_MUST_CHECK;
/* Memory that burning takes, GDAL's raster included. */
size_t hc_view_polygons_bytes(const HcViewPolygons *polygons);
HcStatus hc_view_polygons_unchanged(const HcViewPolygons *polygons, HcError *err) HC_MUST_CHECK;
HcStatus hc_view_polygons_files(const HcViewPolygons *polygons, HcPaths *out, HcError *err) HC_MUST_CHECK;

/* ---- choice.c: which values of a raster leave pixels out ---- */

#define HC_VIEW_RANGES_MAX 64

typedef struct HcViewRange {
    double low, high; /* both are in it */
} HcViewRange;

typedef struct HcViewChoice {
    int32_t band;  /* from 1 */
    bool given;    /* values are named */
    bool others;   /* all but those that are named */
    uint64_t bits; /* any of them */
    int32_t ranges;
    HcViewRange range[HC_VIEW_RANGES_MAX];
} HcViewChoice;

/* Parses BAND, BAND=VALUES or BAND!=VALUES (HC_E_USAGE in the name of `text`). */
HcStatus hc_view_choice_parse(const char *text, const char *suffix, HcViewChoice *out,
                              HcError *err) HC_MUST_CHECK;

/* Whether a value, or one of its bits, is among those that are named. */
bool hc_view_choice_has(const HcViewChoice *choice, double value, uint64_t bits);

/* Whether a value itself stands in the list, alone or as an end of a range. */
bool hc_view_choice_names(const HcViewChoice *choice, double value);

/* ---- masks ---- */

/* Leaves pixels out. A view has a list of them. */
typedef struct HcViewMask HcViewMask;

/* Where masks are opened. */
typedef struct HcViewSite {
    const HcScene *scene, *file; /* of the view, and of the whole file; `file` stays while the mask is open */
    const char *path;            /* what the scene is called */
    HcText *note;                /* grows by what is to be said of a mask */
    const HcReaderOptions *how;
    const HcReader *reader;  /* of the scene */
    HcViewMask *const *mask; /* [masks] that are open: one of the same raster reads it for both */
    int32_t masks;
} HcViewSite;

/* ---- view.c ---- */

/* Where masks of the view are opened: all but those that are open. */
HcViewSite hc_view_site(const HcView *view, HcText *note);
/* What is the scene, in pixels of the file. */
HcPixels hc_view_pixels(const HcView *view);

/* ---- raster.c ---- */

/* A raster that one mask or several look at: each of its lines is read once for all of them. */
typedef struct HcViewRaster HcViewRaster;

/* Opens the raster at `path`, or (layer not NULL) a quality layer in that file, which is borrowed while it is
 * open. HC_E_INPUT where it does not lie on the grid of the view or of its file. */
HcStatus hc_view_raster_open(HcViewRaster **out, const char *path, const HcProductLayer *layer,
                             const HcViewSite *site, HcError *err) HC_MUST_CHECK;
/* Whether opening these would give the same raster. A layer with a band for each of the scene stays alone. */
bool hc_view_raster_is(const HcViewRaster *raster, const char *path, const HcProductLayer *layer);
/* One more mask looks at it. */
void hc_view_raster_hold(HcViewRaster *raster);
/* For each mask that looks at it. */
void hc_view_raster_close(HcViewRaster *raster);

/* Before the first read: these bands (from 0, [count] ascending) alone, or one more. */
HcStatus hc_view_raster_use_bands(HcViewRaster *raster, const int32_t *index, int32_t count,
                                  HcError *err) HC_MUST_CHECK;
HcStatus hc_view_raster_add_band(HcViewRaster *raster, int32_t band, HcError *err) HC_MUST_CHECK;

const HcReader *hc_view_raster_reader(const HcViewRaster *raster);
/* The sample of the raster that is sample 0 of the view. */
int64_t hc_view_raster_sample0(const HcViewRaster *raster);
/* The most lines that can be read at once. */
int32_t hc_view_raster_lines(const HcViewRaster *raster);
/* Memory that it holds, shared out among its masks. */
size_t hc_view_raster_bytes(const HcViewRaster *raster);

/* Lines from line0 of the view on, borrowed until the next read, and as user_mask [lines][samples of the
 * view] the mask of the raster itself (NULL = none). The same lines again are not read again. */
HcStatus hc_view_raster_read(HcViewRaster *raster, int64_t line0, int32_t lines, HcRaw *raw,
                             HcError *err) HC_MUST_CHECK;

/* ---- mask.c ---- */

/* The quality layer that a text (NAME, NAME=VALUES or NAME!=VALUES) names, NULL where it names none. */
const HcProductLayer *hc_view_layer_of(const HcReader *reader, const char *text);

/* A quality layer of the product that the scene is: `text` is its name, with values or without. */
HcStatus hc_view_mask_layer(HcViewMask **out, const char *option, const char *text,
                            const HcProductLayer *layer, const HcViewSite *site, HcError *err) HC_MUST_CHECK;

/* A quality layer by its name; a raster (FILE[:BAND[=VALUES]]) of the lines and samples of the view or of its
 * file, or vector data (FILE[:LAYER]). */
HcStatus hc_view_mask_open(HcViewMask **out, const char *text, bool inside, const HcViewSite *site,
                           HcError *err) HC_MUST_CHECK;
/* Takes the polygons over, also where it fails. */
HcStatus hc_view_mask_cutline(HcViewMask **out, const char *text, HcViewPolygons *polygons,
                              HcError *err) HC_MUST_CHECK;
/* The mask of the scene's own file. */
HcStatus hc_view_mask_own(HcViewMask **out, const HcReader *reader, HcError *err) HC_MUST_CHECK;
void hc_view_mask_close(HcViewMask *mask);

/* The bands of the scene that are read, [count] ascending: some layers have one for each. Before the first
 * read. */
HcStatus hc_view_mask_use_bands(HcViewMask *mask, const int32_t *index, int32_t count,
                                HcError *err) HC_MUST_CHECK;

/* Sets to[lines][samples] to 0 where the mask leaves a pixel out: `pixels` of the file, from line0 of the
 * view on; at most hc_view_mask_lines() lines. */
HcStatus hc_view_mask_apply(HcViewMask *mask, HcPixels pixels, int64_t line0, uint8_t *to,
                            HcError *err) HC_MUST_CHECK;

int64_t hc_view_mask_lines(const HcViewMask *mask);

/* The option that named it ("--mask") and its value; borrowed. */
const char *hc_view_mask_option(const HcViewMask *mask);
const char *hc_view_mask_text(const HcViewMask *mask);

/* Memory that it holds. */
size_t hc_view_mask_bytes(const HcViewMask *mask);
HcStatus hc_view_mask_unchanged(const HcViewMask *mask, HcError *err) HC_MUST_CHECK;
HcStatus hc_view_mask_files(const HcViewMask *mask, HcPaths *out, HcError *err) HC_MUST_CHECK;

#endif
