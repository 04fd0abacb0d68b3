/*
 * Makes the files of sample_data/ that are laid out as EMIT's: make_emit OUTPUT_DIR
 *
 * The scene in OUTPUT_DIR as a sensor might have seen it that flew across at an angle: reflectance in sensor
 * geometry with its geometric lookup table, and quality masks in a second file. README.md says what they
 * hold. Groups, arrays and attributes are those of the product guide that docs/products.md names; nothing was
 * measured by EMIT.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cpl_conv.h>
#include <cpl_string.h>
#include <gdal.h>
#include <ogr_srs_api.h>

#define REFLECTANCE "EMIT_L2A_RFL_001_20240501T101010_2412207_001.nc"
#define MASKS       "EMIT_L2A_MASK_001_20240501T101010_2412207_001.nc"

enum { LINES = 64, SAMPLES = 48, BANDS = 32, EVERY = 2, MASK_BANDS = 8, MARGIN = 2 };

static const double fill = -9999;
static const double angle = 0.35;                /* between the track and south */
static const double spacing = 0.000542232520256; /* degrees, of EMIT's maps */
static const double west = 12.62, north = 50.22; /* of the map */
static const double step = 1.15;                 /* pixels of the scene in one of the sensor */
static const char *const mask_names[MASK_BANDS] = {"Cloud flag",      "Cirrus flag",        "Water flag",
                                                   "Spacecraft Flag", "Dilated Cloud Flag", "AOD550",
                                                   "H2O (g cm-2)",    "Aggregate Flag"};

typedef struct Sensor {
    double wavelength[BANDS], fwhm[BANDS], good[BANDS];
    float reflectance[LINES][SAMPLES][BANDS];
    float mask[LINES][SAMPLES][MASK_BANDS];
    double latitude[LINES][SAMPLES], longitude[LINES][SAMPLES];
    int map_lines, map_samples;
    int32_t *glt_x, *glt_y; /* [map_lines][map_samples] from 1, 0 = none */
} Sensor;

static void *checked(void *made, const char *what) {
    if (made == NULL) {
        fprintf(stderr, "make_emit: %s: %s\n", what, CPLGetLastErrorMsg());
        exit(EXIT_FAILURE);
    }
    return made;
}

static void check(bool good, const char *what) {
    (void)checked(good ? "" : NULL, what);
}

/* ---- what the sensor sees ---- */

static double number_of(GDALRasterBandH band, const char *key) {
    const char *text = GDALGetMetadataItem(band, key, "");
    return text != NULL ? CPLAtof(text) : NAN;
}

/* The numbers of a list in the header of the scene, which GDAL does not give for each band. */
static void read_list(GDALDatasetH scene, const char *key, double *values) {
    const char *text = checked((void *)(uintptr_t)GDALGetMetadataItem(scene, key, "ENVI"), key);
    char **words = CSLTokenizeString2(text, "{,} ", 0);
    check(CSLCount(words) == BANDS * EVERY, key);
    for (int b = 0; b < BANDS; b++) {
        values[b] = CPLAtof(words[b * EVERY]);
    }
    CSLDestroy(words);
}

static void see(Sensor *sensor, GDALDatasetH scene) {
    int width = GDALGetRasterXSize(scene), height = GDALGetRasterYSize(scene);
    uint16_t *plane = checked(malloc((size_t)(width * height) * sizeof *plane), "memory");
    for (int b = 0; b < BANDS; b++) {
        GDALRasterBandH band = GDALGetRasterBand(scene, b * EVERY + 1);
        check(GDALRasterIO(band, GF_Read, 0, 0, width, height, plane, width, height, GDT_UInt16, 0, 0) ==
                  CE_None,
              "the scene");
        sensor->wavelength[b] = number_of(band, "wavelength");
        for (int l = 0; l < LINES; l++) {
            for (int s = 0; s < SAMPLES; s++) {
                double across = step * (s - SAMPLES / 2), along = step * (l - LINES / 2);
                int x = (int)lround(width / 2 + cos(angle) * across - sin(angle) * along);
                int y = (int)lround(height / 2 + sin(angle) * across + cos(angle) * along);
                bool inside = x >= 0 && x < width && y >= 0 && y < height && plane[y * width + x] > 0;
                sensor->reflectance[l][s][b] = inside ? (float)(plane[y * width + x] / 10000.0) : (float)fill;
            }
        }
    }
    free(plane);
}

