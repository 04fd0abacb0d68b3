/* Virtual rasters. A raw band shows the bytes of any file, and would bring what others may not read into an
 * output; GDAL opens all other sources by their format. */
#include "core/text.h"
#include "io/guard/parts.h"

#include <cpl_conv.h>
#include <cpl_minixml.h>
#include <stdlib.h>
#include <string.h>

/* The file and the depth of the raster that is walked, and the last source: bands often share one. */
typedef struct Walk {
    const char *path;
    int depth;
    HcGuardSource *check;
    char *last;
} Walk;

static HcStatus check_raw(const Walk *walk, const CPLXMLNode *node, HcError *err) {
    const char *kind = CPLGetXMLValue(node, "subClass", "");
    if (!hc_text_equal(kind, "VRTRawRasterBand") || hc_guard_external()) {
        return HC_OK;
    }
    return hc_fail(err, HC_E_INPUT,
                   "%s: band %.20s reads %.200s (VRTRawRasterBand); read --allow-external permits it",
                   walk->path[0] != '\0' ? walk->path : "a virtual raster", CPLGetXMLValue(node, "band", "1"),
                   CPLGetXMLValue(node, "SourceFilename", "a file"));
}

static HcStatus check_source(Walk *walk, const CPLXMLNode *node, HcError *err) {
    const char *name = CPLGetXMLValue(node, "", "");
    bool beside =
        atoi(CPLGetXMLValue(node, "relativeToVRT", CPLGetXMLValue(node, "relativetoVRT", "0"))) == 1;
    if (walk->last != NULL && strcmp(walk->last, name) == 0) {
        return HC_OK;
    }
    free(walk->last);
    walk->last = strdup(name);
    char *path = strdup(beside ? CPLProjectRelativeFilename(CPLGetPath(walk->path), name) : name);
    HcStatus status = path != NULL && walk->last != NULL
                          ? walk->check(path, walk->depth + 1, err)
                          : hc_fail_memory(err, (double)strlen(name), "a path");
    free(path);
    return status;
}

static HcStatus check_nodes(Walk *walk, const CPLXMLNode *node, HcError *err) {
    static const char *const names[] = {"SourceFilename", "SourceDataset", "DstDataset", NULL};
    for (; node != NULL; node = node->psNext) {
        if (node->eType != CXT_Element) {
            continue;
        }
        HC_OR_RETURN(check_raw(walk, node, err));
        HC_OR_RETURN(hc_text_find(node->pszValue, names) >= 0 ? check_source(walk, node, err) : HC_OK);
        HC_OR_RETURN(check_nodes(walk, node->psChild, err));
    }
    return HC_OK;
}

HcStatus hc_guard_vrt(const char *path, const char *text, int depth, HcGuardSource *check, HcError *err) {
    Walk walk = {.path = path, .depth = depth, .check = check};
    CPLXMLNode *tree = CPLParseXMLString(text); /* what is no XML, GDAL refuses */
    HcStatus status = check_nodes(&walk, tree, err);
    CPLDestroyXMLNode(tree);
    free(walk.last);
    return status;
}
