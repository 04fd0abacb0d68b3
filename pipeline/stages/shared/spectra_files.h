/* The files of some spectra that a stage has found: a library as ENVI or CSV, the places of their pixels, a
 * picture. What is written here is input of unmix, abundance and knn. */
#ifndef HC_PIPELINE_STAGES_SPECTRA_FILES_H
#define HC_PIPELINE_STAGES_SPECTRA_FILES_H

#include "io/library/library.h"
#include "io/shape/points.h"
#include "pipeline/stage.h"

/* First in the parameters of such a stage. */
typedef struct HcSpectraParams {
    const char *path, *csv, *places, *picture;
    bool overwrite;
} HcSpectraParams;

#define HC_SPECTRA_FILE_OPTIONS                                                                              \
    {HC_TEXT(HcSpectraParams, path, "output"),                                                               \
     .file = HC_FILE_WRITTEN,                                                                                \
     .value = "SPECTRA.sli",                                                                                 \
     .positional = true,                                                                                     \
     .required = true,                                                                                       \
     .help = "spectral library to write: ENVI (.sli, with its header), or CSV (.csv)"},                      \
        {HC_TEXT(HcSpectraParams, csv), .file = HC_FILE_WRITTEN, .value = "SPECTRA.csv",                     \
         .help = "also write the spectra as CSV, one line for each band"},                                   \
        {HC_TEXT(HcSpectraParams, places), .file = HC_FILE_WRITTEN, .value = "PLACES.gpkg",                  \
         .help = "write the pixels as points with their names: GeoPackage (.gpkg) or GeoJSON (.geojson)"},   \
        {HC_TEXT(HcSpectraParams, picture), .file = HC_FILE_WRITTEN, .value = "SPECTRA.png",                 \
         .help = "draw the spectra: .png, .svg or .pdf"},                                                    \
    {                                                                                                        \
        HC_FLAG(HcSpectraParams, overwrite), .help = "replace existing files"                                \
    }

/* In plan: refuses endings and files that cannot be. `header` is a text of the state, NULL at first, which
 * the stage frees in close. */
HcStatus hc_spectra_files_plan(HcStage *stage, const HcSpectraParams *params, char **header,
                               HcError *err) HC_MUST_CHECK;

/* What is written. The wavelengths and the unit of the spectra are those of the scene that comes in. */
typedef struct HcFoundSpectra {
    int32_t count, bands;
    const float *value;   /* [count][bands] */
    const float *spread;  /* [count][bands] standard deviations about them, for the picture; or NULL */
    char **name;          /* [count] */
    const HcPoint *point; /* [points], NULL = they have no place */
    int64_t points;
    const char *point_field;              /* of the values of points, or NULL */
    const HcAttributes *point_attributes; /* of their features, or NULL */
    const char *title;                    /* of the picture */
} HcFoundSpectra;

/* In finish. */
HcStatus hc_spectra_files_write(const HcStage *stage, const HcSpectraParams *params,
                                const HcFoundSpectra *found, HcError *err) HC_MUST_CHECK;

/* Host memory of the picture and the plot of a report, by the number of spectra [bytes]. */
size_t hc_spectra_picture_bytes(const HcStage *stage, const HcSpectraParams *params, int32_t count);

/* In panels: the same picture in the report. */
HcStatus hc_spectra_panel(const HcStage *stage, const HcFoundSpectra *found, HcPanels *to,
                          HcError *err) HC_MUST_CHECK;

#endif
