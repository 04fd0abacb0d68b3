/* Where the GPUs of this host are, as its files say: without CUDA, whose start takes longer with each GPU
 * that a process sees (about 0.6 s each, H200). */
#ifndef HC_CORE_ADDRESSES_H
#define HC_CORE_ADDRESSES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define HC_ADDRESSES_MAX   64
#define HC_PROCESSOR_WORDS 16 /* 64 processors each */

/* A GPU of those that CUDA would count, in its order. */
typedef struct HcAddress {
    char visible[96]; /* what CUDA_VISIBLE_DEVICES must be to leave this one alone */
    bool near_known;  /* else CUDA's order may be another than that of the bus */
    uint64_t
        near[HC_PROCESSOR_WORDS]; /* processors beside it, by their numbers; bit 0 of word 0 is the first */
} HcAddress;

/* Fills at most `capacity` addresses from proc/driver/nvidia and sys below `root` ("" = this system), of the
 * GPUs that `visible` and `order` leave (CUDA_VISIBLE_DEVICES, CUDA_DEVICE_ORDER; NULL = not set). Returns
 * how many there are, -1 = only CUDA can tell: no such files, GPUs in parts (MIG), or names that the files do
 * not have. */
int32_t hc_addresses_read(const char *root, const char *visible, const char *order, HcAddress *out,
                          int32_t capacity);

/* Reads a list of processors as the system writes it ("0-3,8,10-11"); false where it is none, or is empty. */
bool hc_addresses_parse_near(const char *text, uint64_t *near);

#ifdef __cplusplus
}
#endif
#endif
