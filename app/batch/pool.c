/* One model for all scenes of a batch (--pool): every scene is summed, by a batch of its own whose outputs
 * are files of sums; the sums are added in the order of the scenes; the model that is fitted to them then
 * takes the place of the fit in the chain. So whatever a batch can do, the sums can: they resume, and any
 * number of workers and ranks may share them. */
#include "app/batch/pool.h"
#include "core/allocate.h"
#include "core/hash.h"
#include "core/version.h"
#include "io/file.h"
#include "io/identity.h"
#include "pipeline/chain.h"
#include "pipeline/json/json.h"
#include "pipeline/run/pool.h"
#include "pipeline/statistics/sums_file.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A batch of the same scenes and options, for words and a chain of its own. */
static HcBatch sibling_of(const HcBatch *batch) {
    HcBatch out = *batch;
    out.words = out.options = (HcPaths){0};
    out.groups = NULL;
    out.group_count = 0;
    out.chain = out.file = NULL;
    out.lines = NULL;
    return out;
}

/* What sibling_of has added. */
static void clear_sibling(HcBatch *batch) {
    hc_paths_clear(&batch->words);
    free(batch->chain);
    batch->chain = NULL;
}

/* ---- the sums of the scenes ---- */

/* "MODEL.sums/STEM-HASH.json": the same for a scene in whatever list it stands. */
static char *sums_path(const char *model, const char *scene) {
    const char *name = hc_file_base(scene);
    return hc_text_format("%s.sums/%.*s-%016llx.json", model, (int)strcspn(name, "."), name,
                          (unsigned long long)XXH64(scene, strlen(scene), 0));
}

static char *noise_path(const char *sums) {
    return hc_text_format("%s.noise", sums);
}

static HcStatus list_sums(HcBatchPool *pool, const HcBatch *batch, HcError *err) {
    HcBatchScene *scenes = calloc((size_t)batch->scene_count, sizeof *scenes);
    pool->sums.scenes = scenes;
    pool->sums.scene_count = scenes != NULL ? batch->scene_count : 0;
    /* Whoever needs the model needs the sums of all scenes, and helps with them. */
    pool->sums.worker = 0;
    pool->sums.workers = 1;
    for (int32_t s = 0; s < pool->sums.scene_count; s++) {
        scenes[s] = (HcBatchScene){.path = strdup(batch->scenes[s].path),
                                   .output = sums_path(pool->model, batch->scenes[s].path)};
        if (scenes[s].path == NULL || scenes[s].output == NULL) {
            return hc_fail_memory(err, (double)batch->scene_count * sizeof *scenes, "the list of scenes");
        }
    }
    pool->summed = calloc((size_t)batch->scene_count, sizeof *pool->summed);
    return scenes != NULL && pool->summed != NULL
               ? HC_OK
               : hc_fail_memory(err, (double)batch->scene_count * sizeof *scenes, "the list of scenes");
}

/* Between two looks at what another worker does. */
static HcStatus wait_a_moment(HcError *err) {
    const struct timespec moment = {.tv_nsec = 500000000};
    const HcFlag *cancel = hc_catch_signals();
    nanosleep(&moment, NULL);
    return hc_flag(cancel) != 0 ? hc_fail(err, HC_E_CANCELLED, "interrupted") : HC_OK;
}

/* Until no scene is left that another worker has. */
static HcStatus sum_scenes(HcBatchPool *pool, HcBatchTotals *totals, HcError *err) {
    HC_OR_RETURN(hc_batch_run(&pool->sums, totals, err));
    while (totals->elsewhere > 0) {
        HC_OR_RETURN(wait_a_moment(err));
        pool->sums.params.retry_failed = false; /* once is enough */
        *totals = (HcBatchTotals){.start = totals->start, .device_noted = totals->device_noted};
        HC_OR_RETURN(hc_batch_run(&pool->sums, totals, err));
    }
    return HC_OK;
}

