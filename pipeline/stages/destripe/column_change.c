#include "pipeline/stages/destripe/column_change.h"

static void change_pixel(const HcColumnChange *change, float *value, int32_t bands, size_t sample,
                         int64_t line) {
    const double *offset = change->offset != NULL ? change->offset + sample * (size_t)bands : NULL;
    offset = change->line != NULL ? change->line + line * bands : offset;
    double factor = change->factor != NULL ? change->factor[sample] : 1;
    for (int32_t b = 0; b < bands; b++) {
        value[b] = (float)(((double)value[b] - (offset != NULL ? offset[b] : 0)) * factor);
    }
}

HcStatus hc_column_change(const HcColumnChange *change, HcQueue *queue, const HcBlock *from,
                          const HcBlock *to, const HcBuffer *room, size_t room_bytes, HcError *err) {
    size_t line = (size_t)from->samples * ((size_t)from->bands * sizeof(float) + 1);
    int64_t at_once = (int64_t)(room_bytes / line);
    int64_t first = hc_block_first_line(to);
    int64_t end = first + hc_block_rows(to);
    for (; first < end; first += at_once) {
        int64_t next = hc_min64(end, first + at_once);
        HcBlock in = hc_block_part(from, first, next, 0);
        HcBlock out = hc_block_part(to, first, next, 0);
        size_t bytes = hc_block_values(&in) * sizeof(float);
        size_t pixels = hc_block_pixels(&in);
        float *value = room->data;
        uint8_t *mask = (uint8_t *)room->data + bytes;
        HC_OR_RETURN(hc_download(queue, in.data, value, bytes, err));
        HC_OR_RETURN(hc_download(queue, in.mask, mask, pixels, err));
        HC_OR_RETURN(hc_wait(queue, err));
        for (size_t p = 0; p < pixels; p++, value += in.bands) {
            if (mask[p] != 0) {
                change_pixel(change, value, in.bands, p % (size_t)in.samples,
                             first + (int64_t)(p / (size_t)in.samples));
            }
        }
        HC_OR_RETURN(hc_upload(queue, room->data, out.data, bytes, err));
        HC_OR_RETURN(hc_upload(queue, mask, out.mask, pixels, err));
        HC_OR_RETURN(hc_wait(queue, err));
    }
    return HC_OK;
}
