/* AVIRIS-3 and -5 as ENVI, AVIRIS-NG and AVIRIS Classic: a folder of ENVI files of one flight line. Their
 * names begin alike, with date and time of the flight, and their endings say what each holds: the image, its
 * lookup table (_glt), places of pixels (_igm, _loc), angles (_obs). The image alone has wavelengths. */
#include "io/load.h"
#include "core/allocate.h"
#include "io/read/metadata/envi_header.h"
#include "io/read/parts.h"
#include "io/read/product/parts.h"
#include "io/file.h"
#include "core/compare.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const HcProductRow hc_product_rows_flight[] = {{.sensor = "AVIRIS (ENVI)",
                                                .read = "3, 5, NG, Classic radiance, reflectance",
                                                .versions = "lines to 2023",
                                                .checked = "real headers, layout"},
                                               {0}};

/* What lies beside an image, by the end of its name. */
static const char *const endings[] = {"_glt",     "_igm",     "_loc",     "_obs",     "_obs_ort",
                                      "_loc_ort", "_glt_ort", "_unc_ort", "_atm_ort", NULL};

static size_t digits(const char *text) {
    return strspn(text, "0123456789");
}

/* The part of a name that says which flight line: ang20160831t201002, AV320231005t181518, f130612t01p00r09;
 * 0 = none. */
static size_t flight_length(const char *name) {
    bool is_long =
        strncmp(name, "ang", 3) == 0 || strncmp(name, "AV3", 3) == 0 || strncmp(name, "AV5", 3) == 0;
    size_t letters = is_long ? 3 : name[0] == 'f' ? 1 : 0;
    size_t date = digits(name + letters), at = letters + date;
    if (letters == 0 || date != (letters == 3 ? 8 : 6) || name[at] != 't' || digits(name + at + 1) < 2) {
        return 0;
    }
    at += 1 + digits(name + at + 1);
    for (const char *c = "pr"; letters == 1 && *c != '\0'; c++) {
        at += name[at] == *c ? 1 + digits(name + at + 1) : 0;
    }
    return at;
}

/* The ending of a file that lies beside an image, NULL where it is none. */
static const char *ending_of(const char *name) {
    for (int e = 0; endings[e] != NULL; e++) {
        if (hc_text_ends_with(name, endings[e])) {
            return endings[e];
        }
    }
    return NULL;
}

/* The header of an image; *is stays false where the file has none, or one without wavelengths. */
static HcStatus load_image(HcEnviHeader *header, const char *path, bool *is, HcError *err) {
    HcError why = {0};
    char *found = NULL;
    bool is_header = false;
    *is = false;
    if (hc_text_ends_with(path, ".hdr")) {
        HC_OR_RETURN(hc_read_is_envi(path, &is_header, err));
        if (is_header && (found = strdup(path)) == NULL) {
            return hc_fail_memory(err, (double)strlen(path), "a path");
        }
    } else {
        HC_OR_RETURN(hc_read_find_header(path, &found, err));
    }
    if (found == NULL) {
        return HC_OK;
    }
    HcStatus status = hc_envi_load(header, found, &why);
    free(found);
    *is = status == HC_OK && hc_envi_text(header, "wavelength") != NULL;
    bool is_flaw = status == HC_OK || status == HC_E_INPUT; /* the reader of the image reports it */
    return is_flaw ? HC_OK : hc_fail(err, status, "%s", why.text);
}

/* ---- what lies beside it ---- */

typedef struct Flight {
    size_t length; /* of what all names begin with */
    char *gain;    /* the path of the factors, or NULL */
    char *table;   /* of the header of the lookup table, or NULL */
} Flight;

static HcStatus add_sibling(HcProduct *product, Flight *flight, const char *path, HcText *names,
                            HcError *err) {
    const char *ending = ending_of(path);
    char *header = NULL;
    if (hc_text_ends_with(path, ".gain") && flight->gain == NULL) {
        flight->gain = strdup(path);
        return flight->gain != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(path), "a path");
    }
    if (ending == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_read_find_header(path, &header, err));
    if (header == NULL) {
        return HC_OK;
    }
    HcStatus status = hc_paths_add(&product->files, path, err);
    status = status == HC_OK ? hc_paths_add(&product->files, header, err) : status;
    if (status == HC_OK && strcmp(ending, "_glt") == 0 && flight->table == NULL) {
        flight->table = strdup(header);
        status = flight->table != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(header), "a path");
    }
    hc_text_add(names, "%s%s", names->length > 0 ? ", " : "", hc_file_base(path));
    free(header);
    return status;
}

