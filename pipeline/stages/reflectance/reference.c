/* The mean of dark or white lines. A frame of the detector is small, so one thread reads it band by band. */
#include "pipeline/stages/reflectance/reference.h"
#include "core/allocate.h"
#include "io/view/values.h"
#include "pipeline/chain.h"
#include "pipeline/spectra/runs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { READ_BYTES = 16 << 20 };

static const HcReader *scene_of(const HcStage *stage) {
    return hc_view_reader(stage->chain->source->view);
}

/* The first column of the file that comes in. */
static int64_t first_sample(const HcStage *stage) {
    return stage->in.cut.lines > 0 ? stage->in.cut.sample0 : 0;
}

static int32_t band_of(const HcStage *stage, int32_t band) {
    return stage->in.source_band != NULL ? stage->in.source_band[band] : band;
}

static size_t elements_of(const HcStage *stage) {
    return (size_t)stage->in.samples * (size_t)stage->in.bands;
}

/* ---- options ---- */

/* "A-B" of `most` lines or columns. */
static HcStatus parse_range(const char *option, const char *text, const char *range, int64_t most,
                            int64_t *first, int64_t *count, HcError *err) {
    double low = 0, high = 0;
    const char *at = range;
    if (!hc_range_next(&at, &low, &high) || *at != '\0' || low < 1 || high < low || high > (double)most ||
        low != floor(low) || high != floor(high)) {
        return hc_fail(err, HC_E_USAGE, "reflectance: %s %s: not a range A-B from 1 to %" PRId64, option,
                       text, most);
    }
    *first = (int64_t)low - 1;
    *count = (int64_t)(high - low) + 1;
    return HC_OK;
}

HcStatus hc_reference_parse(const HcStage *stage, const char *option, const char *text, HcReferenceOf *of,
                            HcError *err) {
    const HcScene *file = hc_reader_scene(scene_of(stage));
    bool lines = strncmp(text, "lines=", 6) == 0, columns = strncmp(text, "columns=", 8) == 0;
    *of = (HcReferenceOf){.option = option, .path = text};
    if (!lines && !columns) {
        return HC_OK;
    }
    of->path = hc_reader_path(scene_of(stage));
    return lines ? parse_range(option, text, text + 6, file->lines, &of->line0, &of->lines, err)
                 : parse_range(option, text, text + 8, file->samples, &of->sample0, &of->samples, err);
}

/* ---- shapes ---- */

static HcStatus check_scene(const HcStage *stage, const HcReferenceOf *of, const HcReader *reader,
                            HcError *err) {
    const HcScene *is = hc_reader_scene(reader), *file = hc_reader_scene(scene_of(stage));
    if (is->samples != file->samples) {
        return hc_fail(err, HC_E_INPUT, "reflectance: %s %s: has %" PRId64 " columns, the scene has %" PRId64,
                       of->option, of->path, is->samples, file->samples);
    }
    bool same = is->bands == (stage->in.source_band != NULL ? file->bands : stage->in.bands);
    if (!same) {
        return hc_fail(err, HC_E_INPUT, "reflectance: %s %s: has %d bands, the scene has %d", of->option,
                       of->path, is->bands, stage->in.source_band != NULL ? file->bands : stage->in.bands);
    }
    bool counts = is->gain == NULL && !hc_view_scales(stage->chain->source->view);
    for (int32_t b = 0; !counts && b < stage->in.bands; b++) {
        HcScale of_file = hc_scene_scale(file, band_of(stage, b));
        HcScale of_this = hc_scene_scale(is, band_of(stage, b));
        if (of_file.gain != of_this.gain || of_file.offset != of_this.offset) {
            return hc_fail(err, HC_E_INPUT, "reflectance: %s %s: band %d has another scale than the scene",
                           of->option, of->path, band_of(stage, b) + 1);
        }
    }
    return HC_OK;
}

static HcStatus open_reference(const HcStage *stage, const HcReferenceOf *of, HcReader **out, HcError *err) {
    HcReaderOptions how = {0};
    HC_OR_RETURN(hc_reader_open(out, of->path, &how, err));
    HcStatus status = check_scene(stage, of, *out, err);
    if (status != HC_OK) {
        hc_reader_close(*out);
        *out = NULL;
    }
    return status;
}

HcStatus hc_reference_check(const HcStage *stage, const HcReferenceOf *of, HcError *err) {
    HcReader *reader = NULL;
    HC_OR_RETURN(open_reference(stage, of, &reader, err));
    hc_reader_close(reader);
    return HC_OK;
}

/* ---- reading ---- */

typedef struct Reading {
    HcReader *reader;
    char *bytes;
    float *line;    /* [samples of the file] */
    int32_t *count; /* [samples][bands] values of a sum */
    int32_t lines;  /* that are read at once */
} Reading;

