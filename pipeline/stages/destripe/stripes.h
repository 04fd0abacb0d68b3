/* Stripes: a term for each detector column and band, by least absolute deviations, that is taken from a
 * scene. So it is with lines: they are columns of the scene that lies on its side.
 *
 * The lower neighbour of a pixel has the same column term. So the differences of lines, free of stripes, give
 * components (the basis): the first have the texture of the scene, the last are noise alone. In each of them
 *
 *     value(line, column) = scene(line, column) + term(column) + noise,
 *
 * and the sum over the lines of |value(line, s + 1) - value(line, s) - step(s)| is least for the median of
 * the differences: an edge in less than half of the lines does not move it. Medians are those of segments of
 * lines, and then of the segments (a remedian: Rousseeuw and Bassett 1990), so that a scene may be of any
 * length.
 *
 * The segments of both halves of the scene give steps of their own. Terms that are independent from column to
 * column have steps whose neighbours have the covariance -t, with the variance t of the terms. That between
 * one half and the other holds no noise, and edges that go through the scene add nothing to it. So it tells
 * whether there are stripes. The scene is a random walk along the columns to the steps, and terms are the
 * best linear estimate. Where a component has no texture, its medians over a column say more than steps do.
 */
#ifndef HC_PIPELINE_STAGES_DESTRIPE_STRIPES_H
#define HC_PIPELINE_STAGES_DESTRIPE_STRIPES_H

#include "core/system/team.h"
#include "pipeline/stages/shared/linear.h"
#include "ranks/ranks.h"

enum { HC_STRIPES_LINES = 24, HC_STRIPES_SAMPLES = 24 }; /* fewest of a scene */

/* Zero-initialise; hc_stripes_close() is always safe. */
typedef struct HcStripes {
    HcCompute *compute; /* borrowed */
    HcTransform basis;  /* with a method once it is there */
    bool of_lines;      /* set before open: each line has a term, not each column */
    bool keeps_means;   /* set before open */
    int64_t lines, samples;
    int64_t items;    /* columns, or lines, that have terms */
    int32_t segment;  /* lines of a segment */
    int64_t every;    /* one of N segments is looked at */
    int32_t segments; /* that are looked at */
    HcLinearMatrices device;
    HcBuffer strip;   /* [device] components of some lines, and their mask */
    HcBuffer fetched; /* [host] the same */
    HcTeam *team;
    float *lines_of;   /* [segment][samples][components] that came last; NaN = masked */
    float *room;       /* [threads][samples] of lines; NULL = of columns */
    int64_t next;      /* line that comes next, of lines */
    float *level;      /* [segments][items][components] medians; NaN = no valid pixel */
    float *step;       /* the same of differences to the next column */
    int64_t *sum;      /* [items][components] of all pixels, in units of 2^-20 */
    int64_t *count;    /* [items] valid pixels */
    double *component; /* [items][components] terms */
    bool found;
    bool in_own_units; /* components are in units of the stripes, not of the noise */
    double *term;      /* [items][bands] in units of the scene; the mean over the pixels of a band is 0 */
    double *mean;      /* [items][bands] means of the values, with keeps_means; NaN = no valid pixel */
} HcStripes;

/* Whether the scene has enough lines and samples; `who` begins the message. */
HcStatus hc_stripes_check(const HcScene *scene, const char *who, HcError *err) HC_MUST_CHECK;

/* Lines that one rank has to have together; stripes of lines need a line of context instead. */
int32_t hc_stripes_segment(const HcScene *scene);

/* Memory while stripes are looked for, and of the terms [bytes]. */
size_t hc_stripes_bytes_device(const HcScene *scene);
size_t hc_stripes_bytes(const HcScene *scene, bool of_lines);

/* Differences along the stripes, which have none of them. */
HcDifference hc_stripes_difference(bool of_lines);

/* Makes the basis of sums of these differences, about the mean of the scene, and gets ready for blocks.
 *
 * HC_E_NUMERIC: too few pixels for the bands, or bands that are combinations of others. */
HcStatus hc_stripes_open(HcStripes *stripes, HcCompute *compute, const HcScene *scene, const double *mean,
                         const HcMoments *along, HcError *err) HC_MUST_CHECK;
void hc_stripes_close(HcStripes *stripes);

/* After settling, where stripes were found: gets ready for the blocks of the scene once more, with nothing
 * found. The basis becomes that in units of these stripes. */
HcStatus hc_stripes_again(HcStripes *stripes, const HcScene *scene, HcError *err) HC_MUST_CHECK;

/* Adds a block; blocks come in order. Waits for the queue. */
HcStatus hc_stripes_observe(HcStripes *stripes, HcQueue *queue, const HcBlock *in,
                            HcError *err) HC_MUST_CHECK;

/* All ranks, after the last block: finds the terms, and frees what only that needs. */
HcStatus hc_stripes_settle(HcStripes *stripes, HcRanks *ranks, HcError *err) HC_MUST_CHECK;

/* Makes the covariance of a scene that of the scene without its stripes; once, right after settling. */
HcStatus hc_stripes_correct(HcStripes *stripes, HcStatistics *scene, HcError *err) HC_MUST_CHECK;

/* Root mean square of the terms of a band. */
double hc_stripes_of_band(const HcStripes *stripes, int32_t band);

#endif
