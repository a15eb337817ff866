#include "base/choose.h"

#include "base/rng.h"

void geodec__choose_order(uint64_t seed, uint64_t stream, int64_t n, int64_t *order)
{
    geodec_rng r = geodec_rng_stream(seed, stream);
    for (int64_t i = 0; i < n; i++) order[i] = i;
    for (int64_t i = 0; i + 1 < n; i++) {
        const int64_t j = i + (int64_t)geodec_rng_below(&r, (uint64_t)(n - i)), t = order[i];
        order[i] = order[j];
        order[j] = t;
    }
}

geodec_status geodec__choose_subset(uint64_t seed, uint64_t stream, int64_t n, int64_t m, int64_t *out, geodec_err *err)
{
    geodec_rng r = geodec_rng_stream(seed, stream);
    if (m < 0 || m > n) GEODEC_FAIL(GEODEC_RANGE, "%lld of %lld", (long long)m, (long long)n);
    /* selection sampling: the k-th number is taken with probability (numbers to take) / (numbers left) */
    for (int64_t k = 0, got = 0; got < m; k++)
        if ((int64_t)geodec_rng_below(&r, (uint64_t)(n - k)) < m - got) out[got++] = k;
    return GEODEC_OK;
}
