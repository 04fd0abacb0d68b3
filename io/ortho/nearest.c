/* From the coordinates of the pixels of a scene to a table of the map: each pixel of the map gets the pixel
 * of the scene whose centre is nearest to its own.
 *
 * The grid is north up. Its spacing is the root of the median area of a pixel (the parallelogram to its
 * neighbours in line and sample), so that the map has about as many pixels as the scene under it. The search
 * is exact within a reach of three quarters of the median diagonal of a pixel: farther away nothing is found,
 * so that the map ends where the scene does. A tie goes to the lower line, then to the lower sample.
 *
 * Every pixel of the scene is offered to all pixels of the map within its reach. Lines of the map are made in
 * strips; each strip takes the lines of the scene that come near it. */
#include "core/allocate.h"
#include "core/compare.h"
#include "io/gdal/errors.h"
#include "io/ortho/parts.h"

#include <inttypes.h>
#include <math.h>
#include <ogr_srs_api.h>
#include <stdlib.h>
#include <string.h>

#define STRIP_BYTES ((int64_t)16 << 20)
#define AREAS_MAX   ((int64_t)1 << 16) /* pixels whose area is looked at */
#define DEGREE      0.017453292519943295

/* Ratio of map to scene above which some coordinates must be wrong. */
static const double larger_most = 1000;

static const double fill = -9999;

typedef struct Search {
    HcOrthoTable *table;
    const HcOrthoPlaces *places;
    HcOrthoGrid *grid;
    double shrink;                   /* of a degree of longitude against one of latitude, else 1 */
    double *x[2], *y[2];             /* [samples] of two lines */
    double *lowest, *highest;        /* [lines] y of each line of the scene */
    double west, east, south, north; /* of all */
    double *area, *diagonal;         /* [found] of pixels here and there */
    int64_t found;
    HcOrthoPixel *pixel; /* [rows][samples of the table] of the strip */
    float *distance;     /* the same: squares of distances */
    int64_t rows;
} Search;

static HcStatus read_line(const Search *search, int64_t line, int which, HcError *err) {
    const HcOrthoWindow *window = &search->table->window;
    return hc_ortho_places_get(search->places, window->line0 + line, window->sample0, window->samples,
                               search->x[which], search->y[which], err);
}

/* -9999 stands for no coordinates in most files, and degrees beyond the globe do. */
static bool is_known(const Search *search, double x, double y) {
    bool possible = !search->grid->geographic || (fabs(y) <= 90 && fabs(x) <= 360);
    return isfinite(x) && isfinite(y) && x != fill && y != fill && possible;
}

static void grow(Search *search, int64_t line, double x, double y) {
    search->lowest[line] = fmin(search->lowest[line], y);
    search->highest[line] = fmax(search->highest[line], y);
    search->west = fmin(search->west, x);
    search->east = fmax(search->east, x);
    search->south = fmin(search->south, y);
    search->north = fmax(search->north, y);
}

/* ---- the grid ---- */

/* The steps to the next sample and the next line; a scene of one line or one sample has but one of them. */
static void add_pixel(Search *search, int64_t s, int now, int next) {
    const HcOrthoWindow *window = &search->table->window;
    bool across = window->samples > 1, along = window->lines > 1;
    const double *x = search->x[now], *y = search->y[now];
    int64_t side = across ? s + 1 : s;
    bool whole = is_known(search, x[s], y[s]) && is_known(search, x[side], y[side]) &&
                 (!along || is_known(search, search->x[next][s], search->y[next][s]));
    if (!whole || search->found == AREAS_MAX) {
        return;
    }
    double ax = x[side] - x[s], ay = y[side] - y[s];
    double bx = along ? search->x[next][s] - x[s] : -ay, by = along ? search->y[next][s] - y[s] : ax;
    if (!across) {
        ax = -by;
        ay = bx;
    }
    double area = fabs(ax * by - ay * bx), shrink = search->shrink;
    double one = hypot((ax + bx) * shrink, ay + by), other = hypot((ax - bx) * shrink, ay - by);
    search->area[search->found] = area;
    search->diagonal[search->found] = fmax(one, other);
    search->found += area > 0;
}

static double median(double *values, int64_t count) {
    qsort(values, (size_t)count, sizeof *values, hc_compare_doubles);
    return values[count / 2];
}

