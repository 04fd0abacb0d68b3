/* What the range server does as an object store: as much of S3's interface as GDAL's /vsis3/ asks for,
 * without signatures. Objects are the files of the folder, BUCKET/KEY; uploads in parts lie in
 * FOLDER/.uploads/ID. */
#include "tests/support/range_server.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH = 3000, TEXT = 1 << 16 };

static void make_folders(const char *path) {
    char folder[PATH];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *slash = strchr(folder + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(folder, 0777);
        *slash = '/';
    }
}

/* The value of a name in a query ("" where it has none), undone as far as paths need it; false: not there. */
static bool value_of(const char *query, const char *name, char *to, size_t bytes) {
    size_t length = strlen(name), used = 0;
    const char *at = query;
    while (at != NULL && !(strncmp(at, name, length) == 0 && strchr("=&", at[length]) != NULL)) {
        at = strchr(at, '&');
        at = at != NULL ? at + 1 : NULL;
    }
    to[0] = '\0';
    if (at == NULL) {
        return false;
    }
    at += length + (at[length] == '=');
    for (; *at != '\0' && *at != '&' && used + 1 < bytes; at++) {
        unsigned int code = 0;
        if (*at == '%' && sscanf(at + 1, "%2x", &code) == 1) {
            to[used++] = (char)code;
            at += 2;
        } else {
            to[used++] = *at;
        }
    }
    to[used] = '\0';
    return true;
}

