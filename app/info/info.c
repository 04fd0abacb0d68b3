/* info and version: what a file holds, what hcube is made of. */
#include "app/info/values.h"
#include "app/usage/usage.h"
#include "app/view/view.h"
#include "core/version.h"
#include "cpu/cpu.h"
#include "io/libraries.h"
#include "io/library/library.h"
#include "io/read/reader.h"
#include "pipeline/json/json.h"
#include "pipeline/picture/look.h"
#include "io/read/overlaps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct InfoParams {
    const char *path, *spectra, *look;
    bool json, bands, stats, overwrite;
    int64_t threads;
} InfoParams;

static const HcOption info_options[] = {
    {HC_TEXT(InfoParams, path), .value = "SCENE", .positional = true, .required = true,
     .help = "an ENVI header or data file, anything that GDAL opens, or a spectral library (ENVI, CSV)"},
    {HC_FLAG(InfoParams, json), .help = "print JSON"},
    {HC_FLAG(InfoParams, bands),
     .help = "list every band (number, centre, width, bad or not, name), and every class or spectrum"},
    {HC_FLAG(InfoParams, stats),
     .help = "for each band of the whole scene: minimum, maximum, mean and standard deviation of stored "
             "values, percentage of zero, NaN (or infinite) and nodata pixels"},
    {HC_TEXT(InfoParams, look), .file = HC_FILE_WRITTEN, .value = "FIGURE.png",
     .help = "draw some lines and the mean spectrum, or the spectra of a library: .png, .svg or .pdf"},
    {HC_TEXT(InfoParams, spectra), .value = "LIST", .otherwise = "all spectra; for --look 24, evenly spaced",
     .help = "show only these spectra of a library: numbers from 1, ranges, names or patterns, separated by "
             "commas: 1-20,35,Oak leaf,*kaolinite*"},
    {HC_FLAG(InfoParams, overwrite), .help = "replace the file of --look"},
    {HC_INT(InfoParams, threads), .range = {1, 4096}, .value = "COUNT", .otherwise = "one for each processor",
     .help = "number of threads for --stats"},
    {0}};

static int32_t count_bad(const HcScene *scene) {
    int32_t bad = 0;
    for (int32_t b = 0; scene->bad != NULL && b < scene->bands; b++) {
        bad += scene->bad[b] != 0;
    }
    return bad;
}

/* `crs_name`: NULL where the CRS is not understood. */
static void print_place(const HcScene *scene, const char *crs_name) {
    const HcPlace *place = &scene->place;
    printf("%-12s %s\n", "crs",
           place->crs == NULL ? "none"
           : crs_name != NULL ? crs_name
                              : "not understood (--json prints its WKT)");
    if (place->has_transform) {
        const double *t = place->transform;
        if (t[2] == 0 && t[4] == 0) {
            printf("%-12s upper left %.10g, %.10g; pixel %.10g x %.10g\n", "place", t[0], t[3], t[1], t[5]);
        } else {
            printf("%-12s upper left %.10g, %.10g; steps (%.10g, %.10g) a sample, (%.10g, %.10g) a line\n",
                   "place", t[0], t[3], t[1], t[4], t[2], t[5]);
        }
    }
}

static void print_wavelengths(const HcScene *scene) {
    double low, high;
    if (scene->wavelength == NULL) {
        printf("%-12s none\n", "wavelengths");
        return;
    }
    bool rising = hc_info_range(scene->wavelength, scene->bands, &low, &high);
    printf("%-12s %.2f to %.2f nm%s%s\n", "wavelengths", low, high, rising ? "" : ", not in rising order",
           scene->fwhm != NULL ? ", widths given" : "");
    double overlap[HC_OVERLAPS_MAX][2];
    int32_t count = hc_detector_overlaps(scene, overlap);
    for (int32_t i = 0; i < count; i++) {
        printf("%-12s %.2f to %.2f nm%s\n", i == 0 ? "overlaps" : "", overlap[i][0], overlap[i][1],
               i == 0 ? " of detectors (spectra have spikes there)" : "");
    }
}

