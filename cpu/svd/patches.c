/* Patches of a scene: each is a matrix [pixels][bands] whose singular values say what is signal. */
#include "core/allocate.h"
#include "core/operation/svd/svd.h"
#include "core/patch.h"
#include "cpu/work.h"

#include <stdlib.h>
#include <string.h>

HcPatchesOpenFn hc_cpu_patches_open;
HcPatchesCloseFn hc_cpu_patches_close;
HcPatchesFn hc_cpu_patches;

/* Patches that a thread gets at a time, at most: many, so that threads seldom wait for one another, but few
 * enough for the cache. */
enum { AT_ONCE = 256 };

/* A patch that holds a valid pixel. */
typedef struct Place {
    int64_t line;
    int32_t sample;
    int32_t valid; /* pixels */
} Place;

struct HcPatches {
    HcPatchesHead head;
    HcPatchRule rule;
    HcPatchSide along, across; /* lines, samples */
    int32_t pixels, values;    /* of a patch */
    int64_t most;              /* patches worked on at once */
    HcPatchLevel *level;       /* [pixels + 1] */
    HcSvd *svd;
    Place *place;     /* [most] */
    float *matrix;    /* [most][pixels][bands]: the patches, then what they become */
    float *value;     /* [most][values] */
    float *left;      /* [most][values][pixels] */
    float *right;     /* [most][values][bands] */
    float *described; /* [most][1 + rule.values] */
};

static size_t out_bands(const HcPatches *patches) {
    return (size_t)hc_patch_bands(&patches->rule);
}

static HcStatus take_memory(HcPatches *patches, HcError *err) {
    size_t most = (size_t)patches->most;
    size_t pixels = (size_t)patches->pixels;
    size_t bands = (size_t)patches->rule.bands;
    size_t values = (size_t)patches->values;
    bool describes = patches->rule.describe;
    patches->level = malloc((pixels + 1) * sizeof *patches->level);
    patches->place = malloc(most * sizeof *patches->place);
    patches->matrix = malloc(most * pixels * bands * sizeof(float));
    patches->value = malloc(most * values * sizeof(float));
    bool fine =
        patches->level != NULL && patches->place != NULL && patches->matrix != NULL && patches->value != NULL;
    if (describes) {
        patches->described = malloc(most * out_bands(patches) * sizeof(float));
        fine = fine && patches->described != NULL;
    } else {
        patches->left = malloc(most * values * pixels * sizeof(float));
        patches->right = malloc(most * values * bands * sizeof(float));
        fine = fine && patches->left != NULL && patches->right != NULL;
    }
    return fine ? HC_OK
                : hc_fail_memory(err, (double)most * (double)hc_patch_bytes(&patches->rule), "patches");
}

HcStatus hc_cpu_patches_open(HcCompute *compute, const HcPatchRule *rule, HcPatches **out, HcError *err) {
    HcStatus status = HC_OK;
    HcPatches *patches = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(patches, 1, "patches", err));
    patches->rule = *rule;
    patches->along = hc_patch_side(rule->lines, rule->size, rule->step);
    patches->across = hc_patch_side(rule->samples, rule->size, rule->step);
    patches->pixels = hc_patch_pixels(rule);
    patches->values = patches->pixels < rule->bands ? patches->pixels : rule->bands;
    patches->most = hc_min64(hc_patch_max(rule), (int64_t)AT_ONCE * ((const HcCpu *)compute)->threads);
    HC_TRY(take_memory(patches, err));
    hc_patch_levels(rule, patches->pixels, patches->level);
    HC_TRY(hc_svd_open(compute, HC_ELEMENT_FLOAT32, patches->pixels, rule->bands, patches->most,
                       !rule->describe, &patches->svd, err));
    *out = patches;
done:
    if (status != HC_OK) {
        hc_cpu_patches_close(patches);
    }
    return status;
}

void hc_cpu_patches_close(HcPatches *patches) {
    if (patches == NULL) {
        return;
    }
    hc_svd_close(patches->svd);
    free(patches->level);
    free(patches->place);
    free(patches->matrix);
    free(patches->value);
    free(patches->left);
    free(patches->right);
    free(patches->described);
    free(patches);
}

