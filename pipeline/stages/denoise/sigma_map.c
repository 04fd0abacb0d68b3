/* The probe goes through the same method as the pixels, so that the map holds for any of them. Its signs
 * depend on the place of a pixel alone, and lines come with the margin of the mean: blocks do not change the
 * map. */
#include "pipeline/stages/denoise/sigma_map.h"
#include "core/allocate.h"
#include "pipeline/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Size of the probe, in deviations of the noise. A smaller one meets the steps of thresholds too seldom. */
static const double probe_size = 0.1;

/* The rest of a pixel counts where it exceeds this many of its standard deviations. */
static const double surely = 5;

enum { LINES_AT_ONCE = 4, TEAM = 16, MARGIN = HC_SIGMA_MARGIN, ROWS = HC_SIGMA_LINES_MAX + 2 * MARGIN };

static size_t strip_bytes(int64_t samples, int32_t bands, int64_t rows) {
    return (size_t)rows * (size_t)samples * ((size_t)bands * sizeof(float) + 1);
}

size_t hc_sigma_map_bytes(int64_t samples, int32_t bands, int32_t used, int32_t context) {
    return strip_bytes(samples, used, ROWS + 2 * (int64_t)context) + 3 * strip_bytes(samples, used, ROWS) +
           strip_bytes(samples, bands, LINES_AT_ONCE) + strip_bytes(samples, 1, HC_SIGMA_LINES_MAX) +
           2 * (size_t)ROWS * (size_t)samples * sizeof(double);
}

void hc_sigma_map_close(HcSigmaMap *map) {
    hc_memory_release(map->compute, &map->components);
    hc_memory_release(map->compute, &map->noisy);
    hc_memory_release(map->compute, &map->clean);
    hc_memory_release(map->compute, &map->probe);
    hc_memory_release(map->compute, &map->lines);
    hc_memory_release(map->compute, &map->map);
    hc_team_close(map->team);
    free(map->metric);
    free(map->risk);
    free(map->rest);
    *map = (HcSigmaMap){0};
}

/* Products of the spectra of two components, over the bands. */
static double product_of(const HcTransform *transform, int32_t k, int32_t l) {
    size_t bands = (size_t)transform->bands;
    const double *a = transform->inverse + (size_t)k * bands;
    const double *b = transform->inverse + (size_t)l * bands;
    double sum = 0;
    for (size_t i = 0; i < bands; i++) {
        sum += a[i] * b[i];
    }
    return sum / (double)bands;
}

HcStatus hc_sigma_map_open(HcSigmaMap *map, HcCompute *compute, const HcTransform *transform, int64_t samples,
                           int32_t used, double level, int32_t context, HcError *err) {
    HcComputeInfo info;
    hc_compute_info(compute, &info);
    *map = (HcSigmaMap){
        .compute = compute, .transform = transform, .samples = samples, .used = used, .level = level};
    size_t n = (size_t)used;
    map->team = hc_team_open(hc_team_count(info.threads, TEAM));
    HC_OR_RETURN(hc_new(map->metric, n * n + 1, "a map of errors", err));
    HC_OR_RETURN(hc_new(map->risk, (size_t)ROWS * (size_t)samples, "a map of errors", err));
    HC_OR_RETURN(hc_new(map->rest, (size_t)ROWS * (size_t)samples, "a map of errors", err));
    for (int32_t k = 0; k < used; k++) {
        for (int32_t l = 0; l < used; l++) {
            map->metric[(size_t)k * n + (size_t)l] = product_of(transform, k, l);
        }
    }
    for (int32_t k = 0; k < transform->components; k++) {
        double power = product_of(transform, k, k);
        map->noise += level * power;
        map->dropped += k < used ? 0 : level * power;
        map->scatter += k < used ? 0 : 2 * level * power * level * power;
    }
    map->scatter = sqrt(map->scatter);
    int64_t rows = ROWS + 2 * (int64_t)context;
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, strip_bytes(samples, used, rows), &map->components, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, strip_bytes(samples, used, ROWS), &map->noisy, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, strip_bytes(samples, used, ROWS), &map->clean, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, strip_bytes(samples, used, ROWS), &map->probe, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, strip_bytes(samples, transform->bands, LINES_AT_ONCE),
                          &map->lines, err));
    return hc_alloc(compute, HC_MEMORY_HOST, strip_bytes(samples, 1, HC_SIGMA_LINES_MAX), &map->map, err);
}

HcStatus hc_sigma_map_fetch(HcQueue *queue, const HcBlock *strip, HcBuffer *to, HcError *err) {
    HC_OR_RETURN(hc_download(queue, strip->data, to->data, hc_block_values(strip) * sizeof(float), err));
    return hc_wait(queue, err);
}

