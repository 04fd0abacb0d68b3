/* Two rasters, read block by block at the same time. */
#include "core/allocate.h"
#include "core/operation/image/decode.h"
#include "io/shape/grid.h"
#include "pipeline/compare/parts.h"
#include "pipeline/memory.h"
#include "pipeline/run/layout.h"

#include <stdlib.h>
#include <string.h>

const HcScene *hc_pair_scene(const HcPair *pair, int which) {
    return &pair->chain[which]->stages[0].out;
}

const char *hc_pair_path(const HcPair *pair, int which) {
    return hc_reader_path(hc_view_reader(pair->chain[which]->source->view));
}

HcStatus hc_pair_plan(HcPair *pair, HcChain *scene, HcChain *truth, HcError *err) {
    pair->chain[0] = scene;
    pair->chain[1] = truth;
    for (int w = 0; w < 2; w++) {
        HcStage *stage = &pair->chain[w]->stages[0];
        HC_OR_RETURN(stage->kind->plan(stage, err));
        HC_OR_RETURN(hc_chain_check_notes(pair->chain[w], err));
    }
    const HcScene *of = hc_pair_scene(pair, 0);
    const HcScene *to = hc_pair_scene(pair, 1);
    HcText note = {0};
    HcStatus status = hc_grid_check(of, hc_pair_path(pair, 0), to, hc_pair_path(pair, 1), &note, err);
    hc_stage_note_file(&pair->chain[1]->stages[0], hc_pair_path(pair, 1), &note);
    HC_OR_RETURN(status);
    HC_OR_RETURN(hc_chain_check_notes(pair->chain[1], err));
    pair->lines = of->lines;
    pair->samples = (int32_t)of->samples;
    return HC_OK;
}

/* Bytes of blocks of that many lines. */
static double block_bytes(const HcPair *pair, const HcPairCost *cost, int64_t lines) {
    double bytes = (double)lines * (double)cost->line_bytes;
    for (int w = 0; w < 2; w++) {
        const HcSource *source = pair->chain[w]->source;
        double pixels = (double)lines * pair->samples;
        bytes += (double)hc_view_bytes(source->view, lines);
        bytes += pixels * (4.0 * source->band_count + 1);
    }
    return bytes;
}

/* How many lines fit, with threads; the least is a line with its context. */
static HcStatus choose_lines(HcPair *pair, const HcPairCost *cost, const HcCompareSettings *settings,
                             HcError *err) {
    double budget = settings->memory > 0 ? settings->memory : 0.75 * hc_available_memory();
    double held = (double)HC_OWN_BYTES + (double)cost->held_bytes;
    int32_t threads = hc_team_count(settings->threads, 64);
    int64_t least = hc_min64(2 * cost->context + 1, pair->lines);
    char text[2][32];
    for (int w = 0; w < 2; w++) {
        HcView *view = pair->chain[w]->source->view;
        held += (double)hc_view_fixed_bytes(view);
        held += (double)hc_view_settle(view, 2 * cost->context, budget / 8, false);
    }
    double needed = held + (double)cost->fixed_bytes + block_bytes(pair, cost, least);
    if (needed > budget) {
        return hc_fail(err, HC_E_MEMORY, "compare: the smallest blocks need %s, %s has %s",
                       hc_text_bytes(text[0], sizeof text[0], needed),
                       settings->memory > 0 ? "--memory" : "the system",
                       hc_text_bytes(text[1], sizeof text[1], budget));
    }
    while (threads > 1 && needed + (double)(threads - 1) * (double)cost->fixed_bytes > budget) {
        threads--;
    }
    held += (double)threads * (double)cost->fixed_bytes;
    int64_t lines = settings->lines_of_test > 0 ? settings->lines_of_test + 2 * cost->context : pair->lines;
    /* Larger blocks than this gain nothing. */
    double most = budget - held < 512e6 ? budget - held : 512e6;
    while (lines > least && block_bytes(pair, cost, lines) > most) {
        lines = hc_max64(least, lines - (lines + 7) / 8);
    }
    pair->lines_most = (int32_t)hc_min64(hc_max64(lines, least), hc_min64(pair->lines, INT32_MAX));
    pair->team = hc_team_open(threads);
    return HC_OK;
}

