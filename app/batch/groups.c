/* The groups of --pool: scenes that one model can serve, by what the fit would see of them. Only headers are
 * read, in a process of its own: a file that kills the process belongs to no group, and is left to the
 * workers. */
#include "app/batch/pool.h"
#include "core/allocate.h"
#include "core/grow.h"
#include "io/file.h"
#include "pipeline/json/json.h"
#include "pipeline/statistics/statistics.h"
#include "pipeline/statistics/sums_file.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What a process reports of a scene; the numbers of the bands follow. */
typedef struct Form {
    int32_t scene;
    int32_t bands; /* 0 = it cannot be planned */
    bool has_wavelength, has_gain;
} Form;

typedef struct Grouping {
    HcBatch *batch;
    const HcBatch *fit; /* its chain ends with the fit */
    HcScene *like;      /* [count] the bands of each group: those of its first scene */
    int32_t *first;     /* [count] that scene */
    int32_t count;
} Grouping;

/* What ranks need to know of a group. */
typedef struct Told {
    char name[64], about[64];
    uint8_t keeps; /* the name that --pool says */
} Told;

/* ---- in a process of its own ---- */

static bool send_form(int pipe, int32_t scene, const HcScene *in) {
    size_t bytes = (size_t)in->bands * sizeof(double);
    Form form = {.scene = scene,
                 .bands = in->bands,
                 .has_wavelength = in->wavelength != NULL,
                 .has_gain = in->gain != NULL && in->offset != NULL};
    return hc_batch_send(pipe, &form, sizeof form) &&
           (!form.has_wavelength || hc_batch_send(pipe, in->wavelength, bytes)) &&
           (!form.has_gain ||
            (hc_batch_send(pipe, in->gain, bytes) && hc_batch_send(pipe, in->offset, bytes)));
}

/* Plans the steps up to the fit. Where a step fails, what comes after it has no bands. */
static bool look_at(const HcBatch *fit, int32_t scene, int pipe) {
    HcError unimportant = {0};
    HcScene nothing = {0};
    HcChain *chain = NULL;
    if (hc_batch_chain(fit, scene, &chain, &unimportant) == HC_OK) {
        (void)!hc_chain_plan(chain, &unimportant);
    }
    bool sent = send_form(pipe, scene, chain != NULL ? &chain->stages[chain->count - 1].in : &nothing);
    hc_chain_free(chain);
    return sent;
}

static _Noreturn void look_at_all(const HcBatch *fit, int32_t from, int pipe) {
    const HcFlag *cancel = hc_catch_signals();
    bool sent = true;
    for (int32_t s = from; s < fit->scene_count && sent && hc_flag(cancel) == 0; s++) {
        sent = look_at(fit, s, pipe);
    }
    hc_process_ends();
    exit(sent ? HC_OK : HC_E_IO);
}

/* ---- in the process of the batch ---- */

