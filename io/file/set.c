/* Files that get their names together.
 *
 * A set is a list of steps: a file that is to get its name, or one that is to go. Committing takes the steps
 * one after the other. Each keeps what it replaces in a partial of its own, by a second link where there are
 * links, so that a step that fails takes all steps before it back. What goes (records of what is about to be
 * replaced) goes before anything else gets its name: a process that is killed between two steps leaves whole
 * files without a record, and never a record beside files that it does not describe. */
#include "io/file/parts.h"
#include "core/grow.h"
#include "core/text.h"
#include "io/gdal/remote.h"
#include "core/compare.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct Step {
    char *path;
    char *partial; /* what gets this name; NULL: what has it goes */
    bool overwrite, flush;
    bool sent;            /* it gets no name, but goes to standard output */
    const HcFlag *cancel; /* of what is sent */
    char *from, *to;      /* their folders */
    char **names;         /* [count] what lies beside the partial and moves with it */
    size_t count;
    char *old;     /* in its folder lies what was replaced; NULL = nothing was */
    char **aside;  /* [aside_count] the names of it */
    size_t placed; /* of names */
    size_t aside_count;
    bool named;
    bool swapped;       /* the partial is what was replaced */
    struct stat made;   /* the file that was named */
    bool remote;        /* objects of a server */
    bool marked, fresh; /* such an upload has begun; it replaces nothing */
    bool left;          /* a dead process had begun it */
} Step;

/* A file that stays as it is. */
typedef struct Kept {
    dev_t device;
    ino_t number;
    char *object; /* of a server; else NULL */
} Kept;

typedef struct Set {
    Step *step;
    size_t count;
    Kept *kept;
    size_t kept_count;
} Set;

static _Thread_local Set *open_set;
static bool flush_all;

void hc_file_flush_all(bool flush) {
    flush_all = flush;
}

/* ---- moving ---- */

/* Renames without ever replacing: returns 0 or an errno. */
static int rename_fresh(const char *from, const char *to) {
    if (renameat2(AT_FDCWD, from, AT_FDCWD, to, RENAME_NOREPLACE) == 0) {
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP) {
        return errno;
    }
    /* A file system without that flag: a second link is refused too where the name is taken. */
    if (link(from, to) == 0) {
        unlink(from);
        return 0;
    }
    if (errno != EPERM && errno != ENOTSUP && errno != ENOSYS) {
        return errno;
    }
    /* A file system without links (FAT): this is the best that is left. */
    if (hc_file_exists(to)) {
        return EEXIST;
    }
    return rename(from, to) == 0 ? 0 : errno;
}

static HcStatus move(const char *from, const char *to, bool overwrite, HcError *err) {
    int number = overwrite ? (rename(from, to) == 0 ? 0 : errno) : rename_fresh(from, to);
    if (number == EEXIST && !overwrite) {
        return hc_file_fail_exists(err, to);
    }
    return number == 0 ? HC_OK : hc_file_fail(err, HC_E_IO, to, number);
}

/* Gives a file beside a partial its name. By a second link where there are links: as long as the partial
 * itself has no name, what was placed can then be told from other files when this process is dead. */
static HcStatus place(const Step *step, const char *name, HcError *err) {
    HcStatus status = HC_OK;
    char *source = NULL;
    char *target = NULL;
    HC_TRY(hc_file_join(step->from, name, &source, err));
    HC_TRY(hc_file_join(step->to, name, &target, err));
    if (link(source, target) != 0) {
        HC_TRY(move(source, target, step->overwrite, err));
    }
done:
    free(source);
    free(target);
    return status;
}

/* What was placed lies beside the partial alone again, where a drop removes it. Like all that takes steps
 * back it needs no memory, which may be what lacks. */
static void take_back(const Step *step, const char *name) {
    char source[HC_FILE_PATH], target[HC_FILE_PATH];
    if (!hc_file_join_into(source, step->from, name) || !hc_file_join_into(target, step->to, name)) {
        return;
    }
    if (hc_file_same(source, target)) {
        unlink(target);
    } else if (!hc_file_exists(source)) {
        (void)!rename(target, source);
    }
}

