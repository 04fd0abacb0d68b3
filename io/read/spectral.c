/* Wavelengths: in nanometres whatever the file says, or none and a remark why. */
#include "core/allocate.h"
#include "io/read/parts.h"
#include "io/read/wavelength.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The value that speaks for a list: its largest. */
static double largest(const double *values, int32_t count) {
    double top = 0;
    for (int32_t i = 0; i < count; i++) {
        top = values[i] > top ? values[i] : top;
    }
    return top;
}

static bool all_positive(const double *values, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        if (!(values[i] > 0) || !isfinite(values[i])) {
            return false;
        }
    }
    return true;
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
        hc_read_note(reader, "wavelengths are left out: their unit is '%.60s'", found->unit);
        *factor = 0;
        return HC_OK;
    }
    double top = largest(found->wavelength, found->wavelength_count);
    if (kind == HC_UNIT_LENGTH) {
        if (*factor == 1 && found->wavelength_count > 0 && top < 100) {
            hc_read_note(reader, "wavelengths up to %g nm look like micrometres", top);
        }
        return HC_OK;
    }
    if (reader->options.wavelength_unit != NULL) {
        (void)hc_wavelength_unit(reader->options.wavelength_unit, factor);
        HC_OR_RETURN(note_unit(reader, *factor == 1 ? "unit nm as asked for" : "unit um as asked for", err));
    } else if (found->wavelength_count > 0) {
        *factor = hc_wavelength_guess(top);
        const char *text = *factor == 1e3 ? "the unit of the wavelengths is not given, um is assumed"
                                          : "the unit of the wavelengths is not given, nm is assumed";
        HC_OR_RETURN(note_unit(reader, text, err));
        hc_read_note(reader, "%s", text);
    } else {
        *factor = 0; /* widths alone say nothing about the unit */
    }
    return HC_OK;
}

static bool right_count(HcReader *reader, const char *what, const double *values, int32_t count) {
    if (count != reader->scene.bands) {
        hc_read_note(reader, "%s left out: %" PRId32 " values for %" PRId32 " bands", what, count,
                     reader->scene.bands);
        return false;
    }
    if (!all_positive(values, count)) {
        hc_read_note(reader, "%s left out: not all values are positive", what);
        return false;
    }
    return true;
}

HcStatus hc_read_spectral(HcReader *reader, const HcReadSpectral *found, HcError *err) {
    HcScene *scene = &reader->scene;
    double factor = 1;
    bool wavelengths = found->wavelength_count > 0 && scene->wavelength == NULL &&
                       right_count(reader, "wavelengths", found->wavelength, found->wavelength_count);
    bool widths = found->fwhm_count > 0 && scene->fwhm == NULL &&
                  right_count(reader, "fwhm", found->fwhm, found->fwhm_count);
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
