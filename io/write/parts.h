/* What the files of the writer share; nobody else includes this. */
#ifndef HC_IO_WRITE_PARTS_H
#define HC_IO_WRITE_PARTS_H

#include "core/text.h"
#include "core/system/team.h"
#include "io/gdal/errors.h"
#include "io/libraries.h"
#include "io/write/cog/pyramid.h"
#include "io/write/values.h"
#include "io/write/writer.h"

#include <gdal.h>

/* More bands than any instrument has. With that number, tiles of a TIFF are as small as they can be, and
 * GDAL's cache must hold one of each band (writer.c). */
#define HC_MANY_BANDS 4096

/* Bytes of an ENVI file for which it is worth much to have their space early, and all threads store them. */
#define HC_LARGE_FILE ((int64_t)512 << 20)
/* Threads from which stores to a mapped file are faster than one thread that writes: with two they are not.
 */
#define HC_MAPPING_THREADS 4
/* Bytes that a thread stores at a time: to wake one takes as long as to store some hundred KiB. */
#define HC_STORED_EACH (512 << 10)

/* How the bytes get into the file. */
typedef enum HcWriteWay {
    HC_WRITE_ENVI,   /* written here, the header too */
    HC_WRITE_CREATE, /* a driver that can create: block by block */
    HC_WRITE_ARRAY,  /* netCDF, Zarr: one array of all bands, by GDAL's interface for arrays */
    HC_WRITE_COPY    /* COG, or a driver that only copies: from a temporary GeoTIFF, at finish */
} HcWriteWay;

/* plan.c: everything that was decided before a file exists. */
typedef struct HcWritePlan {
    GDALDriverH driver;
    const char *format; /* the driver's name; lives as long as the driver */
    HcWriteWay way;
    char *path;   /* of the data */
    char *header; /* ENVI: of the header */
    char *place;  /* ENVI: the map fields of the header */
    HcType type;
    GDALDataType gdal_type;
    double nodata;
    bool no_nodata; /* nothing can be masked, and every value is data */
    bool scaled;    /* stored = (value - offset) / scale */
    double scale, offset;
    bool in_parts; /* the bands after the classes are stored as whole numbers of parts, each with its scale */
    bool shares_nodata;       /* valid pixels may hold it too: class 0 of a class map */
    HcInterleave interleave;  /* ENVI */
    int64_t large;            /* bytes from which an ENVI file is begun early, and mapped in memory */
    int32_t storing;          /* threads that store values */
    char **options;           /* creation options for the driver, as a GDAL string list */
    bool may_lose;            /* HC_WRITE_COPY: the driver or its options may change values */
    bool encodes;             /* GDAL makes the file without its tiles, which are encoded and placed here */
    double scratch;           /* bytes that it takes at most in the scratch folder, on its way to a server */
    int threads, threads_max; /* that compress, of GDAL or (`encodes`) ours: those in `options`, and the most
                                  that help where the planner may choose, else the same */
} HcWritePlan;

/* Decides and checks; creates nothing. hc_write_plan_clear() is safe after a failure too. */
HcStatus hc_write_plan(HcWritePlan *plan, const char *path, const HcScene *scene,
                       const HcWriterOptions *options, HcError *err) HC_MUST_CHECK;
void hc_write_plan_clear(HcWritePlan *plan);
/* Says that an output is larger than what is left of the stated space; returns HC_E_IO. */
HcStatus hc_write_fail_scratch(const HcWritePlan *plan, double left, HcError *err);
/* The creation options of a tiled GeoTIFF: tiles that divide the scene with little waste. */
HcStatus hc_write_tiles(char ***options, const HcScene *scene, HcType type, HcError *err) HC_MUST_CHECK;
/* The creation options of the temporary GeoTIFF that is copied at finish. */
HcStatus hc_write_source(char ***options, const HcWritePlan *plan, const HcScene *scene,
                         HcError *err) HC_MUST_CHECK;
/* Whether tiles of the plan can be encoded here: a tiled GeoTIFF without options that concern the values and
 * are not known here. */
bool hc_write_encodes(const HcWritePlan *plan, const HcScene *scene);
/* The level of the compression, of `encodes`. */
int hc_write_level(const HcWritePlan *plan);
/* Memory of two rows of tiles, the lines that wait at least [bytes]. */
double hc_write_tile_rows(const HcWritePlan *plan, const HcScene *scene);

/* Tiles of a file that GDAL has made without them. *out is NULL where GDAL has made something else than was
 * asked of it. *rows = lines that wait for their tiles; line l is row l % rows of them; `pixels`: with the
 * bands of a pixel together, else band by band. */
typedef struct HcWriteTiles HcWriteTiles;
HcStatus hc_write_tiles_open(HcWriteTiles **out, const char *file, const HcWritePlan *plan,
                             const HcScene *scene, int32_t *rows, bool *pixels, HcError *err) HC_MUST_CHECK;
