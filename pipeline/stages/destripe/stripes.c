/* The search keeps medians of at most 32 segments, so that its memory does not grow with the lines. The
 * covariance without stripes comes from sums of columns that the search has kept: no pass is needed for it.
 * Terms have the mean 0 over all valid pixels, which leaves the means of bands as they were. */
#include "pipeline/stages/destripe/stripes.h"
#include "core/allocate.h"
#include "core/operation/image/project.h"
#include "pipeline/memory.h"
#include "pipeline/stages/destripe/column_model.h"
#include "pipeline/statistics/noise/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    SEGMENTS_MAX = 32, /* that are looked at */
    SEGMENT_MIN = 6,   /* lines */
    SEGMENT_MAX = 32,
    OBSERVED = 8, /* lines that are transformed at once */
    TEAM = 16
};

/* Sums of components are integers, so that their order does not matter. */
static const double sum_unit = 1 << 20;
static const double sum_limit = 1e11;

/* Stripes of a band have at least this part of the variance of its noise. */
static const double least_of_noise = 1e-4;

static const char what[] = "stripes";

HcStatus hc_stripes_check(const HcScene *scene, const char *who, HcError *err) {
    if (scene->lines < HC_STRIPES_LINES || scene->samples < HC_STRIPES_SAMPLES) {
        return hc_fail(
            err, HC_E_INPUT, "%s: the scene has %lld lines and %lld samples, at least %d and %d are needed",
            who, (long long)scene->lines, (long long)scene->samples, HC_STRIPES_LINES, HC_STRIPES_SAMPLES);
    }
    return HC_OK;
}

int32_t hc_stripes_segment(const HcScene *scene) {
    int64_t lines = scene->lines / SEGMENTS_MAX;
    return (int32_t)hc_min64(SEGMENT_MAX, hc_max64(SEGMENT_MIN, lines));
}

/* Whole segments of the scene. */
static int64_t whole_segments(const HcScene *scene) {
    return scene->lines / hc_stripes_segment(scene);
}

static int64_t every_of(const HcScene *scene) {
    return (whole_segments(scene) + SEGMENTS_MAX - 1) / SEGMENTS_MAX;
}

/* Of lines, the halves of the scene are those of its columns. */
static int64_t segments_of(const HcScene *scene, bool of_lines) {
    return of_lines ? 2 : (whole_segments(scene) + every_of(scene) - 1) / every_of(scene);
}

static size_t strip_bytes(int64_t samples, size_t bands) {
    return (size_t)OBSERVED * (size_t)samples * (bands * sizeof(float) + 1);
}

size_t hc_stripes_bytes_device(const HcScene *scene) {
    size_t bands = (size_t)scene->bands;
    return strip_bytes(scene->samples, bands) + (2 * bands + 1) * bands * sizeof(double);
}

size_t hc_stripes_bytes(const HcScene *scene, bool of_lines) {
    size_t bands = (size_t)scene->bands;
    size_t items = (size_t)(of_lines ? scene->lines : scene->samples);
    size_t lines = of_lines ? 2 : (size_t)hc_stripes_segment(scene);
    return strip_bytes(scene->samples, bands) + lines * (size_t)scene->samples * bands * sizeof(float) +
           2 * (size_t)segments_of(scene, of_lines) * items * bands * sizeof(float) +
           items * bands * (sizeof(int64_t) + (3 + HC_COLUMN_MODEL_VALUES) * sizeof(double)) +
           (of_lines ? TEAM * (size_t)scene->samples * sizeof(float) : 0) +
           10 * bands * bands * sizeof(double);
}

HcDifference hc_stripes_difference(bool of_lines) {
    return of_lines ? HC_DIFFERENCE_SHIFT : (HcDifference)HC_STENCIL_LOWER;
}

/* What only the search needs. */
static void free_search(HcStripes *stripes) {
    hc_linear_release(stripes->compute, &stripes->device);
    hc_memory_release(stripes->compute, &stripes->strip);
    hc_memory_release(stripes->compute, &stripes->fetched);
    hc_team_close(stripes->team);
    free(stripes->lines_of);
    free(stripes->level);
    free(stripes->step);
    free(stripes->room);
    stripes->team = NULL;
    stripes->room = stripes->lines_of = stripes->level = stripes->step = NULL;
}

/* And what the correction needs. */
static void free_sums(HcStripes *stripes) {
    free(stripes->sum);
    free(stripes->count);
    free(stripes->component);
    stripes->sum = stripes->count = NULL;
    stripes->component = NULL;
}

