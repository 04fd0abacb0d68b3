/* What a scene is: from what GDAL knows, or from its ENVI header (metadata/scene_envi.c). */
#include "core/allocate.h"
#include "io/read/metadata/wavelength.h"
#include "io/read/parts.h"

#include <cpl_vsi.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int64_t integer_limit(HcType type) {
    switch (type) {
    case HC_UINT8:
        return 255;
    case HC_INT8:
        return 128;
    case HC_UINT16:
        return 65535;
    case HC_INT16:
        return 32768;
    default:
        return 0;
    }
}

/* The first of these items that a band or dataset has, in the domains of other programs as well. */
static const char *item_of(GDALMajorObjectH object, const char *const *names) {
    static const char *const domains[] = {NULL, "ENVI", "IMAGERY"};
    for (int i = 0; names[i] != NULL; i++) {
        for (size_t d = 0; d < sizeof domains / sizeof *domains; d++) {
            const char *value = GDALGetMetadataItem(object, names[i], domains[d]);
            if (value != NULL && value[0] != '\0') {
                return value;
            }
        }
    }
    return NULL;
}

/* One number a band from its metadata; the count stays below the bands when some lack it. */
static int32_t band_numbers(GDALDatasetH dataset, const char *const *names, const char *imagery,
                            double *values) {
    int32_t count = 0;
    for (int b = 1; b <= GDALGetRasterCount(dataset); b++) {
        GDALRasterBandH band = GDALGetRasterBand(dataset, b);
        const char *text =
            names != NULL ? item_of(band, names) : GDALGetMetadataItem(band, imagery, "IMAGERY");
        count += text != NULL && hc_text_parse_double(text, &values[count]);
    }
    return count;
}

/* Band metadata of other programs and of our own GeoTIFFs, then GDAL's own words for them. */
static HcStatus bands_spectral(HcReader *reader, HcError *err) {
    static const char *const wavelengths[] = {
        "wavelength",         "wavelengths",       "central_wavelength", "center_wavelength",
        "central wavelength", "center wavelength", "centre_wavelength",  NULL};
    static const char *const widths[] = {"fwhm", "bandwidth", NULL};
    static const char *const units[] = {"wavelength_units", "wavelength_unit", "wavelength units",
                                        "wavelength unit",  "wavelengthunits", NULL};
    GDALDatasetH dataset = reader->dataset;
    HcStatus status = HC_OK;
    HcReadSpectral found = {0};
    double *bad = NULL;
    HC_TRY(hc_new(found.wavelength, reader->scene.bands, "wavelengths", err));
    HC_TRY(hc_new(found.fwhm, reader->scene.bands, "wavelengths", err));
    HC_TRY(hc_new(bad, reader->scene.bands, "the list of bad bands", err));
    found.wavelength_count = band_numbers(dataset, wavelengths, NULL, found.wavelength);
    found.fwhm_count = band_numbers(dataset, widths, NULL, found.fwhm);
    const char *of_all = item_of(dataset, units);
    double factor;
    found.unit = item_of(GDALGetRasterBand(dataset, 1), units);
    if (found.unit == NULL || (of_all != NULL && hc_wavelength_unit(found.unit, &factor) == HC_UNIT_OTHER)) {
        found.unit = of_all; /* some programs give each band one letter of it */
    }
    if (found.wavelength_count == 0) {
        found.wavelength_count = band_numbers(dataset, NULL, "CENTRAL_WAVELENGTH_UM", found.wavelength);
        found.fwhm_count = band_numbers(dataset, NULL, "FWHM_UM", found.fwhm);
        found.unit = "um";
    }
    HC_TRY(hc_read_spectral(reader, &found, err));
    static const char *const bad_names[] = {"bbl", NULL};
    if (reader->scene.bad == NULL && band_numbers(dataset, bad_names, NULL, bad) == reader->scene.bands) {
        HC_TRY(hc_new(reader->scene.bad, reader->scene.bands, "the list of bad bands", err));
        for (int32_t b = 0; b < reader->scene.bands; b++) {
            reader->scene.bad[b] = !(bad[b] != 0);
        }
    }
done:
    free(found.wavelength);
    free(found.fwhm);
    free(bad);
    return status;
}

