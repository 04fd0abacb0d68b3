#include "pipeline/picture/unit.h"
#include "pipeline/chain.h"
#include "pipeline/picture/scale.h"
#include "pipeline/source.h"

const char *hc_unit_of(const HcStage *stage, int32_t band) {
    for (int32_t s = stage->place - 1; s >= 0; s--) {
        const HcStage *from = &stage->chain->stages[s];
        if (from->kind->rare.unit != NULL) {
            return from->kind->rare.unit(from, band);
        }
        if (from->kind->role == HC_ROLE_SOURCE) {
            /* Stored numbers are not in the unit of physical ones. */
            bool stored = from->out.gain != NULL || !hc_scene_is_spectral(&from->out);
            bool part = from->out.gain == NULL && hc_scale_is_fraction(&from->out, band);
            return part     ? "fraction"
                   : stored ? NULL
                            : hc_reader_unit(hc_view_reader(stage->chain->source->view));
        }
        if (!from->needs.passes_through && !from->kind->rare.keeps_values) {
            return NULL;
        }
    }
    return NULL;
}
