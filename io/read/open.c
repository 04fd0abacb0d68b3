/* From a path to an open dataset: which file, by which driver, described by which header. */
#include "io/guard/guard.h"
#include "io/read/parts.h"
#include "io/read/scanner.h"
#include "io/file.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static HcStatus set_path(HcReader *reader, const char *path, HcError *err) {
    char *copy = strdup(path);
    HC_OR_RETURN(hc_text_made(copy, strlen(path), "a path", err));
    free(reader->path);
    reader->path = copy;
    return HC_OK;
}

static HcStatus set_layout_path(HcReader *reader, HcError *err) {
    free(reader->layout.path);
    reader->layout.path = strdup(reader->path);
    return reader->layout.path != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(reader->path), "a path");
}

/* A file that holds others: say which. */
static HcStatus fail_no_bands(GDALDatasetH dataset, const char *path, HcError *err) {
    char **list = GDALGetMetadata(dataset, "SUBDATASETS");
    HcText names = {0};
    int shown = 0, all = CSLCount(list) / 2;
    for (; shown < all && shown < 4; shown++) {
        const char *name = CSLFetchNameValue(list, CPLSPrintf("SUBDATASET_%d_NAME", shown + 1));
        hc_text_add(&names, "%s%.140s", shown > 0 ? ", " : "", name != NULL ? name : "?");
    }
    if (all > shown) {
        hc_text_add(&names, ", ...");
    }
    HcStatus status =
        all > 0 ? hc_fail_text(err, HC_E_INPUT, &names, "%s: holds %d rasters, open one of them: %s", path,
                               all, hc_text_shown(&names))
                : hc_fail(err, HC_E_INPUT, "%s: has 0 bands", path);
    hc_text_clear(&names);
    return status;
}

/* Lines without coordinates come in the order of the array, so do those whose coordinates GDAL's netCDF
 * driver does not find and fall: it would turn both. */
static HcStatus open_in_order(GDALDatasetH *dataset, const char *path, HcError *err) {
    HcReadArray array = {0};
    HcGdalErrors messages;
    double place[6];
    if (!hc_text_equal(GDALGetDriverShortName(GDALGetDatasetDriver(*dataset)), "netCDF")) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_read_array(&array, *dataset, path, err));
    free(array.file);
    free(array.name);
    if (!array.known || array.rise > 0 || GDALGetGeoTransform(*dataset, place) == CE_None) {
        return HC_OK;
    }
    CPLSetThreadLocalConfigOption("GDAL_NETCDF_BOTTOMUP", "NO");
    GDALDatasetH again = hc_read_gdal_open(path, "netCDF", &messages);
    CPLSetThreadLocalConfigOption("GDAL_NETCDF_BOTTOMUP", NULL);
    if (again == NULL) {
        return hc_gdal_fail(err, HC_E_INPUT, path, &messages);
    }
    GDALClose(*dataset);
    *dataset = again;
    return HC_OK;
}

/* Takes a dataset that GDAL understands by itself; on failure it is closed. */
static HcStatus adopt(HcReader *reader, GDALDatasetH dataset, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    /* Some drivers give the first of several images as the scene, which may be a thumbnail. */
    if (GDALGetRasterCount(dataset) <= 0 || CSLCount(GDALGetMetadata(dataset, "SUBDATASETS")) > 2) {
        status = fail_no_bands(dataset, path, err);
        GDALClose(dataset);
        return status;
    }
    reader->dataset = dataset;
    HC_OR_RETURN(hc_read_check_axes(dataset, path, err));
    HC_OR_RETURN(open_in_order(&reader->dataset, path, err));
    dataset = reader->dataset;
    HC_OR_RETURN(set_path(reader, path, err));
    if (!hc_raw_layout(dataset, &reader->layout)) {
        reader->layout = (HcRawLayout){0};
    } else if (reader->layout.path[0] == '\0') {
        reader->guessed = true;
        HC_OR_RETURN(set_layout_path(reader, err));
    }
    return status;
}

/* As adopt, for a raster of another format under an ENVI header: the header counts if it has the same size.
 */
