/* column_filters: the bits of a plain program in the order of the contract, whose results long double
 * confirms: filters solve their equations, and whitened covariances are unit matrices. */
#include "tests/conformance/rig.h"

#include "core/operation/gram/column_filters.h"
#include "core/sums/long.h"

#include <stdlib.h>

enum { GROUPS = 5, TARGETS = 10, PARTS = 32 };

/* What a call is about, and what it makes; all on the host. */
typedef struct Case {
    HcColumnFilters how; /* without arrays */
    size_t bands, targets, values;
    int64_t *sums;
    double *unit, *spectrum, *filter, *deviation, *whitening, *shrinkage;
    int64_t *pixels;
    int32_t *directions;
    uint8_t *scored;
} Case;

static Case case_new(int32_t bands, int32_t targets) {
    Case made = {.how = {.groups = GROUPS, .bands = bands, .targets = targets},
                 .bands = (size_t)bands,
                 .targets = (size_t)targets,
                 .values = hc_column_values(bands)};
    size_t n = made.bands;
    made.how.stride = hc_whitening_values(bands);
    made.sums = calloc(GROUPS * made.values, sizeof *made.sums);
    made.unit = calloc(n + 1, sizeof(double));
    made.spectrum = calloc(made.targets * n, sizeof(double));
    made.filter = calloc(GROUPS * (1 + made.targets) * n, sizeof(double));
    made.deviation = calloc(GROUPS * made.targets, sizeof(double));
    made.whitening = calloc(GROUPS * made.values, sizeof(double)); /* of either stride */
    made.shrinkage = calloc(GROUPS, sizeof(double));
    made.pixels = calloc(GROUPS, sizeof *made.pixels);
    made.directions = calloc(GROUPS, sizeof *made.directions);
    made.scored = calloc(GROUPS, 1);
    assert_true(made.sums && made.unit && made.spectrum && made.filter && made.deviation && made.whitening &&
                made.shrinkage && made.pixels && made.directions && made.scored);
    return made;
}

static void case_free(Case *made) {
    free(made->sums);
    free(made->unit);
    free(made->spectrum);
    free(made->filter);
    free(made->deviation);
    free(made->whitening);
    free(made->shrinkage);
    free(made->pixels);
    free(made->directions);
    free(made->scored);
}

/* Sums of integer pixels. Group 1 has few, group 2 none; in group 3 a band is constant and another one the
 * sum of two. Units are 1 but for some bands, whose sums are then in other ones. */
static void case_fill(Case *made, uint64_t *seed) {
    size_t n = made->bands;
    int64_t *x = malloc((n + 1) * sizeof *x);
    assert_non_null(x);
    for (size_t b = 0; b <= n; b++) {
        made->unit[b] = b % 3 == 1 && b < n ? 0.125 : 1;
    }
    for (size_t g = 0; g < GROUPS; g++) {
        size_t pixels = g == 1 ? 1 + n / 2 : g == 2 ? 0 : 3 * n + 20 + g;
        for (size_t p = 0; p < pixels; p++) {
            double common = 40 * random_normal(seed);
            for (size_t b = 0; b < n; b++) {
                double own = 10 * random_normal(seed);
                x[b] = (int64_t)(500 + common * (1 + 0.1 * (double)(b % 5)) + own);
            }
            if (g == 3 && n > 4) {
                x[2] = 77;
                x[4] = x[0] + x[3];
            }
            x[n] = 1;
            for (size_t i = 0; i <= n; i++) {
                for (size_t j = 0; j <= i; j++) {
                    double units = made->unit[i] * made->unit[j];
                    made->sums[g * made->values + hc_column_place((int32_t)n, i, j)] +=
                        (int64_t)((double)(x[i] * x[j]) / units);
                }
            }
        }
    }
    for (size_t i = 0; i < made->targets * n; i++) {
        made->spectrum[i] =
            made->how.absorption ? -1e-3 * random_uniform(seed) : 400 + 300 * random_uniform(seed);
    }
    free(x);
}

