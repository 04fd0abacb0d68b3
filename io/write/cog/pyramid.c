#include "io/write/cog/pyramid.h"
#include "core/allocate.h"
#include "core/block.h"
#include "core/solver/clones.h"
#include "io/file.h"
#include "io/gdal/errors.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { LEVELS_MAX = 32 };

typedef struct Tile {
    void *values; /* from the first of the four below it to the last */
    int left;     /* of them */
} Tile;

typedef struct Level {
    HcChunkIndex index;
    Tile *tile;
} Level;

struct HcPyramid {
    HcPyramidHow how;
    pthread_mutex_t lock; /* of the tiles, and of the end of the file */
    int64_t end;
    int64_t across; /* tiles in a row of the image */
    int32_t levels;
    Level level[LEVELS_MAX];
};

/* ---- pixels ---- */

/* Sums by pairs, so that a pixel that stands for one beyond the scene changes no bit. A mean that happens to
 * be the nodata value would mask the pixel: it becomes one of the values. */
#define DEFINE_MEAN(name, type, is_float)                                                                    \
    HC_CLONES static void name(const HcPyramidHow *how, const void *const pixel[4], int64_t bands,           \
                               void *out) {                                                                  \
        const type *p = pixel[0], *q = pixel[1], *r = pixel[2], *s = pixel[3];                               \
        const bool all = how->no_nodata;                                                                     \
        const type nodata = all ? 0 : (type)how->nodata;                                                     \
        const type none = is_float || !all ? (type)how->nodata : 0;                                          \
        type *restrict to = out;                                                                             \
        for (int64_t b = 0; b < bands; b++) {                                                                \
            bool has_p = (p[b] == p[b]) & (all | (p[b] != nodata)),                                          \
                 has_q = (q[b] == q[b]) & (all | (q[b] != nodata));                                          \
            bool has_r = (r[b] == r[b]) & (all | (r[b] != nodata)),                                          \
                 has_s = (s[b] == s[b]) & (all | (s[b] != nodata));                                          \
            double upper = (has_p ? (double)p[b] : 0) + (has_q ? (double)q[b] : 0);                          \
            double lower = (has_r ? (double)r[b] : 0) + (has_s ? (double)s[b] : 0);                          \
            int valid = has_p + has_q + has_r + has_s;                                                       \
            double mean = (upper + lower) / (valid > 0 ? valid : 1);                                         \
            type rounded = (type)(is_float ? mean : floor(mean + 0.5));                                      \
            type one = has_p ? p[b] : has_q ? q[b] : has_r ? r[b] : s[b];                                    \
            rounded = !all && rounded == nodata ? one : rounded;                                             \
            to[b] = valid > 0 ? rounded : none;                                                              \
        }                                                                                                    \
    }
DEFINE_MEAN(mean_of_uint8, uint8_t, false)
DEFINE_MEAN(mean_of_int8, int8_t, false)
DEFINE_MEAN(mean_of_uint16, uint16_t, false)
DEFINE_MEAN(mean_of_int16, int16_t, false)
DEFINE_MEAN(mean_of_uint32, uint32_t, false)
DEFINE_MEAN(mean_of_int32, int32_t, false)
DEFINE_MEAN(mean_of_float32, float, true)
DEFINE_MEAN(mean_of_float64, double, true)

typedef void Mean(const HcPyramidHow *how, const void *const pixel[4], int64_t bands, void *out);

static Mean *const mean_of[HC_TYPE_COUNT] = {
    [HC_UINT8] = mean_of_uint8,     [HC_INT8] = mean_of_int8,      [HC_UINT16] = mean_of_uint16,
    [HC_INT16] = mean_of_int16,     [HC_UINT32] = mean_of_uint32,  [HC_INT32] = mean_of_int32,
    [HC_FLOAT32] = mean_of_float32, [HC_FLOAT64] = mean_of_float64}; /* NULL: no overviews of that type */

