/* Sums of products against wide integers and long double. */
#include "tests/conformance/rig.h"

#include "core/operation/gram/gram.h"
#include "cpu/cpu.h"

#include <stdlib.h>

static bool valid_at(const Cube *cube, const HcWindow *w, int64_t line, int64_t sample) {
    bool inside = w == NULL || (line >= w->line0 && line < w->line0 + w->lines && sample >= w->sample0 &&
                                sample < w->sample0 + w->samples);
    return inside && line >= 0 && line < cube->lines && sample >= 0 && sample < cube->samples &&
           cube->mask[line * cube->samples + sample] != 0;
}

/* Whether all that the difference looks at is there. */
static bool whole(const Cube *cube, HcDifference kind, const HcWindow *w, int64_t line, int64_t sample) {
    switch (kind) {
    case HC_DIFFERENCE_NONE:
        return valid_at(cube, w, line, sample);
    case HC_DIFFERENCE_SHIFT:
        return valid_at(cube, w, line, sample) && valid_at(cube, w, line, sample + 1);
    case HC_DIFFERENCE_SHIFT_DIAGONAL:
        return valid_at(cube, w, line, sample) && valid_at(cube, w, line + 1, sample + 1);
    default:
        break;
    }
    for (int64_t k = 0; k < 9; k++) {
        if (!valid_at(cube, w, line - 1 + k / 3, sample - 1 + k % 3)) {
            return false;
        }
    }
    return true;
}

