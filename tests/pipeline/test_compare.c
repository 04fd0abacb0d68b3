/* Comparisons against plain float64, closed forms, and what is left out. */
#include "cpu/cpu.h"
#include "pipeline/compare/compare.h"
#include "pipeline/compare/parts.h"
#include "tests/support/backend.h"
#include "tests/support/scene_files.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Opened {
    HcCompute *compute;
    HcChain *chain[2];
    HcComparison figures;
} Opened;

static HcStatus compare(const char *scene, const char *truth, const HcCompareSettings *how, Opened *opened,
                        HcError *err) {
    HcComputeConfig config = {.threads = 1};
    HcCompareSettings settings = how != NULL ? *how : (HcCompareSettings){.peak = NAN};
    const char *path[2] = {scene, truth};
    *opened = (Opened){0};
    HC_OR_RETURN(hc_compute_open(backend_find("cpu", err), &config, &opened->compute, err));
    for (int w = 0; w < 2; w++) {
        const char *words[] = {"read", path[w]};
        HC_OR_RETURN(hc_chain_parse(&opened->chain[w], words, 2, NULL, err));
    }
    return hc_compare(opened->chain[0], opened->chain[1], opened->compute, &settings, &opened->figures, err);
}

static void close_all(Opened *opened) {
    hc_comparison_clear(&opened->figures);
    hc_chain_free(opened->chain[0]);
    hc_chain_free(opened->chain[1]);
    hc_compute_close(opened->compute);
}

static Opened compared(const char *scene, const char *truth, const HcCompareSettings *how) {
    Opened opened;
    HcError err = {0};
    check_ok(compare(scene, truth, how, &opened, &err), err);
    return opened;
}

static void refused(HcStatus status, const char *part, const char *scene, const char *truth,
                    const HcCompareSettings *how) {
    Opened opened;
    HcError err = {0};
    HcStatus got = compare(scene, truth, how, &opened, &err);
    if (got != status || !check_holds(err.text, part) || strchr(err.text, '\n') != NULL) {
        fail_msg("status %d instead of %d: %s (wanted: %s)", (int)got, (int)status, err.text, part);
    }
    close_all(&opened);
}

/* ---- plain references, in float64 ---- */

static bool both(const Cube *x, const Cube *y, size_t pixel) {
    return x->valid[pixel] && y->valid[pixel];
}

/* SSIM of one band by its definition: all 121 weights, in two dimensions; deviations from the means. */
static double plain_ssim(const Cube *x, const Cube *y, int32_t band, double peak, int64_t *windows) {
    double weight[11][11], sum = 0, all = 0;
    *windows = 0;
    for (int i = 0; i < 11; i++) {
        for (int j = 0; j < 11; j++) {
            weight[i][j] = exp(-((i - 5) * (i - 5) + (j - 5) * (j - 5)) / (2 * 1.5 * 1.5));
            sum += weight[i][j];
        }
    }
    for (int32_t l = 0; l + 11 <= x->lines; l++) {
        for (int32_t s = 0; s + 11 <= x->samples; s++) {
            double mx = 0, my = 0, vx = 0, vy = 0, vxy = 0;
            bool whole = true;
            for (int i = 0; i < 11; i++) {
                for (int j = 0; j < 11; j++) {
                    whole = whole && both(x, y, (size_t)(l + i) * (size_t)x->samples + (size_t)(s + j));
                    mx += weight[i][j] / sum * cube_pixel(x, l + i, s + j)[band];
                    my += weight[i][j] / sum * cube_pixel(y, l + i, s + j)[band];
                }
            }
            for (int i = 0; i < 11 && whole; i++) {
                for (int j = 0; j < 11; j++) {
                    double u = cube_pixel(x, l + i, s + j)[band] - mx;
                    double v = cube_pixel(y, l + i, s + j)[band] - my;
                    vx += weight[i][j] / sum * u * u;
                    vy += weight[i][j] / sum * v * v;
                    vxy += weight[i][j] / sum * u * v;
                }
            }
            double c1 = pow(0.01 * peak, 2), c2 = pow(0.03 * peak, 2);
            if (whole) {
                all += (2 * mx * my + c1) * (2 * vxy + c2) / ((mx * mx + my * my + c1) * (vx + vy + c2));
                *windows += 1;
            }
        }
    }
    return all / (double)*windows;
}

