/* Spoils a copy of an EMIT granule, for tests of what is said of it: flaw FLAW FILE */
#include <hdf5.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NO_FILTER = 32099, CUT = 100 };

static const char cube[] = "/reflectance";
static const char wavelengths[] = "/sensor_band_parameters/wavelengths";

static void check(int64_t result, const char *what) {
    if (result < 0) {
        fprintf(stderr, "flaw: %s failed\n", what);
        exit(EXIT_FAILURE);
    }
}

static hid_t checked(hid_t id, const char *what) {
    check(id, what);
    return id;
}

/* The first chunk of the array, as it is stored; *bytes of it. To be freed. */
static void *first_chunk(hid_t array, uint32_t *filters, size_t *bytes) {
    const hsize_t start[3] = {0};
    hsize_t size = 0;
    check(H5Dget_chunk_storage_size(array, start, &size), "H5Dget_chunk_storage_size");
    void *chunk = malloc(size);
    check(chunk != NULL ? 0 : -1, "malloc");
    *bytes = size;
#if H5_VERSION_GE(2, 0, 0)
    check(H5Dread_chunk2(array, H5P_DEFAULT, start, filters, chunk, bytes), "H5Dread_chunk2");
#else
    check(H5Dread_chunk(array, H5P_DEFAULT, start, filters, chunk), "H5Dread_chunk");
#endif
    return chunk;
}

/* The first chunk ends before its compressed values do. */
static void cut_chunk(hid_t file) {
    const hsize_t start[3] = {0};
    uint32_t filters = 0;
    size_t bytes = 0;
    hid_t array = checked(H5Dopen2(file, cube, H5P_DEFAULT), cube);
    void *chunk = first_chunk(array, &filters, &bytes);
    check(H5Dwrite_chunk(array, H5P_DEFAULT, filters, start, bytes - CUT, chunk), "H5Dwrite_chunk");
    free(chunk);
    H5Dclose(array);
}

/* The first chunk is said not to be compressed. */
static void deny_filter(hid_t file) {
    const hsize_t start[3] = {0};
    uint32_t filters = 0;
    size_t bytes = 0;
    hid_t array = checked(H5Dopen2(file, cube, H5P_DEFAULT), cube);
    void *chunk = first_chunk(array, &filters, &bytes);
    /* HDF5 drops what is written to a chunk whose size does not change. */
    check(H5Dwrite_chunk(array, H5P_DEFAULT, UINT32_MAX, start, bytes - CUT, chunk), "H5Dwrite_chunk");
    free(chunk);
    H5Dclose(array);
}

/* The array again, without values, made in the way `how`; both are closed. */
static hid_t make_again(hid_t file, hid_t array, hid_t how) {
    hid_t space = checked(H5Dget_space(array), "H5Dget_space");
    H5Dclose(array);
    check(H5Ldelete(file, cube, H5P_DEFAULT), "H5Ldelete");
    array = checked(H5Dcreate2(file, cube, H5T_IEEE_F32LE, space, H5P_DEFAULT, how, H5P_DEFAULT), cube);
    H5Pclose(how);
    H5Sclose(space);
    return array;
}

