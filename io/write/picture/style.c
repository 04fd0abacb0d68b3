/* Styles of QGIS. Classes become a legend of those that occur, spectral bands true colour, components their
 * first three, and everything else one band in a colour ramp: fractions from 0 to 1, other values between two
 * percentiles, scores from 0. Values of both signs diverge from 0. All of it looks as in figures (stage
 * `figure`).
 *
 * Percentiles come from pixels on a grid that the shape of the scene decides, so that blocks, threads and
 * ranks change nothing. Values are those that QGIS sees: with the gain and offset of the band. */
#include "io/write/picture/style.h"
#include "core/allocate.h"
#include "core/compare.h"
#include "core/text.h"
#include "io/file.h"

#include <cpl_string.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SAMPLES_MAX 65536

/* As in figures: what the eye wants of the dark of a scene, and below which part of the other side values
 * beyond 0 are strays. */
static const double colours_gamma = 1.4, stray_part = 0.05;

typedef enum Look { PALETTE, COLOURS, GREY, RAMP, FRACTIONS } Look;

struct HcStyle {
    const HcScene *scene;
    Look look;
    int32_t band[3]; /* those that are shown: red, green, blue, or one */
    int32_t count;
    int64_t step, width, height; /* every step-th line and sample is looked at */
    float *value;                /* [count][height][width]; then as many marks: 1 = sampled */
    float *mark;                 /* [height][width] */
    int64_t *used;               /* [classes] pixels of each */
    double low[3], high[3];      /* of the stretch */
};

/* ---- which bands, and how ---- */

static void choose_look(HcStyle *style) {
    const HcScene *scene = style->scene;
    style->count = 1;
    if (hc_scene_is_class_map(scene)) {
        style->look = PALETTE;
    } else if (scene->meaning == HC_FRACTION) {
        style->look = FRACTIONS;
    } else if (scene->meaning == HC_OTHER || scene->meaning == HC_CLASS_MAP) {
        style->look = RAMP;
    } else if (scene->bands >= 3) {
        style->look = COLOURS;
        style->count = hc_scene_usual_bands(scene, style->band);
    } else {
        style->look = GREY;
    }
}

static void choose_grid(HcStyle *style) {
    const HcScene *scene = style->scene;
    do {
        style->step++;
        style->width = (scene->samples + style->step - 1) / style->step;
        style->height = (scene->lines + style->step - 1) / style->step;
    } while (style->width * style->height > SAMPLES_MAX);
}

static int32_t class_count(const HcScene *scene) {
    return hc_scene_is_class_map(scene) ? scene->classes.count : 0;
}

size_t hc_style_bytes(const HcScene *scene) {
    /* Values, marks and a copy to sort. */
    return sizeof(HcStyle) + (size_t)SAMPLES_MAX * 5 * sizeof(float) +
           (size_t)class_count(scene) * sizeof(int64_t);
}

HcStatus hc_style_open(HcStyle **out, const HcScene *scene, HcError *err) {
    HcStatus status = HC_OK;
    HcStyle *style = NULL;
    *out = NULL;
    HC_OR_RETURN(hc_new(style, 1, "a style", err));
    style->scene = scene;
    choose_look(style);
    choose_grid(style);
    HC_TRY(
        hc_new(style->value, (style->count + 1) * style->width * style->height, "samples of a style", err));
    style->mark = style->value + style->count * style->width * style->height;
    HC_TRY(hc_new(style->used, class_count(scene), "the classes of a style", err));
    *out = style;
    style = NULL;
done:
    hc_style_close(style);
    return status;
}

void hc_style_close(HcStyle *style) {
    if (style != NULL) {
        free(style->value);
        free(style->used);
        free(style);
    }
}

/* ---- what passes ---- */

static void count_classes(HcStyle *style, const HcBlock *block, size_t first) {
    int32_t classes = class_count(style->scene);
    for (size_t p = first; p < first + (size_t)block->samples; p++) {
        float value = block->data[p * (size_t)block->bands];
        if (block->mask[p] && value >= 0 && value < (float)classes) {
            style->used[(int32_t)value]++;
        }
    }
}

