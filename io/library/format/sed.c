/* Texts of Spectral Evolution (.sed): keys, then "Data:", a line of names and rows apart by tabs. */
#include "core/text.h"
#include "io/library/format/parts.h"

#include <string.h>

enum { COLUMNS_MAX = 32 };

static bool is_sed(const HcSpectrumFile *file) {
    return hc_spectrum_line(file, "Data:") >= 0 &&
           (hc_spectrum_line(file, "Columns [") >= 0 || hc_spectrum_key(file, "Instrument") != NULL);
}

/* Heads of a column of values, the best one first, and their value of reflectance 1 (0 = none). */
static const struct {
    const char *head;
    double scale;
} wanted[] = {{"Reflect. [1.0]", 1}, {"Reflect. %", 100},    {"Tgt./Ref. %", 100},
              {"Rad. (Target)", 0},  {"Irrad. (Target)", 0}, {"Norm. DN (Target)", 0}};

/* Columns of the line of names, in place; returns how many. */
static int32_t split_head(char *line, char *head[COLUMNS_MAX]) {
    int32_t count = 0;
    for (char *rest = line; rest != NULL && count < COLUMNS_MAX; count++) {
        head[count] = strsep(&rest, "\t");
    }
    while (count > 0 && head[count - 1][strspn(head[count - 1], " ")] == '\0') {
        count--;
    }
    return count;
}

static int32_t find(char *const *head, int32_t count, const char *name) {
    for (int32_t c = 0; c < count; c++) {
        if (hc_text_equal_trimmed(head[c], name)) {
            return c;
        }
    }
    return -1;
}

static HcStatus read_sed(const HcSpectrumFile *file, HcLibrary *out, HcError *err) {
    char *head[COLUMNS_MAX];
    int32_t data = hc_spectrum_line(file, "Data:");
    int32_t count = data + 1 < file->lines ? split_head(file->line[data + 1], head) : 0;
    HcSpectrumRows rows = {
        .first = data + 2, .columns = count, .x = find(head, count, "Wvl"), .y = -1, .unit = "nm"};
    for (size_t w = 0; w < sizeof wanted / sizeof *wanted && rows.y < 0; w++) {
        rows.y = find(head, count, wanted[w].head);
        out->scale = wanted[w].scale;
    }
    double scale = out->scale;
    if (rows.x < 0 || rows.y < 0) {
        return hc_fail(
            err, HC_E_INPUT,
            "%s: line %d: the columns 'Wvl' and 'Reflect. %%' (or another one of values) are missing",
            file->path, data + 2);
    }
    HC_OR_RETURN(hc_spectrum_rows(file, &rows, out, err));
    out->scale = scale;
    HC_OR_RETURN(hc_spectrum_name_by_file(file, out, 0, err));
    HC_OR_RETURN(hc_library_set_fact(out, 0, HC_FACT_DESCRIPTION, hc_spectrum_key(file, "Comment"), err));
    return hc_library_set_fact(out, 0, HC_FACT_SOURCE, hc_spectrum_key(file, "Instrument"), err);
}

const HcSpectrumFormat hc_format_sed = {"SED", is_sed, read_sed};
