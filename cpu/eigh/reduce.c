/* A symmetric matrix A becomes tridiagonal by reflectors I - t v v', PANEL columns at a time (Dongarra,
 * Sorensen and Hammarling 1989), as LAPACK's dsytrd does it, but in steps that threads share. Within a panel
 * A stays as it was: what the reflectors before did to it is V W' + W V' with their vectors v and images w.
 * A column is two steps,
 *   1. the product A v, which reads the lower half of A once, as sums of GROUPS sets of strips; W'v and V'v;
 *   2. the image w = t (A v - V W'v - W V'v) + a v,   a = -t^2 (v'A v - 2 v'V W'v) / 2, and the next column.
 * A panel ends with a third, A - V W' - W V'. The products take most of the time, as fast as A comes from the
 * second cache: so a thread has the same strips in each step, unless it is late. No piece depends on the
 * number of threads. */
#include "core/allocate.h"
#include "cpu/eigh/eigh.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Rows that are worked on at once; columns of a panel and of a strip; columns of a strip at once. */
enum { LANES = 8, PANEL = 8, STRIP = 32, AT_ONCE = 4, GROUPS = HC_EIGH_PARTS, BLOCKS = 16 };

typedef double Lanes __attribute__((vector_size(LANES * sizeof(double)), may_alias));

/* Of a matrix of about unit size: a column shorter than its root has nothing to reduce. */
#define LEAST_SQUARES 0x1p-500

typedef struct Step {
    uint32_t taken; /* a bit for each piece */
    int32_t done;   /* pieces, and 1 more when the end of the step is done, too */
    char apart[56]; /* a line of the cache for each */
} Step;

/* What a piece adds to the next step: a line of the cache or more for each. */
typedef struct Part {
    double of_images[PANEL], of_vectors[PANEL]; /* W'x and V'x of some rows */
    double product;                             /* x'A x of some strips */
    double squares;                             /* of some rows of the next column */
    char apart[48];
} Part;

struct HcReducing {
    double *memory;
    double *vectors; /* [PANEL][stride] V, then W, then V again, so that V W and W V lie side by side */
    double *images;
    double *vectors_again;
    double *sums; /* [GROUPS][stride] A x of each group */
    Part *parts;  /* [HC_EIGH_PARTS] */
    Step *steps;
    int32_t joined;
    /* Of the column that is reduced: x lies in V until its image is there, and v is `scale` times x. */
    size_t column, in_panel;
    double scale, factor, along;                        /* t and a are the last two */
    double of_images[PANEL], of_vectors[PANEL];         /* t W'v, t V'v */
    double next_images[PANEL + 1], next_vectors[PANEL]; /* W and V in the row of the next column */
};

static size_t lanes_down(size_t row) {
    return row / LANES * LANES;
}

size_t hc_cpu_reduction_stride(int32_t n) {
    /* Whole strips, and an odd number of cache lines, so that columns do not lie in the same sets. */
    return ((size_t)n + STRIP - 1) / STRIP * STRIP + LANES;
}

HcStatus hc_cpu_reduction_open(HcReduction *r, HcError *err) {
    HC_OR_RETURN(hc_new(r->work, 1, "eigenvectors", err));
    struct HcReducing *w = r->work;
    size_t n = (size_t)r->n;
    size_t vectors = (3 * (size_t)PANEL + GROUPS) * r->stride;
    size_t parts = HC_EIGH_PARTS * sizeof(Part) / sizeof(double);
    size_t steps = (2 * n + n / PANEL + 1) * sizeof(Step) / sizeof(double);
    HC_OR_RETURN(hc_new_aligned(w->memory, vectors + parts + steps, "eigenvectors", err));
    memset(w->memory, 0, (vectors + parts + steps) * sizeof *w->memory);
    w->vectors = w->memory;
    w->images = w->vectors + PANEL * r->stride;
    w->vectors_again = w->images + PANEL * r->stride;
    w->sums = w->vectors_again + PANEL * r->stride;
    w->parts = (Part *)(w->sums + GROUPS * r->stride);
    w->steps = (Step *)(w->parts + HC_EIGH_PARTS);
    return HC_OK;
}

