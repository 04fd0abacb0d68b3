/* products: what the readers of sensors say of themselves, as a table or with all their layouts as JSON. */
#include "app/app.h"
#include "app/usage/usage.h"
#include "io/read/product/product.h"
#include "pipeline/json/json.h"

#include <stdio.h>

typedef struct ProductsParams {
    bool json;
} ProductsParams;

static const HcOption products_options[] = {
    {HC_FLAG(ProductsParams, json),
     .help =
         "print JSON, with the layouts that are known of each product: arrays, axes, units, lists of bands "
         "and quality layers by version"},
    {.name = NULL},
};

static void put_text(HcJson *to, const char *name, const char *text) {
    if (text != NULL) {
        hc_json_put_text(to, name, text);
    }
}

static void put_layouts(const HcProductLayout *layout, HcJson *to) {
    hc_json_open_array(to, "layouts");
    for (; layout != NULL && layout->product != NULL; layout++) {
        hc_json_open_object(to, NULL);
        put_text(to, "product", layout->product);
        put_text(to, "version", layout->version);
        put_text(to, "array", layout->dataset);
        put_text(to, "axes", layout->axes);
        put_text(to, "units", layout->units);
        put_text(to, "wavelengths", layout->bands.centres);
        put_text(to, "widths", layout->bands.widths);
        put_text(to, "good_bands", layout->bands.good);
        put_text(to, "names", layout->names);
        put_text(to, "quality_layers", layout->layers);
        put_text(to, "other_arrays", layout->others);
        hc_json_close(to);
    }
    hc_json_close(to);
}

static HcStatus print_products_json(HcError *err) {
    HcJson json;
    const HcProductRow *row = NULL;
    hc_json_begin(&json);
    hc_json_open_array(&json, "products");
    for (int32_t n = 0; (row = hc_product_row(n)) != NULL; n++) {
        hc_json_open_object(&json, NULL);
        hc_json_put_text(&json, "sensor", row->sensor);
        hc_json_put_text(&json, "read", row->read);
        hc_json_put_text(&json, "versions", row->versions);
        hc_json_put_text(&json, "checked_against", row->checked);
        put_layouts(row->layouts, &json);
        hc_json_close(&json);
    }
    hc_json_close(&json);
    return hc_print_json(&json, err);
}

void hc_describe_products(HcUsage *usage) {
    hc_text_add(&usage->examples, "hcube products\nhcube products --json\n");
    hc_usage_add(usage, "Options", products_options);
}

HcStatus hc_command_products(int32_t word_count, const char *const *words, HcError *err) {
    static const HcProductRow head = {
        .sensor = "sensor", .read = "read", .versions = "versions", .checked = "checked against"};
    ProductsParams params;
    HcOptionSet set = {.table = products_options, .params = &params};
    hc_options_reset(products_options, &params);
    HC_OR_RETURN(hc_options_parse("products", &set, 1, words, word_count, err));
    if (params.json) {
        return print_products_json(err);
    }
    const HcProductRow *row = &head;
    for (int32_t n = 0; row != NULL; row = hc_product_row(n++)) {
        printf("%-18s  %-39s  %-24s  %s\n", row->sensor, row->read, row->versions, row->checked);
    }
    return HC_OK;
}
