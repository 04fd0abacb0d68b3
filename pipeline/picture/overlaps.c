#include "pipeline/picture/overlaps.h"

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
