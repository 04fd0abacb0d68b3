/* What decides that one more pass is needed: a stage that must see the whole scene before it can change what
 * follows. */
#include "pipeline/run/passes.h"
#include "pipeline/run/run.h"

bool hc_pass_observes(const HcPass *pass, const HcStage *stage) {
    return stage->needs.observes && !stage->settled && stage->place < pass->end;
}

static int32_t rounds_left(const HcStage *stage) {
    return (stage->needs.rounds > 1 ? stage->needs.rounds : 1) - stage->round;
}

int32_t hc_pass_times(const HcChain *chain, const HcPass *pass) {
    const HcStage *last = &chain->stages[pass->end - 1];
    return !pass->stops ? 1 : last->needs.passes_through ? rounds_left(last) - 1 : rounds_left(last);
}

void hc_pass_halos(const HcChain *chain, bool observes, HcPass *pass) {
    int32_t halo = 0;
    for (int32_t s = pass->end - 1; s >= 0; s--) {
        const HcStage *stage = &chain->stages[s];
        pass->halo[s] = halo;
        bool processes = !stage->needs.passes_through && !(pass->stops && s == pass->end - 1);
        int32_t before = processes ? halo + stage->needs.halo : halo;
        if (observes && hc_pass_observes(pass, stage) && stage->needs.halo > before) {
            before = stage->needs.halo;
        }
        halo = before;
    }
}

void hc_pass_after(const HcChain *chain, int32_t settled_before, HcPass *pass) {
    *pass = (HcPass){.end = chain->count};
    for (int32_t s = 1; s < chain->count && !pass->stops; s++) {
        const HcStage *stage = &chain->stages[s];
        bool alone = !stage->needs.passes_through || rounds_left(stage) > 1;
        if (s >= settled_before && stage->needs.observes && !stage->settled && alone) {
            pass->end = s + 1;
            pass->stops = true;
        }
    }
    hc_pass_halos(chain, true, pass);
}

void hc_pass_next(const HcChain *chain, HcPass *pass) {
    hc_pass_after(chain, 0, pass);
}

size_t hc_rows_bytes(const HcScene *scene, int64_t rows) {
    return (size_t)rows * (size_t)scene->samples * ((size_t)scene->bands * sizeof(float) + 1);
}

static int64_t every(const HcNeeds *needs) {
    return needs->pick.every > 1 ? needs->pick.every : 1;
}

int64_t hc_wanted_line(const HcNeeds *needs, int64_t line) {
    return (line + every(needs) - 1) / every(needs) * every(needs);
}

int32_t hc_wanted_lines(const HcNeeds *needs, int64_t line, int64_t lines) {
    int64_t left = line + lines - hc_wanted_line(needs, line);
    return left > 0 ? (int32_t)((left + every(needs) - 1) / every(needs)) : 0;
}

bool hc_picks_bands(const HcStage *stage) {
    return stage->needs.consumes && stage->needs.pick.bands != NULL;
}

size_t hc_consumed_bytes(const HcStage *stage, int64_t lines) {
    HcScene shape = {.samples = stage->out.samples,
                     .bands = hc_picks_bands(stage) ? stage->needs.pick.band_count : stage->out.bands};
    return hc_rows_bytes(&shape, (lines + every(&stage->needs) - 1) / every(&stage->needs));
}

size_t hc_aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

void hc_pass_slot(const HcChain *chain, const HcPass *pass, int32_t lines, HcSlotLayout *out) {
    size_t scratch = 0;
    *out = (HcSlotLayout){0};
    for (int32_t s = 0; s < pass->end - (pass->stops ? 1 : 0); s++) {
        const HcStage *stage = &chain->stages[s];
        int64_t rows = lines + 2 * (int64_t)pass->halo[s];
        out->output[s] = out->scratch;
        out->scratch += !stage->needs.passes_through            ? hc_aligned(hc_rows_bytes(&stage->out, rows))
                        : hc_picks_bands(stage) && !pass->stops ? hc_aligned(hc_consumed_bytes(stage, lines))
                                                                : 0;
        size_t wanted = stage->needs.memory[HC_SPACE_PIXEL].bytes * (size_t)rows * (size_t)stage->out.samples;
        scratch = wanted > scratch ? wanted : scratch;
    }
    out->all = out->scratch + hc_aligned(scratch);
}
