/* All tests share one walk over the sampled pairs of lines. Their limits are measured
 * (docs/stages/denoise.md). Where six deviations of what chance makes of independent noise are larger, these
 * count: a small scene is not accused by chance. */
#include "pipeline/stages/denoise/evidence.h"
#include "core/allocate.h"
#include "core/block.h"
#include "core/system/team.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* docs/stages/denoise.md has the measurements. */
static const double most_correlation = 0.02;
static const double most_misfit = 0.15;
static const double most_tails = 0.1;
static const double most_levels = 0.005;
static const double most_lone = 0.003;
static const double deviations = 6; /* of chance */

/* Stripes, or noise that is correlated, make more components than that, or than half of the columns. Where
 * fewer are left, or pixels, they show nothing. */
enum { USED_MAX = 64, LEFT_MIN = 8, PIXELS_MIN = 500, TEAM = 16 };

static const char what[] = "a test of noise";

/* Sums over the pixels. */
typedef struct Sums {
    double *square, *fourth, *beside; /* [bands] of what is left: powers, and products with the next band */
    double *shared[2];                /* [bands] and products with neighbours in the line and in the column */
    double correlation[2], pairs[2], power; /* in lines and in columns */
    double level[2], levels;                /* of pixels: by even and odd bands, and their product */
    double pixels, lone, middles;
} Sums;

typedef struct Look {
    const HcStage *stage;
    const HcTransform *transform;
    const HcEvidenceChange *change;
    size_t bands, used;
    double *expected;  /* [bands] variance of what is left; 0 = the band takes no part */
    double *beside;    /* [bands] the same of products with the next band */
    double *rest;      /* [count][bands] what is left, in deviations */
    double *power;     /* [count] mean square of the spectrum */
    double *component; /* [threads][used] */
    Sums sums;
} Look;

static void look_clear(Look *look) {
    Sums *sums = &look->sums;
    double *all[] = {look->expected, look->beside, look->rest,      look->power,     sums->square,
                     sums->fourth,   sums->beside, sums->shared[0], sums->shared[1], look->component};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        free(all[i]);
    }
}

static HcStatus look_init(Look *look, HcError *err) {
    Sums *sums = &look->sums;
    size_t bands = look->bands;
    size_t count = (size_t)look->stage->neighbours.count;
    HC_OR_RETURN(hc_new(look->expected, bands, what, err));
    HC_OR_RETURN(hc_new(look->beside, bands, what, err));
    HC_OR_RETURN(hc_new(look->rest, count * bands, what, err));
    HC_OR_RETURN(hc_new(look->power, count, what, err));
    HC_OR_RETURN(hc_new(sums->square, bands, what, err));
    HC_OR_RETURN(hc_new(sums->fourth, bands, what, err));
    HC_OR_RETURN(hc_new(sums->beside, bands, what, err));
    HC_OR_RETURN(hc_new(sums->shared[0], bands, what, err));
    return hc_new(sums->shared[1], bands, what, err);
}

/* The components that are dropped have unit noise: what is left has the covariance of their spectra. */
static void expect(Look *look) {
    const HcTransform *transform = look->transform;
    for (size_t k = look->used; k < (size_t)transform->components; k++) {
        const double *row = transform->inverse + k * look->bands;
        for (size_t b = 0; b < look->bands; b++) {
            look->expected[b] += row[b] * row[b];
            look->beside[b] += b + 1 < look->bands ? row[b] * row[b + 1] : 0;
        }
    }
}

/* The components of a pixel, and what is left of it. */
static void take_rest(void *user, int64_t item, int32_t thread) {
    const Look *look = user;
    size_t p = (size_t)item;
    double *component = look->component + (size_t)thread * look->used;
    const HcTransform *transform = look->transform;
    const float *x = look->stage->neighbours.values + p * look->bands;
    size_t sample = (size_t)(look->stage->neighbours.at[p] % look->stage->in.samples);
    const HcEvidenceChange *change = look->change;
    double *rest = look->rest + p * look->bands;
    for (size_t b = 0; b < look->bands; b++) {
        double offset = change->offset != NULL ? change->offset[sample * look->bands + b] : 0;
        look->power[p] += ((double)x[b] - offset) * ((double)x[b] - offset);
        rest[b] = ((double)x[b] - offset - transform->mean[b]) *
                  (change->inverse != NULL ? change->inverse[sample] : 1);
    }
    memset(component, 0, look->used * sizeof *component);
    for (size_t b = 0; b < look->bands; b++) {
        const double *row = transform->forward + b * (size_t)transform->components;
        for (size_t k = 0; k < look->used; k++) {
            component[k] += row[k] * rest[b];
        }
    }
    for (size_t k = 0; k < look->used; k++) {
        const double *row = transform->inverse + k * look->bands;
        for (size_t b = 0; b < look->bands; b++) {
            rest[b] -= component[k] * row[b];
        }
    }
}