/* What the coordinates span, and the length of a degree of longitude in the middle. */
static HcStatus measure_extent(Search *search, HcError *err) {
    const HcOrthoWindow *window = &search->table->window;
    search->west = search->south = INFINITY;
    search->east = search->north = -INFINITY;
    for (int64_t line = 0; line < window->lines; line++) {
        search->lowest[line] = INFINITY;
        search->highest[line] = -INFINITY;
        HC_OR_RETURN(read_line(search, line, 0, err));
        for (int64_t s = 0; s < window->samples; s++) {
            if (is_known(search, search->x[0][s], search->y[0][s])) {
                grow(search, line, search->x[0][s], search->y[0][s]);
            }
        }
    }
    if (!(search->west <= search->east)) {
        return hc_fail(err, HC_E_INPUT, "%s: has no coordinates of any pixel of the scene",
                       search->table->path);
    }
    if (search->grid->geographic && search->east - search->west > 180) {
        return hc_fail(err, HC_E_UNSUPPORTED,
                       "%s: longitudes from %.6g to %.6g: a scene across the 180th meridian has no map here",
                       search->table->path, search->west, search->east);
    }
    double middle = (search->south + search->north) / 2;
    search->shrink = search->grid->geographic ? fmax(cos(middle * DEGREE), 1e-3) : 1;
    return HC_OK;
}

static HcStatus measure_pixels(Search *search, HcError *err) {
    const HcOrthoWindow *window = &search->table->window;
    int64_t across = hc_max64(1, window->samples - 1), along = hc_max64(1, window->lines - 1);
    int64_t step = 1;
    while ((across / step + 1) * (along / step + 1) > AREAS_MAX) {
        step++;
    }
    for (int64_t line = 0; line < along; line += step) {
        HC_OR_RETURN(read_line(search, line, 0, err));
        if (window->lines > 1) {
            HC_OR_RETURN(read_line(search, line + 1, 1, err));
        }
        for (int64_t s = 0; s < across; s += step) {
            add_pixel(search, s, 0, 1);
        }
    }
    return search->found > 0 ? HC_OK
                             : hc_fail(err, HC_E_INPUT,
                                       "%s: no two pixels side by side have coordinates, which would say how "
                                       "large a pixel is",
                                       search->table->path);
}

static HcStatus choose_grid(Search *search, int64_t *lines, int64_t *samples, HcError *err) {
    const HcOrthoWindow *window = &search->table->window;
    HcOrthoGrid *grid = search->grid;
    grid->spacing = sqrt(median(search->area, search->found));
    grid->reach = 0.75 * median(search->diagonal, search->found);
    double across = floor((search->east - search->west) / grid->spacing + 0.5) + 1;
    double along = floor((search->north - search->south) / grid->spacing + 0.5) + 1;
    double pixels = (double)window->lines * (double)window->samples;
    if (!(across <= INT32_MAX && along <= INT32_MAX && across * along <= larger_most * (pixels + 1000))) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: coordinates from %.10g, %.10g to %.10g, %.10g with pixels of %.6g: a map of %.0f "
                       "lines x %.0f samples, too large for %.0f pixels",
                       search->table->path, search->west, search->south, search->east, search->north,
                       grid->spacing, along, across, pixels);
    }
    *samples = (int64_t)across;
    *lines = (int64_t)along;
    const double transform[6] = {search->west - grid->spacing / 2,
                                 grid->spacing,
                                 0,
                                 search->north + grid->spacing / 2,
                                 0,
                                 -grid->spacing};
    grid->place.has_transform = true;
    memcpy(grid->place.transform, transform, sizeof transform);
    return HC_OK;
}

/* ---- the search ---- */

/* Offers a pixel of the scene to those of the strip, which begins at line0 of the map. */
static void offer(Search *search, int64_t line0, int64_t lines, HcOrthoPixel from, double x, double y) {
    const HcOrthoTable *table = search->table;
    double spacing = search->grid->spacing, reach = search->grid->reach, shrink = search->shrink;
    double column = (x - search->west) / spacing, row = (search->north - y) / spacing - (double)line0;
    double wide = reach / shrink / spacing, high = reach / spacing;
    int64_t first = hc_max64(0, (int64_t)ceil(column - wide));
    int64_t last = hc_min64(table->samples - 1, (int64_t)floor(column + wide));
    int64_t top = hc_max64(0, (int64_t)ceil(row - high));
    int64_t bottom = hc_min64(lines - 1, (int64_t)floor(row + high));
    for (int64_t r = top; r <= bottom; r++) {
        double dy = ((double)r - row) * spacing;
        for (int64_t c = first; c <= last; c++) {
            double dx = ((double)c - column) * spacing * shrink;
            double square = dx * dx + dy * dy;
            int64_t at = r * table->samples + c;
            if (square <= reach * reach && (float)square < search->distance[at]) {
                search->distance[at] = (float)square;
                search->pixel[at] = from;
            }
        }
    }
}

