#include "pipeline/source.h"
#include "core/allocate.h"
#include "pipeline/memory.h"
#include "pipeline/zero_border.h"

#include <stdlib.h>
#include <string.h>

HcStatus hc_source_use_bands(HcSource *source, const int32_t *bands, int32_t count, HcError *err) {
    free(source->bands);
    source->band_count = 0;
    HC_OR_RETURN(hc_new(source->bands, (size_t)count, "a list of bands", err));
    memcpy(source->bands, bands, (size_t)count * sizeof *bands);
    source->band_count = count;
    return HC_OK;
}

HcStatus hc_source_open(HcSource *source, HcCompute *compute, HcError *err) {
    HC_OR_RETURN(hc_view_use_bands(source->view, source->bands, source->band_count, err));
    HC_OR_RETURN(hc_new(source->stored, (size_t)source->band_count, "a list of bands", err));
    for (int32_t k = 0; k < source->band_count; k++) {
        source->stored[k] = hc_view_stored_band(source->view, source->bands[k]);
    }
    HC_OR_RETURN(hc_memory_upload(compute, source->stored,
                                  (size_t)source->band_count * sizeof *source->stored, &source->index, err));
    HC_OR_RETURN(hc_memory_zeros(compute, HC_MASK_REASONS * sizeof(int64_t), &source->counts, err));
    int32_t masks = hc_view_mask_count(source->view);
    if (masks > 0) {
        HC_OR_RETURN(hc_new(source->left_out, masks, "counts of masks", err));
    }
    source->decode.band_index = source->index.data;
    source->decode.counts = source->counts.data;
    return HC_OK;
}

HcStatus hc_source_reset_counts(HcSource *source, HcQueue *queue, HcError *err) {
    return hc_zero(queue, source->counts.data, HC_MASK_REASONS * sizeof(int64_t), err);
}

HcStatus hc_source_counts(const HcSource *source, HcCompute *compute, int64_t counts[HC_MASK_REASONS],
                          HcError *err) {
    return hc_memory_download(compute, &source->counts, counts, HC_MASK_REASONS * sizeof(int64_t), err);
}

void hc_source_look(HcSource *source, const HcRaw *raw, int64_t line0, int32_t lines) {
    hc_view_count(source->view, raw, line0, lines, source->left_out);
    if (source->zeros_may_be_none) {
        source->zero_border += hc_zero_border_count(raw, source->stored, source->band_count, line0, lines);
    }
}

bool hc_source_may_have_border(const HcSource *source, int64_t line) {
    return source->zeros_may_be_none && hc_view_ends_in_zero(source->view, line, source->bands[0]);
}

bool hc_source_passes_bytes(const HcSource *source) {
    enum { PROBES = 16 };
    const int64_t lines = hc_view_scene(source->view)->lines;
    if (!hc_view_passes_bytes(source->view)) {
        return false;
    }
    bool border = false;
    for (int64_t probe = 0; probe < PROBES && !border; probe++) { /* the first and the last line among them */
        border = hc_source_may_have_border(source, (lines - 1) * probe / (PROBES - 1));
    }
    return !border;
}

void hc_source_close(HcSource *source, HcCompute *compute) {
    hc_memory_release(compute, &source->index);
    hc_memory_release(compute, &source->counts);
    hc_view_close(source->view);
    free(source->bands);
    free(source->stored);
    free(source->left_out);
    *source = (HcSource){0};
}
