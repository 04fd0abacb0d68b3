#include "core/check.h"

#include <math.h>
#include <stdlib.h>

static HcStatus check_queue(const HcQueue *queue, const char *what, HcError *err) {
    return queue != NULL ? HC_OK : hc_fail(err, HC_E_USAGE, "%s: the queue is missing", what);
}

static HcStatus check_block(const HcBlock *block, const char *what, const char *which, HcError *err) {
    if (block == NULL || block->data == NULL || block->mask == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: the %s block or its memory is missing", what, which);
    }
    if (block->lines < 1 || block->samples < 1 || block->bands < 1) {
        return hc_fail(err, HC_E_USAGE, "%s: an %s block of %d lines, %d samples, %d bands", what, which,
                       block->lines, block->samples, block->bands);
    }
    if (block->above < 0 || block->below < 0 || hc_block_first_line(block) < 0) {
        return hc_fail(err, HC_E_USAGE, "%s: an %s block with a halo of %d and %d lines around line %lld",
                       what, which, block->above, block->below, (long long)block->line0);
    }
    return HC_OK;
}

/* Whether the lines [first, end) are among those that the input holds. */
static HcStatus check_lines(int64_t first, int64_t end, int64_t in_first, int64_t in_end, const char *what,
                            HcError *err) {
    if (first >= in_first && end <= in_end) {
        return HC_OK;
    }
    return hc_fail(err, HC_E_USAGE, "%s: lines %lld to %lld needed, the input holds %lld to %lld", what,
                   (long long)first, (long long)(end - 1), (long long)in_first, (long long)(in_end - 1));
}

/* Two blocks over the same samples; the input has the rows of the output and `halo` more. The last line of a
 * scene is not known to a block: below, only the rows of the output are asked for. */
static HcStatus check_pair(const HcQueue *queue, const HcBlock *in, const HcBlock *out, int32_t halo,
                           const char *what, HcError *err) {
    HC_OR_RETURN(check_queue(queue, what, err));
    HC_OR_RETURN(check_block(in, what, "input", err));
    HC_OR_RETURN(check_block(out, what, "output", err));
    if (in->samples != out->samples) {
        return hc_fail(err, HC_E_USAGE, "%s: %d samples in, %d out", what, in->samples, out->samples);
    }
    int64_t first = hc_block_first_line(out);
    int64_t needed = first > halo ? first - halo : 0;
    return check_lines(needed, first + hc_block_rows(out), hc_block_first_line(in),
                       hc_block_first_line(in) + hc_block_rows(in), what, err);
}

static HcStatus check_bands(const HcBlock *in, const HcBlock *out, const char *what, HcError *err) {
    return in->bands == out->bands
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: %d bands in, %d out", what, in->bands, out->bands);
}

static HcStatus check_kind(HcDifference kind, const char *what, HcError *err) {
    return (int)kind >= HC_DIFFERENCE_NONE && kind <= HC_DIFFERENCE_SHIFT_DIAGONAL
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: no difference has the number %d", what, (int)kind);
}

HcStatus hc_check_decode(const HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                         HcError *err) {
    HC_OR_RETURN(check_queue(queue, "decode", err));
    HC_OR_RETURN(check_block(out, "decode", "output", err));
    if (raw == NULL || raw->data == NULL || how == NULL || how->band_index == NULL) {
        return hc_fail(err, HC_E_USAGE, "decode: the bytes or the list of bands is missing");
    }
    if ((int)raw->type < 0 || raw->type >= HC_TYPE_COUNT) {
        return hc_fail(err, HC_E_USAGE, "decode: no type has the number %d", (int)raw->type);
    }
    if (raw->lines < 1 || raw->bands < 1 || raw->samples != out->samples) {
        return hc_fail(err, HC_E_USAGE, "decode: %d lines, %d samples, %d bands in, %d samples out",
                       raw->lines, raw->samples, raw->bands, out->samples);
    }
    int64_t first = hc_block_first_line(out);
    return check_lines(first, first + hc_block_rows(out), raw->line0, raw->line0 + raw->lines, "decode", err);
}