/* In degrees, by the inverse cosine. */
static double plain_sam(const Cube *x, const Cube *y) {
    double sum = 0;
    int64_t count = 0;
    for (size_t p = 0; p < cube_pixels(x); p++) {
        double xx = 0, yy = 0, xy = 0;
        for (int32_t b = 0; b < x->bands; b++) {
            double u = x->value[p * (size_t)x->bands + (size_t)b];
            double v = y->value[p * (size_t)x->bands + (size_t)b];
            xx += u * u;
            yy += v * v;
            xy += u * v;
        }
        if (both(x, y, p)) {
            sum += acos(xy / sqrt(xx * yy)) * 180 / M_PI;
            count++;
        }
    }
    return sum / (double)count;
}

typedef struct PlainSums {
    double difference, squared, truth_squared, low, high;
    int64_t pixels;
} PlainSums;

static PlainSums plain_sums(const Cube *x, const Cube *y, int32_t first, int32_t last) {
    PlainSums sums = {.low = INFINITY, .high = -INFINITY};
    for (size_t p = 0; p < cube_pixels(x); p++) {
        for (int32_t b = first; b <= last && both(x, y, p); b++) {
            double t = y->value[p * (size_t)y->bands + (size_t)b];
            double d = x->value[p * (size_t)x->bands + (size_t)b] - t;
            sums.difference += d;
            sums.squared += d * d;
            sums.truth_squared += t * t;
            sums.low = fmin(sums.low, t);
            sums.high = fmax(sums.high, t);
            sums.pixels++;
        }
    }
    return sums;
}

static void check_values(const Cube *x, const Cube *y, const HcValueFigures *got) {
    double ssim = 0, psnr = 0;
    assert_int_equal(got->bands, x->bands);
    for (int32_t b = 0; b < x->bands; b++) {
        PlainSums sums = plain_sums(x, y, b, b);
        double n = (double)sums.pixels, peak = sums.high - sums.low;
        int64_t windows = 0;
        const HcBandFigures *band = &got->band[b];
        assert_int_equal(band->scene_band, b);
        assert_int_equal(band->truth_band, b);
        check_near(band->rmse, sqrt(sums.squared / n), 1e-12 * band->rmse);
        check_near(band->bias, sums.difference / n, 1e-12 * band->rmse);
        check_near(band->sre, 10 * log10(sums.truth_squared / sums.squared), 1e-11);
        check_near(band->peak, peak, 0);
        check_near(band->psnr, 20 * log10(peak / sqrt(sums.squared / n)), 1e-11);
        check_near(band->ssim, plain_ssim(x, y, b, peak, &windows), 1e-9);
        assert_int_equal(got->windows, windows);
        ssim += band->ssim / x->bands;
        psnr += band->psnr / x->bands;
    }
    PlainSums sums = plain_sums(x, y, 0, x->bands - 1);
    double n = (double)sums.pixels;
    check_near(got->rmse, sqrt(sums.squared / n), 1e-12 * got->rmse);
    check_near(got->bias, sums.difference / n, 1e-12 * got->rmse);
    check_near(got->sre, 10 * log10(sums.truth_squared / sums.squared), 1e-11);
    check_near(got->psnr, 20 * log10((sums.high - sums.low) / sqrt(sums.squared / n)), 1e-11);
    check_near(got->mean_psnr, psnr, 1e-11);
    check_near(got->ssim, ssim, 1e-12);
    check_near(got->sam, plain_sam(x, y), 1e-7);
    assert_int_equal(got->angles * x->bands, sums.pixels);
}

/* A truth and a noisy copy of it, rounded to float32 as files hold them. */
static Cube noisy(const Cube *from, uint64_t seed, double sigma) {
    Cube to = cube_new(from->lines, from->samples, from->bands);
    uint64_t random = seed;
    for (size_t i = 0; i < cube_pixels(from) * (size_t)from->bands; i++) {
        to.value[i] = (double)(float)(from->value[i] + sigma * random_normal(&random));
    }
    return to;
}

static Cube rounded(int32_t lines, int32_t samples, int32_t bands, uint64_t seed) {
    Cube cube = cube_smooth(lines, samples, bands, seed, false);
    for (size_t i = 0; i < cube_pixels(&cube) * (size_t)bands; i++) {
        cube.value[i] = (double)(float)cube.value[i];
    }
    return cube;
}

static void figures_of_a_plain_program(void **state) {
    (void)state;
    Cube truth = rounded(29, 33, 19, 1); /* more than one group of bands */
    Cube scene = noisy(&truth, 2, 25);
    cube_write(&truth, "truth", HC_FLOAT32, "bsq", NULL);
    cube_write(&scene, "scene", HC_FLOAT32, "bil", NULL);
    Opened opened = compared("scene.hdr", "truth.hdr", NULL);
    assert_int_equal(opened.figures.pixels, 29 * 33);
    assert_int_equal(opened.figures.left_out, 0);
    check_values(&scene, &truth, &opened.figures.values);
    close_all(&opened);
    cube_free(&truth);
    cube_free(&scene);
}

