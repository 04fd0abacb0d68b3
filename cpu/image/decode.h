/* Decoding: for the operation, and for sums of raw bytes. */
#ifndef HC_CPU_IMAGE_DECODE_H
#define HC_CPU_IMAGE_DECODE_H

#include "core/operation/image/decode.h"
#include "cpu/internal.h"

HcDecodeFn hc_cpu_decode;

/* Decodes on the calling thread. */
HcStatus hc_cpu_decode_here(const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                            HcError *err) HC_MUST_CHECK;

/* The mask of `out` and the counts alone: data stays as it is. Not for how->keep_missing. */
HcStatus hc_cpu_decode_masks(const HcCpu *cpu, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                             HcError *err) HC_MUST_CHECK;

#endif