/* With the memory of these lines, which is borrowed until close. */
HcStatus hc_write_tiles_begin(HcWriteTiles *tiles, const HcWritePlan *plan, void *lines,
                              HcError *err) HC_MUST_CHECK;
/* As in io/chunk/sink.h. */
HcStatus hc_write_tiles_room(HcWriteTiles *tiles, int32_t *lines, HcError *err) HC_MUST_CHECK;
HcStatus hc_write_tiles_give(HcWriteTiles *tiles, int32_t lines, HcError *err) HC_MUST_CHECK;
/* All tiles are in the file, which says where, and is closed. Of a COG in `copy`, and its overviews too. */
HcStatus hc_write_tiles_finish(HcWriteTiles *tiles, const char *copy, const HcWritePlan *plan,
                               HcError *err) HC_MUST_CHECK;
void hc_write_tiles_close(HcWriteTiles *tiles);
GDALDataType hc_write_gdal_type(HcType type);

/* dataset.c: a file with all that the scene says, and without its values. */
HcStatus hc_write_dataset_create(GDALDatasetH *out, const char *file, const HcWritePlan *plan,
                                 const HcScene *scene, HcError *err) HC_MUST_CHECK;
/* Writes the first `rows` rows of stored lines as the scene's lines from line0. `flush`: GDAL need not keep
 * them. */
HcStatus hc_write_dataset_lines(GDALDatasetH dataset, const HcWritePlan *plan, const HcStored *layout,
                                void *stored, int64_t line0, int32_t rows, bool flush,
                                HcError *err) HC_MUST_CHECK;
/* What is still buffered is written then. *dataset is NULL after it. Messages name `path`. */
HcStatus hc_write_dataset_close(const char *path, GDALDatasetH *dataset, HcError *err) HC_MUST_CHECK;
/* Makes `partial` of the closed GeoTIFF `from`, and removes that. *loss becomes the largest difference of a
 * value [stored units]. HC_E_UNSUPPORTED where the loss reaches classes or masked pixels. */
HcStatus hc_write_dataset_copy(const char *from, const char *partial, const HcScene *scene,
                               const HcWritePlan *plan, double *loss, HcError *err) HC_MUST_CHECK;

/* options.c: lists of creation options NAME=VALUE, which CSLDestroy frees. */
/* Sets one, in place of one of that name in any case. */
HcStatus hc_write_option(char ***options, const char *name, const char *value, HcError *err) HC_MUST_CHECK;
/* Sets all of a list, or none where it is NULL. */
HcStatus hc_write_options_add(char ***options, const char *const *added, HcError *err) HC_MUST_CHECK;

/* Sets what makes a JPEG 2000 file lossless; the options that the user gives replace it. */
HcStatus hc_write_lossless(HcWritePlan *plan, const char *const *given, HcError *err) HC_MUST_CHECK;

/* scene.c: what a scene says, as metadata of a GDAL dataset. */
HcStatus hc_write_describe(GDALDatasetH dataset, const char *path, const HcScene *scene,
                           const HcWritePlan *plan, HcError *err) HC_MUST_CHECK;
/* What the scene says where its values are scaled: physical = gain (scale stored + offset) + offset of the
 * scene. */
HcStatus hc_write_scale(HcScene *scene, const HcWritePlan *plan, HcError *err) HC_MUST_CHECK;
/* "0.25", "nan": the fewest digits that give the same double, in any locale. */
const char *hc_write_number(char buffer[40], double value);
/* A new file `partial` of that text; messages name `path`. */
HcStatus hc_write_text_file(const char *path, const char *partial, const char *text,
                            HcError *err) HC_MUST_CHECK;

/* classes.c */
/* Whether such a file is a classification in the sense of ENVI: one band of integers. */
bool hc_write_one_class_band(const HcScene *scene, HcType type);
/* Whether its first band has names and colours in the sense of GIS: integers, all bands. */
bool hc_write_has_classes(const HcScene *scene, HcType type);
HcType hc_write_class_type(const HcScene *scene);
/* Names and colours, of a class map alone: into the header, and into a dataset, whose GeoTIFF then has an
 * .aux.xml beside it. When the GeoTIFF is whole, hc_write_class_table adds the colours to the .aux.xml. */
void hc_write_envi_classes(HcText *to, const HcScene *scene);
/* What kind of values they are, for "hcube values" and `hcube_values`; NULL = spectra or classes. */
const char *hc_write_values(const HcScene *scene);
/* "hcube values". The names of the numbers that bands hold,
 * of `unmix --top`: "spectrum names" and `spectrum_names`. */