static long double difference_at(const Cube *cube, HcDifference kind, int64_t line, int64_t sample,
                                 int64_t band) {
    long double x = (long double)cube_at(cube, line, sample, band);
    if (kind == HC_DIFFERENCE_NONE) {
        return x;
    }
    if (kind == HC_DIFFERENCE_SHIFT) {
        return x - (long double)cube_at(cube, line, sample + 1, band);
    }
    if (kind == HC_DIFFERENCE_SHIFT_DIAGONAL) {
        return x - (long double)cube_at(cube, line + 1, sample + 1, band);
    }
    long double sorted[9];
    long double sum = 0;
    for (int k = 0; k < 9; k++) {
        long double value = (long double)cube_at(cube, line - 1 + k / 3, sample - 1 + k % 3, band);
        sum += value;
        int at = k;
        for (; at > 0 && sorted[at - 1] > value; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = value;
    }
    return kind == HC_DIFFERENCE_MEAN3X3 ? 9 * x - sum : x - sorted[4];
}

/* The differences of all pixels that have one: [count][bands]. */
static long double *all_differences(const Cube *cube, HcDifference kind, const HcWindow *w, int64_t *count) {
    size_t values = (size_t)cube->lines * (size_t)cube->samples * (size_t)cube->bands;
    long double *list = malloc(values * sizeof *list);
    assert_non_null(list);
    *count = 0;
    for (int64_t l = 0; l < cube->lines; l++) {
        for (int64_t s = 0; s < cube->samples; s++) {
            if (whole(cube, kind, w, l, s)) {
                for (int64_t b = 0; b < cube->bands; b++) {
                    list[*count * cube->bands + b] = difference_at(cube, kind, l, s, b);
                }
                (*count)++;
            }
        }
    }
    return list;
}

/* Sums over the cube in blocks of `size` lines. */
static HcMoments sum_blocks(Rig *rig, const Cube *cube, HcDifference kind, const HcWindow *w, int64_t limit,
                            const HcGrid *grid, int32_t size) {
    HcSums *sums = NULL;
    HcMoments moments = {0};
    check_ok(hc_sums_open(rig->compute, cube->bands, limit, grid, &sums, &rig->err), rig->err);
    for (int32_t line = 0; line < cube->lines; line += size) {
        int32_t lines = line + size <= cube->lines ? size : cube->lines - line;
        HcBlock in = rig_put_block(rig, cube, line, lines, hc_difference_halo(kind) + size % 2);
        HcWindow copy = w != NULL ? *w : (HcWindow){0};
        check_ok(hc_gram(rig->queue, &in, kind, w != NULL ? &copy : NULL, sums, &rig->err), rig->err);
        copy = (HcWindow){0};
        if (line == 0 && size < cube->lines) { /* fetching on the way changes nothing */
            check_ok(hc_sums_fetch(rig->queue, sums, &moments, &rig->err), rig->err);
            hc_moments_clear(&moments);
        }
        rig_empty(rig);
    }
    check_ok(hc_sums_fetch(rig->queue, sums, &moments, &rig->err), rig->err);
    hc_sums_close(sums);
    return moments;
}

/* Quotients that a device has made are those of the host. */
static void check_quotients(HcMoments *got) {
    HcError err = {0};
    size_t count = (size_t)got->bands * (size_t)got->bands;
    if (got->quotient == NULL) {
        return;
    }
    double *both = malloc(2 * count * sizeof *both);
    assert_non_null(both);
    for (size_t k = 0; k < 2; k++) {
        check_ok(hc_moments_covariance(got, NULL, got->divided, "a test", NULL, both + k * count, &err), err);
        hc_moments_changed(got);
    }
    assert_memory_equal(both, both + count, count * sizeof *both);
    free(both);
}

static void compare_exact(HcMoments *got, const long double *list, int64_t count, int32_t bands) {
    size_t n = (size_t)bands;
    assert_int_equal(got->count, count);
    int64_t *row = malloc(n * sizeof *row);
    HcWide *sum = calloc(n + n * n, sizeof *sum);
    assert_true(row != NULL && sum != NULL);
    HcWide *product = sum + n;
    for (int64_t p = 0; p < count; p++) {
        for (size_t b = 0; b < n; b++) {
            row[b] = (int64_t)list[(size_t)p * n + b];
            sum[b] += row[b];
        }
        for (size_t b = 0; b < n; b++) {
            for (size_t c = 0; c < n; c++) {
                product[b * n + c] += (HcWide)row[b] * row[c];
            }
        }
    }
    assert_memory_equal(got->sum, sum, n * sizeof *sum);
    assert_memory_equal(got->product, product, n * n * sizeof *sum);
    check_quotients(got);
    free(row);
    free(sum);
}

enum { WAYS = HC_CPU_GRAM_AMX };

/* The ways of the CPU backend that this processor has; others have one. */
static int ways(HcCpuGram list[WAYS]) {
    int count = 0;
    Rig rig;
    if (strcmp(hc_compute_name(rig_ops), "cpu") != 0) {
        return 1;
    }
    rig_open(&rig, 1);
    for (int way = HC_CPU_GRAM_FLOAT64; way <= HC_CPU_GRAM_AMX; way++) {
        if (hc_cpu_gram_force(rig.compute, (HcCpuGram)way)) {
            list[count++] = (HcCpuGram)way;
        }
    }
    rig_close(&rig);
#if defined(__x86_64__)
    assert_true(count > 1 || !__builtin_cpu_supports("avx2")); /* no way got lost */
#endif
    return count;
}

static void rig_open_way(Rig *rig, int32_t threads, HcCpuGram way) {
    rig_open(rig, threads);
    if (strcmp(hc_compute_name(rig_ops), "cpu") == 0) {
        assert_true(hc_cpu_gram_force(rig->compute, way));
    }
}

/* Every way, some numbers of threads and some sizes of blocks against the reference. */
static void check_exact(const Cube *cube, HcDifference kind, const HcWindow *w, int64_t limit, bool many) {
    static const int32_t threads[] = {1, 2, 3, 7};
    HcCpuGram list[WAYS] = {HC_CPU_GRAM_BEST};
    int count_ways = ways(list);
    int64_t count = 0;
    long double *differences = all_differences(cube, kind, w, &count);
    for (int way = 0; way < count_ways; way++) {
        for (int t = 0; t < (many ? 4 : 1); t++) {
            Rig rig;
            rig_open_way(&rig, threads[t], list[way]);
            for (int32_t size = many ? 1 : cube->lines; size <= cube->lines; size += 1 + cube->lines / 2) {
                HcMoments got = sum_blocks(&rig, cube, kind, w, hc_difference_limit(kind, limit), NULL, size);
                compare_exact(&got, differences, count, cube->bands);
                hc_moments_clear(&got);
            }
            rig_close(&rig);
        }
    }
    free(differences);
}

CASE(test_gram_exact) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 1},  {1, 40, 6},   {30, 1, 5},
                                        {9, 70, 1}, {21, 67, 19}, {5, 7, 425}};
    uint64_t seed = 5;
    for (int shape = 0; shape < 6; shape++) {
        for (int round = 0; round < 6; round++) {
            Cube cube = cube_new(shapes[shape][0], shapes[shape][1], shapes[shape][2]);
            int64_t high = round % 3 == 0 ? 255 : round % 3 == 1 ? 4000 : 65535;
            cube_fill_integers(&cube, round % 2 == 0 ? 0 : -high, high, &seed);
            cube_mask(&cube, round == 5 ? MASK_ALL : round > 2 ? MASK_SOME : MASK_NONE, &seed);
            HcWindow window = {1, 1, 50, 11};
            HcDifference kind = (HcDifference)(round % 5);
            bool many = cube.bands < 100;
            check_exact(&cube, HC_DIFFERENCE_NONE, NULL, high, many);
            check_exact(&cube, kind, NULL, high, many);
            check_exact(&cube, kind, &window, high, false);
            cube_free(&cube);
        }
    }
}

