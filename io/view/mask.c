#include "io/read/value.h"
#include "io/view/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define ROOM_BYTES ((size_t)1 << 20)

struct HcViewMask {
    HcReader *reader;
    int64_t line0;   /* the line of the mask that is line 0 of the view */
    int64_t samples; /* of the view */
    int64_t sample0; /* the sample of the mask that is sample 0 of the view */
    void *room;      /* lines of the raster in its own type */
    int32_t room_lines;
};

static HcStatus check_shape(const HcScene *mask, const char *text, const HcScene *scene, const char *path,
                            HcError *err) {
    const HcCut *cut = &scene->cut;
    bool of_file = mask->lines == cut->lines && mask->samples == cut->samples;
    if (!hc_scene_same_grid(mask, scene) && !of_file) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: the mask has %" PRId64 " lines x %" PRId64 " samples, the scene %s has %" PRId64
                       " x %" PRId64,
                       text, mask->lines, mask->samples, path, cut->lines > 0 ? cut->lines : scene->lines,
                       cut->lines > 0 ? cut->samples : scene->samples);
    }
    return mask->bands == 1 ? HC_OK
                            : hc_fail(err, HC_E_INPUT, "%s: the mask has %" PRId32 " bands, it must have 1",
                                      text, mask->bands);
}

static HcStatus take_room(HcViewMask *mask, const HcScene *view, HcError *err) {
    const HcScene *scene = hc_reader_scene(mask->reader);
    bool whole = hc_scene_same_grid(scene, view);
    mask->samples = view->samples;
    mask->line0 = whole ? 0 : view->cut.line0;
    mask->sample0 = whole ? 0 : view->cut.sample0;
    HC_OR_RETURN(hc_reader_use_samples(mask->reader, mask->sample0, mask->samples, err));
    size_t one = hc_reader_bytes(mask->reader, 1);
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
    HC_TRY(take_room(mask, scene, err));
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
static void leave_out(const HcViewMask *mask, const HcRaw *raw, uint8_t *to) {
    const HcScene *scene = hc_reader_scene(mask->reader);
    int64_t first = raw->samples > mask->samples ? mask->sample0 : 0;
    for (int32_t line = 0; line < raw->lines; line++) {
        const char *at = (const char *)raw->data + line * raw->stride_line + first * raw->stride_sample;
        for (int64_t s = 0; s < mask->samples; s++, at += raw->stride_sample) {
            double value = hc_read_value(at, raw->type, raw->swap);
            *to++ &= !(value == 0 || isnan(value) || (scene->has_nodata && value == scene->nodata));
        }
    }
}

HcStatus hc_view_mask_apply(HcViewMask *mask, int64_t line0, int32_t lines, uint8_t *to, HcError *err) {
    for (int32_t done = 0; done < lines;) {
        HcRaw raw;
        int32_t step = lines - done < mask->room_lines ? lines - done : mask->room_lines;
        HC_OR_RETURN(hc_reader_read(mask->reader, mask->line0 + line0 + done, step, mask->room, &raw, err));
        leave_out(mask, &raw, to + (size_t)done * (size_t)mask->samples);
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
