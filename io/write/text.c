/* Numbers and names as they stand in headers and metadata. */
#include "io/write/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <math.h>
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
