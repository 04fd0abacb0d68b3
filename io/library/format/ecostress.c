/* Spectra of the ECOSTRESS and ASTER libraries: a header of keys, then a wavelength and a value a line, often
 * from the longest wavelength to the shortest. */
#include "core/text.h"
#include "io/library/format/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_ecostress(const HcSpectrumFile *file) {
    return file->lines > 0 && strncasecmp(file->line[0], "Name", 4) == 0 &&
           hc_spectrum_key(file, "X Units") != NULL && hc_spectrum_key(file, "Y Units") != NULL;
}

/* The word between brackets: "micrometers" of "Wavelength (micrometers)". */
static void take_unit(const char *text, char *unit, size_t size) {
    const char *open = strchr(text, '(');
    snprintf(unit, size, "%.*s", open != NULL ? (int)strcspn(open + 1, ")") : 0,
             open != NULL ? open + 1 : "");
}

/* The first line after the header that has numbers. */
static int32_t first_row(const HcSpectrumFile *file) {
    double value[2];
    int32_t line = hc_spectrum_line(file, "Y Units") + 1;
    while (line < file->lines &&
           (*file->line[line] == '\0' || hc_spectrum_numbers(file->line[line], value, 2) < 1)) {
        line++;
    }
    return line;
}

static HcStatus set_facts(const HcSpectrumFile *file, HcLibrary *out, HcError *err) {
    static const char *const keys[HC_LIBRARY_FACTS][2] = {
        {"Class", "Type"}, {"Description", NULL}, {"Owner", "Origin"}, {NULL, NULL}};
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        const char *text = NULL;
        for (int k = 0; k < 2 && keys[f][k] != NULL && (text == NULL || *text == '\0'); k++) {
            text = hc_spectrum_key(file, keys[f][k]);
        }
        HC_OR_RETURN(hc_library_set_fact(out, 0, (HcLibraryFact)f, text, err));
    }
    return HC_OK;
}

static HcStatus read_ecostress(const HcSpectrumFile *file, HcLibrary *out, HcError *err) {
    char unit[32], values[32];
    const char *stated = hc_spectrum_key(file, "Number of X Values");
    take_unit(hc_spectrum_key(file, "X Units"), unit, sizeof unit);
    take_unit(hc_spectrum_key(file, "Y Units"), values, sizeof values);
    int64_t count = stated != NULL ? strtol(stated, NULL, 10) : 0;
    const HcSpectrumRows rows = {.first = first_row(file),
                                 .columns = 2,
                                 .y = 1,
                                 .stated = count > 0 && count < INT32_MAX ? (int32_t)count : 0,
                                 .unit = unit};
    HC_OR_RETURN(hc_spectrum_rows(file, &rows, out, err));
    out->scale = strncasecmp(values, "percent", 7) == 0    ? 100
                 : strncasecmp(values, "fraction", 8) == 0 ? 1
                                                           : 0;
    HC_OR_RETURN(hc_library_name(out, 0, hc_spectrum_key(file, "Name"), err));
    return set_facts(file, out, err);
}

const HcSpectrumFormat hc_format_ecostress = {"ECOSTRESS", is_ecostress, read_ecostress};
