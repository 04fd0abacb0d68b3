/* Abundances of least absolute deviation on the GPU: the descent of one pixel by a warp. It is that of the
 * CPU (cpu/lp/lad_descent.c), with sums in another order, and with residuals in float32 at first: from
 * the corner found so it goes on in float64. Rows lie in turn with the lanes: lane l has the rows l, l + 32
 * ...; what belongs to endmembers lies in shared memory. */
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
    static constexpr int QUADS = (SLOTS + 3) / 4;

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
            uint32_t lanes = __ballot_sync(HC_EVERY_LANE, counts);
            if (rows.lane == 0) {
                work.used[s] = lanes;
            }
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

    __device__ inline bool used(int32_t row) const {
        return (work.used[row / 32] >> row % 32 & 1) != 0;
    }

    /* out -= sum over k of factor[k] column[k], in float32. */
    __device__ inline void subtract_columns(const float *factor, float (&out)[SLOTS]) const {
        const float4 *at = tables.quick + rows.lane;
#pragma unroll 2
        for (int32_t k = 0; k < tables.endmembers; k++, at += 32 * QUADS) {
            float taken = -factor[k];
#pragma unroll
            for (int q = 0; q < QUADS; q++) {
                const float4 four = at[32 * q];
#pragma unroll
                for (int i = 0; i < 4; i++) {
                    if (4 * q + i < SLOTS) {
                        out[4 * q + i] = fmaf(taken, (&four.x)[i], out[4 * q + i]);
                    }
                }
            }
        }
    }

    /* Likewise. */
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

    /* The corner of the basis, with sides by the signs of the residuals. */
    __device__ void take_corner(double (&residual)[SLOTS]) {
        if (!(find_point(true) <= HC_LAD_DRIFT * size)) {
            hc_lad_make_inverse(tables, work, rows.lane);
            find_point(true);
        }
        rows.basic = 0;
        for (int32_t j = 0; j < tables.endmembers; j++) {
            rows.mark(rows.basic, work.basis[j], true);
        }
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            residual[s] = moved(rows.row(s));
        }
        subtract_columns(work.point, residual);
        rows.up = 0;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            rows.up |= residual[s] > 0 ? 1U << s : 0;
        }
        add_rows(tables.rows);
    }

    /* The row of the basis whose edge is the steepest: its place in the basis, and by how much its price is
     * beyond its bounds, with the sign of its residual on the edge. -1 = f is least here. */
    __device__ int32_t choose_edge(double *excess) const {
        double steepest = 0;
        double chosen_excess = 0;
        int32_t chosen = -1;
        for (int32_t j0 = rows.first(); j0 - rows.first() < tables.endmembers; j0 += 32) {
            int32_t j = min(j0, tables.endmembers - 1);
            double price = 0;
            double length = 0;
#pragma unroll 3
            for (int32_t k = rows.start(); k < tables.endmembers; k += rows.step()) {
                double entry = work.inverse[k * tables.across + j];
                price = fma(-work.pull[k], entry, price);
                length = fma(entry, entry, length);
            }
            price = rows.both(price);
            length = rows.both(length);
            int32_t i = work.basis[j];
            bool counts = used(i);
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

    /* In float32, the nearest place that is not taken for rounding. */
    static constexpr float NEAREST = 0x1p-22F;

    /* Where residuals become 0 on the edge: t / (t + unit) of the step t, so that places are spread evenly.
     * Gains are rounded up, so that f does not grow again before the edge ends. */
    template <typename Real> __device__ inline void find_places(HcLadEdge<SLOTS, Real> &edge, float need) {
        const float4 *range = tables.quick + tables.endmembers * 32 * QUADS + rows.lane;
        Real residuals = 0;
        Real speeds = 0;
        Real largest = 0;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            residuals += fabs(edge.residual[s]);
            speeds += fabs(edge.speed[s]);
            largest = max(largest, fabs(edge.speed[s]));
        }
        for (int d = 16; d > 0; d /= 2) { /* side by side: each waits for its shuffles */
            residuals += __shfl_xor_sync(HC_EVERY_LANE, residuals, d);
            speeds += __shfl_xor_sync(HC_EVERY_LANE, speeds, d);
        }
        Real unit = max(residuals / speeds, (Real)0x1p-100);
        Real least = (Real)HC_LAD_PIVOT * hc_most_lanes(largest);
        float scale = (float)HC_LAD_NEED / need;
#pragma unroll
        for (int q = 0; q < QUADS; q++) {
            const float4 ranges = range[32 * q];
#pragma unroll
            for (int i = 0; i < 4; i++) {
                int s = 4 * q + i;
                if (s < SLOTS) {
                    bool up = rows.has(rows.up, s);
                    Real towards = up ? -edge.speed[s] : edge.speed[s];
                    Real away = max(up ? edge.residual[s] : -edge.residual[s], (Real)0);
                    bool enters = rows.has(rows.used & ~rows.basic, s) && towards > least;
                    Real place = min(away * hc_lad_inverse_of(fma(unit, towards, away)), (Real)1);
                    float gain = (&ranges.x)[i] * (float)towards * scale;
                    edge.place[s] = enters ? place : 2;
                    edge.gain[s] = enters ? __float2uint_ru(fminf(gain, (float)HC_LAD_NEED)) : 0;
                }
            }
        }
    }

    /* The first place up to which the gains are HC_LAD_NEED: a weighted median, found as on the CPU. 2 =
     * there is none at all. */
    template <typename Real> __device__ inline Real find_stop(const HcLadEdge<SLOTS, Real> &edge) const {
        Real low = 0;
        Real first = 0; /* no row lies between low and it */
        Real high = 2;
        float lack = HC_LAD_NEED; /* guides alone: sums of gains are exact */
        float excess = 0;
        bool enough = true; /* the last place had */
        for (Real at = 1;;) {
            uint32_t gain = 0;
#pragma unroll
            for (int s = 0; s < SLOTS; s++) {
                gain += edge.place[s] <= at ? edge.gain[s] : 0;
            }
            gain = hc_sum_lanes(gain);
            if (high > 1 || gain >= HC_LAD_NEED) {
                Real before = -1;
#pragma unroll
                for (int s = 0; s < SLOTS; s++) {
                    before = edge.place[s] <= at ? max(before, edge.place[s]) : before;
                }
                lack = high <= 1 && enough ? lack / 2 : lack;
                high = hc_most_lanes(before);
                excess = (float)(int32_t)(gain - HC_LAD_NEED);
                enough = true;
                if (high < 0) {
                    return 2;
                }
            } else {
                Real behind = 2;
#pragma unroll
                for (int s = 0; s < SLOTS; s++) {
                    behind = edge.place[s] <= at ? behind : min(behind, edge.place[s]);
                }
                excess = enough ? excess : excess / 2;
                low = at;
                lack = (float)(HC_LAD_NEED - gain);
                first = hc_least_lanes(behind);
                enough = false;
            }
            /* Where only rounding keeps all gains from being enough, the last one is. */
            if (excess < 0 || first >= high) {
                return high;
            }
            at = fma(high - low, (Real)__fdividef(lack, lack + excess), low);
            at = at > first ? at : first;
            at = at < high ? at : first;
        }
    }

    /* The fastest row that lies there, and the step to it. */
    template <typename Real>
    __device__ inline int32_t find_row(const HcLadEdge<SLOTS, Real> &edge, Real stop, Real *step) const {
        Real fastest = -1;
        Real away = 0;
        int32_t found = 0;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            Real here = fabs(edge.speed[s]);
            bool faster = edge.place[s] == stop && here > fastest;
            fastest = faster ? here : fastest;
            away = faster ? rows.has(rows.up, s) ? edge.residual[s] : -edge.residual[s] : away;
            found = faster ? rows.row(s) : found;
        }
        uint32_t lanes = __ballot_sync(HC_EVERY_LANE, fastest == hc_most_lanes(fastest));
        *step = __shfl_sync(HC_EVERY_LANE, max(away / fastest, (Real)0), __ffs(lanes) - 1);
        return __shfl_sync(HC_EVERY_LANE, found, __ffs(lanes) - 1);
    }

    /* pull += factor a_row, of the endmembers first and first + 32. */
    __device__ inline void pull_row(double factor, int32_t row, int32_t first, double (&pull)[2]) const {
#pragma unroll
        for (int i = 0; i < 2; i++) {
            int32_t k = first + 32 * i;
            if (k < tables.endmembers) {
                pull[i] = fma(factor, tables.column[k * tables.pitch + row], pull[i]);
            }
        }
    }

    /* Turns the rows before the stop to their other sides. */
    template <typename Real>
    __device__ inline void pass_rows(const HcLadEdge<SLOTS, Real> &edge, Real stop, double (&pull)[2]) {
        int32_t passed = 0;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            bool passes = edge.place[s] < stop;
            uint32_t lanes = __ballot_sync(HC_EVERY_LANE, passes);
            if (passes) {
                int32_t at = passed + __popc(lanes & ((1U << rows.lane) - 1));
                work.passed[at] = (uint16_t)(2 * rows.row(s) + (rows.has(rows.up, s) ? 1 : 0));
                rows.up ^= 1U << s;
            }
            passed += __popc(lanes);
        }
        __syncwarp();