/* ---- what was there ---- */

static bool is_kept(const Set *set, const struct stat *info) {
    for (size_t k = 0; k < set->kept_count; k++) {
        if (set->kept[k].object == NULL && set->kept[k].device == info->st_dev &&
            set->kept[k].number == info->st_ino) {
            return true;
        }
    }
    return false;
}

/* Refuses what must not be replaced, whatever was asked; *there: there is a file. */
static HcStatus may_replace(const Set *set, const Step *step, const char *target, bool *there, HcError *err) {
    struct stat info;
    struct stat behind;
    *there = lstat(target, &info) == 0;
    if (!*there) {
        return errno == ENOENT ? HC_OK : hc_file_fail(err, HC_E_IO, target, errno);
    }
    bool store = S_ISDIR(info.st_mode) && S_ISDIR(step->made.st_mode) && hc_file_is_store(target);
    if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode) && !store) {
        return hc_fail(err, HC_E_IO, "%s: is no longer a file and cannot be replaced", target);
    }
    if (is_kept(set, &info) || (stat(target, &behind) == 0 && is_kept(set, &behind))) {
        return hc_fail(err, HC_E_USAGE, "%s: is read by this command, and not replaced", target);
    }
    return HC_OK;
}

/* Remembers that a file lies in the folder of step->old. */
static HcStatus note_aside(Step *step, const char *name, HcError *err) {
    char **grown = realloc(step->aside, (step->aside_count + 1) * sizeof *grown);
    step->aside = grown != NULL ? grown : step->aside;
    if (grown == NULL || (step->aside[step->aside_count] = strdup(name)) == NULL) {
        return hc_fail_memory(err, (double)strlen(name), "a file name");
    }
    step->aside_count++;
    return HC_OK;
}

/* Keeps a file of this name in the folder of step->old; it stays in its place too unless it is to `go`. */
static HcStatus put_aside(const Set *set, Step *step, const char *name, bool go, HcError *err) {
    HcStatus status = HC_OK;
    char *target = NULL;
    char *folder = NULL;
    char *aside = NULL;
    bool there = false;
    HC_TRY(hc_file_join(step->to, name, &target, err));
    HC_TRY(may_replace(set, step, target, &there, err));
    if (!there) {
        goto done;
    }
    if (step->old == NULL) {
        HC_TRY(hc_file_partial(step->path, &step->old, err));
    }
    folder = hc_file_folder(step->old);
    HC_TRY(hc_text_made(folder, strlen(step->old), "a file name", err));
    HC_TRY(hc_file_join(folder, name, &aside, err));
    HC_TRY(note_aside(step, name, err));
    bool linked = link(target, aside) == 0;
    int number = linked ? (go && unlink(target) != 0 ? errno : 0) : (rename(target, aside) == 0 ? 0 : errno);
    if (number != 0) {
        HC_TRY(hc_file_fail(err, HC_E_IO, target, number));
    }
done:
    free(target);
    free(folder);
    free(aside);
    return status;
}

/* Gives a folder its name. It changes places with what it replaces, so that one of both always has the name;
 * file systems that cannot do that have none for a moment. */
static HcStatus move_folder(const Set *set, Step *step, HcError *err) {
    bool there = false;
    HC_OR_RETURN(step->overwrite ? may_replace(set, step, step->path, &there, err) : HC_OK);
    step->swapped = there && renameat2(AT_FDCWD, step->partial, AT_FDCWD, step->path, RENAME_EXCHANGE) == 0;
    if (step->swapped) {
        return HC_OK;
    }
    HC_OR_RETURN(there ? put_aside(set, step, hc_file_base(step->path), true, err) : HC_OK);
    return move(step->partial, step->path, step->overwrite, err);
}

/* Puts everything back that this step has replaced, the file of its own name last. What cannot be put back
 * stays in the hidden folder. */
