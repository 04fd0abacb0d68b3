/* --verify: what is right passes, on every backend, and what is wrong is found, in the file or in the
 * computing. */
#include "pipeline/run/verify.h"
#include "core/operation/table.h"
#include "cpu/cpu.h"
#include "io/file.h"
#include "tests/support/scene_files.h"
#include "tests/support/strict.h"
#include "tests/support/truth.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINES = 57, SAMPLES = 90, BANDS = 6 };

static void write_scene(void) {
    Cube cube = cube_smooth(LINES, SAMPLES, BANDS, 61, true);
    cube_border(&cube, 0);
    cube_write(&cube, "scene", HC_UINT16, "bil", "data ignore value = 0\n");
    cube_pixel(&cube, 20, 20)[1] = NAN;
    cube_write(&cube, "floats", HC_FLOAT32, "bip", "data ignore value = 0\n");
    cube_free(&cube);
}

static HcStatus open_cpu(const void *user, HcCompute **out, HcError *err) {
    const HcComputeConfig config = {.threads = 2};
    (void)user;
    return hc_compute_open(hc_cpu_ops(), &config, out, err);
}

/* ---- what is right ---- */

static const char *const chains[] = {
    "read scene.img ! write out.img",
    "read scene.img ! bands 5,1-3 ! write out.tif --type int16 --compress deflate",
    "read floats.img ! filter median3x3 ! write out.img --interleave bip",
    "read scene.img ! filter mean3x3 ! write out.tif --scale 0.5 --type uint16 --nodata 0",
    ("read scene.img ! cov s.json ! mnf --components 3 --save-model m.json ! write out.img ! mnf --inverse ! "
     "write out2.tif"),
    "read floats.img ! filter mean3x3 ! mnf --noise shift ! pca ! preview p.png ! write out.img",
    "read floats.img ! rx ! write out.img",
    "read scene.img ! kmeans --clusters 4 ! write out.tif",
    "read floats.img --window 5,11,40,30 ! denoise ! write out.img",
};

static void what_is_right_passes(void **state) {
    (void)state;
    const HcComputeOps *backends[] = {hc_cpu_ops(), hc_strict_ops()};
    write_scene();
    for (size_t c = 0; c < sizeof chains / sizeof *chains; c++) {
        for (int b = 0; b < 2; b++) {
            HcVerify verify = {.tiles = b == 0 ? HC_VERIFY_TILES_MAX : 2, .open = open_cpu};
            RunHow how = {.ops = backends[b], .verify = &verify, .settings = {.block_lines = 12}};
            check_runs(&how, "%s", chains[c]);
            assert_true(verify.done && verify.check.values > 0);
            assert_int_equal(verify.check.exact, b == 0);
            assert_int_equal(verify.check.differing, 0);
            assert_int_equal(verify.check.other_choices, 0);
            assert_string_equal(verify.check.first, "");
            hc_verify_clear(&verify);
        }
    }
    assert_int_equal(hc_strict_leaks(), 0);
}

/* Every line once where there are as many tiles as the scene has; else the seed alone decides. */
static void tiles_are_drawn(void **state) {
    (void)state;
    static const int64_t all[] = {0, 16, 32, 48};
    write_scene();
    HcVerify every = {.tiles = 100, .open = open_cpu};
    check_runs(&(RunHow){.verify = &every}, "read scene.img ! write out.img");
    assert_int_equal(every.tiles, 4);
    assert_memory_equal(every.first_line, all, sizeof all);
    assert_int_equal(every.check.values, LINES * SAMPLES * BANDS);
    hc_verify_clear(&every);
    int other = 0;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        int64_t first[2][2];
        for (int again = 0; again < 2; again++) {
            HcVerify two = {.tiles = 2, .seed = seed, .open = open_cpu};
            check_runs(&(RunHow){.verify = &two}, "read scene.img ! write out.img");
            assert_int_equal(two.tiles, 2);
            assert_true(two.first_line[0] < two.first_line[1]);
            memcpy(first[again], two.first_line, sizeof first[again]);
            hc_verify_clear(&two);
        }
        assert_memory_equal(first[0], first[1], sizeof first[0]);
        other += first[0][0] != 0 || first[0][1] != 16;
    }
    assert_true(other > 5);
}

/* ---- what is wrong in the file ---- */

