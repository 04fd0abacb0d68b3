/* UTF-8 that drawing libraries and XML take. */
#ifndef HC_FIGURE_UTF8_H
#define HC_FIGURE_UTF8_H

#include "core/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A copy in fresh memory in which U+FFFD stands for each byte that is no UTF-8, and a blank for a control
 * character; NULL when memory ran out. */
char *hc_utf8_clean(const char *text);

/* The length in bytes of the character at `at`; 0 where it is none, or at the end. */
size_t hc_utf8_length(const char *at);

/* Adds the first `bytes` bytes of clean text with the five entities of XML. */
void hc_utf8_add_xml(HcText *to, const char *text, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
