/* Decides everything about an output before a file exists: format, type, nodata, interleave, compression,
 * names. What the format cannot hold is refused here, before the scene is read. */
#include "core/text.h"
#include "io/file.h"
#include "io/gdal/remote.h"
#include "io/scratch.h"
#include "io/write/parts.h"
#include "io/write/picture/style.h"

#include <cpl_minixml.h>
#include <cpl_string.h>
#include <dirent.h>
#include <limits.h>
#include <math.h>
#include <float.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

GDALDataType hc_write_gdal_type(HcType type) {
    static const GDALDataType known[HC_TYPE_COUNT] = {
        [HC_UINT8] = GDT_Byte,
        [HC_UINT16] = GDT_UInt16,
        [HC_INT16] = GDT_Int16,
        [HC_UINT32] = GDT_UInt32,
        [HC_INT32] = GDT_Int32,
        [HC_UINT64] = GDT_UInt64,
        [HC_INT64] = GDT_Int64,
        [HC_FLOAT32] = GDT_Float32,
        [HC_FLOAT64] = GDT_Float64,
#if GDAL_VERSION_NUM >= GDAL_COMPUTE_VERSION(3, 7, 0)
        [HC_INT8] = GDT_Int8,
#endif
    }; /* else GDT_Unknown, which is 0 */
    return known[type];
}

/* ---- the format ---- */

/* The ending of a path without its dot, "" if it has none. A leading dot begins a name. */
static const char *ending_of(const char *path) {
    const char *name = hc_file_base(path);
    const char *dot = strrchr(name, '.');
    return dot != NULL && dot != name ? dot + 1 : name + strlen(name);
}

static bool has(GDALDriverH driver, const char *capability) {
    const char *value = GDALGetMetadataItem(driver, capability, NULL);
    return value != NULL && CPLTestBool(value);
}

static bool can_write(GDALDriverH driver) {
    return has(driver, GDAL_DCAP_RASTER) &&
           (has(driver, GDAL_DCAP_CREATE) || has(driver, GDAL_DCAP_CREATECOPY));
}

static bool is_one_of(const char *word, const char *const *words) {
    for (; *words != NULL; words++) {
        if (hc_text_equal(word, *words)) {
            return true;
        }
    }
    return false;
}

static GDALDriverH driver_by_ending(const char *ending) {
    static const char *const envi[] = {"", "img", "dat", "bsq", "bil", "bip", "hdr", NULL};
    if (is_one_of(ending, envi)) {
        return GDALGetDriverByName("ENVI");
    }
    if (hc_text_equal(ending, "zarr")) { /* GDAL 3.6 does not list it */
        return GDALGetDriverByName("Zarr");
    }
    for (int i = 0; i < GDALGetDriverCount(); i++) {
        GDALDriverH driver = GDALGetDriver(i);
        const char *known = GDALGetMetadataItem(driver, GDAL_DMD_EXTENSIONS, NULL);
        if (known == NULL || !can_write(driver)) {
            continue;
        }
        char **words = CSLTokenizeString2(known, " ", 0);
        bool found = CSLFindString(words, ending) >= 0;
        CSLDestroy(words);
        if (found) {
            return driver;
        }
    }
    return NULL;
}

static HcStatus fail_unknown_format(const char *path, const char *format, HcError *err) {
    int count = GDALGetDriverCount();
    const char **names = calloc((size_t)count + 1, sizeof *names);
    int used = 0;
    for (int i = 0; i < count && names != NULL; i++) {
        if (can_write(GDALGetDriver(i))) {
            names[used++] = GDALGetDriverShortName(GDALGetDriver(i));
        }
    }
    const char *near = names != NULL ? hc_text_nearest(format, names) : NULL;
    HcStatus status =
        near != NULL
            ? hc_fail(err, HC_E_USAGE, "%s: there is no format \"%s\", did you mean %s?", path, format, near)
            : hc_fail(err, HC_E_USAGE, "%s: there is no format \"%s\" (ENVI, GTiff, COG, ...)", path, format);
    free(names);
    return status;
}