/* Runs the operation. in_place: the triangles take the place of the sums. */
static void run(Rig *rig, Case *made, bool whiten, bool in_place) {
    size_t n = made->bands;
    HcColumnFilters how = made->how;
    size_t filters = GROUPS * (1 + made->targets) * n * sizeof(double);
    size_t deviations = GROUPS * made->targets * sizeof(double);
    void *sums = rig_put(rig, made->sums, GROUPS * made->values * sizeof *made->sums);
    how.sums = sums;
    how.unit = rig_put(rig, made->unit, (n + 1) * sizeof(double));
    how.spectrum = rig_put(rig, made->spectrum, made->targets * n * sizeof(double));
    how.filter = rig_alloc(rig, filters);
    how.deviation = rig_alloc(rig, deviations);
    how.shrinkage = rig_alloc(rig, GROUPS * sizeof(double));
    how.pixels = rig_alloc(rig, GROUPS * sizeof(int64_t));
    how.directions = rig_alloc(rig, GROUPS * sizeof(int32_t));
    how.scored = rig_alloc(rig, GROUPS);
    how.stride = in_place ? made->values : made->how.stride;
    if (whiten) {
        how.whitening = in_place ? sums : rig_alloc(rig, GROUPS * how.stride * sizeof(double));
    }
    check_ok(hc_column_filters(rig->queue, &how, &rig->err), rig->err);
    rig_get(rig, how.filter, made->filter, filters);
    rig_get(rig, how.deviation, made->deviation, deviations);
    rig_get(rig, how.shrinkage, made->shrinkage, GROUPS * sizeof(double));
    rig_get(rig, how.pixels, made->pixels, GROUPS * sizeof(int64_t));
    rig_get(rig, how.directions, made->directions, GROUPS * sizeof(int32_t));
    rig_get(rig, how.scored, made->scored, GROUPS);
    if (whiten) {
        rig_get(rig, how.whitening, made->whitening, GROUPS * how.stride * sizeof(double));
        for (size_t g = 0; g < GROUPS && in_place; g++) {
            memmove(made->whitening + g * made->how.stride, made->whitening + g * how.stride,
                    made->how.stride * sizeof(double));
        }
    }
    rig_empty(rig);
}

/* ---- the plain program ---- */

typedef struct Plain {
    size_t kept;
    int64_t count;
    double *matrix, *upper, *scale, *mean, *y, *rest, *white; /* [n][n] or [n]; rows of dropped bands are 0 */
    uint8_t *used;
} Plain;

static Plain plain_new(size_t n) {
    Plain plain = {.matrix = calloc(n * n, sizeof(double)), .upper = calloc(n * n, sizeof(double))};
    plain.scale = calloc(4 * n, sizeof(double));
    plain.white = calloc(n * n, sizeof(double));
    plain.used = calloc(n, 1);
    assert_true(plain.matrix && plain.upper && plain.scale && plain.white && plain.used);
    plain.mean = plain.scale + n;
    plain.y = plain.mean + n;
    plain.rest = plain.y + n;
    return plain;
}

static void plain_free(Plain *plain) {
    free(plain->matrix);
    free(plain->upper);
    free(plain->scale);
    free(plain->white);
    free(plain->used);
}

static double join(double *part) {
    for (int step = PARTS / 2; step > 0; step /= 2) {
        for (int i = 0; i < step; i++) {
            part[i] += part[i + step];
        }
    }
    return part[0];
}