static HcStatus adopt_under_header(HcReader *reader, GDALDatasetH dataset, const char *path, HcError *err) {
    HC_OR_RETURN(adopt(reader, dataset, path, err));
    const HcEnviShape *shape = &reader->shape;
    int samples = GDALGetRasterXSize(dataset), lines = GDALGetRasterYSize(dataset);
    int bands = GDALGetRasterCount(dataset);
    if (samples != shape->samples || lines != shape->lines || bands != shape->bands) {
        hc_read_note(reader,
                     "%s is left out: it says %" PRId32 " bands x %" PRId64 " lines x %" PRId64
                     " samples, %s holds %d x %d x %d",
                     reader->header.path, shape->bands, shape->lines, shape->samples, path, bands, lines,
                     samples);
        hc_envi_clear(&reader->header);
    }
    return HC_OK;
}

static bool fill_layout(const HcEnviShape *shape, HcRawLayout *layout, int64_t *end) {
    int64_t bytes = (int64_t)hc_type_bytes(shape->type);
    int64_t plane = 0, total = 0;
    if (__builtin_mul_overflow(shape->samples * shape->lines, bytes, &plane) ||
        __builtin_mul_overflow(plane, (int64_t)shape->bands, &total) ||
        __builtin_add_overflow(total, shape->offset, end)) {
        return false;
    }
    int64_t row = shape->samples * bytes;
    *layout = (HcRawLayout){.gdal_type = (int)hc_read_gdal_code(shape->type),
                            .big_endian = shape->big_endian,
                            .offset = shape->offset,
                            .line = row,
                            .pixel = bytes,
                            .band = plane};
    if (shape->interleave == HC_ENVI_BIL) {
        layout->line = row * shape->bands;
        layout->band = row;
    } else if (shape->interleave == HC_ENVI_BIP) {
        layout->line = row * shape->bands;
        layout->pixel = bytes * shape->bands;
        layout->band = bytes;
    }
    return true;
}

/* Whether GDAL understood the header as we do. A stride that is never taken may differ. */
static bool agrees(GDALDatasetH dataset, const HcEnviShape *shape, const HcRawLayout *ours) {
    HcType type = HC_TYPE_COUNT;
    HcRawLayout theirs = {0};
    bool same = GDALGetRasterXSize(dataset) == shape->samples &&
                GDALGetRasterYSize(dataset) == shape->lines && GDALGetRasterCount(dataset) == shape->bands &&
                hc_read_gdal_type(dataset, &type) && type == shape->type;
    if (same && !shape->compressed) {
        same = hc_raw_layout(dataset, &theirs) && theirs.offset == ours->offset &&
               (theirs.big_endian == ours->big_endian || hc_type_bytes(type) == 1) &&
               (theirs.line == ours->line || shape->lines == 1) &&
               (theirs.pixel == ours->pixel || shape->samples == 1) &&
               (theirs.band == ours->band || shape->bands == 1);
        free(theirs.path);
    }
    return same;
}

/* Adds a text as XML has it. GDAL's own function ends the program where memory runs out. */
static void add_xml(HcText *xml, const char *text) {
    for (; *text != '\0'; text++) {
        const char *name = *text == '&' ? "amp" : *text == '<' ? "lt" : *text == '>' ? "gt" : NULL;
        if (name != NULL) {
            hc_text_add(xml, "&%s;", name);
        } else {
            hc_text_add(xml, "%c", *text);
        }
    }
}

/* The file as raw bands of a virtual raster, for headers that GDAL does not read (64-bit integers, very long
 * fields). */
