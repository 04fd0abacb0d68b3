/* Groups of patches that are alike: found in the pilot, filtered together, and averaged.
 *
 * Groups are filtered some hundred at a time, a thread each; their contributions then go to the lines of the
 * output, a thread a line. Contributions are integers, so that their order does not matter. Some bands at a
 * time lie as [pixel of the patch][patch][band], so that all transforms run over whole vectors. */
#include "core/operation/svd/groups.h"
#include "core/solver/group.h"
#include "cpu/work.h"

#include <math.h>
#include <string.h>

HcGroupsFn hc_cpu_groups;

enum { PARTS = 8, PIXELS = HC_GROUP_SIZE_MAX * HC_GROUP_SIZE_MAX, COUNT = HC_GROUP_COUNT_MAX };

/* Where the patches of a group begin, from the reference on. */
typedef struct Group {
    int32_t count;
    int64_t line[COUNT];
    int32_t sample[COUNT];
} Group;

_Static_assert(sizeof(Group) == HC_GROUP_PLACES, "hc_groups_bytes counts groups");

typedef struct Job {
    HcGroupFrame frame;
    const HcBlock *in, *pilot, *out;
    bool masked;      /* pixels of `in` are */
    int64_t patch;    /* number of the first of these reference patches */
    int64_t groups;   /* that are worked on at once */
    int64_t *sum;     /* [pixels of out][bands] */
    int32_t *weight;  /* [pixels of out][bands] */
    Group *group;     /* [groups] */
    int32_t *shares;  /* [groups][patch][pixel of the patch][band] */
    int32_t *weights; /* [groups][band] */
} Job;

/* Bands of a group that are filtered at a time; those beyond the last one are 0. */
enum { LANES = 8 };
typedef float Lanes __attribute__((vector_size(LANES * sizeof(float)), may_alias));

/* Some bands of a group: [pixel of the patch][patch]. */
typedef struct Stack {
    Lanes value[PIXELS][COUNT];
} Stack;

static int32_t pixels_of(const HcGroupFrame *frame) {
    return frame->down.size * frame->across.size;
}

/* ---- which patches are alike ---- */

/* Adds the squares of the differences of two rows. */
HC_CLONES static void add_squares(const float *restrict a, const float *restrict b, int64_t count,
                                  float *restrict part) {
    float own[PARTS];
    int64_t whole = count / PARTS * PARTS;
    memcpy(own, part, sizeof own);
    for (int64_t x = 0; x < whole; x += PARTS) {
        for (int i = 0; i < PARTS; i++) {
            float difference = a[x + i] - b[x + i];
            own[i] += difference * difference;
        }
    }
    for (int64_t x = whole; x < count; x++) {
        float difference = a[x] - b[x];
        own[x - whole] += difference * difference;
    }
    memcpy(part, own, sizeof own);
}

/* Does so for the pixels that are valid in both rows. */
static void add_valid_squares(const float *a, const float *b, const uint8_t *a_mask, const uint8_t *b_mask,
                              int64_t samples, int64_t bands, float *part) {
    for (int64_t x = 0; x < samples * bands; x++) {
        bool valid = a_mask[x / bands] != 0 && b_mask[x / bands] != 0;
        float difference = a[x] - b[x];
        part[x % PARTS] += valid ? difference * difference : 0;
    }
}

/* Where a patch begins. */
typedef struct Place {
    int64_t line, sample;
} Place;

static const uint8_t *mask_at(const Job *job, const Place *patch, int64_t line) {
    return hc_cpu_mask_line(job->in, patch->line + line) + patch->sample;
}

/* Pixels that are valid in both patches. */
static int32_t common_pixels(const Job *job, const Place *a, const Place *b) {
    int32_t count = 0;
    for (int64_t l = 0; l < job->frame.down.size; l++) {
        const uint8_t *a_mask = mask_at(job, a, l);
        const uint8_t *b_mask = mask_at(job, b, l);
        for (int64_t s = 0; s < job->frame.across.size; s++) {
            count += a_mask[s] != 0 && b_mask[s] != 0;
        }
    }
    return count;
}

