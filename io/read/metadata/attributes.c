#include "io/read/metadata/attributes.h"

#include "io/read/parts.h"

#include <gdal.h>
#include <stdlib.h>
#include <string.h>

struct HcReadAttributes {
    GDALDatasetH dataset;              /* NULL when GDAL does not open it */
    GDALRasterAttributeTableH table;   /* borrowed from the dataset; NULL = none */
    int name_column, colour_column[3]; /* -1 = there is none */
    bool by_row;                       /* the row is the value */
    char *clean;                       /* the name that was asked for last */
};

static void find_columns(HcReadAttributes *attributes) {
    static const GDALRATFieldUsage colours[3] = {GFU_Red, GFU_Green, GFU_Blue};
    GDALRasterAttributeTableH table = attributes->table;
    double start = 0, step = 0;
    attributes->name_column = GDALRATGetColOfUsage(table, GFU_Name);
    for (int c = 0; c < 3; c++) {
        attributes->colour_column[c] = GDALRATGetColOfUsage(table, colours[c]);
    }
    attributes->by_row = !GDALRATGetLinearBinning(table, &start, &step) &&
                         GDALRATGetColOfUsage(table, GFU_MinMax) < 0 &&
                         GDALRATGetColOfUsage(table, GFU_Min) < 0;
}

HcStatus hc_read_attributes_open(HcReadAttributes **out, const char *path, HcError *err) {
    HcGdalErrors messages;
    HcReadAttributes *attributes = calloc(1, sizeof *attributes);
    *out = attributes;
    if (attributes == NULL) {
        return hc_fail_memory(err, sizeof *attributes, "names of classes");
    }
    HC_OR_RETURN(hc_read_gdal_open_sure(&attributes->dataset, path, NULL, &messages, err));
    hc_gdal_catch(&messages);
    if (attributes->dataset != NULL && GDALGetRasterCount(attributes->dataset) > 0) {
        attributes->table = GDALGetDefaultRAT(GDALGetRasterBand(attributes->dataset, 1));
    }
    if (attributes->table != NULL) {
        find_columns(attributes);
    }
    hc_gdal_release();
    return HC_OK;
}

void hc_read_attributes_close(HcReadAttributes *attributes) {
    if (attributes != NULL) {
        free(attributes->clean);
        GDALClose(attributes->dataset);
        free(attributes);
    }
}

/* The row that describes a value, or -1. */
static int row_of(const HcReadAttributes *attributes, int64_t value) {
    if (attributes->table == NULL) {
        return -1;
    }
    if (attributes->by_row) {
        return value >= 0 && value < GDALRATGetRowCount(attributes->table) ? (int)value : -1;
    }
    return GDALRATGetRowOfValue(attributes->table, (double)value);
}

HcStatus hc_read_attributes_name(HcReadAttributes *attributes, int64_t value, const char **name,
                                 HcError *err) {
    int row = row_of(attributes, value);
    free(attributes->clean);
    attributes->clean = NULL;
    *name = NULL;
    if (row < 0 || attributes->name_column < 0) {
        return HC_OK;
    }
    attributes->clean =
        hc_envi_clean(GDALRATGetValueAsString(attributes->table, row, attributes->name_column));
    HC_OR_RETURN(hc_text_made(attributes->clean, 64, "the name of a class", err));
    *name = attributes->clean[0] != '\0' ? attributes->clean : NULL;
    return HC_OK;
}

bool hc_read_attributes_colour(HcReadAttributes *attributes, int64_t value, uint8_t colour[3]) {
    int row = row_of(attributes, value);
    const int *column = attributes->colour_column;
    if (row < 0 || column[0] < 0 || column[1] < 0 || column[2] < 0) {
        return false;
    }
    for (int c = 0; c < 3; c++) {
        int level = GDALRATGetValueAsInt(attributes->table, row, column[c]);
        colour[c] = (uint8_t)(level > 255 ? 255 : level > 0 ? level : 0);
    }
    return true;
}