/* ENVI fields that copies of ENVI files carry as metadata of the dataset. */
static HcStatus dataset_fields(HcReader *reader, HcError *err) {
    static const char *const keys[] = {"wavelength",
                                       "wavelength_units",
                                       "fwhm",
                                       "bbl",
                                       "default_bands",
                                       "band_names",
                                       "data_gain_values",
                                       "data_offset_values",
                                       "reflectance_scale_factor",
                                       "data_ignore_value",
                                       "classes",
                                       "class_names",
                                       "class_lookup",
                                       "spectrum_names",
                                       "hcube_values",
                                       NULL};
    HcStatus status = HC_OK;
    HcError local = {0};
    HcEnviHeader header = {0};
    HcText text = {0};
    hc_text_add(&text, "ENVI\n");
    for (int i = 0; keys[i] != NULL; i++) {
        char spaced[40];
        snprintf(spaced, sizeof spaced, "%s", keys[i]);
        for (char *at = spaced; (at = strchr(at, '_')) != NULL;) {
            *at = ' ';
        }
        const char *const spellings[] = {keys[i], spaced, NULL};
        const char *value = item_of(reader->dataset, spellings);
        if (value != NULL) {
            hc_text_add(&text, "%s = %s\n", keys[i], value);
        }
    }
    if (text.failed) {
        status = hc_fail_memory(err, 0, "metadata");
    } else if (hc_envi_parse(&header, reader->path, text.data, text.length, &local) != HC_OK) {
        status = hc_read_leave_out(reader, "metadata", &local, err);
    } else {
        status = hc_read_fill_from_envi(reader, &header, err);
    }
    hc_envi_clear(&header);
    hc_text_clear(&text);
    return status;
}

/* Without the wavelength that our files have there, too. */
static HcStatus bands_names(HcReader *reader, HcError *err) {
    HcScene *scene = &reader->scene;
    for (int32_t b = 0; b < scene->bands; b++) {
        const char *name = GDALGetDescription(GDALGetRasterBand(reader->dataset, b + 1));
        size_t length = name != NULL ? hc_scene_name_in_label(scene, b, name) : 0;
        if (length == 0) {
            continue;
        }
        if (scene->band_name == NULL) {
            HC_OR_RETURN(hc_new(scene->band_name, scene->bands, "band names", err));
        }
        HC_OR_RETURN(hc_scene_name_band(scene, b, err, "%.*s", (int)length, name));
    }
    return HC_OK;
}

static HcStatus bands_gains(HcReader *reader, HcError *err) {
    int32_t bands = reader->scene.bands;
    double *gain = NULL, *offset = NULL;
    HcStatus status = HC_OK;
    HC_TRY(hc_new(gain, bands, "gains", err));
    HC_TRY(hc_new(offset, bands, "gains", err));
    for (int32_t b = 0; b < bands; b++) {
        GDALRasterBandH band = GDALGetRasterBand(reader->dataset, b + 1);
        int has = 0;
        gain[b] = GDALGetRasterScale(band, &has);
        offset[b] = GDALGetRasterOffset(band, &has);
    }
    status = hc_read_set_gains(reader, gain, offset, 1, err);
done:
    free(gain);
    free(offset);
    return status;
}

static void bands_colours(HcReader *reader) {
    static const GDALColorInterp colours[3] = {GCI_RedBand, GCI_GreenBand, GCI_BlueBand};
    HcScene *scene = &reader->scene;
    int found = 0;
    for (int c = 0; c < 3; c++) {
        for (int32_t b = 0; b < scene->bands; b++) {
            if (GDALGetRasterColorInterpretation(GDALGetRasterBand(reader->dataset, b + 1)) == colours[c]) {
                scene->default_bands[c] = b;
                found++;
                break;
            }
        }
    }
    scene->has_default_bands = found == 3;
}

/* The nodata value of one band; false where it has none. */
static bool band_nodata(GDALRasterBandH band, double *value) {
    int has = 0;
    if (GDALGetRasterDataType(band) == GDT_Int64) {
        *value = (double)GDALGetRasterNoDataValueAsInt64(band, &has);
    } else if (GDALGetRasterDataType(band) == GDT_UInt64) {
        *value = (double)GDALGetRasterNoDataValueAsUInt64(band, &has);
    }
    if (!has) { /* some drivers keep that of 64-bit integers as a double, too */
        *value = GDALGetRasterNoDataValue(band, &has);
    }
    return has != 0;
}

