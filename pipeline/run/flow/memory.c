/* Allocates the buffers of a run as the layout has planned them, on the host and on the device. A device
 * that has less memory than planned gets smaller blocks instead of failing. */
#include "pipeline/run/flow/flow.h"
#include "core/allocate.h"
#include "pipeline/memory.h"

#include <stdlib.h>

/* ---- for the whole run ---- */

static HcStatus open_queues(HcFlow *flow, HcError *err) {
    HC_OR_RETURN(hc_queue_open(flow->compute, &flow->work, err));
    if (!flow->info.shared_memory) {
        HC_OR_RETURN(hc_queue_open(flow->compute, &flow->uploads, err));
    }
    for (int32_t s = 0; s < flow->info.slots; s++) {
        flow->slots[s].block = -1;
        HC_OR_RETURN(hc_queue_open(flow->compute, &flow->slots[s].queue, err));
    }
    return HC_OK;
}

static void close_queues(HcFlow *flow) {
    hc_queue_close(flow->uploads);
    hc_queue_close(flow->work);
    for (int32_t s = 0; flow->slots != NULL && s < flow->info.slots; s++) {
        hc_queue_close(flow->slots[s].queue);
    }
}

/* Memory of the threads that read pieces, and a queue for each of these. */
static HcStatus open_hands(HcFlow *flow, HcError *err) {
    const HcLayout *layout = &flow->layout;
    if (!layout->straight) {
        return HC_OK;
    }
    flow->team = hc_team_open(layout->limits.readers);
    const int32_t count = hc_team_threads(flow->team);
    HC_OR_RETURN(hc_new(flow->missing, layout->blocks, "blocks", err));
    HC_OR_RETURN(hc_new(flow->hands, count, "pieces of the scene", err));
    flow->hand_count = count;
    HC_OR_RETURN(hc_flow_host_memory(flow, 2 * (size_t)count * layout->piece_bytes, "pieces of the scene",
                                     &flow->pieces, err)); /* in one go: pinned memory is slow to get */
    for (int32_t k = 0; k < 2 * count; k++) {
        flow->hands[k / 2].piece[k % 2].block = -1;
        flow->hands[k / 2].piece[k % 2].memory = (char *)flow->pieces.data + (size_t)k * layout->piece_bytes;
        HC_OR_RETURN(hc_queue_open(flow->compute, &flow->hands[k / 2].piece[k % 2].queue, err));
    }
    return HC_OK;
}

static void close_hands(HcFlow *flow) {
    for (int32_t k = 0; k < 2 * flow->hand_count; k++) {
        hc_queue_close(flow->hands[k / 2].piece[k % 2].queue);
    }
    hc_memory_release(flow->compute, &flow->pieces);
    hc_team_close(flow->team);
    free(flow->hands);
    free(flow->missing);
    flow->team = NULL;
    flow->hands = NULL;
    flow->missing = NULL;
    flow->hand_count = 0;
}

static void release_device(HcFlow *flow) {
    hc_memory_release(flow->compute, &flow->kept);
    hc_memory_release(flow->compute, &flow->ring);
    for (int32_t s = 0; flow->slots != NULL && s < flow->info.slots; s++) {
        hc_memory_release(flow->compute, &flow->slots[s].memory);
    }
}

/* Whether the backend's own memory, which it may take as late as in the last pass, is there too. */
static HcStatus try_reserve(const HcFlow *flow, HcError *err) {
    HcComputeInfo now;
    HcBuffer reserve = {0};
    hc_compute_info(flow->compute, &now);
    if (now.reserve == 0) {
        return HC_OK;
    }
    HcStatus status = hc_alloc(flow->compute, HC_MEMORY_DEVICE, now.reserve, &reserve, err);
    hc_release(flow->compute, &reserve);
    return status;
}

static HcStatus alloc_device(HcFlow *flow, HcError *err) {
    hc_layout_memory(flow->chain, &flow->info, &flow->layout, &flow->device);
    if (flow->device.kept > 0) {
        HC_OR_RETURN(hc_alloc(flow->compute, HC_MEMORY_DEVICE, flow->device.kept, &flow->kept, err));
    }
    if (flow->device.ring > 0) {
        HC_OR_RETURN(hc_alloc(flow->compute, HC_MEMORY_DEVICE, flow->device.ring, &flow->ring, err));
    }
    for (int32_t s = 0; s < flow->layout.slots; s++) {
        HC_OR_RETURN(
            hc_alloc(flow->compute, HC_MEMORY_DEVICE, flow->device.slot, &flow->slots[s].memory, err));
    }
    return try_reserve(flow, err);
}

