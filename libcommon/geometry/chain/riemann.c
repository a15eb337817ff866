#include "chain/riemann.h"

#include "artifact/binding.h"
#include "artifact/merge.h"
#include "base/choose.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/vec_internal.h"
#include "chain/metric_internal.h"
#include "geometry/space_closed.h"
#include "linalg/stats.h"

#include <math.h>
#include <string.h>

enum { CONTROL_POINTS = 4 };

/* ---- points ----------------------------------------------------------------------------------------------------- */

static void place(geodec_riemann *c, geodec_riemann_place where, int32_t index, int32_t partner, const double *a,
                  const double *b)
{
    const int64_t q = c->points++;
    c->place[q] = (uint8_t)where;
    c->index[q] = index;
    c->partner[q] = partner;
    for (int64_t i = 0; i < c->n; i++) c->x[q * c->n + i] = b ? 0.5 * (a[i] + b[i]) : a[i];
}

static geodec_status choose_points(const geodec_metric *m, const geodec_geodesics *paths,
                                   const geodec_riemann_options *o, geodec_riemann *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    int64_t *sample = NULL, *edge = NULL;
    const int64_t n = m->n, count = o->samples > 0 && o->samples < m->points ? o->samples : m->points;
    const int64_t edges = o->midpoints < count ? o->midpoints : count;
    const int64_t room = count + edges + o->given + (paths ? 2 * paths->paths : 0);
    GEODEC_NEW(sample, count);
    GEODEC_NEW(edge, edges);
    GEODEC_NEW(c->x, room * n);
    GEODEC_NEW_EACH(room, c->place, c->index, c->partner);
    GEODEC_TRY(geodec__choose_subset(o->seed, geodec_rng_id("curvature samples", 0), m->points, count, sample, err));
    GEODEC_TRY(geodec__choose_subset(o->seed, geodec_rng_id("curvature edges", 0), count, edges, edge, err));
    for (int64_t i = 0; i < o->given; i++) place(c, GEODEC_PLACE_GIVEN, (int32_t)i, -1, o->x + i * n, NULL);
    for (int64_t i = 0; i < count && !o->x; i++)
        place(c, GEODEC_PLACE_SAMPLE, (int32_t)sample[i], -1, m->point + sample[i] * n, NULL);
    for (int64_t i = 0; i < edges && !o->x; i++) {
        const int64_t p = sample[edge[i]];
        const int32_t to = m->knn_index[p * m->k];
        place(c, GEODEC_PLACE_MIDPOINT, (int32_t)p, to, m->point + p * n, m->point + to * n);
    }
    for (int64_t p = 0; paths && p < paths->paths; p++) {
        const int32_t last = paths->good[p], middle = last / 2;
        const double *x = paths->x + p * paths->nodes * n;
        place(c, GEODEC_PLACE_PATH, (int32_t)p, middle, x + middle * n, NULL);
        if (last > middle) place(c, GEODEC_PLACE_PATH, (int32_t)p, last, x + last * n, NULL);
    }
done:
    GEODEC_FREE(sample, edge);
    return st;
}

/* ---- controls --------------------------------------------------------------------------------------------------- */

static geodec_status sphere_control(int32_t n, uint64_t seed, double *worst, geodec_err *err)
{
    geodec_space_conformal sphere;
    double x[GEODEC_SPACE_DIM_MAX];
    *worst = 0;
    GEODEC_PASS(geodec_space_conformal_init(&sphere, n, 1, err));
    for (uint64_t p = 0; n > 1 && p < CONTROL_POINTS; p++) {
        geodec_curvature_invariants inv;
        geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("curvature control", p));
        for (int32_t i = 0; i < n; i++) x[i] = geodec_rng_normal(&r) / sqrt((double)n);
        GEODEC_PASS(geodec_curvature_at(&sphere.base, x, NULL, NULL, &inv, err));
        *worst = fmax(*worst, fabs(inv.scalar / ((double)n * (n - 1)) - 1));
    }
    return GEODEC_OK;
}

/* A space without its analytic dGamma, so that curvature takes differences of its symbols. */
typedef struct by_differences {
    geodec_space base;
    const geodec_space *inner;
} by_differences;