static void fill(Cube *cube, float even, float odd) {
    int64_t values = (int64_t)cube->lines * cube->samples * cube->bands;
    for (int64_t i = 0; i < values; i++) {
        cube->data[i] = (i / cube->bands / 3 + i / cube->bands / cube->samples) % 2 == 0 ? even : odd;
    }
}

/* The largest sums: all values at their limits, and enough pixels that narrow sums have to be emptied. */
CASE(test_gram_extremes) {
    (void)state;
    Cube cube = cube_new(300, 250, 3);
    fill(&cube, 65535, 65535);
    check_exact(&cube, HC_DIFFERENCE_NONE, NULL, 65535, false);
    fill(&cube, 255, 255);
    check_exact(&cube, HC_DIFFERENCE_NONE, NULL, 255, false);
    fill(&cube, -32768, -32768);
    check_exact(&cube, HC_DIFFERENCE_NONE, NULL, 32768, false);
    fill(&cube, 32767, -32768);
    check_exact(&cube, HC_DIFFERENCE_NONE, NULL, 32768, false);
    fill(&cube, -1048576, 1048576);
    check_exact(&cube, HC_DIFFERENCE_NONE, NULL, 1048576, false);
    fill(&cube, 0, 65535);
    check_exact(&cube, HC_DIFFERENCE_MEAN3X3, NULL, 65535, false);
    fill(&cube, 65536, -65536);
    check_exact(&cube, HC_DIFFERENCE_MEAN3X3, NULL, 65536, false);
    cube_free(&cube);
}

/* Values of +size and -size in turn: their mean is 0. Every other band has the other sign. */
static void fill_in_turn(Cube *cube, float size) {
    int64_t values = (int64_t)cube->lines * cube->samples * cube->bands;
    for (int64_t i = 0; i < values; i++) {
        cube->data[i] = (i / cube->bands + i % cube->bands) % 2 == 0 ? size : -size;
    }
}

/* The largest values whose squares sum to less than 2^31 over 1, 2, 4, ... 128 pairs of pixels, where 32-bit
 * sums are full, and the next value, with which a sum over as many would overflow. */
CASE(test_gram_full_sums) {
    (void)state;
    Cube cube = cube_new(7, 130, 18);
    for (int32_t pairs = 1; pairs <= 128; pairs *= 2) {
        double most = floor(sqrt((0x1p31 - 1) / (2 * pairs)));
        fill_in_turn(&cube, (float)most);
        check_exact(&cube, HC_DIFFERENCE_NONE, NULL, 65536, false);
        fill_in_turn(&cube, (float)most + 1);
        check_exact(&cube, HC_DIFFERENCE_NONE, NULL, 65536, false);
    }
    cube_free(&cube);
}

/* A scene whose values move far away: what was summed until then stays. */
SMALL(test_gram_moving) {
    (void)state;
    uint64_t seed = 9;
    Cube cube = cube_new(90, 100, 5);
    int64_t values = 90 * 100 * 5;
    cube_fill_integers(&cube, 0, 40, &seed);
    for (int64_t i = values / 20; i < values; i++) {
        cube.data[i] += i < values / 3 ? 65000.0F : 20000.0F;
    }
    check_exact(&cube, HC_DIFFERENCE_NONE, NULL, 65535, false);
    check_exact(&cube, HC_DIFFERENCE_MEAN3X3, NULL, 65535, false);
    cube_free(&cube);
}

