/* Matrices: .npy of every kind and rasters of one band are read and written, and every flaw is refused with
 * one clear line. */
#include "io/table/matrix.h"
#include "write_fixture.h"

#include <math.h>

enum { ROWS = 3, COLUMNS = 4, VALUES = ROWS * COLUMNS };

static void put_bytes(const char *name, const void *data, size_t bytes) {
    FILE *file = fopen(in_folder(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, bytes, file), bytes);
    assert_int_equal(fclose(file), 0);
}

/* A .npy file of that header, as it stands, and values. */
static void put_npy(const char *name, int version, const char *header, const void *values, size_t bytes) {
    unsigned char file[2048] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)version, 0};
    size_t length = strlen(header);
    size_t at = version == 1 ? 10 : 12;
    file[8] = (unsigned char)(length & 255);
    file[9] = (unsigned char)(length >> 8);
    assert_true(at + length + bytes <= sizeof file);
    memcpy(file + at, header, length);
    memcpy(file + at + length, values, bytes);
    put_bytes(name, file, at + length + bytes);
}

/* Fails with one line that names the file and holds `part`, when opened or when read. */
static void check_refused(const char *name, HcStatus status, const char *part) {
    HcMatrixFile *file = NULL;
    HcError err = {0};
    HcStatus found = hc_matrix_open(&file, in_folder(name), &err);
    if (found == HC_OK) {
        float *values = malloc((size_t)(hc_matrix_rows(file) * hc_matrix_columns(file)) * sizeof *values);
        found = hc_matrix_read(file, values, &err);
        free(values);
    } else {
        assert_null(file);
    }
    hc_matrix_close(file);
    if (found != status || !check_holds(err.text, part) || strchr(err.text, '\n') != NULL ||
        strstr(err.text, folder) == NULL) {
        fail_msg("%s: status %d, \"%s\" (wanted: \"%s\")", name, (int)found, err.text, part);
    }
}

static void check_values_of(const char *name, int64_t rows, int64_t columns, const double *wanted) {
    HcMatrixFile *file = NULL;
    HcError err = {0};
    check_ok(hc_matrix_open(&file, in_folder(name), &err), err);
    assert_int_equal(hc_matrix_rows(file), rows);
    assert_int_equal(hc_matrix_columns(file), columns);
    float *values = malloc((size_t)(rows * columns) * sizeof *values);
    for (int turn = 0; turn < 2; turn++) { /* may be read again */
        memset(values, 0x77, (size_t)(rows * columns) * sizeof *values);
        check_ok(hc_matrix_read(file, values, &err), err);
        for (int64_t i = 0; i < rows * columns; i++) {
            check_same(values[i], (float)wanted[i]);
        }
    }
    free(values);
    hc_matrix_close(file);
}

/* ---- .npy ---- */

/* float16 of small numbers, by the definition of the format. */
static uint16_t half_of(double value) {
    int exponent = 0;
    double fraction = frexp(fabs(value), &exponent);
    uint16_t sign = value < 0 ? 0x8000 : 0;
    if (value == 0) {
        return sign;
    }
    if (exponent < -13) { /* subnormal: units of 2^-24 */
        return (uint16_t)(sign | (uint16_t)ldexp(fabs(value), 24));
    }
    return (uint16_t)(sign | ((exponent + 14) << 10) | ((int)(fraction * 2048) - 1024));
}

static size_t store(const char *code, double value, void *to) {
    int8_t i8 = (int8_t)value;
    int16_t i16 = (int16_t)value;
    int32_t i32 = (int32_t)value;
    int64_t i64 = (int64_t)value;
    float f32 = (float)value;
    uint16_t f16 = half_of(value);
    const void *from = code[0] == 'f'   ? (code[1] == '2'   ? (const void *)&f16
                                           : code[1] == '4' ? (const void *)&f32
                                                            : (const void *)&value)
                       : code[1] == '1' ? (const void *)&i8
                       : code[1] == '2' ? (const void *)&i16
                       : code[1] == '4' ? (const void *)&i32
                                        : (const void *)&i64;
    size_t bytes = (size_t)(code[1] - '0');
    memcpy(to, from, bytes);
    return bytes;
}

