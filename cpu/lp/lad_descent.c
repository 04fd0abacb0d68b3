/* The descent of one pixel along the edges of f, from corner to corner (Barrodale and Roberts 1973; seen from
 * the bounded dual program, a dual simplex with the ratio test that flips bounds). On an edge one row leaves
 * the basis; f falls until the rows whose residuals change their signs have made its slope positive, and the
 * last of them enters the basis: many bands are passed in one pivot. */
#include "cpu/lp/lad.h"

#include <math.h>
#include <string.h>

enum { LANES = HC_LAD_LANES };

/* Where the compiler does not find the vectors by itself. */
typedef double Lanes
    __attribute__((vector_size(LANES * sizeof(double)), aligned(LANES * sizeof(double)), may_alias));
typedef int64_t LaneMask __attribute__((vector_size(LANES * sizeof(double))));
#define CHOOSE(mask, a, b) ((Lanes)(((mask) & (LaneMask)(a)) | (~(mask) & (LaneMask)(b))))

/* out = right - sum over k of factor[k] column[k]; right == NULL is 0. */
HC_CLONES static void subtract_columns(const double *column, int64_t rows, int64_t count, const double *right,
                                       const double *factor, double *restrict out) {
    int64_t used[HC_LAD_ENDMEMBERS_MAX];
    int64_t n = 0;
    int64_t i = 0;
    for (int64_t k = 0; k < count; k++) {
        used[n] = k;
        n += factor[k] != 0;
    }
    if (right != NULL) {
        memcpy(out, right, (size_t)rows * sizeof *out);
    } else {
        memset(out, 0, (size_t)rows * sizeof *out);
    }
    for (; i + 4 <= n; i += 4) {
        const double *restrict a = column + used[i] * rows;
        const double *restrict b = column + used[i + 1] * rows;
        const double *restrict c = column + used[i + 2] * rows;
        const double *restrict d = column + used[i + 3] * rows;
        double fa = factor[used[i]];
        double fb = factor[used[i + 1]];
        double fc = factor[used[i + 2]];
        double fd = factor[used[i + 3]];
        for (int64_t r = 0; r < rows; r++) {
            out[r] -= (fa * a[r] + fb * b[r]) + (fc * c[r] + fd * d[r]);
        }
    }
    for (; i < n; i++) {
        const double *restrict a = column + used[i] * rows;
        double fa = factor[used[i]];
        for (int64_t r = 0; r < rows; r++) {
            out[r] -= fa * a[r];
        }
    }
}

/* out = sum over i of vector[i] row[i], of the rows [0, count). */
HC_CLONES static void add_rows(const double *row, int64_t count, int64_t width, const double *vector,
                               double *restrict out) {
    memset(out, 0, (size_t)width * sizeof *out);
    for (int64_t l = 0; l < width; l += LANES) {
        double a[LANES] = {0};
        double b[LANES] = {0};
        double c[LANES] = {0};
        double d[LANES] = {0};
        const double *from = row + l;
        int64_t i = 0;
        for (; i + 4 <= count; i += 4, from += 4 * width) {
            for (int64_t j = 0; j < LANES; j++) {
                a[j] += vector[i] * from[j];
                b[j] += vector[i + 1] * from[width + j];
                c[j] += vector[i + 2] * from[2 * width + j];
                d[j] += vector[i + 3] * from[3 * width + j];
            }
        }
        for (; i < count; i++, from += width) {
            for (int64_t j = 0; j < LANES; j++) {
                a[j] += vector[i] * from[j];
            }
        }
        for (int64_t j = 0; j < LANES; j++) {
            out[l + j] = (a[j] + b[j]) + (c[j] + d[j]);
        }
    }
}

/* u of the rows: 0 in the basis. */
HC_CLONES static void form_slopes(int64_t rows, const double *side, const double *low, const double *high,
                                  double *restrict slope) {
    for (int64_t i = 0; i < rows; i++) {
        double outside = side[i] > 0 ? high[i] : low[i];
        slope[i] = side[i] != 0 ? outside : 0;
    }
}