/* A value beyond the limit is noticed, not summed wrongly. */
CASE(test_gram_broken_promise) {
    (void)state;
    uint64_t seed = 6;
    static const float beyond[] = {1001, -1001, 3e9F, -1e30F, NAN, INFINITY};
    HcCpuGram list[WAYS] = {HC_CPU_GRAM_BEST};
    int count_ways = ways(list);
    for (int way = 0; way < count_ways; way++) {
        for (size_t i = 0; i < sizeof beyond / sizeof *beyond; i++) {
            Rig rig;
            rig_open_way(&rig, 2, list[way]);
            Cube cube = cube_new(3, 90, 37);
            cube_fill_integers(&cube, -1000, 1000, &seed);
            cube.data[random_bits(&seed) % (3 * 90 * 37)] = beyond[i];
            HcSums *sums = NULL;
            check_ok(hc_sums_open(rig.compute, 37, 1000, NULL, &sums, &rig.err), rig.err);
            HcBlock in = rig_put_block(&rig, &cube, 0, 3, 0);
            HcStatus status = hc_gram(rig.queue, &in, HC_DIFFERENCE_NONE, NULL, sums, &rig.err);
            if (status == HC_OK) {
                status = hc_wait(rig.queue, &rig.err);
            }
            check_fails(status, HC_E_NUMERIC, rig.err);
            hc_sums_close(sums);
            cube_free(&cube);
            rig_close(&rig);
        }
    }
}

/* ---- floats on a grid ----
 *
 * The reference forms v and its differences as the contract says, and adds remainders by a prime: what is
 * equal there is equal, whatever the integers' size. */

static const uint64_t prime = ((uint64_t)1 << 61) - 1;

static uint64_t times(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 Product;
    return (uint64_t)((Product)a * b % prime);
}

static uint64_t plus(uint64_t a, uint64_t b) {
    return (a + b) % prime;
}

static uint64_t remainder_of_wide(HcWide value) {
    HcWide rest = value % (HcWide)prime;
    return (uint64_t)(rest < 0 ? rest + (HcWide)prime : rest);
}

static uint64_t remainder_of(double whole) {
    int exponent = 0;
    double part = frexp(whole, &exponent);
    int64_t digits = (int64_t)ldexp(part, 53);
    uint64_t out = remainder_of_wide(digits);
    for (int k = 53; k < exponent; k++) {
        out = plus(out, out);
    }
    for (int k = exponent; k < 53; k++) { /* half of it: 2^60 is the inverse of 2 */
        out = times(out, (uint64_t)1 << 60);
    }
    return out;
}

static uint64_t remainder_of_sum(HcWide near, const int64_t *far) {
    uint64_t out = remainder_of_wide(near);
    uint64_t weight = 1;
    for (int k = 0; far != NULL && k < HC_LONG_DIGITS; k++) {
        out = plus(out, times(weight, remainder_of_wide(far[k])));
        weight = times(weight, (uint64_t)1 << 32);
    }
    return out;
}

static double on_grid(const Cube *cube, const HcGrid *grid, int64_t line, int64_t sample, int64_t band) {
    double offset = (double)cube_at(cube, line, sample, band) - grid->center[band];
    return rint(ldexp(offset, -grid->exponent[band]));
}

static double whole_difference(const Cube *cube, const HcGrid *grid, HcDifference kind, int64_t l, int64_t s,
                               int64_t band) {
    double v = on_grid(cube, grid, l, s, band);
    if (kind == HC_DIFFERENCE_NONE) {
        return v;
    }
    if (kind == HC_DIFFERENCE_SHIFT) {
        return v - on_grid(cube, grid, l, s + 1, band);
    }
    if (kind == HC_DIFFERENCE_SHIFT_DIAGONAL) {
        return v - on_grid(cube, grid, l + 1, s + 1, band);
    }
    double column[3] = {0};
    double sorted[9];
    for (int k = 0; k < 9; k++) {
        double value = on_grid(cube, grid, l - 1 + k / 3, s - 1 + k % 3, band);
        column[k % 3] += value;
        int at = k;
        for (; at > 0 && sorted[at - 1] > value; at--) {
            sorted[at] = sorted[at - 1];
        }
        sorted[at] = value;
    }
    return kind == HC_DIFFERENCE_MEAN3X3 ? 9.0 * v - (column[0] + column[1] + column[2]) : v - sorted[4];
}