static HcStatus find_summed(HcBatchPool *pool, HcError *err) {
    for (int32_t s = 0; s < pool->sums.scene_count; s++) {
        HcBatchState state = HC_BATCH_OPEN;
        char message[768];
        HC_OR_RETURN(hc_batch_look(&pool->sums, s, &state, message, sizeof message, err));
        pool->summed[s] = state == HC_BATCH_COMPLETE;
        pool->summed_count += pool->summed[s];
    }
    if (pool->summed_count == 0) {
        return hc_fail(err, HC_E_SCENES, "batch: --pool %s: not one of %d scenes could be summed",
                       pool->model, pool->sums.scene_count);
    }
    return HC_OK;
}

/* ---- the fit ---- */

static HcStatus add_file(HcSavedSums *to, const char *path, const char *scene, HcError *err) {
    HcStatus status = HC_OK;
    HcSavedSums sums = {0};
    HC_TRY(hc_saved_sums_read(path, &sums, err));
    HC_TRY(hc_saved_sums_add(to, &sums, scene, err));
done:
    hc_saved_sums_clear(&sums);
    return status;
}

static HcStatus add_scene(const HcBatchPool *pool, int32_t scene, HcSavedSums *values, HcSavedSums *noise,
                          HcError *err) {
    HcStatus status = HC_OK;
    const HcBatchScene *at = &pool->sums.scenes[scene];
    char *path = noise_path(at->output);
    HC_OR_RETURN(hc_text_made(path, strlen(at->output), "a path", err));
    HC_TRY(add_file(values, at->output, at->path, err));
    if (pool->sums_noise) {
        HC_TRY(add_file(noise, path, at->path, err));
    }
done:
    free(path);
    return status;
}

static HcStatus open_cpu(const HcBatchPool *pool, HcCompute **compute, HcError *err) {
    HcCommon common = pool->fit.params.common;
    char reason[256];
    common.device = "cpu"; /* one model for the workers on all kinds of devices */
    return hc_backend_open(&common, compute, reason, sizeof reason, err);
}

/* Keeps how the noise was chosen, from what the stage reports. The results of a scene, such as the number of
 * components, are in the records of the scenes. */
static void keep_noise(const HcStage *stage, HcJson *record) {
    static const char *const kept[] = {"pixels", "noise", "noise_pixels", "noise_choice"};
    HcJson report;
    if (stage->kind->report == NULL) {
        return;
    }
    hc_json_begin(&report);
    stage->kind->report(stage, &report);
    record->failed = record->failed || report.failed;
    for (size_t k = 0; k < sizeof kept / sizeof *kept && !report.failed; k++) {
        cJSON *item = cJSON_DetachItemFromObjectCaseSensitive(report.root, kept[k]);
        if (item != NULL) {
            hc_json_put(record, kept[k], item);
        }
    }
    hc_json_clear(&report);
}

/* Adds to the record what the fit found. */
static HcStatus fit_model(const HcBatchPool *pool, HcJson *record, HcError *err) {
    HcStatus status = HC_OK;
    HcSavedSums values = {0};
    HcSavedSums noise = {0};
    HcChain *chain = NULL;
    HcCompute *compute = NULL;
    int32_t first = -1;
    for (int32_t s = 0; s < pool->sums.scene_count; s++) {
        if (pool->summed[s]) {
            first = first < 0 ? s : first;
            HC_TRY(add_scene(pool, s, &values, &noise, err));
        }
    }
    HC_TRY(hc_batch_chain(&pool->fit, first, &chain, err));
    HC_TRY(hc_chain_plan(chain, err));
    HC_TRY(open_cpu(pool, &compute, err));
    int32_t told = chain->note_count;
    HC_TRY(hc_pool_fit(&chain->stages[chain->count - 1], compute, &values.moments,
                       pool->sums_noise ? &noise.moments : NULL, err));
    keep_noise(&chain->stages[chain->count - 1], record);
    for (; told < chain->note_count && !pool->fit.params.common.quiet; told++) {
        hc_say("note: %s", chain->notes[told]);
    }
done:
    hc_chain_free(chain);
    hc_compute_close(compute);
    hc_saved_sums_clear(&values);
    hc_saved_sums_clear(&noise);
    return status;
}

/* ---- the model ---- */

typedef struct Stamp {
    char sums[24], model[24]; /* hashes of the contents */
} Stamp;

