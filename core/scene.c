/* Copies, selections and comparisons of scenes. A scene owns all its texts and arrays, so that a stage
 * may change its copy; bands are described by arrays that are NULL if the file does not say. */
#include "core/scene.h"
#include "core/allocate.h"
#include "core/text.h"
#include "core/texts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    size_t bytes;
} type_table[HC_TYPE_COUNT] = {
#define HC_AS_ROW(name, word, bytes, is_integer, bits) {word, bytes},
    HC_TYPE_LIST(HC_AS_ROW)
#undef HC_AS_ROW
};

const char *hc_type_name(HcType type) {
    return type >= 0 && type < HC_TYPE_COUNT ? type_table[type].name : "unknown";
}

size_t hc_type_bytes(HcType type) {
    return type_table[type].bytes;
}

static void clear_band_arrays(HcScene *scene) {
    free(scene->wavelength);
    free(scene->fwhm);
    free(scene->bad);
    hc_free_texts(scene->band_name, scene->bands);
    free(scene->source_band);
    free(scene->gain);
    free(scene->offset);
    free(scene->parts);
    free(scene->agreement);
    scene->source_band = scene->parts = NULL;
    scene->agreement = NULL;
    scene->wavelength = scene->fwhm = scene->gain = scene->offset = NULL;
    scene->bad = NULL;
    scene->band_name = NULL;
}

void hc_lookup_clear(HcLookup *lookup) {
    free(lookup->file);
    free(lookup->sample);
    free(lookup->line);
    free(lookup->x);
    free(lookup->y);
    free(lookup->place.crs);
    *lookup = (HcLookup){0};
}

void hc_scene_clear(HcScene *scene) {
    if (scene == NULL) {
        return;
    }
    clear_band_arrays(scene);
    hc_classes_clear(&scene->classes);
    hc_lookup_clear(&scene->lookup);
    free(scene->place.crs);
    free(scene->number_names);
    free(scene->description);
    free(scene->wavelength_note);
    *scene = (HcScene){0};
}

/* to[k] = from[index[k]]; NULL stays NULL. */
static HcStatus pick(void *to, const void *from, size_t bytes, const int32_t *index, int32_t count,
                     HcError *err) {
    void **slot = to;
    *slot = NULL;
    if (from == NULL) {
        return HC_OK;
    }
    char *fresh = NULL;
    HC_OR_RETURN(hc_new(fresh, bytes * (size_t)count, "band properties", err));
    for (int32_t k = 0; k < count; k++) {
        memcpy(fresh + bytes * (size_t)k, (const char *)from + bytes * (size_t)index[k], bytes);
    }
    *slot = fresh;
    return HC_OK;
}

static HcStatus pick_names(char ***to, char *const *from, const int32_t *index, int32_t count, HcError *err) {
    *to = NULL;
    if (from == NULL) {
        return HC_OK;
    }
    char **fresh = NULL;
    HC_OR_RETURN(hc_new(fresh, count, "band names", err));
    for (int32_t k = 0; k < count; k++) {
        if (from[index[k]] != NULL && (fresh[k] = strdup(from[index[k]])) == NULL) {
            hc_free_texts(fresh, count);
            return hc_fail_memory(err, (double)strlen(from[index[k]]), "a band name");
        }
    }
    *to = fresh;
    return HC_OK;
}

static HcStatus pick_all(HcScene *to, const HcScene *from, const int32_t *index, int32_t count,
                         HcError *err) {
    HC_OR_RETURN(pick(&to->wavelength, from->wavelength, sizeof(double), index, count, err));
    HC_OR_RETURN(pick(&to->fwhm, from->fwhm, sizeof(double), index, count, err));
    HC_OR_RETURN(pick(&to->bad, from->bad, sizeof(uint8_t), index, count, err));
    HC_OR_RETURN(pick(&to->source_band, from->source_band, sizeof(int32_t), index, count, err));
    HC_OR_RETURN(pick(&to->gain, from->gain, sizeof(double), index, count, err));
    HC_OR_RETURN(pick(&to->offset, from->offset, sizeof(double), index, count, err));
    HC_OR_RETURN(pick(&to->parts, from->parts, sizeof(int32_t), index, count, err));
    HC_OR_RETURN(pick(&to->agreement, from->agreement, sizeof(HcAgreement), index, count, err));
    return pick_names(&to->band_name, from->band_name, index, count, err);
}

static HcStatus copy_text(char **to, const char *from, HcError *err) {
    *to = NULL;
    if (from != NULL && (*to = strdup(from)) == NULL) {
        return hc_fail_memory(err, (double)strlen(from), "a text of the scene");
    }
    return HC_OK;
}