/* A byte of the file that is about to get its name. */
typedef struct Flip {
    const char *path;
    long at;         /* from the end */
    const char *how; /* options of write */
} Flip;

static HcStatus flip_and_open(const void *user, HcCompute **out, HcError *err) {
    const Flip *flip = user;
    char *lies = NULL;
    char byte = 0;
    assert_int_equal(hc_file_find(flip->path, &lies, err), HC_OK);
    int file = open(lies, O_RDWR);
    assert_true(file >= 0);
    off_t at = lseek(file, -flip->at, SEEK_END);
    assert_int_equal(pread(file, &byte, 1, at), 1);
    byte = (char)(byte ^ 0x40);
    assert_int_equal(pwrite(file, &byte, 1, at), 1);
    assert_int_equal(close(file), 0);
    free(lies);
    return open_cpu(NULL, out, err);
}

static void a_flipped_byte_is_found(void **state) {
    (void)state;
    static const char *const names[] = {"out.img", "out.tif", "out.img.hcube.json", "r.json", NULL};
    write_scene();
    /* The last value of the last line, in the middle, and in a file that GDAL wrote. */
    const Flip flips[] = {{"out.img", 1, ""},
                          {"out.img", 4 * SAMPLES * BANDS * 30 + 7, ""},
                          {"out.tif", 30001, "--co TILED=NO"}};
    for (size_t f = 0; f < sizeof flips / sizeof *flips; f++) {
        for (int recorded = 0; recorded < 2; recorded++) {
            HcVerify verify = {.tiles = 100, .open = flip_and_open, .user = &flips[f]};
            RunHow how = {.verify = &verify, .settings = {.record = recorded ? "r.json" : "none"}};
            check_run_fails(&how, HC_E_VERIFY, "in the file and",
                            "read scene.img ! filter mean3x3 ! write %s %s", flips[f].path, flips[f].how);
            assert_int_equal(verify.check.differing, 1);
            hc_verify_clear(&verify);
            for (int n = 0; names[n] != NULL; n++) {
                assert_int_not_equal(access(names[n], F_OK), 0);
            }
        }
    }
    /* What was there stays. */
    check_runs(NULL, "read scene.img ! bands 1-2 ! write out.img");
    size_t bytes = 0;
    size_t now = 0;
    char *before = file_bytes("out.img", &bytes);
    HcVerify verify = {.tiles = 100, .open = flip_and_open, .user = &flips[0]};
    check_run_fails(&(RunHow){.verify = &verify}, HC_E_VERIFY, "1 of ",
                    "read scene.img ! bands 3-4 ! write out.img");
    char *after = file_bytes("out.img", &now);
    assert_int_equal(bytes, now);
    assert_memory_equal(before, after, bytes);
    hc_verify_clear(&verify);
    free(before);
    free(after);
}

/* ---- what is wrong in the computing ---- */

static struct {
    int64_t line;
    float factor;
} wrong;

/* The CPU's, with one wrong value in a line of the scene. */
static HcStatus filter_wrongly(HcQueue *queue, const HcBlock *in, HcFilter kind, const HcBlock *out,
                               HcError *err) {
    HC_OR_RETURN(hc_cpu_ops()->filter(queue, in, kind, out, err));
    int64_t row = wrong.line - (out->line0 - out->above);
    if (row >= 0 && row < out->above + out->lines + out->below) {
        out->data[((size_t)row * (size_t)out->samples + 40) * (size_t)out->bands] *= wrong.factor;
    }
    return HC_OK;
}

static void a_wrong_device_is_found(void **state) {
    (void)state;
    HcComputeOps cpu = *hc_cpu_ops();
    write_scene();
    cpu.filter = filter_wrongly;
    HcComputeOps other = cpu;
    other.name = "other";
    static const char chain[] = "read floats.img ! filter mean3x3 ! write out.img";
    for (wrong.line = 1; wrong.line < LINES - 1; wrong.line += 5) {
        /* To the bit on the CPU; on another device within a thousandth of the largest value. */
        wrong.factor = 1.000001F;
        HcVerify verify = {.tiles = 100, .open = open_cpu};
        check_run_fails((&(RunHow){.ops = &cpu, .verify = &verify}), HC_E_VERIFY, "sample 40, band 1", "%s",
                        chain);
        assert_int_equal(verify.check.differing, 1);
        hc_verify_clear(&verify);
        verify = (HcVerify){.tiles = 100, .open = open_cpu};
        check_runs((&(RunHow){.ops = &other, .verify = &verify}), "%s", chain);
        assert_true(verify.check.largest > 0);
        hc_verify_clear(&verify);
        wrong.factor = 1.5F;
        verify = (HcVerify){.tiles = 100, .open = open_cpu};
        check_run_fails((&(RunHow){.ops = &other, .verify = &verify}), HC_E_VERIFY, "1 of ", "%s", chain);
        hc_verify_clear(&verify);
        wrong.factor = NAN;
        verify = (HcVerify){.tiles = 100, .open = open_cpu};
        check_run_fails((&(RunHow){.ops = &other, .verify = &verify}), HC_E_VERIFY, "computed again", "%s",
                        chain);
        hc_verify_clear(&verify);
    }
}

