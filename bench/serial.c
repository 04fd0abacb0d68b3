/* The reference of `hcube bench`: plain loops on one core, so that a reader can check them by eye. Sums go
 * to wide integers before they could round, eigenvalues come from one-sided Jacobi rotations of a Cholesky
 * factor. Apart from the moments of core/ they share no code with the backends that they judge. */
#include "bench/serial.h"
#include "core/allocate.h"

#include <math.h>
#include <stdlib.h>

/* Pixels that are summed in float64 before the sums go to wide integers: 2^13 products of at most 2^40 stay
 * below 2^53. */
enum { CHUNK = 8192 };

void hc_serial_decode(const uint16_t *raw, int64_t lines, int32_t samples, int32_t bands, float *x) {
    for (int64_t line = 0; line < lines; line++) {
        for (int64_t sample = 0; sample < samples; sample++) {
            for (int64_t band = 0; band < bands; band++) {
                *x++ = (float)raw[(line * bands + band) * samples + sample];
            }
        }
    }
}

/* Sums of some pixels, not yet in the moments. */
typedef struct Narrow {
    int32_t bands;
    int64_t count;
    double *pixel;   /* [bands] */
    double *sum;     /* [bands] */
    double *product; /* [bands][bands], the upper triangle */
} Narrow;

static HcStatus narrow_open(Narrow *narrow, int32_t bands, HcError *err) {
    size_t n = (size_t)bands;
    *narrow = (Narrow){.bands = bands};
    HC_OR_RETURN(hc_new(narrow->pixel, n * (n + 2), "the serial sums", err));
    narrow->sum = narrow->pixel + n;
    narrow->product = narrow->sum + n;
    return HC_OK;
}

static void narrow_close(Narrow *narrow) {
    free(narrow->pixel);
}

static void drain(Narrow *narrow, HcMoments *moments) {
    size_t n = (size_t)narrow->bands;
    for (size_t i = 0; i < n; i++) {
        moments->sum[i] += (HcWide)narrow->sum[i];
        narrow->sum[i] = 0;
        for (size_t j = i; j < n; j++) {
            moments->product[i * n + j] += (HcWide)narrow->product[i * n + j];
            moments->product[j * n + i] = moments->product[i * n + j];
            narrow->product[i * n + j] = 0;
        }
    }
    moments->count += narrow->count;
    narrow->count = 0;
}

static void add_pixel(Narrow *narrow, const float *x, HcMoments *moments) {
    size_t n = (size_t)narrow->bands;
    double *pixel = narrow->pixel;
    for (size_t i = 0; i < n; i++) {
        pixel[i] = (double)x[i];
    }
    for (size_t i = 0; i < n; i++) {
        double *row = narrow->product + i * n;
        narrow->sum[i] += pixel[i];
        for (size_t j = i; j < n; j++) {
            row[j] += pixel[i] * pixel[j];
        }
    }
    if (++narrow->count == CHUNK) {
        drain(narrow, moments);
    }
}

HcStatus hc_serial_gram(const float *x, int64_t pixels, int32_t bands, HcMoments *moments, HcError *err) {
    Narrow narrow;
    HC_OR_RETURN(narrow_open(&narrow, bands, err));
    for (int64_t p = 0; p < pixels; p++) {
        add_pixel(&narrow, x + p * bands, moments);
    }
    drain(&narrow, moments);
    narrow_close(&narrow);
    return HC_OK;
}

/* centre: the pixel in x[][samples][bands]. */
static void difference(const float *centre, int32_t samples, int32_t bands, float *out) {
    int64_t line = (int64_t)samples * bands;
    for (int64_t b = 0; b < bands; b++) {
        float sum = 0;
        for (int64_t dy = -1; dy <= 1; dy++) {
            for (int64_t dx = -1; dx <= 1; dx++) {
                sum += centre[dy * line + dx * bands + b];
            }
        }
        out[b] = 9 * centre[b] - sum;
    }
}

