/* Every pixel y to one number, by itself or with each of some targets t: sums of squares, shares, cosines,
 * angles, divergences; or to two numbers, a share and how far the pixel is from that mixture.
 *
 * A pixel is 4 bytes a band to read and a few operations a band to do, so this waits for memory. Sums have
 * eight parts in a fixed order (core/operation/image/reduce.h): a vector register on the CPU, eight lanes on
 * the GPU, the same bits. */
#include "core/operation/image/reduce.h"
#include "cpu/work.h"

#include <math.h>
#include <string.h>

HcReduceFn hc_cpu_reduce;

/* PIXELS: those that a thread takes at once, with one sum of squares of each target. */
enum { PARTS = 8, PIXELS = 64 };

static double join(const double *part) {
    return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]));
}

HC_CLONES static double squares(const float *restrict y, int64_t bands) {
    double part[PARTS] = {0};
    int64_t whole = bands / PARTS * PARTS;
    for (int64_t b = 0; b < whole; b += PARTS) {
        for (int i = 0; i < PARTS; i++) {
            part[i] += (double)y[b + i] * (double)y[b + i];
        }
    }
    for (int64_t b = whole; b < bands; b++) {
        part[b - whole] += (double)y[b] * (double)y[b];
    }
    return join(part);
}

HC_CLONES static double target_squares(const double *restrict t, int64_t bands) {
    double part[PARTS] = {0};
    for (int64_t b = 0; b < bands; b++) {
        part[b % PARTS] += t[b] * t[b];
    }
    return join(part);
}

HC_CLONES static double products(const float *restrict y, const double *restrict t, int64_t bands) {
    double part[PARTS] = {0};
    int64_t whole = bands / PARTS * PARTS;
    for (int64_t b = 0; b < whole; b += PARTS) {
        for (int i = 0; i < PARTS; i++) {
            part[i] += (double)y[b + i] * t[b + i];
        }
    }
    for (int64_t b = whole; b < bands; b++) {
        part[b - whole] += (double)y[b] * t[b];
    }
    return join(part);
}

/* Sums of (a y - b t)^2 and (a y + b t)^2. */
HC_CLONES static void apart(const float *restrict y, const double *restrict t, int64_t bands, double a,
                            double b, double *minus, double *plus) {
    double down[PARTS] = {0};
    double up[PARTS] = {0};
    int64_t whole = bands / PARTS * PARTS;
    for (int64_t k = 0; k < whole; k += PARTS) {
        for (int i = 0; i < PARTS; i++) {
            double ay = a * (double)y[k + i];
            double bt = b * t[k + i];
            down[i] += (ay - bt) * (ay - bt);
            up[i] += (ay + bt) * (ay + bt);
        }
    }
    for (int64_t k = whole; k < bands; k++) {
        double ay = a * (double)y[k];
        double bt = b * t[k];
        down[k - whole] += (ay - bt) * (ay - bt);
        up[k - whole] += (ay + bt) * (ay + bt);
    }
    *minus = join(down);
    *plus = join(up);
}

/* The sum of the values; adds to *low how many are not positive. */
HC_CLONES static double sum_of(const float *restrict y, int64_t bands, int64_t *low) {
    double part[PARTS] = {0};
    int64_t count = 0;
    for (int64_t b = 0; b < bands; b++) {
        part[b % PARTS] += (double)y[b];
        count += y[b] <= 0;
    }
    *low += count;
    return join(part);
}

HC_CLONES static double target_sum(const double *restrict t, int64_t bands, int64_t *low) {
    double part[PARTS] = {0};
    int64_t count = 0;
    for (int64_t b = 0; b < bands; b++) {
        part[b % PARTS] += t[b];
        count += t[b] <= 0;
    }
    *low += count;
    return join(part);
}

static double divergence(const float *y, const double *t, int64_t bands) {
    double part[PARTS] = {0};
    int64_t low = 0;
    double y_sum = sum_of(y, bands, &low);
    double t_sum = target_sum(t, bands, &low);
    if (!isfinite(y_sum)) {
        return NAN;
    }
    for (int64_t b = 0; b < bands && low == 0; b++) {
        double p = (double)y[b] / y_sum;
        double q = t[b] / t_sum;
        part[b % PARTS] += (p - q) * log(p / q);
    }
    return low > 0 ? INFINITY : join(part);
}

