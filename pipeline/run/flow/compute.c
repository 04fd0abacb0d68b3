/* The computing thread of a run: takes raw blocks, decodes them, runs the stages, and hands parcels to
 * the writer. One thread computes, so that stages need no locks; threads within an operation are those of
 * the backend. */
#include "core/operation/image/gather.h"
#include "core/operation/image/masked.h"
#include "core/operation/image/store.h"
#include "core/operation/gram/gram_raw.h"
#include "core/system/clock.h"
#include "pipeline/run/flow/flow.h"
#include "pipeline/statistics/sums.h"

HcBlock hc_flow_output(const HcFlow *flow, const HcSlot *slot, int32_t place, HcSpan span) {
    const HcScene *scene = &flow->chain->stages[place].out;
    HcBlock out = {
        .line0 = span.line0, .lines = span.lines, .samples = (int32_t)scene->samples, .bands = scene->bands};
    hc_flow_halo(flow, span, flow->pass.halo[place], &out.above, &out.below);
    out.data = slot->output[place];
    out.mask = (uint8_t *)slot->output[place] + hc_block_values(&out) * sizeof(float);
    return out;
}

/* Takes a raw block from host memory to its place on the device. */
static HcStatus upload_raw(HcFlow *flow, int64_t block, HcRaw *raw, HcError *err) {
    const HcRawSlot *source = &flow->raw[block % flow->layout.raw_slots];
    const char *host = source->buffer.data;
    *raw = source->raw;
    if (flow->uploads == NULL) {
        return HC_OK;
    }
    char *to = hc_flow_place(flow, block);
    HC_OR_RETURN(hc_upload(flow->uploads, host, to, source->bytes, err));
    HC_OR_RETURN(hc_follow(flow->work, flow->uploads, err));
    hc_flow_move(raw, host, to);
    return HC_OK;
}

/* The raw bytes of a block where decode can work on them: still there from an earlier pass, there in pieces,
 * or on their way. */
static HcStatus bring_raw(HcFlow *flow, int64_t block, HcRaw *raw, HcError *err) {
    bool stays = block < flow->layout.kept_blocks;
    if (stays && flow->kept_raw[block].data != NULL) {
        *raw = flow->kept_raw[block];
        return HC_OK;
    }
    if (flow->layout.straight) {
        int32_t lines = 0;
        int64_t line0 = hc_flow_raw_lines(flow, block, &lines);
        hc_view_describe(flow->chain->source->view, line0, lines, hc_flow_place(flow, block), raw);
    } else {
        HC_OR_RETURN(upload_raw(flow, block, raw, err));
    }
    if (stays) {
        flow->kept_raw[block] = *raw;
    }
    return HC_OK;
}

static HcStatus decode_block(HcFlow *flow, int64_t block, const HcBlock *out, HcError *err) {
    HcRaw raw;
    HC_OR_RETURN(bring_raw(flow, block, &raw, err));
    double start = hc_now();
    HC_OR_RETURN(hc_decode(flow->work, &raw, &flow->chain->source->decode, out, err));
    flow->report->seconds_decode += hc_now() - start;
    return HC_OK;
}

/* Whether the stages of the pass only sum what the source hands out: then no block is made. */
static bool only_sums(const HcFlow *flow) {
    int32_t count = 0;
    if (flow->chain->plain) {
        return false;
    }
    for (int32_t s = 1; s < flow->pass.end; s++) {
        const HcStage *stage = &flow->chain->stages[s];
        bool last = flow->pass.stops && s == flow->pass.end - 1;
        bool observes = hc_pass_observes(&flow->pass, stage);
        int32_t sums = stage->needs.sums.count + (stage->kind->rare.sums != NULL ? HC_STAGE_SUMS_MAX : 0);
        if ((observes && (sums == 0 || stage->needs.selects || stage->round > 0)) ||
            (!last && !stage->needs.passes_through) || (stage->needs.consumes && !flow->pass.stops)) {
            return false;
        }
        count += observes ? sums : 0;
    }
    return count > 0 && count <= HC_GRAM_PARTS_MAX;
}