static HcStatus fill_strip(Search *search, int64_t line0, int64_t lines, HcError *err) {
    const HcOrthoWindow *window = &search->table->window;
    const HcOrthoGrid *grid = search->grid;
    double north = search->north - ((double)line0 - 1) * grid->spacing + grid->reach;
    double south = search->north - (double)(line0 + lines) * grid->spacing - grid->reach;
    for (int64_t p = 0; p < lines * search->table->samples; p++) {
        search->pixel[p] = (HcOrthoPixel){-1, -1};
        search->distance[p] = INFINITY;
    }
    for (int64_t line = 0; line < window->lines; line++) {
        if (search->lowest[line] > north || search->highest[line] < south) {
            continue;
        }
        HC_OR_RETURN(read_line(search, line, 0, err));
        for (int64_t s = 0; s < window->samples; s++) {
            double x = search->x[0][s], y = search->y[0][s];
            if (is_known(search, x, y) && y <= north && y >= south) {
                offer(search, line0, lines, (HcOrthoPixel){(int32_t)line, (int32_t)s}, x, y);
            }
        }
    }
    return hc_ortho_table_put(search->table, line0, 0, lines, search->table->samples, search->pixel, err);
}

static HcStatus fill_table(Search *search, HcError *err) {
    HcOrthoTable *table = search->table;
    int64_t each = (int64_t)(sizeof *search->pixel + sizeof *search->distance);
    search->rows = hc_max64(1, hc_min64(table->lines, STRIP_BYTES / (each * table->samples)));
    HC_OR_RETURN(hc_new(search->pixel, search->rows * table->samples, "a lookup table", err));
    HC_OR_RETURN(hc_new(search->distance, search->rows * table->samples, "a lookup table", err));
    for (int64_t line = 0; line < table->lines; line += search->rows) {
        HC_OR_RETURN(fill_strip(search, line, hc_min64(search->rows, table->lines - line), err));
    }
    return HC_OK;
}

/* ---- both ---- */

static HcStatus take_memory(Search *search, HcError *err) {
    const HcOrthoWindow *window = &search->table->window;
    for (int i = 0; i < 2; i++) {
        HC_OR_RETURN(hc_new(search->x[i], window->samples, "coordinates", err));
        HC_OR_RETURN(hc_new(search->y[i], window->samples, "coordinates", err));
    }
    HC_OR_RETURN(hc_new(search->lowest, window->lines, "coordinates", err));
    HC_OR_RETURN(hc_new(search->highest, window->lines, "coordinates", err));
    HC_OR_RETURN(hc_new(search->area, AREAS_MAX, "coordinates", err));
    return hc_new(search->diagonal, AREAS_MAX, "coordinates", err);
}

static void clear(Search *search) {
    for (int i = 0; i < 2; i++) {
        free(search->x[i]);
        free(search->y[i]);
    }
    free(search->lowest);
    free(search->highest);
    free(search->area);
    free(search->diagonal);
    free(search->pixel);
    free(search->distance);
}

/* Coordinates without a system count as degrees if all could be. */
static bool is_geographic(const Search *search, const char *wkt) {
    if (wkt == NULL) {
        return search->west >= -180 && search->east <= 360 && search->south >= -90 && search->north <= 90;
    }
    HcGdalErrors messages;
    hc_gdal_catch(&messages);
    OGRSpatialReferenceH crs = OSRNewSpatialReference(wkt);
    bool is = crs != NULL && OSRIsGeographic(crs);
    OSRRelease(crs);
    hc_gdal_release();
    return is;
}

HcStatus hc_ortho_nearest(HcOrthoTable *table, const HcOrthoPlaces *places, const char *crs,
                          HcOrthoGrid *grid, HcError *err) {
    HcStatus status = HC_OK;
    const HcOrthoWindow *window = &table->window;
    Search search = {.table = table, .places = places, .grid = grid};
    int64_t lines = 0, samples = 0;
    *grid = (HcOrthoGrid){.geographic = false};
    if (places->lines != window->file_lines || places->samples != window->file_samples) {
        return hc_fail(err, HC_E_INPUT,
                       "%s: has coordinates of %" PRId64 " lines x %" PRId64
                       " samples, the scene has %" PRId64 " x %" PRId64,
                       table->path, places->lines, places->samples, window->file_lines, window->file_samples);
    }
    HC_TRY(take_memory(&search, err));
    if (crs == NULL) {
        HC_TRY(measure_extent(&search, err));
    }
    grid->geographic = is_geographic(&search, crs);
    HC_TRY(measure_extent(&search, err));
    HC_TRY(measure_pixels(&search, err));
    HC_TRY(choose_grid(&search, &lines, &samples, err));
    HC_TRY(hc_ortho_table_open(table, lines, samples, err));
    HC_TRY(fill_table(&search, err));
done:
    clear(&search);
    return status;
}
