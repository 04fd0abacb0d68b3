/* Spectral libraries as CSV: a table of cells, and which way round it lies. */
#include "core/allocate.h"
#include "core/text.h"
#include "io/library/parts.h"
#include "io/file.h"
#include "io/load.h"
#include "io/read/wavelength.h"

#include <cpl_vsi.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Table {
    const char *path;
    char *data; /* of which the cells are parts */
    char **cell;
    int32_t *line; /* [rows] of the file, from 1 */
    int64_t rows, columns, count, capacity;
} Table;

static const char *cell_at(const Table *table, int64_t row, int64_t column) {
    return table->cell[row * table->columns + column];
}

/* Bytes from the beginning of a cell to the first of these separators. Separators between quotes are part of
 * the cell. A quote counts only where a cell begins with one: elsewhere (5" pipe) it is a letter. */
static size_t cell_bytes(const char *cell, const char *separators) {
    size_t length = strspn(cell, " ");
    bool may_quote = cell[length] == '"', quoted = false;
    while (cell[length] != '\0' && (quoted || strchr(separators, cell[length]) == NULL)) {
        quoted = may_quote && quoted != (cell[length] == '"');
        length++;
    }
    return length;
}

/* The first of comma, semicolon, tab behind the first cell of the line. */
static char find_separator(const char *line) {
    char found = line[cell_bytes(line, ",;\t")];
    return found != '\0' ? found : ',';
}

/* Takes blanks and quotes off a cell of `length` bytes, in place. */
static char *trim_cell(char *from, size_t length) {
    while (length > 0 && (from[length - 1] == ' ' || from[length - 1] == '\t')) {
        length--;
    }
    while (length > 0 && (*from == ' ' || *from == '\t')) {
        from++;
        length--;
    }
    from[length] = '\0';
    if (*from != '"') {
        return from;
    }
    char *to = from;
    for (const char *at = from + 1; *at != '\0'; at++) {
        at += at[0] == '"'; /* of two quotes the second one stays */
        if (*at == '\0') {
            break;
        }
        *to++ = *at;
    }
    *to = '\0';
    return from;
}

static HcStatus add_cell(Table *table, char *cell, HcError *err) {
    if (table->count == table->capacity) {
        int64_t capacity = table->capacity > 0 ? 2 * table->capacity : 1024;
        char **grown = realloc(table->cell, (size_t)capacity * sizeof *grown);
        table->cell = grown != NULL ? grown : table->cell;
        int32_t *lines = grown != NULL ? realloc(table->line, (size_t)capacity * sizeof *lines) : NULL;
        if (lines == NULL) {
            return hc_fail_memory(err, (double)capacity * sizeof *grown, "a table");
        }
        table->line = lines;
        table->capacity = capacity;
    }
    table->cell[table->count++] = cell;
    return HC_OK;
}

/* The cells of one line, which ends at a 0. */
static HcStatus split_line(Table *table, char *line, char separator, int32_t number, HcError *err) {
    int64_t before = table->count;
    for (bool more = true; more;) {
        size_t length = cell_bytes(line, (const char[]){separator, '\0'});
        more = line[length] != '\0';
        HC_OR_RETURN(add_cell(table, trim_cell(line, length), err));
        line += length + more;
    }
    int64_t cells = table->count - before;
    if (table->rows == 0) {
        table->columns = cells;
    } else if (cells != table->columns) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: line %" PRId32 " has %" PRId64 " values, the first line %" PRId64, table->path,
                       number, cells, table->columns);
    }
    table->line[table->rows++] = number;
    return HC_OK;
}