static void sample_line(HcStyle *style, const HcBlock *block, size_t first, int64_t row) {
    for (int64_t column = 0; column < style->width; column++) {
        size_t p = first + (size_t)(column * style->step);
        int64_t at = row * style->width + column;
        style->mark[at] = block->mask[p] ? 1 : 0;
        for (int32_t c = 0; c < style->count && block->mask[p]; c++) {
            style->value[c * style->width * style->height + at] =
                block->data[p * (size_t)block->bands + (size_t)style->band[c]];
        }
    }
}

void hc_style_add(HcStyle *style, const HcBlock *block) {
    for (int32_t l = 0; l < block->lines; l++) {
        size_t first = (size_t)(block->above + l) * (size_t)block->samples;
        int64_t line = block->line0 + l;
        if (style->look == PALETTE) {
            count_classes(style, block, first);
        } else if (line % style->step == 0) {
            sample_line(style, block, first, line / style->step);
        }
    }
}

HcStyleSeen hc_style_seen(HcStyle *style) {
    size_t values = (size_t)((style->count + 1) * style->width * style->height);
    return (HcStyleSeen){style->value, values * sizeof *style->value, style->used,
                         (size_t)class_count(style->scene)};
}

/* ---- the text ---- */

/* Text of XML. Names come from files, in whatever encoding. */
static void add_text(HcText *to, const char *text) {
    bool is_utf8 = CPLIsUTF8(text, -1);
    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '&' || c == '<' || c == '>' || c == '"' || c == '\'') {
            hc_text_add(to, "&#%d;", c);
        } else if (c < 32 || c == 127 || (c > 127 && !is_utf8)) {
            hc_text_add(to, "%c", c < 32 ? ' ' : '?');
        } else {
            hc_text_add(to, "%c", c);
        }
    }
}

static void add_begin(HcText *to, const char *path) {
    hc_text_add(to, "<!DOCTYPE qgis PUBLIC 'http://mrcc.com/qgis.dtd' 'SYSTEM'>\n<qgis hcube=\"");
    add_text(to, hc_file_base(path));
    hc_text_add(to, "\" version=\"3.22.0\" styleCategories=\"Symbology\">\n<pipe>\n");
}

static void add_number(HcText *to, const char *before, double value, const char *behind) {
    char number[HC_TEXT_DOUBLE];
    hc_text_add(to, "%s%s%s", before, hc_text_double(number, value), behind);
}

static void add_palette(HcText *to, const HcStyle *style) {
    const HcClasses *classes = &style->scene->classes;
    hc_text_add(to, "<rasterrenderer type=\"paletted\" band=\"1\" opacity=\"1\" alphaBand=\"-1\">\n"
                    "<rasterTransparency/>\n<colorPalette>\n");
    for (int32_t c = 0; c < classes->count; c++) {
        const uint8_t *rgb = classes->colour[c];
        /* Pixels of no class let what lies below show through. */
        bool none = c == 0 && hc_classes_has_unclassified(classes);
        if (style->used[c] == 0 || none) {
            continue;
        }
        hc_text_add(to, "<paletteEntry value=\"%d\" color=\"#%02x%02x%02x\" alpha=\"255\" label=\"", c,
                    rgb[0], rgb[1], rgb[2]);
        if (classes->name[c][0] != '\0') {
            add_text(to, classes->name[c]);
        } else {
            hc_text_add(to, "Class %d", c);
        }
        hc_text_add(to, "\"/>\n");
    }
    hc_text_add(to, "</colorPalette>\n</rasterrenderer>\n");
}

/* The stretch stands in the file: QGIS must not look for one of its own. */
static void add_origin(HcText *to) {
    hc_text_add(to, "<rasterTransparency/>\n<minMaxOrigin><limits>None</limits><extent>WholeRaster</extent>"
                    "<statAccuracy>Estimated</statAccuracy></minMaxOrigin>\n");
}