/* Where the bands differ, each keeps its own. */
static HcStatus bands_nodata(HcReader *reader, HcError *err) {
    HcScene *scene = &reader->scene;
    double *nodata = NULL;
    int32_t first = -1, other = -1;
    HC_OR_RETURN(hc_new(nodata, scene->bands, "nodata values", err));
    for (int32_t b = 0; b < scene->bands; b++) {
        double value = 0;
        bool has = band_nodata(GDALGetRasterBand(reader->dataset, b + 1), &value);
        nodata[b] = has ? hc_read_stored_nodata(scene, value) : NAN;
        first = has && (first < 0 || (!isfinite(nodata[first]) && isfinite(value))) ? b : first;
        bool same = nodata[b] == nodata[0] || (isnan(nodata[b]) && isnan(nodata[0]));
        other = !same && other < 0 ? b : other;
    }
    if (first >= 0) {
        hc_read_set_nodata(scene, nodata[first]);
    }
    if (other > 0) {
        hc_read_note(reader, "nodata differs from band to band: %.9g in band 1, %.9g in band %" PRId32,
                     nodata[0], nodata[other], other + 1);
        reader->band_nodata = nodata;
        nodata = NULL;
    }
    free(nodata);
    return HC_OK;
}

/* Scale and offset of an array, which GDAL's driver for HDF5 passes over. */
static HcStatus take_scale(HcReader *reader, HcError *err) {
    const HcReadValidity *said = &reader->validity;
    int32_t bands = reader->scene.bands;
    double *offset = NULL;
    if (reader->scene.gain != NULL || (said->scale == 1 && said->offset == 0) || said->scale == 0) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(offset, bands, "gains", err));
    for (int32_t b = 0; b < bands; b++) {
        offset[b] = said->offset;
    }
    HcStatus status = hc_read_set_gains(reader, NULL, offset, said->scale, err);
    free(offset);
    return status;
}

/* Stands for values of an array that are none by its attributes: NaN, or the nodata value; where the array
 * has none, a value that is none. */
static HcStatus settle_validity(HcReader *reader, HcError *err) {
    HcScene *scene = &reader->scene;
    HcReadValidity *validity = &reader->validity;
    HC_OR_RETURN(hc_read_array_validity(reader, err));
    HC_OR_RETURN(take_scale(reader, err));
    if (!validity->known) {
        return HC_OK;
    }
    bool is_float = scene->type == HC_FLOAT32 || scene->type == HC_FLOAT64;
    double low = 0, high = 0;
    hc_read_limits(scene->type, &low, &high);
    if (!is_float && !scene->has_nodata) {
        hc_read_set_nodata(scene, validity->count > 0     ? validity->missing[0]
                                  : validity->high < high ? floor(validity->high) + 1
                                                          : ceil(validity->low) - 1);
    }
    bool possible = is_float || (scene->nodata >= low && scene->nodata <= high);
    if (!possible) { /* no value of the type is outside of the range */
        validity->known = false;
        scene->has_nodata = false;
        return HC_OK;
    }
    double nodata = is_float ? NAN : scene->nodata;
    float narrow = (float)nodata;
    int64_t whole = is_float ? 0 : nodata >= 0x1p63 ? (int64_t)(uint64_t)nodata : (int64_t)nodata;
    memcpy(&validity->nodata,
           scene->type == HC_FLOAT32 ? (void *)&narrow
           : is_float                ? (void *)&nodata
                                     : (void *)&whole,
           scene->type == HC_FLOAT32 ? sizeof narrow : sizeof nodata);
    if (validity->low > -INFINITY || validity->high < INFINITY) {
        hc_read_note(reader, "values outside of the valid range (%.9g to %.9g) count as missing",
                     validity->low, validity->high);
    }
    if (validity->count > 0) {
        hc_read_note(reader, "missing_value of the array counts as missing: %.9g%s", validity->missing[0],
                     validity->count > 1 ? " and others" : "");
    }
    return HC_OK;
}

static HcStatus fill_from_gdal(HcReader *reader, HcError *err) {
    HcScene *scene = &reader->scene;
    HC_OR_RETURN(bands_spectral(reader, err));
    HC_OR_RETURN(hc_read_array_spectral(reader, err));
    if (scene->band_name == NULL) {
        HC_OR_RETURN(bands_names(reader, err));
    }
    if (scene->gain == NULL) {
        HC_OR_RETURN(bands_gains(reader, err));
    }
    if (!scene->has_nodata) {
        HC_OR_RETURN(bands_nodata(reader, err));
    }
    HC_OR_RETURN(settle_validity(reader, err));
    const char *description = GDALGetMetadataItem(reader->dataset, "TIFFTAG_IMAGEDESCRIPTION", NULL);
    if (scene->description == NULL && description != NULL) {
        HC_OR_RETURN(hc_read_set_text(&scene->description, description, err));
    }
    HC_OR_RETURN(hc_read_gdal_classes(reader, err));
    HC_OR_RETURN(dataset_fields(reader, err));
    if (!scene->has_default_bands) {
        bands_colours(reader);
    }
    return HC_OK;
}

