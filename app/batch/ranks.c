/* A batch on several ranks: each takes scenes as it becomes free, by the claims that workers without MPI have
 * too. At the end their totals become one. */
#include "app/batch/batch.h"
#include "core/allocate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A scene has one last word: that of the rank that did it, else of one that looked at it. */
static int64_t weight_of(int32_t what) {
    static const int32_t rising[] = {HC_BATCH_ELSEWHERE, HC_BATCH_SKIPPED, HC_BATCH_EARLIER, HC_BATCH_FAILED,
                                     HC_BATCH_DONE};
    for (int64_t w = 0; w < (int64_t)(sizeof rising / sizeof *rising); w++) {
        if (rising[w] == what) {
            return w + 1;
        }
    }
    return 0;
}

void hc_batch_word(HcBatchTotals *totals, const HcBatchEvent *event) {
    int64_t weight = weight_of(event->what);
    if (totals->words != NULL && event->scene >= 0 && weight > totals->words[event->scene]) {
        totals->words[event->scene] = weight;
    }
}

static int32_t count_of(const HcBatch *batch, const HcBatchTotals *totals, int32_t what) {
    int32_t count = 0;
    for (int32_t s = 0; s < batch->scene_count; s++) {
        count += totals->words[s] == weight_of(what);
    }
    return count;
}

/* Adds the parts and the devices of another rank; devices of the same name are different ones. */
static void add_rank(HcBatchTotals *totals, const HcBatchTotals *other, int32_t rank) {
    for (int32_t p = 0; p < other->part_count; p++) {
        int32_t place = 0;
        while (place < totals->part_count && strcmp(totals->parts[place].name, other->parts[p].name) != 0) {
            place++;
        }
        if (place == totals->part_count && place < HC_BATCH_PARTS) {
            totals->parts[totals->part_count++] = other->parts[p];
        } else if (place < totals->part_count) {
            totals->parts[place].seconds += other->parts[p].seconds;
        }
    }
    for (int32_t d = 0; d < other->device_count && totals->device_count < HC_BATCH_PARTS; d++) {
        HcBatchPart *device = &totals->devices[totals->device_count++];
        *device = other->devices[d];
        snprintf(device->name, sizeof device->name, "rank %d %.12s", rank, other->devices[d].name);
    }
    bool began = other->first_began > 0;
    bool first = began && (totals->first_began == 0 || other->first_began < totals->first_began);
    totals->first_began = first ? other->first_began : totals->first_began;
    totals->last_ready = other->last_ready > totals->last_ready ? other->last_ready : totals->last_ready;
    totals->last_ended = other->last_ended > totals->last_ended ? other->last_ended : totals->last_ended;
    totals->workers += other->workers;
    totals->replaced += other->replaced;
    totals->bytes += other->bytes;
    totals->seconds += other->seconds;
    totals->unmasked += other->unmasked;
    totals->undescribed += other->undescribed;
    totals->handed_on += other->handed_on;
}

static HcStatus gather(const HcBatch *batch, HcBatchTotals *totals, HcError *err) {
    HcStatus status = HC_OK;
    HcRanks *ranks = hc_app_ranks();
    size_t count = (size_t)hc_ranks_count(ranks);
    size_t own = (size_t)hc_ranks_number(ranks);
    int64_t *words = totals->words;
    HcBatchTotals *all = NULL;
    HC_OR_RETURN(hc_new(all, count, "the summary of the batch", err));
    memcpy(&all[own], totals, sizeof *all);
    all[own].words = NULL;
    all[own].failures = NULL;
    HC_TRY(hc_ranks_largest(ranks, words, (size_t)batch->scene_count, err));
    HC_TRY(hc_ranks_join(ranks, all, count * sizeof *all, err));
    *totals = (HcBatchTotals){.start = totals->start,
                              .device_noted = totals->device_noted,
                              .failures = totals->failures,
                              .words = words};
    for (size_t r = 0; r < count; r++) {
        add_rank(totals, &all[r], (int32_t)r);
    }
    totals->done = count_of(batch, totals, HC_BATCH_DONE);
    totals->skipped = count_of(batch, totals, HC_BATCH_SKIPPED);
    totals->failed = count_of(batch, totals, HC_BATCH_FAILED);
    totals->failed_before = count_of(batch, totals, HC_BATCH_EARLIER);
    totals->elsewhere = count_of(batch, totals, HC_BATCH_ELSEWHERE);
done:
    free(all);
    return status;
}

HcStatus hc_batch_run(const HcBatch *batch, HcBatchTotals *totals, HcError *err) {
    HcStatus status = HC_OK;
    hc_batch_remove_dead_claims(batch);
    if (hc_app_ranks() == NULL) {
        return hc_batch_jobs(batch, totals, err);
    }
    HC_OR_RETURN(hc_new(totals->words, batch->scene_count, "the list of scenes", err));
    status = hc_batch_jobs(batch, totals, err);
    /* A rank that --max-failures or a full disk has ended waits for the others, which count their own. */
    if (status == HC_OK || status == HC_E_SCENES || status == HC_E_IO) {
        HcStatus gathered = gather(batch, totals, err);
        status = gathered != HC_OK ? gathered : status;
    }
    free(totals->words);
    totals->words = NULL;
    return status;
}
