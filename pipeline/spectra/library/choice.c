/* Libraries list error bars and wavelengths among their spectra. Entries whose names say so are left out and
 * counted in a note, also among those that the user chose (--all-spectra takes them). A name that fits
 * nothing is answered with the nearest one, or with how many names contain it. */
#include "pipeline/spectra/library/choice.h"
#include "core/allocate.h"

#include <fnmatch.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is said ---- */

int32_t hc_library_say_entries(const HcLibrary *library, HcText *text) {
    int32_t found[HC_ENTRY_KINDS] = {0};
    int32_t others = 0;
    for (int32_t i = 0; i < library->count; i++) {
        HcLibraryEntry entry = hc_library_entry(library->name[i]);
        found[entry]++;
        others += entry != HC_ENTRY_SPECTRUM;
    }
    if (others == 0) {
        return 0;
    }
    hc_text_add(text, "%d of %d entries (", others, library->count);
    const char *between = "";
    for (int e = HC_ENTRY_SPECTRUM + 1; e < HC_ENTRY_KINDS; e++) {
        if (found[e] > 0) {
            hc_text_add(text, "%s%d %s", between, found[e], hc_library_entry_word((HcLibraryEntry)e));
            between = ", ";
        }
    }
    hc_text_add(text, ")");
    return others;
}

HcLibraryOutliers hc_library_count_outliers(const HcLibrary *library, int32_t *entries) {
    HcLibraryOutliers all = {.lowest = INFINITY, .highest = -INFINITY};
    *entries = 0;
    for (int32_t i = 0; i < library->count; i++) {
        const HcLibraryOutliers *own = &library->outliers[i];
        if (own->values > 0) {
            all.values += own->values;
            all.lowest = fminf(all.lowest, own->lowest);
            all.highest = fmaxf(all.highest, own->highest);
            ++*entries;
        }
    }
    return all;
}

void hc_library_say_outliers(const HcLibrary *library, HcText *text) {
    int32_t entries = 0;
    HcLibraryOutliers all = hc_library_count_outliers(library, &entries);
    bool one = all.values == 1;
    if (all.values == 0) {
        return;
    }
    hc_text_add(text, "%d value%s in %d entr%s stand%s far outside of the others (", all.values,
                one ? "" : "s", entries, entries == 1 ? "y" : "ies", one ? "s" : "");
    hc_text_add(text, all.lowest == all.highest ? "%.3g" : "%.3g to %.3g", (double)all.lowest,
                (double)all.highest);
    hc_text_add(text, ") and count%s as missing", one ? "s" : "");
}

/* ---- the list ---- */

/* A whole number; false when it is none, or beyond what an entry can be. */
static bool take_number(const char **at, int32_t *number) {
    size_t digits = strspn(*at, "0123456789");
    if (digits == 0 || digits > 9) {
        return false;
    }
    *number = (int32_t)strtol(*at, NULL, 10);
    *at += digits;
    return true;
}

/* "7" or "3-9". */
static bool is_range(const char *item, int32_t *low, int32_t *high) {
    if (!take_number(&item, low)) {
        return false;
    }
    *high = *low;
    if (*item == '-') {
        item++;
        return take_number(&item, high) && *item == '\0';
    }
    return *item == '\0';
}

static HcStatus take_range(const HcLibrary *library, const char *path, const char *who, const char *item,
                           int32_t low, int32_t high, uint8_t *chosen, HcError *err) {
    if (low < 1 || high < low || high > library->count) {
        return hc_fail(err, HC_E_USAGE, "%s: --spectra %s: %s has entries 1 to %d", who, item, path,
                       library->count);
    }
    memset(chosen + low - 1, 1, (size_t)(high - low) + 1);
    return HC_OK;
}

/* How many names contain a text, whatever its case. */
static int32_t count_containing(const HcLibrary *library, const char *text) {
    int32_t count = 0;
    for (int32_t i = 0; i < library->count; i++) {
        count += strcasestr(library->name[i], text) != NULL;
    }
    return count;
}

/* How many names contain what fits none; else the nearest one, or the first. */
static HcStatus fail_name(const HcLibrary *library, const char *path, const char *who, const char *item,
                          HcError *err) {
    int32_t holding = count_containing(library, item);
    if (holding > 0) {
        return hc_fail(
            err, HC_E_USAGE,
            "%s: --spectra %s: no entry of %s has exactly this name, %d name%s it (--spectra '*%s*')", who,
            item, path, holding, holding == 1 ? " contains" : "s contain", item);
    }
    const char **names = NULL;
    HC_OR_RETURN(hc_new(names, (size_t)library->count + 1, "names of spectra", err));
    memcpy(names, library->name, (size_t)library->count * sizeof *names);
    names[library->count] = NULL;
    const char *nearest = hc_text_nearest(item, names);
    HcStatus status =
        nearest != NULL
            ? hc_fail(err, HC_E_USAGE, "%s: --spectra %s: not in %s, did you mean %s?", who, item, path,
                      nearest)
            : hc_fail(err, HC_E_USAGE, "%s: --spectra %s: no entry of %s has such a name (the first is %s)",
                      who, item, path, names[0]);
    free(names);
    return status;
}

