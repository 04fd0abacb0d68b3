/* The map of --ortho, which write and preview share. */
#ifndef HC_PIPELINE_PICTURE_ORTHO_MAP_H
#define HC_PIPELINE_PICTURE_ORTHO_MAP_H

#include "io/ortho/ortho.h"
#include "pipeline/stage.h"

/* The value of --ortho when it is given alone: the lookup is that of the scene. */
#define HC_ORTHO_OF_SCENE "scene"

#define HC_ORTHO_HELP "map pixels from sensor geometry by the lookup table of the scene, or of FILE"

/* The row of --ortho in an option table, of a field `ortho`. */
#define HC_ORTHO_OPTION(Params)                                                                              \
    {                                                                                                        \
        HC_TEXT(Params, ortho), .file = HC_FILE_READ, .value = "FILE", .alone = hc_ortho_of_scene,           \
                                .help = HC_ORTHO_HELP                                                        \
    }

extern const char hc_ortho_of_scene[];

/* At plan time: opens the map that `asked` names, once, and notes what it is. *ortho stays NULL where nothing
 * is asked (NULL). */
HcStatus hc_ortho_map_plan(HcStage *stage, const char *asked, HcOrtho **ortho, HcError *err) HC_MUST_CHECK;

/* For the record; NULL adds nothing. */
void hc_ortho_map_report(const HcOrtho *ortho, HcJson *to);

#endif
