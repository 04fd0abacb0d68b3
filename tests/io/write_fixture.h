/* For the tests of what io/ writes: a fresh folder, a small awkward scene, and reading back through GDAL. */
#ifndef HC_TESTS_WRITE_FIXTURE_H
#define HC_TESTS_WRITE_FIXTURE_H

#include "io/write/writer.h"
#include "tests/support/check.h"

#include <cpl_conv.h>
#include <cpl_error.h>
#include <dirent.h>
#include <gdal.h>
#include <ogr_srs_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char folder[300];

/* A path in the folder; one of a few buffers, so that a call may have several. */
static inline const char *in_folder(const char *name) {
    static char paths[8][600];
    static int next;
    next = (next + 1) % 8;
    snprintf(paths[next], sizeof paths[next], "%s/%s", folder, name);
    return paths[next];
}

static inline int folder_entries(const char *path) {
    int count = 0;
    DIR *handle = opendir(path);
    assert_non_null(handle);
    for (struct dirent *entry = readdir(handle); entry != NULL; entry = readdir(handle)) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    closedir(handle);
    return count;
}

static inline int make_folder(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    GDALAllRegister();
    snprintf(folder, 256, "%.200s/hcube-write-XXXXXX", base != NULL ? base : "/tmp");
    return mkdtemp(folder) == NULL;
}

/* Files only: a directory in it is a leftover, and then the removal fails and with it the test. */
static inline int remove_folder(void **state) {
    (void)state;
    DIR *handle = opendir(folder);
    for (struct dirent *entry = readdir(handle); entry != NULL; entry = readdir(handle)) {
        unlink(in_folder(entry->d_name));
    }
    closedir(handle);
    return rmdir(folder);
}

