/* A row of blocks is weighed when its eight lines are there, and the calmest blocks are kept in a sorted
 * list with their pixels. Ties go to the first block of the scene: the choice does not depend on how lines
 * arrive. */
#include "pipeline/neighbours/calm.h"
#include "core/allocate.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = HC_CALM_SIZE, BLOCKS_MAX = 512, SHARE = 4 };

/* More memory than that is not worth it: fewer blocks are kept. */
static const size_t most_bytes = (size_t)64 << 20;

typedef struct Block {
    double roughness;
    int64_t place; /* line * samples + sample of its first pixel, from 1 */
    float *value;
} Block;

struct HcCalm {
    int64_t lines, samples, bands;
    HcWindow window;
    int64_t weighed; /* blocks that might have been taken */
    int32_t most, count;
    Block *block;    /* [most] ascending */
    float *store;    /* [most] blocks */
    double *differs; /* [bands] of a row of blocks: whether a band differs somewhere */
    double *square;  /* [blocks of a row][bands] sums of squared differences */
};

/* Blocks that are kept, at most. */
static int32_t most_of(const HcScene *scene) {
    size_t bytes = (size_t)SIZE * SIZE * (size_t)scene->bands * sizeof(float);
    int64_t blocks = (scene->lines / SIZE) * (scene->samples / SIZE) / SHARE;
    int64_t room = hc_max64((int64_t)(most_bytes / bytes), SIZE);
    return (int32_t)hc_max64(1, hc_min64(blocks, hc_min64(room, BLOCKS_MAX)));
}

size_t hc_calm_bytes(const HcScene *scene) {
    size_t block = (size_t)SIZE * SIZE * (size_t)scene->bands * sizeof(float);
    size_t row = (size_t)(scene->samples / SIZE + 1) * (size_t)scene->bands * sizeof(double);
    return (size_t)most_of(scene) * (block + sizeof(Block)) + row;
}

void hc_calm_close(HcCalm *calm) {
    if (calm == NULL) {
        return;
    }
    free(calm->block);
    free(calm->store);
    free(calm->differs);
    free(calm->square);
    free(calm);
}

HcStatus hc_calm_open(HcCalm **out, const HcScene *scene, const HcWindow *window, HcError *err) {
    HcStatus status = HC_OK;
    HcCalm *calm = NULL;
    HC_TRY(hc_new(calm, 1, "calm blocks", err));
    calm->lines = scene->lines;
    calm->samples = scene->samples;
    calm->bands = scene->bands;
    calm->window = window != NULL ? *window : (HcWindow){0, 0, scene->samples, scene->lines};
    calm->most = most_of(scene);
    size_t block = (size_t)SIZE * SIZE * (size_t)scene->bands;
    size_t row = (size_t)(scene->samples / SIZE + 1) * (size_t)scene->bands;
    HC_TRY(hc_new(calm->block, (size_t)calm->most, "calm blocks", err));
    HC_TRY(hc_new(calm->store, (size_t)calm->most * block, "calm blocks", err));
    HC_TRY(hc_new(calm->differs, (size_t)scene->bands, "calm blocks", err));
    HC_TRY(hc_new(calm->square, row, "calm blocks", err));
    for (int32_t k = 0; k < calm->most; k++) {
        calm->block[k] = (Block){.value = calm->store + (size_t)k * block};
    }
    *out = calm;
    calm = NULL;
done:
    hc_calm_close(calm);
    return status;
}

int64_t hc_calm_next(const HcCalm *calm, int64_t line) {
    int64_t behind = line - calm->window.line0;
    int64_t next = behind <= 0 ? calm->window.line0 : calm->window.line0 + (behind + SIZE - 1) / SIZE * SIZE;
    return next + SIZE <= calm->window.line0 + calm->window.lines ? next : -1;
}

/* Sums of squared differences of right neighbours, band by band; false where a pixel is masked. */
static bool weigh(const HcCalm *calm, const float *value, const uint8_t *mask, int64_t sample,
                  double *square) {
    int64_t bands = calm->bands;
    memset(square, 0, (size_t)bands * sizeof *square);
    for (int64_t l = 0; l < SIZE; l++) {
        const float *x = value + (l * calm->samples + sample) * bands;
        for (int64_t s = 0; s < SIZE; s++, x += bands) {
            if (mask[l * calm->samples + sample + s] == 0) {
                return false;
            }
            for (int64_t b = 0; b < bands && s + 1 < SIZE; b++) {
                double difference = (double)x[b] - (double)x[b + bands];
                square[b] += difference * difference;
            }
        }
    }
    return true;
}