void hc_cpu_reduction_close(HcReduction *r) {
    if (r->work != NULL) {
        free(r->work->memory);
    }
    free(r->work);
    r->work = NULL;
}

/* ---- the product A x ---- */

/* y += A x for the rows from `begin` to `end` of AT_ONCE columns; dots = A'x. */
HC_CLONES static void multiply_columns(const double *columns, size_t stride, size_t begin, size_t end,
                                       const double *x, const double *own, double *restrict y,
                                       double *restrict dots) {
    Lanes sums[AT_ONCE] = {{0}};
    for (size_t row = begin; row < end; row += LANES) {
        Lanes at = *(const Lanes *)(x + row);
        Lanes image = *(const Lanes *)(y + row);
        for (size_t c = 0; c < AT_ONCE; c++) {
            Lanes a = *(const Lanes *)(columns + c * stride + row);
            image += a * own[c];
            sums[c] += a * at;
        }
        *(Lanes *)(y + row) = image;
    }
    for (size_t c = 0; c < AT_ONCE; c++) {
        Lanes s = sums[c];
        dots[c] = hc_cpu_eigh_added((const double *)&s);
    }
}

/* y += A x for the square of a strip, of which both halves are there; returns x'A x. */
HC_CLONES static double multiply_square(const double *columns, size_t stride, size_t first, size_t width,
                                        const double *x, double *restrict y) {
    Lanes images[STRIP / LANES] = {{0}};
    for (size_t c = first; c < width; c++) {
        for (size_t k = 0; k < STRIP / LANES; k++) {
            images[k] += *(const Lanes *)(columns + c * stride + k * LANES) * x[c];
        }
    }
    Lanes sums = {0};
    for (size_t k = 0; k < STRIP / LANES; k++) {
        sums += images[k] * *(const Lanes *)(x + k * LANES);
        *(Lanes *)(y + k * LANES) += images[k];
    }
    return ((sums[0] + sums[4]) + (sums[1] + sums[5])) + ((sums[2] + sums[6]) + (sums[3] + sums[7]));
}

/* The strips of a group, back and forth, so that long and short ones are shared evenly. */
static size_t strip_of(size_t group, size_t turn) {
    return turn * GROUPS + (turn % 2 == 0 ? group : GROUPS - 1 - group);
}

/* The part of A x that the strips of a group are. */
static void multiply_group(const HcReduction *r, size_t group) {
    struct HcReducing *w = r->work;
    size_t n = (size_t)r->n;
    size_t begin = w->column + 1;
    size_t end = lanes_down(n + LANES - 1);
    const double *x = w->vectors + w->in_panel * r->stride;
    double *y = w->sums + group * r->stride;
    double product = 0;
    memset(y + begin / STRIP * STRIP, 0, (r->stride - begin / STRIP * STRIP) * sizeof *y);
    for (size_t turn = 0; turn * GROUPS * STRIP < n; turn++) {
        size_t first = strip_of(group, turn) * STRIP;
        if (first + STRIP <= begin || first >= n) {
            continue;
        }
        size_t width = n - first < STRIP ? n - first : STRIP;
        const double *columns = r->matrix + first * r->stride;
        size_t c = first < begin ? (begin - first) / AT_ONCE * AT_ONCE : 0; /* x is 0 before `begin` */
        product += multiply_square(columns + first, r->stride, c, width, x + first, y + first);
        for (; first + STRIP < n && c < STRIP; c += AT_ONCE) {
            double dots[AT_ONCE];
            multiply_columns(columns + c * r->stride, r->stride, first + STRIP, end, x, x + first + c, y,
                             dots);
            for (size_t k = 0; k < AT_ONCE; k++) {
                y[first + c + k] += dots[k];
                product += 2 * x[first + c + k] * dots[k];
            }
        }
    }
    w->parts[group].product = product;
}

/* ---- what the reflectors of the panel add ---- */

/* sums[k] = x'y for AT_ONCE columns y. */
HC_CLONES static void multiply_with(const double *x, const double *columns, size_t stride, size_t count,
                                    double *restrict out) {
    Lanes sums[AT_ONCE] = {{0}};
    for (size_t row = 0; row < count; row += LANES) {
        Lanes at = *(const Lanes *)(x + row);
        for (size_t c = 0; c < AT_ONCE; c++) {
            sums[c] += at * *(const Lanes *)(columns + c * stride + row);
        }
    }
    for (size_t c = 0; c < AT_ONCE; c++) {
        Lanes s = sums[c];
        out[c] = hc_cpu_eigh_added((const double *)&s);
    }
}

