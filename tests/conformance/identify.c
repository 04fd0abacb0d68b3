/* identify, against rules that are written here once more: two passes over each feature, without sums of what
 * others sum. */
#include "tests/conformance/rig.h"

#include "core/operation/spectrum/identify.h"

#include <stdlib.h>

enum { REFERENCES = 11, FEATURES_MAX = 4, COUNT_MAX = 9, ENDS_MAX = 3 };

typedef struct Problem {
    HcIdentifyReference reference[REFERENCES];
    HcIdentifyFeature feature[REFERENCES * FEATURES_MAX];
    HcIdentifyEntry entry[REFERENCES * FEATURES_MAX * (COUNT_MAX + 2 * ENDS_MAX)];
    HcIdentifyRule rule; /* of the host */
} Problem;

/* ---- the reference ---- */

typedef struct Fitted {
    double left, right, fit, depth;
} Fitted;

static double mean_of(const HcIdentifyEntry *entry, int32_t count, const float *pixel) {
    double sum = 0;
    for (int32_t i = 0; i < count; i++) {
        sum += (double)pixel[entry[i].band] / count;
    }
    return sum;
}

static Fitted fit_feature(const Problem *p, const HcIdentifyFeature *f, const float *pixel) {
    const HcIdentifyEntry *entry = p->entry + f->first;
    int32_t n = f->count;
    double y[COUNT_MAX], mean = 0, shape = 0, up = 0, down = 0, explained = 0, all = 0;
    Fitted out = {mean_of(p->entry + f->left, f->lefts, pixel),
                  mean_of(p->entry + f->right, f->rights, pixel), NAN, NAN};
    for (int32_t i = 0; i < n; i++) {
        y[i] = (double)pixel[entry[i].band] / ((1 - entry[i].at) * out.left + entry[i].at * out.right);
        mean += y[i] / n;
        shape += entry[i].shape / n;
    }
    for (int32_t i = 0; i < n; i++) {
        up += (entry[i].shape - shape) * (y[i] - mean);
        down += (entry[i].shape - shape) * (entry[i].shape - shape);
    }
    double k = up / down;
    for (int32_t i = 0; i < n; i++) {
        explained += pow(k * (entry[i].shape - shape), 2);
        all += pow(y[i] - mean, 2);
    }
    if (k > 0) {
        out.fit = explained / all;
        out.depth = k * f->depth;
    }
    return out;
}

static Fitted fit_angle(const Problem *p, const HcIdentifyFeature *f, const float *pixel) {
    const HcIdentifyEntry *entry = p->entry + f->first;
    double product = 0, length = 0;
    for (int32_t i = 0; i < f->count; i++) {
        product += entry[i].shape * (double)pixel[entry[i].band];
        length += pow((double)pixel[entry[i].band], 2);
    }
    return (Fitted){.fit = product / sqrt(length), .depth = 1};
}

static bool inside(double value, HcIdentifyRange range) {
    return value >= range.low && value <= range.high;
}

typedef struct Judged {
    double fit, depth, product, open;
    int32_t reason;
} Judged;

static int32_t test_feature(const HcIdentifyFeature *f, const Fitted *found, double first) {
    double least = f->depths.low * (f->kind == HC_IDENTIFY_NOT_RELATIVE ? first : 1);
    bool present = found->fit >= f->fits.low && found->depth >= least;
    switch (f->kind) {
    case HC_IDENTIFY_NOT_ABSOLUTE:
        return present ? HC_IDENTIFY_OTHER_FEATURE : 0;
    case HC_IDENTIFY_NOT_RELATIVE:
        return present ? HC_IDENTIFY_OTHER_RELATIVE : 0;
    case HC_IDENTIFY_ANGLE:
        return found->fit >= f->fits.low ? 0 : HC_IDENTIFY_FIT;
    default:
        break;
    }
    if (!inside(found->left, f->level[0]) || !inside((found->left + found->right) / 2, f->level[1]) ||
        !inside(found->right, f->level[2]) || !inside(found->right / found->left, f->slope)) {
        return HC_IDENTIFY_CONTINUUM;
    }
    return isnan(found->fit)                  ? HC_IDENTIFY_NO_FEATURE
           : !inside(found->fit, f->fits)     ? HC_IDENTIFY_FIT
           : !inside(found->depth, f->depths) ? HC_IDENTIFY_DEPTH
                                              : 0;
}