/* NaN: too few bands differ. */
static double roughness_of(const HcCalm *calm, const double *square) {
    int64_t alive = 0;
    int64_t count = 0;
    double sum = 0;
    for (int64_t b = 0; b < calm->bands; b++) {
        alive += calm->differs[b] > 0;
        if (square[b] > 0 && square[b] <= DBL_MAX) {
            count++;
            sum += log(square[b]);
        }
    }
    return count > 0 && 2 * count > alive ? sum / (double)count : NAN;
}

static bool is_before(const Block *a, const Block *b) {
    return a->roughness < b->roughness || (a->roughness == b->roughness && a->place < b->place);
}

/* Puts a block where it belongs among those that are kept, if it does. */
static void keep(HcCalm *calm, Block block, const float *value, int64_t sample) {
    int32_t last = calm->count < calm->most ? calm->count : calm->most - 1;
    if (calm->count == calm->most && !is_before(&block, &calm->block[last])) {
        return;
    }
    calm->count = last + 1;
    block.value = calm->block[last].value;
    int32_t at = last;
    for (; at > 0 && is_before(&block, &calm->block[at - 1]); at--) {
        calm->block[at] = calm->block[at - 1];
    }
    calm->block[at] = block;
    size_t row = (size_t)SIZE * (size_t)calm->bands;
    for (int64_t l = 0; l < SIZE; l++) {
        const float *from = value + (l * calm->samples + sample) * calm->bands;
        memcpy(block.value + (size_t)l * row, from, row * sizeof *from);
    }
}

void hc_calm_add(HcCalm *calm, int64_t line, const float *value, const uint8_t *mask) {
    int64_t blocks = calm->window.samples / SIZE;
    memset(calm->differs, 0, (size_t)calm->bands * sizeof *calm->differs);
    for (int64_t k = 0; k < blocks; k++) {
        double *square = calm->square + k * calm->bands;
        if (!weigh(calm, value, mask, calm->window.sample0 + k * SIZE, square)) {
            square[0] = NAN; /* takes no part */
        }
        for (int64_t b = 0; b < calm->bands && !isnan(square[0]); b++) {
            calm->differs[b] += square[b] > 0;
        }
    }
    for (int64_t k = 0; k < blocks; k++) {
        const double *square = calm->square + k * calm->bands;
        int64_t sample = calm->window.sample0 + k * SIZE;
        double roughness = isnan(square[0]) ? NAN : roughness_of(calm, square);
        if (!isnan(roughness)) {
            calm->weighed++;
            keep(calm, (Block){.roughness = roughness, .place = line * calm->samples + sample + 1}, value,
                 sample);
        }
    }
}

static int compare_blocks(const void *a, const void *b) {
    return is_before(a, b) ? -1 : is_before(b, a) ? 1 : 0;
}

HcStatus hc_calm_choose(HcCalm *calm, HcRanks *ranks, int32_t *taken, HcError *err) {
    HcStatus status = HC_OK;
    size_t all = (size_t)hc_ranks_count(ranks) * (size_t)calm->most;
    size_t own = (size_t)hc_ranks_number(ranks) * (size_t)calm->most;
    size_t found = 0;
    Block *block = NULL;
    int64_t weighed = calm->weighed;
    HC_TRY(hc_new(block, all, "calm blocks of all ranks", err));
    for (int32_t k = 0; k < calm->count; k++) {
        block[own + (size_t)k] = calm->block[k];
        block[own + (size_t)k].value = NULL; /* an address of this rank */
    }
    HC_TRY(hc_ranks_join(ranks, block, all * sizeof *block, err));
    HC_TRY(hc_ranks_sum(ranks, &weighed, 1, err));
    for (size_t k = 0; k < all; k++) {
        if (block[k].place > 0) {
            block[found++] = block[k];
        }
    }
    qsort(block, found, sizeof *block, compare_blocks);
    int64_t wanted = hc_max64(1, weighed / SHARE);
    wanted = hc_min64(hc_min64(wanted, calm->most), (int64_t)found);
    *taken = 0;
    while (*taken < calm->count && wanted > 0 && !is_before(&block[wanted - 1], &calm->block[*taken])) {
        ++*taken;
    }
done:
    free(block);
    return status;
}

const float *hc_calm_block(const HcCalm *calm, int32_t k) {
    return calm->block[k].value;
}
