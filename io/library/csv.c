/* Spectral libraries as CSV: which way round the table of cells lies, and where its wavelengths are. */
#include "core/allocate.h"
#include "core/text.h"
#include "io/file.h"
#include "io/library/parts.h"
#include "io/read/metadata/wavelength.h"
#include "io/shape/shapes.h"

#include <cpl_vsi.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The table with a line a band, whichever way round it lies: names of spectra above, wavelengths in a column.
 */
typedef struct Table {
    HcCells cells;
    bool across;       /* it has one line a spectrum in the file */
    int64_t head;      /* lines before the first band: names, and perhaps units */
    int64_t first;     /* the first column: one before it numbers the lines */
    int64_t axis;      /* the column of the wavelengths */
    char unit[32];     /* of the wavelengths, "": not known */
    const char *other; /* their unit where it is no length: "cm-1", "number of a band"; or NULL */
} Table;

static int64_t rows_of(const Table *table) {
    return table->across ? table->cells.columns : table->cells.rows;
}

static int64_t columns_of(const Table *table) {
    return table->across ? table->cells.rows : table->cells.columns;
}

static const char *cell_at(const Table *table, int64_t row, int64_t column) {
    return table->across ? hc_cells_at(&table->cells, column, row) : hc_cells_at(&table->cells, row, column);
}

static int32_t line_of(const Table *table, int64_t row, int64_t column) {
    return table->cells.row[table->across ? column : row].line;
}

static bool is_number(const Table *table, int64_t row, int64_t column, double *value) {
    return hc_cells_number(&table->cells, cell_at(table, row, column), value);
}

/* ---- what cells say ---- */

/* The unit in the cell over the wavelengths: its last word ("wavelength_nm", "Wavelength [um]"), where that
 * is one. */
static const char *find_unit(const char *cell, char *word, size_t size) {
    static const char ends[] = " _[]()/.";
    double factor = 0;
    size_t end = strlen(cell);
    while (end > 0 && strchr(ends, cell[end - 1]) != NULL) {
        end--;
    }
    size_t begin = end;
    while (begin > 0 && strchr(ends, cell[begin - 1]) == NULL) {
        begin--;
    }
    snprintf(word, size, "%.*s", (int)(end - begin < size ? end - begin : size - 1), cell + begin);
    return hc_wavelength_unit(word, &factor) == HC_UNIT_LENGTH ? word : NULL;
}

/* Whether a cell over a column says that it has mere numbers of bands. */
static bool counts_bands(const char *cell) {
    static const char *const words[] = {"band", "bands", "channel", "channels", "index", "number", NULL};
    return hc_text_find(cell, words) >= 0;
}

/* Whether the cell heads a column of numbers of bands or lines. */
static bool counts(const char *cell) {
    static const char *const words[] = {"", "b", "ch", "id", "no", "nr", "#", NULL};
    return counts_bands(cell) || hc_text_find(cell, words) >= 0;
}

/* Whether a cell over a column says that it has wavelengths. */
static bool says_wavelengths(const char *cell) {
    static const char *const words[] = {"wl", "wave", "lambda", "wvl", NULL};
    return hc_library_entry(cell) == HC_ENTRY_WAVELENGTHS || hc_text_find(cell, words) >= 0;
}

/* Whether a cell stands over names of spectra. */
static bool says_names(const char *cell) {
    static const char *const words[] = {"name",  "names",    "spectrum", "spectra", "sample",
                                        "label", "material", "class",    NULL};
    return hc_text_find(cell, words) >= 0 || (counts(cell) && !counts_bands(cell));
}

static const char counted_unit[] = "number of a band";

/* "cm-1" of "Wavenumber" and "x (cm-1)": units that are no length; or NULL. */
static const char *other_unit(const char *cell) {
    static const char *const parts[][2] = {{"wavenumber", "cm-1"}, {"cm-1", "cm-1"}, {"cm^-1", "cm-1"},
                                           {"1/cm", "cm-1"},       {"(ev)", "eV"},   {"hz)", "Hz"}};
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        if (strcasestr(cell, parts[p][0]) != NULL) {
            return parts[p][1];
        }
    }
    return NULL;
}

/* ---- which way round ---- */

/* Whether most cells of the first column are numbers, from this row on. */
static bool has_numbers(const Table *table, int64_t from) {
    double value = 0;
    int64_t numbers = 0;
    for (int64_t r = from; r < rows_of(table); r++) {
        numbers += is_number(table, r, 0, &value);
    }
    return 2 * numbers > rows_of(table) - from;
}

