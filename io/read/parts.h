/* What the files of the reader share; nobody else includes this. */
#ifndef HC_IO_READ_PARTS_H
#define HC_IO_READ_PARTS_H

#include "core/text.h"
#include "core/system/team.h"
#include "io/chunk/chunks.h"
#include "io/read/metadata/envi_header.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"
#include "io/gdal/remote.h"
#include "io/libraries.h"
#include "io/read/product/product.h"
#include "io/read/raw_layout.h"
#include "io/read/reader.h"
#include "io/read/metadata/value.h"
#include "io/gdal/proj.h"
#include "io/watch.h"

#include <cpl_vsi.h>
#include <gdal.h>

/* What CF says of the values of an array beside its _FillValue: those outside of low to high and those of
 * `missing` are none. */
typedef struct HcReadValidity {
    bool known;
    double low, high;
    double missing[8];
    int32_t count;
    double scale, offset; /* 1 and 0 where it says none */
    uint64_t nodata;      /* the bytes that stand for such values in a block */
} HcReadValidity;

struct HcReader {
    HcScene scene;
    HcReaderOptions options; /* its texts are gone once open has returned */
    char *path;              /* of the data, as opened */
    char *method;
    char *unit; /* of the values, NULL = the file does not say */
    char *flaw; /* why the metadata of a known sensor are left out, or NULL */
    char *name; /* of the file, as it may be shown */
    HcText note;
    int64_t size, modified;
    double *band_nodata; /* [bands] where they differ, NaN = none; else NULL */

    HcEnviHeader header; /* of the scene itself, only while opening; no fields when there is none */
    HcEnviShape shape;

    /* Direct reading. */
    bool direct;
    bool guessed;     /* GDAL gave a layout, but did not name the file that it is of */
    int file;         /* -1 when closed */
    HcRemote *remote; /* instead of it, of a /vsi file */
    HcRawLayout layout;
    bool whole_lines; /* all bands of a line lie together (BIL, BIP); else each band on its own (BSQ) */
    int32_t threads;
    HcTeam *team; /* for direct reading, from the first large read on */
    char *map;    /* the whole file, when it is read through a mapping; else NULL */
    size_t map_bytes;
    int map_number; /* among the mappings of the process */

    HcChunks *chunks; /* reading chunks; NULL when lines are read in another way */

    /* Reading through GDAL. */
    GDALDatasetH dataset; /* NULL when lines are read in another way */
    bool pixel_interleaved;
    bool is_overview; /* of the file */
    bool checked;     /* chunks of HDF5 are whole: GDAL may read them */

    /* The mask of the file, which GDAL reads beside the values, whatever reads these. */
    GDALDatasetH mask; /* NULL = none, or that is ignored */
    char *mask_name;   /* "mask band", "alpha band 4" */
    int mask_alpha;    /* the band of the file that is the mask, from 1; 0 = none */

    HcProduct *product; /* the scene is one; its arrays hold the pixels where it names no raster */

    HcReadValidity validity;

    int32_t *order; /* [bands] which band of the raster each of the scene is; NULL = the one of its number */

    bool started;             /* a line was read: the bands are settled */
    int64_t sample0, samples; /* that are asked for; samples 0 = all */
    int64_t line_end;         /* lines are asked for in their order up to here; 0 = in any order */
    int32_t *used;            /* bands of the file that are read, ascending; NULL = all */
    int32_t used_count;
    int32_t *stored; /* [bands] place of a band of the file among those read, -1 = not read; NULL = all */

    char **files;           /* that GDAL says the scene is made of; GDAL string list, may be NULL */
    HcWatch watch;          /* on all files of the scene */
    uint64_t proj_failures; /* before it was opened */
    int64_t mark;           /* of the notes on files of GDAL, before anything was opened */
};

/* gdal.c */
/* Opens through GDAL, by `driver` alone or any (NULL); NULL and a message when it does not open. */
GDALDatasetH hc_read_gdal_open(const char *path, const char *driver, HcGdalErrors *messages);
/* sure.c: the same for a file that is described by others beside it. *out is NULL, with a message and
 * HC_OK, where the file is none that GDAL opens; a failure (HC_E_IO, HC_E_MEMORY) where it, or a part of its
 * description, could not be read. */
HcStatus hc_read_gdal_open_sure(GDALDatasetH *out, const char *path, const char *driver,
                                HcGdalErrors *messages, HcError *err) HC_MUST_CHECK;
