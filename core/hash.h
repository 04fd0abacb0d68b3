/* XXH64 with seed 0 of libxxhash, compiled in. Records, stamps of pools and names of partial files hold its
 * values, so the algorithm and the seed stay. It is faster than a disk, and does not protect against
 * deliberate collisions. */
#ifndef HC_CORE_HASH_H
#define HC_CORE_HASH_H

#define XXH_INLINE_ALL
#include <xxhash.h>

#endif