/* Pixels that lack a value in one raster are no part of any figure, nor is a window that holds one. */
static void masked_pixels_are_left_out(void **state) {
    (void)state;
    Cube truth = rounded(30, 41, 3, 3);
    Cube scene = noisy(&truth, 4, 40);
    scene.valid[7 * 41 + 20] = truth.valid[22 * 41 + 5] = truth.valid[22 * 41 + 33] = 0;
    cube_pixel(&scene, 7, 20)[1] = NAN;
    cube_pixel(&truth, 22, 5)[0] = -9999;
    cube_pixel(&truth, 22, 33)[2] = INFINITY;
    cube_write(&truth, "truth", HC_FLOAT32, "bip", "data ignore value = -9999\n");
    cube_write(&scene, "scene", HC_FLOAT32, "bsq", NULL);
    Opened opened = compared("scene.hdr", "truth.hdr", NULL);
    assert_int_equal(opened.figures.pixels, 30 * 41 - 3);
    assert_int_equal(opened.figures.left_out, 3);
    for (size_t p = 0; p < cube_pixels(&scene); p++) { /* the plain program needs numbers to pass over */
        for (size_t b = 0; b < 3 && !both(&scene, &truth, p); b++) {
            scene.value[p * 3 + b] = truth.value[p * 3 + b] = 0;
        }
    }
    check_values(&scene, &truth, &opened.figures.values);
    close_all(&opened);
    cube_free(&truth);
    cube_free(&scene);
}

static void check_same_figures(const HcComparison *a, const HcComparison *b) {
    check_same(a->values.rmse, b->values.rmse);
    check_same(a->values.sre, b->values.sre);
    check_same(a->values.ssim, b->values.ssim);
    check_same(a->values.sam, b->values.sam);
    for (int32_t k = 0; k < a->values.bands; k++) {
        check_same(a->values.band[k].bias, b->values.band[k].bias);
        check_same(a->values.band[k].ssim, b->values.band[k].ssim);
    }
}

static void bits_do_not_depend_on_blocks_or_threads(void **state) {
    (void)state;
    Cube truth = rounded(47, 23, 5, 5);
    Cube scene = noisy(&truth, 6, 10);
    cube_write(&truth, "truth", HC_FLOAT32, "bsq", NULL);
    cube_write(&scene, "scene", HC_FLOAT32, "bil", NULL);
    Opened whole = compared("scene.hdr", "truth.hdr", &(HcCompareSettings){.peak = NAN, .threads = 1});
    for (int32_t lines = 1; lines < 47; lines += 9) {
        Opened parts =
            compared("scene.hdr", "truth.hdr",
                     &(HcCompareSettings){.peak = NAN, .threads = 1 + lines % 3, .lines_of_test = lines});
        check_same_figures(&whole.figures, &parts.figures);
        close_all(&parts);
    }
    close_all(&whole);
    cube_free(&truth);
    cube_free(&scene);
}

/* ---- closed forms ---- */

static void equal_rasters(void **state) {
    (void)state;
    Cube truth = rounded(12, 13, 4, 7);
    HcError err = {0};
    HcJson json;
    HcText text = {0};
    cube_write(&truth, "truth", HC_FLOAT32, "bsq", NULL);
    Opened opened = compared("truth.hdr", "truth.hdr", NULL);
    const HcValueFigures *got = &opened.figures.values;
    check_same(got->rmse, 0);
    check_same(got->sre, INFINITY);
    check_same(got->psnr, INFINITY);
    check_same(got->mean_psnr, INFINITY);
    check_same(got->ssim, 1);
    check_same(got->sam, 0);
    /* JSON stays JSON, and says so. */
    hc_json_begin(&json);
    check_ok(hc_comparison_json(&opened.figures, &json, &err), err);
    char *printed = hc_json_format(&json, false);
    cJSON *parsed = cJSON_Parse(printed);
    assert_non_null(parsed);
    assert_string_equal(hc_json_text(parsed, "sre_db"), "inf");
    assert_string_equal(hc_json_text(parsed, "mean_psnr_db"), "inf");
    check_near(number_of(parsed, "rmse"), 0, 0);
    assert_string_equal(
        hc_json_text(cJSON_GetArrayItem(cJSON_GetObjectItem(parsed, "per_band"), 3), "sre_db"), "inf");
    hc_comparison_text(&opened.figures, true, &text);
    assert_non_null(strstr(text.data, "SRE          inf dB"));
    cJSON_Delete(parsed);
    cJSON_free(printed);
    hc_json_clear(&json);
    hc_text_clear(&text);
    close_all(&opened);
    cube_free(&truth);
}

