/* Requests of the page: the place names what is asked for, the query says of which pixels and how. No text of
 * a request ever names a file: layers go by their number. */
#include "app/view/answer.h"
#include "pipeline/picture/image.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request that is answered. */
typedef struct Request {
    HcViewer *viewer;
    HcQuery query;
    HcAnswer *answer;
} Request;

static const char *value_of(const Request *request, const char *name) {
    return request->query.value(name, request->query.user);
}

/* ---- parameters ---- */

static HcStatus wrong(const char *name, const char *value, const char *what, HcError *err) {
    return hc_fail(err, HC_E_USAGE, "%s=%.80s: must be %s", name, value, what);
}

/* A whole number from 0 to most; `initial` where it is not given, required where that is negative. */
static HcStatus get_number(const Request *request, const char *name, int64_t most, int64_t initial,
                           int64_t *value, HcError *err) {
    const char *text = value_of(request, name);
    char range[64];
    *value = initial;
    if (text == NULL) {
        return initial >= 0 ? HC_OK : hc_fail(err, HC_E_USAGE, "%s: is missing", name);
    }
    snprintf(range, sizeof range, "a whole number from 0 to %lld", (long long)most);
    return hc_text_parse_int(text, value) && *value >= 0 && *value <= most ? HC_OK
                                                                           : wrong(name, text, range, err);
}

static HcStatus get_real(const Request *request, const char *name, double low, double high, double *value,
                         HcError *err) {
    const char *text = value_of(request, name);
    char range[64];
    snprintf(range, sizeof range, "a number from %g to %g", low, high);
    return text == NULL || (hc_text_parse_double(text, value) && *value >= low && *value <= high)
               ? HC_OK
               : wrong(name, text, range, err);
}

static HcStatus get_layer(const Request *request, int32_t *layer, HcError *err) {
    int64_t number = 0;
    HC_OR_RETURN(get_number(request, "layer", request->viewer->layers - 1, 0, &number, err));
    *layer = (int32_t)number;
    return hc_layer_unchanged(&request->viewer->layer[number], err);
}

static HcStatus get_pixel(const Request *request, HcArea *area, HcError *err) {
    *area = (HcArea){.lines = 1, .samples = 1};
    HC_OR_RETURN(get_number(request, "line", INT32_MAX, -1, &area->line0, err));
    return get_number(request, "sample", INT32_MAX, -1, &area->sample0, err);
}

/* "A:B": the first and the last one. */
static HcStatus get_span(const Request *request, const char *name, int64_t *first, int64_t *count,
                         HcError *err) {
    const char *text = value_of(request, name);
    long long begin = 0, end = 0;
    int length = 0;
    if (text == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: is missing", name);
    }
    if (strlen(text) > 24 || sscanf(text, "%10lld:%10lld%n", &begin, &end, &length) != 2 ||
        text[length] != '\0' || begin < 0 || end < begin) {
        return wrong(name, text, "FIRST:LAST in whole numbers from 0", err);
    }
    *first = begin;
    *count = end - begin + 1;
    return HC_OK;
}

static HcStatus get_area(const Request *request, HcArea *area, HcError *err) {
    if (value_of(request, "lines") == NULL) {
        return get_pixel(request, area, err);
    }
    HC_OR_RETURN(get_span(request, "lines", &area->line0, &area->lines, err));
    return get_span(request, "samples", &area->sample0, &area->samples, err);
}

/* ---- how a layer is shown ---- */

static HcStatus get_bands(const Request *request, const HcLayer *layer, HcShowing *showing, HcError *err) {
    const char *text = value_of(request, "bands");
    double number[3] = {0};
    memcpy(showing->band, layer->band, sizeof showing->band);
    showing->count = layer->count;
    if (text == NULL) {
        return HC_OK;
    }
    showing->count = hc_option_numbers(text, number, 3);
    bool good = showing->count == 1 || showing->count == 3;
    for (int32_t c = 0; c < showing->count && good; c++) {
        good = number[c] == floor(number[c]) && number[c] >= 0 && number[c] < layer->scene->bands;
        showing->band[c] = good ? (int32_t)number[c] : 0;
    }
    return good ? HC_OK
                : hc_fail(err, HC_E_USAGE, "bands=%.80s: must be one or three numbers from 0 to %d", text,
                          layer->scene->bands - 1);
}

