/* Product: a scene as its producer delivers it, recognised by what its file holds and not by its name. A
 * product says which arrays hold the pixels, in which order of axes, and where in them each band lies. It
 * also says all that the reader wants to know of the scene. A sensor is one file that fills a product
 * (parts.h). */
#ifndef HC_IO_READ_PRODUCT_PRODUCT_H
#define HC_IO_READ_PRODUCT_PRODUCT_H

#include "core/block.h"
#include "core/text.h"
#include "io/axis.h"
#include "io/chunk/chunks.h"
#include "io/scene_files.h"

#define HC_PRODUCT_ARRAYS 256

/* Which detector gives the bands that two detectors share; the other's count as bad bands. */
typedef enum HcOverlap { HC_OVERLAP_USUAL, HC_OVERLAP_VNIR, HC_OVERLAP_SWIR, HC_OVERLAP_BOTH } HcOverlap;

typedef enum HcDetector { HC_DETECTOR_ONE, HC_DETECTOR_VNIR, HC_DETECTOR_SWIR } HcDetector;

/* An array of a file. */
typedef struct HcProductArray {
    char *file;     /* as GDAL opens it */
    char *dataset;  /* full name, "/location/glt_x" */
    HcAxis axis[3]; /* the slowest first */
    bool mirrored;  /* samples are counted from the right */
    int32_t bands;
    int64_t chunk[3]; /* as axis; the whole axis where the array is not chunked */
    void *handle;     /* an open array of GDAL */
    bool checked;     /* its chunks are whole: GDAL may read it */
    HcChunks *chunks; /* instead of it, where its chunks are read; NULL = they are not */
    int32_t *used;    /* [used_count] of its bands, those that are read, ascending; with chunks alone */
    int32_t used_count;
} HcProductArray;

typedef struct HcProductBand {
    int32_t array, band;     /* where it lies: the array, and the band in it */
    double wavelength, fwhm; /* [nm], 0 = not known */
    double gain, offset;     /* gain 0 = none */
    HcDetector detector;
    bool bad;
} HcProductBand;

/* A quality layer: for each pixel, a value that says what is wrong with it. */
typedef struct HcProductLayer {
    char name[128];  /* "cloud" */
    char values[40]; /* those that leave a pixel out, as in --mask FILE:BAND=VALUES; "" = all but 0 */
    int32_t band;    /* from 1; 0 = each band of the scene has its own, and those that are read count */
    bool usual;      /* applied unless the user says otherwise */
    bool mirrored;   /* samples are counted from the right */
    HcAxis axis[3];  /* of its array, the slowest first; one of two axes begins with HC_AXIS_BAND */
    char *flaw;      /* why nobody can apply it, or NULL */
    char *file;
    char *dataset[2]; /* the array; NULL: the file is a raster; two: the arrays of the product, one by one */
} HcProductLayer;

/* The lists that describe the bands of an array: names of datasets, or of attributes of the array. */
typedef struct HcProductLists {
    const char *centres, *widths, *good; /* the last may be NULL, and may be missing in the file */
} HcProductLists;

/* A version of a product as its producer lays it out. Each sensor has a table of them. */
typedef struct HcProductLayout {
    const char *product; /* sensor, level and quantity; NULL after the last row */
    const char *version; /* as its files say it; NULL: they do not */
    const char *group;   /* that recognises it; NULL: the array of pixels does */
    const char *dataset; /* the array of its pixels, or the first of them */
    const char *axes;    /* of that array, the slowest first: "line sample band" */
    const char *units;   /* of that array; NULL: any */
    HcProductLists bands;
    const char *names;  /* the list of names of bands that have no wavelengths */
    const char *layers; /* quality layers, with + those of the usual set: "cloud+;water" */
    const char
        *others; /* all other arrays, with * for any text: "/location/lon;*_x"; NULL: not all are known */
    bool is_companion; /* HcProduct.is_companion */
} HcProductLayout;