/* truth = 100 everywhere, scene = 110: no range, so the peak is given. */
static void constant_offset(void **state) {
    (void)state;
    Cube truth = cube_new(15, 11, 2), scene = cube_new(15, 11, 2);
    for (size_t i = 0; i < cube_pixels(&truth) * 2; i++) {
        truth.value[i] = 100;
        scene.value[i] = 110;
    }
    cube_write(&truth, "truth", HC_UINT16, "bsq", NULL);
    cube_write(&scene, "scene", HC_FLOAT64, "bip", NULL);
    Opened opened = compared("scene.hdr", "truth.hdr", &(HcCompareSettings){.peak = 1000});
    const HcValueFigures *got = &opened.figures.values;
    check_near(got->rmse, 10, 1e-14);
    check_near(got->bias, 10, 1e-14);
    check_near(got->sre, 20, 1e-12);
    check_near(got->psnr, 40, 1e-12);
    check_near(got->ssim, (2 * 100. * 110 + 100) / (100. * 100 + 110. * 110 + 100), 1e-14);
    check_near(got->sam, 0, 1e-14);
    assert_int_equal(got->windows, 5);
    close_all(&opened);
    /* By its own range, which is 0: minus infinity, not a failure. */
    opened = compared("scene.hdr", "truth.hdr", NULL);
    check_same(opened.figures.values.psnr, -INFINITY);
    close_all(&opened);
    cube_free(&truth);
    cube_free(&scene);
}

/* Angles of 90, 45 and about 1e-6 degrees, and a spectrum of zeros, which has none. */
static void angles_of_known_spectra(void **state) {
    (void)state;
    static const double pairs[4][4] = {{1, 0, 0, 1}, {1, 1, 2, 0}, {1e6, 0, 1e6, 0.0625}, {0, 0, 1, 1}};
    Cube truth = cube_new(1, 4, 2), scene = cube_new(1, 4, 2);
    for (int32_t s = 0; s < 4; s++) {
        memcpy(cube_pixel(&scene, 0, s), pairs[s], 2 * sizeof(double));
        memcpy(cube_pixel(&truth, 0, s), pairs[s] + 2, 2 * sizeof(double));
    }
    cube_write(&truth, "truth", HC_FLOAT32, "bsq", NULL);
    cube_write(&scene, "scene", HC_FLOAT32, "bsq", NULL);
    Opened opened = compared("scene.hdr", "truth.hdr", NULL);
    const HcValueFigures *got = &opened.figures.values;
    assert_int_equal(got->angles, 3);
    check_near(got->sam, (90 + 45 + 6.25e-8 * 180 / M_PI) / 3, 1e-13);
    assert_int_equal(opened.figures.pixels, 4);
    assert_true(isnan(got->ssim)); /* no whole window */
    close_all(&opened);
    cube_free(&truth);
    cube_free(&scene);
}

/* ---- pairs of bands ---- */

static const char names_of_truth[] = "band names = {water, dirt, tree}\n";

/* Bands 0, 1, 2 of the truth are bands 2, 0, 3 of the scene. */
static void bands_in_another_order(void **state) {
    (void)state;
    static const int32_t place[3] = {2, 0, 3};
    Cube truth = rounded(14, 12, 3, 8);
    Cube scene = noisy(&truth, 9, 1), wide = cube_new(14, 12, 4);
    for (size_t p = 0; p < cube_pixels(&truth); p++) {
        for (size_t t = 0; t < 3; t++) {
            wide.value[p * 4 + (size_t)place[t]] = scene.value[p * 3 + t];
        }
        wide.value[p * 4 + 1] = 29999;
    }
    cube_write(&truth, "truth", HC_FLOAT32, "bsq", names_of_truth);
    cube_write(&scene, "scene", HC_FLOAT32, "bsq", NULL);
    cube_write(&wide, "wide", HC_FLOAT32, "bsq", "band names = { Dirt, shade,WATER , tree}\n");
    Opened expected = compared("scene.hdr", "truth.hdr", NULL);
    static const HcCompareMatch ways[] = {HC_MATCH_NAME, HC_MATCH_BEST};
    for (int i = 0; i < 2; i++) {
        HcCompareSettings how = {.peak = NAN, .match = ways[i], .lines_of_test = 3};
        Opened got = compared("wide.hdr", "truth.hdr", &how);
        check_same_figures(&expected.figures, &got.figures);
        for (int32_t t = 0; t < 3; t++) {
            assert_int_equal(got.figures.values.band[t].scene_band, place[t]);
            assert_int_equal(got.figures.values.band[t].truth_band, t);
        }
        assert_int_equal(got.figures.unmatched[0], 1);
        assert_int_equal(got.figures.unmatched[1], 0);
        close_all(&got);
    }
    close_all(&expected);
    /* And the other way round: the truth has a band too many. */
    Opened turned =
        compared("truth.hdr", "wide.hdr", &(HcCompareSettings){.peak = NAN, .match = HC_MATCH_BEST});
    assert_int_equal(turned.figures.values.bands, 3);
    assert_int_equal(turned.figures.unmatched[1], 1);
    for (int32_t k = 0; k < 3; k++) {
        const HcBandFigures *band = &turned.figures.values.band[k];
        assert_int_equal(band->truth_band, place[band->scene_band]);
    }
    close_all(&turned);
    refused(HC_E_INPUT, "has 3 bands, wide.img has 4", "wide.hdr", "truth.hdr", NULL);
    refused(HC_E_INPUT, "no band has the name", "scene.hdr", "truth.hdr",
            &(HcCompareSettings){.peak = NAN, .match = HC_MATCH_NAME});
    cube_write(&scene, "twice", HC_FLOAT32, "bsq", "band names = {water, water, tree}\n");
    refused(HC_E_INPUT, "twice.img: two bands are called \"water\"", "twice.hdr", "truth.hdr",
            &(HcCompareSettings){.peak = NAN, .match = HC_MATCH_NAME});
    cube_free(&truth);
    cube_free(&scene);
    cube_free(&wide);
}

