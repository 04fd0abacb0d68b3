/* Passes go on until no stage has to see the scene again. Then ranks bring their parts together, outputs are
 * completed, records are written, and all files get their names in one step. A failure at any place before
 * leaves no output. hc_run_tiles and hc_run_side take the same way without files. */
#include "pipeline/run/run.h"
#include "core/system/clock.h"
#include "io/file.h"
#include "io/process.h"
#include "io/gdal/proj.h"
#include "pipeline/run/flow/flow.h"
#include "pipeline/run/record.h"
#include "pipeline/run/record_files.h"
#include "pipeline/statistics/sums.h"

#include <stdlib.h>
#include <string.h>

/* ---- a pass ---- */

/* Opens the stages of the pass that are not open yet. */
static HcStatus open_stages(HcFlow *flow, HcError *err) {
    for (int32_t s = 0; s < flow->pass.end; s++) {
        HcStage *stage = &flow->chain->stages[s];
        stage->compute = flow->compute;
        if (!stage->is_open) {
            HC_OR_RETURN(hc_run_side(stage, flow->compute, flow->settings, err));
            HC_OR_RETURN(hc_scene_sums_start(stage, err));
        }
        if (!stage->is_open && stage->kind->open != NULL) {
            HC_OR_RETURN(hc_stage_named(stage, stage->kind->open(stage, err), err));
        }
        stage->is_open = true;
    }
    return HC_OK;
}

/* Starts a thread, or says why not. */
static HcStatus start(pthread_t *thread, void *(*body)(void *), HcFlow *flow, HcError *err) {
    if (pthread_create(thread, NULL, body, flow) != 0) {
        return hc_fail(err, HC_E_MEMORY, "a thread could not be started");
    }
    return HC_OK;
}

/* Leaves no work behind, which would use memory that is given back after a failure; the first failure counts.
 */
static HcStatus end_work(HcFlow *flow, HcStatus status, HcError *err) {
    HcError late = {0};
    HcStatus ended = hc_flow_wait_queues(flow, &late);
    return status != HC_OK || ended == HC_OK ? status : hc_fail(err, ended, "%s", late.text);
}

/* Bytes of the scene in the blocks that a pass reads, without lines of context. */
static double bytes_to_read(const HcFlow *flow) {
    int64_t there = hc_min64(flow->blocks_read * flow->layout.block_lines, flow->report->lines);
    return (double)flow->report->share_bytes / (double)flow->report->lines *
           (double)(flow->report->lines - there);
}

/* The three threads of a pass, until all blocks are through or one of them failed. */
static HcStatus run_threads(HcFlow *flow, HcError *err) {
    HcStatus status = HC_OK;
    pthread_t reader;
    pthread_t writer;
    bool reads = flow->blocks_read < flow->layout.blocks;
    bool reader_runs = false;
    bool writer_runs = false;
    if (reads) {
        flow->report->bytes_read += bytes_to_read(flow);
        HC_TRY(start(&reader, flow->layout.straight ? hc_flow_read_pieces : hc_flow_read, flow, err));
        reader_runs = true;
    }
    if (flow->parcel_count > 0) {
        HC_TRY(start(&writer, hc_flow_write, flow, err));
        writer_runs = true;
    }
    HC_TRY(hc_flow_compute(flow, err));
done:
    status = end_work(flow, status, err);
    pthread_mutex_lock(&flow->lock);
    flow->all_computed = true;
    flow->stop = flow->stop || status != HC_OK;
    pthread_cond_broadcast(&flow->changed);
    pthread_mutex_unlock(&flow->lock);
    if (reader_runs) {
        pthread_join(reader, NULL);
    }
    if (writer_runs) {
        double start_time = hc_now();
        pthread_join(writer, NULL);
        flow->report->seconds_wait_write += hc_now() - start_time;
    }
    if (flow->error.status != HC_OK) {
        status = hc_fail(err, flow->error.status, "%s", flow->error.text);
    }
    return status;
}