static Judged judge(const Problem *p, const HcIdentifyReference *r, const float *pixel) {
    Judged out = {0};
    double first = 0, second = 0;
    for (int32_t i = 0; i < r->count; i++) {
        const HcIdentifyFeature *f = &p->feature[r->first + i];
        bool angle = f->kind == HC_IDENTIFY_ANGLE;
        Fitted found = angle ? fit_angle(p, f, pixel) : fit_feature(p, f, pixel);
        bool counts = angle || f->kind == HC_IDENTIFY_DIAGNOSTIC;
        first = i == 0 ? found.depth : first;
        second = i == 1 && counts ? found.depth : second;
        int32_t reason = test_feature(f, &found, first);
        out.reason = out.reason == 0 ? reason : out.reason;
        if (counts && found.fit >= 0) {
            out.open += f->weight * found.fit;
        }
        if (counts) {
            out.fit += f->weight * found.fit;
            out.depth += angle ? 0 : f->weight * found.depth;
            out.product += angle ? 0 : f->weight * found.fit * found.depth;
        }
    }
    if (out.reason == 0) {
        out.reason = second / first >= r->ratio     ? HC_IDENTIFY_RATIO
                     : !(out.fit >= r->fit)         ? HC_IDENTIFY_WHOLE_FIT
                     : !inside(out.depth, r->depth) ? HC_IDENTIFY_WHOLE_DEPTH
                     : !(out.product > r->product)  ? HC_IDENTIFY_PRODUCT
                                                    : 0;
    }
    return out;
}

/* The wavelength of the minimum, by the parabola through three bands. */
static double centre_of(const Problem *p, const HcIdentifyFeature *f, const float *pixel) {
    const HcIdentifyEntry *entry = p->entry + f->first;
    double left = mean_of(p->entry + f->left, f->lefts, pixel);
    double right = mean_of(p->entry + f->right, f->rights, pixel);
    double x[COUNT_MAX], y[COUNT_MAX];
    int32_t at = 0;
    for (int32_t i = 0; i < f->count; i++) {
        x[i] = f->origin + f->step * entry[i].at;
        y[i] = (double)pixel[entry[i].band] / (left + (right - left) * entry[i].at);
        at = y[i] < y[at] ? i : at;
    }
    if (at == 0 || at == f->count - 1) {
        return NAN;
    }
    double a = x[at] - x[at - 1], b = x[at] - x[at + 1];
    double u = y[at] - y[at + 1], v = y[at] - y[at - 1];
    return x[at] - (a * a * u - b * b * v) / (2 * (a * u - b * v));
}

static int32_t member_of(const Problem *p, int32_t best, const Judged *judged, const float *pixel) {
    int32_t family = p->reference[best].family, found = -1, hits = 0;
    double centre = family < 0 ? NAN : centre_of(p, &p->feature[p->reference[best].first], pixel);
    for (int32_t r = 0; r < p->rule.references && family >= 0; r++) {
        HcIdentifyRange range = p->reference[r].centre;
        if (p->reference[r].family == family && centre >= range.low && centre < range.high) {
            found = r;
            hits++;
        }
    }
    return hits == 1 && judged[found].reason == 0 && judged[found].fit > 0 ? found : best;
}

static double score_of(const Problem *p, const Judged *judged) {
    return p->rule.by_product ? judged->product : judged->fit;
}

/* The references in their order, by repeated search. */
static void expect(const Problem *p, const float *pixel, float *out) {
    Judged judged[REFERENCES];
    bool used[REFERENCES] = {false};
    int32_t open = -1;
    for (int32_t r = 0; r < p->rule.references; r++) {
        judged[r] = judge(p, &p->reference[r], pixel);
        open = judged[r].open > (open < 0 ? 0 : judged[open].open) ? r : open;
    }
    for (int32_t place = 0; place < p->rule.top; place++) {
        int32_t best = -1;
        for (int32_t r = 0; r < p->rule.references; r++) {
            bool found = !used[r] && judged[r].reason == 0 && judged[r].fit > 0;
            best = found && (best < 0 || score_of(p, &judged[r]) > score_of(p, &judged[best])) ? r : best;
        }
        if (place == 0 && best >= 0) {
            best = member_of(p, best, judged, pixel);
        }
        Judged of = best >= 0 ? judged[best] : (Judged){0};
        *out++ = best >= 0 ? (float)p->reference[best].number : 0;
        *out++ = best < 0 ? 0 : (float)(p->rule.angle ? acos(fmin(1, of.fit)) : of.fit);
        if (!p->rule.angle) {
            *out++ = (float)of.depth;
            *out++ = (float)of.product;
        }
        if (best >= 0) {
            used[best] = true;
        }
    }
    if (p->rule.rejected) {
        *out++ = open >= 0 ? (float)p->reference[open].number : 0;
        *out++ = open >= 0 ? (float)judged[open].reason : 0;
    }
}

