/* The strict backend: l1. */
#include "tests/support/strict_parts.h"

static size_t matrix_bytes(const HcMatrix *matrix) {
    return (size_t)matrix->rows * (size_t)matrix->columns * sizeof *matrix->data;
}

typedef struct Product {
    HcMatrix matrix;
    const float *x;
    float *y;
} Product;

static HcStatus do_product(const Strict *strict, Product *work, bool transposed, HcError *err) {
    size_t rows = (size_t)work->matrix.rows * sizeof(float);
    size_t columns = (size_t)work->matrix.columns * sizeof(float);
    HC_OR_RETURN(
        strict_translate(strict, &work->matrix.data, matrix_bytes(&work->matrix), "the matrix", err));
    HC_OR_RETURN(strict_translate(strict, &work->x, transposed ? rows : columns, "the vector", err));
    HC_OR_RETURN(strict_translate(strict, &work->y, transposed ? columns : rows, "the result", err));
    return (transposed ? hc_gemv_t : hc_gemv)(strict->cpu_queue, &work->matrix, work->x, work->y, err);
}

static HcStatus do_gemv(const Strict *strict, void *arguments, HcError *err) {
    return do_product(strict, arguments, false, err);
}

static HcStatus do_gemv_t(const Strict *strict, void *arguments, HcError *err) {
    return do_product(strict, arguments, true, err);
}

HcStatus hc_strict_gemv(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    Product work = {*matrix, x, y};
    return strict_accept(queue, do_gemv, &work, sizeof work, err);
}

HcStatus hc_strict_gemv_t(HcQueue *queue, const HcMatrix *matrix, const float *x, float *y, HcError *err) {
    Product work = {*matrix, x, y};
    return strict_accept(queue, do_gemv_t, &work, sizeof work, err);
}

STRICT_HANDLE(HcL1, HcL1Head, l1, const float *data;) /* where the matrix really is */

HcStatus hc_strict_l1_open(HcCompute *compute, const HcMatrix *matrix, HcL1 **out, HcError *err) {
    HcMatrix own = *matrix;
    const void *data = matrix->data;
    HC_OR_RETURN(
        strict_translate_at_once(strict_of(compute), &data, matrix_bytes(matrix), "the matrix", err));
    own.data = data;
    STRICT_OPEN(HcL1, l1, hc_l1_open(strict_of(compute)->cpu, &own, &real, err));
    (*out)->data = own.data;
    return HC_OK;
}

typedef struct L1 {
    const HcL1 *l1;
    HcL1Rule rule;
    const float *b;
    float *x;
    HcL1Report *report;
} L1;

static HcStatus translate_l1(const Strict *strict, L1 *work, HcError *err) {
    HcMatrix matrix = work->l1->head.matrix;
    HC_OR_RETURN(strict_still_open(&work->l1->kept, "l1", err));
    HC_OR_RETURN(strict_translate(strict, &matrix.data, matrix_bytes(&matrix), "the matrix", err));
    if (matrix.data != work->l1->data) {
        return hc_fail(err, HC_E_DEVICE, "l1: the matrix was moved");
    }
    HC_OR_RETURN(
        strict_translate(strict, &work->b, (size_t)matrix.rows * sizeof *work->b, "the vector", err));
    return strict_translate(strict, &work->x, (size_t)matrix.columns * sizeof *work->x, "the result", err);
}

static HcStatus do_fista(const Strict *strict, void *arguments, HcError *err) {
    L1 *work = arguments;
    HC_OR_RETURN(translate_l1(strict, work, err));
    return hc_fista(strict->cpu_queue, work->l1->kept.real, &work->rule, work->b, work->x, work->report, err);
}

static HcStatus do_alm(const Strict *strict, void *arguments, HcError *err) {
    L1 *work = arguments;
    HC_OR_RETURN(translate_l1(strict, work, err));
    return hc_alm(strict->cpu_queue, work->l1->kept.real, &work->rule, work->b, work->x, work->report, err);
}

HcStatus hc_strict_fista(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                         HcL1Report *report, HcError *err) {
    L1 work = {l1, *rule, b, x, report};
    return strict_accept(queue, do_fista, &work, sizeof work, err);
}

HcStatus hc_strict_alm(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                       HcL1Report *report, HcError *err) {
    L1 work = {l1, *rule, b, x, report};
    return strict_accept(queue, do_alm, &work, sizeof work, err);
}
