/* View: what a chain sees of a scene. A reader gives the lines of a file as they lie there; a view adds a
 * window, masks, several nodata values, and scale and offset. It acts after all ways of reading, so that
 * none of them knows of it. */
#ifndef HC_IO_VIEW_VIEW_H
#define HC_IO_VIEW_VIEW_H

#include "io/read/reader.h"

#define HC_VIEW_NODATA_MAX 16

typedef struct HcView HcView;

/* A rectangle of the file [pixels]. */
typedef struct HcViewWindow {
    int64_t sample0, line0, samples, lines;
} HcViewWindow;

/* A rectangle on Earth: xmin, ymin, xmax, ymax, x east. */
typedef struct HcViewBox {
    double edge[4];
    const char *crs; /* any that GDAL knows; NULL = that of the scene */
} HcViewBox;

/* Zero is the default of each. Texts are borrowed until open returns. */
typedef struct HcViewOptions {
    HcReaderOptions reader;
    bool no_quality;     /* the quality layers of a product leave nothing out by themselves */
    bool needs_quality;  /* HC_E_INPUT where there is no such layer */
    bool needs_metadata; /* HC_E_INPUT where those of a known sensor cannot be used */
    /* NAME[=VALUES] of a quality layer, FILE[:BAND[=VALUES]] or FILE[:LAYER] each, NULL-terminated lists or
     * NULL. A raster without values leaves out pixels that are 0, nodata or NaN there; polygons those that
     * lie outside. The masks of the second list leave out the others. */
    const char *const *masks, *const *masks_inside;
    /* Values that mean no data in every band; count 0 = those of the file, of each band its own. */
    double nodata[HC_VIEW_NODATA_MAX];
    int32_t nodata_count;
    bool ignore_nodata;         /* no value means no data */
    bool apply_scale;           /* values are gain * stored + offset, where the file has both */
    const HcViewWindow *window; /* only this rectangle is the scene; NULL = all of the file */
    const HcViewBox *box;       /* only the pixels that it touches; NULL = all */
    const char *cutline;        /* FILE[:LAYER]: only what its polygons touch, masked outside of them */
    int64_t first_lines;        /* at most this many lines of them, 0 = all: for a trial */
} HcViewOptions;

/* Opens a scene as hc_reader_open does, and its masks. */
HcStatus hc_view_open(HcView **out, const char *path, const HcViewOptions *options,
                      HcError *err) HC_MUST_CHECK;
void hc_view_close(HcView *view);

/* All bands of the file, as the view gives them: nodata by the options; with scale applied float32, without
 * gains. Borrowed. */
const HcScene *hc_view_scene(const HcView *view);

/* The file itself: names, notes, identity, way of reading. Borrowed; its lines are for hc_view_read. */
const HcReader *hc_view_reader(const HcView *view);

/* The one value that means no data in what hc_view_read gives; false: none does. It differs from that of the
 * scene where values are converted. */
bool hc_view_nodata(const HcView *view, double *value);

/* Whether a mask or cutline may leave pixels out. */
bool hc_view_masks(const HcView *view);

/* Whether no quality layer leaves pixels out, of a product, where the user has not switched them off. */
bool hc_view_lacks_quality(const HcView *view);

/* The masks, in the order in which they count: the option that named each ("--cutline", "--mask",
 * "--quality") and its value, borrowed. */
int32_t hc_view_mask_count(const HcView *view);
const char *hc_view_mask_name(const HcView *view, int32_t mask, const char **value);

/* Counts what the masks leave out of these lines of a block that hc_view_read gave, each pixel for the first
 * mask that does; grows counts[mask]. */
void hc_view_count(const HcView *view, const HcRaw *raw, int64_t line0, int32_t lines, int64_t *counts);

/* A mask beside those of the view, which leaves nothing out of the scene by itself: `text` as in
 * HcViewOptions.masks. The view must stay open as long. `note` grows by what is to be said of it. HC_E_INPUT
 * where it does not fit the scene. */
typedef struct HcViewSelection HcViewSelection;
HcStatus hc_view_selection_open(HcViewSelection **out, const HcView *view, const char *text, HcText *note,
                                HcError *err) HC_MUST_CHECK;
void hc_view_selection_close(HcViewSelection *selection);
/* Before the first read: these bands of the scene are read, as hc_view_use_bands. */
HcStatus hc_view_selection_use_bands(HcViewSelection *selection, const int32_t *index, int32_t count,
                                     HcError *err) HC_MUST_CHECK;