static void every_type_order_and_version_is_read(void **state) {
    (void)state;
    static const char *const codes[] = {"u1", "i1", "u2", "i2", "u4", "i4", "u8", "i8", "f2", "f4", "f8"};
    double wanted[VALUES];
    for (size_t t = 0; t < sizeof codes / sizeof *codes; t++) {
        for (int kind = 0; kind < 12; kind++) {
            bool big = kind % 2, fortran = kind / 2 % 2;
            unsigned char data[VALUES * 8];
            char header[200];
            size_t each = 0;
            for (int i = 0; i < VALUES; i++) {
                bool is_float = codes[t][0] == 'f', is_signed = codes[t][0] != 'u';
                wanted[i] = (i * 7 % 12 + 1) * (is_signed && i % 3 == 0 ? -1 : 1) * (is_float ? 0.625 : 1);
                wanted[i] = i == 5 ? 0 : wanted[i];
                int place = fortran ? i % COLUMNS * ROWS + i / COLUMNS : i;
                unsigned char bytes[8];
                each = store(codes[t], wanted[i], bytes);
                for (size_t b = 0; b < each; b++) {
                    data[(size_t)place * each + b] = bytes[big ? each - 1 - b : b];
                }
            }
            snprintf(header, sizeof header,
                     kind < 6 ? "{'descr': '%c%s', 'fortran_order': %s, 'shape': (3, 4), }   \n"
                              : "{\"shape\":(3,4),\"fortran_order\":%3$s,\"descr\":\"%1$c%2$s\"}",
                     big ? '>' : '<', codes[t], fortran ? "True" : "False");
            put_npy("typed.npy", kind / 4 + 1, header, data, VALUES * each);
            check_values_of("typed.npy", ROWS, COLUMNS, wanted);
        }
    }
}

static void limits_of_types_are_read(void **state) {
    (void)state;
    const uint64_t u64[] = {UINT64_MAX, 0};
    const int64_t i64[] = {INT64_MIN, INT64_MAX};
    const uint16_t halves[] = {0x7bff, 0x0001, 0x83ff, 0x8400, 0x8000};
    const double f64[] = {3.4028234663852886e38, -3.4028234663852886e38, 1e-50, 1 + 0x1p-24 + 0x1p-40};
    put_npy("u64.npy", 1, "{'descr': '<u8', 'fortran_order': False, 'shape': (2,), }", u64, sizeof u64);
    check_values_of("u64.npy", 2, 1, (const double[]){0x1p64, 0});
    put_npy("i64.npy", 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 2), }", i64, sizeof i64);
    check_values_of("i64.npy", 1, 2, (const double[]){-0x1p63, 0x1p63});
    put_npy("half.npy", 1, "{'descr': '<f2', 'fortran_order': False, 'shape': (5,), }", halves,
            sizeof halves);
    check_values_of("half.npy", 5, 1, (const double[]){65504, 0x1p-24, -1023 * 0x1p-24, -0x1p-14, -0.0});
    put_npy("f64", 2, "{'descr': '=f8', 'fortran_order': True, 'shape': (2, 2), }", f64, sizeof f64);
    check_values_of("f64", 2, 2, (const double[]){f64[0], f64[2], f64[1], 1 + 0x1p-23});
    put_npy("one.npy", 1, "{'descr': '|u1', 'fortran_order': True, 'shape': (1,), }", "\x07", 1);
    check_values_of("one.npy", 1, 1, (const double[]){7});
}

enum { TALL = 1031, WIDE = 1543 };

