/* Wrong shapes are refused; memory, queues and the strict backend's own rules. */
#include "tests/conformance/rig.h"

#include "core/operation/image/decode.h"
#include "core/operation/image/difference.h"
#include "core/operation/image/filter.h"
#include "core/operation/image/gather.h"
#include "core/operation/gram/gram.h"
#include "core/operation/image/project.h"
#include "tests/support/strict.h"

#include <math.h>
#include <stdlib.h>

/* At the call, or where only the device can see it, at the wait. */
static HcStatus at_once_or_later(Rig *rig, HcStatus status) {
    return status != HC_OK ? status : hc_wait(rig->queue, &rig->err);
}

#define refused(call) check_fails(at_once_or_later(&rig, call), HC_E_USAGE, rig.err)

static HcBlock changed(HcBlock block, int32_t lines, int32_t samples, int32_t bands, int64_t line0) {
    block.lines += lines;
    block.samples += samples;
    block.bands += bands;
    block.line0 += line0;
    return block;
}

static void refuse_blocks(Rig *given) {
    Rig rig = *given;
    HcQueue *queue = rig.queue;
    Cube cube = cube_new(9, 5, 4);
    HcBlock in = rig_put_block(&rig, &cube, 3, 3, 1);
    HcBlock out = rig_alloc_block(&rig, &cube, 3, 3, 0, 4);
    HcBlock none = {.lines = 3, .samples = 5, .bands = 4};
    HcBlock wrong[] = {changed(out, 0, -1, 0, 0),
                       changed(out, 2, 0, 0, 0),
                       changed(out, 0, 0, 0, 2),
                       changed(out, 0, 0, 0, -3),
                       changed(out, -3, 0, 0, 0),
                       changed(out, 0, 0, -4, 0),
                       none};
    int32_t list[4] = {0, 1, 2, 4};
    const int32_t *index = rig_put(&rig, list, sizeof list);
    const double *matrix = rig_alloc(&rig, 16 * sizeof *matrix);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        refused(hc_filter(queue, &in, HC_FILTER_MEAN3X3, &wrong[i], &rig.err));
        refused(hc_difference(queue, &in, HC_DIFFERENCE_MEAN3X3, &wrong[i], &rig.err));
        refused(hc_gather(queue, &in, index, &wrong[i], &rig.err));
        refused(hc_project(queue, &in, matrix, NULL, NULL, &wrong[i], &rig.err));
    }
    HcBlock fewer = changed(out, 0, 0, -1, 0);
    refused(hc_gather(queue, &in, index, &out, &rig.err)); /* there is no band 4 */
    refused(hc_gather(queue, &in, NULL, &out, &rig.err));
    refused(hc_filter(queue, &in, HC_FILTER_MEAN3X3, &fewer, &rig.err));
    refused(hc_filter(queue, &in, (HcFilter)17, &out, &rig.err));
    refused(hc_filter(NULL, &in, HC_FILTER_MEAN3X3, &out, &rig.err));
    refused(hc_difference(queue, &in, HC_DIFFERENCE_SHIFT, &fewer, &rig.err));
    refused(hc_difference(queue, &in, (HcDifference)17, &out, &rig.err));
    refused(hc_difference(queue, NULL, HC_DIFFERENCE_SHIFT, &out, &rig.err));
    refused(hc_project(queue, &in, NULL, NULL, NULL, &out, &rig.err));
    cube_free(&cube);
    *given = rig;
}

static void refuse_raw(Rig *given) {
    Rig rig = *given;
    Cube cube = cube_new(9, 5, 4);
    HcBlock out = rig_alloc_block(&rig, &cube, 3, 3, 1, 4);
    HcRaw raw = {.type = HC_UINT8, .line0 = 2, .lines = 5, .samples = 5, .bands = 4};
    raw.stride_band = 1;
    raw.stride_sample = 4;
    raw.stride_line = 20;
    raw.data = rig_put(&rig, "", 0);
    raw.data = rig_alloc(&rig, 100);
    int32_t list[4] = {0, 1, 2, 3};
    int32_t beyond[4] = {0, 1, 2, 4};
    HcDecode how = {.band_index = rig_put(&rig, list, sizeof list)};
    HcDecode how_beyond = {.band_index = rig_put(&rig, beyond, sizeof beyond)};
    HcDecode how_none = {0};
    check_ok(hc_decode(rig.queue, &raw, &how, &out, &rig.err), rig.err);
    refused(hc_decode(rig.queue, &raw, &how_beyond, &out, &rig.err));
    refused(hc_decode(rig.queue, &raw, &how_none, &out, &rig.err));
    refused(hc_decode(rig.queue, NULL, &how, &out, &rig.err));
    refused(hc_decode(NULL, &raw, &how, &out, &rig.err));
    HcRaw wrong[4] = {raw, raw, raw, raw};
    wrong[0].lines = 4;
    wrong[1].line0 = 3;
    wrong[2].samples = 6;
    wrong[3].type = HC_TYPE_COUNT;
    for (int i = 0; i < 4; i++) {
        refused(hc_decode(rig.queue, &wrong[i], &how, &out, &rig.err));
    }
    cube_free(&cube);
    *given = rig;
}