/* A few classes may fall differently on another device, and no more. */
static void classes_may_differ_a_little(void **state) {
    (void)state;
    HcWrittenCheck check = {0};
    HcComputeOps other = *hc_cpu_ops();
    other.name = "other";
    write_scene();
    const Flip flip = {"out.img", 1, ""};
    HcVerify verify = {.tiles = 100, .open = flip_and_open, .user = &flip};
    static const char chain[] = "read scene.img ! kmeans --clusters 4 ! write out.img";
    check_runs((&(RunHow){.ops = &other, .verify = &verify}), "%s", chain);
    check = verify.check;
    assert_int_equal(check.other_choices, 1);
    assert_int_equal(check.differing, 0);
    assert_int_equal(check.choices, check.values);
    hc_verify_clear(&verify);
    verify = (HcVerify){.tiles = 100, .open = flip_and_open, .user = &flip};
    check_run_fails(&(RunHow){.verify = &verify}, HC_E_VERIFY, "1 of ", "%s", chain);
    hc_verify_clear(&verify);
    /* One of the 90 pixels of a scene of one line is more than a thousandth. */
    verify = (HcVerify){.tiles = 1, .open = flip_and_open, .user = &flip};
    check_run_fails((&(RunHow){.ops = &other, .verify = &verify}), HC_E_VERIFY, "1 of 90 values",
                    "read scene.img --window 0,20,90,1 ! kmeans --clusters 2 ! write out.img");
    hc_verify_clear(&verify);
}

/* ---- bands with bounds of their own ---- */

static struct {
    int32_t from; /* of the last bands of lad and unmix, counted from behind: 0 = the last */
    float more;   /* is added to it */
} nudge;

/* As another device is right: every value in its last digits, and errors near zero quite otherwise. */
static void nudge_rows(const HcBlock *out) {
    const int64_t pixels = (int64_t)hc_block_rows(out) * out->samples;
    for (int64_t p = 0; p < pixels; p++) {
        float *value = out->data + p * out->bands;
        for (int32_t b = 0; b < out->bands && out->mask[p] != 0; b++) {
            value[b] *= 1 + (float)((p + b) % 3 - 1) * 0x1p-23F;
        }
        value[out->bands - 1 - nudge.from] += out->mask[p] != 0 ? nudge.more : 0;
    }
}

static HcStatus lad_otherwise(HcQueue *queue, const HcBlock *in, HcLad *lad, const HcBlock *out,
                              HcError *err) {
    HC_OR_RETURN(hc_cpu_ops()->lad(queue, in, lad, out, err));
    nudge_rows(out);
    return HC_OK;
}

static HcStatus unmix_otherwise(HcQueue *queue, const HcBlock *in, HcUnmixing *unmixing, const HcBlock *out,
                                HcError *err) {
    HC_OR_RETURN(hc_cpu_ops()->unmix(queue, in, unmixing, out, err));
    nudge_rows(out);
    return HC_OK;
}

