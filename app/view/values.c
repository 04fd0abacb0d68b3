/* Pixels of a layer, wherever they are asked for. A plain file is read by pread, by some threads at once, and
 * only where the wanted bytes lie: whole runs of a line where the gaps are small, else value by value, or
 * pixel by pixel (BIP). So a spectrum of a BSQ file costs a read for each band. A coarse tile costs one for
 * each of its lines or pixels. Other files give whole lines of the wanted bands, one thread at a time. */
#include "app/view/view.h"
#include "core/allocate.h"
#include "pipeline/statistics/summary.h"

#include <math.h>
#include <string.h>

/* Bytes from one wanted value to the next from which each is read alone. A disk gives 16 KiB in a row sooner
 * than two pages apart: of 157 x 157 pixels of a BIP file, 12.8 KB apart, 1.8 s became 0.5 s. */
static const int64_t gap_bytes = 16384;
/* A line of all bands (BIL) is read at once up to this size, instead of once a band. */
static const int64_t line_bytes = 4 << 20;

/* Work memory of a thread of a call. */
typedef struct Taking {
    HcLayer *layer;
    const HcPick *pick;
    HcRaw raw; /* a line */
    char *bytes;
    size_t capacity;
    int64_t *offset; /* [bands] of each band in the line */
    double *number;  /* [bands][samples] */
    float *value;    /* of the pick */
    uint8_t *valid;
    int32_t row;
    HcStatus status;
    HcError error;
} Taking;

static HcStatus reserve(Taking *taking, int64_t bytes, HcError *err) {
    if ((size_t)bytes <= taking->capacity) {
        return HC_OK;
    }
    free(taking->bytes);
    taking->capacity = 0;
    HC_OR_RETURN(hc_new_aligned(taking->bytes, bytes, "pixels of the scene", err));
    taking->capacity = (size_t)bytes;
    return HC_OK;
}

/* Numbers of some bands out of bytes that begin at the first sample of the pick. */
static void take_numbers(Taking *taking, const char *from, int64_t sample_step, const int64_t *offset,
                         int32_t first, int32_t bands) {
    hc_take_values(taking->raw.type,
                   &(HcPatch){.from = from,
                              .sample_step = sample_step,
                              .offset = offset,
                              .bands = bands,
                              .samples = taking->pick->samples,
                              .swap = taking->raw.swap,
                              .to = taking->number + (size_t)first * (size_t)taking->pick->samples});
}

/* ---- a line of a plain file ---- */

static HcStatus read_part(const Taking *taking, int64_t line, int64_t at, int64_t bytes, char *to,
                          HcError *err) {
    return hc_view_read_part(taking->layer->view, line, 1, at, bytes, to, err);
}

/* All bands of the pick by one read. */
static HcStatus take_span(Taking *taking, int64_t line, int64_t low, int64_t bytes, HcError *err) {
    const HcPick *pick = taking->pick;
    HC_OR_RETURN(reserve(taking, bytes, err));
    HC_OR_RETURN(read_part(taking, line, low, bytes, taking->bytes, err));
    for (int32_t b = 0; b < pick->bands; b++) {
        const int64_t offset = taking->offset[b] - low;
        take_numbers(taking, taking->bytes, pick->step * taking->raw.stride_sample, &offset, b, 1);
    }
    return HC_OK;
}

/* All bands of the pick by a read for each pixel. */
static HcStatus take_pixels(Taking *taking, int64_t line, int64_t low, int64_t bytes, HcError *err) {
    const HcPick *pick = taking->pick;
    HC_OR_RETURN(reserve(taking, bytes * pick->samples, err));
    for (int32_t s = 0; s < pick->samples; s++) {
        HC_OR_RETURN(read_part(taking, line, low + s * pick->step * taking->raw.stride_sample, bytes,
                               taking->bytes + s * bytes, err));
    }
    for (int32_t b = 0; b < pick->bands; b++) {
        const int64_t offset = taking->offset[b] - low;
        take_numbers(taking, taking->bytes, bytes, &offset, b, 1);
    }
    return HC_OK;
}

