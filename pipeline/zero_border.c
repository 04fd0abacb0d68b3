#include "pipeline/zero_border.h"

#include <string.h>

/* The values of one line that are looked at, from one of its ends. */
typedef struct Line {
    const char *data;
    size_t bytes;   /* of a value */
    int64_t sample; /* bytes from a pixel to the next one, away from that end */
    int64_t band;   /* bytes from a stored band to the next one */
    int32_t samples;
    const int32_t *stored;
    int32_t bands;
} Line;

/* Whether the value at `at` has no bit that is set: 0 of any type and byte order. */
static inline bool is_zero(const char *at, size_t bytes) {
    uint64_t bits = 0;
    memcpy(&bits, at, bytes);
    return bits == 0;
}

/* The pixels that are 0 in all bands, up to the first that is not. Bands far apart are taken one by one, each
 * as far as the bands before it were 0. */
static int32_t run_by_bands(const Line *line) {
    int32_t run = line->samples;
    for (int32_t k = 0; k < line->bands && run > 0; k++) {
        const char *at = line->data + line->stored[k] * line->band;
        int32_t here = 0, eight = line->sample == (int64_t)line->bytes ? 8 / (int32_t)line->bytes : 0;
        /* Values that lie side by side are looked at eight bytes at a time: whole lines may be 0. */
        while (eight > 0 && here + eight <= run && is_zero(at + here * line->sample, 8)) {
            here += eight;
        }
        while (here < run && is_zero(at + here * line->sample, line->bytes)) {
            here++;
        }
        run = here;
    }
    return run;
}

/* For layouts in which the bands of a pixel lie together. */
static int32_t run_by_pixels(const Line *line) {
    for (int32_t s = 0; s < line->samples; s++) {
        const char *at = line->data + s * line->sample;
        for (int32_t k = 0; k < line->bands; k++) {
            if (!is_zero(at + line->stored[k] * line->band, line->bytes)) {
                return s;
            }
        }
    }
    return line->samples;
}

static int32_t run_of(const Line *line) {
    int64_t sample = line->sample < 0 ? -line->sample : line->sample;
    return line->band < sample ? run_by_pixels(line) : run_by_bands(line);
}

/* Keeps those of `count` pixels that the mask of the user lets through; NULL = all. */
static int64_t count_kept(const uint8_t *mask, int32_t count) {
    int64_t kept = mask == NULL ? count : 0;
    for (int32_t s = 0; mask != NULL && s < count; s++) {
        kept += mask[s] != 0;
    }
    return kept;
}

int64_t hc_zero_border_count(const HcRaw *raw, const int32_t *stored, int32_t bands, int64_t line0,
                             int32_t lines) {
    int64_t count = 0;
    for (int64_t row = line0 - raw->line0; row < line0 - raw->line0 + lines; row++) {
        const char *data = (const char *)raw->data + row * raw->stride_line;
        const uint8_t *mask = raw->user_mask != NULL ? raw->user_mask + row * raw->samples : NULL;
        Line line = {.data = data,
                     .bytes = hc_type_bytes(raw->type),
                     .sample = raw->stride_sample,
                     .band = raw->stride_band,
                     .samples = raw->samples,
                     .stored = stored,
                     .bands = bands};
        int32_t left = run_of(&line);
        count += count_kept(mask, left);
        if (left < raw->samples) {
            line.data = data + (raw->samples - 1) * raw->stride_sample;
            line.sample = -raw->stride_sample;
            int32_t right = run_of(&line);
            count += count_kept(mask != NULL ? mask + raw->samples - right : NULL, right);
        }
    }
    return count;
}
