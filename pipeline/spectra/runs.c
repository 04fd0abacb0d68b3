/* Operations along the spectrum see bands in the order of their wavelengths, and never reach over a gap: bad
 * bands, water vapour, or the space between two detectors. */
#include "pipeline/spectra/runs.h"
#include "core/allocate.h"
#include "pipeline/spectra/resample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranges ---- */

bool hc_range_next(const char **text, double *low, double *high) {
    char item[64];
    size_t length = strcspn(*text, ",");
    if (length == 0 || length >= sizeof item) {
        return false;
    }
    memcpy(item, *text, length);
    item[length] = '\0';
    *text += length + ((*text)[length] == ',');
    char *dash = strchr(item, '-');
    if (dash != NULL) {
        *dash = '\0';
        return hc_text_parse_double(item, low) && hc_text_parse_double(dash + 1, high);
    }
    bool fine = hc_text_parse_double(item, low);
    *high = *low;
    return fine;
}

bool hc_wavelengths_next(const char **text, double *low, double *high, bool *guessed) {
    static const struct {
        const char *word;
        double nanometres;
    } units[] = {{"nm", 1}, {"um", 1000}, {"\u00b5m", 1000}};
    char item[64];
    size_t length = strcspn(*text, ",");
    double unit = 0;
    if (length == 0 || length >= sizeof item) {
        return false;
    }
    memcpy(item, *text, length);
    item[length] = '\0';
    *text += length + ((*text)[length] == ',');
    for (size_t u = 0; u < sizeof units / sizeof *units && unit == 0; u++) {
        if (hc_text_ends_with(item, units[u].word)) {
            unit = units[u].nanometres;
            item[length - strlen(units[u].word)] = '\0';
        }
    }
    const char *rest = item;
    if (!hc_range_next(&rest, low, high) || *rest != '\0') {
        return false;
    }
    bool small = unit == 0 && *high < 100;
    *guessed |= small;
    unit = small ? 1000 : unit == 0 ? 1 : unit;
    *low *= unit;
    *high *= unit;
    return true;
}

HcStatus hc_need_wavelengths(const HcStage *stage, const char *asks, HcError *err) {
    const char *note = stage->in.wavelength_note;
    if (stage->in.wavelength != NULL) {
        return HC_OK;
    }
    return hc_fail(err, HC_E_USAGE, "%s: %s%sthe scene has no wavelengths%s%s", stage->kind->name,
                   asks != NULL ? asks : "", asks != NULL ? ": " : "", note != NULL ? ": " : "",
                   note != NULL ? note : "");
}

/* ---- runs ---- */

typedef struct Place {
    double centre;
    int32_t band;
} Place;

static int by_centre(const void *a, const void *b) {
    const Place *left = a;
    const Place *right = b;
    int order = (left->centre > right->centre) - (left->centre < right->centre);
    return order != 0 ? order : (left->band > right->band) - (left->band < right->band);
}

/* place[bands] = the good bands, sorted. */
static HcStatus sort_bands(const HcStage *stage, Place *place, int32_t *count, HcError *err) {
    const HcScene *scene = &stage->in;
    for (int32_t b = 0; b < scene->bands; b++) {
        bool good = (scene->bad == NULL || !scene->bad[b]) && isfinite(scene->wavelength[b]);
        if (good) {
            place[(*count)++] = (Place){scene->wavelength[b], b};
        }
    }
    if (*count == 0) {
        return hc_fail(err, HC_E_USAGE, "%s: all %d bands are marked as bad", stage->kind->name,
                       scene->bands);
    }
    qsort(place, (size_t)*count, sizeof *place, by_centre);
    for (int32_t k = 1; k < *count; k++) {
        if (place[k].centre == place[k - 1].centre) {
            return hc_fail(err, HC_E_USAGE,
                           "%s: bands %d and %d both lie at %.6g nm (bands --drop leaves one out)",
                           stage->kind->name, place[k - 1].band + 1, place[k].band + 1, place[k].centre);
        }
    }
    return HC_OK;
}

/* spacing[runs->count] is that of the bands in their order. */
static void cut_runs(HcBandRuns *runs, const double *spacing, double gap) {
    for (int32_t k = 1; k < runs->count; k++) {
        double widest = gap > 0 ? gap : HC_GAP_SPACINGS * fmax(spacing[k - 1], spacing[k]);
        if (runs->centre[k] - runs->centre[k - 1] > widest) {
            runs->first[++runs->runs] = k;
        }
    }
    runs->first[++runs->runs] = runs->count;
}

HcStatus hc_band_runs_make(HcBandRuns *runs, const HcStage *stage, double gap, HcError *err) {
    HcStatus status = HC_OK;
    Place *place = NULL;
    double *spacing = NULL;
    HC_OR_RETURN(hc_need_wavelengths(stage, NULL, err));
    HC_TRY(hc_new(place, stage->in.bands, "the order of bands", err));
    HC_TRY(sort_bands(stage, place, &runs->count, err));
    HC_TRY(hc_new(spacing, runs->count, "the spacing of bands", err));
    HC_TRY(hc_new(runs->band, runs->count, "the order of bands", err));
    HC_TRY(hc_new(runs->centre, runs->count, "the order of bands", err));
    HC_TRY(hc_new(runs->first, runs->count + 1, "runs of bands", err));
    for (int32_t k = 0; k < runs->count; k++) {
        runs->band[k] = place[k].band;
        runs->centre[k] = place[k].centre;
    }
    hc_band_spacing(runs->centre, runs->count, spacing);
    cut_runs(runs, spacing, gap);
done:
    free(place);
    free(spacing);
    if (status != HC_OK) {
        hc_band_runs_clear(runs);
    }
    return status;
}

void hc_band_runs_clear(HcBandRuns *runs) {
    free(runs->band);
    free(runs->centre);
    free(runs->first);
    *runs = (HcBandRuns){0};
}