static HcStatus copy_lookup(HcLookup *to, const HcLookup *from, HcError *err) {
    HC_OR_RETURN(copy_text(&to->file, from->file, err));
    HC_OR_RETURN(copy_text(&to->sample, from->sample, err));
    HC_OR_RETURN(copy_text(&to->line, from->line, err));
    HC_OR_RETURN(copy_text(&to->x, from->x, err));
    HC_OR_RETURN(copy_text(&to->y, from->y, err));
    return copy_text(&to->place.crs, from->place.crs, err);
}

/* A copy of everything but the band arrays. */
static HcStatus copy_frame(HcScene *to, const HcScene *from, HcError *err) {
    *to = *from;
    to->wavelength = to->fwhm = to->gain = to->offset = NULL;
    to->bad = NULL;
    to->source_band = to->parts = NULL;
    to->agreement = NULL;
    to->band_name = NULL;
    to->place.crs = to->number_names = to->description = to->wavelength_note = NULL;
    to->classes = (HcClasses){0};
    to->lookup.file = to->lookup.sample = to->lookup.line = to->lookup.x = to->lookup.y = NULL;
    to->lookup.place.crs = NULL;
    HC_OR_RETURN(copy_lookup(&to->lookup, &from->lookup, err));
    HC_OR_RETURN(hc_classes_copy(&to->classes, &from->classes, err));
    HC_OR_RETURN(copy_text(&to->place.crs, from->place.crs, err));
    HC_OR_RETURN(copy_text(&to->number_names, from->number_names, err));
    HC_OR_RETURN(copy_text(&to->description, from->description, err));
    return copy_text(&to->wavelength_note, from->wavelength_note, err);
}

static HcStatus copy_selected(HcScene *to, const HcScene *from, const int32_t *index, int32_t count,
                              HcError *err) {
    HcStatus status = HC_OK;
    HC_TRY(copy_frame(to, from, err));
    to->bands = count;
    HC_TRY(pick_all(to, from, index, count, err));
    if (to->meaning == HC_CLASS_MAP && index[0] != 0) {
        hc_classes_clear(&to->classes);
        to->meaning = HC_OTHER;
    }
    if (to->meaning == HC_FRACTION && index[0] != 0) {
        to->meaning = HC_OTHER; /* a residual, perhaps */
    }
    /* A default colour whose band is gone means that there are no default colours. */
    for (int c = 0; c < 3 && to->has_default_bands; c++) {
        int32_t k = 0;
        while (k < count && index[k] != from->default_bands[c]) {
            k++;
        }
        to->default_bands[c] = k;
        to->has_default_bands = k < count;
    }
done:
    if (status != HC_OK) {
        hc_scene_clear(to);
    }
    return status;
}

HcStatus hc_scene_copy(HcScene *to, const HcScene *from, HcError *err) {
    int32_t *all = NULL;
    HC_OR_RETURN(hc_new(all, (size_t)(from->bands > 0 ? from->bands : 1), "a list of bands", err));
    for (int32_t b = 0; b < from->bands; b++) {
        all[b] = b;
    }
    HcStatus status = copy_selected(to, from, all, from->bands, err);
    free(all);
    return status;
}

HcStatus hc_scene_select(HcScene *scene, const int32_t *index, int32_t count, HcError *err) {
    for (int32_t k = 0; k < count; k++) {
        if (index[k] < 0 || index[k] >= scene->bands) {
            return hc_fail(err, HC_E_USAGE, "band %d asked for, the scene has bands 1 to %d", index[k] + 1,
                           scene->bands);
        }
    }
    HcScene fresh = {0};
    HcStatus status = copy_selected(&fresh, scene, index, count, err);
    if (status == HC_OK) {
        hc_scene_clear(scene);
        *scene = fresh;
    }
    return status;
}

HcStatus hc_scene_reband(HcScene *scene, int32_t bands, HcMeaning meaning, HcError *err) {
    char **names = NULL;
    HC_OR_RETURN(hc_new(names, bands, "band names", err));
    clear_band_arrays(scene);
    hc_classes_clear(&scene->classes);
    free(scene->number_names);
    free(scene->wavelength_note);
    scene->number_names = scene->wavelength_note = NULL;
    scene->band_name = names;
    scene->bands = bands;
    scene->meaning = meaning;
    scene->integer_limit = 0;
    scene->has_default_bands = false;
    return HC_OK;
}

HcStatus hc_scene_agree(HcScene *scene, int32_t band, HcAgreement agreement, HcError *err) {
    if (scene->agreement == NULL) {
        HC_OR_RETURN(hc_new(scene->agreement, scene->bands, "band properties", err));
    }
    scene->agreement[band] = agreement;
    return HC_OK;
}

/* "550.2": wavelengths of one scene differ by more than that. False where the band has none. */
static bool label_number(const HcScene *scene, int32_t band, char number[HC_TEXT_DOUBLE]) {
    bool has = hc_scene_is_spectral(scene) && scene->wavelength != NULL &&
               isfinite(scene->wavelength[band]) && fabs(scene->wavelength[band]) < 1e9;
    if (has) {
        hc_text_double(number, round(scene->wavelength[band] * 10) / 10);
    }
    return has;
}

