/* Linear programs from files: what does not depend on the format. */
#include "io/table/program.h"

#include "io/file.h"
#include "io/load.h"
#include "io/table/program_parts.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* FNV-1a */
static uint64_t hash_of(HcWord word) {
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < word.length; i++) {
        hash = (hash ^ (unsigned char)word.text[i]) * 0x100000001b3u;
    }
    return hash;
}

static bool is_name(const char *name, HcWord word) {
    return strncmp(name, word.text, word.length) == 0 && name[word.length] == '\0';
}

/* Where a name is, or would be. */
static int64_t slot_of(const HcNames *names, HcWord word) {
    int64_t slot = (int64_t)(hash_of(word) & (uint64_t)(names->slots - 1));
    while (names->slot[slot] >= 0 && !is_name(names->name[names->slot[slot]], word)) {
        slot = (slot + 1) & (names->slots - 1);
    }
    return slot;
}

int32_t hc_names_find(const HcNames *names, HcWord word) {
    return names->slots > 0 ? names->slot[slot_of(names, word)] : -1;
}

static HcStatus rehash(HcNames *names, int64_t slots, HcError *err) {
    int32_t *slot = malloc((size_t)slots * sizeof *slot);
    if (slot == NULL) {
        return hc_fail_memory(err, (double)slots * sizeof *slot, "a table of names");
    }
    memset(slot, 0xff, (size_t)slots * sizeof *slot);
    free(names->slot);
    names->slot = slot;
    names->slots = slots;
    for (int64_t n = 0; n < names->count; n++) {
        slot[slot_of(names, (HcWord){names->name[n], strlen(names->name[n])})] = (int32_t)n;
    }
    return HC_OK;
}

HcStatus hc_names_add(HcNames *names, HcWord word, HcError *err) {
    HcStatus status = HC_OK;
    HC_TRY(hc_program_grow((void **)&names->name, sizeof *names->name, names->count, &names->room, err));
    if (2 * (names->count + 1) > names->slots) {
        HC_TRY(rehash(names, names->slots > 0 ? 2 * names->slots : 1024, err));
    }
    char *name = strndup(word.text, word.length);
    if (name == NULL) {
        HC_TRY(hc_fail_memory(err, (double)word.length, "a name"));
    }
    names->slot[slot_of(names, word)] = (int32_t)names->count;
    names->name[names->count++] = name;
done:
    return status;
}

void hc_names_clear(HcNames *names) {
    for (int64_t n = 0; n < names->count; n++) {
        free(names->name[n]);
    }
    free(names->name);
    free(names->slot);
    *names = (HcNames){0};
}

/* ---- programs ---- */

HcStatus hc_program_grow(void **array, size_t size, int64_t count, int64_t *room, HcError *err) {
    if (count < *room) {
        return HC_OK;
    }
    int64_t more = *room > 0 ? 2 * *room : 256;
    void *grown = realloc(*array, (size_t)more * size);
    if (grown == NULL) {
        return hc_fail_memory(err, (double)more * (double)size, "a linear program");
    }
    *array = grown;
    *room = more;
    return HC_OK;
}

static void free_names(char **names, int64_t count) {
    for (int64_t n = 0; names != NULL && n < count; n++) {
        free(names[n]);
    }
    free(names);
}

void hc_program_clear(HcProgramFile *file) {
    free_names(file->row_name, file->program.rows);
    free_names(file->column_name, file->program.columns);
    free(file->name);
    free(file->objective);
    hc_text_clear(&file->note);
    free(file->start);
    free(file->row);
    free(file->value);
    free(file->cost);
    free(file->lower);
    free(file->upper);
    free(file->row_lower);
    free(file->row_upper);
    *file = (HcProgramFile){0};
}

static HcStatus load(const char *path, char **text, HcError *err) {
    HcStatus status = HC_OK;
    size_t bytes = 0;
    bool packed = hc_text_ends_with(path, ".gz") && strncmp(path, "/vsi", 4) != 0;
    char *unpacked = packed ? hc_text_format("/vsigzip/%s", path) : strdup(path);
    if (unpacked == NULL) {
        HC_TRY(hc_fail_memory(err, (double)strlen(path), "a file name"));
    }
    HC_TRY(hc_file_check_regular(path, err));
    HC_TRY(hc_load_file(unpacked, text, &bytes, err));
    if (strlen(*text) != bytes) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: not an MPS file (it holds bytes of 0)", path));
    }
done:
    free(unpacked);
    return status;
}

/* Nearly all files in fixed format read the same in the free one. Those that do not (names with blanks) fail
 * there, since their fields do not add up. Of two failures the one that came later in the file counts. */
HcStatus hc_program_read(HcProgramFile *out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    char *text = NULL;
    HcError as_free = {0}, as_fixed = {0};
    int64_t free_line = 0, fixed_line = 0;
    *out = (HcProgramFile){0};
    HC_TRY(load(path, &text, err));
    status = hc_program_parse_mps(out, path, text, false, &free_line, &as_free);
    if (status == HC_E_INPUT) {
        hc_program_clear(out);
        status = hc_program_parse_mps(out, path, text, true, &fixed_line, &as_fixed);
    }
    if (status != HC_OK) {
        const HcError *later = fixed_line > free_line ? &as_fixed : &as_free;
        HC_TRY(hc_fail(err, later->status, "%s", later->text));
    }
done:
    free(text);
    if (status != HC_OK) {
        hc_program_clear(out);
    }
    return status;
}
