/* Spectral libraries: ENVI files, and what all forms have in common. */
#include "io/library/library.h"

#include "core/allocate.h"
#include "core/text.h"
#include "io/read/metadata/envi_header.h"
#include "io/file.h"
#include "io/gdal/files.h"
#include "io/library/parts.h"
#include "io/load.h"
#include "io/read/parts.h"
#include "io/read/metadata/wavelength.h"
#include "core/texts.h"

#include <cpl_conv.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what all forms have in common ---- */

void hc_library_clear(HcLibrary *library) {
    hc_library_clear_facts(library);
    hc_free_texts(library->name, library->count);
    free(library->number);
    free(library->outliers);
    free(library->value);
    free(library->wavelength);
    free(library->fwhm);
    free(library->bad);
    *library = (HcLibrary){0};
}

/* ---- ENVI files ---- */

/* The first of path, except for its ending, with these endings: that is an ENVI header, or any file; fresh,
 * or NULL.
 */
static HcStatus find_beside(const char *path, const char *const *endings, bool header, char **out,
                            HcError *err) {
    HcStatus status = HC_OK;
    const char *name = CPLGetFilename(path);
    const char *dot = strrchr(name, '.');
    int stem = (int)(dot != NULL && dot > name ? dot - path : (ptrdiff_t)strlen(path));
    char *candidate = NULL;
    *out = NULL;
    for (; *endings != NULL && *out == NULL; endings++) {
        bool fits = false;
        free(candidate);
        candidate = hc_text_format("%.*s%s", stem, path, *endings);
        HC_TRY(hc_text_made(candidate, strlen(path), "a path", err));
        if (strcmp(candidate, path) == 0) {
            continue;
        }
        if (header) {
            HC_TRY(hc_read_is_envi(candidate, &fits, err));
        }
        if (header ? fits : hc_read_is_file(candidate, NULL, NULL)) {
            *out = candidate;
            candidate = NULL;
        }
    }
done:
    free(candidate);
    return status;
}

static HcStatus copy_path(const char *path, char **out, HcError *err) {
    *out = strdup(path);
    return *out != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(path), "a path");
}

/* Header and data file of a library, whichever is given; fresh, NULL where there is none. */
static HcStatus find_files(const char *path, char **header, char **data, HcError *err) {
    static const char *const data_endings[] = {"",     ".sli", ".SLI", ".lib", ".slb",
                                               ".dat", ".img", ".bin", NULL};
    static const char *const header_endings[] = {".hdr", ".HDR", NULL};
    HcStatus status = HC_OK;
    char *behind = NULL;
    bool is = false;
    *header = *data = NULL;
    HC_TRY(hc_read_is_envi(path, &is, err));
    if (is) {
        HC_TRY(copy_path(path, header, err));
        HC_TRY(find_beside(path, data_endings, false, data, err));
        goto done;
    }
    behind = hc_text_format("%s.hdr", path);
    HC_TRY(hc_text_made(behind, strlen(path), "a path", err));
    HC_TRY(hc_read_is_envi(behind, &is, err));
    if (is) {
        *header = behind;
        behind = NULL;
    } else {
        HC_TRY(find_beside(path, header_endings, true, header, err));
    }
    if (hc_read_is_file(path, NULL, NULL)) {
        HC_TRY(copy_path(path, data, err));
    }
done:
    free(behind);
    return status;
}

static HcStatus get_values(HcLibrary *out, const HcEnviHeader *header, const HcEnviShape *shape,
                           const char *path, HcError *err) {
    HcStatus status = HC_OK;
    char *data = NULL;
    size_t bytes = 0;
    double ignored = NAN;
    bool found = false;
    HC_TRY(hc_envi_number(header, "data ignore value", &ignored, &found, err));
    HC_TRY(hc_load_file(path, &data, &bytes, err));
    size_t each = hc_type_bytes(shape->type);
    size_t values = (size_t)shape->lines * (size_t)shape->samples;
    double needed = (double)shape->offset + (double)values * (double)each;
    if ((double)bytes < needed) {
        HC_TRY(hc_fail(err, HC_E_INPUT,
                       "%s: %" PRId64 " spectra of %" PRId64 " bands need %.0f bytes, the file holds %zu",
                       path, shape->lines, shape->samples, needed, bytes));
    }
    HC_TRY(hc_library_make(out, shape->lines, shape->samples, err));
    bool big_here = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
    const char *at = data + shape->offset;
    for (size_t i = 0; i < values; i++, at += each) {
        double value = hc_read_value(at, shape->type, shape->big_endian != big_here);
        bool missing = value == ignored || (float)value == (float)ignored;
        out->value[i] = missing ? NAN : hc_library_value(value);
    }
done:
    free(data);
    return status;
}

