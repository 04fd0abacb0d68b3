/* No operation is needed beside decode: a mask is an image of one band whose zeros are nodata, and a block,
 * or some of its columns, is raw float32. */
#include "core/allocate.h"
#include "core/operation/image/decode.h"
#include "pipeline/groups/grouping.h"
#include "pipeline/memory.h"

#include <stdlib.h>

/* Bytes of a copy that is worth the calls. */
enum { PART_BYTES = 16 << 20 };

/* Of a pixel: its values, its flag as float32, and the masks of both. */
static size_t pixel_bytes(const HcStage *stage) {
    return ((size_t)stage->in.bands + 1) * sizeof(float) + 2;
}

int32_t hc_grouping_lines(const HcStage *stage) {
    int64_t lines = PART_BYTES / ((int64_t)pixel_bytes(stage) * stage->in.samples);
    return (int32_t)hc_max64(1, hc_min64(lines, stage->in.lines));
}

/* One more mask, of the pixels of columns that are valid. */
static size_t part_bytes(const HcGrouping *grouping, const HcStage *stage) {
    size_t lines = (size_t)hc_grouping_lines(stage) + 2 * (size_t)grouping->halo;
    return lines * (size_t)stage->in.samples * (pixel_bytes(stage) + 1);
}

size_t hc_grouping_part_bytes(const HcGrouping *grouping, const HcStage *stage) {
    return part_bytes(grouping, stage) + (size_t)stage->in.bands * sizeof(int32_t);
}

HcStatus hc_grouping_open_part(HcGrouping *grouping, HcStage *stage, HcError *err) {
    int32_t *index = NULL;
    HC_OR_RETURN(
        hc_alloc(stage->compute, HC_MEMORY_DEVICE, part_bytes(grouping, stage), &grouping->part, err));
    HC_OR_RETURN(hc_new(index, stage->in.bands, "a list of bands", err));
    for (int32_t b = 0; b < stage->in.bands; b++) {
        index[b] = b;
    }
    HcStatus status = hc_memory_upload(stage->compute, index, (size_t)stage->in.bands * sizeof *index,
                                       &grouping->index, err);
    free(index);
    return status;
}

int32_t hc_grouping_columns(const HcGrouping *grouping, int32_t number, int32_t *first) {
    int32_t width = number < 0 ? 0 : grouping->width;
    *first = width > 0 ? number / grouping->class_count * width : 0;
    int32_t left = grouping->samples - *first;
    return width > 0 && width < left ? width : left;
}

/* Some columns of rows of `samples` pixels, each of `bands` values from `data` on, become `out`, which says
 * lines and columns. valid: [lines][columns], NULL = all. */
static HcStatus decode(const HcGrouping *grouping, HcQueue *queue, const void *data, HcType type,
                       int64_t samples, const uint8_t *valid, const HcBlock *out, HcError *err) {
    int64_t bytes = out->bands * (type == HC_UINT8 ? 1 : (int64_t)sizeof(float));
    HcRaw raw = {.data = data,
                 .type = type,
                 .line0 = hc_block_first_line(out),
                 .lines = (int32_t)hc_block_rows(out),
                 .samples = out->samples,
                 .bands = out->bands,
                 .stride_line = samples * bytes,
                 .stride_sample = bytes,
                 .stride_band = bytes / out->bands,
                 .user_mask = valid};
    HcDecode how = {.band_index = grouping->index.data, .has_nodata = type == HC_UINT8, .nodata = 0};
    return hc_decode(queue, &raw, &how, out, err);
}

HcStatus hc_grouping_take(HcGrouping *grouping, int32_t number, bool all, HcQueue *queue, const HcBlock *in,
                          int64_t first, int64_t end, HcBlock *out, HcError *err) {
    int32_t column = 0;
    int64_t samples = in->samples;
    const uint8_t *member = grouping->member == NULL || all ? NULL
                            : number < 0                    ? grouping->member[0].data
                                         : grouping->member[number % grouping->class_count].data;
    *out = hc_block_part(in, first, end, grouping->halo);
    out->samples = hc_grouping_columns(grouping, number, &column);
    if (out->samples == samples && member == NULL) {
        return HC_OK;
    }
    const float *data = out->data + (int64_t)column * in->bands;
    const uint8_t *valid = out->mask;
    out->data = grouping->part.data;
    HcBlock flags = *out;
    flags.bands = 1;
    flags.data = out->data + hc_block_values(out);
    out->mask = (uint8_t *)(flags.data + hc_block_pixels(out));
    flags.mask = out->mask + hc_block_pixels(out);
    if (out->samples < samples) {
        HC_OR_RETURN(decode(grouping, queue, valid + column, HC_UINT8, samples, NULL, &flags, err));
        valid = flags.mask;
        flags.mask += hc_block_pixels(out);
    }
    if (member != NULL) {
        HC_OR_RETURN(decode(grouping, queue, member + hc_block_first_line(out) * samples + column, HC_UINT8,
                            samples, valid, &flags, err));
        valid = flags.mask;
    }
    return decode(grouping, queue, data, HC_FLOAT32, samples, valid, out, err);
}
