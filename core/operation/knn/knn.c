#include "core/operation/knn/knn.h"
#include "core/operation/check.h"

static HcStatus check_training(const float *spectra, int64_t count, int32_t bands, HcMetric metric,
                               HcError *err) {
    if (spectra == NULL || count < 1 || count >= (1 << 24) || bands < 1) {
        return hc_fail(err, HC_E_USAGE, "knn: %lld training spectra of %d bands%s", (long long)count, bands,
                       spectra == NULL ? " without memory" : "");
    }
    if (metric != HC_METRIC_EUCLIDEAN && metric != HC_METRIC_ANGLE) {
        return hc_fail(err, HC_E_USAGE, "knn: no metric has the number %d", (int)metric);
    }
    return HC_OK;
}

HcStatus hc_training_open(HcCompute *compute, const float *spectra, int64_t count, int32_t bands,
                          HcMetric metric, HcTraining **out, HcError *err) {
    HC_OR_RETURN(hc_check_open(compute, out, "knn", err));
    *out = NULL;
    HC_OR_RETURN(check_training(spectra, count, bands, metric, err));
    HC_OR_RETURN(compute->ops->training_open(compute, spectra, count, bands, metric, out, err));
    *(HcTrainingHead *)*out = (HcTrainingHead){{compute}, count, bands};
    return HC_OK;
}

void hc_training_close(HcTraining *training) {
    if (training != NULL) {
        hc_ops_of(training)->training_close(training);
    }
}

static HcStatus check_knn(const HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k,
                          const int32_t *index, const double *distance, HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "knn", err));
    if (training == NULL) {
        return hc_fail(err, HC_E_USAGE, "knn: the training spectra are missing");
    }
    const HcTrainingHead *head = (const HcTrainingHead *)training;
    HC_OR_RETURN(hc_check_block(in, "knn", "input", err));
    if (in->bands != head->bands) {
        return hc_fail(err, HC_E_USAGE, "knn: %d bands in, training spectra of %d", in->bands, head->bands);
    }
    if (k < 1 || k > HC_KNN_MAX || k > head->count) {
        return hc_fail(err, HC_E_USAGE, "knn: %d neighbours of %lld training spectra: 1 to %d", k,
                       (long long)head->count, HC_KNN_MAX);
    }
    if (index == NULL || distance == NULL) {
        return hc_fail(err, HC_E_USAGE, "knn: the place for the neighbours is missing");
    }
    return HC_OK;
}

HcStatus hc_knn(HcQueue *queue, const HcBlock *in, const HcTraining *training, int32_t k, int32_t *index,
                double *distance, HcError *err) {
    HC_OR_RETURN(check_knn(queue, in, training, k, index, distance, err));
    return hc_ops_of(queue)->knn(queue, in, training, k, index, distance, err);
}
