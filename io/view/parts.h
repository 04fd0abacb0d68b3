/* What the files of a view share; nobody else includes this. */
#ifndef HC_IO_VIEW_PARTS_H
#define HC_IO_VIEW_PARTS_H

#include "io/shape/shapes.h"
#include "io/view/values.h"
#include "io/view/view.h"
#include "io/watch.h"

/* ---- name.c ---- */

/* How long the name of the file is in FILE[:LAYER] or FILE[:BAND...]. */
size_t hc_view_file_length(const char *text);

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

/* The polygons of a layer, in the pixels of the file. */
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
HcStatus hc_view_polygons_unchanged(const HcViewPolygons *polygons, HcError *err) HC_MUST_CHECK;
HcStatus hc_view_polygons_files(const HcViewPolygons *polygons, HcPaths *out, HcError *err) HC_MUST_CHECK;

/* ---- mask.c ---- */

/* A raster that leaves pixels out. */
typedef struct HcViewMask HcViewMask;

/* `scene` is that of the view; the mask has its lines and samples, or those of its file. `path` is what the
 * scene is called. */
HcStatus hc_view_mask_open(HcViewMask **out, const char *text, const HcReaderOptions *how,
                           const HcScene *scene, const char *path, HcError *err) HC_MUST_CHECK;
void hc_view_mask_close(HcViewMask *mask);

/* Sets to[lines][samples] to 0 where the mask leaves a pixel out; line0 of the view. */
HcStatus hc_view_mask_apply(HcViewMask *mask, int64_t line0, int32_t lines, uint8_t *to,
                            HcError *err) HC_MUST_CHECK;
HcStatus hc_view_mask_unchanged(const HcViewMask *mask, HcError *err) HC_MUST_CHECK;
HcStatus hc_view_mask_files(const HcViewMask *mask, HcPaths *out, HcError *err) HC_MUST_CHECK;

#endif
