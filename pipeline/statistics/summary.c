/* Figures of each band in one reading of the scene, for info --stats. */
#include "pipeline/statistics/summary.h"
#include "core/allocate.h"
#include "core/system/team.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    LANES = 8, /* sums of a line that run side by side; fixed, so that bits are */
    GROUP =
        16, /* bands that are taken out of a line together: whole cache lines where bands are neighbours */
    THREADS_MAX = 64,
    PLAIN = 400,  /* |exponent| of values whose squares a double holds, with any count of them */
    ZEROS = -2000 /* the unit of no values, and of zeros: below that of all others */
};

static const double block_bytes = 32.0 * 1024 * 1024;

/* What one line, or all so far, say of a band. */
typedef struct Sums {
    int64_t nodata, not_finite, zero, valid;
    double low, high;     /* in units of the file */
    double mean, squares; /* in units of 2^unit and its square; squares: of the deviations from the mean */
    int32_t unit;         /* 0 unless values are huge or tiny, or all zero */
} Sums;

typedef struct Work {
    const HcRaw *raw;      /* with the mask of the file */
    const int32_t *stored; /* [count] */
    const bool *has_nodata;
    const double *nodata; /* [count] */
    int32_t count;
    double *values; /* [threads][GROUP][samples] */
    Sums *line;     /* [lines][count] */
} Work;

/* ---- the sums of a line ---- */

/* Puts the valid values to the front, in order; returns how many there are. Zeros are valid and counted. What
 * the mask of the file leaves out counts as nodata. */
static int32_t keep_valid(double *values, int32_t count, const uint8_t *mask, bool has_nodata, double nodata,
                          Sums *sums) {
    int32_t kept = 0;
    int64_t none = 0, zero = 0;
    for (int32_t i = 0; i < count; i++) {
        double value = values[i];
        bool is_none = (mask != NULL && mask[i] == 0) ||
                       (has_nodata && (value == nodata || (isnan(value) && isnan(nodata))));
        bool valid = !is_none && isfinite(value);
        none += is_none;
        zero += valid && value == 0;
        values[kept] = value;
        kept += valid;
    }
    sums->nodata = none;
    sums->zero = zero;
    sums->not_finite = count - none - kept;
    return kept;
}

static double total(const double lane[LANES]) {
    return ((lane[0] + lane[4]) + (lane[1] + lane[5])) + ((lane[2] + lane[6]) + (lane[3] + lane[7]));
}

/* The sum of values less `center`, or of the squares of that. */
static double sum_of(const double *values, int32_t count, double center, bool squared) {
    double lane[LANES] = {0};
    for (int32_t i = 0; i < count; i += LANES) {
        int32_t lanes = count - i < LANES ? count - i : LANES;
        for (int32_t k = 0; k < lanes; k++) {
            double apart = values[i + k] - center;
            lane[k] += squared ? apart * apart : apart;
        }
    }
    return total(lane);
}

/* The exponent of the unit in which squares of values up to `most` neither overflow nor vanish. */
static int32_t unit_of(double most) {
    int exponent = 0;
    (void)frexp(most, &exponent);
    return !(most > 0) ? ZEROS : abs(exponent) <= PLAIN ? 0 : exponent;
}

/* Values of another unit than 1 are changed. */
static void sum_values(double *values, int32_t count, Sums *sums) {
    double low = INFINITY, high = -INFINITY;
    for (int32_t i = 0; i < count; i++) {
        low = values[i] < low ? values[i] : low;
        high = values[i] > high ? values[i] : high;
    }
    sums->unit = unit_of(fmax(-low, high));
    for (int32_t i = 0; i < count && sums->unit != 0 && sums->unit != ZEROS; i++) {
        values[i] = ldexp(values[i], -sums->unit);
    }
    sums->valid = count;
    sums->mean = count > 0 ? sum_of(values, count, 0, false) / count : 0;
    sums->squares = sum_of(values, count, sums->mean, true);
    sums->low = low;
    sums->high = high;
}

