/* Bands come from a scene, a header alone, a grid, or measured responses. All become centres and widths; a
 * response keeps its values, since the shape of a real filter is no Gaussian. */
#include "pipeline/stages/resample/target.h"
#include "core/allocate.h"
#include "io/library/library.h"
#include "io/read/metadata/envi_header.h"
#include "io/read/metadata/wavelength.h"
#include "io/read/reader.h"
#include "pipeline/spectra/grid.h"
#include "core/texts.h"

#include <math.h>
#include <string.h>

static HcStatus make_bands(HcTarget *target, int32_t bands, HcError *err) {
    HC_OR_RETURN(hc_new(target->centre, bands, "bands", err));
    HC_OR_RETURN(hc_new(target->width, bands, "bands", err));
    return hc_new(target->name, bands, "bands", err);
}

static HcStatus add_band(HcTarget *target, double centre, double width, const char *name, HcError *err) {
    char **to = &target->name[target->count];
    target->centre[target->count] = centre;
    target->width[target->count++] = width;
    return name == NULL || (*to = strdup(name)) != NULL ? HC_OK
                                                        : hc_fail_memory(err, 64, "the name of a band");
}

/* Of wavelengths and widths, so that sums of them are finite. */
static HcStatus check_length(double length, const char *path, HcError *err) {
    return length <= 1e9 ? HC_OK
                         : hc_fail(err, HC_E_INPUT,
                                   "%s: a wavelength or width of %g nm: expected at most 1e9", path, length);
}

/* Bands without a width get the usual distance of the bands. */
static HcStatus find_widths(HcTarget *target, const char *path, HcError *err) {
    double *spacing = NULL;
    HC_OR_RETURN(hc_new(spacing, target->count + 1, "the widths of bands", err));
    hc_band_spacing(target->centre, target->count, spacing);
    bool fine = target->count > 0;
    for (int32_t k = 0; k < target->count; k++) {
        target->width[k] = target->width[k] > 0 ? target->width[k] : spacing[k];
        fine = fine && target->width[k] > 0;
    }
    free(spacing);
    return fine ? HC_OK
                : hc_fail(err, HC_E_INPUT, "%s: %s", path,
                          target->count > 0 ? "a band has no width, and no other band beside it"
                                            : "has no band with a wavelength");
}

/* ---- bands of another scene ---- */

static HcStatus take_scene(HcTarget *target, const HcScene *scene, const char *path, HcError *err) {
    if (scene->wavelength == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: has no wavelengths", path);
    }
    HC_OR_RETURN(make_bands(target, scene->bands, err));
    for (int32_t b = 0; b < scene->bands; b++) {
        double centre = scene->wavelength[b], width = scene->fwhm != NULL ? scene->fwhm[b] : 0;
        HC_OR_RETURN(check_length(fmax(centre, width), path, err));
        if ((scene->bad == NULL || !scene->bad[b]) && centre > 0) {
            HC_OR_RETURN(
                add_band(target, centre, width, scene->band_name != NULL ? scene->band_name[b] : NULL, err));
        }
    }
    return find_widths(target, path, err);
}

/* A header alone, as of a sensor or a library: no data file need lie beside it. */
static HcStatus take_header(HcTarget *target, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    HcEnviHeader header = {0};
    HcScene scene = {0}; /* borrows nothing */
    int32_t widths = 0, marks = 0, names = 0;
    double factor = 1, top = 0, *mark = NULL;
    HC_TRY(hc_envi_load(&header, path, err));
    HC_TRY(hc_envi_numbers(&header, "wavelength", &scene.wavelength, &scene.bands, err));
    HC_TRY(hc_envi_numbers(&header, "fwhm", &scene.fwhm, &widths, err));
    HC_TRY(hc_envi_numbers(&header, "bbl", &mark, &marks, err));
    HC_TRY(hc_envi_texts(&header, "band names", &scene.band_name, &names, err));
    HC_TRY(hc_new(scene.bad, scene.bands + 1, "the list of bad bands", err));
    for (int32_t b = 0; b < scene.bands; b++) {
        top = fmax(top, scene.wavelength[b]);
        scene.bad[b] = marks == scene.bands && !(mark[b] != 0);
    }
    HcUnitKind unit = hc_wavelength_unit(hc_envi_text(&header, "wavelength units"), &factor);
    if (unit == HC_UNIT_OTHER) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: wavelength units = %.40s: no length", path,
                       hc_envi_text(&header, "wavelength units")));
    }
    if (unit == HC_UNIT_SILENT) {
        (void)hc_wavelength_guess(top, &factor);
    }
    for (int32_t b = 0; b < scene.bands; b++) {
        scene.wavelength[b] *= factor;
        if (widths == scene.bands) {
            scene.fwhm[b] *= factor;
        }
    }
    if (widths != scene.bands) {
        free(scene.fwhm);
        scene.fwhm = NULL;
    }
    char **name = scene.band_name;
    scene.band_name = names == scene.bands ? name : NULL;
    status = take_scene(target, &scene, path, err);
    scene.band_name = name;