/* The rows of a part, in whole lanes, from `begin` on; false if there are none. */
static bool rows_of(const HcReduction *r, size_t part, size_t begin, size_t *from, size_t *to) {
    size_t width = (size_t)hc_cpu_eigh_width(r->n);
    size_t n = lanes_down((size_t)r->n + LANES - 1);
    *from = part * width > begin ? part * width : lanes_down(begin);
    *to = (part + 1) * width < n ? (part + 1) * width : n;
    return *from < *to;
}

static void multiply_panel(const HcReduction *r, size_t part) {
    struct HcReducing *w = r->work;
    size_t from;
    size_t to;
    if (!rows_of(r, part, w->column + 1, &from, &to)) {
        return;
    }
    const double *x = w->vectors + w->in_panel * r->stride + from;
    for (size_t j = 0; j < w->in_panel; j += AT_ONCE) {
        multiply_with(x, w->images + j * r->stride + from, r->stride, to - from,
                      w->parts[part].of_images + j);
        multiply_with(x, w->vectors + j * r->stride + from, r->stride, to - from,
                      w->parts[part].of_vectors + j);
    }
}

static void multiply(HcReduction *r, int32_t piece) {
    multiply_group(r, (size_t)piece);
    multiply_panel(r, (size_t)piece);
}

/* What the next step needs of all pieces. */
static void end_multiply(HcReduction *r) {
    struct HcReducing *w = r->work;
    size_t next = w->column + 1;
    size_t count = w->in_panel;
    double product = 0;
    double image = 0;
    for (size_t g = 0; g < GROUPS; g++) {
        product += w->parts[g].product;
        image += w->sums[g * r->stride + next];
    }
    memset(w->of_images, 0, sizeof w->of_images);
    memset(w->of_vectors, 0, sizeof w->of_vectors);
    for (size_t part = 0; part < HC_EIGH_PARTS; part++) {
        size_t from;
        size_t to;
        if (rows_of(r, part, next, &from, &to)) {
            for (size_t j = 0; j < count; j++) {
                w->of_images[j] += w->parts[part].of_images[j];
                w->of_vectors[j] += w->parts[part].of_vectors[j];
            }
        }
    }
    double inner = 0;
    double st = w->scale * w->factor;
    double own = st * image;
    for (size_t j = 0; j < count; j++) {
        w->next_vectors[j] = w->vectors[j * r->stride + next];
        w->next_images[j] = w->images[j * r->stride + next];
        inner += w->of_images[j] * w->of_vectors[j];
        w->of_images[j] *= st;
        w->of_vectors[j] *= st;
        own -= w->next_vectors[j] * w->of_images[j] + w->next_images[j] * w->of_vectors[j];
    }
    w->along = -0.5 * st * st * (product - 2 * inner);
    w->next_images[count] = own + w->along;
}

/* ---- the image, and the next column ---- */

typedef struct Rows {
    const struct HcReducing *work;
    size_t stride;
    const double *matrix; /* the next column; NULL = it belongs to the next panel */
    double *reduced;      /* the column of the reflector, where it is kept */
} Rows;

