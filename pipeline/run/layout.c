/* Finds how many lines a block may have within the limits of memory on host and device, and what is kept
 * between passes. Results do not depend on the size of blocks, so that the choice is free. */
#include "pipeline/run/layout.h"
#include "io/libraries.h"
#include "pipeline/statistics/sums.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* GDAL's cache of blocks: a row of tiles should fit, or each tile is decompressed for every block of lines.
 */
static const uint64_t cache_most = (uint64_t)512 << 20;
static const uint64_t cache_least = (uint64_t)16 << 20;

/* Raw blocks that are kept when the scene is streamed: those in flight, and some that are read ahead. */
static int32_t stream_slots(const HcComputeInfo *info) {
    return info->slots + 2;
}

/* What the layout would take with blocks of that many lines [bytes]. */
typedef struct Cost {
    size_t slot;       /* device memory of the largest pass in a slot */
    size_t raw_device; /* a raw block there, 0 where memory is shared */
    size_t raw_host;   /* a raw block in host memory */
    size_t fixed;      /* device memory of the stages */
    size_t host;       /* output blocks, and what writers and GDAL take */
    bool mapped;
    int32_t passes, slots;
} Cost;

/* Bytes of raw lines: read into memory, or looked at in the mapped file (whose pages count as memory too). */
static size_t raw_bytes(const HcView *view, int64_t lines, bool *mapped) {
    size_t bytes = hc_view_bytes(view, lines);
    *mapped = bytes == 0;
    return *mapped ? hc_view_mapped_bytes(view, lines) : bytes;
}

/* Lines that are read. */
static int64_t lines_of(const HcLimits *limits) {
    return (limits->end_line - limits->first_line + limits->every - 1) / limits->every;
}

static int64_t blocks_of(const HcLimits *limits, int64_t lines) {
    return (lines_of(limits) + lines - 1) / lines;
}

/* At least one, also for a rank without lines: nothing then needs to ask. */
static int64_t slots_for(int64_t blocks, int32_t most) {
    return blocks > most ? most : blocks > 0 ? blocks : 1;
}

/* What the threads of the backend take for the sums of a stage. */
static size_t sums_bytes(const HcStage *stage, const HcComputeInfo *info) {
    const HcNeeds *needs = &stage->needs;
    size_t bytes = 0;
    if (info->sums_bytes != NULL && needs->sums.floats > 0) {
        bytes += (size_t)needs->sums.floats * info->sums_bytes(stage->in.bands, true, info->threads);
    }
    if (info->sums_bytes != NULL && needs->sums.integers > 0) {
        bytes += (size_t)needs->sums.integers * info->sums_bytes(stage->in.bands, false, info->threads);
    }
    return bytes;
}

/* Host memory of a stage for its sums (on a backend there, beyond their wide integers), with copies of what
 * is fetched first; or, once they are closed, for what is fitted to them, where that is more. */
static size_t settling_bytes(const HcStage *stage, const HcComputeInfo *info) {
    const size_t count = (size_t)(stage->needs.sums.floats + stage->needs.sums.integers);
    const size_t wide = (size_t)stage->in.bands * (size_t)stage->in.bands * sizeof(HcWide);
    const size_t closed = info->shared_memory ? count * wide : 0; /* device memory in name */
    const size_t open = sums_bytes(stage, info) + (info->shared_memory && count > 0 ? wide : count * wide);
    const size_t fit = hc_stage_bytes(stage, HC_SPACE_FIT);
    return fit > open + closed ? fit - closed : open;
}

/* Adds what a stage takes; scratch for pixels is in the slots. */
static void add_memory(Cost *cost, const HcStage *stage, const HcComputeInfo *info) {
    const bool shared = info->shared_memory;
    const size_t times[HC_SPACES] = {[HC_SPACE_DEVICE] = 1,
                                     [HC_SPACE_APART] = !shared,
                                     [HC_SPACE_APART_WISH] = stage->has_more_apart,
                                     [HC_SPACE_HOST] = 1,
                                     [HC_SPACE_WISH] = stage->has_more,
                                     [HC_SPACE_MIRROR] = !shared,
                                     [HC_SPACE_SHARED] = shared,
                                     [HC_SPACE_WORKER] = shared ? (size_t)info->threads : 0,
                                     [HC_SPACE_LIBRARY] = stage->threads > 1 ? (size_t)stage->threads : 0};
    for (HcSpace space = 0; space < HC_SPACES; space++) {
        size_t *to = space <= HC_SPACE_APART_WISH ? &cost->fixed : &cost->host;
        *to += times[space] * hc_stage_bytes(stage, space);
    }
}

