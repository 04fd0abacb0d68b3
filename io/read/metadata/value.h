/* Single values as files store them. */
#ifndef HC_IO_READ_VALUE_H
#define HC_IO_READ_VALUE_H

#include "core/scene.h"

/* The value of that type at `at`, which need not be aligned; swap: in the other byte order. */
double hc_read_value(const char *at, HcType type, bool swap);

#endif
