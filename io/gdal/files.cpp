/* The handler for plain file names stays GDAL's own. A second one before it passes all calls on, and looks at
 * the results: GDAL's drivers see what they saw before. The C interface for handlers
 * (VSIInstallPluginHandler) is not used: it needs a prefix, by which files in messages, records and lists
 * would have other names, and files beside them would have to be found again. */
#include "io/gdal/files.h"
#include "io/gdal/errors.h"

#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <cpl_vsi_virtual.h>
#include <cstdio>
#include <cstring>
#include <gdal_version.h>
#include <mutex>
#include <new>
#include <string>
#include <sys/stat.h>

namespace {

struct Note {
    int64_t number; /* from 1 on */
    int error;      /* errno, 0 = SQLite does not say it */
    bool written;   /* not read */
    char path[1024];
    uint64_t at;
    size_t wanted;
    HcError failure; /* in the place of error and path, HC_OK: none */
};

std::mutex lock;
Note failed, cut;
std::atomic<int64_t> notes;
thread_local bool in_pixels;
char database[sizeof failed.path]; /* of SQLite, opened last */

void put(Note &note, const char *path, int error, uint64_t at, size_t wanted, bool written = false,
         const HcError *failure = nullptr) {
    const std::lock_guard<std::mutex> guard(lock);
    note.number = ++notes;
    note.error = error;
    note.written = written;
    note.at = at;
    note.wanted = wanted;
    note.failure = failure != nullptr ? *failure : HcError{};
    snprintf(note.path, sizeof note.path, "%s", path);
}

} // namespace

/* Later versions have other signatures, and destroy the handler that is replaced. */
#if GDAL_VERSION_NUM < GDAL_COMPUTE_VERSION(3, 12, 0)

namespace {

/* After a call that failed: a file that is not there is none of these. */
void note_failure(const char *path) {
    if (hc_errno_status(errno, HC_OK) != HC_OK) {
        put(failed, path, errno, 0, 0);
    }
}

/* How a file marks its end, by its first bytes. */
enum class Kind {
    plain,  /* by nothing: what is missing would be zeros */
    marked, /* by a mark: drivers ask for pieces of a fixed size, and the last one is short */
    text,   /* by its words, in the same way; also all of a header beside the pixels is read */
    checked /* by a checksum, after which drivers look for more */
};

bool is_text(const unsigned char *bytes, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] == 0 || (bytes[i] < ' ' && strchr("\t\n\f\r", bytes[i]) == nullptr)) {
            return false;
        }
    }
    return count > 0;
}

Kind kind_of(const char *path) {
    static const struct {
        Kind kind;
        size_t at;
        const char *bytes; /* that begin it */
    } known[] = {
        {Kind::marked, 0, "\xff\xd8\xff"},  {Kind::marked, 0, "\x89PNG"},          {Kind::marked, 0, "GIF8"},
        {Kind::marked, 4, "jP  "},          {Kind::marked, 0, "\xff\x4f\xff\x51"}, {Kind::marked, 0, "RIFF"},
        {Kind::marked, 4, "ftyp"},          {Kind::marked, 0, "\xff\x0a"},         {Kind::marked, 0, "msid"},
        {Kind::checked, 0, "\x1f\x8b\x08"}, {Kind::checked, 0, "PK\x03\x04"},
    };
    unsigned char begin[512] = {0};
    FILE *file = fopen(path, "rbe");
    size_t count = file != nullptr ? fread(begin, 1, sizeof begin, file) : 0;
    if (file != nullptr) {
        fclose(file);
    }
    for (const auto &one : known) {
        if (memcmp(begin + one.at, one.bytes, strlen(one.bytes)) == 0) {
            return one.kind;
        }
    }
    return is_text(begin, count) ? Kind::text : Kind::plain;
}

bool is_folder(const char *path) {
    struct stat is = {};
    return stat(path, &is) == 0 && S_ISDIR(is.st_mode);
}

bool ends_at(const char *path, uint64_t place) {
    struct stat is = {};
    return stat(path, &is) == 0 && static_cast<uint64_t>(is.st_size) == place;
}

