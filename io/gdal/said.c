/* GDAL keeps the parts of a file of a server in a cache. It takes a body that is shorter than the part for
 * the end of the file, without a word, and drivers go on without what is missing: a TIFF without its
 * metadata. So the cache is asked again for each part that was fetched while a file was opened. */
#include "io/gdal/said.h"
#include "core/text.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <cpl_vsi_error.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- one answer ---- */

void hc_said_take(HcSaid *said, const char *text) {
    const char *code = strstr(text, "response_code="), *message = strstr(text, "msg=");
    const char *answer = strstr(text, "<Code>");
    if (code != NULL) {
        said->code = strtol(code + strlen("response_code="), NULL, 10);
    }
    if (message != NULL) {
        snprintf(said->text, sizeof said->text, "%s", message + strlen("msg="));
    }
    if (answer != NULL) {
        answer += strlen("<Code>");
        snprintf(said->answer, sizeof said->answer, "%.*s", (int)strcspn(answer, "<"), answer);
    }
}

bool hc_said_may_pass(const HcSaid *said) {
    return said->code <= 0 || said->code == 206 || said->code == 408 || said->code == 429 ||
           said->code >= 500;
}

bool hc_said_redirects(const HcSaid *said) {
    return said->code >= 300 && said->code < 400;
}

HcStatus hc_said_fail(const HcSaid *said, int64_t bytes, int64_t got, HcError *err) {
    long code = said->code;
    const char *why = code == 401 || code == 403   ? ": it may not be read by these credentials"
                      : code == 404 || code == 410 ? ": there is no such file"
                      : code == 412 || code == 416 ? ": the file is shorter now"
                      : hc_said_redirects(said)    ? ": it redirects to another region or address"
                      : code == 200                ? " and sends the whole file: it gives no ranges"
                                                   : "";
    bool input = code == 200 || (code >= 400 && code < 500 && !hc_said_may_pass(said));
    if (got > 0 || code == 206) {
        return hc_fail(err, HC_E_IO, "the server sent %" PRId64 " of %" PRId64 " bytes", got, bytes);
    }
    if (code > 0) {
        return hc_fail(err, input ? HC_E_INPUT : HC_E_IO, "the server answers %ld%s", code, why);
    }
    const char *text = said->text[0] != '\0' ? said->text : VSIGetLastErrorMsg(); /* of credentials */
    return hc_fail(err, HC_E_IO, "the server cannot be reached%s%.300s", text[0] != '\0' ? ": " : "", text);
}

HcStatus hc_said_fail_put(const HcSaid *said, HcError *err) {
    static const char *const full[] = {"QuotaExceeded", "InsufficientStorage", "XMinioStorageFull",
                                       "InsufficientCapacity", "507"};
    const char *why = "";
    for (size_t w = 0; w < sizeof full / sizeof *full; w++) {
        why = strstr(said->answer, full[w]) != NULL ? ": No space left on device" : why;
    }
    if (said->answer[0] != '\0') {
        return hc_fail(err, HC_E_IO, "cannot be sent: the server answers %s%s", said->answer, why);
    }
    const char *text = said->text[0] != '\0' ? said->text : VSIGetLastErrorMsg();
    return hc_fail(err, HC_E_IO, "cannot be sent%s%.300s", text[0] != '\0' ? ": " : "", text);
}

/* ---- all answers while a file is opened ---- */

static _Thread_local HcText parts;     /* "0-16383 (URL)" a line: what was asked for */
static _Thread_local char *last;       /* of them; NULL = none */
static _Thread_local int failures;     /* of it, one after the other, that GDAL repeats */
static _Thread_local HcSaid last_said; /* of it */
static _Thread_local struct {
    HcLostRead how;
    HcSaid said;
    char *part; /* NULL = not known */
} lost;

void hc_said_restart(void) {
    hc_text_clear(&parts);
    free(last);
    free(lost.part);
    last = NULL;
    failures = 0;
    memset(&lost, 0, sizeof lost);
}

void hc_said_forget(const char *path) {
    char *stem = strndup(path, strcspn(path, "?\""));
    char *dot = stem != NULL ? strrchr(stem, '.') : NULL;
    if (dot != NULL && strchr(dot, '/') == NULL) {
        *dot = '\0';
    }
    VSICurlPartialClearCache(stem != NULL ? stem : path);
    free(stem);
    hc_said_restart();
}

static void lose(HcLostRead how) {
    if (how > lost.how) {
        free(lost.part);
        lost.how = how;
        lost.said = last_said;
        lost.part = last != NULL ? strdup(last) : NULL;
    }
}

/* "0-16383 (URL)...": one that failed is asked for again by GDAL, as often as is set. */
static void hear_part(const char *part) {
    size_t length = strlen(part);
    length -= length > 3 && strcmp(part + length - 3, "...") == 0 ? 3 : 0;
    bool same = last != NULL && strncmp(part, last, length) == 0 && last[length] == '\0';
    if (failures > 0 && !(same && failures <= atoi(CPLGetConfigOption("GDAL_HTTP_MAX_RETRY", "0")))) {
        lose(HC_READ_BROKEN);
        failures = 0;
    }
    if (!same) {
        free(last);
        last = strndup(part, length);
        hc_text_add(&parts, "%.*s\n", (int)length, part);
    }
    last_said = (HcSaid){-1, "", ""};
}

