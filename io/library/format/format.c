/* Any file of spectra: which format it has, and what all formats have in common. */
#include "io/library/format/format.h"

#include "core/text.h"
#include "io/file.h"
#include "io/library/format/parts.h"
#include "io/read/parts.h"

#include <stdlib.h>

/* Larger files of a folder are scenes, and are not looked at [bytes]. */
static const int64_t listed_bytes = (int64_t)64 << 20;

/* ---- formats that are refused by their names ---- */

static bool is_spc(const HcSpectrumFile *file) {
    return file->line == NULL && hc_text_ends_with(file->path, ".spc");
}

static bool is_jcamp(const HcSpectrumFile *file) {
    return hc_spectrum_line(file, "##TITLE=") >= 0 && hc_spectrum_line(file, "##JCAMP") >= 0;
}

static const HcSpectrumFormat format_spc = {"Galactic SPC", is_spc, NULL};
static const HcSpectrumFormat format_jcamp = {"JCAMP-DX", is_jcamp, NULL};

static const HcSpectrumFormat *const formats[] = {&hc_format_asd, &hc_format_tables, &hc_format_usgs,
                                                  &format_spc, &format_jcamp};

/* Files from the longest wavelength to the shortest are turned round, widths and values with them. */
static void turn_round(HcLibrary *library) {
    size_t bands = (size_t)library->bands;
    const double *wavelength = library->wavelength;
    if (wavelength == NULL || !(wavelength[0] > wavelength[bands - 1])) {
        return;
    }
    for (size_t low = 0, high = bands - 1; low < high; low++, high--) {
        double *const lists[] = {library->wavelength, library->fwhm};
        for (int l = 0; l < 2 && lists[l] != NULL; l++) {
            double kept = lists[l][low];
            lists[l][low] = lists[l][high];
            lists[l][high] = kept;
        }
        for (size_t i = 0; i < (size_t)library->count; i++) {
            float *value = library->value + i * bands, kept = value[low];
            value[low] = value[high];
            value[high] = kept;
        }
    }
}

/* ---- any file ---- */

static HcStatus set_sources(HcLibrary *library, const char *path, HcError *err) {
    for (int32_t i = 0; i < library->count; i++) {
        if (*hc_library_fact(library, i, HC_FACT_SOURCE) == '\0') {
            HC_OR_RETURN(hc_library_set_fact(library, i, HC_FACT_SOURCE, hc_file_base(path), err));
        }
    }
    return HC_OK;
}

/* A file that holds no spectra is a failure unless it was listed. */
static HcStatus read_format(const HcSpectrumFormat *format, const HcSpectrumFile *file, bool listed,
                            HcLibrary *out, HcError *err) {
    if (format->read == NULL) {
        return listed ? HC_OK
                      : hc_fail(err, HC_E_UNSUPPORTED,
                                "%s: files of the format %s are not read: export the spectrum as text or CSV",
                                file->path, format->name);
    }
    HC_OR_RETURN(format->read(file, out, err));
    if (out->count == 0) {
        return listed
                   ? HC_OK
                   : hc_fail(err, HC_E_INPUT,
                             "%s: line 1: wavelengths, widths or error bars, and not a spectrum", file->path);
    }
    turn_round(out);
    return hc_library_drop_outliers(out, err);
}

/* A text of no format is a table, where a user says so. */
static HcStatus read_other(const HcSpectrumFile *file, bool listed, HcLibrary *out, HcError *err) {
    if (listed) {
        return HC_OK;
    }
    if (file->line == NULL) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: byte 0: no format of spectra (ENVI, CSV, ASD, USGS, ECOSTRESS, ASTER, SED, SVC)",
                       file->path);
    }
    HC_OR_RETURN(hc_library_read_csv(out, file->path, err));
    return hc_library_drop_outliers(out, err);
}

static HcStatus read_any(HcLibrary *out, const char *path, bool listed, HcSpectrumAxes **axes, HcError *err) {
    HcStatus status = HC_OK;
    HcSpectrumFile file = {.axes = axes};
    int64_t bytes = 0;
    bool is_library = false;
    HC_OR_RETURN(hc_library_recognise(path, &is_library, err));
    if (is_library) {
        return hc_library_read(out, path, err);
    }
    if (listed && (!hc_file_identity(path, &bytes, NULL) || bytes > listed_bytes || bytes == 0)) {
        return HC_OK;
    }
    HC_TRY(hc_spectrum_open(&file, path, err));
    for (size_t f = 0; f < sizeof formats / sizeof *formats; f++) {
        if (formats[f]->is(&file)) {
            status = read_format(formats[f], &file, listed, out, err);
            goto done;
        }
    }
    HC_TRY(read_other(&file, listed, out, err));
done:
    hc_spectrum_close(&file);
    return status;
}

HcStatus hc_spectrum_read(HcLibrary *out, const char *path, bool listed, HcSpectrumAxes **axes,
                          HcError *err) {
    HcStatus status = read_any(out, path, listed, axes, err);
    status = status == HC_OK ? set_sources(out, path, err) : status;
    if (status != HC_OK) {
        hc_library_clear(out);
    }
    return status;
}

/* ---- folders ---- */

HcStatus hc_spectrum_files(const char *folder, HcPaths *out, HcError *err) {
    HcStatus status = HC_OK;
    HcPaths all = {0};
    HC_TRY(hc_paths_in_folder(&all, folder, 8, err));
    for (int32_t p = 0; p < all.count; p++) {
        const char *path = all.path[p];
        bool may = !hc_text_ends_with(path, ".hdr") && !hc_file_is_special(path);
        HC_TRY(may ? hc_paths_add(out, path, err) : HC_OK);
    }
done:
    hc_paths_clear(&all);
    return status;
}
