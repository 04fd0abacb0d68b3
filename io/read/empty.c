/* Bands without any value: those in which every pixel holds nodata, NaN or infinity. */
#include "io/read/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PIECE_BYTES ((size_t)16 << 20)

/* Whether the band `stored` of these lines holds a value. */
static bool holds_value(const HcRaw *raw, int32_t stored, bool has_nodata, double nodata) {
    for (int32_t line = 0; line < raw->lines; line++) {
        const char *at = (const char *)raw->data + line * raw->stride_line + stored * raw->stride_band;
        for (int32_t s = 0; s < raw->samples; s++, at += raw->stride_sample) {
            double value = hc_read_value(at, raw->type, raw->swap);
            if (isfinite(value) && !(has_nodata && value == nodata)) {
                return true;
            }
        }
    }
    return false;
}

/* Bands of the list that hold no value in lines from *line on; stops behind the piece in which one was found,
 * so that it need not be read further. */
static HcStatus search(HcReader *reader, int64_t *line, bool has_nodata, double nodata, int32_t *bands,
                       int32_t *count, HcError *err) {
    HcStatus status = HC_OK;
    int64_t lines = reader->scene.lines;
    size_t one = hc_reader_bytes(reader, 1);
    int64_t step = one < PIECE_BYTES ? (int64_t)(PIECE_BYTES / (one > 0 ? one : 1)) : 1;
    int32_t before = *count;
    void *room = malloc(hc_reader_bytes(reader, step < lines ? step : lines));
    if (room == NULL) {
        return hc_fail_memory(err, (double)one * (double)step, "lines of the scene");
    }
    while (*line < lines && *count == before) {
        HcRaw raw;
        int32_t kept = 0;
        int64_t piece = lines - *line < step ? lines - *line : step;
        HC_TRY(hc_reader_read(reader, *line, (int32_t)piece, room, &raw, err));
        for (int32_t k = 0; k < before; k++) {
            if (!holds_value(&raw, hc_reader_stored_band(reader, bands[k]), has_nodata, nodata)) {
                bands[kept++] = bands[k];
            }
        }
        *count = kept;
        *line += piece;
    }
done:
    free(room);
    return status;
}

HcStatus hc_reader_empty_bands(const char *path, const HcReaderOptions *options, bool has_nodata,
                               double nodata, int32_t *bands, int32_t *count, HcError *err) {
    HcStatus status = HC_OK;
    HcReader *reader = NULL;
    HcReaderOptions how = *options;
    how.mask_path = NULL;
    for (int64_t line = 0; *count > 0;) {
        hc_reader_close(reader);
        reader = NULL;
        HC_TRY(hc_reader_open(&reader, path, &how, err));
        if (line >= reader->scene.lines) {
            break;
        }
        HC_TRY(hc_reader_use_bands(reader, bands, *count, err));
        HC_TRY(search(reader, &line, has_nodata, nodata, bands, count, err));
        HC_TRY(hc_reader_unchanged(reader, err));
    }
done:
    hc_reader_close(reader);
    return status;
}
