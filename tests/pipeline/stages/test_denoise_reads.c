/* What denoise reads, by its calls: each sampled line alone, and each block once a pass with the lines of
 * context that its patches need. A line too many costs no bit of the output, so no other test sees it. */
#include "io/view/view.h"
#include "tests/pipeline/stages/denoised.h"

enum { LINES = 500, SAMPLES = 24, BANDS = 12, BLOCK = 100, BLOCKS = LINES / BLOCK, CALLS = 1000 };
enum { LEAST = 8, MOST = 2 * HC_NEIGHBOUR_PAIRS + LEAST }; /* lines of a sample */

typedef struct Span {
    int64_t line0;
    int32_t lines;
} Span;

/* One thread reads at a time: the sample comes before the blocks. */
static Span call[CALLS];
static size_t calls;

HcStatus __real_hc_view_read(HcView *view, int64_t line0, int32_t lines, void *to, HcRaw *raw, HcError *err);
HcStatus __wrap_hc_view_read(HcView *view, int64_t line0, int32_t lines, void *to, HcRaw *raw, HcError *err);
HcStatus __wrap_hc_view_read(HcView *view, int64_t line0, int32_t lines, void *to, HcRaw *raw, HcError *err) {
    assert_true(calls < CALLS);
    call[calls++] = (Span){line0, lines};
    return __real_hc_view_read(view, line0, lines, to, raw, err);
}

/* Lines of context: of a sampled line, which only what stands in front needs, and of a block. */
typedef struct Case {
    const char *steps;
    int32_t around, halo;
} Case;

static void check_reads(const Case *of) {
    HcRunReport report = {0};
    const RunHow how = {.report = &report, .settings = {.block_lines = BLOCK}};
    calls = 0;
    check_runs(&how, "read scene.img ! %s ! write a.img --overwrite", of->steps);
    assert_int_equal(report.block_lines, BLOCK);
    size_t blocks = (size_t)report.passes * BLOCKS;
    assert_in_range(calls, blocks + LEAST, blocks + MOST);
    for (size_t c = 0; c < calls - blocks; c++) {
        assert_in_range(call[c].lines, 1 + of->around, 1 + 2 * of->around);
    }
    for (size_t b = 0; b < blocks; b++) {
        int64_t first = (int64_t)(b % BLOCKS) * BLOCK, end = hc_min64(LINES, first + BLOCK + of->halo);
        const Span *span = &call[calls - blocks + b];
        first = hc_max64(0, first - of->halo);
        assert_int_equal(span->line0, first);
        assert_int_equal(span->lines, end - first);
    }
}

/* Patches of 8 lines need 7 around them. Groups need 19 more: their patches of 4, twice 8 lines away. */
static void no_line_too_many_is_read(void **state) {
    (void)state;
    static const Case cases[] = {{"denoise", 0, 26},
                                 {"denoise --stripes", 0, 26},
                                 {"denoise --columns 1", 0, 26},
                                 {"denoise --method patches", 0, 7},
                                 {"denoise --method subspace", 0, 1},
                                 {"filter ! denoise", 1, 27},
                                 {"mnf --components 3", 0, 1}};
    Cube cube = cube_new(LINES, SAMPLES, BANDS);
    uint64_t seed = 3;
    for (size_t i = 0; i < cube_pixels(&cube) * BANDS; i++) {
        double line = (double)(i / BANDS / SAMPLES), band = (double)(i % BANDS);
        cube.value[i] = 100 * sin(0.01 * line) * band + random_normal(&seed);
    }
    cube_write(&cube, "scene", HC_FLOAT32, "bil", NULL);
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        check_reads(&cases[c]);
    }
    cube_free(&cube);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_line_too_many_is_read, folder_setup, folder_teardown)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
