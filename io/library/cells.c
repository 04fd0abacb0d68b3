/* The cells of a table in a text, however a program separates them and whatever lines it puts around. */
#include "core/text.h"
#include "io/library/parts.h"
#include "io/load.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *hc_cells_at(const HcCells *cells, int64_t row, int64_t column) {
    return cells->cell[cells->row[row].first + column];
}

bool hc_cells_parse(const char *cell, bool commas, double *value) {
    char copy[64];
    if (hc_text_parse_double(cell, value)) {
        return true;
    }
    size_t whole = strcspn(cell, ",");
    if (!commas || cell[whole] == '\0' || strpbrk(cell, ".") != NULL || strlen(cell) >= sizeof copy ||
        !isdigit((unsigned char)cell[whole + 1])) {
        return false;
    }
    strcpy(copy, cell);
    copy[whole] = '.';
    return hc_text_parse_double(copy, value);
}

bool hc_cells_number(const HcCells *cells, const char *cell, double *value) {
    return hc_cells_parse(cell, !cells->points, value);
}

bool hc_cells_affixed(const HcCells *cells, const char *model, const char *cell, double *value,
                      const char **suffix) {
    char digits[64];
    size_t prefix = strcspn(model, "0123456789");
    if (model[prefix] == '\0' || strncmp(cell, model, prefix) != 0) {
        return false;
    }
    size_t length = strspn(cell + prefix, "0123456789.,");
    snprintf(digits, sizeof digits, "%.*s", (int)(length < 63 ? length : 63), cell + prefix);
    *suffix = cell + prefix + length;
    return hc_cells_number(cells, digits, value);
}

bool hc_cells_is_missing(const char *cell) {
    static const char *const words[] = {"", "NA", "N/A", "#N/A", "null", "-", NULL};
    return hc_text_find(cell, words) >= 0;
}

/* ---- one line ---- */

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

/* The cell after the one of `length` bytes; NULL at the end. Several blanks separate as one. */
static char *next_cell(char *cell, size_t length, char separator) {
    if (cell[length] == '\0') {
        return NULL;
    }
    cell += length + 1;
    return separator == ' ' ? cell + strspn(cell, " ") : cell;
}

/* Takes blanks, quotes and the apostrophe before a name off a cell of `length` bytes, in place. */
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
        return from + hc_text_is_guarded(from);
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
    return from + hc_text_is_guarded(from);
}

/* Cells of a line, and how many are numbers. */
static int64_t count_cells(char *line, char separator, int64_t *numbers) {
    const char one[] = {separator, '\0'};
    int64_t count = 0;
    *numbers = 0;
    for (char *cell = line; cell != NULL; count++) {
        double value = 0;
        char copy[64];
        size_t length = cell_bytes(cell, one);
        snprintf(copy, sizeof copy, "%.*s", (int)(length < 63 ? length : 63), cell);
        *numbers += hc_cells_parse(trim_cell(copy, strlen(copy)), true, &value);
        cell = next_cell(cell, length, separator);
    }
    return count;
}

/* ---- the lines of the table ---- */

typedef struct Line {
    char *text;
    int32_t number; /* in the file, from 1 */
} Line;

typedef struct Lines {
    Line *line;
    int64_t count;
    Line comment;                      /* the last one before the first line: numpy writes the head as one */
    char *comments[HC_CELLS_COMMENTS]; /* the first ones */
    int comment_count;
    char separator;
} Lines;

static bool is_comment(const char *line) {
    return strchr("#%!", *line) != NULL || strncmp(line, "//", 2) == 0;
}

char *hc_cells_cut(char *text) {
    char *end = text + strcspn(text, "\r\n");
    char *next = end + (end[0] == '\r' && end[1] == '\n') + (end[0] != '\0');
    *end = '\0';
    return next;
}

