/* Class maps on their way out: the type that holds them, and their names and colours in the words of each
 * format. */
#include "core/text.h"
#include "io/write/parts.h"

#include <cpl_string.h>
#include <cpl_vsi.h>
#include <stdlib.h>
#include <string.h>

bool hc_write_one_class_band(const HcScene *scene, HcType type) {
    return hc_scene_is_class_map(scene) && scene->bands == 1 && type != HC_FLOAT32 && type != HC_FLOAT64;
}

bool hc_write_has_classes(const HcScene *scene, HcType type) {
    bool integer = type != HC_FLOAT32 && type != HC_FLOAT64;
    return hc_write_one_class_band(scene, type) || (integer && hc_scene_is_class_map_in_parts(scene));
}

HcType hc_write_class_type(const HcScene *scene) {
    int32_t count = scene->classes.count;
    bool in_parts = hc_scene_is_class_map_in_parts(scene);
    for (int32_t b = 1; b < scene->bands && in_parts; b++) {
        count = scene->parts[b] >= count ? scene->parts[b] + 1 : count;
    }
    return scene->bands > 1 && !in_parts ? HC_FLOAT32
           : count <= 256                ? HC_UINT8
           : count <= 65536              ? HC_UINT16
                                         : HC_UINT32;
}

/* An empty name would be none in a list. */
static void add_class_name(HcText *to, const HcClasses *classes, int32_t c) {
    if (classes->name[c][0] != '\0') {
        hc_write_envi_name(to, classes->name[c], true);
    } else {
        hc_text_add(to, "Class %d", c);
    }
}

static void add_names(HcText *to, const HcClasses *classes) {
    for (int32_t c = 0; c < classes->count; c++) {
        add_class_name(to, classes, c);
        hc_text_add(to, "%s", c + 1 == classes->count ? "}" : ",\n");
    }
}

static void add_colours(HcText *to, const HcClasses *classes) {
    for (int32_t c = 0; c < classes->count; c++) {
        const uint8_t *rgb = classes->colour[c];
        hc_text_add(to, "%d, %d, %d%s", rgb[0], rgb[1], rgb[2], c + 1 == classes->count ? "}" : ",\n");
    }
}

void hc_write_envi_classes(HcText *to, const HcScene *scene) {
    if (hc_scene_is_class_map(scene)) {
        hc_text_add(to, "classes = %d\nclass lookup = {\n", scene->classes.count);
        add_colours(to, &scene->classes);
        hc_text_add(to, "\nclass names = {\n");
        add_names(to, &scene->classes);
        hc_text_add(to, "\n");
    }
}

/* "{a, b, c": the names of a scene's numbers, with what would end one replaced. */
static void add_number_names(HcText *to, const char *names) {
    hc_text_add(to, "{");
    for (const char *at = names; *at != '\0';) {
        size_t length = strcspn(at, "\n");
        char *name = hc_text_format("%.*s", (int)length, at);
        to->failed = to->failed || name == NULL;
        hc_write_envi_name(to, name != NULL ? name : "", true);
        free(name);
        at += length;
        hc_text_add(to, "%s", *at == '\n' ? ",\n" : "");
        at += *at == '\n';
    }
    hc_text_add(to, "}");
}

/* The reader takes it back (take_values in io/read/metadata/class_map.c). */
const char *hc_write_values(const HcScene *scene) {
    return scene->meaning == HC_COMPONENT  ? "components"
           : scene->meaning == HC_FRACTION ? "abundances"
           : scene->meaning == HC_OTHER    ? "scores"
           : scene->meaning == HC_SHAPE    ? "shapes"
                                           : NULL;
}

void hc_write_envi_numbers(HcText *to, const HcScene *scene) {
    const char *values = hc_write_values(scene);
    if (values != NULL) {
        hc_text_add(to, "hcube values = %s\n", values);
    }
    if (scene->number_names != NULL) {
        hc_text_add(to, "spectrum names = ");
        add_number_names(to, scene->number_names);
        hc_text_add(to, "\n");
    }
}

