/* The chains of --pool: one sums a scene, one fits the model, one is that of the batch with the model in the
 * place of the fit. */
#include "app/batch/pool.h"
#include "pipeline/statistics/statistics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The option that a word like --name or --name=value means, or NULL. */
static const HcOption *option_of(const HcStageClass *kind, const char *word) {
    HC_EACH_OPTION(option, kind->options) {
        size_t length = strlen(option->name);
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, option->name, length) == 0 &&
            (word[2 + length] == '\0' || word[2 + length] == '=')) {
            return option;
        }
    }
    return NULL;
}

/* The words of a step are first .. end - 1. */
static void find_step(const HcPaths *words, int32_t step, int32_t *first, int32_t *end) {
    *first = *end = 0;
    for (int32_t w = 0, s = 0; w < words->count && s <= step; w++) {
        if (strcmp(words->path[w], "!") == 0) {
            s++;
            *first = s <= step ? w + 1 : *first;
        }
        *end = s <= step ? w + 1 : *end;
    }
}

static HcStatus add_words(HcPaths *to, const char *const *words, HcError *err) {
    for (; *words != NULL; words++) {
        HC_OR_RETURN(hc_paths_add(to, *words, err));
    }
    return HC_OK;
}

/* One step of the chain; of its options, where `half` is given, only those of the fit or only the others. */
static HcStatus add_step(const HcBatch *batch, const HcChain *chain, int32_t step, const bool *half,
                         HcPaths *to, HcError *err) {
    int32_t first = 0;
    int32_t end = 0;
    find_step(&batch->words, step, &first, &end);
    if (to->count > 0) {
        HC_OR_RETURN(hc_paths_add(to, "!", err));
    }
    for (int32_t w = first; w < end; w++) {
        const char *word = batch->words.path[w];
        const HcOption *option = option_of(chain->stages[step].kind, word);
        bool wanted = half == NULL || option == NULL || option->of_fit == *half;
        bool with_value = option != NULL && hc_option_takes_value(option) && strchr(word, '=') == NULL;
        if (wanted) {
            HC_OR_RETURN(hc_paths_add(to, word, err));
        }
        if (with_value && w + 1 < end && wanted) {
            HC_OR_RETURN(hc_paths_add(to, batch->words.path[w + 1], err));
        }
        w += with_value;
    }
    return HC_OK;
}

/* The steps in front of the fit, except for those that write. */
static HcStatus add_steps_before(const HcBatchPool *pool, const HcBatch *batch, const HcChain *chain,
                                 HcPaths *to, HcError *err) {
    for (int32_t s = 0; s < pool->step; s++) {
        if (chain->stages[s].kind->role != HC_ROLE_SINK) {
            HC_OR_RETURN(add_step(batch, chain, s, NULL, to, err));
        }
    }
    return HC_OK;
}

static HcStatus make_sums_chain(HcBatchPool *pool, const HcBatch *batch, const HcChain *chain, HcError *err) {
    static const char *const values[] = {"!", "cov", "--output", "{output}", "--sums", NULL};
    static const char *const noise[] = {"!", "cov", "--output", "{output}.noise", "--sums", "--noise", NULL};
    HcPaths *words = &pool->sums.words;
    const HcStage *stage = &chain->stages[pool->step];
    HcFit how;
    (void)stage->kind->rare.fits(stage, &how);
    HC_OR_RETURN(add_steps_before(pool, batch, chain, words, err));
    HC_OR_RETURN(add_words(words, values, err));
    pool->sums_noise = how.noise != HC_DIFFERENCE_NONE;
    if (pool->sums_noise) {
        HC_OR_RETURN(add_words(words, noise, err));
        HC_OR_RETURN(hc_paths_add(words, hc_noise_word_of(how.noise), err));
    }
    if (pool->sums_noise && how.window != NULL) {
        HC_OR_RETURN(hc_paths_add(words, "--noise-window", err));
        HC_OR_RETURN(hc_paths_add(words, how.window, err));
    }
    return hc_batch_print_chain(&pool->sums, err);
}

/* A name in which braces are no placeholders; fresh memory. */
static char *without_placeholders(const char *name) {
    HcText text = {0};
    for (; *name != '\0'; name++) {
        hc_text_add(&text, *name == '{' || *name == '}' ? "%c%c" : "%c", *name, *name);
    }
    return hc_text_take(&text);
}

