/* info of a spectral library. */
#include "app/app.h"
#include "core/allocate.h"
#include "pipeline/json/json.h"
#include "pipeline/spectra/library/choice.h"
#include "pipeline/spectra/library/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* What is counted over the values of spectra, or of all entries where none is a spectrum by its name. */
typedef struct Counts {
    int32_t spectra;
    int64_t missing;   /* values */
    int32_t lacking;   /* spectra with missing values */
    int32_t bad;       /* bands */
    double low, high;  /* of the values; NaN = there is none */
    double usual_high; /* 99 % of |values| are at most as large */
} Counts;

static bool is_spectrum(const HcLibrary *library, int32_t entry) {
    return hc_library_entry(library->name[entry]) == HC_ENTRY_SPECTRUM;
}

static HcStatus count_values(const HcLibrary *library, Counts *counts, HcError *err) {
    size_t bands = (size_t)library->bands;
    size_t known = 0;
    float *value = NULL;
    HC_OR_RETURN(hc_new(value, (size_t)library->count * bands, "a library", err));
    *counts = (Counts){.low = NAN, .high = NAN};
    for (int32_t i = 0; i < library->count; i++) {
        counts->spectra += is_spectrum(library, i);
    }
    bool all = counts->spectra == 0;
    counts->spectra = all ? library->count : counts->spectra;
    for (int32_t i = 0; i < library->count; i++) {
        int64_t before = counts->missing;
        if (!all && !is_spectrum(library, i)) {
            continue;
        }
        for (size_t b = 0; b < bands; b++) {
            float here = library->value[(size_t)i * bands + b];
            if (isfinite(here)) {
                value[known++] = here;
                counts->low = fmin(counts->low, here);
                counts->high = fmax(counts->high, here);
            } else {
                counts->missing++;
            }
        }
        counts->lacking += counts->missing > before;
    }
    for (size_t b = 0; b < bands; b++) {
        counts->bad += library->bad != NULL && library->bad[b];
    }
    counts->usual_high = hc_values_quantile(value, known, 0.99);
    free(value);
    return HC_OK;
}

static void print_ranges(const HcLibrary *library) {
    double low = 0;
    double high = 0;
    if (library->wavelength == NULL) {
        printf("%-12s none\n", "wavelengths");
    } else {
        bool rising = hc_info_range(library->wavelength, library->bands, &low, &high);
        printf("%-12s %.2f to %.2f nm%s\n", "wavelengths", low, high, rising ? "" : ", not in rising order");
    }
    if (library->fwhm == NULL) {
        printf("%-12s none\n", "widths");
    } else {
        hc_info_range(library->fwhm, library->bands, &low, &high);
        printf("%-12s %.2f to %.2f nm\n", "widths", low, high);
    }
}

/* The number of an entry in the file, from 1. */
static int32_t number_of(const HcLibrary *library, int32_t entry) {
    return (library->number != NULL ? library->number[entry] : entry) + 1;
}

/* " (class Tree, source UCSB)", as far as it is known. */
static void print_facts(const HcLibrary *library, int32_t entry) {
    static const HcLibraryFact shown[] = {HC_FACT_CLASS, HC_FACT_SOURCE, HC_FACT_QUALITY};
    bool any = false;
    for (size_t f = 0; f < sizeof shown / sizeof *shown; f++) {
        const char *text = hc_library_fact(library, entry, shown[f]);
        if (*text != '\0') {
            printf("%s%s %s", any ? ", " : " (", hc_library_fact_word(shown[f]), text);
            any = true;
        }
    }
    printf("%s", any ? ")" : "");
}

