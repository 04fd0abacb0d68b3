/* BAND, BAND=VALUES and BAND!=VALUES after the name of a mask. */
#include "core/text.h"
#include "io/view/parts.h"

#include <math.h>
#include <string.h>

static HcStatus fail_item(const char *text, const char *item, HcError *err) {
    return hc_fail(err, HC_E_USAGE, "%s: '%s' is no value, range (5-9) or bit (bit0 to bit63)", text, item);
}

/* Where the second number of a range begins, after its sign; NULL: the item is one number. */
static char *end_of_range(char *item) {
    for (char *c = item + 1; item[0] != '\0' && *c != '\0'; c++) {
        if (*c == '-' && c[-1] != 'e' && c[-1] != 'E') {
            return c;
        }
    }
    return NULL;
}

/* One item of the list. */
static HcStatus take_item(const char *text, char *item, HcViewChoice *out, HcError *err) {
    int64_t bit = 0;
    HcViewRange range;
    if (strncmp(item, "bit", 3) == 0) {
        if (!hc_text_parse_int(item + 3, &bit) || bit < 0 || bit > 63) {
            return fail_item(text, item, err);
        }
        out->bits |= (uint64_t)1 << bit;
        return HC_OK;
    }
    char *between = end_of_range(item);
    if (between != NULL) {
        *between = '\0';
    }
    bool good = hc_text_parse_double(item, &range.low) &&
                hc_text_parse_double(between != NULL ? between + 1 : item, &range.high) &&
                range.low <= range.high; /* not NaN either */
    if (between != NULL) {
        *between = '-';
    }
    if (!good) {
        return fail_item(text, item, err);
    }
    if (out->ranges == HC_VIEW_RANGES_MAX) {
        return hc_fail(err, HC_E_USAGE, "%s: more than %d values and ranges", text, HC_VIEW_RANGES_MAX);
    }
    out->range[out->ranges++] = range;
    return HC_OK;
}

HcStatus hc_view_choice_parse(const char *text, const char *suffix, HcViewChoice *out, HcError *err) {
    int64_t band = 0;
    char item[64];
    size_t digits = strspn(suffix, "0123456789");
    const char *rest = suffix + digits;
    *out = (HcViewChoice){.others = rest[0] == '!', .given = rest[0] != '\0'};
    snprintf(item, sizeof item, "%.*s", (int)(digits < 20 ? digits : 20), suffix);
    rest += out->others;
    if (digits == 0 || !hc_text_parse_int(item, &band) || band < 1 || band > INT32_MAX ||
        (out->given && rest[0] != '=')) {
        return hc_fail(err, HC_E_USAGE, "%s: '%s' is no BAND (from 1), BAND=VALUES or BAND!=VALUES", text,
                       suffix);
    }
    out->band = (int32_t)band;
    for (bool more = out->given; more; more = *rest == ',') {
        size_t length = strcspn(++rest, ",");
        snprintf(item, sizeof item, "%.*s", (int)(length < sizeof item ? length : sizeof item - 1), rest);
        HC_OR_RETURN(length < sizeof item ? take_item(text, item, out, err) : fail_item(text, item, err));
        rest += length;
    }
    return HC_OK;
}

bool hc_view_choice_has(const HcViewChoice *choice, double value, uint64_t bits) {
    bool has = (choice->bits & bits) != 0;
    for (int32_t r = 0; r < choice->ranges && !has; r++) {
        has = value >= choice->range[r].low && value <= choice->range[r].high;
    }
    return has;
}

bool hc_view_choice_names(const HcViewChoice *choice, double value) {
    for (int32_t r = 0; r < choice->ranges; r++) {
        if (value == choice->range[r].low || value == choice->range[r].high) {
            return true;
        }
    }
    return false;
}
