#include "chain/christoffel.h"

#include "artifact/binding.h"
#include "base/mem.h"
#include "base/tasks.h"

#include <math.h>
#include <string.h>

#define AT(m) GEODEC_AT(geodec_christoffel, m)
#define IN(m) GEODEC_IN(geodec_christoffel, m)
static const geodec_field fields[] = {
    {"/points", GEODEC_F64, "M,n", 0, "activation", "points the symbols are given at", 0,
     GEODEC_BORROWED(geodec_christoffel, x)},
    {"/gamma", GEODEC_F64, "M,n,n,n", 0, "1/activation",
     "Gamma^k_ij = 1/2 g^kl (d_i g_jl + d_j g_il - d_l g_ij), k last", 0, AT(gamma)},
    {"/largest", GEODEC_F64, "M", 0, "1/activation", "max |Gamma| at the point", 0, AT(largest)},
    {"/metric_residual", GEODEC_F64, "M", 0, "1/activation",
     "max |d_l g_ij - Gamma^m_li g_mj - Gamma^m_lj g_im| / max |g|", 0, AT(residual)},
    {"/asymmetry", GEODEC_F64, "M", 0, "1/activation", "max |Gamma^k_ij - Gamma^k_ji|", 0, AT(asymmetry)},
    {"/control_index", GEODEC_I32, "C", 0, "1", "points at which both derivatives were taken", 0, AT(control_index)},
    {"/control_gap", GEODEC_F64, "C", 0, "1/activation", "max |Gamma by differences - Gamma by analytic derivative|", 0,
     AT(control_gap)},
};

static const char *const derivatives[] = {"analytic", "fd", NULL};
static const geodec_attr attrs[] = {
    {"derivative", GEODEC_ATTR_STR, 0, "analytic or fd (central differences)",
     GEODEC_NAMED(geodec_christoffel, deriv, derivatives)},
    {"step", GEODEC_ATTR_F64, 0, "step of the differences", IN(step)},
    {"where", GEODEC_ATTR_STR, 0, "samples, or midpoints between a sample and its nearest neighbour", IN(where)},
    {"sigma", GEODEC_ATTR_F64, 0, "width of the field", IN(sigma)},
    {"worst_residual", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest metric residual", IN(worst_residual)},
    {"worst_gap", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest gap between the derivatives", IN(worst_gap)},
};

static const geodec_extent extents[] = {{"M", IN(points)}, {"n", IN(n)}, {"C", IN(control)}};

const geodec_kind geodec_christoffel_kind = {
    .name = "christoffel",
    .major = 1,
    .minor = 0,
    .tool = "geodec-christoffel",
    .purpose = "Christoffel symbols of the metric field, with their self-tests",
    GEODEC_TABLES(fields, attrs, extents),
    .shards = "M,C",
};

geodec_christoffel_options geodec_christoffel_defaults(void)
{
    return (geodec_christoffel_options){.deriv = GEODEC_DERIV_ANALYTIC, .control = 64};
}

static double max_abs(int64_t n, const double *x)
{
    double m = 0;
    for (int64_t i = 0; i < n; i++)
        if (!(fabs(x[i]) <= m)) m = fabs(x[i]); /* keeps NaN */
    return m;
}

double geodec_christoffel_residual(int64_t n, const double *g, const double *dg, const double *gamma)
{
    double worst = 0;
    for (int64_t l = 0; l < n; l++)
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) {
                const double *li = gamma + (l * n + i) * n, *lj = gamma + (l * n + j) * n;
                double r = dg[(l * n + i) * n + j];
                for (int64_t m = 0; m < n; m++) r -= li[m] * g[m * n + j] + lj[m] * g[i * n + m];
                if (!(fabs(r) <= worst)) worst = fabs(r);
            }
    return worst;
}

typedef struct job {
    const geodec_space *s, *other;
    const double *x, *table; /* from the first point of the slice */
    geodec_christoffel *c;
} job;

static geodec_status point_task(void *ctx, int64_t p, geodec_err *err)
{
    const job *j = ctx;
    geodec_status st = GEODEC_OK;
    double *g = NULL, *dg = NULL;
    geodec_christoffel *c = j->c;
    const int64_t n = c->n, nn = n * n, n3 = nn * n;
    const double *x = j->x + p * n;
    double *gamma = c->gamma + p * n3;
    GEODEC_NEW(g, nn);
    GEODEC_NEW(dg, n3);
    if (c->deriv == GEODEC_DERIV_FD) {
        GEODEC_TRY(geodec_space_dg_fd(j->s, x, c->step, dg, err));
        GEODEC_TRY(j->s->at(j->s, x, g, NULL, NULL, err));
    } else {
        GEODEC_TRY(j->s->at(j->s, x, g, dg, NULL, err));
    }
    if (j->table)
        memcpy(gamma, j->table + p * n3, (size_t)n3 * sizeof *gamma);
    else
        GEODEC_TRY(geodec_space_christoffel((int32_t)n, g, dg, gamma, err));
    const double r = geodec_christoffel_residual(n, g, dg, gamma), g_max = max_abs(nn, g);
    if (!j->table && !(r <= 1e-10 * fmax(g_max, max_abs(n3, dg)))) {
        GEODEC_THROW(GEODEC_CHECK, "metric residual %g with |g| %g: the metric is too near to singular", r, g_max);
    }
    c->residual[p] = r / g_max;
    c->largest[p] = max_abs(n3, gamma);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = 0; k < i; k++)
            for (int64_t m = 0; m < n; m++)
                c->asymmetry[p] = fmax(c->asymmetry[p], fabs(gamma[(i * n + k) * n + m] - gamma[(k * n + i) * n + m]));
done:
    GEODEC_FREE(g, dg);
    return st;
}

