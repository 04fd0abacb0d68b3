/* continuum: against the highest line through any two points, and figures of features from their definition,
 * in long double. */
#include "tests/conformance/rig.h"

#include "core/solver/continuum.h"

enum { BANDS_MAX = 90, PIECES_MAX = 4 };

typedef struct Case {
    HcContinuumKind kind;
    bool whole;
    int32_t pieces, places;
    int32_t first[PIECES_MAX + 1];
    double centre[BANDS_MAX];
    int32_t band[BANDS_MAX], target[BANDS_MAX];
} Case;

/* All bands, in their order or in one that is none of theirs, in pieces of uneven size with uneven steps. */
static Case make_case(int32_t bands, int32_t pieces, bool straight, uint64_t *seed) {
    Case c = {.pieces = pieces, .places = bands};
    int32_t step = bands % 7 != 0 ? 7 : 11;
    for (int32_t k = 0; k < bands; k++) {
        c.band[k] = straight ? k : (k * step + 3) % bands;
        c.target[k] = straight ? k : bands - 1 - c.band[k];
        c.centre[k] = (k > 0 ? c.centre[k - 1] : 400) + 1 + (double)(random_bits(seed) % 1000) / 100;
    }
    for (int32_t p = 1; p <= pieces; p++) {
        c.first[p] = p == pieces ? bands : c.first[p - 1] + (bands / pieces > 1 ? bands / pieces - 1 : 1);
    }
    return c;
}

static int32_t bands_out(const Case *c) {
    return c->kind == HC_CONTINUUM_FEATURES ? c->pieces * HC_FEATURE_VALUES : c->places;
}

static HcContinuumRule put_rule(Rig *rig, const Case *c) {
    size_t places = (size_t)c->places;
    HcContinuumRule rule = {.kind = c->kind, .whole = c->whole, .pieces = c->pieces, .places = c->places};
    rule.first = rig_put(rig, c->first, ((size_t)c->pieces + 1) * sizeof *c->first);
    rule.centre = rig_put(rig, c->centre, places * sizeof *c->centre);
    rule.band = rig_put(rig, c->band, places * sizeof *c->band);
    rule.target =
        c->kind == HC_CONTINUUM_FEATURES ? NULL : rig_put(rig, c->target, places * sizeof *c->target);
    return rule;
}

/* ---- the reference ---- */

/* The points of a piece that are there. */
typedef struct Points {
    int32_t count;
    int32_t place[BANDS_MAX];
    long double x[BANDS_MAX], y[BANDS_MAX], removed[BANDS_MAX];
} Points;

static long double hull_at(const Points *points, int32_t k) {
    long double highest = points->y[k];
    for (int32_t i = 0; i < k; i++) {
        for (int32_t j = k + 1; j < points->count; j++) {
            long double part = (points->x[k] - points->x[i]) / (points->x[j] - points->x[i]);
            highest = fmaxl(highest, points->y[i] + part * (points->y[j] - points->y[i]));
        }
    }
    return highest;
}

static Points points_of(const Case *c, int32_t piece, const float *pixel) {
    Points points = {0};
    for (int32_t k = c->first[piece]; k < c->first[piece + 1]; k++) {
        if (isfinite(pixel[c->band[k]])) {
            points.place[points.count] = k;
            points.x[points.count] = (long double)c->centre[k];
            points.y[points.count++] = (long double)pixel[c->band[k]];
        }
    }
    return points;
}

/* Where the values cross half the depth, on one side. */
static double crossing(const Points *points, int32_t lowest, int32_t step, long double level) {
    for (int32_t k = lowest + step; k >= 0 && k < points->count; k += step) {
        if (points->removed[k] >= level) {
            long double inner = points->removed[k - step];
            long double part = (level - inner) / (points->removed[k] - inner);
            return (double)(points->x[k - step] + part * (points->x[k] - points->x[k - step]));
        }
    }
    return NAN;
}

/* The minimum of the parabola by Lagrange's form. */
static double parabola(const long double *x, const long double *y) {
    long double above = 0;
    long double below = 0;
    for (int i = 0; i < 3; i++) {
        long double a = x[(i + 1) % 3];
        long double b = x[(i + 2) % 3];
        long double weight = y[i] / ((x[i] - a) * (x[i] - b));
        above += weight * (a + b);
        below += 2 * weight;
    }
    return (double)(above / below);
}

/* What has no positive hull is missing. */
static Points removed_of(const Points *all) {
    Points points = {0};
    for (int32_t k = 0; k < all->count; k++) {
        long double hull = hull_at(all, k);
        if (hull > 0) {
            points.x[points.count] = all->x[k];
            points.removed[points.count++] = all->y[k] / hull;
        }
    }
    return points;
}

