#include "figure/utf8.h"

#include <string.h>

size_t hc_utf8_length(const char *at) {
    const unsigned char *c = (const unsigned char *)at;
    if (c[0] == 0) {
        return 0;
    }
    if (c[0] < 0x80) {
        return 1;
    }
    size_t length = c[0] >= 0xc2 && c[0] < 0xe0   ? 2
                    : c[0] >= 0xe0 && c[0] < 0xf0 ? 3
                    : c[0] >= 0xf0 && c[0] < 0xf5 ? 4
                                                  : 0;
    for (size_t i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80) {
            return 0;
        }
    }
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf4 && c[1] >= 0x90);
    bool no_character = c[0] == 0xef && c[1] == 0xbf && c[2] >= 0xbe; /* U+FFFE and U+FFFF: not in XML */
    return overlong || beyond || no_character ? 0 : length;
}

char *hc_utf8_clean(const char *text) {
    HcText clean = {0};
    hc_text_add(&clean, "%s", "");
    while (*text != 0) {
        size_t length = hc_utf8_length(text);
        unsigned char first = (unsigned char)*text;
        if (length == 0) {
            hc_text_add(&clean, "\xef\xbf\xbd");
            length = 1;
        } else if (length == 1 && (first < 0x20 || first == 0x7f)) {
            hc_text_add(&clean, " ");
        } else {
            hc_text_add(&clean, "%.*s", (int)length, text);
        }
        text += length;
    }
    return hc_text_take(&clean);
}

void hc_utf8_add_xml(HcText *to, const char *text, size_t bytes) {
    for (size_t i = 0; i < bytes; i++) {
        switch (text[i]) {
        case '&':
            hc_text_add(to, "&amp;");
            break;
        case '<':
            hc_text_add(to, "&lt;");
            break;
        case '>':
            hc_text_add(to, "&gt;");
            break;
        case '"':
            hc_text_add(to, "&quot;");
            break;
        case '\'':
            hc_text_add(to, "&#39;");
            break;
        default:
            hc_text_add(to, "%c", text[i]);
        }
    }
}
