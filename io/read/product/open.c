/* Which product a path is: its file is opened once, and each sensor looks at what it holds. */
#include "io/load.h"
#include "core/text.h"
#include "core/allocate.h"
#include "io/read/metadata/envi_header.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"
#include "io/file.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SENSOR(name) hc_product_##name,
static HcProductDescribe *const of_arrays[] = {HC_SENSORS_OF_ARRAYS(SENSOR)};
static HcProductDescribeRaster *const of_rasters[] = {HC_SENSORS_OF_RASTERS(SENSOR)};

#define ROWS(name) hc_product_rows_##name,
static const HcProductRow *const rows[] = {HC_SENSORS_OF_ARRAYS(ROWS) HC_SENSORS_OF_RASTERS(ROWS)
                                               hc_product_rows_flight};

const HcProductRow *hc_product_row(int32_t number) {
    for (size_t t = 0; t < sizeof rows / sizeof *rows; t++) {
        for (const HcProductRow *row = rows[t]; row->sensor != NULL; row++) {
            if (number-- == 0) {
                return row;
            }
        }
    }
    return NULL;
}

void hc_product_close(HcProduct *product) {
    HcGdalErrors messages;
    if (product == NULL) {
        return;
    }
    hc_gdal_catch(&messages);
    for (int32_t a = 0; a < product->array_count; a++) {
        GDALMDArrayRelease(product->array[a].handle);
        hc_product_close_chunks(&product->array[a]);
        free(product->array[a].file);
        free(product->array[a].dataset);
    }
    GDALClose(product->dataset);
    hc_gdal_release();
    hc_scene_clear(&product->scene);
    hc_text_clear(&product->note);
    hc_text_clear(&product->news);
    free(product->version);
    hc_paths_clear(&product->files);
    free(product->band);
    hc_product_clear_layers(product);
    free(product->raster);
    free(product->flaw);
    free(product->name);
    free(product);
}

static HcStatus describe(HcProduct *product, const HcProductFile *file, bool *is, HcError *err) {
    *is = false;
    for (size_t s = 0; s < sizeof of_arrays / sizeof *of_arrays && !*is; s++) {
        HC_OR_RETURN(of_arrays[s](product, file, is, err));
    }
    const HcProductRow *row = NULL;
    for (int32_t r = 0; !*is && (row = hc_product_row(r)) != NULL; r++) {
        HC_OR_RETURN(hc_product_unknown(product, file, row, is, err));
    }
    return HC_OK;
}

/* A file that did not open for lack of memory or descriptors: some versions of GDAL do not say that, and then
 * it opens when it is tried again. */
static HcStatus check_unopened(const char *path, const HcGdalErrors *messages, HcError *err) {
    if (messages->failed && (messages->memory || hc_errno_status(messages->number, HC_OK) != HC_OK)) {
        return hc_gdal_fail(err, HC_E_IO, path, messages);
    }
    GDALDatasetH again = hc_product_open_arrays(path);
    if (again == NULL) {
        return HC_OK;
    }
    GDALClose(again);
    return hc_fail(err, HC_E_IO, "%s: opened at the second attempt only: it could not be read, or changes",
                   path);
}

/* A netCDF or HDF5 file. One that GDAL does not open is left to those who open any raster. */
static HcStatus look_at_arrays(HcProduct *product, const char *path, HcFileKind kind, bool *is,
                               HcError *err) {
    HcGdalErrors messages;
    HcStatus status = HC_OK;
    hc_gdal_catch(&messages);
    HcProductFile file = {.path = path, .dataset = hc_product_open_arrays(path)};
    *is = false;
    if (file.dataset == NULL) {
        status = kind == HC_KIND_ZARR ? hc_gdal_fail(err, HC_E_INPUT, path, &messages)
                                      : check_unopened(path, &messages, err);
    }
    file.root = file.dataset != NULL ? GDALDatasetGetRootGroup(file.dataset) : NULL;
    if (file.root != NULL) {
        status = describe(product, &file, is, err);
        GDALGroupRelease(file.root);
    }
    if (status == HC_OK && *is) {
        product->dataset = file.dataset;
        file.dataset = NULL;
        status = kind == HC_KIND_ZARR ? HC_OK : hc_paths_add(&product->files, path, err);
    } else if (status != HC_OK) { /* arrays go before their file */
        product->dataset = file.dataset;
        file.dataset = NULL;
    }
    GDALClose(file.dataset);
    hc_gdal_release();
    return status;
}

