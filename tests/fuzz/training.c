/* Fuzz harness: training data as vectors (GeoPackage, GeoJSON, CSV with WKT) on a small scene with a place
 * and a CRS, and on one without. */
#include "io/training/training.h"
#include "tests/fuzz/harness.h"

#include <stdlib.h>
#include <string.h>

static const char *path_for(const uint8_t *data, size_t size) {
    if (size > 15 && memcmp(data, "SQLite format 3", 15) == 0) {
        return "/vsimem/training.gpkg";
    }
    size_t at = 0;
    while (at < size && strchr(" \t\r\n", data[at]) != NULL && data[at] != 0) {
        at++;
    }
    return at < size && data[at] == '{' ? "/vsimem/training.geojson" : "/vsimem/training.csv";
}

static void check_labelled(const HcLabelled *labelled, const HcScene *scene) {
    int64_t sum = 0;
    int64_t before = -1;
    hc_fuzz_expect(labelled->count > 0 && labelled->classes.count > 2, "there are pixels and classes");
    for (int64_t i = 0; i < labelled->count; i++) {
        hc_fuzz_expect(labelled->sample[i] >= 0 && labelled->sample[i] < scene->samples &&
                           labelled->line[i] >= 0 && labelled->line[i] < scene->lines,
                       "a pixel lies in the scene");
        hc_fuzz_expect(labelled->label[i] > 0 && labelled->label[i] < labelled->classes.count,
                       "a label is a class");
        int64_t place = labelled->line[i] * scene->samples + labelled->sample[i];
        hc_fuzz_expect(place > before, "pixels come once, in the order of the scene");
        before = place;
    }
    for (int32_t c = 1; c < labelled->classes.count; c++) {
        hc_fuzz_expect(labelled->pixels[c] > 0, "a class has pixels");
        hc_fuzz_expect(labelled->classes.name[c] != NULL, "a class has a name");
        sum += labelled->pixels[c];
    }
    hc_fuzz_expect(sum == labelled->count, "the classes have all pixels");
}

static void read_on(const char *path, const char *field, const HcScene *scene) {
    HcError err = {0};
    HcLabelled labelled = {0};
    HcStatus status = hc_labelled_read(path, field, NULL, scene, &labelled, &err);
    hc_fuzz_check(status, &err);
    if (status == HC_OK) {
        check_labelled(&labelled, scene);
        HcText note = {0};
        hc_labelled_note(&labelled, &note);
        hc_fuzz_expect(strpbrk(hc_text_shown(&note), "\r\n") == NULL, "a note is one line");
        hc_text_clear(&note);
    }
    hc_labelled_clear(&labelled);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static char crs[] =
        "PROJCS[\"WGS 84 / UTM zone 32N\",GEOGCS[\"WGS 84\",DATUM[\"WGS_1984\",SPHEROID[\"WGS 84\",6378137,"
        "298.257223563]],PRIMEM[\"Greenwich\",0],UNIT[\"degree\",0.0174532925199433]],"
        "PROJECTION[\"Transverse_Mercator\"],PARAMETER[\"latitude_of_origin\",0],"
        "PARAMETER[\"central_meridian\",9],PARAMETER[\"scale_factor\",0.9996],"
        "PARAMETER[\"false_easting\",500000],PARAMETER[\"false_northing\",0],UNIT[\"metre\",1],"
        "AUTHORITY[\"EPSG\",\"32632\"]]";
    HcScene plain = {.lines = 100, .samples = 100, .bands = 4, .type = HC_UINT16};
    HcScene placed = plain;
    const char *path = path_for(data, size);
    placed.place =
        (HcPlace){.has_transform = true, .transform = {567000, 20, 0, 4600000, 0, -20}, .crs = crs};
    hc_fuzz_memory_open(path, data, size);
    read_on(path, NULL, &placed);
    read_on(path, "class", &plain);
    hc_fuzz_memory_close(path);
    return 0;
}
