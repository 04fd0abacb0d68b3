/* Threads make the mean and covariance of a group each, and rows of the total are added in the order of the
 * groups: the bits do not depend on the number of threads. Where levels differ much, the regression is made
 * once more, on the scaled scene. */
#include "pipeline/stages/denoise/levels.h"
#include "core/allocate.h"
#include "core/operation/gram/column_gram.h"
#include "pipeline/statistics/median.h"
#include "core/compare.h"
#include "pipeline/statistics/noise/noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less is not worth scaling: groups of patches lose a little by it, and texture makes up to 0.1 of itself
 * (docs/stages/denoise.md). */
static const double least_difference = 0.2;

/* A column has at least this part of the median level: a dead one has no noise. */
static const double least_level = 0.125;

/* Of a group that has a level of its own. Noisy columns make the regression of the scene shy: it leaves
 * signal in calm ones. That of the scaled scene does not. */
enum { PIXELS_MIN = 8, ROUNDS = 3 };

static const char what[] = "levels of columns";

void hc_levels_plan(HcLevels *levels, HcStage *stage, int64_t width, bool sums) {
    size_t bands = (size_t)stage->in.bands;
    int32_t samples = (int32_t)stage->in.samples;
    levels->noise.width = (int32_t)hc_min64(width, samples);
    size_t groups = (size_t)hc_column_groups(samples, levels->noise.width);
    hc_stage_takes(stage, HC_SPACE_HOST,
                   (groups * (bands + 4) + 2 * (size_t)samples + 4 * bands * bands) * sizeof(double));
    hc_stage_takes(stage, HC_SPACE_WORKER, hc_noise_columns_room(stage->in.bands) * sizeof(double));
    if (sums) {
        stage->needs.selects = true; /* sums of columns need blocks */
        hc_column_sums_plan(stage, levels->noise.width);
    } else {
        hc_stage_takes(stage, HC_SPACE_HOST, groups * hc_column_values(stage->in.bands) * sizeof(int64_t));
    }
}

void hc_levels_close(HcLevels *levels) {
    hc_noise_columns_close(&levels->noise);
    free(levels->level);
    free(levels->inverse);
    *levels = (HcLevels){0};
}

/* ---- levels ---- */

/* Whether a group has a level of its own. */
static bool is_known(const HcNoiseColumns *noise, int64_t group) {
    return noise->pixels[group] >= PIXELS_MIN && noise->relative[group] > 0;
}

/* level[groups], of which the median is 1. */
static HcStatus take_levels(const HcNoiseColumns *noise, double *level, HcError *err) {
    double *sorted = NULL;
    size_t count = 0;
    HC_OR_RETURN(hc_new(sorted, (size_t)noise->groups, what, err));
    for (int64_t g = 0; g < noise->groups; g++) {
        if (is_known(noise, g)) {
            sorted[count++] = noise->relative[g];
        }
    }
    qsort(sorted, count, sizeof *sorted, hc_compare_doubles);
    double median = count > 0 ? sorted[count / 2] : 1;
    for (int64_t g = 0; g < noise->groups; g++) {
        level[g] = is_known(noise, g) ? fmax(noise->relative[g] / median, least_level) : 1;
    }
    free(sorted);
    return HC_OK;
}

/* Scales them to the mean square 1, and sees by how much they differ: what a few noisy columns add to the
 * noise counts, and what calm ones lack hardly does. */
static void weigh_levels(HcLevels *levels, double *level) {
    const HcNoiseColumns *noise = &levels->noise;
    double pixels = 0;
    double second = 0;
    double fourth = 0;
    for (int64_t g = 0; g < noise->groups; g++) {
        double square = level[g] * level[g];
        pixels += (double)noise->pixels[g];
        second += (double)noise->pixels[g] * square;
        fourth += (double)noise->pixels[g] * square * square;
    }
    double mean = second / pixels;
    levels->differ = 0.5 * sqrt(fmax(fourth / pixels / (mean * mean) - 1, 0));
    levels->least = INFINITY;
    levels->most = 0;
    for (int64_t g = 0; g < noise->groups; g++) {
        level[g] /= sqrt(mean);
        levels->least = fmin(level[g], levels->least);
        levels->most = fmax(level[g], levels->most);
    }
}