HC_CLONES static double largest_of(const double *values, int64_t rows) {
    double lane[LANES] = {0};
    for (int64_t i = 0; i < rows; i += LANES) {
        for (int64_t l = 0; l < LANES; l++) {
            double value = fabs(values[i + l]);
            lane[l] = value > lane[l] ? value : lane[l];
        }
    }
    for (int64_t l = 1; l < LANES; l++) {
        lane[0] = lane[l] > lane[0] ? lane[l] : lane[0];
    }
    return lane[0];
}

HC_CLONES static double sum_of(const double *values, int64_t rows) {
    double lane[LANES] = {0};
    for (int64_t i = 0; i < rows; i += LANES) {
        for (int64_t l = 0; l < LANES; l++) {
            lane[l] += fabs(values[i + l]);
        }
    }
    for (int64_t l = 1; l < LANES; l++) {
        lane[0] += lane[l];
    }
    return lane[0];
}

/* Where residuals become 0 on the edge: t / (t + unit) of the step t, so that places are spread evenly. */
HC_CLONES static void find_places(int64_t rows, const double *side, const double *residual,
                                  const double *speed, const double *range, double unit, double least,
                                  double *restrict place, double *restrict gain) {
    for (int64_t i = 0; i < rows; i++) {
        double towards = -side[i] * speed[i];
        double away = side[i] * residual[i];
        away = away > 0 ? away : 0;
        double quotient = away / (away + unit * towards);
        bool enters = towards > least;
        place[i] = enters ? quotient : 2;
        gain[i] = enters ? range[i] * towards : 0;
    }
}

/* What lies up to a place of the edge. */
typedef struct Probe {
    double gain;         /* the sum of all up to it */
    double below, above; /* the nearest row up to it (-1 = none) and the first beyond (2 = none) */
} Probe;

HC_CLONES static void probe(int64_t rows, const double *place, const double *gain, double at, Probe *out) {
    Lanes sum = {0};
    Lanes below = {0};
    Lanes above = {0};
    below -= 1;
    above += 2;
    Lanes none = below;
    Lanes end = above;
    for (int64_t i = 0; i < rows; i += LANES) {
        Lanes here = *(const Lanes *)(place + i);
        Lanes grown = *(const Lanes *)(gain + i);
        LaneMask within = here <= at;
        Lanes before = CHOOSE(within, here, none);
        Lanes behind = CHOOSE(within, end, here);
        sum += (Lanes)(within & (LaneMask)grown);
        below = CHOOSE(before > below, before, below);
        above = CHOOSE(behind < above, behind, above);
    }
    *out = (Probe){sum[0], below[0], above[0]};
    for (int64_t l = 1; l < LANES; l++) {
        out->gain += sum[l];
        out->below = below[l] > out->below ? below[l] : out->below;
        out->above = above[l] < out->above ? above[l] : out->above;
    }
}

/* The first place up to which the gains are `need`: a weighted median. 2 = there is none at all. Between a
 * place with less and one with enough, the next one to look at is on the line through both; the end that
 * stays counts by half (the Illinois method: Dowell and Jarratt 1971). */
static double find_stop(int64_t rows, const double *place, const double *gain, double need) {
    Probe here;
    probe(rows, place, gain, 1, &here);
    double low = 0;
    double first = 0; /* no row lies between low and it */
    double high = here.below;
    double lack = need;
    double excess = here.gain - need;
    bool enough = true; /* the last one had */
    if (high < 0) {
        return 2;
    }
    /* Where only rounding keeps all gains from being enough, the last one is. */
    while (excess >= 0 && first < high) {
        double at = low + (high - low) * (lack / (lack + excess));
        at = at > first ? at : first;
        at = at < high ? at : first;
        probe(rows, place, gain, at, &here);
        if (here.gain >= need) {
            lack = enough ? lack / 2 : lack;
            high = here.below;
            excess = here.gain - need;
        } else {
            excess = enough ? excess : excess / 2;
            low = at;
            lack = need - here.gain;
            first = here.above;
        }
        enough = here.gain >= need;
    }
    return high;
}