static geodec_status inner_at(const geodec_space *s, const double *x, double *g, double *dg, double *gamma,
                              geodec_err *err)
{
    const by_differences *d = (const by_differences *)(const void *)s;
    return d->inner->at(d->inner, x, g, dg, gamma, err);
}

/* Largest relative difference between the analytic tensor and the one by differences at the first `count` points. */
static geodec_status differences_control(const geodec_space *s, const geodec_riemann *c, int64_t count, double *gap,
                                         geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const by_differences d = {{.n = s->n, .name = s->name, .at = inner_at, .fd_step = s->fd_step}, s};
    const int64_t n4 = c->n * c->n * c->n * c->n;
    double *block = NULL, worst = 0;
    GEODEC_NEW(block, 2 * n4);
    for (int64_t q = 0; q < count && q < c->points; q++) {
        geodec_curvature_invariants inv;
        GEODEC_TRY(geodec_curvature_at(s, c->x + q * c->n, block, NULL, &inv, err));
        GEODEC_TRY(geodec_curvature_at(&d.base, c->x + q * c->n, block + n4, NULL, &inv, err));
        const double top = geodec__largest(n4, block);
        for (int64_t i = 0; i < n4; i++) block[i] -= block[n4 + i];
        if (top > 0) worst = fmax(worst, geodec__largest(n4, block) / top);
    }
    *gap = worst;
done:
    geodec_mem_free(block);
    return st;
}

/* ---- stage ------------------------------------------------------------------------------------------------------ */

/* Median of |scalar| over the points at `where`, 0 if there are none. Overwrites scalar [points]. */
static double median_at(int64_t points, double *scalar, const uint8_t *place, int where)
{
    int64_t count = 0;
    for (int64_t q = 0; q < points; q++)
        if (place[q] == where) scalar[count++] = fabs(scalar[q]);
    geodec_stats_sort(count, scalar);
    return count ? geodec_stats_percentile(count, scalar, 0.5) : 0;
}

static geodec_status summarise(geodec_riemann *c, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *sorted = NULL;
    GEODEC_NEW(sorted, c->points);
    for (int where = 0; where < GEODEC_PLACES; where++) {
        for (int64_t q = 0; q < c->points; q++) sorted[q] = c->inv[q].scalar;
        c->median_abs_scalar[where] = median_at(c->points, sorted, c->place, where);
    }
    for (int64_t q = 0; q < c->points; q++) {
        const geodec_curvature_check *k = &c->inv[q].check;
        c->worst.first_pair = fmax(c->worst.first_pair, k->first_pair);
        c->worst.last_pair = fmax(c->worst.last_pair, k->last_pair);
        c->worst.exchange = fmax(c->worst.exchange, k->exchange);
        c->worst.bianchi = fmax(c->worst.bianchi, k->bianchi);
    }
    c->worst_symmetry = fmax(c->worst.first_pair, fmax(c->worst.last_pair, c->worst.exchange));
done:
    geodec_mem_free(sorted);
    return st;
}

/* Curvature of the field of noise: what the fit makes of points without structure. */
int64_t geodec_riemann_noise_sites(const geodec_metric *metric)
{
    const int64_t most = 2 * metric->k > GEODEC_RIEMANN_NOISE ? 2 * metric->k : GEODEC_RIEMANN_NOISE;
    return metric->points < most ? metric->points : most;
}

static geodec_status noise_control(const geodec_metric *metric, const geodec_riemann_options *o, geodec_pool *pool,
                                   const geodec_hooks *hooks, geodec_riemann *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_metric fit = {0};
    geodec_rbf *field = NULL;
    geodec_riemann c = {.n = metric->n};
    geodec_metric_options fo = metric->options;
    geodec_riemann_options ro = {.samples = o->control, .midpoints = o->midpoints, .seed = o->seed};
    const int64_t points = geodec_riemann_noise_sites(metric);
    double *x = NULL;
    if (ro.midpoints > o->control) ro.midpoints = o->control;
    fo.sigma = 0; /* by the same multiple of the distance to the nearest neighbour */
    fo.force_k = true;
    GEODEC_NEW(x, metric->points * metric->n);
    GEODEC_TRY(geodec__metric_control_points(metric->points, metric->n, metric->point, o->seed, pool, x, err));
    GEODEC_TRY_MSG(geodec_metric_fit(points, metric->n, x, &fo, pool, hooks, &fit, err), "field of noise");
    GEODEC_TRY(geodec_metric_field(&fit, &field, err));
    GEODEC_TRY(choose_points(&fit, NULL, &ro, &c, err));
    GEODEC_NEW(c.inv, c.points);
    GEODEC_TRY(geodec_curvature_batch(geodec_rbf_space(field), pool, hooks, c.points, c.x, NULL, NULL, c.inv, err));
    GEODEC_TRY_MSG(summarise(&c, err), "field of noise");
    out->noise.points = points;
    memcpy(out->noise.median_abs_scalar, c.median_abs_scalar, sizeof c.median_abs_scalar);
done:
    geodec_rbf_destroy(field);
    geodec_metric_clear(&fit);
    geodec_riemann_clear(&c);
    geodec_mem_free(x);
    return st;
}

