#include "lab/published/blocks.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/numbers.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "io/foreign.h"
#include "linalg/stats.h"
#include "linalg/svd.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum {
    MAX_N = GEODEC_PUBLISHED_MAX_N,
    B = GEODEC_PUBLISHED_BLOCKS,
    PER = GEODEC_PUBLISHED_BLOCK_STEPS,
    STEPS = B * PER,
    TOP = GEODEC_PUBLISHED_BLOCK_TOP,
};
#define DL 0.05

typedef struct job {
    const geodec_harness_manifold *m;
    const double *point;
    int64_t anchors;
    const int64_t *anchor, *query;
    double *velocity, *xs, *phi; /* of the anchors */
    /* of the queries */
    double *error;  /* [queries][B + 1][2] over the answer's length */
    double *miss;   /* [queries][B + 1][3] g-length of the error: propagator, blend, shift */
    double *moved;  /* [queries][B + 1] */
    double *near;   /* [queries] */
    double *unlike; /* [queries] */
} job;

static geodec_status anchor_task(void *ctx, int64_t a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const job *j = ctx;
    const int64_t n = j->m->n;
    const double *q = j->point + j->anchor[a] * n;
    double *xs = j->xs + a * (STEPS + 1) * n, *v = j->velocity + a * n, *vs = NULL;
    GEODEC_NEW(vs, (STEPS + 1) * n);
    GEODEC_TRY(geodec_harness_unit(j->m, q, v, err));
    geodec_harness_geodesic(j->m, q, v, STEPS, DL, xs, vs);
    if (!geodec__finite((STEPS + 1) * n, xs))
        GEODEC_THROW(GEODEC_NUMERIC, "the path of anchor %lld diverges", (long long)a);
    GEODEC_TRY(geodec_harness_propagator(j->m, xs, vs, STEPS, DL, j->phi + a * (STEPS + 1) * n * n, err));
done:
    geodec_mem_free(vs);
    return st;
}

/* Least squares of least norm by the pseudo-inverse of the [n][TOP] matrix, cut off and divided by the sum. */
static geodec_status clipped_weights(int64_t n, const double *refs, const double *target, double *w, geodec_err *err)
{
    const int64_t r = n < TOP ? n : TOP;
    double a[MAX_N * TOP], u[MAX_N * TOP], s[TOP], vt[TOP * TOP], sum = 0;
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < TOP; k++) a[i * TOP + k] = refs[k * n + i];
    GEODEC_PASS(geodec_svd_thin(n, TOP, a, u, s, vt, err));
    for (int64_t k = 0; k < TOP; k++) w[k] = 0;
    for (int64_t q = 0; q < r; q++) {
        double c = 0;
        if (!(s[q] > s[0] * DBL_EPSILON * (double)(n > TOP ? n : TOP))) continue;
        for (int64_t i = 0; i < n; i++) c += u[i * r + q] * target[i];
        for (int64_t k = 0; k < TOP; k++) w[k] += c / s[q] * vt[q * TOP + k];
    }
    for (int64_t k = 0; k < TOP; k++) sum += w[k] = fmax(w[k], 0);
    for (int64_t k = 0; k < TOP; k++) w[k] = sum <= 1e-12 ? 1.0 / TOP : w[k] / sum;
    return GEODEC_OK;
}

