/* A quality layer as a scene of its own, by all ways of reading that a product has. */
#include "core/text.h"
#include "core/allocate.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"

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
    HC_OR_RETURN(hc_text_made(made->name, 0, "a text", err));
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
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    HcProduct *made = NULL;
    *out = NULL;
    if (layer->flaw != NULL) {
        return hc_fail(err, HC_E_INPUT, "%s", layer->flaw);
    }
    HC_OR_RETURN(hc_new(made, 1, "a quality layer", err));
    hc_gdal_catch(&messages);
    made->dataset = hc_product_open_arrays(layer->file);
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
