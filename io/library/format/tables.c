/* Texts of instruments and databases: a header of keys, then rows of numbers. A format is a row of the table
 * below, and the same functions read all of them. */
#include "core/text.h"
#include "io/library/format/parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A column of values by its head, and its value of reflectance 1 (0 = none). */
typedef struct Wanted {
    const char *head;
    double scale;
} Wanted;

typedef struct Table {
    const char *marks[3]; /* the file has lines that begin so */
    const char *head;     /* the rows follow a line that begins so */
    const char *has;      /* and these lines hold this text; NULL = any */
    int32_t columns;      /* of rows without names, values in the last one; 0 = a line of names is there */
    int32_t names;        /* lines from the head to the names */
    Wanted wanted[7];     /* columns of values, the best first; none = each column after the first */
    double scale;
    const char *x_unit, *y_unit, *stated, *entry; /* keys: units in brackets, rows, the name; NULL = none */
    const char *facts[HC_LIBRARY_FACTS][2];       /* keys, the better one first */
    const char *number;                           /* the line with the number of an ASD begins so */
} Table;

#define ASD_TEXT .head = "Wavelength", .number = "The instrument number was "

static const Table tables[] = {
    /* ECOSTRESS and ASTER: often from the longest wavelength to the shortest */
    {.marks = {"Name", "X Units", "Y Units"},
     .head = "Y Units",
     .columns = 2,
     .x_unit = "X Units",
     .y_unit = "Y Units",
     .stated = "Number of X Values",
     .entry = "Name",
     .facts = {{"Class", "Type"}, {"Description"}, {"Owner", "Origin"}}},
    /* Spectral Evolution */
    {.marks = {"Data:", "Instrument"},
     .head = "Data:",
     .names = 1,
     .wanted = {{"Reflect. [1.0]", 1},
                {"Reflect. %", 100},
                {"Tgt./Ref. %", 100},
                {"Rad. (Target)", 0},
                {"Irrad. (Target)", 0},
                {"Norm. DN (Target)", 0}},
     .facts = {[HC_FACT_DESCRIPTION] = {"Comment"}, [HC_FACT_SOURCE] = {"Instrument"}}},
    /* Spectra Vista: wavelength, reference, target, target by reference in percent */
    {.marks = {"/*** Spectra Vista SIG Data", "data="},
     .head = "data=",
     .columns = 4,
     .scale = 100,
     .facts = {[HC_FACT_DESCRIPTION] = {"comm"}, [HC_FACT_SOURCE] = {"instrument"}}},
    /* exports of ASD programs: each column is a spectrum; the third form has no header */
    {.marks = {"Text conversion of header file"}, ASD_TEXT},
    {.marks = {"New ASD spectrum file"}, ASD_TEXT},
    {.marks = {"Wavelength"}, .has = ".asd", ASD_TEXT},
};

static const Table *find_table(const HcSpectrumFile *file) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        const Table *table = &tables[t];
        bool is = true;
        for (int m = 0; m < 3 && table->marks[m] != NULL && is; m++) {
            int32_t line = hc_spectrum_line(file, table->marks[m]);
            is = line >= 0 && (table->has == NULL || strcasestr(file->line[line], table->has) != NULL);
        }
        if (is) {
            return table;
        }
    }
    return NULL;
}

static bool is_table(const HcSpectrumFile *file) {
    return find_table(file) != NULL;
}

/* ---- names of columns ---- */

/* The next cell of a line of names; NULL where blanks alone are left. */
static const char *next_cell(const char **rest, int *length) {
    const char *cell = *rest;
    if (cell[strspn(cell, "\t; ")] == '\0') {
        return NULL;
    }
    *length = (int)strcspn(cell, "\t;");
    *rest = cell + *length + (cell[*length] != '\0');
    return cell;
}

/* The column of that name, -1 = none; the number of columns where the name is NULL. */
static int32_t find_column(const char *line, const char *name) {
    int32_t column = 0;
    int length = 0;
    for (const char *cell; (cell = next_cell(&line, &length)) != NULL; column++) {
        char copy[32];
        snprintf(copy, sizeof copy, "%.*s", length, cell);
        if (name != NULL && hc_text_equal_trimmed(copy, name)) {
            return column;
        }
    }
    return name != NULL ? -1 : column;
}

static HcStatus set_names(const char *line, HcLibrary *out, HcError *err) {
    HcStatus status = HC_OK;
    int length = 0;
    (void)next_cell(&line, &length);
    for (int32_t i = 0; i < out->count && status == HC_OK; i++) {
        const char *cell = next_cell(&line, &length);
        char *name = hc_text_format("%.*s", cell != NULL ? length : 0, cell != NULL ? cell : "");
        status = name != NULL ? hc_library_name(out, i, name, err)
                              : hc_fail_memory(err, length, "the name of a spectrum");
        free(name);
    }
    return status;
}

/* ---- rows ---- */

