/* STAC: items, collections and results of searches, as catalogues of scenes share them. */
#ifndef HC_IO_STAC_H
#define HC_IO_STAC_H

#include "core/scene.h"
#include "io/scene_files.h"

#include <cjson/cJSON.h>

/* The version of the items that are written. */
#define HC_STAC_VERSION "1.1.0"

/* ---- what an item says of a scene ---- */

/* Where a scene lies, in degrees of WGS 84. Zero-initialise; hc_footprint_clear() is always safe. */
typedef struct HcFootprint {
    cJSON *geometry; /* GeoJSON: a polygon, or several where it crosses the meridian of 180 degrees; NULL =
                        the place is not known */
    double bbox[4];  /* west, south, east, north; west is above east where it crosses that meridian */
} HcFootprint;

/* Of the grid of the scene, or of its pixels in sensor geometry by their lookup table. `path` names the scene
 * in messages. A scene without a place that WGS 84 has is no failure. */
HcStatus hc_footprint_of(const HcScene *scene, const char *path, HcFootprint *out,
                         HcError *err) HC_MUST_CHECK;
void hc_footprint_clear(HcFootprint *footprint);

/* "EPSG:32633" where the CRS has a code, else NULL in *code; and its WKT of 2019 where it has none. Both in
 * fresh memory. */
HcStatus hc_stac_crs(const char *wkt, char **code, char **wkt2, HcError *err) HC_MUST_CHECK;

enum { HC_STAC_TIME = 40 };

/* When the pixels were measured, as STAC writes it: by the field "acquisition time" of an ENVI header among
 * the files of the scene, else by a stamp in the name of one (20260921T044051, 20260921044051); "" where
 * none says so. */
void hc_stac_time(const HcPaths *files, char time[HC_STAC_TIME]);

/* ---- documents ---- */

/* Whether JSON is an item. */
bool hc_stac_is_item(const cJSON *json);

/* The item at a path, as GDAL reads it; *item is NULL where there is none. */
HcStatus hc_stac_read_item(const char *path, cJSON **item, HcError *err) HC_MUST_CHECK;

/* The item that describes a scene: the first among its files, or the one that hcube has written beside one
 * of them. *item is NULL where there is none; else *path is where it lies. Both in fresh memory. */
HcStatus hc_stac_item_of(const HcPaths *files, cJSON **item, char **path, HcError *err) HC_MUST_CHECK;

/* The name of the item beside an output; fresh memory, NULL when there is none left. */
char *hc_stac_item_path(const char *output);

/* A path as a link from the file `from`: relative where both are local ("../a/b%20c.json"), else an address
 * without user, query and fragment. The files need not exist, their folders must. Fresh memory. */
HcStatus hc_stac_link(const char *from, const char *path, char **link, HcError *err) HC_MUST_CHECK;

/* Puts the characters that %XX stand for into their places. */
void hc_stac_decode(char *link);

/* The name of an existing folder, which the collection in it has; fresh memory. */
HcStatus hc_stac_folder_name(const char *folder, char **name, HcError *err) HC_MUST_CHECK;

/* The address of a remote file (https://..., /vsis3/...) without user, query and fragment; fresh memory, NULL
 * for a local one. */
char *hc_stac_address(const char *path);

/* ---- lists of scenes (list.c) ---- */

/* Which items are scenes, and which of their assets. Zero-initialised: all. */
typedef struct HcStacAsked {
    const char *asset; /* its name, borrowed; NULL = the only one with the role data */
    bool has_clouds, has_bbox;
    double clouds;         /* cloud cover at most [%] */
    double bbox[4];        /* west, south, east, north: items that touch it */
    char from[24], to[24]; /* beginnings of times, both included; "" = open */
} HcStacAsked;

/* Takes cloud=PERCENT, date=FROM/TO (.. = open) or bbox=WEST,SOUTH,EAST,NORTH; else HC_E_USAGE. */
HcStatus hc_stac_filter(const char *text, HcStacAsked *asked, HcError *err) HC_MUST_CHECK;

typedef struct HcStacScene {
    char *path, *id; /* as GDAL reads the asset; of the item */
    char *base;      /* what the links of the item start from */
    cJSON *assets;
} HcStacScene;

/* By their paths, each item once. Zero-initialise; hc_stac_list_clear() is always safe. */
typedef struct HcStacList {
    HcStacScene *scene; /* [count] */
    int32_t count, left_out;
} HcStacList;

/* Whether a path is an address with a scheme. */
bool hc_stac_is_address(const char *path);

/* The scenes of an item, a collection, a catalogue, or the result of a search with all its pages, at a path
 * or an address (http, https, s3, gs, az). HC_E_INPUT: it is none of these, or an item lacks the asset;
 * HC_E_IO: a server does not give it. */
HcStatus hc_stac_list(const char *address, const HcStacAsked *asked, HcStacList *list,
                      HcError *err) HC_MUST_CHECK;
void hc_stac_list_clear(HcStacList *list);

/* The scene of a path, or NULL. */
const HcStacScene *hc_stac_find(const HcStacList *list, const char *path);

/* A path of its item, as GDAL reads it: asset:NAME, role:ROLE, which one asset alone must have, or item-path,
 * the item itself ("" where its address has a query). *path is fresh memory, NULL where there is no such
 * asset. */
HcStatus hc_stac_asset(const HcStacScene *scene, const char *word, char **path, HcError *err) HC_MUST_CHECK;

#endif
