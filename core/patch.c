#include "core/patch.h"

/* Part of the Marchenko-Pastur distribution of ratio r^2 below t = 1 + r^2 - 2 r cos(angle): with t that way,
 * its density sqrt((b - t) (t - a)) / (2 pi r^2 t) is 2 / pi sin(angle)^2 / t, whose integral is known. */
static double part_below(double r, double angle) {
    double pi = acos(-1);
    double square = r * r;
    double turn = atan2((1 + r) * sin(angle / 2), (1 - r) * cos(angle / 2));
    double integral =
        sin(angle) / (2 * r) + (1 + square) * angle / (4 * square) - (1 - square) * turn / (2 * square);
    return 2 / pi * integral;
}

double hc_patch_quantile(double ratio, double share) {
    double r = sqrt(ratio);
    double low = 0;
    double high = acos(-1);
    for (int halving = 0; halving < 60; halving++) {
        double middle = (low + high) / 2;
        *(part_below(r, middle) < share ? &low : &high) = middle;
    }
    return 1 + ratio - 2 * r * cos(low);
}

double hc_patch_median(double ratio) {
    return hc_patch_quantile(ratio, 0.5);
}

/* The limit over sqrt(n), see HcPatchKeep. */
static double least_of(HcPatchKeep keep, double ratio) {
    switch (keep) {
    case HC_PATCH_OPTIMAL:
        return sqrt(2 * (ratio + 1) + 8 * ratio / (ratio + 1 + sqrt(ratio * ratio + 14 * ratio + 1)));
    case HC_PATCH_EDGE:
    case HC_PATCH_SHRINK:
        return 1 + sqrt(ratio);
    default:
        return 0;
    }
}

void hc_patch_levels(const HcPatchRule *rule, int32_t pixels, HcPatchLevel *level) {
    level[0] = (HcPatchLevel){0};
    for (int32_t valid = 1; valid <= pixels; valid++) {
        int32_t smaller = valid < rule->bands ? valid : rule->bands;
        int32_t larger = valid < rule->bands ? rule->bands : valid;
        double ratio = (double)smaller / larger;
        double root = sqrt(larger);
        level[valid] = (HcPatchLevel){.values = smaller,
                                      .least = root * least_of(rule->keep, ratio),
                                      .root = root,
                                      .ratio = ratio,
                                      .expected = root * sqrt(hc_patch_median(ratio))};
    }
}
