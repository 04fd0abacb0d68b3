/* Writes what a scene says as metadata of a GDAL dataset: place, wavelengths, names, classes. Each fact
 * goes where GDAL, QGIS and rasterio look for it, and is written a second time where a format loses it
 * (docs/files.md). */
#include "core/text.h"
#include "io/write/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void set_number(GDALRasterBandH band, const char *key, double value, const char *domain) {
    char number[40];
    GDALSetMetadataItem(band, key, hc_write_number(number, value), domain);
}

static CPLErr set_nodata(GDALRasterBandH band, const HcWritePlan *plan) {
    if (plan->type == HC_INT64) {
        return GDALSetRasterNoDataValueAsInt64(band, (int64_t)plan->nodata);
    }
    if (plan->type == HC_UINT64) {
        return GDALSetRasterNoDataValueAsUInt64(band, (uint64_t)plan->nodata);
    }
    return GDALSetRasterNoDataValue(band, plan->nodata);
}

/* GDAL's own names for wavelengths are in micrometres and in a domain that older programs do not read: both.
 */
static void describe_wavelength(GDALRasterBandH band, const HcScene *scene, int32_t b) {
    if (!hc_scene_is_spectral(scene) || scene->wavelength == NULL || isnan(scene->wavelength[b])) {
        return;
    }
    set_number(band, "wavelength", scene->wavelength[b], NULL);
    GDALSetMetadataItem(band, "wavelength_units", "nm", NULL);
    set_number(band, "CENTRAL_WAVELENGTH_UM", scene->wavelength[b] / 1000, "IMAGERY");
    if (scene->fwhm != NULL && !isnan(scene->fwhm[b])) {
        set_number(band, "fwhm", scene->fwhm[b], NULL);
        set_number(band, "FWHM_UM", scene->fwhm[b] / 1000, "IMAGERY");
    }
}

/* The description is all that many programs show of a band. */
static void describe_name(GDALRasterBandH band, const HcScene *scene, int32_t b, HcText *label) {
    hc_text_clear(label);
    hc_scene_add_band_label(scene, b, label);
    if (label->length > 0) {
        GDALSetDescription(band, label->data);
    }
}

static void describe_band(GDALRasterBandH band, const HcScene *scene, int32_t b) {
    if (scene->gain != NULL && scene->offset != NULL) {
        GDALSetRasterScale(band, scene->gain[b]);
        GDALSetRasterOffset(band, scene->offset[b]);
    }
    if (hc_scene_is_spectral(scene) && scene->bad != NULL) {
        GDALSetMetadataItem(band, "bbl", scene->bad[b] ? "0" : "1", NULL); /* as ENVI puts it: 0 = bad */
    }
    describe_wavelength(band, scene, b);
}

/* Only where three bands are named; a format that has no colours of bands ignores it. */
static void describe_colours(GDALDatasetH dataset, const HcScene *scene) {
    static const GDALColorInterp colours[3] = {GCI_RedBand, GCI_GreenBand, GCI_BlueBand};
    const int32_t *bands = scene->default_bands;
    if (!scene->has_default_bands || bands[0] == bands[1] || bands[1] == bands[2] || bands[0] == bands[2]) {
        return;
    }
    for (int c = 0; c < 3; c++) {
        if (bands[c] >= 0 && bands[c] < scene->bands) {
            GDALSetRasterColorInterpretation(GDALGetRasterBand(dataset, bands[c] + 1), colours[c]);
        }
    }
}

static void describe_place(GDALDatasetH dataset, const HcScene *scene) {
    if (scene->place.crs != NULL) {
        GDALSetProjection(dataset, scene->place.crs);
    }
    if (scene->place.has_transform) {
        double transform[6];
        memcpy(transform, scene->place.transform, sizeof transform);
        GDALSetGeoTransform(dataset, transform);
    }
}