/* Adds one line of one band to sums of the columns. */
static void add_line(const HcStage *stage, const Reading *reading, int32_t band, float limit,
                     HcReference *out) {
    double nodata = NAN;
    int64_t first = first_sample(stage), bands = stage->in.bands;
    bool has_nodata = hc_reader_nodata(reading->reader, band_of(stage, band), &nodata);
    for (int64_t s = 0; s < stage->in.samples; s++) {
        float value = reading->line[first + s];
        int64_t at = s * bands + band;
        if (!isfinite(value) || (has_nodata && (double)value == nodata)) {
            continue;
        }
        out->mean[at] += (double)value;
        out->saturated[at] |= value >= limit;
        reading->count[at]++;
    }
}

static HcStatus read_lines(const HcStage *stage, const HcReferenceOf *of, const Reading *reading, float limit,
                           HcReference *out, HcError *err) {
    bool scales = hc_view_scales(stage->chain->source->view);
    int64_t end = of->line0 + out->lines;
    for (int64_t line = of->line0; line < end; line += reading->lines) {
        HcRaw raw = {0};
        int32_t now = (int32_t)hc_min64(reading->lines, end - line);
        HC_OR_RETURN(hc_reader_read(reading->reader, line, now, reading->bytes, &raw, err));
        for (int32_t l = 0; l < now; l++) {
            for (int32_t b = 0; b < stage->in.bands; b++) {
                int32_t band = band_of(stage, b);
                HcScale scale = hc_scene_scale(hc_reader_scene(reading->reader), band);
                HcViewBand how = {.scaled = scales, .gain = scale.gain, .offset = scale.offset};
                hc_view_convert(&raw, l, hc_reader_stored_band(reading->reader, band), &how, reading->line);
                add_line(stage, reading, b, limit, out);
            }
        }
    }
    return hc_reader_unchanged(reading->reader, err);
}

/* Sums become means; those of shielded columns hold for all columns. */
static void finish(const HcStage *stage, const HcReferenceOf *of, const Reading *reading, HcReference *out) {
    int64_t bands = stage->in.bands, first = of->sample0 - first_sample(stage);
    for (int64_t b = 0; of->samples > 0 && b < bands; b++) {
        double sum = 0;
        int64_t count = 0;
        for (int64_t s = hc_max64(first, 0); s < hc_min64(first + of->samples, stage->in.samples); s++) {
            sum += out->mean[s * bands + b];
            count += reading->count[s * bands + b];
        }
        for (int64_t s = 0; s < stage->in.samples; s++) {
            out->mean[s * bands + b] = sum;
            reading->count[s * bands + b] = (int32_t)hc_min64(count, INT32_MAX);
        }
    }
    for (size_t i = 0; i < elements_of(stage); i++) {
        out->mean[i] = reading->count[i] > 0 ? out->mean[i] / reading->count[i] : NAN;
    }
}

static HcStatus start(const HcStage *stage, const HcReferenceOf *of, Reading *reading, HcReference *out,
                      HcError *err) {
    HC_OR_RETURN(open_reference(stage, of, &reading->reader, err));
    const HcScene *scene = hc_reader_scene(reading->reader);
    const char *what = "a reference";
    (void)hc_reader_settle(reading->reader, 0, READ_BYTES, false);
    out->lines = of->lines > 0 ? of->lines : scene->lines;
    out->line = (double)of->line0 + (double)(out->lines - 1) / 2;
    int64_t fit = READ_BYTES / hc_max64(1, (int64_t)hc_reader_bytes(reading->reader, 1));
    reading->lines = (int32_t)hc_max64(1, hc_min64(fit, out->lines));
    HC_OR_RETURN(hc_new(reading->bytes, hc_reader_bytes(reading->reader, reading->lines), what, err));
    HC_OR_RETURN(hc_new(reading->line, scene->samples, what, err));
    HC_OR_RETURN(hc_new(reading->count, elements_of(stage), what, err));
    HC_OR_RETURN(hc_new(out->mean, elements_of(stage), what, err));
    return hc_new(out->saturated, elements_of(stage), what, err);
}

HcStatus hc_reference_read(const HcStage *stage, const HcReferenceOf *of, float limit, HcReference *out,
                           HcError *err) {
    HcStatus status = HC_OK;
    Reading reading = {0};
    HC_TRY(start(stage, of, &reading, out, err));
    HC_TRY(read_lines(stage, of, &reading, limit, out, err));
    finish(stage, of, &reading, out);
done:
    hc_reader_close(reading.reader);
    free(reading.bytes);
    free(reading.line);
    free(reading.count);
    return status;
}

void hc_reference_clear(HcReference *reference) {
    free(reference->mean);
    free(reference->saturated);
    *reference = (HcReference){0};
}

size_t hc_reference_bytes(const HcStage *stage) {
    return elements_of(stage) * (sizeof(double) + 1);
}

size_t hc_reference_work_bytes(const HcStage *stage) {
    const HcScene *file = hc_reader_scene(scene_of(stage));
    size_t line = (size_t)file->samples * (size_t)file->bands * hc_type_bytes(file->type);
    return elements_of(stage) * sizeof(int32_t) + 2 * READ_BYTES + line;
}