static void feature_of(const Points *points, double *to) {
    int32_t lowest = 0;
    int32_t count = points->count;
    long double area = 0;
    for (int v = 0; v < HC_FEATURE_VALUES; v++) {
        to[v] = NAN;
    }
    for (int32_t k = 0; k < count; k++) {
        lowest = points->removed[k] < points->removed[lowest] ? k : lowest;
        long double before = k > 0 ? points->x[k] - points->x[k - 1] : 0;
        long double after = k + 1 < count ? points->x[k + 1] - points->x[k] : 0;
        area += (1 - points->removed[k]) * (before + after) / 2;
    }
    if (count > 0 && points->removed[lowest] >= 1) {
        to[0] = to[2] = 0;
    } else if (lowest > 0 && lowest + 1 < count) {
        long double level = (1 + points->removed[lowest]) / 2;
        double left = crossing(points, lowest, -1, level);
        double right = crossing(points, lowest, 1, level);
        to[0] = (double)(1 - points->removed[lowest]);
        to[1] = parabola(points->x + lowest - 1, points->removed + lowest - 1);
        to[2] = (double)area;
        to[3] = right - left;
        to[4] = (left + right - 2 * to[1]) / (right - left);
    }
}

static double value_of(const Case *c, long double y, long double hull) {
    long double removed = hull > 0 ? y / hull : (long double)NAN;
    return (double)(c->kind == HC_CONTINUUM_HULL    ? hull
                    : c->kind == HC_CONTINUUM_DEPTH ? 1 - removed
                                                    : removed);
}

static void expect(const Case *c, const float *pixel, double *to) {
    for (int32_t b = 0; b < bands_out(c); b++) {
        to[b] = NAN;
    }
    for (int32_t p = 0; p < c->pieces; p++) {
        Points points = points_of(c, p, pixel);
        if (c->kind == HC_CONTINUUM_FEATURES) {
            points = removed_of(&points);
            feature_of(&points, to + (ptrdiff_t)p * HC_FEATURE_VALUES);
            continue;
        }
        for (int32_t k = 0; k < points.count; k++) {
            to[c->target[points.place[k]]] = value_of(c, points.y[k], hull_at(&points, k));
        }
    }
}

/* The steps that all backends follow, one band after the other. */
static bool follow(const Case *c, const float *pixel, float *to) {
    double y[BANDS_MAX], hull[BANDS_MAX];
    int32_t corner[BANDS_MAX + 1];
    HcContinuumWork work = {.y = y, .hull = hull, .corner = corner, .lanes = 1};
    HcContinuumRule rule = {c->kind, c->whole, c->pieces, c->places, c->first, c->centre, c->band, c->target};
    return hc_continuum_stays(&rule, hc_continuum_pixel(&rule, &work, pixel, to), bands_out(c));
}

/* ---- cases ---- */

static void check_pixel(const Case *c, const float *pixel, const float *got, bool valid) {
    double expected[BANDS_MAX];
    float alike[BANDS_MAX];
    int32_t bands = bands_out(c);
    int32_t lacks = 0;
    expect(c, pixel, expected);
    for (int32_t b = 0; b < bands; b++) {
        lacks += isnan(expected[b]);
    }
    assert_int_equal(valid, c->whole ? lacks == 0 : lacks < bands);
    assert_int_equal(valid, follow(c, pixel, alike));
    for (int32_t b = 0; b < bands && valid; b++) {
        assert_true(memcmp(&got[b], &alike[b], sizeof got[b]) == 0 || (isnan(got[b]) && isnan(alike[b])));
    }
    for (int32_t b = 0; b < bands; b++) {
        if (!valid || isnan(expected[b])) {
            assert_true(valid ? isnan(got[b]) : got[b] == 0);
        } else {
            /* one rounding to float32; in float64 some roundings, of which quotients make 2^20 times more */
            check_near(got[b], expected[b], 0x1.01p-24 * fabs(expected[b]) + 0x1p-30);
        }
    }
}

static void check_block(Rig *rig, const Cube *cube, const Case *c, int64_t line0, int32_t lines) {
    HcBlock in = rig_put_block(rig, cube, line0, lines, 1);
    HcBlock out = rig_alloc_block(rig, cube, line0, lines, 0, bands_out(c));
    HcContinuumRule rule = put_rule(rig, c);
    check_ok(hc_continuum(rig->queue, &in, &rule, &out, &rig->err), rig->err);
    Cube got = rig_get_block(rig, &out);
    for (int64_t p = 0; p < (int64_t)lines * cube->samples; p++) {
        int64_t at = line0 * cube->samples + p;
        const float *values = got.data + p * got.bands;
        if (cube->mask[at] != 0) {
            check_pixel(c, cube->data + at * cube->bands, values, got.mask[p] != 0);
            continue;
        }
        assert_int_equal(got.mask[p], 0);
        for (int32_t b = 0; b < got.bands; b++) {
            check_near(values[b], 0, 0);
        }
    }
    cube_free(&got);
    rig_empty(rig);
}