/* The first ones, or all. */
static void print_classes(const HcClasses *classes, bool all) {
    int32_t shown = all || classes->count <= 32 ? classes->count : 32;
    printf("%-12s 0 to %d\n", "classes", classes->count - 1);
    for (int32_t c = 0; c < shown; c++) {
        const uint8_t *rgb = classes->colour[c];
        printf("%12d #%02x%02x%02x %s\n", c, rgb[0], rgb[1], rgb[2], classes->name[c]);
    }
    if (shown < classes->count) {
        printf("%12s %d more (--bands lists all)\n", "...", classes->count - shown);
    }
}

/* What the numbers in bands of `unmix --top` stand for; those without a name do not occur. */
static void print_numbers(const char *names, bool all) {
    int32_t number = 0, shown = 0;
    printf("%-12s numbers stand for\n", "spectra");
    for (const char *at = names; at != NULL; number++) {
        const char *end = strchr(at, '\n');
        int length = end != NULL ? (int)(end - at) : (int)strlen(at);
        bool named = strncmp(at, "-", (size_t)length) != 0;
        shown += named;
        if (named && (all || shown <= 32)) {
            printf("%12d %.*s\n", number, length, at);
        }
        at = end != NULL ? end + 1 : NULL;
    }
    if (!all && shown > 32) {
        printf("%12s %d more (--bands lists all)\n", "...", shown - 32);
    }
}

static void put_spectra(const char *names, HcJson *to) {
    hc_json_open_array(to, "spectrum_names_from_0");
    for (const char *at = names; at != NULL;) {
        const char *end = strchr(at, '\n');
        char *name = hc_text_format("%.*s", end != NULL ? (int)(end - at) : (int)strlen(at), at);
        hc_json_put_text(to, NULL, name);
        free(name);
        at = end != NULL ? end + 1 : NULL;
    }
    hc_json_close(to);
}

static void print_bands(const HcScene *scene) {
    printf("\n%6s %10s %8s %4s  %s\n", "band", "centre/nm", "fwhm/nm", "bad", "name");
    for (int32_t b = 0; b < scene->bands; b++) {
        char centre[32];
        char width[32];
        hc_info_number(scene->wavelength, b, centre, sizeof centre);
        hc_info_number(scene->fwhm, b, width, sizeof width);
        printf("%6d %10s %8s %4s  %s\n", b + 1, centre, width,
               scene->bad != NULL && scene->bad[b] ? "bad" : "",
               scene->band_name != NULL && scene->band_name[b] != NULL ? scene->band_name[b] : "");
    }
}

/* What a stored value means; hcube itself works with stored values. */
static void print_scale(const HcScene *scene) {
    const HcScale scale = hc_scene_scale(scene, 0);
    if (scene->gain != NULL) {
        printf("%-12s %.10g, offset %.10g%s: value = scale x stored + offset\n", "scale", scale.gain,
               scale.offset, hc_scene_has_one_scale(scene) ? "" : " (band 1; others differ)");
    }
}

/* Layers that leave pixels out by themselves, or those that --mask may name. */
static void print_layers(const HcReader *reader, bool usual, const char *title) {
    int32_t count = 0, printed = 0;
    const HcProductLayer *layer = hc_reader_layers(reader, &count);
    for (int32_t l = 0; l < count; l++) {
        if (layer[l].usual != usual) {
            continue;
        }
        if (printed == 0) {
            printf("%-12s %s", title, layer[l].name);
        } else {
            printf(", %s", layer[l].name);
        }
        printed++;
    }
    if (printed > 0) {
        printf(usual ? " (left out)\n" : " (by --mask)\n");
    }
}

