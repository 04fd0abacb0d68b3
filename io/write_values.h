/* Values on their way out: float32 blocks become the stored type and interleave. Plain arithmetic, no file.
 */
#ifndef HC_IO_WRITE_VALUES_H
#define HC_IO_WRITE_VALUES_H

#include "core/block.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum HcInterleave { HC_BSQ, HC_BIL, HC_BIP } HcInterleave;

/* A stage: `rows` whole lines as they will be stored. Strides count values. */
typedef struct HcStored {
    HcType type;
    HcInterleave interleave;
    int64_t samples;
    int32_t bands, rows;
    double nodata;
    bool no_nodata; /* no value gives way to nodata: every one is data, or nodata is a value too */
} HcStored;

int64_t hc_stored_stride_row(const HcStored *layout);
int64_t hc_stored_stride_sample(const HcStored *layout);
int64_t hc_stored_stride_band(const HcStored *layout);
size_t hc_stored_bytes(const HcStored *layout);

/* Puts `lines` interior lines of the block, from its `first`, into the stage from `row` on. Integers are
 * rounded to the nearest (halves to even) and clamped; masked pixels and NaN become nodata, and a valid value
 * that would read as nodata the one next to it. */
void hc_stored_put(const HcStored *layout, void *stage, int32_t row, const HcBlock *block, int32_t first,
                   int32_t lines);

/* Puts a line that is stored as `from` has it into the stage at `row`; `from` is BIL where the stage is BSQ,
 * else BIP, of the same type and size. */
void hc_stored_copy(const HcStored *layout, void *stage, int32_t row, const HcStored *from, const void *line);

#ifdef __cplusplus
}
#endif
#endif
