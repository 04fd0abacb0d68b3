/* What the files of the products share; nobody else includes this. */
#ifndef HC_IO_READ_PRODUCT_PARTS_H
#define HC_IO_READ_PRODUCT_PARTS_H

#include "io/gdal/errors.h"
#include "io/read/product/product.h"

#include <cpl_minixml.h>
#include <gdal.h>

/* An open netCDF or HDF5 file. */
typedef struct HcProductFile {
    const char *path;
    GDALDatasetH dataset;
    GDALGroupH root;
} HcProductFile;

/* A sensor: *is tells whether the file is such a product; then the product is filled. A file that is one and
 * lacks something is HC_E_INPUT. */
typedef HcStatus HcProductDescribe(HcProduct *product, const HcProductFile *file, bool *is, HcError *err);

/* A text that describes a raster. */
typedef struct HcProductText {
    const char *path, *data; /* data ends with 0 */
    CPLXMLNode *xml;         /* its root element, NULL where it is no XML */
} HcProductText;

/* As HcProductDescribe. product->raster is NULL where the text was opened and not the raster. */
typedef HcStatus HcProductDescribeRaster(HcProduct *product, const HcProductText *text, bool *is,
                                         HcError *err);

/* Sensors, in the order in which they are shown a file: of arrays, and of texts that describe a raster. A new
 * one is a name here and sensor/NAME.c with its function, hc_product_NAME, and its rows; cube takes any file
 * with the arrays of one. */
#define HC_SENSORS_OF_ARRAYS(SENSOR)                                                                         \
    SENSOR(zarr)                                                                                             \
    SENSOR(emit)                                                                                             \
    SENSOR(minerals)                                                                                         \
    SENSOR(prisma) SENSOR(aviris) SENSOR(neon) SENSOR(tanager) SENSOR(hypso) SENSOR(cube) SENSOR(swath)
#define HC_SENSORS_OF_RASTERS(SENSOR) SENSOR(enmap) SENSOR(desis) SENSOR(stac) SENSOR(hyperion)

#define HC_DESCRIBE(name)        HcProductDescribe hc_product_##name;
#define HC_DESCRIBE_RASTER(name) HcProductDescribeRaster hc_product_##name;
HC_SENSORS_OF_ARRAYS(HC_DESCRIBE)
HC_SENSORS_OF_RASTERS(HC_DESCRIBE_RASTER)

/* Each of their files says what it reads; a row without a sensor ends the table. */
#define HC_ROWS(name) extern const HcProductRow hc_product_rows_##name[];
HC_SENSORS_OF_ARRAYS(HC_ROWS)
HC_SENSORS_OF_RASTERS(HC_ROWS)
HC_ROWS(flight)

/* flight.c: an image of AVIRIS-NG or AVIRIS Classic, by its header or data; product->raster is that path. */
HcStatus hc_product_flight(HcProduct *product, const char *path, bool *is, HcError *err) HC_MUST_CHECK;

/* ---- layout.c: the table of layouts ---- */

/* The first row of the table that the file is, NULL where it is none. */
const HcProductLayout *hc_product_layout(const HcProductFile *file, const HcProductRow *row);
/* Takes the name and the pixels that the layout says; a remark names what the file has and its table lacks.
 */
HcStatus hc_product_lay_out(HcProduct *product, const HcProductFile *file, const HcProductRow *row,
                            const HcProductLayout *layout, HcError *err) HC_MUST_CHECK;
/* The remark alone, for products whose file takes the pixels itself. */
HcStatus hc_product_compare(HcProduct *product, const HcProductFile *file, const HcProductRow *row,
                            const HcProductLayout *layout, HcError *err) HC_MUST_CHECK;
/* A file of no layout whose instrument is that of the row: a raster with a remark. */
HcStatus hc_product_unknown(HcProduct *product, const HcProductFile *file, const HcProductRow *row, bool *is,
                            HcError *err) HC_MUST_CHECK;

/* ---- arrays.c: what an open file holds ---- */

/* The group of an array of Zarr; the path itself where it is one, or where its folder is none. Fresh memory,
 * NULL: there is none. */
char *hc_product_zarr_group(const char *path);

bool hc_product_has(const HcProductFile *file, const char *dataset);
bool hc_product_has_group(const HcProductFile *file, const char *group);

/* The lengths of the `axes` axes of a dataset. */
HcStatus hc_product_shape(const HcProductFile *file, const char *dataset, size_t axes, int64_t *size,
                          HcError *err) HC_MUST_CHECK;

/* Whether a dataset has that many axes. */
bool hc_product_has_axes(const HcProductFile *file, const char *dataset, size_t axes);

/* The names of the arrays of a group ("/" = the root) that have that many axes; CSLDestroy() them. */
char **hc_product_names(const HcProductFile *file, const char *group, size_t axes);

/* Takes an array of three axes as the next one of the product, of the lines and samples of those before; one
 * of two axes where the first of `order` is that of the bands. Arrays of several types are read as the
 * smallest type that has all their values. */