/* GDAL's words for RPC. */
static void describe_rpc(GDALDatasetH dataset, const HcScene *scene) {
    static const char *const name[HC_RPC_COEFFICIENTS] = {
        "LINE_OFF",   "SAMP_OFF",   "LAT_OFF",   "LONG_OFF",   "HEIGHT_OFF",
        "LINE_SCALE", "SAMP_SCALE", "LAT_SCALE", "LONG_SCALE", "HEIGHT_SCALE"};
    static const char *const list[] = {"LINE_NUM_COEFF", "LINE_DEN_COEFF", "SAMP_NUM_COEFF",
                                       "SAMP_DEN_COEFF"};
    const double *value = scene->rpc.value;
    char number[40];
    for (int n = 0; n < HC_RPC_COEFFICIENTS && scene->rpc.known; n++) {
        GDALSetMetadataItem(dataset, name[n], hc_write_number(number, *value++), "RPC");
    }
    for (int l = 0; l < 4 && scene->rpc.known; l++) {
        char text[20 * sizeof number] = "";
        for (int n = 0, used = 0; n < 20; n++) {
            used += snprintf(text + used, sizeof text - (size_t)used, "%s%s", n > 0 ? " " : "",
                             hc_write_number(number, *value++));
        }
        GDALSetMetadataItem(dataset, list[l], text, "RPC");
    }
}

HcStatus hc_write_describe(GDALDatasetH dataset, const char *path, const HcScene *scene,
                           const HcWritePlan *plan, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    HcText label = {0};
    hc_gdal_catch(&errors);
    /* What a format cannot say is left out, except for nodata: without it masked pixels would pass for data.
     */
    describe_place(dataset, scene);
    describe_rpc(dataset, scene);
    bool tiff = plan->way == HC_WRITE_COPY || strcmp(plan->format, "GTiff") == 0;
    if (hc_write_values(scene) != NULL && hc_write_is_tiff(plan)) {
        GDALSetMetadataItem(dataset, "hcube_values", hc_write_values(scene), NULL);
    }
    if (scene->description != NULL) {
        GDALSetMetadataItem(dataset, tiff ? "TIFFTAG_IMAGEDESCRIPTION" : "DESCRIPTION", scene->description,
                            NULL);
    }
    describe_colours(dataset, scene);
    HC_TRY(hc_write_describe_classes(dataset, scene, plan, err));
    HC_TRY(hc_write_describe_numbers(dataset, scene, err));
    for (int32_t b = 0; b < scene->bands; b++) {
        GDALRasterBandH band = GDALGetRasterBand(dataset, b + 1);
        describe_name(band, scene, b, &label);
        if (label.failed) {
            HC_TRY(hc_fail_memory(err, 0, "the name of a band"));
        }
        describe_band(band, scene, b);
        if (!plan->no_nodata && set_nodata(band, plan) != CE_None) {
            char number[40];
            status = hc_fail(err, HC_E_UNSUPPORTED, "%s: %s cannot hold the nodata value %s", path,
                             plan->format, hc_write_number(number, plan->nodata));
            break;
        }
    }
done:
    hc_text_clear(&label);
    hc_gdal_release();
    return status;
}

HcStatus hc_write_scale(HcScene *scene, const HcWritePlan *plan, HcError *err) {
    size_t bytes = (size_t)scene->bands * sizeof(double);
    bool fresh = scene->gain == NULL || scene->offset == NULL;
    scene->gain = fresh ? realloc(scene->gain, bytes) : scene->gain;
    scene->offset = fresh ? realloc(scene->offset, bytes) : scene->offset;
    if (scene->gain == NULL || scene->offset == NULL) {
        return hc_fail_memory(err, (double)bytes, "scale and offset");
    }
    for (int32_t b = 0; b < scene->bands; b++) {
        double gain = fresh ? 1 : scene->gain[b];
        scene->offset[b] = gain * plan->offset + (fresh ? 0 : scene->offset[b]);
        scene->gain[b] = gain * (plan->in_parts && scene->parts[b] > 0 ? 1.0 / scene->parts[b] : plan->scale);
    }
    return HC_OK;
}