HcStatus hc_check_gather(const HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                         HcError *err) {
    HcStatus status = check_pair(queue, in, out, 0, "gather", err);
    if (status == HC_OK && index == NULL) {
        status = hc_fail(err, HC_E_USAGE, "gather: the list of bands is missing");
    }
    return status;
}

HcStatus hc_check_filter(const HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out,
                         HcError *err) {
    HC_OR_RETURN(check_pair(queue, in, out, 1, "filter", err));
    HC_OR_RETURN(check_bands(in, out, "filter", err));
    if (kind != HC_FILTER_MEAN3X3 && kind != HC_FILTER_MEDIAN3X3) {
        return hc_fail(err, HC_E_USAGE, "filter: no filter has the number %d", (int)kind);
    }
    return HC_OK;
}

HcStatus hc_check_difference(const HcQueue *queue, const HcBlock *in, HcDifference kind, const HcBlock *out,
                             HcError *err) {
    HC_OR_RETURN(check_kind(kind, "difference", err));
    HC_OR_RETURN(check_pair(queue, in, out, hc_difference_halo(kind), "difference", err));
    return check_bands(in, out, "difference", err);
}

HcStatus hc_check_project(const HcQueue *queue, const HcBlock *in, const double *matrix, const HcBlock *out,
                          HcError *err) {
    HcStatus status = check_pair(queue, in, out, 0, "project", err);
    if (status == HC_OK && matrix == NULL) {
        status = hc_fail(err, HC_E_USAGE, "project: the matrix is missing");
    }
    return status;
}

HcStatus hc_check_reduce(const HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                         const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check_pair(queue, in, out, 0, "reduce", err));
    if ((int)kind < HC_REDUCE_SQUARES || kind > HC_REDUCE_ANGLE) {
        return hc_fail(err, HC_E_USAGE, "reduce: no reduction has the number %d", (int)kind);
    }
    if (kind != HC_REDUCE_SQUARES) {
        return targets != NULL ? HC_OK : hc_fail(err, HC_E_USAGE, "reduce: the targets are missing");
    }
    return targets == NULL && out->bands == 1
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "reduce: squares are one band without targets, not %d%s",
                         out->bands, targets != NULL ? " with targets" : "");
}

HcStatus hc_check_sums(int32_t bands, int64_t integer_limit, HcError *err) {
    const int64_t most = HC_SUMS_LIMIT;
    const int32_t most_bands = 1 << 20;
    if (bands >= 1 && bands <= most_bands && integer_limit >= 0 && integer_limit <= most) {
        return HC_OK;
    }
    return hc_fail(err, HC_E_USAGE, "sums: %d bands of integers up to %lld (at most %lld)", bands,
                   (long long)integer_limit, (long long)most);
}

HcStatus hc_check_gram(const HcQueue *queue, const HcBlock *in, HcDifference kind, int32_t sums_bands,
                       HcError *err) {
    HC_OR_RETURN(check_queue(queue, "gram", err));
    HC_OR_RETURN(check_kind(kind, "gram", err));
    HC_OR_RETURN(check_block(in, "gram", "input", err));
    if (in->bands != sums_bands) {
        return hc_fail(err, HC_E_USAGE, "gram: %d bands in, sums of %d", in->bands, sums_bands);
    }
    if (hc_difference_halo(kind) > 0 && in->line0 > 0 && in->above < 1) {
        return hc_fail(err, HC_E_USAGE, "gram: line %lld needs a line of halo above", (long long)in->line0);
    }
    return HC_OK;
}

