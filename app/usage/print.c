/* Prints a description as help, as a manual page or as JSON. */
#include "app/usage/usage.h"

#include <stdio.h>

static HcStatus print_json(const HcUsage *usage, HcError *err) {
    HcJson json;
    hc_usage_json(usage, &json);
    return hc_print_json(&json, err);
}

static HcStatus print_text(const HcUsage *usage, HcUsageForm form, HcError *err) {
    HcText text = {0};
    text.failed = usage->path.failed || usage->forms.failed || usage->about.failed || usage->examples.failed;
    if (form == HC_USAGE_MAN) {
        hc_usage_man(usage, &text);
    } else {
        hc_usage_help(usage, hc_usage_width(), &text);
    }
    HcStatus status = text.failed ? hc_fail_memory(err, 0, "the help") : HC_OK;
    if (status == HC_OK && text.data != NULL) {
        printf("%s", text.data);
    }
    hc_text_clear(&text);
    return status;
}

HcStatus hc_usage_print(HcUsage *usage, HcUsageForm form, HcError *err) {
    HcStatus status = form == HC_USAGE_JSON ? print_json(usage, err) : print_text(usage, form, err);
    hc_usage_clear(usage);
    return status;
}
