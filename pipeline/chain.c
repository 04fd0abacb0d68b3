#include "pipeline/chain.h"
#include "pipeline/run.h"
#include "io/file.h"
#include "pipeline/stages/read.h"
#include "pipeline/stages/stages.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void hc_words_free(char **words, int32_t count) {
    if (words != NULL) {
        for (int32_t w = 0; w < count; w++) {
            free(words[w]);
        }
        free(words);
    }
}

void hc_chain_free(HcChain *chain) {
    if (chain == NULL) {
        return;
    }
    for (int32_t s = chain->count - 1; s >= 0; s--) {
        HcStage *stage = &chain->stages[s];
        if (stage->kind->close != NULL && stage->state != NULL) {
            stage->kind->close(stage);
        }
        hc_scene_clear(&stage->in);
        hc_scene_clear(&stage->out);
        free(stage->params);
        free(stage->state);
    }
    for (int32_t n = 0; n < chain->note_count; n++) {
        free(chain->notes[n]);
    }
    hc_words_free(chain->words, chain->word_count);
    hc_paths_clear(&chain->inputs);
    hc_file_use_clear(&chain->use);
    free(chain->stages);
    free(chain);
}

static HcStatus copy_words(HcChain *chain, const char *const *words, int32_t count, HcError *err) {
    chain->words = calloc((size_t)count + 1, sizeof *chain->words);
    if (chain->words == NULL) {
        return hc_fail_memory(err, (double)count * sizeof *chain->words, "the chain");
    }
    chain->word_count = count;
    for (int32_t w = 0; w < count; w++) {
        if ((chain->words[w] = strdup(words[w])) == NULL) {
            return hc_fail_memory(err, (double)strlen(words[w]), "the chain");
        }
    }
    return HC_OK;
}

/* Makes room for `count` stages; their kind is set by add_stage. */
static HcStatus make_chain(HcChain **out, const char *const *words, int32_t word_count, int32_t count,
                           HcError *err) {
    HcChain *chain = calloc(1, sizeof *chain);
    *out = chain;
    if (chain == NULL || (chain->stages = calloc((size_t)count, sizeof *chain->stages)) == NULL) {
        return hc_fail_memory(err, (double)count * sizeof(HcStage), "the chain");
    }
    return copy_words(chain, words, word_count, err);
}

static HcStatus add_stage(HcChain *chain, const HcStageClass *kind, HcError *err) {
    HcStage *stage = &chain->stages[chain->count];
    *stage = (HcStage){.kind = kind, .chain = chain, .place = chain->count};
    chain->count++;
    stage->params = calloc(1, kind->params_size > 0 ? kind->params_size : 1);
    stage->state = calloc(1, kind->state_size > 0 ? kind->state_size : 1);
    if (stage->params == NULL || stage->state == NULL) {
        return hc_fail_memory(err, (double)(kind->params_size + kind->state_size), kind->name);
    }
    hc_options_reset(kind->options, stage->params);
    return HC_OK;
}

static bool is_separator(const char *word) {
    return strcmp(word, "!") == 0;
}

static HcStatus parse_step(HcChain *chain, const char *const *words, int32_t count, const HcOptionSet *common,
                           HcError *err) {
    HcStatus status = HC_OK;
    const HcStageClass *kind = hc_stage_find(words[0]);
    if (kind == NULL) {
        return hc_stage_unknown(words[0], err);
    }
    if (chain->count == 0 && kind->role != HC_ROLE_SOURCE) {
        return hc_fail(err, HC_E_USAGE, "%s: a chain begins with read (hcube %s SCENE ... is the short form)",
                       kind->name, kind->name);
    }
    HC_TRY(add_stage(chain, kind, err));
    HcOptionSet sets[2] = {{.table = kind->options, .params = chain->stages[chain->count - 1].params}};
    if (common != NULL) {
        sets[1] = *common;
    }
    HC_TRY(hc_options_parse(kind->name, sets, common != NULL ? 2 : 1, words + 1, count - 1, err));
done:
    return status;
}

static HcStatus check_order(const HcChain *chain, HcError *err) {
    for (int32_t s = 1; s < chain->count; s++) {
        if (chain->stages[s].kind->role == HC_ROLE_SOURCE) {
            return hc_fail(err, HC_E_USAGE, "%s: step %d: only the first step reads",
                           chain->stages[s].kind->name, s + 1);
        }
    }
    return HC_OK;
}

