/* Whether the values of a library and of a scene are in the same unit: reflectances are stored from 0 to 1,
 * in percent, or from 0 to 10000. */
#ifndef HC_PIPELINE_SPECTRA_LIBRARY_UNIT_H
#define HC_PIPELINE_SPECTRA_LIBRARY_UNIT_H

#include "pipeline/spectra/library/fit.h"

/* What is known of the unit in which reflectances are stored. */
typedef struct HcValueUnit {
    double high; /* 99 % of the values are at most as large; NaN = no values are known */
    double one;  /* the value of reflectance 1, by a header; 0 = none says */
} HcValueUnit;

/* Of `count` values (NULL: none are known) and the header of a library, or of a scene: its gain, where it is
 * the same in all bands. */
HcValueUnit hc_library_unit(const HcLibraryFit *fit, const HcLibrary *library);
HcValueUnit hc_scene_unit(const HcScene *scene, const float *value, size_t count);

/* What the values of a library are to be multiplied by to be in the unit of the scene. The value of
 * reflectance 1 is what the header says, unless values lie more than 100 times below it or 10 times above;
 * else the power of ten p with 0.15 p < high <= 1.5 p. Unless both headers say it, 10 and 0.1 count as 1: a
 * dark scene is more common than reflectances in tenths. NaN where one of both is not known. */
double hc_unit_factor(const HcValueUnit *library, const HcValueUnit *scene);

/* The words that say so, in the buffer; NULL where the factor is 1 or NaN. */
#define HC_UNIT_NOTE 256 /* bytes of the buffer */
const char *hc_unit_note(char *buffer, const HcValueUnit *library, const HcValueUnit *scene);

/* The value that this share of |value| does not exceed, of some 100000 values evenly taken; NaN when there is
 * none. */
double hc_values_quantile(const float *value, size_t count, double share);

#endif
