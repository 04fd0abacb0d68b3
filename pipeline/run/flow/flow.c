/* What the reading and the writing thread do. One lock and one condition guard all counters of blocks, since
 * threads wait for each other only a few times a block. The first failure stops all, and no thread ends
 * another. */
#include "pipeline/run/flow/flow.h"
#include "core/system/clock.h"
#include "pipeline/memory.h"

const char *hc_flow_what(const HcFlow *flow) {
    return flow->pass.stops ? flow->chain->stages[flow->pass.end - 1].kind->name : "writing";
}

void hc_flow_fail(HcFlow *flow, const HcError *error) {
    pthread_mutex_lock(&flow->lock);
    if (flow->error.status == HC_OK) {
        flow->error = *error;
    }
    flow->stop = true;
    pthread_cond_broadcast(&flow->changed);
    pthread_mutex_unlock(&flow->lock);
}

int64_t hc_flow_first_line(const HcFlow *flow, int64_t block) {
    return flow->layout.limits.first_line +
           block * flow->layout.block_lines * (int64_t)flow->layout.limits.every;
}

int32_t hc_flow_lines(const HcFlow *flow, int64_t block) {
    int64_t lines = flow->layout.limits.end_line - hc_flow_first_line(flow, block);
    return (int32_t)(lines < flow->layout.block_lines ? lines : flow->layout.block_lines);
}

HcSpan hc_flow_span(const HcFlow *flow, int64_t block) {
    return (HcSpan){hc_flow_first_line(flow, block), hc_flow_lines(flow, block)};
}

void hc_flow_halo(const HcFlow *flow, HcSpan span, int32_t halo, int32_t *above, int32_t *below) {
    int64_t rest = flow->chain->stages[0].out.lines - span.line0 - span.lines;
    *above = (int32_t)(span.line0 < halo ? span.line0 : halo);
    *below = (int32_t)(rest < halo ? rest : halo);
}

char *hc_flow_place(const HcFlow *flow, int64_t block) {
    const HcLayout *layout = &flow->layout;
    const size_t bytes = flow->device.raw_block;
    return block < layout->kept_blocks ? (char *)flow->kept.data + (size_t)block * bytes
           : layout->straight ? (char *)flow->ring.data + (size_t)(block % layout->ring_blocks) * bytes
                              : flow->slots[block % layout->slots].memory.data;
}

void hc_flow_move(HcRaw *raw, const char *host, char *to) {
    raw->data = to + ((const char *)raw->data - host);
    if (raw->user_mask != NULL) {
        raw->user_mask = (uint8_t *)to + ((const char *)raw->user_mask - host);
    }
}

/* ---- reading ---- */

int64_t hc_flow_raw_lines(const HcFlow *flow, int64_t block, int32_t *lines) {
    int32_t above = 0;
    int32_t below = 0;
    hc_flow_halo(flow, hc_flow_span(flow, block), flow->layout.raw_halo, &above, &below);
    *lines = above + hc_flow_lines(flow, block) + below;
    return hc_flow_first_line(flow, block) - above;
}

static HcStatus read_block(HcFlow *flow, int64_t block, HcError *err) {
    HcRawSlot *slot = &flow->raw[block % flow->layout.raw_slots];
    HcView *view = flow->chain->source->view;
    int32_t rows = 0;
    int64_t line0 = hc_flow_raw_lines(flow, block, &rows);
    size_t bytes = hc_view_bytes(view, rows);
    if (bytes > slot->buffer.bytes) {
        hc_memory_release(flow->compute, &slot->buffer);
        HC_OR_RETURN(hc_flow_host_memory(flow, bytes, "a block of the scene", &slot->buffer, err));
    }
    slot->bytes = bytes;
    HC_OR_RETURN(hc_view_read(view, line0, rows, slot->buffer.data, &slot->raw, err));
    if (flow->pass_number == 1) {
        hc_source_look(flow->chain->source, &slot->raw, hc_flow_first_line(flow, block),
                       hc_flow_lines(flow, block));
    }
    return HC_OK;
}