static void free_terms(HcStripes *stripes) {
    free(stripes->term);
    free(stripes->mean);
    stripes->term = stripes->mean = NULL;
}

void hc_stripes_close(HcStripes *stripes) {
    free_search(stripes);
    free_sums(stripes);
    free_terms(stripes);
    hc_transform_clear(&stripes->basis);
    *stripes = (HcStripes){0};
}

/* Components of the differences along the stripes, in units of their noise. */
static HcStatus make_basis(HcStripes *stripes, const HcScene *scene, const double *mean,
                           const HcMoments *along, HcError *err) {
    HcStatus status = HC_OK;
    HcStatistics differences = {0};
    HcStatistics noise = {0};
    HcError refused = {0};
    status = hc_noise_spatial_spectral_of(&noise, scene, along, HC_NOISE_DIAGONAL, &refused);
    if (status != HC_OK) {
        HC_TRY(hc_fail(err, status, "%s: %s",
                       stripes->of_lines ? "differences of columns" : "--stripes: differences of lines",
                       refused.text));
    }
    HC_TRY(hc_statistics_make(&differences, stripes->compute, scene, along,
                              hc_stripes_difference(stripes->of_lines), "", err));
    HC_TRY(hc_scene_copy(&stripes->basis.scene, scene, err));
    stripes->basis.pixels = differences.pixels;
    HC_TRY(hc_transform_fit_mnf(&stripes->basis, stripes->compute, mean, differences.covariance,
                                noise.covariance, err));
done:
    hc_statistics_clear(&differences);
    hc_statistics_clear(&noise);
    return status;
}

static HcStatus open_search(HcStripes *stripes, const HcScene *scene, HcError *err) {
    HcComputeInfo info;
    HcCompute *compute = stripes->compute;
    hc_compute_info(compute, &info);
    stripes->lines = scene->lines;
    stripes->samples = scene->samples;
    stripes->items = stripes->of_lines ? scene->lines : scene->samples;
    stripes->segment = stripes->of_lines ? 2 : hc_stripes_segment(scene);
    stripes->every = every_of(scene);
    stripes->segments = (int32_t)segments_of(scene, stripes->of_lines);
    stripes->next = -1;
    size_t line = (size_t)scene->samples * (size_t)stripes->basis.components;
    size_t values = (size_t)stripes->items * (size_t)stripes->basis.components;
    size_t bytes = strip_bytes(scene->samples, (size_t)stripes->basis.components);
    stripes->team = hc_team_open(hc_team_count(info.threads, TEAM));
    HC_OR_RETURN(
        hc_linear_upload(compute, &stripes->basis, stripes->basis.components, &stripes->device, err));
    HC_OR_RETURN(hc_memory_zeros(compute, bytes, &stripes->strip, err));
    HC_OR_RETURN(hc_alloc(compute, HC_MEMORY_HOST, bytes, &stripes->fetched, err));
    HC_OR_RETURN(hc_new(stripes->lines_of, (size_t)stripes->segment * line, what, err));
    HC_OR_RETURN(hc_new(stripes->level, (size_t)stripes->segments * values, what, err));
    HC_OR_RETURN(hc_new(stripes->step, (size_t)stripes->segments * values, what, err));
    HC_OR_RETURN(hc_new(stripes->sum, values, what, err));
    if (stripes->of_lines) {
        size_t threads = (size_t)hc_team_threads(stripes->team);
        HC_OR_RETURN(hc_new(stripes->room, threads * (size_t)scene->samples, what, err));
    }
    return hc_new(stripes->count, stripes->items, what, err);
}

HcStatus hc_stripes_open(HcStripes *stripes, HcCompute *compute, const HcScene *scene, const double *mean,
                         const HcMoments *along, HcError *err) {
    stripes->compute = compute;
    HC_OR_RETURN(make_basis(stripes, scene, mean, along, err));
    return open_search(stripes, scene, err);
}

/* The covariance of the differences, from their components; and the variance of the terms of each band, at
 * least a small part of its noise. */
static void units_of_stripes(const HcStripes *stripes, double *covariance, double *strength) {
    size_t n = (size_t)stripes->basis.components, bands = (size_t)stripes->basis.bands;
    for (size_t k = 0; k < n; k++) {
        const double *row = stripes->basis.inverse + k * bands;
        for (size_t a = 0; a < bands; a++) {
            strength[a * bands + a] += least_of_noise * row[a] * row[a];
            for (size_t b = 0; b < bands; b++) {
                covariance[a * bands + b] += stripes->basis.eigenvalues[k] * row[a] * row[b];
            }
        }
    }
    for (size_t a = 0; a < bands; a++) {
        double term = hc_stripes_of_band(stripes, (int32_t)a);
        strength[a * bands + a] += term * term;
    }
}

