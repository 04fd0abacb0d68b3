/* Single matrices of one element; single.c includes this for each of them with
 *   REAL   float or double              PARTS  1, or 2 for complex elements
 *   VALUE  the element as LAPACK has it  GESDD  LAPACK's routine
 *   NAME(word), REAL_NAME(word)  names of this element's, and of its parts', own. */

#if PARTS == 1
static bool REAL_NAME(is_finite)(const REAL *values, size_t count) {
    REAL sum = 0; /* of zeros, or NaN */
    for (size_t i = 0; i < count; i++) {
        sum += values[i] * 0;
    }
    return sum == 0;
}

void REAL_NAME(hc_cpu_svd_not_finite)(const HcSvd *svd, const HcSvdPlace *place) {
    size_t shorter = (size_t)svd->shorter;
    size_t parts = svd->element == HC_ELEMENT_FLOAT32 || svd->element == HC_ELEMENT_FLOAT64 ? 1 : 2;
    REAL *result[] = {place->values, place->along, place->across};
    size_t count[] = {shorter, shorter * (size_t)svd->longer * parts, shorter * shorter * parts};
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; result[k] != NULL && i < count[k]; i++) {
            result[k][i] = (REAL)NAN;
        }
    }
    if (place->sweeps != NULL) {
        *place->sweeps = 0;
    }
    if (place->end != NULL) {
        *place->end = HC_SVD_NOT_FINITE;
    }
}
#endif

/* Takes from `vector` what it has of `unit`. */
static void NAME(take_away)(REAL *vector, const REAL *unit, int32_t length) {
    REAL real = 0;
    REAL imaginary = 0;
    for (int32_t i = 0; i < length; i++) {
        const REAL *v = vector + PARTS * i;
        const REAL *u = unit + PARTS * i;
        real += u[0] * v[0];
#if PARTS == 2
        real += u[1] * v[1];
        imaginary += u[0] * v[1] - u[1] * v[0];
#endif
    }
    for (int32_t i = 0; i < length; i++) {
        REAL *v = vector + PARTS * i;
        const REAL *u = unit + PARTS * i;
        v[0] -= real * u[0] - imaginary * u[PARTS - 1];
#if PARTS == 2
        v[1] -= real * u[1] + imaginary * u[0];
#endif
    }
}

/* The axis of which the first `rows` vectors hold least: at most rows / length of its square. */
static int32_t NAME(find_axis)(const REAL *vectors, int32_t rows, int32_t length) {
    int32_t axis = 0;
    REAL least = (REAL)INFINITY;
    for (int32_t i = 0; i < length; i++) {
        REAL held = 0;
        for (int32_t k = 0; k < rows; k++) {
            const REAL *at = vectors + PARTS * ((size_t)k * (size_t)length + (size_t)i);
            held += at[0] * at[0] + (PARTS == 2 ? at[PARTS - 1] * at[PARTS - 1] : 0);
        }
        axis = held < least ? i : axis;
        least = held < least ? held : least;
    }
    return axis;
}

void NAME(hc_cpu_svd_complete)(REAL *vectors, int32_t from, int32_t rows, int32_t length) {
    size_t stride = PARTS * (size_t)length;
    for (int32_t k = from; k < rows; k++) {
        REAL *vector = vectors + (size_t)k * stride;
        int32_t axis = NAME(find_axis)(vectors, k, length);
        memset(vector, 0, stride * sizeof *vector);
        vector[PARTS * axis] = 1;
        for (int32_t i = 0; i < 2 * k; i++) { /* twice is enough (Kahan) */
            NAME(take_away)(vector, vectors + (size_t)(i % k) * stride, length);
        }
        REAL square = 0;
        for (size_t i = 0; i < stride; i++) {
            square += vector[i] * vector[i];
        }
        REAL size = (REAL)sqrt((double)square);
        for (size_t i = 0; i < stride; i++) {
            vector[i] /= size;
        }
    }
}

/* How much gesdd works in: values, and reals beside them for complex elements. */
static void NAME(work_sizes)(const HcSvd *svd, size_t *values, size_t *reals) {
    lapack_int longer = svd->longer;
    lapack_int shorter = svd->shorter;
    size_t n = (size_t)shorter;
    VALUE most = 0;
    VALUE none = 0;
    lapack_int no_integer = 0;
    REAL no_real = 0;
    size_t more = 5 * n + 7 > 2 * (size_t)longer + 2 * n + 1 ? 5 * n + 7 : 2 * (size_t)longer + 2 * n + 1;
    *reals = PARTS == 2 ? n * more : 0; /* as its documentation says */
#if PARTS == 1
    (void)GESDD(LAPACK_COL_MAJOR, svd->vectors ? 'S' : 'N', longer, shorter, &none, longer, &no_real, &none,
                longer, &none, shorter, &most, -1, &no_integer);
#else
    (void)GESDD(LAPACK_COL_MAJOR, svd->vectors ? 'S' : 'N', longer, shorter, &none, longer, &no_real, &none,
                longer, &none, shorter, &most, -1, &no_real, &no_integer);
#endif
    REAL real;
    memcpy(&real, &most, sizeof real);
    *values = (size_t)((double)real * (1 + 0x1p-20)) + 1; /* a large number may have been rounded down */
}