static HcStatus choose_driver(HcWritePlan *plan, const char *path, const char *format, HcError *err) {
    plan->driver = format != NULL ? GDALGetDriverByName(format) : driver_by_ending(ending_of(path));
    if (plan->driver == NULL && format != NULL) {
        return fail_unknown_format(path, format, err);
    }
    if (plan->driver == NULL) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: no format is known for the ending .%s; name one (ENVI, GTiff, COG, ...)", path,
                       ending_of(path));
    }
    plan->format = GDALGetDriverShortName(plan->driver);
    if (!can_write(plan->driver)) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %s can be read but not written", path, plan->format);
    }
    /* From GDAL 3.13 on the COG driver can create, too, but would then choose overviews and memory by itself.
     */
    bool creates = has(plan->driver, GDAL_DCAP_CREATE) && !hc_write_is_cog(plan);
    plan->way = strcmp(plan->format, "ENVI") == 0 ? HC_WRITE_ENVI : creates ? HC_WRITE_CREATE : HC_WRITE_COPY;
    return HC_OK;
}

/* ---- shape and type ---- */

static HcStatus check_shape(const char *path, const HcScene *scene, HcError *err) {
    if (scene->bands < 1 || scene->lines < 1 || scene->samples < 1) {
        return hc_fail(err, HC_E_USAGE, "%s: a scene of %lld lines, %lld samples, %d bands cannot be written",
                       path, (long long)scene->lines, (long long)scene->samples, scene->bands);
    }
    if (scene->lines > INT_MAX || scene->samples > INT_MAX) {
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "%s: %lld lines of %lld samples: no format holds more than %d of either", path,
                       (long long)scene->lines, (long long)scene->samples, INT_MAX);
    }
    return HC_OK;
}

/* Some drivers do not list all that they hold. */
static bool holds_type(const HcWritePlan *plan, GDALDataType type) {
    const char *known = GDALGetMetadataItem(plan->driver, GDAL_DMD_CREATIONDATATYPES, NULL);
    bool wide = type == GDT_Int64 || type == GDT_UInt64;
    if (type == GDT_Unknown) {
        return false;
    }
    if (wide && strcmp(plan->format, "GTiff") == 0) {
        return true;
    }
    char **words = CSLTokenizeString2(known != NULL ? known : "", " ", 0);
    bool found = known == NULL || CSLFindString(words, GDALGetDataTypeName(type)) >= 0;
    CSLDestroy(words);
    return found;
}

static bool type_can_hold(HcType type, double value) {
    if (type == HC_FLOAT64) {
        return true;
    }
    if (type == HC_FLOAT32) {
        return !isfinite(value) || fabs(value) <= FLT_MAX;
    }
    double low, end;
    hc_integer_range(type, &low, &end);
    return value >= low && value < end && value == floor(value);
}

/* Masked pixels get the scene's nodata value. */
static bool takes_nodata(const HcScene *scene, HcType type) {
    bool own = scene->meaning == HC_SPECTRAL || (scene->stored && scene->meaning != HC_CLASS_MAP);
    return own && scene->has_nodata && type_can_hold(type, scene->nodata);
}

/* Whether the file gets the type of the scene: blocks of float32 have kept the values, and no valid one is
 * nodata. Predictor 3 is for floats. */
static bool keeps_type(const HcWritePlan *plan, const HcScene *scene, const HcWriterOptions *options) {
    bool exact = scene->stored && hc_type_bytes(scene->type) <= 2 && !options->has_scale;
    bool own = takes_nodata(scene, scene->type) && !scene->shares_nodata;
    bool is_free = options->has_nodata ? own && options->nodata == scene->nodata : own || scene->complete;
    bool held = holds_type(plan, hc_write_gdal_type(scene->type));
    CSLConstList given = (CSLConstList)options->creation_options;
    return exact && is_free && held && strcmp(CSLFetchNameValueDef(given, "PREDICTOR", ""), "3") != 0;
}