/* The least sum of all ways to pair, by trying them all. */
static double least_sum(const double *cost, int32_t rows, int32_t columns, int32_t row, unsigned taken) {
    double least = INFINITY;
    if (row == rows) {
        return 0;
    }
    for (int32_t c = 0; c < columns; c++) {
        if ((taken >> c & 1) == 0) {
            least = fmin(least,
                         cost[row * columns + c] + least_sum(cost, rows, columns, row + 1, taken | 1U << c));
        }
    }
    return least;
}

static void the_least_sum_of_all_pairs(void **state) {
    (void)state;
    uint64_t random = 11;
    HcError err = {0};
    for (int trial = 0; trial < 200; trial++) {
        double cost[36], turned[36], sum = 0, turned_sum = 0;
        int32_t column[6], row[6];
        int32_t rows = 1 + trial % 6, columns = rows + (trial / 6) % (7 - rows);
        for (int32_t i = 0; i < rows * columns; i++) {
            cost[i] = floor(10 * fabs(random_normal(&random)));
            turned[(i % columns) * rows + i / columns] = cost[i];
        }
        check_ok(hc_match_least(cost, rows, columns, column, &err), err);
        check_ok(hc_match_least(turned, columns, rows, row, &err), err);
        unsigned taken = 0;
        for (int32_t r = 0; r < rows; r++) {
            assert_in_range(column[r], 0, columns - 1);
            assert_int_equal(taken >> column[r] & 1, 0);
            taken |= 1U << column[r];
            sum += cost[r * columns + column[r]];
        }
        for (int32_t c = 0; c < columns; c++) {
            turned_sum += row[c] >= 0 ? turned[c * rows + row[c]] : 0;
        }
        check_near(sum, least_sum(cost, rows, columns, 0, 0), 0);
        check_near(turned_sum, sum, 0);
    }
}

/* ---- class maps ---- */

static const char class_lines[] = "classes = 3\nclass names = {Unclassified, sea, land}\n"
                                  "class lookup = {0,0,0, 0,0,255, 0,255,0}\n";

static Cube map_of(const char *classes) {
    Cube cube = cube_new(2, (int32_t)strlen(classes) / 2, 1);
    for (size_t p = 0; p < cube_pixels(&cube); p++) {
        cube.value[p] = classes[p] - '0';
    }
    return cube;
}