/* "LOW:HIGH" a band; values at both ends of the colours. */
static HcStatus read_range(const char *text, HcShowing *showing, HcError *err) {
    char copy[256], *rest = copy;
    bool whole = snprintf(copy, sizeof copy, "%s", text) < (int)sizeof copy;
    for (int32_t c = 0; c < showing->count; c++) {
        char *pair = strsep(&rest, ","), *colon = pair != NULL ? strchr(pair, ':') : NULL;
        double low = NAN, high = NAN;
        if (colon != NULL) {
            *colon = '\0';
        }
        if (!whole || colon == NULL || !hc_text_parse_double(pair, &low) ||
            !hc_text_parse_double(colon + 1, &high) || !isfinite((float)low) || !isfinite((float)high) ||
            low > high) {
            return wrong("range", text, "LOW:HIGH for each band, separated by commas", err);
        }
        showing->limit[c][0] = (float)low;
        showing->limit[c][1] = (float)high;
    }
    return rest == NULL ? HC_OK : wrong("range", text, "LOW:HIGH for each band, separated by commas", err);
}

static HcStatus get_range(const Request *request, HcLayer *layer, HcShowing *showing, HcError *err) {
    const char *text = value_of(request, "range");
    bool usual = showing->count == layer->count &&
                 memcmp(showing->band, layer->band, (size_t)layer->count * sizeof *layer->band) == 0;
    if (text != NULL) {
        return read_range(text, showing, err);
    }
    memcpy(showing->limit, layer->limit, sizeof showing->limit);
    return usual ? HC_OK : hc_layer_range(layer, showing->band, showing->count, showing->limit, err);
}

static HcStatus get_showing(const Request *request, HcLayer *layer, HcShowing *showing, HcError *err) {
    *showing = (HcShowing){.threshold = NAN};
    HC_OR_RETURN(get_bands(request, layer, showing, err));
    showing->gamma =
        value_of(request, "bands") == NULL ? hc_image_usual_gamma(layer->scene, showing->count) : 1;
    HC_OR_RETURN(get_range(request, layer, showing, err));
    HC_OR_RETURN(get_real(request, "gamma", 0.1, 10, &showing->gamma, err));
    return get_real(request, "threshold", -INFINITY, INFINITY, &showing->threshold, err);
}

/* ---- answers ---- */

static void take_json(HcJson *json, HcAnswer *answer) {
    answer->data = hc_json_format(json, true);
    answer->bytes = answer->data != NULL ? strlen(answer->data) : 0;
    answer->type = "application/json";
}

void hc_answer_error(HcAnswer *answer, int code, const char *text) {
    HcJson json;
    hc_json_begin(&json);
    hc_json_put_text(&json, "error", text);
    *answer = (HcAnswer){.code = code};
    take_json(&json, answer);
    hc_json_clear(&json);
}

static HcStatus put_spectrum(const Request *request, int32_t layer, HcJson *to, HcError *err) {
    HcArea area;
    HC_OR_RETURN(get_area(request, &area, err));
    return hc_viewer_spectrum(request->viewer, layer, area, to, err);
}

static HcStatus put_match(const Request *request, int32_t layer, HcJson *to, HcError *err) {
    HcArea pixel;
    int64_t top = 0;
    HC_OR_RETURN(get_pixel(request, &pixel, err));
    HC_OR_RETURN(get_number(request, "top", 100, 5, &top, err));
    return hc_viewer_match(request->viewer, layer, pixel, (int32_t)top, to, err);
}

static HcStatus put_histogram(const Request *request, int32_t layer, HcJson *to, HcError *err) {
    int64_t band = 0;
    HC_OR_RETURN(get_number(request, "band", request->viewer->layer[layer].scene->bands - 1, -1, &band, err));
    return hc_viewer_histogram(request->viewer, layer, (int32_t)band, to, err);
}

static HcStatus get_stacked(const Request *request, const HcLayer *layer, HcStacked *stacked, HcError *err) {
    int64_t above = 0, below = 0, view = 0, level = 0;
    *stacked = (HcStacked){.opacity = 1};
    HC_OR_RETURN(get_number(request, "above", HC_LAYERS_MAX, 0, &above, err));
    HC_OR_RETURN(get_number(request, "below", 1, 0, &below, err));
    HC_OR_RETURN(get_number(request, "view", 1, 0, &view, err));
    HC_OR_RETURN(get_number(request, "level", hc_layer_levels(layer) - 1, 0, &level, err));
    HC_OR_RETURN(get_real(request, "opacity", 0, 1, &stacked->opacity, err));
    stacked->above = (int32_t)above;
    stacked->below = below != 0;
    stacked->second = view != 0;
    stacked->step = value_of(request, "level") != NULL ? (int64_t)1 << level : 0;
    return value_of(request, "lines") != NULL ? get_area(request, &stacked->area, err) : HC_OK;
}

static HcStatus put_command(const Request *request, int32_t layer, HcJson *to, HcError *err) {
    HcShowing showing;
    HcStacked stacked;
    HC_OR_RETURN(get_showing(request, &request->viewer->layer[layer], &showing, err));
    HC_OR_RETURN(get_stacked(request, &request->viewer->layer[layer], &stacked, err));
    return hc_viewer_preview(request->viewer, layer, &showing, &stacked, to, err);
}