/* Coefficients of a product come first. */
static void take_rpc(HcReader *reader, GDALDatasetH dataset) {
    HcRpc *rpc = &reader->scene.rpc;
    GDALRPCInfoV2 from;
    char **items = GDALGetMetadata(dataset, "RPC");
    if (items == NULL || rpc->known) {
        return;
    }
    if (!GDALExtractRPCInfoV2(items, &from)) {
        hc_read_note(reader, "rational polynomial coefficients (RPC) are incomplete and not carried on");
        return;
    }
    const double number[HC_RPC_COEFFICIENTS] = {
        from.dfLINE_OFF,   from.dfSAMP_OFF,   from.dfLAT_OFF,   from.dfLONG_OFF,   from.dfHEIGHT_OFF,
        from.dfLINE_SCALE, from.dfSAMP_SCALE, from.dfLAT_SCALE, from.dfLONG_SCALE, from.dfHEIGHT_SCALE};
    const double *const list[] = {from.adfLINE_NUM_COEFF, from.adfLINE_DEN_COEFF, from.adfSAMP_NUM_COEFF,
                                  from.adfSAMP_DEN_COEFF};
    memcpy(rpc->value, number, sizeof number);
    for (int l = 0; l < 4; l++) {
        memcpy(rpc->value + HC_RPC_COEFFICIENTS + 20 * l, list[l], 20 * sizeof **list);
    }
    rpc->known = true;
    hc_read_note(reader, "rational polynomial coefficients (RPC) are carried on, and not applied");
}

static HcStatus take_place(HcReader *reader, GDALDatasetH dataset, HcError *err) {
    HcPlace *place = &reader->scene.place;
    take_rpc(reader, dataset);
    if (GDALGetGCPCount(dataset) > 0 || GDALGetMetadata(dataset, "GEOLOCATION") != NULL) {
        hc_read_note(reader, "ground control points or geolocation arrays are not carried on");
    }
    bool pixels_only = reader->product != NULL && reader->product->pixels_only;
    if (!place->has_transform && !pixels_only) {
        place->has_transform = GDALGetGeoTransform(dataset, place->transform) == CE_None;
    }
    const char *crs = GDALGetProjectionRef(dataset);
    if (place->crs == NULL && crs != NULL && crs[0] != '\0' && (place->crs = strdup(crs)) == NULL) {
        return hc_fail_memory(err, (double)strlen(crs), "the coordinate system");
    }
    return HC_OK;
}

/* Georeferencing of a header that GDAL did not read to its end: from a header with those fields alone. */
static HcStatus place_from_header(HcReader *reader, HcError *err) {
    static const char *const keys[] = {"map info", "projection info", "coordinate system string", "x start",
                                       "y start"};
    static GByte pixel[16]; /* GDAL refuses a file of one byte */
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    HcText text = {0};
    char folder[64], path[80], header_path[80];
    snprintf(folder, sizeof folder, "/vsimem/hcube-place-%p", (void *)reader);
    snprintf(path, sizeof path, "%s/a.img", folder);
    snprintf(header_path, sizeof header_path, "%s/a.hdr", folder);
    hc_text_add(&text,
                "ENVI\nsamples = 1\nlines = 1\nbands = 1\nheader offset = 0\nfile type = ENVI Standard\n"
                "data type = 1\ninterleave = bsq\nbyte order = 0\n");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const HcEnviField *field = hc_envi_field(&reader->header, keys[i]);
        if (field != NULL) {
            hc_text_add(&text, field->braced ? "%s = {%s}\n" : "%s = %s\n", keys[i], field->value);
        }
    }
    if (text.failed) {
        status = hc_fail_memory(err, 0, "a header");
        goto done;
    }
    VSIFCloseL(VSIFileFromMemBuffer(header_path, (GByte *)text.data, text.length, FALSE));
    VSIFCloseL(VSIFileFromMemBuffer(path, pixel, sizeof pixel, FALSE));
    GDALDatasetH dataset = hc_read_gdal_open(path, "ENVI", &messages);
    if (dataset != NULL) {
        status = take_place(reader, dataset, err);
    }
    GDALClose(dataset);
    VSIUnlink(path);
    VSIUnlink(header_path);
done:
    hc_text_clear(&text);
    return status;
}

static HcStatus set_place(HcReader *reader, HcError *err) {
    HcPlace *place = &reader->scene.place;
    const HcEnviHeader *header = &reader->header;
    if (reader->dataset != NULL) {
        HC_OR_RETURN(take_place(reader, reader->dataset, err));
    }
    bool says_more = (!place->has_transform && hc_envi_text(header, "map info") != NULL) ||
                     (place->crs == NULL && (hc_envi_text(header, "coordinate system string") != NULL ||
                                             hc_envi_text(header, "map info") != NULL));
    if (says_more) {
        HC_OR_RETURN(place_from_header(reader, err));
    }
    return HC_OK;
}

