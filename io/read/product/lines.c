/* Lines of a product from its arrays, through GDAL (chunked.c has the other way). GDAL is asked for whole
 * boxes in the order in which an array stores them: any other order makes its drivers read value by value.
 * Where one box of one array is all that is wanted, it is the raw block; else each box is read into scratch
 * memory and its bands are put to their places. */
#include "io/guard/guard.h"
#include "io/chunk/index.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Bands of one array that are read together. */
typedef struct Run {
    int32_t array, first, count;
} Run;

/* Which of the product's bands is the k-th that is read. */
static int32_t band_at(const int32_t *used, int32_t k) {
    return used != NULL ? used[k] : k;
}

static int64_t chunk_of(const HcProductArray *array, HcAxis axis) {
    for (int i = 0; i < 3; i++) {
        if (array->axis[i] == axis) {
            return array->chunk[i] > 0 ? array->chunk[i] : 1;
        }
    }
    return 1;
}

/* The run of an array that begins with the first band wanted from `from` on, count 0 where there is none. It
 * ends where no band of a whole chunk is wanted: an array that is not chunked has bands one by one. */
static Run next_run(const HcProduct *product, const int32_t *used, int32_t count, int32_t array,
                    int32_t from) {
    const HcProductArray *of = &product->array[array];
    int64_t chunk = chunk_of(of, HC_AXIS_BAND);
    int64_t gap = chunk < of->bands ? chunk : of->axis[0] == HC_AXIS_BAND ? 1 : of->bands;
    Run run = {.array = array, .first = -1};
    for (int32_t b = from; b < of->bands; b++) {
        bool wanted = false;
        for (int32_t k = 0; k < count && !wanted; k++) {
            const HcProductBand *band = &product->band[band_at(used, k)];
            wanted = band->array == array && band->band == b;
        }
        if (wanted && run.first < 0) {
            run.first = b;
            run.count = 1;
        } else if (wanted && b / gap - (run.first + run.count - 1) / gap > 1) {
            break;
        } else if (wanted) {
            run.count = b - run.first + 1;
        }
    }
    return run;
}

/* Whether one run of one array is all, which is *run; and the bands of the longest run. */
static bool is_plain(const HcProduct *product, const int32_t *used, int32_t count, Run *run,
                     int32_t *longest) {
    int32_t runs = 0;
    *longest = 0;
    for (int32_t a = 0; a < product->array_count; a++) {
        Run next = next_run(product, used, count, a, 0);
        while (next.count > 0) {
            *longest = next.count > *longest ? next.count : *longest;
            *run = next;
            runs++;
            next = next_run(product, used, count, a, next.first + next.count);
        }
    }
    return runs == 1 && !product->array[run->array].mirrored && product->array[0].chunks == NULL;
}

int64_t hc_product_samples(const HcProduct *product) {
    return product->samples > 0 ? product->samples : product->scene.samples;
}

int64_t hc_product_first_sample(const HcProduct *product, int32_t array) {
    return product->array[array].mirrored
               ? product->scene.samples - product->sample0 - hc_product_samples(product)
               : product->sample0;
}

/* Lines of a box in scratch memory: at most a row of chunks. */
static int64_t scratch_lines(const HcProduct *product, int64_t lines) {
    int64_t most = 1;
    for (int32_t a = 0; a < product->array_count; a++) {
        most = hc_max64(most, chunk_of(&product->array[a], HC_AXIS_LINE));
    }
    return hc_min64(most, lines);
}

static size_t whole_words(size_t bytes) {
    return (bytes + 7) & ~(size_t)7;
}

size_t hc_product_block_bytes(const HcProduct *product, int32_t count, int64_t lines) {
    size_t line = (size_t)hc_product_samples(product) * hc_type_bytes(product->scene.type);
    return whole_words((size_t)lines * line * (size_t)count);
}

HcRaw hc_product_block(const HcProduct *product, int32_t count, int64_t line0, int32_t lines, void *to) {
    int64_t each = (int64_t)hc_type_bytes(product->scene.type), row = hc_product_samples(product) * each;
    return (HcRaw){.data = to,
                   .type = product->scene.type,
                   .line0 = line0,
                   .lines = lines,
                   .samples = (int32_t)hc_product_samples(product),
                   .bands = count,
                   .stride_line = row * count,
                   .stride_sample = each,
                   .stride_band = row};
}

