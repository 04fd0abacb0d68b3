/* STAC: the footprint of a scene by an own formula of UTM (Krüger's series, float64), at the meridian of 180
 * degrees, and of a swath; times of scenes; links between files. */
#include "io/stac/stac.h"
#include "tests/support/check.h"

#include <gdal.h>
#include <ogr_srs_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char *wkt_of(int code) {
    char *wkt = NULL, *copy = NULL;
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    assert_int_equal(OSRImportFromEPSG(crs, code), OGRERR_NONE);
    assert_int_equal(OSRExportToWkt(crs, &wkt), OGRERR_NONE);
    copy = strdup(wkt);
    VSIFree(wkt);
    OSRDestroySpatialReference(crs);
    return copy;
}

/* Easting and northing of a place of WGS 84, north of the equator. */
static void utm(double longitude, double latitude, double middle, double *x, double *y) {
    const double a = 6378137, f = 1 / 298.257223563, n = f / (2 - f), e = sqrt(f * (2 - f));
    const double radius = a / (1 + n) * (1 + n * n / 4 + n * n * n * n / 64);
    const double alpha[3] = {n / 2 - 2 * n * n / 3 + 5 * n * n * n / 16, 13 * n * n / 48 - 3 * n * n * n / 5,
                             61 * n * n * n / 240};
    double phi = latitude * M_PI / 180, lambda = (longitude - middle) * M_PI / 180;
    double t = sinh(atanh(sin(phi)) - e * atanh(e * sin(phi)));
    double xi = atan2(t, cos(lambda)), eta = asinh(sin(lambda) / hypot(t, cos(lambda)));
    double north = xi, east = eta;
    for (int j = 1; j <= 3; j++) {
        north += alpha[j - 1] * sin(2 * j * xi) * cosh(2 * j * eta);
        east += alpha[j - 1] * cos(2 * j * xi) * sinh(2 * j * eta);
    }
    *x = 500000 + 0.9996 * radius * east;
    *y = 0.9996 * radius * north;
}

static double at(const cJSON *point, int axis) {
    return cJSON_GetArrayItem(point, axis)->valuedouble;
}

/* [degrees^2], above 0 where the ring is counter-clockwise; it must be closed. */
static double area_of(const cJSON *ring) {
    double area = 0;
    int count = cJSON_GetArraySize(ring);
    for (int p = 0; p + 1 < count; p++) {
        const cJSON *a = cJSON_GetArrayItem(ring, p), *b = cJSON_GetArrayItem(ring, p + 1);
        area += (at(a, 0) * at(b, 1) - at(b, 0) * at(a, 1)) / 2;
    }
    assert_true(cJSON_Compare(cJSON_GetArrayItem(ring, 0), cJSON_GetArrayItem(ring, count - 1), true));
    return area;
}

static const cJSON *ring_of(const cJSON *polygon) {
    return cJSON_GetArrayItem(polygon, 0);
}

static const cJSON *coordinates_of(const HcFootprint *footprint, const char *type) {
    assert_non_null(footprint->geometry);
    assert_string_equal(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(footprint->geometry, "type")),
                        type);
    return cJSON_GetObjectItemCaseSensitive(footprint->geometry, "coordinates");
}

static HcScene scene_at(int code, double x, double y, double step, int64_t lines, int64_t samples) {
    HcScene scene = {.lines = lines, .samples = samples, .bands = 1};
    scene.place = (HcPlace){.has_transform = true, .transform = {x, step, 0, y, 0, -step}};
    scene.place.crs = wkt_of(code);
    return scene;
}

static void grids_of_metres_lie_where_they_do(void **state) {
    (void)state;
    HcError err = {0};
    HcFootprint found = {0};
    HcScene scene = scene_at(32633, 331200, 5563500, 30, 100, 200);
    check_ok(hc_footprint_of(&scene, "a", &found, &err), err);
    const cJSON *ring = ring_of(coordinates_of(&found, "Polygon")), *point = NULL;
    assert_true(area_of(ring) > 0);
    int corners = 0;
    double low[2] = {INFINITY, INFINITY}, high[2] = {-INFINITY, -INFINITY};
    cJSON_ArrayForEach(point, ring) {
        double x, y;
        utm(at(point, 0), at(point, 1), 15, &x, &y);
        double right = (x - 331200) / 6000, down = (5563500 - y) / 3000;
        double off_x = fmin(fabs(right), fabs(right - 1)) * 6000,
               off_y = fmin(fabs(down), fabs(down - 1)) * 3000;
        check_near(fmin(off_x, off_y), 0, 0.02); /* on an edge; places have 7 digits */
        check_near(right, 0.5, 0.50001);
        check_near(down, 0.5, 0.50001);
        corners += off_x < 0.02 && off_y < 0.02;
        for (int i = 0; i < 2; i++) {
            low[i] = fmin(low[i], at(point, i));
            high[i] = fmax(high[i], at(point, i));
        }
    }
    assert_int_equal(corners, 5); /* the first point is the last one, too */
    for (int i = 0; i < 2; i++) {
        check_same(found.bbox[i], low[i]);
        check_same(found.bbox[i + 2], high[i]);
    }
    hc_footprint_clear(&found);
    hc_scene_clear(&scene);
}

