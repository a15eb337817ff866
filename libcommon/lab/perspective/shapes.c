/* Projections onto polytopes, and the hull of points. */
#include "base/mem.h"
#include "base/rng.h"
#include "lab/perspective/parts_internal.h"
#include "lab/perspective/polytope/polytope.h"
#include "linalg/blas.h"
#include "linalg/eig.h"

#include <math.h>
#include <stddef.h>

enum { D = 12, M = 40, ANCHORS = 16 };

typedef struct problem {
    geodec_polytope p;
    double anchor[ANCHORS * D]; /* inside */
    geodec_rng rng;
} problem;

/* Half-spaces at distance 1 of the origin; anchors inside. */
static geodec_status make(uint64_t seed, problem *x, geodec_err *err)
{
    double normal[M * D], bound[M];
    x->rng = geodec_rng_stream(seed, geodec_rng_id("polytope", 0));
    for (int i = 0; i < M * D; i++) normal[i] = geodec_rng_normal(&x->rng);
    for (int j = 0; j < M; j++) bound[j] = sqrt(geodec_blas_dot(D, normal + j * D, normal + j * D));
    for (int i = 0; i < ANCHORS * D; i++) x->anchor[i] = 0.2 * geodec_rng_normal(&x->rng);
    return geodec_polytope_make(D, M, normal, bound, &x->p, err);
}

static void point(problem *x, double size, double *out)
{
    for (int i = 0; i < D; i++) out[i] = size * geodec_rng_normal(&x->rng);
}

static double distance(const double *a, const double *b)
{
    double s = 0;
    for (int i = 0; i < D; i++) s += (a[i] - b[i]) * (a[i] - b[i]);
    return sqrt(s);
}

static geodec_status project(problem *x, geodec_polytope_method method, const double *from, double *to,
                             geodec_polytope_report *report, geodec_err *err)
{
    geodec_polytope_options o = geodec_polytope_defaults();
    o.method = method;
    o.sweeps = 5000;
    o.anchors = ANCHORS;
    o.anchor = x->anchor;
    o.blend = 0.1;
    return geodec_polytope_project(&x->p, &o, from, to, report, err);
}

/* Central differences of the nearest point at one point outside: j [D][D]. */
static geodec_status jacobian(problem *x, const double *at, double j[D * D], geodec_err *err)
{
    const double h = 1e-5;
    geodec_polytope_report r;
    for (int c = 0; c < D; c++) {
        double a[D], b[D], pa[D], pb[D];
        for (int i = 0; i < D; i++) a[i] = b[i] = at[i];
        a[c] += h;
        b[c] -= h;
        GEODEC_PASS(project(x, GEODEC_POLYTOPE_EXACT, a, pa, &r, err));
        GEODEC_PASS(project(x, GEODEC_POLYTOPE_EXACT, b, pb, &r, err));
        for (int i = 0; i < D; i++) j[i * D + c] = (pa[i] - pb[i]) / (2 * h);
    }
    return GEODEC_OK;
}

static geodec_status put_jacobian(problem *x, geodec_parts *out, geodec_err *err)
{
    double at[D], to[D], j[D * D], square[D * D], norm = 0, skew = 0, twice = 0, trace = 0;
    geodec_polytope_report r;
    point(x, 2, at);
    GEODEC_PASS(project(x, GEODEC_POLYTOPE_EXACT, at, to, &r, err));
    GEODEC_PASS(jacobian(x, at, j, err));
    geodec_blas_mul_small(D, j, j, square);
    for (int i = 0; i < D * D; i++) {
        norm += j[i] * j[i];
        skew = fmax(skew, fabs(j[i] - j[i % D * D + i / D]));
        twice = fmax(twice, fabs(square[i] - j[i]));
    }
    for (int i = 0; i < D; i++) trace += j[i * D + i];
    GEODEC_PASS(geodec__parts_add(out, "jacobian-norm", "norm of the Jacobian of the nearest point, 12 dimensions",
                                  sqrt(norm), "published", 0, err));
    GEODEC_PASS(geodec__parts_add(out, "jacobian-trace", "trace of it: directions that pass unchanged", trace,
                                  "12 less the active half-spaces", (double)(D - r.active), err));
    GEODEC_PASS(geodec__parts_add(out, "jacobian-symmetric", "largest difference of the Jacobian from its transpose",
                                  skew, "an orthogonal projector", 0, err));
    return geodec__parts_add(out, "jacobian-idempotent", "largest difference of the Jacobian from its square", twice,
                             "an orthogonal projector", 0, err);
}

