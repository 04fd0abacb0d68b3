#include "core/text.h"
#include "io/file.h"
#include "io/write/parts.h"
#include "io/gdal_errors.h"

#include <cpl_vsi.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const interleave_words[] = {"bsq", "bil", "bip"};

static int envi_code(HcType type) {
    switch (type) {
    case HC_UINT8:
        return 1;
    case HC_INT16:
        return 2;
    case HC_INT32:
        return 3;
    case HC_FLOAT32:
        return 4;
    case HC_FLOAT64:
        return 5;
    case HC_UINT16:
        return 12;
    case HC_UINT32:
        return 13;
    case HC_INT64:
        return 14;
    case HC_UINT64:
        return 15;
    case HC_INT8:
    case HC_TYPE_COUNT:
        break;
    }
    return 0;
}

/* ---- the place on Earth, in GDAL's words ---- */

/* Appends the lines of the field that starts with `key`, up to its closing brace. */
static void copy_field(HcText *to, const char *header, const char *key) {
    size_t length = strlen(key);
    for (const char *line = header; line != NULL && *line != '\0';) {
        if (strncmp(line, key, length) == 0) {
            const char *end = strchr(line, '}');
            hc_text_add(to, "%.*s\n", (int)(end != NULL ? end + 1 - line : 0), line);
            return;
        }
        line = strchr(line, '\n');
        line = line != NULL ? line + 1 : NULL;
    }
}

static bool same_transform(const double *a, const double *b) {
    double size = fabs(a[1]) + fabs(a[2]) + fabs(a[4]) + fabs(a[5]);
    for (int i = 0; i < 6; i++) {
        double scale = i == 0 || i == 3 ? fabs(a[i]) + size : size;
        if (!(fabs(a[i] - b[i]) <= 1e-9 * scale)) {
            return false;
        }
    }
    return true;
}

static void write_probe(const char *name, const HcPlace *place) {
    GDALDatasetH probe = GDALCreate(GDALGetDriverByName("ENVI"), name, 1, 1, 1, GDT_Byte, NULL);
    if (probe == NULL) {
        return;
    }
    if (place->crs != NULL) {
        GDALSetProjection(probe, place->crs);
    }
    if (place->has_transform) {
        double transform[6];
        memcpy(transform, place->transform, sizeof transform);
        GDALSetGeoTransform(probe, transform);
    }
    GDALClose(probe);
}

/* Whether the header says the place; *opened stays false where GDAL cannot open what it wrote. */
static bool reads_back(const char *name, const HcPlace *place, bool *opened) {
    double transform[6];
    GDALDatasetH probe = GDALOpen(name, GA_ReadOnly);
    *opened = probe != NULL;
    bool same =
        probe != NULL && (!place->has_transform || (GDALGetGeoTransform(probe, transform) == CE_None &&
                                                    same_transform(place->transform, transform)));
    GDALClose(probe);
    return same;
}

/* GDAL's transform of a scene that is nowhere. */
static bool is_nowhere(const HcPlace *place) {
    static const double identity[6] = {0, 1, 0, 0, 0, 1};
    return !place->has_transform || same_transform(place->transform, identity);
}

/* The header of a one-pixel scene that GDAL writes into memory has the map fields; they do not depend on the
 * size. *text NULL and no failure: memory ran out. */
static HcStatus ask_gdal(const char *path, const HcPlace *place, char **text, HcError *err) {
    HcStatus status = HC_OK;
    char name[64], header_name[64];
    HcGdalErrors errors;
    HcText fields = {0};
    snprintf(name, sizeof name, "/vsimem/hcube-place-%p.img", (const void *)&fields);
    snprintf(header_name, sizeof header_name, "/vsimem/hcube-place-%p.hdr", (const void *)&fields);
    hc_gdal_catch(&errors);
    write_probe(name, place);
    vsi_l_offset bytes = 0;
    const char *data = (const char *)VSIGetMemFileBuffer(header_name, &bytes, FALSE);
    char *header = data != NULL ? hc_text_format("%.*s", (int)bytes, data) : NULL;
    bool opened = false;
    bool same = header != NULL && reads_back(name, place, &opened);
    if (data != NULL && header == NULL) {
        fields.failed = true;
    } else if (!opened) { /* memory: the probe is a file in memory, and a header is written for every place */
        status = hc_gdal_fail(err, HC_E_MEMORY, path, &errors);
    } else if (same) {
        copy_field(&fields, header, "map info");
        copy_field(&fields, header, "projection info");
        copy_field(&fields, header, "coordinate system string");
    } else {
        status = hc_fail(
            err, HC_E_UNSUPPORTED,
            "%s: the grid is sheared, which an ENVI header cannot say: write GTiff, or warp it first", path);
    }
    free(header);
    *text = hc_text_take(&fields);
    GDALDeleteDataset(GDALGetDriverByName("ENVI"), name);
    hc_gdal_release();
    return status;
}

