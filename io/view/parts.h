/* What the files of a view share; nobody else includes this. */
#ifndef HC_IO_VIEW_PARTS_H
#define HC_IO_VIEW_PARTS_H

#include "io/view/values.h"
#include "io/view/view.h"

/* ---- mask.c ---- */

/* A raster that leaves pixels out. */
typedef struct HcViewMask HcViewMask;

/* `scene` has the lines and samples that the mask must have; `path` is what it is called. */
HcStatus hc_view_mask_open(HcViewMask **out, const char *text, const HcReaderOptions *how,
                           const HcScene *scene, const char *path, HcError *err) HC_MUST_CHECK;
void hc_view_mask_close(HcViewMask *mask);

/* Sets to[lines][samples] to 0 where the mask leaves a pixel out. */
HcStatus hc_view_mask_apply(HcViewMask *mask, int64_t line0, int32_t lines, uint8_t *to,
                            HcError *err) HC_MUST_CHECK;
HcStatus hc_view_mask_unchanged(const HcViewMask *mask, HcError *err) HC_MUST_CHECK;
HcStatus hc_view_mask_files(const HcViewMask *mask, HcPaths *out, HcError *err) HC_MUST_CHECK;

#endif
