/* Parses the steps and plans them: each stage with what the stages before it hand on. Planning has no
 * side effects, so that `hcube plan` and `hcube run` share it. */
#include "pipeline/chain.h"
#include "core/allocate.h"
#include "io/file.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void hc_chain_free(HcChain *chain) {
    if (chain == NULL) {
        return;
    }
    for (int32_t s = chain->count - 1; s >= 0; s--) {
        HcStage *stage = &chain->stages[s];
        if (stage->state != NULL) {
            hc_scene_sums_end(stage);
        }
        if (stage->kind->close != NULL && stage->state != NULL) {
            stage->kind->close(stage);
        }
        hc_scene_clear(&stage->in);
        hc_scene_clear(&stage->out);
        free(stage->params);
        free(stage->state);
        free(stage->sample.values);
        free(stage->sample.at);
        free(stage->neighbours.values);
        free(stage->neighbours.at);
    }
    for (int32_t n = 0; n < chain->note_count; n++) {
        free(chain->notes[n]);
    }
    hc_free_texts(chain->words, chain->word_count);
    free(chain->file);
    hc_paths_clear(&chain->inputs);
    hc_paths_clear(&chain->reads);
    free(chain->report);
    hc_file_use_clear(&chain->use);
    free(chain->stages);
    free(chain);
}

static HcStatus copy_words(HcChain *chain, const char *const *words, int32_t count, HcError *err) {
    HC_OR_RETURN(hc_new(chain->words, (size_t)count + 1, "the chain", err));
    chain->word_count = count;
    for (int32_t w = 0; w < count; w++) {
        chain->words[w] = strdup(words[w]);
        HC_OR_RETURN(hc_text_made(chain->words[w], strlen(words[w]), "the chain", err));
    }
    return HC_OK;
}

/* Allocates `count` stages; their kind is set by add_stage. */
static HcStatus make_chain(HcChain **out, const char *const *words, int32_t word_count, int32_t count,
                           HcError *err) {
    HC_OR_RETURN(hc_new(*out, 1, "the chain", err));
    HC_OR_RETURN(hc_new((*out)->stages, count, "the chain", err));
    return copy_words(*out, words, word_count, err);
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
    if (kind->role == HC_ROLE_SOURCE) {
        chain->source = stage->state;
    }
    return HC_OK;
}

HcStatus hc_chain_twin(HcChain **out, const HcChain *chain, const HcStageClass *tap, HcError *err) {
    HcStatus status = HC_OK;
    HcChain *twin = NULL;
    HC_OR_RETURN(make_chain(&twin, NULL, 0, chain->count, err));
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStage *from = &chain->stages[s];
        bool tapped = from->kind->rare.check != NULL;
        const HcStageClass *kind = tapped ? tap : from->kind;
        if (!tapped && (kind->role == HC_ROLE_SINK || kind->role == HC_ROLE_TAP)) {
            continue;
        }
        HC_TRY(add_stage(twin, kind, err));
        HcStage *stage = &twin->stages[twin->count - 1];
        memcpy(stage->params, tapped ? (const void *)&from : from->params, kind->params_size);
    }
    twin->plain = true;
    twin->settles_only = true;
    *out = twin;
    twin = NULL;
done:
    hc_chain_free(twin);
    return status;
}

static bool is_separator(const char *word) {
    return strcmp(word, "!") == 0;
}

/* Replaces names that options had before, with a note. */
static HcStatus renew_words(HcStage *stage, const HcOptionSet *sets, int32_t set_count, char **words,
                            int32_t count, int32_t *at, HcError *err) {
    HcText note = {0};
    HcStatus status = hc_options_renew(stage->kind->name, sets, set_count, words, count, at, &note, err);
    hc_stage_note_file(stage, NULL, &note);
    return status;
}