static void put_long(const char *name, int bytes, bool fortran, int bad) {
    char header[120];
    char text[100];
    FILE *out = fopen(in_folder(name), "wb");
    assert_non_null(out);
    snprintf(text, sizeof text, "{'descr': '<f%d', 'fortran_order': %s, 'shape': (1031, 1543), }", bytes,
             fortran ? "True" : "False");
    snprintf(header, sizeof header, "%-117s\n", text);
    assert_int_equal(fwrite("\x93NUMPY\x01\x00\x76\x00", 1, 10, out), 10);
    assert_int_equal(fwrite(header, 1, 118, out), 118);
    for (int i = 0; i < TALL * WIDE; i++) {
        int row = fortran ? i % TALL : i / WIDE;
        int column = fortran ? i / TALL : i % WIDE;
        double value = row * WIDE + column == bad ? (double)NAN : row * 4096 + column;
        float rounded = (float)value;
        const void *from = bytes == 8 ? (const void *)&value : (const void *)&rounded;
        assert_int_equal(fwrite(from, 1, (size_t)bytes, out), bytes);
    }
    assert_int_equal(fclose(out), 0);
}

/* Larger than the pieces in which a file is read, in both orders, as they lie in memory and not. */
static void long_matrices_are_read_in_pieces(void **state) {
    (void)state;
    for (int kind = 0; kind < 4; kind++) {
        int bytes = kind < 2 ? 4 : 8;
        HcMatrixFile *file = NULL;
        HcError err = {0};
        float *values = malloc(sizeof *values * TALL * WIDE);
        put_long("long.npy", bytes, kind % 2, -1);
        check_ok(hc_matrix_open(&file, in_folder("long.npy"), &err), err);
        check_ok(hc_matrix_read(file, values, &err), err);
        for (int i = 0; i < TALL * WIDE; i++) {
            check_same(values[i], i / WIDE * 4096 + i % WIDE);
        }
        hc_matrix_close(file);
        free(values);
        put_long("long.npy", bytes, kind % 2, 1029 * WIDE + 1534);
        check_refused("long.npy", HC_E_INPUT, "row 1030, column 1535 ... not a number");
    }
}

#define NPY(type, order, shape) "{'descr': '" type "', 'fortran_order': " order ", 'shape': " shape ", }\n"

