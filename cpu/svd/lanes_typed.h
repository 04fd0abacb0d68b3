/* Matrices of one element side by side; lanes.c includes this for each of them with
 *   PARTS   1, or 2 for complex elements: real and imaginary parts lie in vectors of their own, one after the
 *           other
 *   REAL    float or double              BITS    the unsigned integer of its size
 *   VECTOR  as many of them as lanes     MASK    the same of signed integers: -1 = true, 0 = false
 *   DIGITS  of REAL's mantissa           SQRT    its square root
 *   SCALE, LENGTH_MIN  of lanes.c
 *   COMPLETE     hc_cpu_svd_complete of this element
 *   NAME(word), REAL_NAME(word)  names of this element's, and of its parts', own. */

#define LANES ((int32_t)(sizeof(VECTOR) / sizeof(REAL)))
#define GROUP NAME(Group)
#define TURN  NAME(Turn)

/* LANES matrices [longer][shorter] and what becomes of them. */
typedef struct GROUP {
    int32_t longer, shorter;
    bool factored;
    int32_t rows;    /* of `columns` */
    int32_t stride;  /* of `turns`: columns are that far apart */
    VECTOR *matrix;  /* [shorter][longer] columns; when factored, R and below it the reflectors */
    VECTOR *factor;  /* [shorter] of the reflectors */
    VECTOR *columns; /* [shorter][rows] that are turned: those of the matrix, or of R^H */
    VECTOR *turns;   /* [shorter][shorter] what has been done to them, from the right; NULL = not wanted */
    VECTOR *square;  /* [shorter] squared lengths of the columns, as turning changes them */
    VECTOR *length;  /* [shorter] lengths as they were last summed */
    VECTOR scale[2]; /* factors of the matrices, in two steps: one could overflow */
    HcSvdPlace place[LANES];
    bool finite[LANES];
    int exponent[LANES];                     /* power of two that the matrix was scaled by */
    int32_t column[LANES][HC_SVD_LANES_MAX]; /* of the matrix, that lies in each place; longest first */
    int32_t sweeps[LANES];
    bool converged[LANES];
} GROUP;

/* --- lanes --- */

INLINE VECTOR NAME(all)(REAL value) {
    return value - (VECTOR){0};
}

INLINE VECTOR NAME(select)(MASK mask, VECTOR yes, VECTOR no) {
    return (VECTOR)(((MASK)yes & mask) | ((MASK)no & ~mask));
}

INLINE VECTOR NAME(magnitude)(VECTOR x) {
    return (VECTOR)((MASK)x & ~(MASK)NAME(all)((REAL)-0.0));
}

INLINE VECTOR NAME(larger)(VECTOR x, VECTOR y) {
    return NAME(select)(x > y, x, y);
}

INLINE VECTOR NAME(root)(VECTOR x) {
    VECTOR y = x;
    for (int32_t l = 0; l < LANES; l++) {
        y[l] = SQRT(x[l]);
    }
    return y;
}

INLINE bool NAME(any)(MASK mask) {
    uint64_t word[LANES_BYTES / 8];
    uint64_t any = 0;
    memcpy(word, &mask, sizeof word);
    for (size_t i = 0; i < LANES_BYTES / 8; i++) {
        any |= word[i];
    }
    return any != 0;
}

/* The sum of the squares of count vectors, in a fixed order of additions. */
INLINE VECTOR NAME(sum_squares)(const VECTOR *x, int32_t count) {
    VECTOR sum[4] = {{0}};
    int32_t i = 0;
    for (; i + 4 <= count; i += 4) {
        for (int32_t k = 0; k < 4; k++) {
            sum[k] += x[i + k] * x[i + k];
        }
    }
    for (; i < count; i++) {
        sum[0] += x[i] * x[i];
    }
    return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

/* x^H y: out[PARTS]. */
INLINE void NAME(inner)(const VECTOR *x, const VECTOR *y, int32_t rows, VECTOR *out) {
    VECTOR sum[4] = {{0}};
#if PARTS == 1
    int32_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        for (int32_t k = 0; k < 4; k++) {
            sum[k] += x[i + k] * y[i + k];
        }
    }
    for (; i < rows; i++) {
        sum[0] += x[i] * y[i];
    }
    out[0] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
#else
    for (int32_t i = 0; i < 2 * rows; i += 2) {
        sum[0] += x[i] * y[i];
        sum[1] += x[i] * y[i + 1];
        sum[2] += x[i + 1] * y[i + 1];
        sum[3] += x[i + 1] * y[i];
    }
    out[0] = sum[0] + sum[2];
    out[1] = sum[1] - sum[3];
#endif
}

