/* What unmix says of the whole scene: in notes and in the record. */
#include "pipeline/stages/unmix.h"

#include <stdlib.h>
#include <string.h>

/* Spectra that a note names. */
enum { NAMED = 5 };

HcStatus hc_unmix_tally_make(HcUnmixTally *tally, const int64_t *counts, int32_t spectra, HcError *err) {
    const int64_t *present = counts + HC_UNMIX_COUNTS;
    const int64_t *sum = present + spectra;
    size_t count = (size_t)spectra;
    tally->present = malloc(count * sizeof *tally->present);
    tally->mean = malloc(count * sizeof *tally->mean);
    if (tally->present == NULL || tally->mean == NULL) {
        return hc_fail_memory(err, (double)count * sizeof *tally->mean, "the summary of the abundances");
    }
    tally->pixels = counts[HC_UNMIX_COUNT_PIXELS];
    tally->unfinished = counts[HC_UNMIX_COUNT_UNFINISHED];
    memcpy(&tally->gap, &counts[HC_UNMIX_COUNT_GAP], sizeof tally->gap);
    memcpy(tally->present, present, count * sizeof *present);
    for (int32_t k = 0; k < spectra; k++) {
        double all = (double)sum[k] * HC_UNMIX_COUNT_UNIT;
        tally->mean[k] = tally->pixels > 0 ? all / (double)tally->pixels : 0;
    }
    return HC_OK;
}

void hc_unmix_tally_clear(HcUnmixTally *tally) {
    free(tally->present);
    free(tally->mean);
    *tally = (HcUnmixTally){0};
}

/* The spectra with the largest means, in that order; returns how many have any. */
static int32_t find_largest(const HcUnmixTally *tally, int32_t spectra, int32_t largest[NAMED]) {
    int32_t found = 0;
    for (int32_t k = 0; k < spectra; k++) {
        int32_t at = found;
        while (at > 0 && tally->mean[k] > tally->mean[largest[at - 1]]) {
            at--;
        }
        if (!(tally->mean[k] > 0) || at == NAMED) {
            continue;
        }
        found += found < NAMED;
        memmove(&largest[at + 1], &largest[at], (size_t)(found - 1 - at) * sizeof *largest);
        largest[at] = k;
    }
    return found;
}

void hc_unmix_tally_note(HcStage *stage, const HcUnmixTally *tally, const HcLibraryFit *library, double gap,
                         bool top) {
    int32_t largest[NAMED];
    int32_t found = find_largest(tally, library->count, largest);
    HcText text = {0};
    for (int32_t i = 0; i < found; i++) {
        int32_t k = largest[i];
        hc_text_add(&text, "%s%s (%s %d) %.3g", i > 0 ? ", " : "", library->name[k], top ? "number" : "band",
                    top ? k : k + 1, tally->mean[k]);
    }
    if (found > 0 && !text.failed) {
        hc_stage_note(stage, "largest mean abundances: %s", text.data);
    }
    hc_text_clear(&text);
    if (tally->unfinished > 0) {
        hc_stage_note(stage,
                      "%lld of %lld pixels ended before the gap of %.3g was reached, the worst at %.3g "
                      "(more --iterations, or another --solver)",
                      (long long)tally->unfinished, (long long)tally->pixels, gap, tally->gap);
    }
}

HcStatus hc_unmix_tally_json(const HcUnmixTally *tally, const HcLibraryFit *library, cJSON *to,
                             HcError *err) {
    bool fine = cJSON_AddNumberToObject(to, "pixels", (double)tally->pixels) != NULL &&
                cJSON_AddNumberToObject(to, "unfinished_pixels", (double)tally->unfinished) != NULL &&
                cJSON_AddNumberToObject(to, "largest_gap", tally->gap) != NULL;
    cJSON *list = cJSON_AddArrayToObject(to, "spectra");
    for (int32_t k = 0; k < library->count && fine; k++) {
        cJSON *item = cJSON_CreateObject();
        cJSON_AddItemToArray(list, item);
        fine = cJSON_AddStringToObject(item, "name", library->name[k]) != NULL &&
               cJSON_AddNumberToObject(item, "library_spectrum_from_0", library->from[k]) != NULL &&
               cJSON_AddNumberToObject(item, "pixels", (double)tally->present[k]) != NULL &&
               cJSON_AddNumberToObject(item, "mean_abundance", tally->mean[k]) != NULL;
    }
    return fine ? HC_OK : hc_fail_memory(err, 0, "the record");
}
