/* Scenes of STAC items, and what their placeholders stand for. */
#include "app/batch/batch.h"
#include "io/read/product/product.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether a text leads to a product beside it, as the item of a raster does. HC_OK: it has no flaw. */
static HcStatus open_product(const char *path, bool *is) {
    HcProduct *product = NULL;
    HcError unimportant = {0};
    HcStatus status = hc_product_open(&product, path, HC_OVERLAP_USUAL, &unimportant);
    *is = status != HC_OK || product != NULL;
    hc_product_close(product);
    return status;
}

/* The text of --scenes, which options have as GDAL names files: an address as it was typed. */
static const char *asked_for(const HcBatch *batch) {
    static const char web[] = "/vsicurl/";
    const char *what = batch->params.scenes;
    return what + (strncmp(what, web, strlen(web)) == 0 ? strlen(web) : 0);
}

/* Whether a path ends in .json, or an address in what is no name of a file, as that of a search does. */
static bool may_be_stac(const char *what) {
    size_t length = hc_stac_is_address(what) ? strcspn(what, "?#") : strlen(what);
    size_t name = length;
    while (name > 0 && what[name - 1] != '/') {
        name--;
    }
    const char *dot = memchr(what + name, '.', length - name);
    size_t ending = length - (size_t)(dot != NULL ? dot - what : 0);
    if (dot == NULL) {
        return hc_stac_is_address(what) && length > name;
    }
    return (ending >= 5 && strncmp(what + length - 5, ".json", 5) == 0) ||
           (ending >= 8 && strncmp(what + length - 8, ".geojson", 8) == 0);
}

/* A list of names may end in .json, too. */
static bool holds_json(const char *path) {
    FILE *file = fopen(path, "re");
    char first = 0;
    bool is = file != NULL && fscanf(file, " %c", &first) == 1 && first == '{';
    if (file != NULL) {
        fclose(file);
    }
    return is;
}

bool hc_batch_is_stac(const HcBatch *batch) {
    const char *what = asked_for(batch);
    bool asked = batch->params.asset != NULL || batch->params.filter.count > 0;
    bool remote = hc_stac_is_address(what) || strncmp(what, "/vsi", 4) == 0;
    bool alone = false;
    return asked || (may_be_stac(what) &&
                     (remote || (holds_json(what) && (open_product(what, &alone) != HC_OK || !alone))));
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
    const char *what = asked_for(batch);
    for (int32_t f = 0; f < batch->params.filter.count; f++) {
        HC_OR_RETURN(hc_stac_filter(batch->params.filter.item[f], &asked, err));
    }
    HC_OR_RETURN(hc_stac_is_address(what) ? hide(what, err) : hc_paths_add(&batch->inputs, what, err));
    hc_stac_list_clear(&batch->stac);
    HcError failure = {0};
    HcStatus status = hc_stac_list(what, &asked, &batch->stac, &failure);
    bool alone = false;
    if (status == HC_E_INPUT && asked.asset == NULL && !hc_stac_is_address(what) &&
        open_product(what, &alone) != HC_OK) {
        hc_stac_list_clear(&batch->stac);
        return hc_paths_add(out, what, err); /* fails as a scene, by its flaw */
    }
    if (status != HC_OK) {
        *err = failure;
        return status;
    }
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
    HC_OR_RETURN(hc_text_made(word, length, "a name", err));
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
