/* Which files of a folder a line scanner has left. Names are the only sign: the headers of a scene and of its
 * references do not differ. The names are those that public readers and published data sets (HELICoiD)
 * expect. */
#include "io/read/scanner.h"
#include "io/read/metadata/envi_header.h"
#include "io/read/parts.h"
#include "io/file.h"

#include <cpl_string.h>
#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>

/* A dark frame in the calibration of a Resonon camera: offset_600bands_4095ceiling_5gain_...bip.hdr */
static bool is_resonon(const char *name) {
    return strncmp(name, "offset_", 7) == 0 && strstr(name, "ceiling_") != NULL;
}

static HcScannerFile kind_of(const char *name) {
    bool dark = strcasestr(name, "dark") != NULL || is_resonon(name),
         white = strcasestr(name, "white") != NULL;
    return dark && white ? HC_SCANNER_WHITE_DARK
           : dark        ? HC_SCANNER_DARK
           : white       ? HC_SCANNER_WHITE
                         : HC_SCANNER_RAW;
}

/* Whether a header is that of a result, or of no scene: reflectance that the maker's program has made,
 * labels, factors to radiance. */
static bool is_result(const char *name) {
    return strcmp(name, "gain.bip.hdr") == 0 || strncasecmp(name, "reflectance", 11) == 0 ||
           strncasecmp(name, "calibrated", 10) == 0 || strncasecmp(name, "gtMap", 5) == 0;
}

/* ---- the headers of a folder ---- */

static HcStatus add_headers(const char *folder, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    char **names = VSIReadDir(folder[0] != '\0' ? folder : ".");
    for (int n = 0; names != NULL && names[n] != NULL && status == HC_OK; n++) {
        if (names[n][0] == '.' || !hc_text_ends_with(names[n], ".hdr") || is_result(names[n])) {
            continue;
        }
        char *path = hc_text_format("%s%s%s", folder, folder[0] != '\0' ? "/" : "", names[n]);
        status = path != NULL ? hc_paths_add(out, path, err)
                              : hc_fail_memory(err, (double)strlen(folder), "a path");
        free(path);
    }
    CSLDestroy(names);
    hc_paths_sort(out);
    return status;
}

/* The headers in the folder and in its folder `capture`. */
static HcStatus list_headers(const char *folder, HcPaths *out, HcError *err) {
    char *capture = hc_text_format("%s/capture", folder);
    HC_OR_RETURN(hc_text_made(capture, strlen(folder), "a path", err));
    HcStatus status = add_headers(folder, out, err);
    if (status == HC_OK && hc_is_folder(capture)) {
        status = add_headers(capture, out, err);
    }
    free(capture);
    return status;
}

/* ---- which of them ---- */

/* Whether the name of a reference ends with that of the scene (DARKREF_core and core), or both begin alike
 * and end with their kind (core_darkReference and core_raw). */
static bool is_of(const char *reference, const char *scene) {
    const char *name = hc_file_base(reference), *of = hc_file_base(scene), *cut = strcasestr(name, "_dark");
    cut = cut != NULL ? cut : strcasestr(name, "_white");
    size_t begin = cut != NULL ? (size_t)(cut - name) : 0;
    bool alike = begin > 0 && strncmp(name, of, begin) == 0 && strcasecmp(of + begin, "_raw.hdr") == 0;
    return alike || hc_text_ends_with(name, of);
}

/* The reference of that kind for the scene: by its name, else the only one. */
static HcStatus choose(const HcPaths *headers, HcScannerFile kind, const char *scene, char **out,
                       HcError *err) {
    const char *named = NULL, *other = NULL;
    int32_t count = 0;
    for (int32_t h = 0; h < headers->count; h++) {
        const char *path = headers->path[h];
        if (kind_of(hc_file_base(path)) == kind && strcmp(path, scene) != 0) {
            named = is_of(path, scene) ? path : named;
            other = path;
            count++;
        }
    }
    const char *chosen = named != NULL ? named : count == 1 ? other : NULL;
    *out = chosen != NULL ? strdup(chosen) : NULL;
    return chosen == NULL || *out != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(chosen), "a path");
}

/* How surely a header is that of the scene. */
static int rank_of(const HcPaths *headers, const char *path) {
    bool has_reference = false;
    for (int32_t h = 0; h < headers->count; h++) {
        has_reference = has_reference || (kind_of(hc_file_base(headers->path[h])) != HC_SCANNER_RAW &&
                                          is_of(headers->path[h], path));
    }
    return strcmp(hc_file_base(path), "raw.hdr") == 0 ? 3 : has_reference ? 2 : 1;
}

/* The raw scene of a folder; NULL where it has no references or no scene. */
static HcStatus choose_scene(const HcPaths *headers, const char *folder, const char **out, HcError *err) {
    int best = 0;
    int32_t count = 0, references = 0;
    *out = NULL;
    for (int32_t h = 0; h < headers->count; h++) {
        const char *path = headers->path[h];
        if (kind_of(hc_file_base(path)) != HC_SCANNER_RAW) {
            references++;
            continue;
        }
        int rank = rank_of(headers, path);
        count = rank > best ? 1 : count + (rank == best);
        *out = rank > best ? path : *out;
        best = rank > best ? rank : best;
    }
    if (references > 0 && count > 1) {
        return hc_fail(err, HC_E_INPUT, "%s: holds %d raw scenes, open one of them: %s, ...", folder,
                       (int)count, hc_file_base(*out));
    }
    *out = references > 0 ? *out : NULL;
    return HC_OK;
}

