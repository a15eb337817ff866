#include "records/records.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "linalg/expm.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

enum { FRESH_DIRECTIONS = 2 };

geodec_records_options geodec_records_defaults(void)
{
    return (geodec_records_options){.phi_tolerance = 1e-2,
                                    .x_tolerance = 2e-3,
                                    .tau = 0.1,
                                    .directions = 4,
                                    .rho_min = 0.005,
                                    .rho_max = 5,
                                    .logits = 8,
                                    .seed = 1};
}

/* ---- reading a record ------------------------------------------------------------------------------------------- */

void geodec_records_phi(const geodec_records *r, int64_t i, int64_t w, double *phi)
{
    const int64_t n = r->n;
    if (w == 0) {
        for (int64_t k = 0; k < n * n; k++) phi[k] = k % (n + 1) == 0 ? 1 : 0;
        return;
    }
    geodec_compress_factors_expand(n, r->rank[i], r->full[i], r->factor + r->offset[i], w - 1, phi);
}

void geodec_records_x(const geodec_records *r, int64_t i, double t, double *x)
{
    const int64_t n = r->n, W = r->waypoints;
    const geodec_compress_waypoints w = {n,
                                         W,
                                         r->dl * (double)r->stride,
                                         r->q + i * n,
                                         r->x_scale[i],
                                         r->v_scale[i],
                                         r->x + i * W * n,
                                         r->v + i * W * n};
    geodec_compress_waypoints_at(&w, t, x);
}

static double duration(const geodec_records *r) { return r->dl * (double)(r->stride * (r->waypoints - 1)); }

void geodec_records_predict(const geodec_records *r, int64_t i, const double *d, double *x)
{
    const int64_t n = r->n, last = r->waypoints - 2;
    const float *f = r->factor + r->offset[i];
    geodec_records_x(r, i, duration(r), x);
    for (int64_t a = 0; a < n; a++) x[a] += d[a];
    if (r->full[i]) {
        const float *m = f + last * n * n;
        for (int64_t a = 0; a < n; a++)
            for (int64_t b = 0; b < n; b++) x[a] += (double)m[a * n + b] * d[b];
        return;
    }
    const int32_t rank = r->rank[i];
    const float *u = f + last * 2 * n * rank, *v = u + n * rank;
    for (int32_t k = 0; k < rank; k++) {
        double along = 0;
        for (int64_t b = 0; b < n; b++) along += (double)v[b * rank + k] * d[b];
        for (int64_t a = 0; a < n; a++) x[a] += (double)u[a * rank + k] * along;
    }
}

int64_t geodec_records_bytes(const geodec_records *r)
{
    geodec_records lookup = *r; /* a lookup does not need the errors by rank */
    lookup.rank_error = lookup.rank_naive = NULL;
    return geodec_artifact_bytes(&geodec_records_kind, &lookup);
}

int64_t geodec_records_bytes_plain(const geodec_records *r)
{
    const int64_t n = r->n, nodes = r->stride * (r->waypoints - 1) + 1;
    const int64_t each =
        n * 8 + n * n * 4 + n * 4 + nodes * n * 8 + nodes * n * n * 4 + 9 + 8 + (r->logit_index ? r->logits * 8 : 0);
    return r->records * each;
}

/* ---- making records --------------------------------------------------------------------------------------------- */

typedef struct maker {
    const geodec_propagators *p;
    const geodec_space *s;
    const geodec_records_options *o;
    geodec_records *r;
    int64_t *path; /* [R] path of each record */
    float *packed; /* [R][(W-1) n^2] factors before compaction */
    double *gap;   /* [R] for the stride being tried */
} maker;

/* Largest g-length of (interpolated - path) over the nodes of a path. */
static double interpolation_error(const geodec_records *r, int64_t i, const double *g, const double *xs)
{
    const int64_t n = r->n, nodes = r->stride * (r->waypoints - 1) + 1;
    double x[GEODEC_RBF_MAX_N], worst = 0;
    for (int64_t k = 0; k < nodes; k++) {
        geodec_records_x(r, i, r->dl * (double)k, x);
        for (int64_t a = 0; a < n; a++) x[a] -= xs[k * n + a];
        worst = fmax(worst, geodec__norm2(n, g, x));
    }
    return sqrt(worst);
}

