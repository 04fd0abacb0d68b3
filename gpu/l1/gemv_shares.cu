/* How blocks share the steps of a product. */
#include "gpu/l1/gemv.cuh"

/* Blocks may have one step more in N where no tile is then shared that need not be: two sums that meet
 * in device memory, one after the other, cost a block more. */
enum { SLACK = 24 };

/* At most `blocks`, so that tiles end with blocks if that is not worse. */
static int64_t blocks_for(int64_t tiles, int64_t steps, int64_t blocks) {
    int64_t longest = hc_div_up(tiles * steps, blocks);
    int64_t of_block = hc_div_up(tiles, blocks);
    longest += longest / SLACK;
    if (tiles <= blocks && hc_div_up(steps, blocks / tiles) <= longest) {
        return blocks / tiles * tiles;
    }
    if (tiles % of_block == 0 && of_block * steps <= longest) {
        return tiles / of_block;
    }
    return blocks;
}

HcStatus hc_gpu_plan_shares(HcQueue *queue, int64_t tiles, int64_t steps, int64_t blocks, int32_t width,
                            HcShares *out, HcError *err) {
    HcShares shares = {};
    blocks = hc_min64(hc_min64(blocks, tiles * steps), HC_GEMV_BLOCKS);
    shares.tiles = tiles;
    shares.steps = steps;
    shares.blocks = (int32_t)blocks_for(tiles, steps, blocks);
    shares.width = width;
    static_assert(HC_GEMV_LEVELS * HC_GEMV_BLOCKS <= HC_GPU_COUNTERS, "a counter for each level and block");
    size_t values = (HC_GEMV_LEVELS + 1) * (size_t)shares.blocks * (size_t)width;
    HC_OR_RETURN(hc_gpu_counters(queue, &shares.counters, err));
    HC_OR_RETURN(hc_gpu_scratch(queue, values * sizeof *shares.values, (void **)&shares.values, err));
    *out = shares;
    return HC_OK;
}
