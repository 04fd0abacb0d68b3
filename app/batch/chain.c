/* The chain of a batch: options out of the words, read and write around them. */
#include "app/batch/batch.h"
#include "io/gdal/remote.h"
#include "core/allocate.h"
#include "io/file.h"
#include "io/scene_files.h"
#include "pipeline/report/report.h"
#include "pipeline/stages/stages.h"

#include <stdlib.h>
#include <string.h>

const HcOption hc_batch_own_options[] = {
    {HC_TEXT(HcBatchParams, scenes), .file = HC_FILE_READ, .value = "LIST|GLOB|DIR", .required = true,
     .help =
         "text file with one scene a line, quoted pattern, folder, or STAC item, collection or search (file "
         "or https://...)"},
    {HC_TEXT(HcBatchParams, output), .file = HC_FILE_WRITTEN, .value = "PATTERN", .required = true,
     .help = "output of each scene, with {stem}, {name}, {dir}, {parent}, {folder} or {index}; the chain may "
             "use them, too"},
    {HC_FLAG(HcBatchParams, recursive),
     .help = "also take the scenes of all sub-folders of --scenes (use {dir} in the output)"},
    {HC_INT(HcBatchParams, jobs), .range = {1, 1024},
     .otherwise = "1 to 4 for each GPU; on the CPU 1 for every 4 processors, at most 8", .value = "COUNT",
     .help = "number of scenes processed at the same time; they share memory, threads and GPUs"},
    {HC_TEXT(HcBatchParams, worker), .value = "I/N", .otherwise = "every scene",
     .help = "process only every Nth scene, starting with the Ith (from 1)"},
    {HC_TEXT(HcBatchParams, summary), .file = HC_FILE_WRITTEN, .value = "FILE.csv|FILE.html",
     .help = "write a row for each scene (outcome, times, pixels, results) as a table, or as a page with "
             "small pictures"},
    {HC_TEXT(HcBatchParams, report), .file = HC_FILE_WRITTEN, .value = "FILE.html",
     .help = "write a report of each scene beside its output, and this page with a picture of and a link to "
             "each"},
    {HC_TEXT(HcBatchParams, collection, "stac-collection"), .value = "FOLDER",
     .help = "write a STAC item beside each output, and into FOLDER the collection of all that are complete "
             "(collection.json, catalog.json)"},
    {HC_TEXT(HcBatchParams, asset), .otherwise = "the only one with the role data", .value = "NAME",
     .help = "asset of STAC items that is the scene; {asset:NAME} and {role:ROLE} in the chain are others"},
    {HC_LIST(HcBatchParams, filter), .value = "cloud=PERCENT|date=FROM/TO|bbox=W,S,E,N",
     .help = "take only STAC items with at most this cloud cover, from this time, or that touch this box "
             "[degrees]"},
    {HC_LIST(HcBatchParams, exclude), .value = "PATTERN",
     .help = "leave out scenes whose name matches, as '*_mask*'; a pattern with a slash is compared with the "
             "path"},
    {HC_FLAG(HcBatchParams, one_model, "one-model"),
     .help = "with --pool: refuse scenes whose bands differ instead of fitting a model for each group of "
             "equal bands"},
    {HC_FLAG(HcBatchParams, retry_failed, "retry-failed"), .help = "process scenes again that failed before"},
    {HC_INT(HcBatchParams, max_failures, "max-failures"), .range = {1, 1 << 30}, .otherwise = "no limit",
     .value = "COUNT", .help = "start no further scene after COUNT failures"},
    {HC_FLAG(HcBatchParams, status), .help = "only show which scenes are done, failed, running and left"},
    {HC_FLAG(HcBatchParams, hash),
     .help = "identify inputs by their content instead of their modification time"},
    {HC_TEXT(HcBatchParams, pool), .file = HC_FILE_WRITTEN, .value = "MODEL.json",
     .help = "fit one mnf or pca to all scenes, save it to this file, and apply it to each"},
    {HC_LIST(HcBatchParams, set), .value = "NAME=VALUE", .help = "fill {NAME} in the chain"},
    {0}};

