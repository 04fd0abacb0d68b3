/* `write --stac`: a STAC item beside a raster. */
#ifndef HC_PIPELINE_STAGES_WRITE_STAC_H
#define HC_PIPELINE_STAGES_WRITE_STAC_H

#include "io/write/writer.h"
#include "pipeline/stage.h"

typedef struct HcWriteStac {
    const char *item;       /* its path; a link to a file is relative to its folder */
    const char *collection; /* folder of the collection that it belongs to, or NULL */
    const char *from;       /* the item of the scene that was read; NULL and "": one among its files */
    const HcScene *scene;   /* that the raster holds */
    const HcWriterNames *names;
    const HcWriter *writer; /* finished: its file has joined the set of outputs */
} HcWriteStac;

/* Looks at every value of the raster, and adds the item to the set of outputs (io/file.h). */
HcStatus hc_write_stac(HcStage *stage, const HcWriteStac *what, HcError *err) HC_MUST_CHECK;

#endif