void hc_write_envi_numbers(HcText *to, const HcScene *scene);
HcStatus hc_write_describe_numbers(GDALDatasetH dataset, const HcScene *scene, HcError *err) HC_MUST_CHECK;
HcStatus hc_write_class_table(const char *file, const HcScene *scene, const HcWritePlan *plan,
                              HcError *err) HC_MUST_CHECK;
HcStatus hc_write_describe_classes(GDALDatasetH dataset, const HcScene *scene, const HcWritePlan *plan,
                                   HcError *err) HC_MUST_CHECK;

/* envi/place.c: the map fields of the header (fresh memory, also on failure), in GDAL's words;
 * HC_E_UNSUPPORTED for a grid that they cannot describe. */
HcStatus hc_write_envi_place(const char *path, const HcScene *scene, char **text, HcError *err) HC_MUST_CHECK;
/* envi/header.c: the text of the header; fresh memory, NULL when that ran out. */
char *hc_write_envi_header(const HcScene *scene, const HcWritePlan *plan);
/* Appends a name; what would end it or the list that it stands in becomes something alike. */
void hc_write_envi_name(HcText *to, const char *name, bool in_list);
/* envi/data.c: creates the file at its full size, so that a full disk fails before the work and not after it.
 * *map: where it is large and lies in memory, else NULL; to be closed also on failure. */
typedef struct HcWriteMap HcWriteMap;
HcStatus hc_write_envi_create(const char *partial, const HcWritePlan *plan, const HcScene *scene, int *file,
                              HcWriteMap **map, HcError *err) HC_MUST_CHECK;
/* Writes the first `rows` rows of stored lines as the scene's lines from line0. */
HcStatus hc_write_envi_lines(int file, const HcWritePlan *plan, const HcScene *scene, const HcStored *layout,
                             const void *stored, int64_t line0, int32_t rows, HcError *err) HC_MUST_CHECK;

/* envi/map.c: maps a file of its full size. reserve: takes space for all of it, beside the work. Only one of
 * the processes that write a file does so. *out is NULL where it is to be written instead. Returns 0 or an
 * errno: there is no space. */
int hc_write_map_open(HcWriteMap **out, int file, const HcWritePlan *plan, const HcScene *scene,
                      bool reserve);
/* Takes NULL. */
void hc_write_map_close(HcWriteMap *map);
/* Brings the pages of `rows` lines from line0, so that these can be stored; *at is the first one's place, and
 * strides are those of the whole file. Fails where there is no space. `team` may be NULL. */
HcStatus hc_write_map_bring(HcWriteMap *map, const HcWritePlan *plan, int64_t line0, int32_t rows,
                            HcTeam *team, void **at, HcError *err) HC_MUST_CHECK;
/* Gives pages up, which count as memory of the process; the file keeps them. */
void hc_write_map_give_up(HcWriteMap *map, int64_t line0, int32_t rows, HcTeam *team);

/* netcdf.c: the file as one array of all bands. */
typedef struct HcWriteArray HcWriteArray;
/* Whether the scene is written so: netCDF that is no class map, and Zarr. */
bool hc_write_is_array(const HcWritePlan *plan, const HcScene *scene);
/* HC_E_UNSUPPORTED for a class map, which GDAL's raster interface writes, in a projection that it lacks. */
HcStatus hc_write_netcdf_check_map(const HcWritePlan *plan, const HcScene *scene, HcError *err) HC_MUST_CHECK;
/* Of Zarr: HC_E_UNSUPPORTED for a class map, and in an object store, where an output is one file. */
HcStatus hc_write_check_zarr(const HcWritePlan *plan, const HcScene *scene, HcError *err) HC_MUST_CHECK;
/* HC_E_UNSUPPORTED for a grid that its coordinates cannot describe. */
HcStatus hc_write_array_check(const HcWritePlan *plan, const HcScene *scene, HcError *err) HC_MUST_CHECK;
/* Creates the file with all that the scene says, without its values. */
HcStatus hc_write_array_create(HcWriteArray **out, const char *partial, const HcScene *scene,
                               const HcWritePlan *plan, HcError *err) HC_MUST_CHECK;
/* Lines that should be stored at once: whole chunks. */
int32_t hc_write_array_rows(const HcScene *scene);
/* Writes the first `rows` rows of stored lines as the scene's lines from line0. */
HcStatus hc_write_array_lines(HcWriteArray *file, const HcWritePlan *plan, const HcStored *layout,
                              const void *stored, int64_t line0, int32_t rows, HcError *err) HC_MUST_CHECK;
/* Gives the dataset away, which the caller closes, and frees the rest. */
GDALDatasetH hc_write_array_dataset(HcWriteArray *file);
void hc_write_array_close(HcWriteArray *file);

/* cog/driver.c: creation options of a COG and of the file that it is copied from, and the memory that the
 * copy takes. Tiles get smaller with the number of bands. */
