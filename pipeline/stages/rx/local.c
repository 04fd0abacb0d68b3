#include "pipeline/stages/rx/local.h"
#include "core/operation/image/project.h"
#include "pipeline/memory.h"

#include <math.h>

/* ---- memory ---- */

/* Lines of a strip: as many as a window has, or few where memory is scarce. The lines around a strip are
 * whitened again with the next one. */
static int32_t strip_lines(const HcWindowAsk *ask) {
    int64_t least = ask->tight ? hc_max64(8, ask->window / 2) : hc_max64(64, ask->window);
    return (int32_t)hc_min64(least, ask->lines);
}

static size_t strip_bytes(const HcWindowAsk *ask) {
    int64_t rows = hc_min64(strip_lines(ask) + 2 * (int64_t)(ask->window / 2), ask->lines);
    return (size_t)rows * (size_t)ask->samples * ((size_t)ask->directions * sizeof(float) + 1);
}

/* With the statistics of the scene itself no component reaches the root of its pixels. So the grid is as fine
 * as the scene allows: where one pixel lies far from all others, they all are near 0 in its direction. */
static double grid_of(int64_t pixels) {
    int exponent;
    (void)frexp(2 * sqrt((double)pixels), &exponent);
    return ldexp(HC_LOCAL_LARGEST, -exponent);
}

static HcLocalRule rule_of(const HcWindowAsk *ask) {
    return (HcLocalRule){.lines = ask->lines,
                         .samples = (int32_t)ask->samples,
                         .directions = ask->directions,
                         .window = ask->window,
                         .guard = ask->guard,
                         .share = ask->share,
                         .per_unit = grid_of(ask->pixels),
                         .tight = ask->tight};
}

void hc_windows_plan(const HcWindowAsk *ask, HcStage *stage) {
    HcWindowAsk scarce = *ask;
    scarce.tight = true;
    HcLocalRule rule = rule_of(ask);
    HcLocalRule tight = rule_of(&scarce);
    stage->needs.halo = hc_local_halo(&rule);
    stage->masks = "their windows have too few valid pixels, or pixels without variation";
    hc_stage_takes_or(stage, HC_SPACE_DEVICE, strip_bytes(ask), strip_bytes(&scarce));
    hc_stage_takes_or(stage, HC_SPACE_APART, hc_local_device_bytes(&rule), hc_local_device_bytes(&tight));
    hc_stage_takes(stage, HC_SPACE_SHARED, hc_local_host_bytes(&rule));
    hc_stage_takes(stage, HC_SPACE_WORKER, hc_local_thread_bytes(&rule));
}

HcStatus hc_windows_open(HcWindows *windows, HcCompute *compute, const HcWindowAsk *ask, HcError *err) {
    HcLocalRule rule = rule_of(ask);
    *windows = (HcWindows){.ask = *ask, .compute = compute};
    HC_OR_RETURN(hc_local_open(compute, &rule, &windows->local, err));
    return hc_alloc(compute, HC_MEMORY_DEVICE, strip_bytes(ask), &windows->white, err);
}

void hc_windows_close(HcWindows *windows) {
    hc_local_close(windows->local);
    hc_memory_release(windows->compute, &windows->white);
    *windows = (HcWindows){0};
}

/* ---- what a scene allows ---- */

/* Rows or columns of a square of that side around place `at` of `length`. */
static int64_t reached(int64_t at, int64_t length, int32_t side) {
    return hc_min64(at + side / 2 + 1, length) - hc_max64(at - side / 2, 0);
}

/* Squares that reach no end of the scene are alike, and so are the two ends: half a window is all to try. */
int64_t hc_windows_pixels(const HcWindowAsk *ask) {
    int64_t most = 0;
    int64_t lines = hc_min64((ask->lines + 1) / 2, ask->window / 2 + 1);
    int64_t samples = hc_min64((ask->samples + 1) / 2, ask->window / 2 + 1);
    for (int64_t l = 0; l < lines; l++) {
        for (int64_t s = 0; s < samples; s++) {
            int64_t outer = reached(l, ask->lines, ask->window) * reached(s, ask->samples, ask->window);
            int64_t inner = reached(l, ask->lines, ask->guard) * reached(s, ask->samples, ask->guard);
            most = hc_max64(most, outer - inner);
        }
    }
    return most;
}

/* ---- blocks ---- */

static HcStatus score_strip(HcWindows *windows, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                            int64_t first, int64_t end, HcError *err) {
    const HcWindowAsk *ask = &windows->ask;
    HcBlock rows = hc_block_cut(out, first, end);
    HcBlock from = hc_block_part(in, first, end, ask->window / 2);
    HcBlock white = from;
    white.bands = ask->directions;
    white.data = windows->white.data;
    white.mask = (uint8_t *)(white.data + hc_block_values(&white));
    HC_OR_RETURN(hc_project(queue, &from, ask->whitening, ask->mean, NULL, &white, err));
    return hc_local(queue, &white, windows->local, &rows, err);
}

HcStatus hc_windows_process(HcWindows *windows, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                            HcError *err) {
    int64_t first = hc_block_first_line(out);
    int64_t end = first + hc_block_rows(out);
    for (int64_t next; first < end; first = next) {
        next = hc_min64(end, first + strip_lines(&windows->ask));
        HC_OR_RETURN(score_strip(windows, queue, in, out, first, next, err));
    }
    return HC_OK;
}