/* 1 or -1, of a place: the same however the scene is cut (a finaliser of MurmurHash 3). */
static double sign_at(int64_t line, int64_t sample, int32_t component) {
    uint64_t x =
        ((uint64_t)line * 0x9E3779B97F4A7C15U + (uint64_t)sample) * 0xC2B2AE3D27D4EB4FU + (uint64_t)component;
    x = (x ^ (x >> 33)) * 0xFF51AFD7ED558CCDU;
    x = (x ^ (x >> 33)) * 0xC4CEB9FE1A85EC53U;
    return ((x >> 33) & 1) != 0 ? 1 : -1;
}

HcStatus hc_sigma_map_disturb(HcSigmaMap *map, HcQueue *queue, const HcBlock *components, HcError *err) {
    size_t bytes = hc_block_values(components) * sizeof(float);
    size_t pixels = hc_block_pixels(components);
    float *value = map->components.data;
    uint8_t *mask = (uint8_t *)value + bytes;
    HC_OR_RETURN(hc_download(queue, components->data, value, bytes, err));
    HC_OR_RETURN(hc_download(queue, components->mask, mask, pixels, err));
    HC_OR_RETURN(hc_wait(queue, err));
    for (size_t p = 0; p < pixels; p++, value += map->used) {
        int64_t line = hc_block_first_line(components) + (int64_t)p / map->samples;
        for (int32_t k = 0; k < map->used && mask[p] != 0; k++) {
            value[k] = (float)((double)value[k] + probe_size * sign_at(line, (int64_t)p % map->samples, k));
        }
    }
    HC_OR_RETURN(hc_upload(queue, map->components.data, components->data, bytes, err));
    return hc_wait(queue, err);
}

/* Lines whose risk is found. */
typedef struct Lines {
    HcSigmaMap *map;
    const float *value;  /* [lines][samples][bands] of the scene */
    const uint8_t *mask; /* [lines][samples] */
    int64_t first;       /* line of the scene */
    int64_t row;         /* of what was fetched */
    bool by_probe;
} Lines;

/* In a pixel, with the change d = f - z and the signs s of the probe: d' M d - trace M + 2 s' M (df / e). */
static double risk_of(const HcSigmaMap *map, size_t at, int64_t line, int64_t sample, bool by_probe) {
    size_t n = (size_t)map->used;
    const float *noisy = (const float *)map->noisy.data + at * n;
    const float *clean = (const float *)map->clean.data + at * n;
    const float *probe = (const float *)map->probe.data + at * n;
    double risk = 0;
    for (size_t k = 0; k < n; k++) {
        const double *row = map->metric + k * n;
        if (!by_probe) {
            risk += map->level * row[k]; /* the noise stays as it is */
            continue;
        }
        double change = 0;
        double sign = 0;
        for (size_t l = 0; l < n; l++) {
            change += row[l] * ((double)clean[l] - (double)noisy[l]);
            sign += row[l] * sign_at(line, sample, (int32_t)l);
        }
        double slope = sign * ((double)probe[k] - (double)clean[k]) / probe_size;
        risk += ((double)clean[k] - (double)noisy[k]) * change - map->level * row[k] + 2 * map->level * slope;
    }
    return risk;
}

/* What risks of scaled spectra are multiplied by. */
static double weight_of(const HcSigmaMap *map, int64_t sample) {
    return map->level_of != NULL ? map->level_of[sample] * map->level_of[sample] : 1;
}

/* Mean square over the bands of what no kept component explains, less that of noise. */
static double rest_of(const HcSigmaMap *map, const float *x, size_t sample, const float *noisy) {
    size_t bands = (size_t)map->transform->bands;
    const double *stripes = map->stripes != NULL ? map->stripes + sample * bands : NULL;
    double level = map->level_of != NULL ? map->level_of[sample] : 1;
    double sum = 0;
    for (size_t b = 0; b < bands; b++) {
        double rest = ((double)x[b] - map->transform->mean[b] - (stripes != NULL ? stripes[b] : 0)) / level;
        for (size_t k = 0; k < (size_t)map->used; k++) {
            rest -= (double)noisy[k] * map->transform->inverse[k * bands + b];
        }
        sum += rest * rest;
    }
    return sum / (double)bands - map->dropped;
}