typedef struct Remainders {
    int64_t count;
    uint64_t *sum;     /* [bands] */
    uint64_t *product; /* [bands][bands] */
} Remainders;

static Remainders remainders_of(const Cube *cube, const HcGrid *grid, HcDifference kind, const HcWindow *w) {
    size_t n = (size_t)cube->bands;
    Remainders out = {.sum = calloc(n, sizeof *out.sum), .product = calloc(n * n, sizeof *out.product)};
    uint64_t *pixel = malloc(n * sizeof *pixel);
    assert_true(out.sum != NULL && out.product != NULL && pixel != NULL);
    for (int64_t l = 0; l < cube->lines; l++) {
        for (int64_t s = 0; s < cube->samples; s++) {
            if (!whole(cube, kind, w, l, s)) {
                continue;
            }
            out.count++;
            for (size_t b = 0; b < n; b++) {
                pixel[b] = remainder_of(whole_difference(cube, grid, kind, l, s, (int64_t)b));
                out.sum[b] = plus(out.sum[b], pixel[b]);
            }
            for (size_t k = 0; k < n * n; k++) {
                out.product[k] = plus(out.product[k], times(pixel[k / n], pixel[k % n]));
            }
        }
    }
    free(pixel);
    return out;
}

static void compare_grid(HcMoments *got, const Remainders *want, const HcGrid *grid) {
    size_t n = (size_t)got->bands;
    const size_t digits = HC_LONG_DIGITS;
    assert_int_equal(got->count, want->count);
    assert_memory_equal(got->center, grid->center, n * sizeof(double));
    assert_memory_equal(got->exponent, grid->exponent, n * sizeof(int32_t));
    for (size_t b = 0; b < n; b++) {
        const int64_t *far = got->far_sum != NULL ? got->far_sum + b * digits : NULL;
        assert_true(remainder_of_sum(got->sum[b], far) == want->sum[b]);
        for (size_t c = b; c < n; c++) {
            far = got->far_product != NULL ? got->far_product + (b * n + c) * digits : NULL;
            assert_true(remainder_of_sum(got->product[b * n + c], far) == want->product[b * n + c]);
            assert_true(got->product[b * n + c] == got->product[c * n + b]);
        }
    }
    check_quotients(got);
}

/* Every way, some numbers of threads and some sizes of blocks against the reference. */
static void check_grid(const Cube *cube, const HcGrid *grid, HcDifference kind, const HcWindow *w, bool far) {
    static const int32_t threads[] = {1, 3};
    HcCpuGram list[WAYS] = {HC_CPU_GRAM_BEST};
    int count_ways = ways(list);
    Remainders want = remainders_of(cube, grid, kind, w);
    for (int way = 0; way < count_ways; way++) {
        for (int t = 0; t < 2; t++) {
            Rig rig;
            rig_open_way(&rig, threads[t], list[way]);
            for (int32_t size = t == 0 ? cube->lines : 1; size <= cube->lines; size += 1 + cube->lines / 2) {
                HcMoments got = sum_blocks(&rig, cube, kind, w, 0, grid, size);
                compare_grid(&got, &want, grid);
                assert_true(want.count == 0 || (got.far_product != NULL) == far);
                hc_moments_clear(&got);
            }
            rig_close(&rig);
        }
    }
    free(want.sum);
    free(want.product);
}

static HcGrid grid_of(const Cube *cube, HcDifference kind) {
    size_t n = (size_t)cube->bands;
    double *center = malloc(n * sizeof *center);
    int32_t *exponent = malloc(n * sizeof *exponent);
    assert_true(center != NULL && exponent != NULL);
    hc_grid_choose(cube->data, (int64_t)cube->lines * cube->samples, cube->bands, center, exponent);
    for (size_t b = 0; b < n && kind != HC_DIFFERENCE_NONE; b++) {
        center[b] = 0;
    }
    return (HcGrid){center, exponent};
}