static HcStatus read_table(Table *table, HcError *err) {
    size_t bytes = 0;
    char separator = 0;
    int32_t number = 1;
    HC_OR_RETURN(hc_load_file(table->path, &table->data, &bytes, err));
    if (strlen(table->data) != bytes) {
        return hc_fail(err, HC_E_INPUT, "%s: not text in UTF-8 or the like (it holds bytes of 0)",
                       table->path);
    }
    char *at = table->data + (strncmp(table->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0);
    for (; *at != '\0'; number++) {
        size_t length = strcspn(at, "\r\n");
        size_t end = length + (at[length] == '\r' && at[length + 1] == '\n') + (at[length] != '\0');
        at[length] = '\0';
        separator = separator == 0 ? find_separator(at) : separator;
        if (strspn(at, " \t") < length) {
            HC_OR_RETURN(split_line(table, at, separator, number, err));
        }
        at += end;
    }
    if (table->rows < 2 || table->columns < 2) {
        return hc_fail(err, HC_E_INPUT, "%s: there are no spectra in it", table->path);
    }
    return HC_OK;
}

static void free_table(Table *table) {
    free(table->data);
    free(table->cell);
    free(table->line);
}

/* ---- which way round ---- */

static bool is_number(const char *cell) {
    double value = 0;
    return hc_text_parse_double(cell, &value);
}

/* Whether there is one line a spectrum: wavelengths in the header, and names first. Where all are numbers,
 * the lines are bands. */
static bool lies_across(const Table *table) {
    for (int64_t c = 1; c < table->columns; c++) {
        if (!is_number(cell_at(table, 0, c))) {
            return false;
        }
    }
    for (int64_t r = 1; r < table->rows; r++) {
        if (!is_number(cell_at(table, r, 0))) {
            return true;
        }
    }
    return false;
}

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

/* Whether the cell over the wavelengths says that they are mere numbers of bands. */
static bool counts_bands(const char *cell) {
    static const char *const words[] = {"band", "bands", "channel", "channels", "index", "number", NULL};
    for (const char *const *word = words; *word != NULL; word++) {
        if (hc_text_equal(cell, *word)) {
            return true;
        }
    }
    return false;
}

static HcStatus get_number(const Table *table, int64_t row, int64_t column, double *value, HcError *err) {
    const char *cell = cell_at(table, row, column);
    *value = NAN;
    if (cell[0] != '\0' && !hc_text_equal(cell, "NA") && !hc_text_parse_double(cell, value)) {
        return hc_fail(err, HC_E_INPUT, "%s: '%.60s' in line %" PRId32 " is not a number", table->path, cell,
                       table->line[row]);
    }
    return HC_OK;
}

static HcStatus fill(HcLibrary *out, const Table *table, bool across, HcError *err) {
    double value = 0;
    for (int32_t i = 0; i < out->count; i++) {
        int64_t place = (int64_t)i + 1;
        HC_OR_RETURN(
            hc_library_name(out, i, across ? cell_at(table, place, 0) : cell_at(table, 0, place), err));
        for (int32_t b = 0; b < out->bands; b++) {
            int64_t band = (int64_t)b + 1;
            HC_OR_RETURN(get_number(table, across ? place : band, across ? band : place, &value, err));
            out->value[(size_t)i * (size_t)out->bands + (size_t)b] = hc_library_value(value);
        }
    }
    for (int32_t b = 0; b < out->bands; b++) {
        int64_t band = (int64_t)b + 1;
        HC_OR_RETURN(get_number(table, across ? 0 : band, across ? band : 0, &out->wavelength[b], err));
    }
    return HC_OK;
}

HcStatus hc_library_read_csv(HcLibrary *out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    char word[32];
    Table table = {.path = path};
    HC_TRY(read_table(&table, err));
    if (table.rows > INT32_MAX || table.columns > INT32_MAX) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: too large for a spectral library", path));
    }
    bool across = lies_across(&table);
    int64_t bands = (across ? table.columns : table.rows) - 1;
    HC_TRY(hc_library_make(out, (across ? table.rows : table.columns) - 1, bands, err));
    HC_TRY(hc_new(out->wavelength, bands, "wavelengths", err));
    HC_TRY(fill(out, &table, across, err));
    const char *first = cell_at(&table, 0, 0);
    if (!across && counts_bands(first)) {
        free(out->wavelength);
        out->wavelength = NULL;
    }
    hc_library_units(out, find_unit(first, word, sizeof word));
done:
    free_table(&table);
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