/* The share of a target, and how far the pixel is from that mixture, by standard deviations d. */
HC_CLONES static void mixture(const float *restrict y, const double *restrict t, const double *restrict d,
                              int64_t bands, float *to) {
    double yt[PARTS] = {0};
    double tt[PARTS] = {0};
    double apart[PARTS] = {0};
    for (int64_t b = 0; b < bands; b++) {
        double weighted = t[b] / (d[b] * d[b]);
        yt[b % PARTS] += (double)y[b] * weighted;
        tt[b % PARTS] += t[b] * weighted;
    }
    double square = join(tt);
    double share = square == 0 ? join(yt) : join(yt) / square;
    double within = share < 0 ? 0 : share > 1 ? 1 : share;
    for (int64_t b = 0; b < bands; b++) {
        double rest = ((double)y[b] - share * t[b]) / (d[b] + within * (1 - d[b]));
        apart[b % PARTS] += rest * rest;
    }
    to[0] = (float)share;
    to[1] = (float)sqrt(join(apart) / (double)bands);
}

/* yy, tt: the sums of squares of the pixel and the target. NaN in the pixel passes all comparisons with 0. */
static double with_target(HcReduction kind, const float *y, double yy, const double *t, double tt,
                          int64_t bands) {
    if (kind == HC_REDUCE_ANGLE) {
        double minus = 0;
        double plus = 0;
        if (yy * tt == 0) {
            return acos(0);
        }
        apart(y, t, bands, sqrt(tt), sqrt(yy), &minus, &plus);
        return 2 * atan2(sqrt(minus), sqrt(plus));
    }
    if (kind == HC_REDUCE_DIVERGENCE) {
        return divergence(y, t, bands);
    }
    double yt = products(y, t, bands);
    if (kind == HC_REDUCE_MATCH) {
        return tt == 0 ? yt : yt / tt;
    }
    if (kind == HC_REDUCE_POWER) {
        return tt == 0 ? yt : yt * fabs(yt) / tt;
    }
    return yy * tt == 0 ? 0 : yt * fabs(yt) / (yy * tt);
}

typedef struct Job {
    const HcBlock *in, *out;
    HcReduction kind;
    const double *targets;
    int64_t panels; /* in a line */
} Job;

/* Two bands for each target. */
static void mix_panel(const Job *job, const float *x, const uint8_t *valid, int64_t pixels, float *to) {
    int64_t bands = job->in->bands;
    int64_t targets = job->out->bands / 2;
    for (int64_t p = 0; p < pixels; p++) {
        for (int64_t j = 0; j < targets; j++) {
            float *pair = to + (p * targets + j) * 2;
            pair[0] = pair[1] = 0;
            if (valid[p]) {
                mixture(x + p * bands, job->targets + j * bands, job->targets + targets * bands, bands, pair);
            }
        }
    }
}

static void reduce_panel(const Job *job, int64_t unit) {
    const HcBlock *in = job->in;
    const HcBlock *out = job->out;
    double yy[PIXELS] = {0};
    int64_t bands = in->bands;
    int64_t row = unit / job->panels;
    int64_t sample = unit % job->panels * PIXELS;
    int64_t pixels = hc_min64(PIXELS, out->samples - sample);
    int64_t line = hc_block_first_line(out) + row;
    const float *x = hc_cpu_line(in, line) + sample * bands;
    const uint8_t *valid = hc_cpu_mask_line(in, line) + sample;
    float *to = out->data + (row * out->samples + sample) * out->bands;
    memcpy(out->mask + row * out->samples + sample, valid, (size_t)pixels);
    if (job->kind == HC_REDUCE_MIXTURE) {
        mix_panel(job, x, valid, pixels, to);
        return;
    }
    bool squared = job->kind != HC_REDUCE_MATCH && job->kind != HC_REDUCE_POWER;
    for (int64_t p = 0; p < pixels && squared; p++) {
        yy[p] = valid[p] ? squares(x + p * bands, bands) : 0;
    }
    for (int64_t p = 0; p < pixels && job->kind == HC_REDUCE_SQUARES; p++) {
        to[p] = (float)yy[p];
    }
    for (int64_t j = 0; j < out->bands && job->kind != HC_REDUCE_SQUARES; j++) {
        const double *t = job->targets + j * bands;
        double tt = target_squares(t, bands);
        for (int64_t p = 0; p < pixels; p++) {
            to[p * out->bands + j] =
                valid[p] ? (float)with_target(job->kind, x + p * bands, yy[p], t, tt, bands) : 0.0F;
        }
    }
}

static void reduce_panels(void *user, int64_t unit, int64_t end, int32_t thread) {
    (void)thread;
    for (; unit < end; unit++) {
        reduce_panel(user, unit);
    }
}

HcStatus hc_cpu_reduce(HcQueue *queue, const HcBlock *in, HcReduction kind, const double *targets,
                       const HcBlock *out, HcError *err) {
    (void)err;
    Job job = {in, out, kind, targets, (out->samples + PIXELS - 1) / PIXELS};
    int64_t units = hc_block_rows(out) * job.panels;
    hc_cpu_work(queue->cpu, units, hc_cpu_grain(queue->cpu, units), reduce_panels, &job);
    return HC_OK;
}
