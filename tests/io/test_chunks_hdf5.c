/* Chunks of HDF5 arrays that the library itself writes: every order of the axes, every filter, type and byte
 * order; and of netCDF files, as GDAL reads them. */
#include "io/chunk/chunks.h"
#include "tests/support/check.h"

#include "read_all.h"
#include "write_fixture.h"

#include <gdal.h>
#include <hdf5.h>
#include <stdio.h>

enum { LINES = 23, SAMPLES = 17, BANDS = 11, FILTERS_MAX = 3, ZSTD = 32015 };

static const int64_t sizes[HC_AXES] = {
    [HC_AXIS_LINE] = LINES, [HC_AXIS_SAMPLE] = SAMPLES, [HC_AXIS_BAND] = BANDS};

typedef struct Array {
    HcAxis order[HC_AXES];
    hsize_t chunk[HC_AXES]; /* as order */
    hid_t type, memory;     /* in the file, in memory */
    HcType as;
    int filter[FILTERS_MAX + 1]; /* as they are applied, 0 = no more */
    bool sparse;                 /* the last band is not written */
} Array;

static int value_at_place(int64_t line, int64_t sample, int64_t band) {
    return (int)((line * 7 + sample * 3 + band * 11) % 251);
}

static void set_filters(hid_t plist, const Array *array) {
    for (int f = 0; array->filter[f] != 0; f++) {
        herr_t set = array->filter[f] == H5Z_FILTER_DEFLATE   ? H5Pset_deflate(plist, 6)
                     : array->filter[f] == H5Z_FILTER_SHUFFLE ? H5Pset_shuffle(plist)
                     : array->filter[f] == H5Z_FILTER_FLETCHER32
                         ? H5Pset_fletcher32(plist)
                         : H5Pset_szip(plist, H5_SZIP_NN_OPTION_MASK, 8);
        assert_true(set >= 0);
    }
}

