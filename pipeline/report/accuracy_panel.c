/* Accuracy in a report: the figures of each class, and the confusion matrix with its cells shaded by their
 * share of the class; and the matrix as a picture of its own. */
#include "pipeline/report/accuracy_panel.h"
#include "core/allocate.h"
#include "figure/figure.h"
#include "io/file.h"
#include "core/texts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A matrix of more classes is not read at a glance: the file of --report has it. */
enum { MATRIX_MAX = 30, FIGURES = 6 };

/* Texts of a table, which it owns. */
typedef struct Table {
    char **cell;  /* [rows][columns] */
    float *shade; /* [rows][columns] */
    int32_t rows, columns;
} Table;

static HcStatus open_table(Table *table, int32_t rows, int32_t columns, HcError *err) {
    size_t cells = (size_t)rows * (size_t)columns;
    table->rows = rows;
    table->columns = columns;
    HC_OR_RETURN(hc_new(table->cell, cells, "a table of accuracies", err));
    return hc_new(table->shade, cells, "a table of accuracies", err);
}

static void close_table(Table *table) {
    hc_free_texts(table->cell, table->rows * table->columns);
    free(table->shade);
}

/* A missing text shows when all are there. */
static void set_text(Table *table, int32_t row, int32_t column, const char *text) {
    table->cell[row * table->columns + column] = hc_text_format("%s", text);
}

static void set_number(Table *table, int32_t row, int32_t column, double value) {
    char text[HC_TEXT_DOUBLE];
    set_text(table, row, column, hc_panel_number(text, value));
}

/* "0.9321", "-" for an accuracy over no pixel. */
static void set_share(Table *table, int32_t row, int32_t column, double value) {
    char text[HC_TEXT_DOUBLE] = "-";
    if (!isnan(value)) {
        (void)snprintf(text, sizeof text, "%.4f", value);
    }
    set_text(table, row, column, text);
}

static HcStatus add_table(const Table *table, const char *title, const char *caption, HcPanels *to,
                          HcError *err) {
    for (int32_t i = 0; i < table->rows * table->columns; i++) {
        if (table->cell[i] == NULL) {
            return hc_fail_memory(err, 64, title);
        }
    }
    return hc_panels_add(to,
                         &(HcPanel){.title = title,
                                    .caption = caption,
                                    .cell = (const char *const *)table->cell,
                                    .shade = table->shade,
                                    .rows = table->rows,
                                    .columns = table->columns,
                                    .wide = true},
                         err);
}

static HcStatus add_figures(const HcAccuracy *accuracy, const HcClasses *names, HcPanels *to, HcError *err) {
    static const char *const head[FIGURES] = {
        "class", "validation pixels", "predicted", "producer's", "user's", "F1"};
    HcStatus status = HC_OK;
    Table table = {0};
    char caption[160];
    int32_t shown = accuracy->classes < HC_PANEL_ENTRIES_MAX ? accuracy->classes : HC_PANEL_ENTRIES_MAX;
    HC_TRY(open_table(&table, shown + 1, FIGURES, err));
    for (int32_t c = 0; c < FIGURES; c++) {
        set_text(&table, 0, c, head[c]);
    }
    for (int32_t c = 1; c <= shown; c++) {
        set_text(&table, c, 0, names->name[c]);
        set_number(&table, c, 1, (double)accuracy->reference[c]);
        set_number(&table, c, 2, (double)accuracy->predicted[c]);
        set_share(&table, c, 3, accuracy->producers[c]);
        set_share(&table, c, 4, accuracy->users[c]);
        set_share(&table, c, 5, accuracy->f1[c]);
    }
    (void)snprintf(caption, sizeof caption, "%s%d of %d classes. Overall %.4f, kappa %.4f.",
                   shown < accuracy->classes ? "The first " : "", shown, accuracy->classes, accuracy->overall,
                   accuracy->kappa);
    HC_TRY(add_table(&table, "Accuracy", caption, to, err));
done:
    close_table(&table);
    return status;
}

