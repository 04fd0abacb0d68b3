#include "pipeline/stages/endmembers/members.h"
#include "core/allocate.h"

#include <stdlib.h>
#include <string.h>

static const char what[] = "the places of endmembers";

void hc_members_clear(HcMembers *members) {
    free(members->pixel);
    *members = (HcMembers){0};
}

HcStatus hc_members_take(HcMembers *members, const HcSpatial *spatial, const HcScene *scene,
                         const int64_t *pixel, int32_t count, HcError *err) {
    bool filtered = spatial->pixel != NULL;
    size_t side = filtered ? (size_t)hc_spatial_window(spatial) : 1;
    int64_t end = 0;
    HC_OR_RETURN(hc_new(members->pixel, (size_t)count * side * side, what, err));
    members->count = count;
    for (int32_t k = 0; k < count; k++) {
        if (filtered) {
            end += hc_spatial_members(spatial, scene, pixel[k], members->pixel + end);
        } else {
            members->pixel[end++] = pixel[k];
        }
        members->end[k] = end;
    }
    return HC_OK;
}

static int64_t first_of(const HcMembers *members, int32_t endmember) {
    return endmember > 0 ? members->end[endmember - 1] : 0;
}

int64_t hc_members_of(const HcMembers *members, int32_t endmember) {
    return members->end[endmember] - first_of(members, endmember);
}

static int by_place(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a;
    int64_t y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

HcStatus hc_members_want(const HcMembers *members, const HcStage *stage, HcSpectra *spectra, HcError *err) {
    HcStatus status = HC_OK;
    HcLabelled *wanted = &spectra->pixels;
    int64_t count = members->end[members->count - 1];
    int64_t *place = NULL;
    HC_TRY(hc_new(place, count, what, err));
    HC_TRY(hc_new(wanted->sample, count, what, err));
    HC_TRY(hc_new(wanted->line, count, what, err));
    HC_TRY(hc_new(wanted->label, count, what, err));
    memcpy(place, members->pixel, (size_t)count * sizeof *place);
    qsort(place, (size_t)count, sizeof *place, by_place);
    for (int64_t i = 0; i < count; i++) {
        if (i == 0 || place[i] != place[i - 1]) {
            wanted->line[wanted->count] = (int32_t)(place[i] / stage->in.samples);
            wanted->sample[wanted->count++] = (int32_t)(place[i] % stage->in.samples);
        }
    }
    HC_TRY(hc_spectra_open(spectra, stage->compute, stage->in.bands, err));
done:
    free(place);
    return status;
}

HcStatus hc_members_mean(const HcMembers *members, const HcStage *stage, const HcSpectra *spectra,
                         float *mean, HcError *err) {
    const HcLabelled *pixels = &spectra->pixels;
    size_t bands = (size_t)stage->in.bands;
    double *sum = NULL;
    HC_OR_RETURN(hc_new(sum, bands, "endmembers", err));
    for (int32_t k = 0; k < members->count; k++, mean += bands) {
        int64_t i = 0;
        memset(sum, 0, bands * sizeof *sum);
        for (int64_t m = first_of(members, k); m < members->end[k]; m++) { /* both ascend */
            while (pixels->line[i] * stage->in.samples + pixels->sample[i] != members->pixel[m]) {
                i++;
            }
            for (size_t b = 0; b < bands; b++) {
                sum[b] += (double)spectra->value[(size_t)i * bands + b];
            }
        }
        for (size_t b = 0; b < bands; b++) {
            mean[b] = (float)(sum[b] / (double)hc_members_of(members, k));
        }
    }
    free(sum);
    return HC_OK;
}
