/* What the files of linear_program.h share; nobody else includes this. */
#ifndef HC_IO_TABLE_LINEAR_PROGRAM_PARTS_H
#define HC_IO_TABLE_LINEAR_PROGRAM_PARTS_H

#include "io/table/linear_program.h"

/* A stretch of the text of a file. */
typedef struct HcWord {
    const char *text;
    size_t length;
} HcWord;

/* Names, each once, by a table of hashes; numbers are from 0, in the order of adding. */
typedef struct HcNames {
    char **name;
    int64_t count, capacity;
    int32_t *slot; /* [slots] number of a name, -1 = empty */
    int64_t slots; /* a power of two, at least twice the count */
} HcNames;

/* The number of a name; -1 where there is none. */
int32_t hc_names_find(const HcNames *names, HcWord word);
/* Adds a name that is not there yet. A file of 4 GiB, the most that is read, holds less than 2^31 of them. */
HcStatus hc_names_add(HcNames *names, HcWord word, HcError *err) HC_MUST_CHECK;
void hc_names_clear(HcNames *names);

/* Memory for one element more in an array of `size` bytes each: *capacity elements, which double. */
HcStatus hc_lp_grow(void **array, size_t size, int64_t count, int64_t *capacity, HcError *err) HC_MUST_CHECK;

/* linear_program_mps.c: the text of an MPS file, in one of the two formats; `line` is the last that was read,
 * from 1. */
HcStatus hc_lp_parse_mps(HcLpFile *out, const char *path, const char *text, bool fixed, int64_t *line,
                         HcError *err) HC_MUST_CHECK;

#endif
