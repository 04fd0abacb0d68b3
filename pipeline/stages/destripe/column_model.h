/* Column model: which part of the medians of columns is stripes (stripes.h has the model). */
#ifndef HC_PIPELINE_STAGES_DESTRIPE_COLUMN_MODEL_H
#define HC_PIPELINE_STAGES_DESTRIPE_COLUMN_MODEL_H

#include "core/status.h"
#include "core/system/team.h"

#include <stdbool.h>
#include <stdint.h>

enum { HC_COLUMN_MODEL_VALUES = 5 }; /* of a column and component */

/* What is known of the columns of a component. */
typedef struct HcComponentRule {
    double variance;  /* of the terms */
    double deviation; /* of that, by chance */
    double noise;     /* of a median, beside the terms */
    double walk;      /* of the steps of the scene from column to column, and of what medians err there */
    double excess;    /* variance of the scene in medians over a column */
    bool counts;      /* it has stripes */
    bool by_level;    /* medians over a column are nearer to the terms than those of steps */
} HcComponentRule;

/* Zero-initialise; hc_column_model_close() is always safe. */
typedef struct HcColumnModel {
    int32_t components, flat; /* those from `flat` on have no texture */
    int64_t columns;
    double *step[2];  /* [components][columns] median of the step to the next column, by half of the scene */
    double *level[2]; /* [components][columns] median of the column. NaN: no valid pixel */
    double *term;     /* [components][columns] found */
    HcComponentRule *rule; /* [components] */
    double *score;         /* [components] variance of the terms over its deviation without any */
    double *strength;      /* [columns] variance of the terms of a column, over that of all */
    double *work;          /* [threads][2][columns] */
} HcColumnModel;

HcStatus hc_column_model_open(HcColumnModel *model, int32_t components, int64_t columns, int32_t flat,
                              const HcTeam *team, HcError *err) HC_MUST_CHECK;
void hc_column_model_close(HcColumnModel *model);

/* Fits `term` to the medians. Returns whether there are stripes; without them all terms are 0. */
bool hc_column_model_fit(HcColumnModel *model, HcTeam *team);

#endif
