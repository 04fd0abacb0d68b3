#include "pipeline/stages/shared/spectra_files.h"
#include "io/file.h"
#include "pipeline/chain.h"
#include "pipeline/report/plot_panel.h"
#include "pipeline/spectra/library/unit.h"

#include <string.h>

static HcStatus plan_library(HcStage *stage, const char *path, char **header, HcError *err) {
    bool foreign = false;
    if (hc_text_ends_with(path, ".csv")) {
        return HC_OK;
    }
    if (!hc_text_ends_with(path, ".sli")) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: ends neither with .sli nor .csv", stage->kind->name, path);
    }
    if (*header == NULL && (*header = hc_library_header_path(path)) == NULL) {
        return hc_fail_memory(err, (double)strlen(path), "a path");
    }
    HC_OR_RETURN(hc_library_check_header(*header, &foreign, err));
    if (foreign) {
        return hc_fail(err, HC_E_USAGE, "%s: %s: %s is the header of another file", stage->kind->name, path,
                       *header);
    }
    return hc_stage_writes(stage, *header, err);
}

HcStatus hc_spectra_files_plan(HcStage *stage, const HcSpectraParams *params, char **header, HcError *err) {
    const char *who = stage->kind->name;
    HC_OR_RETURN(plan_library(stage, params->path, header, err));
    if (params->csv != NULL && !hc_text_ends_with(params->csv, ".csv")) {
        return hc_fail(err, HC_E_USAGE, "%s: --csv %s: does not end with .csv", who, params->csv);
    }
    if (params->places != NULL) {
        HC_OR_RETURN(hc_points_check(who, "--places", params->places, &stage->in, err));
    }
    return params->picture != NULL ? hc_plot_file_check(who, "--picture", params->picture, err) : HC_OK;
}

static HcSpectraPlot plot_of(const HcScene *scene, const HcFoundSpectra *found) {
    return (HcSpectraPlot){.scene = scene,
                           .count = found->count,
                           .value = found->value,
                           .spread = found->spread,
                           .name = found->name,
                           .title = found->title,
                           .label = "value",
                           .caption = found->spread != NULL
                                          ? "Lines: means. Bands: one standard deviation to each side."
                                          : NULL};
}

HcStatus hc_spectra_files_write(const HcStage *stage, const HcSpectraParams *params,
                                const HcFoundSpectra *found, HcError *err) {
    bool overwrite = hc_stage_overwrite(stage);
    /* Borrows everything, and is not cleared. */
    HcLibrary library = {.count = found->count,
                         .bands = found->bands,
                         .value = (float *)(uintptr_t)found->value,
                         .name = found->name,
                         .wavelength = stage->in.wavelength,
                         .fwhm = stage->in.fwhm};
    library.scale = hc_scene_unit(&stage->in, NULL, 0).one;
    HC_OR_RETURN(hc_library_write(&library, params->path, overwrite, err));
    if (params->csv != NULL) {
        HC_OR_RETURN(hc_library_write(&library, params->csv, overwrite, err));
    }
    if (params->places != NULL) {
        const char *const field[] = {found->point_field, NULL};
        HC_OR_RETURN(hc_points_write(params->places, &stage->in, found->point, found->points, field,
                                     found->point_attributes, overwrite, err));
    }
    const HcSpectraPlot plot = plot_of(&stage->in, found);
    return params->picture == NULL ? HC_OK : hc_plot_spectra(params->picture, &plot, overwrite, err);
}

size_t hc_spectra_picture_bytes(const HcStage *stage, const HcSpectraParams *params, int32_t count) {
    return hc_plot_file_bytes(params->picture, count, stage->in.bands) +
           (stage->chain->report != NULL ? hc_plot_panel_bytes(count, stage->in.bands) : 0);
}

HcStatus hc_spectra_panel(const HcStage *stage, const HcFoundSpectra *found, HcPanels *to, HcError *err) {
    const HcSpectraPlot plot = plot_of(&stage->in, found);
    return hc_panels_add_spectra(to, &plot, err);
}
