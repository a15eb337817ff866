/* Inner loops of attention, as plain loops that the compiler vectorises for the set of the including file, which
 * defines ATTEND. Sums of integers have the same bits in any order. */
#include "integer/engine/engine_internal.h"

static void dots(const int16_t *q, const int16_t *k, int64_t n, int64_t dim, int32_t *sum)
{
    for (int64_t i = 0; i < n; i++, k += dim) {
        int32_t s = 0;
        for (int64_t d = 0; d < dim; d++) s += (int32_t)q[d] * k[d];
        sum[i] = s;
    }
}

static void mix(const int32_t *w, const int16_t *v, int64_t n, int64_t dim, int64_t *acc)
{
    for (int64_t i = 0; i < n; i++, v += dim) {
        const int64_t f = w[i];
        if (f == 0) continue;
        for (int64_t d = 0; d < dim; d++) acc[d] += f * v[d];
    }
}

const geodec__engine_attend ATTEND = {dots, mix};
