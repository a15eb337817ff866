#include "base/mem.h"
#include "base/rng.h"
#include "records/lookup.h"

#include <string.h>

geodec_status geodec_lookup_choose(const geodec_metric *m, const geodec_propagators *p, int64_t most, uint64_t seed,
                                   double **out, int64_t *count, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    uint8_t *anchor = NULL;
    double *x = NULL;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("record queries", 0));
    int64_t free_points = m->points, got = 0;
    GEODEC_NEW(anchor, m->points);
    for (int64_t i = 0; i < p->paths.paths; i++) {
        const int32_t a = p->paths.point[i];
        if (a < 0 || a >= m->points)
            GEODEC_THROW(GEODEC_FORMAT, "a path begins at point %d of %lld", (int)a, (long long)m->points);
        free_points -= !anchor[a];
        anchor[a] = 1;
    }
    const int64_t want = most < free_points ? most : free_points;
    GEODEC_NEW(x, want * n);
    for (int64_t i = 0, left = free_points; i < m->points && got < want; i++) {
        if (anchor[i]) continue;
        if ((int64_t)geodec_rng_below(&r, (uint64_t)left--) < want - got)
            memcpy(x + got++ * n, m->point + i * n, (size_t)n * sizeof *x);
    }
    *out = x;
    *count = got;
    x = NULL;
done:
    geodec_mem_free(anchor);
    geodec_mem_free(x);
    return st;
}
