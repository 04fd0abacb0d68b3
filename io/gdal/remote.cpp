/* GDAL reads by ranges, but says of a request that failed only that it did; the code of the server goes into
 * its debug output. So that is listened to, by the thread that asks and while it asks. With the code it is
 * known what may be asked again: GDAL before 3.10 does not repeat requests for ranges. */
#include "io/gdal/remote.h"
#include "io/gdal/errors.h"
#include "io/gdal/files.h"
#include "io/gdal/said.h"

#include <cpl_conv.h>
#include <cpl_http.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <cpl_vsi_error.h>
#include <cpl_vsi_virtual.h>
#include <gdal_version.h>
#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>
#include <set>
#include <string>

/* GDAL's netCDF driver reads files of servers as memory whose pages another thread fetches when they are
 * touched (userfaultfd), where the kernel lets it. A page that the server does not give is then zero, or
 * waited for without end. So this takes the place of GDAL's function: the HDF5 driver opens such files, as it
 * does for most users anyway. */
__attribute__((visibility("default"))) bool CPLIsUserFaultMappingSupported();
bool CPLIsUserFaultMappingSupported() {
    return false;
}

namespace {

/* Settings of a thread while it opens files of a server: what the user may have set, and our value. */
const char *const defaults[][2] = {{"GDAL_HTTP_MAX_RETRY", "5"},
                                   {"GDAL_HTTP_RETRY_DELAY", "0.5"},
                                   {"GDAL_HTTP_CONNECTTIMEOUT", "20"},
                                   {"GDAL_HTTP_LOW_SPEED_TIME", "30"},
                                   {"GDAL_HTTP_LOW_SPEED_LIMIT", "1"}};
enum { SETTINGS = sizeof defaults / sizeof *defaults };

const char ALLOWED[] = "CPL_VSIL_CURL_ALLOWED_EXTENSIONS";
thread_local bool set_here[SETTINGS], restricted, watched;
thread_local int depth;

void CPL_STDCALL listen(CPLErr, CPLErrorNum, const char *text) {
    hc_said_take(static_cast<HcSaid *>(CPLGetErrorHandlerUserData()), text);
    (void)(watched && hc_said_hear_size(text));
}

/* Whose debug output is listened to. That of others, as on credentials, would go past the handler to standard
 * error: GDAL's quiet handler prints it. */
const char file_systems[] = "VSICURL,S3,GS,AZURE,ADLS,OSS,SWIFT,WEBHDFS";

/* Listens as long as it lives. */
class Listener {
    const std::string before_; /* what debug output was wanted */

  public:
    explicit Listener(HcSaid *said) : before_(CPLGetThreadLocalConfigOption("CPL_DEBUG", "")) {
        *said = {-1, "", ""};
        VSIErrorReset();
        CPLSetThreadLocalConfigOption("CPL_DEBUG", file_systems);
        CPLPushErrorHandlerEx(listen, said);
    }
    ~Listener() {
        CPLPopErrorHandler();
        CPLSetThreadLocalConfigOption("CPL_DEBUG", before_.empty() ? nullptr : before_.c_str());
    }
    Listener(const Listener &) = delete;
    Listener &operator=(const Listener &) = delete;
};

void wait_for(double seconds) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    seconds *= 1 + static_cast<double>(now.tv_nsec % 1000) / 2000; /* not all threads at once */
    now.tv_sec = static_cast<time_t>(seconds);
    now.tv_nsec = static_cast<long>((seconds - static_cast<double>(now.tv_sec)) * 1e9);
    nanosleep(&now, nullptr);
}

/* Whether no answer came: GDAL repeats what is answered by 429 or 5xx, but not that. */
bool is_broken(const HcSaid &said) {
    return said.code <= 0 && said.text[0] != '\0' && strstr(said.text, "resolve") == nullptr;
}

/* Asks again, as often as is set, while `ask` fails and `passes` holds for what was said. Between begin and
 * end. */
