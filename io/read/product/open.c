/* Which product a path is: its file is opened once, and each sensor looks at what it holds. */
#include "io/read/product/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>

/* A new sensor is a line here. */
static HcProductDescribe *const of_arrays[] = {hc_product_emit, hc_product_prisma,  hc_product_aviris,
                                               hc_product_neon, hc_product_tanager, hc_product_hypso};

static bool begins_with(const char *path, const void *signature, size_t bytes) {
    char begin[16];
    VSILFILE *file = VSIFOpenL(path, "rb");
    size_t read = file != NULL ? VSIFReadL(begin, 1, bytes, file) : 0;
    if (file != NULL) {
        VSIFCloseL(file);
    }
    return read == bytes && memcmp(begin, signature, bytes) == 0;
}

void hc_product_close(HcProduct *product) {
    HcGdalErrors messages;
    if (product == NULL) {
        return;
    }
    hc_gdal_catch(&messages);
    for (int32_t a = 0; a < product->array_count; a++) {
        if (product->array[a].handle != NULL) {
            GDALMDArrayRelease(product->array[a].handle);
        }
        free(product->array[a].file);
        free(product->array[a].dataset);
    }
    GDALClose(product->dataset);
    hc_gdal_release();
    hc_scene_clear(&product->scene);
    hc_text_clear(&product->note);
    hc_paths_clear(&product->files);
    free(product->band);
    free(product->lookup.sample);
    free(product->lookup.line);
    free(product->lookup.place.crs);
    free(product->mask_file);
    free(product->raster);
    free(product->name);
    free(product);
}

static HcStatus describe(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    *is = false;
    for (size_t s = 0; s < sizeof of_arrays / sizeof *of_arrays && !*is; s++) {
        HC_OR_RETURN(of_arrays[s](product, file, is, err));
    }
    return HC_OK;
}

/* A netCDF or HDF5 file. One that GDAL does not open is left to those who open any raster. */
static HcStatus look_at_arrays(HcProduct *product, const char *path, bool *is, HcError *err) {
    /* HDF5 leaves files with the ending .nc to netCDF. */
    static const char *const only[] = {"netCDF", "HDF5", NULL};
    HcGdalErrors messages;
    HcStatus status = HC_OK;
    hc_gdal_catch(&messages);
    HcProductFile file = {.path = path};
    *is = false;
    file.dataset = GDALOpenEx(path, GDAL_OF_MULTIDIM_RASTER | GDAL_OF_READONLY, only, NULL, NULL);
    file.root = file.dataset != NULL ? GDALDatasetGetRootGroup(file.dataset) : NULL;
    if (file.root != NULL) {
        status = describe(product, &file, is, err);
        GDALGroupRelease(file.root);
    }
    if (status == HC_OK && *is) {
        product->dataset = file.dataset;
        file.dataset = NULL;
        status = hc_paths_add(&product->files, path, err);
    } else if (status != HC_OK) { /* arrays go before their file */
        product->dataset = file.dataset;
        file.dataset = NULL;
    }
    GDALClose(file.dataset);
    hc_gdal_release();
    return status;
}

HcStatus hc_product_open(HcProduct **out, const char *path, HcOverlap overlap, HcError *err) {
    HcStatus status = HC_OK;
    bool is = false;
    *out = NULL;
    if (!hc_product_is_file(path) || !begins_with(path, "\x89HDF\r\n\x1a\n", 8)) {
        return HC_OK;
    }
    HcProduct *product = calloc(1, sizeof *product);
    if (product == NULL) {
        return hc_fail_memory(err, sizeof *product, "the product");
    }
    HC_TRY(look_at_arrays(product, path, &is, err));
    if (!is) {
        goto done;
    }
    HC_TRY(hc_product_settle(product, overlap, err));
    if (product->note.failed) {
        HC_TRY(hc_fail_memory(err, 0, "a text"));
    }
    *out = product;
    product = NULL;
done:
    hc_product_close(product);
    return status;
}
