/* The published warp step by step: a whole new table of metrics and symbols for every fact. */
#include "base/mem.h"
#include "base/vec_internal.h"
#include "lab/warp/published_internal.h"
#include "linalg/eig.h"

#include <math.h>
#include <string.h>

typedef struct warp {
    const geodec_warp_published_config *c;
    const geodec_harness_field *field; /* through the table, the identity far away */
    const double *centre, *w;
    double *scratch;
} warp;

static geodec_status eigen(int64_t n, double *g, double *d, double *scratch, geodec_err *err)
{
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < i; j++) g[i * n + j] = 0.5 * (g[i * n + j] + g[j * n + i]);
    return geodec_eig_sym_ws(n, g, d, g, scratch, err);
}

static geodec_status warped(const void *ctx, const double *x, double *g, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const warp *w = ctx;
    const int64_t n = w->field->n;
    double d[GEODEC_PUBLISHED_MAX_N], v[GEODEC_PUBLISHED_MAX_N], radial[GEODEC_PUBLISHED_MAX_N], r2 = 0;
    double *a = w->scratch, *eig = a + n * n;
    GEODEC_TRY(geodec_harness_field_at(w->field, x, g, w->scratch, err));
    for (int64_t i = 0; i < n; i++) {
        radial[i] = x[i] - w->centre[i];
        r2 += radial[i] * radial[i];
    }
    const double alpha = w->c->alpha, extent = w->c->extent;
    if (w->c->variant == GEODEC_PUBLISHED_WARP_V1) {
        const double c = alpha * (1 - exp(-r2 / (2 * extent * extent)));
        for (int64_t i = 0; i < n; i++)
            for (int64_t j = 0; j < n; j++) a[i * n + j] = g[i * n + j] - c * (w->w[i] * w->w[j]);
        GEODEC_TRY(eigen(n, a, d, eig, err));
        for (int64_t i = 0; i < n; i++) d[i] = fmax(d[i], warp_v1_floor);
        geodec_eig_compose(n, d, a, g);
        goto done;
    }
    const double r = sqrt(r2) / fmax(extent, 1e-9), bump = r < 1 ? (1 - r * r) * (1 - r * r) : 0;
    memcpy(v, w->w, (size_t)n * sizeof *v);
    const double rr = geodec__norm2(n, g, radial);
    if (!(rr < 1e-12)) {
        double vr = 0;
        for (int64_t i = 0; i < n; i++) vr += v[i] * geodec__dot(n, g + i * n, radial);
        for (int64_t i = 0; i < n; i++) v[i] -= vr / rr * radial[i];
    }
    const double s2 = geodec__norm2(n, g, v), c = bump > 0 && !(s2 < 1e-12) ? alpha * bump / s2 : 0;
    memcpy(a, g, (size_t)(n * n) * sizeof *a);
    GEODEC_TRY(eigen(n, a, d, eig, err));
    for (int64_t i = 0; i < n; i++) d[i] = log(fmax(d[i], 1e-12));
    geodec_eig_compose(n, d, a, g);
    for (int64_t i = 0; i < n; i++)
        for (int64_t j = 0; j < n; j++) a[i * n + j] = g[i * n + j] - c * (v[i] * v[j]);
    GEODEC_TRY(eigen(n, a, d, eig, err));
    for (int64_t i = 0; i < n; i++) d[i] = fmax(exp(d[i]), warp_v2_floor);
    geodec_eig_compose(n, d, a, g);
done:
    return st;
}

/* Error of the path from sample `from` towards `to` in m. */
static geodec_status path_error(const geodec_harness_manifold *m, const geodec_warp_published_config *c, int64_t from,
                                int64_t to, double *xs, double *error, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    const double *x0 = m->point + from * n, *target = m->point + to * n, *end = xs + c->steps * n;
    double v[GEODEC_PUBLISHED_MAX_N], middle[GEODEC_PUBLISHED_MAX_N];
    double *g = NULL;
    GEODEC_NEW(g, n * n);
    for (int64_t i = 0; i < n; i++) v[i] = target[i] - x0[i];
    GEODEC_TRY(geodec_harness_unit(m, x0, v, err));
    geodec_harness_geodesic(m, x0, v, c->steps, c->dl, xs, NULL);
    for (int64_t i = 0; i < n; i++) middle[i] = 0.5 * (end[i] + target[i]);
    *error = NAN;
    if (m->sigma > 0 && !geodec__finite(n, middle)) goto done; /* the smooth accessor takes no such point */
    GEODEC_TRY(geodec_harness_g_at(m, middle, g, err));
    *error = geodec__warp_length(n, g, end, target);
done:
    geodec_mem_free(g);
    return st;
}