static HcStatus add_hash(XXH64_state_t *hash, const char *path, HcError *err) {
    HcIdentity identity;
    HC_OR_RETURN(hc_identity_of(path, true, &identity, err));
    XXH64_update(hash, &identity.hash, sizeof identity.hash);
    return HC_OK;
}

/* The sums that go into the model, in their order, and the model as it lies there. */
static HcStatus take_stamp(const HcBatchPool *pool, Stamp *stamp, HcError *err) {
    HcStatus status = HC_OK;
    XXH64_state_t hash;
    HcIdentity identity;
    XXH64_reset(&hash, 0);
    for (int32_t s = 0; s < pool->sums.scene_count; s++) {
        char *noise = noise_path(pool->sums.scenes[s].output);
        status = noise == NULL      ? hc_fail_memory(err, 0, "a path")
                 : !pool->summed[s] ? HC_OK
                                    : add_hash(&hash, pool->sums.scenes[s].output, err);
        if (status == HC_OK && pool->summed[s] && pool->sums_noise) {
            status = add_hash(&hash, noise, err);
        }
        free(noise);
        HC_OR_RETURN(status);
    }
    snprintf(stamp->sums, sizeof stamp->sums, "%016llx", (unsigned long long)XXH64_digest(&hash));
    HC_OR_RETURN(hc_identity_of(pool->model, true, &identity, err));
    snprintf(stamp->model, sizeof stamp->model, identity.exists ? "%016llx" : "none",
             (unsigned long long)identity.hash);
    return status;
}

static bool says(const cJSON *record, const char *name, const char *expected) {
    const char *text = hc_json_text(record, name);
    return text != NULL && strcmp(text, expected) == 0;
}

/* Whether the model that is there was made of these sums, in the same way. */
static bool is_made(const HcBatchPool *pool, const char *record_path, const Stamp *stamp) {
    cJSON *record = NULL;
    HcError unimportant = {0};
    bool made = hc_file_may_be_there(record_path) &&
                hc_json_read(record_path, &record, &unimportant) == HC_OK &&
                says(record, "version", hc_version()) && says(record, "chain", pool->fit.chain) &&
                says(record, "sums_xxh64", stamp->sums) && says(record, "model_xxh64", stamp->model);
    cJSON_Delete(record);
    return made;
}

/* Whether the model is made for a scene, summed or not. */
static bool is_for(const HcBatchPool *pool, int32_t scene) {
    return pool->group < 0 || pool->applied.scenes[scene].group == pool->group;
}

static void put_scenes(const HcBatchPool *pool, const char *name, bool summed, HcJson *to) {
    hc_json_open_array(to, name);
    for (int32_t s = 0; s < pool->sums.scene_count; s++) {
        if (pool->summed[s] == summed && is_for(pool, s)) {
            hc_json_put_text(to, NULL, pool->sums.scenes[s].path);
        }
    }
    hc_json_close(to);
}

static void begin_record(const HcBatchPool *pool, HcJson *record) {
    hc_json_begin(record);
    hc_json_put_kind(record, HC_JSON_POOL, 1);
    hc_json_put_text(record, "command", hc_command_line()->text);
    hc_json_put_text(record, "chain", pool->fit.chain);
}

static HcStatus write_record(const HcBatchPool *pool, HcJson *record, const char *path, const Stamp *stamp,
                             HcError *err) {
    hc_json_put_text(record, "sums_xxh64", stamp->sums);
    hc_json_put_text(record, "model_xxh64", stamp->model);
    put_scenes(pool, "scenes", true, record);
    put_scenes(pool, "left_out", false, record);
    return hc_json_save(record, path, true, err);
}

/* Leaves a model alone that is right: outputs that were made with it stay complete. */
static HcStatus make_model(const HcBatchPool *pool, HcError *err) {
    HcStatus status = HC_OK;
    Stamp stamp;
    HcJson record = {0};
    char *path = hc_text_format("%s.hcube.json", pool->model);
    HC_OR_RETURN(hc_text_made(path, strlen(pool->model), "a path", err));
    HC_TRY(take_stamp(pool, &stamp, err));
    if (!is_made(pool, path, &stamp)) {
        hc_file_remove_leftovers(pool->model);
        hc_file_remove_leftovers(path);
        begin_record(pool, &record);
        HC_TRY(fit_model(pool, &record, err));
        HC_TRY(take_stamp(pool, &stamp, err));
        HC_TRY(write_record(pool, &record, path, &stamp, err));
    }
done:
    hc_json_clear(&record);
    free(path);
    return status;
}

