/* Tables of texts as other programs write them: CSV and its like. */
#ifndef HC_IO_LIBRARY_CELLS_H
#define HC_IO_LIBRARY_CELLS_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct HcCellRow {
    int64_t first, count; /* cells */
    int32_t line;         /* of the file, from 1 */
} HcCellRow;

enum { HC_CELLS_COMMENTS = 8 };

/* A table of texts, rows x columns. Zero-initialise, then hc_cells_clear() is always safe. */
typedef struct HcCells {
    const char *path;
    char *data; /* of which the cells are parts */
    char **cell;
    HcCellRow *row; /* [rows] of at least `columns` cells, what follows is empty */
    int64_t rows, columns;
    bool points;                      /* numbers have decimal points, hence no decimal commas */
    char *comment[HC_CELLS_COMMENTS]; /* the first lines before the table that are comments, or NULL */
    char separator;
} HcCells;

/* Reads a text whose cells are separated by commas, semicolons, tabs, bars or blanks. Leaves out a byte order
 * mark, titles, comments, empty lines, and empty cells at the end of all lines. HC_E_INPUT: ragged lines,
 * fewer than 2 rows or columns, UTF-16. */
HcStatus hc_cells_read(HcCells *cells, const char *path, HcError *err) HC_MUST_CHECK;
const char *hc_cells_at(const HcCells *cells, int64_t row, int64_t column);
bool hc_cells_number(const HcCells *cells, const char *cell, double *value);
/* The number of a cell after the letters that come before that of `model`, such as "X350" and "400 nm";
 * *suffix: what follows it. */
bool hc_cells_affixed(const HcCells *cells, const char *model, const char *cell, double *value,
                      const char **suffix);
/* "", "NA" and the like. */
bool hc_cells_is_missing(const char *cell);
/* The cells after the first one of a comment that begins with `word` ("# class,a,b"), which is split in
 * place; at most `capacity`. Returns how many there are; -1: there is no such comment. */
int64_t hc_cells_comment(HcCells *cells, const char *word, char **cell, int64_t capacity);
void hc_cells_clear(HcCells *cells);

/* Whether a text is a number; with `commas` also one with a decimal comma. */
bool hc_cells_parse(const char *text, bool commas, double *value);
/* Ends the line at `text` where it ends, and returns where the next one begins. */
char *hc_cells_cut(char *text);

#endif