/* A cloud in one corner, with a margin, thin cirrus at the end of the track, and what is dark in the near
 * infrared. */
static void set_masks(Sensor *sensor) {
    int infrared = 0;
    while (infrared < BANDS - 1 && sensor->wavelength[infrared] < 860) {
        infrared++;
    }
    for (int l = 0; l < LINES; l++) {
        for (int s = 0; s < SAMPLES; s++) {
            double far = hypot(l - 12, s - 36);
            float *mask = sensor->mask[l][s];
            mask[0] = far < 6;
            mask[1] = l >= LINES - 3;
            mask[2] = sensor->reflectance[l][s][infrared] < 0.05;
            mask[4] = far < 8;
            mask[5] = 0.15F;
            mask[6] = 1.2F;
            mask[7] = mask[0] > 0 || mask[1] > 0 || mask[2] > 0 || mask[4] > 0;
        }
    }
}

/* ---- where it lies ---- */

/* Of a pixel of the sensor, in pixels of the map. */
static void place_of(double line, double sample, double *x, double *y) {
    *x = cos(angle) * sample - sin(angle) * line;
    *y = sin(angle) * sample + cos(angle) * line;
}

static void set_places(Sensor *sensor) {
    double left = 0, top = 0, right = 0, bottom = 0, x, y;
    for (int corner = 0; corner < 4; corner++) {
        place_of(corner / 2 * (LINES - 1), corner % 2 * (SAMPLES - 1), &x, &y);
        left = fmin(left, x);
        right = fmax(right, x);
        top = fmin(top, y);
        bottom = fmax(bottom, y);
    }
    left = floor(left) - MARGIN;
    top = floor(top) - MARGIN;
    sensor->map_samples = (int)ceil(right - left) + MARGIN + 1;
    sensor->map_lines = (int)ceil(bottom - top) + MARGIN + 1;
    size_t pixels = (size_t)(sensor->map_lines * sensor->map_samples);
    sensor->glt_x = checked(calloc(pixels, sizeof(int32_t)), "memory");
    sensor->glt_y = checked(calloc(pixels, sizeof(int32_t)), "memory");
    for (size_t p = 0; p < pixels; p++) {
        x = (double)(p % (size_t)sensor->map_samples) + left;
        y = (double)(p / (size_t)sensor->map_samples) + top;
        long sample = lround(cos(angle) * x + sin(angle) * y), line = lround(cos(angle) * y - sin(angle) * x);
        if (sample >= 0 && sample < SAMPLES && line >= 0 && line < LINES) {
            sensor->glt_x[p] = (int32_t)sample + 1;
            sensor->glt_y[p] = (int32_t)line + 1;
        }
    }
    for (int l = 0; l < LINES; l++) {
        for (int s = 0; s < SAMPLES; s++) {
            place_of(l, s, &x, &y);
            sensor->longitude[l][s] = west + spacing * (x - left + 0.5);
            sensor->latitude[l][s] = north - spacing * (y - top + 0.5);
        }
    }
}

/* ---- files ---- */

typedef struct File {
    GDALDatasetH dataset;
    GDALGroupH root;
    GDALDimensionH line, sample, band;
} File;

