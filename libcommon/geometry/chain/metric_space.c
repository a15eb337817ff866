#include "chain/metric_space.h"

#include "base/mem.h"
#include "base/vec_internal.h"
#include "linalg/expm.h"

#include <math.h>
#include <string.h>

geodec_status geodec__metric_space_exact(geodec_metric_type kind, int64_t n, double curvature, geodec_metric_space *s,
                                         geodec_err *err)
{
    const char *name = geodec_metric_type_name(kind);
    switch (kind) {
    case GEODEC_METRIC_SPHERE:
    case GEODEC_METRIC_HYPERBOLIC:
        if (!isfinite(curvature) || (kind == GEODEC_METRIC_SPHERE ? !(curvature > 0) : !(curvature < 0)))
            GEODEC_FAIL(GEODEC_RANGE, "%s with curvature %g", name, curvature);
        if (n < 1 || n > GEODEC_SPACE_DIM_MAX) GEODEC_FAIL(GEODEC_RANGE, "%s of dimension %lld", name, (long long)n);
        GEODEC_PASS(geodec_space_conformal_init(&s->exact.conformal, (int32_t)n, curvature, err));
        break;
    case GEODEC_METRIC_POLAR:
    case GEODEC_METRIC_GAUSSIAN_FISHER:
        if (n != 2) GEODEC_FAIL(GEODEC_RANGE, "%s has dimension 2, not %lld", name, (long long)n);
        if (kind == GEODEC_METRIC_POLAR)
            geodec_space_polar_init(&s->exact.base);
        else
            geodec_space_fisher_init(&s->exact.base);
        break;
    default:
        GEODEC_FAIL(GEODEC_RANGE, "a metric of kind %s is not known in closed form", name);
    }
    s->space = &s->exact.base; /* base is the first member of each */
    return GEODEC_OK;
}

/* The stored matrices must be those of the space, since a file may be wrong. */
static geodec_status check_matrices(const geodec_metric *m, const geodec_space *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int64_t n = m->n, nn = n * n;
    double *g = NULL;
    GEODEC_NEW(g, 2 * nn);
    for (int64_t p = 0; p < m->points; p++) {
        GEODEC_TRY_MSG(s->at(s, m->point + p * n, g, NULL, NULL, err), "point %lld", (long long)p);
        GEODEC_TRY(geodec_metric_at_point(m, p, g + nn, err));
        const double size = geodec__largest(nn, g);
        for (int64_t i = 0; i < nn; i++)
            if (!(fabs(g[i] - g[nn + i]) <= 1e-9 * size))
                GEODEC_THROW(GEODEC_FORMAT, "the matrix of point %lld is not that of the space '%s'", (long long)p,
                             geodec_metric_type_name(m->kind));
    }
done:
    geodec_mem_free(g);
    return st;
}

static geodec_status init_constant(const geodec_metric *m, geodec_metric_space *s, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *g = NULL;
    GEODEC_NEW(g, m->n * m->n);
    GEODEC_TRY(geodec_metric_at_point(m, 0, g, err));
    GEODEC_TRY(geodec_space_constant_init(&s->exact.constant, (int32_t)m->n, g, err));
    s->space = &s->exact.constant.base;
done:
    geodec_mem_free(g);
    return st;
}

static bool is_field(geodec_metric_type kind)
{
    return kind == GEODEC_METRIC_MAHALANOBIS || kind == GEODEC_METRIC_FISHER || kind == GEODEC_METRIC_BLEND;
}

geodec_status geodec_metric_space_init(const geodec_metric *m, geodec_metric_space *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    memset(out, 0, sizeof *out);
    if (is_field(m->kind)) {
        GEODEC_TRY(geodec_metric_field(m, &out->field, err));
        out->space = geodec_rbf_space(out->field);
        goto done;
    }
    switch (m->kind) {
    case GEODEC_METRIC_PUBLISHED:
        GEODEC_THROW(GEODEC_UNSUPPORTED, "the published manifold is no smooth space");
    case GEODEC_METRIC_EUCLIDEAN:
    case GEODEC_METRIC_FLAT:
        GEODEC_TRY(init_constant(m, out, err));
        break;
    default:
        GEODEC_TRY(geodec__metric_space_exact(m->kind, m->n, m->curvature, out, err));
    }
    GEODEC_TRY(check_matrices(m, out->space, err));
done:
    if (st != GEODEC_OK) geodec_metric_space_clear(out);
    return st;
}

geodec_status geodec_metric_space_from(const geodec_artifact *a, geodec_metric *m, int64_t limit,
                                       geodec_metric_space *out, geodec_err *err)
{
    memset(out, 0, sizeof *out);
    if (is_field(m->kind) && m->points * geodec_sym_packed(m->n) * (int64_t)sizeof *m->log_g > limit) {
        GEODEC_PASS(geodec_metric_field_from(a, m, limit, &out->field, err));
        out->space = geodec_rbf_space(out->field);
        return GEODEC_OK;
    }
    GEODEC_PASS(geodec_metric_read_matrices(a, m, err));
    GEODEC_PASS(geodec_metric_space_init(m, out, err));
    return GEODEC_OK;
}

void geodec_metric_space_clear(geodec_metric_space *s)
{
    geodec_rbf_destroy(s->field);
    memset(s, 0, sizeof *s);
}
