/* Device memory for stages: small arrays that are made once and used by every block, and what no operation
 * does: the host changes values that go out. */
#ifndef HC_PIPELINE_MEMORY_H
#define HC_PIPELINE_MEMORY_H

#include "core/compute.h"
#include "pipeline/stage.h"

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

/* Changes values [pixels][bands] of the output; valid [pixels] is their mask. */
typedef void HcChange(const HcStage *stage, float *value, const uint8_t *valid, size_t pixels, int32_t bands);

/* In process, after the operations: changes the interior rows that went out, some at a time. `work` has
 * hc_change_bytes() [host], once the output is planned. */
size_t hc_change_bytes(const HcStage *stage);
HcStatus hc_change(const HcStage *stage, HcQueue *queue, const HcBlock *out, const HcBuffer *work,
                   HcChange *change, HcError *err) HC_MUST_CHECK;

#endif