/* A file that GDAL does not open: fails where memory, descriptors or the disk are the cause. `messages` are
 * those of the opening. */
HcStatus hc_read_check_readable(const char *path, const HcGdalErrors *messages, HcError *err) HC_MUST_CHECK;
/* The type of all bands together; false when it is complex or unknown. */
bool hc_read_gdal_type(GDALDatasetH dataset, HcType *type);
GDALDataType hc_read_gdal_code(HcType type);
/* The type of a single code; false where there is none. */
bool hc_read_gdal_code_type(GDALDataType code, HcType *type);
/* The type of a buffer for bands of this dataset, which together have that type: GDAL then changes no value.
 */
GDALDataType hc_read_gdal_buffer_code(GDALDatasetH dataset, HcType type);
/* Where few pixels suffice, puts an overview of the raster in the place of the scene. */
void hc_read_overview(HcReader *reader);
/* Finds the mask of the file, and counts an alpha band among the bad bands. */
HcStatus hc_read_mask(HcReader *reader, HcError *err) HC_MUST_CHECK;
/* Closes the dataset, which may stay open for the mask. */
void hc_read_let_go(HcReader *reader);
size_t hc_read_gdal_bytes(const HcReader *reader, int64_t lines);
HcStatus hc_read_gdal_lines(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                            HcError *err);

/* find.c: candidates for the data file of a header, in the order of preference, NULL-terminated GDAL
 * string list, freed by CSLDestroy also after a failure, NULL where there is none. `sure` holds names that
 * are taken if they exist; `other` any other file of the same stem. */
HcStatus hc_read_find_sure(const char *header_path, char ***list, HcError *err) HC_MUST_CHECK;
HcStatus hc_read_find_other(const char *header_path, char ***list, HcError *err) HC_MUST_CHECK;
/* The ENVI header beside a data file (to be freed), NULL where there is none. Fails where one
 * could not be looked at. */
HcStatus hc_read_find_header(const char *data_path, char **out, HcError *err) HC_MUST_CHECK;
/* Whether there is such a file, no folder, pipe or device. Notes one that cannot be looked at
 * (hc_gdal_files_check). */
bool hc_read_is_file(const char *path, int64_t *size, int64_t *modified);
/* What a file is by its first bytes. What is no file, or may not be read, is another one. Fails where memory,
 * descriptors or the disk do. */
typedef enum HcFileKind {
    HC_KIND_OTHER,
    HC_KIND_HDF5,    /* or netCDF 4 */
    HC_KIND_ZARR,    /* a folder */
    HC_KIND_ARCHIVE, /* ZIP */
    HC_KIND_GZIP,
    HC_KIND_ENVI,   /* a header */
    HC_KIND_RASTER, /* of a format with a signature: TIFF, PNG, JPEG, JPEG 2000, NITF, HFA, netCDF 3 */
    HC_KIND_META,   /* a list of files, by ENVI */
    HC_KIND_TEXT    /* any other text */
} HcFileKind;
HcStatus hc_read_kind(const char *path, HcFileKind *kind, HcError *err) HC_MUST_CHECK;
/* Whether the file is an ENVI header; one that may not be read is none. */
HcStatus hc_read_is_envi(const char *path, bool *is, HcError *err) HC_MUST_CHECK;
/* Whether programs put a file of this name beside a raster, which it is not itself. */
bool hc_read_is_companion(const char *name);

/* open.c: dataset, path, layout (path NULL when there is none) and the ENVI header. */
HcStatus hc_read_open(HcReader *reader, const char *path, HcError *err);
/* Say why nothing was opened (unknown.c). */
HcStatus hc_read_fail_meta(const char *path, HcError *err);
HcStatus hc_read_fail_unknown(const char *path, const HcGdalErrors *messages, HcError *err);

/* axes.c: HC_E_UNSUPPORTED, with what was found, for an array of a netCDF or HDF file with other
 * axes. Its axes must be known to be band, line, sample in the order in which GDAL takes them. Every other
 * dataset passes. */
HcStatus hc_read_check_axes(GDALDatasetH dataset, const char *path, HcError *err) HC_MUST_CHECK;

/* An array that such a dataset shows: its file and full name in fresh memory, and its axes, the slowest
 * first; one of two axes is one band, which comes first. known: whether there is one. */
