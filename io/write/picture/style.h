/* Style: how QGIS shows an output without a click, as the text of a .qml file beside it. The values that a
 * stretch needs are sampled while the lines pass, so that nothing is read again. */
#ifndef HC_IO_WRITE_STYLE_H
#define HC_IO_WRITE_STYLE_H

#include "core/block.h"

typedef struct HcStyle HcStyle;

/* Host memory of the style of such a scene [bytes]. */
size_t hc_style_bytes(const HcScene *scene);

/* The scene is borrowed until close. */
HcStatus hc_style_open(HcStyle **out, const HcScene *scene, HcError *err) HC_MUST_CHECK;

/* Any interior lines of the scene, each once; block in host memory. */
void hc_style_add(HcStyle *style, const HcBlock *block);

/* What several processes have seen of one scene: `sampled` becomes the union (0 where nobody has seen), and
 * `used` the sum. */
typedef struct HcStyleSeen {
    void *sampled;
    size_t sampled_bytes;
    int64_t *used;
    size_t used_count;
} HcStyleSeen;

HcStyleSeen hc_style_seen(HcStyle *style);

/* The text of the style of the raster at `path`; fresh memory. */
HcStatus hc_style_text(const HcStyle *style, const char *path, char **text, HcError *err) HC_MUST_CHECK;

/* NULL is fine. */
void hc_style_close(HcStyle *style);

/* The name of the style of the raster at `path`, where QGIS looks for it: mnf.qml for mnf.tif. Fresh memory,
 * NULL when that ran out. */
char *hc_style_name(const char *path);

/* Whether `style` is a style that hc_style_text made for the raster at `path`. */
HcStatus hc_style_is_ours(const char *style, const char *path, bool *ours, HcError *err) HC_MUST_CHECK;

/* Whether no file has the name `style`, or one that is ours: it may be replaced with the raster at `path`. */
HcStatus hc_style_is_free(const char *style, const char *path, bool *is_free, HcError *err) HC_MUST_CHECK;

/* Fails (HC_E_USAGE) where another file has the name of the style. */
HcStatus hc_style_check(const char *path, HcError *err) HC_MUST_CHECK;

/* The style of a file that is replaced would describe the new one wrongly: it goes when the new one gets its
 * name (hc_file_retire), where it is ours. */
HcStatus hc_style_retire(const char *path, HcError *err) HC_MUST_CHECK;

#endif