/* One band: by one read, or by one for each value. */
static HcStatus take_band(Taking *taking, int64_t line, int32_t band, HcError *err) {
    const HcPick *pick = taking->pick;
    const int64_t each = (int64_t)hc_type_bytes(taking->raw.type), none = 0;
    const int64_t step = pick->step * taking->raw.stride_sample;
    const bool alone = step > gap_bytes;
    const int64_t bytes = alone ? each * pick->samples : (pick->samples - 1) * step + each;
    HC_OR_RETURN(reserve(taking, bytes, err));
    for (int32_t s = 0; s < (alone ? pick->samples : 1); s++) {
        HC_OR_RETURN(read_part(taking, line, taking->offset[band] + s * step, alone ? each : bytes,
                               taking->bytes + s * each, err));
    }
    take_numbers(taking, taking->bytes, alone ? each : step, &none, band, 1);
    return HC_OK;
}

/* Whether the lines of a band lie together (BSQ): each band of a line is then a read of its own anyway. */
static bool bands_apart(const HcView *view) {
    HcRaw two;
    hc_view_describe(view, 0, 2, NULL, &two);
    return two.stride_line < two.stride_band;
}

static HcStatus take_plain_line(Taking *taking, int64_t line, HcError *err) {
    const HcPick *pick = taking->pick;
    HcRaw *raw = &taking->raw;
    int64_t low = INT64_MAX, high = 0;
    hc_view_describe(taking->layer->view, line, 1, NULL, raw);
    for (int32_t b = 0; b < pick->bands; b++) {
        taking->offset[b] = pick->sample0 * raw->stride_sample + pick->band[b] * raw->stride_band;
        low = hc_min64(low, taking->offset[b]);
        high = hc_max64(high, taking->offset[b]);
    }
    const int64_t step = pick->step * raw->stride_sample;
    const int64_t pixel = high - low + (int64_t)hc_type_bytes(raw->type);
    const int64_t span = pixel + (pick->samples - 1) * step;
    const bool by_pixels = raw->stride_band < raw->stride_sample;
    if (by_pixels && step > gap_bytes) {
        return take_pixels(taking, line, low, pixel, err);
    }
    if (by_pixels || (pick->bands > 32 && span <= line_bytes && !bands_apart(taking->layer->view))) {
        return take_span(taking, line, low, span, err);
    }
    for (int32_t b = 0; b < pick->bands; b++) {
        HC_OR_RETURN(take_band(taking, line, b, err));
    }
    return HC_OK;
}

/* ---- a line of another file ---- */

/* The view of these bands alone, opened anew where others were read. */
static HcStatus open_some(HcLayer *layer, const HcPick *pick, HcError *err) {
    HcStatus status = HC_OK;
    int32_t rising[3] = {0}, count = 0;
    const HcViewOptions how = {0};
    for (int32_t b = 0; b < layer->scene->bands && count < 3; b++) {
        bool wanted = false;
        for (int32_t k = 0; k < pick->bands; k++) {
            wanted = wanted || pick->band[k] == b;
        }
        rising[count] = b;
        count += wanted;
    }
    if (layer->some != NULL && count == layer->some_count &&
        memcmp(rising, layer->some_band, sizeof rising) == 0) {
        return HC_OK;
    }
    hc_view_close(layer->some);
    layer->some = NULL;
    HC_TRY(hc_view_open(&layer->some, layer->path, &how, err));
    HC_TRY(hc_view_use_bands(layer->some, rising, count, err));
    (void)hc_view_settle(layer->some, 0, HC_LAYER_BYTES, false);
    memcpy(layer->some_band, rising, sizeof rising);
    layer->some_count = count;
done:
    if (status != HC_OK) {
        hc_view_close(layer->some);
        layer->some = NULL;
    }
    return status;
}