static void print_lines(const HcReader *reader, const char *crs_name, bool bands,
                        const HcInfoValues *values) {
    const HcScene *scene = hc_reader_scene(reader);
    char size[32];
    int64_t bytes = 0;
    int64_t modified = 0;
    hc_reader_identity(reader, &bytes, &modified);
    hc_text_bytes(size, sizeof size, (double)bytes);
    hc_show("%-12s %s (%s%sread: %s)", "file", hc_reader_path(reader), bytes > 0 ? size : "",
            bytes > 0 ? ", " : "", hc_reader_method(reader));
    if (hc_reader_product(reader) != NULL) {
        printf("%-12s %s\n", "product", hc_reader_product(reader));
    }
    if (hc_reader_version(reader) != NULL) {
        hc_show("%-12s %s", "version", hc_reader_version(reader));
    }
    printf("%-12s %lld lines x %lld samples x %d bands of %s\n", "size", (long long)scene->lines,
           (long long)scene->samples, scene->bands, hc_type_name(scene->type));
    print_wavelengths(scene);
    printf("%-12s %d of %d\n", "bad bands", count_bad(scene), scene->bands);
    if (scene->has_nodata) {
        printf("%-12s %.10g\n", "nodata", scene->nodata);
    } else {
        printf("%-12s none\n", "nodata");
    }
    if (hc_reader_mask(reader) != NULL) {
        printf("%-12s %s (left out; --ignore-mask keeps it)\n", "mask", hc_reader_mask(reader));
    }
    hc_info_print_sample(values, scene);
    print_layers(reader, true, "quality");
    print_layers(reader, false, "further");
    print_scale(scene);
    if (hc_reader_unit(reader) != NULL) {
        hc_show("%-12s %s%s", "unit", hc_reader_unit(reader),
                scene->gain != NULL ? " (of scale x stored + offset)" : "");
    }
    print_place(scene, crs_name);
    if (scene->has_default_bands) {
        printf("%-12s %d, %d, %d (red, green, blue)\n", "colours", scene->default_bands[0] + 1,
               scene->default_bands[1] + 1, scene->default_bands[2] + 1);
    }
    if (hc_scene_is_class_map(scene)) {
        print_classes(&scene->classes, bands);
    }
    if (scene->number_names != NULL) {
        print_numbers(scene->number_names, bands);
    }
    if (scene->description != NULL) {
        hc_show("%-12s %s", "description", scene->description);
    }
    if (hc_reader_note(reader) != NULL) {
        hc_show("%-12s %s", "note", hc_reader_note(reader));
    }
    if (bands) {
        print_bands(scene);
    }
    hc_info_print_stats(values);
}

/* Makes all that can fail first, and prints all or nothing. */
static HcStatus print_info(const HcReader *reader, bool bands, const HcInfoValues *values, HcError *err) {
    const char *crs = hc_reader_scene(reader)->place.crs;
    char *name = NULL;
    if (crs != NULL) {
        HC_OR_RETURN(hc_io_crs_name(crs, &name, err));
    }
    print_lines(reader, name, bands, values);
    free(name);
    return HC_OK;
}

static void put_layers(const HcReader *reader, HcJson *to) {
    int32_t count = 0;
    const HcProductLayer *layer = hc_reader_layers(reader, &count);
    if (count == 0) {
        return;
    }
    hc_json_open_array(to, "quality_layers");
    for (int32_t l = 0; l < count; l++) {
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "name", layer[l].name);
        hc_json_put_bool(to, "usual", layer[l].usual);
        hc_json_close(to);
    }
    hc_json_close(to);
}

static void put_classes(const HcClasses *classes, HcJson *to) {
    hc_json_open_array(to, "classes_from_0");
    for (int32_t c = 0; c < classes->count; c++) {
        const uint8_t *rgb = classes->colour[c];
        const int32_t colour[3] = {rgb[0], rgb[1], rgb[2]};
        hc_json_open_object(to, NULL);
        hc_json_put_text(to, "name", classes->name[c]);
        hc_json_put_ints(to, "colour", colour, 3);
        hc_json_close(to);
    }
    hc_json_close(to);
}

static void put_scene(const HcScene *scene, HcJson *to) {
    hc_json_put_number(to, "lines", (double)scene->lines);
    hc_json_put_number(to, "samples", (double)scene->samples);
    hc_json_put_text(to, "type", hc_type_name(scene->type));
    hc_json_put_bands(to, scene);
    hc_info_put_bad_bands(scene->bad, scene->bands, to);
    if (scene->place.crs != NULL) {
        hc_json_put_text(to, "crs_wkt", scene->place.crs);
    }
    hc_json_put_doubles(to, "geotransform", scene->place.has_transform ? scene->place.transform : NULL, 6);
    if (scene->has_default_bands) {
        int32_t colours[3];
        for (int c = 0; c < 3; c++) {
            colours[c] = scene->default_bands[c] + 1;
        }
        hc_json_put_ints(to, "default_bands_from_1", colours, 3);
    }
    if (hc_scene_is_class_map(scene)) {
        put_classes(&scene->classes, to);
    }
    if (scene->number_names != NULL) {
        put_spectra(scene->number_names, to);
    }
    if (scene->description != NULL) {
        hc_json_put_text(to, "description", scene->description);
    }
}