static void grid_free(HcGrid *grid) {
    free((double *)grid->center);
    free((int32_t *)grid->exponent);
    *grid = (HcGrid){0};
}

CASE(test_gram_grid) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 1},     {1, 40, 6},   {300, 1, 3}, {9, 700, 2},
                                        {21, 130, 19}, {37, 150, 4}, {5, 7, 225}};
    uint64_t seed = 71;
    for (int round = 0; round < 21; round++) {
        const int32_t *shape = shapes[round % 7];
        HcDifference kind = round < 7 ? HC_DIFFERENCE_NONE : (HcDifference)(round % 5);
        HcWindow window = {0, 1, 1200, 2000};
        Cube cube = cube_new(shape[0], shape[1], shape[2]);
        cube_fill_normal(&cube, round % 2 == 0 ? 0.3 : 30, 2, &seed);
        HcGrid grid = grid_of(&cube, kind);
        cube_mask(&cube, round % 3 == 0 ? MASK_NONE : round == 20 ? MASK_ALL : MASK_SOME, &seed);
        check_grid(&cube, &grid, kind, round % 4 == 3 ? &window : NULL, false);
        grid_free(&grid);
        cube_free(&cube);
    }
}

/* The largest limbs: 11 bits and their sums 12, in one to three limbs, up to the largest near value. */
CASE(test_gram_full_limbs) {
    (void)state;
    static const float sizes[] = {2047,
                                  2046.0F * 0x1p12F + 0x1p11F,
                                  0x1p23F,
                                  0x1p23F - 1,
                                  2046.0F * 0x1p24F + 2046.0F * 0x1p12F + 0x1p11F,
                                  2047.0F * 0x1p24F + 2047.0F * 0x1p12F + 0x1p11F,
                                  0x1p34F + 0x1p23F + 0x1p11F,
                                  0x1p35F - 0x1p11F};
    const double center[3] = {0};
    const int32_t exponent[3] = {0};
    const HcGrid grid = {center, exponent};
    Cube cube = cube_new(7, 130, 3);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        fill_in_turn(&cube, sizes[i]);
        check_grid(&cube, &grid, HC_DIFFERENCE_NONE, NULL, false);
        fill(&cube, sizes[i], sizes[i]);
        check_grid(&cube, &grid, HC_DIFFERENCE_NONE, NULL, false);
    }
    cube_free(&cube);
}

/* Values of which few have digits below the shift of their band: integers (one limb), values of 24 digits
 * (two), and dark or large ones among them (three). The size of values changes midway, and that of their
 * digits. */
CASE(test_gram_shifted) {
    (void)state;
    static const float factors[] = {1, 0.7320508F, 0.01F};
    static const HcDifference kinds[] = {HC_DIFFERENCE_NONE, HC_DIFFERENCE_MEAN3X3, HC_DIFFERENCE_MEDIAN3X3};
    uint64_t seed = 83;
    for (int round = 0; round < 9; round++) {
        Cube cube = cube_new(60, 90, 18);
        const int64_t values = (int64_t)60 * 90 * 18;
        cube_fill_integers(&cube, 2000, 6000, &seed);
        for (int64_t i = 0; i < values; i++) {
            uint64_t bits = random_bits(&seed);
            float factor = i > values / 2 ? factors[(round + 1) % 3] : factors[round % 3];
            cube.data[i] *= bits % 400 == 0 ? 0x1p-9F : bits % 401 == 0 ? 1.5F : factor;
        }
        HcGrid grid = grid_of(&cube, kinds[round / 3]);
        check_grid(&cube, &grid, kinds[round / 3], NULL, false);
        grid_free(&grid);
        cube_free(&cube);
    }
}

