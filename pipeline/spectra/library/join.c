#include "pipeline/spectra/library/join.h"
#include "core/allocate.h"
#include "core/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool same_list(const double *a, const double *b, int32_t count) {
    bool same = (a == NULL) == (b == NULL);
    for (int32_t i = 0; i < count && a != NULL && same; i++) {
        same = fabs(a[i] - b[i]) <= 1e-3;
    }
    return same;
}

static void say_bands(const HcLibraryPart *part, HcText *to) {
    const HcLibrary *library = &part->library;
    hc_text_add(to, "%s has %d bands", part->path, library->bands);
    if (library->wavelength != NULL) {
        hc_text_add(to, " from %.6g to %.6g nm", library->wavelength[0],
                    library->wavelength[library->bands - 1]);
    }
}

/* Whether a part can be joined with the first one as it is, or be resampled. */
static HcStatus check_part(const HcLibraryPart *first, const HcLibraryPart *part, bool resampled,
                           HcError *err) {
    const HcLibrary *a = &first->library, *b = &part->library;
    HcText text = {0};
    if (resampled) {
        return b->wavelength != NULL
                   ? HC_OK
                   : hc_fail(err, HC_E_INPUT, "%s: without wavelengths it cannot be resampled%s%s",
                             part->path, *b->note != '\0' ? ": " : "", b->note);
    }
    if (a->bands == b->bands && same_list(a->wavelength, b->wavelength, a->bands)) {
        return HC_OK;
    }
    say_bands(first, &text);
    hc_text_add(&text, ", ");
    say_bands(part, &text);
    HcStatus status = hc_fail_text(err, HC_E_INPUT, &text, "%s: --wavelengths or --like chooses common bands",
                                   hc_text_shown(&text));
    hc_text_clear(&text);
    return status;
}

static HcStatus fill_values(const HcLibrary *part, const HcBandSet *grid, float *to, HcError *err) {
    double *spacing = NULL;
    int32_t interpolated = 0;
    if (grid == NULL) {
        memcpy(to, part->value, (size_t)part->count * (size_t)part->bands * sizeof *to);
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(spacing, part->bands, "the widths of bands", err));
    hc_band_spacing(part->wavelength, part->bands, spacing);
    const HcBandSet from = {
        .count = part->bands, .centre = part->wavelength, .width = part->fwhm != NULL ? part->fwhm : spacing};
    HcStatus status = hc_resample(&from, part->value, part->count, grid, to, &interpolated, err);
    free(spacing);
    return status;
}

/* Appends the entries of a part from `first` on; values are divided by `divisor`. */
static HcStatus append(HcLibrary *out, int32_t first, const HcLibrary *part, const HcBandSet *grid,
                       double divisor, int32_t *empty, HcError *err) {
    float *value = out->value + (size_t)first * (size_t)out->bands;
    HC_OR_RETURN(fill_values(part, grid, value, err));
    for (int32_t i = 0; i < part->count; i++, value += out->bands) {
        int32_t known = 0;
        for (int32_t b = 0; b < out->bands; b++) {
            value[b] = divisor != 1 ? (float)((double)value[b] / divisor) : value[b];
            known += isfinite(value[b]) != 0;
        }
        *empty += known == 0;
        out->outliers[first + i] = part->outliers[i];
        HC_OR_RETURN(hc_text_made(out->name[first + i] = strdup(part->name[i]), strlen(part->name[i]),
                                  "the name of a spectrum", err));
        for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
            HC_OR_RETURN(hc_library_set_fact(out, first + i, (HcLibraryFact)f,
                                             hc_library_fact(part, i, (HcLibraryFact)f), err));
        }
    }
    return HC_OK;
}

static HcStatus copy_list(double **to, const double *from, int32_t count, HcError *err) {
    if (from == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(*to, count, "the bands of a library", err));
    memcpy(*to, from, (size_t)count * sizeof **to);
    return HC_OK;
}

HcStatus hc_library_join(const HcLibraryPart *parts, int32_t count, const HcBandSet *grid, HcLibrary *out,
                         int32_t *empty, HcError *err) {
    HcStatus status = HC_OK;
    const HcLibrary *first = &parts->library;
    bool scaled = true, widths = true; /* as those of the first */
    int64_t entries = 0;
    int32_t at = 0;
    *empty = 0;
    for (int32_t p = 0; p < count; p++) {
        HC_OR_RETURN(check_part(parts, &parts[p], grid != NULL, err));
        entries += parts[p].library.count;
        scaled = scaled && parts[p].library.scale == first->scale;
        widths = widths && (grid != NULL || same_list(first->fwhm, parts[p].library.fwhm, first->bands));
    }
    HC_TRY(entries <= INT32_MAX
               ? HC_OK
               : hc_fail(err, HC_E_INPUT, "%s: too many spectra for a library", parts->path));
    int32_t bands = grid != NULL ? grid->count : first->bands;
    HC_TRY(hc_library_make(out, entries, bands, err));
    HC_TRY(copy_list(&out->wavelength, grid != NULL ? grid->centre : first->wavelength, bands, err));
    HC_TRY(copy_list(&out->fwhm, grid != NULL ? grid->width : widths ? first->fwhm : NULL, bands, err));
    out->scale = scaled ? first->scale : 1;
    for (int32_t p = 0; p < count; at += parts[p++].library.count) {
        double scale = parts[p].library.scale;
        HC_TRY(append(out, at, &parts[p].library, grid, scaled || scale == 0 ? 1 : scale, empty, err));
    }
done:
    if (status != HC_OK) {
        hc_library_clear(out);
    }
    return status;
}