HcStatus hc_write_describe_numbers(GDALDatasetH dataset, const HcScene *scene, HcError *err) {
    HcStatus status = HC_OK;
    HcText names = {0};
    if (scene->number_names == NULL) {
        return HC_OK;
    }
    add_number_names(&names, scene->number_names);
    if (names.failed) {
        status = hc_fail_memory(err, 0, "the names of spectra");
    } else {
        GDALSetMetadataItem(dataset, "spectrum_names", names.data, NULL);
    }
    hc_text_clear(&names);
    return status;
}

static void set_colour_table(GDALRasterBandH band, const HcClasses *classes, HcType type) {
    int32_t most = type == HC_UINT8 ? 256 : 65536;
    GDALColorTableH table = GDALCreateColorTable(GPI_RGB);
    for (int32_t c = 0; c < classes->count && c < most; c++) {
        const uint8_t *rgb = classes->colour[c];
        GDALColorEntry entry = {rgb[0], rgb[1], rgb[2], 255};
        GDALSetColorEntry(table, c, &entry);
    }
    GDALSetRasterColorTable(band, table);
    GDALDestroyColorTable(table);
}

/* A TIFF has 256 or 65,536 colours, which a GIS lists. The table beside it, with the classes alone, goes
 * first. */
HcStatus hc_write_class_table(const char *file, const HcScene *scene, const HcWritePlan *plan, HcError *err) {
    HcStatus status = HC_OK;
    HcGdalErrors errors;
    bool has_table = plan->type == HC_UINT8 || plan->type == HC_UINT16;
    if (!hc_write_is_tiff(plan) || !hc_write_has_classes(scene, plan->type) || !has_table) {
        return HC_OK;
    }
    hc_gdal_catch(&errors);
    GDALDatasetH dataset = GDALOpen(file, GA_ReadOnly); /* to change it goes beside the file */
    if (dataset != NULL) {
        set_colour_table(GDALGetRasterBand(dataset, 1), &scene->classes, plan->type);
    }
    GDALClose(dataset);
    if (dataset == NULL || errors.failed) {
        status = hc_gdal_fail(err, HC_E_IO, plan->path, &errors);
    }
    hc_gdal_release();
    return status;
}

static HcStatus set_categories(GDALRasterBandH band, const HcClasses *classes, HcError *err) {
    HcStatus status = HC_OK;
    /* GDAL's CPLCalloc and CPLStrdup end the program when memory runs out. */
    char **names = VSICalloc((size_t)classes->count + 1, sizeof *names);
    for (int32_t c = 0; c < classes->count; c++) {
        if (names == NULL || (names[c] = VSIStrdup(classes->name[c])) == NULL) {
            HC_TRY(hc_fail_memory(err, (double)classes->count * sizeof *names, "the names of the classes"));
        }
        for (char *at = names[c]; *at != '\0'; at++) {
            *at = (unsigned char)*at < 32 ? ' ' : *at;
        }
    }
    GDALSetRasterCategoryNames(band, names);
done:
    CSLDestroy(names);
    return status;
}

/* The fields of an ENVI header as metadata: they stay within a GeoTIFF when its .aux.xml, where GDAL keeps
 * the categories, is lost, and they are all that bands of float32 can have. */
HcStatus hc_write_describe_classes(GDALDatasetH dataset, const HcScene *scene, const HcWritePlan *plan,
                                   HcError *err) {
    HcStatus status = HC_OK;
    HcText names = {0}, colours = {0};
    if (!hc_scene_is_class_map(scene)) {
        return HC_OK;
    }
    hc_text_add(&names, "{");
    add_names(&names, &scene->classes);
    hc_text_add(&colours, "{");
    add_colours(&colours, &scene->classes);
    if (names.failed || colours.failed) {
        HC_TRY(hc_fail_memory(err, (double)names.length, "the names of the classes"));
    }
    GDALSetMetadataItem(dataset, "class_names", names.data, NULL);
    GDALSetMetadataItem(dataset, "class_lookup", colours.data, NULL);
    if (hc_write_has_classes(scene, plan->type)) {
        GDALRasterBandH band = GDALGetRasterBand(dataset, 1);
        if (plan->type == HC_UINT8 || plan->type == HC_UINT16) {
            set_colour_table(band, &scene->classes, plan->type);
        }
        HC_TRY(set_categories(band, &scene->classes, err));
    }
done:
    hc_text_clear(&names);
    hc_text_clear(&colours);
    return status;
}