/* The values of a tile into its quarter of the tile above it. */
static void reduce(const HcPyramidHow *how, const HcChunkIndex *index, const HcChunkValues *from, char *to) {
    Mean *mean = mean_of[index->type];
    int64_t bands = index->shape[HC_AXIS_BAND];
    int64_t pixel = bands * (int64_t)hc_type_bytes(index->type), line = index->shape[HC_AXIS_SAMPLE] * pixel;
    for (int64_t l = 0; l < from->lines; l += 2) {
        int64_t below = l + 1 < from->lines ? from->line_stride : 0;
        for (int64_t s = 0; s < from->samples; s += 2) {
            const char *first = (const char *)from->values + l * from->line_stride + s * pixel;
            const char *next = first + (s + 1 < from->samples ? pixel : 0);
            const void *const square[] = {first, next, first + below, next + below};
            char *at = to + l / 2 * line + s / 2 * pixel;
            if (how->nearest) {
                memcpy(at, first, (size_t)pixel);
            } else {
                mean(how, square, bands, at);
            }
        }
    }
}

/* ---- tiles ---- */

static HcStatus get_tile(HcPyramid *pyramid, Level *level, Tile *tile, HcError *err) {
    HcStatus status = HC_OK;
    char *values = NULL;
    pthread_mutex_lock(&pyramid->lock);
    if (tile->values == NULL) {
        status = hc_new_aligned(values, hc_chunk_bytes(&level->index), "tiles of an overview", err);
        tile->values = values;
    }
    pthread_mutex_unlock(&pyramid->lock);
    return status;
}

static HcStatus write_tile(HcPyramid *pyramid, Level *level, int64_t number, const HcChunkValues *values,
                           HcChunkEncoder *encoder, HcError *err) {
    HcStatus status = HC_OK;
    size_t bytes = 0;
    uint8_t *encoded = NULL;
    HC_OR_RETURN(hc_new_aligned(encoded, hc_chunk_encoded_most(&level->index), "tiles of an overview", err));
    HC_TRY(hc_chunk_encode(encoder, &level->index, values, encoded, &bytes, err));
    pthread_mutex_lock(&pyramid->lock);
    int64_t at = pyramid->end;
    pyramid->end += (int64_t)bytes;
    level->index.place[number] = (HcChunkPlace){.offset = at, .bytes = (int64_t)bytes};
    pthread_mutex_unlock(&pyramid->lock);
    int failure = hc_file_write_at(pyramid->how.file, encoded, bytes, at);
    if (failure != 0) {
        status = hc_fail(err, hc_errno_status(failure, HC_E_IO), "%s", strerror(failure));
    }
done:
    free(encoded);
    return status;
}

/* The last of the four goes on with the tile above them. */
static HcStatus add(HcPyramid *pyramid, int32_t k, int64_t line, int64_t sample, const HcChunkValues *values,
                    HcChunkEncoder *encoder, HcError *err) {
    if (k == pyramid->levels) {
        return HC_OK;
    }
    Level *level = &pyramid->level[k];
    const HcChunkIndex *index = &level->index;
    int64_t number = hc_chunk_number(index, line / 2, sample / 2, 0);
    Tile *tile = &level->tile[number];
    HC_OR_RETURN(get_tile(pyramid, level, tile, err));
    int64_t pixel = index->shape[HC_AXIS_BAND] * (int64_t)hc_type_bytes(index->type);
    int64_t stride = index->shape[HC_AXIS_SAMPLE] * pixel;
    int64_t first[HC_AXES], size[HC_AXES];
    reduce(&pyramid->how, index, values,
           (char *)tile->values + line % 2 * (index->shape[HC_AXIS_LINE] / 2) * stride +
               sample % 2 * (index->shape[HC_AXIS_SAMPLE] / 2) * pixel);
    pthread_mutex_lock(&pyramid->lock);
    bool last = --tile->left == 0;
    pthread_mutex_unlock(&pyramid->lock);
    if (!last) {
        return HC_OK;
    }
    hc_chunk_box(index, number, first, size);
    HcChunkValues whole = {.values = tile->values,
                           .line_stride = stride,
                           .lines = size[HC_AXIS_LINE],
                           .samples = size[HC_AXIS_SAMPLE]};
    HcStatus status = write_tile(pyramid, level, number, &whole, encoder, err);
    status = status == HC_OK ? add(pyramid, k + 1, line / 2, sample / 2, &whole, encoder, err) : status;
    free(tile->values);
    tile->values = NULL;
    return status;
}

