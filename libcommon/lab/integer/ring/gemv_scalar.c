#include "lab/integer/ring/gemv_internal.h"

static void rows64(const geodec_ring_element *w, int64_t rows, int64_t cols, const geodec_ring_element *x,
                   const geodec_ring_element *swapped, bool zero_b, geodec_ring_element *y)
{
    (void)swapped;
    for (int64_t i = 0; i < rows; i++, w += cols) {
        uint64_t ac = 0, bd = 0, cross = 0;
        for (int64_t k = 0; k < cols; k++) {
            const uint64_t a = (uint64_t)w[k].a, c = (uint64_t)x[k].a, d = (uint64_t)x[k].b;
            ac += a * c;
            cross += a * d;
            if (zero_b) continue;
            const uint64_t b = (uint64_t)w[k].b;
            cross += b * c;
            bd += b * d;
        }
        y[i] = (geodec_ring_element){(int64_t)(ac - 41 * bd), (int64_t)(cross + bd)};
    }
}

static int64_t dot16(const int16_t *w, int64_t n, int64_t block, const int16_t *u)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < n;) {
        const int64_t end = (n - k) / 2 < block ? n : k + 2 * block;
        int32_t part = 0;
        for (; k < end; k++) part += w[k] * u[k];
        sum += part;
    }
    return sum;
}

static void rows16(const int16_t *w, int64_t rows, int64_t n, int64_t block, const int16_t *u, const int16_t *v,
                   geodec_ring_element *y)
{
    for (int64_t i = 0; i < rows; i++, w += n)
        y[i] = (geodec_ring_element){dot16(w, n, block, u), v ? dot16(w, n, block, v) : 0};
}

const geodec__gemv64 geodec__gemv64_scalar = {GEODEC_ISA_SCALAR, rows64};
const geodec__gemv16 geodec__gemv16_scalar = {GEODEC_ISA_SCALAR, rows16};