/* HcCommon lies at the beginning of HcBatchParams. */
const HcOption *hc_batch_common_options(void) {
    /* Records are what a batch goes on by. --jobs shares out whole scenes. */
    static const char *const left_out[] = {"ranks", "record", "report", NULL};
    static HcOption shared[20];
    shared[hc_common_options_but(left_out, shared)] = (HcOption){0};
    return shared;
}

const HcOption *hc_batch_options(void) {
    static HcOption all[32];
    size_t count = 0;
    HC_EACH_OPTION(option, hc_batch_own_options) {
        all[count++] = *option;
    }
    HC_EACH_OPTION(option, hc_batch_common_options()) {
        all[count++] = *option;
    }
    all[count] = (HcOption){0};
    return all;
}

/* ---- values of --set ---- */

/* The value of NAME=VALUE entries, which may hold braces that are no placeholders; NULL where there is none.
 */
static const char *value_of(const HcOptionList *values, const char *name, size_t length, bool *used) {
    for (int32_t v = 0; v < values->count; v++) {
        if (strncmp(values->item[v], name, length) == 0 && values->item[v][length] == '=') {
            used[v] = true;
            return values->item[v] + length + 1;
        }
    }
    return NULL;
}

/* Puts the values of --set into a word; what else stands in braces stays. */
static HcStatus fill_values(const char *word, const HcOptionList *values, bool *used, char **out,
                            HcError *err) {
    HcText text = {0};
    for (const char *c = word; *c != '\0'; c++) {
        size_t length = strcspn(c + 1, "}");
        const char *value = *c == '{' && c[1] != '{' ? value_of(values, c + 1, length, used) : NULL;
        if (value == NULL) {
            bool pair = (*c == '{' || *c == '}') && c[1] == *c;
            hc_text_add(&text, pair ? "%c%c" : "%c", *c, *c);
            c += pair;
            continue;
        }
        for (; *value != '\0'; value++) {
            hc_text_add(&text, *value == '{' || *value == '}' ? "%c%c" : "%c", *value, *value);
        }
        c += length + 1;
    }
    *out = hc_text_take(&text);
    return *out != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(word), "the chain");
}

/* ---- words ---- */

/* The option of the batch that a word like --name, --name=value or -q means, or NULL. */
static const HcOption *option_of(const char *word) {
    HC_EACH_OPTION(option, hc_batch_options()) {
        size_t length = strlen(option->name);
        if ((strncmp(word, "--", 2) == 0 && strncmp(word + 2, option->name, length) == 0 &&
             (word[2 + length] == '\0' || word[2 + length] == '=')) ||
            (option->letter != 0 && word[0] == '-' && word[1] == option->letter && word[2] == '\0')) {
            return option;
        }
    }
    return NULL;
}

/* Sorts the words of steps into those of the chain and options of the batch, wherever these stand. */
static HcStatus separate(int32_t word_count, const char *const *words, HcPaths *chain, HcPaths *options,
                         HcError *err) {
    bool named = true; /* until a bare --, in each step anew */
    for (int32_t w = 0; w < word_count; w++) {
        named = strcmp(words[w], "!") == 0 || (named && strcmp(words[w], "--") != 0);
        const HcOption *option = named ? option_of(words[w]) : NULL;
        HC_OR_RETURN(hc_paths_add(option != NULL ? options : chain, words[w], err));
        if (option != NULL && hc_option_takes_value(option) && strchr(words[w], '=') == NULL &&
            w + 1 < word_count) {
            HC_OR_RETURN(hc_paths_add(options, words[++w], err));
        }
    }
    return HC_OK;
}

/* A word that was meant for a step may have gone to the batch. */
static HcStatus check_once(const HcPaths *options, HcError *err) {
    int32_t outputs = 0;
    for (int32_t w = 0; w < options->count; w++) {
        outputs +=
            strcmp(options->path[w], "--output") == 0 || strncmp(options->path[w], "--output=", 9) == 0;
    }
    if (outputs > 1) {
        return hc_fail(err, HC_E_USAGE,
                       "batch: --output is given twice (quote the chain where a step has an --output too)");
    }
    return HC_OK;
}

