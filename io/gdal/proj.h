/* PROJ's database of coordinate systems, proj.db: whether it could be read. GDAL goes on where it could not,
 * and loses a CRS or its name. */
#ifndef HC_IO_PROJ_H
#define HC_IO_PROJ_H

#include "core/status.h"

#include <stdbool.h>
#include <stdint.h>

/* Has SQLite report failed reads of that database. Call before any thread calls GDAL. */
void hc_proj_listen(void);

/* Notes a message of GDAL that is about that database; others are passed over. */
void hc_proj_note(const char *text);

/* Failed reads of the database in this process so far. */
uint64_t hc_proj_failures(void);

/* HC_E_IO where a read has failed since there were `before` failures. With `needed` the database is tried
 * first, once a process. */
HcStatus hc_proj_check(uint64_t before, bool needed, HcError *err) HC_MUST_CHECK;

#endif