HcStatus hc_serial_gram_mean3x3(const float *x, int64_t lines, int32_t samples, int32_t bands,
                                HcMoments *moments, HcError *err) {
    HcStatus status = HC_OK;
    Narrow narrow = {0};
    float *d = NULL;
    HC_TRY(hc_new(d, bands, "a difference", err));
    HC_TRY(narrow_open(&narrow, bands, err));
    for (int64_t line = 1; line < lines - 1; line++) {
        for (int64_t sample = 1; sample < samples - 1; sample++) {
            difference(x + (line * samples + sample) * bands, samples, bands, d);
            add_pixel(&narrow, d, moments);
        }
    }
    drain(&narrow, moments);
done:
    narrow_close(&narrow);
    free(d);
    return status;
}

void hc_serial_project(const float *x, int64_t pixels, int32_t bands, const double *mean,
                       const double *matrix, int32_t components, float *y) {
    for (int64_t p = 0; p < pixels; p++) {
        for (int64_t k = 0; k < components; k++) {
            double sum = 0;
            for (int64_t b = 0; b < bands; b++) {
                sum += ((double)x[p * bands + b] - mean[b]) * matrix[b * components + k];
            }
            y[p * components + k] = (float)sum;
        }
    }
}

static double product(const float *a, const float *b, int32_t bands) {
    double sum = 0;
    for (int64_t i = 0; i < bands; i++) {
        sum += (double)a[i] * (double)b[i];
    }
    return sum;
}

static double square_apart(const float *a, const float *b, int32_t bands) {
    double sum = 0;
    for (int64_t i = 0; i < bands; i++) {
        double apart = (double)a[i] - (double)b[i];
        sum += apart * apart;
    }
    return sum;
}

/* Puts number j among the `found` nearest so far, of at most k; what came first stays before its equals. */
static void keep(int32_t *index, double *distance, int32_t found, int32_t k, int32_t j, double apart) {
    int32_t at = found;
    if (found == k && apart >= distance[k - 1]) {
        return;
    }
    at -= found == k ? 1 : 0;
    for (; at > 0 && distance[at - 1] > apart; at--) {
        distance[at] = distance[at - 1];
        index[at] = index[at - 1];
    }
    distance[at] = apart;
    index[at] = j;
}

HcStatus hc_serial_knn(const float *x, int64_t pixels, int32_t bands, const float *spectra, int64_t count,
                       HcMetric metric, int32_t k, int32_t *index, double *distance, HcError *err) {
    double *norm = NULL;
    HC_OR_RETURN(hc_new(norm, count, "the lengths of training spectra", err));
    for (int64_t j = 0; j < count; j++) {
        const float *t = spectra + j * bands;
        norm[j] = metric == HC_METRIC_ANGLE ? sqrt(product(t, t, bands)) : 1;
    }
    for (int64_t p = 0; p < pixels; p++, x += bands, index += k, distance += k) {
        double length = metric == HC_METRIC_ANGLE ? sqrt(product(x, x, bands)) : 1;
        for (int64_t j = 0; j < count; j++) {
            const float *t = spectra + j * bands;
            double apart = 0;
            if (metric == HC_METRIC_EUCLIDEAN) {
                apart = square_apart(x, t, bands);
            } else if (length > 0 && norm[j] > 0) {
                apart = -product(x, t, bands) / (length * norm[j]);
            }
            keep(index, distance, j < k ? (int32_t)j : k, k, (int32_t)j, apart);
        }
    }
    free(norm);
    return HC_OK;
}

