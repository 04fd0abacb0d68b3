/* FILE[:LAYER] and FILE[:BAND...]: where the name of the file ends. */
#include "io/gdal/errors.h"
#include "io/gdal/files.h"
#include "io/view/parts.h"

#include <stdlib.h>
#include <string.h>

static bool is_there(const char *text, size_t length) {
    char *path = strndup(text, length);
    VSIStatBufL info;
    bool there = path != NULL && hc_gdal_stat(path, &info, VSI_STAT_EXISTS_FLAG);
    free(path);
    return there;
}

bool hc_view_is_there(const char *text) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    bool there = is_there(text, strlen(text));
    hc_gdal_release();
    return there;
}

/* Whether a text is BAND, BAND=... or BAND!=... */
static bool names_band(const char *text) {
    size_t digits = strspn(text, "0123456789");
    const char *rest = text + digits;
    return digits > 0 && (*rest == '\0' || *rest == '=' || strncmp(rest, "!=", 2) == 0);
}

/* The first colon in front of which a file is named; of a /vsi path the last, so that no server is asked for
 * parts of a name. Else a band says where the name ends: GDAL alone may understand it, or it is missing. */
static size_t end_of_file(const char *text) {
    const char *last = strrchr(text, ':');
    bool remote = strncmp(text, "/vsi", 4) == 0;
    for (const char *c = remote ? last : strchr(text, ':'); c != NULL; c = strchr(c + 1, ':')) {
        if (c > text && c[1] != '\0' && is_there(text, (size_t)(c - text))) {
            return (size_t)(c - text);
        }
    }
    return last > text && names_band(last + 1) ? (size_t)(last - text) : strlen(text);
}

size_t hc_view_file_length(const char *text) {
    HcGdalErrors messages;
    if (strchr(text, ':') == NULL) {
        return strlen(text);
    }
    hc_gdal_catch(&messages);
    size_t length = is_there(text, strlen(text)) ? strlen(text) : end_of_file(text);
    hc_gdal_release();
    return length;
}

char *hc_view_file_of(const char *text) {
    return strndup(text, hc_view_file_length(text));
}
