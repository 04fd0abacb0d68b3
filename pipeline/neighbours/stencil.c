#include "pipeline/neighbours/stencil.h"
#include "core/text.h"

#include <string.h>

const char *const hc_noise_words[] = {"mean3x3", "median3x3", "shift", "shift-diagonal", NULL};
const char *const hc_neighbour_words[] = {"mean3x3",     "median3x3",       "shift",      "shift-diagonal",
                                          "shift-lower", "shift-lowerleft", "shift-mean", "hv-average",
                                          "quad",        "trimmed",         NULL};

enum { OPERATIONS = HC_DIFFERENCE_SHIFT_DIAGONAL, TAPS = 9 };

/* One pixel of a neighbourhood, and how often it is added. */
typedef struct Tap {
    int32_t line, sample, weight;
} Tap;

typedef struct Stencil {
    int32_t count;
    Tap tap[TAPS]; /* x first */
} Stencil;

static const Stencil stencils[] = {
    [HC_STENCIL_LOWER - HC_STENCIL_FIRST] = {2, {{0, 0, 1}, {1, 0, -1}}},
    [HC_STENCIL_LOWER_LEFT - HC_STENCIL_FIRST] = {2, {{0, 0, 1}, {1, -1, -1}}},
    [HC_STENCIL_MEAN - HC_STENCIL_FIRST] = {3, {{0, 0, 2}, {0, 1, -1}, {-1, 0, -1}}},
    [HC_STENCIL_HV - HC_STENCIL_FIRST] = {3, {{0, 0, 2}, {0, 1, -1}, {1, 0, -1}}},
    [HC_STENCIL_SECOND - HC_STENCIL_FIRST] = {9,
                                              {{0, 0, 4},
                                               {0, -1, -2},
                                               {0, 1, -2},
                                               {-1, 0, -2},
                                               {1, 0, -2},
                                               {-1, -1, 1},
                                               {-1, 1, 1},
                                               {1, -1, 1},
                                               {1, 1, 1}}},
    [HC_STENCIL_TRIMMED - HC_STENCIL_FIRST] = {2, {{0, 0, 1}, {0, 1, -1}}},
};

/* NULL: an operation forms it. */
static const Stencil *stencil_of(HcDifference difference) {
    return hc_stencil_is(difference) ? &stencils[(int)difference - HC_STENCIL_FIRST] : NULL;
}

HcDifference hc_noise_of_word(const char *word) {
    int32_t i = hc_text_find(word, hc_neighbour_words);
    return i < 0            ? HC_DIFFERENCE_NONE
           : i < OPERATIONS ? (HcDifference)(i + 1)
                            : (HcDifference)(i - OPERATIONS + HC_STENCIL_FIRST);
}

const char *hc_noise_word_of(HcDifference difference) {
    int kind = (int)difference;
    return kind == 0 ? ""
                     : hc_neighbour_words[kind < HC_STENCIL_FIRST ? kind - 1
                                                                  : kind - HC_STENCIL_FIRST + OPERATIONS];
}

double hc_stencil_variance(HcDifference difference) {
    const Stencil *stencil = stencil_of(difference);
    if (stencil == NULL) {
        return hc_difference_variance(difference);
    }
    int32_t sum = 0;
    for (int32_t k = 0; k < stencil->count; k++) {
        sum += stencil->tap[k].weight * stencil->tap[k].weight;
    }
    return sum;
}

int32_t hc_stencil_halo(HcDifference difference) {
    return hc_stencil_is(difference) ? 1 : hc_difference_halo(difference);
}

int64_t hc_stencil_limit(HcDifference difference, int64_t limit) {
    const Stencil *stencil = stencil_of(difference);
    /* Values of a known limit are integers of float32, and so are their differences (core/sums/moments.h). */
    int64_t known = hc_difference_limit(stencil == NULL ? difference : HC_DIFFERENCE_NONE, limit);
    int64_t sum = 0;
    for (int32_t k = 0; stencil != NULL && k < stencil->count; k++) {
        sum += stencil->tap[k].weight < 0 ? -stencil->tap[k].weight : stencil->tap[k].weight;
    }
    return stencil == NULL ? known : sum * known;
}

int32_t hc_stencil_scale(HcDifference difference) {
    const Stencil *stencil = stencil_of(difference);
    return stencil != NULL ? stencil->tap[0].weight : difference == HC_DIFFERENCE_MEAN3X3 ? 9 : 1;
}

/* Whether all pixels of the neighbourhood are there and valid. */
static bool is_whole(const Stencil *stencil, const HcStencilRows *rows, int64_t sample) {
    for (int32_t k = 0; k < stencil->count; k++) {
        const Tap *tap = &stencil->tap[k];
        const uint8_t *mask = rows->mask[tap->line + 1];
        int64_t at = sample + tap->sample;
        if (mask == NULL || at < rows->first || at >= rows->end || mask[at] == 0) {
            return false;
        }
    }
    return true;
}

void hc_stencil_row(HcDifference difference, const HcStencilRows *rows, float *out, uint8_t *valid) {
    const Stencil *stencil = stencil_of(difference);
    int64_t bands = rows->bands;
    for (int64_t s = 0; s < rows->samples; s++) {
        float *to = out + s * bands;
        valid[s] = is_whole(stencil, rows, s);
        if (valid[s] == 0) {
            memset(to, 0, (size_t)bands * sizeof *to);
            continue;
        }
        const float *from[TAPS];
        double weight[TAPS];
        for (int32_t k = 0; k < stencil->count; k++) {
            const Tap *tap = &stencil->tap[k];
            from[k] = rows->value[tap->line + 1] + (s + tap->sample) * bands;
            weight[k] = tap->weight;
        }
        for (int64_t b = 0; b < bands; b++) {
            double sum = 0;
            for (int32_t k = 0; k < stencil->count; k++) {
                sum += weight[k] * (double)from[k][b];
            }
            to[b] = (float)sum;
        }
    }
}
