/* Lookup tables and coordinates in the first two bands of a raster, such as the _glt and _igm files of
 * AVIRIS. */
#include "core/allocate.h"
#include "io/ortho/parts.h"
#include "io/read/metadata/value.h"

#include <math.h>
#include <stdlib.h>

#define PIECE_BYTES ((int64_t)16 << 20) /* of lines that are read at once */

/* Lines of the first two bands, on their way. */
typedef struct Lines {
    HcReader *reader;
    const HcScene *scene;
    int64_t rows;
    void *raw;
    double *values[2]; /* [rows][samples] */
    HcOrthoPixel *pixels;
} Lines;

static void close_lines(Lines *lines) {
    free(lines->raw);
    free(lines->values[0]);
    free(lines->values[1]);
    free(lines->pixels);
}

static HcStatus open_lines(Lines *lines, HcReader *reader, HcError *err) {
    static const int32_t bands[] = {0, 1};
    HcStatus status = HC_OK;
    const HcScene *scene = hc_reader_scene(reader);
    *lines = (Lines){.reader = reader, .scene = scene};
    HC_TRY(hc_reader_use_bands(reader, bands, 2, err));
    int64_t line = (int64_t)hc_reader_bytes(reader, 1) + 24 * scene->samples;
    lines->rows = hc_max64(1, hc_min64(scene->lines, PIECE_BYTES / line));
    size_t pixels = (size_t)(lines->rows * scene->samples);
    HC_TRY(hc_new(lines->values[0], pixels, "a lookup table", err));
    HC_TRY(hc_new(lines->values[1], pixels, "a lookup table", err));
    HC_TRY(hc_new(lines->pixels, pixels, "a lookup table", err));
    lines->raw = malloc(hc_reader_bytes(reader, lines->rows));
    if (lines->raw == NULL) {
        status = hc_fail_memory(err, (double)hc_reader_bytes(reader, lines->rows), "a lookup table");
    }
done:
    if (status != HC_OK) {
        close_lines(lines);
    }
    return status;
}

static HcStatus read_lines(Lines *lines, int64_t line0, int64_t count, HcError *err) {
    HcRaw raw;
    const HcScene *scene = lines->scene;
    HC_OR_RETURN(hc_reader_read(lines->reader, line0, (int32_t)count, lines->raw, &raw, err));
    for (int b = 0; b < 2; b++) {
        const char *band = (const char *)raw.data + hc_reader_stored_band(lines->reader, b) * raw.stride_band;
        for (int64_t l = 0; l < count; l++) {
            const char *from = band + l * raw.stride_line;
            double *to = lines->values[b] + l * scene->samples;
            for (int64_t s = 0; s < scene->samples; s++, from += raw.stride_sample) {
                double value = hc_read_value(from, raw.type, raw.swap);
                to[s] = scene->has_nodata && value == scene->nodata ? NAN : value;
            }
        }
    }
    return HC_OK;
}

HcStatus hc_ortho_table_raster(HcOrthoTable *table, HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    Lines lines;
    HC_OR_RETURN(open_lines(&lines, reader, err));
    int64_t all = lines.scene->lines, samples = lines.scene->samples;
    HC_TRY(hc_ortho_table_open(table, all, samples, err));
    for (int64_t line = 0; line < all; line += lines.rows) {
        int64_t count = hc_min64(lines.rows, all - line);
        HC_TRY(read_lines(&lines, line, count, err));
        HC_TRY(hc_ortho_table_take(table, line, 0, count, samples, lines.values[0], lines.values[1],
                                   lines.pixels, err));
    }
done:
    close_lines(&lines);
    return status;
}

HcStatus hc_ortho_places_raster(HcOrthoPlaces *places, HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    Lines lines;
    HC_OR_RETURN(open_lines(&lines, reader, err));
    int64_t all = lines.scene->lines, samples = lines.scene->samples;
    HC_TRY(hc_ortho_places_open(places, all, samples, err));
    for (int64_t line = 0; line < all; line += lines.rows) {
        int64_t count = hc_min64(lines.rows, all - line);
        HC_TRY(read_lines(&lines, line, count, err));
        for (int b = 0; b < 2; b++) {
            HC_TRY(hc_ortho_places_put(places, b, line, 0, count, samples, lines.values[b], err));
        }
    }
done:
    close_lines(&lines);
    return status;
}
