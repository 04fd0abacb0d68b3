/* Sums of products: what the files gram*.c share. */
#ifndef HC_CPU_GRAM_GRAM_H
#define HC_CPU_GRAM_GRAM_H

#include "core/operation/gram/gram.h"
#include "cpu/image/difference.h"

#include <pthread.h>

/* What a thread takes in gram_raw for a strip that is decoded [bytes]. */
size_t hc_cpu_aside_bytes(int32_t bands);

/* HcComputeInfo.sums_bytes */
size_t hc_cpu_sums_bytes(int32_t bands, bool on_grid, int32_t threads);

HcSumsOpenFn hc_cpu_sums_open;
HcSumsCloseFn hc_cpu_sums_close;
HcGramFn hc_cpu_gram;
HcSumsFetchFn hc_cpu_sums_fetch;

/* One thread's part of exact sums. Pixels are collected in panels, and panels are multiplied into narrow
 * sums. Narrow sums are added to the moments (upper triangle) before they could become inexact. Only add()
 * and drain() touch the moments, under their lock. */
typedef struct HcPanels HcPanels;

/* Up to HC_CPU_RUN samples of a line, as they lie in a file: samples of a band side by side. */
typedef struct HcStrip {
    const char *above, *here, *below; /* the first sample in the lines that `kind` looks at */
    const char *next;                 /* the same of a line that is read soon, or NULL */
    const int64_t *band;              /* [bands]: where each band is [bytes] */
    HcType type;
    bool swap;
    HcDifference kind;
    int32_t samples;
    bool before, after;           /* whether the line has a sample before the first, and after the last */
    uint64_t ok;                  /* bit s: sample s counts, and all that its difference looks at is there */
    const double *center, *scale; /* [bands] of the grid; NULL for integers */
} HcStrip;

typedef struct HcPanelKind {
    /* limit: of integers, 0 = whole numbers near the center of a grid. lock: of the moments. */
    HcStatus (*open)(int32_t bands, int64_t limit, pthread_mutex_t *lock, HcPanels **out, HcError *err);
    void (*close)(HcPanels *panels);
    /* pixels[count][bands], integers; false when one is beyond the limit. */
    bool (*add)(HcPanels *panels, const float *pixels, int32_t count, HcMoments *moments);
    /* pixels[count][bands], whole numbers below HC_GRID_NEAR. */
    void (*add_near)(HcPanels *panels, const double *pixels, int32_t count, HcMoments *moments);
    /* Empties the panels into the moments. */
    void (*drain)(HcPanels *panels, HcMoments *moments);
    /* The same as `add` or `add_near` of what counts in the strip; NULL where there is no such way. false:
     * nothing was added, since some value is far or beyond the limit. Takes integers of 8 and 16 bits, and on
     * a grid float32, unless `strips_of_integers`. */
    bool (*strip)(HcPanels *panels, const HcStrip *strip, HcMoments *moments);
    bool strips_of_integers; /* alone */
    /* Memory of one thread's panels, where every class of values occurs [bytes]. */
    size_t (*bytes)(int32_t bands, bool on_grid);
} HcPanelKind;

const HcPanelKind *hc_cpu_panels_float64(void);
/* NULL where this processor (or this build) has no such unit. */
const HcPanelKind *hc_cpu_panels_amx(void);
const HcPanelKind *hc_cpu_panels_pairs(HcCpuGram way);

/* NULL where this processor does not have it; HC_CPU_GRAM_BEST is always there. */
const HcPanelKind *hc_cpu_panel_kind(HcCpuGram way);

/* One thread's sums of pixels with far values below 2^53, which need no more than 128 bits. */
typedef struct HcFarSums {
    int64_t pixels;
    HcWide *sum;     /* [bands] */
    HcWide *product; /* [bands][bands], upper triangle; NULL until there is a far value */
} HcFarSums;

/* One thread's memory for a strip of HC_CPU_RUN samples. */
typedef struct HcGridWork {
    double *row[3];  /* [HC_CPU_RUN + 2][bands]: lines above, here and below of the strip, on the grid */
    int64_t line[3]; /* which lines these are, -1 = none */
    double *values;  /* [HC_CPU_RUN][bands] */
    float *medians;  /* [HC_CPU_RUN][bands] */
    double *near;    /* [bands] of a pixel with far values */
    int32_t *far;    /* [bands] */
    int64_t *whole;  /* [bands] of such a pixel, as integers */
    HcFarSums sums;
} HcGridWork;

/* Sums of pixels with values beyond 2^53 units, which need long integers: for one thread, or for some where
 * memory would not suffice. */
typedef struct HcFartherSums {
    pthread_mutex_t lock;
    HcMoments moments; /* far sums alone; bands 0 until there is such a value */
} HcFartherSums;

struct HcSums {
    HcSumsHead head;
    HcCpu *cpu;
    int32_t bands;
    int32_t threads;         /* when they were opened; calls may have fewer */
    int64_t limit;           /* of integers, 0 = floats */
    HcMoments moments;       /* exact ones of floats know the grid */
    double *scale;           /* [bands] of the grid, NULL = none */
    const HcPanelKind *kind; /* of the exact form */
    HcPanels **panels;       /* [threads] */
    HcGridWork *work;        /* [threads] of a grid, NULL = none */
    HcFartherSums *farther;  /* [farther_count] of a grid, NULL = none */
    int farther_count;
    pthread_mutex_t lock; /* of the moments while threads add to them */
};

/* Adds the pixels ok[samples] of a block of one line, on the calling thread, which is number `thread`;
 * scratch[HC_CPU_RUN][bands]. */
HcStatus hc_cpu_gram_line(HcSums *sums, const HcBlock *in, HcDifference kind, const uint8_t *ok,
                          int32_t thread, float *scratch, HcError *err);

/* ---- float scenes on a grid (grid.c) ---- */

/* Memory of one thread, its sums of far values included, and of all sums of values beyond 2^53 units [bytes].
 */
size_t hc_cpu_grid_bytes(int32_t bands);
size_t hc_cpu_farther_bytes(int32_t bands, int32_t threads);

HcStatus hc_cpu_grid_open(HcGridWork *work, int32_t bands, HcError *err);
void hc_cpu_grid_close(HcGridWork *work);

/* Opens and closes the sums of values beyond 2^53 units. */
HcStatus hc_cpu_farther_open(HcSums *sums, HcError *err);
void hc_cpu_farther_close(HcSums *sums);

/* These sums -> moments. */
HcStatus hc_cpu_farther_drain(HcSums *sums, HcError *err);

/* The sums of far values -> moments. */
void hc_cpu_grid_drain(HcGridWork *work, HcSums *sums);

/* Forgets the lines: another block, or another strip. */
void hc_cpu_grid_begin(HcGridWork *work);

/* The values of `count` (HC_CPU_RUN at most) pixels from `sample` on, or their differences, into
 * work->values[count][bands]. All their neighbours exist in the strip [first, last) of samples. Only near
 * values are written there. Far ones go to work->sums, or to the moments where 128 bits cannot hold them;
 * fails where there is no memory. */
HcStatus hc_cpu_grid_values(HcGridWork *work, const HcBlock *in, HcDifference kind, int64_t line,
                            int32_t first, int32_t last, int32_t sample, int32_t count, HcSums *sums,
                            HcError *err);

#endif
