/* Lines of a product from the chunks of its arrays, past GDAL. Each array is read by itself, a few lines at a
 * time into scratch memory, and its bands go to their places in the raw block: two detectors, bands in
 * another order, and samples from right to left come together there. */
#include "core/allocate.h"
#include "io/chunk/zarr.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"

#include <stdlib.h>

#define SCRATCH_BYTES ((int64_t)8 << 20)

/* ---- opening ---- */

/* Compares the first value of the last chunk with GDAL's. One that is broken is not left to GDAL, whose
 * library may take memory after it for values. */
static HcStatus agree(HcChunks *chunks, const HcProduct *product, int32_t array, bool *same, HcError *err) {
    const HcChunkIndex *index = hc_chunks_index(chunks);
    int64_t first[HC_AXES], size[HC_AXES], number = hc_chunk_count(index) - 1;
    uint64_t value = 0;
    HcError other = {0};
    hc_chunk_box(index, number, first, size);
    HcChunkPixel pixel = {
        .line = first[HC_AXIS_LINE], .sample = first[HC_AXIS_SAMPLE], .band = (int32_t)first[HC_AXIS_BAND]};
    *same = hc_chunk_is_remote(index); /* GDAL does not repeat a request that fails */
    if (*same) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_chunks_look(chunks, number, &pixel, 1, err));
    HcStatus read = hc_product_value(product, array, pixel.line, pixel.sample, pixel.band, &value, &other);
    *same = read == HC_OK && value == pixel.value;
    return HC_OK;
}

/* An array of Zarr has a folder as its file. */
static HcStatus find_index(HcChunkIndex **index, const HcProductArray *array, HcError *err) {
    if (hc_zarr_is(array->file)) {
        return hc_chunk_zarr(index, array->file, array->axis, err);
    }
    return hc_read_is_file(array->file, NULL, NULL)
               ? hc_chunk_hdf5(index, array->file, array->dataset, array->axis, err)
               : HC_OK;
}

HcStatus hc_product_array_chunks(HcChunks **out, const HcProduct *product, int32_t number, HcError *err) {
    HcStatus status = HC_OK;
    const HcProductArray *array = &product->array[number];
    const HcScene *scene = &product->scene;
    HcChunkIndex *index = NULL;
    HcChunks *chunks = NULL;
    bool same = false;
    *out = NULL;
    HC_OR_RETURN(find_index(&index, array, err));
    bool fits = index != NULL && index->size[HC_AXIS_LINE] == scene->lines &&
                index->size[HC_AXIS_SAMPLE] == scene->samples && index->size[HC_AXIS_BAND] == array->bands &&
                index->type == scene->type;
    if (!fits) {
        hc_chunk_index_free(index);
        return HC_OK;
    }
    HC_TRY(hc_chunks_open(&chunks, index, err));
    HC_TRY(agree(chunks, product, number, &same, err));
    if (same) {
        *out = chunks;
        chunks = NULL;
    }
done:
    hc_chunks_close(chunks);
    return status;
}

void hc_product_close_chunks(HcProductArray *array) {
    hc_chunks_close(array->chunks);
    free(array->used);
    array->chunks = NULL;
    array->used = NULL;
    array->used_count = 0;
}

HcStatus hc_product_open_chunks(HcProduct *product, HcError *err) {
    HcStatus status = HC_OK;
    bool all = true;
    for (int32_t a = 0; a < product->array_count && all && status == HC_OK; a++) {
        status = hc_product_array_chunks(&product->array[a].chunks, product, a, err);
        all = product->array[a].chunks != NULL;
    }
    if (status == HC_OK && all) {
        status = hc_product_use(product, NULL, product->scene.bands, err);
    }
    for (int32_t a = 0; a < product->array_count && (status != HC_OK || !all); a++) {
        hc_product_close_chunks(&product->array[a]);
    }
    return status;
}

/* ---- what is read ---- */

HcStatus hc_product_use(HcProduct *product, const int32_t *used, int32_t count, HcError *err) {
    for (int32_t a = 0; a < product->array_count; a++) {
        HcProductArray *array = &product->array[a];
        bool *wanted = NULL;
        if (array->chunks == NULL) {
            continue;
        }
        free(array->used);
        array->used = NULL;
        array->used_count = 0;
        HC_OR_RETURN(hc_new(wanted, array->bands, "a list of bands", err));
        HcStatus status = hc_new(array->used, array->bands, "a list of bands", err);
        for (int32_t k = 0; k < count; k++) {
            const HcProductBand *band = &product->band[used != NULL ? used[k] : k];
            if (band->array == a) {
                wanted[band->band] = true;
            }
        }
        for (int32_t b = 0; b < array->bands && status == HC_OK; b++) {
            if (wanted[b]) {
                array->used[array->used_count++] = b;
            }
        }
        free(wanted);
        if (status == HC_OK && array->used_count > 0) {
            status = hc_chunks_use(array->chunks, array->used, array->used_count, err);
        }
        HC_OR_RETURN(status);
        hc_chunks_use_samples(array->chunks, hc_product_first_sample(product, a),
                              hc_product_samples(product));
    }
    return HC_OK;
}

