/* How frequent classes are before a pixel is seen, for lda and ml: equal, as the training spectra, or as a
 * file says: lines of a name (or number) of a class, a comma, and its weight. */
#include "core/allocate.h"
#include "io/library/cells.h"
#include "pipeline/stages/classify/classify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const hc_class_prior_words[] = {"equal", "training", NULL};

static bool is_word(const char *text) {
    return hc_text_equal(text, hc_class_prior_words[0]) || hc_text_equal(text, hc_class_prior_words[1]);
}

/* The class that has a model and this name or number; -1 where none has. */
static int32_t class_of(const HcKnnState *state, const char *name) {
    const HcScores *scores = &state->scores;
    int64_t number = 0;
    for (int32_t c = 0; c < scores->count; c++) {
        if (hc_text_equal(state->training.pixels.classes.name[scores->label[c]], name)) {
            return c;
        }
    }
    for (int32_t c = 0; hc_text_parse_int(name, &number) && c < scores->count; c++) {
        if (hc_labelled_number(&state->training.pixels, scores->label[c]) == number) {
            return c;
        }
    }
    return -1;
}

/* A row: a class and its weight. The first may be a head. */
static HcStatus take_row(const HcKnnState *state, const HcCells *cells, int64_t row, double *weight,
                         HcError *err) {
    const char *name = hc_cells_at(cells, row, 0);
    double value = 0;
    bool is_number = hc_cells_number(cells, hc_cells_at(cells, row, 1), &value);
    int32_t c = class_of(state, name);
    if (!is_number && row == 0) {
        return HC_OK;
    }
    if (!is_number || !(value > 0) || isinf(value)) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: line %d: the weight of class \"%s\" is \"%s\": above 0 is needed", cells->path,
                       cells->row[row].line, name, hc_cells_at(cells, row, 1));
    }
    if (c < 0) {
        return hc_fail(err, HC_E_INPUT, "%s: line %d: no training spectrum has the class \"%s\"", cells->path,
                       cells->row[row].line, name);
    }
    weight[c] = value;
    return HC_OK;
}

static HcStatus read_weights(const HcKnnState *state, const char *path, double *weight, HcError *err) {
    HcCells cells = {0};
    HcStatus status = hc_cells_read(&cells, path, err);
    for (int64_t row = 0; status == HC_OK && row < cells.rows; row++) {
        status = take_row(state, &cells, row, weight, err);
    }
    for (int32_t c = 0; c < state->scores.count && status == HC_OK; c++) {
        if (!(weight[c] > 0)) {
            status = hc_fail(err, HC_E_INPUT, "%s: no weight for class \"%s\"", path,
                             state->training.pixels.classes.name[state->scores.label[c]]);
        }
    }
    hc_cells_clear(&cells);
    return status;
}

HcStatus hc_class_priors(HcStage *stage, HcError *err) {
    HcKnnState *state = stage->state;
    HcScores *scores = &state->scores;
    const char *priors = hc_class_params(stage)->priors;
    double sum = 0;
    if (hc_text_equal(priors, hc_class_prior_words[0])) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(scores->prior, scores->count, "frequencies of classes", err));
    for (int32_t c = 0; c < scores->count && is_word(priors); c++) {
        scores->prior[c] = (double)state->trained[scores->label[c]];
    }
    if (!is_word(priors)) {
        HC_OR_RETURN(read_weights(state, priors, scores->prior, err));
    }
    for (int32_t c = 0; c < scores->count; c++) {
        sum += scores->prior[c];
    }
    for (int32_t c = 0; c < scores->count; c++) {
        scores->prior[c] /= sum;
    }
    return HC_OK;
}
