/* Exact sums of products by BLAS: products of integers are exact in float64 as long as their sum stays below
 * 2^53, in whatever order BLAS adds them. */
#include "cpu/gram/gram.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PANEL = 256 };

struct HcPanels {
    int32_t bands;   /* of `panel`: twice those of the scene where values are cut in two */
    bool in_two;     /* whole numbers of a grid: v = 2^18 a + b; columns of all a, then of all b */
    double limit;    /* of what is multiplied */
    int64_t most;    /* pixels that fit before sums could reach 2^53 */
    int64_t summed;  /* pixels in `product` */
    int32_t filled;  /* pixels in `panel` */
    double *panel;   /* [PANEL][bands] */
    double *product; /* [bands][bands], upper triangle */
    double *sum;     /* [bands] */
    pthread_mutex_t *lock;
};

static void close_panels(HcPanels *panels) {
    if (panels != NULL) {
        free(panels->panel);
        free(panels->product);
        free(panels->sum);
        free(panels);
    }
}

static size_t bytes_of(int32_t bands, bool on_grid) {
    size_t n = (size_t)bands * (on_grid ? 2 : 1);
    return n * (n + PANEL + 1) * sizeof(double);
}

static HcStatus open_panels(int32_t bands, int64_t limit, pthread_mutex_t *lock, HcPanels **out,
                            HcError *err) {
    enum { HALF_BITS = 18 };
    bool in_two = limit == 0;
    size_t n = (size_t)bands * (in_two ? 2 : 1);
    HcPanels *panels = calloc(1, sizeof *panels);
    if (panels != NULL) {
        limit = in_two ? (int64_t)1 << (HALF_BITS - 1) : limit; /* |v| < 2^35 */
        panels->bands = (int32_t)n;
        panels->in_two = in_two;
        panels->lock = lock;
        panels->limit = (double)limit;
        panels->most = (((int64_t)1 << 53) - 1) / (limit * limit);
        panels->panel = aligned_alloc(64, (PANEL * n * sizeof(double) + 63) / 64 * 64);
        panels->product = calloc(n * n, sizeof(double));
        panels->sum = calloc(n, sizeof(double));
    }
    if (panels == NULL || panels->panel == NULL || panels->product == NULL || panels->sum == NULL) {
        close_panels(panels);
        return hc_fail_memory(err, (double)(n * (n + PANEL) * sizeof(double)), "panels of products");
    }
    *out = panels;
    return HC_OK;
}

/* 2^18 */
static const int64_t half_weight = (int64_t)1 << 18;

/* Products of halves -> the product of bands b and c. */
static HcWide product_of_halves(const HcPanels *panels, size_t b, size_t c) {
    size_t all = (size_t)panels->bands;
    size_t n = all / 2;
    const double *product = panels->product;
    int64_t high = (int64_t)product[b * all + c];
    int64_t mixed = (int64_t)product[b * all + n + c] + (int64_t)product[c * all + n + b];
    int64_t low = (int64_t)product[(n + b) * all + n + c];
    return ((HcWide)high * half_weight + mixed) * half_weight + low;
}

static void add_halves(const HcPanels *panels, HcMoments *moments) {
    size_t n = (size_t)moments->bands;
    for (size_t b = 0; b < n; b++) {
        moments->sum[b] += (HcWide)(int64_t)panels->sum[b] * half_weight + (int64_t)panels->sum[n + b];
        for (size_t c = b; c < n; c++) {
            moments->product[b * n + c] += product_of_halves(panels, b, c);
        }
    }
}

/* Sums -> moments. */
static void flush(HcPanels *panels, HcMoments *moments) {
    size_t n = (size_t)panels->bands;
    pthread_mutex_lock(panels->lock);
    if (panels->in_two) {
        add_halves(panels, moments);
        moments->count += panels->summed;
    } else {
        for (size_t b = 0; b < n; b++) {
            moments->sum[b] += (int64_t)panels->sum[b];
            for (size_t c = b; c < n; c++) {
                moments->product[b * n + c] += (int64_t)panels->product[b * n + c];
            }
        }
        moments->count += panels->summed;
    }
    pthread_mutex_unlock(panels->lock);
    memset(panels->product, 0, n * n * sizeof *panels->product);
    memset(panels->sum, 0, n * sizeof *panels->sum);
    panels->summed = 0;
}

HC_CLONES static void add_columns(const double *restrict panel, int64_t pixels, int64_t bands,
                                  double *restrict sum) {
    for (int64_t p = 0; p < pixels; p++) {
        for (int64_t b = 0; b < bands; b++) {
            sum[b] += panel[p * bands + b];
        }
    }
}

/* The panel -> sums. */
static void multiply(HcPanels *panels, HcMoments *moments) {
    int n = panels->bands;
    if (panels->summed + panels->filled > panels->most) {
        flush(panels, moments);
    }
    cblas_dsyrk(CblasRowMajor, CblasUpper, CblasTrans, n, panels->filled, 1.0, panels->panel, n, 1.0,
                panels->product, n);
    add_columns(panels->panel, panels->filled, n, panels->sum);
    panels->summed += panels->filled;
    panels->filled = 0;
}

HC_CLONES static int32_t widen(const float *restrict x, int64_t count, double limit, double *restrict out) {
    int32_t beyond = 0;
    for (int64_t i = 0; i < count; i++) {
        double value = (double)x[i];
        beyond |= !(fabs(value) <= limit);
        out[i] = value;
    }
    return beyond;
}

static bool add(HcPanels *panels, const float *pixels, int32_t count, HcMoments *moments) {
    int64_t n = panels->bands;
    while (count > 0) {
        int32_t part = PANEL - panels->filled < count ? PANEL - panels->filled : count;
        if (widen(pixels, part * n, panels->limit, panels->panel + panels->filled * n) != 0) {
            return false;
        }
        panels->filled += part;
        pixels += part * n;
        count -= part;
        if (panels->filled == PANEL) {
            multiply(panels, moments);
        }
    }
    return true;
}

/* v = 2^18 a + b with |b| <= 2^17. */
HC_CLONES static void cut_in_two(const double *restrict v, int64_t bands, double *restrict a,
                                 double *restrict b) {
    for (int64_t i = 0; i < bands; i++) {
        a[i] = rint(v[i] * 0x1p-18);
        b[i] = v[i] - a[i] * 0x1p18;
    }
}

static void add_near(HcPanels *panels, const double *pixels, int32_t count, HcMoments *moments) {
    int64_t n = panels->bands / 2;
    for (int32_t p = 0; p < count; p++) {
        double *to = panels->panel + panels->filled * 2 * n;
        cut_in_two(pixels + p * n, n, to, to + n);
        if (++panels->filled == PANEL) {
            multiply(panels, moments);
        }
    }
}

static void drain(HcPanels *panels, HcMoments *moments) {
    if (panels->filled > 0) {
        multiply(panels, moments);
    }
    flush(panels, moments);
}

const HcPanelKind *hc_cpu_panels_float64(void) {
    static const HcPanelKind kind = {open_panels, close_panels, add, add_near, drain, NULL, false, bytes_of};
    return &kind;
}