/* Of the reference patch to another one. `common` pixels are valid in both, `valid` in the reference. */
static float distance(const Job *job, const Place *a, const Place *b, int32_t common, int32_t valid) {
    float part[PARTS] = {0};
    int64_t bands = job->pilot->bands;
    int64_t samples = job->frame.across.size;
    bool whole = common == pixels_of(&job->frame);
    for (int64_t l = 0; l < job->frame.down.size; l++) {
        const float *from = hc_cpu_line(job->pilot, a->line + l) + a->sample * bands;
        const float *to = hc_cpu_line(job->pilot, b->line + l) + b->sample * bands;
        if (whole) {
            add_squares(from, to, samples * bands, part);
        } else {
            add_valid_squares(from, to, mask_at(job, a, l), mask_at(job, b, l), samples, bands, part);
        }
    }
    float sum = ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
    return sum * ((float)valid / (float)common);
}

/* Puts a patch among the nearest; those that came before win ties. NaN is never near. */
static void keep_nearest(Group *group, float *nearest, int32_t most, float value, const Place *patch) {
    int32_t at = group->count;
    if (!(value < INFINITY) || (at == most && !(value < nearest[most - 1]))) {
        return;
    }
    if (at < most) {
        group->count++;
    } else {
        at--;
    }
    for (; at > 1 && value < nearest[at - 1]; at--) {
        nearest[at] = nearest[at - 1];
        group->line[at] = group->line[at - 1];
        group->sample[at] = group->sample[at - 1];
    }
    nearest[at] = value;
    group->line[at] = patch->line;
    group->sample[at] = (int32_t)patch->sample;
}

static void find_group(const Job *job, int64_t line, int64_t sample, Group *group) {
    const HcGroupFrame *frame = &job->frame;
    float nearest[COUNT] = {0};
    Place own = {line, sample};
    Place other;
    int32_t valid = job->masked ? common_pixels(job, &own, &own) : pixels_of(frame);
    int64_t bottom = hc_min64(frame->down.length - frame->down.size, line + frame->reach);
    int64_t right = hc_min64(frame->across.length - frame->across.size, sample + frame->reach);
    *group = (Group){.count = 0};
    if (valid == 0) {
        return;
    }
    group->count = 1;
    group->line[0] = line;
    group->sample[0] = (int32_t)sample;
    for (other.line = hc_max64(0, line - frame->reach); other.line <= bottom && frame->count > 1;
         other.line++) {
        for (other.sample = hc_max64(0, sample - frame->reach); other.sample <= right; other.sample++) {
            int32_t common = job->masked ? common_pixels(job, &own, &other) : valid;
            bool is_reference = other.line == line && other.sample == sample;
            if (!is_reference && 2 * common >= valid) {
                keep_nearest(group, nearest, frame->count, distance(job, &own, &other, common, valid),
                             &other);
            }
        }
    }
    while ((group->count & (group->count - 1)) != 0) {
        group->count &= group->count - 1;
    }
}

/* Whether a patch of the group has a pixel of the output. */
static bool reaches_output(const Job *job, const Group *group) {
    int64_t first = hc_block_first_line(job->out);
    int64_t end = first + hc_block_rows(job->out);
    for (int32_t m = 0; m < group->count; m++) {
        if (group->line[m] < end && group->line[m] + job->frame.down.size > first) {
            return true;
        }
    }
    return false;
}

/* ---- transforms ---- */

/* Masked pixels of a patch take the mean of its valid ones: 0 would be an edge, which spreads. */
static void fill_masked(const Job *job, const Place *patch, int32_t m, Stack *stack) {
    int32_t across = job->frame.across.size;
    int32_t pixels = pixels_of(&job->frame);
    int32_t valid = common_pixels(job, patch, patch);
    Lanes sum = {0};
    for (int32_t p = 0; p < pixels && valid < pixels; p++) {
        if (mask_at(job, patch, p / across)[p % across] != 0) {
            sum += stack->value[p][m];
        }
    }
    for (int32_t p = 0; p < pixels && valid < pixels; p++) {
        if (mask_at(job, patch, p / across)[p % across] == 0) {
            stack->value[p][m] = sum / (float)valid;
        }
    }
}

