/* Fuzz harness: polygons of --cutline and --mask (GeoPackage, GeoJSON, CSV with WKT) over a small scene with
 * a place and a CRS, over one in sensor geometry whose pixels have coordinates, and over one without a place.
 */
#include "io/view/parts.h"
#include "tests/fuzz/harness.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINES = 20, SAMPLES = 30 };

static const char *name_for(const uint8_t *data, size_t size) {
    if (size > 15 && memcmp(data, "SQLite format 3", 15) == 0) {
        return "polygons.gpkg";
    }
    size_t at = 0;
    while (at < size && data[at] != 0 && strchr(" \t\r\n", data[at]) != NULL) {
        at++;
    }
    return at < size && data[at] == '{' ? "polygons.geojson" : "polygons.csv";
}

/* Longitude and latitude of each pixel, as an _igm file has them. */
static void write_coordinates(char *header_path) {
    static const char header[] =
        "ENVI\nsamples = 30\nlines = 20\nbands = 2\nheader offset = 0\nfile type = ENVI Standard\n"
        "data type = 5\ninterleave = bsq\nbyte order = 0\n";
    static double degrees[2][LINES][SAMPLES];
    char path[HC_FUZZ_PATH];
    for (int line = 0; line < LINES; line++) {
        for (int s = 0; s < SAMPLES; s++) {
            degrees[0][line][s] = 9.801 + 2e-4 * s + 3e-5 * line;
            degrees[1][line][s] = 41.544 - 2e-4 * line + 2e-5 * s;
        }
    }
    hc_fuzz_file(path, "places.img", degrees, sizeof degrees);
    hc_fuzz_file(header_path, "places.hdr", header, strlen(header));
}

/* Marks what lies inside, then what does not: each pixel is one of both. */
static void apply(HcViewPolygons *polygons, const HcScene *scene) {
    const HcPixels all = {0, 0, scene->samples, scene->lines};
    size_t pixels = (size_t)scene->lines * (size_t)scene->samples;
    uint8_t *mask[2] = {malloc(pixels), malloc(pixels)};
    HcError err = {0};
    OGREnvelope extent;
    HcStatus status = HC_OK;
    hc_fuzz_expect(mask[0] != NULL && mask[1] != NULL, "there is memory for the harness itself");
    for (int inside = 0; inside < 2 && status == HC_OK; inside++) {
        memset(mask[inside], 1, pixels);
        status = hc_view_polygons_apply(polygons, all, inside == 1, mask[inside], &err);
        hc_fuzz_check(status, &err);
    }
    for (size_t p = 0; p < pixels && status == HC_OK; p++) {
        hc_fuzz_expect(mask[0][p] + mask[1][p] == 1, "a pixel lies inside of the polygons or outside");
    }
    status = hc_view_polygons_extent(polygons, &extent, &err);
    hc_fuzz_check(status, &err);
    hc_fuzz_expect(status != HC_OK || (extent.MinX <= extent.MaxX && extent.MinY <= extent.MaxY),
                   "an extent has a size");
    free(mask[0]);
    free(mask[1]);
}

static void lay(const char *path, const HcScene *scene) {
    HcError err = {0};
    HcViewPolygons *polygons = NULL;
    HcStatus status = hc_view_polygons_open(&polygons, path, NULL, scene, &err);
    hc_fuzz_check(status, &err);
    hc_fuzz_expect((status == HC_OK) == (polygons != NULL), "what is opened is there");
    if (status == HC_OK) {
        apply(polygons, scene);
    }
    hc_view_polygons_close(polygons);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char crs[] =
        "PROJCS[\"WGS 84 / UTM zone 32N\",GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS 84\",6378137,"
        "298.257223563]],PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.0174532925199433]],"
        "PROJECTION[\"Transverse_Mercator\"],PARAMETER[\"latitude_of_origin\",0],"
        "PARAMETER[\"central_meridian\",9],PARAMETER[\"scale_factor\",0.9996],"
        "PARAMETER[\"false_easting\",500000],PARAMETER[\"false_northing\",0],UNIT[\"metre\",1],"
        "AUTHORITY[\"EPSG\",\"32632\"]]";
    char path[HC_FUZZ_PATH], places[HC_FUZZ_PATH];
    const HcScene plain = {.lines = LINES, .samples = SAMPLES, .bands = 1, .type = HC_UINT16};
    HcScene placed = plain, sensor = plain;
    (void)setenv("TMPDIR", hc_fuzz_folder(), 1); /* for scratch files: in memory */
    write_coordinates(places);
    hc_fuzz_file(path, name_for(data, size), data, size);
    placed.place =
        (HcPlace){.has_transform = true, .transform = {567000, 20, 0, 4600000, 0, -20}, .crs = crs};
    sensor.lookup.file = places;
    lay(path, &plain);
    lay(path, &placed);
    lay(path, &sensor);
    hc_fuzz_empty_folder();
    return 0;
}