/* Valid pixels of the patch that begins there. */
static int32_t count_valid(const HcPatches *patches, const HcBlock *in, int64_t line, int64_t sample) {
    int32_t valid = 0;
    for (int32_t l = 0; l < patches->along.size; l++) {
        const uint8_t *mask = hc_cpu_mask_line(in, line + l) + sample;
        for (int32_t s = 0; s < patches->across.size; s++) {
            valid += mask[s] != 0;
        }
    }
    return valid;
}

/* matrix = the patch; masked pixels hold 0 already. */
static void gather(const HcPatches *patches, const HcBlock *in, const Place *place, float *matrix) {
    size_t values = (size_t)patches->across.size * (size_t)in->bands;
    for (int32_t l = 0; l < patches->along.size; l++) {
        const float *from = hc_cpu_line(in, place->line + l) + (int64_t)place->sample * in->bands;
        memcpy(matrix + (size_t)l * values, from, values * sizeof *matrix);
    }
}

/* patch[pixels][bands] = sum over k of kept[k] left[k] right[k]. */
HC_CLONES static void rebuild(const float *kept, int32_t count, const float *left, int64_t pixels,
                              const float *right, int64_t bands, float *patch) {
    for (int64_t p = 0; p < pixels; p++) {
        float *to = patch + p * bands;
        memset(to, 0, (size_t)bands * sizeof *to);
        for (int32_t k = 0; k < count; k++) {
            float factor = kept[k] * left[k * pixels + p];
            const float *vector = right + k * bands;
            for (int64_t b = 0; b < bands; b++) {
                to[b] += factor * vector[b];
            }
        }
    }
}

/* What is left of the singular values of a patch, in place; returns how many are signal. */
static int32_t keep_signal(const HcPatches *patches, const Place *place, float *value) {
    const HcPatchLevel *level = &patches->level[place->valid];
    double noise = hc_patch_noise(&patches->rule, level, value);
    int32_t count = 0;
    for (int32_t k = 0; k < patches->values; k++) {
        value[k] = (float)hc_patch_kept(&patches->rule, level, noise, k, (double)value[k]);
        count = value[k] != 0 ? k + 1 : count;
    }
    return count;
}

static void describe(const HcPatches *patches, const Place *place, float *value, float *described) {
    int32_t known = patches->rule.values < patches->values ? patches->rule.values : patches->values;
    memset(described, 0, out_bands(patches) * sizeof *described);
    memcpy(described + 1, value, (size_t)known * sizeof *value);
    described[0] = (float)keep_signal(patches, place, value);
}

typedef struct Job {
    const HcPatches *patches;
    const HcBlock *in, *out;
    int64_t count; /* of patches */
    int64_t line;  /* that items start at */
} Job;

static void gather_some(void *user, int64_t i, int64_t end, int32_t thread) {
    const Job *job = user;
    const HcPatches *patches = job->patches;
    (void)thread;
    for (; i < end; i++) {
        gather(patches, job->in, &patches->place[i],
               patches->matrix + i * patches->pixels * patches->rule.bands);
    }
}

static void make_some(void *user, int64_t i, int64_t end, int32_t thread) {
    const HcPatches *patches = ((const Job *)user)->patches;
    int64_t bands = patches->rule.bands;
    int64_t values = patches->values;
    int64_t pixels = patches->pixels;
    (void)thread;
    for (; i < end; i++) {
        float *value = patches->value + i * values;
        if (patches->rule.describe) {
            describe(patches, &patches->place[i], value,
                     patches->described + i * (int64_t)out_bands(patches));
        } else {
            int32_t kept = keep_signal(patches, &patches->place[i], value);
            rebuild(value, kept, patches->left + i * values * pixels, pixels,
                    patches->right + i * values * bands, bands, patches->matrix + i * pixels * bands);
        }
    }
}

/* Decomposes the patches and makes of each what it says of its pixels. */
static HcStatus work_on(HcQueue *queue, HcPatches *patches, const HcBlock *in, int64_t count, HcError *err) {
    Job job = {.patches = patches, .in = in};
    int64_t grain = hc_cpu_grain(queue->cpu, count);
    hc_cpu_work(queue->cpu, count, grain, gather_some, &job);
    HcSvdBatch batch = {.count = count,
                        .matrices = patches->matrix,
                        .values = patches->value,
                        .left = patches->left,
                        .right = patches->right};
    HC_OR_RETURN(hc_svd_batched(queue, patches->svd, &batch, err));
    hc_cpu_work(queue->cpu, count, grain, make_some, &job);
    return HC_OK;
}

