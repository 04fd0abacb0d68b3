/* Folders and patterns hold headers, previews, masks and records beside scenes. Names, signatures and ENVI
 * headers decide first, since opening a raster takes longest. Virtual rasters count only where a pattern
 * names their ending, because they bring files from elsewhere. */
#include "io/chunk/zarr.h"
#include "io/guard/guard.h"
#include "core/grow.h"
#include "io/scene_files.h"
#include "io/file.h"
#include "io/gdal/files.h"
#include "io/library/library.h"
#include "io/read/metadata/envi_header.h"
#include "io/read/parts.h"
#include "core/compare.h"
#include "core/texts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

HcStatus hc_paths_add(HcPaths *paths, const char *path, HcError *err) {
    HC_OR_RETURN(hc_grow(paths->path, paths->count, "a list of files", err));
    if ((paths->path[paths->count] = strdup(path)) == NULL) {
        return hc_fail_memory(err, (double)strlen(path), "a list of files");
    }
    paths->count++;
    return HC_OK;
}

bool hc_paths_has(const HcPaths *paths, const char *path) {
    for (int32_t p = 0; p < paths->count; p++) {
        if (strcmp(paths->path[p], path) == 0) {
            return true;
        }
    }
    return false;
}

void hc_paths_sort(HcPaths *paths) {
    if (paths->count > 0) {
        qsort(paths->path, (size_t)paths->count, sizeof *paths->path, hc_compare_texts);
    }
}

void hc_paths_clear(HcPaths *paths) {
    hc_free_texts(paths->path, paths->count);
    *paths = (HcPaths){0};
}

bool hc_is_folder(const char *path) {
    VSIStatBufL info;
    return hc_gdal_stat(path, &info, 0) && S_ISDIR(info.st_mode);
}

/* Drivers by which GDAL makes a raster of what the file says, from any other file or server: someone who may
 * put a file into a folder could so bring what others may read into an output. */
static const char *const recipes[] = {"VRT",    "GTI",     "WMS",     "WMTS",     "WCS",           "STACIT",
                                      "STACTA", "EEDAI",   "HTTP",    "PLMosaic", "OGCAPI",        "DAAS",
                                      "TIL",    "JPIPKAK", "DERIVED", "NGW",      "PostGISRaster", NULL};

/* The first of some drivers (NULL = any) that takes a file, NULL where none does. GDAL gets no names of other
 * files: it would read the folder anew for each. */
static GDALDriverH driver_of(const char *path, const char *const *among) {
    const char *const no_names[] = {NULL};
    return hc_file_is_special(path) ? NULL : GDALIdentifyDriverEx(path, GDAL_OF_RASTER, among, no_names);
}

static bool is_picture(const char *name) {
    static const char *const endings[] = {".png", ".jpg", ".jpeg", ".gif", ".bmp"};
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        if (hc_text_ends_with(name, endings[e])) {
            return true;
        }
    }
    return false;
}

/* The data files of a header: that of a library, those of a scene that are taken for sure, else any of its
 * stem. */
static HcStatus data_files(const char *header, bool *is_library, char ***list, HcError *err) {
    char *library = NULL;
    HC_OR_RETURN(hc_library_data_of(header, is_library, &library, err));
    if (library != NULL) {
        *list = CSLAddStringMayFail(NULL, library);
        free(library);
        return *list != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(header), "a path");
    }
    HC_OR_RETURN(hc_read_find_sure(header, list, err));
    return *list != NULL ? HC_OK : hc_read_find_other(header, list, err);
}

HcStatus hc_paths_in_folder(HcPaths *out, const char *folder, int depth, HcError *err) {
    HcStatus status = HC_OK;
    char *path = NULL;
    errno = 0;
    char **names = VSIReadDir(folder);
    /* Every local folder has entries, if only for itself; a remote one may be empty. */
    if (names == NULL && (!hc_is_folder(folder) || strncmp(folder, "/vsi", 4) != 0)) {
        HC_TRY(hc_fail(err, hc_errno_status(errno, HC_E_INPUT), "%s: the folder cannot be read", folder));
    }
    if (names != NULL) {
        qsort(names, (size_t)CSLCount(names), sizeof *names, hc_compare_texts);
    }
    bool slash = folder[0] != '\0' && folder[strlen(folder) - 1] == '/';
    for (int n = 0; names != NULL && names[n] != NULL; n++) {
        free(path);
        path = hc_text_format("%s%s%s", folder, slash ? "" : "/", names[n]);
        HC_TRY(hc_text_made(path, 0, "a path", err));
        bool hidden = names[n][0] == '.', is_folder = !hidden && hc_is_folder(path) && !hc_zarr_is(path);
        if (is_folder && depth > 0) {
            HC_TRY(hc_paths_in_folder(out, path, depth - 1, err));
        } else if (!hidden && !is_folder) {
            HC_TRY(hc_paths_add(out, path, err));
        }
    }
done:
    free(path);
    CSLDestroy(names);
    return status;
}