/* An open file. */
class File final : public VSIVirtualHandle {
  public:
    File(VSIVirtualHandle *file, const char *path, bool writes) : file_(file), path_(path), writes_(writes) {
    }

    ~File() override {
        delete file_;
    }

    int Seek(vsi_l_offset to, int whence) override {
        errno = 0;
        int result = file_->Seek(to, whence);
        if (result != 0) {
            note_failure(path_.c_str());
        }
        return result;
    }

    vsi_l_offset Tell() override {
        return file_->Tell();
    }

    size_t Read(void *to, size_t size, size_t number) override {
        vsi_l_offset from = file_->Tell();
        errno = 0;
        size_t got = file_->Read(to, size, number);
        if (got < number && size > 0) {
            int error = errno;
            bool end = file_->Eof() != 0;
            look(end, error, from, size * number, got * size);
        }
        return got;
    }

    bool HasPRead() const override {
        return file_->HasPRead();
    }

    size_t PRead(void *to, size_t size, vsi_l_offset from) const override {
        errno = 0;
        size_t got = file_->PRead(to, size, from);
        if (got != size) {
            look(got < size, errno, from, size, got);
        }
        return got;
    }

    size_t Write(const void *from, size_t size, size_t number) override {
        errno = 0;
        size_t written = file_->Write(from, size, number);
        believe(written == number);
        return written;
    }

    int Flush() override {
        errno = 0;
        int result = file_->Flush();
        believe(result == 0);
        return result;
    }

    int Truncate(vsi_l_offset bytes) override {
        errno = 0;
        int result = file_->Truncate(bytes);
        believe(result == 0);
        return result;
    }

    int Eof() override {
        return file_->Eof();
    }

#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 10, 0)
    int Error() override {
        return file_->Error();
    }

    void ClearErr() override {
        file_->ClearErr();
    }
#endif

    int Close() override {
        errno = 0;
        int result = file_->Close();
        believe(result == 0 || !writes_);
        return result;
    }

    VSIRangeStatus GetRangeStatus(vsi_l_offset from, vsi_l_offset bytes) override {
        return file_->GetRangeStatus(from, bytes);
    }

  private:
    /* Notes what was not written. */
    void believe(bool whole) const {
        if (!whole) {
            int error = errno;
            put(failed, path_.c_str(), error != 0 ? error : EIO, 0, 0, true);
            errno = error;
        }
    }

    /* What came was less than wanted, at the end of the file or not. */
    void look(bool end, int error, uint64_t from, size_t wanted, size_t got) const {
        if (!end && !is_folder(path_.c_str())) {
            put(failed, path_.c_str(), error != 0 ? error : EIO, from, wanted);
        } else if (end && in_pixels && !probes(from, wanted)) {
            Kind kind = kind_of(path_.c_str());
            bool beyond = got == 0 && (kind == Kind::marked || (kind == Kind::text && !opened_late_));
            if (kind == Kind::plain || beyond) {
                put(cut, path_.c_str(), 0, from, wanted);
            }
        }
        errno = error;
    }

    /* A source of a virtual raster is opened when its pixels are read: its driver looks what the file is, and
     * whether another part follows the last one. */
    bool probes(uint64_t from, size_t wanted) const {
        enum { PART = 64 }; /* bytes that tell what a part is */
        return opened_late_ && (from == 0 || (wanted <= PART && ends_at(path_.c_str(), from)));
    }

    VSIVirtualHandle *const file_;
    const std::string path_;
    const bool writes_;
    const bool opened_late_ = in_pixels;
};

/* NULL where there is no memory: GDAL calls from C, which passes no exception on. */
VSIVirtualHandle *watched(VSIVirtualHandle *file, const char *path, bool writes) {
    try {
        return new File(file, path, writes);
    } catch (const std::bad_alloc &) {
        file->Close();
        delete file;
        put(failed, path, ENOMEM, 0, 0, writes);
        errno = ENOMEM;
        return nullptr;
    }
}

class Files final : public VSIFilesystemHandler {
  public:
    explicit Files(VSIFilesystemHandler *own) : own_(own) {
    }