/* Copies some of LANES values. A count that the compiler knows is a move of one vector. */
static inline void copy_lanes(void *to, const void *from, int32_t lanes) {
    if (lanes == LANES) {
        memcpy(to, from, LANES * sizeof(float));
    } else {
        memcpy(to, from, (size_t)lanes * sizeof(float));
    }
}

/* A line of a patch: its values lie in one array, or the compiler makes no vectors of what is done to them.
 */
enum { LINE = HC_GROUP_SIZE_MAX * LANES };

static inline void take_pixels(const float *from, int64_t stride, int32_t pixels, int32_t lanes,
                               float *value) {
    for (int32_t p = 0; p < pixels; p++) {
        copy_lanes(value + (int64_t)p * LANES, from + p * stride, lanes);
    }
}

/* Bands of some pixels side by side, `stride` values apart. */
HC_CLONES static void load_pixels(const float *from, int64_t stride, int32_t pixels, int32_t lanes,
                                  Lanes (*to)[COUNT]) {
    float value[LINE] = {0};
    take_pixels(from, stride, pixels, lanes, value);
    for (int32_t i = 0; i < LINE; i++) {
        value[i] = hc_group_load(value[i]);
    }
    for (int32_t p = 0; p < pixels; p++) {
        memcpy(to[p], value + (int64_t)p * LANES, sizeof(Lanes));
    }
}

static void load(const Job *job, const HcBlock *block, const Group *group, int64_t band, int32_t lanes,
                 Stack *stack) {
    int32_t across = job->frame.across.size;
    for (int32_t m = 0; m < group->count; m++) {
        for (int32_t l = 0; l < job->frame.down.size; l++) {
            const float *from =
                hc_cpu_line(block, group->line[m] + l) + group->sample[m] * block->bands + band;
            load_pixels(from, block->bands, across, lanes, (Lanes(*)[COUNT]) & stack->value[l * across][m]);
        }
        if (job->masked) {
            fill_masked(job, &(Place){group->line[m], group->sample[m]}, m, stack);
        }
    }
}

/* to[u] = sum over x of matrix[u][x] from[x], or of matrix[x][u]; vectors `stride` apart. */
static inline void turn_by(Lanes (*vector)[COUNT], int32_t size, int32_t stride,
                           const float (*matrix)[HC_GROUP_SIZE_MAX], bool back, int32_t count) {
    float factor[HC_GROUP_SIZE_MAX][HC_GROUP_SIZE_MAX];
    for (int32_t u = 0; u < size; u++) {
        for (int32_t x = 0; x < size; x++) {
            factor[u][x] = back ? matrix[x][u] : matrix[u][x];
        }
    }
    for (int32_t m = 0; m < count; m++) {
        Lanes to[HC_GROUP_SIZE_MAX];
        for (int32_t u = 0; u < size; u++) {
            to[u] = (Lanes){0};
            for (int32_t x = 0; x < size; x++) {
                to[u] += factor[u][x] * vector[x * stride][m];
            }
        }
        for (int32_t u = 0; u < size; u++) {
            vector[u * stride][m] = to[u];
        }
    }
}

HC_CLONES static void turn(Lanes (*vector)[COUNT], int32_t size, int32_t stride,
                           const float (*matrix)[HC_GROUP_SIZE_MAX], bool back, int32_t count) {
    if (size == 4) { /* the default: vectors stay in registers */
        turn_by(vector, 4, stride, matrix, back, count);
    } else {
        turn_by(vector, size, stride, matrix, back, count);
    }
}

static void cosines(const HcGroupFrame *frame, Stack *stack, bool back, int32_t count) {
    int32_t across = frame->across.size;
    for (int32_t s = 0; s < across; s++) {
        turn(stack->value + s, frame->down.size, across, frame->along, back, count);
    }
    for (int32_t l = 0; l < frame->down.size; l++) {
        turn(stack->value + (int64_t)l * across, across, 1, frame->aside, back, count);
    }
}

static const float half_root = 0.70710678118654752F;

/* In place: the sum of each pair lies where its first was, the difference where its second was. */
HC_CLONES static void haar(Stack *stack, int32_t pixels, int32_t count) {
    for (int32_t p = 0; p < pixels; p++) {
        Lanes *vector = stack->value[p];
        for (int32_t step = 1; step < count; step *= 2) {
            for (int32_t i = 0; i < count; i += 2 * step) {
                Lanes sum = (vector[i] + vector[i + step]) * half_root;
                vector[i + step] = (vector[i] - vector[i + step]) * half_root;
                vector[i] = sum;
            }
        }
    }
}