/* ---- a raster that a text describes ---- */

static HcStatus describe_raster(HcProduct *product, const HcProductText *text, bool *is, HcError *err) {
    *is = false;
    for (size_t s = 0; s < sizeof of_rasters / sizeof *of_rasters && !*is; s++) {
        HC_OR_RETURN(of_rasters[s](product, text, is, err));
    }
    product->ascends = *is;
    return *is ? hc_paths_add(&product->files, text->path, err) : HC_OK;
}

/* A text of XML or JSON; *is stays false where it describes no product. */
static HcStatus look_at_text(HcProduct *product, const char *path, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors messages;
    char *data = NULL;
    size_t bytes = 0;
    *is = false;
    HC_OR_RETURN(hc_load_file(path, &data, &bytes, err));
    hc_gdal_catch(&messages);
    HcProductText text = {.path = path, .data = data};
    CPLXMLNode *tree = hc_text_ends_with(path, ".xml") ? CPLParseXMLString(data) : NULL;
    for (CPLXMLNode *node = tree; node != NULL && text.xml == NULL; node = node->psNext) {
        text.xml = node->eType == CXT_Element && node->pszValue[0] != '?' ? node : NULL;
    }
    if (text.xml != NULL) {
        CPLStripXMLNamespace(text.xml, NULL, TRUE);
    }
    if (text.xml == NULL && hc_text_ends_with(path, "-METADATA.xml")) {
        status = messages.failed ? hc_gdal_fail(err, HC_E_INPUT, path, &messages)
                                 : hc_fail(err, HC_E_INPUT, "%s: holds no XML", path);
    } else {
        status = describe_raster(product, &text, is, err);
    }
    CPLDestroyXMLNode(tree);
    hc_gdal_release();
    VSIFree(data);
    return status;
}

/* Where "-SPECTRAL_IMAGE" begins in the name of a raster that EnMAP or DESIS deliver; NULL in other names. */
static const char *find_image(const char *raster) {
    static const char *const parts[] = {"", "_VNIR", "_SWIR", "_COG"};
    static const char word[] = "-SPECTRAL_IMAGE";
    const char *base = hc_file_base(raster), *at = strstr(base, word), *dot = strrchr(base, '.');
    const char *part = at != NULL ? at + strlen(word) : NULL;
    for (size_t p = 0; part != NULL && dot >= part && p < sizeof parts / sizeof *parts; p++) {
        if ((size_t)(dot - part) == strlen(parts[p]) && strncmp(part, parts[p], strlen(parts[p])) == 0) {
            return at;
        }
    }
    return NULL;
}

/* The text that may describe a raster, by its name; NULL where there is none. */
static HcStatus find_text(const char *raster, char **out, HcError *err) {
    static const char *const texts[] = {"-METADATA.XML", "-METADATA.xml", ".json", "_metadata.json"};
    const char *image = find_image(raster), *dot = strrchr(hc_file_base(raster), '.');
    bool is_tiff = hc_text_ends_with(raster, ".tif") || hc_text_ends_with(raster, ".tiff");
    *out = NULL;
    for (int t = 0; t < 4; t++) {
        const char *end = t < 2 ? image : is_tiff ? dot : NULL;
        char *path = end != NULL ? hc_text_format("%.*s%s", (int)(end - raster), raster, texts[t]) : NULL;
        if (end != NULL && path == NULL) {
            return hc_fail_memory(err, (double)strlen(raster), "a path");
        }
        if (path != NULL && hc_read_is_file(path, NULL, NULL)) {
            *out = path;
            return HC_OK;
        }
        free(path);
    }
    return HC_OK;
}

