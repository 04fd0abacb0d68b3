#include "io/table/matrix_parts.h"
#include "core/text.h"

#include <inttypes.h>
#include <math.h>

HcStatus hc_matrix_fail_value(const char *path, int64_t row, int64_t column, double value, HcError *err) {
    char number[HC_TEXT_DOUBLE];
    const char *why = isnan(value) ? "not a number" : isinf(value) ? "infinite" : "too large for float32";
    return hc_fail(err, HC_E_INPUT, "%s: row %" PRId64 ", column %" PRId64 " (from 1) is %s (%s)", path,
                   row + 1, column + 1, why, hc_text_double(number, value));
}
