/* A sample of the scene for stages that sum floats: the grid of exact sums (core/sums/grid.h) has to be known
 * before the first value is added. Some lines, spread evenly over the whole scene, go through the stages in
 * front, on every rank the same ones: so the sample depends neither on blocks nor on ranks. A stage that
 * compares neighbours gets pairs of lines in the same way. */
#include "core/operation/image/decode.h"
#include "pipeline/memory.h"
#include "pipeline/run/flow/flow.h"

#include <stdlib.h>
#include <string.h>

enum {
    SAMPLE_LINES = 8,
    LINE_PIXELS = 512, /* of a line, at most */
    ENOUGH = 64        /* valid pixels; with fewer, more lines are looked at */
};

/* Memory for one line and its context. */
typedef struct Probe {
    HcBuffer raw;    /* [host] */
    HcBuffer device; /* raw bytes there, where memory is not shared */
    HcBuffer line;   /* [host] a line behind a stage, and its mask */
} Probe;

static bool wants_sample(const HcFlow *flow, const HcStage *stage) {
    return hc_pass_observes(&flow->pass, stage) && stage->needs.sums.floats > 0 &&
           stage->sample.count < ENOUGH;
}

static bool wants_neighbours(const HcFlow *flow, const HcStage *stage) {
    return hc_pass_observes(&flow->pass, stage) && stage->needs.compares && stage->neighbours.at == NULL;
}

static bool any_wants(const HcFlow *flow, bool (*wants)(const HcFlow *, const HcStage *)) {
    bool any = false;
    for (int32_t s = 1; s < flow->pass.end; s++) {
        any = any || wants(flow, &flow->chain->stages[s]);
    }
    return any;
}

/* Makes room for `more` pixels. */
static HcStatus grow(HcSample *sample, int64_t more, size_t bands, HcError *err) {
    size_t count = (size_t)(sample->count + more);
    float *values = realloc(sample->values, count * bands * sizeof *values);
    sample->values = values != NULL ? values : sample->values;
    int64_t *at = realloc(sample->at, count * sizeof *at);
    sample->at = at != NULL ? at : sample->at;
    return values != NULL && at != NULL
               ? HC_OK
               : hc_fail_memory(err, (double)(count * bands * sizeof *values), "a sample of the scene");
}

/* Keeps valid pixels of a line [host]. */
static HcStatus keep_pixels(HcStage *stage, int64_t line, const float *values, const uint8_t *mask,
                            bool neighbours, HcError *err) {
    HcSample *sample = neighbours ? &stage->neighbours : &stage->sample;
    size_t bands = (size_t)stage->in.bands;
    int64_t samples = stage->in.samples;
    int64_t step = neighbours ? 1 : (samples + LINE_PIXELS - 1) / LINE_PIXELS;
    int64_t width = hc_neighbour_columns(&stage->in);
    int64_t first = neighbours ? (samples - width) / 2 : 0;
    int64_t end = neighbours ? first + width : samples;
    HC_OR_RETURN(grow(sample, (end - first + step - 1) / step, bands, err));
    for (int64_t s = first; s < end; s += step) {
        if (mask[s] != 0) {
            sample->at[sample->count] = line * samples + s;
            memcpy(sample->values + (size_t)sample->count++ * bands, values + (size_t)s * bands,
                   bands * sizeof(float));
        }
    }
    return HC_OK;
}

static HcStatus look_at(HcFlow *flow, HcStage *stage, const HcBlock *block, const Probe *probe,
                        bool neighbours, HcError *err) {
    size_t skipped = (size_t)block->above * (size_t)block->samples;
    size_t values = (size_t)block->samples * (size_t)block->bands;
    float *to = probe->line.data;
    uint8_t *mask = (uint8_t *)(to + values);
    HC_OR_RETURN(hc_download(flow->work, block->data + skipped * (size_t)block->bands, to,
                             values * sizeof(float), err));
    HC_OR_RETURN(hc_download(flow->work, block->mask + skipped, mask, (size_t)block->samples, err));
    HC_OR_RETURN(hc_wait(flow->work, err));
    return keep_pixels(stage, block->line0, to, mask, neighbours, err);
}

/* The raw block that a line lies in, where it stayed on the device from an earlier pass. */
static const HcRaw *kept_block(const HcFlow *flow, int64_t line) {
    const HcLimits *limits = &flow->layout.limits;
    int64_t block = (line - limits->first_line) / flow->layout.block_lines;
    if (line < limits->first_line || line >= limits->end_line || block >= flow->layout.kept_blocks) {
        return NULL;
    }
    const HcRaw *raw = &flow->kept_raw[block];
    return raw->data != NULL ? raw : NULL;
}