geodec_status geodec_riemann_compute(const geodec_metric *metric, const geodec_space *s, const geodec_geodesics *paths,
                                     const geodec_riemann_options *o, geodec_pool *pool, const geodec_hooks *hooks,
                                     geodec_riemann *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_riemann c = {.n = metric->n};
    int64_t first, end;
    if (o->samples < 0 || o->midpoints < 0 || o->control < 0)
        GEODEC_THROW(GEODEC_RANGE, "%lld samples, %lld midpoints, %lld in the control", (long long)o->samples,
                     (long long)o->midpoints, (long long)o->control);
    if (paths && paths->n != metric->n)
        GEODEC_THROW(GEODEC_FORMAT, "paths of dimension %lld in a metric of dimension %lld", (long long)paths->n,
                     (long long)metric->n);
    GEODEC_TRY(choose_points(metric, paths, o, &c, err));
    GEODEC_TRY(geodec_shard_range(o->shard, c.points, &first, &end, err));
    geodec_artifact_keep(&geodec_riemann_kind, &c, "Q", first, end);
    const int64_t n2 = c.n * c.n;
    GEODEC_NEW(c.inv, c.points);
    GEODEC_NEW(c.ricci, c.points * n2);
    if (o->tensors) GEODEC_NEW(c.riem, c.points * n2 * n2);
    GEODEC_TRY(geodec_curvature_batch(s, pool, hooks, c.points, c.x, c.riem, c.ricci, c.inv, err));
    GEODEC_TRY(summarise(&c, err));
    if (o->control > 0 && !o->x && metric->kind == GEODEC_METRIC_MAHALANOBIS)
        GEODEC_TRY(noise_control(metric, o, pool, hooks, &c, err));
    GEODEC_TRY(sphere_control(s->n, o->seed, &c.sphere_error, err));
    GEODEC_TRY(differences_control(s, &c, CONTROL_POINTS - first, &c.differences_gap, err));
    *out = c;
done:
    if (st != GEODEC_OK) geodec_riemann_clear(&c);
    return st;
}

/* ---- the artifact ------------------------------------------------------------------------------------------------ */

#define AT(m) GEODEC_AT(geodec_riemann, m)
#define IN(m) GEODEC_IN(geodec_riemann, m)
#define ROW(m) GEODEC_OF_ROW(geodec_curvature_invariants, m)
static const geodec_field fields[] = {
    {"/x", GEODEC_F64, "Q,n", 0, "activation", "where: principal coordinates", 0, AT(x)},
    {"/place", GEODEC_U8, "Q", 0, "1", "0 point of the cloud, 1 midpoint of an edge, 2 node of a geodesic, 3 given", 0,
     AT(place)},
    {"/index", GEODEC_I32, "Q", 0, "1", "point of the metric, or path", 0, AT(index)},
    {"/partner", GEODEC_I32, "Q", 0, "1", "its nearest neighbour (midpoints), node (paths), else -1", 0, AT(partner)},
    {"/scalar", GEODEC_F64, "Q", 0, "1", "scalar curvature g^bd R_bd (per squared g-length)", 0, ROW(scalar)},
    {"/norm", GEODEC_F64, "Q", 0, "1", "sqrt(R_abcd R^abcd)", 0, ROW(norm)},
    {"/sectional_max", GEODEC_F64, "Q", 0, "1", "largest sectional curvature over the planes of a g-orthonormal frame",
     0, ROW(sectional_max)},
    {"/sectional_min", GEODEC_F64, "Q", 0, "1", "smallest of them", 0, ROW(sectional_min)},
    {"/ricci", GEODEC_F64, "Q,n,n", 0, "1", "R_bd = R^a_bad", 0, AT(ricci)},
    {"/residual", GEODEC_F64, "Q,4", 0, "1",
     "symmetries broken, relative to max |R_abcd|: first pair, last pair, exchange of pairs, first Bianchi", 0,
     ROW(check.first_pair)},
    {"/riemann", GEODEC_F64, "Q,n,n,n,n", GEODEC_FIELD_OPTIONAL, "1",
     "R^a_bcd = d_c Gamma^a_bd - d_d Gamma^a_bc + Gamma^a_ce Gamma^e_bd - Gamma^a_de Gamma^e_bc", 0, AT(riem)},
};