static void grids_across_the_date_line_are_two(void **state) {
    (void)state;
    HcError err = {0};
    HcFootprint found = {0};
    HcScene scene = scene_at(4326, 179.9, 10, 0.01, 20, 30);
    check_ok(hc_footprint_of(&scene, "a", &found, &err), err);
    const cJSON *parts = coordinates_of(&found, "MultiPolygon");
    assert_int_equal(cJSON_GetArraySize(parts), 2);
    double areas = 0;
    for (int p = 0; p < 2; p++) {
        double area = area_of(ring_of(cJSON_GetArrayItem(parts, p)));
        assert_true(area > 0);
        areas += area;
    }
    check_near(areas, 0.3 * 0.2, 1e-6);
    const double bbox[4] = {179.9, 9.8, -179.8, 10};
    for (int i = 0; i < 4; i++) {
        check_near(found.bbox[i], bbox[i], 1e-7);
    }
    hc_footprint_clear(&found);
    hc_scene_clear(&scene);
    /* By UTM, whose numbers know nothing of that meridian. */
    scene = scene_at(32660, 712000, 5563500, 30, 100, 200);
    check_ok(hc_footprint_of(&scene, "a", &found, &err), err);
    parts = coordinates_of(&found, "MultiPolygon");
    assert_true(found.bbox[0] > 179 && found.bbox[2] < -179);
    areas = area_of(ring_of(cJSON_GetArrayItem(parts, 0))) + area_of(ring_of(cJSON_GetArrayItem(parts, 1)));
    double degree = M_PI / 180 * 6378137, square = degree * degree * cos(50.2 * M_PI / 180);
    check_near(areas * square, 6000.0 * 3000, 0.02 * 6000 * 3000); /* of a sphere */
    hc_footprint_clear(&found);
    hc_scene_clear(&scene);
}

static void scenes_without_a_place_have_none(void **state) {
    (void)state;
    HcError err = {0};
    HcFootprint found = {0};
    HcScene scene = {.lines = 3, .samples = 4, .bands = 1};
    check_ok(hc_footprint_of(&scene, "a", &found, &err), err);
    assert_null(found.geometry);
    scene = scene_at(4326, 10, 50, 0.1, 3, 4);
    free(scene.place.crs);
    scene.place.crs = strdup("LOCAL_CS[\"bench\",UNIT[\"metre\",1]]");
    check_ok(hc_footprint_of(&scene, "a", &found, &err), err);
    assert_null(found.geometry);
    free(scene.place.crs);
    scene.place.crs = strdup("no CRS");
    check_fails(hc_footprint_of(&scene, "a.img", &found, &err), HC_E_INPUT, err);
    hc_footprint_clear(&found);
    hc_scene_clear(&scene);
}

enum { SWATH_LINES = 80, SWATH_SAMPLES = 40 };

static double swath_place(int axis, double line, double sample) {
    return axis == 0 ? 10 + 0.001 * sample + 0.0004 * line : 50 - 0.001 * line + 0.0002 * sample;
}

/* Longitudes and latitudes of a swath that lies aslant. */
static void write_coordinates(const char *path) {
    GDALDriverH driver = GDALGetDriverByName("ENVI");
    GDALDatasetH file = GDALCreate(driver, path, SWATH_SAMPLES, SWATH_LINES, 2, GDT_Float64, NULL);
    double line[SWATH_SAMPLES];
    for (int l = 0; l < SWATH_LINES; l++) {
        for (int axis = 0; axis < 2; axis++) {
            for (int s = 0; s < SWATH_SAMPLES; s++) {
                line[s] = swath_place(axis, l, s);
            }
            assert_int_equal(GDALRasterIO(GDALGetRasterBand(file, axis + 1), GF_Write, 0, l, SWATH_SAMPLES, 1,
                                          line, SWATH_SAMPLES, 1, GDT_Float64, 0, 0),
                             CE_None);
        }
    }
    GDALClose(file);
}

