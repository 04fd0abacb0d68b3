/* Steps of fast proximal gradients (Beck and Teboulle 2009; Gao and Li), with momentum that starts anew where
 * it leads uphill (O'Donoghue and Candes 2015). A is read once a step, for the gradient: A y follows from A x
 * of the last two steps, and A x from the few columns that x uses. */
#include "cpu/l1/l1.h"

#include <math.h>
#include <string.h>

/* What a step may differ from the promise of `square` by rounding, and by how much it is raised beyond. */
static const double slack = 1e-9;
static const double raise_by = 1.0625;

/* ---- a step ---- */

/* y = x + momentum (x - before), then from there against the gradient and through the threshold, for the
 * columns of one block: x and before move on, and the columns that x uses are listed at the block's place. */
static HcL1Sums move(HcL1 *l1, const HcL1Problem *problem, double momentum, int64_t first) {
    int64_t end = hc_min64(first + HC_L1_BLOCK, l1->matrix.columns);
    double scale = problem->square > 0 ? 1 / problem->square : 0;
    double threshold = problem->lambda * scale;
    HcL1Sums sums = {0};
    for (int64_t j = first; j < end; j++) {
        double slope = l1->column_sums[j];
        double x = l1->here[j];
        double y = x + momentum * (x - l1->before[j]);
        double ahead = y + slope * scale;
        double height = problem->positive ? slope : fabs(slope);
        double next = ahead > threshold                          ? ahead - threshold
                      : !problem->positive && ahead < -threshold ? ahead + threshold
                                                                 : 0;
        sums.top = height > sums.top ? height : sums.top;
        sums.uphill += (y - next) * (next - x);
        sums.apart += (next - y) * (next - y);
        sums.norm += fabs(next);
        if (next != 0) {
            l1->active[first + sums.nonzeros++] = (int32_t)j;
        }
        l1->before[j] = x;
        l1->here[j] = next;
    }
    return sums;
}

typedef struct Move {
    HcL1 *l1;
    const HcL1Problem *problem;
    double momentum;
} Move;

static void move_blocks(void *user, int64_t first, int64_t end, int32_t thread) {
    (void)thread;
    const Move *job = user;
    for (int64_t b = first; b < end; b++) {
        job->l1->block[b] = move(job->l1, job->problem, job->momentum, b * HC_L1_BLOCK);
    }
}

/* All blocks; the sums of blocks are added, and their lists of columns joined, in their order. */
static HcL1Sums move_all(HcL1 *l1, const HcL1Problem *problem, double momentum) {
    int64_t blocks = hc_l1_blocks(l1);
    HcL1Sums all = {0};
    hc_cpu_work(l1->cpu, blocks, hc_cpu_gemv_grain(l1->cpu, blocks, 16 * l1->matrix.columns), move_blocks,
                &(Move){l1, problem, momentum});
    for (int64_t b = 0; b < blocks; b++) {
        const HcL1Sums *sums = &l1->block[b];
        memmove(l1->active + all.nonzeros, l1->active + b * HC_L1_BLOCK,
                (size_t)sums->nonzeros * sizeof *l1->active);
        all.nonzeros += sums->nonzeros;
        all.norm += sums->norm;
        all.top = fmax(all.top, sums->top);
        all.uphill += sums->uphill;
        all.apart += sums->apart;
    }
    return all;
}

/* A step with the constant L at least the largest eigenvalue of A'A has |A (x - y)|^2 <= L |x - y|^2. One
 * that has not is taken back, and L raised. */
static bool take_back(HcL1 *l1, HcL1Problem *problem, double apart) {
    double risen = 0;
    for (int64_t r = 0; r < l1->matrix.rows; r++) {
        double difference = l1->product[r] - l1->ahead[r];
        risen += difference * difference;
    }
    if (risen <= problem->square * apart * (1 + slack)) {
        return false;
    }
    double shown = apart > 0 ? risen / apart : 0;
    problem->square = fmax(problem->square, shown) * raise_by;
    memcpy(l1->here, l1->before, (size_t)l1->matrix.columns * sizeof *l1->here);
    memcpy(l1->product, l1->product_before, (size_t)l1->matrix.rows * sizeof *l1->product);
    return true;
}

/* ---- the gap ---- */

/* Of a residual w (l1->weight) with slopes A'w up to `top`: every s with s top <= lambda makes s w feasible
 * in the dual, whose value s b'w - s^2 w'w / 2 no objective is below. */
static void raise_bound(const HcL1 *l1, HcL1Problem *problem, double top) {
    double along = 0;
    double square = 0;
    for (int64_t r = 0; r < l1->matrix.rows; r++) {
        double weight = l1->weight[r];
        along += l1->target[r] * weight;
        square += weight * weight;
    }
    double most = top > 0 ? problem->lambda / top : (double)INFINITY;
    double least = problem->positive ? 0 : -most;
    double best = square > 0 ? fmax(least, fmin(most, along / square)) : 0;
    double value = best * along - best * best * square / 2;
    problem->bound = value > problem->bound ? value : problem->bound;
}

