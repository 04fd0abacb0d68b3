/* What the files of options share; nobody else includes this. */
#ifndef HC_PIPELINE_OPTION_PARTS_H
#define HC_PIPELINE_OPTION_PARTS_H

#include "core/text.h"
#include "pipeline/option/option.h"

/* Whether the row limits its numbers. */
bool hc_option_has_range(const HcOption *option);

/* "1 to 128" with the words `before` and `between`; "at least 1", "above 0 and below 1" where an end is open
 * or there is none. */
void hc_option_print_range(const HcOption *option, const char *before, const char *between, HcText *to);

/* The choices of the row, with `between` after all but the last. */
void hc_option_list_choices(const HcOption *option, const char *between, HcText *to);

#endif