static const geodec_attr attrs[] = {
    {"median_abs_scalar_samples", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED,
     "median |scalar curvature| at points of the cloud", IN(median_abs_scalar[GEODEC_PLACE_SAMPLE])},
    {"median_abs_scalar_midpoints", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED, "the same half-way to the nearest neighbour",
     IN(median_abs_scalar[GEODEC_PLACE_MIDPOINT])},
    {"median_abs_scalar_paths", GEODEC_ATTR_F64, GEODEC_ATTR_DERIVED, "the same on geodesics; 0 without",
     IN(median_abs_scalar[GEODEC_PLACE_PATH])},
    {"control_noise_points", GEODEC_ATTR_I64, GEODEC_FIELD_OPTIONAL,
     "control: points of the same fit to Gaussian noise with the covariance of the points; 0 = none", IN(noise.points)},
    {"control_noise_samples", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL,
     "control: median |scalar curvature| at points of that noise", IN(noise.median_abs_scalar[GEODEC_PLACE_SAMPLE])},
    {"control_noise_midpoints", GEODEC_ATTR_F64, GEODEC_FIELD_OPTIONAL, "the same half-way to the nearest neighbour",
     IN(noise.median_abs_scalar[GEODEC_PLACE_MIDPOINT])},
    {"worst_symmetry", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest residual of the pair symmetries", IN(worst_symmetry)},
    {"worst_bianchi", GEODEC_ATTR_F64, GEODEC_ATTR_MAX, "largest residual of the first Bianchi identity",
     IN(worst.bianchi)},
    {"control_sphere_error", GEODEC_ATTR_F64, 0,
     "control: largest relative error of the scalar curvature on the unit sphere of the same dimension",
     IN(sphere_error)},
    {"control_differences_gap", GEODEC_ATTR_F64, GEODEC_ATTR_MAX,
     "control: relative gap to the tensor with dGamma by central differences, at 4 samples", IN(differences_gap)},
};

/* The medians of joined parts. */
static geodec_status derive(geodec_merge *whole, const char *attr, double *value, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *scalar = NULL;
    uint8_t *place = NULL;
    int64_t points;
    const int where = strstr(attr, "samples") ? GEODEC_PLACE_SAMPLE
                      : strstr(attr, "mid")   ? GEODEC_PLACE_MIDPOINT
                                              : GEODEC_PLACE_PATH;
    GEODEC_TRY(geodec_merge_dim(whole, "Q", &points, err));
    GEODEC_TRY(geodec_merge_read(whole, "/scalar", &scalar, err));
    GEODEC_TRY(geodec_merge_read(whole, "/place", &place, err));
    *value = median_at(points, scalar, place, where);
done:
    GEODEC_FREE(scalar, place);
    return st;
}

static const geodec_extent extents[] = {{"Q", IN(points)}, {"n", IN(n)}};

const geodec_kind geodec_riemann_kind = {
    .name = "riemann",
    .major = 1,
    .minor = 1,
    .tool = "geodec-riemann",
    .purpose = "curvature of the smooth field",
    GEODEC_TABLES(fields, attrs, extents),
    .shards = "Q",
    .derive = derive,
    .rows = {"Q", sizeof(geodec_curvature_invariants), offsetof(geodec_riemann, inv), false},
};

void geodec_riemann_clear(geodec_riemann *c)
{
    geodec_artifact_clear(&geodec_riemann_kind, c);
    *c = (geodec_riemann){0};
}
