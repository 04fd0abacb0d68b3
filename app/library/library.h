/* App: what the commands of `hcube library` share. */
#ifndef HC_APP_LIBRARY_H
#define HC_APP_LIBRARY_H

#include "app/usage/usage.h"
#include "io/file_use.h"
#include "io/library/format/format.h"

extern const HcCommand hc_library_import, hc_library_merge, hc_library_select, hc_library_convert,
    hc_library_plot;

/* Adds an example, the options of a command, and those of all. */
void hc_library_describe(HcUsage *usage, const HcOption *table, const char *example);

/* Before anything is read: an output must be new or may be replaced, and be no input. */
HcStatus hc_library_check_output(const char *who, const char *path, bool overwrite, HcFileUse *use,
                                 HcError *err) HC_MUST_CHECK;

/* Makes names unique and writes the library, its files together; says so unless --quiet. No file of `use` is
 * replaced. */
HcStatus hc_library_save(HcLibrary *library, const char *path, const HcCommon *common, const HcFileUse *use,
                         HcError *err) HC_MUST_CHECK;

#endif