/* Nothing is known of the raster, but why. Of a known sensor that is more than a remark. */
static void leave_out(HcProduct *product, const HcError *why) {
    if (product->name != NULL || find_image(product->raster) != NULL) {
        free(product->flaw);
        product->flaw = strdup(why->text);
        product->note.failed = product->note.failed || product->flaw == NULL;
    }
    free(product->name);
    free(product->band);
    hc_product_clear_layers(product);
    product->name = NULL;
    product->band = NULL;
    product->scene.bands = 0;
    product->scene.has_nodata = false;
    product->ascends = false;
    hc_text_clear(&product->note);
    hc_product_note(product, "its metadata are left out: %s", why->text);
}

/* A raster of a known sensor that no text describes. */
static void miss_text(HcProduct *product, const char *path, const char *text, bool *is) {
    HcError why = {0};
    const char *image = find_image(path), *base = hc_file_base(path);
    bool named = strncasecmp(base, "ENMAP", 5) == 0 || strncasecmp(base, "DESIS", 5) == 0;
    *is = image != NULL && (named || text != NULL);
    if (*is && text != NULL) {
        (void)!hc_fail(&why, HC_E_INPUT, "%s: describes no known product", text);
    } else if (*is) {
        (void)!hc_fail(&why, HC_E_INPUT, "%s: there is no %.*s-METADATA.XML beside it", path,
                       (int)(image - base), base);
    }
    if (*is) {
        leave_out(product, &why);
        product->no_text = text == NULL;
    }
}

/* A raster that has a text beside it. A flaw of the text is no failure: the raster opens without it. */
static HcStatus look_beside(HcProduct *product, const char *path, bool *is, HcError *err) {
    HcError why = {0};
    char *text = NULL;
    *is = false;
    HC_OR_RETURN(find_text(path, &text, err));
    HcStatus status = HC_OK;
    product->beside = true;
    if ((product->raster = strdup(path)) == NULL) {
        status = hc_fail_memory(err, (double)strlen(path), "a path");
    } else if (text != NULL) {
        status = look_at_text(product, text, is, &why);
        bool is_flaw = status == HC_E_INPUT || status == HC_E_UNSUPPORTED;
        if (is_flaw) {
            leave_out(product, &why);
            *is = true;
            status = HC_OK;
        } else if (status != HC_OK) {
            status = hc_fail(err, status, "%s", why.text);
        }
    }
    if (status == HC_OK && !*is) {
        miss_text(product, path, text, is);
    }
    free(text);
    return status;
}

/* ---- any path ---- */

bool hc_product_is_text(const char *path) {
    bool is_list = hc_text_ends_with(path, ".txt") && strstr(hc_file_base(path), "_MTL_") != NULL;
    return is_list || hc_text_ends_with(path, ".xml") || hc_text_ends_with(path, ".json");
}

static HcStatus look_at(HcProduct *product, const char *path, HcFileKind kind, bool *is, HcError *err) {
    *is = false;
    if (kind == HC_KIND_HDF5 || kind == HC_KIND_ZARR) {
        return look_at_arrays(product, path, kind, is, err);
    }
    if (!hc_read_is_file(path, NULL, NULL)) {
        return HC_OK;
    }
    if (hc_product_is_text(path)) {
        return look_at_text(product, path, is, err);
    }
    if (hc_product_is_near(path)) {
        HC_OR_RETURN(hc_product_flight(product, path, is, err));
        return *is ? HC_OK : look_beside(product, path, is, err);
    }
    return HC_OK;
}

/* ---- a folder or an archive ---- */