static void errors_near_zero_may_differ(void **state) {
    (void)state;
    /* Bands from behind: abundance --verify has the objectives and the error, unmix what is listed. */
    static const struct {
        const char *stage, *options;
        int32_t from;
        float more;
        bool passes;
    } bands[] = {
        {"abundance --endmembers", "--verify", 0, 0, true},
        {"abundance --endmembers", "--verify", 0, 3e-15F, true},
        {"abundance --endmembers", "--verify", 0, 9e-10F, true},
        {"abundance --endmembers", "--verify", 0, 1e-6F, false},
        {"abundance --endmembers", "--verify", 2, 1000, false},
        {"abundance --endmembers", "--residual --status --pivots", 0, 5, true},
        {"abundance --endmembers", "--residual --status --pivots", 1, 1, false},
        {"abundance --endmembers", "--residual --status --pivots", 2, 10, false},
        {"abundance --endmembers", "--norm l2 --verify", 0, 5e-5F, true},
        {"abundance --endmembers", "--norm l2 --verify", 0, 1e-2F, false},
        {"unmix --library", "--lambda 0 --add gap,iterations", 1, 9, true},
        {"unmix --library", "--lambda 0 --add gap,iterations", 0, 5e-5F, true},
        {"unmix --library", "--lambda 0 --add gap,iterations", 0, 1e-2F, false},
        {"unmix --library", "--lambda 0 --top 2", 0, 0.5F, false},
        {"unmix --library", "--lambda 0 --top 2", 2, -1, false},
    };
    HcComputeOps other = *hc_cpu_ops();
    char scene[512], library[512];
    other.name = "other";
    other.lad = lad_otherwise;
    other.unmix = unmix_otherwise;
    sample_path(scene, sizeof scene, "scene.hdr");
    sample_path(library, sizeof library, "endmembers.sli");
    for (size_t b = 0; b < sizeof bands / sizeof *bands; b++) {
        HcVerify verify = {.tiles = 1, .open = open_cpu};
        RunHow how = {.ops = &other, .verify = &verify};
        nudge.from = bands[b].from;
        nudge.more = bands[b].more;
        static const char chain[] = "read %s --window 10,10,9,9 ! %s %s %s ! write out.img --overwrite";
        if (bands[b].passes) {
            check_runs(&how, chain, scene, bands[b].stage, library, bands[b].options);
        } else {
            check_run_fails(&how, HC_E_VERIFY, "values differ", chain, scene, bands[b].stage, library,
                            bands[b].options);
        }
        hc_verify_clear(&verify);
    }
}

/* ---- the record, and what is refused ---- */

static void the_record_keeps_it(void **state) {
    (void)state;
    size_t bytes = 0;
    write_scene();
    HcVerify verify = {.tiles = 2, .seed = 77, .open = open_cpu};
    check_runs((&(RunHow){.verify = &verify, .settings = {.record = "r.json"}}),
               "read scene.img ! filter mean3x3 ! write out.img");
    char *text = file_bytes("r.json", &bytes);
    cJSON *record = cJSON_ParseWithLength(text, bytes);
    const cJSON *said = cJSON_GetObjectItemCaseSensitive(record, "verify");
    assert_true(cJSON_GetObjectItemCaseSensitive(said, "tiles")->valuedouble == 2);
    assert_true(cJSON_GetObjectItemCaseSensitive(said, "lines")->valuedouble == 16);
    assert_true(cJSON_GetObjectItemCaseSensitive(said, "seed")->valuedouble == 77);
    assert_true(cJSON_GetObjectItemCaseSensitive(said, "differing")->valuedouble == 0);
    assert_true(cJSON_GetObjectItemCaseSensitive(said, "values")->valuedouble == (double)verify.check.values);
    assert_int_equal(verify.check.values, (verify.first_line[1] == 48 ? 16 + 9 : 2 * 16) * SAMPLES * BANDS);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItemCaseSensitive(said, "first_lines_from_0")), 2);
    cJSON_Delete(record);
    free(text);
    hc_verify_clear(&verify);
}

static void what_cannot_be_verified_is_refused(void **state) {
    (void)state;
    write_scene();
    HcVerify verify = {.tiles = 2, .open = open_cpu};
    check_run_fails(&(RunHow){.verify = &verify}, HC_E_USAGE, "writes no raster",
                    "read scene.img ! cov s.json");
    assert_false(verify.done);
    hc_verify_clear(&verify);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        IN_FOLDER(what_is_right_passes),        IN_FOLDER(tiles_are_drawn),
        IN_FOLDER(a_flipped_byte_is_found),     IN_FOLDER(a_wrong_device_is_found),
        IN_FOLDER(classes_may_differ_a_little), IN_FOLDER(errors_near_zero_may_differ),
        IN_FOLDER(the_record_keeps_it),         IN_FOLDER(what_cannot_be_verified_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
