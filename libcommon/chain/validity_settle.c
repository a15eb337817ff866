#include "base/mem.h"
#include "base/tasks.h"
#include "chain/validity.h"

#include <math.h>
#include <string.h>

typedef struct settle {
    const geodec_space *s;
    geodec_validity_options o; /* of the current pass */
    int64_t n;
    const double *x0, *v0;
    double *phi;  /* [starts][n][n] */
    bool *broken; /* [starts] */
} settle;

static geodec_status propagator_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    settle *w = ctx;
    const int64_t n = w->n, T = w->o.path.steps;
    double *block = NULL;
    geodec_path_report path;
    geodec_propagate_report report;
    GEODEC_NEW(block, (T + 1) * n * (n + 2));
    double *xs = block, *vs = xs + (T + 1) * n, *phi = vs + (T + 1) * n;
    GEODEC_TRY(geodec_geodesic_path(w->s, &w->o.path, w->x0 + i * n, w->v0 + i * n, xs, vs, NULL, &path, err));
    w->broken[i] = path.status == GEODEC_PATH_NONFINITE;
    if (w->broken[i]) goto done;
    GEODEC_TRY(geodec_propagate_path(w->s, &w->o.propagate, T, w->o.path.dl, T, xs, vs, phi, NULL, &report, err));
    w->broken[i] = report.broken;
    if (w->broken[i]) goto done;
    memcpy(w->phi + i * n * n, phi + T * n * n, (size_t)(n * n) * sizeof *phi);
done:
    geodec_mem_free(block);
    return st;
}

/* Largest relative change of a propagator, Frobenius; a path that breaks down in one of the two only counts as 1. */
static double change_of(const settle *w, int64_t starts, const double *before, const bool *broken_before)
{
    double worst = 0;
    for (int64_t i = 0; i < starts; i++) {
        double difference = 0, size = 0;
        if (w->broken[i] != broken_before[i]) worst = fmax(worst, 1);
        if (w->broken[i] || broken_before[i]) continue;
        for (int64_t j = i * w->n * w->n; j < (i + 1) * w->n * w->n; j++) {
            difference += (w->phi[j] - before[j]) * (w->phi[j] - before[j]);
            size += w->phi[j] * w->phi[j];
        }
        worst = fmax(worst, sqrt(difference / size));
    }
    return worst;
}

geodec_status geodec_validity_settle(const geodec_space *s, geodec_validity_options *o, geodec_pool *pool,
                                     const geodec_hooks *hooks, int64_t starts, const double *x0, const double *v0,
                                     double tolerance, int most, int *halvings, double *change, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t size = starts * s->n * s->n;
    settle w = {.s = s, .o = *o, .n = s->n, .x0 = x0, .v0 = v0};
    double *before = NULL;
    bool *broken_before = NULL;
    GEODEC_NEW(w.phi, size);
    GEODEC_NEW(w.broken, starts);
    GEODEC_NEW(before, size);
    GEODEC_NEW(broken_before, starts);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "step length", starts, propagator_task, &w, err));
    *change = 0;
    for (*halvings = 0; *halvings < most; ++*halvings) {
        memcpy(before, w.phi, (size_t)size * sizeof *before);
        memcpy(broken_before, w.broken, (size_t)starts * sizeof *w.broken);
        *o = w.o;
        w.o.path.steps *= 2;
        w.o.path.dl /= 2;
        GEODEC_TRY(geodec__tasks_run(pool, hooks, "step length", starts, propagator_task, &w, err));
        *change = change_of(&w, starts, before, broken_before);
        if (*change <= tolerance) goto done;
    }
    *o = w.o;
done:
    geodec_mem_free(w.phi);
    geodec_mem_free(w.broken);
    geodec_mem_free(before);
    geodec_mem_free(broken_before);
    return st;
}
