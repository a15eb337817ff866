#include "lab/perspective/polytope/polytope_internal.h"

#include "base/mem.h"
#include "base/vec_internal.h"

#include <math.h>
#include <string.h>

enum { NEAR = 10 /* anchors of the published program */ };

geodec_status geodec_polytope_make(int64_t d, int64_t m, const double *normal, const double *bound,
                                   geodec_polytope *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_polytope p = {.d = d, .m = m};
    if (d < 1 || m < 1 || d > GEODEC_POLYTOPE_MAX || m > GEODEC_POLYTOPE_MAX)
        GEODEC_THROW(GEODEC_LIMIT, "%lld half-spaces in %lld dimensions", (long long)m, (long long)d);
    if (!geodec__finite(m * d, normal) || !geodec__finite(m, bound))
        GEODEC_THROW(GEODEC_NUMERIC, "a half-space is not finite");
    GEODEC_NEW_COPY(p.normal, normal, m * d);
    GEODEC_NEW_COPY(p.bound, bound, m);
    for (int64_t j = 0; j < m; j++) {
        double *const n = p.normal + j * d;
        const double length = sqrt(geodec__dot(d, n, n));
        if (!(length > 0) || !isfinite(length))
            GEODEC_THROW(GEODEC_RANGE, "normal %lld has the length %g", (long long)j, length);
        for (int64_t i = 0; i < d; i++) n[i] /= length;
        p.bound[j] /= length;
    }
    GEODEC_MOVE(*out, p);
done:
    geodec_polytope_clear(&p);
    return st;
}

void geodec_polytope_clear(geodec_polytope *p)
{
    GEODEC_FREE(p->normal, p->bound);
    *p = (geodec_polytope){0};
}

double geodec_polytope_violation(const geodec_polytope *p, const double *x)
{
    double most = -INFINITY;
    for (int64_t j = 0; j < p->m; j++) most = fmax(most, geodec__dot(p->d, p->normal + j * p->d, x) - p->bound[j]);
    return most;
}

geodec_polytope_options geodec_polytope_defaults(void)
{
    return (geodec_polytope_options){
        .method = GEODEC_POLYTOPE_DYKSTRA, .tolerance = GEODEC_POLYTOPE_TOLERANCE, .sweeps = GEODEC_POLYTOPE_SWEEPS};
}

/* One sweep; y [m]: corrections, NULL = without. Returns the norm of the change. */
static double sweep(const geodec_polytope *p, double *y, double *x)
{
    double square = 0;
    for (int64_t j = 0; j < p->m; j++) {
        const double *const n = p->normal + j * p->d;
        const double before = y ? y[j] : 0, excess = geodec__dot(p->d, n, x) + before - p->bound[j],
                     after = excess > 0 ? excess : 0, back = before - after;
        if (before <= 0 && after <= 0) continue; /* neither active nor violated */
        for (int64_t i = 0; i < p->d; i++) x[i] += back * n[i];
        if (y) y[j] = after;
        square += back * back;
    }
    return sqrt(square);
}

static void iterate(const geodec_polytope *p, const geodec_polytope_options *o, double *y, double *x,
                    geodec_polytope_report *r)
{
    while (r->sweeps < o->sweeps && !r->converged) {
        r->step = sweep(p, y, x);
        r->sweeps++;
        r->converged = r->step < o->tolerance && geodec_polytope_violation(p, x) < o->tolerance;
    }
    for (int64_t j = 0; y && j < p->m; j++) r->active += y[j] > 0;
}

/* x += blend (mean of the nearest anchors - x), an anchor weighing 1 / distance. */
static geodec_status blend(const geodec_polytope_options *o, int64_t d, double *x, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double near[NEAR], sum = 0, *mean = NULL;
    int64_t index[NEAR], count = 0;
    GEODEC_NEW(mean, d);
    for (int64_t a = 0; a < o->anchors; a++)
        geodec__keep_nearest(NEAR, &count, near, index, sqrt(geodec__gap2(d, x, o->anchor + a * d)), a);
    for (int64_t k = 0; k < count; k++) {
        const double weight = 1 / (near[k] + 1e-8); /* an anchor may be the point itself */
        for (int64_t i = 0; i < d; i++) mean[i] += weight * o->anchor[index[k] * d + i];
        sum += weight;
    }
    for (int64_t i = 0; i < d; i++) x[i] += o->blend * (mean[i] / sum - x[i]);
done:
    geodec_mem_free(mean);
    return st;
}