/* Rows of the largest diagonal entries first. */
static void sort_rows(const double *matrix, size_t n, size_t *order) {
    for (size_t i = 0; i < n; i++) {
        size_t at = i;
        for (; at > 0 && matrix[order[at - 1] * (n + 1)] < matrix[i * (n + 1)]; at--) {
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

/* columns[n][n]: column k of the lower triangular factor of the matrix in that order. */
static bool factorise(const double *matrix, size_t n, const size_t *order, double *columns) {
    for (size_t k = 0; k < n; k++) {
        double *column = columns + k * n;
        for (size_t i = k; i < n; i++) {
            column[i] = matrix[order[i] * n + order[k]];
        }
        for (size_t j = 0; j < k; j++) {
            const double *earlier = columns + j * n;
            for (size_t i = k; i < n; i++) {
                column[i] -= earlier[i] * earlier[k];
            }
        }
        if (!(column[k] > 0)) {
            return false;
        }
        double root = sqrt(column[k]);
        for (size_t i = k; i < n; i++) {
            column[i] /= root;
        }
    }
    return true;
}

static double dot(const double *a, const double *b, size_t n) {
    double sum[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4) {
        for (size_t k = 0; k < 4; k++) {
            sum[k] += a[i + k] * b[i + k];
        }
    }
    for (; i < n; i++) {
        sum[0] += a[i] * b[i];
    }
    return sum[0] + sum[1] + (sum[2] + sum[3]);
}

/* Turns two columns until they are orthogonal; false where they are already, to rounding. */
static bool rotate(double *a, double *b, size_t n) {
    double aa = dot(a, a, n);
    double bb = dot(b, b, n);
    double ab = dot(a, b, n);
    if (fabs(ab) <= (double)n * 0x1p-53 * sqrt(aa) * sqrt(bb)) {
        return false;
    }
    double zeta = (bb - aa) / (2 * ab);
    double t = copysign(1 / (fabs(zeta) + sqrt(1 + zeta * zeta)), zeta);
    double c = 1 / sqrt(1 + t * t);
    double s = c * t;
    for (size_t i = 0; i < n; i++) {
        double turned = c * a[i] - s * b[i];
        b[i] = s * a[i] + c * b[i];
        a[i] = turned;
    }
    return true;
}

static int compare_descending(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x < y) - (x > y);
}

HcStatus hc_serial_eigenvalues(const double *matrix, int32_t n, double *values, HcError *err) {
    enum { SWEEPS = 60 };
    HcStatus status = HC_OK;
    size_t rows = (size_t)n;
    size_t *order = NULL;
    double *columns = NULL;
    HC_TRY(hc_new(order, rows, "a matrix", err));
    HC_TRY(hc_new(columns, rows * rows, "a matrix", err));
    sort_rows(matrix, rows, order);
    if (!factorise(matrix, rows, order, columns)) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "a matrix of %d rows is not positive definite", n));
    }
    bool turned = true;
    for (int sweep = 0; sweep < SWEEPS && turned; sweep++) {
        turned = false;
        for (size_t a = 0; a < rows; a++) {
            for (size_t b = a + 1; b < rows; b++) {
                turned = rotate(columns + a * rows, columns + b * rows, rows) || turned;
            }
        }
    }
    for (size_t k = 0; k < rows; k++) {
        values[k] = dot(columns + k * rows, columns + k * rows, rows);
    }
    qsort(values, rows, sizeof *values, compare_descending);
done:
    free(order);
    free(columns);
    return status;
}

/* ---- l1 problems ---- */

static void multiply(const float *a, int64_t rows, int64_t columns, const float *x, float *y) {
    for (int64_t r = 0; r < rows; r++) {
        double sum = 0;
        for (int64_t j = 0; j < columns; j++) {
            sum += (double)a[r * columns + j] * (double)x[j];
        }
        y[r] = (float)sum;
    }
}

static void multiply_turned(const float *a, int64_t rows, int64_t columns, const float *x, float *y) {
    for (int64_t j = 0; j < columns; j++) {
        y[j] = 0;
    }
    for (int64_t r = 0; r < rows; r++) {
        for (int64_t j = 0; j < columns; j++) {
            y[j] += x[r] * a[r * columns + j];
        }
    }
}

