/* Fields of a header or dataset on their way into a scene: texts, lists, and notes on what is left out. */
#include "io/read/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void hc_read_note(HcReader *reader, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = hc_text_vformat(format, arguments);
    va_end(arguments);
    char *clean = text != NULL ? hc_envi_clean(text) : NULL;
    if (clean != NULL) {
        hc_text_add(&reader->note, "%s%s", reader->note.length > 0 ? "; " : "", clean);
    } else {
        reader->note.failed = true;
    }
    free(clean);
    free(text);
}

HcStatus hc_read_set_text(char **to, const char *text, HcError *err) {
    char *clean = hc_envi_clean(text);
    if (clean == NULL) {
        return hc_fail_memory(err, (double)strlen(text), "a text of the scene");
    }
    free(*to);
    *to = clean;
    if (clean[0] == '\0') {
        free(clean);
        *to = NULL;
    }
    return HC_OK;
}

HcStatus hc_read_leave_out(HcReader *reader, const char *what, const HcError *why, HcError *err) {
    if (why->status != HC_E_INPUT) {
        return hc_fail(err, why->status, "%s", why->text);
    }
    hc_read_note(reader, "%s left out: %s", what, why->text);
    return HC_OK;
}

HcStatus hc_read_list(HcReader *reader, const HcEnviHeader *header, const char *key, int32_t want,
                      double **values, int32_t *count, HcError *err) {
    HcError local = {0};
    *values = NULL;
    *count = 0;
    if (hc_envi_numbers(header, key, values, count, &local) != HC_OK) {
        return hc_read_leave_out(reader, key, &local, err);
    }
    if (want > 0 && *count > 0 && *count != want) {
        hc_read_note(reader, "%s left out: %" PRId32 " values for %" PRId32 " bands", key, *count, want);
        free(*values);
        *values = NULL;
        *count = 0;
    }
    return HC_OK;
}