static HcStatus take_item(const HcLibrary *library, const char *path, const char *who, const char *item,
                          uint8_t *chosen, HcError *err) {
    int32_t low = 0;
    int32_t high = 0;
    bool found = false;
    if (*item == '\0') {
        return hc_fail(err, HC_E_USAGE, "%s: --spectra: an item of the list is empty", who);
    }
    if (is_range(item, &low, &high)) {
        return take_range(library, path, who, item, low, high, chosen, err);
    }
    for (int32_t i = 0; i < library->count; i++) {
        bool fits = hc_text_equal(item, library->name[i]) ||
                    fnmatch(item, library->name[i], FNM_CASEFOLD | FNM_NOESCAPE) == 0;
        chosen[i] |= fits;
        found = found || fits;
    }
    return found ? HC_OK : fail_name(library, path, who, item, err);
}

/* An item without the blanks round it. */
static char *trim(char *item) {
    item += strspn(item, " \t");
    size_t length = strlen(item);
    while (length > 0 && (item[length - 1] == ' ' || item[length - 1] == '\t')) {
        item[--length] = '\0';
    }
    return item;
}

static HcStatus mark_chosen(const HcLibrary *library, const char *path, const char *list, const char *who,
                            uint8_t *chosen, HcError *err) {
    HcStatus status = HC_OK;
    char *copy = strdup(list);
    HC_OR_RETURN(hc_text_made(copy, strlen(list), "a list of spectra", err));
    for (char *rest = copy; rest != NULL;) {
        char *item = strsep(&rest, ",");
        HC_TRY(take_item(library, path, who, trim(item), chosen, err));
    }
done:
    free(copy);
    return status;
}

/* ---- the choice ---- */

static HcStatus make_note(const HcLibrary *library, const char *path, const HcText *entries, char **note,
                          HcError *err) {
    HcText text = {0};
    HcText outliers = {0};
    hc_library_say_outliers(library, &outliers);
    if (entries->length > 0) {
        hc_text_add(&text, "%s: left out by name: %s (--all-spectra takes them)", path, entries->data);
    }
    if (outliers.length > 0) {
        hc_text_add(&text, "%s%s%s", text.length > 0 ? "" : path, text.length > 0 ? "; " : ": ",
                    outliers.data);
    }
    bool failed = text.failed || outliers.failed || entries->failed;
    hc_text_clear(&outliers);
    *note = text.length > 0 ? hc_text_take(&text) : NULL;
    hc_text_clear(&text);
    return failed ? hc_fail_memory(err, 256, "a note") : HC_OK;
}

/* Of the entries that are there, those whose names say that they are spectra. */
static HcStatus leave_out_by_name(HcLibrary *library, const char *path, const HcLibraryChoice *choice,
                                  const char *who, uint8_t *keep, HcText *entries, HcError *err) {
    int32_t others = choice->all ? 0 : hc_library_say_entries(library, entries);
    if (others == 0) {
        return HC_OK;
    }
    if (others == library->count) {
        return choice->spectra != NULL
                   ? hc_fail_text(
                         err, HC_E_USAGE, entries,
                         "%s: --spectra %s: no spectrum by its name, %s of %s (--all-spectra takes them)",
                         who, choice->spectra, hc_text_shown(entries), path)
                   : hc_fail_text(err, HC_E_INPUT, entries,
                                  "%s: holds no spectrum by its names, %s (--all-spectra takes them)", path,
                                  hc_text_shown(entries));
    }
    for (int32_t i = 0; i < library->count; i++) {
        keep[i] = hc_library_entry(library->name[i]) == HC_ENTRY_SPECTRUM;
    }
    library->left_out_by_name = others;
    return hc_library_keep(library, keep, err);
}

HcStatus hc_library_choose(HcLibrary *library, const char *path, const HcLibraryChoice *choice,
                           const char *who, char **note, HcError *err) {
    HcStatus status = HC_OK;
    HcText entries = {0};
    uint8_t *keep = calloc((size_t)library->count, 1);
    *note = NULL;
    if (keep == NULL) {
        return hc_fail_memory(err, library->count, "a choice of spectra");
    }
    if (choice->spectra != NULL) {
        HC_TRY(mark_chosen(library, path, choice->spectra, who, keep, err));
        HC_TRY(hc_library_keep(library, keep, err));
    }
    HC_TRY(leave_out_by_name(library, path, choice, who, keep, &entries, err));
    HC_TRY(make_note(library, path, &entries, note, err));
done:
    hc_text_clear(&entries);
    free(keep);
    return status;
}