/* Over random points: distance of the second application from the first, violation, and distance from the point. */
typedef struct course {
    double again, violation, longer, expansion;
} course;
static geodec_status follow(problem *x, geodec_polytope_method method, int points, course *y, geodec_err *err)
{
    double before[D], before_to[D];
    *y = (course){0};
    for (int n = 0; n < points; n++) {
        double at[D], to[D], again[D], nearest[D];
        geodec_polytope_report r;
        point(x, 2, at);
        GEODEC_PASS(project(x, method, at, to, &r, err));
        y->violation = fmax(y->violation, geodec_polytope_violation(&x->p, to));
        GEODEC_PASS(project(x, method, to, again, &r, err));
        y->again = fmax(y->again, distance(to, again));
        GEODEC_PASS(project(x, GEODEC_POLYTOPE_EXACT, at, nearest, &r, err));
        y->longer = fmax(y->longer, distance(at, to) / distance(at, nearest) - 1);
        if (n) y->expansion = fmax(y->expansion, distance(to, before_to) / distance(at, before));
        for (int i = 0; i < D; i++) before[i] = at[i];
        for (int i = 0; i < D; i++) before_to[i] = to[i];
    }
    return GEODEC_OK;
}

geodec_status geodec__parts_polytope(const geodec_parts_options *o, geodec_parts *out, geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    const int points = o->quick ? 20 : 200;
    problem x = {.p = {0}};
    course exact, cyclic, published;
    GEODEC_TRY(make(o->seed, &x, err));
    GEODEC_TRY(put_jacobian(&x, out, err));
    GEODEC_TRY(follow(&x, GEODEC_POLYTOPE_EXACT, points, &exact, err));
    GEODEC_TRY(follow(&x, GEODEC_POLYTOPE_CYCLIC, points, &cyclic, err));
    GEODEC_TRY(follow(&x, GEODEC_POLYTOPE_PUBLISHED, points, &published, err));
    GEODEC_TRY(geodec__parts_add(out, "expansion", "largest ratio of two points' distances after and before",
                                 exact.expansion, "bound", 1, err));
    GEODEC_TRY(geodec__parts_add(out, "cyclic-longer", "largest extra distance of the published loop, relative",
                                 cyclic.longer, "nearest point", exact.longer, err));
    GEODEC_TRY(geodec__parts_add(out, "published-again",
                                 "move of a point that was already projected, published program", published.again,
                                 "nearest point", exact.again, err));
    GEODEC_TRY(geodec__parts_add(out, "published-outside", "largest violation of the published program's result",
                                 published.violation, "nearest point", exact.violation, err));
done:
    geodec_polytope_clear(&x.p);
    return st;
}

geodec_status geodec_parts_hull(int64_t n, int64_t d, uint64_t seed, int64_t *dimension, double *outside,
                                geodec_err *err)
{
    geodec_status st = GEODEC_OK;
    geodec_rng r = geodec_rng_stream(seed, geodec_rng_id("hull", 0));
    double *x = NULL, *gram = NULL, *w = NULL, *v = NULL, *z = NULL, *c = NULL, length = 0, inside = 0;
    if (n < 2 || d < 2) GEODEC_THROW(GEODEC_RANGE, "%lld points of %lld dimensions", (long long)n, (long long)d);
    GEODEC_NEW(x, n * d);
    GEODEC_NEW_EACH(n * n, gram, v);
    GEODEC_NEW_EACH(n, w, c);
    GEODEC_NEW(z, d);
    for (int64_t i = 0; i < n * d; i++) x[i] = geodec_rng_normal(&r);
    for (int64_t j = 0; j < d; j++) {
        double mean = 0;
        for (int64_t i = 0; i < n; i++) mean += x[i * d + j] / (double)n;
        for (int64_t i = 0; i < n; i++) x[i * d + j] -= mean;
    }
    geodec_blas_gemm(false, true, n, n, d, 1, x, d, x, d, 0, gram, n);
    GEODEC_TRY(geodec_eig_sym(n, gram, w, v, err));
    /* the directions of the hull are x^T v_i / sqrt(w_i) */
    for (int64_t j = 0; j < d; j++) z[j] = geodec_rng_normal(&r);
    for (int64_t i = 0; i < n; i++) c[i] = geodec_blas_dot(d, x + i * d, z);
    *dimension = 0;
    for (int64_t i = 0; i < n; i++) {
        if (w[i] <= 1e-9 * w[n - 1]) continue;
        const double along = geodec_blas_dot(n, v + i * n, c);
        inside += along * along / w[i];
        ++*dimension;
    }
    for (int64_t j = 0; j < d; j++) length += z[j] * z[j];
    *outside = sqrt(fmax(0, 1 - inside / length));
done:
    GEODEC_FREE(x, gram, v, w, c, z);
    return st;
}

geodec_status geodec__parts_hull(const geodec_parts_options *o, geodec_parts *out, geodec_err *err)
{
    const int64_t n = o->quick ? 100 : 1000, d = o->quick ? 410 : 4096;
    int64_t dimension = 0;
    double outside = 0;
    GEODEC_PASS(geodec_parts_hull(n, d, o->seed, &dimension, &outside, err));
    GEODEC_PASS(geodec__parts_add(out, "hull-dimension", "dimension of the hull of the points", (double)dimension,
                                  "dimension of the space", (double)d, err));
    return geodec__parts_add(out, "hull-outside", "share of a random vector's length that is outside of its span",
                             outside, "closed form sqrt(1 - (n - 1) / d)", sqrt(1 - (double)(n - 1) / (double)d), err);
}
