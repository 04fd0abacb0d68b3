/* Texts of spectra: lines, keys of headers, and rows of numbers. */
#include "core/allocate.h"
#include "core/text.h"
#include "io/library/format/parts.h"
#include "io/load.h"
#include "io/file.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Cuts the text into lines, in place. */
static HcStatus cut_lines(HcSpectrumFile *file, HcError *err) {
    size_t count = 1;
    for (const char *at = file->data; *at != '\0'; at++) {
        count += *at == '\n' || *at == '\r';
    }
    if (count > INT32_MAX) {
        return hc_fail(err, HC_E_INPUT, "%s: too large for a text of spectra", file->path);
    }
    HC_OR_RETURN(hc_new(file->line, count, "the lines of a text", err));
    for (char *at = file->data; *at != '\0';) {
        char *next = hc_cells_cut(at);
        file->line[file->lines++] = at + strspn(at, " \t");
        at = next;
    }
    return HC_OK;
}

HcStatus hc_spectrum_open(HcSpectrumFile *file, const char *path, HcError *err) {
    file->path = path;
    HC_OR_RETURN(hc_load_file(path, &file->data, &file->bytes, err));
    if (file->bytes == 0) {
        return hc_fail(err, HC_E_INPUT, "%s: the file is empty", path);
    }
    return memchr(file->data, '\0', file->bytes) == NULL ? cut_lines(file, err) : HC_OK;
}

void hc_spectrum_close(HcSpectrumFile *file) {
    free(file->data);
    free(file->line);
    *file = (HcSpectrumFile){0};
}

int32_t hc_spectrum_line(const HcSpectrumFile *file, const char *words) {
    for (int32_t l = 0; l < file->lines; l++) {
        if (strncasecmp(file->line[l], words, strlen(words)) == 0) {
            return l;
        }
    }
    return -1;
}

const char *hc_spectrum_key(const HcSpectrumFile *file, const char *key) {
    size_t length = strlen(key);
    for (int32_t l = 0; l < file->lines; l++) {
        const char *at = file->line[l];
        if (strncasecmp(at, key, length) == 0) {
            at += length + strspn(at + length, " \t");
            if (*at == ':' || *at == '=') {
                return at + 1 + strspn(at + 1, " \t");
            }
        }
    }
    return NULL;
}

int32_t hc_spectrum_numbers(const char *line, double *value, int32_t limit) {
    static const char between[] = " \t;";
    int32_t count = 0;
    while (line += strspn(line, between), *line != '\0') {
        char copy[64];
        size_t length = strcspn(line, between);
        snprintf(copy, sizeof copy, "%.*s", (int)length, line);
        if (count == limit || length >= sizeof copy || !hc_cells_parse(copy, true, &value[count])) {
            return -1;
        }
        count++;
        line += length;
    }
    return count;
}

/* ---- rows ---- */

static HcStatus check_row(const HcSpectrumFile *file, const HcSpectrumRows *rows, int32_t line,
                          const double *value, int32_t found, HcError *err) {
    if (found != rows->columns) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: line %" PRId32 " is '%.40s', and not %" PRId32
                       " numbers (a wavelength and values)",
                       file->path, line + 1, file->line[line], rows->columns);
    }
    if (!(value[rows->x] > 0) || !isfinite(value[rows->x])) {
        return hc_fail(err, HC_E_INPUT, "%s: line %" PRId32 ": wavelength %g, and not a number above 0",
                       file->path, line + 1, value[rows->x]);
    }
    return HC_OK;
}

static HcStatus check_count(const HcSpectrumFile *file, const HcSpectrumRows *rows, int64_t count,
                            HcError *err) {
    if (count == 0) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: line %" PRId32 ": no values follow, a wavelength and its values a line",
                       file->path, rows->first);
    }
    return count >= rows->stated ? HC_OK
                                 : hc_fail(err, HC_E_INPUT,
                                           "%s: line %" PRId32 ": the header states %" PRId32
                                           " wavelengths, the file holds %" PRId64,
                                           file->path, file->lines, rows->stated, count);
}

static int64_t count_rows(const HcSpectrumFile *file, int32_t first) {
    int64_t count = 0;
    for (int32_t l = first; l < file->lines; l++) {
        count += *file->line[l] != '\0';
    }
    return count;
}

HcStatus hc_spectrum_rows(const HcSpectrumFile *file, const HcSpectrumRows *rows, HcLibrary *out,
                          HcError *err) {
    HcStatus status = HC_OK;
    double *value = NULL;
    int64_t bands = count_rows(file, rows->first);
    int64_t count = rows->y < 0 ? rows->columns - 1 : 1, b = 0;
    HC_OR_RETURN(check_count(file, rows, bands, err));
    HC_TRY(hc_new(value, rows->columns, "a row of values", err));
    HC_TRY(hc_library_make(out, count, bands, err));
    HC_TRY(hc_new(out->wavelength, bands, "wavelengths", err));
    for (int32_t l = rows->first; l < file->lines; l++) {
        if (*file->line[l] == '\0') {
            continue;
        }
        HC_TRY(
            check_row(file, rows, l, value, hc_spectrum_numbers(file->line[l], value, rows->columns), err));
        out->wavelength[b] = value[rows->x];
        for (int32_t c = 0, i = 0; i < count; c++) {
            if (rows->y < 0 ? c != rows->x : c == rows->y) {
                out->value[(int64_t)i++ * bands + b] = hc_library_value(value[c]);
            }
        }
        b++;
    }
    hc_library_units(out, rows->unit);
done:
    free(value);
    return status;
}

HcStatus hc_spectrum_name_by_file(const HcSpectrumFile *file, HcLibrary *out, int32_t entry, HcError *err) {
    const char *name = hc_file_base(file->path);
    const char *point = strrchr(name, '.');
    char *stem = hc_text_format(
        "%.*s", (int)(point != NULL && point > name ? point - name : (ptrdiff_t)strlen(name)), name);
    HcStatus status = stem != NULL ? hc_library_name(out, entry, stem, err)
                                   : hc_fail_memory(err, (double)strlen(name), "the name of a spectrum");
    free(stem);
    return status;
}
