/* Spectra: the values of labelled pixels at one place of a chain, gathered while the blocks pass. */
#ifndef HC_PIPELINE_SPECTRA_SPECTRA_H
#define HC_PIPELINE_SPECTRA_SPECTRA_H

#include "core/compute.h"
#include "io/training/training.h"
#include "ranks/ranks.h"

/* Zero-initialise; hc_spectra_clear() is always safe. */
typedef struct HcSpectra {
    HcLabelled pixels;
    int32_t bands;
    HcBuffer memory; /* of both arrays, on the host */
    float *value;    /* [pixels.count][bands] */
    uint8_t *valid;  /* [pixels.count] 1 = there, 0 = masked, or no block came with it */
} HcSpectra;

/* Chooses pixels evenly from the whole scene: at most `most`, all of class 0. They lie in runs of `run`
 * neighbours, each of which is one copy from the device. Spectra are not read yet. */
HcStatus hc_spectra_choose(HcSpectra *spectra, const HcScene *scene, int64_t most, int64_t run,
                           HcError *err) HC_MUST_CHECK;

/* Bytes of host memory that hc_spectra_open takes. */
size_t hc_spectra_bytes(const HcSpectra *spectra, int32_t bands);

/* Memory for the spectra of `pixels`, which are there. */
HcStatus hc_spectra_open(HcSpectra *spectra, HcCompute *compute, int32_t bands, HcError *err) HC_MUST_CHECK;

/* Queues the copies of those pixels that lie in the interior of a block; they are there after the next wait.
 */
HcStatus hc_spectra_gather(const HcSpectra *spectra, HcQueue *queue, const HcBlock *in,
                           HcError *err) HC_MUST_CHECK;

/* All ranks, when their own are there: each gets those of all. */
HcStatus hc_spectra_join(HcSpectra *spectra, HcRanks *ranks, HcError *err) HC_MUST_CHECK;

/* When all are there: leaves out what is not finite. Returns how many pixels are left out now. */
int64_t hc_spectra_check(HcSpectra *spectra);

/* Gives the spectra back and keeps the pixels. */
void hc_spectra_release(HcSpectra *spectra, HcCompute *compute);
void hc_spectra_clear(HcSpectra *spectra, HcCompute *compute);

/* Leaves out what `others` have too; returns how many there were. */
int64_t hc_spectra_without(HcSpectra *spectra, const HcSpectra *others);

/* trains[count] = 1 for that fraction (rounded, at least one) of the valid pixels of every class, chosen at
 * random; the same for a seed on every machine. The others are 0. */
HcStatus hc_spectra_split(const HcSpectra *spectra, double fraction, uint64_t seed, uint8_t *trains,
                          HcError *err) HC_MUST_CHECK;

/* Classes that are not divided. */
typedef struct HcWholeClasses {
    int32_t count;
    int32_t first; /* of them */
} HcWholeClasses;

/* The same, but whole features (HcLabelled) train: that fraction (rounded) of those with a valid pixel of
 * every class, at least one, and not all where there are several. Classes of one feature are told. */
HcStatus hc_spectra_split_features(const HcSpectra *spectra, double fraction, uint64_t seed, uint8_t *trains,
                                   HcWholeClasses *whole, HcError *err) HC_MUST_CHECK;

/* Some of them, packed. Zero-initialise; hc_samples_clear() is always safe. */
typedef struct HcSamples {
    int64_t count;
    int32_t bands;
    float *value;   /* [count][bands] */
    int32_t *label; /* [count] */
    int64_t *from;  /* [count] which labelled pixel each is */
} HcSamples;

/* The valid ones whose mark is `wanted`, in their order; marks NULL = all valid ones. */
HcStatus hc_samples_take(HcSamples *samples, const HcSpectra *spectra, const uint8_t *marks, uint8_t wanted,
                         HcError *err) HC_MUST_CHECK;
void hc_samples_clear(HcSamples *samples);

/* Mean and 1 / standard deviation (of n - 1) of each band; 0 where a band is constant. Returns how many bands
 * are. */
int32_t hc_samples_variance(const HcSamples *samples, double *mean, double *factor);

/* (x - mean) * factor, in float64, rounded once. */
void hc_samples_scale(HcSamples *samples, const double *mean, const double *factor);

#endif
