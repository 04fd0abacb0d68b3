/* A panel becomes HTML as it is added, with its picture as PNG in base 64, so that the page loads nothing.
 * Titles and names may hold any bytes of a file; they are escaped here and nowhere else. */
#include "pipeline/report/panel.h"
#include "core/allocate.h"
#include "io/write/picture/png.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ICON_SIDE = 120 };

size_t hc_panel_bytes(size_t pixels) {
    /* A PNG of noise, its base 64 in a text that doubles, and the numbers of a palette. */
    return pixels * (2 * 4 + 2 * 6 + 1) + ((size_t)64 << 10);
}

const char *hc_panel_number(char *text, double value) {
    char plain[HC_TEXT_DOUBLE];
    if (!(fabs(value) < 1e12) || value != floor(value)) {
        snprintf(text, HC_TEXT_DOUBLE, isnan(value) ? "-" : "%.5g", value);
        return text;
    }
    int length = snprintf(plain, sizeof plain, "%.0f", fabs(value));
    char *at = text;
    if (value < 0) {
        *at++ = '-';
    }
    for (int c = 0; c < length; c++) {
        *at++ = plain[c];
        if ((length - c) % 3 == 1 && c + 1 < length) {
            *at++ = ',';
        }
    }
    *at = '\0';
    return text;
}

/* ---- the picture ---- */

static HcStatus add_png(HcText *to, int32_t width, int32_t height, const uint8_t *pixels, HcError *err) {
    uint8_t *data = NULL;
    size_t bytes = 0;
    HC_OR_RETURN(hc_png_encode(width, height, pixels, &data, &bytes, err));
    hc_text_add_base64(to, data, bytes);
    free(data);
    return HC_OK;
}

/* Every n-th pixel of the picture. */
static HcStatus make_icon(const HcPanel *panel, char **icon, HcError *err) {
    HcStatus status = HC_OK;
    int32_t longest = panel->width > panel->height ? panel->width : panel->height;
    int32_t step = (longest + ICON_SIDE - 1) / ICON_SIDE;
    int32_t width = (panel->width + step - 1) / step, height = (panel->height + step - 1) / step;
    uint8_t *small = NULL;
    HcText text = {0};
    HC_TRY(hc_new(small, (size_t)width * (size_t)height * 4, "an icon", err));
    for (int32_t y = 0; y < height; y++) {
        for (int32_t x = 0; x < width; x++) {
            const uint8_t *from =
                panel->pixels + 4 * ((size_t)(y * step) * (size_t)panel->width + (size_t)(x * step));
            memcpy(small + 4 * ((size_t)y * (size_t)width + (size_t)x), from, 4);
        }
    }
    HC_TRY(add_png(&text, width, height, small, err));
    *icon = hc_text_take(&text);
    HC_TRY(hc_text_made(*icon, 4.0 * width * height, "an icon", err));
done:
    hc_text_clear(&text);
    free(small);
    return status;
}

static HcStatus add_picture(HcText *to, const HcPanel *panel, HcError *err) {
    hc_text_add(to, "<img alt=\"");
    hc_utf8_add_escaped(to, panel->alt != NULL ? panel->alt : "a picture");
    hc_text_add(to, "\" width=\"%d\" height=\"%d\" src=\"data:image/png;base64,", panel->width,
                panel->height);
    HC_OR_RETURN(add_png(to, panel->width, panel->height, panel->pixels, err));
    hc_text_add(to, "\">\n");
    return HC_OK;
}

/* ---- colours ---- */

/* The histogram stands on the bar: both have the same axis. */
static void add_bar(HcText *to, const HcPanelBar *bar) {
    char low[HC_TEXT_DOUBLE], high[HC_TEXT_DOUBLE], middle[HC_TEXT_DOUBLE];
    int64_t most = 1;
    for (int b = 0; b < HC_PANEL_BINS; b++) {
        most = bar->count[b] > most ? bar->count[b] : most;
    }
    hc_panel_number(low, bar->low);
    hc_panel_number(middle, bar->low + (bar->high - bar->low) / 2);
    hc_panel_number(high, bar->high);
    hc_text_add(to,
                "<svg class=\"bar\" viewBox=\"0 0 %d 30\" preserveAspectRatio=\"none\" role=\"img\" "
                "aria-label=\"Histogram over the colours from %s to %s\">\n<path fill=\"currentColor\" d=\"",
                HC_PANEL_BINS, low, high);
    for (int b = 0; b < HC_PANEL_BINS; b++) {
        double tall = 22.0 * (double)bar->count[b] / (double)most;
        if (bar->count[b] > 0) {
            hc_text_add(to, "M%d 22v-%.2fh1V22z", b, fmax(tall, 0.3));
        }
    }
    hc_text_add(to, "\"/>\n");
    for (int b = 0; b < HC_PANEL_BINS; b++) {
        uint8_t rgb[3];
        hc_ramp_colour(bar->ramp, b / (HC_PANEL_BINS - 1.0), rgb);
        hc_text_add(to, "<rect x=\"%d\" y=\"23\" width=\"1.1\" height=\"7\" fill=\"#%02x%02x%02x\"/>", b,
                    rgb[0], rgb[1], rgb[2]);
    }
    hc_text_add(to, "\n</svg>\n<p class=\"ends\"><span>%s</span><span>%s</span><span>%s</span></p>\n", low,
                middle, high);
}