template <typename Ask> bool repeat(const char *path, HcSaid *said, bool (*passes)(const HcSaid &), Ask ask) {
    int retries = atoi(CPLGetConfigOption("GDAL_HTTP_MAX_RETRY", "0"));
    double delay = CPLAtof(CPLGetConfigOption("GDAL_HTTP_RETRY_DELAY", "0.5"));
    for (int tries = 0;; tries++, delay *= 2) {
        {
            Listener listener(said);
            if (ask()) {
                return true;
            }
        }
        if (tries >= retries || !passes(*said)) {
            return false;
        }
        wait_for(delay);
        VSICurlPartialClearCache(path);
    }
}

/* GDAL takes a file for one of 0 bytes, or for a folder, where it does not follow a redirect, and keeps that.
 */
bool is_elsewhere(const char *path, const HcSaid &said) {
    if (hc_said_redirects(&said)) {
        VSICurlPartialClearCache(path);
    }
    return hc_said_redirects(&said);
}

char **ask_headers(const char *path, HcSaid *said) {
    char **headers = nullptr;
    VSICurlPartialClearCache(path);
    (void)repeat(path, said, is_broken, [&]() {
        headers = VSIGetFileMetadata(path, "HEADERS", nullptr);
        return headers != nullptr;
    });
    if (is_elsewhere(path, *said)) {
        CSLDestroy(headers);
        headers = nullptr;
    }
    return headers;
}

} // namespace

struct HcRemote {
    VSIVirtualHandle *handle;
    bool by_ranges; /* threads may ask at once; else one after the other */
    int64_t size;
    int retries;
    double delay;
    std::mutex lock; /* of the position */
};

const char *hc_remote_name(const char *path) {
    static std::mutex lock;
    static std::set<std::string> taken; /* names that were given away */
    static const char *const names[][2] = {{"http://", "/vsicurl/http://"},
                                           {"https://", "/vsicurl/https://"},
                                           {"ftp://", "/vsicurl/ftp://"},
                                           {"s3://", "/vsis3/"},
                                           {"gs://", "/vsigs/"},
                                           {"az://", "/vsiaz/"}};
    for (const auto &name : names) {
        size_t length = strlen(name[0]);
        if (strncmp(path, name[0], length) == 0) {
            const std::lock_guard<std::mutex> guard(lock);
            return taken.insert(std::string(name[1]) + (path + length)).first->c_str();
        }
    }
    return path;
}

/* Where the name of a file of a server begins in a text, "HDF5:\"/vsis3/...\"://array" too; or NULL. */
static const char *find_remote(const char *text) {
    static const char *const systems[] = {"/vsicurl/", "/vsis3/",  "/vsigs/",    "/vsiaz/",
                                          "/vsiadls/", "/vsioss/", "/vsiswift/", "/vsiwebhdfs/"};
    for (const char *system : systems) {
        const char *at = strstr(text, system);
        if (at == text || (at != nullptr && strchr(":\"", at[-1]) != nullptr)) {
            return at;
        }
    }
    return nullptr;
}

bool hc_remote_is(const char *path) {
    return path[0] == '/' && find_remote(path) == path;
}

bool hc_remote_takes(const char *path) {
    return hc_remote_is(path) && !STARTS_WITH(path, "/vsicurl/") && !STARTS_WITH(path, "/vsiswift/");
}

/* Of the files with the stem of this one: a raster, its header, and what others may have put beside it. */
static void set_for_path(const char *path) {
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 6, 0)
    static const char option[] = "GDAL_DISABLE_READDIR_ON_OPEN";
    char *stem = strndup(path, strcspn(path, "?\""));
    char *dot = stem != nullptr ? strrchr(stem, '.') : nullptr;
    if (dot != nullptr && strchr(dot, '/') == nullptr) {
        *dot = '\0';
    }
    if (stem != nullptr && VSIGetPathSpecificOption(stem, option, nullptr) == nullptr) {
        VSISetPathSpecificOption(stem, option, "EMPTY_DIR");
    }
    free(stem);
