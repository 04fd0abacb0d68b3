/* Scale: which values become the ends of the colours of a picture. Maps of one kind can be compared only on
 * one scale, and a map of parts only where none and all have the same colours everywhere. */
#ifndef HC_PIPELINE_PICTURE_SCALE_H
#define HC_PIPELINE_PICTURE_SCALE_H

#include "core/scene.h"
#include "core/text.h"

#include <stddef.h>

typedef enum HcScaleSigns {
    HC_SIGNS_IGNORED, /* as of three bands in one picture */
    HC_SIGNS_FOUND, /* values of both signs get as much colour below 0 as above; a few strays do not count */
    HC_SIGNS_ALL,   /* the same, with strays */
} HcScaleSigns;

/* Of a picture in the colours that an option chose (-1 = by the signs, else HcRamp): one band, or three. */
HcScaleSigns hc_scale_signs(bool single, int64_t colours);

/* The planes of a picture, [count][pixels]. */
typedef struct HcScaled {
    const HcScene *scene;
    const int32_t *band; /* [count] of the scene, which the planes show */
    int32_t count;
    const float *plane;
    const uint8_t *valid; /* [pixels] */
    size_t pixels;
    double percentile[2]; /* [%] NAN: 2 and 98, but for abundances 0 to 1, and for scores 0 to 98 % */
    HcScaleSigns signs;
    bool one; /* all bands have the ends of the widest */
} HcScaled;

/* "LOW,HIGH" of the option --percentiles; NULL: both are NAN. HC_E_USAGE: no rising numbers from 0 to 100. */
HcStatus hc_scale_percentiles(const char *who, const char *text, double percentile[2],
                              HcError *err) HC_MUST_CHECK;

/* "LOW,HIGH" of the option --limits, or six values where the picture has three colours: limit[count].
 * HC_E_USAGE: no rising numbers. */
HcStatus hc_scale_limits(const char *who, const char *text, bool colours, int32_t count, float (*limit)[2],
                         HcError *err) HC_MUST_CHECK;

/* limit[count]: the values at both ends. Scores of one kind share theirs. */
HcStatus hc_scale_find(const HcScaled *scaled, float (*limit)[2], HcError *err) HC_MUST_CHECK;

/* Says where the ends of a band come from: "0 to 1", "2 % to 98 % of the shown pixels". */
void hc_scale_say(const HcScaled *scaled, int32_t band, const float limit[2], HcText *to);

/* Whether the values of a band are parts of a pixel. */
bool hc_scale_is_fraction(const HcScene *scene, int32_t band);
/* Whether they are scores: values that are compared with each other. */
bool hc_scale_is_score(const HcScene *scene, int32_t band);

#endif
