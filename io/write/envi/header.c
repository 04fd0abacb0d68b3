#include "core/text.h"
#include "io/write/parts.h"

#include <string.h>

static const char *const interleave_words[] = {"bsq", "bil", "bip"};

static const int envi_code[HC_TYPE_COUNT] = {
    [HC_UINT8] = 1,   [HC_INT16] = 2,   [HC_INT32] = 3,  [HC_FLOAT32] = 4, [HC_FLOAT64] = 5,
    [HC_UINT16] = 12, [HC_UINT32] = 13, [HC_INT64] = 14, [HC_UINT64] = 15}; /* 0: ENVI lacks the type */

static void add_numbers(HcText *to, const char *key, const double *values, int32_t count) {
    char number[40];
    hc_text_add(to, "%s = {\n", key);
    for (int32_t b = 0; b < count; b++) {
        hc_text_add(to, "%s%s", hc_write_number(number, values[b]),
                    b + 1 == count ? "}\n"
                    : b % 8 == 7   ? ",\n"
                                   : ", ");
    }
}

/* The last three numbers are the offsets of a tile and ENVI's emulation of other models: none. */
static void add_rpc(HcText *to, const HcScene *scene) {
    double value[HC_RPC_VALUES + 3] = {0};
    if (scene->rpc.known) {
        memcpy(value, scene->rpc.value, sizeof scene->rpc.value);
        add_numbers(to, "rpc info", value, HC_RPC_VALUES + 3);
    }
}

static void add_band_names(HcText *to, const HcScene *scene) {
    if (scene->band_name == NULL) {
        return;
    }
    hc_text_add(to, "band names = {\n");
    for (int32_t b = 0; b < scene->bands; b++) {
        if (scene->band_name[b] != NULL) {
            hc_write_envi_name(to, scene->band_name[b], true);
        } else {
            hc_text_add(to, "Band %d", b + 1);
        }
        hc_text_add(to, "%s", b + 1 == scene->bands ? "}\n" : ",\n");
    }
}

static void add_spectral(HcText *to, const HcScene *scene) {
    if (!hc_scene_is_spectral(scene)) {
        return;
    }
    if (scene->wavelength != NULL) {
        hc_text_add(to, "wavelength units = Nanometers\n");
        add_numbers(to, "wavelength", scene->wavelength, scene->bands);
    }
    if (scene->wavelength != NULL && scene->fwhm != NULL) {
        add_numbers(to, "fwhm", scene->fwhm, scene->bands);
    }
    if (scene->bad != NULL) {
        hc_text_add(to, "bbl = {\n");
        for (int32_t b = 0; b < scene->bands; b++) {
            hc_text_add(to, "%d%s", scene->bad[b] == 0,
                        b + 1 == scene->bands ? "}\n"
                        : b % 32 == 31        ? ",\n"
                                              : ", ");
        }
    }
}

static void add_frame(HcText *to, const HcScene *scene, const HcWritePlan *plan) {
    char number[40];
    const uint16_t probe = 1;
    bool little = *(const uint8_t *)&probe == 1;
    hc_text_add(to, "ENVI\ndescription = {");
    hc_write_envi_name(to, scene->description != NULL ? scene->description : "written by hcube", false);
    hc_text_add(to, "}\nsamples = %lld\nlines = %lld\nbands = %d\n", (long long)scene->samples,
                (long long)scene->lines, scene->bands);
    hc_text_add(to, "header offset = 0\nfile type = ENVI %s\ndata type = %d\ninterleave = %s\n",
                hc_write_one_class_band(scene, plan->type) ? "Classification" : "Standard",
                envi_code[plan->type], interleave_words[plan->interleave]);
    hc_text_add(to, "byte order = %d\n", little ? 0 : 1);
    if (!plan->no_nodata) {
        hc_text_add(to, "data ignore value = %s\n", hc_write_number(number, plan->nodata));
    }
    if (scene->has_default_bands) {
        hc_text_add(to, "default bands = {%d, %d, %d}\n", scene->default_bands[0] + 1,
                    scene->default_bands[1] + 1, scene->default_bands[2] + 1);
    }
}

char *hc_write_envi_header(const HcScene *scene, const HcWritePlan *plan) {
    HcText text = {0};
    add_frame(&text, scene, plan);
    hc_text_add(&text, "%s", plan->place);
    add_rpc(&text, scene);
    add_band_names(&text, scene);
    hc_write_envi_classes(&text, scene);
    hc_write_envi_numbers(&text, scene);
    add_spectral(&text, scene);
    if (scene->gain != NULL && scene->offset != NULL) {
        add_numbers(&text, "data gain values", scene->gain, scene->bands);
        add_numbers(&text, "data offset values", scene->offset, scene->bands);
    }
    return hc_text_take(&text);
}