bool hc_said_hear_size(const char *text) {
    const char *url = strstr(text, "GetFileSize(");
    bool part = url != NULL && strstr(text, "response_code=206") != NULL;
    if (part) {
        url += strlen("GetFileSize");
        hc_text_add(&parts, "0-16383 %.*s\n", (int)strcspn(url, " ="), url);
    }
    return part;
}

void hc_said_hear(const char *text) {
    const char *answer = strstr(text, "Got response_code="), *part = strstr(text, "Downloading ");
    if (part != NULL) {
        hear_part(part + strlen("Downloading "));
        return;
    }
    if (hc_said_hear_size(text)) {
        return;
    }
    hc_said_take(&last_said, text);
    long code = answer != NULL ? last_said.code : 0;
    if ((strstr(text, "DownloadRegion(") != NULL && strstr(text, "msg=") != NULL) ||
        strstr(text, "Got more data than expected") != NULL) { /* it keeps the rest for another part */
        lose(HC_READ_BROKEN);
    } else if (code == 429 || code == 500 || (code >= 502 && code <= 504)) {
        failures++;
    } else if (code >= 300) {
        lose(HC_READ_REFUSED);
    } else if (code > 0) {
        failures = 0;
    }
}

/* The name of the file of a part, as GDAL opens it: the one that is opened, or one beside it. */
static char *file_of(const char *path, const char *url, size_t length) {
    static const char web[] = "/vsicurl/";
    if (strncmp(path, web, strlen(web)) == 0) {
        return hc_text_format("%s%.*s", web, (int)length, url);
    }
    const char *name = url, *folder = strrchr(path, '/');
    for (size_t c = 0; c < length && url[c] != '?'; c++) {
        name = url[c] == '/' ? url + c + 1 : name;
    }
    char *plain = strndup(name, strcspn(name, "?)\n"));
    char *name_of = plain != NULL ? CPLUnescapeString(plain, NULL, CPLES_URL) : NULL;
    char *file = name_of != NULL ? hc_text_format("%.*s/%s", (int)(folder - path), path, name_of) : NULL;
    CPLFree(name_of);
    free(plain);
    return file;
}

/* Bytes that the cache holds of a part, *bytes of which the file has; what it lacks altogether is asked for
 * again. Negative where there is no such file. */
static int64_t cached(const char *file, int64_t from, int64_t to, int64_t *bytes) {
    VSILFILE *stream = VSIFOpenL(file, "rb");
    int64_t size = 0, got = -1;
    if (stream != NULL && VSIFSeekL(stream, 0, SEEK_END) == 0) {
        size = (int64_t)VSIFTellL(stream);
    }
    *bytes = (to < size ? to : size) - from;
    void *data = *bytes > 0 ? VSIMalloc((size_t)*bytes) : NULL;
    if (data != NULL && VSIFSeekL(stream, (vsi_l_offset)from, SEEK_SET) == 0) {
        got = (int64_t)VSIFReadL(data, 1, (size_t)*bytes, stream);
    }
    VSIFree(data);
    if (stream != NULL) {
        VSIFCloseL(stream);
    }
    return got;
}

/* A part that is not whole. The newest are looked at first, as far as the cache goes back. */
static bool find_short(const char *path, HcError *err) {
    bool found = false;
    char *all = hc_text_take(&parts);
    size_t end = all != NULL ? strlen(all) : 0;
    while (end > 0 && !found && parts.length == 0) { /* else one was asked for again */
        int64_t from = 0, to = 0, bytes = 0;
        all[end - 1] = '\0';
        const char *before = strrchr(all, '\n'), *part = before != NULL ? before + 1 : all;
        const char *url = strchr(part, '(');
        end = (size_t)(part - all);
        if (sscanf(part, "%" SCNd64 "-%" SCNd64, &from, &to) != 2 || url == NULL) {
            continue;
        }
        char *file = file_of(path, url + 1, strlen(url) - 2);
        int64_t got = file != NULL ? cached(file, from, to + 1, &bytes) : -1;
        found = got >= 0 && got < bytes;
        if (found) {
            (void)hc_fail(err, HC_E_IO, "%s: the server sent %" PRId64 " of %" PRId64 " bytes", file, got,
                          bytes);
        }
        free(file);
    }
    free(all);
    return found;
}

HcLostRead hc_said_lost(const char *path, HcError *err) {
    if (failures > 0) {
        lose(HC_READ_REFUSED);
    }
    if (lost.how == HC_READ_ALL) {
        return find_short(path, err) ? HC_READ_BROKEN : HC_READ_ALL;
    }
    const char *url = lost.part != NULL ? strchr(lost.part, '(') : NULL;
    char *file = url != NULL ? file_of(path, url + 1, strlen(url) - 2) : NULL;
    const HcSaid *said = &lost.said;
    HcError why = {0};
    HcStatus status = HC_OK;
    if (said->code != 206) {
        status = hc_said_fail(said, 0, 0, &why);
    } else if (said->text[0] != '\0') {
        status = hc_fail(&why, HC_E_IO, "the answer of the server ends early: %s", said->text);
    } else {
        status = hc_fail(&why, HC_E_IO, "the server sends more bytes than were asked for");
    }
    (void)hc_fail(err, status, "%s: %s", file != NULL ? file : path, why.text);
    free(file);
    return lost.how;
}
