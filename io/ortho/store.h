/* Store: what a chain makes of a scene, line by line in sensor geometry, until it is written as a map. It
 * lies in memory where the caller has some, else in a temporary file beside the output. It is read back for
 * some lines of the map at a time. */
#ifndef HC_IO_ORTHO_STORE_H
#define HC_IO_ORTHO_STORE_H

#include "core/block.h"
#include "core/system/flag.h"
#include "io/ortho/ortho.h"
#include "io/write/writer.h"

typedef struct HcOrthoStore HcOrthoStore;

/* Memory that the whole scene takes as a store [bytes]. */
size_t hc_ortho_store_bytes(const HcScene *scene);

/* Memory that writing the map takes beside the store and the writer [bytes]. */
size_t hc_ortho_write_bytes(const HcScene *scene, const HcOrtho *ortho);

/* For all lines of the scene. `beside` is the output that a temporary file is made for; NULL = memory. */
HcStatus hc_ortho_store_open(HcOrthoStore **out, const HcScene *scene, const char *beside,
                             HcError *err) HC_MUST_CHECK;
/* Frees it and removes its file. NULL is fine. */
void hc_ortho_store_close(HcOrthoStore *store);

/* The name of the file, for processes that put lines of their own into it; and there. */
const char *hc_ortho_store_file(const HcOrthoStore *store);
HcStatus hc_ortho_store_join(HcOrthoStore **out, const HcScene *scene, const char *file,
                             HcError *err) HC_MUST_CHECK;

/* The interior lines of a block, at their place; block in host memory. */
HcStatus hc_ortho_store_put(HcOrthoStore *store, const HcBlock *block, HcError *err) HC_MUST_CHECK;

/* All lines of this process are in the file: others may read them. */
HcStatus hc_ortho_store_flush(HcOrthoStore *store, HcError *err) HC_MUST_CHECK;

/* Writes all lines of the map. HC_E_CANCELLED where `cancel` (may be NULL) is set meanwhile. */
HcStatus hc_ortho_store_write(HcOrthoStore *store, const HcOrtho *ortho, HcWriter *writer,
                              const HcFlag *cancel, HcError *err) HC_MUST_CHECK;

#endif