static HcStatus choose_type(HcWritePlan *plan, const HcScene *scene, const HcWriterOptions *options,
                            HcError *err) {
    HcText known = {0};
    plan->type = options->has_type                  ? options->type
                 : hc_scene_is_class_map(scene)     ? hc_write_class_type(scene)
                 : keeps_type(plan, scene, options) ? scene->type
                                                    : HC_FLOAT32;
    plan->gdal_type = hc_write_gdal_type(plan->type);
    plan->in_parts = hc_scene_is_class_map_in_parts(scene) && hc_write_has_classes(scene, plan->type);
    if (holds_type(plan, plan->gdal_type)) {
        return HC_OK;
    }
    HcType wanted = plan->type;
    for (int t = 0; t < HC_TYPE_COUNT; t++) {
        plan->type = (HcType)t;
        plan->gdal_type = hc_write_gdal_type(plan->type);
        if (holds_type(plan, plan->gdal_type)) {
            hc_text_add(&known, "%s%s", known.length > 0 ? ", " : "", hc_type_name(plan->type));
        }
    }
    HcStatus status =
        hc_fail_text(err, HC_E_UNSUPPORTED, &known, "%s: %s cannot hold %s here (it holds %s)", plan->path,
                     plan->format, hc_type_name(wanted), known.length > 0 ? known.data : "none");
    hc_text_clear(&known);
    return status;
}

/* Checks that the type holds the numbers of parts in the bands after the classes. */
static HcStatus check_parts(const HcWritePlan *plan, const HcScene *scene, HcError *err) {
    char number[40];
    for (int32_t b = 1; b < scene->bands && plan->in_parts; b++) {
        if (!type_can_hold(plan->type, scene->parts[b])) {
            return hc_fail(err, HC_E_USAGE, "%s: %s cannot hold 0 to %d in band %d", plan->path,
                           hc_type_name(plan->type), scene->parts[b], b + 1);
        }
        if (!plan->no_nodata && plan->nodata >= 1 && plan->nodata <= scene->parts[b]) {
            return hc_fail(err, HC_E_USAGE, "%s: nodata %s is a value of band %d (0 to %d)", plan->path,
                           hc_write_number(number, plan->nodata), b + 1, scene->parts[b]);
        }
    }
    return HC_OK;
}

/* Numbers of classes are neither clamped nor moved aside as other values are. */
static HcStatus check_classes(const HcWritePlan *plan, const HcScene *scene, HcError *err) {
    char number[40];
    int32_t last = scene->classes.count - 1;
    if (!hc_scene_is_class_map(scene)) {
        return HC_OK;
    }
    if (!type_can_hold(plan->type, last)) {
        return hc_fail(err, HC_E_USAGE, "%s: %s cannot hold the classes 0 to %d", plan->path,
                       hc_type_name(plan->type), last);
    }
    if (!plan->no_nodata && plan->nodata >= 1 && plan->nodata <= last) {
        return hc_fail(err, HC_E_USAGE, "%s: nodata %s is the number of a class (%s)", plan->path,
                       hc_write_number(number, plan->nodata), scene->classes.name[(int32_t)plan->nodata]);
    }
    return check_parts(plan, scene, err);
}

static HcStatus choose_scale(HcWritePlan *plan, const HcScene *scene, const HcWriterOptions *options,
                             HcError *err) {
    char number[40];
    plan->scaled = options->has_scale;
    plan->scale = options->has_scale ? options->scale : 1;
    plan->offset = options->has_scale ? options->offset : 0;
    if (!isfinite(plan->scale) || !isfinite(plan->offset) || plan->scale == 0) {
        double wrong = isfinite(plan->offset) ? plan->scale : plan->offset;
        return hc_fail(err, HC_E_USAGE, "%s: %s is no %s", plan->path, hc_write_number(number, wrong),
                       isfinite(plan->offset) ? "scale" : "offset");
    }
    if (plan->scaled && hc_scene_is_class_map(scene)) {
        return hc_fail(err, HC_E_USAGE, "%s: the numbers of classes take no scale and no offset", plan->path);
    }
    return HC_OK;
}

/* A value of an integer type that few valid pixels have: the lowest of signed types, the highest of unsigned
 * ones, since 0 is a value like others in fractions and counts. */
static double nodata_of_type(HcType type) {
    double low, end;
    hc_integer_range(type, &low, &end);
    double high =
        end - 1 < end ? end - 1 : nextafter(end, 0); /* of 64 bits the highest that a double holds */
    return low < 0 ? low : high;
}