/* Rows up to a place: list[] of them; *sum = their gains. */
static int32_t list_rows(int64_t rows, const double *place, const double *gain, double at, int32_t *list,
                         double *sum) {
    int32_t count = 0;
    for (int64_t i = 0; i < rows; i++) {
        list[count] = (int32_t)i;
        count += place[i] <= at;
    }
    *sum = 0;
    for (int32_t p = 0; p < count; p++) {
        *sum += gain[list[p]];
    }
    return count;
}

/* Lists rows up to a place where the gains are `need`, and moves their places and gains to the beginning,
 * filled up with rows that lie nowhere. Most pivots pass few rows; gains grow about as the place squared. */
static int32_t take_near_rows(int64_t rows, double *place, double *gain, double need, int32_t *list) {
    double at = fmax(2 * sqrt(need / sum_of(gain, rows)), 0x1p-60);
    double sum;
    int32_t count = list_rows(rows, place, gain, fmin(at, 1), list, &sum);
    while (at < 1 && !(sum >= need)) {
        at *= 3;
        count = list_rows(rows, place, gain, fmin(at, 1), list, &sum);
    }
    for (int32_t p = 0; p < count; p++) {
        place[p] = place[list[p]];
        gain[p] = gain[list[p]];
    }
    for (int32_t p = count; p % LANES != 0; p++) {
        place[p] = 2;
        gain[p] = 0;
    }
    return count;
}

HC_CLONES static void add_multiple(int64_t n, double factor, const double *from, double *restrict to) {
    for (int64_t i = 0; i < n; i++) {
        to[i] += factor * from[i];
    }
}

/* length = squared lengths of the columns. */
HC_CLONES static void measure_columns(const double *inverse, int64_t count, int64_t width,
                                      double *restrict length) {
    memset(length, 0, (size_t)width * sizeof *length);
    for (int64_t k = 0; k < count; k++) {
        for (int64_t j = 0; j < width; j++) {
            length[j] += inverse[k * width + j] * inverse[k * width + j];
        }
    }
}

/* Column `gone` of the basis becomes another row, whose product with the inverse is `entering`. */
HC_CLONES static void change_inverse(int64_t count, int64_t width, const double *entering, int64_t gone,
                                     double *restrict inverse) {
    double pivot = entering[gone];
    for (int64_t k = 0; k < count; k++) {
        double *restrict row = inverse + k * width;
        double factor = row[gone] / pivot;
        if (factor != 0) {
            for (int64_t j = 0; j < width; j++) {
                row[j] -= factor * entering[j];
            }
        }
        row[gone] = factor;
    }
}

/* inverse = that of the rows of the basis; false where they are dependent. */
static bool invert(const HcLad *lad, const int32_t *basis, double *square, double *inverse) {
    int64_t n = lad->problem.endmembers;
    int64_t width = lad->problem.width;
    int64_t across = 2 * width;
    memset(square, 0, (size_t)(n * across) * sizeof *square);
    for (int64_t j = 0; j < n; j++) {
        memcpy(square + j * across, lad->problem.row + basis[j] * width, (size_t)width * sizeof *square);
        square[j * across + width + j] = 1;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t best = k;
        for (int64_t j = k + 1; j < n; j++) {
            best = fabs(square[j * across + k]) > fabs(square[best * across + k]) ? j : best;
        }
        double pivot = square[best * across + k];
        if (!(fabs(pivot) > 0)) {
            return false;
        }
        for (int64_t i = 0; i < across; i++) {
            double value = square[best * across + i];
            square[best * across + i] = square[k * across + i];
            square[k * across + i] = value / pivot;
        }
        for (int64_t j = 0; j < n; j++) {
            double factor = -square[j * across + k];
            if (j != k && factor != 0) {
                add_multiple(across, factor, square + k * across, square + j * across);
            }
        }
    }
    for (int64_t k = 0; k < n; k++) {
        memcpy(inverse + k * width, square + k * across + width, (size_t)width * sizeof *inverse);
    }
    return true;
}

