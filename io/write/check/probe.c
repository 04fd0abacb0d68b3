/* Whether a driver can hold an output, tried on a file of a few pixels that says all that the scene says.
 * Most drivers report it at the first block or at the very end, and some not at all. */
#include "io/scratch.h"
#include "io/write/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>

/* Whether the driver could fail for what it is to hold. ENVI holds all that it lists, as does GTiff unless
 * bands are to be colours. */
static bool wants_probe(const HcWritePlan *plan) {
    const char *colours = CSLFetchNameValueDef(plan->options, "PHOTOMETRIC", "");
    bool sure = strcmp(plan->format, "GTiff") == 0 && strstr("MINISBLACK RGB", colours) != NULL;
    return plan->way == HC_WRITE_COPY || (plan->way == HC_WRITE_CREATE && !sure);
}

static GDALDatasetH copy_few(const HcWritePlan *plan, const char *name, GDALDatasetH few, char **how) {
    GDALFlushCache(few);
    GDALDatasetH copy = GDALCreateCopy(plan->driver, name, few, FALSE, how, NULL, NULL);
    GDALClose(few);
    return copy;
}

/* Makes the file as the output will be. Errors count as they do there (dataset.c). */
static HcStatus make_few(const HcWritePlan *plan, const HcScene *scene, const char *name, char **how,
                         HcGdalErrors *errors, HcError *err) {
    char *apart[] = {"INTERLEAVE=BAND", "PHOTOMETRIC=MINISBLACK", NULL};
    bool copied = plan->way == HC_WRITE_COPY;
    char source[160];
    snprintf(source, sizeof source, "%s.source", name);
    GDALDatasetH few =
        GDALCreate(copied ? GDALGetDriverByName("GTiff") : plan->driver, copied ? source : name, 16, 16,
                   scene->bands, plan->gdal_type, copied ? apart : how);
    if (few == NULL) {
        errors->failed = true;
        return HC_OK;
    }
    *errors = (HcGdalErrors){0};
    HcStatus status = hc_write_describe(few, plan->path, scene, plan, err);
    CPLErr result = CE_None;
    for (int b = 1; b <= (copied ? scene->bands : 1) && result == CE_None; b++) {
        result = GDALFillRaster(GDALGetRasterBand(few, b), 1, 0);
    }
    few = copied ? copy_few(plan, name, few, how) : few;
    errors->failed = errors->failed || few == NULL || result != CE_None;
    GDALClose(few);
    return status;
}

/* What the driver has made of them; NULL = what it was given. Formats of several parts are left to the end.
 */
static const char *fault_of_few(const HcWritePlan *plan, int bands, const char *name) {
    const char *drivers[] = {hc_write_is_tiff(plan) ? "GTiff" : plan->format, NULL};
    GDALDatasetH few = GDALOpenEx(name, GDAL_OF_RASTER | GDAL_OF_READONLY, drivers, NULL, NULL);
    if (few == NULL) {
        return "it does not open again";
    }
    const char *fault = GDALGetRasterXSize(few) != 16 ? "it makes a raster of each band" : NULL;
    bool guesses = strcmp(plan->format, "XYZ") == 0; /* the type, from the values */
    if (fault == NULL && GDALGetMetadata(few, "SUBDATASETS") == NULL) {
        GDALRasterBandH band = GDALGetRasterBand(few, 1);
        fault = GDALGetRasterCount(few) != bands ? "it keeps another number of bands"
                : !guesses && GDALGetRasterDataType(band) != plan->gdal_type ? "it keeps another type"
                : !hc_write_keeps_nodata(band, plan) ? "it does not keep the nodata value"
                                                     : NULL;
    }
    GDALClose(few);
    return fault;
}

/* GDAL names the file of a few pixels, with its folder or without it, and may name the band. */
static const char *without_name(const char *text, const char *name) {
    size_t own = strlen(name);
    const char *end =
        strncmp(text, name, own) == 0 && strchr(":,", text[own]) != NULL ? strstr(text + own, ": ") : NULL;
    return end != NULL ? end + 2 : text;
}

static HcStatus probe_as(const HcWritePlan *plan, const HcScene *scene, const char *name, char **how,
                         HcError *err) {
    HcGdalErrors errors;
    hc_gdal_catch(&errors);
    HcStatus status = make_few(plan, scene, name, how, &errors, err);
    const char *fault = status != HC_OK || errors.failed ? NULL : fault_of_few(plan, scene->bands, name);
    if (status == HC_OK && (errors.failed || fault != NULL)) {
        const char *why = fault != NULL            ? fault
                          : errors.text[0] != '\0' ? errors.text
                                                   : "GDAL gives no reason";
        why = without_name(without_name(why, name), strrchr(name, '/') + 1);
        status = hc_fail(err, HC_E_UNSUPPORTED, "%s: %s cannot hold %d bands of %s: %s", plan->path,
                         plan->format, scene->bands, hc_type_name(plan->type), why);
    }
    hc_gdal_release();
    return status;
}

/* A folder in memory, or a real one for drivers that know files alone, whatever they say of themselves. */
static bool make_folder(const HcWritePlan *plan, char *folder, size_t bytes) {
    const char *in_memory = GDALGetMetadataItem(plan->driver, GDAL_DCAP_VIRTUALIO, NULL);
    bool files = strcmp(plan->format, "netCDF") == 0 || strcmp(plan->format, "ELAS") == 0;
    if (!files && in_memory != NULL && CPLTestBool(in_memory)) {
        snprintf(folder, bytes, "/vsimem/hcube-probe-%p", (const void *)folder);
        return true;
    }
    return snprintf(folder, bytes, "%s/hcube-probe-XXXXXX", hc_scratch_folder()) < (int)bytes &&
           mkdtemp(folder) != NULL;
}

HcStatus hc_write_probe(const HcWritePlan *plan, const HcScene *scene, HcError *err) {
    HcStatus status = HC_OK;
    char folder[120], name[150];
    char **how = NULL;
    if (!wants_probe(plan) || !make_folder(plan, folder, sizeof folder)) {
        return HC_OK;
    }
    snprintf(name, sizeof name, "%s/probe.%.16s", folder, CPLGetExtension(plan->path));
    /* Small tiles: the driver holds whole ones, with all bands. */
    HC_TRY(hc_write_options_add(&how, (const char *const *)plan->options, err));
    if (hc_write_is_tiff(plan)) {
        HC_TRY(hc_write_option(&how, "NUM_THREADS", "1", err)); /* it must not wait for threads */
        HC_TRY(hc_write_option(&how, hc_write_is_cog(plan) ? "BLOCKSIZE" : "BLOCKXSIZE", "16", err));
    }
    status = probe_as(plan, scene, name, how, err);
done:
    VSIRmdirRecursive(folder);
    CSLDestroy(how);
    return status;
}
