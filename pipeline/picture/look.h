/* Look: a quick picture of a scene and its mean spectrum on one page, or the spectra of a library, for
 * info --look. */
#ifndef HC_PIPELINE_PICTURE_LOOK_H
#define HC_PIPELINE_PICTURE_LOOK_H

#include "io/library/library.h"

/* Draws the scene at `scene` into `path` (.png, .svg or .pdf). The picture has at most 640 pixels on its
 * longest side: every n-th line is read, of the shown bands where the file lets skip the others. The spectrum
 * is the mean of the stored values of at most 64 lines and 256 MiB (but of one line at least). No mask is
 * applied. Memory: one line of the scene and the picture, beside what the reader takes for chunks (256 MiB at
 * most, unless one row of chunks is larger). HC_E_USAGE: a class map, or a path that the scene is read from.
 */
HcStatus hc_look(const char *scene, const char *path, bool overwrite, HcError *err) HC_MUST_CHECK;

/* Plots the spectra of a library with their names, those of the list `spectra` (hc_library_choose) or, where
 * it is NULL, 24 that are evenly taken, into `path` (.png, .svg or .pdf); bad bands and water vapour are
 * shaded. Entries that are no spectra by their names are left out, as stages do; all are shown where none is.
 * Memory: the library and hc_plot_file_bytes(). */
HcStatus hc_look_library(const char *library_path, const char *spectra, const char *path, bool overwrite,
                         HcError *err) HC_MUST_CHECK;

/* Plots all entries of a library that is there (200 at most, evenly taken), under the name of its file.
 * caption: or NULL. */
HcStatus hc_look_spectra(const HcLibrary *library, const char *library_path, const char *caption,
                         const char *path, bool overwrite, HcError *err) HC_MUST_CHECK;

/* hc_plot_file_check, for commands. */
HcStatus hc_look_check(const char *who, const char *option, const char *path, HcError *err) HC_MUST_CHECK;

#endif
