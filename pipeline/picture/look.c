/* A quick look at a scene: two readers, since each reads its own bands. */
#include "pipeline/picture/look.h"
#include "core/allocate.h"
#include "figure/figure.h"
#include "io/file.h"
#include "io/file_use.h"
#include "io/library/library.h"
#include "io/read/reader.h"
#include "pipeline/picture/image.h"
#include "pipeline/picture/plots.h"
#include "pipeline/picture/scale.h"
#include "pipeline/spectra/library/choice.h"
#include "pipeline/statistics/summary.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIDE = 640, SPECTRUM_LINES = 64 };
static const double read_bytes = 256.0 * 1024 * 1024;

/* Zero at first. */
typedef struct Look {
    int32_t band[3], count; /* red, green, blue; or one */
    int32_t step;           /* every step-th line and sample is shown */
    int32_t width, height;
    float *plane;    /* [count][height][width] */
    uint8_t *valid;  /* [height][width] */
    uint8_t *level;  /* [height * width] */
    uint8_t *pixels; /* [height][width][4] */
    HcScaled scaled;
    float limit[3][2];     /* [count] */
    double *line;          /* [count][samples] */
    char *raw;             /* a line as it is read */
    uint8_t *mask;         /* what the mask of the file leaves of it */
    HcBandSummary *figure; /* [bands] */
    float *mean, *spread;  /* [bands] */
    int64_t lines;         /* of the spectrum */
} Look;

static void clear_look(Look *look) {
    free(look->plane);
    free(look->valid);
    free(look->level);
    free(look->pixels);
    free(look->line);
    free(look->raw);
    free(look->mask);
    free(look->figure);
    free(look->mean);
    free(look->spread);
}

/* ---- the picture ---- */

static HcStatus open_picture(Look *look, HcReader *reader, HcError *err) {
    static const char what[] = "a picture of the scene";
    const HcScene *scene = hc_reader_scene(reader);
    int64_t longest = hc_max64(scene->lines, scene->samples);
    look->count = hc_scene_usual_bands(scene, look->band);
    look->step = (int32_t)((longest + SIDE - 1) / SIDE);
    look->width = (int32_t)((scene->samples + look->step - 1) / look->step);
    look->height = (int32_t)((scene->lines + look->step - 1) / look->step);
    size_t pixels = (size_t)look->width * (size_t)look->height;
    int32_t rising[3], used = 0;
    for (int32_t b = 0; b < scene->bands && used < 3; b++) {
        bool shown = false;
        for (int32_t c = 0; c < look->count; c++) {
            shown = shown || look->band[c] == b;
        }
        rising[used] = b;
        used += shown;
    }
    HC_OR_RETURN(hc_reader_use_bands(reader, rising, used, err));
    (void)hc_reader_settle(reader, 0, read_bytes, false);
    HC_OR_RETURN(hc_new(look->plane, pixels * (size_t)look->count, what, err));
    HC_OR_RETURN(hc_new(look->valid, pixels, what, err));
    HC_OR_RETURN(hc_new(look->level, pixels, what, err));
    HC_OR_RETURN(hc_new(look->pixels, pixels * 4, what, err));
    HC_OR_RETURN(hc_new(look->line, (size_t)scene->samples * (size_t)look->count, what, err));
    HC_OR_RETURN(hc_new(look->mask, (size_t)scene->samples, what, err));
    return hc_new(look->raw, hc_reader_bytes(reader, 1), what, err);
}

static bool is_value(const HcReader *reader, int32_t band, double value) {
    double nodata = NAN;
    return isfinite((float)value) && !(hc_reader_nodata(reader, band, &nodata) && value == nodata);
}