/* The first ones, or all; those that stages leave out say why. */
static void print_names(const HcLibrary *library, bool all) {
    int32_t shown = all || library->count <= 32 ? library->count : 32;
    printf(library->count < library->entries ? "%-12s %d of %d\n" : "%-12s 1 to %d\n", "spectra",
           library->count, library->entries);
    for (int32_t i = 0; i < shown; i++) {
        HcLibraryEntry entry = hc_library_entry(library->name[i]);
        printf("%12d %s", number_of(library, i), library->name[i]);
        print_facts(library, i);
        printf(entry != HC_ENTRY_SPECTRUM ? " (left out: %s)\n" : "\n", hc_library_entry_word(entry));
    }
    if (shown < library->count) {
        printf("%12s %d more (--bands lists all)\n", "...", library->count - shown);
    }
}

/* What stages make of the library before they use it. */
static void add_left_out(const HcLibrary *library, HcText *to) {
    HcText entries = {0};
    HcText outliers = {0};
    if (hc_library_say_entries(library, &entries) > 0) {
        hc_text_add(to, "%-12s by name: %s; --all-spectra takes them\n", "left out", hc_text_shown(&entries));
    }
    hc_library_say_outliers(library, &outliers);
    if (outliers.length > 0) {
        hc_text_add(to, "%-12s %s\n", "outliers", outliers.data);
    }
    to->failed = to->failed || entries.failed || outliers.failed;
    hc_text_clear(&entries);
    hc_text_clear(&outliers);
}

static void print_bands(const HcLibrary *library) {
    printf("\n%6s %10s %8s %4s %8s\n", "band", "centre/nm", "fwhm/nm", "bad", "missing");
    for (int32_t b = 0; b < library->bands; b++) {
        char centre[32];
        char width[32];
        int32_t missing = 0;
        for (int32_t i = 0; i < library->count; i++) {
            missing += !isfinite(library->value[(size_t)i * (size_t)library->bands + (size_t)b]);
        }
        hc_info_number(library->wavelength, b, centre, sizeof centre);
        hc_info_number(library->fwhm, b, width, sizeof width);
        printf("%6d %10s %8s %4s %8d\n", b + 1, centre, width,
               library->bad != NULL && library->bad[b] ? "bad" : "", missing);
    }
}

static void print_lines(const HcLibrary *library, const char *path, const Counts *counts,
                        const char *left_out, bool all) {
    hc_show("%-12s %s (spectral library)", "file", path);
    printf("%-12s %d spectra x %d bands\n", "size", library->count, library->bands);
    print_ranges(library);
    printf("%-12s %d of %d\n", "bad bands", counts->bad, library->bands);
    printf("%-12s %lld of %lld values, in %d of %d spectra\n", "missing", (long long)counts->missing,
           (long long)counts->spectra * library->bands, counts->lacking, counts->spectra);
    if (isnan(counts->low)) {
        printf("%-12s none\n", "values");
    } else {
        printf("%-12s %.6g to %.6g, 99 %% up to %.6g\n", "values", counts->low, counts->high,
               counts->usual_high);
    }
    if (library->scale > 0) {
        printf("%-12s %.6g is reflectance 1 (not applied)\n", "scale", library->scale);
    }
    if (library->note[0] != '\0') {
        hc_show("%-12s %s", "note", library->note);
    }
    printf("%s", left_out);
    print_names(library, all);
    if (all) {
        print_bands(library);
    }
}

/* Makes all that can fail first, and prints all or nothing. */
static HcStatus print_library(const HcLibrary *library, const char *path, const Counts *counts, bool all,
                              HcError *err) {
    HcText left_out = {0};
    add_left_out(library, &left_out);
    HcStatus status = left_out.failed ? hc_fail_memory(err, 256, "the summary of a library") : HC_OK;
    if (status == HC_OK) {
        print_lines(library, path, counts, hc_text_shown(&left_out), all);
    }
    hc_text_clear(&left_out);
    return status;
}