/* at: the word of a failure, 0 = that of the step. */
static HcStatus parse_step(HcChain *chain, char **words, int32_t count, const HcOptionSet *common,
                           int32_t *at, HcError *err) {
    const HcStageClass *kind = hc_stage_find(words[0]);
    if (kind == NULL) {
        return hc_stage_unknown(words[0], err);
    }
    if (chain->count == 0 && kind->role != HC_ROLE_SOURCE) {
        return hc_fail(err, HC_E_USAGE, "%s: a chain begins with read (hcube %s SCENE ... is the short form)",
                       kind->name, kind->name);
    }
    HC_OR_RETURN(add_stage(chain, kind, err));
    HcOptionSet sets[2] = {{.table = kind->options, .params = chain->stages[chain->count - 1].params}};
    if (common != NULL) {
        sets[1] = *common;
    }
    int32_t set_count = common != NULL ? 2 : 1;
    HcStatus status =
        renew_words(&chain->stages[chain->count - 1], sets, set_count, words + 1, count - 1, at, err);
    if (status == HC_OK) {
        status = hc_options_parse_at(kind->name, sets, set_count, (const char *const *)words + 1, count - 1,
                                     at, err);
    }
    *at += 1; /* behind the name of the step */
    return status;
}

static HcStatus check_order(const HcChain *chain, HcError *err) {
    for (int32_t s = 1; s < chain->count; s++) {
        if (chain->stages[s].kind->role == HC_ROLE_SOURCE) {
            HcStatus status = hc_fail(err, HC_E_USAGE, "%s: step %d: only the first step reads",
                                      chain->stages[s].kind->name, s + 1);
            return hc_stage_at_line(&chain->stages[s], status, err);
        }
    }
    return HC_OK;
}

HcStatus hc_chain_parse(HcChain **out, const char *const *words, int32_t word_count,
                        const HcOptionSet *common, HcError *err) {
    return hc_chain_parse_file(out, NULL, NULL, words, word_count, common, err);
}

/* Puts the place of a word in the chain file before a failure. */
static HcStatus at_line(HcStatus status, const char *file, const int32_t *lines, int32_t word, HcError *err) {
    bool typed = file == NULL || status != HC_E_USAGE || lines[word] == 0;
    return typed ? status : hc_fail_before(err, status, "%s:%d", file, lines[word]);
}

/* The step of words from `from` to before `to`. lines: NULL = typed. */
static HcStatus add_step(HcChain *chain, int32_t from, int32_t to, const int32_t *lines,
                         const HcOptionSet *common, HcError *err) {
    int32_t at = 0;
    HcStatus status = HC_OK;
    if (from == to) {
        bool ends = to == chain->word_count;
        status = hc_fail(err, HC_E_USAGE, ends ? "a step is missing after step %d" : "step %d is empty",
                         chain->count + !ends);
        from = ends && to > 0 ? to - 1 : from; /* the ! */
        return ends && to == 0 ? status : at_line(status, chain->file, lines, from, err);
    }
    status = parse_step(chain, chain->words + from, to - from, common, &at, err);
    if (status == HC_OK) {
        chain->stages[chain->count - 1].line = lines != NULL ? lines[from] : 0;
    }
    return at_line(status, chain->file, lines, from + at, err);
}

