#include "io/read/value.h"
#include "io/view/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define ROOM_BYTES ((size_t)1 << 20)

struct HcViewMask {
    HcReader *reader;
    int64_t samples;
    void *room; /* lines of the raster in its own type */
    int32_t room_lines;
};

static HcStatus check_shape(const HcScene *mask, const char *text, const HcScene *scene, const char *path,
                            HcError *err) {
    if (!hc_scene_same_grid(mask, scene)) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: the mask has %" PRId64 " lines x %" PRId64 " samples, the scene %s has %" PRId64
                       " x %" PRId64,
                       text, mask->lines, mask->samples, path, scene->lines, scene->samples);
    }
    return mask->bands == 1 ? HC_OK
                            : hc_fail(err, HC_E_INPUT, "%s: the mask has %" PRId32 " bands, it must have 1",
                                      text, mask->bands);
}

static HcStatus take_room(HcViewMask *mask, HcError *err) {
    const HcScene *scene = hc_reader_scene(mask->reader);
    size_t one = hc_reader_bytes(mask->reader, 1);
    mask->samples = scene->samples;
    mask->room_lines = (int32_t)(one < ROOM_BYTES ? ROOM_BYTES / one : 1);
    mask->room_lines = mask->room_lines > scene->lines ? (int32_t)scene->lines : mask->room_lines;
    size_t bytes = hc_reader_bytes(mask->reader, mask->room_lines);
    mask->room = malloc(bytes);
    return mask->room != NULL ? HC_OK : hc_fail_memory(err, (double)bytes, "lines of the mask");
}

HcStatus hc_view_mask_open(HcViewMask **out, const char *text, const HcReaderOptions *how,
                           const HcScene *scene, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcViewMask *mask = calloc(1, sizeof *mask);
    *out = NULL;
    if (mask == NULL) {
        return hc_fail_memory(err, sizeof *mask, "a mask");
    }
    HC_TRY(hc_reader_open(&mask->reader, text, how, err));
    HC_TRY(check_shape(hc_reader_scene(mask->reader), text, scene, path, err));
    HC_TRY(take_room(mask, err));
    *out = mask;
    mask = NULL;
done:
    hc_view_mask_close(mask);
    return status;
}

void hc_view_mask_close(HcViewMask *mask) {
    if (mask != NULL) {
        hc_reader_close(mask->reader);
        free(mask->room);
        free(mask);
    }
}

/* 0, nodata and NaN leave a pixel out. */
static void leave_out(const HcRaw *raw, const HcScene *scene, uint8_t *to) {
    for (int32_t line = 0; line < raw->lines; line++) {
        const char *at = (const char *)raw->data + line * raw->stride_line;
        for (int32_t s = 0; s < raw->samples; s++, at += raw->stride_sample) {
            double value = hc_read_value(at, raw->type, raw->swap);
            *to++ &= !(value == 0 || isnan(value) || (scene->has_nodata && value == scene->nodata));
        }
    }
}

HcStatus hc_view_mask_apply(HcViewMask *mask, int64_t line0, int32_t lines, uint8_t *to, HcError *err) {
    for (int32_t done = 0; done < lines;) {
        HcRaw raw;
        int32_t step = lines - done < mask->room_lines ? lines - done : mask->room_lines;
        HC_OR_RETURN(hc_reader_read(mask->reader, line0 + done, step, mask->room, &raw, err));
        leave_out(&raw, hc_reader_scene(mask->reader), to + (size_t)done * (size_t)mask->samples);
        done += step;
    }
    return HC_OK;
}

HcStatus hc_view_mask_unchanged(const HcViewMask *mask, HcError *err) {
    return hc_reader_unchanged(mask->reader, err);
}

HcStatus hc_view_mask_files(const HcViewMask *mask, HcPaths *out, HcError *err) {
    return hc_reader_files(mask->reader, out, err);
}
