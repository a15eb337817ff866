#include "records/records.h"

#include "base/mem.h"
#include "base/rng.h"
#include "base/tasks.h"
#include "base/vec_internal.h"
#include "linalg/expm.h"

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
    const int64_t n = r->n, packed = n * (n + 1) / 2;
    const int64_t each = n * 8 + packed * 4 + n * 4 + r->waypoints * n * 4 + 8 /* scales */ + 4 /* x_error */ +
                         4 /* rank */ + 1 /* full */ + 8 /* offset */ + 8 /* phi errors */ + 9 /* rho */ +
                         8 /* rows */ + (r->logit_index ? r->logits * 8 : 0);
    return r->records * each + 8 + 4 * r->offset[r->records];
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
    float *packed; /* [R][(W-1) n^2] factors before they are moved together */
    double *gap;   /* [R] of the stride on trial */
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
    geodec_mem_free(g);
    geodec_mem_free(row);
    return st;
}

/* The largest stride that divides the number of steps and meets the tolerance on every record; 1 when none does. */
static geodec_status choose_stride(maker *m, geodec_pool *pool, const geodec_hooks *hooks, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t T = m->p->paths.nodes - 1;
    for (int64_t stride = T; stride >= 1; stride--) {
        if (T % stride) continue;
        m->r->stride = stride;
        m->r->waypoints = T / stride + 1;
        GEODEC_TRY(geodec__tasks_run(pool, hooks, "waypoints", m->r->records, waypoints_task, m, err));
        double worst = 0;
        for (int64_t i = 0; i < m->r->records; i++) worst = fmax(worst, m->gap[i]);
        if (worst <= m->o->x_tolerance) break;
    }
done:
    return st;
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
    GEODEC_NEW(r->factor, r->offset[r->records]);
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
    GEODEC_NEW(index, kept);
    GEODEC_NEW(value, kept);
    GEODEC_NEW(r->logit_index, r->records * r->logits);
    GEODEC_NEW(r->logit_value, r->records * r->logits);
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
    geodec_mem_free(index);
    geodec_mem_free(value);
    return st;
}

static geodec_status reserve(maker *m, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_records *r = m->r;
    const int64_t R = r->records, n = r->n, S = m->p->paths.nodes;
    GEODEC_NEW(r->q, R * n);
    GEODEC_NEW(r->g, R * (n * (n + 1) / 2));
    GEODEC_NEW(r->v0, R * n);
    GEODEC_NEW(r->x, R * S * n); /* the smallest stride needs all nodes */
    GEODEC_NEW(r->v, R * S * n);
    GEODEC_NEW(r->x_scale, R);
    GEODEC_NEW(r->v_scale, R);
    GEODEC_NEW(r->x_error, R);
    GEODEC_NEW(r->rank, R);
    GEODEC_NEW(r->full, R);
    GEODEC_NEW(r->offset, R + 1);
    GEODEC_NEW(r->phi_error, R);
    GEODEC_NEW(r->naive_error, R);
    GEODEC_NEW(r->rank_error, R * n);
    GEODEC_NEW(r->rank_naive, R * n);
    GEODEC_NEW(r->rho, R);
    GEODEC_NEW(r->rho_censored, R);
    GEODEC_NEW(r->rho_error, R);
    GEODEC_NEW(r->activation_row, R);
    GEODEC_NEW(r->logit_row, R);
    GEODEC_NEW(m->gap, R);
done:
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
    GEODEC_TRY(reserve(&m, err));
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
    geodec_mem_free(m.path);
    geodec_mem_free(m.packed);
    geodec_mem_free(m.gap);
    geodec_records_clear(&r);
    return st;
}