/* Waypoints of record i at the stride of m->r. */
static geodec_status waypoints_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const maker *m = ctx;
    geodec_records *r = m->r;
    const geodec_geodesics *paths = &m->p->paths;
    const int64_t n = r->n, S = paths->nodes, W = r->waypoints, packed = n * (n + 1) / 2;
    const double *xs = paths->x + m->path[i] * S * n, *vs = paths->v + m->path[i] * S * n;
    double *g = NULL, *row = NULL;
    GEODEC_NEW(g, n * n);
    GEODEC_NEW(row, packed);
    GEODEC_TRY(m->s->at(m->s, xs, g, NULL, NULL, err));
    memcpy(r->q + i * n, xs, (size_t)n * sizeof *xs);
    geodec_sym_pack(n, g, row);
    for (int64_t k = 0; k < packed; k++) r->g[i * packed + k] = (float)row[k];
    for (int64_t a = 0; a < n; a++) r->v0[i * n + a] = (float)vs[a];
    geodec_compress_waypoints_make(n, S - 1, r->stride, xs, vs, r->x + i * W * n, r->v + i * W * n, &r->x_scale[i],
                                   &r->v_scale[i]);
    m->gap[i] = interpolation_error(r, i, g, xs);
    r->x_error[i] = (float)m->gap[i];
done:
    GEODEC_FREE(g, row);
    return st;
}

/* The largest stride that divides the number of steps and meets the tolerance for every record; 1 when there is
 * none. */
static geodec_status choose_stride(maker *m, geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    const int64_t T = m->p->paths.nodes - 1;
    for (int64_t stride = T; stride >= 1; stride--) {
        if (T % stride) continue;
        m->r->stride = stride;
        m->r->waypoints = T / stride + 1;
        GEODEC_PASS(geodec__tasks_run(pool, hooks, "waypoints", m->r->records, waypoints_task, m, err));
        double worst = 0;
        for (int64_t i = 0; i < m->r->records; i++) worst = fmax(worst, m->gap[i]);
        if (worst <= m->o->x_tolerance) break;
    }
    return GEODEC_OK;
}

static geodec_status factors_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const maker *m = ctx;
    geodec_records *r = m->r;
    const int64_t n = r->n, nn = n * n, S = m->p->paths.nodes, count = r->waypoints - 1;
    double *phi = NULL;
    geodec_compress_factors f;
    GEODEC_NEW(phi, count * nn);
    for (int64_t w = 0; w < count; w++)
        memcpy(phi + w * nn, m->p->phi + (m->path[i] * S + (w + 1) * r->stride) * nn, (size_t)nn * sizeof *phi);
    GEODEC_TRY(geodec_compress_factors_make(n, count, phi, m->o->phi_tolerance, m->packed + i * count * nn, &f, err));
    r->rank[i] = f.rank;
    r->full[i] = f.full;
    r->phi_error[i] = (float)f.error;
    r->naive_error[i] = (float)f.naive;
    GEODEC_TRY(
        geodec_compress_factors_by_rank(n, phi + (count - 1) * nn, r->rank_error + i * n, r->rank_naive + i * n, err));
done:
    geodec_mem_free(phi);
    return st;
}

static geodec_status gather_factors(maker *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_records *r = m->r;
    const int64_t count = r->waypoints - 1, room = count * r->n * r->n;
    for (int64_t i = 0; i < r->records; i++)
        r->offset[i + 1] = r->offset[i] + geodec_compress_factors_size(r->n, count, r->rank[i], r->full[i]);
    r->factors = r->offset[r->records];
    geodec_mem_free(r->factor); /* no elements yet */
    GEODEC_NEW(r->factor, r->factors);
    for (int64_t i = 0; i < r->records; i++)
        memcpy(r->factor + r->offset[i], m->packed + i * room,
               (size_t)(r->offset[i + 1] - r->offset[i]) * sizeof *r->factor);
done:
    return st;
}