/* `lanes` times LANES rows. */
static inline __attribute__((always_inline)) void image_rows(const Rows *rows, size_t row, size_t lanes) {
    const struct HcReducing *w = rows->work;
    size_t stride = rows->stride;
    size_t count = w->in_panel;
    double *x = w->vectors + count * stride + row;
    Lanes images[STRIP / LANES];
    Lanes columns[STRIP / LANES] = {{0}};
    for (size_t k = 0; k < lanes; k++) {
        Lanes sum = *(const Lanes *)(w->sums + row + k * LANES);
        for (size_t g = 1; g < GROUPS; g++) {
            sum += *(const Lanes *)(w->sums + g * stride + row + k * LANES);
        }
        images[k] = sum * (w->scale * w->factor);
        if (rows->matrix != NULL) {
            columns[k] = *(const Lanes *)(rows->matrix + row + k * LANES);
        }
    }
    for (size_t j = 0; j < count; j++) {
        const double *vector = w->vectors + j * stride + row;
        const double *image = w->images + j * stride + row;
        for (size_t k = 0; k < lanes; k++) {
            Lanes v = *(const Lanes *)(vector + k * LANES);
            Lanes i = *(const Lanes *)(image + k * LANES);
            images[k] -= v * w->of_images[j] + i * w->of_vectors[j];
            columns[k] -= v * w->next_images[j] + i * w->next_vectors[j];
        }
    }
    for (size_t k = 0; k < lanes; k++) {
        Lanes v = *(const Lanes *)(x + k * LANES) * w->scale;
        images[k] += v * w->along;
        columns[k] -= v * w->next_images[count] + images[k];
        *(Lanes *)(x + k * LANES) = v;
        *(Lanes *)(w->vectors_again + count * stride + row + k * LANES) = v;
        *(Lanes *)(rows->reduced + row + k * LANES) = v;
        *(Lanes *)(w->images + count * stride + row + k * LANES) = images[k];
        if (rows->matrix != NULL) {
            *(Lanes *)(x + stride + k * LANES) = columns[k];
        }
    }
}

HC_CLONES static void image_all(const Rows *rows, size_t from, size_t to) {
    size_t row = from;
    for (; row + STRIP <= to; row += STRIP) {
        image_rows(rows, row, STRIP / LANES);
    }
    for (; row < to; row += LANES) {
        image_rows(rows, row, 1);
    }
}

HC_CLONES static double squares_of(const double *x, size_t from, size_t to) {
    double head = 0;
    for (; from < to && from % LANES != 0; from++) {
        head += x[from] * x[from];
    }
    Lanes s = {0};
    for (; from < to; from += LANES) {
        Lanes at = *(const Lanes *)(x + from);
        s += at * at;
    }
    return head + hc_cpu_eigh_added((const double *)&s);
}

static void image_part(HcReduction *r, int32_t piece) {
    struct HcReducing *w = r->work;
    size_t from;
    size_t to;
    w->parts[piece].squares = 0;
    if (!rows_of(r, (size_t)piece, w->column + 1, &from, &to)) {
        return;
    }
    bool last = w->in_panel + 1 == PANEL;
    double *column = r->matrix + w->column * r->stride;
    Rows rows = {w, r->stride, last ? NULL : column + r->stride, column};
    image_all(&rows, from, to);
    if (!last) {
        size_t behind = w->column + 3;
        w->parts[piece].squares =
            squares_of(w->vectors + (w->in_panel + 1) * r->stride, from > behind ? from : behind, to);
    }
}

/* The reflector of a column, of which all rows are there; `squares` are those of all but the first two. */
static void begin_column(HcReduction *r, size_t column, double squares) {
    struct HcReducing *w = r->work;
    size_t first = column + 1;
    w->column = column;
    w->in_panel = column % PANEL;
    double *x = w->vectors + w->in_panel * r->stride;
    r->diagonal[column] = x[column];
    w->factor = w->scale = 0;
    if (first < (size_t)r->n) {
        r->beside[column] = x[first];
        if (squares >= LEAST_SQUARES) {
            double length = -copysign(sqrt(x[first] * x[first] + squares), x[first]);
            r->beside[column] = length;
            w->factor = (length - x[first]) / length;
            w->scale = 1 / (x[first] - length);
            x[first] -= length;
        }
        r->factors[column] = w->factor;
        memset(x + first / STRIP * STRIP, 0, first % STRIP * sizeof *x);
    }
}

static void end_image(HcReduction *r) {
    double squares = 0;
    for (int32_t part = 0; part < HC_EIGH_PARTS; part++) {
        squares += r->work->parts[part].squares;
    }
    if (r->work->in_panel + 1 < PANEL) {
        begin_column(r, r->work->column + 1, squares);
    }
}

/* ---- the matrix after a panel ---- */

/* The first column of a panel. */
static void begin_panel(HcReduction *r, size_t column) {
    size_t from = lanes_down(column);
    size_t end = lanes_down((size_t)r->n + LANES - 1);
    const double *source = r->matrix + column * r->stride;
    memcpy(r->work->vectors + from, source + from, (end - from) * sizeof *source);
    begin_column(r, column, squares_of(source, column + 2, end));
}

