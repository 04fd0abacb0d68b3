/* Scenes of STAC items, and what their placeholders stand for. */
#include "app/batch/batch.h"
#include "io/read/product/product.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Whether a text leads to a product beside it, as the item of a raster does. */
static bool opens(const char *path) {
    HcProduct *product = NULL;
    HcError unimportant = {0};
    bool does = hc_product_open(&product, path, HC_OVERLAP_USUAL, &unimportant) == HC_OK && product != NULL;
    hc_product_close(product);
    return does;
}

bool hc_batch_is_stac(const HcBatch *batch) {
    const char *what = batch->params.scenes;
    bool asked = batch->params.asset != NULL || batch->params.filter.count > 0;
    bool is_json = hc_text_ends_with(what, ".json") || hc_text_ends_with(what, ".geojson");
    return (hc_stac_is_address(what) && strncmp(what, "/vsi", 4) != 0) || asked ||
           (is_json && access(what, F_OK) == 0 && !opens(what));
}

/* User and query of an address may be secrets, which no record keeps. */
static HcStatus hide(const char *address, HcError *err) {
    char *shown = hc_stac_address(address);
    HcStatus status = shown == NULL ? hc_fail_memory(err, (double)strlen(address), "an address")
                      : strcmp(shown, address) == 0 ? HC_OK
                                                    : hc_command_line_hide(address, shown, err);
    free(shown);
    return status;
}

HcStatus hc_batch_find_stac(HcBatch *batch, HcPaths *out, HcError *err) {
    HcStacAsked asked = {.asset = batch->params.asset};
    const char *what = batch->params.scenes;
    for (int32_t f = 0; f < batch->params.filter.count; f++) {
        HC_OR_RETURN(hc_stac_filter(batch->params.filter.item[f], &asked, err));
    }
    HC_OR_RETURN(hc_stac_is_address(what) ? hide(what, err) : hc_paths_add(&batch->inputs, what, err));
    hc_stac_list_clear(&batch->stac);
    HC_OR_RETURN(hc_stac_list(what, &asked, &batch->stac, err));
    for (int32_t s = 0; s < batch->stac.count; s++) {
        HC_OR_RETURN(hc_paths_add(out, batch->stac.scene[s].path, err));
    }
    return batch->stac.count > 0 || batch->stac.left_out == 0
               ? HC_OK
               : hc_fail(err, HC_E_INPUT, "batch: --filter leaves out all %d items", batch->stac.left_out);
}

HcStatus hc_batch_add_of_item(const HcBatch *batch, HcText *text, const char *name, size_t length,
                              int32_t number, bool *known, HcError *err) {
    HcStatus status = HC_OK;
    const HcStacScene *item = hc_stac_find(&batch->stac, batch->scenes[number].path);
    bool is_id = length == 4 && strncmp(name, "item", 4) == 0;
    char *path = NULL, *word = hc_text_format("%.*s", (int)length, name);
    *known = item != NULL && (is_id || strncmp(name, "asset:", 6) == 0 || strncmp(name, "role:", 5) == 0 ||
                              (length == 9 && strncmp(name, "item-path", 9) == 0));
    if (word == NULL) {
        return hc_fail_memory(err, (double)length, "a name");
    }
    if (*known && !is_id) {
        HC_TRY(hc_stac_asset(item, word, &path, err));
        HC_TRY(path != NULL ? HC_OK
                            : hc_fail(err, HC_E_INPUT, "batch: {%s}: item %s has no such asset, or several",
                                      word, item->id));
    }
    hc_text_add(text, "%s", !*known ? "" : is_id ? item->id : path);
done:
    free(path);
    free(word);
    return status;
}