static HcStatus check_extent(const HcReader *reader, HcError *err) {
    const HcScene *scene = &reader->scene;
    int64_t total = 0;
    if (scene->lines <= 0 || scene->samples <= 0) {
        return hc_fail(err, HC_E_INPUT, "%s: %" PRId64 " lines x %" PRId64 " samples is nothing to read",
                       reader->path, scene->lines, scene->samples);
    }
    /* As float32 in memory it must be countable. */
    if (__builtin_mul_overflow(scene->lines * scene->samples, (int64_t)scene->bands * 8, &total)) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: %" PRId32 " bands x %" PRId64 " lines x %" PRId64 " samples is absurd",
                       reader->path, scene->bands, scene->lines, scene->samples);
    }
    return HC_OK;
}

static HcStatus set_source_bands(HcScene *scene, HcError *err) {
    HC_OR_RETURN(hc_new(scene->source_band, (size_t)scene->bands, "the bands", err));
    for (int32_t b = 0; b < scene->bands; b++) {
        scene->source_band[b] = b;
    }
    return HC_OK;
}

/* GDAL before 3.7 takes signed bytes of HDF5 for unsigned ones. */
static HcStatus find_sign(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    HcReadArray array = {0};
    HcChunkIndex *index = NULL;
    const char *driver = GDALGetDriverShortName(GDALGetDatasetDriver(reader->dataset));
    if (reader->scene.type != HC_UINT8 || !hc_text_equal(driver, "HDF5Image")) {
        return HC_OK;
    }
    HC_TRY(hc_read_array(&array, reader->dataset, reader->path, err));
    if (array.known && strncmp(array.file, "/vsi", 4) != 0) {
        HC_TRY(hc_chunk_hdf5(&index, array.file, array.name, array.order, err));
    }
    if (index != NULL) {
        reader->scene.type = index->type;
    }
done:
    hc_chunk_index_free(index);
    free(array.file);
    free(array.name);
    return status;
}

HcStatus hc_read_scene(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    HcScene *scene = &reader->scene;
    HcGdalErrors messages;
    GDALDatasetH dataset = reader->dataset;
    bool described = reader->header.count > 0;
    hc_gdal_catch(&messages);
    if (hc_read_by_product(reader)) {
        HC_TRY(hc_read_product_scene(reader, err));
    } else if (dataset != NULL) {
        scene->samples = GDALGetRasterXSize(dataset);
        scene->lines = GDALGetRasterYSize(dataset);
        scene->bands = GDALGetRasterCount(dataset);
        if (!hc_read_gdal_type(dataset, &scene->type)) {
            status = hc_fail(err, HC_E_UNSUPPORTED, "%s: values of type %s are not supported", reader->path,
                             GDALGetDataTypeName(GDALGetRasterDataType(GDALGetRasterBand(dataset, 1))));
            goto done;
        }
        HC_TRY(find_sign(reader, err));
    } else {
        scene->samples = reader->shape.samples;
        scene->lines = reader->shape.lines;
        scene->bands = reader->shape.bands;
        scene->type = reader->shape.type;
    }
    HC_TRY(check_extent(reader, err));
    scene->integer_limit = integer_limit(scene->type);
    HC_TRY(set_source_bands(scene, err));
    if (hc_read_by_product(reader)) {
        goto done;
    }
    if (reader->product != NULL) {
        HC_TRY(hc_read_product_scene(reader, err));
    }
    if (described) {
        HC_TRY(hc_read_fill_from_envi(reader, &reader->header, err));
    }
    const char *driver = dataset != NULL ? GDALGetDriverShortName(GDALGetDatasetDriver(dataset)) : "";
    bool by_header =
        described && (dataset == NULL || hc_text_equal(driver, "ENVI") || hc_text_equal(driver, "VRT"));
    if (!by_header) {
        HC_TRY(fill_from_gdal(reader, err));
    }
    HC_TRY(hc_read_names_spectral(reader, err));
    hc_read_names_components(scene);
    HC_TRY(set_place(reader, err));
    if (reader->product != NULL && reader->product->no_text && scene->wavelength != NULL) {
        free(reader->flaw);
        reader->flaw = NULL;
    }
    hc_read_note_header(reader);
    hc_read_check_values(reader);
done:
    hc_gdal_release();
    return status;
}
