/* What every conformance case needs: an open backend, memory that is checked, random numbers, a cube. */
#ifndef HC_TESTS_CONFORMANCE_RIG_H
#define HC_TESTS_CONFORMANCE_RIG_H

#include "core/compute.h"
#include "tests/support/check.h"
#include "tests/support/random.h"

/* The backend that this run is about. */
extern const HcComputeOps *rig_ops;

enum { RIG_BUFFERS = 64 };

typedef struct Rig {
    HcCompute *compute;
    HcQueue *queue;
    HcError err;
    int buffers;
    HcBuffer buffer[RIG_BUFFERS];
} Rig;

void rig_open(Rig *rig, int32_t threads);
/* From now on rigs share one backend and one queue, whatever `threads` they ask for. rig_unshare() closes
 * them. */
void rig_share(int32_t threads);
void rig_unshare(void);
void rig_close(Rig *rig);
/* Frees the device memory, keeps the backend open. */
void rig_empty(Rig *rig);

/* Device memory with a copy of `bytes` bytes; with a sentinel behind it. */
void *rig_put(Rig *rig, const void *from, size_t bytes);
/* Device memory for a result: filled with 0xFF, with a sentinel behind it. */
void *rig_alloc(Rig *rig, size_t bytes);
/* Waits, fetches a result and checks the sentinel. */
void rig_get(Rig *rig, const void *from, void *to, size_t bytes);

/* A whole scene on the host. */
typedef struct Cube {
    int32_t lines, samples, bands;
    float *data;   /* [lines][samples][bands] */
    uint8_t *mask; /* [lines][samples] */
} Cube;

typedef enum Masking { MASK_NONE, MASK_SOME, MASK_ALL } Masking;

Cube cube_new(int32_t lines, int32_t samples, int32_t bands);
void cube_free(Cube *cube);
/* Masks at random (one in eight), and zeroes what is masked. */
void cube_mask(Cube *cube, Masking masking, uint64_t *seed);
void cube_fill_integers(Cube *cube, int64_t low, int64_t high, uint64_t *seed);
void cube_fill_normal(Cube *cube, double mean, double deviation, uint64_t *seed);
static inline float cube_at(const Cube *cube, int64_t line, int64_t sample, int64_t band) {
    return cube->data[(line * cube->samples + sample) * cube->bands + band];
}

/* The lines [line0, line0 + lines) with up to `halo` more on each side, in device memory. */
HcBlock rig_put_block(Rig *rig, const Cube *cube, int64_t line0, int32_t lines, int32_t halo);
/* Memory of an output block over those lines, with `bands` bands. */
HcBlock rig_alloc_block(Rig *rig, const Cube *cube, int64_t line0, int32_t lines, int32_t halo,
                        int32_t bands);
/* Fetches the rows of a block into host memory made here. */
Cube rig_get_block(Rig *rig, const HcBlock *block);

/* Fails the test unless the rows of a block over the lines from line0 on, with up to `halo` more on each
 * side, are those of the whole scene, to the last bit. */
void rig_check_rows(const Cube *rows, const Cube *whole, int64_t line0, int32_t halo);

/* An operation from one block to another, with a scene and what it is opened for: what every such operation
 * must do alike is checked here once. */
typedef struct RigOperation {
    const Cube *cube;
    const void *rule;
    int32_t bands;   /* of the output */
    int32_t halo;    /* lines that the input has on each side beyond those of the output */
    bool keeps_halo; /* the output may have a halo, too */
    void *(*open)(Rig *rig, const void *rule);
    HcStatus (*call)(HcQueue *queue, const HcBlock *in, void *made, const HcBlock *out, HcError *err);
    void (*close)(void *made);
} RigOperation;

/* The lines [line0, line0 + lines) of the output; with up to `spare` more on each side, if it may have them.
 */
Cube rig_run_block(Rig *rig, const RigOperation *operation, void *made, int64_t line0, int32_t lines,
                   int32_t spare);
/* The whole scene. */
Cube rig_run(const RigOperation *operation, int32_t threads);
/* Fails the test unless every pixel has the bits of the whole scene, cut into blocks of each of the sizes
 * (0 ends them), with one spare line for odd sizes. */
void rig_check_cuts(const RigOperation *operation, int32_t threads, const int32_t *sizes, const Cube *whole);
/* Fails the test unless a call finds all that opening brings to the device, though other copies are still on
 * their way there. */
void rig_check_opening(const RigOperation *operation, int32_t threads, const Cube *whole);
/* Fails the test unless a call that lacks an argument, or whose blocks do not belong together, is refused. */
void rig_check_refusals(Rig *rig, const RigOperation *operation, void *made, const HcBlock *in,
                        const HcBlock *out);

/* A reflectance: a slope, two features and noise with that deviation. */
void rig_fill_spectrum(float *spectrum, int32_t bands, double texture, uint64_t *seed);

/* A case. CMake finds it by this line and runs it for every backend. Its name is test_OPERATION, or
 * test_OPERATION_WHAT. */
#define CASE(name)                                                                                           \
    void name(void **state);                                                                                 \
    void name(void **state)

/* A case that takes a hundredth of a second. `conformance BACKEND pairs` runs each of them right after each
 * one, on one queue. Every operation has one. */
#define SMALL(name) CASE(name)

#endif