static File begin(const char *folder, const char *name, const char *bands, int count) {
    char path[4096];
    File file;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    remove(path);
    file.dataset = checked(GDALCreateMultiDimensional(GDALGetDriverByName("netCDF"), path, NULL, NULL), path);
    file.root = checked(GDALDatasetGetRootGroup(file.dataset), path);
    file.line = checked(GDALGroupCreateDimension(file.root, "downtrack", NULL, NULL, LINES, NULL), path);
    file.sample = checked(GDALGroupCreateDimension(file.root, "crosstrack", NULL, NULL, SAMPLES, NULL), path);
    file.band = checked(GDALGroupCreateDimension(file.root, bands, NULL, NULL, (GUInt64)count, NULL), path);
    return file;
}

static void end(File *file) {
    GDALDimensionRelease(file->line);
    GDALDimensionRelease(file->sample);
    GDALDimensionRelease(file->band);
    GDALGroupRelease(file->root);
    GDALClose(file->dataset);
}

/* An array of one to three axes; chunks NULL = not compressed. */
static GDALMDArrayH put(GDALGroupH group, const char *name, int axes, const GDALDimensionH *axis,
                        GDALDataType stored, GDALDataType given, const void *values, const char *chunks,
                        bool has_fill) {
    GUInt64 start[3] = {0};
    size_t count[3] = {0};
    char **options = NULL;
    for (int a = 0; a < axes; a++) {
        count[a] = (size_t)GDALDimensionGetSize(axis[a]);
    }
    if (chunks != NULL) {
        options = CSLSetNameValue(options, "BLOCKSIZE", chunks);
        options = CSLSetNameValue(options, "COMPRESS", "DEFLATE");
        options = CSLSetNameValue(options, "ZLEVEL", "9");
    }
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(stored), from = GDALExtendedDataTypeCreate(given);
    GDALDimensionH list[3] = {axis[0], axes > 1 ? axis[1] : NULL, axes > 2 ? axis[2] : NULL};
    GDALMDArrayH array =
        checked(GDALGroupCreateMDArray(group, name, (size_t)axes, list, type, options), name);
    check(!has_fill || GDALMDArraySetNoDataValueAsDouble(array, fill), name);
    check(GDALMDArrayWrite(array, start, count, NULL, NULL, from, values, NULL, 0), name);
    GDALExtendedDataTypeRelease(type);
    GDALExtendedDataTypeRelease(from);
    CSLDestroy(options);
    return array;
}

static void put_text(GDALGroupH group, const char *name, const char *text) {
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateString(0);
    GDALAttributeH made = checked(GDALGroupCreateAttribute(group, name, 0, NULL, type, NULL), name);
    check(GDALAttributeWriteString(made, text), name);
    GDALAttributeRelease(made);
    GDALExtendedDataTypeRelease(type);
}

static void put_location(const Sensor *sensor, const File *file) {
    const double transform[6] = {west, spacing, 0, north, 0, -spacing};
    GUInt64 six = 6;
    GDALGroupH group = checked(GDALGroupCreateGroup(file->root, "location", NULL), "location");
    GDALDimensionH scene[] = {file->line, file->sample}, map[2];
    map[0] =
        checked(GDALGroupCreateDimension(file->root, "ortho_y", NULL, NULL, (GUInt64)sensor->map_lines, NULL),
                "ortho_y");
    map[1] = checked(
        GDALGroupCreateDimension(file->root, "ortho_x", NULL, NULL, (GUInt64)sensor->map_samples, NULL),
        "ortho_x");
    GDALMDArrayRelease(
        put(group, "lon", 2, scene, GDT_Float64, GDT_Float64, sensor->longitude, "64,48", false));
    GDALMDArrayRelease(
        put(group, "lat", 2, scene, GDT_Float64, GDT_Float64, sensor->latitude, "64,48", false));
    GDALMDArrayRelease(put(group, "glt_x", 2, map, GDT_Int32, GDT_Int32, sensor->glt_x, "40,40", false));
    GDALMDArrayRelease(put(group, "glt_y", 2, map, GDT_Int32, GDT_Int32, sensor->glt_y, "40,40", false));
    GDALDimensionRelease(map[0]);
    GDALDimensionRelease(map[1]);
    GDALGroupRelease(group);
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreate(GDT_Float64);
    GDALAttributeH made =
        checked(GDALGroupCreateAttribute(file->root, "geotransform", 1, &six, type, NULL), "geotransform");
    check(GDALAttributeWriteDoubleArray(made, transform, 6), "geotransform");
    GDALAttributeRelease(made);
    GDALExtendedDataTypeRelease(type);
    put_text(file->root, "spatial_ref", SRS_WKT_WGS84_LAT_LONG);
    put_text(file->root, "title", "Made by sample_data/make_emit.c, laid out as an EMIT L2A granule");
}