/* How long the pass took that began at `start`, when its report was `before`; `blocks` of it for the blocks.
 */
static void note_times(HcFlow *flow, const HcRunReport *before, double start, double blocks) {
    HcRunReport *report = flow->report;
    double seconds = hc_now() - start;
    report->pass[report->passes_done++] =
        (HcPassTimes){.what = hc_flow_what(flow),
                      .seconds = seconds,
                      .fixed = seconds - blocks,
                      .waiting_for_reading = report->seconds_wait_read - before->seconds_wait_read,
                      .waiting_for_writing = report->seconds_wait_write - before->seconds_wait_write,
                      .reading = report->seconds_read - before->seconds_read,
                      .writing = report->seconds_write - before->seconds_write,
                      .bytes_read = report->bytes_read - before->bytes_read};
}

static HcStatus settle_stages(HcFlow *flow, HcError *err) {
    for (int32_t s = 0; s < flow->pass.end; s++) {
        HcStage *stage = &flow->chain->stages[s];
        if (hc_pass_observes(&flow->pass, stage)) {
            double settle_time = hc_now();
            HC_OR_RETURN(hc_stage_named(stage, stage->kind->settle(stage, flow->work, err), err));
            hc_scene_sums_end(stage);
            stage->seconds_settle += hc_now() - settle_time;
        }
    }
    return HC_OK;
}

/* One band without values leaves out every pixel where any band counts. The note stands beside the failure of
 * a stage that finds no pixel, too. masked: [HC_MASK_REASONS] of this pass. */
static void note_none_left(HcFlow *flow, const int64_t *masked) {
    HcSource *source = flow->chain->source;
    if (!source->any_counts || source->told_none_left || hc_ranks_count(flow->settings->ranks) > 1) {
        return;
    }
    int64_t lacking = masked[HC_MASK_NODATA] + masked[HC_MASK_NAN];
    if (lacking > 0 && lacking + masked[HC_MASK_USER] == flow->report->pixels) {
        source->told_none_left = true;
        hc_stage_note(
            &flow->chain->stages[0],
            "no pixel is left: %lld of %lld lack a value in some band (--nodata-rule all leaves out "
            "bands that hold no value)",
            (long long)lacking, (long long)flow->report->pixels);
    }
}

static HcStatus run_pass(HcFlow *flow, HcError *err) {
    HcStatus status = HC_OK;
    HcRunReport before = *flow->report;
    double start_time = hc_now();
    double blocks = 0;
    flow->pass_number++;
    flow->all_computed = false;
    /* What stayed in an earlier pass is there. */
    flow->blocks_read =
        flow->layout.resident ? flow->blocks_read : hc_min64(flow->blocks_read, flow->layout.kept_blocks);
    flow->blocks_freed = flow->layout.resident ? 0 : flow->blocks_read;
    if (flow->settings->cold) {
        HC_TRY(hc_view_forget(flow->chain->source->view, err));
    }
    HC_TRY(open_stages(flow, err));
    if (flow->slots == NULL) {
        HC_TRY(hc_flow_take_memory(flow, err));
    }
    HC_TRY(hc_flow_open_pass(flow, err));
    HC_TRY(hc_flow_sample(flow, err));
    HC_TRY(hc_source_reset_counts(flow->chain->source, flow->work, err));
    double begin = hc_now();
    HC_TRY(run_threads(flow, err));
    HC_TRY(hc_flow_count_masked(flow, err));
    blocks = hc_now() - begin;
    HC_TRY(hc_view_unchanged(flow->chain->source->view, err));
    status = settle_stages(flow, err);
    if (status == HC_OK) {
        HC_TRY(hc_source_counts(flow->chain->source, flow->compute, flow->report->masked, err));
    }
    if (status == HC_E_NUMERIC) { /* beside that failure, counts that cannot be had are none */
        HcError ignored = {0};
        int64_t masked[HC_MASK_REASONS] = {0};
        if (hc_source_counts(flow->chain->source, flow->compute, masked, &ignored) == HC_OK) {
            note_none_left(flow, masked);
        }
    } else if (status == HC_OK) {
        note_none_left(flow, flow->report->masked);
    }
    HC_TRY(status);
    note_times(flow, &before, start_time, blocks);
done:
    hc_flow_close_pass(flow);
    return status;
}