static int32_t last_step(const HcPaths *words) {
    int32_t first = 0;
    for (int32_t w = 0; w < words->count; w++) {
        first = strcmp(words->path[w], "!") == 0 ? w + 1 : first;
    }
    return first;
}

static HcStatus add_all(HcPaths *to, const char *const *words, int32_t count, HcError *err) {
    for (int32_t w = 0; w < count; w++) {
        HC_OR_RETURN(hc_paths_add(to, words[w], err));
    }
    return HC_OK;
}

/* Words as they were given; of a chain file with the line that each begins in. */
typedef struct Steps {
    HcPaths words;
    int32_t *lines; /* [words.count], or NULL */
} Steps;

/* Puts the place of a word before a failure, where it stands in a file. */
static HcStatus at_word(const HcBatch *batch, int32_t line, HcStatus status, HcError *err) {
    bool named = batch->file != NULL && line > 0 && status == HC_E_USAGE;
    return named ? hc_fail_before(err, status, "%s:%d", batch->file, line) : status;
}

static int32_t line_of(const int32_t *lines, int32_t word) {
    return lines != NULL ? lines[word] : 0;
}

/* A word of the chain. */
static HcStatus add_word(HcBatch *batch, const char *word, int32_t line, HcError *err) {
    if (batch->lines != NULL) {
        batch->lines[batch->words.count] = line;
    }
    return hc_paths_add(&batch->words, word, err);
}

/* Words that complete_chain adds, at most. */
enum { WORDS_AROUND = 14 };

/* The step that writes makes items, where a collection is asked for. */
static HcStatus add_item(HcBatch *batch, const HcStageClass *writer, int32_t line, HcError *err) {
    HcText folder = {0};
    if (batch->params.collection == NULL) {
        return HC_OK;
    }
    if (writer->rare.check == NULL) {
        return hc_fail(err, HC_E_USAGE, "batch: --stac-collection: the last step (%s) writes no raster",
                       writer->name);
    }
    batch->params.collection = hc_remote_name(batch->params.collection);
    for (const char *c = batch->params.collection; *c != '\0'; c++) {
        hc_text_add(&folder, *c == '{' || *c == '}' ? "%c%c" : "%c", *c, *c);
    }
    char *name = hc_text_take(&folder);
    HcStatus status =
        name != NULL ? add_word(batch, "--stac", line, err) : hc_fail_memory(err, 0, "the chain");
    status = status == HC_OK ? add_word(batch, "--stac-collection", line, err) : status;
    status = status == HC_OK ? add_word(batch, name, line, err) : status;
    free(name);
    if (status == HC_OK && hc_batch_is_stac(batch)) {
        HC_OR_RETURN(add_word(batch, "--stac-from", line, err));
        status = add_word(batch, "{item-path}", line, err);
    }
    return status;
}

/* NAME --OPTION {placeholder}: what the batch fills in. */
static HcStatus add_end(HcBatch *batch, const char *name, const char *option, const char *placeholder,
                        int32_t line, HcError *err) {
    HC_OR_RETURN(add_word(batch, name, line, err));
    HC_OR_RETURN(add_word(batch, option, line, err));
    return add_word(batch, placeholder, line, err);
}

/* Whether the first word of a step that writes names its output. */
static bool has_output(const HcStageClass *kind, const HcPaths *steps, int32_t at) {
    return kind->options[0].positional && at + 1 < steps->count && steps->path[at + 1][0] != '-';
}

static int32_t first_step(const HcPaths *words) {
    return words->count > 0 && strcmp(words->path[0], "!") == 0;
}

/* Whether the first step reads. */
static bool begins_with_read(const HcPaths *words) {
    int32_t first = first_step(words);
    const HcStageClass *kind = first < words->count ? hc_stage_find(words->path[first]) : NULL;
    return kind != NULL && kind->role == HC_ROLE_SOURCE;
}

