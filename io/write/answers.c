/* What a writer says of itself and of what it has written. */
#include "io/write/state.h"

#include <string.h>

HcStatus hc_writer_site(const HcWriter *writer, HcWriterSite *out, HcError *err) {
    *out = (HcWriterSite){.by_pixel = writer->layout.interleave == HC_BIP};
    if (strlen(writer->partial) >= sizeof out->partial) {
        return hc_fail(err, HC_E_UNSUPPORTED, "%s: the name is too long to be shared by ranks",
                       writer->plan.path);
    }
    strcpy(out->partial, writer->partial);
    return HC_OK;
}

const HcStored *hc_writer_layout(const HcWriter *writer) {
    return &writer->layout;
}

double hc_writer_loss(const HcWriter *writer) {
    return writer->loss;
}

const char *hc_writer_lacks(const HcWriter *writer) {
    return writer->lacks.length > 0 ? writer->lacks.data : NULL;
}

const char *hc_writer_path(const HcWriter *writer) {
    return writer->plan.path;
}

const char *hc_writer_format(const HcWriter *writer) {
    return writer->plan.format;
}

double hc_writer_nodata(const HcWriter *writer) {
    return writer->plan.no_nodata ? NAN : writer->plan.nodata;
}

bool hc_writer_tally(const HcWriter *writer, HcStoredTally *out, double *low, double *high) {
    *out = writer->tally;
    if (writer->tallied) {
        hc_stored_range(&writer->layout, low, high);
    }
    return writer->tallied;
}