HcStatus hc_pyramid_add(HcPyramid *pyramid, int64_t number, const HcChunkValues *values,
                        HcChunkEncoder *encoder, HcError *err) {
    return add(pyramid, 0, number / pyramid->across, number % pyramid->across, values, encoder, err);
}

/* ---- opening and closing ---- */

static int64_t half(int64_t size) {
    return (size + 1) / 2;
}

static HcStatus make_level(Level *level, const HcChunkIndex *below, HcError *err) {
    HcChunkIndex *index = &level->index;
    *index = (HcChunkIndex){.type = below->type, .steps = below->steps, .file = -1};
    memcpy(index->step, below->step, sizeof index->step);
    memcpy(index->order, below->order, sizeof index->order);
    memcpy(index->shape, below->shape, sizeof index->shape);
    for (int a = 0; a < HC_AXES; a++) {
        index->size[a] = a == HC_AXIS_BAND ? below->size[a] : half(below->size[a]);
        index->count[a] = (index->size[a] + index->shape[a] - 1) / index->shape[a];
    }
    HC_OR_RETURN(hc_new(index->place, (size_t)hc_chunk_count(index), "tiles of an overview", err));
    HC_OR_RETURN(hc_new(level->tile, (size_t)hc_chunk_count(index), "tiles of an overview", err));
    for (int64_t n = 0; n < hc_chunk_count(index); n++) {
        int64_t line = 2 * (n / index->count[HC_AXIS_SAMPLE]),
                sample = 2 * (n % index->count[HC_AXIS_SAMPLE]);
        level->tile[n].left = (int)(hc_min64(below->count[HC_AXIS_LINE] - line, 2) *
                                    hc_min64(below->count[HC_AXIS_SAMPLE] - sample, 2));
    }
    return HC_OK;
}

HcStatus hc_pyramid_open(HcPyramid **out, const HcChunkIndex *image, const HcPyramidHow *how, HcError *err) {
    HcStatus status = HC_OK;
    HcPyramid *pyramid = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(pyramid, 1, "overviews", err));
    pyramid->how = *how;
    pyramid->across = image->count[HC_AXIS_SAMPLE];
    pthread_mutex_init(&pyramid->lock, NULL);
    for (const HcChunkIndex *below = image; hc_chunk_count(below) > 1 && pyramid->levels < LEVELS_MAX;
         below = &pyramid->level[pyramid->levels - 1].index) {
        pyramid->levels++;
        HC_TRY(make_level(&pyramid->level[pyramid->levels - 1], below, err));
    }
    *out = pyramid;
    pyramid = NULL;
done:
    hc_pyramid_close(pyramid);
    return status;
}

void hc_pyramid_close(HcPyramid *pyramid) {
    if (pyramid == NULL) {
        return;
    }
    for (int32_t k = 0; k < pyramid->levels; k++) {
        Level *level = &pyramid->level[k];
        for (int64_t n = 0; n < hc_chunk_count(&level->index) && level->tile != NULL; n++) {
            free(level->tile[n].values);
        }
        free(level->index.place);
        free(level->tile);
    }
    pthread_mutex_destroy(&pyramid->lock);
    free(pyramid);
}

bool hc_pyramid_takes(HcType type) {
    return mean_of[type] != NULL;
}

int32_t hc_pyramid_levels(const HcPyramid *pyramid) {
    return pyramid->levels;
}

const HcChunkIndex *hc_pyramid_level(const HcPyramid *pyramid, int32_t level) {
    return &pyramid->level[level].index;
}

double hc_pyramid_tiles(int64_t across, int64_t down, double rows) {
    double tiles = 0;
    for (; across > 1 || down > 1; across = half(across), down = half(down)) {
        rows = fmin(rows / 2 + 1, (double)half(down));
        tiles += rows * (double)half(across);
    }
    return tiles;
}
