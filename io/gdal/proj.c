/* Failed reads of PROJ's database. PROJ and GDAL catch and silence most of them, and SQLite, which reads the
 * file, reports each: so SQLite is listened to. */
#include "io/gdal/proj.h"
#include "io/gdal/files.h"

#include <cpl_string.h>
#include <dlfcn.h>
#include <ogr_srs_api.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SQLITE_LOG = 16, SQLITE_READ = 10, SQLITE_BROKEN = 11 }; /* as SQLite numbers them */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t failures;
static bool tried; /* the database could be read */
static char first[200];

/* The first text stays. */
static void keep(const char *text) {
    pthread_mutex_lock(&lock);
    if (failures == 0) {
        snprintf(first, sizeof first, "%s", text);
    }
    __atomic_fetch_add(&failures, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&lock);
}

/* SQLite does not say which file it is: words that statements of PROJ hold, and those for a GeoPackage do
 * not. A failed read of the system is a "broken" file for SQLite, too. */
static void on_sqlite(void *user, int code, const char *text) {
    static const char *const words[] = {"auth_name", "FROM metadata", "extent.south_lat", "grid_alternatives",
                                        "celestial_body"};
    (void)user;
    bool failed = (code & 0xff) == SQLITE_READ || (code & 0xff) == SQLITE_BROKEN, known = false;
    for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
        known = known || strstr(text, words[w]) != NULL;
    }
    if (failed && known) {
        keep(text);
    } else if (failed && strstr(text, "statement aborts") != NULL) {
        hc_gdal_files_note_sqlite();
    }
}

void hc_proj_listen(void) {
    int (*configure)(int option, ...) = NULL;
    *(void **)&configure = dlsym(RTLD_DEFAULT, "sqlite3_config");
    if (configure != NULL) { /* a PROJ with an SQLite of its own has no such symbol */
        (void)configure(SQLITE_LOG, on_sqlite, NULL);
    }
}

void hc_proj_note(const char *text) {
    if (strncmp(text, "PROJ: ", 6) == 0 &&
        (strstr(text, "proj.db") != NULL || strstr(text, "SQLite") != NULL ||
         strstr(text, "database context") != NULL)) {
        keep(text);
    }
}

uint64_t hc_proj_failures(void) {
    return __atomic_load_n(&failures, __ATOMIC_ACQUIRE);
}

static void try_database(void) {
    uint64_t before = hc_proj_failures();
    OGRSpatialReferenceH crs = OSRNewSpatialReference(NULL);
    bool found = crs != NULL && OSRImportFromEPSG(crs, 4326) == OGRERR_NONE;
    OSRDestroySpatialReference(crs);
    if (!found && hc_proj_failures() == before) {
        keep("EPSG:4326 is not found");
    }
    __atomic_store_n(&tried, found, __ATOMIC_RELAXED);
}

HcStatus hc_proj_check(uint64_t before, bool needed, HcError *err) {
    if (needed && !__atomic_load_n(&tried, __ATOMIC_RELAXED)) {
        try_database();
    }
    if (hc_proj_failures() == before) {
        return HC_OK;
    }
    char folders[300] = "";
    char **paths = OSRGetPROJSearchPaths();
    for (int p = 0; paths != NULL && paths[p] != NULL; p++) {
        size_t used = strlen(folders);
        snprintf(folders + used, sizeof folders - used, "%s%s", p > 0 ? ":" : "", paths[p]);
    }
    CSLDestroy(paths);
    return hc_fail(
        err, HC_E_IO,
        "PROJ cannot read its database proj.db in %s (PROJ_DATA, before PROJ 9.1 PROJ_LIB, sets it): %s",
        folders, first);
}
