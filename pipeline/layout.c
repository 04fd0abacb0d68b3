#include "pipeline/layout.h"
#include "io/libraries.h"
#include "pipeline/stages/read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Enough work for every thread and every copy, little enough to lie in caches and small memories. */
static const size_t block_target = (size_t)24 << 20;

/* GDAL's cache of blocks: a row of tiles should fit, or each tile is decompressed for every block of lines.
 */
static const uint64_t cache_most = (uint64_t)512 << 20;
static const uint64_t cache_least = (uint64_t)16 << 20;

/* Raw blocks read ahead when the scene is streamed. */
static const int32_t stream_slots = 3;

bool hc_pass_observes(const HcPass *pass, const HcStage *stage) {
    return stage->needs.observes && !stage->settled && stage->place < pass->end;
}

/* Walks back from the end of the pass: what a stage needs is added to what is needed of it. */
static void pass_halos(const HcChain *chain, HcPass *pass) {
    int32_t halo = 0;
    for (int32_t s = pass->end - 1; s >= 0; s--) {
        const HcStage *stage = &chain->stages[s];
        pass->halo[s] = halo;
        bool processes = !stage->needs.passes_through && !(pass->stops && s == pass->end - 1);
        int32_t before = processes ? halo + stage->needs.halo : halo;
        if (hc_pass_observes(pass, stage) && stage->needs.halo > before) {
            before = stage->needs.halo;
        }
        halo = before;
    }
}

/* settled_before: stages before that place count as settled (for walking through the passes at plan time). */
static void next_pass(const HcChain *chain, int32_t settled_before, HcPass *pass) {
    *pass = (HcPass){.end = chain->count};
    for (int32_t s = 1; s < chain->count && !pass->stops; s++) {
        const HcStage *stage = &chain->stages[s];
        if (s >= settled_before && stage->needs.observes && !stage->settled && !stage->needs.passes_through) {
            pass->end = s + 1;
            pass->stops = true;
        }
    }
    pass_halos(chain, pass);
}

void hc_pass_next(const HcChain *chain, HcPass *pass) {
    next_pass(chain, 0, pass);
}

size_t hc_rows_bytes(const HcScene *scene, int64_t rows) {
    return (size_t)rows * (size_t)scene->samples * ((size_t)scene->bands * sizeof(float) + 1);
}

size_t hc_pass_slot_bytes(const HcChain *chain, const HcPass *pass, const HcComputeInfo *info, int32_t lines,
                          int32_t raw_halo) {
    size_t bytes = 0;
    size_t scratch = 0;
    if (!info->shared_memory) {
        bytes += hc_reader_bytes(hc_source_reader(&chain->stages[0]), lines + 2 * raw_halo);
    }
    for (int32_t s = 0; s < pass->end - (pass->stops ? 1 : 0); s++) {
        const HcStage *stage = &chain->stages[s];
        int64_t rows = lines + 2 * (int64_t)pass->halo[s];
        if (!stage->needs.passes_through) {
            bytes += hc_rows_bytes(&stage->out, rows);
        }
        size_t wanted = stage->needs.bytes_per_pixel * (size_t)rows * (size_t)stage->out.samples;
        scratch = wanted > scratch ? wanted : scratch;
    }
    return bytes + scratch;
}

/* What the layout would take with blocks of that many lines. */
typedef struct Cost {
    size_t device, outputs, raw_block, fixed;
    bool mapped;
    int32_t passes;
} Cost;

/* Bytes of raw lines: read into memory, or looked at in the mapped file (whose pages count as memory too). */
static size_t raw_bytes(const HcReader *reader, int64_t lines, bool *mapped) {
    const HcScene *scene = hc_reader_scene(reader);
    size_t bytes = hc_reader_bytes(reader, lines);
    *mapped = bytes == 0;
    return *mapped
               ? (size_t)lines * (size_t)scene->samples * (size_t)scene->bands * hc_type_bytes(scene->type)
               : bytes;
}

static Cost cost_of(const HcChain *chain, const HcComputeInfo *info, int32_t lines, int32_t raw_halo) {
    Cost cost = {0};
    cost.raw_block =
        raw_bytes(hc_source_reader(&chain->stages[0]), lines + 2 * (int64_t)raw_halo, &cost.mapped);
    int32_t settled_before = 0;
    bool more = true;
    while (more) {
        HcPass pass;
        next_pass(chain, settled_before, &pass);
        size_t slot = hc_pass_slot_bytes(chain, &pass, info, lines, raw_halo);
        cost.device = slot > cost.device ? slot : cost.device;
        cost.passes++;
        more = pass.stops;
        settled_before = pass.end;
    }
    cost.device *= (size_t)info->slots;
    for (int32_t s = 0; s < chain->count; s++) {
        const HcStage *stage = &chain->stages[s];
        cost.fixed += stage->needs.bytes_fixed;
        if (stage->needs.consumes) {
            cost.outputs += (size_t)(info->slots + 2) * hc_rows_bytes(&stage->in, lines);
        }
        cost.outputs += stage->needs.host_bytes;
    }
    return cost;
}

