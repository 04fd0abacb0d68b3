/* Accuracy: a confusion matrix and the figures that are taken from it. */
#ifndef HC_PIPELINE_SPECTRA_ACCURACY_H
#define HC_PIPELINE_SPECTRA_ACCURACY_H

#include "pipeline/json/json.h"
#include "core/scene.h"
#include "core/text.h"
#include "pipeline/stage.h"

/* Classes are numbered from 1; 0 is what was left unclassified, which may be predicted and is never true.
 * What cannot be said (an accuracy over no pixel) is NaN. Zero-initialise, then hc_accuracy_clear() is always
 * safe. */
typedef struct HcAccuracy {
    int32_t classes;
    /* [classes + 1] the numbers of the classes in the reference and in what was predicted, borrowed; NULL =
     * as they are. 0 = it has no such class. */
    const int32_t *number[2];
    int64_t *matrix; /* [classes][classes + 1]: pixels of class row + 1 that were predicted as `column` */

    /* Filled by hc_accuracy_finish. */
    int64_t pixels, correct;
    int64_t *reference;      /* [classes + 1] pixels of each class, by number */
    int64_t *predicted;      /* [classes + 1] pixels predicted as it, 0 included */
    double overall, average; /* of all pixels; mean of the producer's accuracies of the classes with pixels */
    double kappa;            /* Cohen's */
    double *producers;       /* [classes + 1] share of a class that was found (recall), by number */
    double *users;           /* [classes + 1] share of what was predicted as it that is right (precision) */
    double *f1;              /* [classes + 1] their harmonic mean */
} HcAccuracy;

HcStatus hc_accuracy_init(HcAccuracy *accuracy, int32_t classes, HcError *err) HC_MUST_CHECK;
void hc_accuracy_clear(HcAccuracy *accuracy);

/* Counts a pixel of class 1 .. classes that was predicted as 0 .. classes. */
void hc_accuracy_add(HcAccuracy *accuracy, int32_t reference, int32_t predicted);

void hc_accuracy_finish(HcAccuracy *accuracy);

/* Adds the figures to a JSON object; training[classes + 1] are the pixels that each class was trained with,
 * or NULL. */
HcStatus hc_accuracy_json(const HcAccuracy *accuracy, const HcClasses *names, const int64_t *training,
                          HcJson *to, HcError *err) HC_MUST_CHECK;

/* The report as tables for people. */
void hc_accuracy_text(const HcAccuracy *accuracy, const HcClasses *names, const int64_t *training,
                      HcText *to);

#endif