/* Mean and matrix of a group, shrunk; returns whether there is an inverse to look for. */
static bool plain_statistics(const Case *made, size_t group, Plain *plain, double *share) {
    size_t n = made->bands;
    const int64_t *sums = made->sums + group * made->values;
    int32_t bands = (int32_t)n;
    int64_t count = plain->count = sums[hc_column_place(bands, n, n)];
    double trace = 0, squares = 0;
    *share = 0;
    for (size_t b = 0; b < n; b++) {
        double sum = (double)sums[hc_column_place(bands, n, b)];
        plain->mean[b] = count > 0 ? sum * made->unit[b] / (double)count : 0;
    }
    for (size_t i = 0; i < n && count > 1; i++) {
        for (size_t j = 0; j <= i; j++) {
            HcWide value = (HcWide)count * sums[hc_column_place(bands, i, j)] -
                           (HcWide)sums[hc_column_place(bands, n, i)] * sums[hc_column_place(bands, n, j)];
            plain->matrix[i * n + j] = plain->matrix[j * n + i] = (double)(int64_t)value /
                                                                  ((double)count * (double)(count - 1)) *
                                                                  (made->unit[i] * made->unit[j]);
        }
    }
    for (size_t b = 0; b < n; b++) {
        double part[PARTS] = {0};
        trace += plain->matrix[b * n + b];
        for (size_t c = b + 1; c < n; c++) {
            part[c % PARTS] += plain->matrix[b * n + c] * plain->matrix[b * n + c];
        }
        squares += plain->matrix[b * n + b] * plain->matrix[b * n + b] + 2 * join(part);
    }
    if (count > 1) {
        *share = made->how.share;
        if (made->how.shrink != HC_COLUMN_SHRINK_SHARE) {
            *share = hc_column_share(made->how.shrink, 0, (double)count, (double)n, trace, squares);
        }
    }
    for (size_t i = 0; i < n * n && *share != 0; i++) {
        plain->matrix[i] *= 1 - *share;
        plain->matrix[i] += i % (n + 1) == 0 ? *share * trace / (double)n : 0;
    }
    double some = ((double)count - 1) / (double)count;
    for (size_t i = 0; i < n * n && made->how.products; i++) {
        plain->matrix[i] = plain->matrix[i] * some + plain->mean[i / n] * plain->mean[i % n];
    }
    for (size_t b = 0; b < n && made->how.products && count > 1 && (*share != 0 || count > bands); b++) {
        plain->mean[b] = 0;
    }
    return count > 1 && (*share != 0 || count > bands);
}

static void plain_factor(const Case *made, Plain *plain) {
    size_t n = made->bands;
    for (size_t b = 0; b < n; b++) {
        double variance = plain->matrix[b * n + b];
        plain->scale[b] = variance > 0 ? 1 / sqrt(variance) : 0;
    }
    for (size_t b = 0; b < n; b++) {
        double *row = plain->upper + b * n;
        for (size_t c = b; c < n; c++) {
            row[c] = c == b ? 1 : plain->matrix[b * n + c] * (plain->scale[b] * plain->scale[c]);
            for (size_t k = 0; k < b; k++) {
                row[c] -= plain->used[k] ? plain->upper[k * n + b] * plain->upper[k * n + c] : 0;
            }
        }
        plain->used[b] = plain->scale[b] > 0 && row[b] >= 16 * (double)n * 0x1p-52;
        plain->kept += plain->used[b];
        double pivot = sqrt(row[b]);
        for (size_t c = b; c < n; c++) {
            row[c] = plain->used[b] ? row[c] / pivot : 0;
        }
    }
    for (size_t k = 0; k < n; k++) {
        for (size_t c = 0; c <= k && plain->used[k]; c++) {
            double value = c == k ? plain->scale[k] : 0;
            for (size_t i = c; i < k; i++) {
                value -= plain->used[i] ? plain->upper[i * n + k] * plain->white[i * n + c] : 0;
            }
            plain->white[k * n + c] = value * (1 / plain->upper[k * n + k]);
        }
    }
}

/* The weights of a target; returns its power. */
static double plain_solve(const Case *made, Plain *plain, size_t target, double *weight) {
    size_t n = made->bands;
    double power = 0;
    for (size_t b = 0; b < n; b++) {
        double spectrum = made->spectrum[target * n + b];
        double signal = made->how.absorption ? plain->mean[b] * spectrum : spectrum - plain->mean[b];
        plain->rest[b] = signal * plain->scale[b];
        weight[b] = 0;
    }
    for (size_t k = 0; k < n; k++) {
        const double *row = plain->upper + k * n;
        plain->y[k] = plain->used[k] ? plain->rest[k] * (1 / row[k]) : 0;
        power += plain->used[k] ? plain->y[k] * plain->y[k] : 0;
        for (size_t b = k + 1; b < n && plain->used[k]; b++) {
            plain->rest[b] -= row[b] * plain->y[k];
        }
    }
    for (size_t k = n; k-- > 0;) {
        const double *row = plain->upper + k * n;
        double part[PARTS] = {0};
        for (size_t b = k + 1; b < n && plain->used[k]; b++) {
            part[b % PARTS] += row[b] * weight[b];
        }
        weight[k] = plain->used[k] ? (plain->y[k] - join(part)) * (1 / row[k]) : 0;
    }
    for (size_t b = 0; b < n; b++) {
        weight[b] *= plain->scale[b] / power;
    }
    return power;
}