done:
    hc_free_texts(scene.band_name, names);
    free(scene.wavelength);
    free(scene.fwhm);
    free(scene.bad);
    free(mark);
    hc_envi_clear(&header);
    return status;
}

HcStatus hc_target_like(HcTarget *target, const char *path, HcError *err) {
    HcReader *reader = NULL;
    if (hc_text_ends_with(path, ".hdr")) {
        return take_header(target, path, err);
    }
    HcStatus status = hc_reader_open(&reader, path, NULL, err);
    if (status == HC_OK) {
        status = take_scene(target, hc_reader_scene(reader), path, err);
        hc_reader_close(reader);
    }
    return status;
}

/* ---- wavelengths ---- */

HcStatus hc_target_wavelengths(HcTarget *target, const char *text, HcError *err) {
    HcStatus status = HC_OK;
    HcBandSet grid = {0};
    HC_OR_RETURN(hc_band_grid("resample", text, &grid, err));
    HC_TRY(make_bands(target, grid.count, err));
    for (int32_t b = 0; b < grid.count; b++) {
        HC_TRY(add_band(target, grid.centre[b], grid.width[b], NULL, err));
    }
done:
    free((double *)grid.centre);
    return status;
}

/* ---- measured responses ---- */

typedef struct Response {
    const char *sensor, *name;
    int32_t first; /* [nm] of the first value; steps of 1 nm */
    int32_t count;
    const double *value;
} Response;

#define BAND(sensor, name, first, ...)                                                                       \
    {(sensor), (name), (first), (int32_t)(sizeof((const double[]){__VA_ARGS__}) / sizeof(double)),           \
     (const double[]){__VA_ARGS__}},
static const Response responses[] = {
#include "pipeline/stages/resample/responses.def"
};
#undef BAND

const char *const hc_target_sensors[] = {"sentinel-2a", "sentinel-2b", "landsat-8", "landsat-9", NULL};

static HcStatus make_responses(HcTarget *target, int32_t bands, size_t values, HcError *err) {
    HC_OR_RETURN(make_bands(target, bands, err));
    HC_OR_RETURN(hc_new(target->first, bands + 1, "responses", err));
    HC_OR_RETURN(hc_new(target->x, values, "responses", err));
    return hc_new(target->value, values, "responses", err);
}

/* Where the response crosses half of its largest value, from the end `i` on inwards, on a straight line. */
static double half_point(const HcTarget *target, int32_t i, int32_t step, double half) {
    int32_t end = i;
    while (target->value[i] < half) {
        i += step;
    }
    double below = i != end ? target->value[i - step] : 0;
    double share = i != end ? (half - below) / (target->value[i] - below) : 1;
    return i != end ? target->x[i - step] + share * (target->x[i] - target->x[i - step]) : target->x[i];
}