static Cost cost_of(const HcChain *chain, const HcComputeInfo *info, const HcLimits *limits, int32_t lines) {
    Cost cost = {0};
    const HcView *view = chain->source->view;
    int64_t raw_lines = lines + 2 * (int64_t)limits->halo;
    cost.raw_host = raw_bytes(view, raw_lines, &cost.mapped);
    cost.raw_device = info->shared_memory ? 0 : hc_aligned(hc_view_bytes(view, raw_lines));
    cost.slots = (int32_t)slots_for(blocks_of(limits, lines), info->slots);
    int32_t settled_before = 0;
    bool more = true;
    while (more) {
        HcPass pass;
        hc_pass_after(chain, settled_before, &pass);
        HcSlotLayout slot;
        hc_pass_slot(chain, &pass, lines, &slot);
        cost.slot = slot.all > cost.slot ? slot.all : cost.slot;
        cost.passes += hc_pass_times(chain, &pass);
        more = pass.stops;
        settled_before = pass.end;
    }
    cost.host =
        (size_t)limits->cache + hc_view_fixed_bytes(view) + hc_reader_thread_bytes(hc_view_reader(view));
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        if (stage->needs.consumes) {
            cost.host += (size_t)(cost.slots + 2) * hc_consumed_bytes(stage, lines);
        }
        cost.host += settling_bytes(stage, info);
        add_memory(&cost, stage, info);
    }
    return cost;
}

static int32_t raw_halo_of(const HcChain *chain) {
    int32_t halo = 0;
    int32_t settled_before = 0;
    bool more = true;
    while (more) {
        HcPass pass;
        hc_pass_after(chain, settled_before, &pass);
        halo = pass.halo[0] > halo ? pass.halo[0] : halo;
        more = pass.stops;
        settled_before = pass.end;
    }
    return halo;
}

/* A number [bytes] in a one-line file; false when there is none ("max"). */
static bool number_in_file(const char *path, const char *key, double *value) {
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        return false;
    }
    char line[256];
    bool found = false;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        size_t length = strlen(key);
        found = strncmp(line, key, length) == 0 && sscanf(line + length, "%lf", value) == 1;
    }
    fclose(file);
    return found;
}

double hc_available_memory(void) {
    double available = 2e9;
    double value = 0;
    if (number_in_file("/proc/meminfo", "MemAvailable:", &value)) {
        available = value * 1024;
    }
    if (number_in_file("/sys/fs/cgroup/memory.max", "", &value) && value < available) {
        available = value;
    }
    return available;
}

/* raw_blocks: those that have a place on the device. */
static size_t device_bytes(const Cost *cost, int64_t raw_blocks) {
    return cost->slot * (size_t)cost->slots + cost->raw_device * (size_t)raw_blocks + cost->fixed;
}

/* How many of the raw blocks there is memory for on the device. */
static int64_t fitting_blocks(const Cost *cost, const HcLimits *limits, int64_t blocks) {
    double spare = limits->device - (double)device_bytes(cost, 0);
    double most = cost->raw_device > 0 ? spare / (double)cost->raw_device : 0;
    return most < 1 ? 0 : most < (double)blocks ? (int64_t)most : blocks;
}

static size_t host_bytes(const Cost *cost, const HcComputeInfo *info, int64_t raw_slots) {
    return cost->raw_host * (size_t)raw_slots + cost->host +
           (info->shared_memory ? device_bytes(cost, cost->slots) : 0) + (size_t)HC_OWN_BYTES;
}

/* Half of what the smallest blocks leave of the budget, where the scene comes through GDAL. */
static uint64_t cache_for(const HcView *view, double spare) {
    if (!hc_reader_through_gdal(hc_view_reader(view)) || spare / 2 < (double)cache_least) {
        return cache_least;
    }
    return spare / 2 > (double)cache_most ? cache_most : (uint64_t)(spare / 2);
}

