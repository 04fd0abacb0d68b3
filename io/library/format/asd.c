/* Binary files of ASD FieldSpec and its like, by "ASD File Format version 8, revision B": a header of 484
 * bytes, the spectrum, and from version 2 on the white reference. */
#include "core/allocate.h"
#include "core/scene.h"
#include "core/text.h"
#include "io/library/format/parts.h"
#include "io/read/metadata/value.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Bytes of the header. */
enum {
    COMMENT = 3,
    COMMENT_BYTES = 157,
    KIND = 186,
    START = 191,
    STEP = 195,
    FORMAT = 199,
    CHANNELS = 204,
    NUMBER = 400,
    HEADER_BYTES = 484
};

/* What the spectrum is, in the file's own numbers. */
static const char *const kinds[] = {"raw counts",    "reflectance",   "radiance", "no unit",   "irradiance",
                                    "quality index", "transmittance", "unknown",  "absorbance"};
enum { REFLECTANCE = 1, RADIANCE = 2, IRRADIANCE = 4, KINDS = sizeof kinds / sizeof *kinds };

static double number_at(const HcSpectrumFile *file, size_t at, HcType type) {
    return hc_read_value(file->data + at, type, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__);
}

static bool is_asd(const HcSpectrumFile *file) {
    static const char *const versions[] = {"ASD", "as2", "as3", "as4", "as5", "as6", "as7", "as8"};
    bool is = false;
    for (size_t v = 0; v < sizeof versions / sizeof *versions && file->line == NULL; v++) {
        is = is || (file->bytes >= 3 && memcmp(file->data, versions[v], 3) == 0);
    }
    return is;
}

/* Numbers of the spectrum, of which the file must hold all. */
static HcStatus check_header(const HcSpectrumFile *file, HcType *type, int32_t *channels, HcError *err) {
    static const HcType types[] = {HC_FLOAT32, HC_INT32, HC_FLOAT64};
    if (file->bytes < HEADER_BYTES) {
        return hc_fail(err, HC_E_INPUT, "%s: the header of an ASD file has %d bytes, the file holds %zu",
                       file->path, (int)HEADER_BYTES, file->bytes);
    }
    size_t format = (unsigned char)file->data[FORMAT];
    *channels = (int32_t)number_at(file, CHANNELS, HC_UINT16);
    double start = number_at(file, START, HC_FLOAT32), step = number_at(file, STEP, HC_FLOAT32);
    if (format >= sizeof types / sizeof *types) {
        return hc_fail(err, HC_E_INPUT, "%s: byte %d: %zu is no type of values (0 to 2)", file->path,
                       (int)FORMAT, format);
    }
    if (*channels < 1) {
        return hc_fail(err, HC_E_INPUT, "%s: byte %d: the number of channels is 0", file->path,
                       (int)CHANNELS);
    }
    if (!(start > 0) || !(step > 0) || !isfinite(start) || !isfinite(step * *channels)) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: bytes %d and %d: wavelengths from %g in steps of %g nm, and not above 0",
                       file->path, (int)START, (int)STEP, start, step);
    }
    *type = types[format];
    size_t needed = HEADER_BYTES + (size_t)*channels * hc_type_bytes(*type);
    return file->bytes >= needed
               ? HC_OK
               : hc_fail(err, HC_E_INPUT,
                         "%s: byte %d: %" PRId32 " channels end at byte %zu, the file holds %zu", file->path,
                         (int)CHANNELS, *channels, needed, file->bytes);
}

/* Where the white reference begins; 0: there is none. Its head is a flag, two times, and a text of that
 * length. */
static HcStatus find_reference(const HcSpectrumFile *file, HcType type, int32_t channels, size_t *at,
                               HcError *err) {
    size_t bytes = (size_t)channels * hc_type_bytes(type), head = HEADER_BYTES + bytes;
    *at = 0;
    if (memcmp(file->data, "ASD", 3) == 0 || file->bytes < head + 20 ||
        number_at(file, head, HC_UINT16) == 0) {
        return HC_OK;
    }
    *at = head + 20 + (size_t)number_at(file, head + 18, HC_UINT16);
    return file->bytes >= *at + bytes
               ? HC_OK
               : hc_fail(err, HC_E_INPUT,
                         "%s: byte %zu: the white reference ends at byte %zu, the file holds %zu", file->path,
                         head, *at + bytes, file->bytes);
}

/* Reflectance: counts by those of the white reference. Integration time and gains are the same for both. */
static void fill(const HcSpectrumFile *file, HcType type, size_t reference, HcLibrary *out) {
    size_t each = hc_type_bytes(type);
    double start = number_at(file, START, HC_FLOAT32), step = number_at(file, STEP, HC_FLOAT32);
    for (int32_t b = 0; b < out->bands; b++) {
        double value = number_at(file, HEADER_BYTES + (size_t)b * each, type);
        double white = reference > 0 ? number_at(file, reference + (size_t)b * each, type) : 1;
        out->value[b] = white != 0 ? hc_library_value(value / white) : NAN;
        out->wavelength[b] = start + b * step;
    }
}

/* From version 7 on a spectrum is stored as counts, beside the calibration that makes it a radiance. */
static HcStatus set_facts(const HcSpectrumFile *file, size_t kind, bool divided, HcLibrary *out,
                          HcError *err) {
    HcStatus status = HC_OK;
    char source[32];
    char *comment = hc_text_format("%.*s", (int)COMMENT_BYTES, file->data + COMMENT);
    bool counts = file->data[2] >= '7' && (kind == RADIANCE || kind == IRRADIANCE);
    const char *word = divided        ? "reflectance"
                       : counts       ? "raw counts"
                       : kind < KINDS ? kinds[kind]
                                      : "unknown";
    char *text = hc_text_format("%s%s%s", comment != NULL ? comment : "",
                                comment != NULL && *comment != '\0' ? "; " : "", word);
    if (comment == NULL || text == NULL) {
        HC_TRY(hc_fail_memory(err, COMMENT_BYTES, "a fact of a library"));
    }
    snprintf(source, sizeof source, "ASD %.0f", number_at(file, NUMBER, HC_UINT16));
    HC_TRY(hc_library_set_fact(out, 0, HC_FACT_DESCRIPTION, text, err));
    HC_TRY(hc_library_set_fact(out, 0, HC_FACT_SOURCE, source, err));
done:
    free(comment);
    free(text);
    return status;
}

static HcStatus read_asd(const HcSpectrumFile *file, HcLibrary *out, HcError *err) {
    HcType type = HC_FLOAT32;
    int32_t channels = 0;
    size_t reference = 0;
    HC_OR_RETURN(check_header(file, &type, &channels, err));
    size_t kind = (unsigned char)file->data[KIND];
    if (kind <= RADIANCE) {
        HC_OR_RETURN(find_reference(file, type, channels, &reference, err));
    }
    HC_OR_RETURN(hc_library_make(out, 1, channels, err));
    HC_OR_RETURN(hc_new(out->wavelength, channels, "wavelengths", err));
    fill(file, type, reference, out);
    out->scale = reference > 0 || kind == REFLECTANCE ? 1 : 0;
    HC_OR_RETURN(hc_spectrum_name_by_file(file, out, 0, err));
    hc_library_units(out, "nm");
    return set_facts(file, kind, reference > 0, out, err);
}

const HcSpectrumFormat hc_format_asd = {"ASD", is_asd, read_asd};
