/* What GDAL cannot do for lack of memory or descriptors is no fact about the data: calls of GDAL fail, with
 * and without a message. The calls are replaced by the linker's --wrap. */
#include "io/file_use.h"
#include "write_fixture.h"

#include <errno.h>
#include <string.h>

/* ---- faults ---- */

typedef struct Fault {
    const char *call;
    CPLErrorNum code; /* CPLE_None: without a message */
    int number;       /* errno */
    int times;        /* that it fails */
} Fault;

static Fault fault;

static bool fails(const char *call, const char *name) {
    bool ours = strstr(name, "hcube-place") != NULL || strstr(name, "recipe.vrt") != NULL;
    if (fault.call == NULL || strcmp(call, fault.call) != 0 || !ours || fault.times == 0) {
        return false;
    }
    fault.times--;
    errno = fault.number;
    if (fault.code != CPLE_None) {
        CPLError(CE_Failure, fault.code, "%s: there is no more", call);
    }
    errno = fault.number;
    return true;
}

GDALDatasetH __real_GDALCreate(GDALDriverH driver, const char *name, int x, int y, int bands,
                               GDALDataType type, CSLConstList options);
GDALDatasetH __wrap_GDALCreate(GDALDriverH driver, const char *name, int x, int y, int bands,
                               GDALDataType type, CSLConstList options);
GDALDatasetH __real_GDALOpen(const char *name, GDALAccess access);
GDALDatasetH __wrap_GDALOpen(const char *name, GDALAccess access);
GDALDatasetH __real_GDALOpenEx(const char *name, unsigned int flags, const char *const *drivers,
                               const char *const *options, const char *const *siblings);
GDALDatasetH __wrap_GDALOpenEx(const char *name, unsigned int flags, const char *const *drivers,
                               const char *const *options, const char *const *siblings);
GByte *__real_VSIGetMemFileBuffer(const char *name, vsi_l_offset *bytes, int unlink);
GByte *__wrap_VSIGetMemFileBuffer(const char *name, vsi_l_offset *bytes, int unlink);

GDALDatasetH __wrap_GDALCreate(GDALDriverH driver, const char *name, int x, int y, int bands,
                               GDALDataType type, CSLConstList options) {
    return fails("create", name) ? NULL : __real_GDALCreate(driver, name, x, y, bands, type, options);
}

GDALDatasetH __wrap_GDALOpen(const char *name, GDALAccess access) {
    return fails("open", name) ? NULL : __real_GDALOpen(name, access);
}

GDALDatasetH __wrap_GDALOpenEx(const char *name, unsigned int flags, const char *const *drivers,
                               const char *const *options, const char *const *siblings) {
    return fails("open", name) ? NULL : __real_GDALOpenEx(name, flags, drivers, options, siblings);
}

GByte *__wrap_VSIGetMemFileBuffer(const char *name, vsi_l_offset *bytes, int unlink) {
    return fails("header", name) ? NULL : __real_VSIGetMemFileBuffer(name, bytes, unlink);
}

/* ---- the tests ---- */

/* The place of an ENVI output is asked of GDAL. That it cannot answer does not make the grid a sheared one.
 */
static void a_place_that_is_not_told(void **state) {
    (void)state;
    static const struct {
        Fault fault;
        HcStatus status;
    } cases[] = {
        {{"create", CPLE_OutOfMemory, 0, 1}, HC_E_MEMORY}, {{"create", CPLE_FileIO, EMFILE, 1}, HC_E_IO},
        {{"create", CPLE_None, 0, 1}, HC_E_MEMORY},        {{"header", CPLE_None, 0, 1}, HC_E_MEMORY},
        {{"open", CPLE_OutOfMemory, 0, 1}, HC_E_MEMORY},   {{"open", CPLE_OpenFailed, EIO, 1}, HC_E_IO},
        {{"open", CPLE_None, 0, 1}, HC_E_MEMORY},
    };
    HcScene scene = rich_scene();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        HcError err = {0};
        HcWriterOptions options = {.overwrite = true};
        double transform[6] = {500000 + 1000 * (double)i, 20, 0, 4000000, 0, -20}; /* the last is kept */
        memcpy(scene.place.transform, transform, sizeof transform);
        fault = cases[i].fault;
        HcStatus status = hc_writer_check(in_folder("a.img"), &scene, &options, &err);
        if (status != cases[i].status || fault.times != 0 || strstr(err.text, "sheared") != NULL) {
            fail_msg("case %zu: status %d, \"%s\"", i, (int)status, err.text);
        }
        fault = (Fault){0};
        err = (HcError){0};
        check_ok(hc_writer_check(in_folder("a.img"), &scene, &options, &err), err);
        scene.place.transform[2] = 3;
        check_fails(hc_writer_check(in_folder("a.img"), &scene, &options, &err), HC_E_UNSUPPORTED, err);
    }
    hc_scene_clear(&scene);
}

/* Files that a recipe reads are found, or the failure goes up: else they could be replaced. */
static void files_that_are_not_listed(void **state) {
    (void)state;
    static const struct {
        Fault fault;
        HcStatus status;
    } cases[] = {
        {{NULL, CPLE_None, 0, 0}, HC_OK},
        {{"open", CPLE_OutOfMemory, 0, 1}, HC_E_MEMORY},
        {{"open", CPLE_OpenFailed, EMFILE, 1}, HC_E_IO},
        {{"open", CPLE_OpenFailed, EIO, 1}, HC_E_IO},
        {{"open", CPLE_None, 0, 1}, HC_OK},
    };
    GDALClose(GDALCreate(GDALGetDriverByName("GTiff"), in_folder("source.tif"), 2, 2, 1, GDT_Byte, NULL));
    put_file(in_folder("recipe.vrt"),
             "<VRTDataset rasterXSize=\"2\" rasterYSize=\"2\"><VRTRasterBand dataType=\"Byte\" band=\"1\">"
             "<SimpleSource><SourceFilename relativeToVRT=\"1\">source.tif</SourceFilename><SourceBand>1"
             "</SourceBand></SimpleSource></VRTRasterBand></VRTDataset>");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        HcFileUse use = {0};
        HcError err = {0};
        fault = cases[i].fault;
        HcStatus status = hc_file_use_read(&use, in_folder("recipe.vrt"), &err);
        bool found = hc_paths_has(&use.reads, in_folder("source.tif"));
        if (status != cases[i].status || fault.times != 0 || (status == HC_OK && !found)) {
            fail_msg("case %zu: status %d, \"%s\", %d left", i, (int)status, err.text, fault.times);
        }
        fault = (Fault){0};
        hc_file_use_clear(&use);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_place_that_is_not_told, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(files_that_are_not_listed, make_folder, remove_folder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