static void add_stretch(HcText *to, const HcStyle *style, int32_t c, const char *element) {
    hc_text_add(to, "<%s>", element);
    add_number(to, "<minValue>", style->low[c], "</minValue>");
    add_number(to, "<maxValue>", style->high[c], "</maxValue>");
    hc_text_add(to, "<algorithm>StretchToMinimumMaximum</algorithm></%s>\n", element);
}

static void add_colours(HcText *to, const HcStyle *style) {
    static const char *const elements[3] = {"redContrastEnhancement", "greenContrastEnhancement",
                                            "blueContrastEnhancement"};
    hc_text_add(to,
                "<rasterrenderer type=\"multibandcolor\" redBand=\"%d\" greenBand=\"%d\" blueBand=\"%d\" "
                "opacity=\"1\" alphaBand=\"-1\">\n",
                style->band[0] + 1, style->band[1] + 1, style->band[2] + 1);
    add_origin(to);
    for (int32_t c = 0; c < 3; c++) {
        add_stretch(to, style, c, elements[c]);
    }
    hc_text_add(to, "</rasterrenderer>\n");
}

static void add_grey(HcText *to, const HcStyle *style) {
    hc_text_add(to,
                "<rasterrenderer type=\"singlebandgray\" grayBand=\"%d\" gradient=\"BlackToWhite\" "
                "opacity=\"1\" alphaBand=\"-1\">\n",
                style->band[0] + 1);
    add_origin(to);
    add_stretch(to, style, 0, "contrastEnhancement");
    hc_text_add(to, "</rasterrenderer>\n");
}

typedef struct Ramp {
    const uint8_t (*stop)[3]; /* at even steps */
    int32_t count;
} Ramp;

static const uint8_t viridis[][3] = {{68, 1, 84},    {72, 40, 120},  {62, 73, 137},  {49, 104, 142},
                                     {38, 130, 142}, {31, 158, 137}, {53, 183, 121}, {110, 206, 88},
                                     {181, 222, 43}, {253, 231, 37}};
static const uint8_t inferno[][3] = {{0, 0, 4},      {27, 12, 65},   {74, 12, 107},  {120, 28, 109},
                                     {165, 44, 96},  {207, 68, 70},  {237, 105, 37}, {251, 155, 6},
                                     {247, 209, 61}, {252, 255, 164}};
/* Vik (F. Crameri, doi:10.5281/zenodo.1243862, MIT): pale in the middle. */
static const uint8_t vik[][3] = {{0, 18, 97},     {2, 58, 122},    {18, 100, 149},  {86, 151, 184},
                                 {166, 201, 218}, {235, 229, 224}, {225, 184, 160}, {205, 136, 96},
                                 {183, 90, 38},   {134, 35, 6},    {89, 0, 8}};

static Ramp ramp_of(const HcStyle *style) {
    if (style->look == FRACTIONS) {
        return (Ramp){viridis, sizeof viridis / sizeof *viridis};
    }
    if (style->low[0] < 0 && style->high[0] > 0) {
        return (Ramp){vik, sizeof vik / sizeof *vik};
    }
    return (Ramp){inferno, sizeof inferno / sizeof *inferno};
}

static void add_colour_ramp(HcText *to, const Ramp *ramp) {
    const uint8_t *first = ramp->stop[0], *last = ramp->stop[ramp->count - 1];
    hc_text_add(to, "<colorramp type=\"gradient\" name=\"[source]\">\n");
    hc_text_add(to, "<prop k=\"color1\" v=\"%d,%d,%d,255\"/>", first[0], first[1], first[2]);
    hc_text_add(to, "<prop k=\"color2\" v=\"%d,%d,%d,255\"/>", last[0], last[1], last[2]);
    hc_text_add(to,
                "<prop k=\"discrete\" v=\"0\"/><prop k=\"rampType\" v=\"gradient\"/><prop k=\"stops\" v=\"");
    for (int32_t i = 1; i < ramp->count - 1; i++) {
        const uint8_t *stop = ramp->stop[i];
        add_number(to, i > 1 ? ":" : "", (double)i / (ramp->count - 1), ";");
        hc_text_add(to, "%d,%d,%d,255", stop[0], stop[1], stop[2]);
    }
    hc_text_add(to, "\"/>\n</colorramp>\n");
}

