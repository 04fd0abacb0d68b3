/* Reader: any raster that GDAL opens, and every ENVI file, as raw blocks. */
#ifndef HC_IO_READ_READER_H
#define HC_IO_READ_READER_H

#include "core/block.h"
#include "core/text.h"
#include "io/read/product/product.h"
#include "io/scene_files.h"

typedef struct HcReader HcReader;

enum { HC_READER_MUCH = 8, HC_READER_MASK_BYTES = 1 << 20 };

/* Zero is the default of each. Texts are borrowed until open returns. */
typedef struct HcReaderOptions {
    int32_t threads;             /* not GDAL's; 0 = hc_io_threads() */
    bool never_direct;           /* read through GDAL only */
    bool ignore_mask;            /* the mask of the file leaves nothing out, and its alpha band is data */
    bool allow_external;         /* the scene may read files that it names as raw bytes */
    HcOverlap overlap;           /* of products of two detectors, and of scenes whose wavelengths fall back */
    bool sort;                   /* bands by ascending wavelength, also where the file has others */
    bool by_pixels;              /* as HcPlace has it */
    const char *wavelength_unit; /* "nm" or "um" for scenes that do not say, or NULL */
    /* Pixels of the longest side that suffice, 0 = all. Of a raster more than HC_READER_MUCH times as long,
     * an overview in the file may stand for the scene. */
    int64_t enough;
} HcReaderOptions;

/* Opens a scene: `path` is the .hdr, the data file, or anything that GDAL opens (/vsi..., a subdataset). A
 * scene that is missing, truncated, contradictory, complex or without bands fails here, with HC_E_INPUT or
 * HC_E_UNSUPPORTED and one line. No memory for pixels is allocated before. */
HcStatus hc_reader_open(HcReader **out, const char *path, const HcReaderOptions *options,
                        HcError *err) HC_MUST_CHECK;
void hc_reader_close(HcReader *reader);

/* The quality layers of the product that the scene is, [*count], borrowed. */
const HcProductLayer *hc_reader_layers(const HcReader *reader, int32_t *count);
/* Whether it is a file beside another product (masks, uncertainties), and no scene itself. */
bool hc_reader_is_companion(const HcReader *reader);
/* Opens one of them as a scene. */
HcStatus hc_reader_open_layer(HcReader **out, const HcReader *of, const HcProductLayer *layer,
                              const HcReaderOptions *options, HcError *err) HC_MUST_CHECK;

/* All bands of the file, those of a product by ascending wavelength; borrowed from the reader. integer_limit
 * is set for 8- and 16-bit integers. */
const HcScene *hc_reader_scene(const HcReader *reader);

/* [bands] the nodata value of each band, NaN = none, where they differ: that of the scene is then the first.
 * NULL where all have that of the scene. Borrowed. */
const double *hc_reader_band_nodata(const HcReader *reader);

/* Whether the band (from 0, of the scene) has a nodata value; *nodata is that value, or NaN. */
bool hc_reader_nodata(const HcReader *reader, int32_t band, double *nodata);

/* What masks pixels of the file beside nodata ("mask band", "alpha band 4", "NODATA_VALUES"); NULL = nothing,
 * or it is ignored. Borrowed. Callers of hc_reader_read apply it. */
const char *hc_reader_mask(const HcReader *reader);
/* Sets to[lines][samples that are asked for] to 0 where it masks a pixel in a band that is used. Takes at
 * most HC_READER_MASK_BYTES, or a line of float32. */
HcStatus hc_reader_read_mask(const HcReader *reader, int64_t line0, int32_t lines, uint8_t *to,
                             HcError *err) HC_MUST_CHECK;

/* The data file that was opened, and how it is read: "direct", "chunks (deflate)" or "GDAL GTiff"; borrowed.
 */
const char *hc_reader_path(const HcReader *reader);
/* Its name without folder and query, for titles. */
const char *hc_reader_name(const HcReader *reader);
const char *hc_reader_method(const HcReader *reader);
/* Whether lines come through GDAL (and its cache of blocks). */
bool hc_reader_through_gdal(const HcReader *reader);
/* Whether some lines can be read without the lines between them. */
bool hc_reader_skips_lines(const HcReader *reader);
/* Whether lines are read as they lie in a local file: again, they cost no more than a copy of their bytes. */
bool hc_reader_direct(const HcReader *reader);
/* Memory that threads of GDAL hold beside that cache, where the user has asked for threads by
 * GDAL_NUM_THREADS [bytes]. */
size_t hc_reader_thread_bytes(const HcReader *reader);
/* What product the scene is: sensor, level and quantity ("EMIT L2A reflectance"); NULL where it is not
 * known; borrowed. */
const char *hc_reader_product(const HcReader *reader);
/* The version of its layout, as the file says it, and what the table of products lacks of that layout; NULL
 * where there is nothing to say. Borrowed. */
const char *hc_reader_version(const HcReader *reader);
const char *hc_reader_news(const HcReader *reader);
/* Limits the memory [bytes] that the reader takes beside the blocks that it fills, but not below the least
 * that it needs. `halo` lines at either end of a block are read again with its neighbours. Returns what it
 * will take: 0 unless it reads chunks. repeats: all lines will be read in more than one pass; chunks are then
 * decoded in the first one only, where a scratch file can hold their lines. Has an effect before the first
 * read only. */