HcStatus hc_chain_parse(HcChain **out, const char *const *words, int32_t word_count,
                        const HcOptionSet *common, HcError *err) {
    HcStatus status = HC_OK;
    HcChain *chain = NULL;
    int32_t steps = 1;
    for (int32_t w = 0; w < word_count; w++) {
        steps += is_separator(words[w]);
    }
    HC_TRY(make_chain(&chain, words, word_count, steps, err));
    const char *const *own = (const char *const *)chain->words;
    int32_t from = word_count > 0 && is_separator(own[0]) ? 1 : 0;
    for (int32_t w = from; w <= word_count; w++) {
        if (w < word_count && !is_separator(own[w])) {
            continue;
        }
        if (w == from) {
            HC_TRY(hc_fail(err, HC_E_USAGE,
                           w < word_count ? "step %d is empty" : "a step is missing after step %d",
                           chain->count + (w < word_count)));
        }
        HC_TRY(parse_step(chain, own + from, w - from, common, err));
        from = w + 1;
    }
    HC_TRY(check_order(chain, err));
done:
    if (status != HC_OK) {
        hc_chain_free(chain);
        chain = NULL;
    }
    *out = chain;
    return status;
}

/* A stage that only fits leaves nothing to write. */
static bool has_word(const char *const *words, int32_t count, const char *word) {
    for (int32_t w = 0; w < count; w++) {
        if (strcmp(words[w], word) == 0) {
            return true;
        }
    }
    return false;
}

HcStatus hc_chain_for_stage(HcChain **out, const HcStageClass *kind, const char *const *words,
                            int32_t word_count, const HcOptionSet *common, HcError *err) {
    HcStatus status = HC_OK;
    HcChain *chain = NULL;
    HcOptionSet sets[4];
    int32_t set_count = 0;
    HC_TRY(make_chain(&chain, words, word_count, 3, err));
    HC_TRY(add_stage(chain, &hc_stage_read, err));
    if (kind->role == HC_ROLE_STAGE || kind->role == HC_ROLE_SINK) {
        HC_TRY(add_stage(chain, kind, err));
    }
    if (kind->role != HC_ROLE_SINK && !has_word(words, word_count, "--fit-only")) {
        HC_TRY(add_stage(chain, &hc_stage_write, err));
    }
    /* The common options first: --overwrite is then for every output, not for the first stage that knows the
     * word. */
    if (common != NULL) {
        sets[set_count++] = *common;
    }
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        sets[set_count++] = (HcOptionSet){.table = stage->kind->options,
                                          .params = stage->params,
                                          .named_only = stage->kind->role == HC_ROLE_STAGE};
    }
    HC_TRY(hc_options_parse(kind->name, sets, set_count, (const char *const *)chain->words, word_count, err));
done:
    if (status != HC_OK) {
        hc_chain_free(chain);
        chain = NULL;
    }
    *out = chain;
    return status;
}

HcStatus hc_words_split(const char *text, const char *where, char ***words, int32_t *count, HcError *err) {
    HcStatus status = HC_OK;
    HcText word = {0};
    size_t capacity = strlen(text) / 2 + 2;
    char **list = calloc(capacity, sizeof *list);
    int32_t found = 0;
    if (list == NULL) {
        return hc_fail_memory(err, (double)capacity * sizeof *list, "the words of the chain");
    }
    const char *c = text;
    for (;;) {
        c += strspn(c, " \t\r\n\v\f");
        if (*c == '#') {
            c += strcspn(c, "\n");
            continue;
        }
        if (*c == '\0') {
            break;
        }
        while (*c != '\0' && !isspace((unsigned char)*c)) {
            if (*c == '\'' || *c == '"') {
                char quote = *c++;
                while (*c != '\0' && *c != quote) {
                    c += quote == '"' && *c == '\\' && c[1] != '\0';
                    hc_text_add(&word, "%c", *c++);
                }
                if (*c++ == '\0') {
                    HC_TRY(hc_fail(err, HC_E_USAGE, "%s: a quote (%c) is not closed", where, quote));
                }
            } else {
                c += *c == '\\' && c[1] != '\0';
                hc_text_add(&word, "%c", *c++);
            }
        }
        if ((list[found] = hc_text_take(&word)) == NULL) {
            HC_TRY(hc_fail_memory(err, 0, "the words of the chain"));
        }
        found++;
    }
done:
    hc_text_clear(&word);
    if (status != HC_OK) {
        hc_words_free(list, found);
        list = NULL;
        found = 0;
    }
    *words = list;
    *count = found;
    return status;
}