/* The stage of the last step where that writes, else NULL. */
static const HcStageClass *writer_of(const HcPaths *words) {
    int32_t last = last_step(words);
    const HcStageClass *end = last < words->count ? hc_stage_find(words->path[last]) : NULL;
    return end != NULL && end->role == HC_ROLE_SINK ? end : NULL;
}

/* A name in the last step would be that of one file for all scenes. */
static HcStatus check_end(const HcBatch *batch, const Steps *steps, HcError *err) {
    const HcPaths *words = &steps->words;
    int32_t last = last_step(words);
    const HcStageClass *end = writer_of(words);
    if (end == NULL || !has_output(end, words, last)) {
        return HC_OK;
    }
    HcStatus status =
        hc_fail(err, HC_E_USAGE, "batch: %s %s: the last step gets its name from --output (leave out %s%s)",
                end->name, words->path[last + 1], words->path[last + 1],
                end->rare.check != NULL ? "" : ", or add: ! write");
    return at_word(batch, line_of(steps->lines, last + 1), status, err);
}

/* A scene after read would be that one for all runs. */
static HcStatus check_beginning(const HcBatch *batch, const Steps *steps, HcError *err) {
    const HcPaths *words = &steps->words;
    int32_t first = first_step(words);
    bool reads = begins_with_read(words);
    const char *next = reads && first + 1 < words->count ? words->path[first + 1] : "-";
    if (next[0] == '-' || strcmp(next, "!") == 0) {
        return HC_OK;
    }
    HcStatus status =
        hc_fail(err, HC_E_USAGE, "batch: read %s: --scenes names the scenes (leave out %s)", next, next);
    return at_word(batch, line_of(steps->lines, first + 1), status, err);
}

static HcStatus check_steps(const HcBatch *batch, const Steps *steps, HcError *err) {
    const HcPaths *words = &steps->words;
    int32_t first = first_step(words);
    if (first < words->count && last_step(words) < words->count) {
        return HC_OK;
    }
    bool any = first < words->count;
    HcStatus status =
        hc_fail(err, HC_E_USAGE,
                any ? "batch: a step is missing at the end of the chain"
                    : "batch: no chain given (hcube batch STEP ! STEP --scenes ... --output ...)");
    return at_word(batch, any ? line_of(steps->lines, words->count - 1) : 0, status, err);
}

/* read and write around the steps: the scene goes to a read that is there, the output to the last step if
 * that writes. */
static HcStatus complete_chain(HcBatch *batch, const Steps *steps, HcError *err) {
    const HcPaths *words = &steps->words;
    int32_t first = first_step(words), last = last_step(words);
    HC_OR_RETURN(check_steps(batch, steps, err));
    if (steps->lines != NULL) {
        HC_OR_RETURN(hc_new(batch->lines, words->count + WORDS_AROUND, "the chain", err));
    }
    bool reads = begins_with_read(words);
    const HcStageClass *writer = writer_of(words);
    HC_OR_RETURN(add_end(batch, "read", "--path", "{scene}", reads ? line_of(steps->lines, first) : 0, err));
    if (!reads) {
        HC_OR_RETURN(add_word(batch, "!", 0, err));
    }
    for (int32_t w = first + reads; w < words->count; w++) {
        int32_t line = line_of(steps->lines, w);
        if (w == last && writer != NULL) {
            HC_OR_RETURN(add_end(batch, words->path[w], "--output", "{output}", line, err));
            HC_OR_RETURN(add_item(batch, writer, line, err));
        } else {
            HC_OR_RETURN(add_word(batch, words->path[w], line, err));
        }
    }
    if (writer == NULL) {
        HC_OR_RETURN(add_word(batch, "!", 0, err));
        HC_OR_RETURN(add_end(batch, "write", "--output", "{output}", 0, err));
        HC_OR_RETURN(add_item(batch, &hc_stage_write, 0, err));
    }
    return HC_OK;
}

