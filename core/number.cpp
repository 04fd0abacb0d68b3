#include "core/text.h"

#include <charconv>

/* The C library can only try 15, 16 and 17 digits and read each back, which takes ten times as long. */
extern "C" const char *hc_text_double(char *buffer, double value) {
    auto end = std::to_chars(buffer, buffer + HC_TEXT_DOUBLE - 1, value);
    *end.ptr = '\0';
    return buffer;
}