static HcStatus add_model(HcPaths *to, const char *option, const char *model, HcError *err) {
    HcStatus status = HC_OK;
    char *name = without_placeholders(model);
    HC_OR_RETURN(hc_text_made(name, strlen(model), "a path", err));
    HC_TRY(hc_paths_add(to, option, err));
    HC_TRY(hc_paths_add(to, name, err));
done:
    free(name);
    return status;
}

/* Refuses a word that would be another one for each scene. */
static HcStatus check_same_for_all(const char *word, HcError *err) {
    for (; *word != '\0'; word++) {
        if (*word == '{' && word[1] != '{') {
            return hc_fail(err, HC_E_USAGE, "batch: --pool: %s is another one for each scene", word);
        }
        word += *word == '{';
    }
    return HC_OK;
}

static HcStatus make_fit_chain(HcBatchPool *pool, const HcBatch *batch, const HcChain *chain, HcError *err) {
    const bool of_fit = true;
    HcPaths *words = &pool->fit.words;
    HC_OR_RETURN(add_steps_before(pool, batch, chain, words, err));
    int32_t before = words->count;
    HC_OR_RETURN(add_step(batch, chain, pool->step, &of_fit, words, err));
    for (int32_t w = before; w < words->count; w++) {
        HC_OR_RETURN(check_same_for_all(words->path[w], err));
    }
    HC_OR_RETURN(hc_paths_add(words, "--fit-only", err));
    HC_OR_RETURN(add_model(words, "--save-model", pool->model, err));
    return hc_batch_print_chain(&pool->fit, err);
}

static HcStatus make_applied_chain(HcBatchPool *pool, const HcBatch *batch, const HcChain *chain,
                                   HcError *err) {
    const bool of_fit = false;
    HcPaths *words = &pool->applied.words;
    for (int32_t s = 0; s < chain->count; s++) {
        HC_OR_RETURN(add_step(batch, chain, s, s == pool->step ? &of_fit : NULL, words, err));
        if (s == pool->step) {
            HC_OR_RETURN(add_model(words, "--model", pool->model, err));
        }
    }
    return hc_batch_print_chain(&pool->applied, err);
}

/* Names the stages that fit models. */
static HcStatus fail_no_fit(HcError *err) {
    char names[256] = "";
    for (int i = 0; hc_stage_list[i] != NULL; i++) {
        size_t length = strlen(names);
        if (hc_stage_list[i]->rare.fits != NULL) {
            snprintf(names + length, sizeof names - length, "%s%s", length > 0 ? ", " : "",
                     hc_stage_list[i]->name);
        }
    }
    return hc_fail(err, HC_E_USAGE, "batch: --pool: no step of the chain fits a model (stages that can: %s)",
                   names);
}

/* The one step whose fit is pooled. */
static HcStatus find_fit(const HcChain *chain, int32_t *step, HcError *err) {
    HcFit how;
    int32_t count = 0;
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStageClass *kind = chain->stages[s].kind;
        if (kind->rare.fits != NULL && kind->rare.fits(&chain->stages[s], &how)) {
            *step = s;
            count++;
        }
    }
    if (count == 0) {
        return fail_no_fit(err);
    }
    if (count > 1) {
        return hc_fail(err, HC_E_USAGE, "batch: --pool: more than one step of the chain fits a model");
    }
    (void)chain->stages[*step].kind->rare.fits(&chain->stages[*step], &how);
    if (how.save_model != NULL) {
        return hc_fail(err, HC_E_USAGE, "batch: --save-model %s: --pool names the model", how.save_model);
    }
    if (how.rule != NULL) {
        return hc_fail(err, HC_E_USAGE,
                       "batch: --components %s: --pool applies a loaded model to each scene, give a number",
                       how.rule);
    }
    if (how.own != NULL) {
        return hc_fail(err, HC_E_USAGE,
                       "batch: %s: --pool fits one model to all scenes, and each has its own", how.own);
    }
    return HC_OK;
}

HcStatus hc_batch_pool_chains(HcBatchPool *pool, const HcBatch *batch, HcError *err) {
    HcStatus status = HC_OK;
    HcChain *chain = NULL;
    HC_TRY(hc_chain_parse(&chain, (const char *const *)batch->words.path, batch->words.count, NULL, err));
    HC_TRY(find_fit(chain, &pool->step, err));
    HC_TRY(make_sums_chain(pool, batch, chain, err));
    HC_TRY(make_fit_chain(pool, batch, chain, err));
    HC_TRY(make_applied_chain(pool, batch, chain, err));
done:
    hc_chain_free(chain);
    return status;
}