/* Reads all bytes; false at the end of the pipe. */
static bool read_all(int pipe, void *data, size_t bytes) {
    size_t done = 0;
    while (done < bytes) {
        ssize_t got = read(pipe, (char *)data + done, bytes - done);
        if (got == 0 || (got < 0 && errno != EINTR)) {
            return false;
        }
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static HcStatus read_numbers(int pipe, int32_t bands, double **out, bool *whole, HcError *err) {
    HC_OR_RETURN(hc_new(*out, (size_t)bands, "the bands of a scene", err));
    *whole = *whole && read_all(pipe, *out, (size_t)bands * sizeof **out);
    return HC_OK;
}

/* The bands of the next scene; *whole is false where the process has ended. */
static HcStatus read_form(int pipe, Form *form, HcScene *out, bool *whole, HcError *err) {
    *form = (Form){.scene = -1};
    *whole = read_all(pipe, form, sizeof *form);
    if (!*whole) {
        return HC_OK;
    }
    out->bands = form->bands;
    if (form->has_wavelength) {
        HC_OR_RETURN(read_numbers(pipe, form->bands, &out->wavelength, whole, err));
    }
    if (form->has_gain) {
        HC_OR_RETURN(read_numbers(pipe, form->bands, &out->gain, whole, err));
        HC_OR_RETURN(read_numbers(pipe, form->bands, &out->offset, whole, err));
    }
    return HC_OK;
}

/* Puts a scene into its group; takes what `found` owns. */
static HcStatus put(Grouping *to, int32_t scene, HcScene *found, HcError *err) {
    HcBatchScene *at = &to->batch->scenes[scene];
    at->group = -1;
    for (int32_t g = 0; g < to->count && at->group < 0; g++) {
        HcError differs = {0};
        if (hc_saved_sums_check(&to->like[g], found, at->path, &differs) != HC_OK) {
            continue;
        }
        at->group = g;
        if (to->like[g].wavelength == NULL) {
            to->like[g].wavelength = found->wavelength;
            found->wavelength = NULL;
        }
    }
    if (at->group < 0) {
        HC_OR_RETURN(hc_grow(to->like, to->count, "the groups of the scenes", err));
        HC_OR_RETURN(hc_grow(to->first, to->count, "the groups of the scenes", err));
        to->like[to->count] = *found;
        *found = (HcScene){0};
        to->first[to->count] = scene;
        at->group = to->count++;
    }
    return HC_OK;
}

/* Hears a process until it ends; *next is the scene after the last one reported. */
static HcStatus hear(Grouping *to, int pipe, int32_t *next, HcError *err) {
    HcStatus status = HC_OK;
    HcScene found = {0};
    Form form;
    bool whole = true;
    while (whole) {
        hc_scene_clear(&found);
        HC_TRY(read_form(pipe, &form, &found, &whole, err));
        if (whole) {
            *next = form.scene + 1;
            to->batch->scenes[form.scene].group = -1;
        }
        if (whole && form.bands > 0) {
            HC_TRY(put(to, form.scene, &found, err));
        }
    }
done:
    hc_scene_clear(&found);
    return status;
}

static HcStatus look_from(Grouping *to, int32_t *next, HcError *err) {
    pid_t process = 0;
    int end = -1;
    HC_OR_RETURN(hc_batch_fork(&process, &end, err));
    if (process == 0) {
        look_at_all(to->fit, *next, end);
    }
    HcStatus status = hear(to, end, next, err);
    close(end);
    while (waitpid(process, NULL, 0) < 0 && errno == EINTR) {
    }
    if (status == HC_OK && hc_flag(hc_catch_signals()) != 0) {
        return hc_fail(err, HC_E_CANCELLED, "interrupted");
    }
    return status;
}

/* All scenes by their headers. A scene that kills the process is passed over. */
static HcStatus find_groups(Grouping *to, HcError *err) {
    int32_t next = 0;
    while (next < to->batch->scene_count) {
        HC_OR_RETURN(look_from(to, &next, err));
        if (next < to->batch->scene_count) {
            to->batch->scenes[next++].group = -1;
        }
    }
    return HC_OK;
}

/* --one-model: says in what the first scene of another group differs. */
static HcStatus check_one(const Grouping *found, HcError *err) {
    if (!found->batch->params.one_model || found->count < 2) {
        return HC_OK;
    }
    const HcBatchScene *other = &found->batch->scenes[found->first[1]];
    return hc_saved_sums_check(&found->like[0], &found->like[1], other->path, err);
}

/* ---- names ---- */

/* Wavelengths to 10 nm: those of one sensor vary by less from scene to scene. */
static void describe(const HcScene *like, Told *told) {
    char range[40] = "";
    char text[40] = "";
    double low = HUGE_VAL;
    double high = -HUGE_VAL;
    for (int32_t b = 0; like->wavelength != NULL && b < like->bands; b++) {
        low = fmin(low, like->wavelength[b]);
        high = fmax(high, like->wavelength[b]);
    }
    if (low <= high && high < 1e9) {
        snprintf(range, sizeof range, "_%.0f-%.0fnm", 10 * rint(low / 10), 10 * rint(high / 10));
        snprintf(text, sizeof text, ", %.0f to %.0f nm", low, high);
    }
    snprintf(told->name, sizeof told->name, "%db%s", like->bands, range);
    snprintf(told->about, sizeof told->about, "%d band%s%s", like->bands, like->bands == 1 ? "" : "s", text);
}

/* Groups that differ in the middle of the spectrum or in their scaling have one name: _2 tells the second. */
static void distinguish(Told *told, int32_t count) {
    for (int32_t g = 1; g < count; g++) {
        int same = 1;
        Told plain = told[g];
        for (int32_t other = 0; other < g; other++) {
            if (strcmp(told[other].name, told[g].name) == 0) {
                snprintf(told[g].name, sizeof told[g].name, "%.40s_%d", plain.name, ++same);
                other = -1;
            }
        }
    }
}

/* The group whose bands the model has that an earlier batch left under the name that --pool says, or -1: its
 * outputs stay complete when scenes of another group come. */
static int32_t group_of_model(const Grouping *found) {
    HcError unimportant = {0};
    HcScene bands = {0};
    cJSON *record = NULL;
    cJSON *model = NULL;
    int32_t group = -1;
    const char *path = found->batch->params.pool;
    char *record_path = hc_text_format("%s.hcube.json", path);
    if (record_path != NULL && hc_file_may_be_there(record_path) && hc_file_may_be_there(path) &&
        hc_json_read(record_path, &record, &unimportant) == HC_OK && hc_json_kind(record) == HC_JSON_POOL &&
        hc_json_read(path, &model, &unimportant) == HC_OK &&
        hc_json_get_bands(model, &bands, path, &unimportant) == HC_OK) {
        for (int32_t g = 0; g < found->count && group < 0; g++) {
            group = hc_statistics_check_bands(&bands, &found->like[g], path, &unimportant) == HC_OK ? g : -1;
        }
    }
    hc_scene_clear(&bands);
    cJSON_Delete(record);
    cJSON_Delete(model);
    free(record_path);
    return group;
}

/* MODEL.json as MODEL_NAME.json; fresh memory. */
static char *model_path(const char *pool, const Told *told) {
    size_t stem = strlen(pool);
    stem -= hc_text_ends_with(pool, ".json") ? strlen(".json") : 0;
    return told->keeps ? strdup(pool) : hc_text_format("%.*s_%s%s", (int)stem, pool, told->name, pool + stem);
}

static HcStatus take_groups(HcBatch *batch, const Told *told, int32_t count, HcError *err) {
    HC_OR_RETURN(hc_new(batch->groups, (size_t)count, "the groups of the scenes", err));
    batch->group_count = count;
    for (int32_t g = 0; g < count; g++) {
        HcBatchGroup *group = &batch->groups[g];
        snprintf(group->name, sizeof group->name, "%s", told[g].name);
        snprintf(group->about, sizeof group->about, "%s", told[g].about);
        group->model = model_path(batch->params.pool, &told[g]);
        HC_OR_RETURN(hc_text_made(group->model, strlen(batch->params.pool), "a path", err));
    }
    for (int32_t s = 0; s < batch->scene_count; s++) {
        if (batch->scenes[s].group >= 0) {
            batch->groups[batch->scenes[s].group].scenes++;
        }
    }
    return HC_OK;
}

/* ---- ranks ---- */

/* The first rank looks; the others hear how many groups there are, and the group of each scene. */
static HcStatus share(Grouping *found, int32_t *count, HcError *err) {
    HcStatus status = HC_OK;
    HcRanks *ranks = hc_app_ranks();
    HcBatch *batch = found->batch;
    int64_t *all = NULL;
    size_t scenes = (size_t)batch->scene_count;
    HC_TRY(hc_new(all, scenes + 1, "the groups of the scenes", err));
    all[scenes] = found->count;
    for (size_t s = 0; s < scenes && hc_ranks_number(ranks) == 0; s++) {
        all[s] = batch->scenes[s].group + 2;
    }
    HC_TRY(hc_ranks_largest(ranks, all, scenes + 1, err));
    for (size_t s = 0; s < scenes; s++) {
        batch->scenes[s].group = (int32_t)all[s] - 2;
    }
    *count = (int32_t)all[scenes];
done:
    free(all);
    return status;
}

static HcStatus name_groups(Grouping *found, HcError *err) {
    HcStatus status = HC_OK;
    HcRanks *ranks = hc_app_ranks();
    Told *told = NULL;
    int32_t count = 0;
    HC_OR_RETURN(share(found, &count, err));
    if (count < 2) {
        return HC_OK; /* one model, under the name that --pool says */
    }
    HC_TRY(hc_new(told, (size_t)count, "the groups of the scenes", err));
    if (hc_ranks_number(ranks) == 0) {
        int32_t keeps = group_of_model(found);
        for (int32_t g = 0; g < count; g++) {
            describe(&found->like[g], &told[g]);
            told[g].keeps = g == keeps;
        }
        distinguish(told, count);
    }
    HC_TRY(hc_ranks_join(ranks, told, (size_t)count * sizeof *told, err));
    HC_TRY(take_groups(found->batch, told, count, err));
done:
    free(told);
    return status;
}

HcStatus hc_batch_find_groups(HcBatch *batch, const HcBatch *fit, HcError *err) {
    HcStatus status = HC_OK;
    HcRanks *ranks = hc_app_ranks();
    Grouping found = {.batch = batch, .fit = fit};
    if (hc_ranks_number(ranks) == 0) {
        status = find_groups(&found, err);
        status = status == HC_OK ? check_one(&found, err) : status;
    }
    HC_TRY(hc_ranks_agree(ranks, status, err));
    HC_TRY(name_groups(&found, err));
done:
    for (int32_t g = 0; g < found.count; g++) {
        hc_scene_clear(&found.like[g]);
    }
    free(found.like);
    free(found.first);
    return status;
}
