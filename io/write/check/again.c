/* Lines that were computed again are stored in memory by the writer's own rules, and compared value by value
 * with what a reader finds in the file. The reader is that of every scene: it takes the file as any program
 * would that comes after this one. */
#include "io/write/again.h"
#include "core/allocate.h"
#include "io/read/metadata/value.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Tolerance if another device has computed, as a fraction of the largest value of the band: sums in
 * another order, and solvers that stop elsewhere within their gap. The second is a fraction of the largest
 * value of all bands: a band that is all but zero is the rounding of those that it was made from, as the last
 * components of a scene of low rank are. */
static const double of_band = 1e-3, of_all = 0x1p-40;

/* What is compared: the same lines, twice. */
typedef struct Lines {
    HcStored layout; /* of `again`: BIP */
    void *again;
    HcReader *reader;
    void *bytes;
    HcRaw raw; /* of the file */
} Lines;

static HcStatus check_shape(const HcWriter *writer, const HcScene *scene, const HcReader *file,
                            HcError *err) {
    const HcScene *found = hc_reader_scene(file);
    if (found->lines == scene->lines && found->samples == scene->samples && found->bands == scene->bands) {
        return HC_OK;
    }
    return hc_fail(err, HC_E_UNSUPPORTED,
                   "%s: cannot be verified: it has %lld lines x %lld samples x %d bands when it is read back",
                   hc_writer_path(writer), (long long)found->lines, (long long)found->samples, found->bands);
}

static HcStatus bring_lines(const HcWriter *writer, const HcScene *scene, HcReader *file,
                            const HcBlock *block, Lines *out, HcError *err) {
    HcStored *layout = &out->layout;
    *layout = *hc_writer_layout(writer);
    layout->interleave = HC_BIP;
    layout->rows = block->lines;
    HC_OR_RETURN(check_shape(writer, scene, file, err));
    out->reader = file;
    size_t stored = hc_stored_bytes(layout);
    size_t read = hc_reader_bytes(out->reader, block->lines);
    out->again = malloc(stored);
    out->bytes = malloc(read > 0 ? read : 1);
    if (out->again == NULL || out->bytes == NULL) {
        return hc_fail_memory(err, (double)stored + (double)read, "lines to verify");
    }
    hc_stored_put(layout, out->again, 0, block, 0, block->lines);
    return hc_reader_read(out->reader, block->line0, block->lines, out->bytes, &out->raw, err);
}

static double value_again(const Lines *lines, int64_t pixel, int32_t band) {
    size_t at = (size_t)(pixel * lines->layout.bands + band) * hc_type_bytes(lines->layout.type);
    return hc_read_value((const char *)lines->again + at, lines->layout.type, false);
}

static double value_written(const Lines *lines, int64_t pixel, int32_t band) {
    const HcRaw *raw = &lines->raw;
    int64_t line = pixel / raw->samples;
    const char *at = (const char *)raw->data + line * raw->stride_line +
                     (pixel - line * raw->samples) * raw->stride_sample +
                     hc_reader_stored_band(lines->reader, band) * raw->stride_band;
    return hc_read_value(at, raw->type, raw->swap);
}

static bool is_integer(HcType type) {
    return type != HC_FLOAT32 && type != HC_FLOAT64;
}

static HcAgreement agreement_of(const HcScene *scene, int32_t band) {
    HcAgreement agreement = scene->agreement != NULL ? scene->agreement[band] : (HcAgreement){0};
    agreement.choice = agreement.choice || (band == 0 && hc_scene_is_class_map(scene));
    return agreement;
}

static double largest_of(const Lines *lines, int64_t pixels, int32_t band) {
    double largest = 0;
    for (int64_t p = 0; p < pixels; p++) {
        double value = fabs(value_again(lines, p, band));
        largest = isfinite(value) && value > largest && value != fabs(lines->layout.nodata) ? value : largest;
    }
    return largest;
}

/* The largest value of the bands that nothing more is known of. */
static double largest_of_all(const HcScene *scene, const Lines *lines, int64_t pixels) {
    double largest = 0;
    for (int32_t b = 0; b < scene->bands; b++) {
        HcAgreement agreement = agreement_of(scene, b);
        if (!agreement.choice && agreement.within == 0) {
            largest = fmax(largest, largest_of(lines, pixels, b));
        }
    }
    return largest;
}

/* How far two stored values of a band may be apart; `all`: as largest_of_all(). */
static double bound_of(const Lines *lines, int64_t pixels, int32_t band, HcAgreement agreement, double all) {
    const HcStored *layout = &lines->layout;
    double within = agreement.within / (layout->scaled ? fabs(layout->scale) : 1);
    if (agreement.choice || isinf(within)) {
        return within;
    }
    return within + of_band * largest_of(lines, pixels, band) + of_all * all +
           (is_integer(layout->type) ? 1 : 0);
}

/* A value that is no number, or nodata, is equal to itself alone. */
static bool differ(const Lines *lines, double again, double written, double bound) {
    const HcStored *layout = &lines->layout;
    if (isnan(again) || isnan(written)) {
        return isnan(again) != isnan(written);
    }
    bool missing = !layout->no_nodata && (again == layout->nodata || written == layout->nodata);
    return missing || isinf(again) || isinf(written) ? again != written : !(fabs(again - written) <= bound);
}

static void note_first(const HcBlock *block, int64_t pixel, int32_t band, double again, double written,
                       HcWrittenCheck *check) {
    if (check->first[0] == '\0') {
        long long line = (long long)(block->line0 + pixel / block->samples);
        snprintf(check->first, sizeof check->first,
                 "line %lld, sample %lld, band %d (from 0, 0, 1) is %.9g in the file and %.9g computed again",
                 line, (long long)(pixel % block->samples), band + 1, written, again);
    }
}

static void compare_band(const HcScene *scene, const HcBlock *block, const Lines *lines, int32_t band,
                         double all, HcWrittenCheck *check) {
    int64_t pixels = (int64_t)block->lines * block->samples;
    const HcAgreement agreement = agreement_of(scene, band);
    const bool choice = agreement.choice;
    const double bound = check->exact ? 0 : bound_of(lines, pixels, band, agreement, all);
    const bool bounded = !choice && !isinf(bound);
    check->values += pixels;
    check->choices += choice ? pixels : 0;
    for (int64_t p = 0; p < pixels; p++) {
        double again = value_again(lines, p, band);
        double written = value_written(lines, p, band);
        double apart = fabs(again - written);
        check->largest = bounded && isfinite(apart) && apart > check->largest ? apart : check->largest;
        if (differ(lines, again, written, bound)) {
            note_first(block, p, band, again, written, check);
            check->other_choices += choice;
            check->differing += !choice || check->exact;
        }
    }
}

HcStatus hc_writer_check_lines(const HcWriter *writer, const HcScene *scene, HcReader *file,
                               const HcBlock *block, HcWrittenCheck *check, HcError *err) {
    HcStatus status = HC_OK;
    Lines lines = {0};
    HC_TRY(bring_lines(writer, scene, file, block, &lines, err));
    double all = check->exact ? 0 : largest_of_all(scene, &lines, (int64_t)block->lines * block->samples);
    for (int32_t b = 0; b < block->bands; b++) {
        compare_band(scene, block, &lines, b, all, check);
    }
done:
    free(lines.again);
    free(lines.bytes);
    return status;
}