static void flaws_of_npy_are_refused(void **state) {
    (void)state;
    const float four[] = {1, 2, 3, 4};
    const float bad[] = {1, 2, NAN, 4};
    const float infinite[] = {1, 2, 3, -INFINITY};
    const double large[] = {1, 1e39};
    const struct {
        const char *header;
        HcStatus status;
        const char *part;
    } headers[] = {
        {NPY("<f4", "False", "(5,)"), HC_E_INPUT, "5 x 1 values of 4 bytes ... file of "},
        {NPY("<f4", "False", "(3,)"), HC_E_INPUT, "3 x 1 values of 4 bytes ... file of "},
        {NPY("<f4", "False", "(4, 9223372036854775807)"), HC_E_INPUT, "make a file of"},
        {NPY("<f4", "False", "(99999999999999999999, 1)"), HC_E_INPUT, "make a file of"},
        {NPY("<f4", "False", "(0,)"), HC_E_INPUT, "is empty: 0 rows, 1 columns"},
        {NPY("<f4", "False", "(4, 0)"), HC_E_INPUT, "is empty: 4 rows, 0 columns"},
        {NPY("<f4", "False", "()"), HC_E_INPUT, "has 0 dimensions"},
        {NPY("<f4", "False", "(2, 2, 1)"), HC_E_INPUT, "has 3 dimensions"},
        {NPY("<f4", "False", "(-4,)"), HC_E_INPUT, "cannot be read at '-4,)"},
        {NPY("<f4", "False", "(4.0,)"), HC_E_INPUT, "cannot be read at '4.0"},
        {NPY("<f4", "False", "4"), HC_E_INPUT, "cannot be read at '4"},
        {NPY("<f4", "maybe", "(4,)"), HC_E_INPUT, "cannot be read at 'maybe"},
        {NPY("|O", "False", "(4,)"), HC_E_UNSUPPORTED, "type '|O' are not read"},
        {NPY("<c8", "False", "(2,)"), HC_E_UNSUPPORTED, "type '<c8' are not read"},
        {NPY("|b1", "False", "(16,)"), HC_E_UNSUPPORTED, "type '|b1'"},
        {NPY("f4", "False", "(4,)"), HC_E_UNSUPPORTED, "type 'f4'"},
        {NPY("<f16", "False", "(1,)"), HC_E_UNSUPPORTED, "type '<f16'"},
        {NPY("", "False", "(4,)"), HC_E_UNSUPPORTED, "type ''"},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (4,), }", HC_E_UNSUPPORTED, "records"},
        {"{'descr': '<f4', 'fortran_order': False}", HC_E_INPUT, "lacks shape"},
        {"{'descr': '<f4', 'shape': (4,)}", HC_E_INPUT, "lacks fortran_order"},
        {"{'fortran_order': False, 'shape': (4,)}", HC_E_INPUT, "lacks descr"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}", HC_E_INPUT,
         "'descr' where"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'more': 1}", HC_E_INPUT, "'more' where"},
        {"{'descr': '<f4' 'fortran_order': False, 'shape': (4,)}", HC_E_INPUT, "cannot be read at ''fortran"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,)} x", HC_E_INPUT, "cannot be read at 'x'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4,)", HC_E_INPUT, "cannot be read at"},
        {"", HC_E_INPUT, "cannot be read at ''"},
        {"[]", HC_E_INPUT, "cannot be read at '[]"},
    };
    for (size_t h = 0; h < sizeof headers / sizeof *headers; h++) {
        put_npy("flaw.npy", 1 + (int)h % 2, headers[h].header, four, headers[h].header[0] ? sizeof four : 0);
        check_refused("flaw.npy", headers[h].status, headers[h].part);
    }
    put_npy("flaw.npy", 1, NPY("<f4", "False", "(2, 2)"), bad, sizeof bad);
    check_refused("flaw.npy", HC_E_INPUT, "row 2, column 1 ... not a number (nan)");
    put_npy("flaw.npy", 1, NPY("<f4", "True", "(2, 2)"), bad, sizeof bad);
    check_refused("flaw.npy", HC_E_INPUT, "row 1, column 2 ... not a number (nan)");
    put_npy("flaw.npy", 1, NPY("<f4", "False", "(4,)"), infinite, sizeof infinite);
    check_refused("flaw.npy", HC_E_INPUT, "row 4, column 1 ... infinite (-inf)");
    put_npy("flaw.npy", 1, NPY("<f8", "False", "(1, 2)"), large, sizeof large);
    check_refused("flaw.npy", HC_E_INPUT, "row 1, column 2 ... too large for float32 (1e+39)");
    put_npy("flaw.npy", 1, NPY("<f2", "False", "(2,)"), "\x00\x7c\x00\x00", 4);
    check_refused("flaw.npy", HC_E_INPUT, "row 1, column 1 ... infinite");
    put_npy("flaw.npy", 1, NPY("<f2", "False", "(2,)"), "\x00\x00\x01\x7c", 4);
    check_refused("flaw.npy", HC_E_INPUT, "row 2, column 1 ... not a number");
    put_npy("flaw.npy", 4, NPY("<f4", "False", "(4,)"), four, sizeof four);
    check_refused("flaw.npy", HC_E_UNSUPPORTED, ".npy of version 4");
    put_bytes("flaw.npy", "\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
    check_refused("flaw.npy", HC_E_INPUT, "a .npy header of 4294967295 bytes");
    put_bytes("flaw.npy", "hello", 5);
    check_refused("flaw.npy", HC_E_INPUT, "not a .npy file");
    put_bytes("flaw.npy", "", 0);
    check_refused("flaw.npy", HC_E_INPUT, "not a .npy file");
    check_refused("nowhere.npy", HC_E_INPUT, "there is no such file");
    check_refused("nowhere.tif", HC_E_INPUT, "nowhere.tif");
}