/* --set into all words; every one must have its place. */
static HcStatus set_values(HcPaths *words, const HcOptionList *values, HcError *err) {
    bool used[HC_LIST_MAX] = {false};
    for (int32_t w = 0; w < words->count; w++) {
        char *filled = NULL;
        HC_OR_RETURN(fill_values(words->path[w], values, used, &filled, err));
        free(words->path[w]);
        words->path[w] = filled;
    }
    for (int32_t v = 0; v < values->count; v++) {
        if (!used[v]) {
            return hc_fail(err, HC_E_USAGE, "batch: --set %s: the chain has no such placeholder",
                           values->item[v]);
        }
    }
    return HC_OK;
}

HcStatus hc_batch_print_chain(HcBatch *batch, HcError *err) {
    HcText text = {0};
    for (int32_t w = 0; w < batch->words.count; w++) {
        hc_text_add(&text, w > 0 ? " " : "");
        if (strcmp(batch->words.path[w], "!") == 0) {
            hc_text_add(&text, "!");
        } else {
            hc_word_print(batch->words.path[w], &text);
        }
    }
    batch->chain = hc_text_take(&text);
    return batch->chain != NULL ? HC_OK : hc_fail_memory(err, 0, "the chain");
}

static bool is_scene(const char *word) {
    return word[0] != '-' && strcmp(word, "!") != 0 && hc_stage_find(word) == NULL &&
           !hc_text_ends_with(word, ".hcube") && hc_file_may_be_there(word);
}

/* The value of an option in the words at `w`, which may be --NAME VALUE or --NAME=VALUE; NULL: it is another
 * word. `last` is the last word of the two. */
static const char *value_at(const char *const *words, int32_t word_count, int32_t w, const char *name,
                            int32_t *last) {
    size_t length = strlen(name);
    *last = w;
    if (strcmp(words[w], name) == 0 && w + 1 < word_count) {
        *last = w + 1;
        return words[w + 1];
    }
    return strncmp(words[w], name, length) == 0 && words[w][length] == '=' ? words[w] + length + 1 : NULL;
}

/* Words that a shell has made of a pattern without quotes, and an option that is given again: the files
 * after the first value of --scenes leave the words, those after a file of --exclude become options of
 * their own. */
static HcStatus take_scenes(HcBatch *batch, int32_t word_count, const char *const *words, HcPaths *left,
                            HcError *err) {
    bool given = false;
    for (int32_t w = 0; w < word_count; w++) {
        int32_t last = w;
        const char *scenes = value_at(words, word_count, w, "--scenes", &last);
        const char *excluded = scenes == NULL ? value_at(words, word_count, w, "--exclude", &last) : NULL;
        if (scenes != NULL && given) {
            HC_OR_RETURN(hc_paths_add(&batch->more, scenes, err));
        }
        for (int32_t v = w; v <= last && !(scenes != NULL && given); v++) {
            HC_OR_RETURN(hc_paths_add(left, words[v], err));
        }
        given = given || scenes != NULL;
        for (w = last; scenes != NULL && w + 1 < word_count && is_scene(words[w + 1]); w++) {
            HC_OR_RETURN(hc_paths_add(&batch->more, words[w + 1], err));
        }
        bool spread = excluded != NULL && hc_file_may_be_there(excluded);
        while (spread && w + 1 < word_count && is_scene(words[w + 1])) {
            HC_OR_RETURN(hc_scene_recognise(words[w + 1], &spread, err));
            if (!spread) {
                break;
            }
            HC_OR_RETURN(hc_paths_add(left, "--exclude", err));
            HC_OR_RETURN(hc_paths_add(left, words[++w], err));
        }
    }
    return HC_OK;
}