HcStatus hc_serial_fista(const float *a, int64_t rows, int64_t columns, const float *b, double lambda,
                         double square, int32_t iterations, float *x, HcError *err) {
    double threshold = lambda / square;
    double time = 1;
    float *ahead = NULL;
    HC_OR_RETURN(hc_new(ahead, (size_t)(2 * columns + rows), "the serial reference", err));
    float *slope = ahead + columns;
    float *residual = slope + columns;
    for (int64_t j = 0; j < columns; j++) {
        ahead[j] = x[j];
    }
    for (int32_t i = 0; i < iterations; i++) {
        double next_time = (1 + sqrt(1 + 4 * time * time)) / 2;
        multiply(a, rows, columns, ahead, residual);
        for (int64_t r = 0; r < rows; r++) {
            residual[r] = b[r] - residual[r];
        }
        multiply_turned(a, rows, columns, residual, slope);
        for (int64_t j = 0; j < columns; j++) {
            double at = (double)ahead[j] + (double)slope[j] / square;
            double next = copysign(fmax(fabs(at) - threshold, 0), at);
            ahead[j] = (float)(next + (time - 1) / next_time * (next - (double)x[j]));
            x[j] = (float)next;
        }
        time = next_time;
    }
    free(ahead);
    return HC_OK;
}

HcStatus hc_serial_alm(const float *a, int64_t rows, int64_t columns, const float *b, double square,
                       int32_t outer, int32_t inner, float *x, HcError *err) {
    HcStatus status = HC_OK;
    double top = 0;
    float *multiplier = NULL;
    HC_TRY(hc_new(multiplier, 2 * rows, "the serial reference", err));
    float *target = multiplier + rows;
    multiply_turned(a, rows, columns, b, x);
    for (int64_t j = 0; j < columns; j++) {
        top = fmax(top, fabs((double)x[j]));
        x[j] = 0;
    }
    double penalty = 10 / top;
    for (int32_t i = 0; i < outer && top > 0; i++) {
        for (int64_t r = 0; r < rows; r++) {
            target[r] = b[r] + (float)((double)multiplier[r] / penalty);
        }
        HC_TRY(hc_serial_fista(a, rows, columns, target, 1 / penalty, square, inner, x, err));
        multiply(a, rows, columns, x, target);
        for (int64_t r = 0; r < rows; r++) {
            multiplier[r] += (float)(penalty * ((double)b[r] - (double)target[r]));
        }
        penalty *= 2;
    }
done:
    free(multiplier);
    return status;
}

/* ---- absolute deviations ---- */

/* max sum over the bands of (v - 1) y + t, where sum over the bands of v E_k + t <= sum of E_k for every
 * endmember and 0 <= v <= 2. Columns: bands, t and -t where all x sum to one, slacks, right sides. The last
 * row is what the objective gains of each. A variable that is at its upper end has been replaced by what it
 * lacks of it, so that all variables outside of the basis are 0. */
typedef struct Tableau {
    int32_t rows, columns; /* without those of gains and right sides */
    double *entry;         /* [rows + 1][columns + 1] */
    double *upper;         /* [columns] */
    int32_t *basic;        /* [rows] */
} Tableau;

static double *entry_at(const Tableau *tableau, int32_t row, int32_t column) {
    return tableau->entry + (int64_t)row * (tableau->columns + 1) + column;
}

static void fill_tableau(Tableau *tableau, const float *spectrum, int32_t bands, bool sum_to_one,
                         const float *pixel) {
    int32_t slack = tableau->columns - tableau->rows;
    for (int32_t j = 0; j < tableau->columns; j++) {
        tableau->upper[j] = j < bands ? 2 : INFINITY;
    }
    for (int32_t k = 0; k < tableau->rows; k++) {
        for (int32_t b = 0; b < bands; b++) {
            double value = (double)spectrum[(int64_t)k * bands + b];
            *entry_at(tableau, k, b) = value;
            *entry_at(tableau, k, tableau->columns) += value;
        }
        if (sum_to_one) {
            *entry_at(tableau, k, bands) = 1;
            *entry_at(tableau, k, bands + 1) = -1;
        }
        *entry_at(tableau, k, slack + k) = 1;
        tableau->basic[k] = slack + k;
    }
    for (int32_t b = 0; b < bands; b++) {
        *entry_at(tableau, tableau->rows, b) = (double)pixel[b];
        *entry_at(tableau, tableau->rows, tableau->columns) += (double)pixel[b];
    }
    if (sum_to_one) {
        *entry_at(tableau, tableau->rows, bands) = 1;
        *entry_at(tableau, tableau->rows, bands + 1) = -1;
    }
}

