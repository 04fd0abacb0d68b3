/* What stages ask of the chain that they are in. Below the chain and every stage, which both need it: here
 * nothing is known of any stage in particular. */
#include "pipeline/option/words.h"
#include "pipeline/chain.h"
#include "pipeline/settings.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

void hc_stage_takes(HcStage *stage, HcSpace space, size_t bytes) {
    stage->needs.memory[space].bytes += bytes;
}

void hc_stage_takes_or(HcStage *stage, HcSpace space, size_t bytes, size_t scarce) {
    hc_stage_takes(stage, space, bytes);
    stage->needs.memory[space].spared += bytes - scarce;
}

size_t hc_stage_bytes(const HcStage *stage, HcSpace space) {
    return stage->needs.memory[space].bytes - (stage->tight ? stage->needs.memory[space].spared : 0);
}

/* ---- notes ---- */

/* Takes the note, unless it is there already; NULL = memory ran out. */
static void keep_note(HcChain *chain, char *note) {
    for (int32_t n = 0; note != NULL && n < chain->note_count; n++) {
        if (strcmp(chain->notes[n], note) == 0) {
            free(note);
            return;
        }
    }
    if (note != NULL && chain->note_count < HC_NOTES_MAX) {
        chain->notes[chain->note_count++] = note;
    } else {
        chain->note_lost = chain->note_lost || note == NULL;
        free(note);
    }
}

void hc_stage_note(HcStage *stage, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = hc_text_vformat(format, arguments);
    va_end(arguments);
    keep_note(stage->chain, text != NULL ? hc_text_format("%s: %s", stage->kind->name, text) : NULL);
    free(text);
}

void hc_stage_remark(HcStage *stage, const char *path, const char *remark) {
    if (*remark != '\0') {
        hc_stage_note(stage, "%s: %s", path, remark);
    }
}

void hc_stage_note_lost(HcStage *stage) {
    stage->chain->note_lost = true;
}

void hc_stage_note_file(HcStage *stage, const char *path, HcText *text) {
    if (text->failed) {
        hc_stage_note_lost(stage);
    } else if (text->length > 0) {
        hc_stage_note(stage, "%s%s%s", path != NULL ? path : "", path != NULL ? ": " : "", text->data);
    }
    hc_text_clear(text);
}

/* Whether a message begins with a name and a colon. */
static bool begins_with(const char *text, const char *name) {
    size_t length = strlen(name);
    return strncmp(text, name, length) == 0 && text[length] == ':';
}

HcStatus hc_stage_named(const HcStage *stage, HcStatus status, HcError *err) {
    if (status != HC_E_NUMERIC || err == NULL || err->status != status) {
        return status;
    }
    if (!begins_with(err->text, stage->kind->name)) {
        (void)hc_fail_before(err, status, "%s", stage->kind->name);
    }
    return hc_stage_at_line(stage, status, err);
}

HcStatus hc_stage_at_line(const HcStage *stage, HcStatus status, HcError *err) {
    const char *file = stage->chain->file;
    bool mends = status == HC_E_USAGE || status == HC_E_INPUT || status == HC_E_IO ||
                 status == HC_E_UNSUPPORTED || status == HC_E_NUMERIC;
    if (!mends || file == NULL || stage->line == 0 || err == NULL || begins_with(err->text, file)) {
        return status;
    }
    return hc_fail_before(err, status, "%s:%d", file, stage->line);
}

void hc_chain_note(HcChain *chain, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    keep_note(chain, hc_text_vformat(format, arguments));
    va_end(arguments);
}

void hc_chain_print(const HcChain *chain, HcText *text) {
    for (int32_t w = 0; w < chain->word_count; w++) {
        hc_text_add(text, w == 0 ? "" : " ");
        if (strcmp(chain->words[w], "!") == 0) {
            hc_text_add(text, "!");
        } else {
            hc_word_print(chain->words[w], text);
        }
    }
}

HcStatus hc_chain_check_notes(const HcChain *chain, HcError *err) {
    return chain->note_lost ? hc_fail_memory(err, 0, "a note") : HC_OK;
}

/* ---- files ---- */

bool hc_stage_overwrite(const HcStage *stage) {
    bool may = stage->chain->overwrite;
    HC_EACH_OPTION(option, stage->kind->options) {
        if (!stage->chain->steps_keep && strcmp(option->name, "overwrite") == 0) {
            may = may || *(const bool *)((const char *)stage->params + option->offset);
        }
    }
    return may;
}

bool hc_chain_writes(const HcChain *chain, const char *path) {
    for (int32_t c = 0; c < chain->output_count; c++) {
        if (hc_file_same_place(chain->outputs[c].path, path)) {
            return true;
        }
    }
    return false;
}

