/* Scene files: which files of a folder are scenes, and which files a scene is made of, by their names alone.
 */
#ifndef HC_IO_SCENE_FILES_H
#define HC_IO_SCENE_FILES_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Paths in fresh memory; freed by hc_paths_clear. Zero-initialise. */
typedef struct HcPaths {
    char **path; /* [count] */
    int32_t count;
} HcPaths;

HcStatus hc_paths_add(HcPaths *paths, const char *path, HcError *err) HC_MUST_CHECK;
bool hc_paths_has(const HcPaths *paths, const char *path);
/* Adds the files of a folder, local or /vsi..., and of the folders in it down to `depth` of them, by their
 * names. No hidden ones. Fails where a folder cannot be read. */
HcStatus hc_paths_in_folder(HcPaths *paths, const char *folder, int depth, HcError *err) HC_MUST_CHECK;
/* By their bytes. */
void hc_paths_sort(HcPaths *paths);
void hc_paths_clear(HcPaths *paths);

/* Files that were found and passed over, of kinds that a user may have meant. */
typedef struct HcPassedOver {
    int32_t recipes; /* draw their pixels from elsewhere (.vrt and the like) */
    int32_t maps;    /* classes or masks: one band of 8 bits, or with names or colours of classes */
    int32_t parts;   /* of a scene that was found; hc_scenes_in_folder takes them for scenes */
} HcPassedOver;

/* The scenes in a folder (local or /vsi...), in the order of their names: ENVI headers, whether or not
 * their data are there, and all other files that a raster driver of GDAL recognises. These are passed
 * over:
 *
 *   - data files of such headers, and spectral libraries;
 *   - files that accompany others (.xml, .json, .txt, .csv, .ovr and the like);
 *   - pictures (.png, .jpg, .gif, .bmp);
 *   - hidden files, folders, pipes and devices;
 *   - recipes and maps, which are added to *passed.
 *
 * No pixel is read. */
HcStatus hc_scenes_in_folder(const char *folder, HcPaths *out, HcPassedOver *passed,
                             HcError *err) HC_MUST_CHECK;

/* The scenes among paths that a pattern matched. Leaves out data files whose header is listed, and folders;
 * files that accompany others, libraries and pictures, unless the pattern names their ending; recipes, unless
 * the pattern names their ending and it is one of recipes (.vrt); and maps, unless nothing else is left. */
HcStatus hc_scenes_among(const HcPaths *matched, const char *pattern, HcPaths *out, HcPassedOver *passed,
                         HcError *err) HC_MUST_CHECK;

/* Whether there is such a folder, local or /vsi... */
bool hc_is_folder(const char *path);

/* Whether a file is a scene by itself and not, for instance, a list of scenes. */
HcStatus hc_scene_recognise(const char *path, bool *is, HcError *err) HC_MUST_CHECK;

/* The existing files that belong to `path`: itself, the data of an ENVI header or the header of its data,
 * and the sidecar of GDAL (.aux.xml). Adds to `out` those that it does not have yet. */
HcStatus hc_scene_files(const char *path, HcPaths *out, HcError *err) HC_MUST_CHECK;

#endif
