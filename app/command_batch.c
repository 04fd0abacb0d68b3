/* batch: one chain over many scenes. */
#include "app/batch/batch.h"
#include "app/usage/usage.h"
#include "core/allocate.h"
#include "core/system/clock.h"
#include "io/file.h"
#include "core/texts.h"

#include <stdlib.h>

void hc_describe_batch(HcUsage *usage) {
    hc_text_add(&usage->forms,
                "hcube batch STEP ! STEP ... --scenes LIST|GLOB|DIR --output PATTERN [OPTION...]\n"
                "hcube batch 'STEP ! STEP ...' --scenes LIST|GLOB|DIR --output PATTERN [OPTION...]\n"
                "hcube batch chain.hcube --scenes LIST|GLOB|DIR --output PATTERN [OPTION...]\n");
    hc_text_add(&usage->about,
                "Give the steps between reading and writing. You may start with read and end with write to "
                "set their options. Leave out the file names: --scenes and --output supply them. {stem}, "
                "{name}, {dir}, {parent}, {folder} and {index} are filled for each scene, in the output and "
                "in the chain. Complete outputs are skipped: repeat the command to do the rest.\n");
    hc_text_add(&usage->examples,
                "hcube batch mnf --components 20 --scenes archive --output 'out/{stem}_mnf.tif'\n");
    hc_usage_add(usage, "Options", hc_batch_own_options);
    hc_usage_add(usage, "Options of every run", hc_batch_common_options());
}

/* One model for all scenes, and a word on it. */
static HcStatus pool_scenes(HcBatch *batch, HcBatchTotals *totals, int32_t *left_out, int32_t *failed,
                            HcError *err) {
    HcBatchTotals sums = {.start = totals->start};
    HC_OR_RETURN(hc_batch_pool(batch, &sums, left_out, err));
    totals->device_noted = sums.device_noted;
    *failed = sums.failed;
    if (hc_ranks_number(hc_app_ranks()) == 0) {
        hc_batch_report_pool(batch, &sums, *left_out);
    }
    return HC_OK;
}

/* Notes on the words of the chain, once for all scenes. */
static HcStatus report_words(const HcBatch *batch, HcError *err) {
    HcChain *chain = NULL;
    if (batch->params.common.quiet || hc_ranks_number(hc_app_ranks()) > 0) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_batch_chain(batch, 0, &chain, err));
    for (int32_t n = 0; n < chain->note_count; n++) {
        hc_say("note: %s", chain->notes[n]);
    }
    hc_chain_free(chain);
    return HC_OK;
}

/* What was found and is no scene of this batch. */
static void report_left_out(const HcBatch *batch) {
    if (batch->params.common.quiet) {
        return;
    }
    if (batch->left_out > 0) {
        hc_say("note: %d outputs among the scenes are left out", batch->left_out);
    }
    if (batch->passed.recipes > 0) {
        bool one = batch->passed.recipes == 1;
        hc_say("note: %d file%s that take%s pixels from elsewhere (.vrt and the like) left out: a list or a "
               "pattern like '*.vrt' takes them",
               batch->passed.recipes, one ? "" : "s", one ? "s" : "");
    }
    if (batch->passed.maps > 0) {
        hc_say("note: %d file%s with one band of classes or a mask left out: a list or a pattern of maps "
               "alone takes them",
               batch->passed.maps, batch->passed.maps == 1 ? "" : "s");
    }
    if (batch->passed.parts > 0) {
        hc_say(
            "note: %d file%s left out that belong%s to a scene: bands of a product, or references of a line "
            "scanner",
            batch->passed.parts, batch->passed.parts == 1 ? "" : "s", batch->passed.parts == 1 ? "s" : "");
    }
    if (batch->stac.left_out > 0) {
        hc_say("note: %d STAC item%s left out by --filter", batch->stac.left_out,
               batch->stac.left_out == 1 ? "" : "s");
    }
    if (batch->excluded > 0) {
        hc_say("note: %d scene%s left out by --exclude", batch->excluded, batch->excluded == 1 ? "" : "s");
    }
    if (batch->unused_pattern != NULL) {
        hc_say("note: --exclude %s leaves out no scene", batch->unused_pattern);
    }
}