HcStatus hc_batch_read_chain(HcBatch *batch, int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    Steps steps = {0};
    char *text = NULL;
    char **split = NULL;
    int32_t split_count = 0;
    HcPaths kept = {0};
    char *chain_file = NULL;
    hc_options_reset(hc_batch_options(), &batch->params);
    HcOptionSet set = {.table = hc_batch_options(), .params = &batch->params};
    HC_TRY(take_scenes(batch, word_count, words, &kept, err));
    const char *const *asked = (const char *const *)kept.path;
    int32_t leading = hc_options_leading(&set, 1, asked, kept.count);
    int32_t left = kept.count - leading;
    const char *const *rest = asked + leading;
    /* After --scenes LIST a chain file may be the only word that is left. */
    bool known = true;
    if (left == 0 && batch->more.count > 0) {
        HC_TRY(hc_scene_recognise(batch->more.path[batch->more.count - 1], &known, err));
    }
    if (!known) {
        chain_file = batch->more.path[--batch->more.count];
        rest = (const char *const *)&chain_file;
        left = 1;
    }
    HC_TRY(add_all(&batch->options, asked, leading, err));
    if (left > 0 && hc_is_chain_text(left, rest)) {
        const char *where = NULL;
        HC_TRY(add_all(&batch->options, rest + 1, left - 1, err));
        HC_TRY(hc_read_chain_text(rest[0], &text, &where, err));
        if (where == rest[0]) {
            HC_TRY(hc_paths_add(&batch->inputs, where, err));
            batch->file = strdup(where);
            HC_TRY(hc_text_made(batch->file, strlen(where), "the chain", err));
        }
        HC_TRY(hc_words_split(text, where, &split, &steps.lines, &split_count, err));
        HC_TRY(add_all(&steps.words, (const char *const *)split, split_count, err));
    } else {
        HC_TRY(separate(left, rest, &steps.words, &batch->options, err));
    }
    HC_TRY(check_once(&batch->options, err));
    HC_TRY(check_beginning(batch, &steps, err));
    HC_TRY(check_end(batch, &steps, err));
    HC_TRY(hc_options_parse("batch", &set, 1, (const char *const *)batch->options.path, batch->options.count,
                            err));
    HC_TRY(hc_use_scratch(&batch->params.common, err));
    HC_TRY(complete_chain(batch, &steps, err));
    HC_TRY(set_values(&batch->words, &batch->params.set, err));
    HC_TRY(hc_batch_print_chain(batch, err));
done:
    hc_paths_clear(&kept);
    free(chain_file);
    hc_paths_clear(&steps.words);
    free(steps.lines);
    hc_free_texts(split, split_count);
    free(text);
    return status;
}

char *hc_batch_report_path(const char *output) {
    return hc_text_format("%s.hcube.html", output);
}

/* The report of a scene, where --report asks for one. */
static HcStatus add_report(const HcBatch *batch, const char *output, HcChain *chain, HcError *err) {
    if (batch->params.report == NULL) {
        return HC_OK;
    }
    char *path = hc_batch_report_path(output);
    HcStatus status = path != NULL ? hc_report_add(chain, path, err)
                                   : hc_fail_memory(err, (double)strlen(output), "a path");
    free(path);
    return status;
}

HcStatus hc_batch_chain(const HcBatch *batch, int32_t scene, HcChain **out, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths filled = {0};
    const HcBatchScene *at = &batch->scenes[scene];
    *out = NULL;
    const HcBatchGroup *group = hc_batch_group_of(batch, scene);
    const HcPaths *words = group != NULL && group->words.count > 0 ? &group->words : &batch->words;
    const int32_t *lines = words == &batch->words ? batch->lines : NULL;
    for (int32_t w = 0; w < words->count; w++) {
        char *word = NULL;
        status = hc_batch_fill(batch, words->path[w], scene, at->output, &word, err);
        HC_TRY(at_word(batch, line_of(lines, w), status, err));
        status = hc_paths_add(&filled, word, err);
        free(word);
        HC_TRY(status);
    }
    HC_TRY(hc_chain_parse_file(out, lines != NULL ? batch->file : NULL, lines,
                               (const char *const *)filled.path, filled.count, NULL, err));
    /* What the scene has made before is replaced (hc_batch_check_outputs). */
    (*out)->overwrite = true;
    HC_TRY(add_report(batch, at->output, *out, err));
    (*out)->asks = true;
    for (int32_t i = 0; i < batch->inputs.count; i++) {
        HC_TRY(hc_paths_add(&(*out)->inputs, batch->inputs.path[i], err));
    }
done:
    hc_paths_clear(&filled);
    return status;
}
