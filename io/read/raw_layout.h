/* Where the bytes of an uncompressed raster lie, as GDAL knows it: the one thing that only its C++ interface
 * tells. */
#ifndef HC_IO_READ_RAW_LAYOUT_H
#define HC_IO_READ_RAW_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Value (line, sample, band) lies at offset + line*line + sample*pixel + band*band [bytes]. */
typedef struct HcRawLayout {
    char *path;    /* fresh memory */
    int gdal_type; /* GDALDataType */
    bool big_endian;
    int64_t offset, line, pixel, band;
} HcRawLayout;

/* False when the dataset (a GDALDatasetH) is not a plain raw file, or memory ran out. */
bool hc_raw_layout(void *dataset, HcRawLayout *out);

#ifdef __cplusplus
}
#endif
#endif