static geodec_status query_task(void *ctx, int64_t q, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const job *j = ctx;
    const int64_t n = j->m->n;
    const double *x = j->point + j->query[q] * n, origin[MAX_N] = {0};
    double near[TOP], refs[TOP * MAX_N], w[TOP], blend[MAX_N], shifted[MAX_N], *xs = NULL;
    int64_t top[TOP], count = 0;
    GEODEC_NEW(xs, (STEPS + 1) * n);
    for (int64_t a = 0; a < j->anchors; a++) {
        double d;
        GEODEC_TRY(geodec_harness_distance(j->m, x, j->point + j->anchor[a] * n, &d, err));
        geodec__keep_nearest(TOP, &count, near, top, d, a);
    }
    j->near[q] = near[0];
    int64_t different = 0;
    for (int k = 0; k < TOP; k++) {
        bool seen = false;
        for (int i = 0; i < k; i++) seen = seen || top[i] == top[k];
        different += !seen;
    }
    j->unlike[q] = (double)different / TOP;
    geodec_harness_geodesic(j->m, x, j->velocity + top[0] * n, STEPS, DL, xs, NULL);
    if (!geodec__finite((STEPS + 1) * n, xs))
        GEODEC_THROW(GEODEC_NUMERIC, "the path of query %lld diverges", (long long)q);
    for (int64_t b = 0; b <= B; b++) {
        const double *truth = xs + b * PER * n;
        double length, d[3];
        for (int k = 0; k < TOP; k++) {
            const double *from = j->point + j->anchor[top[k]] * n;
            const double *at = j->xs + (top[k] * (STEPS + 1) + b * PER) * n;
            const double *phi = j->phi + (top[k] * (STEPS + 1) + b * PER) * n * n;
            for (int64_t i = 0; i < n; i++) {
                double s = at[i];
                for (int64_t c = 0; c < n; c++) s += phi[i * n + c] * (x[c] - from[c]);
                refs[k * n + i] = s;
                if (k == 0) shifted[i] = at[i] + x[i] - from[i];
            }
        }
        GEODEC_TRY(clipped_weights(n, refs, truth, w, err));
        for (int64_t i = 0; i < n; i++) {
            blend[i] = 0;
            for (int k = 0; k < TOP; k++) blend[i] += w[k] * refs[k * n + i];
        }
        GEODEC_TRY(geodec_harness_distance(j->m, refs, truth, &d[0], err));
        GEODEC_TRY(geodec_harness_distance(j->m, blend, truth, &d[1], err));
        GEODEC_TRY(geodec_harness_distance(j->m, shifted, truth, &d[2], err));
        GEODEC_TRY(geodec_harness_distance(j->m, origin, truth, &length, err));
        GEODEC_TRY(geodec_harness_distance(j->m, x, truth, &j->moved[q * (B + 1) + b], err));
        for (int k = 0; k < 3; k++) j->miss[(q * (B + 1) + b) * 3 + k] = d[k];
        for (int k = 0; k < 2; k++) j->error[(q * (B + 1) + b) * 2 + k] = d[k] / fmax(length, 1e-9);
    }
done:
    geodec_mem_free(xs);
    return st;
}

static void summary(int64_t count, double *x, double *mean, double *p50, double *p95)
{
    *mean = geodec_stats_mean(count, x);
    geodec_stats_sort(count, x);
    *p50 = geodec_stats_percentile(count, x, 0.5);
    *p95 = geodec_stats_percentile(count, x, 0.95);
}

geodec_status geodec_blocks_published_run(int64_t points, int64_t n, const double *point, int64_t anchors,
                                          const int64_t *anchor, const double *velocity, int64_t queries,
                                          const int64_t *query, bool nearest, geodec_pool *pool,
                                          const geodec_hooks *hooks, geodec_blocks_published *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_manifold m = {0}, fitted = {0};
    geodec_blocks_published r = {.anchors = anchors, .queries = queries};
    double *block = NULL;
    const geodec_harness_options o = geodec_harness_defaults();
    if (anchors < TOP || queries < 1)
        GEODEC_THROW(GEODEC_RANGE, "%lld anchors and %lld queries: %d and 1 are needed", (long long)anchors,
                     (long long)queries, TOP);
    for (int64_t i = 0; i < anchors + queries; i++) {
        const int64_t p = i < anchors ? anchor[i] : query[i - anchors];
        if (p < 0 || p >= points)
            GEODEC_THROW(GEODEC_RANGE, "point %lld is not one of %lld", (long long)p, (long long)points);
    }
    GEODEC_NEW(block, anchors * (n + (STEPS + 1) * (n + n * n)) + queries * (6 * (B + 1) + 3));
    job j = {.m = &m, .point = point, .anchors = anchors, .anchor = anchor, .query = query, .velocity = block};
    j.xs = j.velocity + anchors * n;
    j.phi = j.xs + anchors * (STEPS + 1) * n;
    j.error = j.phi + anchors * (STEPS + 1) * n * n;
    j.miss = j.error + queries * (B + 1) * 2;
    j.moved = j.miss + queries * (B + 1) * 3;
    j.near = j.moved + queries * (B + 1);
    j.unlike = j.near + queries;
    double *column = j.unlike + queries;
    memcpy(j.velocity, velocity, (size_t)(anchors * n) * sizeof *velocity);
    GEODEC_TRY(geodec_harness_manifold_fit(points, n, point, &o, pool, hooks, nearest ? &fitted : &m, err));
    if (nearest) GEODEC_TRY(geodec_harness_manifold_table(points, n, fitted.point, fitted.g, fitted.gamma, 0, &m, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "anchors", anchors, anchor_task, &j, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "queries", queries, query_task, &j, err));
    for (int64_t b = 0; b <= B; b++) {
        double sum[3] = {0}, moved = 0;
        for (int k = 0; k < 2; k++) {
            for (int64_t q = 0; q < queries; q++) column[q] = j.error[(q * (B + 1) + b) * 2 + k];
            summary(queries, column, &r.block[b].mean[k], &r.block[b].p50[k], &r.block[b].p95[k]);
        }
        for (int64_t q = 0; q < queries; q++) {
            for (int k = 0; k < 3; k++) sum[k] += j.miss[(q * (B + 1) + b) * 3 + k];
            moved += j.moved[q * (B + 1) + b];
        }
        for (int k = 0; k < 2; k++) r.block[b].displacement[k] = b ? sum[k] / moved : 0;
        r.block[b].shift = b ? sum[2] / moved : 0;
    }
    r.distinct[0] = geodec_stats_mean(queries, j.unlike);
    r.distinct[1] = j.unlike[0];
    for (int64_t q = 1; q < queries; q++) r.distinct[1] = fmin(r.distinct[1], j.unlike[q]);
    summary(queries, j.near, &r.nearest[0], &r.nearest[1], &r.nearest[2]);
    *out = r;
done:
    geodec_harness_manifold_clear(&m);
    geodec_harness_manifold_clear(&fitted);
    geodec_mem_free(block);
    return st;
}