/* Stripes differ in strength from band to band as noise does not: those of gains follow the brightness. In
 * units of their own strength they are alike in all components, and independent. */
static HcStatus change_basis(HcStripes *stripes, const HcScene *scene, HcError *err) {
    HcStatus status = HC_OK;
    HcTransform basis = {.pixels = stripes->basis.pixels};
    size_t square = (size_t)stripes->basis.bands * (size_t)stripes->basis.bands;
    double *covariance = NULL, *strength = NULL;
    HC_TRY(hc_new(covariance, square, what, err));
    HC_TRY(hc_new(strength, square, what, err));
    units_of_stripes(stripes, covariance, strength);
    HC_TRY(hc_scene_copy(&basis.scene, scene, err));
    HC_TRY(hc_transform_fit_mnf(&basis, stripes->compute, stripes->basis.mean, covariance, strength, err));
    hc_transform_clear(&stripes->basis);
    stripes->basis = basis;
    basis = (HcTransform){0};
done:
    hc_transform_clear(&basis);
    free(covariance);
    free(strength);
    return status;
}

HcStatus hc_stripes_again(HcStripes *stripes, const HcScene *scene, HcError *err) {
    HC_OR_RETURN(change_basis(stripes, scene, err));
    free_sums(stripes);
    free_terms(stripes);
    stripes->found = false;
    stripes->in_own_units = true;
    return open_search(stripes, scene, err);
}

/* ---- the search: medians of segments ---- */

/* Median of the values that are numbers; sorts them. NaN = none. */
static float median_of(float *value, int32_t count) {
    int32_t n = 0;
    for (int32_t i = 0; i < count; i++) {
        float x = value[i];
        int32_t k = n;
        for (; k > 0 && !isnan(x) && value[k - 1] > x; k--) {
            value[k] = value[k - 1];
        }
        value[k] = isnan(x) ? value[k] : x;
        n += !isnan(x);
    }
    return n == 0 ? NAN : n % 2 == 1 ? value[n / 2] : 0.5F * (value[n / 2 - 1] + value[n / 2]);
}

typedef struct Segment {
    const HcStripes *stripes;
    float *level, *step; /* of the segment */
} Segment;

static void find_medians(void *user, int64_t sample, int32_t thread) {
    (void)thread;
    const Segment *segment = user;
    const HcStripes *stripes = segment->stripes;
    size_t n = (size_t)stripes->basis.components;
    size_t line = (size_t)stripes->samples * n;
    bool last = sample + 1 == stripes->samples;
    for (size_t k = 0; k < n; k++) {
        const float *value = stripes->lines_of + (size_t)sample * n + k;
        float levels[SEGMENT_MAX];
        float steps[SEGMENT_MAX];
        for (int32_t i = 0; i < stripes->segment; i++, value += line) {
            levels[i] = value[0];
            steps[i] = last ? NAN : value[n] - value[0];
        }
        segment->level[(size_t)sample * n + k] = median_of(levels, stripes->segment);
        segment->step[(size_t)sample * n + k] = median_of(steps, stripes->segment);
    }
}

/* Keeps a line of components, and adds it to the sums of its columns, or to its own. */
static void keep_line(HcStripes *stripes, int64_t line, const float *value, const uint8_t *mask) {
    size_t n = (size_t)stripes->basis.components;
    float *kept = stripes->lines_of + (size_t)(line % stripes->segment) * (size_t)stripes->samples * n;
    for (size_t s = 0; s < (size_t)stripes->samples; s++) {
        bool valid = mask[s] != 0;
        size_t item = stripes->of_lines ? (size_t)line : s;
        stripes->count[item] += valid;
        for (size_t k = 0; k < n; k++) {
            float now = value[s * n + k];
            kept[s * n + k] = valid ? now : NAN;
            double scaled = fmax(-sum_limit, fmin((double)now, sum_limit)) * sum_unit;
            stripes->sum[item * n + k] += valid ? llround(scaled) : 0;
        }
    }
}