/* rho of the exact propagator, and the mean error of the stored one at that distance. */
static geodec_status radius_task(void *ctx, int64_t i, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const maker *m = ctx;
    geodec_records *r = m->r;
    const geodec_geodesics *paths = &m->p->paths;
    const int64_t n = r->n, nn = n * n, S = paths->nodes, path = m->path[i], D = m->o->directions;
    const double *xs = paths->x + path * S * n;
    const geodec_validity_start exact = {xs, paths->v + path * S * n, xs + (S - 1) * n,
                                         m->p->phi + (path * S + S - 1) * nn};
    double *block = NULL, rho, sum = 0;
    geodec_censored censored;
    GEODEC_NEW(block, (D + FRESH_DIRECTIONS) * n + nn + n);
    double *u = block, *fresh = u + D * n, *phi = fresh + FRESH_DIRECTIONS * n, *x_T = phi + nn;
    const double length = duration(r); /* arc length: velocities are g-unit */
    for (int64_t k = 0; k < D + FRESH_DIRECTIONS; k++) {
        const uint64_t stream = geodec_rng_id("record direction", (uint64_t)(i * (D + FRESH_DIRECTIONS) + k));
        GEODEC_TRY(geodec_validity_direction(m->s, xs, m->o->seed, stream, u + k * n, err));
    }
    GEODEC_TRY(geodec_validity_radius(m->s, &paths->options, &exact, D, u, length, m->o->tau, m->o->rho_min,
                                      m->o->rho_max, &rho, &censored, err));
    r->rho[i] = (float)rho;
    r->rho_censored[i] = (uint8_t)censored;
    geodec_records_phi(r, i, r->waypoints - 1, phi);
    geodec_records_x(r, i, duration(r), x_T);
    const geodec_validity_start stored = {xs, exact.v0, x_T, phi};
    for (int64_t k = 0; k < FRESH_DIRECTIONS && sum >= 0; k++) {
        geodec_validity_miss e;
        for (int64_t a = 0; a < n; a++) fresh[k * n + a] *= rho;
        GEODEC_TRY(geodec_validity_error(m->s, &paths->options, &stored, fresh + k * n, &e, err));
        sum = e.error < 0 ? -FRESH_DIRECTIONS : sum + e.miss / length;
    }
    r->rho_error[i] = (float)(sum / FRESH_DIRECTIONS);
done:
    geodec_mem_free(block);
    return st;
}

static geodec_status take_logits(maker *m, const geodec_artifact *a, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_records *r = m->r;
    const geodec_geodesics *paths = &m->p->paths;
    int64_t rows = 0, kept = 0;
    int32_t *index = NULL;
    float *value = NULL;
    for (int64_t i = 0; i < r->records; i++) r->logit_row[i] = -1;
    if (!a || m->o->logits < 1) goto done;
    GEODEC_TRY(geodec_artifact_dim(a, "R", &rows, err));
    GEODEC_TRY(geodec_artifact_dim(a, "M", &kept, err));
    r->logits = kept < m->o->logits ? kept : m->o->logits;
    if (r->logits < 1) goto done;
    GEODEC_NEW_EACH(kept, index, value);
    GEODEC_NEW_EACH(r->records * r->logits, r->logit_index, r->logit_value);
    for (int64_t i = 0; i < r->records; i++) {
        const int32_t next = paths->next_row[m->path[i]], row = next >= 0 ? next : paths->activation_row[m->path[i]];
        if (row < 0 || row >= rows)
            GEODEC_THROW(GEODEC_FORMAT, "%s has %lld rows; a path begins at row %d: not the activations of this metric",
                         geodec_artifact_path(a), (long long)rows, (int)row);
        GEODEC_TRY(geodec_artifact_read_rows(a, "/top_index", row, 1, index, err));
        GEODEC_TRY(geodec_artifact_read_rows(a, "/top_logit", row, 1, value, err));
        memcpy(r->logit_index + i * r->logits, index, (size_t)r->logits * sizeof *index);
        memcpy(r->logit_value + i * r->logits, value, (size_t)r->logits * sizeof *value);
        r->logit_row[i] = row;
    }
done:
    GEODEC_FREE(index, value);
    return st;
}