/* The artifact, in percent; index 0 propagator of the nearest, 1 blend. */
typedef struct report {
    geodec_blocks_published b;
    double error[2][B + 1][3], displacement[2][B + 1], today[2][B + 1], shift[B + 1];
    bool given;
} report;
#define IN(m) GEODEC_IN(report, m)

static const geodec_field fields[] = {
    {"/jacobi", GEODEC_F64, "9,3", 0, "percent",
     "nearest anchor's propagator: mean, median, p95 by block, over the length from the origin", 0,
     GEODEC_ARRAY(report, error[0], [0][0])},
    {"/simplex", GEODEC_F64, "9,3", 0, "percent", "blend of four, weights fitted to the answer: the same", 0,
     GEODEC_ARRAY(report, error[1], [0][0])},
    {"/jacobi_displacement", GEODEC_F64, "9", 0, "percent", "mean error over mean displacement", 0,
     GEODEC_ARRAY(report, displacement[0], [0])},
    {"/simplex_displacement", GEODEC_F64, "9", 0, "percent", "the same of the blend", 0,
     GEODEC_ARRAY(report, displacement[1], [0])},
    {"/jacobi_today", GEODEC_F64, "9", 0, "percent",
     "mean of /jacobi with today's accessor, which smooths the samples again", 0, GEODEC_ARRAY(report, today[0], [0])},
    {"/simplex_today", GEODEC_F64, "9", 0, "percent", "mean of /simplex likewise", 0,
     GEODEC_ARRAY(report, today[1], [0])},
    {"/shift_displacement", GEODEC_F64, "9", 0, "percent", "control: nearest anchor moved along, no propagator", 0,
     GEODEC_ARRAY(report, shift, [0])},
};
static const geodec_attr attrs[] = {
    {"anchors", GEODEC_ATTR_I64, 0, "anchors", IN(b.anchors)},
    {"queries", GEODEC_ATTR_I64, 0, "queries", IN(b.queries)},
    {"given_draws", GEODEC_ATTR_I64, 0, "1 = anchors, velocities and queries were given; 0 = sampled from our seed",
     IN(given)},
    {"nearest_mean", GEODEC_ATTR_F64, 0, "mean g-distance of the nearest anchor", IN(b.nearest[0])},
    {"nearest_p50", GEODEC_ATTR_F64, 0, "median", IN(b.nearest[1])},
    {"nearest_p95", GEODEC_ATTR_F64, 0, "95th percentile", IN(b.nearest[2])},
    {"distinct_mean", GEODEC_ATTR_F64, 0, "share of different indices among the four nearest: 1 by construction",
     IN(b.distinct[0])},
};
const geodec_kind geodec_blocks_published_kind = {
    GEODEC_ABOUT("blocks-ref", 1, 0, "geodec-published blocks",
                 "block summaries as the published prototype transports them"),
    .fields = fields,
    .n_fields = (int)(sizeof fields / sizeof *fields),
    .attrs = attrs,
    .n_attrs = (int)(sizeof attrs / sizeof *attrs),
};
_Static_assert(B + 1 == 9, "extents in the table above");