static void take_line(HcStripes *stripes, int64_t line, const float *value, const uint8_t *mask) {
    size_t n = (size_t)stripes->basis.components;
    int64_t number = line / stripes->segment;
    bool wanted = number % stripes->every == 0 && number / stripes->every < stripes->segments;
    keep_line(stripes, line, value, mask);
    if (wanted && line % stripes->segment + 1 == stripes->segment) {
        size_t at = (size_t)(number / stripes->every) * (size_t)stripes->samples * n;
        Segment segment = {stripes, stripes->level + at, stripes->step + at};
        hc_team_run(stripes->team, stripes->samples, find_medians, &segment);
    }
}

/* ---- of lines ---- */

/* The value of that rank among `count`; reorders them (Hoare 1961). */
static float ranked(float *value, int64_t count, int64_t rank) {
    int64_t low = 0, high = count - 1;
    while (low < high) {
        float pivot = value[low + (high - low) / 2];
        int64_t i = low - 1, j = high + 1;
        for (;;) {
            do {
                i++;
            } while (value[i] < pivot);
            do {
                j--;
            } while (value[j] > pivot);
            if (i >= j) {
                break;
            }
            float kept = value[i];
            value[i] = value[j];
            value[j] = kept;
        }
        low = rank > j ? j + 1 : low;
        high = rank > j ? high : j;
    }
    return value[rank];
}

/* Median of one component in half of the columns: of `line`, less `before` where there is one. */
static float median_of_half(const HcStripes *stripes, const float *line, const float *before, int32_t half,
                            float *room) {
    size_t n = (size_t)stripes->basis.components;
    int64_t middle = stripes->samples / 2, count = 0;
    for (int64_t s = half == 0 ? 0 : middle; s < (half == 0 ? middle : stripes->samples); s++) {
        float value = line[(size_t)s * n] - (before != NULL ? before[(size_t)s * n] : 0);
        room[count] = value;
        count += !isnan(value);
    }
    return count > 0 ? ranked(room, count, count / 2) : NAN;
}

typedef struct Line {
    const HcStripes *stripes;
    int64_t line;
    bool levels, steps; /* what is looked for: of the line, and from the one before to it */
} Line;

static void find_line_medians(void *user, int64_t item, int32_t thread) {
    const Line *now = user;
    const HcStripes *stripes = now->stripes;
    size_t n = (size_t)stripes->basis.components, values = (size_t)stripes->lines * n;
    float *room = stripes->room + (size_t)thread * (size_t)stripes->samples;
    const float *line = stripes->lines_of + (size_t)(now->line % 2) * (size_t)stripes->samples * n + item;
    const float *before =
        stripes->lines_of + (size_t)((now->line + 1) % 2) * (size_t)stripes->samples * n + item;
    for (int32_t half = 0; half < 2; half++) {
        size_t at = (size_t)half * values + (size_t)now->line * n + (size_t)item;
        if (now->levels) {
            stripes->level[at] = median_of_half(stripes, line, NULL, half, room);
        }
        if (now->steps) {
            stripes->step[at - n] = median_of_half(stripes, line, before, half, room);
        }
    }
}

/* A line of context, above the first line of a rank, has levels and sums of another rank. */
static void take_own_line(HcStripes *stripes, int64_t line, bool context, const float *value,
                          const uint8_t *mask) {
    size_t n = (size_t)stripes->basis.components;
    int64_t count = stripes->count[line];
    keep_line(stripes, line, value, mask);
    if (context) {
        stripes->count[line] = count;
        memset(stripes->sum + (size_t)line * n, 0, n * sizeof *stripes->sum);
    }
    Line now = {stripes, line, !context, stripes->next == line};
    hc_team_run(stripes->team, (int64_t)n, find_line_medians, &now);
    stripes->next = line + 1;
}

