/* What the files of bench/ share. */
#ifndef HC_BENCH_INTERNAL_H
#define HC_BENCH_INTERNAL_H

#include "core/sums/moments.h"
#include "bench/bench.h"

/* The nearest training spectra of the first pixels. */
typedef struct HcBenchNearest {
    int64_t pixels;   /* 0 = not looked for */
    int32_t *index;   /* [pixels][neighbours] */
    double *distance; /* [pixels][neighbours] */
} HcBenchNearest;

/* What the serial reference found on the first `lines` lines of the scene. */
struct HcBenchWitness {
    int64_t lines;
    float *x;          /* [lines][samples][bands] */
    HcMoments values;  /* of x */
    HcMoments noise;   /* of its mean3x3 difference */
    float *projected;  /* [lines][samples][components], by hc_bench_matrix */
    float *components; /* [lines][samples][component_count], of the maximum noise fraction of these lines */
    int32_t component_count;
    HcBenchNearest nearest[2]; /* by HcMetric */
    double *eigenvalues;       /* [bands] of hc_bench_graded, descending; NULL = not looked for */
};

enum { HC_RIG_ROUNDS = 5 };

/* An open backend, with data in its memory. A part is the lines that single operations are measured on: the
 * whole scene if it fits. */
typedef struct HcRig {
    HcBench *bench;
    const HcBenchSettings *settings;
    HcBenchDevice *device;
    HcCompute *compute;
    HcQueue *queue;
    HcVendor *vendor; /* NULL = none */
    const HcVendorOps *vendor_ops;
    int64_t part;   /* lines */
    HcBuffer raw;   /* the scene, [lines][bands][samples] uint16 */
    HcBuffer block; /* the part as a block, bands and mask */
    HcBuffer out;   /* memory for a second one */
    HcBuffer small; /* matrix[bands][components], mean[bands], wavelength[bands] float64, index[2][bands] (in
                       order, reversed), piece[2] */
    double *matrix, *mean, *wavelength; /* [device], in `small` */
    int32_t *in_order, *reversed;
    int32_t *piece; /* from 0 to `bands` */
} HcRig;

/* One call of what is measured: queues its work. */
typedef HcStatus HcRigBody(HcRig *rig, void *user, HcError *err);

/* ---- bench.c ---- */

bool hc_bench_selects(const char *word, size_t length, const char *operation);
bool hc_bench_wants(const HcBench *bench, const char *operation);
/* A new row, named and empty, whose numbers are of `lines` lines so far. NULL is never returned. */
HcBenchRow *hc_bench_row(HcBench *bench, const char *operation, const char *by, int64_t lines);
/* Marks the row as wrong, by the formatted text unless it is marked already. What follows is measured. */
void hc_bench_wrong(HcBenchRow *row, const char *format, ...) HC_PRINTF(2, 3);
/* Brings the numbers of a row from the lines or matrices that were measured to the scene or batch. */
void hc_bench_scale(const HcBench *bench, HcBenchRow *row);

/* ---- data.c ---- */

/* Values [first, first + count) of a series of random normal numbers, of variance 1; their magnitudes are
 * at most 6. */
void hc_bench_random(const HcBenchSettings *settings, int64_t first, int64_t count, uint16_t *out);
/* matrix[bands][components] and mean[bands] for the rows that project. */
void hc_bench_matrix(const HcBenchSettings *settings, double *matrix, double *mean);
/* A symmetric matrix[bands][bands] with entries in [-1, 1). */
void hc_bench_symmetric(const HcBenchSettings *settings, double *matrix);
/* A positive definite matrix[bands][bands] = D A D. A is well conditioned, with ones on its diagonal. D
 * has powers of two from 1 to 2^-20, in no order. */
void hc_bench_graded(const HcBenchSettings *settings, double *matrix);
/* Values [first, first + count) of a series of random normal numbers, of variance 1; none is beyond 6. */
void hc_bench_normal(const HcBenchSettings *settings, int64_t first, int64_t count, float *out);
/* The value at `place` of a series of random numbers, even in [-1, 1). */
float hc_bench_dense(const HcBenchSettings *settings, int64_t place);
/* pixels[lines][samples][bands] of a scene of floats. Neighbours differ by noise, as in real scenes. */
void hc_bench_reals(const HcBenchSettings *settings, int64_t lines, float *pixels);
/* Training spectra[training][bands]: reals below 2^bits. */
void hc_bench_training(const HcBenchSettings *settings, float *spectra);
/* Smooth reflectances library[spectra][bands], much alike as those of minerals are. */
void hc_bench_library(const HcBenchSettings *settings, int32_t spectra, float *library);
/* pixels[count][bands]: four members of the library each, and noise of 0.003. */
void hc_bench_mixtures(const HcBenchSettings *settings, const float *library, int32_t spectra, int64_t count,
                       float *pixels);
/* ---- rig.c ---- */