/* A file that ends anywhere, and one with any byte wrong, is read or refused, but nothing else. */
static void cut_and_broken_files_are_refused(void **state) {
    (void)state;
    const float four[] = {1, 2, 3, 4};
    unsigned char whole[200];
    put_npy("whole.npy", 1, NPY("<f4", "False", "(4,)"), four, sizeof four);
    FILE *in = fopen(in_folder("whole.npy"), "rb");
    size_t bytes = fread(whole, 1, sizeof whole, in);
    fclose(in);
    for (size_t length = 0; length < bytes; length++) {
        put_bytes("cut.npy", whole, length);
        check_refused("cut.npy", HC_E_INPUT, "cut.npy: ");
    }
    int32_t read = 0;
    for (size_t place = 0; place < bytes; place++) {
        static const unsigned char others[] = {0, '9', '\'', ')', 0xff};
        for (size_t o = 0; o < sizeof others; o++) {
            HcMatrixFile *file = NULL;
            HcError err = {0};
            float values[64];
            unsigned char before = whole[place];
            whole[place] = others[o];
            put_bytes("broken.npy", whole, bytes);
            whole[place] = before;
            if (hc_matrix_open(&file, in_folder("broken.npy"), &err) == HC_OK) {
                assert_true(hc_matrix_rows(file) * hc_matrix_columns(file) <= 64);
                read += hc_matrix_read(file, values, &err) == HC_OK;
            }
            assert_true(file != NULL || err.text[0] != '\0');
            hc_matrix_close(file);
        }
    }
    assert_true(read >= 16 && read < 200); /* values take many bytes; the header few */
}

/* ---- rasters ---- */

static void rasters_of_one_band_are_read(void **state) {
    (void)state;
    const int16_t values[VALUES] = {1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12};
    double wanted[VALUES];
    for (int i = 0; i < VALUES; i++) {
        wanted[i] = values[i];
    }
    put_bytes("a.img", values, sizeof values);
    put_file(in_folder("a.hdr"), "ENVI\nsamples = 4\nlines = 3\nbands = 1\ndata type = 2\ninterleave = bsq\n"
                                 "byte order = 0\n");
    check_values_of("a.img", ROWS, COLUMNS, wanted);
    check_values_of("a.hdr", ROWS, COLUMNS, wanted);
    put_file(in_folder("a.hdr"), "ENVI\nsamples = 4\nlines = 3\nbands = 1\ndata type = 2\ninterleave = bsq\n"
                                 "byte order = 0\ndata ignore value = 7\n");
    check_refused("a.img", HC_E_INPUT, "row 2, column 3 ... no data (7");
    put_file(in_folder("a.hdr"), "ENVI\nsamples = 4\nlines = 1\nbands = 3\ndata type = 2\ninterleave = bil\n"
                                 "byte order = 0\n");
    check_refused("a.img", HC_E_INPUT, "has 3 bands, a matrix");
    put_file(in_folder("a.hdr"), "ENVI\nsamples = 4\nlines = 4\nbands = 1\ndata type = 2\ninterleave = bsq\n"
                                 "byte order = 0\n");
    check_refused("a.img", HC_E_INPUT, "a.img");
    const float bad[] = {1, NAN};
    put_bytes("b.img", bad, sizeof bad);
    put_file(in_folder("b.hdr"), "ENVI\nsamples = 1\nlines = 2\nbands = 1\ndata type = 4\ninterleave = bsq\n"
                                 "byte order = 0\n");
    check_refused("b.img", HC_E_INPUT, "row 2, column 1 ... not a number");
}

/* ---- writing ---- */