/* y -= x times factor[PARTS]. */
INLINE void NAME(take_multiple)(const VECTOR *x, const VECTOR *factor, int32_t rows, VECTOR *y) {
    for (int32_t i = 0; i < PARTS * rows; i += PARTS) {
#if PARTS == 1
        y[i] -= factor[0] * x[i];
#else
        y[i] -= factor[0] * x[i] - factor[1] * x[i + 1];
        y[i + 1] -= factor[0] * x[i + 1] + factor[1] * x[i];
#endif
    }
}

/* --- turning columns --- */

/* A rotation p' = cosine p - conj(sine) q, q' = sine p + cosine q in each lane. */
typedef struct TURN {
    VECTOR cosine;
    VECTOR sine[PARTS];
} TURN;

INLINE void NAME(turn)(VECTOR *p, VECTOR *q, int32_t rows, const TURN *turn) {
    VECTOR c = turn->cosine;
    VECTOR s = turn->sine[0];
#if PARTS == 1
    for (int32_t i = 0; i < rows; i++) {
        VECTOR x = p[i];
        VECTOR y = q[i];
        p[i] = c * x - s * y;
        q[i] = s * x + c * y;
    }
#else
    VECTOR t = turn->sine[1];
    for (int32_t i = 0; i < 2 * rows; i += 2) {
        VECTOR x = p[i];
        VECTOR xi = p[i + 1];
        VECTOR y = q[i];
        VECTOR yi = q[i + 1];
        p[i] = c * x - (s * y + t * yi);
        p[i + 1] = c * xi - (s * yi - t * y);
        q[i] = c * y + (s * x - t * xi);
        q[i + 1] = c * yi + (s * xi + t * x);
    }
#endif
}

/* The power of two that brings x > 0 to between 1 and 2, or somewhere below 1 where x is subnormal. */
INLINE VECTOR NAME(inverse_power)(VECTOR x) {
    MASK exponent = (MASK)x & (MASK)NAME(all)((REAL)INFINITY);
    return (VECTOR)(2 * (MASK)NAME(all)(1) - exponent);
}

/* The rotation that makes p and q orthogonal and p the longer one, given p^H q and the difference of their
 * squared lengths (q's minus p's). Lanes that are not in `which` do not rotate. Returns what p's length
 * gains and q's loses. */
INLINE VECTOR NAME(find_turn)(const VECTOR *product, VECTOR difference, MASK which, TURN *turn) {
    VECTOR one = NAME(all)(1);
#if PARTS == 1
    VECTOR size = NAME(magnitude)(product[0]);
    VECTOR phase[1] = {NAME(select)(product[0] < 0, -one, one)};
#else
    VECTOR scale =
        NAME(inverse_power)(NAME(larger)(NAME(magnitude)(product[0]), NAME(magnitude)(product[1])));
    VECTOR phase[2] = {product[0] * scale, product[1] * scale};
    VECTOR scaled = NAME(root)(phase[0] * phase[0] + phase[1] * phase[1]);
    VECTOR inverse = one / scaled;
    VECTOR size = scaled / scale;
    phase[0] *= inverse;
    phase[1] *= inverse;
#endif
    /* Twice the angle has the tangent 2 size / difference, whose squares could overflow. */
    VECTOR apart = NAME(magnitude)(difference);
    VECTOR unit = NAME(inverse_power)(size + apart);
    VECTOR across = 2 * size * unit;
    apart *= unit;
    VECTOR tangent = across / (apart + NAME(root)(across * across + apart * apart)); /* the smaller angle's */
    /* 1 / sqrt(1 + tangent^2), but so that rounding does not lengthen the columns ever so slightly each time
     */
    VECTOR square = tangent * tangent;
    VECTOR secant = NAME(root)(one + square);
    VECTOR cosine = one - square / (secant * (one + secant));
    VECTOR sine = tangent * cosine;
    MASK exchange = difference > 0;
    turn->cosine = NAME(select)(which, NAME(select)(exchange, sine, cosine), one);
    for (int32_t part = 0; part < PARTS; part++) {
        VECTOR own = -NAME(select)(exchange, cosine, sine) * phase[part];
        turn->sine[part] = (VECTOR)((MASK)own & which);
    }
    return (VECTOR)((MASK)(tangent * size) & which);
}

