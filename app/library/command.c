/* library: spectral libraries from files of instruments and databases, and of each other. */
#include "app/library/library.h"
#include "io/file.h"

#include <stdlib.h>
#include <string.h>

const HcCommand *const hc_library_commands[] = {&hc_library_import,  &hc_library_merge, &hc_library_select,
                                                &hc_library_convert, &hc_library_plot,  NULL};

HcStatus hc_command_library(int32_t word_count, const char *const *words, HcError *err) {
    return hc_command_part("library", "command", hc_library_commands, word_count, words, err);
}

void hc_library_describe(HcUsage *usage, const HcOption *table, const char *example) {
    hc_text_add(&usage->examples, "%s\n", example);
    hc_usage_add(usage, "Options", table);
    hc_usage_add(usage, "Options of every run", hc_plain_options());
}

HcStatus hc_library_check_output(const char *who, const char *path, bool overwrite, HcFileUse *use,
                                 HcError *err) {
    HcStatus status = HC_OK;
    bool csv = hc_text_ends_with(path, ".csv"), foreign = false;
    char *header = hc_library_header_path(path);
    HC_TRY(header != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(path), "a path"));
    if (!csv && !hc_text_ends_with(path, ".sli")) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "%s: %s: ends neither with .sli nor .csv", who, path));
    }
    HC_TRY(hc_file_check(path, overwrite, err));
    HC_TRY(hc_file_use_write(use, who, path, err));
    if (!csv) {
        HC_TRY(hc_library_check_header(header, &foreign, err));
        HC_TRY(foreign
                   ? hc_fail(err, HC_E_USAGE, "%s: %s: %s is the header of another file", who, path, header)
                   : hc_file_check(header, overwrite, err));
        HC_TRY(hc_file_use_write(use, who, header, err));
    }
done:
    free(header);
    return status;
}

HcStatus hc_library_save(HcLibrary *library, const char *path, const HcCommon *common, const HcFileUse *use,
                         HcError *err) {
    HcStatus status = HC_OK;
    int32_t renamed = 0;
    HC_TRY(hc_library_number_names(library, &renamed, err));
    HC_TRY(hc_file_begin((const char *const *)use->reads.path, use->reads.count, err));
    HC_TRY(hc_library_write(library, path, common->overwrite, err));
    HC_TRY(hc_file_commit(err));
    if (!common->quiet && renamed > 0) {
        hc_say("note: %d name%s came several times and got a number", renamed, renamed == 1 ? "" : "s");
    }
    if (library->fwhm != NULL && hc_text_ends_with(path, ".csv")) {
        hc_say_note(common->quiet, "a CSV file does not keep the widths of bands");
    }
    if (!common->quiet) {
        hc_show("%s: %d spectra x %d bands", path, library->count, library->bands);
    }
done:
    hc_file_rollback();
    return status;
}
