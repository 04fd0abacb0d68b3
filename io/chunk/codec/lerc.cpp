/* LERC by its library, which throws where memory lacks. */
#include "io/chunk/codec/decode.h"

#include <Lerc_c_api.h>

#include <cmath>
#include <cstring>
#include <new>
#include <vector>

namespace {

/* Results of lerc_getBlobInfo, in its order. */
enum { VERSION, TYPE, DEPTH, COLUMNS, ROWS, BANDS, VALID, BYTES, MASKS, FIGURES };

int64_t type_of(HcType type) {
    switch (type) {
    case HC_INT8:
        return 0;
    case HC_UINT8:
        return 1;
    case HC_INT16:
        return 2;
    case HC_UINT16:
        return 3;
    case HC_INT32:
        return 4;
    case HC_UINT32:
        return 5;
    case HC_FLOAT32:
        return 6;
    case HC_FLOAT64:
        return 7;
    default:
        return -1;
    }
}

/* The bands of a pixel lie together (depth), or one band follows the other. */
bool is_chunk(const HcChunkIndex *index, const unsigned *figures) {
    int64_t bands = index->shape[HC_AXIS_BAND], rows = figures[ROWS];
    bool together = figures[DEPTH] == bands && figures[BANDS] == 1;
    bool apart = figures[DEPTH] == 1 && figures[BANDS] == bands;
    return figures[TYPE] == type_of(index->type) && (together || apart) &&
           figures[COLUMNS] == index->shape[HC_AXIS_SAMPLE] && rows >= 1 &&
           rows <= index->shape[HC_AXIS_LINE] && (index->short_last || rows == index->shape[HC_AXIS_LINE]) &&
           figures[MASKS] <= figures[BANDS];
}

/* What the mask of a band leaves out is NaN, as libtiff has it. */
template <typename Value>
void put_nan(const unsigned *figures, const std::vector<unsigned char> &valid, Value *values) {
    size_t plane = static_cast<size_t>(figures[ROWS]) * figures[COLUMNS];
    for (size_t i = 0; i < plane * figures[BANDS]; i++) {
        bool is_valid = valid[figures[MASKS] == 1 ? i % plane : i] != 0;
        for (size_t d = 0; d < figures[DEPTH] && !is_valid; d++) {
            values[i * figures[DEPTH] + d] = static_cast<Value>(NAN);
        }
    }
}

/* From band after band to pixel after pixel. */
void interleave(const std::vector<uint8_t> &planes, size_t bands, size_t each, uint8_t *out) {
    size_t plane = planes.size() / bands / each;
    for (size_t b = 0; b < bands; b++) {
        for (size_t i = 0; i < plane; i++) {
            std::memcpy(out + (i * bands + b) * each, &planes[(b * plane + i) * each], each);
        }
    }
}

bool decode(const HcChunkIndex *index, const uint8_t *in, unsigned bytes, const unsigned *figures,
            size_t made, uint8_t *out) {
    bool apart = figures[BANDS] > 1;
    size_t plane = static_cast<size_t>(figures[ROWS]) * figures[COLUMNS];
    std::vector<unsigned char> valid(plane * figures[MASKS]);
    std::vector<uint8_t> planes(apart ? made : 0);
    uint8_t *values = apart ? planes.data() : out;
    std::memset(values, 0, made); /* integers that a mask leaves out */
    if (lerc_decode(in, bytes, valid.empty() ? 0 : static_cast<int>(figures[MASKS]),
                    valid.empty() ? nullptr : valid.data(), static_cast<int>(figures[DEPTH]),
                    static_cast<int>(figures[COLUMNS]), static_cast<int>(figures[ROWS]),
                    static_cast<int>(figures[BANDS]), figures[TYPE], values) != 0) {
        return false;
    }
    if (!valid.empty() && index->type == HC_FLOAT32) {
        put_nan(figures, valid, reinterpret_cast<float *>(values));
    } else if (!valid.empty() && index->type == HC_FLOAT64) {
        put_nan(figures, valid, reinterpret_cast<double *>(values));
    }
    if (apart) {
        interleave(planes, figures[BANDS], hc_type_bytes(index->type), out);
    }
    return true;
}

} // namespace

extern "C" bool hc_chunk_lerc_holds(HcType type) {
    return type_of(type) >= 0;
}

extern "C" size_t hc_chunk_lerc_bytes(const HcChunkIndex *index) {
    size_t values = static_cast<size_t>(hc_chunk_bytes(index));
    return values + values / hc_type_bytes(index->type) * 2;
}

extern "C" HcStatus hc_chunk_lerc(const HcChunkIndex *index, const uint8_t *in, size_t bytes, uint8_t *out,
                                  size_t space, size_t *made, HcError *why) {
    try {
        unsigned figures[FIGURES] = {};
        bool is = bytes <= UINT32_MAX &&
                  lerc_getBlobInfo(in, static_cast<unsigned>(bytes), figures, nullptr, FIGURES, 0) == 0 &&
                  is_chunk(index, figures);
        *made = is ? static_cast<size_t>(hc_chunk_bytes(index)) /
                         static_cast<size_t>(index->shape[HC_AXIS_LINE]) * figures[ROWS]
                   : 0;
        if (is && *made <= space && decode(index, in, static_cast<unsigned>(bytes), figures, *made, out)) {
            return HC_OK;
        }
    } catch (const std::bad_alloc &) {
        return hc_fail_memory(why, static_cast<double>(hc_chunk_lerc_bytes(index)), "a chunk");
    } catch (...) {
        *made = 0;
    }
    return hc_fail(why, HC_E_INPUT, "its %zu bytes are no LERC of its shape", bytes);
}
