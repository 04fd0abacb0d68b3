/* LZW as TIFF has it: codes of 9 to 12 bits, the highest bit first, one code earlier than the table is full.
 * An entry of the table is a stretch of what was written already: the text of a code and the character behind
 * it. */
#include "io/chunk/decode.h"

#include <string.h>

enum { CLEAR = 256, END = 257, FIRST = 258, CODES = 4096, BITS_LEAST = 9, BITS_MOST = 12 };

typedef struct Entry {
    size_t at, bytes;
} Entry;

typedef struct Bits {
    const uint8_t *at, *end;
    uint32_t held;
    int count;
} Bits;

/* The next code; END where the data end. */
static int next_code(Bits *bits, int width) {
    while (bits->count < width) {
        if (bits->at == bits->end) {
            return END;
        }
        bits->held = bits->held << 8 | *bits->at++;
        bits->count += 8;
    }
    bits->count -= width;
    return (int)(bits->held >> bits->count & ((1U << width) - 1));
}

bool hc_chunk_lzw(const uint8_t *in, size_t in_bytes, uint8_t *out, size_t capacity, size_t *made) {
    Entry table[CODES];
    Bits bits = {.at = in, .end = in + in_bytes};
    int width = BITS_LEAST, next = FIRST;
    Entry last = {0}; /* the text before */
    bool has_last = false;
    size_t done = 0;
    *made = 0;
    for (int code; (code = next_code(&bits, width)) != END;) {
        if (code == CLEAR) {
            width = BITS_LEAST;
            next = FIRST;
            has_last = false;
            continue;
        }
        if (code > next || (code == next && !has_last) || (code >= FIRST && !has_last)) {
            return false;
        }
        /* The entry that is only now being made is the text before and its own first character. */
        Entry text = code == next    ? (Entry){last.at, last.bytes + 1}
                     : code >= FIRST ? table[code]
                                     : (Entry){0, 1};
        if (text.bytes > capacity - done) {
            return false;
        }
        if (code < CLEAR) {
            out[done] = (uint8_t)code;
        } else {
            for (size_t i = 0; i < text.bytes; i++) { /* they may overlap */
                out[done + i] = out[text.at + i];
            }
        }
        if (has_last && next < CODES) {
            table[next++] = (Entry){last.at, last.bytes + 1};
        }
        width += next > (1 << width) - 2 && width < BITS_MOST;
        last = (Entry){done, text.bytes};
        has_last = true;
        done += text.bytes;
    }
    *made = done;
    return true;
}