/* ENVI headers of scenes, and the data files that go with them. */
static HcStatus find_headers(const HcPaths *all, HcPaths *headers, HcPaths *data, HcError *err) {
    HcStatus status = HC_OK;
    char **list = NULL;
    for (int32_t p = 0; p < all->count; p++) {
        const char *path = all->path[p];
        bool is_header = false;
        if (hc_text_ends_with(path, ".hdr")) {
            HC_TRY(hc_read_is_envi(path, &is_header, err));
        }
        if (!is_header) {
            continue;
        }
        CSLDestroy(list);
        list = NULL;
        bool is_library = false;
        HC_TRY(data_files(path, &is_library, &list, err));
        for (int d = 0; list != NULL && list[d] != NULL; d++) {
            HC_TRY(hc_paths_add(data, list[d], err));
        }
        if (!is_library) {
            HC_TRY(hc_paths_add(headers, path, err));
        }
    }
    hc_paths_sort(data);
done:
    CSLDestroy(list);
    return status;
}

/* In a sorted list. */
static bool is_among(const HcPaths *sorted, const char *path) {
    return sorted->count > 0 && bsearch(&path, sorted->path, (size_t)sorted->count, sizeof *sorted->path,
                                        hc_compare_texts) != NULL;
}

/* The driver of a file that is a scene by itself, else NULL. */
static HcStatus find_driver(const char *path, GDALDriverH *driver, HcError *err) {
    bool is_library = false;
    *driver = NULL;
    if (hc_file_is_special(path) || hc_read_is_companion(path) || is_picture(path)) {
        return HC_OK;
    }
    HcStatus status = hc_library_recognise(path, &is_library, err);
    *driver = status == HC_OK && !is_library ? driver_of(path, NULL) : NULL;
    return status;
}

/* The same; fails where a file cannot be looked at for lack of descriptors or because of the disk, which
 * GDAL takes for a file of no format. */
