/* view: a page on this machine that shows a scene, results on top of it, and spectra beside a library. */
#include "app/usage/usage.h"
#include "app/view/view.h"

#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct ViewParams {
    const char *scene, *library;
    HcOptionList results;
    int64_t port;
    bool no_open;
} ViewParams;

static const HcOption view_options[] = {
    {HC_TEXT(ViewParams, scene), .file = HC_FILE_READ, .value = "SCENE", .positional = true, .required = true,
     .help = "the scene: an ENVI header or data file, or anything that GDAL opens"},
    {HC_LIST(ViewParams, results, "result"), .file = HC_FILE_READ, .value = "RESULT", .positional = true,
     .help = "rasters to show on top of the scene: class maps, scores, other scenes"},
    {HC_TEXT(ViewParams, library), .file = HC_FILE_READ, .value = "FILE",
     .help = "spectral library to compare spectra with: ENVI (.sli, .hdr) or CSV"},
    {HC_INT(ViewParams, port), .range = {1, 65535}, .otherwise = "a free one", .value = "PORT",
     .help = "port of the page on 127.0.0.1"},
    {HC_FLAG(ViewParams, no_open, "no-open"), .help = "print the address of the page and open no browser"},
    {0}};

void hc_describe_view(HcUsage *usage) {
    hc_text_add(&usage->forms, "hcube view SCENE [RESULT...] [OPTION...]\n");
    hc_text_add(&usage->about,
                "The page is for this machine and this user: the address has a token, and only programs of "
                "this machine can reach it. Ctrl-C ends the command. Over ssh: start it with --no-open and "
                "--port PORT, and connect by ssh -L PORT:127.0.0.1:PORT.\n");
    hc_text_add(&usage->examples, "hcube view scene.hdr classes.tif --library minerals.sli\n");
    hc_usage_add(usage, "Options", view_options);
}

static bool opens; /* the browser */

/* A browser that is not there is no failure: the address is printed. One that is started gets a session of
 * its own, so that Ctrl-C does not end it. */
static void open_browser(const char *address) {
    extern char **environ;
    char program[] = "xdg-open", *copy = strdup(address);
    char *const words[] = {program, copy, NULL};
    pid_t child = 0;
    posix_spawnattr_t how;
    if (copy != NULL && (getenv("DISPLAY") != NULL || getenv("WAYLAND_DISPLAY") != NULL) &&
        posix_spawnattr_init(&how) == 0) {
        (void)posix_spawnattr_setflags(&how, POSIX_SPAWN_SETSID);
        (void)posix_spawnp(&child, program, NULL, &how, words, environ);
        posix_spawnattr_destroy(&how);
    }
    free(copy);
}

static void show_address(const char *address) {
    hc_show("%s", address);
    fflush(stdout);
    if (opens) {
        open_browser(address);
    }
}

HcStatus hc_command_view(int32_t word_count, const char *const *words, HcError *err) {
    HcStatus status = HC_OK;
    ViewParams params = {0};
    HcViewer viewer = {.command = hc_command_line()->text};
    const HcOptionSet set = {.table = view_options, .params = &params};
    hc_options_reset(view_options, &params);
    HC_OR_RETURN(hc_options_parse("view", &set, 1, words, word_count, err));
    opens = !params.no_open;
    const HcFlag *stop = hc_catch_signals();
    signal(SIGPIPE, SIG_IGN); /* a browser that goes away is no reason to end */
    HC_TRY(hc_viewer_open(&viewer, params.scene, params.results.item, params.library, err));
    HC_TRY(hc_view_serve(&viewer, (int32_t)params.port, stop, show_address, err));
    HC_TRY(hc_fail(err, HC_E_CANCELLED, "interrupted"));
done:
    hc_viewer_close(&viewer);
    return status;
}
