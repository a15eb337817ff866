#include "linalg/knn_pilot.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/pilot.h"
#include "linalg/knn_internal.h"

#include <string.h>

enum { RUN = GEODEC__KNN_LEAF, PRUNED_D = 32 /* as in knn_coarse.c */ };

typedef struct trial {
    int64_t n, d, k, m;  /* points; queries in order */
    const double *x, *y; /* [n][d], [m][d], both in the order of the search */
    geodec_pool *pool;
    const geodec_hooks *hooks;
} trial;

/* `runs` runs of queries. */
static geodec_status run(void *ctx, int64_t runs, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const trial *t = ctx;
    const geodec_knn_part part = {.ordered = true};
    const int64_t d = t->d, all = (t->m + RUN - 1) / RUN;
    int64_t count = 0;
    double *y = NULL, *dist2 = NULL;
    int32_t *index = NULL;
    GEODEC_NEW(y, runs * RUN * d);
    GEODEC_NEW(index, runs * RUN * t->k);
    GEODEC_NEW(dist2, runs * RUN * t->k);
    for (int64_t r = 0; r < runs; r++) {
        const int64_t first = (2 * r + 1) * all / (2 * runs) * RUN, n = t->m - first < RUN ? t->m - first : RUN;
        memcpy(y + count * d, t->y + first * d, (size_t)(n * d) * sizeof *y);
        count += n;
    }
    GEODEC_TRY(geodec_knn_search_part(&part, t->n, d, t->x, count, y, t->k, index, dist2, t->pool, t->hooks, err));
done:
    GEODEC_FREE(y, index, dist2);
    return st;
}

/* The points in the order of the search, in new memory. */
static geodec_status in_order(int64_t n, int64_t d, const double *x, double **out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int32_t *order = NULL;
    double *y = NULL;
    GEODEC_NEW(order, n);
    GEODEC_NEW(y, n * d);
    GEODEC_TRY(geodec_knn_order(n, d, x, order, err));
    for (int64_t i = 0; i < n; i++) memcpy(y + i * d, x + order[i] * d, (size_t)d * sizeof *y);
    *out = y;
    y = NULL;
done:
    GEODEC_FREE(order, y);
    return st;
}

/* The search itself, stopped when the budget is spent. In many dimensions it visits all leaves, its own first, which a
 * search for other queries cannot do. */
static geodec_status stopped(const trial *t, int64_t k, const double *points, double budget, geodec_knn_cost *out,
                             geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_pilot_watch w;
    double *dist2 = NULL, before, rest;
    int32_t *index = NULL;
    const geodec_hooks hooks = geodec_pilot_watch_hooks(&w, "neighbours", budget, t->hooks);
    GEODEC_NEW(index, t->n * k);
    GEODEC_NEW(dist2, t->n * k);
    st = geodec_knn_search(t->n, t->d, points, 0, NULL, k, index, dist2, t->pool, &hooks, err);
    if (st == GEODEC_INTERRUPTED && !w.asked) {
        geodec_err_clear(err);
        st = GEODEC_OK;
    }
    GEODEC_TRY(st);
    geodec_pilot_watch_result(&w, &before, &rest);
    out->queries = w.done > 0 ? w.done : t->n;
    out->fixed = before > out->order ? before - out->order : 0;
    out->query = rest / (double)t->n;
done:
    GEODEC_FREE(index, dist2);
    return st;
}

geodec_status geodec_knn_pilot(int64_t n_points, int64_t d, const double *points, int64_t n_queries,
                               const double *queries, int64_t k, double budget, geodec_pool *pool,
                               const geodec_hooks *hooks, geodec_knn_cost *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, *y = NULL;
    geodec_pilot pilot;
    trial t = {.n = n_points, .d = d, .m = queries ? n_queries : n_points, .pool = pool, .hooks = hooks};
    *out = (geodec_knn_cost){0};
    if (t.m < 1) goto done;
    /* A query among the points themselves also finds itself; beyond 64 neighbours the search is another one. */
    t.k = queries || k == GEODEC__KNN_MAX_K ? k : k + 1;
    if (t.k > n_points) t.k = n_points;
    const double begin = geodec_clock_process_seconds();
    GEODEC_TRY(in_order(n_points, d, points, &x, err));
    if (queries) GEODEC_TRY(in_order(n_queries, d, queries, &y, err));
    out->order = geodec_clock_process_seconds() - begin;
    t.x = x;
    t.y = queries ? y : x;
    if (!queries && d > PRUNED_D) {
        st = stopped(&t, k, points, budget, out, err);
        goto done;
    }
    const int64_t most = (t.m + RUN - 1) / RUN;
    GEODEC_TRY(geodec_pilot_run(run, &t, most < 2 ? most : 2, most, budget, &pilot, err));
    out->queries = pilot.items * RUN < t.m ? pilot.items * RUN : t.m;
    out->fixed = pilot.fixed;
    out->query = pilot.item * (double)most / (double)t.m;
done:
    GEODEC_FREE(x, y);
    return st;
}

double geodec_knn_bytes(int64_t n_points, int64_t d, int64_t n_queries, int64_t k, int64_t threads)
{
    enum { ROOM = 1024 + 16, FEW = 512, TILE = 1 << 21 }; /* as in knn_coarse.c and knn.c */
    const double n = (double)n_points, t = (double)threads, block = GEODEC__KNN_BLOCK;
    if (n_points < FEW || k > GEODEC__KNN_MAX_K || !geodec__knn_best()) { /* by products */
        const double rows = TILE / n < 4 ? 4 : TILE / n > block ? block : TILE / n;
        return 8 * ((n + 1) * (double)d + n + t * (rows * (n + (double)d) + 2 * (double)k));
    }
    const int64_t leaves = (n_points + RUN - 1) / RUN, words = (d + 3) / 4;
    const double l = (double)leaves, boxes = d <= PRUNED_D ? l : 0;
    const double worker = 4 * (2 * block * ROOM + block * (double)((d + 1) / 2) + (double)k) + 8 * (double)k +
                          4 * (l + block * (boxes + (boxes > 0 ? (double)d : 0))) + 8 * boxes;
    return 4 * n + (n_queries > 0 ? 4 * (double)n_queries : 0) + l * RUN * 4 * (double)(words + 1) + 8 * l * (double)d +
           t * worker;
}
