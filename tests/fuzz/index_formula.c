/* Fuzz harness: lists of formulas for `index`, and its constants after a 0 byte. What compiles is a program
 * that the operation takes. */
#include "pipeline/stages/index/indices.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static double wavelength[] = {440, 490, 530, 560, 665, 705, 740, 783, 833, 865, 1610, 2200};
    enum { BANDS = sizeof wavelength / sizeof *wavelength };
    static uint8_t bad[BANDS] = {[2] = 1};
    HcScene scene = {.bands = BANDS, .wavelength = wavelength, .bad = bad};
    HcIndices indices = {0};
    HcError err = {0};
    char *text = calloc(size + 2, 1);
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    const char *constants = text + strlen(text) + 1;
    constants = constants < text + size ? constants : NULL;
    HcStatus status = hc_indices_compile(&indices, text, constants, &scene, &err);
    hc_fuzz_check(status, &err);
    HcFormula formula = {
        .step = indices.step, .input = indices.input, .steps = indices.steps, .inputs = indices.inputs};
    if (status == HC_OK) {
        status = hc_formula_check(&formula, BANDS, indices.outputs, &err);
        hc_fuzz_expect(status == HC_OK, "the program can be done");
    }
    hc_indices_clear(&indices);
    free(text);
    return 0;
}
