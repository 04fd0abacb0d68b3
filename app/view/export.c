/* Pixels as a spectral library for download: the bytes of the files that `extract` writes of the same pixels.
 * The writer of libraries makes files, so they are made in a folder of their own and read back. */
#include "app/view/view.h"
#include "core/allocate.h"
#include "io/file.h"
#include "io/library/library.h"
#include "io/scratch.h"
#include "pipeline/spectra/library/unit.h"
#include "core/texts.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POINTS_MAX = 1000 };
static const size_t file_limit = (size_t)1 << 28;

typedef struct Point {
    int32_t layer;
    int64_t line, sample;
} Point;

/* A number and the character that ends it. */
static bool next_number(const char **text, char end, int64_t most, int64_t *value) {
    char digits[24];
    size_t length = strspn(*text, "0123456789");
    bool ends = (*text)[length] == end || (end == ',' && (*text)[length] == '\0');
    if (length == 0 || length >= sizeof digits || !ends) {
        return false;
    }
    memcpy(digits, *text, length);
    digits[length] = '\0';
    *text += length + ((*text)[length] != '\0');
    return hc_text_parse_int(digits, value) && *value <= most;
}

static bool is_among(const Point *point, int32_t count, const Point *one) {
    for (int32_t p = 0; p < count; p++) {
        if (point[p].layer == one->layer && point[p].line == one->line && point[p].sample == one->sample) {
            return true;
        }
    }
    return false;
}

/* In their order, each once. */
static HcStatus read_points(const HcViewer *viewer, const char *text, Point *point, int32_t *count,
                            HcError *err) {
    for (const char *at = text; *at != '\0';) {
        Point *to = &point[*count];
        int64_t layer = 0;
        if (*count == POINTS_MAX) {
            return hc_fail(err, HC_E_USAGE, "points: at most %d", POINTS_MAX);
        }
        if (!next_number(&at, ':', viewer->layers - 1, &layer) ||
            !next_number(&at, ':', INT64_MAX, &to->line) || !next_number(&at, ',', INT64_MAX, &to->sample)) {
            return hc_fail(err, HC_E_USAGE, "points=%.80s: not LAYER:LINE:SAMPLE,...", text);
        }
        to->layer = (int32_t)layer;
        *count += !is_among(point, *count, to);
    }
    return *count > 0 ? HC_OK : hc_fail(err, HC_E_USAGE, "points: none is given");
}

/* ---- the library ---- */

static HcStatus add_point(HcViewer *viewer, const Point *point, HcLibrary *library, int32_t entry,
                          HcError *err) {
    HcLayer *layer = &viewer->layer[point->layer];
    const HcArea pixel = {point->line, point->sample, 1, 1};
    bool valid = false;
    if (layer->scene->bands != library->bands) {
        return hc_fail(err, HC_E_USAGE, "%s: has %d bands, the first point has %d", layer->path,
                       layer->scene->bands, library->bands);
    }
    HC_OR_RETURN(
        hc_viewer_pixel(layer, pixel, library->value + (size_t)entry * (size_t)library->bands, &valid, err));
    if (!valid) {
        return hc_fail(err, HC_E_NUMERIC, "%s: sample %lld line %lld: masked, or a band has no value",
                       layer->path, (long long)point->sample, (long long)point->line);
    }
    library->name[entry] =
        hc_text_format("sample %lld line %lld", (long long)point->sample, (long long)point->line);
    return hc_text_made(library->name[entry], 64, "the name of a pixel", err);
}

/* Borrows the wavelengths of the scene. */
static HcStatus fill_library(HcViewer *viewer, const Point *point, int32_t count, HcLibrary *library,
                             HcError *err) {
    const HcScene *scene = viewer->layer[point[0].layer].scene;
    *library = (HcLibrary){.count = count,
                           .bands = scene->bands,
                           .wavelength = scene->wavelength,
                           .fwhm = scene->fwhm,
                           .scale = hc_scene_unit(scene, NULL, 0).one};
    HC_OR_RETURN(hc_new(library->value, (size_t)count * (size_t)scene->bands, "spectra", err));
    HC_OR_RETURN(hc_new(library->name, count, "spectra", err));
    for (int32_t p = 0; p < count; p++) {
        HC_OR_RETURN(add_point(viewer, &point[p], library, p, err));
    }
    return HC_OK;
}

/* ---- the files ---- */

static HcStatus write_and_read(const HcLibrary *library, const char *format, char **data, size_t *bytes,
                               HcError *err) {
    HcStatus status = HC_OK;
    char *folder = hc_text_format("%s/hcube-view-XXXXXX", hc_scratch_folder());
    char *path = NULL, *header = NULL;
    HC_TRY(hc_text_made(folder, 64, "a path", err));
    if (mkdtemp(folder) == NULL) {
        status = hc_fail(err, HC_E_IO, "%s: %s", folder, strerror(errno));
        free(folder);
        return status;
    }
    path = hc_text_format("%s/spectra.%s", folder, strcmp(format, "csv") == 0 ? "csv" : "sli");
    header = hc_text_format("%s/spectra.hdr", folder);
    HC_TRY(hc_text_made(path != NULL ? header : NULL, 64, "a path", err));
    HC_TRY(hc_library_write(library, path, true, err));
    HC_TRY(hc_file_read(strcmp(format, "hdr") == 0 ? header : path, file_limit, data, bytes, err));
done:
    if (path != NULL && header != NULL) {
        unlink(path);
        unlink(header);
    }
    if (folder != NULL) {
        rmdir(folder);
    }
    free(folder);
    free(path);
    free(header);
    return status;
}

HcStatus hc_viewer_export(HcViewer *viewer, const char *format, const char *points, char **data,
                          size_t *bytes, HcError *err) {
    HcStatus status = HC_OK;
    HcLibrary library = {0};
    Point *point = NULL;
    int32_t count = 0;
    if (strcmp(format, "sli") != 0 && strcmp(format, "hdr") != 0 && strcmp(format, "csv") != 0) {
        return hc_fail(err, HC_E_USAGE, "format=%.20s: must be sli, hdr or csv", format);
    }
    HC_TRY(hc_new(point, POINTS_MAX, "a list of points", err));
    HC_TRY(read_points(viewer, points, point, &count, err));
    HC_TRY(fill_library(viewer, point, count, &library, err));
    HC_TRY(write_and_read(&library, format, data, bytes, err));
done:
    hc_free_texts(library.name, count);
    free(library.value);
    free(point);
    return status;
}
