/* Tiles are compared, and not whole files, so that a check costs little where nothing has to be settled: with
 * a model that is loaded, or without any. Their places come from a seed that the record keeps. */
#include "pipeline/run/verify.h"
#include "core/allocate.h"
#include "core/system/clock.h"
#include "core/hash.h"
#include "io/file.h"
#include "pipeline/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Share of classes and numbers of spectra that another device may choose differently: near ties. */
static const double other_choices = 1e-3;

/* ---- in the place of a sink ---- */

typedef struct Tap {
    const HcStage *sink; /* of the run that is verified */
} Tap;

typedef struct TapState {
    HcWrittenCheck *check; /* NULL until the chain is settled */
    HcReader *file;        /* the output, under its temporary name */
} TapState;

static HcStatus plan_tap(HcStage *stage, HcError *err) {
    stage->needs = (HcNeeds){.consumes = true, .passes_through = true};
    return hc_scene_copy(&stage->out, &stage->in, err);
}

static HcStatus compare(HcStage *stage, const HcBlock *block, HcError *err) {
    const HcStage *sink = ((const Tap *)stage->params)->sink;
    const TapState *state = stage->state;
    return state->check != NULL ? sink->kind->rare.check(sink, state->file, block, state->check, err) : HC_OK;
}

static void close_tap(HcStage *stage) {
    hc_reader_close(((TapState *)stage->state)->file);
}

static const HcStageClass tap = {.name = "verify",
                                 .summary = "compare with what was written",
                                 .role = HC_ROLE_TAP,
                                 .params_size = sizeof(Tap),
                                 .state_size = sizeof(TapState),
                                 .plan = plan_tap,
                                 .consume = compare,
                                 .close = close_tap};

static HcStatus open_file(const char *path, HcReader **file, HcError *err) {
    HcError why = {0};
    char *lies = NULL;
    HC_OR_RETURN(hc_file_find(path, &lies, err));
    HcStatus status = hc_reader_open(file, lies, NULL, &why);
    free(lies);
    bool system = status == HC_E_MEMORY || status == HC_E_IO;
    return status == HC_OK
               ? HC_OK
               : hc_fail(err, system ? status : HC_E_UNSUPPORTED,
                         "%s: cannot be verified, since it cannot be read back: %s", path, why.text);
}

/* On the thread that has opened the set of outputs, which no other one can ask; and HDF5 prints what other
 * threads look for in vain. */
static HcStatus open_files(const HcChain *twin, HcError *err) {
    for (int32_t s = 0; s < twin->count; s++) {
        const HcStage *stage = &twin->stages[s];
        if (stage->kind->role == HC_ROLE_TAP) {
            const HcStage *sink = ((const Tap *)stage->params)->sink;
            TapState *state = stage->state;
            HC_OR_RETURN(open_file(sink->output, &state->file, err));
        }
    }
    return HC_OK;
}

static void begin_comparing(HcChain *twin, void *user) {
    HcVerify *verify = user;
    for (int32_t s = 0; s < twin->count; s++) {
        if (twin->stages[s].kind->role == HC_ROLE_TAP) {
            ((TapState *)twin->stages[s].state)->check = &verify->check;
        }
    }
}

/* ---- tiles ---- */

static uint64_t seed_of(const HcChain *chain) {
    HcText text = {0};
    hc_chain_print(chain, &text);
    uint64_t hash = XXH64(hc_text_shown(&text), strlen(hc_text_shown(&text)), 0);
    hc_text_clear(&text);
    return hash >> 11; /* a record keeps 53 bits of a number */
}

/* The scene is cut into tiles, the last of which may be shorter, and some of them are drawn. */
static HcStatus draw_tiles(HcVerify *verify, HcError *err) {
    const int64_t lines = verify->chain->stages[0].out.lines;
    int64_t all = (lines + HC_VERIFY_LINES - 1) / HC_VERIFY_LINES;
    uint64_t state = verify->seed;
    verify->lines = (int32_t)(lines < HC_VERIFY_LINES ? lines : HC_VERIFY_LINES);
    verify->tiles = (int32_t)(verify->tiles < all ? verify->tiles : all);
    int64_t drawn = 0;
    HC_OR_RETURN(hc_new(verify->first_line, verify->tiles, "tiles to verify", err));
    /* Each of those that are left is taken with the chance that fills the rest. */
    for (int64_t t = 0; t < all; t++) {
        if (hc_random_uniform(&state) * (double)(all - t) < (double)(verify->tiles - drawn)) {
            verify->first_line[drawn++] = t * HC_VERIFY_LINES;
        }
    }
    return HC_OK;
}

/* ---- the check ---- */