bool hc_write_is_cog(const HcWritePlan *plan);
bool hc_write_is_tiff(const HcWritePlan *plan); /* or a COG */
HcStatus hc_write_cog_tiles(char ***options, const HcWritePlan *plan, const HcScene *scene,
                            HcError *err) HC_MUST_CHECK;
int hc_write_cog_edge(const HcWritePlan *plan); /* of a tile [pixels] */
/* Into an empty list. */
HcStatus hc_write_cog_source(char ***options, const HcWritePlan *plan, const HcScene *scene,
                             HcError *err) HC_MUST_CHECK;
int hc_write_cog_rows(const HcWritePlan *plan, const HcScene *scene);      /* lines of a row of tiles */
double hc_write_cog_memory(const HcWritePlan *plan, const HcScene *scene); /* [bytes] */
/* Adds the overviews to the file that is copied. */
HcStatus hc_write_cog_overviews(const char *file, const HcWritePlan *plan, const HcScene *scene,
                                HcError *err) HC_MUST_CHECK;

/* Overviews and an image whose tiles are encoded, with the files where these lie. GDAL made the image without
 * tiles. */
typedef struct HcCogParts {
    const HcChunkIndex *image;
    const HcPyramid *pyramid;
    int image_file, overview_file; /* open for reading */
} HcCogParts;
/* cog/file.c: makes the COG of them. */
HcStatus hc_write_cog_file(const char *file, const HcCogParts *parts, const HcWritePlan *plan,
                           HcError *err) HC_MUST_CHECK;

/* threads.c: memory of a writer that does not compress [bytes], and threads that compress tiles. */
double hc_write_memory(const HcWritePlan *plan, const HcScene *scene);
/* How that many lines are stored. */
HcStored hc_write_layout(const HcWritePlan *plan, const HcScene *scene, HcInterleave interleave,
                         int32_t rows);
/* Lines of an ENVI output that should be stored at once, and of one that is mapped. */
int32_t hc_write_envi_rows(const HcScene *scene, const HcWritePlan *plan);
int32_t hc_write_map_rows(const HcScene *scene, const HcWritePlan *plan);
/* What GDAL's cache takes to hold two blocks of each band, with some hundred bytes beside each. */
double hc_write_blocks_bytes(const HcScene *scene, HcType type, int pixels);
/* The most that help: one a processor (or what GDAL_NUM_THREADS says), but no more than there are tiles. 1
 * where GDAL encodes: it waits for ever for threads that do not start. */
int hc_write_threads_max(const HcWritePlan *plan, const HcScene *scene);
/* The number that the creation options say, 0 = none. */
int hc_write_threads_fixed(const HcWritePlan *plan);
/* One thread in place of those that the user asks GDAL for, where the system does not start these now. */
HcStatus hc_write_sure_threads(char ***options, const HcWritePlan *plan, HcError *err) HC_MUST_CHECK;
/* Host memory that they take beyond that of a writer that does not compress [bytes]. */
double hc_write_threads_memory(const HcWritePlan *plan, const HcScene *scene, int threads);
/* The level of zstd in a GeoTIFF or COG, unless the user names one: 3, the standard of zstd. That of GDAL, 9,
 * takes three times the processor time for 1 to 6 % fewer bytes. */
HcStatus hc_write_zstd_level(HcWritePlan *plan, HcError *err) HC_MUST_CHECK;

/* check/probe.c: HC_E_UNSUPPORTED for what the driver cannot hold. */
HcStatus hc_write_probe(const HcWritePlan *plan, const HcScene *scene, HcError *err) HC_MUST_CHECK;
/* check/check.c: HC_E_IO unless the closed file is whole: it opens with the shape, type, bands and nodata
 * value that were written, and nothing of it lies beyond its end. `file` is its temporary name. Adds to
 * `lacks` what the format does not keep of place and RPC; HC_E_IO where docs/files.md promises it. */
HcStatus hc_write_check(const char *file, const HcScene *scene, const HcWritePlan *plan, HcText *lacks,
                        HcError *err) HC_MUST_CHECK;
/* Whether a band that was opened again has the missing values that were written. */
bool hc_write_keeps_nodata(GDALRasterBandH band, const HcWritePlan *plan);
HcStatus hc_write_check_envi(const char *data, const char *header, const HcScene *scene,
                             const HcWritePlan *plan, HcError *err) HC_MUST_CHECK;
/* Why a file cannot grow, as an errno, or 0. */
int hc_write_lack_of_space(const char *path);

/* check/tiff.c: the same for the directories, strips and tiles of a TIFF file. Messages name `path`.
 * `sparse`: strips and tiles may be missing. */
HcStatus hc_write_check_tiff(const char *file, const char *path, bool sparse, HcError *err) HC_MUST_CHECK;

#endif
