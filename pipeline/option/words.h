/* Words of chains, as they stand on a command line or in a chain file. */
#ifndef HC_PIPELINE_WORDS_H
#define HC_PIPELINE_WORDS_H

#include "core/text.h"
#include "pipeline/option/option.h"
#include "core/texts.h"

/* Failures name the line ("a.hcube:3: ...") where a text has line ends. */

/* Splits a text into words as a shell would (blanks, '...', "...", backslash; # starts a comment; line ends
 * are blanks). words is fresh and NULL-terminated, freed by hc_free_texts. lines, or NULL: fresh [count],
 * freed by free: the line that each word begins in, from 1. */
HcStatus hc_words_split(const char *text, const char *where, char ***words, int32_t **lines, int32_t *count,
                        HcError *err) HC_MUST_CHECK;

/* Replaces {name} in text by the value of "name=value" in `values`; {{ and }} become braces. A value is
 * one word or part of one, blanks included; comments are dropped. Every placeholder needs a value and
 * every value a placeholder. The result is fresh. */
HcStatus hc_words_fill(const char *text, const char *where, const HcOptionList *values, char **out,
                       HcError *err) HC_MUST_CHECK;

/* Puts words and ": " before a failure that is recorded ("a.hcube:3"). Returns `status`. `err` may be NULL.
 */
HcStatus hc_fail_before(HcError *err, HcStatus status, const char *format, ...) HC_PRINTF(3, 4);

/* Adds a word, quoted where a shell needs it. */
void hc_word_print(const char *word, HcText *text);

#endif