/* Of ten pixels two have no class, one is not classified, one is wrong. */
static void agreement_of_class_maps(void **state) {
    (void)state;
    Cube truth = map_of("0011112220"), scene = map_of("1211210221");
    HcCompareSettings how = {.peak = NAN, .kind = HC_COMPARE_CLASSES, .picture = 16, .lines_of_test = 1};
    cube_write(&truth, "truth", HC_UINT8, "bsq", class_lines);
    cube_write(&scene, "scene", HC_UINT8, "bsq", NULL);
    Opened opened = compared("scene.hdr", "truth.hdr", &how);
    const HcAccuracy *got = &opened.figures.accuracy;
    assert_int_equal(opened.figures.kind, HC_COMPARE_CLASSES);
    assert_int_equal(opened.figures.left_out, 3);
    assert_int_equal(got->classes, 2);
    assert_int_equal(got->pixels, 7);
    assert_int_equal(got->correct, 5);
    assert_int_equal(got->predicted[0], 1);
    check_near(got->overall, 5. / 7, 1e-15);
    /* chance = 4 x 3 + 3 x 3 = 21 of 49 */
    check_near(got->kappa, (7. * 5 - 21) / (49 - 21), 1e-15);
    check_near(got->f1[1], 2. * 3 / (4 + 3), 1e-15);
    check_near(got->f1[2], 2. * 2 / (3 + 3), 1e-15);
    assert_string_equal(opened.figures.classes.name[2], "land");
    assert_int_equal(opened.figures.difference.valid[0], 0);
    check_near(opened.figures.difference.plane[2], 1, 0);
    check_near(opened.figures.difference.plane[4], 2, 0);
    close_all(&opened);
    /* What is no class is refused, with its place. */
    scene.value[7] = 2.5;
    cube_write(&scene, "scene", HC_FLOAT32, "bsq", NULL);
    refused(HC_E_INPUT, "scene.img: line 2, sample 3: 2.5 is no class", "scene.hdr", "truth.hdr", &how);
    cube_free(&truth);
    cube_free(&scene);
}

/* One rule: by names where both maps have some, else by numbers; 0 and "background" are no class. */
static void names_of_classes(void **state) {
    (void)state;
    Cube truth = map_of("0011112220"), scene = map_of("0022221110"), same = map_of("0011112220");
    HcCompareSettings how = {.peak = NAN};
    cube_write(&truth, "truth", HC_UINT8, "bsq", class_lines);
    static const struct {
        const char *scene, *truth, *matched_by;
        HcCompareMatch match;
        bool turned; /* the numbers of the map are exchanged */
        int64_t correct, left_out;
        int32_t unmatched[2];
    } cases[] = {
        {"Unclassified, land, sea", "Unclassified, sea, land", "name", HC_MATCH_AUTO, true, 7, 3, {0, 0}},
        {"Unclassified,  LAND , Sea", "Unclassified, sea, land", "name", HC_MATCH_NAME, true, 7, 3, {0, 0}},
        {"Unclassified, land, sea", "Unclassified, sea, land", "order", HC_MATCH_ORDER, true, 0, 3, {0, 0}},
        {"Unclassified, land, sea", "Unclassified, sea, land", "best", HC_MATCH_BEST, true, 7, 3, {0, 0}},
        {"Unclassified, cluster 1, cluster 2",
         "background, sea, land",
         "best",
         HC_MATCH_BEST,
         true,
         7,
         3,
         {0, 0}},
        {"Unclassified, Class 1, Class 2",
         "Unclassified, sea, land",
         "order",
         HC_MATCH_AUTO,
         false,
         7,
         3,
         {0, 0}},
        {"Unclassified, sea, Class 2", "Unclassified, sea, land", "name", HC_MATCH_AUTO, false, 7, 3, {0, 0}},
        {"Unclassified, sea, hill", "Unclassified, sea, land", "name", HC_MATCH_AUTO, false, 4, 3, {1, 1}},
        {"none, sea, land", "ice, sea, land", "name", HC_MATCH_AUTO, false, 7, 3, {0, 0}},
        {"Unclassified, sea, land",
         "Unclassified, sea, Background",
         "name",
         HC_MATCH_AUTO,
         false,
         4,
         6,
         {1, 0}},
        {"Unclassified, sea, unlabelled",
         "Unclassified, sea, land",
         "name",
         HC_MATCH_AUTO,
         false,
         4,
         3,
         {0, 1}},
        {"Unclassified, sea, sea", "Unclassified, sea, sea", "name", HC_MATCH_AUTO, true, 7, 3, {0, 0}},
    };
    for (int i = 0; (size_t)i < sizeof cases / sizeof *cases; i++) {
        char lines[2][96];
        snprintf(lines[0], sizeof lines[0], "classes = 3\nclass names = {%s}\n", cases[i].scene);
        snprintf(lines[1], sizeof lines[1], "classes = 3\nclass names = {%s}\n", cases[i].truth);
        cube_write(cases[i].turned ? &scene : &same, "scene", HC_UINT8, "bsq", lines[0]);
        cube_write(&truth, "truth", HC_UINT8, "bsq", lines[1]);
        how.match = cases[i].match;
        Opened opened = compared("scene.hdr", "truth.hdr", &how);
        assert_string_equal(opened.figures.matched_by, cases[i].matched_by);
        assert_int_equal(opened.figures.accuracy.correct, cases[i].correct);
        assert_int_equal(opened.figures.left_out, cases[i].left_out);
        assert_int_equal(opened.figures.unmatched[0], cases[i].unmatched[0]);
        assert_int_equal(opened.figures.unmatched[1], cases[i].unmatched[1]);
        close_all(&opened);
    }
    cube_write(&same, "scene", HC_UINT8, "bsq", "classes = 3\nclass names = {Unclassified, hill, river}\n");
    how.match = HC_MATCH_AUTO;
    refused(HC_E_INPUT, "scene.img: no class ... name ... truth.img", "scene.hdr", "truth.hdr", &how);
    cube_write(&same, "scene", HC_UINT8, "bsq", "classes = 2\nclass names = {Unclassified, Class 1}\n");
    how.match = HC_MATCH_NAME;
    refused(HC_E_INPUT, "scene.img: ... no names to pair by", "scene.hdr", "truth.hdr", &how);
    cube_free(&truth);
    cube_free(&scene);
    cube_free(&same);
}

