/* Quality layers: arrays and rasters beside the pixels that say what is wrong with each. A product names
 * them; open_layer.c opens one. */
#include "io/read/product/parts.h"

#include <stdlib.h>
#include <string.h>

HcStatus hc_product_add_layer(HcProduct *product, const HcProductLayer *layer, const char *path,
                              const char *dataset, const char *other, HcError *err) {
    const char *texts[] = {path, layer->flaw, dataset, other};
    char *copies[4] = {NULL};
    HcProductLayer *grown = realloc(product->layer, (size_t)(product->layers + 1) * sizeof *grown);
    if (grown == NULL) {
        return hc_fail_memory(err, sizeof *grown, "a quality layer");
    }
    product->layer = grown;
    for (int t = 0; t < 4; t++) {
        if (texts[t] != NULL && (copies[t] = strdup(texts[t])) == NULL) {
            free(copies[0]);
            free(copies[1]);
            free(copies[2]);
            return hc_fail_memory(err, (double)strlen(texts[t]), "a quality layer");
        }
    }
    HcProductLayer *made = &grown[product->layers++];
    *made = *layer;
    made->file = copies[0];
    made->flaw = copies[1];
    made->dataset[0] = copies[2];
    made->dataset[1] = copies[3];
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
        free(product->layer[l].flaw);
        free(product->layer[l].file);
        free(product->layer[l].dataset[0]);
        free(product->layer[l].dataset[1]);
    }
    free(product->layer);
    product->layer = NULL;
    product->layers = 0;
}