INLINE void NAME(sum_lengths)(const GROUP *group, int32_t column) {
    group->square[column] =
        NAME(sum_squares)(group->columns + (int64_t)PARTS * group->rows * column, PARTS * group->rows);
    group->length[column] = NAME(root)(group->square[column]);
}

/* Lengths of p and q after a rotation, which exchanged them in some lanes. Where little is left of q, it is
 * summed anew. */
INLINE void NAME(change_lengths)(const GROUP *group, int32_t p, int32_t q, MASK exchanged, VECTOR gain) {
    VECTOR *square = group->square;
    VECTOR *length = group->length;
    VECTOR longer = NAME(select)(exchanged, square[q], square[p]) + gain;
    VECTOR shorter = NAME(select)(exchanged, square[p], square[q]) - gain;
    VECTOR longer_length = NAME(select)(exchanged, length[q], length[p]);
    VECTOR shorter_length = NAME(select)(exchanged, length[p], length[q]);
    MASK lost = shorter < shorter_length * shorter_length * (REAL)0x1p-10;
    square[p] = longer;
    length[p] = longer_length;
    if (NAME(any)(lost)) {
        NAME(sum_lengths)(group, q);
        shorter = NAME(select)(lost, square[q], shorter);
        shorter_length = NAME(select)(lost, length[q], shorter_length);
    }
    square[q] = shorter;
    length[q] = shorter_length;
}

/* Columns that are turned against all others in turn: as many as lie in the first cache. */
INLINE int32_t NAME(block)(const GROUP *group) {
    int64_t bytes = PARTS * (int64_t)sizeof(VECTOR) * (group->rows + group->shorter);
    int64_t block = FIRST_CACHE / bytes - 1;
    return block < 1 ? 1 : (int32_t)block;
}

/* Turns columns p and q where they are not orthogonal; returns in which lanes. */
INLINE MASK NAME(turn_pair)(const GROUP *group, int32_t p, int32_t q, REAL tolerance) {
    VECTOR *x = group->columns + PARTS * (int64_t)group->rows * p;
    VECTOR *y = group->columns + PARTS * (int64_t)group->rows * q;
    VECTOR product[PARTS];
    NAME(inner)(x, y, group->rows, product);
    VECTOR most = NAME(magnitude)(product[0]);
#if PARTS == 2
    most = NAME(larger)(most, NAME(magnitude)(product[1]));
#endif
    VECTOR a = group->length[p];
    VECTOR b = group->length[q];
    MASK which = (most > tolerance * a * b) & (a >= LENGTH_MIN) & (b >= LENGTH_MIN);
    if (NAME(any)(which)) {
        TURN turn;
        VECTOR difference = group->square[q] - group->square[p];
        VECTOR gain = NAME(find_turn)(product, difference, which, &turn);
        NAME(turn)(x, y, group->rows, &turn);
        NAME(change_lengths)(group, p, q, (difference > 0) & which, gain);
        if (group->turns != NULL) {
            int64_t stride = PARTS * (int64_t)group->stride;
            NAME(turn)(group->turns + stride * p, group->turns + stride * q, group->shorter, &turn);
        }
    }
    return which;
}

