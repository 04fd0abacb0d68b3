/* A stage as a command with a spectral library in the place of the scene: `identify SPECTRA --library LIB`.
 */
#include "app/app.h"
#include "core/allocate.h"
#include "io/library/library.h"
#include "pipeline/chain.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Place {
    const char *spectra;
} Place;

static const HcOption place_options[] = {
    {HC_TEXT(Place, spectra), .file = HC_FILE_READ, .value = "SPECTRA", .positional = true, .required = true},
    {0}};

/* Parses the words of the stage, and the options of every run. */
static HcStatus parse(HcStage *stage, Place *place, HcCommon *common, int32_t word_count,
                      const char *const *words, HcError *err) {
    const HcOptionSet sets[] = {{.table = place_options, .params = place},
                                {.table = stage->kind->options, .params = stage->params, .yields = true},
                                {.table = hc_common_options, .params = common}};
    for (int s = 0; s < 3; s++) {
        hc_options_reset(sets[s].table, sets[s].params);
    }
    return hc_options_parse(stage->kind->name, sets, 3, words, word_count, err);
}

HcStatus hc_library_leads(const HcStageClass *kind, int32_t word_count, const char *const *words, bool *leads,
                          HcError *err) {
    const HcOptionSet sets[] = {{.table = kind->options}, {.table = hc_common_options}};
    int32_t first = hc_options_leading(sets, 2, words, word_count);
    *leads = false;
    return kind->rare.of_library != NULL && first < word_count
               ? hc_library_recognise(words[first], leads, err)
               : HC_OK;
}

HcStatus hc_command_of_library(const HcStageClass *kind, int32_t word_count, const char *const *words,
                               HcError *err) {
    HcStatus status = HC_OK;
    HcCommon common = {0};
    Place place = {0};
    HcChain chain = {0};
    HcText table = {0};
    HcStage stage = {.kind = kind, .chain = &chain, .threads = 1};
    char reason[256];
    bool first = hc_ranks_number(hc_app_ranks()) == 0;
    stage.params = hc_allocate(1, kind->params_size, "options", err, __FILE__, __LINE__);
    stage.state = hc_allocate(1, kind->state_size, "a stage", err, __FILE__, __LINE__);
    HC_TRY(stage.params != NULL && stage.state != NULL ? HC_OK : HC_E_MEMORY);
    HC_TRY(parse(&stage, &place, &common, word_count, words, err));
    HC_TRY(hc_backend_open(&common, &stage.compute, reason, sizeof reason, err));
    HC_TRY(kind->rare.of_library(&stage, place.spectra, &table, err));
    HC_TRY(hc_chain_check_notes(&chain, err));
    for (int32_t n = 0; n < chain.note_count && !common.quiet && first; n++) {
        hc_say("note: %s", chain.notes[n]);
    }
    printf("%s", first ? hc_text_shown(&table) : "");
done:
    if (stage.state != NULL) {
        kind->close(&stage);
    }
    hc_scene_clear(&stage.in);
    hc_scene_clear(&stage.out);
    for (int32_t n = 0; n < chain.note_count; n++) {
        free(chain.notes[n]);
    }
    free(stage.params);
    free(stage.state);
    hc_text_clear(&table);
    hc_compute_close(stage.compute);
    return status;
}
