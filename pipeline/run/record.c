#include "pipeline/run/record.h"
#include "io/file.h"
#include "pipeline/json.h"
#include "core/version.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static bool add_option(const HcOption *option, const void *params, cJSON *to) {
    const void *at = (const char *)params + option->offset;
    switch (option->kind) {
    case HC_OPTION_FLAG:
        return !*(const bool *)at || cJSON_AddTrueToObject(to, option->name) != NULL;
    case HC_OPTION_LEVEL:
        return *(const int32_t *)at == 0 ||
               (*(const int32_t *)at == 1 ? cJSON_AddTrueToObject(to, option->name)
                                          : cJSON_AddStringToObject(to, option->name, option->value)) != NULL;
    case HC_OPTION_INT:
        return *(const int64_t *)at == HC_INT_NOT_GIVEN ||
               cJSON_AddNumberToObject(to, option->name, (double)*(const int64_t *)at) != NULL;
    case HC_OPTION_REAL:
        return isnan(*(const double *)at) ||
               cJSON_AddNumberToObject(to, option->name, *(const double *)at) != NULL;
    case HC_OPTION_SIZE:
        return *(const uint64_t *)at == 0 ||
               cJSON_AddNumberToObject(to, option->name, (double)*(const uint64_t *)at) != NULL;
    case HC_OPTION_TEXT: {
        const char *text = *(const char *const *)at;
        return text == NULL || cJSON_AddStringToObject(to, option->name, text) != NULL;
    }
    case HC_OPTION_CHOICE: {
        int32_t choice = *(const int32_t *)at;
        return choice < 0 || cJSON_AddStringToObject(to, option->name, option->choices[choice]) != NULL;
    }
    case HC_OPTION_LIST: {
        const HcOptionList *list = at;
        cJSON *array = list->count > 0 ? cJSON_AddArrayToObject(to, option->name) : NULL;
        for (int32_t i = 0; array != NULL && i < list->count; i++) {
            cJSON_AddItemToArray(array, cJSON_CreateString(list->item[i]));
        }
        return list->count == 0 || array != NULL;
    }
    }
    return true;
}

HcStatus hc_record_options(const HcStage *stage, cJSON *to, HcError *err) {
    for (const HcOption *option = stage->kind->options; option->name != NULL; option++) {
        if (!add_option(option, stage->params, to)) {
            return hc_fail_memory(err, 0, "the record");
        }
    }
    return HC_OK;
}

static HcStatus add_stage(const HcStage *stage, cJSON *steps, HcError *err) {
    cJSON *step = cJSON_CreateObject();
    cJSON_AddItemToArray(steps, step);
    cJSON_AddStringToObject(step, "stage", stage->kind->name);
    cJSON *options = cJSON_AddObjectToObject(step, "options");
    cJSON *result = cJSON_AddObjectToObject(step, "result");
    cJSON *seconds = cJSON_AddObjectToObject(step, "seconds");
    if (seconds == NULL) {
        return hc_fail_memory(err, 0, "the record");
    }
    HC_OR_RETURN(hc_record_options(stage, options, err));
    cJSON_AddNumberToObject(result, "bands", stage->out.bands);
    if (stage->kind->report != NULL) {
        HC_OR_RETURN(stage->kind->report(stage, result, err));
    }
    if (stage->kind->cite != NULL) {
        cJSON_AddStringToObject(step, "cite", stage->kind->cite);
    }
    cJSON_AddNumberToObject(seconds, "observe", stage->seconds_observe);
    cJSON_AddNumberToObject(seconds, "settle", stage->seconds_settle);
    cJSON_AddNumberToObject(seconds, "process", stage->seconds_process);
    cJSON_AddNumberToObject(seconds, "write", stage->seconds_consume);
    return HC_OK;
}