/* Marks what the pass observed as settled; only now, since hc_pass_observes asks for it. */
static void mark_settled(HcFlow *flow) {
    for (int32_t s = 0; s < flow->pass.end; s++) {
        HcStage *stage = &flow->chain->stages[s];
        bool observed = hc_pass_observes(&flow->pass, stage);
        stage->round += observed;
        stage->settled = stage->settled || (observed && stage->round >= stage->needs.rounds);
    }
}

/* ---- the run ---- */

static HcStatus run_passes(HcFlow *flow, HcError *err) {
    bool more = true;
    while (more) {
        HC_OR_RETURN(hc_chain_plan(flow->chain, err));
        hc_pass_next(flow->chain, &flow->pass);
        more = flow->pass.stops;
        bool observes = false;
        for (int32_t s = 0; s < flow->pass.end; s++) {
            observes = observes || hc_pass_observes(&flow->pass, &flow->chain->stages[s]);
        }
        if (flow->chain->settles_only && !observes) {
            break;
        }
        HC_OR_RETURN(run_pass(flow, err));
        mark_settled(flow);
    }
    flow->report->passes = flow->report->passes_done; /* a stage may need fewer rounds than planned */
    return HC_OK;
}

static HcStatus begin_stages(HcFlow *flow, HcError *err) {
    for (int32_t s = 0; s < flow->chain->count && hc_ranks_number(flow->settings->ranks) == 0; s++) {
        HcStage *stage = &flow->chain->stages[s];
        if (stage->kind->rare.begin != NULL) {
            HC_OR_RETURN(hc_stage_named(stage, stage->kind->rare.begin(stage, err), err));
        }
    }
    return HC_OK;
}

static HcStatus gather_masked(HcStage *stage, HcRanks *ranks, HcError *err) {
    HC_OR_RETURN(stage->masks != NULL ? hc_ranks_sum(ranks, &stage->masked, 1, err) : HC_OK);
    if (stage->masked > 0) {
        hc_stage_note(stage, "%lld pixels are masked: %s", (long long)stage->masked, stage->masks);
    }
    return HC_OK;
}

/* Brings the parts of all ranks together. */
static HcStatus gather_outputs(HcFlow *flow, HcError *err) {
    for (int32_t s = 0; s < flow->chain->count; s++) {
        HcStage *stage = &flow->chain->stages[s];
        HC_OR_RETURN(gather_masked(stage, flow->settings->ranks, err));
        if (stage->kind->gather != NULL) {
            double start_time = hc_now();
            HC_OR_RETURN(stage->kind->gather(stage, err));
            stage->seconds_consume += hc_now() - start_time;
        }
    }
    return hc_ranks_sum(flow->settings->ranks, flow->report->masked, HC_MASK_REASONS, err);
}

/* Completes all outputs; they get their names when the set is committed. */
static HcStatus complete_outputs(HcFlow *flow, HcError *err) {
    HcPassTimes *last = &flow->report->pass[flow->report->passes_done - 1];
    for (int32_t s = 0; s < flow->chain->count; s++) {
        HcStage *stage = &flow->chain->stages[s];
        if (stage->kind->finish != NULL) {
            double start_time = hc_now();
            HC_OR_RETURN(stage->kind->finish(stage, err));
            stage->seconds_consume += hc_now() - start_time;
            last->seconds += hc_now() - start_time;
        }
    }
    return HC_OK;
}