HcStatus hc_check_training(const float *spectra, int64_t count, int32_t bands, HcMetric metric,
                           HcError *err) {
    if (spectra == NULL || count < 1 || count >= (1 << 24) || bands < 1) {
        return hc_fail(err, HC_E_USAGE, "knn: %lld training spectra of %d bands%s", (long long)count, bands,
                       spectra == NULL ? " without memory" : "");
    }
    if (metric != HC_METRIC_EUCLIDEAN && metric != HC_METRIC_ANGLE) {
        return hc_fail(err, HC_E_USAGE, "knn: no metric has the number %d", (int)metric);
    }
    return HC_OK;
}

HcStatus hc_check_knn(const HcQueue *queue, const HcBlock *in, int64_t training_count, int32_t training_bands,
                      int32_t k, const int32_t *index, const double *distance, HcError *err) {
    HC_OR_RETURN(check_queue(queue, "knn", err));
    HC_OR_RETURN(check_block(in, "knn", "input", err));
    if (in->bands != training_bands) {
        return hc_fail(err, HC_E_USAGE, "knn: %d bands in, training spectra of %d", in->bands,
                       training_bands);
    }
    if (k < 1 || k > HC_KNN_MAX || k > training_count) {
        return hc_fail(err, HC_E_USAGE, "knn: %d neighbours of %lld training spectra: 1 to %d", k,
                       (long long)training_count, HC_KNN_MAX);
    }
    if (index == NULL || distance == NULL) {
        return hc_fail(err, HC_E_USAGE, "knn: the place for the neighbours is missing");
    }
    return HC_OK;
}

HcStatus hc_check_vote(const HcQueue *queue, const HcBlock *in, const int32_t *index, const double *distance,
                       const int32_t *label, const HcVoteRule *rule, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check_queue(queue, "vote", err));
    HC_OR_RETURN(check_block(in, "vote", "input", err));
    HC_OR_RETURN(check_block(out, "vote", "output", err));
    if (index == NULL || distance == NULL || label == NULL || rule == NULL) {
        return hc_fail(err, HC_E_USAGE, "vote: the neighbours, their labels or the rule is missing");
    }
    if (rule->k < 1 || rule->k > HC_KNN_MAX || rule->classes < 1 || !(rule->reject >= 0)) {
        return hc_fail(err, HC_E_USAGE, "vote: %d neighbours, %d classes, rejection beyond %g", rule->k,
                       rule->classes, rule->reject);
    }
    if (in->samples != out->samples || in->line0 != out->line0 || in->lines != out->lines ||
        out->above != 0 || out->below != 0 || out->bands != hc_vote_bands(rule)) {
        return hc_fail(err, HC_E_USAGE, "vote: %d lines, %d samples in; %d lines, %d samples, %d bands out",
                       in->lines, in->samples, out->lines, out->samples, out->bands);
    }
    return HC_OK;
}

HcStatus hc_check_svd(HcElement element, int32_t rows, int32_t columns, int64_t most, HcError *err) {
    if ((int)element < 0 || element >= HC_ELEMENT_COUNT) {
        return hc_fail(err, HC_E_USAGE, "svd: no element has the number %d", (int)element);
    }
    if (rows < 1 || rows > HC_SVD_MAX || columns < 1 || columns > HC_SVD_MAX || most < 1) {
        return hc_fail(err, HC_E_USAGE, "svd: %d x %d matrices, %lld at once: 1 to %d rows and columns", rows,
                       columns, (long long)most, HC_SVD_MAX);
    }
    return HC_OK;
}

HcStatus hc_check_svd_batch(const HcQueue *queue, const HcSvd *svd, const HcSvdBatch *batch, bool vectors,
                            HcError *err) {
    HC_OR_RETURN(check_queue(queue, "svd", err));
    if (svd == NULL || batch == NULL || batch->matrices == NULL || batch->values == NULL) {
        return hc_fail(err, HC_E_USAGE, "svd: the matrices or the place for their values is missing");
    }
    if (batch->count < 1) {
        return hc_fail(err, HC_E_USAGE, "svd: %lld matrices", (long long)batch->count);
    }
    if (!vectors && (batch->left != NULL || batch->right != NULL)) {
        return hc_fail(err, HC_E_USAGE, "svd: vectors are wanted, but it was opened without them");
    }
    return HC_OK;
}