static HcStatus open_virtual(const HcReader *reader, const char *path, const HcRawLayout *layout,
                             GDALDatasetH *out, HcGdalErrors *messages, HcError *err) {
    HcText xml = {0};
    HcStatus status = HC_OK;
    const HcEnviShape *shape = &reader->shape;
    *out = NULL;
    /* Each raw band keeps a line of its stride: too much of many bands. Direct reading needs no GDAL. */
    bool local = !shape->compressed && strncmp(path, "/vsi", 4) != 0;
    if (local && (double)shape->bands * (double)layout->pixel * (double)shape->samples > 0x1p28) {
        return HC_OK;
    }
    HcText source = {0};
    add_xml(&source, shape->compressed ? "/vsigzip/" : "");
    add_xml(&source, path);
    hc_text_add(&xml, "<VRTDataset rasterXSize=\"%" PRId64 "\" rasterYSize=\"%" PRId64 "\">", shape->samples,
                shape->lines);
    for (int32_t b = 0; b < shape->bands && !source.failed; b++) {
        hc_text_add(&xml,
                    "<VRTRasterBand dataType=\"%s\" band=\"%" PRId32 "\" subClass=\"VRTRawRasterBand\">"
                    "<SourceFilename relativeToVRT=\"0\">%s</SourceFilename><ImageOffset>%" PRId64
                    "</ImageOffset><PixelOffset>%" PRId64 "</PixelOffset><LineOffset>%" PRId64
                    "</LineOffset><ByteOrder>%s</ByteOrder></VRTRasterBand>",
                    GDALGetDataTypeName(hc_read_gdal_code(shape->type)), b + 1, source.data,
                    layout->offset + b * layout->band, layout->pixel, layout->line,
                    layout->big_endian ? "MSB" : "LSB");
    }
    hc_text_add(&xml, "</VRTDataset>");
    if (xml.failed || source.failed) {
        status = hc_fail_memory(err, 0, "a virtual raster");
    } else {
        hc_guard_allow_external(true);
        *out = hc_read_gdal_open(xml.data, "VRT", messages);
        hc_guard_allow_external(reader->options.allow_external);
    }
    hc_text_clear(&source);
    hc_text_clear(&xml);
    return status;
}

/* What a file is that has not the size that the header says: GDAL's raster (*dataset), where it is too small
 * or begins like one, or an error with what to type. An offset of the header may lie in a container. */
static HcStatus look_into(const HcReader *reader, const char *path, int64_t size, int64_t end,
                          GDALDatasetH *dataset, HcError *err) {
    HcFileKind kind = HC_KIND_OTHER;
    HcGdalErrors messages = {0};
    if (reader->shape.offset == 0) {
        HC_OR_RETURN(hc_read_kind(path, &kind, err));
    }
    if (kind == HC_KIND_ARCHIVE) {
        char *inside = hc_text_format("/vsizip/%s", path);
        char **names = inside != NULL ? VSIReadDir(inside) : NULL;
        HcStatus status = names == NULL ? HC_OK
                                        : hc_fail(err, HC_E_INPUT,
                                                  "%s: a zip archive, and not the %" PRId64
                                                  " bytes that %s describes: unpack it, or type %s/%.100s",
                                                  path, end, reader->header.path, inside, names[0]);
        CSLDestroy(names);
        free(inside);
        return status;
    }
    if (kind == HC_KIND_GZIP) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: gzip data, and not the %" PRId64
                       " bytes that %s describes: unpack it, or add \"file compression = 1\" to the header",
                       path, end, reader->header.path);
    }
    return size < end || kind == HC_KIND_RASTER || kind == HC_KIND_HDF5
               ? hc_read_gdal_open_sure(dataset, path, NULL, &messages, err)
               : HC_OK;
}

static bool is_of_another_format(GDALDatasetH dataset) {
    return dataset != NULL && !hc_text_equal(GDALGetDriverShortName(GDALGetDatasetDriver(dataset)), "ENVI");
}

/* The interleave where the header has none: of one band any, else that of the ending, as GDAL takes it. */
static void find_interleave(HcReader *reader, const char *path) {
    HcEnviShape *shape = &reader->shape;
    int32_t place =
        shape->bands == 1 ? HC_ENVI_BSQ : hc_text_find(CPLGetExtension(path), hc_envi_interleaves);
    if (shape->interleave != HC_ENVI_NO_INTERLEAVE || place < 0) {
        return;
    }
    shape->interleave = (HcEnviInterleave)place;
    if (shape->bands > 1) {
        hc_read_note(reader, "interleave is not given, %s is assumed, as the file's name ends",
                     hc_envi_interleaves[place]);
    }
}

/* The ENVI data file at `path`, read as the header says. `opened` is the dataset that GDAL's ENVI driver
 * makes of it, where it was opened already (it is taken over), or NULL. */