/* The columns of the matrix, both sets of vectors, what gesdd works in. The matrices are not at the end:
 * zgemv of OpenBLAS 0.3.21 looks up to four columns beyond them (its issue 4013). */
static size_t NAME(work_bytes)(const HcSvd *svd) {
    size_t longer = (size_t)svd->longer;
    size_t shorter = (size_t)svd->shorter;
    size_t values, reals;
    NAME(work_sizes)(svd, &values, &reals);
    return (shorter * (2 * longer + shorter) + values) * sizeof(VALUE) + (shorter + reals) * sizeof(REAL) +
           8 * shorter * sizeof(lapack_int);
}

/* Column by column, as LAPACK expects it; a wide matrix as its conjugate transpose. */
static void NAME(load)(const HcSvd *svd, const REAL *matrix, REAL *out) {
    size_t longer = (size_t)svd->longer;
    size_t shorter = (size_t)svd->shorter;
    for (size_t c = 0; c < shorter; c++) {
        for (size_t r = 0; r < longer; r++) {
            const REAL *from = matrix + PARTS * (svd->turned ? c * longer + r : r * shorter + c);
            for (size_t p = 0; p < PARTS; p++) {
                out[PARTS * (c * longer + r) + p] = svd->turned && p == 1 ? -from[p] : from[p];
            }
        }
    }
}

/* Conjugate vectors that lie across one another, one after the other. */
static void NAME(store_across)(const REAL *vectors, size_t n, REAL *out) {
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < n; i++) {
            out[PARTS * (k * n + i)] = vectors[PARTS * (i * n + k)];
#if PARTS == 2
            out[2 * (k * n + i) + 1] = -vectors[2 * (i * n + k) + 1];
#endif
        }
    }
}

static void NAME(decompose_one)(const HcSvd *svd, const HcSvdPlace *place, VALUE *memory) {
    lapack_int longer = svd->longer;
    lapack_int shorter = svd->shorter;
    size_t n = (size_t)shorter;
    size_t values = n * (size_t)longer;
    size_t work_count, reals;
    if (!REAL_NAME(is_finite)(place->matrix, PARTS * values)) {
        REAL_NAME(hc_cpu_svd_not_finite)(svd, place);
        return;
    }
    NAME(work_sizes)(svd, &work_count, &reals);
    VALUE *along = memory + values;
    VALUE *across = along + values;
    VALUE *work = across + n * n;
    REAL *singular = (REAL *)(work + work_count);
    REAL *real_work = singular + n;
    lapack_int *integers = (lapack_int *)(real_work + reals);
    NAME(load)(svd, place->matrix, (REAL *)memory);
#if PARTS == 1
    lapack_int failed =
        GESDD(LAPACK_COL_MAJOR, svd->vectors ? 'S' : 'N', longer, shorter, memory, longer, singular, along,
              longer, across, shorter, work, (lapack_int)work_count, integers);
#else
    lapack_int failed =
        GESDD(LAPACK_COL_MAJOR, svd->vectors ? 'S' : 'N', longer, shorter, memory, longer, singular, along,
              longer, across, shorter, work, (lapack_int)work_count, real_work, integers);
#endif
    memcpy(place->values, singular, n * sizeof *singular);
    if (place->along != NULL) {
        memcpy(place->along, along, values * sizeof(VALUE));
    }
    if (place->across != NULL) {
        NAME(store_across)((const REAL *)across, n, place->across);
    }
    if (place->sweeps != NULL) {
        *place->sweeps = 0;
    }
    if (place->end != NULL) {
        *place->end = failed == 0 ? HC_SVD_CONVERGED : HC_SVD_UNFINISHED;
    }
}

static void NAME(decompose)(const HcSvd *svd, const HcSvdBatch *batch, int64_t first, int32_t count,
                            void *work) {
    for (int32_t i = 0; i < count; i++) {
        HcSvdPlace place = hc_cpu_svd_place(svd, batch, first + i);
        NAME(decompose_one)(svd, &place, work);
    }
}

#undef PARTS
#undef REAL
#undef VALUE
#undef REAL_NAME
#undef NAME
#undef GESDD