/* to[lines][samples of the view]: 1 where the mask lets a pixel stay, else 0. */
HcStatus hc_view_selection_read(HcViewSelection *selection, int64_t line0, int64_t lines, uint8_t *to,
                                HcError *err) HC_MUST_CHECK;
/* Memory that it holds. */
size_t hc_view_selection_bytes(const HcViewSelection *selection);

/* A raster of one band beside the scene, on the grid of the view or of its file: values of its pixels. The
 * view must stay open as long. `note` grows. HC_E_INPUT where it lies elsewhere or has more bands. */
typedef struct HcViewBeside HcViewBeside;
HcStatus hc_view_beside_open(HcViewBeside **out, const HcView *view, const char *path, HcText *note,
                             HcError *err) HC_MUST_CHECK;
void hc_view_beside_close(HcViewBeside *beside);
/* to[lines][samples of the view], with the scale and offset of the file; NaN where it has no data. */
HcStatus hc_view_beside_read(HcViewBeside *beside, int64_t line0, int64_t lines, float *to,
                             HcError *err) HC_MUST_CHECK;
/* Memory that it holds. */
size_t hc_view_beside_bytes(const HcViewBeside *beside);

/* Memory that the masks hold, whatever the block. */
size_t hc_view_fixed_bytes(const HcView *view);

/* What the view has to say of its window, or NULL; borrowed. */
const char *hc_view_note(const HcView *view);

/* The file of FILE[:LAYER] and the like, in fresh memory; NULL when there is none left. */
char *hc_view_file_of(const char *text);

/* Whether scale and offset are to be applied, where the file has them. */
bool hc_view_scales(const HcView *view);

/* As the functions of the reader. */
HcStatus hc_view_use_bands(HcView *view, const int32_t *index, int32_t count, HcError *err) HC_MUST_CHECK;
int32_t hc_view_stored_band(const HcView *view, int32_t file_band);
size_t hc_view_settle(HcView *view, int32_t halo, double bytes, bool repeats);
bool hc_view_map(HcView *view);
bool hc_view_map_suits(const HcView *view, int64_t lines);
void hc_view_unmap(HcView *view);
void hc_view_release(HcView *view, int64_t line0, int32_t lines);
HcStatus hc_view_unchanged(const HcView *view, HcError *err) HC_MUST_CHECK;
HcStatus hc_view_files(const HcView *view, HcPaths *out, HcError *err) HC_MUST_CHECK;

/* Drops the files of the view from the system's page cache, so that they are read from the disk again. */
HcStatus hc_view_forget(const HcView *view, HcError *err) HC_MUST_CHECK;

/* Bytes that hc_view_read needs for that many lines; 0 when mapped. */
size_t hc_view_bytes(const HcView *view, int64_t lines);

/* Bytes of the file that a mapped view looks at for that many lines. */
size_t hc_view_mapped_bytes(const HcView *view, int64_t lines);

/* Reads whole lines into `to` as hc_reader_read does; raw->data and user_mask point into `to`. Values that
 * are converted are float32. */
HcStatus hc_view_read(HcView *view, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                      HcError *err) HC_MUST_CHECK;

/* Whether hc_view_read gives bytes of a local file as they lie there and nothing else. Then threads may read
 * parts of them: as hc_reader_read_part and hc_reader_describe, of hc_view_bytes(). */
bool hc_view_passes_bytes(const HcView *view);
HcStatus hc_view_read_part(const HcView *view, int64_t line0, int32_t lines, int64_t at, int64_t bytes,
                           void *to, HcError *err) HC_MUST_CHECK;
void hc_view_describe(const HcView *view, int64_t line0, int32_t lines, const void *at, HcRaw *raw);
/* Whether the first or the last sample of a line is 0 in that band of the file. */
bool hc_view_ends_in_zero(const HcView *view, int64_t line, int32_t band);

/* Keeps those of the bands (file indices from 0, ascending) of the scene at `path` that hold no value:
 * nodata, NaN or infinity in every pixel. Masks do not count. Reads until the others have shown a value. */
HcStatus hc_view_empty_bands(const char *path, const HcViewOptions *options, int32_t *bands, int32_t *count,
                             HcError *err) HC_MUST_CHECK;

#endif