    ~Files() override {
        delete own_;
    }

    VSIVirtualHandle *Open(const char *path, const char *access, bool set_error,
                           CSLConstList options) override {
        errno = 0;
        VSIVirtualHandle *file = own_->Open(path, access, set_error, options);
        if (file == nullptr) {
            note_failure(path);
        }
        bool reads = access[0] == 'r' && strchr(access, '+') == nullptr;
        return file != nullptr ? watched(file, path, !reads) : file;
    }

    int Stat(const char *path, VSIStatBufL *to, int flags) override {
        errno = 0;
        int result = own_->Stat(path, to, flags);
        if (result != 0) {
            note_failure(path);
        }
        return result;
    }

    char **ReadDirEx(const char *folder, int most) override {
        errno = 0;
        char **names = own_->ReadDirEx(folder, most);
        note_failure(folder);
        return names;
    }

    int Unlink(const char *path) override {
        return own_->Unlink(path);
    }

    int Rename(const char *from, const char *to) override {
        return own_->Rename(from, to);
    }

    int Mkdir(const char *folder, long mode) override {
        return own_->Mkdir(folder, mode);
    }

    int Rmdir(const char *folder) override {
        return own_->Rmdir(folder);
    }

    VSIDIR *OpenDir(const char *folder, int depth, const char *const *options) override {
        return own_->OpenDir(folder, depth, options);
    }

    GIntBig GetDiskFreeSpace(const char *folder) override {
        return own_->GetDiskFreeSpace(folder);
    }

    int SupportsSparseFiles(const char *path) override {
        return own_->SupportsSparseFiles(path);
    }

    bool IsLocal(const char *path) override {
        return own_->IsLocal(path);
    }

    bool SupportsSequentialWrite(const char *path, bool temporary) override {
        return own_->SupportsSequentialWrite(path, temporary);
    }

    bool SupportsRandomWrite(const char *path, bool temporary) override {
        return own_->SupportsRandomWrite(path, temporary);
    }

  private:
    VSIFilesystemHandler *const own_;
};

} // namespace

void hc_gdal_files_install(void) {
    VSIFilesystemHandler *own = VSIFileManager::GetHandler("");
    VSIFileManager::InstallHandler("", new Files(own));
}

#else

void hc_gdal_files_install(void) {
}

#endif

int64_t hc_gdal_files_mark(void) {
    return notes;
}

HcStatus hc_gdal_files_check(int64_t mark, HcError *err) {
    if (notes <= mark) {
        return HC_OK;
    }
    const std::lock_guard<std::mutex> guard(lock);
    if (failed.number > mark && failed.failure.status != HC_OK) {
        return hc_fail(err, failed.failure.status, "%s", failed.failure.text);
    }
    if (failed.number > mark && failed.error == 0) {
        return hc_fail(err, HC_E_INPUT, "%s: is broken, or could not be read (SQLite)", failed.path);
    }
    if (failed.number > mark) {
        return hc_fail(err, hc_errno_status(failed.error, HC_E_IO), "%s: cannot be %s: %s", failed.path,
                       failed.written ? "written" : "read", strerror(failed.error));
    }
    return hc_fail(err, HC_E_INPUT, "%s: is cut off: its pixels need %zu bytes at offset %" PRIu64, cut.path,
                   cut.wanted, cut.at);
}

void hc_gdal_files_note(const char *path, int error) {
    put(failed, path, error, 0, 0);
}

void hc_gdal_files_note_failure(const HcError *failure) {
    put(failed, "", 0, 0, 0, false, failure);
}

void hc_gdal_files_sqlite(const char *path) {
    const std::lock_guard<std::mutex> guard(lock);
    snprintf(database, sizeof database, "%s", path);
}

void hc_gdal_files_note_sqlite(void) {
    char path[sizeof database];
    {
        const std::lock_guard<std::mutex> guard(lock);
        memcpy(path, database, sizeof path);
    }
    if (path[0] != '\0') {
        put(failed, path, 0, 0, 0);
    }
}

void hc_gdal_files_pixels(bool begin) {
    in_pixels = begin;
}
