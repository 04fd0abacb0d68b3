#include "pipeline/spectra/abundance_tally.h"

#include "core/allocate.h"
#include "core/operation/lp/lad.h"
#include "pipeline/chain.h"
#include "pipeline/memory.h"

#include <stdlib.h>
#include <string.h>

/* Spectra that a note names. */
enum { NAMED = 5 };

HcStatus hc_abundance_counts_begin(const HcStage *stage, HcQueue *queue, const HcBuffer *counts,
                                   const HcBlock *out, HcError *err) {
    return out->line0 == stage->chain->first_line ? hc_zero(queue, counts->data, counts->bytes, err) : HC_OK;
}

HcStatus hc_abundance_counts_gather(const HcStage *stage, const HcBuffer *counts, int32_t worst,
                                    int64_t **gathered, HcError *err) {
    HcStatus status = HC_OK;
    HcRanks *ranks = hc_stage_ranks(stage);
    int64_t *list = NULL;
    HC_OR_RETURN(hc_new(list, counts->bytes / sizeof *list, "the summary of the abundances", err));
    HC_TRY(hc_memory_download(stage->compute, counts, list, counts->bytes, err));
    int64_t largest = list[worst];
    HC_TRY(hc_ranks_largest(ranks, &largest, 1, err));
    HC_TRY(hc_ranks_sum(ranks, list, counts->bytes / sizeof *list, err));
    list[worst] = largest;
    *gathered = list;
    list = NULL;
done:
    free(list);
    return status;
}

/* present, sum: [spectra] as the operations count them; tally->pixels is known. */
static HcStatus fill_spectra(HcAbundanceTally *tally, const int64_t *present, const int64_t *sum,
                             int32_t spectra, HcError *err) {
    size_t count = (size_t)spectra;
    HC_OR_RETURN(hc_new(tally->present, count, "the summary of the abundances", err));
    HC_OR_RETURN(hc_new(tally->mean, count, "the summary of the abundances", err));
    memcpy(tally->present, present, count * sizeof *present);
    for (size_t k = 0; k < count; k++) {
        double all = (double)sum[k] * HC_UNMIX_COUNT_UNIT;
        tally->mean[k] = tally->pixels > 0 ? all / (double)tally->pixels : 0;
    }
    return HC_OK;
}

HcStatus hc_abundance_tally_unmix(HcAbundanceTally *tally, const int64_t *counts, int32_t spectra,
                                  int32_t named, HcError *err) {
    const int64_t *present = counts + HC_UNMIX_COUNTS;
    tally->pixels = counts[HC_UNMIX_COUNT_PIXELS];
    tally->unfinished = counts[HC_UNMIX_COUNT_UNFINISHED];
    memcpy(&tally->worst, &counts[HC_UNMIX_COUNT_GAP], sizeof tally->worst);
    return fill_spectra(tally, present, present + spectra, named, err);
}

HcStatus hc_abundance_tally_simplex(HcAbundanceTally *tally, const int64_t *counts, int32_t endmembers,
                                    HcError *err) {
    const int64_t *present = counts + HC_LAD_COUNTS;
    tally->pixels = counts[HC_LAD_COUNT_PIXELS];
    tally->unfinished = counts[HC_LAD_COUNT_UNFINISHED];
    tally->pivots = counts[HC_LAD_COUNT_PIVOTS];
    memcpy(&tally->worst, &counts[HC_LAD_COUNT_ERROR], sizeof tally->worst);
    return fill_spectra(tally, present, present + endmembers, endmembers, err);
}

double hc_abundance_tally_total(const HcAbundanceTally *tally, int32_t spectra) {
    double total = 0;
    for (int32_t k = 0; k < spectra; k++) {
        total += tally->mean[k];
    }
    return total;
}

void hc_abundance_tally_clear(HcAbundanceTally *tally) {
    free(tally->present);
    free(tally->mean);
    *tally = (HcAbundanceTally){0};
}

/* The spectra with the largest means, in that order; returns how many have any. */
static int32_t find_largest(const HcAbundanceTally *tally, int32_t spectra, int32_t largest[NAMED]) {
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

void hc_abundance_tally_note(HcStage *stage, const HcAbundanceTally *tally, const HcLibraryFit *library,
                             const char *sums, bool top) {
    int32_t largest[NAMED];
    int32_t found = find_largest(tally, library->count, largest);
    HcText text = {0};
    for (int32_t i = 0; i < found; i++) {
        int32_t k = largest[i];
        hc_text_add(&text, "%s%s (", i > 0 ? ", " : "", library->name[k]);
        if (top || library->from[k] != k) {
            hc_text_add(&text, "number %d%s", library->from[k] + 1, top ? "" : ", ");
        }
        if (!top) {
            hc_text_add(&text, "band %d", k + 1);
        }
        hc_text_add(&text, ") %.3g", tally->mean[k]);
    }
    if (text.failed) {
        hc_stage_note_lost(stage);
    } else if (found > 0) {
        hc_stage_note(stage, "%s; largest mean abundances: %s", sums, text.data);
    }
    hc_text_clear(&text);
}

void hc_abundance_tally_json(const HcAbundanceTally *tally, const char *worst, const HcLibraryFit *library,
                             HcJson *to) {
    hc_json_put_number(to, "pixels", (double)tally->pixels);
    hc_json_put_number(to, "unfinished_pixels", (double)tally->unfinished);
    hc_json_put_number(to, worst, tally->worst);
    hc_json_open_array(to, "spectra");
    for (int32_t k = 0; k < library->count; k++) {
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "name", library->name[k]);
        hc_json_put_number(to, "library_spectrum_from_1", library->from[k] + 1);
        hc_json_put_number(to, "pixels", (double)tally->present[k]);
        hc_json_put_number(to, "mean_abundance", tally->mean[k]);
        hc_json_close(to);
    }
    hc_json_close(to);
}