/* Adds the raw bytes of a block to the sums of the pass. */
static HcStatus sum_block(HcFlow *flow, const HcSlot *slot, int64_t block, HcError *err) {
    HcGramPart parts[HC_GRAM_PARTS_MAX];
    int32_t count = 0;
    HcStage *last = NULL;
    HcRaw raw;
    HcBlock shape = hc_flow_output(flow, slot, 0, hc_flow_span(flow, block));
    HC_OR_RETURN(bring_raw(flow, block, &raw, err));
    for (int32_t s = 1; s < flow->pass.end; s++) {
        HcStage *stage = &flow->chain->stages[s];
        if (hc_pass_observes(&flow->pass, stage)) {
            HC_OR_RETURN(hc_scene_sums_parts(stage, parts, &count, err));
            last = stage;
        }
    }
    double start = hc_now();
    HC_OR_RETURN(hc_gram_raw(flow->work, &raw, &flow->chain->source->decode, &shape, parts, count, err));
    last->seconds_observe += hc_now() - start;
    return HC_OK;
}

/* Queues the copy of the wanted lines: at once where all are wanted. */
static HcStatus copy_lines(const HcSlot *slot, const HcBlock *from, int32_t every, const HcBlock *to,
                           HcError *err) {
    int64_t step = every > 1 ? every : 1;
    int32_t copies = step > 1 ? to->lines : 1;
    size_t pixels = (size_t)(step > 1 ? 1 : to->lines) * (size_t)to->samples;
    size_t values = pixels * (size_t)to->bands;
    for (int32_t k = 0; k < copies; k++) {
        size_t row = (size_t)(from->above + to->line0 - from->line0 + k * step);
        size_t at = row * (size_t)from->samples;
        HC_OR_RETURN(hc_download(slot->queue, from->data + at * (size_t)from->bands,
                                 to->data + (size_t)k * values, values * sizeof(float), err));
        HC_OR_RETURN(hc_download(slot->queue, from->mask + at, to->mask + (size_t)k * pixels, pixels, err));
    }
    return HC_OK;
}

/* The lines and bands of a block that a sink wants, one behind the other on the device. */
static HcStatus pick_bands(const HcFlow *flow, const HcSlot *slot, const HcStage *sink, const HcBlock *from,
                           HcBlock *to, HcError *err) {
    const HcNeeds *needs = &sink->needs;
    const int32_t *index = flow->picked[sink->place].data;
    int64_t step = needs->pick.every > 1 ? needs->pick.every : 1;
    *to = (HcBlock){.line0 = hc_wanted_line(needs, from->line0),
                    .lines = hc_wanted_lines(needs, from->line0, from->lines),
                    .samples = from->samples,
                    .bands = needs->pick.band_count,
                    .data = slot->output[sink->place]};
    size_t values = (size_t)to->samples * (size_t)to->bands;
    to->mask = (uint8_t *)(to->data + (size_t)to->lines * values);
    if (step == 1) {
        return hc_gather(flow->work, from, index, to, err);
    }
    HcBlock line = *to;
    line.lines = 1;
    for (int32_t k = 0; k < to->lines; k++) {
        HC_OR_RETURN(hc_gather(flow->work, from, index, &line, err));
        line.line0 += step;
        line.data += values;
        line.mask += to->samples;
    }
    return HC_OK;
}

