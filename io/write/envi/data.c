/* The data of an ENVI output: a file of its full size from the beginning, into which lines are written. */
#include "core/text.h"
#include "io/file.h"
#include "io/write/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Space for the whole file, at once or beside the work where it is mapped. Returns 0 or an errno. */
static int reserve(int file, int64_t bytes, const HcWritePlan *plan, const HcScene *scene, HcWriteMap **map) {
    int number = hc_write_map_open(map, file, plan, scene, true);
    /* The system's own call: the C library's would write to every block of a file system that cannot reserve.
     */
    if (number == 0 && *map == NULL && fallocate(file, 0, 0, bytes) != 0 && errno != EOPNOTSUPP &&
        errno != ENOSYS) {
        number = errno;
    }
    return number;
}

HcStatus hc_write_envi_create(const char *partial, const HcWritePlan *plan, const HcScene *scene, int *file,
                              HcWriteMap **map, HcError *err) {
    double needed =
        (double)scene->lines * (double)scene->samples * scene->bands * (double)hc_type_bytes(plan->type);
    if (needed >= 9e18) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %.3g bytes are more than a file can have", plan->path,
                       needed);
    }
    int64_t bytes = scene->lines * scene->samples * scene->bands * (int64_t)hc_type_bytes(plan->type);
    *file = open(partial, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (*file < 0) {
        return hc_fail(err, hc_errno_status(errno, HC_E_IO), "%s: %s", plan->path, strerror(errno));
    }
    int number = ftruncate(*file, bytes) == 0 ? 0 : errno;
    number = number == 0 ? reserve(*file, bytes, plan, scene, map) : number;
    if (number != 0) {
        char size[24];
        return hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: %s (%s needed)", plan->path,
                       strerror(number), hc_text_bytes(size, sizeof size, needed));
    }
    return HC_OK;
}

HcStatus hc_write_envi_lines(int file, const HcWritePlan *plan, const HcScene *scene, const HcStored *layout,
                             const void *stored, int64_t line0, int32_t rows, HcError *err) {
    int64_t size = (int64_t)hc_type_bytes(layout->type);
    int64_t row = hc_stored_stride_row(layout) * size;
    int number = 0;
    if (layout->interleave != HC_BSQ) {
        number = hc_file_write_at(file, stored, (size_t)(row * rows), line0 * row);
    }
    for (int32_t b = 0; layout->interleave == HC_BSQ && b < layout->bands && number == 0; b++) {
        const char *from = (const char *)stored + b * hc_stored_stride_band(layout) * size;
        number = hc_file_write_at(file, from, (size_t)(row * rows), (b * scene->lines + line0) * row);
    }
    return number == 0
               ? HC_OK
               : hc_fail(err, hc_errno_status(number, HC_E_IO), "%s: %s", plan->path, strerror(number));
}
