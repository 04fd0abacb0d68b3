/* Lists of scenes: an item, a collection or catalogue with what it links to, or the result of a search with
 * its further pages, from files and servers. GDAL fetches them, with its settings for retries and
 * credentials. */
#include "io/stac/stac.h"

#include "io/gdal/errors.h"
#include "io/gdal/remote.h"
#include "io/load.h"

#include <cpl_http.h>
#include <cpl_string.h>
#include <cpl_vsi.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 8, PAGES_MAX = 100000 };

typedef struct Walk {
    const HcStacAsked *asked;
    HcStacList *list;
} Walk;

static const char *text_of(const cJSON *from, const char *key) {
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(from, key));
    return text != NULL ? text : "";
}

/* ---- addresses ---- */

bool hc_stac_is_address(const char *path) {
    return strstr(path, "://") != NULL;
}

static bool is_web(const char *address) {
    return strncmp(address, "http://", 7) == 0 || strncmp(address, "https://", 8) == 0;
}

/* A link in the document at `base` as an address or a path; fresh memory. */
static char *resolve(const char *base, const char *link) {
    size_t path = strcspn(base, "?#"), folder = path;
    const char *host = strstr(base, "://");
    while (folder > 0 && base[folder - 1] != '/') {
        folder--;
    }
    if (hc_stac_is_address(link) || (link[0] == '/' && host == NULL)) {
        return strdup(link);
    }
    if (link[0] == '/') {
        return hc_text_format("%.*s%s", (int)(strcspn(host + 3, "/?#") + (size_t)(host + 3 - base)), base,
                              link);
    }
    char *plain = strdup(link + (strncmp(link, "./", 2) == 0 ? 2 : 0));
    if (plain != NULL && host == NULL) {
        hc_stac_decode(plain);
    }
    char *all = plain != NULL ? hc_text_format("%.*s%s", (int)folder, base, plain) : NULL;
    free(plain);
    return all;
}

/* ---- documents ---- */

static HcStatus fetch(const char *address, cJSON **json, HcError *err) {
    HcGdalErrors messages;
    char *shown = hc_stac_address(address);
    hc_gdal_catch(&messages);
    CPLHTTPResult *answer = CPLHTTPFetch(address, NULL);
    hc_gdal_release();
    bool good = answer != NULL && answer->nStatus == 0 && answer->pszErrBuf == NULL;
    HcStatus status = HC_OK;
    if (!good) {
        status =
            hc_fail(err, HC_E_IO, "%s: %s", shown != NULL ? shown : "a server",
                    answer != NULL && answer->pszErrBuf != NULL ? answer->pszErrBuf : "cannot be fetched");
    } else if (answer->nDataLen > 0) {
        *json = cJSON_ParseWithLength((const char *)answer->pabyData, (size_t)answer->nDataLen);
    }
    CPLHTTPDestroyResult(answer);
    free(shown);
    return status;
}

static HcStatus load(const char *address, cJSON **json, HcError *err) {
    *json = NULL;
    if (is_web(address)) {
        return fetch(address, json, err);
    }
    char *text = NULL;
    size_t bytes = 0;
    HcStatus status = hc_load_file(hc_remote_name(address), &text, &bytes, err);
    if (status == HC_OK) {
        *json = cJSON_ParseWithLength(text, bytes);
    }
    VSIFree(text);
    return status;
}

/* Refuses what is none of STAC. */
static HcStatus fail_kind(const char *address, const cJSON *json, HcError *err) {
    char *shown = hc_stac_is_address(address) ? hc_stac_address(address) : strdup(address);
    HcStatus status =
        hc_fail(err, HC_E_INPUT, "%s: is no STAC item, collection, catalogue or result of a search (%s%.40s)",
                shown != NULL ? shown : "a document", json == NULL ? "no JSON" : "its type is ",
                json == NULL                       ? ""
                : text_of(json, "type")[0] != '\0' ? text_of(json, "type")
                                                   : "missing");
    free(shown);
    return status;
}

/* ---- items ---- */

/* -180 to 180 degrees; west above east goes across the meridian of 180. */
static bool overlap(double west, double east, double from, double to) {
    if (west > east) {
        return overlap(west, 180, from, to) || overlap(-180, east, from, to);
    }
    return from > to ? overlap(from, to, west, east) : west <= to && from <= east;
}

static bool within_box(const HcStacAsked *asked, const cJSON *item) {
    const cJSON *bbox = cJSON_GetObjectItemCaseSensitive(item, "bbox");
    int count = cJSON_GetArraySize(bbox), half = count / 2;
    double b[4];
    const int places[4] = {0, 1, half, half + 1}; /* with heights there are six */
    for (int i = 0; i < 4; i++) {
        const cJSON *number = cJSON_GetArrayItem(bbox, places[i]);
        b[i] = cJSON_IsNumber(number) ? number->valuedouble : NAN;
    }
    return (count == 4 || count == 6) && overlap(b[0], b[2], asked->bbox[0], asked->bbox[2]) &&
           b[1] <= asked->bbox[3] && asked->bbox[1] <= b[3];
}