/* All files of the flight line in the folder of the image. */
static HcStatus find_siblings(HcProduct *product, Flight *flight, const char *image, HcText *names,
                              HcError *err) {
    HcStatus status = HC_OK;
    size_t folder = (size_t)(hc_file_base(image) - image);
    char *of = hc_file_folder(image);
    char **list = of != NULL ? VSIReadDir(of) : NULL;
    HC_OR_RETURN(hc_text_made(of, folder, "a path", err));
    if (list != NULL) {
        qsort(list, (size_t)CSLCount(list), sizeof *list, hc_compare_texts);
    }
    for (int n = 0; list != NULL && list[n] != NULL; n++) {
        bool same = strncmp(list[n], hc_file_base(image), flight->length) == 0 &&
                    flight_length(list[n]) == flight->length;
        char *path = same ? hc_text_format("%.*s%s", (int)folder, image, list[n]) : NULL;
        if (same && path == NULL) {
            HC_TRY(hc_fail_memory(err, (double)folder, "a path"));
        }
        status = same && hc_read_is_file(path, NULL, NULL) ? add_sibling(product, flight, path, names, err)
                                                           : HC_OK;
        free(path);
        HC_TRY(status);
    }
done:
    CSLDestroy(list);
    free(of);
    return status;
}

/* ---- what they say ---- */

/* Wavelengths that nobody can use are an error, as those of every product; of other images they are left out.
 * The reader of the image reports what else its header lacks. */
static HcStatus check_wavelengths(const HcEnviHeader *header, HcError *err) {
    HcStatus status = HC_OK;
    HcEnviShape shape = {0};
    HcError why = {0};
    double *values = NULL;
    int32_t count = 0;
    HC_OR_RETURN(hc_envi_numbers(header, "wavelength", &values, &count, err));
    if (hc_envi_shape(header, &shape, &why) == HC_OK && count != shape.bands) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: wavelength has %" PRId32 " values for %" PRId32 " bands",
                       header->path, count, shape.bands));
    }
    for (int32_t b = 0; b < count; b++) {
        if (!(values[b] > 0) || !isfinite(values[b])) {
            HC_TRY(hc_fail(err, HC_E_INPUT, "%s: wavelength of band %" PRId32 " is %g", header->path, b + 1,
                           values[b]));
        }
    }
done:
    free(values);
    return status;
}

/* Factors of AVIRIS Classic: "FACTOR BAND" in each line; radiance = stored / factor. */
static HcStatus read_gains(const char *path, int64_t bands, double *gain, bool *good, HcError *err) {
    char *data = NULL, *rest = NULL;
    size_t bytes = 0;
    int64_t count = 0;
    *good = true;
    HC_OR_RETURN(hc_load_file(path, &data, &bytes, err));
    for (char *line = strtok_r(data, "\r\n", &rest); line != NULL && *good;
         line = strtok_r(NULL, "\r\n", &rest)) {
        char *end = NULL;
        double factor = strtod(line, &end);
        if (line[strspn(line, " \t")] == '\0') {
            continue;
        }
        *good = end != line && factor > 0 && isfinite(factor) && count < bands &&
                strtol(end, NULL, 10) == count + 1;
        if (*good) {
            gain[count++] = 1 / factor;
        }
    }
    *good = *good && count == bands;
    VSIFree(data);
    return HC_OK;
}

/* Factors are of radiance, which is -50 outside of the swath, in all bands, and does not say so. */
static void take_fill(HcProduct *product, const HcEnviHeader *header) {
    if (hc_envi_text(header, "data ignore value") == NULL) {
        product->scene.has_nodata = true;
        product->scene.nodata = -50;
        hc_product_note(product,
                        "its header has no nodata: -50 counts as that (--nodata-rule all keeps pixels "
                        "with -50 in some bands)");
    }
}