static HcStatus does_not_fit(const char *what, double least, double budget, HcError *err) {
    char need[32];
    char have[32];
    return hc_fail(err, HC_E_MEMORY, "%s %s is too little: this chain needs at least %s", what,
                   hc_text_bytes(have, sizeof have, budget), hc_text_bytes(need, sizeof need, least));
}

/* Device memory for buffers, which may be less than nothing. */
static double device_limit(const HcComputeInfo *info, const HcRunSettings *settings) {
    bool unknown = settings->device_memory == 0 && info->memory_free == 0;
    if (info->shared_memory || unknown) {
        return INFINITY;
    }
    double all =
        settings->device_memory > 0
            ? (double)settings->device_memory
            : 0.9 * (double)info->memory_free / (settings->device_shares > 1 ? settings->device_shares : 1);
    return all - (double)info->reserve;
}

/* Lines that no two ranks may share: whole multiples of what each stage asks for. */
static int64_t rank_lines_of(const HcChain *chain) {
    int64_t lines = 1;
    for (int32_t s = 0; s < chain->count; s++) {
        lines = hc_common_multiple(lines, chain->stages[s].needs.rank_lines);
    }
    return lines;
}

/* Of which lines pictures are all that the chain makes: those whose number is a multiple of this. Few lines
 * more are not worth counts of some lines in place of all. Of chunks, all would be decoded anyway. */
static int32_t shown_lines_of(const HcChain *chain) {
    enum { EVERY_MIN = 8 };
    int32_t every = 0;
    const HcReader *reader = hc_view_reader(chain->source->view);
    for (int32_t s = 1; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        bool draws =
            stage->kind->role == HC_ROLE_SINK && stage->needs.passes_through && !stage->needs.observes;
        every = (int32_t)hc_common_divisor(draws ? hc_max64(stage->needs.pick.shown_every, 1) : 1, every);
    }
    return every >= EVERY_MIN && hc_reader_skips_lines(reader) ? every : 1;
}

/* The lines of this rank. */
static void share_lines(const HcChain *chain, const HcRanks *ranks, HcLimits *limits) {
    int64_t lines = chain->stages[0].out.lines;
    int64_t step = limits->every > 1 ? limits->every : rank_lines_of(chain);
    int64_t steps = (lines + step - 1) / step;
    int32_t rank = hc_ranks_number(ranks);
    limits->first_line = hc_min64(lines, steps * rank / hc_ranks_count(ranks) * step);
    limits->end_line = hc_min64(lines, steps * (rank + 1) / hc_ranks_count(ranks) * step);
}

/* Whether each pass reads the scene anew: it will not fit into memory. (0.75: rows of chunks get the rest,
 * and raw blocks have a halo.) */
static bool repeats(const Cost *least, const HcLimits *limits, double spare, const HcView *view) {
    double all = (double)hc_view_bytes(view, limits->end_line - limits->first_line);
    return least->passes > 1 && !limits->streams && all > 0.75 * spare;
}

static HcLimits limits_of(const HcChain *chain, const HcComputeInfo *info, const HcRunSettings *settings) {
    HcView *view = chain->source->view;
    HcLimits limits = {
        .every = shown_lines_of(chain), .halo = raw_halo_of(chain), .streams = settings->streams};
    limits.readers = hc_reader_threads(hc_view_reader(view), settings->shares <= 1);
    share_lines(chain, settings->ranks, &limits);
    double available = 0.75 * hc_available_memory() / hc_ranks_local_count(settings->ranks) /
                       (settings->shares > 1 ? settings->shares : 1);
    limits.host = settings->memory > 0 ? (double)settings->memory : available;
    limits.device = device_limit(info, settings);
    Cost least = cost_of(chain, info, &limits, 1);
    double spare = limits.host - (double)host_bytes(&least, info, stream_slots(info));
    uint64_t cache = cache_for(view, spare);
    hc_io_limit_cache(cache);
    limits.cache =
        hc_reader_through_gdal(hc_view_reader(view))
            ? cache
            : hc_view_settle(view, limits.halo, 0.75 * spare, repeats(&least, &limits, spare, view));
    return limits;
}

/* Threads of libraries get half of what the smallest blocks leave, divided among the stages that want some.
 */