typedef struct HcReadArray {
    bool known;
    char *file, *name;
    int rise; /* of the coordinates of the lines: 1, -1, 0 = there are none */
    HcAxis order[HC_AXES];
} HcReadArray;
HcStatus hc_read_array(HcReadArray *array, GDALDatasetH dataset, const char *path,
                       HcError *err) HC_MUST_CHECK;

/* The axes of any array by their names, the slowest first; one of lines and samples is one band, which comes
 * first. Fills the name of the axis of the bands. false: they are not known as such. */
bool hc_read_order(GDALMDArrayH array, HcAxis order[HC_AXES], char *bands, size_t bytes);
/* What a list of numbers says of the bands, whose axis has that name and count. */
typedef enum HcReadRole { HC_ROLE_NONE, HC_ROLE_CENTRE, HC_ROLE_WIDTH } HcReadRole;
HcReadRole hc_read_role(GDALMDArrayH list, const char *bands, int64_t count);

/* Wavelengths and widths that lie beside the array of such a dataset: the coordinates of its bands, auxiliary
 * ones, or lists of such a name. Fills what the scene lacks. */
HcStatus hc_read_array_spectral(HcReader *reader, HcError *err) HC_MUST_CHECK;

/* Attributes of the array that change the type or the validity of values (_Unsigned, valid_min, valid_max,
 * valid_range, missing_value), as far as GDAL's drivers pass over them. */
HcStatus hc_read_array_validity(HcReader *reader, HcError *err) HC_MUST_CHECK;
/* value.c: the lowest and highest value of an integer type. */
void hc_read_limits(HcType type, double *low, double *high);
/* Puts nodata in the place of values of the block at `to` that are none. */
void hc_read_mark_invalid(const HcReader *reader, const HcRaw *raw, void *to);

/* scene.c: the scene of an opened dataset. */
HcStatus hc_read_scene(HcReader *reader, HcError *err);
/* What the header says and GDAL has not (metadata/scene_envi.c). */
HcStatus hc_read_fill_from_envi(HcReader *reader, const HcEnviHeader *header, HcError *err);
/* Nodata as the stored type has it. */
double hc_read_stored_nodata(const HcScene *scene, double value);
void hc_read_set_nodata(HcScene *scene, double value);
/* Arrays for gain and offset; either may be NULL (factor and 0). Nothing is set when all are 1 and 0. */
HcStatus hc_read_set_gains(HcReader *reader, const double *gain, const double *offset, double factor,
                           HcError *err);

/* A text as one clean line; empty becomes NULL. */
HcStatus hc_read_set_text(char **to, const char *text, HcError *err) HC_MUST_CHECK;
/* A list of a header whose flaws (HC_E_INPUT) are remarks, not failures: NULL when it is missing, broken or
 * of another length than `want` (0 = any). */
HcStatus hc_read_list(HcReader *reader, const HcEnviHeader *header, const char *key, int32_t want,
                      double **values, int32_t *count, HcError *err) HC_MUST_CHECK;
/* Makes a remark "WHAT left out: why" of a flaw of the input and returns HC_OK; every other failure goes on
 * into err. */
HcStatus hc_read_leave_out(HcReader *reader, const char *what, const HcError *why,
                           HcError *err) HC_MUST_CHECK;

/* Notes on fields of the header of the scene that contradict each other, are missing, or say no place. */
void hc_read_note_header(HcReader *reader);
/* Drops a place that maps all pixels onto a line or point. Notes it, a nodata value that the type cannot
 * hold, and widths larger than the wavelength. */
void hc_read_check_values(HcReader *reader);

/* class_map.c: names and colours of classes, where the scene has none yet: from the fields of a header,
 * and from what GDAL knows of the first band. */
HcStatus hc_read_envi_classes(HcReader *reader, const HcEnviHeader *header, HcError *err) HC_MUST_CHECK;
/* The names of the numbers that bands of `unmix --top` hold, and what kind of values our own files name. */
HcStatus hc_read_envi_numbers(HcReader *reader, const HcEnviHeader *header, HcError *err) HC_MUST_CHECK;
HcStatus hc_read_gdal_classes(HcReader *reader, HcError *err) HC_MUST_CHECK;

/* spectral.c: wavelengths and fwhm as found, any count and unit (NULL = not said). Fills what the scene
 * lacks. */
typedef struct HcReadSpectral {
    double *wavelength, *fwhm;
    int32_t wavelength_count, fwhm_count;
    const char *unit;
} HcReadSpectral;
HcStatus hc_read_spectral(HcReader *reader, const HcReadSpectral *found, HcError *err);
/* Takes wavelengths from the names of the bands, with a note, where nothing else has them: each name has one
 * with its unit ("Band 1 (450.0 Nanometers)", "0.45um"), or names differ in numbers that look like nanometres
 * ("Band_503"). */
