/* An output that GDAL writes: created, filled, closed, and copied where its driver can only copy. */
#include "core/text.h"
#include "io/gdal_errors.h"
#include "io/write/parts.h"

#include <cpl_string.h>
#include <stdlib.h>
#include <unistd.h>

static HcStatus create(GDALDatasetH *out, const char *file, const HcWritePlan *plan, const HcScene *scene,
                       const HcGdalErrors *errors, HcError *err) {
    HcStatus status = HC_OK;
    bool copied = plan->way == HC_WRITE_COPY;
    char **options = NULL;
    HC_TRY(copied ? hc_write_source(&options, plan, scene, err)
                  : hc_write_options_add(&options, (const char *const *)plan->options, err));
    if (plan->encodes) {
        HC_TRY(hc_write_option(&options, "SPARSE_OK", "YES", err));
        HC_TRY(hc_write_option(&options, "NUM_THREADS", "1", err));
    }
    *out = GDALCreate(copied ? GDALGetDriverByName("GTiff") : plan->driver, file, (int)scene->samples,
                      (int)scene->lines, scene->bands, plan->gdal_type, options);
    if (*out == NULL) {
        status = hc_gdal_fail(err, HC_E_IO, plan->path, errors);
    }
done:
    CSLDestroy(options);
    return status;
}

HcStatus hc_write_dataset_create(GDALDatasetH *out, const char *file, const HcWritePlan *plan,
                                 const HcScene *scene, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    hc_gdal_catch(&errors);
    HC_TRY(create(out, file, plan, scene, &errors, err));
    HC_TRY(hc_write_describe(*out, plan->path, scene, plan, err));
done:
    hc_gdal_release();
    return status;
}

HcStatus hc_write_dataset_lines(GDALDatasetH dataset, const HcWritePlan *plan, const HcStored *layout,
                                void *stored, int64_t line0, int32_t rows, bool flush, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    GSpacing size = (GSpacing)hc_type_bytes(layout->type);
    int samples = (int)layout->samples;
    hc_gdal_catch(&errors);
    CPLErr result = GDALDatasetRasterIOEx(
        dataset, GF_Write, 0, (int)line0, samples, rows, stored, samples, rows, plan->gdal_type,
        layout->bands, NULL, hc_stored_stride_sample(layout) * size, hc_stored_stride_row(layout) * size,
        hc_stored_stride_band(layout) * size, NULL);
    for (int32_t b = 0; b < layout->bands && result == CE_None && flush; b++) {
        result = GDALFlushRasterCache(GDALGetRasterBand(dataset, b + 1));
    }
    if (result != CE_None || errors.failed) {
        status = hc_gdal_fail(err, HC_E_IO, plan->path, &errors);
    }
    hc_gdal_release();
    return status;
}

/* Closing writes what is still buffered, and only the messages tell whether that went well. */
HcStatus hc_write_dataset_close(const char *path, GDALDatasetH *dataset, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    hc_gdal_catch(&errors);
    GDALFlushCache(*dataset);
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 7, 0)
    bool closed = GDALClose(*dataset) == CE_None;
#else
    bool closed = true;
    GDALClose(*dataset);
#endif
    *dataset = NULL;
    if (!closed || errors.failed || CPLGetLastErrorType() >= CE_Failure) {
        status = hc_gdal_fail(err, HC_E_IO, path, &errors);
    }
    hc_gdal_release();
    return status;
}

HcStatus hc_write_dataset_copy(const char *from, const char *partial, const HcWritePlan *plan, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    GDALDatasetH copy = NULL;
    hc_gdal_catch(&errors);
    GDALDatasetH source = GDALOpen(from, GA_ReadOnly);
    if (source != NULL) {
        copy = GDALCreateCopy(plan->driver, partial, source, FALSE, plan->options, NULL, NULL);
    }
    if (copy == NULL || errors.failed) {
        status = hc_gdal_fail(err, HC_E_IO, plan->path, &errors);
    }
    if (copy != NULL) {
        HcStatus closed = hc_write_dataset_close(plan->path, &copy, err);
        status = status != HC_OK ? status : closed;
    }
    GDALClose(source);
    hc_gdal_release();
    unlink(from);
    char *aux = hc_text_format("%s.aux.xml", from);
    if (aux != NULL) {
        unlink(aux);
    }
    free(aux);
    return status;
}