static inline void put_file(const char *path, const char *text) {
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static inline bool file_is(const char *path, const char *text) {
    char data[256];
    FILE *file = fopen(path, "rb");
    size_t got = file != NULL ? fread(data, 1, sizeof data, file) : 0;
    if (file != NULL) {
        fclose(file);
    }
    return file != NULL && got == strlen(text) && memcmp(data, text, got) == 0;
}

static inline bool file_exists(const char *path) {
    struct stat info;
    return lstat(path, &info) == 0;
}

/* ---- the scene ---- */

static inline HcScene plain_scene(int64_t lines, int64_t samples, int32_t bands) {
    return (HcScene){.lines = lines, .samples = samples, .bands = bands, .meaning = HC_OTHER};
}

/* Fractions, exact halves, both signs, some beyond the small integers. */
static inline float value_of(int64_t line, int64_t sample, int32_t band) {
    int64_t mixed = (line * 7919 + sample * 104729 + (int64_t)band * 1299709) % 4001;
    float value = (float)(mixed - 2000) * 0.25f;
    return mixed % 97 == 0 ? value * 1e7f : value;
}

static inline bool is_masked(int64_t line, int64_t sample) {
    return (line * 7 + sample * 3) % 11 == 0;
}

static inline bool is_nan_value(int64_t line, int64_t sample, int32_t band) {
    return (line * 5 + sample * 13 + band) % 89 == 0;
}

/* Writes the lines from first to end in blocks of uneven height with a halo of rubbish; stops at a failure.
 */
static inline HcStatus write_lines(HcWriter *writer, const HcScene *scene, int64_t first, int64_t end,
                                   HcError *err) {
    static const int32_t heights[] = {1, 7, 3, 16, 2};
    HcStatus status = HC_OK;
    size_t line_values = (size_t)scene->samples * (size_t)scene->bands;
    float *data = malloc(18 * line_values * sizeof *data);
    uint8_t *mask = malloc(18 * (size_t)scene->samples);
    for (int turn = 0; first < end && status == HC_OK; turn++) {
        int32_t lines = heights[turn % 5] < end - first ? heights[turn % 5] : (int32_t)(end - first);
        HcBlock block = {.data = data,
                         .mask = mask,
                         .line0 = first,
                         .lines = lines,
                         .above = 1,
                         .below = turn % 2,
                         .samples = (int32_t)scene->samples,
                         .bands = scene->bands};
        memset(data, 0x77, 18 * line_values * sizeof *data);
        memset(mask, 1, 18 * (size_t)scene->samples);
        for (int64_t l = 0; l < lines; l++) {
            for (int64_t s = 0; s < scene->samples; s++) {
                int64_t pixel = (l + 1) * scene->samples + s;
                mask[pixel] = !is_masked(first + l, s);
                for (int32_t b = 0; b < scene->bands; b++) {
                    float value = is_nan_value(first + l, s, b) ? NAN : value_of(first + l, s, b);
                    data[pixel * scene->bands + b] = mask[pixel] ? value : 0;
                }
            }
        }
        status = hc_writer_write(writer, &block, err);
        first += lines;
    }
    free(data);
    free(mask);
    return status;
}

static inline HcStatus write_scene(const char *path, const HcScene *scene, const HcWriterOptions *options,
                                   HcError *err) {
    HcWriter *writer = NULL;
    HcStatus status = hc_writer_open(&writer, path, scene, options, err);
    if (status == HC_OK) {
        status = write_lines(writer, scene, 0, scene->lines, err);
    }
    if (status == HC_OK) {
        status = hc_writer_finish(writer, err);
    }
    hc_writer_close(writer);
    return status;
}

/* What a value should be in the file, by the words of the contract. */
static inline double expected_value(float value, HcType type, double nodata) {
    static const double low[] = {0, -128, 0, -32768, 0, -2147483648.0, 0, -0x1p63};
    static const double high[] = {255, 127, 65535, 32767, 4294967295.0, 2147483647.0, 0x1p64, 0x1p63};
    /* A valid value that would read as nodata gives way to its neighbour. */
    if (type == HC_FLOAT32 && value == (float)nodata) {
        return (double)nextafterf(value, nodata == 0 ? 1 : 0);
    }
    if (type == HC_FLOAT64 && (double)value == nodata) {
        return nextafter(nodata, nodata == 0 ? 1 : 0);
    }
    if (type == HC_FLOAT32 || type == HC_FLOAT64) {
        return (double)value;
    }
    double stored = fmin(fmax(rint((double)value), low[type]), high[type]);
    return stored != nodata ? stored : nodata == high[type] ? nodata - 1 : nodata + 1;
}

static inline double read_value(GDALRasterBandH band, int64_t line, int64_t sample) {
    double value = 0;
    assert_int_equal(
        GDALRasterIO(band, GF_Read, (int)sample, (int)line, 1, 1, &value, 1, 1, GDT_Float64, 0, 0), CE_None);
    return value;
}

static inline double nodata_of(GDALRasterBandH band) {
    int has = 0;
    double nodata = NAN;
    if (GDALGetRasterDataType(band) == GDT_Int64) {
        nodata = (double)GDALGetRasterNoDataValueAsInt64(band, &has);
    } else if (GDALGetRasterDataType(band) == GDT_UInt64) {
        nodata = (double)GDALGetRasterNoDataValueAsUInt64(band, &has);
    }
    if (!has) { /* some drivers keep that of 64-bit integers as a double, too */
        nodata = GDALGetRasterNoDataValue(band, &has);
    }
    assert_true(has);
    return nodata;
}

/* Every value of the file through GDAL against the definition; NaN equals NaN alone. */
static inline void check_values(const char *path, const HcScene *scene, HcType type) {
    CPLPushErrorHandler(CPLQuietErrorHandler); /* some drivers wonder at NaN */
    GDALDatasetH dataset = GDALOpen(path, GA_ReadOnly);
    CPLPopErrorHandler();
    assert_non_null(dataset);
    assert_int_equal(GDALGetRasterXSize(dataset), scene->samples);
    assert_int_equal(GDALGetRasterYSize(dataset), scene->lines);
    assert_int_equal(GDALGetRasterCount(dataset), scene->bands);
    double *row = malloc((size_t)scene->samples * sizeof *row);
    for (int32_t b = 0; b < scene->bands; b++) {
        GDALRasterBandH band = GDALGetRasterBand(dataset, b + 1);
        double nodata = nodata_of(band);
        for (int64_t l = 0; l < scene->lines; l++) {
            assert_int_equal(GDALRasterIO(band, GF_Read, 0, (int)l, (int)scene->samples, 1, row,
                                          (int)scene->samples, 1, GDT_Float64, 0, 0),
                             CE_None);
            for (int64_t s = 0; s < scene->samples; s++) {
                bool empty = is_masked(l, s) || is_nan_value(l, s, b);
                double wanted = empty ? nodata : expected_value(value_of(l, s, b), type, nodata);
                if (!(row[s] == wanted || (isnan(row[s]) && isnan(wanted)))) {
                    fail_msg("%s band %d line %d sample %d: %.17g instead of %.17g", path, (int)b, (int)l,
                             (int)s, row[s], wanted);
                }
            }
        }
    }
    free(row);
    GDALClose(dataset);
}

/* ---- a scene that says all ---- */

/* The system of this EPSG code in the place of another. */
static inline void set_crs(HcScene *scene, int code) {
    char *wkt = NULL;
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    assert_int_equal(OSRImportFromEPSG(crs, code), OGRERR_NONE);
    OSRExportToWkt(crs, &wkt);
    OSRDestroySpatialReference(crs);
    free(scene->place.crs);
    scene->place.crs = strdup(wkt);
    CPLFree(wkt);
}

static inline HcScene rich_scene(void) {
    HcScene scene = plain_scene(12, 14, 4);
    HcError err = {0};
    set_crs(&scene, 32611);
    scene.place.has_transform = true;
    static const double transform[6] = {500000.25, 15.5, 0, 4100000.75, 0, -15.5};
    memcpy(scene.place.transform, transform, sizeof transform);
    scene.meaning = HC_SPECTRAL;
    scene.wavelength = malloc(4 * sizeof(double));
    scene.fwhm = malloc(4 * sizeof(double));
    scene.gain = malloc(4 * sizeof(double));
    scene.offset = malloc(4 * sizeof(double));
    scene.bad = calloc(4, 1);
    scene.bad[2] = 1;
    for (int b = 0; b < 4; b++) {
        scene.wavelength[b] = 400.1 + 10.05 * b;
        scene.fwhm[b] = 9.7 + b / 3.0;
        scene.gain[b] = 0.0001 * (b + 1);
        scene.offset[b] = -0.5 * b;
        check_ok(hc_scene_name_band(&scene, b, &err, "channel %d (eigenvalue %.1f)", b + 1, 153.25 / (b + 1)),
                 err);
    }
    scene.has_nodata = true;
    scene.nodata = -9999;
    scene.has_default_bands = true;
    scene.default_bands[0] = 3;
    scene.default_bands[1] = 1;
    scene.default_bands[2] = 0;
    scene.description = strdup("a scene");
    return scene;
}

static inline void check_utm_place(GDALDatasetH dataset, const HcScene *scene) {
    double transform[6];
    assert_int_equal(GDALGetGeoTransform(dataset, transform), CE_None);
    for (int i = 0; i < 6; i++) {
        check_near(transform[i], scene->place.transform[i], 1e-8);
    }
    OGRSpatialReferenceH crs = GDALGetSpatialRef(dataset);
    assert_non_null(crs);
    int north = 0;
    assert_int_equal(OSRGetUTMZone(crs, &north), 11);
    assert_true(north);
}

/* In a process of its own: how much more memory it has taken at most [bytes], -1 where the call failed. */
static inline int64_t memory_taken(bool only_planned, const HcScene *scene, const HcWriterOptions *options) {
    int64_t taken = -1;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        struct rusage before, after;
        GDALSetCacheMax64(16 << 20); /* as a run does it */
        getrusage(RUSAGE_SELF, &before);
        HcStatus status = only_planned ? hc_writer_check(in_folder("a.tif"), scene, options, NULL)
                                       : write_scene(in_folder("a.tif"), scene, options, NULL);
        getrusage(RUSAGE_SELF, &after);
        taken = status == HC_OK ? (int64_t)(after.ru_maxrss - before.ru_maxrss) * 1024 : -1;
        _exit(write(ends[1], &taken, sizeof taken) != (ssize_t)sizeof taken);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &taken, sizeof taken), sizeof taken);
    close(ends[0]);
    assert_int_equal(waitpid(child, NULL, 0), child);
    return taken;
}

#endif
