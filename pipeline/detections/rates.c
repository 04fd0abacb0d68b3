/* Ranks need all scores in order. They are kept as integers that sort like the scores and are sorted in
 * place: into buckets by their upper 16 bits, then each bucket by a heap. Memory stays at four bytes a
 * score, and no order of the scores takes longer than another. */
#include "pipeline/detections/rates.h"
#include "core/allocate.h"
#include "pipeline/memory.h"

#include <math.h>
#include <string.h>

const char *const hc_rate_words[] = {"gaussian", "rank", "both", NULL};

enum { GAUSSIAN, RANK, BOTH };

/* Bytes of a part that is worth the calls. */
enum { PART_BYTES = 16 << 20, THREADS_MAX = 64, BUCKETS = 65536 };

static const char what[] = "rates of scores";

static bool by_null(int32_t choice) {
    return choice == GAUSSIAN || choice == BOTH;
}

bool hc_rates_observes(int32_t choice) {
    return choice == RANK || choice == BOTH;
}

int32_t hc_rates_count(int32_t choice) {
    return (int32_t)by_null(choice) + (int32_t)hc_rates_observes(choice);
}

/* ---- plan ---- */

HcStatus hc_rates_check(const HcStage *stage, int32_t choice, HcNull null, const char *why, HcError *err) {
    if (!by_null(choice) || null != HC_NULL_UNKNOWN) {
        return HC_OK;
    }
    return hc_fail(err, HC_E_USAGE, "%s: --rates %s: scores %s have no known distribution: give --rates rank",
                   stage->kind->name, hc_rate_words[choice], why);
}

HcStatus hc_rates_name(HcStage *stage, int32_t choice, int32_t scores, HcError *err) {
    int32_t band = scores;
    for (int32_t j = 0; j < scores; j++) {
        const char *name = stage->out.band_name[j];
        if (by_null(choice)) {
            HC_OR_RETURN(hc_scene_name_band(&stage->out, band++, err, "%s false-alarm rate", name));
        }
        if (hc_rates_observes(choice)) {
            HC_OR_RETURN(hc_scene_name_band(&stage->out, band++, err, "%s rank share", name));
        }
    }
    return HC_OK;
}

/* A buffer may begin with what the GPU reads in wide words. */
static size_t aligned(size_t bytes) {
    return (bytes + 255) / 256 * 256;
}

static size_t score_bytes(const HcScoreRates *rates, size_t pixels) {
    return aligned(pixels * (size_t)rates->bands * sizeof(float));
}

static size_t part_bytes(const HcScoreRates *rates, size_t pixels) {
    return score_bytes(rates, pixels) + aligned(pixels) + pixels * rates->scratch;
}

static int32_t lines_of(const HcScoreRates *rates, const HcStage *stage) {
    int64_t line = (int64_t)part_bytes(rates, (size_t)stage->in.samples);
    return (int32_t)hc_max64(1, hc_min64(PART_BYTES / line, stage->in.lines));
}

static size_t part_pixels(const HcScoreRates *rates, const HcStage *stage) {
    return (size_t)lines_of(rates, stage) * (size_t)stage->in.samples;
}

static size_t scene_pixels(const HcStage *stage) {
    return (size_t)stage->in.lines * (size_t)stage->in.samples;
}

void hc_rates_plan(HcScoreRates *rates, HcStage *stage, int32_t choice, int32_t scores, bool made) {
    HcNeeds *needs = &stage->needs;
    rates->choice = choice;
    if (choice < 0) {
        return;
    }
    rates->bands = scores;
    rates->scratch = needs->memory[HC_SPACE_PIXEL].bytes;
    needs->memory[HC_SPACE_PIXEL].bytes = 0;
    size_t pixels = part_pixels(rates, stage);
    hc_stage_takes(stage, HC_SPACE_DEVICE, part_bytes(rates, pixels));
    hc_stage_takes(stage, HC_SPACE_HOST,
                   pixels * (((size_t)scores + (size_t)stage->out.bands) * sizeof(float) + 1));
    if (!hc_rates_observes(choice)) {
        return;
    }
    hc_stage_takes(stage, HC_SPACE_HOST,
                   (size_t)scores *
                       (scene_pixels(stage) * sizeof(uint32_t) + (2 * BUCKETS + 1) * sizeof(int64_t)));
    if (!stage->settled) {
        needs->selects = needs->selects || !needs->observes;
        int32_t before = !needs->observes ? 0 : needs->rounds > 1 ? needs->rounds : 1;
        needs->rounds = made ? stage->round + 1 : before + 1;
        needs->observes = true;
    }
}

