#include "core/operation/image/project.h"
#include "core/operation/check.h"

static HcStatus check(const HcQueue *queue, const HcBlock *in, const double *matrix, const HcBlock *out,
                      HcError *err) {
    HcStatus status = hc_check_pair(queue, in, out, 0, "project", err);
    if (status == HC_OK && matrix == NULL) {
        status = hc_fail(err, HC_E_USAGE, "project: the matrix is missing");
    }
    return status;
}

HcStatus hc_project(HcQueue *queue, const HcBlock *in, const double *matrix, const double *in_offset,
                    const double *out_offset, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check(queue, in, matrix, out, err));
    return hc_ops_of(queue)->project(queue, in, matrix, in_offset, out_offset, out, err);
}
