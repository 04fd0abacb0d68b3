#include "pipeline/spectra/band_map.h"
#include "core/allocate.h"
#include "core/operation/image/project.h"
#include "pipeline/memory.h"

HcStatus hc_band_map_make(HcBandMap *map, int32_t in, int32_t out, HcError *err) {
    free(map->weight);
    map->weight = NULL;
    size_t weights = (size_t)in * (size_t)out;
    HC_OR_RETURN(hc_new(map->weight, weights + (size_t)out, "the weights of bands", err));
    map->offset = map->weight + weights;
    map->in = in;
    map->out = out;
    return HC_OK;
}

/* Physical values instead of stored ones. */
static void take_scale(HcBandMap *map, const HcScene *from) {
    for (int32_t b = 0; b < map->in; b++) {
        for (int32_t k = 0; k < map->out; k++) {
            double *weight = &map->weight[(size_t)b * (size_t)map->out + (size_t)k];
            map->offset[k] += *weight * from->offset[b];
            *weight *= from->gain[b];
        }
    }
}

HcStatus hc_band_map_scale(HcBandMap *map, HcStage *stage, double sums, bool physical, HcError *err) {
    const HcScene *from = &stage->in;
    HcScene *to = &stage->out;
    free(to->gain);
    free(to->offset);
    to->gain = to->offset = NULL;
    to->integer_limit = 0;
    if (from->gain == NULL || from->offset == NULL) {
        return HC_OK;
    }
    if (physical || !hc_scene_has_one_scale(from)) {
        take_scale(map, from);
        to->has_nodata = false; /* that is a stored value */
        if (!physical) {
            hc_stage_note(stage, "gains or offsets of bands differ: physical values go out");
        }
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(to->gain, to->bands, "gains of bands", err));
    HC_OR_RETURN(hc_new(to->offset, to->bands, "offsets of bands", err));
    for (int32_t k = 0; k < to->bands; k++) {
        to->gain[k] = from->gain[0];
        to->offset[k] = from->offset[0] * sums;
    }
    return HC_OK;
}

size_t hc_band_map_bytes(const HcBandMap *map) {
    return ((size_t)map->in + 1) * (size_t)map->out * sizeof *map->weight;
}

HcStatus hc_band_map_open(HcBandMap *map, HcCompute *compute, HcError *err) {
    return hc_memory_upload(compute, map->weight, hc_band_map_bytes(map), &map->device, err);
}

HcStatus hc_band_map_process(const HcBandMap *map, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                             HcError *err) {
    const double *weight = map->device.data;
    return hc_project(queue, in, weight, NULL, weight + (size_t)map->in * (size_t)map->out, out, err);
}

void hc_band_map_clear(HcBandMap *map, HcCompute *compute) {
    hc_memory_release(compute, &map->device);
    free(map->weight);
    *map = (HcBandMap){0};
}