/* ---- memory ---- */

HcStatus hc_rates_open(HcScoreRates *rates, HcStage *stage, bool low, HcError *err) {
    HcComputeInfo info;
    size_t pixels = part_pixels(rates, stage);
    size_t values = pixels * (size_t)rates->bands;
    if (rates->choice < 0) {
        return HC_OK;
    }
    rates->low = low;
    rates->open = true;
    hc_compute_info(stage->compute, &info);
    rates->team = hc_team_open(hc_team_count(info.threads, THREADS_MAX));
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_DEVICE, part_bytes(rates, pixels), &rates->part, err));
    if (hc_rates_observes(rates->choice)) {
        HC_OR_RETURN(hc_new(rates->key, (size_t)rates->bands * scene_pixels(stage), what, err));
        HC_OR_RETURN(hc_new(rates->start, (size_t)rates->bands * (BUCKETS + 1), what, err));
    }
    if (info.shared_memory) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_HOST, values * sizeof(float), &rates->score, err));
    HC_OR_RETURN(hc_alloc(stage->compute, HC_MEMORY_HOST, pixels, &rates->mask, err));
    return hc_alloc(stage->compute, HC_MEMORY_HOST, pixels * (size_t)stage->out.bands * sizeof(float),
                    &rates->result, err);
}

HcStatus hc_rates_fit(HcScoreRates *rates, const HcStage *stage, const HcGrouping *grouping,
                      const HcNullLaw *law, HcError *err) {
    size_t count = (size_t)grouping->count * (size_t)rates->bands;
    rates->grouping = grouping;
    if (!rates->open || !by_null(rates->choice)) {
        return HC_OK;
    }
    const HcNullLaw *first = law;
    while (first->pixels == 0 && first + 1 < law + count) {
        first++; /* a group without a score */
    }
    if (first->null == HC_NULL_UNKNOWN) {
        return hc_fail(err, HC_E_NUMERIC,
                       "%s: --rates %s: %lld pixels that --robust leaves are too few for rates in %d "
                       "directions: give --rates rank, a smaller --robust, or fewer bands",
                       stage->kind->name, hc_rate_words[rates->choice], (long long)first->pixels,
                       first->directions);
    }
    HC_OR_RETURN(hc_new(rates->law, count, what, err));
    memcpy(rates->law, law, count * sizeof *law);
    return HC_OK;
}

void hc_rates_close(HcScoreRates *rates, HcStage *stage) {
    hc_team_close(rates->team);
    hc_memory_release(stage->compute, &rates->part);
    hc_memory_release(stage->compute, &rates->score);
    hc_memory_release(stage->compute, &rates->mask);
    hc_memory_release(stage->compute, &rates->result);
    free(rates->law);
    free(rates->key);
    free(rates->start);
    *rates = (HcScoreRates){.choice = -1};
}

/* ---- scores ---- */

/* The scores of `rows` (whose memory is not touched), on the host when the queue has been waited for. */
static HcStatus score_part(HcScoreRates *rates, HcStage *stage, HcScorer *scorer, HcQueue *queue,
                           const HcBlock *in, const HcBlock *rows, HcBlock *score, HcError *err) {
    int64_t first = hc_block_first_line(rows);
    size_t pixels = hc_block_pixels(rows);
    uint8_t *memory = rates->part.data;
    HcBlock from = hc_block_part(in, first, first + hc_block_rows(rows), stage->needs.halo);
    *score = *rows;
    score->bands = rates->bands;
    score->data = (float *)(void *)memory;
    score->mask = memory + score_bytes(rates, pixels);
    void *scratch = score->mask + aligned(pixels);
    HC_OR_RETURN(scorer(stage, queue, &from, score, scratch, err));
    if (rates->score.data != NULL) {
        HC_OR_RETURN(
            hc_download(queue, score->data, rates->score.data, hc_block_values(score) * sizeof(float), err));
        HC_OR_RETURN(hc_download(queue, score->mask, rates->mask.data, pixels, err));
        score->data = rates->score.data;
        score->mask = rates->mask.data;
    }
    return hc_wait(queue, err);
}

