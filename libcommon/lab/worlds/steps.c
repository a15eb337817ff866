#include "lab/worlds/steps.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "lab/worlds/worlds_internal.h"

typedef struct sums {
    double step, along, continued, error, straight, straight_step, random, random_square;
} sums;

static bool follows(const geodec_world *w, int64_t i)
{
    return i > 0 && w->sequence[i] == w->sequence[i - 1] && w->position[i] == w->position[i - 1] + 1;
}

/* Adds the step from row i - 1 to row i. scratch [3][ambient]. A geodesic that leaves the set is left out. */
static geodec_status add(const geodec_world *w, int64_t i, double *scratch, sums *s, bool *counted, geodec_err *err)
{
    const int64_t d = w->ambient;
    const double *from = w->clean + (i - 1) * d, *to = w->clean + i * d, *before = w->clean + (i - 2) * d;
    double *ahead = scratch, *other = scratch + d, c[GEODEC__WORLD_N];
    geodec_rng r = geodec_rng_stream(w->seed, geodec_rng_id("worlds control", (uint64_t)i));
    *counted = false;
    geodec__world_unit(&r, w->n, c);
    geodec_status st = geodec_world_geodesic(w, i - 1, NULL, w->step, ahead, NULL, NULL);
    if (st == GEODEC_OK) st = geodec_world_geodesic(w, i - 1, c, w->step, other, NULL, NULL);
    if (st == GEODEC_NUMERIC) return GEODEC_OK;
    if (st != GEODEC_OK) GEODEC_FAIL(st, "the continuation of row %lld", (long long)i - 1);
    for (int64_t a = 0; a < d; a++) {
        const double step = to[a] - from[a], continued = ahead[a] - from[a], random = other[a] - from[a];
        s->step += step * step;
        s->along += step * continued;
        s->continued += continued * continued;
        s->error += (step - continued) * (step - continued);
        s->random += step * random;
        s->random_square += random * random;
        if (!follows(w, i - 1)) continue;
        s->straight_step += step * step;
        s->straight += (step - (from[a] - before[a])) * (step - (from[a] - before[a]));
    }
    *counted = true;
    return GEODEC_OK;
}

geodec_status geodec_world_steps_measure(const geodec_world *w, geodec_world_steps *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    sums s = {0};
    double *scratch = NULL;
    geodec_world_steps m = {0};
    GEODEC_NEW(scratch, 2 * w->ambient);
    for (int64_t i = 1; w->shape && w->sampling != GEODEC_WORLD_INDEPENDENT && i < w->points; i++) {
        bool counted;
        if (!follows(w, i) || w->turned[i]) continue;
        GEODEC_TRY(add(w, i, scratch, &s, &counted, err));
        m.counted += counted;
    }
    if (m.counted > 0) {
        m.length = sqrt(s.step / (double)m.counted);
        m.share = s.along / s.continued;
        m.error = s.error / s.step;
        m.straight = s.straight_step > 0 ? s.straight / s.straight_step : 0;
        m.random = s.random / s.random_square;
    }
    *out = m;
done:
    geodec_mem_free(scratch);
    return st;
}
