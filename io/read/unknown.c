/* What is said of a file or folder that is no scene. */
#include "io/guard/guard.h"
#include "io/read/parts.h"
#include "io/chunk/index.h"
#include "io/file.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

HcStatus hc_read_fail_meta(const char *path, HcError *err) {
    return hc_fail(err, HC_E_UNSUPPORTED, "%s: an ENVI meta file (a list of other files) is not read", path);
}

/* HC_E_INPUT, with its reason, where HDF5 does not open a file of its own, mostly one that is cut. */
static HcStatus check_hdf5(const char *path, HcFileKind kind, HcError *err) {
    char why[200] = "";
    if (kind != HC_KIND_HDF5 || hc_hdf5_opens(path, why, sizeof why)) {
        return HC_OK;
    }
    return hc_fail(err, hc_hdf5_status(why), "%s: a file of HDF5 or netCDF 4 that cannot be opened: %s", path,
                   why);
}

/* Refuses a folder that holds scenes, with the names of some. */
static HcStatus fail_scenes(const char *path, HcError *err) {
    enum { SHOWN = 4 };
    HcPaths scenes = {0};
    HcPassedOver passed = {0};
    HcError unimportant = {0};
    HcText names = {0};
    HcStatus status = HC_OK;
    (void)!hc_scenes_in_folder(path, &scenes, &passed, &unimportant);
    for (int32_t s = 0; s < scenes.count && s < SHOWN; s++) {
        hc_text_add(&names, "%s%.120s", s > 0 ? ", " : "", scenes.path[s]);
    }
    if (scenes.count > 0) {
        status =
            hc_fail_text(err, HC_E_INPUT, &names,
                         "%s: a folder with %d scene%s: name one of them (%s%s), or all with hcube batch "
                         "--scenes %s",
                         path, scenes.count, scenes.count == 1 ? "" : "s", hc_text_shown(&names),
                         scenes.count > SHOWN ? ", ..." : "", path);
    }
    hc_text_clear(&names);
    hc_paths_clear(&scenes);
    return status;
}

/* A folder or an archive of which no file is a product, with the names of some files. */
static HcStatus fail_folder(const char *path, HcError *err) {
    HcText names = {0};
    int count = 0;
    bool is_folder = hc_is_folder(path);
    if (is_folder && fail_scenes(path, err) != HC_OK) {
        return HC_E_INPUT;
    }
    char *folder = hc_text_format("%s%s", is_folder ? "" : "/vsizip/", path);
    char **list = folder != NULL ? VSIReadDir(folder) : NULL;
    for (int n = 0; list != NULL && list[n] != NULL; n++) {
        if (list[n][0] != '.' && count++ < 4) {
            hc_text_add(&names, "%s%.80s", names.length > 0 ? ", " : "", list[n]);
        }
    }
    CSLDestroy(list);
    HcStatus status = folder == NULL ? hc_fail_memory(err, (double)strlen(path), "a path")
                      : count > 0    ? hc_fail_text(err, HC_E_INPUT, &names,
                                                    "%s: contains no known product: %s%s (open a file of it)",
                                                    path, hc_text_shown(&names), count > 4 ? ", ..." : "")
                                     : hc_fail(err, HC_E_INPUT,
                                            is_folder ? "%s: a folder without files"
                                                         : "%s: an archive that cannot be read, "
                                                           "or is empty",
                                               path);
    free(folder);
    hc_text_clear(&names);
    return status;
}

/* Whether a file has spectra of an instrument by its name, or is a table that GDAL takes for points of a
 * grid. */
static bool may_be_spectra(const char *path, const HcGdalErrors *messages) {
    static const char *const endings[] = {".txt", ".asd", ".sed", ".sig", ".spc", ".dpt"};
    bool is = strstr(messages->text, "Ungridded") != NULL;
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        is = is || hc_text_ends_with(path, endings[e]);
    }
    return is;
}

/* GDAL says of data without a header only that it does not know the file. */
HcStatus hc_read_fail_unknown(const char *path, const HcGdalErrors *messages, HcError *err) {
    int64_t size = 0;
    if (strcmp(path, "-") == 0) {
        return hc_fail(err, HC_E_INPUT,
                       "-: a scene cannot come from standard input, since passes read it again");
    }
    bool unknown = strstr(messages->text, "not recognized") != NULL;
    HcFileKind kind;
    HC_OR_RETURN(hc_read_kind(path, &kind, err));
    if (unknown && (hc_is_folder(path) || kind == HC_KIND_ARCHIVE)) {
        return fail_folder(path, err);
    }
    bool is_file = hc_read_is_file(path, &size, NULL);
    if (is_file && kind == HC_KIND_META) {
        return hc_read_fail_meta(path, err);
    }
    if (is_file && may_be_spectra(path, messages)) {
        return hc_fail(
            err, HC_E_INPUT,
            "%s: neither a raster with an ENVI header beside it nor a spectral library, which ends "
            "in .csv, .sli or .hdr",
            path);
    }
    if (!is_file && path[0] != '<' && strpbrk(path, "<>") != NULL) {
        return hc_fail(
            err, HC_E_INPUT,
            "%s: there is no such file, and hcube compares no values (make a mask with gdal_calc.py, "
            "and name its file)",
            path);
    }
    if (is_file && hc_text_ends_with(path, ".csv")) {
        return hc_fail(
            err, HC_E_INPUT,
            "%s: a table, no raster (points: extract --labels, knn --training; spectra: --library)", path);
    }
    if (!is_file || !unknown) {
        return hc_gdal_fail(err, HC_E_INPUT, path, messages);
    }
    HC_OR_RETURN(check_hdf5(path, kind, err));
    if (hc_text_ends_with(path, "-METADATA.xml")) {
        return hc_fail(
            err, HC_E_INPUT,
            "%s: describes no known product (EnMAP has specific/bandCharacterisation/bandID, DESIS its name)",
            path);
    }
    const char *library = kind == HC_KIND_TEXT ? "; a spectral library ends in .csv, .sli or .hdr" : "";
    const char *name = CPLGetFilename(path);
    int length = (int)(hc_remote_is(path) ? strcspn(name, "?") : strlen(name)); /* no query is shown */
    const char *dot = memrchr(name, '.', (size_t)length);
    if (dot == NULL || dot == name) {
        return hc_fail(
            err, HC_E_INPUT,
            "%s: not recognized as a raster, and no ENVI header is beside it (looked for %.*s.hdr)%s", path,
            length, name, library);
    }
    return hc_fail(err, HC_E_INPUT,
                   "%s: not recognized as a raster, and no ENVI header is beside it (looked for %.*s.hdr "
                   "and %.*s.hdr)%s",
                   path, (int)(dot - name), name, length, name, library);
}