static int32_t raw_halo_of(const HcChain *chain) {
    int32_t halo = 0;
    int32_t settled_before = 0;
    bool more = true;
    while (more) {
        HcPass pass;
        next_pass(chain, settled_before, &pass);
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

/* Memory that the system or the container lets us have [bytes]. */
static double available_memory(void) {
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

static size_t host_bytes(const Cost *cost, const HcComputeInfo *info, int64_t raw_slots) {
    return cost->raw_block * (size_t)raw_slots + cost->outputs +
           (info->shared_memory ? cost->device + cost->fixed : 0) + (size_t)HC_PROGRAM_BYTES;
}

static HcStatus does_not_fit(const char *option, size_t least, double budget, HcError *err) {
    char need[32];
    char have[32];
    return hc_fail(err, HC_E_MEMORY, "%s %s is too little: this chain needs at least %s", option,
                   hc_text_bytes(have, sizeof have, budget), hc_text_bytes(need, sizeof need, (double)least));
}

HcStatus hc_layout_make(HcLayout *layout, HcChain *chain, const HcComputeInfo *info,
                        const HcRunSettings *settings, HcRunReport *report, HcError *err) {
    const HcScene *scene = &chain->stages[0].out;
    int32_t step = hc_sums_lines(scene->samples);
    int32_t halo = raw_halo_of(chain);
    double budget = settings->memory > 0 ? (double)settings->memory : 0.75 * available_memory();
    double device_budget =
        settings->device_memory > 0 ? (double)settings->device_memory : (double)info->memory_free * 0.9;
    uint64_t cache = cache_least;
    if (hc_reader_through_gdal(hc_source_reader(&chain->stages[0]))) {
        double share = budget / 4;
        cache = share > (double)cache_most    ? cache_most
                : share > (double)cache_least ? (uint64_t)share
                                              : cache_least;
        budget -= (double)cache;
    }
    hc_io_limit_cache(cache);
    size_t line_bytes = hc_rows_bytes(scene, 1);
    int64_t wanted = settings->block_lines > 0 ? settings->block_lines : (int64_t)(block_target / line_bytes);
    wanted = wanted > scene->lines ? scene->lines : wanted;
    int64_t lines = wanted < step ? step : wanted / step * step;
    Cost cost;
    for (;;) {
        cost = cost_of(chain, info, (int32_t)lines, halo);
        bool fits = (double)host_bytes(&cost, info, stream_slots) <= budget;
        fits = fits && (info->shared_memory || device_budget <= 0 ||
                        (double)(cost.device + cost.fixed) <= device_budget);
        if (fits) {
            break;
        }
        if (lines == step) {
            bool host = (double)host_bytes(&cost, info, stream_slots) > budget;
            return host ? does_not_fit("--memory", host_bytes(&cost, info, stream_slots), budget, err)
                        : does_not_fit("--device-memory", cost.device + cost.fixed, device_budget, err);
        }
        lines = lines / 2 / step * step;
        lines = lines < step ? step : lines;
    }
    int64_t blocks = (scene->lines + lines - 1) / lines;
    if (settings->block_lines == 0) {
        /* As many blocks, of nearly the same size. */
        lines = ((scene->lines + blocks - 1) / blocks + step - 1) / step * step;
        blocks = (scene->lines + lines - 1) / lines;
    }
    bool resident = cost.passes > 1 && !cost.mapped && (double)host_bytes(&cost, info, blocks) <= budget;
    int64_t raw_slots = resident || blocks < stream_slots ? blocks : stream_slots;
    *layout = (HcLayout){.block_lines = (int32_t)lines,
                         .raw_halo = halo,
                         .blocks = blocks,
                         .slots = info->slots,
                         .raw_slots = (int32_t)raw_slots,
                         .resident = resident};
    report->passes = cost.passes;
    report->block_lines = layout->block_lines;
    report->blocks = blocks;
    report->slots = info->slots;
    report->resident = layout->resident;
    report->host_bytes = host_bytes(&cost, info, raw_slots);
    report->device_bytes = cost.device + cost.fixed;
    report->mapped = cost.mapped;
    report->raw_bytes = (uint64_t)scene->lines * (uint64_t)scene->samples * (uint64_t)scene->bands *
                        hc_type_bytes(scene->type);
    report->pixels = scene->lines * scene->samples;
    return HC_OK;
}

HcStatus hc_run_plan(HcChain *chain, HcCompute *compute, const HcRunSettings *settings, HcRunReport *report,
                     HcError *err) {
    HcStatus status = HC_OK;
    HcLayout layout;
    HcComputeInfo info;
    *report = (HcRunReport){0};
    if (chain->count > HC_STAGES_MAX) {
        return hc_fail(err, HC_E_USAGE, "a chain of %d steps: at most %d", chain->count, HC_STAGES_MAX);
    }
    HC_TRY(hc_chain_plan(chain, err));
    compute->ops->info(compute, &info);
    if (info.shared_memory) {
        (void)hc_reader_map(hc_source_reader(&chain->stages[0]));
    }
    HC_TRY(hc_layout_make(&layout, chain, &info, settings, report, err));
done:
    return status;
}
