/* No operation is needed beside decode: the mask is an image of one band whose zeros are nodata, and a block
 * is raw float32. */
#include "pipeline/detections/selected.h"
#include "core/allocate.h"
#include "core/operation/image/decode.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"

#include <stdlib.h>

/* Bytes of a copy that is worth the calls. */
enum { PART_BYTES = 16 << 20 };

/* Bytes of a pixel: its values, its flag as float32, and the masks of both. */
static size_t pixel_bytes(const HcStage *stage) {
    return ((size_t)stage->in.bands + 1) * sizeof(float) + 2;
}

int32_t hc_selected_lines(const HcStage *stage) {
    int64_t lines = PART_BYTES / ((int64_t)pixel_bytes(stage) * stage->in.samples);
    return (int32_t)hc_max64(1, hc_min64(lines, stage->in.lines));
}

static size_t part_bytes(const HcStage *stage) {
    return (size_t)hc_selected_lines(stage) * (size_t)stage->in.samples * pixel_bytes(stage);
}

size_t hc_selected_part_bytes(const HcStage *stage) {
    return part_bytes(stage) + (size_t)stage->in.bands * sizeof(int32_t);
}

static size_t scene_pixels(const HcStage *stage) {
    return (size_t)stage->in.lines * (size_t)stage->in.samples;
}

HcStatus hc_selected_plan(HcSelected *selected, HcStage *stage, const char *text, HcError *err) {
    if (selected->selection == NULL && selected->mask.data == NULL) {
        HcText note = {0};
        HcStatus status =
            hc_view_selection_open(&selected->selection, stage->chain->source->view, text, &note, err);
        hc_stage_note_file(stage, NULL, &note);
        HC_OR_RETURN(status);
    }
    hc_stage_takes(stage, HC_SPACE_DEVICE, scene_pixels(stage) + hc_selected_part_bytes(stage));
    hc_stage_takes(stage, HC_SPACE_HOST, scene_pixels(stage));
    hc_stage_takes(stage, HC_SPACE_HOST,
                   selected->selection != NULL ? hc_view_selection_bytes(selected->selection) : 0);
    return HC_OK;
}

static HcStatus read_mask(HcSelected *selected, HcStage *stage, uint8_t *mask, HcError *err) {
    const HcSource *source = stage->chain->source;
    int64_t samples = stage->in.samples;
    int64_t step = hc_selected_lines(stage);
    HC_OR_RETURN(hc_view_selection_use_bands(selected->selection, source->bands, source->band_count, err));
    for (int64_t line = 0; line < stage->in.lines; line += step) {
        HC_OR_RETURN(hc_view_selection_read(selected->selection, line, hc_min64(step, stage->in.lines - line),
                                            mask + line * samples, err));
    }
    return HC_OK;
}

static bool selects_any(const uint8_t *mask, size_t pixels) {
    size_t p = 0;
    while (p < pixels && mask[p] == 0) {
        p++;
    }
    return p < pixels;
}

static HcStatus open_index(HcSelected *selected, HcStage *stage, HcError *err) {
    int32_t *index = NULL;
    HC_OR_RETURN(hc_new(index, stage->in.bands, "a list of bands", err));
    for (int32_t b = 0; b < stage->in.bands; b++) {
        index[b] = b;
    }
    HcStatus status = hc_memory_upload(stage->compute, index, (size_t)stage->in.bands * sizeof *index,
                                       &selected->index, err);
    free(index);
    return status;
}

HcStatus hc_selected_open_part(HcSelected *selected, HcStage *stage, HcError *err) {
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_DEVICE, part_bytes(stage), &selected->part, err));
    return open_index(selected, stage, err);
}

HcStatus hc_selected_open(HcSelected *selected, HcStage *stage, const char *option, const char *text,
                          HcError *err) {
    size_t pixels = scene_pixels(stage);
    HC_OR_RETURN(hc_new(selected->inside, pixels, "a mask", err));
    HC_OR_RETURN(read_mask(selected, stage, selected->inside, err));
    if (!selects_any(selected->inside, pixels)) {
        return hc_fail(err, HC_E_NUMERIC, "%s: %s %s: the mask leaves no pixel of the scene",
                       stage->kind->name, option, text);
    }
    HC_OR_RETURN(hc_memory_upload(stage->compute, selected->inside, pixels, &selected->mask, err));
    HC_OR_RETURN(hc_selected_open_part(selected, stage, err));
    hc_view_selection_close(selected->selection);
    selected->selection = NULL;
    return HC_OK;
}

/* Flags are what the mask says of pixels that are valid. */
static HcStatus take_flags(HcSelected *selected, const uint8_t *mask, HcQueue *queue, const HcBlock *in,
                           const HcBlock *flags, HcError *err) {
    HcRaw raw = {.data = mask + in->line0 * in->samples,
                 .type = HC_UINT8,
                 .line0 = in->line0,
                 .lines = in->lines,
                 .samples = in->samples,
                 .bands = 1,
                 .stride_line = in->samples,
                 .stride_sample = 1,
                 .stride_band = 1,
                 .user_mask = in->mask};
    HcDecode how = {.band_index = selected->index.data, .has_nodata = true, .nodata = 0};
    return hc_decode(queue, &raw, &how, flags, err);
}

HcStatus hc_selected_take(HcSelected *selected, HcQueue *queue, const HcBlock *in, int64_t first, int64_t end,
                          HcBlock *out, HcError *err) {
    return hc_selected_take_by(selected, selected->mask.data, queue, in, first, end, out, err);
}

HcStatus hc_selected_take_by(HcSelected *selected, const uint8_t *mask, HcQueue *queue, const HcBlock *in,
                             int64_t first, int64_t end, HcBlock *out, HcError *err) {
    HcBlock part = hc_block_part(in, first, end, 0);
    size_t pixels = hc_block_pixels(&part);
    int64_t bytes = part.bands * (int64_t)sizeof(float);
    *out = part;
    out->data = selected->part.data;
    HcBlock flags = *out;
    flags.bands = 1;
    flags.data = out->data + hc_block_values(out);
    out->mask = (uint8_t *)(flags.data + pixels);
    flags.mask = out->mask + pixels;
    HC_OR_RETURN(take_flags(selected, mask, queue, &part, &flags, err));
    HcRaw raw = {.data = part.data,
                 .type = HC_FLOAT32,
                 .line0 = part.line0,
                 .lines = part.lines,
                 .samples = part.samples,
                 .bands = part.bands,
                 .stride_line = part.samples * bytes,
                 .stride_sample = bytes,
                 .stride_band = sizeof(float),
                 .user_mask = flags.mask};
    HcDecode how = {.band_index = selected->index.data};
    return hc_decode(queue, &raw, &how, out, err);
}

void hc_selected_close(HcSelected *selected, HcCompute *compute) {
    hc_view_selection_close(selected->selection);
    hc_memory_release(compute, &selected->mask);
    hc_memory_release(compute, &selected->index);
    hc_memory_release(compute, &selected->part);
    free(selected->inside);
    *selected = (HcSelected){0};
}
