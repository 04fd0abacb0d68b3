/* The landscape of make_sample: which share of each material covers a place. x runs along samples and y along
 * lines, in pixels. Covers are drawn one over the other, from open land to roads. */
#include "landscape.h"

#include "random.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* Puts `share` of another cover over what is there. */
static void cover(double mix[MATERIALS], const double other[MATERIALS], double share) {
    for (int k = 0; k < MATERIALS; k++) {
        mix[k] += share * (other[k] - mix[k]);
    }
}

static void cover_with(double mix[MATERIALS], Material material, double purity, Material rest, double share) {
    double other[MATERIALS] = {0};
    other[material] = purity;
    other[rest] += 1.0 - purity;
    cover(mix, other, share);
}

/* 0 outside, 1 inside, from a signed distance in pixels; an edge as wide as `softness`. */
static double inside(double distance, double softness) {
    double t = 0.5 + distance / softness;
    return t <= 0.0 ? 0.0 : t >= 1.0 ? 1.0 : t * t * (3.0 - 2.0 * t);
}

static double segment_distance(double x, double y, const double from[2], const double to[2]) {
    double dx = to[0] - from[0];
    double dy = to[1] - from[1];
    double t = ((x - from[0]) * dx + (y - from[1]) * dy) / (dx * dx + dy * dy);
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    return hypot(x - from[0] - t * dx, y - from[1] - t * dy);
}

/* Signed distance to a rectangle about (cx, cy), turned by `angle`; positive inside. */
static double rectangle_distance(double x, double y, double cx, double cy, double width, double height,
                                 double angle) {
    double p = fabs((x - cx) * cos(angle) + (y - cy) * sin(angle)) - 0.5 * width;
    double q = fabs((y - cy) * cos(angle) - (x - cx) * sin(angle)) - 0.5 * height;
    return -(p > q ? p : q);
}

/* Grassland and bare slopes: a softmax of smooth fields, so everything mixes with everything. */
static void draw_open_land(double x, double y, double mix[MATERIALS]) {
    double score[4] = {
        3.4 * field(1, x, y, 24.0) + 0.9,
        3.4 * field(2, x, y, 20.0) + 0.3,
        3.4 * field(3, x, y, 26.0) - 0.9,
        3.4 * field(4, x, y, 26.0) - 0.6,
    };
    double total = 0.0;
    for (int k = 0; k < 4; k++) {
        mix[k] = exp(score[k]);
        total += mix[k];
    }
    for (int k = 0; k < 4; k++) {
        mix[k] /= total;
    }
}

static void draw_forest(double x, double y, double mix[MATERIALS]) {
    double distance = 25.0 - hypot(x - 9.0, 1.15 * (y - 12.0)) + 9.0 * field(5, x, y, 12.0);
    double second = 17.0 - hypot(1.3 * (x - 100.0), y - 58.0) + 8.0 * field(6, x, y, 10.0);
    double purity = 0.955 + 0.035 * field(7, x, y, 6.0);
    cover_with(mix, GREEN, purity, DRY, inside(distance > second ? distance : second, 1.6));
}