/* Cuts the text into lines that are not empty, without blanks around them. */
static HcStatus cut_lines(Lines *lines, char *text, HcError *err) {
    int64_t capacity = 1;
    for (const char *at = text; *at != '\0'; at++) {
        capacity += *at == '\n' || *at == '\r';
    }
    lines->line = calloc((size_t)capacity, sizeof *lines->line);
    if (lines->line == NULL) {
        return hc_fail_memory(err, (double)capacity * sizeof *lines->line, "the lines of a table");
    }
    for (int32_t number = 1; *text != '\0'; number++) {
        char *next = hc_cells_cut(text);
        Line line = {text + strspn(text, " "), number};
        for (size_t end = strlen(line.text); end > 0 && line.text[end - 1] == ' '; end--) {
            line.text[end - 1] = '\0';
        }
        text = next;
        if (strspn(line.text, " \t,;|") == strlen(line.text)) {
            continue; /* spreadsheets write lines of separators alone */
        }
        if (lines->count == 0 && strncmp(line.text, "sep=", 4) == 0) {
            lines->separator = line.text[4];
        } else if (lines->count == 0 && is_comment(line.text)) {
            lines->comment = line;
            if (lines->comment_count < HC_CELLS_COMMENTS) {
                lines->comments[lines->comment_count++] = line.text;
            }
        } else {
            lines->line[lines->count++] = line;
        }
    }
    return HC_OK;
}

/* The separator by which all lines have as many cells, of several the one that makes more numbers. Titles may
 * come before the table. */
static char find_separator(const Lines *lines) {
    static const char separators[] = "\t;|, ";
    char found = '\0';
    int64_t most = -1;
    for (const char *at = separators; *at != '\0'; at++) {
        int64_t columns = 1, numbers = 0;
        bool same = true;
        for (int64_t k = 0; k < lines->count && same; k++) {
            int64_t cells = count_cells(lines->line[k].text, *at, &numbers);
            same = columns == 1 || cells == columns || is_comment(lines->line[k].text);
            columns = columns == 1 ? cells : columns;
        }
        if (same && columns > 1 && numbers > most) {
            most = numbers;
            found = *at;
        }
    }
    for (int64_t k = 0; k < lines->count && found == '\0'; k++) {
        found = lines->line[k].text[cell_bytes(lines->line[k].text, ",;\t|")];
    }
    return found != '\0' ? found : ',';
}

/* Leaves out titles (lines of one cell that is no number) before the table, and comments in it. */
static void drop_lines(Lines *lines) {
    int64_t count = 0, columns = 0, numbers = 0, kept = 0;
    for (int64_t k = 0; k < lines->count; k++) {
        count = count_cells(lines->line[k].text, lines->separator, &numbers);
        bool title = columns == 0 && count == 1 && numbers == 0;
        bool comment = columns > 0 && is_comment(lines->line[k].text) && count != columns;
        if (!title && !comment) {
            lines->line[kept++] = lines->line[k];
            columns = columns == 0 ? count : columns;
        }
    }
    lines->count = kept;
}

/* A comment right before a table of numbers is its head where it has as many cells. */
static void take_comment(Lines *lines) {
    int64_t numbers = 0, in_comment = 0;
    char *text = lines->comment.text;
    if (text == NULL || lines->count == 0) {
        return;
    }
    text += strspn(text, "#%!/ \t");
    int64_t columns = count_cells(lines->line[0].text, lines->separator, &numbers);
    if (numbers == columns && count_cells(text, lines->separator, &in_comment) == columns) {
        memmove(lines->line + 1, lines->line, (size_t)lines->count * sizeof *lines->line); /* 1 is free */
        lines->line[0] = (Line){text, lines->comment.number};
        lines->count++;
    }
}

/* ---- the table ---- */