static void begin_cold(const HcLad *lad, HcLadWorkspace *work) {
    size_t n = (size_t)lad->problem.endmembers;
    memcpy(work->basis, lad->problem.basis, n * sizeof *work->basis);
    memcpy(work->inverse, lad->problem.inverse, n * (size_t)lad->problem.width * sizeof *work->inverse);
}

static void make_inverse(const HcLad *lad, HcLadWorkspace *work) {
    if (!invert(lad, work->basis, work->square, work->inverse)) {
        begin_cold(lad, work);
    }
}

/* point += the inverse times the basis' entries of `vector`. */
static void add_solution(const HcLad *lad, const HcLadWorkspace *work, const double *vector, double *point) {
    int64_t n = lad->problem.endmembers;
    for (int64_t k = 0; k < n; k++) {
        double sum = 0;
        for (int64_t j = 0; j < n; j++) {
            sum += work->inverse[k * lad->problem.width + j] * vector[work->basis[j]];
        }
        point[k] += sum;
    }
}

/* The point of the basis, once more corrected by what it leaves of the residuals of the basis: where
 * endmembers are much alike, x is far larger than what it explains. Returns what it left before. */
static double find_point(const HcLad *lad, HcLadWorkspace *work, const double *right) {
    int64_t n = lad->problem.endmembers;
    double left = 0;
    memset(work->point, 0, (size_t)n * sizeof *work->point);
    add_solution(lad, work, right, work->point);
    subtract_columns(lad->column, lad->problem.rows, n, right, work->point, work->residual);
    for (int64_t j = 0; j < n; j++) {
        left = fmax(left, fabs(work->residual[work->basis[j]]));
    }
    add_solution(lad, work, work->residual, work->point);
    return left;
}

/* price = minus the inverse's columns times the pull. */
static void find_prices(const HcLad *lad, const double *pull, const double *inverse, double *price) {
    add_rows(inverse, lad->problem.endmembers, lad->problem.width, pull, price);
    for (int64_t j = 0; j < lad->problem.width; j++) {
        price[j] = -price[j];
    }
}

/* The corner of the basis, with sides by the signs of the residuals. */
static void take_corner(const HcLad *lad, HcLadWorkspace *work) {
    int64_t n = lad->problem.endmembers;
    if (!(find_point(lad, work, work->moved) <= HC_LAD_DRIFT * work->size)) {
        make_inverse(lad, work);
        find_point(lad, work, work->moved);
    }
    subtract_columns(lad->column, lad->problem.rows, n, work->moved, work->point, work->residual);
    for (int64_t i = 0; i < lad->problem.rows; i++) {
        work->side[i] = work->residual[i] > 0 ? 1 : -1;
    }
    for (int64_t j = 0; j < n; j++) {
        work->side[work->basis[j]] = 0;
        work->residual[work->basis[j]] = 0;
    }
    form_slopes(lad->problem.rows, work->side, work->low, work->high, work->slope);
    add_rows(lad->problem.row, lad->problem.rows, lad->problem.width, work->slope, work->pull);
}

/* The row of the basis whose edge is the steepest: its place in the basis, and by how much its price is
 * beyond its bounds, with the sign of its residual on the edge. -1 = f is least here. */
static int32_t choose_edge(const HcLad *lad, const HcLadWorkspace *work, double *excess) {
    int32_t chosen = -1;
    double steepest = 0;
    for (int32_t j = 0; j < lad->problem.endmembers; j++) {
        int32_t i = work->basis[j];
        double over = work->price[j] - work->high[i];
        double under = work->low[i] - work->price[j];
        double here = over > under ? over : under;
        double steep = here * here / work->length[j];
        double least = HC_LAD_SLACK * (i < lad->problem.bands ? 1 : lad->problem.most);
        if (here > least && steep > steepest) {
            steepest = steep;
            chosen = j;
            *excess = over > under ? here : -here;
        }
    }
    return chosen;
}

