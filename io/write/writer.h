/* Writer: blocks into a raster file of any format that GDAL can create. */
#ifndef HC_IO_WRITE_WRITER_H
#define HC_IO_WRITE_WRITER_H

#include "core/block.h"
#include "core/system/flag.h"
#include "io/write/values.h"

typedef struct HcWriter HcWriter;

/* Zero is the default of each; texts are borrowed until open returns. */
typedef struct HcWriterOptions {
    const char *format; /* GDAL driver name (ENVI, GTiff, COG, ...), NULL = by the extension (.tif, .img,
                           .dat, .bsq, .bil, .bip, .hdr, no extension: ENVI) */
    bool has_type;
    HcType type;            /* of the stored values; default float32; for a class map of one band the
                               smallest unsigned integer that holds its classes; that of a scene of at most
                               16 bits whose values are `stored` ones, where no valid pixel is nodata */
    const char *interleave; /* "bsq", "bil", "bip", NULL = for ENVI by the extension, else bsq; the driver's
                               own otherwise */
    const char *compress;   /* "none", "deflate", "zstd", "lzw", NULL = the driver's default */
    const char *const *creation_options; /* "NAME=VALUE", NULL-terminated, or NULL */
    bool has_nodata;
    double nodata; /* as it is stored. Default: the scene's where the type can hold it, the bands still are
                      the scene's and there is no scale; NaN for float types; else the type's lowest (signed)
                      or highest value (unsigned); none for integers of a scene that says it is complete.
                      Integers of a class map with a class "Unclassified": 0, which stays 0 where it is valid
                      too */
    bool has_scale;
    double scale, offset; /* stored = (value - offset) / scale, and the file says so, band by band, on top of
                             the scene's gain and offset; scale is not 0. Not for class maps */
    bool overwrite;
    bool style;           /* hc_writer_style() will be called: its name must be free, or its file ours */
    bool sends;           /* to standard output: `path` only says where the file is made until then */
    const HcFlag *cancel; /* of `sends`, as in hc_file_send */
    int32_t threads;      /* that convert values, and write ENVI; 0 = hc_io_threads() */
    HcWriter *begun;      /* by hc_writer_begin(), or NULL: open takes its file, and frees it */
    int64_t large;        /* bytes from which an ENVI file is begun early, and mapped in memory; 0 = 512 MiB.
                             For tests */
    int32_t compressors;  /* threads that compress a GTiff or COG, at most threads_max of the needs; 0
                             = one. A creation option NUM_THREADS is preferred */
} HcWriterOptions;

/* What open would refuse, without creating anything: unknown format, a directory that is missing or not
 * writable, an existing file without `overwrite`, a type or size that the format cannot hold. For the
 * planner. */
HcStatus hc_writer_check(const char *path, const HcScene *scene, const HcWriterOptions *options,
                         HcError *err) HC_MUST_CHECK;

/* The files that an output consists of. */
typedef struct HcWriterNames {
    char *data;   /* scene.img for an ENVI output scene.hdr, else the path itself; fresh memory */
    char *header; /* the header beside the data file of an ENVI output; fresh memory, or NULL */
    char *style;  /* the style of QGIS, of an output that has one; fresh memory */
    bool in_gis;  /* GeoTIFF or ENVI */
} HcWriterNames;

/* Finds the names; looks at no file. `format` as in HcWriterOptions. hc_writer_names_clear() is safe after a
 * failure too. */
HcStatus hc_writer_names(const char *path, const char *format, HcWriterNames *out,
                         HcError *err) HC_MUST_CHECK;
void hc_writer_names_clear(HcWriterNames *names);

/* What writing will take. */
typedef struct HcWriterNeeds {
    HcType type;   /* of the stored values */
    size_t memory; /* host memory beyond the blocks [bytes]: lines that are collected, GDAL's cache, and what
                      compressing takes */
    int32_t threads_max;  /* threads that help to compress; 1 = more are of no use, or must not be chosen */
    size_t thread_memory; /* host memory that each takes on top, from two on [bytes] */
    bool floats;          /* blocks may come as `storing` has them, with a mask of NULL */
    HcStoring storing;
} HcWriterNeeds;

/* hc_writer_check, and what there is to know for the planner. */
HcStatus hc_writer_needs(const char *path, const HcScene *scene, const HcWriterOptions *options,
                         HcWriterNeeds *out, HcError *err) HC_MUST_CHECK;

