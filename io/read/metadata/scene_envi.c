/* What a scene is, from its ENVI header. */
#include "core/allocate.h"
#include "io/read/parts.h"

#include <inttypes.h>
#include <stdlib.h>

static HcStatus envi_spectral(HcReader *reader, const HcEnviHeader *header, HcError *err) {
    HcStatus status = HC_OK;
    HcReadSpectral found = {.unit = hc_envi_text(header, "wavelength units")};
    HC_TRY(hc_read_list(reader, header, "wavelength", 0, &found.wavelength, &found.wavelength_count, err));
    HC_TRY(hc_read_list(reader, header, "fwhm", 0, &found.fwhm, &found.fwhm_count, err));
    HC_TRY(hc_read_spectral(reader, &found, err));
done:
    free(found.wavelength);
    free(found.fwhm);
    return status;
}

static HcStatus envi_bad_bands(HcReader *reader, const HcEnviHeader *header, HcError *err) {
    HcScene *scene = &reader->scene;
    HcStatus status = HC_OK;
    int32_t count = 0;
    double *values = NULL;
    if (scene->bad != NULL) {
        return HC_OK;
    }
    HC_TRY(hc_read_list(reader, header, "bbl", scene->bands, &values, &count, err));
    if (count > 0) {
        HC_TRY(hc_new(scene->bad, count, "the list of bad bands", err));
        bool other = false;
        for (int32_t b = 0; b < count; b++) {
            scene->bad[b] = !(values[b] != 0); /* NaN is bad too */
            other = other || (values[b] != 0 && values[b] != 1);
        }
        if (other) {
            hc_read_note(reader, "bbl holds other values than 0 and 1: all but 0 count as good");
        }
    }
done:
    free(values);
    return status;
}

static HcStatus envi_names(HcReader *reader, const HcEnviHeader *header, HcError *err) {
    HcScene *scene = &reader->scene;
    HcStatus status = HC_OK;
    char **names = NULL;
    int32_t count = 0;
    if (scene->band_name != NULL) {
        return HC_OK;
    }
    HC_TRY(hc_envi_texts(header, "band names", &names, &count, err));
    if (count > 0 && count != scene->bands) {
        hc_read_note(reader, "band names left out: %" PRId32 " names for %" PRId32 " bands", count,
                     scene->bands);
    } else if (count > 0) {
        HC_TRY(hc_new(scene->band_name, count, "band names", err));
        for (int32_t b = 0; b < count; b++) {
            HC_TRY(hc_read_set_text(&scene->band_name[b], names[b], err));
        }
    }
done:
    hc_free_texts(names, count);
    return status;
}

static HcStatus envi_default_bands(HcReader *reader, const HcEnviHeader *header, HcError *err) {
    HcScene *scene = &reader->scene;
    HcStatus status = HC_OK;
    int32_t count = 0;
    double *values = NULL;
    HC_TRY(hc_read_list(reader, header, "default bands", 0, &values, &count, err));
    bool good = count == 3;
    for (int32_t c = 0; c < 3 && good; c++) {
        good = values[c] >= 1 && values[c] <= scene->bands && values[c] == floor(values[c]);
    }
    if (good) {
        for (int32_t c = 0; c < 3; c++) {
            scene->default_bands[c] = (int32_t)values[c] - 1;
        }
        scene->has_default_bands = true;
    } else if (count == 3 && (values[0] != 0 || values[1] != 0 || values[2] != 0)) {
        hc_read_note(reader, "default bands left out: %g, %g, %g of %" PRId32, values[0], values[1],
                     values[2], scene->bands);
    } else if (count == 2 || count > 3) {
        hc_read_note(reader, "default bands left out: %" PRId32 " of them, and not 1 or 3", count);
    }
done:
    free(values);
    return status;
}

static HcStatus envi_gains(HcReader *reader, const HcEnviHeader *header, HcError *err) {
    HcStatus status = HC_OK;
    int32_t gains = 0, offsets = 0, bands = reader->scene.bands;
    double factor = 1;
    bool scaled = false;
    HcError local = {0};
    double *gain = NULL, *offset = NULL;
    HC_TRY(hc_read_list(reader, header, "data gain values", bands, &gain, &gains, err));
    HC_TRY(hc_read_list(reader, header, "data offset values", bands, &offset, &offsets, err));
    if ((gains > 0 || offsets > 0) && hc_envi_text(header, "reflectance scale factor") != NULL) {
        hc_read_note(reader, "reflectance scale factor left out: data gain and offset values count");
    }
    if (gains == 0 && offsets == 0 &&
        hc_envi_number(header, "reflectance scale factor", &factor, &scaled, &local) != HC_OK) {
        status = hc_read_leave_out(reader, "reflectance scale factor", &local, err);
    } else if (scaled && !(factor > 0 && isfinite(factor))) {
        hc_read_note(reader, "reflectance scale factor left out: %g", factor);
    } else if (gains > 0 || offsets > 0 || scaled) {
        status = hc_read_set_gains(reader, gain, offset, 1 / factor, err);
    }
done:
    free(gain);
    free(offset);
    return status;
}

/* Fills what the scene lacks. `header` may be made up from metadata. */
HcStatus hc_read_fill_from_envi(HcReader *reader, const HcEnviHeader *header, HcError *err) {
    HcScene *scene = &reader->scene;
    HcError local = {0};
    double ignore = 0;
    bool found = false;
    HC_OR_RETURN(envi_spectral(reader, header, err));
    HC_OR_RETURN(envi_bad_bands(reader, header, err));
    HC_OR_RETURN(envi_names(reader, header, err));
    HC_OR_RETURN(envi_gains(reader, header, err));
    if (!scene->has_default_bands) {
        HC_OR_RETURN(envi_default_bands(reader, header, err));
    }
    if (!scene->has_nodata) {
        if (hc_envi_number(header, "data ignore value", &ignore, &found, &local) != HC_OK) {
            HC_OR_RETURN(hc_read_leave_out(reader, "data ignore value", &local, err));
        } else if (found) {
            hc_read_set_nodata(scene, ignore);
        }
    }
    const char *description = hc_envi_text(header, "description");
    if (scene->description == NULL && description != NULL) {
        HC_OR_RETURN(hc_read_set_text(&scene->description, description, err));
    }
    HC_OR_RETURN(hc_read_envi_classes(reader, header, err));
    return hc_read_envi_numbers(reader, header, err);
}