/* |A x - target|^2 */
static double misfit(const HcL1 *l1) {
    double sum = 0;
    for (int64_t r = 0; r < l1->matrix.rows; r++) {
        double difference = l1->product[r] - l1->target[r];
        sum += difference * difference;
    }
    return sum;
}

static double objective(const HcL1 *l1, const HcL1Problem *problem) {
    return misfit(l1) / 2 + problem->lambda * problem->norm;
}

/* Rounding may take it below 0. */
static double relative_gap(const HcL1Problem *problem, double value) {
    double gap = value - problem->bound;
    return gap <= 0 ? 0 : gap / value;
}

/* ---- all steps ---- */

int32_t hc_l1_descend(HcL1 *l1, HcL1Problem *problem, double tolerance, int32_t most) {
    double time = 1; /* as Beck and Teboulle count it */
    double momentum = 0;
    int64_t rows = l1->matrix.rows;
    memcpy(l1->before, l1->here, (size_t)l1->matrix.columns * sizeof *l1->before);
    memcpy(l1->product_before, l1->product, (size_t)rows * sizeof *l1->product);
    for (int32_t step = 1; step <= most; step++) {
        for (int64_t r = 0; r < rows; r++) {
            l1->ahead[r] = l1->product[r] + momentum * (l1->product[r] - l1->product_before[r]);
        }
        hc_l1_slopes(l1, l1->ahead, l1->target);
        HcL1Sums sums = move_all(l1, problem, momentum);
        raise_bound(l1, problem, sums.top);
        memcpy(l1->product_before, l1->product, (size_t)rows * sizeof *l1->product);
        hc_l1_multiply(l1, sums.nonzeros, l1->product);
        if (take_back(l1, problem, sums.apart)) {
            time = 1;
            momentum = 0;
            continue;
        }
        problem->norm = sums.norm;
        if (tolerance > 0 && relative_gap(problem, objective(l1, problem)) <= tolerance) {
            return step;
        }
        double before = sums.uphill > 0 ? 1 : time;
        time = (1 + sqrt(1 + 4 * before * before)) / 2;
        momentum = (before - 1) / time;
    }
    return most;
}

/* ---- one problem ---- */

bool hc_l1_start(HcL1 *l1, const float *b, float *x, HcL1Report *report, double *energy) {
    *energy = 0;
    memset(x, 0, (size_t)l1->matrix.columns * sizeof *x);
    memset(l1->here, 0, (size_t)l1->matrix.columns * sizeof *l1->here);
    memset(l1->product, 0, (size_t)l1->matrix.rows * sizeof *l1->product);
    for (int64_t r = 0; r < l1->matrix.rows; r++) {
        l1->target[r] = (double)b[r];
        *energy += l1->target[r] * l1->target[r];
    }
    *report = (HcL1Report){
        .end = HC_L1_UNFINISHED, .objective = (double)NAN, .gap = (double)NAN, .residual = (double)NAN};
    return isfinite(*energy);
}

void hc_l1_finish(HcL1 *l1, const float *b, double energy, HcL1Problem *problem, float *x,
                  HcL1Report *report) {
    report->nonzeros = 0;
    problem->norm = 0;
    for (int64_t j = 0; j < l1->matrix.columns; j++) {
        x[j] = (float)l1->here[j];
        l1->here[j] = (double)x[j];
        problem->norm += fabs(l1->here[j]);
        if (x[j] != 0) {
            l1->active[report->nonzeros++] = (int32_t)j;
        }
    }
    hc_l1_multiply(l1, report->nonzeros, l1->product);
    double sum = 0;
    for (int64_t r = 0; r < l1->matrix.rows; r++) {
        double difference = l1->product[r] - (double)b[r];
        sum += difference * difference;
    }
    report->residual = energy > 0 ? sqrt(sum / energy) : 0;
}

HcStatus hc_cpu_fista(HcQueue *queue, HcL1 *l1, const HcL1Rule *rule, const float *b, float *x,
                      HcL1Report *report, HcError *err) {
    (void)queue;
    (void)err;
    double energy = 0;
    if (!hc_l1_start(l1, b, x, report, &energy)) {
        return HC_OK;
    }
    HcL1Problem problem = {.lambda = rule->lambda, .positive = rule->positive, .square = l1->largest};
    report->iterations = hc_l1_descend(l1, &problem, rule->tolerance, rule->iterations);
    hc_l1_finish(l1, b, energy, &problem, x, report);
    hc_l1_slopes(l1, l1->product, l1->target);
    raise_bound(l1, &problem, hc_l1_top(l1, rule->positive));
    report->objective = objective(l1, &problem);
    report->gap = relative_gap(&problem, report->objective);
    report->end = report->gap <= rule->tolerance ? HC_L1_REACHED : HC_L1_UNFINISHED;
    return HC_OK;
}
