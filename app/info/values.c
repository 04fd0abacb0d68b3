/* What info reports of the values of a scene. */
#include "app/info/values.h"
#include "core/allocate.h"

#include <stdio.h>
#include <string.h>

enum { SAMPLE_LINES = 64 };
static const double sample_bytes = 16.0 * 1024 * 1024;

static bool is_constant(const HcBandSummary *band) {
    return band->low == band->high;
}

/* The first good band from the middle of the scene on that is not constant. */
static int32_t sample_band(const HcScene *scene, const HcBandSummary *band) {
    int32_t middle = scene->bands / 2;
    for (int32_t n = 0; n < scene->bands; n++) {
        int32_t b = (middle + n) % scene->bands;
        if ((scene->bad == NULL || !scene->bad[b]) && !is_constant(&band[b])) {
            return b;
        }
    }
    return middle;
}

static HcStatus read_sample(HcReader *reader, HcInfoValues *out, HcError *err) {
    const HcScene *scene = hc_reader_scene(reader);
    double fit =
        sample_bytes / ((double)hc_type_bytes(scene->type) * (double)scene->samples * (double)scene->bands);
    if (strcmp(hc_reader_method(reader), "direct") != 0 || hc_scene_is_class_map(scene) || fit < 1) {
        return HC_OK;
    }
    int64_t wanted = fit < SAMPLE_LINES ? (int64_t)fit : SAMPLE_LINES;
    int64_t step = (scene->lines + wanted - 1) / wanted;
    out->lines = (scene->lines + step - 1) / step;
    HC_OR_RETURN(hc_new(out->band, (size_t)scene->bands, "the figures of the bands", err));
    HC_OR_RETURN(hc_summarise(reader, NULL, scene->bands, step, 1, out->band, err));
    out->first = sample_band(scene, out->band);
    out->count = scene->bands;
    return HC_OK;
}

HcStatus hc_info_values(HcReader *reader, bool stats, int32_t threads, HcInfoValues *out, HcError *err) {
    const HcScene *scene = hc_reader_scene(reader);
    if (!stats) {
        return read_sample(reader, out, err);
    }
    HC_OR_RETURN(hc_new(out->band, (size_t)scene->bands, "the figures of the bands", err));
    HC_OR_RETURN(hc_summarise(reader, NULL, scene->bands, 1, threads, out->band, err));
    out->count = scene->bands;
    out->lines = scene->lines;
    out->all = true;
    return HC_OK;
}

static double percent(int64_t count, const HcBandSummary *of) {
    return of->pixels > 0 ? 100.0 * (double)count / (double)of->pixels : 0;
}

/* "1, 2, 97-115": the first runs of constant bands. */
static void print_constant(const HcInfoValues *values) {
    enum { RUNS = 12 };
    int32_t count = 0, runs = 0;
    for (int32_t b = 0; b < values->count; b++) {
        count += is_constant(&values->band[b]);
    }
    for (int32_t b = 0, next; b < values->count && count > 0; b = next) {
        for (next = b; next < values->count && is_constant(&values->band[next]); next++) {
        }
        if (next > b && runs++ < RUNS) {
            printf(runs == 1 ? "%-12s %d of %d bands%s: " : ", ", "constant", count, values->count,
                   values->all ? "" : " in these lines");
            printf(next > b + 1 ? "%d-%d" : "%d", b + 1, next);
        }
        next += next == b;
    }
    printf(count == 0 ? "" : runs > RUNS ? ", ...\n" : "\n");
}

void hc_info_print_sample(const HcInfoValues *values, const HcScene *scene) {
    const HcBandSummary *band = &values->band[values->first];
    if (values->all) {
        print_constant(values);
    }
    if (values->count == 0 || values->all) {
        return;
    }
    printf("%-12s %.3g %% zero, %.3g %% NaN, %.3g %% nodata; band %d in %lld of %lld lines (--stats reads "
           "all)\n",
           "sample", percent(band->zero, band), percent(band->not_finite, band), percent(band->nodata, band),
           values->first + 1, (long long)values->lines, (long long)scene->lines);
    print_constant(values);
}

void hc_info_print_stats(const HcInfoValues *values) {
    if (!values->all) {
        return;
    }
    printf("\n%6s %11s %11s %11s %11s %6s %6s %8s\n", "band", "minimum", "maximum", "mean", "deviation",
           "zero/%", "NaN/%", "nodata/%");
    for (int32_t b = 0; b < values->count; b++) {
        const HcBandSummary *band = &values->band[b];
        printf("%6d %11.5g %11.5g %11.5g %11.5g %6.3g %6.3g %8.3g\n", b + 1, band->low, band->high,
               band->mean, band->deviation, percent(band->zero, band), percent(band->not_finite, band),
               percent(band->nodata, band));
    }
}

static void put_band(const HcBandSummary *band, int32_t number, HcJson *to) {
    hc_json_put_number(to, "band_from_1", number);
    hc_json_put_number(to, "pixels", (double)band->pixels);
    hc_json_put_number(to, "zero_pixels", (double)band->zero);
    hc_json_put_number(to, "nan_pixels", (double)band->not_finite);
    hc_json_put_number(to, "nodata_pixels", (double)band->nodata);
    hc_json_put_double(to, "percent_zero", percent(band->zero, band));
    hc_json_put_double(to, "percent_nan", percent(band->not_finite, band));
    hc_json_put_double(to, "percent_nodata", percent(band->nodata, band));
    hc_json_put_double(to, "minimum", band->low);
    hc_json_put_double(to, "maximum", band->high);
    hc_json_put_double(to, "mean", band->mean);
    hc_json_put_double(to, "standard_deviation", band->deviation);
}

void hc_info_put_values(const HcInfoValues *values, HcJson *to) {
    if (values->count == 0) {
        return;
    }
    hc_json_open_array(to, "constant_bands_from_1");
    for (int32_t b = 0; b < values->count; b++) {
        if (is_constant(&values->band[b])) {
            hc_json_put_number(to, NULL, b + 1);
        }
    }
    hc_json_close(to);
    if (!values->all) {
        hc_json_open_object(to, "sample");
        hc_json_put_number(to, "lines", (double)values->lines);
        put_band(&values->band[values->first], values->first + 1, to);
        hc_json_close(to);
        return;
    }
    hc_json_open_array(to, "band_statistics");
    for (int32_t b = 0; b < values->count; b++) {
        hc_json_open_object(to, NULL);
        put_band(&values->band[b], b + 1, to);
        hc_json_close(to);
    }
    hc_json_close(to);
}
