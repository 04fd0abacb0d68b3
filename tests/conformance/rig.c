#include "tests/conformance/rig.h"

#include "cpu/cpu.h"

#include <stdlib.h>

enum { SENTINEL = 64, SENTINEL_BYTE = 0xC3 };

static Rig shared; /* compute is NULL: each rig has its own */

void rig_open(Rig *rig, int32_t threads) {
    *rig = (Rig){.compute = shared.compute, .queue = shared.queue};
    if (shared.compute == NULL) {
        HcComputeConfig config = {.threads = threads, .host = hc_cpu_ops(), .poison = true};
        check_ok(hc_compute_open(rig_ops, &config, &rig->compute, &rig->err), rig->err);
        check_ok(hc_queue_open(rig->compute, &rig->queue, &rig->err), rig->err);
    }
}

void rig_share(int32_t threads) {
    Rig rig;
    rig_open(&rig, threads);
    shared = rig;
}

void rig_unshare(void) {
    Rig rig = shared;
    shared = (Rig){0};
    rig_close(&rig);
}

void rig_empty(Rig *rig) {
    check_ok(hc_wait(rig->queue, &rig->err), rig->err);
    for (int i = 0; i < rig->buffers; i++) {
        hc_release(rig->compute, &rig->buffer[i]);
    }
    rig->buffers = 0;
}

void rig_close(Rig *rig) {
    rig_empty(rig);
    if (rig->compute != shared.compute) {
        hc_queue_close(rig->queue);
        hc_compute_close(rig->compute);
    }
}

static void *put(Rig *rig, const void *from, size_t bytes) {
    unsigned char *image = malloc(bytes + SENTINEL);
    assert_non_null(image);
    assert_true(rig->buffers < RIG_BUFFERS);
    if (from != NULL) {
        memcpy(image, from, bytes);
    } else {
        memset(image, 0xFF, bytes);
    }
    memset(image + bytes, SENTINEL_BYTE, SENTINEL);
    HcBuffer *buffer = &rig->buffer[rig->buffers];
    check_ok(hc_alloc(rig->compute, HC_MEMORY_DEVICE, bytes + SENTINEL, buffer, &rig->err), rig->err);
    rig->buffers++;
    check_ok(hc_upload(rig->queue, image, buffer->data, bytes + SENTINEL, &rig->err), rig->err);
    check_ok(hc_wait(rig->queue, &rig->err), rig->err);
    free(image);
    return buffer->data;
}

void *rig_put(Rig *rig, const void *from, size_t bytes) {
    return put(rig, from, bytes);
}

void *rig_alloc(Rig *rig, size_t bytes) {
    return put(rig, NULL, bytes);
}

void rig_get(Rig *rig, const void *from, void *to, size_t bytes) {
    unsigned char *image = malloc(bytes + SENTINEL);
    assert_non_null(image);
    check_ok(hc_download(rig->queue, from, image, bytes + SENTINEL, &rig->err), rig->err);
    check_ok(hc_wait(rig->queue, &rig->err), rig->err);
    memcpy(to, image, bytes);
    for (int i = 0; i < SENTINEL; i++) {
        assert_int_equal(image[bytes + (size_t)i], SENTINEL_BYTE);
    }
    free(image);
}

Cube cube_new(int32_t lines, int32_t samples, int32_t bands) {
    size_t pixels = (size_t)lines * (size_t)samples;
    Cube cube = {lines, samples, bands, calloc(pixels * (size_t)bands, sizeof(float)), malloc(pixels)};
    assert_true(cube.data != NULL && cube.mask != NULL);
    memset(cube.mask, 1, pixels);
    return cube;
}

void cube_free(Cube *cube) {
    free(cube->data);
    free(cube->mask);
    *cube = (Cube){0};
}

void cube_mask(Cube *cube, Masking masking, uint64_t *seed) {
    int64_t pixels = (int64_t)cube->lines * cube->samples;
    for (int64_t p = 0; p < pixels; p++) {
        cube->mask[p] = masking == MASK_NONE || (masking == MASK_SOME && random_bits(seed) % 8 != 0);
        if (cube->mask[p] == 0) {
            memset(cube->data + p * cube->bands, 0, (size_t)cube->bands * sizeof(float));
        }
    }
}