/* ---- problems ---- */

static HcIdentifyRange around(double middle, double half) {
    return (HcIdentifyRange){middle - half, middle + half};
}

static const HcIdentifyRange anything = {-INFINITY, INFINITY};

/* A feature somewhere in the bands, of the shape of a random spectrum. */
static HcIdentifyFeature invent_feature(Problem *p, HcIdentifyKind kind, uint64_t *seed) {
    HcIdentifyRule *rule = &p->rule;
    HcIdentifyFeature f = {.kind = kind,
                           .count = (int32_t)random_between(seed, 3, COUNT_MAX),
                           .lefts = (int32_t)random_between(seed, 1, ENDS_MAX),
                           .rights = (int32_t)random_between(seed, 1, ENDS_MAX),
                           .weight = 0.2 + random_uniform(seed),
                           .depth = 0.1 + 0.4 * random_uniform(seed),
                           .origin = 400,
                           .step = 100,
                           .level = {anything, anything, anything},
                           .slope = anything,
                           .fits = {kind >= HC_IDENTIFY_NOT_ABSOLUTE ? 0.6 : -INFINITY, INFINITY},
                           .depths = {kind >= HC_IDENTIFY_NOT_ABSOLUTE ? 0.05 : -INFINITY, INFINITY}};
    f.count = kind == HC_IDENTIFY_ANGLE ? (int32_t)hc_min64(COUNT_MAX, rule->bands) : f.count;
    int32_t start = (int32_t)random_between(seed, 0, rule->bands - 1);
    f.first = rule->entries;
    f.left = f.first + f.count;
    f.right = f.left + f.lefts;
    rule->entries = f.right + f.rights;
    double mean = 0, squares = 0;
    for (int32_t i = 0; i < f.count + f.lefts + f.rights; i++) {
        HcIdentifyEntry *entry = &p->entry[f.first + i];
        int32_t at = i < f.count             ? i
                     : i < f.count + f.lefts ? i - f.count
                                             : f.count - 1 - (i - f.count - f.lefts);
        entry->band = (start + (at > 0 ? at : 0)) % rule->bands;
        entry->at = (i + 0.3) / f.count;
        entry->shape = -sin(3.1 * entry->at) + 0.2 * random_normal(seed);
        mean += i < f.count ? entry->shape / f.count : 0;
    }
    for (int32_t i = 0; i < f.count; i++) {
        double *shape = &p->entry[f.first + i].shape;
        *shape = kind == HC_IDENTIFY_ANGLE ? 1 + 0.3 * *shape : *shape - mean;
        squares += *shape * *shape;
    }
    for (int32_t i = 0; i < f.count && kind == HC_IDENTIFY_ANGLE; i++) {
        p->entry[f.first + i].shape /= sqrt(squares);
    }
    f.scale = 1 / squares;
    return f;
}

/* Limits that some pixels keep and others do not. */
static void invent_limits(HcIdentifyFeature *f, HcIdentifyReference *r, uint64_t *seed) {
    HcIdentifyRange *ranges[] = {&f->level[0], &f->level[1], &f->level[2], &f->slope,
                                 &f->fits,     &f->depths,   &r->depth};
    static const double middles[] = {0.5, 0.5, 0.5, 1, 0.6, 0.2, 0.3};
    size_t which = random_bits(seed) % 12;
    if (f->kind == HC_IDENTIFY_DIAGNOSTIC && which < 7) {
        *ranges[which] = around(middles[which], 0.4 * middles[which] + 0.1);
    }
    r->fit = which == 7 ? 0.5 : r->fit;
    r->ratio = which == 8 ? 1.2 : r->ratio;
    r->product = which == 9 ? 0.05 : r->product;
}