static HcStatus print_info_json(const HcReader *reader, const HcInfoValues *values, HcError *err) {
    int64_t bytes = 0;
    int64_t modified = 0;
    HcJson json;
    hc_json_begin(&json);
    hc_reader_identity(reader, &bytes, &modified);
    hc_json_put_text(&json, "file", hc_reader_path(reader));
    hc_json_put_text(&json, "method", hc_reader_method(reader));
    if (hc_reader_product(reader) != NULL) {
        hc_json_put_text(&json, "product", hc_reader_product(reader));
    }
    if (hc_reader_version(reader) != NULL) {
        hc_json_put_text(&json, "product_version", hc_reader_version(reader));
    }
    if (hc_reader_news(reader) != NULL) {
        hc_json_put_text(&json, "not_in_table", hc_reader_news(reader));
    }
    if (hc_reader_mask(reader) != NULL) {
        hc_json_put_text(&json, "mask", hc_reader_mask(reader));
    }
    put_layers(reader, &json);
    if (bytes > 0) { /* not known of Zarr on a server */
        hc_json_put_number(&json, "bytes", (double)bytes);
        hc_json_put_number(&json, "modified", (double)modified);
    }
    if (hc_reader_unit(reader) != NULL) {
        hc_json_put_text(&json, "unit", hc_reader_unit(reader));
    }
    put_scene(hc_reader_scene(reader), &json);
    hc_info_put_values(values, &json);
    if (hc_reader_note(reader) != NULL) {
        hc_json_put_text(&json, "note", hc_reader_note(reader));
    }
    return hc_print_json(&json, err);
}

void hc_describe_info(HcUsage *usage) {
    hc_text_add(&usage->examples,
                "hcube info scene.hdr\nhcube info scene.hdr --stats\nhcube info scene.hdr --look look.png\n"
                "hcube info --json library.sli\n");
    hc_usage_add(usage, "Options", info_options);
}

HcStatus hc_command_info(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    InfoParams params;
    HcReader *reader = NULL;
    HcReaderOptions how = {0};
    HcInfoValues values = {0};
    hc_options_reset(info_options, &params);
    HcOptionSet set = {.table = info_options, .params = &params};
    HC_TRY(hc_options_parse("info", &set, 1, words, word_count, err));
    bool is_library = false;
    HC_TRY(hc_library_recognise(params.path, &is_library, err));
    if (is_library && params.stats) {
        return hc_fail(err, HC_E_USAGE, "info: --stats: %s is a spectral library", params.path);
    }
    if (!is_library && params.spectra != NULL) {
        return hc_fail(err, HC_E_USAGE, "info: --spectra: %s is no spectral library", params.path);
    }
    if (is_library) {
        HC_TRY(hc_info_library(params.path, params.spectra, params.json, params.bands, err));
        return params.look != NULL
                   ? hc_look_library(params.path, params.spectra, params.look, params.overwrite, err)
                   : HC_OK;
    }
    HC_TRY(hc_reader_open(&reader, params.path, &how, err));
    HC_TRY(hc_info_values(reader, params.stats, (int32_t)params.threads, &values, err));
    if (params.json) {
        HC_TRY(print_info_json(reader, &values, err));
    } else {
        HC_TRY(print_info(reader, params.bands, &values, err));
    }
    if (params.look != NULL) {
        HC_TRY(hc_look(params.path, params.look, params.overwrite, err));
    }
done:
    free(values.band);
    hc_reader_close(reader);
    return status;
}

HcStatus hc_command_version(int32_t word_count, const char *const *words, HcError *err) {
    if (word_count > 0) {
        return hc_fail(err, HC_E_USAGE, "version: %s: takes no words", words[0]);
    }
    HcText text = {0};
    char mpi[sizeof((HcError){0}).text];
    HC_OR_RETURN(hc_ranks_library(mpi, sizeof mpi, err));
    hc_io_libraries(&text);
    hc_stages_libraries(&text);
    hc_cpu_libraries(&text);
    HcStatus status = text.failed ? hc_fail_memory(err, (double)text.length, "the versions") : HC_OK;
    if (status == HC_OK) {
        printf("hcube %s\n%scJSON %s\nlibmicrohttpd %s\nMPI %s\ncompiler %s\n", hc_version(),
               hc_text_shown(&text), cJSON_Version(), hc_view_server_version(), mpi, __VERSION__);
    }
    hc_text_clear(&text);
    return status;
}
