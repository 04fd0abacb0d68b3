/* A row of a matrix in the registers of a lane, the rotations of its pairs of columns, and what they need:
 * numbers near the ends of their range, and what lanes find together. */
#ifndef HC_GPU_SVD_ROW_CUH
#define HC_GPU_SVD_ROW_CUH

#include "gpu/shared.cuh"
#include "gpu/svd/svd.cuh"

/* ---- numbers ---- */

/* Matrices are brought to entries below 2^(top + 1), so that squares neither overflow nor vanish. A column
 * whose squared norm is below `tiny` counts as 0; what a reflector would clear is left alone where its
 * squares are below `dust`, which is a rounding of tiny columns. */
template <typename T> struct HcSvdScale;
template <> struct HcSvdScale<float> {
    static constexpr int top = 55;
    __device__ static float tiny() {
        return 0x1p-70F;
    }
    __device__ static float dust() {
        return 0x1p-120F;
    }
    __device__ static float large() {
        return 0x1p30F;
    }
};
template <> struct HcSvdScale<double> {
    static constexpr int top = 450;
    __device__ static double tiny() {
        return 0x1p300;
    }
    __device__ static double dust() {
        return 0x1p180;
    }
    __device__ static double large() {
        return 0x1p60;
    }
};

/* Of these some digits are enough: 1 / sqrt(x), 1 / x. */
__device__ static inline float hc_rough_recip_root(float x) {
    return rsqrtf(x);
}
__device__ static inline double hc_rough_recip_root(double x) {
    return rsqrt(x);
}
__device__ static inline float hc_rough_recip(float x) {
    return __fdividef(1.0F, x);
}
__device__ static inline double hc_rough_recip(double x) {
    return 1.0 / x;
}

__device__ static inline float hc_not_a_number(float) {
    return nanf("");
}
__device__ static inline double hc_not_a_number(double) {
    return nan("");
}

/* ---- what a team of lanes finds ---- */

template <int TEAM, typename T> __device__ static inline T hc_most_of_team(T value) {
#pragma unroll
    for (int mask = TEAM / 2; mask > 0; mask /= 2) {
        T other = __shfl_xor_sync(~0U, value, mask);
        value = other > value ? other : value;
    }
    return value;
}

template <int TEAM> __device__ static inline bool hc_any_of_team(bool value, int lane) {
    unsigned all = __ballot_sync(~0U, value);
    unsigned mask = TEAM == 32 ? ~0U : ((1U << (TEAM % 32)) - 1) << (lane & 31 & ~(TEAM - 1));
    return (all & mask) != 0;
}

/* ---- a row of the matrix ---- */

/* What turns two columns: left -= conj(half) right, right += whole left, left -= conj(half) right. */
template <typename T, bool COMPLEX> struct alignas(2 * sizeof(T)) HcTurn {
    T half, whole; /* tangent of half the angle, sine of the angle */
};
template <typename T> struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) HcTurn<T, true> {
    T half, whole, half_im, whole_im; /* times the phase */
};

