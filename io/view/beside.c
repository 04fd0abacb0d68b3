/* A raster of one band whose values belong to the pixels of the scene, such as their noise. */
#include "core/allocate.h"
#include "io/view/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

struct HcViewBeside {
    HcViewRaster *raster;
    int64_t samples; /* of the view */
    HcViewBand band;
    double nodata;
};

HcStatus hc_view_beside_open(HcViewBeside **out, const HcView *view, const char *path, HcText *note,
                             HcError *err) {
    HcStatus status = HC_OK;
    HcViewBeside *beside = NULL;
    HcViewSite site = hc_view_site(view, note);
    *out = NULL;
    HC_OR_RETURN(hc_new(beside, 1, "a raster", err));
    HC_TRY(hc_view_raster_open(&beside->raster, path, NULL, &site, err));
    const HcReader *reader = hc_view_raster_reader(beside->raster);
    const HcScene *scene = hc_reader_scene(reader);
    if (scene->bands != 1) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: has %" PRId32 " bands, a raster of one band is needed", path,
                       scene->bands));
    }
    beside->samples = site.scene->samples;
    HC_TRY(hc_view_raster_add_band(beside->raster, 0, err));
    beside->band = (HcViewBand){.nodata = &beside->nodata,
                                .count = hc_reader_nodata(reader, 0, &beside->nodata),
                                .none = NAN,
                                .scaled = scene->gain != NULL,
                                .gain = scene->gain != NULL ? scene->gain[0] : 1,
                                .offset = scene->gain != NULL ? scene->offset[0] : 0};
    *out = beside;
    beside = NULL;
done:
    hc_view_beside_close(beside);
    return status;
}

void hc_view_beside_close(HcViewBeside *beside) {
    if (beside != NULL) {
        hc_view_raster_close(beside->raster);
        free(beside);
    }
}

HcStatus hc_view_beside_read(HcViewBeside *beside, int64_t line0, int64_t lines, float *to, HcError *err) {
    int64_t step = hc_view_raster_lines(beside->raster);
    const HcReader *reader = hc_view_raster_reader(beside->raster);
    for (int64_t done = 0; done < lines; done += step) {
        HcRaw raw = {0};
        int32_t count = (int32_t)hc_min64(step, lines - done);
        HC_OR_RETURN(hc_view_raster_read(beside->raster, line0 + done, count, &raw, err));
        if (raw.samples > beside->samples) { /* whole lines of the file */
            raw.data = (const char *)raw.data + hc_view_raster_sample0(beside->raster) * raw.stride_sample;
            raw.samples = (int32_t)beside->samples;
        }
        for (int32_t l = 0; l < count; l++) {
            hc_view_convert(&raw, l, hc_reader_stored_band(reader, 0), &beside->band,
                            to + (done + l) * beside->samples);
        }
        for (int64_t p = 0; raw.user_mask != NULL && p < count * beside->samples; p++) {
            to[done * beside->samples + p] = raw.user_mask[p] != 0 ? to[done * beside->samples + p] : NAN;
        }
    }
    return hc_reader_unchanged(reader, err);
}

size_t hc_view_beside_bytes(const HcViewBeside *beside) {
    return hc_view_raster_bytes(beside->raster);
}
