/* Spectral libraries as files: ENVI (.sli with its header) and CSV. */
#include "core/text.h"
#include "io/file.h"
#include "io/library/parts.h"
#include "io/read/metadata/envi_header.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *hc_library_header_path(const char *path) {
    size_t length = strlen(path);
    const char *point = strrchr(hc_file_base(path), '.');
    if (point != NULL && point != path && point[-1] != '/') {
        length = (size_t)(point - path);
    }
    return hc_text_format("%.*s.hdr", (int)length, path);
}

HcStatus hc_library_check_header(const char *path, bool *foreign, HcError *err) {
    HcEnviHeader header = {0};
    HcError why = {0};
    *foreign = false;
    if (!hc_file_identity(path, NULL, NULL)) {
        return HC_OK;
    }
    HcStatus status = hc_envi_load(&header, path, &why);
    *foreign = status != HC_OK || !hc_envi_is_library(&header);
    hc_envi_clear(&header);
    return status == HC_E_MEMORY || status == HC_E_IO ? hc_fail(err, status, "%s", why.text) : HC_OK;
}

/* ---- ENVI ---- */

static void add_number(HcText *to, double value) {
    char number[HC_TEXT_DOUBLE];
    hc_text_add(to, "%s", hc_text_double(number, value));
}

static void add_list(HcText *to, const char *key, const double *value, int32_t count) {
    if (value == NULL) {
        return;
    }
    hc_text_add(to, "%s = {\n", key);
    for (int32_t i = 0; i < count; i++) {
        add_number(to, value[i]);
        hc_text_add(to, "%s", i + 1 == count ? "}\n" : i % 8 == 7 ? ",\n" : ", ");
    }
}

/* Braces and commas have a meaning in the header, line ends too. */
static void add_name(HcText *to, const char *name) {
    for (; *name != '\0'; name++) {
        char c = *name == '{'                      ? '('
                 : *name == '}'                    ? ')'
                 : *name == ','                    ? ';'
                 : (unsigned char)*name < (int)' ' ? ' '
                                                   : *name;
        hc_text_add(to, "%c", c);
    }
}

/* A text for each spectrum; "-" where it is not known. */
static void add_texts(HcText *to, const char *key, char *const *text, int32_t count) {
    hc_text_add(to, "%s = {\n", key);
    for (int32_t i = 0; i < count; i++) {
        add_name(to, text[i] != NULL && *text[i] != '\0' ? text[i] : "-");
        hc_text_add(to, "%s", i + 1 == count ? "}\n" : ",\n");
    }
}

static char *make_header(const HcLibrary *library) {
    HcText text = {0};
    hc_text_add(&text,
                "ENVI\ndescription = {spectra written by hcube}\nsamples = %d\nlines = %d\nbands = 1\n",
                library->bands, library->count);
    hc_text_add(&text,
                "header offset = 0\nfile type = ENVI Spectral Library\ndata type = 4\n"
                "interleave = bsq\nbyte order = %d\n",
                __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
    if (library->scale > 0) {
        hc_text_add(&text, "reflectance scale factor = ");
        add_number(&text, library->scale);
        hc_text_add(&text, "\n");
    }
    if (library->wavelength != NULL) {
        hc_text_add(&text, "wavelength units = Nanometers\n");
        add_list(&text, "wavelength", library->wavelength, library->bands);
        add_list(&text, "fwhm", library->fwhm, library->bands);
    }
    add_texts(&text, "spectra names", library->name, library->count);
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        if (library->facts.text[f] != NULL) {
            char key[40];
            snprintf(key, sizeof key, HC_LIBRARY_FACT_KEY, hc_library_fact_word((HcLibraryFact)f));
            add_texts(&text, key, library->facts.text[f], library->count);
        }
    }
    return hc_text_take(&text);
}

static HcStatus write_envi(const HcLibrary *library, const char *path, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    char *header_path = hc_library_header_path(path);
    char *header = make_header(library);
    bool foreign = false;
    if (header_path == NULL || header == NULL) {
        HC_TRY(hc_fail_memory(err, 1024, "the header of a spectral library"));
    }
    HC_TRY(hc_library_check_header(header_path, &foreign, err));
    if (foreign) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "%s: %s is the header of another file", path, header_path));
    }
    size_t values = (size_t)library->count * (size_t)library->bands;
    HC_TRY(hc_file_write(header_path, header, strlen(header), overwrite, err));
    HC_TRY(hc_file_write(path, library->value, values * sizeof *library->value, overwrite, err));
done:
    free(header);
    free(header_path);
    return status;
}

/* ---- CSV ---- */

/* Comments: other programs skip them. A library without facts has none. */
static void add_comments(HcText *to, const HcLibrary *library) {
    bool any = false;
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        any = any || library->facts.text[f] != NULL;
    }
    if (any && library->scale > 0) {
        hc_text_add(to, "# " HC_LIBRARY_SCALE_WORD ",");
        add_number(to, library->scale);
        hc_text_add(to, "\n");
    }
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        if (library->facts.text[f] == NULL) {
            continue;
        }
        hc_text_add(to, "# %s", hc_library_fact_word((HcLibraryFact)f));
        for (int32_t i = 0; i < library->count; i++) {
            hc_text_add(to, ",");
            hc_text_add_cell(to, hc_library_fact(library, i, (HcLibraryFact)f), true);
        }
        hc_text_add(to, "\n");
    }
}

static HcStatus write_csv(const HcLibrary *library, const char *path, bool overwrite, HcError *err) {
    HcText text = {0};
    add_comments(&text, library);
    hc_text_add(&text, library->wavelength != NULL ? "wavelength [nm]" : "band");
    for (int32_t i = 0; i < library->count; i++) {
        hc_text_add(&text, ",");
        hc_text_add_cell(&text, library->name[i], true);
    }
    for (int32_t b = 0; b < library->bands; b++) {
        hc_text_add(&text, "\n");
        add_number(&text, library->wavelength != NULL ? library->wavelength[b] : b + 1);
        for (int32_t i = 0; i < library->count; i++) {
            hc_text_add(&text, ",");
            hc_text_add(&text, "%.9g",
                        (double)library->value[(size_t)i * (size_t)library->bands + (size_t)b]);
        }
    }
    hc_text_add(&text, "\n");
    char *whole = hc_text_take(&text);
    HcStatus status = whole == NULL ? hc_fail_memory(err, 1024, "a table of spectra")
                                    : hc_file_write(path, whole, strlen(whole), overwrite, err);
    free(whole);
    return status;
}

HcStatus hc_library_write(const HcLibrary *library, const char *path, bool overwrite, HcError *err) {
    return hc_text_ends_with(path, ".csv") ? write_csv(library, path, overwrite, err)
                                           : write_envi(library, path, overwrite, err);
}