HcStatus hc_product_take(HcProduct *product, const HcProductFile *file, const char *dataset,
                         const HcAxis order[3], HcError *err) HC_MUST_CHECK;
/* The same for an open array of GDAL, which is taken in any case; NULL: GDAL has said why. `name` is for
 * messages. */
HcStatus hc_product_take_array(HcProduct *product, const char *path, const char *name, void *array,
                               const HcAxis order[3], HcError *err) HC_MUST_CHECK;

/* `count` numbers of a dataset; HC_E_INPUT where it is missing or of another count. Fresh memory. */
HcStatus hc_product_list(const HcProductFile *file, const char *dataset, int32_t count, double **values,
                         HcError *err) HC_MUST_CHECK;

/* All numbers of a dataset of two axes, [rows][columns]; HC_E_INPUT where it is missing or has other axes.
 * Fresh memory. */
HcStatus hc_product_table(const HcProductFile *file, const char *dataset, double **values, int64_t *rows,
                          int64_t *columns, HcError *err) HC_MUST_CHECK;

/* Reads [count] texts into fresh memory. */
HcStatus hc_product_words(const HcProductFile *file, const char *dataset, int32_t count, char ***words,
                          HcError *err) HC_MUST_CHECK;

/* An attribute of a dataset, or of the file (dataset NULL): a text in fresh memory, NULL where there is none;
 * numbers, likewise, with their count. */
HcStatus hc_product_text(const HcProductFile *file, const char *dataset, const char *attribute, char **text,
                         HcError *err) HC_MUST_CHECK;
HcStatus hc_product_numbers(const HcProductFile *file, const char *dataset, const char *attribute,
                            double **values, int32_t *count, HcError *err) HC_MUST_CHECK;

/* The same for a required attribute: one number, or `count` of them in fresh memory. */
HcStatus hc_product_number(const HcProductFile *file, const char *dataset, const char *attribute,
                           double *value, HcError *err) HC_MUST_CHECK;
HcStatus hc_product_attribute(const HcProductFile *file, const char *dataset, const char *attribute,
                              int32_t count, double **values, HcError *err) HC_MUST_CHECK;

/* The units of a dataset in fresh memory, NULL where none are said. */
HcStatus hc_product_units(const HcProductFile *file, const char *dataset, char **units,
                          HcError *err) HC_MUST_CHECK;

/* The text of a dataset that is one; HC_E_INPUT where it is missing. Fresh memory. */
HcStatus hc_product_string(const HcProductFile *file, const char *dataset, char **text,
                           HcError *err) HC_MUST_CHECK;

/* ---- bands.c: from bands to a scene ---- */

/* Adds the bands of an array (or of the raster), `count` of them; widths may be NULL. Both [nm] times `unit`;
 * a centre of 0 says that the band is not used. */
typedef struct HcProductBands {
    int32_t array, count;
    const double *wavelength, *fwhm;
    double unit;         /* nanometres in one of the unit */
    double gain, offset; /* gain 0 = none */
    HcDetector detector;
    const double *good; /* [count] 0 = bad, or NULL */
} HcProductBands;
HcStatus hc_product_add_bands(HcProduct *product, const HcProductBands *bands, HcError *err) HC_MUST_CHECK;

/* Adds the bands of the array taken last by such lists, all in nanometres; `dataset` has them as attributes,
 * NULL: they are datasets. */
HcStatus hc_product_add_listed(HcProduct *product, const HcProductFile *file, const char *dataset,
                               const HcProductLists *lists, HcError *err) HC_MUST_CHECK;

/* Takes arrays of lines and samples, which end with NULL, as bands with their names and scales, in this order
 * and without wavelengths. `group` ends with "/". */
HcStatus hc_product_take_flat(HcProduct *product, const HcProductFile *file, const char *group,
                              const char *const *names, HcError *err) HC_MUST_CHECK;

/* Scale and offset that the attributes of a dataset say; 1 and 0 where they say none. */
HcStatus hc_product_scale(const HcProductFile *file, const char *dataset, double *gain, double *offset,
                          HcError *err) HC_MUST_CHECK;

/* HC_E_INPUT, with `path`, unless the bands of each detector rise or fall in wavelength throughout; equal
 * neighbours are rounded numbers. A list that turns is damaged, and putting it into order would hide that.
 * For the bands in the order of the product. */
HcStatus hc_product_check_turns(const HcProduct *product, const char *path, HcError *err) HC_MUST_CHECK;

/* Drops bands that are not used, puts the others into order, marks those that two detectors share and one
 * gives (`overlap`), and fills what the scene says of bands. */
HcStatus hc_product_settle(HcProduct *product, HcOverlap overlap, HcError *err) HC_MUST_CHECK;

/* ---- smile.c: bands that differ from column to column ---- */

typedef struct HcProductSmile {
    const char *dataset; /* the table, [columns][channels] [nm]; a channel of zeros is not used */
    const char *name;    /* of the list, for remarks */
    double *list;        /* [count] of the product, 0 = not used */
    int32_t count;
    double tolerance; /* a mean further from the list than that is of another band [nm] */
    bool says;        /* a remark tells how far the columns lie from their means */
} HcProductSmile;
/* Puts the means of the columns into the list, where the file has the table; a remark where the table does
 * not fit the list, which then stays. HC_E_INPUT where a value is negative or no number. */