geodec_status geodec_records_compute(const geodec_propagators *p, const geodec_space *s,
                                     const geodec_artifact *activations, const geodec_records_options *o,
                                     geodec_pool *pool, const geodec_hooks *hooks, geodec_records *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const geodec_geodesics *paths = &p->paths;
    geodec_records r = {.n = paths->n, .dl = paths->dl, .options = *o};
    maker m = {.p = p, .s = s, .o = o, .r = &r};
    if (s->n != r.n)
        GEODEC_THROW(GEODEC_FORMAT, "propagators of dimension %lld in a metric of dimension %d", (long long)r.n,
                     (int)s->n);
    if (!(o->phi_tolerance >= 0) || !(o->x_tolerance >= 0) || o->directions < 1 || o->directions > 4096 ||
        o->logits < 0)
        GEODEC_THROW(GEODEC_RANGE, "tolerances %g and %g, %lld directions, %lld logits", o->phi_tolerance,
                     o->x_tolerance, (long long)o->directions, (long long)o->logits);
    GEODEC_NEW(m.path, paths->paths);
    for (int64_t i = 0; i < paths->paths; i++)
        if (paths->status[i] == GEODEC_PATH_OK) m.path[r.records++] = i;
    r.dropped = paths->paths - r.records;
    if (r.records == 0)
        GEODEC_THROW(GEODEC_SCARCE, "none of the %lld paths is sound; records need at least 1",
                     (long long)paths->paths);
    r.waypoints = paths->nodes; /* the smallest stride needs all */
    r.packed = r.n * (r.n + 1) / 2;
    GEODEC_TRY(geodec_artifact_reserve(&geodec_records_kind, &r, err));
    GEODEC_NEW_EACH(r.records * r.n, r.rank_error, r.rank_naive);
    GEODEC_NEW(m.gap, r.records);
    for (int64_t i = 0; i < r.records; i++) r.activation_row[i] = paths->activation_row[m.path[i]];
    GEODEC_TRY(choose_stride(&m, pool, hooks, err));
    GEODEC_NEW(m.packed, r.records * (r.waypoints - 1) * r.n * r.n);
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "factors", r.records, factors_task, &m, err));
    GEODEC_TRY(gather_factors(&m, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "validity radii", r.records, radius_task, &m, err));
    GEODEC_TRY(take_logits(&m, activations, err));
    *out = r;
    r = (geodec_records){0};
done:
    GEODEC_FREE(m.path, m.packed, m.gap);
    geodec_records_clear(&r);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define AT(m) GEODEC_AT(geodec_records, m)
