/* Fuzz harness: a claim that is found beside an output. */
#include "app/batch/batch.h"
#include "tests/fuzz/harness.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char path[HC_FUZZ_PATH];
    char output[HC_FUZZ_PATH];
    HcError err = {0};
    HcBatchClaim *claim = NULL;
    struct timespec long_ago[2] = {{.tv_sec = 1000000}, {.tv_sec = 1000000}};
    struct stat info;
    hc_fuzz_file(path, ".a.img.hcube-claim", data, size);
    snprintf(output, sizeof output, "%s/a.img", hc_fuzz_folder());
    if (size % 2 == 0) { /* its owner has not been heard of for long */
        hc_fuzz_expect(utimensat(AT_FDCWD, path, long_ago, 0) == 0, "a time can be set");
    }
    HcStatus status = hc_batch_claim(output, &claim, &err);
    hc_fuzz_check(status, &err);
    hc_fuzz_expect(status == HC_OK || claim == NULL, "who fails holds no claim");
    bool held = claim != NULL;
    hc_batch_release(claim, false);
    hc_fuzz_expect(!held || (stat(path, &info) != 0 && errno == ENOENT), "a released claim is gone");
    hc_fuzz_empty_folder();
    return 0;
}
