/* Placeholders of a batch: what {stem}, {dir} or {asset:NAME} stand for in a text, for one scene. What a
 * placeholder brings must not lead out of the folder that the text names. */
#include "app/batch/batch.h"
#include "core/allocate.h"

#include <stdlib.h>
#include <string.h>

/* The name of a file; the query of an address, which ends it, may have slashes and dots. */
static const char *base_name(const char *path, size_t *bytes) {
    size_t end = hc_remote_is(path) ? strcspn(path, "?") : strlen(path);
    const char *slash = memrchr(path, '/', end);
    const char *base = slash != NULL ? slash + 1 : path;
    *bytes = (size_t)(path + end - base);
    return base;
}

/* Adds what a placeholder stands for; false when there is none of that name. */
static bool add_placeholder(const HcBatch *batch, HcText *text, const char *name, size_t length,
                            int32_t number, const char *output) {
    static const char *const names[] = {"scene",  "output", "stem", "name", "parent",
                                        "folder", "index",  "dir",  NULL};
    const char *scene = batch->scenes[number].path;
    int which = 0;
    while (names[which] != NULL &&
           (strlen(names[which]) != length || strncmp(names[which], name, length) != 0)) {
        which++;
    }
    size_t bytes = 0;
    const char *base = base_name(scene, &bytes);
    const char *dot = memrchr(base, '.', bytes);
    size_t stem = dot != NULL && dot > base ? (size_t)(dot - base) : bytes;
    size_t parent = base > scene ? (size_t)(base - scene - 1) : 0;
    size_t dir = batch->base < parent ? batch->base : parent;
    dir += strspn(scene + dir, "/");
    size_t folder = parent;
    while (folder > 0 && scene[folder - 1] != '/') {
        folder--;
    }
    switch (which) {
    case 0:
        hc_text_add(text, "%s", scene);
        return true;
    case 1:
        hc_text_add(text, "%s", output != NULL ? output : "");
        return output != NULL;
    case 2:
        hc_text_add(text, "%.*s", (int)stem, base);
        return true;
    case 3:
        hc_text_add(text, "%.*s", (int)bytes, base);
        return true;
    case 4:
        hc_text_add(text, "%.*s", (int)parent, scene);
        hc_text_add(text, parent > 0 ? "" : base > scene ? "/" : ".");
        return true;
    case 5:
        hc_text_add(text, "%.*s", (int)(parent - folder), scene + folder);
        hc_text_add(text, parent > folder ? "" : ".");
        return true;
    case 6:
        hc_text_add(text, "%d", number + 1);
        return true;
    case 7:
        hc_text_add(text, "%.*s", dir < parent ? (int)(parent - dir) : 0, scene + dir);
        hc_text_add(text, dir < parent ? "" : ".");
        return true;
    default:
        return false;
    }
}

/* Where the value of an option like --name=VALUE begins in a word, else 0. */
static size_t value_begin(const char *word) {
    const char *equals = word[0] == '-' ? strchr(word, '=') : NULL;
    return equals != NULL ? (size_t)(equals + 1 - word) : 0;
}

/* Refuses a .. that a placeholder brings into a path: it leads out of the folder that the text names. Bytes
 * low .. high - 1 of the filled text are the placeholder. */
static HcStatus check_inside(const char *text, const HcText *filled, size_t low, size_t high, HcError *err) {
    size_t begin = low;
    while (begin > value_begin(text) && filled->data[begin - 1] != '/') {
        begin--;
    }
    while (begin < high) {
        size_t length = strcspn(filled->data + begin, "/");
        if (length == 2 && strncmp(filled->data + begin, "..", 2) == 0) {
            return hc_fail(err, HC_E_USAGE,
                           "batch: %s: a placeholder brings in .., which leads elsewhere: %s", text,
                           filled->data);
        }
        begin += length + 1;
    }
    return HC_OK;
}

/* The bytes of the filled text that come from placeholders. A whole path in front is left out, since it names
 * the folder itself. */
typedef struct Spans {
    size_t low[HC_LIST_MAX], high[HC_LIST_MAX];
    int32_t count;
} Spans;

static HcStatus check_spans(const char *text, const HcText *filled, const Spans *spans, HcError *err) {
    for (int32_t s = 0; s < spans->count && !filled->failed; s++) {
        HC_OR_RETURN(check_inside(text, filled, spans->low[s], spans->high[s], err));
    }
    return HC_OK;
}

HcStatus hc_batch_fill(const HcBatch *batch, const char *text, int32_t scene, const char *output, char **out,
                       HcError *err) {
    HcStatus status = HC_OK;
    HcText filled = {0};
    Spans spans = {0};
    *out = NULL;
    for (const char *c = text; *c != '\0'; c++) {
        size_t low = filled.length;
        if ((*c == '{' || *c == '}') && c[1] == *c) {
            hc_text_add(&filled, "%c", *c++);
        } else if (*c == '{') {
            size_t length = strcspn(c + 1, "}");
            if (c[1 + length] == '\0') {
                HC_TRY(hc_fail(err, HC_E_USAGE, "batch: %s: a placeholder { is not closed", text));
            }
            bool known = false;
            HC_TRY(hc_batch_add_of_item(batch, &filled, c + 1, length, scene, &known, err));
            if (!known && !add_placeholder(batch, &filled, c + 1, length, scene, output)) {
                HC_TRY(hc_fail(
                    err, HC_E_USAGE,
                    "batch: %s: {%.*s} is none of {stem}, {name}, {dir}, {parent}, {folder}, {index} and "
                    "has no value by --set",
                    text, (int)length, c + 1));
            }
            bool in_front = low == value_begin(text) &&
                            (strncmp(c, "{scene}", 7) == 0 || strncmp(c, "{output}", 8) == 0 ||
                             strncmp(c, "{parent}", 8) == 0 || strncmp(c, "{asset:", 7) == 0 ||
                             strncmp(c, "{role:", 6) == 0 || strncmp(c, "{item-path}", 11) == 0);
            if (!in_front && spans.count == HC_LIST_MAX) {
                HC_TRY(hc_fail(err, HC_E_USAGE, "batch: %s: more than %d placeholders", text, HC_LIST_MAX));
            }
            if (!in_front) {
                spans.low[spans.count] = low;
                spans.high[spans.count++] = filled.length;
            }
            c += length + 1;
        } else {
            hc_text_add(&filled, "%c", *c);
        }
    }
    HC_TRY(check_spans(text, &filled, &spans, err));
    *out = hc_text_take(&filled);
    HC_TRY(hc_text_made(*out, strlen(text), "a name", err));
done:
    hc_text_clear(&filled);
    return status;
}
