/* Bands without any value: those in which every pixel holds nodata, NaN or infinity. */
#include "io/read/metadata/value.h"
#include "io/view/parts.h"

#include <math.h>
#include <stdlib.h>

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

/* Bands of the list that hold no value in lines from *line on; stops after the piece in which one was found,
 * so that it need not be read further. */
static HcStatus search(HcView *view, int64_t *line, int32_t *bands, int32_t *count, HcError *err) {
    HcStatus status = HC_OK;
    double nodata = 0;
    bool has_nodata = hc_view_nodata(view, &nodata);
    int64_t lines = hc_view_scene(view)->lines;
    size_t one = hc_view_bytes(view, 1);
    int64_t step = one < PIECE_BYTES ? (int64_t)(PIECE_BYTES / (one > 0 ? one : 1)) : 1;
    int32_t before = *count;
    void *buffer = malloc(hc_view_bytes(view, step < lines ? step : lines));
    if (buffer == NULL) {
        return hc_fail_memory(err, (double)one * (double)step, "lines of the scene");
    }
    while (*line < lines && *count == before) {
        HcRaw raw;
        int32_t kept = 0;
        int64_t piece = lines - *line < step ? lines - *line : step;
        HC_TRY(hc_view_read(view, *line, (int32_t)piece, buffer, &raw, err));
        for (int32_t k = 0; k < before; k++) {
            if (!holds_value(&raw, hc_view_stored_band(view, bands[k]), has_nodata, nodata)) {
                bands[kept++] = bands[k];
            }
        }
        *count = kept;
        *line += piece;
    }
done:
    free(buffer);
    return status;
}

HcStatus hc_view_empty_bands(const char *path, const HcViewOptions *options, int32_t *bands, int32_t *count,
                             HcError *err) {
    HcStatus status = HC_OK;
    HcView *view = NULL;
    HcViewOptions how = *options;
    how.no_quality = how.reader.ignore_mask = true;
    how.masks = how.masks_inside = NULL; /* a cutline stays, whose window counts */
    for (int64_t line = 0; *count > 0;) {
        hc_view_close(view);
        view = NULL;
        HC_TRY(hc_view_open(&view, path, &how, err));
        if (line >= hc_view_scene(view)->lines) {
            break;
        }
        HC_TRY(hc_view_use_bands(view, bands, *count, err));
        HC_TRY(search(view, &line, bands, count, err));
        HC_TRY(hc_view_unchanged(view, err));
    }
done:
    hc_view_close(view);
    return status;
}