HC_CLONES static void haar_back(Stack *stack, int32_t pixels, int32_t count) {
    for (int32_t p = 0; p < pixels; p++) {
        Lanes *vector = stack->value[p];
        for (int32_t step = count / 2; step >= 1; step /= 2) {
            for (int32_t i = 0; i < count; i += 2 * step) {
                Lanes first = (vector[i] + vector[i + step]) * half_root;
                vector[i + step] = (vector[i] - vector[i + step]) * half_root;
                vector[i] = first;
            }
        }
    }
}

/* Multiplies by the Wiener weights; squares = the sums of their squares [LANES]. */
HC_CLONES static void weigh(Stack *stack, const Stack *pilot, int32_t pixels, int32_t count, float *squares) {
    Lanes part[COUNT] = {{0}};
    for (int32_t p = 0; p < pixels; p++) {
        for (int32_t m = 0; m < count; m++) {
            Lanes square = pilot->value[p][m] * pilot->value[p][m];
            Lanes weight = square / (square + 1);
            stack->value[p][m] *= weight;
            part[m] += weight * weight;
        }
    }
    for (int32_t step = count / 2; step >= 1; step /= 2) {
        for (int32_t m = 0; m < step; m++) {
            part[m] += part[m + step];
        }
    }
    memcpy(squares, part, sizeof *part);
}

/* What pixels of one line of a patch contribute. */
HC_CLONES static void store_pixels(Lanes (*from)[COUNT], const float *before, int64_t stride, int32_t pixels,
                                   int32_t lanes, const int32_t *weight, int32_t *to) {
    float value[LINE] = {0};
    float own[LINE] = {0};
    int32_t weights[LINE] = {0};
    int32_t share[LINE];
    take_pixels(before, stride, pixels, lanes, own);
    for (int32_t p = 0; p < pixels; p++) {
        memcpy(value + (int64_t)p * LANES, from[p], sizeof(Lanes));
        copy_lanes(weights + (int64_t)p * LANES, weight, lanes);
    }
    for (int32_t i = 0; i < LINE; i++) {
        share[i] = hc_group_value(value[i] - own[i], weights[i]);
    }
    for (int32_t p = 0; p < pixels; p++) {
        copy_lanes(to + p * stride, share + (int64_t)p * LANES, lanes);
    }
}

static void filter_bands(const Job *job, const Group *group, int64_t band, int32_t lanes, int32_t *shares,
                         int32_t *weight) {
    Stack stack;
    Stack pilot;
    float squares[LANES];
    int64_t bands = job->in->bands;
    int32_t across = job->frame.across.size;
    int32_t pixels = pixels_of(&job->frame);
    int32_t count = group->count;
    load(job, job->in, group, band, lanes, &stack);
    load(job, job->pilot, group, band, lanes, &pilot);
    cosines(&job->frame, &stack, false, count);
    cosines(&job->frame, &pilot, false, count);
    haar(&stack, pixels, count);
    haar(&pilot, pixels, count);
    weigh(&stack, &pilot, pixels, count, squares);
    for (int32_t i = 0; i < lanes; i++) {
        weight[i] = hc_group_weight(squares[i]);
    }
    haar_back(&stack, pixels, count);
    cosines(&job->frame, &stack, true, count);
    for (int32_t m = 0; m < count; m++) {
        for (int32_t p = 0; p < pixels; p += across) {
            const float *line = hc_cpu_line(job->pilot, group->line[m] + p / across);
            store_pixels((Lanes(*)[COUNT]) & stack.value[p][m], line + group->sample[m] * bands + band, bands,
                         across, lanes, weight, shares + ((int64_t)m * pixels + p) * bands + band);
        }
    }
}

