/* noise: noise and signal-to-noise ratio of each band, by regression and by differences of neighbours.
 *
 * Two estimates that rest on different properties of noise (none between bands, none between neighbours) are
 * made in one pass. Where both agree the noise is known; where they do not, the scene has texture or
 * correlated noise, and a note says so. */
#include "core/allocate.h"
#include "io/file.h"
#include "pipeline/picture/plots.h"
#include "pipeline/stages/noise/noise_columns.h"
#include "pipeline/stages/stages.h"
#include "pipeline/statistics/median.h"
#include "pipeline/statistics/noise/choice.h"
#include "pipeline/statistics/sums.h"

#include <math.h>
#include <stdlib.h>

typedef struct Params {
    const char *path, *csv, *picture;
    int32_t compare;
    int64_t columns; /* of a group, 0 = none */
    const char *column_csv;
    HcGroupingParams groups;
    bool overwrite;
} Params;

typedef struct State {
    HcSceneSums sums, differences;
    HcStatistics scene, regression, neighbours;
    double *ratio;       /* [bands] SNR: mean over standard deviation of the noise; NaN where there is none */
    double ratio_median; /* of the bands, NaN = no band has one */
    HcNoiseChoice choice;
    HcNoiseColumns columns;
    HcGrouping grouping;
} State;

static const HcOption options[] = {
    {HC_TEXT(Params, path, "output"), .file = HC_FILE_WRITTEN, .value = "NOISE.json", .positional = true,
     .otherwise = "no file, a summary is printed", .help = "JSON file to write"},
    {HC_TEXT(Params, csv), .file = HC_FILE_WRITTEN, .value = "NOISE.csv",
     .help = "table to write, one line for each band"},
    {HC_TEXT(Params, picture), .file = HC_FILE_WRITTEN, .value = "SNR.png",
     .help = "plot of the signal-to-noise ratio over the bands to write: .png, .svg or .pdf"},
    {HC_CHOICE(Params, compare), .choices = hc_neighbour_words, .standard = "mean3x3",
     .help = "difference of neighbours to compare the regression with"},
    HC_FIT_BY_OPTION(Params, groups, NULL),
    {HC_INT(Params, columns), .range = {1, 1000000}, .value = "COUNT", .otherwise = "only the whole scene",
     .help = "also estimate the noise of each COUNT neighbouring columns (1: each detector of a pushbroom "
             "sensor)"},
    {HC_TEXT(Params, column_csv, "column-csv"), .file = HC_FILE_WRITTEN, .value = "COLUMNS.csv",
     .needs = "columns", .help = "table to write: a line for each group of columns, a column for each band"},
    {HC_FLAG(Params, overwrite), .help = "replace existing files"},
    {0}};

static HcDifference difference_of(const HcStage *stage) {
    return hc_noise_of_word(hc_neighbour_words[((const Params *)stage->params)->compare]);
}

static void plan_columns(HcStage *stage) {
    const Params *params = stage->params;
    State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    int64_t width = hc_min64(params->columns, stage->in.samples);
    size_t groups = (size_t)((stage->in.samples + width - 1) / width);
    state->columns.width = (int32_t)width;
    stage->needs.selects = true; /* sums of columns need blocks */
    hc_stage_takes(stage, HC_SPACE_HOST,
                   groups * (bands + 2) * sizeof(double) + bands * bands * sizeof(double));
    hc_stage_takes(stage, HC_SPACE_WORKER, hc_noise_columns_room(stage->in.bands) * sizeof(double));
    hc_column_sums_plan(stage, state->columns.width);
}

static HcStatus plan(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    State *state = stage->state;
    HC_OR_RETURN(hc_statistics_of_values(&stage->in, "noise", err));
    HC_OR_RETURN(hc_scene_copy(&stage->out, &stage->in, err));
    if (params->picture != NULL) {
        HC_OR_RETURN(hc_plot_file_check("noise", "--picture", params->picture, err));
    }
    stage->needs.passes_through = true;
    stage->output = params->path != NULL      ? params->path
                    : params->csv != NULL     ? params->csv
                    : params->picture != NULL ? params->picture
                                              : params->column_csv;
    if (!stage->settled) {
        hc_scene_sums_want(&state->sums, stage, HC_DIFFERENCE_NONE, NULL);
        hc_scene_sums_want(&state->differences, stage, difference_of(stage), NULL);
        HC_OR_RETURN(hc_scene_sums_plan_by(stage, &state->grouping, &params->groups, err));
        if (params->columns > 0) {
            plan_columns(stage);
        }
    }
    hc_stage_takes(stage, HC_SPACE_HOST, hc_plot_file_bytes(params->picture, 2, stage->in.bands));
    return HC_OK;
}