/* What an item does not say is not as it was asked for. */
static bool is_asked(const HcStacAsked *asked, const cJSON *item) {
    const cJSON *properties = cJSON_GetObjectItemCaseSensitive(item, "properties");
    const cJSON *clouds = cJSON_GetObjectItemCaseSensitive(properties, "eo:cloud_cover");
    const char *time = text_of(properties, "datetime"), *begin = time, *end = time;
    if (time[0] == '\0') {
        begin = text_of(properties, "start_datetime");
        end = text_of(properties, "end_datetime");
    }
    bool cloudy = asked->has_clouds && !(cJSON_IsNumber(clouds) && clouds->valuedouble <= asked->clouds);
    bool early = asked->from[0] != '\0' && strncmp(end, asked->from, strlen(asked->from)) < 0;
    bool late =
        asked->to[0] != '\0' && (begin[0] == '\0' || strncmp(begin, asked->to, strlen(asked->to)) > 0);
    return !cloudy && !early && !late && (!asked->has_bbox || within_box(asked, item));
}

static bool has_role(const cJSON *asset, const char *role) {
    const cJSON *known = NULL;
    cJSON_ArrayForEach(known, cJSON_GetObjectItemCaseSensitive(asset, "roles")) {
        if (cJSON_IsString(known) && strcmp(known->valuestring, role) == 0) {
            return true;
        }
    }
    return false;
}

/* The asset of that name, or the only one of that role; NULL where there is none. */
static const cJSON *find_asset(const cJSON *assets, const char *name, const char *role) {
    const cJSON *asset = NULL, *found = NULL;
    int32_t count = 0;
    cJSON_ArrayForEach(asset, assets) {
        bool is = name != NULL ? strcmp(asset->string, name) == 0 : has_role(asset, role);
        found = is ? asset : found;
        count += is;
    }
    return count == 1 ? found : NULL;
}

/* What GDAL reads of an asset; fresh memory. *path is NULL where there is no such asset. */
static HcStatus asset_path(const HcStacScene *scene, const char *name, const char *role, char **path,
                           HcError *err) {
    const cJSON *asset = find_asset(scene->assets, name, role);
    const char *href = text_of(asset, "href");
    *path = NULL;
    if (asset == NULL || href[0] == '\0') {
        return HC_OK;
    }
    char *address = resolve(scene->base, href);
    if (address != NULL && hc_stac_is_address(address) && strpbrk(address, "?#") != NULL) {
        free(address);
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "item %s: the address of its asset %s has a query, which records would keep",
                       scene->id, asset->string);
    }
    *path = address != NULL ? strdup(hc_remote_name(address)) : NULL;
    free(address);
    return *path != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(href), "a path");
}

HcStatus hc_stac_asset(const HcStacScene *scene, const char *word, char **path, HcError *err) {
    if (strcmp(word, "item-path") == 0) {
        bool secret = hc_stac_is_address(scene->base) && strpbrk(scene->base, "?#@") != NULL;
        *path = strdup(secret ? "" : hc_remote_name(scene->base));
        return *path != NULL ? HC_OK : hc_fail_memory(err, (double)strlen(scene->base), "a path");
    }
    return strncmp(word, "role:", 5) == 0 ? asset_path(scene, NULL, word + 5, path, err)
                                          : asset_path(scene, word + strlen("asset:"), NULL, path, err);
}

static HcStatus add_item(Walk *walk, const char *address, const cJSON *item, HcError *err) {
    HcStacList *list = walk->list;
    const cJSON *link = NULL;
    const char *self = address;
    if (!is_asked(walk->asked, item)) {
        list->left_out++;
        return HC_OK;
    }
    cJSON_ArrayForEach(link, cJSON_GetObjectItemCaseSensitive(item, "links")) {
        bool says = strcmp(text_of(link, "rel"), "self") == 0 && hc_stac_is_address(text_of(link, "href"));
        self = says ? text_of(link, "href") : self;
    }
    HcStacScene *grown = realloc(list->scene, ((size_t)list->count + 1) * sizeof *grown);
    if (grown == NULL) {
        return hc_fail_memory(err, (double)list->count * sizeof *grown, "the list of scenes");
    }
    list->scene = grown;
    HcStacScene *scene = &grown[list->count++];
    *scene = (HcStacScene){.id = strdup(text_of(item, "id")), .base = strdup(self)};
    scene->assets = cJSON_Duplicate(cJSON_GetObjectItemCaseSensitive(item, "assets"), true);
    if (scene->id == NULL || scene->base == NULL) {
        return hc_fail_memory(err, 0, "the list of scenes");
    }
    const char *name = walk->asked->asset;
    HC_OR_RETURN(asset_path(scene, name, "data", &scene->path, err));
    return scene->path != NULL ? HC_OK
           : name != NULL
               ? hc_fail(err, HC_E_INPUT, "item %s: has no asset %s", scene->id, name)
               : hc_fail(err, HC_E_INPUT,
                         "item %s: has no asset with the role data, or several (--asset NAME)", scene->id);
}

