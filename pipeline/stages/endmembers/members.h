/* Members: the pixels whose mean each endmember is, one alone or those that --spatial found similar. */
#ifndef HC_PIPELINE_STAGES_ENDMEMBERS_MEMBERS_H
#define HC_PIPELINE_STAGES_ENDMEMBERS_MEMBERS_H

#include "pipeline/spectra/spectra.h"
#include "pipeline/stages/endmembers/spatial.h"

/* Zero-initialise; hc_members_clear() is always safe. */
typedef struct HcMembers {
    int32_t count;                  /* endmembers */
    int64_t *pixel;                 /* [end[count - 1]] those of an endmember ascending */
    int64_t end[HC_ENDMEMBERS_MAX]; /* behind the last one of each */
} HcMembers;

/* Of the endmembers pixel[count]; a spatial filter that was not used has none but these. */
HcStatus hc_members_take(HcMembers *members, const HcSpatial *spatial, const HcScene *scene,
                         const int64_t *pixel, int32_t count, HcError *err) HC_MUST_CHECK;

/* Members of an endmember. */
int64_t hc_members_of(const HcMembers *members, int32_t endmember);

/* Opens `spectra` for all of them, in the order of the scene: one may be part of several means. */
HcStatus hc_members_want(const HcMembers *members, const HcStage *stage, HcSpectra *spectra,
                         HcError *err) HC_MUST_CHECK;

/* mean[count][bands] of the spectra, once they are there. */
HcStatus hc_members_mean(const HcMembers *members, const HcStage *stage, const HcSpectra *spectra,
                         float *mean, HcError *err) HC_MUST_CHECK;

void hc_members_clear(HcMembers *members);

#endif
