/* read --mask and --mask-inside: rasters by value, range and bit, polygons, and what each of them counts. */
#include "tests/support/scene_files.h"
#include "tests/support/strict.h"

#include <gdal.h>
#include <ogr_api.h>
#include <stdio.h>
#include <stdlib.h>

enum { LINES = 14, SAMPLES = 11, BANDS = 3, PIXELS = LINES * SAMPLES };

/* Two bands of quality: numbers from 0 to 12, of which 12 is nodata, and bits. */
static int quality_at(int p) {
    return p % 13;
}
static int bits_at(int p) {
    return (p * 37) & 255;
}

static void write_files(void) {
    Cube scene = cube_smooth(LINES, SAMPLES, BANDS, 1, true), quality = cube_new(LINES, SAMPLES, 2);
    Cube zeros = cube_new(LINES, SAMPLES, 1);
    for (int p = 0; p < PIXELS; p++) {
        quality.value[2 * p] = quality_at(p);
        quality.value[2 * p + 1] = bits_at(p);
        zeros.value[p] = p % 5 == 0 ? (double)NAN : (double)(p % 3 - 1);
    }
    cube_write(&scene, "scene", HC_INT16, "bil", NULL);
    cube_write(&quality, "quality", HC_UINT8, "bip", "data ignore value = 12\n");
    cube_write_swapped(&quality, "swapped", HC_UINT16, "bsq", "data ignore value = 12\n");
    cube_write(&zeros, "zeros", HC_FLOAT32, "bsq", NULL);
    cube_free(&zeros);
    cube_free(&quality);
    cube_free(&scene);
}

typedef bool Leaves(int p);

static bool leaves_1_5_to_7(int p) {
    int q = quality_at(p);
    return q == 1 || (q >= 5 && q <= 7);
}
static bool leaves_others(int p) {
    int q = quality_at(p);
    return !(q == 2 || q == 3);
}
static bool leaves_bits(int p) {
    return (bits_at(p) & 0x12) != 0 || bits_at(p) == 64;
}
static bool leaves_unset(int p) {
    return (bits_at(p) & 0x80) == 0;
}
static bool leaves_zero_or_nodata(int p) {
    return quality_at(p) == 0 || quality_at(p) == 12;
}
static bool leaves_not_zero(int p) {
    return !leaves_zero_or_nodata(p);
}
static bool leaves_zeros(int p) {
    return p % 5 == 0 || p % 3 == 1;
}
static bool leaves_inside_zeros(int p) {
    return !leaves_zeros(p);
}
static bool leaves_negative(int p) {
    return p % 5 != 0 && p % 3 == 0;
}
static bool leaves_11(int p) {
    return quality_at(p) == 11;
}
static bool leaves_12(int p) {
    return quality_at(p) == 12;
}
static bool leaves_11_and_12(int p) {
    return leaves_11(p) || leaves_12(p);
}
static bool leaves_others_but_12(int p) {
    return leaves_others(p) && !leaves_12(p);
}
static bool leaves_8_to_11(int p) {
    return quality_at(p) >= 8 && quality_at(p) <= 11;
}

static const struct {
    const char *options;
    Leaves *leaves;
} masks[] = {
    {"--mask quality.img:1=1,5-7", leaves_1_5_to_7},
    {"--mask swapped.img:1=1,5-7", leaves_1_5_to_7},
    {"--mask quality.img:1!=2,3", leaves_others},
    {"--mask quality.img:2=bit1,64,bit4", leaves_bits},
    {"--mask swapped.img:2=bit1,64,bit4", leaves_bits},
    {"--mask quality.img:2!=bit7", leaves_unset},
    {"--mask quality.img:1", leaves_zero_or_nodata},
    {"--mask-inside quality.img:1", leaves_not_zero},
    {"--mask quality.img:1=11-13", leaves_11}, /* nodata is no value, */
    {"--mask quality.img:1=12", leaves_12},    /* unless it is written */
    {"--mask quality.img:1=11-12", leaves_11_and_12},
    {"--mask quality.img:1!=2-3,12", leaves_others_but_12},
    {"--mask quality.img:1=bit3", leaves_8_to_11},
    {"--mask zeros.img", leaves_zeros},
    {"--mask-inside zeros.hdr", leaves_inside_zeros},
    {"--mask zeros.img:1=-1", leaves_negative},
    {"--mask zeros.img:1=-1.5--0.5", leaves_negative},
    {"--mask zeros.img:1=-1e0", leaves_negative},
};
enum { MASKS = sizeof masks / sizeof *masks };

