/* A mask that selects pixels for a purpose of their own, such as a background: the scene keeps all of them.
 */
#include "core/allocate.h"
#include "io/view/parts.h"

#include <string.h>

struct HcViewSelection {
    HcViewMask *mask;
    HcPixels window;
};

HcStatus hc_view_selection_open(HcViewSelection **out, const HcView *view, const char *text, HcText *note,
                                HcError *err) {
    HcStatus status = HC_OK;
    HcViewSelection *selection = NULL;
    HcViewSite site = hc_view_site(view, note);
    *out = NULL;
    HC_OR_RETURN(hc_new(selection, 1, "a mask", err));
    selection->window = hc_view_pixels(view);
    HC_TRY(hc_view_mask_open(&selection->mask, text, false, &site, err));
    *out = selection;
    selection = NULL;
done:
    hc_view_selection_close(selection);
    return status;
}

void hc_view_selection_close(HcViewSelection *selection) {
    if (selection != NULL) {
        hc_view_mask_close(selection->mask);
        free(selection);
    }
}

HcStatus hc_view_selection_use_bands(HcViewSelection *selection, const int32_t *index, int32_t count,
                                     HcError *err) {
    return hc_view_mask_use_bands(selection->mask, index, count, err);
}

HcStatus hc_view_selection_read(HcViewSelection *selection, int64_t line0, int64_t lines, uint8_t *to,
                                HcError *err) {
    const HcPixels *window = &selection->window;
    int64_t samples = window->x1 - window->x0;
    int64_t step = hc_min64(lines, hc_view_mask_lines(selection->mask));
    memset(to, 1, (size_t)lines * (size_t)samples);
    for (int64_t done = 0; done < lines; done += step) {
        int64_t first = window->y0 + line0 + done;
        HcPixels pixels = {window->x0, first, window->x1, first + hc_min64(step, lines - done)};
        HC_OR_RETURN(hc_view_mask_apply(selection->mask, pixels, line0 + done, to + done * samples, err));
    }
    return hc_view_mask_unchanged(selection->mask, err);
}

size_t hc_view_selection_bytes(const HcViewSelection *selection) {
    return hc_view_mask_bytes(selection->mask);
}