/* What texture, and chance, make of even noise: the median over the bands of deviations. */
static double limit_of(const HcLevels *levels) {
    const HcNoiseColumns *noise = &levels->noise;
    double pixels = 0;
    for (int64_t g = 0; g < noise->groups; g++) {
        pixels += (double)noise->pixels[g];
    }
    double chance = 0.5 * sqrt(acos(-1) * (double)noise->groups / (pixels * noise->bands));
    return fmax(least_difference, 3 * chance);
}

/* By the regression of `scene`, scaled or not. */
static HcStatus find_levels(HcLevels *levels, double *level, const HcStatistics *scene, HcError *err) {
    HcStatus status = HC_OK;
    HcStatistics regression = {0};
    HcError refused = {0};
    status = hc_noise_regression(&regression, scene, HC_NOISE_FULL, &refused);
    if (status != HC_OK) {
        HC_TRY(hc_fail(err, status, "--columns: %s", refused.text));
    }
    HC_TRY(hc_noise_columns_find(&levels->noise, &regression, err));
    HC_TRY(take_levels(&levels->noise, level, err));
    weigh_levels(levels, level);
done:
    hc_statistics_clear(&regression);
    return status;
}

/* ---- the scaled scene ---- */

/* What threads share. */
typedef struct Scaling {
    const HcColumnSums *sums;
    const double *level;   /* [groups] */
    const double *stripes; /* [samples][bands] or NULL */
    size_t bands;
    int64_t first;      /* group of the first room */
    double *room;       /* [threads][bands + bands^2]: mean and covariance of a group */
    int64_t *pixels;    /* [threads] */
    const double *mean; /* [bands] of all */
    double *total;      /* [bands][bands] */
    int32_t rooms;      /* in use */
} Scaling;

static void take_group(void *user, int64_t item, int32_t thread) {
    const Scaling *scaling = user;
    size_t n = scaling->bands;
    int64_t group = scaling->first + item;
    double *mean = scaling->room + (size_t)item * (n + n * n);
    (void)thread;
    scaling->pixels[item] = hc_column_sums_statistics(scaling->sums, group, mean, mean + n);
    for (size_t b = 0; b < n && scaling->stripes != NULL; b++) {
        mean[b] -= scaling->stripes[(size_t)group * n + b];
    }
}

/* Groups are added in their order, whoever took them. */
static void add_row(void *user, int64_t item, int32_t thread) {
    const Scaling *scaling = user;
    size_t n = scaling->bands;
    size_t row = (size_t)item;
    (void)thread;
    for (int32_t k = 0; k < scaling->rooms; k++) {
        const double *mean = scaling->room + (size_t)k * (n + n * n);
        const double *covariance = mean + n + row * n;
        double pixels = (double)scaling->pixels[k];
        double level = scaling->level[scaling->first + k];
        double own = mean[row] - scaling->mean[row];
        for (size_t b = 0; b < n && pixels > 0; b++) {
            double sum = pixels > 1 ? (pixels - 1) * covariance[b] : 0;
            sum += pixels * own * (mean[b] - scaling->mean[b]);
            scaling->total[row * n + b] += sum * (1 / (level * level) - 1);
        }
    }
}

/* Adds the means of the rooms in use to mean[bands], by what the weights of their pixels change, and that to
 * the weights: group after group, so that the number of rooms changes no bit. */
static void add_means(const Scaling *scaling, double *mean, double *weights) {
    size_t n = scaling->bands;
    for (int32_t k = 0; k < scaling->rooms; k++) {
        const double *own = scaling->room + (size_t)k * (n + n * n);
        double weight = (double)scaling->pixels[k] * (1 / scaling->level[scaling->first + k] - 1);
        *weights += weight;
        for (size_t b = 0; b < n; b++) {
            mean[b] += weight * own[b];
        }
    }
}

/* All pixels are there with the weight 1 before the groups change it: those that the sums of the groups lack
 * keep it. */
static void begin_with(const HcStatistics *whole, const Scaling *scaling, double *mean) {
    size_t n = scaling->bands;
    double pixels = (double)whole->pixels;
    for (size_t i = 0; i < n && scaling->mean == NULL; i++) {
        mean[i] = pixels * whole->mean[i];
    }
    for (size_t i = 0; i < n && scaling->mean != NULL; i++) {
        for (size_t j = 0; j < n; j++) {
            scaling->total[i * n + j] = (pixels - 1) * whole->covariance[i * n + j] +
                                        pixels * (whole->mean[i] - mean[i]) * (whole->mean[j] - mean[j]);
        }
    }
}