/* Grids that no sums are on: the last band's center or unit is wrong, or nothing fits together. */
static void refuse_grids(Rig *given) {
    Rig rig = *given;
    HcSums *sums = NULL;
    static const struct {
        double center;
        int32_t exponent;
    } wrong[] = {{0, -150}, {0, 128}, {0.5, 0}, {0x1p54, 0}, {NAN, 0}, {INFINITY, 0}};
    double center[4] = {1, 2.5, -3, 0};
    int32_t exponent[4] = {0, -1, 0, 0};
    HcGrid grid = {center, exponent};
    refused(hc_sums_open(rig.compute, 4, 100, &grid, &sums, &rig.err));
    refused(hc_sums_open(rig.compute, 4, 0, &(HcGrid){NULL, exponent}, &sums, &rig.err));
    refused(hc_sums_open(rig.compute, 4, 0, &(HcGrid){center, NULL}, &sums, &rig.err));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        center[3] = wrong[i].center;
        exponent[3] = wrong[i].exponent;
        refused(hc_sums_open(rig.compute, 4, 0, &grid, &sums, &rig.err));
        check_ok(hc_sums_open(rig.compute, 3, 0, &grid, &sums, &rig.err), rig.err);
        hc_sums_close(sums);
    }
    *given = rig;
}

static void refuse_sums(Rig *given) {
    Rig rig = *given;
    HcSums *sums = NULL;
    Cube cube = cube_new(9, 5, 4);
    HcMoments moments = {0};
    refused(hc_sums_open(rig.compute, 0, 100, NULL, &sums, &rig.err));
    refused(hc_sums_open(rig.compute, 4, -1, NULL, &sums, &rig.err));
    refused(hc_sums_open(rig.compute, 4, (1 << 20) + 1, NULL, &sums, &rig.err));
    refused(hc_sums_open(rig.compute, 4, 0, NULL, &sums, &rig.err));
    check_ok(hc_sums_open(rig.compute, 3, 100, NULL, &sums, &rig.err), rig.err);
    HcBlock in = rig_put_block(&rig, &cube, 3, 3, 0);
    refused(hc_gram(rig.queue, &in, HC_DIFFERENCE_NONE, NULL, sums, &rig.err)); /* 4 bands, sums of 3 */
    in.bands = 3;
    refused(hc_gram(rig.queue, &in, HC_DIFFERENCE_MEAN3X3, NULL, sums, &rig.err)); /* no halo */
    refused(hc_gram(rig.queue, &in, (HcDifference)-1, NULL, sums, &rig.err));
    refused(hc_gram(rig.queue, &in, HC_DIFFERENCE_NONE, NULL, NULL, &rig.err));
    refused(hc_sums_fetch(rig.queue, NULL, &moments, &rig.err));
    hc_sums_close(sums);
    hc_sums_close(NULL);
    cube_free(&cube);
    *given = rig;
}

CASE(test_usage) {
    (void)state;
    Rig rig;
    rig_open(&rig, 2);
    refuse_blocks(&rig);
    rig_empty(&rig);
    refuse_raw(&rig);
    rig_empty(&rig);
    refuse_sums(&rig);
    refuse_grids(&rig);
    hc_compute_close(NULL);
    hc_queue_close(NULL);
    rig_close(&rig);
}