static geodec_status fact(const geodec_harness_manifold *m, const geodec_harness_field *field,
                          const geodec_warp_published_draws *draws, const geodec_warp_published_config *c, int64_t f,
                          double *table, geodec_warp_published_outcome *o, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, q = draws->query[f], t = o->target[f];
    geodec_harness_manifold after = {0};
    double *g = table, *gamma = g + m->samples * n * n, *xs = gamma + m->samples * n * n * n,
           *field_scratch = xs + (c->steps + 1) * n, *scratch = field_scratch + geodec_harness_field_scratch(n);
    double w[GEODEC_PUBLISHED_MAX_N];
    warp u = {.c = c, .field = field, .centre = m->point + q * n, .w = w, .scratch = field_scratch};
    GEODEC_TRY(path_error(m, c, q, t, xs, &o->pre[f], err));
    GEODEC_TRY(geodec_harness_g_at(m, u.centre, g, err));
    if (geodec__warp_direction(n, g, u.centre, m->point + t * n, w) < 1e-12) memset(w, 0, sizeof w);
    for (int64_t p = 0; p < m->samples; p++) {
        const double *x = m->point + p * n;
        GEODEC_TRY(warped(&u, x, g + p * n * n, err));
        GEODEC_TRY(geodec_harness_field_christoffel(n, warped, &u, x, g + p * n * n, warp_h, gamma + p * n * n * n,
                                                    scratch, err));
    }
    GEODEC_TRY(geodec_harness_manifold_table(m->samples, n, m->point, g, gamma, 0, &after, err));
    GEODEC_TRY(path_error(&after, c, q, t, xs, &o->post[f], err));
    for (int64_t i = 0; i < draws->holdouts; i++) {
        const int64_t h = draws->holdout[i], at = f * draws->holdouts + i;
        double before, behind;
        if (!geodec__warp_uses(m, c, q, t, h)) continue;
        GEODEC_TRY(path_error(m, c, h, o->neighbour[f], xs, &before, err));
        GEODEC_TRY(path_error(&after, c, h, o->neighbour[f], xs, &behind, err));
        if (!(before > 1e-9)) continue;
        o->used[at] = 1;
        o->spillover[at] = warp_spill(before, behind);
    }
done:
    geodec_harness_manifold_clear(&after);
    return st;
}

geodec_status geodec_warp_published_plain(const geodec_harness_manifold *m, const geodec_warp_published_draws *draws,
                                          const geodec_warp_published_config *c, geodec_warp_published_outcome *out,
                                          geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n;
    geodec_warp_published_outcome o = {0};
    geodec_harness_field field = {0};
    double *table = NULL;
    if (c->steps < 1 || !(c->extent > 0))
        GEODEC_THROW(GEODEC_RANGE, "%lld steps, extent %g", (long long)c->steps, c->extent);
    GEODEC_TRY(geodec__warp_check(m->samples, draws, err));
    GEODEC_TRY(geodec__warp_begin(m, draws, &o, err));
    GEODEC_TRY(geodec_harness_field_init(&field, m->samples, n, m->point, m->g, warp_sigma, false, err));
    GEODEC_NEW(table, m->samples * n * n * (n + 1) + (c->steps + 1) * n + geodec_harness_field_scratch(n) +
                          geodec_harness_field_christoffel_scratch(n));
    for (int64_t f = 0; f < draws->facts; f++)
        GEODEC_TRY_MSG(fact(m, &field, draws, c, f, table, &o, err), "fact %lld", (long long)f);
    GEODEC_TRY(geodec__warp_summary(&o, err));
    GEODEC_MOVE(*out, o);
done:
    geodec_warp_published_clear(&o);
    geodec_harness_field_clear(&field);
    geodec_mem_free(table);
    return st;
}
