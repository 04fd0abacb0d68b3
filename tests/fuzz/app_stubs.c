/* What backend.c of the program defines: harnesses of app/ open no device, and need no arithmetic. */
#include "app/app.h"

HcStatus hc_backend_open(const HcCommon *common, HcCompute **out, char *reason, size_t reason_size,
                         HcError *err) {
    (void)common, (void)out, (void)reason, (void)reason_size;
    return hc_fail(err, HC_E_DEVICE, "no device in a harness");
}

HcStatus hc_backend_begin(const HcCommon *common, HcOpening *opening, HcError *err) {
    (void)common, (void)opening;
    return hc_fail(err, HC_E_DEVICE, "no device in a harness");
}

HcStatus hc_backend_end(HcOpening *opening, HcCompute **out, char *reason, size_t reason_size, HcError *err) {
    (void)opening, (void)out, (void)reason, (void)reason_size;
    return hc_fail(err, HC_E_DEVICE, "no device in a harness");
}

HcStatus hc_backend_open_plain(const void *user, HcCompute **out, HcError *err) {
    (void)user, (void)out;
    return hc_fail(err, HC_E_DEVICE, "no device in a harness");
}
