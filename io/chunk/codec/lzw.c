/* LZW as TIFF has it: codes of 9 to 12 bits, the highest bit first, one code earlier than the table is full.
 * An entry of the table is a stretch of what was written already: the text of a code and the character after
 * it. */
#include "io/chunk/codec/decode.h"
#include "io/chunk/codec/encode.h"

#include <string.h>

enum { CLEAR = 256, END = 257, FIRST = 258, CODES = 4096, BITS_MIN = 9, BITS_MAX = 12 };

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
    int width = BITS_MIN, next = FIRST;
    Entry last = {0}; /* the text before */
    bool has_last = false;
    size_t done = 0;
    *made = 0;
    for (int code; (code = next_code(&bits, width)) != END;) {
        if (code == CLEAR) {
            width = BITS_MIN;
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
        width += next > (1 << width) - 2 && width < BITS_MAX;
        last = (Entry){done, text.bytes};
        has_last = true;
        done += text.bytes;
    }
    *made = done;
    return true;
}

/* ---- the way back ---- */

/* Texts that have a code, by their first code and last character. */
enum { SLOTS = 16384, KEY_BITS = 20, ROUND_MAX = (1 << (32 - KEY_BITS)) - 1 };

typedef struct Texts {
    uint32_t key[SLOTS]; /* round, code, character; texts of another round do not count */
    uint16_t code[SLOTS];
    uint32_t round;
} Texts;

typedef struct Packing {
    uint8_t *at;
    uint32_t held;
    int count, width, next;
} Packing;

static void put_code(Packing *packing, int code) {
    packing->held = packing->held << packing->width | (uint32_t)code;
    packing->count += packing->width;
    while (packing->count >= 8) {
        packing->count -= 8;
        *packing->at++ = (uint8_t)(packing->held >> packing->count);
    }
}

static void forget(Texts *texts) {
    if (texts->round == ROUND_MAX) {
        memset(texts->key, 0, sizeof texts->key);
        texts->round = 0;
    }
    texts->round++;
}

/* The code of the text `code`, `character`; where it has none it gets `fresh`, and the answer is -1. */
static int look_up(Texts *texts, int code, uint8_t character, int fresh) {
    uint32_t key = texts->round << KEY_BITS | (uint32_t)code << 8 | character;
    uint32_t slot = (key * 2654435761U) >> 18;
    while (texts->key[slot] >> KEY_BITS == texts->round) {
        if (texts->key[slot] == key) {
            return texts->code[slot];
        }
        slot = (slot + 1) % SLOTS;
    }
    texts->key[slot] = key;
    texts->code[slot] = (uint16_t)fresh;
    return -1;
}

/* One more entry is in the table: wider codes, or a table that begins anew in front of the last code. */
static void grow(Packing *packing, Texts *texts) {
    packing->next++;
    if (packing->next == CODES - 2) {
        put_code(packing, CLEAR);
        packing->width = BITS_MIN;
        packing->next = FIRST;
        forget(texts);
    } else if (packing->next == 1 << packing->width) {
        packing->width++;
    }
}

size_t hc_chunk_lzw_most(size_t in_bytes) {
    return in_bytes / 2 * 3 + in_bytes / 1024 + 16;
}

size_t hc_chunk_lzw_encode(const uint8_t *in, size_t in_bytes, uint8_t *out) {
    Texts texts = {.round = 1};
    Packing packing = {.at = out, .width = BITS_MIN, .next = FIRST};
    put_code(&packing, CLEAR);
    if (in_bytes > 0) {
        int text = in[0];
        for (size_t i = 1; i < in_bytes; i++) {
            int longer = look_up(&texts, text, in[i], packing.next);
            if (longer >= 0) {
                text = longer;
                continue;
            }
            put_code(&packing, text);
            grow(&packing, &texts);
            text = in[i];
        }
        put_code(&packing, text);
        grow(&packing, &texts);
    }
    put_code(&packing, END);
    if (packing.count > 0) {
        *packing.at++ = (uint8_t)(packing.held << (8 - packing.count));
    }
    return (size_t)(packing.at - out);
}