static HcStatus take_other_line(Taking *taking, HcView *view, int64_t line, HcError *err) {
    const HcPick *pick = taking->pick;
    HcRaw *raw = &taking->raw;
    HC_OR_RETURN(reserve(taking, (int64_t)hc_view_bytes(view, 1), err));
    HC_OR_RETURN(hc_view_read(view, line, 1, taking->bytes, raw, err));
    for (int32_t b = 0; b < pick->bands; b++) {
        taking->offset[b] =
            pick->sample0 * raw->stride_sample + hc_view_stored_band(view, pick->band[b]) * raw->stride_band;
    }
    take_numbers(taking, raw->data, pick->step * raw->stride_sample, taking->offset, 0, pick->bands);
    return HC_OK;
}

/* ---- the pick ---- */

/* The numbers of a line as values, and which pixels have them. */
static void put_line(const Taking *taking) {
    const HcPick *pick = taking->pick;
    const uint8_t *mask = taking->raw.user_mask;
    double nodata = NAN;
    const bool has_nodata = hc_view_nodata(taking->layer->view, &nodata);
    const size_t samples = (size_t)pick->samples, row = (size_t)taking->row * samples;
    for (size_t s = 0; s < samples; s++) {
        bool masked = mask != NULL && mask[pick->sample0 + (int64_t)s * pick->step] == 0, valid = !masked;
        for (size_t b = 0; b < (size_t)pick->bands; b++) {
            double value = taking->number[b * samples + s];
            bool there = !masked && isfinite((float)value) && !(has_nodata && value == nodata);
            taking->value[b * (size_t)pick->lines * samples + row + s] = there ? (float)value : NAN;
            valid = valid && there;
        }
        taking->valid[row + s] = valid;
    }
}

/* A line of the pick; after a failure a thread takes none. */
static void take_line(void *user, int64_t row, int32_t thread) {
    Taking *taking = (Taking *)user + thread;
    HcLayer *layer = taking->layer;
    const HcPick *pick = taking->pick;
    const int64_t line = pick->line0 + row * pick->step;
    if (taking->status != HC_OK) {
        return;
    }
    taking->row = (int32_t)row;
    taking->status =
        hc_view_passes_bytes(layer->view)
            ? take_plain_line(taking, line, &taking->error)
            : take_other_line(taking, pick->bands <= 3 ? layer->some : layer->view, line, &taking->error);
    if (taking->status == HC_OK) {
        put_line(taking);
    }
}

static HcStatus take_lines(HcLayer *layer, Taking *taking, const HcPick *pick, HcError *err) {
    const bool plain = hc_view_passes_bytes(layer->view);
    if (!plain && pick->bands <= 3) {
        HC_OR_RETURN(open_some(layer, pick, err));
    }
    hc_team_run(plain ? layer->team : NULL, pick->lines, take_line, taking);
    for (int32_t t = 0; t < HC_LAYER_THREADS; t++) {
        if (taking[t].status != HC_OK) {
            return hc_fail(err, taking[t].status, "%s", taking[t].error.text);
        }
    }
    return HC_OK;
}

HcStatus hc_layer_read(HcLayer *layer, const HcPick *pick, float *value, uint8_t *valid, HcError *err) {
    HcStatus status = HC_OK;
    const bool plain = hc_view_passes_bytes(layer->view);
    const int32_t threads = plain && pick->lines > 1 ? hc_team_threads(layer->team) : 1;
    Taking taking[HC_LAYER_THREADS] = {0};
    for (int32_t t = 0; t < threads; t++) {
        taking[t] = (Taking){.layer = layer, .pick = pick, .value = value, .valid = valid};
        HC_TRY(hc_new(taking[t].offset, pick->bands, "pixels of the scene", err));
        HC_TRY(hc_new(taking[t].number, (size_t)pick->bands * (size_t)pick->samples, "pixels of the scene",
                      err));
    }
    if (plain) {
        status = take_lines(layer, taking, pick, err);
    } else {
        pthread_mutex_lock(&layer->lock);
        status = take_lines(layer, taking, pick, err);
        pthread_mutex_unlock(&layer->lock);
    }
done:
    for (int32_t t = 0; t < threads; t++) {
        free(taking[t].offset);
        free(taking[t].number);
        free(taking[t].bytes);
    }
    return status;
}