static void put_back(Step *step) {
    char folder[HC_FILE_PATH], aside[HC_FILE_PATH], target[HC_FILE_PATH];
    bool found = step->old != NULL && hc_file_folder_into(folder, step->old);
    bool whole = true;
    for (size_t a = step->aside_count; found && a-- > 0;) {
        bool back = hc_file_join_into(aside, folder, step->aside[a]) &&
                    hc_file_join_into(target, step->to, step->aside[a]) &&
                    (rename(aside, target) == 0 || !hc_file_exists(aside));
        whole = whole && back;
    }
    if (step->old != NULL && (!found || !whole)) {
        hc_file_forget(step->old);
        free(step->old);
        step->old = NULL;
    }
}

/* What describes an old file would describe the new one wrongly. */
static HcStatus put_sidecars_aside(const Set *set, Step *step, HcError *err) {
    HcStatus status = HC_OK;
    char *name = NULL;
    for (size_t e = 0; hc_file_sidecars[e] != NULL; e++) {
        free(name);
        name = hc_text_format("%s%s", hc_file_base(step->path), hc_file_sidecars[e]);
        HC_TRY(hc_text_made(name, strlen(step->path), "a file name", err));
        HC_TRY(put_aside(set, step, name, true, err));
    }
done:
    free(name);
    return status;
}

static bool is_named(const Step *step) {
    return step->partial != NULL && !step->sent;
}

/* ---- what a file takes along ---- */

/* A file of the step before it gets its name: its access rights, and its content on the disk. */
static HcStatus settle_file(const Step *step, const char *fresh, const char *name, HcError *err) {
    HcStatus status = HC_OK;
    char *target = NULL;
    HC_TRY(step->flush ? hc_file_sync(fresh, err) : HC_OK);
    HC_TRY(hc_file_join(step->to, name, &target, err));
    hc_file_keep_access(fresh, target);
done:
    free(target);
    return status;
}

/* All files of a step, while those that they replace have their names. */
static HcStatus settle_step(const Step *step, HcError *err) {
    HcStatus status = HC_OK;
    char *fresh = NULL;
    if (!is_named(step)) {
        return HC_OK;
    }
    HC_TRY(settle_file(step, step->partial, hc_file_base(step->path), err));
    for (size_t n = 0; n < step->count; n++) {
        free(fresh);
        HC_TRY(hc_file_join(step->from, step->names[n], &fresh, err));
        HC_TRY(settle_file(step, fresh, step->names[n], err));
    }
done:
    free(fresh);
    return status;
}

/* ---- a step ---- */

static void clear_step(Step *step) {
    hc_file_list_free(step->names, step->count);
    hc_file_list_free(step->aside, step->aside_count);
    free(step->path);
    free(step->partial);
    free(step->from);
    free(step->to);
    free(step->old);
    *step = (Step){0};
}

static HcStatus make_step(Step *step, const char *partial, const char *path, HcError *err) {
    *step = (Step){.path = strdup(path),
                   .partial = partial != NULL ? strdup(partial) : NULL,
                   .remote = hc_remote_is(path)};
    step->to = hc_file_folder(path);
    step->from = partial != NULL ? hc_file_folder(partial) : NULL;
    if (step->path == NULL || step->to == NULL ||
        (partial != NULL && (step->partial == NULL || step->from == NULL))) {
        return hc_fail_memory(err, (double)strlen(path), "a file name");
    }
    return HC_OK;
}

/* Everything of the step gets its name. One file is replaced at once. Of several, the file of the step's name
 * goes first and comes last, so that it is never seen with the sidecars of another. */
static HcStatus name_step(const Set *set, Step *step, HcError *err) {
    const char *base = hc_file_base(step->path);
    if (!step->overwrite && hc_file_exists(step->path)) {
        HC_OR_RETURN(hc_file_fail_exists(err, step->path));
    }
    if (lstat(step->partial, &step->made) != 0) {
        HC_OR_RETURN(hc_file_fail(err, HC_E_IO, step->path, errno));
    }
    const bool folder = S_ISDIR(step->made.st_mode);
    if (step->overwrite) {
        HC_OR_RETURN(folder ? HC_OK : put_aside(set, step, base, step->count > 0, err));
        HC_OR_RETURN(put_sidecars_aside(set, step, err));
    }
    for (size_t n = 0; n < step->count && step->overwrite; n++) {
        HC_OR_RETURN(put_aside(set, step, step->names[n], true, err));
    }
    for (; step->placed < step->count; step->placed++) {
        HC_OR_RETURN(place(step, step->names[step->placed], err));
    }
    HC_OR_RETURN(folder ? move_folder(set, step, err)
                        : move(step->partial, step->path, step->overwrite, err));
    step->named = true;
    return HC_OK;
}

