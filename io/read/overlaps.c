#include "io/read/overlaps.h"

int32_t hc_detector_overlaps(const HcScene *scene, double to[HC_OVERLAPS_MAX][2]) {
    const double *w = scene->wavelength;
    int32_t count = 0;
    for (int32_t b = 1, run = 1; b < scene->bands && w != NULL; b++, run++) {
        if (w[b] > w[b - 1]) {
            continue;
        }
        if (run < HC_DETECTOR_BANDS || count == HC_OVERLAPS_MAX) {
            return 0;
        }
        if (w[b] >= w[b - run]) {
            to[count][0] = w[b];
            to[count++][1] = w[b - 1];
        }
        run = 0;
    }
    return count;
}

int32_t hc_overlaps_mark(HcScene *scene, HcOverlap overlap) {
    const double *w = scene->wavelength;
    double seam[HC_OVERLAPS_MAX][2];
    int32_t count = hc_detector_overlaps(scene, seam), marked = 0;
    for (int32_t b = 1, o = 0; b < scene->bands && o < count; b++) {
        if (w[b] > w[b - 1] || w[b] != seam[o][0] || w[b - 1] != seam[o][1]) {
            continue;
        }
        bool longer = overlap == HC_OVERLAP_VNIR; /* the bands from b on, else those up to b - 1 */
        for (int32_t k = longer ? b : b - 1; k >= 0 && k < scene->bands; k += longer ? 1 : -1) {
            bool within = w[k] >= seam[o][0] && w[k] <= seam[o][1];
            if (!within) {
                break;
            }
            marked += !scene->bad[k];
            scene->bad[k] = 1;
        }
        o++;
    }
    return marked;
}
