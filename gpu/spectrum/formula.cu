/* Bands by programs: a thread a pixel. All threads of a warp do the same step, which they read at the same
 * place. The stack lies in shared memory, a column a thread. */
#include "core/operation/spectrum/formula.h"
#include "core/solver/formula.h"
#include "gpu/internal.cuh"

HcFormulaFn hc_gpu_formula;

namespace {

enum { THREADS = 128 };

struct Job {
    const float *from; /* of the output's first pixel */
    const uint8_t *mask;
    HcView out;
    HcFormula formula;
    HcFault *fault;
    int64_t pixels, interior, interior_end; /* pixels of the output */
    int32_t stored;                         /* bands of the input */
};

/* NaN for a band that the block does not have. */
__device__ inline double input_of(const Job &job, const float *from, const HcFormulaInput *input) {
    int32_t band = __ldg(&input->band);
    if (band < 0 || band >= job.stored) {
        hc_raise(job.fault, HC_E_USAGE, HC_FAULT_FORMULA_BAND, band, job.stored);
        return NAN;
    }
    return (double)__ldg(from + band) * __ldg(&input->gain) + __ldg(&input->offset);
}

/* Stores a value; returns whether it is missing. `counts`: of an interior pixel that is valid. */
__device__ inline bool store(const Job &job, int64_t pixel, int32_t k, double value, bool counts) {
    bool missing;
    float rounded = hc_formula_round(value, &missing);
    if (pixel < job.pixels) {
        job.out.data[pixel * job.out.bands + k] = rounded;
    }
    unsigned lost = __ballot_sync(0xFFFFFFFFU, missing && counts);
    if (lost != 0 && threadIdx.x % 32 == 0) {
        atomicAdd((unsigned long long *)&job.formula.missing[k], (unsigned long long)__popc(lost));
    }
    return missing;
}

/* Returns how many values are missing. Threads after the last pixel do the work of that pixel. */
__device__ int32_t compute(const Job &job, double (*stack)[THREADS], int64_t pixel, bool valid) {
    const float *from = job.from + (pixel < job.pixels ? pixel : job.pixels - 1) * job.stored;
    bool counts = valid && pixel >= job.interior && pixel < job.interior_end;
    int32_t depth = 0, lacking = 0;
    for (int32_t s = 0; s < job.formula.steps; s++) {
        HcFormulaStep step = job.formula.step[s];
        int32_t next = hc_formula_depth(&step, depth, job.formula.inputs, job.out.bands);
        if (next < 0) {
            hc_raise(job.fault, HC_E_USAGE, HC_FAULT_FORMULA_STEP, s, job.formula.steps);
            return job.out.bands;
        }
        double(*top)[THREADS] = stack + (depth - hc_formula_takes(step.code));
        double a = top[0][threadIdx.x], b = top[1][threadIdx.x], c = top[2][threadIdx.x];
        depth = next;
        if (step.code == HC_FORMULA_STORE) {
            lacking += store(job, pixel, step.at, a, counts);
            continue;
        }
        top[0][threadIdx.x] = step.code == HC_FORMULA_INPUT ? input_of(job, from, job.formula.input + step.at)
                              : step.code == HC_FORMULA_NUMBER ? step.number
                                                               : hc_formula_result(step.code, a, b, c);
    }
    return lacking;
}

__global__ void __launch_bounds__(THREADS) formula(const Job job) {
    __shared__ double stack[HC_FORMULA_DEPTH + 3][THREADS]; /* a step reads three places */
    int64_t pixel = (int64_t)blockIdx.x * THREADS + threadIdx.x;
    bool valid = pixel < job.pixels && job.mask[pixel] != 0;
    int32_t lacking = compute(job, stack, pixel, valid);
    valid = valid && lacking <= (job.formula.whole ? 0 : job.out.bands - 1);
    if (pixel >= job.pixels) {
        return;
    }
    job.out.mask[pixel] = valid;
    for (int32_t k = 0; k < job.out.bands && !valid; k++) {
        job.out.data[pixel * job.out.bands + k] = 0;
    }
}

} // namespace

HcStatus hc_gpu_formula(HcQueue *queue, const HcBlock *in, const HcFormula *how, const HcBlock *out,
                        HcError *err) {
    HC_OR_RETURN(hc_gpu_use(queue->gpu, err));
    /* Rows of both blocks lie without gaps, so pixels are counted through. */
    int64_t skip = (hc_block_first_line(out) - hc_block_first_line(in)) * in->samples;
    Job job = {};
    job.from = in->data + skip * in->bands;
    job.mask = in->mask + skip;
    job.out = hc_view(out);
    job.formula = *how;
    job.fault = queue->fault_device;
    job.pixels = (int64_t)hc_block_pixels(out);
    job.interior = (int64_t)out->above * out->samples;
    job.interior_end = job.interior + (int64_t)out->lines * out->samples;
    job.stored = in->bands;
    formula<<<(unsigned)hc_div_up(job.pixels, THREADS), THREADS, 0, queue->stream>>>(job);
    return hc_gpu_launched("computing formulas", err);
}