void *hc_flow_read(void *argument) {
    HcFlow *flow = argument;
    HcError error = {0};
    double busy = 0;
    for (int64_t block = flow->blocks_read; block < flow->layout.blocks; block++) {
        pthread_mutex_lock(&flow->lock);
        while (!flow->stop && block - flow->blocks_freed >= flow->layout.raw_slots) {
            pthread_cond_wait(&flow->changed, &flow->lock);
        }
        bool stop = flow->stop;
        pthread_mutex_unlock(&flow->lock);
        if (stop) {
            break;
        }
        double start = hc_now();
        if (read_block(flow, block, &error) != HC_OK) {
            hc_flow_fail(flow, &error);
            break;
        }
        busy += hc_now() - start;
        pthread_mutex_lock(&flow->lock);
        flow->blocks_read = block + 1;
        pthread_cond_broadcast(&flow->changed);
        pthread_mutex_unlock(&flow->lock);
    }
    pthread_mutex_lock(&flow->lock);
    flow->report->seconds_read += busy;
    pthread_mutex_unlock(&flow->lock);
    return NULL;
}

/* ---- writing ---- */

static HcParcel *next_parcel(HcFlow *flow) {
    pthread_mutex_lock(&flow->lock);
    while (!flow->stop && flow->first_parcel == NULL && !flow->all_computed) {
        pthread_cond_wait(&flow->changed, &flow->lock);
    }
    HcParcel *parcel = flow->stop ? NULL : flow->first_parcel;
    if (parcel != NULL) {
        flow->first_parcel = parcel->next;
    }
    pthread_mutex_unlock(&flow->lock);
    return parcel;
}

static void free_parcel(HcFlow *flow, HcParcel *parcel) {
    pthread_mutex_lock(&flow->lock);
    parcel->next = flow->free_parcels;
    flow->free_parcels = parcel;
    pthread_cond_broadcast(&flow->changed);
    pthread_mutex_unlock(&flow->lock);
}

void *hc_flow_write(void *argument) {
    HcFlow *flow = argument;
    HcError error = {0};
    double busy = 0;
    HcParcel *parcel = NULL;
    while ((parcel = next_parcel(flow)) != NULL) {
        double start = hc_now();
        /* Blocks may be waiting here when the last one is computed. */
        if (hc_flag(flow->settings->cancel) != 0) {
            (void)hc_fail(&error, HC_E_CANCELLED, "interrupted while blocks were written");
            hc_flow_fail(flow, &error);
            break;
        }
        if (parcel->sink->kind->consume(parcel->sink, &parcel->block, &error) != HC_OK) {
            hc_flow_fail(flow, &error);
            break;
        }
        double taken = hc_now() - start;
        parcel->sink->seconds_consume += taken;
        busy += taken;
        free_parcel(flow, parcel);
    }
    pthread_mutex_lock(&flow->lock);
    flow->report->seconds_write += busy;
    pthread_mutex_unlock(&flow->lock);
    return NULL;
}

HcParcel *hc_flow_take_parcel(HcFlow *flow, const HcStage *sink) {
    double start = hc_now();
    HcParcel *taken = NULL;
    pthread_mutex_lock(&flow->lock);
    while (!flow->stop && taken == NULL) {
        for (HcParcel **at = &flow->free_parcels; *at != NULL; at = &(*at)->next) {
            if ((*at)->sink == sink) {
                taken = *at;
                *at = taken->next;
                break;
            }
        }
        if (taken == NULL) {
            pthread_cond_wait(&flow->changed, &flow->lock);
        }
    }
    pthread_mutex_unlock(&flow->lock);
    flow->report->seconds_wait_write += hc_now() - start;
    return taken;
}

bool hc_flow_wait_raw(HcFlow *flow, int64_t block) {
    double start = hc_now();
    pthread_mutex_lock(&flow->lock);
    while (!flow->stop && flow->blocks_read <= block) {
        pthread_cond_wait(&flow->changed, &flow->lock);
    }
    bool there = !flow->stop;
    pthread_mutex_unlock(&flow->lock);
    flow->report->seconds_wait_read += hc_now() - start;
    return there;
}