/* The entries that stages leave out, and the values that count as missing. */
static void put_left_out(const HcLibrary *library, HcJson *to) {
    int32_t outlying = 0;
    HcLibraryOutliers outliers = hc_library_count_outliers(library, &outlying);
    hc_json_open_array(to, "left_out");
    for (int32_t i = 0; i < library->count; i++) {
        HcLibraryEntry entry = hc_library_entry(library->name[i]);
        if (entry != HC_ENTRY_SPECTRUM) {
            hc_json_open_object(to, NULL);
            hc_json_put_number(to, "spectrum_from_1", number_of(library, i));
            hc_json_put_text(to, "name", library->name[i]);
            hc_json_put_text(to, "why", hc_library_entry_word(entry));
            hc_json_close(to);
        }
    }
    hc_json_close(to);
    hc_json_put_number(to, "outlying_values", outliers.values);
    hc_json_put_number(to, "entries_with_outlying_values", outlying);
}

/* Lists of texts, one for each entry, of the facts that any entry has. */
static void put_facts(const HcLibrary *library, HcJson *to) {
    hc_json_open_object(to, "facts");
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        if (library->facts.text[f] != NULL) {
            hc_json_open_array(to, hc_library_fact_word((HcLibraryFact)f));
            for (int32_t i = 0; i < library->count; i++) {
                hc_json_put_text(to, NULL, hc_library_fact(library, i, (HcLibraryFact)f));
            }
            hc_json_close(to);
        }
    }
    hc_json_close(to);
}

void hc_info_put_bad_bands(const uint8_t *bad, int32_t bands, HcJson *to) {
    if (bad == NULL) {
        return;
    }
    hc_json_open_array(to, "bad_bands_from_1");
    for (int32_t b = 0; b < bands; b++) {
        if (bad[b]) {
            hc_json_put_number(to, NULL, b + 1);
        }
    }
    hc_json_close(to);
}

static HcStatus print_library_json(const HcLibrary *library, const char *path, const Counts *counts,
                                   HcError *err) {
    const double range[2] = {counts->low, counts->high};
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_text(&json, "file", path);
    hc_json_put_text(&json, "method", "spectral library");
    hc_json_put_number(&json, "spectra", library->count);
    hc_json_put_number(&json, "bands", library->bands);
    hc_json_put_doubles(&json, "wavelength_nm", library->wavelength, (size_t)library->bands);
    hc_json_put_doubles(&json, "fwhm_nm", library->fwhm, (size_t)library->bands);
    hc_info_put_bad_bands(library->bad, library->bands, &json);
    hc_json_put_number(&json, "missing_values", (double)counts->missing);
    hc_json_put_number(&json, "spectra_with_missing_values", counts->lacking);
    hc_json_put_doubles(&json, "value_range", range, 2);
    if (library->scale > 0) {
        hc_json_put_number(&json, "reflectance_scale_factor", library->scale);
    }
    if (library->note[0] != '\0') {
        hc_json_put_text(&json, "note", library->note);
    }
    put_left_out(library, &json);
    hc_json_open_array(&json, "numbers_from_1");
    for (int32_t i = 0; i < library->count; i++) {
        hc_json_put_number(&json, NULL, number_of(library, i));
    }
    hc_json_close(&json);
    hc_json_put(&json, "names", cJSON_CreateStringArray((const char *const *)library->name, library->count));
    put_facts(library, &json);
    return hc_print_json(&json, err);
}

HcStatus hc_info_library(const char *path, const char *spectra, bool json, bool all, HcError *err) {
    HcStatus status = HC_OK;
    HcLibrary library = {0};
    Counts counts = {0};
    char *note = NULL;
    HC_TRY(hc_library_read(&library, path, err));
    HC_TRY(hc_library_choose(&library, path, &(HcLibraryChoice){spectra, true}, "info", &note, err));
    HC_TRY(count_values(&library, &counts, err));
    if (json) {
        HC_TRY(print_library_json(&library, path, &counts, err));
    } else {
        HC_TRY(print_library(&library, path, &counts, all, err));
    }
done:
    free(note);
    hc_library_clear(&library);
    return status;
}