/* ---- what is refused ---- */

/* ---- scores ---- */

enum { SCORE_LINES = 60, SCORE_SAMPLES = 50, SCORE_BANDS = 3 };

/* Scores in steps, so that many are equal, higher where the truth is the class of the band; some pixels have
 * none, and some no truth (9). */
static void write_scores(Cube *scene, Cube *truth) {
    uint32_t state = 7;
    *scene = cube_new(SCORE_LINES, SCORE_SAMPLES, SCORE_BANDS);
    *truth = cube_new(SCORE_LINES, SCORE_SAMPLES, 1);
    for (size_t p = 0; p < cube_pixels(truth); p++) {
        state = state * 1664525 + 1013904223;
        truth->value[p] = (state >> 16) % 5; /* 0 to 3, and 4, which no band is for */
        for (int b = 0; b < SCORE_BANDS; b++) {
            state = state * 1664525 + 1013904223;
            double steps = b == 0 ? 8 : 3000; /* many ties, and few */
            double noise = (double)(state >> 8) / (1 << 24);
            scene->value[p * SCORE_BANDS + (size_t)b] =
                floor((noise + (truth->value[p] == b + 1) * 0.3) * steps);
        }
        truth->value[p] = p % 17 == 3 ? 9 : truth->value[p];
        if (p % 23 == 5) {
            scene->value[p * SCORE_BANDS + p % SCORE_BANDS] = NAN;
        }
    }
    cube_write(scene, "scores", HC_FLOAT32, "bil", "hcube values = scores\n");
    cube_write(truth, "targets", HC_UINT8, "bsq",
               "data ignore value = 9\nfile type = ENVI Classification\nclasses = 5\n");
}

static bool counts(const Cube *scene, const Cube *truth, size_t p) {
    bool whole = truth->value[p] != 9;
    for (int b = 0; b < SCORE_BANDS; b++) {
        whole = whole && !isnan(scene->value[p * SCORE_BANDS + (size_t)b]);
    }
    return whole;
}

/* Each pixel of a target with each other pixel: 1 for a higher score, 1/2 for an equal one. And each score as
 * a threshold. */
static void check_roc(const Cube *scene, const Cube *truth, int32_t band, double sign, const HcRoc *roc) {
    double pairs = 0, wins = 0, detection[HC_ROC_RATES] = {0};
    int64_t targets = 0, others = 0;
    for (size_t p = 0; p < cube_pixels(truth); p++) {
        bool used = counts(scene, truth, p);
        targets += used && truth->value[p] == band + 1;
        others += used && truth->value[p] != band + 1;
    }
    for (size_t p = 0; p < cube_pixels(truth); p++) {
        double x = sign * scene->value[p * SCORE_BANDS + (size_t)band];
        int64_t hits = 0, alarms = 0;
        for (size_t q = 0; q < cube_pixels(truth) && counts(scene, truth, p); q++) {
            double y = sign * scene->value[q * SCORE_BANDS + (size_t)band];
            bool used = counts(scene, truth, q), target = truth->value[q] == band + 1;
            hits += used && target && y >= x;
            alarms += used && !target && y >= x;
            if (used && !target && truth->value[p] == band + 1) {
                pairs += 1;
                wins += x > y ? 1 : x == y ? 0.5 : 0;
            }
        }
        for (int r = 0; r < HC_ROC_RATES && hits + alarms > 0; r++) {
            if ((double)alarms <= hc_roc_rate[r] * (double)others) {
                detection[r] = fmax(detection[r], (double)hits / (double)targets);
            }
        }
    }
    assert_int_equal(roc->targets, targets);
    assert_int_equal(roc->background, others);
    check_near(roc->area, wins / pairs, 1e-12);
    for (int r = 0; r < HC_ROC_RATES; r++) {
        check_near(roc->detection[r], detection[r], 1e-15);
    }
    assert_true(roc->count > 2 && roc->count <= HC_ROC_POINTS);
    check_near(roc->curve[0][0] + roc->curve[1][0], 0, 0);
    check_near(roc->curve[0][roc->count - 1] + roc->curve[1][roc->count - 1], 2, 0);
}

