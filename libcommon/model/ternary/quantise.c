#include "base/finite.h"
#include "base/mem.h"
#include "ternary/ternary.h"

#include <math.h>

static double sum_of(const float *w, int64_t n)
{
    double s = 0;
    for (int64_t i = 0; i < n; i++) s += fabs((double)w[i]);
    return s;
}

geodec_status geodec_ternary_quantise(const float *w, int64_t rows, int64_t cols, double threshold, bool by_row,
                                      int encoding, uint8_t *data, float *scale, int64_t *zeros, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int8_t *t = NULL;
    int64_t none = 0;
    double sum = 0;
    GEODEC_TRY(geodec_ternary_shape(encoding, rows, cols, err));
    if (!(threshold > 0)) GEODEC_THROW(GEODEC_RANGE, "a threshold of %g is not positive", threshold);
    const int64_t bad = geodec_finite_first_not_f32(w, rows * cols);
    if (bad >= 0)
        GEODEC_THROW(GEODEC_NUMERIC, "row %lld, column %lld: the weight is not finite", (long long)(bad / cols),
                     (long long)(bad % cols));
    GEODEC_NEW(t, cols);
    for (int64_t o = 0; o < rows && !by_row; o++) sum += sum_of(w + o * cols, cols);
    for (int64_t o = 0; o < rows; o++) {
        const float *row = w + o * cols;
        const float a = (float)(by_row ? sum_of(row, cols) / (double)cols : sum / (double)(rows * cols));
        const double limit = threshold * (double)a;
        for (int64_t i = 0; i < cols; i++) {
            t[i] = (int8_t)(fabs((double)row[i]) > limit ? (row[i] > 0 ? 1 : -1) : 0);
            none += t[i] == 0;
        }
        geodec_ternary_pack(encoding, t, cols, data + o * geodec_ternary_row_bytes(encoding, cols));
        if (by_row || o == 0) scale[o] = a;
    }
    if (zeros) *zeros = none;
done:
    geodec_mem_free(t);
    return st;
}