static void add_line(void *user, int64_t line, int32_t thread) {
    const Work *work = user;
    const HcRaw *raw = work->raw;
    const char *start = (const char *)raw->data + line * raw->stride_line;
    const uint8_t *mask = raw->user_mask != NULL ? raw->user_mask + line * raw->samples : NULL;
    double *values = work->values + (size_t)thread * GROUP * (size_t)raw->samples;
    for (int32_t first = 0; first < work->count; first += GROUP) {
        int64_t offset[GROUP];
        int32_t bands = (int32_t)hc_min64(GROUP, work->count - first);
        for (int32_t b = 0; b < bands; b++) {
            offset[b] = work->stored[first + b] * raw->stride_band;
        }
        hc_take_values(raw->type, &(HcPatch){.from = start,
                                             .sample_step = raw->stride_sample,
                                             .offset = offset,
                                             .bands = bands,
                                             .samples = raw->samples,
                                             .swap = raw->swap,
                                             .to = values});
        for (int32_t b = 0; b < bands; b++) {
            double *of = values + (size_t)b * (size_t)raw->samples;
            Sums *sums = &work->line[line * work->count + first + b];
            int32_t kept = keep_valid(of, raw->samples, mask, work->has_nodata[first + b],
                                      work->nodata[first + b], sums);
            sum_values(of, kept, sums);
        }
    }
}

/* ---- the scene ---- */

static void change_unit(Sums *sums, int32_t unit) {
    sums->mean = ldexp(sums->mean, sums->unit - unit);
    sums->squares = ldexp(sums->squares, 2 * (sums->unit - unit));
    sums->unit = unit;
}

/* Of two units the larger one is taken. */
static void join(Sums *to, Sums *line) {
    to->nodata += line->nodata;
    to->not_finite += line->not_finite;
    to->zero += line->zero;
    if (line->valid == 0) {
        return;
    }
    if (to->unit != line->unit) {
        change_unit(to->unit < line->unit ? to : line, to->unit < line->unit ? line->unit : to->unit);
    }
    double before = (double)to->valid, more = (double)line->valid;
    double apart = line->mean - to->mean;
    to->valid += line->valid;
    to->mean += apart * (more / (before + more));
    to->squares += line->squares + apart * apart * (before * (more / (before + more)));
    to->low = fmin(to->low, line->low);
    to->high = fmax(to->high, line->high);
}

static void finish(const Sums *sums, HcBandSummary *out) {
    bool any = sums->valid > 0;
    double mean = ldexp(sums->mean, sums->unit);
    double deviation = sums->valid > 1 ? sqrt(sums->squares / (double)(sums->valid - 1)) : NAN;
    *out = (HcBandSummary){.pixels = sums->nodata + sums->not_finite + sums->valid,
                           .nodata = sums->nodata,
                           .not_finite = sums->not_finite,
                           .zero = sums->zero,
                           .low = any ? sums->low : NAN,
                           .high = any ? sums->high : NAN,
                           .mean = !any          ? NAN
                                   : isinf(mean) ? copysign(DBL_MAX, mean)
                                                 : mean,
                           .deviation = ldexp(deviation, sums->unit)};
}

/* All that the reading needs; zero-initialised. */
typedef struct Reading {
    int32_t *stored, *bands;
    bool *has_nodata;
    double *nodata;
    Sums *all;  /* [count] */
    Sums *line; /* [lines][count] */
    double *values;
    char *bytes;
    uint8_t *mask; /* [lines][samples], where the file has one */
    HcTeam *team;
} Reading;

static void close_reading(Reading *reading) {
    free(reading->stored);
    free(reading->bands);
    free(reading->has_nodata);
    free(reading->nodata);
    free(reading->all);
    free(reading->line);
    free(reading->values);
    free(reading->bytes);
    free(reading->mask);
    hc_team_close(reading->team);
}

