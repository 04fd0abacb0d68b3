#include "pipeline/picture/ortho_map.h"
#include "pipeline/chain.h"
#include "pipeline/settings.h"

#include <inttypes.h>

const char hc_ortho_of_scene[] = HC_ORTHO_OF_SCENE;

HcStatus hc_ortho_map_plan(HcStage *stage, const char *asked, HcOrtho **ortho, HcError *err) {
    if (asked == NULL || *ortho != NULL) {
        return HC_OK;
    }
    const char *file = asked != hc_ortho_of_scene ? asked : NULL;
    const char *path = hc_reader_path(hc_view_reader(stage->chain->source->view));
    /* Blocks are taken later: a part of --memory is free now. */
    const HcRunSettings *settings = stage->chain->settings;
    uint64_t memory = settings != NULL ? settings->memory / 4 : 0;
    HC_OR_RETURN(hc_ortho_open(ortho, &stage->in, path, file, memory, err));
    HcOrthoFacts facts = hc_ortho_facts(*ortho);
    double part = 100 * (double)facts.filled / ((double)facts.lines * (double)facts.samples);
    if (facts.nearest) {
        hc_stage_note(stage,
                      "the map has %" PRId64 " lines x %" PRId64
                      " samples of %.6g, %.3g %% of them filled by "
                      "the nearest pixel within %.6g, by the coordinates in %s",
                      facts.lines, facts.samples, facts.spacing, part, facts.reach, facts.file);
    } else {
        hc_stage_note(stage,
                      "the map has %" PRId64 " lines x %" PRId64 " samples, %.3g %% of them filled by the "
                      "lookup table of %s",
                      facts.lines, facts.samples, part, facts.file);
    }
    return HC_OK;
}

void hc_ortho_map_report(const HcOrtho *ortho, HcJson *to) {
    if (ortho == NULL) {
        return;
    }
    HcOrthoFacts facts = hc_ortho_facts(ortho);
    hc_json_open_object(to, "map");
    hc_json_put_text(to, "by", facts.nearest ? "coordinates" : "lookup table");
    hc_json_put_text(to, "file", facts.file);
    hc_json_put_number(to, "lines", (double)facts.lines);
    hc_json_put_number(to, "samples", (double)facts.samples);
    hc_json_put_number(to, "filled_pixels", (double)facts.filled);
    if (facts.nearest) {
        hc_json_put_number(to, "spacing", facts.spacing);
        hc_json_put_number(to, "reach", facts.reach);
    }
    hc_json_close(to);
}