/* The value of `name` in "name=value" entries, or NULL; marks it as used. */
static const char *value_of(const HcOptionList *values, const char *name, size_t length, bool *used) {
    for (int32_t v = 0; values != NULL && v < values->count; v++) {
        const char *entry = values->item[v];
        if (strncmp(entry, name, length) == 0 && entry[length] == '=') {
            used[v] = true;
            return entry + length + 1;
        }
    }
    return NULL;
}

/* A value as one word or a part of one, whatever it holds: within the open quote, or quoted where none is. */
static void add_value(const char *value, char quote, HcText *text) {
    if (quote == '\0') {
        hc_word_print(value, text);
        return;
    }
    for (; *value != '\0'; value++) {
        if (quote == '\'' && *value == '\'') {
            hc_text_add(text, "'\\''");
        } else {
            bool escaped = quote == '"' && (*value == '"' || *value == '\\');
            hc_text_add(text, escaped ? "\\%c" : "%c", *value);
        }
    }
}

HcStatus hc_words_fill(const char *text, const char *where, const HcOptionList *values, char **out,
                       HcError *err) {
    HcStatus status = HC_OK;
    HcText filled = {0};
    bool used[HC_LIST_MAX] = {false};
    char quote = '\0'; /* the open one; a value between quotes is not quoted again */
    for (const char *c = text; *c != '\0'; c++) {
        if (quote == '\0' && *c == '#' && (c == text || isspace((unsigned char)c[-1]))) {
            c += strcspn(c, "\n");
            c -= *c == '\0';
            hc_text_add(&filled, "\n");
            continue;
        }
        if (*c == '\\' && quote != '\'' && c[1] != '\0') {
            hc_text_add(&filled, "%c%c", c[0], c[1]);
            c++;
            continue;
        }
        if (*c == '\'' || *c == '"') {
            quote = quote == '\0' ? *c : quote == *c ? '\0' : quote;
        }
        if ((*c == '{' || *c == '}') && c[1] == *c) {
            hc_text_add(&filled, "%c", *c++);
        } else if (*c == '{') {
            size_t length = strcspn(c + 1, "}\n");
            if (c[1 + length] != '}') {
                HC_TRY(hc_fail(err, HC_E_USAGE, "%s: a placeholder { is not closed", where));
            }
            const char *value = value_of(values, c + 1, length, used);
            if (value == NULL) {
                HC_TRY(hc_fail(err, HC_E_USAGE, "%s: {%.*s} has no value (give --set %.*s=VALUE)", where,
                               (int)length, c + 1, (int)length, c + 1));
            }
            add_value(value, quote, &filled);
            c += length + 1;
        } else {
            hc_text_add(&filled, "%c", *c);
        }
    }
    for (int32_t v = 0; values != NULL && v < values->count; v++) {
        if (!used[v]) {
            HC_TRY(hc_fail(err, HC_E_USAGE, "--set %s: %s has no such placeholder", values->item[v], where));
        }
    }
    if ((*out = hc_text_take(&filled)) == NULL) {
        HC_TRY(hc_fail_memory(err, 0, "the chain"));
    }
done:
    hc_text_clear(&filled);
    return status;
}

static HcStatus claim_named(const HcOption *option, const char *path, void *user, HcError *err) {
    (void)option;
    HcStage *stage = user;
    return hc_chain_claims(stage->chain, path) ? HC_OK : hc_stage_claim(stage, path, err);
}

/* What the options of a stage name and its plan has not claimed. */
static HcStatus add_named_files(HcStage *stage, HcError *err) {
    const HcOptionSet set = {.table = stage->kind->options, .params = stage->params};
    return hc_options_files(&set, HC_FILE_WRITTEN, claim_named, stage, err);
}

HcStatus hc_chain_plan(HcChain *chain, HcError *err) {
    HcStatus status = HC_OK;
    chain->claim_count = chain->read_count = 0;
    for (int32_t s = 0; s < chain->count; s++) {
        HcStage *stage = &chain->stages[s];
        hc_scene_clear(&stage->in);
        hc_scene_clear(&stage->out);
        stage->needs = (HcNeeds){0};
        if (s > 0) {
            HC_TRY(hc_scene_copy(&stage->in, &chain->stages[s - 1].out, err));
        }
        HC_TRY(stage->kind->plan(stage, err));
        HC_TRY(add_named_files(stage, err));
    }
    const HcStage *last = &chain->stages[chain->count - 1];
    if (!last->needs.has_output) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "%s: the result of the last step goes nowhere (add: ! write FILE)",
                       last->kind->name));
    }
    HC_TRY(hc_chain_check_notes(chain, err));