/* Zero-initialise; hc_product_close() is always safe. */
typedef struct HcProduct {
    char *name;          /* sensor, level and quantity */
    char *version;       /* of its layout, as the file says it; NULL: it does not */
    HcText news;         /* what its table of layouts does not have */
    char *raster;        /* the raster that holds the pixels, opened as any other; NULL = the arrays do */
    char *flaw;          /* why the metadata of a known sensor are left out, or NULL */
    bool no_text;        /* the flaw is that there are none; wavelengths of the raster mend it */
    bool is_companion;   /* of another product in the same folder, as an uncertainty is */
    bool beside;         /* the raster was opened, and not the text that describes it */
    HcDetector part;     /* which of two rasters it is */
    bool no_wavelengths; /* its bands are none of a spectrum: they stay in the order of their arrays */
    bool any_order;      /* its lists of wavelengths need not rise or fall throughout */
    bool ascends;        /* the scene has the bands of the raster by ascending wavelength */
    bool pixels_only;    /* the raster's place is the grid of its pixels: none */
    HcProductArray array[HC_PRODUCT_ARRAYS];
    int32_t array_count;
    int64_t sample0, samples; /* that are read; samples 0 = all */
    int64_t line_end;         /* lines are read in their order up to here; 0 = in any order */
    HcProductBand *band; /* [scene.bands], by ascending wavelength where the arrays hold the pixels; else as
                            in the raster */
    HcScene scene;       /* without what a raster says of itself */
    HcProductLayer *layer;
    int32_t layers;
    HcText note;   /* remarks for the user */
    HcPaths files; /* that it is made of */
    void *dataset; /* of GDAL, the arrays belong to it */
} HcProduct;

/* What hcube reads of a sensor. */
typedef struct HcProductRow {
    const char *sensor, *read;      /* levels and quantities */
    const char *versions;           /* of layouts that are known, the newest last; "-": it names none */
    const char *checked;            /* what the reader was checked against */
    const HcProductLayout *layouts; /* older versions of a product first; NULL: the reader finds all itself */
    const char *version_in;         /* the attribute of a file that says its version, or NULL */
    const char *instrument;         /* as the attribute `instrument` of its files says, or NULL */
} HcProductRow;
/* One after the other, from 0; NULL after the last. */
const HcProductRow *hc_product_row(int32_t number);

/* Whether the name is that of a text which may describe a product: XML, JSON, or one like those of Landsat.
 */
bool hc_product_is_text(const char *path);

/* Looks at the file, folder or zip archive; *out is NULL where it is no product that is known. Fails where it
 * is one and something in it is missing or wrong. */
HcStatus hc_product_open(HcProduct **out, const char *path, HcOverlap overlap, HcError *err) HC_MUST_CHECK;
void hc_product_close(HcProduct *product);

/* The arrays of a netCDF or HDF5 file as a dataset of GDAL, which the caller closes; NULL where GDAL does not
 * open it, with its messages (hc_gdal_catch). */
void *hc_product_open_arrays(const char *path);

/* A quality layer whose file holds arrays, as a product of its own that has the bands of its array. */
HcStatus hc_product_open_layer(HcProduct **out, const HcProduct *of, const HcProductLayer *layer,
                               HcError *err) HC_MUST_CHECK;

/* The chunks of one of its arrays, which hold the values that GDAL reads; *out is NULL where they are not
 * known. */
HcStatus hc_product_array_chunks(HcChunks **out, const HcProduct *product, int32_t array,
                                 HcError *err) HC_MUST_CHECK;
/* Reads the chunks of all its arrays from now on, where all are known: product->array[0].chunks tells. */
HcStatus hc_product_open_chunks(HcProduct *product, HcError *err) HC_MUST_CHECK;
/* Leaves an array to GDAL again, before the first read. */
void hc_product_close_chunks(HcProductArray *array);
/* Says which bands will be read, before the first read. */
HcStatus hc_product_use(HcProduct *product, const int32_t *used, int32_t count, HcError *err) HC_MUST_CHECK;
/* Settles how the chunks are read in at most that many bytes, if they are; returns what that takes. */
size_t hc_product_settle_chunks(HcProduct *product, int32_t threads, int64_t again, double bytes,
                                bool repeats);
/* Products whose arrays hold the pixels: the samples are product->samples. `used` [count] are the bands
 * that are read (NULL = all), ascending. */
size_t hc_product_bytes(const HcProduct *product, const int32_t *used, int32_t count, int64_t lines);
size_t hc_product_chunk_bytes(const HcProduct *product, int32_t count, int64_t lines);
int32_t hc_product_stored_band(const HcProduct *product, const int32_t *used, int32_t count, int32_t band);
HcStatus hc_product_read(HcProduct *product, const int32_t *used, int32_t count, int64_t line0, int32_t lines,
                         void *to, HcRaw *raw, HcError *err) HC_MUST_CHECK;
/* The same if its chunks are read. */
HcStatus hc_product_read_chunks(HcProduct *product, const int32_t *used, int32_t count, int64_t line0,
                                int32_t lines, void *to, HcRaw *raw, HcError *err) HC_MUST_CHECK;

#endif
