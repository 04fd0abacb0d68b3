/* Quality layers: arrays and rasters beside the pixels that say what is wrong with each. A product names
 * them; whoever masks pixels opens one as a scene of its own, by all ways of reading that a product has. */
#include "core/allocate.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"

#include <stdlib.h>
#include <string.h>

HcStatus hc_product_add_layer(HcProduct *product, const HcProductLayer *layer, const char *path,
                              const char *dataset, const char *other, HcError *err) {
    const char *texts[] = {path, dataset, other};
    char *copies[3] = {NULL};
    HcProductLayer *grown = realloc(product->layer, (size_t)(product->layers + 1) * sizeof *grown);
    if (grown == NULL) {
        return hc_fail_memory(err, sizeof *grown, "a quality layer");
    }
    product->layer = grown;
    for (int t = 0; t < 3 && texts[t] != NULL; t++) {
        if ((copies[t] = strdup(texts[t])) == NULL) {
            free(copies[0]);
            free(copies[1]);
            return hc_fail_memory(err, (double)strlen(texts[t]), "a quality layer");
        }
    }
    HcProductLayer *made = &grown[product->layers++];
    *made = *layer;
    made->file = copies[0];
    made->dataset[0] = copies[1];
    made->dataset[1] = copies[2];
    return HC_OK;
}

HcStatus hc_product_add_flat(HcProduct *product, const HcProductFile *file, const HcProductLayer *layer,
                             const char *dataset, HcError *err) {
    return hc_product_has(file, dataset)
               ? hc_product_add_layer(product, layer, file->path, dataset, NULL, err)
               : HC_OK;
}

void hc_product_clear_layers(HcProduct *product) {
    for (int32_t l = 0; l < product->layers; l++) {
        free(product->layer[l].file);
        free(product->layer[l].dataset[0]);
        free(product->layer[l].dataset[1]);
    }
    free(product->layer);
    product->layer = NULL;
    product->layers = 0;
}

/* ---- a layer as a scene ---- */

/* The bands of the arrays: as the product has its own, or all of the only array. */
static HcStatus take_bands(HcProduct *made, const HcProduct *of, const HcProductLayer *layer, HcError *err) {
    int32_t own = made->array[0].bands, count = layer->dataset[1] != NULL ? of->scene.bands : own;
    HC_OR_RETURN(hc_new(made->band, count, "the bands", err));
    for (int32_t b = 0; b < count; b++) {
        made->band[b] = (HcProductBand){.band = b};
        if (layer->dataset[1] != NULL) {
            made->band[b].array = of->band[b].array;
            made->band[b].band = of->band[b].band;
        }
        const HcProductBand *band = &made->band[b];
        if (band->array >= made->array_count || band->band >= made->array[band->array].bands) {
            return hc_fail(err, HC_E_INPUT, "%s: %s has %d bands, the pixels have more", layer->file,
                           layer->dataset[band->array > 0], (int)made->array[band->array > 0].bands);
        }
    }
    made->scene.bands = count;
    return HC_OK;
}

static HcStatus fill(HcProduct *made, const HcProduct *of, const HcProductLayer *layer, HcError *err) {
    HcStatus status = HC_OK;
    HcProductFile file = {.path = layer->file, .dataset = made->dataset};
    made->name = hc_text_format("%s of %s", layer->name, of->name != NULL ? of->name : "a product");
    if (made->name == NULL) {
        return hc_fail_memory(err, 0, "a text");
    }
    if ((file.root = GDALDatasetGetRootGroup(made->dataset)) == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: holds no arrays", layer->file);
    }
    for (int d = 0; d < 2 && layer->dataset[d] != NULL; d++) {
        HC_TRY(hc_product_take(made, &file, layer->dataset[d], layer->axis, err));
        made->array[d].mirrored = layer->mirrored;
    }
    HC_TRY(take_bands(made, of, layer, err));
    HC_TRY(hc_paths_add(&made->files, layer->file, err));
done:
    GDALGroupRelease(file.root);
    return status;
}

HcStatus hc_product_open_layer(HcProduct **out, const HcProduct *of, const HcProductLayer *layer,
                               HcError *err) {
    static const char *const only[] = {"netCDF", "HDF5", NULL};
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    HcProduct *made = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(made, 1, "a quality layer", err));
    hc_gdal_catch(&messages);
    made->dataset = GDALOpenEx(
        layer->file, GDAL_OF_MULTIDIM_RASTER | GDAL_OF_READONLY | GDAL_OF_VERBOSE_ERROR, only, NULL, NULL);
    status = made->dataset != NULL ? fill(made, of, layer, err)
                                   : hc_gdal_fail(err, HC_E_INPUT, layer->file, &messages);
    hc_gdal_release();
    if (status == HC_OK) {
        *out = made;
        made = NULL;
    }
    hc_product_close(made);
    return status;
}