/* Files of a folder and of the folders in it, by name. */
static HcStatus list_files(const char *folder, int depth, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    char **names = VSIReadDir(folder);
    for (int n = 0; names != NULL && names[n] != NULL; n++) {
        if (names[n][0] == '.') {
            continue;
        }
        char *path = hc_text_format("%s/%s", folder, names[n]);
        HC_TRY(hc_text_made(path, strlen(folder), "a path", err));
        if (!hc_is_folder(path)) {
            status = hc_paths_add(out, path, err);
        } else if (depth > 0) {
            status = list_files(path, depth - 1, out, err);
        }
        free(path);
        HC_TRY(status);
    }
done:
    CSLDestroy(names);
    return status;
}

typedef struct Search {
    HcPaths found;      /* main files of products */
    HcPaths companions; /* of products whose main file may be elsewhere */
    HcError why;        /* of the first file that is a product with a flaw */
} Search;

/* The metadata of DESIS that a STAC item lists, where they lie beside it; else NULL. */
static HcStatus find_listed(const char *path, char **metadata, HcError *err) {
    HC_OR_RETURN(hc_product_swap_end(path, ".json", "-METADATA.xml", metadata, err));
    if (*metadata != NULL && !hc_read_is_file(*metadata, NULL, NULL)) {
        free(*metadata);
        *metadata = NULL;
    }
    return HC_OK;
}

/* The rasters of products have a text that leads to them: metadata, or the header of an image. */
static HcStatus try_file(const char *path, Search *search, HcError *err) {
    HcError why = {0};
    HcFileKind kind = HC_KIND_OTHER;
    bool is = false, is_header = hc_text_ends_with(path, ".hdr");
    char *listed = NULL;
    HC_OR_RETURN(find_listed(path, &listed, err));
    if (listed != NULL) { /* looked at itself; its flaw is the one to report */
        free(listed);
        return HC_OK;
    }
    HC_OR_RETURN(hc_read_kind(path, &kind, err));
    if (kind != HC_KIND_HDF5 && !hc_product_is_text(path) && !is_header) {
        return HC_OK;
    }
    HcProduct *trial = NULL;
    HC_OR_RETURN(hc_new(trial, 1, "the product", err));
    HcStatus status =
        is_header ? hc_product_flight(trial, path, &is, &why) : look_at(trial, path, kind, &is, &why);
    if (status == HC_OK) {
        status =
            is ? hc_paths_add(trial->is_companion ? &search->companions : &search->found, path, err) : HC_OK;
    } else if (status == HC_E_INPUT || status == HC_E_UNSUPPORTED) {
        search->why = search->why.text[0] == '\0' ? why : search->why;
        status = HC_OK;
    } else {
        status = hc_fail(err, status, "%s", why.text);
    }
    hc_product_close(trial);
    return status;
}

static HcStatus fail_many(const char *folder, const HcPaths *found, HcError *err) {
    HcText names = {0};
    for (int32_t p = 0; p < found->count && p < 4; p++) {
        hc_text_add(&names, "%s%.140s", p > 0 ? ", " : "", found->path[p] + strlen(folder) + 1);
    }
    HcStatus status =
        hc_fail_text(err, HC_E_INPUT, &names, "%s: holds %d products, open one of them: %s%s", folder,
                     (int)found->count, hc_text_shown(&names), found->count > 4 ? ", ..." : "");
    hc_text_clear(&names);
    return status;
}

/* Names the rasters beside the product that are not part of it: parts of a delivery begin alike. */
static void note_others(const HcPaths *files, const char *product, HcText *note) {
    enum { ALIKE = 8, SHOWN = 4 };
    static const char *const endings[] = {".hdr", ".tif", ".tiff", ".nc", ".h5", ".he5", NULL};
    const char *name = strrchr(product, '/') + 1;
    int32_t count = 0;
    for (int32_t f = 0; f < files->count; f++) {
        const char *other = strrchr(files->path[f], '/') + 1;
        bool is_raster = false;
        for (int e = 0; endings[e] != NULL; e++) {
            is_raster = is_raster || hc_text_ends_with(other, endings[e]);
        }
        if (is_raster && strncmp(other, name, ALIKE) != 0 && count++ < SHOWN) {
            hc_text_add(note, "%s%.140s", count == 1 ? "of the folder only the product is read, not " : ", ",
                        other);
        }
    }
    hc_text_add(note, "%s", count > SHOWN ? ", ..." : "");
}