/* ---- ranks ---- */

/* Numbers in the order of the scores, best last; 0 for NaN alone. */
static uint32_t key_of(const HcScoreRates *rates, float score) {
    uint32_t bits;
    float turned = (rates->low ? -score : score) + 0.0F; /* no -0 */
    memcpy(&bits, &turned, sizeof bits);
    return isnan(score) ? 0 : bits >> 31 == 1 ? ~bits : bits | 0x80000000U;
}

HcStatus hc_rates_observe(HcScoreRates *rates, HcStage *stage, HcScorer *scorer, HcQueue *queue,
                          const HcBlock *in, HcError *err) {
    int64_t end = in->line0 + in->lines;
    int64_t step = lines_of(rates, stage);
    size_t all = scene_pixels(stage);
    for (int64_t line = in->line0; line < end; line += step) {
        HcBlock score;
        HcBlock rows = hc_block_part(in, line, hc_min64(line + step, end), 0);
        HC_OR_RETURN(score_part(rates, stage, scorer, queue, in, &rows, &score, err));
        size_t first = (size_t)line * (size_t)stage->in.samples;
        for (size_t p = 0; p < hc_block_pixels(&rows); p++) {
            for (size_t b = 0; b < (size_t)rates->bands && score.mask[p] != 0; b++) {
                rates->key[b * all + first + p] = key_of(rates, score.data[p * (size_t)rates->bands + b]);
            }
        }
    }
    return HC_OK;
}

/* Brings keys to the places of their upper halves, each by swapping it with the one that lies there (McIlroy,
 * Bostic, McIlroy 1993). next: [BUCKETS] work memory. */
static void sort_upper(uint32_t *key, const int64_t *start, int64_t *next) {
    memcpy(next, start, BUCKETS * sizeof *next);
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        while (next[bucket] < start[bucket + 1]) {
            uint32_t own = key[next[bucket]];
            while (own >> 16 != bucket) {
                uint32_t other = key[next[own >> 16]];
                key[next[own >> 16]++] = own;
                own = other;
            }
            key[next[bucket]++] = own;
        }
    }
}

static void sift(uint32_t *key, int64_t at, int64_t count) {
    uint32_t own = key[at];
    for (int64_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && key[child + 1] > key[child];
        if (key[child] <= own) {
            break;
        }
        key[at] = key[child];
    }
    key[at] = own;
}

/* In place, in a time that no order of the keys makes longer. */
static void sort_heap(uint32_t *key, int64_t count) {
    for (int64_t at = count / 2; at-- > 0;) {
        sift(key, at, count);
    }
    for (int64_t left = count; left-- > 1;) {
        uint32_t most = key[0];
        key[0] = key[left];
        key[left] = most;
        sift(key, 0, left);
    }
}

typedef struct Sorting {
    HcScoreRates *rates;
    size_t pixels;
    int64_t *next; /* [bands][BUCKETS] */
} Sorting;

static void sort_band(void *user, int64_t band, int32_t thread) {
    const Sorting *sorting = user;
    uint32_t *key = sorting->rates->key + (size_t)band * sorting->pixels;
    int64_t *start = sorting->rates->start + band * (BUCKETS + 1);
    (void)thread;
    for (size_t p = 0; p < sorting->pixels; p++) {
        start[(key[p] >> 16) + 1]++;
    }
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        start[bucket + 1] += start[bucket];
    }
    sort_upper(key, start, sorting->next + band * BUCKETS);
    for (size_t bucket = 0; bucket < BUCKETS; bucket++) {
        sort_heap(key + start[bucket], start[bucket + 1] - start[bucket]);
    }
}