void cube_fill_integers(Cube *cube, int64_t low, int64_t high, uint64_t *seed) {
    int64_t values = (int64_t)cube->lines * cube->samples * cube->bands;
    for (int64_t i = 0; i < values; i++) {
        cube->data[i] = (float)random_between(seed, low, high);
    }
}

void cube_fill_normal(Cube *cube, double mean, double deviation, uint64_t *seed) {
    int64_t values = (int64_t)cube->lines * cube->samples * cube->bands;
    for (int64_t i = 0; i < values; i++) {
        cube->data[i] = (float)(mean * (double)(1 + i % cube->bands) + deviation * random_normal(seed));
    }
}

static HcBlock place(const Cube *cube, int64_t line0, int32_t lines, int32_t halo, int32_t bands) {
    int64_t below = cube->lines - line0 - lines;
    return (HcBlock){.line0 = line0,
                     .lines = lines,
                     .above = (int32_t)(line0 < halo ? line0 : halo),
                     .below = (int32_t)(below < halo ? below : halo),
                     .samples = cube->samples,
                     .bands = bands};
}

HcBlock rig_put_block(Rig *rig, const Cube *cube, int64_t line0, int32_t lines, int32_t halo) {
    HcBlock block = place(cube, line0, lines, halo, cube->bands);
    int64_t first = hc_block_first_line(&block) * cube->samples;
    block.data = rig_put(rig, cube->data + first * cube->bands, hc_block_values(&block) * sizeof(float));
    block.mask = rig_put(rig, cube->mask + first, hc_block_pixels(&block));
    return block;
}

HcBlock rig_alloc_block(Rig *rig, const Cube *cube, int64_t line0, int32_t lines, int32_t halo,
                        int32_t bands) {
    HcBlock block = place(cube, line0, lines, halo, bands);
    block.data = rig_alloc(rig, hc_block_values(&block) * sizeof(float));
    block.mask = rig_alloc(rig, hc_block_pixels(&block));
    return block;
}

Cube rig_get_block(Rig *rig, const HcBlock *block) {
    Cube cube = cube_new((int32_t)hc_block_rows(block), block->samples, block->bands);
    rig_get(rig, block->data, cube.data, hc_block_values(block) * sizeof(float));
    rig_get(rig, block->mask, cube.mask, hc_block_pixels(block));
    return cube;
}

void rig_check_rows(const Cube *rows, const Cube *whole, int64_t line0, int32_t halo) {
    int64_t first = line0 < halo ? 0 : line0 - halo;
    size_t pixels = (size_t)rows->lines * (size_t)rows->samples;
    assert_true(rows->samples == whole->samples && rows->bands == whole->bands);
    assert_memory_equal(rows->data, whole->data + first * whole->samples * whole->bands,
                        pixels * (size_t)rows->bands * sizeof(float));
    assert_memory_equal(rows->mask, whole->mask + first * whole->samples, pixels);
}

Cube rig_run_block(Rig *rig, const RigOperation *operation, void *made, int64_t line0, int32_t lines,
                   int32_t spare) {
    int32_t halo = operation->keeps_halo ? spare : 0;
    HcBlock in = rig_put_block(rig, operation->cube, line0, lines, operation->halo + spare);
    HcBlock out = rig_alloc_block(rig, operation->cube, line0, lines, halo, operation->bands);
    check_ok(operation->call(rig->queue, &in, made, &out, &rig->err), rig->err);
    return rig_get_block(rig, &out);
}

Cube rig_run(const RigOperation *operation, int32_t threads) {
    Rig rig;
    rig_open(&rig, threads);
    void *made = operation->open(&rig, operation->rule);
    Cube got = rig_run_block(&rig, operation, made, 0, operation->cube->lines, 0);
    operation->close(made);
    rig_close(&rig);
    return got;
}