HcStatus hc_check_patch_rule(const HcPatchRule *rule, HcError *err) {
    if (rule == NULL || rule->lines < 1 || rule->samples < 1 || rule->bands < 1 || rule->bands > HC_SVD_MAX) {
        return hc_fail(err, HC_E_USAGE, "patches: of a scene of %lld lines, %d samples, %d bands",
                       rule != NULL ? (long long)rule->lines : 0, rule != NULL ? rule->samples : 0,
                       rule != NULL ? rule->bands : 0);
    }
    if (rule->size < 1 || rule->size > HC_PATCH_SIZE_MAX || rule->step < 1 || rule->step > rule->size) {
        return hc_fail(err, HC_E_USAGE, "patches: size %d (1 to %d), one every %d pixels", rule->size,
                       HC_PATCH_SIZE_MAX, rule->step);
    }
    if ((int)rule->keep < 0 || rule->keep > HC_PATCH_COUNT || rule->count < 0 || rule->values < 0 ||
        !(rule->noise >= 0 && rule->noise < (double)INFINITY)) {
        return hc_fail(err, HC_E_USAGE, "patches: rule %d, %d kept, %d values, noise %g", (int)rule->keep,
                       rule->count, rule->values, rule->noise);
    }
    return HC_OK;
}

HcStatus hc_check_patches(const HcQueue *queue, const HcBlock *in, const HcPatches *patches,
                          const HcPatchRule *rule, const HcBlock *out, HcError *err) {
    if (patches == NULL) {
        return hc_fail(err, HC_E_USAGE, "patches: the rule is missing");
    }
    HC_OR_RETURN(check_pair(queue, in, out, rule->size - 1, "patches", err));
    int64_t end = hc_min64(out->line0 + out->lines + rule->size - 1, rule->lines);
    HC_OR_RETURN(check_lines(out->line0, end, hc_block_first_line(in),
                             hc_block_first_line(in) + hc_block_rows(in), "patches", err));
    if (in->samples != rule->samples || in->bands != rule->bands || out->bands != hc_patch_bands(rule) ||
        out->above != 0 || out->below != 0 || out->line0 + out->lines > rule->lines) {
        return hc_fail(err, HC_E_USAGE,
                       "patches: %d samples and %d bands in, %d bands and %lld lines from %lld out",
                       in->samples, in->bands, out->bands, (long long)hc_block_rows(out),
                       (long long)hc_block_first_line(out));
    }
    return HC_OK;
}

HcStatus hc_check_unmix_rule(const HcUnmixRule *rule, HcError *err) {
    if (rule == NULL || rule->spectrum == NULL || rule->spectra < 1 || rule->spectra > HC_UNMIX_SPECTRA_MAX ||
        rule->bands < 1) {
        return hc_fail(err, HC_E_USAGE, "unmix: %d spectra of %d bands: 1 to %d spectra",
                       rule != NULL ? rule->spectra : 0, rule != NULL ? rule->bands : 0,
                       HC_UNMIX_SPECTRA_MAX);
    }
    if (!(rule->lambda >= 0 && rule->lambda < (double)INFINITY) || !(rule->gap > 0) || rule->iterations < 1 ||
        rule->top < 0 || rule->top > rule->spectra || (int)rule->solver < 0 || rule->solver > HC_UNMIX_ALM ||
        !(rule->threshold >= 0)) {
        return hc_fail(err, HC_E_USAGE, "unmix: lambda %g, gap %g, %d iterations, the %d largest, solver %d",
                       rule->lambda, rule->gap, rule->iterations, rule->top, (int)rule->solver);
    }
    for (int64_t i = 0; i < (int64_t)rule->spectra * rule->bands; i++) {
        if (!isfinite(rule->spectrum[i])) {
            return hc_fail(err, HC_E_USAGE, "unmix: spectrum %d holds %g in band %d", (int)(i / rule->bands),
                           (double)rule->spectrum[i], (int)(i % rule->bands));
        }
    }
    for (int32_t b = 0; rule->weight != NULL && b < rule->bands; b++) {
        if (!(rule->weight[b] >= 0 && isfinite(rule->weight[b]))) {
            return hc_fail(err, HC_E_USAGE, "unmix: the weight of band %d is %g", b, rule->weight[b]);
        }
    }
    return HC_OK;
}

