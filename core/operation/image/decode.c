#include "core/operation/image/decode.h"
#include "core/operation/check.h"

HcStatus hc_decode(HcQueue *queue, const HcRaw *raw, const HcDecode *how, const HcBlock *out, HcError *err) {
    HC_OR_RETURN(hc_check_decode(queue, raw, how, out, "decode", err));
    return hc_ops_of(queue)->decode(queue, raw, how, out, err);
}
