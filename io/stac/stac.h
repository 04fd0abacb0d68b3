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

#endif