static void add_numbers(const HcRunReport *report, cJSON *record) {
    cJSON *pixels = cJSON_AddObjectToObject(record, "pixels");
    cJSON_AddNumberToObject(pixels, "all", (double)report->pixels);
    cJSON_AddNumberToObject(pixels, "masked_by_user", (double)report->masked[HC_MASK_USER]);
    cJSON_AddNumberToObject(pixels, "masked_nodata", (double)report->masked[HC_MASK_NODATA]);
    cJSON_AddNumberToObject(pixels, "masked_nan", (double)report->masked[HC_MASK_NAN]);
    cJSON *blocks = cJSON_AddObjectToObject(record, "blocks");
    cJSON_AddNumberToObject(blocks, "count", (double)report->blocks);
    cJSON_AddNumberToObject(blocks, "lines", report->block_lines);
    cJSON_AddNumberToObject(blocks, "passes", report->passes);
    cJSON_AddBoolToObject(blocks, "resident", report->resident);
    cJSON_AddBoolToObject(blocks, "device_resident", report->device_resident);
    cJSON_AddBoolToObject(blocks, "mapped", report->mapped);
    cJSON *memory = cJSON_AddObjectToObject(record, "memory_bytes");
    cJSON_AddNumberToObject(memory, "planned_host", (double)report->host_bytes);
    cJSON_AddNumberToObject(memory, "planned_device", (double)report->device_bytes);
    cJSON_AddNumberToObject(memory, "peak_resident", (double)report->peak_memory);
    cJSON *seconds = cJSON_AddObjectToObject(record, "seconds");
    cJSON_AddNumberToObject(seconds, "all", report->seconds);
    cJSON_AddNumberToObject(seconds, "reading", report->seconds_read);
    cJSON_AddNumberToObject(seconds, "decoding", report->seconds_decode);
    cJSON_AddNumberToObject(seconds, "writing", report->seconds_write);
    cJSON_AddNumberToObject(seconds, "waiting_for_reading", report->seconds_wait_read);
    cJSON_AddNumberToObject(seconds, "waiting_for_writing", report->seconds_wait_write);
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
    compute->ops->info(compute, &info);
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

static void add_ranks(const HcRankReport *ranks, int32_t count, cJSON *record) {
    cJSON *list = cJSON_AddArrayToObject(record, "ranks");
    for (int32_t r = 0; r < count; r++) {
        cJSON *rank = cJSON_CreateObject();
        cJSON_AddItemToArray(list, rank);
        cJSON_AddStringToObject(rank, "host", ranks[r].host);
        cJSON_AddStringToObject(rank, "device", ranks[r].device);
        cJSON_AddNumberToObject(rank, "first_line_from_0", (double)ranks[r].first_line);
        cJSON_AddNumberToObject(rank, "lines", (double)ranks[r].lines);
        cJSON_AddNumberToObject(rank, "peak_resident_bytes", (double)ranks[r].peak_memory);
        cJSON *seconds = cJSON_AddObjectToObject(rank, "seconds");
        cJSON_AddNumberToObject(seconds, "all", ranks[r].seconds);
        cJSON_AddNumberToObject(seconds, "reading", ranks[r].seconds_read);
        cJSON_AddNumberToObject(seconds, "waiting_for_reading", ranks[r].seconds_wait_read);
        cJSON_AddNumberToObject(seconds, "writing", ranks[r].seconds_write);
        cJSON_AddNumberToObject(seconds, "waiting_for_writing", ranks[r].seconds_wait_write);
    }
}

void hc_record_begin(const HcCompute *compute, const char *command, cJSON *record) {
    HcComputeInfo info;
    char when[32] = "";
    time_t seconds = time(NULL);
    struct tm parts;
    if (gmtime_r(&seconds, &parts) != NULL) {
        strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    compute->ops->info(compute, &info);
    cJSON_AddNumberToObject(record, "hcube_record", 1);
    cJSON_AddStringToObject(record, "version", hc_version());
    cJSON_AddStringToObject(record, "command", command);
    cJSON_AddStringToObject(record, "finished", when);
    cJSON *device = cJSON_AddObjectToObject(record, "device");
    cJSON_AddStringToObject(device, "backend", compute->ops->name);
    cJSON_AddStringToObject(device, "name", info.name);
    cJSON_AddNumberToObject(device, "threads", info.threads);
}

static HcStatus make_record(const HcChain *chain, const HcCompute *compute, const HcRunSettings *settings,
                            const HcRunReport *report, const HcRankReport *ranks, cJSON *record,
                            HcError *err) {
    HcStatus status = HC_OK;
    HcText command = {0};
    hc_chain_print(chain, &command);
    hc_record_begin(compute, settings->command != NULL ? settings->command : command.data, record);
    cJSON *steps = cJSON_AddArrayToObject(record, "steps");
    for (int32_t s = 0; s < chain->count; s++) {
        HC_TRY(add_stage(&chain->stages[s], steps, err));
    }
    add_numbers(report, record);
    if (ranks != NULL) {
        add_ranks(ranks, hc_ranks_count(settings->ranks), record);
    }
    cJSON *notes = cJSON_AddArrayToObject(record, "notes");
    if (notes == NULL) {
        HC_TRY(hc_fail_memory(err, 0, "the record"));
    }
    for (int32_t n = 0; n < chain->note_count; n++) {
        cJSON_AddItemToArray(notes, cJSON_CreateString(chain->notes[n]));
    }
    if (settings->describe != NULL) {
        HC_TRY(settings->describe(record, settings->describe_user, err));
    }
done:
    hc_text_clear(&command);
    return status;
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
    if (path == NULL) {
        return hc_fail_memory(err, 0, "the record");
    }
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
        for (int32_t c = 0; c < chain->claim_count; c++) {
            const char *output = chain->claims[c].path;
            if (decides(settings, output) == (first == 1)) {
                HC_OR_RETURN(retire_record(output, err));
            }
        }
    }
    return HC_OK;
}

/* The record beside an output of a stage. */
static HcStatus write_beside(const HcStage *stage, const char *output, const cJSON *record, HcError *err) {
    HcStatus status = HC_OK;
    char *path = record_beside(output);
    bool ours = false;
    if (path == NULL) {
        return hc_fail_memory(err, 0, "the record");
    }
    /* One of ours goes with the output that it described. */
    HC_TRY(hc_chain_is_record(path, &ours, err));
    HC_TRY(
        hc_json_write_unflushed(path, record, ours || hc_stage_overwrite(stage) != HC_OVERWRITE_NONE, err));
done:
    free(path);
    return status;
}

/* Beside each output that has one. The record that decides comes last: a process that is killed between two
 * of them has not finished. */
static HcStatus write_records(const HcChain *chain, const HcRunSettings *settings, const cJSON *record,
                              HcError *err) {
    for (int last = 0; last < 2; last++) {
        for (int32_t s = 0; s < chain->count; s++) {
            const HcStage *stage = &chain->stages[s];
            const char *output = stage->kind->output != NULL ? stage->kind->output(stage) : NULL;
            if (output != NULL && decides(settings, output) == (last == 1)) {
                HC_OR_RETURN(write_beside(stage, output, record, err));
            }
        }
    }
    return HC_OK;
}

HcStatus hc_record_write_all(const HcChain *chain, const HcCompute *compute, const HcRunSettings *settings,
                             const HcRunReport *report, const HcRankReport *ranks, HcError *err) {
    HcStatus status = HC_OK;
    cJSON *record = NULL;
    HC_TRY(retire_old(chain, settings, err));
    if (settings->record != NULL && strcmp(settings->record, "none") == 0) {
        return HC_OK;
    }
    record = cJSON_CreateObject();
    if (record == NULL) {
        return hc_fail_memory(err, 0, "the record");
    }
    HC_TRY(make_record(chain, compute, settings, report, ranks, record, err));
    if (settings->record != NULL) {
        HC_TRY(hc_json_write_unflushed(settings->record, record, chain->overwrite != HC_OVERWRITE_NONE, err));
        goto done;
    }
    HC_TRY(write_records(chain, settings, record, err));
done:
    cJSON_Delete(record);
    return status;
}
