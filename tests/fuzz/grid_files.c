/* Fuzz harness: files of bands to resample to: --wavelengths, --responses, and a header of --like. */
#include "pipeline/stages/resample/target.h"
#include "tests/fuzz/harness.h"

#include <math.h>

/* What the stage counts on. */
static void check_target(const HcTarget *target) {
    hc_fuzz_expect(target->count > 0, "there are bands");
    for (int32_t k = 0; k < target->count; k++) {
        hc_fuzz_expect(target->centre[k] > 0 && isfinite(target->centre[k]), "a centre is positive");
        hc_fuzz_expect(target->width[k] > 0 && isfinite(target->width[k]), "a width is positive");
        if (target->first == NULL) {
            continue;
        }
        hc_fuzz_expect(target->first[k + 1] > target->first[k], "a response has values");
        for (int32_t i = target->first[k]; i < target->first[k + 1]; i++) {
            hc_fuzz_expect(target->value[i] >= 0 && isfinite(target->value[i]), "a response is not below 0");
            hc_fuzz_expect(i == target->first[k] || target->x[i] > target->x[i - 1],
                           "wavelengths of a response rise");
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const struct {
        const char *name;
        HcStatus (*read)(HcTarget *target, const char *text, HcError *err);
    } readers[] = {{"grid.txt", hc_target_wavelengths},
                   {"responses.csv", hc_target_responses},
                   {"sensor.hdr", hc_target_like}};
    for (size_t r = 0; r < sizeof readers / sizeof *readers; r++) {
        char path[HC_FUZZ_PATH];
        HcTarget target = {0};
        HcError err = {0};
        hc_fuzz_file(path, readers[r].name, data, size);
        HcStatus status = readers[r].read(&target, path, &err);
        hc_fuzz_check(status, &err);
        if (status == HC_OK) {
            check_target(&target);
        }
        hc_target_clear(&target);
    }
    hc_fuzz_empty_folder();
    return 0;
}
