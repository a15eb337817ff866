/* Body of the int16 form for vectors (svec) of STEP int16, 2 of each lane. */
#include "base/unroll_internal.h"

enum { TILE = 4 };

/* R rows; both: v as well as u. The next R rows are prefetched into the second-level cache in the order of memory,
 * which is faster than ahead of each row. */
INLINE void tile16(const int R, const int both, const int16_t *w, int64_t n, int64_t block, const int16_t *u,
                   const int16_t *v, geodec_ring_element *y)
{
    svec real[TILE], imag[TILE];
    UNROLL
    for (int r = 0; r < R; r++) real[r] = imag[r] = s_zero();
    const int64_t steps = n / STEP;
    for (int64_t k = 0; k < steps;) {
        const int64_t end = steps - k < block ? steps : k + block;
        svec part[TILE], other[TILE];
        UNROLL
        for (int r = 0; r < R; r++) part[r] = other[r] = s_zero();
        for (; k < end; k++) {
            const svec p = s_load(u + k * STEP), q = both ? s_load(v + k * STEP) : p;
            UNROLL
            for (int r = 0; r < R; r++) {
                __builtin_prefetch(w + R * n + (R * k + r) * STEP, 0, 2);
                const svec row = s_load(w + r * n + k * STEP);
                part[r] = s_dot(part[r], row, p);
                if (both) other[r] = s_dot(other[r], row, q);
            }
        }
        UNROLL
        for (int r = 0; r < R; r++) {
            real[r] = s_widen(real[r], part[r]);
            if (both) imag[r] = s_widen(imag[r], other[r]);
        }
    }
    UNROLL
    for (int r = 0; r < R; r++) y[r] = (geodec_ring_element){s_sum(real[r]), both ? s_sum(imag[r]) : 0};
}

INLINE void all16(const int both, const int16_t *w, int64_t rows, int64_t n, int64_t block, const int16_t *u,
                  const int16_t *v, geodec_ring_element *y)
{
    int64_t i = 0;
    for (; i + TILE <= rows; i += TILE) tile16(TILE, both, w + i * n, n, block, u, v, y + i);
    for (; i < rows; i++) tile16(1, both, w + i * n, n, block, u, v, y + i);
}

static void rows16(const int16_t *w, int64_t rows, int64_t n, int64_t block, const int16_t *u, const int16_t *v,
                   geodec_ring_element *y)
{
    if (v)
        all16(1, w, rows, n, block, u, v, y);
    else
        all16(0, w, rows, n, block, u, v, y);
}
