/* Bands by programs. A step is done for a run of pixels at once, so that its cost is that of a vector and not
 * of an interpreter. The inputs of the run are brought into columns first: an index in a hundred needs few
 * bands, each of them many times. */
#include "core/operation/spectrum/formula.h"
#include "core/allocate.h"
#include "core/solver/formula.h"
#include "cpu/work.h"

#include <stdlib.h>
#include <string.h>

HcFormulaFn hc_cpu_formula;

enum { RUN = HC_FORMULA_RUN };

typedef double Column[RUN];

typedef struct Job {
    const HcBlock *in, *out;
    const HcFormula *formula;
    Column *work; /* [threads][inputs + HC_FORMULA_DEPTH] */
} Job;

/* Pixels of a line. */
typedef struct Run {
    const float *from;
    const uint8_t *valid;
    float *to;
    uint8_t *mask;
    int32_t count;
    bool interior;
    int32_t lacking[RUN]; /* missing values */
} Run;

static void load(const Job *job, const Run *run, Column *column) {
    const HcFormulaInput *input = job->formula->input;
    const float *from = run->from;
    for (int32_t p = 0; p < run->count; p++, from += job->in->bands) {
        for (int32_t k = 0; k < job->formula->inputs; k++) {
            column[k][p] = (double)from[input[k].band] * input[k].gain + input[k].offset;
        }
    }
}

static void store(const Job *job, Run *run, int32_t k, const double *value) {
    int32_t bands = job->out->bands;
    int64_t lost = 0;
    for (int32_t p = 0; p < run->count; p++) {
        bool missing;
        run->to[(int64_t)p * bands + k] = hc_formula_round(value[p], &missing);
        run->lacking[p] += missing;
        lost += missing && run->valid[p] != 0;
    }
    if (lost > 0 && run->interior) {
        (void)__atomic_fetch_add(&job->formula->missing[k], lost, __ATOMIC_RELAXED);
    }
}

/* to: a column of its own, or that of a. */
HC_CLONES static void do_step(const HcFormulaStep *step, const double *column[3], double *to) {
    switch (step->code) {
#define AS_LOOP(name, takes, result)                                                                         \
    case HC_FORMULA_##name:                                                                                  \
        for (int32_t p = 0; p < RUN; p++) {                                                                  \
            double a = column[0][p], b = column[takes > 1][p], c = column[takes - 1][p];                     \
            (void)b, (void)c;                                                                                \
            to[p] = (result);                                                                                \
        }                                                                                                    \
        break;
        HC_FORMULA_LIST(AS_LOOP)
#undef AS_LOOP
    default:
        for (int32_t p = 0; p < RUN; p++) {
            to[p] = step->number;
        }
    }
}

/* The stack holds columns: those of inputs as they are, those of results at their own depth. */
static void compute(const Job *job, Run *run, const Column *input, Column *result) {
    const double *stack[HC_FORMULA_DEPTH + 3] = {0};
    int32_t depth = 0;
    for (int32_t s = 0; s < job->formula->steps; s++) {
        const HcFormulaStep *step = &job->formula->step[s];
        depth -= hc_formula_takes(step->code);
        const double **top = stack + depth;
        if (step->code == HC_FORMULA_STORE) {
            store(job, run, step->at, *top);
            continue;
        }
        if (step->code == HC_FORMULA_INPUT) {
            *top = input[step->at];
        } else {
            do_step(step, top, result[depth]);
            *top = result[depth];
        }
        depth++;
    }
}

static void end_run(const Job *job, const Run *run) {
    int32_t bands = job->out->bands;
    int32_t most = job->formula->whole ? 0 : bands - 1;
    for (int32_t p = 0; p < run->count; p++) {
        run->mask[p] = run->valid[p] != 0 && run->lacking[p] <= most;
        if (run->mask[p] == 0) {
            memset(run->to + (int64_t)p * bands, 0, (size_t)bands * sizeof *run->to);
        }
    }
}

static void do_rows(void *user, int64_t row, int64_t end, int32_t thread) {
    const Job *job = user;
    const HcBlock *out = job->out;
    int32_t samples = out->samples;
    Column *input = job->work + (int64_t)thread * (job->formula->inputs + HC_FORMULA_DEPTH);
    for (; row < end; row++) {
        int64_t line = hc_block_first_line(out) + row;
        bool interior = row >= out->above && row < out->above + out->lines;
        for (int32_t s = 0; s < samples; s += RUN) {
            Run run = {hc_cpu_line(job->in, line) + (int64_t)s * job->in->bands,
                       hc_cpu_mask_line(job->in, line) + s,
                       out->data + (row * samples + s) * out->bands,
                       out->mask + row * samples + s,
                       samples - s < RUN ? samples - s : RUN,
                       interior,
                       {0}};
            load(job, &run, input);
            compute(job, &run, input, input + job->formula->inputs);
            end_run(job, &run);
        }
    }
}

HcStatus hc_cpu_formula(HcQueue *queue, const HcBlock *in, const HcFormula *formula, const HcBlock *out,
                        HcError *err) {
    size_t columns = (size_t)formula->inputs + HC_FORMULA_DEPTH;
    Job job = {in, out, formula, NULL};
    int64_t rows = hc_block_rows(out);
    HC_OR_RETURN(hc_formula_check(formula, in->bands, out->bands, err));
    HC_OR_RETURN(hc_new_aligned(job.work, columns * (size_t)queue->cpu->threads, "columns of bands", err));
    /* A short run leaves the rest of its columns as it was: numbers, whatever they are. */
    memset(job.work, 0, columns * (size_t)queue->cpu->threads * sizeof *job.work);
    hc_cpu_work(queue->cpu, rows, hc_cpu_grain(queue->cpu, rows), do_rows, &job);
    free(job.work);
    return HC_OK;
}
