/* Zeroed memory of the host, with an error that says how many bytes of what were wanted. */
#ifndef HC_CORE_ALLOCATE_H
#define HC_CORE_ALLOCATE_H

#include "core/status.h"

#include <stddef.h>
#include <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* hc_new(list, count, "the list of scenes", err): makes `list` point to `count` zeroed elements, which the
 * caller frees with free(). `count` is a number of elements, not of bytes.
 *
 * HC_E_MEMORY: there is no such memory; `list` is then NULL. */
#define hc_new(pointer, count, what, err)                                                                    \
    (((pointer) = (__typeof__(pointer))hc_allocate((size_t)(count), sizeof *(pointer), (what), (err),        \
                                                   __FILE__, __LINE__)) != NULL                              \
         ? HC_OK                                                                                             \
         : HC_E_MEMORY)

/* For hc_new(): `count` elements of `bytes` bytes, also where `count` is 0. */
void *hc_allocate(size_t count, size_t bytes, const char *what, HcError *err, const char *file, int line);

/* hc_new_aligned(values, count, "panels", err): the same, at an address that vector units like (a multiple of
 * 64), and not zeroed: for work memory that is written before it is read. */
#define hc_new_aligned(pointer, count, what, err)                                                            \
    (((pointer) = (__typeof__(pointer))hc_allocate_aligned((size_t)(count), sizeof *(pointer), (what),       \
                                                           (err), __FILE__, __LINE__)) != NULL               \
         ? HC_OK                                                                                             \
         : HC_E_MEMORY)

/* For hc_new_aligned(). */
void *hc_allocate_aligned(size_t count, size_t bytes, const char *what, HcError *err, const char *file,
                          int line);

/* hc_new_large(sums, count, "sums", err): as hc_new(), for hundreds of megabytes that are all written: in
 * huge pages where the system has them, so that fewer faults happen. */
#define hc_new_large(pointer, count, what, err)                                                              \
    (((pointer) = (__typeof__(pointer))hc_allocate_large((size_t)(count), sizeof *(pointer), (what), (err),  \
                                                         __FILE__, __LINE__)) != NULL                        \
         ? HC_OK                                                                                             \
         : HC_E_MEMORY)

/* For hc_new_large(). */
void *hc_allocate_large(size_t count, size_t bytes, const char *what, HcError *err, const char *file,
                        int line);

#ifdef __cplusplus
}
#endif

#endif