size_t hc_reader_settle(HcReader *reader, int32_t halo, double bytes, bool repeats);
/* Why the metadata of a known sensor are left out, so that stored values have no scale and bands no
 * wavelength; NULL where they are not; borrowed. */
const char *hc_reader_flaw(const HcReader *reader);
/* Adds one line on how the lines come: "direct", "through GDAL GTiff", or what becomes of the chunks. */
void hc_reader_way(const HcReader *reader, HcText *text);
/* The unit of the values as the file has it ("uW/cm^2/SR/nm"; of the physical ones, where there are gain and
 * offset), or NULL; borrowed. */
const char *hc_reader_unit(const HcReader *reader);

/* A remark for the user (a guessed unit, a header field that was left out), or NULL; borrowed. */
const char *hc_reader_note(const HcReader *reader);

/* Size [bytes] and time of last change [seconds since 1970] of the data file; 0 where not known. */
void hc_reader_identity(const HcReader *reader, int64_t *size, int64_t *modified);

/* HC_E_INPUT, with the file that changed, unless all files of the scene are the same as when they were
 * opened: data, header and others, with the same size and time of last change. Local files only: servers
 * are not asked again. HC_E_IO where a mapped file could not be read though it is the same. For the end of
 * a pass. */
HcStatus hc_reader_unchanged(const HcReader *reader, HcError *err) HC_MUST_CHECK;

/* The files that the scene is made of, as far as names and GDAL tell; adds to `out` what is not
 * there yet. */
HcStatus hc_reader_files(const HcReader *reader, HcPaths *out, HcError *err) HC_MUST_CHECK;

/* Only these bands (of the scene, from 0, ascending) will be asked for: lets interleaves that can skip the
 * others. Must come before the first read. The bands of HcRaw are still all stored ones unless skipped: see
 * hc_reader_stored_band. */
HcStatus hc_reader_use_bands(HcReader *reader, const int32_t *index, int32_t count,
                             HcError *err) HC_MUST_CHECK;

/* Only these samples of every line will be asked for. Ways of reading that can pass over the others do: HcRaw
 * has either these samples or all. Must come before the first read. */
HcStatus hc_reader_use_samples(HcReader *reader, int64_t sample0, int64_t samples,
                               HcError *err) HC_MUST_CHECK;

/* Says that lines are asked for in their order, up to `end`: some may be read ahead. Before hc_reader_settle.
 */
void hc_reader_expect_lines(HcReader *reader, int64_t end);

/* Where a band of the scene lies among the bands of the HcRaw that hc_reader_read gives. */
int32_t hc_reader_stored_band(const HcReader *reader, int32_t band);

/* Reads the file through a mapping from now on (before the first read): hc_reader_read then needs no memory
 * and gives views of the file itself, for backends whose device memory is host memory. False where that
 * cannot be: not read directly, or on a system that cannot report a failure to read. */
bool hc_reader_map(HcReader *reader);

/* Whether a mapping suits blocks of that many lines. Bands that lie apart (BSQ) come in stretches, and for
 * each the system maps whole windows of the file, which count as memory of the process. */
bool hc_reader_map_suits(const HcReader *reader, int64_t lines);

/* Back to reading into memory, before the first read. */
void hc_reader_unmap(HcReader *reader);

/* These lines of a mapped file are not looked at for now: their pages no longer count as memory of the
 * process. They may be read again. */
void hc_reader_release(HcReader *reader, int64_t line0, int32_t lines);

/* Bytes that hc_reader_read needs for that many lines; 0 when mapped. */
size_t hc_reader_bytes(const HcReader *reader, int64_t lines);

/* Reads whole lines into `to` (NULL when mapped) and describes them; raw->data points into
 * `to`. One call at a time. A failure of a file that changed is HC_E_INPUT. Bytes of a mapped file that is
 * cut off after this count as 0 until hc_reader_unchanged says so. */
HcStatus hc_reader_read(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                        HcError *err) HC_MUST_CHECK;

/* ---- of a scene that is read directly (hc_reader_direct); any thread, several at once ---- */

/* Reads a part of what hc_reader_read would for these lines: `bytes` of its bytes from `at` on. */
HcStatus hc_reader_read_part(const HcReader *reader, int64_t line0, int32_t lines, int64_t at, int64_t bytes,
                             void *to, HcError *err) HC_MUST_CHECK;

/* Describes these lines as if all their bytes lay at `at`, which is not looked at. */
void hc_reader_describe(const HcReader *reader, int64_t line0, int32_t lines, const void *at, HcRaw *raw);

/* Whether that value is 0 in all its bits, or cannot be read. */
bool hc_reader_is_zero(const HcReader *reader, int64_t line, int64_t sample, int32_t band);

/* Threads that are worth having for parts; alone: no other file is read at the same time. */
int32_t hc_reader_threads(const HcReader *reader, bool alone);

#endif