done:
    return status;
}

const HcStage *hc_chain_needs_whole(const HcStage *stage) {
    for (int32_t s = 1; s < stage->place; s++) {
        const HcStage *before = &stage->chain->stages[s];
        if (before->needs.missing != HC_MISSING_PASSED) {
            return before;
        }
    }
    return NULL;
}

bool hc_chain_keeps_missing(const HcChain *chain) {
    for (int32_t s = 1; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        if (stage->needs.missing == HC_MISSING_TAKEN && hc_chain_needs_whole(stage) == NULL) {
            return true;
        }
    }
    return false;
}

void hc_word_print(const char *word, HcText *text) {
    static const char safe[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,/:@%";
    if (*word != '\0' && word[strspn(word, safe)] == '\0') {
        hc_text_add(text, "%s", word);
        return;
    }
    hc_text_add(text, "'");
    for (; *word != '\0'; word++) {
        hc_text_add(text, *word == '\'' ? "'\\''" : "%c", *word);
    }
    hc_text_add(text, "'");
}

void hc_chain_print(const HcChain *chain, HcText *text) {
    for (int32_t w = 0; w < chain->word_count; w++) {
        hc_text_add(text, w == 0 ? "" : " ");
        if (is_separator(chain->words[w])) {
            hc_text_add(text, "!");
        } else {
            hc_word_print(chain->words[w], text);
        }
    }
}

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

void hc_chain_note(HcChain *chain, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    keep_note(chain, hc_text_vformat(format, arguments));
    va_end(arguments);
}

HcStatus hc_chain_check_notes(const HcChain *chain, HcError *err) {
    return chain->note_lost ? hc_fail_memory(err, 0, "a note") : HC_OK;
}

bool hc_chain_claims(const HcChain *chain, const char *path) {
    for (int32_t c = 0; c < chain->claim_count; c++) {
        if (hc_file_same_place(chain->claims[c].path, path)) {
            return true;
        }
    }
    return false;
}

static bool chain_reads(const HcChain *chain, const char *path) {
    for (int32_t r = 0; r < chain->read_count; r++) {
        if (hc_file_same_place(chain->reads[r], path)) {
            return true;
        }
    }
    return false;
}

HcStatus hc_stage_claim(HcStage *stage, const char *path, HcError *err) {
    HcChain *chain = stage->chain;
    const HcReader *reader = hc_source_reader(&chain->stages[0]);
    if (reader != NULL && hc_file_same_place(hc_reader_path(reader), path)) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: the chain reads its scene from this file", stage->kind->name,
                       path);
    }
    if (chain_reads(chain, path)) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: the chain reads this file", stage->kind->name, path);
    }
    if (hc_chain_claims(chain, path)) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: the chain writes this file already", stage->kind->name,
                       path);
    }
    if (chain->claim_count == HC_CLAIMS_MAX) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: more than %d outputs", stage->kind->name, path,
                       HC_CLAIMS_MAX);
    }
    chain->claims[chain->claim_count++] = (HcClaim){.path = path, .stage = stage};
    return HC_OK;
}

HcStatus hc_stage_reads(HcStage *stage, const char *path, HcError *err) {
    if (hc_chain_claims(stage->chain, path)) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: an earlier step writes this file, but only at the end",
                       stage->kind->name, path);
    }
    if (stage->chain->read_count == HC_CLAIMS_MAX) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: more than %d files to read", stage->kind->name, path,
                       HC_CLAIMS_MAX);
    }
    stage->chain->reads[stage->chain->read_count++] = path;
    return HC_OK;
}

HcRanks *hc_stage_ranks(const HcStage *stage) {
    const HcRunSettings *settings = stage->chain->settings;
    return settings != NULL ? settings->ranks : NULL;
}

HcStage *hc_stage_before(const HcStage *stage, const char *name) {
    for (int32_t s = stage->place - 1; s >= 0; s--) {
        if (strcmp(stage->chain->stages[s].kind->name, name) == 0) {
            return &stage->chain->stages[s];
        }
    }
    return NULL;
}