/* A band of the values from first[count] to `end`: its centre is the mean wavelength of its response. */
static HcStatus add_response(HcTarget *target, int32_t end, const char *name, const char *path,
                             HcError *err) {
    int32_t first = target->first[target->count];
    double sum = 0, moment = 0, most = 0;
    for (int32_t i = first; i < end; i++) {
        double below = target->x[i] - target->x[i > first ? i - 1 : i];
        double above = target->x[i + 1 < end ? i + 1 : i] - target->x[i];
        /* it falls to 0 one step beyond its ends */
        double step = end - first == 1 ? 1 : below + above + (below == 0 ? above : above == 0 ? below : 0);
        sum += step * target->value[i];
        moment += step * target->value[i] * target->x[i];
        most = fmax(most, target->value[i]);
    }
    if (!(sum > 0)) {
        return hc_fail(err, HC_E_INPUT, "%s: %s: has no response above 0", path, name);
    }
    double low = half_point(target, first, 1, most / 2), high = half_point(target, end - 1, -1, most / 2);
    target->first[target->count + 1] = end;
    return add_band(target, round(moment / sum * 1e3) / 1e3, fmax(round((high - low) * 1e3) / 1e3, 1e-3),
                    name, err); /* to a picometre */
}

static HcStatus take_library(HcTarget *target, const HcLibrary *library, const char *path, HcError *err) {
    int32_t bands = library->bands;
    if (library->wavelength == NULL) {
        return hc_fail(err, HC_E_INPUT, "%s: responses need wavelengths%s%s", path,
                       library->note[0] != '\0' ? ": " : "", library->note);
    }
    bool falls = bands > 1 && library->wavelength[0] > library->wavelength[bands - 1];
    HC_OR_RETURN(make_responses(target, library->count, (size_t)library->count * (size_t)bands, err));
    for (int32_t n = 0; n < library->count; n++) {
        int32_t at = n * bands;
        for (int32_t i = 0; i < bands; i++, at++) {
            int32_t b = falls ? bands - 1 - i : i;
            float value = library->value[(size_t)n * (size_t)bands + (size_t)b];
            target->x[at] = library->wavelength[b];
            HC_OR_RETURN(check_length(target->x[at], path, err));
            target->value[at] = value > 0 ? (double)value : 0; /* NaN = no response either */
            if (i > 0 && !(target->x[at] > target->x[at - 1])) {
                return hc_fail(err, HC_E_INPUT, "%s: the wavelengths of responses neither rise nor fall",
                               path);
            }
        }
        HC_OR_RETURN(add_response(target, at, library->name[n], path, err));
    }
    return HC_OK;
}

static HcStatus take_sensor(HcTarget *target, const char *sensor, HcError *err) {
    enum { ALL = sizeof responses / sizeof *responses, VALUES = 8192 };
    int32_t at = 0;
    HC_OR_RETURN(make_responses(target, ALL, VALUES, err));
    for (const Response *band = responses; band < responses + ALL; band++) {
        for (int32_t i = 0; i < band->count && hc_text_equal(band->sensor, sensor); i++, at++) {
            target->x[at] = band->first + i;
            target->value[at] = band->value[i];
        }
        if (at > target->first[target->count]) {
            HC_OR_RETURN(add_response(target, at, band->name, sensor, err));
        }
    }
    return HC_OK;
}

HcStatus hc_target_responses(HcTarget *target, const char *text, HcError *err) {
    HcLibrary library = {0};
    if (hc_text_find(text, hc_target_sensors) >= 0) {
        return take_sensor(target, text, err);
    }
    if (strpbrk(text, "./") == NULL) {
        const char *nearest = hc_text_nearest(text, hc_target_sensors);
        return hc_fail(err, HC_E_USAGE,
                       "resample: --responses %s: neither a file (.csv, .sli) nor a sensor (sentinel-2a, "
                       "sentinel-2b, landsat-8, landsat-9)%s%s",
                       text, nearest != NULL ? ", did you mean " : "", nearest != NULL ? nearest : "");
    }
    HcStatus status = hc_library_read(&library, text, err);
    if (status == HC_OK) {
        status = take_library(target, &library, text, err);
    }
    hc_library_clear(&library);
    return status;
}

void hc_target_clear(HcTarget *target) {
    hc_free_texts(target->name, target->count);
    free(target->centre);
    free(target->width);
    free(target->first);
    free(target->x);
    free(target->value);
    *target = (HcTarget){0};
}
