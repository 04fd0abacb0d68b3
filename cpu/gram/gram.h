/* Sums of products: what the files gram*.c share. */
#ifndef HC_CPU_GRAM_GRAM_H
#define HC_CPU_GRAM_GRAM_H

#include "core/operation/gram.h"
#include "cpu/image/difference.h"

HcSumsOpenFn hc_cpu_sums_open;
HcSumsCloseFn hc_cpu_sums_close;
HcGramFn hc_cpu_gram;
HcSumsFetchFn hc_cpu_sums_fetch;

/* One thread's part of exact sums. Pixels are collected in panels, panels are multiplied into narrow sums,
 * and narrow sums are added to the moments (upper triangle) before they could be inexact. Only add() and
 * drain() touch the moments, one thread at a time. */
typedef struct HcPanels HcPanels;

typedef struct HcPanelKind {
    HcStatus (*open)(int32_t bands, int64_t limit, HcPanels **out, HcError *err);
    void (*close)(HcPanels *panels);
    /* pixels[count][bands], integers; false when one is beyond the limit. */
    bool (*add)(HcPanels *panels, const float *pixels, int32_t count, HcMoments *moments);
    /* Empties the panels into the moments. */
    void (*drain)(HcPanels *panels, HcMoments *moments);
} HcPanelKind;

const HcPanelKind *hc_cpu_panels_float64(void);
/* NULL where this processor (or this build) has no such unit. */
const HcPanelKind *hc_cpu_panels_amx(void);

static inline const HcPanelKind *hc_cpu_panel_kind(HcCpuGram way) {
    const HcPanelKind *amx = way != HC_CPU_GRAM_FLOAT64 ? hc_cpu_panels_amx() : NULL;
    return amx != NULL ? amx : hc_cpu_panels_float64();
}

struct HcSums {
    HcSumsHead head;
    HcCpu *cpu;
    int32_t bands;
    int64_t limit; /* 0 = the float form */
    HcMoments moments;
    const HcPanelKind *kind; /* of the exact form */
    HcPanels **panels;       /* [threads] */
};

HcStatus hc_cpu_gram_float(const HcBlock *in, HcDifference kind, const HcWindow *window, HcSums *sums,
                           HcError *err);

#endif