static HcStatus open_raw(HcReader *reader, const char *path, GDALDatasetH opened, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages = {0};
    HcRawLayout layout = {0};
    const HcEnviShape *shape = &reader->shape;
    int64_t end = 0, size = 0;
    GDALDatasetH dataset = opened;
    find_interleave(reader, path);
    if (!fill_layout(shape, &layout, &end)) {
        status = hc_fail(err, HC_E_INPUT,
                         "%s: %" PRId32 " bands x %" PRId64 " lines x %" PRId64 " samples of %s is absurd",
                         reader->header.path, shape->bands, shape->lines, shape->samples,
                         hc_type_name(shape->type));
        goto done;
    }
    HC_TRY(set_path(reader, path, err));
    HcFileKind kind = HC_KIND_GZIP;
    if (shape->compressed) {
        HC_TRY(hc_read_kind(path, &kind, err));
    }
    if (kind != HC_KIND_GZIP) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: file compression = 1, but %s is not gzip", reader->header.path,
                       path));
    }
    if (!shape->compressed && hc_read_is_file(path, &size, NULL) && size != end) {
        GDALDatasetH other = NULL;
        HC_TRY(look_into(reader, path, size, end, &other, err));
        if (is_of_another_format(other)) { /* the header may lie over it */
            GDALClose(dataset);
            return adopt_under_header(reader, other, path, err);
        }
        GDALClose(other);
        HcScene scene = {
            .lines = shape->lines, .samples = shape->samples, .bands = shape->bands, .type = shape->type};
        HC_TRY(hc_read_check_size(path, size, &scene, &layout, err));
        hc_read_note(reader, "%s holds %" PRId64 " bytes, of which the header describes %" PRId64, path, size,
                     end);
    }
    if (shape->interleave == HC_ENVI_NO_INTERLEAVE) {
        HC_TRY(
            hc_fail(err, HC_E_INPUT,
                    "%s: the header does not say the order of the values ('interleave' is missing: bsq, bil "
                    "or bip)",
                    reader->header.path));
    }
    if (dataset == NULL) {
        HC_TRY(hc_read_gdal_open_sure(&dataset, path, "ENVI", &messages, err));
    }
    if (dataset != NULL && !agrees(dataset, shape, &layout)) {
        GDALClose(dataset);
        dataset = NULL;
    }
    if (dataset == NULL) {
        HC_TRY(open_virtual(reader, path, &layout, &dataset, &messages, err));
    }
    reader->dataset = dataset;
    dataset = NULL;
    if (!shape->compressed) {
        reader->layout = layout;
        HC_TRY(set_layout_path(reader, err));
    }
    if (reader->dataset == NULL && (shape->compressed || strncmp(path, "/vsi", 4) == 0)) {
        status = hc_gdal_fail(err, HC_E_INPUT, path, &messages);
    }
done:
    GDALClose(dataset);
    return status;
}

/* Checks the header, which is loaded. */
static HcStatus check_header(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    const HcEnviHeader *header = &reader->header;
    if (hc_envi_is_library(header)) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s is a spectral library, not a scene", header->path);
    }
    const char *type = hc_envi_text(header, "file type");
    if (type != NULL && strcasestr(type, "ENVI Meta") != NULL) {
        return hc_read_fail_meta(header->path, err);
    }
    HC_OR_RETURN(hc_envi_shape(header, &reader->shape, err));
    if (reader->shape.complex_values) {
        status =
            hc_fail(err, HC_E_UNSUPPORTED, "%s: data type = %" PRId32 ": complex values are not supported",
                    header->path, reader->shape.data_type);
    }
    return status;
}

static bool is_tiff(const HcEnviHeader *header) {
    const char *type = hc_envi_text(header, "file type");
    return type != NULL && strcasestr(type, "tiff") != NULL;
}

/* The data file at `path`, whatever it is, under the loaded header; `opened` as for open_raw. */
static HcStatus open_described(HcReader *reader, const char *path, GDALDatasetH opened, HcError *err) {
    if (is_tiff(&reader->header)) {
        HcGdalErrors messages;
        GDALDatasetH dataset = NULL;
        GDALClose(opened);
        HcStatus status = hc_read_gdal_open_sure(&dataset, path, NULL, &messages, err);
        if (dataset == NULL) {
            return status != HC_OK ? status : hc_gdal_fail(err, HC_E_INPUT, path, &messages);
        }
        return adopt_under_header(reader, dataset, path, err);
    }
    return open_raw(reader, path, opened, err);
}

static HcStatus fail_no_data(const char *header_path, const char *why, HcError *err) {
    const char *stem = CPLGetFilename(header_path);
    int length = (int)strlen(stem) - 4; /* .hdr */
    return hc_fail(
        err, HC_E_INPUT,
        "%s: no data file beside it%s%s (looked for %.*s, %.*s with .img .dat .raw .bsq .bil .bip .bin "
        ".rdn .rfl .cube .fla, and any other raster named %.*s.*)",
        header_path, why[0] != '\0' ? " opens: " : "", why, length, stem, length, stem, length, stem);
}

