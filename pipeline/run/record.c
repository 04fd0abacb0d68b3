/* Writes the record of a run beside its outputs: command, inputs with their state, options, results and
 * times. `hcube rerun` and batches decide by it what is complete, so that it is written last. */
#include "pipeline/run/record.h"
#include "core/text.h"
#include "core/operation/image/decode.h"
#include "io/file.h"
#include "pipeline/json/json.h"
#include "pipeline/report/report.h"
#include "pipeline/run/record_files.h"
#include "core/version.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Only what was given or has a default. */
static void put_option(const HcOption *option, const void *params, HcJson *to) {
    const void *at = (const char *)params + option->offset;
    const char *name = option->name;
    if (hc_option_is_unset(option, params)) {
        return;
    }
    switch (option->kind) {
    case HC_OPTION_FLAG:
        hc_json_put_bool(to, name, true);
        break;
    case HC_OPTION_INT:
        hc_json_put_number(to, name, (double)*(const int64_t *)at);
        break;
    case HC_OPTION_REAL:
        hc_json_put_number(to, name, *(const double *)at);
        break;
    case HC_OPTION_SIZE:
        hc_json_put_number(to, name, (double)*(const uint64_t *)at);
        break;
    case HC_OPTION_TEXT:
        hc_json_put_text(to, name, *(const char *const *)at);
        break;
    case HC_OPTION_CHOICE:
        hc_json_put_text(to, name, option->choices[*(const int32_t *)at]);
        break;
    case HC_OPTION_LIST:
        hc_json_put_texts(to, name, ((const HcOptionList *)at)->item, ((const HcOptionList *)at)->count);
        break;
    }
}

static void put_stage(const HcStage *stage, HcJson *to) {
    hc_json_open_object(to, NULL);
    hc_json_put_text(to, "stage", stage->kind->name);
    hc_json_open_object(to, "options");
    HC_EACH_OPTION(option, stage->kind->options) {
        put_option(option, stage->params, to);
    }
    hc_json_close(to);
    hc_json_open_object(to, "result");
    hc_json_put_number(to, "bands", stage->out.bands);
    if (stage->masks != NULL) {
        hc_json_put_number(to, "masked", (double)stage->masked);
    }
    if (stage->kind->report != NULL) {
        stage->kind->report(stage, to);
    }
    hc_json_close(to);
    if (stage->kind->cite != NULL) {
        hc_json_put_text(to, "cite", stage->kind->cite);
    }
    hc_json_open_object(to, "seconds");
    hc_json_put_number(to, "observe", stage->seconds_observe);
    hc_json_put_number(to, "settle", stage->seconds_settle);
    hc_json_put_number(to, "process", stage->seconds_process);
    hc_json_put_number(to, "write", stage->seconds_consume);
    hc_json_close(to);
    hc_json_close(to);
}

static void put_numbers(const HcRunReport *report, HcJson *to) {
    hc_json_open_object(to, "pixels");
    hc_json_put_number(to, "all", (double)report->pixels);
    hc_json_put_number(to, "masked_by_user", (double)report->masked[HC_MASK_USER]);
    hc_json_put_number(to, "masked_nodata", (double)report->masked[HC_MASK_NODATA]);
    hc_json_put_number(to, "masked_nan", (double)report->masked[HC_MASK_NAN]);
    hc_json_close(to);
    hc_json_open_object(to, "blocks");
    hc_json_put_number(to, "count", (double)report->blocks);
    hc_json_put_number(to, "lines", report->block_lines);
    hc_json_put_number(to, "passes", report->passes);
    hc_json_put_bool(to, "resident", report->resident);
    hc_json_put_bool(to, "device_resident", report->device_resident);
    hc_json_put_number(to, "kept_on_device", (double)report->device_blocks);
    hc_json_put_bool(to, "mapped", report->mapped);
    hc_json_close(to);
    hc_json_open_object(to, "memory_bytes");
    hc_json_put_number(to, "planned_host", (double)report->host_bytes);
    hc_json_put_number(to, "planned_device", (double)report->device_bytes);
    hc_json_put_number(to, "peak_resident", (double)report->peak_memory);
    hc_json_close(to);
    hc_json_open_object(to, "seconds");
    hc_json_put_number(to, "all", report->seconds);
    hc_json_put_number(to, "reading", report->seconds_read);
    hc_json_put_number(to, "decoding", report->seconds_decode);
    hc_json_put_number(to, "writing", report->seconds_write);
    hc_json_put_number(to, "waiting_for_reading", report->seconds_wait_read);
    hc_json_put_number(to, "waiting_for_writing", report->seconds_wait_write);
    hc_json_open_array(to, "passes");
    for (int32_t p = 0; p < report->passes_done; p++) {
        const HcPassTimes *pass = &report->pass[p];
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "for", pass->what);
        hc_json_put_number(to, "all", pass->seconds);
        hc_json_put_number(to, "waiting_for_reading", pass->waiting_for_reading);
        hc_json_put_number(to, "waiting_for_writing", pass->waiting_for_writing);
        hc_json_put_number(to, "fixed", pass->fixed);
        hc_json_put_number(to, "reading", pass->reading);
        hc_json_put_number(to, "writing", pass->writing);
        hc_json_put_number(to, "bytes_read", pass->bytes_read);
        hc_json_close(to);
    }
    hc_json_close(to);
    hc_json_close(to);
}