#else
    (void)path;
#endif
}

/* Files that one that is opened may need beside itself end like this: a header, and what describes a product.
 * Of formats of one file GDAL then asks for no others. */
static void set_endings(const char *path) {
    static const char *const single[] = {"tif", "tiff", "nc",  "nc4", "h5",  "he5", "hdf5",
                                         "hdf", "jp2",  "img", "dat", "raw", "bsq", "bil",
                                         "bip", "bin",  "rdn", "rfl", "fla", "cube"};
    size_t length = strcspn(path, "?\""), begin = length;
    while (begin > 0 && path[begin - 1] != '/' && path[begin - 1] != '.') {
        begin--;
    }
    bool known = begin > 0 && path[begin - 1] == '/'; /* without an ending: of ENVI */
    for (const char *ending : single) {
        known = known || (strlen(ending) == length - begin && EQUALN(path + begin, ending, length - begin));
    }
    std::string name(path + begin, length - begin);
    name.erase(0, name.find_last_of(", ") + 1); /* which separate endings */
    if (known && !name.empty()) {
        CPLSetThreadLocalConfigOption(ALLOWED, (name + " .hdr .json METADATA.xml").c_str());
    }
}

void hc_remote_begin(const char *path) {
    path = find_remote(path);
    if (depth++ > 0 || path == nullptr) {
        return;
    }
    hc_gdal_hear_servers(file_systems);
    set_for_path(path);
    watched = true;
    restricted = CPLGetConfigOption(ALLOWED, nullptr) == nullptr;
    if (restricted) {
        set_endings(path);
    }
    for (int s = 0; s < SETTINGS; s++) {
        set_here[s] = CPLGetConfigOption(defaults[s][0], nullptr) == nullptr;
        if (set_here[s]) {
            CPLSetThreadLocalConfigOption(defaults[s][0], defaults[s][1]);
        }
    }
}

void hc_remote_end(void) {
    depth--;
    for (int s = 0; depth == 0 && s < SETTINGS; s++) {
        if (set_here[s]) {
            CPLSetThreadLocalConfigOption(defaults[s][0], nullptr);
        }
        set_here[s] = false;
    }
    if (depth == 0 && watched) {
        hc_gdal_hear_servers(nullptr);
        watched = false;
    }
    if (depth == 0 && restricted) {
        CPLSetThreadLocalConfigOption(ALLOWED, nullptr);
        restricted = false;
    }
}

bool hc_remote_again(const char *path, int tries) {
    HcError why = {};
    HcGdalErrors messages;
    path = find_remote(path);
    hc_gdal_catch(&messages);
    HcLostRead lost = watched && path != nullptr ? hc_said_lost(path, &why) : HC_READ_ALL;
    hc_gdal_release();
    bool again = lost == HC_READ_BROKEN && tries < atoi(CPLGetConfigOption("GDAL_HTTP_MAX_RETRY", "0"));
    if (again) {
        wait_for(CPLAtof(CPLGetConfigOption("GDAL_HTTP_RETRY_DELAY", "0.5")) * (1 << tries));
        hc_said_forget(path);
    } else if (lost != HC_READ_ALL) {
        hc_gdal_files_note_failure(&why);
    }
    return again;
}

void hc_remote_watch(const char *path) {
    if (depth == 0 && find_remote(path) != nullptr) {
        hc_gdal_hear_servers(file_systems);
        watched = true;
    }
}

void hc_remote_settle(const char *path) {
    if (depth == 0 && watched) {
        (void)hc_remote_again(path, INT32_MAX);
        hc_gdal_hear_servers(nullptr);
        watched = false;
    }
}

void hc_remote_before_fork(void) {
    VSICurlClearCache();
}

/* ---- which version ---- */

