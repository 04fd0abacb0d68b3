/* Matrices from rasters and to them, and what they have in common with .npy. */
#include "io/table/matrix.h"

#include "core/allocate.h"
#include "core/text.h"
#include "io/file.h"
#include "io/table/matrix_parts.h"
#include "io/read/parts.h"
#include "io/write/writer.h"

#include <cpl_conv.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct HcMatrixFile {
    char *path;
    int64_t rows, columns;
    HcNpyLayout layout;
    VSILFILE *npy;    /* NULL: a raster */
    HcReader *raster; /* NULL: .npy */
};

static bool is_npy_name(const char *path) {
    return hc_text_ends_with(path, ".npy");
}

/* ---- rasters ---- */

static HcStatus open_raster(HcMatrixFile *file, HcError *err) {
    HcReaderOptions how = {0};
    HC_OR_RETURN(hc_reader_open(&file->raster, file->path, &how, err));
    const HcScene *scene = hc_reader_scene(file->raster);
    if (scene->bands != 1) {
        return hc_fail(err, HC_E_INPUT, "%s: has %d bands, a matrix is a raster of one", file->path,
                       scene->bands);
    }
    file->rows = scene->lines;
    file->columns = scene->samples;
    return HC_OK;
}

static HcStatus take_raw(const HcMatrixFile *file, const HcRaw *raw, float *to, HcError *err) {
    const HcScene *scene = hc_reader_scene(file->raster);
    for (int32_t line = 0; line < raw->lines; line++) {
        const char *at = (const char *)raw->data + line * raw->stride_line;
        for (int32_t s = 0; s < raw->samples; s++, at += raw->stride_sample) {
            double value = hc_read_value(at, raw->type, raw->swap);
            if (scene->has_nodata && value == scene->nodata) {
                return hc_fail(err, HC_E_INPUT,
                               "%s: row %" PRId64 ", column %d (from 1) has no data (%g says so)", file->path,
                               raw->line0 + line + 1, s + 1, value);
            }
            float rounded = (float)value;
            if (!isfinite(rounded)) {
                return hc_matrix_fail_value(file->path, raw->line0 + line, s, value, err);
            }
            *to++ = rounded;
        }
    }
    return HC_OK;
}

static HcStatus read_raster(HcMatrixFile *file, float *to, HcError *err) {
    HcStatus status = HC_OK;
    int64_t line_bytes = (int64_t)hc_reader_bytes(file->raster, 1);
    int64_t step = line_bytes < HC_MATRIX_PIECE ? HC_MATRIX_PIECE / line_bytes : 1;
    size_t bytes = hc_reader_bytes(file->raster, step);
    void *buffer = malloc(bytes);
    if (buffer == NULL) {
        return hc_fail_memory(err, (double)bytes, file->path);
    }
    for (int64_t line = 0; line < file->rows; line += step) {
        HcRaw raw;
        int64_t lines = hc_min64(step, file->rows - line);
        HC_TRY(hc_reader_read(file->raster, line, (int32_t)lines, buffer, &raw, err));
        HC_TRY(take_raw(file, &raw, to + line * file->columns, err));
    }
    HC_TRY(hc_reader_unchanged(file->raster, err));
done:
    free(buffer);
    return status;
}

static HcScene scene_of(int64_t rows, int64_t columns) {
    return (HcScene){.lines = rows, .samples = columns, .bands = 1, .meaning = HC_OTHER, .complete = true};
}

/* In blocks of lines, since a block has a mask. */
static HcStatus write_lines(HcWriter *writer, const float *values, int64_t rows, int64_t columns,
                            HcError *err) {
    HcStatus status = HC_OK;
    int64_t step = columns < HC_MATRIX_PIECE ? HC_MATRIX_PIECE / columns : 1;
    uint8_t *mask = NULL;
    HC_OR_RETURN(hc_new(mask, step * columns, "lines to write", err));
    memset(mask, 1, (size_t)(step * columns));
    for (int64_t row = 0; row < rows; row += step) {
        /* Blocks are written to elsewhere, but not by the writer. */
        HcBlock block = {.data = (float *)(uintptr_t)(values + row * columns),
                         .mask = mask,
                         .line0 = row,
                         .lines = (int32_t)hc_min64(step, rows - row),
                         .samples = (int32_t)columns,
                         .bands = 1};
        HC_TRY(hc_writer_write(writer, &block, err));
    }
    HC_TRY(hc_writer_finish(writer, err));
done:
    free(mask);
    return status;
}