static HcStatus find_readable(const char *path, GDALDriverH *driver, HcError *err) {
    HcStatus status = find_driver(path, driver, err);
    if (status != HC_OK || *driver != NULL || strncmp(path, "/vsi", 4) == 0) {
        return status;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    int number = file < 0 ? errno : 0;
    if (file >= 0) {
        close(file);
    }
    status = hc_errno_status(number, HC_OK);
    return status == HC_OK ? find_driver(path, driver, err)
                           : hc_fail(err, status, "%s: %s", path, strerror(number));
}

static bool is_recipe(GDALDriverH driver) {
    for (size_t d = 0; driver != NULL && recipes[d] != NULL; d++) {
        if (hc_text_equal(GDALGetDriverShortName(driver), recipes[d])) {
            return true;
        }
    }
    return false;
}

/* Whether the header says that its file holds classes or a mask. One with a flaw fails as a scene. */
static bool describes_map(const char *header_path) {
    HcEnviHeader header = {0};
    HcEnviShape shape;
    HcError unimportant = {0};
    bool is = false;
    if (hc_envi_load(&header, header_path, &unimportant) == HC_OK &&
        hc_envi_shape(&header, &shape, &unimportant) == HC_OK) {
        const char *kind = hc_envi_text(&header, "file type");
        bool classes = kind != NULL && hc_text_equal(kind, "ENVI Classification");
        is = shape.bands == 1 && (classes || (!shape.complex_values && shape.type == HC_UINT8));
    }
    hc_envi_clear(&header);
    return is;
}

/* Whether another raster is a map of classes or a mask. */
static bool holds_map(const char *path) {
    GDALDatasetH dataset = hc_guard_open(path, GDAL_OF_RASTER | GDAL_OF_READONLY, NULL, NULL);
    bool is = dataset != NULL && GDALGetRasterCount(dataset) == 1;
    if (is) {
        GDALRasterBandH band = GDALGetRasterBand(dataset, 1);
        is = GDALGetRasterDataType(band) == GDT_Byte || GDALGetRasterColorTable(band) != NULL ||
             GDALGetRasterCategoryNames(band) != NULL;
    }
    GDALClose(dataset);
    return is;
}

static HcStatus look_through(const char *folder, HcPaths *out, HcPassedOver *passed, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    HcPaths all = {0};
    HcPaths headers = {0};
    HcPaths data = {0};
    hc_gdal_catch(&messages);
    HC_TRY(hc_paths_in_folder(&all, folder, 0, err));
    HC_TRY(find_headers(&all, &headers, &data, err));
    for (int32_t p = 0; p < all.count; p++) {
        const char *path = all.path[p];
        bool described = is_among(&headers, path);
        GDALDriverH driver = NULL;
        if (!described && !is_among(&data, path)) {
            HC_TRY(find_readable(path, &driver, err));
        }
        bool is_scene = described || driver != NULL;
        bool recipe = is_recipe(driver);
        bool map = described ? describes_map(path) : is_scene && !recipe && holds_map(path);
        passed->recipes += recipe;
        passed->maps += map;
        if (is_scene && !recipe && !map) {
            HC_TRY(hc_paths_add(out, path, err));
        }
    }
done:
    hc_gdal_release();
    hc_paths_clear(&all);
    hc_paths_clear(&headers);
    hc_paths_clear(&data);
    return status;
}

HcStatus hc_scenes_in_folder(const char *folder, HcPaths *out, HcPassedOver *passed, HcError *err) {
    HcError failure = {0};
    int64_t mark = hc_gdal_files_mark(); /* a file that cannot be looked at would be no scene */
    HcStatus status = look_through(folder, out, passed, &failure);
    return hc_gdal_files_settle(mark, status, &failure, err);
}

/* Whether a pattern like *.vrt names the ending of a path, which is one of recipes: *.tif asks for no recipe
 * that is called so. */
static bool asks_for_recipe(const char *pattern, const char *path) {
    static const char *const endings[] = {".vrt", ".gti", ".xml", ".wms", ".til", ".json", ".pkl"};
    bool asks = false;
    for (size_t e = 0; e < sizeof endings / sizeof *endings; e++) {
        asks = asks || (hc_text_ends_with(path, endings[e]) && hc_text_ends_with(pattern, endings[e]));
    }
    return asks;
}

/* Whether a pattern finds a file that is no scene by itself, and whose ending it does not name: *.json finds
 * descriptions of products, and * or ** the records beside outputs. */
static HcStatus goes_with_others(const char *pattern, const char *path, bool *goes, HcError *err) {
    const char *ending = strrchr(path, '.');
    *goes = false;
    if (ending != NULL && strchr(ending, '/') == NULL && hc_text_ends_with(pattern, ending)) {
        return HC_OK;
    }
    if (hc_text_ends_with(path, ".hdr")) { /* a header with a flaw fails as a scene */
        return hc_library_recognise(path, goes, err);
    }
    *goes = hc_read_is_companion(path) || is_picture(path);
    return HC_OK;
}

/* Maps among scenes were found beside what was meant; maps alone were meant. */
static HcStatus add_scenes_or_maps(const HcPaths *scenes, const HcPaths *maps, HcPaths *out,
                                   HcPassedOver *passed, HcError *err) {
    bool alone = scenes->count == 0;
    passed->maps += alone ? 0 : maps->count;
    const HcPaths *taken = alone ? maps : scenes;
    for (int32_t p = 0; p < taken->count; p++) {
        HC_OR_RETURN(hc_paths_add(out, taken->path[p], err));
    }
    return HC_OK;
}

/* What GDAL and ENVI headers say of a file that a pattern has found. Values without a signature that have a
 * header are ENVI's: GDAL would read all of it once more. */
static HcStatus look_at(const char *path, bool *recipe, bool *map, HcError *err) {
    HcFileKind kind = HC_KIND_OTHER;
    char *header = NULL;
    HC_OR_RETURN(hc_read_kind(path, &kind, err));
    if (kind == HC_KIND_ENVI) {
        *map = describes_map(path);
        return HC_OK;
    }
    if (kind == HC_KIND_OTHER) {
        HC_OR_RETURN(hc_read_find_header(path, &header, err));
    }
    *recipe = is_recipe(driver_of(path, header != NULL ? recipes : NULL));
    *map = !*recipe && (header != NULL ? describes_map(header) : holds_map(path));
    free(header);
    return HC_OK;
}

static HcStatus sort_matches(const HcPaths *matched, const char *pattern, HcPaths *out, HcPassedOver *passed,
                             HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    HcPaths headers = {0};
    HcPaths data = {0};
    HcPaths scenes = {0};
    HcPaths maps = {0};
    hc_gdal_catch(&messages);
    HC_TRY(find_headers(matched, &headers, &data, err));
    for (int32_t p = 0; p < matched->count; p++) {
        const char *path = matched->path[p];
        bool goes = false;
        HC_TRY(goes_with_others(pattern, path, &goes, err));
        bool is_scene = !goes && (!hc_is_folder(path) || hc_zarr_is(path)) && !is_among(&data, path);
        bool recipe = false, map = false;
        if (is_scene) {
            HC_TRY(look_at(path, &recipe, &map, err));
        }
        bool left_out = recipe && !asks_for_recipe(pattern, path);
        passed->recipes += left_out;
        if (is_scene && !left_out) {
            HC_TRY(hc_paths_add(map ? &maps : &scenes, path, err));
        }
    }
    HC_TRY(add_scenes_or_maps(&scenes, &maps, out, passed, err));
done:
    hc_gdal_release();
    hc_paths_clear(&headers);
    hc_paths_clear(&data);
    hc_paths_clear(&scenes);
    hc_paths_clear(&maps);
    return status;
}

HcStatus hc_scenes_among(const HcPaths *matched, const char *pattern, HcPaths *out, HcPassedOver *passed,
                         HcError *err) {
    HcError failure = {0};
    int64_t mark = hc_gdal_files_mark();
    HcStatus status = sort_matches(matched, pattern, out, passed, &failure);
    return hc_gdal_files_settle(mark, status, &failure, err);
}

static HcStatus recognise(const char *path, bool *is, HcError *err) {
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    HcStatus status = hc_read_is_envi(path, is, err);
    if (status == HC_OK && !*is) {
        GDALDriverH driver = NULL;
        status = find_driver(path, &driver, err);
        *is = driver != NULL;
    }
    hc_gdal_release();
    return status;
}

HcStatus hc_scene_recognise(const char *path, bool *is, HcError *err) {
    HcError failure = {0};
    int64_t mark = hc_gdal_files_mark();
    HcStatus status = recognise(path, is, &failure);
    return hc_gdal_files_settle(mark, status, &failure, err);
}

static HcStatus add_fresh(HcPaths *out, const char *path, HcError *err) {
    return (hc_read_is_file(path, NULL, NULL) || hc_file_is_store(path)) && !hc_paths_has(out, path)
               ? hc_paths_add(out, path, err)
               : HC_OK;
}

static HcStatus add_files(const char *path, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    char **data = NULL;
    char *header = NULL;
    char *aux = NULL;
    hc_gdal_catch(&messages);
    HC_TRY(add_fresh(out, path, err));
    if (hc_text_ends_with(path, ".hdr")) {
        bool is_library = false;
        HC_TRY(data_files(path, &is_library, &data, err));
    } else {
        HC_TRY(hc_read_find_header(path, &header, err));
        if ((data = CSLAddStringMayFail(NULL, path)) == NULL) {
            HC_TRY(hc_fail_memory(err, (double)strlen(path), "a path"));
        }
    }
    if (header != NULL) {
        HC_TRY(add_fresh(out, header, err));
    }
    for (int d = 0; data != NULL && data[d] != NULL; d++) {
        HC_TRY(add_fresh(out, data[d], err));
        free(aux);
        aux = hc_text_format("%s.aux.xml", data[d]);
        HC_TRY(hc_text_made(aux, 0, "a path", err));
        HC_TRY(add_fresh(out, aux, err));
    }
done:
    hc_gdal_release();
    CSLDestroy(data);
    free(header);
    free(aux);
    return status;
}

HcStatus hc_scene_files(const char *path, HcPaths *out, HcError *err) {
    HcError failure = {0};
    int64_t mark = hc_gdal_files_mark();
    HcStatus status = add_files(path, out, &failure);
    return hc_gdal_files_settle(mark, status, &failure, err);
}