/* The first of the files that GDAL opens, NULL where it opens none; `why` keeps the first refusal. */
static HcStatus open_any(GDALDatasetH *out, char **list, const char **path, HcGdalErrors *why, HcError *err) {
    *out = NULL;
    for (int i = 0; list != NULL && list[i] != NULL && *out == NULL; i++) {
        HcGdalErrors messages;
        HC_OR_RETURN(hc_read_gdal_open_sure(out, list[i], NULL, &messages, err));
        if (*out != NULL) {
            *path = list[i];
        } else if (!why->failed) {
            *why = messages;
        }
    }
    return HC_OK;
}

static HcStatus open_envi_header(HcReader *reader, const char *header_path, HcError *err) {
    HcStatus status = HC_OK;
    char **sure = NULL, **other = NULL;
    HcGdalErrors why = {0};
    const char *path = NULL;
    HC_TRY(hc_envi_load(&reader->header, header_path, err));
    HC_TRY(check_header(reader, err));
    HC_TRY(hc_read_find_sure(header_path, &sure, err));
    if (sure != NULL) {
        HC_TRY(open_described(reader, sure[0], NULL, err));
        goto done;
    }
    HC_TRY(hc_read_find_other(header_path, &other, err));
    GDALDatasetH dataset = NULL;
    HC_TRY(open_any(&dataset, other, &path, &why, err));
    if (dataset == NULL) {
        status = fail_no_data(header_path, why.text, err);
    } else if (hc_text_equal(GDALGetDriverShortName(GDALGetDatasetDriver(dataset)), "ENVI")) {
        status = open_raw(reader, path, dataset, err);
    } else {
        status = adopt_under_header(reader, dataset, path, err);
    }
done:
    CSLDestroy(sure);
    CSLDestroy(other);
    return status;
}

/* A .hdr of another program (ESRI and others). */
static HcStatus open_foreign_header(HcReader *reader, const char *header_path, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors why = {0}, own;
    const char *path = NULL;
    char **sure = NULL, **other = NULL;
    GDALDatasetH dataset = NULL;
    HC_TRY(hc_read_find_sure(header_path, &sure, err));
    HC_TRY(open_any(&dataset, sure, &path, &why, err));
    if (dataset == NULL) {
        HC_TRY(hc_read_find_other(header_path, &other, err));
        HC_TRY(open_any(&dataset, other, &path, &why, err));
    }
    if (dataset == NULL) {
        path = header_path;
        HC_TRY(hc_read_gdal_open_sure(&dataset, path, NULL, &own, err));
    }
    if (dataset != NULL) {
        status = adopt(reader, dataset, path, err);
    } else if (access(header_path, R_OK) != 0 && errno == EACCES) {
        status = hc_fail(err, HC_E_INPUT, "%s: %s", header_path, strerror(EACCES));
    } else if (why.failed && sure != NULL) {
        status = hc_fail(err, HC_E_INPUT, "%s: not an ENVI header, and its data file %s does not open: %s",
                         header_path, CPLGetFilename(sure[0]), why.text);
    } else {
        status =
            hc_fail(err, HC_E_INPUT,
                    "%s: not an ENVI header (its first line is not ENVI), and not a raster that GDAL knows",
                    header_path);
    }
done:
    CSLDestroy(sure);
    CSLDestroy(other);
    return status;
}

/* The header that GDAL's ENVI driver read, to be freed. */
static HcStatus listed_header(GDALDatasetH dataset, char **found, HcError *err) {
    HcStatus status = HC_OK;
    char **files = GDALGetFileList(dataset);
    *found = NULL;
    for (int i = 0; files != NULL && files[i] != NULL && *found == NULL; i++) {
        bool is = false;
        if (hc_text_ends_with(files[i], ".hdr")) {
            HC_TRY(hc_read_is_envi(files[i], &is, err));
        }
        if (is && (*found = strdup(files[i])) == NULL) {
            HC_TRY(hc_fail_memory(err, (double)strlen(files[i]), "a path"));
        }
    }
done:
    CSLDestroy(files);
    return status;
}