/* Turns every pair of columns, in an order that is equivalent to row by row. turned: lanes in which there was
 * anything to do. */
static void NAME(sweep)(const GROUP *group, REAL tolerance, MASK *turned) {
    int32_t block = NAME(block)(group);
    MASK any = {0};
    for (int32_t c = 0; c < group->shorter; c++) {
        NAME(sum_lengths)(group, c);
    }
    for (int32_t first = 0; first < group->shorter; first += block) {
        for (int32_t q = first + 1; q < group->shorter; q++) {
            for (int32_t p = first; p < q && p < first + block; p++) {
                any |= NAME(turn_pair)(group, p, q, tolerance);
            }
        }
    }
    *turned = any;
}

static void NAME(orthogonalise)(GROUP *group) {
    double root = sqrt((double)group->rows);
    REAL tolerance = (REAL)ldexp(root > 4 ? root : 4, -DIGITS);
    bool all = false;
    for (int32_t sweep = 1; sweep <= HC_SVD_SWEEPS && !all; sweep++) {
        MASK turned;
        NAME(sweep)(group, tolerance, &turned);
        all = true;
        for (int32_t l = 0; l < LANES; l++) {
            group->sweeps[l] = group->converged[l] ? group->sweeps[l] : sweep;
            group->converged[l] = group->converged[l] || turned[l] == 0;
            all = all && group->converged[l];
        }
    }
}

/* --- QR factorisation of long matrices, by reflectors I - factor v v^H with v[0] = 1 --- */

/* column -= conj(factor) v v^H column for the reflector k, or without conj. */
INLINE void NAME(reflect)(const GROUP *group, int32_t k, bool conjugate, VECTOR *column) {
    const VECTOR *v = group->matrix + PARTS * ((int64_t)group->longer * k + k + 1);
    const VECTOR *factor = group->factor + PARTS * k;
    VECTOR *first = column + PARTS * k;
    VECTOR *rest = first + PARTS;
    int32_t rows = group->longer - k - 1;
    VECTOR product[PARTS];
    NAME(inner)(v, rest, rows, product);
    VECTOR own[PARTS];
#if PARTS == 1
    (void)conjugate;
    own[0] = (product[0] + first[0]) * factor[0];
    first[0] -= own[0];
#else
    VECTOR real = product[0] + first[0];
    VECTOR imaginary = product[1] + first[1];
    VECTOR across = conjugate ? -factor[1] : factor[1];
    own[0] = real * factor[0] - imaginary * across;
    own[1] = real * across + imaginary * factor[0];
    first[0] -= own[0];
    first[1] -= own[1];
#endif
    NAME(take_multiple)(v, own, rows, rest);
}

/* Makes the reflector that leaves nothing of column k below the diagonal. */
INLINE void NAME(make_reflector)(const GROUP *group, int32_t k) {
    VECTOR *first = group->matrix + PARTS * ((int64_t)group->longer * k + k);
    VECTOR *rest = first + PARTS;
    VECTOR *factor = group->factor + PARTS * k;
    int32_t rows = group->longer - k;
    VECTOR length = NAME(root)(NAME(sum_squares)(first, PARTS * rows));
    MASK which = length >= LENGTH_MIN; /* other columns count as 0 */
    VECTOR one = NAME(all)(1);
    length = NAME(select)(which, length, one);
    VECTOR diagonal = NAME(select)(first[0] > 0, -length, length);
    VECTOR real = first[0] - diagonal;
    factor[0] = (VECTOR)((MASK)(-real / diagonal) & which);
#if PARTS == 1
    VECTOR inverse = (VECTOR)((MASK)(one / real) & which);
    for (int32_t i = 0; i < rows - 1; i++) {
        rest[i] *= inverse;
    }
#else
    VECTOR imaginary = first[1];
    factor[1] = (VECTOR)((MASK)(-imaginary / diagonal) & which);
    /* 1 / (real + i imaginary), without squares that could vanish */
    VECTOR ratio = imaginary / real;
    VECTOR inverse = (VECTOR)((MASK)(one / (real + imaginary * ratio)) & which);
    VECTOR inverse_imaginary = -ratio * inverse;
    for (int32_t i = 0; i < 2 * (rows - 1); i += 2) {
        VECTOR x = rest[i];
        rest[i] = x * inverse - rest[i + 1] * inverse_imaginary;
        rest[i + 1] = x * inverse_imaginary + rest[i + 1] * inverse;
    }
    first[1] = (VECTOR){0};
#endif
    first[0] = (VECTOR)((MASK)diagonal & which);
}