/* Copies the interior lines of a block that a sink wants. */
static HcStatus send_to_sink(HcFlow *flow, HcSlot *slot, HcStage *sink, const HcBlock *block, HcError *err) {
    bool picked = hc_picks_bands(sink);
    int32_t lines = picked ? block->lines : hc_wanted_lines(&sink->needs, block->line0, block->lines);
    HcParcel *parcel = hc_flow_take_parcel(flow, sink);
    if (parcel == NULL) {
        return flow->error.status; /* another thread failed; its message is the one that counts */
    }
    parcel->next = slot->parcels;
    slot->parcels = parcel;
    HcBlock *host = &parcel->block;
    *host = *block;
    host->line0 = hc_wanted_line(&sink->needs, block->line0); /* of picked bands it is the first one */
    host->lines = lines;
    host->above = host->below = 0;
    host->data = parcel->buffer.data;
    if (sink->needs.pick.stored != NULL && !flow->info.shared_memory) {
        host->mask = NULL;
        return hc_store(slot->queue, block, sink->needs.pick.stored, host->data, err);
    }
    host->mask = (uint8_t *)parcel->buffer.data + hc_block_values(host) * sizeof(float);
    return copy_lines(slot, block, picked ? 1 : sink->needs.pick.every, host, err);
}

/* What the sinks of the pass get of one block. */
typedef struct Sent {
    int32_t count;
    HcStage *sink[HC_STAGES_MAX];
    HcBlock block[HC_STAGES_MAX];
} Sent;

static HcStatus add_sent(const HcFlow *flow, const HcSlot *slot, HcStage *sink, const HcBlock *block,
                         Sent *sent, HcError *err) {
    if (hc_wanted_lines(&sink->needs, block->line0, block->lines) == 0) {
        return HC_OK;
    }
    HcBlock *to = &sent->block[sent->count];
    sent->sink[sent->count++] = sink;
    if (hc_picks_bands(sink)) {
        return pick_bands(flow, slot, sink, block, to, err);
    }
    *to = *block;
    return HC_OK;
}

/* Takes one block through the stages of the pass. */
static HcStatus compute_block(HcFlow *flow, const HcSlot *slot, int64_t block, Sent *sent, HcError *err) {
    HcSpan span = hc_flow_span(flow, block);
    if (only_sums(flow)) {
        return sum_block(flow, slot, block, err);
    }
    HcBlock current = hc_flow_output(flow, slot, 0, span);
    HC_OR_RETURN(decode_block(flow, block, &current, err));
    for (int32_t s = 1; s < flow->pass.end; s++) {
        HcStage *stage = &flow->chain->stages[s];
        double start = hc_now();
        if (hc_pass_observes(&flow->pass, stage)) {
            HC_OR_RETURN(stage->round == 0 ? hc_scene_sums_observe(stage, flow->work, &current, err) : HC_OK);
            HC_OR_RETURN(stage->kind->observe != NULL ? stage->kind->observe(stage, flow->work, &current, err)
                                                      : HC_OK);
            stage->seconds_observe += hc_now() - start;
            start = hc_now();
        }
        if (flow->pass.stops && s == flow->pass.end - 1) {
            break;
        }
        if (!stage->needs.passes_through) {
            HcBlock out = hc_flow_output(flow, slot, s, span);
            HC_OR_RETURN(stage->kind->process(stage, flow->work, &current, &out, slot->scratch, err));
            if (flow->masked[s].data != NULL) {
                HC_OR_RETURN(hc_masked(flow->work, &current, &out, flow->masked[s].data, err));
            }
            stage->seconds_process += hc_now() - start;
            current = out;
        }
        if (stage->needs.consumes && !flow->pass.stops) {
            HC_OR_RETURN(add_sent(flow, slot, stage, &current, sent, err));
        }
    }
    return HC_OK;
}

/* The copies to the host are behind the block's own work, but not in front of that of the next block. */
static HcStatus submit(HcFlow *flow, HcSlot *slot, int64_t block, HcError *err) {
    Sent sent = {0};
    HC_OR_RETURN(compute_block(flow, slot, block, &sent, err));
    HC_OR_RETURN(hc_follow(slot->queue, flow->work, err));
    for (int32_t k = 0; k < sent.count; k++) {
        HC_OR_RETURN(send_to_sink(flow, slot, sent.sink[k], &sent.block[k], err));
    }
    return HC_OK;
}

