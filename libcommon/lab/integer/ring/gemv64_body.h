/* Body of the int64 form for a vector of E elements (lvec). The swapped vector makes the products across lanes, so no
 * row is shuffled. */
#include "base/unroll_internal.h"

enum { AHEAD64 = 2048 /* bytes */ };

INLINE void tile64(const int R, const int zero_b, const geodec_ring_element *w, int64_t cols,
                   const geodec_ring_element *x, const geodec_ring_element *swapped, geodec_ring_element *y)
{
    lvec own[4], cross[4];
    UNROLL
    for (int r = 0; r < R; r++) own[r] = cross[r] = l_zero();
    int64_t k = 0;
    for (; k + E <= cols; k += E) {
        const lvec v = l_load(x + k), s = l_load(swapped + k);
        UNROLL
        for (int r = 0; r < R; r++) {
            __builtin_prefetch((const char *)(w + r * cols + k) + AHEAD64);
            const lvec row = l_load(w + r * cols + k);
            own[r] = l_add(own[r], l_mul(zero_b ? l_first(row) : row, v));
            if (!zero_b) cross[r] = l_add(cross[r], l_mul(row, s));
        }
    }
    if (k < cols) {
        const lvec v = l_load(x + k), s = l_load(swapped + k); /* padded */
        UNROLL
        for (int r = 0; r < R; r++) {
            const lvec row = l_load_first(w + r * cols + k, cols - k);
            own[r] = l_add(own[r], l_mul(zero_b ? l_first(row) : row, v));
            if (!zero_b) cross[r] = l_add(cross[r], l_mul(row, s));
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) {
        uint64_t even, odd, ad, bc;
        l_sums(own[r], &even, &odd);
        l_sums(cross[r], &ad, &bc);
        y[r] = zero_b ? (geodec_ring_element){(int64_t)even, (int64_t)odd}
                      : (geodec_ring_element){(int64_t)(even - 41 * odd), (int64_t)(ad + bc + odd)};
    }
}

INLINE void all64(const int zero_b, const geodec_ring_element *w, int64_t rows, int64_t cols,
                  const geodec_ring_element *x, const geodec_ring_element *swapped, geodec_ring_element *y)
{
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) tile64(4, zero_b, w + i * cols, cols, x, swapped, y + i);
    for (; i < rows; i++) tile64(1, zero_b, w + i * cols, cols, x, swapped, y + i);
}

static void rows64(const geodec_ring_element *w, int64_t rows, int64_t cols, const geodec_ring_element *x,
                   const geodec_ring_element *swapped, bool zero_b, geodec_ring_element *y)
{
    if (zero_b)
        all64(1, w, rows, cols, x, swapped, y);
    else
        all64(0, w, rows, cols, x, swapped, y);
}
