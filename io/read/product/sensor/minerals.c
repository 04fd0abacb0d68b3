/* EMIT L2B minerals (in sensor geometry, with a lookup table) and L3 abundances (a map of the Earth): netCDF
 * with an array for each band. */
#include "core/allocate.h"
#include "io/read/product/parts.h"
#include "core/texts.h"

#include <cpl_string.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NAMES   "/mineral_metadata/name"
#define NUMBERS "/mineral_metadata/index"
#define PLACES  "/location/lon;/location/lat;/location/elev;/location/glt_x;/location/glt_y"
#define KIND(of_product, of_version, pixels, others_of, meaning)                                             \
    {                                                                                                        \
        .product = of_product, .version = of_version, .dataset = pixels, .axes = "line sample",              \
        .names = meaning, .layers = "those of the masks beside it",                                          \
        .others = others_of PLACES ";/mineral_metadata/*", .is_companion = true                              \
    }
#define MINERALS(version)                                                                                    \
    KIND("EMIT L2B minerals", version, "/group_1_mineral_id",                                                \
         "/group_1_band_depth;/group_2_mineral_id;/group_2_band_depth;", NAMES)
#define UNCERTAINTY(version)                                                                                 \
    KIND("EMIT L2B mineral uncertainty", version, "/group_1_band_depth_unc",                                 \
         "/group_1_fit;/group_2_band_depth_unc;/group_2_fit;", NULL)

static const HcProductLayout layouts[] = {
    MINERALS("V001"), MINERALS("V002"), UNCERTAINTY("V001"), UNCERTAINTY("V002"), {0}};

const HcProductRow hc_product_rows_minerals[] = {{.sensor = "EMIT",
                                                  .read = "L2B MIN, MINUNCERT; L3 ASA",
                                                  .versions = "V001, V002; ASA V002",
                                                  .checked = "layout",
                                                  .layouts = layouts,
                                                  .version_in = "product_version"},
                                                 {0}};

/* All arrays of a product of the table, and NULL. */
static const struct Kind {
    const char *array[5];
} kinds[] = {
    {{"group_1_mineral_id", "group_1_band_depth", "group_2_mineral_id", "group_2_band_depth", NULL}},
    {{"group_1_band_depth_unc", "group_1_fit", "group_2_band_depth_unc", "group_2_fit", NULL}},
};

/* ---- L2B ---- */

/* What the numbers from 0 on stand for; 0 is no mineral. */
static HcStatus join_names(HcProduct *product, char *const *word, const double *number, int32_t count,
                           HcError *err) {
    HcText all = {0};
    hc_text_add(&all, "none");
    for (int32_t n = 1, found = 0; found < count && n < 4096; n++) {
        const char *name = "-";
        for (int32_t w = 0; w < count; w++) {
            if (number[w] == n) {
                name = word[w];
                found++;
            }
        }
        hc_text_add(&all, "\n%.*s", (int)strcspn(name, "\n"), name);
    }
    product->scene.number_names = hc_text_take(&all);
    return product->scene.number_names != NULL ? HC_OK : hc_fail_memory(err, 0, "the names of minerals");
}

static HcStatus name_minerals(HcProduct *product, const HcProductFile *file, HcError *err) {
    HcStatus status = HC_OK;
    int64_t count = 0;
    double *number = NULL;
    char **word = NULL;
    HC_TRY(hc_product_shape(file, NAMES, 1, &count, err));
    if (count < 1 || count > 4096) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: " NAMES " has %d names", file->path, (int)count));
    }
    HC_TRY(hc_product_list(file, NUMBERS, (int32_t)count, &number, err));
    HC_TRY(hc_product_words(file, NAMES, (int32_t)count, &word, err));
    HC_TRY(join_names(product, word, number, (int32_t)count, err));
done:
    hc_free_texts(word, count);
    free(number);
    return status;
}

static HcStatus describe_minerals(HcProduct *product, const HcProductFile *file,
                                  const HcProductLayout *layout, HcError *err) {
    HC_OR_RETURN(hc_product_name(product, file, layout->product, NULL, err));
    product->is_companion = true;
    HC_OR_RETURN(hc_product_take_flat(product, file, "/", kinds[layout->names == NULL].array, err));
    HC_OR_RETURN(hc_product_compare(product, file, hc_product_rows_minerals, layout, err));
    if (layout->names != NULL) {
        HC_OR_RETURN(name_minerals(product, file, err));
    }
    HC_OR_RETURN(hc_product_emit_lookup(product, file, err));
    return hc_product_emit_masks(product, file, err);
}

/* ---- L3 ---- */

/* Centres of pixels along both axes. */
static HcStatus take_place(HcProduct *product, const HcProductFile *file, const char *latitude,
                           const char *longitude, HcError *err) {
    HcStatus status = HC_OK;
    HcScene *scene = &product->scene;
    double *x = NULL, *y = NULL;
    HC_TRY(hc_product_list(file, longitude, (int32_t)scene->samples, &x, err));
    HC_TRY(hc_product_list(file, latitude, (int32_t)scene->lines, &y, err));
    if (!hc_product_centres(product, x, y)) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: the steps of %s or %s are not equal", file->path, longitude,
                       latitude));
    }
    HC_TRY(hc_product_crs(product, 4326, err));
done:
    free(x);
    free(y);
    return status;
}

static HcStatus describe_abundance(HcProduct *product, const HcProductFile *file, HcError *err) {
    bool is_short = hc_product_has(file, "/lat");
    HC_OR_RETURN(hc_product_name(product, file, "EMIT L3 mineral spectral abundance", NULL, err));
    char **names = hc_product_names(file, "/", 2);
    HcStatus status = hc_product_take_flat(product, file, "/", (const char *const *)names, err);
    CSLDestroy(names);
    HC_OR_RETURN(status);
    return take_place(product, file, is_short ? "/lat" : "/latitude", is_short ? "/lon" : "/longitude", err);
}

HcStatus hc_product_minerals(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    const HcProductLayout *layout = hc_product_layout(file, hc_product_rows_minerals);
    *is = layout != NULL;
    if (*is) {
        return describe_minerals(product, file, layout, err);
    }
    *is = hc_product_has_axes(file, "/Goethite", 2) && hc_product_has_axes(file, "/Hematite", 2);
    return *is ? describe_abundance(product, file, err) : HC_OK;
}