/* The only product of a folder; *path stays NULL where it holds none. */
static HcStatus search_folder(const char *folder, char **path, HcText *note, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths files = {0};
    Search search = {.why = {0}};
    *path = NULL;
    HC_TRY(list_files(folder, 1, &files, err));
    for (int32_t f = 0; f < files.count; f++) {
        HC_TRY(try_file(files.path[f], &search, err));
    }
    const HcPaths *found = search.found.count > 0 ? &search.found : &search.companions;
    if (found->count > 1) {
        HC_TRY(fail_many(folder, found, err));
    } else if (search.found.count == 0 && search.why.text[0] != '\0') {
        HC_TRY(hc_fail(err, search.why.status, "%s", search.why.text));
    } else if (found->count == 1 && (*path = strdup(found->path[0])) == NULL) {
        HC_TRY(hc_fail_memory(err, 0, "a path"));
    } else if (found->count == 1) {
        note_others(&files, *path, note);
    }
done:
    hc_paths_clear(&files);
    hc_paths_clear(&search.found);
    hc_paths_clear(&search.companions);
    return status;
}

/* The file that is looked at: that of a folder or archive, or the path itself. */
static HcStatus main_file(const char *path, HcFileKind *kind, char **file, HcText *note, HcError *err) {
    *file = NULL;
    HC_OR_RETURN(hc_read_kind(path, kind, err));
    if (*kind == HC_KIND_ZARR || (*kind != HC_KIND_ARCHIVE && !hc_is_folder(path))) {
        HC_OR_RETURN(find_listed(path, file, err));
        *file = *file != NULL ? *file : strdup(path);
        return *file != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(path), "a path");
    }
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') {
        length--;
    }
    char *folder = hc_text_format("%s%.*s", *kind == HC_KIND_ARCHIVE ? "/vsizip/" : "", (int)length, path);
    HcStatus status = folder != NULL ? search_folder(folder, file, note, err)
                                     : hc_fail_memory(err, (double)length, "a path");
    free(folder);
    return status != HC_OK || *file == NULL ? status : hc_read_kind(*file, kind, err);
}

/* Parts of the name are texts of the file. */
static HcStatus clean_name(HcProduct *product, HcError *err) {
    char *clean = product->name != NULL ? hc_envi_clean(product->name) : NULL;
    if (product->name != NULL && clean == NULL) {
        return hc_fail_memory(err, (double)strlen(product->name), "a text");
    }
    free(product->name);
    product->name = clean;
    return HC_OK;
}

HcStatus hc_product_open(HcProduct **out, const char *path, HcOverlap overlap, HcError *err) {
    HcStatus status = HC_OK;
    bool is = false;
    char *file = NULL;
    HcFileKind kind = HC_KIND_OTHER;
    HcError why = {0};
    HcProduct *product = NULL;
    HcText note = {0};
    *out = NULL;
    HC_TRY(main_file(path, &kind, &file, &note, err));
    if (file == NULL) {
        goto done;
    }
    HC_TRY(hc_new(product, 1, "the product", err));
    product->note = note;
    note = (HcText){0};
    HC_TRY(look_at(product, file, kind, &is, err));
    if (!is) {
        goto done;
    }
    status = hc_product_settle(product, overlap, &why);
    if (status == HC_E_INPUT && product->beside) {
        leave_out(product, &why);
    } else if (status != HC_OK) {
        HC_TRY(hc_fail(err, status, "%s", why.text));
    }
    HC_TRY(clean_name(product, err));
    if (product->note.failed || product->news.failed) {
        HC_TRY(hc_fail_memory(err, 0, "a text"));
    }
    *out = product;
    product = NULL;
done:
    hc_product_close(product);
    hc_text_clear(&note);
    free(file);
    return status;
}
