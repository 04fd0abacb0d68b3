/* The scenes of one folder. Some rasters in it may be parts of a scene: the bands of Hyperion, or the dark
 * and white references of a line scanner. */
#include "app/batch/batch.h"
#include "io/file.h"
#include "io/read/product/product.h"
#include "io/read/scanner.h"

#include <stdlib.h>
#include <string.h>

bool hc_batch_describes_product(const char *path) {
    HcProduct *product = NULL;
    HcError err = {0};
    if (!hc_product_is_text(path)) {
        return false;
    }
    bool is = hc_product_open(&product, path, HC_OVERLAP_USUAL, &err) != HC_OK || product != NULL;
    hc_product_close(product);
    return is;
}

/* Takes the paths out that begin with the first `length` bytes of `text` and "_B"; returns how many. */
static int32_t drop_bands(HcPaths *paths, const char *text, size_t length) {
    int32_t kept = 0, count = paths->count;
    for (int32_t p = 0; p < count; p++) {
        const char *rest = paths->path[p] + length;
        if (strncmp(paths->path[p], text, length) == 0 && strncmp(rest, "_B", 2) == 0) {
            free(paths->path[p]);
        } else {
            paths->path[kept++] = paths->path[p];
        }
    }
    paths->count = kept;
    return count - kept;
}

/* A text NAME_MTL_L1T.TXT stands for its bands NAME_B008_L1T.TIF, ... */
static HcStatus take_listed(const HcPaths *files, HcPaths *scenes, HcPassedOver *passed, HcError *err) {
    for (int32_t f = 0; f < files->count; f++) {
        const char *path = files->path[f];
        const char *mark = strstr(hc_file_base(path), "_MTL_");
        if (mark != NULL && hc_batch_describes_product(path)) {
            passed->parts += drop_bands(scenes, path, (size_t)(mark - path));
            HC_OR_RETURN(hc_paths_add(scenes, path, err));
        }
    }
    return HC_OK;
}

/* References alone are scenes. */
static void drop_references(HcPaths *scenes, HcPassedOver *passed) {
    int32_t references = 0, kept = 0, count = scenes->count;
    for (int32_t s = 0; s < count; s++) {
        references += hc_scanner_is_reference(scenes->path[s]);
    }
    for (int32_t s = 0; s < count && references < count; s++) {
        if (hc_scanner_is_reference(scenes->path[s])) {
            free(scenes->path[s]);
        } else {
            scenes->path[kept++] = scenes->path[s];
        }
    }
    scenes->count = references < count ? kept : count;
    passed->parts += count - scenes->count;
}

HcStatus hc_batch_in_folder(const char *folder, HcPaths *out, HcPassedOver *passed, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths scenes = {0}, files = {0};
    HC_TRY(hc_scenes_in_folder(folder, &scenes, passed, err));
    HC_TRY(hc_paths_in_folder(&files, folder, 0, err));
    HC_TRY(take_listed(&files, &scenes, passed, err));
    drop_references(&scenes, passed);
    for (int32_t s = 0; s < scenes.count; s++) {
        HC_TRY(hc_paths_add(out, scenes.path[s], err));
    }
done:
    hc_paths_clear(&scenes);
    hc_paths_clear(&files);
    return status;
}

HcStatus hc_batch_of_folder(const char *folder, HcPaths *out, HcPassedOver *passed, HcError *err) {
    int32_t before = out->count;
    HC_OR_RETURN(hc_batch_in_folder(folder, out, passed, err));
    char *capture = hc_text_format("%s/capture", folder);
    HC_OR_RETURN(hc_text_made(capture, strlen(folder), "a path", err));
    HcStatus status =
        out->count == before && hc_is_folder(capture) ? hc_batch_in_folder(capture, out, passed, err) : HC_OK;
    free(capture);
    return status;
}