/* Row `enters` takes place j of the basis. */
static void change_basis(const HcLad *lad, HcLadWorkspace *work, int32_t j, int32_t enters) {
    int64_t width = lad->problem.width;
    double entering[HC_LAD_ENDMEMBERS_MAX];
    double slope = work->side[enters] > 0 ? work->high[enters] : work->low[enters];
    add_multiple(width, -slope, lad->problem.row + enters * width, work->pull);
    add_rows(work->inverse, lad->problem.endmembers, width, lad->problem.row + enters * width, entering);
    change_inverse(lad->problem.endmembers, width, entering, j, work->inverse);
    work->basis[j] = enters;
    work->side[enters] = 0;
    work->residual[enters] = 0;
}

/* Turns the listed rows before the stop to their other sides. Returns the fastest that lies at it. */
static int32_t pass_rows(const HcLad *lad, HcLadWorkspace *work, double stop, const int32_t *list,
                         int32_t listed) {
    int32_t fastest = -1;
    for (int32_t p = 0; p < listed; p++) {
        int32_t i = list[p];
        if (work->place[p] < stop) {
            add_multiple(lad->problem.width, -work->side[i] * work->range[i],
                         lad->problem.row + i * lad->problem.width, work->pull);
            work->side[i] = -work->side[i];
        } else if (work->place[p] <= stop &&
                   (fastest < 0 || fabs(work->speed[i]) > fabs(work->speed[fastest]))) {
            fastest = i;
        }
    }
    return fastest;
}

/* Along the edge on which row j of the basis gets a residual of that sign, to where f is least. False where
 * no other row can take its place. */
static bool descend(const HcLad *lad, HcLadWorkspace *work, int32_t j, double excess) {
    int64_t n = lad->problem.endmembers;
    int64_t rows = lad->problem.rows;
    int64_t width = lad->problem.width;
    int32_t gone = work->basis[j];
    double sign = excess > 0 ? 1 : -1;
    int32_t list[HC_LAD_BANDS_MAX + 2 * HC_LAD_ENDMEMBERS_MAX];
    for (int64_t k = 0; k < n; k++) {
        work->edge[k] = -sign * work->inverse[k * width + j];
    }
    subtract_columns(lad->column, rows, n, NULL, work->edge, work->speed);
    double unit = sum_of(work->residual, rows) / sum_of(work->speed, rows);
    find_places(rows, work->side, work->residual, work->speed, work->range, fmax(unit, 0x1p-900),
                HC_LAD_PIVOT * largest_of(work->speed, rows), work->place, work->gain);
    int32_t listed = take_near_rows(rows, work->place, work->gain, fabs(excess), list);
    if (listed == 0) {
        return false;
    }
    double stop = find_stop(listed, work->place, work->gain, fabs(excess));
    int32_t enters = pass_rows(lad, work, stop, list, listed);
    double step = fmax(-work->residual[enters] / work->speed[enters], 0);
    add_multiple(rows, step, work->speed, work->residual);
    change_basis(lad, work, j, enters);
    work->side[gone] = sign;
    work->residual[gone] = sign * step;
    add_multiple(width, sign > 0 ? work->high[gone] : work->low[gone], lad->problem.row + gone * width,
                 work->pull);
    return true;
}

/* Pivots until f is minimal or the limit is reached. */
static void go_down(const HcLad *lad, HcLadWorkspace *work, int64_t limit) {
    double excess = 0;
    take_corner(lad, work);
    for (int64_t pivots = 0; pivots < limit; pivots++) {
        measure_columns(work->inverse, lad->problem.endmembers, lad->problem.width, work->length);
        find_prices(lad, work->pull, work->inverse, work->price);
        int32_t j = choose_edge(lad, work, &excess);
        if (j < 0 || !descend(lad, work, j, excess)) {
            break;
        }
        work->pivots++;
    }
}