static void add_pixel(Look *look, size_t p) {
    Sums *sums = &look->sums;
    double *rest = look->rest + p * look->bands;
    double level[2] = {0, 0};
    for (size_t b = 0; b < look->bands; b++) {
        double square = rest[b] * rest[b];
        sums->square[b] += square;
        sums->fourth[b] += square * square;
        sums->beside[b] += b + 1 < look->bands ? rest[b] * rest[b + 1] : 0;
        rest[b] = look->expected[b] > 0 ? rest[b] / sqrt(look->expected[b]) : 0;
        level[2 * b >= look->bands] += rest[b] * rest[b];
    }
    sums->level[0] += level[0];
    sums->level[1] += level[1];
    sums->levels += level[0] * level[1];
    sums->power += level[0] + level[1];
    sums->pixels++;
}

static void add_pair(Look *look, int32_t across, size_t p, size_t q) {
    const double *one = look->rest + p * look->bands;
    const double *other = look->rest + q * look->bands;
    for (size_t b = 0; b < look->bands; b++) {
        look->sums.shared[across][b] += one[b] * other[b];
        look->sums.correlation[across] += one[b] * other[b];
    }
    look->sums.pairs[across]++;
}

static bool is_lone(double power, double one, double other) {
    return power < fmin(one, other) / 4 || power > 4 * fmax(one, other);
}

/* Neighbours of all pixels; `at` rises within a pair of lines. */
static void add_neighbours(Look *look) {
    const HcSample *sample = &look->stage->neighbours;
    int64_t samples = look->stage->in.samples;
    Sums *sums = &look->sums;
    for (size_t p = 0, q = 0; p < (size_t)sample->count; p++) {
        bool right = p + 1 < (size_t)sample->count && sample->at[p + 1] == sample->at[p] + 1 &&
                     sample->at[p + 1] % samples != 0;
        if (right) {
            add_pair(look, 0, p, p + 1);
        }
        if (right && p > 0 && sample->at[p - 1] == sample->at[p] - 1 && sample->at[p] % samples != 0) {
            sums->lone += is_lone(look->power[p], look->power[p - 1], look->power[p + 1]);
            sums->middles++;
        }
        while (q + 1 < (size_t)sample->count && sample->at[q] < sample->at[p] + samples) {
            q++;
        }
        if (sample->at[q] == sample->at[p] + samples) {
            add_pair(look, 1, p, q);
        }
    }
}

/* Means over the bands that take part. */
static void weigh_bands(const Look *look, HcEvidence *out) {
    const Sums *sums = &look->sums;
    double count = 0, level = 0, beside = 0, tails = 0, misfit = 0;
    for (size_t b = 0; b < look->bands; b++) {
        if (look->expected[b] > 0 && sums->square[b] > 0) {
            level += sums->square[b] / sums->pixels / look->expected[b];
            tails += sums->fourth[b] * sums->pixels / (sums->square[b] * sums->square[b]) - 3;
            count++;
        }
    }
    level /= count;
    for (size_t b = 0; b < look->bands; b++) {
        if (look->expected[b] > 0 && sums->square[b] > 0) {
            misfit += fabs(sums->square[b] / sums->pixels / look->expected[b] / level - 1);
        }
        double scale = b + 1 < look->bands ? sqrt(look->expected[b] * look->expected[b + 1]) : 0;
        beside += scale > 0 ? (sums->beside[b] / sums->pixels / level - look->beside[b]) / scale : 0;
    }
    out->bands = beside / count;
    out->tails = tails / count;
    out->model = misfit / count;
}

static void weigh(const Look *look, HcEvidence *out) {
    const Sums *sums = &look->sums;
    double power = sums->power / sums->pixels;
    double along = sums->pairs[0] > 0 ? sums->correlation[0] / sums->pairs[0] / power : 0;
    double across = sums->pairs[1] > 0 ? sums->correlation[1] / sums->pairs[1] / power : 0;
    out->pixels = fabs(along) > fabs(across) ? along : across;
    /* What is orthogonal to the kept components is correlated a little by that. */
    double left = look->transform->components - (double)look->used;
    out->levels = sums->levels * sums->pixels / (sums->level[0] * sums->level[1]) - 1 -
                  4 * (double)look->used / (left * look->transform->components);
    out->lone = sums->middles > 0 ? sums->lone / sums->middles : 0;
    out->left = left;
    out->count = sums->pixels;
    weigh_bands(look, out);
    out->found = isfinite(out->pixels) && isfinite(out->bands) && isfinite(out->levels);
}

