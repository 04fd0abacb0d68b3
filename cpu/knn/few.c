/* Few training spectra (centres of clusters): the float64 distances of a pixel from all of them at once,
 * without candidates. Eight spectra lie side by side, and four pixels share what is read of them. */
#include "cpu/knn/knn.h"
#include "core/allocate.h"
#include "cpu/work.h"

#include <math.h>

enum { LANES = 8, TOGETHER = 4 };

/* Pixels that the processor fetches ahead, since those that are valid may lie apart. */
enum { AHEAD = 32 };

typedef double Lanes __attribute__((vector_size(LANES * sizeof(double)), aligned(sizeof(double)), may_alias));

HcStatus hc_knn_make_few(HcTraining *training, HcError *err) {
    int64_t bands = training->bands;
    if (training->count > HC_KNN_FEW || training->metric != HC_METRIC_EUCLIDEAN) {
        return HC_OK;
    }
    HC_OR_RETURN(hc_new(training->few, HC_KNN_FEW * bands, "training spectra", err));
    for (int64_t j = 0; j < training->count; j++) {
        for (int64_t b = 0; b < bands; b++) {
            training->few[(j / LANES * bands + b) * LANES + j % LANES] =
                (double)training->spectra[j * bands + b];
        }
    }
    return HC_OK;
}

/* far[TOGETHER][HC_KNN_FEW], from some spectrum on. */
HC_CLONES static void sum_squares(const float *const x[TOGETHER], const double *few, int64_t bands,
                                  double *far) {
    Lanes sum[TOGETHER] = {0};
    for (int64_t b = 0; b < bands; b++, few += LANES) {
        for (int p = 0; p < TOGETHER; p++) {
            Lanes apart = (double)x[p][b] - *(const Lanes *)few;
            sum[p] += apart * apart;
        }
    }
    for (int p = 0; p < TOGETHER; p++) {
        *(Lanes *)(far + (size_t)p * HC_KNN_FEW) = sum[p];
    }
}

/* Of equal distances the lower number is nearer. */
static void take_nearest(const double *far, int64_t count, int32_t k, int32_t *index, double *distance) {
    for (int32_t j = 0; j < count; j++) {
        int32_t at = j < k ? j : k;
        for (; at > 0 && far[j] < distance[at - 1]; at--) {
            if (at < k) {
                distance[at] = distance[at - 1];
                index[at] = index[at - 1];
            }
        }
        if (at < k) {
            distance[at] = far[j];
            index[at] = j;
        }
    }
}

typedef struct Job {
    const HcTraining *training;
    const float *values; /* of the first pixel */
    const uint8_t *valid;
    int32_t k;
    int32_t *index;
    double *distance;
} Job;

/* Pixels [count], at most TOGETHER. */
static void search(const Job *job, const int64_t *pixel, int32_t count) {
    const HcTraining *training = job->training;
    int64_t bands = training->bands;
    const float *x[TOGETHER];
    double far[TOGETHER * HC_KNN_FEW];
    for (int32_t p = 0; p < TOGETHER; p++) { /* the first one again where there are fewer */
        x[p] = job->values + pixel[p < count ? p : 0] * bands;
    }
    for (int64_t j = 0; j < training->count; j += LANES) {
        sum_squares(x, training->few + j * bands, bands, far + j);
    }
    for (int32_t p = 0; p < count; p++) {
        int64_t at = pixel[p] * job->k;
        take_nearest(far + (size_t)p * HC_KNN_FEW, training->count, job->k, job->index + at,
                     job->distance + at);
    }
}

static void search_some(void *user, int64_t first, int64_t end, int32_t thread) {
    const Job *job = user;
    int64_t found[AHEAD];
    int32_t count = 0;
    (void)thread;
    for (int64_t pixel = first; pixel < end; pixel++) {
        if (job->valid[pixel] != 0) {
            found[count++] = pixel;
            hc_knn_fetch(job->values + pixel * job->training->bands, job->training->bands);
        } else {
            for (int64_t i = pixel * job->k; i < (pixel + 1) * job->k; i++) {
                job->index[i] = -1;
                job->distance[i] = INFINITY;
            }
        }
        if (count == AHEAD || pixel + 1 == end) {
            for (int32_t i = 0; i < count; i += TOGETHER) {
                search(job, found + i, count - i < TOGETHER ? count - i : TOGETHER);
            }
            count = 0;
        }
    }
}

void hc_knn_search_few(const HcCpu *cpu, const HcBlock *in, const HcTraining *training, int32_t k,
                       int32_t *index, double *distance) {
    int64_t pixels = (int64_t)in->lines * in->samples;
    Job job = {training, hc_cpu_line(in, in->line0), hc_cpu_mask_line(in, in->line0), k, index, distance};
    hc_cpu_work(cpu, pixels, hc_cpu_grain_worth(cpu, pixels, pixels * training->bands, 32768), search_some,
                &job);
}