#define IN(m) GEODEC_IN(geodec_records, m)
static const geodec_field fields[] = {
    {"/q", GEODEC_F64, "R,n", 0, "activation", "anchors: where the paths begin (principal coordinates)", 0, AT(q)},
    {"/g", GEODEC_F32, "R,G", 0, "1", "metric at the anchor, rows of the upper triangle, G = n (n+1) / 2", 0, AT(g)},
    {"/v0", GEODEC_F32, "R,n", 0, "activation", "initial velocity, g-unit", 0, AT(v0)},
    {"/x", GEODEC_F16, "R,W,n", 0, "1", "waypoints relative to the anchor, in units of x_scale", 0, AT(x)},
    {"/v", GEODEC_F16, "R,W,n", 0, "1", "velocities at the waypoints, in units of v_scale (cubic Hermite)", 0, AT(v)},
    {"/x_scale", GEODEC_F32, "R", 0, "activation", "largest coordinate of x - q", 0, AT(x_scale)},
    {"/v_scale", GEODEC_F32, "R", 0, "activation", "largest coordinate of v", 0, AT(v_scale)},
    {"/x_error", GEODEC_F32, "R", 0, "1", "largest g-length of (interpolated - path) over all nodes", 0, AT(x_error)},
    {"/rank", GEODEC_I32, "R", 0, "1", "rank r of the stored Phi - I; n when full", 0, AT(rank)},
    {"/full", GEODEC_U8, "R", 0, "1", "1 where Phi - I is stored entry by entry (2 n r >= n^2)", 0, AT(full)},
    {"/offset", GEODEC_I64, "R1", 0, "1", "first number of a record in /factor; R1 = R + 1", 0, AT(offset)},
    {"/factor", GEODEC_F32, "F", 0, "1",
     "per record, waypoints 1..W-1: U [n][r], V [n][r] with Phi = I + U V^T, or Phi - I [n][n]", 0, AT(factor)},
    {"/phi_error", GEODEC_F32, "R", 0, "1", "largest |stored - Phi|_F / |Phi|_F, rounding included", 0, AT(phi_error)},
    {"/naive_error", GEODEC_F32, "R", 0, "1", "control: the same with Phi itself cut to rank r", 0, AT(naive_error)},
    {"/rank_error", GEODEC_F32, "R,n", GEODEC_FIELD_OPTIONAL, "1",
     "relative error of the last Phi at ranks 1..n of Phi - I", 1, AT(rank_error)},
    {"/rank_naive", GEODEC_F32, "R,n", GEODEC_FIELD_OPTIONAL, "1", "control: the same with Phi itself cut", 1,
     AT(rank_naive)},
    {"/rho", GEODEC_F32, "R", 0, "1", "g-length at which the mean miss of x_T + Phi_T d reaches tau path lengths", 0,
     AT(rho)},
    {"/rho_censored", GEODEC_U8, "R", 0, "1", "0 no, 1 at least the largest length tried, 2 below the smallest", 0,
     AT(rho_censored)},
    {"/rho_error", GEODEC_F32, "R", 0, "1",
     "mean miss of the stored record at rho in fresh directions, path lengths; -1 = broke down", 0, AT(rho_error)},
    {"/activation_row", GEODEC_I32, "R", 0, "1", "row of the activations of the anchor", 0, AT(activation_row)},
    {"/logit_row", GEODEC_I32, "R", 0, "1", "row the logits are from: the successor's, else the anchor's; -1 without",
     0, AT(logit_row)},
    {"/logit_index", GEODEC_I32, "R,M", GEODEC_FIELD_OPTIONAL, "1", "tokens of the largest logits, falling", 0,
     AT(logit_index)},
    {"/logit_value", GEODEC_F32, "R,M", GEODEC_FIELD_OPTIONAL, "nat", "their logits", 0, AT(logit_value)},
};

