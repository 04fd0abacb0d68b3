#include "core/operation/check.h"

HcStatus hc_check_queue(const HcQueue *queue, const char *what, HcError *err) {
    return queue != NULL ? HC_OK : hc_fail(err, HC_E_USAGE, "%s: the queue is missing", what);
}

HcStatus hc_check_open(const HcCompute *compute, const void *out, const char *what, HcError *err) {
    return compute != NULL && out != NULL
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: no backend, or no place for what is opened", what);
}

HcStatus hc_check_block(const HcBlock *block, const char *what, const char *which, HcError *err) {
    if (block == NULL || block->data == NULL || block->mask == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: the %s block or its memory is missing", what, which);
    }
    bool is_empty = block->lines < 0 || hc_block_rows(block) < 1; /* a halo alone is some rows */
    if (is_empty || block->samples < 1 || block->bands < 1) {
        return hc_fail(err, HC_E_USAGE, "%s: an %s block of %d lines, %d samples, %d bands", what, which,
                       block->lines, block->samples, block->bands);
    }
    if (block->above < 0 || block->below < 0 || hc_block_first_line(block) < 0) {
        return hc_fail(err, HC_E_USAGE, "%s: an %s block with a halo of %d and %d lines around line %lld",
                       what, which, block->above, block->below, (long long)block->line0);
    }
    return HC_OK;
}

HcStatus hc_check_lines(int64_t first, int64_t end, int64_t in_first, int64_t in_end, const char *what,
                        HcError *err) {
    if (first >= in_first && end <= in_end) {
        return HC_OK;
    }
    return hc_fail(err, HC_E_USAGE, "%s: lines %lld to %lld needed, the input holds %lld to %lld", what,
                   (long long)first, (long long)(end - 1), (long long)in_first, (long long)(in_end - 1));
}

HcStatus hc_check_pair(const HcQueue *queue, const HcBlock *in, const HcBlock *out, int32_t halo,
                       const char *what, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, what, err));
    HC_OR_RETURN(hc_check_block(in, what, "input", err));
    HC_OR_RETURN(hc_check_block(out, what, "output", err));
    if (in->samples != out->samples) {
        return hc_fail(err, HC_E_USAGE, "%s: %d samples in, %d out", what, in->samples, out->samples);
    }
    int64_t first = hc_block_first_line(out);
    int64_t needed = first > halo ? first - halo : 0;
    return hc_check_lines(needed, first + hc_block_rows(out), hc_block_first_line(in),
                          hc_block_first_line(in) + hc_block_rows(in), what, err);
}

HcStatus hc_check_bands(const HcBlock *in, const HcBlock *out, const char *what, HcError *err) {
    return in->bands == out->bands
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: %d bands in, %d out", what, in->bands, out->bands);
}

HcStatus hc_check_difference_kind(HcDifference kind, const char *what, HcError *err) {
    return (int)kind >= HC_DIFFERENCE_NONE && kind <= HC_DIFFERENCE_SHIFT_DIAGONAL
               ? HC_OK
               : hc_fail(err, HC_E_USAGE, "%s: no difference has the number %d", what, (int)kind);
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

HcStatus hc_check_decode(const HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                         const char *what, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, what, err));
    HC_OR_RETURN(hc_check_block(out, what, "output", err));
    if (raw == NULL || raw->data == NULL || how == NULL || how->band_index == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: the bytes or the list of bands is missing", what);
    }
    if ((int)raw->type < 0 || raw->type >= HC_TYPE_COUNT) {
        return hc_fail(err, HC_E_USAGE, "%s: no type has the number %d", what, (int)raw->type);
    }
    if (raw->lines < 1 || raw->bands < 1 || raw->samples != out->samples) {
        return hc_fail(err, HC_E_USAGE, "%s: %d lines, %d samples, %d bands in, %d samples out", what,
                       raw->lines, raw->samples, raw->bands, out->samples);
    }
    int64_t first = hc_block_first_line(out);
    return hc_check_lines(first, first + hc_block_rows(out), raw->line0, raw->line0 + raw->lines, what, err);
}

HcStatus hc_check_gram(const HcQueue *queue, const HcBlock *in, HcDifference kind, const HcSums *sums,
                       const char *what, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, what, err));
    if (sums == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: the sums are missing", what);
    }
    HC_OR_RETURN(hc_check_difference_kind(kind, what, err));
    HC_OR_RETURN(hc_check_block(in, what, "input", err));
    int32_t bands = ((const HcSumsHead *)sums)->bands;
    if (in->bands != bands) {
        return hc_fail(err, HC_E_USAGE, "%s: %d bands in, sums of %d", what, in->bands, bands);
    }
    if (hc_difference_halo(kind) > 0 && in->line0 > 0 && in->above < 1) {
        return hc_fail(err, HC_E_USAGE, "%s: line %lld needs a line of halo above", what,
                       (long long)in->line0);
    }
    return HC_OK;
}
