/* What operations of the strict backend translate alike. */
#include "tests/support/strict_parts.h"

/* For what an opening call is given: nothing of it is queued, so it takes the lock itself. */
HcStatus strict_translate_at_once(Strict *strict, void *pointer, size_t bytes, const char *what,
                                  HcError *err) {
    pthread_mutex_lock(&strict->lock);
    HcStatus status = strict_translate(strict, pointer, bytes, what, err);
    pthread_mutex_unlock(&strict->lock);
    return status;
}

/* Grows the extent of a view by one of its dimensions. */
static void extend(int64_t count, int64_t stride, int64_t *low, int64_t *high) {
    int64_t reach = (count - 1) * stride;
    *(reach < 0 ? low : high) += reach;
}

HcStatus strict_translate_decode(const Strict *strict, StrictDecode *work, HcError *err) {
    HcRaw *raw = &work->raw;
    void *data = NULL;
    int64_t low = 0;
    int64_t high = (int64_t)hc_type_bytes(raw->type);
    extend(raw->lines, raw->stride_line, &low, &high);
    extend(raw->samples, raw->stride_sample, &low, &high);
    extend(raw->bands, raw->stride_band, &low, &high);
    HC_OR_RETURN(
        strict_translate_from(strict, raw->data, low, (size_t)(high - low), "decode, the bytes", &data, err));
    raw->data = data;
    HC_OR_RETURN(strict_translate(strict, &raw->user_mask, (size_t)raw->lines * (size_t)raw->samples,
                                  "decode, the user's mask", err));
    HC_OR_RETURN(strict_translate(strict, &work->how.band_index, sizeof(int32_t) * (size_t)work->out.bands,
                                  "decode, the bands", err));
    HC_OR_RETURN(strict_translate(strict, &work->how.counts, sizeof(int64_t) * HC_MASK_REASONS,
                                  "decode, the counts", err));
    return strict_translate_block(strict, &work->out, "the output block", err);
}

HcStatus strict_translate_pair(const Strict *strict, StrictPair *work, HcError *err) {
    HC_OR_RETURN(strict_translate_block(strict, &work->in, "the input block", err));
    return strict_translate_block(strict, &work->out, "the output block", err);
}

HcStatus strict_translate_solve(const Strict *strict, StrictSolve *work, const char *what, HcError *err) {
    HC_OR_RETURN(strict_still_open(work->kept, what, err));
    HC_OR_RETURN(strict_translate_pair(strict, &work->pair, err));
    HC_OR_RETURN(strict_translate(strict, &work->counts.given, work->counts.bytes, what, err));
    return work->counts.given == work->counts.really
               ? HC_OK
               : hc_fail(err, HC_E_DEVICE, "%s: its counts were moved", what);
}
