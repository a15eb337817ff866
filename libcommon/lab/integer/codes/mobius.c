#include "lab/integer/codes/mobius.h"

#include <stdbool.h>
#include <stddef.h>

int geodec_mobius(uint64_t n)
{
    int mu = n > 0;
    for (uint64_t p = 2; p <= n / p; p++) {
        if (n % p != 0) continue;
        n /= p;
        if (n % p == 0) return 0;
        mu = -mu;
    }
    return n > 1 ? -mu : mu;
}

geodec_status geodec_mobius_order(int64_t id, int64_t n, int32_t *order, int64_t *first, geodec_err *err)
{
    if (id < 0 || id >= GEODEC_MOBIUS_IDS) GEODEC_FAIL(GEODEC_RANGE, "order %lld of coefficients", (long long)id);
    if (n < 1 || n > INT32_MAX) GEODEC_FAIL(GEODEC_RANGE, "an order of %lld coefficients", (long long)n);
    if (id == GEODEC_MOBIUS_AFFINE17 && n % 17 == 0)
        GEODEC_FAIL(GEODEC_RANGE, "17 i mod %lld is no order: 17 divides %lld", (long long)n, (long long)n);
    int64_t k = 0, free = n;
    if (id == GEODEC_MOBIUS_NATURAL || id == GEODEC_MOBIUS_AFFINE17) {
        for (int64_t i = 0; i < n; i++) order[id == GEODEC_MOBIUS_AFFINE17 ? 17 * i % n : i] = (int32_t)i;
    } else {
        for (int rest = 0; rest < 2; rest++) {
            for (int64_t i = 0; i < n; i++)
                if ((geodec_mobius((uint64_t)(i + (id == GEODEC_MOBIUS_MU1))) == 0) == (rest != 0))
                    order[k++] = (int32_t)i;
            if (!rest) free = k;
        }
    }
    if (first) *first = free;
    return GEODEC_OK;
}
