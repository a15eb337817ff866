#include "lab/published/substitution.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/vec_internal.h"
#include "linalg/stats.h"

#include <math.h>

typedef struct report {
    int64_t rows;
    const geodec_substitution_published *row; /* [rows] */
} report;
#define OF(m) GEODEC_OF_ROW(geodec_substitution_published, m)

static const geodec_field fields[] = {
    {"/share", GEODEC_F64, "S", 0, "1", "cached share of the points", 0, OF(share)},
    {"/hit", GEODEC_F64, "S", 0, "1", "share of the others within g-distance 3 of a cached point", 0, OF(hit)},
    {"/correctable", GEODEC_F64, "S", 0, "1", "within 0.4", 0, OF(correctable)},
    {"/distance", GEODEC_F64, "S", 0, "1", "mean g-distance", 0, OF(distance)},
    {"/distance_p95", GEODEC_F64, "S", 0, "1", "95th percentile", 0, OF(distance_p95)},
    {"/projected", GEODEC_F64, "S", 0, "1", "speed-up when a hit is assumed to cost half a step and all else nothing",
     0, OF(projected)},
    {"/closed_form", GEODEC_F64, "S", 0, "1", "control: 1 - C(N-1-k,c) / C(N-1,c), which no data enter", 0,
     OF(closed_form)},
};

static const geodec_extent extents[] = {{"S", GEODEC_IN(report, rows)}};

const geodec_kind geodec_substitution_published_kind = {
    GEODEC_ABOUT("substitution-ref", 1, 0, "geodec-published substitution",
                 "the published decode substitution: counts and the speed-up projected from them"),
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .extents = extents,
    .n_extents = (int)(sizeof extents / sizeof *extents),
    .rows = {"S", sizeof(geodec_substitution_published), offsetof(report, row), false},
};

geodec_status geodec_substitution_published_write(int64_t rows, const geodec_substitution_published *row,
                                                  geodec_artifact *a, geodec_err *err)
{
    const report r = {rows, row};
    return geodec_artifact_save(a, &r, err);
}

enum { SCREEN = 8, MAX_N = GEODEC_PUBLISHED_MAX_N };

/* g-distance of point p to the g-nearest of its SCREEN Euclid-nearest cached points. */
static geodec_status step_distance(const geodec_harness_manifold *m, int64_t cached, const int64_t *permutation,
                                   int64_t p, double *out, geodec_err *err)
{
    const int64_t n = m->n;
    double g[MAX_N * MAX_N], delta[MAX_N], near[SCREEN];
    int64_t who[SCREEN], kept = 0;
    const double *x = m->point + p * n;
    for (int64_t c = 0; c < cached; c++) {
        const double *q = m->point + permutation[c] * n;
        geodec__keep_nearest(SCREEN, &kept, near, who, geodec__gap2(n, x, q), permutation[c]);
    }
    GEODEC_PASS(geodec_harness_g_at(m, x, g, err));
    double best = INFINITY;
    for (int64_t c = 0; c < kept; c++) {
        for (int64_t i = 0; i < n; i++) delta[i] = x[i] - m->point[who[c] * n + i];
        best = fmin(best, geodec__norm2(n, g, delta));
    }
    *out = sqrt(fmax(best, 0));
    return GEODEC_OK;
}

geodec_status geodec_substitution_published_run(const geodec_harness_manifold *m, int64_t cached,
                                                const int64_t *permutation, double eps, double rho,
                                                geodec_substitution_published *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_substitution_published s = {.cached = cached, .steps = m->samples - cached};
    double *d = NULL;
    if (cached < 1 || cached >= m->samples || m->n > MAX_N)
        GEODEC_THROW(GEODEC_RANGE, "%lld of %lld points cached", (long long)cached, (long long)m->samples);
    for (int64_t i = 0; i < m->samples; i++)
        if (permutation[i] < 0 || permutation[i] >= m->samples)
            GEODEC_THROW(GEODEC_RANGE, "point %lld of %lld", (long long)permutation[i], (long long)m->samples);
    GEODEC_NEW(d, s.steps);
    for (int64_t i = 0; i < s.steps; i++) {
        GEODEC_TRY(step_distance(m, cached, permutation, permutation[cached + i], d + i, err));
        s.hit += d[i] <= eps;
        s.correctable += d[i] <= rho;
    }
    s.hit /= (double)s.steps;
    s.correctable /= (double)s.steps;
    s.distance = geodec_stats_mean(s.steps, d);
    geodec_stats_sort(s.steps, d);
    s.distance_p95 = geodec_stats_percentile(s.steps, d, 0.95);
    s.projected = 1 / fmax(0.5 * fmax(0, s.hit - s.correctable) + 1 - s.hit, 1e-12);
    *out = s;
done:
    geodec_mem_free(d);
    return st;
}