/* Loads the ENVI header of a TIFF, which describes it where it says so itself; *takes tells. A flaw of the
 * header is no failure. */
static HcStatus load_tiff_header(HcReader *reader, const char *header_path, bool *takes, HcError *err) {
    HcError local = {0};
    HcStatus status = hc_envi_load(&reader->header, header_path, &local);
    *takes = status == HC_OK && is_tiff(&reader->header);
    if (*takes) {
        status = hc_envi_shape(&reader->header, &reader->shape, &local);
        *takes = status == HC_OK;
    }
    bool is_flaw = status == HC_OK || status == HC_E_INPUT || status == HC_E_UNSUPPORTED;
    return is_flaw ? HC_OK : hc_fail(err, status, "%s", local.text);
}

static HcStatus open_any_path(HcReader *reader, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    char *header_path = NULL;
    GDALDatasetH dataset = NULL;
    bool takes = false;
    HC_TRY(hc_read_gdal_open_sure(&dataset, path, NULL, &messages, err));
    const char *driver = dataset != NULL ? GDALGetDriverShortName(GDALGetDatasetDriver(dataset)) : "";
    bool envi = hc_text_equal(driver, "ENVI");
    if (envi) {
        HC_TRY(listed_header(dataset, &header_path, err));
    } else if (dataset == NULL || hc_text_equal(driver, "GTiff")) {
        HC_TRY(hc_read_find_header(path, &header_path, err));
    }
    if (header_path != NULL && (envi || dataset == NULL)) {
        HC_TRY(hc_envi_load(&reader->header, header_path, err));
        HC_TRY(check_header(reader, err));
        GDALDatasetH opened = dataset;
        dataset = NULL; /* taken over */
        HC_TRY(open_described(reader, path, opened, err));
        goto done;
    }
    if (header_path != NULL) {
        HC_TRY(load_tiff_header(reader, header_path, &takes, err));
    }
    if (!takes) {
        hc_envi_clear(&reader->header);
    }
    if (dataset == NULL) {
        status = hc_read_fail_unknown(path, &messages, err);
        goto done;
    }
    GDALDatasetH opened = dataset;
    dataset = NULL;
    status = takes ? adopt_under_header(reader, opened, path, err) : adopt(reader, opened, path, err);
done:
    GDALClose(dataset);
    free(header_path);
    return status;
}

/* A folder that a line scanner has left: its raw scene, as a path in fresh memory; NULL where it is none. */
static HcStatus scanner_scene(HcReader *reader, const char *path, char **out, HcError *err) {
    HcScanner scanner = {0};
    HcText text = {0};
    *out = NULL;
    if (reader->product != NULL || !hc_is_folder(path)) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_scanner_find(&scanner, path, err));
    if (scanner.file[HC_SCANNER_RAW] != NULL) {
        hc_scanner_describe(&scanner, &text);
        hc_read_note(reader, "%s", hc_text_shown(&text));
        *out = scanner.file[HC_SCANNER_RAW];
        scanner.file[HC_SCANNER_RAW] = NULL;
    }
    hc_text_clear(&text);
    hc_scanner_clear(&scanner);
    return HC_OK;
}

HcStatus hc_read_open(HcReader *reader, const char *path, HcError *err) {
    HcGdalErrors messages;
    char *scene = NULL;
    HcStatus status = HC_OK;
    bool is_envi = false;
    hc_gdal_catch(&messages); /* looking for files must not print either */
    HC_TRY(hc_file_check_companions(path, err));
    HC_TRY(hc_product_open(&reader->product, path, reader->options.overlap, err));
    if (hc_read_by_product(reader)) {
        HC_TRY(set_path(reader, reader->product->array[0].file, err));
        goto done;
    }
    HC_TRY(scanner_scene(reader, path, &scene, err));
    path = reader->product != NULL ? reader->product->raster : scene != NULL ? scene : path;
    bool is_header = hc_read_is_file(path, NULL, NULL) && hc_text_ends_with(path, ".hdr");
    if (is_header) {
        HC_TRY(hc_read_is_envi(path, &is_envi, err));
    }
    status = !is_header ? open_any_path(reader, path, err)
             : is_envi  ? open_envi_header(reader, path, err)
                        : open_foreign_header(reader, path, err);
done:
    hc_gdal_release();
    free(scene);
    return status;
}