static void add_ramp(HcText *to, const HcStyle *style) {
    const Ramp ramp = ramp_of(style);
    double low = style->low[0], high = style->high[0];
    hc_text_add(to,
                "<rasterrenderer type=\"singlebandpseudocolor\" band=\"%d\" opacity=\"1\" alphaBand=\"-1\"",
                style->band[0] + 1);
    add_number(to, " classificationMin=\"", low, "\"");
    add_number(to, " classificationMax=\"", high, "\">\n");
    add_origin(to);
    add_number(to, "<rastershader>\n<colorrampshader minimumValue=\"", low, "\"");
    add_number(to, " maximumValue=\"", high,
               "\" colorRampType=\"INTERPOLATED\" classificationMode=\"1\" clip=\"0\">\n");
    add_colour_ramp(to, &ramp);
    for (int32_t i = 0; i < ramp.count; i++) {
        const uint8_t *stop = ramp.stop[i];
        double value = low + (high - low) * i / (ramp.count - 1);
        hc_text_add(to, "<item alpha=\"255\" color=\"#%02x%02x%02x\"", stop[0], stop[1], stop[2]);
        add_number(to, " value=\"", value, "\"");
        hc_text_add(to, " label=\"%.4g\"/>\n", value);
    }
    hc_text_add(to, "</colorrampshader>\n</rastershader>\n</rasterrenderer>\n");
}

/* QGIS raises levels to 1/gamma after the stretch. */
static void add_end(HcText *to, const HcStyle *style) {
    if (style->look == COLOURS && hc_scene_is_spectral(style->scene)) {
        add_number(to, "<brightnesscontrast brightness=\"0\" contrast=\"0\" gamma=\"", colours_gamma,
                   "\"/>\n");
    }
    hc_text_add(to, "</pipe>\n</qgis>\n");
}

/* ---- the stretch ---- */

/* Between the 2nd and the 98th percentile of what was sampled; 0 to 1 where that is nothing. */
static HcStatus stretch(HcStyle *style, int32_t c, HcError *err) {
    const HcScene *scene = style->scene;
    int64_t total = style->width * style->height, count = 0;
    float *sorted = NULL;
    HC_OR_RETURN(hc_new(sorted, total, "samples of a style", err));
    for (int64_t at = 0; at < total; at++) {
        float value = style->value[c * total + at];
        if (style->mark[at] > 0 && isfinite(value)) {
            sorted[count++] = value;
        }
    }
    qsort(sorted, (size_t)count, sizeof *sorted, hc_compare_floats);
    double low = count > 0 ? (double)sorted[(count - 1) * 2 / 100] : 0;
    double high = count > 0 ? (double)sorted[count - 1 - (count - 1) * 2 / 100] : 1;
    free(sorted);
    const HcScale scale = hc_scene_scale(scene, style->band[c]);
    low = scale.gain * low + scale.offset;
    high = scale.gain * high + scale.offset;
    style->low[c] = fmin(low, high);
    style->high[c] = low != high ? fmax(low, high) : low + fmax(1, fabs(low));
    return HC_OK;
}

/* Values of both signs: as far below 0 as above, so that the pale middle is 0; a few strays do not count. */
static void balance(HcStyle *style) {
    double below = -style->low[0], above = style->high[0];
    double less = fmin(below, above), more = fmax(below, above);
    if (less > stray_part * more) {
        style->low[0] = -more;
        style->high[0] = more;
    } else if (less > 0) {
        style->low[0] = below > above ? style->low[0] : 0;
        style->high[0] = below > above ? 0 : style->high[0];
    }
}