static HcStatus report_status(HcBatch *batch, HcError *err) {
    HcStatus status = HC_OK;
    hc_file_names_begin();
    if (batch->params.pool != NULL) {
        HC_TRY(hc_batch_pool_apply(batch, err));
    }
    if (hc_batch_sums_up(batch)) {
        HC_TRY(hc_batch_write_summary(batch, NULL, err));
    }
    status = hc_batch_status(batch, err);
done:
    hc_file_names_end();
    return status;
}

static void free_failures(const HcBatch *batch, HcBatchTotals *totals) {
    hc_free_texts(totals->failures, batch->scene_count);
    totals->failures = NULL;
}

HcStatus hc_command_batch(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    HcBatch batch = {0};
    HcBatchTotals totals = {.start = hc_now()};
    int32_t left_out = 0;
    int32_t not_summed = 0; /* now */
    HC_TRY(hc_batch_read(&batch, word_count, words, err));
    report_left_out(&batch);
    HC_TRY(report_words(&batch, err));
    if (hc_batch_sums_up(&batch) && hc_ranks_number(hc_app_ranks()) == 0) {
        HC_TRY(hc_batch_check_summary(&batch, err));
        HC_TRY(hc_new(totals.failures, batch.scene_count, "the summary of the batch", err));
    }
    if (batch.params.status) {
        HC_TRY(hc_ranks_number(hc_app_ranks()) == 0 ? report_status(&batch, err) : HC_OK);
        goto done;
    }
    hc_file_flush_all(true);
    HC_TRY(hc_batch_check_collection(&batch, err));
    if (batch.params.pool != NULL) {
        HC_TRY(pool_scenes(&batch, &totals, &left_out, &not_summed, err));
    }
    HC_TRY(hc_batch_write_collection(&batch, err));
    status = hc_batch_run(&batch, &totals, err);
    if (hc_ranks_number(hc_app_ranks()) > 0) {
        HC_TRY(status);
        goto done; /* the first rank speaks for all */
    }
    bool begun = totals.done + totals.skipped + totals.failed + totals.failed_before + totals.elsewhere > 0;
    if (begun || status == HC_OK) {
        hc_batch_summary(&batch, &totals);
    }
    if (begun && hc_batch_sums_up(&batch) && status != HC_E_CANCELLED) {
        HcStatus written = hc_batch_write_summary(&batch, totals.failures, err);
        status = status != HC_OK ? status : written;
    }
    if (status != HC_E_CANCELLED) {
        HcError why = {0};
        HcStatus written = hc_batch_write_collection(&batch, &why);
        status = status != HC_OK || written == HC_OK ? status : hc_fail(err, written, "%s", why.text);
    }
    HC_TRY(status);
    if (totals.failed > 0) {
        HC_TRY(hc_fail(err, HC_E_SCENES, "batch: %d of %d scenes failed",
                       totals.failed + totals.failed_before, batch.scene_count));
    }
    if (left_out > totals.failed_before || not_summed > 0) {
        HC_TRY(hc_fail(err, HC_E_SCENES, "batch: %d of %d scenes are not in the model", left_out,
                       batch.scene_count));
    }
    if (totals.failed_before > 0 && batch.params.common.quiet) {
        status = HC_E_BEFORE; /* said by the run in which they failed */
    } else if (totals.failed_before > 0) {
        HC_TRY(hc_fail(err, HC_E_BEFORE, "batch: %d of %d scenes failed before, none now",
                       totals.failed_before, batch.scene_count));
    }
done:
    free_failures(&batch, &totals);
    hc_batch_clear(&batch);
    return status;
}