HcStatus hc_chain_parse_file(HcChain **out, const char *file, const int32_t *lines, const char *const *words,
                             int32_t word_count, const HcOptionSet *common, HcError *err) {
    HcStatus status = HC_OK;
    HcChain *chain = NULL;
    int32_t steps = 1;
    for (int32_t w = 0; w < word_count; w++) {
        steps += is_separator(words[w]);
    }
    HC_TRY(make_chain(&chain, words, word_count, steps, err));
    if (file != NULL && (chain->file = strdup(file)) == NULL) {
        HC_TRY(hc_fail_memory(err, (double)strlen(file), "the chain"));
    }
    const char *const *own = (const char *const *)chain->words;
    int32_t from = word_count > 0 && is_separator(own[0]) ? 1 : 0;
    for (int32_t w = from; w <= word_count; w++) {
        if (w < word_count && !is_separator(own[w])) {
            continue;
        }
        HC_TRY(add_step(chain, from, w, lines, common, err));
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
    int32_t set_count = 0, at = -1;
    HC_TRY(make_chain(&chain, words, word_count, 3, err));
    HC_TRY(add_stage(chain, hc_stage_find("read"), err));
    if (kind->role == HC_ROLE_STAGE || kind->role == HC_ROLE_SINK) {
        HC_TRY(add_stage(chain, kind, err));
    }
    if (kind->role != HC_ROLE_SINK && !has_word(words, word_count, "--fit-only")) {
        HC_TRY(add_stage(chain, hc_stage_find("write"), err));
    }
    /* The common options first: --overwrite is then for every output, not for the first stage that knows the
     * word. What the stage and read both know (--mask) belongs to the stage. */
    if (common != NULL) {
        sets[set_count++] = *common;
    }
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        sets[set_count++] = (HcOptionSet){.table = stage->kind->options,
                                          .params = stage->params,
                                          .named_only = stage->kind->role == HC_ROLE_STAGE,
                                          .yields = s == 0};
    }
    HC_TRY(renew_words(&chain->stages[kind->role != HC_ROLE_SOURCE], sets, set_count, chain->words,
                       word_count, &at, err));
    /* bands SCENE LIST OUTPUT: with three words, that between them is the stage's. */
    bool three = hc_options_places(sets, set_count, (const char *const *)chain->words, word_count) == 3;
    for (int32_t s = 0; three && s < set_count; s++) {
        sets[s].named_only = false;
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

/* By what the stage is and its options alone: a result changes no type of an output. */
static bool keeps_values(const HcStage *stage) {
    HcFit how = {0};
    const HcStageClass *kind = stage->kind;
    return kind->role != HC_ROLE_STAGE || kind->rare.keeps_values ||
           (kind->rare.fits != NULL && kind->rare.fits(stage, &how) && how.fit_only);
}

static HcStatus plan_stage(HcStage *stage, HcError *err) {
    HcStatus status = stage->place > 0 ? hc_chain_collect_files(stage, err) : HC_OK;
    if (status == HC_OK) {
        status = stage->kind->plan(stage, err);
    }
    stage->out.stored = stage->out.stored && keeps_values(stage);
    return hc_stage_at_line(stage, status, err);
}

/* Pixels of the longest side that suffice for all that the chain makes; 0 = it needs every pixel. */
static int64_t enough_for(const HcChain *chain) {
    int64_t enough = 0;
    for (int32_t s = 1; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        int64_t own = stage->kind->rare.suffices != NULL ? stage->kind->rare.suffices(stage) : 0;
        if (own == 0) {
            return 0;
        }
        enough = hc_max64(enough, own);
    }
    return enough;
}

HcStatus hc_chain_plan(HcChain *chain, HcError *err) {
    chain->output_count = 0;
    chain->sends = NULL;
    hc_paths_clear(&chain->reads);
    chain->source->enough = enough_for(chain);
    for (int32_t s = 0; s < chain->count; s++) {
        HcStage *stage = &chain->stages[s];
        hc_scene_clear(&stage->in);
        hc_scene_clear(&stage->out);
        stage->needs = (HcNeeds){0};
        stage->masks = NULL;
        if (s > 0) {
            HC_OR_RETURN(hc_scene_copy(&stage->in, &chain->stages[s - 1].out, err));
        }
        HC_OR_RETURN(plan_stage(stage, err));
        hc_stage_takes(stage, HC_SPACE_DEVICE, stage->masks != NULL ? sizeof stage->masked : 0);
    }
    const HcStage *last = &chain->stages[chain->count - 1];
    if (last->kind->role < HC_ROLE_SINK && !last->needs.has_output) {
        HcStatus status =
            hc_fail(err, HC_E_USAGE, "%s: the result of the last step goes nowhere (add: ! write FILE)",
                    last->kind->name);
        return hc_stage_at_line(last, status, err);
    }
    return hc_chain_check_notes(chain, err);
}
