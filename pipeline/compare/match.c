/* Which band of the truth each band belongs to: by order, by name, or by the least squared difference. */
#include "core/allocate.h"
#include "pipeline/compare/parts.h"

#include <math.h>
#include <stdlib.h>

/* ---- the least sum ---- */

/* The Hungarian method with potentials (Kuhn 1955, Jonker and Volgenant 1987): rows join one after the other,
 * each by the cheapest path of exchanges. Numbers from 1; 0 is the row that joins. rows <= columns. */
typedef struct Assignment {
    const double *cost;
    int32_t rows, columns;
    bool turned; /* cost is [columns][rows] */
    double *row_price, *column_price, *slack;
    int32_t *row_of, *before;
    bool *seen;
} Assignment;

static double cost_of(const Assignment *a, int32_t row, int32_t column) {
    size_t at = a->turned ? (size_t)(column - 1) * (size_t)a->rows + (size_t)(row - 1)
                          : (size_t)(row - 1) * (size_t)a->columns + (size_t)(column - 1);
    return a->cost[at];
}

static void join_row(Assignment *a, int32_t joins) {
    int32_t column = 0;
    a->row_of[0] = joins;
    for (int32_t j = 0; j <= a->columns; j++) {
        a->slack[j] = INFINITY;
        a->seen[j] = false;
    }
    while (a->row_of[column] != 0) {
        int32_t row = a->row_of[column], next = 0;
        double least = INFINITY;
        a->seen[column] = true;
        for (int32_t j = 1; j <= a->columns; j++) {
            if (a->seen[j]) {
                continue;
            }
            double reduced = cost_of(a, row, j) - a->row_price[row] - a->column_price[j];
            if (reduced < a->slack[j]) {
                a->slack[j] = reduced;
                a->before[j] = column;
            }
            if (next == 0 || a->slack[j] < least) {
                least = a->slack[j];
                next = j;
            }
        }
        for (int32_t j = 0; j <= a->columns; j++) {
            if (a->seen[j]) {
                a->row_price[a->row_of[j]] += least;
                a->column_price[j] -= least;
            } else {
                a->slack[j] -= least;
            }
        }
        column = next;
    }
    for (; column != 0; column = a->before[column]) {
        a->row_of[column] = a->row_of[a->before[column]];
    }
}

HcStatus hc_match_least(const double *cost, int32_t rows, int32_t columns, int32_t *column, HcError *err) {
    HcStatus status = HC_OK;
    Assignment a = {.cost = cost, .turned = rows > columns};
    a.rows = a.turned ? columns : rows;
    a.columns = a.turned ? rows : columns;
    size_t most = (size_t)a.columns + 1;
    HC_TRY(hc_new(a.row_price, most, "an assignment", err));
    HC_TRY(hc_new(a.column_price, most, "an assignment", err));
    HC_TRY(hc_new(a.slack, most, "an assignment", err));
    HC_TRY(hc_new(a.row_of, most, "an assignment", err));
    HC_TRY(hc_new(a.before, most, "an assignment", err));
    HC_TRY(hc_new(a.seen, most, "an assignment", err));
    for (int32_t row = 1; row <= a.rows; row++) {
        join_row(&a, row);
    }
    for (int32_t r = 0; r < rows; r++) {
        column[r] = -1;
    }
    for (int32_t j = 1; j <= a.columns; j++) {
        if (a.row_of[j] != 0 && a.turned) {
            column[j - 1] = a.row_of[j] - 1;
        } else if (a.row_of[j] != 0) {
            column[a.row_of[j] - 1] = j - 1;
        }
    }
done:
    free(a.row_price);
    free(a.column_price);
    free(a.slack);
    free(a.row_of);
    free(a.before);
    free(a.seen);
    return status;
}

/* ---- partners ---- */

const char *const hc_compare_match_words[] = {"auto", "order", "name", "best", NULL};

static const char *name_of(const HcScene *scene, int32_t band) {
    return scene->band_name != NULL && scene->band_name[band] != NULL ? scene->band_name[band] : "";
}

/* partner[bands of the raster]: bands of the truth, -1 = none. */
static HcStatus by_name(const HcPair *pair, int32_t *partner, HcError *err) {
    const HcScene *of = hc_pair_scene(pair, 0), *to = hc_pair_scene(pair, 1);
    int32_t found = 0;
    for (int32_t t = 0; t < to->bands; t++) {
        int32_t owner = -1;
        for (int32_t b = 0; b < of->bands; b++) {
            if (!hc_text_equal_trimmed(name_of(of, b), name_of(to, t))) {
                continue;
            }
            if (owner >= 0 || partner[b] >= 0) {
                return hc_fail(err, HC_E_INPUT, "%s: two bands are called \"%s\", --match name needs one",
                               hc_pair_path(pair, owner >= 0 ? 0 : 1), name_of(to, t));
            }
            owner = b;
            partner[b] = t;
        }
        found += owner >= 0;
    }
    return found > 0 ? HC_OK
                     : hc_fail(err, HC_E_INPUT, "%s: no band has the name of a band of %s (--match name)",
                               hc_pair_path(pair, 0), hc_pair_path(pair, 1));
}