HcStatus hc_stripes_observe(HcStripes *stripes, HcQueue *queue, const HcBlock *in, HcError *err) {
    size_t n = (size_t)stripes->basis.components;
    int64_t end = in->line0 + in->lines;
    int64_t begin =
        stripes->of_lines && stripes->next != in->line0 && in->above > 0 ? in->line0 - 1 : in->line0;
    for (int64_t first = begin; first < end; first += OBSERVED) {
        int64_t lines = hc_min64(OBSERVED, end - first);
        HcBlock part = hc_block_part(in, first, first + lines, 0);
        HcBlock strip = part;
        strip.bands = (int32_t)n;
        strip.data = stripes->strip.data;
        size_t bytes = hc_block_values(&strip) * sizeof(float);
        strip.mask = (uint8_t *)stripes->strip.data + bytes;
        const float *value = stripes->fetched.data;
        const uint8_t *mask = (const uint8_t *)stripes->fetched.data + bytes;
        HC_OR_RETURN(hc_project(queue, &part, stripes->device.forward.data, stripes->device.mean.data, NULL,
                                &strip, err));
        HC_OR_RETURN(hc_download(queue, strip.data, stripes->fetched.data, bytes, err));
        HC_OR_RETURN(hc_download(queue, strip.mask, (uint8_t *)stripes->fetched.data + bytes,
                                 hc_block_pixels(&strip), err));
        HC_OR_RETURN(hc_wait(queue, err));
        for (int64_t i = 0; i < lines; i++) {
            const float *from = value + (size_t)(i * stripes->samples) * n;
            const uint8_t *valid = mask + i * stripes->samples;
            if (stripes->of_lines) {
                take_own_line(stripes, first + i, first + i < in->line0, from, valid);
            } else {
                take_line(stripes, first + i, from, valid);
            }
        }
    }
    return HC_OK;
}

/* ---- the terms ---- */

/* Median over the segments first .. end - 1 of the medians of a column. */
static double median_of_segments(const HcStripes *stripes, const float *medians, int32_t first, int32_t end,
                                 size_t at) {
    float value[SEGMENTS_MAX];
    size_t size = (size_t)stripes->items * (size_t)stripes->basis.components;
    for (int32_t k = first; k < end; k++) {
        value[k - first] = medians[(size_t)k * size + at];
    }
    return (double)median_of(value, end - first);
}

/* The halves of the scene: of the columns of each component. */
static void fill_model(const HcStripes *stripes, HcColumnModel *model) {
    size_t n = (size_t)stripes->basis.components;
    int32_t half = stripes->segments / 2;
    for (size_t k = 0; k < n; k++) {
        for (size_t s = 0; s < (size_t)stripes->items; s++) {
            size_t to = k * (size_t)stripes->items + s;
            size_t at = s * n + k;
            model->step[0][to] = median_of_segments(stripes, stripes->step, 0, half, at);
            model->step[1][to] = median_of_segments(stripes, stripes->step, half, stripes->segments, at);
            model->level[0][to] = median_of_segments(stripes, stripes->level, 0, half, at);
            model->level[1][to] = median_of_segments(stripes, stripes->level, half, stripes->segments, at);
        }
    }
}

/* Components without texture: their eigenvalue is that of noise alone, of differences whose noise comes from
 * the same differences (Marchenko and Pastur 1967). They share a pixel, which counts for a half more. */
static int32_t first_flat(const HcTransform *basis) {
    double edge = 1 + sqrt(1.5 * (double)basis->components / (double)hc_max64(basis->pixels, 1));
    int32_t k = 0;
    while (k < basis->components && basis->eigenvalues[k] > edge * edge) {
        k++;
    }
    return k;
}

/* Terms of components become those of bands. All valid pixels of a component have the mean 0. */
static HcStatus make_terms(HcStripes *stripes, const HcColumnModel *model, HcError *err) {
    size_t n = (size_t)stripes->basis.components;
    size_t columns = (size_t)stripes->items;
    size_t bands = (size_t)stripes->basis.bands;
    HC_OR_RETURN(hc_new(stripes->component, columns * n, what, err));
    HC_OR_RETURN(hc_new(stripes->term, columns * bands, what, err));
    for (size_t k = 0; k < n; k++) {
        double sum = 0;
        double count = 0;
        for (size_t s = 0; s < columns; s++) {
            sum += (double)stripes->count[s] * model->term[k * columns + s];
            count += (double)stripes->count[s];
        }
        for (size_t s = 0; s < columns; s++) {
            stripes->component[s * n + k] = model->term[k * columns + s] - (count > 0 ? sum / count : 0);
        }
    }
    for (size_t s = 0; s < columns; s++) {
        for (size_t k = 0; k < n; k++) {
            for (size_t b = 0; b < bands; b++) {
                stripes->term[s * bands + b] +=
                    stripes->component[s * n + k] * stripes->basis.inverse[k * bands + b];
            }
        }
    }
    return HC_OK;
}