/* Factors the matrices, and lays R^H into `columns`. */
static void NAME(factor)(const GROUP *group) {
    int64_t n = group->shorter;
    for (int32_t c = 0; c < group->shorter; c++) {
        VECTOR *column = group->matrix + PARTS * (int64_t)group->longer * c;
        for (int32_t k = 0; k < c; k++) {
            NAME(reflect)(group, k, true, column);
        }
        NAME(make_reflector)(group, c);
        for (int64_t r = 0; r < n; r++) {
            VECTOR *to = group->columns + PARTS * (n * r + c);
            for (int64_t part = 0; part < PARTS; part++) {
                VECTOR value = r <= c ? column[PARTS * r + part] : (VECTOR){0};
                to[part] = part == 0 ? value : -value;
            }
        }
    }
}

/* turns [shorter][shorter] become Q turns [shorter][longer]. */
static void NAME(multiply_by_q)(const GROUP *group) {
    for (int32_t c = 0; c < group->shorter; c++) {
        VECTOR *column = group->turns + PARTS * (int64_t)group->stride * c;
        for (int32_t r = PARTS * group->shorter; r < PARTS * group->longer; r++) {
            column[r] = (VECTOR){0};
        }
        for (int32_t k = group->shorter - 1; k >= 0; k--) {
            NAME(reflect)(group, k, false, column);
        }
    }
}

/* --- matrices in, results out --- */

/* The largest magnitude in each column, as bits, which are ordered as magnitudes are, NaN last. */
static void NAME(find_largest)(const BITS *restrict matrix, int32_t longer, int32_t shorter, bool turned,
                               BITS *restrict largest) {
    BITS sign = (BITS)1 << (8 * sizeof(BITS) - 1);
    for (int32_t c = 0; c < shorter; c++) {
        largest[c] = 0;
    }
    if (turned) {
        for (int32_t c = 0; c < shorter; c++) {
            BITS most = 0;
            for (int32_t i = 0; i < PARTS * longer; i++) {
                BITS bits = matrix[(int64_t)c * PARTS * longer + i] & ~sign;
                most = bits > most ? bits : most;
            }
            largest[c] = most;
        }
        return;
    }
    for (int32_t r = 0; r < longer; r++) {
        for (int32_t c = 0; c < shorter; c++) {
            BITS most = largest[c];
            for (int32_t part = 0; part < PARTS; part++) {
                BITS bits = matrix[((int64_t)r * shorter + c) * PARTS + part] & ~sign;
                most = bits > most ? bits : most;
            }
            largest[c] = most;
        }
    }
}

/* Finds scale and order of the columns of a lane's matrix. */
static void NAME(look)(const HcSvd *svd, GROUP *group, int32_t lane) {
    BITS largest[HC_SVD_LANES_MAX];
    int32_t *column = group->column[lane];
    NAME(find_largest)(group->place[lane].matrix, svd->longer, svd->shorter, svd->turned, largest);
    for (int32_t c = 0; c < svd->shorter; c++) {
        int32_t at = c;
        for (; at > 0 && largest[column[at - 1]] < largest[c]; at--) {
            column[at] = column[at - 1];
        }
        column[at] = c;
    }
    REAL most;
    memcpy(&most, &largest[column[0]], sizeof most);
    group->finite[lane] = isfinite(most);
    group->exponent[lane] = 0;
    if (isfinite(most) && most > 0) {
        int own = 0;
        (void)frexp((double)most, &own);
        group->exponent[lane] = SCALE - own;
    }
    group->scale[0][lane] = (REAL)ldexp(1, group->exponent[lane] / 2);
    group->scale[1][lane] = (REAL)ldexp(1, group->exponent[lane] - group->exponent[lane] / 2);
}

