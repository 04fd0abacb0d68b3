/* Names and colours of the classes that the first band holds. */
#include "io/read/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* More would be a mistake: colour tables end here. */
static const int32_t most_classes = 65536;

/* What a source says of them: `name` and `colour` may be NULL, or shorter than the classes. */
typedef struct Found {
    int32_t names, colours;
    bool unfit; /* there are names, of which nobody knows the classes */
    char *const *name;
    const double *colour; /* [colours][3] */
} Found;

static HcStatus fill_classes(HcClasses *classes, const Found *found, HcError *err) {
    HcStatus status = HC_OK;
    char *clean = NULL;
    for (int32_t c = 0; c < found->names && c < classes->count; c++) {
        HC_TRY(hc_read_set_text(&clean, found->name[c], err));
        if (clean != NULL) {
            HC_TRY(hc_classes_name(classes, c, clean, err));
        }
    }
    for (int32_t c = 0; c < found->colours && c < classes->count; c++) {
        for (int k = 0; k < 3; k++) {
            double level = found->colour[3 * c + k];
            classes->colour[c][k] = (uint8_t)(level > 0 ? fmin(level, 255) : 0);
        }
    }
done:
    free(clean);
    return status;
}

/* Class 0 is that of no class unless it has a name of its own, or there are colours alone. */
static HcStatus set_classes(HcReader *reader, int32_t count, const Found *found, HcError *err) {
    HcScene *scene = &reader->scene;
    if (count > most_classes) {
        hc_read_note(reader, "classes left out: %" PRId32 " of them", count);
        return HC_OK;
    }
    HC_OR_RETURN(hc_classes_make(&scene->classes, count, err));
    if (found->names == 0 && (found->colours > 0 || found->unfit)) {
        HC_OR_RETURN(hc_classes_name(&scene->classes, 0, "Class 0", err));
    }
    HC_OR_RETURN(fill_classes(&scene->classes, found, err));
    if (found->colours == 0) {
        hc_classes_colour_by_name(&scene->classes);
    }
    scene->meaning = HC_CLASS_MAP;
    return HC_OK;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* Names that are not one a class are of other classes than their places say: a comma in one of them, or a
 * brace. The first one may still say that class 0 is that of no class. */
static void leave_out_unfit(HcReader *reader, int32_t count, int32_t levels, Found *found) {
    bool outside = false;
    if (found->names > 0 && found->names != count) {
        hc_read_note(
            reader, "class names left out: %" PRId32 " names for %" PRId32 " classes%s", found->names, count,
            found->names > count ? " (a name cannot hold a comma)" : " (a name cannot hold a brace)");
        found->unfit = true;
        found->names = hc_text_equal(found->name[0], "Unclassified") ? 1 : 0;
    }
    if (levels > 0 && levels != 3 * count) {
        hc_read_note(reader, "class lookup has %" PRId32 " values for %" PRId32 " classes (three each)",
                     levels, count);
    }
    for (int32_t l = 0; l < levels; l++) {
        outside = outside || !(found->colour[l] >= 0 && found->colour[l] <= 255);
    }
    if (outside) {
        hc_read_note(reader, "class lookup holds levels outside of 0 to 255: they are cut off there");
    }
}

HcStatus hc_read_envi_classes(HcReader *reader, const HcEnviHeader *header, HcError *err) {
    HcStatus status = HC_OK;
    HcError local = {0};
    Found found = {0};
    char **names = NULL;
    double *levels = NULL;
    int32_t name_count = 0, level_count = 0;
    int64_t count = 0;
    bool counted = false;
    const char *kind = hc_envi_text(header, "file type");
    if (reader->scene.classes.count > 0) {
        return HC_OK;
    }
    if (kind != NULL && strcasestr(kind, "classification") != NULL) {
        reader->scene.meaning = HC_OTHER;
    }
    HC_TRY(hc_envi_texts(header, "class names", &names, &name_count, err));
    HC_TRY(hc_read_list(reader, header, "class lookup", 0, &levels, &level_count, err));
    if (hc_envi_integer(header, "classes", &count, &counted, &local) != HC_OK) {
        HC_TRY(hc_read_leave_out(reader, "classes", &local, err));
        count = 0;
    } else if (count < 0 || count > most_classes) {
        hc_read_note(reader, "classes left out: an absurd number");
        count = 0;
    }
    found.name = names;
    found.names = name_count;
    found.colour = levels;
    found.colours = level_count / 3;
    if (count < 1) {
        count = larger(found.names, found.colours);
    }
    leave_out_unfit(reader, (int32_t)count, level_count, &found);
    if (count > 0) {
        HC_TRY(set_classes(reader, (int32_t)count, &found, err));
    }
done:
    hc_free_texts(names, name_count);
    free(levels);
    return status;
}

/* What our own files say of their values (hc_write_values). */
static void take_values(HcScene *scene, const char *word) {
    if (word != NULL && scene->meaning == HC_SPECTRAL) {
        scene->meaning = hc_text_equal(word, "components")   ? HC_COMPONENT
                         : hc_text_equal(word, "abundances") ? HC_FRACTION
                         : hc_text_equal(word, "scores")     ? HC_OTHER
                         : hc_text_equal(word, "shapes")     ? HC_SHAPE
                                                             : HC_SPECTRAL;
    }
}

HcStatus hc_read_envi_numbers(HcReader *reader, const HcEnviHeader *header, HcError *err) {
    HcStatus status = HC_OK;
    HcText all = {0};
    char **names = NULL, *clean = NULL;
    int32_t count = 0;
    take_values(&reader->scene, hc_envi_text(header, "hcube values"));
    if (reader->scene.number_names != NULL) {
        return HC_OK;
    }
    HC_TRY(hc_envi_texts(header, "spectrum names", &names, &count, err));
    for (int32_t n = 0; n < count && n < most_classes; n++) {
        HC_TRY(hc_read_set_text(&clean, names[n], err));
        hc_text_add(&all, "%s%s", n > 0 ? "\n" : "", clean != NULL ? clean : "");
    }
    if (count > 0 && (reader->scene.number_names = hc_text_take(&all)) == NULL) {
        status = hc_fail_memory(err, 0, "the names of spectra");
    }
done:
    hc_text_clear(&all);
    hc_free_texts(names, count);
    free(clean);
    return status;
}

/* The colours of a table up to the last that is not black, the rest of which is padding. */
static HcStatus table_colours(GDALColorTableH table, double **colours, int32_t *count, HcError *err) {
    int entries =
        table != NULL && GDALGetPaletteInterpretation(table) == GPI_RGB ? GDALGetColorEntryCount(table) : 0;
    *count = 0;
    *colours = entries > 0 ? malloc((size_t)entries * 3 * sizeof **colours) : NULL;
    if (entries > 0 && *colours == NULL) {
        return hc_fail_memory(err, 24.0 * entries, "a colour table");
    }
    for (int c = 0; c < entries; c++) {
        const GDALColorEntry *entry = GDALGetColorEntry(table, c);
        double *rgb = *colours + 3 * c;
        rgb[0] = entry->c1;
        rgb[1] = entry->c2;
        rgb[2] = entry->c3;
        if (rgb[0] > 0 || rgb[1] > 0 || rgb[2] > 0) {
            *count = c + 1;
        }
    }
    return HC_OK;
}

/* The colours of our own files whose type GDAL gives no table to. */
static HcStatus listed_colours(const char *text, double **colours, int32_t *count, HcError *err) {
    char **words = CSLTokenizeString2(text, "{}, \r\n", 0);
    int32_t levels = CSLCount(words);
    *colours = malloc(((size_t)levels + 1) * sizeof **colours);
    for (int32_t i = 0; i < levels && *colours != NULL; i++) {
        (*colours)[i] = CPLAtof(words[i]);
    }
    CSLDestroy(words);
    *count = levels / 3;
    return *colours != NULL ? HC_OK : hc_fail_memory(err, 8.0 * levels, "colours of classes");
}

HcStatus hc_read_gdal_classes(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    GDALRasterBandH band = GDALGetRasterBand(reader->dataset, 1);
    double *colours = NULL;
    if (reader->scene.classes.count > 0) {
        return HC_OK;
    }
    GDALGetMetadata(band,
                    NULL); /* GDAL 3.6 looks into the .aux.xml for this, but not for the categories alone */
    Found found = {.name = GDALGetRasterCategoryNames(band)};
    while (found.name != NULL && found.name[found.names] != NULL) {
        found.names++;
    }
    HC_TRY(table_colours(GDALGetRasterColorTable(band), &colours, &found.colours, err));
    const char *listed = GDALGetMetadataItem(reader->dataset, "class_lookup", NULL);
    if (found.names > 0 && found.colours == 0 && listed != NULL) {
        free(colours);
        HC_TRY(listed_colours(listed, &colours, &found.colours, err));
    }
    found.colour = colours;
    /* Colours alone may be waiting for the names among the metadata. */
    bool named_elsewhere = GDALGetMetadataItem(reader->dataset, "class_names", NULL) != NULL ||
                           GDALGetMetadataItem(reader->dataset, "class_names", "ENVI") != NULL;
    if (found.names > 0 || (found.colours > 0 && !named_elsewhere)) {
        HC_TRY(set_classes(reader, found.names > 0 ? found.names : found.colours, &found, err));
    }
done:
    free(colours);
    return status;
}