static HcStatus choose_nodata(HcWritePlan *plan, const HcScene *scene, const HcWriterOptions *options,
                              HcError *err) {
    char number[40];
    bool is_float = plan->type == HC_FLOAT32 || plan->type == HC_FLOAT64;
    if (options->has_nodata) {
        plan->nodata = options->nodata;
        if (!type_can_hold(plan->type, plan->nodata)) {
            return hc_fail(err, HC_E_USAGE, "%s: nodata %s is no value of %s", plan->path,
                           hc_write_number(number, plan->nodata), hc_type_name(plan->type));
        }
    } else if (!is_float && hc_scene_is_class_map(scene) && hc_classes_has_unclassified(&scene->classes)) {
        plan->nodata = 0;
    } else if (!plan->scaled && takes_nodata(scene, plan->type)) {
        plan->nodata = scene->nodata;
    } else if (scene->complete && !is_float) {
        plan->no_nodata = true;
    } else if (is_float) {
        plan->nodata = NAN;
    } else {
        plan->nodata = nodata_of_type(plan->type);
    }
    if (plan->type == HC_FLOAT32) {
        plan->nodata = (float)plan->nodata; /* as it will stand in the file */
    }
    plan->shares_nodata = hc_scene_is_class_map(scene) && plan->nodata == 0;
    return HC_OK;
}

/* ---- creation options ---- */

typedef enum Takes { TAKES_NO_OPTION, TAKES_OTHER_VALUES, TAKES_IT } Takes;

static Takes takes(GDALDriverH driver, const char *option, const char *value) {
    Takes result = TAKES_NO_OPTION;
    const char *list = GDALGetMetadataItem(driver, GDAL_DMD_CREATIONOPTIONLIST, NULL);
    CPLXMLNode *root = list != NULL ? CPLParseXMLString(list) : NULL;
    for (CPLXMLNode *node = root != NULL ? root->psChild : NULL; node != NULL; node = node->psNext) {
        if (!hc_text_equal(CPLGetXMLValue(node, "name", ""), option)) {
            continue;
        }
        result = TAKES_OTHER_VALUES;
        for (CPLXMLNode *child = node->psChild; child != NULL; child = child->psNext) {
            if (strcmp(child->pszValue, "Value") == 0 &&
                hc_text_equal(CPLGetXMLValue(child, "", ""), value)) {
                result = TAKES_IT;
            }
        }
    }
    CPLDestroyXMLNode(root);
    return result;
}

static HcStatus choose_interleave(HcWritePlan *plan, const HcWriterOptions *options, HcError *err) {
    static const char *const words[] = {"bsq", "bil", "bip", NULL};
    static const char *const gdal_words[] = {"BAND", "LINE", "PIXEL"};
    const char *ending = ending_of(plan->path);
    const char *word = options->interleave;
    if (word == NULL && (plan->way != HC_WRITE_ENVI || !is_one_of(ending, words))) {
        return HC_OK;
    }
    word = word != NULL ? word : ending;
    if (!is_one_of(word, words)) {
        return hc_fail(err, HC_E_USAGE, "%s: interleave \"%s\" must be bsq, bil or bip", plan->path, word);
    }
    int which = hc_text_equal(word, "bsq") ? 0 : hc_text_equal(word, "bil") ? 1 : 2;
    plan->interleave = (HcInterleave)which;
    if (plan->way == HC_WRITE_ENVI) {
        return HC_OK;
    }
    if (takes(plan->driver, "INTERLEAVE", gdal_words[which]) != TAKES_IT) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %s cannot be written as %s", plan->path, plan->format,
                       word);
    }
    return hc_write_option(&plan->options, "INTERLEAVE", gdal_words[which], err);
}