/* Integers of an image whose header has no scale of its own. */
static HcStatus take_gains(HcProduct *product, const Flight *flight, const HcEnviHeader *header,
                           HcError *err) {
    HcEnviShape shape = {0};
    HcError why = {0};
    bool good = false, scaled = hc_envi_text(header, "data gain values") != NULL ||
                                hc_envi_text(header, "reflectance scale factor") != NULL;
    if (flight->gain == NULL || scaled || hc_envi_shape(header, &shape, &why) != HC_OK ||
        shape.type == HC_FLOAT32 || shape.type == HC_FLOAT64) {
        return HC_OK;
    }
    double *gain = NULL;
    HC_OR_RETURN(hc_new(gain, shape.bands, "the bands", err));
    HcStatus status = read_gains(flight->gain, shape.bands, gain, &good, err);
    if (status == HC_OK && good) {
        status = hc_paths_add(&product->files, flight->gain, err);
        status = status == HC_OK
                     ? hc_product_add_bands(product, &(HcProductBands){.count = shape.bands, .unit = 1}, err)
                     : status;
        for (int32_t b = 0; status == HC_OK && b < shape.bands; b++) {
            product->band[b].gain = gain[b];
        }
        take_fill(product, header);
    } else if (status == HC_OK) {
        hc_product_note(product, "%s is left out: it has no factor for each of %" PRId32 " bands",
                        hc_file_base(flight->gain), shape.bands);
    }
    free(gain);
    return status;
}

/* The image has the grid of its lookup table, or that of the sensor. */
static HcStatus compare_table(HcProduct *product, const Flight *flight, const HcEnviHeader *header,
                              HcError *err) {
    HcEnviHeader table = {0};
    HcEnviShape shape = {0}, of_table = {0};
    HcError why = {0};
    if (flight->table == NULL || hc_envi_shape(header, &shape, &why) != HC_OK) {
        return HC_OK;
    }
    HcStatus status = hc_envi_load(&table, flight->table, &why);
    status = status == HC_OK ? hc_envi_shape(&table, &of_table, &why) : status;
    if (status == HC_OK && (of_table.lines != shape.lines || of_table.samples != shape.samples)) {
        hc_product_note(product, "pixels are in sensor geometry: write --ortho places them by %s",
                        hc_file_base(flight->table));
        product->scene.lookup.file = strdup(flight->table);
        if (product->scene.lookup.file == NULL) {
            status = hc_fail_memory(&why, (double)strlen(flight->table), "a path");
        }
    }
    hc_envi_clear(&table);
    bool is_flaw = status == HC_OK || status == HC_E_INPUT || status == HC_E_UNSUPPORTED;
    return is_flaw ? HC_OK : hc_fail(err, status, "%s", why.text);
}

/* Only the names distinguish radiance from reflectance. */
static HcStatus set_name(HcProduct *product, const char *name, HcError *err) {
    const char *rest = name + flight_length(name);
    bool radiance = strcasestr(rest, "rdn") != NULL;
    bool reflectance = strcasestr(rest, "rfl") != NULL || strstr(rest, "corr") != NULL;
    const char *sensor = name[0] == 'a'   ? "AVIRIS-NG"
                         : name[0] == 'f' ? "AVIRIS Classic"
                         : name[2] == '3' ? "AVIRIS-3"
                                          : "AVIRIS-5";
    product->name = hc_text_format("%s%s", sensor,
                                   reflectance ? " reflectance"
                                   : radiance  ? " radiance"
                                               : "");
    return product->name != NULL ? HC_OK : hc_fail_memory(err, 0, "a text");
}

HcStatus hc_product_flight(HcProduct *product, const char *path, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    HcEnviHeader header = {0};
    HcText names = {0};
    Flight flight = {.length = flight_length(hc_file_base(path))};
    size_t stem = strlen(path) - (hc_text_ends_with(path, ".hdr") ? 4 : 0);
    char *bare = strndup(path, stem);
    *is = false;
    HC_OR_RETURN(hc_text_made(bare, stem, "a path", err));
    if (flight.length == 0 || ending_of(bare) != NULL) {
        goto done;
    }
    HC_TRY(load_image(&header, path, is, err));
    if (!*is) {
        goto done;
    }
    HC_TRY(find_siblings(product, &flight, path, &names, err));
    if (names.failed) {
        HC_TRY(hc_fail_memory(err, 0, "a text"));
    }
    *is = names.length > 0 || flight.gain != NULL;
    if (!*is) {
        goto done;
    }
    HC_TRY(check_wavelengths(&header, err));
    HC_TRY(set_name(product, hc_file_base(path), err));
    product->raster = strdup(path);
    HC_TRY(hc_text_made(product->raster, strlen(path), "a path", err));
    product->ascends = true;
    if (names.length > 0) {
        hc_product_note(product, "beside it: %s", names.data);
    }
    HC_TRY(take_gains(product, &flight, &header, err));
    HC_TRY(compare_table(product, &flight, &header, err));
done:
    hc_envi_clear(&header);
    hc_text_clear(&names);
    free(flight.gain);
    free(flight.table);
    free(bare);
    return status;
}