/* GDAL takes milliseconds for its answer, and is asked for the same place whenever a chain is planned. */
static pthread_mutex_t last_lock = PTHREAD_MUTEX_INITIALIZER;
static HcPlace last_place; /* its crs is owned */
static char *last_text;

static bool same_place(const HcPlace *a, const HcPlace *b) {
    bool same_crs = a->crs == NULL || b->crs == NULL ? a->crs == b->crs : strcmp(a->crs, b->crs) == 0;
    return same_crs && a->has_transform == b->has_transform &&
           (!a->has_transform || memcmp(a->transform, b->transform, sizeof a->transform) == 0);
}

/* A copy of the last answer, NULL if that was for another place. */
static char *recall(const HcPlace *place) {
    pthread_mutex_lock(&last_lock);
    char *text = last_text != NULL && same_place(place, &last_place) ? strdup(last_text) : NULL;
    pthread_mutex_unlock(&last_lock);
    return text;
}

static void remember(const HcPlace *place, const char *text) {
    char *crs = place->crs != NULL ? strdup(place->crs) : NULL;
    char *copy = strdup(text);
    pthread_mutex_lock(&last_lock);
    free(last_place.crs);
    free(last_text);
    last_place = *place;
    last_place.crs = crs;
    last_text = copy;
    if (place->crs != NULL && crs == NULL) {
        free(last_text);
        last_text = NULL;
    }
    pthread_mutex_unlock(&last_lock);
}

HcStatus hc_write_envi_place(const char *path, const HcScene *scene, char **text, HcError *err) {
    HcStatus status = HC_OK;
    HcPlace place = scene->place;
    place.has_transform = !is_nowhere(&scene->place);
    if (!place.has_transform && place.crs == NULL) {
        *text = strdup("");
    } else if ((*text = recall(&place)) == NULL) {
        HC_OR_RETURN(ask_gdal(path, &place, text, err));
        if (*text != NULL) {
            remember(&place, *text);
        }
    }
    if (*text == NULL) {
        status = hc_fail_memory(err, 0, "the ENVI header");
    }
    return status;
}

/* ---- the header ---- */

static void add_numbers(HcText *to, const char *key, const double *values, int32_t count) {
    char number[40];
    hc_text_add(to, "%s = {\n", key);
    for (int32_t b = 0; b < count; b++) {
        hc_text_add(to, "%s%s", hc_write_number(number, values[b]),
                    b + 1 == count ? "}\n"
                    : b % 8 == 7   ? ",\n"
                                   : ", ");
    }
}

/* The last three numbers are the offsets of a tile and ENVI's emulation of other models: none. */
static void add_rpc(HcText *to, const HcScene *scene) {
    double value[HC_RPC_VALUES + 3] = {0};
    if (scene->rpc.known) {
        memcpy(value, scene->rpc.value, sizeof scene->rpc.value);
        add_numbers(to, "rpc info", value, HC_RPC_VALUES + 3);
    }
}

static void add_band_names(HcText *to, const HcScene *scene) {
    if (scene->band_name == NULL) {
        return;
    }
    hc_text_add(to, "band names = {\n");
    for (int32_t b = 0; b < scene->bands; b++) {
        if (scene->band_name[b] != NULL) {
            hc_write_envi_name(to, scene->band_name[b], true);
        } else {
            hc_text_add(to, "Band %d", b + 1);
        }
        hc_text_add(to, "%s", b + 1 == scene->bands ? "}\n" : ",\n");
    }
}

