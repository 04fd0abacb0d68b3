/* identify of a spectral library, which takes the place of the scene: prints a table. */
#include "app/app.h"
#include "core/allocate.h"
#include "io/library/library.h"
#include "pipeline/chain.h"
#include "pipeline/stages/identify/identify.h"
#include "pipeline/stages/stages.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Params {
    const char *spectra;
} Params;

static const HcOption own[] = {{HC_TEXT(Params, spectra, "library-of-spectra"), .file = HC_FILE_READ,
                                .value = "SPECTRA", .positional = true, .required = true,
                                .help = "spectral library whose spectra are identified"},
                               {0}};

HcStatus hc_identify_takes(int32_t word_count, const char *const *words, bool *takes, HcError *err) {
    HcIdentifyParams params;
    HcCommon common;
    const HcOptionSet sets[] = {{.table = hc_stage_identify.options, .params = &params},
                                {.table = hc_common_options, .params = &common}};
    int32_t first = hc_options_leading(sets, 2, words, word_count);
    *takes = false;
    return first < word_count ? hc_library_recognise(words[first], takes, err) : HC_OK;
}

HcStatus hc_command_identify(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    HcIdentifyParams params;
    HcIdentifyState state = {0};
    HcCommon common;
    Params mine;
    HcChain chain = {0};
    HcText table = {0};
    char reason[256];
    HcStage stage = {
        .kind = &hc_stage_identify, .chain = &chain, .params = &params, .state = &state, .threads = 1};
    const HcOptionSet sets[] = {{.table = own, .params = &mine},
                                {.table = hc_stage_identify.options, .params = &params},
                                {.table = hc_common_options, .params = &common}};
    for (int s = 0; s < 3; s++) {
        hc_options_reset(sets[s].table, sets[s].params);
    }
    HC_TRY(hc_options_parse("identify", sets, 3, words, word_count, err));
    if (params.picture != NULL || params.rejected) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "identify: --%s: %s is a library, for which a table is printed",
                       params.rejected ? "rejected" : "picture", mine.spectra));
    }
    params.top = params.top > 0 ? params.top : 3;
    HC_TRY(hc_backend_open(&common, &stage.compute, reason, sizeof reason, err));
    HC_TRY(hc_identify_library(&stage, mine.spectra, &table, err));
    HC_TRY(hc_chain_check_notes(&chain, err));
    bool first = hc_ranks_number(hc_app_ranks()) == 0;
    for (int32_t n = 0; n < chain.note_count && !common.quiet && first; n++) {
        hc_say("note: %s", chain.notes[n]);
    }
    printf("%s", first ? hc_text_shown(&table) : "");
done:
    for (int32_t n = 0; n < chain.note_count; n++) {
        free(chain.notes[n]);
    }
    hc_text_clear(&table);
    hc_compute_close(stage.compute);
    return status;
}