/* A line of the scene into line y of the picture. */
static void put_line(Look *look, const HcReader *reader, const HcRaw *raw, int32_t y) {
    int64_t offset[3];
    size_t pixels = (size_t)look->width * (size_t)look->height, at = (size_t)y * (size_t)look->width;
    for (int32_t c = 0; c < look->count; c++) {
        offset[c] = hc_reader_stored_band(reader, look->band[c]) * raw->stride_band;
    }
    hc_take_values(raw->type, &(HcPatch){.from = raw->data,
                                         .sample_step = raw->stride_sample,
                                         .offset = offset,
                                         .bands = look->count,
                                         .samples = raw->samples,
                                         .swap = raw->swap,
                                         .to = look->line});
    for (int32_t x = 0; x < look->width; x++) {
        bool valid = look->mask[(size_t)x * (size_t)look->step] != 0;
        for (int32_t c = 0; c < look->count; c++) {
            double value = look->line[(size_t)c * (size_t)raw->samples + (size_t)x * (size_t)look->step];
            valid = valid && is_value(reader, look->band[c], value);
            look->plane[(size_t)c * pixels + at + (size_t)x] = (float)value;
        }
        look->valid[at + (size_t)x] = valid;
    }
}

static HcStatus colour_picture(Look *look, const HcScene *scene, HcError *err) {
    size_t pixels = (size_t)look->width * (size_t)look->height;
    look->scaled = (HcScaled){.scene = scene,
                              .band = look->band,
                              .count = look->count,
                              .plane = look->plane,
                              .valid = look->valid,
                              .pixels = pixels,
                              .percentile = {NAN, NAN}};
    HC_OR_RETURN(hc_scale_find(&look->scaled, look->limit, err));
    uint8_t gamma[256];
    hc_image_gamma(hc_image_usual_gamma(scene, look->count), gamma);
    for (int32_t c = 0; c < 3; c++) {
        int32_t from = c < look->count ? c : 0;
        const float *plane = look->plane + (size_t)from * pixels;
        hc_image_levels(plane, look->valid, pixels, look->limit[from], look->level);
        for (size_t p = 0; p < pixels; p++) {
            look->pixels[4 * p + (size_t)c] = gamma[look->level[p]];
            look->pixels[4 * p + 3] = look->valid[p] ? 255 : 0;
        }
    }
    return HC_OK;
}

static HcStatus make_picture(Look *look, HcReader *reader, HcError *err) {
    HC_OR_RETURN(open_picture(look, reader, err));
    for (int32_t y = 0; y < look->height; y++) {
        HcRaw raw = {0};
        memset(look->mask, 1, (size_t)hc_reader_scene(reader)->samples);
        HC_OR_RETURN(hc_reader_read(reader, (int64_t)y * look->step, 1, look->raw, &raw, err));
        HC_OR_RETURN(hc_reader_read_mask(reader, (int64_t)y * look->step, 1, look->mask, err));
        put_line(look, reader, &raw, y);
    }
    HC_OR_RETURN(hc_reader_unchanged(reader, err));
    return colour_picture(look, hc_reader_scene(reader), err);
}

/* ---- the spectrum ---- */

static HcStatus make_spectrum(Look *look, HcReader *reader, HcError *err) {
    static const char what[] = "the mean spectrum";
    const HcScene *scene = hc_reader_scene(reader);
    size_t bands = (size_t)scene->bands;
    double fit = read_bytes / (double)hc_max64(1, (int64_t)hc_reader_bytes(reader, 1));
    int64_t wanted = (int64_t)fmax(1, fmin(fit, SPECTRUM_LINES));
    int64_t step = (scene->lines + wanted - 1) / wanted;
    look->lines = (scene->lines + step - 1) / step;
    HC_OR_RETURN(hc_new(look->figure, bands, what, err));
    HC_OR_RETURN(hc_new(look->mean, bands, what, err));
    HC_OR_RETURN(hc_new(look->spread, bands, what, err));
    HC_OR_RETURN(hc_summarise(reader, NULL, scene->bands, step, 0, look->figure, err));
    for (size_t b = 0; b < bands; b++) {
        look->mean[b] = (float)look->figure[b].mean;
        look->spread[b] = (float)look->figure[b].deviation;
        look->spread[b] = isfinite(look->spread[b]) ? look->spread[b] : 0;
    }
    return HC_OK;
}

/* ---- the page ---- */

