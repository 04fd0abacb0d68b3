/* Backends by name, for tests that run on each of them. */
#ifndef HC_TESTS_SUPPORT_BACKEND_H
#define HC_TESTS_SUPPORT_BACKEND_H

#include "core/compute.h"

/* "cpu", "strict" or "gpu"; NULL and the reason where there is none. */
const HcComputeOps *backend_find(const char *name, HcError *err);

#endif
