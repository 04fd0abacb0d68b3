/* Writes a scene as Zarr, chunk by chunk and without GDAL or hcube, and its values as an ENVI file, for tests
 * of reading it:
 *
 *     zarr_store STORE.zarr RAW VERSION none|zlib|gzip|zstd [fortran] [big] [bip] [slash] [holes] [flat]
 * [geo]
 *
 * It has 30 lines x 41 samples x 7 bands of uint16 in chunks of 8 x 16 x 3. bip: the axes are line, sample,
 * band. holes: each fifth chunk has no file, and the fill value 7. flat: one band, without its axis. geo: the
 * place is said by attributes of GeoZarr and not by coordinates. The store has consolidated metadata (version
 * 2). */
#include <inttypes.h>
#include <libdeflate.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zstd.h>

enum { BANDS = 7, LINES = 30, SAMPLES = 41, FILL = 7, TEXT = 1 << 16, PATH = 1000 };

static const char *store, *codec;
static bool three, fortran, big, bip, slash, holes, flat, geo;
static char consolidated[TEXT] = "";

static const char wkt[] =
    "PROJCS[\\\"WGS 84 / UTM zone 33N\\\",GEOGCS[\\\"WGS 84\\\",DATUM[\\\"WGS_1984\\\",SPHEROID[\\\"WGS "
    "84\\\",6378137,298.257223563]],PRIMEM[\\\"Greenwich\\\",0],UNIT[\\\"degree\\\",0.0174532925199433]],"
    "PROJECTION[\\\"Transverse_Mercator\\\"],PARAMETER[\\\"latitude_of_origin\\\",0],"
    "PARAMETER[\\\"central_meridian\\\",15],PARAMETER[\\\"scale_factor\\\",0.9996],"
    "PARAMETER[\\\"false_easting\\\",500000],PARAMETER[\\\"false_northing\\\",0],UNIT[\\\"metre\\\",1],"
    "AUTHORITY[\\\"EPSG\\\",\\\"32633\\\"]]";

static void fail(const char *what) {
    perror(what);
    exit(EXIT_FAILURE);
}

static void put(const char *name, const void *data, size_t bytes) {
    char path[PATH];
    snprintf(path, sizeof path, "%s/%s", store, name);
    for (char *slash_at = strchr(path + 1, '/'); slash_at != NULL; slash_at = strchr(slash_at + 1, '/')) {
        *slash_at = '\0';
        (void)mkdir(path, 0777);
        *slash_at = '/';
    }
    FILE *file = fopen(path, "wb");
    if (file == NULL || fwrite(data, 1, bytes, file) != bytes || fclose(file) != 0) {
        fail(path);
    }
}

/* A text of the store, which goes into its consolidated metadata, too. */
__attribute__((format(printf, 2, 3))) static void put_text(const char *name, const char *format, ...) {
    char text[8192];
    size_t used = strlen(consolidated);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    put(name, text, strlen(text));
    snprintf(consolidated + used, sizeof consolidated - used, "%s\"%s\":%s", used > 0 ? "," : "", name, text);
}

static void put_chunk(const char *name, const void *data, size_t bytes) {
    size_t most = 2 * bytes + 4096, made = bytes;
    void *out = malloc(most);
    struct libdeflate_compressor *deflate = libdeflate_alloc_compressor(6);
    if (out == NULL || deflate == NULL) {
        fail("memory");
    }
    memcpy(out, data, bytes);
    made = strcmp(codec, "zlib") == 0   ? libdeflate_zlib_compress(deflate, data, bytes, out, most)
           : strcmp(codec, "gzip") == 0 ? libdeflate_gzip_compress(deflate, data, bytes, out, most)
           : strcmp(codec, "zstd") == 0 ? ZSTD_compress(out, most, data, bytes, 3)
                                        : made;
    put(name, out, made);
    libdeflate_free_compressor(deflate);
    free(out);
}

