/* Each group is an item of a team and needs bands^2 products for each band, from sums that are there
 * already. Deviations are kept per group and band; the relative noise of a group is their median over the
 * bands, so that a few odd bands do not decide. */
#include "pipeline/stages/noise/noise_columns.h"
#include "core/allocate.h"
#include "io/file.h"
#include "pipeline/statistics/median.h"

#include <math.h>
#include <stdlib.h>

/* What threads share. Each has a mean [bands], a covariance [bands][bands] and a row [bands] to work in. */
typedef struct Work {
    HcNoiseColumns *columns;
    const double *filter;   /* [bands][bands], column b makes the residual of band b; 0 for constant bands */
    const double *variance; /* [bands] of the noise of the scene; 0 for constant bands */
    double factor;          /* for the degrees of freedom that the regression took */
    double *room;           /* [threads][hc_noise_columns_room] */
} Work;

size_t hc_noise_columns_room(int32_t bands) {
    return (2 + (size_t)bands) * (size_t)bands;
}

/* The variance of w'(x - mean), w being column b of the filter. */
static double variance_of(const Work *work, const double *covariance, size_t bands, size_t b) {
    double sum = 0;
    for (size_t i = 0; i < bands; i++) {
        double w = work->filter[i * bands + b];
        double row = 0;
        for (size_t j = 0; j < bands && w != 0; j++) {
            row += covariance[i * bands + j] * work->filter[j * bands + b];
        }
        sum += w * row;
    }
    return work->factor * sum;
}

static void find_group(void *user, int64_t group, int32_t thread) {
    const Work *work = user;
    HcNoiseColumns *columns = work->columns;
    size_t n = (size_t)columns->bands;
    double *mean = work->room + (size_t)thread * hc_noise_columns_room(columns->bands);
    double *covariance = mean + n;
    double *ratio = covariance + n * n;
    double *deviation = columns->deviation + (size_t)group * n;
    size_t count = 0;
    int64_t pixels = hc_column_sums_statistics(&columns->sums, group, mean, covariance);
    columns->pixels[group] = pixels;
    columns->relative[group] = NAN;
    for (size_t b = 0; b < n; b++) {
        bool varies = work->variance[b] > 0;
        deviation[b] = pixels < 2 ? NAN : varies ? sqrt(fmax(variance_of(work, covariance, n, b), 0)) : 0;
        if (pixels > 1 && varies) {
            ratio[count++] = deviation[b] / sqrt(work->variance[b]);
        }
    }
    if (count > 0) {
        columns->relative[group] = hc_lower_median(ratio, count);
    }
}

/* Of the covariances f P_ij / (P_ii P_jj), with P the inverse of the covariance of the scene: P_ij / P_jj. */
static void make_filter(const HcStatistics *regression, double *filter, double *variance) {
    size_t n = (size_t)regression->scene.bands;
    for (size_t i = 0; i < n; i++) {
        variance[i] = regression->covariance[i * n + i];
        for (size_t j = 0; j < n; j++) {
            filter[i * n + j] = variance[i] > 0 ? regression->covariance[i * n + j] / variance[i] : 0;
        }
    }
}

static double factor_of(const HcStatistics *regression, const double *variance) {
    size_t n = (size_t)regression->scene.bands;
    int64_t used = 0;
    for (size_t b = 0; b < n; b++) {
        used += variance[b] > 0;
    }
    return (double)(regression->pixels - 1) / (double)(regression->pixels - used);
}

static HcStatus open_results(HcNoiseColumns *columns, int32_t bands, HcError *err) {
    static const char what[] = "the noise of columns";
    columns->bands = bands;
    columns->groups = columns->sums.groups;
    HC_OR_RETURN(hc_new(columns->pixels, columns->groups, what, err));
    HC_OR_RETURN(hc_new(columns->relative, columns->groups, what, err));
    return hc_new(columns->deviation, (size_t)columns->groups * (size_t)bands, what, err);
}

