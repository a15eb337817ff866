#include "lab/published/records.h"

#include "artifact/binding.h"
#include "base/f16.h"
#include "base/mem.h"
#include "linalg/svd.h"
#include "records/lookup.h"

#include <math.h>
#include <string.h>

enum { SCREEN = 8 };

void geodec_records_published_clear(geodec_records_published *r)
{
    geodec_artifact_clear(&geodec_records_published_kind, r);
    geodec_mem_free(r->g_query);
    *r = (geodec_records_published){0};
}

static double size_of(int64_t count, const double *a)
{
    double s = 0;
    for (int64_t i = 0; i < count; i++) s += a[i] * a[i];
    return sqrt(s);
}

/* a [n][n] = U diag(s) V^T as numpy does it: LAPACK sees a itself, not its transpose. Where singular values coincide
 * the vectors, and with them a cut, depend on that. v [n][n] holds the right vectors in columns. */
static geodec_status decompose(int64_t n, const double *a, double *u, double *s, double *v, double *work,
                               geodec_err *err)
{
    double *t = work, *left = work + n * n, *right_t = work + 2 * n * n;
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) t[j * n + i] = a[i * n + j];
    GEODEC_PASS(geodec_svd_thin(n, n, t, left, s, right_t, err));
    memcpy(v, left, (size_t)(n * n) * sizeof *v);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) u[i * n + j] = right_t[j * n + i];
    return GEODEC_OK;
}

static geodec_status factor(const double *phi, int64_t i, geodec_records_published *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = r->n, nn = n * n, k = r->rank;
    double *block = NULL;
    GEODEC_NEW(block, 6 * nn + n);
    double *u = block, *v = u + nn, *work = v + nn, *s = work + 3 * nn, *minus = s + n;
    for (int64_t t = 0; t < r->nodes; t++) {
        GEODEC_TRY(decompose(n, phi + t * nn, u, s, v, work, err));
        float *to_u = r->u + (i * r->nodes + t) * n * k, *to_v = r->v + (i * r->nodes + t) * n * k;
        for (int64_t a = 0; a < n; a++)
            for (int64_t b = 0; b < k; b++) {
                to_u[a * k + b] = (float)(u[a * n + b] * sqrt(s[b]));
                to_v[a * k + b] = (float)(v[a * n + b] * sqrt(s[b]));
            }
    }
    const double *last = phi + (r->nodes - 1) * nn, norm = size_of(nn, last);
    memcpy(r->singular + i * n, s, (size_t)n * sizeof *s);
    for (int64_t b = 0; b < n; b++) r->rank_error[i * n + b] = size_of(n - b - 1, s + b + 1) / norm;
    for (int64_t c = 0; c < nn; c++) minus[c] = last[c] - (c % (n + 1) == 0 ? 1 : 0);
    GEODEC_TRY(geodec_svd_values(n, n, minus, s, err));
    for (int64_t b = 0; b < n; b++) r->shift_error[i * n + b] = size_of(n - b - 1, s + b + 1) / norm;
done:
    geodec_mem_free(block);
    return st;
}

static geodec_status make(const geodec_records_published_draws *d, const geodec_harness_manifold *m,
                          geodec_records_published *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = r->n, S = r->nodes;
    double *xs = NULL, *vs = NULL, *phi = NULL, *g = NULL;
    GEODEC_NEW_EACH(S * n, xs, vs);
    GEODEC_NEW(phi, S * n * n);
    GEODEC_NEW(g, n * n);
    for (int64_t i = 0; i < r->records; i++) {
        const double *x0 = d->point + i * n, *v0 = d->v0 + i * n;
        geodec_harness_geodesic(m, x0, v0, d->steps, d->dl, xs, vs);
        GEODEC_TRY(geodec_harness_propagator(m, xs, vs, d->steps, d->dl, phi, err));
        GEODEC_TRY(geodec_harness_g_at(m, x0, g, err));
        memcpy(r->q + i * n, x0, (size_t)n * sizeof *x0);
        memcpy(r->v0 + i * n, v0, (size_t)n * sizeof *v0);
        for (int64_t k = 0; k < S * n; k++) r->xs[i * S * n + k] = geodec_f32_to_f16((float)xs[k]);
        for (int64_t k = 0; k < n * n; k++) r->g[i * n * n + k] = (float)g[k];
        GEODEC_TRY_MSG(factor(phi, i, r, err), "record %lld", (long long)i);
    }
done:
    GEODEC_FREE(xs, vs, phi, g);
    return st;
}

