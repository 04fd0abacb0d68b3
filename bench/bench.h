/* Bench: how long each operation of the compute contract takes, and the whole chain of a maximum noise
 * fraction. Both run through the doors of the operations alone, so that every backend is measured by the
 * same code. The chain is also measured from file to file, as the pipeline runs it. Results are plain
 * rows; they are compared with the serial reference while they are measured. */
#ifndef HC_BENCH_BENCH_H
#define HC_BENCH_BENCH_H

#include "core/compute.h"
#include "core/module/module.h"

/* How much of the scene the serial reference is run on. */
typedef enum HcBenchSerial {
    HC_BENCH_SERIAL_PART,
    HC_BENCH_SERIAL_WHOLE,
    HC_BENCH_SERIAL_NONE
} HcBenchSerial;

typedef struct HcBenchSettings {
    int64_t lines; /* of the scene: uint16, random */
    int32_t samples, bands;
    int32_t bits; /* values are below 2^bits */
    uint64_t seed;
    int32_t components;
    int64_t training;    /* spectra among which neighbours are looked for */
    int32_t neighbours;  /* of a pixel */
    int64_t matrices;    /* in a batch of singular value decompositions */
    int32_t repetitions; /* calls in one measurement; 0 = as many as take some tenths of a second */
    size_t block_bytes;  /* of a float32 block of the chains; 0 = what the backend finds worth its overhead */
    size_t dense_bytes;  /* of one matrix of gemv, fista, alm, simplex, at most; 0 = what suits the device */
    HcBenchSerial serial;
    const char *only; /* operations to measure, "gram,eigh"; NULL = all */
    void (*report)(const char *by,
                   const char *operation); /* called before each measurement; NULL = no report */
} HcBenchSettings;

typedef enum HcBenchCheck {
    HC_BENCH_UNCHECKED,
    HC_BENCH_SAME, /* the bits of the serial reference, on the lines that it saw */
    HC_BENCH_NEAR  /* its values, or what float64 says of the result, except for rounding */
} HcBenchCheck;

/* A row of the table: its name ("gram-none"), and how its result is checked beside the serial reference. */
typedef struct HcBenchKind {
    const char *name;
    HcBenchCheck check;
} HcBenchKind;

/* One measurement. Times, bytes and operations are those of the whole scene or batch, also where fewer lines
 * or matrices were measured. */
typedef struct HcBenchRow {
    const char *operation;       /* "gram-none": of an HcBenchKind */
    char by[24];                 /* "serial", "cpu", "gpu", "cpu vendor", "gpu vendor" */
    char how[64];                /* what else to know, or empty */
    bool detail;                 /* one of many of which another row is the sum; not in the table */
    int64_t lines;               /* measured in one call; all where the row is not of the scene */
    int64_t matrices;            /* measured in one call; 0 = the row is not of a batch */
    int64_t batch;               /* all of them */
    int32_t repetitions;         /* calls that were queued before each wait */
    int32_t rounds;              /* waits */
    double seconds, least, most; /* one call: median, least and most of the rounds */
    double bytes;                /* that must be read and written at least; 0 = does not apply */
    double operations;           /* multiplications and additions; 0 = does not apply */
    double floor;                /* least time by the ceilings of the device [s], 0 = not known */
    const char *floor_of;        /* which ceiling that is: "memory", "int8", "float32", "float64"; for
                                    scenes what was measured: "reading", "upload"; NULL */
    HcBenchCheck check;
    char wrong[96]; /* what is wrong with the result, or empty */
} HcBenchRow;

/* What was measured on. */
typedef struct HcBenchDevice {
    const char *by; /* "cpu", "gpu" */
    HcComputeInfo info;
    HcRates ceiling;  /* what floors are made of; 0 = not known */
    bool measured;    /* the ceilings were measured here, because the backend does not know them */
    char vendor[160]; /* the vendor's libraries, or why there are none */
} HcBenchDevice;

enum { HC_BENCH_ROWS_MAX = 1024, HC_BENCH_DEVICES_MAX = 4, HC_BENCH_MATRICES_MAX = 1000000 };

typedef struct HcBenchWitness HcBenchWitness;

typedef struct HcBench {
    HcBenchSettings settings;
    HcBenchRow rows[HC_BENCH_ROWS_MAX];
    int32_t row_count;
    HcBenchDevice devices[HC_BENCH_DEVICES_MAX];
    int32_t device_count;
    char note[192];          /* why rows are missing, or empty */
    HcBenchWitness *witness; /* what the serial reference found, NULL without one */
} HcBench;

/* The kind of row `index` in the order of the table; NULL after the last. */
const HcBenchKind *hc_bench_kind(int32_t index);

/* Checks the settings and empties *bench; hc_bench_close() is always safe after it. */
HcStatus hc_bench_open(HcBench *bench, const HcBenchSettings *settings, HcError *err) HC_MUST_CHECK;
void hc_bench_close(HcBench *bench);

/* The serial reference, unless the settings want none. `compute` solves its eigenproblems (LAPACK). */
HcStatus hc_bench_serial(HcBench *bench, HcCompute *compute, HcError *err) HC_MUST_CHECK;

/* All rows of an open backend, and of the vendor's libraries (NULL = none) in its memory. A row whose result
 * is not that of the serial reference, or no decomposition, says what is wrong; the others are measured. */
HcStatus hc_bench_backend(HcBench *bench, HcCompute *compute, const HcVendorOps *vendor,
                          HcError *err) HC_MUST_CHECK;

/* HC_E_DEVICE where a row is wrong: names the first one, and how many there are. */
HcStatus hc_bench_judge(const HcBench *bench, HcError *err) HC_MUST_CHECK;

/* The serial reference's time over this row's; 0 where there is none. */
double hc_bench_times_serial(const HcBench *bench, const HcBenchRow *row);

#endif