static HcStatus write_raster(const char *path, const float *values, int64_t rows, int64_t columns,
                             bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    HcWriter *writer = NULL;
    HcScene scene = scene_of(rows, columns);
    HcWriterOptions how = {.overwrite = overwrite};
    HC_TRY(hc_writer_open(&writer, path, &scene, &how, err));
    HC_TRY(write_lines(writer, values, rows, columns, err));
done:
    hc_writer_close(writer);
    return status;
}

/* ---- either ---- */

HcStatus hc_matrix_open(HcMatrixFile **out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    *out = NULL;
    HcMatrixFile *file = calloc(1, sizeof *file);
    if (file == NULL || (file->path = strdup(path)) == NULL) {
        HC_TRY(hc_fail_memory(err, sizeof *file, "a matrix"));
    }
    if (is_npy_name(path) || hc_npy_recognise(path)) {
        HC_TRY(hc_npy_open(path, &file->layout, &file->npy, err));
        file->rows = file->layout.rows;
        file->columns = file->layout.columns;
    } else {
        HC_TRY(open_raster(file, err));
    }
    *out = file;
    file = NULL;
done:
    hc_matrix_close(file);
    return status;
}

void hc_matrix_close(HcMatrixFile *file) {
    if (file == NULL) {
        return;
    }
    if (file->npy != NULL) {
        VSIFCloseL(file->npy);
    }
    hc_reader_close(file->raster);
    free(file->path);
    free(file);
}

int64_t hc_matrix_rows(const HcMatrixFile *file) {
    return file->rows;
}

int64_t hc_matrix_columns(const HcMatrixFile *file) {
    return file->columns;
}

HcStatus hc_matrix_read(HcMatrixFile *file, float *to, HcError *err) {
    return file->npy != NULL ? hc_npy_read(file->path, &file->layout, file->npy, to, err)
                             : read_raster(file, to, err);
}

/* One file by its name, or by what it is where both exist. NULL is no file. */
static bool is_same(const char *a, const char *b) {
    return a != NULL && b != NULL && (strcmp(a, b) == 0 || hc_file_same(a, b));
}

/* Whether the matrix is read from one of these files, each of which may be NULL. */
static HcStatus reads(const HcMatrixFile *file, const char *const *paths, int count, bool *is, HcError *err) {
    HcStatus status = HC_OK;
    const char *data = file->raster != NULL ? hc_reader_path(file->raster) : NULL;
    char *header = NULL;
    *is = false;
    if (data != NULL) {
        HC_TRY(hc_read_find_header(data, &header, err));
    }
    for (int p = 0; p < count; p++) {
        *is = *is || is_same(file->path, paths[p]) || is_same(data, paths[p]) || is_same(header, paths[p]);
    }
done:
    free(header);
    return status;
}

HcStatus hc_matrix_check(const char *path, int64_t rows, int64_t columns, bool overwrite,
                         const HcMatrixFile *const *inputs, int32_t input_count, HcError *err) {
    HcStatus status = HC_OK;
    HcWriterNames names = {0};
    if (is_npy_name(path)) {
        HC_TRY(hc_file_check(path, overwrite, err));
    } else {
        HcScene scene = scene_of(rows, columns);
        HcWriterOptions how = {.overwrite = overwrite};
        HC_TRY(hc_writer_names(path, NULL, &names, err));
        HC_TRY(hc_writer_check(path, &scene, &how, err));
    }
    const char *const outputs[] = {path, names.data, names.header};
    for (int32_t i = 0; i < input_count; i++) {
        bool same = false;
        HC_TRY(reads(inputs[i], outputs, 3, &same, err));
        if (same) {
            HC_TRY(hc_fail(err, HC_E_USAGE, "%s: would replace the input %s", path, inputs[i]->path));
        }
    }
done:
    hc_writer_names_clear(&names);
    return status;
}

HcStatus hc_matrix_write(const char *path, const float *values, int64_t rows, int64_t columns, bool overwrite,
                         HcError *err) {
    return is_npy_name(path) ? hc_npy_write(path, values, rows, columns, overwrite, err)
                             : write_raster(path, values, rows, columns, overwrite, err);
}