/* Says what became of the plan. */
static void note_less(HcFlow *flow, const HcLayout *planned, double bytes) {
    const HcLayout *taken = &flow->layout;
    char text[32];
    hc_text_bytes(text, sizeof text, bytes);
    if (taken->block_lines < planned->block_lines) {
        hc_chain_note(flow->chain, "device memory: %s asked for, blocks of %d lines instead of %d taken%s",
                      text, taken->block_lines, planned->block_lines,
                      planned->kept_blocks > 0 ? ", and the scene is not kept there" : "");
    } else if (planned->kept_blocks > taken->kept_blocks) {
        hc_chain_note(flow->chain, "device memory: %s asked for, the scene is not kept there", text);
    }
}

/* Others may have taken what was free when the run was planned: then less has to do. */
static HcStatus fit_device(HcFlow *flow, HcError *err) {
    HcStatus status = HC_OK;
    const HcLayout planned = flow->layout;
    double asked = (double)flow->report->device_bytes;
    char least[32];
    HcError failure = {0};
    while ((status = alloc_device(flow, &failure)) == HC_E_MEMORY && !flow->info.shared_memory) {
        release_device(flow);
        if (!hc_layout_shrink(&flow->layout, flow->chain, &flow->info, flow->report)) {
            return hc_fail(err, HC_E_MEMORY,
                           "the device is out of memory: blocks of %d line%s, the smallest, need %s in all",
                           flow->layout.block_lines, flow->layout.block_lines == 1 ? "" : "s",
                           hc_text_bytes(least, sizeof least, (double)flow->report->device_bytes));
        }
        failure = (HcError){0};
    }
    if (status != HC_OK) {
        return hc_fail(err, status, "%s", failure.text);
    }
    note_less(flow, &planned, asked);
    return HC_OK;
}

HcStatus hc_flow_take_memory(HcFlow *flow, HcError *err) {
    const HcLayout *layout = &flow->layout;
    HC_OR_RETURN(hc_new(flow->slots, flow->info.slots, "blocks", err));
    HC_OR_RETURN(open_queues(flow, err));
    HC_OR_RETURN(fit_device(flow, err));
    HC_OR_RETURN(open_hands(flow, err));
    flow->raw = calloc((size_t)layout->raw_slots, sizeof *flow->raw);
    flow->kept_raw = calloc((size_t)hc_max64(layout->kept_blocks, 1), sizeof *flow->kept_raw);
    if (flow->raw == NULL || flow->kept_raw == NULL) {
        return hc_fail_memory(err, (double)layout->blocks * sizeof *flow->raw, "blocks");
    }
    return HC_OK;
}

void hc_flow_give_memory(HcFlow *flow) {
    close_queues(flow);
    close_hands(flow);
    release_device(flow);
    for (int32_t r = 0; flow->raw != NULL && r < flow->layout.raw_slots; r++) {
        hc_memory_release(flow->compute, &flow->raw[r].buffer);
    }
    free(flow->raw);
    free(flow->kept_raw);
    free(flow->slots);
    flow->raw = NULL;
    flow->kept_raw = NULL;
    flow->slots = NULL;
    flow->work = flow->uploads = NULL;
}

HcStatus hc_flow_wait_queues(HcFlow *flow, HcError *err) {
    HcStatus status = flow->uploads != NULL ? hc_wait(flow->uploads, err) : HC_OK;
    HcStatus next = hc_wait(flow->work, err);
    status = status != HC_OK ? status : next;
    for (int32_t s = 0; s < flow->info.slots; s++) {
        next = hc_wait(flow->slots[s].queue, err);
        status = status != HC_OK ? status : next;
    }
    return status;
}

/* ---- for a pass ---- */