/* ---- the walk ---- */

static HcStatus visit(Walk *walk, const char *address, int depth, HcError *err);

static const cJSON *find_link(const cJSON *json, const char *relation) {
    const cJSON *link = NULL;
    cJSON_ArrayForEach(link, cJSON_GetObjectItemCaseSensitive(json, "links")) {
        if (strcmp(text_of(link, "rel"), relation) == 0) {
            return link;
        }
    }
    return NULL;
}

static HcStatus visit_link(Walk *walk, const char *base, const cJSON *link, int depth, HcError *err) {
    char *there = resolve(base, text_of(link, "href"));
    HcStatus status = there != NULL ? visit(walk, there, depth, err) : hc_fail_memory(err, 0, "a link");
    free(there);
    return status;
}

/* Items of a collection, by the server where it has them, else link by link; and what lies below it. */
static HcStatus visit_links(Walk *walk, const char *address, const cJSON *json, int depth, HcError *err) {
    const cJSON *link = find_link(json, "items");
    if (link != NULL) {
        return visit_link(walk, address, link, depth + 1, err);
    }
    cJSON_ArrayForEach(link, cJSON_GetObjectItemCaseSensitive(json, "links")) {
        const char *relation = text_of(link, "rel");
        if (strcmp(relation, "item") == 0 || strcmp(relation, "child") == 0) {
            HC_OR_RETURN(visit_link(walk, address, link, depth + 1, err));
        }
    }
    return HC_OK;
}

/* A page of a search; *next is the address of the next one, in fresh memory, NULL after the last. */
static HcStatus visit_page(Walk *walk, const char *address, const cJSON *json, char **next, HcError *err) {
    const cJSON *item = NULL, *link = find_link(json, "next");
    *next = NULL;
    cJSON_ArrayForEach(item, cJSON_GetObjectItemCaseSensitive(json, "features")) {
        HC_OR_RETURN(hc_stac_is_item(item) ? add_item(walk, address, item, err)
                                           : fail_kind(address, item, err));
    }
    if (link == NULL) {
        return HC_OK;
    }
    if (strcmp(text_of(link, "method"), "POST") == 0) {
        return hc_fail(err, HC_E_UNSUPPORTED, "the next page of a search wants the method POST");
    }
    *next = resolve(address, text_of(link, "href"));
    return *next != NULL ? HC_OK : hc_fail_memory(err, 0, "a link");
}

static HcStatus visit_json(Walk *walk, const char *address, const cJSON *json, int depth, char **next,
                           HcError *err) {
    const char *type = text_of(json, "type");
    if (strcmp(type, "FeatureCollection") == 0) {
        return visit_page(walk, address, json, next, err);
    }
    if (hc_stac_is_item(json)) {
        return add_item(walk, address, json, err);
    }
    bool links = text_of(json, "stac_version")[0] != '\0' &&
                 (strcmp(type, "Collection") == 0 || strcmp(type, "Catalog") == 0);
    return links && depth < DEPTH_MAX ? visit_links(walk, address, json, depth, err)
                                      : fail_kind(address, json, err);
}

static HcStatus visit(Walk *walk, const char *address, int depth, HcError *err) {
    HcStatus status = HC_OK;
    char *now = strdup(address);
    HC_TRY(now != NULL ? HC_OK : hc_fail_memory(err, 0, "an address"));
    for (int32_t page = 0; now != NULL && page < PAGES_MAX; page++) {
        char *next = NULL;
        cJSON *json = NULL;
        status = load(now, &json, err);
        status = status == HC_OK ? visit_json(walk, now, json, depth, &next, err) : status;
        cJSON_Delete(json);
        bool again = next != NULL && strcmp(next, now) == 0;
        free(now);
        now = next;
        HC_TRY(again ? hc_fail(err, HC_E_INPUT, "a page of a search names itself as the next one") : status);
    }
done:
    free(now);
    return status;
}