static geodec_status look_up(const geodec_records_published_draws *d, const geodec_harness_manifold *m,
                             geodec_records_published *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = r->n, Q = r->queries;
    geodec_lookup *few = NULL, *all = NULL;
    int64_t hits = 0, exact = 0, same = 0;
    GEODEC_TRY(geodec_lookup_create(r->records, n, d->point, NULL, &few, err));
    GEODEC_TRY(geodec_lookup_create(r->anchors, n, d->point, NULL, &all, err));
    for (int64_t i = 0; i < Q; i++) {
        const double *q = d->query + i * n;
        double *g = r->g_query + i * n * n;
        geodec_lookup_hit two, best;
        GEODEC_TRY(geodec_harness_g_at(m, q, g, err));
        GEODEC_TRY(geodec_lookup_screened(few, q, g, SCREEN, &two, err));
        r->index[i] = two.index;
        r->distance[i] = two.distance;
        GEODEC_TRY(geodec_lookup_screened(all, q, g, SCREEN, &two, err));
        GEODEC_TRY(geodec_lookup_nearest(all, q, g, &best, err));
        hits += two.distance < d->eps;
        exact += best.distance < d->eps;
        same += two.index == best.index;
    }
    r->hit = (double)hits / (double)Q;
    r->hit_exact = (double)exact / (double)Q;
    r->recall = (double)same / (double)Q;
done:
    geodec_lookup_destroy(few);
    geodec_lookup_destroy(all);
    return st;
}

/* A query is a slightly moved point: a hit when the point is cached, or one of its k neighbours, which lie within
 * sqrt(k - 1) < 3. */
static double closed_form(int64_t points, int64_t anchors, int64_t k)
{
    double none = (double)(points - anchors) / (double)points;
    for (int64_t i = 0; i < k; i++) none *= fmax(0, (double)(points - 1 - anchors - i)) / (double)(points - 1 - i);
    return 1 - none;
}

static geodec_status reserve(geodec_records_published *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t R = r->records, n = r->n, S = r->nodes, k = r->rank, Q = r->queries;
    GEODEC_NEW_EACH(R * n, r->q, r->v0);
    GEODEC_NEW(r->xs, R * S * n);
    GEODEC_NEW_EACH(R * S * n * k, r->u, r->v);
    GEODEC_NEW(r->g, R * n * n);
    GEODEC_NEW_EACH(R * n, r->singular, r->rank_error, r->shift_error);
    GEODEC_NEW(r->g_query, Q * n * n);
    GEODEC_NEW_EACH(Q, r->index, r->distance);
done:
    return st;
}