/* Rows below a line of names. */
static HcStatus find_named(const Table *table, const HcSpectrumFile *file, int32_t head, HcSpectrumRows *rows,
                           double *scale, HcError *err) {
    int32_t names = head + table->names;
    const char *line = names < file->lines ? file->line[names] : "";
    const Wanted *wanted = table->wanted;
    rows->first = names + 1;
    rows->columns = find_column(line, NULL);
    rows->y = -1;
    if (wanted->head == NULL) {
        return rows->columns > 1 ? HC_OK
                                 : hc_fail(err, HC_E_INPUT, "%s: line %d: no name follows '%s'", file->path,
                                           names + 1, table->head);
    }
    rows->x = find_column(line, "Wvl");
    for (; wanted->head != NULL && rows->y < 0; wanted++) {
        rows->y = find_column(line, wanted->head);
        *scale = wanted->scale;
    }
    return rows->x >= 0 && rows->y >= 0
               ? HC_OK
               : hc_fail(err, HC_E_INPUT,
                         "%s: line %d: the columns 'Wvl' and 'Reflect. %%' (or another one of values) are "
                         "missing",
                         file->path, names + 1);
}

/* The first line after the header that begins with numbers. */
static int32_t find_numbers(const HcSpectrumFile *file, int32_t line) {
    double value[4];
    while (line < file->lines && hc_spectrum_numbers(file->line[line], value, 4) < 1) {
        line++;
    }
    return line;
}

/* The words between brackets: "micrometers" of "Wavelength (micrometers)"; else `otherwise`. */
static void take_unit(const HcSpectrumFile *file, const char *key, const char *otherwise, char unit[32]) {
    const char *text = key != NULL ? hc_spectrum_key(file, key) : NULL;
    const char *open = text != NULL ? strchr(text, '(') : NULL;
    snprintf(unit, 32, "%.*s", (int)strcspn(open != NULL ? open + 1 : otherwise, ")"),
             open != NULL ? open + 1 : otherwise);
}

/* ---- facts ---- */

static HcStatus set_facts(const Table *table, const HcSpectrumFile *file, HcLibrary *out, HcError *err) {
    for (int f = 0; f < HC_LIBRARY_FACTS; f++) {
        const char *text = NULL;
        for (int k = 0; k < 2 && table->facts[f][k] != NULL && (text == NULL || *text == '\0'); k++) {
            text = hc_spectrum_key(file, table->facts[f][k]);
        }
        HC_OR_RETURN(hc_library_set_fact(out, 0, (HcLibraryFact)f, text, err));
    }
    int32_t line = table->number != NULL ? hc_spectrum_line(file, table->number) : -1;
    for (int32_t i = 0; i < out->count && line >= 0; i++) {
        char source[64];
        snprintf(source, sizeof source, "ASD %s", file->line[line] + strlen(table->number));
        HC_OR_RETURN(hc_library_set_fact(out, i, HC_FACT_SOURCE, source, err));
    }
    return HC_OK;
}

static HcStatus read_table(const HcSpectrumFile *file, HcLibrary *out, HcError *err) {
    const Table *table = find_table(file);
    int32_t head = hc_spectrum_line(file, table->head);
    char unit[32], values[32];
    double scale = table->scale;
    const char *stated = table->stated != NULL ? hc_spectrum_key(file, table->stated) : NULL;
    int64_t count = stated != NULL ? strtol(stated, NULL, 10) : 0;
    take_unit(file, table->x_unit, table->x_unit != NULL ? "" : "nm", unit);
    take_unit(file, table->y_unit, "", values);
    HcSpectrumRows rows = {.columns = table->columns, .y = table->columns - 1, .unit = unit};
    rows.stated = count > 0 && count < INT32_MAX ? (int32_t)count : 0;
    if (head < 0) {
        return hc_fail(err, HC_E_INPUT, "%s: line %d: a text of an ASD without a line that begins with '%s'",
                       file->path, file->lines, table->head);
    }
    if (table->columns > 0) {
        rows.first = find_numbers(file, head + 1);
    } else {
        HC_OR_RETURN(find_named(table, file, head, &rows, &scale, err));
    }
    HC_OR_RETURN(hc_spectrum_rows(file, &rows, out, err));
    bool percent = strncasecmp(values, "percent", 7) == 0, fraction = strncasecmp(values, "fraction", 8) == 0;
    out->scale = percent ? 100 : fraction ? 1 : scale;
    if (rows.y < 0) {
        HC_OR_RETURN(set_names(file->line[head], out, err));
    } else if (table->entry != NULL) {
        HC_OR_RETURN(hc_library_name(out, 0, hc_spectrum_key(file, table->entry), err));
    } else {
        HC_OR_RETURN(hc_spectrum_name_by_file(file, out, 0, err));
    }
    return set_facts(table, file, out, err);
}

const HcSpectrumFormat hc_format_tables = {"text", is_table, read_table};
