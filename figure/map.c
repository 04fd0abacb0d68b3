/* A picture with its frame, and below it scale bar and north arrow. */
#include "figure/parts.h"
#include "figure/ticks.h"

#include <math.h>
#include <stdio.h>

static const double arrow_half = 9; /* from the middle of the arrow to its tip [points] */

/* A round length of at most 2/5 of the map; returns where it ends. */
static double draw_scale(HcCanvas *canvas, const HcFigureMap *map, const HcFigureBox *box, double x,
                         double y) {
    double metres_per_point = map->metres * map->width / box->width;
    double metres = hc_ticks_round(metres_per_point * box->width * 0.4);
    double length = metres / metres_per_point;
    char text[HC_TICK_BYTES], number[HC_TICK_BYTES];
    bool km = metres >= 1000, cm = metres < 1;
    hc_ticks_number(number, km ? metres / 1000 : cm ? metres * 100 : metres, 6);
    snprintf(text, sizeof text, "%.20s %s", number, km ? "km" : cm ? "cm" : "m");
    x += 0.5;
    const double bar[4][2] = {{x, y - 3}, {x, y}, {x + length, y}, {x + length, y - 3}};
    const HcLetters letters = {.size = HC_SMALL, .rgb = hc_ink_dark};
    hc_canvas_line(canvas, bar, 4, 1, hc_ink_dark);
    return x + length + 5 + hc_canvas_text(canvas, x + length + 5, y, &letters, text);
}

/* Half of the arrow is filled; the letter stands beyond its tip. */
static void draw_north(HcCanvas *canvas, double north, double x, double y) {
    double angle = north * M_PI / 180, across = sin(angle), up = cos(angle);
    double tip[2] = {x + arrow_half * across, y - arrow_half * up};
    double foot[2] = {x - 0.4 * arrow_half * across, y + 0.4 * arrow_half * up};
    double low[2] = {x - arrow_half * across, y + arrow_half * up};
    for (int side = -1; side <= 1; side += 2) {
        double wing[2] = {low[0] + side * 4.5 * up, low[1] + side * 4.5 * across};
        const double half[4][2] = {
            {tip[0], tip[1]}, {wing[0], wing[1]}, {foot[0], foot[1]}, {tip[0], tip[1]}};
        if (side < 0) {
            hc_canvas_area(canvas, half, 4, 1, hc_ink_dark);
        }
        hc_canvas_line(canvas, half, 4, 0.6, hc_ink_dark);
    }
    const HcLetters letters = {.size = HC_SMALL, .bold = true, .align = HC_ALIGN_CENTRE, .rgb = hc_ink_dark};
    double away = arrow_half + 0.6 * HC_SMALL;
    hc_canvas_text(canvas, x + away * across, y - away * up + 0.36 * HC_SMALL, &letters, "N");
}

void hc_map_draw(HcCanvas *canvas, const HcFigureMap *map, const HcFigureBox *box) {
    HcCanvasPicture picture = {map->width, map->height, map->pixels};
    hc_canvas_picture(canvas, box, &picture);
    hc_canvas_frame(canvas, box->x - 0.25, box->y - 0.25, box->width + 0.5, box->height + 0.5, 0.5,
                    hc_ink_grey);
    if (map->note != NULL) {
        const HcLetters letters = {
            .size = HC_TEXT, .align = HC_ALIGN_CENTRE, .width = box->width, .rgb = hc_ink_grey};
        hc_canvas_text(canvas, box->x + box->width / 2, box->y + (box->height + 0.72 * HC_TEXT) / 2, &letters,
                       map->note);
    }
}

double hc_ground_draw(HcCanvas *canvas, const HcFigureMap *map, const HcFigureBox *box, double x, double y) {
    bool scale = map->metres > 0 && isfinite(map->metres), north = isfinite(map->north);
    double reach = arrow_half + HC_SMALL, middle = y + 4 + reach;
    double end = scale ? draw_scale(canvas, map, box, x, north ? middle + 3 : y + 12) : x;
    if (north) {
        /* Below a narrow map the arrow stands after the scale bar. */
        draw_north(canvas, map->north, fmax(x + box->width, end + 2 * reach + 4) - reach, middle);
        return middle + reach;
    }
    return scale ? y + 14 : y;
}
