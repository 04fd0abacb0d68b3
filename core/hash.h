/* Hash: the content of a file as 64 bits, by XXH64 (Yann Collet's published algorithm, seed 0). It is
 * faster than a disk, and shows that a file has changed. It does not protect against deliberate
 * collisions. */
#ifndef HC_CORE_HASH_H
#define HC_CORE_HASH_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct HcHash {
    uint64_t lane[4];
    uint64_t length;
    unsigned char rest[32]; /* the last length % 32 bytes */
} HcHash;

void hc_hash_begin(HcHash *hash);
void hc_hash_add(HcHash *hash, const void *data, size_t bytes);
/* Of all that was added so far. */
uint64_t hc_hash_value(const HcHash *hash);

#ifdef __cplusplus
}
#endif
#endif
