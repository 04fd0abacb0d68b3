/* Blocks and buffers: some whole lines of a scene, in the memory of one backend. */
#ifndef HC_CORE_BLOCK_H
#define HC_CORE_BLOCK_H

#include "core/scene.h"

#ifdef __cplusplus
extern "C" {
#endif

static inline int64_t hc_min64(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static inline int64_t hc_max64(int64_t a, int64_t b) {
    return a > b ? a : b;
}

/* Where memory lies. On the CPU backend both are plain memory; on a device a host pointer is worthless to an
 * operation, and a device pointer is worthless to the host. */
typedef enum HcMemory {
    HC_MEMORY_HOST,  /* host memory that copies quickly to and from the device (pinned where that matters) */
    HC_MEMORY_DEVICE /* the memory that operations work on */
} HcMemory;

/* Owned memory of a backend; made by `alloc`, freed by `release` of its compute operations. Fresh device
 * memory holds anything. */
typedef struct HcBuffer {
    void *data;
    size_t bytes;
    HcMemory where;
    void *handle; /* the backend's own */
} HcBuffer;

/* A view of whole lines of a scene, float32, pixel-major. Never owns memory. Rows are the interior lines and
 * a halo of context above and below; the halo is smaller only where the scene ends. */
typedef struct HcBlock {
    float *data;          /* [rows][samples][bands], the first halo row first */
    uint8_t *mask;        /* [rows][samples], 1 = valid, 0 = masked; a masked pixel holds 0 in every band */
    int64_t line0;        /* line of the scene in the first interior row */
    int32_t lines;        /* interior rows; 0 in a part of a block that is halo alone */
    int32_t above, below; /* halo rows before and after them */
    int32_t samples, bands;
} HcBlock;

static inline int64_t hc_block_rows(const HcBlock *block) {
    return (int64_t)block->above + block->lines + block->below;
}

/* The line of the scene in the first row, halo included. */
static inline int64_t hc_block_first_line(const HcBlock *block) {
    return block->line0 - block->above;
}

/* Elements of `data`; `mask` has that divided by `bands`. */
static inline size_t hc_block_values(const HcBlock *block) {
    return (size_t)hc_block_rows(block) * (size_t)block->samples * (size_t)block->bands;
}

static inline size_t hc_block_pixels(const HcBlock *block) {
    return (size_t)hc_block_rows(block) * (size_t)block->samples;
}

/* The lines [first, end) of a block, with those of the up to `halo` lines on each side that it has. A view:
 * the memory stays that of the block, whose rows must hold first to end - 1. */
static inline HcBlock hc_block_part(const HcBlock *block, int64_t first, int64_t end, int32_t halo) {
    int64_t block_first = hc_block_first_line(block);
    int64_t top = hc_max64(block_first, first - halo);
    int64_t bottom = hc_min64(block_first + hc_block_rows(block), end + halo);
    size_t skipped = (size_t)(top - block_first) * (size_t)block->samples;
    HcBlock part = *block;
    part.data += skipped * (size_t)block->bands;
    part.mask += skipped;
    part.line0 = first;
    part.lines = (int32_t)(end - first);
    part.above = (int32_t)(first - top);
    part.below = (int32_t)(bottom - end);
    return part;
}

/* The rows of `like`, halo and all, in a block that has them: a view without halo. */
static inline HcBlock hc_block_rows_of(const HcBlock *block, const HcBlock *like) {
    int64_t first = hc_block_first_line(like);
    return hc_block_part(block, first, first + hc_block_rows(like), 0);
}

/* Lines [first, end) of a block, halo or not: those that are interior there are interior here, maybe none. */
static inline HcBlock hc_block_cut(const HcBlock *block, int64_t first, int64_t end) {
    HcBlock rows = hc_block_part(block, first, end, 0);
    int64_t top = hc_min64(end, hc_max64(first, block->line0));
    int64_t bottom = hc_max64(top, hc_min64(end, block->line0 + block->lines));
    rows.line0 = top;
    rows.lines = (int32_t)(bottom - top);
    rows.above = (int32_t)(top - first);
    rows.below = (int32_t)(end - bottom);
    return rows;
}

/* A view of bytes as they lie in a file: any type, byte order and interleave. Value (line, sample, band)
 * starts at data + line*stride_line + sample*stride_sample + band*stride_band [bytes], line and band counted
 * in the view. */
typedef struct HcRaw {
    const void *data;
    HcType type;
    bool swap;              /* stored in the other byte order */
    int64_t line0;          /* line of the scene in the first row */
    int32_t lines;          /* rows, halo included */
    int32_t samples, bands; /* `bands`: those stored */
    int64_t stride_line, stride_sample, stride_band;
    const uint8_t *user_mask; /* [lines][samples], 0 = leave out; same memory as data; NULL = none */
} HcRaw;

#ifdef __cplusplus
}
#endif
#endif