static const geodec_attr attrs[] = {
    {"stride", GEODEC_ATTR_I64, 0, "nodes of the path per waypoint", IN(stride)},
    {"dl", GEODEC_ATTR_F64, 0, "parameter length between nodes", IN(dl)},
    {"phi_tolerance", GEODEC_ATTR_F64, 0, "relative error of Phi allowed in the choice of the rank",
     IN(options.phi_tolerance)},
    {"x_tolerance", GEODEC_ATTR_F64, 0, "g-length allowed in the choice of the stride", IN(options.x_tolerance)},
    {"tau", GEODEC_ATTR_F64, 0, "mean miss, in lengths of the path, that defines rho", IN(options.tau)},
    {"dropped", GEODEC_ATTR_I64, 0, "paths without status ok, left out", IN(dropped)},
    {"mean_rank", GEODEC_ATTR_F64, 0, "mean rank of the stored Phi - I", IN(figures.mean_rank)},
    {"n_full", GEODEC_ATTR_I64, 0, "records stored in full", IN(figures.full)},
    {"bytes_per_record", GEODEC_ATTR_F64, 0, "of this store", IN(figures.bytes)},
    {"bytes_per_record_plain", GEODEC_ATTR_F64, 0, "of the same content uncompressed: every node, float32",
     IN(figures.bytes_plain)},
    {"x_error_largest", GEODEC_ATTR_F64, 0, "largest interpolation error, g-length", IN(figures.x_error_largest)},
    {"phi_error_largest", GEODEC_ATTR_F64, 0, "largest relative error of a stored propagator",
     IN(figures.phi_error_largest)},
    {"naive_error_median", GEODEC_ATTR_F64, 0, "control: median error of Phi cut to the same rank",
     IN(figures.naive_error_median)},
    {"rho_median", GEODEC_ATTR_F64, 0, "median radius", IN(figures.rho_median)},
    {"noise_length", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "median g-length of an error of a state at the anchors",
     IN(figures.noise_length), GEODEC_WHEN(geodec_records, figures.noise_length)},
    {"rho_below_noise", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "share of the records whose radius is below their own: a second measurement of the anchor's state is outside",
     IN(figures.rho_below_noise), GEODEC_WHEN(geodec_records, figures.noise_length)},
    {"rho_n_censored", GEODEC_ATTR_I64, 0, "records whose radius lies outside the range tried",
     IN(figures.rho_censored)},
    {"rho_error_mean", GEODEC_ATTR_F64, 0, "mean miss of stored records at rho in path lengths, where tau is expected",
     IN(figures.rho_error_mean)},
    {"lookup_queries", GEODEC_ATTR_I64, 0, "queries of the lookup trial", IN(trial.queries)},
    {"lookup_recall", GEODEC_ATTR_F64, 0, "recall of the two-stage lookup against exhaustive search", IN(trial.recall)},
    {"lookup_recall_screen", GEODEC_ATTR_F64, 0, "control: recall of the best of the 8 nearest by Euclid",
     IN(trial.recall_screen)},
    {"lookup_evaluations", GEODEC_ATTR_F64, 0, "exact distances per query of the two-stage lookup",
     IN(trial.evaluations)},
    {"lookup_inside", GEODEC_ATTR_F64, 0, "share of queries within rho of their record", IN(trial.inside)},
};

static const geodec_extent extents[] = {{"R", IN(records)}, {"R1", IN(records), 0, 1}, {"n", IN(n)},
                                        {"G", IN(packed)},  {"W", IN(waypoints)},      {"F", IN(factors)},
                                        {"M", IN(logits)}};

const geodec_kind geodec_records_kind = {
    .name = "records",
    .major = 1,
    .minor = 2, /* 1.1 had no noise */
    .tool = "geodec-records",
    .purpose = "compressed trajectory records",
    GEODEC_TABLES(fields, attrs, extents),
};

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static double largest(int64_t n, const float *a)
{
    double top = 0;
    for (int64_t i = 0; i < n; i++) top = fmax(top, (double)a[i]);
    return top;
}

static geodec_status median_of(int64_t n, const float *a, double *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *copy = NULL;
    GEODEC_NEW(copy, n);
    for (int64_t i = 0; i < n; i++) copy[i] = (double)a[i];
    geodec_stats_sort(n, copy);
    *out = geodec_stats_percentile(n, copy, 0.5);
done:
    geodec_mem_free(copy);
    return st;
}

/* g-length of an error of the state at anchor i, sqrt(noise^2 tr g). */
static double noise_at(const geodec_records *r, int64_t i)
{
    const float *g = r->g + i * r->packed;
    double trace = 0;
    for (int64_t k = 0, at = 0; k < r->n; at += r->n - k, k++) trace += (double)g[at];
    return r->options.noise * sqrt(trace);
}

static geodec_status compare_noise(const geodec_records *r, geodec_records_figures *f, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    float *length = NULL;
    GEODEC_NEW(length, r->records);
    for (int64_t i = 0; i < r->records; i++) {
        length[i] = (float)noise_at(r, i);
        f->rho_below_noise += (double)(r->rho[i] < length[i]) / (double)r->records;
    }
    GEODEC_TRY(median_of(r->records, length, &f->noise_length, err));
done:
    geodec_mem_free(length);
    return st;
}