static void swaths_have_their_outline(void **state) {
    (void)state;
    HcError err = {0};
    HcFootprint found = {0};
    HcScene scene = {.lines = SWATH_LINES, .samples = SWATH_SAMPLES, .bands = 1};
    write_coordinates("lonlat.img");
    scene.lookup.file = strdup("lonlat.img");
    scene.lookup.place.crs = wkt_of(4326);
    check_ok(hc_footprint_of(&scene, "a", &found, &err), err);
    const cJSON *ring = ring_of(coordinates_of(&found, "Polygon"));
    double expected = SWATH_LINES * SWATH_SAMPLES * (0.001 * 0.001 + 0.0004 * 0.0002);
    check_near(area_of(ring), expected, 0.1 * expected); /* the box around it has twice as much */
    double box = (found.bbox[2] - found.bbox[0]) * (found.bbox[3] - found.bbox[1]);
    assert_true(box > 1.4 * expected);
    check_near(found.bbox[0], 10, 0.002);
    check_near(found.bbox[2], swath_place(0, SWATH_LINES, SWATH_SAMPLES), 0.002);
    check_near(found.bbox[1], swath_place(1, SWATH_LINES, 0), 0.002);
    check_near(found.bbox[3], swath_place(1, 0, SWATH_SAMPLES), 0.002);
    hc_footprint_clear(&found);
    hc_scene_clear(&scene);
}

static void times_come_from_headers_and_names(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"EMIT_L2A_RFL_001_20240501T101010_2412207_001.nc", "2024-05-01T10:10:10Z"},
        {"PRS_L2D_STD_20200826104553_20200826104558_0001.he5", "2020-08-26T10:45:53Z"},
        {"a_20241301T101010.tif", ""},  /* month 13 */
        {"a_20240501T1010.tif", ""},    /* no seconds */
        {"a_120240501T101010.tif", ""}, /* a longer number */
        {"a_20240501.tif", ""}};
    char time[HC_STAC_TIME];
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        char *path = strdup(names[n][0]);
        HcPaths files = {.path = &path, .count = 1};
        hc_stac_time(&files, time);
        assert_string_equal(time, names[n][1]);
        free(path);
    }
    static const char *const fields[][2] = {{"2012-06-22T10:12:13.50Z", "2012-06-22T10:12:13.5Z"},
                                            {"2012-06-22T10:12:13", "2012-06-22T10:12:13Z"},
                                            {"2012-06-22T10:12:13+02:00", ""},
                                            {"22 June 2012", ""}};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        FILE *file = fopen("t.hdr", "w");
        fprintf(file, "ENVI\nsamples = 1\nlines = 1\nbands = 1\nacquisition time = %s\n", fields[f][0]);
        fclose(file);
        char name[] = "t.hdr", *path = name;
        HcPaths files = {.path = &path, .count = 1};
        hc_stac_time(&files, time);
        assert_string_equal(time, fields[f][1]);
    }
}

static void links_are_short_and_keep_no_secret(void **state) {
    (void)state;
    HcError err = {0};
    static const char *const links[][3] = {
        {"a.json", "b c%.tif", "./b%20c%25.tif"},
        {"a.json", "../x.tif", "../x.tif"},
        {"./a.json", "/etc/hosts", NULL},
        {"a.json", "/vsicurl/https://me:word@host/d/a.json?sig=word#word", "https://host/d/a.json"},
        {"a.json", "https://host/d?q=@x", "https://host/d"},
        {"a.json", "/vsis3/bucket/a.tif", "s3://bucket/a.tif"}};
    for (size_t l = 0; l < sizeof links / sizeof *links; l++) {
        char *link = NULL;
        check_ok(hc_stac_link(links[l][0], links[l][1], &link, &err), err);
        if (links[l][2] != NULL) {
            assert_string_equal(link, links[l][2]);
        } else {
            assert_true(hc_text_ends_with(link, "/etc/hosts") && strncmp(link, "../", 3) == 0);
        }
        free(link);
    }
    char *link = NULL;
    check_fails(hc_stac_link("none/a.json", "b.tif", &link, &err), HC_E_IO, err);
}

int main(void) {
    char folder[] = "/tmp/hcube-stac-XXXXXX";
    if (mkdtemp(folder) == NULL || chdir(folder) != 0) {
        return 1;
    }
    GDALAllRegister();
    const struct CMUnitTest tests[] = {cmocka_unit_test(grids_of_metres_lie_where_they_do),
                                       cmocka_unit_test(grids_across_the_date_line_are_two),
                                       cmocka_unit_test(scenes_without_a_place_have_none),
                                       cmocka_unit_test(swaths_have_their_outline),
                                       cmocka_unit_test(times_come_from_headers_and_names),
                                       cmocka_unit_test(links_are_short_and_keep_no_secret)};
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)!(unlink("t.hdr") + unlink("lonlat.img") + unlink("lonlat.hdr") + unlink("lonlat.img.aux.xml"));
    (void)!rmdir(folder);
    return failed;
}