static void invent(Problem *p, const HcIdentifyRule *like, uint64_t *seed) {
    *p = (Problem){.rule = *like};
    p->rule.features = p->rule.entries = 0;
    for (int32_t i = 0; i < p->rule.references; i++) {
        HcIdentifyReference *r = &p->reference[i];
        *r =
            (HcIdentifyReference){.first = p->rule.features,
                                  .count = p->rule.angle ? 1 : (int32_t)random_between(seed, 1, FEATURES_MAX),
                                  .number = 2 * i + 1,
                                  .family = i % 3 - 1,
                                  .centre = around(410 + 14 * i, 9),
                                  .ratio = INFINITY,
                                  .fit = -INFINITY,
                                  .depth = anything,
                                  .product = -INFINITY};
        r->family = p->rule.angle ? -1 : r->family;
        for (int32_t f = 0; f < r->count; f++) {
            HcIdentifyKind kind = p->rule.angle ? HC_IDENTIFY_ANGLE
                                  : f < 2       ? HC_IDENTIFY_DIAGNOSTIC
                                                : (HcIdentifyKind)(f - 1);
            HcIdentifyFeature *one = &p->feature[p->rule.features++];
            *one = invent_feature(p, kind, seed);
            invent_limits(one, r, seed);
        }
    }
}

/* The rule with its arrays on the device. */
static HcIdentifyRule put(Rig *rig, const Problem *p) {
    HcIdentifyRule rule = p->rule;
    rule.reference = rig_put(rig, p->reference, (size_t)rule.references * sizeof *rule.reference);
    rule.feature = rig_put(rig, p->feature, (size_t)rule.features * sizeof *rule.feature);
    rule.entry = rig_put(rig, p->entry, (size_t)rule.entries * sizeof *rule.entry);
    return rule;
}

/* ---- the checks ---- */

static void check_pixel(const Problem *p, const float *got, const float *expected) {
    int32_t each = hc_identify_each(&p->rule);
    for (int32_t b = 0; b < hc_identify_bands(&p->rule); b++) {
        bool number = b >= p->rule.top * each || b % each == 0;
        check_near(got[b], expected[b], number ? 0 : 1e-6 * (1 + fabs((double)expected[b])));
    }
}

/* Counts reasons, so that a test can tell whether all of them came. */
static void check_block(Rig *rig, const Problem *p, const Cube *cube, int64_t line0, int32_t lines,
                        int32_t *reasons) {
    int32_t bands = hc_identify_bands(&p->rule);
    float expected[4 * HC_IDENTIFY_TOP_MAX + 2] = {0};
    const float zeros[4 * HC_IDENTIFY_TOP_MAX + 2] = {0};
    HcBlock in = rig_put_block(rig, cube, line0, lines, 1);
    HcBlock out = rig_alloc_block(rig, cube, line0, lines, 0, bands);
    HcIdentifyRule rule = put(rig, p);
    check_ok(hc_identify(rig->queue, &in, &rule, &out, &rig->err), rig->err);
    rule = (HcIdentifyRule){0}; /* it was copied */
    Cube got = rig_get_block(rig, &out);
    for (int64_t i = 0; i < (int64_t)lines * cube->samples; i++) {
        int64_t pixel = line0 * cube->samples + i;
        bool valid = cube->mask[pixel] != 0;
        assert_int_equal(got.mask[i], valid);
        if (valid) {
            expect(p, cube->data + pixel * cube->bands, expected);
            reasons[p->rule.rejected ? (int32_t)expected[bands - 1] : 0]++;
        }
        check_pixel(p, got.data + i * bands, valid ? expected : zeros);
    }
    cube_free(&got);
    rig_empty(rig);
}