/* A patchwork of fields, each with one crop or bare, with narrow tracks between them. */
static void draw_fields(double x, double y, int stream, double cx, double cy, double width, double height,
                        double angle, double mix[MATERIALS]) {
    double edge = rectangle_distance(x, y, cx, cy, width, height, angle) + 2.5 * field(stream, x, y, 12.0);
    double presence = inside(edge, 0.8);
    if (presence <= 0.0) {
        return;
    }
    double p = (x - cx) * cos(angle) + (y - cy) * sin(angle);
    double q = (y - cy) * cos(angle) - (x - cx) * sin(angle);
    double strip_width = 10.5;
    int strip = (int)floor(p / strip_width);
    double length = 6.5 + 5.0 * place_hash(stream, strip, 1000);
    double shift = 9.0 * place_hash(stream, strip, 1001);
    int plot = (int)floor((q + shift) / length);

    static const Material crops[] = {GREEN, DRY, IRON, GREEN, GREEN, DRY, KAOLINITE, IRON};
    Material crop = crops[(int)(8.0 * place_hash(stream + 1, strip, plot))];
    Material rest = crop == GREEN ? IRON : crop == DRY ? KAOLINITE : DRY;
    double purity = 0.91 + 0.07 * place_hash(stream + 2, strip, plot) + 0.015 * field(stream + 3, x, y, 5.0);
    cover_with(mix, crop, purity, rest, presence);

    double from_side = p - strip_width * strip;
    double from_end = q + shift - length * plot;
    double side = from_side < strip_width - from_side ? from_side : strip_width - from_side;
    double end = from_end < length - from_end ? from_end : length - from_end;
    double track = inside(0.28 - (side < end ? side : end), 0.3);
    cover_with(mix, DRY, 0.7, GREEN, 0.8 * presence * track);
}

/* An open kaolin pit: clay in the middle, rusty overburden around it, benches between them, a pond at the
 * bottom. */
static void draw_quarry(double x, double y, double mix[MATERIALS]) {
    double radius = hypot((x - 76.0) / 1.3, y - 21.0) + 1.6 * field(20, x, y, 9.0);
    double presence = inside(13.5 - radius, 0.8);
    double clay = inside(9.0 - radius, 1.5);
    double bench = radius > 9.0 && radius < 12.0 ? 0.5 + 0.5 * cos(2.0 * PI * (radius - 9.0)) : 0.0;
    double purity = 0.965 + 0.02 * field(21, x, y, 5.0);
    double pit[MATERIALS] = {0};
    pit[IRON] = 1.0;
    cover_with(pit, IRON, purity, DRY, 1.0);
    cover_with(pit, KAOLINITE, 0.85, IRON, 0.7 * bench);
    cover_with(pit, KAOLINITE, purity, IRON, clay);
    cover(mix, pit, presence);
    double pond = 2.3 - hypot((x - 80.0) / 1.4, y - 22.5);
    cover_with(mix, WATER, 0.97, KAOLINITE, inside(pond, 0.5));
    double heap = rectangle_distance(x, y, 59.5, 10.0, 9.0, 12.0, -0.5) + 1.5 * field(22, x, y, 6.0);
    cover_with(mix, IRON, purity, KAOLINITE, inside(heap, 0.8));
}

/* Streets, blocks of roofs and gardens, paved yards, and an airstrip. */
static void draw_town(double x, double y, double mix[MATERIALS]) {
    double edge = 12.5 - hypot((x - 22.0) / 1.15, y - 60.0) + 4.0 * field(30, x, y, 9.0);
    double angle = -0.14;
    double p = (x - 22.0) * cos(angle) + (y - 60.0) * sin(angle);
    double q = (y - 60.0) * cos(angle) - (x - 22.0) * sin(angle);
    double spacing = 4.2;
    int column = (int)floor(p / spacing);
    int row = (int)floor(q / spacing);
    double garden = 0.12 + 0.40 * place_hash(31, column, row);
    double tiles = 0.08 + 0.20 * place_hash(32, column, row);
    double gravel = 0.04 + 0.16 * place_hash(33, column, row);
    double block[MATERIALS] = {0};
    block[GREEN] = garden;
    block[IRON] = tiles;
    block[KAOLINITE] = gravel;
    block[DRY] = 0.04;
    block[ASPHALT] = 1.0 - garden - tiles - gravel - 0.04;
    double to_street = fmin(fabs(p - spacing * round(p / spacing)), fabs(q - spacing * round(q / spacing)));
    cover_with(block, ASPHALT, 0.95, DRY, inside(0.42 - to_street, 0.25));
    cover(mix, block, inside(edge, 1.0));

    static const double yards[][5] = {
        {30.0, 67.5, 9.0, 7.5, -0.14},  {13.5, 53.5, 8.5, 7.0, -0.14},  {27.0, 50.5, 6.5, 5.5, -0.14},
        {34.5, 57.0, 5.5, 6.0, -0.14},  {20.0, 88.0, 30.0, 4.4, -0.42}, {17.0, 82.5, 7.0, 6.0, -0.42},
        {89.0, 34.5, 12.0, 7.0, -0.19},
    };
    for (size_t i = 0; i < sizeof yards / sizeof yards[0]; i++) {
        const double *yard = yards[i];
        double distance = rectangle_distance(x, y, yard[0], yard[1], yard[2], yard[3], yard[4]);
        double purity = 0.965 + 0.02 * field(34, x, y, 5.0);
        cover_with(mix, ASPHALT, purity, KAOLINITE, inside(distance, 0.3));
    }
}

