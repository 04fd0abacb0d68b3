/* Fuzz harness: ENVI headers, every field by every function that reads one. */
#include "io/read/metadata/envi_header.h"
#include "tests/fuzz/harness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_clean(const char *text) {
    char *clean = hc_envi_clean(text);
    if (clean == NULL) {
        return;
    }
    for (const char *c = clean; *c != '\0'; c++) {
        hc_fuzz_expect((unsigned char)*c >= ' ' && *c != 127, "a clean text has no control characters");
    }
    char *again = hc_envi_clean(clean);
    hc_fuzz_expect(again == NULL || strcmp(again, clean) == 0, "a clean text is valid UTF-8");
    free(again);
    free(clean);
}

static void check_lists(const HcEnviHeader *header, const char *key) {
    HcError err = {0};
    double *values = NULL;
    char **texts = NULL;
    int32_t count = -1;
    HcStatus status = hc_envi_numbers(header, key, &values, &count, &err);
    hc_fuzz_check(status, &err);
    hc_fuzz_expect(status != HC_OK || (values == NULL) == (count == 0), "a list of count 0 is NULL");
    for (int32_t i = 0; status == HC_OK && i < count; i++) {
        values[i] += 1;
    }
    free(status == HC_OK ? values : NULL);
    err = (HcError){0};
    status = hc_envi_texts(header, key, &texts, &count, &err);
    hc_fuzz_check(status, &err);
    for (int32_t i = 0; status == HC_OK && i < count; i++) {
        hc_fuzz_expect(texts[i] != NULL, "a list of texts has no holes");
        check_clean(texts[i]);
    }
    if (status == HC_OK) {
        hc_free_texts(texts, count);
    }
}

static void check_scalars(const HcEnviHeader *header, const char *key) {
    HcError err = {0};
    double number = 0;
    int64_t integer = 0;
    bool found = false;
    hc_fuzz_check(hc_envi_number(header, key, &number, &found, &err), &err);
    err = (HcError){0};
    hc_fuzz_check(hc_envi_integer(header, key, &integer, &found, &err), &err);
}

static void check_shape(const HcEnviHeader *header) {
    HcError err = {0};
    HcEnviShape shape;
    HcStatus status = hc_envi_shape(header, &shape, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        hc_fuzz_expect(shape.samples > 0 && shape.lines > 0 && shape.bands > 0, "sizes are positive");
        hc_fuzz_expect(shape.samples < (int64_t)1 << 31 && shape.lines < (int64_t)1 << 31, "and below 2^31");
        hc_fuzz_expect(shape.offset >= 0, "an offset is not negative");
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    HcError err = {0};
    HcEnviHeader header = {0};
    bool is_one = hc_envi_recognise((const char *)data, size);
    HcStatus status = hc_envi_parse(&header, "a.hdr", (const char *)data, size, &err);
    hc_fuzz_check(status, &err);
    hc_fuzz_expect(status != HC_OK || is_one, "what is parsed is recognised");
    for (int32_t f = 0; f < header.count; f++) {
        hc_fuzz_expect(hc_envi_field(&header, header.field[f].key) != NULL, "a field is found by its key");
        check_clean(header.field[f].value);
        check_scalars(&header, header.field[f].key);
        check_lists(&header, header.field[f].key);
    }
    if (status == HC_OK) {
        (void)hc_envi_is_library(&header);
        check_shape(&header);
    }
    hc_envi_clear(&header);
    return 0;
}