/* One worker of all makes the model. */
static HcStatus claim_model(const HcBatchPool *pool, HcError *err) {
    HcStatus status = HC_OK;
    HcBatchClaim *claim = NULL;
    HC_TRY(hc_batch_claim(pool->model, &claim, err));
    while (claim == NULL) {
        HC_TRY(wait_a_moment(err));
        HC_TRY(hc_batch_claim(pool->model, &claim, err));
    }
    status = make_model(pool, err);
done:
    hc_batch_release(claim, false);
    return status;
}

/* ---- in a process of its own ---- */

/* Threads that a fit starts would be missing in workers that are forked later. */
static _Noreturn void make_and_report(const HcBatchPool *pool, int pipe) {
    HcError failure = {0};
    failure.status = claim_model(pool, &failure);
    hc_file_remove_partials();
    bool said = hc_batch_send(pipe, &failure, sizeof failure);
    hc_process_ends();
    /* Not by _exit: what was printed is flushed, and leak checks and coverage run. */
    exit(said ? HC_OK : HC_E_IO);
}

/* Hears the reports of the process; an interruption is passed on to it. */
static bool hear(pid_t process, int pipe, HcError *failure) {
    const HcFlag *cancel = hc_catch_signals();
    size_t done = 0;
    ssize_t got = 1;
    while (done < sizeof *failure && got != 0) {
        got = read(pipe, (char *)failure + done, sizeof *failure - done);
        if (got < 0 && errno != EINTR) {
            break;
        }
        if (got < 0 && hc_flag(cancel) != 0) {
            kill(process, SIGTERM);
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return done == sizeof *failure;
}

static HcStatus make_apart(const HcBatchPool *pool, HcError *err) {
    pid_t process = 0;
    int end = -1;
    HcError failure = {0};
    HC_OR_RETURN(hc_batch_fork(&process, &end, err));
    if (process == 0) {
        make_and_report(pool, end);
    }
    bool heard = hear(process, end, &failure);
    close(end);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {
    }
    if (!heard) {
        return hc_fail(err, HC_E_MEMORY, "batch: --pool %s: the process that fits the model has died",
                       pool->model);
    }
    if (failure.status != HC_OK) {
        return hc_fail(err, failure.status, "%s", failure.text);
    }
    return HC_OK;
}

static void clear_pool(HcBatchPool *pool) {
    for (int32_t s = 0; s < pool->sums.scene_count; s++) {
        free(pool->sums.scenes[s].path);
        free(pool->sums.scenes[s].output);
    }
    free(pool->sums.scenes);
    free(pool->summed);
    clear_sibling(&pool->sums);
    clear_sibling(&pool->fit);
    clear_sibling(&pool->applied);
}

/* The batch goes on with the chain that uses the model. */
static void take_chain(HcBatch *batch, HcBatch *from) {
    HcPaths words = batch->words;
    char *chain = batch->chain;
    batch->words = from->words;
    batch->chain = from->chain;
    from->words = words;
    from->chain = chain;
    free(batch->lines); /* these words stand in no file */
    batch->lines = NULL;
}

/* Whether a file is a model of hcube. Fails for that of a newer one. */
static HcStatus is_model(const char *path, bool *is, HcError *err) {
    HcError why = {0};
    cJSON *json = NULL;
    HcStatus status = hc_json_read(path, &json, &why);
    *is = json != NULL && hc_json_kind(json) == HC_JSON_MODEL;
    HcStatus checked = *is ? hc_json_check_kind(json, HC_JSON_MODEL, path, NULL, err) : HC_OK;
    cJSON_Delete(json);
    if (checked != HC_OK) {
        return checked;
    }
    return status == HC_OK || status == HC_E_INPUT ? HC_OK : hc_fail(err, status, "%s", why.text);
}

/* Refuses to replace what is no model, unless the record beside it says that it was one; and what is no
 * record. */
static HcStatus check_mine(const char *model, const char *record, HcError *err) {
    bool ours = false, there = false;
    HC_OR_RETURN(hc_file_is_there(record, &there, err));
    if (there) {
        HC_OR_RETURN(hc_chain_is_record(record, &ours, err));
        if (!ours) {
            return hc_fail(err, HC_E_USAGE, "batch: --pool: %s: exists, and is no record of hcube", record);
        }
    }
    HC_OR_RETURN(hc_file_is_there(model, &there, err));
    if (there) {
        bool is = false;
        HC_OR_RETURN(is_model(model, &is, err));
        if (!ours && !is) {
            return hc_fail(err, HC_E_USAGE, "batch: --pool %s: exists, and is no model", model);
        }
    }
    return HC_OK;
}

static HcStatus check_model_and_record(const HcBatch *batch, const char *model, HcError *err) {
    HcStatus status = HC_OK;
    char *record = hc_text_format("%s.hcube.json", model);
    HC_TRY(hc_text_made(record, 0, "a path", err));
    HC_TRY(hc_batch_check_written(batch, "pool", batch->params.pool, model, err));
    HC_TRY(hc_batch_check_written(batch, "pool", batch->params.pool, record, err));
    HC_TRY(check_mine(model, record, err));
done:
    free(record);
    return status;
}

static HcBatchPool open_pool(const HcBatch *batch) {
    HcBatchPool pool = {.model = batch->params.pool,
                        .group = -1,
                        .sums = sibling_of(batch),
                        .fit = sibling_of(batch),
                        .applied = sibling_of(batch)};
    pool.sums.owns_outputs = true;
    pool.sums.scenes = NULL;
    pool.sums.scene_count = 0;
    return pool;
}

/* ---- groups ---- */

/* Finds them, and refuses models that would replace something else. */
static HcStatus find_groups(HcBatch *batch, const HcBatchPool *pool, HcError *err) {
    HC_OR_RETURN(hc_batch_find_groups(batch, &pool->fit, err));
    if (batch->group_count == 0) {
        return check_model_and_record(batch, batch->params.pool, err);
    }
    for (int32_t g = 0; g < batch->group_count; g++) {
        HC_OR_RETURN(check_model_and_record(batch, batch->groups[g].model, err));
    }
    return HC_OK;
}

/* Opens a pool for the model of one group; borrows the sums. */
static HcStatus open_part(HcBatchPool *part, const HcBatchPool *pool, const HcBatch *batch, int32_t group,
                          HcError *err) {
    *part = open_pool(batch);
    part->model = batch->groups[group].model;
    part->group = group;
    HC_OR_RETURN(hc_batch_pool_chains(part, batch, err));
    part->sums.scenes = pool->sums.scenes;
    part->sums.scene_count = pool->sums.scene_count;
    HC_OR_RETURN(hc_new(part->summed, (size_t)batch->scene_count, "the list of scenes", err));
    for (int32_t s = 0; s < pool->sums.scene_count; s++) {
        part->summed[s] = pool->summed[s] && batch->scenes[s].group == group;
        part->summed_count += part->summed[s];
    }
    return HC_OK;
}

static void close_part(HcBatchPool *part) {
    part->sums.scenes = NULL;
    part->sums.scene_count = 0;
    clear_pool(part);
}

/* The models of all groups that have sums, and what they are applied by. */
static HcStatus make_groups(HcBatch *batch, const HcBatchPool *pool, HcError *err) {
    HcStatus status = HC_OK;
    for (int32_t g = 0; g < batch->group_count && status == HC_OK; g++) {
        HcBatchPool part;
        status = open_part(&part, pool, batch, g, err);
        if (status == HC_OK && part.summed_count > 0) {
            status = make_apart(&part, err);
        }
        close_part(&part);
    }
    return status;
}

/* The chain of each group, with its model. */
static HcStatus apply_groups(HcBatch *batch, HcError *err) {
    HcStatus status = HC_OK;
    for (int32_t g = 0; g < batch->group_count && status == HC_OK; g++) {
        HcBatchPool part = open_pool(batch);
        part.model = batch->groups[g].model;
        status = hc_batch_pool_chains(&part, batch, err);
        if (status == HC_OK) {
            batch->groups[g].words = part.applied.words;
            batch->groups[g].chain = part.applied.chain;
            part.applied.words = (HcPaths){0};
            part.applied.chain = NULL;
        }
        clear_pool(&part);
    }
    return status;
}

/* Scenes that no model serves: those of no group, and of groups of which none was summed. `left`: also those
 * that may be summed yet. */
static HcStatus block(HcBatch *batch, const HcBatchPool *pool, bool left, HcError *err) {
    HcStatus status = HC_OK;
    char message[768] = "";
    bool *has = NULL;
    HC_TRY(hc_new(has, (size_t)batch->group_count + 1, "the groups of the scenes", err));
    for (int turn = 0; turn < 2; turn++) {
        for (int32_t s = 0; s < batch->scene_count; s++) {
            HcBatchState state = HC_BATCH_OPEN;
            int32_t group = batch->scenes[s].group;
            if (turn == 1 && group >= 0 && has[group]) {
                continue;
            }
            HC_TRY(hc_batch_look(&pool->sums, s, &state, message, sizeof message, err));
            if (group >= 0) {
                has[group] = has[group] || state == HC_BATCH_COMPLETE;
            }
            bool is_blocked = state == HC_BATCH_FAILED_BEFORE || (left && state == HC_BATCH_OPEN);
            if (turn == 1 && is_blocked) {
                const char *why = state == HC_BATCH_OPEN
                                      ? "it was not summed, so that --pool has no model for it"
                                      : message;
                batch->scenes[s].blocked = strdup(why);
                HC_TRY(hc_text_made(batch->scenes[s].blocked, strlen(why), "a message", err));
            }
        }
    }
done:
    free(has);
    return status;
}

/* ---- the whole ---- */

static HcStatus make_models(HcBatch *batch, HcBatchPool *pool, HcError *err) {
    HC_OR_RETURN(find_summed(pool, err));
    return batch->group_count > 0 ? make_groups(batch, pool, err) : make_apart(pool, err);
}

/* The batch goes on with chains that use the models. */
static HcStatus go_on(HcBatch *batch, HcBatchPool *pool, bool left, HcError *err) {
    if (batch->group_count == 0) {
        take_chain(batch, &pool->applied);
        return HC_OK;
    }
    HC_OR_RETURN(apply_groups(batch, err));
    return block(batch, pool, left, err);
}

HcStatus hc_batch_pool(HcBatch *batch, HcBatchTotals *totals, int32_t *left_out, HcError *err) {
    HcStatus status = HC_OK;
    HcRanks *ranks = hc_app_ranks();
    HcBatchPool pool = open_pool(batch);
    HC_TRY(hc_batch_pool_chains(&pool, batch, err));
    HC_TRY(find_groups(batch, &pool, err));
    if (hc_ranks_number(ranks) == 0) {
        hc_batch_report_groups(batch);
    }
    HC_TRY(list_sums(&pool, batch, err));
    HC_TRY(sum_scenes(&pool, totals, err));
    status = hc_ranks_number(ranks) == 0 ? make_models(batch, &pool, err) : HC_OK;
    HC_TRY(hc_ranks_agree(ranks, status, err));
    *left_out = hc_ranks_number(ranks) == 0 ? pool.sums.scene_count - pool.summed_count : 0;
    pool.sums.params.retry_failed = false;
    HC_TRY(go_on(batch, &pool, true, err));
done:
    clear_pool(&pool);
    return status;
}

HcStatus hc_batch_pool_groups(HcBatch *batch, HcError *err) {
    HcStatus status = HC_OK;
    HcBatchPool pool = open_pool(batch);
    HC_TRY(hc_batch_pool_chains(&pool, batch, err));
    HC_TRY(hc_batch_find_groups(batch, &pool.fit, err));
done:
    clear_pool(&pool);
    return status;
}

HcStatus hc_batch_pool_apply(HcBatch *batch, HcError *err) {
    HcStatus status = HC_OK;
    HcBatchPool pool = open_pool(batch);
    HC_TRY(hc_batch_pool_chains(&pool, batch, err));
    HC_TRY(hc_batch_find_groups(batch, &pool.fit, err));
    HC_TRY(list_sums(&pool, batch, err));
    HC_TRY(go_on(batch, &pool, false, err));
done:
    clear_pool(&pool);
    return status;
}