HcStatus hc_rig_open(HcRig *rig, HcBench *bench, HcCompute *compute, HcError *err) HC_MUST_CHECK;
void hc_rig_close(HcRig *rig);
/* After a failure: what is in flight ends before its memory goes. */
void hc_rig_drain(HcRig *rig);
/* Pixels of the part. */
double hc_rig_pixels(const HcRig *rig);
/* Device memory that the input of one row may take [bytes]. */
uint64_t hc_rig_part_bytes(const HcRig *rig);

/* Seconds of one of `calls` calls, all queued before the wait. */
HcStatus hc_rig_time(HcRig *rig, HcRigBody *body, void *user, int32_t calls, double *seconds,
                     HcError *err) HC_MUST_CHECK;
/* The number of lines of a block, from 1 to rig->part, for which a call is just long enough to be
 * measured. The body works on `in` and `out`, which then have that many lines. */
HcStatus hc_rig_choose_lines(HcRig *rig, HcRigBody *body, void *user, HcBlock *in, HcBlock *out,
                             int64_t *lines, HcError *err) HC_MUST_CHECK;
/* A warm-up, then the rounds; fills the times of the row. */
HcStatus hc_rig_measure(HcRig *rig, HcRigBody *body, void *user, HcBenchRow *row, HcError *err) HC_MUST_CHECK;

/* Least, median and most of the row's rounds, which are put in order. */
void hc_bench_take_times(HcBenchRow *row, double *seconds);

/* The block over the first lines of a buffer of blocks, as if the scene ended after them. */
HcBlock hc_rig_block(const HcRig *rig, const HcBuffer *buffer, int64_t lines, int32_t bands);
/* The scene's bytes as a raw block of its first lines. */
HcRaw hc_rig_raw(const HcRig *rig, int64_t lines);
/* Fills the block of the first `lines` lines, or of their first bands alone; done on return. */
HcStatus hc_rig_decode(HcRig *rig, int64_t lines, HcError *err) HC_MUST_CHECK;
HcStatus hc_rig_decode_bands(HcRig *rig, int64_t lines, int32_t bands, HcError *err) HC_MUST_CHECK;

/* Fills all lines of a block with those of pixels[period][samples][bands], again and again; done on return.
 */
HcStatus hc_rig_repeat(HcRig *rig, const float *pixels, int64_t period, const HcBlock *to,
                       HcError *err) HC_MUST_CHECK;

/* The floor by the ceilings of the device: bytes through memory, products of 8-bit integers, operations in
 * float64.
 */
void hc_rig_floor(const HcRig *rig, HcBenchRow *row, double bytes, double int8, double float64);
/* Raises it to that of operations in float32. */
void hc_rig_floor_float32(const HcRig *rig, HcBenchRow *row, double float32);
/* Operations on 8-bit integers for exact sums of n(n+1)/2 products of integers of at most that magnitude. */
double hc_rig_limb_operations(const HcRig *rig, HcDifference kind, int64_t lines);
int64_t hc_rig_limit(HcDifference kind);

/* Fetches values [device] and compares; fails with HC_E_DEVICE. tolerance 0 wants the same bits, else it is
 * relative to the largest expected magnitude. */
HcStatus hc_rig_compare(HcRig *rig, const float *at, const float *expected, size_t count, double tolerance,
                        HcBenchRow *row, HcError *err) HC_MUST_CHECK;
/* Fetches bytes [device] and wants the same ones. */
HcStatus hc_rig_compare_bytes(HcRig *rig, const void *at, const void *expected, size_t bytes, HcBenchRow *row,
                              HcError *err) HC_MUST_CHECK;
/* The same as hc_rig_compare for values that the host has. */
void hc_rig_compare_host(const float *values, const float *expected, size_t count, double tolerance,
                         HcBenchRow *row);
void hc_rig_compare_moments(const HcMoments *moments, const HcMoments *expected, HcBenchRow *row);

/* ---- rows ---- */

/* Rows that are measured together: a row of an operation is a line here and what `measure` calls for it. */
typedef struct HcBenchPart {
    HcStatus (*measure)(HcRig *rig,
                        HcError *err); /* called if one of them is wanted, with the part decoded */
    const HcBenchKind *rows;           /* ended by {0} */
} HcBenchPart;

extern const HcBenchPart hc_bench_image, hc_bench_gram, hc_bench_columns, hc_bench_neighbours, hc_bench_eigh,
    hc_bench_decompositions, hc_bench_unmixing, hc_bench_gemv, hc_bench_l1, hc_bench_lad,
    hc_bench_linear_programs, hc_bench_chains, hc_bench_scene;

HcStatus hc_rig_ceilings(HcRig *rig, HcError *err) HC_MUST_CHECK;
HcStatus hc_bench_serial_l1(HcBench *bench, HcError *err) HC_MUST_CHECK;
HcStatus hc_bench_serial_abundances(HcBench *bench, HcError *err) HC_MUST_CHECK;
HcStatus hc_rig_vendor(HcRig *rig, HcError *err) HC_MUST_CHECK;
/* A new row of the vendor of this device. */
HcBenchRow *hc_bench_vendor_row(const HcRig *rig, const char *operation, int64_t lines);

void hc_bench_witness_free(HcBenchWitness *witness);

#endif
