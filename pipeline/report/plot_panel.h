/* Panels of a report that hold a plot. A build that draws no figures adds none. */
#ifndef HC_PIPELINE_REPORT_PLOT_PANEL_H
#define HC_PIPELINE_REPORT_PLOT_PANEL_H

#include "pipeline/picture/plots.h"
#include "pipeline/report/panel.h"

/* Host memory of one plot, by its number of curves [bytes], and what all plots of a run take once. */
size_t hc_plot_panel_bytes(int32_t count, int32_t bands);
size_t hc_plot_panels_bytes(void);

/* Title and caption of the plot become those of the panel. HC_E_MEMORY: there is none left. */
HcStatus hc_panels_add_spectra(HcPanels *to, const HcSpectraPlot *plot, HcError *err) HC_MUST_CHECK;
HcStatus hc_panels_add_scree(HcPanels *to, const HcScreePlot *plot, HcError *err) HC_MUST_CHECK;

#endif