HcStatus hc_check_unmix(const HcQueue *queue, const HcBlock *in, const HcUnmixing *unmixing,
                        const HcUnmixRule *rule, const HcBlock *out, HcError *err) {
    if (unmixing == NULL) {
        return hc_fail(err, HC_E_USAGE, "unmix: the library is missing");
    }
    HC_OR_RETURN(check_pair(queue, in, out, 0, "unmix", err));
    if (in->bands != rule->bands || out->bands != hc_unmix_bands(rule)) {
        return hc_fail(err, HC_E_USAGE, "unmix: %d bands in, %d out, for %d spectra of %d bands", in->bands,
                       out->bands, rule->spectra, rule->bands);
    }
    return HC_OK;
}

HcStatus hc_check_matrix(const HcMatrix *matrix, const char *what, HcError *err) {
    if (matrix == NULL || matrix->data == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: the matrix or its memory is missing", what);
    }
    if (matrix->rows < 1 || matrix->rows > HC_MATRIX_SIDE_MAX || matrix->columns < 1 ||
        matrix->columns > HC_MATRIX_SIDE_MAX) {
        return hc_fail(err, HC_E_USAGE, "%s: a matrix of %lld rows and %lld columns: 1 to %lld of each", what,
                       (long long)matrix->rows, (long long)matrix->columns, (long long)HC_MATRIX_SIDE_MAX);
    }
    return HC_OK;
}

HcStatus hc_check_gemv(const HcQueue *queue, const HcMatrix *matrix, const float *x, const float *y,
                       const char *what, HcError *err) {
    HC_OR_RETURN(check_queue(queue, what, err));
    HC_OR_RETURN(hc_check_matrix(matrix, what, err));
    if (x == NULL || y == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: the vector or the place for the product is missing", what);
    }
    return HC_OK;
}

/* What fista and alm have in common. */
static HcStatus check_l1(const HcQueue *queue, const HcL1 *l1, const HcL1Rule *rule, const float *b,
                         const float *x, const HcL1Told *told, const char *what, HcError *err) {
    HC_OR_RETURN(check_queue(queue, what, err));
    if (l1 == NULL || rule == NULL || b == NULL || x == NULL || told == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: the matrix, the rule, the right side or a result is missing",
                       what);
    }
    if (rule->iterations < 1 || !(rule->tolerance >= 0 && rule->tolerance < (double)INFINITY)) {
        return hc_fail(err, HC_E_USAGE, "%s: %d iterations, tolerance %g", what, rule->iterations,
                       rule->tolerance);
    }
    return HC_OK;
}

HcStatus hc_check_fista(const HcQueue *queue, const HcL1 *l1, const HcL1Rule *rule, const float *b,
                        const float *x, const HcL1Told *told, HcError *err) {
    HcStatus status = check_l1(queue, l1, rule, b, x, told, "fista", err);
    if (status == HC_OK && !(rule->lambda > 0 && rule->lambda < (double)INFINITY)) {
        status = hc_fail(err, HC_E_USAGE, "fista: lambda is %g, it must be above 0", rule->lambda);
    }
    return status;
}

HcStatus hc_check_alm(const HcQueue *queue, const HcL1 *l1, const HcL1Rule *rule, const float *b,
                      const float *x, const HcL1Told *told, HcError *err) {
    HcStatus status = check_l1(queue, l1, rule, b, x, told, "alm", err);
    if (status == HC_OK && rule->outer < 1) {
        status = hc_fail(err, HC_E_USAGE, "alm: %d outer steps", rule->outer);
    }
    return status;
}

