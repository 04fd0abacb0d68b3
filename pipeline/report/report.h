/* Report: what a run did and found, as one HTML file that loads nothing: pictures lie in it, and there is no
 * script. Its tables are made of the record, its pictures of what taps saw in the last pass. */
#ifndef HC_PIPELINE_REPORT_REPORT_H
#define HC_PIPELINE_REPORT_REPORT_H

#include "pipeline/chain.h"

/* The beginning of every report, before the number of the version. */
extern const char hc_report_head[];

/* Makes the run of a parsed chain write a report to `path`: puts taps behind the steps. Before the chain is
 * planned. */
HcStatus hc_report_add(HcChain *chain, const char *path, HcError *err) HC_MUST_CHECK;

/* Writes it, of a chain whose stages have finished. record: of the run. */
HcStatus hc_report_write(const HcChain *chain, const HcJson *record, HcError *err) HC_MUST_CHECK;

#endif