static void add_percent(HcText *to, double percent) {
    if (isfinite(percent)) {
        hc_text_add(to, " <span class=\"n\">%.3g %%</span>", percent);
    }
}

static void add_legend(HcText *to, const HcPanel *panel) {
    int32_t shown = panel->entries < HC_PANEL_ENTRIES_MAX ? panel->entries : HC_PANEL_ENTRIES_MAX;
    hc_text_add(to, "<ul class=\"legend\">\n");
    for (int32_t e = 0; e < shown; e++) {
        const HcPanelEntry *entry = &panel->entry[e];
        hc_text_add(to, "<li><span class=\"swatch\" style=\"background:#%02x%02x%02x\">&nbsp;</span> <bdi>",
                    entry->rgb[0], entry->rgb[1], entry->rgb[2]);
        hc_utf8_add_escaped(to, entry->name);
        hc_text_add(to, "</bdi>");
        add_percent(to, entry->percent);
        hc_text_add(to, "</li>\n");
    }
    if (shown < panel->entries) {
        double rest = 0;
        for (int32_t e = shown; e < panel->entries; e++) {
            rest += panel->entry[e].percent;
        }
        hc_text_add(to, "<li>and %d more", panel->entries - shown);
        add_percent(to, rest);
        hc_text_add(to, "</li>\n");
    }
    hc_text_add(to, "</ul>\n");
}

/* ---- the panel ---- */

/* More columns than this have small heads from bottom to top, so that they fit a sheet of paper. */
enum { MANY_COLUMNS = 10 };

static void add_table(HcText *to, const HcPanel *panel) {
    hc_text_add(to, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    hc_utf8_add_escaped(to, panel->title != NULL ? panel->title : "table");
    hc_text_add(to, "\"><table%s>\n", panel->columns > MANY_COLUMNS ? " class=\"many\"" : "");
    for (int32_t r = 0; r < panel->rows; r++) {
        hc_text_add(to, r == 0 ? "<thead><tr>" : "<tr>");
        for (int32_t c = 0; c < panel->columns; c++) {
            const char *cell = panel->cell[r * panel->columns + c];
            const char *tag = r == 0 ? "th scope=\"col\"" : c == 0 ? "th scope=\"row\"" : "td";
            hc_text_add(to, "<%s%s", tag, r > 0 && c > 0 ? " class=\"n\"" : "");
            if (panel->shade != NULL && panel->shade[r * panel->columns + c] > 0) {
                hc_text_add(to, " style=\"background:rgba(0,114,178,%.2f)\"",
                            0.6 * (double)panel->shade[r * panel->columns + c]);
            }
            hc_text_add(to, ">");
            hc_utf8_add_escaped(to, cell != NULL ? cell : "");
            hc_text_add(to, r == 0 || c == 0 ? "</th>" : "</td>");
        }
        hc_text_add(to, r == 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n");
    }
    hc_text_add(to, "</tbody></table></div>\n");
}

HcStatus hc_panels_add(HcPanels *to, const HcPanel *panel, HcError *err) {
    HcText *html = &to->html;
    hc_text_add(html, "<figure%s>\n",
                panel->rows > 0 ? " class=\"wide rows\""
                : panel->wide   ? " class=\"wide\""
                                : "");
    if (panel->title != NULL) {
        hc_text_add(html, "<h3><bdi>");
        hc_utf8_add_escaped(html, panel->title);
        hc_text_add(html, "</bdi></h3>\n");
    }
    if (panel->pixels != NULL) {
        HC_OR_RETURN(add_picture(html, panel, err));
    }
    if (panel->pixels != NULL && to->icon == NULL) {
        HC_OR_RETURN(make_icon(panel, &to->icon, err));
    }
    if (panel->svg != NULL) {
        char width[HC_TEXT_DOUBLE], height[HC_TEXT_DOUBLE];
        hc_text_add(html, "<div class=\"plot\">\n<svg role=\"img\" viewBox=\"0 0 %s %s\" aria-label=\"",
                    hc_text_double(width, panel->svg_width), hc_text_double(height, panel->svg_height));
        hc_utf8_add_escaped(html, panel->alt != NULL ? panel->alt : "a plot");
        hc_text_add(html, "\">%.*s</svg>\n", (int)panel->svg_bytes, panel->svg);
        hc_text_add(html, "</div>\n");
    }
    if (panel->bar != NULL) {
        add_bar(html, panel->bar);
    }
    if (panel->entries > 0) {
        add_legend(html, panel);
    }
    if (panel->rows > 0) {
        add_table(html, panel);
    }
    if (panel->caption != NULL) {
        hc_text_add(html, "<figcaption>");
        hc_utf8_add_escaped(html, panel->caption);
        hc_text_add(html, "</figcaption>\n");
    }
    hc_text_add(html, "</figure>\n");
    return html->failed ? hc_fail_memory(err, (double)html->length, "the report") : HC_OK;
}

void hc_panels_clear(HcPanels *panels) {
    hc_text_clear(&panels->html);
    free(panels->icon);
    panels->icon = NULL;
}