HcStatus hc_product_smile(HcProduct *product, const HcProductFile *file, const HcProductSmile *smile,
                          HcError *err) HC_MUST_CHECK;

/* ---- layer.c: quality layers ---- */

/* Adds one, as `layer` says except for its texts: a raster (dataset NULL), an array, or two. */
HcStatus hc_product_add_layer(HcProduct *product, const HcProductLayer *layer, const char *path,
                              const char *dataset, const char *other, HcError *err) HC_MUST_CHECK;
/* The same for an array of the file, if it exists. */
HcStatus hc_product_add_flat(HcProduct *product, const HcProductFile *file, const HcProductLayer *layer,
                             const char *dataset, HcError *err) HC_MUST_CHECK;
void hc_product_clear_layers(HcProduct *product);

/* ---- lines.c and chunked.c: lines from arrays ---- */

/* The bytes of one value of an array, lowest address first, as GDAL reads it. */
HcStatus hc_product_value(const HcProduct *product, int32_t array, int64_t line, int64_t sample, int32_t band,
                          uint64_t *value, HcError *err) HC_MUST_CHECK;
/* The bands of a box of an array to their places in the raw block; band b of the array lies at
 * place[b - first] of the box, NULL: in their order. */
typedef struct HcProductBox {
    int32_t array, first, count;
    const int32_t *place;
    HcRaw raw;
} HcProductBox;
void hc_product_scatter(const HcProduct *product, const int32_t *used, const HcProductBox *box,
                        const HcRaw *raw);
/* Samples that are read, and the first of them in the array. */
int64_t hc_product_samples(const HcProduct *product);
int64_t hc_product_first_sample(const HcProduct *product, int32_t array);
/* A raw block at `to` whose bands follow each other in each line, and the bytes of its values. */
HcRaw hc_product_block(const HcProduct *product, int32_t count, int64_t line0, int32_t lines, void *to);
size_t hc_product_block_bytes(const HcProduct *product, int32_t count, int64_t lines);

/* ---- names.c: files beside a file ---- */

/* Whether a look beside the file asks no server. */
bool hc_product_is_near(const char *path);
/* The time stamp in a name, "20260921T044051"; empty where it has none. */
enum { HC_PRODUCT_STAMP = 16 };
void hc_product_time_stamp(const char *path, char stamp[HC_PRODUCT_STAMP]);
/* The file beside `path` with the same ending and both texts in its name, in any case: that of the highest
 * number after `word`, its version. In fresh memory; NULL where there is none. */
HcStatus hc_product_newest(const char *path, const char *word, const char *key, char **out,
                           HcError *err) HC_MUST_CHECK;
/* The path with `from` at its end, in any case, replaced by `to`; NULL where it does not end so. */
HcStatus hc_product_swap_end(const char *path, const char *from, const char *to, char **out,
                             HcError *err) HC_MUST_CHECK;

/* "NAME (UNITS)", the units those of a dataset where it has some (NULL = none). */
HcStatus hc_product_name(HcProduct *product, const HcProductFile *file, const char *name, const char *dataset,
                         HcError *err) HC_MUST_CHECK;

/* The coordinate system of an EPSG code; a remark where there is none. */
HcStatus hc_product_crs(HcProduct *product, double epsg, HcError *err) HC_MUST_CHECK;
/* As that, of a text that OSRSetFromUserInput knows, but no file or address; `from` names it in the remark.
 */
HcStatus hc_product_crs_text(HcProduct *product, const char *text, const char *from,
                             HcError *err) HC_MUST_CHECK;

/* Gives the scene the place by centres of its pixels, x [samples] and y [lines]; false where their steps
 * differ. */
bool hc_product_centres(HcProduct *product, const double *x, const double *y);

/* Gives the scene the lookup table whose arrays have these names, or the coordinates of its pixels. */
HcStatus hc_product_lookup(HcProduct *product, const HcProductFile *file, const char *sample,
                           const char *line, HcError *err) HC_MUST_CHECK;
HcStatus hc_product_coordinates(HcProduct *product, const HcProductFile *file, const char *longitude,
                                const char *latitude, HcError *err) HC_MUST_CHECK;
/* emit.c: that of a file of EMIT, with the place of its grid; and the file of masks beside it. */
HcStatus hc_product_emit_lookup(HcProduct *product, const HcProductFile *file, HcError *err) HC_MUST_CHECK;
HcStatus hc_product_emit_masks(HcProduct *product, const HcProductFile *file, HcError *err) HC_MUST_CHECK;

/* Adds a remark; news is what the table of layouts does not have, which is a remark as well. */
void hc_product_note(HcProduct *product, const char *format, ...) HC_PRINTF(2, 3);
void hc_product_add_news(HcProduct *product, const char *format, ...) HC_PRINTF(2, 3);

#endif
