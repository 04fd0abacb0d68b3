/* Texts that programs of ASD export: a header in sentences, then "Wavelength", tab and names over rows of
 * values. */
#include "core/text.h"
#include "io/library/format/parts.h"

#include <stdlib.h>
#include <string.h>

static const char instrument[] = "The instrument number was ";

static bool is_asd_text(const HcSpectrumFile *file) {
    return hc_spectrum_line(file, "Text conversion of header file") >= 0 ||
           hc_spectrum_line(file, "New ASD spectrum file") >= 0;
}

/* The names over the columns, in place: without ".ref.txt" and the like they are those of files. */
static HcStatus set_names(char *head, HcLibrary *out, HcError *err) {
    char *rest = head;
    strsep(&rest, "\t;");
    for (int32_t i = 0; i < out->count; i++) {
        char *name = rest != NULL ? strsep(&rest, "\t;") : NULL;
        HC_OR_RETURN(hc_library_name(out, i, name, err));
    }
    return HC_OK;
}

static HcStatus read_asd_text(const HcSpectrumFile *file, HcLibrary *out, HcError *err) {
    HcStatus status = HC_OK;
    int32_t head = hc_spectrum_line(file, "Wavelength"), number = hc_spectrum_line(file, instrument);
    if (head < 0) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: line %d: an ASD text without a line that begins with 'Wavelength'", file->path,
                       file->lines);
    }
    HcSpectrumRows rows = {.first = head + 1, .columns = 1, .y = -1, .unit = "nm"};
    for (const char *at = file->line[head]; *at != '\0'; at++) {
        rows.columns += (*at == '\t' || *at == ';') && at[strspn(at, "\t; ")] != '\0';
    }
    HC_OR_RETURN(rows.columns > 1 ? HC_OK
                                  : hc_fail(err, HC_E_INPUT, "%s: line %d: no name follows 'Wavelength'",
                                            file->path, head + 1));
    HC_OR_RETURN(hc_spectrum_rows(file, &rows, out, err));
    HC_OR_RETURN(set_names(file->line[head], out, err));
    char *source = number >= 0 ? hc_text_format("ASD %s", file->line[number] + sizeof instrument - 1) : NULL;
    for (int32_t i = 0; i < out->count && source != NULL && status == HC_OK; i++) {
        status = hc_library_set_fact(out, i, HC_FACT_SOURCE, source, err);
    }
    free(source);
    return status;
}

const HcSpectrumFormat hc_format_asd_text = {"ASD text", is_asd_text, read_asd_text};