/* `shape`, `chunks` and `axes` are inner parts of lists of JSON. */
static void describe(const char *array, const char *type, const char *shape, const char *chunks,
                     const char *axes, const char *fill, const char *attributes) {
    char name[100], codecs[100] = "", compressor[100] = "null";
    const char *comma = attributes[0] != '\0' ? "," : "";
    bool is_float = type[0] == 'f', order = big && !is_float;
    if (strcmp(codec, "none") != 0) {
        snprintf(codecs, sizeof codecs, ",{\"name\":\"%s\",\"configuration\":{\"level\":3}}", codec);
        snprintf(compressor, sizeof compressor, "{\"id\":\"%s\",\"level\":3}", codec);
    }
    snprintf(name, sizeof name, "%s/%s", array, three ? "zarr.json" : ".zarray");
    if (three) {
        put_text(
            name,
            "{\"zarr_format\":3,\"node_type\":\"array\",\"shape\":[%s],\"data_type\":\"%s\",\"chunk_grid\":"
            "{\"name\":\"regular\",\"configuration\":{\"chunk_shape\":[%s]}},\"chunk_key_encoding\":"
            "{\"name\":\"default\",\"configuration\":{\"separator\":\"/\"}},\"fill_value\":%s,\"codecs\":"
            "[{\"name\":\"bytes\",\"configuration\":{\"endian\":\"%s\"}}%s],\"dimension_names\":[%s],"
            "\"attributes\":{%s}}",
            shape, is_float ? "float64" : "uint16", chunks, fill, order ? "big" : "little", codecs, axes,
            attributes);
        return;
    }
    put_text(name,
             "{\"zarr_format\":2,\"shape\":[%s],\"chunks\":[%s],\"dtype\":\"%c%s\",\"compressor\":%s,"
             "\"fill_value\":%s,\"order\":\"%s\",\"filters\":null,\"dimension_separator\":\"%s\"}",
             shape, chunks, order ? '>' : '<', type, compressor, fill, fortran ? "F" : "C",
             slash ? "/" : ".");
    snprintf(name, sizeof name, "%s/.zattrs", array);
    put_text(name, "{\"_ARRAY_DIMENSIONS\":[%s]%s%s}", axes, comma, attributes);
}

static void put_list(const char *array, double first, double step, int count, const char *attributes) {
    char shape[20], axes[40], name[100];
    double values[SAMPLES];
    for (int i = 0; i < count; i++) {
        values[i] = first + step * i;
    }
    snprintf(shape, sizeof shape, "%d", count);
    snprintf(axes, sizeof axes, "\"%s\"", array);
    describe(array, "f8", shape, shape, axes, "\"NaN\"", attributes);
    snprintf(name, sizeof name, "%s/%s0", array, three ? "c/" : "");
    put_chunk(name, values, (size_t)count * sizeof *values);
}

static uint16_t value_of(int band, int line, int sample) {
    return (uint16_t)(1 + (band * 7919 + line * 104729 + sample * 1299709 + line * sample) % 9973);
}

static bool is_hole(const int place[3]) {
    return holes && (place[0] * 31 + place[1] * 7 + place[2]) % 5 == 0;
}

/* The cube: its axes in the order of the array are bands, lines, samples, or those of bip. */
static const int sizes[3] = {BANDS, LINES, SAMPLES}, shapes[3] = {3, 8, 16};
static int axis_at(int place) {
    return bip ? (place + 1) % 3 : place;
}

static void put_cube_chunk(const int place[3], int first) {
    int shape[3], stride[3], all = 1;
    uint16_t values[3 * 8 * 16];
    char name[100] = "image/", separator = three || slash ? '/' : '.';
    strcat(name, three ? "c/" : "");
    for (int i = 0; i < 3; i++) {
        shape[i] = axis_at(i) == 0 && flat ? 1 : shapes[axis_at(i)];
    }
    for (int i = 2; i >= 0; i--) {
        int axis = fortran ? 2 - i : i;
        stride[axis] = all;
        all *= shape[axis];
    }
    for (int v = 0; v < all; v++) {
        int at[3] = {0};
        for (int i = 0; i < 3; i++) {
            at[axis_at(i)] = place[i] * shape[i] + v / stride[i] % shape[i];
        }
        uint16_t value = value_of(at[0], at[1], at[2]);
        values[v] = big ? __builtin_bswap16(value) : value;
    }
    for (int i = first; i < 3; i++) {
        snprintf(name + strlen(name), sizeof name - strlen(name), "%d%.*s", place[i], i < 2, &separator);
    }
    put_chunk(name, values, (size_t)all * sizeof *values);
}