static void add_spectral(HcText *to, const HcScene *scene) {
    if (!hc_scene_is_spectral(scene)) {
        return;
    }
    if (scene->wavelength != NULL) {
        hc_text_add(to, "wavelength units = Nanometers\n");
        add_numbers(to, "wavelength", scene->wavelength, scene->bands);
    }
    if (scene->wavelength != NULL && scene->fwhm != NULL) {
        add_numbers(to, "fwhm", scene->fwhm, scene->bands);
    }
    if (scene->bad != NULL) {
        hc_text_add(to, "bbl = {\n");
        for (int32_t b = 0; b < scene->bands; b++) {
            hc_text_add(to, "%d%s", scene->bad[b] == 0,
                        b + 1 == scene->bands ? "}\n"
                        : b % 32 == 31        ? ",\n"
                                              : ", ");
        }
    }
}

static void add_frame(HcText *to, const HcScene *scene, const HcWritePlan *plan) {
    char number[40];
    const uint16_t probe = 1;
    bool little = *(const uint8_t *)&probe == 1;
    hc_text_add(to, "ENVI\ndescription = {");
    hc_write_envi_name(to, scene->description != NULL ? scene->description : "written by hcube", false);
    hc_text_add(to, "}\nsamples = %lld\nlines = %lld\nbands = %d\n", (long long)scene->samples,
                (long long)scene->lines, scene->bands);
    hc_text_add(to, "header offset = 0\nfile type = ENVI %s\ndata type = %d\ninterleave = %s\n",
                hc_write_one_class_band(scene, plan->type) ? "Classification" : "Standard",
                envi_code(plan->type), interleave_words[plan->interleave]);
    hc_text_add(to, "byte order = %d\n", little ? 0 : 1);
    if (!plan->no_nodata) {
        hc_text_add(to, "data ignore value = %s\n", hc_write_number(number, plan->nodata));
    }
    if (scene->has_default_bands) {
        hc_text_add(to, "default bands = {%d, %d, %d}\n", scene->default_bands[0] + 1,
                    scene->default_bands[1] + 1, scene->default_bands[2] + 1);
    }
}

char *hc_write_envi_header(const HcScene *scene, const HcWritePlan *plan) {
    HcText text = {0};
    add_frame(&text, scene, plan);
    hc_text_add(&text, "%s", plan->place);
    add_rpc(&text, scene);
    add_band_names(&text, scene);
    hc_write_envi_classes(&text, scene);
    hc_write_envi_numbers(&text, scene);
    add_spectral(&text, scene);
    if (scene->gain != NULL && scene->offset != NULL) {
        add_numbers(&text, "data gain values", scene->gain, scene->bands);
        add_numbers(&text, "data offset values", scene->offset, scene->bands);
    }
    return hc_text_take(&text);
}

/* ---- the data ---- */

/* Segments of a band of 64 KiB keep the system calls few; few stored lines stay in the cache. */
int32_t hc_write_envi_rows(const HcScene *scene, const HcWritePlan *plan) {
    double segment = (double)scene->samples * (double)hc_type_bytes(plan->type);
    double line = segment * scene->bands;
    double rows = 8 * 1048576.0 / line;
    if (plan->interleave == HC_BSQ && rows * segment < 65536) {
        rows = 65536 / segment;
        rows = rows * line > 32 * 1048576.0 ? 32 * 1048576.0 / line : rows;
    }
    rows = rows < 1 ? 1 : rows;
    return (int32_t)(rows < (double)scene->lines ? rows : (double)scene->lines);
}

HcStatus hc_write_envi_create(const char *partial, const HcWritePlan *plan, const HcScene *scene, int *file,
                              HcError *err) {
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
    /* The system's own call: the C library's would write to every block of a file system that cannot reserve.
     */
    if (number == 0 && fallocate(*file, 0, 0, bytes) != 0 && errno != EOPNOTSUPP && errno != ENOSYS) {
        number = errno;
    }
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