/* point: what rounding and the moved right sides left of violations is taken away. */
static void make_feasible(const HcLad *lad, HcLadWorkspace *work) {
    int32_t n = lad->problem.endmembers;
    int32_t bands = lad->problem.bands;
    double sum = 0;
    for (int32_t j = 0; j < n; j++) {
        if (work->basis[j] >= bands && work->basis[j] < bands + n) {
            work->point[work->basis[j] - bands] = 0;
        }
    }
    for (int32_t k = 0; k < n; k++) {
        work->point[k] = work->point[k] > 0 && isfinite(work->point[k]) ? work->point[k] : 0;
        sum += work->point[k] / lad->problem.scale[k];
    }
    bool changes = lad->problem.sum == HC_SUM_ONE || (lad->problem.sum == HC_SUM_AT_MOST_ONE && sum > 1);
    if (changes && sum == 0) {
        work->point[0] = lad->problem.scale[0];
    } else if (changes) {
        for (int32_t k = 0; k < n; k++) {
            work->point[k] /= sum;
        }
    }
}

/* slope: those of the bands, within their bounds; 0 of all other rows. */
static void find_dual(const HcLad *lad, HcLadWorkspace *work) {
    int64_t n = lad->problem.endmembers;
    int32_t bands = lad->problem.bands;
    double left[HC_LAD_ENDMEMBERS_MAX];
    form_slopes(lad->problem.rows, work->side, work->low, work->high, work->slope);
    for (int refined = 0; refined < 2; refined++) {
        add_rows(lad->problem.row, lad->problem.rows, lad->problem.width, work->slope, work->pull);
        find_prices(lad, work->pull, work->inverse, left);
        for (int64_t j = 0; j < n; j++) {
            work->slope[work->basis[j]] += left[j];
        }
    }
    for (int64_t j = 0; j < n; j++) {
        int32_t i = work->basis[j];
        work->slope[i] = fmin(fmax(work->slope[i], work->low[i]), work->high[i]);
    }
    memset(work->slope + bands, 0, (size_t)(lad->problem.rows - bands) * sizeof *work->slope);
}

/* The largest relative violation of sum over the bands of u_b E_kb <= 0, which `price` holds. */
static double violation(const HcLad *lad, const HcLadWorkspace *work) {
    double largest = 0;
    for (int64_t k = 0; k < lad->problem.endmembers; k++) {
        const double *column = lad->column + k * lad->problem.rows;
        double size = 0;
        for (int64_t b = 0; work->price[k] > 0 && b < lad->problem.bands; b++) {
            size += fabs(work->slope[b] * column[b]);
        }
        largest = work->price[k] > 0 ? fmax(largest, work->price[k] / size) : largest;
    }
    return largest;
}

/* Sums over the bands. */
typedef struct Sums {
    double primal, dual, size, deviation; /* of w |r|, u y, w |y| and |r| */
} Sums;

HC_CLONES static void add_bands(int64_t rows, const double *weight, const double *used, const double *pixel,
                                const double *slope, const double *residual, Sums *out) {
    double primal[LANES] = {0};
    double dual[LANES] = {0};
    double size[LANES] = {0};
    double deviation[LANES] = {0};
    for (int64_t i = 0; i < rows; i += LANES) {
        for (int64_t l = 0; l < LANES; l++) {
            double apart = fabs(residual[i + l]);
            primal[l] += weight[i + l] * apart;
            dual[l] += slope[i + l] * pixel[i + l];
            size[l] += weight[i + l] * fabs(pixel[i + l]);
            deviation[l] += used[i + l] * apart;
        }
    }
    *out = (Sums){0};
    for (int64_t l = 0; l < LANES; l++) {
        out->primal += primal[l];
        out->dual += dual[l];
        out->size += size[l];
        out->deviation += deviation[l];
    }
}