/* The matrices with scaled columns in order, those that are wide as their conjugate transpose. */
static void NAME(load)(const GROUP *group, bool turned) {
    int64_t step = turned ? PARTS : PARTS * group->shorter;
    int64_t next = turned ? PARTS * group->longer : PARTS;
    for (int32_t c = 0; c < group->shorter; c++) {
        const REAL *from[LANES];
        for (int32_t l = 0; l < LANES; l++) {
            from[l] = (const REAL *)group->place[l].matrix + next * group->column[l][c];
        }
        VECTOR *to = group->matrix + PARTS * (int64_t)group->longer * c;
        for (int64_t r = 0; r < group->longer; r++) {
            for (int32_t part = 0; part < PARTS; part++) {
                VECTOR value = {0};
                for (int32_t l = 0; l < LANES; l++) {
                    value[l] = from[l][step * r + part];
                }
                value = value * group->scale[0] * group->scale[1];
                to[PARTS * r + part] = turned && part == 1 ? -value : value;
            }
        }
    }
}

static void NAME(start_turns)(const GROUP *group) {
    for (int32_t c = 0; c < group->shorter; c++) {
        VECTOR *column = group->turns + PARTS * (int64_t)group->stride * c;
        for (int32_t r = 0; r < group->shorter; r++) {
            for (int32_t part = 0; part < PARTS; part++) {
                column[PARTS * r + part] = NAME(all)(r == c && part == 0 ? 1 : 0);
            }
        }
    }
}

/* Scales columns and turns to unit length (turns up to rounding); columns that count as zero become zero. */
static void NAME(normalise)(const GROUP *group) {
    for (int32_t c = 0; c < group->shorter; c++) {
        VECTOR *column = group->columns + PARTS * (int64_t)group->rows * c;
        NAME(sum_lengths)(group, c);
        VECTOR length = group->length[c];
        VECTOR divisor = NAME(select)(length >= LENGTH_MIN, length, NAME(all)((REAL)INFINITY));
        for (int32_t i = 0; i < PARTS * group->rows; i++) {
            column[i] /= divisor;
        }
        group->length[c] = NAME(select)(length >= LENGTH_MIN, length, (VECTOR){0});
        if (group->turns != NULL) {
            VECTOR *turns = group->turns + PARTS * (int64_t)group->stride * c;
            VECTOR inverse = 1 / NAME(root)(NAME(sum_squares)(turns, PARTS * group->shorter));
            for (int32_t i = 0; i < PARTS * group->shorter; i++) {
                turns[i] *= inverse;
            }
        }
    }
}

/* One vector of one lane; row r goes to place[r], or to r itself. */
static void NAME(store_vector)(const VECTOR *column, int32_t lane, int32_t rows, const int32_t *place,
                               REAL *to) {
    const REAL *from = (const REAL *)column + lane;
    for (int32_t r = 0; r < rows; r++) {
        int32_t at = place != NULL ? place[r] : r;
        for (int32_t part = 0; part < PARTS; part++) {
            to[PARTS * at + part] =
                from[(PARTS * r + part) * LANES] + 0; /* no -0: neighbours may have made it */
        }
    }
}

