/* What is no spectrum in a spectral library: entries by their names, values by their size. */
#include "core/allocate.h"
#include "core/compare.h"
#include "core/text.h"
#include "io/library/parts.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* The words that identify a name: the maximum number of words and of their letters. */
enum { WORDS = 32, LETTERS = 24 };

typedef struct Words {
    char word[WORDS][LETTERS]; /* lower case, cut to fit */
    int count;
} Words;

static Words split_name(const char *name) {
    static const char ends[] = " \t_:;,()[]{}\"'/";
    Words words = {.count = 0};
    while (words.count < WORDS) {
        name += strspn(name, ends);
        size_t length = strcspn(name, ends);
        if (length == 0) {
            break;
        }
        for (size_t i = 0; i < length && i + 1 < LETTERS; i++) {
            words.word[words.count][i] = (char)tolower((unsigned char)name[i]);
        }
        words.count++;
        name += length;
    }
    return words;
}

static bool is_one_of(const char *word, const char *const *list) {
    while (*list != NULL && strcmp(*list, word) != 0) {
        list++;
    }
    return *list != NULL;
}

/* "errorbars to preceding spectrum", "Oak (standard deviation)": at any place of a name. */
static bool has_error_bars(const Words *words) {
    static const char *const alone[] = {"errorbar", "errorbars", "stdev", "stddev", "std-dev", NULL};
    static const char *const first[] = {"error", "standard", "std", NULL};
    static const char *const second[] = {"bar", "bars", "deviation", "deviations", "dev", NULL};
    for (int w = 0; w < words->count; w++) {
        if (is_one_of(words->word[w], alone) || (w + 1 < words->count && is_one_of(words->word[w], first) &&
                                                 is_one_of(words->word[w + 1], second))) {
            return true;
        }
    }
    return false;
}

/* Labels that libraries put in front of the name: "splib07a", "Record=12", "s07AV95a", "12". */
static bool is_label(const char *word) {
    size_t digits = strspn(word, "0123456789");
    return strncmp(word, "splib", 5) == 0 || strncmp(word, "record", 6) == 0 || word[digits] == '\0' ||
           (word[0] == 's' && word[1] == '0' && isdigit((unsigned char)word[2]));
}

HcLibraryEntry hc_library_entry(const char *name) {
    static const char *const wavelengths[] = {"wavelength", "wavelengths", NULL};
    static const char *const widths[] = {"resolution", "resolutions", "bandpass", "bandpasses",
                                         "bandwidth",  "bandwidths",  "fwhm",     NULL};
    static const char *const targets[] = {"standard", "standards", "calibration", "target", "panel", NULL};
    Words words = split_name(name);
    int at = 0;
    if (has_error_bars(&words)) {
        return HC_ENTRY_ERROR_BARS;
    }
    while (at < words.count && is_label(words.word[at])) {
        at++;
    }
    if (at == words.count || (at + 1 < words.count && is_one_of(words.word[at + 1], targets))) {
        return HC_ENTRY_SPECTRUM; /* "Wavelength standard ...": a material that is one */
    }
    return is_one_of(words.word[at], wavelengths) ? HC_ENTRY_WAVELENGTHS
           : is_one_of(words.word[at], widths)    ? HC_ENTRY_WIDTHS
                                                  : HC_ENTRY_SPECTRUM;
}

const char *hc_library_entry_word(HcLibraryEntry entry) {
    static const char *const words[HC_ENTRY_KINDS] = {"spectra", "error bars", "wavelengths",
                                                      "widths of bands"};
    return words[entry];
}

/* ---- values ---- */

/* Maximum number of values of a spectrum that its height is taken from. */
enum { HEIGHT_VALUES = 512 };

/* How far from the usual height of a library a value may lie: above, and below 0. */
static const double far_above = 1e5;
static const double far_below = 3;