template <typename T, bool COMPLEX, int SIDE> struct HcRow {
    T re[SIDE];
    T im[COMPLEX ? SIDE : 1];

    __device__ void clear() {
#pragma unroll
        for (int k = 0; k < SIDE; k++) {
            re[k] = 0;
            if (COMPLEX) {
                im[k] = 0;
            }
        }
    }

    /* Products of the pairs (2 p + ODD, 2 p + ODD + 1), conj(left) right. */
    template <int ODD, int PAIRS> __device__ void products(T (&real)[PAIRS], T (&imaginary)[PAIRS]) const {
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            int left = 2 * p + ODD;
            int right = left + 1;
            if (right >= SIDE) {
                real[p] = 0;
                imaginary[p] = 0;
            } else if (COMPLEX) {
                real[p] = fma(re[left], re[right], im[left] * im[right]);
                imaginary[p] = fma(re[left], im[right], -im[left] * re[right]);
            } else {
                real[p] = re[left] * re[right];
            }
        }
    }

    /* Adds those of another row. */
    template <int ODD, int PAIRS>
    __device__ void more_products(T (&real)[PAIRS], T (&imaginary)[PAIRS]) const {
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            int left = 2 * p + ODD;
            int right = left + 1;
            if (right < SIDE) {
                real[p] = fma(re[left], re[right], real[p]);
                if (COMPLEX) {
                    real[p] = fma(im[left], im[right], real[p]);
                    imaginary[p] = fma(re[left], im[right], imaginary[p]);
                    imaginary[p] = fma(-im[left], re[right], imaginary[p]);
                }
            }
        }
    }

    /* Squares of the columns 2 p + ODD. */
    template <int ODD, int PAIRS> __device__ void squares(T (&out)[PAIRS], bool first) const {
#pragma unroll
        for (int p = 0; p < PAIRS; p++) {
            int k = 2 * p + ODD;
            T before = first ? T(0) : out[p];
            if (k < SIDE) {
                before = fma(re[k], re[k], before);
                if (COMPLEX) {
                    before = fma(im[k], im[k], before);
                }
            }
            out[p] = before;
        }
    }

    /* Turns the pairs, which change places. */
    template <int ODD> __device__ void turn(const HcTurn<T, COMPLEX> *turns) {
#pragma unroll
        for (int p = 0; p < (SIDE - ODD) / 2; p++) {
            const HcTurn<T, COMPLEX> t = turns[p];
            int left = 2 * p + ODD;
            int right = left + 1;
            T x = re[left];
            T y = re[right];
            if constexpr (COMPLEX) {
                T xi = im[left];
                T yi = im[right];
                x = fma(-t.half, y, fma(-t.half_im, yi, x));
                xi = fma(-t.half, yi, fma(t.half_im, y, xi));
                y = fma(t.whole, x, fma(-t.whole_im, xi, y));
                yi = fma(t.whole, xi, fma(t.whole_im, x, yi));
                im[right] = fma(-t.half, yi, fma(t.half_im, y, xi));
                im[left] = yi;
                re[right] = fma(-t.half, y, fma(-t.half_im, yi, x));
                re[left] = y;
            } else {
                x = fma(-t.half, y, x);
                y = fma(t.whole, x, y);
                re[right] = fma(-t.half, y, x);
                re[left] = y;
            }
        }
    }

    /* They only change places. */
    template <int ODD> __device__ void swap() {
#pragma unroll
        for (int p = 0; p < (SIDE - ODD) / 2; p++) {
            int left = 2 * p + ODD;
            T x = re[left];
            re[left] = re[left + 1];
            re[left + 1] = x;
            if (COMPLEX) {
                T y = im[left];
                im[left] = im[left + 1];
                im[left + 1] = y;
            }
        }
    }
};

/* ---- one pair ---- */

/* The pair of a lane: squared norms of its columns, and what is to be done with them. */
template <typename T, bool COMPLEX> struct HcPair {
    T left, right;
    bool turns;       /* they were not orthogonal */
    T cosine2, sine2; /* the largest squares since these were 0: between columns that turn, of angles */

    /* The rotation that makes them orthogonal, by the smaller angle; then they change places. `meets`: the
     * lane has a pair in this round; `frozen`: it is not to be turned any more. */
    __device__ HcTurn<T, COMPLEX> find(T real, T imaginary, T tolerance, bool meets, bool frozen) {
        typedef HcSvdScale<T> Scale;
        HcTurn<T, COMPLEX> out;
        T recip_left = hc_rough_recip_root(left);
        T recip_right = hc_rough_recip_root(right);
        /* The cosine between the columns; unlike products, it neither overflows nor vanishes. */
        T cosine = real * recip_left * recip_right;
        T cosine_im = 0;
        T square = cosine * cosine;
        if constexpr (COMPLEX) {
            cosine_im = imaginary * recip_left * recip_right;
            square = fma(cosine_im, cosine_im, square);
        }
        turns = meets && !frozen && left >= Scale::tiny() && right >= Scale::tiny() &&
                square > tolerance * tolerance;
        /* Where columns were all but parallel, what is known of their norms may be nothing: the next sweep
         * knows. */
        bool rotates = turns && square < T(2);
        /* With d = cot 2a |cosine|: 1 / sqrt(d^2 + cosine^2) gives cos 2a, and that the angle a. */
        T d = T(0.5) * (right - left) * fmin(recip_left, recip_right) * fmax(recip_left, recip_right);
        T steep = fabs(d);
        T recip = steep > Scale::large() ? hc_rough_recip(steep) /* where squares might overflow */
                                         : hc_rough_recip_root(fma(steep, steep, square));
        T squared_cosine = fma(T(0.5), steep * recip, T(0.5));
        T secant = hc_rough_recip_root(squared_cosine);
        T more = fma(squared_cosine, secant, T(1)); /* 1 + cos a */
        T scale = T(0.5) * recip * secant;
        scale = d < 0 ? -scale : scale;
        if (rotates) {
            T change = scale * square * secant * (left * recip_left) * (right * recip_right);
            left -= change;
            right += change;
        }
        T recip_more = hc_rough_recip(more);
        T whole = cosine * scale;
        T sine = whole * whole;
        T half = whole * recip_more;
        T stretch = fma(half, half, T(1));
        if constexpr (COMPLEX) {
            T whole_im = cosine_im * scale;
            sine = fma(whole_im, whole_im, sine);
            T half_im = whole_im * recip_more;
            stretch = fma(half_im, half_im, stretch);
            whole_im = fma(fma(-whole_im, stretch, 2 * half_im), T(0.5) * more, whole_im);
            out.half_im = rotates ? half_im : T(0);
            out.whole_im = rotates ? whole_im : T(0);
        }
        /* The sine must fit the tangent to the last digit: lengths would drift. */
        whole = fma(fma(-whole, stretch, 2 * half), T(0.5) * more, whole);
        out.half = rotates ? half : T(0);
        out.whole = rotates ? whole : T(0);
        if (turns) {
            cosine2 = fmax(cosine2, square);
            sine2 = fmax(sine2, sine);
        }
        if (meets) {
            T other = left;
            left = right;
            right = other;
        }
        return out;
    }
};