static void share_threads(HcChain *chain, const HcComputeInfo *info, const HcLimits *limits) {
    int32_t wanting = 0;
    for (int32_t s = 0; s < chain->count; s++) {
        wanting += chain->stages[s].needs.threads_max > 1;
    }
    Cost least = cost_of(chain, info, limits, 1);
    double spare = limits->host - (double)host_bytes(&least, info, stream_slots(info));
    for (int32_t s = 0; s < chain->count; s++) {
        HcStage *stage = &chain->stages[s];
        double most = stage->needs.threads_max;
        double each = (double)hc_stage_bytes(stage, HC_SPACE_LIBRARY);
        if (most > 1 && each > 0) {
            double count = floor(fmin(most, spare / 2 / wanting / each));
            stage->threads = count > 1 ? (int32_t)count : 1;
        }
    }
}

/* Stages get the memory that they wish for while that is at most half of what the smallest blocks leave. */
static void share_more(HcChain *chain, const HcComputeInfo *info, const HcLimits *limits) {
    for (int32_t s = 0; s < chain->count; s++) {
        HcStage *stage = &chain->stages[s];
        Cost least = cost_of(chain, info, limits, 1);
        double spare = limits->host - (double)host_bytes(&least, info, stream_slots(info));
        double wish = (double)hc_stage_bytes(stage, HC_SPACE_WISH);
        stage->has_more = wish > 0 && wish <= spare / 2;
        double apart = (double)hc_stage_bytes(stage, HC_SPACE_APART_WISH);
        double room = limits->device - (double)device_bytes(&least, least.slots);
        stage->has_more_apart = !info->shared_memory && apart > 0 && apart <= room / 2;
    }
}

static int64_t half_of(int64_t lines) {
    return lines > 1 ? lines / 2 : 1;
}

/* Halves the lines of a block until all fits. */
static HcStatus fit_lines(const HcChain *chain, const HcComputeInfo *info, const HcRunSettings *settings,
                          const HcLimits *limits, int64_t *lines, HcError *err) {
    for (;;) {
        Cost cost = cost_of(chain, info, limits, (int32_t)*lines);
        double host = (double)host_bytes(&cost, info, stream_slots(info));
        double device = (double)device_bytes(&cost, cost.slots);
        if (host <= limits->host && device <= limits->device) {
            return HC_OK;
        }
        if (*lines == 1) {
            double reserve = (double)info->reserve;
            return host > limits->host ? does_not_fit("--memory", host, limits->host, err)
                                       : does_not_fit(settings->device_memory > 0 ? "--device-memory"
                                                                                  : "free device memory of",
                                                      device + reserve, limits->device + reserve, err);
        }
        *lines = half_of(*lines);
    }
}

/* Pieces in which blocks of a file that is read as it lies go to a device, where these take less host memory
 * than whole blocks; returns what they take, 0 = there are none. */
static size_t lay_out_pieces(HcLayout *layout, const HcChain *chain, size_t raw_host, int64_t blocks) {
    enum { PIECE = 1 << 20, FEW = 4 }; /* copies of smaller ones cost more, and few threads can wait longer */
    const size_t threads = (size_t)layout->limits.readers;
    const size_t most = threads > FEW ? PIECE : 2 * PIECE;
    const size_t piece = raw_host / threads < most ? raw_host / threads + 1 : most;
    const HcSource *source = chain->source;
    const size_t line =
        source->zeros_may_be_none ? hc_view_bytes(source->view, 1) : 0; /* looked at once more */
    const size_t all = threads * (2 * piece + line);
    if (blocks == 0 || all > raw_host * (size_t)layout->raw_slots || !hc_source_passes_bytes(source)) {
        return 0;
    }
    layout->straight = true;
    layout->piece_bytes = piece;
    return all;
}

/* Places on the device for blocks that come in pieces and do not stay: more than are computed at a time,
 * where they fit. */
static int64_t ring_of(const Cost *cost, int64_t fitting) {
    enum { AHEAD = 3 };
    return fitting < cost->slots + AHEAD ? cost->slots : cost->slots + AHEAD;
}

/* Fills layout (which has its limits) and report for blocks of that many lines. A file that is read as it
 * lies comes again from the system's page cache faster than memory is made for it that the device can copy
 * from. */