static geodec_status check(const geodec_polytope *p, const geodec_polytope_options *o, const double *x, geodec_err *err)
{
    if ((unsigned)o->method >= GEODEC_POLYTOPE_METHODS || !(o->tolerance > 0) || o->sweeps < 1)
        GEODEC_FAIL(GEODEC_RANGE, "method %d, tolerance %g, %lld sweeps", (int)o->method, o->tolerance,
                    (long long)o->sweeps);
    if (o->method == GEODEC_POLYTOPE_PUBLISHED && (o->anchors < 1 || !o->anchor || !(o->blend >= 0 && o->blend <= 1) ||
                                                   !geodec__finite(o->anchors * p->d, o->anchor)))
        GEODEC_FAIL(GEODEC_RANGE, "%lld anchors, blend %g", (long long)o->anchors, o->blend);
    if (!geodec__finite(p->d, x)) GEODEC_FAIL(GEODEC_NUMERIC, "the point is not finite");
    return GEODEC_OK;
}

static geodec_status move_in(const geodec_polytope *p, const geodec_polytope_options *o, double *x,
                             geodec_polytope_report *r, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *y = NULL;
    if (geodec_polytope_violation(p, x) <= 0) {
        r->converged = true;
        return GEODEC_OK;
    }
    if (o->method == GEODEC_POLYTOPE_EXACT) {
        r->converged = true;
        return geodec__polytope_exact(p, o->sweeps, x, r, err);
    }
    if (o->method != GEODEC_POLYTOPE_CYCLIC) GEODEC_NEW(y, p->m);
    iterate(p, o, y, x, r);
done:
    geodec_mem_free(y);
    return st;
}

geodec_status geodec_polytope_project(const geodec_polytope *p, const geodec_polytope_options *o, const double *x,
                                      double *out, geodec_polytope_report *report, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_polytope_report r = {0};
    double *at = NULL;
    GEODEC_TRY(check(p, o, x, err));
    GEODEC_NEW_COPY(at, x, p->d);
    GEODEC_TRY(move_in(p, o, at, &r, err));
    if (o->method == GEODEC_POLYTOPE_PUBLISHED) GEODEC_TRY(blend(o, p->d, at, err));
    r.violation = fmax(0, geodec_polytope_violation(p, at));
    r.moved = sqrt(geodec__gap2(p->d, at, x));
    memcpy(out, at, (size_t)p->d * sizeof *out);
    if (report) *report = r;
done:
    geodec_mem_free(at);
    return st;
}

geodec_status geodec_polytope_project_span(const geodec_polytope *p, int64_t width, const double *basis,
                                           const double *mean, const geodec_polytope_options *o, const double *x,
                                           double *out, geodec_polytope_report *report, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    double *z = NULL, *to = NULL;
    GEODEC_NEW_EACH(p->d, z, to);
    if (!geodec__finite(width, x)) GEODEC_THROW(GEODEC_NUMERIC, "the point is not finite");
    for (int64_t k = 0; k < p->d; k++)
        for (int64_t i = 0; i < width; i++) z[k] += basis[k * width + i] * (x[i] - mean[i]);
    GEODEC_TRY(geodec_polytope_project(p, o, z, to, report, err));
    if (out != x) memcpy(out, x, (size_t)width * sizeof *out);
    for (int64_t k = 0; k < p->d; k++) {
        const double by = to[k] - z[k];
        for (int64_t i = 0; by != 0 && i < width; i++) out[i] += by * basis[k * width + i];
    }
done:
    GEODEC_FREE(z, to);
    return st;
}