static HcStatus choose_compression(HcWritePlan *plan, const HcWriterOptions *options, HcError *err) {
    static const char *const differenced[] = {"deflate", "zstd", "lzw", NULL};
    const char *word = options->compress;
    if (word == NULL) {
        return HC_OK;
    }
    Takes can = plan->way == HC_WRITE_ENVI ? TAKES_NO_OPTION : takes(plan->driver, "COMPRESS", word);
    if (can == TAKES_NO_OPTION && hc_text_equal(word, "none")) {
        return HC_OK;
    }
    if (can != TAKES_IT) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: %s has no compression \"%s\" here", plan->path,
                       plan->format, word);
    }
    HC_OR_RETURN(hc_write_option(&plan->options, "COMPRESS", word, err));
    bool is_float = plan->type == HC_FLOAT32 || plan->type == HC_FLOAT64;
    if (is_one_of(word, differenced)) {
        if (hc_write_is_cog(plan)) {
            HC_OR_RETURN(hc_write_option(&plan->options, "PREDICTOR", "YES", err));
        } else if (strcmp(plan->format, "GTiff") == 0 && (is_float || hc_type_bytes(plan->type) <= 4)) {
            HC_OR_RETURN(hc_write_option(&plan->options, "PREDICTOR", is_float ? "3" : "2", err));
        }
    }
    return HC_OK;
}

/* The user's options as a GDAL string list, fresh also after a failure. */
static HcStatus parse_user_options(const HcWritePlan *plan, const HcWriterOptions *options, char ***given,
                                   HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    *given = NULL;
    for (const char *const *option = options->creation_options; option != NULL && *option != NULL; option++) {
        const char *equals = strchr(*option, '=');
        if (equals == NULL || equals == *option) {
            return hc_fail(err, HC_E_USAGE, "%s: creation option \"%s\" is not NAME=VALUE", plan->path,
                           *option);
        }
        if (plan->way == HC_WRITE_ENVI) {
            return hc_fail(err, HC_E_UNSUPPORTED, "%s: ENVI takes no creation option (%s)", plan->path,
                           *option);
        }
    }
    HC_OR_RETURN(hc_write_options_add(given, options->creation_options, err));
    hc_gdal_catch(&errors);
    if (*given != NULL && !GDALValidateCreationOptions(plan->driver, *given)) {
        status = hc_fail(err, HC_E_USAGE, "%s: %s", plan->path, errors.failed ? errors.text : errors.warning);
    }
    hc_gdal_release();
    return status;
}

/* What the user gives replaces what was chosen. */
static HcStatus add_user_options(HcWritePlan *plan, const HcWriterOptions *options, HcError *err) {
    HcStatus status = HC_OK;
    char **given = NULL;
    HC_TRY(parse_user_options(plan, options, &given, err));
    HC_TRY(hc_write_options_add(&plan->options, (const char *const *)given, err));
done:
    CSLDestroy(given);
    return status;
}

/* The driver always gets a number: else GDAL takes that of its environment. */
static HcStatus choose_threads(HcWritePlan *plan, const HcScene *scene, const HcWriterOptions *options,
                               HcError *err) {
    char text[24];
    bool has_threads = hc_write_is_tiff(plan) && takes(plan->driver, "NUM_THREADS", "") != TAKES_NO_OPTION;
    plan->threads = plan->threads_max = has_threads ? hc_write_threads_fixed(plan) : 1;
    if (plan->threads == 0) {
        plan->threads_max = hc_write_threads_max(plan, scene);
        plan->threads = options->compressors < plan->threads_max ? options->compressors : plan->threads_max;
        plan->threads = plan->threads < 1 ? 1 : plan->threads;
        snprintf(text, sizeof text, "%d", plan->threads);
        HC_OR_RETURN(hc_write_option(&plan->options, "NUM_THREADS", text, err));
    }
    return HC_OK;
}

static HcStatus choose_options(HcWritePlan *plan, const HcScene *scene, const HcWriterOptions *options,
                               HcError *err) {
    if (strcmp(plan->format, "GTiff") == 0) {
        HC_OR_RETURN(hc_write_tiles(&plan->options, scene, plan->type, err));
        /* Three bands of bytes are not a photograph, nor is a fourth one its alpha. */
        HC_OR_RETURN(hc_write_option(&plan->options, "PHOTOMETRIC", "MINISBLACK", err));
    } else if (hc_write_is_cog(plan)) {
        HC_OR_RETURN(hc_write_option(&plan->options, "BIGTIFF", "IF_SAFER", err));
        HC_OR_RETURN(hc_write_cog_tiles(&plan->options, plan, scene, err));
    }
    HC_OR_RETURN(hc_write_lossless(plan, options->creation_options, err));
    HC_OR_RETURN(choose_interleave(plan, options, err));
    HC_OR_RETURN(choose_compression(plan, options, err));
    HC_OR_RETURN(add_user_options(plan, options, err));
    HC_OR_RETURN(hc_write_zstd_level(plan, err));
    plan->encodes = hc_write_encodes(plan, scene);
    return choose_threads(plan, scene, options, err);
}

