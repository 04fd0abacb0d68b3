/* The table of a map: for each of its pixels one of the scene. It may be larger than memory, so it lies in a
 * scratch file, where any line can be had at any time, however its source is compressed. */
#include "io/gdal/errors.h"
#include "io/ortho/parts.h"
#include "io/scratch.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <unistd.h>

static const int64_t each = sizeof(HcOrthoPixel);

static HcStatus fail_scratch(const HcOrthoTable *table, const char *what, int number, HcError *err) {
    return hc_fail(err, hc_errno_status(number, HC_E_IO),
                   "%s: %s a scratch file of its lookup table in %s failed: %s (--scratch names its folder)",
                   table->path, what, hc_scratch_folder(), hc_scratch_reason(number));
}

HcStatus hc_ortho_table_open(HcOrthoTable *table, int64_t lines, int64_t samples, HcError *err) {
    table->lines = lines;
    table->samples = samples;
    table->top = lines;
    table->left = samples;
    table->scratch = hc_scratch_open();
    return table->scratch >= 0 ? HC_OK : fail_scratch(table, "making", errno, err);
}

void hc_ortho_table_close(HcOrthoTable *table) {
    hc_scratch_close(table->scratch);
    table->scratch = -1;
}

static void count(HcOrthoTable *table, int64_t line, int64_t sample) {
    table->filled++;
    table->top = hc_min64(table->top, line);
    table->bottom = hc_max64(table->bottom, line + 1);
    table->left = hc_min64(table->left, sample);
    table->right = hc_max64(table->right, sample + 1);
}

HcStatus hc_ortho_table_put(HcOrthoTable *table, int64_t line0, int64_t sample0, int64_t lines,
                            int64_t samples, const HcOrthoPixel *pixels, HcError *err) {
    for (int64_t l = 0; l < lines; l++) {
        const HcOrthoPixel *row = pixels + l * samples;
        int64_t at = ((line0 + l) * table->samples + sample0) * each;
        for (int64_t s = 0; s < samples; s++) {
            if (row[s].line >= 0) {
                count(table, line0 + l, sample0 + s);
            }
        }
        int number = hc_scratch_write(table->scratch, at, row, (size_t)(samples * each));
        if (number != 0) {
            return fail_scratch(table, "writing", number, err);
        }
    }
    return HC_OK;
}

/* A number from 1, its sign aside, that may be one of `count`. */
static bool is_number(double value, int64_t count) {
    return fabs(value) <= (double)count && value == floor(value);
}

HcStatus hc_ortho_table_take(HcOrthoTable *table, int64_t line0, int64_t sample0, int64_t lines,
                             int64_t samples, const double *sample, const double *line, HcOrthoPixel *to,
                             HcError *err) {
    const HcOrthoWindow *window = &table->window;
    for (int64_t p = 0; p < lines * samples; p++) {
        to[p] = (HcOrthoPixel){-1, -1};
        if (line[p] == 0 || sample[p] == 0 || isnan(line[p]) || isnan(sample[p])) {
            continue;
        }
        if (!is_number(line[p], window->file_lines) || !is_number(sample[p], window->file_samples)) {
            return hc_fail(err, HC_E_INPUT,
                           "%s: the lookup table leads to line %.10g, sample %.10g (at its line %" PRId64
                           ", sample %" PRId64 ", from 0); the scene has %" PRId64 " lines x %" PRId64
                           " samples",
                           table->path, fabs(line[p]), fabs(sample[p]), line0 + p / samples,
                           sample0 + p % samples, window->file_lines, window->file_samples);
        }
        int64_t l = (int64_t)fabs(line[p]) - 1 - window->line0;
        int64_t s = (int64_t)fabs(sample[p]) - 1 - window->sample0;
        if (l >= 0 && l < window->lines && s >= 0 && s < window->samples) {
            to[p] = (HcOrthoPixel){(int32_t)l, (int32_t)s};
        }
    }
    return hc_ortho_table_put(table, line0, sample0, lines, samples, to, err);
}

HcStatus hc_ortho_table_get(const HcOrthoTable *table, int64_t line, int64_t sample, int64_t count,
                            HcOrthoPixel *to, HcError *err) {
    int64_t at = (line * table->samples + sample) * each;
    int number = hc_scratch_read(table->scratch, at, to, (size_t)(count * each));
    return number == 0 ? HC_OK : fail_scratch(table, "reading", number, err);
}
