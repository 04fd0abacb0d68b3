/* Creation options. GDAL's functions for such lists end the program where memory is short. */
#include "io/write/parts.h"

#include <cpl_conv.h>
#include <cpl_string.h>
#include <stdlib.h>
#include <string.h>

static char **find(char **options, const char *text, size_t name) {
    for (char **option = options; option != NULL && *option != NULL; option++) {
        if (EQUALN(*option, text, name) && (*option)[name] == '=') {
            return option;
        }
    }
    return NULL;
}

/* `name` characters of the text come before its equals sign. */
static HcStatus put(char ***options, const char *text, size_t name, HcError *err) {
    char **old = find(*options, text, name);
    if (old != NULL) {
        char *copy = VSIStrdup(text);
        HC_OR_RETURN(hc_text_made(copy, strlen(text) + 1, "a creation option", err));
        VSIFree(*old);
        *old = copy;
        return HC_OK;
    }
    char **longer = CSLAddStringMayFail(*options, text); /* NULL leaves the list */
    HC_OR_RETURN(hc_text_made(longer, strlen(text) + 1, "a creation option", err));
    *options = longer;
    return HC_OK;
}

HcStatus hc_write_option(char ***options, const char *name, const char *value, HcError *err) {
    char *text = hc_text_format("%s=%s", name, value);
    HC_OR_RETURN(hc_text_made(text, (double)(strlen(name) + strlen(value)) + 2, "a creation option", err));
    HcStatus status = put(options, text, strlen(name), err);
    free(text);
    return status;
}

HcStatus hc_write_options_add(char ***options, const char *const *added, HcError *err) {
    for (; added != NULL && *added != NULL; added++) {
        HC_OR_RETURN(put(options, *added, strcspn(*added, "="), err));
    }
    return HC_OK;
}

/* Whether an option lets a driver change values. */
static bool asks_for_loss(const char *option) {
    static const char *const names[] = {"NBITS=", "DISCARD_LSB=", "QUALITY=", "RATE=", "REVERSIBLE=NO", NULL};
    static const char *const codecs[] = {"JPEG", "WEBP", "JXL", NULL};
    for (const char *const *name = names; *name != NULL; name++) {
        if (EQUALN(option, *name, strlen(*name))) {
            return true;
        }
    }
    for (const char *const *codec = codecs; EQUALN(option, "COMPRESS=", 9) && *codec != NULL; codec++) {
        if (strcasestr(option, *codec) != NULL) {
            return true;
        }
    }
    return EQUALN(option, "MAX_Z_ERROR", 11) && CPLAtof(option + strcspn(option, "=") + 1) != 0;
}

/* Files that may lose values are copies of a temporary GeoTIFF, with which they are compared. Of other
 * drivers than those of TIFF and netCDF, no option is known here. */
static void expect_loss(HcWritePlan *plan, const char *const *given) {
    bool cog = strcmp(plan->format, "COG") == 0;
    bool others = plan->way == HC_WRITE_CREATE && strcmp(plan->format, "GTiff") != 0 &&
                  strcmp(plan->format, "netCDF") != 0;
    plan->may_lose = (others && given != NULL && *given != NULL) || (plan->way == HC_WRITE_COPY && !cog);
    for (; given != NULL && *given != NULL; given++) {
        plan->may_lose = plan->may_lose || asks_for_loss(*given);
    }
    const char *copies = GDALGetMetadataItem(plan->driver, GDAL_DCAP_CREATECOPY, NULL);
    if (plan->may_lose && plan->way == HC_WRITE_CREATE && copies != NULL) {
        plan->way = HC_WRITE_COPY;
    }
}

/* Without REVERSIBLE, quality 100 still rounds. Who asks for a lower quality asks for the driver's way. */
HcStatus hc_write_lossless(HcWritePlan *plan, const char *const *given, HcError *err) {
    bool lossy = false;
    expect_loss(plan, given);
    if (strcmp(plan->format, "JP2OpenJPEG") != 0) {
        return HC_OK;
    }
    for (; given != NULL && *given != NULL; given++) {
        lossy = lossy || (EQUALN(*given, "QUALITY=", 8) && strcmp(*given + 8, "100") != 0);
    }
    HC_OR_RETURN(hc_write_option(&plan->options, "QUALITY", "100", err));
    return lossy ? HC_OK : hc_write_option(&plan->options, "REVERSIBLE", "YES", err);
}