/* Means of columns, from the sums of their components. */
static HcStatus make_means(HcStripes *stripes, HcError *err) {
    size_t n = (size_t)stripes->basis.components, bands = (size_t)stripes->basis.bands;
    HC_OR_RETURN(hc_new(stripes->mean, (size_t)stripes->items * bands, what, err));
    for (size_t s = 0; s < (size_t)stripes->items; s++) {
        double *mean = stripes->mean + s * bands, count = (double)stripes->count[s];
        for (size_t b = 0; b < bands; b++) {
            mean[b] = count > 0 ? stripes->basis.mean[b] : NAN;
        }
        for (size_t k = 0; k < n && count > 0; k++) {
            double value = (double)stripes->sum[s * n + k] / sum_unit / count;
            for (size_t b = 0; b < bands; b++) {
                mean[b] += value * stripes->basis.inverse[k * bands + b];
            }
        }
    }
    return HC_OK;
}

HcStatus hc_stripes_settle(HcStripes *stripes, HcRanks *ranks, HcError *err) {
    HcStatus status = HC_OK;
    HcColumnModel model = {0};
    size_t n = (size_t)stripes->basis.components;
    size_t values = (size_t)stripes->items * n;
    size_t bytes = (size_t)stripes->segments * values * sizeof(float);
    HC_TRY(hc_ranks_join(ranks, stripes->level, bytes, err));
    HC_TRY(hc_ranks_join(ranks, stripes->step, bytes, err));
    HC_TRY(hc_ranks_sum(ranks, stripes->sum, values, err));
    HC_TRY(hc_ranks_sum(ranks, stripes->count, (size_t)stripes->items, err));
    HC_TRY(hc_column_model_open(&model, (int32_t)n, stripes->items,
                                stripes->in_own_units ? 0 : first_flat(&stripes->basis), stripes->team, err));
    fill_model(stripes, &model);
    stripes->found = hc_column_model_fit(&model, stripes->team);
    if (stripes->found) {
        HC_TRY(make_terms(stripes, &model, err));
    }
    if (stripes->keeps_means) {
        HC_TRY(make_means(stripes, err));
    }
done:
    hc_column_model_close(&model);
    free_search(stripes);
    return status;
}

/* Sum over all valid pixels of x x' - (x - term)(x - term)', in components: sums[n][n]. */
static void add_products(const HcStripes *stripes, double *sums) {
    size_t n = (size_t)stripes->basis.components;
    for (size_t s = 0; s < (size_t)stripes->items; s++) {
        const double *term = stripes->component + s * n;
        const int64_t *sum = stripes->sum + s * n;
        double count = (double)stripes->count[s];
        for (size_t k = 0; k < n; k++) {
            double value = (double)sum[k] / sum_unit - count * term[k];
            for (size_t l = 0; l < n; l++) {
                sums[k * n + l] += value * term[l] + (double)sum[l] / sum_unit * term[k];
            }
        }
    }
}

HcStatus hc_stripes_correct(HcStripes *stripes, HcStatistics *scene, HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)stripes->basis.components;
    size_t bands = (size_t)stripes->basis.bands;
    const double *inverse = stripes->basis.inverse;
    double *sums = NULL, *half = NULL;
    if (!stripes->found) {
        free_sums(stripes);
        return HC_OK;
    }
    HC_TRY(hc_new(sums, n * n, what, err));
    HC_TRY(hc_new(half, n * bands, what, err));
    add_products(stripes, sums);
    for (size_t k = 0; k < n; k++) {
        for (size_t l = 0; l < n; l++) {
            for (size_t b = 0; b < bands; b++) {
                half[k * bands + b] += sums[k * n + l] * inverse[l * bands + b];
            }
        }
    }
    double pixels = (double)scene->pixels - 1;
    for (size_t k = 0; k < n; k++) {
        for (size_t a = 0; a < bands; a++) {
            for (size_t b = 0; b < bands; b++) {
                scene->covariance[a * bands + b] -= inverse[k * bands + a] * half[k * bands + b] / pixels;
            }
        }
    }
    for (size_t a = 0; a < bands; a++) {
        for (size_t b = 0; b < a; b++) { /* symmetric but for rounding */
            double both = 0.5 * (scene->covariance[a * bands + b] + scene->covariance[b * bands + a]);
            scene->covariance[a * bands + b] = scene->covariance[b * bands + a] = both;
        }
    }
done:
    free(sums);
    free(half);
    free_sums(stripes);
    return status;
}

double hc_stripes_of_band(const HcStripes *stripes, int32_t band) {
    double sum = 0;
    for (int64_t s = 0; s < stripes->items && stripes->found; s++) {
        double term = stripes->term[s * stripes->basis.bands + band];
        sum += term * term;
    }
    return sqrt(sum / (double)stripes->items);
}
