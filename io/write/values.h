/* Values on their way out: float32 blocks become the stored type and interleave. Plain arithmetic, no file.
 */
#ifndef HC_IO_WRITE_VALUES_H
#define HC_IO_WRITE_VALUES_H

#include "core/operation/image/store.h"

/* Stored lines: `rows` whole lines as they will be stored. Strides count values. */
typedef struct HcStored {
    HcType type;
    HcInterleave interleave;
    int64_t samples;
    int32_t bands, rows;
    double nodata;
    bool no_nodata; /* no value gives way to nodata: every one is data, or nodata is a value too */
    bool scaled;    /* stored = (value - offset) / scale */
    double scale, offset;
    const int32_t *parts; /* [bands] stored = value * parts, of bands where that is above 0; or NULL */
} HcStored;

/* What happened to valid values on their way into an integer type. Zero-initialise. */
typedef struct HcStoredTally {
    int64_t values;        /* that are valid */
    int64_t clamped;       /* beyond the range of the type without a nodata value at one of its ends */
    int64_t moved;         /* that equal nodata and are stored as the value next to it */
    int64_t rounded;       /* that are no whole numbers */
    float lowest, highest; /* before scale and offset; meaningless while `values` is 0 */
} HcStoredTally;

void hc_stored_tally_add(HcStoredTally *to, const HcStoredTally *from);

/* The lowest and the first too high value of an integer type. */
void hc_integer_range(HcType type, double *low, double *end);

/* The stored values that valid pixels of an integer type can have: its range without a nodata value at one of
 * its ends. */
void hc_stored_range(const HcStored *layout, double *low, double *high);

int64_t hc_stored_stride_row(const HcStored *layout);
int64_t hc_stored_stride_sample(const HcStored *layout);
int64_t hc_stored_stride_band(const HcStored *layout);
size_t hc_stored_bytes(const HcStored *layout);

/* How the operation `store` puts floats without a scale as hc_stored_put does. */
HcStoring hc_stored_floats(const HcStored *layout);

/* Puts `lines` interior lines of the block, from its `first`, into the stored lines from `row` on. Integers
 * are rounded to the nearest (halves to even) and clamped; masked pixels and NaN become nodata, and a valid
 * value that would read as nodata the one next to it. */
void hc_stored_put(const HcStored *layout, void *stored, int32_t row, const HcBlock *block, int32_t first,
                   int32_t lines);

/* Counts what hc_stored_put does to these lines; of an integer type. Adds to `tally`. */
void hc_stored_count(const HcStored *layout, const HcBlock *block, int32_t first, int32_t lines,
                     HcStoredTally *tally);

/* Puts a line that is stored as `from` has it at `row` of the stored lines; `from` is BIL where these are
 * BSQ, else BIP, of the same type and size. */
void hc_stored_copy(const HcStored *layout, void *stored, int32_t row, const HcStored *from,
                    const void *line);

#endif
