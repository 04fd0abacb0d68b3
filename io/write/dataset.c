/* An output that GDAL writes: created, filled, closed, and copied where its driver can only copy. */
#include "core/allocate.h"
#include "core/text.h"
#include "io/gdal/errors.h"
#include "io/write/parts.h"

#include <cpl_string.h>
#include <math.h>
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
    } else if (!copied) {
        HC_TRY(hc_write_sure_threads(&options, plan, err));
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

/* What a copy has lost. */
typedef struct Loss {
    double largest; /* difference of a value */
    bool masked;    /* a masked pixel holds data, or data are masked */
} Loss;

static bool is_missing(const HcWritePlan *plan, double value) {
    return isnan(value) || (!plan->no_nodata && !plan->shares_nodata && value == plan->nodata);
}

static CPLErr compare_lines(GDALDatasetH const pair[2], const HcWritePlan *plan, int line, int lines,
                            double *values, Loss *loss) {
    int samples = GDALGetRasterXSize(pair[0]);
    size_t count = (size_t)samples * (size_t)lines;
    CPLErr result = CE_None;
    for (int b = 1; b <= GDALGetRasterCount(pair[0]) && result == CE_None; b++) {
        for (int k = 0; k < 2 && result == CE_None; k++) {
            result = GDALRasterIO(GDALGetRasterBand(pair[k], b), GF_Read, 0, line, samples, lines,
                                  values + (size_t)k * count, samples, lines, GDT_Float64, 0, 0);
        }
        for (size_t p = 0; p < count && result == CE_None; p++) {
            bool missing = is_missing(plan, values[p]);
            loss->masked = loss->masked || missing != is_missing(plan, values[count + p]);
            loss->largest =
                missing ? loss->largest : fmax(loss->largest, fabs(values[p] - values[count + p]));
        }
    }
    return result;
}

static HcStatus judge_loss(const Loss *loss, const HcScene *scene, const HcWritePlan *plan, HcError *err) {
    if (loss->masked) {
        return hc_fail(
            err, HC_E_UNSUPPORTED,
            "%s: %s with these options makes data of masked pixels, or masks data: write without loss, "
            "or another format",
            plan->path, plan->format);
    }
    if (loss->largest > 0 && hc_write_has_classes(scene, plan->type)) {
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "%s: %s with these options changes numbers of classes by up to %g: write without loss",
                       plan->path, plan->format, loss->largest);
    }
    return HC_OK;
}

/* Compares the copy with its source, some lines at a time. */
static HcStatus measure_loss(const char *from, const char *copy, const HcScene *scene,
                             const HcWritePlan *plan, double *largest, HcError *err) {
    enum { LINES = 16 };
    HcStatus status = HC_OK;
    Loss loss = {0};
    double *values = NULL;
    GDALDatasetH pair[] = {GDALOpen(from, GA_ReadOnly), GDALOpen(copy, GA_ReadOnly)};
    bool whole =
        pair[0] != NULL && pair[1] != NULL && GDALGetRasterCount(pair[0]) == GDALGetRasterCount(pair[1]);
    HC_TRY(hc_new(values, (size_t)scene->samples * LINES * 2, "lines to compare", err));
    for (int line = 0; line < scene->lines && whole; line += LINES) {
        int lines = (int)(scene->lines - line < LINES ? scene->lines - line : LINES);
        whole = compare_lines(pair, plan, line, lines, values, &loss) == CE_None;
    }
    if (!whole) {
        HC_TRY(hc_fail(err, HC_E_IO, "%s: the file is not whole when read back", plan->path));
    }
    *largest = loss.largest;
    status = judge_loss(&loss, scene, plan, err);
done:
    free(values);
    GDALClose(pair[0]);
    GDALClose(pair[1]);
    return status;
}

HcStatus hc_write_dataset_copy(const char *from, const char *partial, const HcScene *scene,
                               const HcWritePlan *plan, double *loss, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    GDALDatasetH copy = NULL, source = NULL;
    char **options = NULL;
    hc_gdal_catch(&errors);
    HC_TRY(hc_write_options_add(&options, (const char *const *)plan->options, err));
    HC_TRY(hc_write_sure_threads(&options, plan, err));
    source = GDALOpen(from, GA_ReadOnly);
    if (source != NULL) {
        copy = GDALCreateCopy(plan->driver, partial, source, FALSE, options, NULL, NULL);
    }
    if (copy == NULL || errors.failed) {
        status = hc_gdal_fail(err, HC_E_IO, plan->path, &errors);
    }
    if (copy != NULL) {
        HcStatus closed = hc_write_dataset_close(plan->path, &copy, err);
        status = status != HC_OK ? status : closed;
    }
    GDALClose(source);
    if (status == HC_OK && plan->may_lose) {
        status = measure_loss(from, partial, scene, plan, loss, err);
    }
done:
    CSLDestroy(options);
    hc_gdal_release();
    unlink(from);
    char *aux = hc_text_format("%s.aux.xml", from);
    if (aux != NULL) {
        unlink(aux);
    }
    free(aux);
    return status;
}