/* Mean and covariance of the scaled scene. */
static HcStatus scale_scene(const HcLevels *levels, const double *level, const double *stripes,
                            const HcStatistics *whole, HcStatistics *scene, HcError *err) {
    HcStatus status = HC_OK;
    HcTeam *team = levels->noise.sums.team;
    int64_t groups = levels->noise.groups;
    size_t n = (size_t)scene->scene.bands;
    int64_t rooms = hc_min64(hc_team_threads(team), groups);
    double weights = (double)whole->pixels;
    double *mean = NULL;
    Scaling scaling = {.sums = &levels->noise.sums, .level = level, .stripes = stripes, .bands = n};
    HC_TRY(hc_new(mean, n, what, err));
    HC_TRY(hc_new(scaling.total, n * n, what, err));
    HC_TRY(hc_new(scaling.room, (size_t)rooms * (n + n * n), what, err));
    HC_TRY(hc_new(scaling.pixels, rooms, what, err));
    for (int pass = 0; pass < 2; pass++) { /* the mean, then products about it */
        begin_with(whole, &scaling, mean);
        for (scaling.first = 0; scaling.first < groups; scaling.first += rooms) {
            scaling.rooms = (int32_t)hc_min64(rooms, groups - scaling.first);
            hc_team_run(team, scaling.rooms, take_group, &scaling);
            if (pass == 0) {
                add_means(&scaling, mean, &weights);
            } else {
                hc_team_run(team, (int64_t)n, add_row, &scaling);
            }
        }
        for (size_t b = 0; b < n && pass == 0; b++) {
            mean[b] /= weights;
        }
        scaling.mean = mean;
    }
    for (size_t i = 0; i < n; i++) {
        scene->mean[i] = mean[i];
        for (size_t j = 0; j < n; j++) {
            scene->covariance[i * n + j] = scaling.total[i * n + j] / (double)(scene->pixels - 1);
        }
    }
done:
    free(mean);
    free(scaling.total);
    free(scaling.room);
    free(scaling.pixels);
    return status;
}

/* ---- the stage's ---- */

static HcStatus spread_levels(HcLevels *levels, const double *level, int64_t samples, HcError *err) {
    HC_OR_RETURN(hc_new(levels->level, (size_t)samples, what, err));
    HC_OR_RETURN(hc_new(levels->inverse, (size_t)samples, what, err));
    for (int64_t s = 0; s < samples; s++) {
        levels->level[s] = level[s / levels->noise.width];
        levels->inverse[s] = 1 / levels->level[s];
    }
    return HC_OK;
}

HcStatus hc_levels_fit(HcLevels *levels, HcStage *stage, const double *stripes, HcStatistics *scene,
                       HcError *err) {
    HcStatus status = HC_OK;
    size_t n = (size_t)scene->scene.bands;
    HcStatistics whole = {.pixels = scene->pixels};
    double *level = NULL;
    HC_TRY(hc_new(level, (size_t)levels->noise.sums.groups, what, err));
    HC_TRY(hc_new(whole.mean, n, what, err));
    HC_TRY(hc_new(whole.covariance, n * n, what, err));
    memcpy(whole.mean, scene->mean, n * sizeof(double));
    memcpy(whole.covariance, scene->covariance, n * n * sizeof(double));
    HC_TRY(find_levels(levels, level, scene, err));
    hc_noise_columns_note(&levels->noise, stage);
    levels->limit = limit_of(levels);
    levels->uneven = levels->differ > levels->limit;
    for (int round = 1; round < ROUNDS && levels->uneven; round++) {
        HC_TRY(scale_scene(levels, level, stripes, &whole, scene, err));
        HC_TRY(find_levels(levels, level, scene, err));
    }
    if (levels->uneven) {
        HC_TRY(scale_scene(levels, level, stripes, &whole, scene, err));
        HC_TRY(spread_levels(levels, level, stage->in.samples, err));
    }
done:
    hc_column_sums_close(&levels->noise.sums);
    hc_statistics_clear(&whole);
    free(level);
    return status;
}

void hc_levels_put(const HcLevels *levels, HcJson *to) {
    hc_json_open_object(to, "columns");
    hc_json_put_number(to, "columns", levels->noise.width);
    hc_json_put_bool(to, "uneven", levels->uneven);
    hc_json_put_double(to, "least", levels->least);
    hc_json_put_double(to, "most", levels->most);
    hc_json_put_double(to, "differ", levels->differ);
    hc_json_close(to);
}