/* Brings one line and what is needed around it to the device. */
static HcStatus bring_line(HcFlow *flow, HcSpan span, const Probe *probe, HcRaw *raw, HcError *err) {
    HcView *view = flow->chain->source->view;
    const HcRaw *kept = kept_block(flow, span.line0);
    if (kept != NULL) {
        *raw = *kept;
        return HC_OK;
    }
    int32_t above = 0;
    int32_t below = 0;
    hc_flow_halo(flow, span, flow->pass.halo[0], &above, &below);
    int32_t rows = above + span.lines + below;
    const char *host = probe->raw.data;
    HC_OR_RETURN(hc_view_read(view, span.line0 - above, rows, probe->raw.data, raw, err));
    if (flow->uploads == NULL) {
        return HC_OK;
    }
    char *to = probe->device.data;
    HC_OR_RETURN(hc_upload(flow->work, host, to, hc_view_bytes(view, rows), err));
    hc_flow_move(raw, host, to);
    return HC_OK;
}

/* Takes one line through the stages in front of those that want a sample. */
static HcStatus sample_line(HcFlow *flow, int64_t line, const Probe *probe, bool neighbours, HcError *err) {
    const HcSlot *slot = &flow->slots[0];
    HcSpan span = {line, 1};
    HcRaw raw;
    HC_OR_RETURN(bring_line(flow, span, probe, &raw, err));
    HcBlock current = hc_flow_output(flow, slot, 0, span);
    HC_OR_RETURN(hc_decode(flow->work, &raw, &flow->chain->source->decode, &current, err));
    for (int32_t s = 1; s < flow->pass.end; s++) {
        HcStage *stage = &flow->chain->stages[s];
        if (neighbours ? hc_pass_observes(&flow->pass, stage) && stage->needs.compares
                       : wants_sample(flow, stage)) {
            HC_OR_RETURN(look_at(flow, stage, &current, probe, neighbours, err));
        }
        if (flow->pass.stops && s == flow->pass.end - 1) {
            break;
        }
        if (!stage->needs.passes_through) {
            HcBlock out = hc_flow_output(flow, slot, s, span);
            HC_OR_RETURN(stage->kind->process(stage, flow->work, &current, &out, slot->scratch, err));
            current = out;
        }
    }
    HC_OR_RETURN(hc_wait(flow->work, err));
    hc_view_release(flow->chain->source->view, line, 1);
    return HC_OK;
}

static HcStatus open_probe(HcFlow *flow, Probe *probe, HcError *err) {
    int32_t bands = 1;
    int64_t rows = 1 + 2 * (int64_t)flow->pass.halo[0];
    size_t raw = hc_view_bytes(flow->chain->source->view, rows);
    for (int32_t s = 0; s < flow->pass.end; s++) {
        bands = flow->chain->stages[s].out.bands > bands ? flow->chain->stages[s].out.bands : bands;
    }
    size_t samples = (size_t)flow->chain->stages[0].out.samples;
    if (raw > 0) {
        HC_OR_RETURN(hc_flow_host_memory(flow, raw, "a sample of the scene", &probe->raw, err));
    }
    HC_OR_RETURN(hc_flow_host_memory(flow, samples * ((size_t)bands * sizeof(float) + 1),
                                     "a sample of the scene", &probe->line, err));
    if (flow->uploads != NULL) {
        HC_OR_RETURN(hc_alloc(flow->compute, HC_MEMORY_DEVICE, raw, &probe->device, err));
    }
    return HC_OK;
}

static HcStatus sample_pairs(HcFlow *flow, const Probe *probe, HcError *err) {
    int64_t pairs = hc_min64(HC_NEIGHBOUR_PAIRS, flow->chain->stages[0].out.lines / 2);
    for (int64_t k = 0; k < pairs; k++) {
        int64_t line = k * (flow->chain->stages[0].out.lines - 2) / hc_max64(1, pairs - 1);
        HC_OR_RETURN(sample_line(flow, line, probe, true, err));
        HC_OR_RETURN(sample_line(flow, line + 1, probe, true, err));
    }
    return HC_OK;
}

HcStatus hc_flow_sample(HcFlow *flow, HcError *err) {
    HcStatus status = HC_OK;
    Probe probe = {0};
    const HcPass pass = flow->pass;
    int64_t lines = flow->chain->stages[0].out.lines;
    bool compares = any_wants(flow, wants_neighbours);
    if (!compares && !any_wants(flow, wants_sample)) {
        return HC_OK;
    }
    hc_pass_halos(flow->chain, false, &flow->pass); /* nothing observes the lines */
    HC_TRY(open_probe(flow, &probe, err));
    if (compares) {
        HC_TRY(sample_pairs(flow, &probe, err));
    }
    for (int64_t count = SAMPLE_LINES; any_wants(flow, wants_sample); count *= 4) {
        int64_t all = count < lines ? count : lines;
        for (int64_t k = 0; k < all; k++) {
            HC_TRY(sample_line(flow, (2 * k + 1) * lines / (2 * all), &probe, false, err));
        }
        if (all == lines) {
            break;
        }
    }
done:
    flow->pass = pass;
    hc_memory_release(flow->compute, &probe.raw);
    hc_memory_release(flow->compute, &probe.line);
    hc_memory_release(flow->compute, &probe.device);
    return status;
}