/* The row that holds the entering column back first, and how far it comes; -1 = its own upper end does.
 * at_upper: the variable of that row comes to its upper end. */
static int32_t find_row(const Tableau *tableau, int32_t column, double *reach, bool *at_upper) {
    int32_t found = -1;
    *reach = tableau->upper[column];
    for (int32_t i = 0; i < tableau->rows; i++) {
        double pivot = *entry_at(tableau, i, column);
        double value = *entry_at(tableau, i, tableau->columns);
        double slack = pivot > 0 ? value : value - tableau->upper[tableau->basic[i]];
        if (fabs(pivot) > 1e-10 && slack / pivot < *reach) {
            found = i;
            *reach = slack / pivot;
            *at_upper = pivot < 0;
        }
    }
    return found;
}

/* A variable outside of the basis goes to its upper end. */
static void flip_column(const Tableau *tableau, int32_t column) {
    for (int32_t i = 0; i <= tableau->rows; i++) {
        double *entry = entry_at(tableau, i, column);
        *entry_at(tableau, i, tableau->columns) -= *entry * tableau->upper[column];
        *entry = -*entry;
    }
}

/* The variable of a row is replaced by what it lacks of its upper end. */
static void flip_row(const Tableau *tableau, int32_t row) {
    int32_t basic = tableau->basic[row];
    *entry_at(tableau, row, tableau->columns) -= tableau->upper[basic];
    for (int32_t j = 0; j <= tableau->columns; j++) {
        *entry_at(tableau, row, j) *= j == basic ? 1 : -1;
    }
}

static void pivot_on(const Tableau *tableau, int32_t row, int32_t column) {
    double pivot = *entry_at(tableau, row, column);
    for (int32_t j = 0; j <= tableau->columns; j++) {
        *entry_at(tableau, row, j) /= pivot;
    }
    for (int32_t i = 0; i <= tableau->rows; i++) {
        double factor = *entry_at(tableau, i, column);
        for (int32_t j = 0; i != row && j <= tableau->columns; j++) {
            *entry_at(tableau, i, j) -= factor * *entry_at(tableau, row, j);
        }
    }
    tableau->basic[row] = column;
}

/* Whether no variable gains more within the given number of pivots. */
static bool maximise(const Tableau *tableau, int32_t limit) {
    for (int32_t pivots = 0; pivots < limit; pivots++) {
        int32_t column = 0;
        double reach = 0;
        bool at_upper = false;
        for (int32_t j = 1; j < tableau->columns; j++) {
            bool more = *entry_at(tableau, tableau->rows, j) > *entry_at(tableau, tableau->rows, column);
            column = more ? j : column;
        }
        if (*entry_at(tableau, tableau->rows, column) <= 1e-11) {
            return true;
        }
        int32_t row = find_row(tableau, column, &reach, &at_upper);
        if (row < 0) {
            flip_column(tableau, column);
            continue;
        }
        if (at_upper) {
            flip_row(tableau, row);
        }
        pivot_on(tableau, row, column);
    }
    return false;
}

HcStatus hc_serial_deviation(const float *spectrum, int32_t endmembers, int32_t bands, bool sum_to_one,
                             const float *pixel, double *least, HcError *err) {
    HcStatus status = HC_OK;
    Tableau tableau = {.rows = endmembers, .columns = bands + (sum_to_one ? 2 : 0) + endmembers};
    size_t entries = (size_t)(tableau.rows + 1) * (size_t)(tableau.columns + 1);
    HC_TRY(hc_new(tableau.entry, entries + (size_t)tableau.columns, "the serial reference", err));
    HC_TRY(hc_new(tableau.basic, tableau.rows, "the serial reference", err));
    tableau.upper = tableau.entry + entries;
    fill_tableau(&tableau, spectrum, bands, sum_to_one, pixel);
    if (!maximise(&tableau, 100 * tableau.columns)) {
        HC_TRY(hc_fail(err, HC_E_NUMERIC, "the serial simplex of %d rows does not end", tableau.rows));
    }
    *least = -*entry_at(&tableau, tableau.rows, tableau.columns);
done:
    free(tableau.entry);
    free(tableau.basic);
    return status;
}
