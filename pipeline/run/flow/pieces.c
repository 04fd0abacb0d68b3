/* Blocks that go straight to the device. Each reading thread has memory for two small pieces: it reads one
 * and sends it while the other is on its way. They stay in the processor's cache, where whole blocks in host
 * memory would cross the memory twice more; and no thread waits for the others at the end of a block. */
#include "core/allocate.h"
#include "core/system/clock.h"
#include "pipeline/run/flow/flow.h"

#include <stdlib.h>

static int64_t bytes_of(const HcFlow *flow, int64_t block) {
    int32_t lines = 0;
    (void)hc_flow_raw_lines(flow, block, &lines);
    return (int64_t)hc_view_bytes(flow->chain->source->view, lines);
}

/* Pieces of a block. */
static int32_t pieces_of(const HcFlow *flow, int64_t block) {
    const int64_t piece = (int64_t)flow->layout.piece_bytes;
    return (int32_t)((bytes_of(flow, block) + piece - 1) / piece);
}

/* Waits until the bytes of a piece are there; a block is, once it lacks none. */
static HcStatus arrive(HcFlow *flow, HcHand *hand, int32_t piece, HcError *err) {
    const int64_t block = hand->piece[piece].block;
    if (block < 0) {
        return HC_OK;
    }
    hand->piece[piece].block = -1;
    HC_OR_RETURN(hc_wait(hand->piece[piece].queue, err));
    pthread_mutex_lock(&flow->lock);
    if (--flow->missing[block] == 0 && block == flow->blocks_read) {
        while (flow->blocks_read < flow->layout.blocks && flow->missing[flow->blocks_read] == 0) {
            flow->blocks_read++;
        }
        pthread_cond_broadcast(&flow->changed);
    }
    pthread_mutex_unlock(&flow->lock);
    return HC_OK;
}

static HcStatus arrive_both(HcFlow *flow, HcHand *hand, HcError *err) {
    HcError late = {0};
    HcStatus first = arrive(flow, hand, 0, err);
    HcStatus second = arrive(flow, hand, 1, first == HC_OK ? err : &late);
    return first != HC_OK ? first : second;
}

static bool has_place(const HcFlow *flow, int64_t block) {
    return block < flow->layout.kept_blocks || block - flow->blocks_freed < flow->layout.ring_blocks;
}

/* Waits for the place of a block; *there: false when the run stops. A thread that waits holds nothing back.
 */
static HcStatus wait_for_place(HcFlow *flow, HcHand *hand, int64_t block, bool *there, HcError *err) {
    pthread_mutex_lock(&flow->lock);
    bool waits = !has_place(flow, block);
    pthread_mutex_unlock(&flow->lock);
    if (waits) {
        HC_OR_RETURN(arrive_both(flow, hand, err));
    }
    double start = hc_now();
    pthread_mutex_lock(&flow->lock);
    while (!flow->stop && !has_place(flow, block)) {
        pthread_cond_wait(&flow->changed, &flow->lock);
    }
    *there = !flow->stop;
    pthread_mutex_unlock(&flow->lock);
    hand->waited += hc_now() - start;
    return HC_OK;
}

/* Lines that begin or end in zeros are read once more: these are few (hc_source_passes_bytes). */
static HcStatus look_at_border(HcFlow *flow, int64_t line, HcError *err) {
    HcStatus status = HC_OK;
    HcSource *source = flow->chain->source;
    const int64_t bytes = (int64_t)hc_view_bytes(source->view, 1);
    char *memory = NULL;
    HcRaw raw;
    HC_TRY(hc_new(memory, bytes, "a line", err));
    HC_TRY(hc_view_read_part(source->view, line, 1, 0, bytes, memory, err));
    hc_view_describe(source->view, line, 1, memory, &raw);
    pthread_mutex_lock(&flow->lock);
    hc_source_look(source, &raw, line, 1);
    pthread_mutex_unlock(&flow->lock);
done:
    free(memory);
    return status;
}

static HcStatus send_piece(HcFlow *flow, HcHand *hand, int64_t block, int32_t number, HcError *err) {
    const HcView *view = flow->chain->source->view;
    const HcSpan span = hc_flow_span(flow, block);
    const int64_t at = number * (int64_t)flow->layout.piece_bytes;
    const int64_t bytes = hc_min64(bytes_of(flow, block) - at, (int64_t)flow->layout.piece_bytes);
    int32_t lines = 0;
    const int64_t line0 = hc_flow_raw_lines(flow, block, &lines);
    hand->now ^= 1;
    HC_OR_RETURN(arrive(flow, hand, hand->now, err));
    char *memory = hand->piece[hand->now].memory;
    HC_OR_RETURN(hc_view_read_part(view, line0, lines, at, bytes, memory, err));
    HC_OR_RETURN(
        hc_upload(hand->piece[hand->now].queue, memory, hc_flow_place(flow, block) + at, (size_t)bytes, err));
    hand->piece[hand->now].block = block;
    const int32_t pieces = pieces_of(flow, block);
    for (int64_t l = number; l < span.lines && flow->pass_number == 1; l += pieces) {
        if (hc_source_may_have_border(flow->chain->source, span.line0 + l)) {
            HC_OR_RETURN(look_at_border(flow, span.line0 + l, err));
        }
    }
    return HC_OK;
}

/* The next piece, in the order of the file: what is read at the same time lies side by side. False when there
 * is none left. */
static bool next_piece(HcFlow *flow, int64_t *block, int32_t *number) {
    pthread_mutex_lock(&flow->lock);
    bool there = flow->next_block < flow->layout.blocks;
    *block = flow->next_block;
    *number = flow->next_piece++;
    if (there && flow->next_piece == pieces_of(flow, *block)) {
        flow->next_block++;
        flow->next_piece = 0;
    }
    pthread_mutex_unlock(&flow->lock);
    return there;
}

/* A thread takes pieces while there are any. It leaves with all its own there: others may wait until their
 * block is used. */
static void send_pieces(void *user, int64_t item, int32_t thread) {
    (void)item;
    HcFlow *flow = user;
    HcHand *hand = &flow->hands[thread];
    HcStatus status = HC_OK;
    HcError error = {0};
    bool there = true;
    int64_t block = 0;
    int32_t number = 0;
    while (status == HC_OK && there && next_piece(flow, &block, &number)) {
        status = wait_for_place(flow, hand, block, &there, &error);
        if (status == HC_OK && there) {
            status = send_piece(flow, hand, block, number, &error);
        }
    }
    if (status != HC_OK) {
        hc_flow_fail(flow, &error);
    }
    if (arrive_both(flow, hand, &error) != HC_OK) { /* after a failure, too: the memory is given back then */
        hc_flow_fail(flow, &error);
    }
}

void *hc_flow_read_pieces(void *argument) {
    HcFlow *flow = argument;
    double waited = 0;
    double start = hc_now();
    for (int64_t block = flow->blocks_read; block < flow->layout.blocks; block++) {
        flow->missing[block] = pieces_of(flow, block);
    }
    flow->next_block = flow->blocks_read;
    flow->next_piece = 0;
    hc_team_run(flow->team, flow->hand_count, send_pieces, flow);
    for (int32_t h = 0; h < flow->hand_count; h++) {
        waited += flow->hands[h].waited / flow->hand_count;
        flow->hands[h].waited = 0;
    }
    pthread_mutex_lock(&flow->lock);
    flow->report->seconds_read += hc_now() - start - waited;
    pthread_mutex_unlock(&flow->lock);
    return NULL;
}
