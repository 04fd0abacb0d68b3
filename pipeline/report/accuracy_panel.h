/* The accuracy of a class map as panels of a report, and as a picture of its own. */
#ifndef HC_PIPELINE_REPORT_ACCURACY_PANEL_H
#define HC_PIPELINE_REPORT_ACCURACY_PANEL_H

#include "pipeline/report/panel.h"
#include "pipeline/spectra/accuracy.h"

/* The matrix as a picture of at most HC_ACCURACY_DRAWN classes, which `path` ends with: .png, .svg or .pdf.
 */
enum { HC_ACCURACY_DRAWN = 64 };
HcStatus hc_accuracy_figure(const HcAccuracy *accuracy, const HcClasses *names, const char *path,
                            bool overwrite, HcError *err) HC_MUST_CHECK;
/* Host memory that it takes [bytes]; 0 where `path` ends otherwise. */
size_t hc_accuracy_figure_bytes(const char *path, int32_t classes);

/* The figures of the classes and the matrix as tables of a report; nothing where no accuracy was measured. */
HcStatus hc_accuracy_panels(const HcAccuracy *accuracy, const HcClasses *names, HcPanels *to,
                            HcError *err) HC_MUST_CHECK;

#endif
