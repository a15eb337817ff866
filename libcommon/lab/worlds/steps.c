#include "lab/worlds/steps.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "lab/worlds/worlds_internal.h"

typedef struct sums {
    double step, error, straight, straight_step, along, random;
} sums;

static bool follows(const geodec_world *w, int64_t i)
{
    return i > 0 && w->sequence[i] == w->sequence[i - 1] && w->position[i] == w->position[i - 1] + 1;
}

/* Adds the step from row i - 1 to row i. ahead [ambient]. A continuation that leaves the set is left out. */
static geodec_status add(const geodec_world *w, int64_t i, double *ahead, sums *s, bool *counted, geodec_err *err)
{
    const int64_t d = w->ambient;
    const double *from = w->clean + (i - 1) * d, *to = w->clean + i * d;
    double c[GEODEC__WORLD_N];
    geodec_rng r = geodec_rng_stream(w->seed, geodec_rng_id("worlds control", (uint64_t)i));
    *counted = false;
    const geodec_status st = geodec_world_geodesic(w, i - 1, NULL, w->step, ahead, NULL, NULL);
    if (st == GEODEC_NUMERIC) return GEODEC_OK;
    if (st != GEODEC_OK) GEODEC_FAIL(st, "the continuation of row %lld", (long long)i - 1);
    geodec__world_unit(&r, w->n, c);
    s->along += geodec__dot(w->n, w->advance + i * w->n, w->heading + (i - 1) * w->n);
    s->random += geodec__dot(w->n, w->advance + i * w->n, c);
    s->step += geodec__gap2(d, to, from);
    s->error += geodec__gap2(d, to, ahead);
    if (follows(w, i - 1)) {
        const double *before = w->clean + (i - 2) * d;
        s->straight_step += geodec__gap2(d, to, from);
        for (int64_t a = 0; a < d; a++) s->straight += pow(to[a] - 2 * from[a] + before[a], 2);
    }
    *counted = true;
    return GEODEC_OK;
}

geodec_status geodec_world_steps_measure(const geodec_world *w, geodec_world_steps *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    sums s = {0};
    double *ahead = NULL;
    geodec_world_steps m = {0};
    GEODEC_NEW(ahead, w->ambient);
    for (int64_t i = 1; w->shape && w->sampling != GEODEC_WORLD_INDEPENDENT && i < w->points; i++) {
        bool counted;
        if (!follows(w, i) || w->turned[i]) continue;
        GEODEC_TRY(add(w, i, ahead, &s, &counted, err));
        m.counted += counted;
    }
    if (m.counted > 0) {
        m.share = s.along / (double)m.counted;
        m.random = s.random / (double)m.counted;
        m.length = sqrt(s.step / (double)m.counted);
        m.error = s.error / s.step;
        m.straight = s.straight_step > 0 ? s.straight / s.straight_step : 0;
    }
    *out = m;
done:
    geodec_mem_free(ahead);
    return st;
}
