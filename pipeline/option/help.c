/* Help of an option, from its row: forms, meaning, range, relations and default. Errors of option.c use the
 * same words for ranges and choices, so that a message names what the help promises. */
#include "pipeline/option/parts.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool hc_option_has_range(const HcOption *option) {
    return option->range.low != 0 || option->range.high != 0;
}

/* 1000000, 0.0001, 1e-9: buffer has HC_TEXT_DOUBLE bytes. */
static const char *print_number(char *buffer, double value) {
    snprintf(buffer, HC_TEXT_DOUBLE, fabs(value) < 1e16 && value == trunc(value) ? "%.0f" : "%.6g", value);
    char *exponent = strchr(buffer, 'e');
    if (exponent != NULL) { /* neither "+" nor a zero in front of it */
        bool negative = exponent[1] == '-';
        const char *digits = exponent + 1 + strspn(exponent + 1, "+-0");
        memmove(exponent + 1 + negative, digits, strlen(digits) + 1);
    }
    return buffer;
}

void hc_option_print_range(const HcOption *option, const char *before, const char *between, HcText *to) {
    const HcRange *range = &option->range;
    char low[HC_TEXT_DOUBLE];
    char high[HC_TEXT_DOUBLE];
    bool has_low = isfinite(range->low);
    bool has_high = isfinite(range->high);
    print_number(low, range->low);
    print_number(high, range->high);
    if (has_low && has_high && option->open == HC_CLOSED) {
        hc_text_add(to, "%s%s%s%s", before, low, between, high);
        return;
    }
    if (has_low) {
        hc_text_add(to, "%s %s", (option->open & HC_OPEN_LOW) ? "above" : "at least", low);
    }
    if (has_high) {
        hc_text_add(to, "%s%s %s", has_low ? " and " : "",
                    (option->open & HC_OPEN_HIGH) ? "below" : "at most", high);
    }
}

void hc_option_list_choices(const HcOption *option, const char *between, HcText *to) {
    for (int32_t c = 0; option->choices[c] != NULL; c++) {
        hc_text_add(to, "%s%s", c == 0 ? "" : between, option->choices[c]);
    }
}

void hc_option_forms(const HcOption *option, HcText *left) {
    if (option->positional) {
        hc_text_add(left, option->required ? "%s" : "[%s]", option->value);
    }
    if (!option->positional || !option->required) {
        hc_text_add(left, "%s--%s", option->positional ? ", " : "", option->name);
        if (option->kind == HC_OPTION_CHOICE) {
            hc_text_add(left, " ");
            hc_option_list_choices(option, "|", left);
        } else if (option->alone != NULL) {
            hc_text_add(left, "[=%s]", option->value);
        } else if (option->value != NULL) {
            hc_text_add(left, " %s", option->value);
        }
    }
    if (option->letter != 0) {
        hc_text_add(left, ", -%c", option->letter);
    }
}

/* Nothing for what is off or empty without the option: a flag, a file. */
static void print_default(const HcOption *option, HcText *to) {
    char number[HC_TEXT_DOUBLE];
    bool is_number = option->kind == HC_OPTION_INT || option->kind == HC_OPTION_REAL;
    if (option->otherwise != NULL || option->standard != NULL) {
        hc_text_add(to, ". Default: %s", option->otherwise != NULL ? option->otherwise : option->standard);
    } else if (is_number && !isnan(option->initial)) {
        hc_text_add(to, ". Default: %s", print_number(number, option->initial));
    }
}

void hc_option_meaning(const HcOption *option, HcText *right) {
    hc_text_add(right, "%s", option->help);
    if (option->unit != NULL) {
        hc_text_add(right, " [%s]", option->unit);
    }
    if (option->file != HC_FILE_NONE) {
        hc_text_add(right, option->file == HC_FILE_READ ? " (reads)" : " (writes)");
    }
    if (hc_option_has_range(option) && (isfinite(option->range.low) || isfinite(option->range.high))) {
        hc_text_add(right, ". Range: ");
        hc_option_print_range(option, "", " to ", right);
    }
    if (option->kind == HC_OPTION_LIST) {
        hc_text_add(right, ". May be repeated");
    }
    const char *const relation[][3] = {{". Needs ", option->needs, " or "},
                                       {". Excludes ", option->excludes, " and "},
                                       {". At most one of ", option->one_of, " and "}};
    for (int r = 0; r < 3; r++) {
        if (relation[r][1] != NULL) {
            hc_text_add(right, "%s", relation[r][0]);
            hc_option_print_terms(relation[r][1], relation[r][2], right);
        }
    }
    if (option->required) {
        hc_text_add(right, ". Required");
    } else {
        print_default(option, right);
    }
}