static void write_reflectance(const Sensor *sensor, const char *folder) {
    File file = begin(folder, REFLECTANCE, "bands", BANDS);
    GDALDimensionH axes[] = {file.line, file.sample, file.band};
    GDALMDArrayH cube = put(file.root, "reflectance", 3, axes, GDT_Float32, GDT_Float32, sensor->reflectance,
                            "16,48,32", true);
    check(GDALMDArraySetUnit(cube, "unitless"), "units");
    GDALMDArrayRelease(cube);
    GDALGroupH group =
        checked(GDALGroupCreateGroup(file.root, "sensor_band_parameters", NULL), "sensor_band_parameters");
    GDALMDArrayRelease(
        put(group, "wavelengths", 1, &file.band, GDT_Float32, GDT_Float64, sensor->wavelength, NULL, false));
    GDALMDArrayRelease(
        put(group, "fwhm", 1, &file.band, GDT_Float32, GDT_Float64, sensor->fwhm, NULL, false));
    GDALMDArrayRelease(
        put(group, "good_wavelengths", 1, &file.band, GDT_Float32, GDT_Float64, sensor->good, NULL, false));
    GDALGroupRelease(group);
    put_location(sensor, &file);
    end(&file);
}

static void write_masks(const Sensor *sensor, const char *folder) {
    File file = begin(folder, MASKS, "bands", MASK_BANDS);
    GDALDimensionH axes[] = {file.line, file.sample, file.band};
    GUInt64 start = 0;
    size_t count = MASK_BANDS;
    GDALMDArrayRelease(
        put(file.root, "mask", 3, axes, GDT_Float32, GDT_Float32, sensor->mask, "64,48,8", true));
    GDALGroupH group =
        checked(GDALGroupCreateGroup(file.root, "sensor_band_parameters", NULL), "sensor_band_parameters");
    GDALExtendedDataTypeH type = GDALExtendedDataTypeCreateString(0);
    GDALMDArrayH names =
        checked(GDALGroupCreateMDArray(group, "mask_bands", 1, &file.band, type, NULL), "mask_bands");
    check(GDALMDArrayWrite(names, &start, &count, NULL, NULL, type, mask_names, NULL, 0), "mask_bands");
    GDALMDArrayRelease(names);
    GDALExtendedDataTypeRelease(type);
    GDALGroupRelease(group);
    put_location(sensor, &file);
    end(&file);
}

int main(int argc, char **argv) {
    char path[4096];
    if (argc != 2 || argv[1][0] == '-') {
        fputs("usage: make_emit OUTPUT_DIR\n", stderr);
        return 2;
    }
    GDALAllRegister();
    snprintf(path, sizeof path, "%s/scene.img", argv[1]);
    GDALDatasetH scene = checked(GDALOpen(path, GA_ReadOnly), path);
    Sensor *sensor = checked(calloc(1, sizeof *sensor), "memory");
    read_list(scene, "fwhm", sensor->fwhm);
    read_list(scene, "bbl", sensor->good);
    see(sensor, scene);
    set_masks(sensor);
    set_places(sensor);
    write_reflectance(sensor, argv[1]);
    write_masks(sensor, argv[1]);
    GDALClose(scene);
    free(sensor->glt_x);
    free(sensor->glt_y);
    free(sensor);
    return EXIT_SUCCESS;
}
