/* What a spectral library is built of, whatever its file: memory, names, values and units. */
#include "io/library/parts.h"

#include "core/text.h"
#include "io/read/metadata/envi_header.h"
#include "io/read/metadata/wavelength.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

HcStatus hc_library_make(HcLibrary *library, int64_t count, int64_t bands, HcError *err) {
    double bytes = (double)count * (double)bands * sizeof(float);
    library->count = library->entries = (int32_t)count;
    library->bands = (int32_t)bands;
    library->name = calloc((size_t)count, sizeof *library->name);
    library->outliers = calloc((size_t)count, sizeof *library->outliers);
    library->value = bytes < 1e15 ? malloc((size_t)count * (size_t)bands * sizeof(float)) : NULL;
    if (library->name == NULL || library->outliers == NULL || library->value == NULL) {
        return hc_fail_memory(err, bytes, "a spectral library");
    }
    return HC_OK;
}

HcStatus hc_library_name(HcLibrary *library, int32_t spectrum, const char *name, HcError *err) {
    char *clean = hc_envi_clean(name != NULL ? name : "");
    if (clean != NULL && clean[0] == '\0') {
        free(clean);
        clean = hc_text_format("Spectrum %" PRId32, spectrum + 1);
    }
    library->name[spectrum] = clean;
    return clean != NULL ? HC_OK : hc_fail_memory(err, 64, "the name of a spectrum");
}

float hc_library_value(double value) {
    return fabs(value) < 1e30 ? (float)value : NAN;
}

static void use_unit(double **values, int32_t count, double factor) {
    if (*values != NULL && (factor <= 0 || hc_wavelength_wrong(*values, count) < count)) {
        free(*values);
        *values = NULL;
    }
    for (int32_t b = 0; b < count && *values != NULL; b++) {
        (*values)[b] *= factor;
    }
}

/* Notes wavelengths that are none, or of an impossible size [nm]. */
static void note_doubt(HcLibrary *library, HcUnitKind kind, const char *unit, double largest) {
    const char *doubt = kind == HC_UNIT_LENGTH ? hc_wavelength_doubt(largest) : NULL;
    char *note = library->note;
    if (library->wavelength == NULL) {
        return;
    }
    int32_t wrong = hc_wavelength_wrong(library->wavelength, library->bands);
    if (kind == HC_UNIT_OTHER) {
        snprintf(note, sizeof library->note, "wavelengths are left out: their unit is '%.60s'", unit);
    } else if (wrong < library->bands) {
        snprintf(note, sizeof library->note,
                 "wavelengths left out: not all values are lengths (band %" PRId32 ": %.9g)", wrong + 1,
                 library->wavelength[wrong]);
    } else if (doubt != NULL) {
        snprintf(note, sizeof library->note, "wavelengths up to %.9g nm look like %s", largest, doubt);
    }
}

void hc_library_units(HcLibrary *library, const char *unit) {
    double factor = 0;
    double largest = 0;
    HcUnitKind kind = hc_wavelength_unit(unit, &factor);
    for (int32_t b = 0; b < library->bands && library->wavelength != NULL; b++) {
        largest = fmax(largest, library->wavelength[b]);
    }
    if (kind == HC_UNIT_SILENT && largest > 0) {
        snprintf(library->note, sizeof library->note,
                 "the unit of the wavelengths is not given, %s is assumed",
                 hc_wavelength_guess(largest, &factor));
    }
    note_doubt(library, kind, unit, largest * factor);
    use_unit(&library->wavelength, library->bands, kind == HC_UNIT_OTHER ? 0 : factor);
    use_unit(&library->fwhm, library->bands, kind == HC_UNIT_OTHER ? 0 : factor);
}
