/* Local: scores against the statistics of a window around each pixel, less a guard window inside it.
 *
 * Pixels are whitened by the covariance of the scene first. Their components are then about 1 whatever the
 * unit of the bands, and are rounded to whole multiples of at most sqrt(n) 2^-42, for n pixels of the scene.
 * Sums over a window are sums of integers: lines and columns that enter are added, those that leave are
 * subtracted, and no error grows. So a pixel costs the same for every size of the window, and its score has
 * the bits of sums that are formed anew. */
#ifndef HC_PIPELINE_STAGES_RX_LOCAL_H
#define HC_PIPELINE_STAGES_RX_LOCAL_H

#include "core/compute.h"
#include "core/sums/long.h"
#include "core/team.h"

enum { HC_LOCAL_WINDOW_MAX = 255 };

/* What was asked. Windows are squares of an odd number of pixels, smaller at the border of the scene. */
typedef struct HcLocalAsk {
    int32_t window, guard;   /* sides [pixels], guard < window */
    double share;            /* of the covariance of the scene in that of a window, 0 to 1 */
    int64_t lines, samples;  /* of the scene */
    int64_t pixels;          /* of the statistics that whiten */
    int32_t directions;      /* of whitened pixels */
    const double *whitening; /* [device] [bands][directions] */
    const double *mean;      /* [device] [bands] */
} HcLocalAsk;

/* Rows that the sums of each column hold. */
typedef struct HcLocalSpan {
    int64_t first, end;
    HcWide *column; /* [samples][numbers] */
} HcLocalSpan;

/* Zero-initialise; hc_local_close() is always safe. */
typedef struct HcLocal {
    HcLocalAsk ask;
    HcCompute *compute;
    HcTeam *team;
    double per_unit; /* integers of a whitened unit */
    size_t numbers;  /* of the sums of pixels: their count, sums, sums of products (upper triangle) */
    HcLocalSpan outer, inner;   /* of the window and of the guard */
    HcWide *sums;               /* [threads][2][numbers] */
    double *scratch;            /* [threads][directions][directions + 2] */
    int64_t *whole;             /* [threads][directions] */
    HcBuffer piece;             /* [device] rows on their way to the host */
    HcBuffer values, mask;      /* [host] a ring of rows: [rows][samples][directions], [rows][samples] */
    int64_t rows, loaded;       /* of the ring; the next row to load */
    HcBuffer score, score_mask; /* [host] [samples] */
    int64_t *bare;              /* [threads] valid pixels of a line without a score */
} HcLocal;

/* Host memory for all threads and for each of them, and device memory [bytes]. */
size_t hc_local_bytes(const HcLocalAsk *ask);
size_t hc_local_thread_bytes(const HcLocalAsk *ask);
size_t hc_local_device_bytes(const HcLocalAsk *ask);

/* Pixels of the window with the most of them, less its guard; fewer than a whole window has where the scene
 * is small. */
int64_t hc_local_pixels(const HcLocalAsk *ask);

HcStatus hc_local_open(HcLocal *local, HcCompute *compute, const HcLocalAsk *ask, HcError *err) HC_MUST_CHECK;

/* Scores of all rows of `out`, which has one band; `in` has half a window more. Blocks come in any order.
 * Pixels are masked where the window has too few valid pixels, or its covariance has no inverse. bare grows
 * by those in interior lines. Waits for the queue. */
HcStatus hc_local_process(HcLocal *local, HcQueue *queue, const HcBlock *in, const HcBlock *out,
                          int64_t *bare, HcError *err) HC_MUST_CHECK;

void hc_local_close(HcLocal *local);

#endif