HcStatus hc_verify_check(const HcChain *chain, int32_t ranks, HcError *err) {
    bool any = false;
    if (ranks > 1) {
        return hc_fail(err, HC_E_UNSUPPORTED, "--verify: a run that %d processes share cannot be verified",
                       ranks);
    }
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        if (stage->kind->rare.check == NULL) {
            continue;
        }
        const HcScene *file = stage->kind->rare.written(stage);
        if (file->lines != stage->in.lines || file->samples != stage->in.samples) {
            return hc_fail(err, HC_E_UNSUPPORTED,
                           "--verify: lines of a map (%s --ortho) are not those of the scene",
                           stage->kind->name);
        }
        any = true;
    }
    return any ? HC_OK : hc_fail(err, HC_E_USAGE, "--verify: the chain writes no raster (! write FILE)");
}

static HcStatus run_again(HcVerify *verify, HcError *err) {
    HcStatus status = HC_OK;
    HcChain *twin = NULL;
    HcCompute *plain = NULL;
    HcComputeInfo info;
    HC_TRY(verify->open(verify->user, &plain, err));
    hc_compute_info(plain, &info);
    snprintf(verify->device, sizeof verify->device, "%s", info.name);
    verify->check.exact = strcmp(hc_compute_name(plain->ops), hc_compute_name(verify->compute->ops)) == 0;
    HC_TRY(hc_chain_twin(&twin, verify->chain, &tap, err));
    HC_TRY(open_files(twin, err));
    HC_TRY(hc_run_tiles(twin, plain, &verify->settings, verify->first_line, verify->tiles, verify->lines,
                        begin_comparing, verify, err));
done:
    /* Stages hold memory of the backend: they go first. */
    hc_chain_free(twin);
    hc_compute_close(plain);
    return status;
}

static HcStatus judge(const HcVerify *verify, HcError *err) {
    const HcWrittenCheck *check = &verify->check;
    bool choices = !check->exact && (double)check->other_choices > other_choices * (double)check->choices;
    if (check->values == 0) {
        return hc_fail(err, HC_E_VERIFY, "--verify: nothing was compared");
    }
    if (check->differing == 0 && !choices) {
        return HC_OK;
    }
    return hc_fail(err, HC_E_VERIFY, "--verify: %lld of %lld values differ (--verify-seed %llu): %s",
                   (long long)(choices ? check->other_choices : check->differing), (long long)check->values,
                   (unsigned long long)verify->seed, check->first);
}

static HcStatus verify_once(HcVerify *verify, HcError *err) {
    if (verify->done) {
        return HC_OK;
    }
    double start = hc_now();
    verify->done = true;
    verify->seed = verify->seed != 0 ? verify->seed : seed_of(verify->chain);
    HC_OR_RETURN(draw_tiles(verify, err));
    HC_OR_RETURN(run_again(verify, err));
    verify->seconds = hc_now() - start;
    return judge(verify, err);
}

static void put_verify(const HcVerify *verify, HcJson *record) {
    hc_json_open_object(record, "verify");
    hc_json_put_number(record, "tiles", verify->tiles);
    hc_json_put_number(record, "lines", verify->lines);
    hc_json_put_number(record, "seed", (double)verify->seed);
    hc_json_open_array(record, "first_lines_from_0");
    for (int32_t t = 0; t < verify->tiles; t++) {
        hc_json_put_number(record, NULL, (double)verify->first_line[t]);
    }
    hc_json_close(record);
    hc_json_put_text(record, "device", verify->device);
    hc_json_put_bool(record, "exact", verify->check.exact);
    hc_json_put_number(record, "values", (double)verify->check.values);
    hc_json_put_number(record, "differing", (double)verify->check.differing);
    hc_json_put_number(record, "other_choices", (double)verify->check.other_choices);
    hc_json_put_number(record, "largest_difference", verify->check.largest);
    hc_json_open_object(record, "seconds");
    hc_json_put_number(record, "all", verify->seconds);
    hc_json_close(record);
    hc_json_close(record);
}

static HcStatus describe(HcJson *record, void *user, HcError *err) {
    HcVerify *verify = user;
    const HcRunSettings *settings = &verify->settings;
    HC_OR_RETURN(verify_once(verify, err));
    put_verify(verify, record);
    return settings->describe != NULL ? settings->describe(record, settings->describe_user, err) : HC_OK;
}

static HcStatus inspect(void *user, HcError *err) {
    HcVerify *verify = user;
    const HcRunSettings *settings = &verify->settings;
    HC_OR_RETURN(verify_once(verify, err)); /* no record was written */
    return settings->inspect != NULL ? settings->inspect(settings->inspect_user, err) : HC_OK;
}

HcStatus hc_verify_begin(HcVerify *verify, HcRunSettings *settings, HcError *err) {
    if (verify->tiles == 0) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_verify_check(verify->chain, hc_ranks_count(settings->ranks), err));
    verify->settings = *settings;
    settings->describe = describe;
    settings->inspect = inspect;
    settings->describe_user = settings->inspect_user = verify;
    return HC_OK;
}

void hc_verify_clear(HcVerify *verify) {
    free(verify->first_line);
    verify->first_line = NULL;
}