static void do_groups(void *user, int64_t i, int64_t end, int32_t thread) {
    const Job *job = user;
    int64_t bands = job->in->bands;
    int64_t values = (int64_t)pixels_of(&job->frame) * job->frame.count * bands;
    (void)thread;
    for (; i < end; i++) {
        int64_t patch = job->patch + i;
        Group *group = &job->group[i];
        find_group(job, hc_patch_start(job->frame.down, patch / job->frame.across.count),
                   hc_patch_start(job->frame.across, patch % job->frame.across.count), group);
        if (!reaches_output(job, group)) {
            group->count = 0;
        }
        for (int64_t b = 0; b < bands && group->count > 0; b += LANES) {
            filter_bands(job, group, b, (int32_t)hc_min64(LANES, bands - b), job->shares + i * values,
                         &job->weights[i * bands + b]);
        }
    }
}

/* ---- sums ---- */

HC_CLONES static void add(int64_t *restrict sum, int32_t *restrict weight, const int32_t *restrict share,
                          const int32_t *restrict weights, int64_t bands) {
    for (int64_t b = 0; b < bands; b++) {
        sum[b] += share[b];
        weight[b] += weights[b];
    }
}

/* Adds what the groups say to some lines of the output. */
static void add_to_lines(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    int64_t bands = job->out->bands;
    int64_t across = job->frame.across.size;
    int64_t pixels = pixels_of(&job->frame);
    (void)thread;
    for (; row < end; row++) {
        int64_t line = job->out->line0 + row;
        for (int64_t i = 0; i < job->groups; i++) {
            const Group *group = &job->group[i];
            for (int64_t m = 0; m < group->count; m++) {
                int64_t within = line - group->line[m];
                int64_t pixel = (i * job->frame.count + m) * pixels + within * across;
                if (within < 0 || within >= job->frame.down.size) {
                    continue;
                }
                for (int64_t s = 0; s < across; s++) {
                    int64_t at = (row * job->out->samples + group->sample[m] + s) * bands;
                    add(job->sum + at, job->weight + at, job->shares + (pixel + s) * bands,
                        job->weights + i * bands, bands);
                }
            }
        }
    }
}

static void finish_lines(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    const HcBlock *out = job->out;
    int64_t bands = out->bands;
    (void)thread;
    for (; row < end; row++) {
        const float *pilot = hc_cpu_line(job->pilot, out->line0 + row);
        uint8_t *mask = out->mask + row * out->samples;
        memcpy(mask, hc_cpu_mask_line(job->in, out->line0 + row), (size_t)out->samples);
        for (int64_t v = 0; v < out->samples * bands; v++) {
            int64_t at = row * out->samples * bands + v;
            out->data[at] = mask[v / bands] != 0 ? hc_group_mean(pilot[v], job->sum[at], job->weight[at]) : 0;
        }
    }
}

HcStatus hc_cpu_groups(HcQueue *queue, const HcBlock *in, const HcBlock *pilot, const HcGroupRule *rule,
                       void *work, const HcBlock *out, HcError *err) {
    size_t values = hc_block_values(out);
    size_t most = hc_groups_at_once(rule, out->bands);
    (void)err;
    Job job = {.frame = hc_group_frame(rule, out->samples), .in = in, .pilot = pilot, .out = out};
    job.masked = memchr(in->mask, 0, hc_block_pixels(in)) != NULL;
    job.sum = work;
    job.group = (Group *)(job.sum + values);
    job.weight = (int32_t *)(job.group + most);
    job.weights = job.weight + values;
    job.shares = job.weights + most * (size_t)out->bands;
    memset(job.sum, 0, values * sizeof *job.sum);
    memset(job.weight, 0, values * sizeof *job.weight);
    job.patch = hc_group_first(&job.frame, out->line0) * job.frame.across.count;
    int64_t end = (hc_group_last(&job.frame, out->line0 + out->lines - 1) + 1) * job.frame.across.count;
    for (; job.patch < end; job.patch += job.groups) {
        job.groups = hc_min64((int64_t)most, end - job.patch);
        hc_cpu_work(queue->cpu, job.groups, hc_cpu_grain(queue->cpu, job.groups), do_groups, &job);
        hc_cpu_work(queue->cpu, out->lines, hc_cpu_grain(queue->cpu, out->lines), add_to_lines, &job);
    }
    hc_cpu_work(queue->cpu, out->lines, hc_cpu_grain(queue->cpu, out->lines), finish_lines, &job);
    return HC_OK;
}
