/* Tables with a line a spectrum as databases and R write them: columns of texts and figures (class, site,
 * date), and columns of values under their wavelengths ("350", "X350", "X350.5"). */
#include "core/allocate.h"
#include "core/text.h"
#include "io/library/parts.h"
#include "core/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Minimum number of columns of values: fewer may be names that end in figures. */
enum { VALUES_MIN = 3 };

/* Heads of columns that hold a fact, after the fact's own word. */
static const char *const fact_heads[HC_LIBRARY_FACTS][8] = {
    {"class", "category", "group", "type", "subclass", NULL},
    {"description", "comment", "comments", "notes", NULL},
    {"source", "owner", "origin", "instrument", "citation", NULL},
    {"quality", "purity", "flag", NULL}};

/* Those of names, the best ones first. */
static const char *const name_heads[] = {"name",   "names",     "spectrum",    "spectra",     "spectrum name",
                                         "sample", "sample_id", "sample name", "sample_name", "sample id",
                                         "label",  "material",  "spectra id",  "id",          NULL};

typedef struct Columns {
    int64_t first, count; /* of the values, which stand side by side */
    int64_t name;
} Columns;

/* The first run of columns whose heads are wavelengths that rise or fall. */
static void find_values(const HcCells *cells, Columns *columns) {
    for (int64_t first = 0; first<cells->columns; first += columns->count> 0 ? columns->count : 1) {
        double before = 0, value = 0, start = 0;
        int64_t count = 0;
        const char *model = hc_cells_at(cells, 0, first), *suffix = NULL;
        bool up = false;
        for (; first + count < cells->columns &&
               hc_cells_affixed(cells, model, hc_cells_at(cells, 0, first + count), &value, &suffix);
             count++) {
            if ((count > 0 && value == before) || (count > 1 && (value > before) != up)) {
                break;
            }
            start = count == 0 ? value : start;
            up = value > before;
            before = value;
        }
        bool micrometres = start > 0.1 && start < 30 && strpbrk(model, ".,") != NULL;
        if (count >= VALUES_MIN && (start >= 100 || before >= 100 || micrometres)) {
            columns->first = first;
            columns->count = count;
            return;
        }
    }
}

static bool is_value(const Columns *columns, int64_t column) {
    return column >= columns->first && column < columns->first + columns->count;
}

/* Whether the first spectrum has a number in the column, or nothing. */
static bool has_figure(const HcCells *cells, int64_t column) {
    const char *cell = hc_cells_at(cells, 1, column);
    double value = 0;
    return hc_cells_is_missing(cell) || hc_cells_number(cells, cell, &value);
}

static int64_t find_head(const HcCells *cells, const Columns *columns, const char *const *heads) {
    for (; *heads != NULL; heads++) {
        for (int64_t c = 0; c < cells->columns; c++) {
            if (!is_value(columns, c) && hc_text_equal(hc_cells_at(cells, 0, c), *heads)) {
                return c;
            }
        }
    }
    return -1;
}

/* Whether a column beside the values says that the table has a line a band, or has the wavelengths. A column
 * of texts does not: that of units, "Wavelength Units". */
static bool is_other_table(const HcCells *cells, const Columns *columns) {
    static const char *const heads[] = {"band",   "bands", "channel", "channels", "wl", "wave",
                                        "lambda", "wvl",   "nm",      "um",       NULL};
    for (int64_t c = 0; c < cells->columns; c++) {
        if (hc_library_entry(hc_cells_at(cells, 0, c)) == HC_ENTRY_WAVELENGTHS && has_figure(cells, c)) {
            return true;
        }
    }
    return find_head(cells, columns, heads) >= 0;
}

/* Whether the first spectrum has a text beside its values: a table with a line a band has numbers alone. */
static bool has_texts(const HcCells *cells, const Columns *columns) {
    double value = 0;
    bool text = false;
    for (int64_t c = 0; c < cells->columns; c++) {
        text = text || !has_figure(cells, c);
    }
    return text && hc_cells_number(cells, hc_cells_at(cells, 1, columns->first), &value);
}

/* Whether no two spectra have the same text in the column. */
static HcStatus tells_apart(const HcCells *cells, int64_t column, bool *does, HcError *err) {
    const char **text = NULL;
    int64_t count = cells->rows - 1;
    HC_OR_RETURN(hc_new(text, count + 1, "the columns of a table", err));
    for (int64_t r = 0; r < count; r++) {
        text[r] = hc_cells_at(cells, r + 1, column);
    }
    qsort(text, (size_t)count, sizeof *text, hc_compare_texts);
    *does = true;
    for (int64_t r = 1; r < count; r++) {
        *does = *does && strcmp(text[r - 1], text[r]) != 0;
    }
    free(text);
    return HC_OK;
}

/* The column of names by its head, else the first one. Where that has figures, the first column of texts that
 * differ. */
static HcStatus find_names(const HcCells *cells, Columns *columns, HcError *err) {
    bool found = false;
    columns->name = find_head(cells, columns, name_heads);
    if (columns->name >= 0) {
        return HC_OK;
    }
    columns->name = 0;
    for (int64_t c = 0; c < cells->columns && has_figure(cells, 0) && !found; c++) {
        if (!is_value(columns, c) && !has_figure(cells, c)) {
            HC_OR_RETURN(tells_apart(cells, c, &found, err));
            columns->name = found ? c : 0;
        }
    }
    return HC_OK;
}

/* Leaves the number alone in the heads of the values. */
static void trim_heads(HcCells *cells, const Columns *columns) {
    char **head = cells->cell + cells->row[0].first + columns->first;
    size_t prefix = strcspn(head[0], "0123456789");
    for (int64_t c = 0; c < columns->count; c++) {
        head[c] += prefix;
        head[c][strspn(head[c], "0123456789.,")] = '\0';
    }
}

/* Puts the name and the values of each row side by side, in place. */
static void compact(HcCells *cells, const Columns *columns) {
    static char corner[] = "name";
    for (int64_t r = 0; r < cells->rows; r++) {
        char **cell = cells->cell + cells->row[r].first;
        char *name = r == 0 ? corner : cell[columns->name];
        memmove(cell + 1, cell + columns->first, (size_t)columns->count * sizeof *cell);
        cell[0] = name;
        cells->row[r].count = columns->count + 1;
    }
    cells->columns = columns->count + 1;
}

HcStatus hc_cells_take_columns(HcCells *cells, char **facts[HC_LIBRARY_FACTS], char note[120], HcError *err) {
    Columns columns = {0};
    find_values(cells, &columns);
    int64_t others = cells->columns - columns.count;
    if (cells->rows < 2 || columns.count == 0 || columns.first < 1 || others < 2 ||
        is_other_table(cells, &columns) || !has_texts(cells, &columns)) {
        return HC_OK;
    }
    HC_OR_RETURN(find_names(cells, &columns, err));
    others--;
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        int64_t from = find_head(cells, &columns, fact_heads[f]);
        if (from < 0) {
            continue;
        }
        HC_OR_RETURN(hc_new(facts[f], cells->rows, "the columns of a table", err));
        for (int64_t r = 0; r < cells->rows; r++) {
            facts[f][r] = cells->cell[cells->row[r].first + from];
        }
        others -= from != columns.name;
    }
    if (others > 0) {
        snprintf(note, 120, "%lld column%s beside names, values and facts left out", (long long)others,
                 others == 1 ? "" : "s");
    }
    trim_heads(cells, &columns);
    compact(cells, &columns);
    return HC_OK;
}