static void write_array(const char *path, const Array *array) {
    static double values[LINES * SAMPLES * BANDS];
    hsize_t size[HC_AXES], start[HC_AXES] = {0}, count[HC_AXES];
    double fill = 99;
    for (int i = 0; i < HC_AXES; i++) {
        size[i] = count[i] = (hsize_t)sizes[array->order[i]];
        count[i] -= array->sparse && array->order[i] == HC_AXIS_BAND;
    }
    int64_t at = 0;
    for (hsize_t i = 0; i < count[0]; i++) {
        for (hsize_t j = 0; j < count[1]; j++) {
            for (hsize_t k = 0; k < count[2]; k++) {
                int64_t place[HC_AXES];
                place[array->order[0]] = (int64_t)i;
                place[array->order[1]] = (int64_t)j;
                place[array->order[2]] = (int64_t)k;
                values[at++] =
                    value_at_place(place[HC_AXIS_LINE], place[HC_AXIS_SAMPLE], place[HC_AXIS_BAND]);
            }
        }
    }
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(HC_AXES, size, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    hid_t memory = H5Screate_simple(HC_AXES, count, NULL);
    assert_true(H5Pset_chunk(plist, HC_AXES, array->chunk) >= 0);
    assert_true(H5Pset_fill_value(plist, H5T_NATIVE_DOUBLE, &fill) >= 0);
    set_filters(plist, array);
    hid_t dataset = H5Dcreate2(file, "cube", array->type, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(dataset >= 0);
    assert_true(H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) >= 0);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, memory, space, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Pclose(plist);
    H5Sclose(space);
    H5Sclose(memory);
    H5Fclose(file);
}

static HcChunkIndex *open_index(const char *path, const Array *array) {
    HcError err = {0};
    HcChunkIndex *index = NULL;
    if (hc_chunk_hdf5(&index, path, "/cube", array->order, &err) != HC_OK) {
        fail_msg("%s", err.text);
    }
    return index;
}

/* All values by that plan, in blocks that do not fit the chunks. */
static void check_array(const char *path, const Array *array, double memory, bool upwards, int32_t step) {
    HcError err = {0};
    HcChunks *chunks = NULL;
    HcChunkIndex *index = open_index(path, array);
    assert_non_null(index);
    assert_int_equal(index->type, array->as);
    index->upwards = upwards;
    assert_int_equal(hc_chunks_open(&chunks, index, &err), HC_OK);
    HcChunkPlan plan = hc_chunks_plan(index, 2, 0, memory);
    hc_chunks_settle(chunks, &plan);
    char *buffer = malloc(hc_chunks_bytes(chunks, step));
    for (int64_t line = 0; line < LINES; line += step) {
        HcRaw raw;
        int32_t lines = (int32_t)hc_min64(step, LINES - line);
        if (hc_chunks_read(chunks, line, lines, buffer, &raw, &err) != HC_OK) {
            fail_msg("%s", err.text);
        }
        assert_false(raw.swap);
        for (int64_t l = 0; l < lines; l++) {
            for (int64_t s = 0; s < SAMPLES; s++) {
                for (int64_t b = 0; b < BANDS; b++) {
                    int64_t of = upwards ? LINES - 1 - line - l : line + l;
                    double wanted = array->sparse && b == BANDS - 1 ? 99 : value_at_place(of, s, b);
                    int64_t at = l * raw.stride_line + s * raw.stride_sample + b * raw.stride_band;
                    if (array->as == HC_INT8) {
                        wanted = wanted > 127 ? 127 : wanted;
                    }
                    check_near(value_at((const char *)raw.data + at, raw.type, 0), wanted, 0);
                }
            }
        }
    }
    free(buffer);
    hc_chunks_close(chunks);
}

static const HcAxis orders[6][HC_AXES] = {
    {HC_AXIS_LINE, HC_AXIS_SAMPLE, HC_AXIS_BAND}, {HC_AXIS_LINE, HC_AXIS_BAND, HC_AXIS_SAMPLE},
    {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE}, {HC_AXIS_BAND, HC_AXIS_SAMPLE, HC_AXIS_LINE},
    {HC_AXIS_SAMPLE, HC_AXIS_BAND, HC_AXIS_LINE}, {HC_AXIS_SAMPLE, HC_AXIS_LINE, HC_AXIS_BAND}};

static void every_order_of_axes(void **state) {
    static const hsize_t shapes[][HC_AXES] = {{5, 4, 3}, {1, 17, 11}, {7, 6, 11}, {11, 11, 11}};
    (void)state;
    for (int o = 0; o < 6; o++) {
        for (int s = 0; s < 4; s++) {
            Array array = {
                .type = H5T_STD_I16LE, .as = HC_INT16, .filter = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE}};
            char path[300];
            snprintf(path, sizeof path, "%s", in_folder("orders.h5"));
            for (int i = 0; i < HC_AXES; i++) {
                array.order[i] = orders[o][i];
                array.chunk[i] = (hsize_t)hc_min64((int64_t)shapes[s][i], sizes[orders[o][i]]);
            }
            write_array(path, &array);
            for (int up = 0; up < 2; up++) {
                check_array(path, &array, 1e9, up == 1, 6);
                check_array(path, &array, 0, up == 1, 6);
                check_array(path, &array, 0, up == 1, LINES);
                check_array(path, &array, 1e9, up == 1, 1);
            }
        }
    }
}

static bool library_writes(int filter) {
    unsigned flags = 0;
    return H5Zfilter_avail(filter) > 0 && H5Zget_filter_info(filter, &flags) >= 0 &&
           (flags & H5Z_FILTER_CONFIG_ENCODE_ENABLED) != 0;
}