/* ---- names ---- */

/* `path` with its ending replaced. */
static char *with_ending(const char *path, const char *ending) {
    const char *old = ending_of(path);
    size_t length = *old != '\0' ? (size_t)(old - path) - 1 : strlen(path);
    return hc_text_format("%.*s%s", (int)length, path, ending);
}

static HcStatus choose_names(HcWritePlan *plan, const char *path, HcError *err) {
    bool by_header = plan->way == HC_WRITE_ENVI && hc_text_ends_with(path, ".hdr");
    plan->path = by_header ? with_ending(path, ".img") : strdup(path);
    plan->header = plan->way == HC_WRITE_ENVI ? with_ending(path, ".hdr") : NULL;
    if (plan->path == NULL || (plan->way == HC_WRITE_ENVI && plan->header == NULL)) {
        return hc_fail_memory(err, (double)strlen(path), "a file name");
    }
    return HC_OK;
}

HcStatus hc_writer_names(const char *path, const char *format, HcWriterNames *out, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    HcWritePlan plan = {0};
    *out = (HcWriterNames){0};
    hc_gdal_catch(&errors);
    HC_TRY(choose_driver(&plan, path, format, err));
    HC_TRY(choose_names(&plan, path, err));
    *out = (HcWriterNames){.data = plan.path,
                           .header = plan.header,
                           .style = hc_style_name(plan.path),
                           .in_gis = plan.way == HC_WRITE_ENVI || hc_write_is_tiff(&plan)};
    plan.path = plan.header = NULL;
    if (out->style == NULL) {
        hc_writer_names_clear(out);
        HC_TRY(hc_fail_memory(err, (double)strlen(path), "a file name"));
    }
done:
    hc_gdal_release();
    hc_write_plan_clear(&plan);
    return status;
}

void hc_writer_names_clear(HcWriterNames *names) {
    free(names->data);
    free(names->header);
    free(names->style);
    *names = (HcWriterNames){0};
}

/* A file beside the header, no header and no style, that has the same stem; fresh memory or NULL. */
static char *owner_of_header(const char *header) {
    char *found = NULL;
    const char *name = hc_file_base(header);
    size_t stem = strlen(name) - strlen(".hdr");
    char *directory = hc_file_folder(header);
    DIR *handle = directory != NULL ? opendir(directory) : NULL;
    for (struct dirent *entry; handle != NULL && found == NULL && (entry = readdir(handle)) != NULL;) {
        const char *ending = ending_of(entry->d_name);
        size_t length = strlen(entry->d_name) - strlen(ending) - (*ending != '\0' ? 1 : 0);
        if (length == stem && strncmp(entry->d_name, name, stem) == 0 && !hc_text_equal(ending, "hdr") &&
            !hc_text_equal(ending, "qml")) {
            found = strdup(entry->d_name);
        }
    }
    if (handle != NULL) {
        closedir(handle);
    }
    free(directory);
    return found;
}

/* A header that may belong to other data is not replaced, even with `overwrite`.
 */
static HcStatus check_header(const HcWritePlan *plan, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    struct stat info;
    bool there = false;
    HC_OR_RETURN(hc_file_look_at_link(plan->header, &info, &there, err));
    if (!there) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_file_check(plan->header, overwrite, err));
    HC_OR_RETURN(hc_file_look_at_link(plan->path, &info, &there, err));
    if (!there) {
        char *owner = owner_of_header(plan->header);
        if (owner != NULL) {
            status = hc_fail(err, HC_E_USAGE, "%s: its header would replace %s, which belongs to %s",
                             plan->path, plan->header, owner);
        }
        free(owner);
    }
    return status;
}

