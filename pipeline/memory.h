/* Device memory for stages: small arrays that are made once and used by every block. */
#ifndef HC_PIPELINE_MEMORY_H
#define HC_PIPELINE_MEMORY_H

#include "core/compute.h"

/* Fresh device memory holding a copy of `bytes` bytes; released with the backend's release. */
HcStatus hc_memory_upload(HcCompute *compute, const void *from, size_t bytes, HcBuffer *out,
                          HcError *err) HC_MUST_CHECK;

/* Fresh device memory of zeros. */
HcStatus hc_memory_zeros(HcCompute *compute, size_t bytes, HcBuffer *out, HcError *err) HC_MUST_CHECK;

/* Copies device memory to the host and waits. */
HcStatus hc_memory_download(HcCompute *compute, const HcBuffer *from, void *to, size_t bytes,
                            HcError *err) HC_MUST_CHECK;

/* Releases a buffer; NULL compute or an empty buffer is fine. */
void hc_memory_release(HcCompute *compute, HcBuffer *buffer);

#endif
