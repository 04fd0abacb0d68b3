/* A table of points as CSV: two columns are the coordinates, by their names. GDAL takes such a table for one
 * without places unless it is told which columns these are. */
#include "io/gdal/errors.h"
#include "io/guard/guard.h"
#include "io/training/parts.h"

#include <stdlib.h>
#include <string.h>

static const HcPointColumns *find_columns(GDALDatasetH dataset) {
    OGRFeatureDefnH definition = OGR_L_GetLayerDefn(GDALDatasetGetLayer(dataset, 0));
    const HcPointColumns *pair = hc_point_columns;
    while (pair->x != NULL &&
           (OGR_FD_GetFieldIndex(definition, pair->x) < 0 || OGR_FD_GetFieldIndex(definition, pair->y) < 0)) {
        pair++;
    }
    return pair->x != NULL ? pair : NULL;
}

bool hc_table_is_csv(GDALDatasetH dataset) {
    return dataset != NULL && GDALDatasetGetLayerCount(dataset) == 1 &&
           strcmp(GDALGetDriverShortName(GDALGetDatasetDriver(dataset)), "CSV") == 0;
}

HcStatus hc_table_of_points(const char *path, GDALDatasetH *dataset, HcTable *table, HcError *err) {
    static const char *const drivers[] = {"CSV", NULL};
    bool plain = hc_table_is_csv(*dataset) && hc_shapes_layers(*dataset) == 0;
    const HcPointColumns *found = plain ? find_columns(*dataset) : NULL;
    if (found == NULL) {
        return HC_OK;
    }
    char *x = hc_text_format("X_POSSIBLE_NAMES=%s", found->x);
    char *y = hc_text_format("Y_POSSIBLE_NAMES=%s", found->y);
    const char *const how[] = {x, y, "KEEP_GEOM_COLUMNS=NO", NULL};
    HcStatus status = x != NULL && y != NULL ? HC_OK : hc_fail_memory(err, 64, "a table of points");
    if (status == HC_OK) {
        HcGdalErrors messages;
        GDALClose(*dataset);
        hc_gdal_catch(&messages);
        *dataset = hc_guard_open(path, GDAL_OF_VECTOR | GDAL_OF_READONLY, drivers, how);
        hc_gdal_release();
        status = *dataset != NULL ? HC_OK : hc_gdal_fail(err, HC_E_IO, path, &messages);
        *table = found->table;
    }
    free(x);
    free(y);
    return status;
}
