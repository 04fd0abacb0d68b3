/* Scanner: the raw scene of a line scanner and its dark and white references, found by their names:
 *
 *     Specim     capture/NAME.hdr, DARKREF_NAME.hdr, WHITEREF_NAME.hdr, WHITEDARKREF_NAME.hdr
 *     Headwall   raw.hdr, darkReference.hdr, whiteReference.hdr; or NAME_raw.hdr, NAME_darkReference.hdr, ...
 *     Resonon    NAME.bip.hdr, and of an unpacked calibration offset_...ceiling_...bip.hdr
 *     others     NAME.hdr, and headers with "dark" and "white" in their names */
#ifndef HC_IO_READ_SCANNER_H
#define HC_IO_READ_SCANNER_H

#include "core/text.h"

#include <stdbool.h>

typedef enum HcScannerFile {
    HC_SCANNER_RAW,
    HC_SCANNER_DARK,
    HC_SCANNER_WHITE,
    HC_SCANNER_WHITE_DARK, /* the dark of the white reference, where it has its own */
    HC_SCANNER_FILES
} HcScannerFile;

/* Zero-initialise; hc_scanner_clear() is always safe. */
typedef struct HcScanner {
    char *file[HC_SCANNER_FILES]; /* headers; NULL = there is none, or several may be meant */
    const char *maker;            /* "Specim"; NULL where the names do not say */
} HcScanner;

/* Of a folder or of a scene, whose references lie beside it. A folder without references has no raw scene
 * here. Among several references, the one with the name of the scene counts. HC_E_INPUT: references, but
 * several raw scenes. `out` must be zero or cleared. */
HcStatus hc_scanner_find(HcScanner *out, const char *path, HcError *err) HC_MUST_CHECK;
void hc_scanner_clear(HcScanner *scanner);

/* Whether a path has the name of a reference, as Specim, Headwall or Resonon give it. */
bool hc_scanner_is_reference(const char *path);

/* Adds "a folder of Specim: the scene is NAME.hdr, ..." */
void hc_scanner_describe(const HcScanner *scanner, HcText *to);

/* The exposure in the header of a scene, in the unit of its maker; 0 where it does not say. The fields are
 * tint, exposure, exposure time, integration time and shutter. HC_E_INPUT: it is no number above 0. */
HcStatus hc_scanner_exposure(const char *path, double *exposure, HcError *err) HC_MUST_CHECK;

/* The first count that is saturated, by the field ceiling (Resonon); 0 where the header does not say. */
HcStatus hc_scanner_ceiling(const char *path, double *ceiling, HcError *err) HC_MUST_CHECK;

#endif