static size_t block_width(const HcReduction *r) {
    size_t width = ((size_t)r->n + BLOCKS - 1) / BLOCKS;
    return (width > 2 * STRIP ? width + STRIP - 1 : 2 * STRIP) / STRIP * STRIP;
}

/* Some columns of A - V W' - W V' from their diagonal on. */
static void reduce_block(HcReduction *r, int32_t piece) {
    const struct HcReducing *w = r->work;
    size_t n = (size_t)r->n;
    size_t width = block_width(r);
    size_t begin = (size_t)piece * width;
    size_t end = begin + width < n ? begin + width : n;
    begin = begin > w->column ? begin : w->column + 1;
    if (begin >= end) {
        return;
    }
    int stride = (int)r->stride;
    double *block = r->matrix + begin * r->stride;
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, (int)(n - begin), (int)(end - begin), 2 * PANEL, -1,
                w->vectors + begin, stride, w->images + begin, stride, 1, block + begin, stride);
    for (size_t c = begin; c < end; c++) { /* the upper half of squares is that below */
        for (size_t row = c / STRIP * STRIP; row < c; row++) {
            r->matrix[c * r->stride + row] = r->matrix[row * r->stride + c];
        }
    }
}

static void end_panel(HcReduction *r) {
    begin_panel(r, r->work->column + 1);
}

/* ---- all steps ---- */

typedef struct Member {
    uint32_t own; /* a bit for each piece */
} Member;

typedef void Compute(HcReduction *r, int32_t piece);

/* Computes those of the pieces that nobody has taken; whoever finishes the last piece of all does the end. */
static void take(HcReduction *r, Step *step, uint32_t wanted, int32_t pieces, Compute *compute,
                 void (*end)(HcReduction *r)) {
    uint32_t mine = wanted & ~__atomic_fetch_or(&step->taken, wanted, __ATOMIC_RELAXED);
    int32_t count = __builtin_popcount(mine);
    for (; mine != 0; mine &= mine - 1) {
        compute(r, __builtin_ctz(mine));
    }
    if (count > 0 && __atomic_add_fetch(&step->done, count, __ATOMIC_ACQ_REL) == pieces) {
        end(r);
        __atomic_store_n(&step->done, pieces + 1, __ATOMIC_RELEASE);
    }
}

/* A step. Each thread has the same pieces every time, and then those of a thread that is late. */
static void share(HcReduction *r, Step *step, const Member *member, int32_t pieces, Compute *compute,
                  void (*end)(HcReduction *r)) {
    uint32_t all = UINT32_MAX >> (32 - pieces);
    take(r, step, all & member->own, pieces, compute, end);
    uint32_t left;
    while ((left = all & ~__atomic_load_n(&step->taken, __ATOMIC_RELAXED)) != 0) {
        take(r, step, left & -left, pieces, compute, end);
    }
    hc_cpu_wait(&step->done, pieces + 1);
}

void hc_cpu_reduction_begin(HcReduction *r) {
    size_t n = (size_t)r->n;
    for (size_t c = 0; c < n; c++) {
        for (size_t row = c / STRIP * STRIP; row < c; row++) {
            r->matrix[c * r->stride + row] = r->matrix[row * r->stride + c];
        }
    }
    begin_panel(r, 0);
}

void hc_cpu_reduction_solve(HcReduction *r, int32_t threads) {
    struct HcReducing *w = r->work;
    Member member = {0};
    for (int32_t piece = __atomic_fetch_add(&w->joined, 1, __ATOMIC_RELAXED) % threads; piece < 32;
         piece += threads) {
        member.own |= 1U << piece;
    }
    int32_t blocks = (int32_t)(((size_t)r->n + block_width(r) - 1) / block_width(r));
    Step *step = w->steps;
    for (int32_t column = 0; column + 1 < r->n; column++) {
        share(r, step++, &member, HC_EIGH_PARTS, multiply, end_multiply);
        share(r, step++, &member, HC_EIGH_PARTS, image_part, end_image);
        if ((column + 1) % PANEL == 0) {
            share(r, step++, &member, blocks, reduce_block, end_panel);
        }
    }
}
