#include "io/read/metadata/wavelength.h"

#include "core/text.h"

HcUnitKind hc_wavelength_unit(const char *word, double *nanometres) {
    static const struct {
        const char *word;
        double nanometres;
    } units[] = {
        {"nanometers", 1},
        {"nanometer", 1},
        {"nanometres", 1},
        {"nanometre", 1},
        {"nm", 1},
        {"micrometers", 1e3},
        {"micrometer", 1e3},
        {"micrometres", 1e3},
        {"micrometre", 1e3},
        {"microns", 1e3},
        {"micron", 1e3},
        {"um", 1e3},
        {"\xC2\xB5m", 1e3},
        {"\xCE\xBCm", 1e3},
        {"\xB5m", 1e3},
        {"millimeters", 1e6},
        {"millimetres", 1e6},
        {"mm", 1e6},
        {"centimeters", 1e7},
        {"centimetres", 1e7},
        {"cm", 1e7},
        {"meters", 1e9},
        {"metres", 1e9},
        {"m", 1e9},
        {"angstroms", 0.1},
        {"angstrom", 0.1},
    };
    if (word == NULL || word[0] == '\0' || hc_text_equal(word, "unknown") || hc_text_equal(word, "none")) {
        return HC_UNIT_SILENT;
    }
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (hc_text_equal(word, units[i].word)) {
            *nanometres = units[i].nanometres;
            return HC_UNIT_LENGTH;
        }
    }
    return HC_UNIT_OTHER;
}

const char *hc_wavelength_guess(double largest, double *nanometres) {
    static const struct {
        const char *unit;
        double below, nanometres;
    } guesses[] = {{"m", 1e-3, 1e9}, {"um", 100, 1e3}};
    for (size_t i = 0; i < sizeof guesses / sizeof *guesses; i++) {
        if (largest < guesses[i].below) {
            *nanometres = guesses[i].nanometres;
            return guesses[i].unit;
        }
    }
    *nanometres = 1;
    return "nm";
}

const char *hc_wavelength_doubt(double largest) {
    return largest < 100 ? "micrometres" : largest > 3e5 ? "nanometres" : NULL;
}

int32_t hc_wavelength_wrong(const double *values, int32_t count) {
    int32_t i = 0;
    while (i < count && values[i] > 0 && values[i] <= HC_WAVELENGTH_LIMIT) {
        i++;
    }
    return i;
}
