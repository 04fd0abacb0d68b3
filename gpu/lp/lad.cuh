/* Abundances of least absolute deviation on the GPU: the descent of one pixel by a warp. It is that of the
 * CPU (cpu/lp/lad_descent.c), with sums in another order. Rows lie in turn with the lanes: lane l
 * has the rows l, l + 32 ...; what belongs to endmembers lies in shared memory. */
#ifndef HC_GPU_LP_LAD_CUH
#define HC_GPU_LP_LAD_CUH

#include "gpu/lp/lad_rows.cuh"

HcLadOpenFn hc_gpu_lad_open;
HcLadCloseFn hc_gpu_lad_close;
HcLadFn hc_gpu_lad;

#ifdef __CUDACC__

/* A pixel and what a warp has of its problem. */
template <int SLOTS> struct HcLadPixel {
    const HcLadTables &tables;
    const HcLadWorkspace &work;
    const float *pixel; /* [bands] */
    double size;        /* mean |y|: what differences are measured by */
    double nudge;       /* how far right sides are moved */
    int32_t finite;     /* bands */
    HcLadRows<SLOTS> rows;

    /* The right side of a row as it is; 0 of missing bands. */
    __device__ inline double right(int32_t row) const {
        double value = row < tables.bands ? (double)pixel[row] : tables.right[row];
        return isfinite(value) ? value : 0;
    }
    __device__ inline double moved(int32_t row) const {
        return right(row) + nudge * tables.nudge[row];
    }

    /* Which rows count, and the size of the pixel. */
    __device__ void lay() {
        double sum = 0;
        int32_t count = 0;
        rows.used = 0;
        rows.basic = 0;
        rows.up = 0;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            int32_t i = rows.row(s);
            bool counts = i >= tables.bands || isfinite(pixel[i]);
            rows.used |= counts ? 1U << s : 0;
            sum += i < tables.bands && counts ? fabs((double)pixel[i]) : 0;
            count += i < tables.bands && counts ? 1 : 0;
        }
        finite = (int32_t)hc_sum_lanes((double)count);
        size = finite > 0 ? hc_sum_lanes(sum) / finite : 0;
        if (tables.sum != HC_SUM_FREE) {
            size += tables.right[tables.bands + tables.endmembers];
        } else if (size == 0) {
            size = 1;
        }
    }

    __device__ void begin_cold() const {
        for (int32_t k = rows.lane; k < tables.endmembers * tables.across; k += 32) {
            work.inverse[k] = tables.inverse[k];
        }
        for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
            work.basis[k] = tables.basis[k];
        }
        __syncwarp();
    }

    /* out -= sum over k of factor[k] column[k]. */
    __device__ inline void subtract_columns(const double *factor, double (&out)[SLOTS]) const {
        const double *at = tables.column + rows.lane;
#pragma unroll 2
        for (int32_t k = 0; k < tables.endmembers; k++, at += tables.pitch) {
            double taken = -factor[k];
#pragma unroll
            for (int s = 0; s < SLOTS; s++) {
                out[s] = fma(taken, at[32 * s], out[s]);
            }
        }
    }

    /* workspace.pull = sum of a_i u_i over the rows before `end` that are not in the basis. */
    __device__ void add_rows(int32_t end) const {
        const double *at = tables.column + rows.lane;
        double slope[SLOTS];
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            slope[s] = rows.row(s) < end ? rows.slope(tables, s) : 0;
        }
        for (int32_t k = 0; k < tables.endmembers; k++, at += tables.pitch) {
            double sum = 0;
#pragma unroll
            for (int s = 0; s < SLOTS; s++) {
                sum = fma(slope[s], at[32 * s], sum);
            }
            sum = hc_sum_lanes(sum);
            if (k % 32 == rows.lane) {
                work.pull[k] = sum;
            }
        }
        __syncwarp();
    }

    /* workspace.point = (or with `more` +=) the inverse times workspace.change. */
    __device__ inline void solve(bool more) const {
        for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
            double sum = more ? work.point[k] : 0;
            for (int32_t j = 0; j < tables.endmembers; j++) {
                sum = fma(work.inverse[k * tables.across + j], work.change[j], sum);
            }
            work.point[k] = sum;
        }
        __syncwarp();
    }

    /* workspace.change = what the point leaves of the basis' right sides. Returns the largest. */
    __device__ inline double leave(bool as_moved) const {
        double largest = 0;
        for (int32_t j = rows.lane; j < tables.endmembers; j += 32) {
            int32_t i = work.basis[j];
            double left = as_moved ? moved(i) : right(i);
            for (int32_t k = 0; k < tables.endmembers; k++) {
                left = fma(-work.point[k], tables.column[k * tables.pitch + i], left);
            }
            work.change[j] = left;
            largest = fmax(largest, fabs(left));
        }
        __syncwarp();
        return hc_most_lanes(largest);
    }

    /* The point of the basis, once more corrected by what it leaves. Returns what it left before. */
    __device__ double find_point(bool as_moved) const {
        for (int32_t j = rows.lane; j < tables.endmembers; j += 32) {
            work.change[j] = as_moved ? moved(work.basis[j]) : right(work.basis[j]);
        }
        __syncwarp();
        solve(false);
        double left = leave(as_moved);
        solve(true);
        return left;
    }

    /* workspace.inverse from the basis alone, in place (Gauss and Jordan, with pivots from all rows); the
     * first basis where its rows are dependent. */
    __device__ void make_inverse() const {
        int32_t n = tables.endmembers;
        double *entry = work.inverse;
        for (int32_t i = rows.lane; i < n * n; i += 32) {
            entry[i / n * tables.across + i % n] = tables.column[i % n * tables.pitch + work.basis[i / n]];
        }
        __syncwarp();
        for (int32_t k = 0; k < n; k++) {
            double largest = 0;
            int32_t from = k;
            for (int32_t i = k; i < n; i++) {
                double here = fabs(entry[i * tables.across + k]);
                from = here > largest ? i : from;
                largest = here > largest ? here : largest;
            }
            if (!(largest > 0)) {
                begin_cold();
                return;
            }
            __syncwarp();
            for (int32_t j = rows.lane; j < n; j += 32) {
                double value = entry[from * tables.across + j];
                entry[from * tables.across + j] = entry[k * tables.across + j];
                entry[k * tables.across + j] = value;
            }
            if (rows.lane == 0) {
                work.change[k] = from;
            }
            __syncwarp();
            double inverted = 1 / entry[k * tables.across + k];
            for (int32_t i = 0; i < n; i++) {
                double factor = entry[i * tables.across + k] * inverted;
                __syncwarp();
                for (int32_t j = rows.lane; i != k && j < n; j += 32) {
                    double *at = entry + i * tables.across + j;
                    *at = j == k ? -factor : fma(-factor, entry[k * tables.across + j], *at);
                }
            }
            __syncwarp();
            for (int32_t j = rows.lane; j < n; j += 32) {
                entry[k * tables.across + j] = j == k ? inverted : entry[k * tables.across + j] * inverted;
            }
            __syncwarp();
        }
        for (int32_t k = n - 1; k >= 0; k--) {
            int32_t from = (int32_t)work.change[k];
            for (int32_t i = rows.lane; i < n; i += 32) {
                double value = entry[i * tables.across + k];
                entry[i * tables.across + k] = entry[i * tables.across + from];
                entry[i * tables.across + from] = value;
            }
        }
        __syncwarp();
    }

    /* The corner of the basis, with sides by the signs of the residuals. */
    __device__ void take_corner() {
        if (!(find_point(true) <= HC_LAD_DRIFT * size)) {
            make_inverse();
            find_point(true);
        }
        rows.basic = 0;
        for (int32_t j = 0; j < tables.endmembers; j++) {
            rows.mark(rows.basic, work.basis[j], true);
        }
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            rows.residual[s] = moved(rows.row(s));
        }
        subtract_columns(work.point, rows.residual);
        rows.up = 0;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            rows.up |= rows.residual[s] > 0 ? 1U << s : 0;
        }
        add_rows(tables.rows);
    }

    /* The row of the basis whose edge is the steepest: its place in the basis, and by how much its price is
     * beyond its bounds, with the sign of its residual on the edge. -1 = f is least here. */
    __device__ int32_t choose_edge(double *excess) const {
        double steepest = 0;
        double chosen_excess = 0;
        int32_t chosen = -1;
        for (int32_t j = rows.lane; j < tables.endmembers; j += 32) {
            double price = 0;
            double length = 0;
            for (int32_t k = 0; k < tables.endmembers; k++) {
                double entry = work.inverse[k * tables.across + j];
                price = fma(-work.pull[k], entry, price);
                length = fma(entry, entry, length);
            }
            int32_t i = work.basis[j];
            bool counts = i >= tables.bands || isfinite(pixel[i]);
            double over = price - (counts ? tables.high[i] : 0);
            double under = (counts ? tables.low[i] : 0) - price;
            double here = over > under ? over : under;
            double steep = here * here / length;
            if (here > HC_LAD_SLACK * (i < tables.bands ? 1 : tables.most) && steep > steepest) {
                steepest = steep;
                chosen = j;
                chosen_excess = over > under ? here : -here;
            }
        }
        double most = hc_most_lanes(steepest);
        uint32_t best = __ballot_sync(HC_EVERY_LANE, chosen >= 0 && steepest == most);
        if (best == 0) {
            return -1;
        }
        *excess = __shfl_sync(HC_EVERY_LANE, chosen_excess, __ffs(best) - 1);
        return __shfl_sync(HC_EVERY_LANE, chosen, __ffs(best) - 1);
    }

    /* Where residuals become 0 on the edge: t / (t + unit) of the step t, so that places are spread evenly.
     */
    __device__ void find_places() {
        double residuals = 0;
        double speeds = 0;
        double largest = 0;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            residuals += fabs(rows.residual[s]);
            speeds += fabs(rows.speed[s]);
            largest = fmax(largest, fabs(rows.speed[s]));
        }
        for (int d = 16; d > 0; d /= 2) { /* side by side: each waits for its shuffles */
            double other = __shfl_xor_sync(HC_EVERY_LANE, largest, d);
            residuals += __shfl_xor_sync(HC_EVERY_LANE, residuals, d);
            speeds += __shfl_xor_sync(HC_EVERY_LANE, speeds, d);
            largest = other > largest ? other : largest;
        }
        double unit = fmax(residuals / speeds, 0x1p-900);
        double least = HC_LAD_PIVOT * largest;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            bool up = rows.has(rows.up, s);
            double towards = up ? -rows.speed[s] : rows.speed[s];
            double away = fmax(up ? rows.residual[s] : -rows.residual[s], 0.0);
            bool enters = !rows.has(rows.basic, s) && towards > least;
            rows.place[s] = enters ? away / fma(unit, towards, away) : 2;
            rows.gain[s] = enters ? (rows.high(tables, s) - rows.low(tables, s)) * towards : 0;
        }
    }

    /* The first place up to which the gains are `need`: a weighted median, found as on the CPU. 2 = there is
     * none at all. */
    __device__ double find_stop(double need) const {
        double low = 0;
        double first = 0; /* no row lies between low and it */
        double high = 2;
        double lack = need;
        double excess = 0;
        bool enough = true; /* the last place had */
        for (double at = 1;;) {
            double gain = 0;
            double before = -1;
            double behind = 2;
#pragma unroll
            for (int s = 0; s < SLOTS; s++) {
                bool within = rows.place[s] <= at;
                gain += within ? rows.gain[s] : 0;
                before = within && rows.place[s] > before ? rows.place[s] : before;
                behind = !within && rows.place[s] < behind ? rows.place[s] : behind;
            }
            gain = hc_sum_lanes(gain);
            if (high > 1 || gain >= need) {
                lack = high <= 1 && enough ? lack / 2 : lack;
                high = hc_most_lanes(before);
                excess = gain - need;
                enough = true;
                if (high < 0) {
                    return 2;
                }
            } else {
                excess = enough ? excess : excess / 2;
                low = at;
                lack = need - gain;
                first = hc_least_lanes(behind);
                enough = false;
            }
            /* Where only rounding keeps all gains from being enough, the last one is. */
            if (excess < 0 || first >= high) {
                return high;
            }
            at = fma(high - low, lack / (lack + excess), low);
            at = at > first ? at : first;
            at = at < high ? at : first;
        }
    }

    /* The fastest row that lies there. */
    __device__ int32_t find_row(double stop) const {
        double fastest = -1;
        int32_t found = -1;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            fastest = rows.place[s] == stop ? fmax(fastest, fabs(rows.speed[s])) : fastest;
        }
        fastest = hc_most_lanes(fastest);
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            uint32_t here =
                __ballot_sync(HC_EVERY_LANE, rows.place[s] == stop && fabs(rows.speed[s]) == fastest);
            found = found < 0 && here != 0 ? 32 * s + __ffs(here) - 1 : found;
        }
        return found;
    }

    /* pull += factor a_row, of the endmembers lane and lane + 32. */
    __device__ inline void pull_row(double factor, int32_t row, double (&pull)[2]) const {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int32_t k = rows.lane + 32 * i;
            if (k < tables.endmembers) {
                pull[i] = fma(factor, tables.column[k * tables.pitch + row], pull[i]);
            }
        }
    }

    /* Turns the rows before the stop to their other sides. */
    __device__ void pass_rows(double stop, double (&pull)[2]) {
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            bool passed = rows.place[s] < stop;
            uint32_t left = __ballot_sync(HC_EVERY_LANE, passed);
            if (left == 0) {
                continue;
            }
            double range = rows.high(tables, s) - rows.low(tables, s);
            double change = rows.has(rows.up, s) ? -range : range;
            for (; left != 0; left &= left - 1) {
                int from = __ffs(left) - 1;
                pull_row(__shfl_sync(HC_EVERY_LANE, change, from), 32 * s + from, pull);
            }
            rows.up ^= passed ? 1U << s : 0;
        }
    }

    /* Row `enters` takes place j of the basis. */
    __device__ void change_inverse(int32_t j, int32_t enters) const {
        __syncwarp();
        for (int32_t i = rows.lane; i < tables.endmembers; i += 32) {
            double sum = 0;
            for (int32_t k = 0; k < tables.endmembers; k++) {
                sum = fma(tables.column[k * tables.pitch + enters], work.inverse[k * tables.across + i], sum);
            }
            work.change[i] = sum;
        }
        for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
            work.edge[k] = work.inverse[k * tables.across + j];
        }
        __syncwarp();
        double inverted = 1 / work.change[j];
        for (int32_t i = rows.lane; i < tables.endmembers; i += 32) {
            double entering = -work.change[i] * inverted;
            for (int32_t k = 0; k < tables.endmembers; k++) {
                double *at = work.inverse + k * tables.across + i;
                *at = i == j ? work.edge[k] * inverted : fma(entering, work.edge[k], *at);
            }
        }
        if (rows.lane == 0) {
            work.basis[j] = enters;
        }
        __syncwarp();
    }

    /* Along the edge on which row j of the basis gets a residual of that sign, to where f is least. False
     * where no other row can take its place. */
    __device__ bool descend(int32_t j, double excess) {
        int32_t gone = work.basis[j];
        double sign = excess > 0 ? 1 : -1;
        for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
            work.edge[k] = -sign * work.inverse[k * tables.across + j];
        }
        __syncwarp();
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            rows.speed[s] = 0;
        }
        subtract_columns(work.edge, rows.speed);
        find_places();
        double stop = find_stop(fabs(excess));
        if (stop > 1) {
            return false;
        }
        int32_t enters = find_row(stop);
        double pull[2] = {0, 0};
        pass_rows(stop, pull);
        double step = 0;
        double slope = 0;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            if (rows.owns(s, enters)) {
                step = fmax(-rows.residual[s] / rows.speed[s], 0.0);
                slope = rows.slope(tables, s);
            }
        }
        step = __shfl_sync(HC_EVERY_LANE, step, enters % 32);
        slope = __shfl_sync(HC_EVERY_LANE, slope, enters % 32);
        pull_row(-slope, enters, pull);
        bool counts = gone >= tables.bands || isfinite(pixel[gone]);
        pull_row(counts ? sign > 0 ? tables.high[gone] : tables.low[gone] : 0, gone, pull);
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int32_t k = rows.lane + 32 * i;
            if (k < tables.endmembers) {
                work.pull[k] += pull[i];
            }
        }
        rows.mark(rows.basic, enters, true);
        rows.mark(rows.basic, gone, false);
        rows.mark(rows.up, gone, sign > 0);
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            rows.residual[s] = fma(step, rows.speed[s], rows.residual[s]);
            rows.residual[s] = rows.owns(s, gone) ? sign * step : rows.residual[s];
        }
        change_inverse(j, enters);
        return true;
    }

    /* Pivots until f is minimal or the limit is reached. */
    __device__ int64_t go_down(int64_t limit) {
        int64_t pivots = 0;
        double excess = 0;
        take_corner();
        while (pivots < limit) {
            int32_t j = choose_edge(&excess);
            if (j < 0 || !descend(j, excess)) {
                break;
            }
            pivots++;
        }
        return pivots;
    }

    /* workspace.point: what rounding and the moved right sides left of violations is taken away. */
    __device__ void make_feasible() const {
        double sum = 0;
        for (int32_t j = rows.lane; j < tables.endmembers; j += 32) {
            int32_t k = work.basis[j] - tables.bands;
            if (k >= 0 && k < tables.endmembers) {
                work.point[k] = 0;
            }
        }
        __syncwarp();
        for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
            work.point[k] = work.point[k] > 0 && isfinite(work.point[k]) ? work.point[k] : 0;
            sum += work.point[k] / tables.scale[k];
        }
        sum = hc_sum_lanes(sum);
        if (tables.sum == HC_SUM_ONE || (tables.sum == HC_SUM_AT_MOST_ONE && sum > 1)) {
            for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
                work.point[k] = sum > 0 ? work.point[k] / sum : k == 0 ? tables.scale[0] : 0;
            }
        }
        __syncwarp();
    }

    /* workspace.price: u of the basis within its bounds; workspace.pull: sum over all bands of u_b E_b. */
    __device__ void find_dual() const {
        int32_t n = tables.endmembers;
        add_rows(tables.rows);
        for (int32_t j = rows.lane; j < n; j += 32) {
            work.price[j] = 0;
        }
        for (int refined = 0; refined < 2; refined++) {
            __syncwarp();
            for (int32_t k = rows.lane; k < n; k += 32) {
                double left = work.pull[k];
                for (int32_t j = 0; j < n; j++) {
                    left = fma(work.price[j], tables.column[k * tables.pitch + work.basis[j]], left);
                }
                work.change[k] = left;
            }
            __syncwarp();
            for (int32_t j = rows.lane; j < n; j += 32) {
                for (int32_t k = 0; k < n; k++) {
                    work.price[j] = fma(-work.change[k], work.inverse[k * tables.across + j], work.price[j]);
                }
            }
        }
        for (int32_t j = rows.lane; j < n; j += 32) {
            int32_t i = work.basis[j];
            double high = i < tables.bands && isfinite(pixel[i]) ? tables.high[i] : 0;
            work.price[j] = fmin(fmax(work.price[j], -high), high);
        }
        add_rows(tables.bands);
        for (int32_t k = rows.lane; k < n; k += 32) {
            for (int32_t j = 0; j < n; j++) {
                work.pull[k] =
                    fma(work.price[j], tables.column[k * tables.pitch + work.basis[j]], work.pull[k]);
            }
        }
        __syncwarp();
    }

    /* The largest relative violation of sum over the bands of u_b E_kb <= 0. */
    __device__ double violation() const {
        double largest = 0;
        for (int32_t k = 0; k < tables.endmembers; k++) {
            if (work.pull[k] > 0) {
                const double *column = tables.column + k * tables.pitch;
                double sum = 0;
#pragma unroll
                for (int s = 0; s < SLOTS; s++) {
                    double slope = rows.row(s) < tables.bands ? rows.slope(tables, s) : 0;
                    sum += fabs(slope * column[rows.row(s)]);
                }
                for (int32_t j = rows.lane; j < tables.endmembers; j += 32) {
                    sum += fabs(work.price[j] * column[work.basis[j]]);
                }
                largest = fmax(largest, work.pull[k] / hc_sum_lanes(sum));
            }
        }
        return largest;
    }

    /* The best price of the sum that the slopes of the bands allow. */
    __device__ double price_of_sum() const {
        int32_t row = tables.bands + tables.endmembers;
        double least = tables.sum == HC_SUM_ONE ? INFINITY : 0;
        for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
            least = fmin(least, -work.pull[k] / tables.column[k * tables.pitch + row]);
        }
        for (int d = 16; d > 0; d /= 2) {
            least = fmin(least, __shfl_xor_sync(HC_EVERY_LANE, least, d));
        }
        return least;
    }

    /* The report on the pixel, from the abundances and the dual solution alone. workspace.point becomes the
     * abundances. */
    __device__ void prove(HcLadReport *report) {
        double primal = 0;
        double dual = 0;
        double weighed = 0;
        double deviation = 0;
        double total = 0;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            rows.residual[s] = right(rows.row(s));
        }
        subtract_columns(work.point, rows.residual);
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            if (rows.row(s) < tables.bands && rows.has(rows.used, s)) {
                double value = (double)pixel[rows.row(s)];
                double weight = tables.high[rows.row(s)];
                primal = fma(weight, fabs(rows.residual[s]), primal);
                dual = fma(rows.slope(tables, s), value, dual);
                weighed = fma(weight, fabs(value), weighed);
                deviation += fabs(rows.residual[s]);
            }
        }
        __syncwarp();
        for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
            dual = fma(work.price[k], work.basis[k] < tables.bands ? right(work.basis[k]) : 0, dual);
            work.point[k] /= tables.scale[k];
            total += work.point[k];
        }
        primal = hc_sum_lanes(primal);
        dual = hc_sum_lanes(dual);
        weighed = hc_sum_lanes(weighed);
        total = hc_sum_lanes(total);
        double broken = 0;
        if (tables.sum == HC_SUM_FREE) {
            broken = violation();
        } else {
            dual += price_of_sum() * tables.right[tables.bands + tables.endmembers];
            broken = tables.sum == HC_SUM_ONE ? fabs(total - 1) : fmax(total - 1, 0.0);
        }
        double gap = fabs(primal - dual);
        double least = HC_LAD_TINIEST * fmax(weighed, tables.mixture);
        gap = gap > 0 ? gap / fmax(primal, least) : gap;
        report->primal = primal * tables.weight_unit;
        report->dual = dual * tables.weight_unit;
        report->deviation = hc_sum_lanes(deviation) / finite;
        report->error = isfinite(gap + broken) ? fmax(gap, broken) : INFINITY;
        __syncwarp();
    }

    /* Keeps the point with the least error of all rounds; all points are feasible. */
    __device__ void keep_best(const HcLadReport &here, bool first, HcLadReport *best) const {
        if (first || here.error < best->error) {
            *best = here;
            for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
                work.best[k] = work.point[k];
            }
        }
        best->pivots = here.pivots;
    }

    /* From the basis and the inverse that the workspace has; after lay(). */
    __device__ void run(HcLadReport *report) {
        HcLadReport here;
        here.pivots = 0;
        for (int round = 0; round < HC_LAD_ROUNDS; round++) {
            nudge = round == 1 ? 0 : HC_LAD_NUDGE * (double)(1 << 3 * round) * size;
            here.pivots += go_down(min((long long)tables.usual, (long long)(tables.limit - here.pivots)));
            find_point(false);
            make_feasible();
            find_dual();
            prove(&here);
            keep_best(here, round == 0, report);
            if (report->error <= HC_LAD_PROOF || here.pivots >= tables.limit) {
                return;
            }
            if (round == 0) {
                begin_cold();
            } else {
                make_inverse();
            }
        }
    }
};

#endif
#endif