static HcStatus put_scene(const Request *request, int32_t layer, HcJson *to, HcError *err) {
    (void)layer;
    return hc_viewer_describe(request->viewer, to, err);
}

static HcStatus answer_json(const Request *request,
                            HcStatus (*put)(const Request *request, int32_t layer, HcJson *to, HcError *err),
                            HcError *err) {
    HcStatus status = HC_OK;
    int32_t layer = 0;
    HcJson json;
    hc_json_begin(&json);
    HC_TRY(get_layer(request, &layer, err));
    HC_TRY(put(request, layer, &json, err));
    HC_TRY(hc_json_check(&json, "an answer", err));
    take_json(&json, request->answer);
done:
    hc_json_clear(&json);
    return status;
}

/* tile/LAYER/LEVEL/ROW/COLUMN */
static HcStatus answer_tile(const Request *request, const char *place, HcError *err) {
    long long number[4];
    int length = 0;
    HcShowing showing;
    HcAnswer *answer = request->answer;
    if (strlen(place) > 64 ||
        sscanf(place, "%10lld/%10lld/%10lld/%10lld%n", &number[0], &number[1], &number[2], &number[3],
               &length) != 4 ||
        place[length] != '\0') {
        return hc_fail(err, HC_E_USAGE, "tile/%.80s: must be tile/LAYER/LEVEL/ROW/COLUMN", place);
    }
    if (number[0] < 0 || number[0] >= request->viewer->layers) {
        return hc_fail(err, HC_E_USAGE, "layer %lld: there are layers 0 to %d", number[0],
                       request->viewer->layers - 1);
    }
    HcLayer *layer = &request->viewer->layer[number[0]];
    HC_OR_RETURN(hc_layer_unchanged(layer, err));
    HC_OR_RETURN(get_showing(request, layer, &showing, err));
    answer->type = "image/png";
    answer->keeps = true;
    return hc_layer_tile(layer, &showing, number[1], number[2], number[3], (uint8_t **)&answer->data,
                         &answer->bytes, err);
}

static HcStatus answer_export(const Request *request, HcError *err) {
    const char *format = value_of(request, "format"), *points = value_of(request, "points");
    HcAnswer *answer = request->answer;
    if (format == NULL || points == NULL) {
        return hc_fail(err, HC_E_USAGE, "%s: is missing", format == NULL ? "format" : "points");
    }
    for (int32_t l = 0; l < request->viewer->layers; l++) {
        HC_OR_RETURN(hc_layer_unchanged(&request->viewer->layer[l], err));
    }
    HC_OR_RETURN(hc_viewer_export(request->viewer, format, points, &answer->data, &answer->bytes, err));
    const bool csv = strcmp(format, "csv") == 0, header = strcmp(format, "hdr") == 0;
    answer->type = csv      ? "text/csv; charset=utf-8"
                   : header ? "text/plain; charset=utf-8"
                            : "application/octet-stream";
    answer->download = csv ? "spectra.csv" : header ? "spectra.hdr" : "spectra.sli";
    return HC_OK;
}

static HcStatus answer_page(HcAnswer *answer, HcError *err) {
    answer->data = malloc(hc_view_page_bytes);
    HC_OR_RETURN(hc_text_made(answer->data, hc_view_page_bytes, "the page", err));
    memcpy(answer->data, hc_view_page, hc_view_page_bytes);
    answer->bytes = hc_view_page_bytes;
    answer->type = "text/html; charset=utf-8";
    return HC_OK;
}

static HcStatus route(const Request *request, const char *place, bool *found, HcError *err) {
    static const struct {
        const char *place;
        HcStatus (*put)(const Request *request, int32_t layer, HcJson *to, HcError *err);
    } routes[] = {{"scene.json", put_scene},
                  {"spectrum", put_spectrum},
                  {"match", put_match},
                  {"histogram", put_histogram},
                  {"command", put_command}};
    for (size_t r = 0; r < sizeof routes / sizeof *routes; r++) {
        if (strcmp(place, routes[r].place) == 0) {
            return answer_json(request, routes[r].put, err);
        }
    }
    if (strncmp(place, "tile/", 5) == 0) {
        return answer_tile(request, place + 5, err);
    }
    if (strcmp(place, "export") == 0) {
        return answer_export(request, err);
    }
    *found = *place == '\0';
    return *found ? answer_page(request->answer, err) : HC_OK;
}

void hc_answer(HcViewer *viewer, const char *place, HcQuery query, HcAnswer *answer) {
    HcError error = {0};
    bool found = true;
    const Request request = {.viewer = viewer, .query = query, .answer = answer};
    *answer = (HcAnswer){.code = 200};
    HcStatus status = route(&request, place, &found, &error);
    if (status != HC_OK) {
        free(answer->data);
        hc_answer_error(answer, status == HC_E_USAGE ? 400 : 500, error.text);
    } else if (!found) {
        hc_answer_error(answer, 404, "there is no such page");
    }
}