HcStatus hc_flow_host_memory(HcFlow *flow, size_t bytes, const char *what, HcBuffer *out, HcError *err) {
    HcError failure = {0};
    char text[32];
    HcStatus status = hc_alloc(flow->compute, HC_MEMORY_HOST, bytes, out, &failure);
    if (status == HC_E_MEMORY) {
        return hc_fail(
            err, status,
            "the host is out of memory: %s for %s (a smaller --memory or fewer --read-threads need less)",
            hc_text_bytes(text, sizeof text, (double)bytes), what);
    }
    return status != HC_OK ? hc_fail(err, status, "%s", failure.text) : HC_OK;
}

static HcStatus cut_slot(HcFlow *flow, HcSlot *slot, const HcSlotLayout *cut, HcError *err) {
    size_t raw = flow->layout.device_resident || flow->layout.straight ? 0 : flow->device.raw_block;
    if (raw + cut->all > slot->memory.bytes) { /* a fit made a pass larger than planned */
        hc_memory_release(flow->compute, &slot->memory);
        HC_OR_RETURN(hc_alloc(flow->compute, HC_MEMORY_DEVICE, raw + cut->all, &slot->memory, err));
    }
    char *memory = (char *)slot->memory.data + raw;
    for (int32_t s = 0; s < flow->pass.end; s++) {
        slot->output[s] = memory + cut->output[s];
    }
    slot->scratch = memory + cut->scratch;
    slot->block = -1;
    return HC_OK;
}

static HcStatus open_parcels(HcFlow *flow, HcError *err) {
    int32_t each = flow->layout.slots + 2;
    int32_t sinks = 0;
    for (int32_t s = 0; s < flow->pass.end && !flow->pass.stops; s++) {
        sinks += flow->chain->stages[s].needs.consumes;
    }
    if (sinks == 0) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(flow->parcels, sinks * each, "output blocks", err));
    for (int32_t s = 0; s < flow->pass.end; s++) {
        HcStage *stage = &flow->chain->stages[s];
        for (int32_t k = 0; k < each && stage->needs.consumes; k++) {
            HcParcel *parcel = &flow->parcels[flow->parcel_count++];
            parcel->sink = stage;
            parcel->next = flow->free_parcels;
            flow->free_parcels = parcel;
            HC_OR_RETURN(hc_flow_host_memory(flow, hc_consumed_bytes(stage, flow->layout.block_lines),
                                             "an output block", &parcel->buffer, err));
        }
    }
    return HC_OK;
}

HcStatus hc_flow_open_pass(HcFlow *flow, HcError *err) {
    HcSlotLayout cut;
    hc_pass_slot(flow->chain, &flow->pass, flow->layout.block_lines, &cut);
    for (int32_t s = 0; s < flow->layout.slots; s++) {
        HC_OR_RETURN(cut_slot(flow, &flow->slots[s], &cut, err));
    }
    for (int32_t s = 0; s < flow->pass.end && !flow->pass.stops; s++) {
        const HcStage *stage = &flow->chain->stages[s];
        if (hc_picks_bands(stage)) {
            HC_OR_RETURN(hc_memory_upload(flow->compute, stage->needs.pick.bands,
                                          (size_t)stage->needs.pick.band_count * sizeof(int32_t),
                                          &flow->picked[s], err));
        }
        if (stage->masks != NULL) {
            HC_OR_RETURN(hc_memory_zeros(flow->compute, sizeof stage->masked, &flow->masked[s], err));
        }
    }
    return open_parcels(flow, err);
}

HcStatus hc_flow_count_masked(HcFlow *flow, HcError *err) {
    for (int32_t s = 0; s < flow->pass.end; s++) {
        int64_t *to = &flow->chain->stages[s].masked;
        if (flow->masked[s].data != NULL) {
            HC_OR_RETURN(hc_memory_download(flow->compute, &flow->masked[s], to, sizeof *to, err));
        }
    }
    return HC_OK;
}

void hc_flow_close_pass(HcFlow *flow) {
    for (int32_t p = 0; p < flow->parcel_count; p++) {
        hc_memory_release(flow->compute, &flow->parcels[p].buffer);
    }
    for (int32_t s = 0; s < flow->pass.end; s++) {
        hc_memory_release(flow->compute, &flow->picked[s]);
        hc_memory_release(flow->compute, &flow->masked[s]);
    }
    free(flow->parcels);
    flow->parcels = flow->free_parcels = flow->first_parcel = flow->last_parcel = NULL;
    flow->parcel_count = 0;
}
