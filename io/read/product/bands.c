/* From the bands that a product lists to the bands of a scene: those that are used, by ascending wavelength,
 * each wavelength once. */
#include "io/read/product/parts.h"
#include "core/allocate.h"
#include "io/read/metadata/envi_header.h"
#include "io/read/metadata/wavelength.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

HcStatus hc_product_add_bands(HcProduct *product, const HcProductBands *bands, HcError *err) {
    int32_t before = product->scene.bands, count = bands->count;
    HcProductBand *grown = realloc(product->band, (size_t)(before + count) * sizeof *grown);
    if (grown == NULL) {
        return hc_fail_memory(err, (double)(before + count) * sizeof *grown, "the bands");
    }
    product->band = grown;
    product->scene.bands += count;
    for (int32_t b = 0; b < count; b++) {
        double centre = bands->wavelength != NULL ? bands->wavelength[b] * bands->unit : 0;
        double width = bands->fwhm != NULL ? bands->fwhm[b] * bands->unit : 0;
        if (!(centre >= 0) || !(width >= 0) || !(centre <= HC_WAVELENGTH_LIMIT) ||
            !(width <= HC_WAVELENGTH_LIMIT)) {
            return hc_fail(err, HC_E_INPUT,
                           "%s: band %" PRId32 " of %s has the wavelength %g nm, width %g nm",
                           product->raster != NULL ? product->raster : product->array[0].file, b + 1,
                           product->name, centre, width);
        }
        grown[before + b] = (HcProductBand){.array = bands->array,
                                            .band = b,
                                            .wavelength = centre,
                                            .fwhm = width,
                                            .gain = bands->gain,
                                            .offset = bands->offset,
                                            .detector = bands->detector,
                                            .bad = bands->good != NULL && !(bands->good[b] != 0)};
    }
    return HC_OK;
}

/* One list; where it need not be there, *values may stay NULL. */
static HcStatus read_list(const HcProductFile *file, const char *dataset, const char *name, bool needed,
                          int32_t count, double **values, HcError *err) {
    int32_t found = 0;
    *values = NULL;
    if (dataset == NULL) {
        return needed || hc_product_has(file, name) ? hc_product_list(file, name, count, values, err) : HC_OK;
    }
    if (!needed) {
        HC_OR_RETURN(hc_product_numbers(file, dataset, name, values, &found, err));
        free(*values);
        *values = NULL;
    }
    return needed || found > 0 ? hc_product_attribute(file, dataset, name, count, values, err) : HC_OK;
}

HcStatus hc_product_add_listed(HcProduct *product, const HcProductFile *file, const char *dataset,
                               const HcProductLists *lists, HcError *err) {
    HcStatus status = HC_OK;
    int32_t array = product->array_count - 1, count = product->array[array].bands;
    double *centres = NULL, *widths = NULL, *good = NULL;
    HC_TRY(read_list(file, dataset, lists->centres, true, count, &centres, err));
    HC_TRY(read_list(file, dataset, lists->widths, true, count, &widths, err));
    if (lists->good != NULL) {
        HC_TRY(read_list(file, dataset, lists->good, false, count, &good, err));
    }
    HC_TRY(hc_product_add_bands(
        product,
        &(HcProductBands){
            .array = array, .count = count, .wavelength = centres, .fwhm = widths, .unit = 1, .good = good},
        err));
done:
    free(centres);
    free(widths);
    free(good);
    return status;
}

/* One number by the first of two names; it stays where neither is there. */
static HcStatus number_of(const HcProductFile *file, const char *dataset, const char *const names[2],
                          double *value, HcError *err) {
    for (int n = 0; n < 2; n++) {
        double *found = NULL;
        int32_t count = 0;
        HC_OR_RETURN(hc_product_numbers(file, dataset, names[n], &found, &count, err));
        if (count == 1) {
            *value = found[0];
            n = 2;
        }
        free(found);
    }
    return HC_OK;
}

HcStatus hc_product_scale(const HcProductFile *file, const char *dataset, double *gain, double *offset,
                          HcError *err) {
    static const char *const gains[] = {"scale_factor", "slope"}, *const offsets[] = {"add_offset",
                                                                                      "intercept"};
    *gain = 1;
    *offset = 0;
    HC_OR_RETURN(number_of(file, dataset, gains, gain, err));
    return number_of(file, dataset, offsets, offset, err);
}