void rig_check_cuts(const RigOperation *operation, int32_t threads, const int32_t *sizes, const Cube *whole) {
    int32_t end = operation->cube->lines;
    Rig rig;
    rig_open(&rig, threads);
    void *made = operation->open(&rig, operation->rule);
    for (; *sizes > 0; sizes++) {
        int32_t spare = *sizes % 2;
        for (int32_t line = 0; line < end; line += *sizes) {
            int32_t lines = end - line < *sizes ? end - line : *sizes;
            Cube part = rig_run_block(&rig, operation, made, line, lines, spare);
            rig_check_rows(&part, whole, line, operation->keeps_halo ? spare : 0);
            cube_free(&part);
            rig_empty(&rig);
        }
    }
    operation->close(made);
    rig_close(&rig);
}

/* Copies from pinned memory, which go on behind the call; then opens and calls at once. */
void rig_check_opening(const RigOperation *operation, int32_t threads, const Cube *whole) {
    enum { COPIES = 8, BYTES = 64 << 20 };
    Rig rig;
    HcQueue *other = NULL;
    HcBuffer from = {0};
    rig_open(&rig, threads);
    check_ok(hc_queue_open(rig.compute, &other, &rig.err), rig.err);
    check_ok(hc_alloc(rig.compute, HC_MEMORY_HOST, BYTES, &from, &rig.err), rig.err);
    memset(from.data, 0xFF, BYTES);
    HcBuffer *to = &rig.buffer[rig.buffers++];
    check_ok(hc_alloc(rig.compute, HC_MEMORY_DEVICE, BYTES, to, &rig.err), rig.err);
    HcBlock in = rig_put_block(&rig, operation->cube, 0, operation->cube->lines, operation->halo);
    HcBlock out = rig_alloc_block(&rig, operation->cube, 0, operation->cube->lines, 0, operation->bands);
    for (int i = 0; i < COPIES; i++) {
        check_ok(hc_upload(other, from.data, to->data, BYTES, &rig.err), rig.err);
    }
    void *made = operation->open(&rig, operation->rule);
    check_ok(operation->call(rig.queue, &in, made, &out, &rig.err), rig.err);
    Cube got = rig_get_block(&rig, &out);
    rig_check_rows(&got, whole, 0, 0);
    check_ok(hc_wait(other, &rig.err), rig.err);
    cube_free(&got);
    operation->close(made);
    hc_queue_close(other);
    hc_release(rig.compute, &from);
    rig_close(&rig);
}

void rig_check_refusals(Rig *rig, const RigOperation *operation, void *made, const HcBlock *in,
                        const HcBlock *out) {
    HcError *err = &rig->err;
    HcBlock other[] = {*out, *out, *out};
    HcBlock narrow = *in;
    other[0].bands--;
    other[1].samples--;
    other[2].line0++;
    narrow.bands--;
    check_fails(operation->call(NULL, in, made, out, err), HC_E_USAGE, rig->err);
    check_fails(operation->call(rig->queue, NULL, made, out, err), HC_E_USAGE, rig->err);
    check_fails(operation->call(rig->queue, in, NULL, out, err), HC_E_USAGE, rig->err);
    check_fails(operation->call(rig->queue, in, made, NULL, err), HC_E_USAGE, rig->err);
    check_fails(operation->call(rig->queue, &narrow, made, out, err), HC_E_USAGE, rig->err);
    for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
        check_fails(operation->call(rig->queue, in, made, &other[i], err), HC_E_USAGE, rig->err);
    }
}

void rig_fill_spectrum(float *spectrum, int32_t bands, double texture, uint64_t *seed) {
    double slope = random_uniform(seed) - 0.5;
    double place[2] = {random_uniform(seed), random_uniform(seed)};
    double depth[2] = {0.5 * random_uniform(seed), 0.5 * random_uniform(seed)};
    for (int32_t b = 0; b < bands; b++) {
        double at = (b + 0.5) / bands;
        double value = 1 + slope * at + texture * random_normal(seed);
        for (int i = 0; i < 2; i++) {
            double off = (at - place[i]) / 0.15;
            value -= depth[i] * exp(-off * off);
        }
        spectrum[b] = (float)(0.5 * value);
    }
}