/* out.img has NaN where one of the masks leaves a pixel out, and values elsewhere. */
static void check_out(Leaves *first, Leaves *second) {
    Cube out = cube_read_floats("out", LINES, SAMPLES, BANDS);
    for (int p = 0; p < PIXELS; p++) {
        bool left = first(p) || (second != NULL && second(p));
        if (isnan(out.value[p * BANDS]) != left) {
            fail_msg("pixel %d is %g", p, out.value[p * BANDS]);
        }
    }
    cube_free(&out);
}

static void values_ranges_and_bits(void **state) {
    (void)state;
    write_files();
    for (size_t m = 0; m < MASKS; m++) {
        for (int way = 0; way < 3; way++) {
            RunHow how = {.settings.block_lines = way == 1 ? 4 : 0};
            how.ops = way == 2 ? hc_strict_ops() : NULL;
            check_runs(&how, "read scene.img %s %s ! write out.img", masks[m].options,
                       way == 1 ? "--no-direct" : "");
            check_out(masks[m].leaves, NULL);
        }
    }
}

/* A pixel counts for the first mask that leaves it out, once, whatever blocks and passes there are. */
static void counts_by_cause(void **state) {
    (void)state;
    write_files();
    for (size_t m = 0; m < MASKS; m++) {
        for (int way = 0; way < 3; way++) {
            HcRunReport report = {0};
            RunHow how = {.report = &report,
                          .settings = {.record = "record.json", .block_lines = way == 1 ? 3 : 0}};
            int64_t first = 0, second = 0;
            for (int p = 0; p < PIXELS; p++) {
                first += leaves_1_5_to_7(p);
                second += masks[m].leaves(p) && !leaves_1_5_to_7(p);
            }
            bool inside = strncmp(masks[m].options, "--mask-inside", 13) == 0;
            check_runs(&how, "read scene.img --mask quality.img:1=1,5-7 %s %s ! write out.img",
                       masks[m].options, way == 2 ? "! filter mean3x3" : "");
            if (way < 2) {
                check_out(leaves_1_5_to_7, masks[m].leaves);
            }
            size_t bytes = 0;
            char *text = file_bytes("record.json", &bytes);
            cJSON *record = cJSON_ParseWithLength(text, bytes);
            const cJSON *step = cJSON_GetArrayItem(cJSON_GetObjectItem(record, "steps"), 0);
            const cJSON *list = cJSON_GetObjectItem(cJSON_GetObjectItem(step, "result"), "masks");
            assert_int_equal(cJSON_GetArraySize(list), 2);
            const cJSON *a = cJSON_GetArrayItem(list, 0), *b = cJSON_GetArrayItem(list, 1);
            assert_string_equal(cJSON_GetObjectItem(a, "option")->valuestring, "--mask");
            assert_string_equal(cJSON_GetObjectItem(a, "value")->valuestring, "quality.img:1=1,5-7");
            assert_string_equal(cJSON_GetObjectItem(b, "option")->valuestring,
                                inside ? "--mask-inside" : "--mask");
            assert_true(number_of(a, "pixels") == (double)first && number_of(b, "pixels") == (double)second);
            assert_int_equal(report.masked[HC_MASK_USER], first + second);
            cJSON_Delete(record);
            free(text);
        }
    }
}

/* ---- polygons ---- */

static void write_square(const char *path, const char *const *layers) {
    GDALDatasetH made = GDALCreate(GDALGetDriverByName("GPKG"), path, 0, 0, 0, GDT_Unknown, NULL);
    for (int l = 0; layers[l] != NULL; l++) {
        OGRLayerH layer = GDALDatasetCreateLayer(made, layers[l], NULL, wkbPolygon, NULL);
        char wkt[] = "POLYGON((2 3,7 3,7 9,2 9,2 3))", *rest = wkt;
        OGRGeometryH geometry = NULL;
        assert_int_equal(OGR_G_CreateFromWkt(&rest, NULL, &geometry), OGRERR_NONE);
        OGRFeatureH feature = OGR_F_Create(OGR_L_GetLayerDefn(layer));
        OGR_F_SetGeometryDirectly(feature, geometry);
        assert_int_equal(OGR_L_CreateFeature(layer, feature), OGRERR_NONE);
        OGR_F_Destroy(feature);
    }
    GDALClose(made);
}