HcStatus hc_record_ranks(const HcChain *chain, const HcCompute *compute, const HcRunSettings *settings,
                         const HcRunReport *report, HcRankReport **out, HcError *err) {
    size_t count = (size_t)hc_ranks_count(settings->ranks);
    HcComputeInfo info;
    *out = NULL;
    if (count == 1) {
        return HC_OK;
    }
    *out = calloc(count, sizeof **out);
    if (*out == NULL) {
        return hc_fail_memory(err, (double)count * sizeof **out, "the record");
    }
    HcRankReport *own = *out + hc_ranks_number(settings->ranks);
    hc_compute_info(compute, &info);
    gethostname(own->host, sizeof own->host - 1);
    snprintf(own->device, sizeof own->device, "%s", info.name);
    own->first_line = chain->first_line;
    own->lines = report->lines;
    own->seconds = report->seconds;
    own->seconds_read = report->seconds_read;
    own->seconds_wait_read = report->seconds_wait_read;
    own->seconds_write = report->seconds_write;
    own->seconds_wait_write = report->seconds_wait_write;
    own->peak_memory = report->peak_memory;
    return hc_ranks_join(settings->ranks, *out, count * sizeof **out, err);
}

static void put_ranks(const HcRankReport *ranks, int32_t count, HcJson *to) {
    hc_json_open_array(to, "ranks");
    for (int32_t r = 0; r < count; r++) {
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "host", ranks[r].host);
        hc_json_put_text(to, "device", ranks[r].device);
        hc_json_put_number(to, "first_line_from_0", (double)ranks[r].first_line);
        hc_json_put_number(to, "lines", (double)ranks[r].lines);
        hc_json_put_number(to, "peak_resident_bytes", (double)ranks[r].peak_memory);
        hc_json_open_object(to, "seconds");
        hc_json_put_number(to, "all", ranks[r].seconds);
        hc_json_put_number(to, "reading", ranks[r].seconds_read);
        hc_json_put_number(to, "waiting_for_reading", ranks[r].seconds_wait_read);
        hc_json_put_number(to, "writing", ranks[r].seconds_write);
        hc_json_put_number(to, "waiting_for_writing", ranks[r].seconds_wait_write);
        hc_json_close(to);
        hc_json_close(to);
    }
    hc_json_close(to);
}

static void put_command(HcJson *record, const HcCommandLine *command) {
    hc_json_put_text(record, "command", command->text);
    if (command->words != NULL) {
        hc_json_put_texts(record, "arguments", command->words, command->word_count);
    }
    if (command->folder != NULL) {
        hc_json_put_text(record, "folder", command->folder);
    }
}

void hc_record_put_head(HcJson *record, const HcCompute *compute, const HcCommandLine *command) {
    HcComputeInfo info;
    char when[32] = "";
    time_t seconds = time(NULL);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) != NULL) {
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    hc_compute_info(compute, &info);
    hc_json_put_kind(record, HC_JSON_RECORD, 1);
    put_command(record, command);
    hc_json_put_text(record, "finished", when);
    hc_json_open_object(record, "device");
    hc_json_put_text(record, "backend", hc_compute_name(compute->ops));
    hc_json_put_text(record, "name", info.name);
    hc_json_put_number(record, "threads", info.threads);
    hc_json_close(record);
}