static char *text_of_headers(char **headers) {
    /* Objects are looked at by their first part. */
    const char *total = strrchr(CSLFetchNameValueDef(headers, "Content-Range", ""), '/');
    const char *size = total != nullptr ? total + 1 : CSLFetchNameValueDef(headers, "Content-Length", "");
    return hc_text_format("ETag=%.180s;Last-Modified=%.180s;size=%.20s;",
                          CSLFetchNameValueDef(headers, "ETag", ""),
                          CSLFetchNameValueDef(headers, "Last-Modified", ""), size);
}

/* GDAL would keep what is too much as the next part of an object, which then seems to end there. */
static void drop_other_size(const char *path, char **headers) {
    int64_t first = 0, last = 0;
    const char *range = CSLFetchNameValueDef(headers, "Content-Range", "");
    if (sscanf(range, "bytes %" SCNd64 "-%" SCNd64, &first, &last) == 2 &&
        CPLAtoGIntBig(CSLFetchNameValueDef(headers, "Content-Length", "")) != last - first + 1) {
        VSICurlPartialClearCache(path);
    }
}

HcStatus hc_remote_state(const char *path, char **state, HcError *err) {
    HcSaid said;
    *state = nullptr;
    hc_remote_begin(path);
    char **headers = ask_headers(path, &said);
    drop_other_size(path, headers);
    hc_remote_end();
    const char *code = CSLFetchNameValue(headers, "Content-Encoding");
    HcStatus status = HC_OK;
    if (headers == nullptr) {
        HcError why = {};
        status = hc_fail(err, hc_said_fail(&said, 0, 0, &why), "%s: %s", path, why.text);
    } else if (code != nullptr && !EQUAL(code, "identity")) {
        status = hc_fail(err, HC_E_UNSUPPORTED,
                         "%s: the server encodes it (Content-Encoding: %.40s): its bytes "
                         "cannot be read by ranges",
                         path, code);
    } else if ((*state = text_of_headers(headers)) == nullptr) {
        status = hc_fail_memory(err, 600, "headers");
    }
    CSLDestroy(headers);
    return status;
}

/* HC_OK: the server has answered. */
static HcStatus stat_remote(const char *path, VSIStatBufL *info, int flags, bool *there, HcError *err) {
    HcSaid said = {0, "", ""};
    HcError why = {};
    bool asks = !STARTS_WITH(path, "/vsicurl/") || strstr(path, "://") != nullptr; /* not above a server */
    hc_remote_begin(path);
    *there = asks && repeat(path, &said, is_broken, [&]() {
                 *info = {};
                 return VSIStatExL(path, info, flags) == 0 && !is_elsewhere(path, said);
             });
    hc_remote_end();
    /* A bucket that may not be listed says 403 of what it does not have. */
    bool refused = said.code >= 400 && said.code < 500 && !hc_said_may_pass(&said);
    if (*there || refused || (said.code <= 0 && said.text[0] == '\0')) {
        return HC_OK;
    }
    said.code = said.code < 300 ? 0 : said.code; /* the answer broke off */
    HcStatus status = hc_said_fail(&said, 0, 0, &why);
    return hc_fail(err, status, "%s: %s", path, why.text);
}

bool hc_gdal_stat(const char *path, VSIStatBufL *info, int flags) {
    HcError why = {};
    bool there = false;
    *info = {};
    errno = 0;
    if (!hc_remote_is(path)) {
        there = VSIStatExL(path, info, flags) == 0;
        if (!there && hc_errno_status(errno, HC_OK) != HC_OK) {
            hc_gdal_files_note(path, errno);
        }
    } else if (stat_remote(path, info, flags, &there, &why) != HC_OK) {
        hc_gdal_files_note_failure(&why);
    }
    return there;
}

/* ---- objects ---- */