static HcStatus add_matrix(const HcAccuracy *accuracy, const HcClasses *names, HcPanels *to, HcError *err) {
    HcStatus status = HC_OK;
    Table table = {0};
    int32_t classes = accuracy->classes;
    int32_t first = accuracy->predicted[0] > 0 ? 0 : 1; /* a column for what is left unclassified */
    HC_TRY(open_table(&table, classes + 1, classes + 2 - first, err));
    set_text(&table, 0, 0, "true class");
    for (int32_t p = first; p <= classes; p++) {
        set_text(&table, 0, p + 1 - first, p == 0 ? "unclassified" : names->name[p]);
    }
    for (int32_t r = 1; r <= classes; r++) {
        set_text(&table, r, 0, names->name[r]);
        for (int32_t p = first; p <= classes; p++) {
            int64_t pixels = accuracy->matrix[(size_t)(r - 1) * (size_t)(classes + 1) + (size_t)p];
            int32_t column = p + 1 - first;
            set_number(&table, r, column, (double)pixels);
            table.shade[r * table.columns + column] =
                pixels > 0 ? (float)((double)pixels / (double)accuracy->reference[r]) : 0;
        }
    }
    HC_TRY(add_table(&table, "Confusion matrix",
                     "Validation pixels: a row for each true class, a column for each predicted one. Shaded "
                     "by the share of the class.",
                     to, err));
done:
    close_table(&table);
    return status;
}

HcStatus hc_accuracy_panels(const HcAccuracy *accuracy, const HcClasses *names, HcPanels *to, HcError *err) {
    if (accuracy->classes == 0) {
        return HC_OK;
    }
    HC_OR_RETURN(add_figures(accuracy, names, to, err));
    return accuracy->classes <= MATRIX_MAX ? add_matrix(accuracy, names, to, err) : HC_OK;
}

/* ---- the picture ---- */

static const double page_width = 510, page_dpi = 150; /* 180 mm */

size_t hc_accuracy_figure_bytes(const char *path, int32_t classes) {
    HcFigureFormat format = HC_FIGURE_PNG;
    size_t cells = (size_t)classes * ((size_t)classes + 1);
    return hc_figure_format_of(path, &format)
               ? hc_figure_bytes(format, page_width, page_dpi, 0) + 1024 * cells
               : 0;
}

/* What was left unclassified has the last column. count: [classes][classes + 1], name: [classes + 1] */
static void fill(const HcAccuracy *accuracy, const HcClasses *names, int64_t *count, const char **name) {
    size_t classes = (size_t)accuracy->classes, columns = classes + 1;
    for (size_t r = 0; r < classes; r++) {
        for (size_t c = 0; c < columns; c++) {
            count[r * columns + c] = accuracy->matrix[r * columns + (c + 1) % columns];
        }
        name[r] = names->name[r + 1];
    }
    name[classes] = "unclassified";
}

static HcStatus draw(const HcAccuracy *accuracy, const HcMatrix *matrix, const char *path, bool overwrite,
                     HcError *err) {
    char caption[256];
    HcFigureFile file = {0};
    HcFigureFormat format = HC_FIGURE_PNG;
    hc_figure_format_of(path, &format);
    snprintf(caption, sizeof caption,
             "%lld pixels, overall accuracy %.2f %%, average accuracy %.2f %%, kappa %.4f. Colours are the "
             "share of the pixels of a row.",
             (long long)accuracy->pixels, 100 * accuracy->overall, 100 * accuracy->average, accuracy->kappa);
    HcFigurePanel panel = {.matrix = matrix};
    HcFigure figure = {.title = "Confusion matrix",
                       .caption = caption,
                       .description = caption,
                       .width = page_width,
                       .dpi = page_dpi,
                       .panel = &panel,
                       .count = 1,
                       .columns = 1};
    HC_OR_RETURN(hc_figure_draw(&figure, format, &file, err));
    HcStatus status = hc_file_write(path, file.data, file.bytes, overwrite, err);
    free(file.data);
    return status;
}

HcStatus hc_accuracy_figure(const HcAccuracy *accuracy, const HcClasses *names, const char *path,
                            bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    size_t classes = (size_t)accuracy->classes;
    int64_t *count = NULL;
    const char **name = NULL;
    HC_TRY(hc_new(count, classes * (classes + 1), "a confusion matrix", err));
    HC_TRY(hc_new(name, classes + 1, "a confusion matrix", err));
    fill(accuracy, names, count, name);
    const HcMatrix matrix = {.rows = accuracy->classes,
                             .columns = accuracy->classes + 1,
                             .count = count,
                             .row = name,
                             .column = name,
                             .row_label = "reference",
                             .column_label = "classified as"};
    HC_TRY(draw(accuracy, &matrix, path, overwrite, err));
done:
    free(count);
    free(name);
    return status;
}