/* ---- objects of a server ---- */

static HcStatus mark_step(const Set *set, Step *step, HcError *err) {
    for (size_t k = 0; k < set->kept_count; k++) {
        if (set->kept[k].object != NULL && strcmp(set->kept[k].object, step->path) == 0) {
            return hc_fail(err, HC_E_USAGE, "%s: is read by this command, and not replaced", step->path);
        }
    }
    HC_OR_RETURN(
        hc_file_begin_upload(step->path, step->partial, step->overwrite, &step->fresh, &step->left, err));
    step->marked = true;
    return HC_OK;
}

/* The file of the step's name comes last, as of local files. */
static HcStatus send_step(Step *step, HcError *err) {
    if (step->partial == NULL) {
        return hc_remote_remove(step->path, err);
    }
    for (size_t e = 0; hc_file_sidecars[e] != NULL && !step->fresh; e++) {
        char sidecar[HC_FILE_PATH];
        int length = snprintf(sidecar, sizeof sidecar, "%s%s", step->path, hc_file_sidecars[e]);
        HC_OR_RETURN(length < HC_FILE_PATH ? hc_remote_remove(sidecar, err) : HC_OK);
    }
    while (step->placed < step->count) { /* counted before: what failed may be there nevertheless */
        HC_OR_RETURN(hc_file_upload(step->from, step->to, step->names[step->placed++], err));
    }
    step->named = true;
    return hc_file_upload(step->from, step->to, hc_file_base(step->path), err);
}

/* What was replaced is gone, and its record too, or something cannot be removed: the marker then stays, so
 * that the next run replaces the rest. So does that of what a dead process has sent and nobody replaced. */
static void undo_sent(Step *step) {
    char target[HC_FILE_PATH];
    HcError unimportant = {0};
    bool gone = step->named ? hc_remote_remove(step->path, &unimportant) == HC_OK : !step->left;
    while (step->placed > 0) {
        gone = hc_file_join_into(target, step->to, step->names[--step->placed]) &&
               hc_remote_remove(target, &unimportant) == HC_OK && gone;
    }
    if (step->marked && step->fresh && gone) {
        hc_file_end_upload(step->path);
    }
}

static HcStatus take_step(const Set *set, Step *step, HcError *err) {
    if (step->remote) {
        return send_step(step, err);
    }
    HC_OR_RETURN(step->partial != NULL ? name_step(set, step, err)
                                       : put_aside(set, step, hc_file_base(step->path), true, err));
    if (step->flush) {
        hc_file_sync_folder(step->to);
    }
    return HC_OK;
}

static void undo_step(Step *step) {
    struct stat now;
    if (step->remote) {
        undo_sent(step);
        return;
    }
    if (step->named && lstat(step->path, &now) == 0 && now.st_dev == step->made.st_dev &&
        now.st_ino == step->made.st_ino && unlink(step->path) != 0) { /* a folder goes back */
        (void)!renameat2(AT_FDCWD, step->path, AT_FDCWD, step->partial, step->swapped ? RENAME_EXCHANGE : 0);
    }
    while (step->placed > 0) {
        take_back(step, step->names[--step->placed]);
    }
    put_back(step);
}

/* ---- sets ---- */

static void clear_set(Set *set) {
    for (size_t s = 0; s < set->count; s++) {
        clear_step(&set->step[s]);
    }
    for (size_t k = 0; k < set->kept_count; k++) {
        free(set->kept[k].object);
    }
    free(set->step);
    free(set->kept);
    *set = (Set){0};
}