static void lay_out(HcLayout *layout, const HcChain *chain, const HcComputeInfo *info, int64_t lines,
                    bool may_keep, HcRunReport *report) {
    const HcScene *scene = &chain->stages[0].out;
    const HcLimits limits = layout->limits;
    Cost cost = cost_of(chain, info, &limits, (int32_t)lines);
    int64_t blocks = blocks_of(&limits, lines);
    bool again = cost.passes > 1 && !cost.mapped && !limits.streams;
    bool may_stay = may_keep && again && !info->shared_memory;
    bool on_device = may_stay && (double)device_bytes(&cost, blocks) <= limits.device;
    bool quick = !info->shared_memory && hc_reader_direct(hc_view_reader(chain->source->view));
    bool resident = !on_device && again && !quick && (double)host_bytes(&cost, info, blocks) <= limits.host;
    int64_t raw_slots = slots_for(blocks, resident && blocks > 0 ? (int32_t)blocks : stream_slots(info));
    int64_t fitting = fitting_blocks(&cost, &limits, blocks);
    *layout = (HcLayout){.block_lines = (int32_t)lines,
                         .raw_halo = limits.halo,
                         .blocks = blocks,
                         .slots = cost.slots,
                         .raw_slots = (int32_t)raw_slots,
                         .resident = resident,
                         .device_resident = on_device,
                         .limits = limits};
    const size_t pieces = quick ? lay_out_pieces(layout, chain, cost.raw_host, blocks) : 0;
    int64_t traveling = on_device ? 0 : layout->straight && may_keep ? ring_of(&cost, fitting) : cost.slots;
    int64_t kept = may_stay && !resident ? hc_max64(hc_min64(fitting - traveling, blocks - 1), 0) : 0;
    layout->ring_blocks = layout->straight ? traveling : 0;
    layout->kept_blocks = on_device ? blocks : kept;
    report->lines = lines_of(&limits);
    report->passes = cost.passes;
    report->block_lines = layout->block_lines;
    report->blocks = blocks;
    report->slots = cost.slots;
    report->resident = resident;
    report->device_blocks = layout->kept_blocks;
    report->device_resident = on_device;
    report->mapped = cost.mapped;
    report->host_bytes = pieces + host_bytes(&cost, info, layout->straight ? 0 : raw_slots);
    report->device_bytes = device_bytes(&cost, layout->kept_blocks + traveling) + info->reserve;
    const int64_t all = (scene->lines + limits.every - 1) / limits.every;
    const uint64_t line =
        (uint64_t)scene->samples * (uint64_t)scene->bands * (uint64_t)hc_type_bytes(scene->type);
    report->raw_bytes = (uint64_t)all * line;
    report->share_bytes = (uint64_t)report->lines * line;
    report->pixels = all * scene->samples;
}

static void set_tight(HcChain *chain, bool tight) {
    for (int32_t s = 0; s < chain->count; s++) {
        chain->stages[s].tight = tight;
    }
}

static void set_extras(HcChain *chain, int32_t threads) {
    for (int32_t s = 0; s < chain->count; s++) {
        chain->stages[s].threads = threads;
        chain->stages[s].has_more = false;
        chain->stages[s].has_more_apart = false;
    }
}

/* Threads each have sums and a workspace of their own: as many of them as there is memory for, at least one.
 */
static void take_fewer_threads(HcChain *chain, HcCompute *compute, HcComputeInfo *info,
                               const HcRunSettings *settings, HcLimits *limits) {
    HcError unimportant = {0};
    const int32_t all = info->threads;
    int64_t least = 1;
    while (info->threads > 1 && fit_lines(chain, info, settings, limits, &least, &unimportant) != HC_OK) {
        info->threads--;
        *limits = limits_of(chain, info, settings);
    }
    if (info->threads < all && fit_lines(chain, info, settings, limits, &least, &unimportant) == HC_OK) {
        char text[32];
        info->limit_threads(compute, info->threads);
        hc_compute_info(compute, info);
        hc_chain_note(chain, "memory: %s is enough for %d of %d threads",
                      hc_text_bytes(text, sizeof text, limits->host), info->threads, all);
    }
}

/* Least lines of a block, in lines of context on one side: each block works on its context again. */
enum { HALOS = 2 };