/* One array of lines and samples. */
static HcStatus take_one(HcProduct *product, const HcProductFile *file, const char *dataset, HcError *err) {
    static const HcAxis order[] = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE};
    HcProductBands band = {.array = product->array_count, .count = 1, .unit = 1};
    if (hc_product_has(file, dataset) && !hc_product_has_axes(file, dataset, 2)) {
        return hc_fail(err, HC_E_INPUT, "%s: %s is no array of lines and samples", file->path, dataset);
    }
    HC_OR_RETURN(hc_product_take(product, file, dataset, order, err));
    HC_OR_RETURN(hc_product_scale(file, dataset, &band.gain, &band.offset, err));
    return hc_product_add_bands(product, &band, err);
}

HcStatus hc_product_take_flat(HcProduct *product, const HcProductFile *file, const char *group,
                              const char *const *names, HcError *err) {
    HcStatus status = HC_OK;
    product->no_wavelengths = true;
    for (int32_t n = 0; names[n] != NULL && status == HC_OK; n++) {
        char *dataset = hc_text_format("%s%s", group, names[n]);
        status = dataset != NULL ? take_one(product, file, dataset, err) : hc_fail_memory(err, 0, "a name");
        free(dataset);
    }
    HC_OR_RETURN(status);
    HC_OR_RETURN(hc_new(product->scene.band_name, product->scene.bands, "the names of bands", err));
    for (int32_t b = 0; b < product->scene.bands; b++) {
        product->scene.band_name[b] = hc_envi_clean(names[b]);
        HC_OR_RETURN(hc_text_made(product->scene.band_name[b], strlen(names[b]), "a band name", err));
    }
    return HC_OK;
}

/* ---- the order ---- */

HcStatus hc_product_check_turns(const HcProduct *product, const char *path, HcError *err) {
    const HcProductBand *last[HC_DETECTOR_SWIR + 1] = {NULL};
    double step[HC_DETECTOR_SWIR + 1] = {0};
    for (int32_t b = 0; b < product->scene.bands; b++) {
        const HcProductBand *band = &product->band[b], *before = last[band->detector];
        double next = before != NULL ? band->wavelength - before->wavelength : 0;
        if (next * step[band->detector] < 0) {
            return hc_fail(
                err, HC_E_INPUT,
                "%s: the wavelengths of %s neither rise nor fall throughout: %g nm of band %" PRId32
                ", %g nm of band %" PRId32,
                path, product->name, before->wavelength, before->band + 1, band->wavelength, band->band + 1);
        }
        step[band->detector] = next != 0 ? next : step[band->detector];
        last[band->detector] = band;
    }
    return HC_OK;
}

static int by_wavelength(const void *a, const void *b) {
    const HcProductBand *one = a, *other = b;
    if (one->wavelength != other->wavelength) {
        return one->wavelength < other->wavelength ? -1 : 1;
    }
    if (one->detector != other->detector) {
        return one->detector < other->detector ? -1 : 1;
    }
    return one->band < other->band ? -1 : one->band > other->band;
}

/* Bands without a wavelength among others that have one are not used. */
static HcStatus drop_unused(HcProduct *product, HcError *err) {
    int32_t kept = 0, all = product->scene.bands;
    for (int32_t b = 0; b < all; b++) {
        if (product->band[b].wavelength > 0) {
            product->band[kept++] = product->band[b];
        }
    }
    if (kept == 0) {
        return hc_fail(err, HC_E_INPUT, "%s: none of its %" PRId32 " bands has a wavelength",
                       product->array[0].file, all);
    }
    if (kept < all) {
        hc_product_note(product, "%" PRId32 " of %" PRId32 " bands have the wavelength 0: not used",
                        all - kept, all);
    }
    product->scene.bands = kept;
    return HC_OK;
}

/* ---- two detectors ---- */

/* The shortest (or longest) wavelength of a detector, of bands that hold values; 0 where it has none. */
static double extreme(const HcProduct *product, HcDetector detector, bool longest) {
    double found = 0;
    for (int32_t b = 0; b < product->scene.bands; b++) {
        const HcProductBand *band = &product->band[b];
        bool further = longest ? band->wavelength > found : band->wavelength < found;
        if (band->detector == detector && !band->bad && (found == 0 || further)) {
            found = band->wavelength;
        }
    }
    return found;
}