HcStatus hc_rates_settle(HcScoreRates *rates, HcStage *stage, HcError *err) {
    Sorting sorting = {.rates = rates, .pixels = scene_pixels(stage)};
    HC_OR_RETURN(hc_ranks_join(hc_stage_ranks(stage), rates->key,
                               (size_t)rates->bands * sorting.pixels * sizeof *rates->key, err));
    HC_OR_RETURN(hc_new(sorting.next, (size_t)rates->bands * BUCKETS, what, err));
    hc_team_run(rates->team, rates->bands, sort_band, &sorting);
    free(sorting.next);
    return HC_OK;
}

/* The first place in [low, high) of a key that is at least `wanted`, else high. */
static int64_t place_of(const uint32_t *key, uint32_t wanted, int64_t low, int64_t high) {
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (key[middle] < wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static float share_of(const HcScoreRates *rates, size_t pixels, size_t band, float score) {
    const uint32_t *key = rates->key + band * pixels;
    const int64_t *start = rates->start + band * (BUCKETS + 1);
    uint32_t own = key_of(rates, score);
    int64_t none = start[1]; /* pixels without a score: the key of -infinity is 0x7fffff */
    int64_t place = place_of(key, own, start[own >> 16], start[(own >> 16) + 1]);
    return own == 0 ? NAN : (float)((double)((int64_t)pixels - place) / (double)((int64_t)pixels - none));
}

/* ---- rates ---- */

typedef struct Rating {
    const HcScoreRates *rates;
    const HcStage *stage;
    HcBlock score, out; /* [host] of the same rows */
} Rating;

static void rate_pixel(const Rating *rating, int64_t line, int64_t sample, const float *score, float *out) {
    const HcScoreRates *rates = rating->rates;
    size_t bands = (size_t)rates->bands;
    size_t group = (size_t)hc_grouping_at(rates->grouping, line, sample);
    memcpy(out, score, bands * sizeof *out);
    out += bands;
    for (size_t b = 0; b < bands; b++) {
        if (by_null(rates->choice)) {
            *out++ = (float)hc_false_alarm(&rates->law[group * bands + b],
                                           line * rating->stage->in.samples + sample, (double)score[b]);
        }
        if (hc_rates_observes(rates->choice)) {
            *out++ = share_of(rates, scene_pixels(rating->stage), b, score[b]);
        }
    }
}

static void rate_row(void *user, int64_t row, int32_t thread) {
    const Rating *rating = user;
    const HcBlock *from = &rating->score;
    size_t samples = (size_t)from->samples;
    (void)thread;
    for (size_t s = 0; s < samples; s++) {
        size_t p = (size_t)row * samples + s;
        const float *score = from->data + p * (size_t)from->bands;
        float *out = rating->out.data + p * (size_t)rating->out.bands;
        rating->out.mask[p] = from->mask[p];
        if (from->mask[p] != 0) {
            rate_pixel(rating, hc_block_first_line(from) + row, (int64_t)s, score, out);
        } else {
            memset(out, 0, (size_t)rating->out.bands * sizeof *out);
        }
    }
}

HcStatus hc_rates_process(HcScoreRates *rates, HcStage *stage, HcScorer *scorer, HcQueue *queue,
                          const HcBlock *in, const HcBlock *out, HcError *err) {
    int64_t end = hc_block_first_line(out) + hc_block_rows(out);
    int64_t step = lines_of(rates, stage);
    for (int64_t line = hc_block_first_line(out); line < end; line += step) {
        Rating rating = {.rates = rates, .stage = stage};
        HcBlock rows = hc_block_cut(out, line, hc_min64(line + step, end));
        HC_OR_RETURN(score_part(rates, stage, scorer, queue, in, &rows, &rating.score, err));
        rating.out = rows;
        if (rates->result.data != NULL) {
            rating.out.data = rates->result.data;
            rating.out.mask = rates->mask.data; /* read before it is written */
        }
        hc_team_run(rates->team, hc_block_rows(&rows), rate_row, &rating);
        if (rates->result.data != NULL) {
            HC_OR_RETURN(
                hc_upload(queue, rating.out.data, rows.data, hc_block_values(&rows) * sizeof(float), err));
            HC_OR_RETURN(hc_upload(queue, rating.out.mask, rows.mask, hc_block_pixels(&rows), err));
            HC_OR_RETURN(hc_wait(queue, err));
        }
    }
    return HC_OK;
}