/* ---- checks ---- */

/* The triangle of a group as it was packed. */
static double packed_at(const Case *made, size_t group, size_t row, size_t band) {
    const double *quad =
        made->whitening + group * made->how.stride + hc_whitening_offset((int64_t)(row / HC_WHITENING_ROWS));
    return quad[band * HC_WHITENING_ROWS + row % HC_WHITENING_ROWS];
}

static void same(double got, double expected) {
    if (!(got == expected)) { /* zeros of both signs are the same */
        fail_msg("%a instead of %a", got, expected);
    }
}

/* The equations, for a matrix that is not nearly singular: A w is along the signal, W A W' = 1. */
static void check_meaning(const Case *made, const Plain *plain, size_t group, bool whiten) {
    size_t n = made->bands;
    const double *mean = made->filter + group * (1 + made->targets) * n;
    for (size_t j = 0; j < made->targets; j++) {
        const double *weight = mean + (j + 1) * n;
        double power =
            1 / (made->deviation[group * made->targets + j] * made->deviation[group * made->targets + j]);
        for (size_t b = 0; b < n; b++) {
            double spectrum = made->spectrum[j * n + b];
            long double signal =
                made->how.absorption ? (long double)mean[b] * spectrum : (long double)spectrum - mean[b];
            long double sum = 0, size = fabsl(signal);
            for (size_t c = 0; c < n; c++) {
                sum += (long double)plain->matrix[b * n + c] * weight[c] * power;
                size += fabsl((long double)plain->matrix[b * n + c] * weight[c] * power);
            }
            check_near((double)sum, (double)signal, (double)size * 1e-11);
        }
    }
    size_t step = n > 100 ? 23 : 1;
    for (size_t r = 0; r < n && whiten; r += step) {
        for (size_t s = 0; s <= r; s += step) {
            long double sum = 0;
            for (size_t b = 0; b <= r; b++) {
                for (size_t c = 0; c <= s; c++) {
                    sum += (long double)packed_at(made, group, r, b) * plain->matrix[b * n + c] *
                           packed_at(made, group, s, c);
                }
            }
            check_near((double)sum, r == s ? 1 : 0, 1e-11);
        }
    }
}

static void check_group(const Case *made, size_t group, bool whiten) {
    size_t n = made->bands;
    Plain plain = plain_new(n);
    double share = 0;
    double *weight = calloc(n, sizeof(double));
    const double *filter = made->filter + group * (1 + made->targets) * n;
    assert_non_null(weight);
    bool fine = plain_statistics(made, group, &plain, &share);
    assert_int_equal(made->pixels[group], plain.count);
    same(made->shrinkage[group], share);
    if (fine) {
        plain_factor(made, &plain);
    }
    assert_int_equal(made->directions[group], plain.kept);
    assert_int_equal(made->scored[group], fine);
    for (size_t b = 0; b < n; b++) {
        same(filter[b], plain.mean[b]);
    }
    for (size_t j = 0; j < made->targets; j++) {
        double power = fine ? plain_solve(made, &plain, j, weight) : 0;
        same(made->deviation[group * made->targets + j], fine ? 1 / sqrt(power) : 0);
        for (size_t b = 0; b < n; b++) {
            same(filter[(j + 1) * n + b], fine ? weight[b] : 0);
        }
    }
    for (size_t i = 0; i < n * n && fine && whiten; i++) {
        if (i % n <= i / n) {
            same(packed_at(made, group, i / n, i % n), plain.white[i]);
        }
    }
    for (size_t r = n; r % HC_WHITENING_ROWS != 0 && fine && whiten; r++) { /* behind the last row */
        for (size_t b = 0; b < n; b++) {
            same(packed_at(made, group, r, b), 0);
        }
    }
    if (fine && plain.kept == n) {
        check_meaning(made, &plain, group, whiten);
    }
    free(weight);
    plain_free(&plain);
}

