#include "io/write/picture/thumbnail.h"
#include "core/text.h"
#include "io/gdal/errors.h"

#include <cpl_vsi.h>
#include <gdal_utils.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether it has bytes in up to four bands, as pictures do. */
static bool is_picture(GDALDatasetH from) {
    int bands = GDALGetRasterCount(from);
    return bands >= 1 && bands <= 4 && GDALGetRasterDataType(GDALGetRasterBand(from, 1)) == GDT_Byte;
}

/* gdal_translate of the dataset into a file in memory; false where GDAL says why not. Of other rasters than
 * pictures only the lines that are shown are read. */
static bool translate(GDALDatasetH from, const char *to, int32_t width) {
    char columns[16];
    snprintf(columns, sizeof columns, "%d", width);
    char *words[24] = {"-of", "PNG", "-outsize", columns, "0", "-q", "-r", "average"};
    if (!is_picture(from)) {
        char *stretched[] = {"nearest", "-ot", "Byte", "-scale", "-a_nodata", "none",
                             "-b",      "1",   "-b",   "2",      "-b",        "3"};
        size_t count = sizeof stretched / sizeof *stretched - (GDALGetRasterCount(from) < 3 ? 4 : 0);
        memcpy(words + 7, stretched, count * sizeof *stretched);
    }
    GDALTranslateOptions *options = GDALTranslateOptionsNew(words, NULL);
    GDALDatasetH made = options != NULL ? GDALTranslate(to, from, options, NULL) : NULL;
    GDALTranslateOptionsFree(options);
    GDALClose(made);
    return made != NULL;
}

static HcStatus take_file(const char *name, uint8_t **data, size_t *bytes, HcError *err) {
    vsi_l_offset length = 0;
    const GByte *buffer = VSIGetMemFileBuffer(name, &length, FALSE);
    *data = buffer != NULL ? malloc((size_t)length) : NULL;
    HC_OR_RETURN(hc_text_made(*data, length, "a picture", err));
    memcpy(*data, buffer, (size_t)length);
    *bytes = (size_t)length;
    return HC_OK;
}

HcStatus hc_thumbnail(const char *path, int32_t width, uint8_t **data, size_t *bytes, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    GDALDatasetH picture = NULL;
    char *name = hc_text_format("/vsimem/hcube-thumbnail-%p.png", (void *)&messages);
    *data = NULL;
    *bytes = 0;
    hc_gdal_catch(&messages);
    HC_TRY(hc_text_made(name, 0, "a name", err));
    picture = GDALOpenEx(path, GDAL_OF_RASTER | GDAL_OF_READONLY, NULL, NULL, NULL);
    if (picture == NULL) {
        HC_TRY(hc_gdal_fail(err, HC_E_INPUT, path, &messages));
    }
    int32_t samples = GDALGetRasterXSize(picture);
    if (!translate(picture, name, samples < width ? samples : width)) {
        HC_TRY(hc_gdal_fail(err, HC_E_INPUT, path, &messages));
    }
    HC_TRY(take_file(name, data, bytes, err));
done:
    GDALClose(picture);
    if (name != NULL) {
        VSIUnlink(name);
    }
    hc_gdal_release();
    free(name);
    return status;
}
