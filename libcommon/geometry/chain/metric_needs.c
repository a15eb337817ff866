#include "chain/metric_needs.h"

#include "artifact/binding.h"
#include "base/clock.h"
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "base/pilot.h"
#include "chain/metric_internal.h"
#include "linalg/expm.h"
#include "linalg/knn_pilot.h"

#include <string.h>

double geodec_metric_bytes(int64_t in_file, int64_t K, int64_t points, int64_t n, int64_t k, int64_t threads)
{
    const double N = (double)points, coordinates = 8 * (double)n, tables = coordinates + 12 * (double)k + 20;
    const double matrix = 8 * (double)geodec_sym_packed(n) + 20;
    const double slab = (double)(GEODEC_METRIC_SLAB / (8 * geodec_sym_packed(n))) * matrix;
    const double read = (double)in_file * (8 * (double)K + 20) + N * coordinates;
    const double search = geodec_knn_bytes(points, n, 0, k, threads) + 8 * N;
    const double control = (double)in_file * 20 + N * (2 * coordinates + 2 * tables);
    return geodec__max_f64(read, control + geodec__max_f64(search, slab < N * matrix ? slab : N * matrix));
}

typedef struct trial {
    int64_t points, n; /* in all */
    const double *x;
    const geodec_metric_options *o;
    geodec_pool *pool;
} trial;

/* Matrices of some points. The neighbours are any other points: their distance changes no time. */
static geodec_status matrices(void *ctx, int64_t items, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const trial *t = ctx;
    const int64_t n = t->n, k = t->o->k, m = items > k ? items : k + 1;
    geodec_metric fit = {.points = m, .n = n, .k = k, .options = *t->o};
    double *log_g = NULL;
    GEODEC_TRY(geodec_artifact_reserve(&geodec_metric_kind, &fit, err));
    GEODEC_NEW(log_g, items * geodec_sym_packed(n));
    for (int64_t i = 0; i < m; i++) {
        memcpy(fit.point + i * n, t->x + i * t->points / m * n, (size_t)n * sizeof *fit.point);
        for (int64_t j = 0; j < k; j++) fit.knn_index[i * k + j] = (int32_t)((i + 1 + j) % m);
    }
    GEODEC_TRY(geodec__metric_fit_slab(&fit, 0, items, log_g, t->pool, err));
done:
    geodec_mem_free(log_g);
    geodec_metric_clear(&fit);
    return st;
}

/* The control's points are made as the stage makes them, and searched. */
static geodec_status control(const trial *t, uint64_t seed, double budget, const geodec_hooks *hooks,
                             geodec_knn_cost *cost, double *made, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *z = NULL;
    const double begin = geodec_clock_process_seconds();
    GEODEC_NEW(z, t->points * t->n);
    GEODEC_TRY(geodec__metric_control_points(t->points, t->n, t->x, seed, t->pool, z, err));
    *made = geodec_clock_process_seconds() - begin;
    GEODEC_TRY(geodec_knn_pilot(t->points, t->n, z, 0, NULL, t->o->k, budget, t->pool, hooks, cost, err));
done:
    geodec_mem_free(z);
    return st;
}

static void add_search(geodec_needs *needs, const char *name, double before, const geodec_knn_cost *c, double points,
                       int ranks)
{
    geodec_needs_time(needs, name, before + c->order, c->fixed + c->query * points / ranks);
}

geodec_status geodec_metric_needs(const geodec_cloud *cloud, int64_t in_file, int64_t n, const double *x,
                                  const geodec_metric_options *options, bool f32, uint64_t seed, double budget,
                                  geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs, geodec_size *size,
                                  geodec_err *err)
{
    geodec_metric_options o = *options;
    const int64_t points = cloud->points;
    const int ranks = geodec_comm_size(o.comm);
    geodec_knn_cost own, other;
    geodec_pilot fit;
    double made = 0;
    GEODEC_PASS(geodec__metric_check(points, n, &o, err));
    const geodec_size_dim dims[] = {{"N", points}, {"n", n}, {"k", o.k}, {"d", cloud->d}, {"P", geodec_sym_packed(n)}};
    GEODEC_PASS(geodec_size_of(&geodec_metric_kind, 5, dims,
                               f32 ? "/log_g_f32 /sequence /position" : "/log_g /sequence /position", size, err));
    trial t = {.points = points, .n = n, .x = x, .o = &o, .pool = pool};
    const int64_t least = points < 64 ? points : 64;
    GEODEC_PASS(geodec_pilot_run(matrices, &t, least, points, budget / 3, &fit, err));
    GEODEC_PASS(geodec_knn_pilot(points, n, x, 0, NULL, o.k, budget / 3, pool, hooks, &own, err));
    GEODEC_PASS(control(&t, seed, budget / 3, hooks, &other, &made, err));
    geodec_needs_size(needs, "points", (double)points);
    geodec_needs_size(needs, "dimension", (double)n);
    geodec_needs_size(needs, "k", (double)o.k);
    geodec_needs_size(needs, "ranks", ranks);
    geodec_needs_size(needs, "pilot_points", (double)fit.items);
    geodec_needs_memory(needs, "fit",
                        geodec_metric_bytes(in_file, cloud->k, points, n, o.k, geodec_pool_threads(pool)));
    add_search(needs, "neighbours", 0, &own, (double)points, ranks);
    add_search(needs, "control_neighbours", made, &other, (double)points, ranks);
    geodec_needs_time(needs, "matrices", 0, 2 * fit.item * (double)points / ranks);
    return GEODEC_OK;
}