#pragma unroll 2
        for (int32_t p = rows.start(); p < passed; p += rows.step()) {
            int32_t row = work.passed[p] / 2;
            double range = tables.range[row];
            pull_row(work.passed[p] % 2 != 0 ? -range : range, row, rows.first(), pull);
        }
        pull[0] = rows.both(pull[0]);
    }

    /* Row `enters` takes place j of the basis. */
    __device__ void change_inverse(int32_t j, int32_t enters) const {
        __syncwarp();
        for (int32_t i0 = rows.first(); i0 - rows.first() < tables.endmembers; i0 += 32) {
            int32_t i = min(i0, tables.endmembers - 1);
            double sum = 0;
#pragma unroll 3
            for (int32_t k = rows.start(); k < tables.endmembers; k += rows.step()) {
                sum = fma(tables.column[k * tables.pitch + enters], work.inverse[k * tables.across + i], sum);
            }
            sum = rows.both(sum);
            if (rows.start() == 0 && i == i0) {
                work.change[i] = sum;
            }
        }
        for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
            work.edge[k] = work.inverse[k * tables.across + j];
        }
        __syncwarp();
        double inverted = 1 / work.change[j];
        for (int32_t i = rows.first(); i < tables.endmembers; i += 32) {
            double entering = -work.change[i] * inverted;
#pragma unroll 3
            for (int32_t k = rows.start(); k < tables.endmembers; k += rows.step()) {
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
     * where no other row can take its place, or only one that rounding decides on. */
    template <typename Real>
    __device__ inline bool descend(HcLadEdge<SLOTS, Real> &edge, int32_t j, double excess) {
        int32_t gone = work.basis[j];
        Real sign = excess > 0 ? 1 : -1;
        Real *factor = (Real *)work.edge;
        for (int32_t k = rows.lane; k < tables.endmembers; k += 32) {
            factor[k] = -sign * (Real)work.inverse[k * tables.across + j];
        }
        __syncwarp();
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            edge.speed[s] = 0;
        }
        subtract_columns(factor, edge.speed);
        find_places(edge, fabsf((float)excess));
        Real stop = find_stop(edge);
        if (stop > 1 || (sizeof(Real) == sizeof(float) && stop < (Real)NEAREST)) {
            return false;
        }
        Real step = 0;
        int32_t enters = find_row(edge, stop, &step);
        double pull[2] = {0, 0};
        pass_rows(edge, stop, pull);
        bool up = (__shfl_sync(HC_EVERY_LANE, rows.up, enters % 32) >> enters / 32 & 1) != 0;
        pull_row(-(up ? tables.high[enters] : tables.low[enters]), enters, rows.lane, pull);
        pull_row(used(gone) ? sign > 0 ? tables.high[gone] : tables.low[gone] : 0, gone, rows.lane, pull);
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
            edge.residual[s] = fma(step, edge.speed[s], edge.residual[s]);
            edge.residual[s] = rows.owns(s, gone) ? sign * step : edge.residual[s];
        }
        change_inverse(j, enters);
        return true;
    }

    /* Pivots until f is minimal or the limit is reached. */
    template <typename Real>
    __device__ inline int64_t go_down(const double (&residual)[SLOTS], int64_t limit) {
        HcLadEdge<SLOTS, Real> edge;
        int64_t pivots = 0;
        double excess = 0;
        double unit = 1 / size;
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            edge.residual[s] = (Real)(residual[s] * unit);
        }
        while (pivots < limit) {
            /* Addresses made of it are made again: there are no registers to keep them in. */
            asm volatile("mov.u32 %0, %%laneid;" : "=r"(rows.lane));
            int32_t j = choose_edge(&excess);
            if (j < 0 || !descend(edge, j, excess)) {
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

    /* workspace.price: u of the basis within its bounds; workspace.pull, which is that of the corner, becomes
     * the sum over all bands of u_b E_b. */
    __device__ void find_dual() const {
        int32_t n = tables.endmembers;
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
            double high = i < tables.bands && used(i) ? tables.high[i] : 0;
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
        double residual[SLOTS];
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            residual[s] = right(rows.row(s));
        }
        subtract_columns(work.point, residual);
#pragma unroll
        for (int s = 0; s < SLOTS; s++) {
            if (rows.row(s) < tables.bands && rows.has(rows.used, s)) {
                double value = (double)pixel[rows.row(s)];
                double weight = tables.high[rows.row(s)];
                primal = fma(weight, fabs(residual[s]), primal);
                dual = fma(rows.slope(tables, s), value, dual);
                weighed = fma(weight, fabs(value), weighed);
                deviation += fabs(residual[s]);
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
            /* float32 finds nearly all of the way. */
            for (int exact = round > 0; exact < 2; exact++) {
                double residual[SLOTS];
                int64_t limit = min((long long)tables.usual, (long long)(tables.limit - here.pivots));
                take_corner(residual);
                here.pivots += exact ? go_down<double>(residual, limit) : go_down<float>(residual, limit);
            }
            find_point(false);
            make_feasible();
            find_dual();
            prove(&here);
            keep_best(here, round == 0, report);
            if (report->error <= HC_LAD_PROOF || here.pivots >= tables.limit) {
                return;
            }
            if (round == 0) {
                hc_lad_begin_cold(tables, work, rows.lane);
            } else {
                hc_lad_make_inverse(tables, work, rows.lane);
            }
        }
    }
};

#endif
#endif