/* Values that lie far from the others, of every size that float32 has. */
CASE(test_gram_far) {
    (void)state;
    uint64_t seed = 72;
    static const float far[] = {1e7F, -3e9F, 2.5e15F, -1e20F, 3.4e38F, -3.4e38F, 12345.678F};
    for (int round = 0; round < 15; round++) {
        HcDifference kind = (HcDifference)(round % 5);
        Cube cube = cube_new(12, 70, 37);
        cube_fill_normal(&cube, 0.3, round < 5 ? 0.1 : 2, &seed);
        if (round >= 10) { /* denormals; and a band of one value */
            for (int64_t i = 0; i < 12 * 70 * 37; i++) {
                cube.data[i] = i % 37 == 5 ? 4.0F : cube.data[i] * (i % 37 < 9 ? 1e-41F : 1.0F);
            }
        }
        HcGrid grid = grid_of(&cube, kind);
        for (int k = 0; k < 40; k++) {
            cube.data[random_bits(&seed) % (12 * 70 * 37)] = far[k % 7] * (round < 5 ? 1.0F : 0.1F);
        }
        cube_mask(&cube, round % 3 == 0 ? MASK_NONE : MASK_SOME, &seed);
        check_grid(&cube, &grid, kind, NULL, true);
        grid_free(&grid);
        cube_free(&cube);
    }
}

/* Many pixels with far values, as nodata that nobody marked: in all bands or in some, below and beyond 2^53
 * units. */
CASE(test_gram_many_far) {
    (void)state;
    uint64_t seed = 73;
    for (int round = 0; round < 10; round++) {
        Cube cube = cube_new(12, 70, 37);
        cube_fill_normal(&cube, 0.3, 0.1, &seed);
        HcDifference kind = (HcDifference)(round % 5);
        HcGrid grid = grid_of(&cube, kind);
        for (int64_t p = 0; p < 12 * 70; p++) {
            uint64_t draw = random_bits(&seed) % 20;
            for (int64_t b = 0; draw < 3 && b < 37; b++) {
                bool is_far = draw == 0 || (b + p) % 5 == 0;
                cube.data[p * 37 + b] = is_far ? -9999.0F : cube.data[p * 37 + b];
            }
            if (draw == 3 && round >= 5) {
                cube.data[p * 37 + p % 37] = 3e38F;
            }
        }
        cube_mask(&cube, round % 3 == 0 ? MASK_SOME : MASK_NONE, &seed);
        check_grid(&cube, &grid, kind, NULL, true);
        grid_free(&grid);
        cube_free(&cube);
    }
}

/* The quotient of wide integers to about 110 bits, as a sum of two doubles, by other means than the
 * program's: whole quotient and remainder, each turned into long double. */
static long double ratio(HcWide numerator, HcWide denominator) {
    HcWide quotient = numerator / denominator;
    HcWide rest = numerator % denominator;
    return (long double)quotient + (long double)rest / (long double)denominator;
}

CASE(test_covariance) {
    (void)state;
    uint64_t seed = 8;
    Rig rig;
    rig_open(&rig, 2);
    for (int round = 0; round < 4; round++) {
        HcDifference kind = round % 2 == 0 ? HC_DIFFERENCE_NONE : HC_DIFFERENCE_MEAN3X3;
        Cube cube = cube_new(12, 30, 9);
        cube_fill_integers(&cube, 0, round < 2 ? 65535 : 3, &seed);
        cube_mask(&cube, MASK_SOME, &seed);
        HcMoments moments = sum_blocks(&rig, &cube, kind, NULL, hc_difference_limit(kind, 65535), NULL, 5);
        double mean[9];
        double covariance[81];
        double variance = hc_difference_variance(kind);
        assert_true(strcmp(hc_compute_name(rig_ops), "gpu") != 0 ||
                    (moments.quotient != NULL && moments.divided == variance));
        check_ok(hc_moments_covariance(&moments, rig.compute, variance, "a test", mean, covariance, &rig.err),
                 rig.err);
        HcWide count = moments.count;
        for (int k = 0; k < 81; k++) {
            HcWide top = count * moments.product[k] - moments.sum[k / 9] * moments.sum[k % 9];
            long double expected = ratio(top, count * (count - 1) * (HcWide)variance);
            /* half a unit of double, and what long double itself may be off */
            check_near((double)fabsl((long double)covariance[k] - expected), 0,
                       (double)fabsl(expected) * 0x1.01p-53);
            check_same(covariance[k], covariance[k % 9 * 9 + k / 9]);
        }
        hc_moments_clear(&moments);
        cube_free(&cube);
    }
    HcMoments one = {.bands = 1, .count = 1};
    double value;
    check_fails(hc_moments_covariance(&one, rig.compute, 1, "a pixel", NULL, &value, &rig.err), HC_E_NUMERIC,
                rig.err);
    rig_close(&rig);
}
