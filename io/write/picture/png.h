/* PNG files. */
#ifndef HC_IO_WRITE_PNG_H
#define HC_IO_WRITE_PNG_H

#include "core/status.h"

#include <stddef.h>
#include <stdint.h>

/* Writes pixels[height][width][4] (red, green, blue, alpha; 8 bits) to `path` under a temporary name, then
 * renames. An existing file is replaced only with `overwrite`. */
HcStatus hc_png_write(const char *path, int32_t width, int32_t height, const uint8_t *pixels, bool overwrite,
                      HcError *err) HC_MUST_CHECK;

/* The picture as bytes in memory: *data is fresh. Pictures of at most 256 colours are stored with a palette.
 */
HcStatus hc_png_encode(int32_t width, int32_t height, const uint8_t *pixels, uint8_t **data, size_t *bytes,
                       HcError *err) HC_MUST_CHECK;

/* Reads a PNG of exactly this size into pixels[height][width][4]; NULL: only looks whether it is one.
 * HC_E_IO: it cannot be read. HC_E_INPUT: it is no PNG, or of another size. */
HcStatus hc_png_read(const char *path, int32_t width, int32_t height, uint8_t *pixels,
                     HcError *err) HC_MUST_CHECK;

#endif
