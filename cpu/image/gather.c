/* Bands of a block in another order. */
#include "core/operation/gather.h"
#include "cpu/internal.h"

#include <string.h>

HcGatherFn hc_cpu_gather;

HcStatus hc_cpu_gather(HcQueue *queue, const HcBlock *in, const int32_t *index, const HcBlock *out,
                       HcError *err) {
    for (int32_t k = 0; k < out->bands; k++) {
        if (index[k] < 0 || index[k] >= in->bands) {
            return hc_fail(err, HC_E_USAGE, "gather: band %d asked for, the block has 0 to %d", index[k],
                           in->bands - 1);
        }
    }
    int64_t rows = hc_block_rows(out);
    int64_t samples = out->samples;
    int64_t first = hc_block_first_line(out);
#pragma omp parallel for num_threads(queue->cpu->threads) schedule(static)
    for (int64_t row = 0; row < rows; row++) {
        const float *from = hc_cpu_line(in, first + row);
        float *to = out->data + row * samples * out->bands;
        memcpy(out->mask + row * samples, hc_cpu_mask_line(in, first + row), (size_t)samples);
        for (int64_t s = 0; s < samples; s++, from += in->bands, to += out->bands) {
            for (int32_t k = 0; k < out->bands; k++) {
                to[k] = from[index[k]];
            }
        }
    }
    return HC_OK;
}