static void find_risk(void *user, int64_t item, int32_t thread) {
    (void)thread;
    const Lines *lines = user;
    HcSigmaMap *map = lines->map;
    size_t bands = (size_t)map->transform->bands;
    size_t n = (size_t)map->used;
    for (int64_t s = 0; s < map->samples; s++) {
        size_t at = (size_t)(item * map->samples + s);
        size_t fetched = (size_t)((lines->row + item) * map->samples + s);
        bool valid = lines->mask[at] != 0;
        if (n == 0 || !valid) {
            map->risk[fetched] = valid ? map->noise * weight_of(map, s) : NAN;
            map->rest[fetched] = 0;
            continue;
        }
        const float *noisy = (const float *)map->noisy.data + fetched * n;
        map->risk[fetched] =
            risk_of(map, fetched, lines->first + item, s, lines->by_probe) * weight_of(map, s);
        map->rest[fetched] = rest_of(map, lines->value + at * bands, (size_t)s, noisy) * weight_of(map, s);
    }
}

static HcStatus find_risks(HcSigmaMap *map, HcQueue *queue, const HcBlock *in, const HcBlock *clean,
                           bool by_probe, HcError *err) {
    int64_t end = clean->line0 + clean->lines;
    for (int64_t first = clean->line0; first < end; first += LINES_AT_ONCE) {
        HcBlock part = hc_block_part(in, first, hc_min64(end, first + LINES_AT_ONCE), 0);
        uint8_t *mask = (uint8_t *)map->lines.data + hc_block_values(&part) * sizeof(float);
        HC_OR_RETURN(
            hc_download(queue, part.data, map->lines.data, hc_block_values(&part) * sizeof(float), err));
        HC_OR_RETURN(hc_download(queue, part.mask, mask, hc_block_pixels(&part), err));
        HC_OR_RETURN(hc_wait(queue, err));
        Lines lines = {.map = map,
                       .value = map->lines.data,
                       .mask = mask,
                       .first = first,
                       .row = first - clean->line0,
                       .by_probe = by_probe};
        hc_team_run(map->team, part.lines, find_risk, &lines);
    }
    return HC_OK;
}

/* The root of the mean risk of the valid pixels around one, 0 where that is below 0. */
static float error_at(const HcSigmaMap *map, int64_t rows, int64_t row, int64_t sample) {
    double risk = 0;
    double rest = 0;
    double count = 0;
    double weights = 0;
    double squares = 0;
    int64_t bottom = hc_min64(rows, row + MARGIN + 1);
    int64_t right = hc_min64(map->samples, sample + MARGIN + 1);
    for (int64_t r = hc_max64(0, row - MARGIN); r < bottom; r++) {
        for (int64_t s = hc_max64(0, sample - MARGIN); s < right; s++) {
            int64_t at = r * map->samples + s;
            if (!isnan(map->risk[at])) {
                risk += map->risk[at];
                rest += map->rest[at];
                weights += weight_of(map, s);
                squares += weight_of(map, s) * weight_of(map, s);
                count++;
            }
        }
    }
    risk /= count;
    rest /= count;
    if (map->used > 0) {
        double lost = map->lost * (weights / count);
        double scatter = map->scatter / sqrt(count) * sqrt(squares / count);
        risk += rest > lost + surely * scatter ? rest : lost;
    }
    return (float)sqrt(fmax(0, risk));
}

HcStatus hc_sigma_map_write(HcSigmaMap *map, HcQueue *queue, const HcBlock *in, const HcBlock *clean,
                            bool by_probe, const HcBlock *out, HcError *err) {
    float *error = map->map.data;
    size_t pixels = hc_block_pixels(out);
    uint8_t *mask = (uint8_t *)(error + pixels);
    HC_OR_RETURN(find_risks(map, queue, in, clean, by_probe, err));
    for (size_t p = 0; p < pixels; p++) {
        int64_t row = out->line0 - clean->line0 + (int64_t)p / map->samples;
        int64_t sample = (int64_t)p % map->samples;
        bool valid = !isnan(map->risk[row * map->samples + sample]);
        mask[p] = valid;
        error[p] = valid ? error_at(map, clean->lines, row, sample) : 0;
    }
    HC_OR_RETURN(hc_upload(queue, error, out->data, pixels * sizeof(float), err));
    HC_OR_RETURN(hc_upload(queue, mask, out->mask, pixels, err));
    return hc_wait(queue, err);
}

/* The risk of one pixel is at most that many times the noise of the scene: a sum of 2^31 pixels fits. */
static const double risk_limit = 4000;

HcStatus hc_sigma_map_measure(HcSigmaMap *map, HcQueue *queue, const HcBlock *in, const HcBlock *clean,
                              HcError *err) {
    HC_OR_RETURN(find_risks(map, queue, in, clean, true, err));
    for (size_t p = 0; p < hc_block_pixels(clean) && map->noise > 0; p++) {
        double risk = map->risk[p] / map->noise;
        if (!isnan(risk)) {
            map->measured += llround(fmax(-risk_limit, fmin(risk, risk_limit)) * HC_SIGMA_UNIT);
            map->measured_pixels++;
        }
    }
    return HC_OK;
}
