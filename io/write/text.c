/* Numbers and names as they stand in headers and metadata, and small files of text. */
#include "io/write/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

const char *hc_write_number(char buffer[40], double value) {
    if (isnan(value)) {
        strcpy(buffer, "nan");
        return buffer;
    }
    for (int digits = 6; digits <= 17; digits++) {
        CPLsnprintf(buffer, 40, "%.*g", digits, value);
        if (CPLAtof(buffer) == value) {
            break;
        }
    }
    return buffer;
}

/* Braces and commas have a meaning in the header, line ends too. */
void hc_write_envi_name(HcText *to, const char *name, bool in_list) {
    for (; *name != '\0'; name++) {
        char c = *name == '{'                ? '('
                 : *name == '}'              ? ')'
                 : *name == ',' && in_list   ? ';'
                 : (unsigned char)*name < 32 ? ' '
                                             : *name;
        hc_text_add(to, "%c", c);
    }
}

HcStatus hc_write_text_file(const char *path, const char *partial, const char *text, HcError *err) {
    FILE *file = fopen(partial, "wbxe");
    bool written = file != NULL && fputs(text, file) >= 0;
    int number = errno;
    if (file != NULL && fclose(file) != 0) {
        number = errno;
        written = false;
    }
    return written ? HC_OK : hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: %s", path, strerror(number));
}
