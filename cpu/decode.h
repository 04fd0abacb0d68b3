/* Decoding: what decode.c and its fast variants share. */
#ifndef HC_CPU_DECODE_H
#define HC_CPU_DECODE_H

#include "cpu/internal.h"

/* Pixels and bands that are turned at once: a strip of a line lies in the second cache, a tile in the first.
 */
enum { STRIP = HC_CPU_RUN, TILE = 16 };

/* What was seen in each pixel of a strip. */
typedef struct Seen {
    uint8_t nodata[STRIP]; /* in any band, or in all, as asked */
    uint8_t bad[STRIP];    /* NaN or infinity, or too large for float32 */
} Seen;

typedef struct Job Job;
typedef void DecodeStrip(const Job *job, const char *from, int32_t pixels, float *to, Seen *seen);

struct Job {
    const HcRaw *raw;
    const HcDecode *how;
    const HcBlock *out;
    bool has_nodata; /* asked for, and the type of the file can hold it */
    int64_t strips;  /* in a line */
    DecodeStrip *strip;
};

/* For values of one band that lie one after another (BIL, BSQ) in the byte order of the machine; NULL where
 * this processor or the type has none. */
DecodeStrip *hc_decode_avx512(HcType type);

#endif