/* Splits the lines in place. A row may end with empty cells that others lack. */
static HcStatus split(HcCells *cells, const Lines *lines, HcError *err) {
    const char one[] = {lines->separator, '\0'};
    int64_t total = 0, numbers = 0;
    for (int64_t k = 0; k < lines->count; k++) {
        total += count_cells(lines->line[k].text, lines->separator, &numbers);
    }
    cells->cell = calloc((size_t)total + 1, sizeof *cells->cell);
    cells->row = calloc((size_t)lines->count + 1, sizeof *cells->row);
    if (cells->cell == NULL || cells->row == NULL) {
        return hc_fail_memory(err, (double)total * sizeof *cells->cell, "a table");
    }
    total = 0;
    for (; cells->rows < lines->count; cells->rows++) {
        HcCellRow *row = &cells->row[cells->rows];
        int64_t used = 0;
        *row = (HcCellRow){.first = total, .line = lines->line[cells->rows].number};
        for (char *cell = lines->line[cells->rows].text; cell != NULL;) {
            double value = 0;
            size_t length = cell_bytes(cell, one);
            char *next = next_cell(cell, length, lines->separator);
            char *trimmed = cells->cell[total++] = trim_cell(cell, length);
            row->count++;
            used = *trimmed != '\0' ? row->count : used;
            cells->points = cells->points || (hc_text_parse_double(trimmed, &value) && strchr(trimmed, '.'));
            cell = next;
        }
        cells->columns = used > cells->columns ? used : cells->columns;
    }
    return HC_OK;
}

/* Whether all rows have the cells of the longest. */
static HcStatus check_rows(const HcCells *cells, HcError *err) {
    for (int64_t r = 0; r < cells->rows; r++) {
        if (cells->row[r].count < cells->columns) {
            int64_t other = r;
            while (r == 0 && cells->row[other].count <= cells->row[0].count) {
                other++;
            }
            return hc_fail(err, HC_E_INPUT,
                           "%s: line %" PRId32 " has %" PRId64 " values, the first line %" PRId64 "%s",
                           cells->path, cells->row[other].line, cells->row[other].count, cells->row[0].count,
                           other > r ? " (it is the header: names or wavelengths)" : "");
        }
    }
    return HC_OK;
}

int64_t hc_cells_comment(HcCells *cells, const char *word, char **cell, int64_t capacity) {
    const char one[] = {cells->separator, '\0'};
    int64_t count = -1;
    for (int c = 0; c < HC_CELLS_COMMENTS && cells->comment[c] != NULL && count < 0; c++) {
        char *at = cells->comment[c] + strspn(cells->comment[c], "#%!/ \t");
        size_t length = strlen(word);
        if (strncasecmp(at, word, length) != 0 || at[length] != cells->separator) {
            continue;
        }
        count = 0;
        for (at += length + 1; at != NULL && count < capacity; count++) {
            size_t bytes = cell_bytes(at, one);
            char *next = next_cell(at, bytes, cells->separator);
            cell[count] = trim_cell(at, bytes);
            at = next;
        }
    }
    return count;
}

/* UTF-16, with its mark or without. */
static bool is_utf16(const char *data, size_t bytes) {
    const unsigned char *at = (const unsigned char *)data;
    return bytes >= 2 && ((at[0] == 0xFF && at[1] == 0xFE) || (at[0] == 0xFE && at[1] == 0xFF) ||
                          (at[0] == 0) != (at[1] == 0));
}

HcStatus hc_cells_read(HcCells *cells, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    size_t bytes = 0;
    Lines lines = {0};
    cells->path = path;
    HC_TRY(hc_load_file(path, &cells->data, &bytes, err));
    if (is_utf16(cells->data, bytes)) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: a text in UTF-16, save it as UTF-8", path));
    }
    if (strlen(cells->data) != bytes) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: not text in UTF-8 or the like (it holds bytes of 0)", path));
    }
    HC_TRY(cut_lines(&lines, cells->data + (strncmp(cells->data, "\xEF\xBB\xBF", 3) == 0 ? 3 : 0), err));
    lines.separator = lines.separator != '\0' ? lines.separator : find_separator(&lines);
    drop_lines(&lines);
    take_comment(&lines);
    HC_TRY(split(cells, &lines, err));
    memcpy(cells->comment, lines.comments, sizeof cells->comment);
    cells->separator = lines.separator;
    if (cells->rows < 2 || cells->columns < 2) {
        HC_TRY(hc_fail(err, HC_E_INPUT,
                       "%s: there are no spectra in it (a header and lines of values, separated by commas, "
                       "semicolons or tabs)",
                       path));
    }
    HC_TRY(check_rows(cells, err));
done:
    free(lines.line);
    return status;
}

void hc_cells_clear(HcCells *cells) {
    free(cells->data);
    free(cells->cell);
    free(cells->row);
    *cells = (HcCells){0};
}