/* The best price of the sum that the slopes of the bands, whose products with the endmembers are `price`,
 * allow: price_k + it times the row of the sum <= 0 for all k. */
static double price_of_sum(const HcLad *lad, const double *price) {
    const double *share = lad->problem.row + hc_lad_sum_row(&lad->problem) * lad->problem.width;
    double best = lad->problem.sum == HC_SUM_ONE ? INFINITY : 0;
    for (int64_t k = 0; k < lad->problem.endmembers; k++) {
        best = fmin(best, -price[k] / share[k]);
    }
    return best;
}

/* The report on the pixel, from the abundances and the dual solution alone. */
static void prove(const HcLad *lad, HcLadWorkspace *work) {
    HcLadSum sum = lad->problem.sum;
    double total = 0;
    double broken = 0;
    Sums sums;
    subtract_columns(lad->column, lad->problem.rows, lad->problem.endmembers, work->pixel, work->point,
                     work->residual);
    add_rows(lad->problem.row, lad->problem.bands, lad->problem.width, work->slope, work->price);
    add_bands(lad->problem.rows, work->weight, work->used, work->pixel, work->slope, work->residual, &sums);
    for (int64_t k = 0; k < lad->problem.endmembers; k++) {
        work->abundance[k] = work->point[k] / lad->problem.scale[k];
        total += work->abundance[k];
    }
    if (sum == HC_SUM_FREE) {
        broken = violation(lad, work);
    } else {
        sums.dual += price_of_sum(lad, work->price) * lad->problem.right[hc_lad_sum_row(&lad->problem)];
        broken = sum == HC_SUM_ONE ? fabs(total - 1) : fmax(total - 1, 0);
    }
    double gap = fabs(sums.primal - sums.dual);
    double least = HC_LAD_TINIEST * fmax(sums.size, lad->problem.mixture);
    gap = gap > 0 ? gap / fmax(sums.primal, least) : gap;
    work->report = (HcLadReport){.deviation = sums.deviation / work->finite,
                                 .primal = sums.primal * lad->problem.weight_unit,
                                 .dual = sums.dual * lad->problem.weight_unit,
                                 .error = isfinite(gap + broken) ? fmax(gap, broken) : INFINITY};
}

/* Abundances and the proof of the corner that was found, of the right sides as they are. */
static void certify(const HcLad *lad, HcLadWorkspace *work) {
    find_point(lad, work, work->pixel);
    make_feasible(lad, work);
    find_dual(lad, work);
    prove(lad, work);
}

/* Keeps the point with the least error of all rounds; all points are feasible. */
static void keep_best(const HcLad *lad, HcLadWorkspace *work, bool first) {
    size_t bytes = (size_t)lad->problem.endmembers * sizeof *work->best;
    if (first || work->report.error < work->best_report.error) {
        work->best_report = work->report;
        memcpy(work->best, work->abundance, bytes);
    } else {
        work->report = work->best_report;
        memcpy(work->abundance, work->best, bytes);
    }
}

void hc_lad_solve(const HcLad *lad, HcLadWorkspace *work) {
    if (!work->warm) {
        begin_cold(lad, work);
        work->warm = true;
    }
    work->pivots = 0;
    for (int round = 0; round < HC_LAD_ROUNDS; round++) {
        double nudge = round == 1 ? 0 : HC_LAD_NUDGE * (double)(1 << 3 * round) * work->size;
        memcpy(work->moved, work->pixel, (size_t)lad->problem.rows * sizeof *work->moved);
        add_multiple(lad->problem.rows, nudge, lad->problem.nudge, work->moved);
        go_down(lad, work, hc_min64(lad->problem.limit - work->pivots, lad->problem.usual));
        certify(lad, work);
        keep_best(lad, work, round == 0);
        if (work->report.error <= HC_LAD_PROOF || work->pivots >= lad->problem.limit) {
            break;
        }
        if (round == 0) {
            begin_cold(lad, work);
        } else {
            make_inverse(lad, work);
        }
    }
}
