/* Fuzz harness: noise files of abundance and unmix (--weights), as text. */
#include "pipeline/spectra/weights.h"
#include "pipeline/chain.h"
#include "tests/fuzz/harness.h"

#include <math.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[HC_FUZZ_PATH];
    HcError err = {0};
    double *weight = NULL;
    HcSource source = {0}; /* has opened no file */
    HcChain chain = {.count = 1, .source = &source};
    HcStage stage = {.chain = &chain, .state = &source, .in = {.lines = 2, .samples = 2, .bands = 3}};
    chain.stages = &stage;
    hc_fuzz_file(path, "noise.txt", data, size);
    HcStatus status = hc_weights_read(path, &stage, &weight, &err);
    hc_fuzz_check(status, &err);
    for (int32_t b = 0; status == HC_OK && b < 3; b++) {
        hc_fuzz_expect(isfinite(weight[b]) && weight[b] >= 0, "a weight is finite");
    }
    free(weight);
    return 0;
}