size_t hc_product_bytes(const HcProduct *product, const int32_t *used, int32_t count, int64_t lines) {
    Run run = {0};
    int32_t longest = 0;
    size_t line = (size_t)hc_product_samples(product) * hc_type_bytes(product->scene.type);
    if (is_plain(product, used, count, &run, &longest)) {
        return (size_t)lines * line * (size_t)run.count;
    }
    return hc_product_block_bytes(product, count, lines) +
           (size_t)scratch_lines(product, lines) * line * (size_t)longest;
}

int32_t hc_product_stored_band(const HcProduct *product, const int32_t *used, int32_t count, int32_t band) {
    Run run = {0};
    int32_t longest = 0, k = 0;
    if (is_plain(product, used, count, &run, &longest)) {
        return product->band[band].band - run.first;
    }
    while (k < count - 1 && band_at(used, k) != band) {
        k++;
    }
    return k;
}

/* netCDF gives no reason for an array that it cannot decode (a filter that is not installed). The reader of
 * its chunk index does. */
static HcStatus check_known(const HcProductArray *array, HcError *err) {
    HcChunkIndex *index = NULL;
    HcError why = {0};
    bool local = hc_read_is_file(array->file, NULL, NULL);
    HcStatus status = local ? hc_chunk_hdf5(&index, array->file, array->dataset, array->axis, &why) : HC_OK;
    if (status == HC_OK && index != NULL) {
        hc_chunk_index_free(index);
    }
    return status == HC_E_INPUT ? hc_fail(err, status, "%s", why.text) : HC_OK;
}

/* One box, in the order of its array. */
static HcStatus read_box(HcProduct *product, const Run *run, int64_t line0, int64_t lines, void *to,
                         HcRaw *box, HcError *err) {
    HcProductArray *array = &product->array[run->array];
    const HcScene *scene = &product->scene;
    GUInt64 start[3];
    size_t size[3];
    int64_t stride[3], step = (int64_t)hc_type_bytes(scene->type), samples = hc_product_samples(product);
    for (int i = 2; i >= 0; i--) {
        HcAxis axis = array->axis[i];
        start[i] = (GUInt64)(axis == HC_AXIS_LINE   ? line0
                             : axis == HC_AXIS_BAND ? run->first
                                                    : hc_product_first_sample(product, run->array));
        size[i] = (size_t)(axis == HC_AXIS_LINE ? lines : axis == HC_AXIS_BAND ? run->count : samples);
        stride[axis] = step;
        step *= (int64_t)size[i];
    }
    *box = (HcRaw){.data = to,
                   .type = scene->type,
                   .line0 = line0,
                   .lines = (int32_t)lines,
                   .samples = (int32_t)samples,
                   .bands = run->count,
                   .stride_line = stride[HC_AXIS_LINE],
                   .stride_sample = stride[HC_AXIS_SAMPLE],
                   .stride_band = stride[HC_AXIS_BAND]};
    HcGdalErrors messages;
    if (!array->checked) {
        HC_OR_RETURN(hc_guard_array(array->file, array->dataset, err));
        array->checked = true;
    }
    hc_gdal_catch(&messages);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(hc_read_gdal_code(scene->type));
    int read = GDALMDArrayRead(array->handle, start, size, NULL, NULL, type, to, to, (size_t)step);
    GDALExtendedDataTypeRelease(type);
    hc_gdal_release();
    if (!read) {
        const char *why = NULL;
        HcStatus status = hc_gdal_why(&messages, HC_E_IO, &why);
        if (!messages.failed && hc_hdf5_said()[0] == '\0') {
            HC_OR_RETURN(check_known(array, err));
        }
        return hc_fail(err, status, "%s: reading lines %" PRId64 " to %" PRId64 " of %s failed: %s",
                       array->file, line0, line0 + lines - 1, array->dataset, why);
    }
    return HC_OK;
}