static void check_case(int32_t bands, int32_t targets, const HcColumnFilters *how, uint64_t seed) {
    Case made = case_new(bands, targets);
    bool whiten = !how->products && seed % 3 != 0;
    made.how.absorption = how->absorption;
    made.how.products = how->products;
    made.how.shrink = how->shrink;
    made.how.share = how->share;
    case_fill(&made, &seed);
    for (int32_t threads = 1; threads <= 3; threads += 2) {
        Rig rig;
        rig_open(&rig, threads);
        run(&rig, &made, whiten, threads == 3);
        for (size_t g = 0; g < GROUPS; g++) {
            check_group(&made, g, whiten);
        }
        rig_close(&rig);
    }
    case_free(&made);
}

/* Groups with filters and without, of all kinds of matrices. */
CASE(test_column_filters) {
    (void)state;
    static const HcColumnFilters kinds[] = {{.share = 0},
                                            {.absorption = true, .share = 0.01},
                                            {.shrink = HC_COLUMN_SHRINK_OAS},
                                            {.shrink = HC_COLUMN_SHRINK_RAO_BLACKWELL},
                                            {.products = true}};
    static const int32_t shapes[][2] = {{1, 1},  {2, 3},  {5, 1},  {9, TARGETS},
                                        {23, 2}, {24, 1}, {34, 1}, {70, 2}};
    uint64_t seed = 4;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            check_case(shapes[i][0], shapes[i][1], &kinds[k], seed++);
        }
    }
}

SMALL(test_column_filters_small) {
    (void)state;
    check_case(24, 2, &(HcColumnFilters){.share = 0}, 2);
}

/* More bands than any tile has. */
CASE(test_column_filters_large) {
    (void)state;
    check_case(289, 1, &(HcColumnFilters){.share = 0}, 1);
}

CASE(test_column_filters_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    double *memory = rig_alloc(&rig, 4096);
    HcColumnFilters how = {.groups = 1,
                           .bands = 3,
                           .targets = 1,
                           .sums = rig_alloc(&rig, 1024 * 8),
                           .unit = memory,
                           .spectrum = memory,
                           .filter = memory,
                           .deviation = memory,
                           .whitening = memory,
                           .stride = hc_whitening_values(3),
                           .pixels = (int64_t *)(void *)memory,
                           .shrinkage = memory,
                           .directions = (int32_t *)(void *)memory,
                           .scored = (uint8_t *)memory};
    HcColumnFilters wrong[16];
    for (size_t i = 0; i < 16; i++) {
        wrong[i] = how;
    }
    wrong[0].groups = 0;
    wrong[1].bands = 0;
    wrong[2].targets = 0;
    wrong[3].sums = NULL;
    wrong[4].unit = NULL;
    wrong[5].spectrum = NULL;
    wrong[6].filter = NULL;
    wrong[7].deviation = NULL;
    wrong[8].pixels = NULL;
    wrong[9].shrinkage = NULL;
    wrong[10].directions = NULL;
    wrong[11].scored = NULL;
    wrong[12].share = NAN;
    wrong[13].shrink = (HcColumnShrink)3;
    wrong[14].stride -= HC_WHITENING_ROWS;
    wrong[15].products = true;
    for (size_t i = 0; i < 16; i++) {
        check_fails(hc_column_filters(rig.queue, &wrong[i], err), HC_E_USAGE, rig.err);
    }
    how.whitening = (double *)(void *)how.sums; /* with a stride of its own */
    check_fails(hc_column_filters(rig.queue, &how, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_filters(NULL, &how, err), HC_E_USAGE, rig.err);
    check_fails(hc_column_filters(rig.queue, NULL, err), HC_E_USAGE, rig.err);
    rig_close(&rig);
}