/* Squared norms of the columns, as the round of even pairs wants them: the sums over a team. */
template <typename T, bool COMPLEX, int SIDE, int PAIRS, int TEAM, int ROWS>
__device__ static inline void hc_square_norms(const HcRow<T, COMPLEX, SIDE> *row, int lane, T &left,
                                              T &right) {
    T sums[PAIRS];
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        row[r].template squares<0>(sums, r == 0);
    }
    left = hc_sum_for_lanes<PAIRS, TEAM>(sums, lane);
#pragma unroll
    for (int r = 0; r < ROWS; r++) {
        row[r].template squares<1>(sums, r == 0);
    }
    right = hc_sum_for_lanes<PAIRS, TEAM>(sums, lane);
}

/* Products of the pairs over a team: that of the lane's pair. */
template <int ODD, typename T, bool COMPLEX, int SIDE, int PAIRS, int TEAM, int ROWS>
__device__ static inline void hc_pair_product(const HcRow<T, COMPLEX, SIDE> *row, int lane, T &real,
                                              T &imaginary) {
    T re[PAIRS];
    T im[PAIRS];
    row[0].template products<ODD>(re, im);
#pragma unroll
    for (int r = 1; r < ROWS; r++) {
        row[r].template more_products<ODD>(re, im);
    }
    real = hc_sum_for_lanes<PAIRS, TEAM>(re, lane);
    imaginary = 0;
    if (COMPLEX) {
        imaginary = hc_sum_for_lanes<PAIRS, TEAM>(im, lane);
    }
}

/* Neighbours meet anew: the lane's pair moves one column to the right (ODD follows), or back. `first` keeps
 * the norm of column 0, which has no partner in odd rounds. */
template <int PAIRS, typename T, bool COMPLEX>
__device__ static inline void hc_to_odd(HcPair<T, COMPLEX> &pair, int lane, T &first) {
    T next = __shfl_sync(~0U, pair.left, (lane & ~(PAIRS - 1)) | ((lane + 1) & (PAIRS - 1)));
    first = pair.left;
    pair.left = pair.right;
    pair.right = next;
}
template <int PAIRS, typename T, bool COMPLEX>
__device__ static inline void hc_to_even(HcPair<T, COMPLEX> &pair, int lane, T first) {
    T before = __shfl_sync(~0U, pair.right, (lane & ~(PAIRS - 1)) | ((lane - 1) & (PAIRS - 1)));
    pair.right = pair.left;
    pair.left = (lane & (PAIRS - 1)) == 0 ? first : before;
}

#endif
