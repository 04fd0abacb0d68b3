/* A block passes in strips of about 8 MiB: threads form the differences of a strip, and the backend adds
 * them. Larger strips are not faster. Trimmed differences take the calm blocks of a row instead. */
#include "pipeline/neighbours/host.h"
#include "core/allocate.h"
#include "core/system/team.h"
#include "pipeline/memory.h"
#include "pipeline/neighbours/calm.h"

#include <stdlib.h>
#include <string.h>

/* Bytes of a strip, about: more lines at once are not faster. */
static const size_t strip_bytes = (size_t)8 << 20;

enum { TEAM = 16 };

struct HcHostSums {
    HcCompute *compute; /* borrowed */
    HcDifference difference;
    HcWindow window;
    int64_t lines, samples, bands;
    int64_t strip; /* lines at once */
    HcBuffer from; /* [host] lines with their context, then the masks */
    HcBuffer to;   /* [host] differences, then their masks */
    HcBuffer on;   /* [device] the same */
    HcCalm *calm;  /* of trimmed differences */
    HcTeam *team;
};

static bool is_trimmed(HcDifference difference) {
    return (int)difference == HC_STENCIL_TRIMMED;
}

static size_t line_bytes(const HcScene *scene) {
    return (size_t)scene->samples * ((size_t)scene->bands * sizeof(float) + 1);
}

/* Lines that are worked on at once. */
static int64_t strip_of(const HcScene *scene, HcDifference difference) {
    int64_t lines = (int64_t)(strip_bytes / line_bytes(scene));
    return is_trimmed(difference) ? HC_CALM_SIZE : hc_max64(1, hc_min64(lines, scene->lines));
}

/* Of a strip that comes in, and of one that goes out. Blocks of trimmed differences go out one after the
 * other. */
static size_t from_bytes(const HcScene *scene, HcDifference difference) {
    int64_t context = is_trimmed(difference) ? 0 : 2 * hc_stencil_halo(difference);
    return (size_t)(strip_of(scene, difference) + context) * line_bytes(scene);
}

static size_t to_bytes(const HcScene *scene, HcDifference difference) {
    size_t block = (size_t)HC_CALM_SIZE * HC_CALM_SIZE * ((size_t)scene->bands * sizeof(float) + 1);
    return is_trimmed(difference) ? block : (size_t)strip_of(scene, difference) * line_bytes(scene);
}

HcHostNeeds hc_host_sums_needs(const HcScene *scene, HcDifference difference) {
    size_t to = to_bytes(scene, difference);
    return (HcHostNeeds){.device = to,
                         .host = from_bytes(scene, difference) + to +
                                 (is_trimmed(difference) ? hc_calm_bytes(scene) : 0),
                         .halo = is_trimmed(difference) ? HC_CALM_SIZE - 1 : hc_stencil_halo(difference)};
}

void hc_host_sums_close(HcHostSums *host) {
    if (host == NULL) {
        return;
    }
    hc_memory_release(host->compute, &host->from);
    hc_memory_release(host->compute, &host->to);
    hc_memory_release(host->compute, &host->on);
    hc_calm_close(host->calm);
    hc_team_close(host->team);
    free(host);
}

HcStatus hc_host_sums_open(HcHostSums **out, HcCompute *compute, const HcScene *scene,
                           HcDifference difference, const HcWindow *window, HcError *err) {
    HcStatus status = HC_OK;
    HcHostSums *host = NULL;
    HcComputeInfo info;
    hc_compute_info(compute, &info);
    HC_TRY(hc_new(host, 1, "sums of differences", err));
    host->compute = compute;
    host->difference = difference;
    host->window = window != NULL ? *window : (HcWindow){0, 0, scene->samples, scene->lines};
    host->lines = scene->lines;
    host->samples = scene->samples;
    host->bands = scene->bands;
    host->strip = strip_of(scene, difference);
    host->team = hc_team_open(hc_team_count(info.threads, TEAM));
    HC_TRY(hc_alloc(compute, HC_MEMORY_HOST, from_bytes(scene, difference), &host->from, err));
    HC_TRY(hc_alloc(compute, HC_MEMORY_HOST, to_bytes(scene, difference), &host->to, err));
    HC_TRY(hc_memory_zeros(compute, to_bytes(scene, difference), &host->on, err));
    if (is_trimmed(difference)) {
        HC_TRY(hc_calm_open(&host->calm, scene, window, err));
    }
    *out = host;
    host = NULL;
done:
    hc_host_sums_close(host);
    return status;
}

/* Lines [top, bottom) of a block, with their masks behind them. */
static HcStatus fetch(HcHostSums *host, HcQueue *queue, const HcBlock *in, int64_t top, int64_t bottom,
                      HcError *err) {
    HcBlock lines = hc_block_part(in, top, bottom, 0);
    uint8_t *mask = (uint8_t *)host->from.data + hc_block_values(&lines) * sizeof(float);
    HC_OR_RETURN(
        hc_download(queue, lines.data, host->from.data, hc_block_values(&lines) * sizeof(float), err));
    HC_OR_RETURN(hc_download(queue, lines.mask, mask, hc_block_pixels(&lines), err));
    return hc_wait(queue, err);
}