HcStatus hc_remote_look_up(const char *path, bool *there, int64_t *size, int64_t *modified, HcError *err) {
    HcSaid said;
    VSIStatBufL info = {};
    HcError why = {};
    *there = false;
    const char *bucket = strchr(path + 1, '/');
    if (hc_remote_takes(path) && (bucket == nullptr || strchr(bucket + 1, '/') == nullptr)) {
        return HC_OK; /* a bucket is no object */
    }
    hc_remote_begin(path);
    char **headers = ask_headers(path, &said);
    HcStatus status = HC_OK;
    if (headers != nullptr) {
        status = stat_remote(path, &info, 0, there, err);
        *there = *there && !VSI_ISDIR(info.st_mode);
    } else if (said.code != 404 && said.code != 410) {
        status = hc_fail(err, hc_said_fail(&said, 0, 0, &why), "%s: %s", path, why.text);
    }
    hc_remote_end();
    CSLDestroy(headers);
    *size = static_cast<int64_t>(info.st_size);
    *modified = static_cast<int64_t>(info.st_mtime);
    return status;
}

/* ---- sending ---- */

namespace {

/* At most 10,000 parts are taken; GDAL holds one in memory. */
int64_t part_bytes(int64_t size) {
    const int64_t mib = 1 << 20, least = 16, parts = 9000;
    return std::max(least, size / parts / mib + 1) * mib;
}

/* Returns the bytes that were taken. */
int64_t send_all(VSILFILE *to, VSILFILE *from) {
    enum { STEP = 1 << 20 };
    int64_t done = 0;
    void *data = VSIMalloc(STEP);
    for (size_t got = STEP; data != nullptr && got == STEP;) {
        got = VSIFReadL(data, 1, STEP, from);
        if (VSIFWriteL(data, 1, got, to) != got) {
            break;
        }
        done += static_cast<int64_t>(got);
    }
    VSIFree(data);
    return done;
}

/* Whether all bytes were taken. */
bool send_file(const char *path, VSILFILE *from, int64_t size) {
    (void)!VSIFSeekL(from, 0, SEEK_SET);
    VSILFILE *to = VSIFOpenL(path, "wb");
    bool whole = to != nullptr && send_all(to, from) == size;
    return to != nullptr && VSIFCloseL(to) == 0 && whole;
}

/* Of an upload that failed GDAL says no more than the answer of the server. */
bool is_unanswered(const HcSaid &said) {
    return said.answer[0] == '\0' || strcmp(said.answer, "NoSuchUpload") == 0; /* its end was not answered */
}

} // namespace

HcStatus hc_remote_put(const char *path, const char *from, HcError *err) {
    HcSaid said;
    VSIStatBufL info;
    bool sent = false, there = false;
    int64_t size = 0, modified = 0;
    VSILFILE *file = VSIStatL(from, &info) == 0 ? VSIFOpenL(from, "rb") : nullptr;
    if (file == nullptr) {
        return hc_fail(err, HC_E_IO, "%s cannot be opened", from);
    }
    int64_t bytes = static_cast<int64_t>(info.st_size);
    std::string part = std::to_string(part_bytes(bytes) >> 20);
    hc_remote_begin(path);
    CPLSetThreadLocalConfigOption("VSIS3_CHUNK_SIZE", part.c_str());
    sent = repeat(path, &said, is_unanswered, [&]() {
        bool whole = send_file(path, file, bytes);
        if (!whole) {
            hc_remote_abort(path);
        }
        return whole;
    });
    CPLSetThreadLocalConfigOption("VSIS3_CHUNK_SIZE", nullptr);
    hc_remote_end();
    VSIFCloseL(file);
    if (sent && bytes > part_bytes(bytes)) {
        hc_remote_abort(path); /* one that was begun without an answer, by a process that was killed */
    }
    if (!sent) {
        return hc_said_fail_put(&said, err);
    }
    HC_OR_RETURN(hc_remote_look_up(path, &there, &size, &modified, err));
    size = there ? size : 0;
    return size == bytes
               ? HC_OK
               : hc_fail(err, HC_E_IO, "cannot be sent: the server holds %" PRId64 " of %" PRId64 " bytes",
                         size, bytes);
}