static HcStatus get_names(HcLibrary *out, const HcEnviHeader *header, HcError *err) {
    HcStatus status = HC_OK;
    char **names = NULL;
    int32_t count = 0;
    HC_TRY(hc_envi_texts(header, "spectra names", &names, &count, err));
    if (count > 0 && count != out->count) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: %" PRId32 " spectra names for %" PRId32 " spectra%s",
                       header->path, count, out->count,
                       count > out->count ? " (a name cannot hold a comma)" : ""));
    }
    for (int32_t i = 0; i < out->count; i++) {
        HC_TRY(hc_library_name(out, i, count > 0 ? names[i] : NULL, err));
    }
done:
    hc_free_texts(names, count);
    return status;
}

/* "hcube entry class" and so on: a text for each spectrum. */
static HcStatus get_facts(HcLibrary *out, const HcEnviHeader *header, HcError *err) {
    HcStatus status = HC_OK;
    for (int f = 0; f < HC_LIBRARY_FACTS && status == HC_OK; f++) {
        char key[40];
        char **texts = NULL;
        int32_t count = 0;
        snprintf(key, sizeof key, HC_LIBRARY_FACT_KEY, hc_library_fact_word((HcLibraryFact)f));
        status = hc_envi_texts(header, key, &texts, &count, err);
        if (status == HC_OK && count > 0 && count != out->count) {
            status = hc_fail(err, HC_E_INPUT, "%s: %s has %" PRId32 " texts for %" PRId32 " spectra",
                             header->path, key, count, out->count);
        }
        for (int32_t i = 0; i < count && status == HC_OK; i++) {
            status = hc_library_set_fact(out, i, (HcLibraryFact)f, texts[i], err);
        }
        hc_free_texts(texts, count);
    }
    return status;
}

static HcStatus get_list(double **to, const HcLibrary *library, const HcEnviHeader *header, const char *key,
                         HcError *err) {
    int32_t count = 0;
    HC_OR_RETURN(hc_envi_numbers(header, key, to, &count, err));
    if (*to != NULL && count != library->bands) {
        return hc_fail(err, HC_E_INPUT, "%s: %s has %" PRId32 " values for %" PRId32 " bands", header->path,
                       key, count, library->bands);
    }
    return HC_OK;
}

/* Bad bands, by a list of 0 and 1 as scenes have it: their values are no values. */
static HcStatus drop_bad_bands(HcLibrary *out, const HcEnviHeader *header, HcError *err) {
    HcStatus status = HC_OK;
    double *good = NULL;
    HC_TRY(get_list(&good, out, header, "bbl", err));
    if (good == NULL) {
        return HC_OK;
    }
    HC_TRY(hc_new(out->bad, (size_t)out->bands, "the list of bad bands", err));
    for (int32_t b = 0; b < out->bands; b++) {
        out->bad[b] = !(good[b] != 0); /* NaN is bad too */
        for (int32_t i = 0; i < out->count && out->bad[b]; i++) {
            out->value[(size_t)i * (size_t)out->bands + (size_t)b] = NAN;
        }
    }
done:
    free(good);
    return status;
}

/* A factor that is none counts as not given. */
static HcStatus get_scale(HcLibrary *out, const HcEnviHeader *header, HcError *err) {
    bool found = false;
    double scale = 0;
    HcStatus status = hc_envi_number(header, "reflectance scale factor", &scale, &found, err);
    out->scale = found && scale > 0 && isfinite(scale) ? scale : 0;
    return status;
}

static HcStatus check_shape(const HcEnviHeader *header, const HcEnviShape *shape, HcError *err) {
    if (shape->bands != 1) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: bands = %" PRId32 ", a spectral library has 1 (samples are bands)", header->path,
                       shape->bands);
    }
    if (shape->complex_values || shape->compressed) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: spectral libraries of %s values are not read",
                       header->path, shape->compressed ? "compressed" : "complex");
    }
    return HC_OK;
}

