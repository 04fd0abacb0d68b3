/* Nearest neighbours as plainly as possible: scenes with labels, and the class of each pixel by comparing it
 * with every training spectrum, in double. */
#ifndef HC_TESTS_SUPPORT_NEAREST_H
#define HC_TESTS_SUPPORT_NEAREST_H

#include "tests/support/scene_files.h"

#include <cJSON.h>

enum { LINES = 37, SAMPLES = 41, BANDS = 6, CLASSES = 3, NEIGHBOURS_MAX = 16 };

/* The numbers of the classes in the rasters of knn_labels(), and in maps that they train. */
extern const int knn_class_number[CLASSES + 1];

typedef struct KnnHow {
    int k;
    bool weighted, angle, scaled;
    double reject;
} KnnHow;

typedef struct KnnTrained {
    int count, bands;
    bool numbered; /* maps have the numbers of knn_class_number */
    double *value; /* [count][bands] */
    int *class;
    double mean[BANDS], deviation[BANDS];
} KnnTrained;

typedef struct KnnAnswer {
    int class;
    double confidence, distance;
    int neighbour[NEIGHBOURS_MAX];
} KnnAnswer;

/* scene.img: LINES x SAMPLES x BANDS, float32, with a border of nodata. */
Cube knn_scene(void);
/* NAME.img: each pixel has a class with the probability `share`; the class depends loosely on the first band.
 */
Cube knn_labels(const Cube *scene, const char *name, uint64_t seed, double share);
/* The class, from 1, of a number of knn_class_number; else 0. */
int knn_class_of(double number);

/* The valid pixels of `scene` that have a class, in order; chosen[pixels] = 0 leaves one out, NULL = none. */
KnnTrained knn_train(const Cube *scene, const Cube *labels, const uint8_t *chosen, bool scaled);
/* Mean and standard deviation of the training spectra, which scale what is compared. */
void knn_set_scale(KnnTrained *trained);
void knn_free(KnnTrained *trained);

/* The answer for one pixel x[trained->bands]. */
KnnAnswer knn_classify(const KnnTrained *trained, const KnnHow *how, const double *x);

/* Options and output that knn_check_map() compares. */
#define BANDS_OUT "--confidence --distance --neighbours ! write out.img --type float32 --nodata nan"
/* Compares NAME.img (class, confidence, distance, k neighbours) with the reference at every pixel. */
void knn_check_map(const char *name, const Cube *scene, const KnnTrained *trained, const KnnHow *how);

cJSON *knn_read_json(const char *path);
/* The report agrees with this matrix [truth - 1][prediction]. */
void knn_check_report(const cJSON *json, int64_t matrix[CLASSES][CLASSES + 1]);

#endif