HcStatus hc_check_abundance_rule(const HcAbundanceRule *rule, HcError *err) {
    if (rule == NULL || rule->spectrum == NULL || rule->endmembers < 1 ||
        rule->endmembers > HC_ABUNDANCE_ENDMEMBERS_MAX || rule->bands < 1 ||
        rule->bands > HC_ABUNDANCE_BANDS_MAX) {
        return hc_fail(err, HC_E_USAGE,
                       "simplex_batched: %d endmembers of %d bands: 1 to %d endmembers of 1 to %d bands",
                       rule != NULL ? rule->endmembers : 0, rule != NULL ? rule->bands : 0,
                       HC_ABUNDANCE_ENDMEMBERS_MAX, HC_ABUNDANCE_BANDS_MAX);
    }
    if ((int)rule->sum < 0 || rule->sum > HC_SUM_AT_MOST_ONE || rule->pivots < 0) {
        return hc_fail(err, HC_E_USAGE, "simplex_batched: sum %d, %d pivots", (int)rule->sum, rule->pivots);
    }
    for (int64_t i = 0; i < (int64_t)rule->endmembers * rule->bands; i++) {
        if (!isfinite(rule->spectrum[i])) {
            return hc_fail(err, HC_E_USAGE, "simplex_batched: endmember %d holds %g in band %d",
                           (int)(i / rule->bands), (double)rule->spectrum[i], (int)(i % rule->bands));
        }
    }
    for (int32_t b = 0; rule->weight != NULL && b < rule->bands; b++) {
        if (!(rule->weight[b] >= 0 && isfinite(rule->weight[b]))) {
            return hc_fail(err, HC_E_USAGE, "simplex_batched: the weight of band %d is %g", b,
                           rule->weight[b]);
        }
    }
    return HC_OK;
}

HcStatus hc_check_simplex_batched(const HcQueue *queue, const HcBlock *in, const HcAbundances *abundances,
                                  const HcAbundanceRule *rule, const HcBlock *out, HcError *err) {
    if (abundances == NULL) {
        return hc_fail(err, HC_E_USAGE, "simplex_batched: the endmembers are missing");
    }
    HC_OR_RETURN(check_pair(queue, in, out, 0, "simplex_batched", err));
    if (in->bands != rule->bands || out->bands != hc_abundance_bands(rule)) {
        return hc_fail(err, HC_E_USAGE, "simplex_batched: %d bands in, %d out, for %d endmembers of %d bands",
                       in->bands, out->bands, rule->endmembers, rule->bands);
    }
    return HC_OK;
}

/* Bounds [count] of columns or rows, each NULL = its default, which holds. */
static HcStatus check_bounds(const double *lower, const double *upper, int64_t count, double usual_lower,
                             const char *which, HcError *err) {
    for (int64_t k = 0; k < count; k++) {
        double least = lower != NULL ? lower[k] : usual_lower;
        double most = upper != NULL ? upper[k] : (double)INFINITY;
        if (!(least <= most && least < (double)INFINITY && most > -(double)INFINITY)) {
            return hc_fail(err, HC_E_USAGE, "simplex: %s %lld is bounded by %g and %g", which, (long long)k,
                           least, most);
        }
    }
    return HC_OK;
}

/* Entries of the columns: in rows that there are, each once. seen[rows] is 0 throughout. */
static HcStatus check_entries(const HcLinearProgram *program, int64_t *seen, HcError *err) {
    for (int64_t j = 0; j < program->columns; j++) {
        if (program->start[j + 1] < program->start[j]) {
            return hc_fail(err, HC_E_USAGE, "simplex: column %lld begins at entry %lld and ends at %lld",
                           (long long)j, (long long)program->start[j], (long long)program->start[j + 1]);
        }
        for (int64_t e = program->start[j]; e < program->start[j + 1]; e++) {
            int32_t i = program->row[e];
            if (i < 0 || i >= program->rows || seen[i] == j + 1) {
                return hc_fail(err, HC_E_USAGE, "simplex: column %lld has an entry in row %d of %lld%s",
                               (long long)j, i, (long long)program->rows,
                               i < 0 || i >= program->rows ? "" : " twice");
            }
            seen[i] = j + 1;
        }
    }
    return HC_OK;
}