/* What only the strict backend promises: mix-ups fail, and only at the wait. */
static void check_strict(Rig *given) {
    Rig rig = *given;
    HcError *err = &rig.err;
    char host[32] = {0};
    char *device = rig_alloc(&rig, 32);
    check_ok(hc_upload(rig.queue, host, host, 32, err), rig.err);
    check_fails(hc_wait(rig.queue, err), HC_E_DEVICE, rig.err);
    check_ok(hc_download(rig.queue, device, device, 32, err), rig.err);
    check_fails(hc_wait(rig.queue, err), HC_E_DEVICE, rig.err);
    check_ok(hc_zero(rig.queue, device, 1000, err), rig.err);
    check_fails(hc_wait(rig.queue, err), HC_E_DEVICE, rig.err);
    check_ok(hc_zero(rig.queue, host, 8, err), rig.err);
    check_fails(hc_wait(rig.queue, err), HC_E_DEVICE, rig.err);
    HcBuffer buffer;
    check_ok(hc_alloc(rig.compute, HC_MEMORY_DEVICE, 32, &buffer, err), rig.err);
    check_ok(hc_zero(rig.queue, buffer.data, 32, err), rig.err);
    hc_release(rig.compute, &buffer);
    assert_null(buffer.data);
    check_fails(hc_wait(rig.queue, err), HC_E_DEVICE, rig.err); /* released before it was done */
    hc_strict_fail_at(2);
    for (int i = 0; i < 3; i++) {
        check_ok(hc_zero(rig.queue, device, 8, err), rig.err);
    }
    check_fails(hc_wait(rig.queue, err), HC_E_DEVICE, rig.err);
    check_ok(hc_wait(rig.queue, err), rig.err);
    assert_int_equal(hc_strict_operations(), 3);
    hc_strict_fail_at(0);
    *given = rig;
}

typedef struct Items {
    int32_t done[100], threads;
    bool numbered;
} Items;

static void do_item(void *user, int64_t item, int32_t thread) {
    Items *items = user;
    __atomic_fetch_add(&items->done[item], 1, __ATOMIC_RELAXED);
    if (thread < 0 || thread >= items->threads) {
        __atomic_store_n(&items->numbered, false, __ATOMIC_RELAXED);
    }
}

/* Each item once, by threads with numbers below that of all. */
CASE(test_share) {
    (void)state;
    for (int32_t threads = 1; threads <= 3; threads++) {
        Rig rig;
        rig_open(&rig, threads);
        Items items = {.threads = threads, .numbered = true};
        hc_share(rig.compute, 0, do_item, &items);
        hc_share(rig.compute, 100, do_item, &items);
        for (int i = 0; i < 100; i++) {
            assert_int_equal(items.done[i], 1);
        }
        assert_true(items.numbered);
        rig_close(&rig);
    }
}

/* Copies arrive; a queue that follows another sees its work. */
CASE(test_memory) {
    (void)state;
    Rig rig;
    rig_open(&rig, 1);
    HcComputeInfo info;
    hc_compute_info(rig.compute, &info);
    assert_true(info.threads == 1 && info.name[0] != '\0' && info.slots >= 1);
    HcQueue *second = NULL;
    check_ok(hc_queue_open(rig.compute, &second, &rig.err), rig.err);
    unsigned char from[100];
    unsigned char to[100];
    memset(from, 7, sizeof from);
    HcBuffer device;
    HcBuffer pinned;
    check_ok(hc_alloc(rig.compute, HC_MEMORY_DEVICE, 100, &device, &rig.err), rig.err);
    check_ok(hc_alloc(rig.compute, HC_MEMORY_HOST, 100, &pinned, &rig.err), rig.err);
    memset(pinned.data, 1, 100);
    check_ok(hc_upload(rig.queue, from, device.data, 100, &rig.err), rig.err);
    check_ok(hc_zero(rig.queue, device.data, 10, &rig.err), rig.err);
    check_ok(hc_follow(second, rig.queue, &rig.err), rig.err);
    check_ok(hc_download(second, device.data, pinned.data, 100, &rig.err), rig.err);
    check_ok(hc_wait(second, &rig.err), rig.err);
    memcpy(to, pinned.data, 100);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(to[i], i < 10 ? 0 : 7);
    }
    if (strcmp(hc_compute_name(rig_ops), "strict") == 0) {
        check_strict(&rig);
    }
    hc_queue_close(second);
    hc_release(rig.compute, &device);
    hc_release(rig.compute, &pinned);
    hc_release(rig.compute, &pinned);
    check_fails(hc_compute_open(rig_ops, &(HcComputeConfig){.threads = -1}, &(HcCompute *){NULL}, &rig.err),
                HC_E_USAGE, rig.err);
    rig_close(&rig);
}
