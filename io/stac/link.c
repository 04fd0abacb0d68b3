/* Links between files and to remote ones, as STAC has them. */
#include "io/gdal/remote.h"
#include "io/stac/stac.h"
#include "io/file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How GDAL's names of remote files begin, and the addresses that they stand for. */
static const char *const remote[][2] = {
    {"/vsicurl/", ""}, {"/vsis3/", "s3://"}, {"/vsigs/", "gs://"}, {"/vsiaz/", "az://"}};

char *hc_stac_address(const char *path) {
    const char *scheme = "";
    for (size_t r = 0; r < sizeof remote / sizeof *remote && scheme[0] == '\0'; r++) {
        size_t length = strlen(remote[r][0]);
        if (strncmp(path, remote[r][0], length) == 0) {
            scheme = remote[r][1];
            path += length;
        }
    }
    char *address = hc_text_format("%s%.*s", scheme, (int)strcspn(path, "#"), path);
    if (address == NULL || strstr(address, "://") == NULL) {
        free(address);
        return NULL;
    }
    hc_text_hide_in_address(address);
    return address;
}

/* A path from the root; the file need not exist. NULL with errno. */
static char *absolute(const char *path) {
    if (hc_remote_is(path)) {
        return strdup(path);
    }
    char *folder = hc_file_folder(path);
    char *found = folder != NULL ? realpath(folder, NULL) : NULL;
    char *all = found != NULL
                    ? hc_text_format("%s/%s", strcmp(found, "/") == 0 ? "" : found, hc_file_base(path))
                    : NULL;
    free(folder);
    free(found);
    return all;
}

/* Both absolute. */
static char *relative(const char *from, const char *path) {
    HcText to = {0};
    size_t common = 0;
    for (size_t c = 0; from[c] != 0 && from[c] == path[c]; c++) {
        common = from[c] == '/' ? c + 1 : common;
    }
    const char *slash = strchr(from + common, '/');
    hc_text_add(&to, slash == NULL ? "./" : "");
    for (; slash != NULL; slash = strchr(slash + 1, '/')) {
        hc_text_add(&to, "../");
    }
    for (const unsigned char *c = (const unsigned char *)path + common; *c != 0; c++) {
        bool plain = (*c < 128 && isalnum(*c)) || strchr("-._~/", *c) != NULL;
        hc_text_add(&to, plain ? "%c" : "%%%02X", *c);
    }
    return hc_text_take(&to);
}

/* Whether both are objects of one bucket: a relative link then holds in copies, too. */
static bool in_one_bucket(const char *a, const char *b) {
    const char *bucket = hc_remote_takes(a) ? strchr(a + 1, '/') : NULL;
    const char *key = bucket != NULL ? strchr(bucket + 1, '/') : NULL;
    return key != NULL && strncmp(a, b, (size_t)(key - a + 1)) == 0;
}

HcStatus hc_stac_link(const char *from, const char *path, char **link, HcError *err) {
    HcStatus status = HC_OK;
    char *here = NULL, *there = NULL;
    *link = in_one_bucket(from, path) ? NULL : hc_stac_address(path);
    if (*link != NULL) {
        return HC_OK;
    }
    errno = 0;
    here = absolute(from);
    there = here != NULL ? absolute(path) : NULL;
    if (there == NULL) {
        HC_TRY(hc_fail(err, errno == ENOMEM ? HC_E_MEMORY : HC_E_IO, "%s: %s", here != NULL ? path : from,
                       strerror(errno)));
    }
    bool apart = hc_remote_is(here) && !hc_remote_is(there);
    if ((*link = apart ? strdup(there) : relative(here, there)) == NULL) {
        HC_TRY(hc_fail_memory(err, (double)strlen(path), "a link"));
    }
done:
    free(here);
    free(there);
    return status;
}

void hc_stac_decode(char *link) {
    char *to = link;
    for (const char *c = link; *c != '\0'; c++) {
        unsigned int byte = 0;
        bool coded = c[0] == '%' && isxdigit((unsigned char)c[1]) && isxdigit((unsigned char)c[2]) &&
                     sscanf(c + 1, "%2x", &byte) == 1;
        *to++ = coded ? (char)byte : *c;
        c += coded ? 2 : 0;
    }
    *to = '\0';
}

HcStatus hc_stac_folder_name(const char *folder, char **name, HcError *err) {
    errno = 0;
    char *path = hc_remote_is(folder) ? strdup(folder) : realpath(folder, NULL);
    for (size_t end = path != NULL ? strlen(path) : 0; end > 1 && path[end - 1] == '/'; end--) {
        path[end - 1] = '\0';
    }
    const char *slash = path != NULL ? strrchr(path, '/') : NULL;
    *name = slash != NULL ? strdup(slash[1] != '\0' ? slash + 1 : "root") : NULL;
    free(path);
    return *name != NULL
               ? HC_OK
               : hc_fail(err, errno == ENOMEM ? HC_E_MEMORY : HC_E_IO, "%s: %s", folder, strerror(errno));
}
