/* Undoing what makes values easier to compress. */
#include "io/chunk/codec/decode.h"

#include <string.h>

/* Along a row each value is the sum of all of its band up to it. The bits of a sum do not depend on the sign.
 */
#define DEFINE_SUM(name, type)                                                                               \
    static void name(uint8_t *data, int64_t samples, int64_t each) {                                         \
        type *row = (type *)(void *)data;                                                                    \
        for (int64_t s = 1; s < samples; s++) {                                                              \
            const type *restrict before = row + (s - 1) * each;                                              \
            type *restrict now = row + s * each;                                                             \
            for (int64_t i = 0; i < each; i++) {                                                             \
                now[i] = (type)(now[i] + before[i]);                                                         \
            }                                                                                                \
        }                                                                                                    \
    }
DEFINE_SUM(sum_1, uint8_t)
DEFINE_SUM(sum_2, uint16_t)
DEFINE_SUM(sum_4, uint32_t)
DEFINE_SUM(sum_8, uint64_t)

void hc_chunk_undo_difference(uint8_t *data, int64_t rows, int64_t samples, int64_t each, size_t bytes) {
    int64_t row = samples * each * (int64_t)bytes;
    for (int64_t r = 0; r < rows; r++, data += row) {
        switch (bytes) {
        case 1:
            sum_1(data, samples, each);
            break;
        case 2:
            sum_2(data, samples, each);
            break;
        case 4:
            sum_4(data, samples, each);
            break;
        default:
            sum_8(data, samples, each);
        }
    }
}

/* A row is a plane of the highest bytes of all values, then of the next, and so on; along the row each byte
 * is the sum of those before it, a pixel apart. */
void hc_chunk_undo_float_difference(uint8_t *data, int64_t rows, int64_t samples, int64_t each, size_t bytes,
                                    uint8_t *row) {
    int64_t values = samples * each;
    for (int64_t r = 0; r < rows; r++, data += values * (int64_t)bytes) {
        sum_1(data, samples * (int64_t)bytes, each);
        memcpy(row, data, (size_t)values * bytes);
        for (size_t b = 0; b < bytes; b++) {
            const uint8_t *plane = row + (int64_t)b * values;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            uint8_t *to = data + b;
#else
            uint8_t *to = data + (bytes - 1 - b);
#endif
            for (int64_t i = 0; i < values; i++) {
                to[i * (int64_t)bytes] = plane[i];
            }
        }
    }
}

void hc_chunk_undo_byte_order(uint8_t *data, int64_t count, size_t bytes) {
    if (bytes == 2) {
        uint16_t *at = (uint16_t *)(void *)data;
        for (int64_t i = 0; i < count; i++) {
            at[i] = __builtin_bswap16(at[i]);
        }
    } else if (bytes == 4) {
        uint32_t *at = (uint32_t *)(void *)data;
        for (int64_t i = 0; i < count; i++) {
            at[i] = __builtin_bswap32(at[i]);
        }
    } else if (bytes == 8) {
        uint64_t *at = (uint64_t *)(void *)data;
        for (int64_t i = 0; i < count; i++) {
            at[i] = __builtin_bswap64(at[i]);
        }
    }
}

#define DEFINE_UNSHUFFLE(name, type)                                                                         \
    static void name(const uint8_t *restrict from, uint8_t *restrict to, int64_t count) {                    \
        for (int64_t i = 0; i < count; i++) {                                                                \
            type value = 0;                                                                                  \
            for (size_t b = 0; b < sizeof(type); b++) {                                                      \
                value = (type)(value | (type)from[(int64_t)b * count + i] << (8 * PLACE(b, sizeof(type))));  \
            }                                                                                                \
            memcpy(to + i * (int64_t)sizeof(type), &value, sizeof(type));                                    \
        }                                                                                                    \
    }
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define PLACE(b, bytes) ((bytes)-1 - (b))
#else
#define PLACE(b, bytes) (b)
#endif
DEFINE_UNSHUFFLE(unshuffle_2, uint16_t)
DEFINE_UNSHUFFLE(unshuffle_4, uint32_t)
DEFINE_UNSHUFFLE(unshuffle_8, uint64_t)

void hc_chunk_undo_shuffle(const uint8_t *from, uint8_t *to, int64_t count, size_t bytes) {
    switch (bytes) {
    case 2:
        unshuffle_2(from, to, count);
        break;
    case 4:
        unshuffle_4(from, to, count);
        break;
    case 8:
        unshuffle_8(from, to, count);
        break;
    default:
        memcpy(to, from, (size_t)count * bytes);
    }
}

uint32_t hc_chunk_fletcher32(const uint8_t *data, size_t bytes) {
    uint32_t low = 0, high = 0;
    size_t words = bytes / 2;
    while (words > 0) {
        size_t some = words < 360 ? words : 360; /* as many as cannot overflow */
        words -= some;
        for (; some > 0; some--, data += 2) {
            low += (uint32_t)data[0] << 8 | data[1];
            high += low;
        }
        low = (low & 0xFFFF) + (low >> 16);
        high = (high & 0xFFFF) + (high >> 16);
    }
    if (bytes % 2 == 1) {
        low += (uint32_t)data[0] << 8;
        high += low;
        low = (low & 0xFFFF) + (low >> 16);
        high = (high & 0xFFFF) + (high >> 16);
    }
    low = (low & 0xFFFF) + (low >> 16);
    high = (high & 0xFFFF) + (high >> 16);
    return high << 16 | low;
}
