/* Files beside a file of a product, and remarks. */
#include "io/read/product/parts.h"

#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>

bool hc_product_is_file(const char *path) {
    VSIStatBufL info;
    memset(&info, 0, sizeof info);
    return VSIStatL(path, &info) == 0 && !VSI_ISDIR(info.st_mode);
}

HcStatus hc_product_sibling(const char *path, const char *from, const char *to, char **out, HcError *err) {
    const char *slash = strrchr(path, '/');
    const char *at = strstr(slash != NULL ? slash : path, from);
    *out = NULL;
    if (at == NULL) {
        return HC_OK;
    }
    *out = hc_text_format("%.*s%s%s", (int)(at - path), path, to, at + strlen(from));
    return *out != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(path), "a path");
}

void hc_product_note(HcProduct *product, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char *text = hc_text_vformat(format, arguments);
    va_end(arguments);
    if (text != NULL) {
        hc_text_add(&product->note, "%s%s", product->note.length > 0 ? "; " : "", text);
    } else {
        product->note.failed = true;
    }
    free(text);
}