static void put_cube(void) {
    static const char *const names[] = {"wavelength", "y", "x"};
    char shape[60] = "", chunks[60] = "", axes[60] = "", attributes[3000];
    int first = flat ? 1 : 0, count[3];
    for (int i = 0; i < 3; i++) {
        int axis = axis_at(i);
        count[i] = i < first ? 1 : (sizes[axis] + shapes[axis] - 1) / shapes[axis];
        const char *comma = i > first ? "," : "";
        if (i >= first) {
            sprintf(shape + strlen(shape), "%s%d", comma, sizes[axis]);
            sprintf(chunks + strlen(chunks), "%s%d", comma, shapes[axis]);
            sprintf(axes + strlen(axes), "%s\"%s\"", comma, names[axis]);
        }
    }
    snprintf(attributes, sizeof attributes, "\"units\":\"1\",\"scale_factor\":0.0001%s%s%s",
             geo ? ",\"spatial:transform\":[30,0,331200,0,-30,5563500],\"proj:wkt2\":\"" : "", geo ? wkt : "",
             geo ? "\"" : ",\"grid_mapping\":\"crs\"");
    describe("image", "u2", shape, chunks, axes, holes ? "7" : "0", attributes);
    for (int a = 0; a < count[0]; a++) {
        for (int b = 0; b < count[1]; b++) {
            for (int c = 0; c < count[2]; c++) {
                const int place[3] = {a, b, c};
                if (!is_hole(place)) {
                    put_cube_chunk(place, first);
                }
            }
        }
    }
}

static void put_raw(const char *path) {
    char header[PATH];
    int bands = flat ? 1 : BANDS;
    FILE *file = fopen(path, "wb");
    for (int b = 0; b < bands && file != NULL; b++) {
        for (int l = 0; l < LINES; l++) {
            for (int s = 0; s < SAMPLES; s++) {
                const int at[3] = {b, l, s};
                int place[3];
                for (int i = 0; i < 3; i++) {
                    place[i] = at[axis_at(i)] / shapes[axis_at(i)];
                }
                uint16_t value = is_hole(place) ? FILL : value_of(b, l, s);
                fwrite(&value, sizeof value, 1, file);
            }
        }
    }
    if (file == NULL || fclose(file) != 0) {
        fail(path);
    }
    snprintf(header, sizeof header, "%s.hdr", path);
    file = fopen(header, "w");
    if (file == NULL ||
        fprintf(file,
                "ENVI\nsamples = %d\nlines = %d\nbands = %d\ndata type = 12\ninterleave = bsq\n"
                "byte order = 0\nheader offset = 0\n%s",
                SAMPLES, LINES, bands, holes ? "data ignore value = 7\n" : "") < 0 ||
        fclose(file) != 0) {
        fail(header);
    }
}

int main(int count, char **words) {
    if (count < 5) {
        fprintf(stderr, "zarr_store STORE RAW VERSION CODEC [WORD...]\n");
        return EXIT_FAILURE;
    }
    store = words[1];
    codec = words[4];
    three = words[3][0] == '3';
    for (int w = 5; w < count; w++) {
        fortran = fortran || strcmp(words[w], "fortran") == 0;
        big = big || strcmp(words[w], "big") == 0;
        bip = bip || strcmp(words[w], "bip") == 0;
        slash = slash || strcmp(words[w], "slash") == 0;
        holes = holes || strcmp(words[w], "holes") == 0;
        flat = flat || strcmp(words[w], "flat") == 0;
        geo = geo || strcmp(words[w], "geo") == 0;
    }
    put_text(three ? "zarr.json" : ".zgroup",
             three ? "{\"zarr_format\":3,\"node_type\":\"group\"}" : "{\"zarr_format\":2}");
    put_cube();
    put_list("wavelength", 0.4, 0.1, BANDS, "\"units\":\"um\"");
    if (!geo) {
        char attributes[3000];
        snprintf(attributes, sizeof attributes, "\"crs_wkt\":\"%s\"", wkt);
        put_list("y", 5563485, -30, LINES, "\"standard_name\":\"projection_y_coordinate\"");
        put_list("x", 331215, 30, SAMPLES, "\"standard_name\":\"projection_x_coordinate\"");
        put_list("crs", 0, 0, 1, attributes);
    }
    if (!three) {
        char text[TEXT + 100];
        snprintf(text, sizeof text, "{\"zarr_consolidated_format\":1,\"metadata\":{%s}}", consolidated);
        put(".zmetadata", text, strlen(text));
    }
    put_raw(words[2]);
    return EXIT_SUCCESS;
}