HcStatus hc_remote_remove(const char *path, HcError *err) {
    HcSaid said;
    bool there = false;
    int64_t size = 0, modified = 0;
    HC_OR_RETURN(hc_remote_look_up(path, &there, &size, &modified, err));
    hc_remote_begin(path);
    bool gone = !there || repeat(path, &said, is_unanswered, [&]() { return VSIUnlink(path) == 0; });
    hc_remote_end();
    return gone ? HC_OK
                : hc_fail(err, HC_E_IO, "%s: cannot be removed: %s%s", path, said.answer,
                          said.answer[0] ? "" : said.text);
}

void hc_remote_abort(const char *path) {
    hc_remote_begin(path);
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 4, 0)
    HcSaid said;
    (void)repeat(path, &said, is_broken, [&]() { return VSIAbortPendingUploads(path) != FALSE; });
#endif
    hc_remote_end();
}

/* ---- reading ---- */

HcStatus hc_remote_open(HcRemote **out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    VSIStatBufL info;
    HcGdalErrors messages;
    bool there = false;
    *out = nullptr;
    hc_gdal_catch(&messages);
    hc_remote_begin(path);
    HcRemote *file = new (std::nothrow) HcRemote{};
    if (file == nullptr) {
        HC_TRY(hc_fail_memory(err, sizeof *file, "a file"));
    }
    HC_TRY(stat_remote(path, &info, 0, &there, err));
    file->handle = there ? reinterpret_cast<VSIVirtualHandle *>(VSIFOpenL(path, "rb")) : nullptr;
    if (file->handle == nullptr) {
        HC_TRY(hc_fail(err, HC_E_IO, "%s: cannot be opened%s%s", path, messages.failed ? ": " : "",
                       messages.text));
    }
    file->size = static_cast<int64_t>(info.st_size);
    file->retries = atoi(CPLGetConfigOption("GDAL_HTTP_MAX_RETRY", "0"));
    file->delay = CPLAtof(CPLGetConfigOption("GDAL_HTTP_RETRY_DELAY", "0.5"));
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 6, 0)
    file->by_ranges = hc_remote_is(path) && file->handle->HasPRead();
#endif
    *out = file;
    file = nullptr;
done:
    hc_remote_end();
    hc_gdal_release();
    hc_remote_close(file);
    return status;
}

void hc_remote_close(HcRemote *file) {
    if (file != nullptr && file->handle != nullptr) {
        VSIFCloseL(reinterpret_cast<VSILFILE *>(file->handle));
    }
    delete file;
}

int64_t hc_remote_size(const HcRemote *file) {
    return file->size;
}

/* One request; returns the bytes that came. */
static int64_t ask(HcRemote *file, void *to, int64_t bytes, int64_t at, bool cached, HcSaid *said) {
    size_t got = 0;
    Listener listener(said);
    if (cached || !file->by_ranges) {
        const std::lock_guard<std::mutex> guard(file->lock);
        VSILFILE *stream = reinterpret_cast<VSILFILE *>(file->handle);
        bool there = VSIFSeekL(stream, static_cast<vsi_l_offset>(at), SEEK_SET) == 0;
        got = there ? VSIFReadL(to, 1, static_cast<size_t>(bytes), stream) : 0;
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 6, 0)
    } else {
        got = file->handle->PRead(to, static_cast<size_t>(bytes), static_cast<vsi_l_offset>(at));
#endif
    }
    return got > static_cast<size_t>(bytes) ? 0 : static_cast<int64_t>(got);
}

static HcStatus read_at(HcRemote *file, void *to, int64_t bytes, int64_t at, bool cached, HcError *err) {
    HcSaid said;
    double delay = file->delay;
    for (int tries = 0;; tries++, delay *= 2) {
        int64_t got = ask(file, to, bytes, at, cached, &said);
        if (got == bytes) {
            return HC_OK;
        }
        if (tries >= file->retries || !hc_said_may_pass(&said)) {
            return hc_said_fail(&said, bytes, got, err);
        }
        wait_for(delay);
    }
}

