/* Fuzz harness: the expert rules of identify, brought to the bands of a scene. */
#include "pipeline/stages/identify/identify.h"
#include "tests/fuzz/harness.h"

#include <math.h>

enum { BANDS = 64, SPECTRA = 4 };

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t capacity, unsigned seed) {
    return hc_fuzz_mutate_json(data, size, capacity, seed);
}

/* What a backend counts on. */
static void check_references(const HcReferences *found, const HcExpertRules *rules) {
    hc_fuzz_expect(found->references + found->lost == rules->count, "each rule is there or left out");
    for (int32_t r = 0; r < found->references; r++) {
        const HcIdentifyReference *reference = &found->reference[r];
        hc_fuzz_expect(reference->first >= 0 && reference->count > 0 &&
                           reference->first + reference->count <= found->features,
                       "features of a reference are there");
        hc_fuzz_expect(reference->number > 0 && reference->number <= rules->count, "a class is a rule");
        hc_fuzz_expect(found->feature[reference->first].kind == HC_IDENTIFY_DIAGNOSTIC, "one counts");
    }
    for (int32_t f = 0; f < found->features; f++) {
        const HcIdentifyFeature *feature = &found->feature[f];
        hc_fuzz_expect(feature->count >= 3 && feature->lefts > 0 && feature->rights > 0 &&
                           feature->right + feature->rights <= found->entries,
                       "a feature has bands");
        hc_fuzz_expect(isfinite(feature->scale) && feature->scale > 0 && feature->depth > 0, "a shape");
        hc_fuzz_expect(isfinite(feature->weight) && feature->weight >= 0, "a weight");
    }
    for (int32_t e = 0; e < found->entries; e++) {
        hc_fuzz_expect(found->entry[e].band >= 0 && found->entry[e].band < BANDS, "bands are there");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char names[SPECTRA][24] = {"Green vegetation", "Dry vegetation", "Kaolinite soil", "calcite"};
    char *name[SPECTRA];
    float value[SPECTRA * BANDS];
    double centre[BANDS];
    int32_t band[BANDS], first[2] = {0, BANDS};
    char path[HC_FUZZ_PATH];
    HcError err = {0};
    HcExpertRules rules = {0};
    HcReferences found = {0};
    for (int b = 0; b < BANDS; b++) {
        centre[b] = 400 + 33 * b;
        band[b] = b;
        for (int k = 0; k < SPECTRA; k++) {
            value[k * BANDS + b] = k == 3 && b < 30 ? NAN : 0.5F + 0.3F * sinf((float)(b * (k + 1)) / 7);
        }
    }
    for (int k = 0; k < SPECTRA; k++) {
        name[k] = names[k];
    }
    const HcLibraryFit fit = {.count = SPECTRA, .bands = BANDS, .value = value, .name = name};
    const HcBandRuns runs = {.count = BANDS, .band = band, .centre = centre, .runs = 1, .first = first};
    hc_fuzz_file(path, "rules.json", data, size);
    HcStatus status = hc_expert_read(&rules, path, "library.sli", &fit, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        hc_fuzz_check(hc_references_make(&found, &rules, &fit, &runs, &err), &err);
        check_references(&found, &rules);
    }
    hc_references_clear(&found);
    hc_expert_clear(&rules);
    return 0;
}