HcStatus hc_stage_will_write(HcStage *stage, const char *path, HcError *err) {
    HcChain *chain = stage->chain;
    const HcView *view = chain->source->view;
    if (chain->settles_only) {
        return HC_OK;
    }
    if (view != NULL && hc_file_same_place(hc_reader_path(hc_view_reader(view)), path)) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: the chain reads its scene from this file", stage->kind->name,
                       path);
    }
    if (hc_paths_find_place(&chain->reads, path) != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: the chain reads this file", stage->kind->name, path);
    }
    if (hc_chain_writes(chain, path)) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: the chain writes this file already", stage->kind->name,
                       path);
    }
    if (chain->output_count == HC_CHAIN_FILES_MAX) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: more than %d outputs", stage->kind->name, path,
                       HC_CHAIN_FILES_MAX);
    }
    chain->outputs[chain->output_count++] = (HcOutput){.path = path, .stage = stage};
    return HC_OK;
}

HcStatus hc_stage_will_send(HcStage *stage, HcError *err) {
    HcChain *chain = stage->chain;
    if (chain->settles_only) {
        return HC_OK;
    }
    if (!chain->single) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: -: only a single run sends its output to standard output (./- is a file of that "
                       "name)",
                       stage->kind->name);
    }
    if (chain->sends != NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: -: an earlier step sends its output to standard output already",
                       stage->kind->name);
    }
    chain->sends = stage;
    return HC_OK;
}

HcStatus hc_stage_writes(HcStage *stage, const char *path, HcError *err) {
    HC_OR_RETURN(hc_stage_will_write(stage, path, err));
    if (!stage->chain->settles_only) {
        HC_OR_RETURN(hc_file_check(path, hc_stage_overwrite(stage), err));
    }
    return HC_OK;
}

/* ---- the chain around a stage ---- */

HcRanks *hc_stage_ranks(const HcStage *stage) {
    const HcRunSettings *settings = stage->chain->settings;
    return settings != NULL ? settings->ranks : NULL;
}

const HcFlag *hc_stage_cancel(const HcStage *stage) {
    const HcRunSettings *settings = stage->chain->settings;
    return settings != NULL ? settings->cancel : NULL;
}

const HcStage *hc_stage_previous(const HcStage *stage) {
    int32_t s = stage->place - 1;
    while (s >= 0 && stage->chain->stages[s].kind->role == HC_ROLE_TAP) {
        s--;
    }
    return s >= 0 ? &stage->chain->stages[s] : NULL;
}

HcStage *hc_stage_before(const HcStage *stage, HcGives gives) {
    for (int32_t s = stage->place - 1; s >= 0; s--) {
        if (stage->chain->stages[s].kind->gives == gives) {
            return &stage->chain->stages[s];
        }
    }
    return NULL;
}

const HcStage *hc_chain_needs_whole(const HcStage *stage) {
    for (int32_t s = 1; s < stage->place; s++) {
        const HcStage *before = &stage->chain->stages[s];
        if (before->needs.missing != HC_MISSING_PASSED && before->needs.missing != HC_MISSING_KEPT) {
            return before;
        }
    }
    return NULL;
}

void hc_chain_note_left_out(HcStage *stage) {
    const HcStage *before = hc_chain_needs_whole(stage);
    if (before != NULL && !stage->chain->stages[0].out.complete) {
        hc_stage_note(stage, "pixels without a value in some band are left out, since %s needs whole ones",
                      before->kind->name);
    }
}

const HcStage *hc_chain_wants_whole(const HcStage *stage) {
    const HcChain *chain = stage->chain;
    for (int32_t s = stage->place + 1; s < chain->count; s++) {
        const HcStage *after = &chain->stages[s];
        HcMissing missing = after->kind->role == HC_ROLE_STAGE ? after->needs.missing : HC_MISSING_PASSED;
        if (missing != HC_MISSING_PASSED) {
            return missing == HC_MISSING_MASKED ? after : NULL;
        }
    }
    return NULL;
}

bool hc_chain_keeps_missing(const HcChain *chain) {
    for (int32_t s = 1; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        bool asks = stage->needs.missing == HC_MISSING_TAKEN || stage->needs.missing == HC_MISSING_KEPT;
        if (asks && hc_chain_needs_whole(stage) == NULL) {
            return true;
        }
    }
    return false;
}

int32_t hc_stage_file_band(const HcStage *stage, int32_t band) {
    return (stage->in.source_band != NULL ? stage->in.source_band[band] : band) + 1;
}