HcStatus hc_style_text(const HcStyle *style, const char *path, char **text, HcError *err) {
    HcText to = {0};
    HcStyle stretched = *style; /* shares the samples */
    *text = NULL;
    for (int32_t c = 0; c < style->count && style->look != PALETTE; c++) {
        HC_OR_RETURN(stretch(&stretched, c, err));
    }
    if (style->look == FRACTIONS) {
        stretched.low[0] = 0;
        stretched.high[0] = 1;
    } else if (style->look == RAMP) {
        stretched.low[0] = style->scene->meaning == HC_OTHER ? fmin(stretched.low[0], 0) : stretched.low[0];
        balance(&stretched);
    }
    add_begin(&to, path);
    switch (style->look) {
    case PALETTE:
        add_palette(&to, style);
        break;
    case COLOURS:
        add_colours(&to, &stretched);
        break;
    case GREY:
        add_grey(&to, &stretched);
        break;
    case RAMP:
    case FRACTIONS:
        add_ramp(&to, &stretched);
        break;
    }
    add_end(&to, style);
    *text = hc_text_take(&to);
    return *text != NULL ? HC_OK : hc_fail_memory(err, 0, "a style");
}

/* ---- the file ---- */

char *hc_style_name(const char *path) {
    const char *name = hc_file_base(path);
    const char *dot = strrchr(name, '.');
    size_t length = dot != NULL && dot != name ? (size_t)(dot - path) : strlen(path);
    return hc_text_format("%.*s.qml", (int)length, path);
}

HcStatus hc_style_is_ours(const char *style, const char *path, bool *ours, HcError *err) {
    HcStatus status = HC_OK;
    HcText begin = {0};
    char *data = NULL;
    size_t bytes = 0;
    struct stat info;
    bool there = false;
    *ours = false;
    HC_OR_RETURN(hc_file_look(style, &info, &there, err));
    if (!there || !S_ISREG(info.st_mode) || info.st_size > 1 << 26) {
        return HC_OK;
    }
    add_begin(&begin, path);
    /* A style that somebody saved in QGIS has no attribute of ours. */
    if (begin.failed) {
        HC_TRY(hc_fail_memory(err, 0, "a style"));
    }
    HC_TRY(hc_file_read(style, (size_t)1 << 26, &data, &bytes, err));
    *ours = bytes >= begin.length && memcmp(data, begin.data, begin.length) == 0;
done:
    hc_text_clear(&begin);
    free(data);
    return status;
}

HcStatus hc_style_is_free(const char *style, const char *path, bool *is_free, HcError *err) {
    struct stat info;
    bool there = false;
    HC_OR_RETURN(hc_file_look_at_link(style, &info, &there, err));
    *is_free = !there;
    return *is_free ? HC_OK : hc_style_is_ours(style, path, is_free, err);
}

HcStatus hc_style_check(const char *path, HcError *err) {
    HcStatus status = HC_OK;
    bool is_free = false;
    char *name = hc_style_name(path);
    HC_TRY(hc_text_made(name, strlen(path), "a file name", err));
    HC_TRY(hc_file_check(name, true, err));
    HC_TRY(hc_style_is_free(name, path, &is_free, err));
    if (!is_free) {
        status =
            hc_fail(err, HC_E_USAGE,
                    "%s: its style would replace %s, which hcube did not make for this output", path, name);
    }
done:
    free(name);
    return status;
}

HcStatus hc_style_retire(const char *path, HcError *err) {
    HcStatus status = HC_OK;
    bool ours = false;
    char *name = hc_style_name(path);
    HC_TRY(hc_text_made(name, strlen(path), "a file name", err));
    HC_TRY(hc_style_is_ours(name, path, &ours, err));
    HC_TRY(ours ? hc_file_retire(name, err) : HC_OK);
done:
    free(name);
    return status;
}
