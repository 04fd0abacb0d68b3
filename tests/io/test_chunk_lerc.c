/* Blobs of LERC as its own library makes them: the values of a chunk whatever their type, and whether the
 * bands of a pixel lie together. GDAL's TIFF driver may lack LERC, so the tests of chunks may not come here.
 */
#include "io/chunk/codec/decode.h"
#include "tests/support/check.h"

#include <Lerc_c_api.h>
#include <math.h>
#include <string.h>

enum { LINES = 6, SAMPLES = 5, BANDS = 3, PIXELS = LINES * SAMPLES, VALUES = PIXELS * BANDS };

static const struct {
    HcType type;
    unsigned lerc; /* its number of the type */
} types[] = {{HC_UINT8, 1},  {HC_INT16, 2},   {HC_UINT16, 3}, {HC_INT32, 4},
             {HC_UINT32, 5}, {HC_FLOAT32, 6}, {HC_FLOAT64, 7}};

static double value_of(int pixel, int band) {
    return (pixel * 5 + band * 31) % 201;
}

static void put(void *values, size_t at, HcType type, double value) {
    switch (type) {
    case HC_UINT8:
        ((uint8_t *)values)[at] = (uint8_t)value;
        break;
    case HC_INT16:
    case HC_UINT16:
        ((uint16_t *)values)[at] = (uint16_t)value;
        break;
    case HC_INT32:
    case HC_UINT32:
        ((uint32_t *)values)[at] = (uint32_t)value;
        break;
    case HC_FLOAT32:
        ((float *)values)[at] = (float)value;
        break;
    default:
        ((double *)values)[at] = value;
        break;
    }
}

/* A blob of all values; apart: one band after the other. Pixel 7 is masked. */
static unsigned encode(int t, bool apart, uint8_t *blob, unsigned space) {
    double values[VALUES]; /* room for every type */
    unsigned char valid[PIXELS];
    unsigned bytes = 0;
    memset(valid, 1, sizeof valid);
    valid[7] = 0;
    for (int p = 0; p < PIXELS; p++) {
        for (int b = 0; b < BANDS; b++) {
            put(values, (size_t)(apart ? b * PIXELS + p : p * BANDS + b), types[t].type, value_of(p, b));
        }
    }
    assert_int_equal(lerc_encode(values, types[t].lerc, apart ? 1 : BANDS, SAMPLES, LINES, apart ? BANDS : 1,
                                 1, valid, 0, blob, space, &bytes),
                     0);
    return bytes;
}

static HcStatus decode(int t, const uint8_t *blob, size_t bytes, void *values, HcError *why) {
    HcChunkIndex index = {
        .type = types[t].type,
        .shape = {[HC_AXIS_LINE] = LINES, [HC_AXIS_SAMPLE] = SAMPLES, [HC_AXIS_BAND] = BANDS}};
    size_t made = 0, all = VALUES * hc_type_bytes(types[t].type);
    HcStatus status = hc_chunk_lerc(&index, blob, bytes, values, all, &made, why);
    assert_true(status != HC_OK || made == all);
    return status;
}

static void all_types_and_orders(void **state) {
    uint8_t blob[1 << 14];
    (void)state;
    for (int t = 0; t < 7; t++) {
        for (int apart = 0; apart < 2; apart++) {
            double got[VALUES], wanted[VALUES];
            HcError why = {0};
            bool floating = types[t].type == HC_FLOAT32 || types[t].type == HC_FLOAT64;
            unsigned bytes = encode(t, apart, blob, sizeof blob);
            memset(got, 0xA5, sizeof got);
            if (decode(t, blob, bytes, got, &why) != HC_OK) {
                fail_msg("type %d, apart %d: %s", t, apart, why.text);
            }
            for (int p = 0; p < PIXELS; p++) {
                for (int b = 0; b < BANDS; b++) {
                    put(wanted, (size_t)(p * BANDS + b), types[t].type,
                        p != 7     ? value_of(p, b)
                        : floating ? NAN
                                   : 0);
                }
            }
            assert_memory_equal(got, wanted, VALUES * hc_type_bytes(types[t].type));
        }
    }
}

/* A byte of the values is another one, the blob ends too early, or it has another shape. */
static void broken_blobs_are_refused(void **state) {
    uint8_t blob[1 << 14];
    double values[VALUES];
    (void)state;
    for (int t = 0; t < 7; t++) {
        for (int apart = 0; apart < 2; apart++) {
            HcError why[3] = {0};
            unsigned bytes = encode(t, apart, blob, sizeof blob);
            check_fails(decode(t, blob, bytes / 2, values, &why[0]), HC_E_INPUT, why[0]);
            check_fails(decode((t + 1) % 7, blob, bytes, values, &why[1]), HC_E_INPUT, why[1]);
            blob[bytes - 3] ^= 0x55;
            check_fails(decode(t, blob, bytes, values, &why[2]), HC_E_INPUT, why[2]);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_types_and_orders),
        cmocka_unit_test(broken_blobs_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