/* Whether a column has the numbers from 0 or 1 on, in steps of 1. */
static bool is_counted(const Table *table, int64_t column, int64_t from) {
    double first = 0, value = 0;
    bool counted = is_number(table, from, column, &first) && (first == 0 || first == 1);
    for (int64_t r = from + 1; r < rows_of(table) && counted; r++) {
        counted = is_number(table, r, column, &value) && value == first + (double)(r - from);
    }
    return counted && rows_of(table) > from + 1;
}

/* The largest step of the first column as the logarithm of a ratio. Infinite where the numbers cannot be
 * wavelengths, since they do not all go up, or down. */
static double largest_step(const Table *table, int64_t from) {
    double before = 0, value = 0, largest = 0;
    bool up = false;
    for (int64_t r = from; r < rows_of(table); r++) {
        bool is = is_number(table, r, 0, &value) && value > 0 && isfinite(value);
        if (!is || (r > from && value == before) || (r > from + 1 && (value > before) != up)) {
            return INFINITY;
        }
        up = value > before;
        largest = r > from ? fmax(largest, fabs(log(value / before))) : 0;
        before = value;
    }
    return largest;
}

/* The number of a cell among letters that all cells of the column share. */
static bool read_affixed(const Table *table, int64_t row, int64_t first_row, int64_t column, double *value,
                         const char **suffix) {
    return hc_cells_affixed(&table->cells, cell_at(table, first_row, column), cell_at(table, row, column),
                            value, suffix);
}

static bool is_affixed(const Table *table, int64_t column, int64_t from) {
    double value = 0;
    const char *suffix = NULL, *other = NULL;
    bool is = rows_of(table) > from && read_affixed(table, from, from, column, &value, &suffix);
    for (int64_t r = from + 1; r < rows_of(table) && is; r++) {
        is = read_affixed(table, r, from, column, &value, &other) && strcmp(suffix, other) == 0;
    }
    return is;
}

/* The column under a word for wavelengths, or -1. Under a word for names that has wavelengths the first one
 * counts: libraries may have an entry that is called so. */
static int64_t find_axis(const Table *table) {
    if (says_names(cell_at(table, 0, 0)) && !is_counted(table, 0, 1) && isfinite(largest_step(table, 1))) {
        return 0;
    }
    for (int64_t c = 0; c < columns_of(table); c++) {
        if (says_wavelengths(cell_at(table, 0, c))) {
            return c;
        }
    }
    return -1;
}

/* Decimal commas that also separate (400,0,12) make columns of 0, which a header would have shown. */
static HcStatus check_zeros(const Table *table, HcError *err) {
    for (int64_t c = 1; c < columns_of(table) && !table->cells.points; c++) {
        int64_t zeros = 0;
        while (zeros < rows_of(table) && strcmp(cell_at(table, zeros, c), "0") == 0) {
            zeros++;
        }
        if (zeros == rows_of(table)) {
            return hc_fail(err, HC_E_INPUT,
                           "%s: line %" PRId32 " is no header, and value %" PRId64
                           " of each line is 0: decimal "
                           "commas need semicolons or tabs between values",
                           table->cells.path, line_of(table, 0, 0), c + 1);
        }
    }
    return HC_OK;
}

/* Orients a table of numbers alone: the first column or the first line has the wavelengths, by the smaller
 * steps. */
static HcStatus orient_numbers(Table *down, const Table *across, HcError *err) {
    double along = largest_step(down, 0), aside = largest_step(across, 0);
    bool is_across = aside < along / 2;
    if (!is_across && !(along < aside / 2)) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: line %" PRId32 " is no header: names of spectra are missing, and it is not clear "
                       "where the wavelengths are",
                       down->cells.path, line_of(down, 0, 0));
    }
    *down = is_across ? *across : *down;
    down->head = 0;
    return check_zeros(down, err);
}

/* Whether a cell stands over wavelengths, or numbers of bands. */
static bool says_bands(const char *cell) {
    char word[32];
    return says_wavelengths(cell) || counts_bands(cell) || find_unit(cell, word, sizeof word) != NULL;
}

/* Where no word says so, numbers that do not go up or down, or that reflectances can be, are no wavelengths:
 * the header or the column of the wavelengths is missing. */