/* The ratios of all bands, and their median over the bands that have noise. */
static HcStatus find_ratios(HcStage *stage, HcError *err) {
    State *state = stage->state;
    int32_t bands = stage->in.bands;
    double *found = NULL;
    size_t count = 0;
    HC_OR_RETURN(hc_new(state->ratio, (size_t)bands, "ratios of bands", err));
    HC_OR_RETURN(hc_new(found, (size_t)bands, "ratios of bands", err));
    for (int32_t b = 0; b < bands; b++) {
        double variance = hc_statistics_variance(&state->regression, b);
        state->ratio[b] = variance > 0 ? fabs(state->scene.mean[b]) / sqrt(variance) : NAN;
        if (variance > 0) {
            found[count++] = state->ratio[b];
        }
    }
    state->ratio_median = hc_lower_median(found, count);
    free(found);
    return HC_OK;
}

static HcStatus open_noise(HcStage *stage, HcError *err) {
    State *state = stage->state;
    return state->columns.width > 0
               ? hc_column_sums_open(&state->columns.sums, stage, state->columns.width, err)
               : HC_OK;
}

static HcStatus observe(HcStage *stage, HcQueue *queue, const HcBlock *in, HcError *err) {
    State *state = stage->state;
    return state->columns.width > 0
               ? hc_column_sums_add(&state->columns.sums, &state->grouping, stage, queue, in, err)
               : HC_OK;
}

/* The regression of the scene serves all columns. */
static HcStatus settle_columns(HcStage *stage, HcError *err) {
    State *state = stage->state;
    HcStatus status = HC_OK;
    HcStatistics full = {0};
    HC_TRY(hc_noise_regression(&full, &state->scene, HC_NOISE_FULL, err));
    HC_TRY(hc_column_sums_take(&state->columns.sums, stage, err));
    HC_TRY(hc_noise_columns_find(&state->columns, &full, err));
    hc_noise_columns_note(&state->columns, stage);
done:
    hc_column_sums_close(&state->columns.sums);
    hc_statistics_clear(&full);
    return status;
}

static HcStatus settle(HcStage *stage, HcQueue *queue, HcError *err) {
    HcStatus status = HC_OK;
    State *state = stage->state;
    const char *word = hc_neighbour_words[((const Params *)stage->params)->compare];
    HcMoments moments = {0};
    HC_TRY(hc_scene_sums_take(&state->sums, stage, queue, &moments, err));
    /* Refuses few pixels first, and says how many are needed. */
    HC_TRY(
        hc_noise_in_range_by("regression", &state->regression, &stage->in, &moments, HC_NOISE_DIAGONAL, err));
    hc_noise_range_note(stage, &state->regression);
    HC_TRY(
        hc_statistics_make(&state->scene, stage->compute, &stage->in, &moments, HC_DIFFERENCE_NONE, "", err));
    HC_TRY(hc_scene_sums_statistics(&state->differences, stage, queue, word, &state->neighbours, err));
    HC_TRY(find_ratios(stage, err));
    HC_TRY(hc_noise_weigh(&state->choice, stage->compute, &state->scene, &state->regression,
                          &state->neighbours, err));
    if (!state->choice.fits || state->choice.ratio > 2) {
        hc_noise_choice_note(stage, &state->choice);
    }
    if (state->columns.width > 0) {
        HC_TRY(settle_columns(stage, err));
    }
done:
    hc_moments_clear(&moments);
    return status;
}

/* ---- files ---- */

