/* Products of rows with an x of one type; gemv.c includes this for each of them with
 *   REAL  float or double,  NAME(word)  names of this type's own. */

/* out[rows] = a[rows][stride], of which `columns` count, times x. Lanes are added in halves. */
HC_CLONES static void NAME(multiply)(const float *restrict a, int64_t stride, const REAL *restrict x,
                                     int64_t columns, int64_t rows, double *restrict out) {
    for (int64_t r = 0; r < rows; r++) {
        const float *row = a + r * stride;
        double lane[LANES] = {0};
        int64_t j = 0;
        for (; j + LANES <= columns; j += LANES) {
            for (int l = 0; l < LANES; l++) {
                lane[l] += (double)row[j + l] * (double)x[j + l];
            }
        }
        for (int l = 0; j + l < columns; l++) {
            lane[l] += (double)row[j + l] * (double)x[j + l];
        }
        for (int half = LANES / 2; half > 0; half /= 2) {
            for (int l = 0; l < half; l++) {
                lane[l] += lane[l + half];
            }
        }
        out[r] = lane[0];
    }
}

#undef REAL
#undef NAME