static geodec_status control_task(void *ctx, int64_t task, geodec_err *err)
{
    const job *j = ctx;
    geodec_status st = GEODEC_OK;
    double *other = NULL;
    geodec_christoffel *c = j->c;
    const int64_t n = c->n, n3 = n * n * n, p = c->control_index[task] - c->first;
    GEODEC_NEW(other, n3);
    if (c->deriv == GEODEC_DERIV_FD)
        GEODEC_TRY(j->other->at(j->other, j->x + p * n, NULL, NULL, other, err));
    else
        GEODEC_TRY(geodec_space_christoffel_fd(j->other, j->x + p * n, c->step, other, err));
    for (int64_t i = 0; i < n3; i++) other[i] -= c->gamma[p * n3 + i];
    c->control_gap[task] = max_abs(n3, other);
done:
    geodec_mem_free(other);
    return st;
}

geodec_status geodec_christoffel_compute(const geodec_space *s, int64_t points, const double *x,
                                         const geodec_christoffel_options *o, geodec_pool *pool,
                                         const geodec_hooks *hooks, geodec_christoffel *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_christoffel c = {.n = s->n, .deriv = o->deriv};
    int64_t end;
    if (points < 1 || o->control < 1 || !(o->step >= 0) || !isfinite(o->step)) {
        GEODEC_THROW(GEODEC_RANGE, "Christoffel symbols at %lld points with step %g", (long long)points, o->step);
    }
    c.step = o->step > 0 ? o->step : s->fd_step;
    GEODEC_TRY(geodec_shard_range(o->shard, points, &c.first, &end, err));
    c.points = end - c.first;
    const int64_t controls = o->control < points ? o->control : points;
    job j = {.s = s, .other = o->other ? o->other : s, .x = x + c.first * c.n, .c = &c};
    if (o->table) j.table = o->table + c.first * c.n * c.n * c.n;
    c.control = controls; /* at most */
    GEODEC_TRY(geodec_artifact_reserve(&geodec_christoffel_kind, &c, err));
    c.control = 0;
    for (int64_t i = 0; i < controls; i++) {
        const int64_t p = i * points / controls;
        if (p >= c.first && p < end) c.control_index[c.control++] = (int32_t)p;
    }
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "Christoffel symbols at point", c.points, point_task, &j, err));
    GEODEC_TRY(geodec__tasks_run(pool, hooks, "control", c.control, control_task, &j, err));
    c.worst_residual = max_abs(c.points, c.residual);
    c.worst_gap = max_abs(c.control, c.control_gap);
    *out = c;
done:
    if (st != GEODEC_OK) geodec_christoffel_clear(&c);
    return st;
}

void geodec_christoffel_clear(geodec_christoffel *c)
{
    geodec_artifact_clear(&geodec_christoffel_kind, c);
    memset(c, 0, sizeof *c);
}

geodec_status geodec_christoffel_write(const geodec_christoffel *c, const double *x, const char *where, double sigma,
                                       geodec_artifact *a, geodec_err *err)
{
    geodec_christoffel file = *c;
    file.x = x + c->first * c->n;
    file.where = where;
    file.sigma = sigma;
    return geodec_artifact_save(a, &file, err);
}