static void every_type_and_filter(void **state) {
    const struct {
        hid_t type;
        HcType as;
    } types[] = {{H5T_STD_U8LE, HC_UINT8},     {H5T_STD_I8LE, HC_INT8},      {H5T_STD_U16BE, HC_UINT16},
                 {H5T_STD_I16LE, HC_INT16},    {H5T_STD_U32LE, HC_UINT32},   {H5T_STD_I32BE, HC_INT32},
                 {H5T_STD_U64LE, HC_UINT64},   {H5T_STD_I64BE, HC_INT64},    {H5T_IEEE_F32LE, HC_FLOAT32},
                 {H5T_IEEE_F32BE, HC_FLOAT32}, {H5T_IEEE_F64LE, HC_FLOAT64}, {H5T_IEEE_F64BE, HC_FLOAT64}};
    static const int filters[][FILTERS_MAX + 1] = {
        {0},
        {H5Z_FILTER_DEFLATE},
        {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE},
        {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32},
        {H5Z_FILTER_FLETCHER32, H5Z_FILTER_DEFLATE},
        {H5Z_FILTER_SHUFFLE},
        {H5Z_FILTER_SZIP}};
    (void)state;
    for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
        for (size_t f = 0; f < sizeof filters / sizeof *filters; f++) {
            Array array = {.type = types[t].type,
                           .as = types[t].as,
                           .order = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE},
                           .chunk = {4, 8, 6},
                           .sparse = t % 3 == 0};
            char path[300];
            if (filters[f][0] == H5Z_FILTER_SZIP && !library_writes(H5Z_FILTER_SZIP)) {
                continue;
            }
            memcpy(array.filter, filters[f], sizeof array.filter);
            array.chunk[0] = array.sparse ? 1 : 4; /* then the last band has chunks of its own */
            snprintf(path, sizeof path, "%s", in_folder("types.h5"));
            write_array(path, &array);
            check_array(path, &array, 1e9, false, 10);
            check_array(path, &array, 0, false, 10);
        }
    }
}

/* ---- arrays in one piece ---- */

/* Large enough that all orders are cut into several pieces, the last of which is shorter. */
static const int64_t large[HC_AXES] = {[HC_AXIS_LINE] = 400, [HC_AXIS_SAMPLE] = 50, [HC_AXIS_BAND] = 40};

static double large_value(int64_t line, int64_t sample, int64_t band) {
    return (double)((line * 50 + sample) * 40 + band);
}

/* A file with an array that is not chunked, behind `user` bytes of somebody else. */
static void write_large(const char *path, const HcAxis order[HC_AXES], hid_t type, hsize_t user) {
    hsize_t size[HC_AXES];
    int64_t place[HC_AXES], at = 0;
    double *values = malloc((size_t)(400 * 50 * 40) * sizeof *values);
    for (int i = 0; i < HC_AXES; i++) {
        size[i] = (hsize_t)large[order[i]];
    }
    for (place[order[0]] = 0; place[order[0]] < large[order[0]]; place[order[0]]++) {
        for (place[order[1]] = 0; place[order[1]] < large[order[1]]; place[order[1]]++) {
            for (place[order[2]] = 0; place[order[2]] < large[order[2]]; place[order[2]]++) {
                values[at++] = large_value(place[HC_AXIS_LINE], place[HC_AXIS_SAMPLE], place[HC_AXIS_BAND]);
            }
        }
    }
    hid_t how = H5Pcreate(H5P_FILE_CREATE);
    assert_true(H5Pset_userblock(how, user) >= 0);
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, how, H5P_DEFAULT);
    hid_t space = H5Screate_simple(HC_AXES, size, NULL);
    hid_t dataset = H5Dcreate2(file, "cube", type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
    H5Pclose(how);
    free(values);
}

