#include "neighbours/neighbours_needs.h"

#include "base/clock.h"
#include "base/extremes_internal.h"
#include "base/mem.h"
#include "linalg/knn_pilot.h"
#include "neighbours/slabs_internal.h"

#include <math.h>

#define MOST_READ ((int64_t)1 << 26) /* coordinates */

/* The number of slabs in which rows are searched. */
static int64_t slabs(const geodec_neighbours_options *o, const geodec_neighbours_source *s)
{
    return geodec__neighbours_slabs(o, s->rows, s->d);
}

/* Bytes that a rank of the search allocates at most. Undivided: 16 d + 24 k + 16 a point, and the search itself or the
 * results in order; in slabs: 24 d + 24 k + 20 a row of a slab, the search itself, and the divided points if they stay
 * in memory. */
static double bytes_of(const geodec_neighbours_source *points, const geodec_neighbours_source *queries,
                       const geodec_neighbours_options *o, int64_t threads)
{
    const geodec_neighbours_source *q = queries ? queries : points;
    const int64_t ns = slabs(o, points), ms = slabs(o, q), n = (points->rows + ns - 1) / ns,
                  m = (q->rows + ms - 1) / ms;
    const double d = (double)points->d, k = (double)o->k, rows = (double)m;
    const double own = rows * (16 * d + 24 * k + 16), result = rows * (12 * k + 12);
    const double search = geodec_knn_bytes(n, points->d, queries ? m : 0, o->k, threads);
    const bool whole = ns == 1 && ms == 1;
    double bytes = own + geodec__max_f64(search, result);
    if (!whole || queries) bytes += (double)n * (8 * d + 4);
    if (!whole && geodec_comm_size(o->comm) > 1) bytes += (double)n * (8 * d + 4);
    if (whole && geodec_comm_size(o->comm) == 1 && !o->parts) return bytes;
    if (!o->parts) bytes += (double)q->rows * 12 * k; /* the results of all slabs, in order */
    const double kept = (double)points->rows / (double)geodec_comm_size(o->comm) * (8 * d + 4);
    if (!queries && points->d <= GEODEC__SLABS_COMPACT_D && kept <= (double)o->memory / 4) bytes += kept;
    return bytes;
}

/* Every step-th row of the source, [*count][d] in new memory. */
static geodec_status read_some(const geodec_neighbours_source *s, int64_t step, double **out, int64_t *count,
                               geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, *block = NULL;
    const int64_t d = s->d;
    int64_t n = 0;
    GEODEC_NEW(x, (s->rows + step - 1) / step * d);
    GEODEC_NEW(block, GEODEC__SLABS_READ * d);
    for (int64_t r = 0; r < s->rows; r += GEODEC__SLABS_READ) {
        const int64_t m = s->rows - r < GEODEC__SLABS_READ ? s->rows - r : GEODEC__SLABS_READ;
        if (step == 1) {
            GEODEC_TRY(s->read(s->ctx, r, m, x + r * d, err));
            n += m;
            continue;
        }
        /* of a larger set, one block in `step` */
        if (r / GEODEC__SLABS_READ % step != 0) continue;
        GEODEC_TRY(s->read(s->ctx, r, m, block, err));
        for (int64_t i = 0; i < m && n < (s->rows + step - 1) / step; i++, n++)
            for (int64_t c = 0; c < d; c++) x[n * d + c] = block[i * d + c];
    }
    *out = x;
    *count = n;
    x = NULL;
done:
    GEODEC_FREE(x, block);
    return st;
}

/* Processor seconds of the control: it reads all points and measures `checked` distances to each. */
static geodec_status time_check(const geodec_neighbours_source *p, const geodec_neighbours_source *q, int64_t k,
                                int64_t checked, double read, double *seconds, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_neighbours_source part = *p;
    double *dist2 = NULL;
    int32_t *index = NULL;
    int64_t *row = NULL, differ;
    *seconds = 0;
    if (checked == 0) goto done;
    part.rows = p->rows < 8 * GEODEC__SLABS_READ ? p->rows : 8 * GEODEC__SLABS_READ;
    GEODEC_NEW_EACH(checked * k, index, dist2);
    GEODEC_NEW(row, checked);
    const double begin = geodec_clock_process_seconds();
    GEODEC_TRY(geodec_neighbours_check(&part, q ? q : NULL, k, checked, row, index, dist2, NULL, &differ, err));
    const double all = (geodec_clock_process_seconds() - begin) * (double)p->rows / (double)part.rows;
    *seconds = geodec__max_f64(all, read);
done:
    GEODEC_FREE(index, dist2, row);
    return st;
}

geodec_status geodec_neighbours_needs(const geodec_neighbours_source *p, const geodec_neighbours_source *q,
                                      const geodec_neighbours_options *o, int64_t checked, double budget,
                                      geodec_pool *pool, const geodec_hooks *hooks, geodec_needs *needs,
                                      geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *x = NULL, *y = NULL, check;
    int64_t n = 0, m = 0;
    geodec_knn_cost cost;
    const int ranks = geodec_comm_size(o->comm);
    const int64_t rows = q ? q->rows : p->rows, step = 1 + p->rows * p->d / MOST_READ;
    const double begin = geodec_clock_process_seconds();
    GEODEC_TRY(read_some(p, step, &x, &n, err));
    if (q) GEODEC_TRY(read_some(q, 1 + q->rows * q->d / MOST_READ, &y, &m, err));
    const double read = (geodec_clock_process_seconds() - begin) * (double)p->rows / (double)n;
    GEODEC_TRY(geodec_knn_pilot(n, p->d, x, m, y, o->k, budget, pool, hooks, &cost, err));
    GEODEC_TRY(time_check(p, q, o->k, checked, read, &check, err));
    const double larger_set = (double)p->rows / (double)n,
                 query = cost.query * (p->d <= GEODEC__SLABS_COMPACT_D ? sqrt(larger_set) : larger_set);
    const int64_t divided = slabs(o, p);
    geodec_needs_size(needs, "points", (double)p->rows);
    geodec_needs_size(needs, "queries", (double)rows);
    geodec_needs_size(needs, "dimension", (double)p->d);
    geodec_needs_size(needs, "k", (double)o->k);
    geodec_needs_size(needs, "slabs", (double)divided);
    geodec_needs_size(needs, "ranks", (double)ranks);
    geodec_needs_size(needs, "pilot_queries", (double)cost.queries);
    geodec_needs_memory(needs, "search", bytes_of(p, q, o, geodec_pool_threads(pool)));
    geodec_needs_time(needs, "points", (divided > 1 ? 3 : 1) * read, 0);
    geodec_needs_time(needs, "order", cost.order * larger_set, cost.fixed * larger_set);
    geodec_needs_time(needs, "search", 0, query * (double)rows / ranks);
    geodec_needs_time(needs, "control", check, 0);
done:
    GEODEC_FREE(x, y);
    return st;
}
