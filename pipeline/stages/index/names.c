/* The list of named indices; make_indices writes it from a public list. */
#include "pipeline/stages/index/indices.h"

#include <math.h>
#include <string.h>

#define INDEX(name, domain, formula, title, reference) {name, domain, formula, title, reference},
const HcNamedIndex hc_named_indices[] = {
#include "pipeline/stages/index/indices.def"
    {0}};

#define BAND(name, value, what)     {name, HC_INDEX_BAND, value, what},
#define CONSTANT(name, value, what) {name, HC_INDEX_CONSTANT, value, what},
#define REFUSED(name, why)          {name, HC_INDEX_REFUSED, 0, why},
static const HcIndexName names[] = {
#include "pipeline/stages/index/indices.def"
    {0}};

const HcIndexName *hc_index_name(const char *name) {
    const HcIndexName *row = names;
    while (row->name != NULL && strcmp(row->name, name) != 0) {
        row++;
    }
    return row->name != NULL ? row : NULL;
}

const HcNamedIndex *hc_named_index(const char *name) {
    const HcNamedIndex *row = hc_named_indices;
    while (row->name != NULL && strcmp(row->name, name) != 0) {
        row++;
    }
    return row->name != NULL ? row : NULL;
}