/* Creates a large ENVI file at its full size long before its lines are there, so that the system finds space
 * beside the work, and a full disk is noticed early. *out is NULL for other files. It is no writer yet, and
 * goes into the options of hc_writer_open(), or to hc_writer_close(). */
HcStatus hc_writer_begin(HcWriter **out, const char *path, const HcScene *scene,
                         const HcWriterOptions *options, HcError *err) HC_MUST_CHECK;

/* Creates the file under a temporary name beside `path` with everything that `scene` says (place, nodata,
 * band names, wavelengths where bands are spectral). Integer outputs are rounded to nearest and clamped, NaN
 * is nodata. */
HcStatus hc_writer_open(HcWriter **out, const char *path, const HcScene *scene,
                        const HcWriterOptions *options, HcError *err) HC_MUST_CHECK;

/* The next interior lines of the scene, in order; block in host memory. Masked pixels are written as nodata.
 * Lines with a mask of NULL lie as HcWriterNeeds.storing has them, where `floats` allows it. */
HcStatus hc_writer_write(HcWriter *writer, const HcBlock *block, HcError *err) HC_MUST_CHECK;

/* Several processes may write one file. One of them opens it, and the others join it for the lines from line0
 * on. Lines of the others go into the file itself where it is ENVI, else into hidden files beside it. From
 * these the first takes them in the order of the lines. */
typedef struct HcWriterSite {
    char partial[4096]; /* the temporary name of the file */
    bool by_pixel;      /* its lines are collected with the bands of a pixel together */
} HcWriterSite;

/* What the others need to know; in the process that opened the file. */
HcStatus hc_writer_site(const HcWriter *writer, HcWriterSite *out, HcError *err) HC_MUST_CHECK;

/* In the others, with the same path, scene and options. hc_writer_write takes the lines. */
HcStatus hc_writer_join(HcWriter **out, const char *path, const HcScene *scene,
                        const HcWriterOptions *options, const HcWriterSite *site, int64_t line0,
                        HcError *err) HC_MUST_CHECK;

/* What was left by a process that joined: lines, and the file that they lie in, "" for the file itself. */
typedef struct HcWriterLeft {
    char path[4096];
    int64_t lines;
    HcStoredTally tally;
} HcWriterLeft;

/* Completes what this process has written. The hidden file is removed by hc_writer_close. */
HcStatus hc_writer_leave(HcWriter *writer, HcWriterLeft *out, HcError *err) HC_MUST_CHECK;

/* In the process that opened the file: those are the next lines. */
HcStatus hc_writer_take(HcWriter *writer, const HcWriterLeft *left, HcError *err) HC_MUST_CHECK;

/* In the process that opened the file: the text of a style (io/write/picture/style.h), which gets its name
 * together with the file. */
HcStatus hc_writer_style(HcWriter *writer, const char *text, HcError *err) HC_MUST_CHECK;

/* Completes the file and gives it its name, or adds it to the set that is open (io/file.h). Fails if lines
 * are missing. */
HcStatus hc_writer_finish(HcWriter *writer, HcError *err) HC_MUST_CHECK;

/* Frees the writer; a file that was not finished is removed. NULL is fine. */
void hc_writer_close(HcWriter *writer);

/* How values are stored; borrowed. */
const HcStored *hc_writer_layout(const HcWriter *writer);
/* The final path (for ENVI the data file), the format, and the value of masked pixels; texts are borrowed. */
const char *hc_writer_path(const HcWriter *writer);
/* After finish: the largest difference of a value in the file from what was given [stored units]. Formats and
 * options with a loss are read back whole; 0 for all others. */
double hc_writer_loss(const HcWriter *writer);
/* After finish: what the format has not kept of place and coefficients, as "the place, ..."; borrowed, or
 * NULL. */
const char *hc_writer_lacks(const HcWriter *writer);
const char *hc_writer_format(const HcWriter *writer);
double hc_writer_nodata(const HcWriter *writer); /* NaN: NaN, or none */
/* What happened to the values of an integer output so far, and the range of stored values that valid pixels
 * can have. Values of other processes count once they are taken. False for floats and class maps, which
 * keep their values. */
bool hc_writer_tally(const HcWriter *writer, HcStoredTally *out, double *low, double *high);

#endif