/* Sums of squared differences of all bands of one with all of the other. */
static HcStatus sum_differences(HcPair *pair, double *sums, HcError *err) {
    for (int64_t line = 0; line < pair->lines; line += pair->lines_most) {
        HC_OR_RETURN(hc_pair_load(pair, line, (int32_t)hc_min64(pair->lines_most, pair->lines - line), err));
        const HcBlock *of = &pair->block[0], *to = &pair->block[1];
        for (size_t p = 0; p < hc_block_pixels(of); p++) {
            const float *x = of->data + p * (size_t)of->bands, *y = to->data + p * (size_t)to->bands;
            if (!of->mask[p] || !to->mask[p]) {
                continue;
            }
            for (int32_t b = 0; b < of->bands; b++) {
                double *row = sums + (size_t)b * (size_t)to->bands;
                for (int32_t t = 0; t < to->bands; t++) {
                    double d = (double)x[b] - (double)y[t];
                    row[t] += d * d;
                }
            }
        }
    }
    return hc_pair_unchanged(pair, err);
}

static HcStatus by_values(HcPair *pair, int32_t *partner, HcError *err) {
    HcStatus status = HC_OK;
    double *sums = NULL;
    int32_t bands[2] = {hc_pair_scene(pair, 0)->bands, hc_pair_scene(pair, 1)->bands};
    for (int w = 0; w < 2; w++) {
        if (bands[w] > HC_MATCH_MAX) {
            return hc_fail(err, HC_E_UNSUPPORTED, "%s: has %d bands, --match best takes at most %d",
                           hc_pair_path(pair, w), bands[w], HC_MATCH_MAX);
        }
    }
    HC_TRY(hc_new(sums, (size_t)bands[0] * (size_t)bands[1], "sums of differences", err));
    HC_TRY(sum_differences(pair, sums, err));
    HC_TRY(hc_match_least(sums, bands[0], bands[1], partner, err));
done:
    free(sums);
    return status;
}

/* The pairs in the order of the truth. */
static HcStatus list_pairs(HcPair *pair, const int32_t *partner, HcError *err) {
    const HcScene *of = hc_pair_scene(pair, 0), *to = hc_pair_scene(pair, 1);
    HC_OR_RETURN(hc_new(pair->order[0], (size_t)to->bands, "a list of bands", err));
    HC_OR_RETURN(hc_new(pair->order[1], (size_t)to->bands, "a list of bands", err));
    for (int32_t t = 0; t < to->bands; t++) {
        for (int32_t b = 0; b < of->bands; b++) {
            if (partner[b] == t) {
                pair->order[0][pair->bands] = b;
                pair->order[1][pair->bands++] = t;
            }
        }
    }
    return HC_OK;
}

HcStatus hc_match_bands(HcPair *pair, HcCompareMatch match, HcComparison *out, HcError *err) {
    HcStatus status = HC_OK;
    const HcScene *of = hc_pair_scene(pair, 0), *to = hc_pair_scene(pair, 1);
    int32_t *partner = NULL;
    match = match == HC_MATCH_AUTO ? HC_MATCH_ORDER : match;
    out->matched_by = hc_compare_match_words[match];
    if (match == HC_MATCH_ORDER) {
        pair->bands = of->bands;
        return of->bands == to->bands
                   ? HC_OK
                   : hc_fail(err, HC_E_INPUT,
                             "%s: has %d bands, %s has %d (--match name or best pairs some of them)",
                             hc_pair_path(pair, 1), to->bands, hc_pair_path(pair, 0), of->bands);
    }
    HC_TRY(hc_new(partner, (size_t)of->bands, "a list of bands", err));
    for (int32_t b = 0; b < of->bands; b++) {
        partner[b] = -1;
    }
    HC_TRY(match == HC_MATCH_NAME ? by_name(pair, partner, err) : by_values(pair, partner, err));
    HC_TRY(list_pairs(pair, partner, err));
    out->unmatched[0] = of->bands - pair->bands;
    out->unmatched[1] = to->bands - pair->bands;
done:
    free(partner);
    return status;
}
