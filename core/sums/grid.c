#include "core/sums/grid.h"

enum {
    SPREAD_BITS = 28, /* of the unit below the spread */
    CENTER_BITS = 50, /* bits of the center above the unit, at most */
    SMALLEST = -149,  /* the unit of denormals */
    LARGEST = 127,
    CLIPS = 3
};

int32_t hc_grid_wrong_band(const HcGrid *grid, int32_t bands) {
    for (int32_t b = 0; b < bands; b++) {
        double units = ldexp(grid->center[b], -grid->exponent[b]);
        if (grid->exponent[b] < SMALLEST || grid->exponent[b] > LARGEST || !(fabs(units) <= 0x1p53) ||
            units != rint(units)) {
            return b;
        }
    }
    return -1;
}

typedef struct Spread {
    double mean, deviation;
} Spread;

/* Mean and deviation of the values within `reach` of `about`. */
static Spread spread_of(const float *values, int64_t count, int32_t bands, double about, double reach) {
    double sum = 0;
    double square = 0;
    double low = INFINITY;
    double high = -INFINITY;
    int64_t used = 0;
    for (int64_t i = 0; i < count; i++) {
        double x = (double)values[i * bands];
        if (fabs(x - about) <= reach) {
            sum += x;
            low = fmin(low, x);
            high = fmax(high, x);
            used++;
        }
    }
    if (used == 0 || low == high) {
        return (Spread){used == 0 ? about : low, 0};
    }
    double mean = sum / (double)used;
    for (int64_t i = 0; i < count; i++) {
        double x = (double)values[i * bands];
        square += fabs(x - about) <= reach ? (x - mean) * (x - mean) : 0;
    }
    return (Spread){mean, sqrt(square / (double)used)};
}

static Spread bulk_of(const float *values, int64_t count, int32_t bands) {
    Spread spread = spread_of(values, count, bands, count > 0 ? (double)values[0] : 0, INFINITY);
    for (int clip = 0; clip < CLIPS && spread.deviation > 0; clip++) {
        Spread next = spread_of(values, count, bands, spread.mean, 4 * spread.deviation);
        if (next.deviation == 0) {
            break; /* all others are the same: they would make every other value a far one */
        }
        spread = next;
    }
    return spread;
}

/* floor(log2(value)); value > 0. */
static int32_t exponent_of(double value) {
    int exponent = 0;
    (void)frexp(value, &exponent);
    return exponent - 1;
}

void hc_grid_choose(const float *values, int64_t count, int32_t bands, double *center, int32_t *exponent) {
    for (int32_t b = 0; b < bands; b++) {
        Spread spread = bulk_of(values + b, count, bands);
        int32_t unit = SMALLEST;
        if (spread.deviation > 0) {
            unit = exponent_of(spread.deviation) - SPREAD_BITS;
        } else if (spread.mean != 0) {
            unit = exponent_of(fabs(spread.mean)) - 31;
        }
        int32_t least = spread.mean != 0 ? exponent_of(fabs(spread.mean)) - CENTER_BITS : SMALLEST;
        unit = unit < least ? least : unit;
        unit = unit < SMALLEST ? SMALLEST : unit > LARGEST ? LARGEST : unit;
        exponent[b] = unit;
        center[b] = ldexp(rint(ldexp(spread.mean, -unit)), unit);
    }
}