static HcStatus check_axis(const Table *table, HcError *err) {
    const char *corner = cell_at(table, 0, 0);
    double value = 0, largest = 0;
    bool numbers = true;
    for (int64_t r = 1; r < rows_of(table) && numbers; r++) {
        numbers = is_number(table, r, 0, &value);
        largest = fmax(largest, value);
    }
    if (!numbers || says_names(corner) || says_bands(corner) ||
        (largest >= 1.5 && isfinite(largest_step(table, 1)))) {
        return HC_OK;
    }
    return hc_fail(err, HC_E_INPUT,
                   "%s: line %" PRId32
                   " begins with '%.40s': neither it nor the first column has wavelengths "
                   "(their first cell is 'wavelength_nm' or the like)",
                   table->cells.path, line_of(table, 0, 0), corner);
}

/* Orients a table whose first line and first column are numbers after the first cell: spectra are numbered,
 * or bands. */
static HcStatus orient_numbered(const Table *down, const Table *across, bool *lies_across, HcError *err) {
    const char *corner = cell_at(down, 0, 0);
    double along = largest_step(down, 1), aside = largest_step(across, 1);
    if (says_bands(corner)) {
        *lies_across = is_counted(down, 0, 1) && !is_counted(across, 0, 1) && isfinite(aside);
        return HC_OK;
    }
    *lies_across = isfinite(aside) && (says_names(corner) || aside < along);
    if (!says_names(corner) && fmax(along, aside) < 0.3) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: line %" PRId32 " begins with '%.40s': both it and the first column may have "
                       "wavelengths (write 'wavelength_nm' or 'name' there)",
                       down->cells.path, line_of(down, 0, 0), corner);
    }
    return HC_OK;
}

/* Orients a table without such numbers: by words for wavelengths, and by numbers among letters. */
static HcStatus orient_words(const Table *down, const Table *across, bool *lies_across, HcError *err) {
    bool words = find_axis(down) >= 0;
    *lies_across = !words && (find_axis(across) >= 0 || is_affixed(across, 0, 1));
    return words || *lies_across || is_affixed(down, 0, 1)
               ? HC_OK
               : hc_fail(err, HC_E_INPUT,
                         "%s: line %" PRId32 " is no header: neither it nor the first column has "
                         "wavelengths ('%.40s' in line %" PRId32 " is not a number)",
                         down->cells.path, line_of(down, 0, 0), cell_at(down, 1, 0), line_of(down, 1, 0));
}

/* A column of numbers of lines may come before that of the wavelengths. */
static void find_columns(Table *table) {
    int64_t axis = find_axis(table);
    const char *corner = cell_at(table, 0, 0);
    char word[32];
    if (axis > 0 && find_unit(corner, word, sizeof word) == NULL) {
        table->axis = axis;
        table->first = counts(corner);
    }
}

/* Fills all but the unit. */
static HcStatus orient(Table *table, HcError *err) {
    double value = 0;
    Table across = *table;
    across.across = true;
    table->head = across.head = 1;
    bool bands_down = has_numbers(table, 1), bands_across = has_numbers(&across, 1);
    if (bands_down && bands_across && is_number(table, 0, 0, &value)) {
        return orient_numbers(table, &across, err);
    }
    bool lies_across = bands_across && !bands_down;
    if (bands_across && bands_down) {
        HC_OR_RETURN(orient_numbered(table, &across, &lies_across, err));
    } else if (!bands_across && !bands_down) {
        HC_OR_RETURN(orient_words(table, &across, &lies_across, err));
    }
    *table = lies_across ? across : *table;
    find_columns(table);
    return find_axis(table) >= 0 ? HC_OK : check_axis(table, err);
}

/* ---- wavelengths ---- */

/* A line of units under the names. */
static void take_units(Table *table) {
    double value = 0, factor = 0;
    const char *cell = table->head == 1 && rows_of(table) > 2 ? cell_at(table, 1, table->axis) : "";
    if (hc_wavelength_unit(cell, &factor) == HC_UNIT_LENGTH && !is_number(table, 2, table->axis, &value)) {
        return;
    }
    if (hc_wavelength_unit(cell, &factor) == HC_UNIT_LENGTH) {
        snprintf(table->unit, sizeof table->unit, "%s", cell);
        table->head = 2;
    }
}