/* The results of one lane, singular values in descending order. */
static void NAME(store)(const GROUP *group, int32_t lane) {
    const HcSvdPlace *place = &group->place[lane];
    int32_t n = group->shorter;
    int32_t order[HC_SVD_LANES_MAX];
    int32_t rank = 0;
    for (int32_t c = 0; c < n; c++) {
        int32_t at = c;
        for (; at > 0 && group->length[order[at - 1]][lane] < group->length[c][lane]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = c;
        rank += group->length[c][lane] > 0 ? 1 : 0;
    }
    for (int32_t k = 0; k < n; k++) {
        const VECTOR *column = group->columns + PARTS * (int64_t)group->rows * order[k];
        const VECTOR *turns =
            group->turns != NULL ? group->turns + PARTS * (int64_t)group->stride * order[k] : NULL;
        ((REAL *)place->values)[k] =
            (REAL)ldexp((double)group->length[order[k]][lane], -group->exponent[lane]);
        if (place->along != NULL) {
            NAME(store_vector)
            (group->factored ? turns : column, lane, group->longer, NULL,
             (REAL *)place->along + PARTS * (int64_t)group->longer * k);
        }
        if (place->across != NULL) {
            NAME(store_vector)
            (group->factored ? column : turns, lane, n, group->column[lane],
             (REAL *)place->across + PARTS * (int64_t)n * k);
        }
    }
    if (group->factored && place->across != NULL) {
        COMPLETE(place->across, rank, n, n);
    } else if (!group->factored && place->along != NULL) {
        COMPLETE(place->along, rank, n, group->longer);
    }
    if (place->sweeps != NULL) {
        *place->sweeps = group->sweeps[lane];
    }
    if (place->end != NULL) {
        *place->end = group->converged[lane] ? HC_SVD_CONVERGED : HC_SVD_UNFINISHED;
    }
}

static size_t NAME(work_bytes)(const HcSvd *svd) {
    size_t longer = (size_t)svd->longer;
    size_t shorter = (size_t)svd->shorter;
    size_t matrix = PARTS * longer * shorter;
    size_t square = PARTS * shorter * shorter;
    size_t vectors = is_factored(svd) ? 2 * matrix + square : matrix + square;
    return (vectors + (PARTS + 2) * shorter) * sizeof(VECTOR);
}

static void NAME(lay_out)(const HcSvd *svd, const HcSvdBatch *batch, VECTOR *work, GROUP *group) {
    int64_t shorter = svd->shorter;
    bool factored = is_factored(svd);
    bool wanted = (svd->turned != factored ? batch->left : batch->right) != NULL;
    group->longer = svd->longer;
    group->shorter = svd->shorter;
    group->factored = factored;
    group->rows = factored ? svd->shorter : svd->longer;
    group->stride = factored ? svd->longer : svd->shorter;
    group->square = work;
    group->length = work + shorter;
    group->factor = work + 2 * shorter;
    group->matrix = work + (2 + PARTS) * shorter;
    VECTOR *after = group->matrix + PARTS * shorter * svd->longer;
    group->turns = wanted ? after : NULL;
    group->columns = factored ? after + PARTS * shorter * svd->longer : group->matrix;
}

static void NAME(decompose)(const HcSvd *svd, const HcSvdBatch *batch, int64_t first, int32_t count,
                            void *work) {
    GROUP group;
    NAME(lay_out)(svd, batch, work, &group);
    for (int32_t l = 0; l < LANES; l++) {
        group.converged[l] = false;
        group.place[l] =
            hc_cpu_svd_place(svd, batch, first + (l < count ? l : 0)); /* lanes too many repeat one */
        NAME(look)(svd, &group, l);
    }
    NAME(load)(&group, svd->turned);
    if (group.factored) {
        NAME(factor)(&group);
    }
    if (group.turns != NULL) {
        NAME(start_turns)(&group);
    }
    NAME(orthogonalise)(&group);
    NAME(normalise)(&group);
    if (group.factored && group.turns != NULL) {
        NAME(multiply_by_q)(&group);
    }
    for (int32_t l = 0; l < count; l++) {
        if (group.finite[l]) {
            NAME(store)(&group, l);
        } else {
            REAL_NAME(hc_cpu_svd_not_finite)(svd, &group.place[l]);
        }
    }
}

#undef LANES
#undef GROUP
#undef TURN
#undef PARTS
#undef REAL
#undef BITS
#undef VECTOR
#undef MASK
#undef NAME
#undef COMPLETE
#undef REAL_NAME
#undef SCALE
#undef LENGTH_MIN
#undef DIGITS
#undef SQRT