void hc_scene_add_band_label(const HcScene *scene, int32_t band, HcText *to) {
    const char *name = scene->band_name != NULL ? scene->band_name[band] : NULL;
    char number[HC_TEXT_DOUBLE];
    bool placed = label_number(scene, band, number);
    if (name != NULL && name[0] != '\0') {
        hc_text_add(to, "%s", name);
        placed = placed && strstr(name, number) == NULL;
    } else if (placed) {
        hc_text_add(to, "band %d", (int)band + 1);
    }
    if (placed) {
        hc_text_add(to, " (%s nm)", number);
    }
}

size_t hc_scene_name_in_label(const HcScene *scene, int32_t band, const char *label) {
    size_t length = strlen(label);
    char number[HC_TEXT_DOUBLE], end[HC_TEXT_DOUBLE + 8], standard[24];
    if (!label_number(scene, band, number)) {
        return length;
    }
    size_t tail = (size_t)snprintf(end, sizeof end, " (%s nm)", number);
    if (length <= tail || strcmp(label + length - tail, end) != 0) {
        return length;
    }
    length -= tail;
    size_t plain = (size_t)snprintf(standard, sizeof standard, "band %d", (int)band + 1);
    return length == plain && strncmp(label, standard, plain) == 0 ? 0 : length;
}

HcStatus hc_scene_name_band(HcScene *scene, int32_t band, HcError *err, const char *format, ...) {
    if (scene->band_name == NULL &&
        (scene->band_name = calloc((size_t)scene->bands, sizeof *scene->band_name)) == NULL) {
        return hc_fail_memory(err, (double)sizeof *scene->band_name * scene->bands, "band names");
    }
    va_list arguments;
    va_start(arguments, format);
    char *name = hc_text_vformat(format, arguments);
    va_end(arguments);
    HC_OR_RETURN(hc_text_made(name, 0, "a band name", err));
    free(scene->band_name[band]);
    scene->band_name[band] = name;
    return HC_OK;
}

bool hc_scene_is_class_map(const HcScene *scene) {
    return scene->meaning == HC_CLASS_MAP && scene->classes.count > 0;
}

bool hc_scene_is_class_map_in_parts(const HcScene *scene) {
    bool all = hc_scene_is_class_map(scene) && scene->bands > 1 && scene->parts != NULL;
    for (int32_t b = 1; b < scene->bands && all; b++) {
        all = scene->parts[b] > 0;
    }
    return all;
}

bool hc_scene_is_spectral(const HcScene *scene) {
    return scene->meaning == HC_SPECTRAL || scene->meaning == HC_NOISE || scene->meaning == HC_SHAPE;
}

bool hc_scene_same_grid(const HcScene *a, const HcScene *b) {
    return a->lines == b->lines && a->samples == b->samples;
}

HcScale hc_scene_scale(const HcScene *scene, int32_t band) {
    bool known = scene->gain != NULL && scene->offset != NULL;
    return (HcScale){known ? scene->gain[band] : 1, known ? scene->offset[band] : 0};
}

bool hc_scene_has_one_scale(const HcScene *scene) {
    const HcScale first = hc_scene_scale(scene, 0);
    bool same = true;
    for (int32_t b = 1; b < scene->bands; b++) {
        HcScale scale = hc_scene_scale(scene, b);
        same = same && scale.gain == first.gain && scale.offset == first.offset;
    }
    return same;
}

int32_t hc_scene_band_at(const HcScene *scene, double wavelength, double within) {
    int32_t best = -1;
    if (scene->wavelength == NULL) {
        return best;
    }
    double distance = within;
    for (int32_t b = 0; b < scene->bands; b++) {
        double d = fabs(scene->wavelength[b] - wavelength);
        if (d <= distance && (best < 0 || d < distance)) {
            best = b;
            distance = d;
        }
    }
    return best;
}

int32_t hc_scene_usual_bands(const HcScene *scene, int32_t band[3]) {
    static const double colour[3] = {650, 550, 460};
    bool spectral = hc_scene_is_spectral(scene), classes = hc_scene_is_class_map(scene),
         true_colour = spectral;
    bool stated = scene->has_default_bands && !classes;
    int32_t count = scene->bands >= 3 && !classes ? 3 : 1;
    for (int32_t c = 0; c < 3; c++) {
        true_colour = true_colour && hc_scene_band_at(scene, colour[c], 40) >= 0;
        stated = stated &&
                 (c >= count || (scene->default_bands[c] >= 0 && scene->default_bands[c] < scene->bands));
    }
    for (int32_t c = 0; c < 3; c++) {
        band[c] = true_colour                      ? hc_scene_band_at(scene, colour[c], 40)
                  : stated && c < count            ? scene->default_bands[c]
                  : spectral && scene->bands >= 16 ? scene->bands >> (c + 1)
                                                   : c;
    }
    return count;
}