static HcStatus choose_bands(Reading *reading, HcReader *reader, const int32_t *bands, int32_t count,
                             HcError *err) {
    const char *what = "the figures of the bands";
    HC_OR_RETURN(hc_new(reading->stored, (size_t)count, what, err));
    HC_OR_RETURN(hc_new(reading->bands, (size_t)count, what, err));
    HC_OR_RETURN(hc_new(reading->has_nodata, (size_t)count, what, err));
    HC_OR_RETURN(hc_new(reading->nodata, (size_t)count, what, err));
    HC_OR_RETURN(hc_new(reading->all, (size_t)count, what, err));
    for (int32_t b = 0; b < count; b++) {
        int32_t band = bands != NULL ? bands[b] : b;
        reading->bands[b] = band;
        reading->has_nodata[b] = hc_reader_nodata(reader, band, &reading->nodata[b]);
        reading->all[b] = (Sums){.low = INFINITY, .high = -INFINITY, .unit = ZEROS};
    }
    HC_OR_RETURN(hc_reader_use_bands(reader, reading->bands, count, err));
    for (int32_t b = 0; b < count; b++) {
        reading->stored[b] = hc_reader_stored_band(reader, reading->bands[b]);
    }
    return HC_OK;
}

/* Lines of a block: as many as are read at once. */
static int32_t lines_of_block(const HcReader *reader, int32_t count, int64_t step) {
    const HcScene *scene = hc_reader_scene(reader);
    double fit = block_bytes / (double)hc_max64(1, (int64_t)hc_reader_bytes(reader, 1));
    double sums = block_bytes / ((double)count * sizeof(Sums));
    return step > 1 ? 1 : (int32_t)fmax(1, fmin(fmin(fit, sums), (double)scene->lines));
}

static HcStatus read_all(Reading *reading, HcReader *reader, int32_t count, int64_t step, int32_t lines,
                         HcError *err) {
    const HcScene *scene = hc_reader_scene(reader);
    for (int64_t line = 0; line<scene->lines; line += step> 1 ? step : lines) {
        HcRaw raw = {0};
        int32_t now = (int32_t)hc_min64(lines, scene->lines - line);
        HC_OR_RETURN(hc_reader_read(reader, line, now, reading->bytes, &raw, err));
        if (reading->mask != NULL) {
            memset(reading->mask, 1, (size_t)now * (size_t)scene->samples);
            HC_OR_RETURN(hc_reader_read_mask(reader, line, now, reading->mask, err));
            raw.user_mask = reading->mask;
        }
        Work work = {.raw = &raw,
                     .stored = reading->stored,
                     .has_nodata = reading->has_nodata,
                     .nodata = reading->nodata,
                     .count = count,
                     .values = reading->values,
                     .line = reading->line};
        hc_team_run(reading->team, now, add_line, &work);
        for (int32_t l = 0; l < now; l++) {
            for (int32_t b = 0; b < count; b++) {
                join(&reading->all[b], &reading->line[(size_t)l * (size_t)count + (size_t)b]);
            }
        }
    }
    return hc_reader_unchanged(reader, err);
}

HcStatus hc_summarise(HcReader *reader, const int32_t *bands, int32_t count, int64_t step, int32_t threads,
                      HcBandSummary *out, HcError *err) {
    HcStatus status = HC_OK;
    Reading reading = {0};
    const HcScene *scene = hc_reader_scene(reader);
    const char *what = "the figures of the bands";
    HC_TRY(choose_bands(&reading, reader, bands, count, err));
    (void)hc_reader_settle(reader, 0, 8 * block_bytes, false);
    int32_t lines = lines_of_block(reader, count, step);
    reading.team = hc_team_open(hc_team_count(threads, THREADS_MAX));
    size_t values = (size_t)hc_team_threads(reading.team) * GROUP * (size_t)scene->samples;
    HC_TRY(hc_new(reading.values, values, what, err));
    HC_TRY(hc_new(reading.line, (size_t)lines * (size_t)count, what, err));
    HC_TRY(hc_new(reading.bytes, hc_reader_bytes(reader, lines), "lines of the scene", err));
    if (hc_reader_mask(reader) != NULL) {
        HC_TRY(hc_new(reading.mask, (size_t)lines * (size_t)scene->samples, "the mask", err));
    }
    HC_TRY(read_all(&reading, reader, count, step, lines, err));
    for (int32_t b = 0; b < count; b++) {
        finish(&reading.all[b], &out[b]);
    }
done:
    close_reading(&reading);
    return status;
}
