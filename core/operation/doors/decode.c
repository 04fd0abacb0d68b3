#include "core/operation/decode.h"
#include "core/operation/doors/check.h"

static HcStatus check(const HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out,
                      HcError *err) {
    HC_OR_RETURN(hc_check_queue(queue, "decode", err));
    HC_OR_RETURN(hc_check_block(out, "decode", "output", err));
    if (raw == NULL || raw->data == NULL || how == NULL || how->band_index == NULL) {
        return hc_fail(err, HC_E_USAGE, "decode: the bytes or the list of bands is missing");
    }
    if ((int)raw->type < 0 || raw->type >= HC_TYPE_COUNT) {
        return hc_fail(err, HC_E_USAGE, "decode: no type has the number %d", (int)raw->type);
    }
    if (raw->lines < 1 || raw->bands < 1 || raw->samples != out->samples) {
        return hc_fail(err, HC_E_USAGE, "decode: %d lines, %d samples, %d bands in, %d samples out",
                       raw->lines, raw->samples, raw->bands, out->samples);
    }
    int64_t first = hc_block_first_line(out);
    return hc_check_lines(first, first + hc_block_rows(out), raw->line0, raw->line0 + raw->lines, "decode",
                          err);
}

HcStatus hc_decode(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(check(queue, raw, how, out, err));
    return hc_ops_of(queue)->decode(queue, raw, how, out, err);
}