static HcStatus add_step(Set *set, const char *partial, const char *path, Step **out, HcError *err) {
    HC_OR_RETURN(hc_grow(set->step, set->count, "a list of files", err));
    *out = &set->step[set->count];
    HcStatus status = make_step(*out, partial, path, err);
    if (status == HC_OK) {
        set->count++;
    } else {
        clear_step(*out);
    }
    return status;
}

/* What was sent cannot be taken back, so this comes when all else has succeeded. */
static HcStatus send_steps(const Set *set, HcError *err) {
    for (size_t s = 0; s < set->count; s++) {
        if (set->step[s].sent) {
            HC_OR_RETURN(hc_file_copy_out(set->step[s].partial, set->step[s].cancel, err));
        }
    }
    return HC_OK;
}

/* All steps, or none: first those that remove. */
static HcStatus take_steps(Set *set, HcError *err) {
    HcStatus status = HC_OK;
    for (size_t s = 0; s < set->count; s++) {
        Step *step = &set->step[s];
        if (step->partial != NULL) {
            HC_TRY(hc_file_list(step->from, hc_file_base(step->partial), &step->names, &step->count, err));
        }
        HC_TRY(settle_step(step, err));
        HC_TRY(step->remote && is_named(step) ? mark_step(set, step, err) : HC_OK);
    }
    for (int naming = 0; naming < 2; naming++) {
        for (size_t s = 0; s < set->count; s++) {
            if (!set->step[s].sent && is_named(&set->step[s]) == (naming == 1)) {
                HC_TRY(take_step(set, &set->step[s], err));
            }
        }
    }
    HC_TRY(send_steps(set, err));
done:
    /* Backwards, since two steps may be about one name. */
    for (int naming = 1; naming >= 0 && status != HC_OK; naming--) {
        for (size_t s = set->count; s-- > 0;) {
            if (!set->step[s].sent && is_named(&set->step[s]) == (naming == 1)) {
                undo_step(&set->step[s]);
            }
        }
    }
    for (size_t s = 0; s < set->count; s++) {
        hc_file_drop(set->step[s].old);
        if (status == HC_OK) {
            hc_file_drop(set->step[s].partial);
        }
        if (status == HC_OK && set->step[s].marked) {
            hc_file_end_upload(set->step[s].path);
        }
    }
    return status;
}

HcStatus hc_file_begin(const char *const *kept, int32_t count, HcError *err) {
    struct stat info;
    Set *set = calloc(1, sizeof *set);
    Kept *list = calloc((size_t)count + 1, sizeof *list);
    if (open_set != NULL || set == NULL || list == NULL) {
        free(set);
        free(list);
        return open_set != NULL ? hc_fail(err, HC_E_USAGE, "a set of files is open already")
                                : hc_fail_memory(err, (double)count * sizeof *list, "a list of files");
    }
    set->kept = list;
    for (int32_t k = 0; k < count; k++) {
        if (hc_remote_is(kept[k])) {
            list[set->kept_count].object = strdup(kept[k]);
            set->kept_count += list[set->kept_count].object != NULL;
        } else if (stat(kept[k], &info) == 0) {
            list[set->kept_count++] = (Kept){.device = info.st_dev, .number = info.st_ino};
        }
    }
    open_set = set;
    return HC_OK;
}

/* Adds a step as `how` says to the set that is open, or takes it now. */
static HcStatus add_or_take(const char *partial, const char *path, const Step *how, HcError *err) {
    HcStatus status = HC_OK;
    Set alone = {0};
    Set *set = open_set != NULL ? open_set : &alone;
    Step *step = NULL;
    HC_TRY(add_step(set, partial, path, &step, err));
    step->overwrite = how->overwrite;
    step->flush = how->flush || flush_all;
    step->sent = how->sent;
    step->cancel = how->cancel;
    if (set == &alone) {
        HC_TRY(take_steps(&alone, err));
    }
done:
    clear_set(&alone);
    return status;
}

HcStatus hc_file_keep_flushed(const char *partial, const char *path, bool overwrite, bool flush,
                              HcError *err) {
    const Step how = {.overwrite = overwrite, .flush = flush};
    return add_or_take(partial, path, &how, err);
}