static void check_large(HcChunkIndex *index, double memory, int32_t step) {
    static const int32_t bands[] = {0, 3, 4, 19};
    HcError err = {0};
    HcChunks *chunks = NULL;
    assert_int_equal(hc_chunks_open(&chunks, index, &err), HC_OK);
    HcChunkPlan plan = hc_chunks_plan(index, 2, 0, memory);
    hc_chunks_settle(chunks, &plan);
    assert_int_equal(hc_chunks_use(chunks, bands, 4, &err), HC_OK);
    hc_chunks_use_samples(chunks, 7, 40);
    char *buffer = malloc(hc_chunks_bytes(chunks, step));
    for (int64_t line = 0; line < 400; line += step) {
        HcRaw raw;
        int32_t lines = (int32_t)hc_min64(step, 400 - line);
        if (hc_chunks_read(chunks, line, lines, buffer, &raw, &err) != HC_OK) {
            fail_msg("%s", err.text);
        }
        for (int64_t i = 0; i < (int64_t)lines * 40 * 4; i++) {
            int64_t l = i / 160, s = i / 4 % 40, k = i % 4;
            const char *at =
                (const char *)raw.data + l * raw.stride_line + s * raw.stride_sample + k * raw.stride_band;
            check_near(value_at(at, raw.type, 0), large_value(line + l, s + 7, bands[k]), 0);
        }
    }
    free(buffer);
    hc_chunks_close(chunks);
}

static void arrays_in_one_piece(void **state) {
    HcError err = {0};
    HcChunkIndex *index = NULL;
    char path[300];
    (void)state;
    snprintf(path, sizeof path, "%s", in_folder("piece.h5"));
    for (int o = 0; o < 6; o++) {
        for (int big = 0; big < 2; big++) {
            write_large(path, orders[o], big ? H5T_IEEE_F64BE : H5T_IEEE_F64LE, big ? 512 : 0);
            for (int way = 0; way < 3; way++) {
                assert_int_equal(hc_chunk_hdf5(&index, path, "/cube", orders[o], &err), HC_OK);
                assert_non_null(index);
                assert_true(hc_chunk_count(index) > 1);
                assert_int_equal(index->shape[HC_AXIS_LINE] == 400, orders[o][2] == HC_AXIS_LINE);
                assert_int_equal(index->steps, 0);
                check_large(index, way == 0 ? 1e9 : 0, way == 2 ? 400 : 90);
            }
        }
    }
    /* A file that was cut off. */
    assert_int_equal(truncate(path, 400 * 50 * 40 * 8), 0);
    HcStatus status = hc_chunk_hdf5(&index, path, "/cube", orders[5], &err);
    assert_true(status == HC_E_INPUT ||
                (status == HC_OK && index == NULL)); /* the library may see it first */
    assert_null(index);
}