/* Pixels of the host, with their masks behind them, into the sums. */
static HcStatus send(HcHostSums *host, HcQueue *queue, HcBlock block, HcDifference difference, HcSums *sums,
                     HcError *err) {
    size_t bytes = hc_block_values(&block) * sizeof(float) + hc_block_pixels(&block);
    block.data = host->on.data;
    block.mask = (uint8_t *)host->on.data + hc_block_values(&block) * sizeof(float);
    HC_OR_RETURN(hc_upload(queue, host->to.data, host->on.data, bytes, err));
    HC_OR_RETURN(hc_gram(queue, &block, difference, NULL, sums, err));
    return hc_wait(queue, err);
}

/* ---- stencils ---- */

/* Lines of the host that are worked on. */
typedef struct Strip {
    const HcHostSums *host;
    const float *value; /* of line `top` on */
    const uint8_t *mask;
    int64_t top, bottom; /* that are there */
    int64_t first;       /* of the differences */
    float *to;
    uint8_t *valid;
} Strip;

static void form_line(void *user, int64_t item, int32_t thread) {
    (void)thread;
    const Strip *strip = user;
    const HcHostSums *host = strip->host;
    int64_t line = strip->first + item;
    const HcWindow *window = &host->window;
    HcStencilRows rows = {.samples = host->samples,
                          .bands = host->bands,
                          .first = window->sample0,
                          .end = window->sample0 + window->samples};
    for (int64_t k = 0; k < 3; k++) {
        int64_t at = line + k - 1;
        bool inside = at >= strip->top && at < strip->bottom && at >= window->line0 &&
                      at < window->line0 + window->lines;
        int64_t skipped = (at - strip->top) * host->samples;
        rows.value[k] = inside ? strip->value + skipped * host->bands : NULL;
        rows.mask[k] = inside ? strip->mask + skipped : NULL;
    }
    hc_stencil_row(host->difference, &rows, strip->to + item * host->samples * host->bands,
                   strip->valid + item * host->samples);
}

static HcStatus add_strip(HcHostSums *host, HcQueue *queue, const HcBlock *in, int64_t first, int64_t end,
                          HcSums *sums, HcError *err) {
    int64_t block_first = hc_block_first_line(in);
    int64_t halo = hc_stencil_halo(host->difference);
    int64_t top = hc_max64(block_first, first - halo);
    int64_t bottom = hc_min64(block_first + hc_block_rows(in), end + halo);
    size_t pixels = (size_t)(bottom - top) * (size_t)host->samples;
    size_t formed = (size_t)(end - first) * (size_t)host->samples;
    float *to = host->to.data;
    Strip strip = {.host = host,
                   .value = host->from.data,
                   .mask = (const uint8_t *)((const float *)host->from.data + pixels * (size_t)host->bands),
                   .top = top,
                   .bottom = bottom,
                   .first = first,
                   .to = to,
                   .valid = (uint8_t *)(to + formed * (size_t)host->bands)};
    HC_OR_RETURN(fetch(host, queue, in, top, bottom, err));
    hc_team_run(host->team, end - first, form_line, &strip);
    HcBlock block = {
        .line0 = first, .lines = (int32_t)(end - first), .samples = in->samples, .bands = in->bands};
    return send(host, queue, block, HC_DIFFERENCE_NONE, sums, err);
}

/* ---- trimmed differences ---- */

/* Rows of blocks that begin among the interior lines; the context has the rest of the last one. */
static HcStatus weigh_blocks(HcHostSums *host, HcQueue *queue, const HcBlock *in, HcError *err) {
    int64_t end = in->line0 + in->lines;
    for (int64_t line = hc_calm_next(host->calm, in->line0); line >= 0 && line < end;
         line = hc_calm_next(host->calm, line + 1)) {
        HC_OR_RETURN(fetch(host, queue, in, line, line + HC_CALM_SIZE, err));
        const float *value = host->from.data;
        const float *behind = value + HC_CALM_SIZE * host->samples * host->bands;
        hc_calm_add(host->calm, line, value, (const uint8_t *)behind);
    }
    return HC_OK;
}

HcStatus hc_host_sums_end(HcHostSums *host, HcRanks *ranks, HcQueue *queue, HcSums *sums, HcError *err) {
    int32_t taken = 0;
    if (host->calm == NULL) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_calm_choose(host->calm, ranks, &taken, err));
    size_t values = (size_t)HC_CALM_SIZE * HC_CALM_SIZE * (size_t)host->bands;
    float *to = host->to.data;
    for (int32_t k = 0; k < taken; k++) {
        HcBlock block = {.lines = HC_CALM_SIZE, .samples = HC_CALM_SIZE, .bands = (int32_t)host->bands};
        memcpy(to, hc_calm_block(host->calm, k), values * sizeof *to);
        memset(to + values, 1, (size_t)HC_CALM_SIZE * HC_CALM_SIZE);
        HC_OR_RETURN(send(host, queue, block, HC_DIFFERENCE_SHIFT, sums, err));
    }
    return HC_OK;
}

HcStatus hc_host_sums_add(HcHostSums *host, HcQueue *queue, const HcBlock *in, HcSums *sums, HcError *err) {
    if (host->calm != NULL) {
        return weigh_blocks(host, queue, in, err);
    }
    int64_t end = in->line0 + in->lines;
    for (int64_t first = in->line0; first < end; first += host->strip) {
        HC_OR_RETURN(add_strip(host, queue, in, first, hc_min64(end, first + host->strip), sums, err));
    }
    return HC_OK;
}