static void mark_overlap(HcProduct *product, HcOverlap overlap) {
    double from = extreme(product, HC_DETECTOR_SWIR, false), to = extreme(product, HC_DETECTOR_VNIR, true);
    HcDetector left_out = overlap == HC_OVERLAP_VNIR ? HC_DETECTOR_SWIR : HC_DETECTOR_VNIR;
    int32_t marked = 0;
    bool of_pace = product->any_order; /* blue and red; both stay unless asked for */
    bool both = overlap == HC_OVERLAP_BOTH || (overlap == HC_OVERLAP_USUAL && of_pace);
    if (from == 0 || to == 0 || from > to) {
        return;
    }
    if (both) {
        hc_product_note(product,
                        "from %.1f to %.1f nm bands of two detectors take turns: spectra have spikes there "
                        "(--overlap vnir or swir leaves one out)",
                        from, to);
    }
    for (int32_t b = 0; b < product->scene.bands; b++) {
        HcProductBand *band = &product->band[b];
        if (!both && band->detector == left_out && !band->bad && band->wavelength >= from &&
            band->wavelength <= to) {
            band->bad = true;
            marked++;
        }
    }
    if (marked > 0) {
        hc_product_note(product,
                        "from %.1f to %.1f nm both detectors see: %" PRId32 " %s bands there count as bad "
                        "(--overlap)",
                        from, to, marked,
                        left_out == HC_DETECTOR_SWIR ? of_pace ? "red" : "SWIR"
                        : of_pace                    ? "blue"
                                                     : "VNIR");
    }
}

/* ---- the scene ---- */

/* Numbers that make no scale, or a band without a wavelength among others. */
static HcStatus check_band(const HcProduct *product, int32_t b, bool centres, HcError *err) {
    const HcProductBand *band = &product->band[b];
    if (!isfinite(band->gain) || !isfinite(band->offset)) {
        return hc_fail(err, HC_E_INPUT, "%s: band %" PRId32 " has the scale %g and the offset %g",
                       product->raster != NULL ? product->raster : product->array[0].file, b + 1, band->gain,
                       band->offset);
    }
    if (centres && !(band->wavelength > 0)) {
        return hc_fail(err, HC_E_INPUT, "%s: band %" PRId32 " has no wavelength, others have",
                       product->raster != NULL ? product->raster : product->array[0].file, b + 1);
    }
    return HC_OK;
}

static HcStatus fill_scene(HcProduct *product, HcError *err) {
    HcScene *scene = &product->scene;
    size_t count = (size_t)scene->bands;
    bool centres = false, widths = true, gains = false, bad = false;
    for (size_t b = 0; b < count; b++) {
        const HcProductBand *band = &product->band[b];
        centres = centres || band->wavelength > 0;
        widths = widths && band->fwhm > 0;
        gains = gains || (band->gain != 0 && (band->gain != 1 || band->offset != 0));
        bad = bad || band->bad;
    }
    if (centres) {
        HC_OR_RETURN(hc_new(scene->wavelength, count, "the bands", err));
    }
    if (widths) {
        HC_OR_RETURN(hc_new(scene->fwhm, count, "the bands", err));
    }
    if (gains) {
        HC_OR_RETURN(hc_new(scene->gain, count, "the bands", err));
        HC_OR_RETURN(hc_new(scene->offset, count, "the bands", err));
    }
    if (bad) {
        HC_OR_RETURN(hc_new(scene->bad, count, "the bands", err));
    }
    for (size_t b = 0; b < count; b++) {
        const HcProductBand *band = &product->band[b];
        HC_OR_RETURN(check_band(product, (int32_t)b, centres, err));
        if (centres) {
            scene->wavelength[b] = band->wavelength;
        }
        if (widths) {
            scene->fwhm[b] = band->fwhm;
        }
        if (gains) {
            scene->gain[b] = band->gain != 0 ? band->gain : 1;
            scene->offset[b] = band->gain != 0 ? band->offset : 0;
        }
        if (bad) {
            scene->bad[b] = band->bad;
        }
    }
    return HC_OK;
}

HcStatus hc_product_settle(HcProduct *product, HcOverlap overlap, HcError *err) {
    if (product->scene.bands == 0 && product->raster != NULL) {
        return HC_OK; /* what described it was left out */
    }
    if (product->raster == NULL && !product->no_wavelengths) {
        HC_OR_RETURN(drop_unused(product, err));
        if (!product->any_order) {
            HC_OR_RETURN(hc_product_check_turns(product, product->array[0].file, err));
        }
        qsort(product->band, (size_t)product->scene.bands, sizeof *product->band, by_wavelength);
    }
    if (product->part != HC_DETECTOR_ONE && overlap != HC_OVERLAP_USUAL) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: --overlap is for two detectors in one scene: this is one, not coregistered with "
                       "the other (L1C and L2A have both)",
                       product->raster);
    }
    mark_overlap(product, overlap);
    return fill_scene(product, err);
}