/* "Bands 34, 22, 10 (651, 550, 462 nm), each stretched from 2 to 98 %." */
static void say_picture(const Look *look, const HcScene *scene, HcText *text) {
    hc_text_add(text, look->count == 1 ? "Band " : "Bands ");
    for (int32_t c = 0; c < look->count; c++) {
        hc_text_add(text, "%s%d", c > 0 ? ", " : "", look->band[c] + 1);
    }
    for (int32_t c = 0; c < look->count && scene->wavelength != NULL; c++) {
        hc_text_add(text, "%s%.0f", c > 0 ? ", " : " (", scene->wavelength[look->band[c]]);
    }
    hc_text_add(text, "%s%s, stretched from ", scene->wavelength != NULL ? " nm)" : "",
                look->count == 3 ? " as red, green, blue" : "");
    hc_scale_say(&look->scaled, look->band[0], look->limit[0], text);
    if (hc_image_usual_gamma(scene, look->count) != 1) {
        hc_text_add(text, ", gamma %g", hc_image_usual_gamma(scene, look->count));
    }
    if (look->step > 1) {
        hc_text_add(text, "; one of %d lines and samples", look->step);
    }
    hc_text_add(text, ". Spectrum: mean and standard deviation of the stored values of %lld of %lld lines.",
                (long long)look->lines, (long long)scene->lines);
}

static HcStatus draw(Look *look, const HcScene *scene, const char *title, const char *path, bool overwrite,
                     HcError *err) {
    HcText caption = {0};
    char name[] = "mean";
    char *names[] = {name};
    HcFigurePanel beside = {
        .map = {.width = look->width, .height = look->height, .pixels = look->pixels, .north = NAN}};
    say_picture(look, scene, &caption);
    HcStatus status = caption.failed ? hc_fail_memory(err, 256, "a caption") : HC_OK;
    if (status == HC_OK) {
        const HcSpectraPlot plot = {.scene = scene,
                                    .count = 1,
                                    .value = look->mean,
                                    .spread = look->spread,
                                    .name = names,
                                    .title = title,
                                    .label = "stored value",
                                    .caption = caption.data,
                                    .beside = &beside};
        status = hc_plot_spectra(path, &plot, overwrite, err);
    }
    hc_text_clear(&caption);
    return status;
}

/* Nothing that the scene is read from is replaced. */
static HcStatus check_files(const HcReader *reader, const char *path, bool overwrite, HcError *err) {
    HcPaths files = {0};
    HcFileUse use = {0};
    HcStatus status = hc_reader_files(reader, &files, err);
    status = status != HC_OK ? status : hc_file_use_read_all(&use, &files, err);
    status = status != HC_OK ? status : hc_file_use_write(&use, "info", path, err);
    status = status != HC_OK ? status : hc_file_check(path, overwrite, err);
    hc_file_use_clear(&use);
    hc_paths_clear(&files);
    return status;
}

HcStatus hc_look(const char *scene, const char *path, bool overwrite, HcError *err) {
    HcStatus status = HC_OK;
    HcReader *shown = NULL, *summed = NULL;
    HcReaderOptions how = {0};
    Look look = {0};
    char *title = NULL;
    HC_TRY(hc_plot_file_check("info", "--look", path, err));
    HC_TRY(hc_reader_open(&shown, scene, &how, err));
    if (hc_scene_is_class_map(hc_reader_scene(shown))) {
        HC_TRY(hc_fail(err, HC_E_USAGE, "info: --look: %s is a class map (hcube preview %s %s draws it)",
                       scene, scene, path));
    }
    HC_TRY(check_files(shown, path, overwrite, err));
    HC_TRY(make_picture(&look, shown, err));
    hc_reader_close(shown);
    shown = NULL;
    HC_TRY(hc_reader_open(&summed, scene, &how, err));
    look.scaled.scene = hc_reader_scene(summed); /* that of the closed reader is gone */
    HC_TRY(make_spectrum(&look, summed, err));
    title = strdup(scene);
    HC_TRY(hc_text_made(title, strlen(scene), "a title", err));
    hc_text_hide_secrets(title);
    HC_TRY(draw(&look, hc_reader_scene(summed), hc_file_base(title), path, overwrite, err));
done:
    free(title);
    hc_reader_close(shown);
    hc_reader_close(summed);
    clear_look(&look);
    return status;
}

/* ---- a library ---- */

