/* The table of layouts: which of its rows a file is, and what the file has that the table lacks. Formats
 * change without notice, and a reader that finds the cube goes on without an array that has another name. So
 * a version that is unknown, arrays that no row names and other units are told in a remark. */
#include "io/read/product/parts.h"

#include <cpl_string.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 8, SHOWN = 6 };

const HcProductLayout *hc_product_layout(const HcProductFile *file, const HcProductRow *row) {
    for (const HcProductLayout *layout = row->layouts; layout->product != NULL; layout++) {
        if (layout->group != NULL ? hc_product_has_group(file, layout->group)
                                  : hc_product_has(file, layout->dataset)) {
            return layout;
        }
    }
    return NULL;
}

/* ---- what a file holds ---- */

/* An array that only numbers the places along its axis. */
static bool is_axis(GDALMDArrayH array) {
    size_t count = 0;
    GDALDimensionH *axes = GDALMDArrayGetDimensions(array, &count);
    bool is = count == 1 && strcmp(GDALDimensionGetName(axes[0]), GDALMDArrayGetName(array)) == 0;
    GDALReleaseDimensions(axes, count);
    return is;
}

/* Adds the full names of all arrays of a group and of the groups in it. */
static char **list_arrays(GDALGroupH group, int depth, char **list) {
    char **names = GDALGroupGetMDArrayNames(group, NULL), **groups = GDALGroupGetGroupNames(group, NULL);
    for (int n = 0; names != NULL && names[n] != NULL; n++) {
        GDALMDArrayH array = GDALGroupOpenMDArray(group, names[n], NULL);
        if (array != NULL && !is_axis(array)) {
            list = CSLAddString(list, GDALMDArrayGetFullName(array));
        }
        GDALMDArrayRelease(array);
    }
    for (int g = 0; groups != NULL && groups[g] != NULL && depth > 0; g++) {
        GDALGroupH inner = GDALGroupOpenGroup(group, groups[g], NULL);
        if (inner != NULL) {
            list = list_arrays(inner, depth - 1, list);
            GDALGroupRelease(inner);
        }
    }
    CSLDestroy(names);
    CSLDestroy(groups);
    return list;
}

static void add_name(HcText *to, int *count, const char *before, const char *name) {
    if (*count <= SHOWN) {
        hc_text_add(to, "%s%.120s", *count == 0 ? before : ", ", *count < SHOWN ? name : "...");
    }
    ++*count;
}

/* Arrays of the file that the layout lacks, and in a version that is not known also the reverse. */
static void add_differences(const HcProductFile *file, const HcProductLayout *layout, bool is_known,
                            HcText *to) {
    char **all = list_arrays(file->root, DEPTH, NULL), **known = CSLTokenizeString2(layout->others, ";", 0);
    int added = 0, missing = 0;
    for (int a = 0; all != NULL && all[a] != NULL; a++) {
        bool found = strcmp(all[a], layout->dataset) == 0;
        for (int k = 0; known != NULL && known[k] != NULL && !found; k++) {
            found = fnmatch(known[k], all[a], 0) == 0;
        }
        if (!found) {
            add_name(to, &added, layout->product != NULL ? "; it adds " : "; it holds ", all[a]);
        }
    }
    for (int k = 0; known != NULL && known[k] != NULL && !is_known; k++) {
        if (strchr(known[k], '*') == NULL && !hc_product_has(file, known[k])) {
            add_name(to, &missing, "; it lacks ", known[k]);
        }
    }
    CSLDestroy(all);
    CSLDestroy(known);
}

/* The row of the version that the file says, else the newest one of the product. */
static const HcProductLayout *row_of(const HcProductLayout *layout, const char *version, bool *is_known) {
    const HcProductLayout *newest = layout;
    *is_known = version == NULL || layout->version == NULL;
    for (; layout->product != NULL && strcmp(layout->product, newest->product) == 0; layout++) {
        newest = layout;
        if (version != NULL && layout->version != NULL && strcmp(version, layout->version) == 0) {
            *is_known = true;
            break;
        }
    }
    return newest;
}

HcStatus hc_product_compare(HcProduct *product, const HcProductFile *file, const HcProductRow *row,
                            const HcProductLayout *layout, HcError *err) {
    HcText news = {0};
    char *units = NULL;
    bool is_known = true;
    if (row->version_in != NULL) {
        HC_OR_RETURN(hc_product_text(file, NULL, row->version_in, &product->version, err));
    }
    HC_OR_RETURN(hc_product_units(file, layout->dataset, &units, err));
    layout = row_of(layout, product->version, &is_known);
    if (layout->others != NULL) {
        add_differences(file, layout, is_known, &news);
    }
    if (layout->units != NULL && units != NULL && strcasecmp(units, layout->units) != 0) {
        hc_text_add(&news, "; its units are '%.40s', not '%s'", units, layout->units);
    }
    free(units);
    if (is_known && news.length == 0) {
        return HC_OK;
    }
    const char *version = product->version != NULL ? product->version : "";
    if (is_known) {
        hc_product_add_news(product, "its layout differs from that of %s%s%.20s in the table of products%s",
                            layout->product, version[0] != '\0' ? " " : "", version, hc_text_shown(&news));
    } else {
        hc_product_add_news(product, "version %.20s of %s is not known, it is read as %s%s", version,
                            layout->product, layout->version, hc_text_shown(&news));
    }
    hc_text_clear(&news);
    return HC_OK;
}

static void order_of(const char *axes, HcAxis order[3]) {
    for (int a = 0; a < 3; a++) {
        order[a] = axes[0] == 'l' ? HC_AXIS_LINE : axes[0] == 's' ? HC_AXIS_SAMPLE : HC_AXIS_BAND;
        axes += strcspn(axes, " ");
        axes += strspn(axes, " ");
    }
}

HcStatus hc_product_lay_out(HcProduct *product, const HcProductFile *file, const HcProductRow *row,
                            const HcProductLayout *layout, HcError *err) {
    HcAxis order[3];
    order_of(layout->axes, order);
    product->is_companion = layout->is_companion;
    HC_OR_RETURN(hc_product_name(product, file, layout->product, layout->dataset, err));
    HC_OR_RETURN(hc_product_take(product, file, layout->dataset, order, err));
    return hc_product_compare(product, file, row, layout, err);
}

/* ---- no layout at all ---- */

HcStatus hc_product_unknown(HcProduct *product, const HcProductFile *file, const HcProductRow *row, bool *is,
                            HcError *err) {
    char *says = NULL;
    *is = false;
    if (row->instrument == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_product_text(file, NULL, "instrument", &says, err));
    *is = says != NULL && strcasecmp(says, row->instrument) == 0;
    free(says);
    if (!*is) {
        return HC_OK;
    }
    HcText news = {0};
    add_differences(file, &(HcProductLayout){.dataset = "", .others = ""}, true, &news);
    hc_product_add_news(product, "a file of %s, whose layout is not in the table of products%s", row->sensor,
                        hc_text_shown(&news));
    hc_text_clear(&news);
    product->is_companion = true;
    product->raster = strdup(file->path);
    return product->raster != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(file->path), "a path");
}