static void find_kind(Table *table, bool affixed) {
    const char *suffix = "";
    char word[32] = "";
    double value = 0;
    const char *cell = table->head > 0 ? cell_at(table, 0, table->axis) : "wavelength";
    const char *unit = find_unit(cell, word, sizeof word);
    if (table->unit[0] == '\0' && unit != NULL) {
        snprintf(table->unit, sizeof table->unit, "%s", unit);
    }
    if (affixed && read_affixed(table, table->head, table->head, table->axis, &value, &suffix)) {
        const char *model = cell_at(table, table->head, table->axis);
        snprintf(word, sizeof word, "%.*s", (int)strcspn(model, "0123456789 _-"), model);
        table->other = *word != '\0' && counts(word) ? counted_unit : NULL;
        unit = find_unit(suffix, word, sizeof word);
        snprintf(table->unit, sizeof table->unit, "%s", unit != NULL ? unit : table->unit);
    }
    bool numbered = table->unit[0] == '\0' && !says_wavelengths(cell) &&
                    (counts_bands(cell) || is_counted(table, table->axis, table->head));
    const char *other = other_unit(cell);
    table->other = other != NULL ? other : numbered ? counted_unit : table->other;
}

static HcStatus get_wavelengths(const Table *table, bool affixed, double *to, HcError *err) {
    for (int64_t r = table->head; r < rows_of(table); r++) {
        const char *suffix = NULL;
        bool is = affixed ? read_affixed(table, r, table->head, table->axis, &to[r - table->head], &suffix)
                          : is_number(table, r, table->axis, &to[r - table->head]);
        if (!is) {
            return hc_fail(err, HC_E_INPUT, "%s: '%.60s' in line %" PRId32 " is not a number (a wavelength)",
                           table->cells.path, cell_at(table, r, table->axis), line_of(table, r, table->axis));
        }
    }
    return HC_OK;
}

/* Whether a column has the wavelengths, the first such column or a later one. */
static bool repeats_axis(const Table *table, int64_t column) {
    return column == table->axis ||
           (table->head > 0 && says_wavelengths(cell_at(table, 0, column)) &&
            hc_text_equal(cell_at(table, 0, column), cell_at(table, 0, table->axis)));
}

static int64_t count_spectra(const Table *table) {
    int64_t count = 0;
    for (int64_t c = table->first; c < columns_of(table); c++) {
        count += !repeats_axis(table, c);
    }
    return count;
}

/* Programs that write a column of wavelengths for each spectrum may give each its own. */
static HcStatus check_axes(const Table *table, const double *wavelength, HcError *err) {
    double value = 0;
    for (int64_t c = table->axis + 1; c < columns_of(table); c++) {
        bool same = repeats_axis(table, c);
        for (int64_t r = table->head; r < rows_of(table) && same; r++) {
            if (!is_number(table, r, c, &value) || value != wavelength[r - table->head]) {
                return hc_fail(
                    err, HC_E_INPUT,
                    "%s: '%.40s' in line %" PRId32 ": the second '%.40s' differs from the first, and "
                    "the spectra of a library have the same wavelengths",
                    table->cells.path, cell_at(table, r, c), line_of(table, r, c), cell_at(table, 0, c));
            }
        }
    }
    return HC_OK;
}

/* ---- values ---- */

static HcStatus get_number(const Table *table, int64_t row, int64_t column, double *value, HcError *err) {
    const char *cell = cell_at(table, row, column);
    if (!is_number(table, row, column, value)) {
        *value = NAN;
        if (!hc_cells_is_missing(cell)) {
            return hc_fail(err, HC_E_INPUT, "%s: '%.60s' in line %" PRId32 " is not a number",
                           table->cells.path, cell, line_of(table, row, column));
        }
    }
    return HC_OK;
}

static HcStatus fill(HcLibrary *out, const Table *table, HcError *err) {
    double value = 0;
    int32_t spectrum = 0;
    for (int64_t c = table->first; c < columns_of(table); c++) {
        if (repeats_axis(table, c)) {
            continue;
        }
        HC_OR_RETURN(hc_library_name(out, spectrum, table->head > 0 ? cell_at(table, 0, c) : NULL, err));
        for (int32_t b = 0; b < out->bands; b++) {
            HC_OR_RETURN(get_number(table, table->head + b, c, &value, err));
            out->value[(size_t)spectrum * (size_t)out->bands + (size_t)b] = hc_library_value(value);
        }
        spectrum++;
    }
    return HC_OK;
}

/* The column of that name in the first line, -1 = none. */
static int64_t find_column(const HcCells *cells, const char *name) {
    int64_t c = 0;
    while (c < cells->columns && !hc_text_equal(hc_cells_at(cells, 0, c), name)) {
        c++;
    }
    return c < cells->columns ? c : -1;
}