static HcStatus read_envi(HcLibrary *out, const char *path, const char *header_path, const char *data_path,
                          HcError *err) {
    HcStatus status = HC_OK;
    HcEnviHeader header = {0};
    HcEnviShape shape;
    HC_TRY(hc_file_check_regular(path, err));
    if (header_path == NULL) {
        return hc_fail(
            err, HC_E_INPUT,
            hc_read_is_file(path, NULL, NULL)
                ? "%s: a spectral library ends in .csv, .sli or .hdr, and there is no ENVI header beside it"
                : "%s: there is no such file",
            path);
    }
    HC_TRY(hc_envi_load(&header, header_path, err));
    if (!hc_envi_is_library(&header)) {
        const char *type = hc_envi_text(&header, "file type");
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: not a spectral library (file type = %.60s)", header_path,
                       type != NULL ? type : ""));
    }
    if (data_path == NULL) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: no data file beside it", header_path));
    }
    HC_TRY(hc_envi_shape(&header, &shape, err));
    HC_TRY(check_shape(&header, &shape, err));
    HC_TRY(get_values(out, &header, &shape, data_path, err));
    HC_TRY(get_names(out, &header, err));
    HC_TRY(get_facts(out, &header, err));
    HC_TRY(get_list(&out->wavelength, out, &header, "wavelength", err));
    HC_TRY(get_list(&out->fwhm, out, &header, "fwhm", err));
    HC_TRY(drop_bad_bands(out, &header, err));
    HC_TRY(get_scale(out, &header, err));
    hc_library_units(out, hc_envi_text(&header, "wavelength units"));
done:
    hc_envi_clear(&header);
    return status;
}

/* ---- any file ---- */

/* Points and polygons may lie beside the header of a library with the same stem: `extract` writes both. */
static bool is_vector(const char *path) {
    static const char *const endings[] = {".gpkg", ".geojson", ".json", ".shp"};
    bool is = false;
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        is = is || hc_text_ends_with(path, endings[i]);
    }
    return is;
}

/* A header that cannot be read is no library's, but what memory or the disk did says nothing of it. */
static HcStatus pass_on(HcStatus status, const HcError *why, HcError *err) {
    return status == HC_E_MEMORY || status == HC_E_IO ? hc_fail(err, status, "%s", why->text) : HC_OK;
}

/* Whether the ENVI header of `path` (it, or the one beside it) is that of a library; its data file is fresh,
 * and NULL where there is none. */
static HcStatus look_at_envi(const char *path, bool *is, char **data_path, HcError *err) {
    HcStatus status = HC_OK;
    char *header_path = NULL;
    HcEnviHeader header = {0};
    *is = false;
    HC_TRY(find_files(path, &header_path, data_path, err));
    if (header_path != NULL) {
        HC_TRY(hc_envi_load(&header, header_path, err));
        *is = hc_envi_is_library(&header);
    }
done:
    hc_envi_clear(&header);
    free(header_path);
    return status;
}

HcStatus hc_library_recognise(const char *path, bool *is, HcError *err) {
    char *data_path = NULL;
    HcError why = {0};
    *is = hc_library_is_csv(path) || hc_text_ends_with(path, ".sli");
    if (*is || is_vector(path)) {
        return HC_OK;
    }
    HcStatus status = look_at_envi(path, is, &data_path, &why);
    free(data_path);
    return pass_on(status, &why, err);
}

HcStatus hc_library_data_of(const char *header_path, bool *is, char **out, HcError *err) {
    HcError why = {0};
    HcStatus status = look_at_envi(header_path, is, out, &why);
    if (!*is) {
        free(*out);
        *out = NULL;
    }
    return pass_on(status, &why, err);
}

HcStatus hc_library_read(HcLibrary *out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcError failure = {0};
    char *header_path = NULL;
    char *data_path = NULL;
    int64_t mark = hc_gdal_files_mark(); /* a file beside it that cannot be looked at is not a missing one */
    if (hc_text_ends_with(path, ".csv")) {
        status = hc_library_read_csv(out, path, &failure);
    } else {
        status = find_files(path, &header_path, &data_path, &failure);
        status = status == HC_OK ? read_envi(out, path, header_path, data_path, &failure) : status;
    }
    if (status == HC_OK) {
        status = hc_library_drop_outliers(out, &failure);
    }
    status = hc_gdal_files_settle(mark, status, &failure, err);
    if (status != HC_OK) {
        hc_library_clear(out);
    }
    free(header_path);
    free(data_path);
    return status;
}