static void draw_water(double x, double y, double mix[MATERIALS]) {
    double centre = 47.0 + 8.0 * sin(y / 11.0) + 2.6 * sin(y / 4.6 + 1.3);
    double slope = 8.0 / 11.0 * cos(y / 11.0) + 2.6 / 4.6 * cos(y / 4.6 + 1.3);
    double half_width = 1.35 + 0.45 * sin(y / 7.0 + 0.4);
    double river = half_width - fabs(x - centre) / hypot(1.0, slope);
    double lake = 7.0 - hypot((x - 39.0) / 1.35, y - 36.5) + 2.2 * field(40, x, y, 8.0);
    double reservoir = rectangle_distance(x, y, 88.5, 82.5, 10.0, 7.5, 0.3) + 1.2 * field(41, x, y, 5.0);
    double distance = fmax(fmax(river, lake), reservoir);
    double meadow = inside(distance + 1.3 + 0.7 * field(42, x, y, 6.0), 1.4);
    cover_with(mix, GREEN, 0.90, DRY, 0.9 * meadow);
    cover_with(mix, WATER, 0.985 - 0.01 * field(43, x, y, 9.0), GREEN, inside(distance, 0.4));
}

static void draw_roads(double x, double y, double mix[MATERIALS]) {
    static const double roads[][2][2] = {
        {{-9.0, 57.0}, {22.0, 60.0}},  {{22.0, 60.0}, {47.0, 56.0}},  {{47.0, 56.0}, {68.0, 45.0}},
        {{68.0, 45.0}, {109.0, 37.0}}, {{68.0, 45.0}, {74.0, 34.0}},  {{22.0, 60.0}, {28.0, 78.0}},
        {{28.0, 78.0}, {46.0, 109.0}}, {{22.0, 60.0}, {26.0, 30.0}},  {{26.0, 30.0}, {33.0, -9.0}},
        {{47.0, 56.0}, {69.0, 71.0}},  {{69.0, 71.0}, {109.0, 78.0}},
    };
    double distance = DBL_MAX;
    for (size_t i = 0; i < sizeof roads / sizeof roads[0]; i++) {
        distance = fmin(distance, segment_distance(x, y, roads[i][0], roads[i][1]));
    }
    cover_with(mix, DRY, 0.6, GREEN, 0.6 * inside(0.65 - distance, 0.3));
    cover_with(mix, ASPHALT, 0.96, DRY, inside(0.42 - distance, 0.2));
}

void draw_landscape(double x, double y, double mix[MATERIALS]) {
    memset(mix, 0, MATERIALS * sizeof mix[0]);
    draw_open_land(x, y, mix);
    draw_forest(x, y, mix);
    draw_fields(x, y, 50, 74.0, 70.0, 52.0, 44.0, 0.28, mix);
    draw_fields(x, y, 60, 12.0, 92.0, 46.0, 30.0, -0.42, mix);
    draw_quarry(x, y, mix);
    draw_town(x, y, mix);
    draw_water(x, y, mix);
    draw_roads(x, y, mix);
}
