/* What GDAL says, kept for our own one line and never printed. */
#ifndef HC_IO_GDAL_ERRORS_H
#define HC_IO_GDAL_ERRORS_H

#include "core/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first failure of GDAL in this thread since hc_gdal_catch. */
typedef struct HcGdalErrors {
    bool failed;
    int number; /* errno when it was reported, 0 = none */
    char text[400];
    char warning[200]; /* the first warning */
} HcGdalErrors;

/* Registers the drivers at the first call, and collects the messages of this thread in `errors` until
 * hc_gdal_release. Calls nest. */
void hc_gdal_catch(HcGdalErrors *errors);
void hc_gdal_release(void);

/* "path: what GDAL said": the text of the failure, put as "No space left on device" where that is behind it.
 */
HcStatus hc_gdal_fail(HcError *err, HcStatus status, const char *path, const HcGdalErrors *errors);

#ifdef __cplusplus
}
#endif
#endif