geodec_status geodec_blocks_published_write(const geodec_blocks_published *b, const geodec_blocks_published *today,
                                            bool given, geodec_artifact *a, geodec_err *err)
{
    report r = {.b = *b, .given = given};
    for (int i = 0; i <= B; i++) {
        const geodec_published_block *x = &b->block[i];
        for (int k = 0; k < 2; k++) {
            memcpy(r.error[k][i], (double[]){100 * x->mean[k], 100 * x->p50[k], 100 * x->p95[k]}, sizeof r.error[k][i]);
            r.displacement[k][i] = 100 * x->displacement[k];
            r.today[k][i] = 100 * today->block[i].mean[k];
        }
        r.shift[i] = 100 * x->shift;
    }
    return geodec_artifact_save(a, &r, err);
}

/* ---- anchors and queries ----------------------------------------------------------------------------------------- */

enum { ANCHORS = 16, QUERIES = 24 };

/* A random point that is not taken, which is then taken. */
static int64_t take_one(geodec_rng *r, int64_t count, uint8_t *taken)
{
    int64_t p = (int64_t)geodec_rng_below(r, (uint64_t)count);
    while (taken[p]) p = (p + 1) % count;
    taken[p] = 1;
    return p;
}

/* Anchors and velocities from the file, or from the seed. */
geodec_status geodec_blocks_published_anchors(const char *path, uint64_t seed, int64_t count, int64_t n,
                                              int64_t *anchor, double *velocity, int64_t *found, uint8_t *taken,
                                              geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *table = NULL;
    if (path) {
        int64_t rows = 0, cols = 0;
        GEODEC_TRY(geodec_foreign_text(path, &rows, &cols, &table, err));
        if (cols != n + 1 || rows < 1 || rows > GEODEC_PUBLISHED_BLOCKS_LIST)
            GEODEC_THROW(GEODEC_FORMAT, "%s: %lld rows of %lld numbers; each row needs 1 + %lld", path, (long long)rows,
                         (long long)cols, (long long)n);
        for (int64_t i = 0; i < rows; i++) {
            const double p = table[i * cols];
            if (!(p >= 0 && p < (double)count && p == floor(p)) || taken[(int64_t)p])
                GEODEC_THROW(GEODEC_RANGE, "%s: row %lld: %g is no point, or a point given twice", path, (long long)i,
                             p);
            anchor[i] = (int64_t)p;
            taken[anchor[i]] = 1;
            memcpy(velocity + i * n, table + i * cols + 1, (size_t)n * sizeof *velocity);
        }
        *found = rows;
        goto done;
    }
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("published-blocks", 0));
    for (*found = 0; *found < ANCHORS && *found < count / 2; ++*found) {
        anchor[*found] = take_one(&r, count, taken);
        for (int64_t k = 0; k < n; k++) velocity[*found * n + k] = geodec_rng_normal(&r);
    }
done:
    geodec_mem_free(table);
    return st;
}

geodec_status geodec_blocks_published_queries(const char *list, uint64_t seed, int64_t count, int64_t *query,
                                              int64_t *found, uint8_t *taken, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *number = NULL;
    *found = 0;
    if (list) {
        GEODEC_NEW(number, GEODEC_PUBLISHED_BLOCKS_LIST);
        GEODEC_TRY(geodec_numbers_parse(list, "--points", 0, (double)(count - 1), GEODEC_PUBLISHED_BLOCKS_LIST, number,
                                        found, err));
        for (int64_t i = 0; i < *found; i++) {
            query[i] = (int64_t)number[i];
            if (number[i] != floor(number[i])) GEODEC_THROW(GEODEC_INVAL, "--points: %g is not whole", number[i]);
        }
        goto done;
    }
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("published-blocks", 1));
    int64_t left = 0;
    for (int64_t p = 0; p < count; p++) left += !taken[p];
    for (; *found < QUERIES && left > 0; left--) query[(*found)++] = take_one(&r, count, taken);
done:
    geodec_mem_free(number);
    return st;
}