HcStatus hc_read_names_spectral(HcReader *reader, HcError *err) HC_MUST_CHECK;
/* Bands that are all named as components ("MNF 1", "PC Band 2") are components, in the files of others too.
 */
void hc_read_names_components(HcScene *scene);
/* Adds a remark for the user; without memory for it, opening fails in the end. */
void hc_read_note(HcReader *reader, const char *format, ...) HC_PRINTF(2, 3);

/* product.c: a scene that is a product. */
static inline bool hc_read_by_product(const HcReader *reader) {
    return reader->product != NULL && reader->product->raster == NULL && reader->chunks == NULL;
}
/* Puts the bands of a product that is a raster into the order of their wavelengths, when all else is known.
 */
HcStatus hc_read_sort_bands(HcReader *reader, HcError *err) HC_MUST_CHECK;
/* Gives the scene such an order, [bands]. */
HcStatus hc_read_order_bands(HcReader *reader, const int32_t *order, HcError *err) HC_MUST_CHECK;
/* Reads chunks, where those of all arrays are known: of one array with all bands in their order by
 * reader->chunks, of others by the product. */
HcStatus hc_read_product_chunks(HcReader *reader, HcError *err);
/* The scene of a product whose arrays hold the pixels; of another one what it says of the bands of the
 * raster, which is known already. */
HcStatus hc_read_product_scene(HcReader *reader, HcError *err);
size_t hc_read_product_bytes(const HcReader *reader, int64_t lines);
HcStatus hc_read_product_lines(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                               HcError *err);
int32_t hc_read_product_band(const HcReader *reader, int32_t file_band);

/* direct.c */
/* Whether direct reading can and may be used; opens the file and checks it against GDAL. */
HcStatus hc_read_direct_try(HcReader *reader, HcError *err);
size_t hc_read_direct_bytes(const HcReader *reader, int64_t lines);
HcStatus hc_read_direct_lines(HcReader *reader, int64_t line0, int32_t lines, void *to, HcRaw *raw,
                              HcError *err);
/* As hc_reader_read_part, hc_reader_describe and hc_reader_is_zero. */
HcStatus hc_read_direct_part(const HcReader *reader, int64_t line0, int32_t lines, int64_t at, int64_t bytes,
                             void *to, HcError *err);
void hc_read_direct_describe(const HcReader *reader, int64_t line0, int32_t lines, const void *at,
                             HcRaw *raw);
bool hc_read_direct_is_zero(const HcReader *reader, int64_t line, int64_t sample, int32_t band);
/* Whether the samples of a window are read without those around them: where these are many. */
bool hc_read_direct_narrow(const HcReader *reader);
/* Whether all bands are read, not only those that are used. */
bool hc_read_direct_all_bands(const HcReader *reader);
/* Tells the system how the samples that are asked for will be read. */
void hc_read_direct_advise(const HcReader *reader);
/* Where a stretch of lines begins in the file (of piece `piece`: all bands, or one), and its bytes. */
int64_t hc_read_direct_offset(const HcReader *reader, int64_t line0, int64_t piece);
int64_t hc_read_direct_end(const HcReader *reader); /* the first byte after the last value */
int64_t hc_read_direct_piece(const HcReader *reader, int64_t lines);
/* The view of such lines as if in one piece, without their place. */
HcRaw hc_read_direct_view(const HcReader *reader, int64_t line0, int32_t lines);

/* map.c */
HcStatus hc_read_map_lines(HcReader *reader, int64_t line0, int32_t lines, HcRaw *raw, HcError *err);
/* Whether bytes of the mapping were missing when they were looked at; they counted as 0. */
bool hc_read_map_lost(const HcReader *reader);

/* HC_E_INPUT when the file is too short for its layout. */
HcStatus hc_read_check_size(const char *path, int64_t size, const HcScene *scene, const HcRawLayout *layout,
                            HcError *err);

/* Samples of a line that are asked for. */
static inline int64_t hc_read_samples(const HcReader *reader) {
    return reader->samples > 0 ? reader->samples : reader->scene.samples;
}

static inline int32_t hc_read_used_count(const HcReader *reader) {
    return reader->used != NULL ? reader->used_count : reader->scene.bands;
}

#endif