static void put_bands(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_json_open_array(to, "noise_by_band");
    for (int32_t b = 0; b < stage->in.bands; b++) {
        hc_json_open_object(to, NULL);
        hc_json_put_number(to, "band", b + 1);
        if (stage->in.wavelength != NULL) {
            hc_json_put_double(to, "wavelength_nm", stage->in.wavelength[b]);
        }
        hc_json_put_double(to, "mean", state->scene.mean[b]);
        hc_json_put_double(to, "deviation", sqrt(hc_statistics_variance(&state->scene, b)));
        hc_json_put_double(to, "noise", sqrt(hc_statistics_variance(&state->regression, b)));
        hc_json_put_double(to, "noise_by_differences", sqrt(hc_statistics_variance(&state->neighbours, b)));
        hc_json_put_double(to, "snr", state->ratio[b]);
        hc_json_put_double(to, "snr_db", 20 * log10(state->ratio[b]));
        hc_json_close(to);
    }
    hc_json_close(to);
}

static HcStatus write_csv(const HcStage *stage, const char *path, bool overwrite, HcError *err) {
    const State *state = stage->state;
    HcText text = {0};
    hc_text_add(&text, "band,wavelength_nm,mean,deviation,noise,noise_by_differences,snr,snr_db\n");
    for (int32_t b = 0; b < stage->in.bands; b++) {
        hc_text_add(&text, "%d,", b + 1);
        if (stage->in.wavelength != NULL) {
            hc_text_add(&text, "%.10g", stage->in.wavelength[b]);
        }
        hc_text_add(&text, ",%.9g,%.9g,%.9g,%.9g", state->scene.mean[b],
                    sqrt(hc_statistics_variance(&state->scene, b)),
                    sqrt(hc_statistics_variance(&state->regression, b)),
                    sqrt(hc_statistics_variance(&state->neighbours, b)));
        if (state->ratio[b] > 0) {
            hc_text_add(&text, ",%.9g,%.9g\n", state->ratio[b], 20 * log10(state->ratio[b]));
        } else {
            hc_text_add(&text, ",,\n"); /* no noise, or a mean of 0 */
        }
    }
    HcStatus status = text.failed ? hc_fail_memory(err, 0, "a table of bands")
                                  : hc_file_write(path, text.data, text.length, overwrite, err);
    hc_text_clear(&text);
    return status;
}

/* Both estimates, each in a line; a band without noise breaks it. */
static HcStatus draw(const HcStage *stage, const char *path, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    const State *state = stage->state;
    size_t bands = (size_t)stage->in.bands;
    char regression[] = "by regression", *differences = NULL;
    float *ratio = NULL;
    HC_TRY(hc_new(ratio, 2 * bands, "ratios of bands", err));
    differences = hc_text_format("by differences (%s)", state->neighbours.noise);
    HC_TRY(hc_text_made(differences, 64, "a name", err));
    for (size_t b = 0; b < bands; b++) {
        double variance = hc_statistics_variance(&state->neighbours, (int32_t)b);
        ratio[b] = (float)state->ratio[b];
        ratio[bands + b] = variance > 0 ? (float)(fabs(state->scene.mean[b]) / sqrt(variance)) : NAN;
    }
    char *const name[] = {regression, differences};
    const HcSpectraPlot plot = {.scene = &stage->in,
                                .count = 2,
                                .value = ratio,
                                .name = name,
                                .title = "signal-to-noise ratio",
                                .label = "mean / noise",
                                .logarithmic = true};
    HC_TRY(hc_plot_spectra(path, &plot, overwrite, err));
done:
    free(differences);
    free(ratio);
    return status;
}

/* The columns with the least and the most noise. */
static void report_columns(const HcNoiseColumns *columns, HcJson *to) {
    static const char *const names[] = {"least_noise", "most_noise"};
    hc_json_put_number(to, "columns", columns->width);
    for (int32_t k = 0; k < 2; k++) {
        int64_t group = hc_noise_columns_extreme(columns, k > 0);
        if (group >= 0) {
            hc_json_open_object(to, names[k]);
            hc_json_put_number(to, "column", (double)(group * columns->width + 1));
            hc_json_put_double(to, "relative_noise", columns->relative[group]);
            hc_json_close(to);
        }
    }
}