static HcStatus check_columns(const HcLinearProgram *program, HcError *err) {
    HcStatus status = HC_OK;
    if (program->start == NULL) {
        return HC_OK;
    }
    if (program->start[0] != 0 || (program->start[program->columns] > 0 && program->row == NULL)) {
        return hc_fail(err, HC_E_USAGE, "simplex: the first column begins at entry %lld, or rows are missing",
                       (long long)program->start[0]);
    }
    int64_t *seen = calloc((size_t)program->rows + 1, sizeof *seen);
    if (seen == NULL) {
        return hc_fail_memory(err, (double)program->rows * 8, "the rows of a linear program");
    }
    status = check_entries(program, seen, err);
    free(seen);
    return status;
}

static HcStatus check_numbers(const HcLinearProgram *program, HcError *err) {
    int64_t j = 0;
    int64_t entries =
        program->start != NULL ? program->start[program->columns] : program->columns * program->rows;
    for (int64_t e = 0; e < entries; e++) {
        if (!isfinite(program->value[e])) {
            for (j = 0; program->start != NULL && program->start[j + 1] <= e; j++) {
            }
            j = program->start != NULL ? j : e / program->rows;
            return hc_fail(err, HC_E_USAGE, "simplex: row %lld of column %lld holds %g",
                           program->start != NULL ? (long long)program->row[e]
                                                  : (long long)(e % program->rows),
                           (long long)j, program->value[e]);
        }
    }
    for (j = 0; j < program->columns; j++) {
        if (!isfinite(program->cost[j])) {
            return hc_fail(err, HC_E_USAGE, "simplex: the cost of column %lld is %g", (long long)j,
                           program->cost[j]);
        }
    }
    return HC_OK;
}

HcStatus hc_check_simplex(const HcQueue *queue, const HcLinearProgram *program, const HcSimplexRule *rule,
                          const HcLpSolution *out, HcError *err) {
    HC_OR_RETURN(check_queue(queue, "simplex", err));
    if (program == NULL || rule == NULL || out == NULL || program->cost == NULL || out->x == NULL ||
        (program->rows > 0 && (program->value == NULL || out->price == NULL))) {
        return hc_fail(err, HC_E_USAGE,
                       "simplex: the program, the rule or the solution is missing or not whole");
    }
    if (program->rows < 0 || program->columns < 1 || program->rows > INT32_MAX / 2 ||
        program->columns > INT32_MAX / 2) {
        return hc_fail(err, HC_E_USAGE, "simplex: %lld rows, %lld columns: at most %d of each",
                       (long long)program->rows, (long long)program->columns, INT32_MAX / 2);
    }
    if (rule->pivots < 0 || !(rule->tolerance >= 0 && rule->tolerance < 1)) {
        return hc_fail(err, HC_E_USAGE, "simplex: %lld pivots, tolerance %g", (long long)rule->pivots,
                       rule->tolerance);
    }
    HC_OR_RETURN(check_columns(program, err));
    HC_OR_RETURN(check_numbers(program, err));
    HC_OR_RETURN(check_bounds(program->lower, program->upper, program->columns, 0, "column", err));
    return check_bounds(program->row_lower, program->row_upper, program->rows, -(double)INFINITY, "row", err);
}

HcStatus hc_check_eigh(int32_t n, const double *matrix, const double *values, const double *vectors,
                       HcError *err) {
    return n >= 1 && matrix != NULL && values != NULL && vectors != NULL
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "eigh: a matrix of %d rows%s", n,
                         n < 1 ? "" : " or its results without memory");
}