static bool leaves_outside(int p) {
    int x = p % SAMPLES, y = p / SAMPLES;
    return !(x >= 2 && x < 7 && y >= 3 && y < 9);
}
static bool leaves_inside(int p) {
    return !leaves_outside(p);
}

static void polygons(void **state) {
    (void)state;
    static const char *const one[] = {"square", NULL}, *const two[] = {"square", "3", NULL};
    write_files();
    write_square("one.gpkg", one);
    write_square("two.gpkg", two);
    static const struct {
        const char *options;
        Leaves *leaves;
    } vectors[] = {{"--mask one.gpkg", leaves_outside},
                   {"--mask-inside one.gpkg", leaves_inside},
                   {"--mask one.gpkg:square", leaves_outside},
                   {"--mask-inside two.gpkg:3", leaves_inside}};
    for (size_t v = 0; v < sizeof vectors / sizeof *vectors; v++) {
        for (int32_t lines = 0; lines <= 5; lines += 5) {
            RunHow how = {.settings.block_lines = lines};
            check_runs(&how, "read scene.img %s ! write out.img", vectors[v].options);
            check_out(vectors[v].leaves, NULL);
            check_runs(&how, "read scene.img %s --mask quality.img:1=1,5-7 ! write out.img",
                       vectors[v].options);
            check_out(vectors[v].leaves, leaves_1_5_to_7);
        }
    }
    /* In pixels of the file, also where a window is read: the square begins at its first pixel. */
    check_runs(NULL, "read scene.img --window 2,3,5,6 --mask one.gpkg ! write a.img --type float32");
    check_runs(NULL, "read scene.img --window 2,3,5,6 ! write b.img --type float32");
    check_same_files("a.img", "b.img");
    check_run_fails(NULL, HC_E_USAGE, "two.gpkg: has several layers",
                    "read scene.img --mask two.gpkg ! write o.img");
    check_run_fails(NULL, HC_E_USAGE, "one.gpkg: no layer 'x'",
                    "read scene.img --mask one.gpkg:x ! write o.img");
}

static void mistakes(void **state) {
    (void)state;
    static const struct {
        HcStatus status;
        const char *mask, *part;
    } wrong[] = {
        {HC_E_INPUT, "quality.img", "2 bands: name one (quality.img:BAND)"},
        {HC_E_INPUT, "quality.img:3", "quality.img:3: the mask has 2 bands"},
        {HC_E_USAGE, "quality.img:0", "'0' is no BAND"},
        {HC_E_USAGE, "quality.img:x", "'x' is no BAND ... BAND=VALUES or BAND!=VALUES"},
        {HC_E_USAGE, "quality.img:1=", "'' is no value, range (5-9) or bit"},
        {HC_E_USAGE, "quality.img:1=1,", "'' is no value"},
        {HC_E_USAGE, "quality.img:1=x", "'x' is no value"},
        {HC_E_USAGE, "quality.img:1=9-5", "'9-5' is no value"},
        {HC_E_USAGE, "quality.img:1=nan", "'nan' is no value"},
        {HC_E_USAGE, "quality.img:1=bit64", "'bit64' is no value"},
        {HC_E_USAGE, "quality.img:1=bit-1", "'bit-1' is no value"},
        {HC_E_USAGE, "quality.img:1!2", "is no BAND"},
        {HC_E_USAGE, "quality.img:99999999999", "is no BAND"},
        {HC_E_INPUT, "zeros.img:1=bit2", "holds float32, which has no bits"},
        {HC_E_INPUT, "missing.img", "missing.img"},
        {HC_E_INPUT, "missing.img:2=4", "missing.img: "},
    };
    write_files();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        check_run_fails(NULL, wrong[i].status, wrong[i].part, "read scene.img --mask %s ! write o.img",
                        wrong[i].mask);
    }
    check_run_fails(NULL, HC_E_USAGE, "--mask-inside takes no values",
                    "read scene.img --mask-inside quality.img:1=2 ! write o.img");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_ranges_and_bits),
        cmocka_unit_test(counts_by_cause),
        cmocka_unit_test(polygons),
        cmocka_unit_test(mistakes),
    };
    GDALAllRegister();
    return cmocka_run_group_tests(tests, folder_setup, folder_teardown);
}