/* The body of a request into a file, by a name of its own first. */
static bool take_body(Request *request, const char *path) {
    char fresh[PATH + 40], data[1 << 16];
    static _Atomic long number;
    snprintf(fresh, sizeof fresh, "%s.%ld.part", path, ++number);
    make_folders(path);
    int file = open(fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int64_t left = request->bytes;
    while (left > 0) {
        ssize_t got = take_bytes(request, data, left < (int64_t)sizeof data ? (size_t)left : sizeof data);
        if (got <= 0 || write(file, data, (size_t)got) != got) {
            break;
        }
        left -= got;
    }
    bool whole = file >= 0 && close(file) == 0 && left == 0 && rename(fresh, path) == 0;
    if (!whole) {
        unlink(fresh);
    }
    return whole;
}

static bool drop_body(Request *request) {
    char data[1 << 16];
    while (request->bytes > 0) {
        ssize_t got = take_bytes(
            request, data, request->bytes < (int64_t)sizeof data ? (size_t)request->bytes : sizeof data);
        if (got <= 0) {
            return false;
        }
        request->bytes -= got;
    }
    return true;
}

static bool answer_with(Request *request, const char *state, const char *more, const char *text) {
    char head[400];
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: %zu\r\n%s\r\n", state, strlen(text), more);
    return send_all(request->to, head, strlen(head)) && send_all(request->to, text, strlen(text));
}

static bool answer_head(Request *request, const char *state) {
    char head[100];
    snprintf(head, sizeof head, "HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n", state);
    return send_all(request->to, head, strlen(head));
}

bool refuse(Request *request, long code, const char *word) {
    char state[40], text[300];
    snprintf(state, sizeof state, "%ld Fault", code);
    snprintf(text, sizeof text,
             "<?xml version=\"1.0\"?>\n<Error><Code>%s</Code><Message>refused</Message>"
             "<Region>eu-west-9</Region><Endpoint>127.0.0.1:1</Endpoint></Error>",
             word);
    return drop_body(request) &&
           (strcmp(request->method, "HEAD") == 0 ? answer_head(request, state)
                                                 : answer_with(request, state, "", text));
}

/* ---- uploads in parts ---- */

static bool begin_upload(Request *request) {
    static _Atomic long number;
    char path[PATH], text[PATH + 200];
    long id = (long)getpid() * 1000 + ++number;
    snprintf(path, sizeof path, "%s/.uploads/%ld/key", request->folder, id);
    make_folders(path);
    FILE *file = fopen(path, "w");
    if (file != NULL) {
        fputs(request->target, file);
        fclose(file);
    }
    snprintf(text, sizeof text,
             "<?xml version=\"1.0\"?>\n<InitiateMultipartUploadResult><UploadId>%ld</UploadId>"
             "</InitiateMultipartUploadResult>",
             id);
    return answer_with(request, "200 OK", "", text);
}

static void remove_upload(const char *folder) {
    char path[PATH];
    DIR *handle = opendir(folder);
    for (struct dirent *entry = NULL; handle != NULL && (entry = readdir(handle)) != NULL;) {
        snprintf(path, sizeof path, "%.2000s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (handle != NULL) {
        closedir(handle);
    }
    rmdir(folder);
}

/* The parts in their order become the object. */
static bool end_upload(Request *request, const char *folder, const char *object) {
    char path[PATH], fresh[PATH + 10], data[1 << 16];
    snprintf(fresh, sizeof fresh, "%s.joined", object);
    if (access(folder, F_OK) != 0) {
        return refuse(request, 404, "NoSuchUpload");
    }
    make_folders(object);
    FILE *to = fopen(fresh, "w");
    for (int part = 1; to != NULL; part++) {
        snprintf(path, sizeof path, "%s/%d", folder, part);
        FILE *from = fopen(path, "r");
        if (from == NULL) {
            break;
        }
        for (size_t got = 1; got > 0;) {
            got = fread(data, 1, sizeof data, from);
            fwrite(data, 1, got, to);
        }
        fclose(from);
    }
    bool whole = to != NULL && fclose(to) == 0 && rename(fresh, object) == 0;
    remove_upload(folder);
    return whole && drop_body(request) &&
           answer_with(request, "200 OK", "",
                       "<?xml version=\"1.0\"?>\n<CompleteMultipartUploadResult><ETag>\"0\"</ETag>"
                       "</CompleteMultipartUploadResult>");
}

static bool list_uploads(Request *request, const char *prefix) {
    char path[PATH], key[1200];
    static _Thread_local char text[TEXT];
    size_t length =
        (size_t)snprintf(text, sizeof text, "<?xml version=\"1.0\"?>\n<ListMultipartUploadsResult>");
    snprintf(path, sizeof path, "%s/.uploads", request->folder);
    DIR *handle = opendir(path);
    for (struct dirent *entry = NULL; handle != NULL && (entry = readdir(handle)) != NULL;) {
        snprintf(path, sizeof path, "%s/.uploads/%s/key", request->folder, entry->d_name);
        FILE *file = entry->d_name[0] != '.' ? fopen(path, "r") : NULL;
        const char *found =
            file != NULL && fgets(key, sizeof key, file) != NULL ? strchr(key + 1, '/') : NULL;
        if (found != NULL && strncmp(found + 1, prefix, strlen(prefix)) == 0) {
            length += (size_t)snprintf(text + length, sizeof text - length,
                                       "<Upload><Key>%s</Key><UploadId>%s</UploadId></Upload>", found + 1,
                                       entry->d_name);
        }
        if (file != NULL) {
            fclose(file);
        }
    }
    if (handle != NULL) {
        closedir(handle);
    }
    snprintf(text + length, sizeof text - length, "</ListMultipartUploadsResult>");
    return answer_with(request, "200 OK", "", text);
}

/* GDAL asks for the names with a prefix where it finds no object: there are none. */
static bool list_none(Request *request) {
    return answer_with(request, "200 OK", "Content-Type: application/xml\r\n",
                       "<?xml version=\"1.0\"?>\n<ListBucketResult><IsTruncated>false</IsTruncated>"
                       "</ListBucketResult>");
}

bool answer_objects(Request *request, const Faults *faults, bool *mine) {
    static _Atomic long puts;
    char id[40], part[12], prefix[1000], object[PATH], folder[PATH];
    const char *method = request->method, *query = request->query;
    bool in_parts = value_of(query, "uploadId", id, sizeof id), put = strcmp(method, "PUT") == 0;
    bool uploads = value_of(query, "uploads", part, sizeof part);
    bool prefixed = value_of(query, "prefix", prefix, sizeof prefix);
    *mine = put || strcmp(method, "POST") == 0 || strcmp(method, "DELETE") == 0 || uploads || prefixed;
    snprintf(object, sizeof object, "%s%s", request->folder, request->target);
    snprintf(folder, sizeof folder, "%s/.uploads/%s", request->folder, id);
    long number = put ? ++puts : 0;
    if (!*mine || strstr(object, "..") != NULL) {
        *mine = *mine || strstr(object, "..") != NULL;
        return *mine && refuse(request, 403, "AccessDenied");
    }
    if (put && faults->put > 0 && number % faults->put == 0) {
        return refuse(request, faults->put_code, faults->put_word);
    }
    if (strcmp(method, "GET") == 0) {
        return uploads ? list_uploads(request, prefix) : list_none(request);
    }
    if (strcmp(method, "POST") == 0) {
        return in_parts ? end_upload(request, folder, object) : begin_upload(request);
    }
    if (strcmp(method, "DELETE") == 0) {
        if (in_parts) {
            remove_upload(folder);
        } else {
            unlink(object);
        }
        return answer_with(request, "204 No Content", "", "");
    }
    if (in_parts && value_of(query, "partNumber", part, sizeof part)) {
        snprintf(object, sizeof object, "%s/.uploads/%s/%s", request->folder, id, part);
    }
    return take_body(request, object) ? answer_with(request, "200 OK", "ETag: \"0\"\r\n", "")
                                      : refuse(request, 500, "InternalError");
}