HcStatus hc_pair_open(HcPair *pair, HcCompute *compute, const bool first_band_only[2], const HcPairCost *cost,
                      const HcCompareSettings *settings, HcError *err) {
    pair->compute = compute;
    pair->cancel = settings->cancel;
    HC_OR_RETURN(hc_queue_open(compute, &pair->queue, err));
    for (int w = 0; w < 2; w++) {
        HcStage *stage = &pair->chain[w]->stages[0];
        HcSource *source = pair->chain[w]->source;
        if (first_band_only[w]) {
            int32_t first = source->bands[0];
            HC_OR_RETURN(hc_source_use_bands(source, &first, 1, err));
        }
        stage->compute = compute;
        HC_OR_RETURN(stage->kind->open(stage, err));
        stage->is_open = true;
    }
    HC_OR_RETURN(choose_lines(pair, cost, settings, err));
    int32_t widest = 1;
    for (int w = 0; w < 2; w++) {
        const HcSource *source = pair->chain[w]->source;
        size_t pixels = (size_t)pair->lines_most * (size_t)pair->samples;
        size_t raw = hc_view_bytes(source->view, pair->lines_most);
        HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, raw > 0 ? raw : 1, &pair->raw[w], err));
        HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, pixels * (size_t)source->band_count * sizeof(float),
                              &pair->values[w], err));
        HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_DEVICE, pixels, &pair->masks[w], err));
        widest = source->band_count > widest ? source->band_count : widest;
    }
    return hc_new(pair->spectrum, (size_t)widest, "a spectrum", err);
}

void hc_pair_close(HcPair *pair) {
    for (int w = 0; w < 2; w++) {
        hc_memory_release(pair->compute, &pair->raw[w]);
        hc_memory_release(pair->compute, &pair->values[w]);
        hc_memory_release(pair->compute, &pair->masks[w]);
        free(pair->order[w]);
    }
    free(pair->spectrum);
    hc_team_close(pair->team);
    hc_queue_close(pair->queue);
    *pair = (HcPair){0};
}

/* Brings the bands of each pixel into the order of the pairs, within the same memory. */
static void arrange(HcPair *pair, int w) {
    HcBlock *block = &pair->block[w];
    size_t from = (size_t)block->bands, to = (size_t)pair->bands;
    for (size_t p = 0; p < hc_block_pixels(block); p++) {
        memcpy(pair->spectrum, block->data + p * from, from * sizeof(float));
        for (size_t k = 0; k < to; k++) {
            block->data[p * to + k] = pair->spectrum[pair->order[w][k]];
        }
    }
    block->bands = pair->bands;
}

HcStatus hc_pair_load(HcPair *pair, int64_t line0, int32_t lines, HcError *err) {
    if (hc_flag(pair->cancel) != 0) {
        return hc_fail(err, HC_E_CANCELLED, "interrupted");
    }
    for (int w = 0; w < 2; w++) {
        const HcSource *source = pair->chain[w]->source;
        HcRaw raw = {0};
        HC_OR_RETURN(hc_view_read(source->view, line0, lines, pair->raw[w].data, &raw, err));
        pair->block[w] = (HcBlock){.data = pair->values[w].data,
                                   .mask = pair->masks[w].data,
                                   .line0 = line0,
                                   .lines = lines,
                                   .samples = pair->samples,
                                   .bands = source->band_count};
        HC_OR_RETURN(hc_decode(pair->queue, &raw, &source->decode, &pair->block[w], err));
        HC_OR_RETURN(hc_wait(pair->queue, err));
        if (pair->order[w] != NULL) {
            arrange(pair, w);
        }
    }
    return HC_OK;
}

HcStatus hc_pair_unchanged(const HcPair *pair, HcError *err) {
    for (int w = 0; w < 2; w++) {
        HC_OR_RETURN(hc_view_unchanged(pair->chain[w]->source->view, err));
    }
    return HC_OK;
}
