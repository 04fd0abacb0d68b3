/* Only the pixels of the picture are kept while blocks pass, so that a preview of any scene takes the memory
 * of its picture. On a map the pixels are sorted by line of the scene first: each block then finds its own
 * without a search. */
#include "pipeline/picture/shown.h"
#include "core/allocate.h"
#include "pipeline/picture/ortho_map.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Bands by number. */
static HcStatus bands_by_number(const HcStage *stage, const char *bands, HcShown *shown, HcError *err) {
    double number[3];
    shown->band_count = hc_option_numbers(bands, number, 3);
    bool whole = shown->band_count == 1 || shown->band_count == 3;
    for (int32_t c = 0; c < shown->band_count && whole; c++) {
        whole = number[c] == floor(number[c]) && fabs(number[c]) < 1e9;
        shown->band[c] = whole ? (int32_t)number[c] - 1 : 0;
    }
    if (!whole) {
        return hc_fail(err, HC_E_USAGE, "%s: --bands %s: must be one band number or three", stage->kind->name,
                       bands);
    }
    for (int32_t c = 0; c < shown->band_count; c++) {
        if (shown->band[c] < 0 || shown->band[c] >= stage->in.bands) {
            return hc_fail(err, HC_E_USAGE, "%s: --bands %s: the scene has bands 1 to %d", stage->kind->name,
                           bands, stage->in.bands);
        }
    }
    return HC_OK;
}

static HcStatus bands_by_wavelength(const HcStage *stage, const char *wavelengths, HcShown *shown,
                                    HcError *err) {
    double wavelength[3];
    shown->band_count = hc_option_numbers(wavelengths, wavelength, 3);
    if (shown->band_count != 1 && shown->band_count != 3) {
        return hc_fail(err, HC_E_USAGE, "%s: --wavelengths %s: must be one wavelength [nm] or three",
                       stage->kind->name, wavelengths);
    }
    for (int32_t c = 0; c < shown->band_count; c++) {
        shown->band[c] = hc_scene_band_at(&stage->in, wavelength[c], 50);
        if (shown->band[c] < 0) {
            const char *why = stage->in.wavelength == NULL ? stage->in.wavelength_note : NULL;
            return hc_fail(err, HC_E_USAGE, "%s: --wavelengths %s: no band within 50 nm of %g nm%s%s",
                           stage->kind->name, wavelengths, wavelength[c], why != NULL ? ": " : "",
                           why != NULL ? why : "");
        }
    }
    return HC_OK;
}

HcStatus hc_shown_choose(const HcStage *stage, const char *bands, const char *wavelengths, HcShown *shown,
                         HcError *err) {
    if (bands != NULL) {
        return bands_by_number(stage, bands, shown, err);
    }
    if (wavelengths != NULL) {
        return bands_by_wavelength(stage, wavelengths, shown, err);
    }
    shown->band_count = hc_scene_usual_bands(&stage->in, shown->band);
    return HC_OK;
}

HcStatus hc_shown_plan(HcStage *stage, const char *ortho, int64_t size, HcShown *shown, HcError *err) {
    HC_OR_RETURN(hc_ortho_map_plan(stage, ortho, &shown->ortho, err));
    shown->lines = stage->in.lines;
    shown->samples = stage->in.samples;
    if (shown->ortho != NULL) {
        HcOrthoFacts facts = hc_ortho_facts(shown->ortho);
        shown->lines = facts.lines;
        shown->samples = facts.samples;
    }
    int64_t longest = shown->lines > shown->samples ? shown->lines : shown->samples;
    shown->step = (int32_t)((longest + size - 1) / size);
    shown->width = (int32_t)((shown->samples + shown->step - 1) / shown->step);
    shown->height = (int32_t)((shown->lines + shown->step - 1) / shown->step);
    return HC_OK;
}

size_t hc_shown_pixels(const HcShown *shown) {
    return (size_t)shown->width * (size_t)shown->height;
}

bool hc_shown_has_values(const HcShown *shown, int32_t c) {
    size_t pixels = hc_shown_pixels(shown);
    for (size_t p = 0; p < pixels; p++) {
        if (shown->valid[p] != 0 && isfinite(shown->plane[(size_t)c * pixels + p])) {
            return true;
        }
    }
    return false;
}

size_t hc_shown_bytes(const HcStage *stage, const HcShown *shown) {
    size_t pixels = hc_shown_pixels(shown);
    size_t map = pixels * (sizeof(HcShownPixel) + sizeof(HcOrthoPixel)) +
                 (size_t)shown->samples * sizeof(HcOrthoPixel) +
                 ((size_t)stage->in.lines + 1) * sizeof *shown->begin;
    return pixels * ((size_t)shown->band_count * sizeof *shown->plane + 1) + (shown->ortho != NULL ? map : 0);
}

