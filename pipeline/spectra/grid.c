#include "pipeline/spectra/grid.h"
#include "core/allocate.h"
#include "io/file.h"
#include "pipeline/spectra/runs.h"

#include <math.h>
#include <string.h>

enum { BANDS_MAX = 65536, FILE_MAX = 16 << 20 };

/* ---- ranges ---- */

/* False: the text has another form. */
static bool read_range(const char *text, double *low, double *high, double *step) {
    char range[64];
    const char *colon = strchr(text, ':'), *rest = range;
    bool small = false; /* in um, as numbers below 100 are */
    if (colon == NULL || colon == text || colon - text >= (ptrdiff_t)sizeof range) {
        return false;
    }
    memcpy(range, text, (size_t)(colon - text));
    range[colon - text] = '\0';
    bool is = hc_wavelengths_next(&rest, low, high, &small) && *rest == '\0' &&
              hc_text_parse_double(colon + 1, step);
    *step *= small || hc_text_ends_with(range, "um") ? 1000 : 1;
    return is;
}

static HcStatus take_range(const char *who, const char *text, const double range[3], HcBandSet *grid,
                           HcError *err) {
    double low = range[0], high = range[1], step = range[2], *values = NULL;
    double bands = floor((high - low) / step * (1 + 1e-12)) + 1;
    if (!(low > 0 && high >= low && step > 0 && bands <= BANDS_MAX)) {
        return hc_fail(err, HC_E_USAGE,
                       "%s: --wavelengths %s: expected A-B:STEP with up to %d bands [nm], like 400-2400:10",
                       who, text, BANDS_MAX);
    }
    int32_t count = (int32_t)bands;
    HC_OR_RETURN(hc_new(values, 2 * (size_t)count, "a grid of bands", err));
    for (int32_t b = 0; b < count; b++) {
        values[b] = low + b * step;
        values[count + b] = step;
    }
    *grid = (HcBandSet){.count = count, .centre = values, .width = values + count};
    return HC_OK;
}

/* ---- files ---- */

/* Numbers of a line, at most 2; -1 = one is none from 0 to 1e9; -2 = it begins with no number. *word: the
 * wrong one, else the first. */
static int32_t read_line(char *line, double number[2], const char **word) {
    char *rest = NULL;
    int32_t count = 0;
    *word = "";
    for (char *next = strtok_r(line, " \t\r,;", &rest); next != NULL && *next != '#';
         next = strtok_r(NULL, " \t\r,;", &rest)) {
        *word = count == 0 ? next : *word;
        bool is = count < 2 && hc_text_parse_double(next, &number[count]);
        if (!is || !(number[count] > 0 && number[count] <= 1e9)) {
            *word = next;
            return !is && count == 0 ? -2 : -1;
        }
        count++;
    }
    return count;
}

/* band[][2] = wavelength and width, 0 where it is not given. */
static HcStatus read_lines(const char *path, char *text, double (*band)[2], int32_t *count, HcError *err) {
    int32_t at = 0;
    *count = 0;
    for (char *line = strsep(&text, "\n"); line != NULL; line = strsep(&text, "\n")) {
        double number[2] = {0};
        const char *word = "";
        int32_t found = read_line(line, number, &word);
        bool is_header = at++ == 0 && found == -2;
        if (found == 0 || is_header) {
            continue;
        }
        if (found < 0 || (*count > 0 && number[0] <= band[*count - 1][0])) {
            return hc_fail(
                err, HC_E_INPUT,
                "%s: line %d: '%.40s': expected a wavelength longer than the one before, and perhaps "
                "a width",
                path, at, word);
        }
        memcpy(band[(*count)++], number, sizeof number);
    }
    return *count > 0 ? HC_OK : hc_fail(err, HC_E_INPUT, "%s: has no band with a wavelength", path);
}

static HcStatus fill_grid(const char *path, double (*band)[2], int32_t count, HcBandSet *grid, HcError *err) {
    HcStatus status = HC_OK;
    double unit = band[count - 1][0] < 100 ? 1000 : 1, *values = NULL, *spacing = NULL;
    HC_TRY(hc_new(spacing, count, "a grid of bands", err));
    HC_TRY(hc_new(values, 2 * (size_t)count, "a grid of bands", err));
    for (int32_t b = 0; b < count; b++) {
        values[b] = band[b][0] * unit;
    }
    hc_band_spacing(values, count, spacing);
    for (int32_t b = 0; b < count; b++) {
        values[count + b] = band[b][1] > 0 ? band[b][1] * unit : spacing[b];
    }
    if (!(values[count] > 0)) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: the band has no width, and no other band beside it", path));
    }
    *grid = (HcBandSet){.count = count, .centre = values, .width = values + count};
    values = NULL;
done:
    free(values);
    free(spacing);
    return status;
}

HcStatus hc_band_grid(const char *who, const char *text, HcBandSet *grid, HcError *err) {
    HcStatus status = HC_OK;
    double range[3] = {0}, (*band)[2] = NULL;
    char *data = NULL;
    int32_t count = 0;
    size_t lines = 1;
    if (read_range(text, &range[0], &range[1], &range[2])) {
        return take_range(who, text, range, grid, err);
    }
    HC_TRY(hc_file_read(text, FILE_MAX, &data, NULL, err));
    for (const char *at = data; *at != '\0'; at++) {
        lines += *at == '\n';
    }
    HC_TRY(hc_new(band, lines, "a grid of bands", err));
    HC_TRY(read_lines(text, data, band, &count, err));
    HC_TRY(fill_grid(text, band, count, grid, err));
done:
    free(data);
    free(band);
    return status;
}