/* GDAL keeps the names of classes beside most files. */
static HcStatus check_sidecar(const HcWritePlan *plan, bool overwrite, HcError *err) {
    char *sidecar = hc_text_format("%s.aux.xml", plan->path);
    HcStatus status = sidecar != NULL ? hc_file_check(sidecar, overwrite, err)
                                      : hc_fail_memory(err, (double)strlen(plan->path), "a file name");
    free(sidecar);
    return status;
}

void hc_write_plan_clear(HcWritePlan *plan) {
    free(plan->path);
    free(plan->header);
    free(plan->place);
    CSLDestroy(plan->options);
    *plan = (HcWritePlan){0};
}

HcStatus hc_write_fail_scratch(const HcWritePlan *plan, double left, HcError *err) {
    char text[2][32];
    return hc_fail(err, HC_E_IO,
                   "%s: making it takes up to %s of the scratch folder, --scratch-space leaves %s",
                   plan->path, hc_text_bytes(text[0], sizeof text[0], plan->scratch),
                   hc_text_bytes(text[1], sizeof text[1], left));
}

/* Of an output that is made in the scratch folder; not compressed. A copy is there beside its source, and a
 * COG has overviews of a third of its size in both. */
static HcStatus plan_scratch(HcWritePlan *plan, const HcScene *scene, const HcWriterOptions *options,
                             HcError *err) {
    if (hc_remote_is(plan->path) || options->sends) {
        plan->scratch = (double)scene->lines * (double)scene->samples * scene->bands *
                        (double)hc_type_bytes(plan->type) * (plan->way == HC_WRITE_COPY ? 8.0 / 3 : 1);
    }
    /* Not what is left: the scene before may be in work. */
    double space = hc_scratch_space();
    return plan->scratch <= space ? HC_OK : hc_write_fail_scratch(plan, space, err);
}

HcStatus hc_write_plan(HcWritePlan *plan, const char *path, const HcScene *scene,
                       const HcWriterOptions *options, HcError *err) {
    static const HcWriterOptions defaults = {0};
    HcStatus status = HC_OK;
    bool overwrite = false;
    HcGdalErrors errors;
    *plan = (HcWritePlan){0};
    options = options != NULL ? options : &defaults;
    hc_gdal_catch(&errors);
    HC_TRY(choose_driver(plan, path, options->format, err));
    plan->way = hc_write_is_array(plan, scene) ? HC_WRITE_ARRAY : plan->way;
    HC_TRY(choose_names(plan, path, err));
    HC_TRY(hc_write_check_zarr(plan, scene, err));
    HC_TRY(check_shape(plan->path, scene, err));
    HC_TRY(choose_type(plan, scene, options, err));
    HC_TRY(choose_scale(plan, scene, options, err));
    HC_TRY(choose_nodata(plan, scene, options, err));
    HC_TRY(check_classes(plan, scene, err));
    HC_TRY(choose_options(plan, scene, options, err));
    /* What a killed process has sent is replaced, with what lies beside it. */
    HC_TRY(options->overwrite ? HC_OK : hc_file_is_left(plan->path, &overwrite, err));
    overwrite = overwrite || options->overwrite;
    HC_TRY(hc_file_check(plan->path, overwrite, err));
    if (plan->way != HC_WRITE_ENVI && hc_write_has_classes(scene, plan->type)) {
        HC_TRY(check_sidecar(plan, overwrite, err));
    }
    plan->large = options->large > 0 ? options->large : HC_LARGE_FILE;
    plan->storing = hc_io_threads(options->threads);
    if (plan->way == HC_WRITE_ENVI) {
        HC_TRY(hc_write_envi_place(plan->path, scene, &plan->place, err));
        HC_TRY(check_header(plan, overwrite, err));
    }
    if (options->style) {
        HC_TRY(hc_style_check(plan->path, err));
    }
    if (plan->way == HC_WRITE_ARRAY) {
        HC_TRY(hc_write_array_check(plan, scene, err));
    } else if (strcmp(plan->format, "netCDF") == 0) {
        HC_TRY(hc_write_netcdf_check_map(plan, scene, err));
    }
    HC_TRY(hc_write_probe(plan, scene, err));
    HC_TRY(plan_scratch(plan, scene, options, err));
done:
    hc_gdal_release();
    return status;
}