/* An array whose writer left its fill value undefined is read like others, since all chunks are there. */
static void no_fill_value_is_needed(void **state) {
    hsize_t size[HC_AXES] = {BANDS, LINES, SAMPLES}, chunk[HC_AXES] = {2, 5, 6};
    static double values[LINES * SAMPLES * BANDS];
    Array array = {
        .type = H5T_STD_I16LE, .as = HC_INT16, .order = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE}};
    char path[300];
    (void)state;
    for (int i = 0; i < LINES * SAMPLES * BANDS; i++) {
        values[i] = value_at_place(i / SAMPLES % LINES, i % SAMPLES, i / (LINES * SAMPLES));
    }
    snprintf(path, sizeof path, "%s", in_folder("unfilled.h5"));
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(HC_AXES, size, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    assert_true(H5Pset_chunk(plist, HC_AXES, chunk) >= 0);
    assert_true(H5Pset_fill_value(plist, H5T_STD_I16LE, NULL) >= 0);
    hid_t dataset = H5Dcreate2(file, "cube", H5T_STD_I16LE, space, H5P_DEFAULT, plist, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Pclose(plist);
    H5Sclose(space);
    H5Fclose(file);
    check_array(path, &array, 1e9, false, 7);
}

/* Filters that this reader does not know, arrays that hold nothing, and other files. */
static void others_are_not_taken(void **state) {
    HcError err = {0};
    HcChunkIndex *index = NULL;
    Array array = {
        .type = H5T_STD_I16LE, .as = HC_INT16, .order = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE}};
    (void)state;
    char path[300];
    snprintf(path, sizeof path, "%s", in_folder("others.h5"));
    hsize_t size[HC_AXES] = {BANDS, LINES, SAMPLES};
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(HC_AXES, size, NULL), plist = H5Pcreate(H5P_DATASET_CREATE);
    H5Dclose(H5Dcreate2(file, "cube", H5T_STD_I16LE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
    assert_true(H5Pset_chunk(plist, HC_AXES, size) >= 0);
    assert_true(H5Pset_scaleoffset(plist, H5Z_SO_INT, 0) >= 0);
    H5Dclose(H5Dcreate2(file, "scaled", H5T_STD_I16LE, space, H5P_DEFAULT, plist, H5P_DEFAULT));
    H5Pclose(plist);
    H5Sclose(space);
    H5Fclose(file);
    assert_null(open_index(path, &array));
    assert_int_equal(hc_chunk_hdf5(&index, path, "/scaled", array.order, &err), HC_OK);
    assert_null(index);
    assert_int_equal(hc_chunk_hdf5(&index, path, "/missing", array.order, &err), HC_OK);
    assert_null(index);
    put_file(path, "no HDF5");
    assert_null(open_index(path, &array));
}

/* ---- broken chunks ---- */

/* Where a chunk lies, by the library. */
static hsize_t address_of(const char *path, unsigned number, hsize_t *bytes) {
    haddr_t address = 0;
    hsize_t corner[HC_AXES];
    unsigned mask = 0;
    hid_t file = H5Fopen(path, H5F_ACC_RDONLY, H5P_DEFAULT), dataset = H5Dopen2(file, "cube", H5P_DEFAULT);
    hid_t space = H5Dget_space(dataset);
    assert_true(H5Dget_chunk_info(dataset, space, number, corner, &mask, &address, bytes) >= 0);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    return address;
}

static void broken_chunks_are_refused(void **state) {
    static const int filters[][FILTERS_MAX + 1] = {{H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE},
                                                   {H5Z_FILTER_FLETCHER32}};
    static const char *const parts[] = {"deflate", "its checksum is"};
    (void)state;
    for (int f = 0; f < 2; f++) {
        HcError err = {0};
        HcRaw raw;
        HcChunks *chunks = NULL;
        Array array = {.type = H5T_STD_I16LE,
                       .as = HC_INT16,
                       .order = {HC_AXIS_BAND, HC_AXIS_LINE, HC_AXIS_SAMPLE},
                       .chunk = {4, 8, 6}};
        char path[300];
        hsize_t bytes = 0;
        snprintf(path, sizeof path, "%s", in_folder("broken.h5"));
        memcpy(array.filter, filters[f], sizeof array.filter);
        write_array(path, &array);
        hsize_t address = address_of(path, 4, &bytes);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_int_equal(fseek(file, (long)address, SEEK_SET), 0);
        assert_int_equal(fwrite("garbage!", 1, 8, file), 8);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(hc_chunks_open(&chunks, open_index(path, &array), &err), HC_OK);
        void *buffer = malloc(hc_chunks_bytes(chunks, LINES));
        assert_int_equal(hc_chunks_read(chunks, 0, LINES, buffer, &raw, &err), HC_E_INPUT);
        if (strstr(err.text, path) == NULL || strstr(err.text, parts[f]) == NULL ||
            strstr(err.text, "line 8, sample 6, band 0") == NULL) {
            fail_msg("'%s' does not say what is wrong", err.text);
        }
        free(buffer);
        hc_chunks_close(chunks);
    }
}

/* ---- netCDF, as GDAL reads it ---- */

/* A netCDF 4 file with the array "cube" of bands, lines, samples in chunks. `first`, `step`: the coordinates
 * of lines, step 0 = none; `attribute` with the value 200, or NULL; in one chunk or in many. */
static void write_netcdf(const char *path, double first, double step, const char *attribute, bool one) {
    static const char *const names[] = {"band", "y", "x"};
    static float values[BANDS * LINES * SAMPLES];
    GUInt64 start[3] = {0};
    size_t count[3] = {BANDS, LINES, SAMPLES};
    GDALDimensionH dimension[3];
    const char *const options[] = {"COMPRESS=DEFLATE", one ? "BLOCKSIZE=11,23,17" : "BLOCKSIZE=3,5,4", NULL};
    unlink(path);
    GDALDatasetH dataset = GDALCreateMultiDimensional(GDALGetDriverByName("netCDF"), path, NULL, NULL);
    assert_non_null(dataset);
    GDALGroupH root = GDALDatasetGetRootGroup(dataset);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Float32);
    for (int d = 0; d < 3; d++) {
        dimension[d] = GDALGroupCreateDimension(root, names[d],
                                                d == 2   ? "HORIZONTAL_X"
                                                : d == 1 ? "HORIZONTAL_Y"
                                                         : NULL,
                                                NULL, count[d], NULL);
        for (size_t i = 0; i < count[d]; i++) {
            values[i] = (float)(d == 1 ? first + step * (double)i : (double)i);
        }
        if (d > 0 && step != 0) {
            GDALMDArrayH axis = GDALGroupCreateMDArray(root, names[d], 1, &dimension[d], type, NULL);
            assert_true(GDALMDArrayWrite(axis, start, &count[d], NULL, NULL, type, values, NULL, 0));
            GDALMDArrayRelease(axis);
        }
    }
    for (int i = 0; i < BANDS * LINES * SAMPLES; i++) {
        values[i] = (float)(i % 250);
    }
    GDALMDArrayH array =
        GDALGroupCreateMDArray(root, "cube", 3, dimension, type, (char **)(uintptr_t)options);
    assert_non_null(array);
    if (attribute != NULL) {
        GDALAttributeH limit = GDALMDArrayCreateAttribute(array, attribute, 0, NULL, type, NULL);
        assert_true(GDALAttributeWriteDouble(limit, 200));
        GDALAttributeRelease(limit);
    }
    assert_true(GDALMDArrayWrite(array, start, count, NULL, NULL, type, values, NULL, 0));
    GDALMDArrayRelease(array);
    for (int d = 0; d < 3; d++) {
        GDALDimensionRelease(dimension[d]);
    }
    GDALExtendedDataTypeRelease(type);
    GDALGroupRelease(root);
    GDALClose(dataset);
}

/* Whether chunks were read; the values are those of GDAL in any case. */
static bool reads_as_gdal(const char *path, double memory) {
    HcReader *reader[2] = {NULL, NULL};
    char *values[2];
    int32_t *bands = NULL;
    for (int gdal = 0; gdal < 2; gdal++) {
        HcError err = {0};
        HcReaderOptions options = {.never_direct = gdal == 1};
        if (hc_reader_open(&reader[gdal], path, &options, &err) != HC_OK) {
            fail_msg("%s", err.text);
        }
        (void)hc_reader_settle(reader[gdal], 0, memory, false);
        bands = bands == NULL ? all_bands(reader[gdal]) : bands;
        values[gdal] = read_all(reader[gdal], 6, bands, BANDS, &err);
        assert_non_null(values[gdal]);
    }
    bool chunks = strncmp(hc_reader_method(reader[0]), "chunks", 6) == 0;
    assert_int_equal(hc_reader_scene(reader[0])->lines, LINES);
    assert_memory_equal(values[0], values[1], sizeof(float) * BANDS * LINES * SAMPLES);
    for (int i = 0; i < 2; i++) {
        hc_reader_close(reader[i]);
        free(values[i]);
    }
    free(bands);
    return chunks;
}

static void netcdf_as_gdal_reads_it(void **state) {
    const struct { double first, step; } lines[] = {{0, 0}, {50, -0.1}, {40, 0.1}};
    char path[300], part[400];
    (void)state;
    if (GDALGetDriverByName("netCDF") == NULL) {
        skip();
    }
    for (int i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s", in_folder("cube.nc"));
        write_netcdf(path, lines[i % 3].first, lines[i % 3].step, NULL, i >= 3);
        assert_true(reads_as_gdal(path, 1e9));
        assert_true(reads_as_gdal(path, 0));
        snprintf(part, sizeof part, "HDF5:\"%s\"://cube", path);
        if (GDALGetDriverByName("HDF5") != NULL) {
            assert_true(reads_as_gdal(part, 0));
        }
    }
    /* netCDF takes values beyond the limit for missing ones. */
    write_netcdf(path, 50, -0.1, "valid_max", false);
    assert_false(reads_as_gdal(path, 1e9));
}

/* GDAL before 3.7 says unsigned. */
static void bytes_keep_their_sign(void **state) {
    (void)state;
    const hsize_t size[2] = {2, 3};
    const int8_t values[6] = {-128, -1, 0, 1, 2, 127};
    const hid_t types[] = {H5T_STD_I8LE, H5T_STD_U8LE};
    const char *path = in_folder("bytes.h5");
    char name[400];
    if (GDALGetDriverByName("HDF5") == NULL) {
        skip();
    }
    snprintf(name, sizeof name, "HDF5:\"%s\"://cube", path);
    for (int i = 0; i < 4; i++) {
        HcReader *reader = NULL;
        HcError err = {0};
        HcReaderOptions options = {.never_direct = i >= 2};
        hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
        hid_t space = H5Screate_simple(2, size, NULL);
        hid_t dataset = H5Dcreate2(file, "cube", types[i % 2], space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        assert_true(H5Dwrite(dataset, types[i % 2], H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
        H5Dclose(dataset);
        H5Sclose(space);
        H5Fclose(file);
        check_ok(hc_reader_open(&reader, name, &options, &err), err);
        assert_int_equal(hc_reader_scene(reader)->type, i % 2 == 0 ? HC_INT8 : HC_UINT8);
        char *all = read_all(reader, 2, (const int32_t[]){0}, 1, &err);
        assert_non_null(all);
        assert_memory_equal(all, values, sizeof values);
        free(all);
        hc_reader_close(reader);
    }
}

/* GDAL's netCDF driver cannot read bytes that are unsigned by an attribute. */
static void unsigned_bytes_of_netcdf(void **state) {
    (void)state;
    const hsize_t size[2] = {2, 3};
    const uint8_t values[6] = {128, 255, 0, 1, 2, 127};
    const char *path = in_folder("unsigned.nc");
    HcReader *reader = NULL;
    HcError err = {0};
    if (GDALGetDriverByName("netCDF") == NULL) {
        skip();
    }
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
    hid_t space = H5Screate_simple(2, size, NULL), one = H5Screate(H5S_SCALAR), text = H5Tcopy(H5T_C_S1);
    hid_t dataset = H5Dcreate2(file, "cube", H5T_STD_I8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Tset_size(text, 4) >= 0);
    hid_t attribute = H5Acreate2(dataset, "_Unsigned", text, one, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Awrite(attribute, text, "true") >= 0);
    assert_true(H5Dwrite(dataset, H5T_STD_I8LE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Aclose(attribute);
    H5Tclose(text);
    H5Sclose(one);
    H5Dclose(dataset);
    H5Sclose(space);
    H5Fclose(file);
    check_ok(hc_reader_open(&reader, path, NULL, &err), err);
    assert_int_equal(hc_reader_scene(reader)->type, HC_UINT8);
    char *all = read_all(reader, 2, (const int32_t[]){0}, 1, &err);
    assert_non_null(all);
    assert_memory_equal(all, values, sizeof values);
    free(all);
    hc_reader_close(reader);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_order_of_axes),      cmocka_unit_test(every_type_and_filter),
        cmocka_unit_test(arrays_in_one_piece),      cmocka_unit_test(others_are_not_taken),
        cmocka_unit_test(no_fill_value_is_needed),  cmocka_unit_test(broken_chunks_are_refused),
        cmocka_unit_test(netcdf_as_gdal_reads_it),  cmocka_unit_test(bytes_keep_their_sign),
        cmocka_unit_test(unsigned_bytes_of_netcdf),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