/* The header of a scene, whose data file may be named. */
static HcStatus header_of(const char *path, char **out, HcError *err) {
    *out = NULL;
    if (!hc_text_ends_with(path, ".hdr")) {
        return hc_read_find_header(path, out, err);
    }
    *out = strdup(path);
    return *out != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(path), "a path");
}

/* Who names a reference so; NULL: anybody, or it is none. */
static const char *maker_of_name(const char *name) {
    static const char *const specim[] = {"DARKREF_", "WHITEREF_", "WHITEDARKREF_"};
    for (size_t n = 0; n < sizeof specim / sizeof *specim; n++) {
        if (strncmp(name, specim[n], strlen(specim[n])) == 0) {
            return "Specim";
        }
    }
    bool headwall = strstr(name, "darkReference") != NULL || strstr(name, "whiteReference") != NULL;
    return is_resonon(name) ? "Resonon" : headwall ? "Headwall" : NULL;
}

bool hc_scanner_is_reference(const char *path) {
    return maker_of_name(hc_file_base(path)) != NULL;
}

static const char *maker_of(const HcScanner *scanner) {
    const char *maker = NULL;
    for (int f = HC_SCANNER_DARK; f <= HC_SCANNER_WHITE && maker == NULL; f++) {
        maker = scanner->file[f] != NULL ? maker_of_name(hc_file_base(scanner->file[f])) : NULL;
    }
    return maker;
}

static HcStatus find_of_scene(HcScanner *out, const HcPaths *headers, const char *scene, HcError *err) {
    out->file[HC_SCANNER_RAW] = strdup(scene);
    HC_OR_RETURN(hc_text_made(out->file[HC_SCANNER_RAW], strlen(scene), "a path", err));
    for (int f = HC_SCANNER_DARK; f < HC_SCANNER_FILES; f++) {
        HC_OR_RETURN(choose(headers, (HcScannerFile)f, scene, &out->file[f], err));
    }
    out->maker = maker_of(out);
    return HC_OK;
}

HcStatus hc_scanner_find(HcScanner *out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths headers = {0};
    char *header = NULL, *folder = NULL;
    const char *scene = NULL;
    bool is_folder = hc_is_folder(path);
    if (!is_folder) {
        HC_TRY(header_of(path, &header, err));
        path = header != NULL ? header : path;
    }
    int length = (int)(is_folder ? strlen(path) : (size_t)(hc_file_base(path) - path));
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    folder = hc_text_format("%.*s", length, path);
    HC_TRY(hc_text_made(folder, (double)length, "a path", err));
    HC_TRY(is_folder ? list_headers(folder, &headers, err) : add_headers(folder, &headers, err));
    scene = header;
    if (is_folder) {
        HC_TRY(choose_scene(&headers, folder, &scene, err));
    }
    if (scene != NULL) {
        HC_TRY(find_of_scene(out, &headers, scene, err));
    }
done:
    if (status != HC_OK) {
        hc_scanner_clear(out);
    }
    hc_paths_clear(&headers);
    free(header);
    free(folder);
    return status;
}

void hc_scanner_clear(HcScanner *scanner) {
    for (int f = 0; f < HC_SCANNER_FILES; f++) {
        free(scanner->file[f]);
    }
    *scanner = (HcScanner){0};
}

void hc_scanner_describe(const HcScanner *scanner, HcText *to) {
    static const char *const words[HC_SCANNER_FILES] = {"the scene", "its dark", "its white",
                                                        "the dark of the white"};
    hc_text_add(to, "a folder of %s: ", scanner->maker != NULL ? scanner->maker : "a line scanner");
    for (int f = 0; f < HC_SCANNER_FILES; f++) {
        if (scanner->file[f] != NULL) {
            hc_text_add(to, "%s%s is %s", f > 0 ? ", " : "", words[f], hc_file_base(scanner->file[f]));
        }
    }
}

/* ---- exposure ---- */

/* The first of the fields that the header of a scene has; 0 where it has none. */
static HcStatus read_number(const char *path, const char *const *fields, const char *what, double *number,
                            HcError *err) {
    HcStatus status = HC_OK;
    HcEnviHeader header = {0};
    char *name = NULL;
    *number = 0;
    bool is_envi = false;
    HC_TRY(header_of(path, &name, err));
    if (name != NULL) {
        HC_TRY(hc_read_is_envi(name, &is_envi, err));
    }
    if (!is_envi) {
        goto done;
    }
    HC_TRY(hc_envi_load(&header, name, err));
    bool found = false;
    for (; *fields != NULL && !found; fields++) {
        HC_TRY(hc_envi_number(&header, *fields, number, &found, err));
        if (found && !(*number > 0)) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "%s: %s = %g: %s is above 0", name, *fields, *number, what));
        }
    }
done:
    hc_envi_clear(&header);
    free(name);
    return status;
}

HcStatus hc_scanner_exposure(const char *path, double *exposure, HcError *err) {
    static const char *const fields[] = {"tint",    "exposure", "exposure time", "integration time",
                                         "shutter", NULL};
    return read_number(path, fields, "an exposure", exposure, err);
}

HcStatus hc_scanner_ceiling(const char *path, double *ceiling, HcError *err) {
    static const char *const fields[] = {"ceiling", NULL};
    return read_number(path, fields, "a ceiling", ceiling, err);
}
