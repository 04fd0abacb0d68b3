/* The decoding of one type; decode.c includes this for each of them with
 *   TYPE  the type of the file      BITS      the unsigned integer of its size
 *   SWAP  turns its bytes around    FLOATING  1 where it can hold NaN
 *   NAME(word)  a name of this type's own. */

#ifndef NODATA
#define NODATA(value) (value) /* how a nodata value that fits becomes one of the type */
#endif

HC_CLONES static void NAME(swap)(TYPE *restrict values, int32_t count) {
    for (int32_t i = 0; i < count; i++) {
        BITS bits;
        memcpy(&bits, values + i, sizeof bits);
        bits = (BITS)SWAP(bits);
        memcpy(values + i, &bits, sizeof bits);
    }
}

static inline bool NAME(is)(TYPE value, TYPE nodata) {
#if FLOATING
    return value == nodata || (value != value && nodata != nodata);
#else
    return value == nodata;
#endif
}

/* One band of a strip. */
HC_CLONES static void NAME(note)(const TYPE *restrict values, int32_t count, const Job *job,
                                 Seen *restrict seen) {
    TYPE nodata = job->has_nodata ? (TYPE)NODATA(job->how->nodata) : (TYPE)0;
    if (job->has_nodata && job->how->nodata_needs_all_bands) {
        for (int32_t s = 0; s < count; s++) {
            seen->nodata[s] &= (uint8_t)NAME(is)(values[s], nodata);
        }
    } else if (job->has_nodata) {
        for (int32_t s = 0; s < count; s++) {
            seen->nodata[s] |= (uint8_t)NAME(is)(values[s], nodata);
        }
    }
#if FLOATING
    for (int32_t s = 0; s < count; s++) {
        seen->bad[s] |= (uint8_t)is_bad((float)values[s]);
    }
#endif
}

/* Some bands of one pixel. */
HC_CLONES static void NAME(note_pixel)(const TYPE *restrict values, int32_t count, const Job *job,
                                       uint8_t *restrict is_nodata, uint8_t *restrict bad) {
    int32_t hits = 0;
    if (job->has_nodata) {
        TYPE nodata = (TYPE)NODATA(job->how->nodata);
        for (int32_t b = 0; b < count; b++) {
            hits += NAME(is)(values[b], nodata);
        }
        *is_nodata = job->how->nodata_needs_all_bands ? *is_nodata && hits == count : *is_nodata || hits > 0;
    }
#if FLOATING
    int32_t wrong = 0;
    for (int32_t b = 0; b < count; b++) {
        wrong += is_bad((float)values[b]);
    }
    *bad |= wrong > 0;
#else
    (void)bad;
#endif
}

HC_CLONES static void NAME(widen)(const TYPE *restrict values, int32_t count, float *restrict to) {
    for (int32_t i = 0; i < count; i++) {
        to[i] = (float)values[i];
    }
}

/* A strip of a band, whole: its length is known, so that the compiler needs no loops for what is left. */
HC_CLONES static void NAME(take_strip)(const char *restrict band, bool swap, TYPE *restrict values,
                                       float *restrict to) {
    memcpy(values, band, STRIP * sizeof(TYPE));
    for (int32_t i = 0; swap && i < STRIP; i++) {
        BITS bits;
        memcpy(&bits, values + i, sizeof bits);
        bits = (BITS)SWAP(bits);
        memcpy(values + i, &bits, sizeof bits);
    }
    for (int32_t i = 0; i < STRIP; i++) {
        to[i] = (float)values[i];
    }
}

/* Part of a strip of a band, or one whose samples do not lie side by side. */
static void NAME(take_part)(const HcRaw *raw, const char *band, int32_t pixels, TYPE *values, float *to) {
    if (raw->stride_sample == (int64_t)sizeof(TYPE)) {
        memcpy(values, band, (size_t)pixels * sizeof(TYPE));
    } else {
        for (int32_t s = 0; s < pixels; s++) {
            memcpy(values + s, band + s * raw->stride_sample, sizeof(TYPE));
        }
    }
    if (raw->swap) {
        NAME(swap)(values, pixels);
    }
    NAME(widen)(values, pixels, to);
}

/* Values that are widened already: missing ones become NaN. is_nodata, bad and found are those of the pixel
 * of value i at [i * step]. */
