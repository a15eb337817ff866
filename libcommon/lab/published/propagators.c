#include "lab/published/propagators.h"

#include "base/mem.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "linalg/svd.h"

/* The control paths: of those that are finite, evenly spread. Where the speed drifted, the rule is compared too. */
static void choose_controls(const geodec_geodesics *g, geodec_propagators *p, int64_t wanted)
{
    int64_t finite = 0, seen = 0;
    for (int64_t i = 0; i < g->paths; i++) finite += g->status[i] != GEODEC_PATH_NONFINITE;
    const int64_t count = wanted < finite ? wanted : finite;
    for (int64_t i = 0; i < g->paths && p->controls < count; i++) {
        if (g->status[i] == GEODEC_PATH_NONFINITE || seen++ != p->controls * finite / count) continue;
        p->control_path[p->controls++] = (int32_t)i;
    }
}

typedef struct job {
    const geodec_harness_manifold *m;
    const geodec_geodesics *g;
    geodec_propagators *p;
} job;

static geodec_status path_task(void *ctx, int64_t i, geodec_err *err)
{
    const job *k = ctx;
    const int64_t S = k->g->nodes, n = k->g->n;
    return geodec_harness_propagator(k->m, k->g->x + i * S * n, k->g->v + i * S * n, S - 1, k->g->dl,
                                     k->p->phi + i * S * n * n, err);
}

static geodec_status control_task(void *ctx, int64_t c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const job *k = ctx;
    const int64_t n = k->g->n, nn = n * n, S = k->g->nodes, i = k->p->control_path[c];
    const double *phi = k->p->phi + (i * S + S - 1) * nn;
    double *gap = NULL;
    GEODEC_NEW(gap, nn);
    GEODEC_TRY(geodec_propagate_by_differences(&k->m->space, &k->g->options, k->g->x + i * S * n, k->g->v + i * S * n,
                                               0, gap, err));
    for (int64_t j = 0; j < nn; j++) gap[j] -= phi[j];
    k->p->control_gap[c] = geodec__largest(nn, gap);
done:
    geodec_mem_free(gap);
    return st;
}

geodec_status geodec_published_propagators_compute(const geodec_harness_manifold *m, geodec_geodesics *paths,
                                                   int64_t control, geodec_pool *pool, const geodec_hooks *hooks,
                                                   geodec_propagators *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_propagators p = {.options = geodec_propagate_defaults(), .rule = "published"};
    const geodec_geodesics *g = paths;
    const int64_t P = g->paths, S = g->nodes, n = g->n, nn = n * n;
    if (m->n != n)
        GEODEC_THROW(GEODEC_FORMAT, "paths of dimension %lld in a metric of dimension %lld", (long long)n,
                     (long long)m->n);
    if (control < 0) GEODEC_THROW(GEODEC_RANGE, "%lld paths in the control", (long long)control);
    GEODEC_NEW(p.control_path, control);
    GEODEC_NEW(p.phi, P * S * nn);
    GEODEC_NEW(p.singular, P * n);
    GEODEC_NEW(p.report, P);
    GEODEC_NEW_EACH(control, p.control_gap, p.control_step);
    choose_controls(g, &p, control);
    job k = {m, g, &p};
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "propagator of path", P, path_task, &k, err));
    for (int64_t i = 0; i < P; i++)
        GEODEC_TRY(geodec_svd_values(n, n, p.phi + (i * S + S - 1) * nn, p.singular + i * n, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "control by differences", p.controls, control_task, &k, err));
    p.paths = *paths;
    *paths = (geodec_geodesics){0};
    *out = p;
done:
    if (st != GEODEC_OK) geodec_propagators_clear(&p);
    return st;
}
