/* Wavelengths: in nanometres whatever the file says, or none and a remark why. */
#include "core/allocate.h"
#include "io/read/parts.h"
#include "io/read/metadata/wavelength.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The value that speaks for a list: its largest. */
static double largest(const double *values, int32_t count) {
    double top = 0;
    for (int32_t i = 0; i < count; i++) {
        top = values[i] > top ? values[i] : top;
    }
    return top;
}

static HcStatus take(double **to, const double *from, int32_t count, double factor, HcError *err) {
    double *list = NULL;
    HC_OR_RETURN(hc_new(list, (size_t)count, "wavelengths", err));
    for (int32_t i = 0; i < count; i++) {
        list[i] = from[i] * factor;
    }
    free(*to);
    *to = list;
    return HC_OK;
}

static HcStatus note_unit(HcReader *reader, const char *text, HcError *err) {
    free(reader->scene.wavelength_note);
    reader->scene.wavelength_note = strdup(text);
    return reader->scene.wavelength_note != NULL ? HC_OK
                                                 : hc_fail_memory(err, (double)strlen(text), "a note");
}

/* The factor to nanometres, 0 when the values are no wavelengths. */
static HcStatus find_factor(HcReader *reader, const HcReadSpectral *found, double *factor, HcError *err) {
    HcUnitKind kind = hc_wavelength_unit(found->unit, factor);
    if (kind == HC_UNIT_OTHER) {
        char text[120];
        snprintf(text, sizeof text, "wavelengths are left out: their unit is '%.60s'", found->unit);
        hc_read_note(reader, "%s", text);
        *factor = 0;
        return note_unit(reader, text, err);
    }
    double top = largest(found->wavelength, found->wavelength_count);
    if (kind == HC_UNIT_LENGTH) {
        const char *doubt = found->wavelength_count > 0 ? hc_wavelength_doubt(top * *factor) : NULL;
        if (doubt != NULL) {
            hc_read_note(reader, "wavelengths up to %.9g nm look like %s", top * *factor, doubt);
        }
        return HC_OK;
    }
    if (reader->options.wavelength_unit != NULL) {
        (void)hc_wavelength_unit(reader->options.wavelength_unit, factor);
        HC_OR_RETURN(note_unit(reader, *factor == 1 ? "unit nm as asked for" : "unit um as asked for", err));
    } else if (found->wavelength_count > 0) {
        char text[80];
        snprintf(text, sizeof text, "the unit of the wavelengths is not given, %s is assumed",
                 hc_wavelength_guess(top, factor));
        HC_OR_RETURN(note_unit(reader, text, err));
        hc_read_note(reader, "%s", text);
    } else {
        *factor = 0; /* widths alone say nothing about the unit */
    }
    return HC_OK;
}

/* Whether a list is there and right. Stages that need wavelengths say why there are none. */
static HcStatus check_list(HcReader *reader, const char *what, const double *values, int32_t count,
                           bool *right, HcError *err) {
    char text[120] = "";
    int32_t wrong = hc_wavelength_wrong(values, count);
    if (count != reader->scene.bands) {
        snprintf(text, sizeof text, "%s left out: %" PRId32 " values for %" PRId32 " bands", what, count,
                 reader->scene.bands);
    } else if (wrong < count) {
        snprintf(text, sizeof text, "%s left out: not all values are lengths (band %" PRId32 ": %.9g)", what,
                 wrong + 1, values[wrong]);
    }
    *right = text[0] == '\0';
    if (!*right) {
        hc_read_note(reader, "%s", text);
    }
    return *right || reader->scene.wavelength != NULL ? HC_OK : note_unit(reader, text, err);
}

HcStatus hc_read_spectral(HcReader *reader, const HcReadSpectral *found, HcError *err) {
    HcScene *scene = &reader->scene;
    double factor = 1;
    bool wavelengths = found->wavelength_count > 0 && scene->wavelength == NULL;
    bool widths = found->fwhm_count > 0 && scene->fwhm == NULL;
    if (wavelengths) {
        HC_OR_RETURN(
            check_list(reader, "wavelengths", found->wavelength, found->wavelength_count, &wavelengths, err));
    }
    if (widths) {
        HC_OR_RETURN(check_list(reader, "fwhm", found->fwhm, found->fwhm_count, &widths, err));
    }
    if (!wavelengths && !widths) {
        return HC_OK;
    }
    HC_OR_RETURN(find_factor(reader, found, &factor, err));
    if (factor > 0 && wavelengths) {
        HC_OR_RETURN(take(&scene->wavelength, found->wavelength, scene->bands, factor, err));
    }
    if (factor > 0 && widths) {
        HC_OR_RETURN(take(&scene->fwhm, found->fwhm, scene->bands, factor, err));
    }
    return HC_OK;
}