/* The address of a search asks for the box, unless it has a query of its own for that. */
static char *with_query(const char *address, const HcStacAsked *asked) {
    HcText text = {0};
    size_t path = strcspn(address, "?#");
    bool search = is_web(address) && path > 7 && strncmp(address + path - 7, "/search", 7) == 0;
    const char *sign = address[path] == '?' ? "&" : "?";
    hc_text_add(&text, "%s", address);
    if (search && asked->has_bbox && strstr(address, "bbox=") == NULL) {
        hc_text_add(&text, "%sbbox=%g,%g,%g,%g", sign, asked->bbox[0], asked->bbox[1], asked->bbox[2],
                    asked->bbox[3]);
        sign = "&";
    }
    if (search && strstr(address, "limit=") == NULL) {
        hc_text_add(&text, "%slimit=100", sign);
    }
    return hc_text_take(&text);
}

static int by_path(const void *a, const void *b) {
    return strcmp(((const HcStacScene *)a)->path, ((const HcStacScene *)b)->path);
}

static int by_path_and_id(const void *a, const void *b) {
    int order = by_path(a, b);
    return order != 0 ? order : strcmp(((const HcStacScene *)a)->id, ((const HcStacScene *)b)->id);
}

static void clear_scene(HcStacScene *scene) {
    free(scene->path);
    free(scene->id);
    free(scene->base);
    cJSON_Delete(scene->assets);
}

/* In an order that does not depend on the server's, each once: pages of a search overlap where items come
 * meanwhile, and collections may share items. */
static void settle(HcStacList *list) {
    int32_t count = list->count;
    list->count = 0;
    qsort(list->scene, (size_t)count, sizeof *list->scene, by_path_and_id);
    for (int32_t s = 0; s < count; s++) {
        if (list->count > 0 && by_path_and_id(&list->scene[list->count - 1], &list->scene[s]) == 0) {
            clear_scene(&list->scene[s]);
        } else {
            list->scene[list->count++] = list->scene[s];
        }
    }
}

HcStatus hc_stac_list(const char *address, const HcStacAsked *asked, HcStacList *list, HcError *err) {
    Walk walk = {.asked = asked, .list = list};
    char *whole = with_query(address, asked);
    HcStatus status = whole != NULL ? visit(&walk, whole, 0, err)
                                    : hc_fail_memory(err, (double)strlen(address), "an address");
    free(whole);
    if (status == HC_OK && list->count > 0) {
        settle(list);
    }
    return status;
}

const HcStacScene *hc_stac_find(const HcStacList *list, const char *path) {
    HcStacScene key = {.path = (char *)(uintptr_t)path};
    return list->count > 0 ? bsearch(&key, list->scene, (size_t)list->count, sizeof key, by_path) : NULL;
}

void hc_stac_list_clear(HcStacList *list) {
    for (int32_t s = 0; s < list->count; s++) {
        clear_scene(&list->scene[s]);
    }
    free(list->scene);
    *list = (HcStacList){0};
}

/* ---- filters ---- */

static bool parse_dates(const char *text, HcStacAsked *asked) {
    const char *slash = strchr(text, '/'), *to = slash != NULL ? slash + 1 : text;
    size_t length = slash != NULL ? (size_t)(slash - text) : strlen(text);
    bool open_from = strncmp(text, "..", length) == 0 && length == 2, open_to = strcmp(to, "..") == 0;
    if ((!open_from && (length < 4 || length > 20)) || (!open_to && (strlen(to) < 4 || strlen(to) > 20)) ||
        strspn(text, "0123456789-:TZ./") != strlen(text)) {
        return false;
    }
    snprintf(asked->from, sizeof asked->from, "%.*s", open_from ? 0 : (int)length, text);
    snprintf(asked->to, sizeof asked->to, "%s", open_to ? "" : to);
    return true;
}

HcStatus hc_stac_filter(const char *text, HcStacAsked *asked, HcError *err) {
    int end = 0;
    double *b = asked->bbox;
    if (strncmp(text, "cloud=", 6) == 0 && hc_text_parse_double(text + 6, &asked->clouds) &&
        asked->clouds >= 0 && asked->clouds <= 100) {
        asked->has_clouds = true;
    } else if (sscanf(text, "bbox=%lf,%lf,%lf,%lf%n", &b[0], &b[1], &b[2], &b[3], &end) == 4 &&
               text[end] == '\0' && fabs(b[0]) <= 180 && fabs(b[2]) <= 180 && b[1] >= -90 && b[1] <= b[3] &&
               b[3] <= 90) {
        asked->has_bbox = true;
    } else if (strncmp(text, "date=", 5) != 0 || !parse_dates(text + 5, asked)) {
        return hc_fail(err, HC_E_USAGE,
                       "--filter %s: must be cloud=PERCENT, date=FROM/TO or bbox=WEST,SOUTH,EAST,NORTH",
                       text);
    }
    return HC_OK;
}
