/* Linear programs from files: what does not depend on the format. */
#include "io/table/linear_program.h"

#include "io/file.h"
#include "io/load.h"
#include "io/table/linear_program_parts.h"
#include "core/texts.h"

#include <stdlib.h>
#include <string.h>

/* ---- names ---- */

/* ---- programs ---- */

void hc_lp_clear(HcLpFile *file) {
    hc_free_texts(file->row_name, file->program.rows);
    hc_free_texts(file->column_name, file->program.columns);
    free(file->name);
    free(file->objective);
    hc_text_clear(&file->note);
    free(file->start);
    free(file->row);
    free(file->value);
    free(file->cost);
    free(file->lower);
    free(file->upper);
    free(file->row_lower);
    free(file->row_upper);
    *file = (HcLpFile){0};
}

static HcStatus load(const char *path, char **text, HcError *err) {
    HcStatus status = HC_OK;
    size_t bytes = 0;
    bool packed = hc_text_ends_with(path, ".gz") && strncmp(path, "/vsi", 4) != 0;
    char *unpacked = packed ? hc_text_format("/vsigzip/%s", path) : strdup(path);
    HC_TRY(hc_text_made(unpacked, strlen(path), "a file name", err));
    HC_TRY(hc_file_check_regular(path, err));
    HC_TRY(hc_load_file(unpacked, text, &bytes, err));
    if (strlen(*text) != bytes) {
        HC_TRY(hc_fail(err, HC_E_INPUT, "%s: not an MPS file (it holds bytes of 0)", path));
    }
done:
    free(unpacked);
    return status;
}

/* Nearly all files in fixed format read the same in the free one. Those that do not (names with blanks) fail
 * there, since their fields do not add up. Of two failures the one that came later in the file counts. */
HcStatus hc_lp_read(HcLpFile *out, const char *path, HcError *err) {
    HcStatus status = HC_OK;
    char *text = NULL;
    HcError as_free = {0}, as_fixed = {0};
    int64_t free_line = 0, fixed_line = 0;
    *out = (HcLpFile){0};
    HC_TRY(load(path, &text, err));
    status = hc_lp_parse_mps(out, path, text, false, &free_line, &as_free);
    if (status == HC_E_INPUT) {
        hc_lp_clear(out);
        status = hc_lp_parse_mps(out, path, text, true, &fixed_line, &as_fixed);
    }
    if (status != HC_OK) {
        const HcError *later = fixed_line > free_line ? &as_fixed : &as_free;
        HC_TRY(hc_fail(err, later->status, "%s", later->text));
    }
done:
    free(text);
    if (status != HC_OK) {
        hc_lp_clear(out);
    }
    return status;
}