/* Two chunks were made with a filter that no library knows; the first was not, where `late`. */
static void set_unknown_filter(hid_t file, bool late) {
    const hsize_t start[3] = {0}, second[3] = {16, 0, 0}, chunk[3] = {16, 48, 32};
    static float plain[16 * 48 * 32];
    uint32_t filters = 0;
    size_t bytes = 0;
    hid_t array = checked(H5Dopen2(file, cube, H5P_DEFAULT), cube);
    hid_t how = checked(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
    void *values = first_chunk(array, &filters, &bytes);
    check(H5Pset_chunk(how, 3, chunk), "H5Pset_chunk");
    check(H5Pset_filter(how, NO_FILTER, H5Z_FLAG_OPTIONAL, 0, NULL), "H5Pset_filter");
    array = make_again(file, array, how);
    if (late) {
        check(H5Dwrite_chunk(array, H5P_DEFAULT, 1, start, sizeof plain, plain), "H5Dwrite_chunk");
    } else {
        check(H5Dwrite_chunk(array, H5P_DEFAULT, 0, start, bytes, values), "H5Dwrite_chunk");
    }
    check(H5Dwrite_chunk(array, H5P_DEFAULT, 0, second, bytes, values), "H5Dwrite_chunk");
    free(values);
    H5Dclose(array);
}

/* The first chunk lies in an array with chunks of other lines: its stream makes less or more than those. */
static void set_chunk_lines(hid_t file, hsize_t lines) {
    const hsize_t start[3] = {0};
    hsize_t chunk[3] = {0};
    uint32_t filters = 0;
    size_t bytes = 0;
    hid_t array = checked(H5Dopen2(file, cube, H5P_DEFAULT), cube);
    hid_t how = checked(H5Dget_create_plist(array), "H5Dget_create_plist");
    void *values = first_chunk(array, &filters, &bytes);
    check(H5Pget_chunk(how, 3, chunk), "H5Pget_chunk");
    chunk[0] = lines;
    check(H5Pset_chunk(how, 3, chunk), "H5Pset_chunk");
    array = make_again(file, array, how);
    check(H5Dwrite_chunk(array, H5P_DEFAULT, filters, start, bytes, values), "H5Dwrite_chunk");
    free(values);
    H5Dclose(array);
}

/* An attribute holds that many numbers from `first` on. */
static void set_numbers(hid_t file, const char *object, const char *name, int first, hsize_t count) {
    static int values[4000];
    hid_t of = checked(H5Oopen(file, object, H5P_DEFAULT), object);
    hid_t space = checked(H5Screate_simple(1, &count, NULL), "H5Screate_simple");
    for (hsize_t i = 0; i < count; i++) {
        values[i] = first + (int)i;
    }
    if (H5Aexists(of, name) > 0) {
        check(H5Adelete(of, name), name);
    }
    hid_t attribute = checked(H5Acreate2(of, name, H5T_STD_I32LE, space, H5P_DEFAULT, H5P_DEFAULT), name);
    check(H5Awrite(attribute, H5T_NATIVE_INT, values), name);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Oclose(of);
}

/* Arrays of one axis without a name. */
static void add_arrays(hid_t file, int arrays) {
    const hsize_t count = 10;
    hid_t space = checked(H5Screate_simple(1, &count, NULL), "H5Screate_simple");
    for (int i = 0; i < arrays; i++) {
        char name[32];
        snprintf(name, sizeof name, "/unnamed%d", i);
        H5Dclose(checked(H5Dcreate2(file, name, H5T_STD_U8LE, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                         name));
    }
    H5Sclose(space);
}

/* No flaw: texts and lists of any length, alone and in a struct, in compressed chunks. */
static void add_texts(hid_t file) {
    const hsize_t one = 1, most = H5S_UNLIMITED, chunk = 1024, two = 2;
    static const char *text = "32611";
    hid_t words = checked(H5Tcopy(H5T_C_S1), "H5Tcopy");
    check(H5Tset_size(words, H5T_VARIABLE), "H5Tset_size");
    hid_t list = checked(H5Tvlen_create(H5T_NATIVE_INT), "H5Tvlen_create");
    hid_t pair = checked(H5Tarray_create2(words, 1, &two), "H5Tarray_create2");
    hid_t entry = checked(H5Tcreate(H5T_COMPOUND, 2 * sizeof text), "H5Tcreate");
    check(H5Tinsert(entry, "word", 0, words), "H5Tinsert");
    check(H5Tinsert(entry, "number", sizeof text, H5T_NATIVE_DOUBLE), "H5Tinsert");
    hid_t space = checked(H5Screate_simple(1, &one, &most), "H5Screate_simple");
    hid_t how = checked(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
    check(H5Pset_chunk(how, 1, &chunk), "H5Pset_chunk");
    check(H5Pset_deflate(how, 4), "H5Pset_deflate");
    const hid_t types[] = {words, list, pair, entry};
    for (int t = 0; t < 4; t++) {
        int number = 7;
        hvl_t numbers = {1, &number};
        const char *texts[2] = {text, text};
        struct {
            const char *word;
            double number;
        } record = {text, 7};
        const void *values[] = {&text, &numbers, texts, &record};
        char name[32];
        snprintf(name, sizeof name, "/texts%d", t);
        hid_t array = checked(H5Dcreate2(file, name, types[t], space, H5P_DEFAULT, how, H5P_DEFAULT), name);
        check(H5Dwrite(array, types[t], H5S_ALL, H5S_ALL, H5P_DEFAULT, values[t]), name);
        H5Dclose(array);
        H5Tclose(types[t]);
    }
    H5Pclose(how);
    H5Sclose(space);
}

/* An array whose values are bytes of a file, or of an array in another one. */
static void add_foreign(hid_t file, bool is_virtual) {
    const hsize_t count = 40;
    hid_t space = checked(H5Screate_simple(1, &count, NULL), "H5Screate_simple");
    hid_t how = checked(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate");
    check(is_virtual ? H5Pset_virtual(how, space, "/etc/other.h5", "/values", space)
                     : H5Pset_external(how, "/etc/passwd", 0, count),
          "the other file");
    H5Dclose(
        checked(H5Dcreate2(file, "/foreign", H5T_STD_U8LE, space, H5P_DEFAULT, how, H5P_DEFAULT), "foreign"));
    H5Pclose(how);
    H5Sclose(space);
}

static void change(hid_t file, const char *name, void (*how)(double *values, hsize_t count)) {
    hid_t array = checked(H5Dopen2(file, name, H5P_DEFAULT), name);
    hid_t space = checked(H5Dget_space(array), name);
    hssize_t count = H5Sget_simple_extent_npoints(space);
    check(count, name);
    double *values = calloc((size_t)count + 1, sizeof *values);
    check(values != NULL ? 0 : -1, "calloc");
    check(H5Dread(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), name);
    how(values, (hsize_t)count);
    check(H5Dwrite(array, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values), name);
    free(values);
    H5Sclose(space);
    H5Dclose(array);
}

static void turn_round(double *values, hsize_t count) {
    for (hsize_t i = 0; i < count / 2; i++) {
        double kept = values[i];
        values[i] = values[count - 1 - i];
        values[count - 1 - i] = kept;
    }
}

/* The first pixel of the map that has one leads to another sample. */
static void lead(double *values, hsize_t count, double sample) {
    hsize_t i = 0;
    while (i < count && values[i] <= 0) {
        i++;
    }
    values[i < count ? i : 0] = sample;
}

static void lead_outside(double *values, hsize_t count) {
    lead(values, count, 4711);
}

static void set_nan(double *values, hsize_t count) {
    values[count > 3 ? 3 : 0] = NAN;
}

static void set_fill(double *values, hsize_t count) {
    values[count > 3 ? 3 : 0] = 9.96921e36; /* of netCDF */
}

static void forget(hid_t file, const char *name) {
    check(H5Ldelete(file, name, H5P_DEFAULT), name);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fputs("usage: flaw FLAW FILE\n", stderr);
        return 2;
    }
    const char *flaw = argv[1];
    hid_t file = checked(H5Fopen(argv[2], H5F_ACC_RDWR, H5P_DEFAULT), argv[2]);
    if (strcmp(flaw, "cut-chunk") == 0) {
        cut_chunk(file);
    } else if (strcmp(flaw, "denied-filter") == 0) {
        deny_filter(file);
    } else if (strcmp(flaw, "unknown-filter") == 0) {
        set_unknown_filter(file, false);
    } else if (strcmp(flaw, "late-unknown-filter") == 0) {
        set_unknown_filter(file, true);
    } else if (strcmp(flaw, "short-chunk") == 0) {
        set_chunk_lines(file, 64);
    } else if (strcmp(flaw, "long-chunk") == 0) {
        set_chunk_lines(file, 8);
    } else if (strcmp(flaw, "many-ids") == 0) {
        set_numbers(file, "/downtrack", "_Netcdf4Dimid", 0, 4000);
    } else if (strcmp(flaw, "far-id") == 0) {
        set_numbers(file, "/downtrack", "_Netcdf4Dimid", INT32_MAX, 1);
    } else if (strcmp(flaw, "many-axes") == 0) {
        set_numbers(file, cube, "_Netcdf4Coordinates", 0, 4000);
    } else if (strcmp(flaw, "far-axes") == 0) {
        set_numbers(file, cube, "_Netcdf4Coordinates", 10000, 3);
    } else if (strcmp(flaw, "number-name") == 0) {
        set_numbers(file, "/downtrack", "NAME", 0, 100);
    } else if (strcmp(flaw, "digits") == 0) {
        set_numbers(file, cube, "_QuantizeBitGroomNumberOfSignificantDigits", 0, 4000);
    } else if (strcmp(flaw, "loop") == 0) {
        check(H5Lcreate_hard(file, "/", file, "/location/up", H5P_DEFAULT, H5P_DEFAULT), "H5Lcreate_hard");
    } else if (strcmp(flaw, "unnamed") == 0) {
        add_arrays(file, 1500);
    } else if (strcmp(flaw, "texts") == 0) {
        add_texts(file);
    } else if (strcmp(flaw, "external") == 0 || strcmp(flaw, "virtual") == 0) {
        add_foreign(file, strcmp(flaw, "virtual") == 0);
    } else if (strcmp(flaw, "link") == 0) {
        check(H5Lcreate_external("/etc/other.h5", "/values", file, "/foreign", H5P_DEFAULT, H5P_DEFAULT),
              "H5Lcreate_external");
    } else if (strcmp(flaw, "no-group") == 0) {
        forget(file, "/sensor_band_parameters");
    } else if (strcmp(flaw, "no-wavelengths") == 0) {
        forget(file, wavelengths);
    } else if (strcmp(flaw, "nan-wavelength") == 0) {
        change(file, wavelengths, set_nan);
    } else if (strcmp(flaw, "fill-wavelength") == 0) {
        change(file, wavelengths, set_fill);
    } else if (strcmp(flaw, "descending") == 0) {
        change(file, wavelengths, turn_round);
    } else if (strcmp(flaw, "glt-outside") == 0) {
        change(file, "/location/glt_x", lead_outside);
    } else if (strcmp(flaw, "no-location") == 0) {
        forget(file, "/location");
    } else {
        fprintf(stderr, "flaw: %s is none\n", flaw);
        return 2;
    }
    check(H5Fclose(file), "H5Fclose");
    return EXIT_SUCCESS;
}