static void report_progress(const HcFlow *flow, int64_t lines_done) {
    if (flow->settings->progress == NULL) {
        return;
    }
    const HcRunReport *report = flow->report;
    double bytes = (double)report->share_bytes;
    double share = (double)lines_done / (double)report->lines;
    HcProgress progress = {.pass = flow->pass_number,
                           .passes = report->passes,
                           .what = hc_flow_what(flow),
                           .lines_done = lines_done,
                           .lines = report->lines,
                           .bytes_done = bytes * (flow->pass_number - 1 + share),
                           .bytes = bytes * report->passes,
                           .seconds = hc_now() - flow->started};
    flow->settings->progress(&progress, flow->settings->user);
}

/* Gives up the mapped pages of a block, but for the lines that the next one looks at; and those of the block
 * before once more, since looking at a line brings its neighbours in again. */
static void release_raw(const HcFlow *flow, int64_t block) {
    int64_t line0 = hc_flow_first_line(flow, block > 0 ? block - 1 : 0);
    int64_t end = hc_flow_first_line(flow, block) + hc_flow_lines(flow, block);
    end -= end < flow->chain->stages[0].out.lines ? flow->layout.raw_halo : 0;
    hc_view_release(flow->chain->source->view, line0, (int32_t)(end - line0));
}

/* Waits for the block in flight, hands its parcels to the writer in the order of the steps, frees its raw
 * block. */
static HcStatus drain(HcFlow *flow, HcSlot *slot, HcError *err) {
    if (slot->block < 0) {
        return HC_OK;
    }
    double start = hc_now();
    HC_OR_RETURN(hc_wait(slot->queue, err));
    flow->report->seconds_wait_device += hc_now() - start;
    pthread_mutex_lock(&flow->lock);
    HcParcel *ordered = NULL; /* the slot's list is newest first */
    while (slot->parcels != NULL) {
        HcParcel *parcel = slot->parcels;
        slot->parcels = parcel->next;
        parcel->next = ordered;
        ordered = parcel;
    }
    if (ordered != NULL) {
        if (flow->first_parcel == NULL) {
            flow->first_parcel = ordered;
        } else {
            flow->last_parcel->next = ordered;
        }
        while (ordered->next != NULL) {
            ordered = ordered->next;
        }
        flow->last_parcel = ordered;
    }
    flow->blocks_freed = flow->layout.resident ? 0 : hc_max64(flow->blocks_freed, slot->block + 1);
    pthread_cond_broadcast(&flow->changed);
    pthread_mutex_unlock(&flow->lock);
    release_raw(flow, slot->block);
    report_progress(flow, slot->block * flow->layout.block_lines + hc_flow_lines(flow, slot->block));
    slot->block = -1;
    return HC_OK;
}

HcStatus hc_flow_compute(HcFlow *flow, HcError *err) {
    for (int64_t block = 0; block < flow->layout.blocks; block++) {
        HcSlot *slot = &flow->slots[block % flow->layout.slots];
        HC_OR_RETURN(drain(flow, slot, err));
        if (hc_flag(flow->settings->cancel) != 0) {
            return hc_fail(err, HC_E_CANCELLED, "interrupted after %lld of %lld lines of pass %d",
                           (long long)(block * flow->layout.block_lines), (long long)flow->report->lines,
                           flow->pass_number);
        }
        if (hc_ranks_broken(flow->settings->ranks)) {
            HC_OR_RETURN(hc_ranks_agree(flow->settings->ranks, HC_OK, err));
        }
        if (!hc_flow_wait_raw(flow, block)) {
            HC_OR_RETURN(flow->error.status);
        }
        slot->block = block;
        HC_OR_RETURN(submit(flow, slot, block, err));
    }
    for (int64_t block = flow->layout.blocks; block < flow->layout.blocks + flow->layout.slots; block++) {
        HC_OR_RETURN(drain(flow, &flow->slots[block % flow->layout.slots], err));
    }
    return HC_OK;
}
