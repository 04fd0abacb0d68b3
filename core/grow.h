/* Lists that grow by one element at a time. */
#ifndef HC_CORE_GROW_H
#define HC_CORE_GROW_H

#include "core/status.h"

#include <stddef.h>

/* hc_grow(list, count, "a list of files", err): makes room for one more element behind `count` of them. The
 * list, NULL at first, is full whenever its count is a power of two, and doubles then. So it needs no
 * capacity; each element that is added asks for its place, and the caller frees the list with free().
 *
 * HC_E_MEMORY: there is no such memory; `list` is then as it was. */
#define hc_grow(list, count, what, err)                                                                      \
    hc_grow_list(&(list), (size_t)(count), sizeof *(list), (what), (err), __FILE__, __LINE__)

/* For hc_grow(): `list` is the address of a pointer to elements of `bytes` bytes. */
HcStatus hc_grow_list(void *list, size_t count, size_t bytes, const char *what, HcError *err,
                      const char *file, int line) HC_MUST_CHECK;

#endif