static HcStatus make_record(const HcChain *chain, const HcCompute *compute, const HcRunSettings *settings,
                            const HcRunReport *report, const HcRankReport *ranks, const cJSON *inputs,
                            HcJson *record, HcError *err) {
    HcText text = {0};
    hc_chain_print(chain, &text);
    char *chain_text = hc_text_take(&text);
    HcCommandLine of_chain = {.text = chain_text};
    hc_record_put_head(record, compute, settings->command != NULL ? settings->command : &of_chain);
    free(chain_text);
    hc_json_open_array(record, "steps");
    for (int32_t s = 0; s < chain->count; s++) {
        if (chain->stages[s].kind->role != HC_ROLE_TAP) {
            put_stage(&chain->stages[s], record);
        }
    }
    hc_json_close(record);
    if (inputs != NULL) {
        hc_json_put(record, "inputs", cJSON_Duplicate(inputs, true));
        HC_OR_RETURN(hc_record_put_outputs(record, err));
    }
    put_numbers(report, record);
    if (ranks != NULL) {
        put_ranks(ranks, hc_ranks_count(settings->ranks), record);
    }
    hc_json_put_texts(record, "notes", (const char *const *)chain->notes, chain->note_count);
    if (settings->describe != NULL) {
        HC_OR_RETURN(settings->describe(record, settings->describe_user, err));
    }
    return hc_json_check(record, "the record", err);
}

static char *record_beside(const char *output) {
    return hc_text_format("%s.hcube.json", output);
}

/* Whether the record of this output tells that all are there. */
static bool decides(const HcRunSettings *settings, const char *output) {
    return settings->decides != NULL && strcmp(settings->decides, output) == 0;
}

static HcStatus retire_record(const char *output, HcError *err) {
    HcStatus status = HC_OK;
    bool ours = false;
    char *path = record_beside(output);
    HC_OR_RETURN(hc_text_made(path, 0, "the record", err));
    HC_TRY(hc_chain_is_record(path, &ours, err));
    HC_TRY(ours ? hc_file_retire(path, err) : HC_OK);
done:
    free(path);
    return status;
}

/* Records of what the outputs replace, or of files that were there before, go before any output gets its
 * name. The record that decides goes first. */
static HcStatus retire_old(const HcChain *chain, const HcRunSettings *settings, HcError *err) {
    for (int first = 1; first >= 0; first--) {
        for (int32_t c = 0; c < chain->output_count; c++) {
            const char *output = chain->outputs[c].path;
            if (decides(settings, output) == (first == 1)) {
                HC_OR_RETURN(retire_record(output, err));
            }
        }
    }
    return HC_OK;
}

/* The record beside an output of a stage. */
static HcStatus write_beside(const HcStage *stage, const char *output, const HcJson *record, HcError *err) {
    HcStatus status = HC_OK;
    char *path = record_beside(output);
    bool ours = false;
    HC_OR_RETURN(hc_text_made(path, 0, "the record", err));
    /* One of ours goes with the output that it described. */
    HC_TRY(hc_chain_is_record(path, &ours, err));
    HC_TRY(hc_json_save_unflushed(record, path, ours || hc_stage_overwrite(stage), err));
done:
    free(path);
    return status;
}

/* Beside each output that has one. The record that decides comes last: a process that is killed between two
 * of them has not finished. */
static HcStatus write_records(const HcChain *chain, const HcRunSettings *settings, const HcJson *record,
                              HcError *err) {
    for (int last = 0; last < 2; last++) {
        for (int32_t s = 0; s < chain->count; s++) {
            const HcStage *stage = &chain->stages[s];
            const char *output = stage->output;
            if (output != NULL && strcmp(output, HC_FILE_STANDARD_OUTPUT) != 0 &&
                decides(settings, output) == (last == 1)) {
                HC_OR_RETURN(write_beside(stage, output, record, err));
            }
        }
    }
    return HC_OK;
}

HcStatus hc_record_write_all(const HcChain *chain, const HcCompute *compute, const HcRunSettings *settings,
                             const HcRunReport *report, const HcRankReport *ranks, const cJSON *inputs,
                             HcError *err) {
    HcStatus status = HC_OK;
    HcJson record;
    HC_OR_RETURN(retire_old(chain, settings, err));
    bool none = settings->record != NULL && strcmp(settings->record, "none") == 0;
    if (none && chain->report == NULL) {
        return HC_OK;
    }
    hc_json_begin(&record);
    HC_TRY(make_record(chain, compute, settings, report, ranks, inputs, &record, err));
    if (chain->report != NULL) {
        HC_TRY(hc_report_write(chain, &record, err));
    }
    if (none) {
        goto done;
    }
    if (settings->record != NULL) {
        HC_TRY(hc_json_save_unflushed(&record, settings->record, chain->overwrite, err));
    } else {
        HC_TRY(write_records(chain, settings, &record, err));
    }
done:
    hc_json_clear(&record);
    return status;
}