static void report(const HcStage *stage, HcJson *to) {
    const State *state = stage->state;
    hc_json_put_number(to, "pixels", (double)state->regression.pixels);
    hc_json_put_number(to, "difference_pixels", (double)state->neighbours.pixels);
    hc_json_put_text(to, "differences", state->neighbours.noise);
    hc_json_put_double(to, "median_snr", state->ratio_median);
    hc_json_put_double(to, "differences_over_regression", state->choice.ratio);
    hc_noise_choice_put(&state->choice, to);
    if (state->columns.width > 0) {
        report_columns(&state->columns, to);
    }
}

static HcStatus finish(HcStage *stage, HcError *err) {
    const Params *params = stage->params;
    bool overwrite = hc_stage_overwrite(stage);
    if (params->path != NULL) {
        HcJson json;
        hc_json_begin(&json);
        hc_json_put_kind(&json, HC_JSON_NOISE, 1);
        report(stage, &json);
        put_bands(stage, &json);
        if (((const State *)stage->state)->columns.width > 0) {
            hc_noise_columns_put(&((const State *)stage->state)->columns, &json);
        }
        HcStatus status = hc_json_save(&json, params->path, overwrite, err);
        hc_json_clear(&json);
        HC_OR_RETURN(status);
    }
    if (params->csv != NULL) {
        HC_OR_RETURN(write_csv(stage, params->csv, overwrite, err));
    }
    if (params->column_csv != NULL) {
        const State *state = stage->state;
        HC_OR_RETURN(hc_noise_columns_csv(&state->columns, params->column_csv, overwrite, err));
    }
    return params->picture != NULL ? draw(stage, params->picture, overwrite, err) : HC_OK;
}

static void show_columns(const HcNoiseColumns *columns, HcText *to) {
    int64_t least = hc_noise_columns_extreme(columns, false);
    int64_t most = hc_noise_columns_extreme(columns, true);
    if (least >= 0) {
        hc_text_add(
            to,
            "noise of columns over that of the scene: lowest %.4g (column %lld), highest %.4g (column "
            "%lld)\n",
            columns->relative[least], (long long)(least * columns->width + 1), columns->relative[most],
            (long long)(most * columns->width + 1));
    }
}

static void show(const HcStage *stage, HcText *to) {
    const State *state = stage->state;
    int32_t least = -1;
    int32_t most = -1;
    for (int32_t b = 0; b < stage->in.bands; b++) {
        if (!isnan(state->ratio[b])) {
            least = least < 0 || state->ratio[b] < state->ratio[least] ? b : least;
            most = most < 0 || state->ratio[b] > state->ratio[most] ? b : most;
        }
    }
    hc_text_add(to, "signal-to-noise ratio (mean / noise): median %.4g", state->ratio_median);
    if (least >= 0) {
        hc_text_add(to, ", lowest %.4g (band %d), highest %.4g (band %d)", state->ratio[least], least + 1,
                    state->ratio[most], most + 1);
    }
    hc_text_add(to, "\nvariance by differences (%s) over that by regression: %.4g\n", state->neighbours.noise,
                state->choice.ratio);
    show_columns(&state->columns, to);
    hc_text_add(to, "--noise auto takes %s: %s\n", state->choice.taken, state->choice.why);
}

static void close_noise(HcStage *stage) {
    State *state = stage->state;
    hc_statistics_clear(&state->scene);
    hc_statistics_clear(&state->regression);
    hc_statistics_clear(&state->neighbours);
    hc_noise_columns_close(&state->columns);
    hc_grouping_close(&state->grouping, stage);
    free(state->ratio);
    state->ratio = NULL;
}

const HcStageClass hc_stage_noise = {
    .name = "noise",
    .summary = "noise and signal-to-noise ratio of each band: JSON, CSV and picture",
    .cite = "Roger 1996; Bioucas-Dias, Nascimento 2008 (regression); Green et al. 1988 (differences)",
    .example = "hcube noise scene.hdr noise.json",
    .role = HC_ROLE_SINK,
    .options = options,
    .params_size = sizeof(Params),
    .state_size = sizeof(State),
    .plan = plan,
    .open = open_noise,
    .observe = observe,
    .settle = settle,
    .finish = finish,
    .report = report,
    .rare = {.show = show},
    .close = close_noise,
};
