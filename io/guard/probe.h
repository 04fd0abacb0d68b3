/* Probe: a process that opens a file first, so that a crash in a library ends it, and not the program. */
#ifndef HC_IO_GUARD_PROBE_H
#define HC_IO_GUARD_PROBE_H

#include "core/status.h"

#include <stdbool.h>

/* The name under which the program is started to open a file first. */
#define HC_GUARD_PROBE "hcube-probe"

/* From now on files of formats whose libraries crash are opened by `program` first, in a process of its own:
 * HC_GUARD_PROBE info --json FILE. Borrowed; call before threads start. */
void hc_guard_probe_with(const char *program);
/* Whether the program has that name: it then ends after some seconds of processor time, and opens files
 * itself. */
bool hc_guard_probes(const char *name);

/* HC_E_INPUT where a process that opens the file ends by a crash, or does not end in time. */
HcStatus hc_guard_probe(const char *path, HcError *err) HC_MUST_CHECK;

#endif
