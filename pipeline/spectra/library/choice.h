/* Which entries of a spectral library a stage uses: those whose names do not say that they are no spectra,
 * and of these the ones that the user chose. */
#ifndef HC_PIPELINE_SPECTRA_LIBRARY_CHOICE_H
#define HC_PIPELINE_SPECTRA_LIBRARY_CHOICE_H

#include "io/library/library.h"
#include "pipeline/option/option.h"

/* What the user asked for; in the parameters of stages that read a library. */
typedef struct HcLibraryChoice {
    const char *spectra; /* NULL = all */
    bool all;            /* also what is no spectrum by its name */
} HcLibraryChoice;

#define HC_LIBRARY_CHOICE_OPTIONS(Params, member)                                                            \
    {HC_TEXT(Params, member.spectra, "spectra"), .value = "LIST", .otherwise = "all spectra",                \
     .help = "use only these spectra of the library: numbers from 1, ranges, names and patterns of names, "  \
             "separated by commas: 1-20,35,Oak leaf,*kaolinite*"},                                           \
    {                                                                                                        \
        HC_FLAG(Params, member.all, "all-spectra"),                                                          \
            .help = "also use entries whose names say that they are no spectra (error bars, wavelengths, "   \
                    "widths)"                                                                                \
    }

/* Removes from a library what is not chosen. An item of the list is a number from 1, a range a-b of
 * numbers, or a name. In a name * ? and [...] are wildcards as in a shell; case is ignored. The order of
 * the library stays. *note becomes one fresh line about outliers and about what was left out by name, or
 * NULL. `who` starts the messages about options, `path` names the library.
 *
 * HC_E_USAGE: an item that is wrong, or matches nothing; nothing is left of what was chosen. HC_E_INPUT:
 * nothing is left of the whole library. HC_E_MEMORY. */
HcStatus hc_library_choose(HcLibrary *library, const char *path, const HcLibraryChoice *choice,
                           const char *who, char **note, HcError *err) HC_MUST_CHECK;

/* "680 of 1365 entries (679 error bars, 1 wavelengths)" of those that names tell to be no spectra, or
 * nothing; returns how many. */
int32_t hc_library_say_entries(const HcLibrary *library, HcText *text);
/* The outliers of all entries, and how many entries hold them. */
HcLibraryOutliers hc_library_count_outliers(const HcLibrary *library, int32_t *entries);
/* "180 values in 90 entries stand far outside of the others (-8e+29 to -31) and count as missing", or
 * nothing. */
void hc_library_say_outliers(const HcLibrary *library, HcText *text);

#endif