/* The pixels of the scene that are shown, place[height][width]. */
static HcStatus read_map(const HcShown *shown, HcOrthoPixel *place, HcError *err) {
    HcStatus status = HC_OK;
    HcOrthoPixel *line = NULL;
    HC_OR_RETURN(hc_new(line, shown->samples, "a line of a map", err));
    for (int32_t y = 0; y < shown->height; y++) {
        HC_TRY(hc_ortho_lines(shown->ortho, (int64_t)y * shown->step, 1, line, err));
        for (int32_t x = 0; x < shown->width; x++) {
            place[(size_t)y * (size_t)shown->width + (size_t)x] = line[(size_t)x * (size_t)shown->step];
        }
    }
done:
    free(line);
    return status;
}

/* Sorts them by line of the scene. */
static HcStatus open_map(const HcStage *stage, HcShown *shown, HcError *err) {
    HcStatus status = HC_OK;
    int32_t pixels = (int32_t)hc_shown_pixels(shown);
    int64_t lines = stage->in.lines;
    HcOrthoPixel *place = NULL;
    HC_TRY(hc_new(place, pixels, "a preview", err));
    HC_TRY(hc_new(shown->filled, pixels, "a preview", err));
    HC_TRY(hc_new(shown->begin, lines + 1, "a preview", err));
    HC_TRY(read_map(shown, place, err));
    for (int32_t p = 0; p < pixels; p++) {
        if (place[p].line >= 0) {
            shown->begin[place[p].line + 1]++;
        }
    }
    for (int64_t l = 0; l < lines; l++) {
        shown->begin[l + 1] += shown->begin[l];
    }
    /* From the last on, so that each line's mark moves down to where it begins. */
    for (int32_t p = pixels - 1; p >= 0; p--) {
        if (place[p].line >= 0) {
            shown->filled[--shown->begin[place[p].line + 1]] = (HcShownPixel){p, place[p].sample};
        }
    }
    memmove(shown->begin, shown->begin + 1, (size_t)lines * sizeof *shown->begin);
    shown->begin[lines] = 0;
    for (int32_t p = 0; p < pixels; p++) {
        shown->begin[lines] += place[p].line >= 0;
    }
done:
    free(place);
    return status;
}

HcStatus hc_shown_open(const HcStage *stage, HcShown *shown, HcError *err) {
    size_t pixels = hc_shown_pixels(shown);
    HC_OR_RETURN(hc_new(shown->plane, pixels * (size_t)shown->band_count, "a preview", err));
    HC_OR_RETURN(hc_new(shown->valid, pixels, "a preview", err));
    return shown->ortho != NULL ? open_map(stage, shown, err) : HC_OK;
}

/* Shows a pixel of the block at `to`. */
static void show(HcShown *shown, const HcBlock *block, size_t from, size_t to) {
    size_t pixels = (size_t)shown->width * (size_t)shown->height;
    shown->valid[to] = block->mask[from];
    for (int32_t c = 0; c < shown->band_count; c++) {
        int32_t band = shown->picked ? c : shown->band[c];
        shown->plane[(size_t)c * pixels + to] = block->data[from * (size_t)block->bands + (size_t)band];
    }
}

static void consume_for_map(HcShown *shown, const HcBlock *block) {
    for (int32_t row = 0; row < block->lines; row++) {
        int64_t line = block->line0 + row;
        for (int32_t f = shown->begin[line]; f < shown->begin[line + 1]; f++) {
            const HcShownPixel *filled = &shown->filled[f];
            size_t from = (size_t)row * (size_t)block->samples + (size_t)filled->sample;
            show(shown, block, from, (size_t)filled->shown);
        }
    }
}

void hc_shown_consume(HcShown *shown, const HcBlock *block, int32_t every) {
    if (shown->ortho != NULL) {
        consume_for_map(shown, block);
        return;
    }
    for (int32_t row = 0; row < block->lines; row++) {
        int64_t line = block->line0 + (int64_t)row * every;
        for (int32_t x = 0; x < shown->width && line % shown->step == 0; x++) {
            size_t from = (size_t)row * (size_t)block->samples + (size_t)x * (size_t)shown->step;
            show(shown, block, from, (size_t)(line / shown->step) * (size_t)shown->width + (size_t)x);
        }
    }
}

HcStatus hc_shown_gather(const HcStage *stage, HcShown *shown, HcError *err) {
    HcRanks *ranks = hc_stage_ranks(stage);
    size_t pixels = hc_shown_pixels(shown);
    HC_OR_RETURN(
        hc_ranks_join(ranks, shown->plane, pixels * (size_t)shown->band_count * sizeof *shown->plane, err));
    return hc_ranks_join(ranks, shown->valid, pixels, err);
}

void hc_shown_report(const HcShown *shown, HcJson *to) {
    hc_json_open_array(to, "shown_bands_from_1");
    for (int32_t c = 0; c < shown->band_count; c++) {
        hc_json_put_number(to, NULL, shown->band[c] + 1);
    }
    hc_json_close(to);
    hc_json_put_number(to, "every_pixel", shown->step);
    hc_ortho_map_report(shown->ortho, to);
}

void hc_shown_close(HcShown *shown) {
    free(shown->plane);
    free(shown->valid);
    free(shown->begin);
    free(shown->filled);
    hc_ortho_close(shown->ortho);
    *shown = (HcShown){0};
}