HC_CLONES static void add(float *to, const float *from, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        to[i] += from[i];
    }
}

/* Adds what the patches say to one line of the output, in their order. */
static void add_to_line(const HcPatches *patches, int64_t count, const HcBlock *out, int64_t line) {
    int64_t bands = out->bands;
    int64_t across = patches->across.size;
    float *to = out->data + (line - out->line0) * out->samples * bands;
    for (int64_t i = 0; i < count; i++) {
        const Place *place = &patches->place[i];
        float *at = to + place->sample * bands;
        if (line < place->line || line >= place->line + patches->along.size) {
            continue;
        }
        if (patches->rule.describe) {
            for (int64_t s = 0; s < across; s++) {
                add(at + s * bands, patches->described + i * bands, bands);
            }
        } else {
            int64_t pixel = i * patches->pixels + (line - place->line) * across;
            add(at, patches->matrix + pixel * bands, across * bands);
        }
    }
}

static void add_to_lines(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    (void)thread;
    for (; row < end; row++) {
        add_to_line(job->patches, job->count, job->out, job->line + row);
    }
}

static HcStatus add_patches(HcQueue *queue, HcPatches *patches, const HcBlock *in, int64_t count,
                            const HcBlock *out, HcError *err) {
    HC_OR_RETURN(work_on(queue, patches, in, count, err));
    int64_t first = hc_max64(out->line0, patches->place[0].line);
    int64_t end = hc_min64(out->line0 + out->lines, patches->place[count - 1].line + patches->along.size);
    Job job = {.patches = patches, .out = out, .count = count, .line = first};
    hc_cpu_work(queue->cpu, end - first, hc_cpu_grain(queue->cpu, end - first), add_to_lines, &job);
    return HC_OK;
}

static int64_t holders(HcPatchSide side, int64_t pixel) {
    return hc_patch_last(side, pixel) - hc_patch_first(side, pixel) + 1;
}

/* Sums become means; what is masked stays masked. */
static void finish_line(const HcPatches *patches, const HcBlock *in, const HcBlock *out, int64_t line) {
    int64_t bands = out->bands;
    float *values = out->data + (line - out->line0) * out->samples * bands;
    uint8_t *mask = out->mask + (line - out->line0) * out->samples;
    int64_t above = holders(patches->along, line);
    memcpy(mask, hc_cpu_mask_line(in, line), (size_t)out->samples);
    for (int64_t s = 0; s < out->samples; s++) {
        float *to = values + s * bands;
        if (mask[s] == 0) {
            memset(to, 0, (size_t)bands * sizeof *to);
            continue;
        }
        float count = (float)(above * holders(patches->across, s));
        for (int64_t b = 0; b < bands; b++) {
            to[b] /= count;
        }
    }
}

static void finish_lines(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    (void)thread;
    for (; row < end; row++) {
        finish_line(job->patches, job->in, job->out, job->out->line0 + row);
    }
}

HcStatus hc_cpu_patches(HcQueue *queue, const HcBlock *in, HcPatches *patches, const HcBlock *out,
                        HcError *err) {
    int64_t end = out->line0 + out->lines;
    int64_t count = 0;
    memset(out->data, 0, hc_block_values(out) * sizeof *out->data);
    for (int64_t row = hc_patch_first(patches->along, out->line0);
         row <= hc_patch_last(patches->along, end - 1); row++) {
        int64_t line = hc_patch_start(patches->along, row);
        for (int64_t column = 0; column < patches->across.count; column++) {
            int32_t sample = (int32_t)hc_patch_start(patches->across, column);
            int32_t valid = count_valid(patches, in, line, sample);
            if (valid > 0) {
                patches->place[count++] = (Place){line, sample, valid};
            }
            if (count == patches->most) {
                HC_OR_RETURN(add_patches(queue, patches, in, count, out, err));
                count = 0;
            }
        }
    }
    if (count > 0) {
        HC_OR_RETURN(add_patches(queue, patches, in, count, out, err));
    }
    Job job = {.patches = patches, .in = in, .out = out};
    hc_cpu_work(queue->cpu, out->lines, hc_cpu_grain(queue->cpu, out->lines), finish_lines, &job);
    return HC_OK;
}