/* Arrays share the threads, one after the other, and the memory, all at once. */
size_t hc_product_settle_chunks(HcProduct *product, int32_t threads, int64_t again, double bytes,
                                bool repeats) {
    size_t all = 0;
    for (int32_t a = 0; a < product->array_count; a++) {
        HcChunks *chunks = product->array[a].chunks;
        if (chunks != NULL) {
            double share = (bytes - (double)all) / (product->array_count - a);
            HcChunkPlan plan = repeats ? hc_chunks_plan_again(chunks, threads, again, share)
                                       : hc_chunks_plan(hc_chunks_index(chunks), threads, again, share);
            hc_chunks_plan_ahead(&plan, hc_chunks_index(chunks), product->line_end, share);
            hc_chunks_settle(chunks, &plan);
            all += hc_chunks_settled(chunks)->bytes;
        }
    }
    return all;
}

/* ---- lines ---- */

/* Lines of an array that are brought at once, and the bytes of the scratch memory for them. */
static size_t scratch_bytes(const HcProduct *product, int64_t lines, int64_t *step) {
    int64_t one = 0;
    for (int32_t a = 0; a < product->array_count; a++) {
        one = hc_max64(one, (int64_t)hc_chunks_bytes(product->array[a].chunks, 1));
    }
    *step = hc_max64(1, hc_min64(lines, SCRATCH_BYTES / hc_max64(one, 1)));
    return (size_t)(*step * one);
}

size_t hc_product_chunk_bytes(const HcProduct *product, int32_t count, int64_t lines) {
    int64_t step = 0;
    return hc_product_block_bytes(product, count, lines) + scratch_bytes(product, lines, &step);
}

/* Where each band of an array lies among those that are read; fresh memory. */
static HcStatus places_of(const HcProductArray *array, int32_t **place, HcError *err) {
    HC_OR_RETURN(hc_new(*place, array->bands, "a list of bands", err));
    for (int32_t k = 0; k < array->used_count; k++) {
        (*place)[array->used[k]] = k;
    }
    return HC_OK;
}

/* The array that has all bands that are read, in their order: its lines need no copy. -1 = none. */
static int32_t only_array(const HcProduct *product, const int32_t *used, int32_t count) {
    int32_t a = product->band[used != NULL ? used[0] : 0].array;
    const HcProductArray *array = &product->array[a];
    bool only = !array->mirrored && array->used_count == count &&
                hc_chunks_index(array->chunks)->type == product->scene.type;
    for (int32_t k = 0; k < count && only; k++) {
        const HcProductBand *band = &product->band[used != NULL ? used[k] : k];
        only = band->array == a && band->band == array->used[k];
    }
    return only ? a : -1;
}

HcStatus hc_product_read_chunks(HcProduct *product, const int32_t *used, int32_t count, int64_t line0,
                                int32_t lines, void *to, HcRaw *raw, HcError *err) {
    int64_t step = 0;
    int32_t only = only_array(product, used, count);
    if (only >= 0) {
        return hc_chunks_read(product->array[only].chunks, line0, lines, to, raw, err);
    }
    void *scratch = (char *)to + hc_product_block_bytes(product, count, lines);
    (void)scratch_bytes(product, lines, &step);
    *raw = hc_product_block(product, count, line0, lines, to);
    for (int32_t a = 0; a < product->array_count; a++) {
        HcStatus status = HC_OK;
        HcProductArray *array = &product->array[a];
        HcProductBox box = {.array = a, .count = array->bands};
        int32_t *place = NULL;
        if (array->used_count == 0) {
            continue;
        }
        HC_OR_RETURN(places_of(array, &place, err));
        box.place = place;
        for (int64_t line = 0; line < lines && status == HC_OK; line += step) {
            int32_t some = (int32_t)hc_min64(step, lines - line);
            status = hc_chunks_read(array->chunks, line0 + line, some, scratch, &box.raw, err);
            if (status == HC_OK) {
                hc_product_scatter(product, used, &box, raw);
            }
        }
        free(place);
        HC_OR_RETURN(status);
    }
    return HC_OK;
}