/* Signal is alike in neighbours, noise is not. */
static void find_own(const Look *look, double *own) {
    const Sums *sums = &look->sums;
    for (size_t b = 0; b < look->bands; b++) {
        double along = sums->pairs[0] > 0 ? sums->shared[0][b] / sums->pairs[0] : 0;
        double across = sums->pairs[1] > 0 ? sums->shared[1][b] / sums->pairs[1] : 0;
        double chance = deviations / sqrt(fmax(1, fmin(sums->pairs[0], sums->pairs[1])));
        double shared = fmax(along, across) > chance ? fmax(along, across) : 0;
        own[b] = shared * look->expected[b];
    }
}

void hc_evidence_plan(HcStage *stage) {
    int64_t pixels = 2 * HC_NEIGHBOUR_PAIRS * hc_neighbour_columns(&stage->in);
    stage->needs.compares = true;
    hc_stage_takes(stage, HC_SPACE_HOST,
                   (size_t)pixels * (size_t)stage->in.bands * (sizeof(float) + sizeof(double)));
}

HcStatus hc_evidence_find(HcEvidence *out, const HcStage *stage, const HcTransform *transform, int32_t used,
                          const HcEvidenceChange *change, double *own, HcError *err) {
    HcStatus status = HC_OK;
    HcTeam *team = NULL;
    HcComputeInfo info;
    Look look = {.stage = stage,
                 .transform = transform,
                 .change = change,
                 .bands = (size_t)transform->bands,
                 .used = (size_t)used};
    *out =
        (HcEvidence){.small = stage->neighbours.count < PIXELS_MIN || transform->components < 2 * LEFT_MIN};
    if (out->small || used > hc_min64(USED_MAX, stage->in.samples / 2) ||
        transform->components - used < LEFT_MIN) {
        return HC_OK;
    }
    HC_TRY(look_init(&look, err));
    hc_compute_info(stage->compute, &info);
    team = hc_team_open(hc_team_count(info.threads, TEAM));
    HC_TRY(hc_new(look.component, (size_t)hc_team_threads(team) * look.used, what, err));
    expect(&look);
    hc_team_run(team, stage->neighbours.count, take_rest, &look);
    for (size_t p = 0; p < (size_t)stage->neighbours.count; p++) { /* sums have one order */
        add_pixel(&look, p);
    }
    add_neighbours(&look);
    weigh(&look, out);
    if (own != NULL) {
        find_own(&look, own);
    }
done:
    hc_team_close(team);
    look_clear(&look);
    return status;
}

/* What chance alone makes of each is no evidence: its deviation for independent noise. */
static bool correlated(const HcEvidence *evidence, double value) {
    return fabs(value) > fmax(most_correlation, deviations / sqrt(evidence->count * evidence->left));
}

static bool has_tails(const HcEvidence *evidence) {
    return evidence->tails > fmax(most_tails, deviations * sqrt(24 / (evidence->count * evidence->left)));
}

static bool has_levels(const HcEvidence *evidence) {
    return evidence->levels > most_levels + deviations * 4 / evidence->left / sqrt(evidence->count);
}

const char *hc_evidence_doubt(const HcEvidence *evidence) {
    return evidence->small    ? "the scene is too small to test its noise"
           : !evidence->found ? "too many components beside noise: stripes, or correlated noise"
           : correlated(evidence, evidence->bands)  ? "noise is correlated between bands"
           : correlated(evidence, evidence->pixels) ? "noise is correlated between neighbours"
           : evidence->lone > most_lone             ? "pixels differ from their neighbours (dead pixels)"
           : has_tails(evidence)           ? "noise has heavy tails (impulses, or it follows the signal)"
           : has_levels(evidence)          ? "noise differs between pixels"
           : evidence->model > most_misfit ? "bands differ in noise from the model"
                                           : NULL;
}

bool hc_evidence_is_independent(const HcEvidence *evidence) {
    return evidence->found && !correlated(evidence, evidence->bands) &&
           !correlated(evidence, evidence->pixels);
}

bool hc_evidence_is_uneven(const HcEvidence *evidence) {
    return hc_evidence_is_independent(evidence) && (has_tails(evidence) || has_levels(evidence));
}

void hc_evidence_put(const HcEvidence *evidence, HcJson *to) {
    if (!evidence->found) {
        return;
    }
    hc_json_open_object(to, "noise_tests");
    hc_json_put_double(to, "correlation_of_pixels", evidence->pixels);
    hc_json_put_double(to, "correlation_of_bands", evidence->bands);
    hc_json_put_double(to, "deviation_of_bands", evidence->model);
    hc_json_put_double(to, "excess_kurtosis", evidence->tails);
    hc_json_put_double(to, "variance_of_levels", evidence->levels);
    hc_json_put_double(to, "lone_pixels", evidence->lone);
    hc_json_close(to);
}