/* ---- names of bands ---- */

/* The last number of the text with a unit of length after it; false where there is none. */
static bool number_with_unit(const char *text, double *value, char *unit, size_t size) {
    bool found = false;
    for (const char *at = text; *at != '\0';) {
        size_t digits = strspn(at, "0123456789.");
        if (digits == 0 || !isdigit((unsigned char)*at)) {
            at++;
            continue;
        }
        const char *word = at + digits + strspn(at + digits, " _-[(");
        size_t letters = strcspn(word, " _-,;:)]}.0123456789");
        char number[32], spelled[32];
        double factor = 0;
        snprintf(number, sizeof number, "%.*s", (int)digits, at);
        snprintf(spelled, sizeof spelled, "%.*s", (int)letters, word);
        if (letters > 0 && hc_wavelength_unit(spelled, &factor) == HC_UNIT_LENGTH && factor < 1e6 &&
            hc_text_parse_double(number, value)) {
            snprintf(unit, size, "%s", spelled);
            found = true;
        }
        at += digits;
    }
    return found;
}

/* The number at which a name ends, after the same text in all names. */
static bool number_at_end(const char *text, double *value, size_t *before) {
    size_t length = strlen(text), begin = length;
    while (begin > 0 && (isdigit((unsigned char)text[begin - 1]) || text[begin - 1] == '.')) {
        begin--;
    }
    *before = begin;
    return begin < length && hc_text_parse_double(text + begin, value);
}

/* Whether numbers without a unit look like nanometres: they rise, and are neither years nor a count. */
static bool look_like_nanometres(const double *values, int32_t count) {
    bool rise = count >= 3 && values[0] >= 300 && values[count - 1] <= 15000;
    bool steps = false, years = count < 3 || (values[0] >= 1900 && values[count - 1] <= 2100);
    for (int32_t b = 1; b < count; b++) {
        rise = rise && values[b] > values[b - 1];
        steps = steps || values[b] - values[b - 1] != 1;
    }
    return rise && steps && !years;
}

static bool numbers_of_names(char *const *name, int32_t count, double *values, char *unit, size_t size) {
    bool with_unit = true, at_end = true;
    char other[32];
    for (int32_t b = 0; b < count && with_unit; b++) {
        with_unit = name[b] != NULL && number_with_unit(name[b], &values[b], b == 0 ? unit : other, size) &&
                    (b == 0 || strcmp(unit, other) == 0);
    }
    for (int32_t b = 0; b < count && at_end && !with_unit; b++) {
        size_t before = 0, first = 0;
        double value = 0;
        at_end = name[b] != NULL && name[0] != NULL && number_at_end(name[b], &values[b], &before) &&
                 number_at_end(name[0], &value, &first) && before == first &&
                 strncmp(name[b], name[0], before) == 0;
    }
    if (!with_unit) {
        snprintf(unit, size, "nm");
    }
    return with_unit || (at_end && look_like_nanometres(values, count));
}

HcStatus hc_read_names_spectral(HcReader *reader, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *scene = &reader->scene;
    char unit[32] = "";
    double *values = NULL;
    if (scene->wavelength != NULL || scene->band_name == NULL || scene->meaning != HC_SPECTRAL ||
        (scene->wavelength_note != NULL && scene->fwhm != NULL) || scene->classes.count > 0) {
        return HC_OK;
    }
    HC_TRY(hc_new(values, scene->bands, "wavelengths", err));
    if (numbers_of_names(scene->band_name, scene->bands, values, unit, sizeof unit)) {
        hc_read_note(reader, "wavelengths are taken from the names of the bands (%s to %s)",
                     scene->band_name[0], scene->band_name[scene->bands - 1]);
        HC_TRY(hc_read_spectral(
            reader, &(HcReadSpectral){.wavelength = values, .wavelength_count = scene->bands, .unit = unit},
            err));
    }
done:
    free(values);
    return status;
}

static bool is_component(const char *name) {
    static const char *const begins[] = {"mnf ", "pca ", "pc ", "ica ", "ic ", "principal component ", NULL};
    bool found = false;
    for (int i = 0; begins[i] != NULL && name != NULL && !found; i++) {
        found = strncasecmp(name, begins[i], strlen(begins[i])) == 0;
    }
    return found;
}

void hc_read_names_components(HcScene *scene) {
    bool all = scene->meaning == HC_SPECTRAL && scene->wavelength == NULL && scene->band_name != NULL;
    for (int32_t b = 0; b < scene->bands && all; b++) {
        all = is_component(scene->band_name[b]);
    }
    scene->meaning = all ? HC_COMPONENT : scene->meaning;
}
