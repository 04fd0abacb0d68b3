/* GDAL's attribute table of a class raster: names and colours of values. */
#ifndef HC_IO_READ_ATTRIBUTES_H
#define HC_IO_READ_ATTRIBUTES_H

#include "core/scene.h"

typedef struct HcReadAttributes HcReadAttributes;

/* Looks for the table of the raster whose data file is `path` (hc_reader_path); without one it is empty.
 * Fails only for memory, or where the raster or what is beside it cannot be read. */
HcStatus hc_read_attributes_open(HcReadAttributes **out, const char *path, HcError *err) HC_MUST_CHECK;
void hc_read_attributes_close(HcReadAttributes *attributes);

/* The name of a value, borrowed until the next call; NULL where it has none. Fails only for memory. */
HcStatus hc_read_attributes_name(HcReadAttributes *attributes, int64_t value, const char **name,
                                 HcError *err) HC_MUST_CHECK;

/* The colour of a value; false where it has none. */
bool hc_read_attributes_colour(HcReadAttributes *attributes, int64_t value, uint8_t colour[3]);

#endif