/* The value that 90 % of the positive values of a spectrum do not exceed; NaN where there is none. */
static float find_height(const float *value, int32_t bands) {
    float positive[HEIGHT_VALUES];
    int32_t step = (bands - 1) / HEIGHT_VALUES + 1;
    int32_t count = 0;
    for (int32_t b = 0; b < bands; b += step) {
        if (value[b] > 0) {
            positive[count++] = value[b];
        }
    }
    qsort(positive, (size_t)count, sizeof *positive, hc_compare_floats);
    return count > 0 ? positive[(9 * (int64_t)count - 1) / 10] : NAN;
}

/* height[count] of the spectra, NaN where there is none; returns the median of those that are known, or NaN.
 * workspace[count]. */
static double find_heights(const HcLibrary *library, float *height, float *workspace) {
    size_t known = 0;
    for (int32_t i = 0; i < library->count; i++) {
        bool is_spectrum = hc_library_entry(library->name[i]) == HC_ENTRY_SPECTRUM;
        const float *value = library->value + (size_t)i * (size_t)library->bands;
        height[i] = is_spectrum ? find_height(value, library->bands) : NAN;
        if (height[i] > 0) {
            workspace[known++] = height[i];
        }
    }
    qsort(workspace, known, sizeof *workspace, hc_compare_floats);
    return known > 0 ? workspace[known / 2] : (double)NAN;
}

/* Whether negative values are rare: more of them than one in twenty are no noise, but mean something. */
static bool rarely_negative(const HcLibrary *library, const float *height, double usual) {
    int64_t known = 0;
    int64_t negative = 0;
    for (int32_t i = 0; i < library->count; i++) {
        const float *value = library->value + (size_t)i * (size_t)library->bands;
        for (int32_t b = 0; b < library->bands && !isnan(height[i]); b++) {
            bool counts = fabs((double)value[b]) <= far_above * usual;
            known += counts;
            negative += counts && value[b] < 0;
        }
    }
    return 20 * negative <= known;
}

/* Values of one entry beyond the limits become missing. */
static void drop_values(HcLibrary *library, int32_t entry, double low, double high) {
    HcLibraryOutliers found = {.lowest = INFINITY, .highest = -INFINITY};
    float *value = library->value + (size_t)entry * (size_t)library->bands;
    for (int32_t b = 0; b < library->bands; b++) {
        if (value[b] < low || value[b] > high) {
            found.lowest = fminf(found.lowest, value[b]);
            found.highest = fmaxf(found.highest, value[b]);
            found.values++;
            value[b] = NAN;
        }
    }
    library->outliers[entry] = found;
}

HcStatus hc_library_drop_outliers(HcLibrary *library, HcError *err) {
    size_t count = (size_t)library->count;
    float *height = NULL;
    HC_OR_RETURN(hc_new(height, 2 * count, "the heights of spectra", err));
    double usual = find_heights(library, height, height + count);
    double high = far_above * usual;
    bool noise = usual > 0 && rarely_negative(library, height, usual);
    for (int32_t i = 0; i < library->count && usual > 0; i++) {
        double own = height[i] > usual && height[i] <= high ? height[i] : usual;
        drop_values(library, i, noise ? -far_below * own : -high, high);
    }
    free(height);
    return HC_OK;
}

/* ---- choosing ---- */

HcStatus hc_library_keep(HcLibrary *library, const uint8_t *keep, HcError *err) {
    int32_t kept = 0;
    size_t bands = (size_t)library->bands;
    if (library->number == NULL) {
        HC_OR_RETURN(hc_new(library->number, library->count, "numbers of spectra", err));
        for (int32_t i = 0; i < library->count; i++) {
            library->number[i] = i;
        }
    }
    for (int32_t i = 0; i < library->count; i++) {
        if (!keep[i]) {
            free(library->name[i]);
            hc_library_move_facts(library, i, -1);
            continue;
        }
        memmove(library->value + (size_t)kept * bands, library->value + (size_t)i * bands,
                bands * sizeof *library->value);
        library->name[kept] = library->name[i];
        library->outliers[kept] = library->outliers[i];
        hc_library_move_facts(library, i, kept);
        library->number[kept++] = library->number[i];
    }
    library->count = kept;
    return HC_OK;
}
