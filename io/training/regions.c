/* Regions of a class raster: pixels that touch, also at corners, and have the same label. Pixels come in the
 * order of the scene, so that one walk along two lines finds the neighbours above, and a forest of pixels,
 * each pointing at an earlier one, joins them. */
#include "core/allocate.h"
#include "io/training/parts.h"

#include <stdlib.h>

/* The first pixel of the region so far; paths become shorter on the way. */
static int64_t root_of(int64_t *parent, int64_t i) {
    while (parent[i] != i) {
        parent[i] = parent[parent[i]];
        i = parent[i];
    }
    return i;
}

static void join(int64_t *parent, int64_t a, int64_t b) {
    a = root_of(parent, a);
    b = root_of(parent, b);
    if (a != b) {
        parent[a > b ? a : b] = a > b ? b : a;
    }
}

/* Joins pixel i with those of the line above from `above` on that touch it; returns where the next may begin.
 */
static int64_t join_above(const HcLabelled *labelled, int64_t *parent, int64_t i, int64_t above) {
    const int32_t *line = labelled->line, *sample = labelled->sample;
    while (above < i &&
           (line[above] < line[i] - 1 || (line[above] == line[i] - 1 && sample[above] < sample[i] - 1))) {
        above++;
    }
    for (int64_t k = above; k < i && line[k] == line[i] - 1 && sample[k] <= sample[i] + 1; k++) {
        if (labelled->label[k] == labelled->label[i]) {
            join(parent, i, k);
        }
    }
    return above;
}

HcStatus hc_labelling_regions(HcLabelled *labelled, HcError *err) {
    int64_t *parent = NULL;
    int64_t above = 0;
    HC_OR_RETURN(hc_new(parent, (size_t)labelled->count, "regions of a class raster", err));
    for (int64_t i = 0; i < labelled->count; i++) {
        bool touches = i > 0 && labelled->line[i - 1] == labelled->line[i] &&
                       labelled->sample[i - 1] == labelled->sample[i] - 1 &&
                       labelled->label[i - 1] == labelled->label[i];
        parent[i] = i;
        if (touches) {
            join(parent, i, i - 1);
        }
        above = join_above(labelled, parent, i, above);
    }
    for (int64_t i = 0; i < labelled->count; i++) {
        int64_t root = root_of(parent, i);
        labelled->feature[i] = root == i ? labelled->features++ : labelled->feature[root];
    }
    free(parent);
    return HC_OK;
}
