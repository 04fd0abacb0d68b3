/* Files that options name: every path that a command line reads or writes, before anything is planned. The
 * table marks such options (`.file`), so that no command keeps a list of its own that could miss one. Words
 * such as `none` are choices and no files. */
#include "pipeline/option/option.h"

#include <stdlib.h>
#include <string.h>

/* FILE|none, --noise shift: the word is a choice. */
static bool is_no_file(const HcOption *option, const char *word) {
    for (int c = 0; option->choices != NULL && option->choices[c] != NULL; c++) {
        if (strcmp(word, option->choices[c]) == 0) {
            return true;
        }
    }
    bool is_none = strcmp(word, "none") == 0 && hc_text_ends_with(option->value, "|none");
    return is_none || word == option->alone;
}

static HcStatus visit_file(const HcOption *option, const char *word, HcOptionVisit visit, void *user,
                           HcError *err) {
    if (option->file_of == NULL) {
        return visit(word, user, err);
    }
    HcStatus status = HC_OK;
    for (const char *at = word; at != NULL && status == HC_OK;
         at = option->next_of != NULL ? option->next_of(at) : NULL) {
        char *path = option->file_of(at);
        status = path == NULL      ? hc_fail_memory(err, (double)strlen(word), "a path")
                 : path[0] != '\0' ? visit(path, user, err)
                                   : HC_OK;
        free(path);
    }
    return status;
}

HcStatus hc_options_files(const HcOptionSet *set, HcOptionFile kind, HcOptionVisit visit, void *user,
                          HcError *err) {
    HC_EACH_OPTION(option, set->table) {
        const void *at = (const char *)set->params + option->offset;
        bool list = option->kind == HC_OPTION_LIST;
        int32_t count = list ? ((const HcOptionList *)at)->count : 1;
        for (int32_t i = 0; option->file == kind && i < count; i++) {
            const char *word = list ? ((const HcOptionList *)at)->item[i] : *(const char *const *)at;
            if (word != NULL && !is_no_file(option, word)) {
                HC_OR_RETURN(visit_file(option, word, visit, user, err));
            }
        }
    }
    return HC_OK;
}