HcStatus hc_remote_read(HcRemote *file, void *to, int64_t bytes, int64_t at, HcError *err) {
    return read_at(file, to, bytes, at, false, err);
}

HcStatus hc_remote_look(HcRemote *file, void *to, int64_t bytes, int64_t at, HcError *err) {
    return read_at(file, to, bytes, at, true, err);
}

/* ---- small files ---- */

namespace {

/* What this thread asks for; others have connections of their own. */
char **fetch_options(int64_t most) {
    char **options =
        CSLSetNameValue(nullptr, "PERSISTENT", CPLSPrintf("hcube %p", static_cast<void *>(&depth)));
    options = CSLSetNameValue(options, "MAX_FILE_SIZE", CPLSPrintf("%" PRId64, most));
    for (const auto &setting : defaults) {
        const char *name = setting[0] + strlen("GDAL_HTTP_");
        if (strstr(name, "RETRY") == nullptr && CPLGetConfigOption(setting[0], nullptr) == nullptr) {
            options = CSLSetNameValue(options, name, setting[1]);
        }
    }
    return options;
}

/* *bytes: of the file; -1 = more than `most`. */
void fetch_once(const char *address, uint8_t *to, int64_t most, int64_t *bytes, HcSaid *said) {
    HcGdalErrors messages;
    char **options = fetch_options(most);
    *said = {0, "", ""};
    hc_gdal_catch(&messages);
    CPLHTTPResult *result = CPLHTTPFetch(address, options);
    hc_gdal_release();
    CSLDestroy(options);
    const char *why = result != nullptr && result->pszErrBuf != nullptr ? result->pszErrBuf : "";
    const char *code = strstr(why, "HTTP error code : ");
    if (strstr(why, "Maximum file size") != nullptr ||
        strstr(messages.text, "Maximum file size") != nullptr) {
        *bytes = -1; /* by its header, or as it came */
    } else if (code != nullptr) {
        said->code = strtol(code + strlen("HTTP error code : "), nullptr, 10);
    } else if (result != nullptr && result->nStatus == 0 && why[0] == '\0' && result->nDataLen <= most) {
        said->code = 200;
        *bytes = result->nDataLen;
        memcpy(to, result->pabyData, static_cast<size_t>(*bytes));
    } else {
        snprintf(said->text, sizeof said->text, "%s", why);
    }
    CPLHTTPDestroyResult(result);
}

} // namespace

HcStatus hc_remote_fetch(const char *path, void *to, int64_t most, int64_t *bytes, HcError *err) {
    HcSaid said;
    HcError why = {};
    int retries = atoi(CPLGetConfigOption("GDAL_HTTP_MAX_RETRY", defaults[0][1]));
    double delay = CPLAtof(CPLGetConfigOption("GDAL_HTTP_RETRY_DELAY", defaults[1][1]));
    *bytes = 0;
    for (int tries = 0;; tries++, delay *= 2) {
        bool plain = STARTS_WITH(path, "/vsicurl/");
        char *address = plain ? CPLStrdup(path + strlen("/vsicurl/")) : VSIGetSignedURL(path, nullptr);
        if (address == nullptr) {
            return hc_fail(err, HC_E_IO, "cannot be read: there are no credentials for it");
        }
        fetch_once(address, static_cast<uint8_t *>(to), most, bytes, &said);
        CPLFree(address);
        if (*bytes < 0) {
            *bytes = 0;
            return hc_fail(err, HC_E_INPUT, "has more than %" PRId64 " bytes, which is too long", most);
        }
        if (said.code == 200 || said.code == 404 || said.code == 410) {
            return said.code == 200 && *bytes == 0 ? hc_fail(err, HC_E_INPUT, "has 0 bytes") : HC_OK;
        }
        if (tries >= retries || !hc_said_may_pass(&said)) {
            break;
        }
        wait_for(delay);
    }
    return hc_fail(err, hc_said_fail(&said, most, 0, &why), "cannot be read: %s", why.text);
}