HcStatus hc_noise_columns_find(HcNoiseColumns *columns, const HcStatistics *regression, HcError *err) {
    static const char what[] = "the noise of columns";
    HcStatus status = HC_OK;
    size_t n = (size_t)regression->scene.bands;
    double *filter = NULL;
    double *variance = NULL;
    double *room = NULL;
    if (columns->pixels == NULL) {
        HC_TRY(open_results(columns, regression->scene.bands, err));
    }
    HC_TRY(hc_new(filter, n * n, what, err));
    HC_TRY(hc_new(variance, n, what, err));
    HC_TRY(hc_new(room, (size_t)hc_team_threads(columns->sums.team) * hc_noise_columns_room(columns->bands),
                  what, err));
    make_filter(regression, filter, variance);
    Work work = {.columns = columns,
                 .filter = filter,
                 .variance = variance,
                 .factor = factor_of(regression, variance),
                 .room = room};
    hc_team_run(columns->sums.team, columns->groups, find_group, &work);
done:
    free(filter);
    free(variance);
    free(room);
    return status;
}

void hc_noise_columns_note(const HcNoiseColumns *columns, HcStage *stage) {
    if (columns->sums.far[0] > 0) {
        hc_stage_note(
            stage, "--columns: %lld pixels with values 32 times those of a sample of the scene take no part",
            (long long)columns->sums.far[0]);
    }
}

int64_t hc_noise_columns_extreme(const HcNoiseColumns *columns, bool most) {
    int64_t found = -1;
    for (int64_t g = 0; g < columns->groups; g++) {
        double value = columns->relative[g];
        bool first = found < 0 && !isnan(value);
        if (first ||
            (found >= 0 && (most ? value > columns->relative[found] : value < columns->relative[found]))) {
            found = g;
        }
    }
    return found;
}

/* ---- files ---- */

void hc_noise_columns_put(const HcNoiseColumns *columns, HcJson *to) {
    size_t n = (size_t)columns->bands;
    hc_json_open_array(to, "noise_by_columns");
    for (int64_t g = 0; g < columns->groups; g++) {
        hc_json_open_object(to, NULL);
        hc_json_put_number(to, "column", (double)(g * columns->width + 1));
        hc_json_put_number(to, "columns", (double)columns->width);
        hc_json_put_number(to, "pixels", (double)columns->pixels[g]);
        hc_json_put_double(to, "relative_noise", columns->relative[g]);
        hc_json_put_doubles(to, "noise", columns->deviation + (size_t)g * n, n);
        hc_json_close(to);
    }
    hc_json_close(to);
}

HcStatus hc_noise_columns_csv(const HcNoiseColumns *columns, const char *path, bool overwrite, HcError *err) {
    size_t n = (size_t)columns->bands;
    HcText text = {0};
    hc_text_add(&text, "column,columns,pixels,relative_noise");
    for (size_t b = 0; b < n; b++) {
        hc_text_add(&text, ",band_%zu", b + 1);
    }
    hc_text_add(&text, "\n");
    for (int64_t g = 0; g < columns->groups; g++) {
        hc_text_add(&text, "%lld,%d,%lld", (long long)(g * columns->width + 1), columns->width,
                    (long long)columns->pixels[g]);
        bool there = !isnan(columns->relative[g]);
        hc_text_add(&text, there ? ",%.9g" : ",", columns->relative[g]);
        for (size_t b = 0; b < n; b++) {
            hc_text_add(&text, columns->pixels[g] > 1 ? ",%.9g" : ",", columns->deviation[(size_t)g * n + b]);
        }
        hc_text_add(&text, "\n");
    }
    HcStatus status = text.failed ? hc_fail_memory(err, 0, "a table of columns")
                                  : hc_file_write(path, text.data, text.length, overwrite, err);
    hc_text_clear(&text);
    return status;
}

void hc_noise_columns_close(HcNoiseColumns *columns) {
    hc_column_sums_close(&columns->sums);
    free(columns->pixels);
    free(columns->relative);
    free(columns->deviation);
    *columns = (HcNoiseColumns){0};
}