geodec_status geodec_records_published_compute(const geodec_records_published_draws *d, const geodec_harness_options *o,
                                               geodec_pool *pool, const geodec_hooks *hooks,
                                               geodec_records_published *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_harness_manifold m = {0};
    geodec_records_published r = {.records = d->records,
                                  .nodes = d->steps + 1,
                                  .n = d->n,
                                  .rank = d->rank < d->n ? d->rank : d->n,
                                  .queries = d->queries,
                                  .anchors = d->anchors};
    if (d->n < 1 || d->n > GEODEC_PUBLISHED_MAX_N || d->records < 1 || d->records > d->points || d->queries < 1 ||
        d->steps < 1 || d->steps > 100000 || !(d->dl > 0) || d->rank < 1 || d->anchors < 1 || d->anchors > d->points)
        GEODEC_THROW(GEODEC_RANGE, "%lld records and %lld anchors of %lld points, %lld steps, rank %lld",
                     (long long)d->records, (long long)d->anchors, (long long)d->points, (long long)d->steps,
                     (long long)d->rank);
    GEODEC_TRY(geodec_harness_manifold_fit(d->points, d->n, d->point, o, pool, hooks, &m, err));
    GEODEC_TRY(reserve(&r, err));
    GEODEC_TRY(make(d, &m, &r, err));
    GEODEC_TRY(look_up(d, &m, &r, err));
    r.closed_form = closed_form(d->points, d->anchors, o->k);
    const double fixed = (double)(2 * r.n * 4 + r.nodes * r.n * 2 + 4 + r.n * r.n * 4);
    r.bytes = fixed + (double)(2 * r.nodes * r.n * r.rank * 4);
    r.bytes_full = fixed + (double)(r.nodes * r.n * r.n * 4);
    GEODEC_MOVE(*out, r);
done:
    geodec_harness_manifold_clear(&m);
    geodec_records_published_clear(&r);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define AT(m) GEODEC_AT(geodec_records_published, m)
#define IN(m) GEODEC_IN(geodec_records_published, m)
static const geodec_field fields[] = {
    {"/q", GEODEC_F64, "R,n", 0, "activation", "anchors: the first points", 0, AT(q)},
    {"/v0", GEODEC_F64, "R,n", 0, "activation", "initial velocities, random directions", 0, AT(v0)},
    {"/xs", GEODEC_F16, "R,S,n", 0, "activation", "every node of the path", 0, AT(xs)},
    {"/u", GEODEC_F32, "R,S,n,r", 0, "1", "U of Phi ~ U V^T", 0, AT(u)},
    {"/v", GEODEC_F32, "R,S,n,r", 0, "1", "V", 0, AT(v)},
    {"/g", GEODEC_F32, "R,n,n", 0, "1", "metric at the anchor", 0, AT(g)},
    {"/singular", GEODEC_F64, "R,n", 0, "1", "singular values of the last Phi, falling", 0, AT(singular)},
    {"/rank_error", GEODEC_F64, "R,n", 0, "1", "true relative error of the last Phi cut to rank 1..n", 0,
     AT(rank_error)},
    {"/shift_error", GEODEC_F64, "R,n", 0, "1", "the same with Phi - I cut instead: the correct quantity to store", 0,
     AT(shift_error)},
    {"/index", GEODEC_I64, "Q", 0, "1", "record found by the two stages", 0, AT(index)},
    {"/distance", GEODEC_F64, "Q", 0, "1", "its g-distance, metric of the query", 0, AT(distance)},
};

static const geodec_attr attrs[] = {
    {"anchors", GEODEC_ATTR_I64, 0, "anchors of the hit rate", IN(anchors)},
    {"round_trip_error", GEODEC_ATTR_F64, 0, "factors against themselves, written and read: printed as the error",
     IN(round_trip)},
    {"rank_error_median", GEODEC_ATTR_F64, 0, "true relative error of the last Phi at the stored rank"},
    {"shift_error_median", GEODEC_ATTR_F64, 0, "the same with Phi - I cut"},
    {"hit_eps", GEODEC_ATTR_F64, 0, "share of queries with a record nearer than eps, two stages", IN(hit)},
    {"hit_eps_exact", GEODEC_ATTR_F64, 0, "the same by exact search", IN(hit_exact)},
    {"hit_closed_form", GEODEC_ATTR_F64, 0, "control: probability that the point or one of its neighbours is cached",
     IN(closed_form)},
    {"lookup_recall", GEODEC_ATTR_F64, 0, "queries for which two stages find the exact nearest of the anchors",
     IN(recall)},
    {"bytes_per_record", GEODEC_ATTR_F64, 0, "payload as stored", IN(bytes)},
    {"kib_per_record", GEODEC_ATTR_F64, 0, "the same in KiB"},
    {"bytes_per_record_full", GEODEC_ATTR_F64, 0, "payload with Phi itself, which loses nothing", IN(bytes_full)},
};

static const geodec_extent extents[] = {
    {"R", IN(records)}, {"n", IN(n)}, {"S", IN(nodes)}, {"r", IN(rank)}, {"Q", IN(queries)}};

/* Lower median of column c of a [rows][n]. */
static double middle(int64_t rows, int64_t n, int64_t c, const double *a)
{
    for (int64_t i = 0; i < rows; i++) {
        int64_t below = 0, equal = 0;
        for (int64_t k = 0; k < rows; k++) {
            below += a[k * n + c] < a[i * n + c];
            equal += a[k * n + c] == a[i * n + c];
        }
        if (below <= (rows - 1) / 2 && below + equal > (rows - 1) / 2) return a[i * n + c];
    }
    return 0;
}

static geodec_status put(const void *object, geodec_artifact *a, const char *name, geodec_err *err)
{
    const geodec_records_published *r = object;
    if (strcmp(name, "kib_per_record") == 0) return geodec_artifact_put_f64(a, name, r->bytes / 1024, err);
    const double *error = strcmp(name, "rank_error_median") == 0 ? r->rank_error : r->shift_error;
    return geodec_artifact_put_f64(a, name, middle(r->records, r->n, r->rank - 1, error), err);
}

const geodec_kind geodec_records_published_kind = {
    GEODEC_ABOUT("records_ref", 1, 0, "geodec-published records", "the record store as published"),
    GEODEC_TABLES(fields, attrs, extents),
    .put = put,
};

geodec_status geodec_records_published_write(const geodec_records_published *r, geodec_artifact *a, geodec_err *err)
{
    return geodec_artifact_save(a, r, err);
}

void geodec_records_published_say(const geodec_hooks *hooks, const geodec_records_published *r, double eps)
{
    double kept = 0, shift = 0;
    for (int64_t i = 0; i < r->records; i++) {
        kept += r->rank_error[i * r->n + r->rank - 1] / (double)r->records;
        shift += r->shift_error[i * r->n + r->rank - 1] / (double)r->records;
    }
    geodec_hooks_log(
        hooks, GEODEC_LOG_INFO,
        "%lld records of %.0f bytes (%.0f with Phi itself); error of rank %lld: %g as published (factors against "
        "themselves), %.3g in truth (mean; %.2g had Phi - I been cut)",
        (long long)r->records, r->bytes, r->bytes_full, (long long)r->rank, r->round_trip, kept, shift);
    geodec_hooks_log(
        hooks, GEODEC_LOG_INFO,
        "%lld queries, %lld anchors: %.1f %% nearer than %g (exact search %.1f %%; closed form of a cached neighbour "
        "%.1f %%), recall of the two stages %.3f",
        (long long)r->queries, (long long)r->anchors, 100 * r->hit, eps, 100 * r->hit_exact, 100 * r->closed_form,
        r->recall);
}