static void fill_report(HcFlow *flow) {
    flow->report->peak_memory = hc_process_peak_memory();
    flow->report->seconds = hc_now() - flow->started;
}

/* What stages have found, for the user. */
static HcStatus show_results(const HcChain *chain, HcText *to, HcError *err) {
    for (int32_t s = 0; to != NULL && s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        if (stage->kind->rare.show != NULL) {
            stage->kind->rare.show(stage, to);
        }
    }
    return to != NULL && to->failed ? hc_fail_memory(err, (double)to->length, "the results") : HC_OK;
}

/* Outputs and records get their names together, or none of them does. */
static HcStatus finish_outputs(HcFlow *flow, const HcRankReport *ranks, const cJSON *inputs, HcError *err) {
    HcStatus status = HC_OK;
    const uint64_t proj_failures = hc_proj_failures();
    HC_TRY(
        hc_file_begin((const char *const *)flow->chain->use.reads.path, flow->chain->use.reads.count, err));
    HC_TRY(complete_outputs(flow, err));
    fill_report(flow);
    HC_TRY(hc_chain_check_notes(flow->chain, err));
    const HcRunSettings *settings = flow->settings;
    if (settings->trial && settings->inspect == NULL) {
        goto done;
    }
    HC_TRY(hc_record_write_all(flow->chain, flow->compute, settings, flow->report, ranks, inputs, err));
    HC_TRY(settings->inspect != NULL ? settings->inspect(settings->inspect_user, err) : HC_OK);
    if (settings->trial) {
        goto done;
    }
    HC_TRY(show_results(flow->chain, flow->settings->results, err));
    HC_TRY(hc_proj_check(proj_failures, false, err));
    HC_TRY(hc_file_commit(err));
done:
    hc_file_rollback();
    return status;
}

/* Whether a record will be written that says what was read and written. */
static bool lists_files(const HcChain *chain, const HcRunSettings *settings) {
    bool recorded = settings->record == NULL || strcmp(settings->record, "none") != 0;
    bool kept = !settings->trial || settings->inspect != NULL;
    return !chain->settles_only && !settings->no_files && recorded && kept &&
           hc_ranks_number(settings->ranks) == 0;
}

static HcStatus run_chain(HcChain *chain, HcCompute *compute, const HcRunSettings *settings,
                          HcRunReport *report, HcError *err) {
    HcStatus status = HC_OK;
    HcFlow flow = {
        .chain = chain, .compute = compute, .settings = settings, .report = report, .started = hc_now()};
    HcRankReport *ranks = NULL;
    cJSON *inputs = NULL;
    pthread_mutex_init(&flow.lock, NULL);
    pthread_cond_init(&flow.changed, NULL);
    chain->settings = settings;
    HC_TRY(hc_run_layout(chain, compute, settings, &flow.layout, &flow.info, report, err));
    if (!chain->settles_only) {
        HC_TRY(hc_chain_check_files(chain, settings->record, err));
    }
    if (lists_files(chain, settings)) {
        HC_TRY(hc_record_inputs(chain, &inputs, err));
    }
    HC_TRY(chain->settles_only ? HC_OK : begin_stages(&flow, err));
    HC_TRY(run_passes(&flow, err));
    if (!chain->settles_only) {
        HC_TRY(gather_outputs(&flow, err));
        fill_report(&flow);
        HC_TRY(hc_record_ranks(chain, compute, settings, report, &ranks, err));
        hc_flow_give_memory(&flow); /* the ends of files, and a run that verifies this one, have use for it */
        if (hc_ranks_number(settings->ranks) == 0) {
            HC_TRY(finish_outputs(&flow, ranks, inputs, err));
        }
        HC_TRY(hc_ranks_agree(settings->ranks, HC_OK, err));
    }
done:
    chain->settings = NULL;
    fill_report(&flow);
    hc_flow_give_memory(&flow);
    free(ranks);
    cJSON_Delete(inputs);
    pthread_cond_destroy(&flow.changed);
    pthread_mutex_destroy(&flow.lock);
    return status;
}