static void check_rule(Rig *rig, const HcIdentifyRule *rule, int32_t lines, int32_t samples, Masking masking,
                       int32_t *reasons, uint64_t *seed) {
    Problem *p = malloc(sizeof *p);
    assert_non_null(p);
    invent(p, rule, seed);
    Cube cube = cube_new(lines, samples, rule->bands);
    for (int64_t i = 0; i < (int64_t)lines * samples; i++) {
        rig_fill_spectrum(cube.data + i * rule->bands, rule->bands, 0.02, seed);
    }
    cube_mask(&cube, masking, seed);
    for (int32_t line = 0, count = 1; line < lines; line += count, count = count % 3 + 1) {
        check_block(rig, p, &cube, line, (int32_t)hc_min64(count, lines - line), reasons);
    }
    cube_free(&cube);
    free(p);
}

/* Small odd shapes, in blocks of one to three lines, without and with masked pixels. */
SMALL(test_identify) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 1}, {2, 3, 4}, {3, 9, 11}, {4, 37, 24}};
    int32_t reasons[HC_IDENTIFY_REASONS] = {0};
    uint64_t seed = 5;
    Rig rig;
    rig_open(&rig, 2);
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        for (Masking masking = MASK_NONE; masking <= MASK_ALL; masking++) {
            for (int32_t kind = 0; kind < 4; kind++) {
                HcIdentifyRule rule = {.references = kind == 0 ? 1 : REFERENCES,
                                       .bands = shapes[i][2] + (kind == 3 ? 0 : COUNT_MAX + 1),
                                       .angle = kind == 3,
                                       .by_product = kind == 2,
                                       .rejected = kind % 2 != 0,
                                       .top = kind == 0 ? 1 : kind + 2};
                check_rule(&rig, &rule, shapes[i][0], shapes[i][1], masking, reasons, &seed);
            }
        }
    }
    rig_close(&rig);
}

/* Many rules: all reasons come, and members of families take the first place. */
CASE(test_identify_rules) {
    (void)state;
    int32_t reasons[HC_IDENTIFY_REASONS] = {0};
    uint64_t seed = 8;
    for (int32_t threads = 1; threads <= 3; threads++) {
        Rig rig;
        rig_open(&rig, threads);
        for (int32_t round = 0; round < 24; round++) {
            HcIdentifyRule rule = {.references = REFERENCES,
                                   .bands = 10 + 3 * round,
                                   .by_product = round % 4 == 3,
                                   .rejected = true,
                                   .top = round % HC_IDENTIFY_TOP_MAX + 1};
            check_rule(&rig, &rule, 3, 41, MASK_SOME, reasons, &seed);
        }
        rig_close(&rig);
    }
    for (int32_t r = 0; r < HC_IDENTIFY_REASONS; r++) {
        if (reasons[r] == 0) {
            fail_msg("no pixel for reason %d", r);
        }
    }
}

CASE(test_identify_refuses) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    uint64_t seed = 3;
    Problem *p = malloc(sizeof *p);
    assert_non_null(p);
    invent(p, &(HcIdentifyRule){.references = 2, .bands = 5, .top = 1}, &seed);
    Cube cube = cube_new(5, 4, 5);
    HcIdentifyRule rule = put(&rig, p);
    HcBlock in = rig_put_block(&rig, &cube, 1, 3, 0);
    HcBlock out = rig_alloc_block(&rig, &cube, 1, 3, 0, 4);
    HcBlock more = rig_alloc_block(&rig, &cube, 1, 4, 0, 4);
    HcBlock bands = rig_alloc_block(&rig, &cube, 1, 3, 0, 5);
    check_fails(hc_identify(NULL, &in, &rule, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_identify(rig.queue, NULL, &rule, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_identify(rig.queue, &in, NULL, &out, err), HC_E_USAGE, rig.err);
    check_fails(hc_identify(rig.queue, &in, &rule, &more, err), HC_E_USAGE, rig.err);
    check_fails(hc_identify(rig.queue, &in, &rule, &bands, err), HC_E_USAGE, rig.err);
    HcIdentifyRule wrong[] = {rule, rule, rule, rule, rule, rule};
    wrong[0].reference = NULL;
    wrong[1].feature = NULL;
    wrong[2].entry = NULL;
    wrong[3].top = HC_IDENTIFY_TOP_MAX + 1;
    wrong[4].bands = 6;
    wrong[5].references = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_fails(hc_identify(rig.queue, &in, &wrong[i], &out, err), HC_E_USAGE, rig.err);
    }
    cube_free(&cube);
    free(p);
    rig_close(&rig);
}