/* Leaves out what is no spectrum by its name, where there are spectra; the caption says so. */
static HcStatus keep_spectra(HcLibrary *library, HcText *caption, HcError *err) {
    HcText out = {0}, outliers = {0};
    uint8_t *keep = NULL;
    int32_t kept = 0;
    HcStatus status = HC_OK;
    HC_TRY(hc_new(keep, (size_t)library->count, "a library", err));
    for (int32_t i = 0; i < library->count; i++) {
        keep[i] = hc_library_entry(library->name[i]) == HC_ENTRY_SPECTRUM;
        kept += keep[i];
    }
    hc_text_add(caption, "%d spectra, %d bands.", kept > 0 ? kept : library->count, library->bands);
    if (hc_library_say_entries(library, &out) > 0 && kept > 0) {
        hc_text_add(caption, " Left out by name: %s.", hc_text_shown(&out));
    }
    hc_library_say_outliers(library, &outliers);
    if (outliers.length > 0) {
        hc_text_add(caption, " %s.", hc_text_shown(&outliers));
    }
    if (out.failed || outliers.failed || caption->failed) {
        HC_TRY(hc_fail_memory(err, 256, "a caption"));
    }
    if (kept > 0 && kept < library->count) {
        HC_TRY(hc_library_keep(library, keep, err));
    }
done:
    free(keep);
    hc_text_clear(&out);
    hc_text_clear(&outliers);
    return status;
}

/* More spectra than can be told apart are thinned out; names get their numbers in the file. */
static HcStatus draw_lots(HcLibrary *library, bool chosen, HcText *caption, HcError *err) {
    enum { SHOWN = 24 };
    HcStatus status = HC_OK;
    int32_t count = library->count;
    uint8_t *keep = NULL;
    HC_OR_RETURN(hc_new(keep, (size_t)count, "a library", err));
    for (int32_t s = 0; s < SHOWN; s++) {
        keep[(int64_t)s * count / SHOWN] = 1;
    }
    if (count > SHOWN && !chosen) {
        HC_TRY(hc_library_keep(library, keep, err));
        hc_text_add(caption, " %d of them, evenly taken (--spectra chooses others).", SHOWN);
    }
    for (int32_t i = 0; i < library->count && library->number != NULL; i++) {
        char *name = hc_text_format("%d %s", library->number[i] + 1, library->name[i]);
        if (name == NULL || caption->failed) {
            free(name);
            HC_TRY(hc_fail_memory(err, 256, "the names of spectra"));
        }
        free(library->name[i]);
        library->name[i] = name;
    }
done:
    free(keep);
    return status;
}

HcStatus hc_look_check(const char *who, const char *option, const char *path, HcError *err) {
    return hc_plot_file_check(who, option, path, err);
}

HcStatus hc_look_spectra(const HcLibrary *library, const char *library_path, const char *caption,
                         const char *path, bool overwrite, HcError *err) {
    const HcScene axis = {.bands = library->bands, .wavelength = library->wavelength, .bad = library->bad};
    const HcSpectraPlot plot = {.scene = &axis,
                                .count = library->count,
                                .value = library->value,
                                .name = library->name,
                                .title = hc_file_base(library_path),
                                .label = "stored value",
                                .caption = caption};
    return hc_plot_spectra(path, &plot, overwrite, err);
}

HcStatus hc_look_library(const char *library_path, const char *spectra, const char *path, bool overwrite,
                         HcError *err) {
    HcStatus status = HC_OK;
    HcLibrary library = {0};
    HcText caption = {0};
    HcFileUse use = {0};
    char *note = NULL;
    HC_TRY(hc_plot_file_check("info", "--look", path, err));
    HC_TRY(hc_file_use_read(&use, library_path, err));
    HC_TRY(hc_file_use_write(&use, "info", path, err));
    HC_TRY(hc_file_check(path, overwrite, err));
    HC_TRY(hc_library_read(&library, library_path, err));
    HC_TRY(hc_library_choose(&library, library_path, &(HcLibraryChoice){spectra, true}, "info", &note, err));
    HC_TRY(keep_spectra(&library, &caption, err));
    HC_TRY(draw_lots(&library, spectra != NULL, &caption, err));
    HC_TRY(hc_look_spectra(&library, library_path, caption.data, path, overwrite, err));
done:
    free(note);
    hc_library_clear(&library);
    hc_text_clear(&caption);
    hc_file_use_clear(&use);
    return status;
}