HcStatus hc_run(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcRunReport *report,
                HcError *err) {
    return run_chain(chain, compute, settings, report, err);
}

/* The last pass, over the lines that the limits name. */
static HcStatus run_tile(HcFlow *flow, HcError *err) {
    HcStatus status = HC_OK;
    flow->pass_number++;
    flow->all_computed = false;
    flow->blocks_freed = flow->blocks_read = 0;
    HC_TRY(hc_flow_open_pass(flow, err));
    HC_TRY(hc_source_reset_counts(flow->chain->source, flow->work, err));
    HC_TRY(run_threads(flow, err));
done:
    hc_flow_close_pass(flow);
    return status;
}

static HcStatus run_tiles(HcFlow *flow, const int64_t *line0, int32_t count, int32_t lines, HcError *err) {
    HC_OR_RETURN(hc_chain_plan(flow->chain, err));
    hc_pass_next(flow->chain, &flow->pass);
    HC_OR_RETURN(open_stages(flow, err));
    if (flow->slots == NULL) {
        HC_OR_RETURN(hc_flow_take_memory(flow, err));
    }
    const int64_t all = flow->chain->stages[0].out.lines;
    for (int32_t t = 0; t < count; t++) {
        int64_t end = line0[t] + lines < all ? line0[t] + lines : all;
        flow->layout.limits.first_line = line0[t];
        flow->layout.limits.end_line = end;
        flow->layout.blocks = (end - line0[t] + flow->layout.block_lines - 1) / flow->layout.block_lines;
        HC_OR_RETURN(run_tile(flow, err));
    }
    return hc_view_unchanged(flow->chain->source->view, err);
}

HcStatus hc_run_tiles(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, const int64_t *line0,
                      int32_t count, int32_t lines, void (*settled)(HcChain *chain, void *user), void *user,
                      HcError *err) {
    HcStatus status = HC_OK;
    HcRunReport report = {0};
    HcRunSettings own = {
        .memory = settings->memory, .cancel = settings->cancel, .shares = settings->shares, .streams = true};
    HcFlow flow = {
        .chain = chain, .compute = compute, .settings = &own, .report = &report, .started = hc_now()};
    pthread_mutex_init(&flow.lock, NULL);
    pthread_cond_init(&flow.changed, NULL);
    chain->settings = &own;
    HC_TRY(hc_run_layout(chain, compute, &own, &flow.layout, &flow.info, &report, err));
    HC_TRY(run_passes(&flow, err));
    settled(chain, user);
    HC_TRY(run_tiles(&flow, line0, count, lines, err));
done:
    chain->settings = NULL;
    hc_flow_give_memory(&flow);
    pthread_cond_destroy(&flow.changed);
    pthread_mutex_destroy(&flow.lock);
    return status;
}

HcStatus hc_run_side(HcStage *stage, HcCompute *compute, const HcRunSettings *settings, HcError *err) {
    HcStatus status = HC_OK;
    HcSideChain side = {0};
    HcChain *chain = NULL;
    HcRunReport report;
    if (stage->kind->rare.side != NULL) {
        stage->kind->rare.side(stage, &side);
    }
    if (side.word_count == 0) {
        return HC_OK;
    }
    /* Progress and records belong to the run that asked. */
    HcRunSettings quiet = settings != NULL ? *settings : (HcRunSettings){0};
    quiet.progress = NULL;
    HC_TRY(hc_chain_parse(&chain, side.words, side.word_count, NULL, err));
    chain->settles_only = true;
    if (side.bands != NULL) {
        HC_TRY(hc_source_use_bands(chain->source, side.bands, side.band_count, err));
    }
    HC_TRY(run_chain(chain, compute, &quiet, &report, err));
    HC_TRY(stage->kind->rare.take_side(stage, chain, err));
done:
    hc_chain_free(chain);
    return status;
}