/* Refuses a table of points. Spectra may have the columns x and y, but no names beside them. */
static HcStatus check_points(const HcCells *cells, HcError *err) {
    for (size_t p = 0; hc_point_columns[p].x != NULL && cells->rows > 1; p++) {
        const HcPointColumns *pair = &hc_point_columns[p];
        int64_t x = find_column(cells, pair->x), y = find_column(cells, pair->y);
        double value = 0;
        bool named = strcmp(pair->x, "x") != 0;
        for (int64_t c = 0; c < cells->columns; c++) {
            named = named || (c != x && c != y && !hc_cells_number(cells, hc_cells_at(cells, 1, c), &value));
        }
        if (x >= 0 && y >= 0 && named) {
            return hc_fail(
                err, HC_E_INPUT,
                "%s: a table of points (columns %s and %s), and not of spectra: extract --labels takes "
                "it",
                cells->path, pair->x, pair->y);
        }
    }
    return HC_OK;
}

/* Facts of columns (facts[fact][rows], the first of them a head) or of comments before the table. */
static HcStatus fill_facts(HcLibrary *out, Table *table, char **facts[HC_LIBRARY_FACTS], HcError *err) {
    HcStatus status = HC_OK;
    char **cell = NULL;
    double scale = 0;
    HC_TRY(hc_new(cell, out->count, "the facts of a library", err));
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        const char *word = hc_library_fact_word((HcLibraryFact)f);
        int64_t found =
            facts[f] != NULL ? out->count : hc_cells_comment(&table->cells, word, cell, out->count);
        for (int32_t i = 0; i < found; i++) {
            const char *text = facts[f] != NULL ? facts[f][i + 1] : cell[i];
            HC_TRY(hc_library_set_fact(out, i, (HcLibraryFact)f, text, err));
        }
    }
    if (hc_cells_comment(&table->cells, HC_LIBRARY_SCALE_WORD, cell, 1) == 1 &&
        hc_text_parse_double(cell[0], &scale) && scale > 0 && isfinite(scale)) {
        out->scale = scale;
    }
done:
    free(cell);
    return status;
}

HcStatus hc_library_read_csv(HcLibrary *out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    Table table = {0};
    char **facts[HC_LIBRARY_FACTS] = {NULL};
    char note[sizeof out->note] = "";
    HC_TRY(hc_cells_read(&table.cells, path, err));
    HC_TRY(hc_cells_take_columns(&table.cells, facts, note, err));
    if (table.cells.rows > INT32_MAX || table.cells.columns > INT32_MAX) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: too large for a spectral library", path));
    }
    HC_TRY(check_points(&table.cells, err));
    HC_TRY(orient(&table, err));
    take_units(&table);
    double value = 0;
    bool affixed =
        !is_number(&table, table.head, table.axis, &value) && is_affixed(&table, table.axis, table.head);
    int64_t bands = rows_of(&table) - table.head, count = count_spectra(&table);
    if (bands < 1 || count < 1) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: there are no spectra in it", path));
    }
    HC_TRY(hc_library_make(out, count, bands, err));
    HC_TRY(hc_new(out->wavelength, bands, "wavelengths", err));
    HC_TRY(get_wavelengths(&table, affixed, out->wavelength, err));
    HC_TRY(check_axes(&table, out->wavelength, err));
    HC_TRY(fill(out, &table, err));
    HC_TRY(fill_facts(out, &table, facts, err));
    find_kind(&table, affixed);
    hc_library_units(out, table.other != NULL ? table.other : table.unit);
    if (*note != '\0') {
        memcpy(out->note, note, sizeof note);
    }
done:
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        free(facts[f]);
    }
    hc_cells_clear(&table.cells);
    return status;
}

/* GDAL makes geometries of a column WKT. */
bool hc_library_is_csv(const char *path) {
    char line[65536];
    if (!hc_text_ends_with(path, ".csv")) {
        return false;
    }
    VSILFILE *file = hc_file_is_special(path) ? NULL : VSIFOpenL(path, "rb");
    size_t got = file != NULL ? VSIFReadL(line, 1, sizeof line - 1, file) : 0;
    if (file != NULL) {
        VSIFCloseL(file);
    }
    line[got] = '\0';
    line[strcspn(line, "\r\n")] = '\0';
    char *rest = NULL;
    for (char *cell = strtok_r(line, ",;\t\" ", &rest); cell != NULL;
         cell = strtok_r(NULL, ",;\t\" ", &rest)) {
        if (hc_text_equal(cell, "WKT") || strncasecmp(cell, "_WKT", 4) == 0) {
            return false;
        }
    }
    return true;
}