/* Some values become missing, some pixels negative at one end, or throughout. */
static void disturb(Cube *cube, uint64_t *seed) {
    for (int64_t p = 0; p < (int64_t)cube->lines * cube->samples; p++) {
        float *pixel = cube->data + p * cube->bands;
        uint64_t what = random_bits(seed) % 5;
        for (int32_t b = 0; b < cube->bands && cube->mask[p] != 0; b++) {
            bool gone = what == 1 && random_bits(seed) % 4 == 0;
            pixel[b] = what == 2 && b < 4 ? -pixel[b] : what == 3 && p % 3 == 0 ? -1 : pixel[b];
            pixel[b] = gone || (what == 4 && p % 4 == 0) ? (p % 2 != 0 ? NAN : INFINITY) : pixel[b];
        }
    }
}

/* Small odd shapes, in blocks of one to three lines, without and with masked pixels and missing values. */
static void check_kind(HcContinuumKind kind) {
    static const int32_t shapes[][4] = {{1, 1, 1, 1},  {7, 1, 5, 1},  {2, 2, 3, 2},
                                        {9, 7, 40, 3}, {3, 5, 83, 2}, {4, 3, 88, 1}};
    Rig rig;
    uint64_t seed = 1;
    rig_open(&rig, 2);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (Masking masking = MASK_NONE; masking <= MASK_ALL; masking++) {
            Cube cube = cube_new(shapes[i][0], shapes[i][1], shapes[i][2]);
            Case c = make_case(cube.bands, shapes[i][3], ((int)i + (int)masking) % 2 == 0, &seed);
            c.kind = kind;
            c.whole = i % 2 == 1;
            cube_fill_normal(&cube, 100, 10, &seed);
            cube_mask(&cube, masking, &seed);
            if (masking != MASK_NONE) {
                disturb(&cube, &seed);
            }
            for (int32_t line = 0, lines = 1; line < cube.lines; line += lines, lines = lines % 3 + 1) {
                check_block(&rig, &cube, &c, line, (int32_t)hc_min64(lines, cube.lines - line));
            }
            cube_free(&cube);
        }
    }
    rig_close(&rig);
}

SMALL(test_continuum) {
    (void)state;
    check_kind(HC_CONTINUUM_REMOVED);
}

CASE(test_continuum_kinds) {
    (void)state;
    check_kind(HC_CONTINUUM_DEPTH);
    check_kind(HC_CONTINUUM_HULL);
    check_kind(HC_CONTINUUM_FEATURES);
}

CASE(test_continuum_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    uint64_t seed = 1;
    Case c = make_case(3, 1, false, &seed);
    Cube cube = cube_new(5, 4, 3);
    HcBlock in = rig_put_block(&rig, &cube, 1, 3, 0);
    HcBlock out = rig_alloc_block(&rig, &cube, 1, 3, 0, 3);
    HcBlock more = rig_alloc_block(&rig, &cube, 1, 4, 0, 3);
    HcBlock bands = rig_alloc_block(&rig, &cube, 1, 3, 0, 4);
    HcBlock none = {.lines = 3, .samples = 4, .bands = 3};
    HcContinuumRule rule = put_rule(&rig, &c);
    HcContinuumRule wrong = rule;
    check_fails(hc_continuum(NULL, &in, &rule, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_continuum(rig.queue, NULL, &rule, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_continuum(rig.queue, &in, NULL, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_continuum(rig.queue, &in, &rule, &none, err), HC_E_USAGE, rig.err);
    check_fails(hc_continuum(rig.queue, &in, &rule, &more, err), HC_E_USAGE, rig.err);
    check_fails(hc_continuum(rig.queue, &in, &rule, &bands, err), HC_E_USAGE, rig.err);
    wrong.centre = NULL;
    check_fails(hc_continuum(rig.queue, &in, &wrong, &out, err), HC_E_USAGE, rig.err);
    wrong = rule;
    wrong.target = NULL;
    check_fails(hc_continuum(rig.queue, &in, &wrong, &out, err), HC_E_USAGE, rig.err);
    wrong.kind = (HcContinuumKind)9;
    check_fails(hc_continuum(rig.queue, &in, &wrong, &out, err), HC_E_USAGE, rig.err);
    wrong = rule;
    wrong.pieces = 0;
    check_fails(hc_continuum(rig.queue, &in, &wrong, &out, err), HC_E_USAGE, rig.err);
    cube_free(&cube);
    rig_close(&rig);
}
