/* Coordinates of the pixels of a file, plain in a scratch file: nearest.c goes through them line by line. */
#include "io/gdal/errors.h"
#include "io/ortho/parts.h"
#include "io/scratch.h"

#include <errno.h>
#include <unistd.h>

static const int64_t each = sizeof(double);

static HcStatus fail_scratch(const HcOrthoPlaces *places, const char *what, int number, HcError *err) {
    return hc_fail(err, hc_errno_status(number, HC_E_IO),
                   "%s: %s a scratch file of its coordinates in %s failed: %s (--scratch names its folder)",
                   places->path, what, hc_scratch_folder(), hc_scratch_reason(number));
}

HcStatus hc_ortho_places_open(HcOrthoPlaces *places, int64_t lines, int64_t samples, HcError *err) {
    places->lines = lines;
    places->samples = samples;
    places->scratch = hc_scratch_open();
    return places->scratch >= 0 ? HC_OK : fail_scratch(places, "making", errno, err);
}

void hc_ortho_places_close(HcOrthoPlaces *places) {
    hc_scratch_close(places->scratch);
    places->scratch = -1;
}

HcStatus hc_ortho_places_put(HcOrthoPlaces *places, int which, int64_t line0, int64_t sample0, int64_t lines,
                             int64_t samples, const double *values, HcError *err) {
    for (int64_t l = 0; l < lines; l++) {
        int64_t at = ((2 * (line0 + l) + which) * places->samples + sample0) * each;
        int number = hc_scratch_write(places->scratch, at, values + l * samples, (size_t)(samples * each));
        if (number != 0) {
            return fail_scratch(places, "writing", number, err);
        }
    }
    return HC_OK;
}

HcStatus hc_ortho_places_get(const HcOrthoPlaces *places, int64_t line, int64_t sample, int64_t count,
                             double *x, double *y, HcError *err) {
    size_t bytes = (size_t)(count * each);
    int64_t at = (2 * line * places->samples + sample) * each;
    int number = hc_scratch_read(places->scratch, at, x, bytes);
    if (number == 0) {
        number = hc_scratch_read(places->scratch, at + places->samples * each, y, bytes);
    }
    return number == 0 ? HC_OK : fail_scratch(places, "reading", number, err);
}
