/* The sums of dots_internal.h, compiled for each set. A file defines before the inclusion: DOTS and ISA (its table),
 * V (a vector of LANES lanes of 64 bits), load(p), add(a, b), top(x) (the high halves of the lanes, in the low ones),
 * low(x, bits), shifted(x, 30), mul(a, b) and signed_mul(a, b) (products of the low halves), zero(), total(x). */
#include "base/unroll_internal.h"
#include "lab/integer/scores/dots_internal.h"

enum { PAIR = 2 * LANES, NARROW_STEPS = 16, WIDE_STEPS = 8 };

/* Adds the halves of a sum of each lane to the parts. */
INLINE void split(V sum, V part[2])
{
    part[0] = add(part[0], low(sum, 32));
    part[1] = add(part[1], top(sum));
}

static void narrow(const uint32_t *a, const uint32_t *b, int64_t n, uint64_t part[GEODEC__DOTS_NARROW])
{
    V sum[2] = {zero(), zero()};
    for (int64_t i = 0; i < n;) {
        V even = zero(), odd = zero();
        for (const int64_t end = i + NARROW_STEPS * PAIR < n ? i + NARROW_STEPS * PAIR : n; i < end; i += PAIR) {
            const V x = load(a + i), y = load(b + i);
            even = add(even, mul(x, y));
            odd = add(odd, mul(top(x), top(y)));
        }
        split(even, sum);
        split(odd, sum);
    }
    for (int k = 0; k < 2; k++) part[k] = total(sum[k]);
}

static void wide(const uint64_t *a, const uint64_t *b, int64_t n, uint64_t part[GEODEC__DOTS_WIDE])
{
    V sum[6] = {zero(), zero(), zero(), zero(), zero(), zero()};
    for (int64_t i = 0; i < n;) {
        V first = zero(), cross = zero(), last = zero();
        /* two products of a word are in the middle sum: 16 of them */
        for (const int64_t end = i + WIDE_STEPS * LANES < n ? i + WIDE_STEPS * LANES : n; i < end; i += LANES) {
            const V x = load(a + i), y = load(b + i), x0 = low(x, 30), y0 = low(y, 30), x1 = shifted(x, 30),
                    y1 = shifted(y, 30);
            first = add(first, mul(x0, y0));
            cross = add(cross, add(mul(x0, y1), mul(x1, y0)));
            last = add(last, mul(x1, y1));
        }
        split(first, sum);
        split(cross, sum + 2);
        split(last, sum + 4);
    }
    for (int k = 0; k < GEODEC__DOTS_WIDE; k++) part[k] = total(sum[k]);
}

static void plain(const int32_t *q, const int32_t *k, int64_t n, int64_t dim, int64_t *c)
{
    for (int64_t i = 0; i < n; i++, k += dim) {
        V even = zero(), odd = zero();
        int64_t d = 0;
        for (; d + PAIR <= dim; d += PAIR) {
            const V x = load(q + d), y = load(k + d);
            even = add(even, signed_mul(x, y));
            odd = add(odd, signed_mul(top(x), top(y)));
        }
        uint64_t sum = total(add(even, odd));
        for (; d < dim; d++) sum += (uint64_t)((int64_t)q[d] * k[d]);
        c[i] = (int64_t)sum;
    }
}

const geodec__dots_ops DOTS = {.isa = ISA, .narrow = narrow, .wide = wide, .plain = plain};