/* Computes the figures of the attributes. */
static geodec_status sum_up(geodec_records *r, geodec_err *err)
{
    geodec_records_figures *f = &r->figures;
    const int64_t R = r->records;
    const double each = 1 / (double)R;
    double rank = 0, at_rho = 0;
    int64_t sound = 0;
    *f = (geodec_records_figures){.bytes = (double)geodec_records_bytes(r) * each,
                                  .bytes_plain = (double)geodec_records_bytes_plain(r) * each,
                                  .x_error_largest = largest(R, r->x_error),
                                  .phi_error_largest = largest(R, r->phi_error)};
    for (int64_t i = 0; i < R; i++) {
        rank += r->rank[i];
        f->full += r->full[i];
        f->rho_censored += r->rho_censored[i] != GEODEC_CENSORED_NONE;
        if (r->rho_error[i] < 0) continue;
        at_rho += (double)r->rho_error[i];
        sound++;
    }
    f->mean_rank = rank * each;
    f->rho_error_mean = sound ? at_rho / (double)sound : 0;
    GEODEC_PASS(median_of(R, r->naive_error, &f->naive_error_median, err));
    GEODEC_PASS(median_of(R, r->rho, &f->rho_median, err));
    if (r->options.noise > 0) GEODEC_PASS(compare_noise(r, f, err));
    return GEODEC_OK;
}

geodec_status geodec_records_write(const geodec_records *r, const geodec_lookup_trial *trial, geodec_artifact *a,
                                   geodec_err *err)
{
    geodec_records file = *r;
    if (!r->rank_error || !r->rank_naive) file.rank_error = file.rank_naive = NULL; /* stored only together */
    file.trial = *trial;
    GEODEC_PASS(sum_up(&file, err));
    GEODEC_PASS(geodec_artifact_save(a, &file, err));
    return GEODEC_OK;
}

void geodec_records_clear(geodec_records *r)
{
    geodec_artifact_clear(&geodec_records_kind, r);
    *r = (geodec_records){0};
}

/* ---- reading ---------------------------------------------------------------------------------------------------- */

static geodec_status check_sizes(const geodec_records *r, const char *path, geodec_err *err)
{
    if (r->records < 1 || r->n < 1 || r->n > GEODEC_RBF_MAX_N || r->packed != r->n * (r->n + 1) / 2 ||
        r->waypoints < 2 || r->stride < 1 || r->stride > INT32_MAX || !(r->dl > 0))
        GEODEC_FAIL(GEODEC_FORMAT, "%s: sizes that do not belong together (R %lld, n %lld, W %lld, stride %lld)", path,
                    (long long)r->records, (long long)r->n, (long long)r->waypoints, (long long)r->stride);
    if (r->offset[0] != 0 || r->offset[r->records] != r->factors)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: /offset does not cover /factor", path);
    if (!r->rank_error != !r->rank_naive || !r->logit_index != !r->logit_value)
        GEODEC_FAIL(GEODEC_FORMAT, "%s: of /rank_error, /rank_naive or of /logit_index, /logit_value one is missing",
                    path);
    for (int64_t i = 0; i < r->records; i++) {
        const bool sound = r->full[i] ? r->rank[i] == r->n : r->rank[i] >= 0 && 2 * r->rank[i] < r->n;
        if (!sound || r->full[i] > 1 ||
            r->offset[i + 1] - r->offset[i] !=
                geodec_compress_factors_size(r->n, r->waypoints - 1, r->rank[i], r->full[i]))
            GEODEC_FAIL(GEODEC_FORMAT, "%s: record %lld has rank %d and %lld numbers", path, (long long)i,
                        (int)r->rank[i], (long long)(r->offset[i + 1] - r->offset[i]));
    }
    return GEODEC_OK;
}

geodec_status geodec_records_read(const geodec_artifact *a, geodec_records *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_records r = {.options = geodec_records_defaults()};
    GEODEC_TRY(geodec_artifact_load(a, &r, err));
    GEODEC_TRY(check_sizes(&r, geodec_artifact_path(a), err));
    *out = r;
done:
    if (st != GEODEC_OK) geodec_records_clear(&r);
    return st;
}
