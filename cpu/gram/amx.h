/* The panels of the matrix unit (AMX): what amx.c and amx_strips.c share. */
#ifndef HC_CPU_GRAM_AMX_H
#define HC_CPU_GRAM_AMX_H

#include "cpu/gram/gram.h"

#define HC_AMX __attribute__((target("amx-tile,amx-int8,avx512f,avx512bw,avx512dq")))

enum {
    HC_AMX_TILE = 16,         /* bands of a tile */
    HC_AMX_STEP = 64,         /* pixels of a tile */
    HC_AMX_TILE_BYTES = 1024, /* 16 x 64 limbs, or 16 x 16 sums */
    HC_AMX_STEPS = 8          /* of a panel */
};

/* Pixels are sorted by what their values need. */
typedef enum Class { BYTES_1U, BYTES_2U, BYTES_2S, BYTES_3S, BYTES_4S, BYTES_5S, CLASSES } Class;

static const struct {
    int limbs;
    bool is_signed; /* the top limb */
} class_of[CLASSES] = {{1, false}, {2, false}, {2, true}, {3, true}, {4, true}, {5, true}};

enum { LIMBS_MAX = 5, LIMBS_OF_INTEGERS = 3, LANES = 8 };

/* Products of limbs a and b weigh 256^(a + b): those of the same weight are one sum. */
static inline int weights_of(int limbs) {
    return limbs > 0 ? 2 * limbs - 1 : 0;
}

typedef struct Panel {
    int32_t filled;  /* pixels in `values` */
    int32_t steps;   /* in `rows` and `columns` */
    int32_t *values; /* [HC_AMX_STEP][padded], or their lowest 32 bits */
    int32_t *high;   /* [HC_AMX_STEP][padded]: what these leave, of five limbs */
    uint8_t *rows,
        *columns; /* [limbs][tiles][HC_AMX_STEPS][HC_AMX_TILE_BYTES]: limbs as the first and second factor */
} Panel;

struct HcPanels {
    int32_t bands, padded; /* padded to pairs of tiles */
    int32_t tiles;         /* of a limb */
    int32_t limbs;         /* that values may need */
    int32_t used;          /* of them, in `product` */
    float limit;           /* of integers, 0 = whole numbers of a grid */
    int32_t summed;        /* pixels in `product` */
    int64_t count;         /* pixels that the moments do not have yet */
    Class guess;           /* of the next pixel: that of the last */
    Panel panel[CLASSES];
    /* [column blocks][weights][row blocks up to the column's][2][2][HC_AMX_TILE][HC_AMX_TILE], of 32 bands */
    int32_t *product;
    int64_t *sum;      /* [padded] */
    HcWide *wide;      /* [bands][bands], upper triangle: what `product` held before */
    HcWide *wide_sum;  /* [bands] */
    Class strip_guess; /* of the next strip: that of the last */
    int64_t *lanes;    /* [padded][LANES] sums of strips, in parts */
    int64_t *strip;    /* [padded][LANES] of one strip */
    pthread_mutex_t *lock;
};

/* Multiplies the steps of a panel into the sums. */
void hc_amx_multiply(HcPanels *panels, Class of);

/* HcPanelKind.strip; hc_amx_has_strips: whether the processor has the instructions. */
bool hc_amx_strip(HcPanels *panels, const HcStrip *strip, HcMoments *moments);
bool hc_amx_has_strips(void);

#endif