static void what_is_written_reads_back(void **state) {
    (void)state;
    static const char *const names[] = {"x.npy", "x.tif", "x.img", "x.hdr"};
    const float values[VALUES] = {0, -1.5f, 3e38f, 1e-45f, 5, 6, 7, 8, 9, 10, 11, -12};
    double wanted[VALUES];
    HcError err = {0};
    for (int i = 0; i < VALUES; i++) {
        wanted[i] = (double)values[i];
    }
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        for (int shape = 0; shape < 2; shape++) {
            int64_t rows = shape ? VALUES : ROWS, columns = shape ? 1 : COLUMNS;
            bool again = shape > 0 || n == 3; /* x.hdr is that of x.img */
            if (again) {
                check_fails(hc_matrix_check(in_folder(names[n]), rows, columns, false, NULL, 0, &err),
                            HC_E_USAGE, err);
                check_fails(hc_matrix_write(in_folder(names[n]), values, rows, columns, false, &err),
                            HC_E_USAGE, err);
            }
            check_ok(hc_matrix_check(in_folder(names[n]), rows, columns, again, NULL, 0, &err), err);
            check_ok(hc_matrix_write(in_folder(names[n]), values, rows, columns, again, &err), err);
            check_values_of(names[n], rows, columns, wanted);
        }
    }
    check_fails(hc_matrix_check(in_folder("no/x.npy"), 1, 1, false, NULL, 0, &err), HC_E_IO, err);
    check_fails(hc_matrix_check(in_folder("x.nonsense"), 1, 1, false, NULL, 0, &err), HC_E_USAGE, err);
}

/* The bytes that NumPy itself writes for such an array. */
static void npy_is_as_numpy_writes_it(void **state) {
    (void)state;
    const float values[] = {1, 2};
    HcError err = {0};
    char data[200];
    char wanted[129];
    check_ok(hc_matrix_write(in_folder("bytes.npy"), values, 2, 1, false, &err), err);
    FILE *in = fopen(in_folder("bytes.npy"), "rb");
    assert_int_equal(fread(data, 1, sizeof data, in), 128 + sizeof values);
    fclose(in);
    memcpy(wanted, "\x93NUMPY\x01\x00\x76\x00", 10);
    snprintf(wanted + 10, 119, "%-117s\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }");
    assert_memory_equal(data, wanted, 128);
    assert_memory_equal(data + 128, values, sizeof values);
}

static void inputs_are_never_replaced(void **state) {
    (void)state;
    const float values[] = {1, 2};
    HcError err = {0};
    HcMatrixFile *inputs[2] = {NULL, NULL};
    check_ok(hc_matrix_write(in_folder("in.npy"), values, 2, 1, false, &err), err);
    check_ok(hc_matrix_write(in_folder("pair.img"), values, 2, 1, false, &err), err);
    assert_int_equal(link(in_folder("in.npy"), in_folder("same.npy")), 0);
    check_ok(hc_matrix_open(&inputs[0], in_folder("in.npy"), &err), err);
    check_ok(hc_matrix_open(&inputs[1], in_folder("pair.hdr"), &err), err);
    const HcMatrixFile *const all[] = {inputs[0], inputs[1]};
    /* pair.dat would have the header of pair.img. */
    put_file(in_folder("pair.dat"), "whatever");
    static const char *const names[] = {"in.npy", "same.npy", "pair.img", "pair.hdr", "pair.dat"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        HcStatus status = hc_matrix_check(in_folder(names[n]), 2, 1, true, all, 2, &err);
        if (status != HC_E_USAGE || strstr(err.text, "would replace the input") == NULL) {
            fail_msg("%s: status %d, \"%s\"", names[n], (int)status, err.text);
        }
        err = (HcError){0};
    }
    check_ok(hc_matrix_check(in_folder("out.npy"), 2, 1, true, all, 2, &err), err);
    hc_matrix_close(inputs[0]);
    hc_matrix_close(inputs[1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_type_order_and_version_is_read),
        cmocka_unit_test(limits_of_types_are_read),
        cmocka_unit_test(long_matrices_are_read_in_pieces),
        cmocka_unit_test(flaws_of_npy_are_refused),
        cmocka_unit_test(cut_and_broken_files_are_refused),
        cmocka_unit_test(rasters_of_one_band_are_read),
        cmocka_unit_test(what_is_written_reads_back),
        cmocka_unit_test(npy_is_as_numpy_writes_it),
        cmocka_unit_test(inputs_are_never_replaced),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
