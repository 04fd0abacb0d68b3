/* Stencil: differences of neighbours that no operation forms, and what is known of all differences.
 *
 * HcDifference has the differences that operations form. The others begin at HC_STENCIL_FIRST: the host forms
 * them (neighbours/host.h). Both kinds stand in the same variables, so that sums, files and options treat
 * them alike. */
#ifndef HC_PIPELINE_NEIGHBOURS_STENCIL_H
#define HC_PIPELINE_NEIGHBOURS_STENCIL_H

#include "core/operation/gram/gram.h"

#include <stdbool.h>

/* Differences of a pixel x, whole numbers where the scene has whole numbers. */
enum {
    HC_STENCIL_FIRST = 16,
    HC_STENCIL_LOWER = HC_STENCIL_FIRST, /* x - its lower neighbour (SPy `lower`) */
    HC_STENCIL_LOWER_LEFT,               /* x - its lower left neighbour (SPy `lowerleft`) */
    HC_STENCIL_MEAN,                     /* 2 x - its right and its upper neighbour (ENVI) */
    HC_STENCIL_HV,                       /* 2 x - its right and its lower neighbour (PyGMI `hv average`) */
    HC_STENCIL_SECOND,  /* 4 x - 2 (the neighbours that share a side) + the four others (PyGMI, its third) */
    HC_STENCIL_TRIMMED, /* x - its right neighbour, in the calm blocks of a scene (neighbours/calm.h) */
    HC_STENCIL_END
};

/* Whether the host forms it. */
static inline bool hc_stencil_is(HcDifference difference) {
    return (int)difference >= HC_STENCIL_FIRST;
}

/* The words of differences, NULL-terminated: those of the operations, in the order of HcDifference from 1 on,
 * and all. */
extern const char *const hc_noise_words[];
extern const char *const hc_neighbour_words[];

/* The difference of a word; HC_DIFFERENCE_NONE where it is none. */
HcDifference hc_noise_of_word(const char *word);

/* The word of a difference; "" for HC_DIFFERENCE_NONE. */
const char *hc_noise_word_of(HcDifference difference);

/* As hc_difference_variance, hc_difference_halo and hc_difference_limit, for all differences. */
double hc_stencil_variance(HcDifference difference);
int32_t hc_stencil_halo(HcDifference difference);
int64_t hc_stencil_limit(HcDifference difference, int64_t limit);

/* How often x itself is in the difference: 9 for HC_DIFFERENCE_MEAN3X3. */
int32_t hc_stencil_scale(HcDifference difference);

/* Rows [samples][bands] and masks [samples] of three lines, here with its neighbours; NULL where the scene or
 * the window has no such line. */
typedef struct HcStencilRows {
    const float *value[3];
    const uint8_t *mask[3];
    int64_t samples, bands;
    int64_t first, end; /* samples that the window has */
} HcStencilRows;

/* Forms a row of differences: out[samples][bands], rounded once, and valid[samples]. Pixels without their
 * whole neighbourhood are 0 and not valid. */
void hc_stencil_row(HcDifference difference, const HcStencilRows *rows, float *out, uint8_t *valid);

#endif