HcStatus hc_product_value(const HcProduct *product, int32_t number, int64_t line, int64_t sample,
                          int32_t band, uint64_t *value, HcError *err) {
    const HcProductArray *array = &product->array[number];
    HcGdalErrors messages;
    GUInt64 start[3];
    const size_t one[3] = {1, 1, 1};
    for (int i = 0; i < 3; i++) {
        HcAxis axis = array->axis[i];
        start[i] = (GUInt64)(axis == HC_AXIS_LINE ? line : axis == HC_AXIS_BAND ? band : sample);
    }
    *value = 0;
    hc_gdal_catch(&messages);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(hc_read_gdal_code(product->scene.type));
    int read = GDALMDArrayRead(array->handle, start, one, NULL, NULL, type, value, value, sizeof *value);
    GDALExtendedDataTypeRelease(type);
    hc_gdal_release();
    const char *why = NULL;
    HcStatus status = read ? HC_OK : hc_gdal_why(&messages, HC_E_INPUT, &why);
    return read ? HC_OK
                : hc_fail(err, status, "%s: line %" PRId64 " of %s cannot be read: %s", array->file, line,
                          array->dataset, why);
}

static void copy_line(char *to, const char *from, int64_t step, int64_t samples, size_t bytes) {
    if (step == (int64_t)bytes) {
        memcpy(to, from, (size_t)samples * bytes);
        return;
    }
    for (int64_t s = 0; s < samples; s++, to += bytes, from += step) {
        memcpy(to, from, bytes);
    }
}

void hc_product_scatter(const HcProduct *product, const int32_t *used, const HcProductBox *box,
                        const HcRaw *raw) {
    size_t bytes = hc_type_bytes(raw->type);
    const HcRaw *from_raw = &box->raw;
    bool mirrored = product->array[box->array].mirrored;
    for (int32_t k = 0; k < raw->bands; k++) {
        const HcProductBand *band = &product->band[band_at(used, k)];
        int32_t within = band->band - box->first;
        if (band->array != box->array || within < 0 || within >= box->count) {
            continue;
        }
        within = box->place != NULL ? box->place[within] : within;
        for (int32_t l = 0; l < from_raw->lines; l++) {
            int64_t line = from_raw->line0 - raw->line0 + l;
            const char *from = (const char *)from_raw->data + l * from_raw->stride_line +
                               within * from_raw->stride_band +
                               (mirrored ? (from_raw->samples - 1) * from_raw->stride_sample : 0);
            char *to = (char *)raw->data + line * raw->stride_line + k * raw->stride_band;
            copy_line(to, from, mirrored ? -from_raw->stride_sample : from_raw->stride_sample, raw->samples,
                      bytes);
        }
    }
}

static HcStatus read_run(HcProduct *product, const int32_t *used, const Run *run, void *scratch,
                         const HcRaw *raw, HcError *err) {
    int64_t rows = chunk_of(&product->array[run->array], HC_AXIS_LINE);
    for (int64_t line = raw->line0, end = raw->line0 + raw->lines; line < end;) {
        HcProductBox box = {.array = run->array, .first = run->first, .count = run->count};
        int64_t lines = hc_min64(end, (line / rows + 1) * rows) - line;
        HC_OR_RETURN(read_box(product, run, line, lines, scratch, &box.raw, err));
        hc_product_scatter(product, used, &box, raw);
        line += lines;
    }
    return HC_OK;
}

HcStatus hc_product_read(HcProduct *product, const int32_t *used, int32_t count, int64_t line0, int32_t lines,
                         void *to, HcRaw *raw, HcError *err) {
    Run plain = {0};
    int32_t longest = 0;
    if (is_plain(product, used, count, &plain, &longest)) {
        return read_box(product, &plain, line0, lines, to, raw, err);
    }
    void *scratch = (char *)to + hc_product_block_bytes(product, count, lines);
    *raw = hc_product_block(product, count, line0, lines, to);
    for (int32_t a = 0; a < product->array_count; a++) {
        Run run = next_run(product, used, count, a, 0);
        for (; run.count > 0; run = next_run(product, used, count, a, run.first + run.count)) {
            HC_OR_RETURN(read_run(product, used, &run, scratch, raw, err));
        }
    }
    return HC_OK;
}