static HcStatus make_layout(HcLayout *layout, HcChain *chain, HcCompute *compute, HcComputeInfo *info,
                            const HcRunSettings *settings, HcRunReport *report, HcError *err) {
    HcError unimportant = {0};
    const HcScene *scene = &chain->stages[0].out;
    set_tight(chain, false);
    set_extras(chain, 1);
    HcLimits limits = limits_of(chain, info, settings);
    int64_t least = 1;
    if (fit_lines(chain, info, settings, &limits, &least, &unimportant) != HC_OK) {
        set_tight(chain, true);
        limits = limits_of(chain, info, settings);
        if (info->limit_threads != NULL) {
            take_fewer_threads(chain, compute, info, settings, &limits);
        }
    }
    share_more(chain, info, &limits);
    share_threads(chain, info, &limits);
    int64_t wanted =
        settings->block_lines > 0
            ? settings->block_lines
            : hc_max64((int64_t)(info->block_bytes / hc_rows_bytes(scene, 1)), HALOS * (int64_t)limits.halo);
    int64_t own = lines_of(&limits);
    wanted = limits.every > 1 ? 1 : wanted > own ? own : wanted;
    int64_t lines = wanted < 1 ? 1 : wanted;
    HC_OR_RETURN(fit_lines(chain, info, settings, &limits, &lines, err));
    if (settings->block_lines == 0 && own > 0) {
        /* As many blocks, of nearly the same size. */
        int64_t blocks = blocks_of(&limits, lines);
        lines = (own + blocks - 1) / blocks;
    }
    chain->first_line = limits.first_line;
    chain->end_line = limits.end_line;
    chain->source->every = limits.every;
    layout->limits = limits;
    lay_out(layout, chain, info, lines, true, report);
    return HC_OK;
}

bool hc_layout_shrink(HcLayout *layout, const HcChain *chain, const HcComputeInfo *info,
                      HcRunReport *report) {
    int64_t lines = layout->block_lines;
    if (layout->kept_blocks == 0 && lines <= 1) {
        return false;
    }
    lines = layout->kept_blocks > 0 ? lines : half_of(lines);
    lay_out(layout, chain, info, lines, false, report);
    return true;
}

void hc_layout_memory(const HcChain *chain, const HcComputeInfo *info, const HcLayout *layout,
                      HcDeviceMemory *out) {
    Cost cost = cost_of(chain, info, &layout->limits, layout->block_lines);
    out->raw_block = cost.raw_device;
    out->slot = layout->device_resident || layout->straight ? cost.slot : cost.slot + cost.raw_device;
    out->kept = cost.raw_device * (size_t)layout->kept_blocks;
    out->ring = cost.raw_device * (size_t)layout->ring_blocks;
}

HcStatus hc_run_layout(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcLayout *layout,
                       HcComputeInfo *info, HcRunReport *report, HcError *err) {
    *report = (HcRunReport){0};
    if (chain->count > HC_STAGES_MAX) {
        return hc_fail(err, HC_E_USAGE, "a chain of %d steps: at most %d", chain->count, HC_STAGES_MAX);
    }
    HC_OR_RETURN(hc_chain_plan(chain, err));
    hc_compute_info(compute, info);
    if (info->shared_memory) {
        (void)hc_view_map(chain->source->view);
    }
    HC_OR_RETURN(make_layout(layout, chain, compute, info, settings, report, err));
    if (report->mapped && !hc_view_map_suits(chain->source->view, layout->block_lines)) {
        hc_view_unmap(chain->source->view);
        HC_OR_RETURN(make_layout(layout, chain, compute, info, settings, report, err));
    }
    if (report->passes > HC_PASSES_MAX) {
        return hc_fail(err, HC_E_USAGE, "a chain that reads the scene %d times: at most %d", report->passes,
                       HC_PASSES_MAX);
    }
    return HC_OK;
}

HcStatus hc_run_plan(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcRunReport *report,
                     HcError *err) {
    HcLayout layout;
    HcComputeInfo info;
    const HcRunSettings *outer = chain->settings;
    chain->settings = settings;
    HcStatus status = hc_run_layout(chain, compute, settings, &layout, &info, report, err);
    chain->settings = outer;
    HC_OR_RETURN(status);
    return hc_chain_check_files(chain, settings != NULL ? settings->record : NULL, err);
}
