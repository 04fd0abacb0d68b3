/* A table of counts as a picture: names at both sides, cells the darker the larger their share of the row. */
#include "figure/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const double gap = 4, cell_max = 46;
static const uint8_t full[3] = {0x00, 0x44, 0x88}, paper[3] = {255, 255, 255};

typedef struct Shape {
    double cell, left, top; /* side of a cell; where the cells begin */
    double row, column;     /* width of the names of rows; height of those of columns */
    double size;            /* of letters */
} Shape;

static double widest(HcCanvas *canvas, const HcLetters *letters, const char *const *name, int32_t count) {
    double width = 0;
    for (int32_t i = 0; i < count; i++) {
        width = fmax(width, hc_canvas_text_width(canvas, letters, name[i]));
    }
    return width;
}

static Shape lay_out(HcCanvas *canvas, const HcMatrix *matrix, double x, double y, double width) {
    const HcLetters small = {.size = HC_SMALL, .rgb = hc_ink_dark};
    double row = fmin(widest(canvas, &small, matrix->row, matrix->rows), 0.3 * width);
    double column = fmin(widest(canvas, &small, matrix->column, matrix->columns), 0.3 * width);
    double label = 2 * HC_TEXT;
    double cell = fmin((width - label - row - gap) / matrix->columns, cell_max);
    return (Shape){.cell = cell,
                   .left = x + label + row + gap,
                   .top = y + label + column + gap,
                   .row = row,
                   .column = column,
                   .size = fmin(HC_SMALL, 0.9 * cell)};
}

static void draw_names(HcCanvas *canvas, const HcMatrix *matrix, const Shape *shape, double x, double y) {
    const HcLetters row = {
        .size = shape->size, .align = HC_ALIGN_RIGHT, .width = shape->row, .rgb = hc_ink_dark};
    const HcLetters column = {.size = shape->size, .up = true, .width = shape->column, .rgb = hc_ink_dark};
    const HcLetters up = {.size = HC_TEXT, .align = HC_ALIGN_CENTRE, .up = true, .rgb = hc_ink_dark};
    const HcLetters across = {.size = HC_TEXT, .align = HC_ALIGN_CENTRE, .rgb = hc_ink_dark};
    double middle = 0.5 * shape->cell + 0.35 * shape->size;
    for (int32_t r = 0; r < matrix->rows; r++) {
        hc_canvas_text(canvas, shape->left - gap, shape->top + r * shape->cell + middle, &row,
                       matrix->row[r]);
    }
    for (int32_t c = 0; c < matrix->columns; c++) {
        hc_canvas_text(canvas, shape->left + c * shape->cell + middle, shape->top - gap, &column,
                       matrix->column[c]);
    }
    hc_canvas_text(canvas, x + HC_TEXT, shape->top + 0.5 * matrix->rows * shape->cell, &up,
                   matrix->row_label);
    hc_canvas_text(canvas, shape->left + 0.5 * matrix->columns * shape->cell, y + HC_TEXT, &across,
                   matrix->column_label);
}

/* A number as wide as its cell has smaller letters; one that could not be read is left out. */
static void draw_count(HcCanvas *canvas, const Shape *shape, double x, double y, int64_t count,
                       double share) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, count);
    HcLetters letters = {
        .size = shape->size, .align = HC_ALIGN_CENTRE, .rgb = share > 0.5 ? paper : hc_ink_dark};
    double width = hc_canvas_text_width(canvas, &letters, text);
    letters.size *= fmin(1, 0.9 * shape->cell / width);
    if (letters.size >= 2) {
        hc_canvas_text(canvas, x + 0.5 * shape->cell, y + 0.5 * shape->cell + 0.35 * letters.size, &letters,
                       text);
    }
}

static void draw_row(HcCanvas *canvas, const HcMatrix *matrix, const Shape *shape, int32_t r) {
    const int64_t *count = matrix->count + (size_t)r * (size_t)matrix->columns;
    double all = 0, y = shape->top + r * shape->cell;
    for (int32_t c = 0; c < matrix->columns; c++) {
        all += (double)count[c];
    }
    for (int32_t c = 0; c < matrix->columns; c++) {
        double share = all > 0 ? (double)count[c] / all : 0, x = shape->left + c * shape->cell;
        if (count[c] == 0) {
            continue; /* paper */
        }
        uint8_t rgb[3];
        for (int i = 0; i < 3; i++) {
            rgb[i] = (uint8_t)lround(paper[i] + (full[i] - paper[i]) * (0.08 + 0.92 * share));
        }
        hc_canvas_rectangle(canvas, x, y, shape->cell, shape->cell, rgb);
        draw_count(canvas, shape, x, y, count[c], share);
    }
}

double hc_matrix_draw(HcCanvas *canvas, const HcMatrix *matrix, double x, double y, double width,
                      HcFigureBox *box) {
    Shape shape = lay_out(canvas, matrix, x, y, width);
    *box = (HcFigureBox){shape.left, shape.top, shape.cell * matrix->columns, shape.cell * matrix->rows};
    for (int32_t r = 0; r < matrix->rows; r++) {
        draw_row(canvas, matrix, &shape, r);
    }
    hc_canvas_frame(canvas, box->x, box->y, box->width, box->height, 0.5, hc_ink_grey);
    draw_names(canvas, matrix, &shape, x, y);
    return box->y + box->height + gap;
}
