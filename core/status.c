#include "core/status.h"
#include "core/text.h"

#include <stdio.h>
#include <string.h>

static HC_PRINTF(5, 0) HcStatus
    record(HcError *err, HcStatus status, const char *file, int line, const char *format, va_list arguments) {
    if (err == NULL || err->status != HC_OK) {
        return status;
    }
    err->status = status;
    err->file = file;
    err->line = line;
    vsnprintf(err->text, sizeof err->text, format, arguments);
    hc_text_hide_secrets(err->text);
    /* Messages of libraries may span lines; ours never do. */
    size_t length = strlen(err->text);
    while (length > 0 && (err->text[length - 1] == '\n' || err->text[length - 1] == ' ')) {
        err->text[--length] = '\0';
    }
    for (char *c = err->text; *c != '\0'; c++) {
        if (*c == '\n' || *c == '\r' || *c == '\t') {
            *c = ' ';
        }
    }
    return status;
}

HcStatus hc_fail_at(HcError *err, HcStatus status, const char *file, int line, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    status = record(err, status, file, line, format, arguments);
    va_end(arguments);
    return status;
}

HcStatus hc_fail_memory_at(HcError *err, double bytes, const char *what, const char *file, int line) {
    if (!(bytes > 0)) {
        return hc_fail_at(err, HC_E_MEMORY, file, line, "out of memory: no room for %s", what);
    }
    return bytes < 1048576.0
               ? hc_fail_at(err, HC_E_MEMORY, file, line, "out of memory: %.0f bytes for %s", bytes, what)
               : hc_fail_at(err, HC_E_MEMORY, file, line, "out of memory: %.1f MiB for %s", bytes / 1048576.0,
                            what);
}

const char *hc_status_text(HcStatus status) {
    switch (status) {
#define HC_AS_CASE(name, code, text)                                                                         \
    case name:                                                                                               \
        return text;
        HC_STATUS_LIST(HC_AS_CASE)
#undef HC_AS_CASE
    }
    return "unknown status";
}
