#include "tests/conformance/rig.h"

#include "core/operation/image/masked.h"

static int64_t counted(Rig *rig, const HcBlock *in, const HcBlock *out, int64_t *count) {
    int64_t got = -1;
    check_ok(hc_masked(rig->queue, in, out, count, &rig->err), rig->err);
    rig_get(rig, count, &got, sizeof got);
    return got;
}

/* What is valid in `from` and masked in `to`, of interior lines alone. */
static int64_t expected(const Cube *from, const Cube *to, int64_t line0, int32_t lines) {
    int64_t count = 0;
    for (int64_t p = line0 * from->samples; p < (line0 + lines) * from->samples; p++) {
        count += from->mask[p] != 0 && to->mask[p] == 0;
    }
    return count;
}

/* Small odd shapes in blocks of one to three lines, with and without context; other bands go out. Counts of
 * blocks add up. */
SMALL(test_masked) {
    (void)state;
    static const int32_t shapes[][3] = {{1, 1, 1}, {7, 1, 5}, {2, 2, 3}, {9, 70, 17}, {5, 3001, 2}};
    const int64_t zero = 0;
    Rig rig;
    uint64_t seed = 1;
    rig_open(&rig, 2);
    for (size_t i = 0; i < 3 * sizeof shapes / sizeof shapes[0]; i++) {
        const int32_t *shape = shapes[i / 3];
        Cube from = cube_new(shape[0], shape[1], shape[2]), to = cube_new(shape[0], shape[1], 1);
        cube_mask(&from, MASK_SOME, &seed);
        cube_mask(&to, (Masking)(i % 3), &seed);
        int64_t *count = rig_put(&rig, &zero, sizeof zero);
        int64_t all = 0;
        for (int32_t line = 0, lines = 1; line < from.lines; line += lines, lines = lines % 3 + 1) {
            int32_t most = (int32_t)hc_min64(lines, from.lines - line);
            HcBlock in = rig_put_block(&rig, &from, line, most, 2);
            HcBlock out = rig_put_block(&rig, &to, line, most, lines - 1);
            all += expected(&from, &to, line, most);
            assert_int_equal(counted(&rig, &in, &out, count), all);
        }
        assert_int_equal(all, expected(&from, &to, 0, from.lines));
        assert_true(i % 3 == MASK_NONE ? all == 0 : i % 3 == MASK_SOME || shape[1] < 70 || all > 0);
        rig_empty(&rig);
        cube_free(&from);
        cube_free(&to);
    }
    rig_close(&rig);
}

CASE(test_masked_refuses) {
    (void)state;
    const int64_t zero = 0;
    Rig rig;
    rig_open(&rig, 1);
    HcError *err = &rig.err;
    Cube cube = cube_new(5, 4, 3);
    int64_t *count = rig_put(&rig, &zero, sizeof zero);
    HcBlock in = rig_put_block(&rig, &cube, 1, 3, 0);
    HcBlock out = rig_put_block(&rig, &cube, 1, 3, 0);
    HcBlock more = rig_put_block(&rig, &cube, 1, 4, 0);
    HcBlock none = {.lines = 3, .samples = 4, .bands = 3};
    check_fails(hc_masked(NULL, &in, &out, count, err), HC_E_USAGE, rig.err);
    check_fails(hc_masked(rig.queue, NULL, &out, count, err), HC_E_USAGE, rig.err);
    check_fails(hc_masked(rig.queue, &in, NULL, count, err), HC_E_USAGE, rig.err);
    check_fails(hc_masked(rig.queue, &in, &none, count, err), HC_E_USAGE, rig.err);
    check_fails(hc_masked(rig.queue, &in, &more, count, err), HC_E_USAGE, rig.err);
    check_fails(hc_masked(rig.queue, &in, &out, NULL, err), HC_E_USAGE, rig.err);
    cube_free(&cube);
    rig_close(&rig);
}