HC_CLONES static void NAME(keep)(const TYPE *restrict values, int32_t count, const Job *job, int32_t step,
                                 uint8_t *restrict is_nodata, uint8_t *restrict bad, uint8_t *restrict found,
                                 float *restrict to) {
    TYPE nodata = job->has_nodata ? (TYPE)NODATA(job->how->nodata) : (TYPE)0;
    for (int32_t i = 0; i < count; i++) {
        bool lacks = job->has_nodata && NAME(is)(values[i], nodata);
        bool wrong = is_bad(to[i]);
        is_nodata[i * step] |= (uint8_t)lacks;
        bad[i * step] |= (uint8_t)wrong;
        found[i * step] |= (uint8_t)(!lacks && !wrong);
        to[i] = lacks || wrong ? NAN : to[i];
    }
}

/* A strip of a line, where each pixel's bands lie one after another (BIP). */
static void NAME(pixels)(const Job *job, const char *from, int32_t pixels, float *to, Seen *seen) {
    enum { CHUNK = 256 };
    TYPE values[CHUNK];
    int32_t bands = job->out->bands;
    from += (int64_t)job->how->band_index[0] * job->raw->stride_band;
    for (int32_t s = 0; s < pixels; s++, from += job->raw->stride_sample, to += bands) {
        for (int32_t b = 0; b < bands; b += CHUNK) {
            int32_t count = bands - b < CHUNK ? bands - b : CHUNK;
            memcpy(values, from + (size_t)b * sizeof(TYPE), (size_t)count * sizeof(TYPE));
            if (job->raw->swap) {
                NAME(swap)(values, count);
            }
            NAME(widen)(values, count, to + b);
            if (job->keeps) {
                NAME(keep)(values, count, job, 0, seen->nodata + s, seen->bad + s, seen->found + s, to + b);
            } else if (job->has_nodata || FLOATING) {
                NAME(note_pixel)(values, count, job, seen->nodata + s, seen->bad + s);
            }
        }
    }
}

/* A strip of a line, for every other layout. */
static void NAME(tiles)(const Job *job, const char *from, int32_t pixels, float *to, Seen *seen) {
    TYPE values[STRIP];
    float tile[TILE][STRIP];
    const HcRaw *raw = job->raw;
    const bool whole = raw->stride_sample == (int64_t)sizeof(TYPE) && pixels == STRIP;
    int32_t bands = job->out->bands;
    for (int32_t b = 0; b < bands; b += TILE) {
        int32_t count = bands - b < TILE ? bands - b : TILE;
        for (int32_t s = 0; s < pixels; s++) { /* where the tile goes: as many streams */
            __builtin_prefetch(to + b + (int64_t)s * bands, 1);
        }
        for (int32_t k = 0; k < count; k++) {
            const char *band = from + (int64_t)job->how->band_index[b + k] * raw->stride_band;
            if (whole) {
                /* Hundreds of bands are too many streams for the processor to foresee: ask for the next
                 * strip. */
                for (size_t at = 0; at < sizeof values; at += 64) {
                    __builtin_prefetch(band + sizeof values + at);
                }
                NAME(take_strip)(band, raw->swap, values, tile[k]);
            } else {
                NAME(take_part)(raw, band, pixels, values, tile[k]);
            }
            if (job->keeps) {
                NAME(keep)(values, pixels, job, 1, seen->nodata, seen->bad, seen->found, tile[k]);
            } else if (job->has_nodata || FLOATING) {
                NAME(note)(values, pixels, job, seen);
            }
        }
        turn(job, tile, pixels, count, to + b);
    }
}

/* What is seen in a strip of a line; where samples lie side by side. */
static void NAME(masks)(const Job *job, const char *from, int32_t pixels, float *to, Seen *seen) {
    TYPE values[STRIP];
    const HcRaw *raw = job->raw;
    (void)to;
    for (int32_t b = 0; b < job->out->bands; b++) {
        const char *band = from + (int64_t)job->how->band_index[b] * raw->stride_band;
        for (size_t at = 0; at < sizeof values; at += 64) {
            __builtin_prefetch(band + sizeof values + at);
        }
        memcpy(values, band, (size_t)pixels * sizeof(TYPE));
        if (raw->swap) {
            NAME(swap)(values, pixels);
        }
        NAME(note)(values, pixels, job, seen);
    }
}

#undef TYPE
#undef BITS
#undef SWAP
#undef FLOATING
#undef NAME
#undef NODATA