HcStatus hc_file_send(const char *partial, const char *path, const HcFlag *cancel, HcError *err) {
    const Step how = {.sent = true, .cancel = cancel};
    return add_or_take(partial, path, &how, err);
}

HcStatus hc_file_keep(const char *partial, const char *path, bool overwrite, HcError *err) {
    return hc_file_keep_flushed(partial, path, overwrite, false, err);
}

HcStatus hc_file_retire(const char *path, HcError *err) {
    const Step how = {0};
    hc_file_remove_dead(path);
    return add_or_take(NULL, path, &how, err);
}

HcStatus hc_file_commit(HcError *err) {
    if (open_set == NULL) {
        return hc_fail(err, HC_E_USAGE, "no set of files is open");
    }
    HcStatus status = take_steps(open_set, err);
    if (status == HC_OK) {
        clear_set(open_set);
        free(open_set);
        open_set = NULL;
    }
    return status;
}

void hc_file_rollback(void) {
    if (open_set == NULL) {
        return;
    }
    for (size_t s = 0; s < open_set->count; s++) {
        hc_file_drop(open_set->step[s].partial);
    }
    clear_set(open_set);
    free(open_set);
    open_set = NULL;
}

static HcStatus visit_beside(const Step *step, const char *name, HcFileVisit visit, void *user,
                             HcError *err) {
    HcStatus status = HC_OK;
    char *lies = NULL;
    char *path = NULL;
    HC_TRY(hc_file_join(step->from, name, &lies, err));
    HC_TRY(hc_file_join(step->to, name, &path, err));
    HC_TRY(visit(lies, path, user, err));
done:
    free(lies);
    free(path);
    return status;
}

HcStatus hc_file_visit(HcFileVisit visit, void *user, HcError *err) {
    HcStatus status = HC_OK;
    char **names = NULL;
    size_t count = 0;
    for (size_t s = 0; open_set != NULL && s < open_set->count; s++) {
        const Step *step = &open_set->step[s];
        if (step->partial == NULL) {
            continue;
        }
        if (step->sent) {
            HC_TRY(visit(step->partial, HC_FILE_STANDARD_OUTPUT, user, err));
            continue;
        }
        HC_TRY(visit(step->partial, step->path, user, err));
        HC_TRY(hc_file_list(step->from, hc_file_base(step->partial), &names, &count, err));
        if (count > 1) {
            qsort(names, count, sizeof *names, hc_compare_texts);
        }
        for (size_t n = 0; n < count; n++) {
            HC_TRY(visit_beside(step, names[n], visit, user, err));
        }
        hc_file_list_free(names, count);
        names = NULL;
        count = 0;
    }
done:
    hc_file_list_free(names, count);
    return status;
}

HcStatus hc_file_find(const char *path, char **found, HcError *err) {
    HcStatus status = HC_OK;
    char *folder = hc_file_folder(path);
    char *beside = NULL;
    *found = NULL;
    HC_TRY(hc_text_made(folder, strlen(path), "a file name", err));
    for (size_t s = open_set != NULL ? open_set->count : 0; s-- > 0 && *found == NULL;) {
        const Step *step = &open_set->step[s];
        if (step->sent && strcmp(path, HC_FILE_STANDARD_OUTPUT) == 0) {
            *found = strdup(step->partial);
            continue;
        }
        if (!is_named(step) || strcmp(step->to, folder) != 0) {
            continue;
        }
        free(beside);
        beside = NULL;
        HC_TRY(hc_file_join(step->from, hc_file_base(path), &beside, err));
        struct stat info;
        if (lstat(beside, &info) == 0) {
            *found = beside;
            beside = NULL;
        } else if (errno != ENOENT && errno != ENOTDIR) {
            HC_TRY(hc_file_fail(err, HC_E_IO, beside, errno));
        }
    }
    if (*found == NULL && (*found = strdup(path)) == NULL) {
        HC_TRY(hc_fail_memory(err, (double)strlen(path), "a file name"));
    }
done:
    free(folder);
    free(beside);
    return status;
}