static void scores_of_a_plain_program(void **state) {
    (void)state;
    Cube scene, truth;
    write_scores(&scene, &truth);
    for (int k = 0; k < 3; k++) {
        HcCompareSettings how = {.peak = NAN, .low = k == 2, .lines_of_test = k == 1 ? 7 : 0};
        Opened opened = compared("scores.hdr", "targets.hdr", &how);
        const HcScoreFigures *got = &opened.figures.scores;
        assert_int_equal(opened.figures.kind, HC_COMPARE_SCORES);
        assert_int_equal(got->bands, SCORE_BANDS);
        int64_t left_out = 0;
        for (size_t p = 0; p < cube_pixels(&truth); p++) {
            left_out += !counts(&scene, &truth, p);
        }
        assert_int_equal(opened.figures.left_out, left_out);
        assert_int_equal(opened.figures.pixels, SCORE_LINES * SCORE_SAMPLES - left_out);
        for (int32_t b = 0; b < SCORE_BANDS; b++) {
            check_roc(&scene, &truth, b, k == 2 ? -1 : 1, &got->band[b]);
        }
        close_all(&opened);
    }
    cube_free(&scene);
    cube_free(&truth);
}

/* All equal: the area is that of chance. All apart: 1, and the threshold is the least score of a target. */
static void scores_at_the_ends(void **state) {
    (void)state;
    Cube scene = map_of("0000000000"), truth = map_of("0011100110");
    cube_write(&truth, "targets", HC_UINT8, "bsq", "file type = ENVI Classification\nclasses = 2\n");
    cube_write(&scene, "scores", HC_FLOAT32, "bsq", NULL);
    Opened opened = compared("scores.hdr", "targets.hdr", NULL);
    check_near(opened.figures.scores.band[0].area, 0.5, 0);
    check_near(opened.figures.scores.band[0].detection[0], 0, 0);
    assert_true(isnan(opened.figures.scores.band[0].threshold[0]));
    close_all(&opened);
    for (size_t p = 0; p < cube_pixels(&scene); p++) {
        scene.value[p] = truth.value[p] * 3 + (double)p / 10;
    }
    cube_write(&scene, "scores", HC_FLOAT32, "bsq", NULL);
    opened = compared("scores.hdr", "targets.hdr", NULL);
    check_near(opened.figures.scores.band[0].area, 1, 1e-15);
    check_near(opened.figures.scores.band[0].detection[1], 1, 0);
    check_near(opened.figures.scores.band[0].threshold[1], 3.2, 1e-6);
    close_all(&opened);
    cube_free(&scene);
    cube_free(&truth);
}

static void what_cannot_be_compared(void **state) {
    (void)state;
    Cube truth = cube_new(6, 5, 2), other = cube_new(5, 6, 2);
    cube_write(&truth, "truth", HC_FLOAT32, "bsq", NULL);
    cube_write(&truth, "none", HC_FLOAT32, "bsq", "data ignore value = 0\n");
    cube_write(&other, "other", HC_FLOAT32, "bsq", NULL);
    refused(HC_E_INPUT, "truth.img: has 6 lines x 5 samples, other.img ... 5 x 6", "other.hdr", "truth.hdr",
            NULL);
    refused(HC_E_NUMERIC, "no pixel has values", "truth.hdr", "none.hdr", NULL);
    refused(HC_E_MEMORY, "the smallest blocks need 80", "truth.hdr", "truth.hdr",
            &(HcCompareSettings){.peak = NAN, .memory = 1e6});
    HcFlag flag = {0};
    hc_flag_set(&flag, 1);
    refused(HC_E_CANCELLED, "interrupted", "truth.hdr", "truth.hdr",
            &(HcCompareSettings){.peak = NAN, .cancel = &flag});
    cube_free(&truth);
    cube_free(&other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(figures_of_a_plain_program, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(masked_pixels_are_left_out, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(bits_do_not_depend_on_blocks_or_threads, folder_setup,
                                        folder_teardown),
        cmocka_unit_test_setup_teardown(equal_rasters, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(constant_offset, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(angles_of_known_spectra, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(bands_in_another_order, folder_setup, folder_teardown),
        cmocka_unit_test(the_least_sum_of_all_pairs),
        cmocka_unit_test_setup_teardown(agreement_of_class_maps, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(names_of_classes, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(scores_of_a_plain_program, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(scores_at_the_ends, folder_setup, folder_teardown),
        cmocka_unit_test_setup_teardown(what_cannot_be_compared, folder_setup, folder_teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
